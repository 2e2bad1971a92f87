// SPDX-License-Identifier: MIT
#include "commands.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "command.h"
#include "fixed.h"
#include "flatbuf.h"
#include "reader.h"
#include "region.h"
#include "schema.h"

#define MAX_ATTRIBUTES 16

/*
 * struct tflite_commands - a model beside its graph
 * @index: per tensor of the file its index in @graph, or NPUMEM_NONE
 */
struct tflite_commands {
	struct flatbuf fb;
	const struct npuplan_graph *graph;
	struct flatbuf_vector codes;
	struct flatbuf_vector buffers;
	struct flatbuf_vector tensors;
	struct flatbuf_vector operators;
	uint32_t *index;
};

/*
 * struct maker - a command in the making
 * @table, @options, @inputs: of the operator in the file
 * @operand_count, @piece_count, @scale_count: used of the arrays
 * @scales: malloc'ed
 */
struct maker {
	struct tflite_commands *all;
	struct flatbuf *fb;
	const struct npuplan_graph *graph;
	const struct npuplan_step *step;
	const struct npuplan_op *op;
	struct flatbuf_table table;
	struct flatbuf_table options;
	struct flatbuf_vector inputs;
	struct flatbuf_vector outputs;
	int32_t builtin;
	struct npumem_command head;
	struct npumem_command_operand operands[NPUMEM_COMMAND_MAX_OPERANDS];
	struct npumem_command_piece pieces[NPUMEM_COMMAND_MAX_OPERANDS];
	struct npumem_command_scale *scales;
	int32_t attributes[MAX_ATTRIBUTES];
};

/* What the file says of a tensor's numbers. */
struct quantization {
	struct flatbuf_vector scales;
	struct flatbuf_vector zero_points;
};

__attribute__((format(printf, 3, 4))) static int fail(struct maker *m, int err, const char *format,
						      ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return flatbuf_fail(m->fb, err, "%s: %s", import_op_text(m->op).s, text);
}

/* ------------------------------------------------------------------------------ the file */

static struct flatbuf_table tensor_table(struct maker *m, uint32_t tensor)
{
	return flatbuf_vector_table(m->fb, &m->all->tensors,
				    (uint32_t)m->graph->tensors[tensor].id);
}

static uint8_t tensor_type(struct maker *m, uint32_t tensor)
{
	struct flatbuf_table table = tensor_table(m, tensor);

	return flatbuf_u8(m->fb, &table, TENSOR_TYPE, TYPE_FLOAT32);
}

static struct quantization file_quantization(struct flatbuf *fb, const struct flatbuf_table *tensor)
{
	struct flatbuf_table table = flatbuf_table(fb, tensor, TENSOR_QUANTIZATION);

	return (struct quantization){
		.scales = flatbuf_vector(fb, &table, QUANTIZATION_SCALE, 4),
		.zero_points = flatbuf_vector(fb, &table, QUANTIZATION_ZERO_POINT, 8),
	};
}

static struct quantization quantization_of(struct maker *m, uint32_t tensor)
{
	struct flatbuf_table table = tensor_table(m, tensor);

	return file_quantization(m->fb, &table);
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

/* A scale of a tensor; one that has none, or none that is positive, is refused. */
static float scale_at(struct maker *m, uint32_t tensor, uint32_t index)
{
	struct quantization q = quantization_of(m, tensor);
	float scale = 0;

	if (index < q.scales.count)
		scale = float_of(flatbuf_vector_i32(m->fb, &q.scales, index));
	if (!(scale > 0 && isfinite(scale)))
		fail(m, -EINVAL, "%s has no scale",
		     import_tensor_text(&m->graph->tensors[tensor]).s);
	return scale;
}

static float scale_of(struct maker *m, uint32_t tensor)
{
	return scale_at(m, tensor, 0);
}

/* Index in the graph of the operator's n-th input in the file; NPUMEM_NONE if it has none. */
static uint32_t input_at(struct maker *m, uint32_t n)
{
	int32_t number = n < m->inputs.count ? flatbuf_vector_i32(m->fb, &m->inputs, n) : -1;

	/* Numbers have been checked as the graph was read. */
	return number >= 0 && (uint32_t)number < m->all->tensors.count ? m->all->index[number] :
									 NPUMEM_NONE;
}

/* Constant data of a tensor. */
static struct flatbuf_vector data_of(struct maker *m, uint32_t tensor)
{
	struct flatbuf_table table = tensor_table(m, tensor);

	return tflite_buffer(m->fb, &m->all->buffers, flatbuf_u32(m->fb, &table, TENSOR_BUFFER, 0));
}

/* ------------------------------------------------------------------------- parts of commands */

static uint8_t command_type(uint8_t type)
{
	switch (type) {
	case TYPE_FLOAT32:
		return NPUMEM_COMMAND_FLOAT32;
	case TYPE_FLOAT16:
		return NPUMEM_COMMAND_FLOAT16;
	case TYPE_INT8:
		return NPUMEM_COMMAND_INT8;
	case TYPE_UINT8:
		return NPUMEM_COMMAND_UINT8;
	case TYPE_INT16:
		return NPUMEM_COMMAND_INT16;
	case TYPE_INT32:
		return NPUMEM_COMMAND_INT32;
	default:
		return 0;
	}
}

static bool is_float_type(uint8_t type)
{
	return type == TYPE_FLOAT32 || type == TYPE_FLOAT16;
}

/* Elements along all dimensions from @first to before @end. */
static uint32_t product(const struct npuplan_tensor *tensor, uint32_t first, uint32_t end)
{
	uint64_t elements = 1;

	for (uint32_t d = first; d < end; d++)
		elements *= (uint64_t)tensor->shape[d];
	return elements <= NPUMEM_COMMAND_MAX_DIM ? (uint32_t)elements : 0;
}

/* How a tensor's shape is seen as N x H x W x C. */
enum view {
	NATURAL, /* rank 4 as it is; others are rows of channels */
	ALIGNED, /* the last dimensions are the last ones */
	VECTOR,	 /* all are channels */
	WEIGHTS, /* out, in of a fully connected layer */
	SERIES,	 /* batch, time, elements */
	BATCHES, /* batch, elements */
};

static void view_shape(const struct npuplan_tensor *t, enum view view, uint32_t shape[4])
{
	uint32_t rank = t->dim_count, last = rank ? rank - 1 : 0;

	for (int d = 0; d < 4; d++)
		shape[d] = 1;
	switch (view) {
	case VECTOR:
		shape[3] = product(t, 0, rank);
		return;
	case WEIGHTS:
		shape[0] = product(t, 0, last);
		break;
	case SERIES:
		shape[0] = product(t, 0, rank > 2 ? 1 : 0);
		shape[1] = product(t, rank > 2 ? 1 : 0, last);
		break;
	case BATCHES:
		shape[0] = product(t, 0, last);
		break;
	case NATURAL:
	case ALIGNED:
		if (rank == 4 || view == ALIGNED) {
			for (uint32_t d = 0; d < rank; d++)
				shape[4 - rank + d] = product(t, d, d + 1);
			return;
		}
		shape[1] = product(t, 0, last);
		break;
	}
	if (rank)
		shape[3] = product(t, last, rank);
}

/*
 * The step's access of a tensor: the @nth one that fits, the last if there are not as many;
 * NPUMEM_NONE if there is none.
 */
static uint32_t find_access(const struct maker *m, uint32_t tensor, bool write, uint32_t nth)
{
	uint32_t found = NPUMEM_NONE;

	for (uint32_t i = 0; i < m->step->access_count; i++) {
		const struct npumem_access *access = &m->graph->accesses[m->step->first_access + i];

		if (m->graph->tiles[access->tile].tensor != tensor ||
		    access->mode == (write ? NPUMEM_ACCESS_READ : NPUMEM_ACCESS_WRITE))
			continue;
		found = i;
		if (!nth--)
			break;
	}
	return found;
}

/* How many inputs of the operand's tensor stand before it. */
static uint32_t earlier(const struct maker *m, uint32_t tensor, uint32_t n)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < n && i < m->op->input_count; i++)
		count += m->op->inputs[i] == tensor;
	return count;
}

static int32_t zero_point(struct maker *m, uint32_t tensor)
{
	struct quantization q = quantization_of(m, tensor);
	int64_t zero = q.zero_points.count && !is_float_type(tensor_type(m, tensor)) ?
			       flatbuf_vector_i64(m->fb, &q.zero_points, 0) :
			       0;

	for (uint32_t i = 1; i < q.zero_points.count; i++)
		if (flatbuf_vector_i64(m->fb, &q.zero_points, i) != zero)
			fail(m, -EOPNOTSUPP, "%s has several zero points",
			     import_tensor_text(&m->graph->tensors[tensor]).s);
	if (zero < INT32_MIN || zero > INT32_MAX)
		fail(m, -EINVAL, "%s has zero point %" PRId64,
		     import_tensor_text(&m->graph->tensors[tensor]).s, zero);
	return (int32_t)zero;
}

/* Where the tile of an access lies in its tensor, and its bytes in the access. */
static void set_tile(struct maker *m, struct npumem_command_operand *o, uint32_t access,
		     const struct npuplan_tensor *t)
{
	const struct npumem_tile *tile =
		&m->graph->tiles[m->graph->accesses[m->step->first_access + access].tile];
	struct npumem_command_piece *piece = &m->pieces[m->head.piece_count];
	struct tflite_box box;
	uint64_t stride = t->elem_size;

	if (!t->elem_size || !o->shape[0] || !o->shape[1] || !o->shape[2] || !o->shape[3] ||
	    !tflite_box(o->shape, t->elem_size, &tile->region, &box)) {
		fail(m, -EOPNOTSUPP, "step %s accesses a part of %s that is no box of its shape",
		     m->step->name, import_tensor_text(t).s);
		return;
	}
	memcpy(o->origin, box.origin, sizeof(o->origin));
	memcpy(o->dims, box.dims, sizeof(o->dims));
	*piece = (struct npumem_command_piece){ .access = access, .rows = box.dims[1] };
	for (int d = 4; d-- > 0; stride *= box.dims[d])
		piece->stride[d] = stride;
	o->piece_count = 1;
	m->head.piece_count++;
}

/* The next operand. @nth: among the step's accesses of that tensor */
static void add_operand(struct maker *m, uint32_t tensor, enum view view, unsigned int mode,
			uint32_t nth)
{
	struct npumem_command_operand *o = &m->operands[m->head.operand_count];
	const struct npuplan_tensor *t = &m->graph->tensors[tensor];
	uint8_t type;
	uint32_t access;

	if (m->fb->err)
		return;
	if (m->head.operand_count == NPUMEM_COMMAND_MAX_OPERANDS) {
		fail(m, -EOPNOTSUPP, "it has more than %d operands", NPUMEM_COMMAND_MAX_OPERANDS);
		return;
	}
	type = tensor_type(m, tensor);
	access = find_access(m, tensor, mode != NPUMEM_COMMAND_READ, nth);
	*o = (struct npumem_command_operand){
		.type = command_type(type),
		.mode = (uint8_t)mode,
		.first_piece = m->head.piece_count,
		.zero_point = zero_point(m, tensor),
	};
	view_shape(t, view, o->shape);
	if (!o->type)
		fail(m, -EOPNOTSUPP, "%s has elements of TFLite's type %u", import_tensor_text(t).s,
		     type);
	else if (access != NPUMEM_NONE)
		set_tile(m, o, access, t);
	else if (mode != NPUMEM_COMMAND_READ || t->kind == NPUMEM_TENSOR_PARAMETER)
		fail(m, -EINVAL, "step %s does not access %s: parameters have to be planned",
		     m->step->name, import_tensor_text(t).s);
	m->head.operand_count++;
}

/* The operator's n-th input in the file, which it has to have. */
static uint32_t add_input(struct maker *m, uint32_t n, enum view view)
{
	uint32_t tensor = input_at(m, n);

	if (tensor == NPUMEM_NONE)
		fail(m, -EINVAL, "it has no input %" PRIu32, n);
	else
		add_operand(m, tensor, view, NPUMEM_COMMAND_READ, earlier(m, tensor, n));
	return m->fb->err ? 0 : tensor;
}

static uint32_t add_output(struct maker *m, enum view view)
{
	if (m->outputs.count != 1)
		fail(m, -EOPNOTSUPP, "it has %" PRIu32 " outputs", m->outputs.count);
	add_operand(m, m->op->outputs[0], view, NPUMEM_COMMAND_WRITE, 0);
	return m->op->outputs[0];
}

/*
 * Output and input of an operator that takes element for element. A parameter is accessed whole
 * even where the output is cut: of that the same part is the operand.
 */
static void add_same(struct maker *m)
{
	const struct npumem_command_operand *out = &m->operands[0];
	struct npumem_command_operand *in = &m->operands[1];
	struct npumem_command_piece *piece = &m->pieces[1];

	add_output(m, NATURAL);
	add_input(m, 0, NATURAL);
	if (m->fb->err || !in->piece_count || memcmp(in->shape, out->shape, sizeof(in->shape)) != 0)
		return;
	for (int d = 0; d < 4; d++)
		if (in->origin[d] > out->origin[d] ||
		    in->origin[d] + in->dims[d] < out->origin[d] + out->dims[d])
			return;
	for (int d = 0; d < 4; d++)
		piece->offset += (uint64_t)(out->origin[d] - in->origin[d]) * piece->stride[d];
	piece->rows = out->dims[1];
	memcpy(in->origin, out->origin, sizeof(in->origin));
	memcpy(in->dims, out->dims, sizeof(in->dims));
}

static void add_scale(struct maker *m, double factor)
{
	struct npumem_command_scale *scales =
		realloc(m->scales, (m->head.scale_count + 1) * sizeof(*scales));

	if (!scales) {
		flatbuf_fail(m->fb, -ENOMEM, "out of memory");
		return;
	}
	m->scales = scales;
	if (!(factor >= 0 && isfinite(factor)))
		fail(m, -EINVAL, "a scale is none");
	else
		fixed_quantize(factor, &scales[m->head.scale_count].multiplier,
			       &scales[m->head.scale_count].shift);
	m->head.scale_count++;
}

static int32_t nearest(struct maker *m, float value)
{
	value = roundf(value);
	if (!(value >= -0x1p30f && value <= 0x1p30f)) {
		fail(m, -EINVAL, "a scale is out of range");
		return 0;
	}
	return (int32_t)value;
}

static uint8_t activation_at(struct maker *m, unsigned int field)
{
	return flatbuf_u8(m->fb, &m->options, field, ACTIVATION_NONE);
}

/* Range of the output that an activation leaves; two attributes from @first on. */
static void set_range(struct maker *m, uint8_t activation, uint32_t tensor, uint32_t first)
{
	static const float ranges[][2] = {
		[ACTIVATION_NONE] = { -INFINITY, INFINITY },
		[ACTIVATION_RELU] = { 0, INFINITY },
		[ACTIVATION_RELU_N1_TO_1] = { -1, 1 },
		[ACTIVATION_RELU6] = { 0, 6 },
	};
	uint8_t type = tensor_type(m, tensor);
	int32_t min = type == TYPE_UINT8 ? 0 :
		      type == TYPE_INT8	 ? INT8_MIN :
		      type == TYPE_INT16 ? INT16_MIN :
					   INT32_MIN;
	int32_t max = type == TYPE_UINT8 ? UINT8_MAX :
		      type == TYPE_INT8	 ? INT8_MAX :
		      type == TYPE_INT16 ? INT16_MAX :
					   INT32_MAX;
	int32_t *range = &m->attributes[first];

	if (activation >= sizeof(ranges) / sizeof(*ranges)) {
		fail(m, -EOPNOTSUPP, "it has fused activation %u", activation);
		return;
	}
	for (int i = 0; i < 2 && !m->fb->err; i++) {
		float bound = ranges[activation][i];
		int32_t value;

		if (is_float_type(type)) {
			range[i] = bits_of(bound);
			continue;
		}
		range[i] = i ? max : min;
		if (isinf(bound))
			continue;
		value = zero_point(m, tensor) + nearest(m, bound / scale_of(m, tensor));
		if (i ? value < max : value > min)
			range[i] = value;
	}
}

/* ----------------------------------------------------------------------------- operators */

/* Stride, dilation, padding and kernel, which the graph's reader has checked. */
static void set_window(struct maker *m, unsigned int activation)
{
	const struct npuplan_attrs *attrs = &m->op->attrs;

	if (attrs->spatial != 2 || attrs->transposed) {
		fail(m, -EOPNOTSUPP, "its window is not understood");
		return;
	}
	for (int d = 0; d < 2; d++) {
		m->attributes[NPUMEM_COMMAND_STRIDE_H + d] = attrs->stride[d];
		m->attributes[NPUMEM_COMMAND_DILATION_H + d] = attrs->dilation[d];
		m->attributes[NPUMEM_COMMAND_PAD_TOP + d] = attrs->pad_begin[d];
		m->attributes[NPUMEM_COMMAND_KERNEL_H + d] = attrs->kernel[d];
	}
	m->head.attribute_count = NPUMEM_COMMAND_WINDOW_ATTRIBUTES;
	set_range(m, activation_at(m, activation), m->op->outputs[0], NPUMEM_COMMAND_WINDOW_MIN);
}

/* Scales of sums of products: one, or those of the output's channels in the step. */
static void add_product_scales(struct maker *m, uint32_t in, uint32_t weights, uint32_t out,
			       bool by_channel)
{
	struct quantization q = quantization_of(m, weights);
	const struct npumem_command_operand *o = &m->operands[0];
	float in_scale, out_scale;

	if (m->fb->err || is_float_type(tensor_type(m, out)))
		return;
	in_scale = scale_of(m, in);
	out_scale = scale_of(m, out);
	if (q.scales.count > 1 && (q.scales.count != o->shape[3] || !by_channel)) {
		fail(m, -EOPNOTSUPP, "its weights have %" PRIu32 " scales", q.scales.count);
		return;
	}
	if (q.scales.count <= 1) {
		float scale = scale_of(m, weights);

		/* In this order and precision it is part of the definition. */
		if (by_channel && tensor_type(m, in) != TYPE_UINT8)
			add_scale(m, (double)in_scale * (double)scale / (double)out_scale);
		else
			add_scale(m, (double)(in_scale * scale) / (double)out_scale);
		return;
	}
	for (uint32_t c = 0; c < o->dims[3] && !m->fb->err; c++)
		add_scale(m, (double)in_scale * (double)scale_at(m, weights, o->origin[3] + c) /
				     (double)out_scale);
}

static void make_conv(struct maker *m, unsigned int activation)
{
	uint32_t out = add_output(m, NATURAL), in = add_input(m, 0, NATURAL);
	uint32_t weights = add_input(m, 1, NATURAL);

	if (input_at(m, 2) != NPUMEM_NONE)
		add_input(m, 2, VECTOR);
	set_window(m, activation);
	add_product_scales(m, in, weights, out, true);
}

/* A convolution of one row and column; the input is as many rows as it has weights' channels. */
static void make_linear(struct maker *m)
{
	uint32_t weights = input_at(m, 1), out = add_output(m, NATURAL), in;
	struct npumem_command_operand *o;
	uint64_t elements;

	if (flatbuf_u8(m->fb, &m->options, FULLY_CONNECTED_FORMAT, 0))
		fail(m, -EOPNOTSUPP, "its weights are shuffled");
	in = add_input(m, 0, NATURAL);
	add_input(m, 1, WEIGHTS);
	if (input_at(m, 2) != NPUMEM_NONE)
		add_input(m, 2, VECTOR);
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
			fail(m, -EOPNOTSUPP, "step %s has no rows of %" PRIu32 " elements",
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
	set_range(m, activation_at(m, FULLY_CONNECTED_ACTIVATION), out, NPUMEM_COMMAND_WINDOW_MIN);
	add_product_scales(m, in, weights, out, false);
}

static void make_pool(struct maker *m)
{
	uint32_t out = add_output(m, NATURAL), in = add_input(m, 0, NATURAL);

	set_window(m, POOL_2D_ACTIVATION);
	if (!m->fb->err && !is_float_type(tensor_type(m, out)) &&
	    scale_of(m, in) != scale_of(m, out))
		fail(m, -EOPNOTSUPP, "it would have to rescale");
}

/* Of inputs of the output's shape it does not matter how it is seen; else from the last on. */
static enum view binary_view(const struct maker *m)
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

static void make_binary(struct maker *m, bool is_sum)
{
	enum view view;
	uint32_t out, a, b;

	if (m->op->input_count != 2) {
		fail(m, -EINVAL, "it has %" PRIu32 " inputs", m->op->input_count);
		return;
	}
	view = binary_view(m);
	out = add_output(m, view);
	a = add_input(m, 0, view);
	b = add_input(m, 1, view);
	m->head.attribute_count = NPUMEM_COMMAND_CLAMP_ATTRIBUTES;
	set_range(m, activation_at(m, is_sum ? ADD_ACTIVATION : MUL_ACTIVATION), out,
		  NPUMEM_COMMAND_CLAMP_MIN);
	if (m->fb->err || is_float_type(tensor_type(m, out)))
		return;
	if (is_sum) {
		float first = scale_of(m, a), second = scale_of(m, b);
		double most = 2.0 * (double)(first > second ? first : second);

		add_scale(m, (double)first / most);
		add_scale(m, (double)second / most);
		add_scale(m, most / (double)((float)(1 << 20) * scale_of(m, out)));
	} else {
		add_scale(m, (double)(scale_of(m, a) * scale_of(m, b) / scale_of(m, out)));
	}
}

/* Between types and scales: quantize, dequantize, and the activations that only clamp. */
static void make_convert(struct maker *m, uint8_t activation)
{
	uint32_t out = m->op->outputs[0], in;
	bool from_float, to_float;

	add_same(m);
	if (m->fb->err)
		return;
	in = input_at(m, 0);
	m->head.attribute_count = NPUMEM_COMMAND_CONVERT_ATTRIBUTES;
	set_range(m, activation, out, NPUMEM_COMMAND_CLAMP_MIN);
	from_float = is_float_type(tensor_type(m, in));
	to_float = is_float_type(tensor_type(m, out));
	if (!from_float && !to_float)
		/* An activation's ratio is one of floats. */
		add_scale(m, activation ? (double)(scale_of(m, in) / scale_of(m, out)) :
					  (double)scale_of(m, in) / (double)scale_of(m, out));
	else if (from_float != to_float)
		m->attributes[NPUMEM_COMMAND_CONVERT_FACTOR] =
			bits_of(scale_of(m, from_float ? out : in));
}

/* Largest difference that a number of @bits before the point takes, once rescaled. */
static int32_t radius(int bits, int32_t shift)
{
	double most = (double)((1 << bits) - 1) * (double)(INT64_C(1) << (31 - bits));

	return (int32_t)fmin(floor(ldexp(most, -shift)), INT32_MAX);
}

static void make_softmax(struct maker *m)
{
	uint32_t out = add_output(m, NATURAL), in = add_input(m, 0, NATURAL);
	float beta = float_of((int32_t)flatbuf_u32(m->fb, &m->options, SOFTMAX_BETA, 0));
	double factor;

	if (m->fb->err)
		return;
	m->head.attribute_count = NPUMEM_COMMAND_SOFTMAX_ATTRIBUTES;
	if (is_float_type(tensor_type(m, out))) {
		m->attributes[NPUMEM_COMMAND_SOFTMAX_BETA] = bits_of(beta);
		return;
	}
	factor = (double)beta * (double)scale_of(m, in) * (double)(1 << 26);
	add_scale(m, fmin(factor, (double)(INT64_C(1) << 31) - 1));
	if (!m->fb->err)
		m->attributes[NPUMEM_COMMAND_SOFTMAX_DIFF_MIN] = -radius(5, m->scales[0].shift);
}

static void make_logistic(struct maker *m)
{
	add_same(m);
	m->head.attribute_count = NPUMEM_COMMAND_LOGISTIC_ATTRIBUTES;
	if (m->fb->err || is_float_type(tensor_type(m, m->op->outputs[0])))
		return;
	add_scale(m, (double)scale_of(m, input_at(m, 0)) * (double)(1 << 27));
	if (!m->fb->err)
		m->attributes[NPUMEM_COMMAND_LOGISTIC_RADIUS] = radius(4, m->scales[0].shift);
}

static void make_pad(struct maker *m)
{
	uint32_t out = add_output(m, NATURAL), in = add_input(m, 0, NATURAL);
	uint32_t paddings = input_at(m, 1), value = input_at(m, 2), rank;
	struct flatbuf_vector data;
	bool wide;

	if (m->fb->err)
		return;
	rank = m->graph->tensors[in].dim_count;
	if (paddings == NPUMEM_NONE || rank != 4) {
		fail(m, -EOPNOTSUPP, "it does not pad four dimensions");
		return;
	}
	data = data_of(m, paddings);
	wide = tensor_type(m, paddings) == TYPE_INT64;
	if (data.count != 2 * rank * (wide ? 8 : 4)) {
		fail(m, -EOPNOTSUPP, "its paddings are not constant");
		return;
	}
	for (uint32_t d = 0; d < rank; d++) {
		int64_t before = wide ? flatbuf_vector_i64(m->fb, &data, 2 * d) :
					flatbuf_vector_i32(m->fb, &data, 2 * d);

		if (before < 0 || before > (int64_t)NPUMEM_COMMAND_MAX_DIM)
			fail(m, -EINVAL, "its padding is %" PRId64, before);
		m->attributes[NPUMEM_COMMAND_PAD_BEFORE + d] = (int32_t)before;
	}
	m->head.attribute_count = NPUMEM_COMMAND_PAD_ATTRIBUTES;
	m->attributes[NPUMEM_COMMAND_PAD_VALUE] = zero_point(m, out);
	if (value == NPUMEM_NONE || m->fb->err)
		return;
	data = data_of(m, value);
	if (tensor_type(m, value) != tensor_type(m, out) ||
	    data.count != m->graph->tensors[out].elem_size || data.count > 4)
		fail(m, -EOPNOTSUPP, "what it pads with is not constant");
	else
		memcpy(&m->attributes[NPUMEM_COMMAND_PAD_VALUE], m->fb->data + data.pos,
		       data.count);
}

static void make_concatenation(struct maker *m)
{
	uint32_t out = add_output(m, NATURAL);

	if (activation_at(m, CONCATENATION_ACTIVATION))
		fail(m, -EOPNOTSUPP, "it has a fused activation");
	for (uint32_t i = 0; i < m->inputs.count && !m->fb->err; i++) {
		uint32_t in = input_at(m, i);

		/* Empty ones have fallen away. */
		if (in == NPUMEM_NONE)
			continue;
		add_input(m, i, NATURAL);
		if (!m->fb->err && !is_float_type(tensor_type(m, out)) &&
		    scale_of(m, in) != scale_of(m, out))
			fail(m, -EOPNOTSUPP, "it would have to rescale");
	}
}

static void make_resize(struct maker *m, unsigned int align, unsigned int half_pixel)
{
	add_output(m, NATURAL);
	add_input(m, 0, NATURAL);
	m->attributes[NPUMEM_COMMAND_ALIGN_CORNERS] = flatbuf_u8(m->fb, &m->options, align, 0) != 0;
	m->attributes[NPUMEM_COMMAND_HALF_PIXEL] = flatbuf_u8(m->fb, &m->options, half_pixel, 0) !=
						   0;
	m->head.attribute_count = NPUMEM_COMMAND_RESIZE_ATTRIBUTES;
}

/* ---------------------------------------------------------------------------------- LSTM */

/* What the output gate makes is said of by the last of five intermediate tensors. */
static struct quantization hidden_quantization(struct maker *m)
{
	struct flatbuf_vector numbers = flatbuf_vector(m->fb, &m->table, OPERATOR_INTERMEDIATES, 4);
	struct flatbuf_table tensor;
	int32_t number = numbers.count == 5 ? flatbuf_vector_i32(m->fb, &numbers, 4) : -1;

	if (number < 0 || (uint32_t)number >= m->all->tensors.count) {
		fail(m, -EOPNOTSUPP, "its intermediate tensors are not told");
		return (struct quantization){ 0 };
	}
	tensor = flatbuf_vector_table(m->fb, &m->all->tensors, (uint32_t)number);
	return file_quantization(m->fb, &tensor);
}

static void check_lstm(struct maker *m)
{
	for (uint32_t i = 0; i < m->inputs.count; i++) {
		bool optional = (i >= LSTM_PEEPHOLES && i < LSTM_BIASES) ||
				(i >= LSTM_PROJECTION && i < LSTM_HIDDEN) || i >= LSTM_NORMS;

		if (i < LSTM_INPUTS && optional != (input_at(m, i) == NPUMEM_NONE)) {
			fail(m, -EOPNOTSUPP,
			     "only networks without peepholes, projection, coupled gates and "
			     "normalization are computed (input %" PRIu32 ")",
			     i);
			return;
		}
	}
	if (m->inputs.count < LSTM_NORMS)
		fail(m, -EINVAL, "it has %" PRIu32 " inputs", m->inputs.count);
	else if (activation_at(m, LSTM_ACTIVATION) != ACTIVATION_TANH ||
		 flatbuf_u8(m->fb, &m->options, LSTM_TIME_MAJOR, 0))
		fail(m, -EOPNOTSUPP, "its activation is another one, or time comes before batches");
	else if (tensor_type(m, input_at(m, LSTM_INPUT)) != TYPE_INT8)
		fail(m, -EOPNOTSUPP, "it is not of 8-bit integers");
}

static void lstm_scales(struct maker *m)
{
	float in = scale_of(m, input_at(m, LSTM_INPUT)),
	      hidden = scale_of(m, input_at(m, LSTM_HIDDEN));
	struct quantization made = hidden_quantization(m);
	float cell = scale_of(m, input_at(m, LSTM_CELL)), scale, clip;
	int exponent;

	for (uint32_t g = 0; g < 4 && !m->fb->err; g++)
		add_scale(m, (double)(scale_of(m, input_at(m, LSTM_INPUT_WEIGHTS + g)) * in /
				      0x1p-12f));
	for (uint32_t g = 0; g < 4 && !m->fb->err; g++)
		add_scale(m, (double)(scale_of(m, input_at(m, LSTM_HIDDEN_WEIGHTS + g)) * hidden /
				      0x1p-12f));
	if (m->fb->err)
		return;
	scale = made.scales.count ? float_of(flatbuf_vector_i32(m->fb, &made.scales, 0)) : 0;
	if (!(scale > 0) || frexpf(cell, &exponent) != 0.5f) {
		fail(m, -EINVAL, "the scale of its state is none");
		return;
	}
	add_scale(m, (double)(0x1p-15f / scale * 0x1p-15f));
	clip = float_of((int32_t)flatbuf_u32(m->fb, &m->options, LSTM_CELL_CLIP, 0));
	m->attributes[NPUMEM_COMMAND_LSTM_CELL_SHIFT] = exponent - 1;
	m->attributes[NPUMEM_COMMAND_LSTM_CELL_CLIP] =
		clip > 0 ? (int32_t)fminf(clip / cell, INT16_MAX) : 0;
	m->attributes[NPUMEM_COMMAND_LSTM_HIDDEN_ZERO] =
		made.zero_points.count ? (int32_t)flatbuf_vector_i64(m->fb, &made.zero_points, 0) :
					 0;
}

static void make_lstm(struct maker *m)
{
	check_lstm(m);
	add_output(m, SERIES);
	if (m->fb->err)
		return;
	add_input(m, LSTM_INPUT, SERIES);
	for (uint32_t g = 0; g < 4; g++)
		add_input(m, LSTM_INPUT_WEIGHTS + g, NATURAL);
	for (uint32_t g = 0; g < 4; g++)
		add_input(m, LSTM_HIDDEN_WEIGHTS + g, NATURAL);
	for (uint32_t g = 0; g < 4; g++)
		add_input(m, LSTM_BIASES + g, VECTOR);
	for (uint32_t i = LSTM_HIDDEN; i <= LSTM_CELL; i++)
		add_operand(m, input_at(m, i), BATCHES, NPUMEM_COMMAND_UPDATE, 0);
	m->head.attribute_count = NPUMEM_COMMAND_LSTM_ATTRIBUTES;
	lstm_scales(m);
}

/* ------------------------------------------------------------------------------ all of it */

static void make(struct maker *m)
{
	switch (m->builtin) {
	case BUILTIN_ADD:
		m->head.operation = NPUMEM_COMMAND_ADD;
		make_binary(m, true);
		break;
	case BUILTIN_MUL:
		m->head.operation = NPUMEM_COMMAND_MUL;
		make_binary(m, false);
		break;
	case BUILTIN_AVERAGE_POOL_2D:
		m->head.operation = NPUMEM_COMMAND_AVERAGE_POOL;
		make_pool(m);
		break;
	case BUILTIN_MAX_POOL_2D:
		m->head.operation = NPUMEM_COMMAND_MAX_POOL;
		make_pool(m);
		break;
	case BUILTIN_CONV_2D:
		m->head.operation = NPUMEM_COMMAND_CONV;
		make_conv(m, CONV_2D_ACTIVATION);
		break;
	case BUILTIN_DEPTHWISE_CONV_2D:
		m->head.operation = NPUMEM_COMMAND_DEPTHWISE;
		make_conv(m, DEPTHWISE_ACTIVATION);
		break;
	case BUILTIN_FULLY_CONNECTED:
		m->head.operation = NPUMEM_COMMAND_CONV;
		make_linear(m);
		break;
	case BUILTIN_SOFTMAX:
		m->head.operation = NPUMEM_COMMAND_SOFTMAX;
		make_softmax(m);
		break;
	case BUILTIN_LOGISTIC:
		m->head.operation = NPUMEM_COMMAND_LOGISTIC;
		make_logistic(m);
		break;
	case BUILTIN_TANH:
		m->head.operation = NPUMEM_COMMAND_TANH;
		add_same(m);
		break;
	case BUILTIN_QUANTIZE:
	case BUILTIN_DEQUANTIZE:
		m->head.operation = NPUMEM_COMMAND_CONVERT;
		make_convert(m, ACTIVATION_NONE);
		break;
	case BUILTIN_RELU:
	case BUILTIN_RELU_N1_TO_1:
	case BUILTIN_RELU6:
		m->head.operation = NPUMEM_COMMAND_CONVERT;
		make_convert(m, m->builtin == BUILTIN_RELU  ? ACTIVATION_RELU :
				m->builtin == BUILTIN_RELU6 ? ACTIVATION_RELU6 :
							      ACTIVATION_RELU_N1_TO_1);
		break;
	case BUILTIN_PAD:
	case BUILTIN_PADV2:
		m->head.operation = NPUMEM_COMMAND_PAD;
		make_pad(m);
		break;
	case BUILTIN_CONCATENATION:
		m->head.operation = NPUMEM_COMMAND_CONCATENATION;
		make_concatenation(m);
		break;
	case BUILTIN_RESHAPE:
	case BUILTIN_SQUEEZE:
	case BUILTIN_EXPAND_DIMS:
		m->head.operation = NPUMEM_COMMAND_COPY;
		add_same(m);
		break;
	case BUILTIN_RESIZE_BILINEAR:
		m->head.operation = NPUMEM_COMMAND_RESIZE_BILINEAR;
		make_resize(m, RESIZE_BILINEAR_ALIGN, RESIZE_BILINEAR_HALF_PIXEL);
		break;
	case BUILTIN_RESIZE_NEAREST:
		m->head.operation = NPUMEM_COMMAND_RESIZE_NEAREST;
		make_resize(m, RESIZE_NEAREST_ALIGN, RESIZE_NEAREST_HALF_PIXEL);
		break;
	case BUILTIN_UNIDIRECTIONAL_SEQUENCE_LSTM:
		m->head.operation = NPUMEM_COMMAND_LSTM;
		make_lstm(m);
		break;
	default:
		fail(m, -EOPNOTSUPP, "the engine has no such operator");
	}
}

/* The parts one behind the other. */
static int put_together(struct maker *m, void **command, size_t *size)
{
	size_t operands = m->head.operand_count * sizeof(*m->operands);
	size_t pieces = m->head.piece_count * sizeof(*m->pieces);
	size_t scales = m->head.scale_count * sizeof(*m->scales);
	size_t attributes = m->head.attribute_count * sizeof(*m->attributes);
	const char *why;
	char *at;
	int err;

	*size = sizeof(m->head) + (operands + 7) / 8 * 8 + pieces + scales +
		(attributes + 7) / 8 * 8;
	at = calloc(1, *size);
	*command = at;
	if (!at)
		return flatbuf_fail(m->fb, -ENOMEM, "out of memory");
	m->head.magic = NPUMEM_COMMAND_MAGIC;
	m->head.version = NPUMEM_COMMAND_VERSION;
	m->head.size = (uint32_t)*size;
	memcpy(at, &m->head, sizeof(m->head));
	at += sizeof(m->head);
	memcpy(at, m->operands, operands);
	at += (operands + 7) / 8 * 8;
	memcpy(at, m->pieces, pieces);
	at += pieces;
	if (scales)
		memcpy(at, m->scales, scales);
	at += scales;
	memcpy(at, m->attributes, attributes);
	/* What the engine would refuse is said here, where it is known whose fault it is. */
	err = engine_check(*command, *size, NULL, &why);
	if (!err)
		return 0;
	free(*command);
	*command = NULL;
	return fail(m, err, "step %s: the engine refuses its command: %s", m->step->name, why);
}

static int32_t builtin_of(struct maker *m)
{
	uint32_t index = flatbuf_u32(m->fb, &m->table, OPERATOR_CODE, 0);
	struct flatbuf_table code;
	uint8_t old;
	int32_t builtin;

	/* Checked as the graph was read. */
	if (index >= m->all->codes.count)
		return fail(m, -EINVAL, "it is of another model");
	code = flatbuf_vector_table(m->fb, &m->all->codes, index);
	old = flatbuf_u8(m->fb, &code, CODE_DEPRECATED_BUILTIN, 0);
	builtin = flatbuf_i32(m->fb, &code, CODE_BUILTIN, 0);
	return old <= INT8_MAX && old > builtin ? old : builtin;
}

int tflite_command(struct tflite_commands *commands, uint32_t step, void **command, size_t *size,
		   struct npuplan_error *error)
{
	struct npuplan_error own;
	struct maker m = {
		.all = commands,
		.fb = &commands->fb,
		.graph = commands->graph,
		.step = &commands->graph->steps[step],
	};
	int err;

	*command = NULL;
	*size = 0;
	m.fb->err = 0;
	m.fb->error = error ? error : &own;
	m.op = &m.graph->ops[m.step->op];
	if (m.op->id < 0 || (uint64_t)m.op->id >= commands->operators.count)
		return fail(&m, -EOPNOTSUPP, "it is not in the file: it runs once more");
	m.table = flatbuf_vector_table(m.fb, &commands->operators, (uint32_t)m.op->id);
	m.options = flatbuf_table(m.fb, &m.table, OPERATOR_OPTIONS);
	m.inputs = flatbuf_vector(m.fb, &m.table, OPERATOR_INPUTS, 4);
	m.outputs = flatbuf_vector(m.fb, &m.table, OPERATOR_OUTPUTS, 4);
	m.builtin = builtin_of(&m);
	if (!m.fb->err)
		make(&m);
	err = m.fb->err ? m.fb->err : put_together(&m, command, size);
	free(m.scales);
	return err;
}

int tflite_initial_value(struct tflite_commands *commands, uint32_t tensor, void *value,
			 struct npuplan_error *error)
{
	const struct npuplan_tensor *t = &commands->graph->tensors[tensor];
	struct npuplan_error own;
	struct npuplan_op none = { 0 };
	struct maker m = {
		.all = commands,
		.fb = &commands->fb,
		.graph = commands->graph,
		.op = &none,
	};
	struct flatbuf_vector data;

	m.fb->err = 0;
	m.fb->error = error ? error : &own;
	data = data_of(&m, tensor);
	if (t->kind == NPUMEM_TENSOR_PARAMETER && data.count == t->size && !m.fb->err) {
		memcpy(value, m.fb->data + data.pos, t->size);
		return 0;
	}
	if (t->kind != NPUMEM_TENSOR_STATE || t->elem_size > 4)
		return flatbuf_fail(m.fb, -EINVAL, "the model says nothing of the value of %s",
				    import_tensor_text(t).s);
	/* Zero of floats, too, is bytes of zero. */
	int32_t zero = zero_point(&m, tensor);

	for (uint64_t i = 0; t->elem_size && i < t->size / t->elem_size; i++)
		memcpy((char *)value + i * t->elem_size, &zero, t->elem_size);
	return m.fb->err;
}

/* The vectors that are looked into again and again, as read.c has checked them. */
static int open_model(struct tflite_commands *c)
{
	struct flatbuf_table root = flatbuf_root(&c->fb, TFLITE_IDENTIFIER), subgraph;
	struct flatbuf_vector subgraphs = flatbuf_vector(&c->fb, &root, MODEL_SUBGRAPHS, 4);

	if (!subgraphs.count)
		return flatbuf_fail(&c->fb, -EINVAL, "the model has no subgraph");
	subgraph = flatbuf_vector_table(&c->fb, &subgraphs, 0);
	c->codes = flatbuf_vector(&c->fb, &root, MODEL_OPERATOR_CODES, 4);
	c->buffers = flatbuf_vector(&c->fb, &root, MODEL_BUFFERS, 4);
	c->tensors = flatbuf_vector(&c->fb, &subgraph, SUBGRAPH_TENSORS, 4);
	c->operators = flatbuf_vector(&c->fb, &subgraph, SUBGRAPH_OPERATORS, 4);
	return c->fb.err;
}

static int index_tensors(struct tflite_commands *c)
{
	const struct npuplan_graph *graph = c->graph;

	c->index = malloc(((size_t)c->tensors.count + 1) * sizeof(*c->index));
	if (!c->index)
		return flatbuf_fail(&c->fb, -ENOMEM, "out of memory");
	memset(c->index, 0xff, ((size_t)c->tensors.count + 1) * sizeof(*c->index));
	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		int64_t id = graph->tensors[t].id;

		if (id < 0 || (uint64_t)id >= c->tensors.count)
			return flatbuf_fail(&c->fb, -EINVAL, "%s is not in the model",
					    import_tensor_text(&graph->tensors[t]).s);
		c->index[id] = t;
	}
	return 0;
}

int tflite_commands_new(const void *model, size_t size, const struct npuplan_graph *graph,
			struct tflite_commands **out, struct npuplan_error *error)
{
	struct npuplan_error own;
	struct tflite_commands *c = calloc(1, sizeof(*c));
	int err;

	*out = NULL;
	if (!c)
		return import_fail(error, -ENOMEM, "out of memory");
	c->fb = (struct flatbuf){ .data = model, .size = size, .error = error ? error : &own };
	c->graph = graph;
	err = open_model(c);
	if (!err)
		err = index_tensors(c);
	if (!err && !graph->step_count)
		err = flatbuf_fail(&c->fb, -EINVAL, "graph %s is not cut into steps", graph->name);
	if (!err && graph->layout != NPUPLAN_NHWC)
		err = flatbuf_fail(&c->fb, -EOPNOTSUPP, "graph %s is laid out as %s", graph->name,
				   npuplan_layout_name(graph->layout));
	if (err)
		tflite_commands_free(c);
	else
		*out = c;
	return err;
}

void tflite_commands_free(struct tflite_commands *commands)
{
	if (!commands)
		return;
	free(commands->index);
	free(commands);
}
