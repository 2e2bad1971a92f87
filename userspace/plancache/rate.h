/* SPDX-License-Identifier: MIT */
/* What is kept with a plan: how good it is, whether it can become better, and a line about it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npuplan.h"
#include "plancache.h"

/*
 * plancache_cost() - what the request wants little of, in bytes
 * @planner, @objective: of the request; @objective is an enum drm_npumem_objective
 */
uint64_t plancache_cost(const char *planner, uint32_t objective,
			const struct npumem_plan_info *info);

/* enum plancache_counts - of what a cost is the bytes */
enum plancache_counts {
	PLANCACHE_COUNTS_UNKNOWN, /* this build has no planner of that name */
	PLANCACHE_COUNTS_ARENA,
	PLANCACHE_COUNTS_TRAFFIC,
};

/* Of what plancache_cost() counts the bytes; @planner, @objective: as there. */
enum plancache_counts plancache_counts(const char *planner, uint32_t objective);
/* What follows a number of them in a sentence: " of arena", " moved", or "". */
const char *plancache_counted(enum plancache_counts counts);

/*
 * plancache_final() - whether more time would not have made a better plan
 * @given, @spent: seconds that planning could take, and took; @given = 0: as long as it liked
 */
bool plancache_final(const struct npuplan_plan *plan, double given, double spent);

/* Write a line with the name of the graph and the figures that an objective is about. */
void plancache_summary(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
		       char *text, size_t size);

/*
 * plancache_no_worse() - whether a plan that is kept is at least as good as a new one
 * @before: the one that is kept; without data there is none
 * @cost: of the new one, as plancache_cost() counts it
 */
bool plancache_no_worse(const struct plancache_entry *before, uint64_t cost);

/*
 * plancache_better() - which of two plans of the same request is to be kept
 * @before: the one that is kept; without data there is none
 * @made: the new one, whose cost is known; without data none was found
 *
 * Returns the better one, the one before if both are as good. Both say then how long planning could
 * take at most until now; and @before, whatever is kept, whether more time could make it better.
 */
const struct plancache_entry *plancache_better(struct plancache_entry *before,
					       struct plancache_entry *made);
