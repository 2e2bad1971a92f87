// SPDX-License-Identifier: MIT
/*
 * Runs on two engines, all at once: chains of copies that take each other's places in an
 * arena with little room to spare, so that nearly every job has hazards with jobs on the
 * other engine. Positions come in orders, in SUBMITs and on engines that are drawn from a seed,
 * engines are slow or quick by turns, and between times there are SUBMITs that are refused in
 * their midst, and jobs that fail. Each inference that ends well has the right bytes.
 *
 * NPUMEM_RACE_SEED says otherwise from which seed.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "npumem_world.h"

#define SEED 20261124u
#define KEY  0xabcde
#define SIZE 256

enum {
	SIM,
	COPY,
	CHAINS = 4,
	SPARE = 3,
	LEVELS = 10,
	STEPS = CHAINS * LEVELS,
	THREADS = 3,
	ROUNDS = 40,
	FEW_ROUNDS = 10,
};

/*
 * struct slots - who is where in the arena
 * @at: of a tensor
 * @free: places, the one that has been free for longest first
 */
struct slots {
	uint32_t at[STEPS + CHAINS];
	uint32_t free[SPARE];
};

/* Step i reads tensor i and writes tensor i + CHAINS, in a place of what was read before. */
static struct model model_chains(void)
{
	struct slots s = { .free = { CHAINS, CHAINS + 1, CHAINS + 2 } };
	struct model m = { 0 };
	uint32_t i, kind;

	for (i = 0; i < STEPS + CHAINS; i++) {
		kind = i < CHAINS ? NPUMEM_TENSOR_INPUT :
		       i >= STEPS ? NPUMEM_TENSOR_OUTPUT :
				    NPUMEM_TENSOR_INTERMEDIATE;
		model_tensor(&m, kind, SIZE);
		model_whole(&m, i);
		s.at[i] = i;
	}
	for (i = 0; i < STEPS; i++) {
		model_step_rw(&m, i, i + CHAINS);
		s.at[i + CHAINS] = s.free[0];
		memmove(s.free, s.free + 1, (SPARE - 1) * sizeof(s.free[0]));
		s.free[SPARE - 1] = s.at[i];
	}
	for (i = 0; i < STEPS + CHAINS; i++) {
		model_place(&m, i, (uint64_t)s.at[i] * SIZE);
		m.placements[i].from = i < CHAINS ? 0 : i - CHAINS;
		m.placements[i].to = i < STEPS ? i : STEPS - 1;
	}
	model_schedule(&m);
	return m;
}

/*
 * struct hammer - one thread's run
 * @state: of what it draws
 * @mixes: steps that compute, on engine "sim"
 * @done: steps that were submitted
 * @went: inferences that ended well
 * @lost: those that did not, as they may
 * @wrong: what must not be
 */
struct hammer {
	const struct model *model;
	struct world w;
	uint32_t state;
	bool mixes[STEPS];
	bool done[STEPS];
	uint8_t **ref;
	uint32_t went, lost, wrong;
};

static uint32_t draw(struct hammer *h, uint32_t below)
{
	return npu_draw(&h->state, below);
}

static void wrong(struct hammer *h, const char *what, int err)
{
	printf("# %s: %d\n", what, err);
	h->wrong++;
}

/* Whether the states let a step go: its input is there, and what it overwrites was read. */
static bool ready(const struct hammer *h, uint32_t step)
{
	uint32_t i;

	if (h->done[step] || (step >= CHAINS && !h->done[step - CHAINS]))
		return false;
	for (i = 0; i < step; i++)
		if (!h->done[i] &&
		    h->model->placements[i].offset == h->model->placements[step + CHAINS].offset)
			return false;
	return true;
}

static uint32_t draw_ready(struct hammer *h)
{
	uint32_t step = draw(h, STEPS);

	while (!ready(h, step))
		step = (step + 1) % STEPS;
	return step;
}

static struct drm_npumem_job job_of(struct hammer *h, uint32_t step)
{
	struct drm_npumem_job job = world_job(&h->w, step,
					      h->mixes[step] ? NPUMEM_SIM_MIX : NPUMEM_SIM_COPY,
					      h->mixes[step] ? KEY : 0);

	job.engine = h->mixes[step] || draw(h, 2) ? SIM : COPY;
	return job;
}

/* Some that may go, and perhaps one that may not, so that none of them goes. */
static int submit_some(struct hammer *h, uint32_t *left)
{
	uint32_t i, count = 1 + draw(h, *left < 8 ? *left : 8), steps[8];
	struct drm_npumem_job jobs[9];
	struct drm_npumem_submit args;
	bool refused = !draw(h, 4);
	int err;

	for (i = 0; i < count; i++) {
		steps[i] = draw_ready(h);
		h->done[steps[i]] = true;
		jobs[i] = job_of(h, steps[i]);
	}
	if (refused)
		jobs[count] = job_of(h, steps[draw(h, count)]);
	err = world_submit(&h->w, jobs, count + refused, &args);
	if (!err && !refused)
		*left -= count;
	for (i = 0; (err || refused) && i < count; i++)
		h->done[steps[i]] = false;
	/* A job has failed meanwhile. */
	if (err == -EIO)
		return err;
	if (err != (refused ? -EPERM : 0))
		wrong(h, "SUBMIT", err);
	return h->wrong ? -EINVAL : 0;
}

static void set_inputs(struct hammer *h)
{
	uint32_t i, b;

	memset(h->done, 0, sizeof(h->done));
	for (i = 0; i < CHAINS; i++) {
		for (b = 0; b < SIZE; b++)
			h->ref[i][b] = draw(h, 256);
		memcpy(h->w.arena + h->model->placements[i].offset, h->ref[i], SIZE);
	}
	for (i = 0; i < STEPS; i++) {
		h->mixes[i] = !draw(h, 3);
		reference_step(h->model, h->ref, i, h->mixes[i] ? NPUMEM_SIM_MIX : NPUMEM_SIM_COPY,
			       h->mixes[i] ? KEY : 0);
	}
}

static void check_outputs(struct hammer *h)
{
	struct drm_npumem_run_query query;
	uint32_t i;
	int err = world_query(&h->w, &query);

	if (err || query.error) {
		h->lost++;
		if (err || (query.error != EIO && query.error != ECANCELED))
			wrong(h, "error of the run", err ? err : (int)query.error);
		return;
	}
	h->went++;
	for (i = STEPS; i < STEPS + CHAINS; i++)
		if (memcmp(h->w.arena + h->model->placements[i].offset, h->ref[i], SIZE))
			wrong(h, "bytes of an output", i);
}

static void inference(struct hammer *h)
{
	uint32_t left = STEPS;
	int err = 0;

	set_inputs(h);
	while (!err && left)
		err = submit_some(h, &left);
	err = world_wait(&h->w);
	if (err)
		wrong(h, "wait", err);
	check_outputs(h);
	err = world_reset(&h->w);
	if (err)
		wrong(h, "RESET", err);
}

static void *hammers(void *data)
{
	struct hammer *h = data;
	uint32_t round, rounds = npu_count(ROUNDS, FEW_ROUNDS);

	/* However slow this is: failures end sometime, and one that goes well comes after them. */
	for (round = 0; (round < rounds || !h->went) && !h->wrong; round++)
		inference(h);
	return NULL;
}

static void speeds(uint32_t sim_ns, uint32_t copy_ns)
{
	npu_knob("job_ns", sim_ns);
	npu_knob("../sim-copy/job_ns", copy_ns);
}

static void reset_knobs(void)
{
	speeds(0, 0);
	npu_knob("fail_next", 0);
	npu_knob("pause", 0);
	npu_knob("../sim-copy/pause", 0);
}

FIXTURE(engines_race)
{
	struct model model;
	struct hammer hammers[THREADS];
};

FIXTURE_SETUP(engines_race)
{
	const char *text = getenv("NPUMEM_RACE_SEED");
	uint32_t i, seed = text ? strtoul(text, NULL, 0) : SEED;
	int fd;

	reset_knobs();
	printf("# seed %u\n", seed);
	self->model = model_chains();
	for (i = 0; i < THREADS; i++) {
		fd = npu_open();
		ASSERT_GE(fd, 0);
		self->hammers[i] = (struct hammer){ .model = &self->model,
						    .state = (seed + i) * 2654435761u | 1 };
		ASSERT_EQ(0, world_open(&self->hammers[i].w, fd, &self->model));
		self->hammers[i].ref = reference_new(&self->model);
	}
}

FIXTURE_TEARDOWN(engines_race)
{
	uint32_t i;

	reset_knobs();
	for (i = 0; i < THREADS; i++) {
		reference_free(&self->model, self->hammers[i].ref);
		world_close(&self->hammers[i].w);
		close(self->hammers[i].w.fd);
	}
	model_free(&self->model);
}

/* Engines are slow by turns; with @fail a job of engine "sim" fails now and then. */
static void race(struct hammer *h, bool fail)
{
	pthread_t threads[THREADS];
	uint32_t i, turn;

	for (i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, hammers, &h[i]))
			abort();
	for (turn = 0; turn < 60; turn++) {
		speeds(turn % 3 == 1 ? 2000000 : 0, turn % 3 == 2 ? 2000000 : 0);
		if (fail)
			npu_knob("fail_next", 1);
		usleep(20000);
	}
	speeds(0, 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

TEST_F_TIMEOUT(engines_race, bytes_are_right, 3000)
{
	uint32_t i;

	race(self->hammers, false);
	for (i = 0; i < THREADS; i++) {
		EXPECT_EQ(0, self->hammers[i].wrong);
		EXPECT_EQ(npu_count(ROUNDS, FEW_ROUNDS), self->hammers[i].went);
	}
}

TEST_F_TIMEOUT(engines_race, failures_cost_their_runs, 3000)
{
	uint32_t i, went = 0, lost = 0;

	race(self->hammers, true);
	for (i = 0; i < THREADS; i++) {
		EXPECT_EQ(0, self->hammers[i].wrong);
		went += self->hammers[i].went;
		lost += self->hammers[i].lost;
	}
	EXPECT_LT(0, went);
	EXPECT_LT(0, lost);
}

TEST_HARNESS_MAIN
