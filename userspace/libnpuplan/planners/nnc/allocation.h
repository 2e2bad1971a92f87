/* SPDX-License-Identifier: MIT */
/*
 * NNC's allocation graph, with the addresses of its flows.
 *
 * An edge from item A to item B of weight w says that B takes over w bytes that A had. The weights
 * of the edges that enter an item add up to its size, and so do those of the edges that leave it.
 * The source stands for the buffer before it is used, the sink for the buffer when it has been
 * given back.
 *
 * The publication assigns weights only. But items need contiguous bytes, and weights alone do not
 * say that there are any. So each edge here knows its bytes [low, high) of the one buffer, and at
 * each byte the edges are a path from source to sink, in the order of access. An item that is
 * inserted at [base, base + size) cuts every edge that passes it at these bytes. The edge's start
 * hands the bytes within to the item, and the item hands them to the edge's end; the bytes outside
 * remain an edge. So the bytes of every item are contiguous. The weights are those of the published
 * steps if the items of a tuple share one base, since a smaller item then lies within the bytes of
 * a larger one. Two items may have several edges between them, apart in address; their weight is
 * the sum.
 */
#pragma once

#include "problem/conflicts.h"

#define NPUPLAN_NNC_SOURCE (UINT32_MAX - 1)
#define NPUPLAN_NNC_SINK   UINT32_MAX

/*
 * struct npuplan_nnc_edge - bytes [low, high) that one item hands to another; without bytes it is
 * an empty edge
 * @from, @to: the two items, or source or sink
 * @after, @before: ranks of @from and @to
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
 * struct npuplan_nnc_allocation - the allocation graph, which has @rank but no edges to begin with
 * @rank: per item, its place in the order of access, 1 to item_count; not owned. The source has
 *	rank 0, the sink item_count + 1
 * @edges: the edges; one that is cut becomes empty, and what is left of it is appended
 * @empty: how many edges are empty
 * @size: bytes of the buffer, which are those that leave the source
 * @hosts: scratch array: the edges that an item cuts
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

/*
 * Let the buffer grow to @size bytes, if it has less, by a new edge from source to sink. -ENOMEM.
 */
int npuplan_nnc_allocation_grow(struct npuplan_nnc_allocation *allocation, uint64_t size);

/* npuplan_nnc_allocation_insert() - insert an item at [low, high), within the buffer
 * @first: number of an edge: this one and those after it are known to have all of these bytes at
 *	the item's rank; 0: look at all edges
 *
 * -ENOMEM.
 */
int npuplan_nnc_allocation_insert(struct npuplan_nnc_allocation *allocation, uint32_t item,
				  uint64_t low, uint64_t high, uint32_t first);

/*
 * Make an edge the last one, so that an insertion into it need look at no edge before it. -ENOMEM.
 */
int npuplan_nnc_allocation_renew(struct npuplan_nnc_allocation *allocation, uint32_t edge);

/* npuplan_nnc_allocation_compact() - forget empty edges
 * @indices: numbers of edges; each becomes the number of edges that stay before it
 */
void npuplan_nnc_allocation_compact(struct npuplan_nnc_allocation *allocation, uint32_t *indices,
				    uint32_t index_count);
