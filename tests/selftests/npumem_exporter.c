// SPDX-License-Identifier: MIT
/*
 * External tensors in the dma-bufs of an awkward exporter (modules/npumem_test_exporter.c):
 * I/O memory, memory whose CPU view is stale until an access is announced, memory that may
 * only be read.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "modules/npumem_test_exporter.h"
#include "npumem_attach.h"

#define KEY    0xe4b0
#define SIZE   EXTERNAL_SIZE
#define MODULE "npumem_test_exporter"

FIXTURE(exporter)
{
	int fd, dev;
	struct model model;
	struct world w;
	uint32_t own; /* BO for what is not imported */
	uint8_t *own_map;
};

/* Of the tensors that are bound to the own BO. */
static const uint64_t offsets[EXTERNAL_TENSORS] = { 0, 512, 0, 1024, 2048 };

FIXTURE_SETUP(exporter)
{
	ASSERT_EQ(0, npu_module_load(MODULE));
	self->dev = open("/dev/" MODULE, O_RDWR | O_CLOEXEC);
	ASSERT_GE(self->dev, 0);
	ASSERT_EQ(0, npu_knob("pause", 0));
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	self->model = model_external();
	ASSERT_EQ(0, world_open(&self->w, self->fd, &self->model));
	ASSERT_EQ(0, npu_bo_create(self->fd, 4096, NPUMEM_BO_SYSTEM, &self->own));
	self->own_map = npu_bo_map(self->fd, self->own, 4096);
	ASSERT_NE(NULL, self->own_map);
}

FIXTURE_TEARDOWN(exporter)
{
	EXPECT_EQ(0, npu_knob("pause", 0));
	munmap(self->own_map, 4096);
	world_close(&self->w);
	model_free(&self->model);
	close(self->fd);
	close(self->dev);
	EXPECT_EQ(0, npu_module_unload(MODULE));
}

/* The exporter's buffer, imported; 0 if that fails. */
static uint32_t import(FIXTURE_DATA(exporter) * self, uint32_t flags)
{
	uint32_t handle = 0;

	if (ioctl(self->dev, EXPORTER_CREATE, &flags))
		return 0;
	if (drmPrimeFDToHandle(self->fd, (int)flags, &handle))
		handle = 0;
	close((int)flags);
	return handle;
}

static struct exporter_counts counts(FIXTURE_DATA(exporter) * self)
{
	struct exporter_counts c;

	if (ioctl(self->dev, EXPORTER_COUNTS, &c))
		memset(&c, 0xff, sizeof(c));
	return c;
}

static int bind_own(FIXTURE_DATA(exporter) * self, uint32_t but)
{
	return world_bind_external(&self->w, self->own, offsets, but);
}

static int submit_all(FIXTURE_DATA(exporter) * self)
{
	struct drm_npumem_submit args;

	return world_mix(&self->w, 0, EXTERNAL_STEPS, KEY, &args);
}

/* What Y must be, given X and P. */
static void expect(const struct model *m, const uint8_t *x, const uint8_t *p, uint8_t *y)
{
	uint8_t **ref = reference_new(m);

	memcpy(ref[EXTERNAL_X], x, SIZE);
	memcpy(ref[EXTERNAL_P], p, SIZE);
	reference_mix(m, ref, KEY);
	memcpy(y, ref[EXTERNAL_Y], SIZE);
	reference_free(m, ref);
}

static void fill(uint8_t *bytes, unsigned int seed)
{
	int i;

	for (i = 0; i < SIZE; i++)
		bytes[i] = i * 7 + seed;
}

TEST_F(exporter, io_memory_is_refused)
{
	struct exporter_counts c;
	uint32_t bo = import(self, EXPORTER_IOMEM);

	ASSERT_NE(0, bo);
	EXPECT_EQ(-EOPNOTSUPP, world_bind(&self->w, EXTERNAL_X, bo, 0));
	c = counts(self);
	EXPECT_EQ(1, c.vmaps);
	EXPECT_EQ(1, c.vunmaps);
	EXPECT_EQ(0, c.vmapping_counter);
	/* Nothing is bound, nothing is locked. */
	ASSERT_EQ(0, bind_own(self, EXTERNAL_X));
	EXPECT_EQ(-ENXIO, submit_all(self));
	EXPECT_EQ(-EOPNOTSUPP, world_bind(&self->w, EXTERNAL_X, bo, 0));
}

/* What another importer has mapped stays mapped. */
TEST_F(exporter, io_memory_of_two_importers_is_refused)
{
	struct exporter_counts c;
	uint32_t bo = import(self, EXPORTER_IOMEM | EXPORTER_VMAPPED);

	ASSERT_NE(0, bo);
	EXPECT_EQ(-EOPNOTSUPP, world_bind(&self->w, EXTERNAL_X, bo, 0));
	c = counts(self);
	EXPECT_EQ(1, c.vmaps);
	EXPECT_EQ(0, c.vunmaps);
	EXPECT_EQ(1, c.vmapping_counter);
}

TEST_F(exporter, what_is_bound_is_mapped_once)
{
	struct exporter_counts c;
	uint32_t bo = import(self, 0);

	ASSERT_NE(0, bo);
	ASSERT_EQ(0, world_bind(&self->w, EXTERNAL_X, bo, 0));
	ASSERT_EQ(0, world_bind(&self->w, EXTERNAL_P, bo, 512));
	EXPECT_EQ(2, counts(self).vmapping_counter);
	ASSERT_EQ(0, world_bind(&self->w, EXTERNAL_X, 0, 0));
	EXPECT_EQ(1, counts(self).vmapping_counter);
	ASSERT_EQ(0, npu_bo_close(self->fd, bo));
	ASSERT_EQ(0, world_bind(&self->w, EXTERNAL_P, 0, 0));
	c = counts(self);
	EXPECT_EQ(0, c.vmapping_counter);
	EXPECT_EQ(1, c.vmaps);
	EXPECT_EQ(1, c.vunmaps);
}

/* The device's bytes are read, not those that the CPU saw before. */
TEST_F(exporter, reads_are_announced)
{
	uint8_t x[SIZE], p[SIZE], y[SIZE];
	uint32_t bo = import(self, 0), i;
	struct exporter_counts c;

	ASSERT_NE(0, bo);
	ASSERT_EQ(0, bind_own(self, EXTERNAL_X));
	ASSERT_EQ(0, world_bind(&self->w, EXTERNAL_X, bo, 0));
	for (i = 1; i <= 3; i++) {
		fill(x, i);
		fill(p, 100 + i);
		ASSERT_EQ(SIZE, pwrite(self->dev, x, SIZE, 0));
		memcpy(self->own_map + offsets[EXTERNAL_P], p, SIZE);
		expect(&self->model, x, p, y);
		ASSERT_EQ(0, submit_all(self));
		ASSERT_EQ(0, npu_bo_wait(self->fd, bo, npu_now() + NPU_PATIENCE_NS));
		EXPECT_EQ(0, memcmp(self->own_map + offsets[EXTERNAL_Y], y, SIZE));
		c = counts(self);
		EXPECT_EQ(i, c.begin_read);
		EXPECT_EQ(i, c.end_read);
		ASSERT_EQ(0, world_reset(&self->w));
	}
	/* Nothing is written there. */
	EXPECT_EQ(0, c.begin_write);
	EXPECT_EQ(0, c.end_write);
	EXPECT_EQ(0, c.nested);
	/* Nor does any device need it: the CPU is the engine. */
	EXPECT_EQ(0, c.maps);
}

/* What steps wrote is there for the device to see. */
TEST_F(exporter, writes_are_announced)
{
	uint8_t x[SIZE], p[SIZE], y[SIZE], seen[SIZE];
	uint32_t bo = import(self, 0), i;
	struct exporter_counts c;

	ASSERT_NE(0, bo);
	ASSERT_EQ(0, bind_own(self, EXTERNAL_Y));
	ASSERT_EQ(0, world_bind(&self->w, EXTERNAL_Y, bo, 8192));
	for (i = 1; i <= 3; i++) {
		fill(x, i);
		fill(p, 100 + i);
		memcpy(self->own_map + offsets[EXTERNAL_X], x, SIZE);
		memcpy(self->own_map + offsets[EXTERNAL_P], p, SIZE);
		expect(&self->model, x, p, y);
		ASSERT_EQ(0, submit_all(self));
		ASSERT_EQ(0, npu_bo_wait(self->fd, bo, npu_now() + NPU_PATIENCE_NS));
		ASSERT_EQ(SIZE, pread(self->dev, seen, SIZE, 8192));
		EXPECT_EQ(0, memcmp(seen, y, SIZE));
		c = counts(self);
		EXPECT_EQ(i, c.begin_write);
		EXPECT_EQ(i, c.end_write);
		ASSERT_EQ(0, world_reset(&self->w));
	}
	EXPECT_EQ(0, c.begin_read);
	EXPECT_EQ(0, c.end_read);
	EXPECT_EQ(0, c.nested);
}

/* Two tensors in one buffer are one access; for writing, if one of them is written. */
TEST_F(exporter, one_access_a_buffer)
{
	uint32_t bo = import(self, 0);
	struct exporter_counts c;

	ASSERT_NE(0, bo);
	ASSERT_EQ(0, bind_own(self, EXTERNAL_Y));
	ASSERT_EQ(0, world_bind(&self->w, EXTERNAL_X, bo, 0));
	ASSERT_EQ(0, world_bind(&self->w, EXTERNAL_Y, bo, 8192));
	ASSERT_EQ(0, submit_all(self));
	ASSERT_EQ(0, npu_bo_wait(self->fd, bo, npu_now() + NPU_PATIENCE_NS));
	c = counts(self);
	EXPECT_EQ(0, c.begin_read);
	EXPECT_EQ(1, c.begin_write);
	EXPECT_EQ(0, c.end_read);
	EXPECT_EQ(1, c.end_write);
}

/* The access lasts until the job has ended, and BO_WAIT as long. */
TEST_F(exporter, access_lasts_as_long_as_the_job)
{
	uint32_t bo = import(self, 0);
	struct exporter_counts c;

	ASSERT_NE(0, bo);
	ASSERT_EQ(0, bind_own(self, EXTERNAL_X));
	ASSERT_EQ(0, world_bind(&self->w, EXTERNAL_X, bo, 0));
	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, submit_all(self));
	EXPECT_EQ(-ETIMEDOUT, npu_bo_wait(self->fd, bo, 0));
	c = counts(self);
	EXPECT_EQ(1, c.begin_read);
	EXPECT_EQ(0, c.end_read);
	ASSERT_EQ(0, npu_knob("pause", 0));
	ASSERT_EQ(0, npu_bo_wait(self->fd, bo, npu_now() + NPU_PATIENCE_NS));
	EXPECT_EQ(1, counts(self).end_read);
	EXPECT_EQ(0, npu_bo_wait(self->fd, bo, 0));
}

/* A SUBMIT that is refused leaves no access open. */
TEST_F(exporter, refused_submit_ends_the_access)
{
	uint32_t bo = import(self, 0);
	struct drm_npumem_submit args;
	struct drm_npumem_job job;
	struct exporter_counts c;

	ASSERT_NE(0, bo);
	ASSERT_EQ(0, bind_own(self, EXTERNAL_X));
	ASSERT_EQ(0, world_bind(&self->w, EXTERNAL_X, bo, 0));
	job = world_job(&self->w, EXTERNAL_STORE, NPUMEM_SIM_MIX, KEY);
	EXPECT_EQ(-EPERM, world_submit(&self->w, &job, 1, &args));
	EXPECT_EQ(0, npu_bo_wait(self->fd, bo, 0));
	c = counts(self);
	EXPECT_EQ(c.begin_read, c.end_read);
}

TEST_F(exporter, read_only_buffers_can_be_read)
{
	uint8_t x[SIZE], p[SIZE], y[SIZE];
	uint32_t bo = import(self, EXPORTER_READ_ONLY);

	ASSERT_NE(0, bo);
	EXPECT_EQ(-EACCES, world_bind(&self->w, EXTERNAL_Y, bo, 0));
	ASSERT_EQ(0, bind_own(self, EXTERNAL_X));
	ASSERT_EQ(0, world_bind(&self->w, EXTERNAL_X, bo, 0));
	fill(x, 9);
	fill(p, 10);
	ASSERT_EQ(SIZE, pwrite(self->dev, x, SIZE, 0));
	memcpy(self->own_map + offsets[EXTERNAL_P], p, SIZE);
	expect(&self->model, x, p, y);
	ASSERT_EQ(0, submit_all(self));
	ASSERT_EQ(0, npu_bo_wait(self->fd, self->own, npu_now() + NPU_PATIENCE_NS));
	EXPECT_EQ(0, memcmp(self->own_map + offsets[EXTERNAL_Y], y, SIZE));
	EXPECT_EQ(0, counts(self).maps);
}

static atomic_bool submitted;

static void on_tick(int signal)
{
}

/* SIGALRM has come for the process, and nobody is in a state to take it. */
static bool alarm_pending(void)
{
	unsigned long long set = 0;
	char line[256];
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "ShdPnd: %llx", &set) == 1)
			break;
	if (f)
		fclose(f);
	return set >> (SIGALRM - 1) & 1;
}

/* The engine goes on when a signal has found SUBMIT waiting, or has ended it. */
static void *go_on(void *unused)
{
	while (!submitted && !alarm_pending())
		usleep(1000);
	npu_knob("pause", 0);
	return NULL;
}

/* What an imported buffer is waited for is the caller's time: its timer does not end it. */
TEST_F_TIMEOUT(exporter, a_periodic_signal_does_not_interrupt_the_wait, 600)
{
	struct itimerval timer = { { 0, 1000 }, { 0, 1000 } }, off = { 0 };
	struct sigaction action = { .sa_handler = on_tick };
	struct drm_npumem_sync sync = { .handle = npu_syncobj(self->fd) };
	struct drm_npumem_job job;
	struct drm_npumem_submit args;
	struct dma_buf_import_sync_file import_fence = { .flags = DMA_BUF_SYNC_WRITE };
	uint32_t bo = import(self, 0), by_buffer, t, theirs;
	struct world other;
	pthread_t thread;
	sigset_t alarm;
	int dmabuf, err;

	ASSERT_NE(0, bo);
	ASSERT_EQ(0, bind_own(self, EXTERNAL_X));
	ASSERT_EQ(0, world_bind(&self->w, EXTERNAL_X, bo, 0));
	ASSERT_EQ(0, world_open(&other, self->fd, &self->model));
	ASSERT_EQ(0, npu_bo_create(self->fd, 4096, NPUMEM_BO_SYSTEM, &theirs));
	ASSERT_EQ(0, drmPrimeHandleToFD(self->fd, bo, O_RDWR | O_CLOEXEC, &dmabuf));
	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	/* By a fence that SUBMIT names, and by one that the buffer has. */
	for (by_buffer = 0; by_buffer < 2; by_buffer++) {
		for (t = 0; t < EXTERNAL_TENSORS; t++)
			if (t != EXTERNAL_A)
				ASSERT_EQ(0, world_bind(&other, t, theirs, offsets[t]));
		ASSERT_EQ(0, npu_knob("pause", 1));
		job = world_job(&other, 0, NPUMEM_SIM_NOP, 0);
		args = (struct drm_npumem_submit){
			.run = other.run,
			.jobs = NPU_ARRAY(&job, 1),
			.out_syncs = NPU_ARRAY(&sync, 1),
		};
		ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args));
		if (by_buffer) {
			ASSERT_EQ(0, drmSyncobjExportSyncFile(self->fd, sync.handle,
							      &import_fence.fd));
			ASSERT_EQ(0, ioctl(dmabuf, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &import_fence));
			close(import_fence.fd);
		}
		job = world_job(&self->w, 0, NPUMEM_SIM_NOP, 0);
		args = (struct drm_npumem_submit){
			.run = self->w.run,
			.jobs = NPU_ARRAY(&job, 1),
			.in_syncs = NPU_ARRAY(&sync, by_buffer ? 0 : 1),
		};
		submitted = false;
		sigemptyset(&alarm);
		sigaddset(&alarm, SIGALRM);
		/* The other thread takes none. */
		pthread_sigmask(SIG_BLOCK, &alarm, NULL);
		ASSERT_EQ(0, pthread_create(&thread, NULL, go_on, NULL));
		pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
		setitimer(ITIMER_REAL, &timer, NULL);
		err = npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args);
		setitimer(ITIMER_REAL, &off, NULL);
		submitted = true;
		pthread_join(thread, NULL);
		EXPECT_EQ(0, err) TH_LOG("by_buffer %u", by_buffer);
		ASSERT_EQ(0, world_wait(&self->w));
		ASSERT_EQ(0, world_wait(&other));
		ASSERT_EQ(0, world_reset(&self->w));
		ASSERT_EQ(0, world_reset(&other));
	}
	close(dmabuf);
	world_close(&other);
}

/* Errnos that have another meaning to callers are none of an exporter's to give. */
static const struct {
	int said, given;
} errnos[] = {
	{ EACCES, EACCES },   { ENOMEM, ENOMEM },   { EAGAIN, EBUSY },	   { EIO, EREMOTEIO },
	{ ENXIO, EREMOTEIO }, { EPERM, EREMOTEIO }, { ESTALE, EREMOTEIO },
};

/* Seconds until a hang is one: ESTALE had SUBMIT begin again without end. */
TEST_F_TIMEOUT(exporter, that_refuses_access, 300)
{
	uint32_t i, bo;

	ASSERT_EQ(0, bind_own(self, EXTERNAL_X));
	for (i = 0; i < ARRAY_SIZE(errnos); i++) {
		bo = import(self, EXPORTER_NO_ACCESS | EXPORTER_ERRNO(errnos[i].said));
		ASSERT_NE(0, bo);
		ASSERT_EQ(0, world_bind(&self->w, EXTERNAL_X, bo, 0));
		EXPECT_EQ(-errnos[i].given, submit_all(self));
		/* Nobody is said to access it, nor does the exporter's end come. */
		EXPECT_EQ(0, npu_bo_wait(self->fd, bo, 0));
		EXPECT_EQ(0, counts(self).end_read);
		ASSERT_EQ(0, world_bind(&self->w, EXTERNAL_X, self->own, 0));
		EXPECT_EQ(0, npu_bo_close(self->fd, bo));
		close(self->dev);
		self->dev = open("/dev/" MODULE, O_RDWR | O_CLOEXEC);
		ASSERT_GE(self->dev, 0);
	}
	/* The run is as it was. */
	EXPECT_EQ(0, submit_all(self));
	EXPECT_EQ(0, world_wait(&self->w));
}

/* What the exporter's devices wait for would wait for a process. */
TEST_F(exporter, engine_in_a_process_gets_none)
{
	struct attached engine;
	uint32_t t, bo = import(self, 0);

	ASSERT_NE(0, bo);
	ASSERT_EQ(0, attach_engine(&engine, self->fd, 0, 65536, ATTACH_HANG));
	ASSERT_EQ(0, bind_own(self, EXTERNAL_X));
	ASSERT_EQ(0, world_bind(&self->w, EXTERNAL_X, bo, 0));
	/* Even of a step that does not access it. */
	for (t = 0; t < EXTERNAL_STEPS; t++)
		EXPECT_EQ(-EOPNOTSUPP, attach_submit(&self->w, t));
	ASSERT_EQ(0, world_bind(&self->w, EXTERNAL_X, self->own, offsets[EXTERNAL_X]));
	ASSERT_EQ(0, attach_submit(&self->w, EXTERNAL_LOAD));
	EXPECT_EQ(0, attach_serve(&engine, 1, KEY));
	EXPECT_EQ(0, attach_outcome(&self->w));
	detach_engine(&engine);
	npu_bo_close(self->fd, bo);
}

TEST_HARNESS_MAIN
