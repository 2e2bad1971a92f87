/* SPDX-License-Identifier: MIT */
/*
 * NNC's allocation graph, and where its flows lie.
 *
 * An edge from item A to item B of weight w says that B takes over w bytes of what A
 * had. What enters an item equals its size, and so does what leaves it. The source
 * is the buffer before it is used, the sink what is given back.
 *
 * Where a flow lies. The publication assigns weights only; but items need contiguous
 * bytes, and weights alone do not say that there are any. So each edge knows its
 * bytes [low, high) of the one buffer: at each byte the edges are a path from source
 * to sink, in the order of access. An item inserted at [base, base + size) cuts, of
 * every edge that passes it at these bytes, what lies within: the edge's start hands
 * it to the item, the item to the edge's end; what lies outside stays an edge. So
 * every item's bytes are contiguous from the start, and the weights are those of the
 * published steps if a tuple shares one base: a smaller item lies within the bytes
 * of a larger one. Two items may have several edges, apart in address; their weight is the sum.
 */
#pragma once

#include "problem/conflicts.h"

#define NPUPLAN_NNC_SOURCE (UINT32_MAX - 1)
#define NPUPLAN_NNC_SINK   UINT32_MAX

/*
 * struct npuplan_nnc_edge - bytes [low, high) handed on; none left: an empty edge
 * @from, @to: items, or source, or sink
 * @after, @before: their ranks
 */
struct npuplan_nnc_edge {
	uint64_t low;
	uint64_t high;
	uint32_t from;
	uint32_t to;
	uint32_t after;
	uint32_t before;
};

/*
 * struct npuplan_nnc_allocation - allocation graph; without edges, but with @rank, to begin with
 * @rank: per item, 1 to item_count: place in the order of access. Not owned.
 *	The source has 0, the sink item_count + 1
 * @edges: an edge is never changed: what is left of it is appended
 * @empty: how many of them are
 * @size: of the buffer: all that leaves the source
 * @hosts: scratch: edges that an item cuts
 */
struct npuplan_nnc_allocation {
	const uint32_t *rank;
	struct npuplan_nnc_edge *edges;
	struct npuplan_nnc_edge *hosts;
	uint64_t size;
	uint32_t item_count;
	uint32_t edge_count;
	uint32_t host_count;
	uint32_t empty;
};

void npuplan_nnc_allocation_fini(struct npuplan_nnc_allocation *allocation);

/* The buffer has @size bytes, if it had less: a new edge from source to sink. -ENOMEM. */
int npuplan_nnc_allocation_grow(struct npuplan_nnc_allocation *allocation, uint64_t size);

/* npuplan_nnc_allocation_insert() - an item at [low, high), within the buffer
 * @first: edges from this one on are known to have all of these bytes at the
 *	item's rank; 0 for all
 *
 * -ENOMEM.
 */
int npuplan_nnc_allocation_insert(struct npuplan_nnc_allocation *allocation, uint32_t item,
				  uint64_t low, uint64_t high, uint32_t first);

/* Make an edge the last one: what is inserted into it need only look from there on. -ENOMEM. */
int npuplan_nnc_allocation_renew(struct npuplan_nnc_allocation *allocation, uint32_t edge);

/* npuplan_nnc_allocation_compact() - forget empty edges
 * @indices: of edges; each becomes the number of edges that stay before it
 */
void npuplan_nnc_allocation_compact(struct npuplan_nnc_allocation *allocation, uint32_t *indices,
				    uint32_t index_count);
