// SPDX-License-Identifier: MIT
/*
 * What a tile of an operator's outputs needs of each of its inputs, halos included.
 *
 * It goes by the operator's type (docs/tiling.md). A type that is not in the table
 * reads its inputs whole: always right, never optimal.
 */
#include "inputs.h"

#include <string.h>

enum pattern {
	WHOLE,	    /* all of every input */
	WINDOW,	    /* sliding window over the first input; the others whole */
	TRANSPOSED, /* likewise, transposed convolution */
	SAME,	    /* the same rows; an input of one row is broadcast */
	CONCAT,	    /* inputs joined along an axis */
	PAD,	    /* rows added or cropped before and after */
	SOFTMAX,    /* the same rows if the axis is channels */
	UPSAMPLE,   /* interpolated between neighbouring rows */
	NORM,	    /* the same rows, all channels */
	LINEAR,	    /* the same rows, all channels; weights by output channel */
	MATMUL,	    /* the same rows of the first, all of its batch of the second */
	MEAN,	    /* all rows of the same channels */
};

static const struct {
	const char *type;
	enum pattern pattern;
} patterns[] = {
	{ "conv2d", WINDOW },
	{ "conv3d", WINDOW },
	{ "depthwise_conv2d", WINDOW },
	{ "avgpool", WINDOW },
	{ "maxpool", WINDOW },
	{ "l2_pool", WINDOW },
	{ "conv_transpose2d", TRANSPOSED },
	{ "conv_transpose3d", TRANSPOSED },
	{ "cat", CONCAT },
	{ "concat", CONCAT },
	{ "pad", PAD },
	{ "softmax", SOFTMAX },
	{ "log_softmax", SOFTMAX },
	{ "upsample", UPSAMPLE },
	{ "resize_bilinear", UPSAMPLE },
	{ "resize_nearest", UPSAMPLE },
	{ "layernorm", NORM },
	{ "linear", LINEAR },
	{ "matmul", MATMUL },
	{ "mean", MEAN },
	{ "abs", SAME },
	{ "add", SAME },
	{ "add_n", SAME },
	{ "batchnorm", SAME },
	{ "cast", SAME },
	{ "ceil", SAME },
	{ "clamp", SAME },
	{ "cos", SAME },
	{ "dequantize", SAME },
	{ "div", SAME },
	{ "dropout", SAME },
	{ "elu", SAME },
	{ "equal", SAME },
	{ "exp", SAME },
	{ "fake_quant", SAME },
	{ "floor", SAME },
	{ "floor_div", SAME },
	{ "floor_mod", SAME },
	{ "gelu", SAME },
	{ "greater", SAME },
	{ "greater_equal", SAME },
	{ "hardsigmoid", SAME },
	{ "hardswish", SAME },
	{ "leaky_relu", SAME },
	{ "less", SAME },
	{ "less_equal", SAME },
	{ "local_response_normalization", NORM },
	{ "log", SAME },
	{ "logical_and", SAME },
	{ "logical_not", SAME },
	{ "logical_or", SAME },
	{ "maximum", SAME },
	{ "minimum", SAME },
	{ "mul", SAME },
	{ "neg", SAME },
	{ "not_equal", SAME },
	{ "pow", SAME },
	{ "prelu", SAME },
	{ "quantize", SAME },
	{ "relu", SAME },
	{ "relu6", SAME },
	{ "relu_n1_to_1", SAME },
	{ "round", SAME },
	{ "rsqrt", SAME },
	{ "select", SAME },
	{ "sigmoid", SAME },
	{ "sin", SAME },
	{ "sqrt", SAME },
	{ "square", SAME },
	{ "squared_difference", SAME },
	{ "sub", SAME },
	{ "tanh", SAME },
};

static enum pattern pattern_of(const struct npuplan_op *op)
{
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (!strcmp(op->type, patterns[i].type))
			return patterns[i].pattern == WINDOW && op->attrs.transposed ?
				       TRANSPOSED :
				       patterns[i].pattern;
	return WHOLE;
}

/* What dimension of a view an axis of a tensor's shape is. */
enum axis {
	OTHER, /* batch, or not known */
	ROWS,
	WITHIN, /* a row */
	CHANNELS,
};

static enum axis axis_of(const struct npuplan_graph *graph, uint32_t tensor, int32_t axis)
{
	const struct npuplan_tensor *t = &graph->tensors[tensor];
	uint32_t dims = t->dim_count;

	if (axis < 0 || (uint32_t)axis >= dims)
		return OTHER;
	if (dims >= 4) {
		if ((uint32_t)axis == npuplan_channel_axis(graph, dims))
			return CHANNELS;
		if ((uint32_t)axis == npuplan_row_axis(graph))
			return ROWS;
		return axis ? WITHIN : OTHER;
	}
	if ((uint32_t)axis == dims - 1)
		return CHANNELS;
	/* Rows are several dimensions unless those before are of one element. */
	return (uint32_t)axis == dims - 2 && (dims == 2 || t->shape[0] == 1) ? ROWS : OTHER;
}

bool npuplan_cut_of(const struct npuplan_graph *graph, uint32_t index, bool bands,
		    struct npuplan_cut *cut)
{
	const struct npuplan_op *op = &graph->ops[index];
	struct npuplan_spatial other;

	*cut = (struct npuplan_cut){ .graph = graph, .op = op, .bands = bands };
	if (op->attrs.whole)
		return false;
	for (uint32_t i = 0; i < op->output_count; i++) {
		bool seen = bands ? npuplan_spatial(graph, op->outputs[i], &other) :
				    npuplan_view(graph, op->outputs[i], &other);

		/* A state that is read and rewritten is one update of the whole. */
		if (!seen || graph->tensors[op->outputs[i]].kind == NPUMEM_TENSOR_STATE)
			return false;
		if (!i)
			cut->output = other;
		if (other.rows != cut->output.rows)
			return false;
		if (!bands &&
		    (other.batch != cut->output.batch || other.channels != cut->output.channels ||
		     npuplan_granule(&other) != npuplan_granule(&cut->output)))
			return false;
	}
	return op->output_count;
}

/* Window of the outermost spatial dimension; false if the attributes don't fit. */
static bool window_of(const struct npuplan_cut *cut, bool transposed, struct npuplan_window *window)
{
	const struct npuplan_attrs *attrs = &cut->op->attrs;

	*window = (struct npuplan_window){
		.kernel = attrs->kernel[0],
		.stride = attrs->stride[0],
		.dilation = attrs->dilation[0],
		.pad_begin = attrs->pad_begin[0],
		.transposed = transposed,
	};
	return cut->graph->tensors[cut->op->outputs[0]].dim_count == attrs->spatial + 2 &&
	       window->kernel >= 1 && window->stride >= 1 && window->dilation >= 1;
}

/* What a range of the output has of one of several inputs joined, the one that begins at @start. */
static struct npuplan_rows joined(int64_t start, int64_t extent, struct npuplan_rows out)
{
	int64_t first = out.first > start ? out.first - start : 0;
	int64_t last = out.first + out.count - start;

	if (last > extent)
		last = extent;
	return (struct npuplan_rows){ first, last > first ? last - first : 0 };
}

/*
 * struct input - one input of an operator that is cut
 * @start_rows, @start_channels: of the inputs before it, added up
 */
struct input {
	uint32_t index;
	struct npuplan_spatial view;
	int64_t start_rows;
	int64_t start_channels;
};

/* A TFLite model may multiply by the transposed left side: seen unless it is square. */
static bool maybe_transposed(const struct npuplan_cut *cut)
{
	const struct npuplan_tensor *left = &cut->graph->tensors[cut->op->inputs[0]];
	uint32_t dims = left->dim_count;

	return cut->graph->source_layout == NPUPLAN_NHWC && dims >= 2 &&
	       left->shape[dims - 1] == left->shape[dims - 2];
}

/* Rows of an input that a tile needs. */
static struct npuplan_rows input_rows(const struct npuplan_cut *cut, enum pattern pattern,
				      const struct input *in, struct npuplan_rows out)
{
	const struct npuplan_attrs *attrs = &cut->op->attrs;
	const struct npuplan_rows whole = { 0, in->view.rows };
	const struct npuplan_rows same = in->view.rows == cut->output.rows ? out : whole;
	uint32_t tensor = cut->op->inputs[in->index];
	enum axis axis = axis_of(cut->graph, tensor, attrs->axis);
	uint32_t dims = cut->graph->tensors[tensor].dim_count;
	struct npuplan_window window;

	switch (pattern) {
	case WINDOW:
	case TRANSPOSED:
		if (in->index || !window_of(cut, pattern == TRANSPOSED, &window))
			return whole;
		return npuplan_window_rows(&window, out, in->view.rows);
	case PAD:
		window = (struct npuplan_window){
			.kernel = 1,
			.stride = 1,
			.dilation = 1,
			.pad_begin = attrs->pad_begin[0],
		};
		if (in->index || dims != attrs->spatial + 2)
			return whole;
		return npuplan_window_rows(&window, out, in->view.rows);
	case SOFTMAX:
		return axis == CHANNELS || (axis == WITHIN && !cut->bands) ? same : whole;
	case SAME:
		/* Of matrices rows of another width may be other rows. */
		return dims >= 4 || in->view.channels == cut->output.channels ||
				       in->view.channels == 1 ?
			       same :
			       whole;
	case NORM:
		/* Of rank 4 and 5 the dimensions that are normed are not known. */
		return dims < 4 || !strncmp(cut->op->type, "local", 5) ? same : whole;
	case CONCAT:
		if (axis == ROWS)
			return joined(in->start_rows, in->view.rows, out);
		return axis == CHANNELS ? same : whole;
	case UPSAMPLE:
		if (in->index)
			return whole;
		return npuplan_upsample_rows(out, cut->output.rows, in->view.rows);
	case LINEAR:
		return dims < 4 && !in->index ? same : whole;
	case MATMUL:
		return dims < 4 && !in->index && !maybe_transposed(cut) ? same : whole;
	case MEAN:
	case WHOLE:
		break;
	}
	return whole;
}

/* Input channels of a convolution's groups that make a range of output channels. */
static struct npuplan_rows grouped(const struct npuplan_cut *cut, const struct input *in,
				   struct npuplan_rows out)
{
	bool depthwise = !strcmp(cut->op->type, "depthwise_conv2d");
	int64_t groups = depthwise ? in->view.channels : cut->op->attrs.groups;
	int64_t inputs, outputs, first, end;

	if (groups < 1 || in->view.channels % groups || cut->output.channels % groups)
		return (struct npuplan_rows){ 0, in->view.channels };
	inputs = in->view.channels / groups;
	outputs = cut->output.channels / groups;
	first = out.first / outputs;
	end = (out.first + out.count + outputs - 1) / outputs;
	return (struct npuplan_rows){ first * inputs, (end - first) * inputs };
}

/* Whether a mean is over all rows of each channel. */
static bool mean_of_rows(const struct npuplan_cut *cut, const struct input *in)
{
	const struct npuplan_op *op = cut->op;

	return axis_of(cut->graph, op->inputs[0], op->attrs.axis) == ROWS &&
	       cut->output.rows * cut->output.row == 1 && cut->output.batch == in->view.batch;
}

/* Whether the second input of a matrix product has a column for each of the output's. */
static bool has_columns(const struct npuplan_cut *cut, const struct input *in)
{
	const struct npuplan_tensor *left = &cut->graph->tensors[cut->op->inputs[0]];
	const struct npuplan_tensor *right = &cut->graph->tensors[cut->op->inputs[in->index]];
	uint32_t dims = right->dim_count;

	return dims >= 2 && dims <= 3 && left->dim_count >= 1 &&
	       right->shape[dims - 2] == left->shape[left->dim_count - 1] &&
	       right->shape[dims - 1] != right->shape[dims - 2];
}

/* Channels of an input that a tile needs. */
static struct npuplan_rows input_channels(const struct npuplan_cut *cut, enum pattern pattern,
					  const struct input *in, struct npuplan_rows out)
{
	const struct npuplan_rows whole = { 0, in->view.channels };
	const struct npuplan_rows same = in->view.channels == cut->output.channels ? out : whole;
	enum axis axis = axis_of(cut->graph, cut->op->inputs[in->index], cut->op->attrs.axis);

	if (out.count == cut->output.channels)
		return whole;
	switch (pattern) {
	case WINDOW:
		if (in->index)
			return whole;
		return strstr(cut->op->type, "pool") ? same : grouped(cut, in, out);
	case TRANSPOSED:
		return in->index ? whole : grouped(cut, in, out);
	case SAME:
	case PAD:
	case UPSAMPLE:
		return in->index && pattern != SAME ? whole : same;
	case SOFTMAX:
		return axis == ROWS || axis == WITHIN ? same : whole;
	case CONCAT:
		if (axis == CHANNELS)
			return joined(in->start_channels, in->view.channels, out);
		return axis == ROWS || axis == WITHIN ? same : whole;
	case MATMUL:
		return in->index == 1 && has_columns(cut, in) ? same : whole;
	case MEAN:
		return mean_of_rows(cut, in) ? same : whole;
	case NORM:
	case LINEAR:
	case WHOLE:
		break;
	}
	return whole;
}

/* Rows of the second input of a matrix product: those of the batches that the tile is of. */
static struct npuplan_rows batch_rows(const struct npuplan_cut *cut, const struct input *in,
				      struct npuplan_rows out)
{
	const struct npuplan_tensor *right = &cut->graph->tensors[cut->op->inputs[in->index]];
	const struct npuplan_tensor *output = &cut->graph->tensors[cut->op->outputs[0]];
	int64_t first, end;

	if (right->dim_count != 3 || output->dim_count != 3 || right->shape[0] != output->shape[0])
		return (struct npuplan_rows){ 0, in->view.rows };
	first = out.first / output->shape[1];
	end = (out.first + out.count + output->shape[1] - 1) / output->shape[1];
	return (struct npuplan_rows){ first * right->shape[1], (end - first) * right->shape[1] };
}

/* Parameters and the like, seen as they are: not cut. */
static struct npumem_region whole(const struct npuplan_cut *cut, uint32_t input)
{
	return npuplan_whole(&cut->graph->tensors[cut->op->inputs[input]]);
}

/*
 * Axis of a parameter that has a place for each output channel, -1 if there is none.
 * Weights of convolutions are [out, in, ...] in NCHW models, [out, ..., in] in NHWC
 * ones, but for the depthwise, and [..., in, out] and [..., out, in] in three
 * dimensions; weights of linear [in, out] and [out, in].
 */
static int parameter_axis(const struct npuplan_cut *cut, uint32_t input, enum pattern pattern)
{
	const struct npuplan_tensor *t = &cut->graph->tensors[cut->op->inputs[input]];
	bool nhwc = cut->graph->source_layout == NPUPLAN_NHWC;
	int axis = -1;

	/* Of N,C,H,W the last dimension, that parameters go by, is none of channels. */
	if (!nhwc && cut->graph->tensors[cut->op->outputs[0]].dim_count >= 4 && pattern != WINDOW &&
	    pattern != TRANSPOSED && strcmp(cut->op->type, "prelu") &&
	    strcmp(cut->op->type, "batchnorm"))
		return -1;
	if (t->dim_count == 1) {
		axis = 0;
	} else if (nhwc && t->dim_count == 5 && (pattern == WINDOW || pattern == TRANSPOSED)) {
		axis = pattern == WINDOW ? 4 : 3;
	} else if (pattern == WINDOW && t->dim_count >= 4) {
		bool depthwise = !strcmp(cut->op->type, "depthwise_conv2d");

		axis = nhwc && depthwise ? (int)t->dim_count - 1 : 0;
	} else if (pattern == TRANSPOSED && t->dim_count >= 4) {
		axis = nhwc ? 0 : cut->op->attrs.groups == 1 ? 1 : -1;
	} else if (pattern == LINEAR && t->dim_count == 2) {
		axis = nhwc && t->shape[0] == cut->output.channels ? 0 : 1;
		if (t->shape[axis] != cut->output.channels)
			axis = !axis;
	}
	return axis >= 0 && t->shape[axis] == cut->output.channels ? axis : -1;
}

/* Of a parameter what the channels of a tile are made with. */
static struct npumem_region parameter_region(const struct npuplan_cut *cut, uint32_t input,
					     enum pattern pattern, struct npuplan_rows channels)
{
	const struct npuplan_tensor *t = &cut->graph->tensors[cut->op->inputs[input]];
	int axis = parameter_axis(cut, input, pattern);
	struct npumem_region region = { .count = { 1, 1, 1 } };
	uint64_t inner = t->elem_size, outer = 1;

	if (axis < 0 || !t->elem_size || channels.count == cut->output.channels)
		return whole(cut, input);
	for (int i = 0; i < (int)t->dim_count; i++)
		if (t->shape[i] < 1 || t->shape[i] > UINT32_MAX ||
		    __builtin_mul_overflow(i < axis ? outer : inner, i == axis ? 1 : t->shape[i],
					   i < axis ? &outer : &inner))
			return whole(cut, input);
	/* The shape has to account for the bytes. */
	if (outer > UINT32_MAX || inner > t->size ||
	    inner * (uint64_t)t->shape[axis] > t->size / outer ||
	    inner * (uint64_t)t->shape[axis] * outer != t->size)
		return whole(cut, input);
	region.offset = channels.first * inner;
	region.length = channels.count * inner;
	if (outer > 1) {
		region.count[0] = outer;
		region.stride[0] = inner * t->shape[axis];
	}
	return region;
}

/* Whole blocks of channels alone have bytes of their own. */
static struct npuplan_rows rounded(struct npuplan_rows channels, const struct npuplan_spatial *view)
{
	int64_t granule = npuplan_granule(view), end = channels.first + channels.count;

	channels.first -= channels.first % granule;
	end = (end + granule - 1) / granule * granule;
	channels.count = (end < view->channels ? end : view->channels) - channels.first;
	return channels;
}

static bool view_of(const struct npuplan_cut *cut, uint32_t tensor, struct npuplan_spatial *view)
{
	return cut->bands ? npuplan_spatial(cut->graph, tensor, view) :
			    npuplan_view(cut->graph, tensor, view);
}

/* Whether rows of an input are rows of the output, as far as dimensions tell. */
static bool is_alike(const struct npuplan_cut *cut, uint32_t tensor,
		     const struct npuplan_spatial *view, enum pattern pattern)
{
	uint32_t dims = cut->graph->tensors[tensor].dim_count;
	uint32_t output = cut->graph->tensors[cut->op->outputs[0]].dim_count;

	if (pattern == MEAN)
		return true;
	/* Matrices are seen as rows x channels, whatever their rank. */
	return (dims == output || (dims < 4 && output < 4)) && view->batch == cut->output.batch;
}

void npuplan_tile_inputs(const struct npuplan_cut *cut, const struct npuplan_part *tile,
			 struct npumem_region *regions)
{
	enum pattern pattern = pattern_of(cut->op);
	struct input in = { 0 };

	for (in.index = 0; in.index < cut->op->input_count; in.index++) {
		uint32_t tensor = cut->op->inputs[in.index];
		bool seen = view_of(cut, tensor, &in.view);
		struct npuplan_part part;

		if (cut->graph->tensors[tensor].kind == NPUMEM_TENSOR_PARAMETER) {
			regions[in.index] =
				parameter_region(cut, in.index, pattern, tile->channels);
		} else if (!seen || !is_alike(cut, tensor, &in.view, pattern)) {
			regions[in.index] = whole(cut, in.index);
		} else {
			part.rows = pattern == MATMUL && in.index == 1 && !cut->bands ?
					    batch_rows(cut, &in, tile->rows) :
					    input_rows(cut, pattern, &in, tile->rows);
			part.channels = input_channels(cut, pattern, &in, tile->channels);
			/* Made of padding, or of other inputs, alone. */
			if (!part.rows.count || !part.channels.count) {
				regions[in.index] = (struct npumem_region){ 0 };
			} else {
				part.channels = rounded(part.channels, &in.view);
				regions[in.index] = npuplan_part_region(&in.view, &part);
			}
		}
		if (!seen)
			continue;
		if (__builtin_add_overflow(in.start_rows, in.view.rows, &in.start_rows) ||
		    __builtin_add_overflow(in.start_channels, in.view.channels, &in.start_channels))
			in.start_rows = in.start_channels = INT64_MAX / 2;
	}
}
