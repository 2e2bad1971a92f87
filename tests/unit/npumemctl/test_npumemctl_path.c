/* SPDX-License-Identifier: MIT */
/* userspace/npumemctl/run/path.c: ways through loops and branches. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/path.h"
#include "unit.h"

/*
 * Block 0, a loop of block 1 that may go by way of block 2, and the exit from
 * block 3. The loop is unrolled twice: blocks 1 and 2 have two instances each.
 *
 *   edge 0: 0 -> 1    edge 3: 2 -> 1
 *   edge 1: 1 -> 1    edge 4: 1 -> 3
 *   edge 2: 1 -> 2    edge 5: 3 ->
 *
 * Instances: 0: block 0; 1, 2: block 1; 3, 4: block 2; 5: block 3.
 */
static struct npumem_edge edges[] = {
	{ .from = 0, .to = 1 }, { .from = 1, .to = 1 }, { .from = 1, .to = 2 },
	{ .from = 2, .to = 1 }, { .from = 1, .to = 3 }, { .from = 3, .to = NPUMEM_NONE },
};
static const uint32_t blocks_of[] = { 0, 1, 1, 2, 2, 3 };
/* In no order that helps. */
static const struct npumem_plan_edge all_plan_edges[] = {
	{ 5, NPUMEM_NONE, 5, 0 }, { 1, 2, 1, 0 }, { 2, 1, 1, 0 }, { 1, 3, 2, 0 }, { 2, 4, 2, 0 },
	{ 3, 2, 3, 0 },		  { 4, 1, 3, 0 }, { 1, 5, 4, 0 }, { 2, 5, 4, 0 }, { 0, 1, 0, 0 },
};

struct world {
	struct npumem_plan_block blocks[6];
	struct npumem_plan_edge plan_edges[10];
	struct npuplan_graph graph;
	struct npuplan_plan plan;
};

static struct world world(void)
{
	struct world w = {
		.graph = { .edges = edges, .edge_count = 6, .block_count = 4 },
		.plan = { .block_count = 6, .edge_count = 10 },
	};

	for (int i = 0; i < 6; i++)
		w.blocks[i].block = blocks_of[i];
	memcpy(w.plan_edges, all_plan_edges, sizeof(all_plan_edges));
	return w;
}

static int find(struct world *w, const char *choices, struct path_rule rule, struct path *path,
		struct npuplan_error *error)
{
	struct path_choice *list = NULL;
	int err;

	w->plan.blocks = w->blocks;
	w->plan.edges = w->plan_edges;
	if (choices)
		assert_int_equal(path_choices(choices, &list, &rule.choice_count), 0);
	rule.choices = list;
	err = path_find(&w->graph, &w->plan, &rule, path, error);
	free(list);
	return err;
}

/* The instances on the way, as text: "0 1 2 5". */
static void expect(const char *choices, struct path_rule rule, const char *instances)
{
	struct npuplan_error error = { 0 };
	struct world w = world();
	struct path path;
	char text[64] = "";

	if (find(&w, choices, rule, &path, &error))
		fail_msg("%s", error.text);
	for (uint32_t i = 0; i < path.count; i++) {
		const struct npumem_plan_edge *edge = &w.plan_edges[path.visits[i].edge];
		size_t used = strlen(text);

		assert_int_equal(edge->from, path.visits[i].instance);
		assert_int_equal(edge->to,
				 i + 1 < path.count ? path.visits[i + 1].instance : NPUMEM_NONE);
		if (used < sizeof(text) - 4)
			snprintf(text + used, sizeof(text) - used, i ? " %u" : "%u",
				 path.visits[i].instance);
	}
	assert_string_equal(text, instances);
	path_fini(&path);
	assert_null(path.visits);
}

TEST(choices)
{
	const struct path_rule rule = { 0 };

	expect("2", rule, "0 1 5");
	expect("0,2", rule, "0 1 2 5");
	expect("0*3,2", rule, "0 1 2 1 2 5");
	expect("1,0,1,2", rule, "0 1 3 2 1 3 2 5");
	/* After the last choice straight out. */
	expect("0*2", rule, "0 1 2 1 5");
	expect("1", rule, "0 1 3 2 5");
}

TEST(random)
{
	struct path_rule rule = { .max_iterations = 0 };
	struct npuplan_error error = { 0 };
	uint32_t longest = 0, looped = 0, by_way = 0;
	struct world w = world();
	struct path path, again;

	/* Without iterations there is only one way. */
	expect(NULL, rule, "0 1 5");
	rule.max_iterations = 10;
	for (rule.seed = 0; rule.seed < 200; rule.seed++) {
		uint32_t entered = 0;

		assert_int_equal(find(&w, NULL, rule, &path, &error), 0);
		assert_int_equal(find(&w, NULL, rule, &again, &error), 0);
		assert_int_equal(path.count, again.count);
		assert_memory_equal(path.visits, again.visits, path.count * sizeof(*path.visits));
		for (uint32_t i = 0; i < path.count; i++) {
			entered += blocks_of[path.visits[i].instance] == 1;
			by_way += blocks_of[path.visits[i].instance] == 2;
		}
		/* The way out of block 2 is by block 1, once more. */
		assert_true(entered <= 12);
		looped += entered > 1;
		longest = path.count > longest ? path.count : longest;
		path_fini(&path);
		path_fini(&again);
	}
	assert_true(longest > 6);
	assert_true(looped > 50 && looped < 200);
	assert_true(by_way > 20);
}

static void refuse(struct world *w, const char *choices, const char *text)
{
	struct npuplan_error error = { 0 };
	struct path path;

	assert_int_equal(find(w, choices, (struct path_rule){ 0 }, &path, &error), -EINVAL);
	assert_string_equal(error.text, text);
	assert_null(path.visits);
}

TEST(refused)
{
	struct world w = world();

	refuse(&w, "3", "choice 3 at block 1: it has 3 edges");
	refuse(&w, "2,0", "the exit is reached with choices left over");
	refuse(&w, "0,2*2", "the exit is reached with choices left over");
	w.plan_edges[1].edge = 5;
	refuse(&w, "0,2", "the plan has no edge 1 from its block 1");
	w = world();
	w.plan_edges[4].to = 6;
	refuse(&w, NULL, "plan edge 4 is between no plan blocks");
	w = world();
	w.plan_edges[4].from = NPUMEM_NONE;
	refuse(&w, NULL, "plan edge 4 is between no plan blocks");
	w = world();
	w.blocks[5].block = 4;
	refuse(&w, NULL, "plan block 5 is of no block");
	w = world();
	w.graph.block_count = 3;
	w.blocks[5].block = 2;
	refuse(&w, NULL, "edge 4 is between no blocks");
	w = world();
	w.plan.block_count = 0;
	w.plan.edge_count = 0;
	refuse(&w, NULL, "the plan has no block");
	/* The loop cannot be left. */
	w = world();
	edges[5].to = 3;
	refuse(&w, NULL, "no way leads from block 0 to the exit");
	edges[5].to = NPUMEM_NONE;
}

TEST(one_block)
{
	struct npuplan_error error = { 0 };
	struct world w = world();
	struct path path;

	w.graph.edge_count = 0;
	w.graph.block_count = 1;
	w.plan.block_count = 1;
	w.plan.edge_count = 0;
	assert_int_equal(find(&w, NULL, (struct path_rule){ 0 }, &path, &error), 0);
	assert_int_equal(path.count, 1);
	assert_int_equal(path.visits[0].instance, 0);
	assert_int_equal(path.visits[0].edge, NPUMEM_NONE);
	path_fini(&path);
	refuse(&w, "0", "the graph has no edges to choose from");
}

TEST(parse)
{
	static const char *const wrong[] = {
		"",   ",",     "1,",   ",1",   "*2",	     "1*",	     "1*0",
		"-1", "1*2*3", "1 ,2", "1,2x", "4294967295", "1*4294967296", "99999999999999999999",
	};
	struct path_choice *choices;
	uint32_t count;

	assert_int_equal(path_choices("3*400,0,4294967294*2", &choices, &count), 0);
	assert_int_equal(count, 3);
	assert_int_equal(choices[0].edge, 3);
	assert_int_equal(choices[0].count, 400);
	assert_int_equal(choices[1].edge, 0);
	assert_int_equal(choices[1].count, 1);
	assert_int_equal(choices[2].edge, NPUMEM_NONE - 1);
	free(choices);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (path_choices(wrong[i], &choices, &count) != -EINVAL)
			fail_msg("\"%s\" was taken", wrong[i]);
}
