/* SPDX-License-Identifier: MIT */
/*
 * Graphs with edges whose blocks have transfers, as graphs without: each stay of a tensor on chip
 * is a tensor of its own. A spill or a store is a step that reads the stay, a fill one that writes
 * the next stay, and edges carry the stay that leaves a block to the one that enters the next. What
 * comes of it is planned as any graph with edges (loops/flow.h), and its plan is made one of the
 * graph at hand, with the transfers.
 */
#pragma once

#include "moves.h"

/*
 * struct npuplan_spill_position - a position of a block
 * @kind: enum npumem_position_kind
 * @index: step or tensor of the graph at hand
 * @stay: of a transfer but a drop: the stay that is moved, a tensor of the graph without transfers
 */
struct npuplan_spill_position {
	uint32_t kind;
	uint32_t index;
	uint32_t stay;
};

/*
 * struct npuplan_spilling - a graph whose transfers are steps
 * @graph: tensors and tiles of the graph at hand, under their numbers, then stays and their tiles
 * @tensor_of: per tensor of @graph, the tensor of the graph at hand that it is, or is a stay of
 * @positions: positions of block b are positions[first[b] .. first[b + 1])
 * @position_of: per step of @graph, its number in @positions; those are ascending
 */
struct npuplan_spilling {
	struct npuplan_graph *graph;
	uint32_t *tensor_of;
	struct npuplan_spill_position *positions;
	uint32_t *first;
	uint32_t *position_of;
	uint32_t tensor_count;
	uint32_t position_count;
	uint32_t step_count;
};

/* npuplan_spill_keeps() - whether a tensor must stay in a block, since no stay could leave it
 *
 * In block 0, what enters is what the inference begins with, and what the exit needs is what it
 * ends with: one and the same tensor.
 */
bool npuplan_spill_keeps(const struct npuplan_flow *flow, uint32_t block, uint32_t tensor);

/* npuplan_spilling_init() - make a graph of steps of one with transfers
 * @flow: names of the graph at hand
 * @moves: per block, its positions; blocks that no path comes to have none
 *
 * The caller calls npuplan_spilling_fini() in any case. -ENOMEM, -E2BIG.
 */
int npuplan_spilling_init(struct npuplan_spilling *s, const struct npuplan_flow *flow,
			  const struct npuplan_block_moves *moves);
void npuplan_spilling_fini(struct npuplan_spilling *s);

/* npuplan_spilling_back() - make of a plan of @s->graph one of the graph at hand
 *
 * Tensors have no views in it: the plan's edges say where they lie. Bytes that it moves are counted
 * position by position. If it fails the plan is of neither graph. -ENOMEM, -E2BIG.
 */
int npuplan_spilling_back(const struct npuplan_spilling *s, const struct npuplan_graph *graph,
			  struct npuplan_plan *plan, struct npuplan_error *error);
