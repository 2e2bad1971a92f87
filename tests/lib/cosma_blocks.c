// SPDX-License-Identifier: MIT
#include "cosma_blocks.h"

#include <errno.h>

#include "flow_build.h"

#define NONE NPUMEM_NONE

struct wide build_wide(void)
{
	struct npuplan_graph *graph = npuplan_graph_new("wide");
	struct wide w = {
		.graph = graph,
		.in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 100),
		.x = build_tensor(graph, "x", NPUMEM_TENSOR_INTERMEDIATE, 100),
		.a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 400),
		.b = build_tensor(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, 400),
		.s = build_tensor(graph, "s", NPUMEM_TENSOR_INTERMEDIATE, 10),
		.t = build_tensor(graph, "t", NPUMEM_TENSOR_INTERMEDIATE, 10),
		.y = build_tensor(graph, "y", NPUMEM_TENSOR_INTERMEDIATE, 100),
		.out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 100),
	};

	build_block(graph);
	build_step(graph, 0, w.x, NONE, w.a);
	build_step(graph, 0, w.x, NONE, w.b);
	build_step(graph, 0, w.a, NONE, w.s);
	build_step(graph, 0, w.b, NONE, w.t);
	build_step(graph, 0, w.s, w.t, w.y);
	build_block(graph);
	build_step(graph, 0, w.y, NONE, w.out);
	build_edge(graph, 0, 1, w.in, w.x);
	build_edge(graph, 1, 1, NONE, NONE);
	build_edge(graph, 1, 2, NONE, NONE);
	build_edge(graph, 2, NONE, NONE, NONE);
	return w;
}

struct npuplan_plan *expect_plan(const struct npuplan_graph *graph,
				 const struct npuplan_options *asked, uint64_t arena,
				 uint64_t bound, uint32_t status)
{
	struct npuplan_options options = *asked;
	struct npuplan_plan *plan;

	options.planner = "cosma";
	plan = build_plan_of(graph, &options);
	assert_int_equal(plan->info.arena_size, arena);
	assert_int_equal(plan->info.lower_bound, bound);
	assert_int_equal(plan->info.status, status);
	assert_int_equal(plan->info.spill_bytes + plan->info.fill_bytes + plan->info.load_bytes, 0);
	assert_string_equal(plan->info.planner, "cosma");
	for (uint32_t i = 0; i < plan->position_count; i++)
		assert_int_equal(plan->positions[i].kind, NPUMEM_POSITION_STEP);
	play_paths(graph, plan);
	return plan;
}

struct npuplan_plan *expect_moves(const struct npuplan_graph *graph,
				  const struct npuplan_options *asked, uint64_t budget,
				  uint64_t spilled, uint64_t filled, uint64_t bound)
{
	struct npuplan_options options = *asked;
	struct npuplan_plan *plan;

	options.planner = "cosma";
	options.arena_budget = budget;
	plan = build_plan_of(graph, &options);
	assert_true(plan->info.arena_size <= budget);
	assert_int_equal(plan->info.spill_bytes, spilled);
	assert_int_equal(plan->info.fill_bytes, filled);
	assert_int_equal(plan->info.load_bytes, 0);
	assert_non_null(plan->cosma);
	assert_int_equal(plan->cosma->traffic_bound, bound);
	assert_int_equal(plan->info.status, bound == spilled + filled ?
						    NPUMEM_PLAN_STATUS_OPTIMAL :
						    NPUMEM_PLAN_STATUS_FEASIBLE);
	assert_int_equal(plan->view_count, 0);
	play_paths(graph, plan);
	return plan;
}

void expect_least(const struct npuplan_graph *graph, const struct npuplan_options *asked,
		  uint64_t budget, uint64_t moved)
{
	npuplan_plan_free(expect_moves(graph, asked, budget, moved, moved, 2 * moved));
}

void expect_infeasible(const struct npuplan_graph *graph, const struct npuplan_options *asked,
		       uint64_t budget, uint64_t needed, uint32_t step, const char *text)
{
	struct npuplan_options options = *asked;
	struct npuplan_error error;

	options.planner = "cosma";
	options.arena_budget = budget;
	error = planning_error(graph, &options, -ENOSPC);
	assert_string_equal(error.text, text);
	assert_int_equal(error.status, NPUMEM_PLAN_STATUS_INFEASIBLE);
	assert_int_equal(error.needed, needed);
	assert_int_equal(error.step, step);
}

void expect_unknown(const struct npuplan_graph *graph, const struct npuplan_options *asked,
		    uint64_t budget, uint64_t needed, const char *text)
{
	struct npuplan_options options = *asked;
	struct npuplan_error error;

	options.planner = "cosma";
	options.arena_budget = budget;
	error = planning_error(graph, &options, -ENOSPC);
	assert_string_equal(error.text, text);
	assert_int_equal(error.status, NPUMEM_PLAN_STATUS_UNKNOWN);
	assert_int_equal(error.needed, needed);
}

void expect_optimal(const struct npuplan_graph *graph, const struct npuplan_options *asked,
		    uint64_t arena)
{
	npuplan_plan_free(expect_plan(graph, asked, arena, arena, NPUMEM_PLAN_STATUS_OPTIMAL));
}
