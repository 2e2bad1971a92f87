// SPDX-License-Identifier: MIT
/* Tilings by rows and channels: what steps access, what is refused, what is chosen. */
#include "npuplan_build.h"

#include <errno.h>

#include "random.h"
#include "tiling/cost.h"

#define SEED 20261121u

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

static uint32_t image(struct npuplan_graph *graph, const char *name, uint32_t kind,
		      int64_t channels, int64_t rows, int64_t width)
{
	return build_spatial(graph, name, kind, 1, channels, rows, width);
}

/* One-byte elements, row-major. */
static uint32_t matrix(struct npuplan_graph *graph, const char *name, uint32_t kind,
		       uint32_t dim_count, const int64_t *shape)
{
	uint64_t size = 1;
	uint32_t index;

	for (uint32_t i = 0; i < dim_count; i++)
		size *= (uint64_t)shape[i];
	index = build_tensor(graph, name, kind, size);
	graph->tensors[index].dim_count = dim_count;
	graph->tensors[index].elem_size = 1;
	memcpy(graph->tensors[index].shape, shape, dim_count * sizeof(*shape));
	return index;
}

#define MATRIX(GRAPH, NAME, KIND, ...)                                     \
	matrix(GRAPH, NAME, NPUMEM_TENSOR_##KIND,                          \
	       sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t), \
	       (const int64_t[]){ __VA_ARGS__ })

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

/* 3x3 convolution of 8 rows and 64 channels, 3 places wide, to 64 channels. */
static struct npuplan_graph *conv(uint32_t *in, uint32_t *weights, uint32_t *out)
{
	struct npuplan_graph *graph = build_nchw();

	*in = image(graph, "in", NPUMEM_TENSOR_INPUT, 64, 8, 3);
	*weights = build_spatial(graph, "w", NPUMEM_TENSOR_PARAMETER, 64, 64, 3, 3);
	*out = image(graph, "out", NPUMEM_TENSOR_OUTPUT, 64, 8, 3);
	build_window(build_op(graph, "conv2d", *in, *weights, NPUMEM_NONE, *out), 3, 1, 1, 1);
	graph->ops[0].attrs.groups = 1;
	return graph;
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

/* The region that a step accesses of a tensor; its length is 0 if there is none. */
static struct npumem_region step_region(const struct npuplan_graph *graph, uint32_t step,
					uint32_t tensor)
{
	const struct npuplan_step *s = &graph->steps[step];

	for (uint32_t i = s->first_access; i < s->first_access + s->access_count; i++)
		if (graph->tiles[graph->accesses[i].tile].tensor == tensor)
			return graph->tiles[graph->accesses[i].tile].region;
	return (struct npumem_region){ 0 };
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

static void refused(struct npuplan_graph *graph, const struct npuplan_tiling *tiling, int want,
		    const char *why)
{
	enum npuplan_layout layout = graph->layout;
	uint64_t size = graph->tensors[0].size;
	struct npuplan_error error = { "" };

	assert_int_equal(npuplan_graph_tile(graph, tiling, &error), want);
	assert_string_equal(error.text, why);
	/* The graph is as it was. */
	assert_int_equal(graph->step_count + graph->tile_count + graph->access_count, 0);
	assert_int_equal(graph->layout, layout);
	assert_int_equal(graph->tensors[0].size, size);
	assert_null(graph->tiling.ops);
}

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
	refused(graph, &(struct npuplan_tiling){ .columns = 2, .onchip = 1 << 20 }, -EINVAL,
		"columns of tiles need their rows");
	refused(graph, &(struct npuplan_tiling){ .layout = 3 }, -EINVAL, "there is no layout 3");
	choices[0].op = 1;
	refused(graph, &one, -EINVAL, "graph g has no operator 1");
	choices[0] = (struct npuplan_tile_choice){ .rows = 9 };
	refused(graph, &one, -EINVAL, "operator conv2d: tiles of 9 rows, it has 8");
	choices[0] = (struct npuplan_tile_choice){ .channels = 65 };
	refused(graph, &one, -EINVAL, "operator conv2d: tiles of 65 channels, it has 64");
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
	npuplan_graph_free(graph);
}

/*
 * One row x one channel: 3 rows x 64 x 3 bytes of input, 64 x 9 of weights, 3 of
 * output. Weights count though they are not planned.
 */
TEST(too_little_on_chip)
{
	const uint64_t least = 3 * 64 * 3 + 64 * 9 + 3;
	struct npuplan_tile_choice choice = { .rows = 4, .channels = 1 };
	struct npuplan_tiling tiling = { .onchip = least - 1 };
	uint32_t in, weights, out;
	struct npuplan_graph *graph = conv(&in, &weights, &out);
	struct npuplan_error error = { "" };

	refused(graph, &tiling, -ENOSPC,
		"operator conv2d in tiles of 1 rows x 1 channels: step 64 of 512 needs 1155 bytes on "
		"chip, 576 of them for in; there are 1154");
	tiling.ops = &choice;
	tiling.op_count = 1;
	tiling.onchip = 1500;
	refused(graph, &tiling, -ENOSPC,
		"operator conv2d in tiles of 4 rows x 1 channels: step 0 of 128 needs 1548 bytes on "
		"chip, 960 of them for in; there are 1500");
	/* In blocks of 32 channels: those of the weights alone are 32 x 64 x 9. */
	tiling = (struct npuplan_tiling){ .onchip = 19000, .layout = NPUPLAN_NC32HW32 };
	refused(graph, &tiling, -ENOSPC,
		"operator conv2d in tiles of 1 rows x 32 channels: step 2 of 16 needs 19104 bytes "
		"on chip, 18432 of them for w; there are 19000");
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

/* The cost of one tiling if it fits, or UINT64_MAX. */
static uint64_t cost_of(const struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
			const struct npuplan_tile_choice *choice)
{
	struct npuplan_tile_cost cost;

	assert_int_equal(npuplan_choice_cost(graph, tiling, choice, &cost), 0);
	return cost.report.onchip <= tiling->onchip ? cost.transfers : UINT64_MAX;
}

/* The least cost of all numbers of tiles, as equal as can be, in both orders. */
static uint64_t least_cost(const struct npuplan_graph *graph, const struct npuplan_tiling *tiling)
{
	uint64_t best = UINT64_MAX, cost;
	int64_t granule, units;
	struct npuplan_partition op;

	assert_true(npuplan_partition_init(&op, graph, 0, 0));
	granule = npuplan_granule(&op.output);
	units = (op.output.channels + granule - 1) / granule;
	for (int64_t n = 1; n <= op.output.rows; n++)
		for (int64_t m = 1; m <= units; m++)
			for (uint32_t order = 0; order < 2; order++) {
				struct npuplan_tile_choice choice = {
					.rows = (uint32_t)((op.output.rows + n - 1) / n),
					.channels = (uint32_t)((units + m - 1) / m * granule),
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
	uint32_t fitting = 0, cut = 0;

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
		cost = cost_of(graph, &tiling, &graph->tiling.ops[0]);
		if (cost > best + best / 20)
			fail_msg("round %d: %llu, there is %llu", round, (unsigned long long)cost,
				 (unsigned long long)best);
		npuplan_graph_free(graph);
	}
	assert_in_range(fitting, 75, 149);
	assert_in_range(cut, 25, 149);
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
