// SPDX-License-Identifier: MIT
/* Rules V2 and V5, and the others where there are transfers: each refusal. */
#include "test_verify_transfers.h"
#include "unit.h"

#include <errno.h>

#define V2 NPUMEM_RULE_V2_ORDER
#define V3 NPUMEM_RULE_V3_READ
#define V4 NPUMEM_RULE_V4_WRITE
#define V5 NPUMEM_RULE_V5_SPILL
#define V7 NPUMEM_RULE_V7_EXIT

#define REFUSE_SPILLED(spoil, err, rule, text)    \
	do {                                      \
		spilled(&b);                      \
		spoil;                            \
		refuse_plan(&b, err, rule, text); \
	} while (0)

/* ---------------------------------------------------------------- refusals: V2 */

static void refuse_fill(struct build *b, const char *text)
{
	struct npumem_verdict v = refuse_plan(b, EINVAL, V2, text);

	assert_int_equal(v.position, FILL_A);
	assert_int_equal(v.tensor, TA);
	assert_int_equal(v.step, NPUMEM_NONE);
}

#define TRANSFER(spoil, flaw)                                                         \
	do {                                                                          \
		spilled(&b);                                                          \
		p = build_position_at(&b, FILL_A);                                    \
		spoil;                                                                \
		refuse_fill(&b, "V2 order: position 3, fill of tensor 1 'a': " flaw); \
	} while (0)

TEST(v2_records)
{
	struct npumem_position *p;
	struct npumem_verdict v;
	struct build b;

	spilled(&b);
	build_position_at(&b, FILL_A)->index = 4;
	v = refuse_plan(&b, EINVAL, V2, "V2 order: position 3, fill: tensor 4 is not there");
	assert_int_equal(v.position, FILL_A);
	assert_int_equal(v.tensor, NPUMEM_NONE);
	REFUSE_SPILLED(build_position_at(&b, FILL_A)->kind = 6, EINVAL, V2,
		       "V2 order: position 3: its kind is unknown");
	TRANSFER(p->pad = 1, "its pad is not zero");
	TRANSFER(p->length = 0, "its length is zero");
	TRANSFER(p->length = 9, "it ends beyond the tensor");
	TRANSFER(p->first = 1, "it ends beyond the tensor");
	TRANSFER(p->first = ~0ull, "it ends beyond the tensor");
	TRANSFER(p->host_offset = 1, "it ends beyond the plan's host memory");
	TRANSFER(p->host_offset = ~0ull, "it ends beyond the plan's host memory");
	TRANSFER(b.info.host_size = 7;
		 p[SPILL_A - FILL_A].length = 7, "it ends beyond the plan's host memory");
	TRANSFER(p->placement = 5, "its placement is not there");
	TRANSFER(p->placement = NPUMEM_NONE, "its placement is not there");
	TRANSFER(p->placement = B_AT_8, "its placement is of another tensor");
	TRANSFER(p->placement = A_AT_8, "its placement is not in force");
	TRANSFER(build_placement_at(&b, A_AT_0)->from = 4, "its placement is not in force");
}

TEST(v2_tensors)
{
	struct build b;

	REFUSE_SPILLED(build_position_at(&b, FILL_A)->kind = LOAD, EINVAL, V2,
		       "V2 order: position 3, load of tensor 1 'a': the tensor does not begin in "
		       "host memory");
	REFUSE_SPILLED(build_position_at(&b, FILL_A)->kind = DROP, EINVAL, V2,
		       "V2 order: position 3, drop of tensor 1 'a': a drop has no placement and "
		       "no host_offset");
	REFUSE_SPILLED(build_position_at(&b, drop(&b, TA, 0, 8))->host_offset = 1, EINVAL, V2,
		       "V2 order: position 5, drop of tensor 1 'a': a drop has no placement and "
		       "no host_offset");
	spilled(&b);
	build_tensor(&b, NPUMEM_TENSOR_INTERMEDIATE, 8, "c");
	build_tensor_at(&b, 4)->flags = NPUMEM_TENSOR_FLAG_ALIAS;
	build_tensor_at(&b, 4)->alias_of = TA;
	build_position_at(&b, FILL_A)->index = 4;
	refuse_plan(&b, EINVAL, V2,
		    "V2 order: position 3, fill of tensor 4 'c': an alias is moved with the "
		    "tensor that it is an alias of");
	spilled(&b);
	add_tensor(&b, NPUMEM_TENSOR_INTERMEDIATE, "e");
	build_tensor_at(&b, 4)->flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	build_position_at(&b, FILL_A)->index = 4;
	refuse_plan(&b, EINVAL, V2,
		    "V2 order: position 3, fill of tensor 4 'e': an external tensor is not in the "
		    "arena");
}

/* The placement named is not where the bytes are: of two in pieces the other one. */
TEST(v2_other_placement)
{
	struct npumem_verdict v;
	struct build b;

	spilled(&b);
	build_placement_at(&b, A_AT_0)->region.length = 4;
	build_place_region(&b, TA, FILL_A, DO_Y, 4, build_region(4, 4));
	v = refuse_plan(&b, EINVAL, V2,
			"V2 order: position 3, fill of tensor 1 'a': byte 4 is not in its "
			"placement 3");
	assert_int_equal(v.position, FILL_A);
	assert_int_equal(v.tensor, TA);
	assert_int_equal(v.step, NPUMEM_NONE);
}

TEST(unsupported)
{
	struct npumem_verdict v;
	struct build b;

	REFUSE_LOOP(build_tensor_at(&b, LX)->flags = NPUMEM_TENSOR_FLAG_HOST, EOPNOTSUPP,
		    NPUMEM_RULE_NONE, "not supported: HOST in a graph with edges, at tensor 0 'x'");
	REFUSE_PLAN(build_tensor_at(&b, X)->flags = NPUMEM_TENSOR_FLAG_HOST |
						    NPUMEM_TENSOR_FLAG_EXTERNAL,
		    EOPNOTSUPP, NPUMEM_RULE_NONE,
		    "not supported: HOST of an external tensor, at tensor 0 'x'");
	chain(&b);
	build_tensor(&b, NPUMEM_TENSOR_INPUT, 8, "w");
	build_tensor_at(&b, 3)->flags = NPUMEM_TENSOR_FLAG_ALIAS | NPUMEM_TENSOR_FLAG_HOST;
	build_tensor_at(&b, 3)->alias_of = X;
	refuse_plan(&b, EOPNOTSUPP, NPUMEM_RULE_NONE,
		    "not supported: HOST of an alias, at tensor 3 'w'");
	/* State, by its own kind or by that of an alias. */
	spilled(&b);
	build_tensor_at(&b, TA)->kind = NPUMEM_TENSOR_STATE;
	build_placement_at(&b, A_AT_8)->from = 0;
	v = refuse_plan(&b, EOPNOTSUPP, NPUMEM_RULE_NONE,
			"not supported: state is moved, spill at position 1 of tensor 1 'a'");
	assert_int_equal(v.position, SPILL_A);
	assert_int_equal(v.tensor, TA);
	spilled(&b);
	build_tensor(&b, NPUMEM_TENSOR_STATE, 4, "s");
	build_tensor_at(&b, 4)->flags = NPUMEM_TENSOR_FLAG_ALIAS;
	build_tensor_at(&b, 4)->alias_of = TA;
	refuse_plan(&b, EOPNOTSUPP, NPUMEM_RULE_NONE,
		    "not supported: state is moved, spill at position 1 of tensor 1 'a'");
}

TEST(sizes)
{
	struct build b;

	REFUSE_PLAN(b.info.host_size = 8, EINVAL, NPUMEM_RULE_FORMAT,
		    "format: info: host_size is not zero, but nothing is moved to host memory");
	REFUSE_SPILLED(b.info.host_size = ~0ull, E2BIG, NPUMEM_RULE_NONE,
		       "limit: arena and host memory have more than 2^64 bytes together");
}

/* ---------------------------------------------------------------- refusals: V5 */

/* A chain in which a is moved before it is written. */
static void before_all(struct build *b, uint32_t kind)
{
	chain(b);
	b->positions.count = 0;
	move(b, kind, A, 1, 0, 8, 0);
	step(b, COPY);
	step(b, MIX);
	build_placement_at(b, X)->to = 2;
	build_placement_at(b, A)->to = 2;
	build_placement_at(b, Y)->to = 2;
}

TEST(v5_not_in_arena)
{
	struct npumem_verdict v;
	struct build b;

	/* Read while it is away. */
	spilled(&b);
	b.positions.count = 3;
	step(&b, JOIN);
	build_placement_at(&b, B_AT_8)->to = 3;
	build_placement_at(&b, Y_AT_16)->from = 3;
	build_placement_at(&b, Y_AT_16)->to = 3;
	build_placement_at(&b, A_AT_0)->to = 3;
	v = refuse_plan(&b, EINVAL, V5,
			"V5 spill: step 2 'join' reads tile 1 of tensor 1 'a' at position 3, whose "
			"bytes [0, 8) the spill at position 1 has evicted");
	assert_int_equal(v.position, 3);
	assert_int_equal(v.step, JOIN);
	assert_int_equal(v.tile, TA);
	assert_int_equal(v.tensor, TA);
	/* Half of it. */
	REFUSE_SPILLED(build_position_at(&b, FILL_A)->length = 4, EINVAL, V5,
		       "V5 spill: step 2 'join' reads tile 1 of tensor 1 'a' at position 4, whose "
		       "bytes [4, 8) the spill at position 1 has evicted");
	/* Not yet loaded. */
	host_input(&b, NPUMEM_TENSOR_INPUT);
	build_position_at(&b, 0)->length = 6;
	v = refuse_plan(&b, EINVAL, V5,
			"V5 spill: step 0 'copy' reads tile 0 of tensor 0 'x' at position 1, whose "
			"bytes [6, 8) are not loaded yet");
	assert_int_equal(v.position, 1);
	assert_int_equal(v.tensor, X);
	REFUSE_PLAN(build_tensor_at(&b, X)->flags = NPUMEM_TENSOR_FLAG_HOST, EINVAL, V5,
		    "V5 spill: step 0 'copy' reads tile 0 of tensor 0 'x' at position 0, whose "
		    "bytes [0, 8) are not loaded yet");
	/* Stored, spilled or dropped twice. */
	spilled(&b);
	build_position_at(&b, FILL_A)->kind = SPILL;
	v = refuse_plan(&b, EINVAL, V5,
			"V5 spill: spill at position 3 of tensor 1 'a': bytes [0, 8) are not in "
			"the arena");
	assert_int_equal(v.position, FILL_A);
	assert_int_equal(v.tensor, TA);
	assert_int_equal(v.step, NPUMEM_NONE);
	REFUSE_SPILLED(build_position_at(&b, FILL_A)->kind = STORE, EINVAL, V5,
		       "V5 spill: store at position 3 of tensor 1 'a': bytes [0, 8) are not in "
		       "the arena");
	REFUSE_SPILLED(build_position_at(&b, FILL_A)->kind = DROP;
		       build_position_at(&b, FILL_A)->placement = NPUMEM_NONE, EINVAL, V5,
		       "V5 spill: drop at position 3 of tensor 1 'a': bytes [0, 8) are not in the "
		       "arena");
	/* Not yet written. */
	before_all(&b, SPILL);
	refuse_plan(&b, EINVAL, V5,
		    "V5 spill: spill at position 0 of tensor 1 'a': bytes [0, 8) are not in the "
		    "arena");
}

TEST(v5_no_copy)
{
	struct build b;

	/* Dropped, but never stored. */
	spilled(&b);
	build_position_at(&b, SPILL_A)->kind = DROP;
	build_position_at(&b, SPILL_A)->placement = NPUMEM_NONE;
	refuse_plan(&b, EINVAL, V5,
		    "V5 spill: drop at position 1 of tensor 1 'a': bytes [0, 8) have no valid copy "
		    "in host memory");
	/* Half of it stored. */
	spilled(&b);
	build_position_at(&b, SPILL_A)->length = 4;
	refuse_plan(&b, EINVAL, V5,
		    "V5 spill: fill at position 3 of tensor 1 'a': bytes [4, 8) have no valid copy "
		    "in host memory");
	/* Never there. */
	before_all(&b, FILL);
	refuse_plan(&b, EINVAL, V5,
		    "V5 spill: fill at position 0 of tensor 1 'a': bytes [0, 8) have never been in "
		    "the arena, there is nothing to bring back");
	/* A fill instead of a load, and a load too many. */
	host_input(&b, NPUMEM_TENSOR_INPUT);
	build_position_at(&b, 0)->kind = FILL;
	refuse_plan(&b, EINVAL, V5,
		    "V5 spill: fill at position 0 of tensor 0 'x': bytes [0, 8) have never been in "
		    "the arena, there is nothing to bring back");
	host_input(&b, NPUMEM_TENSOR_INPUT);
	move(&b, LOAD, X, 0, 0, 8, 0);
	build_placement_at(&b, X)->to = 3;
	build_placement_at(&b, Y)->to = 3;
	refuse_plan(&b, EINVAL, V5,
		    "V5 spill: load at position 3 of tensor 0 'x': bytes [0, 8) have been in the "
		    "arena before, which is for fill");
}

TEST(v5_stale)
{
	struct build b;

	accumulator(&b, STORE);
	accept(&b);
	accumulator(&b, SPILL);
	accept(&b);
	accumulator(&b, DROP);
	refuse_plan(&b, EINVAL, V5,
		    "V5 spill: drop at position 3 of tensor 0 'a': bytes [0, 8) have no valid copy "
		    "in host memory");
	accumulator(&b, FILL);
	refuse_plan(&b, EINVAL, V5,
		    "V5 spill: fill at position 3 of tensor 0 'a': bytes [0, 8) have no valid copy "
		    "in host memory");
}

/* Host memory that two copies need. */
TEST(v5_host)
{
	struct npumem_verdict v;
	struct build b;

	/* b is written over the copy of a before that comes back. */
	spilled_graph(&b);
	step(&b, MAKE_A);
	move(&b, SPILL, TA, 1, 0, 8, 0);
	step(&b, MAKE_B);
	move(&b, STORE, TB, 2, 0, 8, 4);
	move(&b, FILL, TA, 3, 0, 8, 0);
	step(&b, JOIN);
	stay(&b, TX, 0, 2, 0);
	stay(&b, TA, 0, 1, 8);
	stay(&b, TB, 2, 5, 8);
	stay(&b, TA, 4, 5, 0);
	stay(&b, TY, 5, 5, 16);
	v = refuse_plan(&b, EINVAL, V5,
			"V5 spill: store at position 3 writes the host copy of tensor 2 'b' to "
			"bytes [4, 8) of host memory, still needed by fill at position 4 which "
			"reads the host copy of tensor 1 'a'");
	assert_int_equal(v.position, 3);
	assert_int_equal(v.step, NPUMEM_NONE);
	assert_int_equal(v.tile, NPUMEM_NONE);
	assert_int_equal(v.tensor, TB);
	assert_int_equal(v.other_step, NPUMEM_NONE);
	assert_int_equal(v.other_tile, NPUMEM_NONE);
	assert_int_equal(v.other_tensor, TA);
	assert_int_equal(v.first, 4);
	assert_int_equal(v.length, 4);
	/* y's copy is to be kept. */
	spilled(&b);
	move(&b, SPILL, TY, Y_AT_16, 0, 8, 8);
	move(&b, STORE, TB, B_AT_8, 0, 8, 8);
	build_placement_at(&b, Y_AT_16)->to = 5;
	build_placement_at(&b, B_AT_8)->to = 6;
	refuse_plan(&b, EINVAL, V5,
		    "V5 spill: store at position 6 writes the host copy of tensor 2 'b' to bytes "
		    "[8, 16) of host memory, where the host copy of tensor 3 'y' must survive the "
		    "exit");
	/* Two tensors that begin at the same bytes. */
	host_input(&b, NPUMEM_TENSOR_INPUT);
	add_tensor(&b, NPUMEM_TENSOR_PARAMETER, "w");
	build_tensor_at(&b, 3)->flags = NPUMEM_TENSOR_FLAG_HOST;
	stay(&b, 3, 3, 3, 24);
	move(&b, LOAD, 3, 3, 0, 8, 4);
	build_placement_at(&b, Y)->to = 3;
	v = refuse_plan(&b, EINVAL, V5,
			"V5 spill: the host copy of tensor 3 'w' and the host copy of tensor 0 'x' "
			"are both at bytes [4, 8) of host memory when the schedule begins");
	assert_int_equal(v.tensor, 3);
	assert_int_equal(v.other_tensor, X);
	assert_int_equal(v.first, 4);
	/* One byte at two addresses. */
	spilled(&b);
	b.info.host_size = 16;
	build_position_at(&b, FILL_A)->host_offset = 2;
	v = refuse_plan(&b, EINVAL, V5,
			"V5 spill: position 3, fill of tensor 1 'a': the copy of byte 0 is at byte "
			"2 of host memory, but at position 1 at byte 0");
	assert_int_equal(v.position, FILL_A);
	assert_int_equal(v.tensor, TA);
	assert_int_equal(v.first, 2);
}

/* ---------------------------------------------------------------- refusals: other rules */

TEST(order)
{
	struct npumem_verdict v;
	struct build b;

	spilled(&b);
	build_position_at(&b, DO_B)->index = JOIN;
	build_position_at(&b, DO_Y)->index = MAKE_B;
	v = refuse_plan(&b, EINVAL, V3,
			"V3 read: step 2 'join' reads tile 2 of tensor 2 'b' before step 1 "
			"'make_b' writes it");
	assert_int_equal(v.position, DO_B);
	REFUSE_SPILLED(build_position_at(&b, DO_B)->index = MAKE_A, EINVAL, V2,
		       "V2 order: position 2, step 0 'make_a': the step stands at an earlier one "
		       "too");
	spilled(&b);
	b.positions.count = 4;
	build_plan_block_at(&b, 0)->position_count = 4;
	refuse_plan(&b, EINVAL, V2, "V2 order: step 2 'join' is not in the schedule");

	/* What an update leaves is not what a reader before it means. */
	build_init(&b);
	add_tensor(&b, NPUMEM_TENSOR_INTERMEDIATE, "a");
	add_tensor(&b, NPUMEM_TENSOR_OUTPUT, "y");
	build_step(&b, 0, "first");
	build_access(&b, 0, NPUMEM_ACCESS_WRITE);
	add_step(&b, "read", 0, NPUMEM_NONE, 1);
	build_step(&b, 0, "more");
	build_access(&b, 0, NPUMEM_ACCESS_UPDATE);
	begin_schedule(&b);
	step(&b, 0);
	step(&b, 2);
	step(&b, 1);
	move(&b, STORE, 1, 1, 0, 8, 0);
	stay(&b, 0, 0, 3, 0);
	stay(&b, 1, 0, 3, 8);
	v = refuse_plan(&b, EINVAL, V4,
			"V4 write: step 2 'more' writes tile 0 of tensor 0 'a' before step 1 "
			"'read' reads what was there");
	assert_int_equal(v.position, 1);
	assert_int_equal(v.other_step, 1);
}

TEST(arena)
{
	struct npumem_verdict v;
	struct build b;

	/* The fill takes bytes that x still needs, or that b does. */
	spilled(&b);
	build_position_at(&b, DO_B)->index = TA;
	*build_position_at(&b, DO_B) = *build_position_at(&b, FILL_A);
	build_position_at(&b, FILL_A)->kind = NPUMEM_POSITION_STEP;
	build_position_at(&b, FILL_A)->index = MAKE_B;
	build_position_at(&b, FILL_A)->placement = NPUMEM_NONE;
	build_position_at(&b, FILL_A)->length = 0;
	build_placement_at(&b, A_AT_0)->from = 2;
	build_placement_at(&b, X_AT_0)->to = 3;
	v = refuse_plan(&b, EINVAL, V4,
			"V4 write: fill at position 2 writes tensor 1 'a' to bytes [0, 8) of the "
			"arena, still needed by step 1 'make_b' which reads tile 0 of tensor 0 "
			"'x'");
	assert_int_equal(v.position, 2);
	assert_int_equal(v.step, NPUMEM_NONE);
	assert_int_equal(v.tensor, TA);
	assert_int_equal(v.other_step, MAKE_B);
	assert_int_equal(v.other_tensor, TX);
	REFUSE_SPILLED(build_placement_at(&b, A_AT_0)->offset = 8, EINVAL, V4,
		       "V4 write: fill at position 3 writes tensor 1 'a' to bytes [8, 16) of the "
		       "arena, still needed by step 2 'join' which reads tile 2 of tensor 2 'b'");
	/* A step takes bytes that are to be spilled. */
	spilled(&b);
	build_placement_at(&b, B_AT_8)->offset = 0;
	build_placement_at(&b, X_AT_0)->offset = 16;
	build_placement_at(&b, A_AT_8)->offset = 0;
	build_placement_at(&b, A_AT_8)->to = 2;
	build_placement_at(&b, A_AT_0)->offset = 8;
	*build_position_at(&b, SPILL_A) = *build_position_at(&b, DO_B);
	build_position_at(&b, DO_B)->kind = SPILL;
	build_position_at(&b, DO_B)->index = TA;
	build_position_at(&b, DO_B)->placement = A_AT_8;
	build_position_at(&b, DO_B)->length = 8;
	build_placement_at(&b, B_AT_8)->from = 1;
	refuse_plan(&b, EINVAL, V4,
		    "V4 write: step 1 'make_b' writes tensor 2 'b' to bytes [0, 8) of the arena, "
		    "still needed by spill at position 2 which reads tensor 1 'a'");
	/* A stay in two placements; one that ends before the spill; none at all. */
	REFUSE_SPILLED(
		stay(&b, TA, FILL_A, DO_Y, 24), EINVAL, V3,
		"V3 read: tensor 1 'a' bytes [0, 8) are in both placement 3 and placement 5");
	spilled(&b);
	build_placement_at(&b, A_AT_8)->to = 0;
	stay(&b, TA, SPILL_A, SPILL_A, 8);
	build_position_at(&b, SPILL_A)->placement = 5;
	v = refuse_plan(&b, EINVAL, V3,
			"V3 read: tensor 1 'a' bytes [0, 8) are placed up to position 0 only, but "
			"there is a spill at position 1");
	assert_int_equal(v.position, SPILL_A);
	assert_int_equal(v.tensor, TA);
	REFUSE_SPILLED(build_placement_at(&b, A_AT_0)->region.length = 4, EINVAL, V3,
		       "V3 read: tensor 1 'a' bytes [4, 8) have no placement at position 3, where "
		       "fill at position 3 writes them");
}

/* What is not stored must be in the arena at the end. */
TEST(v7)
{
	struct build b;

	spilled(&b);
	move(&b, STORE, TY, Y_AT_16, 0, 4, 8);
	build_placement_at(&b, Y_AT_16)->to = 5;
	drop(&b, TY, 0, 4);
	refuse_plan(&b, EINVAL, V7,
		    "V7 exit: tensor 3 'y' bytes [4, 8) are placed up to position 5 only, but must "
		    "survive the exit");
}
