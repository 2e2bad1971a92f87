// SPDX-License-Identifier: MIT
/* Orders in which first fit places items. */
#include <errno.h>
#include <stdlib.h>

#include "first_fit.h"

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

/*
 * Most bytes live at one instant of each item's life. Instants are cut at all
 * starts and ends; a sparse table answers each item's range maximum.
 */
static int breadths(const struct npuplan_conflicts *c, uint64_t *breadth)
{
	uint32_t exit = 0, levels = 1;
	uint64_t *table, now = 0;
	size_t width;

	for (uint32_t i = 0; i < c->item_count; i++)
		if (c->items[i].end > exit)
			exit = c->items[i].end;
	width = (size_t)exit + 2;
	while ((width >> levels) > 0)
		levels++;
	table = calloc(width * levels, sizeof(*table));
	if (!table)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->item_count; i++) {
		/* Unsigned wrap-around is meant: the running sum is never negative. */
		table[c->items[i].start] += c->items[i].size;
		table[c->items[i].end + 1] -= c->items[i].size;
	}
	for (size_t i = 0; i < width; i++)
		table[i] = now += table[i];
	for (uint32_t level = 1; level < levels; level++) {
		const uint64_t *below = table + (level - 1) * width;
		size_t half = (size_t)1 << (level - 1);

		for (size_t i = 0; i + 2 * half <= width; i++)
			table[level * width + i] =
				below[i] > below[i + half] ? below[i] : below[i + half];
	}
	for (uint32_t i = 0; i < c->item_count; i++) {
		size_t start = c->items[i].start, length = c->items[i].end - start + 1;
		uint32_t level = 63 - __builtin_clzll(length);
		uint64_t left = table[level * width + start];
		uint64_t right = table[level * width + start + length - ((size_t)1 << level)];

		breadth[i] = left > right ? left : right;
	}
	free(table);
	return 0;
}

int npuplan_order_items(const struct npuplan_conflicts *c, enum npuplan_order rule,
			uint32_t *order)
{
	struct key *keys = malloc((size_t)c->item_count * sizeof(*keys) + 1);
	uint64_t *breadth = malloc((size_t)c->item_count * sizeof(*breadth) + 1);
	int err = keys && breadth ? 0 : -ENOMEM;

	if (!err && rule == NPUPLAN_BY_BREADTH)
		err = breadths(c, breadth);
	for (uint32_t i = 0; i < c->item_count && !err; i++) {
		const struct npuplan_item *item = &c->items[i];
		uint32_t duration = item->end - item->start + 1;

		keys[i] = (struct key){ .size = item->size, .start = item->start, .item = i };
		switch (rule) {
		case NPUPLAN_BY_SIZE:
			keys[i].value = item->size;
			break;
		case NPUPLAN_BY_DURATION:
			keys[i].value = duration;
			break;
		case NPUPLAN_BY_PEERS:
			keys[i].value = c->peer_start[i + 1] - c->peer_start[i];
			break;
		case NPUPLAN_BY_BREADTH:
			keys[i].value = breadth[i];
			break;
		case NPUPLAN_BY_START:
			keys[i].value = UINT32_MAX - item->start;
			break;
		case NPUPLAN_BY_AREA:
			keys[i].value = (unsigned __int128)item->size * duration;
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
	free(keys);
	free(breadth);
	return err;
}
