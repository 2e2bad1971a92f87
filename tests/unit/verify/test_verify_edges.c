// SPDX-License-Identifier: MIT
/*
 * Rules V6 and V7 in graphs of several blocks, and enforcement across edges.
 */
#include "test_verify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

TEST(loop)
{
	struct npuv_plan *plan;
	struct build b;

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
TEST(cross)
{
	struct npumem_verdict v;
	struct npuv_states *s;
	struct npuv_plan *plan;
	struct build b;

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
TEST(cross_flat)
{
	struct npumem_plan_edge *e;
	struct npumem_verdict v;
	struct npuv_states *s;
	struct npuv_plan *plan;
	struct build b;

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

TEST(moved)
{
	struct npumem_verdict v;
	struct build b;

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

/* h goes on as it is, beside a carry; and it is spoilt on the way. */
TEST(not_carried)
{
	struct build b;

	loop(&b);
	build_edge_at(&b, 1)->carry_count = 0;
	build_edge_at(&b, 2)->first_carry = 0;
	build_edge_at(&b, 3)->first_carry = 1;
	b.carries.count--;
	*build_carry_at(&b, 0) = (struct npumem_carry){ LT, LH };
	refuse_plan(
		&b, EINVAL, NPUMEM_RULE_V6_EDGE,
		"V6 edge: edge 1 of the plan, from block 1 of the plan (block 1 'body') to "
		"block 2 of the plan (block 1 'body'): bytes [0, 8) of tensor 1 'h' are at byte "
		"8 of the arena, but are to be at byte 16");
}

/* An edge needs what is not there. */
TEST(absent)
{
	struct npumem_verdict v;
	struct build b;

	/* t at the head's end: never written. */
	loop(&b);
	build_edge_at(&b, 0)->carry_count = 1;
	build_edge_at(&b, 1)->first_carry = 1;
	build_edge_at(&b, 2)->first_carry = 2;
	build_edge_at(&b, 3)->first_carry = 3;
	*(struct npumem_carry *)build_add(&b.carries, 1) = (struct npumem_carry){ LT, LH };
	v = refuse_plan(&b, EINVAL, NPUMEM_RULE_V6_EDGE,
			"V6 edge: edge 0 of the plan, from block 0 of the plan (block 0 'head') to "
			"block 1 of the plan (block 1 'body'): bytes [0, 8) of tensor 1 'h', the "
			"value of tensor 2 't' are neither written by then nor in the entry state");
	assert_int_equal(v.tensor, LH);
	assert_int_equal(v.other_tensor, LT);
	assert_int_equal(v.position, 0);
	/* Half of it is. */
	loop(&b);
	build_tile_at(&b, LH)->region.length = 5;
	refuse_plan(&b, EINVAL, NPUMEM_RULE_V6_EDGE,
		    "V6 edge: edge 0 of the plan, from block 0 of the plan (block 0 'head') to "
		    "block 1 of the plan (block 1 'body'): bytes [5, 8) of tensor 1 'h' are "
		    "neither written by then nor in the entry state");
	/* Half of an output. */
	loop(&b);
	build_tile_at(&b, LY)->region.length = 5;
	v = refuse_plan(&b, EINVAL, NPUMEM_RULE_V7_EXIT,
			"V7 exit: edge 5 of the plan, from block 3 of the plan (block 2 'tail') to "
			"the exit: bytes [5, 8) of tensor 3 'y' are neither written by then nor in "
			"the entry state");
	assert_int_equal(v.tensor, LY);
	assert_int_equal(v.position, 3);
	/* A branch past the block that writes it. */
	loop(&b);
	build_edge(&b, 0, NPUMEM_NONE);
	build_plan_edge(&b, HEAD0, NPUMEM_NONE, 4);
	refuse_plan(
		&b, EINVAL, NPUMEM_RULE_V7_EXIT,
		"V7 exit: edge 7 of the plan, from block 0 of the plan (block 0 'head') to the "
		"exit: bytes [0, 8) of tensor 3 'y' are neither written by then nor in the entry "
		"state");
	/* On the way out y is what h was. */
	loop(&b);
	build_edge_at(&b, 3)->carry_count = 1;
	*(struct npumem_carry *)build_add(&b.carries, 1) = (struct npumem_carry){ LH, LY };
	free_plan(accept_plan(&b));
	build_carry_at(&b, 2)->from = LT;
	refuse_plan(&b, EINVAL, NPUMEM_RULE_V7_EXIT,
		    "V7 exit: edge 5 of the plan, from block 3 of the plan (block 2 'tail') to the "
		    "exit: bytes [0, 8) of tensor 3 'y', the value of tensor 2 't' are neither "
		    "written by then nor in the entry state");
}

/*
 * x (input) and w (parameter) --0 load--> a; a --1 work--> c, --2 more--> d in a
 * block in between, which does not touch x; x and d --3 end--> y (output).
 */
enum { PX, PW, PA, PC, PD, PY };

static void pass(struct build *b)
{
	build_init(b);
	add_tensor(b, NPUMEM_TENSOR_INPUT, "x");
	add_tensor(b, NPUMEM_TENSOR_PARAMETER, "w");
	add_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, "a");
	add_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, "c");
	add_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, "d");
	add_tensor(b, NPUMEM_TENSOR_OUTPUT, "y");
	add_step(b, "load", PX, PW, PA);
	build_block(b, "head");
	add_step(b, "work", PA, NPUMEM_NONE, PC);
	add_step(b, "more", PC, NPUMEM_NONE, PD);
	build_block(b, "middle");
	add_step(b, "end", PX, PD, PY);
	build_block(b, "tail");
	build_edge(b, 0, 1);
	build_edge(b, 1, 2);
	build_edge(b, 2, NPUMEM_NONE);
	build_instance(b, 0);
	build_enter(b, PX, 0);
	build_place_here(b, PA, 8);
	build_instance(b, 1);
	build_enter(b, PX, 0);
	build_enter(b, PA, 8);
	build_place_here(b, PC, 16);
	build_place_here(b, PD, 24);
	build_instance(b, 2);
	build_enter(b, PX, 0);
	build_enter(b, PD, 24);
	build_place_here(b, PY, 32);
	build_plan_edge(b, 0, 1, 0);
	build_plan_edge(b, 1, 2, 1);
	build_plan_edge(b, 2, NPUMEM_NONE, 2);
}

/* What a block does not touch passes through it, unless somebody writes there. */
TEST(pass)
{
	struct npumem_verdict v;
	struct build b;

	pass(&b);
	free_plan(accept_plan(&b));
	/* a is done with when d comes. */
	build_placement_at(&b, 5)->offset = 8;
	build_placement_at(&b, 7)->offset = 8;
	free_plan(accept_plan(&b));
	/* x is not: c would lie on half of it. */
	build_placement_at(&b, 4)->offset = 4;
	v = refuse_plan_blob(&b, build_plan(&b), EINVAL, NPUMEM_RULE_V4_WRITE,
			     "V4 write: step 1 'work' writes tensor 3 'c' to bytes [4, 8) of the "
			     "arena, where tensor 0 'x' must survive for edge 1 of the plan, to "
			     "block 2 of the plan (block 2 'tail')");
	assert_int_equal(v.position, 1);
	assert_int_equal(v.step, 1);
	assert_int_equal(v.tile, PC);
	assert_int_equal(v.tensor, PC);
	assert_int_equal(v.other_tensor, PX);
	assert_int_equal(v.first, 4);
	assert_int_equal(v.length, 4);
	build_free(&b);
	/* It must be placed all the time, */
	pass(&b);
	build_placement_at(&b, 2)->to = 1;
	v = refuse_plan(
		&b, EINVAL, NPUMEM_RULE_V6_EDGE,
		"V6 edge: tensor 0 'x' bytes [0, 8) are placed up to position 1 only, but "
		"edge 1 of the plan, to block 2 of the plan (block 2 'tail'), needs them at "
		"position 2");
	assert_int_equal(v.tensor, PX);
	assert_int_equal(v.position, 1);
	assert_int_equal(v.first, 0);
	assert_int_equal(v.length, 8);
	/* in one place, */
	pass(&b);
	build_placement_at(&b, build_place_region(&b, PX, 2, 2, 40, build_region(0, 8)))->block = 1;
	refuse_plan(&b, EINVAL, NPUMEM_RULE_V3_READ,
		    "V3 read: tensor 0 'x' bytes [0, 8) are in both placement 2 and placement 9");
	/* and listed. */
	pass(&b);
	build_entry_at(&b, 1)->length = 4;
	refuse_plan(&b, EINVAL, NPUMEM_RULE_V6_EDGE,
		    "V6 edge: edge 1 of the plan, from block 1 of the plan (block 1 'middle') to "
		    "block 2 of the plan (block 2 'tail'): bytes [4, 8) of tensor 0 'x' are "
		    "neither written by then nor in the entry state");
}

/* What a block writes for the next one lasts. */
TEST(lasting)
{
	struct npumem_verdict v;
	struct build b;

	/* c for the tail instead of d, which lies on it. */
	pass(&b);
	build_access_at(&b, 8)->tile = PC;
	build_entry_at(&b, 4)->tensor = PC;
	build_placement_at(&b, 7)->tensor = PC;
	build_placement_at(&b, 7)->offset = 16;
	free_plan(accept_plan(&b));
	build_step_at(&b, 2)->flags = NPUMEM_STEP_STAGED;
	build_placement_at(&b, 5)->offset = 16;
	v = refuse_plan_blob(&b, build_plan(&b), EINVAL, NPUMEM_RULE_V4_WRITE,
			     "V4 write: step 2 'more' writes tensor 4 'd' to bytes [16, 24) of the "
			     "arena, where tensor 3 'c' must survive for edge 1 of the plan, to "
			     "block 2 of the plan (block 2 'tail')");
	assert_int_equal(v.position, 2);
	assert_int_equal(v.tensor, PD);
	assert_int_equal(v.other_tensor, PC);
	build_placement_at(&b, 5)->offset = 24;
	build_step_at(&b, 2)->flags = 0;
	build_placement_at(&b, 4)->to = 1;
	/* Its last use is in the block itself. */
	refuse_plan_blob(&b, build_plan(&b), EINVAL, NPUMEM_RULE_V3_READ,
			 "V3 read: tensor 3 'c' bytes [0, 8) are placed up to position 1 only, but "
			 "step 2 'more' reads tile 3 of them at position 2");
	build_free(&b);
	/* d is needed one position longer than it is used. */
	pass(&b);
	build_access_at(&b, 5)->tile = PA;
	build_access_at(&b, 4)->tile = PD;
	build_access_at(&b, 6)->tile = PC;
	build_placement_at(&b, 5)->to = 1;
	v = refuse_plan(
		&b, EINVAL, NPUMEM_RULE_V6_EDGE,
		"V6 edge: tensor 4 'd' bytes [0, 8) are placed up to position 1 only, but "
		"edge 1 of the plan, to block 2 of the plan (block 2 'tail'), needs them at "
		"position 2");
	assert_int_equal(v.tensor, PD);
	assert_int_equal(v.first, 24);
	/* An output that something lies on at last. */
	pass(&b);
	build_tensor_at(&b, PC)->kind = NPUMEM_TENSOR_OUTPUT;
	build_entry_at(&b, 4)->tensor = PC;
	build_placement_at(&b, 7)->tensor = PC;
	build_placement_at(&b, 7)->offset = 16;
	build_access_at(&b, 8)->tile = PX;
	build_placement_at(&b, 8)->offset = 16;
	v = refuse_plan(
		&b, EINVAL, NPUMEM_RULE_V4_WRITE,
		"V4 write: step 3 'end' writes tensor 5 'y' to bytes [16, 24) of the arena, "
		"where tensor 3 'c' must survive for edge 2 of the plan, to the exit");
	assert_int_equal(v.other_tensor, PC);
}

/* A value cannot come from outside the arena without a copy. */
TEST(outside)
{
	struct npumem_verdict v;
	struct build b;

	pass(&b);
	build_edge_at(&b, 0)->carry_count = 1;
	build_edge_at(&b, 1)->first_carry = 1;
	build_edge_at(&b, 2)->first_carry = 1;
	*(struct npumem_carry *)build_add(&b.carries, 1) = (struct npumem_carry){ PW, PA };
	v = refuse_plan(&b, EINVAL, NPUMEM_RULE_V6_EDGE,
			"V6 edge: edge 0 of the plan, from block 0 of the plan (block 0 'head') to "
			"block 1 of the plan (block 1 'middle'): bytes [0, 8) of tensor 2 'a', the "
			"value of tensor 1 'w' are not in the arena");
	assert_int_equal(v.tensor, PA);
	assert_int_equal(v.other_tensor, PW);
}

/* A parameter in the arena anywhere is one that entry states list. */
TEST(planned_parameter)
{
	struct build b;

	pass(&b);
	build_placement_at(&b, build_place_region(&b, PW, 0, 0, 40, build_region(0, 8)))->block = 0;
	refuse_plan(&b, EINVAL, NPUMEM_RULE_V3_READ,
		    "V3 read: step 0 'load' reads tile 1 of tensor 1 'w', whose bytes [0, 8) are "
		    "not in the entry state of block 0 of the plan (block 0 'head')");
}

/* State ends where it began, whatever the way. */
TEST(state)
{
	struct npumem_verdict v;
	struct build b;

	/* x is state: it passes through all blocks, and has to. */
	pass(&b);
	build_tensor_at(&b, PX)->kind = NPUMEM_TENSOR_STATE;
	free_plan(accept_plan(&b));
	build_tensor_at(&b, PA)->kind = NPUMEM_TENSOR_STATE;
	refuse_plan(&b, EINVAL, NPUMEM_RULE_V7_EXIT,
		    "V7 exit: edge 2 of the plan, from block 2 of the plan (block 2 'tail') to the "
		    "exit: bytes [0, 8) of tensor 2 'a' are neither written by then nor in the "
		    "entry state");
	/* Its next value is d, elsewhere; then at the same place. */
	pass(&b);
	build_tensor_at(&b, PX)->kind = NPUMEM_TENSOR_STATE;
	build_edge_at(&b, 2)->carry_count = 1;
	*(struct npumem_carry *)build_add(&b.carries, 1) = (struct npumem_carry){ PD, PX };
	v = refuse_plan_blob(
		&b, build_plan(&b), EINVAL, NPUMEM_RULE_V7_EXIT,
		"V7 exit: edge 2 of the plan, from block 2 of the plan (block 2 'tail') "
		"to the exit: state tensor 0 'x' bytes [0, 8) do not end where they "
		"began");
	assert_int_equal(v.tensor, PX);
	assert_int_equal(v.other_tensor, PD);
	assert_int_equal(v.first, 24);
	assert_int_equal(v.length, 8);
	build_placement_at(&b, 0)->offset = 24;
	build_placement_at(&b, 2)->offset = 40;
	build_placement_at(&b, 6)->offset = 40;
	b.info.arena_size = 48;
	refuse_plan_blob(
		&b, build_plan(&b), EINVAL, NPUMEM_RULE_V6_EDGE,
		"V6 edge: edge 0 of the plan, from block 0 of the plan (block 0 'head') to "
		"block 1 of the plan (block 1 'middle'): bytes [0, 8) of tensor 0 'x' are "
		"at byte 24 of the arena, but are to be at byte 40");
	build_free(&b);
	/* A parameter outside the arena is nowhere to begin from. */
	pass(&b);
	build_tensor_at(&b, PX)->kind = NPUMEM_TENSOR_STATE;
	build_edge_at(&b, 2)->carry_count = 1;
	*(struct npumem_carry *)build_add(&b.carries, 1) = (struct npumem_carry){ PW, PX };
	refuse_plan(&b, EINVAL, NPUMEM_RULE_V7_EXIT,
		    "V7 exit: edge 2 of the plan, from block 2 of the plan (block 2 'tail') to the "
		    "exit: state tensor 0 'x' bytes [0, 8) do not end where they began");
}

/*
 * Two names for one value: u and w are both what h was. u --0 first--> p,
 * w --1 second--> q, and q lies where both are.
 */
static void twins(struct build *b)
{
	build_init(b);
	add_tensor(b, NPUMEM_TENSOR_INPUT, "h");
	add_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, "u");
	add_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, "w");
	add_tensor(b, NPUMEM_TENSOR_OUTPUT, "p");
	add_tensor(b, NPUMEM_TENSOR_OUTPUT, "q");
	build_block(b, "head");
	build_step(b, NPUMEM_STEP_STAGED, "first");
	build_access(b, 1, NPUMEM_ACCESS_READ);
	build_access(b, 3, NPUMEM_ACCESS_WRITE);
	build_step(b, NPUMEM_STEP_STAGED, "second");
	build_access(b, 2, NPUMEM_ACCESS_READ);
	build_access(b, 4, NPUMEM_ACCESS_WRITE);
	build_block(b, "tail");
	build_edge(b, 0, 1);
	build_carry(b, 0, 1);
	build_carry(b, 0, 2);
	build_edge(b, 1, NPUMEM_NONE);
	build_instance(b, 0);
	build_enter(b, 0, 0);
	build_instance(b, 1);
	build_enter(b, 1, 0);
	build_enter(b, 2, 0);
	build_place_here(b, 3, 8);
	build_place_here(b, 4, 0);
	build_placement_at(b, 4)->from = 1;
	build_placement_at(b, 1)->to = 0;
	build_plan_edge(b, 0, 1, 0);
	build_plan_edge(b, 1, NPUMEM_NONE, 1);
}

TEST(twins)
{
	struct npumem_verdict v;
	struct npuv_states *s;
	struct npuv_plan *plan;
	struct build b;

	twins(&b);
	plan = accept_plan(&b);
	/* q waits for both names of what it lies on, w of which it reads itself. */
	assert_int_equal(npuv_states_create(plan, &s), 0);
	assert_int_equal(npuv_states_cross(s, 0, &v), 0);
	assert_int_equal(npuv_states_submit(s, 1, &v), -EPERM);
	assert_int_equal(v.rule, NPUMEM_RULE_ENFORCE_WRITE);
	assert_int_equal(v.tensor, 4);
	assert_int_equal(v.other_tensor, 1);
	assert_int_equal(v.other_step, 0);
	assert_int_equal(npuv_states_submit(s, 0, &v), 0);
	assert_int_equal(npuv_states_submit(s, 1, &v), 0);
	npuv_states_destroy(s);
	free_plan(plan);
	build_free(&b);
	/* u is read once more, after q. */
	twins(&b);
	build_position_at(&b, 0)->index = 1;
	build_position_at(&b, 1)->index = 0;
	build_placement_at(&b, 1)->to = 1;
	build_placement_at(&b, 4)->from = 0;
	v = refuse_plan(&b, EINVAL, NPUMEM_RULE_V4_WRITE,
			"V4 write: step 1 'second' writes tensor 4 'q' to bytes [0, 8) of the "
			"arena, still needed by step 0 'first' which reads tile 1 of tensor 1 'u'");
	assert_int_equal(v.other_tensor, 1);
	/* A third name is the output of the next block. */
	twins(&b);
	build_carry(&b, 1, 3);
	refuse_plan(&b, EINVAL, NPUMEM_RULE_V6_EDGE,
		    "V6 edge: tensor 1 'u' bytes [0, 8) are placed up to position 0 only, but edge "
		    "1 of the plan, to the exit, needs them at position 1");
}

/* A block without steps passes everything on. */
TEST(empty_block)
{
	struct npumem_verdict v;
	struct npuv_states *s;
	struct npuv_plan *plan;
	struct build b;

	twins(&b);
	plan = accept_plan(&b);
	assert_int_equal(npuv_states_create(plan, &s), 0);
	assert_int_equal(npuv_states_submit(s, 0, &v), -EPERM);
	assert_int_equal(v.rule, NPUMEM_RULE_ENFORCE_EDGE);
	assert_int_equal(npuv_states_cross(s, 0, &v), 0);
	npuv_states_uncross(s, 0);
	assert_int_equal(s->block, 0);
	assert_int_equal(npuv_states_cross(s, 0, &v), 0);
	npuv_states_destroy(s);
	free_plan(plan);
	/* Its placements are at a position that is not its own. */
	build_placement_at(&b, 0)->to = 1;
	refuse_plan(&b, EINVAL, NPUMEM_RULE_V1_BOUNDS,
		    "V1 bounds: placement 0 of tensor 0 'h': its span is not within its block");
}

/* The last entry is of a part of its tensor, placed by itself. */
static void shrink_entry(struct build *b, uint64_t first, uint64_t length)
{
	struct npumem_entry *e = build_entry_at(b, b->entries.count - 1);

	e->first = first;
	e->length = length;
	build_placement_at(b, e->placement)->region = build_region(first, length);
}

/* State that begins in two parts with a gap, and ends as one: the second part has moved. */
TEST(state_in_parts)
{
	struct build b;

	build_init(&b);
	add_tensor(&b, NPUMEM_TENSOR_STATE, "s");
	add_tensor(&b, NPUMEM_TENSOR_OUTPUT, "y");
	add_step(&b, "use", 0, NPUMEM_NONE, 1);
	build_block(&b, "head");
	build_step(&b, 0, "renew");
	build_access(&b, 0, NPUMEM_ACCESS_WRITE);
	build_block(&b, "tail");
	build_edge(&b, 0, 1);
	build_edge(&b, 1, NPUMEM_NONE);
	build_instance(&b, 0);
	build_enter(&b, 0, 0);
	shrink_entry(&b, 0, 4);
	build_enter(&b, 0, 12);
	shrink_entry(&b, 4, 4);
	build_place_here(&b, 1, 16);
	build_instance(&b, 1);
	build_enter(&b, 1, 16);
	build_place_here(&b, 0, 0);
	build_plan_edge(&b, 0, 1, 0);
	build_plan_edge(&b, 1, NPUMEM_NONE, 1);
	refuse_plan_blob(
		&b, build_plan(&b), EINVAL, NPUMEM_RULE_V7_EXIT,
		"V7 exit: edge 1 of the plan, from block 1 of the plan (block 1 'tail') to the exit: state tensor 0 's' bytes "
		"[4, 8) do not end where they began");
	/* Without the gap it has not. */
	build_placement_at(&b, 1)->offset = 4;
	free_plan(accept_plan(&b));
	build_free(&b);
}

/* Of two halves one goes on along an edge, and the other one may be overwritten. */
TEST(half)
{
	struct build b;

	build_init(&b);
	build_tensor(&b, NPUMEM_TENSOR_INTERMEDIATE, 8, "a");
	build_tile(&b, 0, build_region(0, 4));
	build_tile(&b, 0, build_region(4, 4));
	build_whole(&b, build_tensor(&b, NPUMEM_TENSOR_OUTPUT, 4, "y"));
	build_step(&b, 0, "low");
	build_access(&b, 0, NPUMEM_ACCESS_WRITE);
	build_step(&b, 0, "high");
	build_access(&b, 1, NPUMEM_ACCESS_WRITE);
	build_block(&b, "head");
	add_step(&b, "out", 1, NPUMEM_NONE, 2);
	build_block(&b, "tail");
	build_edge(&b, 0, 1);
	build_edge(&b, 1, NPUMEM_NONE);
	build_instance(&b, 0);
	build_place_region(&b, 0, 0, 0, 0, build_region(0, 4));
	build_place_region(&b, 0, 1, 1, 0, build_region(4, 4));
	build_instance(&b, 1);
	build_enter(&b, 0, 0);
	shrink_entry(&b, 4, 4);
	build_place_here(&b, 1, 4);
	build_plan_edge(&b, 0, 1, 0);
	build_plan_edge(&b, 1, NPUMEM_NONE, 1);
	free_plan(accept_plan(&b));
	build_free(&b);
}
