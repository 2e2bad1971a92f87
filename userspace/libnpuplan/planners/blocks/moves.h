/* SPDX-License-Identifier: MIT */
/*
 * The transfers of one block, in a graph with edges: COSMA's search for the least traffic on the
 * block's straight graph. What enters the block is on chip at its beginning and has no copy in host
 * memory; what leaves it is on chip at its end.
 */
#pragma once

#include "planners/loops/flow.h"

/*
 * struct npuplan_block_moves - what is asked for, and found, of one block
 * @options: schedule: whether the steps' order is free
 * @work_limit: work units of a search
 * @budget: bytes of arena; never so few that a step has no room, if there are @least
 * @order: the block's steps, counted in the block, if their order is not free; NULL: the graph's
 * @settled: per tensor, it must not be moved in this block; NULL: there is none such
 * @status: out: enum npumem_plan_status; infeasible and unknown: there are no positions
 * @positions: out: the block's schedule, whose kind and index are set. The index is a step, counted
 *	in the block, or a name, likewise
 * @traffic: out: bytes that are spilled, stored and filled
 * @least: out: bytes that the step needs which needs most, with what is not moved
 * @work: out: work units
 * @memory_ended: out: the limit of memory has ended the search
 */
struct npuplan_block_moves {
	const struct npuplan_options *options;
	const struct npuplan_effort *effort;
	uint64_t work_limit;
	uint64_t budget;
	const uint32_t *order;
	const bool *settled;
	uint32_t status;
	struct npumem_position *positions;
	uint32_t position_count;
	uint64_t traffic;
	uint64_t least;
	uint64_t work;
	bool memory_ended;
};

/*
 * struct npuplan_block_bound - what is proved of one block within a budget
 * @infeasible: no plan of the graph has this block within the budget
 * @traffic: bytes below which no plan spills, stores and fills whenever the block runs
 * @needed: bytes that the step needs which needs most
 * @step: that step, counted in the block; NPUMEM_NONE: it is what enters or leaves the block
 */
struct npuplan_block_bound {
	bool infeasible;
	uint64_t traffic;
	uint64_t needed;
	uint32_t step;
};

/* npuplan_move_block() - find the transfers of a block
 * @flow: names and instances are found
 * @block: an instance of it is reached
 * @moves: positions are the caller's to free, by npuplan_block_moves_fini()
 *
 * Moved are whole tensors, and no state, nor parameters; what the block updates may leave before
 * that and behind it. A tensor of which steps use parts stays, if it is there on entry or exit, or
 * for all the block.
 * -ENOMEM; other errors: the search does not take the block.
 */
int npuplan_move_block(const struct npuplan_flow *flow, uint32_t block,
		       struct npuplan_block_moves *moves);
void npuplan_block_moves_fini(struct npuplan_block_moves *moves);

/* npuplan_bound_block() - find what is proved of a block
 * @moves: what is asked for; the search's work is added to it
 *
 * The bound is of all plans that the verifier takes whose transfers move whole units (the cells of
 * the block). -ENOMEM.
 */
int npuplan_bound_block(const struct npuplan_flow *flow, uint32_t block,
			struct npuplan_block_moves *moves, struct npuplan_block_bound *bound);
