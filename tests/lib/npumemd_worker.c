// SPDX-License-Identifier: MIT
#include "npumemd_worker.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void keep_result(struct worker *worker, const struct worker_result *result, void *userdata)
{
	struct outcome *outcome = userdata;

	outcome->result = *result;
	if (result->size && result->size <= sizeof(outcome->data))
		memcpy(outcome->data, result->data, result->size);
	outcome->done++;
	worker_free(worker);
	sd_event_exit(outcome->event, 0);
}

int worker_setup(void **state)
{
	static struct outcome outcome;
	sigset_t set;

	memset(&outcome, 0, sizeof(outcome));
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	*state = &outcome;
	return sd_event_new(&outcome.event) < 0 ? -1 : 0;
}

int worker_teardown(void **state)
{
	struct outcome *outcome = *state;

	sd_event_unref(outcome->event);
	/* No child and no zombie is left. */
	return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? 0 : -1;
}

struct worker_args default_args(struct outcome *outcome, const char *job)
{
	return (struct worker_args){
		.limits = { .seccomp = true },
		.result_limit = RESULT_LIMIT,
		.job = job,
		.blobs = WORKER_NO_BLOBS,
		.request = 77,
		.done = keep_result,
		.userdata = outcome,
	};
}

const struct worker_result *run_args(struct outcome *outcome, const struct worker_args *args)
{
	struct worker *worker;

	assert_int_equal(worker_start(outcome->event, args, &worker), 0);
	assert_int_equal(sd_event_loop(outcome->event), 0);
	assert_int_equal(outcome->done, 1);
	return &outcome->result;
}

const struct worker_result *run(struct outcome *outcome, const char *job)
{
	const struct worker_args args = default_args(outcome, job);

	return run_args(outcome, &args);
}

void assert_result(const struct worker_result *result, uint32_t status, const char *text)
{
	assert_string_equal(result->text, text);
	assert_int_equal(result->status, status);
	if (status)
		assert_int_equal(result->size, 0);
}
