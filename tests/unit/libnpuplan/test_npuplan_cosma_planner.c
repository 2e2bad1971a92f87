// SPDX-License-Identifier: MIT
/*
 * npuplan_plan() with planner cosma: graphs as they come (tiled, as blobs, with aliases
 * and external tensors), what there is when there is no plan, and what is refused.
 */
#include <errno.h>
#include <math.h>

#include "npuplan_build.h"
#include "random.h"

static void tile(struct npuplan_graph *graph, uint32_t bands, uint32_t inputs)
{
	const struct npuplan_tiling tiling = { .bands = bands, .inputs = inputs };
	struct npuplan_error error;

	if (npuplan_graph_tile(graph, &tiling, &error))
		fail_msg("%s", error.text);
}

static struct npuplan_graph *tiled_diamond(void)
{
	struct npuplan_graph *graph = build_diamond();

	tile(graph, 1, NPUPLAN_INPUTS_HOST);
	return graph;
}

static struct npuplan_plan *planned(const struct npuplan_graph *graph,
				    const struct npuplan_options *options)
{
	struct npuplan_plan *plan = build_plan_of(graph, options);
	struct npuplan_error error;

	if (npuplan_verify_plan(graph, plan, NULL, &error))
		fail_msg("%s", error.text);
	if (options->arena_budget)
		assert_in_range(plan->info.arena_size, 1, options->arena_budget);
	return plan;
}

static uint64_t traffic(const struct npuplan_plan *plan)
{
	return plan->info.spill_bytes + plan->info.fill_bytes;
}

static uint32_t count_kind(const struct npuplan_plan *plan, uint32_t kind)
{
	uint32_t count = 0;

	for (uint32_t p = 0; p < plan->position_count; p++)
		count += plan->positions[p].kind == kind;
	return count;
}

TEST(budgets)
{
	AUTO_GRAPH struct npuplan_graph *graph = tiled_diamond();
	struct npuplan_budgets budgets;

	assert_int_equal(npuplan_budgets_find(graph, NULL, &budgets, NULL), 0);
	assert_int_equal(budgets.needed, 12);
	assert_int_equal(budgets.middle, 13);
	assert_int_equal(budgets.peak, 14);
	assert_int_equal(budgets.step, 1);
	assert_true(budgets.proved);
}

/* Steps that all depend on the input alone; then each is added up. */
static struct npuplan_graph *wide_graph(uint32_t count)
{
	struct npuplan_graph *graph = npuplan_graph_new("wide");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 4), last = in;

	for (uint32_t i = 0; i < count; i++)
		build_step(graph, 0, in, NPUMEM_NONE,
			   build_tensor(graph, "", NPUMEM_TENSOR_INTERMEDIATE, 4));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t kind = i + 1 < count ? NPUMEM_TENSOR_INTERMEDIATE : NPUMEM_TENSOR_OUTPUT;
		uint32_t next = build_tensor(graph, "", kind, 4);

		build_step(graph, 0, 1 + i, last, next);
		last = next;
	}
	return graph;
}

static int count_calls(void *context, const struct npuplan_pack_progress *progress)
{
	unsigned int *calls = context;

	assert_true(progress->traffic);
	++*calls;
	return 1;
}

/* Steps that read two of those lately made. */
static struct npuplan_graph *network(uint32_t count)
{
	struct npuplan_graph *graph = npuplan_graph_new("network");
	uint64_t random = 20261121;

	build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 5000);
	for (uint32_t v = 0; v < count; v++) {
		uint32_t reach = v < 20 ? v + 1 : 20;
		uint32_t a = v - random_next(&random) % reach, b = v - random_next(&random) % reach;
		uint32_t kind = v + 1 < count ? NPUMEM_TENSOR_INTERMEDIATE : NPUMEM_TENSOR_OUTPUT;

		build_step(graph, 0, a, a == b ? NPUMEM_NONE : b,
			   build_tensor(graph, "", kind, 1000 + random_next(&random) % 9000));
	}
	return graph;
}

/* M_R takes no search; the one for M_P is told of, and ends when the caller says so. */
TEST(budgets_ended)
{
	unsigned int calls = 0;
	struct npuplan_options options = { .progress = count_calls, .context = &calls };
	AUTO_GRAPH struct npuplan_graph *graph = network(1000);
	struct npuplan_budgets budgets;
	uint64_t needed = 0;
	uint32_t step = NPUMEM_NONE;

	assert_int_equal(npuplan_needed_find(graph, &options, &needed, &step, NULL), 0);
	assert_int_equal(calls, 0);
	assert_int_equal(npuplan_budgets_find(graph, &options, &budgets, NULL), 0);
	assert_int_equal(calls, 1);
	assert_false(budgets.proved);
	assert_int_equal(budgets.needed, needed);
	assert_int_equal(budgets.step, step);
	assert_true(budgets.peak > needed);
}

/* So many pairs live at once that they are not listed: nnc says so, cosma and greedy need none. */
TEST(too_many_pairs)
{
	struct npuplan_options options = { .planner = "nnc" };
	AUTO_GRAPH struct npuplan_graph *graph = wide_graph(12000);
	uint64_t needed;
	uint32_t step;

	refuse_planning(graph, &options, -E2BIG,
			"of 24001 tensors more than 67108864 pairs live at the same time");
	assert_int_equal(npuplan_needed_find(graph, NULL, &needed, &step, NULL), 0);
	assert_int_equal(needed, 12);
	options = (struct npuplan_options){ .planner = "greedy" };
	npuplan_plan_free(planned(graph, &options));
	options = (struct npuplan_options){ .planner = "cosma-belady", .arena_budget = 60000 };
	npuplan_plan_free(planned(graph, &options));
}

/* b is spilled and filled; in is loaded once, out is stored. */
TEST(traffic)
{
	struct npuplan_options options = { .planner = "cosma", .arena_budget = 12 };
	AUTO_GRAPH struct npuplan_graph *graph = tiled_diamond();
	struct npuplan_plan *plan = planned(graph, &options);

	assert_string_equal(plan->info.planner, "cosma");
	assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(plan->info.spill_bytes, 4);
	assert_int_equal(plan->info.fill_bytes, 4);
	assert_int_equal(plan->info.load_bytes, 5);
	assert_int_equal(plan->cosma->traffic_bound, 8);
	assert_int_equal(plan->info.lower_bound, 12);
	assert_int_equal(count_kind(plan, NPUMEM_POSITION_LOAD), 1);
	assert_int_equal(count_kind(plan, NPUMEM_POSITION_STORE), 1);
	/* Copies of in, out and b, 64 bytes apart: b's is not needed when out's is. */
	assert_int_equal(plan->info.host_size, 68);
	npuplan_plan_free(plan);
	options.arena_budget = 14;
	plan = planned(graph, &options);
	assert_int_equal(traffic(plan), 0);
	assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	npuplan_plan_free(plan);
}

TEST(infeasible)
{
	struct npuplan_options options = { .planner = "cosma", .arena_budget = 11 };
	AUTO_GRAPH struct npuplan_graph *graph = tiled_diamond();
	struct npuplan_error error;
	struct npuplan_plan *plan;

	assert_int_equal(npuplan_plan(graph, &options, &plan, &error), -ENOSPC);
	assert_string_equal(error.text, "infeasible: make_b needs 12 bytes (12 B), the budget is "
					"11 (11 B)");
	assert_int_equal(error.status, NPUMEM_PLAN_STATUS_INFEASIBLE);
	assert_int_equal(error.needed, 12);
	assert_int_equal(error.step, 1);
	/* What others say has none of that. */
	options.planner = "greedy";
	assert_int_equal(npuplan_plan(graph, &options, &plan, &error), -EOPNOTSUPP);
	assert_int_equal(error.status, 0);
}

/* At multiples of 8 what takes 12 bytes needs 20. */
TEST(infeasible_aligned)
{
	struct npuplan_options options = { .planner = "cosma", .arena_budget = 19, .alignment = 8 };
	AUTO_GRAPH struct npuplan_graph *graph = tiled_diamond();
	struct npuplan_error error;
	AUTO_PLAN struct npuplan_plan *plan = NULL;

	assert_int_equal(npuplan_plan(graph, &options, &plan, &error), -ENOSPC);
	assert_string_equal(error.text, "infeasible: make_b needs 20 bytes (20 B), the budget is "
					"19 (19 B)");
	options.arena_budget = 20;
	plan = planned(graph, &options);
	assert_int_equal(plan->info.alignment, 8);
	for (uint32_t i = 0; i < plan->placement_count; i++)
		assert_int_equal(plan->placements[i].offset % 8, 0);
}

/* Inputs on chip from the start have no copy in host memory: the first eviction costs. */
TEST(resident)
{
	struct npuplan_options options = { .planner = "cosma", .arena_budget = 12 };
	struct npuplan_graph *graph = build_diamond();
	struct npuplan_plan *plan;

	tile(graph, 1, NPUPLAN_INPUTS_RESIDENT);
	plan = planned(graph, &options);
	assert_int_equal(count_kind(plan, NPUMEM_POSITION_LOAD), 0);
	assert_int_equal(plan->placements[0].tensor, 0);
	assert_int_equal(plan->placements[0].from, 0);
	assert_int_equal(plan->info.load_bytes, 1);
	npuplan_plan_free(plan);
	npuplan_graph_free(graph);

	graph = npuplan_graph_new("two");
	build_tensor(graph, "x", NPUMEM_TENSOR_INPUT, 9);
	build_tensor(graph, "y", NPUMEM_TENSOR_INPUT, 9);
	build_step(graph, 0, 0, 1, build_tensor(graph, "z", NPUMEM_TENSOR_OUTPUT, 1));
	options.arena_budget = 17;
	refuse_planning(graph, &options, -ENOSPC,
			"infeasible: step 0 needs 19 bytes (19 B), the budget is 17 (17 B)");
	npuplan_graph_free(graph);
}

/* As the daemon has it: no operators, no names of tensors but the blob's. */
TEST(blob)
{
	struct npuplan_options options = { .planner = "cosma", .arena_budget = 12 };
	AUTO_GRAPH struct npuplan_graph *graph = tiled_diamond(), *read = NULL;
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	size_t size;
	void *blob;

	assert_int_equal(npuplan_graph_write(graph, &blob, &size, NULL), 0);
	assert_int_equal(npuplan_graph_read(blob, size, &read, NULL), 0);
	assert_int_equal(read->op_count, 0);
	plan = planned(read, &options);
	assert_int_equal(traffic(plan), 8);
	free(blob);
}

/* a is elsewhere: nothing moves, and it is still written before it is read. */
TEST(external)
{
	struct npuplan_options options = { .planner = "cosma", .arena_budget = 11 };
	AUTO_GRAPH struct npuplan_graph *graph = build_diamond();
	struct npuplan_budgets budgets;
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	uint32_t at[4] = { 0 };

	graph->tensors[1].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	tile(graph, 1, NPUPLAN_INPUTS_HOST);
	assert_int_equal(npuplan_budgets_find(graph, NULL, &budgets, NULL), 0);
	assert_int_equal(budgets.needed, 11);
	assert_int_equal(budgets.step, 3);
	plan = planned(graph, &options);
	assert_int_equal(traffic(plan), 0);
	for (uint32_t i = 0; i < plan->placement_count; i++)
		assert_int_not_equal(plan->placements[i].tensor, 1);
	for (uint32_t p = 0; p < plan->position_count; p++)
		if (plan->positions[p].kind == NPUMEM_POSITION_STEP)
			at[plan->positions[p].index] = p;
		else
			assert_int_not_equal(plan->positions[p].index, 1);
	assert_true(at[0] < at[1] && at[0] < at[2]);
}

/* Halves of one tensor, written apart by two steps and read together. */
TEST(alias)
{
	struct npuplan_options options = { .planner = "cosma", .arena_budget = 12 };
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("halves");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 4);
	uint32_t base = build_tensor(graph, "base", NPUMEM_TENSOR_INTERMEDIATE, 8);
	struct npuplan_tensor half = {
		.name = (char[]){ "low" },
		.size = 4,
		.align = 1,
		.flags = NPUMEM_TENSOR_FLAG_ALIAS,
		.alias_of = base,
		.id = 200,
	};
	int64_t low, high;
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	uint32_t out;

	low = npuplan_graph_add_tensor(graph, &half);
	half.name[0] = 'h';
	half.alias_offset = 4;
	half.id = 201;
	high = npuplan_graph_add_tensor(graph, &half);
	out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 4);
	build_op(graph, "first", in, NPUMEM_NONE, NPUMEM_NONE, low);
	build_op(graph, "second", in, NPUMEM_NONE, NPUMEM_NONE, high);
	build_op(graph, "join", base, NPUMEM_NONE, NPUMEM_NONE, out);
	tile(graph, 1, NPUPLAN_INPUTS_HOST);
	plan = planned(graph, &options);
	assert_int_equal(traffic(plan), 0);
	/* in, both halves of base, out. */
	assert_int_equal(plan->placement_count, 4);
}

/* Bands of a convolution that reads halos: parts of tensors move, and lie in pieces. */
TEST(tiled)
{
	struct npuplan_options options = { .planner = "cosma" };
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("bands");
	uint32_t in = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, 8, 8, 1);
	uint32_t a = build_spatial(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 1, 8, 8, 1);
	uint32_t out = build_spatial(graph, "out", NPUMEM_TENSOR_OUTPUT, 1, 8, 8, 1);
	struct npuplan_budgets budgets;
	AUTO_PLAN struct npuplan_plan *plan = NULL;

	graph->source_layout = NPUPLAN_NHWC;
	build_window(build_op(graph, "conv2d", in, NPUMEM_NONE, NPUMEM_NONE, a), 3, 1, 1, 1);
	build_window(build_op(graph, "conv2d", a, NPUMEM_NONE, NPUMEM_NONE, out), 3, 1, 1, 1);
	tile(graph, 4, NPUPLAN_INPUTS_HOST);
	assert_int_equal(npuplan_budgets_find(graph, NULL, &budgets, NULL), 0);
	/*
	 * Four rows read, in the place of which two are written when the step is done with
	 * them: of whole tensors it would be 128, and 48 if it had to keep them.
	 */
	assert_int_equal(budgets.needed, 32);
	options.arena_budget = budgets.needed;
	plan = planned(graph, &options);
	assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_OPTIMAL);
}

TEST(peak)
{
	struct npuplan_options options = { .planner = "cosma",
					   .objective = NPUPLAN_OBJECTIVE_PEAK };
	AUTO_GRAPH struct npuplan_graph *graph = tiled_diamond();
	struct npuplan_plan *plan = planned(graph, &options);

	assert_int_equal(plan->info.arena_size, 14);
	assert_int_equal(plan->info.lower_bound, 14);
	assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(traffic(plan), 0);
	npuplan_plan_free(plan);
	options.arena_budget = 13;
	refuse_planning(
		graph, &options, -ENOSPC,
		"without spilling 14 bytes are needed, the budget is 13, the lower bound 14");
	/* Any budget: the same. */
	options = (struct npuplan_options){ .planner = "cosma" };
	plan = planned(graph, &options);
	assert_int_equal(plan->info.arena_size, 14);
	npuplan_plan_free(plan);
}

TEST(schedules_and_baselines)
{
	static const char *const planners[] = { "cosma", "cosma-belady", "cosma-greedy" };
	AUTO_GRAPH struct npuplan_graph *graph = tiled_diamond();

	for (size_t i = 0; i < sizeof(planners) / sizeof(planners[0]); i++)
		for (uint32_t s = NPUPLAN_SCHEDULE_GIVEN; s <= NPUPLAN_SCHEDULE_TILED; s++) {
			struct npuplan_options options = {
				.planner = planners[i],
				.arena_budget = 12,
				.schedule = s,
			};
			AUTO_PLAN struct npuplan_plan *plan = planned(graph, &options);

			assert_in_range(traffic(plan), 8, 32);
			assert_string_equal(plan->info.planner, planners[i]);
		}
}

TEST(json)
{
	struct npuplan_options options = { .planner = "cosma", .arena_budget = 12 };
	AUTO_GRAPH struct npuplan_graph *graph = tiled_diamond(), *again = build_diamond();
	AUTO_PLAN struct npuplan_plan *plan = planned(graph, &options), *read = NULL;
	struct npuplan_tiling tiling;
	size_t sizes[2];
	void *blobs[2];
	AUTO_TEXT char *text = NULL;

	assert_int_equal(npuplan_plan_to_json(graph, plan, &text, NULL), 0);
	assert_int_equal(npuplan_json_tiling(again, text, strlen(text), &tiling, NULL), 0);
	assert_int_equal(tiling.inputs, NPUPLAN_INPUTS_HOST);
	assert_int_equal(npuplan_graph_tile(again, &tiling, NULL), 0);
	npuplan_tiling_fini(&tiling);
	assert_int_equal(again->tensors[0].flags, NPUMEM_TENSOR_FLAG_HOST);
	assert_int_equal(npuplan_plan_from_json(again, text, strlen(text), &read, NULL), 0);
	assert_int_equal(read->cosma->traffic_bound, 8);
	assert_int_equal(npuplan_plan_write(plan, &blobs[0], &sizes[0], NULL), 0);
	assert_int_equal(npuplan_plan_write(read, &blobs[1], &sizes[1], NULL), 0);
	assert_int_equal(sizes[0], sizes[1]);
	assert_memory_equal(blobs[0], blobs[1], sizes[0]);
	free(blobs[0]);
	free(blobs[1]);
}

static int cancel(void *context, const struct npuplan_pack_progress *progress)
{
	unsigned int *calls = context;

	assert_true(progress->traffic);
	++*calls;
	return 1;
}

/* The best so far comes back when the callback or a limit ends it. */
TEST(ended)
{
	unsigned int calls = 0;
	struct npuplan_options options = {
		.planner = "cosma",
		.arena_budget = 12,
		.progress = cancel,
		.context = &calls,
	};
	AUTO_GRAPH struct npuplan_graph *graph = tiled_diamond();
	struct npuplan_plan *plan = planned(graph, &options);

	assert_true(calls);
	assert_true(traffic(plan) >= 8);
	npuplan_plan_free(plan);
	options = (struct npuplan_options){
		.planner = "cosma", .arena_budget = 12, .work_limit = 1, .memory_limit = 1
	};
	plan = planned(graph, &options);
	assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_FEASIBLE);
	npuplan_plan_free(plan);
}

/*
 * The diamond, beside a state of @size bytes: a step that reads it, and writes "old", and one that
 * updates it.
 */
static struct npuplan_graph *diamond_with_state(uint64_t size)
{
	struct npuplan_graph *graph = tiled_diamond();
	uint32_t state = build_tensor(graph, "kept", NPUMEM_TENSOR_STATE, size);
	uint32_t old = build_tensor(graph, "old", NPUMEM_TENSOR_OUTPUT, 1);

	graph->tensors[old].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	build_step(graph, 0, state, NPUMEM_NONE, old);
	build_update(graph, state);
	return graph;
}

/* State stays where it is; what moves is what moves without it in a budget smaller by it. */
TEST(state)
{
	struct npuplan_options options = { .planner = "cosma", .arena_budget = 12 + 5 };
	AUTO_GRAPH struct npuplan_graph *graph = diamond_with_state(5);
	AUTO_PLAN struct npuplan_plan *plan = planned(graph, &options);
	struct npuplan_budgets budgets;
	uint32_t states = 0;

	assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(traffic(plan), 8);
	assert_int_equal(plan->cosma->traffic_bound, 8);
	assert_int_equal(plan->info.lower_bound, 12 + 5);
	for (uint32_t i = 0; i < plan->placement_count; i++) {
		const struct npumem_placement *placement = &plan->placements[i];

		if (graph->tensors[placement->tensor].kind != NPUMEM_TENSOR_STATE) {
			assert_true(placement->offset >= 5);
			continue;
		}
		states++;
		assert_int_equal(placement->offset, 0);
		assert_int_equal(placement->from, 0);
		assert_int_equal(placement->to, plan->position_count - 1);
	}
	assert_int_equal(states, 1);
	assert_int_equal(npuplan_budgets_find(graph, NULL, &budgets, NULL), 0);
	assert_int_equal(budgets.needed, 12 + 5);
	assert_int_equal(budgets.middle, 13 + 5);
	assert_int_equal(budgets.peak, 14 + 5);
	assert_true(budgets.proved);
	assert_int_equal(npuplan_needed_find(graph, NULL, &budgets.middle, &budgets.step, NULL), 0);
	assert_int_equal(budgets.middle, 12 + 5);
}

TEST(state_peak)
{
	struct npuplan_options options = { .planner = "cosma",
					   .objective = NPUPLAN_OBJECTIVE_PEAK };
	AUTO_GRAPH struct npuplan_graph *graph = diamond_with_state(5);
	AUTO_PLAN struct npuplan_plan *plan = planned(graph, &options);

	assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(plan->info.arena_size, 14 + 5);
	assert_int_equal(plan->info.lower_bound, 14 + 5);
}

/* Who reads the old value of a state comes before a step that writes it anew, too. */
TEST(state_written_anew)
{
	struct npuplan_options options = { .planner = "cosma",
					   .objective = NPUPLAN_OBJECTIVE_PEAK };
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("anew");
	uint32_t x = build_tensor(graph, "x", NPUMEM_TENSOR_INPUT, 10);
	uint32_t kept = build_tensor(graph, "kept", NPUMEM_TENSOR_STATE, 10);
	uint32_t r = build_tensor(graph, "r", NPUMEM_TENSOR_INTERMEDIATE, 300);
	uint32_t wide = build_tensor(graph, "wide", NPUMEM_TENSOR_INTERMEDIATE, 500);
	uint32_t w = build_tensor(graph, "w", NPUMEM_TENSOR_INTERMEDIATE, 1);
	uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_OUTPUT, 1);
	AUTO_PLAN struct npuplan_plan *plan = NULL;

	build_step(graph, 0, kept, NPUMEM_NONE, r);
	build_step(graph, 0, x, NPUMEM_NONE, kept);
	build_step(graph, 0, kept, NPUMEM_NONE, wide);
	build_step(graph, 0, wide, NPUMEM_NONE, w);
	build_step(graph, 0, r, w, y);
	plan = planned(graph, &options);
	/* The state, r, wide and w. If r could come last, it would be 511. */
	assert_int_equal(plan->info.arena_size, 811);
}

TEST(state_infeasible)
{
	struct npuplan_options options = { .planner = "cosma", .arena_budget = 16 };
	AUTO_GRAPH struct npuplan_graph *graph = diamond_with_state(5);
	AUTO_GRAPH struct npuplan_graph *alone = npuplan_graph_new("alone");
	struct npuplan_error error;
	struct npuplan_plan *plan;

	assert_int_equal(npuplan_plan(graph, &options, &plan, &error), -ENOSPC);
	assert_string_equal(error.text, "infeasible: make_b needs 17 bytes (17 B), the budget is "
					"16 (16 B)");
	assert_int_equal(error.status, NPUMEM_PLAN_STATUS_INFEASIBLE);
	assert_int_equal(error.needed, 17);
	/* So it is where the state alone is more than the budget. */
	options.arena_budget = 4;
	refuse_planning(graph, &options, -ENOSPC,
			"infeasible: make_b needs 17 bytes (17 B), the budget is 4 (4 B)");
	build_tensor(alone, "kept", NPUMEM_TENSOR_STATE, 5);
	build_tensor(alone, "out", NPUMEM_TENSOR_OUTPUT, 1);
	alone->tensors[1].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	build_step(alone, 0, 0, NPUMEM_NONE, 1);
	refuse_planning(
		alone, &options, -ENOSPC,
		"infeasible: what is on chip from the start needs 5 bytes (5 B), the budget "
		"is 4 (4 B)");
	options.arena_budget = 5;
	npuplan_plan_free(planned(alone, &options));
}

/* A state might lie in a gap that alignments leave elsewhere: nothing is proved. */
TEST(state_apart)
{
	struct npuplan_options options = { .planner = "cosma", .arena_budget = 19, .alignment = 4 };
	AUTO_GRAPH struct npuplan_graph *graph = diamond_with_state(5);
	AUTO_PLAN struct npuplan_plan *plan = NULL;

	refuse_planning(graph, &options, -ETIMEDOUT,
			"unknown: join needs 21 bytes (21 B) in a plan that has all state before "
			"all else, and others are not searched; the budget is 19 (19 B)");
	options.arena_budget = 21;
	plan = planned(graph, &options);
	assert_int_equal(plan->cosma->traffic_bound, 0);
}

TEST(bad_states)
{
	struct npuplan_options options = { .planner = "cosma", .arena_budget = 100 };
	AUTO_GRAPH struct npuplan_graph *parts = npuplan_graph_new("parts");
	struct npuplan_tensor part = {
		.name = (char[]){ "kept" },
		.size = 4,
		.align = 1,
		.kind = NPUMEM_TENSOR_STATE,
		.flags = NPUMEM_TENSOR_FLAG_ALIAS,
	};
	AUTO_GRAPH struct npuplan_graph *huge = diamond_with_state(1ull << 59);

	build_tensor(huge, "more", NPUMEM_TENSOR_STATE, 1ull << 59);
	build_tensor(huge, "one too many", NPUMEM_TENSOR_STATE, 1);
	refuse_planning(huge, &options, -E2BIG,
			"graph diamond: cosma plans at most 2^60 bytes of state");
	/* Bytes of a tensor that is none would be half kept, half moved. */
	part.alias_of = build_tensor(parts, "x", NPUMEM_TENSOR_INTERMEDIATE, 8);
	assert_int_equal(npuplan_graph_add_tensor(parts, &part), 1);
	build_step(parts, 0, 1, NPUMEM_NONE, build_tensor(parts, "out", NPUMEM_TENSOR_OUTPUT, 4));
	refuse_planning(parts, &options, -EOPNOTSUPP,
			"kept: cosma plans no state that is a part of another tensor");
}

TEST(bad_options)
{
	struct npuplan_options options = { .planner = "cosma", .arena_budget = 12 };
	AUTO_GRAPH struct npuplan_graph *graph = tiled_diamond();

	options.deadline_seconds = -1;
	refuse_planning(graph, &options, -EINVAL, "a deadline of -1 seconds makes no sense");
	options.deadline_seconds = INFINITY;
	refuse_planning(graph, &options, -EINVAL, "a deadline of inf seconds makes no sense");
	options.deadline_seconds = 0;
	options.objective = 4;
	refuse_planning(graph, &options, -EINVAL, "objective 4, schedule 0: there is none such");
	options.objective = 0;
	options.schedule = 4;
	refuse_planning(graph, &options, -EINVAL, "objective 0, schedule 4: there is none such");
	options.schedule = 0;
	options.arena_budget = UINT64_MAX;
	refuse_planning(graph, &options, -EINVAL,
			"a budget of 18446744073709551615 bytes is too large");
	options.arena_budget = 12;
	options.planner = "cosma-belady";
	options.objective = NPUPLAN_OBJECTIVE_PEAK;
	refuse_planning(graph, &options, -EOPNOTSUPP,
			"the baselines have no objective but the traffic");
	graph->tensors[0].flags = 0;
	options.planner = "greedy";
	refuse_planning(graph, &options, -EOPNOTSUPP,
			"planner greedy does not take the objectives of planner cosma");
	options.objective = NPUPLAN_OBJECTIVE_OWN;
	options.schedule = NPUPLAN_SCHEDULE_LEAST_PEAK;
	refuse_planning(graph, &options, -EOPNOTSUPP,
			"planner greedy does not take the schedules of planner cosma");
}

TEST(bad_graphs)
{
	struct npuplan_options options = { .planner = "cosma", .arena_budget = 12 };
	struct npuplan_graph *graph = tiled_diamond();

	graph->tensors[0].kind = NPUMEM_TENSOR_PARAMETER;
	graph->tensors[0].flags = 0;
	refuse_planning(graph, &options, -EOPNOTSUPP,
			"in: cosma loads parameters from host memory, and this one is not there");
	npuplan_graph_free(graph);

	graph = npuplan_graph_new("reader");
	build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 4);
	build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 4);
	build_step(graph, 0, 0, NPUMEM_NONE, 1);
	graph->accesses[1].mode = NPUMEM_ACCESS_READ;
	graph->tensors[1].kind = NPUMEM_TENSOR_INPUT;
	graph->tensors[1].flags = NPUMEM_TENSOR_FLAG_HOST;
	refuse_planning(graph, &options, -EINVAL, "'step 0' has no outputs");
	npuplan_graph_free(graph);

	/* What a step reads, a later one writes: no order is possible. */
	graph = npuplan_graph_new("circle");
	build_tensor(graph, "x", NPUMEM_TENSOR_INTERMEDIATE, 4);
	build_tensor(graph, "y", NPUMEM_TENSOR_OUTPUT, 4);
	build_step(graph, 0, 0, NPUMEM_NONE, 1);
	build_step(graph, 0, 1, NPUMEM_NONE, 0);
	assert_int_equal(npuplan_plan(graph, &options, &(struct npuplan_plan *){ NULL }, NULL),
			 -EINVAL);
	npuplan_graph_free(graph);

	graph = npuplan_graph_new("huge");
	build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 1ull << 59);
	build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 1ull << 60);
	build_step(graph, 0, 0, NPUMEM_NONE, 1);
	refuse_planning(graph, &options, -EINVAL,
			"sizes up to tensor 0, times their uses, exceed 2^60");
	npuplan_graph_free(graph);
}

TEST(too_many_steps)
{
	struct npuplan_options options = { .planner = "cosma", .arena_budget = 12 };
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("long");
	uint32_t last = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 4);

	for (uint32_t i = 0; i < 65537; i++) {
		uint32_t next = build_tensor(
			graph, "", i < 65536 ? NPUMEM_TENSOR_INTERMEDIATE : NPUMEM_TENSOR_OUTPUT,
			4);

		build_step(graph, 0, last, NPUMEM_NONE, next);
		last = next;
	}
	refuse_planning(graph, &options, -E2BIG,
			"graph long has 65537 steps, cosma plans at most 65536");
}
