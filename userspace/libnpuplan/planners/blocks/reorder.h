/* SPDX-License-Identifier: MIT */
/*
 * Plans of graphs with edges, with the steps of each block in an order that somebody chooses block
 * by block: cosma's search, or tile scheduling. Another planner packs, in both the graph's order
 * and the chosen one.
 */
#pragma once

#include "order.h"

/*
 * struct npuplan_reordering - one call
 * @problem, @packer, @order_block: filled in by the caller. @packer is the planner that packs; the
 *	last one finds the order of one block, as npuplan_order_block() does
 * @flow: names and instances, in the graph's order
 * @ordered: the graph with the steps of each block in another order
 * @order: per step of @ordered, the graph's step that it is
 * @moved: the order is another one than the graph's
 * @bound: bytes below which no plan is, in any order of the steps; 0: nothing is proved
 * @work: units so far
 * @memory_ended: the limit of memory has ended the search for an order
 */
struct npuplan_reordering {
	const struct npuplan_problem *problem;
	const struct npuplan_planner *packer;
	int (*order_block)(const struct npuplan_flow *flow, uint32_t block,
			   struct npuplan_block_order *found);
	struct npuplan_flow flow;
	struct npuplan_graph ordered;
	uint32_t *order;
	bool moved;
	uint64_t bound;
	uint64_t work;
	bool memory_ended;
};

/* npuplan_plan_order() - plan @graph in its order, whatever the budget
 *
 * Errnos are npuplan_flow_plan()'s.
 */
int npuplan_plan_order(struct npuplan_reordering *r, const struct npuplan_graph *graph,
		       struct npuplan_plan **plan, struct npuplan_error *error);

/* npuplan_reorder() - choose the order of each block, and take its plan if it is better
 * @plan: that of the graph's order; whatever ends the search does not spoil it
 */
void npuplan_reorder(struct npuplan_reordering *r, struct npuplan_plan **plan);

void npuplan_reordering_fini(struct npuplan_reordering *r);
