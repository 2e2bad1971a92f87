/* SPDX-License-Identifier: MIT */
/* Where parts of joined concats and splits lie, and what is said of them. */
#pragma once

#include <string.h>

#include "npuplan.h"
#include "unit.h"

static inline void join(struct npuplan_graph *graph, enum npuplan_layout layout, uint32_t rows)
{
	const struct npuplan_tiling tiling = {
		.layout = layout,
		.rows = rows,
		.concat = NPUPLAN_CONCAT_JOIN,
	};
	struct npuplan_error error = { .text = "" };

	if (npuplan_graph_tile(graph, &tiling, &error))
		fail_msg("%s", error.text);
}

static inline void join_what_fits(struct npuplan_graph *graph)
{
	const struct npuplan_tiling tiling = { .concat = NPUPLAN_CONCAT_FIT };
	struct npuplan_error error = { .text = "" };

	if (npuplan_graph_tile(graph, &tiling, &error))
		fail_msg("%s", error.text);
}

static inline const struct npuplan_joined *joined(const struct npuplan_graph *graph,
						  uint32_t tensor)
{
	for (uint32_t i = 0; i < graph->joined_count; i++)
		if (graph->joined[i].tensor == tensor)
			return &graph->joined[i];
	fail_msg("tensor %u is no part", tensor);
	return NULL;
}

static inline void assert_joined(const struct npuplan_graph *graph, uint32_t tensor, uint32_t base,
				 uint64_t first, uint64_t run, uint64_t stride)
{
	const struct npuplan_joined *j = joined(graph, tensor);

	assert_int_equal(j->base, base);
	assert_int_equal(j->first, first);
	assert_int_equal(j->run, run);
	assert_int_equal(j->stride, stride);
	assert_true(graph->tensors[tensor].flags & NPUMEM_TENSOR_FLAG_ALIAS);
	assert_int_equal(graph->tensors[tensor].alias_of, base);
}

/* What became of input @input of concat @op, or of output @input of another operator. */
static inline void assert_said(const struct npuplan_graph *graph, uint32_t op, uint32_t input,
			       enum npuplan_join join)
{
	const struct npuplan_op *said_of = &graph->ops[op];
	const uint32_t *parts = !strcmp(said_of->type, "cat") ? said_of->inputs : said_of->outputs;

	for (uint32_t i = 0; i < graph->concat_input_count; i++) {
		const struct npuplan_concat_input *said = &graph->concat_inputs[i];

		if (said->op != op || said->input != input)
			continue;
		assert_int_equal(said->tensor, parts[input]);
		assert_string_equal(npuplan_join_text(said->join), npuplan_join_text(join));
		return;
	}
	fail_msg("nothing is said of part %u of operator %u", input, op);
}

/* The region that the first access in a mode of an operator's first step is of. */
static inline struct npumem_tile tile_of(const struct npuplan_graph *graph, uint32_t op,
					 uint32_t mode)
{
	for (uint32_t s = 0; s < graph->step_count; s++)
		for (uint32_t a = 0; graph->steps[s].op == op && a < graph->steps[s].access_count;
		     a++) {
			const struct npumem_access *access =
				&graph->accesses[graph->steps[s].first_access + a];

			if (access->mode == mode)
				return graph->tiles[access->tile];
		}
	fail_msg("operator %u has no such access", op);
	return (struct npumem_tile){ 0 };
}

static inline void assert_region(const struct npumem_region *region, uint64_t offset,
				 uint64_t length, uint32_t count, uint64_t stride)
{
	assert_int_equal(region->offset, offset);
	assert_int_equal(region->length, length);
	assert_int_equal(region->count[0], count);
	assert_int_equal(region->stride[0], stride);
	assert_int_equal(region->count[1], 1);
	assert_int_equal(region->count[2], 1);
}
