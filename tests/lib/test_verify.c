// SPDX-License-Identifier: MIT
#include "test_verify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void add_tensor(struct build *b, uint32_t kind, const char *name)
{
	build_whole(b, build_tensor(b, kind, 8, name));
}

void add_step(struct build *b, const char *name, uint32_t read, uint32_t other, uint32_t write)
{
	build_step(b, 0, name);
	build_access(b, read, NPUMEM_ACCESS_READ);
	if (other != NPUMEM_NONE)
		build_access(b, other, NPUMEM_ACCESS_READ);
	build_access(b, write, NPUMEM_ACCESS_WRITE);
}

void chain(struct build *b)
{
	build_init(b);
	add_tensor(b, NPUMEM_TENSOR_INPUT, "x");
	add_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, "a");
	add_tensor(b, NPUMEM_TENSOR_OUTPUT, "y");
	add_step(b, "copy", X, NPUMEM_NONE, A);
	add_step(b, "mix", A, NPUMEM_NONE, Y);
	build_finish(b);
	build_place(b, X, 0);
	build_place(b, A, 8);
	build_place(b, Y, 16);
}

void loop(struct build *b)
{
	build_init(b);
	add_tensor(b, NPUMEM_TENSOR_INPUT, "x");
	add_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, "h");
	add_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, "t");
	add_tensor(b, NPUMEM_TENSOR_OUTPUT, "y");
	add_step(b, "init", LX, NPUMEM_NONE, LH);
	build_block(b, "head");
	add_step(b, "body", LH, NPUMEM_NONE, LT);
	build_block(b, "body");
	add_step(b, "out", LH, NPUMEM_NONE, LY);
	build_block(b, "tail");
	build_edge(b, 0, 1);
	build_edge(b, 1, 1);
	build_carry(b, LT, LH);
	build_edge(b, 1, 2);
	build_carry(b, LT, LH);
	build_edge(b, 2, NPUMEM_NONE);

	build_instance(b, 0);
	build_enter(b, LX, 0);
	build_place_here(b, LH, 8);
	build_instance(b, 1);
	build_enter(b, LH, 8);
	build_place_here(b, LT, 16);
	build_instance(b, 1);
	build_enter(b, LH, 16);
	build_place_here(b, LT, 8);
	build_instance(b, 2);
	build_enter(b, LH, 16);
	build_place_here(b, LY, 0);
	build_instance(b, 2);
	build_enter(b, LH, 8);
	build_place_here(b, LY, 0);
	build_plan_edge(b, HEAD0, BODY_A, 0);
	build_plan_edge(b, BODY_A, BODY_B, 1);
	build_plan_edge(b, BODY_A, TAIL_A, 2);
	build_plan_edge(b, BODY_B, BODY_A, 1);
	build_plan_edge(b, BODY_B, TAIL_B, 2);
	build_plan_edge(b, TAIL_A, NPUMEM_NONE, 3);
	build_plan_edge(b, TAIL_B, NPUMEM_NONE, 3);
}

static void check(int got, const struct npumem_verdict *verdict, const char *log, int err,
		  uint32_t rule, const char *text)
{
	char line[1024];

	snprintf(line, sizeof(line), "%s\n", text);
	assert_string_equal(log, line);
	assert_int_equal(got, -err);
	assert_int_equal(verdict->rule, rule);
}

struct npumem_verdict refuse_graph_blob(struct build_blob blob, int err, uint32_t rule,
					const char *text)
{
	struct npuv_graph *graph = NULL;
	struct npumem_verdict verdict;
	struct npuv_log log;
	char buf[1024];
	int got;

	npuv_log_init(&log, 1, buf, sizeof(buf));
	got = npuv_graph_create(blob.data, blob.size, &npuv_default_limits, &log, &verdict, &graph);
	check(got, &verdict, buf, err, rule, text);
	assert_null(graph);
	free(blob.data);
	return verdict;
}

static struct npuv_graph *accept_graph(struct build_blob blob)
{
	struct npuv_graph *graph = NULL;
	struct npumem_verdict verdict;
	struct npuv_log log;
	char buf[1024];
	int err;

	npuv_log_init(&log, 1, buf, sizeof(buf));
	err = npuv_graph_create(blob.data, blob.size, &npuv_default_limits, &log, &verdict, &graph);
	assert_string_equal(buf, "");
	assert_int_equal(err, 0);
	assert_int_equal(verdict.rule, NPUMEM_RULE_NONE);
	return graph;
}

struct npuv_plan *accept_plan(struct build *b)
{
	struct npuv_graph *graph = accept_graph(build_graph(b));
	struct build_blob blob = build_plan(b);
	struct npuv_plan *plan = NULL;
	struct npumem_verdict verdict;
	struct npuv_log log;
	char buf[1024];
	int err;

	npuv_log_init(&log, 1, buf, sizeof(buf));
	err = npuv_plan_create(graph, blob.data, blob.size, &npuv_default_limits, &log, &verdict,
			       &plan);
	assert_string_equal(buf, "");
	assert_int_equal(err, 0);
	assert_int_equal(verdict.rule, NPUMEM_RULE_NONE);
	return plan;
}

void free_plan(struct npuv_plan *plan)
{
	const struct npuv_graph *source = plan->graph->source;
	struct npuv_graph *graph = (struct npuv_graph *)(uintptr_t)(source ? source : plan->graph);
	void *blob = (void *)(uintptr_t)plan->blob;

	npuv_plan_destroy(plan);
	free(blob);
	blob = (void *)(uintptr_t)graph->blob;
	npuv_graph_destroy(graph);
	free(blob);
}

void accept_build(struct build *b)
{
	free_plan(accept_plan(b));
	build_free(b);
}

struct npumem_verdict refuse_plan_blob(const struct build *b, struct build_blob blob, int err,
				       uint32_t rule, const char *text)
{
	struct build_blob graph_blob = build_graph(b);
	struct npuv_graph *graph = accept_graph(graph_blob);
	struct npuv_plan *plan = NULL;
	struct npumem_verdict verdict;
	struct npuv_log log;
	char buf[1024];
	int got;

	npuv_log_init(&log, 1, buf, sizeof(buf));
	got = npuv_plan_create(graph, blob.data, blob.size, &npuv_default_limits, &log, &verdict,
			       &plan);
	check(got, &verdict, buf, err, rule, text);
	assert_null(plan);
	npuv_graph_destroy(graph);
	free(graph_blob.data);
	free(blob.data);
	return verdict;
}

struct npumem_verdict refuse_graph(struct build *b, int err, uint32_t rule, const char *text)
{
	struct npumem_verdict verdict = refuse_graph_blob(build_graph(b), err, rule, text);

	build_free(b);
	return verdict;
}

struct npumem_verdict refuse_plan(struct build *b, int err, uint32_t rule, const char *text)
{
	struct npumem_verdict verdict = refuse_plan_blob(b, build_plan(b), err, rule, text);

	build_free(b);
	return verdict;
}
