/* SPDX-License-Identifier: MIT */
/*
 * Time in sections. Of all sets of items that live at one instant only the
 * maximal ones matter: two items overlap if and only if they are in one of
 * these together, and an item is in consecutive ones.
 */
#pragma once

#include "base/sorted.h"
#include "problem/conflicts.h"

/*
 * struct npuplan_sections - item i is in sections [first[i], end[i])
 * @first: npuplan_free() it; @end is behind it in the same array
 * @count: sections
 * @memberships: sum of end[i] - first[i]
 */
struct npuplan_sections {
	uint32_t *first;
	uint32_t *end;
	uint32_t count;
	uint64_t memberships;
};

/* Cost O(n log n). -ENOMEM. */
int npuplan_sections_init(struct npuplan_sections *sections, const struct npuplan_item *items,
			  uint32_t count);

/* npuplan_sections_most() - most that lives in one section, of those of each item and of all
 * @count: items
 * @live: per item: in: its size; out: the most that lives in one of its sections
 * @most: out: of all sections
 *
 * -ENOMEM
 */
int npuplan_sections_most(const struct npuplan_sections *sections, uint32_t count, uint64_t *live,
			  uint64_t *most);

/* The same of items, in bytes. */
int npuplan_breadths(const struct npuplan_item *items, uint32_t count, uint64_t *breadths,
		     uint64_t *most);

/* Starts and ends of items, by time: a key is twice the instant, and one more of an end. */
void npuplan_list_events(const struct npuplan_item *items, uint32_t count,
			 struct npuplan_keyed *events);
