/* SPDX-License-Identifier: MIT */
/* COSMA as a planner. */
#pragma once

#include "problem/problem.h"

/** enum npuplan_cosma_planner - who decides what leaves the chip */
enum npuplan_cosma_planner {
	NPUPLAN_COSMA_BY_SEARCH, /* cosma: the least traffic there is */
	NPUPLAN_COSMA_BY_ILP,	 /* the same, by the paper's integer linear program */
	NPUPLAN_COSMA_BY_BELADY, /* the paper's baselines, in the order given */
	NPUPLAN_COSMA_BY_GREEDY,
};

/* npuplan_planner.plan; argument: enum npuplan_cosma_planner. */
int npuplan_plan_cosma(const struct npuplan_problem *problem, const struct npuv_graph *cells,
		       int argument, struct npuplan_plan **out, struct npuplan_error *error);
