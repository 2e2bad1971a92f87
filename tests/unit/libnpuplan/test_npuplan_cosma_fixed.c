// SPDX-License-Identifier: MIT
/*
 * Planner cosma where tensors have fixed offsets: they lie there whenever they are on chip, all
 * else goes around them, and what cannot be is refused.
 */
#include <errno.h>

#include "npuplan_build.h"
#include "planners/cosma/cosma.h"

static void fix(struct npuplan_graph *graph, uint32_t tensor, uint64_t offset)
{
	graph->tensors[tensor].flags |= NPUMEM_TENSOR_FLAG_FIXED;
	graph->tensors[tensor].fixed_offset = offset;
}

static void loosen(struct npuplan_graph *graph, uint32_t tensor)
{
	graph->tensors[tensor].flags &= ~(uint32_t)NPUMEM_TENSOR_FLAG_FIXED;
	graph->tensors[tensor].fixed_offset = 0;
}

static void tile(struct npuplan_graph *graph)
{
	const struct npuplan_tiling tiling = { .bands = 1, .inputs = NPUPLAN_INPUTS_HOST };
	struct npuplan_error error;

	if (npuplan_graph_tile(graph, &tiling, &error))
		fail_msg("%s", error.text);
}

static struct npuplan_graph *tiled_diamond(void)
{
	struct npuplan_graph *graph = build_diamond();

	tile(graph);
	return graph;
}

enum { IN, A, B, C, OUT };

static struct npuplan_plan *planned(const struct npuplan_graph *graph,
				    const struct npuplan_options *options)
{
	struct npuplan_plan *plan = build_plan_of(graph, options);
	struct npuplan_error error;

	if (npuplan_verify_plan(graph, plan, NULL, &error))
		fail_msg("%s", error.text);
	return plan;
}

/* Traffic and arena of a plan, which is optimal. */
static void expect(const struct npuplan_graph *graph, const struct npuplan_options *options,
		   uint64_t traffic, uint64_t arena)
{
	AUTO_PLAN struct npuplan_plan *plan = planned(graph, options);

	assert_int_equal(plan->info.spill_bytes + plan->info.fill_bytes, traffic);
	assert_int_equal(plan->info.arena_size, arena);
	assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_OPTIMAL);
}

/* Returns how many stays a tensor has, all of them at @offset. */
static uint32_t stays_at(const struct npuplan_plan *plan, uint32_t tensor, uint64_t offset)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < plan->placement_count; i++) {
		if (plan->placements[i].tensor != tensor)
			continue;
		assert_int_equal(plan->placements[i].offset, offset);
		count++;
	}
	return count;
}

/* 14 bytes are live while c is made of a beside b: they lie about c, or one of them moves. */
TEST(around)
{
	struct npuplan_options options = { .planner = "cosma", .arena_budget = 14 };
	AUTO_GRAPH struct npuplan_graph *graph = tiled_diamond();
	struct npuplan_budgets budgets;

	fix(graph, C, 4);
	expect(graph, &options, 0, 14);
	/* Beside [2, 8) there is room for one of a and b. */
	fix(graph, C, 2);
	expect(graph, &options, 8, 12);
	options.arena_budget = 16;
	expect(graph, &options, 0, 16);
	assert_int_equal(npuplan_budgets_find(graph, NULL, &budgets, NULL), 0);
	assert_int_equal(budgets.needed, 12);
	assert_int_equal(budgets.peak, 14);
	assert_false(budgets.proved);
}

/* Beside [3, 9) a has no place below 9. */
TEST(needed)
{
	struct npuplan_options options = { .planner = "cosma", .arena_budget = 12 };
	AUTO_GRAPH struct npuplan_graph *graph = tiled_diamond();
	struct npuplan_error error;
	uint64_t needed;
	uint32_t step;

	fix(graph, C, 3);
	error = planning_error(graph, &options, -ENOSPC);
	assert_string_equal(error.text,
			    "infeasible: make_c needs 13 bytes (13 B), the budget is 12 (12 B)");
	assert_int_equal(error.status, NPUMEM_PLAN_STATUS_INFEASIBLE);
	assert_int_equal(error.needed, 13);
	assert_int_equal(error.step, 2);
	assert_int_equal(npuplan_needed_find(graph, NULL, &needed, &step, NULL), 0);
	assert_int_equal(needed, 13);
	assert_int_equal(step, 2);
	options.arena_budget = 13;
	expect(graph, &options, 8, 13);
}

/* Without a budget the arena is as small as fixed offsets let it be. */
TEST(least_arena)
{
	struct npuplan_options options = { .planner = "cosma" };
	AUTO_GRAPH struct npuplan_graph *graph = tiled_diamond();
	AUTO_PLAN struct npuplan_plan *plan = NULL;

	fix(graph, OUT, 29);
	plan = planned(graph, &options);
	assert_int_equal(plan->info.arena_size, 30);
	assert_int_equal(plan->info.lower_bound, 30);
	assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	npuplan_plan_free(plan);
	/* a or b ends at 16: the bytes that live, 14, are not enough, and that is not proved. */
	loosen(graph, OUT);
	fix(graph, C, 2);
	plan = planned(graph, &options);
	assert_int_equal(plan->info.arena_size, 16);
	assert_int_equal(plan->info.lower_bound, 14);
	assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_FEASIBLE);
}

/* in -> x; in -> y; y -> z; x, z -> out: x and y have one place. */
static struct npuplan_graph *build_turns(void)
{
	struct npuplan_graph *graph = npuplan_graph_new("turns");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 1);
	uint32_t x = build_tensor(graph, "x", NPUMEM_TENSOR_INTERMEDIATE, 4);
	uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_INTERMEDIATE, 4);
	uint32_t z = build_tensor(graph, "z", NPUMEM_TENSOR_INTERMEDIATE, 1);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 1);

	build_op(graph, "make_x", in, NPUMEM_NONE, NPUMEM_NONE, x);
	build_op(graph, "make_y", in, NPUMEM_NONE, NPUMEM_NONE, y);
	build_op(graph, "make_z", y, NPUMEM_NONE, NPUMEM_NONE, z);
	build_op(graph, "join", x, z, NPUMEM_NONE, out);
	fix(graph, x, 2);
	fix(graph, y, 2);
	tile(graph);
	return graph;
}

TEST(turns)
{
	struct npuplan_options options = { .planner = "cosma", .arena_budget = 100 };
	AUTO_GRAPH struct npuplan_graph *graph = build_turns();
	AUTO_PLAN struct npuplan_plan *plan = NULL;

	/* In another order x is made when y is done with. */
	expect(graph, &options, 0, 6);
	options.schedule = NPUPLAN_SCHEDULE_GIVEN;
	plan = planned(graph, &options);
	assert_int_equal(plan->info.spill_bytes, 4);
	assert_int_equal(plan->info.fill_bytes, 4);
	assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(plan->cosma->traffic_bound, 8);
	assert_int_equal(stays_at(plan, 1, 2), 2);
	assert_int_equal(stays_at(plan, 2, 2), 1);
	npuplan_plan_free(plan);
	/* So it is without a budget, though nothing need move for want of room. */
	options.arena_budget = 0;
	plan = planned(graph, &options);
	assert_int_equal(plan->info.spill_bytes + plan->info.fill_bytes, 8);
	options.objective = NPUPLAN_OBJECTIVE_PEAK;
	refuse_planning(graph, &options, -ETIMEDOUT,
			"unknown: no order of the steps was found in which no tensors with fixed "
			"offsets are in each other's way; for the least traffic they take turns");
}

TEST(baselines)
{
	static const char *const planners[] = { "cosma-belady", "cosma-greedy" };
	AUTO_GRAPH struct npuplan_graph *graph = build_turns(), *around = tiled_diamond();

	fix(around, C, 2);
	for (int i = 0; i < 2; i++) {
		struct npuplan_options options = { .planner = planners[i], .arena_budget = 6 };
		struct npuplan_plan *plan = planned(graph, &options);

		assert_int_equal(plan->info.spill_bytes + plan->info.fill_bytes, 8);
		assert_int_equal(stays_at(plan, 1, 2), 2);
		npuplan_plan_free(plan);
		options.arena_budget = 14;
		plan = planned(around, &options);
		assert_int_equal(stays_at(plan, C, 2), 1);
		npuplan_plan_free(plan);
	}
}

/* y takes x's bytes: one of the two is fixed, both are at one place, or both apart. */
TEST(in_place)
{
	struct npuplan_options options = { .planner = "cosma", .arena_budget = 8 };
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("inplace");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 2);
	uint32_t x = build_tensor(graph, "x", NPUMEM_TENSOR_INTERMEDIATE, 4);
	uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_INTERMEDIATE, 4);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 2);
	uint64_t needed;
	uint32_t step;

	build_op(graph, "one", in, NPUMEM_NONE, NPUMEM_NONE, x);
	build_op(graph, "two", x, NPUMEM_NONE, NPUMEM_NONE, y)->attrs.inplace = true;
	build_op(graph, "three", y, NPUMEM_NONE, NPUMEM_NONE, out);
	tile(graph);
	for (int both = 0; both < 3; both++) {
		loosen(graph, x);
		loosen(graph, y);
		if (both != 1)
			fix(graph, x, 2);
		if (both)
			fix(graph, y, 2);
		expect(graph, &options, 0, 6);
		assert_int_equal(npuplan_needed_find(graph, NULL, &needed, &step, NULL), 0);
		assert_int_equal(needed, 6);
	}
	fix(graph, y, 6);
	refuse_planning(graph, &options, -ENOSPC,
			"y: 4 bytes at fixed offset 6 are beyond the budget of 8 bytes");
	options.arena_budget = 10;
	expect(graph, &options, 0, 10);
	fix(graph, y, 5);
	refuse_planning(graph, &options, -EINVAL,
			"fixed offsets collide: x at 2, 4 bytes, and y at 5, 4 bytes, are live at "
			"once");
	/* Once staged, y may lie on any bytes of x. */
	graph->steps[1].flags |= NPUMEM_STEP_STAGED;
	expect(graph, &options, 0, 9);
}

/* What is aligned to 4 does not lie where its input is fixed. */
TEST(in_place_unaligned)
{
	struct npuplan_options options = { .planner = "cosma", .arena_budget = 16 };
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("inplace");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 2);
	uint32_t x = build_tensor(graph, "x", NPUMEM_TENSOR_INTERMEDIATE, 4);
	uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_OUTPUT, 4);

	build_op(graph, "one", in, NPUMEM_NONE, NPUMEM_NONE, x);
	build_op(graph, "two", x, NPUMEM_NONE, NPUMEM_NONE, y)->attrs.inplace = true;
	graph->tensors[y].align = 4;
	fix(graph, x, 2);
	tile(graph);
	expect(graph, &options, 0, 12);
}

/* A parameter of one operator, and one of two, at fixed offsets. */
TEST(parameters)
{
	struct npuplan_options options = { .planner = "cosma", .arena_budget = 15 };
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("params");
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	uint32_t own, more;

	build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 4);
	own = build_tensor(graph, "own", NPUMEM_TENSOR_PARAMETER, 3);
	more = build_tensor(graph, "more", NPUMEM_TENSOR_PARAMETER, 2);
	build_op(graph, "one", 0, more, own, build_tensor(graph, "a", 0, 4));
	build_op(graph, "two", 3, more, NPUMEM_NONE,
		 build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 4));
	fix(graph, own, 5);
	fix(graph, more, 1);
	for (uint32_t t = 0; t < more + 1; t++)
		graph->tensors[t].flags |= NPUMEM_TENSOR_FLAG_HOST;
	assert_int_equal(npuplan_graph_tile_bands(graph, 1, true, NULL), 0);
	/* One operator's bytes are 13, but none lies below 3, nor between 3 and 5. */
	refuse_planning(graph, &options, -ENOSPC,
			"infeasible: one needs 16 bytes (16 B), the budget is 15 (15 B)");
	options.arena_budget = 16;
	plan = planned(graph, &options);
	assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(stays_at(plan, own, 5), 1);
	assert_int_equal(stays_at(plan, more, 1), 1);
}

/* A state lies in the first gap that fixed offsets leave, or where it is fixed. */
TEST(state)
{
	struct npuplan_options options = { .planner = "cosma", .arena_budget = 17 };
	AUTO_GRAPH struct npuplan_graph *graph = tiled_diamond();
	uint32_t kept = build_tensor(graph, "kept", NPUMEM_TENSOR_STATE, 5);
	uint32_t old = build_tensor(graph, "old", NPUMEM_TENSOR_OUTPUT, 1);
	struct npuplan_budgets budgets;
	struct npuplan_plan *plan;

	graph->tensors[old].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	build_step(graph, 0, kept, NPUMEM_NONE, old);
	build_update(graph, kept);
	/* [4, 9) is the state's: 12 more bytes are needed, 4 below and 8 above. */
	fix(graph, kept, 4);
	assert_int_equal(npuplan_budgets_find(graph, NULL, &budgets, NULL), 0);
	assert_int_equal(budgets.needed, 17);
	assert_int_equal(budgets.peak, 19);
	expect(graph, &options, 8, 17);
	options.arena_budget = 19;
	expect(graph, &options, 0, 19);
	options.arena_budget = 16;
	refuse_planning(graph, &options, -ENOSPC,
			"infeasible: make_b needs 17 bytes (17 B), the budget is 16 (16 B)");
	options.arena_budget = 4;
	refuse_planning(graph, &options, -ENOSPC,
			"kept: 5 bytes at fixed offset 4 are beyond the budget of 4 bytes");
	/* A tensor is in its way. */
	options.arena_budget = 100;
	fix(graph, A, 8);
	refuse_planning(graph, &options, -EINVAL,
			"fixed offsets collide: a at 8, 4 bytes, and a state at 4, 5 bytes, are "
			"live at once");
	/* What is above a may have been below it: nothing is proved. */
	loosen(graph, kept);
	fix(graph, A, 2);
	plan = planned(graph, &options);
	assert_int_equal(stays_at(plan, kept, 6), 1);
	assert_int_equal(stays_at(plan, A, 2), 1);
	assert_int_equal(plan->cosma->traffic_bound, 0);
	npuplan_plan_free(plan);
	options.arena_budget = 12;
	refuse_planning(graph, &options, -ETIMEDOUT,
			"unknown: make_b needs 19 bytes (19 B) in a plan that has each state in "
			"the first gap between fixed offsets, and others are not searched; the "
			"budget is 12 (12 B)");
}

/* Bands of a: each is moved by itself, and lies where a has it. */
static struct npuplan_graph *build_bands(uint32_t align)
{
	const struct npuplan_tiling tiling = { .bands = 4, .inputs = NPUPLAN_INPUTS_HOST };
	struct npuplan_graph *graph = npuplan_graph_new("bands");
	uint32_t in = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, 8, 6, 1);
	uint32_t a = build_spatial(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 1, 8, 6, 1);
	uint32_t out = build_spatial(graph, "out", NPUMEM_TENSOR_OUTPUT, 1, 8, 6, 1);

	build_window(build_op(graph, "conv2d", in, NPUMEM_NONE, NPUMEM_NONE, a), 3, 1, 1, 1);
	build_window(build_op(graph, "conv2d", a, NPUMEM_NONE, NPUMEM_NONE, out), 3, 1, 1, 1);
	graph->tensors[a].align = align;
	graph->source_layout = NPUPLAN_NHWC;
	fix(graph, a, 64);
	assert_int_equal(npuplan_graph_tile(graph, &tiling, NULL), 0);
	return graph;
}

TEST(bands)
{
	struct npuplan_options options = { .planner = "cosma", .arena_budget = 112 };
	AUTO_GRAPH struct npuplan_graph *graph = build_bands(2), *wide = build_bands(4);
	AUTO_PLAN struct npuplan_plan *plan = planned(graph, &options);
	uint32_t parts = 0;

	for (uint32_t i = 0; i < plan->placement_count; i++) {
		const struct npumem_placement *placement = &plan->placements[i];

		if (placement->tensor != 1)
			continue;
		assert_int_equal(placement->offset, 64 + placement->region.offset);
		parts++;
	}
	assert_true(parts > 1);
	assert_int_equal(plan->info.spill_bytes + plan->info.fill_bytes, 0);
	refuse_planning(wide, &options, -EOPNOTSUPP,
			"a: its offset is fixed, and steps use parts of it that begin at no "
			"multiple of its alignment, as byte 6: cosma moves parts");
}

TEST(refused)
{
	const struct npuplan_bank banks[NPUPLAN_BANKS] = { { 10, 1 }, { 10, 1 } };
	struct npuplan_cosma_options cosma = { .size = sizeof(cosma), .banks = banks };
	struct npuplan_options options = { .planner = "cosma", .arena_budget = 14 };
	AUTO_GRAPH struct npuplan_graph *graph = tiled_diamond();
	struct npuplan_error error;
	char *text;
	size_t size;

	fix(graph, A, 0);
	fix(graph, B, 2);
	refuse_planning(graph, &options, -EINVAL,
			"fixed offsets collide: a at 0, 4 bytes, and b at 2, 4 bytes, are live at "
			"once");
	fix(graph, B, 12);
	refuse_planning(graph, &options, -ENOSPC,
			"b: 4 bytes at fixed offset 12 are beyond the budget of 14 bytes");
	fix(graph, B, 9);
	assert_int_equal(npuplan_lp_write(graph, &options, &text, &size, &error), -EOPNOTSUPP);
	assert_string_equal(error.text, "the integer program has no fixed offsets");
	options.alignment = 2;
	refuse_planning(graph, &options, -EINVAL,
			"b: fixed offset 9 is not a multiple of the alignment 2");
	assert_int_equal(npuplan_budgets_find(graph, &options, &(struct npuplan_budgets){ 0 },
					      &error),
			 -EINVAL);
	assert_string_equal(error.text, "b: fixed offset 9 is not a multiple of the alignment 2");
	options.alignment = 0;
	options.arena_budget = 0;
	options.cosma = &cosma;
	refuse_planning(graph, &options, -EOPNOTSUPP,
			"two banks are planned for graphs without fixed offsets");
	options.cosma = NULL;
	fix(graph, B, (1ull << 60) + 1);
	refuse_planning(graph, &options, -E2BIG,
			"b: fixed offset 1152921504606846977, cosma plans at most 2^60");
}

/* Inputs that are on chip from the start have their places from then on. */
TEST(resident)
{
	struct npuplan_options options = { .planner = "cosma", .arena_budget = 20 };
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("two");

	build_tensor(graph, "x", NPUMEM_TENSOR_INPUT, 9);
	build_tensor(graph, "y", NPUMEM_TENSOR_INPUT, 9);
	build_step(graph, 0, 0, NPUMEM_NONE, build_tensor(graph, "u", NPUMEM_TENSOR_OUTPUT, 1));
	build_step(graph, 0, 1, NPUMEM_NONE, build_tensor(graph, "v", NPUMEM_TENSOR_OUTPUT, 1));
	fix(graph, 0, 11);
	fix(graph, 1, 2);
	expect(graph, &options, 0, 20);
	fix(graph, 1, 3);
	refuse_planning(graph, &options, -EINVAL,
			"fixed offsets collide: x at 11, 9 bytes, and y at 3, 9 bytes, are live at "
			"once");
}

/* A state is on chip for good, and no tensor that an operator reads. */
TEST(state_staged_baseline)
{
	struct npuplan_options options = { .planner = "cosma-greedy", .arena_budget = 30 };
	AUTO_GRAPH struct npuplan_graph *graph = tiled_diamond();
	uint32_t kept = build_tensor(graph, "kept", NPUMEM_TENSOR_STATE, 5);
	uint32_t old = build_tensor(graph, "old", NPUMEM_TENSOR_OUTPUT, 1);

	graph->tensors[old].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	build_step(graph, 0, kept, NPUMEM_NONE, old);
	build_update(graph, kept);
	fix(graph, kept, 4);
	for (uint32_t s = 0; s < graph->step_count; s++)
		graph->steps[s].flags |= NPUMEM_STEP_STAGED;
	npuplan_plan_free(planned(graph, &options));
}
