// SPDX-License-Identifier: MIT
/* Planner cosma of graphs with loops and branches: what it moves if they do not fit. */
#include "cosma_blocks.h"
#include "flow_build.h"
#include "models.h"

#define NONE NPUMEM_NONE

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

/*
 * What each iteration updates, and the next one needs, goes away before that: while b is made of a
 * there is no room for it. At the end of the iteration it is on chip, updated.
 */
TEST(updated_in_the_body)
{
	struct npuplan_graph *graph = npuplan_graph_new("updated");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 1);
	uint32_t sum = build_tensor(graph, "sum", NPUMEM_TENSOR_INTERMEDIATE, 8);
	uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 8);
	uint32_t b = build_tensor(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, 8);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 1);
	const struct npuplan_options none = { 0 };

	build_step(graph, 0, in, NONE, sum);
	build_block(graph);
	build_step(graph, 0, NONE, NONE, a);
	build_step(graph, 0, a, NONE, b);
	build_update_part(graph, 0, b, sum, 0, 8);
	build_block(graph);
	build_step(graph, 0, sum, NONE, out);
	build_edge(graph, 0, 1, NONE, NONE);
	build_edge(graph, 1, 1, NONE, NONE);
	build_edge(graph, 1, 2, NONE, NONE);
	build_edge(graph, 2, NONE, NONE, NONE);
	expect_optimal(graph, &none, 24);
	expect_least(graph, &none, 23, 8);
	expect_least(graph, &none, 16, 8);
	expect_infeasible(graph, &none, 15, 16, 2,
			  "infeasible: step 2 needs 16 bytes, the budget is 15");
	npuplan_graph_free(graph);
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
	build_block(graph);
	build_step(graph, 0, x, NONE, big);
	build_step(graph, 0, big, NONE, y[0]);
	build_block(graph);
	build_step(graph, 0, x, NONE, y[1]);
	build_block(graph);
	build_step(graph, 0, z, kept, out);
	build_edge(graph, 0, 1, NONE, NONE);
	build_edge(graph, 0, 2, NONE, NONE);
	build_edge(graph, 1, 3, y[0], z);
	build_edge(graph, 2, 3, y[1], z);
	build_edge(graph, 3, NONE, NONE, NONE);
	/* Without a copy z, and so y, has one place in both arms: beside x, kept and big. */
	npuplan_plan_free(expect_plan(graph, &none, 125, 120, NPUMEM_PLAN_STATUS_FEASIBLE));
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
	build_block(graph);
	build_step(graph, 0, x, NONE, big);
	build_step(graph, 0, big, NONE, y);
	build_block(graph);
	build_step(graph, 0, y, NONE, z);
	build_step(graph, 0, z, kept, next);
	build_block(graph);
	build_step(graph, 0, next, NONE, out);
	build_edge(graph, 0, 1, in, x);
	build_edge(graph, 1, 1, y, x);
	build_edge(graph, 1, 2, NONE, NONE);
	build_edge(graph, 2, 1, next, x);
	build_edge(graph, 2, 3, NONE, NONE);
	build_edge(graph, 3, NONE, NONE, NONE);
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
	build_block(graph);
	build_step(graph, 0, x, NONE, big);
	build_step(graph, 0, big, NONE, small);
	build_edge(graph, 0, 1, NONE, NONE);
	build_edge(graph, 1, NONE, NONE, NONE);
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
	build_block(graph);
	build_step(graph, 0, y, other, out);
	build_edge(graph, 0, 1, NONE, NONE);
	build_edge(graph, 1, NONE, NONE, NONE);
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
	build_block(graph);
	build_step(graph, 0, x, small, out);
	build_edge(graph, 0, 0, NONE, NONE);
	build_edge(graph, 0, 1, NONE, NONE);
	build_edge(graph, 1, NONE, NONE, NONE);
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
	build_edge(graph, 0, 0, NONE, NONE);
	build_edge(graph, 0, NONE, NONE, NONE);
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
