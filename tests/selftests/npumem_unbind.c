// SPDX-License-Identifier: MIT
/*
 * The device goes while everything is in flight: a job, a job behind it, a plan
 * request, mappings. All of it ends with ENODEV, mappings go on without meaning, and a new device
 * is there, whole, after bind. Runs near the end: it takes the device from everybody.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/dma-buf.h>
#include <linux/sync_file.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "npumem_fake_daemon.h"
#include "npumem_attach.h"

/* A knob of the one engine there is. */
static int set_engine(const char *knob, const char *value)
{
	char pattern[64];
	glob_t found;
	int err;

	snprintf(pattern, sizeof(pattern), "/sys/kernel/debug/{accel,dri}/*/sim/%s", knob);
	if (glob(pattern, GLOB_BRACE, NULL, &found))
		return -ENOENT;
	err = npu_write(found.gl_pathv[0], value);
	globfree(&found);
	return err;
}

static int pause_engine(const char *value)
{
	return set_engine("pause", value);
}

static int slow_engine(const char *bytes_per_second)
{
	return set_engine("bytes_per_second", bytes_per_second);
}

FIXTURE(unbind)
{
	int fd;
	char name[256];
	struct model model;
	struct world w;
	struct fake_daemon daemon;
};

FIXTURE_SETUP(unbind)
{
	ASSERT_TRUE(npu_device_name(self->name, sizeof(self->name)));
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	self->model = model_chain();
	ASSERT_EQ(0, world_open(&self->w, self->fd, &self->model));
	ASSERT_EQ(0, fake_open(&self->daemon));
}

/* However far the test came, the device is bound and whole at the end. */
FIXTURE_TEARDOWN(unbind)
{
	struct drm_npumem_bank bank;
	char name[256];
	int fd;

	fake_close(&self->daemon);
	if (self->fd >= 0)
		close(self->fd);
	if (self->w.arena)
		munmap(self->w.arena, self->w.arena_size);
	model_free(&self->model);
	if (!npu_device_name(name, sizeof(name)))
		EXPECT_EQ(0, npu_write(NPU_DRIVER "bind", self->name));
	fd = npu_open();
	ASSERT_GE(fd, 0);
	while (!npu_bank(fd, &bank) && bank.free != bank.size)
		sched_yield();
	EXPECT_EQ(bank.size, bank.free);
	close(fd);
}

TEST_F(unbind, with_everything_in_flight)
{
	struct drm_npumem_plan_request request = { .deadline_ns = npu_late() };
	struct drm_npumem_sync sync = { 0 };
	struct drm_npumem_job job = world_job(&self->w, 0, NPUMEM_SIM_FILL, 1);
	struct drm_npumem_submit args = {
		.run = self->w.run,
		.jobs = NPU_ARRAY(&job, 1),
		.out_syncs = NPU_ARRAY(&sync, 1),
	};
	struct drm_npumem_info info;
	struct fake_request accepted;
	uint32_t out[2], handle;
	uint8_t *system;
	int i;

	ASSERT_EQ(0, fake_register(&self->daemon, NPUMEM_VERSION, "unbind"));
	request.graph = self->w.graph;
	request.out_sync = npu_syncobj(self->fd);
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_PLAN_REQUEST, &request));
	ASSERT_EQ(0, fake_accept(&self->daemon, &accepted));
	ASSERT_EQ(0, npu_bo_create(self->fd, 4096, NPUMEM_BO_SYSTEM, &handle));
	system = npu_bo_map(self->fd, handle, 4096);
	ASSERT_NE(NULL, system);
	EXPECT_FALSE(npu_read_faults(system));
	EXPECT_FALSE(npu_read_faults(self->w.arena));

	/* One job in the engine's hands, one behind it. */
	ASSERT_EQ(0, pause_engine("1\n"));
	for (i = 0; i < 2; i++) {
		sync.handle = out[i] = npu_syncobj(self->fd);
		job.first_position = i;
		ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args));
		EXPECT_EQ(0, npu_sync_signalled(self->fd, out[i], 0));
	}

	ASSERT_EQ(0, npu_write(NPU_DRIVER "unbind", self->name));

	EXPECT_EQ(-ENODEV, npu_info(self->fd, &info));
	EXPECT_EQ(-ENODEV, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args));
	EXPECT_EQ(-ENODEV, npu_bo_create(self->fd, 4096, NPUMEM_BO_CARVEOUT, &handle));
	EXPECT_FALSE(npu_read_faults(self->w.arena));
	EXPECT_FALSE(npu_read_faults(system));
	/* The request has ended: there is nobody left to be told. */
	EXPECT_EQ(-ENOENT, fake_done(&self->daemon, accepted.id, ENOSPC, NULL, NULL));
	close(accepted.fd);
	munmap(system, 4096);
}

/*
 * Programs go on, and see nothing of others: each file's mappings of the carveout are one page of
 * its own from now on, whatever they were. System memory is still there.
 */
TEST_F(unbind, mappings_go_on)
{
	uint8_t *mem[2], *shared[2], *system, *cut;
	uint32_t handle;
	int fds[2], i;

	for (i = 0; i < 2; i++) {
		fds[i] = npu_open();
		ASSERT_GE(fds[i], 0);
		ASSERT_EQ(0, npu_bo_create(fds[i], 16384, NPUMEM_BO_CARVEOUT, &handle));
		mem[i] = npu_bo_map(fds[i], handle, 16384);
		ASSERT_NE(NULL, mem[i]);
		memset(mem[i], 0x5e, 16384);
		/* Of a shared arena nobody has the turn. */
		ASSERT_EQ(0, npu_bo_create(fds[i], 4096, NPUMEM_BO_SHARED, &handle));
		shared[i] = npu_bo_map(fds[i], handle, 4096);
		ASSERT_NE(NULL, shared[i]);
		EXPECT_TRUE(npu_read_faults(shared[i]));
	}
	ASSERT_EQ(0, npu_bo_create(fds[0], 4096, NPUMEM_BO_SYSTEM, &handle));
	system = npu_bo_map(fds[0], handle, 4096);
	ASSERT_NE(NULL, system);
	memset(system, 0xc3, 4096);
	/* One that was cut in pieces, of which one is for reading only. */
	cut = mem[0] + 8192;
	ASSERT_EQ(0, mprotect(cut, 4096, PROT_READ));

	ASSERT_EQ(0, npu_write(NPU_DRIVER "unbind", self->name));

	ASSERT_FALSE(npu_read_faults(mem[0]));
	EXPECT_TRUE(npu_all_bytes(mem[0], 16384, 0));
	EXPECT_FALSE(npu_write_faults(mem[0] + 12288, 0x11));
	EXPECT_FALSE(npu_write_faults(shared[0] + 1, 0x22));
	EXPECT_EQ(0x11, *(volatile uint8_t *)cut);
	EXPECT_EQ(0x22, ((volatile uint8_t *)mem[0])[1]);
	ASSERT_FALSE(npu_read_faults(mem[1]));
	EXPECT_TRUE(npu_all_bytes(mem[1], 16384, 0));
	EXPECT_TRUE(npu_all_bytes(shared[1], 4096, 0));
	EXPECT_TRUE(npu_all_bytes(system, 4096, 0xc3));
	memset(system, 0x3c, 4096);
	EXPECT_TRUE(npu_all_bytes(system, 4096, 0x3c));
	/* A file may be closed before its mappings, which are as they were. */
	close(fds[0]);
	EXPECT_EQ(0x11, *(volatile uint8_t *)cut);
	munmap(system, 4096);
	for (i = 0; i < 2; i++) {
		munmap(mem[i], 16384);
		munmap(shared[i], 4096);
	}
	close(fds[1]);
}

/* What a run is bound to outlives the device as the run does, and is let go with it. */
TEST_F(unbind, with_tensors_bound)
{
	struct model m = model_external();
	struct drm_npumem_job jobs[2];
	struct drm_npumem_submit args;
	uint32_t system, carveout, t;
	uint8_t *mapped;
	struct world w;

	ASSERT_EQ(0, world_open(&w, self->fd, &m));
	ASSERT_EQ(0, npu_bo_create(self->fd, 8192, NPUMEM_BO_SYSTEM, &system));
	ASSERT_EQ(0, npu_bo_create(self->fd, 8192, NPUMEM_BO_CARVEOUT, &carveout));
	mapped = npu_bo_map(self->fd, carveout, 8192);
	ASSERT_NE(NULL, mapped);
	for (t = 0; t < EXTERNAL_TENSORS; t++)
		if (t != EXTERNAL_A)
			ASSERT_EQ(0,
				  world_bind(&w, t, t % 2 ? system : carveout, t * EXTERNAL_SIZE));
	ASSERT_EQ(0, pause_engine("1\n"));
	jobs[0] = world_job(&w, EXTERNAL_LOAD, NPUMEM_SIM_MIX, 1);
	jobs[1] = world_job(&w, EXTERNAL_MIX, NPUMEM_SIM_MIX, 1);
	ASSERT_EQ(0, world_submit(&w, jobs, 2, &args));
	ASSERT_EQ(0, npu_bo_close(self->fd, system));

	ASSERT_EQ(0, npu_write(NPU_DRIVER "unbind", self->name));

	EXPECT_EQ(-ENODEV, world_bind(&w, EXTERNAL_Y, 0, 0));
	EXPECT_FALSE(npu_read_faults(mapped));
	munmap(mapped, 8192);
	munmap(w.arena, w.arena_size);
	model_free(&m);
}

/* Loads, spills and fills end as all jobs do; host memory stays until the run goes. */
TEST_F(unbind, with_copies_in_flight)
{
	struct drm_npumem_run_query query;
	struct model m = model_spill();
	struct drm_npumem_submit args;
	struct drm_npumem_job jobs[2];
	struct world w;

	ASSERT_EQ(0, world_open(&w, self->fd, &m));
	EXPECT_FALSE(npu_read_faults(w.host));
	jobs[0] = world_job(&w, 0, NPUMEM_SIM_MIX, 1);
	jobs[0].position_count = SPILL_AT_FILL_A;
	jobs[1] = world_job(&w, SPILL_AT_FILL_A, NPUMEM_SIM_MIX, 1);
	jobs[1].position_count = SPILL_POSITIONS - SPILL_AT_FILL_A;
	/* The first one is under way, and takes its time. */
	ASSERT_EQ(0, slow_engine("10000\n"));
	ASSERT_EQ(0, world_submit(&w, jobs, 2, &args));
	ASSERT_EQ(0, npu_bo_close(self->fd, w.host_bo));

	ASSERT_EQ(0, npu_write(NPU_DRIVER "unbind", self->name));

	EXPECT_EQ(-ENODEV, world_query(&w, &query));
	EXPECT_FALSE(npu_read_faults(w.host));
	munmap(w.host, w.host_size);
	munmap(w.arena, w.arena_size);
	model_free(&m);
}

/* Whose a fence is said to be. Never the scheduler: that may be gone when it is asked. */
static void check_fence(struct __test_metadata *_metadata, int file, int status)
{
	struct sync_fence_info fence = { 0 };
	struct sync_file_info info = { .num_fences = 1, .sync_fence_info = (uintptr_t)&fence };

	ASSERT_EQ(0, ioctl(file, SYNC_IOC_FILE_INFO, &info));
	EXPECT_EQ(1, info.num_fences);
	EXPECT_EQ(status, fence.status);
	EXPECT_STRNE("drm_sched", fence.driver_name);
	EXPECT_STRNE("sim", fence.obj_name);
}

/* What others got of SUBMIT, by a syncobj and by a buffer, outlives all of it. */
TEST_F(unbind, fences_in_others_hands)
{
	struct dma_buf_export_sync_file of_buffer = { .flags = DMA_BUF_SYNC_RW, .fd = -1 };
	struct drm_npumem_job job = world_job(&self->w, 0, NPUMEM_SIM_FILL, 1);
	struct drm_npumem_sync sync = { .handle = npu_syncobj(self->fd) };
	struct drm_npumem_submit args = {
		.run = self->w.run,
		.jobs = NPU_ARRAY(&job, 1),
		.out_syncs = NPU_ARRAY(&sync, 1),
	};
	int buffer, of_syncobj;

	ASSERT_EQ(0, pause_engine("1\n"));
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args));
	ASSERT_EQ(0, drmSyncobjExportSyncFile(self->fd, sync.handle, &of_syncobj));
	ASSERT_EQ(0, drmPrimeHandleToFD(self->fd, self->w.arena_bo, DRM_CLOEXEC, &buffer));
	ASSERT_EQ(0, ioctl(buffer, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &of_buffer));
	close(buffer);
	check_fence(_metadata, of_syncobj, 0);
	check_fence(_metadata, of_buffer.fd, 0);
	ASSERT_EQ(0, pause_engine("0\n"));
	ASSERT_EQ(0, world_wait(&self->w));

	/* The device, and with it the scheduler, goes with the last file. */
	munmap(self->w.arena, self->w.arena_size);
	self->w.arena = NULL;
	close(self->fd);
	self->fd = -1;
	ASSERT_EQ(0, npu_write(NPU_DRIVER "unbind", self->name));
	check_fence(_metadata, of_syncobj, 1);
	check_fence(_metadata, of_buffer.fd, 1);
	close(of_syncobj);
	close(of_buffer.fd);
}

/*
 * struct waiter - a thread that waits for the turn of a run
 * @about: it is about to
 */
struct waiter {
	pthread_t thread;
	struct world w;
	atomic_bool about;
	int err;
};

static void *wait_for_turn(void *data)
{
	struct waiter *waiter = data;

	atomic_store(&waiter->about, true);
	waiter->err = world_begin(&waiter->w, npu_now() + NPU_PATIENCE_NS);
	return NULL;
}

/* Those who wait for a shared arena are told; who has it loses it. */
TEST_F(unbind, with_turns)
{
	struct waiter waiters[3] = { 0 };
	struct world w;
	uint32_t bo;
	int i;

	ASSERT_EQ(0, npu_bo_create(self->fd, 65536, NPUMEM_BO_SHARED, &bo));
	ASSERT_EQ(0, world_open_shared(&w, self->fd, &self->model, bo));
	ASSERT_EQ(0, world_begin(&w, 0));
	ASSERT_EQ(0, pause_engine("1\n"));
	ASSERT_EQ(0, world_step(&w, 0, NPUMEM_SIM_FILL, 1));
	EXPECT_FALSE(npu_read_faults(w.arena));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, world_open_shared(&waiters[i].w, self->fd, &self->model, bo));
		ASSERT_EQ(0, pthread_create(&waiters[i].thread, NULL, wait_for_turn, &waiters[i]));
		while (!atomic_load(&waiters[i].about))
			sched_yield();
	}
	/* Most of the time they wait by now; one that does not yet is told the same. */
	usleep(20000);
	ASSERT_EQ(0, npu_write(NPU_DRIVER "unbind", self->name));
	for (i = 0; i < 3; i++) {
		pthread_join(waiters[i].thread, NULL);
		EXPECT_EQ(-ENODEV, waiters[i].err);
	}
	EXPECT_FALSE(npu_read_faults(w.arena));
	EXPECT_EQ(-ENODEV, world_end(&w));
	EXPECT_EQ(-ENODEV, world_begin(&w, 0));
	munmap(w.arena, w.arena_size);
	for (i = 0; i < 3; i++)
		munmap(waiters[i].w.arena, w.arena_size);
}

TEST_F(unbind, new_device_works_while_the_old_file_is_open)
{
	struct world w;
	uint32_t i;
	int fd;

	ASSERT_EQ(0, npu_write(NPU_DRIVER "unbind", self->name));
	ASSERT_EQ(0, npu_write(NPU_DRIVER "bind", self->name));
	fd = npu_open();
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, world_open(&w, fd, &self->model));
	for (i = 0; i < CHAIN_STEPS; i++)
		EXPECT_EQ(0, world_step(&w, i, NPUMEM_SIM_FILL, i + 1));
	EXPECT_EQ(0, world_wait(&w));
	EXPECT_TRUE(npu_all_bytes(w.arena + self->model.placements[CHAIN_Y].offset, CHAIN_SIZE,
				  CHAIN_STEPS));
	world_close(&w);
	close(fd);
}

TEST_F(unbind, many_times)
{
	int i, fd;

	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, npu_write(NPU_DRIVER "unbind", self->name));
		fd = npu_open();
		EXPECT_EQ(-1, fd);
		ASSERT_EQ(0, npu_write(NPU_DRIVER "bind", self->name));
		fd = npu_open();
		ASSERT_GE(fd, 0);
		close(fd);
	}
}

/* A process has a task in its hands; it learns that there is no more. */
TEST_F(unbind, with_an_engine_in_a_process)
{
	struct npumem_engine_next task, next = { 0 };
	struct attached engine, shared;

	ASSERT_EQ(0, attach_engine(&engine, self->fd, 0, 65536, ATTACH_HANG));
	ASSERT_EQ(0, attach_engine(&shared, self->fd, NPUMEM_ATTACH_SHARED, 65536, ATTACH_HANG));
	ASSERT_EQ(0, attach_submit(&self->w, CHAIN_COPY));
	ASSERT_EQ(0, attach_submit(&self->w, CHAIN_MIX));
	ASSERT_EQ(0, attach_fetch(&engine, &task));

	ASSERT_EQ(0, npu_write(NPU_DRIVER "unbind", self->name));

	EXPECT_EQ(POLLHUP, attach_poll(&engine));
	EXPECT_EQ(POLLHUP, attach_poll(&shared));
	EXPECT_EQ(-ENODEV, attach_commit(&engine, task.task, 0));
	EXPECT_EQ(-ENODEV, attach_next(&shared, &next));
	EXPECT_EQ(-ENODEV, attach_alive(&engine, task.task));
	EXPECT_FALSE(npu_read_faults(engine.window));
	munmap(engine.window, engine.size);
	munmap(shared.window, shared.size);
	/* What is left of them goes with their descriptors. */
	close(engine.fd);
	close(shared.fd);
}

TEST_HARNESS_MAIN
