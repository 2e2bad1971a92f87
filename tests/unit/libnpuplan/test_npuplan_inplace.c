// SPDX-License-Identifier: MIT
/* In-place operators and aliases: takeovers, bound, permitted displacements, plans; by hand. */
#include "npuplan_build.h"

#include <errno.h>

#include "planners/planners.h"

/* Add a step that reads @in0 and @in1 and writes @out, which may take the bytes of @in0. */
static void inplace_step(struct npuplan_graph *graph, uint32_t flags, uint32_t in0, uint32_t in1,
			 uint32_t out)
{
	build_step(graph, flags, in0, in1, out);
	graph->accesses[graph->access_count - 1].inplace = 0;
}

static uint32_t build_alias(struct npuplan_graph *graph, const char *name, uint32_t kind,
			    uint32_t base, uint64_t offset, uint64_t size)
{
	uint32_t index = build_tensor(graph, name, kind, size);

	graph->tensors[index].flags = NPUMEM_TENSOR_FLAG_ALIAS;
	graph->tensors[index].alias_of = base;
	graph->tensors[index].alias_offset = offset;
	return index;
}

static struct npuplan_plan *plan_of(const struct npuplan_graph *graph, const char *planner)
{
	struct npuplan_options options = { .planner = planner };

	return build_plan_of(graph, &options);
}

static uint64_t offset_of(const struct npuplan_plan *plan, uint32_t tensor)
{
	for (uint32_t i = 0; i < plan->placement_count; i++)
		if (plan->placements[i].tensor == tensor)
			return plan->placements[i].offset;
	fail_msg("tensor %u has no place", tensor);
	return 0;
}

static void assert_planner(const struct npuplan_graph *graph, const char *planner, uint64_t arena,
			   uint64_t bound)
{
	AUTO_PLAN struct npuplan_plan *plan = plan_of(graph, planner);

	assert_int_equal(plan->info.arena_size, arena);
	assert_int_equal(plan->info.lower_bound, bound);
}

/* Check that planners of whole tensors and of atoms make the same arena and bound. */
static void assert_plan(const struct npuplan_graph *graph, uint64_t arena, uint64_t bound)
{
	assert_planner(graph, "greedy", arena, bound);
	assert_planner(graph, "taa", arena, bound);
}

/*
 * in 8 -> x 8 -> relu y 8 -> add(y, x2) z 8. In place x, y, z are one place of 8;
 * the most is live at the first step, where in and x are: 16.
 */
TEST(chain)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("chain");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 8);
	uint32_t x = build_tensor(graph, "x", NPUMEM_TENSOR_INTERMEDIATE, 8);
	uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_INTERMEDIATE, 8);
	uint32_t z = build_tensor(graph, "z", NPUMEM_TENSOR_OUTPUT, 8);
	AUTO_PLAN struct npuplan_plan *plan = NULL;

	build_step(graph, 0, in, NPUMEM_NONE, x);
	inplace_step(graph, 0, x, NPUMEM_NONE, y);
	inplace_step(graph, 0, y, in, z);
	assert_plan(graph, 16, 16);
	plan = plan_of(graph, NULL);
	assert_int_equal(offset_of(plan, x), offset_of(plan, y));
	assert_int_equal(offset_of(plan, y), offset_of(plan, z));
}

/* An input may be overwritten: 8 bytes are enough. Not if a later step reads it. */
TEST(last_use)
{
	struct npuplan_graph *graph = npuplan_graph_new("last");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 8);
	uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_INTERMEDIATE, 8);
	uint32_t z;

	inplace_step(graph, 0, in, NPUMEM_NONE, y);
	assert_plan(graph, 8, 8);
	z = build_tensor(graph, "z", NPUMEM_TENSOR_OUTPUT, 2);
	build_step(graph, 0, y, NPUMEM_NONE, z);
	assert_plan(graph, 10, 10);
	npuplan_graph_free(graph);

	graph = npuplan_graph_new("needed");
	in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 8);
	y = build_tensor(graph, "y", NPUMEM_TENSOR_INTERMEDIATE, 8);
	z = build_tensor(graph, "z", NPUMEM_TENSOR_OUTPUT, 2);
	inplace_step(graph, 0, in, NPUMEM_NONE, y);
	build_step(graph, 0, y, in, z);
	assert_plan(graph, 18, 18);
	npuplan_graph_free(graph);
}

/* Another read of the same bytes by the same step may come at any time. */
TEST(read_twice)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("twice");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 8);
	uint32_t half = build_alias(graph, "half", NPUMEM_TENSOR_INTERMEDIATE, in, 4, 4);
	uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_OUTPUT, 8);

	inplace_step(graph, 0, in, half, y);
	/* Half of the bytes is no use if each has one offset; in pieces 12 might do. */
	assert_planner(graph, "greedy", 16, 12);
	assert_planner(graph, "taa", 16, 16);
}

/* x * x: the same tile twice is read as one. */
TEST(square)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("square");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 8);
	uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_OUTPUT, 8);

	inplace_step(graph, 0, in, in, y);
	graph->accesses[1].tile = graph->accesses[0].tile;
	assert_int_equal(graph->access_count, 3);
	assert_plan(graph, 8, 8);
}

/* State survives, so that nobody may take its bytes. */
TEST(survivor)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("state");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_STATE, 8);
	uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_OUTPUT, 8);

	inplace_step(graph, 0, in, NPUMEM_NONE, y);
	assert_plan(graph, 16, 16);
}

/*
 * The second half of in is overwritten in place: y lies 4 bytes above in, and
 * nowhere else may it overlap.
 */
TEST(part)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("part");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 8);
	uint32_t half = build_alias(graph, "half", NPUMEM_TENSOR_INTERMEDIATE, in, 4, 4);
	uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_OUTPUT, 4);
	AUTO_PLAN struct npuplan_plan *plan = NULL;

	inplace_step(graph, 0, half, NPUMEM_NONE, y);
	assert_plan(graph, 8, 8);
	plan = plan_of(graph, NULL);
	assert_int_equal(offset_of(plan, y), offset_of(plan, in) + 4);
	/* An alias has no place of its own. */
	assert_int_equal(plan->placement_count, 2);
}

/* Halves written apart, read as one, in place: a concat without a copy. */
TEST(concat)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("concat");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 4);
	uint32_t both = build_tensor(graph, "both", NPUMEM_TENSOR_INTERMEDIATE, 16);
	uint32_t left = build_alias(graph, "left", NPUMEM_TENSOR_INTERMEDIATE, both, 0, 8);
	uint32_t right = build_alias(graph, "right", NPUMEM_TENSOR_INTERMEDIATE, both, 8, 8);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 16);

	build_step(graph, 0, in, NPUMEM_NONE, left);
	build_step(graph, 0, in, NPUMEM_NONE, right);
	inplace_step(graph, 0, both, NPUMEM_NONE, out);
	assert_plan(graph, 20, 20);
}

/* The bytes of an output alias survive, and those of an alias are read after the base. */
TEST(alias_lives)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("lives");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 4);
	uint32_t base = build_tensor(graph, "base", NPUMEM_TENSOR_INTERMEDIATE, 16);
	uint32_t mid = build_tensor(graph, "mid", NPUMEM_TENSOR_INTERMEDIATE, 16);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 16);

	build_alias(graph, "kept", NPUMEM_TENSOR_OUTPUT, base, 8, 8);
	build_step(graph, 0, in, NPUMEM_NONE, base);
	build_step(graph, 0, in, NPUMEM_NONE, mid);
	build_step(graph, 0, mid, NPUMEM_NONE, out);
	/* mid, out, and of base the 8 bytes that survive; whole tensors: 48. */
	assert_planner(graph, "greedy", 48, 40);
	assert_planner(graph, "taa", 40, 40);
}

/* Staged, reads are over: the place is free with the mark and without. */
TEST(staged)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("staged");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 8);
	uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_OUTPUT, 8);

	inplace_step(graph, NPUMEM_STEP_STAGED, in, NPUMEM_NONE, y);
	assert_plan(graph, 8, 8);
}

/* External tensors have no bytes of the arena to take. */
TEST(external)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("external");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 8);
	uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_OUTPUT, 8);

	graph->tensors[in].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	inplace_step(graph, 0, in, NPUMEM_NONE, y);
	assert_plan(graph, 8, 8);
}

/* Row bands of an in-place operator: each row's place is free as it is written. */
TEST(bands)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("bands");
	uint32_t in = build_spatial(graph, "in", NPUMEM_TENSOR_INPUT, 1, 8, 4, 2);
	uint32_t y = build_spatial(graph, "y", NPUMEM_TENSOR_OUTPUT, 1, 8, 4, 2);
	struct npuplan_op *op = build_op(graph, "relu", in, NPUMEM_NONE, NPUMEM_NONE, y);
	struct npuplan_error error;
	uint32_t marked = 0;

	op->attrs.inplace = true;
	assert_int_equal(npuplan_graph_tile_bands(graph, 4, false, &error), 0);
	for (uint32_t i = 0; i < graph->access_count; i++)
		marked += graph->accesses[i].inplace != NPUMEM_NONE;
	assert_int_equal(marked, 4);
	assert_plan(graph, 64, 64);
}

/*
 * Whole operators are marked as in place where both tensors have the same bytes and the input is no
 * parameter.
 */
TEST(marks)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("marks");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 8);
	uint32_t w = build_tensor(graph, "w", NPUMEM_TENSOR_PARAMETER, 8);
	uint32_t s = build_tensor(graph, "s", NPUMEM_TENSOR_STATE, 8);
	uint32_t y[4];
	struct npuplan_error error;

	for (int i = 0; i < 4; i++)
		y[i] = build_tensor(graph, "y", NPUMEM_TENSOR_OUTPUT, i == 1 ? 16 : 8);
	build_op(graph, "relu", in, NPUMEM_NONE, NPUMEM_NONE, y[0])->attrs.inplace = true;
	build_op(graph, "cast", in, NPUMEM_NONE, NPUMEM_NONE, y[1])->attrs.inplace = true;
	build_op(graph, "relu", w, NPUMEM_NONE, NPUMEM_NONE, y[2])->attrs.inplace = true;
	build_op(graph, "relu", in, NPUMEM_NONE, NPUMEM_NONE, y[3]);
	build_op(graph, "relu", s, NPUMEM_NONE, NPUMEM_NONE, s)->attrs.inplace = true;
	assert_int_equal(npuplan_graph_tile_bands(graph, 1, true, &error), 0);
	assert_int_equal(graph->accesses[1].inplace, 0);
	for (uint32_t i = 2; i < graph->access_count; i++)
		assert_int_equal(graph->accesses[i].inplace, NPUMEM_NONE);
	assert_int_equal(graph->accesses[graph->access_count - 1].mode, NPUMEM_ACCESS_UPDATE);
}

/* A state that is read first and rewritten after another output has nothing to take over. */
TEST(rewritten_state)
{
	static const uint32_t bands[] = { 1, 2 };

	for (int i = 0; i < 2; i++) {
		AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("rewritten");
		uint32_t s = build_spatial(graph, "s", NPUMEM_TENSOR_STATE, 1, 4, 4, 2);
		uint32_t y = build_spatial(graph, "y", NPUMEM_TENSOR_OUTPUT, 1, 4, 4, 2);
		uint32_t outputs[] = { y, s };
		struct npuplan_op op = {
			.name = (char *)(uintptr_t)"cell",
			.type = (char *)(uintptr_t)"relu",
			.inputs = &s,
			.outputs = outputs,
			.input_count = 1,
			.output_count = 2,
			.id = 1,
			.attrs.inplace = true,
		};
		struct npuplan_error error;

		assert_int_equal(npuplan_graph_add_op(graph, &op), 0);
		assert_int_equal(npuplan_graph_tile_bands(graph, bands[i], false, &error), 0);
		assert_int_equal(graph->step_count, 1);
		assert_int_equal(graph->access_count, 2);
		assert_int_equal(graph->accesses[0].mode, NPUMEM_ACCESS_UPDATE);
		assert_int_equal(graph->accesses[1].mode, NPUMEM_ACCESS_WRITE);
		assert_int_equal(graph->accesses[1].inplace, NPUMEM_NONE);
		assert_plan(graph, 64, 64);
	}
}

/* --------------------------------------------------------------- conflicts */

static const struct npuplan_item items[] = {
	{ .size = 8, .align = 1, .end = 4 },
	{ .size = 6, .align = 1, .start = 4, .end = 8 },
	{ .size = 5, .align = 1, .start = 9, .end = 9 },
};

static void assert_forbidden(const struct npuplan_conflicts *c, uint32_t item, uint32_t count,
			     const int64_t *bounds)
{
	struct npuplan_interval whole;
	const struct npuplan_interval *at;
	uint32_t found;

	assert_int_equal(c->peer_start[item + 1] - c->peer_start[item], 1);
	at = npuplan_forbidden(c, item, &c->peers[c->peer_start[item]], &whole, &found);
	assert_int_equal(found, count);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(at[i].low, bounds[2 * i]);
		assert_int_equal(at[i].high, bounds[2 * i + 1]);
	}
}

/* F(0, 1) is (-6, 8); without 0 and 3 three intervals; F(1, 0) is its mirror image. */
TEST(permit)
{
	static const int64_t of_1[] = { -6, 0, 0, 3, 3, 8 }, of_0[] = { -8, -3, -3, 0, 0, 6 };
	static const int64_t again[] = { -6, -1, -1, 0, 0, 3, 3, 8 };
	struct npuplan_permit permits[] = {
		{ 1, 0, -3 }, { 0, 1, 0 }, { 0, 1, 8 }, { 0, 1, -6 }, { 0, 2, 0 },
	};
	struct npuplan_conflicts c;

	assert_int_equal(npuplan_conflicts_whole(&c, items, 3), 0);
	assert_int_equal(npuplan_conflicts_permit(&c, permits, 5), 0);
	assert_forbidden(&c, 1, 3, of_1);
	assert_forbidden(&c, 0, 3, of_0);
	/* More of them, once there are intervals already; one of them twice. */
	permits[0] = (struct npuplan_permit){ 0, 1, -1 };
	permits[1] = (struct npuplan_permit){ 0, 1, 0 };
	assert_int_equal(npuplan_conflicts_permit(&c, permits, 2), 0);
	assert_forbidden(&c, 1, 4, again);
	assert_int_equal(npuplan_conflicts_permit(&c, permits, 0), 0);
	permits[0].b = 3;
	assert_int_equal(npuplan_conflicts_permit(&c, permits, 1), -EINVAL);
	permits[0].b = permits[0].a;
	assert_int_equal(npuplan_conflicts_permit(&c, permits, 1), -EINVAL);
	npuplan_conflicts_fini(&c);
	npuplan_conflicts_overlap(&c, items, 3);
	assert_int_equal(npuplan_conflicts_permit(&c, permits, 0), -EINVAL);
}

/* ------------------------------------------------------------------- fixed */

static void refused(const struct npuplan_graph *graph, uint64_t budget, int want, const char *text)
{
	refuse_planning(graph, &(struct npuplan_options){ .arena_budget = budget }, want, text);
}

TEST(fixed)
{
	const struct npuplan_options small = { .arena_budget = 49 };
	AUTO_GRAPH struct npuplan_graph *graph = build_chain(0);
	struct npuplan_error error;
	struct npuplan_plan *plan;

	graph->tensors[1].flags = NPUMEM_TENSOR_FLAG_FIXED;
	graph->tensors[1].fixed_offset = 40;
	plan = plan_of(graph, NULL);
	assert_int_equal(offset_of(plan, 1), 40);
	assert_int_equal(plan->info.lower_bound, 50);
	npuplan_plan_free(plan);
	refused(graph, 49, -ENOSPC,
		"a: 10 bytes at fixed offset 40 are beyond the budget of 49 bytes");
	refused(graph, 39, -ENOSPC,
		"a: 10 bytes at fixed offset 40 are beyond the budget of 39 bytes");
	assert_int_equal(npuplan_plan(graph, &small, &plan, &error), -ENOSPC);
	assert_int_equal(error.status, NPUMEM_PLAN_STATUS_INFEASIBLE);
	assert_int_equal(error.needed, 50);
	assert_int_equal(error.step, NPUMEM_NONE);
	/* b is live with a. */
	graph->tensors[2].flags = NPUMEM_TENSOR_FLAG_FIXED;
	graph->tensors[2].fixed_offset = 49;
	refused(graph, 0, -EINVAL,
		"fixed offsets collide: a at 40, 10 bytes, and b at 49, 6 bytes, are live at once");
	graph->tensors[2].fixed_offset = 50;
	npuplan_plan_free(plan_of(graph, NULL));
}

/* An alias asks for its alignment by that of its base. */
TEST(alias_alignment)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_chain(0);
	uint32_t part = build_alias(graph, "part", NPUMEM_TENSOR_INTERMEDIATE, 2, 4, 2);
	struct npuplan_plan *plan;

	graph->tensors[part].align = 4;
	plan = plan_of(graph, NULL);
	assert_int_equal(offset_of(plan, 2) % 4, 0);
	npuplan_plan_free(plan);
	graph->tensors[2].flags = NPUMEM_TENSOR_FLAG_FIXED;
	graph->tensors[2].fixed_offset = 6;
	refused(graph, 0, -EINVAL, "b: fixed offset 6 is not a multiple of the alignment 4");
	graph->tensors[2].flags = 0;
	graph->tensors[2].fixed_offset = 0;
	graph->tensors[part].alias_offset = 3;
	refused(graph, 0, -EINVAL, "part: byte 3 of b is not at a multiple of its alignment 4");
}

/* -------------------------------------------------------------------- peak */

/* a and b make the peak of the chain: 16. Without a: b and out, 8; without b: in and a, 14. */
TEST(peak)
{
	static const struct npuplan_options options;
	AUTO_GRAPH struct npuplan_graph *graph = build_chain(0);
	AUTO_PLAN struct npuplan_plan *plan = plan_of(graph, NULL);
	struct npuplan_error error;
	struct npuplan_peak *peak;

	assert_int_equal(npuplan_peak_find(graph, &options, plan, &peak, &error), 0);
	assert_int_equal(peak->position, 1);
	assert_int_equal(peak->count, 2);
	assert_int_equal(peak->tensors[0].tensor, 1);
	assert_int_equal(peak->tensors[0].bytes, 10);
	assert_true(peak->tensors[0].bindable);
	assert_int_equal(peak->tensors[0].arena_without, 8);
	assert_int_equal(peak->tensors[0].lower_bound_without, 8);
	assert_int_equal(peak->tensors[1].tensor, 2);
	assert_int_equal(peak->tensors[1].bytes, 6);
	assert_int_equal(peak->tensors[1].arena_without, 14);
	assert_int_equal(peak->tensors[1].lower_bound_without, 14);
	/* The graph itself is as it was. */
	assert_int_equal(graph->tensors[1].flags, 0);
	npuplan_peak_free(peak);
	assert_int_equal(npuplan_peak_find(graph, NULL, plan, &peak, &error), 0);
	assert_int_equal(peak->count, 2);
	assert_false(peak->tensors[0].bindable);
	npuplan_peak_free(peak);
	npuplan_peak_free(NULL);
	plan->peak_position = NPUMEM_NONE;
	assert_int_equal(npuplan_peak_find(graph, NULL, plan, &peak, &error), -EINVAL);
	assert_string_equal(error.text, "the plan does not say where its peak is");
}
