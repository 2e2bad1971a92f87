/* SPDX-License-Identifier: MIT */
/* What tests compare with what the tiler chose: tilings of tiles as equal as can be. */
#pragma once

#include "tiling/cost.h"
#include "unit.h"

/* The cost of one tiling if it fits, or UINT64_MAX. */
static inline uint64_t cost_of(const struct npuplan_graph *graph,
			       const struct npuplan_tiling *tiling,
			       const struct npuplan_tile_choice *choice)
{
	struct npuplan_tile_cost cost;

	assert_int_equal(npuplan_choice_cost(graph, tiling, choice, &cost), 0);
	return cost.report.onchip <= tiling->onchip ? cost.transfers : UINT64_MAX;
}

/*
 * The size of the next more tiles, or parts, that are as equal as can be; 0: there are as many as
 * elements.
 */
static inline int64_t smaller(int64_t extent, int64_t size)
{
	int64_t tiles = size > 1 ? (extent + size - 2) / (size - 1) : 0;

	return tiles ? (extent + tiles - 1) / tiles : 0;
}
