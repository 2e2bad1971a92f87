// SPDX-License-Identifier: MIT
/* Copies of what edges carry: npuplan_graph_copy_carries(), npuplan_carry_copies_find(). */
#include <errno.h>

#include "npuplan_build.h"

#include "flow_run.h"

/*
 * Rings: block 0 leads to block 1, a loop that reads "in" and writes y. Ring i has @lengths[i]
 * tensors "xi.k" of @sizes[i] bytes, each of which takes on the next one's value; edge 1 goes back.
 */
struct rings {
	size_t count;
	uint32_t lengths[8];
	uint64_t sizes[8];
};

static struct npuplan_graph *rings_graph(const struct rings *rings)
{
	struct npuplan_graph *graph = npuplan_graph_new("rings");
	struct npumem_carry enter[64], again[64];
	uint32_t count = 0, in, y;

	for (size_t i = 0; i < rings->count; i++) {
		uint32_t first = count;

		for (uint32_t k = 0; k < rings->lengths[i]; k++) {
			char name[40];

			snprintf(name, sizeof(name), "in%zu.%u", i, k);
			in = build_tensor(graph, name, NPUMEM_TENSOR_INPUT, rings->sizes[i]);
			snprintf(name, sizeof(name), "x%zu.%u", i, k);
			y = build_tensor(graph, name, NPUMEM_TENSOR_OUTPUT, rings->sizes[i]);
			enter[count] = (struct npumem_carry){ in, y };
			again[count++].to = y;
		}
		for (uint32_t k = first; k < count; k++)
			again[k].from = again[k + 1 < count ? k + 1 : first].to;
	}
	in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 4);
	y = build_tensor(graph, "y", NPUMEM_TENSOR_INTERMEDIATE, 4);
	assert_int_equal(npuplan_graph_add_block(graph), 1);
	build_op(graph, "conv2d", in, NPUMEM_NONE, NPUMEM_NONE, y)->block = 1;
	assert_int_equal(npuplan_graph_add_edge(graph, 0, 1, enter, count), 0);
	assert_int_equal(npuplan_graph_add_edge(graph, 1, 1, again, count), 1);
	assert_int_equal(npuplan_graph_add_edge(graph, 1, NPUMEM_NONE, NULL, 0), 2);
	return graph;
}

/* Plans the graph with these copies, and plays it. */
static struct npuplan_plan *played(const struct npuplan_graph *graph,
				   const struct npuplan_carry_copies *found)
{
	const struct npuplan_tiling tiling = {
		.carry_copies = found->copies,
		.carry_copy_count = found->copy_count,
	};
	struct flow_run run = { .seed = 1, .edges = 300, .inferences = 2 };
	AUTO_GRAPH struct npuplan_graph *tiled = NULL;
	struct npuplan_error error;
	struct npuplan_plan *plan;

	assert_int_equal(npuplan_graph_copy_carries(graph, NULL, 0, &tiled, NULL), 0);
	if (npuplan_graph_tile(tiled, &tiling, &error) || npuplan_plan(tiled, NULL, &plan, &error))
		fail_msg("%s", error.text);
	assert_int_equal(tiled->tiling.carry_copy_count, found->copy_count);
	if (!flow_run(tiled, plan, &run))
		fail_msg("%s", run.text);
	assert_int_equal(plan->block_count, found->instances);
	return plan;
}

static void find(const struct npuplan_graph *graph, uint32_t instances,
		 struct npuplan_carry_copies *found)
{
	const struct npuplan_tiling tiling = { 0 };
	struct npuplan_error error;

	if (npuplan_carry_copies_find(graph, &tiling, NULL, NPUPLAN_COPYING_NEEDED, instances,
				      found, &error))
		fail_msg("%s", error.text);
}

static void assert_copies(const struct npuplan_graph *graph,
			  const struct npuplan_carry_copies *found, const char *expected)
{
	char text[400] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < found->copy_count; i++)
		for (uint32_t t = 0; t < graph->tensor_count; t++)
			if (graph->tensors[t].id == found->copies[i].tensor)
				used += (size_t)snprintf(text + used, sizeof(text) - used,
							 "%s%u:%s", i ? " " : "",
							 found->copies[i].edge,
							 graph->tensors[t].name);
	assert_string_equal(text, expected);
}

static void expect(const struct rings *rings, uint32_t limit, const char *copies, uint64_t bytes,
		   uint32_t instances)
{
	AUTO_GRAPH struct npuplan_graph *graph = rings_graph(rings);
	struct npuplan_carry_copies found;
	AUTO_PLAN struct npuplan_plan *plan = NULL;

	find(graph, limit, &found);
	assert_copies(graph, &found, copies);
	assert_int_equal(found.bytes, bytes);
	assert_int_equal(found.arena_without, 0);
	if (found.copy_count) {
		assert_int_equal(found.instances, instances);
		plan = played(graph, &found);
	}
	npuplan_carry_copies_fini(&found);
}

/* Cycles of 2, 3, 5, 7, 12 and 14 close after 420 iterations, each in two blocks. */
TEST(primes)
{
	const struct rings rings = { 6, { 2, 3, 5, 7, 11, 13 }, { 4, 4, 4, 4, 4, 4 } };

	expect(&rings, 0, "1:x4.0 1:x5.0", 8, 841);
}

/* What fits is left alone. */
TEST(none_needed)
{
	const struct rings rings = { 4, { 2, 3, 5, 7 }, { 4, 4, 4, 4 } };

	expect(&rings, 0, "", 0, 0);
	expect(&rings, 211, "", 0, 0);
}

/* A single copy makes a cycle longer, all copies make it none; the fewest bytes are copied. */
TEST(least_bytes)
{
	const struct rings rings = { 2, { 3, 4 }, { 8, 4 } };
	const struct rings other = { 2, { 4, 5 }, { 16, 8 } };

	expect(&rings, 13, "", 0, 0);
	expect(&rings, 12, "1:x0.0", 8, 9);
	expect(&rings, 8, "1:x1.3 1:x1.0 1:x1.1 1:x1.2 1:x1.3", 20, 7);
	expect(&other, 13, "1:x0.0", 16, 11);
	expect(&other, 10, "1:x1.4 1:x1.1", 16, 9);
}

TEST(no_instance_more)
{
	const struct rings rings = { 2, { 2, 3 }, { 4, 4 } };

	expect(&rings, 3, "1:x0.1 1:x0.0 1:x0.1 1:x1.2 1:x1.0 1:x1.1 1:x1.2", 28, 3);
}

static void find_refused(struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
			 uint32_t copying, uint32_t instances, int err, const char *text)
{
	struct npuplan_carry_copies found;
	struct npuplan_error error;

	assert_int_equal(npuplan_carry_copies_find(graph, tiling, NULL, copying, instances, &found,
						   &error),
			 err);
	assert_string_equal(error.text, text);
	assert_null(found.copies);
	npuplan_graph_free(graph);
}

TEST(find_refused)
{
	const struct rings rings = { 2, { 3, 4 }, { 8, 4 } };
	const struct npuplan_tiling whole = { 0 }, onchip = { .onchip = 64 };
	struct npuplan_graph *tiled = rings_graph(&rings);

	find_refused(rings_graph(&rings), &whole, 2, 0, -EINVAL,
		     "copies: there is no way 2 to choose them");
	find_refused(rings_graph(&rings), &whole, NPUPLAN_COPYING_NEEDED, 4097, -EINVAL,
		     "4097 instances of blocks: a plan has at most 4096");
	assert_int_equal(npuplan_graph_tile_bands(tiled, 1, false, NULL), 0);
	find_refused(tiled, &whole, NPUPLAN_COPYING_NEEDED, 0, -EINVAL,
		     "what edges carry is copied only in a graph that is not tiled yet");
	/* Two blocks, and one for the copies. */
	find_refused(
		rings_graph(&rings), &whole, NPUPLAN_COPYING_NEEDED, 2, -E2BIG,
		"block 1 (from conv2d): its carried tensors (x0.0, x0.1, x0.2, x1.0) rotate "
		"through more places than 2 instances of blocks, or 1048576 positions, or 262144 "
		"tensors of all instances, can tell apart");
	find_refused(
		rings_graph(&rings), &onchip, NPUPLAN_COPYING_NEEDED, 12, -E2BIG,
		"block 1 (from conv2d): its carried tensors (x0.0, x0.1, x0.2, x1.0) rotate "
		"through more places than 12 instances of blocks, or 1048576 positions, or 262144 "
		"tensors of all instances, can tell apart");
}

/*
 * x2 <- x1 <- y = f(x1, x2): values of 10 bytes take turns in three places, two of which live in
 * the middle of the body beside 38 bytes. Of three places two leave no room for these between them;
 * copies bring x1 and x2 back to where they were.
 */
static struct npuplan_graph *kept_graph(void)
{
	struct npuplan_graph *graph = npuplan_graph_new("kept");
	uint32_t in1 = build_tensor(graph, "in1", NPUMEM_TENSOR_INPUT, 10);
	uint32_t in2 = build_tensor(graph, "in2", NPUMEM_TENSOR_INPUT, 10);
	uint32_t x1 = build_tensor(graph, "x1", NPUMEM_TENSOR_INTERMEDIATE, 10);
	uint32_t x2 = build_tensor(graph, "x2", NPUMEM_TENSOR_INTERMEDIATE, 10);
	uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_INTERMEDIATE, 10);
	uint32_t t = build_tensor(graph, "t", NPUMEM_TENSOR_INTERMEDIATE, 38);
	uint32_t b = build_tensor(graph, "b", NPUMEM_TENSOR_OUTPUT, 1);
	struct npumem_carry enter[2] = { { in1, x1 }, { in2, x2 } };
	struct npumem_carry again[2] = { { y, x1 }, { x1, x2 } };

	assert_int_equal(npuplan_graph_add_block(graph), 1);
	build_op(graph, "g", x1, x2, NPUMEM_NONE, t);
	build_op(graph, "h", t, NPUMEM_NONE, NPUMEM_NONE, b);
	build_op(graph, "f", b, x1, x2, y);
	for (uint32_t v = 0; v < graph->op_count; v++)
		graph->ops[v].block = 1;
	assert_int_equal(npuplan_graph_add_edge(graph, 0, 1, enter, 2), 0);
	assert_int_equal(npuplan_graph_add_edge(graph, 1, 1, again, 2), 1);
	assert_int_equal(npuplan_graph_add_edge(graph, 1, NPUMEM_NONE, NULL, 0), 2);
	return graph;
}

TEST(smaller)
{
	AUTO_GRAPH struct npuplan_graph *graph = kept_graph();
	const struct npuplan_tiling tiling = { 0 };
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	struct npuplan_carry_copies found;
	struct npuplan_error error;

	find(graph, 0, &found);
	assert_int_equal(found.copy_count, 0);
	if (npuplan_carry_copies_find(graph, &tiling, NULL, NPUPLAN_COPYING_SMALLER, 0, &found,
				      &error))
		fail_msg("%s", error.text);
	plan = played(graph, &found);
	assert_copies(graph, &found, "1:x2");
	assert_int_equal(found.bytes, 10);
	assert_int_equal(found.arena_without, 69);
	assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(plan->info.arena_size, 59);
	npuplan_carry_copies_fini(&found);
}

/* A plan at its bound is not looked at: copies only add to what lives. */
TEST(not_smaller)
{
	const struct rings rings = { 2, { 2, 3 }, { 4, 4 } };
	AUTO_GRAPH struct npuplan_graph *graph = rings_graph(&rings);
	const struct npuplan_tiling tiling = { 0 };
	struct npuplan_carry_copies found;

	assert_int_equal(npuplan_carry_copies_find(graph, &tiling, NULL, NPUPLAN_COPYING_SMALLER, 0,
						   &found, NULL),
			 0);
	assert_int_equal(found.copy_count, 0);
	assert_int_equal(found.arena_without, 28);
	npuplan_carry_copies_fini(&found);
}

/* A state that would end in other bytes is copied back to its own, on whatever way. */
TEST(state)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("state"), *tiled = NULL;
	uint32_t s = build_tensor(graph, "s", NPUMEM_TENSOR_STATE, 8);
	uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_INTERMEDIATE, 8);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 4);
	const struct npumem_carry carry = { y, s };
	struct npuplan_carry_copies found;
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	struct npuplan_error error;

	assert_int_equal(npuplan_graph_add_block(graph), 1);
	build_op(graph, "f", s, NPUMEM_NONE, NPUMEM_NONE, y);
	build_op(graph, "g", s, NPUMEM_NONE, NPUMEM_NONE, out)->block = 1;
	assert_int_equal(npuplan_graph_add_edge(graph, 0, 0, &carry, 1), 0);
	assert_int_equal(npuplan_graph_add_edge(graph, 0, 1, &carry, 1), 1);
	assert_int_equal(npuplan_graph_add_edge(graph, 1, NPUMEM_NONE, NULL, 0), 2);
	assert_int_equal(npuplan_graph_copy_carries(graph, NULL, 0, &tiled, NULL), 0);
	assert_int_equal(npuplan_graph_tile_bands(tiled, 1, false, NULL), 0);
	assert_int_equal(npuplan_plan(tiled, NULL, &plan, &error), -EOPNOTSUPP);
	ASSERT_TEXT(error, "state s leaves block 1 (from g) in other bytes than those it began in");
	find(graph, 0, &found);
	assert_copies(graph, &found, "0:s 1:s");
	assert_int_equal(found.bytes, 16);
	plan = played(graph, &found);
	assert_int_equal(plan->info.arena_size, 16);
	npuplan_carry_copies_fini(&found);
}

/* ------------------------------------------------------ npuplan_graph_copy_carries() */

/* An edge that is not alone in leaving its block leads to a block of copies. */
TEST(own_block)
{
	const struct rings rings = { 1, { 2 }, { 4 } };
	AUTO_GRAPH struct npuplan_graph *graph = rings_graph(&rings), *with = NULL;
	struct npuplan_carry_copy copies[2] = { { .edge = 1 }, { .edge = 1 } };

	copies[0].tensor = copies[1].tensor = graph->tensors[1].id;
	assert_int_equal(npuplan_graph_copy_carries(graph, copies, 2, &with, NULL), 0);
	assert_int_equal(with->block_count, 3);
	assert_int_equal(with->edge_count, 4);
	assert_int_equal(with->edges[1].from, 1);
	assert_int_equal(with->edges[1].to, 2);
	assert_int_equal(with->edges[1].carry_count, 0);
	assert_int_equal(with->edges[2].to, NPUMEM_NONE);
	assert_int_equal(with->edges[3].from, 2);
	assert_int_equal(with->edges[3].to, 1);
	assert_int_equal(with->edges[3].carry_count, 2);
	/* The second copy is of the first one. */
	assert_int_equal(with->op_count, 3);
	assert_string_equal(with->ops[1].type, "copy");
	assert_string_equal(with->ops[1].name, "copy x0.1#106");
	assert_int_equal(with->ops[1].block, 2);
	assert_int_equal(with->ops[1].id, 1001);
	assert_int_equal(with->ops[1].inputs[0], 3);
	assert_int_equal(with->ops[2].inputs[0], with->ops[1].outputs[0]);
	assert_int_equal(with->carries[with->edges[3].first_carry].from, with->ops[2].outputs[0]);
	assert_int_equal(with->tensors[6].kind, NPUMEM_TENSOR_INTERMEDIATE);
	assert_int_equal(with->tensors[6].size, 4);
	assert_int_equal(with->tensors[6].id, 106);
}

/* An edge that is alone in leaving its block has its copies at the end of that. */
TEST(same_block)
{
	const struct rings rings = { 1, { 2 }, { 4 } };
	AUTO_GRAPH struct npuplan_graph *graph = rings_graph(&rings), *with = NULL;
	struct npuplan_carry_copy copy = { .edge = 0 };

	copy.tensor = graph->tensors[3].id;
	assert_int_equal(npuplan_graph_copy_carries(graph, &copy, 1, &with, NULL), 0);
	assert_int_equal(with->block_count, 2);
	assert_int_equal(with->edge_count, 3);
	assert_string_equal(with->ops[0].name, "copy in0.1#106");
	assert_int_equal(with->ops[0].block, 0);
	assert_int_equal(with->carries[1].from, with->ops[0].outputs[0]);
	assert_int_equal(with->carries[1].to, 3);
}

static void copy_refused(const struct npuplan_graph *graph, uint32_t edge, int64_t tensor, int err,
			 const char *text)
{
	struct npuplan_carry_copy copy = { .edge = edge, .tensor = tensor };
	struct npuplan_graph *with;
	struct npuplan_error error;

	assert_int_equal(npuplan_graph_copy_carries(graph, &copy, 1, &with, &error), err);
	assert_null(with);
	assert_string_equal(error.text, text);
}

TEST(copy_refused)
{
	const struct rings rings = { 1, { 2 }, { 4 } };
	AUTO_GRAPH struct npuplan_graph *graph = rings_graph(&rings);
	int64_t last = graph->ops[0].id;

	copy_refused(graph, 3, 101, -EINVAL, "there is no edge 3, which would carry to tensor 101");
	copy_refused(graph, 1, 100, -EINVAL, "edge 1 carries nothing to a tensor with id 100");
	graph->tensors[1].kind = NPUMEM_TENSOR_PARAMETER;
	copy_refused(graph, 1, 103, -EOPNOTSUPP,
		     "x0.0 cannot be copied before edge 1 carries it: it is a parameter");
	graph->tensors[1].kind = NPUMEM_TENSOR_OUTPUT;
	graph->tensors[1].flags = NPUMEM_TENSOR_FLAG_ALIAS;
	copy_refused(graph, 1, 103, -EOPNOTSUPP,
		     "x0.0 cannot be copied before edge 1 carries it: it is an alias");
	graph->tensors[1].flags = 0;
	graph->ops[0].id = INT64_MAX;
	copy_refused(graph, 1, 103, -EOVERFLOW,
		     "what edges carry cannot be copied: Value too large for defined data type");
	graph->ops[0].id = last;
	graph->tensors[0].id = INT64_MAX;
	copy_refused(graph, 1, 103, -EOVERFLOW,
		     "what edges carry cannot be copied: Value too large for defined data type");
	graph->tensors[0].id = 100;
	assert_int_equal(npuplan_graph_tile_bands(graph, 1, false, NULL), 0);
	copy_refused(graph, 1, 103, -EINVAL,
		     "what edges carry is copied only in a graph that is not tiled yet");
}

TEST(tiling_refused)
{
	const struct rings rings = { 1, { 2 }, { 4 } };
	AUTO_GRAPH struct npuplan_graph *graph = rings_graph(&rings);
	struct npuplan_carry_copy copy = { .edge = 1, .tensor = 103 };
	struct npuplan_tiling tiling = {
		.onchip = 64,
		.carry_copies = &copy,
		.carry_copy_count = 1,
	};
	struct npuplan_error error;

	assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), -EINVAL);
	assert_string_equal(error.text, "where what edges carry is copied, no operator is cut in a "
					"way of its own, or runs again");
}

/* Plan JSON lists the copies, and says them of another graph likewise. */
TEST(json)
{
	const struct rings rings = { 6, { 2, 3, 5, 7, 11, 13 }, { 4, 4, 4, 4, 4, 4 } };
	AUTO_GRAPH struct npuplan_graph *graph = rings_graph(&rings), *again = rings_graph(&rings);
	struct npuplan_carry_copies found;
	struct npuplan_tiling tiling = { 0 }, read;
	AUTO_PLAN struct npuplan_plan *plan = NULL, *back = NULL;
	char *text;

	find(graph, 0, &found);
	tiling.carry_copies = found.copies;
	tiling.carry_copy_count = found.copy_count;
	assert_int_equal(npuplan_graph_tile(graph, &tiling, NULL), 0);
	assert_int_equal(npuplan_plan(graph, NULL, &plan, NULL), 0);
	assert_int_equal(npuplan_plan_to_json(graph, plan, &text, NULL), 0);
	assert_int_equal(npuplan_json_tiling(again, text, strlen(text), &read, NULL), 0);
	assert_int_equal(read.carry_copy_count, 2);
	assert_memory_equal(read.carry_copies, found.copies, 2 * sizeof(*found.copies));
	assert_int_equal(npuplan_graph_tile(again, &read, NULL), 0);
	assert_int_equal(npuplan_plan_from_json(again, text, strlen(text), &back, NULL), 0);
	assert_false(back->unbound);
	assert_int_equal(back->block_count, plan->block_count);
	npuplan_tiling_fini(&read);
	npuplan_carry_copies_fini(&found);
	free(text);
}
