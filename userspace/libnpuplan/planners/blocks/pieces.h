/* SPDX-License-Identifier: MIT */
/*
 * Graphs with edges, cut for tile scheduling: what lives in one block alone becomes tensors of its
 * own, one for each unit of memory (tilesched/model.h), and the steps of each block are in the
 * order of lowest peak. The graph that comes of it is planned as any with edges (loops/flow.h), and
 * its plan is one of the graph that was cut, with tensors in pieces.
 */
#pragma once

#include "planners/loops/flow.h"

/*
 * struct tilesched_fragment - contiguous bytes of a tensor that a piece has
 * @first, @length: bytes of the tensor
 * @at: where they lie in the piece
 */
struct tilesched_fragment {
	uint64_t first;
	uint64_t length;
	uint64_t at;
};

/*
 * struct tilesched_piece - bytes of a tensor that live and die together
 * @tensor: of the graph that is cut
 * @first_fragment, @fragment_count: its fragments, ascending
 */
struct tilesched_piece {
	uint32_t tensor;
	uint32_t first_fragment;
	uint32_t fragment_count;
};

/*
 * struct tilesched_cut - a graph that is cut
 * @graph: tensors and tiles of the graph at hand, under their numbers, then the pieces as tensors
 * @first_piece: number of the tensor that is piece 0
 * @order: per step of @graph, its step of the graph at hand
 * @work: units that the search for orders took
 * @loose: a plan of the graph at hand may need less: a write in place is none in @graph, or a piece
 *	has gaps
 */
struct tilesched_cut {
	struct npuplan_graph *graph;
	struct tilesched_piece *pieces;
	struct tilesched_fragment *fragments;
	uint32_t *order;
	uint32_t first_piece;
	uint32_t piece_count;
	uint32_t fragment_count;
	uint64_t work;
	bool loose;
};

/* tilesched_cut_init() - cut a graph
 * @problem: its graph, options, alignment and effort are filled in
 * @flow: names and instances of that graph
 * @work_limit: of the search for an order of each block
 *
 * The caller calls tilesched_cut_fini() in any case. -ENOMEM, -E2BIG.
 */
int tilesched_cut_init(struct tilesched_cut *cut, const struct npuplan_problem *problem,
		       const struct npuplan_flow *flow, uint64_t work_limit);
void tilesched_cut_fini(struct tilesched_cut *cut);

/* tilesched_cut_back() - make of a plan of @cut->graph one of the graph that was cut
 *
 * Tensors in pieces have no views. -ENOMEM: the plan is of neither.
 */
int tilesched_cut_back(const struct tilesched_cut *cut, struct npuplan_plan *plan);
