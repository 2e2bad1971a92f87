// SPDX-License-Identifier: MIT
#include "strip.h"

#include <string.h>

/* Where in the base byte @byte of the tensor lies. */
static uint64_t byte_at(const struct npuplan_strip *strip, uint64_t byte)
{
	return strip->first + byte / strip->run * strip->stride + byte % strip->run;
}

/* A region that begins and ends within runs: each of its chunks is in one. */
static bool within_runs(const struct npuplan_strip *strip, uint64_t reach,
			struct npumem_region *out)
{
	for (int d = 0; d < 3; d++) {
		if (out->count[d] <= 1)
			continue;
		if (out->stride[d] % strip->run == 0)
			out->stride[d] = out->stride[d] / strip->run * strip->stride;
		else
			reach += (out->count[d] - 1) * out->stride[d];
	}
	return reach <= strip->run;
}

/* A region whose chunks are several runs each: what is one chunk becomes a dimension. */
static bool across_runs(const struct npuplan_strip *strip, const struct npumem_region *region,
			struct npumem_region *out)
{
	uint64_t runs = region->length / strip->run;
	int last = 1;

	if (region->length % strip->run || runs > UINT32_MAX || region->count[2] > 1)
		return false;
	out->length = strip->run;
	memset(out->count, 0, sizeof(out->count));
	memset(out->stride, 0, sizeof(out->stride));
	out->count[0] = (uint32_t)runs;
	out->stride[0] = strip->stride;
	for (int d = 0; d < 2; d++) {
		if (region->count[d] <= 1)
			continue;
		if (region->stride[d] % strip->run)
			return false;
		out->count[last] = region->count[d];
		out->stride[last++] = region->stride[d] / strip->run * strip->stride;
	}
	for (; last < 3; last++)
		out->count[last] = 1;
	return true;
}

bool npuplan_strip_region(const struct npuplan_strip *strip, uint64_t size, uint64_t shift,
			  const struct npumem_region *region, struct npumem_region *out)
{
	uint64_t start = region->offset + shift;

	*out = *region;
	out->offset = byte_at(strip, start);
	if (strip->run >= size)
		return true;
	if (start % strip->run + region->length <= strip->run)
		return within_runs(strip, start % strip->run + region->length, out);
	return start % strip->run == 0 && across_runs(strip, region, out);
}

bool npuplan_strip_in(const struct npuplan_strip *inner, uint64_t size,
		      const struct npuplan_strip *outer, uint64_t outer_size,
		      struct npuplan_strip *out)
{
	uint64_t runs = size / inner->run;

	*out = (struct npuplan_strip){
		.base = outer->base,
		.first = byte_at(outer, inner->first),
		.run = inner->run,
		.stride = inner->stride,
	};
	if (outer->run >= outer_size)
		return true;
	/* A run in each of the other's runs. */
	if (runs == outer_size / outer->run && inner->stride == outer->run) {
		out->stride = outer->stride;
		return true;
	}
	if (runs > 1)
		return false;
	/* One run that is part of another one, or that some are. */
	if (inner->first % outer->run + size <= outer->run)
		return true;
	out->run = outer->run;
	out->stride = outer->stride;
	return inner->first % outer->run == 0 && size % outer->run == 0;
}

/*
 * struct order - the elements of a tensor, outermost dimension first
 * @axis: axis of the shape that a dimension is
 * @extent: how many there are; of NC/32HWC32 blocks of channels
 */
struct order {
	uint32_t axis[NPUPLAN_MAX_DIMS];
	uint64_t extent[NPUPLAN_MAX_DIMS];
	uint32_t count;
};

static void append(struct order *order, uint32_t axis, uint64_t extent)
{
	order->axis[order->count] = axis;
	order->extent[order->count++] = extent;
}

/* In which order the bytes of a tensor lie; false: its shape does not say. */
static bool find_order(const struct npuplan_graph *graph, uint32_t tensor, struct order *order)
{
	const struct npuplan_tensor *t = &graph->tensors[tensor];
	uint32_t channels = npuplan_channel_axis(graph, t->dim_count);
	uint64_t bytes = t->elem_size;
	struct npuplan_spatial spatial;
	bool inside = false;

	order->count = 0;
	for (uint32_t d = 0; d < t->dim_count; d++)
		if (t->shape[d] < 1 || __builtin_mul_overflow(bytes, (uint64_t)t->shape[d], &bytes))
			return false;
	if (t->dim_count != 4 && t->dim_count != 5) {
		for (uint32_t d = 0; d < t->dim_count; d++)
			append(order, d, t->shape[d]);
		return bytes && bytes == t->size;
	}
	if (!npuplan_spatial(graph, tensor, &spatial))
		return false;
	inside = graph->layout == NPUPLAN_NHWC || spatial.rows * spatial.row == 1;
	append(order, 0, t->shape[0]);
	if (!inside)
		append(order, channels,
		       (t->shape[channels] + npuplan_granule(&spatial) - 1) /
			       npuplan_granule(&spatial));
	for (uint32_t d = 1; d < t->dim_count; d++)
		if (d != channels)
			append(order, d, t->shape[d]);
	if (inside)
		append(order, channels, t->shape[channels]);
	return true;
}

/* Channels that may not be cut within. */
static int64_t granule(const struct npuplan_graph *graph, uint32_t tensor)
{
	struct npuplan_spatial spatial;

	return npuplan_spatial(graph, tensor, &spatial) ? npuplan_granule(&spatial) : 1;
}

/*
 * The axis along which parts stand side by side: as the operator says; or that along which the
 * first part of a split is smaller than the whole. -1: it is not known.
 */
static int32_t axis_of(const struct npuplan_graph *graph, const struct npuplan_op *op,
		       const struct npuplan_parts *parts)
{
	const struct npuplan_tensor *whole = &graph->tensors[parts->whole];
	const struct npuplan_tensor *first = &graph->tensors[parts->parts[0]];
	int32_t axis = op->attrs.axis;

	if (npuplan_is_slice(op) && npuplan_slice_first(&op->attrs) < 0)
		return -1;
	for (uint32_t d = 0; npuplan_is_split(op) && axis < 0 && d < whole->dim_count; d++)
		if (d < first->dim_count && first->shape[d] < whole->shape[d])
			axis = (int32_t)d;
	return axis < (int32_t)whole->dim_count ? axis : -1;
}

/*
 * struct cut - a tensor cut along an axis
 * @outer: how often the axis comes round
 * @granules: along the axis, in each of these: elements, or blocks of channels
 * @granule: elements of each
 */
struct cut {
	uint32_t axis;
	struct order order;
	uint64_t outer;
	uint64_t granules;
	uint64_t granule;
};

static bool find_cut(const struct npuplan_graph *graph, uint32_t tensor, uint32_t axis,
		     struct cut *cut)
{
	const struct npuplan_tensor *t = &graph->tensors[tensor];
	uint32_t d;

	*cut = (struct cut){ .axis = axis, .outer = 1, .granule = 1 };
	if (!find_order(graph, tensor, &cut->order))
		return false;
	for (d = 0; d < cut->order.count && cut->order.axis[d] != axis; d++)
		cut->outer *= cut->order.extent[d];
	if (d == cut->order.count || !cut->order.extent[d])
		return false;
	cut->granules = cut->order.extent[d];
	if (t->dim_count >= 4 && t->dim_count <= 5 &&
	    axis == npuplan_channel_axis(graph, t->dim_count))
		cut->granule = (uint64_t)granule(graph, tensor);
	return true;
}

/* Whether a part has the whole's shape but along the axis, and its elements lie in order. */
static bool is_part(const struct npuplan_graph *graph, const struct npuplan_tensor *whole,
		    uint32_t tensor, uint32_t axis)
{
	const struct npuplan_tensor *part = &graph->tensors[tensor];
	struct order order;

	if (part->dim_count != whole->dim_count || part->elem_size != whole->elem_size ||
	    !find_order(graph, tensor, &order))
		return false;
	for (uint32_t d = 0; d < part->dim_count; d++)
		if (d != axis && part->shape[d] != whole->shape[d])
			return false;
	return true;
}

enum npuplan_join npuplan_part_strips(const struct npuplan_graph *graph, uint32_t op_index,
				      const struct npuplan_parts *parts,
				      struct npuplan_strip *strips)
{
	const struct npuplan_op *op = &graph->ops[op_index];
	const struct npuplan_tensor *whole = &graph->tensors[parts->whole];
	bool slice = npuplan_is_slice(op);
	uint64_t at = slice ? (uint64_t)npuplan_slice_first(&op->attrs) : 0, each, first;
	int32_t axis = parts->count ? axis_of(graph, op, parts) : -1;
	struct cut cut;

	if (axis < 0 || !find_cut(graph, parts->whole, (uint32_t)axis, &cut))
		return NPUPLAN_JOIN_SHAPE;
	each = whole->size / cut.outer / cut.granules;
	for (uint32_t i = 0; i < parts->count; i++) {
		const struct npuplan_tensor *part = &graph->tensors[parts->parts[i]];

		if (!is_part(graph, whole, parts->parts[i], (uint32_t)axis))
			return NPUPLAN_JOIN_SHAPE;
		/* With one place alone there are no blocks, which the whole may have. */
		if (granule(graph, parts->parts[i]) != granule(graph, parts->whole) ||
		    at % cut.granule)
			return NPUPLAN_JOIN_BLOCKS;
		first = at / cut.granule * each;
		at += (uint64_t)part->shape[axis];
		if (at > (uint64_t)whole->shape[axis])
			return NPUPLAN_JOIN_SHAPE;
		/* What fills up its last block would be the whole's next channels. */
		if (slice && at % cut.granule && at < (uint64_t)whole->shape[axis])
			return NPUPLAN_JOIN_BLOCKS;
		strips[i] = (struct npuplan_strip){
			.base = parts->whole,
			.first = first,
			.run = part->size / cut.outer,
			.stride = cut.outer > 1 ? whole->size / cut.outer : part->size,
		};
	}
	return slice || at == (uint64_t)whole->shape[axis] ? NPUPLAN_JOINED : NPUPLAN_JOIN_SHAPE;
}
