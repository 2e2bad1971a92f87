// SPDX-License-Identifier: MIT
/*
 * Structure of graphs of several blocks: carries, and ways from block 0 to the
 * exit; which cells blocks have.
 */
#include "test_verify.h"

#include <errno.h>
#include <stdlib.h>

#define FORMAT NPUMEM_RULE_FORMAT

/* A loop whose graph is spoilt. */
#define REFUSE_FLOW(spoil, text)                            \
	do {                                                \
		loop(&b);                                   \
		spoil;                                      \
		v = refuse_graph(&b, EINVAL, FORMAT, text); \
	} while (0)

static struct npumem_carry *carry(struct build *b)
{
	return build_carry_at(b, 0);
}

TEST(carries)
{
	struct npumem_verdict v;
	struct build b;

	REFUSE_FLOW(
		build_tensor_at(&b, LT)->size = 9,
		"format: carry 0, from tensor 2 't' to tensor 1 'h': its tensors differ in size");
	assert_int_equal(v.tensor, LH);
	assert_int_equal(v.other_tensor, LT);
	REFUSE_FLOW(
		carry(&b)->to = build_tensor(&b, NPUMEM_TENSOR_INTERMEDIATE, 8, NULL);
		build_tensor_at(&b, 4)->flags = NPUMEM_TENSOR_FLAG_ALIAS;
		build_tensor_at(&b, 4)->alias_of = LH,
		"format: carry 0, from tensor 2 't' to tensor 4: one of its tensors is an alias");
	REFUSE_FLOW(
		carry(&b)->from = build_tensor(&b, NPUMEM_TENSOR_INTERMEDIATE, 8, NULL);
		build_tensor_at(&b, 4)->flags = NPUMEM_TENSOR_FLAG_ALIAS;
		build_tensor_at(&b, 4)->alias_of = LT,
		"format: carry 0, from tensor 4 to tensor 1 'h': one of its tensors is an alias");
	REFUSE_FLOW(carry(&b)->to = LX,
		    "format: carry 0, from tensor 2 't' to tensor 0 'x': an input or a parameter "
		    "never takes on another value");
	REFUSE_FLOW(build_tensor_at(&b, LX)->kind = NPUMEM_TENSOR_PARAMETER;
		    carry(&b)->to = LX,
		    "format: carry 0, from tensor 2 't' to tensor 0 'x': an input or a parameter "
		    "never takes on another value");
	REFUSE_FLOW(build_tensor_at(&b, LT)->flags = NPUMEM_TENSOR_FLAG_EXTERNAL,
		    "format: carry 0, from tensor 2 't' to tensor 1 'h': it would need a copy, one "
		    "of its tensors is external");
	REFUSE_FLOW(build_tensor_at(&b, LH)->flags = NPUMEM_TENSOR_FLAG_EXTERNAL,
		    "format: carry 0, from tensor 2 't' to tensor 1 'h': it would need a copy, one "
		    "of its tensors is external");
	/* Two values for h along one edge; each edge by itself may have one. */
	REFUSE_FLOW(build_edge_at(&b, 2)->carry_count = 2; build_carry(&b, LX, LH);
		    build_edge_at(&b, 3)->carry_count = 0;
		    build_edge_at(&b, 3)->first_carry = 3,
		    "format: edge 2: carries 1 and 2 are both to tensor 1 'h'");
	assert_int_equal(v.tensor, LH);
	assert_int_equal(v.length, sizeof(struct npumem_carry));
}

TEST(reach)
{
	struct npumem_verdict v;
	struct build b;

	REFUSE_FLOW(build_edge_at(&b, 0)->to = 2,
		    "format: block 1 'body': it cannot be reached from block 0");
	assert_int_equal(v.length, sizeof(struct npumem_block));
	/* Several blocks without edges are no row of blocks. */
	chain(&b);
	build_block_at(&b, 0)->step_count = 1;
	build_add(&b.blocks, 1);
	*build_block_at(&b, 1) = (struct npumem_block){ 1, 1, 0, NPUMEM_NONE };
	refuse_graph(&b, EINVAL, FORMAT, "format: block 1: it cannot be reached from block 0");
	/* A loop that nobody leaves. */
	REFUSE_FLOW(build_edge_at(&b, 3)->to = 1,
		    "format: block 0 'head': no exit can be reached from it, it is a loop without "
		    "exit");
	loop(&b);
	build_block(&b, "spin");
	build_edge(&b, 0, 3);
	build_edge(&b, 3, 3);
	refuse_graph(&b, EINVAL, FORMAT,
		     "format: block 3 'spin': no exit can be reached from it, it is a loop without "
		     "exit");
	/* One block that is a loop. */
	chain(&b);
	build_edge(&b, 0, 0);
	refuse_graph(&b, EINVAL, FORMAT,
		     "format: block 0: no exit can be reached from it, it is a loop without exit");
}

/* Several edges between two blocks are several ways. */
TEST(twin_edges)
{
	struct build b;

	loop(&b);
	build_edge(&b, 1, 2);
	build_carry(&b, LH, LH);
	build_plan_edge(&b, BODY_A, TAIL_B, 4);
	build_plan_edge(&b, BODY_B, TAIL_A, 4);
	free_plan(accept_plan(&b));
	build_free(&b);
}

TEST(cells)
{
	const struct npuv_graph *g;
	struct npuv_plan *plan;
	struct build b;

	loop(&b);
	plan = accept_plan(&b);
	g = plan->graph;
	assert_true(g->features == NPUMEM_FEATURE_BLOCKS);
	/* Each block has two: what it reads (its own or without writer), and what it writes. */
	assert_int_equal(g->cell_count, 6);
	assert_int_equal(g->cell_start[1], 2);
	assert_int_equal(g->cell_start[2], 4);
	assert_int_equal(g->cell_start[3], 6);
	assert_int_equal(g->cells[2].tensor, LH);
	assert_int_equal(g->cells[2].writer, NPUMEM_NONE);
	assert_int_equal(g->cells[2].reads, 1);
	assert_int_equal(g->cells[3].tensor, LT);
	assert_int_equal(g->cells[3].writer, 3);
	assert_int_equal(g->cells[5].survives, 0);
	/* t has to last for the next iteration, y for the exit. */
	assert_int_equal(plan->uses[npuv_plan_cell(plan, BODY_A, 3)], 1);
	assert_int_equal(plan->uses[npuv_plan_cell(plan, BODY_B, 2)], 1);
	assert_int_equal(plan->uses[npuv_plan_cell(plan, TAIL_B, 5)], 1);
	free_plan(plan);
	build_free(&b);
}
