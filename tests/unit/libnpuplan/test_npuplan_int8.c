// SPDX-License-Identifier: MIT
/*
 * A network in int8, cut and planned in many ways: the same bytes come out. And the
 * judges themselves (int8_ops.h, int8_run.h): arithmetic done by hand, a halo that is a
 * row short, a plan that is wrong. Random operators: tests/property/prop_tiling.c.
 */
#include "npuplan_build.h"

#include <errno.h>

#include "int8_run.h"

#define SEED 20261121u

/* ------------------------------------------------------------------- arithmetic by hand */

/* struct values - the values of up to three inputs, as they lie in memory */
struct values {
	const int8_t *inputs[3];
};

static int8_t load_value(void *context, uint32_t input, uint64_t byte)
{
	return ((struct values *)context)->inputs[input][byte];
}

/* The output of the graph's only operator, in the order of the source. */
static void compute(const struct npuplan_graph *graph, enum int8_resize resize,
		    struct values values, int8_t *out)
{
	struct int8_op k = { graph, &graph->ops[0], resize, load_value, &values };
	int64_t at[NPUPLAN_MAX_DIMS] = { 0 };

	do
		*out++ = int8_element(&k, at);
	while (int8_next(&graph->tensors[graph->ops[0].outputs[0]], at));
}

/* Rows of one pixel of one channel: input and output of the windows below. */
static struct npuplan_op *column(struct npuplan_graph *graph, const char *type, int64_t in,
				 int64_t weights, int64_t out)
{
	uint32_t from = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, in, 1, 1);
	uint32_t with =
		!weights ? NPUMEM_NONE :
			   build_spatial(graph, "w", NPUMEM_TENSOR_PARAMETER, 1, weights, 1, 1);
	struct npuplan_op *op =
		build_op(graph, type, from, with, NPUMEM_NONE,
			 build_spatial(graph, "out", NPUMEM_TENSOR_OUTPUT, 1, out, 1, 1));

	op->attrs.groups = 1;
	return op;
}

/* Kernel, stride, dilation and padding of the rows alone. */
static void rows_window(struct npuplan_op *op, int32_t kernel, int32_t stride, int32_t dilation,
			int32_t pad)
{
	build_window(op, 1, 1, 1, 0);
	op->attrs.kernel[0] = kernel;
	op->attrs.stride[0] = stride;
	op->attrs.dilation[0] = dilation;
	op->attrs.pad_begin[0] = op->attrs.pad_end[0] = pad;
}

#define EXPECT(graph, resize, values, ...)                                          \
	do {                                                                        \
		static const int8_t expected[] = { __VA_ARGS__ };                   \
		int8_t got[sizeof(expected)];                                       \
                                                                                    \
		assert_int_equal((graph)->tensors[(graph)->ops[0].outputs[0]].size, \
				 sizeof(expected));                                 \
		compute(graph, resize, values, got);                                \
		assert_memory_equal(got, expected, sizeof(expected));               \
		npuplan_graph_free(graph);                                          \
	} while (0)

TEST(arithmetic)
{
	static const int8_t ramp[] = { 1, 2, 3, 4, 5, 6 }, weights[] = { 32, 64, 96 };
	const struct values both = { { ramp, weights } };
	struct npuplan_graph *graph;

	/* One tap: 64 / 32 times the row before. */
	graph = npuplan_graph_new("g");
	rows_window(column(graph, "conv2d", 6, 1, 6), 1, 1, 1, 0);
	EXPECT(graph, 0, ((struct values){ { ramp, weights + 1 } }), 2, 4, 6, 8, 10, 12);
	/* Two taps two rows apart, every other row: 1 x + 2 x, by the root of two. */
	graph = npuplan_graph_new("g");
	rows_window(column(graph, "conv2d", 6, 2, 2), 2, 2, 2, 0);
	EXPECT(graph, 0, both, 5, 9);
	/* Alone at the edge: the padding is no term. */
	graph = npuplan_graph_new("g");
	rows_window(column(graph, "conv2d", 6, 2, 7), 2, 1, 1, 1);
	EXPECT(graph, 0, both, 2, 4, 6, 8, 10, 12, 6);
	/* Row 2 i + k takes row i by tap k; two of them meet where the kernel is three. */
	graph = npuplan_graph_new("g");
	rows_window(column(graph, "conv_transpose2d", 3, 3, 7), 3, 2, 1, 0);
	EXPECT(graph, 0, both, 1, 2, 4, 4, 6, 6, 9);
	graph = npuplan_graph_new("g");
	rows_window(column(graph, "maxpool", 6, 0, 3), 3, 2, 1, 1);
	EXPECT(graph, 0, both, 2, 4, 6);
	graph = npuplan_graph_new("g");
	rows_window(column(graph, "avgpool", 6, 0, 2), 3, 3, 1, 0);
	EXPECT(graph, 0, both, 2, 5);
	graph = npuplan_graph_new("g");
	rows_window(column(graph, "pad", 6, 0, 8), 1, 1, 1, 1);
	EXPECT(graph, 0, both, 0, 1, 2, 3, 4, 5, 6, 0);
	graph = npuplan_graph_new("g");
	column(graph, "resize_nearest", 3, 0, 6);
	EXPECT(graph, INT8_NEAREST, both, 1, 1, 2, 2, 3, 3);
	graph = npuplan_graph_new("g");
	column(graph, "resize_bilinear", 2, 0, 3);
	EXPECT(graph, INT8_BILINEAR_ALIGNED, ((struct values){ { weights } }), 32, 48, 64);
	graph = npuplan_graph_new("g");
	column(graph, "resize_bilinear", 2, 0, 4);
	EXPECT(graph, INT8_BILINEAR_HALF_PIXEL, ((struct values){ { weights } }), 32, 40, 56, 64);
	graph = npuplan_graph_new("g");
	column(graph, "resize_bilinear", 2, 0, 4);
	EXPECT(graph, INT8_BILINEAR, ((struct values){ { weights } }), 32, 48, 64, 64);
	graph = npuplan_graph_new("g");
	column(graph, "mean", 6, 0, 1);
	EXPECT(graph, 0, ((struct values){ { ramp } }), 4);
	graph = npuplan_graph_new("g");
	column(graph, "cat", 3, 3, 6)->attrs.axis = 1;
	EXPECT(graph, 0, both, 1, 2, 3, 32, 64, 96);
	/* exp(1/16) and the like, in 256ths. */
	graph = npuplan_graph_new("g");
	column(graph, "softmax", 2, 0, 2)->attrs.axis = 1;
	EXPECT(graph, 0, both, -4, 4);
	graph = npuplan_graph_new("g");
	column(graph, "add", 3, 3, 3);
	EXPECT(graph, 0, both, 33, 66, 99);
}

/* Where elements lie, in the three layouts: 1 x 2 x 2 x 34 in N,H,W,C. */
TEST(layouts)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("g");
	uint32_t tensor = build_spatial(graph, "t", NPUMEM_TENSOR_INPUT, 1, 2, 2, 34);
	const int64_t at[] = { 0, 1, 0, 33 };

	assert_int_equal(int8_byte(graph, tensor, at), 2 * 34 + 33);
	graph->layout = NPUPLAN_NCHW;
	assert_int_equal(int8_byte(graph, tensor, at), 33 * 4 + 2);
	graph->layout = NPUPLAN_NC32HW32;
	assert_int_equal(int8_byte(graph, tensor, at), 4 * 32 + 2 * 32 + 1);
}

/* ------------------------------------------------------------------------- the network */

enum {
	IN, /* 13 x 4 x 6, of rows, pixels, channels */
	STEM,
	DEPTH,
	POINT,
	SUM, /* residual */
	POOL,
	LEFT,
	RIGHT,
	BOTH, /* of POOL's two branches */
	UP,
	FINE,
	PROBABLE,
	MEAN,
};

static uint32_t weights(struct npuplan_graph *graph, int64_t out, int64_t kernel, int64_t in)
{
	return build_spatial(graph, "weights", NPUMEM_TENSOR_PARAMETER, out, kernel, kernel, in);
}

static void window(struct npuplan_op *op, int32_t kernel, int32_t stride, int32_t dilation,
		   int32_t pad)
{
	build_window(op, kernel, stride, dilation, pad);
	op->attrs.groups = 1;
}

/* N,H,W,C. Stem, inverted residual, pool, two branches, transposed, resized, softmax, mean. */
static struct npuplan_graph *network(void)
{
	static const int64_t shapes[][3] = {
		[IN] = { 13, 4, 6 },	[STEM] = { 13, 4, 34 }, [DEPTH] = { 13, 4, 34 },
		[POINT] = { 13, 4, 6 }, [SUM] = { 13, 4, 6 },	[POOL] = { 7, 2, 6 },
		[LEFT] = { 7, 2, 3 },	[RIGHT] = { 7, 2, 5 },	[BOTH] = { 7, 2, 8 },
		[UP] = { 15, 5, 4 },	[FINE] = { 23, 7, 4 },	[PROBABLE] = { 23, 7, 4 },
		[MEAN] = { 1, 1, 8 },
	};
	static const char *const names[] = {
		[IN] = "in",	 [STEM] = "stem", [DEPTH] = "depth", [POINT] = "point",
		[SUM] = "sum",	 [POOL] = "pool", [LEFT] = "left",   [RIGHT] = "right",
		[BOTH] = "both", [UP] = "up",	  [FINE] = "fine",   [PROBABLE] = "probable",
		[MEAN] = "mean",
	};
	struct npuplan_graph *graph = npuplan_graph_new("network");
	struct npuplan_op *op;

	for (uint32_t t = IN; t <= MEAN; t++)
		build_spatial(graph, names[t],
			      t == IN			 ? NPUMEM_TENSOR_INPUT :
			      t == PROBABLE || t == MEAN ? NPUMEM_TENSOR_OUTPUT :
							   NPUMEM_TENSOR_INTERMEDIATE,
			      1, shapes[t][0], shapes[t][1], shapes[t][2]);
	window(build_op(graph, "conv2d", IN, weights(graph, 34, 3, 6), NPUMEM_NONE, STEM), 3, 1, 1,
	       1);
	op = build_op(graph, "depthwise_conv2d", STEM, weights(graph, 1, 3, 34), NPUMEM_NONE,
		      DEPTH);
	window(op, 3, 1, 2, 2);
	op->attrs.groups = 34;
	window(build_op(graph, "conv2d", DEPTH, weights(graph, 6, 1, 34), NPUMEM_NONE, POINT), 1, 1,
	       1, 0);
	build_op(graph, "add", POINT, IN, NPUMEM_NONE, SUM)->attrs.inplace = true;
	window(build_op(graph, "maxpool", SUM, NPUMEM_NONE, NPUMEM_NONE, POOL), 3, 2, 1, 1);
	window(build_op(graph, "conv2d", POOL, weights(graph, 3, 1, 6), NPUMEM_NONE, LEFT), 1, 1, 1,
	       0);
	window(build_op(graph, "conv2d", POOL, weights(graph, 5, 3, 6), NPUMEM_NONE, RIGHT), 3, 1,
	       1, 1);
	build_op(graph, "cat", LEFT, RIGHT, NPUMEM_NONE, BOTH)->attrs.axis = 3;
	op = build_op(graph, "conv_transpose2d", BOTH, weights(graph, 4, 5, 8), NPUMEM_NONE, UP);
	window(op, 5, 2, 1, 1);
	op->attrs.transposed = true;
	build_op(graph, "resize_bilinear", UP, NPUMEM_NONE, NPUMEM_NONE, FINE);
	build_op(graph, "softmax", FINE, NPUMEM_NONE, NPUMEM_NONE, PROBABLE)->attrs.axis = 3;
	build_op(graph, "mean", BOTH, NPUMEM_NONE, NPUMEM_NONE, MEAN)->attrs.axis = 1;
	return graph;
}

static struct npuplan_graph *tiled_by(const struct npuplan_tiling *tiling)
{
	struct npuplan_graph *graph = network();
	struct npuplan_error error;

	if (npuplan_graph_tile(graph, tiling, &error))
		fail_msg("%s", error.text);
	return graph;
}

static struct npuplan_graph *tiled(enum npuplan_layout layout, uint32_t bands, bool parameters)
{
	struct npuplan_tiling tiling = {
		.layout = layout,
		.bands = bands,
		.with_parameters = parameters,
	};

	return tiled_by(&tiling);
}

/* Check the plans of all planners, and return how many there were. */
static unsigned int check_planners(struct npuplan_graph *graph, const char *what)
{
	struct int8_net net;
	unsigned int plans = 0;
	const char *name;

	if (!int8_net_init(&net, graph, INT8_BILINEAR_HALF_PIXEL, SEED) ||
	    !int8_check_tiles(&net, NULL, NULL))
		fail_msg("%s: %s", what, net.text);
	for (unsigned int i = 0; (name = npuplan_planner_name(i)); i++) {
		struct npuplan_options options = {
			.planner = name,
			/* The paper's engine has nothing before its first order is done. */
			.work_limit = strcmp(name, "taa-paper") != 0 ? 20000 : 0,
		};
		struct npuplan_error error = { .text = "" };
		AUTO_PLAN struct npuplan_plan *plan = NULL;

		/* COSMA loads parameters, which are in the arena here, so it refuses them. */
		if (graph->tiling.with_parameters && !strncmp(name, "cosma", 5))
			continue;
		int err = npuplan_plan(graph, &options, &plan, &error);

		/*
		 * COSMA and tile scheduling refuse some tilings; planners that only place tiles
		 * take all.
		 */
		if (err == -EOPNOTSUPP &&
		    (!strncmp(name, "cosma", 5) || !strncmp(name, "tile-scheduled", 14))) {
			print_message("# %s, %s: %s\n", what, name, error.text);
			continue;
		}
		if (err)
			fail_msg("%s, %s: %s", what, name, error.text);
		plans++;
		if (!int8_run_plan(&net, plan))
			fail_msg("%s, %s: %s", what, name, net.text);
	}
	int8_net_fini(&net);
	npuplan_graph_free(graph);
	return plans;
}

/* Row bands of one number, in all layouts. */
TEST(bands)
{
	static const uint32_t bands[] = { 1, 2, 64 };
	unsigned int plans = 0;

	for (uint32_t layout = NPUPLAN_NHWC; layout <= NPUPLAN_NC32HW32; layout++)
		for (uint32_t b = 0; b < sizeof(bands) / sizeof(bands[0]); b++)
			plans += check_planners(tiled(layout, bands[b], b & 1), "bands");
	print_message("# %u plans, seed %u\n", plans, SEED);
}

/* Rows x channels, both orders; channels alone; as the tiler chooses. */
TEST(tiles)
{
	unsigned int plans = 0;

	for (uint32_t layout = NPUPLAN_NHWC; layout <= NPUPLAN_NC32HW32; layout++) {
		uint32_t granule = layout == NPUPLAN_NC32HW32 ? 32 : 1;
		struct npuplan_tile_choice choices[] = {
			{ .op = 0, .rows = 4, .channels = granule == 1 ? 7 : 32 },
			{ .op = 1, .channels = granule == 1 ? 9 : 32 },
			{ .op = 4, .rows = 2, .channels = granule == 1 ? 4 : 0, .order = 1 },
			{ .op = 7, .channels = granule == 1 ? 2 : 0 },
			{ .op = 11, .channels = 3 },
		};
		struct npuplan_tiling tiling = {
			.layout = layout,
			.ops = choices,
			.op_count = sizeof(choices) / sizeof(choices[0]),
			.with_parameters = layout != NPUPLAN_NCHW,
		};
		struct npuplan_tiling onchip = { .layout = layout, .onchip = 4096 };

		plans += check_planners(tiled_by(&tiling), "tiles");
		onchip.double_buffer = layout == NPUPLAN_NCHW;
		plans += check_planners(tiled_by(&onchip), "on-chip");
	}
	print_message("# %u plans, seed %u\n", plans, SEED);
}

/* Some input channels at a time: of a stem, of a point-wise, of a transposed convolution. */
static struct npuplan_graph *summed(enum npuplan_layout layout, bool parameters)
{
	bool blocks = layout == NPUPLAN_NC32HW32;
	struct npuplan_tile_choice choices[] = {
		{ .op = 0, .rows = 5, .channels = 32, .depth = blocks ? 0 : 2 },
		{ .op = 2, .rows = 7, .columns = 3, .depth = 32 },
		{ .op = 8, .depth = blocks ? 0 : 3, .order = 1 },
	};
	struct npuplan_tiling tiling = {
		.layout = layout,
		.ops = choices,
		.op_count = sizeof(choices) / sizeof(choices[0]),
		.with_parameters = parameters,
	};

	return tiled_by(&tiling);
}

TEST(partial_sums)
{
	unsigned int plans = 0;

	for (uint32_t layout = NPUPLAN_NHWC; layout <= NPUPLAN_NC32HW32; layout++) {
		struct npuplan_tiling onchip = {
			.layout = layout,
			.onchip = layout == NPUPLAN_NC32HW32 ? 4096 : 600,
			.partial_sums = true,
			.double_buffer = layout == NPUPLAN_NCHW,
		};
		struct npuplan_graph *graph = summed(layout, layout != NPUPLAN_NCHW);

		assert_true(graph->added_count >= 4);
		plans += check_planners(graph, "partial sums");
		graph = tiled_by(&onchip);
		assert_true(graph->added_count > 0 || layout == NPUPLAN_NC32HW32);
		plans += check_planners(graph, "chosen partial sums");
	}
	print_message("# %u plans, seed %u\n", plans, SEED);
}

/* N,D,H,W,C: kernel, in, out, or, transposed, kernel, out, in; kernels as deep as channels. */
TEST(weights_3d)
{
	for (int transposed = 0; transposed < 2; transposed++) {
		AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("g");
		struct npuplan_tile_choice choice = { .channels = 1 };
		struct npuplan_tiling tiling = {
			.ops = &choice,
			.op_count = 1,
			.with_parameters = true,
		};
		uint32_t tensors[3] = {
			build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, transposed ? 2 : 4 * 2),
			build_tensor(graph, "w", NPUMEM_TENSOR_PARAMETER, 3 * 2 * 3),
			build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, transposed ? 9 : 6),
		};
		const int64_t shapes[3][5] = {
			{ 1, transposed ? 1 : 4, 1, 1, 2 },
			{ 3, 1, 1, transposed ? 3 : 2, transposed ? 2 : 3 },
			{ 1, transposed ? 3 : 2, 1, 1, 3 },
		};
		struct npuplan_op *op = build_op(graph, transposed ? "conv_transpose3d" : "conv3d",
						 tensors[0], tensors[1], NPUMEM_NONE, tensors[2]);
		struct npuplan_error error;
		struct int8_net net;

		for (int t = 0; t < 3; t++) {
			graph->tensors[t].dim_count = 5;
			graph->tensors[t].elem_size = 1;
			memcpy(graph->tensors[t].shape, shapes[t], sizeof(shapes[t]));
		}
		rows_window(op, 3, 1, 1, 0);
		op->attrs.spatial = 3;
		op->attrs.kernel[2] = op->attrs.stride[2] = op->attrs.dilation[2] = 1;
		op->attrs.groups = 1;
		op->attrs.transposed = transposed;
		if (npuplan_graph_tile(graph, &tiling, &error))
			fail_msg("%s", error.text);
		assert_int_equal(graph->step_count, 3);
		if (!int8_net_init(&net, graph, 0, SEED) || !int8_check_tiles(&net, NULL, NULL))
			fail_msg("%s", net.text);
		int8_net_fini(&net);
	}
}

/* In N,C,H,W, linear and sums go by the last dimension, which is not channels. */
TEST(weights_of_pixels)
{
	for (int sum = 0; sum < 2; sum++) {
		AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("g");
		struct npuplan_tile_choice choice = { .channels = 1 };
		struct npuplan_tiling tiling = {
			.ops = &choice,
			.op_count = 1,
			.with_parameters = true,
		};
		uint32_t in = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, 3, 2, 3);
		uint32_t w = build_tensor(graph, "w", NPUMEM_TENSOR_PARAMETER, sum ? 3 : 9);
		uint32_t out = build_spatial(graph, "out", NPUMEM_TENSOR_OUTPUT, 1, 3, 2, 3);
		struct npuplan_error error;
		struct int8_net net;

		graph->source_layout = NPUPLAN_NCHW;
		graph->tensors[w].elem_size = 1;
		graph->tensors[w].dim_count = sum ? 1 : 2;
		graph->tensors[w].shape[0] = graph->tensors[w].shape[1] = 3;
		build_op(graph, sum ? "add" : "linear", in, w, NPUMEM_NONE, out);
		if (npuplan_graph_tile(graph, &tiling, &error))
			fail_msg("%s", error.text);
		assert_int_equal(graph->step_count, 3);
		if (!int8_net_init(&net, graph, 0, SEED) || !int8_check_tiles(&net, NULL, NULL))
			fail_msg("%s", net.text);
		int8_net_fini(&net);
	}
}

/* ---------------------------------------------------------------------- what is wrong */

/* The access of a tensor by a step. */
static struct npumem_access *access_of(struct npuplan_graph *graph, uint32_t step, uint32_t tensor)
{
	const struct npuplan_step *s = &graph->steps[step];

	for (uint32_t a = s->first_access; a < s->first_access + s->access_count; a++)
		if (graph->tiles[graph->accesses[a].tile].tensor == tensor)
			return &graph->accesses[a];
	fail_msg("step %u does not access tensor %u", step, tensor);
	return NULL;
}

/* The region of a tensor that a step accesses. */
static struct npumem_region *region_of(struct npuplan_graph *graph, uint32_t step, uint32_t tensor)
{
	return &graph->tiles[access_of(graph, step, tensor)->tile].region;
}

#define REFUSE(graph, check, words)                                                      \
	do {                                                                             \
		struct int8_net net;                                                     \
                                                                                         \
		assert_true(int8_net_init(&net, graph, INT8_BILINEAR_HALF_PIXEL, SEED)); \
		assert_false(check);                                                     \
		assert_string_equal(net.text, words);                                    \
		int8_net_fini(&net);                                                     \
		npuplan_graph_free(graph);                                               \
	} while (0)

/* Two bands of 6 and 7 rows. The stem's window reaches one row beyond, depth's two. */
TEST(short_halos)
{
	struct npuplan_graph *graph = tiled(NPUPLAN_NHWC, 2, false);
	struct npumem_region *region = region_of(graph, 0, IN);

	assert_int_equal(region->length, 7 * 4 * 6);
	region->length -= 4 * 6;
	REFUSE(graph, int8_check_tiles(&net, NULL, NULL),
	       "operator conv2d, step 0 conv2d[0/2], tile 1: needs byte 144 (element 144) of "
	       "tensor in, which the step does not read");

	graph = tiled(NPUPLAN_NHWC, 2, false);
	region = region_of(graph, 3, STEM);
	assert_int_equal(region->offset, 4 * 4 * 34);
	region->offset += 4 * 34;
	region->length -= 4 * 34;
	REFUSE(graph, int8_check_tiles(&net, NULL, NULL),
	       "operator depthwise_conv2d, step 3 depthwise_conv2d[1/2], tile 7: needs byte 544 "
	       "(element 544) of tensor stem, which the step does not read");

	/* One pixel of one row. */
	graph = tiled(NPUPLAN_NCHW, 2, false);
	region = region_of(graph, 0, IN);
	region->length--;
	REFUSE(graph, int8_check_tiles(&net, NULL, NULL),
	       "operator conv2d, step 0 conv2d[0/2], tile 1: needs byte 27 (element 162) of "
	       "tensor in, which the step does not read");

	/* Weights, where they are planned. */
	graph = tiled(NPUPLAN_NHWC, 2, true);
	region_of(graph, 0, MEAN + 1)->length--;
	REFUSE(graph, int8_check_tiles(&net, NULL, NULL),
	       "operator conv2d, step 0 conv2d[0/2], tile 2: needs byte 1835 (element 1835) of "
	       "tensor weights, which the step does not read");
}

TEST(wrong_writes)
{
	struct npuplan_graph *graph = tiled(NPUPLAN_NHWC, 2, false);

	region_of(graph, 1, STEM)->length--;
	REFUSE(graph, int8_check_tiles(&net, NULL, NULL),
	       "operator conv2d: byte 1767 of tensor stem is never written");

	/* The region moves up by a row, which the step has the input for, too. */
	graph = tiled(NPUPLAN_NHWC, 2, false);
	region_of(graph, 1, STEM)->offset -= 4 * 34;
	region_of(graph, 1, IN)->offset -= 4 * 6;
	REFUSE(graph, int8_check_tiles(&net, NULL, NULL),
	       "operator conv2d, step 1 conv2d[1/2], tile 3: byte 680 of tensor "
	       "stem is written again");
}

/* The stem's first tile has three steps: what each reads, adds to and begins. */
TEST(wrong_sums)
{
	struct npuplan_graph *graph = summed(NPUPLAN_NHWC, false);
	uint32_t sums = graph->tensor_count - graph->added_count;

	/* A pixel less. */
	region_of(graph, 0, IN)->count[0]--;
	REFUSE(graph, int8_check_tiles(&net, NULL, NULL),
	       "operator conv2d, step 0 conv2d[0/18], tile 1: needs byte 138 "
	       "(element 138) of tensor in, which the step does not read");

	/* The second step begins anew, so that what the first one added up is lost. */
	graph = summed(NPUPLAN_NHWC, false);
	access_of(graph, 1, sums)->mode = NPUMEM_ACCESS_WRITE;
	REFUSE(graph, int8_check_tiles(&net, NULL, NULL),
	       "operator conv2d, step 2 conv2d[2/18], tile 4: byte 1 (element 1) "
	       "of tensor stem is -80, must be -128");

	/* The last step finds no sums. */
	graph = summed(NPUPLAN_NHWC, false);
	access_of(graph, 2, sums)->tile = access_of(graph, 2, IN)->tile;
	REFUSE(graph, int8_check_tiles(&net, NULL, NULL),
	       "operator conv2d, step 2 conv2d[2/18]: there is no sum of an element");

	/* It writes them. */
	graph = summed(NPUPLAN_NHWC, false);
	access_of(graph, 2, sums)->mode = NPUMEM_ACCESS_UPDATE;
	REFUSE(graph, int8_check_tiles(&net, NULL, NULL),
	       "operator conv2d, step 2: writes tensor stem.sums[0]");

	/* The first one writes the output, too. */
	graph = summed(NPUPLAN_NHWC, false);
	access_of(graph, 0, sums)->tile = access_of(graph, 2, STEM)->tile;
	REFUSE(graph, int8_check_tiles(&net, NULL, NULL),
	       "operator conv2d, step 0 conv2d[0/18]: writes elements whose sums are not there");
}

static struct npuplan_plan *plan_of(const struct npuplan_graph *graph)
{
	struct npuplan_options options = { .planner = "greedy" };

	return build_plan_of(graph, &options);
}

static struct npumem_placement *placement_of(struct npuplan_plan *plan, uint32_t tensor)
{
	for (uint32_t i = 0; i < plan->placement_count; i++)
		if (plan->placements[i].tensor == tensor)
			return &plan->placements[i];
	fail_msg("tensor %u has no placement", tensor);
	return NULL;
}

/* The judges find what is wrong in plans that the verifier would refuse. */
TEST(wrong_plans)
{
	struct npuplan_graph *graph = tiled(NPUPLAN_NHWC, 1, false);
	struct npuplan_plan *plan = plan_of(graph);
	struct npumem_placement *at;

	/* The residual's second operand is overwritten. */
	placement_of(plan, STEM)->offset = placement_of(plan, IN)->offset;
	placement_of(plan, DEPTH)->offset = plan->info.arena_size;
	placement_of(plan, POINT)->offset = plan->info.arena_size + 13 * 4 * 34;
	plan->info.arena_size += 13 * 4 * 40;
	{
		struct int8_net net;

		assert_true(int8_net_init(&net, graph, INT8_BILINEAR_HALF_PIXEL, SEED));
		assert_false(int8_run_plan(&net, plan));
		ASSERT_TEXT(net, "operator conv2d, step 0 conv2d, tile 1: byte");
		int8_net_fini(&net);
	}
	npuplan_plan_free(plan);

	plan = plan_of(graph);
	placement_of(plan, SUM)->to--;
	REFUSE(graph, int8_run_plan(&net, plan), "position 4: byte 0 of tensor sum has no place");
	npuplan_plan_free(plan);

	graph = tiled(NPUPLAN_NHWC, 1, false);
	plan = plan_of(graph);
	at = placement_of(plan, SUM);
	at->region.length--;
	REFUSE(graph, int8_run_plan(&net, plan), "position 3: byte 311 of tensor sum has no place");
	npuplan_plan_free(plan);
}

/* The sum in a ring of as many rows as two steps need; one row less, and it is found. */
TEST(ring)
{
	for (uint32_t rows = 13; rows >= 12; rows--) {
		AUTO_GRAPH struct npuplan_graph *graph = tiled(NPUPLAN_NHWC, 64, false);
		AUTO_PLAN struct npuplan_plan *plan = plan_of(graph);
		struct npumem_placement *at = placement_of(plan, SUM);
		struct int8_net net;

		at->region = (struct npumem_region){ 0, 4 * 6, { 1, 1, 13 }, 0, { 0, 0, 4 * 6 } };
		at->stride[2] = 4 * 6;
		at->ring = rows;
		at->offset = plan->info.arena_size;
		plan->info.arena_size += 13 * 4 * 6;
		assert_true(int8_net_init(&net, graph, INT8_BILINEAR_HALF_PIXEL, SEED));
		assert_int_equal(int8_run_plan(&net, plan), rows == 13);
		if (rows == 12)
			ASSERT_TEXT(net, "operator maxpool, step 52 maxpool[0/7], tile ");
		int8_net_fini(&net);
	}
}
