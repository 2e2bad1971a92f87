/* SPDX-License-Identifier: MIT */
/* Builds small graphs for the tests of libnpuplan, plans them, and compares refusals. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "npuplan.h"
#include "unit.h"

#define ASSERT_TEXT(error, part)                                                      \
	do {                                                                          \
		if (!strstr((error).text, (part)))                                    \
			fail_msg("\"%s\" does not say \"%s\"", (error).text, (part)); \
	} while (0)

static inline uint32_t build_tensor(struct npuplan_graph *graph, const char *name, uint32_t kind,
				    uint64_t size)
{
	struct npuplan_tensor tensor = {
		.name = (char *)(uintptr_t)name,
		.size = size,
		.align = 1,
		.kind = kind,
		.id = 100 + graph->tensor_count,
	};
	int64_t index = npuplan_graph_add_tensor(graph, &tensor);

	assert_true(index >= 0);
	return index;
}

/* Adds a tensor of four dimensions with elements of one byte, in the graph's source layout. */
static inline uint32_t build_spatial(struct npuplan_graph *graph, const char *name, uint32_t kind,
				     int64_t a, int64_t b, int64_t c, int64_t d)
{
	uint32_t index = build_tensor(graph, name, kind, a * b * c * d);
	struct npuplan_tensor *tensor = &graph->tensors[index];

	tensor->dim_count = 4;
	tensor->elem_size = 1;
	tensor->shape[0] = a;
	tensor->shape[1] = b;
	tensor->shape[2] = c;
	tensor->shape[3] = d;
	return index;
}

/* Adds an operator of up to three inputs (NPUMEM_NONE: no more) and one output. */
static inline struct npuplan_op *build_op(struct npuplan_graph *graph, const char *type,
					  uint32_t in0, uint32_t in1, uint32_t in2, uint32_t out)
{
	uint32_t inputs[3] = { in0, in1, in2 };
	struct npuplan_op op = {
		.name = (char *)(uintptr_t)type,
		.type = (char *)(uintptr_t)type,
		.inputs = inputs,
		.outputs = &out,
		.output_count = 1,
		.id = 1000 + graph->op_count,
		.attrs.axis = -1,
	};
	int64_t index;

	while (op.input_count < 3 && inputs[op.input_count] != NPUMEM_NONE)
		op.input_count++;
	index = npuplan_graph_add_op(graph, &op);
	assert_true(index >= 0);
	return &graph->ops[index];
}

/* Gives an operator the same window in both dimensions. */
static inline void build_window(struct npuplan_op *op, int32_t kernel, int32_t stride,
				int32_t dilation, int32_t pad)
{
	op->attrs.spatial = 2;
	for (int d = 0; d < 2; d++) {
		op->attrs.kernel[d] = kernel;
		op->attrs.stride[d] = stride;
		op->attrs.dilation[d] = dilation;
		op->attrs.pad_begin[d] = pad;
		op->attrs.pad_end[d] = pad;
	}
}

/* Adds a step that reads all of @in0 and @in1 (or NPUMEM_NONE) and writes all of @out. */
static inline void build_step(struct npuplan_graph *graph, uint32_t flags, uint32_t in0,
			      uint32_t in1, uint32_t out)
{
	uint32_t tensors[3] = { in0, in1, out };
	struct npuplan_step step = { .flags = flags, .op = NPUMEM_NONE };
	struct npumem_access accesses[3];
	uint32_t count = 0;

	for (int i = 0; i < 3; i++) {
		struct npumem_region region = { .count = { 1, 1, 1 } };

		if (tensors[i] == NPUMEM_NONE)
			continue;
		region.length = graph->tensors[tensors[i]].size;
		accesses[count++] = (struct npumem_access){
			.tile = npuplan_graph_add_tile(graph, tensors[i], &region),
			.mode = i == 2 ? NPUMEM_ACCESS_WRITE : NPUMEM_ACCESS_READ,
			.inplace = NPUMEM_NONE,
		};
	}
	assert_true(npuplan_graph_add_step(graph, &step, accesses, count) >= 0);
}

/*
 * Adds a step that reads all of @in (or NPUMEM_NONE) and updates @length bytes of a tensor from
 * @first on.
 */
static inline void build_update_part(struct npuplan_graph *graph, uint32_t flags, uint32_t in,
				     uint32_t tensor, uint64_t first, uint64_t length)
{
	const struct npuplan_step step = { .flags = flags, .op = NPUMEM_NONE };
	const struct npumem_region part = { .offset = first,
					    .length = length,
					    .count = { 1, 1, 1 } };
	struct npumem_access accesses[2] = {
		{ .tile = npuplan_graph_add_tile(graph, tensor, &part),
		  .mode = NPUMEM_ACCESS_UPDATE,
		  .inplace = NPUMEM_NONE },
		{ .mode = NPUMEM_ACCESS_READ, .inplace = NPUMEM_NONE },
	};

	if (in != NPUMEM_NONE) {
		const struct npumem_region all = { .length = graph->tensors[in].size,
						   .count = { 1, 1, 1 } };

		accesses[1].tile = npuplan_graph_add_tile(graph, in, &all);
	}
	assert_true(npuplan_graph_add_step(graph, &step, accesses, in != NPUMEM_NONE ? 2 : 1) >= 0);
}

/* Adds a step that updates all of a tensor. */
static inline void build_update(struct npuplan_graph *graph, uint32_t tensor)
{
	build_update_part(graph, 0, NPUMEM_NONE, tensor, 0, graph->tensors[tensor].size);
}

/* input (4) -> a (10) -> b (6) -> output (2): a chain of three steps. */
static inline struct npuplan_graph *build_chain(uint32_t flags)
{
	struct npuplan_graph *graph = npuplan_graph_new("chain");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 4);
	uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 10);
	uint32_t b = build_tensor(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, 6);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 2);

	build_step(graph, flags, in, NPUMEM_NONE, a);
	build_step(graph, flags, a, NPUMEM_NONE, b);
	build_step(graph, flags, b, NPUMEM_NONE, out);
	return graph;
}

/*
 * in (4) -> a (4), b (4); a -> c (6); b, c -> out (1): to make c, a and b stay, 14 bytes; each
 * operator needs 12 at most.
 */
static inline struct npuplan_graph *build_diamond(void)
{
	struct npuplan_graph *graph = npuplan_graph_new("diamond");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 4);
	uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 4);
	uint32_t b = build_tensor(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, 4);
	uint32_t c = build_tensor(graph, "c", NPUMEM_TENSOR_INTERMEDIATE, 6);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 1);

	build_op(graph, "make_a", in, NPUMEM_NONE, NPUMEM_NONE, a);
	build_op(graph, "make_b", in, a, NPUMEM_NONE, b);
	build_op(graph, "make_c", a, NPUMEM_NONE, NPUMEM_NONE, c);
	build_op(graph, "join", b, c, NPUMEM_NONE, out);
	return graph;
}

/* in (1) -> a (3) -> b (3) -> c (3); a, c -> out (1): what alignment costs, since a has to wait. */
static inline struct npuplan_graph *build_aligned(void)
{
	struct npuplan_graph *graph = npuplan_graph_new("aligned");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 1);
	uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 3);
	uint32_t b = build_tensor(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, 3);
	uint32_t c = build_tensor(graph, "c", NPUMEM_TENSOR_INTERMEDIATE, 3);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 1);

	build_op(graph, "a", in, NPUMEM_NONE, NPUMEM_NONE, a);
	build_op(graph, "b", a, NPUMEM_NONE, NPUMEM_NONE, b);
	build_op(graph, "c", b, NPUMEM_NONE, NPUMEM_NONE, c);
	build_op(graph, "out", a, c, NPUMEM_NONE, out);
	return graph;
}

/* An empty graph whose shapes are batch, channels, rows, width. */
static inline struct npuplan_graph *build_nchw(void)
{
	struct npuplan_graph *graph = npuplan_graph_new("g");

	graph->source_layout = NPUPLAN_NCHW;
	return graph;
}

/* A plan of the graph, which must be there; the caller frees it. */
static inline struct npuplan_plan *build_plan_of(const struct npuplan_graph *graph,
						 const struct npuplan_options *options)
{
	struct npuplan_error error = { "" };
	struct npuplan_plan *plan = NULL;

	if (npuplan_plan(graph, options, &plan, &error))
		fail_msg("%s, %s, budget %llu: %s", graph->name,
			 options && options->planner ? options->planner : "default",
			 options ? (unsigned long long)options->arena_budget : 0, error.text);
	return plan;
}

/* Why there is no plan of the graph; @want is the errno. */
static inline struct npuplan_error planning_error(const struct npuplan_graph *graph,
						  const struct npuplan_options *options, int want)
{
	struct npuplan_error error = { "" };
	struct npuplan_plan *plan = NULL;

	assert_int_equal(npuplan_plan(graph, options, &plan, &error), want);
	assert_null(plan);
	return error;
}

/* There is no plan of the graph, for exactly the reason @text. */
static inline void refuse_planning(const struct npuplan_graph *graph,
				   const struct npuplan_options *options, int want,
				   const char *text)
{
	struct npuplan_error error = planning_error(graph, options, want);

	assert_string_equal(error.text, text);
}
