/* SPDX-License-Identifier: MIT */
/*
 * Fixed items, as the search for the others sees them: addresses that are taken
 * for good.
 */
#pragma once

#include "pack/base/units.h"

/** struct npuplan_obstacle - units [low, high); @above: taken from @low on, up to the last one */
struct npuplan_obstacle {
	int64_t low;
	int64_t high;
	int64_t above;
};

/*
 * struct npuplan_obstacles - what fixed items take, merged and ascending
 * @work: of finding them
 * @any: there is one
 * @of_section: per section, those in ranges[of_section[s] .. of_section[s + 1])
 * @of_item: per item that is not fixed, those it meets in any of its sections
 */
struct npuplan_obstacles {
	struct npuplan_obstacle *ranges;
	size_t *of_section;
	size_t *of_item;
	size_t range_count;
	uint32_t capacity;
	uint64_t work;
	bool any;
};

/*
 * Takes time of fixed items times all items and sections. The caller calls
 * npuplan_obstacles_fini() in any case. -ENOMEM.
 */
int npuplan_obstacles_init(struct npuplan_obstacles *obstacles, const struct npuplan_units *units);
void npuplan_obstacles_fini(struct npuplan_obstacles *obstacles);

/* Lowest multiple of @align from @low on with room for @size units of @item. */
int64_t npuplan_obstacles_fit(const struct npuplan_obstacles *obstacles, uint32_t item, int64_t low,
			      int64_t size, int64_t align);
/* Lowest end, above @low, of an obstacle of @item; INT64_MAX: there is none. */
int64_t npuplan_obstacles_top(const struct npuplan_obstacles *obstacles, uint32_t item,
			      int64_t low);
/* Units taken in @section at @floor and above. */
int64_t npuplan_obstacles_above(const struct npuplan_obstacles *obstacles, uint32_t section,
				int64_t floor);
