/* SPDX-License-Identifier: MIT */
/*
 * TAA, the tile-aware allocator: memory of a tile is taken again as soon as its
 * last reader is done, long before its tensor's last reader is (docs/taa.md).
 */
#pragma once

#include "problem/packing.h"

/** enum npuplan_taa_method - how npuplan_pack_taa() places tiles */
enum npuplan_taa_method {
	NPUPLAN_TAA_EXACT, /* displacements.h: first fit by every order, then search */
	NPUPLAN_TAA_PAPER, /* tensor_allocate.h: three sort orders, the best kept */
};

/*
 * Units of work of the exact method, if none are asked for: what search adds where
 * first fit misses the lower bound. Milliseconds.
 */
#define NPUPLAN_TAA_WORK 2000000ull

/* A planner (planners.h). -EOPNOTSUPP: loops and branches. */
int npuplan_pack_taa(const struct npuplan_problem *problem, int method,
		     struct npuplan_packing *packing, struct npuplan_error *error);
