/* SPDX-License-Identifier: MIT */
/* What solves programs: HiGHS (highs.c), where it is installed. */
#pragma once

#include "planners/cosma/search/solve.h"
#include "ilp.h"
#include "program.h"

/** enum ilp_status - what a solver says */
enum ilp_status {
	ILP_OPTIMAL,	/* with a solution */
	ILP_FEASIBLE,	/* with a solution, stopped by a limit */
	ILP_INFEASIBLE, /* there is none */
	ILP_UNKNOWN,	/* stopped before there was one */
};

/* struct ilp_answer
 * @value: per column, if there is a solution; the caller frees it
 * @bound: no solution costs less
 */
struct ilp_answer {
	enum ilp_status status;
	double *value;
	int64_t bound;
};

/* struct ilp_solver
 * @solve: within run's deadline, until its progress function says stop. Adds to
 *	run->work. @whole: the program is the whole problem, and its incumbents and bounds
 *	are those of the run. -ENOMEM; -EIO if the solver fails
 * @solve_file: the optimum of an LP file, as the solver reads it. -ENOMEM; -EIO if it
 *	cannot be read, or has no solution
 */
struct ilp_solver {
	const char *name;
	int (*solve)(const struct ilp_program *program, bool whole, struct cosma_run *run,
		     struct ilp_answer *answer);
	int (*solve_file)(const char *path, double *optimum);
};

/* Only where HiGHS is. */
extern const struct ilp_solver ilp_highs;

/** ilp_plan() - npuplan_cosma_ilp() with a given solver */
int ilp_plan(const struct npuplan_graph *graph, const struct cosma_settings *options,
	     const struct npuplan_cosma_ilp_options *ilp, const struct ilp_solver *solver,
	     struct npuplan_cosma_plan *plan, struct npuplan_error *error);

/* ilp_divide() - offer a plan made of sub-graphs' plans
 *
 * No plan is offered if a limit came before each of them had one. -ENOMEM, -EIO
 */
int ilp_divide(struct cosma_solver *cosma, const struct npuplan_cosma_ilp_options *ilp,
	       const struct ilp_solver *solver);
