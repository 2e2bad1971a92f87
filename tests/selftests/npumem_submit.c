// SPDX-License-Identifier: MIT
/*
 * SUBMIT: what tile states allow and what they refuse, all jobs or none, and
 * fences. What the operators compute: npumem_run.c; arguments: npumem_uapi.c.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "npumem_fake_daemon.h"
#include "npumem_world.h"

#define KEY 42

/*
 * Two branches that join, and a tensor that takes the place of a dead one:
 *
 *   X --LEFT--> A --.
 *   Z --RIGHT-> B ---JOIN--> Y        B lies where X does
 *
 * and a second reader of Z, EXTRA, so that Z outlives RIGHT.
 */
enum {
	X,
	Z,
	A,
	B,
	W,
	Y,
	TENSORS,
	LEFT = 0,
	RIGHT,
	EXTRA,
	JOIN,
	STEPS,
	SIZE = 128,
};

static struct model model_branches(void)
{
	struct model m = { 0 };
	uint32_t i;

	for (i = 0; i < TENSORS; i++)
		model_tensor(&m,
			     i <= Z ? NPUMEM_TENSOR_INPUT :
			     i == Y ? NPUMEM_TENSOR_OUTPUT :
				      NPUMEM_TENSOR_INTERMEDIATE,
			     SIZE);
	for (i = 0; i < TENSORS; i++)
		model_whole(&m, i);
	model_step_rw(&m, X, A);
	model_step_rw(&m, Z, B);
	model_step_rw(&m, Z, W);
	model_step(&m, 0);
	model_access(&m, A, NPUMEM_ACCESS_READ);
	model_access(&m, B, NPUMEM_ACCESS_READ);
	model_access(&m, W, NPUMEM_ACCESS_READ);
	model_access(&m, Y, NPUMEM_ACCESS_WRITE);
	for (i = 0; i < TENSORS; i++)
		model_place(&m, i, i == B ? 0 : i * SIZE);
	model_schedule(&m);
	return m;
}

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
	struct drm_npumem_job job = world_job(w, position, NPUMEM_OP_NOP, 0);
	struct drm_npumem_submit args;

	EXPECT_EQ(-EPERM, world_submit(w, &job, 1, &args));
	EXPECT_EQ(0, args.failed_job);
	EXPECT_EQ(position, args.verdict.position);
	EXPECT_EQ(position, args.verdict.step);
	return args.verdict;
}

static int nop(struct world *w, uint32_t position)
{
	return world_step(w, position, NPUMEM_OP_NOP, 0);
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
	struct drm_npumem_job job = world_job(&self->w, LEFT, NPUMEM_OP_NOP, 0);
	struct drm_npumem_submit args;

	ASSERT_EQ(0, world_submit(&self->w, &job, 1, &args));
	EXPECT_EQ(NPUMEM_NONE, args.failed_job);
	EXPECT_EQ(NPUMEM_RULE_NONE, args.verdict.rule);
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
	for (i = 0; i < STEPS; i++)
		reference_step(&self->model, ref, i, NPUMEM_OP_MIX, KEY);
	for (i = 0; i < STEPS; i++)
		ASSERT_EQ(0, world_step(&self->w, order[i], NPUMEM_OP_MIX, KEY));
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
		world_job(&self->w, LEFT, NPUMEM_OP_FILL, 1),
		world_job(&self->w, RIGHT, NPUMEM_OP_FILL, 2),
		world_job(&self->w, JOIN, NPUMEM_OP_FILL, 3), /* EXTRA is missing */
	};
	struct drm_npumem_submit args;

	EXPECT_EQ(-EPERM, world_submit(&self->w, jobs, 3, &args));
	EXPECT_EQ(2, args.failed_job);
	EXPECT_EQ(NPUMEM_RULE_ENFORCE_READ, args.verdict.rule);
	EXPECT_EQ(JOIN, args.verdict.step);
	EXPECT_EQ(W, args.verdict.tensor);
	EXPECT_EQ(EXTRA, args.verdict.other_step);
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
	struct drm_npumem_job job = world_job(&self->w, RIGHT, NPUMEM_OP_FILL, 1);
	struct drm_npumem_submit args;

	/* RIGHT is fine, EXTRA is fine, JOIN has been given nothing by LEFT. */
	ASSERT_EQ(0, nop(&self->w, LEFT));
	ASSERT_EQ(0, nop(&self->w, RIGHT));
	ASSERT_EQ(0, world_wait(&self->w));
	job.first_position = LEFT;
	job.position_count = STEPS;
	EXPECT_EQ(-EPERM, world_submit(&self->w, &job, 1, &args));
	EXPECT_EQ(0, args.failed_job);
	EXPECT_EQ(LEFT, args.verdict.position);
	EXPECT_TRUE(npu_all_bytes(self->w.arena, self->w.arena_size, 0));
	job.first_position = EXTRA;
	job.position_count = 2;
	EXPECT_EQ(0, world_submit(&self->w, &job, 1, &args));
}

TEST_F(submit, verdict_of_a_range_names_the_position)
{
	struct drm_npumem_job job = world_job(&self->w, LEFT, NPUMEM_OP_NOP, 0);
	struct drm_npumem_submit args;

	ASSERT_EQ(0, nop(&self->w, EXTRA));
	job.position_count = STEPS;
	EXPECT_EQ(-EPERM, world_submit(&self->w, &job, 1, &args));
	/* Z is retired by EXTRA and RIGHT: so it is EXTRA that fails. */
	EXPECT_EQ(EXTRA, args.verdict.position);
	EXPECT_EQ(NPUMEM_RULE_ENFORCE_READ, args.verdict.rule);
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

/* ----------------------------------------------------------------- fences */

/*
 * A fence that the test signals: the out-sync of a plan request, which a fake
 * daemon settles when the test says so.
 */
FIXTURE(fence)
{
	int fd;
	struct model model;
	struct world w;
	struct fake_daemon daemon;
	struct fake_request request;
	uint32_t gate;
	uint32_t out;
};

FIXTURE_SETUP(fence)
{
	struct drm_npumem_plan_request args = { .deadline_ns = INT64_MAX };

	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	self->model = model_branches();
	ASSERT_EQ(0, world_open(&self->w, self->fd, &self->model));
	ASSERT_EQ(0, fake_open(&self->daemon));
	ASSERT_EQ(0, fake_register(&self->daemon, NPUMEM_VERSION, "gate"));
	self->gate = npu_syncobj(self->fd);
	self->out = npu_syncobj(self->fd);
	args.graph = self->w.graph;
	args.out_sync = self->gate;
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_PLAN_REQUEST, &args));
	ASSERT_EQ(0, fake_accept(&self->daemon, &self->request));
}

FIXTURE_TEARDOWN(fence)
{
	fake_close(&self->daemon);
	if (self->fd >= 0) {
		world_close(&self->w);
		close(self->fd);
	}
	model_free(&self->model);
}

static int open_gate(FIXTURE_DATA(fence) * self)
{
	struct blob plan = model_plan(&self->model);
	int err = -EIO;

	if (write(self->request.fd, plan.data, plan.size) == (ssize_t)plan.size)
		err = fake_done(&self->daemon, self->request.id, 0, NULL, NULL);
	blob_free(&plan);
	return err;
}

static int submit_gated(FIXTURE_DATA(fence) * self, uint32_t position, uint32_t value,
			uint64_t out_point)
{
	struct drm_npumem_job job = world_job(&self->w, position, NPUMEM_OP_FILL, value);
	struct drm_npumem_sync in = { .handle = self->gate };
	struct drm_npumem_sync out = { .handle = self->out, .point = out_point };
	struct drm_npumem_submit args = {
		.run = self->w.run,
		.jobs = NPU_ARRAY(&job, 1),
		.in_syncs = NPU_ARRAY(&in, 1),
		.out_syncs = NPU_ARRAY(&out, 1),
	};

	return npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args);
}

TEST_F(fence, job_waits_for_its_in_sync)
{
	uint8_t *a = self->w.arena + self->model.placements[A].offset;

	ASSERT_EQ(0, submit_gated(self, LEFT, 0x77, 0));
	EXPECT_EQ(0, npu_sync_signalled(self->fd, self->out, 0));
	EXPECT_EQ(-ETIMEDOUT, npu_bo_wait(self->fd, self->w.arena_bo, 0));
	EXPECT_EQ(-ETIMEDOUT,
		  npu_bo_wait(self->fd, self->w.arena_bo, npu_now() + 50 * 1000 * 1000));
	EXPECT_EQ(-EBUSY, world_reset(&self->w));
	EXPECT_TRUE(npu_all_bytes(a, SIZE, 0));

	ASSERT_EQ(0, open_gate(self));
	EXPECT_EQ(0, npu_sync_wait(self->fd, self->out, 0));
	EXPECT_EQ(1, npu_sync_status(self->fd, self->out));
	EXPECT_TRUE(npu_all_bytes(a, SIZE, 0x77));
	EXPECT_EQ(0, npu_bo_wait(self->fd, self->w.arena_bo, 0));
	EXPECT_EQ(0, world_reset(&self->w));
}

TEST_F(fence, states_do_not_wait_for_fences)
{
	/* A is LIVE once its writer is submitted, not when it has run. */
	ASSERT_EQ(0, submit_gated(self, LEFT, 1, 0));
	EXPECT_EQ(0, nop(&self->w, RIGHT));
	EXPECT_EQ(0, nop(&self->w, EXTRA));
	EXPECT_EQ(0, nop(&self->w, JOIN));
	ASSERT_EQ(0, open_gate(self));
	EXPECT_EQ(0, world_wait(&self->w));
}

TEST_F(fence, hazards_order_jobs_without_syncs)
{
	uint8_t *b = self->w.arena + self->model.placements[B].offset;
	uint8_t *y = self->w.arena + self->model.placements[Y].offset;

	/* B takes the bytes of X, which LEFT has yet to read. */
	ASSERT_EQ(0, submit_gated(self, LEFT, 1, 0));
	ASSERT_EQ(0, world_step(&self->w, RIGHT, NPUMEM_OP_FILL, 2));
	ASSERT_EQ(0, world_step(&self->w, EXTRA, NPUMEM_OP_FILL, 3));
	ASSERT_EQ(0, world_step(&self->w, JOIN, NPUMEM_OP_FILL, 4));
	EXPECT_EQ(-ETIMEDOUT, npu_bo_wait(self->fd, self->w.arena_bo, 0));
	EXPECT_TRUE(npu_all_bytes(b, SIZE, 0));
	EXPECT_TRUE(npu_all_bytes(y, SIZE, 0));
	ASSERT_EQ(0, open_gate(self));
	EXPECT_EQ(0, world_wait(&self->w));
	EXPECT_TRUE(npu_all_bytes(b, SIZE, 2));
	EXPECT_TRUE(npu_all_bytes(y, SIZE, 4));
}

TEST_F(fence, timeline_points_in_and_out)
{
	struct drm_npumem_job job = world_job(&self->w, RIGHT, NPUMEM_OP_NOP, 0);
	struct drm_npumem_sync in = { .handle = self->out, .point = 5 };
	struct drm_npumem_sync out = { .handle = self->out, .point = 9 };
	struct drm_npumem_submit args = {
		.run = self->w.run,
		.jobs = NPU_ARRAY(&job, 1),
		.in_syncs = NPU_ARRAY(&in, 1),
		.out_syncs = NPU_ARRAY(&out, 1),
	};

	ASSERT_EQ(0, submit_gated(self, LEFT, 1, 5));
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args));
	EXPECT_EQ(0, npu_sync_signalled(self->fd, self->out, 5));
	EXPECT_EQ(0, npu_sync_signalled(self->fd, self->out, 9));
	ASSERT_EQ(0, open_gate(self));
	EXPECT_EQ(0, npu_sync_wait(self->fd, self->out, 5));
	EXPECT_EQ(0, npu_sync_wait(self->fd, self->out, 9));
}

TEST_F(fence, refusal_signals_nothing)
{
	struct drm_npumem_job job = world_job(&self->w, JOIN, NPUMEM_OP_NOP, 0);
	struct drm_npumem_sync out = { .handle = self->out };
	struct drm_npumem_submit args = {
		.run = self->w.run,
		.jobs = NPU_ARRAY(&job, 1),
		.out_syncs = NPU_ARRAY(&out, 1),
	};

	EXPECT_EQ(-EPERM, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args));
	EXPECT_EQ(-ENOENT, npu_sync_status(self->fd, self->out));
}

TEST_F(fence, bad_syncs)
{
	struct drm_npumem_job job = world_job(&self->w, LEFT, NPUMEM_OP_NOP, 0);
	struct drm_npumem_sync good = { .handle = self->out }, bad;
	struct drm_npumem_submit args = { .run = self->w.run, .jobs = NPU_ARRAY(&job, 1) };

	bad = (struct drm_npumem_sync){ .handle = 0x7fffffff };
	args.in_syncs = NPU_ARRAY(&bad, 1);
	EXPECT_EQ(-ENOENT, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args));
	args.in_syncs = NPU_ARRAY(&bad, 0);
	args.out_syncs = NPU_ARRAY(&bad, 1);
	EXPECT_EQ(-ENOENT, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args));
	bad = (struct drm_npumem_sync){ .handle = self->gate, .pad = 1 };
	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args));
	args.out_syncs = NPU_ARRAY(&bad, 0);
	args.in_syncs = NPU_ARRAY(&bad, 1);
	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args));
	/* Nothing will ever signal it. */
	args.in_syncs = NPU_ARRAY(&good, 1);
	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args));
	args.in_syncs = NPU_ARRAY(&good, 0);
	args.out_syncs = NPU_ARRAY(&good, 1);
	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args));
	EXPECT_EQ(0, npu_sync_wait(self->fd, self->out, 0));
}

/* Jobs in flight survive the handles they came from. */
TEST_F(fence, run_destroyed_with_a_job_in_flight)
{
	uint8_t *a = self->w.arena + self->model.placements[A].offset;

	ASSERT_EQ(0, submit_gated(self, LEFT, 0x55, 0));
	ASSERT_EQ(0, world_destroy(self->fd, DRM_IOCTL_NPUMEM_RUN_DESTROY, self->w.run));
	ASSERT_EQ(0, world_destroy(self->fd, DRM_IOCTL_NPUMEM_PLAN_DESTROY, self->w.plan));
	EXPECT_EQ(0, npu_sync_signalled(self->fd, self->out, 0));
	ASSERT_EQ(0, open_gate(self));
	EXPECT_EQ(0, npu_sync_wait(self->fd, self->out, 0));
	EXPECT_TRUE(npu_all_bytes(a, SIZE, 0x55));
}

TEST_F(fence, file_closed_with_a_job_in_flight)
{
	struct drm_npumem_bank bank;
	int fd = npu_open();

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, submit_gated(self, LEFT, 1, 0));
	/* The plan request goes with the file, and so the gate opens. */
	munmap(self->w.arena, self->w.arena_size);
	close(self->fd);
	self->fd = -1;
	/* The arena comes back; how soon is the scheduler's affair. */
	while (!npu_bank(fd, &bank) && bank.free != bank.size)
		sched_yield();
	EXPECT_EQ(bank.size, bank.free);
	close(fd);
}

TEST_HARNESS_MAIN
