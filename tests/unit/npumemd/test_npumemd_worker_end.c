// SPDX-License-Identifier: MIT
/* npumemd: workers that are given up, and what those have spent that end. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "held_kill.h"
#include "npumemd_worker.h"

static int job_spin(const struct worker_input *input, struct worker_reply *reply)
{
	volatile bool forever = true;

	while (forever)
		;
	return 0;
}

static int job_nothing(const struct worker_input *input, struct worker_reply *reply)
{
	return 0;
}

/*
 * struct end - what a worker's user was told
 * @spent: how often what it has spent was told; @us: what, and @told_before: what came before
 * @gone: how often it was told to be gone
 */
struct end {
	struct outcome *outcome;
	int spent;
	uint64_t us;
	int told_before;
	int gone;
};

static struct end end;

static void on_spent(uint64_t cpu_us, void *userdata)
{
	end.us = cpu_us;
	end.spent++;
	end.told_before = end.outcome->done + end.gone;
}

static void on_gone(void *userdata)
{
	assert_ptr_equal(userdata, end.outcome);
	end.gone++;
	sd_event_exit(end.outcome->event, 0);
}

static struct worker_args args_of(struct outcome *outcome, const char *job)
{
	struct worker_args args = default_args(outcome, job);

	end = (struct end){ .outcome = outcome };
	args.spent = on_spent;
	return args;
}

/* Start one that computes, and let it do so for a time. */
static struct worker *spinning(struct outcome *outcome)
{
	struct worker_args args = args_of(outcome, "job_spin");
	struct worker *worker;
	uint64_t begin;

	assert_int_equal(worker_start(outcome->event, &args, &worker), 0);
	for (begin = now_us(); now_us() < begin + 200000;)
		;
	return worker;
}

/* What the kernel says of the time that a worker has had is told once, before it is done. */
WORKER_TEST(time_that_was_spent)
{
	struct worker_args args = args_of(*state, "job_spin");

	args.limits.cpu_seconds = 1;
	run_args(*state, &args);
	assert_int_equal(end.spent, 1);
	assert_int_equal(end.told_before, 0);
	assert_in_range(end.us, 500000, 60000000);
}

/* Nobody waits for who is stopped: it may take long to die. */
WORKER_TEST(stop)
{
	struct outcome *outcome = *state;
	uint64_t begin = now_us();
	struct worker *worker = spinning(outcome);

	hold_kills();
	assert_false(worker_stop(worker, on_gone));
	assert_int_equal(sd_event_run(outcome->event, 0), 0);
	assert_int_equal(end.spent + end.gone + outcome->done, 0);
	assert_true(release_kills() > 0);
	assert_int_equal(sd_event_loop(outcome->event), 0);
	assert_int_equal(end.gone, 1);
	assert_int_equal(end.spent, 1);
	assert_int_equal(end.told_before, 0);
	assert_in_range(end.us, 1, now_us() - begin);
	assert_int_equal(outcome->done, 0);
}

static bool stopped;

static void stop_it(struct worker *worker, const struct worker_result *result, void *userdata)
{
	stopped = worker_stop(worker, on_gone);
	sd_event_exit(end.outcome->event, 0);
}

/* One that has ended goes at once. */
WORKER_TEST(stop_what_has_ended)
{
	struct outcome *outcome = *state;
	struct worker_args args = args_of(outcome, "job_nothing");
	struct worker *worker;

	args.done = stop_it;
	assert_int_equal(worker_start(outcome->event, &args, &worker), 0);
	assert_int_equal(sd_event_loop(outcome->event), 0);
	assert_true(stopped);
	assert_int_equal(end.gone, 0);
	assert_true(worker_stop(NULL, on_gone));
}

/* The end of the daemon: who dies is left to the next one. */
static void assert_left(struct outcome *outcome)
{
	assert_int_equal(end.spent, 1);
	assert_int_equal(sd_event_run(outcome->event, 0), 0);
	assert_int_equal(end.gone + outcome->done, 0);
	/* It does die. */
	assert_true(waitpid(-1, NULL, 0) > 0);
}

WORKER_TEST(free_while_running)
{
	struct outcome *outcome = *state;
	uint64_t begin = now_us();

	worker_free(spinning(outcome));
	worker_free(NULL);
	assert_in_range(end.us, 1, now_us() - begin);
	assert_left(outcome);
}

WORKER_TEST(free_while_dying)
{
	struct outcome *outcome = *state;
	struct worker *worker = spinning(outcome);

	hold_kills();
	assert_false(worker_stop(worker, on_gone));
	worker_free(worker);
	assert_true(release_kills() > 0);
	assert_left(outcome);
}

static const struct worker_job jobs[] = {
	{ "job_spin", job_spin },
	{ "job_nothing", job_nothing },
	{ 0 },
};

int main(int argc, char **argv)
{
	worker_main(argv, jobs);
	return unit_run(NULL, NULL);
}
