/* SPDX-License-Identifier: MIT */
/*
 * Which items live in given sections, found without looking at the others: items by
 * first section, and over them a segment tree of where they end.
 */
#pragma once

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

/* -ENOMEM */
int npuplan_alive_init(struct npuplan_alive *alive, const struct npuplan_sections *sections,
		       uint32_t count);
void npuplan_alive_fini(struct npuplan_alive *alive);

/* npuplan_alive_in() - items in some of the sections [first, end), by first section
 * @found: out: room for all items
 * @work: nodes and items looked at are added
 *
 * Returns how many.
 */
uint32_t npuplan_alive_in(const struct npuplan_alive *alive, uint32_t first, uint32_t end,
			  uint32_t *found, uint64_t *work);
