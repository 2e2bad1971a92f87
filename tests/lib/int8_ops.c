// SPDX-License-Identifier: MIT
#include "int8_ops.h"

#include <math.h>
#include <string.h>

#define BLOCK 32

/* ------------------------------------------------------------ where elements lie */

static uint32_t channel_axis(const struct npuplan_graph *graph, uint32_t rank)
{
	return graph->source_layout == NPUPLAN_NHWC ? rank - 1 : 1;
}

static uint32_t space_axis(const struct npuplan_graph *graph, uint32_t d)
{
	return graph->source_layout == NPUPLAN_NHWC ? 1 + d : 2 + d;
}

uint64_t int8_byte(const struct npuplan_graph *graph, uint32_t tensor, const int64_t *at)
{
	const struct npuplan_tensor *t = &graph->tensors[tensor];
	uint32_t rank = t->dim_count, channel = channel_axis(graph, rank);
	uint64_t byte = 0, place = 0, places = 1, channels, blocks;

	if ((rank != 4 && rank != 5) || t->kind == NPUMEM_TENSOR_PARAMETER) {
		for (uint32_t d = 0; d < rank; d++)
			byte = byte * t->shape[d] + at[d];
		return byte;
	}
	for (uint32_t d = 0; d + 2 < rank; d++) {
		place = place * t->shape[space_axis(graph, d)] + at[space_axis(graph, d)];
		places *= t->shape[space_axis(graph, d)];
	}
	channels = t->shape[channel];
	blocks = (channels + BLOCK - 1) / BLOCK;
	if (graph->layout == NPUPLAN_NCHW)
		return (at[0] * channels + at[channel]) * places + place;
	if (graph->layout == NPUPLAN_NHWC || places == 1)
		return (at[0] * places + place) * channels + at[channel];
	return ((at[0] * blocks + at[channel] / BLOCK) * places + place) * BLOCK +
	       at[channel] % BLOCK;
}

bool int8_next(const struct npuplan_tensor *tensor, int64_t *at)
{
	for (uint32_t d = tensor->dim_count; d-- > 0;) {
		if (++at[d] < tensor->shape[d])
			return true;
		at[d] = 0;
	}
	return false;
}

/* ---------------------------------------------------------------------- arithmetic */

static const struct npuplan_tensor *input_of(const struct int8_op *k, uint32_t input)
{
	return &k->graph->tensors[k->op->inputs[input]];
}

static const struct npuplan_tensor *output_of(const struct int8_op *k)
{
	return &k->graph->tensors[k->op->outputs[k->output]];
}

static int load(const struct int8_op *k, uint32_t input, const int64_t *at)
{
	return k->load(k->context, input, int8_byte(k->graph, k->op->inputs[input], at));
}

static int8_t clamp(int64_t value)
{
	return value < INT8_MIN ? INT8_MIN : value > INT8_MAX ? INT8_MAX : (int8_t)value;
}

/* An int8 is sixteenths. */
static int8_t from_real(double value)
{
	return isfinite(value) ? clamp((int64_t)fmax(-1e3, fmin(1e3, nearbyint(value * 16)))) :
				 INT8_MIN;
}

/* Sum of @terms products of two int8, back to about the range of one. */
static int8_t requantise(int64_t sum, int64_t terms)
{
	double scale = 32 * sqrt((double)(terms > 0 ? terms : 1));

	return clamp((int64_t)nearbyint((double)sum / scale));
}

/* ------------------------------------------------------------------------- windows */

/*
 * struct window - the window of one element of the output
 * @at: element of the input, for the taps' places to be filled in
 * @tap: kernel element
 */
struct window {
	const struct int8_op *k;
	const int64_t *out;
	int64_t at[NPUPLAN_MAX_DIMS];
	int64_t tap[NPUPLAN_MAX_SPATIAL];
};

static bool transposed(const struct int8_op *k)
{
	return k->op->attrs.transposed || !strncmp(k->op->type, "conv_transpose", 14);
}

/* Where the current tap lies in the input; false in the padding. */
static bool place_tap(struct window *w)
{
	const struct npuplan_attrs *attrs = &w->k->op->attrs;
	const struct npuplan_tensor *in = input_of(w->k, 0);

	for (uint32_t d = 0; d < attrs->spatial; d++) {
		uint32_t axis = space_axis(w->k->graph, d);
		int64_t at = w->out[axis], shift = w->tap[d] * attrs->dilation[d];

		if (transposed(w->k)) {
			at += attrs->pad_begin[d] - shift;
			if (at % attrs->stride[d])
				return false;
			at /= attrs->stride[d];
		} else {
			at = at * attrs->stride[d] - attrs->pad_begin[d] + shift;
		}
		if (at < 0 || at >= in->shape[axis])
			return false;
		w->at[axis] = at;
	}
	return true;
}

static bool next_tap(struct window *w)
{
	const struct npuplan_attrs *attrs = &w->k->op->attrs;

	for (uint32_t d = attrs->spatial; d-- > 0;) {
		if (++w->tap[d] < attrs->kernel[d])
			return true;
		w->tap[d] = 0;
	}
	return false;
}

/* Weight of input channel @in of the group's, output channel @out of all. */
static int weight(const struct window *w, int64_t in, int64_t out, int64_t outs_a_group)
{
	const struct int8_op *k = w->k;
	const struct npuplan_tensor *weights = input_of(k, 1);
	uint32_t spatial = k->op->attrs.spatial, first;
	int64_t ins =
		input_of(k, 0)->shape[channel_axis(k->graph, spatial + 2)] / k->op->attrs.groups;
	int64_t at[NPUPLAN_MAX_DIMS] = { 0 };

	if (k->graph->source_layout == NPUPLAN_NCHW) {
		at[0] = transposed(k) ? out / outs_a_group * ins + in : out;
		at[1] = transposed(k) ? out % outs_a_group : in;
		first = 2;
	} else if (spatial == 3) {
		/* Kernel, in, out; or kernel, out, in. */
		at[3] = transposed(k) ? out : in;
		at[4] = transposed(k) ? in : out;
		first = 0;
	} else {
		bool depthwise = weights->shape[0] == 1 && k->op->attrs.groups > 1;

		at[0] = depthwise ? 0 : out;
		at[spatial + 1] = depthwise ? out : in;
		first = 1;
	}
	memcpy(at + first, w->tap, spatial * sizeof(*at));
	return load(k, 1, at);
}

/* Input channels of one group. */
static int64_t group_channels(const struct int8_op *k)
{
	uint32_t axis = channel_axis(k->graph, output_of(k)->dim_count);

	return input_of(k, 0)->shape[axis] / k->op->attrs.groups;
}

/* Of input channels @from to @from + @count of the group. */
static int64_t conv_products(const struct int8_op *k, const int64_t *out, int64_t from,
			     int64_t count)
{
	uint32_t axis = channel_axis(k->graph, output_of(k)->dim_count);
	int64_t outs = output_of(k)->shape[axis] / k->op->attrs.groups;
	int64_t first = out[axis] / outs * group_channels(k), sum = 0;
	struct window w = { .k = k, .out = out };

	w.at[0] = out[0];
	do {
		if (!place_tap(&w))
			continue;
		for (int64_t i = from; i < from + count; i++) {
			w.at[axis] = first + i;
			sum += load(k, 0, w.at) * weight(&w, i, out[axis], outs);
		}
	} while (next_tap(&w));
	return sum;
}

static int8_t conv_of_sum(const struct int8_op *k, const int64_t *out, int64_t sum)
{
	uint32_t axis = channel_axis(k->graph, output_of(k)->dim_count);
	struct window w = { .k = k, .out = out };
	int64_t taps = 0;

	do
		taps += place_tap(&w);
	while (next_tap(&w));
	if (k->op->input_count > 2)
		sum += load(k, 2, &out[axis]) * INT64_C(16);
	return requantise(sum, taps * group_channels(k));
}

static int8_t convolution(const struct int8_op *k, const int64_t *out)
{
	return conv_of_sum(k, out, conv_products(k, out, 0, group_channels(k)));
}

static int8_t pool(const struct int8_op *k, const int64_t *out)
{
	uint32_t axis = channel_axis(k->graph, output_of(k)->dim_count);
	int64_t sum = 0, squares = 0, count = 0, most = INT8_MIN;
	struct window w = { .k = k, .out = out };

	w.at[0] = out[0];
	w.at[axis] = out[axis];
	do {
		int value;

		if (!place_tap(&w))
			continue;
		value = load(k, 0, w.at);
		sum += value;
		squares += value * value;
		most = value > most ? value : most;
		count++;
	} while (next_tap(&w));
	if (!count)
		return INT8_MIN;
	if (!strcmp(k->op->type, "maxpool"))
		return clamp(most);
	if (!strcmp(k->op->type, "l2_pool"))
		return clamp((int64_t)nearbyint(sqrt((double)squares / (double)count)));
	return clamp((int64_t)nearbyint((double)sum / (double)count));
}

static int8_t pad(const struct int8_op *k, const int64_t *out)
{
	struct window w = { .k = k, .out = out };

	memcpy(w.at, out, output_of(k)->dim_count * sizeof(*out));
	return place_tap(&w) ? clamp(load(k, 0, w.at)) : 0;
}

/* ------------------------------------------------------------- along an axis, or two */

static int8_t concat(const struct int8_op *k, const int64_t *out)
{
	int64_t at[NPUPLAN_MAX_DIMS];
	uint32_t input = 0;

	memcpy(at, out, output_of(k)->dim_count * sizeof(*at));
	while (at[k->op->attrs.axis] >= input_of(k, input)->shape[k->op->attrs.axis])
		at[k->op->attrs.axis] -= input_of(k, input++)->shape[k->op->attrs.axis];
	return clamp(load(k, input, at));
}

/* The input that is split; the axis and the sizes are parameters. */
static uint32_t data_of(const struct int8_op *k)
{
	uint32_t input = 0;

	while (input_of(k, input)->kind == NPUMEM_TENSOR_PARAMETER)
		input++;
	return input;
}

static int8_t split(const struct int8_op *k, const int64_t *out)
{
	uint32_t axis = k->op->attrs.axis;
	int64_t at[NPUPLAN_MAX_DIMS];

	memcpy(at, out, output_of(k)->dim_count * sizeof(*at));
	for (uint32_t i = 0; i < k->output; i++)
		at[axis] += k->graph->tensors[k->op->outputs[i]].shape[axis];
	return clamp(load(k, data_of(k), at));
}

static int8_t slice(const struct int8_op *k, const int64_t *out)
{
	int64_t at[NPUPLAN_MAX_DIMS];

	memcpy(at, out, output_of(k)->dim_count * sizeof(*at));
	at[k->op->attrs.axis] -= k->op->attrs.pad_begin[0];
	return clamp(load(k, data_of(k), at));
}

static int8_t softmax(const struct int8_op *k, const int64_t *out)
{
	uint32_t axis = k->op->attrs.axis;
	double sum = 0, own = load(k, 0, out) / 16.0;
	int64_t at[NPUPLAN_MAX_DIMS];

	memcpy(at, out, output_of(k)->dim_count * sizeof(*at));
	for (at[axis] = 0; at[axis] < input_of(k, 0)->shape[axis]; at[axis]++)
		sum += exp(load(k, 0, at) / 16.0);
	if (!strcmp(k->op->type, "log_softmax"))
		return from_real(own - log(sum));
	return clamp((int64_t)nearbyint(256 * exp(own) / sum) - 128);
}

/* Over the dimensions in which the output has one element, or that it has not. */
static int8_t reduce(const struct int8_op *k, const int64_t *out)
{
	const struct npuplan_tensor *in = input_of(k, 0), *to = output_of(k);
	int64_t sum = 0, count = 0, most = INT8_MIN, step[NPUPLAN_MAX_DIMS] = { 0 };
	int64_t at[NPUPLAN_MAX_DIMS], first[NPUPLAN_MAX_DIMS] = { out[0] };
	bool flat = to->dim_count < in->dim_count;
	struct npuplan_tensor space = *in;

	/* Of batch and channels alone: over all rows and pixels. */
	if (flat)
		first[channel_axis(k->graph, in->dim_count)] = out[1];
	else
		memcpy(first, out, in->dim_count * sizeof(*first));
	for (uint32_t d = 0; d < in->dim_count; d++) {
		bool kept = flat ? !d || d == channel_axis(k->graph, in->dim_count) :
				   in->shape[d] == to->shape[d];

		space.shape[d] = kept ? 1 : in->shape[d];
	}
	do {
		int value;

		for (uint32_t d = 0; d < in->dim_count; d++)
			at[d] = first[d] + step[d];
		value = load(k, 0, at);
		sum += value;
		most = value > most ? value : most;
		count++;
	} while (int8_next(&space, step));
	if (!strcmp(k->op->type, "reduce_max"))
		return clamp(most);
	if (!strcmp(k->op->type, "sum"))
		return clamp(sum / 4);
	return clamp((int64_t)nearbyint((double)sum / (double)count));
}

/* The last dimension of the source's order, whatever it is; or the last ones together. */
static int64_t linear_products(const struct int8_op *k, const int64_t *out, int64_t first,
			       int64_t count)
{
	const struct npuplan_tensor *in = input_of(k, 0), *to = output_of(k);
	uint32_t last = to->dim_count - 1, summed = k->graph->source_layout == NPUPLAN_NHWC;
	int64_t at[NPUPLAN_MAX_DIMS], weights[2], row = 0, terms, sum = 0;

	for (uint32_t d = 0; d < last; d++)
		row = row * to->shape[d] + out[d];
	terms = input_of(k, 1)->shape[summed];
	weights[!summed] = out[last];
	for (int64_t i = first; i < first + count; i++) {
		int64_t element = row * terms + i;

		for (uint32_t d = in->dim_count; d-- > 0; element /= in->shape[d])
			at[d] = element % in->shape[d];
		weights[summed] = i;
		sum += load(k, 0, at) * load(k, 1, weights);
	}
	return sum;
}

static int64_t linear_terms(const struct int8_op *k)
{
	return input_of(k, 1)->shape[k->graph->source_layout == NPUPLAN_NHWC];
}

static int8_t linear_of_sum(const struct int8_op *k, const int64_t *out, int64_t sum)
{
	if (k->op->input_count > 2)
		sum += load(k, 2, &out[output_of(k)->dim_count - 1]) * INT64_C(16);
	return requantise(sum, linear_terms(k));
}

static int8_t linear(const struct int8_op *k, const int64_t *out)
{
	return linear_of_sum(k, out, linear_products(k, out, 0, linear_terms(k)));
}

static int8_t matmul(const struct int8_op *k, const int64_t *out)
{
	uint32_t last = output_of(k)->dim_count - 1;
	int64_t left[NPUPLAN_MAX_DIMS], right[NPUPLAN_MAX_DIMS], sum = 0;

	memcpy(left, out, sizeof(*left) * (last + 1));
	memcpy(right, out, sizeof(*right) * (last + 1));
	for (int64_t i = 0; i < input_of(k, 0)->shape[last]; i++) {
		left[last] = right[last - 1] = i;
		sum += load(k, 0, left) * load(k, 1, right);
	}
	return requantise(sum, input_of(k, 0)->shape[last]);
}

/* Mean and deviation of the last dimension. */
static int8_t layernorm(const struct int8_op *k, const int64_t *out)
{
	uint32_t last = output_of(k)->dim_count - 1;
	int64_t at[NPUPLAN_MAX_DIMS], n = output_of(k)->shape[last];
	double sum = 0, squares = 0, own = load(k, 0, out);

	memcpy(at, out, sizeof(*at) * last);
	for (at[last] = 0; at[last] < n; at[last]++) {
		int value = load(k, 0, at);

		sum += value;
		squares += value * value;
	}
	sum /= (double)n;
	return from_real((own - sum) / sqrt(squares / (double)n - sum * sum + 1));
}

/* Over five neighbouring channels. */
static int8_t response(const struct int8_op *k, const int64_t *out)
{
	uint32_t rank = output_of(k)->dim_count, axis = channel_axis(k->graph, rank);
	int64_t at[NPUPLAN_MAX_DIMS];
	double squares = 0;

	memcpy(at, out, rank * sizeof(*at));
	for (at[axis] = out[axis] - 2; at[axis] <= out[axis] + 2; at[axis]++)
		if (at[axis] >= 0 && at[axis] < output_of(k)->shape[axis])
			squares += pow(load(k, 0, at) / 16.0, 2);
	return from_real(load(k, 0, out) / 16.0 * pow(2 + squares, -0.5));
}

/* ----------------------------------------------------------------------- resizing */

/* Place in the input, and for bilinear how far on the way to the next; 0 if whole. */
static int64_t look(enum int8_resize resize, int64_t o, int64_t n, int64_t m, double *on)
{
	double at = (double)(o * m) / (double)n;

	*on = 0;
	switch (resize) {
	case INT8_NEAREST:
		return o * m / n;
	case INT8_NEAREST_HALF_PIXEL:
		return (2 * o + 1) * m / (2 * n);
	case INT8_NEAREST_ALIGNED:
		return n > 1 ? (2 * o * (m - 1) + (n - 1)) / (2 * (n - 1)) : 0;
	case INT8_BILINEAR_HALF_PIXEL:
		at = ((double)o + 0.5) * (double)m / (double)n - 0.5;
		break;
	case INT8_BILINEAR_ALIGNED:
		/* Whole quotients must come out whole: no byte is read to be weighed 0. */
		at = n > 1 ? (double)(o * (m - 1)) / (double)(n - 1) : 0;
		break;
	case INT8_BILINEAR:
	case INT8_RESIZES:
		break;
	}
	at = fmin(fmax(at, 0), (double)(m - 1));
	*on = at - floor(at);
	return (int64_t)floor(at);
}

/* Between 2^spatial neighbours, those of no weight left out. */
static int8_t resize(const struct int8_op *k, const int64_t *out)
{
	const struct npuplan_tensor *in = input_of(k, 0);
	uint32_t spatial = in->dim_count - 2;
	int64_t low[NPUPLAN_MAX_SPATIAL], at[NPUPLAN_MAX_DIMS];
	double on[NPUPLAN_MAX_SPATIAL], sum = 0;

	for (uint32_t d = 0; d < spatial; d++) {
		uint32_t axis = space_axis(k->graph, d);

		low[d] = look(k->resize, out[axis], output_of(k)->shape[axis], in->shape[axis],
			      &on[d]);
	}
	memcpy(at, out, in->dim_count * sizeof(*at));
	for (uint32_t corner = 0; corner < 1u << spatial; corner++) {
		double share = 1;

		for (uint32_t d = 0; d < spatial; d++) {
			at[space_axis(k->graph, d)] = low[d] + (corner >> d & 1);
			share *= corner >> d & 1 ? on[d] : 1 - on[d];
		}
		if (share > 0)
			sum += share * load(k, 0, at);
	}
	return clamp((int64_t)nearbyint(sum));
}

/* ------------------------------------------------------------- element by element */

/*
 * Type, number of inputs, and what it makes of inputs x[], which are of the same element, of one
 * element for all, or of one for a channel.
 */
#define ELEMENTWISE_OPERATORS(X)                                    \
	X(abs, 1, fabs(x[0]))                                       \
	X(add, 2, x[0] + x[1])                                      \
	X(add_n, 3, x[0] + x[1] + x[2])                             \
	X(batchnorm, 3, x[0] * x[1] / 4 + x[2])                     \
	X(cast, 1, x[0])                                            \
	X(ceil, 1, ceil(x[0]))                                      \
	X(clamp, 1, fmin(fmax(x[0], -1), 1))                        \
	X(cos, 1, 4 * cos(x[0]))                                    \
	X(dequantize, 1, x[0])                                      \
	X(div, 2, x[1] == 0 ? 0 : x[0] / x[1])                      \
	X(dropout, 1, x[0])                                         \
	X(elu, 1, x[0] < 0 ? exp(x[0]) - 1 : x[0])                  \
	X(equal, 2, x[0] == x[1])                                   \
	X(exp, 1, exp(x[0] / 4))                                    \
	X(fake_quant, 1, nearbyint(x[0]))                           \
	X(floor, 1, floor(x[0]))                                    \
	X(floor_div, 2, floor(f_div(x)))                            \
	X(floor_mod, 2, x[1] == 0 ? 0 : fmod(x[0], x[1]))           \
	X(gelu, 1, x[0] / (1 + exp(-1.702 * x[0])))                 \
	X(greater, 2, x[0] > x[1])                                  \
	X(greater_equal, 2, x[0] > x[1])                            \
	X(hardsigmoid, 1, fmin(fmax(x[0] + 3, 0), 6) / 6)           \
	X(hardswish, 1, x[0] * f_hardsigmoid(x))                    \
	X(leaky_relu, 1, x[0] < 0 ? x[0] / 4 : x[0])                \
	X(less, 2, x[0] < x[1])                                     \
	X(less_equal, 2, x[0] < x[1])                               \
	X(log, 1, log(fabs(x[0]) + 1))                              \
	X(logical_and, 2, x[0] != 0 && x[1] != 0)                   \
	X(logical_not, 1, x[0] == 0)                                \
	X(logical_or, 2, x[0] != 0 || x[1] != 0)                    \
	X(maximum, 2, fmax(x[0], x[1]))                             \
	X(minimum, 2, fmin(x[0], x[1]))                             \
	X(mul, 2, x[0] * x[1] / 4)                                  \
	X(neg, 1, -x[0])                                            \
	X(not_equal, 2, x[0] != x[1])                               \
	X(pow, 2, pow(fabs(x[0]), x[1] / 4))                        \
	X(prelu, 2, x[0] < 0 ? x[0] * x[1] / 4 : x[0])              \
	X(quantize, 1, x[0])                                        \
	X(relu, 1, fmax(x[0], 0))                                   \
	X(relu6, 1, fmin(fmax(x[0], 0), 6))                         \
	X(relu_n1_to_1, 1, fmin(fmax(x[0], -1), 1))                 \
	X(round, 1, nearbyint(x[0]))                                \
	X(rsqrt, 1, 1 / sqrt(fabs(x[0]) + 1))                       \
	X(select, 3, x[0] > 0 ? x[1] : x[2])                        \
	X(sigmoid, 1, 4 / (1 + exp(-x[0])))                         \
	X(sin, 1, 4 * sin(x[0]))                                    \
	X(sqrt, 1, sqrt(fabs(x[0])))                                \
	X(square, 1, x[0] * x[0])                                   \
	X(squared_difference, 2, (x[0] - x[1]) * (x[0] - x[1]) / 4) \
	X(sub, 2, x[0] - x[1])                                      \
	X(tanh, 1, 4 * tanh(x[0]))

#define FUNCTION(type, inputs, value)           \
	static double f_##type(const double *x) \
	{                                       \
		return value;                   \
	}
ELEMENTWISE_OPERATORS(FUNCTION)

#define ROW(type, inputs, value) { #type, inputs, f_##type },
static const struct {
	const char *type;
	uint32_t inputs;
	double (*f)(const double *x);
} elementwise[] = { ELEMENTWISE_OPERATORS(ROW) };

#define ELEMENTWISE (sizeof(elementwise) / sizeof(elementwise[0]))

const char *int8_elementwise(uint32_t i, uint32_t *inputs)
{
	if (i >= ELEMENTWISE)
		return NULL;
	*inputs = elementwise[i].inputs;
	return elementwise[i].type;
}

static size_t find_elementwise(const char *type)
{
	size_t i = 0;

	while (i < ELEMENTWISE && strcmp(elementwise[i].type, type))
		i++;
	return i;
}

bool int8_by_channel(const char *type)
{
	return !strcmp(type, "prelu") || !strcmp(type, "batchnorm");
}

/* Dimensions are matched from the last; one alone may be that of the channels. */
static int operand(const struct int8_op *k, uint32_t input, const int64_t *out)
{
	const struct npuplan_tensor *in = input_of(k, input);
	uint32_t rank = output_of(k)->dim_count;
	int64_t at[NPUPLAN_MAX_DIMS] = { 0 };

	if (in->dim_count == 1 && int8_by_channel(k->op->type))
		return load(k, input, in->shape[0] == 1 ? at : &out[channel_axis(k->graph, rank)]);
	for (uint32_t d = 0; d < in->dim_count; d++)
		at[d] = in->shape[d] == 1 ? 0 : out[d + rank - in->dim_count];
	return load(k, input, at);
}

static int8_t each(const struct int8_op *k, const int64_t *out)
{
	double x[3] = { 0 };

	for (uint32_t i = 0; i < k->op->input_count && i < 3; i++)
		x[i] = operand(k, i, out) / 16.0;
	return from_real(elementwise[find_elementwise(k->op->type)].f(x));
}

/* ---------------------------------------------------------------------- all of them */

static const struct {
	const char *type;
	int8_t (*element)(const struct int8_op *k, const int64_t *out);
} kernels[] = {
	{ "conv2d", convolution },
	{ "conv3d", convolution },
	{ "depthwise_conv2d", convolution },
	{ "conv_transpose2d", convolution },
	{ "conv_transpose3d", convolution },
	{ "avgpool", pool },
	{ "maxpool", pool },
	{ "l2_pool", pool },
	{ "cat", concat },
	{ "concat", concat },
	{ "split", split },
	{ "split_v", split },
	{ "slice", slice },
	{ "strided_slice", slice },
	{ "pad", pad },
	{ "softmax", softmax },
	{ "log_softmax", softmax },
	{ "mean", reduce },
	{ "sum", reduce },
	{ "reduce_max", reduce },
	{ "linear", linear },
	{ "matmul", matmul },
	{ "layernorm", layernorm },
	{ "local_response_normalization", response },
	{ "upsample", resize },
	{ "resize_bilinear", resize },
	{ "resize_nearest", resize },
};

#define KERNELS (sizeof(kernels) / sizeof(kernels[0]))

bool int8_knows(const char *type)
{
	for (size_t i = 0; i < KERNELS; i++)
		if (!strcmp(kernels[i].type, type))
			return true;
	return find_elementwise(type) < ELEMENTWISE;
}

int8_t int8_element(const struct int8_op *k, const int64_t *at)
{
	for (size_t i = 0; i < KERNELS; i++)
		if (!strcmp(kernels[i].type, k->op->type))
			return kernels[i].element(k, at);
	return each(k, at);
}

int64_t int8_products(const struct int8_op *k, const int64_t *at, int64_t first, int64_t count)
{
	return strcmp(k->op->type, "linear") ? conv_products(k, at, first, count) :
					       linear_products(k, at, first, count);
}

int8_t int8_of_sum(const struct int8_op *k, const int64_t *at, int64_t sum)
{
	return strcmp(k->op->type, "linear") ? conv_of_sum(k, at, sum) : linear_of_sum(k, at, sum);
}

struct npuplan_op *int8_add_op_of(struct npuplan_graph *graph, const char *type,
				  const uint32_t *inputs, uint32_t count, const uint32_t *outputs,
				  uint32_t output_count)
{
	struct npuplan_op op = {
		.name = (char *)(uintptr_t)type,
		.type = (char *)(uintptr_t)type,
		.inputs = (uint32_t *)(uintptr_t)inputs,
		.outputs = (uint32_t *)(uintptr_t)outputs,
		.input_count = count,
		.output_count = output_count,
		.attrs = { .axis = -1, .groups = 1 },
		.id = graph->op_count,
	};
	int64_t index = npuplan_graph_add_op(graph, &op);

	return index < 0 ? NULL : &graph->ops[index];
}

struct npuplan_op *int8_add_op(struct npuplan_graph *graph, const char *type,
			       const uint32_t *inputs, uint32_t count, uint32_t output)
{
	return int8_add_op_of(graph, type, inputs, count, &output, 1);
}
