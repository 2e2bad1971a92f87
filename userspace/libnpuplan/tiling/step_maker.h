/* SPDX-License-Identifier: MIT */
/* Steps in the making: what a step accesses is collected, then the step is made. */
#pragma once

#include "base/table.h"
#include "partition.h"

/*
 * struct npuplan_step_maker - makes the steps of a graph, one after the other
 * @table: finds equal tiles of the graph
 * @tensors, @regions: of each operand of the step at hand the tensor and its part that is accessed;
 *	a region without a length: none is. There is room for one region more, of sums
 * @accesses: accesses of the step at hand, with room for one for each operand and two more
 * @access_of: per tile, number of its last access, in @accesses if that is of the step at hand
 */
struct npuplan_step_maker {
	struct npuplan_graph *graph;
	bool with_parameters;
	struct npuplan_table table;
	uint32_t *tensors;
	struct npumem_region *regions;
	struct npumem_access *accesses;
	uint32_t *access_of;
	uint32_t access_count;
};

/* npuplan_maker_access() - add an access of a region to the step at hand
 *
 * Returns its number; NPUMEM_NONE: it is a parameter, and parameters are not asked for. Reading a
 * tile that is read already adds nothing; reading and writing the whole of a tensor is an update in
 * place. -E2BIG, -ENOMEM.
 */
int64_t npuplan_maker_access(struct npuplan_step_maker *m, uint32_t tensor,
			     const struct npumem_region *region, uint32_t mode);

/* npuplan_maker_operands() - add the accesses of an operator's operands as @tensors, @regions say
 *
 * If the operator may, its first output takes the bytes of its first input. Errors as
 * npuplan_maker_access().
 */
int npuplan_maker_operands(struct npuplan_step_maker *m, const struct npuplan_op *op);

/* npuplan_maker_step() - make the step of the accesses that were added, and begin the next one
 * @index: its number among the @count steps of its operator
 *
 * -EINVAL: it accesses nothing; -E2BIG: more accesses than the verifier allows; -ENOMEM.
 */
int npuplan_maker_step(struct npuplan_step_maker *m, const struct npuplan_op *op, uint64_t index,
		       uint64_t count, uint32_t flags, struct npuplan_error *error);
