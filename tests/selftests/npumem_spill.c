// SPDX-License-Identifier: MIT
/*
 * Plans with transfers: the host BO of a run, what loads, spills, stores, fills and
 * drops do to the bytes on both sides, in which order they may go, their fences, and
 * RUN_QUERY. Several threads at one run: npumem_spill_race.c; a device that goes:
 * npumem_unbind.c; a host BO of another device: npumem_foreign.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "npumem_world.h"

#define KEY  0x5b111
#define SIZE SPILL_SIZE

enum { PAGE = 4096, HOST_PAGES = 6 };

FIXTURE(spill)
{
	int fd;
	struct model model;
	struct world w;
	uint8_t **ref;
};

FIXTURE_SETUP(spill)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, npu_knob("pause", 0));
	ASSERT_EQ(0, npu_knob("fail_next", 0));
	self->model = model_spill();
	ASSERT_EQ(0, world_open(&self->w, self->fd, &self->model));
	self->ref = reference_new(&self->model);
}

FIXTURE_TEARDOWN(spill)
{
	EXPECT_EQ(0, npu_knob("pause", 0));
	EXPECT_EQ(0, npu_knob("fail_next", 0));
	reference_free(&self->model, self->ref);
	world_close(&self->w);
	model_free(&self->model);
	close(self->fd);
}

/* X and P, in host memory and in the reference, which is computed from them. */
static void set_inputs(const struct model *m, uint8_t *host, uint8_t **ref, unsigned int seed)
{
	uint32_t i;

	for (i = 0; i < SIZE; i++) {
		ref[SPILL_X][i] = (i * 7 + seed) ^ (i >> 8);
		ref[SPILL_P][i] = (i * 5 + seed) ^ (i >> 5);
	}
	memset(host, 0xee, SPILL_HOST_SIZE);
	memcpy(host + spill_host[SPILL_X], ref[SPILL_X], SIZE);
	memcpy(host + spill_host[SPILL_P], ref[SPILL_P], SIZE);
	reference_mix(m, ref, KEY);
}

static bool host_has(const uint8_t *host, uint8_t **ref, uint32_t tensor)
{
	return !memcmp(host + spill_host[tensor], ref[tensor], SIZE);
}

static int submit(struct world *w, uint32_t first, uint32_t count, struct drm_npumem_submit *args)
{
	return world_mix(w, first, count, KEY, args);
}

static int submit_all(struct world *w)
{
	struct drm_npumem_submit args;

	return submit(w, 0, SPILL_POSITIONS, &args);
}

static int host_wait(const struct world *w)
{
	return npu_bo_wait(w->fd, w->host_bo, npu_now() + NPU_PATIENCE_NS);
}

/* Bytes moved so far, in sizes of a tensor. */
static void expect_moved(struct __test_metadata *_metadata, const struct world *w, uint32_t loads,
			 uint64_t spilled, uint32_t stores, uint32_t fills)
{
	struct drm_npumem_run_record run[1];
	struct drm_npumem_dev_query all = NPU_QUERY(NPUMEM_QUERY_RUNS, run);
	struct drm_npumem_run_query query;

	ASSERT_EQ(0, world_query(w, &query));
	EXPECT_EQ(loads * SIZE, query.load_bytes);
	EXPECT_EQ(spilled, query.spill_bytes);
	EXPECT_EQ(stores * SIZE, query.store_bytes);
	EXPECT_EQ(fills * SIZE, query.fill_bytes);
	/* The list of all runs says the same of this one. */
	all.first = w->run;
	ASSERT_EQ(0, npu_ioctl(w->fd, DRM_IOCTL_NPUMEM_DEV_QUERY, &all));
	ASSERT_LE(sizeof(run), all.answer.size);
	EXPECT_EQ(w->run, run[0].handle);
	EXPECT_EQ(query.submitted, run[0].submitted);
	EXPECT_EQ(query.load_bytes, run[0].load_bytes);
	EXPECT_EQ(query.spill_bytes, run[0].spill_bytes);
	EXPECT_EQ(query.store_bytes, run[0].store_bytes);
	EXPECT_EQ(query.fill_bytes, run[0].fill_bytes);
}

TEST_F(spill, moves_what_the_plan_says)
{
	struct drm_npumem_run_query query;
	unsigned int seed;
	uint32_t i;

	for (seed = 1; seed <= 3; seed++) {
		set_inputs(&self->model, self->w.host, self->ref, seed);
		expect_moved(_metadata, &self->w, 0, 0, 0, 0);
		ASSERT_EQ(0, submit_all(&self->w));
		ASSERT_EQ(0, host_wait(&self->w));
		EXPECT_TRUE(host_has(self->w.host, self->ref, SPILL_Y));
		EXPECT_EQ(0, memcmp(self->w.arena + self->model.placements[SPILL_Y].offset,
				    self->ref[SPILL_Y], SIZE));
		EXPECT_TRUE(host_has(self->w.host, self->ref, SPILL_A));
		EXPECT_TRUE(host_has(self->w.host, self->ref, SPILL_X));
		EXPECT_TRUE(host_has(self->w.host, self->ref, SPILL_P));
		/* And no byte beside them. */
		for (i = 0; i < SPILL_HOST_SIZE; i++)
			if (!(i >= spill_host[SPILL_X] && i < spill_host[SPILL_X] + SIZE) &&
			    !(i >= spill_host[SPILL_P] && i < spill_host[SPILL_P] + SIZE) &&
			    !(i >= spill_host[SPILL_A] && i < spill_host[SPILL_A] + SIZE) &&
			    !(i >= spill_host[SPILL_Y]))
				ASSERT_EQ(0xee, self->w.host[i]);
		expect_moved(_metadata, &self->w, 2, SIZE, 1, 2);
		ASSERT_EQ(0, world_query(&self->w, &query));
		EXPECT_EQ(0, query.block);
		EXPECT_EQ(0, query.error);
		EXPECT_EQ(SPILL_POSITIONS, query.submitted);
		ASSERT_EQ(0, world_reset(&self->w));
		ASSERT_EQ(0, world_query(&self->w, &query));
		EXPECT_EQ(0, query.submitted);
	}
}

/* Each position a job of its own; what the job's operator is matters to steps alone. */
TEST_F(spill, transfers_are_copied_whatever_the_operator)
{
	static const uint32_t ops[] = { NPUMEM_SIM_NOP, NPUMEM_SIM_COPY, NPUMEM_SIM_FILL };
	unsigned int i;
	uint32_t p;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		set_inputs(&self->model, self->w.host, self->ref, i);
		for (p = 0; p < SPILL_POSITIONS; p++) {
			bool step = self->model.positions[p].kind == NPUMEM_POSITION_STEP;

			ASSERT_EQ(0, world_step(&self->w, p, step ? NPUMEM_SIM_MIX : ops[i],
						step			  ? KEY :
						ops[i] == NPUMEM_SIM_FILL ? 7 :
									    0));
		}
		ASSERT_EQ(0, host_wait(&self->w));
		EXPECT_TRUE(host_has(self->w.host, self->ref, SPILL_Y));
		EXPECT_TRUE(host_has(self->w.host, self->ref, SPILL_A));
		ASSERT_EQ(0, world_reset(&self->w));
	}
}

/* A range of steps and transfers of one job, with each operator that is no mix. */
TEST_F(spill, ranges_of_any_operator)
{
	struct drm_npumem_job job = world_job(&self->w, 0, NPUMEM_SIM_FILL, 9);
	struct drm_npumem_submit args;

	job.position_count = SPILL_POSITIONS;
	ASSERT_EQ(0, world_submit(&self->w, &job, 1, &args));
	ASSERT_EQ(0, host_wait(&self->w));
	EXPECT_TRUE(npu_all_bytes(self->w.host + spill_host[SPILL_A], SIZE, 9));
	EXPECT_TRUE(npu_all_bytes(self->w.host + spill_host[SPILL_Y], SIZE, 9));
	ASSERT_EQ(0, world_reset(&self->w));
	/* Step Y reads three tensors and writes one: nothing to copy it to. */
	world_command(&job, NPUMEM_SIM_COPY, 0);
	EXPECT_EQ(-EINVAL, world_submit(&self->w, &job, 1, &args));
	job.position_count = SPILL_AT_Y;
	memset(self->w.host + spill_host[SPILL_X], 5, SIZE);
	EXPECT_EQ(0, world_submit(&self->w, &job, 1, &args));
	ASSERT_EQ(0, host_wait(&self->w));
	EXPECT_TRUE(npu_all_bytes(self->w.host + spill_host[SPILL_A], SIZE, 5));
}

/* A's first stay in chunks with room between them: the copy has none. */
TEST_F(spill, pieces_are_gathered)
{
	struct model m = model_spill();
	struct npumem_placement *a = &m.placements[SPILL_A];
	struct world w;

	a->region = (struct npumem_region){
		.length = 100,
		.count = { SIZE / 100, 1, 1 },
		.stride = { 100 },
	};
	a->stride[0] = 128;
	a->offset = m.info.arena_size;
	m.info.arena_size += SIZE / 100 * 128;
	ASSERT_EQ(0, world_open(&w, self->fd, &m));
	set_inputs(&m, w.host, self->ref, 3);
	ASSERT_EQ(0, submit_all(&w));
	ASSERT_EQ(0, host_wait(&w));
	EXPECT_TRUE(host_has(w.host, self->ref, SPILL_A));
	EXPECT_TRUE(host_has(w.host, self->ref, SPILL_Y));
	world_close(&w);
	model_free(&m);
}

/* -------------------------------------------------------------------- host BO */

static int create(const struct world *w, uint32_t host, uint32_t *handle)
{
	struct drm_npumem_run_create args = { .plan = w->plan, .host_bo = host };
	int err = npu_ioctl(w->fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &args);

	if (!err)
		npu_bo_close(w->fd, args.arena_bo);
	*handle = args.handle;
	return err;
}

TEST_F(spill, host_bo_refused)
{
	uint32_t closed, carveout, small, exact, run, far;
	struct drm_npumem_bank before, after;
	struct model chain = model_chain();
	int other = npu_open();
	struct world plain;

	ASSERT_GE(other, 0);
	ASSERT_EQ(0, npu_bo_create(self->fd, HOST_PAGES * PAGE, NPUMEM_BO_SYSTEM, &closed));
	ASSERT_EQ(0, npu_bo_close(self->fd, closed));
	ASSERT_EQ(0, npu_bo_create(self->fd, HOST_PAGES * PAGE, NPUMEM_BO_CARVEOUT, &carveout));
	ASSERT_EQ(0, npu_bo_create(self->fd, (HOST_PAGES - 1) * PAGE, NPUMEM_BO_SYSTEM, &small));
	ASSERT_EQ(0, npu_bo_create(self->fd, SPILL_HOST_SIZE, NPUMEM_BO_SYSTEM, &exact));
	/* Other handles, so that the other file's is none of ours. */
	while (npu_bo_create(other, HOST_PAGES * PAGE, NPUMEM_BO_SYSTEM, &far) == 0 && far <= exact)
		;
	ASSERT_EQ(0, npu_bank(self->fd, &before));
	EXPECT_EQ(-EINVAL, create(&self->w, 0, &run));
	EXPECT_EQ(-ENOENT, create(&self->w, 0x7fffffff, &run));
	EXPECT_EQ(-ENOENT, create(&self->w, far, &run));
	EXPECT_EQ(-EINVAL, create(&self->w, carveout, &run));
	EXPECT_EQ(-EINVAL, create(&self->w, self->w.arena_bo, &run));
	EXPECT_EQ(-EINVAL, create(&self->w, small, &run));
	EXPECT_EQ(0, run);
	/* Handles are given out again, the closed one was exact's or carveout's. */
	ASSERT_EQ(0, npu_bo_close(self->fd, small));
	EXPECT_EQ(-ENOENT, create(&self->w, small, &run));
	ASSERT_EQ(0, npu_bank(self->fd, &after));
	EXPECT_EQ(before.free, after.free);
	EXPECT_EQ(0, create(&self->w, exact, &run));

	/* A plan that moves nothing has no use for one. */
	ASSERT_EQ(0, world_open(&plain, self->fd, &chain));
	EXPECT_EQ(-EINVAL, create(&plain, exact, &run));
	EXPECT_EQ(0, create(&plain, 0, &run));
	world_close(&plain);
	model_free(&chain);
	close(other);
}

TEST_F(spill, host_bo_is_of_one_run)
{
	uint32_t second, run, again;
	int fd;

	EXPECT_EQ(-EBUSY, create(&self->w, self->w.host_bo, &run));
	/* By way of a dma-buf it is the same one. */
	ASSERT_EQ(0, drmPrimeHandleToFD(self->fd, self->w.host_bo, DRM_CLOEXEC | DRM_RDWR, &fd));
	ASSERT_EQ(0, drmPrimeFDToHandle(self->fd, fd, &again));
	EXPECT_EQ(-EBUSY, create(&self->w, again, &run));
	close(fd);
	ASSERT_EQ(0, npu_bo_create(self->fd, SPILL_HOST_SIZE, NPUMEM_BO_SYSTEM, &second));
	ASSERT_EQ(0, create(&self->w, second, &run));
	EXPECT_EQ(-EBUSY, create(&self->w, second, &again));
	/* What fails for another reason has not taken it. */
	ASSERT_EQ(0, world_destroy(self->fd, DRM_IOCTL_NPUMEM_RUN_DESTROY, run));
	ASSERT_EQ(0, create(&self->w, second, &run));
	ASSERT_EQ(0, world_destroy(self->fd, DRM_IOCTL_NPUMEM_RUN_DESTROY, run));
}

/* A run that cannot be had leaves the BO for the next one. */
TEST_F(spill, host_bo_is_free_after_a_failure)
{
	struct drm_npumem_bank bank;
	uint32_t host, run, all;

	ASSERT_EQ(0, npu_bo_create(self->fd, SPILL_HOST_SIZE, NPUMEM_BO_SYSTEM, &host));
	ASSERT_EQ(0, npu_bank(self->fd, &bank));
	ASSERT_EQ(0, npu_bo_create(self->fd, bank.largest_free, NPUMEM_BO_CARVEOUT, &all));
	EXPECT_EQ(-ENOSPC, create(&self->w, host, &run));
	ASSERT_EQ(0, npu_bo_close(self->fd, all));
	EXPECT_EQ(0, create(&self->w, host, &run));
}

TEST_F(spill, host_bo_outlives_its_handle)
{
	set_inputs(&self->model, self->w.host, self->ref, 4);
	ASSERT_EQ(0, npu_bo_close(self->fd, self->w.host_bo));
	self->w.host_bo = 0;
	ASSERT_EQ(0, submit_all(&self->w));
	ASSERT_EQ(0, world_wait(&self->w));
	EXPECT_TRUE(host_has(self->w.host, self->ref, SPILL_Y));
}

/* Exported, it is still this run's, and who shares it sees the copies. */
TEST_F(spill, host_bo_exported)
{
	int other = npu_open(), fd;
	uint8_t *map;

	ASSERT_GE(other, 0);
	ASSERT_EQ(0, drmPrimeHandleToFD(self->fd, self->w.host_bo, DRM_CLOEXEC | DRM_RDWR, &fd));
	map = mmap(NULL, SPILL_HOST_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, map);
	close(fd);
	set_inputs(&self->model, map, self->ref, 5);
	ASSERT_EQ(0, submit_all(&self->w));
	ASSERT_EQ(0, host_wait(&self->w));
	EXPECT_TRUE(host_has(map, self->ref, SPILL_Y));
	munmap(map, SPILL_HOST_SIZE);
	close(other);
}

TEST_F(spill, host_bo_is_not_bound)
{
	struct model m = model_spill();
	uint32_t e, other;
	struct world w;

	/* Something external for step A to read. */
	e = model_tensor(&m, NPUMEM_TENSOR_INPUT, 64);
	m.tensors[e].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	ASSERT_EQ(0, world_open(&w, self->fd, &m));
	EXPECT_EQ(-EINVAL, world_bind(&w, e, w.host_bo, 0));
	ASSERT_EQ(0, npu_bo_create(self->fd, PAGE, NPUMEM_BO_SYSTEM, &other));
	EXPECT_EQ(0, world_bind(&w, e, other, 0));
	EXPECT_EQ(0, world_bind(&w, e, 0, 0));
	set_inputs(&m, w.host, self->ref, 6);
	ASSERT_EQ(0, submit_all(&w));
	ASSERT_EQ(0, host_wait(&w));
	EXPECT_TRUE(host_has(w.host, self->ref, SPILL_Y));
	world_close(&w);
	model_free(&m);
}

/* ---------------------------------------------------------------------- order */

static void expect_refused(struct __test_metadata *_metadata, struct world *w, uint32_t position,
			   uint32_t rule, uint32_t tensor)
{
	struct drm_npumem_submit args;

	EXPECT_EQ(-EPERM, submit(w, position, 1, &args))
	TH_LOG("position %u", position);
	EXPECT_EQ(0, args.failed_job);
	EXPECT_EQ(rule, world_verdict(&args)->rule)
	TH_LOG("position %u", position);
	EXPECT_EQ(position, world_verdict(&args)->position);
	EXPECT_EQ(tensor, world_verdict(&args)->tensor);
}

TEST_F(spill, order_is_enforced)
{
	struct drm_npumem_submit args;
	uint32_t p;

	/* Nothing is spilled yet, not even there. */
	expect_refused(_metadata, &self->w, SPILL_AT_FILL_A, NPUMEM_RULE_ENFORCE_READ, SPILL_A);
	expect_refused(_metadata, &self->w, SPILL_AT_SPILL_1, NPUMEM_RULE_ENFORCE_READ, SPILL_A);
	expect_refused(_metadata, &self->w, SPILL_AT_STORE_Y, NPUMEM_RULE_ENFORCE_READ, SPILL_Y);
	/* P's place is X's, which is to come and go first. */
	expect_refused(_metadata, &self->w, SPILL_AT_LOAD_P, NPUMEM_RULE_ENFORCE_WRITE, SPILL_P);
	/* Steps, too, find nothing. */
	expect_refused(_metadata, &self->w, SPILL_AT_A, NPUMEM_RULE_ENFORCE_READ, SPILL_X);
	expect_moved(_metadata, &self->w, 0, 0, 0, 0);

	ASSERT_EQ(0, submit(&self->w, SPILL_AT_LOAD_X, 2, &args));
	/* Each once. */
	EXPECT_EQ(-EPERM, submit(&self->w, SPILL_AT_LOAD_X, 1, &args));
	ASSERT_EQ(0, submit(&self->w, SPILL_AT_SPILL_1, 1, &args));
	EXPECT_EQ(-EPERM, submit(&self->w, SPILL_AT_SPILL_1, 1, &args));
	/* Half of A is spilled: B, in its place, has to wait, and so has the fill. */
	ASSERT_EQ(0, submit(&self->w, SPILL_AT_LOAD_P, 1, &args));
	expect_refused(_metadata, &self->w, SPILL_AT_B, NPUMEM_RULE_ENFORCE_WRITE, SPILL_B);
	ASSERT_EQ(0, submit(&self->w, SPILL_AT_SPILL_2, 1, &args));
	EXPECT_EQ(-EPERM, submit(&self->w, SPILL_AT_SPILL_2, 1, &args));
	/* P is there, and X's place taken: A goes back only where P has been. */
	expect_refused(_metadata, &self->w, SPILL_AT_FILL_A, NPUMEM_RULE_ENFORCE_WRITE, SPILL_A);
	ASSERT_EQ(0, submit(&self->w, SPILL_AT_B, 1, &args));
	ASSERT_EQ(0, submit(&self->w, SPILL_AT_C, 1, &args));
	ASSERT_EQ(0, submit(&self->w, SPILL_AT_DROP_P, 1, &args));
	EXPECT_EQ(-EPERM, submit(&self->w, SPILL_AT_DROP_P, 1, &args));
	expect_refused(_metadata, &self->w, SPILL_AT_Y, NPUMEM_RULE_ENFORCE_READ, SPILL_A);
	for (p = SPILL_AT_FILL_A; p < SPILL_POSITIONS; p++) {
		ASSERT_EQ(0, submit(&self->w, p, 1, &args));
		EXPECT_EQ(-EPERM, submit(&self->w, p, 1, &args));
	}
	ASSERT_EQ(0, host_wait(&self->w));
	expect_moved(_metadata, &self->w, 2, SIZE, 1, 2);
}

/* Transfers that do not depend on each other may go in either order. */
TEST_F(spill, other_orders)
{
	static const uint32_t order[SPILL_POSITIONS] = {
		SPILL_AT_LOAD_X,  SPILL_AT_A,	   SPILL_AT_LOAD_P, SPILL_AT_SPILL_2,
		SPILL_AT_SPILL_1, SPILL_AT_B,	   SPILL_AT_C,	    SPILL_AT_DROP_P,
		SPILL_AT_FILL_P,  SPILL_AT_FILL_A, SPILL_AT_Y,	    SPILL_AT_STORE_Y,
	};
	struct drm_npumem_submit args;
	uint32_t i;

	set_inputs(&self->model, self->w.host, self->ref, 8);
	for (i = 0; i < SPILL_POSITIONS; i++)
		ASSERT_EQ(0, submit(&self->w, order[i], 1, &args));
	ASSERT_EQ(0, host_wait(&self->w));
	EXPECT_TRUE(host_has(self->w.host, self->ref, SPILL_Y));
	EXPECT_TRUE(host_has(self->w.host, self->ref, SPILL_A));
	expect_moved(_metadata, &self->w, 2, SIZE, 1, 2);
}

TEST_F(spill, all_jobs_or_none)
{
	struct drm_npumem_job jobs[3];
	struct drm_npumem_run_query query;
	struct drm_npumem_submit args;

	jobs[0] = world_job(&self->w, SPILL_AT_LOAD_X, NPUMEM_SIM_MIX, KEY);
	jobs[1] = world_job(&self->w, SPILL_AT_A, NPUMEM_SIM_MIX, KEY);
	jobs[2] = world_job(&self->w, SPILL_AT_FILL_A, NPUMEM_SIM_MIX, KEY);
	set_inputs(&self->model, self->w.host, self->ref, 9);
	EXPECT_EQ(-EPERM, world_submit(&self->w, jobs, 3, &args));
	EXPECT_EQ(2, args.failed_job);
	EXPECT_EQ(SPILL_AT_FILL_A, world_verdict(&args)->position);
	EXPECT_EQ(NPUMEM_NONE, world_verdict(&args)->step);
	ASSERT_EQ(0, host_wait(&self->w));
	expect_moved(_metadata, &self->w, 0, 0, 0, 0);
	ASSERT_EQ(0, world_query(&self->w, &query));
	EXPECT_EQ(0, query.submitted);
	/* All states are as they were. */
	ASSERT_EQ(0, submit_all(&self->w));
	ASSERT_EQ(0, host_wait(&self->w));
	EXPECT_TRUE(host_has(self->w.host, self->ref, SPILL_Y));
}

/* ----------------------------------------------------------- fences and failures */

TEST_F(spill, host_bo_has_the_fences)
{
	struct drm_npumem_run_query query;
	struct drm_npumem_submit args;

	set_inputs(&self->model, self->w.host, self->ref, 10);
	EXPECT_EQ(0, npu_bo_wait(self->fd, self->w.host_bo, 0));
	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, submit(&self->w, 0, SPILL_POSITIONS, &args));
	EXPECT_EQ(-ETIMEDOUT, npu_bo_wait(self->fd, self->w.host_bo, 0));
	EXPECT_EQ(-ETIMEDOUT, npu_bo_wait(self->fd, self->w.arena_bo, 0));
	/* Submitted is not carried out. */
	expect_moved(_metadata, &self->w, 0, 0, 0, 0);
	ASSERT_EQ(0, world_query(&self->w, &query));
	EXPECT_EQ(SPILL_POSITIONS, query.submitted);
	EXPECT_EQ(-EBUSY, world_reset(&self->w));
	EXPECT_NE(0, memcmp(self->w.host + spill_host[SPILL_Y], self->ref[SPILL_Y], SIZE));
	ASSERT_EQ(0, npu_knob("pause", 0));
	EXPECT_EQ(0, host_wait(&self->w));
	EXPECT_TRUE(host_has(self->w.host, self->ref, SPILL_Y));
	EXPECT_EQ(0, world_reset(&self->w));
}

/* Handle and file are gone before the copies begin; the BO is free when they are done. */
TEST_F(spill, destroyed_in_flight)
{
	struct drm_npumem_bank before, bank;
	uint32_t run;

	ASSERT_EQ(0, npu_bank(self->fd, &before));
	set_inputs(&self->model, self->w.host, self->ref, 11);
	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, submit_all(&self->w));
	ASSERT_EQ(0, world_destroy(self->fd, DRM_IOCTL_NPUMEM_RUN_DESTROY, self->w.run));
	EXPECT_EQ(-EBUSY, create(&self->w, self->w.host_bo, &run));
	ASSERT_EQ(0, npu_knob("pause", 0));
	ASSERT_EQ(0, host_wait(&self->w));
	EXPECT_TRUE(host_has(self->w.host, self->ref, SPILL_Y));
	/* The last job lets go of the run a moment after its fence. */
	while (create(&self->w, self->w.host_bo, &run) == -EBUSY)
		usleep(1000);
	EXPECT_NE(0, run);
	self->w.run = run;
	ASSERT_EQ(0, npu_bank(self->fd, &bank));
	EXPECT_GE(before.free, bank.free);
}

TEST_F(spill, file_closed_in_flight)
{
	struct drm_npumem_bank before, bank;
	struct drm_npumem_submit args;
	struct world w;
	int other = npu_open();

	ASSERT_GE(other, 0);
	ASSERT_EQ(0, npu_bank(self->fd, &before));
	ASSERT_EQ(0, world_open(&w, other, &self->model));
	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, submit(&w, 0, SPILL_AT_Y, &args));
	ASSERT_EQ(0, submit(&w, SPILL_AT_Y, SPILL_POSITIONS - SPILL_AT_Y, &args));
	munmap(w.arena, w.arena_size);
	munmap(w.host, w.host_size);
	close(other);
	ASSERT_EQ(0, npu_knob("pause", 0));
	do {
		usleep(1000);
		ASSERT_EQ(0, npu_bank(self->fd, &bank));
	} while (bank.free != before.free);
}

TEST_F(spill, failed_engine)
{
	struct drm_npumem_run_query query;
	struct drm_npumem_submit args;

	set_inputs(&self->model, self->w.host, self->ref, 12);
	ASSERT_EQ(0, submit(&self->w, 0, SPILL_AT_LOAD_P, &args));
	ASSERT_EQ(0, host_wait(&self->w));
	ASSERT_EQ(0, npu_knob("fail_next", 1));
	ASSERT_EQ(0, submit(&self->w, SPILL_AT_LOAD_P, SPILL_POSITIONS - SPILL_AT_LOAD_P, &args));
	ASSERT_EQ(0, host_wait(&self->w));
	ASSERT_EQ(0, world_query(&self->w, &query));
	EXPECT_EQ(EIO, query.error);
	/* What had been done is counted, what was not is not. */
	expect_moved(_metadata, &self->w, 1, SIZE, 0, 0);
	EXPECT_EQ(-EIO, submit_all(&self->w));
	ASSERT_EQ(0, world_reset(&self->w));
	expect_moved(_metadata, &self->w, 0, 0, 0, 0);
	set_inputs(&self->model, self->w.host, self->ref, 13);
	ASSERT_EQ(0, submit_all(&self->w));
	ASSERT_EQ(0, host_wait(&self->w));
	EXPECT_TRUE(host_has(self->w.host, self->ref, SPILL_Y));
}

/* ---------------------------------------------------------------------- query */

TEST_F(spill, query_refused)
{
	struct drm_npumem_run_query query = { .run = self->w.run, .flags = 1 };
	int other = npu_open();

	ASSERT_GE(other, 0);
	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_RUN_QUERY, &query));
	query.flags = 0;
	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_RUN_QUERY, &query));
	/* Of another file: a handle of its own there, or none. */
	EXPECT_EQ(-ENOENT, npu_ioctl(other, DRM_IOCTL_NPUMEM_RUN_QUERY, &query));
	query.run = 0;
	EXPECT_EQ(-ENOENT, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_RUN_QUERY, &query));
	query.run = 0x7fffffff;
	EXPECT_EQ(-ENOENT, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_RUN_QUERY, &query));
	close(other);
}

TEST_F(spill, device_says_so)
{
	struct drm_npumem_info info;

	ASSERT_EQ(0, npu_info(self->fd, &info));
	EXPECT_EQ(NPUMEM_FEATURE_SPILL, info.features & NPUMEM_FEATURE_SPILL);
	EXPECT_EQ(NPUMEM_UAPI_MAJOR, info.uapi_major);
}

/* ---------------------------------------------------------------- many of them */

TEST_F_TIMEOUT(spill, again_and_again, 600)
{
	struct drm_npumem_bank before, after;
	struct world w;
	int i;

	ASSERT_EQ(0, npu_bank(self->fd, &before));
	for (i = 0; i < 200; i++) {
		ASSERT_EQ(0, world_open(&w, self->fd, &self->model));
		ASSERT_EQ(0, submit_all(&w));
		/* Half of them are let go while they run. */
		if (i % 2)
			ASSERT_EQ(0, host_wait(&w));
		world_close(&w);
	}
	do {
		usleep(1000);
		ASSERT_EQ(0, npu_bank(self->fd, &after));
	} while (after.free != before.free);
}

TEST_HARNESS_MAIN
