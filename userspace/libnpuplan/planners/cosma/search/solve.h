/* SPDX-License-Identifier: MIT */
/* The solver is what the parts of one call of npuplan_cosma() hand to each other. */
#pragma once

#include "planners/cosma/model/cuts.h"
#include "search.h"

/*
 * struct cosma_solver - one call
 * @graph, @options: the caller's
 * @subgraphs: of @model
 * @rank: the model's if the schedule is fixed; else NULL
 * @best, @stays: schedule, and stays with addresses, of the best plan so far
 * @found: there is a plan
 * @dive_end: the work at which the last dive ended, or had to; 0: there was none
 */
struct cosma_solver {
	const struct npuplan_graph *graph;
	const struct cosma_settings *options;
	struct cosma_call call;
	struct cosma_model model;
	struct cosma_subgraphs subgraphs;
	const uint32_t *rank;
	struct cosma_schedule best;
	struct cosma_stays stays;
	bool found;
	uint64_t dive_end;
};

/* cosma_solver_init() - check options, make model and subgraphs
 *
 * Nothing is solved yet. Errors as npuplan_cosma(), with a sentence; then there is nothing to free.
 */
int cosma_solver_init(struct cosma_solver *solver, const struct npuplan_graph *graph,
		      const struct cosma_settings *options, struct npuplan_error *error);
void cosma_solver_fini(struct cosma_solver *solver);

/* Sets the order that was given; the rest of @schedule is untouched. */
void cosma_solver_order(const struct cosma_solver *solver, struct cosma_schedule *schedule);

/* Offers a plan, which is kept if it costs less than the best. Takes @stays over. */
void cosma_solver_offer(struct cosma_solver *solver, const struct cosma_schedule *schedule,
			struct cosma_stays *stays);

/* cosma_solver_place() - look for addresses of a schedule, and offer it if found
 * @status: out: enum npumem_plan_status
 */
int cosma_solver_place(struct cosma_solver *solver, const struct cosma_schedule *schedule,
		       uint64_t work_limit, uint32_t *status);

/* cosma_relaxed() - find the best schedule when only numbers of bytes count (relaxed.c)
 * @schedule: out, if the result is COSMA_SOLVED or COSMA_FOUND
 * @lower_bound: out: of the relaxed cost
 *
 * Returns an enum cosma_outcome, or an error.
 */
int cosma_relaxed(struct cosma_solver *solver, struct cosma_schedule *schedule,
		  int64_t *lower_bound);

/* cosma_dive() - the same without looking back, and without a bound */
int cosma_dive(struct cosma_solver *solver, struct cosma_schedule *schedule);

/* cosma_least_peak() - find the MPMF order of the whole model (relaxed.c)
 * @fixed: there is one order only, by the model's rank
 * @peak: out: of the order
 * @lower_bound: out: of the peak
 *
 * Returns an enum cosma_outcome, or an error.
 */
int cosma_least_peak(struct cosma_solver *solver, bool fixed, struct cosma_schedule *schedule,
		     int64_t *peak, int64_t *lower_bound);

/** cosma_repair() - offer a plan near a schedule that has no addresses (repair.c) */
int cosma_repair(struct cosma_solver *solver, const struct cosma_schedule *broken);

/* cosma_exact() - search with addresses, by rising thresholds of cost (exact.c)
 * @relaxed: best schedule, addresses left out
 * @relaxed_status: what the packing core says of its addresses
 * @work_limit: of the search
 * @threshold: no schedule costs less; raised as thresholds are proved empty
 *
 * Offers the plans it finds. Returns an enum cosma_outcome, or an error. COSMA_SOLVED: the best
 * plan is optimal; COSMA_EXHAUSTED: there is none; COSMA_STOPPED: a limit came.
 */
int cosma_exact(struct cosma_solver *solver, const struct cosma_schedule *relaxed,
		uint32_t relaxed_status, uint64_t work_limit, int64_t *threshold);
