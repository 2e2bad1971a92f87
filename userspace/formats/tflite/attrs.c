/* SPDX-License-Identifier: MIT */
/*
 * TFLite's builtin options -> struct npuplan_attrs. Shapes are NHWC (NDHWC).
 * Windows are computed from options and weight shapes and must give the shape
 * that the model says, or are not known; padding is made explicit.
 */
#include <errno.h>
#include <inttypes.h>

#include "npuimport.h"
#include "reader.h"

/* Fields of an options table: where a window's numbers stand. 0, but of @padding: it has none. */
struct window_fields {
	uint8_t type;
	unsigned int padding;
	unsigned int stride[NPUPLAN_MAX_SPATIAL];
	unsigned int dilation[NPUPLAN_MAX_SPATIAL];
	unsigned int kernel[NPUPLAN_MAX_SPATIAL];
	/* Where the weights have the outermost size of the kernel, unless it is an option. */
	uint32_t weights;
	uint32_t spatial;
};

static const struct window_fields conv_2d = {
	.type = OPTIONS_CONV_2D,
	.padding = CONV_2D_PADDING,
	.stride = { CONV_2D_STRIDE_H, CONV_2D_STRIDE_W },
	.dilation = { CONV_2D_DILATION_H, CONV_2D_DILATION_W },
	.weights = 1,
	.spatial = 2,
};

static const struct window_fields depthwise_conv_2d = {
	.type = OPTIONS_DEPTHWISE_CONV_2D,
	.padding = DEPTHWISE_PADDING,
	.stride = { DEPTHWISE_STRIDE_H, DEPTHWISE_STRIDE_W },
	.dilation = { DEPTHWISE_DILATION_H, DEPTHWISE_DILATION_W },
	.weights = 1,
	.spatial = 2,
};

static const struct window_fields pool_2d = {
	.type = OPTIONS_POOL_2D,
	.padding = POOL_2D_PADDING,
	.stride = { POOL_2D_STRIDE_H, POOL_2D_STRIDE_W },
	.kernel = { POOL_2D_FILTER_HEIGHT, POOL_2D_FILTER_WIDTH },
	.spatial = 2,
};

static const struct window_fields transpose_conv = {
	.type = OPTIONS_TRANSPOSE_CONV,
	.padding = TRANSPOSE_CONV_PADDING,
	.stride = { TRANSPOSE_CONV_STRIDE_H, TRANSPOSE_CONV_STRIDE_W },
	.weights = 1,
	.spatial = 2,
};

static const struct window_fields conv_3d = {
	.type = OPTIONS_CONV_3D,
	.padding = CONV_3D_PADDING,
	.stride = { CONV_3D_STRIDE_D, CONV_3D_STRIDE_H, CONV_3D_STRIDE_W },
	.dilation = { CONV_3D_DILATION_D, CONV_3D_DILATION_H, CONV_3D_DILATION_W },
	.spatial = 3,
};

/* The options' table, of the type that the operator must have. */
static struct flatbuf_table options_table(struct tflite_reader *r,
					  const struct flatbuf_table *table, uint8_t wanted,
					  const struct npuplan_op *op)
{
	uint8_t type = flatbuf_u8(&r->fb, table, OPERATOR_OPTIONS_TYPE, 0);
	struct flatbuf_table options = flatbuf_table(&r->fb, table, OPERATOR_OPTIONS);

	if (type != wanted || !options.present)
		flatbuf_fail(&r->fb, -EINVAL, "%s: its options have type %u, expected %u",
			     import_op_text(op).s, options.present ? type : 0, wanted);
	return options;
}

static int32_t option(struct tflite_reader *r, const struct flatbuf_table *options,
		      unsigned int field, int32_t absent, int32_t limit, const char *what,
		      const struct npuplan_op *op)
{
	int32_t value = absent;

	if (field)
		value = flatbuf_i32(&r->fb, options, field, absent);
	if (value < 1 || value > limit)
		flatbuf_fail(&r->fb, -EINVAL, "%s: %s of %" PRId32 ", must be 1 to %" PRId32,
			     import_op_text(op).s, what, value, limit);
	return value;
}

static void tensor_of_rank(struct tflite_reader *r, const struct npuplan_op *op, uint32_t tensor,
			   uint32_t rank, const char *what)
{
	const struct npuplan_tensor *t = &r->graph->tensors[tensor];

	if (t->dim_count != rank)
		flatbuf_fail(&r->fb, -EINVAL,
			     "%s: its %s, %s, has %" PRIu32 " dimensions, must have %" PRIu32,
			     import_op_text(op).s, what, import_tensor_text(t).s, t->dim_count,
			     rank);
}

/* Kernel from the weights. */
static void read_kernel(struct tflite_reader *r, const struct window_fields *fields,
			struct npuplan_op *op)
{
	const struct npuplan_tensor *weights;

	if (op->input_count < 2) {
		flatbuf_fail(&r->fb, -EINVAL, "%s: it has no weights", import_op_text(op).s);
		return;
	}
	tensor_of_rank(r, op, op->inputs[1], fields->spatial + 2, "weights");
	weights = &r->graph->tensors[op->inputs[1]];
	for (uint32_t d = 0; d < fields->spatial && !r->fb.err; d++) {
		int64_t size = weights->shape[fields->weights + d];

		if (size > NPUIMPORT_MAX_KERNEL)
			flatbuf_fail(&r->fb, -EINVAL,
				     "%s: kernel size of %" PRId64 ", must be 1 to %d",
				     import_op_text(op).s, size, NPUIMPORT_MAX_KERNEL);
		op->attrs.kernel[d] = (int32_t)size;
	}
}

/*
 * Padding that makes @in elements to @out: SAME puts the odd one at the end. Of VALID, rows
 * behind the last window are not read; or, transposed, are zero.
 */
static void share_padding(struct npuplan_attrs *attrs, uint32_t d, uint8_t padding, int64_t in,
			  int64_t out)
{
	int64_t extent = (int64_t)(attrs->kernel[d] - 1) * attrs->dilation[d] + 1;
	int64_t total = attrs->transposed ? (in - 1) * attrs->stride[d] + extent - out :
					    (out - 1) * attrs->stride[d] + extent - in;
	bool shared = padding == PADDING_SAME && total > 0;

	attrs->pad_begin[d] = shared ? (int32_t)(total / 2) : 0;
	attrs->pad_end[d] = shared || attrs->transposed ? (int32_t)(total - attrs->pad_begin[d]) :
							  0;
}

static void check_size(struct tflite_reader *r, const struct npuplan_op *op, uint32_t d,
		       uint8_t padding, int64_t in, int64_t out)
{
	int64_t stride = op->attrs.stride[d],
		expected = import_window_size(&op->attrs, d, in, false);
	/* The output's size is free within one stride. */
	int64_t room = op->attrs.transposed ? stride : 1;

	if (padding == PADDING_SAME)
		expected = op->attrs.transposed ? in * stride : (in + stride - 1) / stride;
	if (out <= expected - room || out >= expected + room)
		flatbuf_fail(&r->fb, -EINVAL,
			     "%s: %s padding makes %" PRId64 " elements of %" PRId64
			     " along spatial dimension %" PRIu32 ", but its output has %" PRId64,
			     import_op_text(op).s, padding == PADDING_SAME ? "SAME" : "VALID",
			     expected, in, d, out);
}

/* The window that the options say must make the output's shape of the input's. */
static void check_window(struct tflite_reader *r, uint32_t spatial, uint8_t padding,
			 struct npuplan_op *op)
{
	const struct npuplan_tensor *tensors = r->graph->tensors;
	struct npuplan_attrs *attrs = &op->attrs;

	if (r->fb.err)
		return;
	if (!op->input_count) {
		flatbuf_fail(&r->fb, -EINVAL, "%s: it has no input", import_op_text(op).s);
		return;
	}
	tensor_of_rank(r, op, op->inputs[0], spatial + 2, "input");
	tensor_of_rank(r, op, op->outputs[0], spatial + 2, "output");
	attrs->spatial = spatial;
	for (uint32_t d = 0; !r->fb.err && d < spatial; d++) {
		int64_t in = tensors[op->inputs[0]].shape[1 + d];
		int64_t out = tensors[op->outputs[0]].shape[1 + d];

		if ((int64_t)attrs->kernel[d] * attrs->dilation[d] > NPUIMPORT_MAX_DIM / 4)
			flatbuf_fail(&r->fb, -EINVAL,
				     "%s: kernel %" PRId32 " with dilation %" PRId32
				     " spans more than %d elements",
				     import_op_text(op).s, attrs->kernel[d], attrs->dilation[d],
				     NPUIMPORT_MAX_DIM / 4);
		check_size(r, op, d, padding, in, out);
		share_padding(attrs, d, padding, in, out);
	}
}

static void window_attrs(struct tflite_reader *r, const struct flatbuf_table *table,
			 const struct window_fields *fields, struct npuplan_op *op)
{
	struct flatbuf_table options = options_table(r, table, fields->type, op);
	uint8_t padding = flatbuf_u8(&r->fb, &options, fields->padding, PADDING_SAME);
	struct npuplan_attrs *attrs = &op->attrs;

	if (padding > PADDING_VALID)
		flatbuf_fail(&r->fb, -EINVAL, "%s: padding %u is neither SAME nor VALID",
			     import_op_text(op).s, padding);
	for (uint32_t d = 0; d < fields->spatial; d++) {
		/* A stride's default is 0, so that an absent one is refused. */
		attrs->stride[d] = option(r, &options, fields->stride[d], 0, NPUIMPORT_MAX_DIM / 4,
					  "stride", op);
		attrs->dilation[d] = option(r, &options, fields->dilation[d], 1,
					    NPUIMPORT_MAX_DIM / 4, "dilation", op);
		if (fields->kernel[d])
			attrs->kernel[d] = option(r, &options, fields->kernel[d], 0,
						  NPUIMPORT_MAX_KERNEL, "filter size", op);
	}
	if (!fields->kernel[0])
		read_kernel(r, fields, op);
	check_window(r, fields->spatial, padding, op);
}

/* Weights: out, h, w, in/groups. */
static void conv_groups(const struct tflite_reader *r, struct npuplan_op *op)
{
	const struct npuplan_tensor *tensors = r->graph->tensors;
	int64_t channels = tensors[op->inputs[0]].shape[3];
	int64_t each = tensors[op->inputs[1]].shape[3];

	if (each && channels % each == 0 && channels / each <= INT32_MAX)
		op->attrs.groups = (int32_t)(channels / each);
}

static void swap(uint32_t *a, uint32_t *b)
{
	uint32_t value = *a;

	*a = *b;
	*b = value;
}

/* TFLite's inputs are output shape, weights, data, bias: the data goes first. */
static void transpose_conv_attrs(struct tflite_reader *r, const struct flatbuf_table *table,
				 uint32_t *sources, struct npuplan_op *op)
{
	if (op->input_count < 3) {
		flatbuf_fail(&r->fb, -EINVAL, "%s: has %" PRIu32 " inputs, must have 3 or 4",
			     import_op_text(op).s, op->input_count);
		return;
	}
	swap(&op->inputs[0], &op->inputs[2]);
	swap(&sources[0], &sources[2]);
	op->attrs.transposed = true;
	window_attrs(r, table, &transpose_conv, op);
}

bool tflite_converts(const struct tflite_reader *r, uint32_t from, uint32_t to)
{
	const struct tflite_fact *in = &r->facts[from], *out = &r->facts[to];

	return in->scales != out->scales || in->scales > 1 || in->scale != out->scale ||
	       in->zero_point != out->zero_point;
}

/* Whether a concat's output has other bytes than its inputs. */
static bool concat_converts(const struct tflite_reader *r, const struct npuplan_op *op)
{
	for (uint32_t i = 0; i < op->input_count; i++)
		if (tflite_converts(r, op->inputs[i], op->outputs[0]))
			return true;
	return false;
}

static void concat_attrs(struct tflite_reader *r, const struct flatbuf_table *table,
			 struct npuplan_op *op)
{
	int32_t rank = (int32_t)r->graph->tensors[op->outputs[0]].dim_count;
	struct flatbuf_table options = options_table(r, table, OPTIONS_CONCATENATION, op);
	int32_t axis = flatbuf_i32(&r->fb, &options, CONCATENATION_AXIS, 0);

	if (axis < -rank || axis >= rank)
		flatbuf_fail(&r->fb, -EINVAL, "%s: axis %" PRId32 " of %" PRId32 " dimensions",
			     import_op_text(op).s, axis, rank);
	op->attrs.axis = axis < 0 ? axis + rank : axis;
	op->attrs.converts = flatbuf_u8(&r->fb, &options, CONCATENATION_ACTIVATION, 0) ||
			     concat_converts(r, op);
	/* Empty inputs have fallen away. */
	if (!op->input_count)
		op->attrs.axis = -1;
	else
		tensor_of_rank(r, op, op->inputs[0], (uint32_t)rank, "input");
}

static int64_t padding(const struct tflite_reader *r, const struct flatbuf_vector *data, bool wide,
		       uint32_t index)
{
	return wide ? flatbuf_vector_i64(&r->fb, data, index) :
		      flatbuf_vector_i32(&r->fb, data, index);
}

/* Paddings are the second input, [rank, 2] of int32 or int64, if constant. */
static void pad_attrs(struct tflite_reader *r, const uint32_t *sources, struct npuplan_op *op)
{
	const struct npuplan_tensor *tensors = r->graph->tensors;
	const struct npuplan_tensor *in, *out = &tensors[op->outputs[0]];
	struct flatbuf_vector data;
	uint32_t rank = out->dim_count;
	bool wide;

	if (op->input_count < 2) {
		flatbuf_fail(&r->fb, -EINVAL, "%s: has no paddings", import_op_text(op).s);
		return;
	}
	in = &tensors[op->inputs[0]];
	data = r->scope->sub->data[sources[1]];
	/* Computed paddings, or rows that are not rows: the whole input is read. */
	if (!data.present || (rank != 4 && rank != 5) || in->dim_count != rank)
		return;
	wide = tensors[op->inputs[1]].elem_size == 8;
	if (data.count != rank * 2 * (wide ? 8 : 4)) {
		flatbuf_fail(&r->fb, -EINVAL,
			     "%s: its paddings have %" PRIu32 " bytes, must have %" PRIu32,
			     import_op_text(op).s, data.count, rank * 2 * (wide ? 8 : 4));
		return;
	}
	op->attrs.spatial = rank - 2;
	for (uint32_t d = 0; d < rank; d++) {
		int64_t begin = padding(r, &data, wide, 2 * d);
		int64_t end = padding(r, &data, wide, 2 * d + 1);

		if (begin < 0 || end < 0 || begin > NPUIMPORT_MAX_DIM / 4 ||
		    end > NPUIMPORT_MAX_DIM / 4 || in->shape[d] + begin + end != out->shape[d])
			flatbuf_fail(&r->fb, -EINVAL,
				     "%s: padding %" PRId64 " and %" PRId64
				     " does not make %" PRId64 " elements of %" PRId64
				     " along dimension %" PRIu32,
				     import_op_text(op).s, begin, end, out->shape[d], in->shape[d],
				     d);
		if (d < 1 || d > op->attrs.spatial)
			continue;
		op->attrs.kernel[d - 1] = 1;
		op->attrs.stride[d - 1] = 1;
		op->attrs.dilation[d - 1] = 1;
		op->attrs.pad_begin[d - 1] = (int32_t)begin;
		op->attrs.pad_end[d - 1] = (int32_t)end;
	}
}

static void read_attrs(struct tflite_reader *r, const struct flatbuf_table *table, int32_t builtin,
		       uint32_t *sources, struct npuplan_op *op)
{
	const struct npuplan_tensor *tensors = r->graph->tensors;

	switch (builtin) {
	case BUILTIN_CONV_2D:
		window_attrs(r, table, &conv_2d, op);
		if (!r->fb.err)
			conv_groups(r, op);
		break;
	case BUILTIN_DEPTHWISE_CONV_2D:
		window_attrs(r, table, &depthwise_conv_2d, op);
		if (!r->fb.err && tensors[op->inputs[0]].shape[3] <= INT32_MAX)
			op->attrs.groups = (int32_t)tensors[op->inputs[0]].shape[3];
		break;
	case BUILTIN_AVERAGE_POOL_2D:
	case BUILTIN_MAX_POOL_2D:
	case BUILTIN_L2_POOL_2D:
		window_attrs(r, table, &pool_2d, op);
		break;
	case BUILTIN_CONV_3D:
		window_attrs(r, table, &conv_3d, op);
		break;
	case BUILTIN_TRANSPOSE_CONV:
		transpose_conv_attrs(r, table, sources, op);
		break;
	case BUILTIN_CONCATENATION:
		concat_attrs(r, table, op);
		break;
	case BUILTIN_PAD:
	case BUILTIN_PADV2:
		pad_attrs(r, sources, op);
		break;
	case BUILTIN_SPLIT:
	case BUILTIN_SPLIT_V:
	case BUILTIN_SLICE:
	case BUILTIN_STRIDED_SLICE:
		tflite_part_attrs(r, table, builtin, sources, op);
		break;
	case BUILTIN_SOFTMAX:
	case BUILTIN_LOG_SOFTMAX:
		if (op->input_count)
			op->attrs.axis = (int32_t)tensors[op->inputs[0]].dim_count - 1;
		break;
	}
}

void tflite_attrs(struct tflite_reader *r, const struct flatbuf_table *table, int32_t builtin,
		  uint32_t *sources, struct npuplan_op *op)
{
	const struct npuplan_tensor *tensors = r->graph->tensors;
	struct npuplan_attrs none = { .axis = -1, .groups = 1 };
	bool is_cat = builtin == BUILTIN_CONCATENATION;
	bool has_axis = is_cat || npuplan_is_split(op) || npuplan_is_slice(op);

	if (r->fb.err)
		return;
	none.inplace = tflite_builtin_inplace(builtin) && op->input_count &&
		       tensors[op->inputs[0]].size == tensors[op->outputs[0]].size;
	op->attrs = none;
	read_attrs(r, table, builtin, sources, op);
	if (r->fb.err == -EINVAL) {
		none.transposed = op->attrs.transposed;
		none.whole = true;
		op->attrs = none;
		r->fb.err = import_doubt(
			&r->doubts, r->fb.err,
			has_axis ? NPUIMPORT_DOUBT_ATTRIBUTE : NPUIMPORT_DOUBT_WINDOW,
			has_axis ? "axis" : op->type, import_op_text(op).s, r->fb.error);
	}
	if (!r->fb.err && is_cat)
		r->fb.err = import_check_cat(r->graph, op, r->fb.error);
}
