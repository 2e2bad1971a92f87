// SPDX-License-Identifier: MIT
/*
 * Squeaky wheel optimisation (Joslin & Clements, 1999): first fit, then items that
 * came to lie too high are placed sooner, and once more from the beginning. Knows
 * no more of conflicts than first fit does, and takes as many items.
 */
#include <stdlib.h>

#include "first_fit.h"
#include "greedy.h"

/* Values begin between this and thrice as much. */
#define START (1ull << 32)

/* struct turn - the greater @value, the sooner @item is placed */
struct turn {
	uint64_t value;
	uint32_t item;
};

static int by_value(const void *left, const void *right)
{
	const struct turn *a = left, *b = right;

	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return a->item < b->item ? -1 : a->item > b->item;
}

/* Those that end in the upper half between the bound and the best packing squeak. */
static void promote(const struct npuplan_pack *run, const uint64_t *offsets, struct turn *turns)
{
	uint64_t aim = run->lower_bound + (run->top - run->lower_bound) / 2;
	uint32_t n = run->problem->item_count;

	if (run->goal > aim)
		aim = run->goal;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t item = turns[i].item;

		if (offsets[item] + run->problem->items[item].size > aim)
			turns[i].value += turns[i].value / 4;
	}
}

int npuplan_pack_squeaky(struct npuplan_pack *run, int rounds)
{
	size_t n = run->problem->item_count;
	AUTO_HEAP struct turn *turns = npuplan_malloc(n * sizeof(*turns) + 1);
	AUTO_HEAP uint32_t *order = npuplan_malloc(n * sizeof(*order) + 1);
	AUTO_HEAP uint64_t *offsets = npuplan_malloc(n * sizeof(*offsets) + 1);
	int err = turns && order && offsets ? 0 : -ENOMEM;
	uint64_t top;

	if (!err)
		err = npuplan_order_items(&run->conflicts, NPUPLAN_BY_SIZE_DURATION, order);
	for (size_t i = 0; i < n && !err; i++)
		turns[i] = (struct turn){ .value = START + 2 * START / (n + 1) * (n - i),
					  .item = order[i] };
	for (int round = 0; round < rounds && !err; round++) {
		err = npuplan_pack_fit(run, order, false, offsets, &top);
		if (err || top == UINT64_MAX || npuplan_pack_over(run))
			break;
		promote(run, offsets, turns);
		qsort(turns, n, sizeof(*turns), by_value);
		for (size_t i = 0; i < n; i++)
			order[i] = turns[i].item;
		run->work += n;
	}
	return err;
}
