/* SPDX-License-Identifier: MIT */
/*
 * The published packer Shared Objects as a planner, which keeps the best of its three strategies.
 */
#pragma once

#include "problem/packing.h"

/* -EOPNOTSUPP: the problem has fixed offsets, or the graph has loops or branches. */
int npuplan_pack_best_shared(const struct npuplan_problem *problem, int unused,
			     struct npuplan_packing *packing, struct npuplan_error *error);
