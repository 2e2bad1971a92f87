// SPDX-License-Identifier: MIT
/* Operators that put elements elsewhere, or between two that are there. */
#include <math.h>
#include <string.h>

#include "kernel.h"

enum { OUT, IN };

/*
 * Copies into the output what it has of an input whose first element is the output tensor's
 * element @start; returns how many elements that is. Without @write it only counts.
 */
static uint64_t copy_box(const struct engine_tile *out, const struct engine_tile *in,
			 const int64_t *start, bool write)
{
	int64_t first[NPUMEM_COMMAND_DIMS], count[NPUMEM_COMMAND_DIMS];
	uint64_t total = 1;

	for (int d = 0; d < NPUMEM_COMMAND_DIMS; d++) {
		/* In the output tensor's coordinates. */
		int64_t from = in->origin[d] + start[d], end = from + in->dims[d];
		int64_t out_end = out->origin[d] + out->dims[d];

		first[d] = from > out->origin[d] ? from : out->origin[d];
		count[d] = (end < out_end ? end : out_end) - first[d];
		if (count[d] <= 0)
			return 0;
		total *= (uint64_t)count[d];
	}
	if (!write)
		return total;
	for (int64_t n = first[DIM_N]; n < first[DIM_N] + count[DIM_N]; n++)
		for (int64_t h = first[DIM_H]; h < first[DIM_H] + count[DIM_H]; h++)
			for (int64_t w = first[DIM_W]; w < first[DIM_W] + count[DIM_W]; w++) {
				uint64_t to = engine_index(out, n - out->origin[DIM_N],
							   h - out->origin[DIM_H],
							   w - out->origin[DIM_W],
							   first[DIM_C] - out->origin[DIM_C]);
				uint64_t at = engine_index(in, n - in->origin[DIM_N] - start[DIM_N],
							   h - in->origin[DIM_H] - start[DIM_H],
							   w - in->origin[DIM_W] - start[DIM_W],
							   first[DIM_C] - in->origin[DIM_C] -
								   start[DIM_C]);

				memcpy((char *)out->data + to * out->elem,
				       (const char *)in->data + at * in->elem,
				       (size_t)count[DIM_C] * out->elem);
			}
	return total;
}

/* ------------------------------------------------------------------------------------ pad */

static void pad_start(const struct engine_call *call, int64_t *start)
{
	for (int d = 0; d < NPUMEM_COMMAND_DIMS; d++)
		start[d] = call->attributes[NPUMEM_COMMAND_PAD_BEFORE + d];
}

static int check_pad(struct engine_call *call)
{
	const struct engine_tile *out = &call->tiles[OUT], *in = &call->tiles[IN];
	struct engine_tile all = *in;
	int64_t start[NPUMEM_COMMAND_DIMS];

	if (in->type != out->type)
		return engine_refuse(call, -EOPNOTSUPP, "padding of another type");
	pad_start(call, start);
	for (int d = 0; d < NPUMEM_COMMAND_DIMS; d++) {
		if (start[d] < 0 || start[d] + in->shape[d] > out->shape[d])
			return engine_refuse(call, -EINVAL, "the padding is not within the output");
		all.origin[d] = 0;
		all.dims[d] = in->shape[d];
	}
	/* All that the output's tile has of the whole input is in the input's tile. */
	if (copy_box(out, &all, start, false) != copy_box(out, in, start, false))
		return engine_refuse(call, -EINVAL, "the input's tile has not what is padded");
	return 0;
}

static void run_pad(const struct engine_call *call)
{
	const struct engine_tile *out = &call->tiles[OUT];
	int64_t start[NPUMEM_COMMAND_DIMS];

	pad_start(call, start);
	for (uint64_t i = 0; i < out->count; i++)
		memcpy((char *)out->data + i * out->elem,
		       &call->attributes[NPUMEM_COMMAND_PAD_VALUE], out->elem);
	copy_box(out, &call->tiles[IN], start, true);
}

const struct engine_kernel engine_pad = {
	.name = "pad",
	.min_tiles = 2,
	.max_tiles = 2,
	.attributes = NPUMEM_COMMAND_PAD_ATTRIBUTES,
	.check = check_pad,
	.run = run_pad,
};

/* -------------------------------------------------------------------------- concatenation */

/* The one dimension along which @count parts follow one another as the whole; -1: none. */
static int axis_of(const struct engine_tile *whole, const struct engine_tile *parts, uint32_t count)
{
	for (int axis = 0; axis < NPUMEM_COMMAND_DIMS; axis++) {
		int64_t sum = 0;
		bool same = true;

		for (uint32_t i = 0; i < count; i++) {
			sum += parts[i].shape[axis];
			for (int d = 0; d < NPUMEM_COMMAND_DIMS; d++)
				same = same && (d == axis || parts[i].shape[d] == whole->shape[d]);
		}
		if (same && sum == whole->shape[axis])
			return axis;
	}
	return -1;
}

static int concatenation_axis(const struct engine_call *call)
{
	return axis_of(&call->tiles[OUT], &call->tiles[IN], call->tile_count - 1);
}

/* Elements of the output that the inputs have; @write: and copies them. */
static uint64_t concatenate(const struct engine_call *call, int axis, bool write)
{
	int64_t start[NPUMEM_COMMAND_DIMS] = { 0 };
	uint64_t total = 0;

	for (uint32_t i = IN; i < call->tile_count; i++) {
		total += copy_box(&call->tiles[OUT], &call->tiles[i], start, write);
		start[axis] += call->tiles[i].shape[axis];
	}
	return total;
}

static int check_concatenation(struct engine_call *call)
{
	const struct engine_tile *t = call->tiles;
	int axis = concatenation_axis(call);

	for (uint32_t i = IN; i < call->tile_count; i++)
		if (t[i].type != t[OUT].type || t[i].zero_point != t[OUT].zero_point)
			return engine_refuse(call, -EOPNOTSUPP,
					     "no concatenation of other types or zero points");
	if (axis < 0)
		return engine_refuse(call, -EINVAL, "the inputs are not the output's parts");
	if (concatenate(call, axis, false) != t[OUT].count)
		return engine_refuse(call, -EINVAL, "an element of the output is in no input");
	return 0;
}

static void run_concatenation(const struct engine_call *call)
{
	concatenate(call, concatenation_axis(call), true);
}

const struct engine_kernel engine_concatenation = {
	.name = "concatenation",
	.min_tiles = 2,
	.max_tiles = NPUMEM_COMMAND_MAX_OPERANDS,
	.check = check_concatenation,
	.run = run_concatenation,
};

/* ---------------------------------------------------------------------------------- split */

/* Elements of all outputs that the input has; @write: and copies them. */
static uint64_t split(const struct engine_call *call, int axis, bool write)
{
	const struct engine_tile *in = &call->tiles[call->tile_count - 1];
	int64_t start[NPUMEM_COMMAND_DIMS] = { 0 };
	uint64_t total = 0;

	for (uint32_t i = 0; i + 1 < call->tile_count; i++) {
		total += copy_box(&call->tiles[i], in, start, write);
		start[axis] -= call->tiles[i].shape[axis];
	}
	return total;
}

static int split_axis(const struct engine_call *call)
{
	return axis_of(&call->tiles[call->tile_count - 1], call->tiles, call->tile_count - 1);
}

static int check_split(struct engine_call *call)
{
	const struct engine_tile *t = call->tiles, *in = &t[call->tile_count - 1];
	int axis = split_axis(call);
	uint64_t count = 0;

	for (uint32_t i = 0; i + 1 < call->tile_count; i++) {
		if (t[i].type != in->type || t[i].zero_point != in->zero_point)
			return engine_refuse(call, -EOPNOTSUPP,
					     "no split into other types or zero points");
		count += t[i].count;
	}
	if (axis < 0)
		return engine_refuse(call, -EINVAL, "the outputs are not the input's parts");
	if (split(call, axis, false) != count)
		return engine_refuse(call, -EINVAL,
				     "an element of an output is not in the input's tile");
	return 0;
}

static void run_split(const struct engine_call *call)
{
	split(call, split_axis(call), true);
}

const struct engine_kernel engine_split = {
	.name = "split",
	.min_tiles = 2,
	.max_tiles = NPUMEM_COMMAND_MAX_OPERANDS,
	.splits = true,
	.check = check_split,
	.run = run_split,
};

/* ---------------------------------------------------------------------------------- slice */

/* Where the input's first element lies from the output tensor's. */
static void slice_start(const struct engine_call *call, int64_t *start)
{
	for (int d = 0; d < NPUMEM_COMMAND_DIMS; d++)
		start[d] = -(int64_t)call->attributes[NPUMEM_COMMAND_SLICE_FIRST + d];
}

static int check_slice(struct engine_call *call)
{
	const struct engine_tile *out = &call->tiles[OUT], *in = &call->tiles[IN];
	int64_t start[NPUMEM_COMMAND_DIMS];

	if (in->type != out->type || in->zero_point != out->zero_point)
		return engine_refuse(call, -EOPNOTSUPP, "no slice of another type or zero point");
	slice_start(call, start);
	for (int d = 0; d < NPUMEM_COMMAND_DIMS; d++)
		if (start[d] > 0 || out->shape[d] - start[d] > in->shape[d])
			return engine_refuse(call, -EINVAL, "the slice is not within the input");
	if (copy_box(out, in, start, false) != out->count)
		return engine_refuse(call, -EINVAL,
				     "an element of the slice is not in the input's tile");
	return 0;
}

static void run_slice(const struct engine_call *call)
{
	int64_t start[NPUMEM_COMMAND_DIMS];

	slice_start(call, start);
	copy_box(&call->tiles[OUT], &call->tiles[IN], start, true);
}

const struct engine_kernel engine_slice = {
	.name = "slice",
	.min_tiles = 2,
	.max_tiles = 2,
	.attributes = NPUMEM_COMMAND_SLICE_ATTRIBUTES,
	.check = check_slice,
	.run = run_slice,
};

/* --------------------------------------------------------------------------------- resize */

/*
 * struct between - where an element of the output lies along one dimension of the input
 * @low, @high: neighbours in the input tensor
 * @part: of the way from @low to @high
 */
struct between {
	int64_t low;
	int64_t high;
	double part;
};

/* Places are reckoned in single precision: rounding there is part of the definition. */
static float scale_of(const struct engine_call *call, int d)
{
	int64_t in = call->tiles[IN].shape[d], out = call->tiles[OUT].shape[d];

	return call->attributes[NPUMEM_COMMAND_ALIGN_CORNERS] && out > 1 ?
		       (float)(in - 1) / (float)(out - 1) :
		       (float)in / (float)out;
}

static struct between linear(const struct engine_call *call, int d, int64_t out)
{
	bool half = call->attributes[NPUMEM_COMMAND_HALF_PIXEL];
	int64_t last = call->tiles[IN].shape[d] - 1;
	float scale = scale_of(call, d), place = (float)(out + call->tiles[OUT].origin[d]);
	struct between at;

	place = half ? (place + 0.5f) * scale - 0.5f : place * scale;
	at.low = place > 0 ? (int64_t)floorf(place) : 0;
	if (at.low > last)
		at.low = last;
	at.high = place > 0 ? (int64_t)ceilf(place) : 0;
	if (at.high > last)
		at.high = last;
	at.part = place - (float)at.low;
	return at;
}

static struct between nearest(const struct engine_call *call, int d, int64_t out)
{
	bool align = call->attributes[NPUMEM_COMMAND_ALIGN_CORNERS];
	bool half = call->attributes[NPUMEM_COMMAND_HALF_PIXEL];
	int64_t last = call->tiles[IN].shape[d] - 1, at;
	float place = (float)(out + call->tiles[OUT].origin[d]) + (half ? 0.5f : 0.0f);

	place *= scale_of(call, d);
	at = (int64_t)(align ? roundf(place) : floorf(place));
	at = at > last ? last : at < 0 ? 0 : at;
	return (struct between){ at, at, 0 };
}

static int check_resize(struct engine_call *call,
			struct between (*place)(const struct engine_call *call, int d, int64_t out))
{
	const struct engine_tile *out = &call->tiles[OUT], *in = &call->tiles[IN];

	if (in->type != out->type)
		return engine_refuse(call, -EOPNOTSUPP, "no resizing of these types");
	if (in->zero_point != out->zero_point)
		return engine_refuse(call, -EINVAL, "resizing does not rescale");
	for (int d = 0; d < NPUMEM_COMMAND_DIMS; d++) {
		bool same = d == DIM_N || d == DIM_C;
		int64_t first = out->origin[d], last = first + out->dims[d] - 1;

		if (same && in->shape[d] != out->shape[d])
			return engine_refuse(call, -EINVAL, "batches or channels are others");
		if (!same) {
			first = place(call, d, 0).low;
			last = place(call, d, out->dims[d] - 1).high;
		}
		if (first < in->origin[d] || last >= in->origin[d] + in->dims[d])
			return engine_refuse(call, -EINVAL,
					     "an element needed is not in the input's tile");
	}
	return 0;
}

static int check_bilinear(struct engine_call *call)
{
	if (!is_float(&call->tiles[OUT]))
		return engine_refuse(call, -EOPNOTSUPP, "no interpolation of that type");
	return check_resize(call, linear);
}

static int check_nearest(struct engine_call *call)
{
	return check_resize(call, nearest);
}

/* The input's channels that are the output's, at a place of the input tensor. */
static uint64_t pixel(const struct engine_call *call, int64_t n, int64_t h, int64_t w)
{
	const struct engine_tile *out = &call->tiles[OUT], *in = &call->tiles[IN];

	return engine_index(in, n + out->origin[DIM_N] - in->origin[DIM_N], h - in->origin[DIM_H],
			    w - in->origin[DIM_W], out->origin[DIM_C] - in->origin[DIM_C]);
}

static void interpolate(const struct engine_call *call, int64_t n, const struct between *h,
			const struct between *w, uint64_t to)
{
	const float *in = call->tiles[IN].data;
	const float *a = in + pixel(call, n, h->low, w->low);
	const float *b = in + pixel(call, n, h->low, w->high);
	const float *c = in + pixel(call, n, h->high, w->low);
	const float *d = in + pixel(call, n, h->high, w->high);
	float *out = (float *)call->tiles[OUT].data + to;

	for (int64_t i = 0; i < call->tiles[OUT].dims[DIM_C]; i++)
		out[i] = (float)((a[i] * (1 - w->part) + b[i] * w->part) * (1 - h->part) +
				 (c[i] * (1 - w->part) + d[i] * w->part) * h->part);
}

static void run_resize(const struct engine_call *call, bool bilinear)
{
	const struct engine_tile *out = &call->tiles[OUT], *in = &call->tiles[IN];

	for (int64_t n = 0; n < out->dims[DIM_N]; n++)
		for (int64_t h = 0; h < out->dims[DIM_H]; h++) {
			struct between row = bilinear ? linear(call, DIM_H, h) :
							nearest(call, DIM_H, h);

			for (int64_t w = 0; w < out->dims[DIM_W]; w++) {
				struct between column = bilinear ? linear(call, DIM_W, w) :
								   nearest(call, DIM_W, w);
				uint64_t to = engine_index(out, n, h, w, 0);

				if (bilinear)
					interpolate(call, n, &row, &column, to);
				else
					memcpy((char *)out->data + to * out->elem,
					       (const char *)in->data +
						       pixel(call, n, row.low, column.low) *
							       in->elem,
					       (size_t)out->dims[DIM_C] * out->elem);
			}
		}
}

static void run_bilinear(const struct engine_call *call)
{
	run_resize(call, true);
}

static void run_nearest(const struct engine_call *call)
{
	run_resize(call, false);
}

const struct engine_kernel engine_resize_bilinear = {
	.name = "resize_bilinear",
	.min_tiles = 2,
	.max_tiles = 2,
	.attributes = NPUMEM_COMMAND_RESIZE_ATTRIBUTES,
	.check = check_bilinear,
	.run = run_bilinear,
};

const struct engine_kernel engine_resize_nearest = {
	.name = "resize_nearest",
	.min_tiles = 2,
	.max_tiles = 2,
	.attributes = NPUMEM_COMMAND_RESIZE_ATTRIBUTES,
	.check = check_nearest,
	.run = run_nearest,
};
