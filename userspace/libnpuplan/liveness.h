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
#ifndef NPUPLAN_LIVENESS_H
#define NPUPLAN_LIVENESS_H

#include "internal.h"

/**
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

/**
 * struct npuplan_liveness - of a graph, its steps in the order of the graph
 * @atoms: by tensor, then by first byte, then by start
 * @exit: instant of the exit
 */
struct npuplan_liveness {
	struct npuplan_atom *atoms;
	uint32_t atom_count;
	uint32_t exit;
};

/*
 * Tensors outside the arena (external ones, parameters that no step accesses)
 * have no atoms.
 */
int npuplan_liveness_init(struct npuplan_liveness *live, const struct npuv_graph *graph);
void npuplan_liveness_fini(struct npuplan_liveness *live);

/** npuplan_lower_bound() - most bytes live at one instant (lower_bound.c)
 * @instant: out: the first such instant
 *
 * No plan for this schedule needs less, whatever it places where.
 */
int npuplan_lower_bound(const struct npuplan_liveness *live, uint64_t *bytes, uint32_t *instant);

/* Position of an instant, clamped to the schedule. */
static inline uint32_t npuplan_instant_position(const struct npuplan_liveness *live,
						uint32_t instant)
{
	uint32_t positions = (live->exit - 1) / 2;
	uint32_t position = instant ? (instant - 1) / 2 : 0;

	return position >= positions && positions ? positions - 1 : position;
}

#endif /* NPUPLAN_LIVENESS_H */
