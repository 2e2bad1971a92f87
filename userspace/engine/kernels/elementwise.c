// SPDX-License-Identifier: MIT
/* Operators whose elements are each made of one element of each input. */
#include <math.h>
#include <string.h>

#include "../fixed.h"
#include "kernel.h"

enum { OUT, IN, OTHER };

/* ---------------------------------------------------------------------------- of one input */

static int check_unary(struct engine_call *call)
{
	if (!engine_same_box(&call->tiles[OUT], &call->tiles[IN]))
		return engine_refuse(call, -EINVAL, "input and output are other parts");
	return 0;
}

/* Copies: elements keep their order, shapes may differ if both tensors are there whole. */
static int check_copy(struct engine_call *call)
{
	const struct engine_tile *out = &call->tiles[OUT], *in = &call->tiles[IN];

	if (in->type != out->type)
		return engine_refuse(call, -EOPNOTSUPP, "a copy of another type");
	if (engine_same_box(out, in))
		return 0;
	for (int d = 0; d < NPUMEM_COMMAND_DIMS; d++)
		if (out->dims[d] != out->shape[d] || in->dims[d] != in->shape[d])
			return check_unary(call);
	if (in->count != out->count)
		return engine_refuse(call, -EINVAL, "a copy of another size");
	return 0;
}

static void run_copy(const struct engine_call *call)
{
	const struct engine_tile *out = &call->tiles[OUT];

	memcpy(out->data, call->tiles[IN].data, out->count * out->elem);
}

const struct engine_kernel engine_copy = {
	.name = "copy",
	.min_tiles = 2,
	.max_tiles = 2,
	.check = check_copy,
	.run = run_copy,
};

static bool is_integer(const struct engine_tile *tile)
{
	return tile->type != NPUMEM_COMMAND_FLOAT32 && tile->type != NPUMEM_COMMAND_FLOAT16;
}

static int check_convert(struct engine_call *call)
{
	const struct engine_tile *out = &call->tiles[OUT], *in = &call->tiles[IN];
	float factor = engine_float(call->attributes[NPUMEM_COMMAND_CONVERT_FACTOR]);
	int err = check_unary(call);

	if (!err && out->type == NPUMEM_COMMAND_FLOAT16)
		err = engine_refuse(call, -EOPNOTSUPP, "no conversion to that type");
	if (!err && is_integer(out) && in->type == NPUMEM_COMMAND_FLOAT16)
		err = engine_refuse(call, -EOPNOTSUPP, "no conversion from that type");
	if (!err)
		err = engine_check_clamp(call, call->attributes);
	if (err)
		return err;
	if ((is_integer(out) && is_integer(in)) != (call->scale_count == 1) ||
	    call->scale_count > 1)
		return engine_refuse(call, -EINVAL, "integers have one scale, others none");
	if (is_integer(out) != is_integer(in) && !(factor > 0 && isfinite(factor)))
		return engine_refuse(call, -EINVAL, "the factor is none");
	return 0;
}

static float of_half(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31;
	uint32_t fraction = half & 0x3ff;
	float magnitude;

	if (exponent == 31)
		return engine_float((int32_t)(sign | 0x7f800000 | fraction << 13));
	magnitude = exponent ? ldexpf((float)(fraction | 0x400), (int)exponent - 25) :
			       ldexpf((float)fraction, -24);
	return sign ? -magnitude : magnitude;
}

/* The integer nearest to a float; what is none, or too large, is the nearest that there is. */
static int32_t rounded(float value)
{
	value = roundf(value);
	return value >= 0x1p31f ? INT32_MAX : value >= -0x1p31f ? (int32_t)value : INT32_MIN;
}

static int32_t plus(int32_t a, int32_t b)
{
	int32_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return a < 0 ? INT32_MIN : INT32_MAX;
	return sum;
}

ENGINE_CLONES
static void clamp_floats(const float *in, float *out, uint64_t count, float min, float max)
{
	for (uint64_t i = 0; i < count; i++)
		out[i] = engine_clamp_float(in[i], min, max);
}

static void run_convert(const struct engine_call *call)
{
	const struct engine_tile *out = &call->tiles[OUT], *in = &call->tiles[IN];
	float factor = engine_float(call->attributes[NPUMEM_COMMAND_CONVERT_FACTOR]);
	int32_t low = call->attributes[NPUMEM_COMMAND_CLAMP_MIN];
	int32_t high = call->attributes[NPUMEM_COMMAND_CLAMP_MAX];
	float min = engine_float(low), max = engine_float(high);

	if (is_float(out) && is_float(in)) {
		clamp_floats(in->data, out->data, out->count, min, max);
		return;
	}
	for (uint64_t i = 0; i < out->count; i++) {
		if (is_float(out)) {
			float value = is_integer(in) ?
					      (float)((double)factor * engine_integer(in, i)) :
					      of_half(((const uint16_t *)in->data)[i]);

			((float *)out->data)[i] = engine_clamp_float(value, min, max);
		} else if (is_float(in)) {
			engine_store(out, i,
				     plus(rounded(((const float *)in->data)[i] / factor),
					  out->zero_point),
				     low, high);
		} else {
			engine_store(out, i,
				     plus(fixed_rescale(engine_integer(in, i),
							call->scales[0].multiplier,
							call->scales[0].shift),
					  out->zero_point),
				     low, high);
		}
	}
}

const struct engine_kernel engine_convert = {
	.name = "convert",
	.min_tiles = 2,
	.max_tiles = 2,
	.attributes = NPUMEM_COMMAND_CONVERT_ATTRIBUTES,
	.check = check_convert,
	.run = run_convert,
};

/* ------------------------------------------------------------------------ of one, and curved */

static int check_logistic(struct engine_call *call)
{
	const struct engine_tile *out = &call->tiles[OUT], *in = &call->tiles[IN];

	if (in->type != out->type || (!is_float(out) && !is_byte(out)))
		return engine_refuse(call, -EOPNOTSUPP, "no such function of these types");
	if (call->scale_count)
		return engine_refuse(call, -EINVAL, "a logistic function has no scale");
	return check_unary(call);
}

/*
 * The output has eight bits behind the point. Single precision in each step, as TensorFlow Lite
 * computes its table: with more, what lies near the middle of two integers is rounded otherwise.
 */
static int32_t logistic_of_integer(int32_t x, float factor)
{
	return rounded(256.0f * (1.0f / (1.0f + expf(-(factor * (float)x)))));
}

static void logistic_of_bytes(const struct engine_call *call)
{
	const struct engine_tile *out = &call->tiles[OUT], *in = &call->tiles[IN];
	float factor = engine_float(call->attributes[NPUMEM_COMMAND_LOGISTIC_FACTOR]);
	uint8_t table[256];
	int32_t min, max;

	engine_range(in->type, &min, &max);
	for (int32_t v = min; v <= max; v++)
		table[(uint8_t)v] = (uint8_t)engine_clamp(
			plus(logistic_of_integer(v - in->zero_point, factor), out->zero_point), min,
			max);
	for (uint64_t i = 0; i < out->count; i++)
		((uint8_t *)out->data)[i] = table[((const uint8_t *)in->data)[i]];
}

static void run_logistic(const struct engine_call *call)
{
	const struct engine_tile *out = &call->tiles[OUT], *in = &call->tiles[IN];

	if (!is_float(out)) {
		logistic_of_bytes(call);
		return;
	}
	for (uint64_t i = 0; i < out->count; i++) {
		double x = ((const float *)in->data)[i];

		((float *)out->data)[i] = (float)(1 / (1 + exp(-x)));
	}
}

const struct engine_kernel engine_logistic = {
	.name = "logistic",
	.min_tiles = 2,
	.max_tiles = 2,
	.attributes = NPUMEM_COMMAND_LOGISTIC_ATTRIBUTES,
	.check = check_logistic,
	.run = run_logistic,
};

static int check_tanh(struct engine_call *call)
{
	if (!is_float(&call->tiles[OUT]) || !is_float(&call->tiles[IN]))
		return engine_refuse(call, -EOPNOTSUPP, "no such function of these types");
	return check_unary(call);
}

static void run_tanh(const struct engine_call *call)
{
	for (uint64_t i = 0; i < call->tiles[OUT].count; i++)
		((float *)call->tiles[OUT].data)[i] =
			(float)tanh(((const float *)call->tiles[IN].data)[i]);
}

const struct engine_kernel engine_tanh = {
	.name = "tanh",
	.min_tiles = 2,
	.max_tiles = 2,
	.check = check_tanh,
	.run = run_tanh,
};

/* --------------------------------------------------------------------------- of two inputs */

/* An input of one element along a dimension has it for all of the output's. */
static bool is_broadcast(const struct engine_tile *out, const struct engine_tile *in)
{
	for (int d = 0; d < NPUMEM_COMMAND_DIMS; d++) {
		if (!in->count)
			return false;
		if (in->shape[d] == 1)
			continue;
		if (in->shape[d] != out->shape[d] || in->origin[d] > out->origin[d] ||
		    in->origin[d] + in->dims[d] < out->origin[d] + out->dims[d])
			return false;
	}
	return true;
}

static int check_binary(struct engine_call *call, uint32_t scales)
{
	const struct engine_tile *t = call->tiles;

	if ((!is_byte(&t[OUT]) && !is_float(&t[OUT])) || t[IN].type != t[OUT].type ||
	    t[OTHER].type != t[OUT].type)
		return engine_refuse(call, -EOPNOTSUPP, "no such operator of these types");
	if (!is_broadcast(&t[OUT], &t[IN]) || !is_broadcast(&t[OUT], &t[OTHER]))
		return engine_refuse(call, -EINVAL, "an input has not the output's part");
	if (call->scale_count != (is_float(&t[OUT]) ? 0 : scales))
		return engine_refuse(call, -EINVAL, "it has not its scales");
	return engine_check_clamp(call, call->attributes);
}

static int check_add(struct engine_call *call)
{
	return check_binary(call, 3);
}

static int check_mul(struct engine_call *call)
{
	return check_binary(call, 1);
}

/* First element of an input for a row of the output's channels. */
static uint64_t broadcast_row(const struct engine_tile *out, const struct engine_tile *in,
			      int64_t n, int64_t h, int64_t w)
{
	const int64_t at[NPUMEM_COMMAND_DIMS] = { n, h, w, 0 };
	int64_t index = 0;

	for (int d = 0; d < NPUMEM_COMMAND_DIMS; d++) {
		index *= in->dims[d];
		if (in->shape[d] > 1)
			index += at[d] + out->origin[d] - in->origin[d];
	}
	return (uint64_t)index;
}

/*
 * struct row - channels of the output, and where the inputs' are
 * @steps: 1, or 0 for an input that has one channel
 */
struct row {
	uint64_t out;
	uint64_t in[2];
	uint64_t steps[2];
};

ENGINE_CLONES
static void add_integers(const struct engine_call *call, const struct row *row)
{
	const struct engine_tile *t = call->tiles;
	const struct npumem_command_scale *s = call->scales;
	int32_t min = call->attributes[0], max = call->attributes[1];

	/* 20 bits more than the inputs have, so that little is lost. */
	for (uint64_t c = 0; c < (uint64_t)t[OUT].dims[DIM_C]; c++) {
		int32_t a = engine_integer(&t[IN], row->in[0] + c * row->steps[0]) * (1 << 20);
		int32_t b = engine_integer(&t[OTHER], row->in[1] + c * row->steps[1]) * (1 << 20);
		int32_t sum = fixed_rescale(a, s[0].multiplier, s[0].shift) +
			      fixed_rescale(b, s[1].multiplier, s[1].shift);

		sum = fixed_rescale(sum, s[2].multiplier, s[2].shift) + t[OUT].zero_point;
		((uint8_t *)t[OUT].data)[row->out + c] = (uint8_t)engine_clamp(sum, min, max);
	}
}

static void mul_integers(const struct engine_call *call, const struct row *row)
{
	const struct engine_tile *t = call->tiles;
	const struct npumem_command_scale *s = call->scales;
	int32_t min = call->attributes[0], max = call->attributes[1];

	for (uint64_t c = 0; c < (uint64_t)t[OUT].dims[DIM_C]; c++) {
		int32_t product = engine_integer(&t[IN], row->in[0] + c * row->steps[0]) *
				  engine_integer(&t[OTHER], row->in[1] + c * row->steps[1]);

		product = fixed_rescale(product, s->multiplier, s->shift) + t[OUT].zero_point;
		((uint8_t *)t[OUT].data)[row->out + c] = (uint8_t)engine_clamp(product, min, max);
	}
}

/* One rounding of the exact sum or product is what the hardware's float does. */
ENGINE_CLONES
static void binary_floats(const struct engine_call *call, const struct row *row, bool product)
{
	const struct engine_tile *t = call->tiles;
	const float *a = (const float *)t[IN].data + row->in[0];
	const float *b = (const float *)t[OTHER].data + row->in[1];
	float *out = (float *)t[OUT].data + row->out;
	float min = engine_float(call->attributes[0]), max = engine_float(call->attributes[1]);

	for (uint64_t c = 0; c < (uint64_t)t[OUT].dims[DIM_C]; c++) {
		float x = a[c * row->steps[0]], y = b[c * row->steps[1]];

		out[c] = engine_clamp_float(product ? x * y : x + y, min, max);
	}
}

static void run_binary(const struct engine_call *call,
		       void (*integers)(const struct engine_call *call, const struct row *row),
		       bool product)
{
	const struct engine_tile *t = call->tiles, *out = &t[OUT];
	struct row row;

	for (int i = 0; i < 2; i++)
		row.steps[i] = t[IN + i].shape[DIM_C] > 1;
	for (int64_t n = 0; n < out->dims[DIM_N]; n++)
		for (int64_t h = 0; h < out->dims[DIM_H]; h++)
			for (int64_t w = 0; w < out->dims[DIM_W]; w++) {
				row.out = engine_index(out, n, h, w, 0);
				for (int i = 0; i < 2; i++)
					row.in[i] = broadcast_row(out, &t[IN + i], n, h, w);
				if (is_float(out))
					binary_floats(call, &row, product);
				else
					integers(call, &row);
			}
}

static void run_add(const struct engine_call *call)
{
	run_binary(call, add_integers, false);
}

static void run_mul(const struct engine_call *call)
{
	run_binary(call, mul_integers, true);
}

const struct engine_kernel engine_add = {
	.name = "add",
	.min_tiles = 3,
	.max_tiles = 3,
	.attributes = NPUMEM_COMMAND_CLAMP_ATTRIBUTES,
	.check = check_add,
	.run = run_add,
};

const struct engine_kernel engine_mul = {
	.name = "mul",
	.min_tiles = 3,
	.max_tiles = 3,
	.attributes = NPUMEM_COMMAND_CLAMP_ATTRIBUTES,
	.check = check_mul,
	.run = run_mul,
};
