/* SPDX-License-Identifier: MIT */
/* What a tiling of one operator takes on chip, and what it moves (docs/tiling.md). */
#pragma once

#include "tile.h"

/*
 * Memory is read and written in bursts of so many bytes, and each chunk of consecutive
 * bytes costs one more to begin with.
 */
#define NPUPLAN_BURST 64

/*
 * struct npuplan_tile_cost - of all steps of one operator
 * @steps: how many
 * @onchip: most bytes that one of them has on chip: all that it reads, parameters
 *	included, and writes, and once more what is not the same in all steps if
 *	tiles are double-buffered
 * @step, @tensor: the first with so many, and what is largest in it; @tensor_bytes
 *	of it
 * @inputs, @weights, @outputs: bytes moved, to and from the chip. What the step
 *	before had, the same bytes of the same tensor, is there already
 * @transfers: what moving them costs, in bytes: see npuplan_transfer_cost()
 */
struct npuplan_tile_cost {
	uint64_t steps;
	uint64_t onchip;
	uint64_t step;
	uint64_t tensor_bytes;
	uint32_t tensor;
	uint64_t inputs;
	uint64_t weights;
	uint64_t outputs;
	uint64_t transfers;
};

/* npuplan_transfer_cost() - bytes of whole bursts that moving a region takes
 * @parameter: of one; these are constant, so a compiler lays out each tile in one chunk
 */
uint64_t npuplan_transfer_cost(const struct npumem_region *region, bool parameter);

static inline uint64_t npuplan_tile_traffic(const struct npuplan_tile_cost *cost)
{
	return cost->inputs + cost->weights + cost->outputs;
}

/* npuplan_tile_cost() - by going through all steps
 * @cut, @grid: @grid is NULL if the operator is one step
 *
 * -E2BIG: more steps than the verifier takes accesses.
 */
int npuplan_tile_cost(const struct npuplan_graph *graph, uint32_t op, const struct npuplan_cut *cut,
		      const struct npuplan_grid *grid, bool double_buffer,
		      struct npuplan_tile_cost *cost);

/* The same, of what a tiling says of one operator. */
int npuplan_choice_cost(const struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
			const struct npuplan_tile_choice *choice, struct npuplan_tile_cost *cost);
