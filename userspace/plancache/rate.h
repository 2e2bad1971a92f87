/* SPDX-License-Identifier: MIT */
/* What is kept with a plan: how good it is, whether it can become better, and a line about it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npuplan.h"

/*
 * plancache_cost() - what the request wants little of, in bytes
 * @planner, @objective: of the request; @objective is an enum drm_npumem_objective
 */
uint64_t plancache_cost(const char *planner, uint32_t objective,
			const struct npumem_plan_info *info);

/*
 * plancache_final() - whether more time would not have made a better plan
 * @given, @spent: seconds that planning could take, and took; @given = 0: as long as it liked
 */
bool plancache_final(const struct npuplan_plan *plan, double given, double spent);

/* Write a line with the name of the graph and the figures that an objective is about. */
void plancache_summary(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
		       char *text, size_t size);
