/* SPDX-License-Identifier: MIT */
/*
 * What tile scheduling says that any order of a graph's steps needs, beside the arenas of all
 * planners: none is below it.
 */
#pragma once

#include "npuplan.h"
#include "property.h"

/**
 * struct any_order - of one graph
 * @least: what any order needs; 0: not known yet
 * @arena: the smallest arena of a plan; 0: none yet
 * @planner: whose
 */
struct any_order {
	uint64_t least;
	uint64_t arena;
	const char *planner;
};

static inline void any_order_check(struct any_order *any, const char *planner,
				   const struct npuplan_plan *plan)
{
	uint64_t arena = plan->info.arena_size;

	if (plan->tilesched) {
		const struct npuplan_tilesched_result *own = plan->tilesched;

		if (own->least > own->least_kept || own->least_kept > own->cost.peak)
			fail("%s: a peak of %" PRIu64 ", %" PRIu64
			     " in any order like this, %" PRIu64 " in any",
			     planner, own->cost.peak, own->least_kept, own->least);
		any->least = own->least;
	}
	if (!any->planner || arena < any->arena) {
		any->arena = arena;
		any->planner = planner;
	}
	if (any->arena < any->least)
		fail("%s: an arena of %" PRIu64 " bytes, but %" PRIu64 " in any order",
		     any->planner, any->arena, any->least);
}
