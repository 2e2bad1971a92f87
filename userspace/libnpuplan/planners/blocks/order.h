/* SPDX-License-Identifier: MIT */
/*
 * The order of a block's steps, in a graph with edges: COSMA's search for the least peak
 * (cosma/search/mpmf.c) on the block's straight graph. What lives on entry is there from the start,
 * and what lives on exit until the end. Nothing is moved.
 */
#pragma once

#include "planners/loops/flow.h"

/*
 * struct npuplan_block_order - what is asked for, and found, of one block
 * @options: alignment is not looked at, nor are budgets and objectives
 * @work_limit: work units; 0: the search's own
 * @order: out: the block's steps in their order, counted from the block's first one; of as many
 *	elements as it has steps
 * @bound: out: bytes that live at once in any order of the steps: no plan of the graph needs less.
 *	0: nothing is proved
 * @work: out: work units
 * @memory_ended: out: the limit of memory has ended the search
 */
struct npuplan_block_order {
	const struct npuplan_options *options;
	const struct npuplan_effort *effort;
	uint64_t work_limit;
	uint32_t *order;
	uint64_t bound;
	uint64_t work;
	bool memory_ended;
};

/* npuplan_order_block() - find the order of least peak of one block
 * @flow: names and instances are found
 * @block: an instance of it is reached
 *
 * Where the search does not know what a step does (updates of what the block itself has written),
 * the order is the graph's, and nothing is proved. -ENOMEM.
 */
int npuplan_order_block(const struct npuplan_flow *flow, uint32_t block,
			struct npuplan_block_order *found);
