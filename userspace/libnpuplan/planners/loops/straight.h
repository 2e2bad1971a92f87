/* SPDX-License-Identifier: MIT */
/*
 * A block of a graph with edges, as a straight graph of its own: its inputs are the names that are
 * live on entry, its outputs those that are live on exit.
 */
#pragma once

#include "flow.h"

/*
 * What a name is in the graph of its block alone, an enum npumem_tensor_kind. What is updated, or
 * handed on as it came, has its bytes at both ends: it is state.
 */
uint32_t npuplan_straight_kind(const struct npuplan_name *name);

/* npuplan_straight_graph() - the straight graph of a block
 * @graph: out: tensor i is the block's i-th name; after those come EXTERNAL ones, for all else that
 *	steps access. Step i is the block's i-th one. The caller frees it in any case
 *
 * -ENOMEM, -E2BIG. A block without steps has a graph without any, which nobody plans.
 */
int npuplan_straight_graph(const struct npuplan_flow *flow, uint32_t block,
			   struct npuplan_graph **graph);
