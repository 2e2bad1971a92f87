// SPDX-License-Identifier: MIT
#include "shape.h"

#include <string.h>

uint32_t npuplan_row_axis(const struct npuplan_graph *graph)
{
	return graph->source_layout == NPUPLAN_NHWC ? 1 : 2;
}

uint32_t npuplan_channel_axis(const struct npuplan_graph *graph, uint32_t dim_count)
{
	return graph->source_layout == NPUPLAN_NHWC ? dim_count - 1 : 1;
}

/* Channels whose elements of one place lie side by side; blocks of them follow each other. */
static int64_t interleaved(const struct npuplan_spatial *s)
{
	if (s->layout == NPUPLAN_NCHW)
		return 1;
	/* One place alone: nothing to block. */
	if (s->layout == NPUPLAN_NHWC || s->rows * s->row == 1)
		return s->channels;
	return NPUPLAN_BLOCK;
}

static int64_t channel_blocks(const struct npuplan_spatial *s)
{
	int64_t side_by_side = interleaved(s);

	return (s->channels + side_by_side - 1) / side_by_side;
}

uint64_t npuplan_spatial_bytes(const struct npuplan_spatial *s)
{
	return s->batch * channel_blocks(s) * s->rows * s->row * interleaved(s) * s->elem;
}

/* The same, whatever the size of the tensor. */
static bool spatial_shape(const struct npuplan_graph *graph, uint32_t tensor,
			  struct npuplan_spatial *spatial)
{
	const struct npuplan_tensor *t = &graph->tensors[tensor];
	uint32_t row_axis = npuplan_row_axis(graph);
	uint64_t bytes = t->elem_size;

	if ((t->dim_count != 4 && t->dim_count != 5) || !t->elem_size)
		return false;
	for (uint32_t i = 0; i < t->dim_count; i++)
		if (t->shape[i] < 1 || __builtin_mul_overflow(bytes, t->shape[i], &bytes))
			return false;
	/* Below this no product of extents overflows a signed 64-bit stride, padded or not. */
	if (bytes > INT64_MAX / NPUPLAN_BLOCK)
		return false;
	/* Counts of a region are 32-bit. */
	for (uint32_t i = 0; i < t->dim_count; i++)
		if (t->shape[i] > UINT32_MAX)
			return false;
	*spatial = (struct npuplan_spatial){
		.batch = t->shape[0],
		.rows = t->shape[row_axis],
		.row = t->shape[row_axis + 1],
		.channels = t->shape[npuplan_channel_axis(graph, t->dim_count)],
		.elem = t->elem_size,
		.layout = graph->layout,
	};
	if (t->dim_count == 5)
		spatial->row *= t->shape[row_axis + 2];
	return true;
}

bool npuplan_spatial(const struct npuplan_graph *graph, uint32_t tensor,
		     struct npuplan_spatial *spatial)
{
	return spatial_shape(graph, tensor, spatial) &&
	       npuplan_spatial_bytes(spatial) == graph->tensors[tensor].size;
}

struct npumem_region npuplan_rows_region(const struct npuplan_spatial *s, struct npuplan_rows rows)
{
	struct npumem_region region = { .count = { 1, 1, 1 } };
	/* A row of a block of channels, and how often such rows repeat. */
	uint64_t row = s->row * interleaved(s) * s->elem;
	int64_t blocks = channel_blocks(s);
	uint32_t dim = 0;

	region.offset = rows.first * row;
	region.length = rows.count * row;
	/* All rows are one run, whatever repeats. */
	if (rows.count == s->rows) {
		region.length = npuplan_spatial_bytes(s);
		return region;
	}
	if (blocks > 1) {
		region.count[dim] = blocks;
		region.stride[dim++] = s->rows * row;
	}
	if (s->batch > 1) {
		region.count[dim] = s->batch;
		region.stride[dim] = s->rows * row * blocks;
	}
	return region;
}

bool npuplan_region_rows(const struct npuplan_spatial *s, const struct npumem_region *region,
			 struct npuplan_rows *rows)
{
	uint64_t row = s->row * interleaved(s) * s->elem;
	struct npumem_region again;

	rows->first = region->offset / row;
	rows->count = region->length / row;
	if (!region->offset && region->length == npuplan_spatial_bytes(s))
		rows->count = s->rows;
	again = npuplan_rows_region(s, *rows);
	return !memcmp(&again, region, sizeof(again));
}

int npuplan_graph_set_layout(struct npuplan_graph *graph, enum npuplan_layout layout,
			     struct npuplan_error *error)
{
	struct npuplan_spatial spatial;
	char label[96];

	if (graph->step_count || graph->tile_count)
		return npuplan_fail(error, -EINVAL, "graph %s is tiled already", graph->name);
	if (layout != NPUPLAN_NHWC && layout != NPUPLAN_NCHW && layout != NPUPLAN_NC32HW32)
		return npuplan_fail(error, -EINVAL, "there is no layout %d", (int)layout);
	for (uint32_t i = 0; i < graph->tensor_count; i++)
		if (graph->tensors[i].flags & NPUMEM_TENSOR_ALIAS && layout == NPUPLAN_NC32HW32)
			return npuplan_fail(error, -EOPNOTSUPP,
					    "%s: a range of another tensor has no NC/32HWC32",
					    npuplan_tensor_label(graph, i, label));
	for (uint32_t i = 0; i < graph->tensor_count; i++) {
		/* What its shape does not account for stays as it is. */
		if (graph->tensors[i].kind == NPUMEM_TENSOR_PARAMETER ||
		    !npuplan_spatial(graph, i, &spatial))
			continue;
		spatial.layout = layout;
		graph->tensors[i].size = npuplan_spatial_bytes(&spatial);
	}
	graph->layout = layout;
	return 0;
}
