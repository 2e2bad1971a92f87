// SPDX-License-Identifier: MIT
/*
 * Softmax over the channels.
 *
 * Operands: output, input. Integers have one scale, that of the differences to the largest
 * element, which then have five bits before the point; what is further below it than the
 * attribute says counts as nothing.
 */
#include <math.h>

#include "../fixed.h"
#include "kernel.h"

enum { OUT, IN };

/* Bits before the point: of differences, and of the sum of exponentials. */
#define DIFF_BITS 5
#define SUM_BITS  12

static int check(struct engine_call *call)
{
	const struct engine_tile *out = &call->tiles[OUT], *in = &call->tiles[IN];

	if (is_float(out) ?
		    !is_float(in) :
		    !is_byte(in) || (out->type != in->type && (in->type != NPUMEM_COMMAND_INT8 ||
							       out->type != NPUMEM_COMMAND_INT16)))
		return engine_refuse(call, -EOPNOTSUPP, "no softmax of these types");
	if (!engine_same_box(out, in) || in->dims[DIM_C] != in->shape[DIM_C])
		return engine_refuse(call, -EINVAL, "there are not all channels of the output");
	if (call->scale_count != !is_float(out) ||
	    call->attributes[NPUMEM_COMMAND_SOFTMAX_DIFF_MIN] > 0)
		return engine_refuse(call, -EINVAL, "integers have one scale, floats none");
	return 0;
}

static void floats(const struct engine_call *call, uint64_t first)
{
	double beta = engine_float(call->attributes[NPUMEM_COMMAND_SOFTMAX_BETA]), sum = 0;
	const float *in = (const float *)call->tiles[IN].data + first;
	float *out = (float *)call->tiles[OUT].data + first, most = in[0];
	int64_t channels = call->tiles[IN].dims[DIM_C];

	for (int64_t c = 1; c < channels; c++)
		if (in[c] > most)
			most = in[c];
	for (int64_t c = 0; c < channels; c++)
		sum += exp(((double)in[c] - most) * beta);
	for (int64_t c = 0; c < channels; c++)
		out[c] = (float)(exp(((double)in[c] - most) * beta) / sum);
}

/* e^difference. */
static int32_t exponential(const struct engine_call *call, int32_t difference)
{
	int32_t x = fixed_rescale(difference, call->scales[0].multiplier, call->scales[0].shift);

	return fixed_exp(32, x, DIFF_BITS);
}

static void integers(const struct engine_call *call, uint64_t first)
{
	const struct engine_tile *out = &call->tiles[OUT], *in = &call->tiles[IN];
	int32_t diff_min = call->attributes[NPUMEM_COMMAND_SOFTMAX_DIFF_MIN];
	uint64_t end = first + (uint64_t)in->dims[DIM_C];
	int32_t most = INT32_MIN, min, max, scale;
	uint64_t total = 0;
	uint32_t sum;
	int headroom;

	engine_range(out->type, &min, &max);
	for (uint64_t i = first; i < end; i++)
		if (engine_integer(in, i) > most)
			most = engine_integer(in, i);
	for (uint64_t i = first; i < end; i++) {
		int32_t difference = engine_integer(in, i) - most;

		if (difference >= diff_min)
			total +=
				(uint32_t)fixed_divide_pot(exponential(call, difference), SUM_BITS);
	}
	/* The largest has 1 in it, so it is 1 + x, x from 0 to 1, times a power of two. */
	sum = total > UINT32_MAX ? UINT32_MAX : (uint32_t)total;
	headroom = __builtin_clz(sum);
	scale = fixed_reciprocal(32, (int32_t)((sum << headroom) - (1u << 31)));
	for (uint64_t i = first; i < end; i++) {
		int32_t difference = engine_integer(in, i) - most, value = 0;

		if (difference >= diff_min)
			value = fixed_divide_pot(fixed_multiply_high(32, scale,
								     exponential(call, difference)),
						 SUM_BITS - headroom + 31 - 8 * out->elem);
		engine_store(out, i, value + min, min, max);
	}
}

static void run(const struct engine_call *call)
{
	const struct engine_tile *in = &call->tiles[IN];

	for (uint64_t i = 0; i < in->count; i += (uint64_t)in->dims[DIM_C])
		if (is_float(in))
			floats(call, i);
		else
			integers(call, i);
}

const struct engine_kernel engine_softmax = {
	.name = "softmax",
	.min_tiles = 2,
	.max_tiles = 2,
	.attributes = NPUMEM_COMMAND_SOFTMAX_ATTRIBUTES,
	.check = check,
	.run = run,
};
