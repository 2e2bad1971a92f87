// SPDX-License-Identifier: MIT
#include "planners.h"

#include <string.h>

#include "planners/cosma/ilp/ilp.h"
#include "pack/greedy/first_fit.h"
#include "planners/cosma/planner.h"
#include "planners/nnc/nnc.h"
#include "planners/taa/taa.h"
#include "planners/tilesched/tilesched.h"

static const struct npuplan_planner planners[] = {
	{ "auto", "default: greedy orders, nnc, exact until one is at the bound",
	  npuplan_pack_auto },
	{ "greedy", "the best of the greedy orders below: quick", npuplan_pack_greedy,
	  .argument = NPUPLAN_ORDER_COUNT },
	{ "greedy-size", "first fit, largest tensors first", npuplan_pack_greedy,
	  .argument = NPUPLAN_BY_SIZE },
	{ "greedy-duration", "first fit, longest lives first", npuplan_pack_greedy,
	  .argument = NPUPLAN_BY_DURATION },
	{ "greedy-peers", "first fit, tensors that live with most others first",
	  npuplan_pack_greedy, .argument = NPUPLAN_BY_PEERS },
	{ "greedy-breadth", "first fit, tensors of the step with most bytes live first",
	  npuplan_pack_greedy, .argument = NPUPLAN_BY_BREADTH },
	{ "greedy-start", "first fit, in the order in which lives begin", npuplan_pack_greedy,
	  .argument = NPUPLAN_BY_START },
	{ "greedy-area", "first fit, largest size times life first", npuplan_pack_greedy,
	  .argument = NPUPLAN_BY_AREA },
	{ "greedy-conflicts", "first fit, by bytes of others that live meanwhile",
	  npuplan_pack_greedy, .argument = NPUPLAN_BY_CONFLICTS },
	{ "exact", "searches for the least arena and a proof of it: slower",
	  npuplan_pack_searched },
	{ "nnc", "libnnc's tensor allocation, taken further than published", npuplan_pack_nnc,
	  .argument = NPUPLAN_NNC_EXTENDED, .lists = true },
	{ "nnc-published", "libnnc's algorithm to the letter, to compare with", npuplan_pack_nnc,
	  .argument = NPUPLAN_NNC_PUBLISHED, .lists = true },
	{ "shared-objects", "buffers taken in turn: for runtimes without offsets",
	  npuplan_pack_best_shared },
	{ "taa", "tiled graphs: bytes are free once the last tile has read them", npuplan_pack_taa,
	  .argument = NPUPLAN_TAA_EXACT, .lists = true },
	{ "taa-paper", "taa to the letter of its publication, to compare with", npuplan_pack_taa,
	  .argument = NPUPLAN_TAA_PAPER, .lists = true },
	{ "tile-scheduled", "rows of several operators interleaved: small arena, more traffic",
	  .plan = npuplan_plan_tilesched, .argument = NPUPLAN_TILESCHED_PIECES },
	{ "tile-scheduled-rings", "the same, each tensor's rows in one ring",
	  .plan = npuplan_plan_tilesched, .argument = NPUPLAN_TILESCHED_RINGS },
	{ "cosma", "least traffic with host memory within a budget, in any order",
	  .plan = npuplan_plan_cosma, .argument = NPUPLAN_COSMA_BY_SEARCH, .moves = true },
	{ "cosma-belady", "cosma's baseline: what is needed again last leaves first",
	  .plan = npuplan_plan_cosma, .argument = NPUPLAN_COSMA_BY_BELADY, .moves = true },
	{ "cosma-greedy", "cosma's baseline: the largest leaves first", .plan = npuplan_plan_cosma,
	  .argument = NPUPLAN_COSMA_BY_GREEDY, .moves = true },
	/* The last one: it is not listed where the build has no solver. */
	{ "cosma-ilp", "cosma's integer program, solved by HiGHS", .plan = npuplan_plan_cosma,
	  .argument = NPUPLAN_COSMA_BY_ILP, .moves = true },
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

const char *npuplan_planner_purpose(unsigned int i)
{
	return npuplan_planner_name(i) ? planners[i].purpose : NULL;
}
