// SPDX-License-Identifier: MIT
/* Real networks (tests/graphs), in whole operators, in bands and in tiles: plans and bounds. */
#include "npuplan_build.h"

#include "models.h"

static const struct {
	const char *name;
	uint64_t greedy;
	uint64_t bound;
} models[] = {
	/* Arena of the best first fit of whole tensors, and the bound. */
	{ "densenet121.fused", 2107392, 2107392 },
	{ "fsrcnn_s_x2_512.fused", 9961472, 9699328 },
	{ "inception_v3.fused", 2074464, 2074464 },
	{ "mobilenet_v1.fused", 1204224, 1204224 },
	{ "mobilenet_v2.fused", 1505280, 1505280 },
	{ "resnet50", 1806336, 1806336 },
	{ "squeezenet1_1.fused", 982144, 982144 },
	{ "transformer_coarse_dropout", 3112960, 3112960 },
};

static struct npuplan_plan *planned(const struct npuplan_graph *graph, const char *planner)
{
	return build_plan_of(graph, &(struct npuplan_options){ .planner = planner });
}

/* NNC, the exact search and auto reach every bound. */
TEST(whole)
{
	static const char *const planners[] = { "nnc", "exact", "auto" };

	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
		AUTO_GRAPH struct npuplan_graph *graph = import_model(models[i].name);
		struct npuplan_plan *plan;

		assert_int_equal(npuplan_graph_tile_bands(graph, 1, false, NULL), 0);
		plan = planned(graph, "greedy");
		assert_int_equal(plan->info.arena_size, models[i].greedy);
		npuplan_plan_free(plan);
		for (size_t k = 0; k < sizeof(planners) / sizeof(planners[0]); k++) {
			plan = planned(graph, planners[k]);
			assert_int_equal(plan->info.lower_bound, models[i].bound);
			assert_int_equal(plan->info.arena_size, models[i].bound);
			assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_OPTIMAL);
			npuplan_plan_free(plan);
		}
	}
}

/* Bands never need more than whole operators; and the JSON comes back alike. */
TEST(bands)
{
	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
		AUTO_GRAPH struct npuplan_graph *graph = import_model(models[i].name);
		AUTO_PLAN struct npuplan_plan *plan = NULL, *read = NULL;
		struct npuplan_error error;
		AUTO_TEXT char *text = NULL, *again = NULL;

		assert_int_equal(npuplan_graph_tile_bands(graph, 8, false, NULL), 0);
		plan = planned(graph, "greedy");
		assert_true(plan->info.arena_size <= models[i].greedy);
		assert_true(plan->info.lower_bound <= models[i].bound);
		assert_int_equal(npuplan_plan_to_json(graph, plan, &text, NULL), 0);
		if (npuplan_plan_from_json(graph, text, strlen(text), &read, &error))
			fail_msg("%s: %s", graph->name, error.text);
		assert_int_equal(npuplan_verify_plan(graph, read, NULL, NULL), 0);
		assert_int_equal(npuplan_plan_to_json(graph, read, &again, NULL), 0);
		assert_string_equal(again, text);
	}
}

/*
 * In graphs that the tiler cuts every step fits, the same choices told again make the same steps,
 * and TAA reaches the lower bound of layer order in NHWC.
 */
TEST(tiler)
{
	static const char *const names[] = { "fsrcnn_s_x2_512.fused", "inception_v3.fused",
					     "mobilenet_v1.fused", "mobilenet_v2.fused",
					     "squeezenet1_1.fused" };

	for (size_t i = 0; i < 3 * sizeof(names) / sizeof(names[0]); i++) {
		struct npuplan_tiling tiling = { .onchip = UINT64_C(262144) << i % 3 };
		AUTO_GRAPH struct npuplan_graph *graph = import_model(names[i / 3]),
						*again = import_model(names[i / 3]);
		struct npuplan_tile_report *reports;
		struct npuplan_error error = { "" };
		AUTO_PLAN struct npuplan_plan *plan = NULL;

		if (npuplan_graph_tile(graph, &tiling, &error) ||
		    npuplan_graph_tile(again, &graph->tiling, &error) ||
		    npuplan_tiling_report(graph, &reports, &error))
			fail_msg("%s: %s", names[i / 3], error.text);
		assert_int_equal(again->step_count, graph->step_count);
		assert_int_equal(again->access_count, graph->access_count);
		for (uint32_t op = 0; op < graph->op_count; op++)
			assert_in_range(reports[op].onchip, 1, tiling.onchip);
		plan = planned(graph, "taa");
		assert_int_equal(plan->info.arena_size, plan->info.lower_bound);
		assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_OPTIMAL);
		free(reports);
	}
}

/* An arena with parameters holds all of them besides the other tensors. */
TEST(parameters)
{
	AUTO_GRAPH struct npuplan_graph *graph = import_model("mobilenet_v2.fused");
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	uint64_t weights = 0;

	for (uint32_t i = 0; i < graph->tensor_count; i++)
		if (graph->tensors[i].kind == NPUMEM_TENSOR_PARAMETER)
			weights += graph->tensors[i].size;
	assert_int_equal(npuplan_graph_tile_bands(graph, 1, true, NULL), 0);
	plan = planned(graph, NULL);
	assert_int_equal(plan->info.lower_bound, weights + 1505280);
	assert_true(plan->info.arena_size >= plan->info.lower_bound);
}

/*
 * With more conflicts than there is work for, there still is a plan, which needs no more than whole
 * tensors.
 */
TEST(tiles_of_rows)
{
	static const char *const planners[] = { "taa", "auto" };
	struct npuplan_tiling tiling = { .rows = 4, .with_parameters = true };
	AUTO_GRAPH struct npuplan_graph *graph = import_model("inception_v3.fused");
	struct npuplan_error error = { "" };
	struct npuplan_plan *plan, *greedy;

	if (npuplan_graph_tile(graph, &tiling, &error))
		fail_msg("%s", error.text);
	greedy = planned(graph, "greedy");
	for (size_t i = 0; i < sizeof(planners) / sizeof(planners[0]); i++) {
		plan = planned(graph, planners[i]);
		assert_in_range(plan->info.arena_size, plan->info.lower_bound,
				greedy->info.arena_size);
		npuplan_plan_free(plan);
	}
	npuplan_plan_free(greedy);
}

/* Limits end the search, not the plan. */
TEST(tiny_limits)
{
	static const struct npuplan_options limits[] = {
		{ .planner = "taa", .deadline_seconds = 1e-9 },
		{ .planner = "taa", .work_limit = 1 },
		{ .planner = "taa", .work_limit = 100 },
		{ .planner = "auto", .deadline_seconds = 1e-9 },
		{ .planner = "auto", .work_limit = 100 },
	};
	struct npuplan_tiling tiling = { .rows = 1 };
	AUTO_GRAPH struct npuplan_graph *graph = import_model("mobilenet_v1.fused");
	struct npuplan_error error = { "" };
	struct npuplan_plan *plan;

	if (npuplan_graph_tile(graph, &tiling, &error))
		fail_msg("%s", error.text);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (npuplan_plan(graph, &limits[i], &plan, &error))
			fail_msg("%s, case %zu: %s", limits[i].planner, i, error.text);
		assert_true(plan->info.arena_size >= plan->info.lower_bound);
		npuplan_plan_free(plan);
	}
}
