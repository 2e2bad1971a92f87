// SPDX-License-Identifier: MIT
/*
 * Planner cosma of graphs with loops and branches: it chooses the order of each block's steps, and
 * transfers if they do not fit.
 */
#include <errno.h>

#include "npuplan_build.h"

#include "flow_run.h"
#include "models.h"

#define NONE NPUMEM_NONE

static void add_edge(struct npuplan_graph *graph, uint32_t from, uint32_t to, uint32_t carry_from,
		     uint32_t carry_to)
{
	struct npumem_carry carry = { carry_from, carry_to };

	assert_true(npuplan_graph_add_edge(graph, from, to, &carry, carry_from != NONE) >= 0);
}

static void add_block(struct npuplan_graph *graph)
{
	assert_true(npuplan_graph_add_block(graph) >= 0);
}

/* Adds a step that updates all of a tensor. */
static void add_update(struct npuplan_graph *graph, uint32_t tensor)
{
	const struct npumem_region region = { .length = graph->tensors[tensor].size,
					      .count = { 1, 1, 1 } };
	struct npuplan_step step = { .op = NONE };
	struct npumem_access access = {
		.tile = npuplan_graph_add_tile(graph, tensor, &region),
		.mode = NPUMEM_ACCESS_UPDATE,
		.inplace = NONE,
	};

	assert_true(npuplan_graph_add_step(graph, &step, &access, 1) >= 0);
}

/* Adds a step for each half of a tensor; the second writes @to, the first what nobody needs. */
static void build_halves(struct npuplan_graph *graph, uint32_t from, uint32_t to)
{
	uint64_t half = graph->tensors[from].size / 2;
	uint32_t unused = build_tensor(graph, "unused", NPUMEM_TENSOR_INTERMEDIATE, 1);

	for (uint32_t k = 0; k < 2; k++) {
		const struct npumem_region part = { .offset = k * half,
						    .length = half,
						    .count = { 1, 1, 1 } };
		const struct npumem_region byte = { .length = 1, .count = { 1, 1, 1 } };
		struct npuplan_step step = { .op = NONE };
		struct npumem_access accesses[2] = {
			{ .tile = npuplan_graph_add_tile(graph, from, &part),
			  .mode = NPUMEM_ACCESS_READ,
			  .inplace = NONE },
			{ .tile = npuplan_graph_add_tile(graph, k ? to : unused, &byte),
			  .mode = NPUMEM_ACCESS_WRITE,
			  .inplace = NONE },
		};

		assert_true(npuplan_graph_add_step(graph, &step, accesses, 2) >= 0);
	}
}

/*
 * struct wide - block 0 is empty; block 1 is a loop, x <- in on the way in; block 2 is out = f(y).
 * The loop's body makes a and b (400 bytes each) of x (100), which each iteration needs, then s of
 * a and t of b (10 each), and y (100) of these. In this order x, a, b and s live at once: 910
 * bytes. If s is made before b, x, b, s and t are the most: 520.
 */
struct wide {
	struct npuplan_graph *graph;
	uint32_t in, x, a, b, s, t, y, out;
};

static struct wide build_wide(void)
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

	add_block(graph);
	build_step(graph, 0, w.x, NONE, w.a);
	build_step(graph, 0, w.x, NONE, w.b);
	build_step(graph, 0, w.a, NONE, w.s);
	build_step(graph, 0, w.b, NONE, w.t);
	build_step(graph, 0, w.s, w.t, w.y);
	add_block(graph);
	build_step(graph, 0, w.y, NONE, w.out);
	add_edge(graph, 0, 1, w.in, w.x);
	add_edge(graph, 1, 1, NONE, NONE);
	add_edge(graph, 1, 2, NONE, NONE);
	add_edge(graph, 2, NONE, NONE, NONE);
	return w;
}

static void play(const struct npuplan_graph *graph, const struct npuplan_plan *plan)
{
	for (uint32_t edges = 1; edges < 20; edges += 3) {
		struct flow_run run = { .seed = edges, .edges = edges, .inferences = 3 };

		if (!flow_run(graph, plan, &run))
			fail_msg("%s: %s", graph->name, run.text);
		assert_true(run.steps);
	}
}

/* Plans by cosma, and holds arena, bound and status against what is expected. */
static struct npuplan_plan *expect(const struct npuplan_graph *graph,
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
	play(graph, plan);
	return plan;
}

/*
 * Plans by cosma within a budget, and holds against what is expected: what is spilled, and filled
 * again, in all instances, once each, and the bound of both.
 */
static struct npuplan_plan *expect_moves(const struct npuplan_graph *graph,
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
	play(graph, plan);
	return plan;
}

static void expect_least(const struct npuplan_graph *graph, const struct npuplan_options *asked,
			 uint64_t budget, uint64_t moved)
{
	npuplan_plan_free(expect_moves(graph, asked, budget, moved, moved, 2 * moved));
}

/* Holds against what is expected why there is no plan within a budget; @step: that it names. */
static void expect_infeasible(const struct npuplan_graph *graph,
			      const struct npuplan_options *asked, uint64_t budget, uint64_t needed,
			      uint32_t step, const char *text)
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

static void expect_unknown(const struct npuplan_graph *graph, const struct npuplan_options *asked,
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

static void expect_optimal(const struct npuplan_graph *graph, const struct npuplan_options *asked,
			   uint64_t arena)
{
	npuplan_plan_free(expect(graph, asked, arena, arena, NPUMEM_PLAN_STATUS_OPTIMAL));
}

/* ---------------------------------------------------------------------- orders */

TEST(order_of_the_body)
{
	struct wide w = build_wide();
	const struct npuplan_options free_order = { 0 };
	const struct npuplan_options peak = { .objective = NPUPLAN_OBJECTIVE_PEAK };
	const struct npuplan_options least = { .schedule = NPUPLAN_SCHEDULE_LEAST_PEAK };
	const struct npuplan_options given = { .schedule = NPUPLAN_SCHEDULE_GIVEN };
	AUTO_PLAN struct npuplan_plan *plan =
		expect(w.graph, &free_order, 520, 520, NPUMEM_PLAN_STATUS_OPTIMAL);

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
	npuplan_plan_free(expect(w.graph, &options, 650, 520, NPUMEM_PLAN_STATUS_FEASIBLE));
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
	add_block(graph);
	build_step(graph, 0, x, NONE, big[0]);
	build_step(graph, 0, x, NONE, big[1]);
	build_step(graph, 0, big[0], NONE, small[0]);
	build_step(graph, 0, big[1], NONE, small[1]);
	build_step(graph, 0, small[0], small[1], y[0]);
	add_block(graph);
	build_step(graph, 0, x, NONE, y[1]);
	add_block(graph);
	add_edge(graph, 0, 1, NONE, NONE);
	add_edge(graph, 0, 2, NONE, NONE);
	add_edge(graph, 1, 3, y[0], out);
	add_edge(graph, 2, 3, y[1], out);
	add_edge(graph, 3, NONE, NONE, NONE);
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

	add_block(graph);
	build_step(graph, 0, kept, NONE, r);
	add_update(graph, kept);
	/* It wants the state as it is after the update. */
	build_step(graph, 0, kept, x, wide);
	build_step(graph, 0, wide, NONE, w);
	build_step(graph, 0, r, w, y);
	add_block(graph);
	build_step(graph, 0, y, NONE, out);
	add_edge(graph, 0, 1, NONE, NONE);
	add_edge(graph, 1, 1, NONE, NONE);
	add_edge(graph, 1, 2, NONE, NONE);
	add_edge(graph, 2, NONE, NONE, NONE);
	/* The state, x, which the next iteration needs, r, wide and w. */
	expect_optimal(graph, &free_order, 10 + 1 + 30 + 50 + 1);
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
	add_block(graph);
	build_step(graph, 0, y, NONE, out);
	add_edge(graph, 0, 1, NONE, NONE);
	add_edge(graph, 1, NONE, NONE, NONE);
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

/* ---------------------------------------------------------------------- transfers */

/* While b, s and t are there, as little as has to is away: s, or x. */
TEST(moved_in_the_body)
{
	struct wide w = build_wide();
	const struct npuplan_options free_order = { 0 };
	const struct npuplan_options least = { .schedule = NPUPLAN_SCHEDULE_LEAST_PEAK };
	const struct npuplan_options given = { .schedule = NPUPLAN_SCHEDULE_GIVEN };

	expect_least(w.graph, &free_order, 519, 10);
	expect_least(w.graph, &least, 510, 10);
	/*
	 * Beside a and s there is no room for x, which is filled twice: b is made of it, and the
	 * next iteration needs it. Nor is there room for s while b is made.
	 */
	npuplan_plan_free(expect_moves(w.graph, &free_order, 509, 110, 210, 320));
	npuplan_plan_free(expect_moves(w.graph, &free_order, 500, 110, 210, 320));
	expect_infeasible(w.graph, &free_order, 499, 500, 0,
			  "infeasible: step 0 needs 500 bytes, the budget is 499");
	/* In the graph's order s is made while a and b are there. */
	expect_least(w.graph, &given, 909, 100);
	npuplan_graph_free(w.graph);
}

/* The model that the verifier's own tests have, at the least arena that a step leaves. */
TEST(loop_body)
{
	AUTO_GRAPH struct npuplan_graph *graph = import_model("loop_body");
	const struct npuplan_options none = { 0 };
	AUTO_PLAN struct npuplan_plan *plan = NULL;

	assert_int_equal(npuplan_graph_tile_bands(graph, 1, true, NULL), 0);
	expect_optimal(graph, &none, 69632);
	plan = expect_moves(graph, &none, 61440, 8192, 8192, 16384);
	assert_int_equal(plan->info.arena_size, 61440);
	assert_int_equal(plan->info.host_size, 8192);
	expect_infeasible(graph, &none, 61439, 61440, 1,
			  "infeasible: reduce needs 61440 bytes, the budget is 61439");
}

/* Two values that change places in each iteration; one of them goes away. */
TEST(carried_tensor)
{
	AUTO_GRAPH struct npuplan_graph *graph = import_model("loop_carry2");
	const struct npuplan_options none = { 0 };

	assert_int_equal(npuplan_graph_tile_bands(graph, 1, false, NULL), 0);
	expect_optimal(graph, &none, 1600);
	expect_least(graph, &none, 1599, 400);
	expect_least(graph, &none, 1200, 400);
}

/* A parameter stays where it is, though the verifier would let it go: less may be possible. */
TEST(parameters_stay)
{
	AUTO_GRAPH struct npuplan_graph *graph = import_model("loop_carry2");
	const struct npuplan_options none = { 0 };

	assert_int_equal(npuplan_graph_tile_bands(graph, 1, true, NULL), 0);
	npuplan_plan_free(expect_moves(graph, &none, 2191, 400, 400, 32));
}

/* One arm of a branch needs more than there is; nothing moves in the other one. */
TEST(moved_in_an_arm)
{
	struct npuplan_graph *graph = npuplan_graph_new("arms");
	uint32_t x = build_tensor(graph, "x", NPUMEM_TENSOR_INPUT, 30);
	uint32_t kept = build_tensor(graph, "kept", NPUMEM_TENSOR_INTERMEDIATE, 20);
	uint32_t big = build_tensor(graph, "big", NPUMEM_TENSOR_INTERMEDIATE, 70);
	uint32_t y[2], z, out;
	const struct npuplan_options none = { 0 };
	AUTO_PLAN struct npuplan_plan *plan = NULL;

	y[0] = build_tensor(graph, "y", NPUMEM_TENSOR_INTERMEDIATE, 5);
	y[1] = build_tensor(graph, "y", NPUMEM_TENSOR_INTERMEDIATE, 5);
	z = build_tensor(graph, "z", NPUMEM_TENSOR_INTERMEDIATE, 5);
	out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 5);
	build_step(graph, 0, x, NONE, kept);
	add_block(graph);
	build_step(graph, 0, x, NONE, big);
	build_step(graph, 0, big, NONE, y[0]);
	add_block(graph);
	build_step(graph, 0, x, NONE, y[1]);
	add_block(graph);
	build_step(graph, 0, z, kept, out);
	add_edge(graph, 0, 1, NONE, NONE);
	add_edge(graph, 0, 2, NONE, NONE);
	add_edge(graph, 1, 3, y[0], z);
	add_edge(graph, 2, 3, y[1], z);
	add_edge(graph, 3, NONE, NONE, NONE);
	/* Without a copy z, and so y, has one place in both arms: beside x, kept and big. */
	npuplan_plan_free(expect(graph, &none, 125, 120, NPUMEM_PLAN_STATUS_FEASIBLE));
	/* Then less is moved if there is a place for all without, which is not proved. */
	npuplan_plan_free(expect_moves(graph, &none, 124, 20, 20, 0));
	plan = expect_moves(graph, &none, 119, 20, 20, 40);
	for (uint32_t i = 0; i < plan->block_count; i++)
		assert_int_equal(plan->blocks[i].position_count,
				 plan->blocks[i].block == 1 ? 4 : 1);
	expect_infeasible(graph, &none, 99, 100, 1,
			  "infeasible: step 1 needs 100 bytes, the budget is 99");
	npuplan_graph_free(graph);
}

/*
 * A loop in a loop: what the outer one needs, and the inner one does not touch, goes away in each
 * inner iteration, and is there when an edge is crossed.
 */
TEST(moved_in_a_nested_loop)
{
	struct npuplan_graph *graph = npuplan_graph_new("nested");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 10);
	uint32_t kept = build_tensor(graph, "kept", NPUMEM_TENSOR_INTERMEDIATE, 10);
	uint32_t x = build_tensor(graph, "x", NPUMEM_TENSOR_INTERMEDIATE, 10);
	uint32_t big = build_tensor(graph, "big", NPUMEM_TENSOR_INTERMEDIATE, 50);
	uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_INTERMEDIATE, 10);
	uint32_t z = build_tensor(graph, "z", NPUMEM_TENSOR_INTERMEDIATE, 1);
	uint32_t next = build_tensor(graph, "next", NPUMEM_TENSOR_INTERMEDIATE, 10);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 10);
	const struct npuplan_options none = { 0 };

	build_step(graph, 0, in, NONE, kept);
	/* The inner loop: x <- y. Around it x <- next. */
	add_block(graph);
	build_step(graph, 0, x, NONE, big);
	build_step(graph, 0, big, NONE, y);
	add_block(graph);
	build_step(graph, 0, y, NONE, z);
	build_step(graph, 0, z, kept, next);
	add_block(graph);
	build_step(graph, 0, next, NONE, out);
	add_edge(graph, 0, 1, in, x);
	add_edge(graph, 1, 1, y, x);
	add_edge(graph, 1, 2, NONE, NONE);
	add_edge(graph, 2, 1, next, x);
	add_edge(graph, 2, 3, NONE, NONE);
	add_edge(graph, 3, NONE, NONE, NONE);
	expect_optimal(graph, &none, 70);
	expect_least(graph, &none, 69, 10);
	expect_least(graph, &none, 60, 10);
	expect_infeasible(graph, &none, 59, 60, 1,
			  "infeasible: step 1 needs 60 bytes, the budget is 59");
	npuplan_graph_free(graph);
}

/* An output that is there before the last block is moved in it, and is back where it was. */
TEST(output_moved_in_the_last_block)
{
	struct npuplan_graph *graph = npuplan_graph_new("last");
	uint32_t x = build_tensor(graph, "x", NPUMEM_TENSOR_INPUT, 1);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 10);
	uint32_t big = build_tensor(graph, "big", NPUMEM_TENSOR_INTERMEDIATE, 50);
	uint32_t small = build_tensor(graph, "small", NPUMEM_TENSOR_OUTPUT, 1);
	const struct npuplan_options none = { 0 };

	build_step(graph, 0, x, NONE, out);
	add_block(graph);
	build_step(graph, 0, x, NONE, big);
	build_step(graph, 0, big, NONE, small);
	add_edge(graph, 0, 1, NONE, NONE);
	add_edge(graph, 1, NONE, NONE, NONE);
	expect_optimal(graph, &none, 61);
	expect_least(graph, &none, 60, 10);
	expect_infeasible(graph, &none, 50, 51, 1,
			  "infeasible: step 1 needs 51 bytes, the budget is 50");
	npuplan_graph_free(graph);
}

/* Each step would fit, but not what enters with the inference. */
TEST(entry_beyond_a_budget)
{
	struct npuplan_graph *graph = npuplan_graph_new("entry");
	uint32_t x = build_tensor(graph, "x", NPUMEM_TENSOR_INPUT, 10);
	uint32_t other = build_tensor(graph, "other", NPUMEM_TENSOR_INPUT, 10);
	uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_INTERMEDIATE, 1);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 1);
	const struct npuplan_options none = { 0 };

	build_step(graph, 0, x, NONE, y);
	add_block(graph);
	build_step(graph, 0, y, other, out);
	add_edge(graph, 0, 1, NONE, NONE);
	add_edge(graph, 1, NONE, NONE, NONE);
	expect_least(graph, &none, 20, 10);
	expect_infeasible(graph, &none, 19, 20, NONE,
			  "infeasible: what enters or leaves block 0 (from step 0) needs 20 bytes, "
			  "the budget is 19");
	npuplan_graph_free(graph);
}

/* Halves of x are used apart; it goes away as a whole, and comes back so. */
TEST(moved_as_a_whole)
{
	struct npuplan_graph *graph = npuplan_graph_new("halves");
	uint32_t x = build_tensor(graph, "x", NPUMEM_TENSOR_INPUT, 20);
	uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 1);
	uint32_t big = build_tensor(graph, "big", NPUMEM_TENSOR_INTERMEDIATE, 50);
	uint32_t small = build_tensor(graph, "small", NPUMEM_TENSOR_INTERMEDIATE, 1);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 1);
	const struct npuplan_options none = { 0 };

	build_halves(graph, x, a);
	build_step(graph, 0, a, NONE, big);
	build_step(graph, 0, big, NONE, small);
	add_block(graph);
	build_step(graph, 0, x, small, out);
	add_edge(graph, 0, 0, NONE, NONE);
	add_edge(graph, 0, 1, NONE, NONE);
	add_edge(graph, 1, NONE, NONE, NONE);
	expect_optimal(graph, &none, 71);
	/* Half of it would be enough. */
	npuplan_plan_free(expect_moves(graph, &none, 70, 20, 20, 20));
	npuplan_graph_free(graph);
}

/*
 * An input that is, by another name, an output as well: the inference begins and ends with the same
 * bytes, in the same block, so that no place is left for stays in between.
 */
TEST(input_and_output_stays)
{
	struct npuplan_graph *graph = npuplan_graph_new("both");
	uint32_t x = build_tensor(graph, "x", NPUMEM_TENSOR_INPUT, 10);
	uint32_t big = build_tensor(graph, "big", NPUMEM_TENSOR_INTERMEDIATE, 50);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 1);
	const struct npuplan_tensor same = {
		.name = (char[]){ "same" },
		.size = 10,
		.align = 1,
		.kind = NPUMEM_TENSOR_OUTPUT,
		.flags = NPUMEM_TENSOR_FLAG_ALIAS,
		.alias_of = x,
		.id = 99,
	};
	const struct npuplan_options none = { 0 };

	assert_true(npuplan_graph_add_tensor(graph, &same) >= 0);
	build_step(graph, 0, x, NONE, big);
	build_step(graph, 0, big, NONE, out);
	add_edge(graph, 0, 0, NONE, NONE);
	add_edge(graph, 0, NONE, NONE, NONE);
	expect_optimal(graph, &none, 61);
	expect_unknown(graph, &none, 60, 61,
		       "unknown: no plan within 60 bytes was found; with the transfers that were, "
		       "all blocks together need 61");
	npuplan_graph_free(graph);
}

/* A fixed offset holds for every stay. */
TEST(moved_to_its_fixed_offset)
{
	struct wide w = build_wide();
	const struct npuplan_options none = { 0 };
	AUTO_PLAN struct npuplan_plan *plan = NULL;

	w.graph->tensors[w.x].flags |= NPUMEM_TENSOR_FLAG_FIXED;
	w.graph->tensors[w.x].fixed_offset = 400;
	plan = expect_moves(w.graph, &none, 509, 110, 210, 320);
	for (uint32_t i = 0; i < plan->placement_count; i++)
		if (plan->placements[i].tensor == w.x)
			assert_int_equal(plan->placements[i].offset, 400);
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
	npuplan_plan_free(expect(graph, &free_order, 57344, 35328, NPUMEM_PLAN_STATUS_FEASIBLE));
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

	add_block(graph);
	build_step(graph, 0, x, NONE, y);
	add_block(graph);
	build_step(graph, 0, y, x0, out);
	add_edge(graph, 0, 1, x0, x);
	add_edge(graph, 1, 1, y, x);
	add_edge(graph, 1, 2, NONE, NONE);
	add_edge(graph, 2, NONE, NONE, NONE);
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

	add_block(graph);
	build_step(graph, 0, x, x0, y);
	build_step(graph, 0, y, x0, out);
	add_edge(graph, 0, 1, x0, x);
	add_edge(graph, 1, NONE, NONE, NONE);
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
	add_block(graph);
	build_step(graph, 0, y, z, out);
	add_edge(graph, 0, 1, NONE, NONE);
	add_edge(graph, 1, NONE, NONE, NONE);
	/* y, and wide with z. In the other order x, y and z: the next block's are as many. */
	expect_optimal(graph, &given, 162);
	expect_optimal(graph, &free_order, 103);
	npuplan_graph_free(graph);
}

/* A block that updates what it has written itself is left in its order, and nothing is proved. */
TEST(not_proved)
{
	struct npuplan_graph *graph = npuplan_graph_new("update");
	uint32_t x = build_tensor(graph, "x", NPUMEM_TENSOR_INPUT, 10);
	uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_INTERMEDIATE, 10);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 1);
	const struct npuplan_options none = { 0 };
	const struct npuplan_options given = { .schedule = NPUPLAN_SCHEDULE_GIVEN };

	add_block(graph);
	build_step(graph, 0, x, NONE, y);
	add_update(graph, y);
	build_step(graph, 0, y, NONE, out);
	add_edge(graph, 0, 1, NONE, NONE);
	add_edge(graph, 1, NONE, NONE, NONE);
	/* What is proved is the first block's: x. */
	npuplan_plan_free(expect(graph, &none, 20, 10, NPUMEM_PLAN_STATUS_FEASIBLE));
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

	npuplan_plan_free(expect(w.graph, &work, 910, 0, NPUMEM_PLAN_STATUS_FEASIBLE));
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
	play(w.graph, moving);
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
