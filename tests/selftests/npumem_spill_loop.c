// SPDX-License-Identifier: MIT
/*
 * A loop whose body moves tensors to host memory and back: one that it makes, and one that it
 * does not use. Transfers without loops: npumem_spill.c; edges: npumem_edge.c.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "npumem_world.h"

#define KEY 0x5b112

enum { SIZE = 5000, X = 0, H, K, A, B, T, Y, COUNT };
enum { START, KEEP, MAKE_A, MAKE_B, JOIN, FINISH };
enum { HEAD, ROUND, TAIL };
enum { INTO, AGAIN, LEAVE, END };
/* Positions; those of the round are in between. */
enum { DO_START, DO_KEEP, PUT_K, DO_A, PUT_A, DO_B, GET_A, DO_JOIN, GET_K, DO_FINISH };

static void at_step(struct model *m, uint32_t step)
{
	const struct npumem_position position = {
		.kind = NPUMEM_POSITION_STEP,
		.index = step,
		.placement = NPUMEM_NONE,
	};

	model_position(m, position);
}

/* The copies of K and A follow each other in host memory. */
static void at_transfer(struct model *m, uint32_t kind, uint32_t tensor, uint32_t placement)
{
	const struct npumem_position position = {
		.kind = kind,
		.index = tensor,
		.placement = placement,
		.length = SIZE,
		.host_offset = tensor == K ? 0 : SIZE,
	};

	model_position(m, position);
}

static uint32_t place(struct model *m, uint32_t tensor, uint64_t offset, uint32_t from, uint32_t to)
{
	uint32_t placement = model_place_in(m, ROUND, tensor, offset);

	m->placements[placement].from = from;
	m->placements[placement].to = to;
	return placement;
}

/*
 *   block 0:  X --START--> H, X --KEEP--> K
 *   block 1:  H --MAKE_A--> A, H --MAKE_B--> B, (A, B) --JOIN--> T, which is the next H
 *   block 2:  (H, K) --FINISH--> Y
 */
static void graph(struct model *m)
{
	uint32_t i;

	for (i = 0; i < COUNT; i++) {
		model_tensor(m,
			     i == X ? NPUMEM_TENSOR_INPUT :
			     i == Y ? NPUMEM_TENSOR_OUTPUT :
				      NPUMEM_TENSOR_INTERMEDIATE,
			     SIZE);
		model_whole(m, i);
	}
	model_block(m);
	model_step_rw(m, X, H);
	model_step_rw(m, X, K);
	m->blocks[HEAD].step_count = 2;
	model_block(m);
	model_step_rw(m, H, A);
	model_step_rw(m, H, B);
	model_step_rw(m, A, T);
	model_access(m, B, NPUMEM_ACCESS_READ);
	m->blocks[ROUND].step_count = 3;
	model_block(m);
	model_step_rw(m, H, Y);
	model_access(m, K, NPUMEM_ACCESS_READ);
	m->blocks[TAIL].step_count = 1;
	model_edge(m, HEAD, ROUND);
	model_edge(m, ROUND, ROUND);
	model_carry(m, T, H);
	model_edge(m, ROUND, TAIL);
	model_carry(m, T, H);
	model_edge(m, TAIL, NPUMEM_NONE);
}

static void round_plan(struct model *m)
{
	uint32_t k, a, a_back, k_back;

	model_instance(m, ROUND);
	m->instances[ROUND].position_count = GET_K - PUT_K + 1;
	model_enter(m, ROUND, H, SIZE);
	m->placements[m->placement_count - 1].to = DO_B;
	model_enter(m, ROUND, K, 2 * SIZE);
	k = m->placement_count - 1;
	m->placements[k].to = PUT_K;
	a = place(m, A, 2 * SIZE, DO_A, PUT_A);
	place(m, B, 2 * SIZE, DO_B, DO_JOIN);
	a_back = place(m, A, 0, GET_A, DO_JOIN);
	place(m, T, SIZE, DO_JOIN, GET_K);
	k_back = place(m, K, 2 * SIZE, GET_K, GET_K);
	m->position_count = PUT_K;
	at_transfer(m, NPUMEM_POSITION_SPILL, K, k);
	at_step(m, MAKE_A);
	at_transfer(m, NPUMEM_POSITION_SPILL, A, a);
	at_step(m, MAKE_B);
	at_transfer(m, NPUMEM_POSITION_FILL, A, a_back);
	at_step(m, JOIN);
	at_transfer(m, NPUMEM_POSITION_FILL, K, k_back);
}

/* Three tensors have room in the arena, of the four that the round has at once. */
static struct model spill_loop(void)
{
	struct model m = { 0 };

	graph(&m);
	model_instance(&m, HEAD);
	model_enter(&m, HEAD, X, 0);
	model_place_in(&m, HEAD, H, SIZE);
	model_place_in(&m, HEAD, K, 2 * SIZE);
	round_plan(&m);
	model_instance(&m, TAIL);
	model_enter(&m, TAIL, H, SIZE);
	model_enter(&m, TAIL, K, 2 * SIZE);
	model_place_in(&m, TAIL, Y, 0);
	model_plan_edge(&m, HEAD, ROUND, INTO);
	model_plan_edge(&m, ROUND, ROUND, AGAIN);
	model_plan_edge(&m, ROUND, TAIL, LEAVE);
	model_plan_edge(&m, TAIL, NPUMEM_NONE, END);
	m.info.host_size = 2 * SIZE;
	return m;
}

static int cross(struct world *w, uint32_t edge)
{
	struct drm_npumem_submit args;
	struct drm_npumem_job job = world_edge(edge);

	return world_submit(w, &job, 1, &args);
}

static void reference(const struct model *m, uint8_t **ref, uint32_t rounds)
{
	uint32_t i, s;

	reference_step(m, ref, START, NPUMEM_SIM_MIX, KEY);
	reference_step(m, ref, KEEP, NPUMEM_SIM_MIX, KEY);
	for (i = 0; i < rounds; i++) {
		for (s = MAKE_A; s <= JOIN; s++)
			reference_step(m, ref, s, NPUMEM_SIM_MIX, KEY);
		memcpy(ref[H], ref[T], SIZE);
	}
	reference_step(m, ref, FINISH, NPUMEM_SIM_MIX, KEY);
}

TEST(rounds)
{
	struct drm_npumem_run_query query;
	struct drm_npumem_submit args;
	struct model m = spill_loop();
	uint32_t rounds, i;
	struct world w;
	uint8_t **ref;
	int fd = npu_open();

	ASSERT_GE(fd, 0);
	EXPECT_EQ(3 * SIZE, m.info.arena_size);
	ASSERT_EQ(0, world_open(&w, fd, &m));
	ref = reference_new(&m);
	for (rounds = 1; rounds <= 3; rounds++) {
		for (i = 0; i < SIZE; i++)
			ref[X][i] = (i * 7 + rounds) ^ (i >> 8);
		memcpy(w.arena, ref[X], SIZE);
		reference(&m, ref, rounds);
		ASSERT_EQ(0, world_mix(&w, DO_START, 2, KEY, &args));
		ASSERT_EQ(0, cross(&w, INTO));
		for (i = 0; i < rounds; i++) {
			/* The copy that the round before has made is none of this one's. */
			EXPECT_EQ(-EPERM, world_mix(&w, GET_K, 1, KEY, &args));
			EXPECT_EQ(NPUMEM_RULE_ENFORCE_READ, world_verdict(&args)->rule);
			EXPECT_EQ(K, world_verdict(&args)->tensor);
			ASSERT_EQ(0, world_mix(&w, PUT_K, GET_K - PUT_K, KEY, &args));
			/* Not out of the block before K is back. */
			EXPECT_EQ(-EPERM, cross(&w, LEAVE));
			ASSERT_EQ(0, world_mix(&w, GET_K, 1, KEY, &args));
			ASSERT_EQ(0, cross(&w, i + 1 < rounds ? AGAIN : LEAVE));
		}
		ASSERT_EQ(0, world_mix(&w, DO_FINISH, 1, KEY, &args));
		ASSERT_EQ(0, cross(&w, END));
		ASSERT_EQ(0, world_wait(&w));
		EXPECT_EQ(0, memcmp(w.arena, ref[Y], SIZE));
		ASSERT_EQ(0, world_query(&w, &query));
		EXPECT_EQ(2 * SIZE * rounds, query.spill_bytes);
		EXPECT_EQ(2 * SIZE * rounds, query.fill_bytes);
		EXPECT_EQ(0, query.load_bytes);
		ASSERT_EQ(0, world_reset(&w));
	}
	reference_free(&m, ref);
	world_close(&w);
	model_free(&m);
	close(fd);
}

TEST_HARNESS_MAIN
