/* SPDX-License-Identifier: MIT */
/*
 * Least traffic of graphs with edges, within a budget: each block's transfers are searched for
 * alone (moves.h), and the graph with these is placed as any with edges (spill.h). What enters and
 * leaves a block is on chip there, whatever other blocks do, so that each may move as little as it
 * can.
 */
#pragma once

#include "reorder.h"

/* npuplan_plan_traffic() - plan a graph with edges with transfers
 * @r: its problem has a budget. Orders are those of @r if the schedule is that of least peak. Work
 *	is added to it
 * @plan: out
 *
 * All instances of a block have the same transfers. A plan is optimal if none of whole units
 * (moves.h) moves less, whatever path is taken, however often: each block moves as little as it can
 * whenever it runs. What the plan says of itself counts each instance once. -ENOSPC: there is none
 * within the budget, or none was found; the error's status says which. -ENOMEM, and errnos of
 * npuplan_flow_instances().
 */
int npuplan_plan_traffic(struct npuplan_reordering *r, struct npuplan_plan **plan,
			 struct npuplan_error *error);
