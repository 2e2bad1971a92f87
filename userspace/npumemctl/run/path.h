/* SPDX-License-Identifier: MIT */
/*
 * The way that an inference takes through a graph of loops and branches, and
 * through the instances of its blocks in a plan.
 */
#pragma once

#include "npuplan.h"

/**
 * struct path_choice - what is chosen where a block has several edges
 * @edge: its number among the edges of the block, in the order of the graph
 * @count: so many times in a row, each at the next such block on the way
 */
struct path_choice {
	uint32_t edge;
	uint32_t count;
};

/*
 * struct path_rule - how to choose; zero = at random with seed 0, no iterations
 * @choices: @choice_count of them, in order; after the last one the shortest way
 *	out is taken. None: at random
 * @seed: of random choices
 * @max_iterations: random choices end, and the shortest way out is taken, when
 *	blocks have been entered again so many times
 */
struct path_rule {
	const struct path_choice *choices;
	uint32_t choice_count;
	uint32_t max_iterations;
	uint64_t seed;
};

/**
 * struct path_visit - a plan block executed, and how it is left
 * @instance: plan block
 * @edge: plan edge, or NPUMEM_NONE in a graph of one block without edges
 */
struct path_visit {
	uint32_t instance;
	uint32_t edge;
};

/*
 * struct path - from plan block 0 to the exit
 * @visits: @count of them, at least one; path_fini() it
 */
struct path {
	struct path_visit *visits;
	uint32_t count;
};

/* path_find() - choose a path
 *
 * Same rule, same path. -EINVAL: a choice that a block does not have, or one left
 * over; no way leads to the exit; the plan has no instance or edge for the way.
 * -E2BIG: more than PATH_MAX_VISITS blocks. -ENOMEM.
 */
int path_find(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
	      const struct path_rule *rule, struct path *path, struct npuplan_error *error);
void path_fini(struct path *path);

#define PATH_MAX_VISITS 10000000u

/* path_choices() - parse "EDGE[*COUNT],..."; free() the result
 *
 * -EINVAL, -ENOMEM.
 */
int path_choices(const char *text, struct path_choice **choices, uint32_t *count);
