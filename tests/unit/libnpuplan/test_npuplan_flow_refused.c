// SPDX-License-Identifier: MIT
/* Graphs with edges that are refused, each for one reason, and its neighbour that is not. */
#include <errno.h>

#include "flow_build.h"

/*
 * Block 0: a = f(in). Block 1, a loop: y = f(x), x <- a on the way in, x <- y
 * back. Block 2: out = f(y).
 */
struct program {
	struct npuplan_graph *graph;
	uint32_t in, a, x, y, out;
};

enum { ENTER, AGAIN, LEAVE, EXIT };

static struct program program(void)
{
	struct npuplan_graph *graph = npuplan_graph_new("program");
	struct program p = {
		.graph = graph,
		.in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 8),
		.a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 16),
		.x = build_tensor(graph, "x", NPUMEM_TENSOR_INTERMEDIATE, 16),
		.y = build_tensor(graph, "y", NPUMEM_TENSOR_INTERMEDIATE, 16),
		.out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 4),
	};

	build_step(graph, 0, p.in, NPUMEM_NONE, p.a);
	build_block(graph);
	build_step(graph, 0, p.x, NPUMEM_NONE, p.y);
	build_block(graph);
	build_step(graph, 0, p.y, NPUMEM_NONE, p.out);
	build_edge(graph, 0, 1, p.a, p.x);
	build_edge(graph, 1, 1, p.y, p.x);
	build_edge(graph, 1, 2, NPUMEM_NONE, NPUMEM_NONE);
	build_edge(graph, 2, NPUMEM_NONE, NPUMEM_NONE, NPUMEM_NONE);
	return p;
}

static void accepted(struct program *p)
{
	struct flow_run run = { .seed = 1, .edges = 9, .inferences = 2 };
	struct npuplan_error error;
	AUTO_PLAN struct npuplan_plan *plan = NULL;

	if (npuplan_plan(p->graph, NULL, &plan, &error))
		fail_msg("%s", error.text);
	if (!flow_run(p->graph, plan, &run))
		fail_msg("%s", run.text);
}

static void refused(struct program *p, int err, const char *text)
{
	struct npuplan_error error = planning_error(p->graph, NULL, err);

	assert_string_equal(error.text, text);
	npuplan_graph_free(p->graph);
}

TEST(accepted)
{
	struct program p = program();

	accepted(&p);
	npuplan_graph_free(p.graph);
}

/* The verifier's graph check names the block or the tensors. */
TEST(graph)
{
	struct program p = program();
	struct npumem_carry carry = { 0, 1 };

	assert_int_equal(npuplan_graph_add_edge(p.graph, 0, 1, &carry, 1), -EINVAL);
	assert_int_equal(npuplan_graph_add_edge(p.graph, 0, 3, NULL, 0), -EINVAL);
	assert_int_equal(npuplan_graph_add_edge(p.graph, 3, 0, NULL, 0), -EINVAL);
	carry.to = 99;
	assert_int_equal(npuplan_graph_add_edge(p.graph, 0, 1, &carry, 1), -EINVAL);
	p.graph->tensors[p.x].size = 20;
	p.graph->tiles[p.graph->accesses[2].tile].region.length = 20;
	refused(&p, -EINVAL,
		"graph refused: format: carry 0, from tensor 1 'a' to tensor 2 'x': "
		"its tensors differ in size");

	p = program();
	p.graph->edges[EXIT].to = 2;
	refused(&p, -EINVAL,
		"graph refused: format: block 0 'program': no exit can be reached from "
		"it, it is a loop without exit");

	p = program();
	p.graph->edges[LEAVE].to = 1;
	refused(&p, -EINVAL, "graph refused: format: block 2: it cannot be reached from block 0");

	p = program();
	p.graph->carries[1].to = p.in;
	p.graph->tensors[p.in].size = 16;
	p.graph->tiles[p.graph->accesses[0].tile].region.length = 16;
	refused(&p, -EINVAL,
		"graph refused: format: carry 1, from tensor 3 'y' to tensor 0 'in': "
		"an input or a parameter never takes on another value");
}

TEST(undefined)
{
	struct program p = program();

	/* Past the loop: y is then not there. */
	build_edge(p.graph, 0, 2, NPUMEM_NONE, NPUMEM_NONE);
	refused(&p, -EINVAL,
		"y is read in block 2 (from step 2), but not defined on every path "
		"there");

	/* x has a value only the second time. */
	p = program();
	p.graph->edges[ENTER].carry_count = 0;
	p.graph->edges[AGAIN].first_carry = 0;
	p.graph->carries[0] = p.graph->carries[1];
	p.graph->edges[LEAVE].first_carry = p.graph->edges[EXIT].first_carry = 1;
	p.graph->carry_count = 1;
	refused(&p, -EINVAL,
		"x is read in block 1 (from step 1), but not defined on every path "
		"there");

	/* A carry needs its source, too. */
	p = program();
	p.graph->carries[0].from = p.y;
	refused(&p, -EINVAL,
		"y is read in block 2 (from step 2), but not defined on every path "
		"there");

	/* An output that one arm leaves out. */
	p = program();
	build_edge(p.graph, 1, NPUMEM_NONE, NPUMEM_NONE, NPUMEM_NONE);
	refused(&p, -EINVAL, "output out is not defined on every path to the exit");
}

TEST(parts)
{
	struct program p = program();

	/* Half of y is written, all of it is needed behind. */
	p.graph->tiles[p.graph->accesses[3].tile].region.length = 8;
	p.graph->tiles[p.graph->accesses[4].tile].region.length = 8;
	refused(&p, -EOPNOTSUPP,
		"y is written in part in block 1 (from step 1) and needed after it: "
		"tensors that leave a block must be written whole there");
}

TEST(external)
{
	struct program p = program();

	p.graph->tensors[p.a].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	refused(&p, -EINVAL,
		"graph refused: format: carry 0, from tensor 1 'a' to tensor 2 'x': it "
		"would need a copy, one of its tensors is external");
}

/* x and out2 have y's value; x is then updated in place. */
TEST(updated)
{
	for (int needed = 0; needed < 2; needed++) {
		struct npuplan_graph *graph = npuplan_graph_new("updated");
		struct program p = {
			.graph = graph,
			.in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 16),
			.x = build_tensor(graph, "x", NPUMEM_TENSOR_INTERMEDIATE, 16),
			.out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 4),
		};
		struct npuplan_step step = { .op = NPUMEM_NONE };
		struct npumem_region region = { .length = 16, .count = { 1, 1, 1 } };
		struct npumem_access update = {
			.mode = NPUMEM_ACCESS_UPDATE,
			.inplace = NPUMEM_NONE,
		};

		build_block(graph);
		update.tile = npuplan_graph_add_tile(graph, p.x, &region);
		assert_true(npuplan_graph_add_step(graph, &step, &update, 1) >= 0);
		build_step(graph, 0, p.x, needed ? p.in : NPUMEM_NONE, p.out);
		build_edge(graph, 0, 1, p.in, p.x);
		build_edge(graph, 1, NPUMEM_NONE, NPUMEM_NONE, NPUMEM_NONE);
		if (needed) {
			refused(&p, -EOPNOTSUPP,
				"x is updated in place in block 1 (from step 0) while in, which has the same value there, is still needed: that takes a copy");
		} else {
			accepted(&p);
			npuplan_graph_free(graph);
		}
	}
}

/* state <- y: y lies elsewhere, since the state is read as y is written. */
TEST(state)
{
	for (int staged = 0; staged < 2; staged++) {
		struct npuplan_graph *graph = npuplan_graph_new("state");
		struct program p = { .graph = graph };
		uint32_t kept = build_tensor(graph, "kept", NPUMEM_TENSOR_STATE, 16);
		uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_INTERMEDIATE, 16);

		build_step(graph, staged ? NPUMEM_STEP_STAGED : 0, kept, NPUMEM_NONE, y);
		build_block(graph);
		build_edge(graph, 0, 1, y, kept);
		build_edge(graph, 1, NPUMEM_NONE, NPUMEM_NONE, NPUMEM_NONE);
		if (staged) {
			/* What is read before it stores may lie in one place. */
			accepted(&p);
			npuplan_graph_free(graph);
		} else {
			refused(&p, -EOPNOTSUPP,
				"state kept leaves block 1 in other bytes than those it began in: "
				"without a copy the next inference would not find it");
		}
	}
}

TEST(fixed)
{
	struct program p = program();

	p.graph->tensors[p.a].flags = p.graph->tensors[p.x].flags = NPUMEM_TENSOR_FLAG_FIXED;
	p.graph->tensors[p.a].fixed_offset = 32;
	p.graph->tensors[p.x].fixed_offset = 64;
	refused(&p, -EINVAL,
		"fixed offsets collide: a at 32 and x at 64 are carried to each other, "
		"so without a copy they share their bytes");

	/* One place for a tensor that needs two in turn. */
	p = program();
	p.graph->tensors[p.x].flags = NPUMEM_TENSOR_FLAG_FIXED;
	refused(&p, -EINVAL,
		"fixed offsets collide: x at 0, 16 bytes, and x at 0, 16 bytes, are "
		"live at once");

	p = program();
	p.graph->tensors[p.a].flags = NPUMEM_TENSOR_FLAG_FIXED;
	p.graph->tensors[p.a].fixed_offset = 48;
	accepted(&p);
	npuplan_graph_free(p.graph);
}

/* Loops of 2, 3, 5, 7, 11 and 13 places in turn: 30030 instances. */
static struct program rings_program(void)
{
	static const uint32_t cycles[] = { 2, 3, 5, 7, 11, 13 };
	struct npuplan_graph *graph = npuplan_graph_new("rings");
	struct program p = { .graph = graph };
	struct npumem_carry enter[64], again[64];
	uint32_t count = 0;

	for (size_t i = 0; i < sizeof(cycles) / sizeof(cycles[0]); i++) {
		uint32_t first = count;

		for (uint32_t k = 0; k < cycles[i]; k++) {
			char name[16];
			uint32_t in, x;

			snprintf(name, sizeof(name), "in%zu.%u", i, k);
			in = build_tensor(graph, name, NPUMEM_TENSOR_INPUT, 4);
			snprintf(name, sizeof(name), "x%zu.%u", i, k);
			x = build_tensor(graph, name, NPUMEM_TENSOR_OUTPUT, 4);
			enter[count] = (struct npumem_carry){ in, x };
			again[count].to = x;
			count++;
		}
		for (uint32_t k = first; k < count; k++)
			again[k].from = again[k + 1 < count ? k + 1 : first].to;
	}
	p.in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 4);
	p.y = build_tensor(graph, "y", NPUMEM_TENSOR_INTERMEDIATE, 4);
	build_block(graph);
	build_step(graph, 0, p.in, NPUMEM_NONE, p.y);
	assert_true(npuplan_graph_add_edge(graph, 0, 1, enter, count) >= 0);
	assert_true(npuplan_graph_add_edge(graph, 1, 1, again, count) >= 0);
	assert_true(npuplan_graph_add_edge(graph, 1, NPUMEM_NONE, NULL, 0) >= 0);
	return p;
}

TEST(too_many)
{
	struct program p = rings_program();

	refused(&p, -E2BIG,
		"block 1 (from step 0): its carried tensors (x0.0, x0.1, x1.0, x1.1) "
		"rotate through more places than 4096 instances of blocks, or 1048576 "
		"positions, or 262144 tensors of all instances, can tell apart");
}

/* Each block is an instance at least. */
TEST(too_many_blocks)
{
	struct npuplan_graph *graph = npuplan_graph_new("row");
	struct program p = { .graph = graph };

	p.in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 4);
	p.y = build_tensor(graph, "y", NPUMEM_TENSOR_OUTPUT, 4);
	build_step(graph, 0, p.in, NPUMEM_NONE, p.y);
	for (uint32_t block = 1; block <= 4096; block++) {
		assert_int_equal(npuplan_graph_add_block(graph), block);
		assert_true(npuplan_graph_add_edge(graph, block - 1, block, NULL, 0) >= 0);
	}
	assert_true(npuplan_graph_add_edge(graph, 4096, NPUMEM_NONE, NULL, 0) >= 0);
	refused(&p, -E2BIG,
		"the graph has 4097 blocks: a plan has at most 4096 instances of blocks");
}

/* A deadline ends that search, too; few instances have time even so. */
TEST(deadline)
{
	struct npuplan_options options = { .deadline_seconds = 1e-9 };
	struct program p = rings_program();
	struct npuplan_plan *plan = NULL;
	struct npuplan_error error;

	assert_int_equal(npuplan_plan(p.graph, &options, &plan, &error), -ETIMEDOUT);
	ASSERT_TEXT(error, "the deadline has passed with 16 instances of blocks settled");
	assert_null(plan);
	npuplan_graph_free(p.graph);

	p = program();
	assert_int_equal(npuplan_plan(p.graph, &options, &plan, &error), 0);
	npuplan_plan_free(plan);
	npuplan_graph_free(p.graph);
}

TEST(budget)
{
	struct npuplan_options options = { .arena_budget = 31 };
	struct program p = program();
	struct npuplan_error error;
	AUTO_PLAN struct npuplan_plan *plan = NULL;

	assert_int_equal(npuplan_plan(p.graph, &options, &plan, &error), -ENOSPC);
	ASSERT_TEXT(error, "needs 32 B, budget 31 B, lower bound 32 B, peak at step 1: x + y");
	options.arena_budget = 32;
	assert_int_equal(npuplan_plan(p.graph, &options, &plan, &error), 0);
	assert_int_equal(plan->info.arena_size, 32);
	npuplan_graph_free(p.graph);
}

/* Blocks 1 and 2 are each entered from outside: no loop has a head of its own. */
TEST(irreducible)
{
	struct program p = program();

	p.graph->edges[AGAIN] = p.graph->edges[LEAVE];
	p.graph->edges[AGAIN].first_carry = 1;
	p.graph->edges[AGAIN].carry_count = 0;
	p.graph->carry_count = 1;
	p.graph->edges[LEAVE].first_carry = 1;
	p.graph->edges[EXIT].first_carry = 1;
	build_edge(p.graph, 2, 1, p.out, p.out);
	/* Block 2 reads y, which is defined in block 1 alone; so let it read a. */
	p.graph->accesses[4].tile = p.graph->accesses[1].tile;
	build_edge(p.graph, 0, 2, NPUMEM_NONE, NPUMEM_NONE);
	p.graph->accesses[2].tile = p.graph->accesses[1].tile;
	accepted(&p);
	npuplan_graph_free(p.graph);
}
