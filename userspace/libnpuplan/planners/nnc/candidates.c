// SPDX-License-Identifier: MIT
/* NNC: the choice of the items to insert next. */
#include "base/sorted.h"
#include "pack/greedy/first_fit.h"
#include "build.h"

#define NONE NPUPLAN_NNC_SINK

/* Sort the items in both orders: by edges into by_edges, by size into the list. */
static int sort(struct npuplan_nnc_candidates *c)
{
	const struct npuplan_item *items = c->conflicts->items;
	uint32_t n = c->conflicts->item_count, last = n;
	AUTO_HEAP struct npuplan_keyed *keys = npuplan_malloc(n * sizeof(*keys) + 1);

	if (!keys)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		keys[i] = (struct npuplan_keyed){ ~(unsigned __int128)items[i].size, ~c->edges[i],
						  c->rank[i], i };
	npuplan_sort_items(keys, n, c->by_edges);
	for (uint32_t i = 0; i <= n; i++) {
		uint32_t item = i < n ? c->by_edges[i] : n;

		c->previous[item] = last;
		c->next[last] = item;
		last = item;
	}
	for (uint32_t i = 0; i < n; i++)
		keys[i] = (struct npuplan_keyed){ ~(unsigned __int128)c->edges[i], ~items[i].size,
						  c->rank[i], i };
	npuplan_sort_items(keys, n, c->by_edges);
	return 0;
}

int npuplan_nnc_candidates_init(struct npuplan_nnc_candidates *c, struct npuplan_pool *pool,
				const struct npuplan_conflicts *conflicts,
				const struct npuplan_nnc_order *order)
{
	size_t n = conflicts->item_count, number = sizeof(uint32_t);
	int err = -ENOMEM;

	*c = (struct npuplan_nnc_candidates){
		.conflicts = conflicts,
		.rank = order->rank,
		.edges = npuplan_pool_take(pool, n, sizeof(*c->edges)),
		.by_edges = npuplan_pool_take(pool, n, number),
		.next = npuplan_pool_take(pool, n + 1, number),
		.previous = npuplan_pool_take(pool, n + 1, number),
		.inserted = npuplan_pool_take(pool, n, sizeof(*c->inserted)),
		.known = npuplan_pool_take(pool, n, sizeof(*c->known)),
		.second = npuplan_pool_take(pool, n, number),
		.third = npuplan_pool_take(pool, n, number),
	};
	if (!pool->failed)
		err = npuplan_count_peers(conflicts, c->edges);
	for (size_t i = 0; i < n && !err; i++)
		c->edges[i] += order->promoted[i];
	return err ? err : sort(c);
}

void npuplan_nnc_candidates_remove(struct npuplan_nnc_candidates *c, uint32_t item)
{
	c->inserted[item] = true;
	c->next[c->previous[item]] = c->next[item];
	c->previous[c->next[item]] = c->previous[item];
}

bool npuplan_nnc_candidates_next(struct npuplan_nnc_candidates *c)
{
	uint32_t n = c->conflicts->item_count, kept;

	for (;;) {
		/* The items of the set that are not inserted move to its end, in their order. */
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
	const struct npuplan_peer *peer;

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
	return peer && npuplan_is_forbidden(c, b, peer, d);
}

/*
 * Find the companions of @lead: the largest two items that are larger, and interfere neither with
 * it nor with each other.
 */
static void find_companions(struct npuplan_nnc_candidates *c, uint32_t lead)
{
	const struct npuplan_item *items = c->conflicts->items;

	c->second[lead] = NONE;
	c->third[lead] = NONE;
	for (uint32_t n = c->conflicts->item_count, i = c->next[n];
	     i != n && items[i].size > items[lead].size; i = c->next[i]) {
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

	/*
	 * Items are only ever removed, so companions stay the largest ones until one of them is
	 * inserted.
	 */
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
	int order = npuplan_compare(b->size, a->size) ?: npuplan_compare(b->edges, a->edges);

	/* Tuples of one lead differ in their sums. */
	order = order ?: npuplan_compare(b->sum, a->sum);
	return (order ?: npuplan_compare(c->rank[a->lead], c->rank[b->lead])) < 0;
}
