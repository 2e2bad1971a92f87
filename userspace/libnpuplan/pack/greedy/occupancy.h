/* SPDX-License-Identifier: MIT */
/*
 * Which addresses are taken at which time, for placing one item after another
 * without listing its peers.
 */
#pragma once

#include "pack/base/sections.h"

/** struct npuplan_range - addresses [low, high) */
struct npuplan_range {
	uint64_t low;
	uint64_t high;
};

/** struct npuplan_ranges - disjoint ranges that do not touch, ascending */
struct npuplan_ranges {
	struct npuplan_range *at;
	uint32_t count;
	uint32_t capacity;
};

/*
 * struct npuplan_occupancy - segment tree over the sections
 *
 * Leaves at @width + section, node i above 2i and 2i + 1.
 *
 * @covering: per node, taken by items that cover the node's sections but not its
 *	parent's
 * @inside: per node, taken by items that are in some of its sections only; behind @covering
 *	in the same array
 */
struct npuplan_occupancy {
	struct npuplan_sections sections;
	struct npuplan_ranges *covering;
	struct npuplan_ranges *inside;
	size_t width;
};

int npuplan_occupancy_init(struct npuplan_occupancy *occupancy, const struct npuplan_item *items,
			   uint32_t count);
void npuplan_occupancy_fini(struct npuplan_occupancy *occupancy);

/* -ENOMEM */
int npuplan_occupancy_put(struct npuplan_occupancy *occupancy, uint32_t item, uint64_t offset,
			  uint64_t size);

/* npuplan_occupancy_lowest() - lowest address, no less than @from, with room
 * @best: not the lowest, but in the smallest hole with room, the lowest of these
 * @work: ranges looked at are added
 */
uint64_t npuplan_occupancy_lowest(const struct npuplan_occupancy *occupancy, uint32_t item,
				  uint64_t size, uint32_t align, uint64_t from, bool best,
				  uint64_t *work);
