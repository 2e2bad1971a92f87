/* SPDX-License-Identifier: MIT */
/*
 * Recomputation is a third choice beside keeping a tensor on chip and spilling it: where a plan
 * brings a tensor back, its operator may run once more instead, from inputs that are there anyway.
 */
#pragma once

#include "planners/cosma/cosma.h"

/**
 * struct npuplan_recomputation - a graph with operators that run again, and its plan
 * @graph: graph with the clones; NULL if there are none: then @plan is of the graph given
 * @answer: its clones are in the order in which npuplan_graph_clone_op() takes them; later ones may
 *	be clones of earlier ones, or for them
 * @plan: operators and tensors are @graph's. Its lower bound is 0, since none holds for all ways of
 *	running operators again. Optimal: there is no traffic at all
 */
struct npuplan_recomputation {
	struct npuplan_graph *graph;
	struct npuplan_recompute answer;
	struct npuplan_cosma_plan plan;
};

/* npuplan_cosma_recompute() - find the least traffic if operators may run again
 * @options: the objective is the traffic; its order must be NULL. Limits are for all plans
 *	together; without one, work ends in some seconds
 * @limit: clones at most; 0 = any number
 * @out: for npuplan_recomputation_free()
 *
 * This is greedy: as long as something helps, clones are added, those that a beam search (beam.h)
 * proposes for the order of the best plan so far, or else the clone (or few clones, one for the
 * other) of something that is filled. Those that save most traffic are taken; between equal ones
 * those of less work. There is never more traffic than without.
 * -EINVAL, -EOPNOTSUPP: as npuplan_cosma().
 */
int npuplan_cosma_recompute(const struct npuplan_graph *graph, const struct cosma_settings *options,
			    uint32_t limit, struct npuplan_recomputation *out,
			    struct npuplan_error *error);
void npuplan_recomputation_free(struct npuplan_recomputation *recomputation);
