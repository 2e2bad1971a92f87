/* SPDX-License-Identifier: MIT */
/*
 * The occupancy says which addresses are taken at which time, so that items can be placed one after
 * another without listing their peers.
 */
#pragma once

#include "pack/base/sections.h"

/** struct npuplan_range - addresses [low, high) */
struct npuplan_range {
	uint64_t low;
	uint64_t high;
};

/** struct npuplan_range32 - the same, of addresses of 32 bits */
struct npuplan_range32 {
	uint32_t low;
	uint32_t high;
};

/**
 * struct npuplan_ranges - disjoint ranges that do not touch, ascending
 * @at: the ranges, if the occupancy is wide
 * @narrow: the ranges, if it is not
 * @count: of them
 * @capacity: for so many there is room
 */
struct npuplan_ranges {
	union {
		struct npuplan_range *at;
		struct npuplan_range32 *narrow;
	};
	uint32_t count;
	uint32_t capacity;
};

/*
 * struct npuplan_occupancy - segment tree over the sections, with the addresses that are taken in
 * each
 *
 * The leaves are at @width + section, and node i is above 2i and 2i + 1.
 *
 * @covering: per node, addresses taken by items that live in all of the node's sections, but not in
 *	all of its parent's
 * @anywhere: per node that is no leaf, addresses taken by these and by items that live in some of
 *	its sections only; behind @covering in the same array
 * @wide: addresses have 64 bits, since one did not fit into 32
 */
struct npuplan_occupancy {
	struct npuplan_sections sections;
	struct npuplan_ranges *covering;
	struct npuplan_ranges *anywhere;
	size_t width;
	bool wide;
};

int npuplan_occupancy_init(struct npuplan_occupancy *occupancy, const struct npuplan_item *items,
			   uint32_t count);
void npuplan_occupancy_fini(struct npuplan_occupancy *occupancy);

/* Take [offset, offset + size) for an item. -ENOMEM. */
int npuplan_occupancy_put(struct npuplan_occupancy *occupancy, uint32_t item, uint64_t offset,
			  uint64_t size);

/* npuplan_occupancy_lowest() - find the lowest address, not below @from, with room for an item
 * @best: take the smallest hole with room instead, and the lowest one if several are as small
 * @work: ranges looked at are added
 */
uint64_t npuplan_occupancy_lowest(const struct npuplan_occupancy *occupancy, uint32_t item,
				  uint64_t size, uint32_t align, uint64_t from, bool best,
				  uint64_t *work);
