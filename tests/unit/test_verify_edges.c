// SPDX-License-Identifier: MIT
/*
 * Rules V6 and V7 in graphs of several blocks, and enforcement across edges.
 */
#include "test_verify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void test_loop(void **state)
{
	struct npuv_plan *plan;
	struct build b;

	(void)state;
	loop(&b);
	plan = accept_plan(&b);
	assert_int_equal(plan->blocks.count, 5);
	assert_int_equal(npuv_plan_block(plan, BODY_B)->block, 1);
	assert_int_equal(npuv_plan_edge(plan, B_TO_A)->to, BODY_A);
	assert_int_equal(npuv_entry(plan, 1)->tensor, LH);
	free_plan(plan);
	build_free(&b);
}

/* What loop() takes: once round, and out. */
static void test_cross(void **state)
{
	struct npumem_verdict v;
	struct npuv_states *s;
	struct npuv_plan *plan;
	struct build b;

	(void)state;
	loop(&b);
	plan = accept_plan(&b);
	assert_int_equal(npuv_states_create(plan, &s), 0);
	assert_int_equal(s->block, HEAD0);
	/* Not before the block's steps. */
	assert_int_equal(npuv_states_cross(s, INTO, &v), -EPERM);
	assert_int_equal(v.rule, NPUMEM_RULE_ENFORCE_EDGE);
	assert_int_equal(v.other_step, INIT);
	assert_int_equal(s->block, HEAD0);
	/* Nor a position of another block. */
	assert_int_equal(npuv_states_submit(s, 1, &v), -EPERM);
	assert_int_equal(v.rule, NPUMEM_RULE_ENFORCE_EDGE);
	assert_int_equal(v.position, 1);
	assert_int_equal(v.step, BODY);
	assert_int_equal(npuv_states_submit(s, 0, &v), 0);
	assert_int_equal(npuv_states_submit(s, 0, &v), -EPERM);
	/* Nor along an edge from elsewhere. */
	assert_int_equal(npuv_states_cross(s, A_OUT, &v), -EPERM);
	assert_int_equal(v.rule, NPUMEM_RULE_ENFORCE_EDGE);
	assert_int_equal(v.other_step, NPUMEM_NONE);
	assert_int_equal(npuv_states_cross(s, INTO, &v), 0);
	assert_int_equal(v.rule, NPUMEM_RULE_NONE);
	assert_int_equal(npuv_states_submit(s, 1, &v), 0);
	assert_int_equal(npuv_states_cross(s, A_TO_B, &v), 0);
	assert_int_equal(s->block, BODY_B);
	assert_int_equal(npuv_states_submit(s, 1, &v), -EPERM);
	assert_int_equal(npuv_states_submit(s, 2, &v), 0);
	assert_int_equal(npuv_states_cross(s, B_TO_A, &v), 0);
	assert_int_equal(npuv_states_submit(s, 1, &v), 0);
	assert_int_equal(npuv_states_cross(s, A_OUT, &v), 0);
	assert_int_equal(s->block, TAIL_A);
	assert_int_equal(npuv_states_submit(s, 3, &v), 0);
	assert_int_equal(npuv_states_cross(s, EXIT_A, &v), 0);
	assert_int_equal(s->block, NPUMEM_NONE);
	assert_int_equal(npuv_states_submit(s, 3, &v), -EPERM);
	assert_int_equal(v.rule, NPUMEM_RULE_ENFORCE_EDGE);
	assert_int_equal(npuv_states_cross(s, EXIT_A, &v), -EPERM);
	assert_int_equal(v.rule, NPUMEM_RULE_ENFORCE_EDGE);
	/* Back all the way. */
	npuv_states_uncross(s, EXIT_A);
	assert_int_equal(s->block, TAIL_A);
	assert_int_equal(npuv_states_submit(s, 3, &v), -EPERM);
	npuv_states_undo(s, 3);
	assert_int_equal(npuv_states_cross(s, EXIT_A, &v), -EPERM);
	npuv_states_uncross(s, A_OUT);
	npuv_states_undo(s, 1);
	npuv_states_uncross(s, B_TO_A);
	assert_int_equal(s->block, BODY_B);
	assert_int_equal(npuv_states_cross(s, B_OUT, &v), 0);
	assert_int_equal(npuv_states_submit(s, 4, &v), 0);
	npuv_states_reset(s);
	assert_int_equal(s->block, HEAD0);
	assert_int_equal(npuv_states_submit(s, 0, &v), 0);
	npuv_states_destroy(s);
	free_plan(plan);
	build_free(&b);
}

/* One block without edges has an exit, but no edge to cross. */
static void test_cross_flat(void **state)
{
	struct npumem_plan_edge *e;
	struct npumem_verdict v;
	struct npuv_states *s;
	struct npuv_plan *plan;
	struct build b;

	(void)state;
	chain(&b);
	e = build_add(&b.plan_edges, 1);
	e->to = NPUMEM_NONE;
	e->edge = NPUMEM_NONE;
	plan = accept_plan(&b);
	assert_int_equal(npuv_states_create(plan, &s), 0);
	assert_int_equal(npuv_states_submit(s, 0, &v), 0);
	assert_int_equal(npuv_states_submit(s, 1, &v), 0);
	assert_int_equal(npuv_states_cross(s, 0, &v), -EPERM);
	assert_int_equal(v.rule, NPUMEM_RULE_ENFORCE_EDGE);
	npuv_states_destroy(s);
	free_plan(plan);
	build_free(&b);
}

static void test_moved(void **state)
{
	struct npumem_verdict v;
	struct build b;

	(void)state;
	loop(&b);
	/* h of body B: where t of body A is not. */
	build_placement_at(&b, 4)->offset = 8;
	build_placement_at(&b, 5)->offset = 16;
	v = refuse_plan(
		&b, EINVAL, NPUMEM_RULE_V6_EDGE,
		"V6 edge: edge 1 of the plan, from block 1 of the plan (block 1 'body') to "
		"block 2 of the plan (block 1 'body'): bytes [0, 8) of tensor 1 'h', the "
		"value of tensor 2 't' are at byte 16 of the arena, but are to be at byte 8");
	assert_int_equal(v.tensor, LH);
	assert_int_equal(v.other_tensor, LT);
	assert_int_equal(v.position, 1);
	assert_int_equal(v.first, 16);
	assert_int_equal(v.length, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loop),
		cmocka_unit_test(test_cross),
		cmocka_unit_test(test_cross_flat),
		cmocka_unit_test(test_moved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
