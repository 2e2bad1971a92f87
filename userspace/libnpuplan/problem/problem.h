/* SPDX-License-Identifier: MIT */
/*
 * A packing problem: the items that a planner has to place, their conflicts and their lower bound.
 */
#pragma once

#include "base/internal.h"
#include "conflicts.h"
#include "liveness.h"

struct npuplan_packing;

/*
 * struct npuplan_problem - the packing problem of a graph
 * @graph: the graph; messages name its tensors and steps
 * @options: what the caller asked for: budget, limits of work and memory, and so on
 * @effort: the effort of the call; NULL: nothing ends it
 * @lower_bound: bytes below which no packing is
 * @alignment: bytes that every offset is a multiple of, besides the items' own alignments
 * @incumbent: the best packing of these items so far, which a planner that has to stop need not
 *	better; NULL: there is none
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

/* npuplan_make_items() - make problem->items of its live ranges
 *
 * -EINVAL: a fixed offset or an alias is not aligned; -ENOSPC: a fixed offset is
 * beyond the budget; -E2BIG: sizes add up to too much. The error names the tensor.
 */
int npuplan_make_items(struct npuplan_problem *problem, struct npuplan_error *error);
/* npuplan_problem_init() - find live ranges, items and the lower bound
 * @problem: graph, options and alignment are filled in. The caller calls npuplan_problem_fini() in
 *	any case
 *
 * The errnos are those of npuplan_make_items(), and -ENOMEM.
 */
int npuplan_problem_init(struct npuplan_problem *problem, const struct npuv_graph *cells,
			 struct npuplan_error *error);
void npuplan_problem_fini(struct npuplan_problem *problem);

/*
 * The most pairs that are listed for a planner that can do without: 128 MiB, some tenths of a
 * second.
 */
#define NPUPLAN_LISTED_PAIRS (1u << 22)
/* npuplan_make_conflicts() - make problem->conflicts: of whole items, less what may lie in place
 * @must_list: the planner needs the list of pairs, of which NPUPLAN_MAX_PAIRS are allowed then
 *
 * If pairs are too many for that number, for the limit of memory or for the deadline, they are not
 * listed, and no operator works in place. If the planner needs the list, that is -E2BIG or
 * -ETIMEDOUT instead. -ENOMEM.
 */
int npuplan_make_conflicts(struct npuplan_problem *problem, bool must_list,
			   struct npuplan_error *error);
/* npuplan_permit_in_place() - permit displacements at which in-place operators are safe (inplace.c)
 * @conflicts: listed conflicts of items that are one for each tensor, as whole tensors or by atoms
 */
int npuplan_permit_in_place(struct npuplan_conflicts *conflicts,
			    const struct npuplan_liveness *live);

/* npuplan_lives_whole() - whether all bytes of each tensor live from its start to its end
 *
 * If they do not, tiles may need less than whole tensors (taa/taa.h), and what is proved of whole
 * tensors is not proved of plans.
 */
bool npuplan_lives_whole(const struct npuplan_problem *problem);
