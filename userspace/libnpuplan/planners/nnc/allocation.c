// SPDX-License-Identifier: MIT
#include "allocation.h"

#include <stdlib.h>

#include "base/internal.h"
#include "base/sorted.h"

void npuplan_nnc_allocation_fini(struct npuplan_nnc_allocation *allocation)
{
	free_all(allocation->edges, allocation->hosts);
}

static uint32_t rank_of(const struct npuplan_nnc_allocation *allocation, uint32_t node)
{
	if (node == NPUPLAN_NNC_SOURCE)
		return 0;
	if (node == NPUPLAN_NNC_SINK)
		return allocation->item_count + 1;
	return allocation->rank[node];
}

/*
 * Append an edge, or widen the last one if that joins the same two items right below it. An edge
 * before @first_new is not widened, since it may have been looked at already.
 */
static int add_edge(struct npuplan_nnc_allocation *allocation, uint32_t from, uint32_t to,
		    uint64_t low, uint64_t high, uint32_t first_new)
{
	struct npuplan_nnc_edge *end = allocation->edges + allocation->edge_count;
	const struct npuplan_nnc_edge edge = {
		.low = low,
		.high = high,
		.from = from,
		.to = to,
		.after = rank_of(allocation, from),
		.before = rank_of(allocation, to),
	};

	if (allocation->edge_count > first_new && end[-1].from == from && end[-1].to == to &&
	    end[-1].high == low) {
		end[-1].high = high;
		return 0;
	}
	return npuplan_append(&allocation->edges, &allocation->edge_count, &edge, 1);
}

int npuplan_nnc_allocation_grow(struct npuplan_nnc_allocation *allocation, uint64_t size)
{
	uint64_t old = allocation->size;

	if (size <= old)
		return 0;
	allocation->size = size;
	return add_edge(allocation, NPUPLAN_NNC_SOURCE, NPUPLAN_NNC_SINK, old, size,
			allocation->edge_count);
}

NPUPLAN_ORDER(by_low, struct npuplan_nnc_edge, low)

static void empty_edge(struct npuplan_nnc_allocation *allocation, struct npuplan_nnc_edge *edge)
{
	edge->high = edge->low;
	allocation->empty++;
}

/*
 * Take the edges that pass @rank within [low, high) out of the graph, and list them in @hosts by
 * address.
 */
static int take_hosts(struct npuplan_nnc_allocation *allocation, uint32_t rank, uint64_t low,
		      uint64_t high, uint32_t first)
{
	allocation->host_count = 0;
	for (uint32_t i = first; i < allocation->edge_count; i++) {
		struct npuplan_nnc_edge *edge = &allocation->edges[i];

		if (edge->after >= rank || edge->before <= rank || edge->low >= high ||
		    edge->high <= low || edge->low == edge->high)
			continue;
		if (npuplan_append(&allocation->hosts, &allocation->host_count, edge, 1))
			return -ENOMEM;
		empty_edge(allocation, edge);
	}
	if (allocation->host_count > 1)
		qsort(allocation->hosts, allocation->host_count, sizeof(*allocation->hosts),
		      by_low);
	return 0;
}

int npuplan_nnc_allocation_insert(struct npuplan_nnc_allocation *allocation, uint32_t item,
				  uint64_t low, uint64_t high, uint32_t first)
{
	int err = take_hosts(allocation, allocation->rank[item], low, high, first);
	const struct npuplan_nnc_edge *host = allocation->hosts;
	uint32_t count = allocation->host_count;

	/* Append what passes below and above the item; then what enters it; then what leaves it. */
	for (uint32_t h = 0; h < count && !err; h++) {
		if (host[h].low < low)
			err = add_edge(allocation, host[h].from, host[h].to, host[h].low, low,
				       allocation->edge_count);
		if (!err && host[h].high > high)
			err = add_edge(allocation, host[h].from, host[h].to, high, host[h].high,
				       allocation->edge_count);
	}
	for (int pass = 0; pass < 2 && !err; pass++) {
		uint32_t first_new = allocation->edge_count;

		for (uint32_t h = 0; h < count && !err; h++)
			err = add_edge(allocation, pass ? item : host[h].from,
				       pass ? host[h].to : item,
				       host[h].low > low ? host[h].low : low,
				       host[h].high < high ? host[h].high : high, first_new);
	}
	return err;
}

int npuplan_nnc_allocation_renew(struct npuplan_nnc_allocation *allocation, uint32_t edge)
{
	struct npuplan_nnc_edge copy = allocation->edges[edge];

	empty_edge(allocation, &allocation->edges[edge]);
	return add_edge(allocation, copy.from, copy.to, copy.low, copy.high,
			allocation->edge_count);
}

void npuplan_nnc_allocation_compact(struct npuplan_nnc_allocation *allocation, uint32_t *indices,
				    uint32_t index_count)
{
	AUTO_HEAP uint32_t *living =
		npuplan_malloc(((size_t)allocation->edge_count + 1) * sizeof(*living));
	uint32_t kept = 0;

	/* If there is no memory, the empty edges stay, which only costs time. */
	if (!living)
		return;
	for (uint32_t i = 0; i < allocation->edge_count; i++) {
		living[i] = kept;
		if (allocation->edges[i].low < allocation->edges[i].high)
			allocation->edges[kept++] = allocation->edges[i];
	}
	living[allocation->edge_count] = kept;
	for (uint32_t i = 0; i < index_count; i++)
		indices[i] = living[indices[i]];
	allocation->edge_count = kept;
	allocation->empty = 0;
}
