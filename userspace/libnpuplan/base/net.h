/* SPDX-License-Identifier: MIT */
/*
 * Networks: the most that flows from a source to a sink, which is also the least that edges weigh
 * that cut the one from the other (Dinic's algorithm, 1970).
 */
#pragma once

#include <stdint.h>

#include "pool.h"

/* An edge that no cut has: more than any sum of bytes. */
#define NPUPLAN_NET_ENDLESS (UINT64_C(1) << 62)

/**
 * struct npuplan_net_edge - an edge; that with its last bit turned goes back
 * @to: its end
 * @next: the next edge of the same begin; NPUMEM_NONE: none
 * @left: what may still flow through it
 */
struct npuplan_net_edge {
	uint32_t to;
	uint32_t next;
	uint64_t left;
};

/*
 * struct npuplan_net - a network
 * @first: per node, its first edge; NPUMEM_NONE: none
 * @level: per node, its distance from the source; NPUMEM_NONE: not reached
 * @at: per node, the edge that is looked at next
 * @queue, @path: nodes to go on from; edges from the source to the node at hand
 * @looked: number of edges that were looked at
 * @pool: memory of all arrays
 */
struct npuplan_net {
	struct npuplan_net_edge *edges;
	uint32_t *first;
	uint32_t *level;
	uint32_t *at;
	uint32_t *queue;
	uint32_t *path;
	uint32_t node_count;
	uint32_t edge_count;
	uint64_t looked;
	struct npuplan_pool pool;
};

/* npuplan_net_init() - a network of @nodes nodes, and room for @edges edges
 *
 * The caller calls npuplan_pool_free() of its pool in any case. -ENOMEM.
 */
int npuplan_net_init(struct npuplan_net *net, uint32_t nodes, uint32_t edges);

/* npuplan_net_clear() - drop all edges
 * @nodes: nodes from now on, at most as many as there was room for at first
 */
void npuplan_net_clear(struct npuplan_net *net, uint32_t nodes);

/** npuplan_net_add() - add an edge, and return its number; @back is what may flow the other way */
uint32_t npuplan_net_add(struct npuplan_net *net, uint32_t from, uint32_t to, uint64_t most,
			 uint64_t back);

/* npuplan_net_flow() - let flow what can from @source to @sink
 * @looks: number of edges to look at; then it ends, with less than could flow
 *
 * Returns how much flows. The edges have what is left of them afterwards.
 */
uint64_t npuplan_net_flow(struct npuplan_net *net, uint32_t source, uint32_t sink, uint64_t looks);
