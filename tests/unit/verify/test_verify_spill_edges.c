// SPDX-License-Identifier: MIT
/*
 * Transfers in graphs with loops: what plans may do, what they are refused for, and what is
 * enforced. Every block begins with its entry state in the arena and no copy in host memory.
 */
#include "test_verify_transfers.h"
#include "unit.h"

#include <errno.h>
#include <stdlib.h>

#define V2 NPUMEM_RULE_V2_ORDER
#define V3 NPUMEM_RULE_V3_READ
#define V4 NPUMEM_RULE_V4_WRITE
#define V5 NPUMEM_RULE_V5_SPILL
#define V6 NPUMEM_RULE_V6_EDGE
#define V7 NPUMEM_RULE_V7_EXIT

/* Tensors and steps of rounds(): tile i is all of tensor i. Tensor COPY_OF_K is none of them. */
enum { RX, RH, RK, RA, RB, RT, RY, COPY_OF_K };
enum { START, KEEP, MAKE_RA, MAKE_RB, JOIN_R, FINISH };
/* Instances, edges and placements of rounds(). */
enum { HEAD, ROUND, TAIL };
enum { IN, AGAIN, LEAVE, END };
enum { P_X, P_H, P_K, P_ROUND_H, P_K_AT_16, P_A_AT_16, P_B, P_A_AT_0, P_T, P_K_BACK, P_TAIL_H };
/* Positions. */
enum { DO_START, DO_KEEP, SPILL_K, DO_RA, SPILL_RA, DO_RB, FILL_RA, DO_JOIN, FILL_K, DO_FINISH };
/* Entries. */
enum { ENTRY_X, ENTRY_H, ENTRY_K, TAIL_H, TAIL_K };

/*
 * x --start--> h, x --keep--> k; then as often as one likes h --make--> a, h --make--> b,
 * (a, b) --join--> t, and t is the next h; then (h, k) --finish--> y. 8 bytes each.
 */
static void rounds_graph(struct build *b)
{
	build_init(b);
	add_tensor(b, NPUMEM_TENSOR_INPUT, "x");
	add_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, "h");
	add_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, "k");
	add_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, "a");
	add_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, "b");
	add_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, "t");
	add_tensor(b, NPUMEM_TENSOR_OUTPUT, "y");
	add_step(b, "start", RX, NPUMEM_NONE, RH);
	add_step(b, "keep", RX, NPUMEM_NONE, RK);
	build_block(b, "head");
	add_step(b, "make_a", RH, NPUMEM_NONE, RA);
	add_step(b, "make_b", RH, NPUMEM_NONE, RB);
	add_step(b, "join", RA, RB, RT);
	build_block(b, "round");
	add_step(b, "finish", RH, RK, RY);
	build_block(b, "tail");
	build_edge(b, 0, 1);
	build_edge(b, 1, 1);
	build_carry(b, RT, RH);
	build_edge(b, 1, 2);
	build_carry(b, RT, RH);
	build_edge(b, 2, NPUMEM_NONE);
}

static void add_head(struct build *b)
{
	begin_instance(b, 0);
	step(b, START);
	step(b, KEEP);
	build_enter(b, RX, 0);
	build_place_here(b, RH, 8);
	build_place_here(b, RK, 16);
}

/* A round, whose copies of k and a are at @copies and 8 bytes further on. */
static void add_round(struct build *b, uint64_t copies)
{
	uint32_t at = b->positions.count, p = b->placements.count;

	begin_instance(b, 1);
	move(b, SPILL, RK, p + P_K_AT_16 - P_ROUND_H, 0, 8, copies);
	step(b, MAKE_RA);
	move(b, SPILL, RA, p + P_A_AT_16 - P_ROUND_H, 0, 8, copies + 8);
	step(b, MAKE_RB);
	move(b, FILL, RA, p + P_A_AT_0 - P_ROUND_H, 0, 8, copies + 8);
	step(b, JOIN_R);
	move(b, FILL, RK, p + P_K_BACK - P_ROUND_H, 0, 8, copies);
	build_placement_at(b, build_enter(b, RH, 8))->to = at + DO_RB - SPILL_K;
	build_placement_at(b, build_enter(b, RK, 16))->to = at;
	stay(b, RA, at + DO_RA - SPILL_K, at + SPILL_RA - SPILL_K, 16);
	stay(b, RB, at + DO_RB - SPILL_K, at + DO_JOIN - SPILL_K, 16);
	stay(b, RA, at + FILL_RA - SPILL_K, at + DO_JOIN - SPILL_K, 0);
	stay(b, RT, at + DO_JOIN - SPILL_K, at + FILL_K - SPILL_K, 8);
	stay(b, RK, at + FILL_K - SPILL_K, at + FILL_K - SPILL_K, 16);
}

static void add_tail(struct build *b)
{
	begin_instance(b, 2);
	step(b, FINISH);
	build_enter(b, RH, 8);
	build_enter(b, RK, 16);
	build_place_here(b, RY, 0);
}

/*
 * A plan in 24 bytes, where a round without transfers needs 32: k, which it does not use, is in
 * host memory all the while, and a while b is made.
 */
static void rounds(struct build *b)
{
	rounds_graph(b);
	add_head(b);
	add_round(b, 0);
	add_tail(b);
	build_plan_edge(b, HEAD, ROUND, IN);
	build_plan_edge(b, ROUND, ROUND, AGAIN);
	build_plan_edge(b, ROUND, TAIL, LEAVE);
	build_plan_edge(b, TAIL, NPUMEM_NONE, END);
}

/* Removes the last position of the round. */
static void cut_round(struct build *b)
{
	struct npumem_position *p = build_position_at(b, FILL_K);

	p[0] = p[1];
	b->positions.count--;
	build_plan_block_at(b, ROUND)->position_count--;
	build_plan_block_at(b, TAIL)->first_position--;
	for (uint32_t i = 0; i < b->placements.count; i++) {
		build_placement_at(b, i)->from -= build_placement_at(b, i)->from >= FILL_K;
		build_placement_at(b, i)->to -= build_placement_at(b, i)->to >= FILL_K;
	}
}

#define REFUSE_ROUNDS(spoil, err, rule, text)         \
	do {                                          \
		rounds(&b);                           \
		spoil;                                \
		v = refuse_plan(&b, err, rule, text); \
	} while (0)

/* ---------------------------------------------------------------- what is taken */

static void cross(struct npuv_states *s, uint32_t edge)
{
	struct npumem_verdict v;

	assert_int_equal(npuv_states_cross(s, edge, &v), 0);
}

static void go_round(struct npuv_states *s)
{
	for (uint32_t i = SPILL_K; i <= FILL_K; i++)
		go(s, i);
}

TEST(rounds)
{
	struct npuv_states *s;
	struct build b;

	rounds(&b);
	assert_int_equal(b.info.arena_size, 24);
	assert_int_equal(b.info.host_size, 16);
	s = states_of(&b);
	for (uint32_t inference = 0; inference < 2; inference++) {
		npuv_states_reset(s);
		go(s, DO_START);
		go(s, DO_KEEP);
		cross(s, IN);
		go_round(s);
		cross(s, AGAIN);
		go_round(s);
		cross(s, AGAIN);
		go_round(s);
		cross(s, LEAVE);
		go(s, DO_FINISH);
		cross(s, END);
		assert_int_equal(s->block, NPUMEM_NONE);
	}
	free_states(s);
}

/* The round twice, in turns; the second has its copies from @copies on. */
static void unrolled(struct build *b, uint64_t copies)
{
	rounds_graph(b);
	add_head(b);
	add_round(b, 0);
	add_round(b, copies);
	add_tail(b);
	build_plan_edge(b, HEAD, ROUND, IN);
	build_plan_edge(b, ROUND, ROUND + 1, AGAIN);
	build_plan_edge(b, ROUND + 1, ROUND, AGAIN);
	build_plan_edge(b, ROUND, TAIL + 1, LEAVE);
	build_plan_edge(b, ROUND + 1, TAIL + 1, LEAVE);
	build_plan_edge(b, TAIL + 1, NPUMEM_NONE, END);
}

/* Two instances of one block: each has cells and copies of its own. */
TEST(unrolled)
{
	struct npuv_states *s;
	struct build b;

	unrolled(&b, 0);
	s = states_of(&b);
	go(s, DO_START);
	go(s, DO_KEEP);
	cross(s, 0);
	go_round(s);
	cross(s, 1);
	/* Positions of the other instance are of another block. */
	assert_int_equal(stop(s, SPILL_K, NPUMEM_RULE_ENFORCE_EDGE).step, NPUMEM_NONE);
	for (uint32_t i = SPILL_K; i <= FILL_K; i++)
		go(s, i + FILL_K - DO_KEEP);
	cross(s, 2);
	go_round(s);
	cross(s, 3);
	free_states(s);
}

/* ---------------------------------------------------------------- enforcement */

TEST(enforced)
{
	struct npumem_verdict v;
	struct npuv_states *s;
	struct build b;

	rounds(&b);
	s = states_of(&b);
	go(s, DO_START);
	go(s, DO_KEEP);
	cross(s, IN);
	/* a takes the bytes of k, which are to be in host memory first. */
	v = stop(s, DO_RA, NPUMEM_RULE_ENFORCE_WRITE);
	assert_int_equal(v.step, MAKE_RA);
	assert_int_equal(v.tile, RA);
	assert_int_equal(v.tensor, RA);
	assert_int_equal(v.other_tensor, RK);
	assert_int_equal(v.other_step, NPUMEM_NONE);
	assert_int_equal(v.first, 16);
	/* There is no copy yet. */
	v = stop(s, FILL_K, NPUMEM_RULE_ENFORCE_READ);
	assert_int_equal(v.step, NPUMEM_NONE);
	assert_int_equal(v.tensor, RK);
	go(s, SPILL_K);
	assert_int_equal(stop(s, SPILL_K, NPUMEM_RULE_ENFORCE_READ).tensor, RK);
	go(s, DO_RA);
	v = stop(s, DO_RB, NPUMEM_RULE_ENFORCE_WRITE);
	assert_int_equal(v.step, MAKE_RB);
	assert_int_equal(v.other_tensor, RA);
	go(s, SPILL_RA);
	go(s, DO_RB);
	v = stop(s, DO_JOIN, NPUMEM_RULE_ENFORCE_READ);
	assert_int_equal(v.step, JOIN_R);
	assert_int_equal(v.tensor, RA);
	go(s, FILL_RA);
	/* Not before all steps have gone, and all transfers. */
	assert_int_equal(npuv_states_cross(s, AGAIN, &v), -EPERM);
	assert_int_equal(v.rule, NPUMEM_RULE_ENFORCE_EDGE);
	assert_int_equal(v.other_step, JOIN_R);
	assert_int_equal(v.position, NPUMEM_NONE);
	go(s, DO_JOIN);
	assert_int_equal(npuv_states_cross(s, AGAIN, &v), -EPERM);
	assert_int_equal(v.rule, NPUMEM_RULE_ENFORCE_EDGE);
	assert_int_equal(v.other_step, NPUMEM_NONE);
	assert_int_equal(v.position, FILL_K);
	go(s, FILL_K);
	cross(s, AGAIN);
	/* The copy of the round before is none of this one's. */
	stop(s, FILL_K, NPUMEM_RULE_ENFORCE_READ);
	/* And back. */
	npuv_states_uncross(s, AGAIN);
	npuv_states_undo(s, FILL_K);
	npuv_states_undo(s, DO_JOIN);
	go(s, DO_JOIN);
	go(s, FILL_K);
	cross(s, LEAVE);
	go(s, DO_FINISH);
	free_states(s);
}

/* An engine finds k's bytes and those of its copy where this instance has them. */
TEST(walk)
{
	struct npuv_range range;
	struct npuv_walk walk;
	struct npuv_plan *plan;
	struct build b;

	rounds(&b);
	plan = accept_plan(&b);
	npuv_walk_begin(&walk, plan, FILL_K, 0);
	assert_true(npuv_walk_next(&walk, &range));
	assert_int_equal(range.external, NPUV_HOST);
	assert_int_equal(range.arena, 0);
	assert_int_equal(range.length, 8);
	npuv_walk_begin(&walk, plan, FILL_RA, 1);
	assert_true(npuv_walk_next(&walk, &range));
	assert_int_equal(range.external, NPUMEM_NONE);
	assert_int_equal(range.arena, 0);
	/* Accesses of steps are the client's: make_a reads h and writes a. */
	npuv_walk_begin(&walk, plan, DO_RA, 2 * MAKE_RA + 1);
	assert_true(npuv_walk_next(&walk, &range));
	assert_int_equal(range.arena, 16);
	assert_int_equal(range.length, 8);
	free_plan(plan);
	build_free(&b);
}

/* ---------------------------------------------------------------- refusals */

/* What an edge or the exit needs has to be back in the arena. */
TEST(not_back)
{
	struct npumem_verdict v;
	struct build b;

	REFUSE_ROUNDS(cut_round(&b), EINVAL, V6,
		      "V6 edge: edge 1 of the plan, from block 1 of the plan (block 1 'round') to "
		      "block 1 of the plan (block 1 'round'): bytes [0, 8) of tensor 2 'k' have "
		      "been moved to host memory and not back");
	assert_int_equal(v.tensor, RK);
	assert_int_equal(v.position, DO_JOIN);
	rounds(&b);
	move(&b, SPILL, RY, b.placements.count - 1, 0, 8, 0);
	build_placement_at(&b, b.placements.count - 1)->to++;
	v = refuse_plan(&b, EINVAL, V7,
			"V7 exit: edge 3 of the plan, from block 2 of the plan (block 2 'tail') to "
			"the exit: bytes [0, 8) of tensor 6 'y' have been moved to host memory and "
			"not back");
	assert_int_equal(v.tensor, RY);
	/* Half of it is back. */
	REFUSE_ROUNDS(build_position_at(&b, FILL_K)->length = 3, EINVAL, V6,
		      "V6 edge: edge 1 of the plan, from block 1 of the plan (block 1 'round') to "
		      "block 1 of the plan (block 1 'round'): bytes [3, 8) of tensor 2 'k' have "
		      "been moved to host memory and not back");
	/* Elsewhere. */
	REFUSE_ROUNDS(build_placement_at(&b, P_K_BACK)->offset = 0, EINVAL, V6,
		      "V6 edge: edge 1 of the plan, from block 1 of the plan (block 1 'round') to "
		      "block 1 of the plan (block 1 'round'): bytes [0, 8) of tensor 2 'k' are at "
		      "byte 0 of the arena, but are to be at byte 16");
}

/* No copy is valid when a block is entered, whatever the blocks before have done. */
TEST(no_copy)
{
	struct npumem_verdict v;
	struct build b;

	REFUSE_ROUNDS(build_position_at(&b, SPILL_K)->kind = FILL, EINVAL, V5,
		      "V5 spill: fill at position 2 of tensor 2 'k': bytes [0, 8) have no valid "
		      "copy in host memory");
	assert_int_equal(v.position, SPILL_K);
	assert_int_equal(v.step, NPUMEM_NONE);
	assert_int_equal(v.tensor, RK);
	rounds(&b);
	build_position_at(&b, SPILL_K)->kind = DROP;
	build_position_at(&b, SPILL_K)->placement = NPUMEM_NONE;
	v = refuse_plan(&b, EINVAL, V5,
			"V5 spill: drop at position 2 of tensor 2 'k': bytes [0, 8) have no valid "
			"copy in host memory");
	assert_int_equal(v.position, SPILL_K);
	/* Nor is there anything of a tensor that has been moved away. */
	rounds(&b);
	build_position_at(&b, SPILL_RA)->index = RK;
	build_position_at(&b, SPILL_RA)->placement = P_K_AT_16;
	build_position_at(&b, SPILL_RA)->host_offset = 0;
	build_placement_at(&b, P_K_AT_16)->to = SPILL_RA;
	v = refuse_plan(
		&b, EINVAL, V5,
		"V5 spill: spill at position 4 of tensor 2 'k': bytes [0, 8) are not in the "
		"arena");
	assert_int_equal(v.position, SPILL_RA);
	rounds(&b);
	*build_position_at(&b, SPILL_RA) = (struct npumem_position){
		.kind = DROP,
		.index = RK,
		.placement = NPUMEM_NONE,
		.length = 8,
	};
	v = refuse_plan(&b, EINVAL, V5,
			"V5 spill: drop at position 4 of tensor 2 'k': bytes [0, 8) are not in the "
			"arena");
	assert_int_equal(v.position, SPILL_RA);
}

/* Loads are for HOST tensors, which graphs with edges have none of. */
TEST(load)
{
	struct npumem_verdict v;
	struct build b;

	REFUSE_ROUNDS(
		build_position_at(&b, FILL_K)->kind = LOAD, EINVAL, V2,
		"V2 order: position 8, load of tensor 2 'k': the tensor does not begin in host "
		"memory");
	assert_int_equal(v.position, FILL_K);
}

/* What is moved has to be there: in the entry state, or written by then. */
TEST(not_entered)
{
	struct npumem_verdict v;
	struct build b;
	struct npumem_entry *e;

	rounds(&b);
	e = build_entry_at(&b, ENTRY_K);
	e[0] = e[1];
	e[1] = e[2];
	b.entries.count--;
	build_plan_block_at(&b, ROUND)->entry_count--;
	build_plan_block_at(&b, TAIL)->first_entry--;
	v = refuse_plan(
		&b, EINVAL, V3,
		"V3 read: tensor 2 'k' bytes [0, 8) are not in the entry state of block 1 of "
		"the plan (block 1 'round'), but there is a spill at position 2");
	assert_int_equal(v.position, SPILL_K);
	assert_int_equal(v.tensor, RK);
	assert_int_equal(v.step, NPUMEM_NONE);
	assert_int_equal(v.tile, NPUMEM_NONE);
}

TEST(away)
{
	struct npumem_position p;
	struct npumem_verdict v;
	struct build b;

	/* join before a is back. */
	rounds(&b);
	p = *build_position_at(&b, FILL_RA);
	*build_position_at(&b, FILL_RA) = *build_position_at(&b, DO_JOIN);
	*build_position_at(&b, DO_JOIN) = p;
	v = refuse_plan(&b, EINVAL, V5,
			"V5 spill: step 4 'join' reads tile 3 of tensor 3 'a' at position 6, whose "
			"bytes [0, 8) the spill at position 4 has evicted");
	assert_int_equal(v.position, FILL_RA);
	assert_int_equal(v.step, JOIN_R);
	/* In host memory a's copy takes the place of k's. */
	rounds(&b);
	build_position_at(&b, SPILL_RA)->host_offset = 0;
	build_position_at(&b, FILL_RA)->host_offset = 0;
	v = refuse_plan(
		&b, EINVAL, V5,
		"V5 spill: spill at position 4 writes the host copy of tensor 3 'a' to bytes "
		"[0, 8) of host memory, still needed by fill at position 8 which reads the "
		"host copy of tensor 2 'k'");
	assert_int_equal(v.position, SPILL_RA);
	assert_int_equal(v.tensor, RA);
	assert_int_equal(v.other_tensor, RK);
	/* A copy has one address in all of the plan. */
	unrolled(&b, 8);
	v = refuse_plan(
		&b, EINVAL, V5,
		"V5 spill: position 9, spill of tensor 2 'k': the copy of byte 0 is at byte 8 "
		"of host memory, but at position 2 at byte 0");
	assert_int_equal(v.position, FILL_K + 1);
	assert_int_equal(v.tensor, RK);
	REFUSE_ROUNDS(
		build_position_at(&b, FILL_RA)->host_offset = 0, EINVAL, V5,
		"V5 spill: position 6, fill of tensor 3 'a': the copy of byte 0 is at byte 0 of "
		"host memory, but at position 4 at byte 8");
	/* Nor may a part of it be elsewhere, whatever is between the two. */
	rounds(&b);
	build_placement_at(&b, P_K_AT_16)->to = FILL_K;
	p = *build_position_at(&b, SPILL_K);
	p.kind = FILL;
	p.first = p.length = p.host_offset = 2;
	*build_position_at(&b, SPILL_RA) = p;
	p.first = 5;
	p.length = 3;
	p.host_offset = 8;
	*build_position_at(&b, FILL_RA) = p;
	v = refuse_plan(
		&b, EINVAL, V5,
		"V5 spill: position 6, fill of tensor 2 'k': the copy of byte 5 is at byte 8 "
		"of host memory, but at position 2 at byte 5");
	assert_int_equal(v.position, FILL_RA);
	/* Without the spill of k a would take its bytes. */
	rounds(&b);
	build_position_at(&b, SPILL_K)->kind = STORE;
	build_placement_at(&b, P_K_AT_16)->to = FILL_K;
	build_placement_at(&b, P_K_BACK)->from = FILL_K;
	build_position_at(&b, FILL_K)->kind = STORE;
	build_position_at(&b, FILL_K)->placement = P_K_AT_16;
	build_placement_at(&b, P_K_BACK)->tensor = RX;
	v = refuse_plan(
		&b, EINVAL, V4,
		"V4 write: step 2 'make_a' writes tensor 3 'a' to bytes [16, 24) of the arena, "
		"still needed by store at position 8 which reads tensor 2 'k'");
	assert_int_equal(v.step, MAKE_RA);
	assert_int_equal(v.position, DO_RA);
}

/* Each access finds the version that it finds in the client's graph, in each instance. */
TEST(order)
{
	struct npumem_position p;
	struct npumem_verdict v;
	struct build b;

	rounds(&b);
	p = *build_position_at(&b, DO_JOIN);
	*build_position_at(&b, DO_JOIN) = *build_position_at(&b, DO_RA);
	*build_position_at(&b, DO_RA) = p;
	v = refuse_plan(
		&b, EINVAL, V3,
		"V3 read: step 4 'join' reads tile 3 of tensor 3 'a' before step 2 'make_a' "
		"writes it");
	assert_int_equal(v.step, JOIN_R);
	assert_int_equal(v.position, DO_RA);
	/* In the second instance, too. */
	unrolled(&b, 0);
	p = *build_position_at(&b, DO_JOIN + 7);
	*build_position_at(&b, DO_JOIN + 7) = *build_position_at(&b, DO_RA + 7);
	*build_position_at(&b, DO_RA + 7) = p;
	v = refuse_plan(
		&b, EINVAL, V3,
		"V3 read: step 4 'join' reads tile 3 of tensor 3 'a' before step 2 'make_a' "
		"writes it");
	assert_int_equal(v.position, DO_RA + 7);
	/* A step is missing, whose place a transfer has. */
	rounds(&b);
	*build_position_at(&b, DO_RB) = *build_position_at(&b, FILL_RA);
	v = refuse_plan(
		&b, EINVAL, V2,
		"V2 order: step 3 'make_b' is not in block 1 of the plan (block 1 'round')");
	assert_int_equal(v.step, MAKE_RB);
}

/* Host copies are no tensors of the client. */
TEST(copies_are_private)
{
	struct npumem_verdict v;
	struct npumem_view *view;
	struct build b;

	REFUSE_ROUNDS(build_entry_at(&b, TAIL_K)->tensor = COPY_OF_K, EINVAL, V6,
		      "V6 edge: entry 4 of block 2 of the plan (block 2 'tail'): tensor 7 is not "
		      "there");
	assert_int_equal(v.tensor, NPUMEM_NONE);
	rounds(&b);
	view = build_add(&b.views, 1);
	view->tensor = COPY_OF_K;
	view->type = NPUMEM_VIEW_CYCLIC;
	view->repeat = view->slot_count = 1;
	view->loop = AGAIN;
	*(uint32_t *)build_add(&b.slots, 1) = 13;
	refuse_plan(&b, EINVAL, NPUMEM_RULE_FORMAT, "format: view 0: tensor 7 is not there");
	REFUSE_ROUNDS(
		build_entry_at(&b, TAIL_K)->flags |= NPUMEM_ENTRY_HOST, EOPNOTSUPP,
		NPUMEM_RULE_NONE,
		"not supported: entry state in host memory, at entry 4 of block 2 of the plan "
		"(block 2 'tail'), tensor 2 'k'");
}

/* The accesses of each instance are counted before there is memory for them. */
TEST(limit)
{
	struct npuv_limits limits = npuv_default_limits;
	struct build_blob graph_blob, plan_blob;
	struct npumem_verdict v;
	struct npuv_graph *graph;
	struct npuv_plan *plan;
	struct npuv_log log;
	struct build b;
	char text[200];

	rounds(&b);
	graph_blob = build_graph(&b);
	plan_blob = build_plan(&b);
	build_free(&b);
	npuv_log_init(&log, 1, text, sizeof(text));
	assert_int_equal(
		npuv_graph_create(graph_blob.data, graph_blob.size, &limits, &log, &v, &graph), 0);
	limits.max_chunks = 21;
	assert_int_equal(npuv_plan_create(graph, plan_blob.data, plan_blob.size, &limits, &log, &v,
					  &plan),
			 -E2BIG);
	assert_string_equal(text, "limit: more than 21 accesses of all positions\n");
	limits.max_chunks = 22;
	assert_int_equal(npuv_plan_create(graph, plan_blob.data, plan_blob.size, &limits, &log, &v,
					  &plan),
			 0);
	npuv_plan_destroy(plan);
	npuv_graph_destroy(graph);
	free(graph_blob.data);
	free(plan_blob.data);
}
