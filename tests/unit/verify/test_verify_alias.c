// SPDX-License-Identifier: MIT
/* Aliases: bytes of another tensor by their own name. */
#include "test_verify.h"

#include <errno.h>
#include <stdlib.h>

#define V1 NPUMEM_RULE_V1_BOUNDS
#define V3 NPUMEM_RULE_V3_READ
#define V4 NPUMEM_RULE_V4_WRITE
#define V7 NPUMEM_RULE_V7_EXIT

enum { VIEW = Y + 1 };

/* chain() with a tensor "view" of bytes [2, 6) of a; tile 3 is all of it. */
static void viewed(struct build *b, uint32_t kind)
{
	chain(b);
	build_whole(b, build_tensor(b, kind, 4, "view"));
	build_tensor_at(b, VIEW)->flags = NPUMEM_TENSOR_FLAG_ALIAS;
	build_tensor_at(b, VIEW)->alias_of = A;
	build_tensor_at(b, VIEW)->alias_offset = 2;
}

/* Written through one name, read through another. */
TEST(names)
{
	const struct npuv_graph *g;
	struct npuv_range range;
	struct npuv_plan *plan;
	struct npuv_walk walk;
	struct build b;

	viewed(&b, NPUMEM_TENSOR_INTERMEDIATE);
	build_access_at(&b, 2)->tile = VIEW;
	plan = accept_plan(&b);
	g = plan->graph;
	assert_true(g->features == NPUMEM_FEATURE_ALIAS);
	/* x; of a what is read and what is not; y. None is of the view. */
	assert_int_equal(g->cell_count, 4);
	assert_int_equal(g->read_start[3] - g->read_start[2], 1);
	assert_int_equal(g->read_runs[g->read_start[2]].count, 1);
	assert_int_equal(g->cells[g->read_runs[g->read_start[2]].first].tensor, A);
	assert_int_equal(g->cells[g->read_runs[g->read_start[2]].first].writer, 1);
	npuv_walk_begin(&walk, plan, 1, 2);
	assert_true(npuv_walk_next(&walk, &range));
	assert_int_equal(range.arena, 10);
	assert_int_equal(range.length, 4);
	assert_int_equal(range.linear, 0);
	assert_int_equal(range.external, NPUMEM_NONE);
	assert_false(npuv_walk_next(&walk, &range));
	assert_int_equal(npuv_access_bytes(plan, 2), 4);
	free_plan(plan);
	build_free(&b);
	/* A name that says nothing of its bytes cuts no cell. */
	viewed(&b, NPUMEM_TENSOR_INTERMEDIATE);
	plan = accept_plan(&b);
	assert_int_equal(plan->graph->cell_count, 3);
	free_plan(plan);
	build_free(&b);
	/* Bytes that only the other name has. */
	viewed(&b, NPUMEM_TENSOR_INTERMEDIATE);
	build_access_at(&b, 1)->tile = VIEW;
	refuse_graph(&b, EINVAL, V3,
		     "V3 read: step 1 'mix' reads tile 1 of tensor 1 'a', whose bytes [0, 2) no "
		     "earlier step writes");
	/* The same bytes twice. */
	viewed(&b, NPUMEM_TENSOR_INTERMEDIATE);
	build_access(&b, VIEW, NPUMEM_ACCESS_WRITE);
	refuse_graph(&b, EINVAL, V4,
		     "V4 write: step 1 'mix' writes tile 3 of tensor 3 'view', whose bytes [2, 6) "
		     "step 0 'copy' writes too");
}

TEST(placement)
{
	struct npumem_verdict v;
	struct build b;

	viewed(&b, NPUMEM_TENSOR_INTERMEDIATE);
	build_place(&b, VIEW, 10);
	v = refuse_plan(&b, EINVAL, V1,
			"V1 bounds: placement 3 of tensor 3 'view': it is of an alias, whose bytes "
			"lie where the tensor is that it is an alias of");
	assert_int_equal(v.tensor, VIEW);
}

/* What an alias says of its bytes holds for them. */
TEST(output)
{
	struct npumem_verdict v;
	struct build b;

	viewed(&b, NPUMEM_TENSOR_OUTPUT);
	accept_build(&b);
	/* y over what is not the output's, over what is. */
	viewed(&b, NPUMEM_TENSOR_OUTPUT);
	build_step_at(&b, MIX)->flags = NPUMEM_STEP_STAGED;
	build_placement_at(&b, Y)->offset = 14;
	accept_build(&b);
	viewed(&b, NPUMEM_TENSOR_OUTPUT);
	build_step_at(&b, MIX)->flags = NPUMEM_STEP_STAGED;
	build_placement_at(&b, Y)->offset = 13;
	v = refuse_plan(
		&b, EINVAL, V4,
		"V4 write: step 1 'mix' writes tensor 2 'y' to bytes [13, 14) of the arena, "
		"where tensor 1 'a' must survive the exit");
	assert_int_equal(v.first, 13);
	assert_int_equal(v.length, 1);
	/* Never written: x is read in a's stead, and a is not. */
	viewed(&b, NPUMEM_TENSOR_OUTPUT);
	build_access_at(&b, 1)->tile = build_tile(&b, A, build_region(0, 3));
	build_access_at(&b, 2)->tile = X;
	v = refuse_graph(&b, EINVAL, V7,
			 "V7 exit: bytes [3, 6) of output tensor 3 'view' are never written");
	assert_int_equal(v.tensor, VIEW);
	/* An input that is an output by another name needs no write. */
	viewed(&b, NPUMEM_TENSOR_OUTPUT);
	build_tensor_at(&b, VIEW)->alias_of = X;
	accept_build(&b);
}

TEST(input)
{
	struct npumem_verdict v;
	struct build b;

	/* Half of a is an input, half is written. */
	viewed(&b, NPUMEM_TENSOR_INPUT);
	build_access_at(&b, 1)->tile = build_tile(&b, A, build_region(0, 2));
	build_access_at(&b, 2)->tile = build_tile(&b, A, build_region(0, 6));
	accept_build(&b);
	viewed(&b, NPUMEM_TENSOR_INPUT);
	v = refuse_graph(
		&b, EINVAL, V4,
		"V4 write: step 0 'copy' writes tile 1 of tensor 1 'a', whose bytes [2, 6) "
		"are those of tensor 3 'view', an input");
	assert_int_equal(v.step, COPY);
	assert_int_equal(v.tensor, A);
	assert_int_equal(v.other_tensor, VIEW);
	viewed(&b, NPUMEM_TENSOR_PARAMETER);
	refuse_graph(
		&b, EINVAL, V4,
		"V4 write: step 0 'copy' writes tile 1 of tensor 1 'a', whose bytes [2, 6) are "
		"those of tensor 3 'view', a parameter");
	/* An alias of an input is one, whatever it says. */
	viewed(&b, NPUMEM_TENSOR_OUTPUT);
	build_tensor_at(&b, VIEW)->alias_of = X;
	build_access(&b, VIEW, NPUMEM_ACCESS_UPDATE);
	refuse_graph(&b, EINVAL, V4,
		     "V4 write: step 1 'mix' writes tile 3 of tensor 3 'view', an input");
}

/* The state that is half of a tensor stays where it is; the other half may go. */
TEST(state)
{
	struct build b;

	viewed(&b, NPUMEM_TENSOR_STATE);
	accept_build(&b);
	/* a as it begins is at 24, what copy writes is at 8. */
	viewed(&b, NPUMEM_TENSOR_STATE);
	build_access(&b, VIEW, NPUMEM_ACCESS_UPDATE);
	build_access_at(&b, 2)->tile = X;
	accept_build(&b);
	viewed(&b, NPUMEM_TENSOR_STATE);
	build_placement_at(&b, A)->from = 1;
	build_position_at(&b, 0)->index = 1;
	build_position_at(&b, 1)->index = 0;
	build_access_at(&b, 2)->tile = X;
	build_place_region(&b, A, 0, 0, 24, build_region(0, 8));
	refuse_plan(&b, EINVAL, V7,
		    "V7 exit: state tensor 1 'a' bytes [2, 6) do not end where they began");
}

/* In several blocks: an output by another name must reach the exit. */
TEST(blocks)
{
	struct npumem_verdict v;
	struct build b;

	loop(&b);
	build_whole(&b, build_tensor(&b, NPUMEM_TENSOR_OUTPUT, 4, "view"));
	build_tensor_at(&b, 4)->flags = NPUMEM_TENSOR_FLAG_ALIAS;
	build_tensor_at(&b, 4)->alias_of = LH;
	accept_build(&b);
	loop(&b);
	build_whole(&b, build_tensor(&b, NPUMEM_TENSOR_OUTPUT, 4, "view"));
	build_tensor_at(&b, 4)->flags = NPUMEM_TENSOR_FLAG_ALIAS;
	build_tensor_at(&b, 4)->alias_of = LT;
	v = refuse_plan(&b, EINVAL, V7,
			"V7 exit: edge 5 of the plan, from block 3 of the plan (block 2 'tail') to "
			"the exit: bytes [0, 4) of tensor 4 'view', the value of tensor 2 't' are "
			"neither written by then nor in the entry state");
	assert_int_equal(v.tensor, 4);
	assert_int_equal(v.other_tensor, LT);
}
