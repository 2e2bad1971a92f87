// SPDX-License-Identifier: MIT
/*
 * Branches: arms that share memory, one of which a run goes through. What edges
 * are and what they refuse: npumem_edge.c.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "npumem_world.h"

#define KEY 78

enum { SIZE = 96, X = 0, A };

static struct drm_npumem_job mix(const struct world *w, uint32_t position)
{
	return world_job(w, position, NPUMEM_SIM_MIX, KEY);
}

/*
 *   block 0:  X --INIT--> A
 *   block 1:  A --LEFT--> B      B is carried to R
 *   block 2:  A --RIGHT-> C      C is carried to R; where B would be
 *   block 3:  R --JOIN--> Y
 *   a fourth way: from block 0 to block 3, A carried to R, so block 3 has two
 *   instances
 */
TEST(branches)
{
	enum { B = 2, C, R, OUT, COUNT };
	static const uint32_t arms[3][2] = { { 1, 0 }, { 2, 1 }, { 0, 4 } }; /* step, edge */
	struct drm_npumem_submit args;
	struct drm_npumem_job jobs[6], closed;
	uint32_t i, arm, n, edge[5];
	struct model m = { 0 };
	struct world w;
	uint8_t **ref;
	int fd = npu_open();

	ASSERT_GE(fd, 0);
	for (i = 0; i < COUNT; i++) {
		model_tensor(&m,
			     i == X   ? NPUMEM_TENSOR_INPUT :
			     i == OUT ? NPUMEM_TENSOR_OUTPUT :
					NPUMEM_TENSOR_INTERMEDIATE,
			     SIZE);
		model_whole(&m, i);
	}
	for (i = 0; i < 4; i++) {
		static const uint32_t tiles[4][2] = { { X, A }, { A, B }, { A, C }, { R, OUT } };

		model_block(&m);
		model_step_rw(&m, tiles[i][0], tiles[i][1]);
		m.blocks[i].step_count = 1;
	}
	model_edge(&m, 0, 1);
	model_edge(&m, 0, 2);
	model_edge(&m, 1, 3);
	model_carry(&m, B, R);
	model_edge(&m, 2, 3);
	model_carry(&m, C, R);
	model_edge(&m, 0, 3);
	model_carry(&m, A, R);
	model_edge(&m, 3, NPUMEM_NONE);
	model_instance(&m, 0);
	model_enter(&m, 0, X, 0);
	model_place_in(&m, 0, A, SIZE);
	for (i = 1; i <= 2; i++) {
		model_instance(&m, i);
		model_enter(&m, i, A, SIZE);
		model_place_in(&m, i, i == 1 ? B : C, 0);
	}
	for (i = 3; i <= 4; i++) {
		model_instance(&m, 3);
		model_enter(&m, i, R, i == 3 ? 0 : SIZE);
		model_place_in(&m, i, OUT, 2 * SIZE);
	}
	edge[0] = model_plan_edge(&m, 0, 1, 0);
	edge[1] = model_plan_edge(&m, 0, 2, 1);
	model_plan_edge(&m, 1, 3, 2);
	model_plan_edge(&m, 2, 3, 3);
	edge[4] = model_plan_edge(&m, 0, 4, 4);
	model_plan_edge(&m, 3, NPUMEM_NONE, 5);
	model_plan_edge(&m, 4, NPUMEM_NONE, 5);
	ASSERT_EQ(0, world_open(&w, fd, &m));
	for (arm = 0; arm < 3; arm++) {
		ref = reference_new(&m);
		memset(w.arena, arm + 1, SIZE);
		memcpy(ref[X], w.arena, SIZE);
		reference_step(&m, ref, 0, NPUMEM_SIM_MIX, KEY);
		n = 0;
		jobs[n++] = mix(&w, 0);
		jobs[n++] = world_edge(edge[arms[arm][1]]);
		if (arm < 2) {
			reference_step(&m, ref, arms[arm][0], NPUMEM_SIM_MIX, KEY);
			memcpy(ref[R], ref[arm ? C : B], SIZE);
			jobs[n++] = mix(&w, 1 + arm);
			jobs[n++] = world_edge(2 + arm);
		} else {
			memcpy(ref[R], ref[A], SIZE);
		}
		reference_step(&m, ref, 3, NPUMEM_SIM_MIX, KEY);
		jobs[n++] = mix(&w, arm < 2 ? 3 : 4);
		ASSERT_EQ(0, world_submit(&w, jobs, 2, &args));
		/* The other arm is closed. */
		closed = mix(&w, arm == 1 ? 1 : 2);
		EXPECT_EQ(-EPERM, world_submit(&w, &closed, 1, &args));
		EXPECT_EQ(NPUMEM_RULE_ENFORCE_EDGE, world_verdict(&args)->rule);
		EXPECT_EQ(arm == 1 ? 1 : 2, world_verdict(&args)->position);
		jobs[n++] = world_edge(arm < 2 ? 5 : 6);
		ASSERT_EQ(0, world_submit(&w, jobs + 2, n - 2, &args));
		ASSERT_EQ(0, world_wait(&w));
		EXPECT_EQ(0, memcmp(w.arena + 2 * SIZE, ref[OUT], SIZE));
		ASSERT_EQ(0, world_reset(&w));
		reference_free(&m, ref);
	}
	world_close(&w);
	model_free(&m);
	close(fd);
}

TEST_HARNESS_MAIN
