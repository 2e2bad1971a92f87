/* SPDX-License-Identifier: MIT */
/* Plans: made, held against the verifier, written and read. Include npuplan.h. */
#ifndef NPUPLAN_PLAN_H
#define NPUPLAN_PLAN_H

#include <stdio.h>

#include "npuplan_graph.h"
#include "npuplan_pack.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct npuplan_schedule_point - what an order of steps costs
 *
 * An operator fetches its weights, and reads anew what it shares with its step
 * before (halos), whenever it goes on after another one has run.
 *
 * @peak: most bytes of the arena that live at once
 * @weights: bytes of parameters fetched
 * @halos: bytes of activations read again
 */
struct npuplan_schedule_point {
	uint64_t peak;
	uint64_t weights;
	uint64_t halos;
};

#define NPUPLAN_BANKS 2

/**
 * struct npuplan_bank - on-chip memory of one speed
 * @size: bytes, > 0, < 2^60
 * @bandwidth: bytes a microsecond, > 0, < 2^63
 */
struct npuplan_bank {
	uint64_t size;
	uint64_t bandwidth;
};

#define NPUPLAN_CORES	  8
#define NPUPLAN_CORE_NAME 16

/**
 * struct npuplan_core - a core with a scratchpad of its own, a range of the arena
 * @name: NUL-terminated, not empty
 * @size: bytes, > 0, < 2^60, a multiple of each alignment. Ranges follow one another in the order
 *	of the cores, the first one from the arena's beginning on
 */
struct npuplan_core {
	char name[NPUPLAN_CORE_NAME];
	uint64_t size;
};

/**
 * struct npuplan_core_result - what a plan for several cores does in one of them
 * @core: as it was asked for
 * @needed: bytes that the operator needs that needs most
 * @spill: bytes that go from its range to host memory
 * @fill: bytes that come back
 * @bound: bytes that its operators spill and fill at least, in any order and whatever other cores
 *	do; 0 if not known
 */
struct npuplan_core_result {
	struct npuplan_core core;
	uint64_t needed;
	uint64_t spill;
	uint64_t fill;
	uint64_t bound;
};

/**
 * struct npuplan_cosma_result - what planners "cosma..." find beside the plan itself
 * @traffic_bound: bytes that any plan within the budget spills and fills; 0 if not
 *	known
 * @banks: bank 0 is the first bytes of the arena, bank 1 what follows; no placement
 *	is in both. Sizes 0: there is but one bank
 * @accessed: bytes that steps and transfers read and write, per bank; 0 if not known
 *	(a plan that was read)
 * @accessed_bound: bytes of @accessed that no choice of banks exceeds in the faster
 *	one; 0 if not known
 * @split_bound: bytes that any plan within the budget spills and fills whose order is divided at
 *	the break nodes that were asked for; 0 if not known, or if they leave all orders: then
 *	it is @traffic_bound
 * @cores: @core_count of them, if the plan is for several cores: no placement is in two of them
 * @link_bytes: bytes of tensors that are copied from core to core; 0 if not known (a plan that was
 *	read)
 * @core_count: number of @cores; 0: the plan is for one
 */
struct npuplan_cosma_result {
	uint64_t traffic_bound;
	struct npuplan_bank banks[NPUPLAN_BANKS];
	uint64_t accessed[NPUPLAN_BANKS];
	uint64_t accessed_bound;
	uint64_t split_bound;
	struct npuplan_core_result cores[NPUPLAN_CORES];
	uint64_t link_bytes;
	uint32_t core_count;
};

/**
 * struct npuplan_tilesched_result - what planners "tile-scheduled..." find beside the plan
 * @cost: what the order of the steps costs
 * @all_weights: bytes of parameters, each operator's once
 * @all_reads: bytes of activations that steps read, if halos are read each time
 * @least: bytes that live at once in any order of these steps: no schedule has a lower peak
 * @least_kept: the same of orders that keep the steps of each operator in their order, as this
 *	planner does
 */
struct npuplan_tilesched_result {
	struct npuplan_schedule_point cost;
	uint64_t all_weights;
	uint64_t all_reads;
	uint64_t least;
	uint64_t least_kept;
};

/**
 * struct npuplan_plan - the records of a plan blob, and what planning found
 *
 * Sections stand in the order of the blob, each with the number of its records; see
 * npumem_plan.h.
 *
 * @info: what the plan says of itself
 * @placements: array of @placement_count records
 * @positions: array of @position_count records
 * @blocks: array of @block_count records
 * @entries: array of @entry_count records
 * @edges: array of @edge_count records
 * @views: array of @view_count records
 * @view_slots: array of @view_slot_count records
 * @placement_count: number of @placements
 * @position_count: number of @positions
 * @block_count: number of @blocks
 * @entry_count: number of @entries
 * @edge_count: number of @edges
 * @view_count: number of @views
 * @view_slot_count: number of @view_slots
 * The fields from @peak_position on are not part of the blob.
 * @peak_position: position at which most bytes are live; NPUMEM_NONE if not
 *	known (a plan that was read)
 * @claims: NPUPLAN_CLAIM_* that the file had that it was read from
 * @cosma: what planners "cosma..." have found beside the plan, and what plan JSON says
 *	of traffic and banks; NULL if there is nothing of that. The plan owns it
 * @tilesched: what planners "tile-scheduled..." have found beside the plan; NULL of
 *	others. The plan owns it
 * @memory_ended: the limit of memory ended the search
 * @seconds: wall clock that planning took
 * @unbound: read from plan JSON that has no digest of its graph: that it is of the
 *	graph at hand only its structure says
 */
struct npuplan_plan {
	struct npumem_plan_info info;
	struct npumem_placement *placements;
	struct npumem_position *positions;
	struct npumem_plan_block *blocks;
	struct npumem_entry *entries;
	struct npumem_plan_edge *edges;
	struct npumem_view *views;
	uint32_t *view_slots;
	uint32_t placement_count;
	uint32_t position_count;
	uint32_t block_count;
	uint32_t entry_count;
	uint32_t edge_count;
	uint32_t view_count;
	uint32_t view_slot_count;
	uint32_t peak_position;
	uint32_t claims;
	struct npuplan_cosma_result *cosma;
	struct npuplan_tilesched_result *tilesched;
	bool memory_ended;
	double seconds;
	bool unbound;
};

/**
 * struct npuplan_machine - how fast steps and transfers go; zero = default
 *
 * One engine runs steps, and beside it one copies: docs/cosma.md. A step takes the longer of what
 * it computes and what it accesses. No rate is above 10^12.
 *
 * @size: sizeof(struct npuplan_machine), as the caller's header has it
 * @compute: multiply-accumulates a microsecond; of operators that do not multiply, elements
 *	written; 0 = computing takes no time
 * @access: bytes a microsecond that steps read and write; 0 = that takes no time. Not both are 0
 * @copy: bytes a microsecond between arena and host memory, > 0
 * @latency: nanoseconds that each transfer takes besides, at most 10^9
 */
struct npuplan_machine {
	size_t size;
	uint64_t compute;
	uint64_t access;
	uint64_t copy;
	uint64_t latency;
};

/**
 * struct npuplan_cosma_options - what only planners "cosma..." are asked for; zero = default
 * @size: sizeof(struct npuplan_cosma_options), as the caller's header has it
 * @banks: NPUPLAN_BANKS of them, which take the place of the arena's budget; NULL = one
 *	bank. Only of planner "cosma" itself
 * @machine: how fast it is; needed for NPUPLAN_OBJECTIVE_TIME, and not looked at otherwise
 * @breaks: steps that divide the order (arXiv 2311.18246, section IV): all that one of them depends
 *	on runs before it, all else behind it. In any order, each of them depends on the others or
 *	they on it. Only of planner "cosma" itself, in an order that it chooses
 * @break_count: number of @breaks
 * @core_count: number of @cores; 0: one scratchpad, of the arena's budget
 * @cores: take the place of the budget. Of whole operators, each of which reads and writes in its
 *	core's range alone; what another core reads is copied (npuplan_link_copies_find())
 * @core_of: per operator of the graph, the index of its core. NPUMEM_NONE of a copy: that of who
 *	reads what it writes
 */
struct npuplan_cosma_options {
	size_t size;
	const struct npuplan_bank *banks;
	const struct npuplan_machine *machine;
	const uint32_t *breaks;
	uint32_t break_count;
	uint32_t core_count;
	const struct npuplan_core *cores;
	const uint32_t *core_of;
};

/**
 * struct npuplan_tilesched_options - what only planners "tile-scheduled..." are asked for;
 * zero = default
 * @size: sizeof(struct npuplan_tilesched_options), as the caller's header has it
 * @weights_on_chip: bytes of weights that stay on chip while operators run interleaved;
 *	0 = the planner's own
 * @traffic_factor: fetch at most so many times all weights, if the order can; 0 = the
 *	lowest peak whatever it takes
 */
struct npuplan_tilesched_options {
	size_t size;
	uint64_t weights_on_chip;
	double traffic_factor;
};

/** enum npuplan_objective - what a plan is to be least in */
enum npuplan_objective {
	NPUPLAN_OBJECTIVE_OWN = 0,     /* the planner's: cosma's traffic, others' arena */
	NPUPLAN_OBJECTIVE_TRAFFIC = 1, /* bytes spilled and filled, within the budget */
	NPUPLAN_OBJECTIVE_PEAK = 2,    /* bytes on chip at once, nothing spilled, any order */
	NPUPLAN_OBJECTIVE_TIME = 3,    /* time of steps beside transfers, within the budget */
};

/** enum npuplan_schedule - in which order the steps run */
enum npuplan_schedule {
	NPUPLAN_SCHEDULE_FREE = 0,	 /* the planner's choice, if it chooses one */
	NPUPLAN_SCHEDULE_GIVEN = 1,	 /* the graph's */
	NPUPLAN_SCHEDULE_LEAST_PEAK = 2, /* of least peak footprint, whatever it moves */
	NPUPLAN_SCHEDULE_TILED = 3,	 /* that of tile scheduling, with the lowest peak */
};

/**
 * struct npuplan_options - what a planner is asked for; zero = default
 *
 * What several planners can be asked for stands here; one that does not take it refuses it
 * (-EOPNOTSUPP), as it refuses the options of another planner.
 *
 * @planner: name, or NULL for "auto"
 * @arena_budget: bytes; 0 = any
 * @work_limit: deterministic work units that planners which search may spend;
 *	0 = the planner's own. The same input then gives the same plan everywhere
 * @alignment: of every offset, at least; a power of two up to 65536; 0 = 1
 * @deadline_seconds: finite, 0 = none. Where it cuts in depends on the machine. One
 *	packing is always made, however long that takes
 * @memory_limit: bytes that planners which search may hold, and that lists of pairs may
 *	take; 0 = the planner's own. Planners "tile-scheduled..." (NPUPLAN_PLANNER_TILESCHED)
 *	refuse it
 * @objective: enum npuplan_objective; but for its own one, planners that move tensors
 *	(NPUPLAN_PLANNER_MOVES) have them
 * @schedule: enum npuplan_schedule, likewise; those that only place tensors also take the graph's
 * @cosma: of planners "cosma..." (NPUPLAN_PLANNER_COSMA); NULL = defaults
 * @tilesched: of planners "tile-scheduled..." (NPUPLAN_PLANNER_TILESCHED); NULL = defaults
 * @progress: called on each better packing and bound, and now and then; anything
 *	but 0 ends the search, and the plan is the best found so far. May be NULL
 * @context: for @progress
 */
struct npuplan_options {
	const char *planner;
	uint64_t arena_budget;
	uint64_t work_limit;
	uint64_t memory_limit;
	uint32_t alignment;
	uint32_t objective;
	uint32_t schedule;
	const struct npuplan_cosma_options *cosma;
	const struct npuplan_tilesched_options *tilesched;
	double deadline_seconds;
	int (*progress)(void *context, const struct npuplan_pack_progress *progress);
	void *context;
};

NPUPLAN_EXPORT int npuplan_plan_sized(const struct npuplan_graph *graph,
				      const struct npuplan_options *options, size_t options_size,
				      struct npuplan_plan **out, struct npuplan_error *error);
/**
 * npuplan_plan() - plan a tiled graph
 * @graph: the graph
 * @options: may be NULL
 * @out: out: the plan; npuplan_plan_free() it
 * @error: filled in if the call fails; may be NULL
 *
 * The graph needs tiles and steps only: operators may be absent, as in a graph
 * that came as a blob. The plan has passed the kernel's verifier.
 *
 * Planners "cosma..." choose the order of the steps, and move tensors to host memory
 * and back where the budget is too small for all; inputs and parameters that start
 * there (NPUMEM_TENSOR_FLAG_HOST) only they load. Without a budget they plan for the
 * least peak. In a schedule of tile scheduling (NPUPLAN_SCHEDULE_TILED), which graphs without loops
 * and branches have, tensors in host memory and outputs are outside the arena for the order.
 * In a graph with loops and branches "cosma" chooses the order of the steps of each block, and
 * transfers that begin and end in it; of bytes moved the plan counts each of its
 * blocks once.
 *
 * -ETIMEDOUT: a limit came before there was any plan: the deadline passed before the instances of
 * a loop were settled; or planner "cosma" had found none within the budget; or "taa-paper" was not
 * through with one order; or the caller ended "shared-objects" before its first strategy was
 * through.
 * -ENOSPC: no plan within the budget was found; the error says needed bytes,
 * budget, lower bound and what makes the peak, and its status whether there is
 * none at all. -EOPNOTSUPP: unknown planner, an objective or schedule that is not
 * the planner's, options of another planner, or the graph has what it does not plan.
 * -EINVAL, -EBADMSG, -E2BIG: the graph is refused by the verifier, which the error
 * quotes; or options that make no sense or have no size (-EINVAL), or are of a later version
 * (-E2BIG).
 */
static inline int npuplan_plan(const struct npuplan_graph *graph,
			       const struct npuplan_options *options, struct npuplan_plan **out,
			       struct npuplan_error *error)
{
	return npuplan_plan_sized(graph, options, sizeof(*options), out, error);
}
/**
 * npuplan_plan_free() - give up a plan, with all that it owns
 * @plan: may be NULL
 */
NPUPLAN_EXPORT void npuplan_plan_free(struct npuplan_plan *plan);

/**
 * struct npuplan_budgets - the three budgets of the COSMA paper (arXiv 2311.18246)
 * @needed: M_R, what the step needs that needs most: less is infeasible
 * @middle: M_H, the mean of the others, rounded down
 * @peak: M_P, the least peak footprint of any order: with as much nothing is spilled
 * @step: that needs @needed; NPUMEM_NONE: what is on chip from the start does
 * @proved: @peak is the least; else limits came first, and it is one of some order
 * @reserved: room for later versions; zero
 */
struct npuplan_budgets {
	uint64_t needed;
	uint64_t middle;
	uint64_t peak;
	uint32_t step;
	bool proved;
	uint64_t reserved[4];
};

NPUPLAN_EXPORT int npuplan_budgets_find_sized(const struct npuplan_graph *graph,
					      const struct npuplan_options *options,
					      size_t options_size, struct npuplan_budgets *budgets,
					      struct npuplan_error *error);
/**
 * npuplan_budgets_find() - budgets between which planning for traffic makes sense
 * @graph: tiled
 * @options: alignment, limits and progress; may be NULL. A limit, or a callback
 *	that ends it, leaves @peak unproved
 * @budgets: out: what was found
 * @error: filled in if the call fails; may be NULL
 *
 * Errors as npuplan_plan()'s with planner "cosma".
 */
static inline int npuplan_budgets_find(const struct npuplan_graph *graph,
				       const struct npuplan_options *options,
				       struct npuplan_budgets *budgets, struct npuplan_error *error)
{
	return npuplan_budgets_find_sized(graph, options, sizeof(*options), budgets, error);
}

NPUPLAN_EXPORT int npuplan_needed_find_sized(const struct npuplan_graph *graph,
					     const struct npuplan_options *options,
					     size_t options_size, uint64_t *needed, uint32_t *step,
					     struct npuplan_error *error);
/**
 * npuplan_needed_find() - of the budgets the least alone, which takes no search
 * @graph: the graph
 * @options: alignment; may be NULL
 * @needed: out: as in struct npuplan_budgets
 * @step: out: likewise
 * @error: filled in if the call fails; may be NULL
 *
 * Errors as npuplan_budgets_find(), but for those of a search.
 */
static inline int npuplan_needed_find(const struct npuplan_graph *graph,
				      const struct npuplan_options *options, uint64_t *needed,
				      uint32_t *step, struct npuplan_error *error)
{
	return npuplan_needed_find_sized(graph, options, sizeof(*options), needed, step, error);
}

NPUPLAN_EXPORT int npuplan_lp_write_sized(const struct npuplan_graph *graph,
					  const struct npuplan_options *options,
					  size_t options_size, char **text, size_t *size,
					  struct npuplan_error *error);
/**
 * npuplan_lp_write() - the COSMA paper's integer linear program of a plan
 * @graph: tiled
 * @options: budget, objective, schedule, alignment; others are not looked at
 * @text: out: in CPLEX's LP format, for any solver; free() it
 * @size: out: without the NUL at its end
 * @error: filled in if the call fails; may be NULL
 *
 * -EINVAL: a step needs more than the budget. -E2BIG: the program has more than 2^22 columns
 * and rows together, 2^25 terms, or 2^25 pairs of tensor and timestep. Others as
 * npuplan_plan()'s with planner "cosma".
 */
static inline int npuplan_lp_write(const struct npuplan_graph *graph,
				   const struct npuplan_options *options, char **text, size_t *size,
				   struct npuplan_error *error)
{
	return npuplan_lp_write_sized(graph, options, sizeof(*options), text, size, error);
}

/**
 * struct npuplan_recompute - operators that are better run again than kept or spilled
 * @clones: for npuplan_tiling; npuplan_recompute_fini() it
 * @clone_count: number of @clones
 * @traffic: bytes spilled and filled with these operators running again
 * @traffic_without: bytes spilled and filled without
 * @operations: multiply-accumulates of an inference without; of operators that do not
 *	multiply, elements written
 * @operations_again: how many more they are with these operators running again
 * @work: units of work that it took
 * @reserved: room for later versions; zero
 */
struct npuplan_recompute {
	struct npuplan_clone *clones;
	uint32_t clone_count;
	uint64_t traffic;
	uint64_t traffic_without;
	uint64_t operations;
	uint64_t operations_again;
	uint64_t work;
	uint64_t reserved[4];
};

NPUPLAN_EXPORT int npuplan_recompute_find_sized(const struct npuplan_graph *graph,
						const struct npuplan_tiling *tiling,
						const struct npuplan_options *options,
						size_t options_size, uint32_t limit,
						struct npuplan_recompute *out,
						struct npuplan_error *error);
/**
 * npuplan_recompute_find() - which operators to run again, to save traffic
 * @graph: not tiled, one block
 * @tiling: with parameters or without, and where inputs are; cuts nothing
 * @options: those that planner "cosma" is then asked with; a budget is needed
 * @limit: operators that run again, at most; 0 = any number
 * @out: out: what was found, all zeros if the call fails; npuplan_recompute_fini() it
 * @error: filled in if the call fails; may be NULL
 *
 * The search is greedy: as long as an operator, or a short chain of them, saves traffic, it takes
 * the one that saves most. -ENOSPC: there is no plan within the budget. -ETIMEDOUT: a limit of
 * work, memory or time came before there was any. -EINVAL: no budget, or two banks. -EOPNOTSUPP:
 * the schedule of least peak. Otherwise as npuplan_plan().
 */
static inline int npuplan_recompute_find(const struct npuplan_graph *graph,
					 const struct npuplan_tiling *tiling,
					 const struct npuplan_options *options, uint32_t limit,
					 struct npuplan_recompute *out, struct npuplan_error *error)
{
	return npuplan_recompute_find_sized(graph, tiling, options, sizeof(*options), limit, out,
					    error);
}
/**
 * npuplan_recompute_fini() - free what a struct npuplan_recompute owns
 * @recompute: is zeroed; the struct itself is the caller's
 */
NPUPLAN_EXPORT void npuplan_recompute_fini(struct npuplan_recompute *recompute);

/**
 * struct npuplan_peak_tensor - one of those that make the peak
 * @tensor: index
 * @bytes: of it that have a place at the peak's position
 * @bindable: the graph can be planned with this tensor external; then
 *	@arena_without and @lower_bound_without are those of the same planner's plan
 * @arena_without: bytes of arena, see @bindable
 * @lower_bound_without: bytes, see @bindable
 */
struct npuplan_peak_tensor {
	uint32_t tensor;
	bool bindable;
	uint64_t bytes;
	uint64_t arena_without;
	uint64_t lower_bound_without;
};

/**
 * struct npuplan_peak - what makes a plan as large as it is
 * @tensors: those that have a place at the peak, largest first
 * @count: number of @tensors
 * @position: of the schedule, at which most bytes are live
 */
struct npuplan_peak {
	struct npuplan_peak_tensor *tensors;
	uint32_t count;
	uint32_t position;
};

NPUPLAN_EXPORT int npuplan_peak_find_sized(const struct npuplan_graph *graph,
					   const struct npuplan_options *options,
					   size_t options_size, const struct npuplan_plan *plan,
					   struct npuplan_peak **out, struct npuplan_error *error);
/**
 * npuplan_peak_find() - which tensors make the peak
 * @graph: the graph
 * @options: those of the plan: what binding each of the tensors externally would
 *	save is found by planning once more without it, at their costs and within
 *	their deadline. NULL: is not asked for
 * @plan: the plan
 * @out: out: the new object, which is the caller's
 * @error: filled in if the call fails; may be NULL
 *
 * -EINVAL: the plan was read, and so does not know where its peak is.
 */
static inline int npuplan_peak_find(const struct npuplan_graph *graph,
				    const struct npuplan_options *options,
				    const struct npuplan_plan *plan, struct npuplan_peak **out,
				    struct npuplan_error *error)
{
	return npuplan_peak_find_sized(graph, options, sizeof(*options), plan, out, error);
}
/**
 * npuplan_peak_free() - give up what npuplan_peak_find() made
 * @peak: may be NULL
 */
NPUPLAN_EXPORT void npuplan_peak_free(struct npuplan_peak *peak);

/**
 * struct npuplan_timing - how long a plan takes; all times are picoseconds
 * @makespan: until the last step and transfer are over
 * @compute: of all steps, one after another
 * @copy: of all transfers, one after another
 * @stall: of the makespan, that no step runs
 * @bound: no plan takes less, in whatever order its steps run, if it stores the outputs that this
 *	one stores
 * @reserved: room for later versions; zero
 */
struct npuplan_timing {
	uint64_t makespan;
	uint64_t compute;
	uint64_t copy;
	uint64_t stall;
	uint64_t bound;
	uint64_t reserved[4];
};

/**
 * npuplan_timing_find() - how long a plan takes, transfers beside steps
 * @graph: the graph
 * @plan: the plan, of any planner
 * @machine: how fast it is
 * @timing: out: what was found
 * @error: filled in if the call fails; may be NULL
 *
 * Steps and transfers begin in the order of the plan, each on its engine, as soon as the driver
 * lets them (docs/cosma.md, "Time"). -EINVAL: a machine that makes no sense, or the verifier
 * refuses the plan. -EOPNOTSUPP: loops and branches, or it is not known what a step computes and
 * only computing takes time. -E2BIG: machine of a later version, or more than 53 days. -ENOMEM.
 */
NPUPLAN_EXPORT int npuplan_timing_find(const struct npuplan_graph *graph,
				       const struct npuplan_plan *plan,
				       const struct npuplan_machine *machine,
				       struct npuplan_timing *timing, struct npuplan_error *error);

/**
 * struct npuplan_front - orders of steps that none beats in both peak and traffic
 * @points: from the lowest peak on; weights and halos together are the traffic
 * @count: number of @points
 * @all_weights: as in struct npuplan_tilesched_result
 * @all_reads: likewise
 * @least: likewise
 * @least_kept: likewise
 * @work: units of work that it took
 * @left_out: the limit of work, the deadline or the caller ended the search: there may
 *	be better
 * @seconds: wall clock that it took
 */
struct npuplan_front {
	struct npuplan_schedule_point *points;
	uint32_t count;
	uint64_t all_weights;
	uint64_t all_reads;
	uint64_t least;
	uint64_t least_kept;
	uint64_t work;
	bool left_out;
	double seconds;
};

NPUPLAN_EXPORT int npuplan_front_find_sized(const struct npuplan_graph *graph,
					    const struct npuplan_options *options,
					    size_t options_size, struct npuplan_front **out,
					    struct npuplan_error *error);
/**
 * npuplan_front_find() - peak against traffic, as planner "tile-scheduled" has it
 * @graph: the graph
 * @options: work limit, deadline, weights on chip; may be NULL. What planner "tile-scheduled"
 *	refuses is refused here, too
 * @out: out: the new object, which is the caller's
 * @error: filled in if the call fails; may be NULL
 *
 * Peaks are before placing: what an arena cannot be below. -EINVAL: the graph is not
 * tiled. -EOPNOTSUPP: loops and branches.
 */
static inline int npuplan_front_find(const struct npuplan_graph *graph,
				     const struct npuplan_options *options,
				     struct npuplan_front **out, struct npuplan_error *error)
{
	return npuplan_front_find_sized(graph, options, sizeof(*options), out, error);
}
/**
 * npuplan_front_free() - give up what npuplan_front_find() made
 * @front: may be NULL
 */
NPUPLAN_EXPORT void npuplan_front_free(struct npuplan_front *front);

/**
 * npuplan_planner_name() - name of the i-th planner of this build
 * @i: from 0 on
 *
 * NULL past the last. The text is the library's.
 */
NPUPLAN_EXPORT const char *npuplan_planner_name(unsigned int i);
/**
 * npuplan_planner_purpose() - what the i-th planner is for, in one line
 * @i: as of npuplan_planner_name()
 *
 * NULL past the last. The text is the library's.
 */
NPUPLAN_EXPORT const char *npuplan_planner_purpose(unsigned int i);
/**
 * npuplan_planner_published() - whether the i-th planner does as a publication says
 * @i: as of npuplan_planner_name()
 *
 * Such planners are there to compare with; false past the last.
 */
NPUPLAN_EXPORT bool npuplan_planner_published(unsigned int i);
/**
 * npuplan_status_name() - name of a plan's or packing's status
 * @status: enum npumem_plan_status
 *
 * "optimal", "feasible" or "infeasible"; "unknown" of any other number. The text is the library's.
 */
NPUPLAN_EXPORT const char *npuplan_status_name(uint32_t status);

/**
 * npuplan_transfer_name() - name of a kind of transfer
 * @kind: enum npumem_position_kind
 *
 * "load", "spill", "fill", "drop" or "store"; NULL if it is no transfer. The text is the library's.
 */
NPUPLAN_EXPORT const char *npuplan_transfer_name(uint32_t kind);

/**
 * enum npuplan_planner_trait - what tells a caller how to ask a planner; bits
 * @NPUPLAN_PLANNER_MOVES: it moves tensors between arena and host memory, and takes objectives and
 *	schedules
 * @NPUPLAN_PLANNER_COSMA: it takes struct npuplan_cosma_options
 * @NPUPLAN_PLANNER_TILESCHED: it takes struct npuplan_tilesched_options, but no limit of memory and
 *	no schedule, and interleaves the tiles of several operators, so that small ones are best
 * @NPUPLAN_PLANNER_BANKS: it plans for two banks
 * @NPUPLAN_PLANNER_RECOMPUTES: npuplan_recompute_find() searches as it does
 * @NPUPLAN_PLANNER_FRONT: npuplan_front_find() lists the orders that it chooses from
 * @NPUPLAN_PLANNER_CORES: it takes break nodes, and plans for several cores
 */
enum npuplan_planner_trait {
	NPUPLAN_PLANNER_MOVES = 1 << 0,
	NPUPLAN_PLANNER_COSMA = 1 << 1,
	NPUPLAN_PLANNER_TILESCHED = 1 << 2,
	NPUPLAN_PLANNER_BANKS = 1 << 3,
	NPUPLAN_PLANNER_RECOMPUTES = 1 << 4,
	NPUPLAN_PLANNER_FRONT = 1 << 5,
	NPUPLAN_PLANNER_CORES = 1 << 6,
};

/**
 * npuplan_planner_traits() - what can be asked of the planner of this name
 * @name: NULL: the default planner's
 *
 * Bits of enum npuplan_planner_trait; 0 also if there is no planner of that name.
 */
NPUPLAN_EXPORT uint32_t npuplan_planner_traits(const char *name);

/**
 * npuplan_engine_name() - word of the i-th engine; NULL past the last
 * @i: from 0 on, over the engines of all planners, also those that this build lacks
 *
 * An engine is one of several ways in which a planner does its work: planner "cosma" has
 * "search", which is what it does by itself, and "ilp", which is planner "cosma-ilp".
 */
NPUPLAN_EXPORT const char *npuplan_engine_name(unsigned int i);

/**
 * npuplan_engine_planner() - name of the planner that is an engine of another
 * @planner: name of the planner that has engines
 * @engine: its word
 *
 * "cosma-ilp" of "cosma" and "ilp". NULL: @planner has no such engine.
 */
NPUPLAN_EXPORT const char *npuplan_engine_planner(const char *planner, const char *engine);

/**
 * npuplan_plan_write() - plan blob (npumem_plan.h) of a plan
 * @plan: the plan
 * @blob: out: the blob, malloc'ed; free() it
 * @size: out: bytes at @blob
 * @error: filled in if the call fails; may be NULL
 *
 * -E2BIG: more bytes than a blob may have; -ENOMEM. The verifier is not asked.
 */
NPUPLAN_EXPORT int npuplan_plan_write(const struct npuplan_plan *plan, void **blob, size_t *size,
				      struct npuplan_error *error);
/**
 * npuplan_plan_read() - plan of a plan blob
 * @blob: the blob, aligned to 8 bytes
 * @size: bytes at @blob
 * @out: out: the plan; npuplan_plan_free() it
 * @error: filled in if the call fails; may be NULL
 *
 * Its frame is checked, and what each record says by itself; whether it is a good plan of its
 * graph npuplan_verify_plan() says. -EBADMSG: not well formed; -EINVAL: a rule of the format is
 * broken; -EOPNOTSUPP: another version, or a feature that is not known; -E2BIG: more than the
 * verifier takes; -ENOMEM.
 */
NPUPLAN_EXPORT int npuplan_plan_read(const void *blob, size_t size, struct npuplan_plan **out,
				     struct npuplan_error *error);

/* What a plan file says of itself, beyond what the verifier looks at. */
#define NPUPLAN_CLAIM_LOWER_BOUND   (1u << 0)
#define NPUPLAN_CLAIM_STATUS	    (1u << 1)
#define NPUPLAN_CLAIM_TRAFFIC	    (1u << 2)
#define NPUPLAN_CLAIM_ALIGNMENT	    (1u << 3)
#define NPUPLAN_CLAIM_TRAFFIC_BOUND (1u << 4) /* one that is above 0 */

/**
 * npuplan_claims_check() - hold a plan's claims against the plan
 * @graph: the graph
 * @plan: read from a file, and accepted by the verifier
 * @checked: out: NPUPLAN_CLAIM_* that are true; others of plan->claims can neither be
 *	shown nor refuted without planning anew
 * @bound: out: lower bound found anew; 0: the steps are not in the graph's order, or
 *	there are transfers, loops or branches. May be NULL
 * @error: filled in if the call fails; may be NULL
 *
 * -EINVAL: a claim is false; the error says which and why. -ENOMEM.
 */
NPUPLAN_EXPORT int npuplan_claims_check(const struct npuplan_graph *graph,
					const struct npuplan_plan *plan, uint32_t *checked,
					uint64_t *bound, struct npuplan_error *error);

/**
 * npuplan_verify() - the kernel's own verifier, in this process
 * @graph_blob: graph blob, aligned to 8 bytes
 * @graph_size: bytes at @graph_blob
 * @plan_blob: plan blob, aligned to 8 bytes
 * @plan_size: bytes at @plan_blob
 * @verdict: filled on refusal; may be NULL
 * @log: may be NULL; a NUL-terminated text of at most @log_size bytes
 * @log_size: bytes at @log
 *
 * 0: the driver would take this plan of this graph. -EBADMSG: one of the blobs is not well formed;
 * -EINVAL: a rule is broken, @verdict says which; -EOPNOTSUPP: another version, or a feature
 * that is not known; -E2BIG: more than the verifier takes; -ENOMEM.
 */
NPUPLAN_EXPORT int npuplan_verify(const void *graph_blob, size_t graph_size, const void *plan_blob,
				  size_t plan_size, struct npumem_verdict *verdict, char *log,
				  size_t log_size);

/**
 * npuplan_verify_plan() - verify a plan that is not a blob yet
 * @graph: the graph
 * @plan: the plan
 * @verdict: filled on refusal; may be NULL
 * @error: filled in if the call fails; may be NULL
 *
 * Errors as npuplan_verify(); the error quotes the verifier's log.
 */
NPUPLAN_EXPORT int npuplan_verify_plan(const struct npuplan_graph *graph,
				       const struct npuplan_plan *plan,
				       struct npumem_verdict *verdict, struct npuplan_error *error);

/**
 * npuplan_verdict_names() - say the step and the tensors that a verdict cites by their names
 * @graph: the graph that the verdict is of; its tiling has made steps
 * @verdict: of a plan or a job
 * @text: out: such as: step 3 'conv', tensor 5 'x'; step 4 'add', tensor 6 'y'. Empty if it cites
 *	none that the graph has, or the graph is none that the verifier accepts, or memory is
 *	short; cut if it does not fit
 * @size: bytes at @text, > 0
 *
 * The words are those of the verifier's log and of the driver's events. Long names are cut, and
 * control characters are said as "?", so that they can be printed anywhere.
 */
NPUPLAN_EXPORT void npuplan_verdict_names(const struct npuplan_graph *graph,
					  const struct npumem_verdict *verdict, char *text,
					  size_t size);

/**
 * npuplan_json_tiling() - how a graph must be tiled for a plan JSON to fit it
 * @graph: the plan is for; gives the operators' ids
 * @text: the text
 * @size: bytes at @text
 * @tiling: out: all 0 if the plan does not say; npuplan_tiling_fini() it
 * @error: filled in if the call fails; may be NULL
 *
 * -EBADMSG: not JSON; -EINVAL: the field is malformed, or does not fit the graph.
 */
NPUPLAN_EXPORT int npuplan_json_tiling(const struct npuplan_graph *graph, const char *text,
				       size_t size, struct npuplan_tiling *tiling,
				       struct npuplan_error *error);

/**
 * npuplan_json_external() - mark the tensors that a plan JSON has external
 * @graph: the graph
 * @text: the text
 * @size: bytes at @text
 * @error: filled in if the call fails; may be NULL
 *
 * Of a graph that is not tiled yet, so that a plan made with tensors bound
 * outside fits the model it was made of. What cannot be external (aliases, fixed
 * tensors, ids that are not there) is left as it is: npuplan_plan_from_json()
 * then says that the plan does not fit.
 *
 * -EBADMSG: not JSON; -EINVAL: two tensors of the graph have one id; -ENOMEM.
 */
NPUPLAN_EXPORT int npuplan_json_external(struct npuplan_graph *graph, const char *text, size_t size,
					 struct npuplan_error *error);

/**
 * npuplan_plan_to_json() - plan JSON of a plan (docs/formats.md)
 * @graph: the graph that it is of, which gives ids and names
 * @plan: the plan
 * @text: out: malloc'ed, NUL-terminated; free() it
 * @error: filled in if the call fails; may be NULL
 *
 * -EINVAL: the plan does not fit the graph, or two tensors of the graph have one id; -ENOMEM: also
 * where the graph's name is not UTF-8.
 */
NPUPLAN_EXPORT int npuplan_plan_to_json(const struct npuplan_graph *graph,
					const struct npuplan_plan *plan, char **text,
					struct npuplan_error *error);
/**
 * npuplan_plan_from_json() - plan of plan JSON (docs/formats.md)
 * @graph: the graph that it is of, tiled as the plan's was (npuplan_json_tiling()), its external
 *	tensors marked (npuplan_json_external())
 * @text: the text
 * @size: bytes at @text
 * @out: out: the plan; npuplan_plan_free() it
 * @error: filled in if the call fails; may be NULL
 *
 * Whether it is a plan of that very graph its digest says; the graph's name is compared where it
 * has none, and the plan is then @unbound. The verifier is not asked. -EBADMSG: not JSON; -EINVAL:
 * a field is missing, unknown or of the wrong type, or does not fit the graph; the error names
 * the field. -ENOMEM.
 */
NPUPLAN_EXPORT int npuplan_plan_from_json(const struct npuplan_graph *graph, const char *text,
					  size_t size, struct npuplan_plan **out,
					  struct npuplan_error *error);

/**
 * npuplan_plan_print() - one line a step, in TFLM's PrintMemoryPlan style
 * @graph: the graph
 * @plan: the plan
 * @columns: characters that the arena is drawn with, 1..512
 * @out: written to; whether that fails its error flag says
 *
 * -EINVAL: @columns, or a placement that does not fit the graph; -ENOMEM.
 */
NPUPLAN_EXPORT int npuplan_plan_print(const struct npuplan_graph *graph,
				      const struct npuplan_plan *plan, unsigned int columns,
				      FILE *out);

#ifdef __cplusplus
}
#endif

#endif /* NPUPLAN_PLAN_H */
