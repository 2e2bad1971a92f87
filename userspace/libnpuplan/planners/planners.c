// SPDX-License-Identifier: MIT
/* The registry: planners and packers by name. */
#include "planners.h"

#include <string.h>

#include "pack/exact.h"
#include "pack/greedy/first_fit.h"
#include "pack/greedy/greedy.h"
#include "pack/paper/shared_objects.h"
#include "pack/search/searches.h"
#include "planners/blocks/cosma.h"
#include "planners/blocks/tilesched.h"
#include "planners/cosma/ilp/ilp.h"
#include "planners/cosma/planner.h"
#include "planners/nnc/nnc.h"
#include "planners/paper/best_shared.h"
#include "planners/taa/taa.h"
#include "planners/tilesched/tilesched.h"

/* Traits that the engines of one planner have in common. */
#define COSMA	  (NPUPLAN_PLANNER_MOVES | NPUPLAN_PLANNER_COSMA)
#define TILESCHED NPUPLAN_PLANNER_TILESCHED

/* The line of a greedy order, which is a planner and a packer. */
#define GREEDY(order, planner, purpose, key)                                               \
	{ planner, purpose, .packer = npuplan_pack_first_fit, .pack = npuplan_pack_greedy, \
	  .argument = order },

/* All algorithms by name; greedy orders have their names in pack/greedy/orders.h. */
static const struct npuplan_planner all[] = {
	{ "auto", "default: greedy orders, taa, nnc, exact, until at the bound",
	  .pack = npuplan_pack_auto, .taa_beside = true },
	{ "exact", "searches for the least arena and a proof of it: slower",
	  .packer = npuplan_pack_exact, .pack = npuplan_pack_searched },
	{ "greedy", "the best of the greedy orders below: quick",
	  .packer = npuplan_pack_best_greedy, .pack = npuplan_pack_greedy,
	  .argument = NPUPLAN_ORDER_COUNT },
	/* clang-format off */
	NPUPLAN_GREEDY_ORDERS(GREEDY)
	/* clang-format on */
	{ "greedy-size-duration", "first fit, largest size times fourth root of life first",
	  .packer = npuplan_pack_first_fit, .argument = NPUPLAN_BY_SIZE_DURATION },
	{ "squeaky", "first fit again and again, what was too high sooner",
	  .packer = npuplan_pack_squeaky, .argument = 16 },
	{ "valley", "always fills the lowest valley: the best of the five below",
	  .packer = npuplan_pack_valley, .argument = NPUPLAN_VALLEY_MODES },
	{ "valley-longest", "valley, of what lies flush the longest", .packer = npuplan_pack_valley,
	  .argument = 0 },
	{ "valley-first", "valley, what lies flush left", .packer = npuplan_pack_valley,
	  .argument = 1 },
	{ "valley-last", "valley, what lies flush right", .packer = npuplan_pack_valley,
	  .argument = 2 },
	{ "valley-flush", "valley, flush on one side if only one is", .packer = npuplan_pack_valley,
	  .argument = 3 },
	{ "valley-area", "valley, of what lies flush the largest by life",
	  .packer = npuplan_pack_valley, .argument = NPUPLAN_VALLEY_AREA },
	{ "nnc", "libnnc's tensor allocation, taken further than published",
	  .pack = npuplan_pack_nnc, .argument = NPUPLAN_NNC_EXTENDED, .lists = true },
	{ "taa", "tiled graphs: bytes are free once the last tile has read them",
	  .pack = npuplan_pack_taa, .argument = NPUPLAN_TAA_EXACT, .lists = true,
	  .by_bytes = true },
	{ "tile-scheduled", "rows of several operators interleaved: small arena, more traffic",
	  .plan = npuplan_plan_tilesched, .blocks = npuplan_plan_tilesched_blocks,
	  .argument = NPUPLAN_TILESCHED_PIECES, .traits = TILESCHED | NPUPLAN_PLANNER_FRONT },
	{ "tile-scheduled-rings", "the same, each tensor's rows in one ring",
	  .plan = npuplan_plan_tilesched, .blocks = npuplan_plan_tilesched_blocks,
	  .argument = NPUPLAN_TILESCHED_RINGS, .traits = TILESCHED, .engine_of = "tile-scheduled",
	  .engine = "rings" },
	{ "cosma", "least traffic with host memory within a budget, in any order",
	  .plan = npuplan_plan_cosma, .blocks = npuplan_plan_cosma_blocks,
	  .argument = NPUPLAN_COSMA_BY_SEARCH,
	  .traits = COSMA | NPUPLAN_PLANNER_BANKS | NPUPLAN_PLANNER_RECOMPUTES |
		    NPUPLAN_PLANNER_CORES,
	  .engine_of = "cosma", .engine = "search" },
	{ "cosma-ilp", "cosma's integer program, solved by HiGHS", .plan = npuplan_plan_cosma,
	  .argument = NPUPLAN_COSMA_BY_ILP, .traits = COSMA, .engine_of = "cosma", .engine = "ilp",
	  .solver = true },
	{ "tflm", "first fit, largest first: TensorFlow Lite Micro's greedy planner",
	  .packer = npuplan_pack_first_fit, .argument = NPUPLAN_BY_SIZE_ALONE, .published = true },
	{ "tflite", "best fit, largest first: TensorFlow Lite's arena",
	  .packer = npuplan_pack_best_fit, .published = true },
	{ "shared-objects", "buffers taken in turn: for runtimes without offsets",
	  .pack = npuplan_pack_best_shared, .published = true },
	{ "shared-breadth", "shared objects, greedy by breadth",
	  .packer = npuplan_pack_shared_objects, .argument = NPUPLAN_OBJECTS_BY_BREADTH,
	  .published = true },
	{ "shared-size", "shared objects, greedy by size", .packer = npuplan_pack_shared_objects,
	  .argument = NPUPLAN_OBJECTS_BY_SIZE, .published = true },
	{ "shared-size-improved", "shared objects, greedy by size improved",
	  .packer = npuplan_pack_shared_objects, .argument = NPUPLAN_OBJECTS_BY_SIZE_IMPROVED,
	  .published = true },
	{ "nnc-published", "libnnc's algorithm to the letter", .pack = npuplan_pack_nnc,
	  .argument = NPUPLAN_NNC_PUBLISHED, .lists = true, .published = true },
	{ "taa-paper", "taa to the letter of its publication", .pack = npuplan_pack_taa,
	  .argument = NPUPLAN_TAA_PAPER, .lists = true, .engine_of = "taa", .engine = "paper",
	  .published = true },
	{ "cosma-belady", "cosma's baseline: what is needed again last leaves first",
	  .plan = npuplan_plan_cosma, .argument = NPUPLAN_COSMA_BY_BELADY, .traits = COSMA,
	  .engine_of = "cosma", .engine = "belady", .published = true },
	{ "cosma-greedy", "cosma's baseline: the largest leaves first", .plan = npuplan_plan_cosma,
	  .argument = NPUPLAN_COSMA_BY_GREEDY, .traits = COSMA, .engine_of = "cosma",
	  .engine = "greedy", .published = true },
};

static bool is_one(const struct npuplan_planner *one, bool packer)
{
	return packer ? one->packer != NULL : one->pack || one->plan;
}

static const struct npuplan_planner *find(const char *name, bool packer)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (is_one(&all[i], packer) && !strcmp(all[i].name, name))
			return &all[i];
	return NULL;
}

/* The @i-th planner or packer that there is in this build; one without a name past the last. */
static const struct npuplan_planner *at(unsigned int i, bool packer)
{
	static const struct npuplan_planner none;

	for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
		if (is_one(&all[k], packer) && (!all[k].solver || npuplan_cosma_ilp_solver()) &&
		    !i--)
			return &all[k];
	return &none;
}

const struct npuplan_planner *npuplan_planner_find(const char *name)
{
	return find(name ? name : "auto", false);
}

const struct npuplan_planner *npuplan_packer_find(const char *name)
{
	return find(name, true);
}

const char *npuplan_planner_name(unsigned int i)
{
	return at(i, false)->name;
}

const char *npuplan_planner_purpose(unsigned int i)
{
	return at(i, false)->purpose;
}

bool npuplan_planner_published(unsigned int i)
{
	return at(i, false)->published;
}

uint32_t npuplan_planner_traits(const char *name)
{
	const struct npuplan_planner *planner = npuplan_planner_find(name);

	return planner ? planner->traits : 0;
}

const char *npuplan_engine_name(unsigned int i)
{
	for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
		if (all[k].engine && !i--)
			return all[k].engine;
	return NULL;
}

const char *npuplan_engine_planner(const char *planner, const char *engine)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].engine && !strcmp(all[i].engine_of, planner) &&
		    !strcmp(all[i].engine, engine))
			return all[i].name;
	return NULL;
}

const char *npuplan_packer_name(unsigned int i)
{
	return at(i, true)->name;
}

const char *npuplan_packer_purpose(unsigned int i)
{
	return at(i, true)->purpose;
}

bool npuplan_packer_published(unsigned int i)
{
	return at(i, true)->published;
}
