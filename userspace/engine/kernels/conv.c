// SPDX-License-Identifier: MIT
/*
 * Convolution, with groups; a fully connected layer is one of 1 x 1.
 *
 * Operands: output, input, weights (out, h, w, in / groups), bias (1, 1, 1, out; may be
 * missing). Scales, of integers: one, or one for each channel of the output's tile.
 *
 * There are two ways with the same results: by blocks of places and channels (block.h), for which
 * weights are laid out anew, and place by place, where that would not pay.
 */
#include <string.h>

#include "../fixed.h"
#include "block.h"
#include "kernel.h"

enum { OUT, IN, WEIGHTS, BIAS };

/* Channels of input and output of each group, and of the output how many the weights skip. */
struct groups {
	int64_t in;
	int64_t out;
	int64_t skipped;
};

static struct groups groups_of(const struct engine_call *call)
{
	const struct engine_tile *t = call->tiles;
	int64_t in = t[WEIGHTS].shape[DIM_C];

	return (struct groups){
		.in = in,
		.out = t[WEIGHTS].shape[DIM_N] / (t[IN].shape[DIM_C] / in),
		.skipped = t[OUT].origin[DIM_C] - t[WEIGHTS].origin[DIM_N],
	};
}

static int check_types(struct engine_call *call)
{
	const struct engine_tile *t = call->tiles;
	bool integer = is_byte(&t[OUT]);

	if (!integer && !is_float(&t[OUT]))
		return engine_refuse(call, -EOPNOTSUPP, "no such convolution of that type");
	if (t[IN].type != t[OUT].type || t[WEIGHTS].type != t[OUT].type ||
	    (call->tile_count > BIAS &&
	     t[BIAS].type != (integer ? NPUMEM_COMMAND_INT32 : NPUMEM_COMMAND_FLOAT32)))
		return engine_refuse(call, -EOPNOTSUPP, "no such convolution of these types");
	if (call->tile_count > BIAS && t[BIAS].zero_point)
		return engine_refuse(call, -EINVAL, "the bias has a zero point");
	if ((call->scale_count != 0) != integer ||
	    (call->scale_count > 1 && call->scale_count != t[OUT].dims[DIM_C]))
		return engine_refuse(call, -EINVAL, "there is no scale for each channel");
	return 0;
}

/* Parameters have a place for each channel of the output's tile. */
static bool has_channels(const struct engine_tile *out, const struct engine_tile *parameter, int d)
{
	return parameter->shape[d] == out->shape[DIM_C] &&
	       parameter->origin[d] <= out->origin[DIM_C] &&
	       parameter->origin[d] + parameter->dims[d] >= out->origin[DIM_C] + out->dims[DIM_C];
}

static int check_parameters(struct engine_call *call, int axis)
{
	const struct engine_tile *t = call->tiles;

	if (!has_channels(&t[OUT], &t[WEIGHTS], axis) ||
	    (call->tile_count > BIAS && (!has_channels(&t[OUT], &t[BIAS], DIM_C) ||
					 t[BIAS].count != (uint64_t)t[BIAS].dims[DIM_C])))
		return engine_refuse(call, -EINVAL, "weights or bias are of other channels");
	for (int d = 0; d < NPUMEM_COMMAND_DIMS; d++)
		if (d != axis && t[WEIGHTS].dims[d] != t[WEIGHTS].shape[d])
			return engine_refuse(call, -EINVAL, "there are not all of the weights");
	return 0;
}

static int check(struct engine_call *call)
{
	const struct engine_tile *t = call->tiles;
	struct engine_window window;
	struct groups groups;
	int err = check_types(call);

	if (!err)
		err = engine_window(call, &window);
	if (!err)
		err = check_parameters(call, DIM_N);
	if (!err)
		err = engine_check_clamp(call, &call->attributes[NPUMEM_COMMAND_WINDOW_MIN]);
	if (err)
		return err;
	if (t[WEIGHTS].dims[DIM_H] != window.kernel[0] ||
	    t[WEIGHTS].dims[DIM_W] != window.kernel[1])
		return engine_refuse(call, -EINVAL, "the weights are of another window");
	if (t[IN].shape[DIM_C] % t[WEIGHTS].shape[DIM_C] ||
	    t[WEIGHTS].shape[DIM_N] % (t[IN].shape[DIM_C] / t[WEIGHTS].shape[DIM_C]))
		return engine_refuse(call, -EINVAL, "the channels are no groups");
	groups = groups_of(call);
	/* Input channels of the groups that the output's channels are of. */
	if (t[IN].count &&
	    (t[OUT].origin[DIM_C] / groups.out * groups.in < t[IN].origin[DIM_C] ||
	     ((t[OUT].origin[DIM_C] + t[OUT].dims[DIM_C] - 1) / groups.out + 1) * groups.in >
		     t[IN].origin[DIM_C] + t[IN].dims[DIM_C]))
		return engine_refuse(call, -EINVAL,
				     "a group's channels are not in the input's tile");
	return 0;
}

/* Sums of channels [first, end) of the output's tile become elements of it; @out: of channel 0. */
ENGINE_CLONES
static void store_integers(const struct engine_call *call, const int32_t *restrict sums,
			   int64_t first, int64_t end, uint8_t *restrict out)
{
	const struct npumem_command_scale *scales = call->scales;
	int32_t zero = call->tiles[OUT].zero_point;
	int32_t min = call->attributes[NPUMEM_COMMAND_WINDOW_MIN];
	int32_t max = call->attributes[NPUMEM_COMMAND_WINDOW_MAX];
	int32_t multiplier = scales->multiplier, shift = scales->shift;

	if (call->scale_count > 1)
		for (int64_t c = first; c < end; c++)
			out[c] = (uint8_t)engine_clamp(fixed_rescale(sums[c - first],
								     scales[c].multiplier,
								     scales[c].shift) +
							       zero,
						       min, max);
	else
		for (int64_t c = first; c < end; c++)
			out[c] = (uint8_t)engine_clamp(
				fixed_rescale(sums[c - first], multiplier, shift) + zero, min, max);
}

/* The same of floats. */
static void store_floats(const struct engine_call *call, const double *restrict sums, int64_t first,
			 int64_t end, float *restrict out)
{
	float min = engine_float(call->attributes[NPUMEM_COMMAND_WINDOW_MIN]);
	float max = engine_float(call->attributes[NPUMEM_COMMAND_WINDOW_MAX]);

	for (int64_t c = first; c < end; c++)
		out[c] = engine_clamp_float((float)sums[c - first], min, max);
}

/* Elements of the input that make one of the output. */
static int64_t patch_size(const struct engine_call *call)
{
	const struct engine_tile *w = &call->tiles[WEIGHTS];

	return w->dims[DIM_H] * w->dims[DIM_W] * w->dims[DIM_C];
}

/*
 * Fewest places of the output for which weights are laid out for blocks, and most bytes of them
 * with their sums: an engine's memory is limited, and so what blocks take is below 16 MiB.
 */
#define MIN_PLACES 4
#define MAX_BLOCKS (8ll << 20)

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Bytes of an element as blocks have it. */
static int64_t block_bytes(const struct engine_call *call)
{
	return is_float(&call->tiles[OUT]) ? sizeof(double) : sizeof(int32_t);
}

static int64_t block_count(const struct engine_call *call, int64_t channels)
{
	int64_t each = BLOCK_CHANNELS(block_bytes(call));

	return (channels + each - 1) / each;
}

/* Blocks of a group's channels at most; 0: it goes place by place. */
static int64_t max_blocks(const struct engine_call *call)
{
	const struct engine_tile *out = &call->tiles[OUT];
	int64_t channels = smaller(groups_of(call).out, out->dims[DIM_C]);
	int64_t blocks = block_count(call, channels);

	return out->dims[DIM_N] * out->dims[DIM_H] * out->dims[DIM_W] < MIN_PLACES ||
			       channels * 2 < BLOCK_CHANNELS(block_bytes(call)) ||
			       patch_size(call) + 1 + BLOCK_PLACES >
				       MAX_BLOCKS / BLOCK_UNIT / blocks ?
		       0 :
		       blocks;
}

static uint64_t scratch(const struct engine_call *call)
{
	uint64_t size = (uint64_t)patch_size(call), out = (uint64_t)call->tiles[OUT].dims[DIM_C];
	uint64_t blocks = (uint64_t)max_blocks(call), bytes = (uint64_t)block_bytes(call);

	/* Weights, what sums begin with, sums, patches; of integers one more, as it is made. */
	if (blocks)
		return (size + 1 + BLOCK_PLACES) * blocks * BLOCK_UNIT +
		       (BLOCK_PLACES + 1) * size * bytes;
	/* A patch and its sums; of floats the weights, too. */
	if (!is_float(&call->tiles[OUT]))
		return (size + out) * bytes;
	return (size + out + size * out) * bytes;
}

/* struct place - of one element of the output but its channel, and the patch of its group */
struct place {
	int64_t n;
	struct engine_taps rows;
	struct engine_taps columns;
	int64_t channel;
};

static void patch_of_integers(const struct engine_call *call, const struct engine_window *window,
			      const struct place *at, int16_t *patch)
{
	const struct engine_tile *in = &call->tiles[IN], *w = &call->tiles[WEIGHTS];
	int64_t channels = w->dims[DIM_C], row = w->dims[DIM_W] * channels;

	for (int64_t y = 0; y < w->dims[DIM_H]; y++, patch += row) {
		if (y < at->rows.first || y >= at->rows.end || at->columns.first > 0 ||
		    at->columns.end < w->dims[DIM_W])
			memset(patch, 0, (size_t)row * sizeof(*patch));
		if (y < at->rows.first || y >= at->rows.end)
			continue;
		for (int64_t x = at->columns.first; x < at->columns.end; x++)
			engine_centered(
				in,
				engine_index(in, at->n, at->rows.at + y * window->dilation[0],
					     at->columns.at + x * window->dilation[1], at->channel),
				channels, patch + x * channels);
	}
}

static void patch_of_floats(const struct engine_call *call, const struct engine_window *window,
			    const struct place *at, double *patch)
{
	const struct engine_tile *in = &call->tiles[IN], *w = &call->tiles[WEIGHTS];
	int64_t channels = w->dims[DIM_C], row = w->dims[DIM_W] * channels;

	for (int64_t y = 0; y < w->dims[DIM_H]; y++, patch += row) {
		for (int64_t i = 0; i < row; i++)
			patch[i] = 0;
		if (y < at->rows.first || y >= at->rows.end)
			continue;
		for (int64_t x = at->columns.first; x < at->columns.end; x++) {
			const float *from =
				(const float *)in->data +
				engine_index(in, at->n, at->rows.at + y * window->dilation[0],
					     at->columns.at + x * window->dilation[1], at->channel);

			for (int64_t c = 0; c < channels; c++)
				patch[x * channels + c] = from[c];
		}
	}
}

static inline int32_t dot(const int16_t *a, const uint8_t *w, bool is_signed, int64_t count)
{
	int32_t sum = 0;

	if (is_signed)
		for (int64_t i = 0; i < count; i++)
			sum += a[i] * (int16_t)(int8_t)w[i];
	else
		for (int64_t i = 0; i < count; i++)
			sum += a[i] * (int16_t)w[i];
	return sum;
}

/* Channels [first, end) of the output's tile at one place, all of one group. */
ENGINE_CLONES
static void integers(const struct engine_call *call, const struct groups *groups,
		     const int16_t *patch, int64_t first, int64_t end, uint64_t index)
{
	const struct engine_tile *t = call->tiles,
				 *bias = call->tile_count > BIAS ? &t[BIAS] : NULL;
	int64_t size = patch_size(call);
	bool is_signed = t[WEIGHTS].type == NPUMEM_COMMAND_INT8;
	int32_t offset = 0, *sums = (int32_t *)call->scratch + size;

	/* Weights without their zero point: the sum of the patch, so many times. */
	if (t[WEIGHTS].zero_point) {
		for (int64_t i = 0; i < size; i++)
			offset += patch[i];
		offset *= -t[WEIGHTS].zero_point;
	}
	for (int64_t c = first; c < end; c++) {
		const uint8_t *w = (const uint8_t *)t[WEIGHTS].data + (c + groups->skipped) * size;
		int32_t sum = dot(patch, w, is_signed, size) + offset;

		if (bias)
			sum += ((const int32_t *)
					bias->data)[c + t[OUT].origin[DIM_C] - bias->origin[DIM_C]];
		sums[c - first] = sum;
	}
	store_integers(call, sums, first, end, (uint8_t *)t[OUT].data + index);
}

/* The same of floats; @weights: by patch and channel. */
ENGINE_CLONES
static void floats(const struct engine_call *call, const double *weights, const double *patch,
		   double *restrict sums, int64_t first, int64_t end, uint64_t index)
{
	const struct engine_tile *t = call->tiles,
				 *bias = call->tile_count > BIAS ? &t[BIAS] : NULL;
	int64_t size = patch_size(call), channels = t[OUT].dims[DIM_C];

	for (int64_t c = first; c < end; c++)
		sums[c] = bias ? ((const float *)bias
					  ->data)[c + t[OUT].origin[DIM_C] - bias->origin[DIM_C]] :
				 0;
	for (int64_t i = 0; i < size; i++) {
		const double *w = weights + i * channels;
		double p = patch[i];

		for (int64_t c = first; c < end; c++)
			sums[c] += p * w[c];
	}
	store_floats(call, sums + first, first, end, (float *)t[OUT].data + index);
}

/* By patch and channel of the output's tile. */
static void transpose(const struct engine_call *call, const struct groups *groups, double *weights)
{
	const struct engine_tile *t = call->tiles;
	int64_t size = patch_size(call), channels = t[OUT].dims[DIM_C];
	const float *from = (const float *)t[WEIGHTS].data + groups->skipped * size;

	for (int64_t c = 0; c < channels; c++)
		for (int64_t i = 0; i < size; i++)
			weights[i * channels + c] = from[c * size + i];
}

/* All channels of a group, [first, end) of the output's tile, at one place. */
static void run_place(const struct engine_call *call, const struct engine_window *window,
		      const struct groups *groups, const struct place *at, int64_t first,
		      int64_t end, uint64_t index)
{
	const struct engine_tile *t = call->tiles;
	int64_t size = patch_size(call);
	double *weights = call->scratch, *patch = weights + size * t[OUT].dims[DIM_C];

	if (is_float(&t[OUT])) {
		patch_of_floats(call, window, at, patch);
		floats(call, weights, patch, patch + size, first, end, index);
	} else {
		patch_of_integers(call, window, at, call->scratch);
		integers(call, groups, call->scratch, first, end, index);
	}
}

/*
 * struct blocks - of a group's channels, [first, end) of the output's tile, in scratch memory
 * @count: of them; @channels: of each
 * @held: places whose patches are there, and that have not been computed yet
 * @index: of each: its first channel in the output's tile
 */
struct blocks {
	int64_t first;
	int64_t end;
	int64_t size;
	int64_t count;
	int64_t channels;
	void *weights;
	void *begin;
	void *sums;
	void *patches;
	int16_t *centered;
	int held;
	uint64_t index[BLOCK_PLACES];
};

/* The weights of channel @c, and what its sum begins with; zero beyond the group. */
static void lay_out_channel(const struct engine_call *call, const struct groups *groups,
			    const struct blocks *b, int64_t c)
{
	const struct engine_tile *t = call->tiles, *w = &t[WEIGHTS],
				 *bias = call->tile_count > BIAS ? &t[BIAS] : NULL;
	bool there = b->first + c < b->end;
	int64_t from = (b->first + c + groups->skipped) * b->size;
	int64_t at = b->first + c + t[OUT].origin[DIM_C] - (bias ? bias->origin[DIM_C] : 0);
	int64_t to = c / b->channels * b->size * b->channels + c % b->channels;

	if (is_float(w)) {
		((double *)b->begin)[c] = there && bias ? ((const float *)bias->data)[at] : 0;
		for (int64_t i = 0; i < b->size; i++, to += b->channels)
			((double *)b->weights)[to] = there ? ((const float *)w->data)[from + i] : 0;
	} else {
		((int32_t *)b->begin)[c] = there && bias ? ((const int32_t *)bias->data)[at] : 0;
		for (int64_t i = 0; i < b->size; i++, to += b->channels)
			((int32_t *)b->weights)[to] =
				there ? engine_integer(w, (uint64_t)(from + i)) : 0;
	}
}

static void blocks_init(struct blocks *b, const struct engine_call *call,
			const struct groups *groups, int64_t first, int64_t end)
{
	char *next = call->scratch;

	*b = (struct blocks){
		.first = first,
		.end = end,
		.size = patch_size(call),
		.count = block_count(call, end - first),
		.channels = BLOCK_CHANNELS(block_bytes(call)),
	};
	b->weights = next;
	next += b->size * b->count * BLOCK_UNIT;
	b->begin = next;
	next += b->count * BLOCK_UNIT;
	b->sums = next;
	next += BLOCK_PLACES * b->count * BLOCK_UNIT;
	b->patches = next;
	next += BLOCK_PLACES * b->size * block_bytes(call);
	b->centered = (int16_t *)next;
	for (int64_t c = 0; c < b->count * b->channels; c++)
		lay_out_channel(call, groups, b, c);
	/* The last places may be fewer: what is computed of others has to be numbers. */
	memset(b->patches, 0, (size_t)(BLOCK_PLACES * b->size * block_bytes(call)));
}

/* Computes the places that are held. */
static void blocks_flush(struct blocks *b, const struct engine_call *call)
{
	const struct engine_tile *out = &call->tiles[OUT];

	if (!b->held)
		return;
	if (is_float(out))
		engine_block_floats(b->patches, b->weights, b->begin, b->size, b->count, b->sums);
	else
		engine_block_integers(b->patches, b->weights, b->begin, b->size, b->count, b->sums);
	for (int p = 0; p < b->held; p++) {
		int64_t from = p * b->count * b->channels;

		if (is_float(out))
			store_floats(call, (const double *)b->sums + from, b->first, b->end,
				     (float *)out->data + b->index[p]);
		else
			store_integers(call, (const int32_t *)b->sums + from, b->first, b->end,
				       (uint8_t *)out->data + b->index[p]);
	}
	b->held = 0;
}

static void blocks_add(struct blocks *b, const struct engine_call *call,
		       const struct engine_window *window, const struct place *at, uint64_t index)
{
	int64_t from = b->held * b->size;

	if (is_float(&call->tiles[OUT])) {
		patch_of_floats(call, window, at, (double *)b->patches + from);
	} else {
		patch_of_integers(call, window, at, b->centered);
		for (int64_t i = 0; i < b->size; i++)
			((int32_t *)b->patches)[from + i] = b->centered[i];
	}
	b->index[b->held++] = index;
	if (b->held == BLOCK_PLACES)
		blocks_flush(b, call);
}

/* All places, of channels of one group. */
static void run_group(const struct engine_call *call, const struct engine_window *window,
		      const struct groups *groups, int64_t first, int64_t end)
{
	const struct engine_tile *out = &call->tiles[OUT], *in = &call->tiles[IN];
	bool blocked = max_blocks(call) > 0;
	struct blocks blocks;
	struct place at = {
		.channel =
			(first + out->origin[DIM_C]) / groups->out * groups->in - in->origin[DIM_C],
	};

	if (blocked)
		blocks_init(&blocks, call, groups, first, end);
	for (; at.n < out->dims[DIM_N]; at.n++)
		for (int64_t h = 0; h < out->dims[DIM_H]; h++) {
			at.rows = engine_taps(window, in, out, 0, h);
			for (int64_t w = 0; w < out->dims[DIM_W]; w++) {
				uint64_t index = engine_index(out, at.n, h, w, 0);

				at.columns = engine_taps(window, in, out, 1, w);
				if (blocked)
					blocks_add(&blocks, call, window, &at, index);
				else
					run_place(call, window, groups, &at, first, end, index);
			}
		}
	if (blocked)
		blocks_flush(&blocks, call);
}

static void run(const struct engine_call *call)
{
	const struct engine_tile *out = &call->tiles[OUT];
	struct groups groups = groups_of(call);
	struct engine_call own = *call;
	struct engine_window window;

	engine_window(&own, &window);
	if (is_float(out) && !max_blocks(call))
		transpose(call, &groups, call->scratch);
	for (int64_t c = 0, end; c < out->dims[DIM_C]; c = end) {
		int64_t group = (c + out->origin[DIM_C]) / groups.out;

		end = smaller((group + 1) * groups.out - out->origin[DIM_C], out->dims[DIM_C]);
		run_group(call, &window, &groups, c, end);
	}
}

const struct engine_kernel engine_conv = {
	.name = "conv",
	.min_tiles = BIAS,
	.max_tiles = BIAS + 1,
	.attributes = NPUMEM_COMMAND_WINDOW_ATTRIBUTES,
	.check = check,
	.scratch = scratch,
	.run = run,
};

/* ------------------------------------------------------------------- each channel by itself */

/*
 * Depthwise: weights (1, h, w, out). Channel c of the output is made of channel
 * c / (out / in) of the input.
 */

static int64_t multiplier_of(const struct engine_call *call)
{
	return call->tiles[OUT].shape[DIM_C] / call->tiles[IN].shape[DIM_C];
}

static int check_depthwise(struct engine_call *call)
{
	const struct engine_tile *t = call->tiles;
	struct engine_window window;
	int err = check_types(call);
	int64_t each;

	if (!err)
		err = engine_window(call, &window);
	if (!err)
		err = check_parameters(call, DIM_C);
	if (!err)
		err = engine_check_clamp(call, &call->attributes[NPUMEM_COMMAND_WINDOW_MIN]);
	if (err)
		return err;
	if (t[WEIGHTS].shape[DIM_N] != 1 || t[WEIGHTS].dims[DIM_H] != window.kernel[0] ||
	    t[WEIGHTS].dims[DIM_W] != window.kernel[1])
		return engine_refuse(call, -EINVAL, "the weights are of another window");
	if (t[OUT].shape[DIM_C] % t[IN].shape[DIM_C])
		return engine_refuse(call, -EINVAL, "the channels are no groups");
	each = multiplier_of(call);
	if (t[IN].count && (t[OUT].origin[DIM_C] / each < t[IN].origin[DIM_C] ||
			    (t[OUT].origin[DIM_C] + t[OUT].dims[DIM_C] - 1) / each >=
				    t[IN].origin[DIM_C] + t[IN].dims[DIM_C]))
		return engine_refuse(call, -EINVAL, "a channel is not in the input's tile");
	return 0;
}

static uint64_t depthwise_scratch(const struct engine_call *call)
{
	/* A sum for each channel. */
	return (uint64_t)call->tiles[OUT].dims[DIM_C] * sizeof(double);
}

/* Adds one tap of a window to the sums of all channels. */
ENGINE_CLONES
static void tap_of_integers(const struct engine_call *call, const uint8_t *in, const uint8_t *w,
			    int32_t *restrict sums)
{
	const struct engine_tile *t = call->tiles;
	int64_t channels = t[OUT].dims[DIM_C], each = multiplier_of(call);
	int16_t in_zero = (int16_t)t[IN].zero_point, w_zero = (int16_t)t[WEIGHTS].zero_point;

	if (each > 1) {
		int64_t skipped = t[OUT].origin[DIM_C] % each;

		for (int64_t c = 0; c < channels; c++) {
			uint8_t a = in[(c + skipped) / each];

			sums[c] += ((t[IN].type == NPUMEM_COMMAND_INT8 ? (int8_t)a : a) - in_zero) *
				   ((t[WEIGHTS].type == NPUMEM_COMMAND_INT8 ? (int8_t)w[c] : w[c]) -
				    w_zero);
		}
	} else if (t[IN].type == NPUMEM_COMMAND_INT8) {
		for (int64_t c = 0; c < channels; c++)
			sums[c] += (int16_t)((int8_t)in[c] - in_zero) *
				   (int16_t)((int8_t)w[c] - w_zero);
	} else {
		for (int64_t c = 0; c < channels; c++)
			sums[c] += (int16_t)(in[c] - in_zero) * (int16_t)(w[c] - w_zero);
	}
}

ENGINE_CLONES
static void tap_of_floats(const struct engine_call *call, const float *in, const float *w,
			  double *restrict sums)
{
	const struct engine_tile *t = call->tiles;
	int64_t channels = t[OUT].dims[DIM_C], each = multiplier_of(call);
	int64_t skipped = t[OUT].origin[DIM_C] % each;

	if (each > 1)
		for (int64_t c = 0; c < channels; c++)
			sums[c] += (double)in[(c + skipped) / each] * w[c];
	else
		for (int64_t c = 0; c < channels; c++)
			sums[c] += (double)in[c] * w[c];
}

static void depthwise_begin(const struct engine_call *call)
{
	const struct engine_tile *t = call->tiles,
				 *bias = call->tile_count > BIAS ? &t[BIAS] : NULL;
	int64_t skipped = bias ? t[OUT].origin[DIM_C] - bias->origin[DIM_C] : 0;

	for (int64_t c = 0; c < t[OUT].dims[DIM_C]; c++)
		if (is_float(&t[OUT]))
			((double *)call->scratch)[c] =
				bias ? ((const float *)bias->data)[c + skipped] : 0;
		else
			((int32_t *)call->scratch)[c] =
				bias ? ((const int32_t *)bias->data)[c + skipped] : 0;
}

ENGINE_CLONES
static void depthwise_end(const struct engine_call *call, uint64_t index)
{
	const struct engine_tile *out = &call->tiles[OUT];
	int64_t channels = out->dims[DIM_C];

	if (!is_float(out)) {
		store_integers(call, call->scratch, 0, channels, (uint8_t *)out->data + index);
		return;
	}
	store_floats(call, call->scratch, 0, channels, (float *)out->data + index);
}

static void depthwise_place(const struct engine_call *call, const struct engine_window *window,
			    const struct place *at, uint64_t index)
{
	const struct engine_tile *t = call->tiles, *in = &t[IN], *w = &t[WEIGHTS];
	int64_t skipped = t[OUT].origin[DIM_C] - w->origin[DIM_C];

	depthwise_begin(call);
	for (int64_t y = at->rows.first; y < at->rows.end; y++)
		for (int64_t x = at->columns.first; x < at->columns.end; x++) {
			uint64_t from =
				engine_index(in, at->n, at->rows.at + y * window->dilation[0],
					     at->columns.at + x * window->dilation[1], at->channel);
			uint64_t weight = engine_index(w, 0, y, x, skipped);

			if (is_float(in))
				tap_of_floats(call, (const float *)in->data + from,
					      (const float *)w->data + weight, call->scratch);
			else
				tap_of_integers(call, (const uint8_t *)in->data + from,
						(const uint8_t *)w->data + weight, call->scratch);
		}
	depthwise_end(call, index);
}

static void run_depthwise(const struct engine_call *call)
{
	const struct engine_tile *out = &call->tiles[OUT], *in = &call->tiles[IN];
	struct engine_call own = *call;
	struct engine_window window;
	struct place at;

	engine_window(&own, &window);
	at.channel = out->origin[DIM_C] / multiplier_of(call) - in->origin[DIM_C];
	for (at.n = 0; at.n < out->dims[DIM_N]; at.n++)
		for (int64_t h = 0; h < out->dims[DIM_H]; h++) {
			at.rows = engine_taps(&window, in, out, 0, h);
			for (int64_t w = 0; w < out->dims[DIM_W]; w++) {
				at.columns = engine_taps(&window, in, out, 1, w);
				depthwise_place(call, &window, &at,
						engine_index(out, at.n, h, w, 0));
			}
		}
}

const struct engine_kernel engine_depthwise = {
	.name = "depthwise",
	.min_tiles = BIAS,
	.max_tiles = BIAS + 1,
	.attributes = NPUMEM_COMMAND_WINDOW_ATTRIBUTES,
	.check = check_depthwise,
	.scratch = depthwise_scratch,
	.run = run_depthwise,
};
