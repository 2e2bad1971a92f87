/* SPDX-License-Identifier: MIT */
/*
 * Live ranges: which bytes of a tensor are needed, from when to when.
 *
 * Time is counted in instants. A step loads, then stores, so position p of a schedule has two
 * instants: 2p + 1 for its loads and 2p + 2 for its stores. Instant 0 is the entry, and 2n + 1 is
 * the exit of a schedule of n positions. Bytes live from the instant that stores them, or from 0 if
 * they are valid at entry, to the last one that needs them, both inclusive. The reads of a step
 * that is not staged last until it has stored.
 */
#pragma once

#include "base/internal.h"

/*
 * struct npuplan_atom - contiguous bytes of a tensor with one live range
 * @first, @length: first byte in the tensor, and number of bytes
 * @start, @end: first and last instant at which they live
 */
struct npuplan_atom {
	uint64_t first;
	uint64_t length;
	uint32_t tensor;
	uint32_t start;
	uint32_t end;
};

/*
 * struct npuplan_takeover - bytes of a step's input that its output may take
 * @instant: instant at which the step stores
 * @from, @to: tensor that is read, and tensor that is written; neither is an alias
 * @shift: byte b - @shift of @to takes byte b of @from, so it is the displacement: address of @to
 *	minus that of @from
 * @first, @length: bytes of @from whose last use this is; @length is 0 if the step is staged, whose
 *	reads are over before it stores anyway
 * @aligned: input and output are cut alike, so that one @shift is right for all of their bytes;
 *	otherwise @shift means nothing
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
 * struct npuplan_liveness - the live ranges of a graph whose steps run in its own order
 * @atoms: all atoms, sorted by tensor, then by first byte, then by start
 * @takeovers: takeovers of in-place operators, sorted by from, to, shift, instant and first byte
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
 * npuplan_liveness_init() - find the live ranges of a graph
 *
 * Tensors outside the arena (external ones, and parameters that no step accesses) have no atoms.
 * The caller calls npuplan_liveness_fini() in any case. -ENOMEM.
 */
int npuplan_liveness_init(struct npuplan_liveness *live, const struct npuv_graph *graph);
void npuplan_liveness_fini(struct npuplan_liveness *live);

/* npuplan_lower_bound() - find the most bytes that live at one instant
 * @instant: out: the first such instant
 *
 * No plan for this schedule needs less, wherever it places tensors: bytes that an output may take
 * from an input count once.
 */
int npuplan_lower_bound(const struct npuplan_liveness *live, uint64_t *bytes, uint32_t *instant);

/** struct npuplan_live_range - first and last instant at which something lives */
struct npuplan_live_range {
	uint32_t start;
	uint32_t end;
};

/* npuplan_cell_ranges() - find each cell's live range, from its writer to its last reader
 * @positions: per step of the graph, its position in the schedule, in which every read still finds
 *	what it reads; NULL: the order of the graph
 * @ranges: out: per cell. In any schedule, what is valid at entry begins at 0, and what survives
 *	the exit, and parameters, end at the exit
 */
void npuplan_cell_ranges(const struct npuv_graph *graph, const uint32_t *positions,
			 struct npuplan_live_range *ranges);

/* npuplan_tensors_in_arena() - list, per tensor, whether it needs room in the arena
 *
 * A parameter that no step accesses stays outside the arena. Inputs, outputs and state get room in
 * any case, since the runtime puts bytes there and takes them from there. Aliases and external
 * tensors need none. The caller frees the result by free(); NULL: out of memory.
 */
bool *npuplan_tensors_in_arena(const struct npuv_graph *graph);

/*
 * Find the takeovers of in-place operators, for npuplan_liveness_init() (inplace.c); @ranges is per
 * cell, @in_arena per tensor. -ENOMEM.
 */
int npuplan_takeovers_find(struct npuplan_liveness *live, const struct npuv_graph *graph,
			   const struct npuplan_live_range *ranges, const bool *in_arena);

/*
 * The base of a tensor, which has its bytes: itself, unless it is an alias. @offset: out: where in
 * the base it begins, in bytes.
 */
static inline uint32_t npuplan_base(const struct npuv_graph *graph, uint32_t tensor,
				    uint64_t *offset)
{
	const struct npumem_tensor *t = npuv_tensor(graph, tensor);
	bool alias = t->flags & NPUMEM_TENSOR_FLAG_ALIAS;

	*offset = alias ? t->alias_offset : 0;
	return alias ? t->alias_of : tensor;
}

/* The instants at which a position of the schedule loads, and at which it stores. */
static inline uint32_t npuplan_load_instant(uint32_t position)
{
	return 2 * position + 1;
}

static inline uint32_t npuplan_store_instant(uint32_t position)
{
	return 2 * position + 2;
}

/* The position that an instant is of; the first one for the entry, the last one for the exit. */
static inline uint32_t npuplan_instant_position(const struct npuplan_liveness *live,
						uint32_t instant)
{
	uint32_t positions = (live->exit - 1) / 2;
	uint32_t position = instant ? (instant - 1) / 2 : 0;

	return position >= positions && positions ? positions - 1 : position;
}
