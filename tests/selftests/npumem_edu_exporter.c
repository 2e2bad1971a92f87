// SPDX-License-Identifier: MIT
/*
 * DMA (npumem_edu) in the dma-bufs of an awkward exporter (modules/npumem_test_exporter.c):
 * one that maps less than there is, refuses, takes its time, or is still mapped when the
 * device goes.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "modules/npumem_test_exporter.h"
#include "npumem_edu_test.h"

#define EXPORTER "npumem_test_exporter"

FIXTURE(dma)
{
	int fd, exporter;
	struct model model;
	struct world w;
	uint32_t own;
	uint8_t *map;
};

FIXTURE_SETUP(dma)
{
	ASSERT_EQ(0, npu_module_load(EXPORTER));
	self->exporter = open("/dev/" EXPORTER, O_RDWR | O_CLOEXEC);
	ASSERT_GE(self->exporter, 0);
	self->fd = edu_open(EDU_ALL);
	ASSERT_GE(self->fd, 0);
	self->model = edu_model_bound();
	ASSERT_EQ(0, world_open(&self->w, self->fd, &self->model));
	ASSERT_EQ(0, npu_bo_create(self->fd, 4096, NPUMEM_BO_SYSTEM, &self->own));
	self->map = npu_bo_map(self->fd, self->own, 4096);
	ASSERT_NE(NULL, self->map);
}

FIXTURE_TEARDOWN(dma)
{
	ioctl(self->exporter, EXPORTER_GO);
	munmap(self->map, 4096);
	world_close(&self->w);
	model_free(&self->model);
	close(self->fd);
	close(self->exporter);
	EXPECT_EQ(0, npu_module_unload(EDU_MODULE));
	EXPECT_EQ(0, npu_module_unload(EXPORTER));
}

/* The exporter's buffer, imported by that file; 0 if that fails. */
static uint32_t import(FIXTURE_DATA(dma) * self, int fd, uint32_t flags)
{
	uint32_t handle = 0;

	if (ioctl(self->exporter, EXPORTER_CREATE, &flags))
		return 0;
	if (drmPrimeFDToHandle(fd, (int)flags, &handle))
		handle = 0;
	close((int)flags);
	return handle;
}

static struct exporter_counts counts(FIXTURE_DATA(dma) * self)
{
	struct exporter_counts c;

	if (ioctl(self->exporter, EXPORTER_COUNTS, &c))
		memset(&c, 0xff, sizeof(c));
	return c;
}

/* The device's bytes, without any access of the CPU's to the dma-buf; and back. Mapped once. */
TEST_F(dma, device_memory)
{
	uint8_t bytes[EXTERNAL_SIZE], out[EXTERNAL_SIZE];
	struct exporter_counts c;
	uint32_t bo = import(self, self->fd, 0);

	ASSERT_NE(0, bo);
	edu_fill(bytes, sizeof(bytes), 1);
	ASSERT_EQ(sizeof(bytes), pwrite(self->exporter, bytes, sizeof(bytes), 0));
	ASSERT_EQ(0, edu_copy_bound(&self->w, bo, 0, bo, 8192));
	ASSERT_EQ(sizeof(out), pread(self->exporter, out, sizeof(out), 8192));
	EXPECT_TRUE(edu_same(out, bytes, sizeof(bytes)));
	c = counts(self);
	EXPECT_EQ(1, c.maps);
	EXPECT_EQ(0, c.unmaps);
	EXPECT_EQ(0, c.vmaps);
	EXPECT_EQ(0, c.begin_read + c.begin_write + c.end_read + c.end_write);
	ASSERT_EQ(0, world_reset(&self->w));
	ASSERT_EQ(0, world_bind(&self->w, 0, 0, 0));
	EXPECT_EQ(0, counts(self).unmaps);
	ASSERT_EQ(0, world_bind(&self->w, 1, 0, 0));
	EXPECT_EQ(1, counts(self).unmaps);
}

/* Memory that the CPU can have no mapping of, nor any access to, is a device's like any other. */
TEST_F(dma, io_memory)
{
	uint32_t bo =
		import(self, self->fd, EXPORTER_IOMEM | EXPORTER_NO_ACCESS | EXPORTER_ERRNO(EPERM));
	uint8_t bytes[EXTERNAL_SIZE];

	ASSERT_NE(0, bo);
	edu_fill(bytes, sizeof(bytes), 3);
	ASSERT_EQ(sizeof(bytes), pwrite(self->exporter, bytes, sizeof(bytes), 0));
	ASSERT_EQ(0, edu_copy_bound(&self->w, bo, 0, self->own, 0));
	EXPECT_TRUE(edu_same(self->map, bytes, sizeof(bytes)));
}

/* What it maps is less than what it says that it has. */
TEST_F(dma, short_table)
{
	uint32_t bo = import(self, self->fd, EXPORTER_SHORT);

	ASSERT_NE(0, bo);
	EXPECT_EQ(-EINVAL, world_bind(&self->w, 0, bo, 0));
	EXPECT_EQ(1, counts(self).maps);
	EXPECT_EQ(1, counts(self).unmaps);
	/* Nothing is left of that. */
	EXPECT_EQ(0, edu_copy_bound(&self->w, self->own, 0, self->own, 2048));
}

/* Its own reason, unless that has another meaning here. */
TEST_F(dma, refused)
{
	static const struct {
		int theirs, ours;
	} cases[] = {
		{ ENOMEM, -ENOMEM },	{ EPERM, -EREMOTEIO }, { ENXIO, -EREMOTEIO },
		{ ESTALE, -EREMOTEIO }, { EIO, -EREMOTEIO },   { EAGAIN, -EBUSY },
	};
	uint32_t bo;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bo = import(self, self->fd, EXPORTER_NO_MAP | EXPORTER_ERRNO(cases[i].theirs));
		ASSERT_NE(0, bo);
		EXPECT_EQ(cases[i].ours, world_bind(&self->w, 0, bo, 0))
		TH_LOG("errno %d", cases[i].theirs);
		EXPECT_EQ(0, counts(self).unmaps);
		npu_bo_close(self->fd, bo);
		/* One buffer for each open file. */
		close(self->exporter);
		self->exporter = open("/dev/" EXPORTER, O_RDWR | O_CLOEXEC);
		ASSERT_GE(self->exporter, 0);
	}
	EXPECT_EQ(0, edu_copy_bound(&self->w, self->own, 0, self->own, 2048));
}

/* It may be read, and is mapped for nothing else. */
TEST_F(dma, read_only)
{
	uint8_t bytes[EXTERNAL_SIZE];
	uint32_t bo = import(self, self->fd, EXPORTER_READ_ONLY);

	ASSERT_NE(0, bo);
	EXPECT_EQ(-EACCES, world_bind(&self->w, 1, bo, 0));
	EXPECT_EQ(0, counts(self).maps);
	edu_fill(bytes, sizeof(bytes), 2);
	ASSERT_EQ(sizeof(bytes), pwrite(self->exporter, bytes, sizeof(bytes), 0));
	ASSERT_EQ(0, edu_copy_bound(&self->w, bo, 0, self->own, 0));
	EXPECT_TRUE(edu_same(self->map, bytes, sizeof(bytes)));
}

/* A binding that takes its time. */
struct slow {
	struct world *w;
	uint32_t bo;
	int err;
};

static void *bind_slowly(void *data)
{
	struct slow *slow = data;

	slow->err = world_bind(slow->w, 0, slow->bo, 0);
	return NULL;
}

static bool comes_to_map(FIXTURE_DATA(dma) * self)
{
	const int64_t end = npu_now() + NPU_PATIENCE_NS;

	while (!counts(self).maps && npu_now() < end)
		sched_yield();
	return counts(self).maps;
}

/* Another client maps, unmaps and computes meanwhile. */
TEST_F(dma, slow_exporter_delays_nobody_else)
{
	struct slow slow = { .w = &self->w, .err = -1 };
	struct model model = edu_model_bound();
	struct world other;
	pthread_t thread;
	uint32_t bo;
	int fd;

	fd = npu_open_with(NPUMEM_EDU_NAME);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, world_open(&other, fd, &model));
	ASSERT_EQ(0, npu_bo_create(fd, 4096, NPUMEM_BO_SYSTEM, &bo));
	slow.bo = import(self, self->fd, EXPORTER_SLOW);
	ASSERT_NE(0, slow.bo);
	ASSERT_EQ(0, pthread_create(&thread, NULL, bind_slowly, &slow));
	ASSERT_TRUE(comes_to_map(self));
	/* Were it to wait for the exporter, it would do so for ever. */
	EXPECT_EQ(0, edu_copy_bound(&other, bo, 0, bo, 2048));
	EXPECT_EQ(0, world_reset(&other));
	EXPECT_EQ(0, world_bind(&other, 0, 0, 0));
	EXPECT_EQ(0, world_bind(&other, 1, 0, 0));
	EXPECT_EQ(-1, slow.err);
	ASSERT_EQ(0, ioctl(self->exporter, EXPORTER_GO));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, slow.err);
	npu_bo_close(fd, bo);
	world_close(&other);
	model_free(&model);
	close(fd);
}

/* Who waits for it, or for who waits for it, can be killed; what it held is free then. */
TEST_F(dma, slow_exporter_and_death)
{
	uint32_t bo = import(self, self->fd, EXPORTER_SLOW);
	pid_t pids[2];
	int i, status;

	ASSERT_NE(0, bo);
	for (i = 0; i < 2; i++) {
		pids[i] = fork();
		ASSERT_GE(pids[i], 0);
		if (!pids[i])
			_exit(world_bind(&self->w, i, bo, 0) ? 1 : 0);
		ASSERT_TRUE(comes_to_map(self));
	}
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, waitpid(pids[i], &status, WNOHANG));
		ASSERT_EQ(0, kill(pids[i], SIGKILL));
		ASSERT_EQ(pids[i], waitpid(pids[i], &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
	}
	ASSERT_EQ(0, ioctl(self->exporter, EXPORTER_GO));
	EXPECT_EQ(0, edu_copy_bound(&self->w, bo, 0, self->own, 0));
}

/* The device goes: its mapping goes with it, and who unbinds later finds it undone. */
TEST_F(dma, device_goes)
{
	uint32_t bo = import(self, self->fd, 0);

	ASSERT_NE(0, bo);
	ASSERT_EQ(0, edu_copy_bound(&self->w, bo, 0, bo, 8192));
	ASSERT_EQ(1, counts(self).maps);
	ASSERT_EQ(0, edu_unbind());
	EXPECT_EQ(1, counts(self).unmaps);
	EXPECT_EQ(-ENODEV, world_bind(&self->w, 0, 0, 0));
	ASSERT_EQ(0, edu_bind());
	world_close(&self->w);
	EXPECT_EQ(1, counts(self).unmaps);
}

TEST_HARNESS_MAIN
