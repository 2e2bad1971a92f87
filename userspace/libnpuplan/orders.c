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

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * Most bytes live at one instant of each item's life: a segment tree of maxima
 * over the instants, leaves at width + instant, node i above 2i and 2i + 1.
 */
static int breadths(const struct npuplan_conflicts *c, uint64_t *breadth)
{
	uint64_t *tree, now = 0;
	size_t width = 2;

	for (uint32_t i = 0; i < c->item_count; i++)
		if (width < (size_t)c->items[i].end + 2)
			width = (size_t)c->items[i].end + 2;
	tree = calloc(2 * width, sizeof(*tree));
	if (!tree)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->item_count; i++) {
		/* Unsigned wrap-around is meant: the running sum is never negative. */
		tree[width + c->items[i].start] += c->items[i].size;
		tree[width + c->items[i].end + 1] -= c->items[i].size;
	}
	for (size_t i = width; i < 2 * width; i++)
		tree[i] = now += tree[i];
	for (size_t i = width - 1; i > 0; i--)
		tree[i] = larger(tree[2 * i], tree[2 * i + 1]);
	for (uint32_t i = 0; i < c->item_count; i++) {
		size_t low = width + c->items[i].start, high = width + c->items[i].end + 1;

		for (breadth[i] = 0; low < high; low /= 2, high /= 2) {
			if (low & 1)
				breadth[i] = larger(breadth[i], tree[low++]);
			if (high & 1)
				breadth[i] = larger(breadth[i], tree[--high]);
		}
	}
	free(tree);
	return 0;
}

int npuplan_order_items(const struct npuplan_conflicts *c, enum npuplan_order rule, uint32_t *order)
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
