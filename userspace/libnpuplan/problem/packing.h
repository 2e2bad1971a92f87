/* SPDX-License-Identifier: MIT */
/* The answer to a packing problem, or a sentence why there is none. */
#pragma once

#include "problem.h"

/**
 * struct npuplan_packing - an address for each item, and how good they are
 * @offsets: per item, its address in bytes
 * @top: first byte above all items; UINT64_MAX if there is no packing yet
 * @lower_bound: bytes below which no packing is: the problem's bound, or more if the planner has
 *	proved more
 * @work: work units that finding it took; the same on every machine
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

/*
 * npuplan_status_of() - enum npumem_plan_status of a packing: optimal if it is no higher than its
 * bound
 */
static inline uint32_t npuplan_status_of(uint64_t top, uint64_t lower_bound)
{
	return top <= lower_bound ? NPUMEM_PLAN_STATUS_OPTIMAL : NPUMEM_PLAN_STATUS_FEASIBLE;
}

/* npuplan_packing_keep() - copy addresses into a packing if their top is lower than its own
 * @offsets: per item, @item_count of them
 * @top: first byte above all
 */
void npuplan_packing_keep(struct npuplan_packing *packing, const uint64_t *offsets, uint64_t top,
			  uint32_t item_count);

/* npuplan_plan_new() - make a plan that has the numbers of a packing, and room for its records
 * @placements: number of placements, and of entry records, that it has room for; it has none yet
 * @positions: number of positions that it has: the steps, in the order of the graph
 * @blocks: number of blocks that it has; the first one has all positions, and all else in them is 0
 * @edges: number of edges that it has, all of them 0
 *
 * NULL: out of memory.
 */
struct npuplan_plan *npuplan_plan_new(const struct npuplan_problem *problem,
				      const struct npuplan_packing *packing, uint32_t placements,
				      uint32_t positions, uint32_t blocks, uint32_t edges);

/** npuplan_core_problem() - the items of a problem for npuplan_pack(), with conflicts by overlap */
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
 * struct npuplan_member - one of several planners or packers that look for one packing in turn
 * @effort: effort of the whole, which all members share
 * @best: the best packing of all members so far; its top is UINT64_MAX if there is none yet
 * @work: work units that this member has used, besides those in @best
 * @bounds: a lower bound that it proves holds for the whole
 */
struct npuplan_member {
	struct npuplan_effort *effort;
	struct npuplan_packing *best;
	uint64_t work;
	bool bounds;
};

/* npuplan_member_tell() - tell the caller of the whole how far it is, given how far the member is
 * @top: top of the member's best packing; UINT64_MAX: it has none yet
 * @lower_bound: what the member has proved; 0: nothing
 * @work: work units that the member has used
 *
 * The result is true if the whole is to end. A bound that holds for the whole is kept in
 * member->best.
 */
bool npuplan_member_tell(struct npuplan_member *member, uint64_t top, uint64_t lower_bound,
			 uint64_t work);

/** npuplan_member_progress() - npuplan_pack_options.progress; @context: struct npuplan_member */
int npuplan_member_progress(void *context, const struct npuplan_pack_progress *now);

/** npuplan_member_over() - npuplan_until.over; @context: struct npuplan_member */
bool npuplan_member_over(void *context);

/** npuplan_check_straight() - refuse a graph with loops or branches: -EOPNOTSUPP */
int npuplan_check_straight(const struct npuplan_graph *graph, struct npuplan_error *error);

/** npuplan_fail_clash() - fail with -EINVAL: the fixed offsets of two items collide */
int npuplan_fail_clash(const struct npuplan_problem *problem, const uint32_t clash[2],
		       struct npuplan_error *error);

/* npuplan_fail_budget() - fail with -ENOSPC: the best packing is so far above the budget
 *
 * The error's status is NPUMEM_PLAN_STATUS_INFEASIBLE if the lower bound proves that no packing
 * fits.
 */
int npuplan_fail_budget(const struct npuplan_problem *problem,
			const struct npuplan_packing *packing, struct npuplan_error *error);
