/* SPDX-License-Identifier: MIT */
/*
 * A beam search that decides together which tensors leave, which come back, and which are made
 * again by their operator, in one order of the operators.
 */
#pragma once

#include "planners/cosma/cosma.h"

/* struct cosma_clone_set - clones that are added together, in this order; all is owned */
struct cosma_clone_set {
	struct npuplan_clone *clones;
	uint32_t count;
};

void cosma_clone_set_fini(struct cosma_clone_set *set);
/* Whether both sets are of the same operators, for the same readers. */
bool cosma_clone_set_is_same(const struct cosma_clone_set *a, const struct cosma_clone_set *b);

/* Proposals of one beam at most. */
#define COSMA_BEAM_SETS 4

/*
 * struct cosma_beam_answer - what a beam proposes; cosma_clone_set_fini() each set
 * @work: units
 * @count: sets, by rising traffic as the beam reckons it: addresses are left out, and the order is
 *	the one that was given. All of it is less than what it was asked to be less than
 */
struct cosma_beam_answer {
	struct cosma_clone_set sets[COSMA_BEAM_SETS];
	uint32_t count;
	uint64_t work;
};

/* cosma_beam() - propose operators to run again
 * @settings: as for npuplan_cosma(); budget, parameters, inputs and takeovers are looked at
 * @order: all operators of the graph, in a topological order
 * @limit: clones of a set at most
 * @traffic: bytes; proposed is what moves less
 * @work_limit: then there are no proposals
 * @ended: asked now and then whether to give up, likewise
 *
 * -ENOMEM; the limit of memory is that of @settings, and the beam ends without proposals there.
 * Other errors as npuplan_cosma().
 */
int cosma_beam(const struct npuplan_graph *graph, const struct cosma_settings *settings,
	       const uint32_t *order, uint32_t limit, uint64_t traffic, uint64_t work_limit,
	       const struct npuplan_until *ended, struct cosma_beam_answer *answer);
