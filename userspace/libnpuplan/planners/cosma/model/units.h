/* SPDX-License-Identifier: MIT */
/*
 * Units are what COSMA moves, found from a graph's steps and accesses alone. A *unit* is the bytes
 * of one tensor that one step writes and the same steps read: the verifier's cell. If operators are
 * whole, each tensor is a unit; tiles, and tensors with aliases, may have more. Units are the
 * tensors of the graph that npuplan_cosma() takes, and steps are its operators.
 */
#pragma once

#include "base/internal.h"
#include "planners/cosma/cosma.h"

/*
 * struct cosma_fragment - contiguous bytes of a unit
 * @first, @length: bytes of the tensor
 * @at: where they begin in the unit, which lies on chip in one piece
 */
struct cosma_fragment {
	uint64_t first;
	uint64_t length;
	uint64_t at;
};

/*
 * struct cosma_unit - bytes that are moved together
 * @tensor: of the graph; never an alias
 * @first_fragment, @fragment_count: the unit's fragments, ascending
 */
struct cosma_unit {
	uint32_t tensor;
	uint32_t first_fragment;
	uint32_t fragment_count;
};

/*
 * struct cosma_units - a graph as COSMA sees it
 * @graph: its tensor i is unit i, its operator i is step i
 * @unit: @count of them
 * @fragment: @fragment_count of them
 * @takeovers: @takeover_count outputs of in-place operators that may lie where an input lies
 * @staged: per step
 * @updates: a step updates bytes in place that are no state: some of @takeovers are bound
 * @mixed: outputs may take inputs' bytes in ways that @takeovers do not say, so that plans may need
 *	less than COSMA knows
 * @unaligned: a unit has a fragment that begins where its tensor is not aligned: here it is placed
 *	at a multiple, but as part of a whole tensor it need not be
 * @resident: an input is on chip from the start
 * @with_parameters: a parameter has a unit
 * @state: @state_count of them: one after another from the arena's beginning on; if something has a
 *	fixed offset, in the first gaps that fixed offsets leave
 * @state_bytes: of all of them
 * @state_end: first byte of the arena that units may have. If something has a fixed offset it is 0,
 *	and states are in units' way
 * @fixed_end: first byte above all units with fixed offsets; 0: there are none
 * @state_apart: elsewhere a state might lie in gaps that alignments leave. If all are as large as a
 *	multiple of the largest alignment none could: what lies above a state would move down by its
 *	size, and would be aligned there, too
 */
struct cosma_units {
	struct npuplan_graph *graph;
	struct cosma_unit *unit;
	struct cosma_fragment *fragment;
	uint32_t count;
	uint32_t fragment_count;
	struct npuplan_cosma_takeover *takeovers;
	bool *staged;
	uint32_t takeover_count;
	bool updates;
	bool mixed;
	bool unaligned;
	bool resident;
	bool with_parameters;
	struct cosma_state *state;
	uint32_t state_count;
	uint64_t state_bytes;
	uint64_t state_end;
	uint64_t fixed_end;
	bool state_apart;
};

/* cosma_units_init() - find the units of a tiled graph
 * @cells: checked form of the graph
 * @moving: per tensor: it is on chip from the start and may leave, though the graph calls it state,
 *	since steps update it, which the verifier lets none do with an input. Nothing of it is an
 *	output; NULL: there is none such
 * @alignment: of every address
 *
 * EXTERNAL tensors take no room and are not moved, but keep the steps in order. So does state,
 * which the verifier lets nobody move, but it has its place in the arena. -EOPNOTSUPP, naming the
 * tensor or step: loops and branches, state that is a part of another tensor, parameters on chip
 * without a copy in host memory, an input on chip that is an output, too, parts of a tensor with a
 * fixed offset that are not aligned as it is, operators in place that share more than such a tensor
 * as a whole. -E2BIG: more than 2^16 steps, 2^60 bytes of state, or a fixed offset beyond 2^60.
 * -EINVAL: a fixed offset that is not aligned.
 */
int cosma_units_init(struct cosma_units *units, const struct npuplan_graph *graph,
		     const struct npuv_graph *cells, const bool *moving, uint32_t alignment,
		     struct npuplan_error *error);
void cosma_units_fini(struct cosma_units *units);
