// SPDX-License-Identifier: MIT
/* Tilings for on-chip memory: what does not fit, what is chosen, and that it is the best. */
#include "tiler_build.h"

#include <errno.h>

#include "random.h"
#include "tile_cost.h"

#define SEED 20261121u

/*
 * One row x one channel x one column, of which the middle one needs most: 3 rows x 64 x 3 bytes of
 * input, 64 x 9 of weights, 1 of output. Weights count though they are not planned.
 */
TEST(too_little_on_chip)
{
	const uint64_t least = 3 * 64 * 3 + 64 * 9 + 1;
	struct npuplan_tile_choice choice = { .rows = 4, .channels = 1 };
	struct npuplan_tiling tiling = { .onchip = least - 1 };
	uint32_t in, weights, out;
	struct npuplan_graph *graph = conv(&in, &weights, &out);
	struct npuplan_error error = { "" };

	refused(graph, &tiling, -ENOSPC,
		"operator conv2d in tiles of 1 rows x 1 channels x 1 columns: step 256 of 1536 needs "
		"1153 bytes on chip, 576 of them for in; there are 1152");
	tiling.ops = &choice;
	tiling.op_count = 1;
	tiling.onchip = 1500;
	refused(graph, &tiling, -ENOSPC,
		"operator conv2d in tiles of 4 rows x 1 channels: step 0 of 128 needs 1548 bytes on "
		"chip, 960 of them for in; there are 1500");
	/* In blocks of 32 channels: those of the weights alone are 32 x 64 x 9. */
	tiling = (struct npuplan_tiling){ .onchip = 19000, .layout = NPUPLAN_NC32HW32 };
	refused(graph, &tiling, -ENOSPC,
		"operator conv2d in tiles of 1 rows x 32 channels x 1 columns: step 8 of 48 needs "
		"19040 bytes on chip, 18432 of them for w; there are 19000");
	tiling = (struct npuplan_tiling){ .onchip = least };
	if (npuplan_graph_tile(graph, &tiling, &error))
		fail_msg("%s", error.text);
	npuplan_graph_free(graph);

	graph = build_nchw();
	in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 6);
	build_op(graph, "reshape", in, NPUMEM_NONE, NPUMEM_NONE,
		 build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 5));
	tiling = (struct npuplan_tiling){ .onchip = 10 };
	refused(graph, &tiling, -ENOSPC,
		"operator reshape whole: step 0 of 1 needs 11 bytes on chip, 6 of them for in; there "
		"are 10");
	npuplan_graph_free(graph);
}

static struct npuplan_graph *tall(int64_t rows)
{
	struct npuplan_graph *graph = build_nchw();
	uint32_t in = image(graph, "in", NPUMEM_TENSOR_INPUT, 2, rows, 3);

	build_op(graph, "relu", in, NPUMEM_NONE, NPUMEM_NONE,
		 image(graph, "out", NPUMEM_TENSOR_OUTPUT, 2, rows, 3));
	return graph;
}

/* There are never more steps than accesses are allowed, and not all numbers of tiles are tried. */
TEST(many_rows)
{
	struct npuplan_tile_choice choice = { .rows = 1 };
	struct npuplan_tiling tiling = { .onchip = 12 * 64, .ops = &choice, .op_count = 1 };
	struct npuplan_graph *graph = tall((1 << 20) + 1);
	struct npuplan_error error = { "" };

	refused(graph, &tiling, -E2BIG, "operator relu: the tiling has more than 1048576 accesses");
	npuplan_graph_free(graph);
	graph = tall(64 * 2048);
	tiling.op_count = 0;
	if (npuplan_graph_tile(graph, &tiling, &error))
		fail_msg("%s", error.text);
	/* 64 rows fit; numbers of tiles beyond 1024 go up by quarters. */
	assert_in_range(graph->step_count, 2048, 2048 + 2048 / 4);
	npuplan_graph_free(graph);
}

/* 40 tensors side by side have more footprints than are kept apart. */
TEST(many_kinds)
{
	struct npuplan_tiling tiling = { .onchip = 300, .layout = NPUPLAN_NCHW };
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t inputs[40], out;
	struct npuplan_op op = {
		.name = (char *)(uintptr_t)"cat",
		.type = (char *)(uintptr_t)"cat",
		.inputs = inputs,
		.outputs = &out,
		.input_count = 40,
		.output_count = 1,
		.attrs.axis = 1,
	};
	struct npuplan_error error = { "" };

	for (int i = 0; i < 40; i++)
		inputs[i] = image(graph, "in", NPUMEM_TENSOR_INPUT, 1, 4, 2);
	out = image(graph, "out", NPUMEM_TENSOR_OUTPUT, 40, 4, 2);
	assert_true(npuplan_graph_add_op(graph, &op) >= 0);
	if (npuplan_graph_tile(graph, &tiling, &error))
		fail_msg("%s", error.text);
	assert_in_range(graph->step_count, 3, 40);
}

/* An element-wise operator streams both tensors: twice each; whole it streams nothing. */
TEST(double_buffer)
{
	struct npuplan_tiling tiling = { .onchip = 2 * 2 * 24, .double_buffer = true };
	struct npuplan_graph *graph = build_nchw();
	uint32_t in = image(graph, "in", NPUMEM_TENSOR_INPUT, 8, 6, 3);
	struct npuplan_error error = { "" };

	build_op(graph, "relu", in, NPUMEM_NONE, NPUMEM_NONE,
		 image(graph, "out", NPUMEM_TENSOR_OUTPUT, 8, 6, 3));
	assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), 0);
	/* Rows of 24 bytes: one, of input and output, twice. */
	assert_int_equal(graph->step_count, 6);
	assert_int_equal(graph->tiling.op_count, 1);
	assert_int_equal(graph->tiling.ops[0].rows, 1);
	npuplan_graph_free(graph);

	graph = build_nchw();
	in = image(graph, "in", NPUMEM_TENSOR_INPUT, 8, 6, 3);
	build_op(graph, "relu", in, NPUMEM_NONE, NPUMEM_NONE,
		 image(graph, "out", NPUMEM_TENSOR_OUTPUT, 8, 6, 3));
	tiling.onchip = 2 * 144;
	assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), 0);
	assert_int_equal(graph->step_count, 1);
	npuplan_graph_free(graph);
}

/* ---------------------------------------------------------------- what is chosen */

/* Weights that do not fit: rows outer reads them again, channels outer the input. */
TEST(chosen_order)
{
	struct npuplan_tiling tiling = { .onchip = 26000 };
	uint32_t in, weights, out;
	struct npuplan_graph *graph = conv(&in, &weights, &out);
	struct npuplan_tile_report *reports;
	struct npuplan_error error = { "" };

	/* 36864 bytes of weights, 1536 of each image: the image stays, weights pass by. */
	assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), 0);
	assert_int_equal(graph->tiling.ops[0].rows, 0);
	assert_int_equal(graph->tiling.ops[0].channels, 32);
	assert_int_equal(npuplan_tiling_report(graph, &reports, &error), 0);
	assert_int_equal(reports[0].steps, 2);
	assert_int_equal(reports[0].rows, 8);
	assert_int_equal(reports[0].channels, 32);
	assert_int_equal(reports[0].columns, 0);
	assert_int_equal(reports[0].inputs, 1536);
	assert_int_equal(reports[0].weights, 36864);
	assert_int_equal(reports[0].outputs, 1536);
	assert_int_equal(reports[0].least, 36864 + 2 * 1536);
	assert_int_equal(reports[0].onchip, 1536 + 32 * 64 * 9 + 8 * 3 * 32);
	free(reports);
	npuplan_graph_free(graph);
	graph = build_nchw();
	assert_int_equal(npuplan_tiling_report(graph, &reports, &error), -EINVAL);
	assert_string_equal(error.text, "graph g is not tiled, or not known how");
	npuplan_graph_free(graph);
}

/*
 * Rows of 100 places of 4 channels, and a window of 3: a row of output needs 1200 bytes of input.
 * What fits are two rows of 25 columns, 4 x 27 x 4 bytes of input, 144 of weights and 2 x 25 x 4 of
 * output; of 34, the next larger columns, they do not.
 */
TEST(chosen_columns)
{
	struct npuplan_tile_choice larger = { .rows = 2, .columns = 34 };
	struct npuplan_tiling tiling = { .onchip = 800 };
	struct npuplan_error error = { "" };
	struct npuplan_tile_report *reports;
	struct npuplan_tile_cost cost;
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t in = image(graph, "in", NPUMEM_TENSOR_INPUT, 4, 8, 100);
	uint32_t weights = build_spatial(graph, "w", NPUMEM_TENSOR_PARAMETER, 4, 4, 3, 3);
	uint32_t out = image(graph, "out", NPUMEM_TENSOR_OUTPUT, 4, 8, 100);

	build_window(build_op(graph, "conv2d", in, weights, NPUMEM_NONE, out), 3, 1, 1, 1);
	graph->ops[0].attrs.groups = 1;
	if (npuplan_graph_tile(graph, &tiling, &error))
		fail_msg("%s", error.text);
	assert_int_equal(graph->tiling.ops[0].rows, 2);
	assert_int_equal(graph->tiling.ops[0].channels, 0);
	assert_int_equal(graph->tiling.ops[0].columns, 25);
	assert_int_equal(graph->step_count, 4 * 4);
	assert_int_equal(npuplan_tiling_report(graph, &reports, &error), 0);
	assert_int_equal(reports[0].rows, 2);
	assert_int_equal(reports[0].channels, 4);
	assert_int_equal(reports[0].columns, 25);
	assert_int_equal(reports[0].onchip, 4 * 27 * 4 + 144 + 2 * 25 * 4);
	free(reports);
	assert_int_equal(npuplan_choice_cost(graph, &tiling, &larger, &cost), 0);
	assert_true(cost.report.onchip > tiling.onchip);
}

/* Whole rows that fit are not cut. */
TEST(chosen_whole_rows)
{
	struct npuplan_tiling tiling = { .onchip = 2 * 100 * 4 };
	struct npuplan_error error = { "" };
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t in = image(graph, "in", NPUMEM_TENSOR_INPUT, 4, 8, 100);

	build_op(graph, "relu", in, NPUMEM_NONE, NPUMEM_NONE,
		 image(graph, "out", NPUMEM_TENSOR_OUTPUT, 4, 8, 100));
	assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), 0);
	assert_int_equal(graph->tiling.ops[0].rows, 1);
	assert_int_equal(graph->tiling.ops[0].columns, 0);
	assert_int_equal(graph->step_count, 8);
}

/*
 * The least cost of all numbers of tiles along rows, channels and columns, as equal as can be, in
 * both orders.
 */
static uint64_t least_cost(const struct npuplan_graph *graph, const struct npuplan_tiling *tiling)
{
	uint64_t best = UINT64_MAX, cost;
	int64_t granule, units, extents[3];
	struct npuplan_partition op;

	assert_true(npuplan_partition_init(&op, graph, 0, 0));
	granule = npuplan_granule(&op.output);
	units = (op.output.channels + granule - 1) / granule;
	extents[0] = op.output.rows;
	extents[1] = units;
	extents[2] = npuplan_has_columns(&op) ? op.output.row : 1;
	for (int64_t rows = extents[0]; rows; rows = smaller(extents[0], rows))
		for (int64_t blocks = extents[1]; blocks; blocks = smaller(extents[1], blocks))
			for (int64_t columns = extents[2]; columns;
			     columns = smaller(extents[2], columns))
				for (uint32_t order = 0; order < 2; order++) {
					struct npuplan_tile_choice choice = {
						.rows = (uint32_t)rows,
						.channels = (uint32_t)(blocks * granule),
						.columns = (uint32_t)columns,
						.order = order,
					};

					cost = cost_of(graph, tiling, &choice);
					best = cost < best ? cost : best;
				}
	return best;
}

static struct npuplan_graph *random_op(uint64_t *random)
{
	static const char *const types[] = { "conv2d", "maxpool", "relu", "cat" };
	struct npuplan_graph *graph = build_nchw();
	uint32_t type = random_range(random, 0, 3), stride = random_range(random, 1, 2);
	int64_t rows = random_range(random, 1, 9), width = random_range(random, 1, 20);
	int64_t channels = random_range(random, 1, 50), outputs = channels;
	uint32_t in = image(graph, "in", NPUMEM_TENSOR_INPUT, channels, rows, width);
	uint32_t second = NPUMEM_NONE, out;
	struct npuplan_op *op;

	if (type == 0) {
		outputs = random_range(random, 1, 50);
		second =
			build_spatial(graph, "w", NPUMEM_TENSOR_PARAMETER, outputs, channels, 3, 3);
	} else if (type == 3) {
		second = image(graph, "more", NPUMEM_TENSOR_INPUT, random_range(random, 1, 40),
			       rows, width);
		outputs += graph->tensors[second].shape[1];
	}
	if (type <= 1)
		rows = (rows - 1) / stride + 1;
	out = image(graph, "out", NPUMEM_TENSOR_OUTPUT, outputs, rows, width);
	op = build_op(graph, types[type], in, second, NPUMEM_NONE, out);
	op->attrs.groups = 1;
	if (type == 3)
		op->attrs.axis = 1;
	if (type <= 1)
		build_window(op, 3, (int32_t)stride, 1, 1);
	return graph;
}

/*
 * Against all tilings of tiles as equal as can be: one is found whenever one fits, it
 * fits, and its cost is the least, but for bursts that the tiler rounds once.
 */
TEST(chosen_against_all)
{
	uint64_t random = SEED;
	uint32_t fitting = 0, cut = 0, columns = 0;

	print_message("# seed %u\n", SEED);
	for (int round = 0; round < 150; round++) {
		struct npuplan_graph *graph = random_op(&random);
		struct npuplan_tiling tiling = {
			.layout = random_range(&random, 0, 2),
			.onchip = random_range(&random, 500, 12000),
			.double_buffer = random_range(&random, 0, 1),
		};
		struct npuplan_error error = { "" };
		uint64_t best, cost;
		int err;

		assert_int_equal(npuplan_graph_set_layout(graph, tiling.layout, &error), 0);
		best = least_cost(graph, &tiling);
		err = npuplan_graph_tile(graph, &tiling, &error);
		if (best == UINT64_MAX) {
			assert_int_equal(err, -ENOSPC);
			npuplan_graph_free(graph);
			continue;
		}
		if (err)
			fail_msg("round %d: %s", round, error.text);
		fitting++;
		cut += graph->step_count > 1;
		columns += graph->tiling.ops[0].columns > 0;
		cost = cost_of(graph, &tiling, &graph->tiling.ops[0]);
		if (cost > best + best / 20)
			fail_msg("round %d: %llu, there is %llu", round, (unsigned long long)cost,
				 (unsigned long long)best);
		npuplan_graph_free(graph);
	}
	assert_in_range(fitting, 75, 149);
	assert_in_range(cut, 25, 149);
	assert_in_range(columns, 10, 149);
}

static bool same_steps(const struct npuplan_graph *a, const struct npuplan_graph *b)
{
	return a->step_count == b->step_count && a->access_count == b->access_count &&
	       a->tile_count == b->tile_count &&
	       !memcmp(a->accesses, b->accesses, a->access_count * sizeof(*a->accesses)) &&
	       !memcmp(a->tiles, b->tiles, a->tile_count * sizeof(*a->tiles));
}

/* The choices of the tiler, told to it, give the same steps. */
TEST(told_again)
{
	struct npuplan_tiling tiling = { .onchip = 9000, .layout = NPUPLAN_NCHW };
	uint32_t in, weights, out;
	AUTO_GRAPH struct npuplan_graph *graph = conv(&in, &weights, &out);
	AUTO_GRAPH struct npuplan_graph *again = conv(&in, &weights, &out);
	struct npuplan_error error = { "" };

	assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), 0);
	assert_true(graph->step_count > 2);
	assert_int_equal(npuplan_graph_tile(again, &graph->tiling, &error), 0);
	assert_true(same_steps(graph, again));
}
