// SPDX-License-Identifier: MIT
/*
 * A BO that its owner shares for reading only: whoever imports it into another file of the
 * same device may read it, and no more, whichever way he tries.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "npumem_attach.h"

enum { BO_SIZE = 65536 };

FIXTURE(read_only)
{
	int owner, fd;
	struct model model;
	struct world w; /* of fd */
	uint32_t bo;	/* of owner */
	uint8_t *map;	/* the owner's */
};

FIXTURE_VARIANT(read_only)
{
	uint32_t flags;
};

FIXTURE_VARIANT_ADD(read_only, system){ .flags = NPUMEM_BO_SYSTEM };
FIXTURE_VARIANT_ADD(read_only, carveout){ .flags = NPUMEM_BO_CARVEOUT };

FIXTURE_SETUP(read_only)
{
	self->owner = npu_open();
	self->fd = npu_open();
	ASSERT_GE(self->owner, 0);
	ASSERT_GE(self->fd, 0);
	self->model = model_external();
	ASSERT_EQ(0, world_open(&self->w, self->fd, &self->model));
	ASSERT_EQ(0, npu_bo_create(self->owner, BO_SIZE, variant->flags, &self->bo));
	self->map = npu_bo_map(self->owner, self->bo, BO_SIZE);
	ASSERT_NE(NULL, self->map);
	memset(self->map, 0x5a, BO_SIZE);
}

FIXTURE_TEARDOWN(read_only)
{
	munmap(self->map, BO_SIZE);
	world_close(&self->w);
	model_free(&self->model);
	close(self->fd);
	close(self->owner);
}

/* What the other file calls it. */
static uint32_t share(FIXTURE_DATA(read_only) * self, uint32_t flags)
{
	uint32_t handle = 0;
	int fd;

	if (drmPrimeHandleToFD(self->owner, self->bo, flags, &fd))
		return 0;
	if (drmPrimeFDToHandle(self->fd, fd, &handle))
		handle = 0;
	close(fd);
	return handle;
}

static void *map(int fd, uint32_t handle, int prot, int *err)
{
	struct drm_npumem_bo_mmap_offset args = { .handle = handle };
	void *mem;

	*err = npu_ioctl(fd, DRM_IOCTL_NPUMEM_BO_MMAP_OFFSET, &args);
	if (*err)
		return MAP_FAILED;
	mem = mmap(NULL, BO_SIZE, prot, MAP_SHARED, fd, args.offset);
	*err = mem == MAP_FAILED ? -errno : 0;
	return mem;
}

TEST_F(read_only, is_mapped_for_reading)
{
	uint32_t bo = share(self, DRM_CLOEXEC);
	void *mem;
	int err;

	ASSERT_NE(0, bo);
	mem = map(self->fd, bo, PROT_READ, &err);
	ASSERT_EQ(0, err);
	EXPECT_TRUE(npu_all_bytes(mem, BO_SIZE, 0x5a));
	EXPECT_EQ(-1, mprotect(mem, BO_SIZE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	munmap(mem, BO_SIZE);
	map(self->fd, bo, PROT_READ | PROT_WRITE, &err);
	EXPECT_EQ(-EACCES, err);
	map(self->fd, bo, PROT_WRITE, &err);
	EXPECT_EQ(-EACCES, err);
	/* Its owner goes on writing. */
	self->map[1] = 1;
	mem = map(self->owner, self->bo, PROT_READ | PROT_WRITE, &err);
	ASSERT_EQ(0, err);
	munmap(mem, BO_SIZE);
}

TEST_F(read_only, is_bound_for_reading)
{
	uint32_t bo = share(self, DRM_CLOEXEC);

	ASSERT_NE(0, bo);
	EXPECT_EQ(-EACCES, world_bind(&self->w, EXTERNAL_E, bo, 0));
	EXPECT_EQ(-EACCES, world_bind(&self->w, EXTERNAL_Y, bo, 0));
	EXPECT_EQ(0, world_bind(&self->w, EXTERNAL_X, bo, 0));
	EXPECT_EQ(0, world_bind(&self->w, EXTERNAL_P, bo, 512));
}

/* Exported once more by him it is still the same. */
TEST_F(read_only, stays_so_when_shared_again)
{
	uint32_t bo = share(self, DRM_CLOEXEC), again;
	int fd, err, third = npu_open();

	ASSERT_NE(0, bo);
	ASSERT_GE(third, 0);
	ASSERT_EQ(0, drmPrimeHandleToFD(self->fd, bo, DRM_CLOEXEC | DRM_RDWR, &fd));
	ASSERT_EQ(0, drmPrimeFDToHandle(third, fd, &again));
	map(third, again, PROT_READ | PROT_WRITE, &err);
	EXPECT_EQ(-EACCES, err);
	close(fd);
	close(third);
}

TEST_F(read_only, is_no_host_bo)
{
	struct drm_npumem_run_create args = { 0 };
	struct model m = model_spill();
	struct world w;

	ASSERT_EQ(0, world_open(&w, self->fd, &m));
	args.plan = w.plan;
	args.host_bo = share(self, DRM_CLOEXEC);
	ASSERT_NE(0, args.host_bo);
	EXPECT_EQ(variant->flags == NPUMEM_BO_SYSTEM ? -EACCES : -EINVAL,
		  npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &args));
	world_close(&w);
	model_free(&m);
}

static int attach(FIXTURE_DATA(read_only) * self, uint32_t window, int *fd)
{
	struct drm_npumem_engine_attach args = {
		.engine = attach_slot(self->fd),
		.window = window,
		.hang_ms = ATTACH_HANG,
		.name = "test",
	};
	int err = npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_ENGINE_ATTACH, &args);

	*fd = args.fd;
	return err;
}

/* The driver writes copies of tiles there, as an engine's client likes. */
TEST_F(read_only, is_no_window)
{
	uint32_t bo = share(self, DRM_CLOEXEC);
	int fd;

	ASSERT_NE(0, bo);
	EXPECT_EQ(variant->flags == NPUMEM_BO_SYSTEM ? -EACCES : -EINVAL, attach(self, bo, &fd));
	EXPECT_EQ(-1, fd);
	close(fd);
}

/* The same, but shared for writing, too. */
TEST_F(read_only, or_not)
{
	uint32_t bo = share(self, DRM_CLOEXEC | DRM_RDWR);
	uint8_t *mem;
	int err, fd;

	ASSERT_NE(0, bo);
	EXPECT_EQ(0, world_bind(&self->w, EXTERNAL_Y, bo, 0));
	mem = map(self->fd, bo, PROT_READ | PROT_WRITE, &err);
	ASSERT_EQ(0, err);
	mem[7] = 7;
	EXPECT_EQ(7, self->map[7]);
	munmap(mem, BO_SIZE);
	EXPECT_EQ(variant->flags == NPUMEM_BO_SYSTEM ? 0 : -EINVAL, attach(self, bo, &fd));
	close(fd);
}

TEST_HARNESS_MAIN
