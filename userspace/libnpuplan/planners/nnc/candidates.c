// SPDX-License-Identifier: MIT
#include "candidates.h"

#include <errno.h>
#include <stdlib.h>

#include "pack/greedy/first_fit.h"

#define NONE NPUPLAN_NNC_SINK

struct key {
	uint64_t first;
	uint64_t second;
	uint32_t rank;
	uint32_t item;
};

static int by_key(const void *left, const void *right)
{
	const struct key *a = left, *b = right;

	if (a->first != b->first)
		return a->first > b->first ? -1 : 1;
	if (a->second != b->second)
		return a->second > b->second ? -1 : 1;
	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* Both orders: by edges into by_edges, by size into the list. */
static int sort(struct npuplan_nnc_candidates *c)
{
	const struct npuplan_item *items = c->conflicts->items;
	uint32_t n = c->conflicts->item_count, last = NONE;
	AUTO_HEAP struct key *keys = npuplan_malloc(n * sizeof(*keys) + 1);

	if (!keys)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		keys[i] = (struct key){ c->edges[i], items[i].size, c->rank[i], i };
	if (n)
		qsort(keys, n, sizeof(*keys), by_key);
	for (uint32_t i = 0; i < n; i++)
		c->by_edges[i] = keys[i].item;
	for (uint32_t i = 0; i < n; i++)
		keys[i] = (struct key){ items[i].size, c->edges[i], c->rank[i], i };
	if (n)
		qsort(keys, n, sizeof(*keys), by_key);
	c->head = n ? keys[0].item : NONE;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t item = keys[i].item;

		c->previous[item] = last;
		c->next[item] = i + 1 < n ? keys[i + 1].item : NONE;
		last = item;
	}
	return 0;
}

int npuplan_nnc_candidates_init(struct npuplan_nnc_candidates *c,
				const struct npuplan_conflicts *conflicts, const uint32_t *rank,
				const uint64_t *promoted)
{
	size_t n = conflicts->item_count;
	int err = -ENOMEM;

	*c = (struct npuplan_nnc_candidates){
		.conflicts = conflicts,
		.rank = rank,
		.edges = calloc(n + 1, sizeof(*c->edges)),
		.by_edges = calloc(n + 1, sizeof(*c->by_edges)),
		.next = calloc(n + 1, sizeof(*c->next)),
		.previous = calloc(n + 1, sizeof(*c->previous)),
		.inserted = calloc(n + 1, sizeof(*c->inserted)),
		.known = calloc(n + 1, sizeof(*c->known)),
		.second = calloc(n + 1, sizeof(*c->second)),
		.third = calloc(n + 1, sizeof(*c->third)),
	};
	if (c->edges && c->by_edges && c->next && c->previous && c->inserted && c->known &&
	    c->second && c->third)
		err = npuplan_count_peers(conflicts, c->edges);
	for (size_t i = 0; i < n && !err && promoted; i++)
		c->edges[i] += promoted[i];
	if (!err)
		err = sort(c);
	if (err)
		npuplan_nnc_candidates_fini(c);
	return err;
}

void npuplan_nnc_candidates_fini(struct npuplan_nnc_candidates *c)
{
	free_all(c->edges, c->by_edges, c->next, c->previous, c->inserted, c->known, c->second,
		 c->third);
}

void npuplan_nnc_candidates_remove(struct npuplan_nnc_candidates *c, uint32_t item)
{
	uint32_t next = c->next[item], previous = c->previous[item];

	c->inserted[item] = true;
	if (previous == NONE)
		c->head = next;
	else
		c->next[previous] = next;
	if (next != NONE)
		c->previous[next] = previous;
}

bool npuplan_nnc_candidates_next(struct npuplan_nnc_candidates *c)
{
	uint32_t n = c->conflicts->item_count, kept;

	for (;;) {
		/* Those left of the set stay in order, at its end. */
		kept = c->rest;
		for (uint32_t i = c->rest; i > c->set; i--)
			if (!c->inserted[c->by_edges[i - 1]])
				c->by_edges[--kept] = c->by_edges[i - 1];
		c->set = kept;
		c->set_count = c->rest - kept;
		if (c->set_count)
			return true;
		if (c->rest == n)
			return false;
		c->set = c->rest;
		while (c->rest < n &&
		       c->edges[c->by_edges[c->rest]] == c->edges[c->by_edges[c->set]])
			c->rest++;
	}
}

static size_t peers_of(const struct npuplan_conflicts *c, uint32_t item)
{
	return c->peer_start[item + 1] - c->peer_start[item];
}

bool npuplan_nnc_interfere(const struct npuplan_conflicts *c, uint32_t a, uint32_t b, int64_t d)
{
	const struct npuplan_interval *forbidden;
	const struct npuplan_peer *peer;
	struct npuplan_interval whole;
	uint32_t count;

	if (!c->peer_start)
		return c->items[a].start <= c->items[b].end &&
		       c->items[b].start <= c->items[a].end && d < (int64_t)c->items[a].size &&
		       -d < (int64_t)c->items[b].size;
	if (peers_of(c, a) < peers_of(c, b)) {
		uint32_t swap = a;

		a = b;
		b = swap;
		d = -d;
	}
	peer = npuplan_find_peer(c, b, a);
	if (!peer)
		return false;
	forbidden = npuplan_forbidden(c, b, peer, &whole, &count);
	for (uint32_t k = 0; k < count; k++)
		if (d > forbidden[k].low && d < forbidden[k].high)
			return true;
	return false;
}

/* The largest two that are larger than @lead; neither interferes with it or the other. */
static void find_companions(struct npuplan_nnc_candidates *c, uint32_t lead)
{
	const struct npuplan_item *items = c->conflicts->items;

	c->second[lead] = NONE;
	c->third[lead] = NONE;
	for (uint32_t i = c->head; i != NONE && items[i].size > items[lead].size; i = c->next[i]) {
		if (npuplan_nnc_interfere(c->conflicts, lead, i, 0))
			continue;
		if (c->second[lead] == NONE) {
			c->second[lead] = i;
		} else if (!npuplan_nnc_interfere(c->conflicts, c->second[lead], i, 0)) {
			c->third[lead] = i;
			break;
		}
	}
	c->known[lead] = true;
}

static bool gone(const struct npuplan_nnc_candidates *c, uint32_t companion)
{
	return companion != NONE && c->inserted[companion];
}

bool npuplan_nnc_candidates_tuple(struct npuplan_nnc_candidates *c, uint32_t lead, uint32_t count,
				  struct npuplan_nnc_tuple *tuple)
{
	uint32_t others[NPUPLAN_NNC_TUPLE] = { lead };

	/* Items are only ever removed: who was the largest is so until it is gone. */
	if (!c->known[lead] || gone(c, c->second[lead]) || gone(c, c->third[lead]))
		find_companions(c, lead);
	others[1] = c->second[lead];
	others[2] = c->third[lead];
	*tuple = (struct npuplan_nnc_tuple){ .count = count, .lead = lead };
	for (uint32_t i = 0; i < count; i++) {
		uint32_t item = others[i], at = i;
		uint64_t size;

		if (item == NONE)
			return false;
		size = c->conflicts->items[item].size;
		for (; at && c->rank[tuple->items[at - 1]] > c->rank[item]; at--)
			tuple->items[at] = tuple->items[at - 1];
		tuple->items[at] = item;
		tuple->size = size > tuple->size ? size : tuple->size;
		tuple->sum += size;
		tuple->edges += c->edges[item];
	}
	return true;
}

bool npuplan_nnc_tuple_before(const struct npuplan_nnc_candidates *c,
			      const struct npuplan_nnc_tuple *a, const struct npuplan_nnc_tuple *b)
{
	if (a->size != b->size)
		return a->size > b->size;
	if (a->edges != b->edges)
		return a->edges > b->edges;
	if (a->sum != b->sum)
		return a->sum > b->sum;
	/* Of one lead, the tuples differ in their sums. */
	return c->rank[a->lead] < c->rank[b->lead];
}
