// SPDX-License-Identifier: MIT
/* Planner cosma of steps that update bytes in place which are no state. */
#include <errno.h>

#include "npuplan_build.h"

#define NONE NPUMEM_NONE

/*
 * struct updated - x (8 bytes) is made of in (4), then a (8) of in, b (8) of a, and x is updated by
 * b; out (1) is made of x
 */
struct updated {
	struct npuplan_graph *graph;
	uint32_t in, x, a, b, out;
};

/* @flags: of the step that updates; @first, @length: bytes of x that it does */
static struct updated build_updated(uint32_t flags, uint64_t first, uint64_t length)
{
	struct updated u = { .graph = npuplan_graph_new("updated") };

	u.in = build_tensor(u.graph, "in", NPUMEM_TENSOR_INPUT, 4);
	u.x = build_tensor(u.graph, "x", NPUMEM_TENSOR_INTERMEDIATE, 8);
	u.a = build_tensor(u.graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 8);
	u.b = build_tensor(u.graph, "b", NPUMEM_TENSOR_INTERMEDIATE, 8);
	u.out = build_tensor(u.graph, "out", NPUMEM_TENSOR_OUTPUT, 1);
	u.graph->tensors[u.in].flags |= NPUMEM_TENSOR_FLAG_HOST;
	build_step(u.graph, 0, u.in, NONE, u.x);
	build_step(u.graph, 0, u.in, NONE, u.a);
	build_step(u.graph, 0, u.a, NONE, u.b);
	build_update_part(u.graph, flags, u.b, u.x, first, length);
	build_step(u.graph, 0, u.x, NONE, u.out);
	return u;
}

/* Plans in the graph's order within a budget; the kernel's verifier takes the plan. */
static struct npuplan_plan *plan_within(const struct npuplan_graph *graph, const char *planner,
					uint64_t budget)
{
	const struct npuplan_options options = {
		.planner = planner,
		.arena_budget = budget,
		.schedule = NPUPLAN_SCHEDULE_GIVEN,
	};
	struct npuplan_plan *plan = build_plan_of(graph, &options);

	assert_int_equal(npuplan_verify_plan(graph, plan, NULL, NULL), 0);
	assert_true(plan->info.arena_size <= budget);
	return plan;
}

/* How many placements a tensor has. */
static uint32_t count_stays(const struct npuplan_plan *plan, uint32_t tensor)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < plan->placement_count; i++)
		count += plan->placements[i].tensor == tensor;
	return count;
}

/* Transfers of a tensor, of a kind. */
static uint32_t count_moves(const struct npuplan_plan *plan, uint32_t tensor, uint32_t kind)
{
	uint32_t count = 0;

	for (uint32_t p = 0; p < plan->position_count; p++)
		count += plan->positions[p].kind == kind && plan->positions[p].index == tensor;
	return count;
}

/* Both versions are one placement, and need their bytes once, whether the step is staged or not. */
static void one_place(uint32_t flags)
{
	struct updated u = build_updated(flags, 0, 8);
	const struct npuplan_options peak = { .planner = "cosma",
					      .objective = NPUPLAN_OBJECTIVE_PEAK };
	AUTO_PLAN struct npuplan_plan *plan = NULL, *least = NULL;

	/* x, a and b. If x is made behind b, in has to stay: these are 4 + 8 + 8. */
	plan = plan_within(u.graph, "cosma", 24);
	assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(plan->info.spill_bytes + plan->info.fill_bytes, 0);
	assert_int_equal(plan->info.arena_size, 24);
	assert_int_equal(count_stays(plan, u.x), 1);
	least = build_plan_of(u.graph, &peak);
	assert_int_equal(npuplan_verify_plan(u.graph, least, NULL, NULL), 0);
	assert_int_equal(least->info.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(least->info.arena_size, 20);
	assert_int_equal(count_stays(least, u.x), 1);
	npuplan_graph_free(u.graph);
}

TEST(one_place_for_both_versions)
{
	one_place(0);
	one_place(NPUMEM_STEP_STAGED);
}

/*
 * What is updated leaves before that, and comes back for it, and once more behind it: as many
 * spills, since the copy is of bytes that are no more, and one address in host memory.
 */
TEST(moved_before_and_behind)
{
	struct updated u = build_updated(0, 0, 8);
	uint32_t c = build_tensor(u.graph, "c", NPUMEM_TENSOR_INTERMEDIATE, 12);
	uint32_t d = build_tensor(u.graph, "d", NPUMEM_TENSOR_INTERMEDIATE, 4);
	uint32_t end = build_tensor(u.graph, "end", NPUMEM_TENSOR_OUTPUT, 1);
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	uint64_t host = UINT64_MAX;

	build_step(u.graph, 0, u.out, NONE, c);
	build_step(u.graph, 0, c, NONE, d);
	build_step(u.graph, 0, u.x, d, end);
	plan = plan_within(u.graph, "cosma", 16);
	assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(plan->info.spill_bytes, 16);
	assert_int_equal(plan->info.fill_bytes, 16);
	assert_int_equal(count_moves(plan, u.x, NPUMEM_POSITION_SPILL), 2);
	assert_int_equal(count_moves(plan, u.x, NPUMEM_POSITION_FILL), 2);
	/* Before, with the update, behind. */
	assert_int_equal(count_stays(plan, u.x), 3);
	for (uint32_t p = 0; p < plan->position_count; p++) {
		const struct npumem_position *at = &plan->positions[p];

		if (at->index != u.x ||
		    (at->kind != NPUMEM_POSITION_SPILL && at->kind != NPUMEM_POSITION_FILL))
			continue;
		assert_true(host == UINT64_MAX || host == at->host_offset);
		host = at->host_offset;
	}
	npuplan_graph_free(u.graph);
}

/* Parts of a tensor that no step updates may stay away while another part is on chip. */
TEST(part)
{
	struct updated u = build_updated(0, 2, 3);
	AUTO_PLAN struct npuplan_plan *plan = NULL;

	/*
	 * While b is made of a all of x is away. With b its bytes 2 to 4 come back, and behind it
	 * the others.
	 */
	plan = plan_within(u.graph, "cosma", 16);
	assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(plan->info.spill_bytes, 8);
	assert_int_equal(plan->info.fill_bytes, 8);
	for (uint32_t i = 0; i < plan->placement_count; i++) {
		const struct npumem_placement *at = &plan->placements[i];

		if (at->tensor == u.x)
			assert_true(at->region.offset == 0 || at->region.offset == 2 ||
				    at->region.offset == 5);
	}
	npuplan_graph_free(u.graph);
}

/* Whoever reads the old version runs before the update, though another order would need less. */
TEST(readers_come_first)
{
	struct npuplan_graph *graph = npuplan_graph_new("readers");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 1);
	uint32_t x = build_tensor(graph, "x", NPUMEM_TENSOR_INTERMEDIATE, 10);
	uint32_t r = build_tensor(graph, "r", NPUMEM_TENSOR_INTERMEDIATE, 300);
	uint32_t wide = build_tensor(graph, "wide", NPUMEM_TENSOR_INTERMEDIATE, 500);
	uint32_t w = build_tensor(graph, "w", NPUMEM_TENSOR_INTERMEDIATE, 1);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 1);
	const struct npuplan_options peak = { .planner = "cosma",
					      .objective = NPUPLAN_OBJECTIVE_PEAK };
	AUTO_PLAN struct npuplan_plan *plan = NULL;

	build_step(graph, 0, in, NONE, x);
	build_step(graph, 0, x, NONE, r);
	build_update(graph, x);
	build_step(graph, 0, x, NONE, wide);
	build_step(graph, 0, wide, NONE, w);
	build_step(graph, 0, r, w, out);
	plan = build_plan_of(graph, &peak);
	/* x, r and wide. If r could come last, they would be 511. */
	assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(plan->info.arena_size, 810);
	npuplan_graph_free(graph);
}

/* Baselines and the least time keep both versions in one place, too. */
TEST(other_planners)
{
	static const struct npuplan_machine machine = {
		.size = sizeof(machine), .compute = 1000000, .access = 1000000, .copy = 1000000
	};
	static const struct npuplan_cosma_options own = { .size = sizeof(own),
							  .machine = &machine };
	static const uint32_t flags[] = { 0, NPUMEM_STEP_STAGED };
	const struct npuplan_options time = { .planner = "cosma",
					      .arena_budget = 16,
					      .objective = NPUPLAN_OBJECTIVE_TIME,
					      .cosma = &own };

	for (size_t i = 0; i < 2; i++) {
		struct updated u = build_updated(flags[i], 0, 8);
		AUTO_PLAN struct npuplan_plan *furthest = NULL, *cheapest = NULL, *fast = NULL;

		furthest = plan_within(u.graph, "cosma-belady", 16);
		cheapest = plan_within(u.graph, "cosma-greedy", 16);
		assert_true(furthest->info.spill_bytes + furthest->info.fill_bytes >= 16);
		assert_true(cheapest->info.spill_bytes + cheapest->info.fill_bytes >= 16);
		fast = build_plan_of(u.graph, &time);
		assert_int_equal(npuplan_verify_plan(u.graph, fast, NULL, NULL), 0);
		assert_int_equal(fast->info.spill_bytes + fast->info.fill_bytes, 16);
		npuplan_graph_free(u.graph);
	}
}

TEST(refused)
{
	static const struct npuplan_bank banks[] = { { 100, 2 }, { 1000, 1 } };
	static const struct npuplan_cosma_options both = { .size = sizeof(both), .banks = banks };
	static const struct npuplan_core cores[] = { { .name = "a", .size = 100 } };
	static const struct npuplan_cosma_options several = {
		.size = sizeof(several),
		.cores = cores,
		.core_count = 1,
	};
	struct updated u = build_updated(0, 0, 8);
	struct npuplan_options options = { .planner = "cosma", .cosma = &both };

	refuse_planning(u.graph, &options, -EOPNOTSUPP,
			"two banks are planned for graphs without updates in place but of state");
	options.cosma = &several;
	refuse_planning(u.graph, &options, -EOPNOTSUPP,
			"several cores are planned for graphs without updates in place but of "
			"state");
	npuplan_graph_free(u.graph);
}

/* In builds without a solver, too. */
TEST(refused_program)
{
	const struct npuplan_options options = { .arena_budget = 24 };
	struct updated u = build_updated(0, 0, 8);
	struct npuplan_error error;
	char *text = NULL;
	size_t size;

	assert_int_equal(npuplan_lp_write(u.graph, &options, &text, &size, &error), -EOPNOTSUPP);
	assert_string_equal(error.text, "integer programs are of graphs without updates in place "
					"but of state");
	assert_null(text);
	npuplan_graph_free(u.graph);
}
