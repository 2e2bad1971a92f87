/* SPDX-License-Identifier: MIT */
/*
 * Recomputation: a third choice beside keeping a tensor on chip and spilling it.
 * Where a plan brings a tensor back, its operator may run once more instead, from
 * inputs that are there anyway.
 */
#pragma once

#include "planners/cosma/cosma.h"

/**
 * struct npuplan_recomputation - a graph with operators that run again, and its plan
 * @graph: with the clones; NULL if there are none: then @plan is of the graph given
 * @answer: its clones are in the order in which npuplan_graph_clone_op() takes them;
 *	later ones may be of, and for, earlier ones
 * @plan: operators and tensors are @graph's. Its lower bound is 0: there is none
 *	that holds for all ways of running operators again. Optimal: no traffic at all
 */
struct npuplan_recomputation {
	struct npuplan_graph *graph;
	struct npuplan_recompute answer;
	struct npuplan_cosma_plan plan;
};

/* npuplan_cosma_recompute() - least traffic found if operators may run again
 * @options: objective traffic; its order must be NULL. Limits are for all of it; without
 *	one, work ends in some seconds
 * @limit: clones at most; 0 = any number
 *
 * Greedy: as long as one helps, the clone (or few clones, one for the other) that saves most
 * traffic is added; between equal ones that of less work. Never more traffic than
 * without. -EINVAL, -EOPNOTSUPP: as npuplan_cosma().
 */
int npuplan_cosma_recompute(const struct npuplan_graph *graph, const struct cosma_settings *options,
			    uint32_t limit, struct npuplan_recomputation *out,
			    struct npuplan_error *error);
void npuplan_recomputation_free(struct npuplan_recomputation *recomputation);
