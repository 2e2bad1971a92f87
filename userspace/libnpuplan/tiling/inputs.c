// SPDX-License-Identifier: MIT
/*
 * Which part of each input an operator needs for a tile of its outputs, halos included.
 *
 * The operator's type decides (docs/tiling.md). A type that is not in the table reads its inputs
 * whole, which is always right and never optimal.
 */
#include <string.h>

#include "partition.h"

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

/* The types of operators that have a pattern. */
static const char *const types[] = {
	[WINDOW] = "conv2d conv3d depthwise_conv2d avgpool maxpool l2_pool",
	[TRANSPOSED] = "conv_transpose2d conv_transpose3d",
	[SAME] = "abs add add_n batchnorm cast ceil clamp cos dequantize div dropout elu equal "
		 "exp fake_quant floor floor_div floor_mod gelu greater greater_equal "
		 "hardsigmoid hardswish leaky_relu less less_equal log logical_and logical_not "
		 "logical_or maximum minimum mul neg not_equal pow prelu quantize relu relu6 "
		 "relu_n1_to_1 round rsqrt select sigmoid sin sqrt square squared_difference sub "
		 "tanh",
	[CONCAT] = "cat concat",
	[PAD] = "pad",
	[SOFTMAX] = "softmax log_softmax",
	[UPSAMPLE] = "upsample resize_bilinear resize_nearest",
	[NORM] = "layernorm local_response_normalization",
	[LINEAR] = "linear",
	[MATMUL] = "matmul",
	[MEAN] = "mean",
};

int npuplan_pattern(const struct npuplan_op *op)
{
	size_t length = strlen(op->type), n;

	for (int p = WINDOW; p <= MEAN; p++)
		for (const char *at = types[p]; *at; at += n + strspn(at + n, " ")) {
			n = strcspn(at, " ");
			if (n == length && !memcmp(at, op->type, n))
				return p == WINDOW && op->attrs.transposed ? TRANSPOSED : p;
		}
	return WHOLE;
}

/* enum axis - which dimension of a view an axis of a tensor's shape belongs to */
enum axis {
	OTHER, /* batch, or not known */
	ROWS,
	WITHIN, /* a row */
	CHANNELS,
};

static enum axis axis_of(const struct npuplan_graph *graph, const struct npuplan_tensor *t,
			 int32_t axis)
{
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
	/*
	 * The rows of a view are all dimensions but the last; one dimension is the rows only if
	 * those before it have one element.
	 */
	return (uint32_t)axis == dims - 2 && (dims == 2 || t->shape[0] == 1) ? ROWS : OTHER;
}

/*
 * struct input - one input of an operator that is cut into tiles
 * @first, @output: the operator's first input and first output
 * @axis: the operator's axis, as a dimension of this input's view
 * @start_rows, @start_channels, @start_columns: rows, channels and columns of the inputs before
 *	this one, added up
 * @depth: channels of the first input that are added up in this step; NULL: all
 * @depth_channels: with @depth, how many the first input has
 */
struct input {
	const struct npuplan_partition *p;
	const struct npuplan_attrs *attrs;
	const struct npuplan_tensor *first;
	const struct npuplan_tensor *output;
	enum pattern pattern;
	uint32_t index;
	const struct npuplan_tensor *tensor;
	enum axis axis;
	struct npuplan_spatial view;
	int64_t start_rows;
	int64_t start_channels;
	int64_t start_columns;
	const struct npuplan_rows *depth;
	int64_t depth_channels;
};

/*
 * What the window over a spatial dimension, 0 for rows and 1 for columns, needs of the @extent
 * elements of it; all if the attributes do not fit the shapes.
 */
static struct npuplan_rows window_rows(const struct input *in, uint32_t dim,
				       struct npuplan_rows out, int64_t extent)
{
	const struct npuplan_attrs *attrs = in->attrs;
	const struct npuplan_tensor *shaped = in->pattern == PAD ? in->tensor : in->output;
	struct npuplan_window window = {
		.kernel = attrs->kernel[dim],
		.stride = attrs->stride[dim],
		.dilation = attrs->dilation[dim],
		.pad_begin = attrs->pad_begin[dim],
		.transposed = in->pattern == TRANSPOSED,
	};

	if (in->pattern == PAD)
		window.kernel = window.stride = window.dilation = 1;
	if (in->index || shaped->dim_count != attrs->spatial + 2 || window.kernel < 1 ||
	    window.stride < 1 || window.dilation < 1)
		return (struct npuplan_rows){ 0, extent };
	return npuplan_window_rows(&window, out, extent);
}

/*
 * The part of a range of the output that comes from one of several joined inputs, the one that
 * begins at @start and has @extent elements.
 */
static struct npuplan_rows joined(int64_t start, int64_t extent, struct npuplan_rows out)
{
	int64_t first = out.first > start ? out.first - start : 0;
	int64_t last = out.first + out.count - start;

	if (last > extent)
		last = extent;
	return (struct npuplan_rows){ first, last > first ? last - first : 0 };
}

/*
 * The elements of an input that a range of the output needs, if every @from elements of the output
 * are made of @to elements of the input.
 */
static struct npuplan_rows groups_of(struct npuplan_rows out, int64_t from, int64_t to)
{
	int64_t first = out.first / from, end = (out.first + out.count + from - 1) / from;

	return (struct npuplan_rows){ first * to, (end - first) * to };
}

/*
 * Whether the left side of a matrix product may be transposed without its shape showing it: a
 * TFLite model may ask for that, and a square matrix looks the same either way.
 */
static bool maybe_transposed(const struct input *in)
{
	const struct npuplan_tensor *left = in->first;
	uint32_t dims = left->dim_count;

	return in->p->graph->source_layout == NPUPLAN_NHWC && dims >= 2 &&
	       left->shape[dims - 1] == left->shape[dims - 2];
}

/*
 * Rows of the second input of a matrix product: all rows of the batches that the tile belongs to.
 */
static struct npuplan_rows batch_rows(const struct input *in, struct npuplan_rows out)
{
	const struct npuplan_tensor *right = in->tensor, *output = in->output;

	if (right->dim_count != 3 || output->dim_count != 3 || right->shape[0] != output->shape[0])
		return (struct npuplan_rows){ 0, in->view.rows };
	return groups_of(out, output->shape[1], right->shape[1]);
}

static bool is_depthwise(const struct input *in)
{
	return !strcmp(in->p->op->type, "depthwise_conv2d");
}

/* Input channels of those groups of a convolution that make a range of output channels. */
static struct npuplan_rows grouped(const struct input *in, struct npuplan_rows out)
{
	int64_t groups = is_depthwise(in) ? in->view.channels : in->attrs->groups;
	int64_t channels = in->p->output.channels;

	if (groups < 1 || in->view.channels % groups || channels % groups)
		return (struct npuplan_rows){ 0, in->view.channels };
	return groups_of(out, channels / groups, in->view.channels / groups);
}

/* Whether a mean is over all rows of each channel. */
static bool mean_of_rows(const struct input *in)
{
	const struct npuplan_spatial *output = &in->p->output;

	return axis_of(in->p->graph, in->first, in->attrs->axis) == ROWS &&
	       output->rows * output->row == 1 && output->batch == in->view.batch;
}

/* Whether the second input of a matrix product has a column for each of the output's. */
static bool has_columns(const struct input *in)
{
	const struct npuplan_tensor *left = in->first, *right = in->tensor;
	uint32_t dims = right->dim_count;

	return dims >= 2 && dims <= 3 && left->dim_count >= 1 &&
	       right->shape[dims - 2] == left->shape[left->dim_count - 1] &&
	       right->shape[dims - 1] != right->shape[dims - 2];
}

/* Rows or channels (@along) of an input that are needed for @out of the output. */
static struct npuplan_rows needed(const struct input *in, enum axis along, struct npuplan_rows out)
{
	const struct npuplan_partition *p = in->p;
	bool rows = along == ROWS, needs_same = false;
	int64_t all = rows ? p->output.rows : p->output.channels;
	const struct npuplan_rows whole = { 0, rows ? in->view.rows : in->view.channels };
	const struct npuplan_rows same = whole.count == all ? out : whole;
	uint32_t dims = in->tensor->dim_count;

	if (!rows && out.count == all)
		return whole;
	switch (in->pattern) {
	case WINDOW:
	case TRANSPOSED:
	case PAD:
		if (rows)
			return window_rows(in, 0, out, in->view.rows);
		if (in->index)
			return whole;
		if (in->pattern == PAD || (in->pattern == WINDOW && strstr(p->op->type, "pool")))
			return same;
		return grouped(in, out);
	case SOFTMAX:
		needs_same = in->axis == (rows ? CHANNELS : ROWS) ||
			     (in->axis == WITHIN && !(rows && p->bands));
		break;
	case SAME:
		/* Rows of a matrix of another width may be other rows than the output's. */
		needs_same = !rows || dims >= 4 || in->view.channels == p->output.channels ||
			     in->view.channels == 1;
		break;
	case NORM:
		/* In ranks 4 and 5 it is not known which dimensions are normalised. */
		needs_same = rows && (dims < 4 || !strncmp(p->op->type, "local", 5));
		break;
	case CONCAT:
		if (in->axis == along)
			return joined(rows ? in->start_rows : in->start_channels, whole.count, out);
		needs_same = in->axis == (rows ? CHANNELS : ROWS) || (!rows && in->axis == WITHIN);
		break;
	case UPSAMPLE:
		if (rows && !in->index)
			return npuplan_upsample_rows(out, all, in->view.rows);
		needs_same = !in->index;
		break;
	case LINEAR:
		needs_same = rows && dims < 4 && !in->index;
		break;
	case MATMUL:
		if (rows && in->index == 1 && !p->bands)
			return batch_rows(in, out);
		needs_same = rows ? dims < 4 && !in->index && !maybe_transposed(in) :
				    in->index == 1 && has_columns(in);
		break;
	case MEAN:
		needs_same = !rows && mean_of_rows(in);
		break;
	case WHOLE:
		break;
	}
	return needs_same ? same : whole;
}

/*
 * The axis of a parameter along which it has an element, or a slice, for each output channel; -1:
 * there is none. Weights of convolutions are [out, in, ...] in NCHW models, [out, ..., in] in NHWC
 * ones, but for the depthwise, and [..., in, out] and [..., out, in] in three dimensions; weights
 * of linear [in, out] and [out, in].
 */
static int parameter_axis(const struct input *in)
{
	const struct npuplan_tensor *t = in->tensor;
	int64_t channels = in->p->output.channels;
	bool nhwc = in->p->graph->source_layout == NPUPLAN_NHWC, window = in->pattern == WINDOW;
	bool is_conv = window || in->pattern == TRANSPOSED;
	int axis = -1;

	if (in->pattern == WHOLE)
		return -1;
	/* In N,C,H,W the last dimension, which parameters follow, is not channels. */
	if (!nhwc && in->output->dim_count >= 4 && !is_conv && strcmp(in->p->op->type, "prelu") &&
	    strcmp(in->p->op->type, "batchnorm"))
		return -1;
	if (t->dim_count == 1) {
		axis = 0;
	} else if (nhwc && t->dim_count == 5 && is_conv) {
		axis = window ? 4 : 3;
	} else if (window && t->dim_count >= 4) {
		axis = nhwc && is_depthwise(in) ? (int)t->dim_count - 1 : 0;
	} else if (is_conv && t->dim_count >= 4) {
		axis = nhwc ? 0 : in->attrs->groups == 1 ? 1 : -1;
	} else if (in->pattern == LINEAR && t->dim_count == 2) {
		axis = nhwc && t->shape[0] == channels ? 0 : 1;
		if (t->shape[axis] != channels)
			axis = !axis;
	}
	return axis >= 0 && t->shape[axis] == channels ? axis : -1;
}

/* Likewise along which it has an element, or a slice, for each channel of the first input. */
static int parameter_depth_axis(const struct input *in)
{
	const struct npuplan_tensor *t = in->tensor;
	bool nhwc = in->p->graph->source_layout == NPUPLAN_NHWC;
	int last = (int)t->dim_count - 1, output = parameter_axis(in), axis;

	if (output < 0 || last < 1)
		return -1;
	if (in->pattern == LINEAR)
		axis = !output;
	else if (nhwc)
		axis = last == 4 && in->pattern == WINDOW ? 3 : last;
	else
		axis = in->pattern == WINDOW;
	return axis != output && t->shape[axis] == in->depth_channels ? axis : -1;
}

/*
 * Add @count of what a region has, @step bytes apart: for two axes that are cut two dimensions do.
 * False: a region cannot count so many.
 */
static bool extend(struct npumem_region *region, uint64_t count, uint64_t step)
{
	int last = region->stride[1] > 0;

	if (count == 1)
		return true;
	if (!region->stride[0] && region->length == step) {
		region->length *= count;
		return true;
	}
	if (region->stride[last] && region->stride[last] * region->count[last] == step) {
		count *= region->count[last];
	} else {
		last += region->stride[last] > 0;
		region->stride[last] = step;
	}
	region->count[last] = (uint32_t)count;
	return count <= UINT32_MAX;
}

/*
 * The region of a parameter that a tile's channels are made with: for these channels and, if depth
 * is cut, for those of the first input.
 */
static struct npumem_region parameter_region(const struct input *in, struct npuplan_rows channels)
{
	const struct npuplan_tensor *t = in->tensor;
	int axis = channels.count == in->p->output.channels ? -1 : parameter_axis(in);
	int depth_axis = in->depth ? parameter_depth_axis(in) : -1;
	struct npumem_region region = { .length = t->elem_size, .count = { 1, 1, 1 } };
	uint64_t bytes = t->elem_size;

	if ((axis < 0 && depth_axis < 0) || !t->elem_size)
		return npuplan_whole(t);
	for (uint32_t i = 0; i < t->dim_count; i++)
		if (t->shape[i] < 1 || t->shape[i] > UINT32_MAX ||
		    __builtin_mul_overflow(bytes, t->shape[i], &bytes))
			return npuplan_whole(t);
	/* The parameter is taken whole unless its shape accounts for its bytes. */
	if (bytes != t->size)
		return npuplan_whole(t);
	bytes = t->elem_size;
	for (int i = (int)t->dim_count - 1; i >= 0; i--) {
		struct npuplan_rows range = i == axis ? channels :
					    i == depth_axis ?
							*in->depth :
							(struct npuplan_rows){ 0, t->shape[i] };

		region.offset += (uint64_t)range.first * bytes;
		if (!extend(&region, (uint64_t)range.count, bytes))
			return npuplan_whole(t);
		bytes *= (uint64_t)t->shape[i];
	}
	return region;
}

/* Round a range of channels to whole blocks, since only these have bytes of their own. */
static struct npuplan_rows rounded(struct npuplan_rows channels, const struct npuplan_spatial *view)
{
	struct npuplan_rows blocks =
		groups_of(channels, npuplan_granule(view), npuplan_granule(view));

	if (blocks.first + blocks.count > view->channels)
		blocks.count = view->channels - blocks.first;
	return blocks;
}

/* Whether rows of an input correspond to rows of the output, as far as the dimensions tell. */
static bool is_alike(const struct input *in)
{
	uint32_t dims = in->tensor->dim_count, output = in->output->dim_count;

	if (in->pattern == MEAN)
		return true;
	/* Matrices of any rank are seen as rows and channels. */
	return (dims == output || (dims < 4 && output < 4)) &&
	       in->view.batch == in->p->output.batch;
}

bool npuplan_pattern_columns(const struct npuplan_partition *p)
{
	switch ((enum pattern)p->pattern) {
	case WINDOW:
	case TRANSPOSED:
	case SAME:
	case CONCAT:
	case PAD:
	case SOFTMAX:
	case UPSAMPLE:
		return true;
	case NORM:
		return !strncmp(p->op->type, "local", 5);
	case WHOLE:
	case LINEAR:
	case MATMUL:
	case MEAN:
		break;
	}
	return false;
}

/* Columns of an image that are needed for @out of the output, which is one, too. */
static struct npuplan_rows needed_columns(const struct input *in, struct npuplan_rows out)
{
	const int64_t all = in->p->output.row;
	const struct npuplan_rows whole = { 0, in->view.row };
	const struct npuplan_rows same = whole.count == all ? out : whole;

	switch (in->pattern) {
	case WINDOW:
	case TRANSPOSED:
	case PAD:
		return window_rows(in, 1, out, whole.count);
	case SAME:
	case NORM:
		return same;
	case SOFTMAX:
		return in->axis == CHANNELS || in->axis == ROWS ? same : whole;
	case CONCAT:
		if (in->axis == WITHIN)
			return joined(in->start_columns, whole.count, out);
		return in->axis == OTHER ? whole : same;
	case UPSAMPLE:
		return in->index ? whole : npuplan_upsample_rows(out, all, whole.count);
	case WHOLE:
	case LINEAR:
	case MATMUL:
	case MEAN:
		break;
	}
	return whole;
}

/* What a tile needs of an input that is cut as the outputs are; without a row: nothing. */
static struct npuplan_part needed_part(const struct input *in, const struct npuplan_part *tile)
{
	struct npuplan_part part = {
		.rows = needed(in, ROWS, tile->rows),
		.channels = needed(in, CHANNELS, tile->channels),
		.columns = tile->columns.count ? needed_columns(in, tile->columns) :
						 (struct npuplan_rows){ 0, in->view.row },
	};

	if (in->depth && !in->index)
		part.channels = *in->depth;
	/* The tile may be made of padding, or of other inputs, alone. */
	if (!part.rows.count || !part.channels.count || !part.columns.count)
		return (struct npuplan_part){ 0 };
	part.channels = rounded(part.channels, &in->view);
	return part;
}

/* All of a tensor that has a view. */
static struct npuplan_part whole_part(const struct npuplan_spatial *view)
{
	return (struct npuplan_part){ { 0, view->rows }, { 0, view->channels }, { 0, view->row } };
}

/* Whether sums are products of the first input and this one, and are not added to it alone. */
static bool is_factor(const struct input *in)
{
	const struct npuplan_tensor *t = in->tensor, *output = in->output;
	bool alike = t->dim_count == output->dim_count &&
		     !memcmp(t->shape, output->shape, t->dim_count * sizeof(*t->shape));

	if (t->kind == NPUMEM_TENSOR_PARAMETER && t->dim_count <= 1)
		return in->index == 1 && parameter_axis(in) < 0;
	/* Weights may happen to have the output's shape, or be computed. */
	if (in->index == 1)
		return t->kind == NPUMEM_TENSOR_PARAMETER || in->pattern == LINEAR || !alike;
	return t->kind == NPUMEM_TENSOR_PARAMETER && !alike;
}

/* The operator's inputs, to be gone through. */
static struct input first_input(const struct npuplan_partition *p)
{
	const struct npuplan_tensor *tensors = p->graph->tensors;
	const struct npuplan_op *op = p->op;

	return (struct input){
		.p = p,
		.attrs = &op->attrs,
		.first = op->input_count ? &tensors[op->inputs[0]] : NULL,
		.output = &tensors[op->outputs[0]],
		.pattern = p->pattern,
	};
}

int64_t npuplan_depth(const struct npuplan_partition *p, int64_t *granule)
{
	struct input in = first_input(p);
	const char *type = p->op->type;

	*granule = 1;
	if (!p->rows || p->bands || !in.first || p->op->output_count != 1 ||
	    in.first->kind == NPUMEM_TENSOR_PARAMETER ||
	    !npuplan_partition_view(p, p->op->inputs[0], &in.view))
		return 0;
	in.tensor = in.first;
	*granule = npuplan_granule(&in.view);
	/* A matrix whose rows are others than the output's is summed over more than channels. */
	if (in.pattern == LINEAR)
		return in.first->dim_count < 4 && is_alike(&in) && in.view.rows == p->output.rows ?
			       in.view.channels :
			       0;
	if ((in.pattern != WINDOW && in.pattern != TRANSPOSED) || strstr(type, "pool") ||
	    is_depthwise(&in) || in.attrs->groups != 1 || in.first->dim_count < 4 || !is_alike(&in))
		return 0;
	return in.view.channels;
}

/* What is needed of the inputs; @depth: channels of the first that are added up, NULL: all. */
static void tile_inputs(const struct npuplan_partition *p, const struct npuplan_part *tile,
			const struct npuplan_rows *depth, struct npumem_region *regions,
			struct npuplan_part *parts)
{
	const struct npuplan_tensor *tensors = p->graph->tensors;
	const struct npuplan_op *op = p->op;
	struct input in = first_input(p);
	int64_t granule;

	in.depth = depth;
	in.depth_channels = depth ? npuplan_depth(p, &granule) : 0;
	for (in.index = 0; in.index < op->input_count; in.index++) {
		struct npumem_region *region = &regions[in.index];
		bool seen = npuplan_partition_view(p, op->inputs[in.index], &in.view);
		struct npuplan_part part = { 0 };

		in.tensor = &tensors[op->inputs[in.index]];
		in.axis = axis_of(p->graph, in.tensor, op->attrs.axis);
		if (depth && in.index && depth->first + depth->count < in.depth_channels &&
		    !is_factor(&in)) {
			*region = (struct npumem_region){ 0 };
		} else if (in.tensor->kind == NPUMEM_TENSOR_PARAMETER) {
			*region = parameter_region(&in, tile->channels);
		} else if (!seen || !is_alike(&in)) {
			*region = npuplan_whole(in.tensor);
			part = seen ? whole_part(&in.view) : part;
		} else {
			part = needed_part(&in, tile);
			*region = part.rows.count ? npuplan_part_region(&in.view, &part) :
						    (struct npumem_region){ 0 };
		}
		if (parts)
			parts[in.index] = part;
		if (seen &&
		    (__builtin_add_overflow(in.start_rows, in.view.rows, &in.start_rows) ||
		     __builtin_add_overflow(in.start_channels, in.view.channels,
					    &in.start_channels) ||
		     __builtin_add_overflow(in.start_columns, in.view.row, &in.start_columns)))
			in.start_rows = in.start_channels = in.start_columns = INT64_MAX / 2;
	}
}

void npuplan_tile_inputs(const struct npuplan_partition *p, const struct npuplan_part *tile,
			 struct npumem_region *regions, struct npuplan_part *parts)
{
	tile_inputs(p, tile, NULL, regions, parts);
}

void npuplan_depth_inputs(const struct npuplan_partition *p, const struct npuplan_part *tile,
			  struct npuplan_rows depth, struct npumem_region *regions)
{
	tile_inputs(p, tile, &depth, regions, NULL);
}
