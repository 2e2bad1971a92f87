// SPDX-License-Identifier: MIT
/*
 * Plans with transfers that are accepted, where their bytes are, and how a run
 * enforces them.
 */
#include "test_verify_transfers.h"
#include "unit.h"

#include <errno.h>
#include <stdlib.h>

/* The one range of an access at a position. */
static void check_range(const struct npuv_plan *plan, uint32_t position, uint32_t access,
			uint32_t where, uint64_t first, uint64_t length)
{
	struct npuv_range range;
	struct npuv_walk walk;

	npuv_walk_begin(&walk, plan, position, access);
	assert_true(npuv_walk_next(&walk, &range));
	assert_int_equal(range.external, where);
	assert_int_equal(range.arena, first);
	assert_int_equal(range.length, length);
	assert_int_equal(range.linear, 0);
	assert_false(npuv_walk_next(&walk, &range));
}

TEST(spilled)
{
	struct npuv_plan *plan;
	struct build b;

	spilled(&b);
	accept(&b);
	spilled(&b);
	b.info.host_size = 100; /* more than it needs */
	move(&b, STORE, TY, Y_AT_16, 0, 8, 92);
	build_placement_at(&b, Y_AT_16)->to = 5;
	plan = accept_plan(&b);
	build_free(&b);
	assert_int_equal(plan->transfers, 3);
	check_range(plan, DO_A, 0, NPUMEM_NONE, 0, 8);
	check_range(plan, DO_A, 1, NPUMEM_NONE, 8, 8);
	check_range(plan, SPILL_A, 0, NPUMEM_NONE, 8, 8);
	check_range(plan, SPILL_A, 1, NPUV_HOST, 0, 8);
	check_range(plan, FILL_A, 0, NPUV_HOST, 0, 8);
	check_range(plan, FILL_A, 1, NPUMEM_NONE, 0, 8);
	check_range(plan, DO_Y, 4, NPUMEM_NONE, 0, 8);
	check_range(plan, 5, 1, NPUV_HOST, 92, 8);
	assert_int_equal(npuv_access_bytes(plan, 4), 8);
	free_plan(plan);
}

/* Spilled once, filled twice; the second eviction is a drop. */
TEST(drop)
{
	struct build b;

	build_init(&b);
	add_tensor(&b, NPUMEM_TENSOR_INPUT, "x");
	add_tensor(&b, NPUMEM_TENSOR_INTERMEDIATE, "a");
	add_tensor(&b, NPUMEM_TENSOR_INTERMEDIATE, "b");
	add_tensor(&b, NPUMEM_TENSOR_OUTPUT, "y");
	add_tensor(&b, NPUMEM_TENSOR_OUTPUT, "z");
	add_step(&b, "make_a", 0, NPUMEM_NONE, 1);
	add_step(&b, "make_b", 1, NPUMEM_NONE, 2);
	add_step(&b, "make_y", 1, 2, 3);
	add_step(&b, "make_z", 1, NPUMEM_NONE, 4);
	begin_schedule(&b);
	step(&b, 0);
	step(&b, 1);
	move(&b, SPILL, 1, 1, 0, 8, 0);
	move(&b, FILL, 1, 2, 0, 8, 0);
	step(&b, 2);
	drop(&b, 1, 0, 8);
	move(&b, FILL, 1, 3, 0, 8, 0);
	step(&b, 3);
	stay(&b, 0, 0, 0, 0);
	stay(&b, 1, 0, 2, 8);
	stay(&b, 1, 3, 4, 0);
	stay(&b, 1, 6, 7, 16);
	stay(&b, 2, 1, 4, 16);
	stay(&b, 3, 4, 7, 8);
	stay(&b, 4, 7, 7, 0);
	accept(&b);
}

TEST(loaded)
{
	struct npuv_states *states;
	struct npumem_verdict v;
	struct build b;

	host_input(&b, NPUMEM_TENSOR_INPUT);
	accept(&b);
	host_input(&b, NPUMEM_TENSOR_PARAMETER);
	accept(&b);
	/* No placement, so it is outside of the arena. */
	chain(&b);
	build_tensor_at(&b, X)->kind = NPUMEM_TENSOR_PARAMETER;
	build_tensor_at(&b, X)->flags = NPUMEM_TENSOR_FLAG_HOST;
	*build_placement_at(&b, X) = *build_placement_at(&b, A);
	*build_placement_at(&b, A) = *build_placement_at(&b, Y);
	b.placements.count = 2;
	accept(&b);
	/* Nobody reads it. */
	chain(&b);
	add_tensor(&b, NPUMEM_TENSOR_INPUT, "w");
	build_tensor_at(&b, 3)->flags = NPUMEM_TENSOR_FLAG_HOST;
	accept(&b);

	host_input(&b, NPUMEM_TENSOR_INPUT);
	states = states_of(&b);
	v = stop(states, 1, NPUMEM_RULE_ENFORCE_READ);
	assert_int_equal(v.step, COPY);
	assert_int_equal(v.tensor, X);
	assert_int_equal(v.other_step, NPUMEM_NONE);
	assert_int_equal(v.other_tile, NPUMEM_NONE);
	assert_int_equal(v.other_tensor, X);
	go(states, 0);
	v = stop(states, 0, NPUMEM_RULE_ENFORCE_READ);
	assert_int_equal(v.step, NPUMEM_NONE);
	assert_int_equal(v.tile, NPUMEM_NONE);
	assert_int_equal(v.tensor, X);
	npuv_states_undo(states, 0);
	stop(states, 1, NPUMEM_RULE_ENFORCE_READ);
	go(states, 0);
	go(states, 1);
	free_states(states);
}

/* An output that is stored and read on; one that is stored and gone; one of each half. */
TEST(outputs)
{
	struct build b;

	chain(&b);
	build_tensor_at(&b, A)->kind = NPUMEM_TENSOR_OUTPUT;
	b.positions.count = 0;
	step(&b, COPY);
	move(&b, STORE, A, 1, 0, 8, 8);
	step(&b, MIX);
	move(&b, SPILL, Y, 2, 0, 4, 0);
	build_placement_at(&b, X)->to = 0;
	build_placement_at(&b, A)->to = 2;
	build_placement_at(&b, Y)->from = 2;
	build_placement_at(&b, Y)->to = 3;
	accept(&b);
}

/* Half of a goes and comes back, to the other half's side and elsewhere. */
TEST(partial)
{
	struct npuv_plan *plan;
	struct npuv_range range;
	struct npuv_walk walk;
	struct build b;

	spilled_graph(&b);
	step(&b, MAKE_A);
	move(&b, SPILL, TA, 1, 4, 4, 4);
	step(&b, MAKE_B);
	move(&b, FILL, TA, 3, 4, 2, 4);
	move(&b, FILL, TA, 4, 6, 2, 6);
	step(&b, JOIN);
	stay(&b, TX, 0, 2, 0);
	build_place_region(&b, TA, 0, 1, 12, build_region(4, 4));
	build_place_region(&b, TA, 0, 5, 8, build_region(0, 4));
	build_place_region(&b, TA, 3, 5, 0, build_region(4, 2));
	build_place_region(&b, TA, 4, 5, 6, build_region(6, 2));
	stay(&b, TB, 2, 5, 12);
	stay(&b, TY, 5, 5, 20);
	plan = accept_plan(&b);
	accept(&b);
	npuv_walk_begin(&walk, plan, 5, 4);
	assert_true(npuv_walk_next(&walk, &range));
	assert_int_equal(range.arena, 8);
	assert_int_equal(range.length, 4);
	assert_true(npuv_walk_next(&walk, &range));
	assert_int_equal(range.arena, 0);
	assert_int_equal(range.length, 2);
	assert_int_equal(range.linear, 4);
	assert_true(npuv_walk_next(&walk, &range));
	assert_int_equal(range.arena, 6);
	assert_int_equal(range.length, 2);
	assert_false(npuv_walk_next(&walk, &range));
	check_range(plan, 4, 0, NPUV_HOST, 6, 2);
	check_range(plan, 4, 1, NPUMEM_NONE, 6, 2);
	free_plan(plan);
}

/* Host memory is used again when what was there is no longer needed. */
TEST(host_reuse)
{
	struct npuv_states *states;
	struct npumem_verdict v;
	struct build b;

	spilled(&b);
	move(&b, SPILL, TY, Y_AT_16, 0, 8, 0);
	build_placement_at(&b, Y_AT_16)->to = 5;
	accept(&b);

	spilled(&b);
	move(&b, SPILL, TY, Y_AT_16, 0, 8, 4);
	build_placement_at(&b, Y_AT_16)->to = 5;
	states = states_of(&b);
	go(states, DO_A);
	go(states, SPILL_A);
	go(states, DO_B);
	v = stop(states, DO_Y, NPUMEM_RULE_ENFORCE_READ);
	assert_int_equal(v.step, JOIN);
	assert_int_equal(v.tensor, TA);
	assert_int_equal(v.first, 0);
	assert_int_equal(v.other_tensor, TA);
	assert_int_equal(v.other_step, NPUMEM_NONE);
	v = stop(states, SPILL_A, NPUMEM_RULE_ENFORCE_READ);
	assert_int_equal(v.tensor, TA);
	assert_int_equal(v.step, NPUMEM_NONE);
	free_states(states);
}

/* ---------------------------------------------------------------- enforcement */

/* Transfers wait for what they need, and others for them. */
TEST(enforced)
{
	struct npuv_states *states;
	struct npumem_verdict v;
	struct build b;

	spilled(&b);
	states = states_of(&b);
	/* Nothing to spill yet, nothing to fill. */
	v = stop(states, SPILL_A, NPUMEM_RULE_ENFORCE_READ);
	assert_int_equal(v.step, NPUMEM_NONE);
	assert_int_equal(v.tile, NPUMEM_NONE);
	assert_int_equal(v.tensor, TA);
	assert_int_equal(v.other_step, MAKE_A);
	assert_int_equal(v.first, 8);
	assert_int_equal(v.length, 8);
	v = stop(states, FILL_A, NPUMEM_RULE_ENFORCE_READ);
	assert_int_equal(v.step, NPUMEM_NONE);
	assert_int_equal(v.tensor, TA);
	assert_int_equal(v.other_step, NPUMEM_NONE);
	assert_int_equal(v.other_tensor, TA);
	assert_int_equal(v.first, 0);
	go(states, DO_A);
	/* b would lie on a, which the spill is still to read. */
	v = stop(states, DO_B, NPUMEM_RULE_ENFORCE_WRITE);
	assert_int_equal(v.step, MAKE_B);
	assert_int_equal(v.tensor, TB);
	assert_int_equal(v.other_step, NPUMEM_NONE);
	assert_int_equal(v.other_tile, NPUMEM_NONE);
	assert_int_equal(v.other_tensor, TA);
	go(states, SPILL_A);
	/* a would come back to x, which is still to be read. */
	v = stop(states, FILL_A, NPUMEM_RULE_ENFORCE_WRITE);
	assert_int_equal(v.step, NPUMEM_NONE);
	assert_int_equal(v.tensor, TA);
	assert_int_equal(v.other_step, MAKE_B);
	assert_int_equal(v.other_tensor, TX);
	go(states, DO_B);
	/* a is not back. */
	v = stop(states, DO_Y, NPUMEM_RULE_ENFORCE_READ);
	assert_int_equal(v.step, JOIN);
	assert_int_equal(v.other_step, NPUMEM_NONE);
	go(states, FILL_A);
	go(states, DO_Y);
	assert_int_equal(states->left, 0);
	npuv_states_undo(states, DO_Y);
	npuv_states_undo(states, FILL_A);
	stop(states, DO_Y, NPUMEM_RULE_ENFORCE_READ);
	go(states, FILL_A);
	free_states(states);
}

/* A drop touches nothing, may go whenever, and goes once. */
TEST(enforced_drop)
{
	struct npuv_states *states;
	struct build b;

	accumulator(&b, STORE);
	drop(&b, 0, 0, 8);
	states = states_of(&b);
	go(states, 4);
	stop(states, 4, NPUMEM_RULE_ENFORCE_TWICE);
	go(states, 0);
	go(states, 1);
	stop(states, 1, NPUMEM_RULE_ENFORCE_TWICE);
	go(states, 2);
	go(states, 3);
	assert_int_equal(states->left, 0);
	free_states(states);
}

/* One tensor at many places, one after the other: work for each is the same. */
TEST(many_stays)
{
	const uint32_t stays = 300;
	struct npuv_limits limits = npuv_default_limits;
	struct build_blob graph_blob, plan_blob;
	struct npumem_verdict verdict;
	struct npuv_graph *graph;
	struct npuv_plan *plan;
	struct build b;
	uint32_t i;

	build_init(&b);
	add_tensor(&b, NPUMEM_TENSOR_INPUT, "x");
	build_tensor_at(&b, 0)->flags = NPUMEM_TENSOR_FLAG_HOST;
	for (i = 0; i < stays; i++) {
		build_step(&b, 0, NULL);
		build_access(&b, 0, NPUMEM_ACCESS_READ);
	}
	begin_schedule(&b);
	for (i = 0; i < stays; i++) {
		move(&b, i ? FILL : LOAD, 0, i, 0, 8, 0);
		step(&b, i);
		drop(&b, 0, 0, 8);
		stay(&b, 0, 3 * i, 3 * i + 2, 8 * (i % 4));
	}
	graph_blob = build_graph(&b);
	plan_blob = build_plan(&b);
	build_free(&b);
	limits.max_visits = 100 * stays;
	assert_int_equal(npuv_graph_create(graph_blob.data, graph_blob.size, &limits, NULL,
					   &verdict, &graph),
			 0);
	assert_int_equal(npuv_plan_create(graph, plan_blob.data, plan_blob.size, &limits, NULL,
					  &verdict, &plan),
			 0);
	npuv_plan_destroy(plan);
	npuv_graph_destroy(graph);
	free(graph_blob.data);
	free(plan_blob.data);
}
