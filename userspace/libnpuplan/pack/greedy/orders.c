// SPDX-License-Identifier: MIT
/* Items sorted by the orders of orders.h. */
#include <errno.h>

#include "first_fit.h"
#include "base/pool.h"
#include "pack/base/sections.h"

/*
 * The sum of what is before @instant. @keys are @count instants in ascending order, and their
 * @second is the sum up to them.
 */
static uint64_t sum_before(const struct npuplan_keyed *keys, size_t count, uint64_t instant)
{
	size_t end = npuplan_bisect(at, 0, count, keys[at].key < instant);

	return end ? keys[end - 1].second : 0;
}

static void sum_keys(struct npuplan_keyed *keys, size_t count)
{
	npuplan_sort_keyed(keys, count);
	for (size_t i = 1; i < count; i++)
		keys[i].second += keys[i - 1].second;
}

/*
 * Count the peers of each item, or their bytes, without looking at pairs: they are all items but
 * itself, those that end before it starts, and those that start after its end.
 */
static int overlaps(const struct npuplan_conflicts *c, bool bytes, uint64_t *sums)
{
	size_t n = c->item_count;
	AUTO_POOL struct npuplan_pool pool = { 0 };
	struct npuplan_keyed *starts = npuplan_pool_take(&pool, n, sizeof(*starts));
	struct npuplan_keyed *ends = npuplan_pool_take(&pool, n, sizeof(*ends));

	if (pool.failed)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		sums[i] = bytes ? c->items[i].size : 1;
		starts[i] = (struct npuplan_keyed){ c->items[i].start, sums[i], 0, 0 };
		ends[i] = (struct npuplan_keyed){ c->items[i].end, sums[i], 0, 0 };
	}
	sum_keys(starts, n);
	sum_keys(ends, n);
	for (size_t i = 0; i < n; i++)
		sums[i] = sum_before(starts, n, (uint64_t)c->items[i].end + 1) -
			  sum_before(ends, n, c->items[i].start) - sums[i];
	return 0;
}

/* Count listed peers, or their bytes. */
static int sum_peers(const struct npuplan_conflicts *c, bool bytes, uint64_t *sums)
{
	if (!c->peer_start)
		return overlaps(c, bytes, sums);
	for (uint32_t i = 0; i < c->item_count; i++) {
		sums[i] = bytes ? 0 : c->peer_start[i + 1] - c->peer_start[i];
		for (size_t p = c->peer_start[i]; bytes && p < c->peer_start[i + 1]; p++)
			sums[i] += c->items[c->peers[p].item].size;
	}
	return 0;
}

int npuplan_count_peers(const struct npuplan_conflicts *c, uint64_t *counts)
{
	return sum_peers(c, false, counts);
}

/* Find the number that the rule needs of each item beside the item itself. */
static int sum_up(const struct npuplan_conflicts *c, enum npuplan_order rule, uint64_t *sums)
{
	uint64_t most;

	if (rule == NPUPLAN_BY_BREADTH)
		return npuplan_breadths(c->items, c->item_count, sums, &most);
	if (rule == NPUPLAN_BY_PEERS || rule == NPUPLAN_BY_CONFLICTS)
		return sum_peers(c, rule == NPUPLAN_BY_CONFLICTS, sums);
	return 0;
}

/* The fourth root of @duration, in 1/256. */
static uint64_t root(uint64_t duration)
{
	uint64_t low = 256, high = 256ull << 9;

	/* This is done in whole numbers, so that it is the same on every machine. */
	while (low + 1 < high) {
		uint64_t middle = (low + high) / 2;
		unsigned __int128 square = (unsigned __int128)middle * middle;

		if (square * square <= (unsigned __int128)duration << 32)
			low = middle;
		else
			high = middle;
	}
	return low;
}

unsigned __int128 npuplan_tight_key(uint64_t size, uint64_t duration, unsigned int roots,
				    uint64_t breadth, uint64_t most, unsigned int squares)
{
	/* The breadth's share of the greatest one, in 1/65536. */
	uint64_t tight = (uint64_t)(((unsigned __int128)breadth << 16) / most);
	unsigned __int128 value = size;

	for (unsigned int i = 0; i < roots; i++)
		value *= root(duration);
	for (unsigned int i = 1; i < squares; i++)
		tight = tight * tight >> 16;
	return squares ? value * (tight + 1) : value;
}

/* Of greater keys the item comes first. */
static unsigned __int128 key_of(enum npuplan_order rule, const struct npuplan_item *item,
				uint64_t sum)
{
	uint32_t duration = item->end - item->start + 1;
	unsigned __int128 area = (unsigned __int128)item->size * duration;

	switch (rule) {
#define ORDER_KEY(order, planner, purpose, key) \
	case order:                             \
		return key;
		NPUPLAN_GREEDY_ORDERS(ORDER_KEY)
#undef ORDER_KEY
	case NPUPLAN_BY_SIZE_DURATION:
		return (unsigned __int128)item->size * root(duration);
	case NPUPLAN_BY_SIZE_ALONE:
	case NPUPLAN_ORDER_COUNT:
		break;
	}
	return item->size;
}

int npuplan_order_items(const struct npuplan_conflicts *c, enum npuplan_order rule, uint32_t *order)
{
	AUTO_POOL struct npuplan_pool pool = { 0 };
	struct npuplan_keyed *keys = npuplan_pool_take(&pool, c->item_count, sizeof(*keys));
	uint64_t *sums = npuplan_pool_take(&pool, c->item_count, sizeof(*sums));
	int err = pool.failed ? -ENOMEM : sum_up(c, rule, sums);

	for (uint32_t i = 0; i < c->item_count && !err; i++) {
		const struct npuplan_item *item = &c->items[i];
		unsigned __int128 key = key_of(rule, item, sums[i]);

		/* orders.h says what decides between equal ones. */
		keys[i] = (struct npuplan_keyed){ ~key, ~item->size, item->start, i };
		if (rule == NPUPLAN_BY_SIZE_ALONE)
			keys[i].third = 0;
	}
	if (!err)
		npuplan_sort_keyed(keys, c->item_count);
	for (uint32_t i = 0; i < c->item_count && !err; i++)
		order[i] = keys[i].item;
	return err;
}
