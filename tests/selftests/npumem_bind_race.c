// SPDX-License-Identifier: MIT
/*
 * One run, used by several threads at once: jobs, bindings that come and go, BOs
 * whose handles are closed, resets. Each call ends as one of them could have ended
 * alone, and when all is quiet the run works.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "npumem_world.h"

#define KEY    7
#define SIZE   EXTERNAL_SIZE
#define ROUNDS 400

enum { BO_SIZE = 4096 };

static const uint64_t offsets[EXTERNAL_TENSORS] = { 0, 512, 0, 1024, 2048 };

struct race {
	struct model model;
	struct world w;
	uint32_t system, carveout; /* handles */
	int failed;		   /* calls that ended as they must not */
	int went;		   /* SUBMITs that went */
};

static void expect(struct race *race, const char *what, int err, int a, int b)
{
	if (!err || err == a || err == b)
		return;
	printf("# %s: %s\n", what, strerror(-err));
	__atomic_add_fetch(&race->failed, 1, __ATOMIC_RELAXED);
}

static int submit_all(struct race *race)
{
	struct drm_npumem_submit args;

	return world_mix(&race->w, 0, EXTERNAL_STEPS, KEY, &args);
}

static void *submits(void *data)
{
	struct race *race = data;
	int i, err;

	/* This thread may be late: what the others leave when they end can be run. */
	for (i = 0; i < ROUNDS || !race->went; i++) {
		err = submit_all(race);
		/* Bound to nothing, or run already and not reset. */
		expect(race, "submit", err, -ENXIO, -EPERM);
		race->went += !err;
	}
	return NULL;
}

static void *resets(void *data)
{
	struct race *race = data;
	struct world w = race->w;
	int i;

	for (i = 0; i < ROUNDS; i++)
		expect(race, "reset", world_reset(&w), -EBUSY, 0);
	return NULL;
}

/* At last Y is bound. */
static void *binds(void *data)
{
	struct race *race = data;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		uint32_t bo = i % 8 == 3 ? 0 : i % 2 ? race->system : race->carveout;

		expect(race, "bind Y",
		       world_bind(&race->w, EXTERNAL_Y, bo, bo ? offsets[EXTERNAL_Y] : 0), -EBUSY,
		       0);
	}
	return NULL;
}

/* BOs that live by their binding alone. */
static void *lets_go(void *data)
{
	struct race *race = data;
	uint32_t bo;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		expect(race, "create",
		       npu_bo_create(race->w.fd, BO_SIZE,
				     i % 2 ? NPUMEM_BO_SYSTEM : NPUMEM_BO_CARVEOUT, &bo),
		       0, 0);
		expect(race, "bind X", world_bind(&race->w, EXTERNAL_X, bo, i % 100), -EBUSY, 0);
		expect(race, "close", npu_bo_close(race->w.fd, bo), 0, 0);
	}
	return NULL;
}

static int bind_all(struct race *race)
{
	return world_bind_external(&race->w, race->system, offsets, NPUMEM_NONE);
}

FIXTURE(threads)
{
	int fd;
};

FIXTURE_SETUP(threads)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, npu_knob("pause", 0));
}

FIXTURE_TEARDOWN(threads)
{
	close(self->fd);
}

TEST_F_TIMEOUT(threads, on_one_run, 600)
{
	static void *(*const threads[])(void *) = { submits, resets, binds, lets_go };
	struct race race = { .model = model_external() };
	uint8_t *map, **ref;
	unsigned int i;
	uint32_t t;
	int fd = self->fd;

	ASSERT_EQ(0, world_open(&race.w, fd, &race.model));
	ASSERT_EQ(0, npu_bo_create(fd, BO_SIZE, NPUMEM_BO_SYSTEM, &race.system));
	ASSERT_EQ(0, npu_bo_create(fd, BO_SIZE, NPUMEM_BO_CARVEOUT, &race.carveout));
	ASSERT_EQ(0, bind_all(&race));
	ASSERT_EQ(0, npu_threads(threads, ARRAY_SIZE(threads), &race));
	EXPECT_EQ(0, race.failed);
	EXPECT_LT(0, race.went);

	/* Quiet again. */
	ASSERT_EQ(0, world_wait(&race.w));
	ASSERT_EQ(0, world_reset(&race.w));
	ASSERT_EQ(0, bind_all(&race));
	map = npu_bo_map(fd, race.system, BO_SIZE);
	ASSERT_NE(NULL, map);
	for (i = 0; i < BO_SIZE; i++)
		map[i] = i * 3;
	ref = reference_new(&race.model);
	for (t = 0; t < EXTERNAL_TENSORS; t++)
		memcpy(ref[t], map + offsets[t], SIZE);
	reference_mix(&race.model, ref, KEY);
	ASSERT_EQ(0, submit_all(&race));
	ASSERT_EQ(0, world_wait(&race.w));
	EXPECT_EQ(0, memcmp(map + offsets[EXTERNAL_Y], ref[EXTERNAL_Y], SIZE));
	reference_free(&race.model, ref);
	munmap(map, BO_SIZE);
	world_close(&race.w);
	model_free(&race.model);
}

TEST_HARNESS_MAIN
