/* SPDX-License-Identifier: MIT */
/*
 * The partition of an operator's outputs into tiles, and functions that the files of this folder
 * share.
 */
#pragma once

#include "graph/shape.h"

/*
 * struct npuplan_partition - tiles of an operator's outputs
 * @output: view that all outputs have; if @bands is not 0 they have its rows only, and may differ
 *	in channels
 * @rows, @channels: rows and channels of a tile; the last tiles have what is left. 0: the operator
 *	is one step
 * @columns: elements of each row of a tile, likewise; 0: rows are not cut
 * @depth: channels of the first input that a step adds up, the last step of a tile having what is
 *	left; 0: all of them
 * @depth_steps: steps of a tile
 * @sums: sums in the making are one operand more, the last one
 * @bands: number of nearly equal bands of rows, of tensors of ranks 4 and 5 alone; 0: no bands
 * @order: enum npuplan_tile_order
 * @pattern: pattern of the operator's type (npuplan_pattern())
 */
struct npuplan_partition {
	const struct npuplan_graph *graph;
	const struct npuplan_op *op;
	struct npuplan_spatial output;
	int64_t rows;
	int64_t channels;
	int64_t columns;
	int64_t row_tiles;
	int64_t channel_tiles;
	int64_t column_tiles;
	int64_t depth;
	int64_t depth_steps;
	bool sums;
	uint32_t bands;
	uint32_t order;
	int pattern;
};

/* Make the partition of an operator into one step. */
void npuplan_partition_whole(struct npuplan_partition *p, const struct npuplan_graph *graph,
			     uint32_t op);

/* npuplan_partition_init() - partition an operator into one tile, or into @bands if that is not 0
 *
 * False: the operator is one step, since its outputs have not the same rows, or since it is to be
 * whole.
 */
bool npuplan_partition_init(struct npuplan_partition *p, const struct npuplan_graph *graph,
			    uint32_t op, uint32_t bands);

/*
 * Cut as @choice says; if it says more rows, channels, columns or depth than there are, tiles have
 * all of them, and so they have of what cannot be cut (npuplan_has_columns(), npuplan_depth()).
 */
void npuplan_partition_set(struct npuplan_partition *p, const struct npuplan_tile_choice *choice);

/*
 * Whether rows can be cut into columns: those of images, whose outputs have rows of one length, and
 * whose operator is one that needs columns of its inputs for columns of its outputs.
 */
bool npuplan_has_columns(const struct npuplan_partition *p);

/* Partition an operator as @tiling says of it, or else of all operators. */
void npuplan_partition_of(struct npuplan_partition *p, const struct npuplan_graph *graph,
			  const struct npuplan_tiling *tiling, uint32_t op);

/* The choice that a tiling has for one operator; NULL: it has none. */
const struct npuplan_tile_choice *npuplan_told(const struct npuplan_tiling *tiling, uint32_t op);

static inline uint64_t npuplan_partition_tiles(const struct npuplan_partition *p)
{
	return (uint64_t)p->row_tiles * p->column_tiles * p->channel_tiles;
}

/* The steps of an operator: those of all its tiles. */
static inline uint64_t npuplan_partition_steps(const struct npuplan_partition *p)
{
	return npuplan_partition_tiles(p) * (uint64_t)p->depth_steps;
}

/* The tile that a step is of, as a part of the outputs; without columns: of whole rows. */
void npuplan_partition_tile(const struct npuplan_partition *p, uint64_t step,
			    struct npuplan_part *tile);

/* The view of a tensor by which it is cut; false if it has no rows. */
bool npuplan_partition_view(const struct npuplan_partition *p, uint32_t tensor,
			    struct npuplan_spatial *view);

/* npuplan_tile_regions() - the regions that a step accesses
 * @index: number of the step
 * @regions: out: one region for each operand (npuplan_operand()); its length is 0 if nothing of it
 *	is needed. With sums one more, which has their bytes and another offset for each tile
 */
void npuplan_tile_regions(const struct npuplan_partition *p, uint64_t index,
			  struct npumem_region *regions);

/*
 * The pattern by which the inputs of an operator are cut, by its type; a number that only inputs.c
 * interprets.
 */
int npuplan_pattern(const struct npuplan_op *op);

/* Whether an operator needs columns of images for columns of its outputs (inputs.c). */
bool npuplan_pattern_columns(const struct npuplan_partition *p);

/* npuplan_depth() - channels of the first input that an operator adds up for each of its outputs'
 * @granule: out: channels of its depth are a multiple of it
 *
 * 0: it adds up none, or not those alone, so that its depth cannot be cut (inputs.c).
 */
int64_t npuplan_depth(const struct npuplan_partition *p, int64_t *granule);

/* npuplan_tile_inputs() - what any part of the outputs needs of the inputs alone (inputs.c)
 * @regions: out: one for each input
 * @parts: out: the same as parts of inputs that have a view and are no parameters; without a row:
 *	nothing, or not known. May be NULL
 */
void npuplan_tile_inputs(const struct npuplan_partition *p, const struct npuplan_part *tile,
			 struct npumem_region *regions, struct npuplan_part *parts);

/*
 * The same of a step that adds up some channels of the first input alone; what is only added to the
 * sums (bias, residual) is read with the last of them.
 */
void npuplan_depth_inputs(const struct npuplan_partition *p, const struct npuplan_part *tile,
			  struct npuplan_rows depth, struct npumem_region *regions);

/* The number of an operator's operands: its inputs, then its outputs. */
static inline uint32_t npuplan_operand_count(const struct npuplan_op *op)
{
	return op->input_count + op->output_count;
}

/* The tensor of an operand. */
static inline uint32_t npuplan_operand(const struct npuplan_op *op, uint32_t operand)
{
	return operand < op->input_count ? op->inputs[operand] :
					   op->outputs[operand - op->input_count];
}

/** npuplan_whole() - region of a whole tensor */
static inline struct npumem_region npuplan_whole(const struct npuplan_tensor *tensor)
{
	return (struct npumem_region){ .length = tensor->size, .count = { 1, 1, 1 } };
}

/* npuplan_choose_tiles() - choose how each operator is cut, and say so in tiling->ops
 *
 * The tiling has a size of on-chip memory. A choice that tiling->ops has already is checked and
 * kept.
 * -ENOSPC: an operator does not fit.
 */
int npuplan_choose_tiles(const struct npuplan_graph *graph, struct npuplan_tiling *tiling,
			 struct npuplan_error *error);

/* npuplan_make_steps() - make the steps and tiles of a graph that has none (steps.c)
 *
 * -EINVAL: the graph has no operators, or one accesses nothing; -E2BIG: there would be more
 * accesses than the verifier allows. The graph has no steps then, either.
 */
int npuplan_make_steps(struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
		       struct npuplan_error *error);

/* Fail with -E2BIG: the operator needs more accesses than the verifier allows. */
int npuplan_fail_accesses(const struct npuplan_op *op, struct npuplan_error *error);
