/* SPDX-License-Identifier: MIT */
/*
 * COSMA on tiled graphs: the unit that is kept, spilled and filled is not the
 * tensor but a part of it, bytes with one writer and the same readers (the
 * verifier's cells). Its steps are COSMA's operators. A graph of whole operators is
 * the case of one part a tensor.
 */
#ifndef NPUPLAN_COSMA_PARTS_H
#define NPUPLAN_COSMA_PARTS_H

#include "../internal.h"

/* Parts that a graph may be cut into. */
#define NPUPLAN_PARTS_MAX (1u << 16)

/** struct npuplan_part - contiguous bytes of a tensor of the tiled graph */
struct npuplan_part {
	uint64_t first;
	uint64_t length;
	uint32_t tensor;
};

/**
 * struct npuplan_parts - a tiled graph, seen as one of whole operators
 * @graph: operator i is step i, tensor i is @part[i]; with these as ids. For
 *	npuplan_cosma()
 */
struct npuplan_parts {
	struct npuplan_graph *graph;
	struct npuplan_part *part;
	uint32_t count;
};

/** npuplan_parts_init() - cut a tiled graph into parts
 * @cells: of @graph
 *
 * Bytes of external tensors, of parameters that no step accesses and of inputs that
 * none reads are no part. -EOPNOTSUPP: several blocks, updates in place, state, fixed
 * offsets. -E2BIG: more than NPUPLAN_PARTS_MAX.
 */
int npuplan_parts_init(struct npuplan_parts *parts, const struct npuplan_graph *graph,
		       const struct npuv_graph *cells, struct npuplan_error *error);
void npuplan_parts_fini(struct npuplan_parts *parts);

#endif /* NPUPLAN_COSMA_PARTS_H */
