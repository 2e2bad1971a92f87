// SPDX-License-Identifier: MIT
/*
 * Many take turns with one arena at once, and look at it all the time: whatever they see is
 * their own. What a run computes in its turn is what it would have computed alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kselftest_harness.h"
#include "npumem_world.h"

#define SIZE (64u << 10)
#define MARK 4096 /* where each client writes its number */

enum { PROCESSES = 4, RUNS = 2, TURNS = 100, FEW_TURNS = 26, NOTHING = PROCESSES + 1 };

/**
 * struct race_state - in memory that all processes share
 * @turns: that were had
 * @seen: bytes that lookers have seen, which is to say that the lookers looked
 * @faults: of lookers
 * @failed: the first line that found something wrong
 */
struct race_state {
	atomic_int turns;
	atomic_int seen;
	atomic_int faults;
	atomic_int failed;
};

/**
 * struct client - one process
 * @race: shared
 * @number: from 1
 * @fd: its file
 * @bo: the arena there
 * @map: the arena, mapped
 * @model: that its runs run
 * @stop: its looker is to end
 */
struct client {
	struct race_state *race;
	uint8_t number;
	int fd;
	uint32_t bo;
	uint8_t *map;
	struct model model;
	atomic_bool stop;
};

#define CHECK(client, condition)                                                                  \
	do {                                                                                      \
		if (!(condition)) {                                                               \
			int none = 0;                                                             \
			atomic_compare_exchange_strong(&(client)->race->failed, &none, __LINE__); \
		}                                                                                 \
	} while (0)

static _Thread_local sigjmp_buf bus_error;

static void on_bus_error(int signal)
{
	siglongjmp(bus_error, 1);
}

/* Reads all the time; what it sees is zero or its own client's number. */
static void *look(void *data)
{
	struct client *c = data;
	volatile uint8_t *byte = c->map + MARK;
	uint8_t value;

	while (!atomic_load(&c->stop)) {
		if (sigsetjmp(bus_error, 1)) {
			atomic_fetch_add(&c->race->faults, 1);
			sched_yield();
			continue;
		}
		value = *byte;
		CHECK(c, !value || value == c->number);
		atomic_fetch_add(&c->race->seen, 1);
	}
	return NULL;
}

static void turn(struct client *c, struct world *w, uint64_t key)
{
	uint8_t **ref = reference_new(&c->model);
	struct drm_npumem_submit args;
	uint8_t *x = w->arena + c->model.placements[CHAIN_X].offset;
	uint8_t *y = w->arena + c->model.placements[CHAIN_Y].offset;

	CHECK(c, !world_begin(w, npu_now() + NPU_PATIENCE_NS));
	CHECK(c, !c->map[MARK] || c->map[MARK] == c->number);
	c->map[MARK] = c->number;
	memset(x, c->number, CHAIN_SIZE);
	memset(ref[CHAIN_X], c->number, CHAIN_SIZE);
	reference_mix(&c->model, ref, key);
	CHECK(c, !world_mix(w, 0, CHAIN_STEPS, key, &args));
	CHECK(c, !world_wait(w));
	CHECK(c, !memcmp(y, ref[CHAIN_Y], CHAIN_SIZE));
	CHECK(c, c->map[MARK] == c->number);
	CHECK(c, !world_end(w));
	atomic_fetch_add(&c->race->turns, 1);
	reference_free(&c->model, ref);
}

static int client_open(struct client *c, int buffer)
{
	struct sigaction action = { .sa_handler = on_bus_error };

	sigaction(SIGBUS, &action, NULL);
	c->model = model_chain();
	c->model.info.arena_size = SIZE;
	c->fd = npu_open();
	if (c->fd < 0 || drmPrimeFDToHandle(c->fd, buffer, &c->bo))
		return -1;
	c->map = npu_bo_map(c->fd, c->bo, SIZE);
	return c->map ? 0 : -1;
}

/* Takes turns, by several runs, one of which is made anew all the time. */
static int client_main(struct client *c, int buffer, bool dies)
{
	struct world w[RUNS];
	pthread_t looker;
	int i, r, turns = npu_count(TURNS, FEW_TURNS);

	if (client_open(c, buffer))
		return 1;
	for (r = 0; r < RUNS; r++)
		if (world_open_shared(&w[r], c->fd, &c->model, c->bo))
			return 2;
	if (pthread_create(&looker, NULL, look, c))
		return 3;
	for (i = 0; i < turns; i++) {
		for (r = 0; r < RUNS; r++)
			turn(c, &w[r], i * RUNS + r + 1);
		if (dies && i == turns / 2) {
			world_begin(&w[0], npu_now() + NPU_PATIENCE_NS);
			memset(c->map, c->number, SIZE);
			kill(getpid(), SIGKILL);
		}
		if (i % 8)
			continue;
		world_close(&w[0]);
		CHECK(c, !world_open_shared(&w[0], c->fd, &c->model, c->bo));
	}
	atomic_store(&c->stop, true);
	pthread_join(looker, NULL);
	return 0;
}

/* Has no run, so there is nothing for it to see. */
static int spy_main(struct client *c, int buffer)
{
	if (client_open(c, buffer))
		return 1;
	/* Nobody has this number. */
	c->number = NOTHING;
	for (;;) {
		if (sigsetjmp(bus_error, 1)) {
			sched_yield();
			continue;
		}
		(void)*(volatile uint8_t *)(c->map + MARK);
		CHECK(c, false);
	}
}

FIXTURE(race){};

FIXTURE_SETUP(race)
{
}

FIXTURE_TEARDOWN(race)
{
}

/* Seconds: a debug kernel in an emulator is slow. */
TEST_F_TIMEOUT(race, turns_at_once, 1100)
{
	struct client c = { 0 };
	struct drm_npumem_bank bank;
	pid_t pids[PROCESSES + 1];
	int i, fd, buffer, status, turns = npu_count(TURNS, FEW_TURNS);
	uint32_t bo;

	c.race = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, c.race);
	fd = npu_open();
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, npu_bo_create(fd, SIZE, NPUMEM_BO_SHARED, &bo));
	ASSERT_EQ(0, drmPrimeHandleToFD(fd, bo, DRM_CLOEXEC | DRM_RDWR, &buffer));
	for (i = 0; i <= PROCESSES; i++) {
		pids[i] = fork();
		ASSERT_GE(pids[i], 0);
		if (pids[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fd);
		c.number = i + 1;
		_exit(i == PROCESSES ? spy_main(&c, buffer) : client_main(&c, buffer, !i));
	}
	/* The first one dies in its turn. */
	for (i = 0; i < PROCESSES; i++) {
		ASSERT_EQ(pids[i], waitpid(pids[i], &status, 0));
		EXPECT_EQ(i ? 0 : SIGKILL, status);
	}
	EXPECT_EQ(0, waitpid(pids[PROCESSES], &status, WNOHANG));
	kill(pids[PROCESSES], SIGKILL);
	ASSERT_EQ(pids[PROCESSES], waitpid(pids[PROCESSES], &status, 0));
	EXPECT_EQ(0, atomic_load(&c.race->failed));
	EXPECT_EQ(RUNS * ((PROCESSES - 1) * turns + turns / 2 + 1), atomic_load(&c.race->turns));
	EXPECT_LT(0, atomic_load(&c.race->seen));
	EXPECT_LT(0, atomic_load(&c.race->faults));
	TH_LOG("%d turns, %d bytes seen, %d faults", atomic_load(&c.race->turns),
	       atomic_load(&c.race->seen), atomic_load(&c.race->faults));
	close(buffer);
	close(fd);
	fd = npu_open();
	ASSERT_EQ(0, npu_bank(fd, &bank));
	EXPECT_EQ(bank.size, bank.free);
	close(fd);
	munmap(c.race, 4096);
}

TEST_HARNESS_MAIN
