// SPDX-License-Identifier: MIT
/*
 * Operators, element by element once more: from their definitions, without a line of the
 * engine's. Each is computed whole, then in random tiles from the smallest boxes of its inputs
 * that have what the tile needs; one row, column or channel less is refused.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "command_build.h"
#include "random.h"
#include "unit.h"

#define SEED	   20261123
#define PROBLEMS   150
#define TILES	   6
#define OPERANDS   4
#define MAX_COUNT  4096
#define MAX_SCALES 64

/*
 * struct problem - an operator with its operands, all there
 * @data: as they lie in memory, row-major
 * @low, @high: per operand the elements that were loaded since they were reset
 * @sum: of magnitudes that were added up
 * @element: of the output, as a number
 */
struct problem {
	unsigned int operation;
	unsigned int type;
	uint32_t operand_count;
	uint32_t shape[OPERANDS][4];
	unsigned int types[OPERANDS];
	int32_t zero[OPERANDS];
	_Alignas(8) uint8_t data[OPERANDS][MAX_COUNT * 4];
	uint32_t low[OPERANDS][4];
	uint32_t high[OPERANDS][4];
	int32_t multiplier[MAX_SCALES];
	int32_t shift[MAX_SCALES];
	uint32_t scale_count;
	int32_t attributes[16];
	uint32_t attribute_count;
	long double sum;
	long double (*element)(struct problem *p, const uint32_t at[4]);
};

static uint32_t count_of(const uint32_t shape[4])
{
	return shape[0] * shape[1] * shape[2] * shape[3];
}

static uint32_t index_of(const uint32_t shape[4], const uint32_t at[4])
{
	return ((at[0] * shape[1] + at[1]) * shape[2] + at[2]) * shape[3] + at[3];
}

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

static bool of_floats(const struct problem *p)
{
	return p->type == NPUMEM_COMMAND_FLOAT32;
}

static float float_of(int32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static int32_t bits_of(float value)
{
	int32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
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
	return 1 / (1 + expl(-(long double)load(p, 1, at)));
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

static void draw_window(struct problem *p, uint64_t *seed, uint32_t out[2])
{
	for (int d = 0; d < 2; d++) {
		int32_t kernel = (int32_t)random_range(seed, 1, 3);
		int32_t dilation = (int32_t)random_range(seed, 1, 2);
		int32_t extent = (kernel - 1) * dilation + 1;
		int32_t stride = (int32_t)random_range(seed, 1, 3);
		/* Every window has a tap that is no padding. */
		int32_t pad = (int32_t)random_range(seed, 0, (uint32_t)(kernel - 1) * 1u);
		int32_t in = (int32_t)p->shape[1][1 + d];

		if (dilation > 1 || extent > in + pad)
			pad = 0;
		if (extent > in) {
			kernel = 1;
			extent = 1;
			pad = 0;
		}
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
	uint32_t multiplier = random_range(seed, 1, 3), channels = groups * multiplier;
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

static const struct kind {
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
	{ NPUMEM_COMMAND_RESIZE_NEAREST, draw_resize, false, true },
	{ NPUMEM_COMMAND_RESIZE_BILINEAR, draw_resize, true, false },
	{ NPUMEM_COMMAND_SOFTMAX, draw_unary, true, false },
	{ NPUMEM_COMMAND_LOGISTIC, draw_unary, true, false },
	{ NPUMEM_COMMAND_TANH, draw_unary, true, false },
};

static void draw_problem(struct problem *p, const struct kind *kind, uint64_t *seed)
{
	static const unsigned int types[] = { NPUMEM_COMMAND_INT8, NPUMEM_COMMAND_UINT8,
					      NPUMEM_COMMAND_FLOAT32 };

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

/* ---------------------------------------------------------------------------------- tiles */

/*
 * struct tiles - of all operands: what a command is of
 * @data: their bytes, dense
 */
struct tiles {
	uint32_t origin[OPERANDS][4];
	uint32_t dims[OPERANDS][4];
	_Alignas(8) uint8_t data[OPERANDS][MAX_COUNT * 4];
};

/* What of the inputs the elements of a box of the output need. */
static void find_needed(struct problem *p, struct tiles *t)
{
	uint32_t at[4], end[4];

	memset(p->low, 0xff, sizeof(p->low));
	memset(p->high, 0, sizeof(p->high));
	for (int d = 0; d < 4; d++)
		end[d] = t->origin[0][d] + t->dims[0][d];
	for (at[0] = t->origin[0][0]; at[0] < end[0]; at[0]++)
		for (at[1] = t->origin[0][1]; at[1] < end[1]; at[1]++)
			for (at[2] = t->origin[0][2]; at[2] < end[2]; at[2]++)
				for (at[3] = t->origin[0][3]; at[3] < end[3]; at[3]++)
					p->element(p, at);
	for (uint32_t o = 1; o < p->operand_count; o++)
		for (int d = 0; d < 4; d++) {
			bool none = p->low[o][0] == UINT32_MAX;

			t->origin[o][d] = none ? 0 : p->low[o][d];
			t->dims[o][d] = none ? 0 : p->high[o][d] - p->low[o][d] + 1;
		}
}

/* The bytes of the boxes. */
static void cut(const struct problem *p, struct tiles *t)
{
	for (uint32_t o = 1; o < p->operand_count; o++) {
		unsigned int elem = engine_type_size(p->types[o]);
		uint8_t *to = t->data[o];

		for (uint32_t i = 0; i < count_of(t->dims[o]); i++, to += elem) {
			uint32_t rest = i, at[4];

			for (int d = 4; d-- > 0; rest /= t->dims[o][d])
				at[d] = t->origin[o][d] + rest % t->dims[o][d];
			memcpy(to, &p->data[o][index_of(p->shape[o], at) * elem], elem);
		}
	}
}

static int run(const struct problem *p, struct tiles *t, const char **why)
{
	bool by_channel = p->element == element_conv && p->scale_count > 1;
	struct engine_access accesses[OPERANDS];
	static struct command_build b;

	command_begin(&b, p->operation);
	for (uint32_t o = 0; o < p->operand_count; o++) {
		struct npumem_command_operand *operand =
			command_operand(&b, p->types[o], p->shape[o]);

		operand->zero_point = p->zero[o];
		command_tile(&b, o, t->origin[o], t->dims[o]);
		if (!t->dims[o][0]) {
			/* Nothing is needed: there is no access of it. */
			operand->piece_count = 0;
			b.head.piece_count--;
		}
		accesses[o] = (struct engine_access){
			.data = t->data[o],
			.size = (uint64_t)count_of(t->dims[o]) * engine_type_size(p->types[o]),
			.writable = !o,
		};
	}
	for (uint32_t i = 0; i < (by_channel ? t->dims[0][3] : p->scale_count); i++) {
		uint32_t scale = (by_channel ? t->origin[0][3] : 0) + i;

		command_scale(&b, p->multiplier[scale], p->shift[scale]);
	}
	memcpy(b.attributes, p->attributes, sizeof(b.attributes));
	b.head.attribute_count = p->attribute_count;
	command_finish(&b);
	memset(t->data[0], 0x77, sizeof(t->data[0]));
	return command_run(&b, accesses, p->operand_count, why);
}

/* All elements of the output's box; floats that the whole had, too: @whole may be NULL. */
static void compare(struct problem *p, const struct tiles *t, const struct tiles *whole)
{
	for (uint32_t i = 0; i < count_of(t->dims[0]); i++) {
		uint32_t rest = i, at[4], index;
		long double exact, got;

		for (int d = 4; d-- > 0; rest /= t->dims[0][d])
			at[d] = t->origin[0][d] + rest % t->dims[0][d];
		index = index_of(p->shape[0], at);
		p->sum = 0;
		exact = p->element(p, at);
		if (of_floats(p)) {
			float value, unit;

			memcpy(&value, &t->data[0][i * 4], sizeof(value));
			unit = nextafterf(fabsf((float)exact), INFINITY) - fabsf((float)exact);
			got = value;
			/* One unit in the last place, and what cancels in double precision. */
			if (fabsl(got - exact) > unit + p->sum * 0x1p-48)
				fail_msg("%s: element %u is %.9Lg, must be %.9Lg",
					 engine_operator_name(p->operation), index, got, exact);
			if (whole)
				assert_memory_equal(&t->data[0][i * 4], &whole->data[0][index * 4],
						    4);
			continue;
		}
		got = p->type == NPUMEM_COMMAND_INT8 ? (int8_t)t->data[0][i] : t->data[0][i];
		if (got != exact)
			fail_msg("%s: element %u is %d, must be %d",
				 engine_operator_name(p->operation), index, (int)got, (int)exact);
	}
}

/* One element less of an input, along each dimension in which it has two. */
static unsigned int refuse_less(const struct problem *p, struct tiles *t)
{
	unsigned int refused = 0;

	for (uint32_t o = 1; o < p->operand_count; o++)
		for (int d = 0; d < 4; d++) {
			const char *why = NULL;

			if (t->dims[o][d] < 2)
				continue;
			t->dims[o][d]--;
			cut(p, t);
			if (run(p, t, &why) != -EINVAL)
				fail_msg("%s: input %u without all of dimension %d is taken",
					 engine_operator_name(p->operation), o, d);
			assert_non_null(why);
			assert_int_equal(t->data[0][0], 0x77);
			t->dims[o][d]++;
			refused++;
		}
	return refused;
}

static void check_problem(struct problem *p, uint64_t *seed, unsigned int *tiles,
			  unsigned int *refused)
{
	static struct tiles whole, t;
	const char *why = "";

	memset(&whole, 0, sizeof(whole));
	memcpy(whole.dims, p->shape, sizeof(whole.dims));
	memcpy(whole.data, p->data, sizeof(whole.data));
	if (run(p, &whole, &why))
		fail_msg("%s: %s", engine_operator_name(p->operation), why);
	compare(p, &whole, NULL);
	for (int i = 0; i < TILES; i++) {
		memset(&t, 0, sizeof(t));
		for (int d = 0; d < 4; d++) {
			uint32_t size = p->shape[0][d];

			t.origin[0][d] = random_range(seed, 0, size - 1);
			t.dims[0][d] = random_range(seed, 1, size - t.origin[0][d]);
		}
		find_needed(p, &t);
		/* A softmax has all channels, and weights and the like are never empty. */
		if (p->operation == NPUMEM_COMMAND_SOFTMAX) {
			t.origin[0][3] = 0;
			t.dims[0][3] = p->shape[0][3];
			find_needed(p, &t);
		}
		for (uint32_t o = 2; o < p->operand_count && p->element == element_conv; o++)
			if (o > 2 || !t.dims[o][0] || t.dims[o][1] < p->shape[o][1] ||
			    t.dims[o][2] < p->shape[o][2]) {
				memset(t.origin[o], 0, sizeof(t.origin[o]));
				memcpy(t.dims[o], p->shape[o], sizeof(t.dims[o]));
			}
		cut(p, &t);
		if (run(p, &t, &why))
			fail_msg("%s, tile %d: %s", engine_operator_name(p->operation), i, why);
		compare(p, &t, &whole);
		(*tiles)++;
		/* Of weights that are there whole more than the tile's channels is not needed. */
		if (p->element != element_conv)
			*refused += refuse_less(p, &t);
	}
}

TEST(operators)
{
	static struct problem p;
	uint64_t seed = SEED;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		unsigned int tiles = 0, refused = 0;

		for (int i = 0; i < PROBLEMS; i++) {
			draw_problem(&p, &kinds[k], &seed);
			check_problem(&p, &seed, &tiles, &refused);
		}
		print_message("# %s: %u tiles, %u refused\n",
			      engine_operator_name(kinds[k].operation), tiles, refused);
		assert_int_equal(tiles, PROBLEMS * TILES);
		if (p.element != element_conv)
			assert_true(refused > PROBLEMS);
	}
}

/* Of a convolution's input all is needed that its windows reach. */
TEST(windows_reach)
{
	static struct problem p;
	static struct tiles t;
	uint64_t seed = SEED;
	unsigned int refused = 0;

	for (int i = 0; i < PROBLEMS; i++) {
		uint32_t operands;

		draw_problem(&p, &kinds[i % 2], &seed);
		memset(&t, 0, sizeof(t));
		memcpy(t.dims, p.shape, sizeof(t.dims));
		find_needed(&p, &t);
		for (uint32_t o = 2; o < p.operand_count; o++) {
			memset(t.origin[o], 0, sizeof(t.origin[o]));
			memcpy(t.dims[o], p.shape[o], sizeof(t.dims[o]));
		}
		operands = p.operand_count;
		for (int d = 0; d < 4; d++) {
			const char *why = NULL;

			if (t.dims[1][d] < 2)
				continue;
			t.dims[1][d]--;
			cut(&p, &t);
			assert_int_equal(run(&p, &t, &why), -EINVAL);
			t.dims[1][d]++;
			refused++;
		}
		assert_int_equal(operands, p.operand_count);
	}
	assert_true(refused > PROBLEMS);
}

/* ------------------------------------------------------------------ softmax and logistic */

/* One integer for each of all inputs: within one of what the math library says. */
TEST(integer_curves)
{
	static const uint32_t shape[4] = { 1, 1, 1, 256 };
	int8_t in[256], out[256];
	const struct engine_access accesses[2] = {
		{ .data = out, .size = 256, .writable = true },
		{ .data = in, .size = 256 },
	};
	const double scale = 0.05;
	struct command_build b;
	const char *why = "";
	double sum = 0;

	for (int i = 0; i < 256; i++) {
		in[i] = (int8_t)(i - 128);
		sum += exp((in[i] - 127) * scale);
	}
	command_begin(&b, NPUMEM_COMMAND_LOGISTIC);
	command_operand(&b, NPUMEM_COMMAND_INT8, shape);
	command_operand(&b, NPUMEM_COMMAND_INT8, shape)->zero_point = 5;
	b.head.attribute_count = NPUMEM_COMMAND_LOGISTIC_ATTRIBUTES;
	/* scale 2^27 = multiplier 2^(shift - 31); the radius is beyond all inputs. */
	command_scale(&b, (int32_t)(scale * 16 * 0x1p31), 23);
	b.attributes[NPUMEM_COMMAND_LOGISTIC_RADIUS] = 319;
	command_finish(&b);
	assert_int_equal(command_run(&b, accesses, 2, &why), 0);
	for (int i = 0; i < 256; i++)
		assert_true(fabs(256 / (1 + exp(-(in[i] - 5) * scale)) - 128 - out[i]) <= 1);

	command_begin(&b, NPUMEM_COMMAND_SOFTMAX);
	command_operand(&b, NPUMEM_COMMAND_INT8, shape);
	command_operand(&b, NPUMEM_COMMAND_INT8, shape);
	b.head.attribute_count = NPUMEM_COMMAND_SOFTMAX_ATTRIBUTES;
	command_scale(&b, (int32_t)(scale * 16 * 0x1p31), 22);
	b.attributes[NPUMEM_COMMAND_SOFTMAX_DIFF_MIN] = -INT32_MAX;
	command_finish(&b);
	assert_int_equal(command_run(&b, accesses, 2, &why), 0);
	for (int i = 0; i < 256; i++)
		assert_true(fabs(256 * exp((in[i] - 127) * scale) / sum - 128 - out[i]) <= 1);
}

/* Between integers and floats, halves of a unit away from zero; half precision is exact. */
TEST(conversions)
{
	static const uint32_t shape[4] = { 1, 1, 1, 6 };
	const float floats[6] = { -0.25f, 0.25f, 1.0f, 1000.0f, -1000.0f, NAN };
	const uint16_t halves[6] = { 0x3c00, 0xc000, 0x0001, 0x7bff, 0x8000, 0xfc00 };
	const float expected[6] = { 1, -2, 0x1p-24f, 65504, -0.0f, -INFINITY };
	float wide[6];
	int8_t narrow[6];
	struct engine_access accesses[2] = {
		{ .data = narrow, .size = 6, .writable = true },
		{ .data = (void *)(uintptr_t)floats, .size = sizeof(floats) },
	};
	struct command_build b;
	const char *why = "";

	command_begin(&b, NPUMEM_COMMAND_CONVERT);
	command_operand(&b, NPUMEM_COMMAND_INT8, shape)->zero_point = 3;
	command_operand(&b, NPUMEM_COMMAND_FLOAT32, shape);
	b.head.attribute_count = NPUMEM_COMMAND_CONVERT_ATTRIBUTES;
	command_range(&b, 0);
	b.attributes[NPUMEM_COMMAND_CONVERT_FACTOR] = bits_of(0.5f);
	command_finish(&b);
	assert_int_equal(command_run(&b, accesses, 2, &why), 0);
	assert_memory_equal(narrow, ((const int8_t[6]){ 2, 4, 5, 127, -128, -128 }), 6);

	accesses[1] = accesses[0];
	accesses[0] = (struct engine_access){ wide, sizeof(wide), true };
	command_begin(&b, NPUMEM_COMMAND_CONVERT);
	command_operand(&b, NPUMEM_COMMAND_FLOAT32, shape);
	command_operand(&b, NPUMEM_COMMAND_INT8, shape)->zero_point = 3;
	b.head.attribute_count = NPUMEM_COMMAND_CONVERT_ATTRIBUTES;
	command_range(&b, 0);
	b.attributes[NPUMEM_COMMAND_CONVERT_FACTOR] = bits_of(0.5f);
	command_finish(&b);
	assert_int_equal(command_run(&b, accesses, 2, &why), 0);
	for (int i = 0; i < 6; i++)
		assert_true(wide[i] == 0.5f * (float)(narrow[i] - 3));

	accesses[1] = (struct engine_access){ (void *)(uintptr_t)halves, sizeof(halves), false };
	b.operands[1].type = NPUMEM_COMMAND_FLOAT16;
	b.operands[1].zero_point = 0;
	command_tile(&b, 1, b.operands[1].origin, shape);
	b.attributes[NPUMEM_COMMAND_CONVERT_FACTOR] = 0;
	command_finish(&b);
	assert_int_equal(command_run(&b, accesses, 2, &why), 0);
	assert_memory_equal(wide, expected, sizeof(wide));
}
