// SPDX-License-Identifier: MIT
/*
 * Runs: their arena, their life, and what the operators of the simulated engine
 * do to the bytes, against a reference computed without memory reuse.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "npumem_world.h"

#define KEY 0x1234567890abcdefull

FIXTURE(run)
{
	int fd;
	struct model model;
	struct world w;
	uint8_t **reference;
};

FIXTURE_SETUP(run)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	self->model = model_chain();
	ASSERT_EQ(0, world_open(&self->w, self->fd, &self->model));
	self->reference = reference_new(&self->model);
}

FIXTURE_TEARDOWN(run)
{
	reference_free(&self->model, self->reference);
	world_close(&self->w);
	model_free(&self->model);
	close(self->fd);
}

static uint8_t *arena_of(const struct world *w, const struct model *m, uint32_t tensor)
{
	return w->arena + m->placements[tensor].offset;
}

/* Input bytes that differ from each other, in the arena and in the reference. */
static void set_input(struct world *w, const struct model *m, uint8_t **reference, uint32_t tensor,
		      unsigned int seed)
{
	uint64_t i;

	for (i = 0; i < m->tensors[tensor].size; i++)
		reference[tensor][i] = (i * 7 + seed) ^ (i >> 8);
	memcpy(arena_of(w, m, tensor), reference[tensor], m->tensors[tensor].size);
}

static bool output_equals(const struct world *w, const struct model *m, uint8_t **reference,
			  uint32_t tensor)
{
	return !memcmp(arena_of(w, m, tensor), reference[tensor], m->tensors[tensor].size);
}

TEST_F(run, arena_is_zero_and_of_the_right_size)
{
	long page = sysconf(_SC_PAGESIZE);
	size_t size = (self->w.arena_size + page - 1) / page * page;
	void *mem;

	EXPECT_TRUE(npu_all_bytes(self->w.arena, self->w.arena_size, 0));
	mem = npu_bo_map(self->fd, self->w.arena_bo, size);
	ASSERT_NE(NULL, mem);
	munmap(mem, size);
	/* No byte more than the plan asked for, but for whole pages. */
	EXPECT_EQ(NULL, npu_bo_map(self->fd, self->w.arena_bo, size + page));
}

TEST_F(run, arena_is_taken_and_given_back)
{
	struct drm_npumem_run_create args = { .plan = self->w.plan };
	struct drm_npumem_bank before, during, after;

	ASSERT_EQ(0, npu_bank(self->fd, &before));
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &args));
	EXPECT_NE(self->w.run, args.handle);
	EXPECT_NE(self->w.arena_bo, args.arena_bo);
	ASSERT_EQ(0, npu_bank(self->fd, &during));
	EXPECT_GT(before.free, during.free);
	/* Run and buffer each hold it; the order does not matter. */
	ASSERT_EQ(0, npu_bo_close(self->fd, args.arena_bo));
	ASSERT_EQ(0, npu_bank(self->fd, &after));
	EXPECT_EQ(during.free, after.free);
	ASSERT_EQ(0, world_destroy(self->fd, DRM_IOCTL_NPUMEM_RUN_DESTROY, args.handle));
	ASSERT_EQ(0, npu_bank(self->fd, &after));
	EXPECT_EQ(before.free, after.free);
	EXPECT_EQ(-ENOENT, world_destroy(self->fd, DRM_IOCTL_NPUMEM_RUN_DESTROY, args.handle));
}

TEST_F(run, create_bad_arguments)
{
	static const struct {
		const char *what;
		struct drm_npumem_run_create change;
		int err;
	} cases[] = {
		{ "plan", { .plan = 0x7fffffff }, -ENOENT },
		{ "bank", { .bank = 0x7fffffff }, -EINVAL },
		{ "flags", { .flags = NPUMEM_RUN_CREATE_SHARED << 1 }, -EINVAL },
		{ "pad", { .pad = 1 }, -EINVAL },
		{ "priority", { .priority = 3 }, -EINVAL },
		{ "host_bo", { .host_bo = 0x7fffffff }, -EINVAL },
	};
	struct drm_npumem_run_create args;
	struct drm_npumem_bank before, after;
	unsigned int i;

	ASSERT_EQ(0, npu_bank(self->fd, &before));
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		args = cases[i].change;
		args.plan = args.plan ?: self->w.plan;
		EXPECT_EQ(cases[i].err, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &args))
		TH_LOG("case: %s", cases[i].what);
	}
	ASSERT_EQ(0, npu_bank(self->fd, &after));
	EXPECT_EQ(before.free, after.free);
}

TEST_F(run, create_without_room)
{
	struct drm_npumem_run_create args = { .plan = self->w.plan };
	struct drm_npumem_bank bank;
	uint32_t handle;

	/* All that is left, in one piece and then in pages. */
	ASSERT_EQ(0, npu_bank(self->fd, &bank));
	while (!npu_bank(self->fd, &bank) && bank.largest_free)
		ASSERT_EQ(0,
			  npu_bo_create(self->fd, bank.largest_free, NPUMEM_BO_CARVEOUT, &handle));
	EXPECT_EQ(-ENOSPC, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &args));
	ASSERT_EQ(0, npu_bo_close(self->fd, handle));
	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &args));
}

TEST_F(run, outlives_its_plan_and_graph)
{
	ASSERT_EQ(0, world_destroy(self->fd, DRM_IOCTL_NPUMEM_GRAPH_DESTROY, self->w.graph));
	ASSERT_EQ(0, world_destroy(self->fd, DRM_IOCTL_NPUMEM_PLAN_DESTROY, self->w.plan));
	EXPECT_EQ(-ENOENT, world_destroy(self->fd, DRM_IOCTL_NPUMEM_GRAPH_DESTROY, self->w.graph));
	EXPECT_EQ(-ENOENT, world_destroy(self->fd, DRM_IOCTL_NPUMEM_PLAN_DESTROY, self->w.plan));
	EXPECT_EQ(0, world_step(&self->w, CHAIN_COPY, NPUMEM_SIM_FILL, 3));
	EXPECT_EQ(0, world_wait(&self->w));
	EXPECT_TRUE(npu_all_bytes(arena_of(&self->w, &self->model, CHAIN_A), CHAIN_SIZE, 3));
}

TEST_F(run, reset_starts_the_next_inference)
{
	uint32_t i;

	for (i = 0; i < CHAIN_STEPS; i++)
		ASSERT_EQ(0, world_step(&self->w, i, NPUMEM_SIM_NOP, 0));
	ASSERT_EQ(0, world_wait(&self->w));
	EXPECT_EQ(-EPERM, world_step(&self->w, CHAIN_COPY, NPUMEM_SIM_NOP, 0));
	ASSERT_EQ(0, world_reset(&self->w));
	/* Everything but the input is empty again. */
	EXPECT_EQ(-EPERM, world_step(&self->w, CHAIN_MIX, NPUMEM_SIM_NOP, 0));
	for (i = 0; i < CHAIN_STEPS; i++)
		EXPECT_EQ(0, world_step(&self->w, i, NPUMEM_SIM_NOP, 0));
}

TEST_F(run, reset_in_the_middle)
{
	ASSERT_EQ(0, world_step(&self->w, CHAIN_COPY, NPUMEM_SIM_NOP, 0));
	ASSERT_EQ(0, world_wait(&self->w));
	ASSERT_EQ(0, world_reset(&self->w));
	EXPECT_EQ(-EPERM, world_step(&self->w, CHAIN_MIX, NPUMEM_SIM_NOP, 0));
	EXPECT_EQ(0, world_step(&self->w, CHAIN_COPY, NPUMEM_SIM_NOP, 0));
	EXPECT_EQ(0, world_step(&self->w, CHAIN_MIX, NPUMEM_SIM_NOP, 0));
}

TEST_F(run, copy_fill_mix_whole_tensors)
{
	static const uint32_t ops[] = { NPUMEM_SIM_COPY, NPUMEM_SIM_MIX, NPUMEM_SIM_MIX };
	uint32_t i;

	set_input(&self->w, &self->model, self->reference, CHAIN_X, 1);
	for (i = 0; i < CHAIN_STEPS; i++) {
		uint64_t value = ops[i] == NPUMEM_SIM_MIX ? KEY : 0;

		ASSERT_EQ(0, world_step(&self->w, i, ops[i], value));
		reference_step(&self->model, self->reference, i, ops[i], value);
	}
	ASSERT_EQ(0, world_wait(&self->w));
	for (i = 0; i < CHAIN_TENSORS; i++)
		EXPECT_TRUE(output_equals(&self->w, &self->model, self->reference, i))
	TH_LOG("tensor %u", i);
}

TEST_F(run, mix_depends_on_key_step_and_every_byte)
{
	uint8_t first[CHAIN_SIZE], *out = arena_of(&self->w, &self->model, CHAIN_A);

	set_input(&self->w, &self->model, self->reference, CHAIN_X, 1);
	ASSERT_EQ(0, world_step(&self->w, CHAIN_COPY, NPUMEM_SIM_MIX, KEY));
	ASSERT_EQ(0, world_wait(&self->w));
	memcpy(first, out, CHAIN_SIZE);

	ASSERT_EQ(0, world_reset(&self->w));
	ASSERT_EQ(0, world_step(&self->w, CHAIN_COPY, NPUMEM_SIM_MIX, KEY + 1));
	ASSERT_EQ(0, world_wait(&self->w));
	EXPECT_NE(0, memcmp(first, out, CHAIN_SIZE));

	ASSERT_EQ(0, world_reset(&self->w));
	arena_of(&self->w, &self->model, CHAIN_X)[CHAIN_SIZE - 1] ^= 1;
	ASSERT_EQ(0, world_step(&self->w, CHAIN_COPY, NPUMEM_SIM_MIX, KEY));
	ASSERT_EQ(0, world_wait(&self->w));
	EXPECT_NE(0, memcmp(first, out, CHAIN_SIZE));
}

TEST_F(run, nop_touches_nothing)
{
	set_input(&self->w, &self->model, self->reference, CHAIN_X, 1);
	memset(arena_of(&self->w, &self->model, CHAIN_A), 0x5a, CHAIN_SIZE);
	ASSERT_EQ(0, world_step(&self->w, CHAIN_COPY, NPUMEM_SIM_NOP, 0));
	ASSERT_EQ(0, world_wait(&self->w));
	EXPECT_TRUE(npu_all_bytes(arena_of(&self->w, &self->model, CHAIN_A), CHAIN_SIZE, 0x5a));
}

TEST_F(run, range_of_positions_in_one_job)
{
	struct drm_npumem_job job = world_job(&self->w, 0, NPUMEM_SIM_MIX, KEY);
	struct drm_npumem_submit args;

	set_input(&self->w, &self->model, self->reference, CHAIN_X, 9);
	job.position_count = CHAIN_STEPS;
	ASSERT_EQ(0, world_submit(&self->w, &job, 1, &args));
	ASSERT_EQ(0, world_wait(&self->w));
	reference_mix(&self->model, self->reference, KEY);
	EXPECT_TRUE(output_equals(&self->w, &self->model, self->reference, CHAIN_Y));
}

/*
 * Three dimensions, tiles cut differently for writing and for reading, several
 * accesses a step, and an update in place. 6 rows of 8 x 4 bytes.
 */
TEST(strided_tiles_against_the_reference)
{
	enum { ROWS = 6, ROW = 32, X = 0, A, Y, FIRST_TILE };
	struct model m = { 0 };
	struct world w;
	uint8_t **ref;
	uint32_t row, s, in, columns[2], rows[3];
	int fd = npu_open();

	ASSERT_GE(fd, 0);
	model_tensor(&m, NPUMEM_TENSOR_INPUT, ROWS * ROW);
	model_tensor(&m, NPUMEM_TENSOR_INTERMEDIATE, ROWS * ROW);
	model_tensor(&m, NPUMEM_TENSOR_OUTPUT, ROWS * ROW);
	in = model_whole(&m, X);
	/* Even and odd groups of 4 bytes of all rows. */
	for (s = 0; s < 2; s++) {
		columns[s] = model_tile(&m, A, 4 * s, 4);
		m.tiles[columns[s]].region.count[0] = ROW / 8;
		m.tiles[columns[s]].region.stride[0] = 8;
		m.tiles[columns[s]].region.count[1] = ROWS;
		m.tiles[columns[s]].region.stride[1] = ROW;
		model_step_rw(&m, in, columns[s]);
	}
	/* Read back in bands of rows, the last two overlapping. */
	for (row = 0; row < 3; row++) {
		rows[row] = model_tile(&m, A, (row ? row * 2 - 1 : 0) * ROW, 3 * ROW);
		s = model_tile(&m, Y, row * 2 * ROW, 2 * ROW);
		model_step(&m, NPUMEM_STEP_STAGED);
		model_access(&m, rows[row], NPUMEM_ACCESS_READ);
		model_access(&m, in, NPUMEM_ACCESS_READ);
		model_access(&m, s, NPUMEM_ACCESS_WRITE);
	}
	/* Rewrite two columns of the output. */
	s = model_tile(&m, Y, 3, 2);
	m.tiles[s].region.count[0] = ROWS;
	m.tiles[s].region.stride[0] = ROW;
	model_step(&m, 0);
	model_access(&m, s, NPUMEM_ACCESS_UPDATE);
	model_place(&m, X, 0);
	model_place(&m, A, ROWS * ROW);
	model_place(&m, Y, 2 * ROWS * ROW);
	model_schedule(&m);

	ASSERT_EQ(0, world_open(&w, fd, &m));
	ref = reference_new(&m);
	set_input(&w, &m, ref, X, 5);
	for (s = 0; s < m.step_count; s++) {
		ASSERT_EQ(0, world_step(&w, s, NPUMEM_SIM_MIX, KEY));
		reference_step(&m, ref, s, NPUMEM_SIM_MIX, KEY);
	}
	ASSERT_EQ(0, world_wait(&w));
	EXPECT_TRUE(output_equals(&w, &m, ref, A));
	EXPECT_TRUE(output_equals(&w, &m, ref, Y));
	reference_free(&m, ref);
	world_close(&w);
	model_free(&m);
	close(fd);
}

/*
 * An operator that works in place: what it writes lies where it read, byte by byte;
 * and a tensor of which half is written under another name.
 */
TEST(in_place_and_under_another_name)
{
	enum { X, A, B, Y, HALF, SIZE = 512 };
	struct model m = { 0 };
	struct world w;
	uint8_t **ref;
	uint32_t s;
	int fd = npu_open();

	ASSERT_GE(fd, 0);
	for (s = X; s <= Y; s++) {
		model_tensor(&m,
			     s == X ? NPUMEM_TENSOR_INPUT :
			     s == Y ? NPUMEM_TENSOR_OUTPUT :
				      NPUMEM_TENSOR_INTERMEDIATE,
			     SIZE);
		model_whole(&m, s);
	}
	model_tensor(&m, NPUMEM_TENSOR_INTERMEDIATE, SIZE / 2);
	m.tensors[HALF].flags = NPUMEM_TENSOR_FLAG_ALIAS;
	m.tensors[HALF].alias_of = A;
	m.tensors[HALF].alias_offset = SIZE / 2;
	model_whole(&m, HALF);
	/* A, by halves; then B in the place of A, then Y in the place of B. */
	model_step_rw(&m, X, HALF);
	model_step_rw(&m, X, model_tile(&m, A, 0, SIZE / 2));
	model_step_rw(&m, A, B);
	m.accesses[m.access_count - 1].inplace = 0;
	model_step_rw(&m, B, Y);
	m.accesses[m.access_count - 1].inplace = 0;
	model_place(&m, X, 0);
	for (s = A; s <= Y; s++)
		model_place(&m, s, SIZE);
	m.placements[A].to = 2;
	m.placements[B].from = 2;
	m.placements[B].to = 3;
	m.placements[Y].from = 3;
	model_schedule(&m);

	ASSERT_EQ(0, world_open(&w, fd, &m));
	ref = reference_new(&m);
	set_input(&w, &m, ref, X, 5);
	for (s = 0; s < m.step_count; s++) {
		ASSERT_EQ(0, world_step(&w, s, NPUMEM_SIM_MIX, KEY));
		reference_step(&m, ref, s, NPUMEM_SIM_MIX, KEY);
		if (!s)
			memcpy(ref[A] + SIZE / 2, ref[HALF], SIZE / 2);
	}
	ASSERT_EQ(0, world_wait(&w));
	EXPECT_TRUE(output_equals(&w, &m, ref, Y));
	reference_free(&m, ref);
	world_close(&w);
	model_free(&m);
	close(fd);
}

/* Transpose: copy between regions of different strides, equal linear order. */
TEST(copy_between_strides)
{
	enum { ROWS = 4, COLUMNS = 16 };
	struct model m = { 0 };
	uint32_t from, to;
	struct world w;
	uint8_t **ref;
	int fd = npu_open();

	ASSERT_GE(fd, 0);
	model_tensor(&m, NPUMEM_TENSOR_INPUT, ROWS * COLUMNS);
	model_tensor(&m, NPUMEM_TENSOR_OUTPUT, ROWS * 4);
	from = model_tile(&m, 0, 8, 4);
	m.tiles[from].region.count[0] = ROWS;
	m.tiles[from].region.stride[0] = COLUMNS;
	to = model_whole(&m, 1);
	model_step_rw(&m, from, to);
	model_place(&m, 0, 0);
	model_place(&m, 1, ROWS * COLUMNS);
	model_schedule(&m);
	ASSERT_EQ(0, world_open(&w, fd, &m));
	ref = reference_new(&m);
	set_input(&w, &m, ref, 0, 3);
	ASSERT_EQ(0, world_step(&w, 0, NPUMEM_SIM_COPY, 0));
	reference_step(&m, ref, 0, NPUMEM_SIM_COPY, 0);
	ASSERT_EQ(0, world_wait(&w));
	EXPECT_TRUE(output_equals(&w, &m, ref, 1));
	reference_free(&m, ref);
	world_close(&w);
	model_free(&m);
	close(fd);
}

/* Jobs of one call, each with more to copy than those before. */
TEST(copies_of_growing_size)
{
	static const uint64_t sizes[] = { 64, 5000, 40000, 41000 };
	struct drm_npumem_job jobs[ARRAY_SIZE(sizes)];
	struct drm_npumem_submit args;
	struct model m = { 0 };
	uint64_t offset = 0;
	struct world w;
	uint8_t **ref;
	uint32_t i;
	int fd = npu_open();

	ASSERT_GE(fd, 0);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		model_tensor(&m, NPUMEM_TENSOR_INPUT, sizes[i]);
		model_tensor(&m, NPUMEM_TENSOR_OUTPUT, sizes[i]);
		model_step_rw(&m, model_whole(&m, 2 * i), model_whole(&m, 2 * i + 1));
	}
	for (i = 0; i < 2 * ARRAY_SIZE(sizes); i++) {
		model_place(&m, i, offset);
		offset += (sizes[i / 2] + 63) / 64 * 64;
	}
	model_schedule(&m);
	ASSERT_EQ(0, world_open(&w, fd, &m));
	ref = reference_new(&m);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		set_input(&w, &m, ref, 2 * i, i + 1);
		reference_step(&m, ref, i, NPUMEM_SIM_COPY, 0);
		jobs[i] = world_job(&w, i, NPUMEM_SIM_COPY, 0);
	}
	ASSERT_EQ(0, world_submit(&w, jobs, ARRAY_SIZE(sizes), &args));
	ASSERT_EQ(0, world_wait(&w));
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		EXPECT_TRUE(output_equals(&w, &m, ref, 2 * i + 1));
	reference_free(&m, ref);
	world_close(&w);
	model_free(&m);
	close(fd);
}

TEST(copy_needs_as_many_bytes_as_it_has)
{
	struct model m = { 0 };
	struct world w;
	int fd = npu_open();

	ASSERT_GE(fd, 0);
	model_tensor(&m, NPUMEM_TENSOR_INPUT, 64);
	model_tensor(&m, NPUMEM_TENSOR_OUTPUT, 65);
	model_whole(&m, 0);
	model_whole(&m, 1);
	model_step_rw(&m, 0, 1);
	model_place(&m, 0, 0);
	model_place(&m, 1, 64);
	model_schedule(&m);
	ASSERT_EQ(0, world_open(&w, fd, &m));
	EXPECT_EQ(-EINVAL, world_step(&w, 0, NPUMEM_SIM_COPY, 0));
	EXPECT_EQ(0, world_step(&w, 0, NPUMEM_SIM_MIX, 0));
	world_close(&w);
	model_free(&m);
	close(fd);
}

TEST_HARNESS_MAIN
