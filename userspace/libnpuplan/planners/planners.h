/* SPDX-License-Identifier: MIT */
/* Planners and packers by name, and the functions of those that have no folder of their own. */
#pragma once

#include "planner.h"

/*
 * The planner of a name; NULL for a name that there is not. The name NULL is the default planner's.
 */
const struct npuplan_planner *npuplan_planner_find(const char *name);
/*
 * The packer of a name, which places items for npuplan_pack(); NULL for a name that there is not.
 */
const struct npuplan_planner *npuplan_packer_find(const char *name);

/*
 * First fit in one order, or the best of all orders if @order is NPUPLAN_ORDER_COUNT (packers.c).
 */
int npuplan_pack_greedy(const struct npuplan_problem *problem, int order,
			struct npuplan_packing *packing, struct npuplan_error *error);

/* The exact packer, which begins with the problem's incumbent (packers.c). */
int npuplan_pack_searched(const struct npuplan_problem *problem, int unused,
			  struct npuplan_packing *packing, struct npuplan_error *error);

/* npuplan_pack_quick() - make one packing in O(n log n), however late it is (packers.c)
 *
 * -EOPNOTSUPP: conflicts are listed, or an item is fixed.
 */
int npuplan_pack_quick(const struct npuplan_problem *problem, int unused,
		       struct npuplan_packing *packing, struct npuplan_error *error);

/* The best of greedy, NNC, TAA and exact (auto.c). */
int npuplan_pack_auto(const struct npuplan_problem *problem, int unused,
		      struct npuplan_packing *packing, struct npuplan_error *error);
