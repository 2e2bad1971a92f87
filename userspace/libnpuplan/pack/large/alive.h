/* SPDX-License-Identifier: MIT */
/*
 * An index that finds the items that live in given sections without looking at the others: the
 * items by first section, and over them a segment tree of where they end.
 */
#pragma once

#include "base/pool.h"
#include "pack/base/sections.h"

/*
 * struct npuplan_alive - index of all items
 * @order: items by first section
 * @last_end: segment tree over @order, with the greatest end of an item below each node: its
 *	leaves are at width + rank, and node i is above 2i and 2i + 1
 */
struct npuplan_alive {
	const struct npuplan_sections *sections;
	uint32_t *order;
	uint32_t *last_end;
	size_t width;
	uint32_t count;
};

/* Make the index of @count items, in arrays of @pool. -ENOMEM. */
int npuplan_alive_init(struct npuplan_alive *alive, const struct npuplan_sections *sections,
		       uint32_t count, struct npuplan_pool *pool);

/* npuplan_alive_in() - list the items that are in any of the sections [first, end), by first
 * section
 * @found: out: room for all items
 * @work: nodes and items looked at are added
 *
 * Returns how many they are.
 */
uint32_t npuplan_alive_in(const struct npuplan_alive *alive, uint32_t first, uint32_t end,
			  uint32_t *found, uint64_t *work);

/* Whether all sections of an item are among [first, end). */
static inline bool npuplan_alive_within(const struct npuplan_alive *alive, uint32_t item,
					uint32_t first, uint32_t end)
{
	return alive->sections->first[item] >= first && alive->sections->end[item] <= end;
}

/*
 * struct npuplan_high - the set of items that lie above the top aimed at
 * @items: their numbers, @count of them
 * @where: per item, one more than where it is in @items; 0: it is not in the set
 */
struct npuplan_high {
	uint32_t *items;
	uint32_t *where;
	uint32_t count;
};

/** npuplan_high_set() - put an item into the set, or take it out; it may have been there or not */
void npuplan_high_set(struct npuplan_high *set, uint32_t item, bool high);
