// SPDX-License-Identifier: MIT
/*
 * Jobs that wait for a fence of another driver, which may never signal: they keep nobody
 * else waiting, and when their client goes, or their run fails, or the device does, they
 * end at once, and so does their hold on the arena.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/sync_file.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "npumem_world.h"

#define MODULE "npumem_test_fence"

/*
 * struct FIXTURE(foreign) - client and bystander
 * @dev: its fence signals when this is closed; -1 when it has been
 * @sync_file: of that fence
 * @fd: whose jobs wait for it; -1 once closed
 * @in: syncobj with that fence
 * @out: of the jobs, by step
 * @other: bystander
 * @seen: the same as @out for him
 */
FIXTURE(foreign)
{
	int dev, sync_file, fd, other;
	struct model model;
	struct world w;
	uint32_t in;
	uint32_t out[CHAIN_STEPS], seen[CHAIN_STEPS];
};

FIXTURE_SETUP(foreign)
{
	int i, fd;

	ASSERT_EQ(0, npu_module_load(MODULE));
	ASSERT_EQ(0, npu_knob("pause", 0));
	ASSERT_EQ(0, npu_knob("fail_next", 0));
	self->dev = open("/dev/" MODULE, O_RDWR | O_CLOEXEC);
	ASSERT_GE(self->dev, 0);
	ASSERT_EQ((ssize_t)sizeof(int), read(self->dev, &self->sync_file, sizeof(int)));
	self->fd = npu_open();
	self->other = npu_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_GE(self->other, 0);
	self->model = model_chain();
	ASSERT_EQ(0, world_open(&self->w, self->fd, &self->model));
	self->in = npu_syncobj(self->fd);
	ASSERT_EQ(0, drmSyncobjImportSyncFile(self->fd, self->in, self->sync_file));
	for (i = 0; i < CHAIN_STEPS; i++) {
		self->out[i] = npu_syncobj(self->fd);
		ASSERT_EQ(0, drmSyncobjHandleToFD(self->fd, self->out[i], &fd));
		ASSERT_EQ(0, drmSyncobjFDToHandle(self->other, fd, &self->seen[i]));
		close(fd);
	}
}

static void client_close(FIXTURE_DATA(foreign) * self)
{
	if (self->fd < 0)
		return;
	munmap(self->w.arena, self->w.arena_size);
	close(self->fd);
	self->fd = -1;
}

static void fence_signal(FIXTURE_DATA(foreign) * self)
{
	if (self->dev >= 0)
		close(self->dev);
	self->dev = -1;
}

FIXTURE_TEARDOWN(foreign)
{
	fence_signal(self);
	EXPECT_EQ(0, npu_knob("pause", 0));
	EXPECT_EQ(0, npu_knob("fail_next", 0));
	client_close(self);
	close(self->other);
	close(self->sync_file);
	model_free(&self->model);
	/* Whoever held its fence lets go of it soon. */
	while (npu_module_unload(MODULE) == -EWOULDBLOCK)
		sched_yield();
}

static bool fence_pending(FIXTURE_DATA(foreign) * self)
{
	struct pollfd pfd = { .fd = self->sync_file, .events = POLLIN };

	return poll(&pfd, 1, 0) == 0;
}

/* A step, behind the fence or not. */
static int submit(FIXTURE_DATA(foreign) * self, uint32_t step, uint32_t in)
{
	struct drm_npumem_job job = world_job(&self->w, step, NPUMEM_SIM_FILL, step + 1);
	struct drm_npumem_sync out = { .handle = self->out[step] };
	struct drm_npumem_sync wait = { .handle = in };
	struct drm_npumem_submit args = {
		.run = self->w.run,
		.jobs = NPU_ARRAY(&job, 1),
		.in_syncs = NPU_ARRAY(&wait, in ? 1 : 0),
		.out_syncs = NPU_ARRAY(&out, 1),
	};

	return npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args);
}

/* All steps ended with that, as the bystander sees it, and the fence still has not. */
static void expect_ended(struct __test_metadata *_metadata, FIXTURE_DATA(foreign) * self,
			 int status)
{
	int i;

	for (i = 0; i < CHAIN_STEPS; i++) {
		ASSERT_EQ(0, npu_sync_wait(self->other, self->seen[i], 0)) TH_LOG("step %d", i);
		EXPECT_EQ(status, npu_sync_status(self->other, self->seen[i]));
	}
	EXPECT_TRUE(fence_pending(self));
}

/* How soon is the scheduler's affair; the fence is not signalled meanwhile. */
static void expect_arena_back(struct __test_metadata *_metadata, FIXTURE_DATA(foreign) * self)
{
	struct drm_npumem_bank bank;

	while (!npu_bank(self->other, &bank) && bank.free != bank.size)
		sched_yield();
	EXPECT_EQ(bank.size, bank.free);
	EXPECT_TRUE(fence_pending(self));
}

static void submit_all(struct __test_metadata *_metadata, FIXTURE_DATA(foreign) * self)
{
	uint32_t i;

	for (i = 0; i < CHAIN_STEPS; i++)
		ASSERT_EQ(0, submit(self, i, i ? 0 : self->in));
}

TEST_F(foreign, is_waited_for)
{
	int i;

	submit_all(_metadata, self);
	EXPECT_EQ(0, npu_sync_signalled(self->other, self->seen[0], 0));
	EXPECT_TRUE(npu_all_bytes(self->w.arena + self->model.placements[CHAIN_A].offset,
				  CHAIN_SIZE, 0));
	fence_signal(self);
	for (i = 0; i < CHAIN_STEPS; i++) {
		EXPECT_EQ(0, npu_sync_wait(self->other, self->seen[i], 0));
		EXPECT_EQ(1, npu_sync_status(self->other, self->seen[i]));
	}
	EXPECT_TRUE(npu_all_bytes(self->w.arena + self->model.placements[CHAIN_Y].offset,
				  CHAIN_SIZE, CHAIN_LAST + 1));
}

/* Neither engine nor queue is kept. */
TEST_F(foreign, keeps_nobody_else_waiting)
{
	struct world w;

	submit_all(_metadata, self);
	ASSERT_EQ(0, world_open(&w, self->other, &self->model));
	EXPECT_EQ(0, world_step(&w, CHAIN_COPY, NPUMEM_SIM_FILL, 1));
	EXPECT_EQ(0, world_wait(&w));
	EXPECT_EQ(0, npu_sync_signalled(self->other, self->seen[0], 0));
	EXPECT_TRUE(fence_pending(self));
	world_close(&w);
}

TEST_F(foreign, file_closed)
{
	submit_all(_metadata, self);
	client_close(self);
	expect_ended(_metadata, self, -ECANCELED);
	expect_arena_back(_metadata, self);
}

TEST_F(foreign, file_of_a_destroyed_run_closed)
{
	submit_all(_metadata, self);
	ASSERT_EQ(0, world_destroy(self->fd, DRM_IOCTL_NPUMEM_RUN_DESTROY, self->w.run));
	EXPECT_EQ(0, npu_sync_signalled(self->other, self->seen[0], 0));
	client_close(self);
	expect_ended(_metadata, self, -ECANCELED);
	expect_arena_back(_metadata, self);
}

TEST_F(foreign, client_dies)
{
	int status, ready[2];
	char byte;
	pid_t pid;

	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		byte = submit(self, CHAIN_COPY, self->in) || submit(self, CHAIN_MIX, 0) ||
		       submit(self, CHAIN_LAST, 0);
		if (write(ready[1], &byte, 1) == 1)
			pause();
		_exit(1);
	}
	client_close(self);
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	ASSERT_EQ(0, byte);
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	expect_ended(_metadata, self, -ECANCELED);
	expect_arena_back(_metadata, self);
	close(ready[0]);
	close(ready[1]);
}

/* The one before it fails: it is not to be run, so there is nothing to wait for. */
TEST_F(foreign, run_fails)
{
	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, npu_knob("fail_next", 1));
	ASSERT_EQ(0, submit(self, CHAIN_COPY, 0));
	ASSERT_EQ(0, submit(self, CHAIN_MIX, self->in));
	ASSERT_EQ(0, submit(self, CHAIN_LAST, self->in));
	ASSERT_EQ(0, npu_knob("pause", 0));
	ASSERT_EQ(0, npu_sync_wait(self->other, self->seen[CHAIN_LAST], 0));
	EXPECT_EQ(-EIO, npu_sync_status(self->other, self->seen[CHAIN_COPY]));
	EXPECT_EQ(-ECANCELED, npu_sync_status(self->other, self->seen[CHAIN_MIX]));
	EXPECT_EQ(-ECANCELED, npu_sync_status(self->other, self->seen[CHAIN_LAST]));
	EXPECT_TRUE(fence_pending(self));
	/* Nothing of it is left. */
	ASSERT_EQ(0, world_reset(&self->w));
	EXPECT_EQ(0, submit(self, CHAIN_COPY, 0));
	EXPECT_EQ(0, npu_sync_wait(self->other, self->seen[CHAIN_COPY], 0));
	EXPECT_EQ(1, npu_sync_status(self->other, self->seen[CHAIN_COPY]));
}

/* A fence that is in a bound buffer, as another device's access is. */
TEST_F(foreign, fence_of_a_buffer)
{
	struct dma_buf_import_sync_file import = {
		.flags = DMA_BUF_SYNC_WRITE,
		.fd = self->sync_file,
	};
	struct model m = model_external();
	uint32_t bo, t;
	struct world w;
	int buf;

	ASSERT_EQ(0, world_open(&w, self->fd, &m));
	ASSERT_EQ(0,
		  npu_bo_create(self->fd, EXTERNAL_TENSORS * EXTERNAL_SIZE, NPUMEM_BO_SYSTEM, &bo));
	for (t = 0; t < EXTERNAL_TENSORS; t++)
		if (t != EXTERNAL_A)
			ASSERT_EQ(0, world_bind(&w, t, bo, t * EXTERNAL_SIZE));
	ASSERT_EQ(0, drmPrimeHandleToFD(self->fd, bo, O_RDWR | O_CLOEXEC, &buf));
	ASSERT_EQ(0, ioctl(buf, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &import));
	EXPECT_EQ(0, world_step(&w, 0, NPUMEM_SIM_MIX, 1));
	EXPECT_EQ(-ETIMEDOUT, npu_bo_wait(self->fd, w.arena_bo, 0));
	munmap(w.arena, w.arena_size);
	client_close(self);
	expect_arena_back(_metadata, self);
	close(buf);
	model_free(&m);
}

/* Clients keep their files open; no job waits for what no engine will come of. */
TEST_F(foreign, device_goes)
{
	struct sync_fence_info fence = { 0 };
	struct sync_file_info info = { .num_fences = 1, .sync_fence_info = (uintptr_t)&fence };
	struct pollfd last = { .events = POLLIN };
	char name[64];

	submit_all(_metadata, self);
	ASSERT_EQ(0, drmSyncobjExportSyncFile(self->other, self->seen[CHAIN_LAST], &last.fd));
	ASSERT_TRUE(npu_device_name(name, sizeof(name)));
	ASSERT_EQ(0, npu_write(NPU_DRIVER "unbind", name));
	EXPECT_EQ(1, poll(&last, 1, NPU_PATIENCE_NS / 1000000));
	EXPECT_TRUE(fence_pending(self));
	EXPECT_EQ(0, ioctl(last.fd, SYNC_IOC_FILE_INFO, &info));
	EXPECT_EQ(-ENODEV, fence.status);
	close(last.fd);
	client_close(self);
	EXPECT_EQ(0, npu_write(NPU_DRIVER "bind", name));
}

TEST_HARNESS_MAIN
