// SPDX-License-Identifier: MIT
/*
 * SUBMIT's fences, in and out. The tests need one that is not signalled before they
 * say so; nobody without privilege can make such a thing, so it is that of a job on
 * another device, which npumem_foreign.sh makes, whose engine is paused.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "npumem_branches.h"
#include "npumem_world.h"

FIXTURE(fence)
{
	int fd, far;
	struct model model, far_model;
	struct world w, far_w;
	uint32_t gate;
	uint32_t out;
};

/* A job of the other device, and its fence as a syncobj of this one. */
static int make_gate(FIXTURE_DATA(fence) * self)
{
	struct drm_npumem_job job = world_job(&self->far_w, 0, NPUMEM_SIM_NOP, 0);
	struct drm_npumem_sync out = { .handle = npu_syncobj(self->far) };
	struct drm_npumem_submit args = {
		.run = self->far_w.run,
		.jobs = NPU_ARRAY(&job, 1),
		.out_syncs = NPU_ARRAY(&out, 1),
	};
	int file, err = npu_ioctl(self->far, DRM_IOCTL_NPUMEM_SUBMIT, &args);

	if (err)
		return err;
	self->gate = npu_syncobj(self->fd);
	if (drmSyncobjExportSyncFile(self->far, out.handle, &file))
		return -errno;
	err = drmSyncobjImportSyncFile(self->fd, self->gate, file) ? -errno : 0;
	close(file);
	return err;
}

FIXTURE_SETUP(fence)
{
	self->fd = npu_open_nth(0);
	self->far = npu_open_nth(1);
	ASSERT_GE(self->fd, 0);
	ASSERT_GE(self->far, 0);
	self->model = model_branches();
	self->far_model = model_chain();
	ASSERT_EQ(0, npu_knob_of(self->far, "sim/pause", 1));
	ASSERT_EQ(0, world_open(&self->w, self->fd, &self->model));
	ASSERT_EQ(0, world_open(&self->far_w, self->far, &self->far_model));
	ASSERT_EQ(0, make_gate(self));
	self->out = npu_syncobj(self->fd);
}

static int open_gate(FIXTURE_DATA(fence) * self)
{
	return npu_knob_of(self->far, "sim/pause", 0);
}

FIXTURE_TEARDOWN(fence)
{
	EXPECT_EQ(0, open_gate(self));
	if (self->fd >= 0) {
		world_close(&self->w);
		close(self->fd);
	}
	world_close(&self->far_w);
	close(self->far);
	model_free(&self->model);
	model_free(&self->far_model);
}

static int nop(struct world *w, uint32_t position)
{
	return world_step(w, position, NPUMEM_SIM_NOP, 0);
}

static int submit_gated(FIXTURE_DATA(fence) * self, uint32_t position, uint32_t value,
			uint64_t out_point)
{
	struct drm_npumem_job job = world_job(&self->w, position, NPUMEM_SIM_FILL, value);
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
	ASSERT_EQ(0, world_step(&self->w, RIGHT, NPUMEM_SIM_FILL, 2));
	ASSERT_EQ(0, world_step(&self->w, EXTRA, NPUMEM_SIM_FILL, 3));
	ASSERT_EQ(0, world_step(&self->w, JOIN, NPUMEM_SIM_FILL, 4));
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
	struct drm_npumem_job job = world_job(&self->w, RIGHT, NPUMEM_SIM_NOP, 0);
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
	struct drm_npumem_job job = world_job(&self->w, JOIN, NPUMEM_SIM_NOP, 0);
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
	struct drm_npumem_job job = world_job(&self->w, LEFT, NPUMEM_SIM_NOP, 0);
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
	munmap(self->w.arena, self->w.arena_size);
	close(self->fd);
	self->fd = -1;
	ASSERT_EQ(0, open_gate(self));
	/* The arena comes back; how soon is the scheduler's affair. */
	while (!npu_bank(fd, &bank) && bank.free != bank.size)
		sched_yield();
	EXPECT_EQ(bank.size, bank.free);
	close(fd);
}

TEST_HARNESS_MAIN
