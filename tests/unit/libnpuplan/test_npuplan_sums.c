// SPDX-License-Identifier: MIT
/* Partial sums: steps that add up some input channels alone; told, chosen, and refused. */
#include "tiler_build.h"

#include <errno.h>

#include "random.h"
#include "tile_cost.h"

#define SEED 20261121u

/* How a step accesses a tensor; NPUMEM_NONE: it does not. */
static uint32_t mode_of(const struct npuplan_graph *graph, uint32_t step, uint32_t tensor)
{
	const struct npuplan_step *s = &graph->steps[step];

	for (uint32_t i = s->first_access; i < s->first_access + s->access_count; i++)
		if (graph->tiles[graph->accesses[i].tile].tensor == tensor)
			return graph->accesses[i].mode;
	return NPUMEM_NONE;
}

/* A step accesses one region of a tensor: offset, length, then up to two counts with strides. */
static void assert_access(const struct npuplan_graph *graph, uint32_t step, uint32_t tensor,
			  uint32_t mode, struct npumem_region want)
{
	struct npumem_region region = step_region(graph, step, tensor);

	for (int d = 0; d < 3; d++)
		want.count[d] = want.count[d] ? want.count[d] : 1;
	assert_int_equal(mode_of(graph, step, tensor), mode);
	assert_memory_equal(&region, &want, sizeof(region));
}

#define ACCESS(GRAPH, STEP, TENSOR, MODE, ...)                   \
	assert_access(GRAPH, STEP, TENSOR, NPUMEM_ACCESS_##MODE, \
		      (struct npumem_region){ __VA_ARGS__ })

static void tile_one(struct npuplan_graph *graph, enum npuplan_layout layout,
		     struct npuplan_tile_choice choice, bool parameters)
{
	struct npuplan_tiling tiling = {
		.layout = layout,
		.ops = &choice,
		.op_count = 1,
		.with_parameters = parameters,
	};
	struct npuplan_error error;

	if (npuplan_graph_tile(graph, &tiling, &error))
		fail_msg("tiling failed: %s", error.text);
}

/*
 * 64 channels by 24 at a time are three steps a tile: the first writes the sums, the second updates
 * them, the last reads them and writes the output. Weights are [out, in, 3, 3].
 */
TEST(steps_of_a_tile)
{
	uint32_t in, weights, out, sums;
	AUTO_GRAPH struct npuplan_graph *graph = conv(&in, &weights, &out);
	struct npuplan_tile_choice choice = { .rows = 4, .channels = 32, .depth = 24 };
	struct npuplan_tile_report *reports;

	sums = graph->tensor_count;
	tile_one(graph, NPUPLAN_NHWC, choice, true);
	assert_int_equal(graph->step_count, 4 * 3);
	assert_string_equal(graph->steps[11].name, "conv2d[11/12]");
	assert_int_equal(graph->steps[11].tile_index, 11);
	assert_int_equal(graph->steps[11].flags, NPUMEM_STEP_STAGED);
	assert_int_equal(graph->tensor_count, sums + 4);
	assert_int_equal(graph->added_count, 4);
	assert_int_equal(graph->tensors[sums].size, 4 * 3 * 32 * 4);
	/* Rows 0..4 of channels 0..23, of rows of 3 x 64 bytes. */
	ACCESS(graph, 0, in, READ, 0, 24, { 15 }, 0, { 64 });
	ACCESS(graph, 0, weights, READ, 0, 24 * 9, { 32 }, 0, { 64 * 9 });
	ACCESS(graph, 0, sums, WRITE, 0, 4 * 3 * 32 * 4);
	assert_int_equal(mode_of(graph, 0, out), NPUMEM_NONE);
	ACCESS(graph, 1, in, READ, 24, 24, { 15 }, 0, { 64 });
	ACCESS(graph, 1, sums, UPDATE, 0, 4 * 3 * 32 * 4);
	assert_int_equal(mode_of(graph, 1, out), NPUMEM_NONE);
	/* What is left. */
	ACCESS(graph, 2, in, READ, 48, 16, { 15 }, 0, { 64 });
	ACCESS(graph, 2, weights, READ, 48 * 9, 16 * 9, { 32 }, 0, { 64 * 9 });
	ACCESS(graph, 2, sums, READ, 0, 4 * 3 * 32 * 4);
	ACCESS(graph, 2, out, WRITE, 0, 32, { 12 }, 0, { 64 });
	/* Rows 4..7 of channels 32..63 are the last tile, whose sums are a tensor of their own. */
	ACCESS(graph, 11, sums + 3, READ, 0, 4 * 3 * 32 * 4);
	ACCESS(graph, 11, weights, READ, (32 * 64 + 48) * 9, 16 * 9, { 32 }, 0, { 64 * 9 });
	ACCESS(graph, 11, out, WRITE, 4 * 3 * 64 + 32, 32, { 12 }, 0, { 64 });
	assert_int_equal(graph->added[3].of, out);
	assert_int_equal(graph->added[3].kind, NPUPLAN_ADDED_SUMS);
	assert_int_equal(graph->added[3].first_row, 4);
	assert_int_equal(graph->added[3].first_channel, 32);
	assert_int_equal(npuplan_tiling_report(graph, &reports, NULL), 0);
	assert_int_equal(reports[0].depth, 24);
	assert_int_equal(reports[0].steps, 12);
	assert_int_equal(reports[0].inputs, 2 * 2 * 5 * 3 * 64);
	assert_int_equal(reports[0].weights, 2 * 64 * 64 * 9);
	assert_int_equal(reports[0].outputs, 8 * 3 * 64);
	/* 24 channels of five rows, their weights, and sums, which move nothing. */
	assert_int_equal(reports[0].onchip, 5 * 3 * 24 + 32 * 24 * 9 + 4 * 3 * 32 * 4);
	free(reports);
	npuplan_graph_untile(graph);
	assert_int_equal(graph->tensor_count, sums);
	assert_int_equal(graph->added_count, 0);
}

/* All of the depth, or none that is said: one step a tile, and no sums. */
TEST(whole_depth)
{
	for (uint32_t depth = 0; depth <= 64; depth += 64) {
		uint32_t in, weights, out;
		AUTO_GRAPH struct npuplan_graph *graph = conv(&in, &weights, &out);

		tile_one(graph, NPUPLAN_NC32HW32,
			 (struct npuplan_tile_choice){ .channels = 32, .depth = depth }, true);
		assert_int_equal(graph->step_count, 2);
		assert_int_equal(graph->added_count, 0);
	}
}

/* Columns, too: sums are of the columns that the tile has. */
TEST(columns)
{
	uint32_t in, weights, out, sums;
	AUTO_GRAPH struct npuplan_graph *graph = conv(&in, &weights, &out);
	struct npuplan_tile_choice choice = { .columns = 2, .depth = 32, .order = 1 };

	sums = graph->tensor_count;
	tile_one(graph, NPUPLAN_NC32HW32, choice, false);
	assert_int_equal(graph->step_count, 2 * 2);
	/* Columns 1 and 2 of all rows of the second block. */
	ACCESS(graph, 3, in, READ, 8 * 3 * 32 + 32, 2 * 32, { 8 }, 0, { 3 * 32 });
	assert_int_equal(graph->added[1].first_column, 2);
	ACCESS(graph, 3, sums + 1, READ, 0, 8 * 64 * 4);
	assert_int_equal(mode_of(graph, 3, weights), NPUMEM_NONE);
}

/* Weights [out, kernel, in] of N,H,W,C: the input's channels are the last dimension. */
TEST(weights_of_nhwc)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("g");
	uint32_t in = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, 4, 4, 6);
	uint32_t weights = build_spatial(graph, "w", NPUMEM_TENSOR_PARAMETER, 8, 3, 3, 6);
	uint32_t out = build_spatial(graph, "out", NPUMEM_TENSOR_OUTPUT, 1, 4, 4, 8);

	build_window(build_op(graph, "conv2d", in, weights, NPUMEM_NONE, out), 3, 1, 1, 1);
	graph->ops[0].attrs.groups = 1;
	tile_one(graph, NPUPLAN_NHWC, (struct npuplan_tile_choice){ .channels = 4, .depth = 2 },
		 true);
	assert_int_equal(graph->step_count, 6);
	/* All elements of the kernel, and of four outputs, lie at one distance. */
	ACCESS(graph, 4, weights, READ, 4 * 54 + 2, 2, { 36 }, 0, { 6 });
}

/* Weights [in, out, kernel] of a transposed convolution: two dimensions, and three of a region. */
TEST(weights_of_transposed)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t in = image(graph, "in", NPUMEM_TENSOR_INPUT, 6, 4, 4);
	uint32_t weights = build_spatial(graph, "w", NPUMEM_TENSOR_PARAMETER, 6, 8, 2, 2);
	uint32_t out = image(graph, "out", NPUMEM_TENSOR_OUTPUT, 8, 8, 8);
	struct npuplan_op *op = build_op(graph, "conv_transpose2d", in, weights, NPUMEM_NONE, out);

	build_window(op, 2, 2, 1, 0);
	op->attrs.groups = 1;
	op->attrs.transposed = true;
	tile_one(graph, NPUPLAN_NCHW, (struct npuplan_tile_choice){ .channels = 3, .depth = 4 },
		 true);
	assert_int_equal(graph->step_count, 3 * 2);
	ACCESS(graph, 2, weights, READ, 3 * 4, 3 * 4, { 4 }, 0, { 8 * 4 });
	ACCESS(graph, 3, weights, READ, 4 * 32 + 3 * 4, 3 * 4, { 2 }, 0, { 8 * 4 });
}

/* Bias and residual are added when the sums are complete, and read with the last step alone. */
TEST(added_last)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t in = image(graph, "in", NPUMEM_TENSOR_INPUT, 6, 4, 4);
	uint32_t weights = build_spatial(graph, "w", NPUMEM_TENSOR_PARAMETER, 8, 6, 1, 1);
	uint32_t bias = MATRIX(graph, "bias", PARAMETER, 8);
	uint32_t residual = image(graph, "residual", NPUMEM_TENSOR_INPUT, 8, 4, 4);
	uint32_t out = image(graph, "out", NPUMEM_TENSOR_OUTPUT, 8, 4, 4);
	uint32_t inputs[] = { in, weights, bias, residual };
	struct npuplan_op op = {
		.name = (char *)(uintptr_t)"conv2d",
		.type = (char *)(uintptr_t)"conv2d",
		.inputs = inputs,
		.outputs = &out,
		.input_count = 4,
		.output_count = 1,
		.attrs = { .axis = -1, .groups = 1 },
	};
	struct npuplan_tile_report *reports;

	assert_true(npuplan_graph_add_op(graph, &op) >= 0);
	build_window(&graph->ops[0], 1, 1, 1, 0);
	tile_one(graph, NPUPLAN_NCHW, (struct npuplan_tile_choice){ .rows = 2, .depth = 3 }, true);
	assert_int_equal(graph->step_count, 4);
	assert_int_equal(mode_of(graph, 2, bias), NPUMEM_NONE);
	assert_int_equal(mode_of(graph, 2, residual), NPUMEM_NONE);
	ACCESS(graph, 3, bias, READ, 0, 8);
	/* Which rows of it are needed is not known. */
	ACCESS(graph, 3, residual, READ, 0, 8 * 16);
	assert_int_equal(npuplan_tiling_report(graph, &reports, NULL), 0);
	assert_int_equal(reports[0].onchip,
			 2 * 4 * 3 + 8 * 3 + 2 * 4 * 8 * 4 + 8 + 8 * 16 + 2 * 4 * 8);
	free(reports);
}

/* Weights that nothing is known of are read whole, in each step; and so are computed ones. */
TEST(factors_not_understood)
{
	for (uint32_t kind = NPUMEM_TENSOR_INPUT; kind <= NPUMEM_TENSOR_PARAMETER;
	     kind += NPUMEM_TENSOR_PARAMETER - NPUMEM_TENSOR_INPUT) {
		AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
		uint32_t in = image(graph, "in", NPUMEM_TENSOR_INPUT, 6, 4, 4);
		uint32_t weights = matrix(graph, "w", kind, 1, (const int64_t[]){ 48 });
		uint32_t out = image(graph, "out", NPUMEM_TENSOR_OUTPUT, 8, 4, 4);

		build_window(build_op(graph, "conv2d", in, weights, NPUMEM_NONE, out), 1, 1, 1, 0);
		graph->ops[0].attrs.groups = 1;
		tile_one(graph, NPUPLAN_NCHW,
			 (struct npuplan_tile_choice){ .channels = 4, .depth = 3 }, true);
		assert_int_equal(graph->step_count, 4);
		for (uint32_t step = 0; step < 4; step++)
			ACCESS(graph, step, weights, READ, 0, 48);
	}
}

/* Rows of a matrix product; its sums are a matrix. Weights are [in, out]. */
TEST(linear)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t x = MATRIX(graph, "x", INPUT, 2, 3, 8);
	uint32_t weights = MATRIX(graph, "weights", PARAMETER, 8, 6);
	uint32_t y = MATRIX(graph, "y", OUTPUT, 2, 3, 6), sums;

	build_op(graph, "linear", x, weights, NPUMEM_NONE, y);
	sums = graph->tensor_count;
	tile_one(graph, NPUPLAN_NCHW,
		 (struct npuplan_tile_choice){ .rows = 2, .channels = 3, .depth = 5 }, true);
	assert_int_equal(graph->step_count, 6 * 2);
	/* Rows 2 and 3, channels 3 to 5: inputs 5 to 7. */
	ACCESS(graph, 7, x, READ, 2 * 8 + 5, 3, { 2 }, 0, { 8 });
	ACCESS(graph, 7, weights, READ, 5 * 6 + 3, 3, { 3 }, 0, { 6 });
	ACCESS(graph, 7, sums + 3, READ, 0, 2 * 3 * 4);
	assert_int_equal(graph->tensors[sums].dim_count, 2);
	ACCESS(graph, 7, y, WRITE, 2 * 6 + 3, 3, { 2 }, 0, { 6 });
}

/* ------------------------------------------------------------------- refusals */

#define NO_DEPTH(name)                                                                       \
	"operator " name ": it does not add up channels of its input, so that no depth can " \
	"be cut"

TEST(refused_depth)
{
	struct npuplan_tile_choice choice = { .depth = 65 };
	struct npuplan_tiling one = { .ops = &choice, .op_count = 1 };
	uint32_t in, weights, out;
	struct npuplan_graph *graph = conv(&in, &weights, &out);

	refused(graph, &one, -EINVAL,
		"operator conv2d: tiles of depth 65, its inputs have 64 channels");
	choice.depth = 33;
	one.layout = NPUPLAN_NC32HW32;
	refused(graph, &one, -EINVAL,
		"operator conv2d: tiles of depth 33, in nc32hw they are multiples of 32");
	one.layout = NPUPLAN_NHWC;
	/* Of two groups, of none that is known, of another operator's type. */
	graph->ops[0].attrs.groups = 2;
	refused(graph, &one, -EINVAL, NO_DEPTH("conv2d"));
	graph->ops[0].attrs.groups = 0;
	refused(graph, &one, -EINVAL, NO_DEPTH("conv2d"));
	graph->ops[0].attrs.groups = 1;
	strcpy(graph->ops[0].type, "matmul");
	refused(graph, &one, -EINVAL, NO_DEPTH("conv2d"));
	npuplan_graph_free(graph);

	graph = build_nchw();
	in = image(graph, "in", NPUMEM_TENSOR_INPUT, 4, 4, 4);
	build_window(build_op(graph, "maxpool", in, NPUMEM_NONE, NPUMEM_NONE,
			      image(graph, "out", NPUMEM_TENSOR_OUTPUT, 4, 4, 4)),
		     3, 1, 1, 1);
	graph->ops[0].attrs.groups = 1;
	choice.depth = 2;
	refused(graph, &one, -EINVAL, NO_DEPTH("maxpool"));
	npuplan_graph_free(graph);

	graph = build_nchw();
	in = image(graph, "in", NPUMEM_TENSOR_INPUT, 4, 4, 4);
	build_window(build_op(graph, "depthwise_conv2d", in, NPUMEM_NONE, NPUMEM_NONE,
			      image(graph, "out", NPUMEM_TENSOR_OUTPUT, 4, 4, 4)),
		     3, 1, 1, 1);
	graph->ops[0].attrs.groups = 1;
	refused(graph, &one, -EINVAL, NO_DEPTH("depthwise_conv2d"));
	npuplan_graph_free(graph);
}

/* A linear's input that is an image, has other rows than the output, or is constant. */
TEST(refused_linears)
{
	struct npuplan_tile_choice choice = { .depth = 2 };
	struct npuplan_tiling one = { .ops = &choice, .op_count = 1 };

	for (int which = 0; which < 3; which++) {
		AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
		uint32_t in = which == 0 ? image(graph, "in", NPUMEM_TENSOR_INPUT, 2, 3, 4) :
			      which == 1 ? MATRIX(graph, "in", INPUT, 6, 4) :
					   MATRIX(graph, "in", PARAMETER, 3, 8);
		uint32_t weights = MATRIX(graph, "w", PARAMETER, 8, 6);

		build_op(graph, "linear", in, weights, NPUMEM_NONE,
			 MATRIX(graph, "out", OUTPUT, 3, 6));
		refused(graph, &one, -EINVAL, NO_DEPTH("linear"));
	}
}

/* Sums of tiles have ids of their own: here there are too few for the four. */
TEST(refused_ids)
{
	uint32_t in, weights, out, tensors;
	AUTO_GRAPH struct npuplan_graph *graph = conv(&in, &weights, &out);
	struct npuplan_tile_choice choice = { .rows = 4, .channels = 32, .depth = 24 };
	const struct npuplan_tiling tiling = { .ops = &choice, .op_count = 1 };

	tensors = graph->tensor_count;
	for (int64_t left = 0; left < 4; left++) {
		graph->tensors[in].id = INT64_MAX - left;
		refused(graph, &tiling, -EOVERFLOW,
			"operator conv2d: there is no id left for its sums");
		assert_int_equal(graph->tensor_count, tensors);
		assert_int_equal(graph->added_count, 0);
	}
	graph->tensors[in].id = INT64_MAX - 4;
	tile_one(graph, NPUPLAN_NHWC, choice, false);
	assert_int_equal(graph->tensors[graph->tensor_count - 1].id, INT64_MAX);
}

TEST(does_not_fit)
{
	struct npuplan_tile_choice choice = { .rows = 4, .channels = 64, .depth = 1 };
	struct npuplan_tiling tiling = { .onchip = 3647, .ops = &choice, .op_count = 1 };
	uint32_t in, weights, out;
	struct npuplan_graph *graph = conv(&in, &weights, &out);

	/* The last step: 5 x 3 of input, 64 x 9 of weights, 4 x 3 x 64 of output, and its sums. */
	refused(graph, &tiling, -ENOSPC,
		"operator conv2d in tiles of 4 rows x 64 channels of depth 1: step 63 of 128 needs "
		"4431 bytes on chip, 3072 of them for sums of out; there are 3647");
	/* Chosen, the least is one element, one input channel, and its weights. */
	tiling = (struct npuplan_tiling){ .onchip = 22, .partial_sums = true };
	refused(graph, &tiling, -ENOSPC,
		"operator conv2d in tiles of 1 rows x 1 channels x 1 columns of depth 1: step 16447 "
		"of 98304 needs 23 bytes on chip, 9 of them for in; there are 22");
	tiling.onchip = 23;
	assert_int_equal(npuplan_graph_tile(graph, &tiling, NULL), 0);
	npuplan_graph_free(graph);
}

/* ---------------------------------------------------------------- what is chosen */

static struct npuplan_graph *random_op(uint64_t *random)
{
	struct npuplan_graph *graph = build_nchw();
	int64_t rows = random_range(random, 1, 8), width = random_range(random, 1, 6);
	int64_t channels = random_range(random, 2, 90), outputs = random_range(random, 1, 60);
	uint32_t in, weights, bias;
	struct npuplan_op *op;

	if (random_range(random, 0, 1)) {
		in = MATRIX(graph, "in", INPUT, rows * width, channels);
		weights = MATRIX(graph, "w", PARAMETER, channels, outputs);
		bias = MATRIX(graph, "b", PARAMETER, outputs);
		build_op(graph, "linear", in, weights, bias,
			 MATRIX(graph, "out", OUTPUT, rows * width, outputs));
		return graph;
	}
	in = image(graph, "in", NPUMEM_TENSOR_INPUT, channels, rows, width);
	weights = build_spatial(graph, "w", NPUMEM_TENSOR_PARAMETER, outputs, channels, 3, 3);
	op = build_op(graph, "conv2d", in, weights, NPUMEM_NONE,
		      image(graph, "out", NPUMEM_TENSOR_OUTPUT, outputs, rows, width));
	op->attrs.groups = 1;
	build_window(op, 3, 1, 1, 1);
	return graph;
}

/* The least cost of all numbers of parts along rows, channels and depth, as equal as can be. */
static uint64_t least_cost(const struct npuplan_graph *graph, const struct npuplan_tiling *tiling)
{
	int64_t granule, depth_granule, units, deep;
	struct npuplan_partition op;
	uint64_t best = UINT64_MAX;

	assert_true(npuplan_partition_init(&op, graph, 0, 0));
	granule = npuplan_granule(&op.output);
	units = (op.output.channels + granule - 1) / granule;
	deep = npuplan_depth(&op, &depth_granule);
	deep = (deep + depth_granule - 1) / depth_granule;
	for (int64_t rows = op.output.rows; rows; rows = smaller(op.output.rows, rows))
		for (int64_t blocks = units; blocks; blocks = smaller(units, blocks))
			for (int64_t depth = deep; depth; depth = smaller(deep, depth)) {
				struct npuplan_tile_choice choice = {
					.rows = (uint32_t)rows,
					.channels = (uint32_t)(blocks * granule),
					.depth = (uint32_t)(depth * depth_granule),
				};
				uint64_t cost = cost_of(graph, tiling, &choice);

				best = cost < best ? cost : best;
			}
	return best;
}

/*
 * Against all tilings of parts as equal as can be: one is found whenever one fits, it fits, it
 * costs no more but for bursts that the tiler rounds once, and never more than without partial
 * sums.
 */
TEST(chosen_against_all)
{
	uint32_t fitting = 0, deep = 0, only = 0;
	uint64_t random = SEED;

	print_message("# seed %u\n", SEED);
	for (int round = 0; round < 150; round++) {
		AUTO_GRAPH struct npuplan_graph *graph = random_op(&random);
		struct npuplan_tiling tiling = {
			.layout = random_range(&random, 0, 2),
			.onchip = random_range(&random, 100, 2500),
			.double_buffer = random_range(&random, 0, 1),
		};
		struct npuplan_error error = { "" };
		uint64_t best, without = UINT64_MAX, cost;
		int err;

		assert_int_equal(npuplan_graph_set_layout(graph, tiling.layout, &error), 0);
		best = least_cost(graph, &tiling);
		err = npuplan_graph_tile(graph, &tiling, &error);
		if (!err) {
			without = cost_of(graph, &tiling, &graph->tiling.ops[0]);
			assert_int_equal(graph->added_count, 0);
			assert_int_equal(graph->tiling.ops[0].depth, 0);
			npuplan_graph_untile(graph);
		}
		tiling.partial_sums = true;
		err = npuplan_graph_tile(graph, &tiling, &error);
		if (err && best == UINT64_MAX && without == UINT64_MAX)
			continue;
		if (err)
			fail_msg("round %d: %s", round, error.text);
		fitting++;
		deep += graph->tiling.ops[0].depth > 0;
		only += without == UINT64_MAX;
		cost = cost_of(graph, &tiling, &graph->tiling.ops[0]);
		if (cost > without || (best != UINT64_MAX && cost > best + best / 20))
			fail_msg("round %d: %llu, without %llu, there is %llu", round,
				 (unsigned long long)cost, (unsigned long long)without,
				 (unsigned long long)best);
	}
	print_message("# %u fit, %u cut in depth, %u only so\n", fitting, deep, only);
	assert_in_range(fitting, 75, 149);
	assert_in_range(deep, 25, 149);
	assert_in_range(only, 10, 149);
}

/* What was chosen, told again, gives the same steps. */
TEST(told_again)
{
	struct npuplan_tiling tiling = { .onchip = 2000, .partial_sums = true };
	uint32_t in, weights, out;
	AUTO_GRAPH struct npuplan_graph *graph = conv(&in, &weights, &out);
	AUTO_GRAPH struct npuplan_graph *again = conv(&in, &weights, &out);
	uint8_t digests[2][NPUPLAN_DIGEST_SIZE];

	assert_int_equal(npuplan_graph_tile(graph, &tiling, NULL), 0);
	assert_true(graph->tiling.ops[0].depth > 0);
	assert_true(graph->tiling.partial_sums);
	assert_int_equal(npuplan_graph_tile(again, &graph->tiling, NULL), 0);
	npuplan_graph_digest(graph, digests[0]);
	npuplan_graph_digest(again, digests[1]);
	assert_memory_equal(digests[0], digests[1], sizeof(digests[0]));
}
