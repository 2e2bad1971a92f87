// SPDX-License-Identifier: MIT
/* External tensors: no place in the arena, but lives as all others. */
#include "test_verify.h"

#include <errno.h>
#include <stdlib.h>

#define V1 NPUMEM_RULE_V1_BOUNDS
#define V4 NPUMEM_RULE_V4_WRITE
#define V6 NPUMEM_RULE_V6_EDGE
#define V7 NPUMEM_RULE_V7_EXIT

static void external(struct build *b, uint32_t tensor)
{
	build_tensor_at(b, tensor)->flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
}

/* chain() with x and y external, a at 0. */
static void outside(struct build *b)
{
	chain(b);
	external(b, X);
	external(b, Y);
	*build_placement_at(b, 0) = *build_placement_at(b, A);
	b->placements.count = 1;
}

TEST(ranges)
{
	struct npuv_range range;
	struct npuv_plan *plan;
	struct npuv_walk walk;
	struct build b;

	outside(&b);
	build_access_at(&b, 3)->tile = build_tile(&b, Y, build_strided(0, 2, 2, 6));
	build_access(&b, build_tile(&b, Y, build_region(2, 4)), NPUMEM_ACCESS_WRITE);
	plan = accept_plan(&b);
	assert_true(plan->graph->features == NPUMEM_FEATURE_EXTERNAL);
	npuv_walk_begin(&walk, plan, 0, 0);
	assert_true(npuv_walk_next(&walk, &range));
	assert_int_equal(range.external, X);
	assert_int_equal(range.arena, 0);
	assert_int_equal(range.length, 8);
	assert_false(npuv_walk_next(&walk, &range));
	npuv_walk_begin(&walk, plan, 0, 1);
	assert_true(npuv_walk_next(&walk, &range));
	assert_int_equal(range.external, NPUMEM_NONE);
	assert_int_equal(range.arena, 8);
	npuv_walk_begin(&walk, plan, 1, 3);
	assert_true(npuv_walk_next(&walk, &range));
	assert_int_equal(range.external, Y);
	assert_int_equal(range.arena, 0);
	assert_int_equal(range.length, 2);
	assert_true(npuv_walk_next(&walk, &range));
	assert_int_equal(range.external, Y);
	assert_int_equal(range.arena, 6);
	assert_int_equal(range.length, 2);
	assert_int_equal(range.linear, 2);
	assert_false(npuv_walk_next(&walk, &range));
	assert_int_equal(npuv_access_bytes(plan, 3), 4);
	free_plan(plan);
	build_free(&b);
}

TEST(placement)
{
	struct npumem_verdict v;
	struct build b;

	chain(&b);
	external(&b, A);
	v = refuse_plan(
		&b, EINVAL, V1,
		"V1 bounds: placement 1 of tensor 1 'a': it is of an external tensor, which "
		"is not in the arena");
	assert_int_equal(v.tensor, A);
}

/* An update of what others still read has to wait, as in the arena. */
TEST(versions)
{
	struct npumem_verdict v;
	struct npuv_states *s;
	struct npuv_plan *plan;
	struct build b;

	outside(&b);
	build_tensor_at(&b, X)->kind = NPUMEM_TENSOR_STATE;
	build_step(&b, 0, "renew");
	build_access(&b, X, NPUMEM_ACCESS_UPDATE);
	b.blocks.count = b.plan_blocks.count = b.positions.count = 0;
	build_finish(&b);
	plan = accept_plan(&b);
	assert_int_equal(npuv_states_create(plan, &s), 0);
	assert_int_equal(npuv_states_submit(s, 2, &v), -EPERM);
	assert_int_equal(v.rule, NPUMEM_RULE_ENFORCE_WRITE);
	assert_int_equal(v.tensor, X);
	assert_int_equal(v.other_tensor, X);
	assert_int_equal(v.first, 0);
	assert_int_equal(v.length, 8);
	assert_int_equal(npuv_states_submit(s, 0, &v), 0);
	assert_int_equal(npuv_states_submit(s, 2, &v), 0);
	npuv_states_destroy(s);
	free_plan(plan);
	/* The plan itself must not do it either. */
	build_position_at(&b, 0)->index = 2;
	build_position_at(&b, 2)->index = 0;
	build_position_at(&b, 1)->index = 0;
	build_position_at(&b, 2)->index = 1;
	build_placement_at(&b, 0)->from = 1;
	build_placement_at(&b, 0)->to = 2;
	v = refuse_plan(
		&b, EINVAL, V4,
		"V4 write: step 2 'renew' writes tensor 0 'x' to bytes [0, 8) of its "
		"binding, still needed by step 0 'copy' which reads tile 0 of tensor 0 'x'");
	assert_int_equal(v.other_step, COPY);
	assert_int_equal(v.first, 0);
	assert_int_equal(v.length, 8);
}

/* Beyond the arena there is no end of addresses. */
TEST(too_large)
{
	struct build b;

	chain(&b);
	build_tensor(&b, NPUMEM_TENSOR_INPUT, 1ull << 63, NULL);
	external(&b, 3);
	accept_build(&b);
	chain(&b);
	build_tensor(&b, NPUMEM_TENSOR_INPUT, 1ull << 63, NULL);
	build_tensor(&b, NPUMEM_TENSOR_INPUT, 1ull << 63, NULL);
	external(&b, 3);
	external(&b, 4);
	refuse_plan(&b, E2BIG, NPUMEM_RULE_NONE,
		    "limit: external tensors have more than 2^64 bytes together, at tensor 4");
}

TEST(blocks)
{
	struct npumem_entry *e;
	struct npumem_verdict v;
	struct build b;
	uint32_t i;

	/* An input, bound for the whole run. */
	loop(&b);
	external(&b, LX);
	build_placement_at(&b, 0)->tensor = LT;
	build_entry_at(&b, 0)->placement = NPUMEM_NONE;
	v = refuse_plan_blob(&b, build_plan(&b), EINVAL, V6,
			     "V6 edge: entry 0 of block 0 of the plan (block 0 'head'), tensor 0 "
			     "'x': an external tensor has no placement and no flags");
	assert_int_equal(v.tensor, LX);
	build_entry_at(&b, 0)->flags = 0;
	free_plan(accept_plan(&b));
	/* One that is listed is as good as one that is not. */
	for (i = 0; i < 4; i++)
		*build_entry_at(&b, i) = *build_entry_at(&b, i + 1);
	b.entries.count = 4;
	build_plan_block_at(&b, 0)->entry_count = 0;
	for (i = 1; i < 5; i++)
		build_plan_block_at(&b, i)->first_entry--;
	accept_build(&b);

	/* What is written in one block and read in another has to be listed. */
	loop(&b);
	build_tensor_at(&b, LY)->kind = NPUMEM_TENSOR_INTERMEDIATE;
	external(&b, LY);
	build_access_at(&b, 5)->tile = LT;
	build_access_at(&b, 4)->tile = LY;
	for (i = 0; i < b.placements.count; i++)
		if (build_placement_at(&b, i)->tensor == LY) {
			build_placement_at(&b, i)->tensor = LT;
			build_placement_at(&b, i)->offset = 0;
		}
	v = refuse_plan_blob(
		&b, build_plan(&b), EINVAL, NPUMEM_RULE_V3_READ,
		"V3 read: step 2 'out' reads tile 3 of tensor 3 'y', whose bytes [0, 8) "
		"are not in the entry state of block 3 of the plan (block 2 'tail')");
	assert_int_equal(v.tensor, LY);
	e = build_entry_at(&b, 3);
	e->tensor = LY;
	e->placement = NPUMEM_NONE;
	e->flags = 0;
	/* And to be there, on every way. */
	v = refuse_plan(&b, EINVAL, V6,
			"V6 edge: edge 2 of the plan, from block 1 of the plan (block 1 'body') to "
			"block 3 of the plan (block 2 'tail'): bytes [0, 8) of tensor 3 'y' are "
			"neither written by then nor in the entry state");
	assert_int_equal(v.tensor, LY);

	/* An output has to be, too. */
	loop(&b);
	build_tensor(&b, NPUMEM_TENSOR_OUTPUT, 8, "z");
	external(&b, 4);
	refuse_plan(&b, EINVAL, V7,
		    "V7 exit: edge 5 of the plan, from block 3 of the plan (block 2 'tail') to the "
		    "exit: bytes [0, 8) of tensor 4 'z' are neither written by then nor in the "
		    "entry state");
}
