// SPDX-License-Identifier: MIT
/*
 * Several engines: jobs of one run, and of one SUBMIT, on "sim" and on "sim-copy". What has
 * nothing to do with each other runs beside each other; what has, waits: for what is read
 * to be written, for what is overwritten to be read. And the priorities of runs.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "npumem_world.h"

#define KEY  0xe2615
#define SIZE 256

enum { SIM, COPY };

/*
 * Indices in the graph
 *
 *   X (input) --MIX--> A --DOWN--> C (output)
 *   Z (input) --SIDE-> B --OVER--> D (output), where X was
 */
enum pair {
	PAIR_X,
	PAIR_Z,
	PAIR_A,
	PAIR_B,
	PAIR_C,
	PAIR_D,
	PAIR_TENSORS,
	PAIR_MIX = 0,
	PAIR_SIDE,
	PAIR_DOWN,
	PAIR_OVER,
	PAIR_STEPS,
};

static const uint64_t at[PAIR_TENSORS] = { 0, SIZE, 2 * SIZE, 3 * SIZE, 4 * SIZE, 0 };

static struct model model_pair(void)
{
	static const uint32_t kinds[PAIR_TENSORS] = {
		NPUMEM_TENSOR_INPUT,	    NPUMEM_TENSOR_INPUT,  NPUMEM_TENSOR_INTERMEDIATE,
		NPUMEM_TENSOR_INTERMEDIATE, NPUMEM_TENSOR_OUTPUT, NPUMEM_TENSOR_OUTPUT,
	};
	struct model m = { 0 };
	uint32_t i;

	for (i = 0; i < PAIR_TENSORS; i++) {
		model_tensor(&m, kinds[i], SIZE);
		model_whole(&m, i);
	}
	model_step_rw(&m, PAIR_X, PAIR_A);
	model_step_rw(&m, PAIR_Z, PAIR_B);
	model_step_rw(&m, PAIR_A, PAIR_C);
	model_step_rw(&m, PAIR_B, PAIR_D);
	for (i = 0; i < PAIR_TENSORS; i++)
		model_place(&m, i, at[i]);
	model_schedule(&m);
	m.placements[PAIR_X].to = PAIR_DOWN;
	m.placements[PAIR_D].from = PAIR_OVER;
	return m;
}

FIXTURE(engines)
{
	int fd;
	struct model model;
	struct world w;
	struct world other; /* whose jobs show that an engine has nothing else to do */
	uint8_t **ref;
};

/* Inputs, and what comes of them. */
static void set_inputs(FIXTURE_DATA(engines) * self, unsigned int seed)
{
	uint32_t i;

	for (i = 0; i < SIZE; i++) {
		self->ref[PAIR_X][i] = i * 7 + seed;
		self->ref[PAIR_Z][i] = i * 5 + seed + 1;
	}
	reference_step(&self->model, self->ref, PAIR_MIX, NPUMEM_SIM_MIX, KEY);
	reference_step(&self->model, self->ref, PAIR_SIDE, NPUMEM_SIM_COPY, 0);
	reference_step(&self->model, self->ref, PAIR_DOWN, NPUMEM_SIM_COPY, 0);
	reference_step(&self->model, self->ref, PAIR_OVER, NPUMEM_SIM_COPY, 0);
	memset(self->w.arena, 0, self->w.arena_size);
	memcpy(self->w.arena + at[PAIR_X], self->ref[PAIR_X], SIZE);
	memcpy(self->w.arena + at[PAIR_Z], self->ref[PAIR_Z], SIZE);
}

static void reset_knobs(void)
{
	npu_knob("pause", 0);
	npu_knob("fail_next", 0);
	npu_knob("job_ns", 0);
	npu_knob("../sim-copy/pause", 0);
	npu_knob("../sim-copy/job_ns", 0);
	npu_knob("../sim-copy/bytes_per_second", 0);
}

FIXTURE_SETUP(engines)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	reset_knobs();
	self->model = model_pair();
	ASSERT_EQ(0, world_open(&self->w, self->fd, &self->model));
	ASSERT_EQ(0, world_open(&self->other, self->fd, &self->model));
	self->ref = reference_new(&self->model);
	set_inputs(self, 3);
}

FIXTURE_TEARDOWN(engines)
{
	reset_knobs();
	reference_free(&self->model, self->ref);
	world_close(&self->other);
	world_close(&self->w);
	model_free(&self->model);
	close(self->fd);
}

static struct drm_npumem_job job_of(const struct world *w, uint32_t position)
{
	struct drm_npumem_job job =
		world_job(w, position, position == PAIR_MIX ? NPUMEM_SIM_MIX : NPUMEM_SIM_COPY,
			  position == PAIR_MIX ? KEY : 0);

	job.engine = position == PAIR_MIX ? SIM : COPY;
	return job;
}

/* Positions in one SUBMIT, with fences in syncobjs, or 0. */
static int submit(struct world *w, const uint32_t *positions, uint32_t count, uint32_t in,
		  uint32_t out)
{
	struct drm_npumem_sync in_sync = { .handle = in }, out_sync = { .handle = out };
	struct drm_npumem_job jobs[8];
	struct drm_npumem_submit args = { .run = w->run };
	uint32_t i;

	for (i = 0; i < count; i++)
		jobs[i] = job_of(w, positions[i]);
	args.jobs = NPU_ARRAY(jobs, count);
	if (in)
		args.in_syncs = NPU_ARRAY(&in_sync, 1);
	if (out)
		args.out_syncs = NPU_ARRAY(&out_sync, 1);
	return npu_ioctl(w->fd, DRM_IOCTL_NPUMEM_SUBMIT, &args);
}

#define SUBMIT(w, in, out, ...)                      \
	submit(w, (const uint32_t[]){ __VA_ARGS__ }, \
	       sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), in, out)

/* Whoever could have gone on the copy engine has: it executed a job that came later. */
static int copy_engine_idle(FIXTURE_DATA(engines) * self)
{
	int err = world_reset(&self->other);

	if (!err)
		err = SUBMIT(&self->other, 0, 0, PAIR_SIDE);
	return err ?: world_wait(&self->other);
}

static bool arena_has(FIXTURE_DATA(engines) * self, uint32_t tensor)
{
	return !memcmp(self->w.arena + at[tensor], self->ref[tensor], SIZE);
}

TEST_F(engines, listed)
{
	struct drm_npumem_engine engines[8] = { 0 };
	struct drm_npumem_dev_query query = NPU_QUERY(NPUMEM_QUERY_ENGINES, engines);

	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_DEV_QUERY, &query));
	EXPECT_LE(2 * sizeof(engines[0]), query.answer.size);
	EXPECT_STREQ(NPUMEM_SIM_NAME, engines[SIM].name);
	EXPECT_STREQ(NPUMEM_SIM_COPY_NAME, engines[COPY].name);
	EXPECT_EQ(NPUMEM_ENGINE_TRANSFERS, engines[COPY].flags);
}

TEST_F(engines, copy_engine_does_nothing_else)
{
	struct drm_npumem_job job = job_of(&self->w, PAIR_MIX);
	struct drm_npumem_submit args;

	job.engine = COPY;
	EXPECT_EQ(-EOPNOTSUPP, world_submit(&self->w, &job, 1, &args));
	EXPECT_EQ(0, args.failed_job);
	world_command(&job, NPUMEM_SIM_FILL, 1);
	EXPECT_EQ(-EOPNOTSUPP, world_submit(&self->w, &job, 1, &args));
}

/* All of it in one SUBMIT; one engine stands still, and the other does what it can. */
TEST_F(engines, independent_jobs_overlap)
{
	uint32_t out = npu_syncobj(self->fd);
	int64_t end = npu_now() + NPU_PATIENCE_NS;

	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, SUBMIT(&self->w, 0, out, PAIR_MIX, PAIR_SIDE, PAIR_DOWN, PAIR_OVER));
	while (!arena_has(self, PAIR_B) && npu_now() < end)
		sched_yield();
	EXPECT_TRUE(arena_has(self, PAIR_B));
	EXPECT_TRUE(npu_all_bytes(self->w.arena + at[PAIR_A], SIZE, 0));
	EXPECT_TRUE(npu_all_bytes(self->w.arena + at[PAIR_C], SIZE, 0));
	EXPECT_TRUE(arena_has(self, PAIR_X));
	/* The SUBMIT has not ended before all of it has. */
	EXPECT_EQ(-ETIME, npu_sync_now(self->fd, out, 0));
	EXPECT_EQ(-ETIMEDOUT, npu_bo_wait(self->fd, self->w.arena_bo, 0));
	EXPECT_EQ(-EBUSY, world_reset(&self->w));
	ASSERT_EQ(0, npu_knob("pause", 0));
	EXPECT_EQ(0, npu_sync_wait(self->fd, out, 0));
	EXPECT_TRUE(arena_has(self, PAIR_A));
	EXPECT_TRUE(arena_has(self, PAIR_C));
	EXPECT_TRUE(arena_has(self, PAIR_D));
	EXPECT_EQ(0, world_reset(&self->w));
}

TEST_F(engines, read_waits_for_write)
{
	uint32_t out = npu_syncobj(self->fd);

	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, SUBMIT(&self->w, 0, 0, PAIR_MIX));
	ASSERT_EQ(0, SUBMIT(&self->w, 0, out, PAIR_DOWN));
	ASSERT_EQ(0, copy_engine_idle(self));
	EXPECT_EQ(-ETIME, npu_sync_now(self->fd, out, 0));
	EXPECT_TRUE(npu_all_bytes(self->w.arena + at[PAIR_C], SIZE, 0));
	ASSERT_EQ(0, npu_knob("pause", 0));
	EXPECT_EQ(0, npu_sync_wait(self->fd, out, 0));
	EXPECT_TRUE(arena_has(self, PAIR_C));
}

TEST_F(engines, write_waits_for_read)
{
	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, SUBMIT(&self->w, 0, 0, PAIR_MIX, PAIR_SIDE));
	ASSERT_EQ(0, SUBMIT(&self->w, 0, 0, PAIR_OVER));
	ASSERT_EQ(0, copy_engine_idle(self));
	EXPECT_TRUE(arena_has(self, PAIR_B));
	EXPECT_TRUE(arena_has(self, PAIR_X));
	ASSERT_EQ(0, npu_knob("pause", 0));
	ASSERT_EQ(0, world_wait(&self->w));
	EXPECT_TRUE(arena_has(self, PAIR_A));
	EXPECT_TRUE(arena_has(self, PAIR_D));
}

/* In-syncs are for all that is submitted from then on, on whichever engine. */
TEST_F(engines, in_sync_holds_all_engines)
{
	uint32_t in = npu_syncobj(self->fd), out = npu_syncobj(self->fd);

	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, SUBMIT(&self->other, 0, in, PAIR_MIX));
	ASSERT_EQ(0, SUBMIT(&self->w, in, 0, PAIR_MIX));
	ASSERT_EQ(0, SUBMIT(&self->w, 0, out, PAIR_SIDE));
	ASSERT_EQ(0, SUBMIT(&self->other, 0, 0, PAIR_SIDE));
	while (memcmp(self->other.arena + at[PAIR_B], self->other.arena + at[PAIR_Z], SIZE))
		sched_yield();
	EXPECT_EQ(-ETIME, npu_sync_now(self->fd, out, 0));
	EXPECT_TRUE(npu_all_bytes(self->w.arena + at[PAIR_B], SIZE, 0));
	ASSERT_EQ(0, npu_knob("pause", 0));
	EXPECT_EQ(0, npu_sync_wait(self->fd, out, 0));
	EXPECT_TRUE(arena_has(self, PAIR_B));
	ASSERT_EQ(0, world_wait(&self->w));
	EXPECT_TRUE(arena_has(self, PAIR_A));
	ASSERT_EQ(0, world_wait(&self->other));
}

/* The run's own fence, too, if somebody asks for it. */
TEST_F(engines, own_fence_as_in_sync)
{
	uint32_t sync = npu_syncobj(self->fd), out = npu_syncobj(self->fd);

	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, SUBMIT(&self->w, 0, sync, PAIR_MIX));
	ASSERT_EQ(0, SUBMIT(&self->w, sync, out, PAIR_SIDE));
	ASSERT_EQ(0, copy_engine_idle(self));
	EXPECT_EQ(-ETIME, npu_sync_now(self->fd, out, 0));
	EXPECT_TRUE(npu_all_bytes(self->w.arena + at[PAIR_B], SIZE, 0));
	ASSERT_EQ(0, npu_knob("pause", 0));
	EXPECT_EQ(0, npu_sync_wait(self->fd, out, 0));
	EXPECT_TRUE(arena_has(self, PAIR_B));
}

/* A SUBMIT that is refused in the midst leaves nothing behind that anybody waits for. */
TEST_F(engines, refused_submit_is_taken_back)
{
	unsigned int i;

	for (i = 0; i < 3; i++) {
		set_inputs(self, 11 + i);
		ASSERT_EQ(-EPERM,
			  SUBMIT(&self->w, 0, 0, PAIR_MIX, PAIR_SIDE, PAIR_DOWN, PAIR_SIDE));
		ASSERT_EQ(-EPERM, SUBMIT(&self->w, 0, 0, PAIR_SIDE, PAIR_OVER));
		EXPECT_EQ(0, npu_bo_wait(self->fd, self->w.arena_bo, 0));
		ASSERT_EQ(0, SUBMIT(&self->w, 0, 0, PAIR_SIDE, PAIR_MIX, PAIR_OVER, PAIR_DOWN));
		ASSERT_EQ(0, world_wait(&self->w));
		EXPECT_TRUE(arena_has(self, PAIR_A));
		EXPECT_TRUE(arena_has(self, PAIR_B));
		EXPECT_TRUE(arena_has(self, PAIR_C));
		EXPECT_TRUE(arena_has(self, PAIR_D));
		ASSERT_EQ(0, world_reset(&self->w));
	}
}

/* What waits for a job that fails is not executed, and the run is lost on all engines. */
TEST_F(engines, failure_cancels_on_other_engines)
{
	uint32_t out = npu_syncobj(self->fd);
	struct drm_npumem_run_query query;

	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, npu_knob("fail_next", 1));
	ASSERT_EQ(0, SUBMIT(&self->w, 0, out, PAIR_MIX, PAIR_DOWN));
	ASSERT_EQ(0, npu_knob("pause", 0));
	EXPECT_EQ(0, npu_sync_wait(self->fd, out, 0));
	EXPECT_EQ(-EIO, npu_sync_status(self->fd, out));
	EXPECT_EQ(0, world_query(&self->w, &query));
	EXPECT_EQ(EIO, query.error);
	EXPECT_TRUE(npu_all_bytes(self->w.arena + at[PAIR_C], SIZE, 0));
	EXPECT_EQ(-EIO, SUBMIT(&self->w, 0, 0, PAIR_SIDE));
	ASSERT_EQ(0, world_wait(&self->w));
	EXPECT_EQ(0, world_reset(&self->w));
}

/* Transfers on one engine, steps on the other, every job of its own, one slower than the other. */
TEST_F(engines, transfers_beside_steps)
{
	struct model m = model_spill();
	struct drm_npumem_job jobs[SPILL_POSITIONS];
	uint8_t **ref = reference_new(&m);
	struct drm_npumem_submit args;
	struct world w;
	uint32_t i, round;

	ASSERT_EQ(0, world_open(&w, self->fd, &m));
	for (i = 0; i < SPILL_POSITIONS; i++) {
		jobs[i] = world_job(&w, i, NPUMEM_SIM_MIX, KEY);
		jobs[i].engine = SIM;
		if (m.positions[i].kind == NPUMEM_POSITION_STEP)
			continue;
		world_command(&jobs[i], NPUMEM_SIM_NOP, 0);
		jobs[i].engine = COPY;
	}
	for (round = 0; round < 3; round++) {
		for (i = 0; i < SPILL_SIZE; i++) {
			ref[SPILL_X][i] = (i * 7 + round) ^ (i >> 8);
			ref[SPILL_P][i] = (i * 5 + round) ^ (i >> 5);
		}
		memset(w.host, 0xee, SPILL_HOST_SIZE);
		memcpy(w.host + spill_host[SPILL_X], ref[SPILL_X], SPILL_SIZE);
		memcpy(w.host + spill_host[SPILL_P], ref[SPILL_P], SPILL_SIZE);
		for (i = 0; i < SPILL_STEPS; i++)
			reference_step(&m, ref, i, NPUMEM_SIM_MIX, KEY);
		ASSERT_EQ(0, npu_knob("../sim-copy/job_ns", round == 1 ? 20000000 : 0));
		ASSERT_EQ(0, npu_knob("job_ns", round == 2 ? 20000000 : 0));
		ASSERT_EQ(0, world_submit(&w, jobs, SPILL_POSITIONS, &args));
		ASSERT_EQ(0, world_wait(&w));
		EXPECT_EQ(0, memcmp(w.host + spill_host[SPILL_Y], ref[SPILL_Y], SPILL_SIZE))
		TH_LOG("round %u", round);
		ASSERT_EQ(0, world_reset(&w));
	}
	reference_free(&m, ref);
	world_close(&w);
	model_free(&m);
}

/* ----------------------------------------------------------------- priorities */

/* A run of that priority instead of the world's. */
static int set_priority(struct world *w, uint32_t priority)
{
	struct drm_npumem_run_create args = { .plan = w->plan, .priority = priority };
	int err = npu_ioctl(w->fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &args);

	if (err)
		return err;
	world_destroy(w->fd, DRM_IOCTL_NPUMEM_RUN_DESTROY, w->run);
	npu_bo_close(w->fd, args.arena_bo);
	w->run = args.handle;
	return 0;
}

TEST_F(engines, priorities)
{
	static const uint32_t priorities[3] = { NPUMEM_PRIORITY_LOW, NPUMEM_PRIORITY_NORMAL,
						NPUMEM_PRIORITY_HIGH };
	struct world worlds[3];
	uint32_t syncs[3], i;
	int64_t times[3];

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, world_open(&worlds[i], self->fd, &self->model));
		ASSERT_EQ(0, set_priority(&worlds[i], priorities[i]));
		syncs[i] = npu_syncobj(self->fd);
	}
	/* In flight, and then those that wait, the least first. */
	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, npu_knob("job_ns", 200000000));
	ASSERT_EQ(0, SUBMIT(&self->w, 0, 0, PAIR_MIX));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, SUBMIT(&worlds[i], 0, syncs[i], PAIR_MIX));
	/* All have asked for their turn by the time that the first one has ended. */
	ASSERT_EQ(0, copy_engine_idle(self));
	ASSERT_EQ(0, npu_knob("pause", 0));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(0, npu_sync_wait(self->fd, syncs[i], 0));
		times[i] = npu_sync_time(self->fd, syncs[i]);
		EXPECT_LT(0, times[i]);
	}
	EXPECT_LT(times[2], times[1]);
	EXPECT_LT(times[1], times[0]);
	for (i = 0; i < 3; i++)
		world_close(&worlds[i]);
}

TEST_F(engines, high_priority_is_for_the_privileged)
{
	ASSERT_EQ(0, set_priority(&self->w, NPUMEM_PRIORITY_HIGH));
	ASSERT_EQ(0, npu_become(65534));
	EXPECT_EQ(-EACCES, set_priority(&self->w, NPUMEM_PRIORITY_HIGH));
	EXPECT_EQ(0, set_priority(&self->w, NPUMEM_PRIORITY_LOW));
}

TEST_HARNESS_MAIN
