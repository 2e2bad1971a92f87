/* SPDX-License-Identifier: MIT */
/*
 * Break nodes (arXiv 2311.18246, section IV) are steps that divide a graph: all that a break node
 * depends on runs before it, and all else behind it. The paper chooses them by hand, plans the
 * parts apart, and has what crosses a break go through host memory; here they order the steps, and
 * what crosses may stay on chip.
 */
#pragma once

#include "units.h"

/*
 * struct cosma_breaks - the orders of steps that break nodes leave
 * @pairs: @pair_count of them: steps that a break node runs before though they do not read what it
 *	writes. None: the break nodes leave all orders
 * @order: of all steps: the graph's, part after part
 */
struct cosma_breaks {
	struct cosma_pair *pairs;
	uint32_t pair_count;
	uint32_t *order;
};

/* cosma_breaks_init() - divide a graph's steps
 * @nodes: @node_count steps, in any order
 *
 * -EINVAL, naming the step: there is none such, it is given twice, two of them do not depend on one
 * another, or nothing runs behind one. -ENOMEM
 */
int cosma_breaks_init(struct cosma_breaks *breaks, const struct npuplan_graph *graph,
		      const struct cosma_units *units, const uint32_t *nodes, uint32_t node_count,
		      struct npuplan_error *error);
void cosma_breaks_fini(struct cosma_breaks *breaks);
