/* SPDX-License-Identifier: MIT */
/* Planners by name: from a packing problem to addresses. */
#ifndef NPUPLAN_PLANNERS_H
#define NPUPLAN_PLANNERS_H

#include "problem/conflicts.h"
#include "base/internal.h"
#include "problem/liveness.h"

/**
 * struct npuplan_problem - what there is to place
 * @graph: for names in messages
 * @options: what was asked for: budget, work limit, progress
 * @lower_bound: bytes no packing goes below
 * @alignment: of every offset, besides the items' own
 * @started, @deadline: CLOCK_MONOTONIC seconds; deadline 0 for none
 * @packed: there is a packing already: who is called off need not make one
 */
struct npuplan_problem {
	const struct npuplan_graph *graph;
	const struct npuplan_options *options;
	struct npuplan_item *items;
	struct npuplan_liveness live;
	struct npuplan_conflicts conflicts;
	uint64_t lower_bound;
	uint32_t item_count;
	uint32_t alignment;
	uint32_t peak_instant;
	double started;
	double deadline;
	bool packed;
};

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

/**
 * struct npuplan_planner - named planner
 * @argument: for @pack or @plan; what tells planners of one function apart
 * @pack: offsets is allocated, lower_bound the problem's. Fills @error if it fails
 * @plan: instead of @pack: makes the whole plan, its schedule too. Of straight graphs
 *	only; @problem has been filled in for the order of the graph
 * @moves: between arena and host memory, for other objectives and orders, too
 * @lists: @pack looks at pairs one by one
 * @purpose: what it is for, one line
 */
struct npuplan_planner {
	const char *name;
	const char *purpose;
	int (*pack)(const struct npuplan_problem *problem, int argument,
		    struct npuplan_packing *packing, struct npuplan_error *error);
	int (*plan)(const struct npuplan_problem *problem, const struct npuv_graph *cells,
		    int argument, struct npuplan_plan **plan, struct npuplan_error *error);
	int argument;
	bool moves;
	bool lists;
};

/* NULL name: the default. NULL if there is none of that name. */
const struct npuplan_planner *npuplan_planner_find(const char *name);

/** npuplan_make_items() - fill in problem->items from its live ranges (items.c)
 *
 * -EINVAL: a fixed offset or an alias is not aligned; -ENOSPC: a fixed offset is
 * beyond the budget; -E2BIG: sizes add up to too much. The error names the tensor.
 */
int npuplan_make_items(struct npuplan_problem *problem, struct npuplan_error *error);
/** npuplan_problem_init() - fill in live ranges, items and the lower bound (plan.c)
 * @problem: with graph, options and alignment; npuplan_problem_fini() it in any case
 */
int npuplan_problem_init(struct npuplan_problem *problem, const struct npuv_graph *cells,
			 struct npuplan_error *error);
void npuplan_problem_fini(struct npuplan_problem *problem);
/* Pairs that are listed if the planner can do without: 128 MiB, some tenths of a second. */
#define NPUPLAN_LISTED_PAIRS (1u << 22)
/** npuplan_make_conflicts() - fill in problem->conflicts: whole items, but in-place operators
 * @must_list: pairs are wanted one by one, NPUPLAN_MAX_PAIRS of them
 *
 * Where there are more pairs than that, than the memory limit has room for, or than
 * the deadline has time for, they are not listed if they need not be; operators then do
 * not work in place. -E2BIG and -ETIMEDOUT if they must.
 */
int npuplan_make_conflicts(struct npuplan_problem *problem, bool must_list,
			   struct npuplan_error *error);
/** npuplan_permit_in_place() - let in-place operators' tensors lie where that is safe (inplace.c)
 * @conflicts: listed, of one item a tensor, whole or by atoms
 */
int npuplan_permit_in_place(struct npuplan_conflicts *conflicts,
			    const struct npuplan_liveness *live);

/** npuplan_lives_whole() - each tensor's bytes all live from its start to its end
 *
 * If not, tiles may go below what whole tensors need (taa/taa.h), and a proof about
 * whole tensors is none about plans.
 */
bool npuplan_lives_whole(const struct npuplan_problem *problem);

/* greedy.c: first fit by one order, or by all if @order is NPUPLAN_ORDER_COUNT. */
int npuplan_pack_greedy(const struct npuplan_problem *problem, int order,
			struct npuplan_packing *packing, struct npuplan_error *error);

/* planners/exact.c: the packing core's exact packer. */
int npuplan_pack_searched(const struct npuplan_problem *problem, int unused,
			  struct npuplan_packing *packing, struct npuplan_error *error);

/** npuplan_pack_quick() - one packing in O(n log n), however late it is (planners/exact.c)
 *
 * -EOPNOTSUPP: pairs are listed, or an item is fixed.
 */
int npuplan_pack_quick(const struct npuplan_problem *problem, int unused,
		       struct npuplan_packing *packing, struct npuplan_error *error);

/* auto.c: the best of greedy, NNC and exact. */
int npuplan_pack_auto(const struct npuplan_problem *problem, int unused,
		      struct npuplan_packing *packing, struct npuplan_error *error);

/* planners/nnc/planner.c: enum npuplan_nnc_form. */
int npuplan_pack_nnc(const struct npuplan_problem *problem, int form,
		     struct npuplan_packing *packing, struct npuplan_error *error);

/** enum npuplan_cosma_planner - who decides what leaves the chip */
enum npuplan_cosma_planner {
	NPUPLAN_COSMA_BY_SEARCH, /* cosma: the least traffic there is */
	NPUPLAN_COSMA_BY_ILP,	 /* the same, by the paper's integer linear program */
	NPUPLAN_COSMA_BY_BELADY, /* the paper's baselines, in the order given */
	NPUPLAN_COSMA_BY_GREEDY,
};

/* cosma/planner.c: npuplan_planner.plan; argument: enum npuplan_cosma_planner. */
int npuplan_plan_cosma(const struct npuplan_problem *problem, const struct npuv_graph *cells,
		       int argument, struct npuplan_plan **out, struct npuplan_error *error);

/* planners/refusals.c: -EINVAL: two items whose fixed offsets collide. */
int npuplan_fail_clash(const struct npuplan_problem *problem, const uint32_t clash[2],
		       struct npuplan_error *error);
/* -ENOSPC and the numbers; NPUMEM_PLAN_INFEASIBLE if the lower bound proves it. */
int npuplan_fail_budget(const struct npuplan_problem *problem,
			const struct npuplan_packing *packing, struct npuplan_error *error);

/** npuplan_tell() - call options->progress, if there is one (progress.c)
 * @top: of the best packing; UINT64_MAX: none yet
 *
 * True: planning is to end, with what there is.
 */
bool npuplan_tell(const struct npuplan_problem *problem, uint64_t top, uint64_t lower_bound,
		  uint64_t work);

/* Seconds of CLOCK_MONOTONIC. */
double npuplan_now(void);

#endif /* NPUPLAN_PLANNERS_H */
