/* SPDX-License-Identifier: MIT */
/* What a planner has to place: items, who is in whose way, what is known beforehand. */
#pragma once

#include "base/internal.h"
#include "conflicts.h"
#include "liveness.h"

struct npuplan_packing;

/*
 * struct npuplan_problem - what there is to place
 * @graph: for names in messages
 * @options: what was asked for: budget, limits of work and memory
 * @effort: of the call; NULL: nobody ends it
 * @lower_bound: bytes no packing goes below
 * @alignment: of every offset, besides the items' own
 * @incumbent: the best packing of these items so far, which who is called off need not better;
 *	NULL: none
 */
struct npuplan_problem {
	const struct npuplan_graph *graph;
	const struct npuplan_options *options;
	struct npuplan_effort *effort;
	struct npuplan_item *items;
	struct npuplan_liveness live;
	struct npuplan_conflicts conflicts;
	uint64_t lower_bound;
	uint32_t item_count;
	uint32_t alignment;
	uint32_t peak_instant;
	const struct npuplan_packing *incumbent;
};

/* npuplan_make_items() - fill in problem->items from its live ranges
 *
 * -EINVAL: a fixed offset or an alias is not aligned; -ENOSPC: a fixed offset is
 * beyond the budget; -E2BIG: sizes add up to too much. The error names the tensor.
 */
int npuplan_make_items(struct npuplan_problem *problem, struct npuplan_error *error);
/* npuplan_problem_init() - fill in live ranges, items and the lower bound
 * @problem: with graph, options and alignment; npuplan_problem_fini() it in any case
 *
 * Errors as npuplan_make_items()'s.
 */
int npuplan_problem_init(struct npuplan_problem *problem, const struct npuv_graph *cells,
			 struct npuplan_error *error);
void npuplan_problem_fini(struct npuplan_problem *problem);

/* Pairs that are listed if the planner can do without: 128 MiB, some tenths of a second. */
#define NPUPLAN_LISTED_PAIRS (1u << 22)
/* npuplan_make_conflicts() - fill in problem->conflicts: whole items, but in-place operators
 * @must_list: pairs are wanted one by one, NPUPLAN_MAX_PAIRS of them
 *
 * Where there are more pairs than that, than the memory limit has room for, or than
 * the deadline has time for, they are not listed if they need not be; operators then do
 * not work in place. -E2BIG and -ETIMEDOUT if they must.
 */
int npuplan_make_conflicts(struct npuplan_problem *problem, bool must_list,
			   struct npuplan_error *error);
/* npuplan_permit_in_place() - let in-place operators' tensors lie where that is safe (inplace.c)
 * @conflicts: listed, of one item a tensor, whole or by atoms
 */
int npuplan_permit_in_place(struct npuplan_conflicts *conflicts,
			    const struct npuplan_liveness *live);

/* npuplan_lives_whole() - each tensor's bytes all live from its start to its end
 *
 * If not, tiles may go below what whole tensors need (taa/taa.h), and a proof about
 * whole tensors is none about plans.
 */
bool npuplan_lives_whole(const struct npuplan_problem *problem);
