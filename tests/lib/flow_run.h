/* SPDX-License-Identifier: MIT */
/*
 * Plays a plan of a graph with loops and branches, byte by byte.
 *
 * Each write makes a new value; each byte of the arena remembers of which value
 * it is, and which byte of it. The path through the edges is drawn at random. A
 * plan is good if every read, every entry state and the exit find the values
 * that the graph means. Written from npumem_graph.h and npumem_plan.h alone.
 */
#pragma once

#include <stdbool.h>

#include "npuplan.h"

/*
 * struct flow_run - what to play, and what came of it
 * @seed: of the path
 * @edges: of one inference; from then on the shortest way to the exit
 * @inferences: one after the other: state and parameters stay in the arena
 * @anew: parameters do not: they are put there before each, as inputs are
 * @crossed: out: edges crossed; @steps: steps run
 * @text: out: what is wrong
 */
struct flow_run {
	uint64_t seed;
	uint32_t edges;
	uint32_t inferences;
	bool anew;
	uint32_t crossed;
	uint32_t steps;
	char text[200];
};

/* False, and @run->text says why, if the plan is not good. */
bool flow_run(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
	      struct flow_run *run);

/* False for the planners that place tiles of straight graphs alone. */
bool flow_planner(const char *name);
