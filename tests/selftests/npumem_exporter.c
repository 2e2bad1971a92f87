// SPDX-License-Identifier: MIT
/*
 * External tensors in the dma-bufs of an awkward exporter (modules/npumem_test_exporter.c):
 * I/O memory, memory whose CPU view is stale until an access is announced, memory that may
 * only be read.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "modules/npumem_test_exporter.h"
#include "npumem_world.h"

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
	uint32_t t;
	int err = 0;

	for (t = 0; !err && t < EXTERNAL_TENSORS; t++)
		if (t != EXTERNAL_A && t != but)
			err = world_bind(&self->w, t, self->own, offsets[t]);
	return err;
}

static int submit_all(FIXTURE_DATA(exporter) * self)
{
	struct drm_npumem_job job = world_job(&self->w, 0, NPUMEM_OP_MIX, KEY);
	struct drm_npumem_submit args;

	job.position_count = EXTERNAL_STEPS;
	return world_submit(&self->w, &job, 1, &args);
}

/* What Y must be, given X and P. */
static void expect(const struct model *m, const uint8_t *x, const uint8_t *p, uint8_t *y)
{
	uint8_t **ref = reference_new(m);
	uint32_t t;

	memcpy(ref[EXTERNAL_X], x, SIZE);
	memcpy(ref[EXTERNAL_P], p, SIZE);
	for (t = 0; t < EXTERNAL_STEPS; t++)
		reference_step(m, ref, t, NPUMEM_OP_MIX, KEY);
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
	job = world_job(&self->w, EXTERNAL_STORE, NPUMEM_OP_MIX, KEY);
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

TEST_HARNESS_MAIN
