/* SPDX-License-Identifier: MIT */
/*
 * Which items live in given sections, found without looking at the others: items by
 * first section, and over them a segment tree of where they end.
 */
#pragma once

#include "base/pool.h"
#include "pack/base/sections.h"

/*
 * struct npuplan_alive - index of all items
 * @order: items by first section
 * @last_end: segment tree of maxima over @order: the end of items; leaves at
 *	@width + rank, node i above 2i and 2i + 1
 */
struct npuplan_alive {
	const struct npuplan_sections *sections;
	uint32_t *order;
	uint32_t *last_end;
	size_t width;
	uint32_t count;
};

/* Its arrays are of @pool. -ENOMEM */
int npuplan_alive_init(struct npuplan_alive *alive, const struct npuplan_sections *sections,
		       uint32_t count, struct npuplan_pool *pool);

/* npuplan_alive_in() - items in some of the sections [first, end), by first section
 * @found: out: room for all items
 * @work: nodes and items looked at are added
 *
 * Returns how many.
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
 * struct npuplan_high - items that lie above the top aimed at
 * @items: their numbers, @count of them
 * @where: per item, where it is among these, and one more; 0: it is none
 */
struct npuplan_high {
	uint32_t *items;
	uint32_t *where;
	uint32_t count;
};

/** npuplan_high_set() - put an item in, or take it out, whatever it was before */
void npuplan_high_set(struct npuplan_high *set, uint32_t item, bool high);
