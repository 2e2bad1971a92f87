/* SPDX-License-Identifier: MIT */
/*
 * The lowest peak of a small graph, of all orders that keep the steps of each operator in theirs:
 * what fusions (fusions.h) do not reach, or the proof that there is no more to reach.
 */
#pragma once

#include "simulate.h"

/* Graphs of no more steps than this are searched. */
#define TILESCHED_EXACT_STEPS 256
/* Numbers of steps done, of all operators and states, that are kept at most: 16 MiB. */
#define TILESCHED_EXACT_KEPT  4194304u

/*
 * struct tilesched_exact - what the search has found
 * @ops: the operators in the order in which their steps are run, of all steps, which the caller
 *	frees by free(); NULL: no order has a lower peak than the one that was known
 * @cost: what that order costs
 * @proved: no order has a lower peak than the lowest known
 */
struct tilesched_exact {
	uint32_t *ops;
	struct npuplan_schedule_point cost;
	bool proved;
};

/* tilesched_exact_find() - look for orders of ever lower peaks, until there is none
 * @sim: with no step done; it is so afterwards, too
 * @peak: the lowest peak that is known
 * @least: a peak that no order is below: the search ends there
 * @work: work units, as sim->work counts them, after which it ends, too
 * @effort: asked now and then; when it is over, so is the search
 *
 * Depth first, and no state, which is how many steps of each operator are done, more than once. A
 * step behind which no more lives than before it, and that does not exceed the limit itself, is run
 * at once: wherever an order has it, it may as well be run here. -ENOMEM.
 */
int tilesched_exact_find(struct tilesched_sim *sim, uint64_t peak, uint64_t least, uint64_t work,
			 struct npuplan_effort *effort, struct tilesched_exact *found);
