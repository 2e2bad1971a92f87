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

/* Options of a window, whatever operator has them; d, h, w. */
struct window_options {
	uint8_t padding;
	int32_t stride[NPUPLAN_MAX_SPATIAL];
	int32_t dilation[NPUPLAN_MAX_SPATIAL];
	int32_t kernel[NPUPLAN_MAX_SPATIAL];
};

/* Fields of an options table: where a window's numbers stand. -1: it has none. */
struct window_fields {
	uint8_t type;
	int padding;
	int stride[NPUPLAN_MAX_SPATIAL];
	int dilation[NPUPLAN_MAX_SPATIAL];
	int kernel[NPUPLAN_MAX_SPATIAL];
	uint32_t spatial;
};

static const struct window_fields conv_2d = {
	.type = OPTIONS_CONV_2D,
	.padding = CONV_2D_PADDING,
	.stride = { CONV_2D_STRIDE_H, CONV_2D_STRIDE_W },
	.dilation = { CONV_2D_DILATION_H, CONV_2D_DILATION_W },
	.kernel = { -1, -1 },
	.spatial = 2,
};

static const struct window_fields depthwise_conv_2d = {
	.type = OPTIONS_DEPTHWISE_CONV_2D,
	.padding = DEPTHWISE_PADDING,
	.stride = { DEPTHWISE_STRIDE_H, DEPTHWISE_STRIDE_W },
	.dilation = { DEPTHWISE_DILATION_H, DEPTHWISE_DILATION_W },
	.kernel = { -1, -1 },
	.spatial = 2,
};

static const struct window_fields pool_2d = {
	.type = OPTIONS_POOL_2D,
	.padding = POOL_2D_PADDING,
	.stride = { POOL_2D_STRIDE_H, POOL_2D_STRIDE_W },
	.dilation = { -1, -1 },
	.kernel = { POOL_2D_FILTER_HEIGHT, POOL_2D_FILTER_WIDTH },
	.spatial = 2,
};

static const struct window_fields transpose_conv = {
	.type = OPTIONS_TRANSPOSE_CONV,
	.padding = TRANSPOSE_CONV_PADDING,
	.stride = { TRANSPOSE_CONV_STRIDE_H, TRANSPOSE_CONV_STRIDE_W },
	.dilation = { -1, -1 },
	.kernel = { -1, -1 },
	.spatial = 2,
};

static const struct window_fields conv_3d = {
	.type = OPTIONS_CONV_3D,
	.padding = CONV_3D_PADDING,
	.stride = { CONV_3D_STRIDE_D, CONV_3D_STRIDE_H, CONV_3D_STRIDE_W },
	.dilation = { CONV_3D_DILATION_D, CONV_3D_DILATION_H, CONV_3D_DILATION_W },
	.kernel = { -1, -1, -1 },
	.spatial = 3,
};

/* The options' table, of the type that the operator must have. */
static int options_table(struct tflite_reader *reader, const struct flatbuf_table *table,
			 uint8_t wanted, const struct npuplan_op *op, struct flatbuf_table *options)
{
	uint8_t type;
	int err = flatbuf_u8(&reader->fb, table, OPERATOR_OPTIONS_TYPE, 0, &type);

	if (!err)
		err = flatbuf_table(&reader->fb, table, OPERATOR_OPTIONS, options);
	if (err)
		return err;
	if (type != wanted || !options->present)
		return import_fail(reader->fb.error, -EINVAL,
				   "%s: its options have type %u, expected %u",
				   import_op_text(op).s, options->present ? type : 0, wanted);
	return 0;
}

static int option(struct tflite_reader *reader, const struct flatbuf_table *options, int field,
		  int32_t absent, int32_t limit, const char *what, const struct npuplan_op *op,
		  int32_t *value)
{
	int err = 0;

	*value = absent;
	if (field >= 0)
		err = flatbuf_i32(&reader->fb, options, (unsigned int)field, absent, value);
	if (!err && (*value < 1 || *value > limit))
		return import_fail(reader->fb.error, -EINVAL,
				   "%s: %s of %" PRId32 ", must be 1 to %" PRId32,
				   import_op_text(op).s, what, *value, limit);
	return err;
}

static int read_window_options(struct tflite_reader *reader, const struct flatbuf_table *table,
			       const struct window_fields *fields, const struct npuplan_op *op,
			       struct window_options *window)
{
	struct flatbuf_table options;
	int err = options_table(reader, table, fields->type, op, &options);

	if (!err)
		err = flatbuf_u8(&reader->fb, &options, (unsigned int)fields->padding, PADDING_SAME,
				 &window->padding);
	if (!err && window->padding > PADDING_VALID)
		return import_fail(reader->fb.error, -EINVAL,
				   "%s: padding %u is neither SAME nor VALID", import_op_text(op).s,
				   window->padding);
	for (uint32_t d = 0; !err && d < fields->spatial; d++) {
		/* A stride's default is 0, so that an absent one is refused. */
		err = option(reader, &options, fields->stride[d], 0, NPUIMPORT_MAX_DIM / 4,
			     "stride", op, &window->stride[d]);
		if (!err)
			err = option(reader, &options, fields->dilation[d], 1,
				     NPUIMPORT_MAX_DIM / 4, "dilation", op, &window->dilation[d]);
		if (!err && fields->kernel[d] >= 0)
			err = option(reader, &options, fields->kernel[d], 0, NPUIMPORT_MAX_KERNEL,
				     "filter size", op, &window->kernel[d]);
	}
	return err;
}

static int tensor_of_rank(struct tflite_reader *reader, const struct npuplan_op *op,
			  uint32_t tensor, uint32_t rank, const char *what)
{
	const struct npuplan_tensor *t = &reader->graph->tensors[tensor];

	if (t->dim_count == rank)
		return 0;
	return import_fail(reader->fb.error, -EINVAL,
			   "%s: its %s, %s, has %" PRIu32 " dimensions, must have %" PRIu32,
			   import_op_text(op).s, what, import_tensor_text(t).s, t->dim_count, rank);
}

/* Kernel from the weights: @first is the dimension of its outermost size. */
static int read_kernel(struct tflite_reader *reader, const struct npuplan_op *op, uint32_t spatial,
		       uint32_t first, struct window_options *window)
{
	const struct npuplan_tensor *weights;
	int err;

	if (op->input_count < 2)
		return import_fail(reader->fb.error, -EINVAL, "%s: it has no weights",
				   import_op_text(op).s);
	err = tensor_of_rank(reader, op, op->inputs[1], spatial + 2, "weights");
	if (err)
		return err;
	weights = &reader->graph->tensors[op->inputs[1]];
	for (uint32_t d = 0; d < spatial; d++) {
		if (weights->shape[first + d] > NPUIMPORT_MAX_KERNEL)
			return import_fail(reader->fb.error, -EINVAL,
					   "%s: kernel size of %" PRId64 ", must be 1 to %d",
					   import_op_text(op).s, weights->shape[first + d],
					   NPUIMPORT_MAX_KERNEL);
		window->kernel[d] = (int32_t)weights->shape[first + d];
	}
	return 0;
}

/* Padding that makes @in elements to @out: SAME puts the odd one at the end. */
static void place_padding(struct npuplan_attrs *attrs, uint32_t d, uint8_t padding, int64_t in,
			  int64_t out)
{
	int64_t extent = (int64_t)(attrs->kernel[d] - 1) * attrs->dilation[d] + 1;
	int64_t total = attrs->transposed ? (in - 1) * attrs->stride[d] + extent - out :
					    (out - 1) * attrs->stride[d] + extent - in;

	if (padding == PADDING_VALID) {
		/* Rows behind the last window are not read; or, transposed, are zero. */
		attrs->pad_begin[d] = 0;
		attrs->pad_end[d] = attrs->transposed ? (int32_t)total : 0;
		return;
	}
	attrs->pad_begin[d] = total > 0 ? (int32_t)(total / 2) : 0;
	attrs->pad_end[d] =
		total > 0 || attrs->transposed ? (int32_t)(total - attrs->pad_begin[d]) : 0;
}

static int check_size(struct tflite_reader *reader, const struct npuplan_op *op, uint32_t d,
		      uint8_t padding, int64_t in, int64_t out)
{
	const struct npuplan_attrs *attrs = &op->attrs;
	int64_t extent = (int64_t)(attrs->kernel[d] - 1) * attrs->dilation[d] + 1;
	int64_t stride = attrs->stride[d], expected;
	bool fits;

	if (attrs->transposed) {
		/* The output's size is free within one stride. */
		expected = padding == PADDING_SAME ? in * stride : (in - 1) * stride + extent;
		fits = out > expected - stride && out < expected + stride;
	} else {
		expected = padding == PADDING_SAME ? (in + stride - 1) / stride :
			   in < extent		   ? 0 :
						     (in - extent) / stride + 1;
		fits = out == expected;
	}
	if (fits)
		return 0;
	return import_fail(reader->fb.error, -EINVAL,
			   "%s: %s padding makes %" PRId64 " elements of %" PRId64
			   " along spatial dimension %" PRIu32 ", but its output has %" PRId64,
			   import_op_text(op).s, padding == PADDING_SAME ? "SAME" : "VALID",
			   expected, in, d, out);
}

static int set_window(struct tflite_reader *reader, const struct window_options *window,
		      uint32_t spatial, struct npuplan_op *op)
{
	const struct npuplan_tensor *tensors = reader->graph->tensors;
	int err;

	if (!op->input_count)
		return import_fail(reader->fb.error, -EINVAL, "%s: it has no input",
				   import_op_text(op).s);
	err = tensor_of_rank(reader, op, op->inputs[0], spatial + 2, "input");
	if (!err)
		err = tensor_of_rank(reader, op, op->outputs[0], spatial + 2, "output");
	op->attrs.spatial = spatial;
	for (uint32_t d = 0; !err && d < spatial; d++) {
		int64_t in = tensors[op->inputs[0]].shape[1 + d];
		int64_t out = tensors[op->outputs[0]].shape[1 + d];

		op->attrs.kernel[d] = window->kernel[d];
		op->attrs.stride[d] = window->stride[d];
		op->attrs.dilation[d] = window->dilation[d];
		if ((int64_t)window->kernel[d] * window->dilation[d] > NPUIMPORT_MAX_DIM / 4)
			return import_fail(reader->fb.error, -EINVAL,
					   "%s: kernel %" PRId32 " with dilation %" PRId32
					   " spans more than %d elements",
					   import_op_text(op).s, window->kernel[d],
					   window->dilation[d], NPUIMPORT_MAX_DIM / 4);
		err = check_size(reader, op, d, window->padding, in, out);
		if (!err)
			place_padding(&op->attrs, d, window->padding, in, out);
	}
	return err;
}

static int window_attrs(struct tflite_reader *reader, const struct flatbuf_table *table,
			const struct window_fields *fields, uint32_t kernel_dim,
			struct npuplan_op *op)
{
	struct window_options window;
	int err = read_window_options(reader, table, fields, op, &window);

	if (!err && fields->kernel[0] < 0)
		err = read_kernel(reader, op, fields->spatial, kernel_dim, &window);
	if (!err)
		err = set_window(reader, &window, fields->spatial, op);
	return err;
}

/* Weights: out, h, w, in/groups. */
static void conv_groups(const struct tflite_reader *reader, struct npuplan_op *op)
{
	const struct npuplan_tensor *tensors = reader->graph->tensors;
	int64_t channels = tensors[op->inputs[0]].shape[3];
	int64_t each = tensors[op->inputs[1]].shape[3];

	if (each && channels % each == 0 && channels / each <= INT32_MAX)
		op->attrs.groups = (int32_t)(channels / each);
}

/* TFLite's inputs are output shape, weights, data, bias: the data goes first. */
static int transpose_conv_attrs(struct tflite_reader *reader, const struct flatbuf_table *table,
				uint32_t *sources, struct npuplan_op *op)
{
	uint32_t tensor;

	if (op->input_count < 3)
		return import_fail(reader->fb.error, -EINVAL,
				   "%s: has %" PRIu32 " inputs, must have 3 or 4",
				   import_op_text(op).s, op->input_count);
	tensor = op->inputs[0];
	op->inputs[0] = op->inputs[2];
	op->inputs[2] = tensor;
	tensor = sources[0];
	sources[0] = sources[2];
	sources[2] = tensor;
	op->attrs.transposed = true;
	return window_attrs(reader, table, &transpose_conv, 1, op);
}

static int concat_attrs(struct tflite_reader *reader, const struct flatbuf_table *table,
			struct npuplan_op *op)
{
	int32_t rank = (int32_t)reader->graph->tensors[op->outputs[0]].dim_count, axis;
	struct flatbuf_table options;
	int err = options_table(reader, table, OPTIONS_CONCATENATION, op, &options);

	if (!err)
		err = flatbuf_i32(&reader->fb, &options, CONCATENATION_AXIS, 0, &axis);
	if (err)
		return err;
	if (axis < -rank || axis >= rank)
		return import_fail(reader->fb.error, -EINVAL,
				   "%s: axis %" PRId32 " of %" PRId32 " dimensions",
				   import_op_text(op).s, axis, rank);
	op->attrs.axis = axis < 0 ? axis + rank : axis;
	/* Empty inputs have fallen away. */
	if (!op->input_count)
		op->attrs.axis = -1;
	else
		err = tensor_of_rank(reader, op, op->inputs[0], (uint32_t)rank, "input");
	return err;
}

/* Paddings are the second input, [rank, 2] of int32 or int64, if constant. */
static int pad_attrs(struct tflite_reader *reader, const uint32_t *sources, struct npuplan_op *op)
{
	const struct npuplan_tensor *tensors = reader->graph->tensors;
	const struct npuplan_tensor *in, *out = &tensors[op->outputs[0]];
	struct flatbuf_vector data;
	uint32_t rank = out->dim_count;
	bool wide;

	if (op->input_count < 2)
		return import_fail(reader->fb.error, -EINVAL, "%s: has no paddings",
				   import_op_text(op).s);
	in = &tensors[op->inputs[0]];
	data = reader->data[sources[1]];
	/* Computed paddings, or rows that are not rows: the whole input is read. */
	if (!data.present || (rank != 4 && rank != 5) || in->dim_count != rank)
		return 0;
	wide = tensors[op->inputs[1]].elem_size == 8;
	if (data.count != rank * 2 * (wide ? 8 : 4))
		return import_fail(reader->fb.error, -EINVAL,
				   "%s: its paddings have %" PRIu32 " bytes, must have %" PRIu32,
				   import_op_text(op).s, data.count, rank * 2 * (wide ? 8 : 4));
	op->attrs.spatial = rank - 2;
	for (uint32_t d = 0; d < rank; d++) {
		int64_t begin, end;

		begin = wide ? flatbuf_vector_i64(&reader->fb, &data, 2 * d) :
			       flatbuf_vector_i32(&reader->fb, &data, 2 * d);
		end = wide ? flatbuf_vector_i64(&reader->fb, &data, 2 * d + 1) :
			     flatbuf_vector_i32(&reader->fb, &data, 2 * d + 1);
		if (begin < 0 || end < 0 || begin > NPUIMPORT_MAX_DIM / 4 ||
		    end > NPUIMPORT_MAX_DIM / 4 || in->shape[d] + begin + end != out->shape[d])
			return import_fail(reader->fb.error, -EINVAL,
					   "%s: padding %" PRId64 " and %" PRId64
					   " does not make %" PRId64 " elements of %" PRId64
					   " along dimension %" PRIu32,
					   import_op_text(op).s, begin, end, out->shape[d],
					   in->shape[d], d);
		if (d < 1 || d > op->attrs.spatial)
			continue;
		op->attrs.kernel[d - 1] = 1;
		op->attrs.stride[d - 1] = 1;
		op->attrs.dilation[d - 1] = 1;
		op->attrs.pad_begin[d - 1] = (int32_t)begin;
		op->attrs.pad_end[d - 1] = (int32_t)end;
	}
	return 0;
}

static int read_attrs(struct tflite_reader *reader, const struct flatbuf_table *table,
		      int32_t builtin, uint32_t *sources, struct npuplan_op *op)
{
	const struct npuplan_tensor *tensors = reader->graph->tensors;
	int err = 0;

	switch (builtin) {
	case BUILTIN_CONV_2D:
		err = window_attrs(reader, table, &conv_2d, 1, op);
		if (!err)
			conv_groups(reader, op);
		break;
	case BUILTIN_DEPTHWISE_CONV_2D:
		err = window_attrs(reader, table, &depthwise_conv_2d, 1, op);
		if (!err && tensors[op->inputs[0]].shape[3] <= INT32_MAX)
			op->attrs.groups = (int32_t)tensors[op->inputs[0]].shape[3];
		break;
	case BUILTIN_AVERAGE_POOL_2D:
	case BUILTIN_MAX_POOL_2D:
	case BUILTIN_L2_POOL_2D:
		err = window_attrs(reader, table, &pool_2d, 0, op);
		break;
	case BUILTIN_CONV_3D:
		err = window_attrs(reader, table, &conv_3d, 0, op);
		break;
	case BUILTIN_TRANSPOSE_CONV:
		err = transpose_conv_attrs(reader, table, sources, op);
		break;
	case BUILTIN_CONCATENATION:
		err = concat_attrs(reader, table, op);
		break;
	case BUILTIN_PAD:
	case BUILTIN_PADV2:
		err = pad_attrs(reader, sources, op);
		break;
	case BUILTIN_SOFTMAX:
	case BUILTIN_LOG_SOFTMAX:
		if (op->input_count)
			op->attrs.axis = (int32_t)tensors[op->inputs[0]].dim_count - 1;
		break;
	}
	return err;
}

int tflite_attrs(struct tflite_reader *reader, const struct flatbuf_table *table, int32_t builtin,
		 uint32_t *sources, struct npuplan_op *op)
{
	const struct npuplan_tensor *tensors = reader->graph->tensors;
	struct npuplan_attrs none = { .axis = -1, .groups = 1 };
	bool is_cat = builtin == BUILTIN_CONCATENATION;
	int err;

	none.inplace = tflite_builtin_inplace(builtin) && op->input_count &&
		       tensors[op->inputs[0]].size == tensors[op->outputs[0]].size;
	op->attrs = none;
	err = read_attrs(reader, table, builtin, sources, op);
	if (err == -EINVAL) {
		none.transposed = op->attrs.transposed;
		none.whole = true;
		op->attrs = none;
		err = import_doubt(&reader->doubts, err,
				   is_cat ? NPUIMPORT_DOUBT_ATTRIBUTE : NPUIMPORT_DOUBT_WINDOW,
				   is_cat ? "axis" : op->type, import_op_text(op).s,
				   reader->fb.error);
	}
	return err || !is_cat ? err : import_check_cat(reader->graph, op, reader->fb.error);
}
