/* SPDX-License-Identifier: MIT */
/* An operator's outputs partitioned into tiles, and what the parts of the tiling share. */
#pragma once

#include "graph/shape.h"

/*
 * struct npuplan_partition - tiles of an operator's outputs
 * @output: view of the outputs; all have its rows and, unless in @bands, its channels
 * @rows, @channels: of a tile; the last ones have what is left. 0: the operator is one step
 * @bands: so many bands of rows, nearly equal, of tensors of rank 4 and 5 alone; 0 for none
 * @order: enum npuplan_tile_order
 * @pattern: of the operator's type (inputs.c)
 */
struct npuplan_partition {
	const struct npuplan_graph *graph;
	const struct npuplan_op *op;
	struct npuplan_spatial output;
	int64_t rows;
	int64_t channels;
	int64_t row_tiles;
	int64_t channel_tiles;
	uint32_t bands;
	uint32_t order;
	int pattern;
};

/* An operator that is one step. */
void npuplan_partition_whole(struct npuplan_partition *p, const struct npuplan_graph *graph,
			     uint32_t op);

/* npuplan_partition_init() - an operator in one tile, or in @bands if that is not 0
 *
 * False: it is one step, since its outputs have no rows in common, or it is planned whole.
 */
bool npuplan_partition_init(struct npuplan_partition *p, const struct npuplan_graph *graph,
			    uint32_t op, uint32_t bands);

/* @choice may say more rows or channels than there are: all of them. */
void npuplan_partition_set(struct npuplan_partition *p, const struct npuplan_tile_choice *choice);

/* As a tiling says of an operator, or of all. */
void npuplan_partition_of(struct npuplan_partition *p, const struct npuplan_graph *graph,
			  const struct npuplan_tiling *tiling, uint32_t op);

/* What a tiling says of one operator; NULL if that is nothing. */
const struct npuplan_tile_choice *npuplan_told(const struct npuplan_tiling *tiling, uint32_t op);

static inline uint64_t npuplan_partition_tiles(const struct npuplan_partition *p)
{
	return (uint64_t)p->row_tiles * p->channel_tiles;
}

/* A tensor as it is cut: false if it has no rows. */
bool npuplan_partition_view(const struct npuplan_partition *p, uint32_t tensor,
			    struct npuplan_spatial *view);

/* npuplan_tile_regions() - what the step of a tile accesses
 * @index: of the tile in the order of the steps
 * @regions: out: one an operand (npuplan_operand()); length 0 if nothing of it is needed
 */
void npuplan_tile_regions(const struct npuplan_partition *p, uint64_t index,
			  struct npumem_region *regions);

/* What a tile of an operator's outputs needs of its inputs goes by this (inputs.c). */
int npuplan_pattern(const struct npuplan_op *op);

/* The same of the inputs alone, of any part of the outputs (inputs.c). */
void npuplan_tile_inputs(const struct npuplan_partition *p, const struct npuplan_part *tile,
			 struct npumem_region *regions);

/* Operands of an operator: inputs first, then outputs. */
static inline uint32_t npuplan_operand_count(const struct npuplan_op *op)
{
	return op->input_count + op->output_count;
}

/* Tensor of an operand. */
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

/* npuplan_choose_tiles() - have tiling->ops say how each operator is cut
 *
 * The tiling has on-chip memory; ops that it has already are checked and kept.
 * -ENOSPC: something does not fit.
 */
int npuplan_choose_tiles(const struct npuplan_graph *graph, struct npuplan_tiling *tiling,
			 struct npuplan_error *error);

/* npuplan_make_steps() - steps and tiles of a graph that has none (steps.c)
 *
 * -EINVAL: no operators, or one accesses nothing; -E2BIG: more accesses than the verifier
 * takes. The graph has none then, either.
 */
int npuplan_make_steps(struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
		       struct npuplan_error *error);

/* -E2BIG and its sentence: more accesses than the verifier takes. */
int npuplan_fail_accesses(const struct npuplan_op *op, struct npuplan_error *error);
