/* SPDX-License-Identifier: MIT */
/* TAA as published: algorithms 1 to 3, three sort orders, the best kept. */
#pragma once

#include "problem/packing.h"

/*
 * npuplan_taa_paper() - run algorithm 1 by each order, and keep the best packing
 * @limit: steps of the algorithm, which are work units
 * @packing: what is better than it takes its place
 *
 * -E2BIG: not even the first order was done before @limit; -EINTR: not before the effort ended;
 * -EOPNOTSUPP: the graph has aliases.
 */
int npuplan_taa_paper(const struct npuplan_problem *problem, uint64_t limit,
		      struct npuplan_packing *packing);
