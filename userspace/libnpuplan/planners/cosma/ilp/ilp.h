/* SPDX-License-Identifier: MIT */
/*
 * COSMA's integer linear program (arXiv 2311.18246, Eq. 1-17): solved by HiGHS, where
 * the library was built with it, or written to a file for any solver.
 */
#pragma once

#include "planners/cosma/cosma.h"

/**
 * struct npuplan_cosma_ilp_options - options besides those of npuplan_cosma(); zero = default
 * @spill_steps: Eq. 1 holds to the letter: a tensor without a host copy that comes back to another
 *	address is away for at least one operator. Else it may leave and come back between two
 *	operators, as in npuplan_cosma()'s plans
 * @divide: the paper's divide and conquer (section IV) is used: no sub-graph has more operators
 *	than this, and break nodes are where few bytes cross; 0: there is one program. This is for
 *	the traffic only; such a plan is optimal only if it costs nothing
 */
struct npuplan_cosma_ilp_options {
	bool spill_steps;
	uint32_t divide;
};

/* npuplan_cosma_ilp() - plan a graph's operators by integer linear programming
 * @ilp: NULL = default
 *
 * As npuplan_cosma(), with these differences: options->work_limit and memory_limit are not looked
 * at (a solver has no such limits), plan->work counts simplex iterations, and plan->relaxed_bound
 * is 0. Status infeasible may also mean that no addresses exist. -ENOSYS: this build has no solver.
 * -EIO: the solver failed, or its numbers are too coarse.
 */
int npuplan_cosma_ilp(const struct npuplan_graph *graph, const struct cosma_settings *options,
		      const struct npuplan_cosma_ilp_options *ilp, struct npuplan_cosma_plan *plan,
		      struct npuplan_error *error);

/* Returns the name of the solver that npuplan_cosma_ilp() uses; NULL: this build has none. */
const char *npuplan_cosma_ilp_solver(void);

/* npuplan_cosma_ilp_write() - write the program as text in CPLEX's LP format
 * @text: out: the same bytes for the same input; the caller calls free()
 * @size: out: bytes without the NUL at the end
 *
 * This needs no solver. Sizes and addresses are in units that the file names. Errors are those of
 * npuplan_cosma(). -EINVAL also if ilp->divide is set, or (with the operator that needs most) if
 * the budget is below M_R. -E2BIG, as npuplan_cosma_ilp(): the program has more than 2^22 columns
 * and rows together, 2^25 terms, or 2^25 pairs of tensor and timestep (it would take gigabytes);
 * the message says what there is.
 */
int npuplan_cosma_ilp_write(const struct npuplan_graph *graph, const struct cosma_settings *options,
			    const struct npuplan_cosma_ilp_options *ilp, char **text, size_t *size,
			    struct npuplan_error *error);
