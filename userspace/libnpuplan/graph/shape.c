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

/* The number of channels whose elements of one place (one row, one column) lie side by side. */
static int64_t interleaved(const struct npuplan_spatial *s)
{
	if (s->layout == NPUPLAN_NCHW)
		return 1;
	/* With one place alone, blocks of channels and all channels are the same bytes. */
	if (s->layout == NPUPLAN_NHWC || s->rows * s->row == 1)
		return s->channels;
	return NPUPLAN_CHANNEL_BLOCK;
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
	/*
	 * Within this limit no product of dimensions overflows a signed 64-bit stride, even if
	 * channels are padded to whole blocks.
	 */
	if (bytes > INT64_MAX / NPUPLAN_CHANNEL_BLOCK)
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
	return npuplan_spatial_bytes(spatial) == t->size;
}

bool npuplan_view(const struct npuplan_graph *graph, uint32_t tensor, struct npuplan_spatial *view)
{
	const struct npuplan_tensor *t = &graph->tensors[tensor];
	uint64_t bytes = t->elem_size;

	if (t->dim_count > 3)
		return npuplan_spatial(graph, tensor, view);
	if (!t->dim_count || !t->elem_size)
		return false;
	*view = (struct npuplan_spatial){
		.batch = 1,
		.rows = 1,
		.row = 1,
		.channels = t->shape[t->dim_count - 1],
		.elem = t->elem_size,
		.layout = NPUPLAN_NHWC,
	};
	for (uint32_t i = 0; i < t->dim_count; i++) {
		if (t->shape[i] < 1 || __builtin_mul_overflow(bytes, t->shape[i], &bytes))
			return false;
		if (i + 1 < t->dim_count)
			view->rows *= t->shape[i];
	}
	/* Counts of a region are 32-bit. */
	return bytes == t->size && bytes <= INT64_MAX && view->rows <= UINT32_MAX;
}

int64_t npuplan_granule(const struct npuplan_spatial *s)
{
	return s->layout == NPUPLAN_NC32HW32 && s->rows * s->row > 1 ? NPUPLAN_CHANNEL_BLOCK : 1;
}

/* Repeat a region @count times, @stride bytes apart, in its next free dimension. */
static void repeat(struct npumem_region *region, uint64_t count, uint64_t stride)
{
	uint32_t dim = 0;

	if (count <= 1)
		return;
	while (region->stride[dim])
		dim++;
	region->count[dim] = count;
	region->stride[dim] = stride;
}

/*
 * The region of a part that has some of the channels that lie side by side: they repeat from place
 * to place.
 */
static struct npumem_region side_by_side_region(const struct npuplan_spatial *s,
						const struct npuplan_part *part)
{
	struct npumem_region region = { .count = { 1, 1, 1 } };
	uint64_t place = s->channels * s->elem;
	uint64_t batches = s->batch, places = part->rows.count * s->row;

	/* With all rows, the places of all batches follow each other at one distance. */
	if (part->rows.count == s->rows) {
		places *= batches;
		batches = 1;
	}
	region.offset = part->rows.first * s->row * place + part->channels.first * s->elem;
	region.length = part->channels.count * s->elem;
	repeat(&region, places, place);
	repeat(&region, batches, s->rows * s->row * place);
	return region;
}

/* The region of a part that has some of the elements of each row: a run in each. */
static struct npumem_region columns_region(const struct npuplan_spatial *s,
					   const struct npuplan_part *part)
{
	struct npumem_region region = { .count = { 1, 1, 1 } };
	int64_t side_by_side = interleaved(s), blocks = channel_blocks(s);
	int64_t count = (part->channels.count + side_by_side - 1) / side_by_side;
	uint64_t place = side_by_side * s->elem, row = s->row * place, plane = s->rows * row;
	uint64_t batches = s->batch;

	region.offset = part->rows.first * row + part->columns.first * place;
	if (blocks == 1 && part->channels.count < s->channels) {
		region.offset += part->channels.first * s->elem;
		region.length = part->channels.count * s->elem;
		repeat(&region, part->columns.count, place);
	} else {
		region.offset += part->channels.first / side_by_side * plane;
		region.length = part->columns.count * place;
	}
	repeat(&region, part->rows.count, row);
	/* The blocks of all batches follow each other at one distance. */
	if (count == blocks) {
		count *= batches;
		batches = 1;
	}
	repeat(&region, count, plane);
	repeat(&region, batches, plane * blocks);
	return region;
}

struct npumem_region npuplan_part_region(const struct npuplan_spatial *s,
					 const struct npuplan_part *part)
{
	struct npumem_region region = { .count = { 1, 1, 1 } };
	int64_t side_by_side = interleaved(s), blocks = channel_blocks(s);
	int64_t first = part->channels.first / side_by_side;
	int64_t count = (part->channels.count + side_by_side - 1) / side_by_side;
	/* Bytes of one row of a block of channels, and of all its rows. */
	uint64_t row = s->row * side_by_side * s->elem, plane = s->rows * row;
	uint64_t batches = s->batch;

	if (part->columns.count && part->columns.count < s->row)
		return columns_region(s, part);
	if (blocks == 1 && part->channels.count < s->channels)
		return side_by_side_region(s, part);
	region.offset = first * plane + part->rows.first * row;
	region.length = part->rows.count * row;
	/*
	 * With all rows, the blocks of a batch are contiguous; with all blocks, the batches are,
	 * too.
	 */
	if (part->rows.count == s->rows) {
		region.length = count * plane;
		if (count == blocks) {
			region.length *= batches;
			batches = 1;
		}
		count = 1;
	}
	repeat(&region, count, plane);
	repeat(&region, batches, plane * blocks);
	return region;
}

bool npuplan_region_part(const struct npuplan_spatial *s, const struct npumem_region *region,
			 struct npuplan_part *part)
{
	int64_t side_by_side = interleaved(s), blocks = channel_blocks(s);
	uint64_t row = s->row * side_by_side * s->elem, plane = s->rows * row;
	uint64_t place = side_by_side * s->elem, left = region->offset % plane;
	uint64_t bytes = chunks_bytes(region), width;
	struct npumem_region again;

	*part = (struct npuplan_part){ { left / row, 0 }, { 0, s->channels }, { 0, 0 } };
	if (!bytes || bytes % s->batch)
		return false;
	bytes /= s->batch;
	if (blocks == 1 && region->length < place) {
		/* The region may be some channels of each place. */
		part->channels.first = region->offset % place / s->elem;
		part->channels.count = region->length / s->elem;
		width = s->row * region->length;
	} else {
		uint64_t count = bytes / (region->length < plane ? region->length : plane);

		part->channels.first = region->offset / plane * side_by_side;
		part->channels.count = count * side_by_side;
		width = count * row;
	}
	if (!width)
		return false;
	part->rows.count = bytes / width;
	if (part->channels.first + part->channels.count > s->channels)
		part->channels.count = s->channels - part->channels.first;
	if (part->rows.count < 1 || part->rows.first + part->rows.count > s->rows ||
	    part->channels.count < 1)
		return false;
	/* The part that was guessed is right if its region is the given one. */
	again = npuplan_part_region(s, part);
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
		if (graph->tensors[i].flags & NPUMEM_TENSOR_FLAG_ALIAS &&
		    layout == NPUPLAN_NC32HW32)
			return npuplan_fail(error, -EOPNOTSUPP,
					    "%s: a range of another tensor has no NC/32HWC32",
					    npuplan_tensor_label(graph, i, label));
	for (uint32_t i = 0; i < graph->tensor_count; i++) {
		/* A tensor whose size does not follow from its shape keeps its size. */
		if (graph->tensors[i].kind == NPUMEM_TENSOR_PARAMETER ||
		    !npuplan_spatial(graph, i, &spatial))
			continue;
		spatial.layout = layout;
		graph->tensors[i].size = npuplan_spatial_bytes(&spatial);
	}
	graph->layout = layout;
	return 0;
}
