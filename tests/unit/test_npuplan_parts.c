// SPDX-License-Identifier: MIT
/* COSMA on tiled graphs: parts of tensors, and what they save. */
#include <errno.h>

#include "npuplan_build.h"

#include "cosma/cosma.h"
#include "cosma/parts.h"
#include "cosma_oracle.h"

/* in -> conv 3x3 -> a -> relu -> out, all 1 x 8 x 2 x 1. */
static struct npuplan_graph *two_layers(uint32_t bands)
{
	struct npuplan_graph *graph = npuplan_graph_new("layers");
	uint32_t in = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, 8, 2, 1);
	uint32_t a = build_spatial(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 1, 8, 2, 1);
	uint32_t out = build_spatial(graph, "out", NPUMEM_TENSOR_OUTPUT, 1, 8, 2, 1);
	struct npuplan_error error;

	build_window(build_op(graph, "conv2d", in, NPUMEM_NONE, NPUMEM_NONE, a), 3, 1, 1, 1);
	build_op(graph, "relu", a, NPUMEM_NONE, NPUMEM_NONE, out);
	if (npuplan_graph_tile_bands(graph, bands, false, &error))
		fail_msg("%s", error.text);
	return graph;
}

static int cut(const struct npuplan_graph *graph, struct npuplan_parts *parts,
	       struct npuplan_error *error)
{
	struct npuplan_checked checked;
	int err;

	assert_int_equal(npuplan_checked_init(&checked, graph, error), 0);
	err = npuplan_parts_init(parts, graph, checked.cells, error);
	npuplan_checked_fini(&checked);
	return err;
}

static void test_bands(void **state)
{
	struct npuplan_graph *graph = two_layers(2);
	struct npuplan_parts parts;

	assert_int_equal(cut(graph, &parts, NULL), 0);
	/* Of the input the rows that one band reads, those that both do, and the others. */
	assert_int_equal(parts.count, 3 + 2 + 2);
	assert_int_equal(parts.part[0].tensor, 0);
	assert_int_equal(parts.part[0].first, 0);
	assert_int_equal(parts.part[0].length, 3 * 2);
	assert_int_equal(parts.part[1].first, 3 * 2);
	assert_int_equal(parts.part[1].length, 2 * 2);
	assert_int_equal(parts.part[2].first, 5 * 2);
	assert_int_equal(parts.part[2].length, 3 * 2);
	assert_string_equal(parts.graph->tensors[1].name, "in[6..9]");
	assert_int_equal(parts.graph->tensors[1].kind, NPUMEM_TENSOR_INPUT);
	assert_int_equal(parts.part[4].tensor, 1);
	assert_int_equal(parts.part[4].first, 8);
	assert_int_equal(parts.graph->tensors[5].kind, NPUMEM_TENSOR_OUTPUT);
	/* Steps are operators: the first band reads two parts. */
	assert_int_equal(parts.graph->op_count, 4);
	assert_int_equal(parts.graph->ops[0].input_count, 2);
	assert_int_equal(parts.graph->ops[0].inputs[1], 1);
	assert_int_equal(parts.graph->ops[0].output_count, 1);
	assert_int_equal(parts.graph->ops[1].input_count, 2);
	assert_string_equal(parts.graph->ops[1].name, "conv2d[1/2]");
	npuplan_parts_fini(&parts);
	npuplan_graph_free(graph);
}

/* A tensor that is read and written whole is one part, named as it is. */
static void test_whole(void **state)
{
	struct npuplan_graph *graph = two_layers(1);
	struct npuplan_parts parts;

	assert_int_equal(cut(graph, &parts, NULL), 0);
	assert_int_equal(parts.count, 3);
	assert_string_equal(parts.graph->tensors[1].name, "a");
	assert_int_equal(parts.part[1].length, 16);
	npuplan_parts_fini(&parts);
	npuplan_graph_free(graph);
}

/* Two whole tensors are 32 bytes; bands of two rows need far less, and nothing spills. */
static void test_less(void **state)
{
	struct npuplan_graph *graph = two_layers(4);
	struct npuplan_cosma_options options = { 0 };
	struct npuplan_cosma_budgets budgets;
	struct npuplan_cosma_plan plan;
	struct cosma_oracle oracle;
	struct npuplan_parts parts;

	assert_int_equal(cut(graph, &parts, NULL), 0);
	assert_int_equal(npuplan_cosma_budgets(parts.graph, &options, &budgets, NULL), 0);
	/* Four rows of the input, two of a. */
	assert_int_equal(budgets.needed, 12);
	options.budget = budgets.needed;
	assert_int_equal(npuplan_cosma(parts.graph, &options, &plan, NULL), 0);
	assert_int_equal(plan.status, NPUMEM_PLAN_OPTIMAL);
	assert_int_equal(plan.spill, 0);
	if (!cosma_oracle_run(&oracle, parts.graph, &options, &plan))
		fail_msg("%s", oracle.why);
	npuplan_cosma_plan_free(&plan);
	npuplan_parts_fini(&parts);
	npuplan_graph_free(graph);
}

static void test_external(void **state)
{
	struct npuplan_graph *graph = two_layers(2);
	struct npuplan_parts parts;

	graph->tensors[0].flags = NPUMEM_TENSOR_EXTERNAL;
	assert_int_equal(cut(graph, &parts, NULL), 0);
	assert_int_equal(parts.count, 2 + 2);
	assert_int_equal(parts.graph->ops[0].input_count, 0);
	npuplan_parts_fini(&parts);
	npuplan_graph_free(graph);
}

static void refused(const struct npuplan_graph *graph, int err, const char *text)
{
	struct npuplan_error error = { "" };
	struct npuplan_parts parts;

	assert_int_equal(cut(graph, &parts, &error), err);
	assert_string_equal(error.text, text);
	assert_null(parts.graph);
	assert_null(parts.part);
}

static void test_refused(void **state)
{
	struct npuplan_graph *graph = two_layers(2);

	graph->tensors[1].flags = NPUMEM_TENSOR_FIXED;
	refused(graph, -EOPNOTSUPP, "a: cosma plans no fixed offsets");
	npuplan_graph_free(graph);

	graph = two_layers(1);
	graph->tensors[0].kind = NPUMEM_TENSOR_STATE;
	refused(graph, -EOPNOTSUPP, "in: cosma plans no state");
	npuplan_graph_free(graph);

	graph = two_layers(1);
	for (uint32_t a = 0; a < graph->access_count; a++)
		if (graph->tiles[graph->accesses[a].tile].tensor == 1 &&
		    graph->accesses[a].mode == NPUMEM_ACCESS_READ)
			graph->accesses[a].mode = NPUMEM_ACCESS_UPDATE;
	refused(graph, -EOPNOTSUPP, "a: cosma plans no updates in place");
	npuplan_graph_free(graph);

	graph = two_layers(1);
	assert_true(npuplan_graph_add_edge(graph, 0, NPUMEM_NONE, NULL, 0) >= 0);
	refused(graph, -EOPNOTSUPP, "graph layers: cosma plans no loops and branches");
	npuplan_graph_free(graph);
}

/* Two tensors of 2^15 + 1 rows, a step a row. */
static void test_too_many(void **state)
{
	struct npuplan_graph *graph = npuplan_graph_new("rows");
	uint32_t in = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, 32769, 1, 1);
	uint32_t out = build_spatial(graph, "out", NPUMEM_TENSOR_OUTPUT, 1, 32769, 1, 1);

	build_op(graph, "relu", in, NPUMEM_NONE, NPUMEM_NONE, out);
	assert_int_equal(npuplan_graph_tile_bands(graph, 32769, false, NULL), 0);
	refused(graph, -E2BIG, "graph rows is cut into more than 65536 parts: cosma takes no more");
	npuplan_graph_free(graph);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bands),	cmocka_unit_test(test_whole),
		cmocka_unit_test(test_less),	cmocka_unit_test(test_external),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
