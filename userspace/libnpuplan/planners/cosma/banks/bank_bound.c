// SPDX-License-Identifier: MIT
/*
 * This file bounds from above how many bytes a bank of limited size can be accessed for. Stays are
 * intervals of time, and for the bound their bytes may be split between the banks. That makes it a
 * problem of flow: as many bytes as the bank has run through time. Along a stay each byte gains the
 * stay's touches, along idle time it gains nothing. Augmenting paths, each of greatest gain,
 * find the flow of greatest gain.
 */
#include <stdlib.h>
#include <string.h>

#include "base/internal.h"
#include "banks.h"

/** struct arc - arc of the flow's network; its reverse is beside it, at index ^ 1 */
struct arc {
	uint32_t to;
	uint32_t next;
	int64_t room;
	int64_t gain;
};

struct flow {
	struct arc *arcs;
	uint32_t *first; /* per node */
	uint32_t *by;	 /* arc that leads to it on the best path, per node */
	int64_t *best;
	uint32_t *queue;
	bool *queued;
	uint32_t arc_count;
	uint32_t nodes;
};

static void add_arc(struct flow *flow, uint32_t from, uint32_t to, int64_t room, int64_t gain)
{
	struct arc *arc = &flow->arcs[flow->arc_count];

	arc[0] = (struct arc){ .to = to, .next = flow->first[from], .room = room, .gain = gain };
	flow->first[from] = flow->arc_count++;
	arc[1] = (struct arc){ .to = from, .next = flow->first[to], .gain = -gain };
	flow->first[to] = flow->arc_count++;
}

/* Finds the path of greatest gain from the first node to the last. No circle gains anything. */
static bool find_path(struct flow *flow)
{
	uint32_t head = 0, count = 1;

	for (uint32_t i = 0; i < flow->nodes; i++)
		flow->best[i] = INT64_MIN;
	flow->best[0] = 0;
	flow->queue[0] = 0;
	while (count) {
		uint32_t from = flow->queue[head];

		head = (head + 1) % flow->nodes;
		count--;
		flow->queued[from] = false;
		for (uint32_t a = flow->first[from]; a != NPUMEM_NONE; a = flow->arcs[a].next) {
			const struct arc *arc = &flow->arcs[a];

			if (arc->room <= 0 || flow->best[from] + arc->gain <= flow->best[arc->to])
				continue;
			flow->best[arc->to] = flow->best[from] + arc->gain;
			flow->by[arc->to] = a;
			if (flow->queued[arc->to])
				continue;
			flow->queued[arc->to] = true;
			flow->queue[(head + count++) % flow->nodes] = arc->to;
		}
	}
	return flow->best[flow->nodes - 1] > 0;
}

static int64_t push(struct flow *flow, int64_t bytes)
{
	for (uint32_t i = flow->nodes - 1; i; i = flow->arcs[flow->by[i] ^ 1].to)
		if (flow->arcs[flow->by[i]].room < bytes)
			bytes = flow->arcs[flow->by[i]].room;
	for (uint32_t i = flow->nodes - 1; i; i = flow->arcs[flow->by[i] ^ 1].to) {
		flow->arcs[flow->by[i]].room -= bytes;
		flow->arcs[flow->by[i] ^ 1].room += bytes;
	}
	return bytes;
}

/*
 * Makes the network: a node for each position at which a stay begins, and one behind all of them.
 */
static void build(struct flow *flow, const struct cosma_banking *banking, uint32_t *node)
{
	uint32_t nodes = 0;

	for (uint32_t i = 0; i < banking->count; i++)
		node[banking->stays[i].from] = 1;
	node[0] = 1;
	/* From here on node[p] is the first node that is not before position p. */
	for (uint32_t p = 0; p <= banking->positions; p++) {
		bool begins = node[p] || p == banking->positions;

		node[p] = nodes;
		nodes += begins;
	}
	flow->nodes = nodes;
	for (uint32_t i = 0; i < nodes; i++)
		flow->first[i] = NPUMEM_NONE;
	for (uint32_t i = 0; i + 1 < nodes; i++)
		add_arc(flow, i, i + 1, INT64_MAX, 0);
	for (uint32_t i = 0; i < banking->count; i++) {
		const struct cosma_banking_stay *stay = &banking->stays[i];

		add_arc(flow, node[stay->from], node[stay->to + 1], (int64_t)stay->size,
			stay->touches);
	}
}

int cosma_banking_bound(const struct cosma_banking *banking, uint64_t *bound)
{
	size_t nodes = (size_t)banking->positions + 2;
	struct npuplan_pool pool = { 0 };
	struct flow flow = {
		.arcs = npuplan_pool_take(&pool, 2 * (nodes + banking->count), sizeof(*flow.arcs)),
		.first = npuplan_pool_take(&pool, nodes, sizeof(*flow.first)),
		.by = npuplan_pool_take(&pool, nodes, sizeof(*flow.by)),
		.best = npuplan_pool_take(&pool, nodes, sizeof(*flow.best)),
		.queue = npuplan_pool_take(&pool, nodes, sizeof(*flow.queue)),
		.queued = npuplan_pool_take(&pool, nodes, sizeof(*flow.queued)),
	};
	uint32_t *node = npuplan_pool_take(&pool, nodes, sizeof(*node));
	int64_t left = (int64_t)banking->capacity[0];
	int err = pool.failed ? -ENOMEM : 0;

	*bound = 0;
	if (!err) {
		build(&flow, banking, node);
		while (left && find_path(&flow)) {
			int64_t bytes = push(&flow, left);

			*bound += (uint64_t)(bytes * flow.best[flow.nodes - 1]);
			left -= bytes;
		}
	}
	npuplan_pool_free(&pool);
	return err;
}
