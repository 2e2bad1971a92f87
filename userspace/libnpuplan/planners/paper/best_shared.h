/* SPDX-License-Identifier: MIT */
/* Shared Objects as a planner: the best of its three strategies. */
#pragma once

#include "problem/packing.h"

/* -EOPNOTSUPP: fixed offsets, loops and branches. */
int npuplan_pack_best_shared(const struct npuplan_problem *problem, int unused,
			     struct npuplan_packing *packing, struct npuplan_error *error);
