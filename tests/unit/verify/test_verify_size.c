// SPDX-License-Identifier: MIT
/*
 * What graphs, plans and states say that they keep is all the memory that was
 * allocated for them and not freed. Built with the verifier's own sources, and
 * calloc() and free() wrapped.
 */
#include "test_verify_transfers.h"
#include "unit.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t live;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void __real_free(void *p);
void __wrap_free(void *p);

void *__wrap_calloc(size_t count, size_t size)
{
	void *p = __real_calloc(count, size);

	live += malloc_usable_size(p);
	return p;
}

void __wrap_free(void *p)
{
	live -= malloc_usable_size(p);
	__real_free(p);
}

/* The build is freed. */
static void check(struct build *b)
{
	struct build_blob graph_blob = build_graph(b), plan_blob = build_plan(b);
	struct npumem_verdict verdict;
	struct npuv_hazards *hazards;
	struct npuv_states *states;
	struct npuv_graph *graph;
	struct npuv_plan *plan;
	uint64_t before = live, graph_bytes, plan_bytes;

	assert_int_equal(npuv_graph_create(graph_blob.data, graph_blob.size, &npuv_default_limits,
					   NULL, &verdict, &graph),
			 0);
	graph_bytes = live - before;
	assert_int_equal(npuv_graph_bytes(graph), graph_bytes);
	assert_int_equal(npuv_plan_create(graph, plan_blob.data, plan_blob.size,
					  &npuv_default_limits, NULL, &verdict, &plan),
			 0);
	plan_bytes = live - before - graph_bytes;
	assert_int_equal(npuv_plan_bytes(plan), plan_bytes);
	assert_int_equal(npuv_states_create(plan, &states), 0);
	assert_int_equal(npuv_states_bytes(states), live - before - graph_bytes - plan_bytes);
	npuv_states_destroy(states);
	assert_int_equal(npuv_hazards_create(plan, 3, &hazards), 0);
	assert_int_equal(npuv_hazards_bytes(hazards), live - before - graph_bytes - plan_bytes);
	npuv_hazards_destroy(hazards);
	npuv_plan_destroy(plan);
	npuv_graph_destroy(graph);
	assert_int_equal(live, before);
	free(plan_blob.data);
	free(graph_blob.data);
	build_free(b);
}

TEST(chain)
{
	struct build b;

	chain(&b);
	check(&b);
}

TEST(loop)
{
	struct build b;

	loop(&b);
	check(&b);
}

/* The plan has a graph of its own. */
TEST(transfers)
{
	struct build b;

	spilled(&b);
	check(&b);
}

/* The base is an input, and so is a part of it under another name. */
TEST(alias)
{
	struct build b;

	chain(&b);
	build_tensor(&b, NPUMEM_TENSOR_OUTPUT, 4, "part");
	build_tensor_at(&b, 3)->flags |= NPUMEM_TENSOR_FLAG_ALIAS;
	build_tensor_at(&b, 3)->alias_of = Y;
	check(&b);
}
