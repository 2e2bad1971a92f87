// SPDX-License-Identifier: MIT
/*
 * RUN_BIND: external tensors in BOs and in dma-bufs: what is refused, what
 * engines read and write there, how long a binding holds what it is bound to,
 * and fences. dma-bufs of another device: npumem_foreign.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/udmabuf.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "npumem_world.h"

#define KEY  0x5eed
#define SIZE EXTERNAL_SIZE

enum { PAGE = 4096, BO_SIZE = 4 * PAGE };

/* Where the tests put the tensors when it does not matter. */
static const uint64_t offsets[EXTERNAL_TENSORS] = { 3, PAGE - 100, 0, 2 * PAGE + 7, 3 * PAGE };

FIXTURE(bind)
{
	int fd;
	struct model model;
	struct world w;
	uint32_t system, carveout; /* handles */
	uint8_t *system_map, *carveout_map;
};

FIXTURE_SETUP(bind)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, npu_knob("pause", 0));
	self->model = model_external();
	ASSERT_EQ(0, world_open(&self->w, self->fd, &self->model));
	ASSERT_EQ(0, npu_bo_create(self->fd, BO_SIZE, NPUMEM_BO_SYSTEM, &self->system));
	ASSERT_EQ(0, npu_bo_create(self->fd, BO_SIZE, NPUMEM_BO_CARVEOUT, &self->carveout));
	self->system_map = npu_bo_map(self->fd, self->system, BO_SIZE);
	self->carveout_map = npu_bo_map(self->fd, self->carveout, BO_SIZE);
	ASSERT_NE(NULL, self->system_map);
	ASSERT_NE(NULL, self->carveout_map);
}

FIXTURE_TEARDOWN(bind)
{
	EXPECT_EQ(0, npu_knob("pause", 0));
	munmap(self->system_map, BO_SIZE);
	munmap(self->carveout_map, BO_SIZE);
	if (self->fd >= 0) {
		world_close(&self->w);
		close(self->fd);
	}
	model_free(&self->model);
}

/* All external tensors, to one BO. */
static int bind_all(const struct world *w, uint32_t bo)
{
	return world_bind_external(w, bo, offsets, NPUMEM_NONE);
}

static int submit_all(struct world *w)
{
	struct drm_npumem_submit args;

	return world_mix(w, 0, EXTERNAL_STEPS, KEY, &args);
}

static void fill(uint8_t *bytes, size_t size, unsigned int seed)
{
	size_t i;

	for (i = 0; i < size; i++)
		bytes[i] = (i * 13 + seed) ^ (i >> 7);
}

/* What a BO to which bind_all() was done must hold after a run, given its bytes. */
static void expect_bytes(const struct model *m, uint8_t *bytes)
{
	uint8_t **ref = reference_new(m);
	uint32_t t;

	for (t = 0; t < EXTERNAL_TENSORS; t++)
		memcpy(ref[t], bytes + offsets[t], SIZE);
	reference_mix(m, ref, KEY);
	memcpy(bytes + offsets[EXTERNAL_E], ref[EXTERNAL_E], SIZE);
	memcpy(bytes + offsets[EXTERNAL_Y], ref[EXTERNAL_Y], SIZE);
	reference_free(m, ref);
}

/* Run with everything in one BO; whether each byte of that is what it must be. */
static bool runs_in(struct world *w, const struct model *m, uint8_t *map, unsigned int seed)
{
	uint8_t expected[BO_SIZE];

	fill(map, BO_SIZE, seed);
	memcpy(expected, map, BO_SIZE);
	expect_bytes(m, expected);
	if (submit_all(w) || world_wait(w))
		return false;
	return !memcmp(map, expected, BO_SIZE);
}

/* ----------------------------------------------------------------- refusals */

TEST_F(bind, features)
{
	struct drm_npumem_info info;

	ASSERT_EQ(0, npu_info(self->fd, &info));
	EXPECT_EQ(NPUMEM_FEATURE_EXTERNAL, info.features & NPUMEM_FEATURE_EXTERNAL);
	EXPECT_EQ(NPUMEM_UAPI_MAJOR, info.uapi_major);
}

TEST_F(bind, arguments)
{
	const struct drm_npumem_run_bind valid = {
		.run = self->w.run,
		.tensor = EXTERNAL_Y,
		.bo = self->system,
	};
	const struct {
		const char *what;
		struct drm_npumem_run_bind args;
		int err;
	} cases[] = {
		{ "flags", { .flags = 1 }, -EINVAL },
		{ "no run", { .run = 0x7fffffff }, -ENOENT },
		{ "no BO", { .bo = 0x7fffffff }, -ENOENT },
		{ "a tensor in the arena", { .tensor = EXTERNAL_A }, -EINVAL },
		{ "no tensor", { .tensor = EXTERNAL_TENSORS }, -EINVAL },
		{ "no tensor at all", { .tensor = NPUMEM_NONE }, -EINVAL },
		{ "misaligned", { .offset = EXTERNAL_ALIGN / 2 }, -EINVAL },
		{ "the end beyond", { .offset = BO_SIZE - SIZE + EXTERNAL_ALIGN }, -EINVAL },
		{ "all beyond", { .offset = BO_SIZE }, -EINVAL },
		{ "far beyond", { .offset = 1ull << 40 }, -EINVAL },
		{ "the end wraps", { .offset = -(uint64_t)EXTERNAL_ALIGN }, -EINVAL },
		{ "an arena", { .bo = self->w.arena_bo }, -EINVAL },
	};
	struct drm_npumem_run_bind args;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		args = cases[i].args;
		args.run = args.run ?: valid.run;
		args.tensor = args.tensor ?: valid.tensor;
		args.bo = args.bo ?: valid.bo;
		EXPECT_EQ(cases[i].err, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_RUN_BIND, &args))
		TH_LOG("case: %s", cases[i].what);
	}
	/* Nothing came of it. */
	EXPECT_EQ(0, bind_all(&self->w, self->system));
	EXPECT_TRUE(runs_in(&self->w, &self->model, self->system_map, 1));
	/* The last bytes there are, and the last offset that is aligned. */
	args = valid;
	args.offset = BO_SIZE - SIZE;
	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_RUN_BIND, &args));
	args.bo = 0;
	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_RUN_BIND, &args));
	args.offset = 0;
	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_RUN_BIND, &args));
}

TEST_F(bind, tensor_larger_than_the_bo)
{
	struct model m = model_external();
	struct world w;
	uint32_t t;

	for (t = 0; t < EXTERNAL_TENSORS; t++) {
		m.tensors[t].size = BO_SIZE + 1;
		m.tiles[t].region.length = BO_SIZE + 1;
	}
	m.placements[0].region.length = BO_SIZE + 1;
	m.info.arena_size = BO_SIZE + 1;
	ASSERT_EQ(0, world_open(&w, self->fd, &m));
	EXPECT_EQ(-EINVAL, world_bind(&w, EXTERNAL_X, self->system, 0));
	world_close(&w);
	model_free(&m);
}

/* An arena is one whoever holds it, and for as long as it lives. */
TEST_F(bind, arenas_of_others)
{
	struct world other;
	int fd = npu_open(), prime;
	uint32_t imported;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, world_open(&other, self->fd, &self->model));
	EXPECT_EQ(-EINVAL, world_bind(&self->w, EXTERNAL_X, other.arena_bo, 0));
	ASSERT_EQ(0, world_destroy(self->fd, DRM_IOCTL_NPUMEM_RUN_DESTROY, other.run));
	EXPECT_EQ(-EINVAL, world_bind(&self->w, EXTERNAL_X, other.arena_bo, 0));
	/* By way of PRIME, too. */
	ASSERT_EQ(0, world_open(&other, fd, &self->model));
	ASSERT_EQ(0, drmPrimeHandleToFD(fd, other.arena_bo, DRM_RDWR, &prime));
	ASSERT_EQ(0, drmPrimeFDToHandle(self->fd, prime, &imported));
	EXPECT_EQ(-EINVAL, world_bind(&self->w, EXTERNAL_X, imported, 0));
	close(prime);
	world_close(&other);
	close(fd);
}

TEST_F(bind, tensor_fixed_and_external)
{
	struct model m = model_external();
	struct npu_log log;
	struct npumem_verdict verdict;
	struct drm_npumem_graph_create args = {
		.log = npu_log(&log, 1),
		.verdict = NPU_BUFFER(verdict),
	};
	struct blob graph;

	m.tensors[EXTERNAL_X].flags |= NPUMEM_TENSOR_FLAG_FIXED;
	graph = model_graph(&m);
	args.blob = NPU_BYTES(graph.data, graph.size);
	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_NPUMEM_GRAPH_CREATE, &args));
	EXPECT_EQ(NPUMEM_RULE_FORMAT, verdict.rule);
	EXPECT_EQ(EXTERNAL_X, verdict.tensor);
	EXPECT_EQ(0, args.handle);
	EXPECT_NE(NULL, strstr(log.text, "tensor 0"))
	TH_LOG("log: %s", log.text);
	blob_free(&graph);
	model_free(&m);
}

TEST_F(bind, unbound)
{
	struct drm_npumem_job jobs[] = {
		world_job(&self->w, EXTERNAL_LOAD, NPUMEM_SIM_MIX, KEY),
		world_job(&self->w, EXTERNAL_MIX, NPUMEM_SIM_MIX, KEY),
	};
	struct drm_npumem_submit args;

	jobs[1].position_count = 2;
	ASSERT_EQ(0, bind_all(&self->w, self->system));
	ASSERT_EQ(0, world_bind(&self->w, EXTERNAL_Y, 0, 0));
	EXPECT_EQ(-ENXIO, world_submit(&self->w, jobs, 2, &args));
	EXPECT_EQ(1, args.failed_job);
	EXPECT_EQ(NPUMEM_RULE_ENFORCE_BIND, world_verdict(&args)->rule);
	EXPECT_EQ(EXTERNAL_STORE, world_verdict(&args)->position);
	EXPECT_EQ(EXTERNAL_STORE, world_verdict(&args)->step);
	EXPECT_EQ(EXTERNAL_Y, world_verdict(&args)->tile);
	EXPECT_EQ(EXTERNAL_Y, world_verdict(&args)->tensor);
	EXPECT_EQ(NPUMEM_NONE, world_verdict(&args)->other_tensor);
	/* No state has moved. Steps that do without it go. */
	jobs[1].position_count = 1;
	EXPECT_EQ(0, world_submit(&self->w, jobs, 2, &args));
	EXPECT_EQ(NPUMEM_NONE, args.failed_job);
	/* An operator that touches nothing needs it as well. */
	EXPECT_EQ(-ENXIO, world_step(&self->w, EXTERNAL_STORE, NPUMEM_SIM_NOP, 0));
	ASSERT_EQ(0, world_wait(&self->w));
	ASSERT_EQ(0, world_bind(&self->w, EXTERNAL_Y, self->carveout, 0));
	EXPECT_EQ(0, world_step(&self->w, EXTERNAL_STORE, NPUMEM_SIM_MIX, KEY));
}

/* A copy of nobody knows how many bytes is refused for what is wrong with it. */
TEST_F(bind, copy_into_the_unbound)
{
	ASSERT_EQ(0, world_bind(&self->w, EXTERNAL_X, self->system, 0));
	ASSERT_EQ(0, world_bind(&self->w, EXTERNAL_P, self->system, SIZE));
	EXPECT_EQ(0, world_step(&self->w, EXTERNAL_LOAD, NPUMEM_SIM_FILL, 9));
	EXPECT_EQ(-ENXIO, world_step(&self->w, EXTERNAL_MIX, NPUMEM_SIM_COPY, 0));
	ASSERT_EQ(0, world_wait(&self->w));
	ASSERT_EQ(0, world_bind(&self->w, EXTERNAL_E, self->carveout, 0));
	EXPECT_EQ(0, world_step(&self->w, EXTERNAL_MIX, NPUMEM_SIM_COPY, 0));
	ASSERT_EQ(0, world_wait(&self->w));
	EXPECT_TRUE(npu_all_bytes(self->carveout_map, SIZE, 9));
	EXPECT_TRUE(npu_all_bytes(self->carveout_map + SIZE, BO_SIZE - SIZE, 0));
}

TEST_F(bind, overlaps)
{
	const struct world *w = &self->w;

	/* Nobody writes X and P: they may share. */
	EXPECT_EQ(0, world_bind(w, EXTERNAL_X, self->system, 0));
	EXPECT_EQ(0, world_bind(w, EXTERNAL_P, self->system, SIZE / 2));
	/* Y is written: neither over what is read, */
	EXPECT_EQ(-EINVAL, world_bind(w, EXTERNAL_Y, self->system, 0));
	EXPECT_EQ(-EINVAL, world_bind(w, EXTERNAL_Y, self->system, SIZE));
	EXPECT_EQ(0, world_bind(w, EXTERNAL_Y, self->system, 2 * SIZE));
	/* nor what is read over Y, */
	EXPECT_EQ(-EINVAL, world_bind(w, EXTERNAL_P, self->system, 3 * SIZE - 1));
	EXPECT_EQ(0, world_bind(w, EXTERNAL_P, self->system, 3 * SIZE));
	/* nor over another that is written; in another BO there is room. */
	EXPECT_EQ(-EINVAL, world_bind(w, EXTERNAL_E, self->system, SIZE + 1));
	EXPECT_EQ(0, world_bind(w, EXTERNAL_E, self->carveout, SIZE + 1));
	/* Its own old place is in nobody's way. */
	EXPECT_EQ(0, world_bind(w, EXTERNAL_E, self->carveout, SIZE + 2));
	EXPECT_EQ(0, world_bind(w, EXTERNAL_Y, self->system, 2 * SIZE - EXTERNAL_ALIGN));
	/* What was refused has left the earlier binding as it was. */
	EXPECT_EQ(0, submit_all(&self->w));
}

TEST_F(bind, busy_while_jobs_are_in_flight)
{
	ASSERT_EQ(0, bind_all(&self->w, self->system));
	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, submit_all(&self->w));
	EXPECT_EQ(-EBUSY, world_bind(&self->w, EXTERNAL_Y, self->carveout, 0));
	EXPECT_EQ(-EBUSY, world_bind(&self->w, EXTERNAL_Y, 0, 0));
	/* Other reasons come first: they would still be there. */
	EXPECT_EQ(-EINVAL, world_bind(&self->w, EXTERNAL_Y, self->carveout, 1));
	ASSERT_EQ(0, npu_knob("pause", 0));
	ASSERT_EQ(0, world_wait(&self->w));
	EXPECT_EQ(0, world_bind(&self->w, EXTERNAL_Y, self->carveout, 0));
}

/* Handles are of one file: those of another client are none at all. */
TEST_F(bind, handles_of_another_client)
{
	struct drm_npumem_run_bind args = {
		.run = self->w.run,
		.tensor = EXTERNAL_X,
		.bo = self->system,
	};
	int fd = npu_open();
	uint32_t bo;

	ASSERT_GE(fd, 0);
	/* Its BO is the first of the file: here no BO has its number. */
	EXPECT_EQ(-ENOENT, npu_ioctl(fd, DRM_IOCTL_NPUMEM_RUN_BIND, &args));
	ASSERT_EQ(0, npu_bo_create(fd, PAGE, NPUMEM_BO_SYSTEM, &bo));
	EXPECT_EQ(-ENOENT, npu_ioctl(fd, DRM_IOCTL_NPUMEM_RUN_BIND, &args));
	ASSERT_EQ(0, npu_bo_close(self->fd, self->carveout));
	EXPECT_EQ(-ENOENT, world_bind(&self->w, EXTERNAL_X, self->carveout, 0));
	close(fd);
}

/* ---------------------------------------------------------------- execution */

TEST_F(bind, runs_in_a_system_bo)
{
	ASSERT_EQ(0, bind_all(&self->w, self->system));
	EXPECT_TRUE(runs_in(&self->w, &self->model, self->system_map, 1));
}

TEST_F(bind, runs_in_a_carveout_bo)
{
	ASSERT_EQ(0, bind_all(&self->w, self->carveout));
	EXPECT_TRUE(runs_in(&self->w, &self->model, self->carveout_map, 2));
}

TEST_F(bind, runs_here_then_there)
{
	unsigned int i;

	for (i = 0; i < 6; i++) {
		ASSERT_EQ(0, bind_all(&self->w, i % 2 ? self->carveout : self->system));
		EXPECT_TRUE(runs_in(&self->w, &self->model,
				    i % 2 ? self->carveout_map : self->system_map, i));
		ASSERT_EQ(0, world_reset(&self->w));
	}
}

/* Bindings are the run's: a reset leaves them, another run has none. */
TEST_F(bind, of_this_run_only)
{
	struct drm_npumem_submit args;
	struct world other;

	ASSERT_EQ(0, bind_all(&self->w, self->system));
	ASSERT_EQ(0, submit_all(&self->w));
	ASSERT_EQ(0, world_wait(&self->w));
	ASSERT_EQ(0, world_reset(&self->w));
	EXPECT_EQ(0, submit_all(&self->w));
	ASSERT_EQ(0, world_open(&other, self->fd, &self->model));
	EXPECT_EQ(-ENXIO, world_mix(&other, 0, EXTERNAL_STEPS, KEY, &args));
	EXPECT_EQ(EXTERNAL_X, world_verdict(&args)->tensor);
	world_close(&other);
}

/* An alias' bytes are those of its base, so it needs no binding of its own. */
TEST_F(bind, alias_of_an_external_tensor)
{
	enum { HALF = SIZE / 2 };
	struct model m = { 0 };
	struct drm_npumem_submit args;
	struct world w;
	uint32_t half;
	uint8_t **ref;

	model_tensor(&m, NPUMEM_TENSOR_INPUT, SIZE);
	m.tensors[0].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	half = model_tensor(&m, NPUMEM_TENSOR_INTERMEDIATE, HALF);
	m.tensors[half].flags = NPUMEM_TENSOR_FLAG_ALIAS;
	m.tensors[half].alias_of = 0;
	m.tensors[half].alias_offset = HALF;
	model_tensor(&m, NPUMEM_TENSOR_OUTPUT, HALF);
	model_step_rw(&m, model_whole(&m, half), model_whole(&m, 2));
	model_place(&m, 2, 0);
	model_schedule(&m);
	ASSERT_EQ(0, world_open(&w, self->fd, &m));
	EXPECT_EQ(-EINVAL, world_bind(&w, half, self->system, 0));
	EXPECT_EQ(-ENXIO, world_step(&w, 0, NPUMEM_SIM_MIX, KEY));
	world_submit(&w, &(struct drm_npumem_job){ .position_count = 1, .engine = w.engine }, 1,
		     &args);
	EXPECT_EQ(0, world_verdict(&args)->tensor);
	EXPECT_EQ(0, world_verdict(&args)->tile);
	ASSERT_EQ(0, world_bind(&w, 0, self->system, 17));
	fill(self->system_map, BO_SIZE, 5);
	ASSERT_EQ(0, world_step(&w, 0, NPUMEM_SIM_MIX, KEY));
	ASSERT_EQ(0, world_wait(&w));
	ref = reference_new(&m);
	memcpy(ref[half], self->system_map + 17 + HALF, HALF);
	reference_step(&m, ref, 0, NPUMEM_SIM_MIX, KEY);
	EXPECT_EQ(0, memcmp(w.arena, ref[2], HALF));
	reference_free(&m, ref);
	world_close(&w);
	model_free(&m);
}

/* A tensor that no step accesses need not be anywhere. */
TEST_F(bind, not_accessed)
{
	struct model m = model_chain();
	struct world w;
	uint32_t t;

	t = model_tensor(&m, NPUMEM_TENSOR_INPUT, SIZE);
	m.tensors[t].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	ASSERT_EQ(0, world_open(&w, self->fd, &m));
	EXPECT_EQ(0, world_step(&w, 0, NPUMEM_SIM_NOP, 0));
	world_close(&w);
	model_free(&m);
}

/* ---------------------------------------------------------------- lifetimes */

TEST_F(bind, handle_closed_while_bound)
{
	struct drm_npumem_bank before, bank;
	uint32_t t;

	ASSERT_EQ(0, bind_all(&self->w, self->carveout));
	ASSERT_EQ(0, npu_bank(self->fd, &before));
	ASSERT_EQ(0, npu_bo_close(self->fd, self->carveout));
	EXPECT_TRUE(runs_in(&self->w, &self->model, self->carveout_map, 3));
	munmap(self->carveout_map, BO_SIZE);
	self->carveout_map = MAP_FAILED;
	ASSERT_EQ(0, npu_bank(self->fd, &bank));
	EXPECT_EQ(before.free, bank.free);
	/* It goes with the last binding. */
	for (t = 0; t < EXTERNAL_TENSORS; t++) {
		ASSERT_EQ(0, npu_bank(self->fd, &bank));
		EXPECT_EQ(before.free, bank.free);
		if (t != EXTERNAL_A)
			ASSERT_EQ(0, world_bind(&self->w, t, 0, 0));
	}
	ASSERT_EQ(0, npu_bank(self->fd, &bank));
	EXPECT_LT(before.free, bank.free);
}

TEST_F(bind, run_destroyed_while_bound)
{
	struct drm_npumem_bank before, bank;

	ASSERT_EQ(0, bind_all(&self->w, self->carveout));
	ASSERT_EQ(0, npu_bank(self->fd, &before));
	munmap(self->carveout_map, BO_SIZE);
	self->carveout_map = MAP_FAILED;
	ASSERT_EQ(0, npu_bo_close(self->fd, self->carveout));
	ASSERT_EQ(0, world_destroy(self->fd, DRM_IOCTL_NPUMEM_RUN_DESTROY, self->w.run));
	ASSERT_EQ(0, npu_bank(self->fd, &bank));
	EXPECT_LT(before.free, bank.free);
}

TEST_F(bind, run_destroyed_with_a_job_in_flight)
{
	uint8_t expected[BO_SIZE];

	fill(self->system_map, BO_SIZE, 6);
	memcpy(expected, self->system_map, BO_SIZE);
	expect_bytes(&self->model, expected);
	ASSERT_EQ(0, bind_all(&self->w, self->system));
	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, submit_all(&self->w));
	ASSERT_EQ(0, world_destroy(self->fd, DRM_IOCTL_NPUMEM_RUN_DESTROY, self->w.run));
	ASSERT_EQ(0, npu_knob("pause", 0));
	/* The job still writes to what it was bound to. */
	ASSERT_EQ(0, npu_bo_wait(self->fd, self->system, npu_now() + NPU_PATIENCE_NS));
	EXPECT_EQ(0, memcmp(self->system_map, expected, BO_SIZE));
}

/* The client dies with jobs in flight; all that its runs held comes back. */
TEST_F(bind, client_dies)
{
	struct drm_npumem_bank before, bank;
	int status, ready[2];
	char byte;
	pid_t pid;

	ASSERT_EQ(0, npu_bank(self->fd, &before));
	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		struct world w;
		uint32_t bo;
		int fd = npu_open();

		if (fd < 0 || world_open(&w, fd, &self->model) ||
		    npu_bo_create(fd, BO_SIZE, NPUMEM_BO_CARVEOUT, &bo) || bind_all(&w, bo) ||
		    npu_bo_close(fd, bo) || npu_knob("pause", 1) || submit_all(&w))
			_exit(1);
		if (write(ready[1], "", 1) != 1)
			_exit(2);
		pause();
		_exit(3);
	}
	close(ready[1]);
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	ASSERT_EQ(0, npu_bank(self->fd, &bank));
	EXPECT_GT(before.free, bank.free);
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	ASSERT_EQ(0, npu_knob("pause", 0));
	while (!npu_bank(self->fd, &bank) && bank.free != before.free)
		sched_yield();
	EXPECT_EQ(before.free, bank.free);
	close(ready[0]);
}

/* ------------------------------------------------------------------- fences */

TEST_F(bind, bo_is_busy_while_jobs_are)
{
	ASSERT_EQ(0, bind_all(&self->w, self->system));
	ASSERT_EQ(0, world_bind(&self->w, EXTERNAL_Y, self->carveout, 0));
	EXPECT_EQ(0, npu_bo_wait(self->fd, self->system, 0));
	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, submit_all(&self->w));
	EXPECT_EQ(-ETIMEDOUT, npu_bo_wait(self->fd, self->system, 0));
	EXPECT_EQ(-ETIMEDOUT, npu_bo_wait(self->fd, self->carveout, 0));
	ASSERT_EQ(0, npu_knob("pause", 0));
	EXPECT_EQ(0, npu_bo_wait(self->fd, self->system, npu_now() + NPU_PATIENCE_NS));
	EXPECT_EQ(0, npu_bo_wait(self->fd, self->carveout, npu_now() + NPU_PATIENCE_NS));
	/* What is bound no more is not waited for. */
	ASSERT_EQ(0, world_bind(&self->w, EXTERNAL_Y, 0, 0));
	ASSERT_EQ(0, world_reset(&self->w));
	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, world_step(&self->w, EXTERNAL_LOAD, NPUMEM_SIM_NOP, 0));
	EXPECT_EQ(-ETIMEDOUT, npu_bo_wait(self->fd, self->system, 0));
	EXPECT_EQ(0, npu_bo_wait(self->fd, self->carveout, 0));
	ASSERT_EQ(0, npu_knob("pause", 0));
}

/* A dma-buf tells by poll() who it waits for. */
static bool polls_within(int dmabuf, short events, int milliseconds)
{
	struct pollfd poll_fd = { .fd = dmabuf, .events = events };

	return poll(&poll_fd, 1, milliseconds) == 1 && (poll_fd.revents & events);
}

static bool polls(int dmabuf, short events)
{
	return polls_within(dmabuf, events, 0);
}

TEST_F(bind, reads_and_writes_have_fences_of_their_own)
{
	int read_fd, write_fd;

	ASSERT_EQ(0, drmPrimeHandleToFD(self->fd, self->system, DRM_RDWR, &read_fd));
	ASSERT_EQ(0, drmPrimeHandleToFD(self->fd, self->carveout, DRM_RDWR, &write_fd));
	ASSERT_EQ(0, bind_all(&self->w, self->carveout));
	ASSERT_EQ(0, world_bind(&self->w, EXTERNAL_X, self->system, 0));
	ASSERT_EQ(0, world_bind(&self->w, EXTERNAL_P, self->system, 0));
	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, submit_all(&self->w));
	/* Who wants to read waits for writers, who wants to write for everybody. */
	EXPECT_TRUE(polls(read_fd, POLLIN));
	EXPECT_FALSE(polls(read_fd, POLLOUT));
	EXPECT_FALSE(polls(write_fd, POLLIN));
	EXPECT_FALSE(polls(write_fd, POLLOUT));
	ASSERT_EQ(0, npu_knob("pause", 0));
	ASSERT_EQ(0, world_wait(&self->w));
	/* A waiter may be woken before the dma-buf, which had asked for news, too, is told. */
	EXPECT_TRUE(polls_within(read_fd, POLLOUT, NPU_PATIENCE_NS / 1000000));
	EXPECT_TRUE(polls_within(write_fd, POLLOUT, NPU_PATIENCE_NS / 1000000));
	close(read_fd);
	close(write_fd);
}

/* What another driver still does with the buffer is waited for. */
TEST_F(bind, fences_of_others_are_waited_for)
{
	struct dma_buf_import_sync_file import = { .flags = DMA_BUF_SYNC_WRITE };
	uint8_t *a = self->w.arena, first[SIZE];
	struct drm_npumem_job job;
	struct drm_npumem_sync out;
	struct drm_npumem_submit args;
	struct world other;
	int dmabuf, fd = npu_open();

	/* The fence of a job of another run, which is held back. */
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, world_open(&other, fd, &self->model));
	ASSERT_EQ(0, bind_all(&other, ({
			  uint32_t bo;
			  ASSERT_EQ(0, npu_bo_create(fd, BO_SIZE, NPUMEM_BO_SYSTEM, &bo));
			  bo;
		  })));
	out = (struct drm_npumem_sync){ .handle = npu_syncobj(fd) };
	job = world_job(&other, EXTERNAL_LOAD, NPUMEM_SIM_NOP, 0);
	args = (struct drm_npumem_submit){
		.run = other.run,
		.jobs = NPU_ARRAY(&job, 1),
		.out_syncs = NPU_ARRAY(&out, 1),
	};
	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, npu_ioctl(fd, DRM_IOCTL_NPUMEM_SUBMIT, &args));
	ASSERT_EQ(0, drmSyncobjExportSyncFile(fd, out.handle, &import.fd));
	ASSERT_EQ(0, drmPrimeHandleToFD(self->fd, self->system, DRM_RDWR, &dmabuf));
	ASSERT_EQ(0, ioctl(dmabuf, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &import));
	/* So X is not there yet. */
	memset(first, 0, SIZE);
	ASSERT_EQ(0, bind_all(&self->w, self->system));
	ASSERT_EQ(0, world_step(&self->w, EXTERNAL_LOAD, NPUMEM_SIM_MIX, KEY));
	EXPECT_EQ(-ETIMEDOUT, npu_bo_wait(self->fd, self->w.arena_bo, 0));
	EXPECT_EQ(0, memcmp(a, first, SIZE));
	ASSERT_EQ(0, npu_knob("pause", 0));
	EXPECT_EQ(0, world_wait(&self->w));
	EXPECT_NE(0, memcmp(a, first, SIZE));
	EXPECT_EQ(1, npu_sync_signalled(fd, out.handle, 0));
	close(import.fd);
	close(dmabuf);
	world_close(&other);
	close(fd);
}

/* One run's output is another one's input, without a syncobj. */
TEST_F(bind, runs_of_two_clients_hand_over)
{
	uint8_t expected[SIZE], **ref = reference_new(&self->model);
	struct world other;
	int dmabuf, fd = npu_open();
	uint32_t bo, t;
	uint8_t *map;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, drmPrimeHandleToFD(self->fd, self->carveout, DRM_RDWR, &dmabuf));
	ASSERT_EQ(0, drmPrimeFDToHandle(fd, dmabuf, &bo));
	close(dmabuf);
	ASSERT_EQ(0, world_open(&other, fd, &self->model));
	ASSERT_EQ(0, bind_all(&self->w, self->system));
	ASSERT_EQ(0, world_bind(&self->w, EXTERNAL_Y, self->carveout, 0));
	ASSERT_EQ(0, bind_all(&other, bo));
	ASSERT_EQ(0, world_bind(&other, EXTERNAL_X, bo, 0));
	fill(self->system_map, BO_SIZE, 8);
	for (t = 0; t < EXTERNAL_TENSORS; t++)
		memcpy(ref[t], self->system_map + offsets[t], SIZE);
	reference_mix(&self->model, ref, KEY);
	memcpy(ref[EXTERNAL_X], ref[EXTERNAL_Y], SIZE);
	memset(ref[EXTERNAL_P], 0, SIZE);
	reference_mix(&self->model, ref, KEY);
	memcpy(expected, ref[EXTERNAL_Y], SIZE);

	ASSERT_EQ(0, npu_knob("pause", 1));
	ASSERT_EQ(0, submit_all(&self->w));
	ASSERT_EQ(0, submit_all(&other));
	ASSERT_EQ(0, npu_knob("pause", 0));
	ASSERT_EQ(0, world_wait(&other));
	map = npu_bo_map(fd, bo, BO_SIZE);
	ASSERT_NE(NULL, map);
	EXPECT_EQ(0, memcmp(map + offsets[EXTERNAL_Y], expected, SIZE));
	munmap(map, BO_SIZE);
	reference_free(&self->model, ref);
	world_close(&other);
	close(fd);
}

/* ------------------------------------------------------------------ dma-bufs */

/* Memory of a memfd, as a dma-buf of driver udmabuf, mapped; -1 without that driver. */
static int udmabuf(uint8_t **map)
{
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = BO_SIZE };
	int fd, device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);

	if (device < 0)
		return -1;
	create.memfd = memfd_create("npumem", MFD_ALLOW_SEALING);
	if (ftruncate(create.memfd, BO_SIZE) || fcntl(create.memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		return -1;
	*map = mmap(NULL, BO_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, create.memfd, 0);
	fd = ioctl(device, UDMABUF_CREATE, &create);
	close(create.memfd);
	close(device);
	return *map == MAP_FAILED ? -1 : fd;
}

TEST_F(bind, runs_in_a_foreign_dmabuf)
{
	uint8_t *map;
	uint32_t bo;
	int fd;

	if (access("/dev/udmabuf", F_OK))
		SKIP(return, "no /dev/udmabuf");
	fd = udmabuf(&map);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, drmPrimeFDToHandle(self->fd, fd, &bo));
	ASSERT_EQ(0, bind_all(&self->w, bo));
	EXPECT_TRUE(runs_in(&self->w, &self->model, map, 4));
	/* Neither handle nor descriptor is needed from now on. */
	ASSERT_EQ(0, npu_bo_close(self->fd, bo));
	close(fd);
	ASSERT_EQ(0, world_reset(&self->w));
	EXPECT_TRUE(runs_in(&self->w, &self->model, map, 5));
	munmap(map, BO_SIZE);
}

/* Imported twice: two BOs, but the same bytes and the same fences. */
TEST_F(bind, foreign_dmabuf_imported_twice)
{
	uint32_t first, second;
	uint8_t *map;
	int fd;

	if (access("/dev/udmabuf", F_OK))
		SKIP(return, "no /dev/udmabuf");
	fd = udmabuf(&map);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, drmPrimeFDToHandle(self->fd, fd, &first));
	ASSERT_EQ(0, bind_all(&self->w, first));
	/* The handle's name is free, but the BO is still there. */
	ASSERT_EQ(0, npu_bo_close(self->fd, first));
	ASSERT_EQ(0, drmPrimeFDToHandle(self->fd, fd, &second));
	EXPECT_EQ(-EINVAL, world_bind(&self->w, EXTERNAL_Y, second, offsets[EXTERNAL_E] / 64 * 64));
	ASSERT_EQ(0, world_bind(&self->w, EXTERNAL_Y, second, offsets[EXTERNAL_Y]));
	EXPECT_TRUE(runs_in(&self->w, &self->model, map, 6));
	/* The first BO goes, the other one's fences stay where they are. */
	ASSERT_EQ(0, bind_all(&self->w, second));
	ASSERT_EQ(0, world_reset(&self->w));
	EXPECT_TRUE(runs_in(&self->w, &self->model, map, 7));
	munmap(map, BO_SIZE);
	close(fd);
}

/* Shared by another client of the device, on purpose, carveout and system. */
TEST_F(bind, runs_in_a_bo_of_another_client)
{
	const uint32_t flags[] = { NPUMEM_BO_SYSTEM, NPUMEM_BO_CARVEOUT };
	uint32_t theirs, ours, i;
	int prime, fd = npu_open();
	uint8_t *map;

	ASSERT_GE(fd, 0);
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		ASSERT_EQ(0, npu_bo_create(fd, BO_SIZE, flags[i], &theirs));
		map = npu_bo_map(fd, theirs, BO_SIZE);
		ASSERT_NE(NULL, map);
		ASSERT_EQ(0, drmPrimeHandleToFD(fd, theirs, DRM_RDWR, &prime));
		ASSERT_EQ(0, drmPrimeFDToHandle(self->fd, prime, &ours));
		close(prime);
		ASSERT_EQ(0, bind_all(&self->w, ours));
		EXPECT_TRUE(runs_in(&self->w, &self->model, map, 10 + i));
		ASSERT_EQ(0, world_reset(&self->w));
		munmap(map, BO_SIZE);
	}
	/* Its client goes; what is bound stays. */
	close(fd);
	EXPECT_EQ(0, submit_all(&self->w));
	EXPECT_EQ(0, world_wait(&self->w));
}

TEST_HARNESS_MAIN
