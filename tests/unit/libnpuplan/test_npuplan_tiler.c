// SPDX-License-Identifier: MIT
/* Tilings by rows, channels and columns: what steps access, what is refused. */
#include "tiler_build.h"

#include <errno.h>

#include "tiling/partition.h"

/* The part of a tensor that a step accesses in a mode; rows.count is 0 if there is none. */
static struct npuplan_part step_part(const struct npuplan_graph *graph, uint32_t step,
				     uint32_t tensor, uint32_t mode)
{
	const struct npuplan_step *s = &graph->steps[step];
	struct npuplan_part part = { { 0, 0 }, { 0, 0 } };
	struct npuplan_spatial view;
	uint32_t found = 0;

	assert_true(npuplan_view(graph, tensor, &view));
	for (uint32_t i = s->first_access; i < s->first_access + s->access_count; i++) {
		const struct npumem_tile *tile = &graph->tiles[graph->accesses[i].tile];

		if (tile->tensor != tensor || graph->accesses[i].mode != mode)
			continue;
		assert_true(npuplan_region_part(&view, &tile->region, &part));
		found++;
	}
	assert_in_range(found, 0, 1);
	return part;
}

static void assert_part(const struct npuplan_graph *graph, uint32_t step, uint32_t tensor,
			uint32_t mode, int64_t row, int64_t rows, int64_t channel, int64_t channels)
{
	struct npuplan_part part = step_part(graph, step, tensor, mode);

	assert_true(step < graph->step_count);
	assert_int_equal(part.rows.count, rows);
	assert_int_equal(part.channels.count, channels);
	if (!rows)
		return;
	assert_int_equal(part.rows.first, row);
	assert_int_equal(part.channels.first, channel);
}

/* Rows, their number, channels, their number. */
#define READS(GRAPH, STEP, TENSOR, ...) \
	assert_part(GRAPH, STEP, TENSOR, NPUMEM_ACCESS_READ, __VA_ARGS__)
#define WRITES(GRAPH, STEP, TENSOR, ...) \
	assert_part(GRAPH, STEP, TENSOR, NPUMEM_ACCESS_WRITE, __VA_ARGS__)

/* Cut all operators into tiles of @rows x @channels (0: all of them). */
static void tile(struct npuplan_graph *graph, enum npuplan_layout layout, uint32_t rows,
		 uint32_t channels, uint32_t order, bool parameters)
{
	struct npuplan_tile_choice choices[8];
	struct npuplan_tiling tiling = {
		.layout = layout,
		.with_parameters = parameters,
		.ops = choices,
		.op_count = graph->op_count,
	};
	struct npuplan_error error;

	assert_in_range(graph->op_count, 1, 8);
	for (uint32_t i = 0; i < graph->op_count; i++)
		choices[i] = (struct npuplan_tile_choice){ i, rows, channels, order };
	if (npuplan_graph_tile(graph, &tiling, &error))
		fail_msg("tiling failed: %s", error.text);
}

/* Each tile reads all channels of the rows that it needs, and its weights alone. */
TEST(conv)
{
	for (enum npuplan_layout layout = NPUPLAN_NHWC; layout <= NPUPLAN_NC32HW32; layout++) {
		uint32_t in, weights, out;
		AUTO_GRAPH struct npuplan_graph *graph = conv(&in, &weights, &out);
		const struct npumem_region *region;

		tile(graph, layout, 4, 32, NPUPLAN_ROWS_OUTER, true);
		assert_int_equal(graph->step_count, 4);
		assert_int_equal(graph->layout, layout);
		assert_int_equal(graph->steps[3].flags, NPUMEM_STEP_STAGED);
		assert_string_equal(graph->steps[3].name, "conv2d[3/4]");
		READS(graph, 0, in, 0, 5, 0, 64);
		WRITES(graph, 0, out, 0, 4, 0, 32);
		READS(graph, 1, in, 0, 5, 0, 64);
		WRITES(graph, 1, out, 0, 4, 32, 32);
		READS(graph, 2, in, 3, 5, 0, 64);
		WRITES(graph, 2, out, 4, 4, 0, 32);
		WRITES(graph, 3, out, 4, 4, 32, 32);
		/* Weights [out, in, 3, 3]: 32 x 64 x 9 bytes of them. */
		region = &graph->tiles[graph->accesses[graph->steps[3].first_access + 1].tile]
				  .region;
		assert_int_equal(region->offset, 32 * 64 * 9);
		assert_int_equal(region->length, 32 * 64 * 9);
	}
}

TEST(order)
{
	uint32_t in, weights, out;
	AUTO_GRAPH struct npuplan_graph *graph = conv(&in, &weights, &out);

	tile(graph, NPUPLAN_NHWC, 3, 48, NPUPLAN_CHANNELS_OUTER, false);
	/* Rows 3, 3, 2; channels 48, 16. */
	assert_int_equal(graph->step_count, 6);
	WRITES(graph, 0, out, 0, 3, 0, 48);
	WRITES(graph, 2, out, 6, 2, 0, 48);
	WRITES(graph, 3, out, 0, 3, 48, 16);
	READS(graph, 5, in, 5, 3, 0, 64);
	WRITES(graph, 5, out, 6, 2, 48, 16);
	assert_int_equal(graph->steps[5].access_count, 2);
}

/* Groups of 2 inputs for 4 outputs: a tile reads the channels of its groups. */
TEST(groups)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t in = image(graph, "in", NPUMEM_TENSOR_INPUT, 6, 4, 3);
	uint32_t out = image(graph, "out", NPUMEM_TENSOR_OUTPUT, 12, 4, 3);
	struct npuplan_op *op = build_op(graph, "conv2d", in, NPUMEM_NONE, NPUMEM_NONE, out);

	build_window(op, 3, 1, 1, 1);
	op->attrs.groups = 3;
	tile(graph, NPUPLAN_NCHW, 4, 5, NPUPLAN_ROWS_OUTER, false);
	assert_int_equal(graph->step_count, 3);
	READS(graph, 0, in, 0, 4, 0, 4);
	READS(graph, 1, in, 0, 4, 2, 4);
	READS(graph, 2, in, 0, 4, 4, 2);
	WRITES(graph, 2, out, 0, 4, 10, 2);
}

/* In NC/32HWC32 whole blocks are read: channels 0..31 of 48 for output channels 0..31. */
TEST(blocks)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t a = image(graph, "a", NPUMEM_TENSOR_INPUT, 48, 4, 3);
	uint32_t b = image(graph, "b", NPUMEM_TENSOR_INPUT, 48, 4, 3);
	uint32_t wide = image(graph, "wide", NPUMEM_TENSOR_OUTPUT, 96, 4, 3);
	uint32_t pool = image(graph, "pool", NPUMEM_TENSOR_OUTPUT, 48, 4, 3);

	build_op(graph, "cat", a, b, NPUMEM_NONE, wide)->attrs.axis = 1;
	build_window(build_op(graph, "maxpool", a, NPUMEM_NONE, NPUMEM_NONE, pool), 3, 1, 1, 1);
	tile(graph, NPUPLAN_NC32HW32, 2, 32, NPUPLAN_ROWS_OUTER, false);
	assert_int_equal(graph->tensors[a].size, 64 * 4 * 3);
	assert_int_equal(graph->step_count, 6 + 4);
	READS(graph, 0, a, 0, 2, 0, 32);
	READS(graph, 0, b, 0, 0, 0, 0);
	/* Output channels 32..63 are 32..47 of a and 0..15 of b. */
	READS(graph, 1, a, 0, 2, 32, 16);
	READS(graph, 1, b, 0, 2, 0, 32);
	READS(graph, 2, a, 0, 0, 0, 0);
	READS(graph, 2, b, 0, 2, 0, 48);
	READS(graph, 9, a, 1, 3, 32, 16);
	WRITES(graph, 9, pool, 2, 2, 32, 16);
}

TEST(elementwise)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t a = image(graph, "a", NPUMEM_TENSOR_INPUT, 8, 6, 3);
	uint32_t scale = image(graph, "scale", NPUMEM_TENSOR_INPUT, 8, 1, 1);
	uint32_t mask = image(graph, "mask", NPUMEM_TENSOR_INPUT, 1, 6, 3);
	uint32_t slope = MATRIX(graph, "slope", PARAMETER, 8);
	uint32_t mul = image(graph, "mul", NPUMEM_TENSOR_OUTPUT, 8, 6, 3);
	uint32_t prelu = image(graph, "prelu", NPUMEM_TENSOR_OUTPUT, 8, 6, 3);
	const struct npumem_region *region;

	build_op(graph, "mul", a, scale, mask, mul);
	build_op(graph, "prelu", a, slope, NPUMEM_NONE, prelu);
	tile(graph, NPUPLAN_NCHW, 2, 4, NPUPLAN_ROWS_OUTER, true);
	assert_int_equal(graph->step_count, 12);
	READS(graph, 3, a, 2, 2, 4, 4);
	/* One row for all of them, one channel for all of them. */
	READS(graph, 3, scale, 0, 1, 4, 4);
	READS(graph, 3, mask, 2, 2, 0, 1);
	WRITES(graph, 3, mul, 2, 2, 4, 4);
	region = &graph->tiles[graph->accesses[graph->steps[7].first_access + 1].tile].region;
	assert_int_equal(region->offset, 4);
	assert_int_equal(region->length, 4);
}

/* An operator that reads its inputs whole needs all of a parameter, however long that is. */
TEST(parameters_read_whole)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t table = MATRIX(graph, "table", INPUT, 5, 6);
	uint32_t indices = MATRIX(graph, "indices", PARAMETER, 6);
	uint32_t out = MATRIX(graph, "out", OUTPUT, 6, 6);
	const struct npumem_region *region;

	build_op(graph, "gather", table, indices, NPUMEM_NONE, out);
	tile(graph, NPUPLAN_NCHW, 2, 2, NPUPLAN_ROWS_OUTER, true);
	assert_int_equal(graph->step_count, 9);
	for (uint32_t step = 0; step < 9; step++) {
		region = &graph->tiles[graph->accesses[graph->steps[step].first_access + 1].tile]
				  .region;
		assert_int_equal(region->offset, 0);
		assert_int_equal(region->length, graph->tensors[indices].size);
	}
}

TEST(rows_and_channels_of_others)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t in = image(graph, "in", NPUMEM_TENSOR_INPUT, 8, 4, 4);
	uint32_t mean = image(graph, "mean", NPUMEM_TENSOR_OUTPUT, 8, 1, 1);
	uint32_t large = image(graph, "large", NPUMEM_TENSOR_OUTPUT, 8, 8, 8);
	uint32_t padded = image(graph, "padded", NPUMEM_TENSOR_OUTPUT, 8, 8, 4);
	uint32_t soft = image(graph, "soft", NPUMEM_TENSOR_OUTPUT, 8, 4, 4);
	uint32_t columns = image(graph, "columns", NPUMEM_TENSOR_OUTPUT, 8, 4, 4);
	struct npuplan_op *pad;

	build_op(graph, "mean", in, NPUMEM_NONE, NPUMEM_NONE, mean)->attrs.axis = 2;
	build_op(graph, "upsample", in, NPUMEM_NONE, NPUMEM_NONE, large);
	pad = build_op(graph, "pad", in, NPUMEM_NONE, NPUMEM_NONE, padded);
	pad->attrs.spatial = 2;
	pad->attrs.pad_begin[0] = 4;
	build_op(graph, "softmax", in, NPUMEM_NONE, NPUMEM_NONE, soft)->attrs.axis = 1;
	build_op(graph, "softmax", in, NPUMEM_NONE, NPUMEM_NONE, columns)->attrs.axis = 3;
	tile(graph, NPUPLAN_NHWC, 1, 4, NPUPLAN_ROWS_OUTER, false);
	assert_int_equal(graph->step_count, 2 + 16 + 16 + 8 + 8);
	/* Of a mean all rows of the same channels. */
	READS(graph, 1, in, 0, 4, 4, 4);
	WRITES(graph, 1, mean, 0, 1, 4, 4);
	/* Row 7 of 8 is made of the last rows of 4. */
	assert_int_equal(step_part(graph, 2 + 15, in, NPUMEM_ACCESS_READ).channels.first, 4);
	assert_int_equal(step_part(graph, 2 + 15, in, NPUMEM_ACCESS_READ).rows.first +
				 step_part(graph, 2 + 15, in, NPUMEM_ACCESS_READ).rows.count,
			 4);
	WRITES(graph, 2 + 15, large, 7, 1, 4, 4);
	/* Rows of padding read nothing. */
	READS(graph, 18, in, 0, 0, 0, 0);
	READS(graph, 18 + 9, in, 0, 1, 4, 4);
	/* Over channels all of them; over columns the same. */
	READS(graph, 34 + 3, in, 1, 1, 0, 8);
	WRITES(graph, 34 + 3, soft, 1, 1, 4, 4);
	READS(graph, 42 + 3, in, 1, 1, 4, 4);
}

TEST(matrices)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t x = MATRIX(graph, "x", INPUT, 2, 3, 8);
	uint32_t weights = MATRIX(graph, "weights", PARAMETER, 8, 6);
	uint32_t bias = MATRIX(graph, "bias", PARAMETER, 6);
	uint32_t y = MATRIX(graph, "y", INTERMEDIATE, 6, 6);
	uint32_t norm = MATRIX(graph, "norm", OUTPUT, 2, 3, 6);
	uint32_t left = MATRIX(graph, "left", INPUT, 2, 3, 5);
	uint32_t right = MATRIX(graph, "right", INPUT, 2, 5, 6);
	uint32_t product = MATRIX(graph, "product", OUTPUT, 2, 3, 6);
	uint32_t soft = MATRIX(graph, "soft", OUTPUT, 2, 3, 6);
	const struct npumem_region *region;

	build_op(graph, "linear", x, weights, bias, y);
	build_op(graph, "layernorm", y, NPUMEM_NONE, NPUMEM_NONE, norm);
	build_op(graph, "matmul", left, right, NPUMEM_NONE, product);
	build_op(graph, "softmax", norm, NPUMEM_NONE, NPUMEM_NONE, soft)->attrs.axis = 2;
	tile(graph, NPUPLAN_NCHW, 2, 3, NPUPLAN_ROWS_OUTER, true);
	assert_int_equal(graph->step_count, 4 * 6);
	/* Rows 2 and 3 of 6; weights [8, 6]: columns 3..5. */
	READS(graph, 3, x, 2, 2, 0, 8);
	region = &graph->tiles[graph->accesses[graph->steps[3].first_access + 1].tile].region;
	assert_int_equal(region->offset, 3);
	assert_int_equal(region->length, 3);
	assert_int_equal(region->count[0], 8);
	assert_int_equal(region->stride[0], 6);
	READS(graph, 6 + 3, y, 2, 2, 0, 6);
	/* Row 2 is of the first matrix, row 3 of the second. */
	READS(graph, 12 + 1, left, 0, 2, 0, 5);
	READS(graph, 12 + 1, right, 0, 5, 3, 3);
	READS(graph, 12 + 3, right, 0, 10, 3, 3);
	READS(graph, 12 + 5, right, 5, 5, 3, 3);
	WRITES(graph, 12 + 5, product, 4, 2, 3, 3);
	READS(graph, 18 + 5, norm, 4, 2, 0, 6);
}

/* A tiling of one row for all operators cuts those that have rows, and leaves the others whole. */
TEST(rows)
{
	struct npuplan_tiling tiling = { .rows = 3 };
	uint32_t in, weights, out;
	AUTO_GRAPH struct npuplan_graph *graph = conv(&in, &weights, &out);
	struct npuplan_error error;

	build_op(graph, "copy", out, NPUMEM_NONE, NPUMEM_NONE,
		 build_tensor(graph, "flat", NPUMEM_TENSOR_OUTPUT, 7));
	assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), 0);
	assert_int_equal(graph->tiling.rows, 3);
	assert_int_equal(graph->tiling.bands, 0);
	assert_int_equal(graph->step_count, 3 + 1);
	WRITES(graph, 2, out, 6, 2, 0, 64);
}

static void assert_region(struct npumem_region region, uint64_t offset, uint64_t length,
			  uint32_t count, uint64_t stride)
{
	assert_int_equal(region.offset, offset);
	assert_int_equal(region.length, length);
	assert_int_equal(region.count[0], count);
	assert_int_equal(region.stride[0], stride);
	assert_int_equal(region.count[1], 1);
}

/*
 * Rows of 10 places of 2 channels, in tiles of 4 rows x 4 columns, the last of 2: a window of 3
 * needs a column more on either side, where there is one. What follows has other columns than its
 * input, so is cut into rows alone, and reads whole ones.
 */
TEST(columns)
{
	struct npuplan_tiling tiling = { .rows = 4, .columns = 4 };
	struct npuplan_error error;
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t in = image(graph, "in", NPUMEM_TENSOR_INPUT, 2, 8, 10);
	uint32_t mid = image(graph, "mid", NPUMEM_TENSOR_INTERMEDIATE, 2, 8, 10);
	uint32_t out = image(graph, "out", NPUMEM_TENSOR_OUTPUT, 2, 8, 1);

	build_window(build_op(graph, "conv2d", in, NPUMEM_NONE, NPUMEM_NONE, mid), 3, 1, 1, 1);
	graph->ops[0].attrs.groups = 1;
	build_op(graph, "softmax", mid, NPUMEM_NONE, NPUMEM_NONE, out);
	graph->ops[1].attrs.axis = 1;
	assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), 0);
	assert_int_equal(graph->tiling.columns, 4);
	assert_int_equal(graph->step_count, 6 + 2);
	assert_region(step_region(graph, 0, in), 0, 5 * 2, 5, 20);
	assert_region(step_region(graph, 0, mid), 0, 4 * 2, 4, 20);
	assert_region(step_region(graph, 1, in), 3 * 2, 6 * 2, 5, 20);
	assert_region(step_region(graph, 1, mid), 4 * 2, 4 * 2, 4, 20);
	assert_region(step_region(graph, 2, in), 7 * 2, 3 * 2, 5, 20);
	assert_region(step_region(graph, 2, mid), 8 * 2, 2 * 2, 4, 20);
	assert_region(step_region(graph, 5, in), 3 * 20 + 7 * 2, 3 * 2, 5, 20);
	assert_region(step_region(graph, 5, mid), 4 * 20 + 8 * 2, 2 * 2, 4, 20);
	READS(graph, 6, mid, 0, 4, 0, 2);
	READS(graph, 7, mid, 4, 4, 0, 2);
}

/*
 * The same, told of one operator; with channels the columns of a row range come first, or all
 * places of a channel range.
 */
TEST(columns_told)
{
	struct npuplan_tile_choice choice = { .rows = 4, .channels = 1, .columns = 4 };
	struct npuplan_tiling tiling = { .ops = &choice, .op_count = 1 };
	struct npuplan_tile_report *reports;

	for (uint32_t order = 0; order < 2; order++) {
		AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
		uint32_t in = image(graph, "in", NPUMEM_TENSOR_INPUT, 2, 8, 10);
		uint32_t out = image(graph, "out", NPUMEM_TENSOR_OUTPUT, 2, 8, 10);
		struct npumem_region region;

		choice.order = order;
		build_op(graph, "relu", in, NPUMEM_NONE, NPUMEM_NONE, out);
		assert_int_equal(npuplan_graph_tile(graph, &tiling, NULL), 0);
		assert_int_equal(graph->step_count, 2 * 3 * 2);
		/* Columns 4 to 7 of rows 0 to 3, and then the other channel or the next columns. */
		region = step_region(graph, order ? 1 : 2, in);
		assert_int_equal(region.offset, 4 * 2);
		assert_int_equal(region.length, 1);
		assert_int_equal(region.count[0] * region.count[1], 4 * 4);
		assert_int_equal(step_region(graph, 3, out).offset, order ? 4 * 20 : 4 * 2 + 1);
		assert_int_equal(npuplan_tiling_report(graph, &reports, NULL), 0);
		assert_int_equal(reports[0].rows, 4);
		assert_int_equal(reports[0].channels, 1);
		assert_int_equal(reports[0].columns, 4);
		assert_int_equal(reports[0].steps, 12);
		free(reports);
	}
}

/* Inputs that are joined along columns: a tile reads those whose columns it has. */
TEST(columns_joined)
{
	struct npuplan_tiling tiling = { .rows = 2, .columns = 4 };
	struct npuplan_error error;
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t left = image(graph, "left", NPUMEM_TENSOR_INPUT, 2, 2, 5);
	uint32_t right = image(graph, "right", NPUMEM_TENSOR_INPUT, 2, 2, 3);
	uint32_t out = image(graph, "out", NPUMEM_TENSOR_OUTPUT, 2, 2, 8);

	build_op(graph, "cat", left, right, NPUMEM_NONE, out);
	graph->ops[0].attrs.axis = 3;
	assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), 0);
	assert_int_equal(graph->step_count, 2);
	assert_region(step_region(graph, 0, left), 0, 4 * 2, 2, 10);
	assert_int_equal(step_region(graph, 0, right).length, 0);
	assert_region(step_region(graph, 1, left), 4 * 2, 2, 2, 10);
	READS(graph, 1, right, 0, 2, 0, 2);
}

/* ------------------------------------------------------------------- refusals */

#define NO_COLUMNS(name)                                                                          \
	"operator " name ": its outputs are no images, or it needs whole rows of its inputs, so " \
	"that no columns can be cut"

TEST(refused_tilings)
{
	uint32_t in, weights, out;
	struct npuplan_graph *graph = conv(&in, &weights, &out);
	struct npuplan_tile_choice choices[2] = { { .op = 0 }, { .op = 0 } };
	struct npuplan_tiling one = { .ops = choices, .op_count = 1 };

	refused(graph, &(struct npuplan_tiling){ .bands = 2, .rows = 1 }, -EINVAL,
		"bands, rows and on-chip memory exclude each other");
	refused(graph, &(struct npuplan_tiling){ .rows = 2, .onchip = 1 }, -EINVAL,
		"bands, rows and on-chip memory exclude each other");
	refused(graph, &(struct npuplan_tiling){ .rows = 2, .double_buffer = true }, -EINVAL,
		"double buffering is of a tiling for on-chip memory");
	refused(graph, &(struct npuplan_tiling){ .columns = 2 }, -EINVAL,
		"columns of tiles need their rows");
	refused(graph, &(struct npuplan_tiling){ .rows = 2, .partial_sums = true }, -EINVAL,
		"partial sums are of a tiling for on-chip memory");
	refused(graph, &(struct npuplan_tiling){ .columns = 2, .onchip = 1 << 20 }, -EINVAL,
		"columns of tiles need their rows");
	refused(graph, &(struct npuplan_tiling){ .layout = 3 }, -EINVAL, "there is no layout 3");
	choices[0].op = 1;
	refused(graph, &one, -EINVAL, "graph g has no operator 1");
	choices[0] = (struct npuplan_tile_choice){ .rows = 9 };
	refused(graph, &one, -EINVAL, "operator conv2d: tiles of 9 rows, it has 8");
	choices[0] = (struct npuplan_tile_choice){ .channels = 65 };
	refused(graph, &one, -EINVAL, "operator conv2d: tiles of 65 channels, it has 64");
	choices[0] = (struct npuplan_tile_choice){ .columns = 4 };
	refused(graph, &one, -EINVAL, "operator conv2d: tiles of 4 columns, it has 3");
	choices[0] = (struct npuplan_tile_choice){ .order = 2 };
	refused(graph, &one, -EINVAL, "operator conv2d: there is no order 2 of tiles");
	choices[0] = (struct npuplan_tile_choice){ .channels = 33 };
	one.layout = NPUPLAN_NC32HW32;
	refused(graph, &one, -EINVAL,
		"operator conv2d: tiles of 33 channels, in nc32hw they are multiples of 32");
	choices[0] = choices[1] = (struct npuplan_tile_choice){ .rows = 1 };
	one.op_count = 2;
	refused(graph, &one, -EINVAL, "operator conv2d: its tiling is said twice, or not in order");
	npuplan_graph_free(graph);

	graph = build_nchw();
	in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 4);
	build_op(graph, "reshape", in, NPUMEM_NONE, NPUMEM_NONE,
		 build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 4));
	choices[0] = (struct npuplan_tile_choice){ .rows = 1 };
	one = (struct npuplan_tiling){ .ops = choices, .op_count = 1 };
	refused(graph, &one, -EINVAL,
		"operator reshape: its outputs have no rows and channels in common that could be "
		"cut");
	choices[0] = (struct npuplan_tile_choice){ .columns = 1 };
	refused(graph, &one, -EINVAL,
		"operator reshape: its outputs have no rows and channels in common that could be "
		"cut");
	npuplan_graph_free(graph);
}

/* Columns of no image, of two images with rows of two lengths, and where whole rows are read. */
TEST(refused_columns)
{
	struct npuplan_tile_choice choice = { .rows = 1, .columns = 1 };
	struct npuplan_tiling one = { .ops = &choice, .op_count = 1 };
	uint32_t in, outputs[2];
	struct npuplan_op op = {
		.name = (char *)(uintptr_t)"add",
		.type = (char *)(uintptr_t)"add",
		.inputs = &in,
		.outputs = outputs,
		.input_count = 1,
		.output_count = 2,
	};
	struct npuplan_graph *graph = build_nchw();

	in = MATRIX(graph, "in", INPUT, 4, 3);
	build_op(graph, "relu", in, NPUMEM_NONE, NPUMEM_NONE, MATRIX(graph, "out", OUTPUT, 4, 3));
	refused(graph, &one, -EINVAL, NO_COLUMNS("relu"));
	npuplan_graph_free(graph);

	graph = build_nchw();
	in = image(graph, "in", NPUMEM_TENSOR_INPUT, 2, 4, 3);
	outputs[0] = image(graph, "first", NPUMEM_TENSOR_OUTPUT, 2, 4, 3);
	outputs[1] = image(graph, "second", NPUMEM_TENSOR_OUTPUT, 2, 4, 5);
	assert_true(npuplan_graph_add_op(graph, &op) >= 0);
	refused(graph, &one, -EINVAL, NO_COLUMNS("add"));
	npuplan_graph_free(graph);

	graph = build_nchw();
	in = image(graph, "in", NPUMEM_TENSOR_INPUT, 2, 4, 3);
	build_op(graph, "gather", in, NPUMEM_NONE, NPUMEM_NONE,
		 image(graph, "out", NPUMEM_TENSOR_OUTPUT, 2, 4, 3));
	refused(graph, &one, -EINVAL, NO_COLUMNS("gather"));
	/* Whole rows of it can be told apart. */
	choice.columns = 0;
	assert_int_equal(npuplan_graph_tile(graph, &one, NULL), 0);
	assert_int_equal(graph->step_count, 4);
	npuplan_graph_free(graph);
}
