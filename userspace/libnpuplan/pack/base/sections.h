/* SPDX-License-Identifier: MIT */
/*
 * Time, cut into sections. Of all sets of items that live at one instant only the maximal ones, the
 * sections, matter: two items overlap if and only if they are in one section together, and the
 * sections of an item are consecutive.
 */
#pragma once

#include "base/sorted.h"
#include "problem/conflicts.h"

/*
 * struct npuplan_sections - item i is in sections [first[i], end[i])
 * @first: npuplan_free() frees it; @end is behind it in the same array
 * @count: number of sections
 * @memberships: sum of end[i] - first[i] over all items
 */
struct npuplan_sections {
	uint32_t *first;
	uint32_t *end;
	uint32_t count;
	uint64_t memberships;
};

/* Find the sections of items, in O(n log n). -ENOMEM. */
int npuplan_sections_init(struct npuplan_sections *sections, const struct npuplan_item *items,
			  uint32_t count);

/* npuplan_sections_most() - find the most that lives in one section, for each item and for all
 * @count: number of items
 * @live: per item: in: its size; out: the most that lives in any one of its sections
 * @most: out: the most that lives in any section
 *
 * -ENOMEM
 */
int npuplan_sections_most(const struct npuplan_sections *sections, uint32_t count, uint64_t *live,
			  uint64_t *most);

/*
 * The breadths of items: per item, the most bytes that live at one instant of its life; @most: out:
 * the greatest of them. -ENOMEM.
 */
int npuplan_breadths(const struct npuplan_item *items, uint32_t count, uint64_t *breadths,
		     uint64_t *most);

/*
 * List the starts and ends of items by time, 2 * @count of them: the key of a start is twice its
 * instant, that of an end is one more.
 */
void npuplan_list_events(const struct npuplan_item *items, uint32_t count,
			 struct npuplan_keyed *events);
