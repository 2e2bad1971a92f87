// SPDX-License-Identifier: MIT
/*
 * This file finds the minimum-cost cover: the cheapest set of tensors to have away so that an
 * excess of bytes is gone. It is a minimum knapsack problem, solved by branch and bound.
 */
#include <stdlib.h>

#include "base/sorted.h"
#include "critical.h"

#define MAX_NODES 512

/*
 * struct covering - branch and bound over items, of which the cheap and large ones come first
 * @nodes: that were looked at; MAX_NODES at most
 * @best: least cost so far
 */
struct covering {
	const struct cosma_cover_item *items;
	uint32_t count;
	uint32_t nodes;
	int64_t best;
};

static int by_price(const void *a, const void *b)
{
	const struct cosma_cover_item *x = a, *y = b;

	return npuplan_compare(x->price, y->price) ?: npuplan_compare(y->size, x->size);
}

/* The cost of covering @excess bytes if parts of items may be taken; @cheap: bytes of price 1. */
static int64_t fraction(int64_t cheap, int64_t excess)
{
	return excess <= cheap ? excess : cheap + 2 * (excess - cheap);
}

/* Tries items from @i on. @rest: bytes of all of these; @cheap: bytes of those with price 1. */
static void branch(struct covering *covering, uint32_t i, int64_t excess, int64_t cost,
		   int64_t rest, int64_t cheap)
{
	const struct cosma_cover_item *items = covering->items;
	uint32_t same = i;

	if (excess <= 0) {
		if (cost < covering->best)
			covering->best = cost;
		return;
	}
	if (rest < excess || cost + fraction(cheap, excess) >= covering->best ||
	    ++covering->nodes > MAX_NODES)
		return;
	branch(covering, i + 1, excess - items[i].size, cost + items[i].price * items[i].size,
	       rest - items[i].size, items[i].price == 1 ? cheap - items[i].size : cheap);
	/* If one of several equal items is left out, all of them may be. */
	while (same < covering->count && items[same].size == items[i].size &&
	       items[same].price == items[i].price) {
		rest -= items[same].size;
		cheap -= items[same].price == 1 ? items[same].size : 0;
		same++;
	}
	branch(covering, same, excess, cost, rest, cheap);
}

int64_t cosma_cover(struct cosma_cover_item *items, uint32_t count, int64_t excess, uint64_t *work)
{
	struct covering covering = { .items = items, .count = count, .best = COSMA_NEVER };
	int64_t rest = 0, cheap = 0;

	if (excess <= 0)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		rest += items[i].size;
		cheap += items[i].price == 1 ? items[i].size : 0;
	}
	if (rest < excess)
		return COSMA_NEVER;
	qsort(items, count, sizeof(*items), by_price);
	branch(&covering, 0, excess, 0, rest, cheap);
	*work += count + covering.nodes;
	return covering.nodes > MAX_NODES ? fraction(cheap, excess) : covering.best;
}
