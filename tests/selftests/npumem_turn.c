// SPDX-License-Identifier: MIT
/* Shared arenas: runs of one client, and of two, take turns with one. */
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "npumem_attach.h"

#define KEY  0x7ea5e5
#define MIB  (1ull << 20)
#define LATE (npu_now() + NPU_PATIENCE_NS)

/*
 * Two clients with one shared arena, and runs of the first and of the second in it. The models
 * are chains of different placement.
 */
FIXTURE(turn)
{
	int fd[2];
	uint32_t bo[2];
	struct model model[2];
	struct world w[2];
};

/* A chain whose last tensor is at the end of an arena of that size, and its first at @x. */
static struct model chain_in(uint64_t size, uint64_t x)
{
	struct model m = model_chain();

	m.placements[CHAIN_X].offset = x;
	m.placements[CHAIN_Y].offset = size - CHAIN_SIZE;
	m.info.arena_size = size;
	return m;
}

/* What the second client calls a BO of the first. */
static int share(const int *fd, uint32_t bo, uint32_t flags, uint32_t *handle)
{
	int buffer, err;

	if (drmPrimeHandleToFD(fd[0], bo, flags, &buffer))
		return -errno;
	err = drmPrimeFDToHandle(fd[1], buffer, handle) ? -errno : 0;
	close(buffer);
	return err;
}

FIXTURE_SETUP(turn)
{
	int i;

	self->model[0] = chain_in(MIB, 4 * CHAIN_SIZE);
	self->model[1] = chain_in(MIB / 2, 5 * CHAIN_SIZE);
	for (i = 0; i < 2; i++) {
		self->fd[i] = npu_open();
		ASSERT_GE(self->fd[i], 0);
	}
	ASSERT_EQ(0, npu_bo_create(self->fd[0], MIB, NPUMEM_BO_SHARED, &self->bo[0]));
	ASSERT_EQ(0, share(self->fd, self->bo[0], DRM_CLOEXEC | DRM_RDWR, &self->bo[1]));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, world_open_shared(&self->w[i], self->fd[i], &self->model[i],
					       self->bo[i]));
}

/* Nothing of the carveout is held when all is closed. */
FIXTURE_TEARDOWN(turn)
{
	struct drm_npumem_bank bank = { 0 };
	int i, fd;

	EXPECT_EQ(0, npu_knob("pause", 0));
	for (i = 0; i < 2; i++) {
		world_close(&self->w[i]);
		close(self->fd[i]);
		model_free(&self->model[i]);
	}
	fd = npu_open();
	EXPECT_EQ(0, npu_bank(fd, &bank));
	EXPECT_EQ(bank.size, bank.free);
	close(fd);
}

static uint8_t *tensor(const struct world *w, const struct model *m, uint32_t t)
{
	return w->arena + m->placements[t].offset;
}

/* A whole inference in the run's turn, with an input of its own; its output is right. */
static bool infers(struct world *w, const struct model *m, uint8_t seed)
{
	uint8_t **ref = reference_new(m);
	struct drm_npumem_submit args;
	bool right;

	memset(ref[CHAIN_X], seed, CHAIN_SIZE);
	memset(tensor(w, m, CHAIN_X), seed, CHAIN_SIZE);
	reference_mix(m, ref, KEY);
	right = !world_mix(w, 0, CHAIN_STEPS, KEY, &args) && !world_wait(w) &&
		!memcmp(tensor(w, m, CHAIN_Y), ref[CHAIN_Y], CHAIN_SIZE);
	reference_free(m, ref);
	return right;
}

TEST_F(turn, jobs_go_in_the_turn_only)
{
	struct world *w = &self->w[0];

	EXPECT_EQ(-ENOLCK, world_step(w, CHAIN_COPY, NPUMEM_SIM_NOP, 0));
	EXPECT_EQ(-ENOLCK, world_reset(w));
	EXPECT_EQ(-ENOLCK, world_end(w));
	ASSERT_EQ(0, world_begin(w, 0));
	EXPECT_EQ(-EALREADY, world_begin(w, 0));
	EXPECT_EQ(-EALREADY, world_begin(w, LATE));
	EXPECT_TRUE(infers(w, &self->model[0], 1));
	/* A turn has room for several inferences. */
	EXPECT_EQ(-EPERM, world_step(w, CHAIN_COPY, NPUMEM_SIM_NOP, 0));
	ASSERT_EQ(0, world_reset(w));
	EXPECT_TRUE(infers(w, &self->model[0], 2));
	ASSERT_EQ(0, world_end(w));
	EXPECT_EQ(-ENOLCK, world_end(w));
	EXPECT_EQ(-ENOLCK, world_step(w, CHAIN_COPY, NPUMEM_SIM_NOP, 0));
	EXPECT_EQ(-ENOLCK, world_reset(w));
	/* The next turn begins with an inference. */
	ASSERT_EQ(0, world_begin(w, 0));
	EXPECT_TRUE(infers(w, &self->model[0], 3));
	ASSERT_EQ(0, world_end(w));
}

TEST_F(turn, arguments)
{
	struct world own;
	const struct {
		const char *what;
		struct drm_npumem_run_turn args;
		int err;
	} cases[] = {
		{ "no flag", { .run = self->w[0].run }, -EINVAL },
		{ "both", { self->w[0].run, NPUMEM_TURN_BEGIN | NPUMEM_TURN_END }, -EINVAL },
		{ "unknown", { self->w[0].run, NPUMEM_TURN_END << 1 }, -EINVAL },
		{ "more", { self->w[0].run, NPUMEM_TURN_BEGIN | 1u << 31 }, -EINVAL },
		{ "end, deadline", { self->w[0].run, NPUMEM_TURN_END, 1 }, -EINVAL },
		{ "no run", { 0, NPUMEM_TURN_BEGIN }, -ENOENT },
		{ "no run, end", { 0x7fffffff, NPUMEM_TURN_END }, -ENOENT },
		{ "deadline past", { self->w[0].run, NPUMEM_TURN_BEGIN, INT64_MIN }, 0 },
		{ "end", { self->w[0].run, NPUMEM_TURN_END }, 0 },
		{ "deadline late", { self->w[0].run, NPUMEM_TURN_BEGIN, INT64_MAX }, 0 },
		{ "end again", { self->w[0].run, NPUMEM_TURN_END }, 0 },
	};
	struct drm_npumem_run_turn args;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		args = cases[i].args;
		EXPECT_EQ(cases[i].err, npu_ioctl(self->fd[0], DRM_IOCTL_NPUMEM_RUN_TURN, &args))
		TH_LOG("case: %s", cases[i].what);
	}
	/* A run with an arena of its own has no turns. */
	ASSERT_EQ(0, world_open(&own, self->fd[0], &self->model[0]));
	EXPECT_EQ(-EINVAL, world_begin(&own, 0));
	EXPECT_EQ(-EINVAL, world_end(&own));
	EXPECT_TRUE(infers(&own, &self->model[0], 1));
	world_close(&own);
}

TEST_F(turn, arenas_that_will_not_do)
{
	struct model large = chain_in(MIB + 4096, 4 * CHAIN_SIZE);
	uint32_t carveout, system, exact, read_only;
	struct world w;

	ASSERT_EQ(0, npu_bo_create(self->fd[0], 2 * MIB, NPUMEM_BO_CARVEOUT, &carveout));
	ASSERT_EQ(0, npu_bo_create(self->fd[0], 2 * MIB, NPUMEM_BO_SYSTEM, &system));
	ASSERT_EQ(0, npu_bo_create(self->fd[0], MIB + 4096, NPUMEM_BO_SHARED, &exact));
	EXPECT_EQ(-ENOENT, world_open_shared(&w, self->fd[0], &large, 0));
	EXPECT_EQ(-ENOENT, world_open_shared(&w, self->fd[0], &large, 0x7fffffff));
	EXPECT_EQ(-EINVAL, world_open_shared(&w, self->fd[0], &large, carveout));
	EXPECT_EQ(-EINVAL, world_open_shared(&w, self->fd[0], &large, system));
	EXPECT_EQ(-EINVAL, world_open_shared(&w, self->fd[0], &large, self->bo[0]));
	ASSERT_EQ(0, world_open_shared(&w, self->fd[0], &large, exact));
	/* The bank is the arena's. */
	{
		struct drm_npumem_run_create args = {
			.plan = w.plan,
			.flags = NPUMEM_RUN_CREATE_SHARED,
			.arena_bo = exact,
			.bank = 1,
		};

		EXPECT_EQ(-EINVAL, npu_ioctl(self->fd[0], DRM_IOCTL_NPUMEM_RUN_CREATE, &args));
		args.bank = 0;
		ASSERT_EQ(0, npu_ioctl(self->fd[0], DRM_IOCTL_NPUMEM_RUN_CREATE, &args));
		EXPECT_EQ(exact, args.arena_bo);
		EXPECT_EQ(0, world_destroy(self->fd[0], DRM_IOCTL_NPUMEM_RUN_DESTROY, args.handle));
	}
	/* An arena of a run is its own, whatever it is asked for. */
	world_close(&w);
	ASSERT_EQ(0, world_open(&w, self->fd[0], &large));
	{
		struct world second;

		EXPECT_EQ(-EINVAL, world_open_shared(&second, self->fd[0], &large, w.arena_bo));
	}
	world_close(&w);
	/* Who may only read it cannot have it. */
	ASSERT_EQ(0, share(self->fd, exact, DRM_CLOEXEC, &read_only));
	EXPECT_EQ(-EACCES, world_open_shared(&w, self->fd[1], &large, read_only));
	ASSERT_EQ(0, npu_bo_close(self->fd[0], exact));
	model_free(&large);
}

/* Of the size asked for, in whole pages, and charged once. */
TEST_F(turn, is_taken_and_given_back)
{
	struct drm_npumem_bank before, during, after;
	struct model m = chain_in(3 * MIB, 4 * CHAIN_SIZE);
	struct world w[2];
	uint32_t bo;

	ASSERT_EQ(0, npu_bank(self->fd[0], &before));
	ASSERT_EQ(0, npu_bo_create(self->fd[0], 3 * MIB, NPUMEM_BO_SHARED, &bo));
	ASSERT_EQ(0, npu_bank(self->fd[0], &during));
	EXPECT_EQ(before.free - 3 * MIB, during.free);
	ASSERT_EQ(0, world_open_shared(&w[0], self->fd[0], &m, bo));
	ASSERT_EQ(0, world_open_shared(&w[1], self->fd[0], &m, bo));
	ASSERT_EQ(0, npu_bank(self->fd[0], &after));
	EXPECT_EQ(during.free, after.free);
	/* The runs keep it; mappings, too. */
	ASSERT_EQ(0, npu_bo_close(self->fd[0], bo));
	ASSERT_EQ(0, npu_bank(self->fd[0], &after));
	EXPECT_EQ(during.free, after.free);
	ASSERT_EQ(0, world_begin(&w[0], 0));
	memset(w[0].arena, 1, w[0].arena_size);
	ASSERT_EQ(0, world_step(&w[0], CHAIN_COPY, NPUMEM_SIM_FILL, 7));
	world_close(&w[0]);
	ASSERT_EQ(0, world_begin(&w[1], LATE));
	EXPECT_EQ(7, w[1].arena[m.placements[CHAIN_A].offset]);
	world_close(&w[1]);
	ASSERT_EQ(0, npu_bank(self->fd[0], &after));
	EXPECT_EQ(before.free, after.free);
	model_free(&m);
}

TEST_F(turn, is_an_arena_and_nothing_else)
{
	struct model m = model_external(), spill = model_spill();
	struct blob graph = model_graph(&spill), plan = model_plan(&spill);
	struct drm_npumem_engine_attach attach = {
		.engine = attach_slot(self->fd[0]),
		.window = self->bo[0],
		.hang_ms = 1000,
		.name = "window",
	};
	struct drm_npumem_run_create run = { 0 };
	struct world w;
	uint32_t handle;
	int buffer;

	ASSERT_EQ(0, world_open(&w, self->fd[0], &m));
	EXPECT_EQ(-EINVAL, world_bind(&w, EXTERNAL_X, self->bo[0], 0));
	EXPECT_EQ(-EINVAL, world_bind(&w, EXTERNAL_Y, self->bo[0], 0));
	world_close(&w);
	ASSERT_EQ(0, world_open(&w, self->fd[1], &m));
	EXPECT_EQ(-EINVAL, world_bind(&w, EXTERNAL_X, self->bo[1], 0));
	world_close(&w);
	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd[0], DRM_IOCTL_NPUMEM_ENGINE_ATTACH, &attach));
	ASSERT_EQ(0, world_graph(self->fd[0], &graph, &handle));
	ASSERT_EQ(0, world_plan(self->fd[0], handle, &plan, &run.plan));
	run.host_bo = self->bo[0];
	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd[0], DRM_IOCTL_NPUMEM_RUN_CREATE, &run));
	ASSERT_EQ(0, drmPrimeHandleToFD(self->fd[0], self->bo[0], DRM_CLOEXEC | DRM_RDWR, &buffer));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_SHARED, buffer, 0));
	EXPECT_EQ(EOPNOTSUPP, errno);
	close(buffer);
	blob_free(&graph);
	blob_free(&plan);
	model_free(&spill);
	model_free(&m);
}

/* X (state, @flags) --> Y (output) --> X: state that each inference updates. */
static struct model stateful(uint32_t flags)
{
	struct model m = { 0 };
	uint32_t x, y, t;

	x = model_tensor(&m, NPUMEM_TENSOR_STATE, CHAIN_SIZE);
	m.tensors[x].flags = flags;
	y = model_tensor(&m, NPUMEM_TENSOR_OUTPUT, CHAIN_SIZE);
	t = model_whole(&m, x);
	model_step_rw(&m, t, model_whole(&m, y));
	if (!flags)
		model_place(&m, x, 0);
	model_place(&m, y, CHAIN_SIZE);
	model_schedule(&m);
	return m;
}

/* What must outlive an inference cannot be where others write; but it can be elsewhere. */
TEST_F(turn, state_has_to_be_external)
{
	struct model m = stateful(0);
	uint32_t system, i;
	uint8_t *state;
	struct world w;

	ASSERT_EQ(0, world_open(&w, self->fd[0], &m));
	world_close(&w);
	EXPECT_EQ(-EOPNOTSUPP, world_open_shared(&w, self->fd[0], &m, self->bo[0]));
	model_free(&m);

	m = stateful(NPUMEM_TENSOR_FLAG_EXTERNAL);
	ASSERT_EQ(0, world_open_shared(&w, self->fd[0], &m, self->bo[0]));
	ASSERT_EQ(0, npu_bo_create(self->fd[0], 4096, NPUMEM_BO_SYSTEM, &system));
	state = npu_bo_map(self->fd[0], system, 4096);
	ASSERT_NE(NULL, state);
	memset(state, 0x42, CHAIN_SIZE);
	ASSERT_EQ(0, world_bind(&w, 0, system, 0));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, world_begin(&w, 0));
		ASSERT_EQ(0, world_step(&w, 0, NPUMEM_SIM_COPY, 0));
		ASSERT_EQ(0, world_wait(&w));
		EXPECT_TRUE(npu_all_bytes(w.arena + CHAIN_SIZE, CHAIN_SIZE, 0x42));
		ASSERT_EQ(0, world_end(&w));
		ASSERT_EQ(0, world_begin(&self->w[1], 0));
		EXPECT_TRUE(infers(&self->w[1], &self->model[1], i));
		ASSERT_EQ(0, world_end(&self->w[1]));
	}
	munmap(state, 4096);
	world_close(&w);
	model_free(&m);
}

/* Outside its turn nothing of a run is live, so that tensors may be bound anew. */
TEST_F(turn, binding_between_turns)
{
	struct model m = model_external();
	struct world w;
	uint32_t bo;

	ASSERT_EQ(0, world_open_shared(&w, self->fd[0], &m, self->bo[0]));
	ASSERT_EQ(0, npu_bo_create(self->fd[0], 8192, NPUMEM_BO_SYSTEM, &bo));
	ASSERT_EQ(0, world_bind(&w, EXTERNAL_X, bo, 0));
	ASSERT_EQ(0, world_bind(&w, EXTERNAL_P, bo, 1024));
	ASSERT_EQ(0, world_bind(&w, EXTERNAL_E, bo, 2048));
	ASSERT_EQ(0, world_begin(&w, 0));
	ASSERT_EQ(0, world_step(&w, EXTERNAL_LOAD, NPUMEM_SIM_NOP, 0));
	ASSERT_EQ(0, world_step(&w, EXTERNAL_MIX, NPUMEM_SIM_NOP, 0));
	ASSERT_EQ(0, world_wait(&w));
	EXPECT_EQ(-EBUSY, world_bind(&w, EXTERNAL_E, bo, 4096));
	ASSERT_EQ(0, world_end(&w));
	EXPECT_EQ(0, world_bind(&w, EXTERNAL_E, bo, 4096));
	world_close(&w);
	model_free(&m);
}

/* Another one waits as long as it says. */
TEST_F(turn, deadlines)
{
	int64_t begun;

	ASSERT_EQ(0, world_begin(&self->w[0], 0));
	EXPECT_EQ(-ETIMEDOUT, world_begin(&self->w[1], 0));
	begun = npu_now();
	EXPECT_EQ(-ETIMEDOUT, world_begin(&self->w[1], begun + 50 * 1000000));
	EXPECT_LE(begun + 50 * 1000000, npu_now());
	/* Who has given up is in nobody's way. */
	ASSERT_EQ(0, world_end(&self->w[0]));
	ASSERT_EQ(0, world_begin(&self->w[0], 0));
	ASSERT_EQ(0, world_end(&self->w[0]));
	ASSERT_EQ(0, world_begin(&self->w[1], 0));
	EXPECT_EQ(-ETIMEDOUT, world_begin(&self->w[0], npu_now() + 1000000));
	EXPECT_TRUE(infers(&self->w[1], &self->model[1], 9));
	ASSERT_EQ(0, world_end(&self->w[1]));
}

/* What one client leaves, another one does not find. Its own it does. */
TEST_F(turn, bytes_are_of_one_client)
{
	struct world again;

	EXPECT_TRUE(npu_read_faults(self->w[0].arena));
	EXPECT_TRUE(npu_write_faults(self->w[0].arena, 1));
	ASSERT_EQ(0, world_begin(&self->w[0], 0));
	EXPECT_TRUE(npu_all_bytes(self->w[0].arena, MIB, 0));
	memset(self->w[0].arena, 0x5e, MIB);
	EXPECT_TRUE(npu_read_faults(self->w[1].arena));
	ASSERT_EQ(0, world_end(&self->w[0]));
	EXPECT_TRUE(npu_read_faults(self->w[0].arena));
	EXPECT_TRUE(npu_read_faults(self->w[0].arena + MIB - 1));
	EXPECT_TRUE(npu_write_faults(self->w[0].arena + 4096, 1));

	/* Another run of the same client: the bytes are there, but no tile is. */
	ASSERT_EQ(0, world_open_shared(&again, self->fd[0], &self->model[1], self->bo[0]));
	ASSERT_EQ(0, world_begin(&again, 0));
	EXPECT_TRUE(npu_all_bytes(again.arena, again.arena_size, 0x5e));
	EXPECT_EQ(-EPERM, world_step(&again, CHAIN_MIX, NPUMEM_SIM_NOP, 0));
	/* It is the client's turn, whichever of its mappings it takes. */
	EXPECT_FALSE(npu_read_faults(self->w[0].arena));
	ASSERT_EQ(0, world_end(&again));
	world_close(&again);

	ASSERT_EQ(0, world_begin(&self->w[1], 0));
	EXPECT_TRUE(npu_read_faults(self->w[0].arena));
	{
		uint8_t *all = npu_bo_map(self->fd[1], self->bo[1], MIB);

		ASSERT_NE(NULL, all);
		EXPECT_TRUE(npu_all_bytes(all, MIB, 0));
		munmap(all, MIB);
	}
	EXPECT_EQ(-EPERM, world_step(&self->w[1], CHAIN_MIX, NPUMEM_SIM_NOP, 0));
	EXPECT_TRUE(infers(&self->w[1], &self->model[1], 4));
	ASSERT_EQ(0, world_end(&self->w[1]));
	/* And back. */
	ASSERT_EQ(0, world_begin(&self->w[0], 0));
	EXPECT_TRUE(npu_all_bytes(self->w[0].arena, MIB, 0));
	ASSERT_EQ(0, world_end(&self->w[0]));
}

TEST_F(turn, does_not_end_before_its_jobs)
{
	ASSERT_EQ(0, world_begin(&self->w[0], 0));
	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, world_step(&self->w[0], CHAIN_COPY, NPUMEM_SIM_FILL, 1));
	EXPECT_EQ(-EBUSY, world_end(&self->w[0]));
	EXPECT_EQ(-EBUSY, world_reset(&self->w[0]));
	EXPECT_EQ(-ETIMEDOUT, world_begin(&self->w[1], npu_now() + 10 * 1000000));
	ASSERT_EQ(0, npu_knob("pause", 0));
	ASSERT_EQ(0, world_wait(&self->w[0]));
	EXPECT_EQ(0, world_end(&self->w[0]));
	EXPECT_EQ(0, world_begin(&self->w[1], 0));
	EXPECT_EQ(0, world_end(&self->w[1]));
}

TEST_F(turn, lost_run_keeps_it)
{
	ASSERT_EQ(0, world_begin(&self->w[0], 0));
	ASSERT_EQ(0, npu_knob("fail_next", 1));
	ASSERT_EQ(0, world_step(&self->w[0], CHAIN_COPY, NPUMEM_SIM_FILL, 1));
	ASSERT_EQ(0, world_wait(&self->w[0]));
	EXPECT_EQ(-EIO, world_step(&self->w[0], CHAIN_MIX, NPUMEM_SIM_NOP, 0));
	EXPECT_EQ(-ETIMEDOUT, world_begin(&self->w[1], 0));
	EXPECT_FALSE(npu_read_faults(self->w[0].arena));
	ASSERT_EQ(0, world_end(&self->w[0]));
	EXPECT_EQ(-ENOLCK, world_step(&self->w[0], CHAIN_MIX, NPUMEM_SIM_NOP, 0));
	ASSERT_EQ(0, world_begin(&self->w[1], 0));
	ASSERT_EQ(0, world_end(&self->w[1]));
	/* The next turn begins anew. */
	ASSERT_EQ(0, world_begin(&self->w[0], 0));
	EXPECT_TRUE(infers(&self->w[0], &self->model[0], 2));
	ASSERT_EQ(0, world_end(&self->w[0]));
}

static struct drm_npumem_run_record record_of(struct __test_metadata *_metadata,
					      const struct world *w)
{
	struct drm_npumem_run_record records[4] = { 0 };
	struct drm_npumem_dev_query query = NPU_QUERY(NPUMEM_QUERY_RUNS, records);
	unsigned int i;

	EXPECT_EQ(0, npu_ioctl(w->fd, DRM_IOCTL_NPUMEM_DEV_QUERY, &query));
	for (i = 0; i < query.answer.size / sizeof(records[0]); i++)
		if (records[i].handle == w->run)
			return records[i];
	return (struct drm_npumem_run_record){ 0 };
}

/* What a client has of the carveout is what it has made, and no sum counts it twice. */
TEST_F(turn, is_told_by_queries)
{
	struct drm_npumem_holder holders[8] = { 0 };
	struct drm_npumem_dev_query query = NPU_QUERY(NPUMEM_QUERY_HOLDERS, holders);
	struct drm_npumem_run_record record;
	struct world own;

	record = record_of(_metadata, &self->w[0]);
	EXPECT_EQ(NPUMEM_RUN_SHARED, record.flags);
	EXPECT_EQ(0, record.arena_size);
	ASSERT_EQ(0, world_begin(&self->w[0], 0));
	record = record_of(_metadata, &self->w[0]);
	EXPECT_EQ(NPUMEM_RUN_SHARED | NPUMEM_RUN_IN_TURN, record.flags);
	EXPECT_EQ(NPUMEM_RUN_SHARED, record_of(_metadata, &self->w[1]).flags);
	ASSERT_EQ(0, world_end(&self->w[0]));
	EXPECT_EQ(NPUMEM_RUN_SHARED, record_of(_metadata, &self->w[0]).flags);
	EXPECT_EQ(0, npu_ioctl(self->fd[0], DRM_IOCTL_NPUMEM_DEV_QUERY, &query));
	EXPECT_EQ(sizeof(holders[0]), query.answer.size);
	EXPECT_EQ(MIB, holders[0].bytes);
	ASSERT_EQ(0, world_open(&own, self->fd[0], &self->model[0]));
	record = record_of(_metadata, &own);
	EXPECT_EQ(0, record.flags);
	EXPECT_EQ(MIB, record.arena_size);
	world_close(&own);
}

/*
 * Two models that the bank cannot hold together: neither one client nor two can have an arena
 * for each, but all have turns with one.
 */
TEST_F(turn, models_that_do_not_fit_together)
{
	struct model large[2];
	struct drm_npumem_bank bank;
	struct world w[4], second;
	uint32_t bo[2];
	int i, round;

	ASSERT_EQ(0, npu_bank(self->fd[0], &bank));
	large[0] = chain_in(bank.size / 8 * 5, 4 * CHAIN_SIZE);
	large[1] = chain_in(bank.size / 2, bank.size / 4);
	ASSERT_EQ(0, world_open(&w[0], self->fd[0], &large[0]));
	EXPECT_EQ(-ENOSPC, world_open(&second, self->fd[0], &large[1]));
	EXPECT_EQ(-ENOSPC, world_open(&second, self->fd[1], &large[1]));
	world_close(&w[0]);

	ASSERT_EQ(0, npu_bo_create(self->fd[0], large[0].info.arena_size, NPUMEM_BO_SHARED, bo));
	ASSERT_EQ(0, share(self->fd, bo[0], DRM_CLOEXEC | DRM_RDWR, &bo[1]));
	/* Both models of both clients. */
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, world_open_shared(&w[i], self->fd[i / 2], &large[i % 2], bo[i / 2]));
	for (round = 0; round < 3; round++)
		for (i = 0; i < 4; i++) {
			ASSERT_EQ(0, world_begin(&w[i], 0));
			EXPECT_TRUE(infers(&w[i], &large[i % 2], round * 4 + i));
			ASSERT_EQ(0, world_end(&w[i]));
		}
	for (i = 0; i < 4; i++)
		world_close(&w[i]);
	ASSERT_EQ(0, npu_bo_close(self->fd[0], bo[0]));
	ASSERT_EQ(0, npu_bo_close(self->fd[1], bo[1]));
	for (i = 0; i < 2; i++)
		model_free(&large[i]);
}

/* Whoever has the dma-buf can put a fence there; jobs, and who waits for them, do not look. */
TEST_F(turn, fences_of_others_are_nobodys)
{
	struct dma_buf_import_sync_file fence = { .flags = DMA_BUF_SYNC_RW };
	uint32_t sync = npu_syncobj(self->fd[1]);
	struct drm_npumem_sync out = { .handle = sync };
	struct drm_npumem_submit args;
	struct drm_npumem_job job;
	struct attached engine;
	struct world own;
	int buffer;

	ASSERT_EQ(0, world_open(&own, self->fd[1], &self->model[1]));
	/* Its engine never answers. */
	ASSERT_EQ(0, attach_engine(&engine, self->fd[1], 0, 16384, 10000));
	job = attach_job(&own, 0);
	args = (struct drm_npumem_submit){ .run = own.run,
					   .jobs = NPU_ARRAY(&job, 1),
					   .out_syncs = NPU_ARRAY(&out, 1) };
	ASSERT_EQ(0, npu_ioctl(self->fd[1], DRM_IOCTL_NPUMEM_SUBMIT, &args));
	ASSERT_EQ(0, drmSyncobjExportSyncFile(self->fd[1], sync, &fence.fd));
	ASSERT_EQ(0, drmPrimeHandleToFD(self->fd[1], self->bo[1], DRM_CLOEXEC | DRM_RDWR, &buffer));
	ASSERT_EQ(0, ioctl(buffer, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &fence));
	ASSERT_EQ(0, world_begin(&self->w[0], LATE));
	EXPECT_TRUE(infers(&self->w[0], &self->model[0], 4));
	EXPECT_EQ(0, npu_bo_wait(self->fd[0], self->bo[0], 0));
	EXPECT_EQ(0, world_end(&self->w[0]));
	/* Nobody has waited until it was given up. */
	EXPECT_EQ(-ETIMEDOUT, npu_bo_wait(self->fd[1], own.arena_bo, 0));
	detach_engine(&engine);
	/* A run whose job is still to end is freed when it has, and not by who closes it. */
	EXPECT_EQ(0, world_wait(&own));
	world_close(&own);
	close(buffer);
	close(fence.fd);
}

TEST_HARNESS_MAIN
