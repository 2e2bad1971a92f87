// SPDX-License-Identifier: MIT
#include "engine_problem.h"

#include <math.h>

#include "random.h"
#include "unit.h"

/* An element as it is, with its zero point. */
static double raw(const struct problem *p, uint32_t operand, uint32_t index)
{
	const void *data = p->data[operand];

	switch (p->types[operand]) {
	case NPUMEM_COMMAND_INT8:
		return ((const int8_t *)data)[index];
	case NPUMEM_COMMAND_UINT8:
		return ((const uint8_t *)data)[index];
	case NPUMEM_COMMAND_INT32:
		return ((const int32_t *)data)[index];
	default:
		return ((const float *)data)[index];
	}
}

/* An element without its zero point; it is noted that it was needed. */
static double load(struct problem *p, uint32_t operand, const uint32_t at[4])
{
	for (int d = 0; d < 4; d++) {
		if (at[d] < p->low[operand][d])
			p->low[operand][d] = at[d];
		if (at[d] > p->high[operand][d])
			p->high[operand][d] = at[d];
	}
	return raw(p, operand, index_of(p->shape[operand], at)) - p->zero[operand];
}

static float float_of(int32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Rounded after the multiplication, halves up, and after the shift, halves away from zero. */
static int64_t rescaled(const struct problem *p, int64_t x, uint32_t scale)
{
	int shift = p->shift[scale];
	__int128 product = (__int128)x * p->multiplier[scale];

	if (shift > 0)
		product *= (__int128)1 << shift;
	product = (product + (1 << 30)) >> 31;
	return shift < 0 ? (int64_t)roundl(ldexpl((long double)product, shift)) : (int64_t)product;
}

static long double clamped(long double value, long double min, long double max)
{
	return value < min ? min : value > max ? max : value;
}

/* What is stored of a sum. @first: attribute of the smallest value */
static long double finished(const struct problem *p, long double sum, uint32_t scale,
			    uint32_t first)
{
	if (of_floats(p))
		return clamped(sum, float_of(p->attributes[first]),
			       float_of(p->attributes[first + 1]));
	return clamped(rescaled(p, (int64_t)sum, scale) + p->zero[0], p->attributes[first],
		       p->attributes[first + 1]);
}

/* -------------------------------------------------------------------------------- windows */

/* Place of a tap in the input; false: it is padding. */
static bool tap(const struct problem *p, const uint32_t at[4], const int64_t k[2], uint32_t in[4])
{
	for (int d = 0; d < 2; d++) {
		int64_t place = (int64_t)at[1 + d] * p->attributes[NPUMEM_COMMAND_STRIDE_H + d] -
				p->attributes[NPUMEM_COMMAND_PAD_TOP + d] +
				k[d] * p->attributes[NPUMEM_COMMAND_DILATION_H + d];

		if (place < 0 || place >= p->shape[1][1 + d])
			return false;
		in[1 + d] = (uint32_t)place;
	}
	in[0] = at[0];
	return true;
}

static void add_term(struct problem *p, long double *sum, long double term)
{
	*sum += term;
	p->sum += fabsl(term);
}

static long double element_conv(struct problem *p, const uint32_t at[4])
{
	bool depthwise = p->operation == NPUMEM_COMMAND_DEPTHWISE;
	uint32_t groups = depthwise ? p->shape[1][3] : p->shape[1][3] / p->shape[2][3];
	uint32_t each = p->shape[1][3] / groups, group = at[3] / (p->shape[0][3] / groups);
	long double sum = 0;
	int64_t k[2];

	if (p->operand_count > 3)
		add_term(p, &sum, load(p, 3, (uint32_t[4]){ 0, 0, 0, at[3] }));
	for (k[0] = 0; k[0] < p->shape[2][1]; k[0]++)
		for (k[1] = 0; k[1] < p->shape[2][2]; k[1]++)
			for (uint32_t c = 0; c < each; c++) {
				uint32_t in[4], w[4] = { at[3], k[0], k[1], c };

				if (depthwise)
					w[0] = 0, w[3] = at[3];
				if (!tap(p, at, k, in))
					continue;
				in[3] = group * each + c;
				add_term(p, &sum, (long double)load(p, 1, in) * load(p, 2, w));
			}
	return finished(p, sum, p->scale_count > 1 ? at[3] : 0, NPUMEM_COMMAND_WINDOW_MIN);
}

static long double element_pool(struct problem *p, const uint32_t at[4])
{
	bool average = p->operation == NPUMEM_COMMAND_AVERAGE_POOL;
	long double sum = 0, most = -INFINITY, count = 0;
	int64_t k[2];

	for (k[0] = 0; k[0] < p->attributes[NPUMEM_COMMAND_KERNEL_H]; k[0]++)
		for (k[1] = 0; k[1] < p->attributes[NPUMEM_COMMAND_KERNEL_W]; k[1]++) {
			uint32_t in[4];
			long double value;

			if (!tap(p, at, k, in))
				continue;
			in[3] = at[3];
			value = load(p, 1, in) + p->zero[1];
			add_term(p, &sum, value);
			count++;
			most = value > most ? value : most;
		}
	if (average)
		most = of_floats(p) ? sum / count : roundl(sum / count);
	return clamped(most,
		       of_floats(p) ? float_of(p->attributes[NPUMEM_COMMAND_WINDOW_MIN]) :
				      p->attributes[NPUMEM_COMMAND_WINDOW_MIN],
		       of_floats(p) ? float_of(p->attributes[NPUMEM_COMMAND_WINDOW_MAX]) :
				      p->attributes[NPUMEM_COMMAND_WINDOW_MAX]);
}

/* --------------------------------------------------------------------------------- others */

static double repeated(struct problem *p, uint32_t operand, const uint32_t at[4])
{
	uint32_t in[4];

	for (int d = 0; d < 4; d++)
		in[d] = p->shape[operand][d] == 1 ? 0 : at[d];
	return load(p, operand, in);
}

static long double element_binary(struct problem *p, const uint32_t at[4])
{
	double a = repeated(p, 1, at), b = repeated(p, 2, at);

	if (p->operation == NPUMEM_COMMAND_MUL)
		return finished(p, (long double)a * b, 0, 0);
	if (of_floats(p))
		return finished(p, (long double)a + b, 0, 0);
	return finished(p,
			(long double)(rescaled(p, (int64_t)a * (1 << 20), 0) +
				      rescaled(p, (int64_t)b * (1 << 20), 1)),
			2, 0);
}

static long double element_convert(struct problem *p, const uint32_t at[4])
{
	return finished(p, load(p, 1, at), 0, 0);
}

static long double element_pad(struct problem *p, const uint32_t at[4])
{
	uint32_t in[4];

	for (int d = 0; d < 4; d++) {
		in[d] = at[d] - (uint32_t)p->attributes[d];
		if (at[d] < (uint32_t)p->attributes[d] || in[d] >= p->shape[1][d])
			return of_floats(p) ? float_of(p->attributes[NPUMEM_COMMAND_PAD_VALUE]) :
					      p->attributes[NPUMEM_COMMAND_PAD_VALUE];
	}
	return load(p, 1, in) + p->zero[1];
}

static long double element_concatenation(struct problem *p, const uint32_t at[4])
{
	uint32_t in[4] = { at[0], at[1], at[2], at[3] };

	for (int d = 0; d < 4; d++) {
		if (p->shape[1][d] == p->shape[0][d])
			continue;
		if (at[d] < p->shape[1][d])
			break;
		in[d] -= p->shape[1][d];
		return load(p, 2, in) + p->zero[2];
	}
	return load(p, 1, in) + p->zero[1];
}

static long double element_slice(struct problem *p, const uint32_t at[4])
{
	uint32_t in[4];

	for (int d = 0; d < 4; d++)
		in[d] = at[d] + (uint32_t)p->attributes[d];
	return load(p, 1, in) + p->zero[1];
}

/* Where a place of the output is in the input, in the precision of the definition. */
static float place_of(const struct problem *p, int d, uint32_t at, bool nearest)
{
	bool align = p->attributes[NPUMEM_COMMAND_ALIGN_CORNERS];
	bool half = p->attributes[NPUMEM_COMMAND_HALF_PIXEL];
	float in = (float)p->shape[1][d], out = (float)p->shape[0][d];
	float scale = align && out > 1 ? (in - 1) / (out - 1) : in / out;

	if (nearest)
		return ((float)at + (half ? 0.5f : 0)) * scale;
	return half ? ((float)at + 0.5f) * scale - 0.5f : (float)at * scale;
}

static uint32_t inside(float place, uint32_t count)
{
	return place<0 ? 0 : place>(float)(count - 1) ? count - 1 : (uint32_t)place;
}

static long double element_resize(struct problem *p, const uint32_t at[4])
{
	bool nearest = p->operation == NPUMEM_COMMAND_RESIZE_NEAREST;
	uint32_t low[2], high[2], in[4] = { at[0], 0, 0, at[3] };
	long double part[2], result = 0;

	for (int d = 0; d < 2; d++) {
		float place = place_of(p, 1 + d, at[1 + d], nearest);
		uint32_t count = p->shape[1][1 + d];

		if (nearest) {
			place = p->attributes[NPUMEM_COMMAND_ALIGN_CORNERS] ? roundf(place) :
									      floorf(place);
			low[d] = high[d] = inside(place, count);
			part[d] = 0;
			continue;
		}
		low[d] = inside(floorf(place), count);
		high[d] = inside(ceilf(place), count);
		part[d] = place - (float)low[d];
	}
	for (int corner = 0; corner < (nearest ? 1 : 4); corner++) {
		in[1] = corner & 2 ? high[0] : low[0];
		in[2] = corner & 1 ? high[1] : low[1];
		add_term(p, &result,
			 (load(p, 1, in) + p->zero[1]) * (corner & 2 ? part[0] : 1 - part[0]) *
				 (corner & 1 ? part[1] : 1 - part[1]));
	}
	return result;
}

static long double element_softmax(struct problem *p, const uint32_t at[4])
{
	long double beta = float_of(p->attributes[NPUMEM_COMMAND_SOFTMAX_BETA]), sum = 0;
	uint32_t in[4] = { at[0], at[1], at[2], 0 };
	long double own = load(p, 1, at);

	for (; in[3] < p->shape[1][3]; in[3]++)
		sum += expl((load(p, 1, in) - own) * beta);
	return 1 / sum;
}

static long double element_logistic(struct problem *p, const uint32_t at[4])
{
	float x, y;

	if (of_floats(p))
		return 1 / (1 + expl(-(long double)load(p, 1, at)));
	/* In single precision, as TensorFlow Lite's PopulateLookupTable() does. */
	x = float_of(p->attributes[NPUMEM_COMMAND_LOGISTIC_FACTOR]) * (float)load(p, 1, at);
	y = 1 / (1 + expf(-x));
	return p->type == NPUMEM_COMMAND_INT8 ?
		       clamped(roundf(256 * y) + (float)p->zero[0], INT8_MIN, INT8_MAX) :
		       clamped(roundf(256 * y) + (float)p->zero[0], 0, UINT8_MAX);
}

static long double element_tanh(struct problem *p, const uint32_t at[4])
{
	return tanhl(load(p, 1, at));
}

/* ------------------------------------------------------------------------------- problems */

static void set_shape(struct problem *p, uint32_t operand, unsigned int type, uint32_t n,
		      uint32_t h, uint32_t w, uint32_t c)
{
	memcpy(p->shape[operand], (uint32_t[4]){ n, h, w, c }, sizeof(p->shape[operand]));
	p->types[operand] = type;
	if (operand >= p->operand_count)
		p->operand_count = operand + 1;
}

/* Two attributes: all of the type, or some of it. */
static void draw_range(struct problem *p, uint32_t first, uint64_t *seed)
{
	bool all = random_range(seed, 0, 1);
	bool is_signed = p->type == NPUMEM_COMMAND_INT8;

	if (of_floats(p)) {
		p->attributes[first] = bits_of(all ? -INFINITY : -0.5f);
		p->attributes[first + 1] = bits_of(all ? INFINITY : 1.25f);
		return;
	}
	p->attributes[first] = all ? (is_signed ? INT8_MIN : 0) : 3;
	p->attributes[first + 1] = all ? (is_signed ? INT8_MAX : UINT8_MAX) : 101;
}

static void draw_scales(struct problem *p, uint32_t count, int least, int most, uint64_t *seed)
{
	if (of_floats(p))
		return;
	p->scale_count = count;
	for (uint32_t i = 0; i < count; i++) {
		p->multiplier[i] = (int32_t)random_range(seed, 1 << 30, INT32_MAX);
		p->shift[i] = least + (int)random_range(seed, 0, (uint32_t)(most - least));
	}
}

static void draw_data(struct problem *p, uint64_t *seed)
{
	for (uint32_t o = 0; o < p->operand_count; o++) {
		uint32_t count = count_of(p->shape[o]);

		assert_in_range(count, 1, MAX_COUNT);
		for (uint32_t i = 0; i < count; i++) {
			uint64_t r = random_next(seed);

			if (p->types[o] == NPUMEM_COMMAND_FLOAT32)
				((float *)(void *)p->data[o])[i] =
					(float)((double)(int32_t)r * 0x1p-30);
			else if (p->types[o] == NPUMEM_COMMAND_INT32)
				((int32_t *)(void *)p->data[o])[i] = (int32_t)r >> 16;
			else
				p->data[o][i] = (uint8_t)r;
		}
		if (p->types[o] == NPUMEM_COMMAND_INT8)
			p->zero[o] = (int32_t)random_range(seed, 0, 255) - 128;
		if (p->types[o] == NPUMEM_COMMAND_UINT8)
			p->zero[o] = (int32_t)random_range(seed, 0, 255);
	}
}

/* Whether each window, of as many as there are, has a tap that is no padding. */
static bool has_taps(int32_t kernel, int32_t dilation, int32_t stride, int32_t pad, int32_t in)
{
	int32_t count = (in + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;

	for (int32_t o = 0; o < count; o++) {
		bool has = false;

		for (int32_t k = 0; k < kernel; k++) {
			int32_t at = o * stride - pad + k * dilation;

			has = has || (at >= 0 && at < in);
		}
		if (!has)
			return false;
	}
	return true;
}

static void draw_window(struct problem *p, uint64_t *seed, uint32_t out[2])
{
	for (int d = 0; d < 2; d++) {
		int32_t kernel = (int32_t)random_range(seed, 1, 3);
		int32_t dilation = (int32_t)random_range(seed, 1, 2);
		int32_t extent = (kernel - 1) * dilation + 1;
		int32_t stride = (int32_t)random_range(seed, 1, 3);
		int32_t pad = (int32_t)random_range(seed, 0, (uint32_t)(extent - 1));
		int32_t in = (int32_t)p->shape[1][1 + d];

		if (extent > in) {
			kernel = 1;
			extent = 1;
			pad = 0;
		}
		if (!has_taps(kernel, dilation, stride, pad, in))
			pad = 0;
		p->attributes[NPUMEM_COMMAND_STRIDE_H + d] = stride;
		p->attributes[NPUMEM_COMMAND_DILATION_H + d] = dilation;
		p->attributes[NPUMEM_COMMAND_PAD_TOP + d] = pad;
		p->attributes[NPUMEM_COMMAND_KERNEL_H + d] = kernel;
		/* Behind the last row there is padding, too. */
		out[d] = (uint32_t)((in + 2 * pad - extent) / stride + 1);
	}
	p->attribute_count = NPUMEM_COMMAND_WINDOW_ATTRIBUTES;
	draw_range(p, NPUMEM_COMMAND_WINDOW_MIN, seed);
}

static void draw_input(struct problem *p, uint64_t *seed, uint32_t channels)
{
	set_shape(p, 1, p->type, random_range(seed, 1, 2), random_range(seed, 3, 7),
		  random_range(seed, 3, 6), channels);
}

static void draw_conv(struct problem *p, uint64_t *seed)
{
	bool depthwise = p->operation == NPUMEM_COMMAND_DEPTHWISE;
	uint32_t groups = random_range(seed, 1, 3), each = random_range(seed, 1, 3), out[2];
	/* Few channels of the output, and so many that they are computed in blocks. */
	uint32_t multiplier = random_range(seed, 0, 1) ? random_range(seed, 1, 3) :
							 random_range(seed, 4, 40 / groups);
	uint32_t channels = groups * multiplier;
	unsigned int bias = of_floats(p) ? NPUMEM_COMMAND_FLOAT32 : NPUMEM_COMMAND_INT32;
	const int32_t *a = p->attributes;

	if (depthwise)
		each = 1;
	draw_input(p, seed, groups * each);
	draw_window(p, seed, out);
	set_shape(p, 0, p->type, p->shape[1][0], out[0], out[1], channels);
	set_shape(p, 2, p->type, depthwise ? 1 : channels, (uint32_t)a[NPUMEM_COMMAND_KERNEL_H],
		  (uint32_t)a[NPUMEM_COMMAND_KERNEL_W], depthwise ? channels : each);
	if (random_range(seed, 0, 3))
		set_shape(p, 3, bias, 1, 1, 1, channels);
	draw_scales(p, random_range(seed, 0, 1) ? 1 : channels, -11, -5, seed);
	p->element = element_conv;
}

static void draw_pool(struct problem *p, uint64_t *seed)
{
	uint32_t out[2];

	draw_input(p, seed, random_range(seed, 1, 5));
	draw_window(p, seed, out);
	set_shape(p, 0, p->type, p->shape[1][0], out[0], out[1], p->shape[1][3]);
	p->element = element_pool;
}

static void draw_binary(struct problem *p, uint64_t *seed)
{
	uint32_t *out = p->shape[0];

	draw_input(p, seed, random_range(seed, 1, 9));
	set_shape(p, 0, p->type, p->shape[1][0], p->shape[1][1], p->shape[1][2], p->shape[1][3]);
	set_shape(p, 2, p->type, out[0], out[1], out[2], out[3]);
	for (uint32_t o = 1; o < 3; o++)
		for (int d = 0; d < 4; d++)
			if (!random_range(seed, 0, 5))
				p->shape[o][d] = 1;
	p->attribute_count = NPUMEM_COMMAND_CLAMP_ATTRIBUTES;
	draw_range(p, 0, seed);
	if (p->operation == NPUMEM_COMMAND_MUL)
		draw_scales(p, 1, -9, -5, seed);
	else
		draw_scales(p, 3, -3, 0, seed);
	if (p->scale_count == 3)
		p->shift[2] = -19;
	p->element = element_binary;
}

/* The same shape for both. */
static void draw_unary(struct problem *p, uint64_t *seed)
{
	draw_input(p, seed, random_range(seed, 1, 9));
	set_shape(p, 0, p->type, p->shape[1][0], p->shape[1][1], p->shape[1][2], p->shape[1][3]);
	switch (p->operation) {
	case NPUMEM_COMMAND_CONVERT:
		p->attribute_count = NPUMEM_COMMAND_CONVERT_ATTRIBUTES;
		draw_range(p, 0, seed);
		draw_scales(p, 1, -2, 3, seed);
		p->element = element_convert;
		break;
	case NPUMEM_COMMAND_SOFTMAX:
		p->attribute_count = NPUMEM_COMMAND_SOFTMAX_ATTRIBUTES;
		p->attributes[NPUMEM_COMMAND_SOFTMAX_BETA] = bits_of(1.5f);
		p->element = element_softmax;
		break;
	case NPUMEM_COMMAND_LOGISTIC:
		p->attribute_count = NPUMEM_COMMAND_LOGISTIC_ATTRIBUTES;
		p->attributes[NPUMEM_COMMAND_LOGISTIC_FACTOR] =
			bits_of((float)random_range(seed, 1, 64) / 512);
		p->element = element_logistic;
		break;
	default:
		p->element = element_tanh;
	}
}

static void draw_pad(struct problem *p, uint64_t *seed)
{
	draw_input(p, seed, random_range(seed, 1, 5));
	set_shape(p, 0, p->type, 0, 0, 0, 0);
	for (int d = 0; d < 4; d++) {
		p->attributes[d] = (int32_t)random_range(seed, 0, 2);
		p->shape[0][d] =
			p->shape[1][d] + (uint32_t)p->attributes[d] + random_range(seed, 0, 1);
	}
	p->attributes[NPUMEM_COMMAND_PAD_VALUE] = of_floats(p) ? bits_of(2.5f) : 17;
	p->attribute_count = NPUMEM_COMMAND_PAD_ATTRIBUTES;
	p->element = element_pad;
}

static void draw_concatenation(struct problem *p, uint64_t *seed)
{
	uint32_t axis = random_range(seed, 0, 3), *in = p->shape[1];

	draw_input(p, seed, random_range(seed, 2, 5));
	set_shape(p, 2, p->type, in[0], in[1], in[2], in[3]);
	p->shape[2][axis] = random_range(seed, 1, 4);
	set_shape(p, 0, p->type, in[0], in[1], in[2], in[3]);
	p->shape[0][axis] += p->shape[2][axis];
	p->element = element_concatenation;
}

static void draw_slice(struct problem *p, uint64_t *seed)
{
	uint32_t out[4];

	draw_input(p, seed, random_range(seed, 2, 5));
	for (int d = 0; d < 4; d++) {
		uint32_t first = random_range(seed, 0, p->shape[1][d] - 1);

		p->attributes[NPUMEM_COMMAND_SLICE_FIRST + d] = (int32_t)first;
		out[d] = random_range(seed, 1, p->shape[1][d] - first);
	}
	set_shape(p, 0, p->type, out[0], out[1], out[2], out[3]);
	p->attribute_count = NPUMEM_COMMAND_SLICE_ATTRIBUTES;
	p->element = element_slice;
}

static void draw_resize(struct problem *p, uint64_t *seed)
{
	draw_input(p, seed, random_range(seed, 1, 5));
	set_shape(p, 0, p->type, p->shape[1][0], random_range(seed, 1, 12),
		  random_range(seed, 1, 12), p->shape[1][3]);
	p->attributes[NPUMEM_COMMAND_ALIGN_CORNERS] = (int32_t)random_range(seed, 0, 1);
	if (!p->attributes[NPUMEM_COMMAND_ALIGN_CORNERS])
		p->attributes[NPUMEM_COMMAND_HALF_PIXEL] = (int32_t)random_range(seed, 0, 1);
	p->attribute_count = NPUMEM_COMMAND_RESIZE_ATTRIBUTES;
	p->element = element_resize;
}

static const struct {
	unsigned int operation;
	void (*draw)(struct problem *p, uint64_t *seed);
	bool floats_only;
	bool same_zero;
} kinds[] = {
	{ NPUMEM_COMMAND_CONV, draw_conv, false, false },
	{ NPUMEM_COMMAND_DEPTHWISE, draw_conv, false, false },
	{ NPUMEM_COMMAND_AVERAGE_POOL, draw_pool, false, true },
	{ NPUMEM_COMMAND_MAX_POOL, draw_pool, false, true },
	{ NPUMEM_COMMAND_ADD, draw_binary, false, false },
	{ NPUMEM_COMMAND_MUL, draw_binary, false, false },
	{ NPUMEM_COMMAND_CONVERT, draw_unary, false, false },
	{ NPUMEM_COMMAND_PAD, draw_pad, false, true },
	{ NPUMEM_COMMAND_CONCATENATION, draw_concatenation, false, true },
	{ NPUMEM_COMMAND_SLICE, draw_slice, false, true },
	{ NPUMEM_COMMAND_RESIZE_NEAREST, draw_resize, false, true },
	{ NPUMEM_COMMAND_RESIZE_BILINEAR, draw_resize, true, false },
	{ NPUMEM_COMMAND_SOFTMAX, draw_unary, true, false },
	{ NPUMEM_COMMAND_LOGISTIC, draw_unary, false, false },
	{ NPUMEM_COMMAND_TANH, draw_unary, true, false },
};

const unsigned int problem_kinds = sizeof(kinds) / sizeof(kinds[0]);

void draw_problem(struct problem *p, unsigned int number, uint64_t *seed)
{
	static const unsigned int types[] = { NPUMEM_COMMAND_INT8, NPUMEM_COMMAND_UINT8,
					      NPUMEM_COMMAND_FLOAT32 };
	__typeof__(kinds[0]) *kind = &kinds[number];

	memset(p, 0, sizeof(*p));
	p->operation = kind->operation;
	p->type = types[kind->floats_only ? 2 : random_range(seed, 0, 2)];
	kind->draw(p, seed);
	draw_data(p, seed);
	for (uint32_t o = 1; kind->same_zero && o < p->operand_count; o++)
		p->zero[o] = p->zero[0];
	/* The least unit in which it may be off is of its own size. */
	for (uint32_t o = 0; o < p->operand_count; o++)
		if (p->types[o] == NPUMEM_COMMAND_FLOAT32 || p->types[o] == NPUMEM_COMMAND_INT32)
			p->zero[o] = 0;
}

bool is_conv(const struct problem *p)
{
	return p->element == element_conv;
}
