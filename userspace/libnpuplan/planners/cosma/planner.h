/* SPDX-License-Identifier: MIT */
/* COSMA as planners of the library: "cosma" and its engines. */
#pragma once

#include "problem/problem.h"

/** enum npuplan_cosma_planner - how it is decided what leaves the chip */
enum npuplan_cosma_planner {
	NPUPLAN_COSMA_BY_SEARCH, /* cosma: by search, for the least traffic */
	NPUPLAN_COSMA_BY_ILP,	 /* the same, by the paper's integer linear program */
	NPUPLAN_COSMA_BY_BELADY, /* the paper's baselines, in the order given */
	NPUPLAN_COSMA_BY_GREEDY,
};

/* These planners as struct npuplan_planner.plan has it; @argument: enum npuplan_cosma_planner. */
int npuplan_plan_cosma(const struct npuplan_problem *problem, const struct npuv_graph *cells,
		       int argument, struct npuplan_plan **out, struct npuplan_error *error);
