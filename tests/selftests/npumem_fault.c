// SPDX-License-Identifier: MIT
/*
 * Engines that fail, hang or take their time: the run is lost until it is
 * reset, its fences say why, and nobody else notices. The faults are injected
 * through debugfs of the simulated engine.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "npumem_world.h"

FIXTURE(fault)
{
	int fd;
	struct model model;
	struct world w, other;
	uint32_t out[CHAIN_STEPS];
};

FIXTURE_SETUP(fault)
{
	int i;

	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	self->model = model_chain();
	ASSERT_EQ(0, world_open(&self->w, self->fd, &self->model));
	ASSERT_EQ(0, world_open(&self->other, self->fd, &self->model));
	for (i = 0; i < CHAIN_STEPS; i++)
		self->out[i] = npu_syncobj(self->fd);
	ASSERT_EQ(0, npu_knob("pause", 0));
	ASSERT_EQ(0, npu_knob("fail_next", 0));
	ASSERT_EQ(0, npu_knob("hang_next", 0));
	ASSERT_EQ(0, npu_knob("bytes_per_second", 0));
	ASSERT_EQ(0, npu_knob("hang_ms", 5000));
}

FIXTURE_TEARDOWN(fault)
{
	EXPECT_EQ(0, npu_knob("pause", 0));
	EXPECT_EQ(0, npu_knob("fail_next", 0));
	EXPECT_EQ(0, npu_knob("hang_next", 0));
	EXPECT_EQ(0, npu_knob("hang_ms", 5000));
	world_close(&self->w);
	world_close(&self->other);
	model_free(&self->model);
	close(self->fd);
}

/* Submit a step that fills its output with step + 1, with its own out-sync. */
static int submit(FIXTURE_DATA(fault) * self, struct world *w, uint32_t step,
		  struct drm_npumem_submit *args)
{
	struct drm_npumem_job job = world_job(w, step, NPUMEM_SIM_FILL, step + 1);
	struct drm_npumem_sync sync = { .handle = self->out[step] };
	static struct npumem_verdict verdict;

	*args = (struct drm_npumem_submit){
		.run = w->run,
		.jobs = NPU_ARRAY(&job, 1),
		.out_syncs = NPU_ARRAY(&sync, 1),
		.verdict = NPU_BUFFER(verdict),
	};
	return npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, args);
}

static bool untouched(FIXTURE_DATA(fault) * self, uint32_t tensor)
{
	return npu_all_bytes(self->w.arena + self->model.placements[tensor].offset, CHAIN_SIZE, 0);
}

/* The run is lost; another is not; a reset makes it whole. */
static void lost_until_reset(struct __test_metadata *_metadata, FIXTURE_DATA(fault) * self)
{
	struct drm_npumem_submit args;
	uint32_t i;

	EXPECT_EQ(-EIO, submit(self, &self->w, CHAIN_COPY, &args));
	EXPECT_EQ(NPUMEM_RULE_ENFORCE_LOST, world_verdict(&args)->rule);
	EXPECT_EQ(-EIO, submit(self, &self->w, CHAIN_MIX, &args));
	for (i = 0; i < CHAIN_STEPS; i++)
		EXPECT_EQ(0, submit(self, &self->other, i, &args));
	EXPECT_EQ(0, npu_sync_wait(self->fd, self->out[CHAIN_LAST], 0));
	EXPECT_EQ(1, npu_sync_status(self->fd, self->out[CHAIN_LAST]));

	EXPECT_EQ(0, world_wait(&self->w));
	EXPECT_EQ(0, world_reset(&self->w));
	for (i = 0; i < CHAIN_STEPS; i++)
		EXPECT_EQ(0, submit(self, &self->w, i, &args));
	EXPECT_EQ(0, npu_sync_wait(self->fd, self->out[CHAIN_LAST], 0));
	EXPECT_EQ(1, npu_sync_status(self->fd, self->out[CHAIN_LAST]));
	EXPECT_TRUE(npu_all_bytes(self->w.arena + self->model.placements[CHAIN_Y].offset,
				  CHAIN_SIZE, CHAIN_LAST + 1));
}

TEST_F(fault, job_fails)
{
	struct npumem_verdict verdict, *v = &verdict;
	struct drm_npumem_run_query query = { .run = self->w.run, .verdict = NPU_BUFFER(verdict) };
	struct drm_npumem_submit args;

	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_RUN_QUERY, &query));
	EXPECT_TRUE(npu_all_bytes(v, sizeof(*v), 0));
	ASSERT_EQ(0, npu_knob("fail_next", 1));
	ASSERT_EQ(0, submit(self, &self->w, CHAIN_COPY, &args));
	EXPECT_EQ(0, npu_sync_wait(self->fd, self->out[CHAIN_COPY], 0));
	EXPECT_EQ(-EIO, npu_sync_status(self->fd, self->out[CHAIN_COPY]));
	EXPECT_TRUE(untouched(self, CHAIN_A));
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_RUN_QUERY, &query));
	EXPECT_EQ(EIO, query.error);
	EXPECT_EQ(NPUMEM_RULE_ENFORCE_LOST, v->rule);
	EXPECT_EQ(CHAIN_COPY, v->position);
	EXPECT_EQ(NPUMEM_NONE, v->step);
	lost_until_reset(_metadata, self);
}

TEST_F(fault, jobs_queued_behind_a_failure_do_not_run)
{
	struct drm_npumem_submit args;
	uint32_t i;

	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, npu_knob("fail_next", 1));
	for (i = 0; i < CHAIN_STEPS; i++)
		ASSERT_EQ(0, submit(self, &self->w, i, &args));
	for (i = 0; i < CHAIN_STEPS; i++)
		EXPECT_EQ(0, npu_sync_signalled(self->fd, self->out[i], 0));
	ASSERT_EQ(0, npu_knob("pause", 0));
	for (i = 0; i < CHAIN_STEPS; i++) {
		EXPECT_EQ(0, npu_sync_wait(self->fd, self->out[i], 0));
		EXPECT_GT(0, npu_sync_status(self->fd, self->out[i])) TH_LOG("step %u", i);
	}
	EXPECT_TRUE(untouched(self, CHAIN_B));
	EXPECT_TRUE(untouched(self, CHAIN_Y));
	lost_until_reset(_metadata, self);
}

TEST_F(fault, job_hangs)
{
	struct drm_npumem_submit args;

	ASSERT_EQ(0, npu_knob("hang_ms", 300));
	ASSERT_EQ(0, npu_knob("hang_next", 1));
	ASSERT_EQ(0, submit(self, &self->w, CHAIN_COPY, &args));
	EXPECT_EQ(0, npu_sync_wait(self->fd, self->out[CHAIN_COPY], 0));
	EXPECT_EQ(-ETIMEDOUT, npu_sync_status(self->fd, self->out[CHAIN_COPY]));
	EXPECT_TRUE(untouched(self, CHAIN_A));
	lost_until_reset(_metadata, self);
}

TEST_F(fault, others_wait_for_a_hang_but_do_not_fail_by_it)
{
	struct drm_npumem_submit args;
	uint32_t theirs;

	ASSERT_EQ(0, npu_knob("hang_ms", 300));
	ASSERT_EQ(0, npu_knob("hang_next", 1));
	ASSERT_EQ(0, submit(self, &self->w, CHAIN_COPY, &args));
	ASSERT_EQ(0, submit(self, &self->other, CHAIN_COPY, &args));
	theirs = self->out[CHAIN_COPY];
	EXPECT_EQ(0, npu_sync_wait(self->fd, theirs, 0));
	EXPECT_EQ(1, npu_sync_status(self->fd, theirs));
	EXPECT_TRUE(npu_all_bytes(self->other.arena + self->model.placements[CHAIN_A].offset,
				  CHAIN_SIZE, CHAIN_COPY + 1));
}

TEST_F(fault, paused_engine_is_busy_and_no_failure)
{
	struct drm_npumem_submit args;

	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, submit(self, &self->w, CHAIN_COPY, &args));
	EXPECT_EQ(-ETIMEDOUT, npu_bo_wait(self->fd, self->w.arena_bo, npu_now() + 20 * 1000000));
	EXPECT_EQ(-EBUSY, world_reset(&self->w));
	ASSERT_EQ(0, npu_knob("pause", 0));
	EXPECT_EQ(0, world_wait(&self->w));
	EXPECT_EQ(1, npu_sync_status(self->fd, self->out[CHAIN_COPY]));
}

TEST_F(fault, file_closed_while_the_engine_is_paused)
{
	struct drm_npumem_submit args;
	struct drm_npumem_bank bank;
	int fd = npu_open();

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, submit(self, &self->w, CHAIN_COPY, &args));
	ASSERT_EQ(0, submit(self, &self->w, CHAIN_MIX, &args));
	munmap(self->w.arena, self->w.arena_size);
	munmap(self->other.arena, self->other.arena_size);
	self->w.arena = self->other.arena = NULL;
	close(self->fd);
	ASSERT_EQ(0, npu_knob("pause", 0));
	/* The arenas come back; how soon is the scheduler's affair. */
	while (!npu_bank(fd, &bank) && bank.free != bank.size)
		sched_yield();
	EXPECT_EQ(bank.size, bank.free);
	self->fd = fd;
}

/* The engine has begun COPY; what waits behind it must not outlive its owner. */
TEST_F(fault, queue_of_a_destroyed_run_goes_with_the_file)
{
	struct drm_npumem_submit args;
	struct drm_npumem_bank bank;
	int fd = npu_open(), sync;
	uint32_t last;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, drmSyncobjHandleToFD(self->fd, self->out[CHAIN_LAST], &sync));
	ASSERT_EQ(0, drmSyncobjFDToHandle(fd, sync, &last));
	close(sync);
	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, submit(self, &self->w, CHAIN_COPY, &args));
	ASSERT_EQ(0, submit(self, &self->w, CHAIN_MIX, &args));
	ASSERT_EQ(0, submit(self, &self->w, CHAIN_LAST, &args));
	ASSERT_EQ(0, world_destroy(self->fd, DRM_IOCTL_NPUMEM_RUN_DESTROY, self->w.run));
	EXPECT_EQ(0, npu_sync_signalled(fd, last, 0));
	munmap(self->w.arena, self->w.arena_size);
	munmap(self->other.arena, self->other.arena_size);
	self->w.arena = self->other.arena = NULL;
	close(self->fd);
	ASSERT_EQ(0, npu_knob("pause", 0));
	EXPECT_EQ(0, npu_sync_wait(fd, last, 0));
	EXPECT_EQ(-ECANCELED, npu_sync_status(fd, last));
	while (!npu_bank(fd, &bank) && bank.free != bank.size)
		sched_yield();
	EXPECT_EQ(bank.size, bank.free);
	self->fd = fd;
}

TEST_F(fault, knobs_are_the_administrators)
{
	int status, fd = npu_knob_open("fail_next");
	pid_t pid;

	/* Even who is handed an open one may not write it. */
	ASSERT_GE(fd, 0);
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(setresuid(65534, 65534, 65534) || npu_knob_set(fd, 1) != -EPERM);
	close(fd);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, npu_knob("fail_next", 0));
}

TEST_HARNESS_MAIN
