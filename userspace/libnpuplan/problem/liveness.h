/* SPDX-License-Identifier: MIT */
/*
 * Live ranges.
 *
 * Time. A step loads, then stores. Position p of the schedule has two instants:
 * 2p + 1 its loads, 2p + 2 its stores; 0 is the entry and 2n + 1 the exit of a
 * schedule of n positions. Bytes live from the instant that stores them to the
 * last that needs them, both inclusive; bytes valid at entry from 0. The reads
 * of a step that is not staged last until it has stored.
 */
#pragma once

#include "base/internal.h"

/*
 * struct npuplan_atom - bytes of a tensor with one live range
 * @first, @length: bytes of the tensor
 * @start, @end: instants, inclusive
 */
struct npuplan_atom {
	uint64_t first;
	uint64_t length;
	uint32_t tensor;
	uint32_t start;
	uint32_t end;
};

/*
 * struct npuplan_takeover - bytes that a step's write may take from its read
 * @instant: at which the step stores
 * @from, @to: tensors read and written, never aliases
 * @shift: byte b of @from is taken by byte b - @shift of @to; so it is the
 *	displacement, address of @to minus that of @from
 * @first, @length: bytes of @from whose last use this is. 0 if the step is
 *	staged: its reads are over before it stores anyway
 * @aligned: read and write are cut alike, so that one @shift is right for all
 *	of their bytes; otherwise @shift means nothing
 */
struct npuplan_takeover {
	uint32_t instant;
	uint32_t from;
	uint32_t to;
	int64_t shift;
	uint64_t first;
	uint64_t length;
	bool aligned;
};

/*
 * struct npuplan_liveness - of a graph, its steps in the order of the graph
 * @atoms: by tensor, then by first byte, then by start
 * @takeovers: of in-place operators, by from, to, shift, instant, first byte
 * @exit: instant of the exit
 */
struct npuplan_liveness {
	struct npuplan_atom *atoms;
	struct npuplan_takeover *takeovers;
	uint32_t atom_count;
	uint32_t takeover_count;
	uint32_t exit;
};

/*
 * Tensors outside the arena (external ones, parameters that no step accesses)
 * have no atoms.
 */
int npuplan_liveness_init(struct npuplan_liveness *live, const struct npuv_graph *graph);
void npuplan_liveness_fini(struct npuplan_liveness *live);

/* npuplan_lower_bound() - most bytes live at one instant
 * @instant: out: the first such instant
 *
 * No plan for this schedule needs less, whatever it places where: bytes that a
 * write may take from its step's read count once.
 */
int npuplan_lower_bound(const struct npuplan_liveness *live, uint64_t *bytes, uint32_t *instant);

/** struct npuplan_live_range - instants, inclusive */
struct npuplan_live_range {
	uint32_t start;
	uint32_t end;
};

/* npuplan_cell_ranges() - from each cell's writer to its last reader
 * @positions: of each step of the graph in the schedule, a permutation that no
 *	read minds; NULL: the order of the graph
 * @ranges: out: per cell. Of those that no schedule moves: inputs and what is
 *	valid at entry begin at 0; what survives, and parameters, end at the exit
 */
void npuplan_cell_ranges(const struct npuv_graph *graph, const uint32_t *positions,
			 struct npuplan_live_range *ranges);

/* npuplan_tensors_in_arena() - per tensor, whether it needs room; free() it
 *
 * A parameter that no step accesses stays outside the arena; inputs, outputs and
 * state get theirs in any case, for the runtime puts bytes there and takes them
 * from there. Aliases and external tensors have none. NULL: out of memory.
 */
bool *npuplan_tensors_in_arena(const struct npuv_graph *graph);

/* inplace.c; for npuplan_liveness_init(). @ranges: per cell */
int npuplan_takeovers_find(struct npuplan_liveness *live, const struct npuv_graph *graph,
			   const struct npuplan_live_range *ranges, const bool *in_arena);

/* Tensor whose bytes these are; @offset: out: where in it the tensor begins. */
static inline uint32_t npuplan_base(const struct npuv_graph *graph, uint32_t tensor,
				    uint64_t *offset)
{
	const struct npumem_tensor *t = npuv_tensor(graph, tensor);
	bool alias = t->flags & NPUMEM_TENSOR_FLAG_ALIAS;

	*offset = alias ? t->alias_offset : 0;
	return alias ? t->alias_of : tensor;
}

/* Instants at which a position of the schedule loads and stores. */
static inline uint32_t npuplan_load_instant(uint32_t position)
{
	return 2 * position + 1;
}

static inline uint32_t npuplan_store_instant(uint32_t position)
{
	return 2 * position + 2;
}

/* Position of an instant, clamped to the schedule. */
static inline uint32_t npuplan_instant_position(const struct npuplan_liveness *live,
						uint32_t instant)
{
	uint32_t positions = (live->exit - 1) / 2;
	uint32_t position = instant ? (instant - 1) / 2 : 0;

	return position >= positions && positions ? positions - 1 : position;
}
