// SPDX-License-Identifier: MIT
/*
 * Tilings in real int8 arithmetic: random operators of every type that is cut, and
 * networks of some of them, in every layout, each step computed from the bytes that it
 * reads alone, and the same through the arena of a plan. See int8_run.h.
 *
 * usage: prop_tiling [SEED [CASES]]
 *
 * Built with SUMS it is prop_sums: operators that add up input channels alone, cut along these
 * wherever they can be, with the plans of all planners.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "int8_property.h"
#include "tiling/partition.h"

#ifndef SUMS
#define SUMS 0
#endif

/* ------------------------------------------------------------------ random operators */

/*
 * struct shape - batch, channels, and rows, width (depth, rows, width)
 */
struct shape {
	int64_t batch;
	int64_t channels;
	int64_t space[NPUPLAN_MAX_SPATIAL];
	uint32_t spatial;
};

static struct npuplan_graph *graph;
static enum int8_resize resize;

/* Most tensors of a network that are read on, most channels of one. */
#define LAYERS	 12
#define CHANNELS 40

/*
 * Tensors of the network in the making, @known_count of them, for the next operators
 * to read. No network: each operator reads inputs of its own.
 */
static struct {
	struct shape shape;
	uint32_t tensor;
} known[LAYERS];
static uint32_t known_count;
static bool network;

static uint32_t add(uint32_t kind, uint32_t rank, const int64_t *shape)
{
	struct npuplan_tensor tensor = {
		.name = (char *)(uintptr_t)(kind == NPUMEM_TENSOR_INPUT	    ? "input" :
					    kind == NPUMEM_TENSOR_PARAMETER ? "parameter" :
									      "output"),
		.size = 1,
		.align = 1,
		.kind = kind,
		.elem_size = 1,
		.dim_count = rank,
		.id = graph->tensor_count,
	};
	int64_t index;

	for (uint32_t d = 0; d < rank; d++) {
		tensor.shape[d] = shape[d];
		tensor.size *= shape[d];
	}
	index = npuplan_graph_add_tensor(graph, &tensor);
	if (index < 0)
		fail("no tensor added");
	return index;
}

static uint32_t axis_of_space(uint32_t d)
{
	return graph->source_layout == NPUPLAN_NHWC ? 1 + d : 2 + d;
}

static uint32_t axis_of_channels(const struct shape *s)
{
	return graph->source_layout == NPUPLAN_NHWC ? s->spatial + 1 : 1;
}

static uint32_t add_spatial(uint32_t kind, const struct shape *s)
{
	int64_t shape[NPUPLAN_MAX_DIMS];

	shape[0] = s->batch;
	shape[axis_of_channels(s)] = s->channels;
	for (uint32_t d = 0; d < s->spatial; d++)
		shape[axis_of_space(d)] = s->space[d];
	return add(kind, s->spatial + 2, shape);
}

static struct shape random_shape(uint32_t spatial)
{
	bool many = !draw(0, SUMS ? 1 : 3);
	struct shape s = {
		.batch = draw(0, 3) || many ? 1 : 2,
		.channels = many ? draw(20, 70) : draw(1 + SUMS, 6),
		.spatial = spatial,
	};

	s.space[0] = draw(1, many ? 6 : 14);
	for (uint32_t d = 1; d < spatial; d++)
		s.space[d] = draw(1, many ? 3 : 5);
	return s;
}

/* The first input of an operator, and its shape. */
static uint32_t source(struct shape *shape, uint32_t spatial)
{
	if (network) {
		uint32_t which = draw(0, 2) ? known_count - 1 : draw(0, known_count - 1);

		*shape = known[which].shape;
		return known[which].tensor;
	}
	*shape = random_shape(spatial);
	return add_spatial(NPUMEM_TENSOR_INPUT, shape);
}

static bool same_shape(const struct shape *a, const struct shape *b)
{
	return a->batch == b->batch && a->channels == b->channels && a->spatial == b->spatial &&
	       !memcmp(a->space, b->space, a->spatial * sizeof(*a->space));
}

/* Another one, of this shape: a known tensor, if there is one of it. */
static uint32_t another(const struct shape *shape)
{
	uint32_t start = known_count ? draw(0, known_count - 1) : 0;

	for (uint32_t i = 0; i < known_count; i++) {
		uint32_t which = (start + i) % known_count;

		if (same_shape(&known[which].shape, shape))
			return known[which].tensor;
	}
	return add_spatial(NPUMEM_TENSOR_INPUT, shape);
}

/* What an operator writes; of a network it is read on. */
static uint32_t result(const struct shape *shape)
{
	uint32_t tensor = add_spatial(NPUMEM_TENSOR_OUTPUT, shape);

	if (network) {
		known[known_count].shape = *shape;
		known[known_count++].tensor = tensor;
	}
	return tensor;
}

static uint32_t spatial_dims(void)
{
	return draw(0, 3) ? 2 : 3;
}

static struct npuplan_op *add_op(const char *type, const uint32_t *inputs, uint32_t input_count,
				 uint32_t output)
{
	struct npuplan_op *op = int8_add_op(graph, type, inputs, input_count, output);

	if (!op)
		fail("no operator added");
	return op;
}

static void random_window(struct npuplan_attrs *attrs, uint32_t spatial, bool dilated)
{
	attrs->spatial = spatial;
	for (uint32_t d = 0; d < spatial; d++) {
		attrs->kernel[d] = draw(1, spatial > 2 ? 3 : 5);
		attrs->stride[d] = draw(1, 4);
		attrs->dilation[d] = dilated ? draw(1, 3) : 1;
		attrs->pad_begin[d] = draw(0, 4);
		attrs->pad_end[d] = draw(0, 4);
	}
}

/* A window that makes @out, some elements at least, of @in. */
static void find_window(struct npuplan_attrs *attrs, bool dilated, const struct shape *in,
			struct shape *out)
{
	bool good;

	*out = *in;
	do {
		random_window(attrs, in->spatial, dilated);
		good = true;
		for (uint32_t d = 0; d < in->spatial; d++) {
			out->space[d] = windows(attrs, d, in->space[d]);
			good &= out->space[d] >= 1 && out->space[d] <= (network ? 16 : 40);
		}
	} while (!good);
}

static uint32_t add_weights(const struct npuplan_attrs *attrs, const struct shape *in,
			    const struct shape *out)
{
	int64_t ins = in->channels / attrs->groups, outs = out->channels / attrs->groups;
	bool nhwc = graph->source_layout == NPUPLAN_NHWC;
	bool depthwise = nhwc && attrs->groups == in->channels && attrs->groups > 1 && draw(0, 1);
	int64_t shape[NPUPLAN_MAX_DIMS];
	uint32_t first = nhwc ? 1 : 2;

	if (nhwc && in->spatial == 3) {
		first = 0;
		shape[3] = attrs->transposed ? out->channels : ins;
		shape[4] = attrs->transposed ? ins : out->channels;
	} else if (nhwc) {
		shape[0] = depthwise ? 1 : out->channels;
		shape[in->spatial + 1] = depthwise ? out->channels : ins;
	} else {
		shape[0] = attrs->transposed ? in->channels : out->channels;
		shape[1] = attrs->transposed ? outs : ins;
	}
	for (uint32_t d = 0; d < in->spatial; d++)
		shape[first + d] = attrs->kernel[d];
	return add(NPUMEM_TENSOR_PARAMETER, in->spatial + 2, shape);
}

static void random_conv(bool transposed)
{
	static const char *const names[2][2] = { { "conv2d", "conv3d" },
						 { "conv_transpose2d", "conv_transpose3d" } };
	struct npuplan_attrs attrs = { .axis = -1, .groups = 1, .transposed = transposed };
	struct shape in, out;
	uint32_t inputs[3] = { source(&in, spatial_dims()) }, group = draw(2, 3), bias = draw(0, 1);
	const char *type = names[transposed][in.spatial == 3];
	int64_t channels = draw(1, 5);

	if (transposed && in.spatial == 2 && draw(0, 1))
		type = "conv2d";
	find_window(&attrs, true, &in, &out);
	if (!draw(0, SUMS ? 9 : 2)) {
		/* Depthwise; sometimes with several outputs a channel. */
		attrs.groups = (int32_t)in.channels;
		channels = in.channels * (draw(0, 3) || network ? 1 : 2);
		if (!transposed && in.spatial == 2 && draw(0, 1))
			type = "depthwise_conv2d";
	} else if (in.channels % group == 0 && (!SUMS || !draw(0, 9))) {
		attrs.groups = (int32_t)group;
		channels = group * draw(1, network ? 2 : 12);
	} else if (!draw(0, 3) && in.channels < 10 && !network) {
		channels = draw(20, 70);
	}
	out.channels = channels;
	inputs[1] = add_weights(&attrs, &in, &out);
	inputs[2] = add(NPUMEM_TENSOR_PARAMETER, 1, &channels);
	add_op(type, inputs, 2 + bias, result(&out))->attrs = attrs;
}

static void conv(void)
{
	random_conv(false);
}

static void transposed_conv(void)
{
	random_conv(true);
}

static void pool(void)
{
	static const char *const types[] = { "maxpool", "avgpool", "l2_pool" };
	struct npuplan_attrs attrs = { .axis = -1, .groups = 1 };
	struct shape in, out;
	uint32_t input = source(&in, spatial_dims());

	find_window(&attrs, draw(0, 1), &in, &out);
	add_op(types[draw(0, 2)], &input, 1, result(&out))->attrs = attrs;
}

/* Operands of the same shape, of one element in some dimensions, of fewer dimensions. */
static uint32_t operand(const char *type, const struct shape *out)
{
	bool by_channel = int8_by_channel(type) || graph->source_layout == NPUPLAN_NHWC;
	int64_t last = by_channel ? out->channels : out->space[out->spatial - 1];
	struct shape s = *out;

	switch (draw(0, 9)) {
	case 0:
	case 1:
		return add(draw(0, 1) ? NPUMEM_TENSOR_PARAMETER : NPUMEM_TENSOR_INPUT, 1, &last);
	case 2:
	case 3:
		s.channels = draw(0, 1) ? s.channels : 1;
		s.batch = draw(0, 1) ? s.batch : 1;
		for (uint32_t d = 0; d < s.spatial; d++)
			s.space[d] = draw(0, 1) ? s.space[d] : 1;
	}
	return draw(0, 4) ? another(&s) : add_spatial(NPUMEM_TENSOR_PARAMETER, &s);
}

/* The same for matrices, of up to three dimensions. */
static void matrices(const char *type, uint32_t count)
{
	uint32_t rank = draw(1, 3), inputs[3];
	int64_t shape[3], other[3];

	for (uint32_t d = 0; d < rank; d++)
		shape[d] = draw(1, 6);
	inputs[0] = add(NPUMEM_TENSOR_INPUT, rank, shape);
	for (uint32_t i = 1; i < count; i++) {
		/* Of fewer dimensions; of one element in some. */
		uint32_t gone = draw(0, rank - 1);

		for (uint32_t d = gone; d < rank; d++)
			other[d] = draw(0, 2) ? shape[d] : 1;
		inputs[i] = add(draw(0, 1) ? NPUMEM_TENSOR_PARAMETER : NPUMEM_TENSOR_INPUT,
				rank - gone, other + gone);
	}
	add_op(type, inputs, count, add(NPUMEM_TENSOR_OUTPUT, rank, shape));
}

static void elementwise(void)
{
	uint32_t types = 0, inputs[3], count;
	struct npuplan_op *op;
	struct shape shape;
	const char *type;

	while (int8_elementwise(types, &count))
		types++;
	type = int8_elementwise(draw(0, types - 1), &count);
	if (!network && !draw(0, 4) && !int8_by_channel(type)) {
		matrices(type, count);
		return;
	}
	inputs[0] = source(&shape, spatial_dims());
	for (uint32_t i = 1; i < count; i++)
		inputs[i] = draw(0, 9) ? operand(type, &shape) : inputs[0];
	op = add_op(type, inputs, count, result(&shape));
	op->attrs.inplace = draw(0, 1);
}

static void concat(void)
{
	struct shape in, out;
	uint32_t inputs[4] = { source(&in, spatial_dims()) }, count = draw(1, network ? 2 : 4);
	uint32_t axis = network ? 1 : draw(0, in.spatial + 1);
	int64_t *extent = axis == 0 ? &in.batch : axis == 1 ? &in.channels : &in.space[axis - 2];
	int64_t sum = *extent;

	for (uint32_t i = 1; i < count; i++) {
		bool again = !draw(0, 5);

		if (!again && !network)
			*extent = draw(1, axis == 1 && !draw(0, 2) ? 40 : 4);
		sum += *extent;
		inputs[i] = again ? inputs[i - 1] : another(&in);
	}
	out = in;
	*(axis == 0 ? &out.batch : axis == 1 ? &out.channels : &out.space[axis - 2]) = sum;
	add_op(draw(0, 1) ? "cat" : "concat", inputs, count, result(&out))->attrs.axis =
		axis == 0 ? 0 :
		axis == 1 ? (int32_t)axis_of_channels(&out) :
			    (int32_t)axis_of_space(axis - 2);
}

static void pad(void)
{
	struct npuplan_attrs attrs = { .axis = -1, .groups = 1 };
	struct shape in, out;
	uint32_t input = source(&in, spatial_dims());

	out = in;
	attrs.spatial = in.spatial;
	for (uint32_t d = 0; d < in.spatial; d++) {
		attrs.kernel[d] = attrs.stride[d] = attrs.dilation[d] = 1;
		do {
			attrs.pad_begin[d] = (int32_t)draw(0, 6) - 2;
			attrs.pad_end[d] = (int32_t)draw(0, 6) - 2;
			out.space[d] = in.space[d] + attrs.pad_begin[d] + attrs.pad_end[d];
		} while (out.space[d] < 1);
	}
	add_op("pad", &input, 1, result(&out))->attrs = attrs;
}

static void softmax(void)
{
	struct shape shape;
	uint32_t input = source(&shape, spatial_dims());
	uint32_t axis = draw(0, 1) ? axis_of_channels(&shape) : draw(1, shape.spatial + 1);

	add_op(draw(0, 3) ? "softmax" : "log_softmax", &input, 1, result(&shape))->attrs.axis =
		(int32_t)axis;
}

static void reduction(void)
{
	static const char *const types[] = { "mean", "sum", "reduce_max" };
	struct shape in, out;
	uint32_t input = source(&in, spatial_dims()), axis = NPUMEM_NONE;
	int64_t *extents[] = { &out.channels, &out.space[0], &out.space[1], &out.space[2] };
	uint32_t all = (2u << in.spatial) - 1, which = draw(0, 1) ? draw(1, all) : all - 1;

	out = in;
	for (uint32_t i = 0; i <= in.spatial; i++) {
		uint32_t at = i ? axis_of_space(i - 1) : axis_of_channels(&in);

		if (!(which >> i & 1))
			continue;
		*extents[i] = 1;
		axis = at < axis ? at : axis;
	}
	/* The outermost of several, as the importers have it. */
	if (which == all - 1 && draw(0, 1)) {
		const int64_t flat[2] = { in.batch, in.channels };

		add_op(types[draw(0, 2)], &input, 1, add(NPUMEM_TENSOR_OUTPUT, 2, flat))
			->attrs.axis = (int32_t)axis;
		return;
	}
	add_op(types[draw(0, 2)], &input, 1, result(&out))->attrs.axis = (int32_t)axis;
}

/* Of two to five dimensions; the last is what is summed over. */
static void linear(void)
{
	uint32_t rank = draw(2, SUMS ? 3 : 5), inputs[3];
	uint32_t summed = graph->source_layout == NPUPLAN_NHWC;
	int64_t shape[NPUPLAN_MAX_DIMS], weights[2], outs = draw(1, 8);
	struct shape flat = random_shape(2);
	bool flatten = !draw(0, SUMS ? 19 : 4);

	for (uint32_t d = 0; d < rank; d++)
		shape[d] = draw(1, 5);
	weights[!summed] = outs;
	weights[summed] = shape[rank - 1] = draw(0, 1) ? draw(1, 40) : outs;
	if (flatten) {
		/* Behind a pool: all that belongs to one batch. */
		inputs[0] = add_spatial(NPUMEM_TENSOR_INPUT, &flat);
		weights[summed] = flat.channels * flat.space[0] * flat.space[1];
		shape[0] = flat.batch;
		rank = 2;
	} else {
		inputs[0] = add(NPUMEM_TENSOR_INPUT, rank, shape);
	}
	inputs[1] = add(NPUMEM_TENSOR_PARAMETER, 2, weights);
	inputs[2] = add(NPUMEM_TENSOR_PARAMETER, 1, &outs);
	shape[rank - 1] = outs;
	add_op("linear", inputs, draw(2, 3), add(NPUMEM_TENSOR_OUTPUT, rank, shape));
}

static void matmul(void)
{
	uint32_t rank = draw(2, 5), inputs[2];
	int64_t shape[NPUPLAN_MAX_DIMS], inner = draw(1, 8), left = draw(1, 7), right = draw(1, 7);

	for (uint32_t d = 0; d < rank; d++)
		shape[d] = draw(1, 4);
	shape[rank - 2] = left;
	shape[rank - 1] = inner;
	inputs[0] = add(NPUMEM_TENSOR_INPUT, rank, shape);
	shape[rank - 2] = inner;
	shape[rank - 1] = right;
	inputs[1] = add(NPUMEM_TENSOR_INPUT, rank, shape);
	shape[rank - 2] = left;
	add_op("matmul", inputs, 2, add(NPUMEM_TENSOR_OUTPUT, rank, shape));
}

static void normalisation(void)
{
	struct shape shape;
	uint32_t input = source(&shape, spatial_dims());

	add_op(draw(0, 1) ? "layernorm" : "local_response_normalization", &input, 1,
	       result(&shape));
}

static void resizing(void)
{
	const char *type = "upsample";
	struct shape in, out;
	uint32_t input = source(&in, 2);

	out = in;
	for (uint32_t d = 0; d < in.spatial; d++) {
		out.space[d] = draw(0, 2) ? in.space[d] * draw(1, 4) : draw(1, 40);
		if (network && out.space[d] > 16)
			out.space[d] = draw(1, 16);
	}
	if (draw(0, 1))
		type = resize < INT8_BILINEAR ? "resize_nearest" : "resize_bilinear";
	add_op(type, &input, 1, result(&out));
}

/* Layers on earlier ones' outputs: chains, branches, residuals. */
static void layers(void)
{
	static void (*const makers[])(void) = { conv,	conv, transposed_conv, pool,	elementwise,
						concat, pad,  softmax,	       resizing };
	struct shape shape = random_shape(2);
	uint32_t count = draw(2, LAYERS - 1);

	if (shape.channels > 8)
		shape.channels = draw(1, 8);
	network = true;
	known_count = 0;
	known[known_count].shape = shape;
	known[known_count++].tensor = add_spatial(NPUMEM_TENSOR_INPUT, &shape);
	for (uint32_t i = 0; i < count && known[known_count - 1].shape.channels < CHANNELS; i++)
		makers[draw(0, sizeof(makers) / sizeof(makers[0]) - 1)]();
	no_outputs_read(graph);
	network = false;
	known_count = 0;
}

static const struct {
	const char *name;
	void (*make)(void);
} kinds[] = {
	{ "convolution", conv }, { "transposed", transposed_conv },
	{ "linear", linear },	 { "network", layers },
	{ "pooling", pool },	 { "element-wise", elementwise },
	{ "concat", concat },	 { "pad", pad },
	{ "softmax", softmax },	 { "reduction", reduction },
	{ "matmul", matmul },	 { "normalisation", normalisation },
	{ "resize", resizing },
};

/* With SUMS the first ones alone. */
#define KINDS (SUMS ? 4 : sizeof(kinds) / sizeof(kinds[0]))

/* ------------------------------------------------------------------------- one case */

/*
 * struct count - of all cases of a kind
 * @columns: cases that cut columns of an operator in a way of its own
 * @depth: operators whose depth is cut
 * @joined: tensors that are joined in such cases
 * @read, @loaded: bytes that steps read, and that they need
 */
struct count {
	uint32_t cases;
	uint32_t columns;
	uint32_t depth;
	uint32_t joined;
	uint32_t plans;
	uint64_t steps;
	uint64_t read;
	uint64_t loaded;
};

/* Rows and channels of an operator's output, and of how many channels tiles are made. */
static void extents(const struct npuplan_op *op, uint32_t *rows, uint32_t *channels,
		    uint32_t *granule)
{
	const struct npuplan_tensor *t = &graph->tensors[op->outputs[0]];
	uint32_t rank = t->dim_count, place = 1;
	bool nhwc = graph->source_layout == NPUPLAN_NHWC;

	*granule = 1;
	*rows = 1;
	if (rank < 4) {
		for (uint32_t d = 0; d + 1 < rank; d++)
			*rows *= t->shape[d];
		*channels = t->shape[rank - 1];
		return;
	}
	*rows = t->shape[nhwc ? 1 : 2];
	*channels = t->shape[nhwc ? rank - 1 : 1];
	for (uint32_t d = nhwc ? 1 : 2; d < rank - nhwc; d++)
		place *= t->shape[d];
	if (graph->layout == NPUPLAN_NC32HW32 && place > 1)
		*granule = 32;
}

static struct npuplan_tile_choice random_choice(uint32_t op)
{
	struct npuplan_tile_choice choice = { .op = op, .order = draw(0, 1) };
	uint32_t rows, channels, granule;
	struct npuplan_partition p;
	int64_t depth_granule, depth;

	extents(&graph->ops[op], &rows, &channels, &granule);
	choice.rows = draw(0, rows) / draw(1, 4);
	choice.channels = draw(0, channels) / draw(1, 3) / granule * granule;
	/* One block of several, which is seldom drawn. */
	if (granule > 1 && channels > granule && draw(0, 1))
		choice.channels = granule;
	if (npuplan_partition_init(&p, graph, op, 0) && npuplan_has_columns(&p) && draw(0, 1))
		choice.columns = draw(1, (uint32_t)p.output.row);
	depth = npuplan_depth(&p, &depth_granule);
	if (depth > depth_granule && (SUMS || draw(0, 1)))
		choice.depth = draw(1, (uint32_t)((depth - 1) / depth_granule)) * depth_granule;
	return choice;
}

/* On-chip memory, from what is too little on. */
static void tile_onchip(struct npuplan_tiling *tiling, struct npuplan_error *error)
{
	int err;

	tiling->bands = tiling->rows = tiling->op_count = 0;
	tiling->double_buffer = draw(0, 1);
	tiling->partial_sums = SUMS || draw(0, 1);
	tiling->onchip = draw(1, 4000);
	do {
		err = npuplan_graph_tile(graph, tiling, error);
		tiling->onchip += 1 + tiling->onchip / 2;
	} while (err == -ENOSPC);
	if (err)
		fail("%s", error->text);
}

/* Bands, rows and columns, and all three of some operators; or as the tiler chooses. */
static void tile(struct npuplan_error *error)
{
	struct npuplan_tile_choice choices[LAYERS];
	struct npuplan_tiling tiling = {
		.layout = draw(0, 2),
		.with_parameters = draw(0, 1),
		/* Elsewhere prop_join has them joined. */
		.concat = SUMS ? draw(0, 2) : NPUPLAN_CONCAT_COPY,
		.ops = choices,
	};

	if (npuplan_graph_set_layout(graph, tiling.layout, error))
		fail("%s", error->text);
	for (uint32_t i = 0; i < graph->op_count; i++)
		if (SUMS || draw(0, 3))
			choices[tiling.op_count++] = random_choice(i);
	switch (draw(SUMS ? 2 : 0, 4)) {
	case 0:
		tiling.bands = draw(1, 16);
		tiling.op_count = draw(0, 1) ? tiling.op_count : 0;
		break;
	case 1:
		tiling.rows = draw(1, 4);
		tiling.columns = draw(0, 3);
		tiling.op_count = draw(0, 1) ? tiling.op_count : 0;
		break;
	case 2:
		tile_onchip(&tiling, error);
		return;
	}
	if (npuplan_graph_tile(graph, &tiling, error))
		fail("%s", error->text);
}

/*
 * Plans of all planners but for those that move parameters, where these are in the arena, and but
 * for the integer program, which has no steps that update bytes.
 */
static uint32_t check_planners(struct int8_net *net)
{
	uint32_t plans = 0;
	const char *name;

	for (unsigned int i = 0; (name = npuplan_planner_name(i)); i++) {
		/* The paper's engine gives up where tiles are many. */
		if (!strcmp(name, "taa-paper") && graph->tile_count >= 40)
			continue;
		if (graph->tiling.with_parameters && !strncmp(name, "cosma", 5))
			continue;
		if (!strcmp(name, "cosma-ilp"))
			continue;
		plan_and_run(net, name, false);
		plans++;
	}
	return plans;
}

/* Operators whose depth is cut. */
static uint32_t depth_cut(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < graph->op_count; i++) {
		struct npuplan_partition p;

		npuplan_partition_of(&p, graph, &graph->tiling, i);
		count += p.depth_steps > 1;
	}
	return count;
}

/* Whether an operator is cut into columns, as it was told or as the tiler chose. */
static bool columns_cut(void)
{
	for (uint32_t i = 0; i < graph->tiling.op_count; i++)
		if (graph->tiling.ops[i].columns)
			return true;
	return false;
}

static void run_case(uint64_t seed, struct count *count)
{
	static const char *const planners[] = { "taa", "greedy", "shared-objects", "taa-paper" };
	struct npuplan_error error = { .text = "" };
	struct int8_net net;
	uint32_t tensors;

	graph = npuplan_graph_new("random");
	if (!graph)
		fail("out of memory");
	graph->source_layout = draw(0, 1) ? NPUPLAN_NHWC : NPUPLAN_NCHW;
	resize = draw(0, INT8_RESIZES - 1);
	kinds[seed % KINDS].make();
	tensors = graph->tensor_count;
	tile(&error);
	tile_again(graph, tensors);
	compute_tiles(&net, graph, resize, seed, &count->loaded, &count->read);
	/* The paper's engine gives up where tiles are many. */
	if (SUMS) {
		count->plans += check_planners(&net);
	} else {
		plan_and_run(&net, planners[draw(0, graph->tile_count < 40 ? 3 : 2)], false);
		count->plans++;
	}
	count->cases++;
	count->depth += depth_cut();
	count->joined += depth_cut() ? graph->joined_count : 0;
	count->columns += columns_cut();
	count->steps += graph->step_count;
	int8_net_fini(&net);
	npuplan_graph_free(graph);
}

int main(int argc, char **argv)
{
	struct count counts[sizeof(kinds) / sizeof(kinds[0])] = { 0 };
	uint32_t depth = 0;

	property_begin(argc, argv, 20261121, SUMS ? 1800 : 600);
	for (unsigned long i = 0; i < property.cases; i++) {
		uint64_t seed = property_case(i);

		run_case(seed, &counts[seed % KINDS]);
	}
	for (size_t k = 0; k < KINDS; k++) {
		depth += counts[k].depth;
		printf("%-14s %5u operators, %4u in columns, %4u in depth, %3u joined, %5u plans, %6" PRIu64
		       " steps, %9" PRIu64 " bytes read, %9" PRIu64 " needed\n",
		       kinds[k].name, counts[k].cases, counts[k].columns, counts[k].depth,
		       counts[k].joined, counts[k].plans, counts[k].steps, counts[k].read,
		       counts[k].loaded);
	}
	if (property.cases > 100 && !depth)
		fail("no depth was cut");
	return 0;
}
