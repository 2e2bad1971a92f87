/* SPDX-License-Identifier: MIT */
/*
 * Refining: from an order of steps another one of a lower peak is made, step by step, whichever
 * operators and fusions the steps belong to.
 */
#pragma once

#include "simulate.h"

/* Numbers of steps that are kept at most, of all orders: 16 MiB. */
#define TILESCHED_REFINED_KEPT 4194304u

/**
 * struct tilesched_found - an order that was found
 * @ops: the operators in the order in which their steps are run, of all steps; free() frees it
 * @cost: what that order costs
 */
struct tilesched_found {
	uint32_t *ops;
	struct npuplan_schedule_point cost;
};

/*
 * struct tilesched_refined - what refining has found
 * @orders: @count orders, each of a lower peak than the one before it; the caller calls
 *	tilesched_refined_fini()
 * @joined: the last of these, but that operators go on where its peak allows that, so that they
 *	fetch less; ops is NULL: there is none
 * @least: bytes that live at once in any order that keeps the steps of each operator in theirs
 * @work: work units that it took
 */
struct tilesched_refined {
	struct tilesched_found *orders;
	uint32_t count;
	struct tilesched_found joined;
	uint64_t least;
	uint64_t work;
};

/* tilesched_refine() - look for orders of ever lower peaks
 * @sim: with no step done; it is so afterwards, too
 * @order: an order of the model's steps, from which it begins
 * @peak: its peak
 * @work: work units, as sim->work and struct tilesched_cuts count them, after which it ends
 * @effort: asked now and then; when it is over, so is the search
 *
 * An order is followed step by step under a limit that is below its peak.
 *
 * - Where steps that come later can be run within the limit, and leave no more alive than there is
 *   now, they are run at once. Nothing is lost by that: what lives is a cut, and cuts are
 *   submodular, so that in any order that goes on from here these steps may be moved to here and
 *   no more lives behind any other.
 * - Where the next step would exceed the limit, the least cut of that step (cuts.h) says what is
 *   better run by then, and what is not. What the cut has is then run first, in the order in which
 *   it was, then the step, then all others.
 *
 * If the limit is held, the order that was found is followed next, under a lower one. If the cut is
 * above the limit, no order holds it. -ENOMEM.
 */
int tilesched_refine(struct tilesched_sim *sim, const uint32_t *order, uint64_t peak, uint64_t work,
		     struct npuplan_effort *effort, struct tilesched_refined *refined);
void tilesched_refined_fini(struct tilesched_refined *refined);
