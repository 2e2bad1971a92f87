// SPDX-License-Identifier: MIT
/*
 * Engines in a process that are killed at random, again and again, while clients have jobs
 * computed by whichever is there: what a job makes is right or it fails, and nothing is left.
 *
 * NPUMEM_RACE_SECONDS: for so long; else until KILLS have been killed and everything has
 * happened that can.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "npumem_attach.h"

#define KEY	0x7ace
#define WINDOW	8192
#define CLIENTS 3
#define KILLS	60
#define MAX_US	10000
#define LONGEST 6 /* 64 times as long */

/*
 * struct tally - what all processes have seen
 * @stop: clients are to end
 * @computed: chains that were right
 * @failed: that were not computed, as an engine was gone
 * @unattached: that were refused, as none was there
 * @wrong: what must not be: number of the check
 * @window: BO of the private engine at hand: its handle does not go with the process
 */
struct tally {
	atomic_bool stop;
	atomic_uint computed;
	atomic_uint failed;
	atomic_uint unattached;
	atomic_uint wrong;
	atomic_uint window;
};

static void wrong(struct tally *tally, unsigned int check)
{
	unsigned int none = 0;

	atomic_compare_exchange_strong(&tally->wrong, &none, check);
	tally->stop = true;
}

/* An engine until it is killed; private if it gets a file. */
static void serve(struct tally *tally, int device)
{
	struct attached engine;
	int fd = device >= 0 ? device : npu_open();

	/* The one before may still be on its way out. */
	while (attach_engine(&engine, fd, device >= 0 ? 0 : NPUMEM_ATTACH_SHARED, WINDOW,
			     ATTACH_HANG))
		usleep(200);
	if (device >= 0)
		tally->window = engine.bo;
	for (;;)
		attach_serve(&engine, 1, KEY);
}

static bool has_happened(const struct tally *tally)
{
	return tally->computed && tally->failed && tally->unattached;
}

/*
 * How much longer the next ones are to live, as a power of two: on a slow machine engines that
 * are killed too soon would compute nothing at all.
 */
static unsigned int longer(const struct tally *tally, unsigned int killed, unsigned int now)
{
	if (killed % 10 != 9)
		return now;
	if (tally->computed >= killed / 4)
		return 0;
	return now < LONGEST ? now + 1 : now;
}

/* One engine after the other, each for a short while. */
static void kill_engines(struct tally *tally, int device, uint32_t seed)
{
	const char *seconds = getenv("NPUMEM_RACE_SECONDS");
	int64_t end = seconds ? npu_now() + atoll(seconds) * 1000000000ll : 0;
	unsigned int i, shift = 0;
	pid_t pid;

	for (i = 0;
	     !tally->wrong && (seconds ? npu_now() < end : i < KILLS || !has_happened(tally));
	     i++) {
		pid = fork();
		if (pid < 0)
			wrong(tally, 1);
		if (!pid)
			serve(tally, device);
		shift = longer(tally, i, shift);
		usleep(npu_draw(&seed, MAX_US << (i % 5 + shift)));
		kill(pid, SIGKILL);
		if (waitpid(pid, NULL, 0) != pid)
			wrong(tally, 2);
		if (device >= 0)
			npu_bo_close(device, atomic_exchange(&tally->window, 0));
	}
}

/* All steps in as many jobs: 0 or what refused one. */
static int submit_chain(struct world *w)
{
	struct drm_npumem_job jobs[CHAIN_STEPS];
	struct drm_npumem_submit args;
	uint32_t i;

	for (i = 0; i < CHAIN_STEPS; i++)
		jobs[i] = attach_job(w, i);
	return world_submit(w, jobs, CHAIN_STEPS, &args);
}

static void try_chain(struct tally *tally, struct world *w, const struct model *model,
		      uint8_t **ref, uint8_t value)
{
	uint32_t i;
	int err;

	memset(ref[CHAIN_X], value, CHAIN_SIZE);
	memset(w->arena, value, CHAIN_SIZE);
	err = submit_chain(w);
	if (err == -EUNATCH) {
		tally->unattached++;
		usleep(500);
		return;
	}
	if (err)
		wrong(tally, 3);
	switch (attach_outcome(w)) {
	case 0:
		for (i = 0; i < CHAIN_STEPS; i++)
			reference_step(model, ref, i, NPUMEM_SIM_MIX, KEY);
		if (memcmp(ref[CHAIN_Y], w->arena + CHAIN_Y * CHAIN_SIZE, CHAIN_SIZE))
			wrong(tally, 4);
		tally->computed++;
		break;
	case ENODEV:
		tally->failed++;
		break;
	default:
		wrong(tally, 5);
	}
	if (world_reset(w))
		wrong(tally, 6);
}

static void be_client(struct tally *tally, int fd)
{
	struct model model = model_chain();
	uint8_t **ref = reference_new(&model);
	unsigned int n = 0;
	struct world w;

	if (world_open(&w, fd, &model))
		wrong(tally, 7);
	while (!tally->stop)
		try_chain(tally, &w, &model, ref, (uint8_t)n++);
	world_close(&w);
}

/* A client; the first one has engines of its own, and its own killer. */
static int client(struct tally *tally, unsigned int number)
{
	int fd = npu_open();
	pid_t pid;

	if (fd < 0)
		return 1;
	if (number) {
		be_client(tally, fd);
		return 0;
	}
	pid = fork();
	if (pid < 0)
		return 2;
	if (!pid) {
		kill_engines(tally, fd, 77);
		_exit(0);
	}
	be_client(tally, fd);
	return waitpid(pid, NULL, 0) == pid ? 0 : 3;
}

FIXTURE(engines){};

FIXTURE_SETUP(engines)
{
}

FIXTURE_TEARDOWN(engines)
{
}

/* NPUMEM_RACE_SECONDS says how long; the guest has a limit of its own. */
TEST_F_TIMEOUT(engines, killed_at_random, 86400)
{
	struct tally *tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct drm_npumem_bank bank;
	pid_t clients[CLIENTS];
	int i, status, fd;

	ASSERT_NE(MAP_FAILED, (void *)tally);
	for (i = 0; i < CLIENTS; i++) {
		clients[i] = fork();
		ASSERT_GE(clients[i], 0);
		if (!clients[i])
			_exit(client(tally, i));
	}
	kill_engines(tally, -1, 4711);
	tally->stop = true;
	for (i = 0; i < CLIENTS; i++) {
		ASSERT_EQ(clients[i], waitpid(clients[i], &status, 0));
		EXPECT_EQ(0, status);
	}
	TH_LOG("%u chains computed, %u failed, %u not accepted", tally->computed, tally->failed,
	       tally->unattached);
	EXPECT_EQ(0, tally->wrong);
	EXPECT_LT(0, tally->computed);
	EXPECT_LT(0, tally->failed);
	EXPECT_LT(0, tally->unattached);
	/* Nothing of them is left. */
	fd = npu_open();
	ASSERT_GE(fd, 0);
	while (!npu_bank(fd, &bank) && bank.free != bank.size)
		usleep(1000);
	EXPECT_EQ(bank.size, bank.free);
	close(fd);
}

TEST_HARNESS_MAIN
