// SPDX-License-Identifier: MIT
/*
 * SUBMIT: what tile states allow and what they refuse, all jobs or none. Fences:
 * npumem_fence.c. What the operators compute: npumem_run.c; arguments: npumem_uapi.c.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "npumem_branches.h"
#include "npumem_world.h"

#define KEY 42

FIXTURE(submit)
{
	int fd;
	struct model model;
	struct world w;
};

FIXTURE_SETUP(submit)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	self->model = model_branches();
	ASSERT_EQ(0, world_open(&self->w, self->fd, &self->model));
}

FIXTURE_TEARDOWN(submit)
{
	world_close(&self->w);
	model_free(&self->model);
	close(self->fd);
}

/* Submit one position that must be refused, and say how. */
static struct npumem_verdict refused(struct __test_metadata *_metadata, struct world *w,
				     uint32_t position)
{
	struct drm_npumem_job job = world_job(w, position, NPUMEM_SIM_NOP, 0);
	struct drm_npumem_submit args;

	EXPECT_EQ(-EPERM, world_submit(w, &job, 1, &args));
	EXPECT_EQ(0, args.failed_job);
	EXPECT_EQ(position, world_verdict(&args)->position);
	EXPECT_EQ(position, world_verdict(&args)->step);
	return *world_verdict(&args);
}

static int nop(struct world *w, uint32_t position)
{
	return world_step(w, position, NPUMEM_SIM_NOP, 0);
}

TEST_F(submit, in_the_plans_order)
{
	uint32_t i;

	for (i = 0; i < STEPS; i++)
		EXPECT_EQ(0, nop(&self->w, i));
	EXPECT_EQ(0, world_wait(&self->w));
}

TEST_F(submit, success_leaves_no_verdict)
{
	struct drm_npumem_job job = world_job(&self->w, LEFT, NPUMEM_SIM_NOP, 0);
	struct drm_npumem_submit args;

	ASSERT_EQ(0, world_submit(&self->w, &job, 1, &args));
	EXPECT_EQ(NPUMEM_NONE, args.failed_job);
	EXPECT_EQ(NPUMEM_RULE_NONE, world_verdict(&args)->rule);
}

TEST_F(submit, in_another_order_that_respects_the_states)
{
	EXPECT_EQ(0, nop(&self->w, EXTRA));
	EXPECT_EQ(0, nop(&self->w, LEFT));
	EXPECT_EQ(0, nop(&self->w, RIGHT));
	EXPECT_EQ(0, nop(&self->w, JOIN));
}

TEST_F(submit, other_order_gives_the_same_output)
{
	static const uint32_t order[] = { EXTRA, LEFT, RIGHT, JOIN };
	uint8_t **ref = reference_new(&self->model);
	uint8_t *out = self->w.arena + self->model.placements[Y].offset;
	uint32_t i;

	memset(ref[X], 7, SIZE);
	memset(self->w.arena + self->model.placements[X].offset, 7, SIZE);
	reference_mix(&self->model, ref, KEY);
	for (i = 0; i < STEPS; i++)
		ASSERT_EQ(0, world_step(&self->w, order[i], NPUMEM_SIM_MIX, KEY));
	ASSERT_EQ(0, world_wait(&self->w));
	EXPECT_EQ(0, memcmp(out, ref[Y], SIZE));
	reference_free(&self->model, ref);
}

TEST_F(submit, read_of_an_empty_tile)
{
	struct npumem_verdict v;

	ASSERT_EQ(0, nop(&self->w, LEFT));
	ASSERT_EQ(0, nop(&self->w, EXTRA));
	v = refused(_metadata, &self->w, JOIN);
	EXPECT_EQ(NPUMEM_RULE_ENFORCE_READ, v.rule);
	EXPECT_EQ(B, v.tensor);
	EXPECT_EQ(B, v.tile);
	/* RIGHT has to write it first. */
	EXPECT_EQ(RIGHT, v.other_step);
	EXPECT_EQ(0, nop(&self->w, RIGHT));
	EXPECT_EQ(0, nop(&self->w, JOIN));
}

TEST_F(submit, read_of_a_retired_tile)
{
	struct npumem_verdict v;

	ASSERT_EQ(0, nop(&self->w, LEFT));
	v = refused(_metadata, &self->w, LEFT);
	EXPECT_EQ(NPUMEM_RULE_ENFORCE_READ, v.rule);
	EXPECT_EQ(X, v.tensor);
	EXPECT_EQ(X, v.tile);
	/* RIGHT is who takes its bytes. */
	EXPECT_EQ(RIGHT, v.other_step);
	EXPECT_EQ(B, v.other_tensor);
	EXPECT_EQ(0, v.first);
	EXPECT_EQ(SIZE, v.length);
	EXPECT_EQ(0, nop(&self->w, RIGHT));
}

TEST_F(submit, step_submitted_twice)
{
	struct npumem_verdict v;

	ASSERT_EQ(0, nop(&self->w, EXTRA));
	/* Z has another reader to come, so it is not the read that is wrong. */
	v = refused(_metadata, &self->w, EXTRA);
	EXPECT_EQ(NPUMEM_RULE_ENFORCE_TWICE, v.rule);
	ASSERT_EQ(0, nop(&self->w, LEFT));
	EXPECT_EQ(0, nop(&self->w, RIGHT));
	EXPECT_EQ(0, nop(&self->w, JOIN));
}

TEST_F(submit, write_over_a_live_tile)
{
	struct npumem_verdict v = refused(_metadata, &self->w, RIGHT);

	EXPECT_EQ(NPUMEM_RULE_ENFORCE_WRITE, v.rule);
	EXPECT_EQ(B, v.tensor);
	EXPECT_EQ(B, v.tile);
	EXPECT_EQ(X, v.other_tensor);
	EXPECT_EQ(LEFT, v.other_step);
	EXPECT_EQ(0, v.first);
	EXPECT_EQ(SIZE, v.length);
	EXPECT_EQ(0, nop(&self->w, LEFT));
	EXPECT_EQ(0, nop(&self->w, RIGHT));
}

TEST_F(submit, all_jobs_or_none)
{
	struct drm_npumem_job jobs[] = {
		world_job(&self->w, LEFT, NPUMEM_SIM_FILL, 1),
		world_job(&self->w, RIGHT, NPUMEM_SIM_FILL, 2),
		world_job(&self->w, JOIN, NPUMEM_SIM_FILL, 3), /* EXTRA is missing */
	};
	struct drm_npumem_submit args;

	EXPECT_EQ(-EPERM, world_submit(&self->w, jobs, 3, &args));
	EXPECT_EQ(2, args.failed_job);
	EXPECT_EQ(NPUMEM_RULE_ENFORCE_READ, world_verdict(&args)->rule);
	EXPECT_EQ(JOIN, world_verdict(&args)->step);
	EXPECT_EQ(W, world_verdict(&args)->tensor);
	EXPECT_EQ(EXTRA, world_verdict(&args)->other_step);
	/* No byte was written, and every state is as it was. */
	EXPECT_EQ(0, world_wait(&self->w));
	EXPECT_TRUE(npu_all_bytes(self->w.arena, self->w.arena_size, 0));
	EXPECT_EQ(NPUMEM_RULE_ENFORCE_WRITE, refused(_metadata, &self->w, RIGHT).rule);
	EXPECT_EQ(0, world_submit(&self->w, jobs, 2, &args));
	EXPECT_EQ(0, nop(&self->w, EXTRA));
	EXPECT_EQ(0, nop(&self->w, JOIN));
}

TEST_F(submit, all_positions_of_a_range_or_none)
{
	struct drm_npumem_job job = world_job(&self->w, RIGHT, NPUMEM_SIM_FILL, 1);
	struct drm_npumem_submit args;

	/* RIGHT is fine, EXTRA is fine, JOIN has been given nothing by LEFT. */
	ASSERT_EQ(0, nop(&self->w, LEFT));
	ASSERT_EQ(0, nop(&self->w, RIGHT));
	ASSERT_EQ(0, world_wait(&self->w));
	job.first_position = LEFT;
	job.position_count = STEPS;
	EXPECT_EQ(-EPERM, world_submit(&self->w, &job, 1, &args));
	EXPECT_EQ(0, args.failed_job);
	EXPECT_EQ(LEFT, world_verdict(&args)->position);
	EXPECT_TRUE(npu_all_bytes(self->w.arena, self->w.arena_size, 0));
	job.first_position = EXTRA;
	job.position_count = 2;
	EXPECT_EQ(0, world_submit(&self->w, &job, 1, &args));
}

TEST_F(submit, verdict_of_a_range_names_the_position)
{
	struct drm_npumem_job job = world_job(&self->w, LEFT, NPUMEM_SIM_NOP, 0);
	struct drm_npumem_submit args;

	ASSERT_EQ(0, nop(&self->w, EXTRA));
	job.position_count = STEPS;
	EXPECT_EQ(-EPERM, world_submit(&self->w, &job, 1, &args));
	/* Z is retired by EXTRA and RIGHT: so it is EXTRA that fails. */
	EXPECT_EQ(EXTRA, world_verdict(&args)->position);
	EXPECT_EQ(NPUMEM_RULE_ENFORCE_READ, world_verdict(&args)->rule);
	EXPECT_EQ(0, nop(&self->w, LEFT));
	EXPECT_EQ(0, nop(&self->w, RIGHT));
}

TEST_F(submit, runs_of_one_plan_have_their_own_states)
{
	struct drm_npumem_run_create args = { .plan = self->w.plan };
	struct world other = self->w;

	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &args));
	other.run = args.handle;
	EXPECT_EQ(0, nop(&self->w, LEFT));
	EXPECT_EQ(NPUMEM_RULE_ENFORCE_WRITE, refused(_metadata, &other, RIGHT).rule);
	EXPECT_EQ(0, nop(&self->w, RIGHT));
	EXPECT_EQ(0, nop(&other, LEFT));
	EXPECT_EQ(0, nop(&other, RIGHT));
}

TEST_HARNESS_MAIN
