/* SPDX-License-Identifier: MIT */
/* Planners by name, and those that try packers one after another. */
#pragma once

#include "planner.h"

/* NULL name: the default. NULL if there is none of that name. */
const struct npuplan_planner *npuplan_planner_find(const char *name);
/* The algorithm of that name that places items for npuplan_pack(); NULL if there is none. */
const struct npuplan_planner *npuplan_packer_find(const char *name);

/* packers.c: first fit by one order, or the best of them all if @order is NPUPLAN_ORDER_COUNT. */
int npuplan_pack_greedy(const struct npuplan_problem *problem, int order,
			struct npuplan_packing *packing, struct npuplan_error *error);

/* packers.c: the exact packer, from the problem's incumbent on. */
int npuplan_pack_searched(const struct npuplan_problem *problem, int unused,
			  struct npuplan_packing *packing, struct npuplan_error *error);

/* npuplan_pack_quick() - one packing in O(n log n), however late it is (packers.c)
 *
 * -EOPNOTSUPP: pairs are listed, or an item is fixed.
 */
int npuplan_pack_quick(const struct npuplan_problem *problem, int unused,
		       struct npuplan_packing *packing, struct npuplan_error *error);

/* auto.c: the best of greedy, NNC, TAA and exact. */
int npuplan_pack_auto(const struct npuplan_problem *problem, int unused,
		      struct npuplan_packing *packing, struct npuplan_error *error);
