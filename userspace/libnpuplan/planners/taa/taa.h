/* SPDX-License-Identifier: MIT */
/*
 * TAA, the tile-aware allocator: the memory of a tile is free again as soon as the tile's last
 * reader is done, long before the last reader of its tensor is (docs/taa.md).
 */
#pragma once

#include "problem/packing.h"

/** enum npuplan_taa_method - how npuplan_pack_taa() places tiles */
enum npuplan_taa_method {
	NPUPLAN_TAA_EXACT, /* displacements.h: first fit by every order, then search */
	NPUPLAN_TAA_PAPER, /* paper/engine.h: three sort orders, the best kept */
};

/*
 * Work units of the exact engine if the user asks for no limit, which is milliseconds: they limit
 * the search that follows where first fit misses the lower bound.
 */
#define NPUPLAN_TAA_WORK 2000000ull

/*
 * TAA as a planner (planners/planner.h). Of graphs with loops or branches the exact form takes the
 * problem's conflicts as they are (loops/tiles.h); the paper's engine plans none: -EOPNOTSUPP.
 */
int npuplan_pack_taa(const struct npuplan_problem *problem, int engine,
		     struct npuplan_packing *packing, struct npuplan_error *error);
