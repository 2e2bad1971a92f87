// SPDX-License-Identifier: MIT
/*
 * The commands that each operator of a TFLite model becomes, with its options, scales and tensors.
 */
#include "operators.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bits.h"
#include "schema.h"

/* ----------------------------------------------------------------------------- operators */

/* Stride, dilation, padding and kernel, which the graph's reader has checked. */
static void set_window(struct command_maker *m, unsigned int activation)
{
	const struct npuplan_attrs *attrs = &m->op->attrs;

	if (attrs->spatial != 2 || attrs->transposed) {
		maker_fail(m, -EOPNOTSUPP, "its window is not understood");
		return;
	}
	for (int d = 0; d < 2; d++) {
		m->attributes[NPUMEM_COMMAND_STRIDE_H + d] = attrs->stride[d];
		m->attributes[NPUMEM_COMMAND_DILATION_H + d] = attrs->dilation[d];
		m->attributes[NPUMEM_COMMAND_PAD_TOP + d] = attrs->pad_begin[d];
		m->attributes[NPUMEM_COMMAND_KERNEL_H + d] = attrs->kernel[d];
	}
	m->head.attribute_count = NPUMEM_COMMAND_WINDOW_ATTRIBUTES;
	maker_set_range(m, maker_activation_at(m, activation), m->op->outputs[0],
			NPUMEM_COMMAND_WINDOW_MIN);
}

/* Scales of sums of products: one, or those of the output's channels in the step. */
static void add_product_scales(struct command_maker *m, uint32_t in, uint32_t weights, uint32_t out,
			       bool by_channel)
{
	struct quantization q = maker_quantization_of(m, weights);
	const struct npumem_command_operand *o = &m->operands[0];
	float in_scale, out_scale;

	if (m->fb->err || maker_is_float_type(maker_tensor_type(m, out)))
		return;
	in_scale = maker_scale_of(m, in);
	out_scale = maker_scale_of(m, out);
	if (q.scales.count > 1 && (q.scales.count != o->shape[3] || !by_channel)) {
		maker_fail(m, -EOPNOTSUPP, "its weights have %" PRIu32 " scales", q.scales.count);
		return;
	}
	if (q.scales.count <= 1) {
		float scale = maker_scale_of(m, weights);

		/* In this order and precision it is part of the definition. */
		if (by_channel && maker_tensor_type(m, in) != TYPE_UINT8)
			maker_add_scale(m, (double)in_scale * (double)scale / (double)out_scale);
		else
			maker_add_scale(m, (double)(in_scale * scale) / (double)out_scale);
		return;
	}
	for (uint32_t c = 0; c < o->dims[3] && !m->fb->err; c++)
		maker_add_scale(m, (double)in_scale *
					   (double)maker_scale_at(m, weights, o->origin[3] + c) /
					   (double)out_scale);
}

static void make_conv(struct command_maker *m)
{
	uint32_t out = maker_add_output(m, NATURAL), in = maker_add_input(m, 0, NATURAL);
	uint32_t weights = maker_add_input(m, 1, NATURAL);

	if (maker_input_at(m, 2) != NPUMEM_NONE)
		maker_add_input(m, 2, VECTOR);
	set_window(m, m->builtin == BUILTIN_CONV_2D ? CONV_2D_ACTIVATION : DEPTHWISE_ACTIVATION);
	add_product_scales(m, in, weights, out, true);
}

/* A convolution of one row and column; the input is as many rows as it has weights' channels. */
static void make_linear(struct command_maker *m)
{
	uint32_t weights = maker_input_at(m, 1), out = maker_add_output(m, NATURAL), in;
	struct npumem_command_operand *o;
	uint64_t elements;

	if (flatbuf_u8(m->fb, &m->options, FULLY_CONNECTED_FORMAT, 0))
		maker_fail(m, -EOPNOTSUPP, "its weights are shuffled");
	in = maker_add_input(m, 0, NATURAL);
	maker_add_input(m, 1, WEIGHTS);
	if (maker_input_at(m, 2) != NPUMEM_NONE)
		maker_add_input(m, 2, VECTOR);
	if (m->fb->err)
		return;
	/* Whole tensors, whatever their shapes are: rows that the weights take, and make. */
	for (int i = 0; i < 2; i++) {
		uint32_t channels = m->operands[2].shape[i ? 3 : 0];

		o = &m->operands[i];
		elements = (uint64_t)o->dims[0] * o->dims[1] * o->dims[2] * o->dims[3];
		if (o->shape[3] == channels && o->shape[0] == 1 && o->shape[2] == 1)
			continue;
		if (memcmp(o->dims, o->shape, sizeof(o->dims)) || elements % channels) {
			maker_fail(m, -EOPNOTSUPP, "step %s has no rows of %" PRIu32 " elements",
				   m->step->name, channels);
			return;
		}
		o->dims[0] = o->shape[0] = o->dims[2] = o->shape[2] = 1;
		o->dims[1] = o->shape[1] = (uint32_t)(elements / channels);
		o->dims[3] = o->shape[3] = channels;
		m->pieces[o->first_piece].rows = o->dims[1];
		m->pieces[o->first_piece].stride[1] =
			(uint64_t)channels * engine_type_size(o->type);
	}
	for (int d = 0; d < 4; d++)
		m->attributes[NPUMEM_COMMAND_STRIDE_H + d] = 1;
	m->attributes[NPUMEM_COMMAND_KERNEL_H] = m->attributes[NPUMEM_COMMAND_KERNEL_W] = 1;
	m->head.attribute_count = NPUMEM_COMMAND_WINDOW_ATTRIBUTES;
	maker_set_range(m, maker_activation_at(m, FULLY_CONNECTED_ACTIVATION), out,
			NPUMEM_COMMAND_WINDOW_MIN);
	add_product_scales(m, in, weights, out, false);
}

static void make_pool(struct command_maker *m)
{
	uint32_t out = maker_add_output(m, NATURAL), in = maker_add_input(m, 0, NATURAL);

	set_window(m, POOL_2D_ACTIVATION);
	if (!m->fb->err && !maker_is_float_type(maker_tensor_type(m, out)) &&
	    maker_scale_of(m, in) != maker_scale_of(m, out))
		maker_fail(m, -EOPNOTSUPP, "it would have to rescale");
}

/*
 * How the tensors of an operator of two inputs are seen. Inputs of the output's shape are seen as
 * they are; others are lined up with the output by their last dimensions.
 */
static enum view binary_view(const struct command_maker *m)
{
	const struct npuplan_tensor *out = &m->graph->tensors[m->op->outputs[0]];

	for (uint32_t i = 0; i < 2; i++) {
		const struct npuplan_tensor *in = &m->graph->tensors[m->op->inputs[i]];

		if (in->dim_count != out->dim_count ||
		    memcmp(in->shape, out->shape, in->dim_count * sizeof(*in->shape)) != 0)
			return out->dim_count <= 4 ? ALIGNED : NATURAL;
	}
	return NATURAL;
}

static void make_binary(struct command_maker *m)
{
	bool is_sum = m->builtin == BUILTIN_ADD;
	enum view view;
	uint32_t out, a, b;

	if (m->op->input_count != 2) {
		maker_fail(m, -EINVAL, "it has %" PRIu32 " inputs", m->op->input_count);
		return;
	}
	view = binary_view(m);
	out = maker_add_output(m, view);
	a = maker_add_input(m, 0, view);
	b = maker_add_input(m, 1, view);
	m->head.attribute_count = NPUMEM_COMMAND_CLAMP_ATTRIBUTES;
	maker_set_range(m, maker_activation_at(m, is_sum ? ADD_ACTIVATION : MUL_ACTIVATION), out,
			NPUMEM_COMMAND_CLAMP_MIN);
	if (m->fb->err || maker_is_float_type(maker_tensor_type(m, out)))
		return;
	if (is_sum) {
		float first = maker_scale_of(m, a), second = maker_scale_of(m, b);
		double most = 2.0 * (double)(first > second ? first : second);

		maker_add_scale(m, (double)first / most);
		maker_add_scale(m, (double)second / most);
		maker_add_scale(m, most / (double)((float)(1 << 20) * maker_scale_of(m, out)));
	} else {
		maker_add_scale(m, (double)(maker_scale_of(m, a) * maker_scale_of(m, b) /
					    maker_scale_of(m, out)));
	}
}

/* Between types and scales: quantize, dequantize, and the activations that only clamp. */
static void make_convert(struct command_maker *m)
{
	uint8_t activation = m->builtin == BUILTIN_RELU		? ACTIVATION_RELU :
			     m->builtin == BUILTIN_RELU6	? ACTIVATION_RELU6 :
			     m->builtin == BUILTIN_RELU_N1_TO_1 ? ACTIVATION_RELU_N1_TO_1 :
								  ACTIVATION_NONE;
	uint32_t out = m->op->outputs[0], in;
	bool from_float, to_float;

	maker_add_same(m);
	if (m->fb->err)
		return;
	in = maker_input_at(m, 0);
	m->head.attribute_count = NPUMEM_COMMAND_CONVERT_ATTRIBUTES;
	maker_set_range(m, activation, out, NPUMEM_COMMAND_CLAMP_MIN);
	from_float = maker_is_float_type(maker_tensor_type(m, in));
	to_float = maker_is_float_type(maker_tensor_type(m, out));
	if (to_float)
		maker_open_range(m, NPUMEM_COMMAND_CLAMP_MIN);
	if (!from_float && !to_float)
		/* An activation's ratio is one of floats. */
		maker_add_scale(
			m, activation ?
				   (double)(maker_scale_of(m, in) / maker_scale_of(m, out)) :
				   (double)maker_scale_of(m, in) / (double)maker_scale_of(m, out));
	else if (from_float != to_float)
		m->attributes[NPUMEM_COMMAND_CONVERT_FACTOR] =
			engine_bits(maker_scale_of(m, from_float ? out : in));
}

/* Largest difference that a number of @bits before the point takes, once rescaled. */
static int32_t radius(int bits, int32_t shift)
{
	double most = (double)((1 << bits) - 1) * (double)(INT64_C(1) << (31 - bits));

	return (int32_t)fmin(floor(ldexp(most, -shift)), INT32_MAX);
}

static void make_softmax(struct command_maker *m)
{
	uint32_t out = maker_add_output(m, NATURAL), in = maker_add_input(m, 0, NATURAL);
	float beta = engine_float((int32_t)flatbuf_u32(m->fb, &m->options, SOFTMAX_BETA, 0));
	double factor;

	if (m->fb->err)
		return;
	m->head.attribute_count = NPUMEM_COMMAND_SOFTMAX_ATTRIBUTES;
	if (maker_is_float_type(maker_tensor_type(m, out))) {
		m->attributes[NPUMEM_COMMAND_SOFTMAX_BETA] = engine_bits(beta);
		return;
	}
	factor = (double)beta * (double)maker_scale_of(m, in) * (double)(1 << 26);
	maker_add_scale(m, fmin(factor, (double)(INT64_C(1) << 31) - 1));
	if (!m->fb->err)
		m->attributes[NPUMEM_COMMAND_SOFTMAX_DIFF_MIN] = -radius(5, m->scales[0].shift);
}

static void make_logistic(struct command_maker *m)
{
	maker_add_same(m);
	m->head.attribute_count = NPUMEM_COMMAND_LOGISTIC_ATTRIBUTES;
	if (m->fb->err || maker_is_float_type(maker_tensor_type(m, m->op->outputs[0])))
		return;
	m->attributes[NPUMEM_COMMAND_LOGISTIC_FACTOR] =
		engine_bits(maker_scale_of(m, maker_input_at(m, 0)));
}

static void make_pad(struct command_maker *m)
{
	uint32_t out = maker_add_output(m, NATURAL), in = maker_add_input(m, 0, NATURAL);
	uint32_t paddings = maker_input_at(m, 1), value = maker_input_at(m, 2), rank;
	struct flatbuf_vector data;
	bool wide;

	if (m->fb->err)
		return;
	rank = m->graph->tensors[in].dim_count;
	if (paddings == NPUMEM_NONE || rank != 4) {
		maker_fail(m, -EOPNOTSUPP, "it does not pad four dimensions");
		return;
	}
	data = maker_data_of(m, paddings);
	wide = maker_tensor_type(m, paddings) == TYPE_INT64;
	if (data.count != 2 * rank * (wide ? 8 : 4)) {
		maker_fail(m, -EOPNOTSUPP, "its paddings are not constant");
		return;
	}
	for (uint32_t d = 0; d < rank; d++) {
		int64_t before = wide ? flatbuf_vector_i64(m->fb, &data, 2 * d) :
					flatbuf_vector_i32(m->fb, &data, 2 * d);

		if (before < 0 || before > (int64_t)NPUMEM_COMMAND_MAX_DIM)
			maker_fail(m, -EINVAL, "its padding is %" PRId64, before);
		m->attributes[NPUMEM_COMMAND_PAD_BEFORE + d] = (int32_t)before;
	}
	m->head.attribute_count = NPUMEM_COMMAND_PAD_ATTRIBUTES;
	m->attributes[NPUMEM_COMMAND_PAD_VALUE] = maker_zero_point(m, out);
	if (value == NPUMEM_NONE || m->fb->err)
		return;
	data = maker_data_of(m, value);
	if (maker_tensor_type(m, value) != maker_tensor_type(m, out) ||
	    data.count != m->graph->tensors[out].elem_size || data.count > 4)
		maker_fail(m, -EOPNOTSUPP, "what it pads with is not constant");
	else
		memcpy(&m->attributes[NPUMEM_COMMAND_PAD_VALUE], m->fb->data + data.pos,
		       data.count);
}

static void make_concatenation(struct command_maker *m)
{
	uint32_t out = maker_add_output(m, NATURAL);

	if (maker_activation_at(m, CONCATENATION_ACTIVATION))
		maker_fail(m, -EOPNOTSUPP, "it has a fused activation");
	for (uint32_t i = 0; i < m->inputs.count && !m->fb->err; i++) {
		uint32_t in = maker_input_at(m, i);

		/* Empty ones have fallen away. */
		if (in == NPUMEM_NONE)
			continue;
		maker_add_input(m, i, NATURAL);
		if (!m->fb->err && !maker_is_float_type(maker_tensor_type(m, out)) &&
		    maker_scale_of(m, in) != maker_scale_of(m, out))
			maker_fail(m, -EOPNOTSUPP, "it would have to rescale");
	}
}

static void make_resize(struct command_maker *m)
{
	bool linear = m->builtin == BUILTIN_RESIZE_BILINEAR;
	unsigned int align = linear ? RESIZE_BILINEAR_ALIGN : RESIZE_NEAREST_ALIGN;
	unsigned int half_pixel = linear ? RESIZE_BILINEAR_HALF_PIXEL : RESIZE_NEAREST_HALF_PIXEL;

	maker_add_output(m, NATURAL);
	maker_add_input(m, 0, NATURAL);
	m->attributes[NPUMEM_COMMAND_ALIGN_CORNERS] = flatbuf_u8(m->fb, &m->options, align, 0) != 0;
	m->attributes[NPUMEM_COMMAND_HALF_PIXEL] = flatbuf_u8(m->fb, &m->options, half_pixel, 0) !=
						   0;
	m->head.attribute_count = NPUMEM_COMMAND_RESIZE_ATTRIBUTES;
}

/* ------------------------------------------------------------------- parts, and variables */

/* A number of a constant input; 0 after an error. */
static int32_t constant_at(struct command_maker *m, uint32_t n, uint32_t at, uint32_t count)
{
	uint32_t tensor = maker_input_at(m, n);
	struct flatbuf_vector data = { 0 };

	if (tensor != NPUMEM_NONE && maker_tensor_type(m, tensor) == TYPE_INT32)
		data = maker_data_of(m, tensor);
	if (data.count != count * sizeof(int32_t)) {
		maker_fail(m, -EOPNOTSUPP,
			   "its input %" PRIu32 " is not %" PRIu32 " constant integers of 32 bits",
			   n, count);
		return 0;
	}
	return flatbuf_vector_i32(m->fb, &data, at);
}

/* How many elements the output has its tensor's dimensions say: only where it begins is to tell. */
static void make_strided_slice(struct command_maker *m)
{
	uint32_t rank = m->graph->tensors[m->op->outputs[0]].dim_count, in = maker_input_at(m, 0);
	uint32_t begin_mask = flatbuf_u32(m->fb, &m->options, STRIDED_SLICE_BEGIN_MASK, 0);
	uint32_t others = flatbuf_u32(m->fb, &m->options, STRIDED_SLICE_ELLIPSIS_MASK, 0) |
			  flatbuf_u32(m->fb, &m->options, STRIDED_SLICE_NEW_AXIS_MASK, 0) |
			  flatbuf_u32(m->fb, &m->options, STRIDED_SLICE_SHRINK_AXIS_MASK, 0);

	if (others || in == NPUMEM_NONE || rank > NPUMEM_COMMAND_DIMS ||
	    m->graph->tensors[in].dim_count != rank) {
		maker_fail(m, -EOPNOTSUPP, "its output has not the input's dimensions");
		return;
	}
	maker_add_output(m, ALIGNED);
	maker_add_input(m, 0, ALIGNED);
	m->head.attribute_count = NPUMEM_COMMAND_SLICE_ATTRIBUTES;
	for (uint32_t d = 0; d < rank && !m->fb->err; d++) {
		int64_t size = m->graph->tensors[in].shape[d];
		int64_t first = constant_at(m, 1, d, rank);

		if (constant_at(m, 3, d, rank) != 1)
			maker_fail(m, -EOPNOTSUPP, "it leaves elements out");
		if (begin_mask & 1u << d)
			first = 0;
		first += first < 0 ? size : 0;
		first = first < 0 ? 0 : first > size ? size : first;
		m->attributes[NPUMEM_COMMAND_SLICE_FIRST + NPUMEM_COMMAND_DIMS - rank + d] =
			(int32_t)first;
	}
}

/*
 * Of a split some of whose outputs are parts of the input a step copies one of the others: a slice.
 */
static void make_split_copy(struct command_maker *m, uint32_t output)
{
	const struct npuplan_tensor *tensors = m->graph->tensors;
	uint32_t rank = tensors[m->op->outputs[output]].dim_count;
	uint32_t axis = (uint32_t)m->op->attrs.axis;
	int64_t first = 0;

	if (axis >= rank || rank > NPUMEM_COMMAND_DIMS) {
		maker_fail(m, -EOPNOTSUPP, "along which of %" PRIu32 " dimensions is not known",
			   rank);
		return;
	}
	for (uint32_t i = 0; i < output; i++)
		first += tensors[m->op->outputs[i]].shape[axis];
	m->head.operation = NPUMEM_COMMAND_SLICE;
	m->head.attribute_count = NPUMEM_COMMAND_SLICE_ATTRIBUTES;
	m->attributes[NPUMEM_COMMAND_SLICE_FIRST + NPUMEM_COMMAND_DIMS - rank + axis] =
		(int32_t)first;
	maker_add_operand(m, m->op->outputs[output], ALIGNED, NPUMEM_COMMAND_WRITE, 0);
	maker_add_input(m, m->builtin == BUILTIN_SPLIT ? 1 : 0, ALIGNED);
}

/* Along which dimension, and where, the outputs' shapes say. */
static void make_split(struct command_maker *m)
{
	uint32_t written = 0, last = 0;

	for (uint32_t i = 0; i < m->op->output_count; i++) {
		if (!maker_writes(m, m->op->outputs[i]))
			continue;
		written++;
		last = i;
	}
	if (written == 1 && m->op->output_count > 1) {
		make_split_copy(m, last);
		return;
	}
	for (uint32_t i = 0; i < m->op->output_count; i++) {
		if (m->graph->tensors[m->op->outputs[i]].dim_count > NPUMEM_COMMAND_DIMS)
			maker_fail(m, -EOPNOTSUPP, "it has more than %d dimensions",
				   NPUMEM_COMMAND_DIMS);
		maker_add_operand(m, m->op->outputs[i], ALIGNED, NPUMEM_COMMAND_WRITE, 0);
	}
	maker_add_input(m, m->builtin == BUILTIN_SPLIT ? 1 : 0, ALIGNED);
}

/* A handle has no elements: those of a variable are like those that come from it or go to it. */
static void make_variable(struct command_maker *m)
{
	uint32_t out = m->op->outputs[0], in = m->op->inputs[0];
	uint32_t like = m->builtin == BUILTIN_READ_VARIABLE ? out : in;

	maker_add_stored(m, out, like, NATURAL, NPUMEM_COMMAND_WRITE, 0);
	maker_add_stored(m, in, like, NATURAL, NPUMEM_COMMAND_READ, 0);
	maker_fit_copy(m);
}

/* ---------------------------------------------------------------------------------- LSTM */

/* The last of five intermediate tensors has the quantization of what the output gate makes. */
static struct quantization hidden_quantization(struct command_maker *m)
{
	struct flatbuf_vector numbers = flatbuf_vector(m->fb, &m->table, OPERATOR_INTERMEDIATES, 4);
	struct flatbuf_table tensor;
	int32_t number = numbers.count == 5 ? flatbuf_vector_i32(m->fb, &numbers, 4) : -1;

	if (number < 0 || (uint32_t)number >= m->all->tensors.count) {
		maker_fail(m, -EOPNOTSUPP, "its intermediate tensors are not told");
		return (struct quantization){ 0 };
	}
	tensor = flatbuf_vector_table(m->fb, &m->all->tensors, (uint32_t)number);
	return maker_file_quantization(m->fb, &tensor);
}

static void check_lstm(struct command_maker *m)
{
	for (uint32_t i = 0; i < m->inputs.count; i++) {
		bool optional = (i >= LSTM_PEEPHOLES && i < LSTM_BIASES) ||
				(i >= LSTM_PROJECTION && i < LSTM_HIDDEN) || i >= LSTM_NORMS;

		if (i < LSTM_INPUTS && optional != (maker_input_at(m, i) == NPUMEM_NONE)) {
			maker_fail(m, -EOPNOTSUPP,
				   "only networks without peepholes, projection, coupled gates and "
				   "normalization are computed (input %" PRIu32 ")",
				   i);
			return;
		}
	}
	if (m->inputs.count < LSTM_NORMS)
		maker_fail(m, -EINVAL, "it has %" PRIu32 " inputs", m->inputs.count);
	else if (maker_activation_at(m, LSTM_ACTIVATION) != ACTIVATION_TANH ||
		 flatbuf_u8(m->fb, &m->options, LSTM_TIME_MAJOR, 0))
		maker_fail(m, -EOPNOTSUPP,
			   "its activation is another one, or time comes before batches");
	else if (maker_tensor_type(m, maker_input_at(m, LSTM_INPUT)) != TYPE_INT8)
		maker_fail(m, -EOPNOTSUPP, "it is not of 8-bit integers");
}

static void lstm_scales(struct command_maker *m)
{
	float in = maker_scale_of(m, maker_input_at(m, LSTM_INPUT)),
	      hidden = maker_scale_of(m, maker_input_at(m, LSTM_HIDDEN));
	struct quantization made = hidden_quantization(m);
	float cell = maker_scale_of(m, maker_input_at(m, LSTM_CELL)), scale, clip;
	int exponent;

	for (uint32_t g = 0; g < 4 && !m->fb->err; g++)
		maker_add_scale(
			m, (double)(maker_scale_of(m, maker_input_at(m, LSTM_INPUT_WEIGHTS + g)) *
				    in / 0x1p-12f));
	for (uint32_t g = 0; g < 4 && !m->fb->err; g++)
		maker_add_scale(
			m, (double)(maker_scale_of(m, maker_input_at(m, LSTM_HIDDEN_WEIGHTS + g)) *
				    hidden / 0x1p-12f));
	if (m->fb->err)
		return;
	scale = made.scales.count ? engine_float(flatbuf_vector_i32(m->fb, &made.scales, 0)) : 0;
	if (!(scale > 0) || frexpf(cell, &exponent) != 0.5f) {
		maker_fail(m, -EINVAL, "the scale of its state is none");
		return;
	}
	maker_add_scale(m, (double)(0x1p-15f / scale * 0x1p-15f));
	clip = engine_float((int32_t)flatbuf_u32(m->fb, &m->options, LSTM_CELL_CLIP, 0));
	m->attributes[NPUMEM_COMMAND_LSTM_CELL_SHIFT] = exponent - 1;
	m->attributes[NPUMEM_COMMAND_LSTM_CELL_CLIP] =
		clip > 0 ? (int32_t)fminf(clip / cell, INT16_MAX) : 0;
	m->attributes[NPUMEM_COMMAND_LSTM_HIDDEN_ZERO] =
		made.zero_points.count ? (int32_t)flatbuf_vector_i64(m->fb, &made.zero_points, 0) :
					 0;
}

static void make_lstm(struct command_maker *m)
{
	check_lstm(m);
	maker_add_output(m, SERIES);
	if (m->fb->err)
		return;
	maker_add_input(m, LSTM_INPUT, SERIES);
	for (uint32_t g = 0; g < 4; g++)
		maker_add_input(m, LSTM_INPUT_WEIGHTS + g, NATURAL);
	for (uint32_t g = 0; g < 4; g++)
		maker_add_input(m, LSTM_HIDDEN_WEIGHTS + g, NATURAL);
	for (uint32_t g = 0; g < 4; g++)
		maker_add_input(m, LSTM_BIASES + g, VECTOR);
	for (uint32_t i = LSTM_HIDDEN; i <= LSTM_CELL; i++)
		maker_add_operand(m, maker_input_at(m, i), BATCHES, NPUMEM_COMMAND_UPDATE, 0);
	m->head.attribute_count = NPUMEM_COMMAND_LSTM_ATTRIBUTES;
	lstm_scales(m);
}

/* ------------------------------------------------------------------------------ all of it */

static const struct {
	int32_t builtin;
	uint16_t operation;
	void (*make)(struct command_maker *m);
} makers[] = {
	{ BUILTIN_ADD, NPUMEM_COMMAND_ADD, make_binary },
	{ BUILTIN_ASSIGN_VARIABLE, NPUMEM_COMMAND_COPY, make_variable },
	{ BUILTIN_AVERAGE_POOL_2D, NPUMEM_COMMAND_AVERAGE_POOL, make_pool },
	{ BUILTIN_CONCATENATION, NPUMEM_COMMAND_CONCATENATION, make_concatenation },
	{ BUILTIN_CONV_2D, NPUMEM_COMMAND_CONV, make_conv },
	{ BUILTIN_DEPTHWISE_CONV_2D, NPUMEM_COMMAND_DEPTHWISE, make_conv },
	{ BUILTIN_DEQUANTIZE, NPUMEM_COMMAND_CONVERT, make_convert },
	{ BUILTIN_EXPAND_DIMS, NPUMEM_COMMAND_COPY, maker_add_copy },
	{ BUILTIN_FULLY_CONNECTED, NPUMEM_COMMAND_CONV, make_linear },
	{ BUILTIN_LOGISTIC, NPUMEM_COMMAND_LOGISTIC, make_logistic },
	{ BUILTIN_MAX_POOL_2D, NPUMEM_COMMAND_MAX_POOL, make_pool },
	{ BUILTIN_MUL, NPUMEM_COMMAND_MUL, make_binary },
	{ BUILTIN_PAD, NPUMEM_COMMAND_PAD, make_pad },
	{ BUILTIN_PADV2, NPUMEM_COMMAND_PAD, make_pad },
	{ BUILTIN_QUANTIZE, NPUMEM_COMMAND_CONVERT, make_convert },
	{ BUILTIN_READ_VARIABLE, NPUMEM_COMMAND_COPY, make_variable },
	{ BUILTIN_RELU, NPUMEM_COMMAND_CONVERT, make_convert },
	{ BUILTIN_RELU6, NPUMEM_COMMAND_CONVERT, make_convert },
	{ BUILTIN_RELU_N1_TO_1, NPUMEM_COMMAND_CONVERT, make_convert },
	{ BUILTIN_RESHAPE, NPUMEM_COMMAND_COPY, maker_add_copy },
	{ BUILTIN_RESIZE_BILINEAR, NPUMEM_COMMAND_RESIZE_BILINEAR, make_resize },
	{ BUILTIN_RESIZE_NEAREST, NPUMEM_COMMAND_RESIZE_NEAREST, make_resize },
	{ BUILTIN_SOFTMAX, NPUMEM_COMMAND_SOFTMAX, make_softmax },
	{ BUILTIN_SPLIT, NPUMEM_COMMAND_SPLIT, make_split },
	{ BUILTIN_SPLIT_V, NPUMEM_COMMAND_SPLIT, make_split },
	{ BUILTIN_SQUEEZE, NPUMEM_COMMAND_COPY, maker_add_copy },
	{ BUILTIN_STRIDED_SLICE, NPUMEM_COMMAND_SLICE, make_strided_slice },
	{ BUILTIN_TANH, NPUMEM_COMMAND_TANH, maker_add_same },
	{ BUILTIN_UNIDIRECTIONAL_SEQUENCE_LSTM, NPUMEM_COMMAND_LSTM, make_lstm },
};

void maker_run(struct command_maker *m)
{
	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
		if (makers[i].builtin == m->builtin) {
			m->head.operation = makers[i].operation;
			makers[i].make(m);
			return;
		}
	maker_fail(m, -EOPNOTSUPP, "the engine has no such operator");
}
