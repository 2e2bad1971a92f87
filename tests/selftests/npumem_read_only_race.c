// SPDX-License-Identifier: MIT
/*
 * A BO that is shared for reading only, whose owner has no handle of it any more: whoever
 * imports it may not write to it, though he closes his handle while he asks.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "npumem_world.h"

enum { BO_SIZE = 65536, SECONDS = 8 };

/*
 * struct attempt - what the threads share
 * @fd: file of who imports, whose run @w is
 * @dmabuf: open for reading only
 * @handle: of the BO just now, or 0
 * @bound: how often it was bound to a tensor that is written
 * @mapped: how often it was mapped for writing
 * @tried: how often either was tried while there was a handle
 */
struct attempt {
	int fd;
	struct world w;
	int dmabuf;
	atomic_uint handle;
	atomic_uint bound;
	atomic_uint mapped;
	atomic_uint tried;
	atomic_bool done;
};

FIXTURE(read_only_race)
{
	int owner;
	struct model model;
	struct attempt attempt;
	uint8_t *map; /* the owner's */
};

FIXTURE_SETUP(read_only_race)
{
	struct attempt *a = &self->attempt;
	uint32_t bo;

	self->owner = npu_open();
	a->fd = npu_open();
	ASSERT_GE(self->owner, 0);
	ASSERT_GE(a->fd, 0);
	self->model = model_external();
	ASSERT_EQ(0, world_open(&a->w, a->fd, &self->model));
	ASSERT_EQ(0, npu_bo_create(self->owner, BO_SIZE, NPUMEM_BO_SYSTEM, &bo));
	self->map = npu_bo_map(self->owner, bo, BO_SIZE);
	ASSERT_NE(NULL, self->map);
	ASSERT_EQ(0, drmPrimeHandleToFD(self->owner, bo, DRM_CLOEXEC, &a->dmabuf));
	/* Its mapping is all that the owner has. */
	ASSERT_EQ(0, npu_bo_close(self->owner, bo));
}

FIXTURE_TEARDOWN(read_only_race)
{
	munmap(self->map, BO_SIZE);
	world_close(&self->attempt.w);
	model_free(&self->model);
	close(self->attempt.dmabuf);
	close(self->attempt.fd);
	close(self->owner);
}

static void *import_and_close(void *data)
{
	int64_t end = npu_now() + SECONDS * 1000000000ll;
	struct attempt *a = data;
	uint32_t handle;

	while (npu_now() < end && !a->bound && !a->mapped) {
		if (drmPrimeFDToHandle(a->fd, a->dmabuf, &handle))
			break;
		a->handle = handle;
		npu_bo_close(a->fd, handle);
		a->handle = 0;
	}
	a->done = true;
	return NULL;
}

static void *bind_for_writing(void *data)
{
	struct attempt *a = data;
	uint32_t handle;

	while (!a->done) {
		handle = a->handle;
		if (!handle)
			continue;
		a->tried++;
		a->bound += !world_bind(&a->w, EXTERNAL_Y, handle, 0);
	}
	return NULL;
}

static void *map_for_writing(void *data)
{
	struct drm_npumem_bo_mmap_offset args;
	struct attempt *a = data;
	void *mem;

	while (!a->done) {
		args = (struct drm_npumem_bo_mmap_offset){ .handle = a->handle };
		if (!args.handle || npu_ioctl(a->fd, DRM_IOCTL_NPUMEM_BO_MMAP_OFFSET, &args))
			continue;
		a->tried++;
		mem = mmap(NULL, BO_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, a->fd, args.offset);
		if (mem == MAP_FAILED)
			continue;
		a->mapped++;
		munmap(mem, BO_SIZE);
	}
	return NULL;
}

/* Exports and imports of others, so that the two above wait for each other's locks. */
static void *crowd(void *data)
{
	struct attempt *a = data;
	int fd = npu_open(), dmabuf;
	uint32_t bo;

	if (fd < 0 || npu_bo_create(fd, 4096, NPUMEM_BO_SYSTEM, &bo))
		return NULL;
	while (!a->done && !drmPrimeHandleToFD(fd, bo, DRM_CLOEXEC, &dmabuf))
		close(dmabuf);
	close(fd);
	return NULL;
}

TEST_F_TIMEOUT(read_only_race, is_never_written, 300)
{
	void *(*const threads[])(void *) = {
		import_and_close, bind_for_writing, map_for_writing, crowd, crowd, crowd
	};
	struct attempt *a = &self->attempt;

	ASSERT_EQ(0, npu_threads(threads, ARRAY_SIZE(threads), a));
	TH_LOG("tried %u times", a->tried);
	EXPECT_GT(a->tried, 0);
	EXPECT_EQ(0, a->bound);
	EXPECT_EQ(0, a->mapped);
}

TEST_HARNESS_MAIN
