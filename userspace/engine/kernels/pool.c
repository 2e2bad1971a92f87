// SPDX-License-Identifier: MIT
/*
 * Pools: the average or the largest of a window, channel by channel. Padding takes no part; a
 * window of padding alone has the average zero and the largest value least.
 *
 * Operands: output, input, of one type, scale and zero point.
 */
#include <math.h>

#include "kernel.h"

enum { OUT, IN };

static int check(struct engine_call *call)
{
	const struct engine_tile *out = &call->tiles[OUT], *in = &call->tiles[IN];
	struct engine_window window;
	int err = engine_window(call, &window);

	if (err)
		return err;
	if (in->type != out->type || (!is_byte(out) && !is_float(out)))
		return engine_refuse(call, -EOPNOTSUPP, "no such pool of these types");
	if (in->zero_point != out->zero_point || call->scale_count)
		return engine_refuse(call, -EINVAL, "a pool does not rescale");
	if (in->shape[DIM_C] != out->shape[DIM_C] ||
	    (in->count &&
	     (in->origin[DIM_C] > out->origin[DIM_C] ||
	      in->origin[DIM_C] + in->dims[DIM_C] < out->origin[DIM_C] + out->dims[DIM_C])))
		return engine_refuse(call, -EINVAL, "a channel is not in the input's tile");
	return engine_check_clamp(call, &call->attributes[NPUMEM_COMMAND_WINDOW_MIN]);
}

/* struct place - a window, and where its channel is */
struct place {
	struct engine_window window;
	struct engine_taps rows;
	struct engine_taps columns;
	int64_t n;
	int64_t channel;
};

static uint64_t tap(const struct engine_call *call, const struct place *at, int64_t y, int64_t x)
{
	return engine_index(&call->tiles[IN], at->n, at->rows.at + y * at->window.dilation[0],
			    at->columns.at + x * at->window.dilation[1], at->channel);
}

static int32_t of_integers(const struct engine_call *call, const struct place *at, bool average)
{
	const struct engine_tile *in = &call->tiles[IN];
	int64_t sum = 0, count = 0, most = INT32_MIN;

	for (int64_t y = at->rows.first; y < at->rows.end; y++)
		for (int64_t x = at->columns.first; x < at->columns.end; x++) {
			/* The average is of elements with their zero point. */
			int32_t value = engine_integer(in, tap(call, at, y, x)) + in->zero_point;

			sum += value;
			count++;
			if (value > most)
				most = value;
		}
	if (!average)
		return (int32_t)most;
	if (!count)
		return in->zero_point;
	return (int32_t)((sum > 0 ? sum + count / 2 : sum - count / 2) / count);
}

static float of_floats(const struct engine_call *call, const struct place *at, bool average)
{
	const float *in = call->tiles[IN].data;
	double sum = 0, most = -INFINITY;
	int64_t count = 0;

	for (int64_t y = at->rows.first; y < at->rows.end; y++)
		for (int64_t x = at->columns.first; x < at->columns.end; x++) {
			float value = in[tap(call, at, y, x)];

			sum += value;
			count++;
			if (value > most)
				most = value;
		}
	return (float)(!average ? most : count ? sum / (double)count : 0);
}

static void run_place(const struct engine_call *call, struct place *at, uint64_t index,
		      bool average)
{
	const struct engine_tile *out = &call->tiles[OUT], *in = &call->tiles[IN];
	int32_t min = call->attributes[NPUMEM_COMMAND_WINDOW_MIN];
	int32_t max = call->attributes[NPUMEM_COMMAND_WINDOW_MAX];

	for (int64_t c = 0; c < out->dims[DIM_C]; c++, index++) {
		at->channel = c + out->origin[DIM_C] - in->origin[DIM_C];
		if (is_float(out))
			((float *)out->data)[index] = engine_clamp_float(
				of_floats(call, at, average), engine_float(min), engine_float(max));
		else
			engine_store(out, index, of_integers(call, at, average), min, max);
	}
}

static void run(const struct engine_call *call, bool average)
{
	const struct engine_tile *out = &call->tiles[OUT], *in = &call->tiles[IN];
	struct engine_call own = *call;
	struct place at;

	engine_window(&own, &at.window);
	for (at.n = 0; at.n < out->dims[DIM_N]; at.n++)
		for (int64_t h = 0; h < out->dims[DIM_H]; h++) {
			at.rows = engine_taps(&at.window, in, out, 0, h);
			for (int64_t w = 0; w < out->dims[DIM_W]; w++) {
				at.columns = engine_taps(&at.window, in, out, 1, w);
				run_place(call, &at, engine_index(out, at.n, h, w, 0), average);
			}
		}
}

static void run_average(const struct engine_call *call)
{
	run(call, true);
}

static void run_max(const struct engine_call *call)
{
	run(call, false);
}

const struct engine_kernel engine_average_pool = {
	.name = "average_pool",
	.min_tiles = 2,
	.max_tiles = 2,
	.attributes = NPUMEM_COMMAND_WINDOW_ATTRIBUTES,
	.check = check,
	.run = run_average,
};

const struct engine_kernel engine_max_pool = {
	.name = "max_pool",
	.min_tiles = 2,
	.max_tiles = 2,
	.attributes = NPUMEM_COMMAND_WINDOW_ATTRIBUTES,
	.check = check,
	.run = run_max,
};
