// SPDX-License-Identifier: MIT
/* Rules V1 to V4 and V7, one by one. */
#include "test_verify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT		  NPUMEM_RULE_FORMAT
#define V1		  NPUMEM_RULE_V1_BOUNDS
#define V2		  NPUMEM_RULE_V2_ORDER
#define V3		  NPUMEM_RULE_V3_READ
#define V4		  NPUMEM_RULE_V4_WRITE
#define V7		  NPUMEM_RULE_V7_EXIT
#define INFO(spoil, flaw) REFUSE_PLAN(spoil, EINVAL, FORMAT, "format: info: " flaw)
#define PLACEMENT(spoil, flaw)                                                       \
	REFUSE_PLAN(struct npumem_placement *p = build_placement_at(&b, A); (void)p; \
		    spoil, EINVAL, V1, "V1 bounds: placement 1 of tensor 1 'a': " flaw)
#define POSITION(spoil, flaw)                                             \
	REFUSE_PLAN(struct npumem_position *p = build_position_at(&b, 1); \
		    spoil, EINVAL, V2, "V2 order: position 1, step 1 'mix': " flaw)

TEST(chain)
{
	struct build b;

	chain(&b);
	accept_build(&b);
}

TEST(info)
{
	struct build b;

	INFO(b.info.alignment = 0, "alignment is not a power of two");
	INFO(b.info.alignment = 12, "alignment is not a power of two");
	INFO(b.info.status = 4, "status is unknown");
	INFO(b.info.status = NPUMEM_PLAN_STATUS_INFEASIBLE,
	     "status is INFEASIBLE, there is no plan");
	INFO(b.info.host_size = 8, "host_size is not zero, but nothing is moved to host memory");
	INFO(memset(b.info.planner, 'p', 32), "planner is not terminated and padded with NULs");
	INFO(b.info.planner[30] = 'p', "planner is not terminated and padded with NULs");
}

/* The info section moved to the end of the blob, count records of it. */
static void refuse_infos(uint32_t count, const char *text)
{
	struct npumem_blob_section *section;
	struct build_blob blob, longer;
	struct build b;
	uint32_t i;

	chain(&b);
	blob = build_plan(&b);
	longer.size = blob.size + count * sizeof(b.info);
	longer.data = calloc(1, longer.size);
	memcpy(longer.data, blob.data, blob.size);
	((struct npumem_blob_header *)longer.data)->total_size = longer.size;
	section = build_section(longer, NPUMEM_PLAN_SECTION_INFO);
	memset((char *)longer.data + section->offset, 0, sizeof(b.info));
	section->offset = blob.size;
	section->count = count;
	for (i = 0; i < count; i++)
		memcpy((char *)longer.data + blob.size + i * sizeof(b.info), &b.info,
		       sizeof(b.info));
	refuse_plan_blob(&b, longer, EINVAL, FORMAT, text);
	free(blob.data);
	build_free(&b);
}

TEST(number_of_infos)
{
	refuse_infos(0, "format: section info is empty");
	refuse_infos(2, "format: info: it has more than one record");
}

TEST(blocks)
{
	struct build b;

	REFUSE_PLAN(build_add(&b.plan_blocks, 1), EINVAL, V2,
		    "V2 order: plan has 2 blocks, its graph has 1 and no loop");
#define BLOCK(spoil)                                                                       \
	REFUSE_PLAN(build_plan_block_at(&b, 0)->spoil, EINVAL, V2,                         \
		    "V2 order: block 0 of the plan is not the whole schedule of block 0, " \
		    "without entries")
	BLOCK(block = 1);
	BLOCK(first_position = 1);
	BLOCK(position_count = 1);
	BLOCK(position_count = 3);
	BLOCK(first_entry = 1);
	BLOCK(entry_count = 1);
	BLOCK(pad = 1);
}

TEST(edges)
{
	const struct npumem_plan_edge exit_edge = { 0, NPUMEM_NONE, NPUMEM_NONE, 0 };
	struct build b;

	chain(&b);
	*(struct npumem_plan_edge *)build_add(&b.plan_edges, 1) = exit_edge;
	accept_build(&b);
#define EDGE(spoil)                                                                           \
	REFUSE_PLAN(struct npumem_plan_edge *e = build_add(&b.plan_edges, 1); *e = exit_edge; \
		    spoil, EINVAL, NPUMEM_RULE_V6_EDGE,                                       \
		    "V6 edge: edge 0 of the plan is not the one from block 0 to the exit")
	EDGE(e->from = 1);
	EDGE(e->to = 0);
	EDGE(e->edge = 0);
	EDGE(e->pad = 1);
	EDGE(build_add(&b.plan_edges, 1));
}

TEST(schedule)
{
	struct npumem_verdict v;
	struct build b;

	POSITION(p->placement = 0, "fields of a transfer are not empty");
	POSITION(p->pad = 1, "fields of a transfer are not empty");
	POSITION(p->first = 1, "fields of a transfer are not empty");
	POSITION(p->length = 1, "fields of a transfer are not empty");
	POSITION(p->host_offset = 1, "fields of a transfer are not empty");
	REFUSE_PLAN(build_position_at(&b, 1)->kind = 6, EINVAL, V2,
		    "V2 order: position 1: its kind is unknown");
	REFUSE_PLAN(build_position_at(&b, 1)->index = 2, EINVAL, V2,
		    "V2 order: position 1: its step is not there");
	REFUSE_PLAN(build_position_at(&b, 1)->index = COPY, EINVAL, V2,
		    "V2 order: position 1, step 0 'copy': the step stands at an earlier one too");
	chain(&b);
	b.positions.count = 1;
	build_plan_block_at(&b, 0)->position_count = 1;
	v = refuse_plan(&b, EINVAL, V2, "V2 order: step 1 'mix' is not in the schedule");
	assert_int_equal(v.step, MIX);
	assert_int_equal(v.position, NPUMEM_NONE);
}

TEST(v1)
{
	struct npumem_verdict v;
	struct build b;

	REFUSE_PLAN(build_placement_at(&b, A)->tensor = 3, EINVAL, V1,
		    "V1 bounds: placement 1: tensor 3 is not there");
	PLACEMENT(p->block = 1, "its block is not in the plan");
	PLACEMENT(p->from = 1; p->to = 0, "its span is not within the schedule");
	PLACEMENT(p->to = 2, "its span is not within the schedule");
	PLACEMENT(p->flags = 1, "it has unknown flags");
	PLACEMENT(p->region.length = 9, "it ends beyond the tensor");
	PLACEMENT(p->region.count[0] = 0, "a count is zero");
	PLACEMENT(p->stride[0] = 8, "an arena stride is not zero where the count is 1");
	PLACEMENT(p->ring = 2, "its ring has more slots than dimension 2 repetitions");
	PLACEMENT(build_tensor_at(&b, A)->align = 16, "its offset is not a multiple of the "
						      "tensor's align");
	PLACEMENT(p->offset = 17, "it ends beyond the arena");
	PLACEMENT(p->offset = ~0ull, "it ends beyond the arena");
	PLACEMENT(p->region = build_strided(0, 4, 2, 4);
		  p->stride[0] = 13, "it ends beyond the arena");
	PLACEMENT(p->region = build_strided(0, 4, 2, 4);
		  p->stride[0] = ~0ull, "it ends beyond the arena");
	chain(&b);
	b.info.arena_size = 15;
	build_placement_at(&b, Y)->offset = 0;
	v = refuse_plan(&b, EINVAL, V1,
			"V1 bounds: placement 1 of tensor 1 'a': it ends beyond the arena");
	assert_int_equal(v.tensor, A);
	assert_int_equal(v.first, 8);
	assert_int_equal(v.length, 8);
	/* To the last byte. */
	chain(&b);
	b.info.arena_size = 24;
	accept_build(&b);
}

TEST(v1_fixed)
{
	struct build b;
	struct npumem_tensor *t;

#define FIXED(spoil)                                                               \
	PLACEMENT(t = build_tensor_at(&b, A); t->flags = NPUMEM_TENSOR_FLAG_FIXED; \
		  t->fixed_offset = 8; spoil, "it is not at the tensor's fixed offset")
	FIXED(t->fixed_offset = 9);
	/* Pieces: at the place that the whole would give them. */
	FIXED(p->region = build_region(1, 7));
	FIXED(p->region = build_strided(0, 2, 4, 2); p->stride[0] = 4);
	FIXED(p->region.length = 4; p->region.count[2] = 2; p->region.stride[2] = 4;
	      p->stride[2] = 4; p->ring = 1);
	chain(&b);
	t = build_tensor_at(&b, A);
	t->flags = NPUMEM_TENSOR_FLAG_FIXED;
	t->fixed_offset = 8;
	accept_build(&b);
}

TEST(v3_order)
{
	struct npumem_verdict v;
	struct build b;

	chain(&b);
	build_position_at(&b, 0)->index = MIX;
	build_position_at(&b, 1)->index = COPY;
	v = refuse_plan(&b, EINVAL, V3,
			"V3 read: step 1 'mix' reads tile 1 of tensor 1 'a' before step 0 'copy' "
			"writes it");
	assert_int_equal(v.position, 0);
	assert_int_equal(v.step, MIX);
	assert_int_equal(v.tile, A);
	assert_int_equal(v.tensor, A);
	assert_int_equal(v.other_step, COPY);
	assert_int_equal(v.other_tile, A);
	assert_int_equal(v.other_tensor, A);
}

TEST(v3_placement)
{
	struct npumem_verdict v;
	struct build b;

	REFUSE_PLAN(build_placement_at(&b, A)->from = 1, EINVAL, V3,
		    "V3 read: tensor 1 'a' bytes [0, 8) have no placement at position 0, where "
		    "step 0 'copy' writes them");
	REFUSE_PLAN(build_placement_at(&b, A)->region = build_region(0, 6), EINVAL, V3,
		    "V3 read: tensor 1 'a' bytes [6, 8) have no placement at position 0, where "
		    "step 0 'copy' writes them");
	REFUSE_PLAN(b.placements.count = 2, EINVAL, V3,
		    "V3 read: tensor 2 'y' bytes [0, 8) have no placement at position 1, where "
		    "step 1 'mix' writes them");
	REFUSE_PLAN(build_placement_at(&b, X)->from = 1;
		    build_placement_at(&b, X)->to = 1, EINVAL, V3,
		    "V3 read: tensor 0 'x' bytes [0, 8) have no placement at position 0, where "
		    "the schedule begins");
	/* Two places at once: which one is written? */
	REFUSE_PLAN(build_place(&b, A, 24), EINVAL, V3,
		    "V3 read: tensor 1 'a' bytes [0, 8) are in both placement 1 and placement 3");
	/* Half of it is in two places, even if one begins later. */
	REFUSE_PLAN(build_place_region(&b, A, 1, 1, 24, build_region(4, 4)), EINVAL, V3,
		    "V3 read: tensor 1 'a' bytes [4, 8) are in both placement 1 and placement 3");
	/* Bytes do not move by themselves. */
	REFUSE_PLAN(build_placement_at(&b, A)->to = 0;
		    build_place_region(&b, A, 1, 1, 24, build_region(0, 8)), EINVAL, V3,
		    "V3 read: tensor 1 'a' bytes [0, 8) are placed up to position 0 only, but "
		    "step 1 'mix' reads tile 1 of them at position 1");
	chain(&b);
	build_placement_at(&b, A)->to = 0;
	v = refuse_plan(&b, EINVAL, V3,
			"V3 read: tensor 1 'a' bytes [0, 8) are placed up to position 0 only, but "
			"step 1 'mix' reads tile 1 of them at position 1");
	assert_int_equal(v.step, MIX);
	assert_int_equal(v.position, 1);
	assert_int_equal(v.tensor, A);
	assert_int_equal(v.tile, A);
	assert_int_equal(v.first, 8);
	assert_int_equal(v.length, 8);
}

/* What need not be placed, and what may be. */
TEST(unplaced)
{
	struct build b;

	/* A parameter outside the arena, */
	chain(&b);
	build_tensor_at(&b, X)->kind = NPUMEM_TENSOR_PARAMETER;
	build_placement_at(&b, X)->tensor = A;
	build_placement_at(&b, X)->offset = 8;
	b.placements.count = 3;
	*build_placement_at(&b, A) = *build_placement_at(&b, Y);
	b.placements.count = 2;
	accept_build(&b);
	/* but if at all, then all that is read of it. */
	REFUSE_PLAN(build_tensor_at(&b, X)->kind = NPUMEM_TENSOR_PARAMETER;
		    build_placement_at(&b, X)->region.length = 4, EINVAL, V3,
		    "V3 read: tensor 0 'x' bytes [4, 8) have no placement at position 0, where "
		    "the schedule begins");
	/* Bytes of an input that nobody reads. */
	chain(&b);
	build_tile_at(&b, X)->region.length = 4;
	build_placement_at(&b, X)->region.length = 4;
	accept_build(&b);
	/* A tensor that nobody touches. */
	chain(&b);
	build_tensor(&b, NPUMEM_TENSOR_INTERMEDIATE, 8, "unused");
	build_tensor(&b, NPUMEM_TENSOR_INPUT, 8, "unread");
	accept_build(&b);
	/* A state must be somewhere. */
	REFUSE_PLAN(build_tensor(&b, NPUMEM_TENSOR_STATE, 8, "s"), EINVAL, V3,
		    "V3 read: tensor 3 's' bytes [0, 8) have no placement at position 0, where "
		    "the schedule begins");
	/* Placements that nobody uses do no harm, wherever they are. */
	chain(&b);
	build_place(&b, build_tensor(&b, NPUMEM_TENSOR_INTERMEDIATE, 8, "unused"), 0);
	accept_build(&b);
}

TEST(v4_live)
{
	struct npumem_verdict v;
	struct build b;

	/* x is still needed by a third step. */
	chain(&b);
	b.positions.count = 0;
	b.blocks.count = 0;
	b.plan_blocks.count = 0;
	b.placements.count = 0;
	build_step(&b, NPUMEM_STEP_STAGED, "late");
	build_access(&b, build_tile(&b, X, build_region(4, 4)), NPUMEM_ACCESS_READ);
	build_access(&b, build_whole(&b, build_tensor(&b, NPUMEM_TENSOR_OUTPUT, 8, "z")),
		     NPUMEM_ACCESS_WRITE);
	build_finish(&b);
	build_place(&b, X, 0);
	build_place(&b, A, 8);
	build_place(&b, Y, 0);
	build_place(&b, 3, 16);
	v = refuse_plan(&b, EINVAL, V4,
			"V4 write: step 1 'mix' writes tensor 2 'y' to bytes [4, 8) of the arena, "
			"still needed by step 2 'late' which reads tile 3 of tensor 0 'x'");
	assert_int_equal(v.position, 1);
	assert_int_equal(v.step, MIX);
	assert_int_equal(v.tile, Y);
	assert_int_equal(v.tensor, Y);
	assert_int_equal(v.other_step, 2);
	assert_int_equal(v.other_tile, 3);
	assert_int_equal(v.other_tensor, X);
	assert_int_equal(v.first, 4);
	assert_int_equal(v.length, 4);
}

TEST(v4_exit)
{
	struct npumem_verdict v;
	struct build b;

	chain(&b);
	build_tensor_at(&b, A)->kind = NPUMEM_TENSOR_OUTPUT;
	build_tile_at(&b, Y)->region.length = 8;
	build_step_at(&b, MIX)->flags = NPUMEM_STEP_STAGED;
	build_placement_at(&b, Y)->offset = 12;
	/* Its last reader is this step, but it must survive. */
	v = refuse_plan(&b, EINVAL, V4,
			"V4 write: step 1 'mix' writes tensor 2 'y' to bytes [12, 16) of the "
			"arena, where tensor 1 'a' must survive the exit");
	assert_int_equal(v.other_step, NPUMEM_NONE);
	assert_int_equal(v.other_tensor, A);
	assert_int_equal(v.first, 12);
	assert_int_equal(v.length, 4);
}

TEST(v4_within_step)
{
	struct npumem_verdict v;
	struct build b;

	chain(&b);
	build_placement_at(&b, Y)->offset = 8;
	v = refuse_plan(&b, EINVAL, V4,
			"V4 write: step 1 'mix' writes tensor 2 'y' to bytes [8, 16) of the arena, "
			"where it reads tile 1 of tensor 1 'a' itself and is not staged");
	assert_int_equal(v.other_step, MIX);
	assert_int_equal(v.other_tile, A);
	/* Staged, its reads are over. */
	chain(&b);
	build_placement_at(&b, Y)->offset = 8;
	build_step_at(&b, MIX)->flags = NPUMEM_STEP_STAGED;
	accept_build(&b);
	/* Two results of one step, one never read. */
	chain(&b);
	build_access(&b, build_whole(&b, build_tensor(&b, NPUMEM_TENSOR_INTERMEDIATE, 4, "t")),
		     NPUMEM_ACCESS_WRITE);
	build_place(&b, 3, 22);
	v = refuse_plan(&b, EINVAL, V4,
			"V4 write: step 1 'mix' writes both tensor 3 't' and tensor 2 'y' to bytes "
			"[22, 24) of the arena");
	assert_int_equal(v.other_step, MIX);
	assert_int_equal(v.other_tile, Y);
	/* One result upon itself. */
	REFUSE_PLAN(build_placement_at(&b, Y)->region = build_strided(0, 4, 2, 4);
		    build_placement_at(&b, Y)->stride[0] = 2, EINVAL, V4,
		    "V4 write: step 1 'mix' writes both tensor 2 'y' and tensor 2 'y' to bytes "
		    "[18, 20) of the arena");
}

TEST(v4_entry)
{
	struct npumem_verdict v;
	struct build b;

	chain(&b);
	build_place(&b, build_tensor(&b, NPUMEM_TENSOR_INPUT, 8, "w"), 6);
	v = refuse_plan(&b, EINVAL, V4,
			"V4 write: tensor 3 'w' and tensor 0 'x' are both at bytes [6, 8) of the "
			"arena when the schedule begins");
	assert_int_equal(v.step, NPUMEM_NONE);
	assert_int_equal(v.tensor, 3);
	assert_int_equal(v.other_tensor, X);
	assert_int_equal(v.first, 6);
	assert_int_equal(v.length, 2);
}

/* Bytes of a dead tensor are free again. */
TEST(reuse)
{
	struct build b;

	chain(&b);
	build_placement_at(&b, Y)->offset = 0;
	b.info.arena_size = 16;
	accept_build(&b);
}

/* A result that nobody reads takes its bytes only while it is written. */
TEST(unread_result)
{
	struct build b;

	chain(&b);
	build_step_at(&b, COPY)->access_count = 0;
	b.accesses.count = 0;
	b.steps.count = 0;
	b.positions.count = 0;
	b.blocks.count = 0;
	b.plan_blocks.count = 0;
	b.placements.count = 0;
	build_step(&b, 0, "waste");
	build_access(&b, A, NPUMEM_ACCESS_WRITE);
	build_step(&b, 0, "fill");
	build_access(&b, Y, NPUMEM_ACCESS_WRITE);
	build_finish(&b);
	build_place_region(&b, A, 0, 0, 0, build_region(0, 8));
	build_place(&b, Y, 0);
	accept_build(&b);
}

/* x --copy--> a; a is updated in place; a --mix--> y */
static void updated(struct build *b, uint32_t flags)
{
	chain(b);
	b->accesses.count = 0;
	b->steps.count = 0;
	b->positions.count = 0;
	b->blocks.count = 0;
	b->plan_blocks.count = 0;
	b->placements.count = 0;
	add_step(b, "copy", X, NPUMEM_NONE, A);
	build_step(b, flags, "relu");
	build_access(b, A, NPUMEM_ACCESS_UPDATE);
	add_step(b, "mix", A, NPUMEM_NONE, Y);
	build_finish(b);
	build_place(b, X, 0);
	build_place(b, A, 8);
	build_place(b, Y, 16);
}

TEST(update)
{
	struct build b;

	updated(&b, 0);
	accept_build(&b);
	updated(&b, NPUMEM_STEP_STAGED);
	accept_build(&b);
	/* Another step wants the old bytes, but the plan puts it after the update. */
	updated(&b, 0);
	build_step_at(&b, 1)->name = NPUMEM_NONE;
	build_position_at(&b, 1)->index = 2;
	build_position_at(&b, 2)->index = 1;
	/* mix needs the new bytes: then it is a read before the write. */
	refuse_plan(&b, EINVAL, V3,
		    "V3 read: step 2 'mix' reads tile 1 of tensor 1 'a' before step 1 writes it");
}

TEST(update_with_reader)
{
	struct build b;

	/* The step that updates a also reads it as a whole. */
	updated(&b, 0);
	build_access_at(&b, 2)->tile = build_tile(&b, A, build_region(0, 4));
	*(struct npumem_access *)build_add(&b.accesses, 1) = *build_access_at(&b, 4);
	*build_access_at(&b, 4) = *build_access_at(&b, 3);
	*build_access_at(&b, 3) = (struct npumem_access){ A, NPUMEM_ACCESS_READ, NPUMEM_NONE, 0 };
	build_step_at(&b, 1)->access_count = 2;
	build_step_at(&b, 2)->first_access = 4;
	refuse_plan(&b, EINVAL, V4,
		    "V4 write: step 1 'relu' writes tensor 1 'a' to bytes [8, 12) of the arena, "
		    "where it reads tile 1 of tensor 1 'a' itself and is not staged");
}

/* A late reader of the old version, scheduled after the update. */
TEST(update_of_needed)
{
	struct build b;

	updated(&b, 0);
	/* Graph order: copy, peek (reads the old a), relu, mix. Plan: peek after relu. */
	b.positions.count = 0;
	b.blocks.count = 0;
	b.plan_blocks.count = 0;
	b.placements.count = 0;
	b.accesses.count = 0;
	b.steps.count = 0;
	add_step(&b, "copy", X, NPUMEM_NONE, A);
	add_step(&b, "peek", A, NPUMEM_NONE, Y);
	build_step(&b, 0, "relu");
	build_access(&b, A, NPUMEM_ACCESS_UPDATE);
	build_finish(&b);
	build_place(&b, X, 0);
	build_place(&b, A, 8);
	build_place(&b, Y, 16);
	build_position_at(&b, 1)->index = 2;
	build_position_at(&b, 2)->index = 1;
	refuse_plan(&b, EINVAL, V4,
		    "V4 write: step 2 'relu' writes tensor 1 'a' to bytes [8, 16) of the arena, "
		    "still needed by step 1 'peek' which reads tile 1 of tensor 1 'a'");
}

TEST(v7)
{
	struct npumem_verdict v;
	struct build b;

	/* y is written at position 0 here, and must be there after position 1. */
	chain(&b);
	build_tensor_at(&b, A)->kind = NPUMEM_TENSOR_OUTPUT;
	build_access_at(&b, 2)->tile = X;
	build_placement_at(&b, A)->to = 0;
	v = refuse_plan(&b, EINVAL, V7,
			"V7 exit: tensor 1 'a' bytes [0, 8) are placed up to position 0 only, but "
			"must survive the exit");
	assert_int_equal(v.tensor, A);
	assert_int_equal(v.position, 0);
	assert_int_equal(v.first, 8);
	assert_int_equal(v.length, 8);
}

/* s (state) is read by copy and rewritten by mix. */
static void stateful(struct build *b)
{
	chain(b);
	build_tensor_at(b, X)->kind = NPUMEM_TENSOR_STATE;
	build_access(b, X, NPUMEM_ACCESS_WRITE);
}

TEST(state)
{
	struct npumem_verdict v;
	struct build b;

	stateful(&b);
	accept_build(&b);
	/* Its new value elsewhere: the next inference would not find it. */
	stateful(&b);
	build_placement_at(&b, X)->to = 0;
	build_place_region(&b, X, 1, 1, 24, build_region(0, 8));
	v = refuse_plan(&b, EINVAL, V7,
			"V7 exit: state tensor 0 'x' bytes [0, 8) do not end where they began");
	assert_int_equal(v.tensor, X);
	assert_int_equal(v.first, 24);
	assert_int_equal(v.length, 8);
	/* Never changed, it must stay all the same. */
	chain(&b);
	build_tensor_at(&b, X)->kind = NPUMEM_TENSOR_STATE;
	build_placement_at(&b, Y)->offset = 0;
	refuse_plan(&b, EINVAL, V4,
		    "V4 write: step 1 'mix' writes tensor 2 'y' to bytes [0, 8) of the arena, "
		    "where tensor 0 'x' must survive the exit");
	/* Between its last read and its new value its bytes are free. */
	chain(&b);
	build_tensor_at(&b, X)->kind = NPUMEM_TENSOR_STATE;
	b.positions.count = 0;
	b.blocks.count = 0;
	b.plan_blocks.count = 0;
	b.placements.count = 0;
	build_tensor_at(&b, Y)->kind = NPUMEM_TENSOR_INTERMEDIATE;
	build_step(&b, NPUMEM_STEP_STAGED, "back");
	build_access(&b, Y, NPUMEM_ACCESS_READ);
	build_access(&b, X, NPUMEM_ACCESS_WRITE);
	build_finish(&b);
	build_place(&b, X, 0);
	build_place(&b, A, 8);
	build_place(&b, Y, 0);
	accept_build(&b);
}
