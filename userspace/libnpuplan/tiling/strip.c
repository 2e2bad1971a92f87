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

enum npuplan_join npuplan_concat_strips(const struct npuplan_graph *graph, uint32_t op_index,
					struct npuplan_strip *strips)
{
	const struct npuplan_op *op = &graph->ops[op_index];
	uint32_t output = op->outputs[0], axis = (uint32_t)op->attrs.axis;
	const struct npuplan_tensor *out = &graph->tensors[output];
	uint64_t outer = 1, at = 0, sum = 0;
	struct order order, other;
	bool is_channels;

	if (op->attrs.axis < 0 || axis >= out->dim_count || !find_order(graph, output, &order))
		return NPUPLAN_JOIN_SHAPE;
	is_channels = out->dim_count >= 4 && out->dim_count <= 5 &&
		      axis == npuplan_channel_axis(graph, out->dim_count);
	for (uint32_t d = 0; d < order.count && order.axis[d] != axis; d++)
		outer *= order.extent[d];
	for (uint32_t i = 0; i < op->input_count; i++) {
		const struct npuplan_tensor *in = &graph->tensors[op->inputs[i]];

		if (in->dim_count != out->dim_count || in->elem_size != out->elem_size ||
		    !find_order(graph, op->inputs[i], &other))
			return NPUPLAN_JOIN_SHAPE;
		for (uint32_t d = 0; d < in->dim_count; d++)
			if (d != axis && in->shape[d] != out->shape[d])
				return NPUPLAN_JOIN_SHAPE;
		/* With one place alone there are no blocks, which the output may have. */
		if (granule(graph, op->inputs[i]) != granule(graph, output) ||
		    (is_channels && sum % granule(graph, output)))
			return NPUPLAN_JOIN_BLOCKS;
		sum += in->shape[axis];
		strips[i] = (struct npuplan_strip){
			.base = output,
			.first = at,
			.run = in->size / outer,
			.stride = outer > 1 ? out->size / outer : in->size,
		};
		at += in->size / outer;
	}
	return sum == (uint64_t)out->shape[axis] && at * outer == out->size ? NPUPLAN_JOINED :
									      NPUPLAN_JOIN_SHAPE;
}
