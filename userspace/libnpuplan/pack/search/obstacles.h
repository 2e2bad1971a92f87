/* SPDX-License-Identifier: MIT */
/*
 * Obstacles: the items of fixed offset, as the search for the others sees them, which are addresses
 * taken for good.
 */
#pragma once

#include "pack/base/granules.h"

/*
 * struct npuplan_obstacle - granules [low, high) that are taken; @above: granules taken by it and
 * all obstacles above it
 */
struct npuplan_obstacle {
	int64_t low;
	int64_t high;
	int64_t above;
};

/*
 * struct npuplan_obstacles - the obstacles of all sections and items, merged and ascending
 * @work: work units that finding them took
 * @any: there is an item of fixed offset
 * @of_section: the obstacles in section s are ranges[of_section[s] .. of_section[s + 1])
 * @of_item: likewise, for each item that is not fixed, the obstacles in any of its sections
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
 * npuplan_obstacles_init() - list the obstacles
 *
 * Takes time proportional to the fixed items times all items and sections. The caller calls
 * npuplan_obstacles_fini() in any case. -ENOMEM.
 */
int npuplan_obstacles_init(struct npuplan_obstacles *obstacles,
			   const struct npuplan_granules *granules);
void npuplan_obstacles_fini(struct npuplan_obstacles *obstacles);

/*
 * The lowest multiple of @align from @low on at which @item has room for @size granules between its
 * obstacles.
 */
int64_t npuplan_obstacles_fit(const struct npuplan_obstacles *obstacles, uint32_t item, int64_t low,
			      int64_t size, int64_t align);
/* The lowest end above @low of an obstacle of @item; INT64_MAX: there is none. */
int64_t npuplan_obstacles_top(const struct npuplan_obstacles *obstacles, uint32_t item,
			      int64_t low);
/* The granules that obstacles take in @section from @floor on. */
int64_t npuplan_obstacles_above(const struct npuplan_obstacles *obstacles, uint32_t section,
				int64_t floor);
