// SPDX-License-Identifier: MIT
/*
 * Operators that run patch by patch: their steps and what was added for them, what is reported, and
 * each refusal. That the right bytes come out: tests/property/prop_patches.c.
 */
#include "npuplan_build.h"

#include <errno.h>

#include "planners/cosma/time/clock.h"

/* Operators of network(), by index. */
enum { FIRST, MIDDLE, SUM, LAST, AFTER };
/* And its tensors. */
enum { IN, A, B, C, D, OUT };

/*
 * 12 x 12 pixels of 2 channels: FIRST and MIDDLE are 3 x 3 windows, SUM adds what both make, LAST
 * takes every other row and column of that, AFTER is element-wise.
 */
static struct npuplan_graph *network(void)
{
	struct npuplan_graph *graph = npuplan_graph_new("network");
	struct npuplan_op *op;

	build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, 12, 12, 2);
	build_spatial(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 1, 12, 12, 2);
	build_spatial(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, 1, 12, 12, 2);
	build_spatial(graph, "c", NPUMEM_TENSOR_INTERMEDIATE, 1, 12, 12, 2);
	build_spatial(graph, "d", NPUMEM_TENSOR_INTERMEDIATE, 1, 6, 6, 2);
	build_spatial(graph, "out", NPUMEM_TENSOR_OUTPUT, 1, 6, 6, 2);
	build_window(build_op(graph, "maxpool", IN, NPUMEM_NONE, NPUMEM_NONE, A), 3, 1, 1, 1);
	build_window(build_op(graph, "avgpool", A, NPUMEM_NONE, NPUMEM_NONE, B), 3, 1, 1, 1);
	op = build_op(graph, "add", A, B, NPUMEM_NONE, C);
	op->attrs.inplace = true;
	build_window(build_op(graph, "l2_pool", C, NPUMEM_NONE, NPUMEM_NONE, D), 1, 2, 1, 0);
	build_op(graph, "relu", D, NPUMEM_NONE, NPUMEM_NONE, OUT);
	return graph;
}

static int tile(struct npuplan_graph *graph, const struct npuplan_patches *patches, uint32_t count,
		struct npuplan_error *error)
{
	struct npuplan_patches copy[2];
	const struct npuplan_tiling tiling = { .patches = copy, .patch_count = count };

	memcpy(copy, patches, count * sizeof(*copy));
	return npuplan_graph_tile(graph, &tiling, error);
}

/* Tensor, offset and bytes of the n-th access of a step. */
static void assert_access(const struct npuplan_graph *graph, uint32_t step, uint32_t n,
			  uint32_t tensor, uint64_t offset, uint64_t bytes, uint32_t mode)
{
	const struct npumem_access *access = &graph->accesses[graph->steps[step].first_access + n];
	const struct npumem_tile *tile = &graph->tiles[access->tile];

	assert_int_equal(tile->tensor, tensor);
	assert_int_equal(tile->region.offset, offset);
	assert_int_equal(tile->region.length * tile->region.count[0], bytes);
	assert_int_equal(access->mode, mode);
}

static void assert_added(const struct npuplan_graph *graph, uint32_t n, const char *name,
			 uint32_t of, int64_t row, int64_t column, int64_t rows, int64_t columns)
{
	const struct npuplan_tensor *tensor = &graph->tensors[OUT + 1 + n];
	const struct npuplan_added *added = &graph->added[n];

	assert_string_equal(tensor->name, name);
	assert_int_equal(tensor->kind, NPUMEM_TENSOR_INTERMEDIATE);
	assert_int_equal(tensor->id, 106 + n);
	assert_int_equal(tensor->shape[1], rows);
	assert_int_equal(tensor->shape[2], columns);
	assert_int_equal(tensor->shape[3], 2);
	assert_int_equal(tensor->size, rows * columns * 2);
	assert_int_equal(added->of, of);
	assert_int_equal(added->kind, NPUPLAN_ADDED_PATCH);
	assert_int_equal(added->first_row, row);
	assert_int_equal(added->first_channel, 0);
	assert_int_equal(added->first_column, column);
}

/* All of FIRST to LAST for rows 0 to 2 of the output and columns 0 to 3, then for 4 and 5, ... */
TEST(steps)
{
	AUTO_GRAPH struct npuplan_graph *graph = network();
	struct npuplan_error error = { .text = "" };

	assert_int_equal(tile(graph, &(struct npuplan_patches){ FIRST, LAST, 3, 4 }, 1, &error), 0);
	/* Two by two patches of four operators, and the one that runs whole. */
	assert_int_equal(graph->step_count, 4 * 4 + 1);
	assert_int_equal(graph->added_count, 4 * 3);
	assert_int_equal(graph->steps[0].op, FIRST);
	assert_int_equal(graph->steps[3].op, LAST);
	assert_int_equal(graph->steps[4].op, FIRST);
	assert_int_equal(graph->steps[16].op, AFTER);
	assert_string_equal(graph->steps[4].name, "maxpool[1/4]");
	assert_int_equal(graph->steps[4].tile_index, 1);
	assert_int_equal(graph->steps[4].flags, NPUMEM_STEP_STAGED);
	/* Rows 0 and 2 and 4, columns 0 to 6 of c; of a, which MIDDLE reads too, one more each. */
	assert_added(graph, 0, "a.patch[0]", A, 0, 0, 6, 8);
	assert_added(graph, 1, "b.patch[1]", B, 0, 0, 5, 7);
	assert_added(graph, 2, "c.patch[2]", C, 0, 0, 5, 7);
	/* The last patch: rows 6 to 10, columns 8 to 10. */
	assert_added(graph, 9, "a.patch[9]", A, 5, 7, 7, 5);
	assert_added(graph, 10, "b.patch[10]", B, 6, 8, 5, 3);

	/* FIRST reads rows 0 to 6, columns 0 to 8 of the input and writes all of its patch. */
	assert_access(graph, 0, 0, IN, 0, (uint64_t)7 * 9 * 2, NPUMEM_ACCESS_READ);
	assert_access(graph, 0, 1, OUT + 1, 0, (uint64_t)6 * 8 * 2, NPUMEM_ACCESS_WRITE);
	assert_access(graph, 1, 0, OUT + 1, 0, (uint64_t)6 * 8 * 2, NPUMEM_ACCESS_READ);
	/* SUM reads less of a's patch than that has: 5 rows of 7 columns. */
	assert_access(graph, 2, 0, OUT + 1, 0, (uint64_t)5 * 7 * 2, NPUMEM_ACCESS_READ);
	/* In the last patch they begin at its second row and column. */
	assert_access(graph, 14, 0, OUT + 10, (5 + 1) * 2, (uint64_t)5 * 3 * 2, NPUMEM_ACCESS_READ);
	/* LAST writes its part of the real output. */
	assert_access(graph, 3, 1, D, 0, (uint64_t)3 * 4 * 2, NPUMEM_ACCESS_WRITE);
	assert_access(graph, 15, 1, D, (3 * 6 + 4) * 2, (uint64_t)3 * 2 * 2, NPUMEM_ACCESS_WRITE);

	npuplan_graph_untile(graph);
	assert_int_equal(graph->tensor_count, OUT + 1);
	assert_int_equal(graph->added_count, 0);
	assert_null(graph->added);
	assert_int_equal(graph->tiling.patch_count, 0);
}

/* In N,C,H,W rows and columns are other dimensions, and whole rows are no columns. */
TEST(planar)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_nchw();
	struct npuplan_error error = { .text = "" };
	const struct npuplan_tensor *patch;

	build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, 2, 8, 6);
	build_spatial(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 1, 2, 8, 6);
	build_spatial(graph, "out", NPUMEM_TENSOR_OUTPUT, 1, 2, 8, 6);
	build_op(graph, "relu", 0, NPUMEM_NONE, NPUMEM_NONE, 1);
	build_op(graph, "abs", 1, NPUMEM_NONE, NPUMEM_NONE, 2);
	assert_int_equal(tile(graph, &(struct npuplan_patches){ 0, 1, 3, 0 }, 1, &error), 0);
	assert_int_equal(graph->step_count, 6);
	patch = &graph->tensors[5];
	assert_int_equal(patch->shape[1], 2);
	assert_int_equal(patch->shape[2], 2);
	assert_int_equal(patch->shape[3], 6);
	assert_int_equal(graph->added[2].first_row, 6);
}

/* Nobody plans a tensor that is there in patches alone, and the plan is smaller for it. */
TEST(plan)
{
	AUTO_GRAPH struct npuplan_graph *graph = network();
	struct npuplan_error error = { .text = "" };
	struct npuplan_plan *plan = NULL;

	assert_int_equal(npuplan_graph_tile_bands(graph, 1, false, &error), 0);
	assert_int_equal(npuplan_plan(graph, NULL, &plan, &error), 0);
	/* a and b, and c takes one of the two. */
	assert_int_equal(plan->info.arena_size, 2 * 288);
	npuplan_plan_free(plan);
	npuplan_graph_untile(graph);
	assert_int_equal(tile(graph, &(struct npuplan_patches){ FIRST, LAST, 2, 2 }, 1, &error), 0);
	assert_int_equal(npuplan_plan(graph, NULL, &plan, &error), 0);
	assert_in_range(plan->info.arena_size, 288, 2 * 288 - 1);
	for (uint32_t i = 0; i < plan->placement_count; i++)
		assert_false(plan->placements[i].tensor >= A && plan->placements[i].tensor <= C);
	npuplan_plan_free(plan);
}

TEST(report)
{
	AUTO_GRAPH struct npuplan_graph *graph = network();
	struct npuplan_error error = { .text = "" };
	struct npuplan_tile_report *reports;

	assert_int_equal(tile(graph, &(struct npuplan_patches){ FIRST, LAST, 3, 4 }, 1, &error), 0);
	assert_int_equal(npuplan_tiling_report(graph, &reports, &error), 0);
	/* Patches of 6 x 8, 6 x 5, 7 x 8 and 7 x 5 of 12 x 12 pixels. */
	assert_int_equal(reports[FIRST].steps, 4);
	assert_int_equal(reports[FIRST].rows, 7);
	assert_int_equal(reports[FIRST].columns, 8);
	assert_int_equal(reports[FIRST].channels, 2);
	assert_int_equal(reports[FIRST].outputs, (48 + 30 + 56 + 35) * 2);
	assert_int_equal(reports[FIRST].operations, 288);
	assert_int_equal(reports[FIRST].again, (48 + 30 + 56 + 35 - 144) * 2);
	assert_int_equal(reports[FIRST].least, 2 * 288);
	/* What it reads for the patch of 7 x 8: 8 x 9 pixels. */
	assert_int_equal(reports[FIRST].onchip, (72 + 56) * 2);
	assert_int_equal(reports[LAST].rows, 3);
	assert_int_equal(reports[LAST].columns, 4);
	assert_int_equal(reports[LAST].again, 0);
	assert_int_equal(reports[LAST].outputs, 72);
	assert_int_equal(reports[AFTER].steps, 1);
	assert_int_equal(reports[AFTER].again, 0);
	assert_int_equal(reports[AFTER].operations, 72);
	free(reports);
}

/* What is computed again takes its time again: an element a microsecond. */
TEST(times)
{
	AUTO_GRAPH struct npuplan_graph *graph = network();
	const struct npuplan_machine machine = { .size = sizeof(machine), .compute = 1, .copy = 1 };
	struct npuplan_error error = { .text = "" };
	uint64_t times[17];

	assert_int_equal(tile(graph, &(struct npuplan_patches){ FIRST, LAST, 3, 4 }, 1, &error), 0);
	assert_int_equal(cosma_step_times(graph, &machine, times, &error), 0);
	assert_int_equal(times[0], 48 * 2 * 1000000);
	assert_int_equal(times[8], 56 * 2 * 1000000);
	assert_int_equal(times[3], 12 * 2 * 1000000);
	assert_int_equal(times[16], 36 * 2 * 1000000);
}

/* On chip each step has to fit; what is not in patches is cut as without them. */
TEST(onchip)
{
	AUTO_GRAPH struct npuplan_graph *graph = network();
	struct npuplan_patches patches = { FIRST, LAST, 3, 4 };
	struct npuplan_tiling tiling = { .patches = &patches, .patch_count = 1, .onchip = 255 };
	struct npuplan_error error = { .text = "" };

	/* The third patch reads 8 x 9 pixels and writes 7 x 8. */
	assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), -ENOSPC);
	assert_string_equal(error.text, "operator maxpool in patches: step 2 of 4 needs 256 bytes "
					"on chip; there are 255");
	assert_int_equal(graph->added_count, 0);
	assert_int_equal(graph->tensor_count, OUT + 1);
	tiling.onchip = 256;
	tiling.double_buffer = true;
	assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), -ENOSPC);
	assert_string_equal(error.text, "operator maxpool in patches: step 0 of 4 needs 444 bytes "
					"on chip; there are 256");
	tiling.double_buffer = false;
	assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), 0);
	/* Only of the operator that runs in no patches something was chosen. */
	assert_int_equal(graph->tiling.op_count, 1);
	assert_int_equal(graph->tiling.ops[0].op, AFTER);
}

static void refuse(const struct npuplan_patches *patches, uint32_t count,
		   void (*change)(struct npuplan_graph *graph), const char *text)
{
	AUTO_GRAPH struct npuplan_graph *graph = network();
	struct npuplan_error error = { .text = "" };

	if (change)
		change(graph);
	assert_int_equal(tile(graph, patches, count, &error), -EINVAL);
	assert_string_equal(error.text, text);
	assert_int_equal(graph->step_count, 0);
}

#define REFUSE(FIRST, LAST, ROWS, COLUMNS, CHANGE, TEXT) \
	refuse(&(struct npuplan_patches){ FIRST, LAST, ROWS, COLUMNS }, 1, CHANGE, TEXT)

TEST(sizes)
{
	const struct npuplan_patches twice[] = { { SUM, LAST, 3, 0 }, { LAST, AFTER, 3, 0 } };

	REFUSE(FIRST, 7, 3, 4, NULL, "graph network has no operator 7");
	REFUSE(LAST, SUM, 3, 4, NULL, "patches up to operator add begin behind it");
	REFUSE(FIRST, LAST, 0, 0, NULL,
	       "operator l2_pool: a patch of all rows and columns is none");
	REFUSE(FIRST, LAST, 7, 4, NULL, "operator l2_pool: patches of 7 rows, it has 6");
	REFUSE(FIRST, LAST, 3, 7, NULL, "operator l2_pool: patches of 7 columns, it has 6");
	refuse(twice, 2, NULL, "operator l2_pool: patches are said twice, or not in order");
}

static void make_output(struct npuplan_graph *graph)
{
	graph->tensors[B].kind = NPUMEM_TENSOR_OUTPUT;
}

static void make_state(struct npuplan_graph *graph)
{
	graph->tensors[C].kind = NPUMEM_TENSOR_STATE;
}

static void make_input(struct npuplan_graph *graph)
{
	graph->tensors[C].kind = NPUMEM_TENSOR_INPUT;
}

static void make_alias(struct npuplan_graph *graph)
{
	graph->tensors[OUT].flags |= NPUMEM_TENSOR_FLAG_ALIAS;
	graph->tensors[OUT].alias_of = D;
	graph->ops[AFTER].attrs.whole = true;
}

static void make_fixed(struct npuplan_graph *graph)
{
	graph->tensors[B].flags |= NPUMEM_TENSOR_FLAG_FIXED;
}

static void make_external(struct npuplan_graph *graph)
{
	graph->tensors[A].flags |= NPUMEM_TENSOR_FLAG_EXTERNAL;
}

static void write_twice(struct npuplan_graph *graph)
{
	graph->ops[AFTER].outputs[0] = B;
	graph->tensors[D].kind = NPUMEM_TENSOR_OUTPUT;
}

static void make_whole(struct npuplan_graph *graph)
{
	graph->ops[MIDDLE].attrs.whole = true;
}

static void make_vector(struct npuplan_graph *graph)
{
	graph->tensors[B].dim_count = 3;
}

static void need_rows(struct npuplan_graph *graph)
{
	strcpy(graph->ops[MIDDLE].type, "mean");
	graph->ops[MIDDLE].attrs = (struct npuplan_attrs){ .axis = 2 };
}

static void update(struct npuplan_graph *graph)
{
	graph->ops[SUM].inputs[0] = C;
}

static void read_before(struct npuplan_graph *graph)
{
	graph->ops[FIRST].inputs[0] = B;
}

static void read_by_nobody(struct npuplan_graph *graph)
{
	graph->ops[LAST].inputs[0] = B;
}

static void two_outputs(struct npuplan_graph *graph)
{
	uint32_t *outputs = realloc(graph->ops[MIDDLE].outputs, 2 * sizeof(*outputs));

	assert_non_null(outputs);
	outputs[1] = OUT;
	graph->ops[MIDDLE].outputs = outputs;
	graph->ops[MIDDLE].output_count = 2;
}

/* What an operator must not be, or its output. */
TEST(operators)
{
	REFUSE(FIRST, LAST, 3, 4, make_output,
	       "operator avgpool runs in patches: its output b is an output of the graph");
	REFUSE(FIRST, LAST, 3, 4, make_state,
	       "operator add runs in patches: its output is no image that could be cut");
	REFUSE(FIRST, LAST, 3, 4, make_input,
	       "operator add runs in patches: its output c is no intermediate");
	REFUSE(FIRST, AFTER, 3, 4, make_alias,
	       "operator l2_pool runs in patches: its output d is an alias, or has one");
	REFUSE(FIRST, LAST, 3, 4, make_fixed,
	       "operator avgpool runs in patches: its output b is external, or at a fixed offset");
	REFUSE(FIRST, LAST, 3, 4, make_external,
	       "operator maxpool runs in patches: its output a is external, or at a fixed offset");
	REFUSE(FIRST, LAST, 3, 4, write_twice,
	       "operator avgpool runs in patches: its output b is written by several operators");
	REFUSE(FIRST, LAST, 3, 4, make_whole,
	       "operator avgpool runs in patches: its output is no image that could be cut");
	REFUSE(FIRST, LAST, 3, 4, make_vector,
	       "operator avgpool runs in patches: its output is no image that could be cut");
	REFUSE(FIRST, LAST, 3, 4, need_rows,
	       "operator avgpool runs in patches: it needs whole rows of its inputs, so that no "
	       "columns can be cut");
	REFUSE(FIRST, LAST, 3, 4, update, "operator add runs in patches: it updates its output");
	REFUSE(FIRST, LAST, 3, 4, two_outputs,
	       "operator avgpool runs in patches: it has 2 outputs");
	REFUSE(FIRST, MIDDLE, 3, 4, NULL,
	       "operator maxpool runs in patches: operator add reads its output and is none of "
	       "those behind it that do");
	REFUSE(FIRST, LAST, 3, 4, read_before,
	       "operator avgpool runs in patches: operator maxpool reads its output and is none of "
	       "those behind it that do");
	REFUSE(FIRST, LAST, 3, 4, read_by_nobody,
	       "operator add runs in patches: nobody reads its output");
}

/* Patches do not go on from block to block. */
TEST(blocks)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("blocks");
	struct npuplan_patches patches = { 0, 1, 2, 2 };
	const struct npumem_carry carry = { .from = 1, .to = 2 };
	struct npuplan_error error = { .text = "" };

	build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, 4, 4, 2);
	build_spatial(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 1, 4, 4, 2);
	build_spatial(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, 1, 4, 4, 2);
	build_spatial(graph, "c", NPUMEM_TENSOR_INTERMEDIATE, 1, 4, 4, 2);
	build_spatial(graph, "out", NPUMEM_TENSOR_OUTPUT, 1, 4, 4, 2);
	build_op(graph, "relu", 0, NPUMEM_NONE, NPUMEM_NONE, 1);
	assert_int_equal(npuplan_graph_add_block(graph), 1);
	build_op(graph, "abs", 2, NPUMEM_NONE, NPUMEM_NONE, 3);
	build_op(graph, "neg", 3, NPUMEM_NONE, NPUMEM_NONE, 4);
	graph->ops[1].block = graph->ops[2].block = 1;
	assert_true(npuplan_graph_add_edge(graph, 0, 1, &carry, 1) >= 0);
	assert_true(npuplan_graph_add_edge(graph, 1, NPUMEM_NONE, NULL, 0) >= 0);
	assert_int_equal(tile(graph, &patches, 1, &error), -EINVAL);
	assert_string_equal(error.text,
			    "operator relu runs in patches: operator abs is of another block");
	patches = (struct npuplan_patches){ 1, 2, 2, 2 };
	assert_int_equal(tile(graph, &patches, 1, &error), 0);
	assert_int_equal(graph->blocks[1].step_count, 8);
	npuplan_graph_untile(graph);
	/* What an edge hands on is there whole. */
	graph->carries[0].from = 3;
	assert_int_equal(tile(graph, &patches, 1, &error), -EINVAL);
	assert_string_equal(error.text, "operator abs runs in patches: its output c is carried "
					"along an edge");
}

/* What excludes patches. */
TEST(beside)
{
	AUTO_GRAPH struct npuplan_graph *graph = network();
	struct npuplan_patches patches = { FIRST, LAST, 3, 4 };
	struct npuplan_tile_choice choice = { .op = SUM, .rows = 2 };
	int64_t reader = 1000 + MIDDLE;
	struct npuplan_clone clone = { .op = 1000 + FIRST, .readers = &reader, .reader_count = 1 };
	struct npuplan_tiling tiling = { .patches = &patches, .patch_count = 1 };
	struct npuplan_error error = { .text = "" };

	tiling.concat = NPUPLAN_CONCAT_JOIN;
	assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), -EINVAL);
	assert_string_equal(error.text, "where operators run in patches, concats copy");
	tiling.concat = NPUPLAN_CONCAT_COPY;
	tiling.ops = &choice;
	tiling.op_count = 1;
	assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), -EINVAL);
	assert_string_equal(error.text, "operator add runs in patches: it has no tiles of its own");
	tiling.op_count = 0;
	tiling.clones = &clone;
	tiling.clone_count = 1;
	assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), -EINVAL);
	assert_string_equal(error.text, "where operators run in patches, none is added");
	tiling.clone_count = 0;
	/* Of ids behind the largest there are too few. */
	graph->tensors[C].id = INT64_MAX - 1;
	assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), -EOVERFLOW);
	assert_string_equal(error.text,
			    "operator avgpool: there is no id left for what a patch needs of it");
	assert_int_equal(graph->added_count, 0);
	graph->tensors[C].id = 103;
	assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), 0);
}

/* ---------------------------------------------------------------------- found */

static void find(struct npuplan_graph *graph, uint32_t most_again, struct npuplan_tiling *tiling)
{
	struct npuplan_error error = { .text = "" };

	*tiling = (struct npuplan_tiling){ 0 };
	if (npuplan_patches_find(graph, tiling, most_again, &error))
		fail_msg("%s", error.text);
	assert_int_equal(graph->step_count, 0);
}

/* With nothing computed again only SUM and LAST can be in patches, and the peak stays. */
TEST(found)
{
	AUTO_GRAPH struct npuplan_graph *graph = network();
	struct npuplan_tiling tiling, twice;

	find(graph, 0, &tiling);
	assert_int_equal(tiling.patch_count, 0);
	assert_null(tiling.patches);
	find(graph, 200, &tiling);
	assert_int_equal(tiling.patch_count, 1);
	assert_int_equal(tiling.patches[0].first, FIRST);
	assert_int_equal(tiling.patches[0].last, LAST);
	find(graph, 200, &twice);
	assert_memory_equal(tiling.patches, twice.patches, sizeof(*tiling.patches));
	npuplan_tiling_fini(&twice);
	assert_int_equal(npuplan_graph_tile(graph, &tiling, NULL), 0);
	npuplan_tiling_fini(&tiling);
}

/* Of two images one after the other each has patches of its own. */
TEST(found_twice)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("two");
	struct npuplan_tiling tiling;

	build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, 4, 4, 2);
	for (uint32_t t = 1; t < 5; t++)
		build_spatial(graph, "t", NPUMEM_TENSOR_INTERMEDIATE, 1, 32, 32, 8);
	graph->tensors[2].shape[1] = graph->tensors[2].shape[2] = 4;
	graph->tensors[2].size = 4 * 4 * 8;
	build_spatial(graph, "out", NPUMEM_TENSOR_OUTPUT, 1, 4, 4, 8);
	build_op(graph, "resize_nearest", 0, NPUMEM_NONE, NPUMEM_NONE, 1);
	build_window(build_op(graph, "maxpool", 1, NPUMEM_NONE, NPUMEM_NONE, 2), 8, 8, 1, 0);
	build_op(graph, "softmax", 2, NPUMEM_NONE, NPUMEM_NONE, 3)->attrs.axis = 2;
	/* What needs whole rows and columns divides the two. */
	graph->tensors[3].shape[1] = graph->tensors[3].shape[2] = 4;
	graph->tensors[3].size = 4 * 4 * 8;
	graph->ops[2].attrs.whole = true;
	build_op(graph, "resize_nearest", 3, NPUMEM_NONE, NPUMEM_NONE, 4);
	build_window(build_op(graph, "maxpool", 4, NPUMEM_NONE, NPUMEM_NONE, 5), 8, 8, 1, 0);
	find(graph, 10, &tiling);
	assert_int_equal(tiling.patch_count, 2);
	assert_int_equal(tiling.patches[0].first, 0);
	assert_int_equal(tiling.patches[0].last, 1);
	assert_int_equal(tiling.patches[1].first, 3);
	assert_int_equal(tiling.patches[1].last, 4);
	npuplan_tiling_fini(&tiling);
}

TEST(not_looked_for)
{
	AUTO_GRAPH struct npuplan_graph *graph = network();
	struct npuplan_patches patches = { FIRST, LAST, 3, 4 };
	struct npuplan_tiling tiling = { .patches = &patches, .patch_count = 1 };
	struct npuplan_error error = { .text = "" };
	static const char alike[] =
		"patches are found where operators are cut alike, concats copy and "
		"nothing is added";

	assert_int_equal(npuplan_patches_find(graph, &tiling, 10, &error), -EINVAL);
	assert_string_equal(error.text, "patches are told already");
	tiling = (struct npuplan_tiling){ .onchip = 4096 };
	assert_int_equal(npuplan_patches_find(graph, &tiling, 10, &error), -EINVAL);
	assert_string_equal(error.text, alike);
	tiling = (struct npuplan_tiling){ .concat = NPUPLAN_CONCAT_FIT };
	assert_int_equal(npuplan_patches_find(graph, &tiling, 10, &error), -EINVAL);
	assert_string_equal(error.text, alike);
	tiling = (struct npuplan_tiling){ .layout = 7 };
	assert_int_equal(npuplan_patches_find(graph, &tiling, 10, &error), -EINVAL);
	assert_int_equal(npuplan_graph_tile_bands(graph, 1, false, NULL), 0);
	tiling = (struct npuplan_tiling){ 0 };
	assert_int_equal(npuplan_patches_find(graph, &tiling, 10, &error), -EINVAL);
	assert_string_equal(error.text, "graph network is tiled already");
}
