// SPDX-License-Identifier: MIT
/*
 * Writes in place: over the bytes of a read at equal linear index, if that is
 * the last use of them.
 */
#include "test_verify.h"

#include <errno.h>
#include <stdlib.h>

#define V4 NPUMEM_RULE_V4_WRITE

/* chain() with y in place of a: both at 8. */
static void inplace(struct build *b)
{
	chain(b);
	build_access_at(b, 3)->inplace = 0;
	build_placement_at(b, Y)->offset = 8;
}

#define ITSELF(first, end)                                                       \
	"V4 write: step 1 'mix' writes tensor 2 'y' to bytes [" #first ", " #end \
	") of the arena, where it reads tile 1 of tensor 1 'a' itself and is not staged"

TEST(whole)
{
	struct npumem_verdict v;
	struct npuv_plan *plan;
	struct npuv_states *s;
	struct build b;

	inplace(&b);
	plan = accept_plan(&b);
	/* a is what y waits for. */
	assert_int_equal(npuv_states_create(plan, &s), 0);
	assert_int_equal(npuv_states_submit(s, 1, &v), -EPERM);
	assert_int_equal(v.rule, NPUMEM_RULE_ENFORCE_READ);
	assert_int_equal(npuv_states_submit(s, 0, &v), 0);
	assert_int_equal(npuv_states_submit(s, 1, &v), 0);
	npuv_states_destroy(s);
	free_plan(plan);
	/* Not if the step does not say so. */
	build_access_at(&b, 3)->inplace = NPUMEM_NONE;
	v = refuse_plan_blob(&b, build_plan(&b), EINVAL, V4, ITSELF(8, 16));
	assert_int_equal(v.step, MIX);
	assert_int_equal(v.other_tensor, A);
	assert_int_equal(v.first, 8);
	assert_int_equal(v.length, 8);
	/* A staged step needs not say it. */
	build_step_at(&b, MIX)->flags = NPUMEM_STEP_STAGED;
	accept_build(&b);
}

/* One byte further: byte i of y lies on byte i + 1 of a. */
TEST(displaced)
{
	struct npumem_verdict v;
	struct build b;

	inplace(&b);
	build_placement_at(&b, Y)->offset = 9;
	v = refuse_plan(&b, EINVAL, V4, ITSELF(9, 16));
	assert_int_equal(v.first, 9);
	assert_int_equal(v.length, 7);
	inplace(&b);
	build_placement_at(&b, Y)->offset = 7;
	build_placement_at(&b, X)->offset = 16;
	refuse_plan(&b, EINVAL, V4, ITSELF(8, 15));
}

/* The read has another use. */
TEST(needed)
{
	struct build b;

	/* By the same step, in another tile: it may be read at any time, */
	chain(&b);
	build_access(&b, build_whole(&b, A), NPUMEM_ACCESS_READ);
	build_access_at(&b, 3)->inplace = 0;
	build_placement_at(&b, Y)->offset = 8;
	refuse_plan(&b, EINVAL, V4,
		    "V4 write: step 1 'mix' writes tensor 2 'y' to bytes [8, 16) of the arena, "
		    "where it reads tile 3 of tensor 1 'a' itself and is not staged");
	/* by a later one, */
	inplace(&b);
	build_step(&b, 0, "late");
	build_access(&b, A, NPUMEM_ACCESS_READ);
	b.blocks.count = b.plan_blocks.count = b.positions.count = 0;
	build_finish(&b);
	build_placement_at(&b, A)->to = 2;
	build_placement_at(&b, Y)->to = 2;
	refuse_plan(&b, EINVAL, V4,
		    "V4 write: step 1 'mix' writes tensor 2 'y' to bytes [8, 16) of the arena, "
		    "still needed by step 2 'late' which reads tile 1 of tensor 1 'a'");
	/* by the exit. */
	inplace(&b);
	build_tensor_at(&b, A)->kind = NPUMEM_TENSOR_OUTPUT;
	refuse_plan(&b, EINVAL, V4, ITSELF(8, 16));
}

/* x * x: all reads of one tile by the step are as one, if they are its last uses. */
TEST(square)
{
	struct npumem_verdict v;
	struct npuv_plan *plan;
	struct npuv_states *s;
	struct build b;

	inplace(&b);
	build_access(&b, A, NPUMEM_ACCESS_READ);
	build_access(&b, A, NPUMEM_ACCESS_READ);
	plan = accept_plan(&b);
	assert_int_equal(npuv_states_create(plan, &s), 0);
	assert_int_equal(npuv_states_submit(s, 0, &v), 0);
	assert_int_equal(npuv_states_submit(s, 1, &v), 0);
	npuv_states_destroy(s);
	free_plan(plan);
	/* Displaced it is as it was, */
	build_placement_at(&b, Y)->offset = 9;
	refuse_plan_blob(&b, build_plan(&b), EINVAL, V4, ITSELF(9, 16));
	build_placement_at(&b, Y)->offset = 8;
	/* and so it is if a read of another tile is among them, */
	build_access_at(&b, 4)->tile = build_tile(&b, A, build_region(0, 4));
	refuse_plan(&b, EINVAL, V4,
		    "V4 write: step 1 'mix' writes tensor 2 'y' to bytes [8, 12) of the arena, "
		    "where it reads tile 1 of tensor 1 'a' itself and is not staged");
	/* or a later step reads it once more. */
	inplace(&b);
	build_access(&b, A, NPUMEM_ACCESS_READ);
	build_step(&b, 0, "late");
	build_access(&b, A, NPUMEM_ACCESS_READ);
	b.blocks.count = b.plan_blocks.count = b.positions.count = 0;
	build_finish(&b);
	build_placement_at(&b, A)->to = 2;
	build_placement_at(&b, Y)->to = 2;
	refuse_plan(&b, EINVAL, V4,
		    "V4 write: step 1 'mix' writes tensor 2 'y' to bytes [8, 16) of the arena, "
		    "still needed by step 2 'late' which reads tile 1 of tensor 1 'a'");
}

/* Another read of the step than the one that is named. */
TEST(other)
{
	struct build b;

	chain(&b);
	build_access(&b, X, NPUMEM_ACCESS_READ);
	build_access_at(&b, 3)->inplace = 2;
	build_placement_at(&b, Y)->offset = 8;
	refuse_plan(&b, EINVAL, V4, ITSELF(8, 16));
	chain(&b);
	build_access(&b, X, NPUMEM_ACCESS_READ);
	build_access_at(&b, 3)->inplace = 2;
	build_placement_at(&b, Y)->offset = 0;
	accept_build(&b);
}

/* Strided tiles: equal linear index is not an equal place in the tensor. */
TEST(strided)
{
	struct build b;

	/* y is 4 bytes at 8; of a, every other byte is read: only the first ones meet. */
	inplace(&b);
	build_tensor_at(&b, Y)->size = 4;
	build_tile_at(&b, Y)->region.length = 4;
	build_placement_at(&b, Y)->region.length = 4;
	build_access_at(&b, 2)->tile = build_tile(&b, A, build_strided(0, 1, 4, 2));
	refuse_plan(&b, EINVAL, V4,
		    "V4 write: step 1 'mix' writes tensor 2 'y' to bytes [10, 11) of the arena, "
		    "where it reads tile 3 of tensor 1 'a' itself and is not staged");
	/* y placed with the same strides: bytes 8, 10, 12, 14. */
	inplace(&b);
	build_tensor_at(&b, Y)->size = 4;
	build_tile_at(&b, Y)->region.length = 4;
	build_placement_at(&b, Y)->region = build_strided(0, 1, 4, 1);
	build_placement_at(&b, Y)->stride[0] = 2;
	build_access_at(&b, 2)->tile = build_tile(&b, A, build_strided(0, 1, 4, 2));
	accept_build(&b);
	/* Halves swapped: bytes 0 to 3 of y on bytes 4 to 7 of a. */
	inplace(&b);
	build_placement_at(&b, Y)->region.length = 4;
	build_placement_at(&b, Y)->offset = 12;
	build_place_region(&b, Y, 0, 1, 8, build_region(4, 4));
	refuse_plan(&b, EINVAL, V4, ITSELF(12, 16));
}

/* An owner of bytes that is not the one read: an entry state with two names. */
TEST(twins)
{
	struct build b;

	build_init(&b);
	add_tensor(&b, NPUMEM_TENSOR_INPUT, "h");
	add_tensor(&b, NPUMEM_TENSOR_INTERMEDIATE, "u");
	add_tensor(&b, NPUMEM_TENSOR_OUTPUT, "w");
	add_tensor(&b, NPUMEM_TENSOR_OUTPUT, "p");
	build_block(&b, "head");
	add_step(&b, "relu", 1, NPUMEM_NONE, 3);
	build_access_at(&b, 1)->inplace = 0;
	build_block(&b, "tail");
	build_edge(&b, 0, 1);
	build_carry(&b, 0, 1);
	build_carry(&b, 0, 2);
	build_edge(&b, 1, NPUMEM_NONE);
	build_instance(&b, 0);
	build_enter(&b, 0, 0);
	build_instance(&b, 1);
	build_enter(&b, 1, 0);
	build_enter(&b, 2, 0);
	build_place_here(&b, 3, 0);
	build_plan_edge(&b, 0, 1, 0);
	build_plan_edge(&b, 1, NPUMEM_NONE, 1);
	refuse_plan_blob(
		&b, build_plan(&b), EINVAL, V4,
		"V4 write: step 0 'relu' writes tensor 3 'p' to bytes [0, 8) of the arena, "
		"where tensor 2 'w' must survive for edge 1 of the plan, to the exit");
	/* If nobody asks for w any more, u alone is written over. */
	build_tensor_at(&b, 2)->kind = NPUMEM_TENSOR_INTERMEDIATE;
	accept_build(&b);
}
