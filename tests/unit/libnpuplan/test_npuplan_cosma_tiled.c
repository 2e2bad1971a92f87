// SPDX-License-Identifier: MIT
/*
 * Planner cosma in an order of tile scheduling (NPUPLAN_SCHEDULE_TILED): which order it is, what
 * moves less in it, and what limits leave.
 */
#include <errno.h>

#include "npuplan_build.h"
#include "random.h"

#include "base/heap.h"
#include "graph/checked.h"
#include "planners/cosma/model/units.h"
#include "planners/cosma/tiled.h"
#include "planners/tilesched/tilesched.h"

#define ROWS 24

/* Adds windows of three rows, one behind the other, of @width bytes a row; the last makes @out. */
static void add_windows(struct npuplan_graph *graph, uint32_t from, uint32_t count, int64_t width,
			uint32_t out)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t to = i + 1 < count ?
				      build_spatial(graph, "mid", NPUMEM_TENSOR_INTERMEDIATE, 1,
						    ROWS, width, 1) :
				      out;

		build_window(build_op(graph, "conv2d", from, NPUMEM_NONE, NPUMEM_NONE, to), 3, 1, 1,
			     1);
		from = to;
	}
}

static void tile(struct npuplan_graph *graph, uint32_t inputs)
{
	const struct npuplan_tiling tiling = { .rows = 1, .inputs = inputs };
	struct npuplan_error error;

	if (npuplan_graph_tile(graph, &tiling, &error))
		fail_msg("%s", error.text);
}

/*
 * Four windows, and the input of the first is added to what they make: a tensor in layers has 192
 * bytes, and rows that take turns have four of 8 bytes each, but for the input's.
 */
static struct npuplan_graph *residual(uint32_t inputs)
{
	struct npuplan_graph *graph = npuplan_graph_new("residual");
	uint32_t in = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, ROWS, 8, 1);
	uint32_t last = build_spatial(graph, "last", NPUMEM_TENSOR_INTERMEDIATE, 1, ROWS, 8, 1);
	uint32_t out = build_spatial(graph, "out", NPUMEM_TENSOR_OUTPUT, 1, ROWS, 8, 1);

	add_windows(graph, in, 4, 8, last);
	build_op(graph, "add", in, last, NPUMEM_NONE, out);
	tile(graph, inputs);
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

static uint64_t traffic_within(const struct npuplan_graph *graph, uint64_t budget,
			       uint32_t schedule)
{
	const struct npuplan_options options = {
		.planner = "cosma",
		.arena_budget = budget,
		.schedule = schedule,
		.work_limit = 5000000,
	};
	AUTO_PLAN struct npuplan_plan *plan = planned(graph, &options);

	return traffic(plan);
}

/* ------------------------------------------------------------------------- which order */

/* The plan runs the steps as tile scheduling of the graph has them. */
static void assert_order(const struct npuplan_plan *plan, const struct npuplan_graph *graph)
{
	const struct npuplan_options options = { 0 };
	const struct npuplan_problem problem = { .graph = graph, .options = &options };
	uint32_t *order = calloc(graph->step_count, sizeof(*order)), count = 0;
	struct npuplan_checked checked;
	uint64_t work;

	assert_int_equal(npuplan_checked_init(&checked, graph, NULL), 0);
	assert_int_equal(tilesched_order(&problem, checked.cells, order, &work), 0);
	for (uint32_t p = 0; p < plan->position_count; p++)
		if (plan->positions[p].kind == NPUMEM_POSITION_STEP)
			assert_int_equal(plan->positions[p].index, order[count++]);
	assert_int_equal(count, graph->step_count);
	/* What that took is part of the plan's work. */
	assert_true(plan->info.work >= work);
	npuplan_checked_fini(&checked);
	free(order);
}

/*
 * Rows of 40 bytes, of which rows of 8 are made, and windows of these. Where all of the input is
 * there from the start, the best is to be done with it soon.
 */
static struct npuplan_graph *wide_input(uint32_t inputs)
{
	struct npuplan_graph *graph = npuplan_graph_new("wide");
	uint32_t in = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, ROWS, 40, 1);
	uint32_t narrow = build_spatial(graph, "narrow", NPUMEM_TENSOR_INTERMEDIATE, 1, ROWS, 8, 1);
	uint32_t out = build_spatial(graph, "out", NPUMEM_TENSOR_OUTPUT, 1, ROWS, 8, 1);

	build_window(build_op(graph, "conv2d", in, NPUMEM_NONE, NPUMEM_NONE, narrow), 1, 1, 1, 0);
	add_windows(graph, narrow, 3, 20, out);
	tile(graph, inputs);
	return graph;
}

static struct npuplan_plan *plan_of_wide_input(uint32_t inputs, uint32_t flags)
{
	const struct npuplan_options options = {
		.planner = "cosma",
		.arena_budget = 2000,
		.schedule = NPUPLAN_SCHEDULE_TILED,
		.work_limit = 5000000,
	};
	AUTO_GRAPH struct npuplan_graph *graph = wide_input(inputs);
	struct npuplan_plan *plan = planned(graph, &options);

	graph->tensors[0].flags = flags;
	graph->tensors[2].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	assert_order(plan, graph);
	return plan;
}

static uint32_t step_at(const struct npuplan_plan *plan, uint32_t number)
{
	uint32_t p = 0;

	while (plan->positions[p].kind != NPUMEM_POSITION_STEP || number--)
		p++;
	return plan->positions[p].index;
}

/* What is loaded and stored is outside the arena for the order; what starts there is not. */
TEST(order)
{
	AUTO_PLAN struct npuplan_plan *loaded =
		plan_of_wide_input(NPUPLAN_INPUTS_HOST, NPUMEM_TENSOR_FLAG_EXTERNAL);
	AUTO_PLAN struct npuplan_plan *there = plan_of_wide_input(NPUPLAN_INPUTS_RESIDENT, 0);

	/* A window needs two rows at its edge, and three elsewhere. */
	assert_true(step_at(loaded, 2) >= ROWS);
	assert_int_equal(step_at(there, ROWS - 1), ROWS - 1);
}

/* A tensor with a fixed offset cannot be external, and an output that is a part of one neither. */
TEST(order_of_fixed_tensors)
{
	const struct npuplan_options options = {
		.planner = "cosma",
		.arena_budget = 600,
		.schedule = NPUPLAN_SCHEDULE_TILED,
		.work_limit = 5000000,
	};
	AUTO_GRAPH struct npuplan_graph *graph = residual(NPUPLAN_INPUTS_HOST);
	AUTO_PLAN struct npuplan_plan *plan = NULL;

	graph->tensors[0].flags |= NPUMEM_TENSOR_FLAG_FIXED;
	graph->tensors[2].flags |= NPUMEM_TENSOR_FLAG_FIXED;
	graph->tensors[2].fixed_offset = 192;
	plan = planned(graph, &options);
	assert_order(plan, graph);
}

TEST(order_of_aliases)
{
	const struct npuplan_options options = {
		.planner = "cosma",
		.arena_budget = 8,
		.schedule = NPUPLAN_SCHEDULE_TILED,
	};
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("alias");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 4);
	uint32_t whole = build_tensor(graph, "whole", NPUMEM_TENSOR_INTERMEDIATE, 4);
	uint32_t part = build_tensor(graph, "part", NPUMEM_TENSOR_OUTPUT, 2);
	AUTO_PLAN struct npuplan_plan *plan = NULL;

	graph->tensors[in].flags = NPUMEM_TENSOR_FLAG_HOST;
	graph->tensors[part].flags = NPUMEM_TENSOR_FLAG_ALIAS;
	graph->tensors[part].alias_of = whole;
	graph->tensors[part].alias_offset = 2;
	build_step(graph, 0, in, NPUMEM_NONE, whole);
	plan = planned(graph, &options);
	assert_int_equal(traffic(plan), 0);
	graph->tensors[in].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	assert_order(plan, graph);
}

/* -------------------------------------------------------------------------- what moves */

TEST(moves_less)
{
	AUTO_GRAPH struct npuplan_graph *graph = residual(NPUPLAN_INPUTS_HOST);

	/* There is room for three rows of a tensor, and for the input's until they are added. */
	assert_int_equal(traffic_within(graph, 96, NPUPLAN_SCHEDULE_TILED), 0);
	/* In layers a whole tensor is in the way of the next: each is spilled, and filled. */
	assert_true(traffic_within(graph, 96, NPUPLAN_SCHEDULE_GIVEN) > 3 * 192);
	/* What is too much for that order, too, is moved. */
	assert_in_range(traffic_within(graph, 64, NPUPLAN_SCHEDULE_TILED), 1,
			traffic_within(graph, 64, NPUPLAN_SCHEDULE_GIVEN) - 1);
}

/* Without a budget, the plan is one of the least arena in that order. */
TEST(least_arena)
{
	const struct npuplan_options options = { .planner = "cosma",
						 .schedule = NPUPLAN_SCHEDULE_TILED,
						 .work_limit = 5000000 };
	AUTO_GRAPH struct npuplan_graph *graph = residual(NPUPLAN_INPUTS_HOST);
	AUTO_PLAN struct npuplan_plan *plan = planned(graph, &options);

	assert_int_equal(traffic(plan), 0);
	/* Of three tensors three rows, and as many of the input as wait for them. */
	assert_int_equal(plan->info.arena_size, 96);
}

TEST(time)
{
	const struct npuplan_machine machine = { .size = sizeof(machine),
						 .access = 10,
						 .copy = 10 };
	const struct npuplan_cosma_options cosma = { .size = sizeof(cosma), .machine = &machine };
	const struct npuplan_options options = {
		.planner = "cosma",
		.arena_budget = 64,
		.schedule = NPUPLAN_SCHEDULE_TILED,
		.objective = NPUPLAN_OBJECTIVE_TIME,
		.cosma = &cosma,
		.work_limit = 5000000,
	};
	AUTO_GRAPH struct npuplan_graph *graph = residual(NPUPLAN_INPUTS_HOST);
	AUTO_PLAN struct npuplan_plan *plan = planned(graph, &options);

	graph->tensors[0].flags = graph->tensors[2].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	assert_order(plan, graph);
}

TEST(banks)
{
	static const struct npuplan_bank banks[] = { { 200, 2 }, { 200, 1 } };
	const struct npuplan_cosma_options cosma = { .size = sizeof(cosma), .banks = banks };
	const struct npuplan_options options = {
		.planner = "cosma",
		.schedule = NPUPLAN_SCHEDULE_TILED,
		.cosma = &cosma,
		.work_limit = 5000000,
	};
	AUTO_GRAPH struct npuplan_graph *graph = residual(NPUPLAN_INPUTS_HOST);
	AUTO_PLAN struct npuplan_plan *plan = planned(graph, &options);

	graph->tensors[0].flags = graph->tensors[2].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	assert_order(plan, graph);
}

TEST(baselines)
{
	static const char *const planners[] = { "cosma-belady", "cosma-greedy" };

	for (size_t i = 0; i < sizeof(planners) / sizeof(planners[0]); i++) {
		const struct npuplan_options options = {
			.planner = planners[i],
			.arena_budget = 64,
			.schedule = NPUPLAN_SCHEDULE_TILED,
		};
		AUTO_GRAPH struct npuplan_graph *graph = residual(NPUPLAN_INPUTS_HOST);
		AUTO_PLAN struct npuplan_plan *plan = planned(graph, &options);

		graph->tensors[0].flags = graph->tensors[2].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
		assert_order(plan, graph);
	}
}

/* ------------------------------------------------------------------------------ limits */

/* The same limit of work gives the same bytes; so does none where the plan is proved. */
TEST(deterministic)
{
	static const uint64_t limits[] = { 1, 1000, 100000, 3000000 };
	AUTO_GRAPH struct npuplan_graph *graph = residual(NPUPLAN_INPUTS_HOST);

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		const struct npuplan_options options = {
			.planner = "cosma",
			.arena_budget = 64,
			.schedule = NPUPLAN_SCHEDULE_TILED,
			.work_limit = limits[i],
		};
		size_t sizes[2];
		void *blobs[2];

		for (int k = 0; k < 2; k++) {
			AUTO_PLAN struct npuplan_plan *plan = planned(graph, &options);

			assert_int_equal(npuplan_plan_write(plan, &blobs[k], &sizes[k], NULL), 0);
		}
		assert_int_equal(sizes[0], sizes[1]);
		assert_memory_equal(blobs[0], blobs[1], sizes[0]);
		free(blobs[0]);
		free(blobs[1]);
	}
}

static int count_calls(void *context, const struct npuplan_pack_progress *progress)
{
	unsigned int *calls = context;

	assert_true(progress->traffic);
	++*calls;
	return 1;
}

/* Windows with so many rows that tile scheduling asks whether to go on. */
static struct npuplan_graph *many_steps(void)
{
	struct npuplan_graph *graph = npuplan_graph_new("many");
	uint32_t in = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, ROWS, 8, 1);
	uint32_t out = build_spatial(graph, "out", NPUMEM_TENSOR_OUTPUT, 1, ROWS, 8, 1);

	add_windows(graph, in, 60, 8, out);
	tile(graph, NPUPLAN_INPUTS_HOST);
	return graph;
}

/*
 * The search has what tile scheduling leaves of the limit. Beside it are what single operators
 * take, and two million units for plans that are there in any case.
 */
TEST(work)
{
	static const uint64_t limits[] = { 1, 1000000, 4000000 };
	AUTO_GRAPH struct npuplan_graph *graph = many_steps();

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		const struct npuplan_options options = {
			.planner = "cosma",
			.arena_budget = 40,
			.schedule = NPUPLAN_SCHEDULE_TILED,
			.work_limit = limits[i],
		};
		AUTO_PLAN struct npuplan_plan *plan = planned(graph, &options);

		assert_in_range(plan->info.work, limits[i], limits[i] + 2000000 + 50000);
	}
}

/* Who has ended the call is not asked again, and has a plan. */
TEST(ended_by_the_caller)
{
	unsigned int calls = 0;
	const struct npuplan_options options = {
		.planner = "cosma",
		.arena_budget = 400,
		.schedule = NPUPLAN_SCHEDULE_TILED,
		.progress = count_calls,
		.context = &calls,
	};
	AUTO_GRAPH struct npuplan_graph *graph = many_steps();
	AUTO_PLAN struct npuplan_plan *plan = planned(graph, &options);

	assert_int_equal(calls, 1);
	assert_true(plan->info.work > 0);
}

TEST(ended_by_the_clock)
{
	const struct npuplan_options options = {
		.planner = "cosma",
		.arena_budget = 400,
		.schedule = NPUPLAN_SCHEDULE_TILED,
		.deadline_seconds = 1e-6,
	};
	AUTO_GRAPH struct npuplan_graph *graph = many_steps();

	npuplan_plan_free(planned(graph, &options));
}

/* --------------------------------------------------------------------------- and others */

/* The program of that order is not the one of the graph's, and no larger than of any. */
TEST(integer_program)
{
	struct npuplan_options options = { .arena_budget = 400 };
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("small");
	uint32_t in = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, 3, 2, 1);
	uint32_t mid = build_spatial(graph, "mid", NPUMEM_TENSOR_INTERMEDIATE, 1, 3, 2, 1);
	uint32_t out = build_spatial(graph, "out", NPUMEM_TENSOR_OUTPUT, 1, 3, 2, 1);
	struct npuplan_error error;
	char *text[2];
	size_t size[2];

	build_window(build_op(graph, "conv2d", in, NPUMEM_NONE, NPUMEM_NONE, mid), 3, 1, 1, 1);
	build_op(graph, "relu", mid, NPUMEM_NONE, NPUMEM_NONE, out);
	tile(graph, NPUPLAN_INPUTS_HOST);
	for (int i = 0; i < 2; i++) {
		options.schedule = i ? NPUPLAN_SCHEDULE_TILED : NPUPLAN_SCHEDULE_GIVEN;
		if (npuplan_lp_write(graph, &options, &text[i], &size[i], &error))
			fail_msg("%s", error.text);
	}
	assert_string_not_equal(text[0], text[1]);
	free(text[0]);
	free(text[1]);
}

TEST(no_operator_again)
{
	const struct npuplan_options options = { .arena_budget = 400,
						 .schedule = NPUPLAN_SCHEDULE_TILED };
	const struct npuplan_tiling tiling = { 0 };
	AUTO_GRAPH struct npuplan_graph *graph = build_diamond();
	struct npuplan_recompute found;
	struct npuplan_error error;

	assert_int_equal(npuplan_recompute_find(graph, &tiling, &options, 0, &found, &error),
			 -EOPNOTSUPP);
	assert_string_equal(error.text, "operators run again in a free order, or the graph's");
}

TEST(no_break_nodes)
{
	static const uint32_t node = 1;
	const struct npuplan_cosma_options cosma = { .size = sizeof(cosma),
						     .breaks = &node,
						     .break_count = 1 };
	const struct npuplan_options options = {
		.planner = "cosma",
		.arena_budget = 400,
		.schedule = NPUPLAN_SCHEDULE_TILED,
		.cosma = &cosma,
	};
	AUTO_GRAPH struct npuplan_graph *graph = residual(NPUPLAN_INPUTS_HOST);

	refuse_planning(graph, &options, -EOPNOTSUPP,
			"break nodes divide an order that the planner chooses, not one that is "
			"given");
}

/* --------------------------------------------------------------------- in a free order */

/* Windows of random heights and widths, some of which are added to what one of them is made of. */
static struct npuplan_graph *random_rows(uint64_t *random)
{
	struct npuplan_graph *graph = npuplan_graph_new("random");
	uint32_t count = random_range(random, 2, 6), rows = random_range(random, 4, 16);
	uint32_t width = random_range(random, 2, 9);
	uint32_t from = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, rows, width, 1);
	uint32_t before = from;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t to = build_spatial(graph, "mid",
					    i + 1 < count ? NPUMEM_TENSOR_INTERMEDIATE :
							    NPUMEM_TENSOR_OUTPUT,
					    1, rows, width, 1);

		if (i > 1 && random_range(random, 0, 1)) {
			build_op(graph, "add", before, from, NPUMEM_NONE, to);
			before = to;
		} else {
			int32_t reach = (int32_t)random_range(random, 0, 2);

			build_window(build_op(graph, "conv2d", from, NPUMEM_NONE, NPUMEM_NONE, to),
				     2 * reach + 1, 1, 1, reach);
		}
		from = to;
	}
	tile(graph, random_range(random, 0, 1) ? NPUPLAN_INPUTS_HOST : NPUPLAN_INPUTS_RESIDENT);
	return graph;
}

/*
 * struct searched - a graph as the planner has it for a search in a free order
 */
struct searched {
	struct npuplan_checked checked;
	struct cosma_units units;
	struct cosma_settings asked;
};

static void searched_init(struct searched *searched, const struct npuplan_graph *graph,
			  uint64_t budget, uint64_t work)
{
	struct cosma_units *units = &searched->units;

	assert_int_equal(npuplan_checked_init(&searched->checked, graph, NULL), 0);
	assert_int_equal(cosma_units_init(units, graph, searched->checked.cells, NULL, 0, NULL), 0);
	searched->asked = (struct cosma_settings){
		.common.arena_budget = budget,
		.common.work_limit = work,
		.inputs_flagged = units->resident,
		.takeovers = units->takeovers,
		.takeover_count = units->takeover_count,
		.staged = units->staged,
	};
}

static void searched_fini(struct searched *searched)
{
	cosma_units_fini(&searched->units);
	npuplan_checked_fini(&searched->checked);
}

/* That search alone. */
static void search_alone(const struct npuplan_graph *graph, uint64_t budget, uint64_t work,
			 struct npuplan_cosma_plan *plan)
{
	struct searched searched;

	searched_init(&searched, graph, budget, work);
	assert_int_equal(npuplan_cosma(searched.units.graph, &searched.asked, plan, NULL), 0);
	searched_fini(&searched);
}

/*
 * struct gains - what tile scheduling's order has brought
 * @proved: plans that the search alone has proved
 * @same, @better: others, as good, and better
 */
struct gains {
	uint32_t proved, same, better;
};

/*
 * Beside the search with three quarters of the limit the plan is never worse. What is proved of
 * any order is what that has proved, and if it has proved its plan that is the plan.
 */
static void compare(const struct npuplan_graph *graph, uint64_t budget, uint64_t limit,
		    struct gains *gains)
{
	const struct npuplan_options options = { .planner = "cosma",
						 .arena_budget = budget,
						 .work_limit = limit };
	AUTO_PLAN struct npuplan_plan *plan = planned(graph, &options);
	struct npuplan_cosma_plan alone;

	search_alone(graph, budget, limit - limit / 4, &alone);
	assert_non_null(alone.positions);
	assert_true(traffic(plan) <= alone.spill + alone.fill);
	assert_true(plan->cosma->traffic_bound <= alone.lower_bound);
	if (traffic(plan))
		assert_true(plan->info.status != NPUMEM_PLAN_STATUS_OPTIMAL ||
			    traffic(plan) == alone.lower_bound);
	if (alone.status == NPUMEM_PLAN_STATUS_OPTIMAL) {
		assert_int_equal(plan->info.work, alone.work);
		assert_int_equal(traffic(plan), alone.spill + alone.fill);
		gains->proved++;
	} else {
		assert_in_range(plan->info.work, alone.work + 1, limit + 4000000 + 100000);
		gains->same += traffic(plan) == alone.spill + alone.fill;
		gains->better += traffic(plan) < alone.spill + alone.fill;
	}
	npuplan_cosma_plan_free(&alone);
}

TEST(never_worse_than_alone)
{
	static const uint64_t limits[] = { 1000, 100000, 1000000 };
	uint64_t seed = 20261130, random = seed;
	struct gains gains = { 0 };

	for (uint32_t i = 0; i < 40; i++) {
		AUTO_GRAPH struct npuplan_graph *graph = random_rows(&random);
		uint64_t needed;
		uint32_t step;

		assert_int_equal(npuplan_needed_find(graph, NULL, &needed, &step, NULL), 0);
		for (size_t k = 0; k < sizeof(limits) / sizeof(limits[0]); k++)
			compare(graph, needed * (100 + random_range(&random, 0, 150)) / 100,
				limits[k], &gains);
	}
	print_message("seed %llu: %u proved alone, %u as good, %u better\n",
		      (unsigned long long)seed, gains.proved, gains.same, gains.better);
	assert_true(gains.proved && gains.same && gains.better);
}

/*
 * Blocks as MobileNetV2 has them: rows of 8 bytes are made six times as wide, a window goes over
 * these, and they are made narrow again. In layers 2304 bytes lie on either side of the window.
 */
static struct npuplan_graph *blocks(uint32_t count)
{
	struct npuplan_graph *graph = npuplan_graph_new("blocks");
	uint32_t from = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, ROWS, 8, 1);

	for (uint32_t i = 0; i < 3 * count; i++) {
		bool window = i % 3 == 1, last = i + 1 == 3 * count;
		uint32_t to =
			build_spatial(graph, last ? "out" : "mid",
				      last ? NPUMEM_TENSOR_OUTPUT : NPUMEM_TENSOR_INTERMEDIATE, 1,
				      ROWS, i % 3 < 2 ? 48 : 8, 1);

		build_window(build_op(graph, "conv2d", from, NPUMEM_NONE, NPUMEM_NONE, to),
			     window ? 3 : 1, 1, 1, window);
		from = to;
	}
	tile(graph, NPUPLAN_INPUTS_HOST);
	return graph;
}

/* Where that is better, a plan in a free order is one in tile scheduling's. */
TEST(free_order)
{
	AUTO_GRAPH struct npuplan_graph *graph = blocks(8);

	/* The search alone has not come far from the graph's order. */
	assert_in_range(traffic_within(graph, 240, NPUPLAN_SCHEDULE_GIVEN), 30000, 40000);
	assert_in_range(traffic_within(graph, 240, NPUPLAN_SCHEDULE_FREE), 1, 2000);
}

/* Both searches, within @limit bytes beside those that each search counts by itself. */
static int search_within(const struct npuplan_graph *graph, const struct searched *searched,
			 uint64_t limit, struct npuplan_cosma_plan *plan)
{
	const struct npuplan_options options = { .arena_budget = 240, .work_limit = 5000000 };
	struct npuplan_effort effort = npuplan_effort_begin(UINT64_MAX, 0, NULL, NULL);
	struct npuplan_heap heap = { .limit = limit };
	struct npuplan_heap *outer = npuplan_heap_use(&heap);
	struct npuplan_error error;
	int err = cosma_search_turns(graph, searched->units.graph, &options, &effort,
				     &searched->asked, plan, &error);

	npuplan_heap_use(outer);
	if (err)
		assert_non_null(strstr(error.text, "memory"));
	return err;
}

/* Wherever memory ends it is said: there is no plan, or there is the first search's. */
TEST(memory_ends)
{
	AUTO_GRAPH struct npuplan_graph *graph = blocks(8);
	uint32_t none = 0, first = 0;
	bool whole = false;
	struct searched searched;

	searched_init(&searched, graph, 240, 5000000);
	for (uint64_t limit = 0; !whole; limit += 16 + limit / 4) {
		struct npuplan_cosma_plan plan = { 0 };
		int err = search_within(graph, &searched, limit, &plan);

		assert_true(!err || err == -ENOMEM);
		whole = !err && plan.spill + plan.fill <= 2000;
		/* The plan of the first search alone does not pass for one of both. */
		assert_true(err || plan.memory_ended != whole);
		none += err == -ENOMEM;
		first += !err && !whole;
		npuplan_cosma_plan_free(&plan);
	}
	searched_fini(&searched);
	print_message("%u without a plan, %u with the first search's\n", none, first);
	assert_true(none && first);
}

/* Whole operators are searched as they were. */
TEST(whole_operators_alone)
{
	const struct npuplan_options options = { .planner = "cosma",
						 .arena_budget = 12,
						 .work_limit = 1 };
	const struct npuplan_tiling tiling = { .bands = 1, .inputs = NPUPLAN_INPUTS_HOST };
	AUTO_GRAPH struct npuplan_graph *graph = build_diamond();
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	struct npuplan_cosma_plan alone;

	assert_int_equal(npuplan_graph_tile(graph, &tiling, NULL), 0);
	plan = planned(graph, &options);
	search_alone(graph, 12, 1, &alone);
	assert_int_equal(plan->info.work, alone.work);
	npuplan_cosma_plan_free(&alone);
}

/*
 * struct told - what progress has told
 * @end_at: the call that ends it; 0: none
 * @least, @bound: the least traffic so far, and its bound
 */
struct told {
	unsigned int calls;
	unsigned int end_at;
	uint64_t least;
	uint64_t bound;
	uint64_t work;
};

/* Of both searches as of one: traffic falls, bounds are of both, work goes on. */
static int check_progress(void *context, const struct npuplan_pack_progress *progress)
{
	struct told *told = context;

	assert_true(progress->traffic);
	assert_true(progress->top <= told->least);
	assert_true(progress->work >= told->work);
	assert_true(progress->top == UINT64_MAX || progress->lower_bound <= progress->top);
	assert_true(progress->gap >= 0 && progress->gap <= 1);
	told->least = progress->top;
	told->bound = progress->lower_bound;
	told->work = progress->work;
	assert_true(!told->end_at || told->calls < told->end_at);
	return ++told->calls == told->end_at;
}

static void follow(const struct npuplan_graph *graph, uint64_t budget, uint64_t limit)
{
	struct told told = { .least = UINT64_MAX };
	const struct npuplan_options options = {
		.planner = "cosma",
		.arena_budget = budget,
		.work_limit = limit,
		.progress = check_progress,
		.context = &told,
	};
	struct npuplan_cosma_plan alone;
	unsigned int all;

	npuplan_plan_free(planned(graph, &options));
	all = told.calls;
	/* The bound is that of any order, also while the search is in one. */
	search_alone(graph, budget, limit - limit / 4, &alone);
	assert_true(told.work > alone.work);
	assert_int_equal(told.bound, alone.lower_bound);
	npuplan_cosma_plan_free(&alone);
	/* Whenever the caller ends it, nobody is asked again, and there is a plan. */
	for (unsigned int end = 1; end <= all; end += 1 + all / 20) {
		told = (struct told){ .end_at = end, .least = UINT64_MAX };
		npuplan_plan_free(planned(graph, &options));
		assert_int_equal(told.calls, end);
	}
}

TEST(progress_of_both)
{
	AUTO_GRAPH struct npuplan_graph *better = blocks(4), *same = many_steps();
	AUTO_GRAPH struct npuplan_graph *worse = residual(NPUPLAN_INPUTS_HOST);

	follow(better, 240, 2000000);
	/* Tile scheduling, too, asks whether to go on. */
	follow(same, 40, 4000000);
	follow(worse, 40, 1000000);
}
