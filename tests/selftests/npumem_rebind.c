// SPDX-License-Identifier: MIT
/*
 * RUN_BIND in the middle of an inference: bytes that steps have yet to read stay where
 * they are, all others may be bound anew.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "npumem_world.h"

enum { BO_SIZE = 8192 };

static const uint64_t offsets[EXTERNAL_TENSORS] = { 0, 512, 0, 1024, 2048 };

FIXTURE(rebind)
{
	int fd;
	struct model model;
	struct world w;
	uint32_t bo, other;
};

FIXTURE_SETUP(rebind)
{
	uint32_t t;

	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	self->model = model_external();
	ASSERT_EQ(0, world_open(&self->w, self->fd, &self->model));
	ASSERT_EQ(0, npu_bo_create(self->fd, BO_SIZE, NPUMEM_BO_SYSTEM, &self->bo));
	ASSERT_EQ(0, npu_bo_create(self->fd, BO_SIZE, NPUMEM_BO_SYSTEM, &self->other));
	for (t = 0; t < EXTERNAL_TENSORS; t++)
		if (t != EXTERNAL_A)
			ASSERT_EQ(0, world_bind(&self->w, t, self->bo, offsets[t]));
}

FIXTURE_TEARDOWN(rebind)
{
	world_close(&self->w);
	model_free(&self->model);
	close(self->fd);
}

static int step(struct world *w, uint32_t position)
{
	int err = world_step(w, position, NPUMEM_SIM_MIX, 7);

	return err ? err : world_wait(w);
}

/* Each to another BO: what is said of it, which X, P, E, Y are to be. */
#define EXPECT_BIND(x, p, e, y)                                                                   \
	do {                                                                                      \
		EXPECT_EQ(x, world_bind(&self->w, EXTERNAL_X, self->other, offsets[EXTERNAL_X])); \
		EXPECT_EQ(p, world_bind(&self->w, EXTERNAL_P, self->other, offsets[EXTERNAL_P])); \
		EXPECT_EQ(e, world_bind(&self->w, EXTERNAL_E, self->other, offsets[EXTERNAL_E])); \
		EXPECT_EQ(y, world_bind(&self->w, EXTERNAL_Y, self->other, offsets[EXTERNAL_Y])); \
	} while (0)

TEST_F(rebind, before_the_first_step)
{
	EXPECT_BIND(0, 0, 0, 0);
}

/* X and P have been read, nothing else is there yet. */
TEST_F(rebind, inputs_that_were_read)
{
	ASSERT_EQ(0, step(&self->w, EXTERNAL_LOAD));
	EXPECT_BIND(0, 0, 0, 0);
}

TEST_F(rebind, what_is_to_be_read)
{
	ASSERT_EQ(0, step(&self->w, EXTERNAL_LOAD));
	ASSERT_EQ(0, step(&self->w, EXTERNAL_MIX));
	EXPECT_BIND(0, 0, -EBUSY, 0);
	EXPECT_EQ(-EBUSY, world_bind(&self->w, EXTERNAL_E, 0, 0));
	/* Even to where it is. */
	EXPECT_EQ(-EBUSY, world_bind(&self->w, EXTERNAL_E, self->bo, offsets[EXTERNAL_E]));
	EXPECT_EQ(0, step(&self->w, EXTERNAL_STORE));
	/* Y is the client's. */
	EXPECT_BIND(0, 0, 0, 0);
	ASSERT_EQ(0, world_reset(&self->w));
	EXPECT_BIND(0, 0, 0, 0);
}

/* An input that one of two steps has read is for the other one to be read as well. */
TEST_F(rebind, inputs_that_were_read_by_one)
{
	struct model m = { 0 };
	uint32_t bo = self->bo, x, a, y, tile;
	struct world w;

	x = model_tensor(&m, NPUMEM_TENSOR_INPUT, 256);
	a = model_tensor(&m, NPUMEM_TENSOR_INTERMEDIATE, 256);
	y = model_tensor(&m, NPUMEM_TENSOR_OUTPUT, 256);
	m.tensors[x].flags |= NPUMEM_TENSOR_FLAG_EXTERNAL;
	tile = model_whole(&m, x);
	model_step_rw(&m, tile, model_whole(&m, a));
	model_step_rw(&m, tile, model_whole(&m, y));
	model_access(&m, model_whole(&m, a), NPUMEM_ACCESS_READ);
	model_place(&m, a, 0);
	model_place(&m, y, 256);
	model_schedule(&m);
	ASSERT_EQ(0, world_open(&w, self->fd, &m));
	ASSERT_EQ(0, world_bind(&w, x, bo, 0));
	EXPECT_EQ(0, world_bind(&w, x, self->other, 0));
	ASSERT_EQ(0, step(&w, 0));
	EXPECT_EQ(-EBUSY, world_bind(&w, x, bo, 0));
	ASSERT_EQ(0, step(&w, 1));
	EXPECT_EQ(0, world_bind(&w, x, bo, 0));
	world_close(&w);
	model_free(&m);
}

TEST_HARNESS_MAIN
