/* SPDX-License-Identifier: MIT */
/* The interface of solvers of integer programs: HiGHS (highs.c), where it is installed. */
#pragma once

#include "planners/cosma/search/solve.h"
#include "ilp.h"
#include "program.h"

/** enum ilp_status - how a solver ended */
enum ilp_status {
	ILP_OPTIMAL,	/* it has a solution, the best */
	ILP_FEASIBLE,	/* it has a solution, and was stopped by a limit */
	ILP_INFEASIBLE, /* there is no solution */
	ILP_UNKNOWN,	/* it was stopped before it had a solution */
};

/* struct ilp_answer - what a solver found
 * @value: value of each column, if there is a solution; the caller calls npuplan_free()
 * @bound: no solution costs less
 */
struct ilp_answer {
	enum ilp_status status;
	double *value;
	int64_t bound;
};

/**
 * struct ilp_solver - a solver of integer programs
 * @name: for messages
 * @solve: solves a program within the call's deadline, until its progress function says stop, and
 *	adds to call->work. @whole: the program is the whole problem, so that its incumbents and
 *	bounds are those of the call. -ENOMEM; -EIO if the solver fails
 * @solve_file: finds the optimum of an LP file, as the solver reads it. -ENOMEM; -EIO if it cannot
 *	be read, or has no solution
 */
struct ilp_solver {
	const char *name;
	int (*solve)(const struct ilp_program *program, bool whole, struct cosma_call *call,
		     struct ilp_answer *answer);
	int (*solve_file)(const char *path, double *optimum);
};

/* It is there where HiGHS is. */
extern const struct ilp_solver ilp_highs;

/** ilp_plan() - npuplan_cosma_ilp() with a given solver */
int ilp_plan(const struct npuplan_graph *graph, const struct cosma_settings *options,
	     const struct npuplan_cosma_ilp_options *ilp, const struct ilp_solver *solver,
	     struct npuplan_cosma_plan *plan, struct npuplan_error *error);

/* ilp_divide() - offer a plan made of sub-graphs' plans
 *
 * No plan is offered if a limit came before each sub-graph had one. -ENOMEM, -EIO
 */
int ilp_divide(struct cosma_solver *cosma, const struct npuplan_cosma_ilp_options *ilp,
	       const struct ilp_solver *solver);
