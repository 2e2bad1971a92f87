/* SPDX-License-Identifier: MIT */
/* Tile scheduling of graphs with loops and branches. */
#pragma once

#include "planners/planner.h"

/* npuplan_plan_tilesched_blocks() - plan a graph with edges, as npuplan_plan() does
 * @problem: its graph, options, alignment and effort are filled in
 * @form: not looked at: there are no rings
 * @packer: planner that packs
 *
 * The steps of each block are interleaved, and nothing across edges. What lives in one block alone
 * is placed in pieces, other tensors whole. The graph's own order, in whole tensors, is planned,
 * too, and the smaller arena counts; within a budget it is that order, if it fits. -EOPNOTSUPP: a
 * traffic factor. -ENOSPC: no order that was tried fits the budget. Other errnos are
 * npuplan_flow_plan()'s.
 */
int npuplan_plan_tilesched_blocks(const struct npuplan_problem *problem, int form,
				  const struct npuplan_planner *packer, struct npuplan_plan **plan,
				  struct npuplan_error *error);
