// SPDX-License-Identifier: MIT
/*
 * Row bands: each operator cut into bands of output rows, each band a step that
 * reads the rows it needs, halos included.
 *
 * What a band of output rows needs of each input goes by the operator's type
 * (docs/formats.md, "Tiling"). A type that is not in the table reads its inputs
 * whole: always right, never optimal.
 */
#include <string.h>

#include "shape.h"
#include "tiler.h"

enum pattern {
	WHOLE,	    /* all of every input */
	WINDOW,	    /* sliding window over the first input; the others whole */
	TRANSPOSED, /* likewise, transposed convolution */
	SAME,	    /* the same rows; an input of one row is broadcast */
	CONCAT,	    /* inputs joined along an axis */
	PAD,	    /* rows added or cropped before and after */
	SOFTMAX,    /* the same rows if the axis is channels */
	UPSAMPLE,   /* interpolated between neighbouring rows */
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
	{ "local_response_normalization", SAME },
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

/* Window of the outermost spatial dimension; false if the attributes don't fit. */
static bool window_of(const struct npuplan_graph *graph, const struct npuplan_op *op,
		      bool transposed, struct npuplan_window *window)
{
	const struct npuplan_attrs *attrs = &op->attrs;

	*window = (struct npuplan_window){
		.kernel = attrs->kernel[0],
		.stride = attrs->stride[0],
		.dilation = attrs->dilation[0],
		.pad_begin = attrs->pad_begin[0],
		.transposed = transposed,
	};
	return graph->tensors[op->outputs[0]].dim_count == attrs->spatial + 2 &&
	       window->kernel >= 1 && window->stride >= 1 && window->dilation >= 1;
}

/* Rows that a band needs of one of several inputs joined along the rows. */
static struct npuplan_rows joined_rows(int64_t start, int64_t rows, struct npuplan_rows out)
{
	int64_t first = out.first > start ? out.first - start : 0;
	int64_t last = out.first + out.count - start;

	if (last > rows)
		last = rows;
	return (struct npuplan_rows){ first, last > first ? last - first : 0 };
}

/*
 * Rows of one input that a band needs; count -1 for the whole tensor. @start:
 * rows of the inputs before it, added up.
 */
static struct npuplan_rows input_rows(const struct npuplan_graph *graph,
				      const struct npuplan_op *op, uint32_t input, int64_t start,
				      const struct npuplan_spatial *output, struct npuplan_rows out)
{
	static const struct npuplan_rows whole = { 0, -1 };
	uint32_t tensor = op->inputs[input], dims = graph->tensors[op->outputs[0]].dim_count;
	enum pattern pattern = pattern_of(op);
	struct npuplan_spatial spatial;
	struct npuplan_window window;

	/* Weights and the like; and what would be cut along other dimensions. */
	if (graph->tensors[tensor].kind == NPUMEM_TENSOR_PARAMETER ||
	    !npuplan_spatial(graph, tensor, &spatial) || graph->tensors[tensor].dim_count != dims ||
	    spatial.batch != output->batch)
		return whole;
	switch (pattern) {
	case WINDOW:
	case TRANSPOSED:
		if (input || !window_of(graph, op, pattern == TRANSPOSED, &window))
			return whole;
		return npuplan_window_rows(&window, out, spatial.rows);
	case PAD:
		window = (struct npuplan_window){
			.kernel = 1,
			.stride = 1,
			.dilation = 1,
			.pad_begin = op->attrs.pad_begin[0],
		};
		if (input || dims != op->attrs.spatial + 2)
			return whole;
		return npuplan_window_rows(&window, out, spatial.rows);
	case SOFTMAX:
		if (op->attrs.axis != (int32_t)npuplan_channel_axis(graph, dims))
			return whole;
		return spatial.rows == output->rows ? out : whole;
	case SAME:
		return spatial.rows == output->rows ? out : whole;
	case CONCAT:
		if (op->attrs.axis == (int32_t)npuplan_row_axis(graph))
			return joined_rows(start, spatial.rows, out);
		if (op->attrs.axis == (int32_t)npuplan_channel_axis(graph, dims))
			return spatial.rows == output->rows ? out : whole;
		return whole;
	case UPSAMPLE:
		if (input)
			return whole;
		return npuplan_upsample_rows(out, output->rows, spatial.rows);
	case WHOLE:
		break;
	}
	return whole;
}

/* Whether an operator's outputs have common rows to be cut by; which. */
static bool has_rows(const struct npuplan_graph *graph, const struct npuplan_op *op,
		     struct npuplan_spatial *output)
{
	struct npuplan_spatial other;

	if (!op->output_count || !npuplan_spatial(graph, op->outputs[0], output))
		return false;
	for (uint32_t i = 0; i < op->output_count; i++)
		/* A state that is read and rewritten is one update of the whole. */
		if (graph->tensors[op->outputs[i]].kind == NPUMEM_TENSOR_STATE ||
		    !npuplan_spatial(graph, op->outputs[i], &other) || other.rows != output->rows)
			return false;
	return true;
}

/* Region of an input that a band needs; length 0 if it needs none of it. */
static struct npumem_region input_region(const struct npuplan_graph *graph,
					 const struct npuplan_op *op, uint32_t input, int64_t start,
					 const struct npuplan_spatial *output,
					 struct npuplan_rows out)
{
	struct npuplan_rows rows = input_rows(graph, op, input, start, output, out);
	struct npuplan_spatial spatial;

	/* Made of padding alone. */
	if (!rows.count)
		return (struct npumem_region){ 0 };
	if (rows.count < 0 || !npuplan_spatial(graph, op->inputs[input], &spatial))
		return npuplan_whole(&graph->tensors[op->inputs[input]]);
	return npuplan_rows_region(&spatial, rows);
}

static int tile_op(struct npuplan_tiler *tiler, uint32_t index, uint32_t bands,
		   struct npuplan_error *error)
{
	const struct npuplan_graph *graph = tiler->graph;
	const struct npuplan_op *op = &graph->ops[index];
	struct npuplan_spatial output = { 0 }, spatial;
	bool cut = has_rows(graph, op, &output);
	uint32_t count = !cut ? 1 : output.rows < bands ? (uint32_t)output.rows : bands;
	int err = 0;

	for (uint32_t band = 0; band < count && !err; band++) {
		struct npuplan_rows out = npuplan_band(output.rows, band, count);
		struct npumem_region region, first = { 0 };
		int64_t start = 0;

		for (uint32_t i = 0; i < op->input_count && !err; i++) {
			region = cut ? input_region(graph, op, i, start, &output, out) :
				       npuplan_whole(&graph->tensors[op->inputs[i]]);
			if (npuplan_spatial(graph, op->inputs[i], &spatial) &&
			    __builtin_add_overflow(start, spatial.rows, &start))
				start = INT64_MAX;
			if (!i)
				first = region;
			if (region.length)
				err = npuplan_tiler_access(tiler, op->inputs[i], &region,
							   NPUMEM_ACCESS_READ);
		}
		for (uint32_t i = 0; i < op->output_count && !err; i++) {
			if (cut && npuplan_spatial(graph, op->outputs[i], &spatial))
				region = npuplan_rows_region(&spatial, out);
			else
				region = npuplan_whole(&graph->tensors[op->outputs[i]]);
			err = npuplan_tiler_access(tiler, op->outputs[i], &region,
						   NPUMEM_ACCESS_WRITE);
			if (!err && !i && op->attrs.inplace && first.length)
				npuplan_tiler_inplace(tiler, op->inputs[0], &first, op->outputs[0],
						      &region);
		}
		if (err)
			npuplan_fail(error, err, "operator %s: %s", op->name, strerror(-err));
		else
			err = npuplan_tiler_step(tiler, index, band, count, NPUMEM_STEP_STAGED,
						 error);
	}
	return err;
}

int npuplan_graph_tile_bands(struct npuplan_graph *graph, uint32_t bands, bool with_parameters,
			     struct npuplan_error *error)
{
	struct npuplan_tiler tiler;
	int err;

	if (!bands)
		return npuplan_fail(error, -EINVAL, "bands: 0 is not a number of bands");
	if (bands == 1)
		return npuplan_graph_tile_whole(graph, with_parameters, error);
	err = npuplan_tiler_init(&tiler, graph, with_parameters, error);
	if (err)
		return err;
	for (uint32_t i = 0; i < graph->op_count && !err; i++)
		err = tile_op(&tiler, i, bands, error);
	if (!err) {
		graph->bands = bands;
		graph->with_parameters = with_parameters;
	}
	npuplan_tiler_fini(&tiler, err);
	return err;
}
