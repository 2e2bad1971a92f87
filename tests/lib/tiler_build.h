/* SPDX-License-Identifier: MIT */
/* Graphs that the tests of the tiler cut, and how they compare what is refused. */
#pragma once

#include "npuplan_build.h"

/* An image of one batch, with elements of one byte. */
static inline uint32_t image(struct npuplan_graph *graph, const char *name, uint32_t kind,
			     int64_t channels, int64_t rows, int64_t width)
{
	return build_spatial(graph, name, kind, 1, channels, rows, width);
}

/* 3x3 convolution of 8 rows and 64 channels, 3 places wide, to 64 channels. */
static inline struct npuplan_graph *conv(uint32_t *in, uint32_t *weights, uint32_t *out)
{
	struct npuplan_graph *graph = build_nchw();

	*in = image(graph, "in", NPUMEM_TENSOR_INPUT, 64, 8, 3);
	*weights = build_spatial(graph, "w", NPUMEM_TENSOR_PARAMETER, 64, 64, 3, 3);
	*out = image(graph, "out", NPUMEM_TENSOR_OUTPUT, 64, 8, 3);
	build_window(build_op(graph, "conv2d", *in, *weights, NPUMEM_NONE, *out), 3, 1, 1, 1);
	graph->ops[0].attrs.groups = 1;
	return graph;
}

/* One-byte elements, row-major. */
static inline uint32_t matrix(struct npuplan_graph *graph, const char *name, uint32_t kind,
			      uint32_t dim_count, const int64_t *shape)
{
	uint64_t size = 1;
	uint32_t index;

	for (uint32_t i = 0; i < dim_count; i++)
		size *= (uint64_t)shape[i];
	index = build_tensor(graph, name, kind, size);
	graph->tensors[index].dim_count = dim_count;
	graph->tensors[index].elem_size = 1;
	memcpy(graph->tensors[index].shape, shape, dim_count * sizeof(*shape));
	return index;
}

#define MATRIX(GRAPH, NAME, KIND, ...)                                     \
	matrix(GRAPH, NAME, NPUMEM_TENSOR_##KIND,                          \
	       sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t), \
	       (const int64_t[]){ __VA_ARGS__ })

/* The region that a step accesses of a tensor; its length is 0 if there is none. */
static inline struct npumem_region step_region(const struct npuplan_graph *graph, uint32_t step,
					       uint32_t tensor)
{
	const struct npuplan_step *s = &graph->steps[step];

	for (uint32_t i = s->first_access; i < s->first_access + s->access_count; i++)
		if (graph->tiles[graph->accesses[i].tile].tensor == tensor)
			return graph->tiles[graph->accesses[i].tile].region;
	return (struct npumem_region){ 0 };
}

/* Cutting the graph as @tiling says fails with @want and with exactly this sentence. */
static inline void refused(struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
			   int want, const char *why)
{
	enum npuplan_layout layout = graph->layout;
	uint64_t size = graph->tensors[0].size;
	struct npuplan_error error = { "" };

	assert_int_equal(npuplan_graph_tile(graph, tiling, &error), want);
	assert_string_equal(error.text, why);
	/* The graph is as it was. */
	assert_int_equal(graph->step_count + graph->tile_count + graph->access_count, 0);
	assert_int_equal(graph->layout, layout);
	assert_int_equal(graph->tensors[0].size, size);
	assert_null(graph->tiling.ops);
}
