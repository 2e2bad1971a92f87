/* SPDX-License-Identifier: MIT */
/* How many bytes a tiling of one operator has on chip, and how many it moves (docs/tiling.md). */
#pragma once

#include "partition.h"

/*
 * struct npuplan_operands - the regions that one step of an operator accesses
 * @count: its operands, and one more if the partition has sums
 * @index: number of the step
 * @regions, @before: per operand, its region in this step and in the step before
 * @counted: per operand, whether its bytes count; false if another operand stands for the same
 *	bytes
 */
struct npuplan_operands {
	const struct npuplan_partition *p;
	uint32_t count;
	uint64_t index;
	struct npumem_region *regions;
	struct npumem_region *before;
	bool *counted;
};

/* Take the arrays from @pool, whose owner checks whether there was memory. */
void npuplan_operands_init(struct npuplan_operands *o, const struct npuplan_partition *p,
			   struct npuplan_pool *pool);

/* Go to step @index, which is the one after the step at hand, or 0. */
void npuplan_operands_set(struct npuplan_operands *o, uint64_t index);

/* Fill in @counted for this step: a tensor that is read twice counts once. */
void npuplan_operands_count(struct npuplan_operands *o);

/* Whether an operand's region is another one than in the step before. */
bool npuplan_operand_is_new(const struct npuplan_operands *o, uint32_t operand);

/* Whether an operand is the sums in the making, which are on chip and move nothing. */
static inline bool npuplan_operand_is_sums(const struct npuplan_operands *o, uint32_t operand)
{
	return operand == npuplan_operand_count(o->p->op);
}

/* Whether an operand is an output, which is moved in each step that has some of it. */
static inline bool npuplan_operand_is_output(const struct npuplan_operands *o, uint32_t operand)
{
	return operand >= o->p->op->input_count && !npuplan_operand_is_sums(o, operand);
}

static inline bool npuplan_operand_is_parameter(const struct npuplan_operands *o, uint32_t operand)
{
	uint32_t tensor;

	if (npuplan_operand_is_sums(o, operand))
		return false;
	tensor = npuplan_operand(o->p->op, operand);
	return o->p->graph->tensors[tensor].kind == NPUMEM_TENSOR_PARAMETER;
}

/* Cost of moving an operand, in bytes of whole bursts; of sums none. */
uint64_t npuplan_operand_cost(const struct npuplan_operands *o, uint32_t operand);

/*
 * struct npuplan_tile_cost - the cost of all steps of one operator
 * @report: how the operator is cut, and the bytes that are moved to and from the chip. Bytes of a
 *	tensor that the step before had are on chip already.
 * @report.onchip: the most bytes that a step has on chip: all that it reads and writes, parameters
 *	included, sums in the making, and, if tiles are double-buffered, once more all that is not
 *	the same in all steps
 * @step, @tensor: the first step that has so many bytes on chip, and its largest tensor, which has
 *	@tensor_bytes of them; @of_sums: these are sums of it in the making
 * @transfers: cost of moving all operands of all steps, in bytes as npuplan_operand_cost() counts
 */
struct npuplan_tile_cost {
	struct npuplan_tile_report report;
	uint64_t step;
	uint64_t tensor_bytes;
	uint32_t tensor;
	bool of_sums;
	uint64_t transfers;
};

/* npuplan_choice_cost() - go through all steps of one operator, cut as @choice says
 *
 * -E2BIG: there would be more steps than the verifier allows accesses.
 */
int npuplan_choice_cost(const struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
			const struct npuplan_tile_choice *choice, struct npuplan_tile_cost *cost);
