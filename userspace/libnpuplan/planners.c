// SPDX-License-Identifier: MIT
#include "planners.h"

#include <string.h>

#include "cosma/ilp/ilp.h"
#include "first_fit.h"
#include "nnc.h"
#include "taa/taa.h"
#include "tilesched/tilesched.h"

static const struct npuplan_planner planners[] = {
	{ "auto", 0, npuplan_pack_auto },
	{ "greedy", NPUPLAN_ORDER_COUNT, npuplan_pack_greedy },
	{ "greedy-size", NPUPLAN_BY_SIZE, npuplan_pack_greedy },
	{ "greedy-duration", NPUPLAN_BY_DURATION, npuplan_pack_greedy },
	{ "greedy-peers", NPUPLAN_BY_PEERS, npuplan_pack_greedy },
	{ "greedy-breadth", NPUPLAN_BY_BREADTH, npuplan_pack_greedy },
	{ "greedy-start", NPUPLAN_BY_START, npuplan_pack_greedy },
	{ "greedy-area", NPUPLAN_BY_AREA, npuplan_pack_greedy },
	{ "greedy-conflicts", NPUPLAN_BY_CONFLICTS, npuplan_pack_greedy },
	{ "exact", 0, npuplan_pack_searched },
	{ "nnc", NPUPLAN_NNC_EXTENDED, npuplan_pack_nnc },
	{ "nnc-published", NPUPLAN_NNC_PUBLISHED, npuplan_pack_nnc },
	{ "shared-objects", 0, npuplan_pack_best_shared },
	{ "taa", NPUPLAN_TAA_EXACT, npuplan_pack_taa },
	{ "taa-paper", NPUPLAN_TAA_PAPER, npuplan_pack_taa },
	{ "tile-scheduled", NPUPLAN_TILESCHED_PIECES, NULL, npuplan_plan_tilesched },
	{ "tile-scheduled-rings", NPUPLAN_TILESCHED_RINGS, NULL, npuplan_plan_tilesched },
	{ "cosma", NPUPLAN_COSMA_BY_SEARCH, NULL, npuplan_plan_cosma, true },
	{ "cosma-belady", NPUPLAN_COSMA_BY_BELADY, NULL, npuplan_plan_cosma, true },
	{ "cosma-greedy", NPUPLAN_COSMA_BY_GREEDY, NULL, npuplan_plan_cosma, true },
	/* The last one: it is not listed where the build has no solver. */
	{ "cosma-ilp", NPUPLAN_COSMA_BY_ILP, NULL, npuplan_plan_cosma, true },
};

#define PLANNER_COUNT (sizeof(planners) / sizeof(planners[0]))

const struct npuplan_planner *npuplan_planner_find(const char *name)
{
	if (!name)
		return &planners[0];
	for (size_t i = 0; i < PLANNER_COUNT; i++)
		if (!strcmp(planners[i].name, name))
			return &planners[i];
	return NULL;
}

const char *npuplan_planner_name(unsigned int i)
{
	unsigned int count = PLANNER_COUNT - !npuplan_cosma_ilp_solver();

	return i < count ? planners[i].name : NULL;
}
