// SPDX-License-Identifier: MIT
#include "planners.h"

#include <string.h>

#include "cosma/ilp/ilp.h"
#include "first_fit.h"
#include "nnc.h"
#include "taa/taa.h"
#include "tilesched/tilesched.h"

static const struct npuplan_planner planners[] = {
	{ "auto", npuplan_pack_auto },
	{ "greedy", npuplan_pack_greedy, .argument = NPUPLAN_ORDER_COUNT },
	{ "greedy-size", npuplan_pack_greedy, .argument = NPUPLAN_BY_SIZE },
	{ "greedy-duration", npuplan_pack_greedy, .argument = NPUPLAN_BY_DURATION },
	{ "greedy-peers", npuplan_pack_greedy, .argument = NPUPLAN_BY_PEERS },
	{ "greedy-breadth", npuplan_pack_greedy, .argument = NPUPLAN_BY_BREADTH },
	{ "greedy-start", npuplan_pack_greedy, .argument = NPUPLAN_BY_START },
	{ "greedy-area", npuplan_pack_greedy, .argument = NPUPLAN_BY_AREA },
	{ "greedy-conflicts", npuplan_pack_greedy, .argument = NPUPLAN_BY_CONFLICTS },
	{ "exact", npuplan_pack_searched },
	{ "nnc", npuplan_pack_nnc, .argument = NPUPLAN_NNC_EXTENDED },
	{ "nnc-published", npuplan_pack_nnc, .argument = NPUPLAN_NNC_PUBLISHED },
	{ "shared-objects", npuplan_pack_best_shared },
	{ "taa", npuplan_pack_taa, .argument = NPUPLAN_TAA_EXACT },
	{ "taa-paper", npuplan_pack_taa, .argument = NPUPLAN_TAA_PAPER },
	{ "tile-scheduled", .plan = npuplan_plan_tilesched, .argument = NPUPLAN_TILESCHED_PIECES },
	{ "tile-scheduled-rings", .plan = npuplan_plan_tilesched,
	  .argument = NPUPLAN_TILESCHED_RINGS },
	{ "cosma", .plan = npuplan_plan_cosma, .argument = NPUPLAN_COSMA_BY_SEARCH, .moves = true },
	{ "cosma-belady", .plan = npuplan_plan_cosma, .argument = NPUPLAN_COSMA_BY_BELADY,
	  .moves = true },
	{ "cosma-greedy", .plan = npuplan_plan_cosma, .argument = NPUPLAN_COSMA_BY_GREEDY,
	  .moves = true },
	/* The last one: it is not listed where the build has no solver. */
	{ "cosma-ilp", .plan = npuplan_plan_cosma, .argument = NPUPLAN_COSMA_BY_ILP,
	  .moves = true },
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
