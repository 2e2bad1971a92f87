// SPDX-License-Identifier: MIT
/*
 * External tensors in dma-bufs of another device: a second one of this driver,
 * which npumem_foreign.sh makes. To the first one its buffers are as foreign as
 * anybody's. And none of them is a run's host BO.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "npumem_world.h"

#define KEY  0xf0e1
#define SIZE EXTERNAL_SIZE

enum { BO_SIZE = 8192 };

static const uint64_t offsets[EXTERNAL_TENSORS] = { 0, 300, 0, 4000, 7 * 1024 };

FIXTURE(foreign)
{
	int fd, far;
	struct model model;
	struct world w;
	uint32_t bo; /* of the other device */
	uint8_t *map;
};

FIXTURE_SETUP(foreign)
{
	ASSERT_EQ(0, npu_knob("pause", 0));
	self->fd = npu_open_nth(0);
	self->far = npu_open_nth(1);
	ASSERT_GE(self->fd, 0);
	ASSERT_GE(self->far, 0);
	self->model = model_external();
	ASSERT_EQ(0, world_open(&self->w, self->fd, &self->model));
	ASSERT_EQ(0, npu_bo_create(self->far, BO_SIZE, NPUMEM_BO_SYSTEM, &self->bo));
	self->map = npu_bo_map(self->far, self->bo, BO_SIZE);
	ASSERT_NE(NULL, self->map);
}

FIXTURE_TEARDOWN(foreign)
{
	EXPECT_EQ(0, npu_knob("pause", 0));
	munmap(self->map, BO_SIZE);
	world_close(&self->w);
	model_free(&self->model);
	close(self->fd);
	close(self->far);
}

/* The other device's buffer as one of ours; negative errno in *err. */
static uint32_t import(FIXTURE_DATA(foreign) * self, uint32_t bo, uint32_t flags, int *err)
{
	uint32_t handle = 0;
	int fd;

	*err = drmPrimeHandleToFD(self->far, bo, flags, &fd);
	if (*err)
		return 0;
	*err = drmPrimeFDToHandle(self->fd, fd, &handle) ? -errno : 0;
	close(fd);
	return handle;
}

static int bind_all(const struct world *w, uint32_t bo)
{
	return world_bind_external(w, bo, offsets, NPUMEM_NONE);
}

static int submit_all(struct world *w)
{
	struct drm_npumem_submit args;

	return world_mix(w, 0, EXTERNAL_STEPS, KEY, &args);
}

/* What is in the buffer after a run whose X is at the given offset. */
static void expect_bytes(const struct model *m, uint8_t *bytes, uint64_t x)
{
	uint8_t **ref = reference_new(m);

	memcpy(ref[EXTERNAL_X], bytes + x, SIZE);
	memcpy(ref[EXTERNAL_P], bytes + offsets[EXTERNAL_P], SIZE);
	reference_mix(m, ref, KEY);
	memcpy(bytes + offsets[EXTERNAL_E], ref[EXTERNAL_E], SIZE);
	memcpy(bytes + offsets[EXTERNAL_Y], ref[EXTERNAL_Y], SIZE);
	reference_free(m, ref);
}

static void fill(uint8_t *bytes, unsigned int seed)
{
	int i;

	for (i = 0; i < BO_SIZE; i++)
		bytes[i] = (i * 11 + seed) ^ (i >> 8);
}

TEST_F(foreign, runs)
{
	uint8_t expected[BO_SIZE];
	uint32_t bo;
	int err;

	bo = import(self, self->bo, DRM_RDWR, &err);
	ASSERT_EQ(0, err);
	ASSERT_EQ(0, bind_all(&self->w, bo));
	fill(self->map, 1);
	memcpy(expected, self->map, BO_SIZE);
	expect_bytes(&self->model, expected, offsets[EXTERNAL_X]);
	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, submit_all(&self->w));
	/* The other device knows that its buffer is in use. */
	EXPECT_EQ(-ETIMEDOUT, npu_bo_wait(self->far, self->bo, 0));
	ASSERT_EQ(0, npu_knob("pause", 0));
	ASSERT_EQ(0, npu_bo_wait(self->far, self->bo, npu_now() + NPU_PATIENCE_NS));
	EXPECT_EQ(0, memcmp(self->map, expected, BO_SIZE));
}

TEST_F(foreign, read_only)
{
	uint32_t bo;
	int err;

	bo = import(self, self->bo, 0, &err);
	ASSERT_EQ(0, err);
	EXPECT_EQ(-EACCES, world_bind(&self->w, EXTERNAL_Y, bo, 0));
	EXPECT_EQ(-EACCES, world_bind(&self->w, EXTERNAL_E, bo, 0));
	EXPECT_EQ(0, world_bind(&self->w, EXTERNAL_X, bo, 0));
	EXPECT_EQ(0, world_bind(&self->w, EXTERNAL_P, bo, 128));
	fill(self->map, 3);
	EXPECT_EQ(0, world_step(&self->w, EXTERNAL_LOAD, NPUMEM_SIM_MIX, KEY));
	EXPECT_EQ(0, world_wait(&self->w));
}

/* There are no pages behind a carveout that another device could be given. */
TEST_F(foreign, carveout)
{
	uint32_t bo, handle;
	int err;

	ASSERT_EQ(0, npu_bo_create(self->far, BO_SIZE, NPUMEM_BO_CARVEOUT, &bo));
	handle = import(self, bo, DRM_RDWR, &err);
	EXPECT_EQ(-ENOSYS, err);
	EXPECT_EQ(0, handle);
	ASSERT_EQ(0, npu_bo_create(self->far, BO_SIZE, NPUMEM_BO_SHARED, &bo));
	handle = import(self, bo, DRM_RDWR, &err);
	EXPECT_EQ(-ENOSYS, err);
	EXPECT_EQ(0, handle);
}

/* Each device works on what the other one has made, in the order of the calls. */
TEST_F(foreign, devices_take_turns)
{
	uint8_t expected[BO_SIZE];
	struct world other;
	uint32_t bo;
	int err, i;

	bo = import(self, self->bo, DRM_RDWR, &err);
	ASSERT_EQ(0, err);
	ASSERT_EQ(0, world_open(&other, self->far, &self->model));
	ASSERT_EQ(0, bind_all(&self->w, bo));
	ASSERT_EQ(0, bind_all(&other, self->bo));
	/* The input of each is the output of the other one. */
	fill(self->map, 5);
	memcpy(expected, self->map, BO_SIZE);
	ASSERT_EQ(0, world_bind(&other, EXTERNAL_Y, self->bo, 5 * 1024));
	ASSERT_EQ(0, world_bind(&other, EXTERNAL_X, self->bo, offsets[EXTERNAL_Y]));
	ASSERT_EQ(0, world_bind(&self->w, EXTERNAL_X, bo, 5 * 1024));
	for (i = 0; i < 4; i++) {
		expect_bytes(&self->model, expected, 5 * 1024);
		{
			uint8_t second[BO_SIZE];

			memcpy(second, expected, BO_SIZE);
			expect_bytes(&self->model, second, offsets[EXTERNAL_Y]);
			memcpy(expected + 5 * 1024, second + offsets[EXTERNAL_Y], SIZE);
			memcpy(expected + offsets[EXTERNAL_E], second + offsets[EXTERNAL_E], SIZE);
		}
		ASSERT_EQ(0, npu_knob("pause", 1));
		ASSERT_EQ(0, submit_all(&self->w));
		ASSERT_EQ(0, submit_all(&other));
		ASSERT_EQ(0, npu_knob("pause", 0));
		ASSERT_EQ(0, world_wait(&self->w));
		ASSERT_EQ(0, world_wait(&other));
		EXPECT_EQ(0, memcmp(self->map, expected, BO_SIZE));
		ASSERT_EQ(0, world_reset(&self->w));
		ASSERT_EQ(0, world_reset(&other));
	}
	world_close(&other);
}

/* Its exporter may do with it as it likes: no place for copies that a plan relies on. */
TEST_F(foreign, is_no_host_bo)
{
	struct drm_npumem_run_create args = { 0 };
	struct model m = model_spill();
	uint32_t far, own;
	struct world w;
	int err;

	ASSERT_EQ(0, world_open(&w, self->fd, &m));
	ASSERT_EQ(0, npu_bo_create(self->far, SPILL_HOST_SIZE, NPUMEM_BO_SYSTEM, &far));
	args.plan = w.plan;
	args.host_bo = import(self, far, DRM_CLOEXEC | DRM_RDWR, &err);
	ASSERT_EQ(0, err);
	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &args));
	ASSERT_EQ(0, npu_bo_create(self->fd, SPILL_HOST_SIZE, NPUMEM_BO_SYSTEM, &own));
	args.host_bo = own;
	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &args));
	world_close(&w);
	model_free(&m);
}

/* The exporter goes, its memory stays with who uses it. The last test: it is gone then. */
TEST_F(foreign, z_exporter_is_unbound)
{
	char path[256], *name;
	glob_t found;
	uint32_t bo;
	int err;

	bo = import(self, self->bo, DRM_RDWR, &err);
	ASSERT_EQ(0, err);
	ASSERT_EQ(0, bind_all(&self->w, bo));
	ASSERT_EQ(0, npu_bo_close(self->fd, bo));
	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, submit_all(&self->w));
	/* It is no child of the device tree. */
	ASSERT_EQ(0, glob(NPU_DRIVER "npumem-sim*", 0, NULL, &found));
	ASSERT_EQ(1, found.gl_pathc);
	name = strrchr(found.gl_pathv[0], '/') + 1;
	snprintf(path, sizeof(path), "%s", name);
	globfree(&found);
	ASSERT_EQ(0, npu_write(NPU_DRIVER "unbind", path));
	ASSERT_EQ(0, npu_knob("pause", 0));
	EXPECT_EQ(0, world_wait(&self->w));
	ASSERT_EQ(0, world_reset(&self->w));
	EXPECT_EQ(0, submit_all(&self->w));
	EXPECT_EQ(0, world_wait(&self->w));
}

TEST_HARNESS_MAIN
