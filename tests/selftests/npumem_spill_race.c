// SPDX-License-Identifier: MIT
/*
 * One run with transfers, used by several threads at once: jobs, resets, queries, runs
 * that want the same host BO, and a client that scribbles over host memory while it is
 * copied. Each call ends as one of them could have ended alone, and when all is quiet
 * the run works: what a client does to its own bytes spoils nothing else.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "npumem_world.h"

#define KEY    3
#define ROUNDS 300

struct race {
	struct model model;
	struct world w;
	int failed; /* calls that ended as they must not */
	int went;   /* SUBMITs that went */
	int stop;   /* the scribbler is to end */
};

static void expect(struct race *race, const char *what, int err, int other)
{
	if (!err || err == other)
		return;
	printf("# %s: %s\n", what, strerror(-err));
	__atomic_add_fetch(&race->failed, 1, __ATOMIC_RELAXED);
}

static int submit_all(struct race *race)
{
	struct drm_npumem_submit args;

	return world_mix(&race->w, 0, SPILL_POSITIONS, KEY, &args);
}

static void *submits(void *data)
{
	struct race *race = data;
	int i, err;

	for (i = 0; i < ROUNDS; i++) {
		err = submit_all(race);
		expect(race, "submit", err, -EPERM);
		race->went += !err;
		npu_bo_wait(race->w.fd, race->w.host_bo, npu_now() + NPU_PATIENCE_NS);
	}
	return NULL;
}

static void *resets(void *data)
{
	struct race *race = data;
	struct world w = race->w;
	int i;

	for (i = 0; i < 3 * ROUNDS; i++)
		expect(race, "reset", world_reset(&w), -EBUSY);
	return NULL;
}

/* Never more than one inference's traffic, whenever one looks. */
static void *queries(void *data)
{
	struct drm_npumem_run_query query;
	struct race *race = data;
	int i;

	for (i = 0; i < 3 * ROUNDS; i++) {
		expect(race, "query", world_query(&race->w, &query), 0);
		if (query.load_bytes > 2 * SPILL_SIZE || query.fill_bytes > 2 * SPILL_SIZE ||
		    query.spill_bytes > SPILL_SIZE || query.store_bytes > SPILL_SIZE ||
		    query.submitted > SPILL_POSITIONS)
			expect(race, "counters", -ERANGE, 0);
	}
	return NULL;
}

/* Somebody else wants the BO, and never gets it. */
static void *rivals(void *data)
{
	struct race *race = data;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		struct drm_npumem_run_create args = {
			.plan = race->w.plan,
			.host_bo = race->w.host_bo,
		};
		int err = npu_ioctl(race->w.fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &args);

		expect(race, "second run", err ? err : -EEXIST, -EBUSY);
	}
	return NULL;
}

static void *scribbles(void *data)
{
	struct race *race = data;
	uint8_t value = 0;

	while (!__atomic_load_n(&race->stop, __ATOMIC_RELAXED)) {
		memset(race->w.host, value++, race->w.host_size);
		memset(race->w.arena, value++, race->w.arena_size);
	}
	return NULL;
}

FIXTURE(race)
{
	int fd;
};

FIXTURE_SETUP(race)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, npu_knob("pause", 0));
}

FIXTURE_TEARDOWN(race)
{
	close(self->fd);
}

TEST_F_TIMEOUT(race, on_one_run, 600)
{
	static void *(*const threads[])(void *) = { submits, resets, queries, rivals };
	struct race race = { .model = model_spill() };
	pthread_t scribbler;
	unsigned int i;
	uint8_t **ref;

	ASSERT_EQ(0, world_open(&race.w, self->fd, &race.model));
	ASSERT_EQ(0, pthread_create(&scribbler, NULL, scribbles, &race));
	ASSERT_EQ(0, npu_threads(threads, ARRAY_SIZE(threads), &race));
	__atomic_store_n(&race.stop, 1, __ATOMIC_RELAXED);
	ASSERT_EQ(0, pthread_join(scribbler, NULL));
	EXPECT_EQ(0, race.failed);
	EXPECT_LT(0, race.went);

	/* Quiet again. */
	ASSERT_EQ(0, world_wait(&race.w));
	ASSERT_EQ(0, world_reset(&race.w));
	ref = reference_new(&race.model);
	for (i = 0; i < SPILL_SIZE; i++) {
		ref[SPILL_X][i] = i * 3;
		ref[SPILL_P][i] = i * 11;
	}
	memcpy(race.w.host + spill_host[SPILL_X], ref[SPILL_X], SPILL_SIZE);
	memcpy(race.w.host + spill_host[SPILL_P], ref[SPILL_P], SPILL_SIZE);
	reference_mix(&race.model, ref, KEY);
	ASSERT_EQ(0, submit_all(&race));
	ASSERT_EQ(0, world_wait(&race.w));
	EXPECT_EQ(0, memcmp(race.w.host + spill_host[SPILL_Y], ref[SPILL_Y], SPILL_SIZE));
	reference_free(&race.model, ref);
	world_close(&race.w);
	model_free(&race.model);
}

TEST_HARNESS_MAIN
