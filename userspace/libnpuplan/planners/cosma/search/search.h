/* SPDX-License-Identifier: MIT */
/*
 * A* over states, addresses left out: it finds the least traffic with which operators can run when
 * only the number of bytes on chip counts.
 *
 * A tensor is evicted when another operator needs its room, no sooner, and what it costs to bring
 * it back is paid then. So coming back is free, and a state that has evicted less is never worse
 * than what evicting would have cost it. That makes states at the same downset comparable
 * (search.c).
 */
#pragma once

#include "planners/cosma/model/call.h"
#include "planners/cosma/model/stays.h"

/** enum cosma_outcome - how a search ended */
enum cosma_outcome {
	COSMA_SOLVED,	 /* the path is the best there is */
	COSMA_FOUND,	 /* there is a path, which need not be the best */
	COSMA_EXHAUSTED, /* nothing below @upper exists: it is proved */
	COSMA_STOPPED,	 /* ended by a limit, or by what heuristics leave out */
};

/*
 * struct cosma_query - what to search for
 * @budget: bytes
 * @upper: only what costs less
 * @fixed: operators run by the model's rank; else in any order
 * @window: per operator, its window, for a search by windows; it never falls along a path of the
 *	model. All operators of one window run before those of the next. NULL: there are no windows
 * @beam_width: states that a window hands to the next, at most
 * @state_limit: states that are made, at most; 0 = as many as memory holds
 * @dive_end: the search goes on from the best child of each state, and never back, until the call's
 *	work is so much, whatever else limits the call; 0: it goes on from the best state of all
 */
struct cosma_query {
	const struct cosma_model *model;
	int64_t budget;
	int64_t upper;
	bool fixed;
	const uint32_t *window;
	uint32_t beam_width;
	uint32_t state_limit;
	uint64_t dive_end;
};

/* cosma_search() - run a query
 * @path: out, if COSMA_SOLVED or COSMA_FOUND
 * @lower_bound: out: nothing costs less; @upper if COSMA_EXHAUSTED
 *
 * Returns an enum cosma_outcome, or -ENOMEM.
 */
int cosma_search(const struct cosma_query *query, struct cosma_call *call, struct cosma_path *path,
		 int64_t *lower_bound);

/*
 * cosma_mpmf() - find the minimum peak memory footprint (mpmf.c)
 * @at_least: a peak that counts as none: no order has less, or nobody cares
 * @fixed: operators run by the model's rank; else in any order
 * @path: out, if COSMA_SOLVED; its cost is the peak (of this model, or @at_least)
 * @lower_bound: out
 *
 * That is an order, with nothing spilled, in which the most bytes live at once are as few as can be
 * (the paper's Eq. 13-15). The search is best-first over downsets. The key of a downset is what has
 * been reached at most, or will be reached in any order.
 *
 * Returns an enum cosma_outcome (COSMA_SOLVED or COSMA_STOPPED), or -ENOMEM.
 */
int cosma_mpmf(const struct cosma_model *model, int64_t at_least, bool fixed,
	       struct cosma_call *call, struct cosma_path *path, int64_t *lower_bound);
