// SPDX-License-Identifier: MIT
/* Tilings: what each step reads and writes. */
#include "npuplan_build.h"

#include <errno.h>

#include "random.h"
#include "rows.h"

#define SEED 20260202u

/* The rows of a tensor that a step accesses in a mode; their count is 0 if there are none. */
static struct npuplan_rows step_rows(const struct npuplan_graph *graph, uint32_t step,
				     uint32_t tensor, uint32_t mode)
{
	const struct npuplan_step *s = &graph->steps[step];
	struct npuplan_rows rows = { 0, 0 };
	struct npuplan_spatial spatial;
	uint32_t found = 0;

	assert_true(npuplan_spatial(graph, tensor, &spatial));
	for (uint32_t i = s->first_access; i < s->first_access + s->access_count; i++) {
		const struct npumem_tile *tile = &graph->tiles[graph->accesses[i].tile];

		if (tile->tensor != tensor || graph->accesses[i].mode != mode)
			continue;
		assert_true(region_rows(&spatial, &tile->region, &rows));
		found++;
	}
	assert_in_range(found, 0, 1);
	return rows;
}

static void assert_rows(const struct npuplan_graph *graph, uint32_t step, uint32_t tensor,
			uint32_t mode, int64_t first, int64_t count)
{
	struct npuplan_rows rows = step_rows(graph, step, tensor, mode);

	assert_int_equal(rows.count, count);
	if (count)
		assert_int_equal(rows.first, first);
}

#define READS(GRAPH, STEP, TENSOR, FIRST, COUNT) \
	assert_rows(GRAPH, STEP, TENSOR, NPUMEM_ACCESS_READ, FIRST, COUNT)
#define WRITES(GRAPH, STEP, TENSOR, FIRST, COUNT) \
	assert_rows(GRAPH, STEP, TENSOR, NPUMEM_ACCESS_WRITE, FIRST, COUNT)

/* NCHW shapes as graph JSON has them: 1 x channels x rows x 3. */
static uint32_t rows_tensor(struct npuplan_graph *graph, uint32_t kind, int64_t rows)
{
	return build_spatial(graph, "t", kind, 1, 2, rows, 3);
}

static void tile(struct npuplan_graph *graph, uint32_t bands)
{
	struct npuplan_error error;
	int err = npuplan_graph_tile_bands(graph, bands, false, &error);

	if (err)
		fail_msg("tiling failed: %s", error.text);
}

TEST(whole)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 4);
	uint32_t weights = build_tensor(graph, "w", NPUMEM_TENSOR_PARAMETER, 9);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 2);
	struct npuplan_error error;

	build_op(graph, "linear", in, weights, NPUMEM_NONE, out);
	assert_int_equal(npuplan_graph_tile_bands(graph, 1, false, &error), 0);
	assert_int_equal(graph->tiling.bands, 1);
	assert_int_equal(graph->step_count, 1);
	assert_int_equal(graph->steps[0].op, 0);
	assert_int_equal(graph->steps[0].flags, 0);
	assert_string_equal(graph->steps[0].name, "linear");
	assert_int_equal(graph->access_count, 2);
	assert_int_equal(graph->tiles[0].tensor, in);
	assert_int_equal(graph->tiles[0].region.length, 4);
	assert_int_equal(graph->accesses[1].mode, NPUMEM_ACCESS_WRITE);
	/* A graph can be tiled only once. */
	assert_int_equal(npuplan_graph_tile_bands(graph, 1, false, &error), -EINVAL);
	ASSERT_TEXT(error, "tiled already");
}

TEST(whole_with_parameters)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 4);
	uint32_t weights = build_tensor(graph, "w", NPUMEM_TENSOR_PARAMETER, 9);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 2);

	build_op(graph, "linear", in, weights, NPUMEM_NONE, out);
	assert_int_equal(npuplan_graph_tile_bands(graph, 1, true, NULL), 0);
	assert_true(graph->tiling.with_parameters);
	assert_int_equal(graph->access_count, 3);
	assert_int_equal(graph->tiles[graph->accesses[1].tile].tensor, weights);
}

/* x + x reads x once; a state that is read and written is updated. */
TEST(merged_accesses)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 4);
	uint32_t cell = build_tensor(graph, "cell", NPUMEM_TENSOR_STATE, 4);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 4);

	build_op(graph, "add", in, in, NPUMEM_NONE, out);
	build_op(graph, "lstm", in, cell, NPUMEM_NONE, cell);
	assert_int_equal(npuplan_graph_tile_bands(graph, 1, false, NULL), 0);
	assert_int_equal(graph->steps[0].access_count, 2);
	assert_int_equal(graph->steps[1].access_count, 2);
	assert_int_equal(graph->accesses[3].mode, NPUMEM_ACCESS_UPDATE);
	assert_int_equal(graph->tile_count, 3);
}

TEST(refusals)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	struct npuplan_error error;
	uint32_t weights, none = NPUMEM_NONE;
	struct npuplan_op op = { .name = (char *)(uintptr_t)"constant", .input_count = 1 };

	assert_int_equal(npuplan_graph_tile_bands(graph, 1, false, &error), -EINVAL);
	ASSERT_TEXT(error, "no operators");
	assert_int_equal(npuplan_graph_tile_bands(graph, 0, false, &error), -EINVAL);
	ASSERT_TEXT(error, "bands: 0");
	weights = build_tensor(graph, "w", NPUMEM_TENSOR_PARAMETER, 4);
	op.inputs = &weights;
	build_op(graph, "identity", weights, none, none,
		 build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 4));
	assert_true(npuplan_graph_add_op(graph, &op) >= 0);
	assert_int_equal(npuplan_graph_tile_bands(graph, 1, false, &error), -EINVAL);
	ASSERT_TEXT(error, "operator constant accesses no tensor");
	/* Nothing of the failed tiling is left. */
	assert_int_equal(graph->step_count + graph->tile_count + graph->access_count, 0);
	assert_int_equal(graph->blocks[0].step_count, 0);
	assert_int_equal(npuplan_graph_tile_bands(graph, 1, true, &error), 0);
}

/* 2^20 accesses are the verifier's limit: 101 a band pass it in band 10382. */
TEST(too_many)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t out = rows_tensor(graph, NPUMEM_TENSOR_OUTPUT, 12000), inputs[100];
	struct npuplan_op op = {
		.name = (char *)(uintptr_t)"mingle",
		.inputs = inputs,
		.outputs = &out,
		.input_count = 100,
		.output_count = 1,
	};
	struct npuplan_error error;

	for (int i = 0; i < 100; i++)
		inputs[i] = rows_tensor(graph, NPUMEM_TENSOR_INPUT, 1);
	assert_true(npuplan_graph_add_op(graph, &op) >= 0);
	assert_int_equal(npuplan_graph_tile_bands(graph, 12000, false, &error), -E2BIG);
	ASSERT_TEXT(error, "operator mingle: the tiling has more than 1048576 accesses");
	assert_int_equal(graph->step_count, 0);
}

/* 3x3 convolution of 8 rows in 2 bands; its weights are left out. */
TEST(conv)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t in = rows_tensor(graph, NPUMEM_TENSOR_INPUT, 8);
	uint32_t weights = build_spatial(graph, "w", NPUMEM_TENSOR_PARAMETER, 2, 2, 3, 3);
	uint32_t out = rows_tensor(graph, NPUMEM_TENSOR_OUTPUT, 8);

	build_window(build_op(graph, "conv2d", in, weights, NPUMEM_NONE, out), 3, 1, 1, 1);
	tile(graph, 2);
	assert_int_equal(graph->tiling.bands, 2);
	assert_int_equal(graph->step_count, 2);
	assert_string_equal(graph->steps[1].name, "conv2d[1/2]");
	assert_int_equal(graph->steps[1].tile_index, 1);
	assert_int_equal(graph->steps[1].flags, NPUMEM_STEP_STAGED);
	READS(graph, 0, in, 0, 5);
	READS(graph, 1, in, 3, 5);
	WRITES(graph, 0, out, 0, 4);
	WRITES(graph, 1, out, 4, 4);
}

/* A window that its importer could not tell (spatial 0) reads all of its input. */
TEST(conv_unknown_window)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t in = rows_tensor(graph, NPUMEM_TENSOR_INPUT, 8);
	uint32_t out = rows_tensor(graph, NPUMEM_TENSOR_OUTPUT, 8);

	build_op(graph, "conv2d", in, NPUMEM_NONE, NPUMEM_NONE, out);
	tile(graph, 2);
	READS(graph, 1, in, 0, 8);
	WRITES(graph, 1, out, 4, 4);
}

/* Fewer rows than bands: one band a row. */
TEST(few_rows)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t in = rows_tensor(graph, NPUMEM_TENSOR_INPUT, 3);
	uint32_t out = rows_tensor(graph, NPUMEM_TENSOR_OUTPUT, 3);

	build_op(graph, "relu", in, NPUMEM_NONE, NPUMEM_NONE, out);
	tile(graph, 8);
	assert_int_equal(graph->step_count, 3);
	READS(graph, 2, in, 2, 1);
}

/* The same rows of operands of as many rows; one row is broadcast to all. */
TEST(elementwise)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t a = rows_tensor(graph, NPUMEM_TENSOR_INPUT, 6);
	uint32_t b = rows_tensor(graph, NPUMEM_TENSOR_INPUT, 1);
	uint32_t c = rows_tensor(graph, NPUMEM_TENSOR_INPUT, 7);
	uint32_t out = rows_tensor(graph, NPUMEM_TENSOR_OUTPUT, 6);

	build_op(graph, "add", a, b, c, out);
	tile(graph, 3);
	READS(graph, 1, a, 2, 2);
	READS(graph, 1, b, 0, 1);
	/* partial_inputs: which rows of the seven are read is not known. */
	READS(graph, 1, c, 0, 7);
}

TEST(concat)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t a = rows_tensor(graph, NPUMEM_TENSOR_INPUT, 4);
	uint32_t b = rows_tensor(graph, NPUMEM_TENSOR_INPUT, 4);
	uint32_t wide = build_spatial(graph, "wide", NPUMEM_TENSOR_OUTPUT, 1, 4, 4, 3);
	uint32_t tall = rows_tensor(graph, NPUMEM_TENSOR_OUTPUT, 8);
	uint32_t broad = build_spatial(graph, "broad", NPUMEM_TENSOR_OUTPUT, 1, 2, 4, 6);

	build_op(graph, "cat", a, b, NPUMEM_NONE, wide)->attrs.axis = 1;
	build_op(graph, "cat", a, b, NPUMEM_NONE, tall)->attrs.axis = 2;
	build_op(graph, "cat", a, b, NPUMEM_NONE, broad)->attrs.axis = 3;
	tile(graph, 4);
	/* Channels: row to row. */
	READS(graph, 1, a, 1, 1);
	READS(graph, 1, b, 1, 1);
	/* Rows: bands 0 and 1 are of a, 2 and 3 of b. */
	READS(graph, 4, a, 0, 2);
	READS(graph, 4, b, 0, 0);
	READS(graph, 7, a, 0, 0);
	READS(graph, 7, b, 2, 2);
	/* Columns: not told apart, so read whole. */
	READS(graph, 8, a, 0, 4);
}

TEST(pad_and_softmax)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t in = rows_tensor(graph, NPUMEM_TENSOR_INPUT, 4);
	uint32_t padded = rows_tensor(graph, NPUMEM_TENSOR_OUTPUT, 8);
	uint32_t channels = rows_tensor(graph, NPUMEM_TENSOR_OUTPUT, 4);
	uint32_t rows = rows_tensor(graph, NPUMEM_TENSOR_OUTPUT, 4);
	struct npuplan_op *pad = build_op(graph, "pad", in, NPUMEM_NONE, NPUMEM_NONE, padded);

	pad->attrs.spatial = 2;
	pad->attrs.pad_begin[0] = 2;
	pad->attrs.pad_end[0] = 2;
	build_op(graph, "softmax", in, NPUMEM_NONE, NPUMEM_NONE, channels)->attrs.axis = 1;
	build_op(graph, "softmax", in, NPUMEM_NONE, NPUMEM_NONE, rows)->attrs.axis = 2;
	tile(graph, 4);
	READS(graph, 0, in, 0, 0);
	READS(graph, 1, in, 0, 2);
	READS(graph, 2, in, 2, 2);
	READS(graph, 4, in, 0, 1);
	READS(graph, 8, in, 0, 4);
}

/*
 * Some operators read whole inputs for a band of the output, and those whose outputs have no rows
 * are one step.
 */
TEST(whole_inputs)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t in = rows_tensor(graph, NPUMEM_TENSOR_INPUT, 4);
	uint32_t out = rows_tensor(graph, NPUMEM_TENSOR_OUTPUT, 4);
	uint32_t flat = build_tensor(graph, "flat", NPUMEM_TENSOR_OUTPUT, 10);

	build_op(graph, "never_heard_of", in, NPUMEM_NONE, NPUMEM_NONE, out);
	build_op(graph, "linear", in, NPUMEM_NONE, NPUMEM_NONE, flat);
	tile(graph, 2);
	assert_int_equal(graph->step_count, 3);
	READS(graph, 1, in, 0, 4);
	WRITES(graph, 1, out, 2, 2);
	READS(graph, 2, in, 0, 4);
	assert_string_equal(graph->steps[2].name, "linear");
}

/* Two outputs of unlike rows cannot share bands. */
TEST(unlike_outputs)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t in = rows_tensor(graph, NPUMEM_TENSOR_INPUT, 4);
	uint32_t outputs[2] = { rows_tensor(graph, NPUMEM_TENSOR_OUTPUT, 4),
				rows_tensor(graph, NPUMEM_TENSOR_OUTPUT, 2) };
	struct npuplan_op op = {
		.type = (char *)(uintptr_t)"relu",
		.inputs = &in,
		.outputs = outputs,
		.input_count = 1,
		.output_count = 2,
	};

	assert_true(npuplan_graph_add_op(graph, &op) >= 0);
	tile(graph, 2);
	assert_int_equal(graph->step_count, 1);
	READS(graph, 0, in, 0, 4);
}

/* One band is whole operators. */
TEST(one_band)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	uint32_t in = rows_tensor(graph, NPUMEM_TENSOR_INPUT, 4);
	uint32_t out = rows_tensor(graph, NPUMEM_TENSOR_OUTPUT, 4);

	build_op(graph, "relu", in, NPUMEM_NONE, NPUMEM_NONE, out);
	tile(graph, 1);
	assert_int_equal(graph->tiling.bands, 1);
	assert_int_equal(graph->steps[0].flags, 0);
}

/* Whether output row o of a convolution, pool or transposed one needs row i. */
static bool depends(const struct npuplan_attrs *attrs, int64_t o, int64_t i)
{
	for (int64_t k = 0; k < attrs->kernel[0]; k++) {
		int64_t at = k * attrs->dilation[0] - attrs->pad_begin[0];

		if (attrs->transposed ? i * attrs->stride[0] + at == o :
					o * attrs->stride[0] + at == i)
			return true;
	}
	return false;
}

/* Read ranges are exactly the rows needed; write ranges make up the output. */
static void check_bands(const struct npuplan_graph *graph, uint32_t in, int64_t in_rows,
			uint32_t out, int64_t out_rows)
{
	const struct npuplan_attrs *attrs = &graph->ops[0].attrs;
	int64_t next = 0;

	for (uint32_t s = 0; s < graph->step_count; s++) {
		struct npuplan_rows w = step_rows(graph, s, out, NPUMEM_ACCESS_WRITE);
		struct npuplan_rows r = step_rows(graph, s, in, NPUMEM_ACCESS_READ);
		int64_t first = INT64_MAX, last = -1;

		assert_int_equal(w.first, next);
		assert_true(w.count > 0);
		next += w.count;
		for (int64_t o = w.first; o < w.first + w.count; o++)
			for (int64_t i = 0; i < in_rows; i++)
				if (depends(attrs, o, i)) {
					first = i < first ? i : first;
					last = i > last ? i : last;
				}
		assert_int_equal(r.count, last < 0 ? 0 : last - first + 1);
		if (last >= 0)
			assert_int_equal(r.first, first);
	}
	assert_int_equal(next, out_rows);
}

TEST(bands_against_brute_force)
{
	static const char *const types[] = { "conv2d", "maxpool", "avgpool", "conv_transpose2d" };
	uint64_t random = SEED;

	print_message("# seed %u\n", SEED);
	for (int round = 0; round < 3000; round++) {
		struct npuplan_graph *graph = build_nchw();
		int64_t in_rows = random_range(&random, 1, 20);
		int32_t kernel = random_range(&random, 1, 7), stride = random_range(&random, 1, 4);
		int32_t dilation = random_range(&random, 1, 3), pad = random_range(&random, 0, 4);
		uint32_t type = random_range(&random, 0, 3), bands = random_range(&random, 2, 9);
		bool nhwc = random_range(&random, 0, 1), transposed = type == 3;
		int64_t extent = (int64_t)(kernel - 1) * dilation + 1;
		int64_t out_rows = transposed ? (in_rows - 1) * stride + extent - 2 * pad :
						(in_rows + 2 * pad - extent) / stride + 1;
		struct npuplan_op *op;
		uint32_t in, out;

		if (out_rows < 1 || (!transposed && in_rows + 2 * pad < extent)) {
			npuplan_graph_free(graph);
			continue;
		}
		graph->layout = random_range(&random, 0, 1) ? NPUPLAN_NCHW : NPUPLAN_NHWC;
		graph->source_layout = nhwc ? NPUPLAN_NHWC : NPUPLAN_NCHW;
		in = nhwc ? build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, in_rows, 3, 2) :
			    build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, 2, in_rows, 3);
		out = nhwc ? build_spatial(graph, "out", NPUMEM_TENSOR_OUTPUT, 1, out_rows, 3, 2) :
			     build_spatial(graph, "out", NPUMEM_TENSOR_OUTPUT, 1, 2, out_rows, 3);
		op = build_op(graph, types[type], in, NPUMEM_NONE, NPUMEM_NONE, out);
		build_window(op, kernel, stride, dilation, pad);
		op->attrs.transposed = transposed;
		tile(graph, bands);
		check_bands(graph, in, in_rows, out, out_rows);
		npuplan_graph_free(graph);
	}
}
