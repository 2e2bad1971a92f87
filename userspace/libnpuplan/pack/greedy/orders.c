// SPDX-License-Identifier: MIT
/* Orders in which first fit places items. */
#include <errno.h>
#include <stdlib.h>

#include "first_fit.h"
#include "base/heap.h"
#include "pack/base/sections.h"

/* An item's sort key: greater first; ties as first_fit.h says. */
struct key {
	unsigned __int128 value;
	uint64_t size;
	uint32_t start;
	uint32_t item;
};

static int by_key(const void *left, const void *right)
{
	const struct key *a = left, *b = right;

	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->item < b->item ? -1 : 1;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * Most bytes live at one instant of each item's life: a segment tree of maxima
 * over the sections, leaves at width + section, node i above 2i and 2i + 1.
 */
int npuplan_breadths(const struct npuplan_conflicts *c, uint64_t *breadth)
{
	struct npuplan_sections sections;
	uint64_t *tree, now = 0;
	size_t width;
	int err = npuplan_sections_init(&sections, c->items, c->item_count);

	if (err)
		return err;
	width = (size_t)sections.count + 1;
	tree = npuplan_calloc(2 * width, sizeof(*tree));
	if (!tree) {
		npuplan_sections_fini(&sections);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < c->item_count; i++) {
		/* Unsigned wrap-around is meant: the running sum is never negative. */
		tree[width + sections.first[i]] += c->items[i].size;
		tree[width + sections.end[i]] -= c->items[i].size;
	}
	for (size_t i = width; i < 2 * width; i++)
		tree[i] = now += tree[i];
	for (size_t i = width - 1; i > 0; i--)
		tree[i] = larger(tree[2 * i], tree[2 * i + 1]);
	for (uint32_t i = 0; i < c->item_count; i++) {
		size_t low = width + sections.first[i], high = width + sections.end[i];

		for (breadth[i] = 0; low < high; low /= 2, high /= 2) {
			if (low & 1)
				breadth[i] = larger(breadth[i], tree[low++]);
			if (high & 1)
				breadth[i] = larger(breadth[i], tree[--high]);
		}
	}
	npuplan_free(tree);
	npuplan_sections_fini(&sections);
	return 0;
}

static int by_instant(const void *left, const void *right)
{
	const struct key *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* Sum of @value of the @count events, ascending by start, before @instant. */
static uint64_t sum_before(const struct key *events, size_t count, uint64_t instant)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (events[middle].start < instant)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? (uint64_t)events[low - 1].value : 0;
}

/*
 * Peers of each item, or their bytes, without looking at pairs: all but those
 * that end before it starts, those that start after its end, and itself.
 */
static int overlaps(const struct npuplan_conflicts *c, bool bytes, uint64_t *sums)
{
	size_t n = c->item_count;
	AUTO_HEAP struct key *starts = npuplan_malloc(n * sizeof(*starts) + 1);
	AUTO_HEAP struct key *ends = npuplan_malloc(n * sizeof(*ends) + 1);
	int err = starts && ends ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < n && !err; i++) {
		uint64_t value = bytes ? c->items[i].size : 1;

		starts[i] = (struct key){ .value = value, .start = c->items[i].start };
		ends[i] = (struct key){ .value = value, .start = c->items[i].end };
	}
	if (!err && n) {
		qsort(starts, n, sizeof(*starts), by_instant);
		qsort(ends, n, sizeof(*ends), by_instant);
	}
	for (size_t i = 1; i < n && !err; i++) {
		starts[i].value += starts[i - 1].value;
		ends[i].value += ends[i - 1].value;
	}
	for (uint32_t i = 0; i < n && !err; i++)
		sums[i] = sum_before(starts, n, (uint64_t)c->items[i].end + 1) -
			  sum_before(ends, n, c->items[i].start) - (bytes ? c->items[i].size : 1);
	return err;
}

static void listed_bytes(const struct npuplan_conflicts *c, uint64_t *sums)
{
	for (uint32_t i = 0; i < c->item_count; i++) {
		sums[i] = 0;
		for (size_t p = c->peer_start[i]; p < c->peer_start[i + 1]; p++)
			sums[i] += c->items[c->peers[p].item].size;
	}
}

static void listed_peers(const struct npuplan_conflicts *c, uint64_t *sums)
{
	for (uint32_t i = 0; i < c->item_count; i++)
		sums[i] = c->peer_start[i + 1] - c->peer_start[i];
}

int npuplan_count_peers(const struct npuplan_conflicts *c, uint64_t *counts)
{
	if (!c->peer_start)
		return overlaps(c, false, counts);
	listed_peers(c, counts);
	return 0;
}

/* What the rule needs to know of each item beyond the item itself. */
static int sum_up(const struct npuplan_conflicts *c, enum npuplan_order rule, uint64_t *sums)
{
	if (rule == NPUPLAN_BY_BREADTH)
		return npuplan_breadths(c, sums);
	if (rule == NPUPLAN_BY_PEERS)
		return npuplan_count_peers(c, sums);
	if (rule != NPUPLAN_BY_CONFLICTS)
		return 0;
	if (!c->peer_start)
		return overlaps(c, true, sums);
	listed_bytes(c, sums);
	return 0;
}

/* Fourth root of @duration, in 1/256. */
static uint64_t root(uint64_t duration)
{
	uint64_t low = 256, high = 256ull << 9;

	/* In whole numbers, so that no machine's rounding decides. */
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
	/* In 1/65536. */
	uint64_t tight = (uint64_t)(((unsigned __int128)breadth << 16) / most);
	unsigned __int128 value = size;

	for (unsigned int i = 0; i < roots; i++)
		value *= root(duration);
	for (unsigned int i = 1; i < squares; i++)
		tight = tight * tight >> 16;
	return squares ? value * (tight + 1) : value;
}

int npuplan_order_items(const struct npuplan_conflicts *c, enum npuplan_order rule, uint32_t *order)
{
	AUTO_HEAP struct key *keys = npuplan_malloc((size_t)c->item_count * sizeof(*keys) + 1);
	AUTO_HEAP uint64_t *sums = npuplan_malloc((size_t)c->item_count * sizeof(*sums) + 1);
	int err = keys && sums ? 0 : -ENOMEM;

	if (!err)
		err = sum_up(c, rule, sums);
	for (uint32_t i = 0; i < c->item_count && !err; i++) {
		const struct npuplan_item *item = &c->items[i];
		uint32_t duration = item->end - item->start + 1;

		keys[i] = (struct key){ .size = item->size, .start = item->start, .item = i };
		switch (rule) {
		case NPUPLAN_BY_SIZE:
			keys[i].value = item->size;
			break;
		case NPUPLAN_BY_SIZE_ALONE:
			keys[i] = (struct key){ .value = item->size, .item = i };
			break;
		case NPUPLAN_BY_DURATION:
			keys[i].value = duration;
			break;
		case NPUPLAN_BY_PEERS:
		case NPUPLAN_BY_BREADTH:
		case NPUPLAN_BY_CONFLICTS:
			keys[i].value = sums[i];
			break;
		case NPUPLAN_BY_START:
			keys[i].value = UINT32_MAX - item->start;
			break;
		case NPUPLAN_BY_AREA:
			keys[i].value = (unsigned __int128)item->size * duration;
			break;
		case NPUPLAN_BY_SIZE_DURATION:
			keys[i].value = (unsigned __int128)item->size * root(duration);
			break;
		case NPUPLAN_ORDER_COUNT:
			err = -EINVAL;
			break;
		}
	}
	if (!err && c->item_count)
		qsort(keys, c->item_count, sizeof(*keys), by_key);
	for (uint32_t i = 0; i < c->item_count && !err; i++)
		order[i] = keys[i].item;
	return err;
}
