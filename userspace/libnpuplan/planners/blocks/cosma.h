/* SPDX-License-Identifier: MIT */
/*
 * Planner cosma of graphs with loops and branches. It chooses the order of the steps in each block
 * (order.h), and addresses. If that does not fit the budget, it chooses the transfers of each block
 * together with the order (traffic.h).
 */
#pragma once

#include "planners/planner.h"

/* npuplan_plan_cosma_blocks() - plan a graph with edges, as npuplan_plan() does
 * @problem: its graph, options, alignment and effort are filled in
 * @argument: enum npuplan_cosma_planner
 * @packer: planner that packs
 *
 * The graph's own order is planned, too, and the smaller arena counts. -EOPNOTSUPP: engines but the
 * search, two banks, and tensors that start in host memory. -ENOSPC: no plan within the budget was
 * found; the error's status says whether there is none. Other errnos are npuplan_flow_plan()'s.
 */
int npuplan_plan_cosma_blocks(const struct npuplan_problem *problem, int argument,
			      const struct npuplan_planner *packer, struct npuplan_plan **out,
			      struct npuplan_error *error);
