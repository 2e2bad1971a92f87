/* SPDX-License-Identifier: MIT */
/* The answer to a packing problem, and why there is none, in numbers and names. */
#pragma once

#include "problem.h"

/**
 * struct npuplan_packing - where it goes
 * @offsets: per item
 * @top: first byte above all
 * @lower_bound: the problem's, or more if the planner has proved more
 * @work: deterministic work units
 * @status: enum npumem_plan_status
 * @memory_ended: the limit of memory ended the search
 */
struct npuplan_packing {
	uint64_t *offsets;
	uint64_t top;
	uint64_t lower_bound;
	uint64_t work;
	uint32_t status;
	bool memory_ended;
};

/** npuplan_status_of() - how good a packing is: optimal if it is no higher than a bound */
static inline uint32_t npuplan_status_of(uint64_t top, uint64_t lower_bound)
{
	return top <= lower_bound ? NPUMEM_PLAN_STATUS_OPTIMAL : NPUMEM_PLAN_STATUS_FEASIBLE;
}

/* npuplan_packing_keep() - take over addresses if they are lower than what there is
 * @offsets: per item, @item_count of them
 * @top: first byte above all
 */
void npuplan_packing_keep(struct npuplan_packing *packing, const uint64_t *offsets, uint64_t top,
			  uint32_t item_count);

/* npuplan_plan_new() - a plan with the addresses of a packing
 * @placements: room for so many, and for as many entries; there are none yet
 * @positions: there are so many: the steps, in the order of the graph
 * @blocks: there are so many, all 0, but that the positions are of the first one
 * @edges: there are so many, all 0
 *
 * NULL: no memory.
 */
struct npuplan_plan *npuplan_plan_new(const struct npuplan_problem *problem,
				      const struct npuplan_packing *packing, uint32_t placements,
				      uint32_t positions, uint32_t blocks, uint32_t edges);

/** npuplan_core_problem() - the items of a problem as npuplan_pack() takes them, by overlap */
static inline struct npuplan_pack_problem
npuplan_core_problem(const struct npuplan_problem *problem)
{
	return (struct npuplan_pack_problem){
		.items = problem->items,
		.lower_bound = problem->lower_bound,
		.item_count = problem->item_count,
		.alignment = problem->alignment,
	};
}

/**
 * struct npuplan_member - one of several that look for one packing in turn
 * @effort: of the whole
 * @best: best packing of all of them so far; top UINT64_MAX: none yet
 * @work: units that this one has used, besides those in @best
 * @bounds: what it proves is true of the whole
 */
struct npuplan_member {
	struct npuplan_effort *effort;
	struct npuplan_packing *best;
	uint64_t work;
	bool bounds;
};

/* npuplan_member_tell() - tell the caller how far the whole is when the member is so far
 * @top: of the member's best packing; UINT64_MAX: none yet
 * @lower_bound: that the member has proved; 0: none
 * @work: units of the member
 *
 * True: the whole is to end. A bound that is true of the whole is kept in member->best.
 */
bool npuplan_member_tell(struct npuplan_member *member, uint64_t top, uint64_t lower_bound,
			 uint64_t work);

/** npuplan_member_progress() - npuplan_pack_options.progress; @context: struct npuplan_member */
int npuplan_member_progress(void *context, const struct npuplan_pack_progress *now);

/** npuplan_member_over() - npuplan_until.over; @context: struct npuplan_member */
bool npuplan_member_over(void *context);

/** npuplan_check_straight() - -EOPNOTSUPP, with words: the graph has loops or branches */
int npuplan_check_straight(const struct npuplan_graph *graph, struct npuplan_error *error);

/** npuplan_fail_clash() - say that the fixed offsets of two items collide; -EINVAL */
int npuplan_fail_clash(const struct npuplan_problem *problem, const uint32_t clash[2],
		       struct npuplan_error *error);

/* npuplan_fail_budget() - say how far the best packing is above the budget; -ENOSPC
 *
 * The error's status is NPUMEM_PLAN_STATUS_INFEASIBLE if the lower bound proves that no packing
 * fits.
 */
int npuplan_fail_budget(const struct npuplan_problem *problem,
			const struct npuplan_packing *packing, struct npuplan_error *error);
