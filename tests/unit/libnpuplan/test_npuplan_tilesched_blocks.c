// SPDX-License-Identifier: MIT
/* Tile scheduling of graphs with loops and branches. */
#include <errno.h>

#include "flow_build.h"
#include "models.h"

#define NONE NPUMEM_NONE

/* A tile of @size bytes of a tensor, the @k-th. */
static struct npumem_access access_to(struct npuplan_graph *graph, uint32_t tensor, uint32_t mode,
				      uint64_t size, uint32_t k)
{
	const struct npumem_region region = {
		.offset = k * size,
		.length = size,
		.count = { 1, 1, 1 },
	};

	return (struct npumem_access){
		.tile = npuplan_graph_add_tile(graph, tensor, &region),
		.mode = mode,
		.inplace = NONE,
	};
}

/* Adds @rows steps, each of which makes a row of @to of a row of @from. */
static void add_row_steps(struct npuplan_graph *graph, uint32_t from, uint32_t to, uint32_t rows,
			  uint32_t flags, uint32_t inplace)
{
	for (uint32_t k = 0; k < rows; k++) {
		struct npuplan_step step = { .flags = flags, .op = NONE };
		struct npumem_access accesses[2] = {
			access_to(graph, from, NPUMEM_ACCESS_READ, graph->tensors[from].size / rows,
				  k),
			access_to(graph, to, NPUMEM_ACCESS_WRITE, graph->tensors[to].size / rows,
				  k),
		};

		accesses[1].inplace = inplace;
		assert_true(npuplan_graph_add_step(graph, &step, accesses, 2) >= 0);
	}
}

/*
 * struct rows - a loop whose body makes wide (4 rows of 100 bytes) of x (4 rows of 10), and y (the
 * same as x) of wide, row by row, x <- y. In the order of the graph all of wide lives: 440 bytes,
 * and y takes the place of x as that dies. Interleaved, one row does.
 */
struct rows {
	struct npuplan_graph *graph;
	uint32_t in, x, wide, y;
};

static struct rows build_rows(uint32_t flags)
{
	struct npuplan_graph *graph = npuplan_graph_new("rows");
	struct rows r = {
		.graph = graph,
		.in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 40),
		.x = build_tensor(graph, "x", NPUMEM_TENSOR_INTERMEDIATE, 40),
		.wide = build_tensor(graph, "wide", NPUMEM_TENSOR_INTERMEDIATE, 400),
		.y = build_tensor(graph, "y", NPUMEM_TENSOR_OUTPUT, 40),
	};

	build_block(graph);
	add_row_steps(graph, r.x, r.wide, 4, flags, NONE);
	add_row_steps(graph, r.wide, r.y, 4, flags, NONE);
	build_edge(graph, 0, 1, r.in, r.x);
	build_edge(graph, 1, 1, r.y, r.x);
	build_edge(graph, 1, NONE, NONE, NONE);
	return r;
}

/* Plans by both planners, and holds arena and bound against what is expected. */
static void expect(const struct npuplan_graph *graph, const struct npuplan_options *asked,
		   uint64_t arena, uint64_t bound)
{
	static const char *const planners[] = { "tile-scheduled", "tile-scheduled-rings" };

	for (int i = 0; i < 2; i++) {
		AUTO_PLAN struct npuplan_plan *plan = NULL;
		struct npuplan_options options = *asked;

		options.planner = planners[i];
		plan = build_plan_of(graph, &options);
		assert_int_equal(plan->info.arena_size, arena);
		assert_int_equal(plan->info.lower_bound, bound);
		assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_FEASIBLE);
		assert_string_equal(plan->info.planner, planners[i]);
		play_paths(graph, plan);
	}
}

/* x and y have one place, for a row of x is dead when that of y comes; and a row of wide. */
TEST(row_by_row)
{
	const struct npuplan_options none = { 0 }, whole = { .planner = "auto" };
	struct rows r = build_rows(0);
	AUTO_PLAN struct npuplan_plan *plan = build_plan_of(r.graph, &whole);

	assert_int_equal(plan->info.arena_size, 440);
	expect(r.graph, &none, 140, 140);
	npuplan_graph_free(r.graph);
}

/* Of bytes that operators have in place there are as many: rows of a and b are at one place. */
TEST(in_place)
{
	const struct npuplan_options none = { 0 };
	struct npuplan_graph *graph = npuplan_graph_new("in place");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 40);
	uint32_t x = build_tensor(graph, "x", NPUMEM_TENSOR_INTERMEDIATE, 40);
	uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 400);
	uint32_t b = build_tensor(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, 400);
	uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_OUTPUT, 40);

	build_block(graph);
	add_row_steps(graph, x, a, 4, 0, NONE);
	add_row_steps(graph, a, b, 4, 0, 0);
	add_row_steps(graph, b, y, 4, 0, NONE);
	build_edge(graph, 0, 1, in, x);
	build_edge(graph, 1, 1, y, x);
	build_edge(graph, 1, NONE, NONE, NONE);
	expect(graph, &none, 140, 140);
	npuplan_graph_free(graph);
}

/* The body of loop_body: an inverted residual, row by row, and in bands. */
TEST(model)
{
	static const struct {
		uint32_t bands;
		uint64_t arena, bound;
	} cuts[] = { { 32, 12928, 12928 }, { 4, 23040, 22656 }, { 1, 69632, 69632 } };
	const struct npuplan_options none = { 0 };

	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		AUTO_GRAPH struct npuplan_graph *graph = import_model("loop_body");

		assert_int_equal(npuplan_graph_tile_bands(graph, cuts[i].bands, true, NULL), 0);
		expect(graph, &none, cuts[i].arena, cuts[i].bound);
	}
}

/* A tensor at a fixed offset stays whole. */
TEST(fixed_offset)
{
	const struct npuplan_options none = { 0 };
	struct rows r = build_rows(0);

	r.graph->tensors[r.wide].flags |= NPUMEM_TENSOR_FLAG_FIXED;
	r.graph->tensors[r.wide].fixed_offset = 100;
	expect(r.graph, &none, 500, 500);
	npuplan_graph_free(r.graph);
}

/* Each arm of a branch by itself. */
TEST(branch)
{
	const struct npuplan_options none = { 0 };
	struct npuplan_graph *graph = npuplan_graph_new("branch");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 40);
	uint32_t wide[2], y[2], out;

	for (int i = 0; i < 2; i++) {
		wide[i] = build_tensor(graph, "wide", NPUMEM_TENSOR_INTERMEDIATE, 400 + 40 * i);
		y[i] = build_tensor(graph, "y", NPUMEM_TENSOR_INTERMEDIATE, 40);
		assert_true(npuplan_graph_add_block(graph) > i);
		add_row_steps(graph, in, wide[i], 4, 0, NONE);
		add_row_steps(graph, wide[i], y[i], 4, 0, NONE);
	}
	out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 40);
	build_block(graph);
	build_edge(graph, 0, 1, NONE, NONE);
	build_edge(graph, 0, 2, NONE, NONE);
	build_edge(graph, 1, 3, y[0], out);
	build_edge(graph, 2, 3, y[1], out);
	build_edge(graph, 3, NONE, NONE, NONE);
	/* The larger row, and the input, in whose place the output is. */
	expect(graph, &none, 150, 150);
	npuplan_graph_free(graph);
}

TEST(budgets)
{
	const struct npuplan_options whole = { .arena_budget = 440 };
	const struct npuplan_options rows = { .arena_budget = 439 };
	struct npuplan_options small = { .planner = "tile-scheduled", .arena_budget = 139 };
	struct rows r = build_rows(0);
	struct npuplan_error error;

	expect(r.graph, &whole, 440, 400);
	expect(r.graph, &rows, 140, 140);
	error = planning_error(r.graph, &small, -ENOSPC);
	assert_string_equal(error.text, "needs 140 bytes, budget 139, lower bound 140; that is the "
					"order of tiles with the lowest peak of each block");
	assert_int_equal(error.status, NPUMEM_PLAN_STATUS_UNKNOWN);
	assert_int_equal(error.needed, 140);
	npuplan_graph_free(r.graph);
}

/* With operators that take several pieces in place, of which no bound is known. */
TEST(no_bound)
{
	const struct npuplan_options none = { 0 };
	struct npuplan_graph *graph = npuplan_graph_new("no bound");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 40);
	uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 80);
	uint32_t b = build_tensor(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, 80);
	uint32_t wide = build_tensor(graph, "wide", NPUMEM_TENSOR_INTERMEDIATE, 400);
	uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_OUTPUT, 40);

	build_block(graph);
	/* a is written in 4 pieces, and b is made of it in 2, in place. */
	add_row_steps(graph, in, a, 4, 0, NONE);
	add_row_steps(graph, a, b, 2, 0, 0);
	add_row_steps(graph, b, wide, 4, 0, NONE);
	add_row_steps(graph, wide, y, 4, 0, NONE);
	build_edge(graph, 0, 1, NONE, NONE);
	build_edge(graph, 1, NONE, NONE, NONE);
	expect(graph, &none, 160, 0);
	npuplan_graph_free(graph);
}
