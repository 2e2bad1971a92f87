// SPDX-License-Identifier: MIT
/*
 * Squeaky wheel optimisation (Joslin & Clements, 1999): after a round of first fit, the items that
 * came to lie too high are placed sooner in the next round. Conflicts are seen by first fit alone,
 * so that as many items can be packed as by first fit.
 */
#include "first_fit.h"
#include "greedy.h"
#include "base/sorted.h"

/* The values by which items are ordered are between this and thrice as much at first. */
#define START (1ull << 32)

/*
 * Have the items placed sooner that end in the upper half between the bound and the best packing.
 */
static void promote(const struct npuplan_pack *call, const uint64_t *offsets,
		    struct npuplan_keyed *turns)
{
	uint64_t aim = call->lower_bound + (call->top - call->lower_bound) / 2;

	if (call->problem->capacity > aim)
		aim = call->problem->capacity;
	for (uint32_t i = 0; i < call->problem->item_count; i++) {
		uint32_t item = turns[i].item;
		uint64_t value = ~turns[i].key;

		if (offsets[item] + call->problem->items[item].size > aim)
			turns[i].key = ~(unsigned __int128)(value + value / 4);
	}
}

int npuplan_pack_squeaky(struct npuplan_pack *call, int rounds)
{
	size_t n = call->problem->item_count;
	AUTO_POOL struct npuplan_pool pool = { 0 };
	/* The greater ~key is, the sooner the item is placed. */
	struct npuplan_keyed *turns = npuplan_pool_take(&pool, n, sizeof(*turns));
	uint32_t *order = npuplan_pool_take(&pool, n, sizeof(*order));
	uint64_t *offsets = npuplan_pool_take(&pool, n, sizeof(*offsets));
	int err = pool.failed ? -ENOMEM : 0;

	if (!err)
		err = npuplan_order_items(&call->conflicts, NPUPLAN_BY_SIZE_DURATION, order);
	for (size_t i = 0; i < n && !err; i++)
		turns[i] = (struct npuplan_keyed){
			.key = ~(unsigned __int128)(START + 2 * START / (n + 1) * (n - i)),
			.item = order[i],
		};
	for (int round = 0; round < rounds && !err; round++) {
		err = npuplan_pack_fit(call, order, false, offsets);
		if (err || npuplan_pack_over(call))
			break;
		promote(call, offsets, turns);
		npuplan_sort_keyed(turns, n);
		for (size_t i = 0; i < n; i++)
			order[i] = turns[i].item;
		call->work += n;
	}
	return err == -EINTR ? 0 : err;
}
