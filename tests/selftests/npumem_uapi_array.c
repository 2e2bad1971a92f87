// SPDX-License-Identifier: MIT
/* The three arrays of SUBMIT, by the rules at the top of npumem_drm.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "npumem_world.h"

FIXTURE(array)
{
	int fd;
	struct model model;
	struct world w;
	struct drm_npumem_info info;
	struct drm_npumem_submit args;
	struct drm_npumem_array *array; /* in @args, the one tested */
	struct {
		struct drm_npumem_job job;
		uint64_t job_tail[8];
		struct drm_npumem_sync sync;
		uint64_t sync_tail[8];
	} records;
};

FIXTURE_VARIANT(array)
{
	size_t offset; /* within struct drm_npumem_submit */
	bool syncs;
};

FIXTURE_VARIANT_ADD(array, jobs){
	.offset = offsetof(struct drm_npumem_submit, jobs),
};

FIXTURE_VARIANT_ADD(array, in_syncs){
	.offset = offsetof(struct drm_npumem_submit, in_syncs),
	.syncs = true,
};

FIXTURE_VARIANT_ADD(array, out_syncs){
	.offset = offsetof(struct drm_npumem_submit, out_syncs),
	.syncs = true,
};

FIXTURE_SETUP(array)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, npu_info(self->fd, &self->info));
	self->model = model_chain();
	ASSERT_EQ(0, world_open(&self->w, self->fd, &self->model));
	ASSERT_EQ(0, drmSyncobjCreate(self->fd, DRM_SYNCOBJ_CREATE_SIGNALED,
				      &self->records.sync.handle));
	self->records.job = world_job(&self->w, 0, NPUMEM_SIM_NOP, 0);
	self->args = (struct drm_npumem_submit){
		.run = self->w.run,
		.jobs = NPU_ARRAY(&self->records.job, 1),
	};
	self->array = (void *)((uint8_t *)&self->args + variant->offset);
	if (variant->syncs)
		*self->array = NPU_ARRAY(&self->records.sync, 1);
}

FIXTURE_TEARDOWN(array)
{
	world_close(&self->w);
	model_free(&self->model);
	close(self->fd);
}

static int submit_array(int fd, const struct drm_npumem_submit *args)
{
	struct drm_npumem_submit copy = *args;

	return npu_ioctl(fd, DRM_IOCTL_NPUMEM_SUBMIT, &copy);
}

TEST_F(array, as_it_should_be)
{
	EXPECT_EQ(0, submit_array(self->fd, &self->args));
}

/* And ready for the next one, if it went. */
static int submit_again(int fd, const struct drm_npumem_submit *args, struct world *w)
{
	int err = submit_array(fd, args);

	return err ? err : world_wait(w) ? -ETIME : world_reset(w);
}

/* An array of nothing says only that, or where its records would be. */
TEST_F(array, empty)
{
	const struct drm_npumem_array array = *self->array;
	static const struct {
		int stride, ptr; /* added to what is right; 1: zero instead */
		int err;
	} cases[] = {
		{ 0, 0, 0 },	    { 0, 1, 0 },       { 1, 1, 0 },	  { 1, 0, -EINVAL },
		{ -8, 0, -EINVAL }, { 4, 0, -EINVAL }, { 0, 4, -EINVAL }, { 4, 1, -EINVAL },
	};
	size_t i;

	for (i = 0; variant->syncs && i < sizeof(cases) / sizeof(cases[0]); i++) {
		self->array->count = 0;
		self->array->stride = cases[i].stride == 1 ? 0 : array.stride + cases[i].stride;
		self->array->ptr = cases[i].ptr == 1 ? 0 : array.ptr + cases[i].ptr;
		EXPECT_EQ(cases[i].err, submit_again(self->fd, &self->args, &self->w))
		TH_LOG("case %zu", i);
	}
}

/* The longest record is the same whatever the size of a page. */
TEST_F(array, longest_records)
{
	uint8_t *records = calloc(2, 4096);

	ASSERT_NE(NULL, records);
	memcpy(records, (void *)(uintptr_t)self->array->ptr, self->array->stride);
	self->array->ptr = (uintptr_t)records;
	self->array->stride = 4096;
	EXPECT_EQ(0, submit_again(self->fd, &self->args, &self->w));
	self->array->stride = 4096 + 8;
	EXPECT_EQ(-E2BIG, submit_again(self->fd, &self->args, &self->w));
	free(records);
}

TEST_F(array, wrong_strides)
{
	uint32_t stride = self->array->stride;

	self->array->stride = stride - 8;
	EXPECT_EQ(-EINVAL, submit_array(self->fd, &self->args));
	self->array->stride = 0;
	EXPECT_EQ(-EINVAL, submit_array(self->fd, &self->args));
	self->array->stride = stride + 4;
	EXPECT_EQ(-EINVAL, submit_array(self->fd, &self->args));
	self->array->stride = 0xfffffff8;
	EXPECT_EQ(-E2BIG, submit_array(self->fd, &self->args));
	self->array->stride = stride;
	EXPECT_EQ(0, submit_array(self->fd, &self->args));
}

TEST_F(array, records_of_a_newer_user)
{
	uint64_t *tail = variant->syncs ? self->records.sync_tail : self->records.job_tail;

	self->array->stride += 16;
	tail[1] = 1;
	EXPECT_EQ(-E2BIG, submit_array(self->fd, &self->args));
	tail[1] = 0;
	EXPECT_EQ(0, submit_array(self->fd, &self->args));
}

TEST_F(array, wrong_pointers)
{
	uint64_t ptr = self->array->ptr;

	self->array->ptr = NPU_UNMAPPED;
	EXPECT_EQ(-EFAULT, submit_array(self->fd, &self->args));
	self->array->ptr = UINT64_MAX - 7;
	EXPECT_EQ(-EFAULT, submit_array(self->fd, &self->args));
	self->array->ptr = 0;
	EXPECT_EQ(-EINVAL, submit_array(self->fd, &self->args));
	self->array->ptr = ptr + 4;
	EXPECT_EQ(-EINVAL, submit_array(self->fd, &self->args));
	self->array->ptr = ptr;
	EXPECT_EQ(0, submit_array(self->fd, &self->args));
}

TEST_F(array, huge_counts)
{
	uint32_t max = variant->syncs ? self->info.max_syncs : self->info.max_jobs;

	self->array->count = max + 1;
	EXPECT_EQ(-E2BIG, submit_array(self->fd, &self->args));
	self->array->count = 0xffffffff;
	EXPECT_EQ(-E2BIG, submit_array(self->fd, &self->args));
	/* As many as may be, but they run into memory that is not mapped. */
	self->array->count = max;
	self->array->ptr = NPU_UNMAPPED;
	EXPECT_EQ(-EFAULT, submit_array(self->fd, &self->args));
}

TEST_HARNESS_MAIN
