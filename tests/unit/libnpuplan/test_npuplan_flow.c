// SPDX-License-Identifier: MIT
/*
 * Loops and branches (tests/graphs): the arenas of NNC's programs, the shapes of
 * what is unrolled, multi-view tensors, and that plans do what graphs mean.
 */
#include <errno.h>

#include "flow_build.h"
#include "models.h"

#define ALIGN 64

/*
 * The arenas of the library that NNC is from, with parameters w and b, and every tensor rounded up
 * to 64 bytes. No plan may need more; @reached is what plans need here.
 */
static const struct {
	const char *name;
	uint64_t nnc;
	uint64_t reached;
} facts[] = {
	/* y = conv(x), z = pool(y), x <- z: x and z share, nothing is unrolled. */
	{ "loop_pool", 1536, 1536 },
	/* y = conv(x), x <- y: two places in turn. */
	{ "loop_conv", 1536, 1536 },
	/* z = x0 + y after it: x0 stays, so the first iteration is one of its own. */
	{ "loop_conv_after", 1984, 1984 },
	/* All of that in a loop, x0 <- z. */
	{ "loop_nested", 2432, 1984 },
	/* Carries over two and three iterations. */
	{ "loop_carry2", 2432, 2432 },
	{ "loop_carry3", 3776, 3328 },
	/* x^5 y; z x^5 y + z; one of four arms; a loop around such a branch. */
	{ "scalar_power", 192, 192 },
	{ "scalar_power_sum", 256, 256 },
	{ "case_of", 128, 128 },
	{ "while_case_of", 320, 128 },
};

static const char *const others[] = { "while_swap", "loop_views" };

static struct npuplan_graph *import(const char *name)
{
	struct npuplan_graph *graph = import_model(name);

	assert_int_equal(npuplan_graph_tile_bands(graph, 1, true, NULL), 0);
	return graph;
}

static struct npuplan_plan *planned(const struct npuplan_graph *graph, const char *planner,
				    uint32_t alignment)
{
	struct npuplan_options options = { .planner = planner, .alignment = alignment };

	return build_plan_of(graph, &options);
}

/* ---------------------------------------------------------------- the facts */

TEST(facts)
{
	static const char *const planners[] = { NULL, "nnc" };

	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		AUTO_GRAPH struct npuplan_graph *graph = import(facts[i].name);

		for (size_t k = 0; k < 2; k++) {
			AUTO_PLAN struct npuplan_plan *plan = planned(graph, planners[k], ALIGN);
			uint64_t arena = (plan->info.arena_size + ALIGN - 1) & -(uint64_t)ALIGN;

			if (arena != facts[i].reached)
				fail_msg("%s: %llu bytes", facts[i].name,
					 (unsigned long long)arena);
			assert_true(arena <= facts[i].nnc);
			/* No copies: nothing but the graph's own steps. */
			for (uint32_t p = 0; p < plan->position_count; p++)
				assert_int_equal(plan->positions[p].kind, NPUMEM_POSITION_STEP);
		}
	}
}

/* Without rounding, plans need as many bytes as live at once. */
TEST(bounds)
{
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		AUTO_GRAPH struct npuplan_graph *graph = import(facts[i].name);
		AUTO_PLAN struct npuplan_plan *plan = planned(graph, NULL, 0);

		assert_int_equal(plan->info.arena_size, plan->info.lower_bound);
		assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	}
}

TEST(every_planner)
{
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]) + 2; i++) {
		size_t count = sizeof(facts) / sizeof(facts[0]);
		AUTO_GRAPH struct npuplan_graph *graph =
			import(i < count ? facts[i].name : others[i - count]);
		const char *name;

		for (unsigned int p = 0; (name = npuplan_planner_name(p)); p++) {
			AUTO_PLAN struct npuplan_plan *plan = NULL;

			if (!flow_planner(name))
				continue;
			plan = planned(graph, name, 16);
			play_paths(graph, plan);
		}
	}
}

/*
 * In bands, what "expand" writes is free again band by band as "reduce" reads it: the body needs no
 * more than the carried value and the widest tensor, which is proved.
 */
TEST(bands)
{
	static const char *const by_bytes[] = { NULL, "taa" };
	AUTO_GRAPH struct npuplan_graph *graph = import_model("loop_body");

	assert_int_equal(npuplan_graph_tile_bands(graph, 4, true, NULL), 0);
	for (size_t i = 0; i < 2; i++) {
		AUTO_PLAN struct npuplan_plan *plan = planned(graph, by_bytes[i], 1);

		assert_int_equal(plan->info.arena_size, 8192 + 49152);
		assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_OPTIMAL);
		play_paths(graph, plan);
	}
	AUTO_PLAN struct npuplan_plan *whole = planned(graph, "exact", 1);

	assert_int_equal(whole->info.arena_size, 8192 + 49152 + 12288);
}

/* A budget that no plan fits is refused, and what lives at the peak is named, byte by byte. */
TEST(bands_beyond_a_budget)
{
	AUTO_GRAPH struct npuplan_graph *graph = import_model("loop_body");
	struct npuplan_options options = { .planner = "taa", .arena_budget = 57343 };
	struct npuplan_plan *plan = NULL;
	struct npuplan_error error;

	assert_int_equal(npuplan_graph_tile_bands(graph, 4, true, NULL), 0);
	assert_int_equal(npuplan_plan(graph, &options, &plan, &error), -ENOSPC);
	assert_string_equal(
		error.text,
		"needs 57344 B, budget 57343 B, lower bound 57344 B, peak at step 3: wide + x; no plan in this order fits");
	assert_int_equal(error.status, NPUMEM_PLAN_STATUS_INFEASIBLE);
}

static uint32_t part_of(struct npuplan_graph *graph, uint32_t tensor, uint64_t first,
			uint64_t length)
{
	struct npumem_region region = { .offset = first, .length = length, .count = { 1, 1, 1 } };

	return npuplan_graph_add_tile(graph, tensor, &region);
}

/* Two operators in place that write a part each of one tensor need no room but that. */
TEST(bound_of_parts_in_place)
{
	static const uint64_t sizes[2] = { 8, 12 };
	static const char *const planners[] = { "exact", "taa", "auto" };
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("parts");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_PARAMETER, 4), from[2], out;

	graph->tensors[in].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	for (uint32_t i = 0; i < 2; i++) {
		from[i] = build_tensor(graph, i ? "b" : "a", NPUMEM_TENSOR_INTERMEDIATE, sizes[i]);
		build_step(graph, 0, in, NPUMEM_NONE, from[i]);
	}
	out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 20);
	for (uint32_t i = 0; i < 2; i++) {
		struct npuplan_step step = { .op = NPUMEM_NONE };
		struct npumem_access accesses[2] = {
			{ part_of(graph, from[i], 0, sizes[i]), NPUMEM_ACCESS_READ, NPUMEM_NONE,
			  0 },
			{ part_of(graph, out, 8 * i, sizes[i]), NPUMEM_ACCESS_WRITE, 0, 0 },
		};

		assert_true(npuplan_graph_add_step(graph, &step, accesses, 2) >= 0);
	}
	build_block(graph);
	assert_true(npuplan_graph_add_edge(graph, 0, 1, NULL, 0) >= 0);
	assert_true(npuplan_graph_add_edge(graph, 1, NPUMEM_NONE, NULL, 0) >= 0);
	for (size_t i = 0; i < 3; i++) {
		AUTO_PLAN struct npuplan_plan *plan = planned(graph, planners[i], 1);

		assert_int_equal(plan->info.lower_bound, 20);
		assert_int_equal(plan->info.arena_size, i ? 20 : 40);
		play_paths(graph, plan);
	}
}

/*
 * A step works in place twice: whole, of what the block has updated, of which taa does not see that
 * it ends, and in a part.
 */
TEST(bound_of_both_in_place)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("both");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_PARAMETER, 4);
	uint32_t x = build_tensor(graph, "x", NPUMEM_TENSOR_INTERMEDIATE, 16);
	uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 8);
	uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_OUTPUT, 16);
	uint32_t b = build_tensor(graph, "b", NPUMEM_TENSOR_OUTPUT, 8);
	struct npuplan_step step = { .op = NPUMEM_NONE };
	struct npumem_access update = { part_of(graph, x, 0, 16), NPUMEM_ACCESS_UPDATE, NPUMEM_NONE,
					0 };

	graph->tensors[in].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	build_step(graph, 0, in, NPUMEM_NONE, x);
	build_step(graph, 0, in, NPUMEM_NONE, a);
	build_block(graph);
	assert_true(npuplan_graph_add_step(graph, &step, &update, 1) >= 0);
	for (uint32_t i = 0; i < 2; i++) {
		struct npumem_access accesses[4] = {
			{ part_of(graph, a, 4 * i, 4), NPUMEM_ACCESS_READ, NPUMEM_NONE, 0 },
			{ part_of(graph, b, 4 * i, 4), NPUMEM_ACCESS_WRITE, 0, 0 },
			{ part_of(graph, x, 0, 16), NPUMEM_ACCESS_READ, NPUMEM_NONE, 0 },
			{ part_of(graph, y, 0, 16), NPUMEM_ACCESS_WRITE, 2, 0 },
		};

		assert_true(npuplan_graph_add_step(graph, &step, accesses, i ? 2 : 4) >= 0);
	}
	assert_true(npuplan_graph_add_edge(graph, 0, 1, NULL, 0) >= 0);
	assert_true(npuplan_graph_add_edge(graph, 1, NPUMEM_NONE, NULL, 0) >= 0);
	AUTO_PLAN struct npuplan_plan *plan = planned(graph, "taa", 1);

	assert_int_equal(plan->info.lower_bound, 24);
	play_paths(graph, plan);
}

/* A parameter that is carried to where nobody reads it needs no bytes. */
TEST(parameter_that_nobody_reads)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("unread");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 8);
	uint32_t w = build_tensor(graph, "w", NPUMEM_TENSOR_PARAMETER, 100);
	uint32_t unread = build_tensor(graph, "unread", NPUMEM_TENSOR_INTERMEDIATE, 100);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 8);
	const struct npumem_carry carry = { w, unread };

	build_step(graph, 0, in, NPUMEM_NONE, out);
	build_block(graph);
	assert_true(npuplan_graph_add_edge(graph, 0, 1, &carry, 1) >= 0);
	assert_true(npuplan_graph_add_edge(graph, 1, NPUMEM_NONE, NULL, 0) >= 0);
	AUTO_PLAN struct npuplan_plan *plan = planned(graph, NULL, 1);

	assert_int_equal(plan->info.lower_bound, 16);
	assert_int_equal(plan->info.arena_size, 16);
	play_paths(graph, plan);
}

/* ------------------------------------------------------------ what is unrolled */

/* Instances of the block that operator @op is in. */
static uint32_t instances_of(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
			     const char *op)
{
	uint32_t count = 0, block = NPUMEM_NONE;

	for (uint32_t i = 0; i < graph->op_count; i++)
		if (!strcmp(graph->ops[i].name, op))
			block = graph->ops[i].block;
	assert_int_not_equal(block, NPUMEM_NONE);
	for (uint32_t i = 0; i < plan->block_count; i++)
		count += plan->blocks[i].block == block;
	return count;
}

TEST(instances)
{
	static const struct {
		const char *name;
		const char *op;
		uint32_t count;
	} cases[] = {
		{ "loop_pool", "conv2d1", 1 },	     /* x and z co-allocated */
		{ "loop_conv", "conv2d1", 2 },	     /* a cycle of two */
		{ "loop_conv_after", "conv2d1", 3 }, /* a first one, and two in turn */
		{ "loop_conv_after", "add3", 2 },    /* y comes in two ways */
		{ "loop_carry2", "conv2d1", 3 },     /* longest chain of carries + 1 */
		{ "loop_carry3", "conv2d1", 4 },     { "while_case_of", "scale1", 1 },
		{ "while_case_of", "scale6", 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		AUTO_GRAPH struct npuplan_graph *graph = import(cases[i].name);
		AUTO_PLAN struct npuplan_plan *plan = planned(graph, NULL, ALIGN);

		if (instances_of(graph, plan, cases[i].op) != cases[i].count)
			fail_msg("%s: %s has %u instances", cases[i].name, cases[i].op,
				 instances_of(graph, plan, cases[i].op));
	}
}

static const struct npumem_view *view_of(const struct npuplan_graph *graph,
					 const struct npuplan_plan *plan, const char *tensor)
{
	/* An outer table comes after those that it holds. */
	for (uint32_t i = plan->view_count; i-- > 0;)
		if (!strcmp(graph->tensors[plan->views[i].tensor].name, tensor))
			return &plan->views[i];
	return NULL;
}

static uint64_t slot_offset(const struct npuplan_plan *plan, const struct npumem_view *view,
			    uint32_t slot)
{
	uint32_t at = plan->view_slots[view->first_slot + slot];

	assert_true(slot < view->slot_count && at < plan->placement_count);
	assert_int_equal(plan->placements[at].tensor, view->tensor);
	return plan->placements[at].offset;
}

/* Type I: x and y change places. */
TEST(view_cyclic)
{
	AUTO_GRAPH struct npuplan_graph *graph = import("loop_conv");
	AUTO_PLAN struct npuplan_plan *plan = planned(graph, NULL, ALIGN);
	const struct npumem_view *x = view_of(graph, plan, "x"), *y = view_of(graph, plan, "y");

	assert_int_equal(plan->view_count, 2);
	assert_int_equal(x->type, NPUMEM_VIEW_CYCLIC);
	assert_int_equal(x->repeat, 2);
	assert_int_equal(x->slot_count, 2);
	/* The edge that closes the loop. */
	assert_int_equal(graph->edges[x->loop].from, graph->edges[x->loop].to);
	assert_int_equal(slot_offset(plan, x, 0), slot_offset(plan, y, 1));
	assert_int_equal(slot_offset(plan, x, 1), slot_offset(plan, y, 0));
}

/* Type II: the first iteration reads x0, which stays. */
TEST(view_first_cyclic)
{
	AUTO_GRAPH struct npuplan_graph *graph = import("loop_conv_after");
	AUTO_PLAN struct npuplan_plan *plan = planned(graph, NULL, ALIGN);
	const struct npumem_view *x = view_of(graph, plan, "x"), *y = view_of(graph, plan, "y");

	assert_int_equal(plan->view_count, 2);
	assert_int_equal(x->type, NPUMEM_VIEW_FIRST_CYCLIC);
	assert_int_equal(x->repeat, 2);
	assert_int_equal(x->slot_count, 3);
	/* Iteration 1 reads what 0 wrote, 2 what 1 wrote, 3 what 2 wrote. */
	assert_int_equal(slot_offset(plan, x, 1), slot_offset(plan, y, 0));
	assert_int_equal(slot_offset(plan, x, 2), slot_offset(plan, y, 1));
	assert_int_equal(slot_offset(plan, x, 1), slot_offset(plan, y, 2));
	assert_int_not_equal(slot_offset(plan, x, 0), slot_offset(plan, x, 1));
	assert_int_not_equal(slot_offset(plan, x, 0), slot_offset(plan, x, 2));
}

/* p and q swap in the outer loop; the inner one begins with p. */
TEST(view_nested)
{
	AUTO_GRAPH struct npuplan_graph *graph = import("loop_views");
	AUTO_PLAN struct npuplan_plan *plan = planned(graph, NULL, ALIGN);
	const struct npumem_view *x = view_of(graph, plan, "x"), *inner[2];

	assert_non_null(x);
	assert_int_equal(x->type, NPUMEM_VIEW_CYCLIC);
	assert_int_equal(x->repeat, 2);
	for (int i = 0; i < 2; i++) {
		uint32_t slot = plan->view_slots[x->first_slot + i];

		assert_true(slot & NPUMEM_VIEW_SLOT_NESTED);
		inner[i] = &plan->views[slot & ~NPUMEM_VIEW_SLOT_NESTED];
		assert_int_equal(inner[i]->type, NPUMEM_VIEW_FIRST_CYCLIC);
		assert_int_equal(inner[i]->repeat, 2);
		assert_int_not_equal(inner[i]->loop, x->loop);
	}
	assert_int_not_equal(slot_offset(plan, inner[0], 0), slot_offset(plan, inner[1], 0));
}

/* ------------------------------------------------------------------- formats */

static void same_plan(const struct npuplan_plan *a, const struct npuplan_plan *b)
{
	void *blob_a, *blob_b;
	size_t size_a, size_b;

	assert_int_equal(npuplan_plan_write(a, &blob_a, &size_a, NULL), 0);
	assert_int_equal(npuplan_plan_write(b, &blob_b, &size_b, NULL), 0);
	assert_int_equal(size_a, size_b);
	assert_memory_equal(blob_a, blob_b, size_a);
	free(blob_a);
	free(blob_b);
}

/* Plan -> JSON -> plan, plan -> blob -> plan, and a graph that came as a blob. */
TEST(formats)
{
	for (size_t i = 0; i < 2; i++) {
		AUTO_GRAPH struct npuplan_graph *graph = import(others[i]), *read = NULL;
		struct npuplan_plan *plan = planned(graph, NULL, ALIGN), *again;
		struct npuplan_error error;
		size_t size;
		void *blob;
		char *text;

		assert_int_equal(npuplan_plan_to_json(graph, plan, &text, &error), 0);
		if (npuplan_plan_from_json(graph, text, strlen(text), &again, &error))
			fail_msg("%s", error.text);
		same_plan(plan, again);
		npuplan_plan_free(again);
		free(text);

		assert_int_equal(npuplan_plan_write(plan, &blob, &size, NULL), 0);
		assert_int_equal(npuplan_plan_read(blob, size, &again, NULL), 0);
		same_plan(plan, again);
		npuplan_plan_free(again);
		free(blob);

		assert_int_equal(npuplan_graph_write(graph, &blob, &size, NULL), 0);
		assert_int_equal(npuplan_graph_read(blob, size, &read, NULL), 0);
		again = planned(read, NULL, ALIGN);
		same_plan(plan, again);
		npuplan_plan_free(again);
		npuplan_plan_free(plan);
		free(blob);
	}
}

/* Graph JSON holds blocks and edges as they are, and comes back the same. */
TEST(graph_json)
{
	for (size_t i = 0; i < 2; i++) {
		AUTO_GRAPH struct npuplan_graph *graph = import(others[i]), *again = NULL;
		AUTO_PLAN struct npuplan_plan *plan = planned(graph, NULL, ALIGN), *other = NULL;
		struct npuplan_error error;
		AUTO_TEXT char *text = NULL, *twice = NULL;

		assert_int_equal(npuimport_graph_json_write(graph, &text, &error), 0);
		if (npuimport_graph_json(text, strlen(text), NULL, &again, NULL, &error))
			fail_msg("%s", error.text);
		assert_int_equal(npuimport_graph_json_write(again, &twice, &error), 0);
		assert_string_equal(text, twice);
		assert_int_equal(npuplan_graph_tile_bands(again, 1, true, NULL), 0);
		other = planned(again, NULL, ALIGN);
		same_plan(plan, other);
	}
}

/* What npumemctl show prints: each instance, where it may go on. */
TEST(print)
{
	AUTO_GRAPH struct npuplan_graph *graph = import("loop_conv");
	AUTO_PLAN struct npuplan_plan *plan = planned(graph, NULL, ALIGN);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	char *line;

	assert_int_equal(npuplan_plan_print(graph, plan, 20, out), 0);
	fclose(out);
	/* x is at x_in's bytes, but x_in is drawn in a block without a line. */
	line = strstr(text, "    0: ");
	assert_non_null(line);
	line = strndup(line + 7, 20);
	assert_non_null(strchr(line, '1'));
	free(line);
	assert_non_null(strstr(text, "instance 0 of block 0: then 1\n"));
	assert_non_null(strstr(text, "instance 1 of block 1: then 2 or the exit\n"));
	assert_non_null(strstr(text, "instance 2 of block 1: then 1 or the exit\n"));
	free(text);
}

/* Every planner lists pairs within the limit of memory, or not at all. */
TEST(memory_limit)
{
	AUTO_GRAPH struct npuplan_graph *graph = import("loop_nested");
	struct npuplan_options options = { .planner = "greedy-size", .alignment = ALIGN };
	struct npuplan_plan *whole = planned(graph, "greedy-size", ALIGN), *plan = NULL;
	struct npuplan_error error;

	options.memory_limit = 1000;
	assert_int_equal(npuplan_plan(graph, &options, &plan, &error), -E2BIG);
	assert_null(plan);
	assert_string_equal(error.text, "more than 8 pairs of tensors live together: the limit of "
					"memory has no room to list them");
	options.memory_limit = 1 << 20;
	assert_int_equal(npuplan_plan(graph, &options, &plan, &error), 0);
	same_plan(whole, plan);
	npuplan_plan_free(whole);
	npuplan_plan_free(plan);
}
