// SPDX-License-Identifier: MIT
/* Operators that run again: npuplan_graph_clone_op(), npuplan_cosma_recompute(). */
#include <errno.h>

#include "npuplan_build.h"

#include "planners/cosma/recompute/recompute.h"
#include "cosma_oracle.h"

/*
 * in (1) -> big (8) -> m (2) -> n (8) -> k (2); big, k -> out (1). At 12 bytes n
 * and big do not fit together; to make big again takes in alone.
 */
static struct npuplan_graph *shortcut(void)
{
	struct npuplan_graph *graph = npuplan_graph_new("shortcut");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 1);
	uint32_t big = build_tensor(graph, "big", NPUMEM_TENSOR_INTERMEDIATE, 8);
	uint32_t m = build_tensor(graph, "m", NPUMEM_TENSOR_INTERMEDIATE, 2);
	uint32_t n = build_tensor(graph, "n", NPUMEM_TENSOR_INTERMEDIATE, 8);
	uint32_t k = build_tensor(graph, "k", NPUMEM_TENSOR_INTERMEDIATE, 2);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 1);

	build_op(graph, "make_big", in, NPUMEM_NONE, NPUMEM_NONE, big);
	build_op(graph, "make_m", big, NPUMEM_NONE, NPUMEM_NONE, m);
	build_op(graph, "make_n", m, NPUMEM_NONE, NPUMEM_NONE, n);
	build_op(graph, "make_k", n, NPUMEM_NONE, NPUMEM_NONE, k);
	build_op(graph, "join", big, k, NPUMEM_NONE, out);
	return graph;
}

TEST(clone)
{
	AUTO_GRAPH struct npuplan_graph *graph = shortcut(), *twice = NULL;
	int64_t readers[] = { graph->ops[4].id };
	struct npuplan_clone clone = {
		.op = graph->ops[0].id,
		.readers = readers,
		.reader_count = 1,
	};

	assert_int_equal(npuplan_graph_clone_op(graph, &clone, &twice, NULL), 0);
	assert_int_equal(twice->op_count, 6);
	assert_int_equal(twice->tensor_count, 7);
	/* Before its reader, with a name and an id of its own, of the same type and input. */
	assert_string_equal(twice->ops[4].name, "make_big#1005");
	assert_string_equal(twice->ops[4].type, graph->ops[0].type);
	assert_int_equal(twice->ops[4].id, 1005);
	assert_int_equal(twice->ops[4].inputs[0], 0);
	assert_int_equal(twice->ops[4].outputs[0], 6);
	assert_string_equal(twice->tensors[6].name, "big#106");
	assert_int_equal(twice->tensors[6].size, 8);
	assert_int_equal(twice->tensors[6].id, 106);
	/* Its reader takes the clone's; others the first one's. */
	assert_int_equal(twice->ops[5].inputs[0], 6);
	assert_int_equal(twice->ops[5].inputs[1], 4);
	assert_int_equal(twice->ops[1].inputs[0], 1);
}

/* A clone of what makes an output is none. */
TEST(clone_of_output)
{
	AUTO_GRAPH struct npuplan_graph *graph = shortcut(), *twice = NULL;
	int64_t readers[] = { graph->ops[1].id };
	struct npuplan_clone clone = {
		.op = graph->ops[0].id,
		.readers = readers,
		.reader_count = 1,
	};

	graph->tensors[1].kind = NPUMEM_TENSOR_OUTPUT;
	graph->tensors[1].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	assert_int_equal(npuplan_graph_clone_op(graph, &clone, &twice, NULL), 0);
	assert_int_equal(twice->tensors[6].kind, NPUMEM_TENSOR_INTERMEDIATE);
	assert_int_equal(twice->tensors[6].flags, 0);
	assert_int_equal(twice->tensors[1].kind, NPUMEM_TENSOR_OUTPUT);
}

static void clone_refused(const struct npuplan_graph *graph, int64_t op, int64_t reader,
			  uint32_t readers, int err, const char *text)
{
	struct npuplan_clone clone = { .op = op, .readers = &reader, .reader_count = readers };
	struct npuplan_graph *twice;
	struct npuplan_error error;

	assert_int_equal(npuplan_graph_clone_op(graph, &clone, &twice, &error), err);
	assert_null(twice);
	assert_string_equal(error.text, text);
}

TEST(clone_refused)
{
	struct npuplan_graph *graph = shortcut();
	int64_t last;

	clone_refused(graph, 17, 1004, 1, -EINVAL, "there is no operator 17");
	clone_refused(graph, 1000, 1004, 0, -EINVAL, "operator 1000 is to run again for nobody");
	clone_refused(graph, 1000, 1003, 1, -EINVAL,
		      "operator 1003 reads nothing of operator 1000");
	clone_refused(graph, 1000, 17, 1, -EINVAL, "operator 17 reads nothing of operator 1000");
	graph->tensors[0].kind = NPUMEM_TENSOR_STATE;
	clone_refused(graph, 1000, 1004, 1, -EOPNOTSUPP,
		      "operator 'make_big' cannot run again: 'in' is state");
	graph->tensors[0].kind = NPUMEM_TENSOR_INPUT;
	graph->tensors[1].flags = NPUMEM_TENSOR_FLAG_ALIAS;
	clone_refused(graph, 1000, 1004, 1, -EOPNOTSUPP,
		      "operator 'make_big' cannot run again: 'big' is an alias");
	graph->tensors[1].flags = 0;
	last = graph->ops[1].id;
	graph->ops[1].id = INT64_MAX;
	clone_refused(graph, 1000, 1004, 1, -EOVERFLOW,
		      "operator 1000 cannot run again: Value too large for defined data type");
	graph->ops[1].id = last;
	last = graph->tensors[0].id;
	graph->tensors[0].id = INT64_MAX;
	clone_refused(graph, 1000, 1004, 1, -EOVERFLOW,
		      "operator 1000 cannot run again: Value too large for defined data type");
	graph->tensors[0].id = last;
	assert_int_equal(npuplan_graph_tile_bands(graph, 1, false, NULL), 0);
	clone_refused(graph, 1000, 1004, 1, -EINVAL,
		      "operators run again only in a graph that is not tiled yet");
	npuplan_graph_free(graph);
	graph = shortcut();
	assert_true(npuplan_graph_add_edge(graph, 0, NPUMEM_NONE, NULL, 0) >= 0);
	clone_refused(graph, 1000, 1004, 1, -EOPNOTSUPP,
		      "operators run again only in a graph without loops and branches");
	npuplan_graph_free(graph);
}

static void recompute_ok(const struct npuplan_graph *graph, const struct cosma_settings *options,
			 uint32_t limit, struct npuplan_recomputation *found)
{
	const struct npuplan_graph *planned;
	struct cosma_oracle oracle;
	struct npuplan_error error;

	if (npuplan_cosma_recompute(graph, options, limit, found, &error))
		fail_msg("%s", error.text);
	planned = found->graph ? found->graph : graph;
	if (found->plan.position_count &&
	    !cosma_oracle_run(&oracle, planned, options, &found->plan))
		fail_msg("%s", oracle.why);
}

TEST(recompute)
{
	AUTO_GRAPH struct npuplan_graph *graph = shortcut();
	struct cosma_settings options = { .common.arena_budget = 12 };
	struct npuplan_recomputation found;

	recompute_ok(graph, &options, 0, &found);
	assert_int_equal(found.answer.traffic_without, 16);
	assert_int_equal(found.plan.spill + found.plan.fill, 0);
	assert_int_equal(found.plan.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(found.answer.clone_count, 1);
	assert_int_equal(found.answer.clones[0].op, 1000);
	assert_int_equal(found.answer.clones[0].reader_count, 1);
	assert_int_equal(found.answer.clones[0].readers[0], 1004);
	/* Elements written, as these operators do not multiply. */
	assert_int_equal(found.answer.operations, 8 + 2 + 8 + 2 + 1);
	assert_int_equal(found.answer.operations_again, 8);
	npuplan_recomputation_free(&found);
	/* Nothing to save. */
	options.common.arena_budget = 18;
	recompute_ok(graph, &options, 0, &found);
	assert_int_equal(found.answer.clone_count, 0);
	assert_null(found.graph);
	assert_int_equal(found.plan.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	npuplan_recomputation_free(&found);
	/* No plan at all. */
	options.common.arena_budget = 9;
	recompute_ok(graph, &options, 0, &found);
	assert_int_equal(found.plan.status, NPUMEM_PLAN_STATUS_INFEASIBLE);
	assert_int_equal(found.answer.clone_count, 0);
	npuplan_recomputation_free(&found);
}

/* in -> c (8) -> big (8): to have big again, c is wanted again, too. */
TEST(chain)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("chain");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 1);
	uint32_t c = build_tensor(graph, "c", NPUMEM_TENSOR_INTERMEDIATE, 7);
	uint32_t big = build_tensor(graph, "big", NPUMEM_TENSOR_INTERMEDIATE, 8);
	uint32_t n = build_tensor(graph, "n", NPUMEM_TENSOR_INTERMEDIATE, 8);
	uint32_t k = build_tensor(graph, "k", NPUMEM_TENSOR_INTERMEDIATE, 1);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 1);
	struct cosma_settings options = { .common.arena_budget = 17 };
	struct npuplan_recomputation found;

	build_op(graph, "make_c", in, NPUMEM_NONE, NPUMEM_NONE, c);
	build_op(graph, "make_big", c, NPUMEM_NONE, NPUMEM_NONE, big);
	build_op(graph, "make_n", big, NPUMEM_NONE, NPUMEM_NONE, n);
	build_op(graph, "make_k", n, c, NPUMEM_NONE, k);
	build_op(graph, "join", big, k, NPUMEM_NONE, out);
	recompute_ok(graph, &options, 0, &found);
	assert_true(found.answer.traffic_without > 0);
	assert_int_equal(found.plan.spill + found.plan.fill, 0);
	npuplan_recomputation_free(&found);
	/* As many clones as asked for, at most. */
	options.common.arena_budget = 16;
	recompute_ok(graph, &options, 1, &found);
	assert_true(found.answer.clone_count <= 1);
	npuplan_recomputation_free(&found);
}

/*
 * in (2) -> a (4) -> b (3) -> c (4); c, a, in -> d (1). At 11 bytes a step has to bring back in, or
 * a: in is the cheaper one. If a is made again from in, which is kept, nothing comes back; what is
 * filled is in, which no operator makes.
 */
TEST(instead_of_an_input)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("input");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 2);
	uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 4);
	uint32_t b = build_tensor(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, 3);
	uint32_t c = build_tensor(graph, "c", NPUMEM_TENSOR_INTERMEDIATE, 4);
	uint32_t d = build_tensor(graph, "d", NPUMEM_TENSOR_OUTPUT, 1);
	struct cosma_settings options = { .common.arena_budget = 11 };
	struct npuplan_recomputation found;

	build_op(graph, "make_a", in, NPUMEM_NONE, NPUMEM_NONE, a);
	build_op(graph, "make_b", a, NPUMEM_NONE, NPUMEM_NONE, b);
	build_op(graph, "make_c", b, NPUMEM_NONE, NPUMEM_NONE, c);
	build_op(graph, "join", c, a, in, d);
	recompute_ok(graph, &options, 0, &found);
	assert_int_equal(found.answer.traffic_without, 2);
	assert_int_equal(found.plan.spill + found.plan.fill, 0);
	assert_int_equal(found.answer.clone_count, 1);
	assert_int_equal(found.answer.clones[0].op, 1000);
	assert_int_equal(found.answer.clones[0].readers[0], 1003);
	npuplan_recomputation_free(&found);
}

/* Adds an operator that reads up to three tensors, all below NPUMEM_NONE, and writes one or two. */
static void add_op(struct npuplan_graph *graph, const uint32_t inputs[3], uint32_t output,
		   uint32_t second)
{
	uint32_t outputs[] = { output, second }, in[3];
	struct npuplan_op op = {
		.inputs = in,
		.outputs = outputs,
		.output_count = second == NPUMEM_NONE ? 1 : 2,
		.id = graph->op_count,
	};

	memcpy(in, inputs, sizeof(in));
	while (op.input_count < 3 && in[op.input_count] != NPUMEM_NONE)
		op.input_count++;
	assert_true(npuplan_graph_add_op(graph, &op) >= 0);
}

/*
 * What is to run again reads two outputs of one operator, which runs again once for both. This was
 * refused, with all that was asked for: a reader cannot be given the same operator twice.
 */
TEST(two_outputs)
{
	static const uint32_t sizes[] = { 2, 5, 5, 5, 2, 3, 6, 6, 1 };
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("two outputs");
	struct cosma_settings options = { .common.arena_budget = 22 };
	struct npuplan_recomputation found;

	for (uint32_t t = 0; t < 9; t++)
		build_tensor(graph, "t",
			     !t	    ? NPUMEM_TENSOR_INPUT :
			     t == 8 ? NPUMEM_TENSOR_OUTPUT :
				      NPUMEM_TENSOR_INTERMEDIATE,
			     sizes[t]);
	add_op(graph, (uint32_t[]){ 0, NPUMEM_NONE, NPUMEM_NONE }, 1, NPUMEM_NONE);
	add_op(graph, (uint32_t[]){ 1, NPUMEM_NONE, NPUMEM_NONE }, 2, 3);
	add_op(graph, (uint32_t[]){ 2, 3, 0 }, 4, NPUMEM_NONE);
	add_op(graph, (uint32_t[]){ 4, NPUMEM_NONE, NPUMEM_NONE }, 5, NPUMEM_NONE);
	add_op(graph, (uint32_t[]){ 5, 3, 2 }, 6, NPUMEM_NONE);
	add_op(graph, (uint32_t[]){ 6, 2, 5 }, 7, NPUMEM_NONE);
	add_op(graph, (uint32_t[]){ 7, 4, 3 }, 8, NPUMEM_NONE);
	recompute_ok(graph, &options, 0, &found);
	assert_true(found.answer.traffic <= found.answer.traffic_without);
	npuplan_recomputation_free(&found);
}

static int stop(void *context, const struct npuplan_pack_progress *progress)
{
	return ++*(uint32_t *)context > 0;
}

TEST(limits)
{
	AUTO_GRAPH struct npuplan_graph *graph = shortcut();
	uint32_t calls = 0, order[] = { 0, 1, 2, 3, 4 };
	struct cosma_settings options = {
		.common.arena_budget = 12,
		.common.progress = stop,
		.common.context = &calls,
	};
	struct npuplan_recomputation found;
	struct npuplan_error error;

	/* Cancelled at once: a plan all the same. */
	recompute_ok(graph, &options, 0, &found);
	assert_true(calls > 0);
	assert_true(found.plan.position_count > 0);
	npuplan_recomputation_free(&found);
	/* At the limit of memory nothing is proposed, and what there is stays. */
	options = (struct cosma_settings){
		.common.arena_budget = 12,
		.common.memory_limit = 1,
	};
	recompute_ok(graph, &options, 0, &found);
	assert_true(found.plan.position_count > 0);
	npuplan_recomputation_free(&found);
	options = (struct cosma_settings){ .common.arena_budget = 12, .order = order };
	assert_int_equal(npuplan_cosma_recompute(graph, &options, 0, &found, &error), -EINVAL);
	ASSERT_TEXT(error, "for less traffic only");
	options = (struct cosma_settings){ .common.objective = NPUPLAN_OBJECTIVE_PEAK };
	assert_int_equal(npuplan_cosma_recompute(graph, &options, 0, &found, &error), -EINVAL);
	ASSERT_TEXT(error, "for less traffic only");
}
