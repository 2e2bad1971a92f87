/* SPDX-License-Identifier: MIT */
/* What a tiling of one operator takes on chip, and what it moves (docs/tiling.md). */
#pragma once

#include "partition.h"

/*
 * struct npuplan_operands - what one step of an operator accesses
 * @index: of the step
 * @regions, @before: per operand its region in this step, and in the one before
 * @counted: per operand, false for what another operand stands for already
 */
struct npuplan_operands {
	const struct npuplan_partition *p;
	uint32_t count;
	uint64_t index;
	struct npumem_region *regions;
	struct npumem_region *before;
	bool *counted;
};

/* Arrays are from the pool, whose owner asks whether they are there. */
void npuplan_operands_init(struct npuplan_operands *o, const struct npuplan_partition *p,
			   struct npuplan_pool *pool);

/* On to a step: the next one, or the first. */
void npuplan_operands_set(struct npuplan_operands *o, uint64_t index);

/* Find out who stands for whom in this step: a tensor read twice is one. */
void npuplan_operands_count(struct npuplan_operands *o);

/* Whether a region is not that of the step before. */
bool npuplan_operand_is_new(const struct npuplan_operands *o, uint32_t operand);

static inline bool npuplan_operand_is_parameter(const struct npuplan_operands *o, uint32_t operand)
{
	uint32_t tensor = npuplan_operand(o->p->op, operand);

	return o->p->graph->tensors[tensor].kind == NPUMEM_TENSOR_PARAMETER;
}

/* Bytes of whole bursts that moving an operand takes. */
uint64_t npuplan_operand_cost(const struct npuplan_operands *o, uint32_t operand);

/*
 * struct npuplan_tile_cost - of all steps of one operator
 * @report: how it is cut, and what is moved, to and from the chip. What the step
 *	before had, the same bytes of the same tensor, is there already.
 *	@report.onchip: most bytes that one step has on chip: all that it reads,
 *	parameters included, and writes, and once more what is not the same in all
 *	steps if tiles are double-buffered
 * @step, @tensor: the first with so many, and what is largest in it; @tensor_bytes
 *	of it
 * @transfers: what moving them costs, in bytes: see npuplan_operand_cost()
 */
struct npuplan_tile_cost {
	struct npuplan_tile_report report;
	uint64_t step;
	uint64_t tensor_bytes;
	uint32_t tensor;
	uint64_t transfers;
};

/* npuplan_choice_cost() - by going through all steps of what a tiling says of one operator
 *
 * -E2BIG: more steps than the verifier takes accesses.
 */
int npuplan_choice_cost(const struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
			const struct npuplan_tile_choice *choice, struct npuplan_tile_cost *cost);
