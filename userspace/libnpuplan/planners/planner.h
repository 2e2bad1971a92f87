/* SPDX-License-Identifier: MIT */
/* What a planner is: from a packing problem to addresses, or to a whole plan. */
#ifndef NPUPLAN_PLANNER_H
#define NPUPLAN_PLANNER_H

#include "problem/packing.h"

/**
 * struct npuplan_planner - named planner
 * @argument: for @pack or @plan; what tells planners of one function apart
 * @pack: offsets is allocated, lower_bound the problem's. Fills @error if it fails
 * @plan: instead of @pack: makes the whole plan, its schedule too. Of straight graphs
 *	only; @problem has been filled in for the order of the graph
 * @moves: between arena and host memory, for other objectives and orders, too
 * @lists: @pack looks at pairs one by one
 * @purpose: what it is for, one line
 */
struct npuplan_planner {
	const char *name;
	const char *purpose;
	int (*pack)(const struct npuplan_problem *problem, int argument,
		    struct npuplan_packing *packing, struct npuplan_error *error);
	int (*plan)(const struct npuplan_problem *problem, const struct npuv_graph *cells,
		    int argument, struct npuplan_plan **plan, struct npuplan_error *error);
	int argument;
	bool moves;
	bool lists;
};

#endif /* NPUPLAN_PLANNER_H */
