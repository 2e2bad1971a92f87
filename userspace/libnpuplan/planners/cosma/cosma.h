/* SPDX-License-Identifier: MIT */
/*
 * COSMA (arXiv 2311.18246) chooses operator order, addresses and spilling together, so that as few
 * bytes as possible move between the scratchpad and host memory beyond those that must.
 * docs/cosma.md explains how.
 *
 * What moves, and what it costs:
 * - A graph input, and a parameter, has a copy in host memory. Its first load is compulsory, and
 *   costs nothing here.
 * - A graph output is stored as soon as it is produced, which is compulsory and costs nothing here.
 *   From then on it has a host copy.
 * - Any other tensor that leaves the chip and is used again costs its size for the spill, the first
 *   time; a tensor that has a host copy is dropped for nothing.
 * - A tensor that comes back (a fill) costs its size, each time.
 * - A parameter that one operator uses is on chip while that operator runs.
 * - A tensor that comes back may come back to another address.
 */
#pragma once

#include "base/effort.h"

/* Limits where none are asked for: units that take some seconds, and 1 GiB. */
#define NPUPLAN_COSMA_WORK   20000000000ull
#define NPUPLAN_COSMA_MEMORY (1ull << 30)

/* struct npuplan_cosma_takeover - an output that may lie where an input lies
 * @op: operator that reads @input and writes @output
 * @input, @output: tensors of one size. They may have one address if the input leaves with the
 *	operator, or nobody needs it any more
 * @bound: they must have one, since the operator updates the bytes where they lie; no operator that
 *	may run after it uses the input. Staged operators may have such takeovers, too
 */
struct npuplan_cosma_takeover {
	uint32_t op;
	uint32_t input;
	uint32_t output;
	bool bound;
};

/*
 * struct cosma_state - a state, which stays where it is
 * @tensor: of the graph that is planned; never an alias
 * @offset, @size: in the arena
 */
struct cosma_state {
	uint32_t tensor;
	uint64_t offset;
	uint64_t size;
};

/** struct cosma_pair - operator @before runs before operator @after, whatever these read */
struct cosma_pair {
	uint32_t before;
	uint32_t after;
};

/**
 * struct cosma_settings - what one search is asked for; zero = default
 * @common: as npuplan_plan() has it, with these differences. A budget of 0 is one of no bytes; it
 *	is not looked at for NPUPLAN_OBJECTIVE_PEAK, which is the fewest bytes live at once with
 *	nothing spilled (Eq. 13-15). Any other objective is the traffic within the budget (Eq. 12).
 *	If the schedule is not free, operators run in @order (Eq. 16-17). Limits of 0 are
 *	NPUPLAN_COSMA_WORK and NPUPLAN_COSMA_MEMORY. The caller is told the traffic so far
 *	(NPUPLAN_OBJECTIVE_PEAK: that there is none yet). Planner, banks and the options of other
 *	planners are not looked at
 * @order: all operators, in a topological order; NULL: as the graph has them
 * @with_parameters: parameters take room, too
 * @inputs_resident: graph inputs are on chip from the start; else they are loaded when first needed
 * @inputs_flagged: instead of that, graph inputs without NPUMEM_TENSOR_FLAG_HOST are on chip from
 *	the start and have no copy in host memory; those with it are loaded
 * @out_of_place: in-place operators get a place for their output, as in the paper
 * @takeover_count: in @takeovers
 * @takeovers: outputs of in-place operators that may, or must, lie where an input lies, by rising
 *	operator, each input once; NULL: the first output of each operator whose attributes say that
 *	it works in place may lie where its first input does. Where outputs get places of their own
 *	(@out_of_place, the integer program, two banks) none may be bound
 * @staged: per operator: it is done with its inputs before it stores, so that its outputs may lie
 *	where inputs lie that leave with it; NULL: no operator is
 * @kept_count: in @kept
 * @kept: ranges of the arena, none of which overlap, that are not the planner's. They
 *	are not part of the budget, but addresses are beside them
 * @pair_count: in @pairs
 * @pairs: orders of two operators beside those that follow from tensors. @order, or the graph's,
 *	has to agree. The integer program and the baselines do not look at them
 * @started: seconds of npuplan_now() that progress and the plan's @seconds count from; 0: those at
 *	which the call begins
 */
struct cosma_settings {
	struct npuplan_options common;
	const uint32_t *order;
	bool with_parameters;
	bool inputs_resident;
	bool inputs_flagged;
	bool out_of_place;
	uint32_t takeover_count;
	const struct npuplan_cosma_takeover *takeovers;
	const bool *staged;
	const struct cosma_state *kept;
	uint32_t kept_count;
	uint32_t pair_count;
	const struct cosma_pair *pairs;
	double started;
};

/* Returns the bytes that are not the planner's. */
static inline uint64_t cosma_kept_bytes(const struct cosma_settings *settings)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < settings->kept_count; i++)
		bytes += settings->kept[i].size;
	return bytes;
}

/*
 * struct npuplan_cosma_plan - what was found
 * @status: enum npumem_plan_status. Optimal: no plan costs less, whatever its order and its
 *	addresses. Infeasible: an operator does not fit the budget. Unknown: the limits came before
 *	any plan
 * @needed: bytes that the operator needs that needs most: M_R. If something is kept, or has a fixed
 *	offset, it is the arena that the operator needs, with all that is kept
 * @needed_op: that operator
 * @positions: the schedule, whose kind and index are set. The index is the operator's for
 *	NPUMEM_POSITION_STEP, the tensor's for all others
 * @placements: whole tensors on chip, whose tensor, from, to and offset are set. Those of
 *	one tensor stand together, in the order of time
 * @peak: most bytes on chip at once
 * @top: first byte above all placements
 * @spill, @fill: bytes; their sum is the cost if the objective is the traffic
 * @compulsory: bytes of loads and stores
 * @lower_bound: of the cost; for NPUPLAN_OBJECTIVE_PEAK of @peak
 * @relaxed_bound: the same without addresses; never above @lower_bound
 * @work: units
 * @memory: most bytes that the call held at once, without the plan
 * @memory_ended: a part of the search ended at the limit of memory, and no other limit ended the
 *	whole
 * @seconds: of the call
 */
struct npuplan_cosma_plan {
	uint32_t status;
	uint32_t needed_op;
	uint64_t needed;
	struct npumem_position *positions;
	struct npumem_placement *placements;
	uint32_t position_count;
	uint32_t placement_count;
	uint64_t peak;
	uint64_t top;
	uint64_t spill;
	uint64_t fill;
	uint64_t compulsory;
	uint64_t lower_bound;
	uint64_t relaxed_bound;
	uint64_t work;
	uint64_t memory;
	bool memory_ended;
	double seconds;
};

/* npuplan_cosma() - plan a graph's operators
 *
 * Returns 0 with a plan whose status says what it is worth; only optimal and feasible plans have
 * positions. -EINVAL: the graph cannot be executed (a cycle, an operator without outputs), sizes
 * overflow, an option makes no sense, or an operator needs tensors at once whose fixed offsets
 * collide. -EOPNOTSUPP: aliases, state. -ENOMEM. A tensor with a fixed offset lies there whenever
 * it is on chip.
 * External tensors take no room and are not moved, but order the operators that write and read
 * them.
 */
int npuplan_cosma(const struct npuplan_graph *graph, const struct cosma_settings *options,
		  struct npuplan_cosma_plan *plan, struct npuplan_error *error);
void npuplan_cosma_plan_free(struct npuplan_cosma_plan *plan);

/* npuplan_cosma_budgets() - M_R, M_H and M_P
 * @options: as for npuplan_cosma()
 * @budgets: out; its step is the index of the operator
 */
int npuplan_cosma_budgets(const struct npuplan_graph *graph, const struct cosma_settings *options,
			  struct npuplan_budgets *budgets, struct npuplan_error *error);

/** npuplan_cosma_needed() - M_R alone, without a search, and the operator that needs it */
int npuplan_cosma_needed(const struct npuplan_graph *graph, const struct cosma_settings *options,
			 uint64_t *needed, uint32_t *needed_op, struct npuplan_error *error);

/** enum npuplan_cosma_policy - which tensor a baseline evicts */
enum npuplan_cosma_policy {
	NPUPLAN_COSMA_BELADY, /* the tensor whose next use is furthest away */
	NPUPLAN_COSMA_GREEDY, /* the tensors that cost least now: the paper's locally optimal ILP */
};

/* npuplan_cosma_baseline() - plan as the paper's baselines do (section V-A2)
 *
 * Operators run in options->order. Addresses are TFLite's linear allocation (best fit, never
 * moved), and where no gap fits @policy evicts tensors. The plan is never optimal; its lower bound
 * is 0.
 */
int npuplan_cosma_baseline(const struct npuplan_graph *graph, const struct cosma_settings *options,
			   enum npuplan_cosma_policy policy, struct npuplan_cosma_plan *plan,
			   struct npuplan_error *error);
