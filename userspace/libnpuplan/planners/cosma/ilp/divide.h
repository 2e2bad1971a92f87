/* SPDX-License-Identifier: MIT */
/*
 * Divide and conquer (arXiv 2311.18246, section IV): break nodes cut the order into
 * sub-graphs that are solved one by one. What crosses a break is stored for the one side
 * and loaded for the other. Break nodes are not chosen by hand: windows.c finds them.
 */
#pragma once

#include "planners/cosma/search/solve.h"
#include "solver.h"

/* ilp_divide() - offer a plan made of sub-graphs' plans
 *
 * No plan is offered if a limit came before each of them had one. -ENOMEM, -EIO
 */
int ilp_divide(struct cosma_solve *solve, const struct npuplan_cosma_ilp_options *ilp,
	       const struct ilp_solver *solver);
