// SPDX-License-Identifier: MIT
/*
 * Planner cosma of graphs with loops and branches: it chooses the order of each block's steps.
 */
#include <errno.h>

#include "cosma_blocks.h"
#include "flow_build.h"
#include "models.h"

#define NONE NPUMEM_NONE

/* ---------------------------------------------------------------------- orders */

TEST(order_of_the_body)
{
	struct wide w = build_wide();
	const struct npuplan_options free_order = { 0 };
	const struct npuplan_options peak = { .objective = NPUPLAN_OBJECTIVE_PEAK };
	const struct npuplan_options least = { .schedule = NPUPLAN_SCHEDULE_LEAST_PEAK };
	const struct npuplan_options given = { .schedule = NPUPLAN_SCHEDULE_GIVEN };
	AUTO_PLAN struct npuplan_plan *plan =
		expect_plan(w.graph, &free_order, 520, 520, NPUMEM_PLAN_STATUS_OPTIMAL);

	/* The body's instances follow the first block's, which has no positions. */
	assert_int_equal(plan->blocks[1].block, 1);
	assert_int_equal(plan->blocks[1].position_count, 5);
	/* Of a and b one is through before the other one is made. */
	for (uint32_t i = 0; i < 5; i++) {
		uint32_t step = plan->positions[plan->blocks[1].first_position + i].index;

		assert_int_equal(step == 4, i == 4);
		assert_int_equal(step < 2, i == 0 || i == 2);
	}
	expect_optimal(w.graph, &peak, 520);
	expect_optimal(w.graph, &least, 520);
	expect_optimal(w.graph, &given, 910);
	npuplan_graph_free(w.graph);
}

/* An alignment is no matter of bytes that live, so that the bound does not know it. */
TEST(aligned)
{
	struct wide w = build_wide();
	const struct npuplan_options options = { .alignment = 64 };

	/* x, behind it b at 128, and then s and t, the last at 640. */
	npuplan_plan_free(expect_plan(w.graph, &options, 650, 520, NPUMEM_PLAN_STATUS_FEASIBLE));
	npuplan_graph_free(w.graph);
}

/* Arms of a branch: each has an order of its own. */
TEST(order_of_an_arm)
{
	struct npuplan_graph *graph = npuplan_graph_new("arms");
	uint32_t x = build_tensor(graph, "x", NPUMEM_TENSOR_INPUT, 1);
	uint32_t big[2], small[2], y[2], out;
	const struct npuplan_options free_order = { 0 };
	const struct npuplan_options given = { .schedule = NPUPLAN_SCHEDULE_GIVEN };

	for (int i = 0; i < 2; i++) {
		big[i] = build_tensor(graph, "big", NPUMEM_TENSOR_INTERMEDIATE, 20);
		small[i] = build_tensor(graph, "small", NPUMEM_TENSOR_INTERMEDIATE, 2);
		y[i] = build_tensor(graph, "y", NPUMEM_TENSOR_INTERMEDIATE, 2);
	}
	out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 2);
	build_block(graph);
	build_step(graph, 0, x, NONE, big[0]);
	build_step(graph, 0, x, NONE, big[1]);
	build_step(graph, 0, big[0], NONE, small[0]);
	build_step(graph, 0, big[1], NONE, small[1]);
	build_step(graph, 0, small[0], small[1], y[0]);
	build_block(graph);
	build_step(graph, 0, x, NONE, y[1]);
	build_block(graph);
	build_edge(graph, 0, 1, NONE, NONE);
	build_edge(graph, 0, 2, NONE, NONE);
	build_edge(graph, 1, 3, y[0], out);
	build_edge(graph, 2, 3, y[1], out);
	build_edge(graph, 3, NONE, NONE, NONE);
	/* Both big ones and a small one; then the second big one and both small ones. */
	expect_optimal(graph, &given, 42);
	expect_optimal(graph, &free_order, 24);
	npuplan_graph_free(graph);
}

/*
 * What reads state comes before the step that updates it, though another order would need less: r,
 * of 30 bytes, is made of the state as it was, and there is nothing else to do with it until the
 * end.
 */
TEST(state_keeps_its_readers)
{
	struct npuplan_graph *graph = npuplan_graph_new("state");
	uint32_t x = build_tensor(graph, "x", NPUMEM_TENSOR_INPUT, 1);
	uint32_t kept = build_tensor(graph, "state", NPUMEM_TENSOR_STATE, 10);
	uint32_t r = build_tensor(graph, "r", NPUMEM_TENSOR_INTERMEDIATE, 30);
	uint32_t wide = build_tensor(graph, "wide", NPUMEM_TENSOR_INTERMEDIATE, 50);
	uint32_t w = build_tensor(graph, "w", NPUMEM_TENSOR_INTERMEDIATE, 1);
	uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_INTERMEDIATE, 1);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 1);
	const struct npuplan_options free_order = { 0 };

	build_block(graph);
	build_step(graph, 0, kept, NONE, r);
	build_update(graph, kept);
	/* It wants the state as it is after the update. */
	build_step(graph, 0, kept, x, wide);
	build_step(graph, 0, wide, NONE, w);
	build_step(graph, 0, r, w, y);
	build_block(graph);
	build_step(graph, 0, y, NONE, out);
	build_edge(graph, 0, 1, NONE, NONE);
	build_edge(graph, 1, 1, NONE, NONE);
	build_edge(graph, 1, 2, NONE, NONE);
	build_edge(graph, 2, NONE, NONE, NONE);
	/* The state, x, which the next iteration needs, r, wide and w. */
	expect_optimal(graph, &free_order, 10 + 1 + 30 + 50 + 1);
	npuplan_graph_free(graph);
}

/* Nothing leaves the first block but what stays in it anyway: its order is searched, too. */
TEST(only_state_leaves)
{
	struct npuplan_graph *graph = npuplan_graph_new("kept");
	uint32_t kept = build_tensor(graph, "state", NPUMEM_TENSOR_STATE, 10);
	uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 30);
	uint32_t b = build_tensor(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, 5);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 1);
	const struct npuplan_options none = { 0 };

	build_step(graph, 0, NONE, NONE, a);
	build_step(graph, 0, a, NONE, b);
	build_update_part(graph, 0, b, kept, 0, 10);
	build_block(graph);
	build_step(graph, 0, kept, NONE, out);
	build_edge(graph, 0, 1, NONE, NONE);
	build_edge(graph, 1, NONE, NONE, NONE);
	expect_optimal(graph, &none, 45);
	npuplan_graph_free(graph);
}

/* State that is written anew, not updated: who reads the old value comes before that, too. */
TEST(state_written_anew)
{
	struct npuplan_graph *graph = npuplan_graph_new("anew");
	uint32_t x = build_tensor(graph, "x", NPUMEM_TENSOR_INPUT, 10);
	uint32_t kept = build_tensor(graph, "state", NPUMEM_TENSOR_STATE, 10);
	uint32_t r = build_tensor(graph, "r", NPUMEM_TENSOR_INTERMEDIATE, 30);
	uint32_t wide = build_tensor(graph, "wide", NPUMEM_TENSOR_INTERMEDIATE, 50);
	uint32_t w = build_tensor(graph, "w", NPUMEM_TENSOR_INTERMEDIATE, 1);
	uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_INTERMEDIATE, 1);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 1);
	const struct npuplan_options free_order = { 0 };

	build_step(graph, 0, kept, NONE, r);
	build_step(graph, 0, x, NONE, kept);
	build_step(graph, 0, kept, NONE, wide);
	build_step(graph, 0, wide, NONE, w);
	build_step(graph, 0, r, w, y);
	build_block(graph);
	build_step(graph, 0, y, NONE, out);
	build_edge(graph, 0, 1, NONE, NONE);
	build_edge(graph, 1, NONE, NONE, NONE);
	/* The state, r, wide and w. */
	expect_optimal(graph, &free_order, 10 + 30 + 50 + 1);
	npuplan_graph_free(graph);
}

/* ---------------------------------------------------------------------- budgets */

TEST(within_a_budget)
{
	struct wide w = build_wide();
	const struct npuplan_options wide_enough = { .arena_budget = 910 };
	const struct npuplan_options by_order = { .arena_budget = 909 };
	const struct npuplan_options least = { .arena_budget = 520 };
	const struct npuplan_options peak = { .arena_budget = 910,
					      .objective = NPUPLAN_OBJECTIVE_PEAK };

	/* Nothing moves in the graph's order, which is all that was asked for. */
	expect_optimal(w.graph, &wide_enough, 910);
	expect_optimal(w.graph, &by_order, 520);
	expect_optimal(w.graph, &least, 520);
	expect_optimal(w.graph, &peak, 520);
	npuplan_graph_free(w.graph);
}

/* With the least arena for an objective nothing moves. */
TEST(beyond_a_budget)
{
	struct wide w = build_wide();
	struct npuplan_options options = { .planner = "cosma",
					   .arena_budget = 519,
					   .objective = NPUPLAN_OBJECTIVE_PEAK };
	struct npuplan_error error = planning_error(w.graph, &options, -ENOSPC);

	assert_string_equal(error.text,
			    "without spilling 520 bytes are needed, the budget is 519, the lower "
			    "bound 520");
	assert_int_equal(error.status, NPUMEM_PLAN_STATUS_INFEASIBLE);
	assert_int_equal(error.needed, 520);
	assert_int_equal(error.step, NONE);
	options.schedule = NPUPLAN_SCHEDULE_GIVEN;
	options.arena_budget = 909;
	error = planning_error(w.graph, &options, -ENOSPC);
	assert_string_equal(error.text,
			    "without spilling 910 bytes are needed, the budget is 909, the lower "
			    "bound 910");
	assert_int_equal(error.status, NPUMEM_PLAN_STATUS_INFEASIBLE);
	/* Between the bound and what was found nobody knows. */
	options.schedule = NPUPLAN_SCHEDULE_FREE;
	options.arena_budget = 649;
	options.alignment = 64;
	error = planning_error(w.graph, &options, -ENOSPC);
	assert_string_equal(error.text,
			    "without spilling 650 bytes are needed, the budget is 649, the lower "
			    "bound 520");
	assert_int_equal(error.status, NPUMEM_PLAN_STATUS_UNKNOWN);
	assert_int_equal(error.needed, 650);
	npuplan_graph_free(w.graph);
}

/* ---------------------------------------------------------------------- bounds */

/* What is proved of loops whose blocks have one order is what auto proves. */
TEST(models)
{
	static const struct {
		const char *name;
		uint64_t arena;
	} models[] = {
		{ "loop_pool", 1392 },	 { "loop_conv", 1392 },	     { "loop_conv_after", 1792 },
		{ "loop_nested", 1792 }, { "loop_carry2", 2192 },    { "loop_carry3", 2992 },
		{ "scalar_power", 12 },	 { "scalar_power_sum", 16 }, { "case_of", 8 },
		{ "while_case_of", 8 },
	};
	const struct npuplan_options none = { 0 };

	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
		AUTO_GRAPH struct npuplan_graph *graph = import_model(models[i].name);

		assert_int_equal(npuplan_graph_tile_bands(graph, 1, true, NULL), 0);
		expect_optimal(graph, &none, models[i].arena);
	}
}

/* Bands of a loop's body: two tensors of the bound's order live band by band. */
TEST(bands)
{
	AUTO_GRAPH struct npuplan_graph *graph = import_model("loop_body");
	const struct npuplan_options free_order = { 0 };
	const struct npuplan_options given = { .schedule = NPUPLAN_SCHEDULE_GIVEN };

	assert_int_equal(npuplan_graph_tile_bands(graph, 2, true, NULL), 0);
	npuplan_plan_free(
		expect_plan(graph, &free_order, 57344, 35328, NPUMEM_PLAN_STATUS_FEASIBLE));
	expect_optimal(graph, &given, 57344);
}

/*
 * On the way into the loop x0 and x are one value, in the iterations after that they are two. The
 * block after the loop is entered from it alone, and needs both.
 */
TEST(two_names_of_a_value)
{
	struct npuplan_graph *graph = npuplan_graph_new("values");
	uint32_t x0 = build_tensor(graph, "x0", NPUMEM_TENSOR_INPUT, 100);
	uint32_t x = build_tensor(graph, "x", NPUMEM_TENSOR_INTERMEDIATE, 100);
	uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_INTERMEDIATE, 100);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 1);
	const struct npuplan_options none = { 0 };

	build_block(graph);
	build_step(graph, 0, x, NONE, y);
	build_block(graph);
	build_step(graph, 0, y, x0, out);
	build_edge(graph, 0, 1, x0, x);
	build_edge(graph, 1, 1, y, x);
	build_edge(graph, 1, 2, NONE, NONE);
	build_edge(graph, 2, NONE, NONE, NONE);
	expect_optimal(graph, &none, 300);
	npuplan_graph_free(graph);
}

/* The same with a block that runs once, so that the two names are one value in each instance. */
TEST(one_value_counts_once)
{
	struct npuplan_graph *graph = npuplan_graph_new("once");
	uint32_t x0 = build_tensor(graph, "x0", NPUMEM_TENSOR_INPUT, 100);
	uint32_t x = build_tensor(graph, "x", NPUMEM_TENSOR_INTERMEDIATE, 100);
	uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_INTERMEDIATE, 10);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 1);
	const struct npuplan_options none = { 0 };

	build_block(graph);
	build_step(graph, 0, x, x0, y);
	build_step(graph, 0, y, x0, out);
	build_edge(graph, 0, 1, x0, x);
	build_edge(graph, 1, NONE, NONE, NONE);
	expect_optimal(graph, &none, 111);
	npuplan_graph_free(graph);
}

/* What leaves a block stays until its end, so that it comes as late as can be. */
TEST(what_leaves_stays)
{
	struct npuplan_graph *graph = npuplan_graph_new("leaves");
	uint32_t x = build_tensor(graph, "x", NPUMEM_TENSOR_INPUT, 1);
	uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_INTERMEDIATE, 100);
	uint32_t wide = build_tensor(graph, "wide", NPUMEM_TENSOR_INTERMEDIATE, 60);
	uint32_t z = build_tensor(graph, "z", NPUMEM_TENSOR_INTERMEDIATE, 2);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 1);
	const struct npuplan_options free_order = { 0 };
	const struct npuplan_options given = { .schedule = NPUPLAN_SCHEDULE_GIVEN };

	build_step(graph, 0, x, NONE, y);
	build_step(graph, 0, x, NONE, wide);
	build_step(graph, 0, wide, NONE, z);
	build_block(graph);
	build_step(graph, 0, y, z, out);
	build_edge(graph, 0, 1, NONE, NONE);
	build_edge(graph, 1, NONE, NONE, NONE);
	/* y, and wide with z. In the other order x, y and z: the next block's are as many. */
	expect_optimal(graph, &given, 162);
	expect_optimal(graph, &free_order, 103);
	npuplan_graph_free(graph);
}

/* A block that updates what it has written itself needs its bytes once. */
TEST(updates)
{
	struct npuplan_graph *graph = npuplan_graph_new("update");
	uint32_t x = build_tensor(graph, "x", NPUMEM_TENSOR_INPUT, 10);
	uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_INTERMEDIATE, 10);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 1);
	const struct npuplan_options none = { 0 };
	const struct npuplan_options given = { .schedule = NPUPLAN_SCHEDULE_GIVEN };

	build_block(graph);
	build_step(graph, 0, x, NONE, y);
	build_update(graph, y);
	build_step(graph, 0, y, NONE, out);
	build_edge(graph, 0, 1, NONE, NONE);
	build_edge(graph, 1, NONE, NONE, NONE);
	expect_optimal(graph, &none, 20);
	expect_optimal(graph, &given, 20);
	npuplan_graph_free(graph);
}

TEST(fixed_offset)
{
	struct wide w = build_wide();
	const struct npuplan_options none = { 0 };

	w.graph->tensors[w.a].flags |= NPUMEM_TENSOR_FLAG_FIXED;
	w.graph->tensors[w.a].fixed_offset = 300;
	/* It ends at 700, whatever the order. */
	expect_optimal(w.graph, &none, 700);
	npuplan_graph_free(w.graph);
}

/* ---------------------------------------------------------------------- limits */

/* A limit that ends the search for an order leaves the plan of the graph's. */
TEST(limits)
{
	struct wide w = build_wide();
	const struct npuplan_options work = { .work_limit = 1 };
	const struct npuplan_options within = { .planner = "cosma",
						.work_limit = 1,
						.arena_budget = 519 };
	AUTO_PLAN struct npuplan_plan *moving = NULL;
	const struct npuplan_options deadline = { .planner = "cosma", .deadline_seconds = 1e-6 };
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	struct npuplan_error error;
	int err;

	npuplan_plan_free(expect_plan(w.graph, &work, 910, 0, NPUMEM_PLAN_STATUS_FEASIBLE));
	/* The instances have to be settled, or there is nothing to plan. */
	err = npuplan_plan(w.graph, &deadline, &plan, &error);
	if (err)
		assert_int_equal(err, -ETIMEDOUT);
	else
		assert_int_equal(plan->info.arena_size, 910);
	/* Transfers there are from the start, but nothing is proved of them. */
	moving = build_plan_of(w.graph, &within);
	assert_true(moving->info.arena_size <= 519);
	assert_true(moving->info.spill_bytes + moving->info.fill_bytes >= 20);
	assert_int_equal(moving->info.status, NPUMEM_PLAN_STATUS_FEASIBLE);
	play_paths(w.graph, moving);
	npuplan_graph_free(w.graph);
}

/* ---------------------------------------------------------------------- refusals */

TEST(refused)
{
	static const struct npuplan_bank banks[] = { { 100, 2 }, { 1000, 1 } };
	static const struct npuplan_cosma_options both = { .size = sizeof(both), .banks = banks };
	static const char *const engines[] = { "cosma-belady", "cosma-greedy" };
	struct wide w = build_wide();
	struct npuplan_options options = { .planner = "cosma", .cosma = &both };
	struct npuplan_budgets budgets;
	struct npuplan_error error;

	refuse_planning(w.graph, &options, -EOPNOTSUPP,
			"two banks are planned for graphs without loops and branches");
	options.cosma = NULL;
	options.schedule = NPUPLAN_SCHEDULE_TILED;
	refuse_planning(w.graph, &options, -EOPNOTSUPP,
			"operators take turns in graphs without loops and branches");
	options.schedule = NPUPLAN_SCHEDULE_FREE;
	for (size_t i = 0; i < 2; i++) {
		options.planner = engines[i];
		refuse_planning(w.graph, &options, -EOPNOTSUPP,
				"wide: this planner plans no loops and branches");
	}
	options.planner = "cosma";
	assert_int_equal(npuplan_budgets_find(w.graph, &options, &budgets, &error), -EOPNOTSUPP);
	assert_string_equal(error.text, "graph wide: budgets by name and integer programs are of "
					"graphs without loops and branches");
	w.graph->tensors[w.in].flags |= NPUMEM_TENSOR_FLAG_HOST;
	refuse_planning(
		w.graph, &options, -EOPNOTSUPP,
		"in: in a graph with loops and branches nothing is loaded from host memory");
	w.graph->tensors[w.in].flags = 0;
	expect_optimal(w.graph, &(struct npuplan_options){ 0 }, 520);
	npuplan_graph_free(w.graph);
}
