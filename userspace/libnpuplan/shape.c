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

bool npuplan_spatial(const struct npuplan_graph *graph, uint32_t tensor,
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
	/* Below this no product of extents overflows a signed 64-bit stride. */
	if (bytes != t->size || bytes > INT64_MAX)
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

struct npumem_region npuplan_rows_region(const struct npuplan_spatial *s, struct npuplan_rows rows)
{
	struct npumem_region region = { .count = { 1, 1, 1 } };
	/* Contiguous rows, and how often they repeat. */
	uint64_t row = s->row * s->elem;
	uint32_t dim = 0;

	if (s->layout == NPUPLAN_NHWC)
		row *= s->channels;
	region.offset = rows.first * row;
	region.length = rows.count * row;
	/* All rows are one run, whatever repeats. */
	if (rows.count == s->rows) {
		region.length = s->batch * s->rows * s->row * s->channels * s->elem;
		return region;
	}
	if (s->layout == NPUPLAN_NCHW && s->channels > 1) {
		region.count[dim] = s->channels;
		region.stride[dim++] = s->rows * row;
	}
	if (s->batch > 1) {
		region.count[dim] = s->batch;
		region.stride[dim] = s->rows * row;
		if (s->layout == NPUPLAN_NCHW)
			region.stride[dim] *= s->channels;
	}
	return region;
}

bool npuplan_region_rows(const struct npuplan_spatial *s, const struct npumem_region *region,
			 struct npuplan_rows *rows)
{
	uint64_t row = s->row * s->elem;
	struct npumem_region again;

	if (s->layout == NPUPLAN_NHWC)
		row *= s->channels;
	rows->first = region->offset / row;
	rows->count = region->length / row;
	if (!region->offset &&
	    region->length == (uint64_t)s->batch * s->rows * s->row * s->channels * s->elem)
		rows->count = s->rows;
	again = npuplan_rows_region(s, *rows);
	return !memcmp(&again, region, sizeof(again));
}
