/* SPDX-License-Identifier: MIT */
/* What a tile of an operator's outputs needs of its inputs. */
#pragma once

#include "graph/shape.h"
#include "tiler.h"

/*
 * struct npuplan_cut - operator whose outputs can be cut
 * @output: view of the outputs; all have its rows and, but for @bands, its channels
 * @bands: into rows of tensors of rank 4 and 5 alone
 */
struct npuplan_cut {
	const struct npuplan_graph *graph;
	const struct npuplan_op *op;
	struct npuplan_spatial output;
	bool bands;
};

/* npuplan_cut_of() - false if the operator is one step: its outputs have no rows in common,
 * or it is planned whole
 */
bool npuplan_cut_of(const struct npuplan_graph *graph, uint32_t op, bool bands,
		    struct npuplan_cut *cut);

/* npuplan_tile_inputs() - regions of all inputs that one tile of the outputs needs
 * @regions: out: one an input; length 0 if nothing of it is needed
 */
void npuplan_tile_inputs(const struct npuplan_cut *cut, const struct npuplan_part *tile,
			 struct npumem_region *regions);
