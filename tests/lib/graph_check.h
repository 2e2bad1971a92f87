/* SPDX-License-Identifier: MIT */
/* What an importer has made of blocks, edges and operators. */
#pragma once

#include "npuplan.h"
#include "unit.h"

/* Edge @edge goes from block @from to block @to with so many carries. */
static inline void check_edge(const struct npuplan_graph *graph, uint32_t edge, uint32_t from,
			      uint32_t to, uint32_t carries)
{
	assert_true(edge < graph->edge_count);
	assert_int_equal(graph->edges[edge].from, from);
	assert_int_equal(graph->edges[edge].to, to);
	assert_int_equal(graph->edges[edge].carry_count, carries);
}

/* Along carry @carry, tensor @to takes on the value of tensor @from. */
static inline void check_carry(const struct npuplan_graph *graph, uint32_t carry, const char *from,
			       const char *to)
{
	assert_true(carry < graph->carry_count);
	assert_string_equal(graph->tensors[graph->carries[carry].from].name, from);
	assert_string_equal(graph->tensors[graph->carries[carry].to].name, to);
}

/* Operator @index has that type, is the model's operator @id, and stands in that block. */
static inline void check_op(const struct npuplan_graph *graph, uint32_t index, const char *type,
			    int64_t id, uint32_t block)
{
	assert_true(index < graph->op_count);
	assert_string_equal(graph->ops[index].type, type);
	assert_int_equal(graph->ops[index].id, id);
	assert_int_equal(graph->ops[index].block, block);
}

/* How many steps an operator is cut into. */
static inline uint32_t steps_of(const struct npuplan_graph *graph, uint32_t op)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < graph->step_count; i++)
		count += graph->steps[i].op == op;
	return count;
}
