/* SPDX-License-Identifier: MIT */
/*
 * Time in sections. Of all sets of items that live at one instant only the
 * maximal ones matter: two items overlap if and only if they are in one of
 * these together, and an item is in consecutive ones.
 */
#pragma once

#include "problem/conflicts.h"

/*
 * struct npuplan_sections - item i is in sections [first[i], end[i])
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
void npuplan_sections_fini(struct npuplan_sections *sections);
