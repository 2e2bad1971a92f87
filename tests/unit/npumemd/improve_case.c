// SPDX-License-Identifier: MIT
#include "improve_case.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "metrics.h"

static char folder[64];
char supplies[80];
uint64_t fake_now;

static uint64_t tell_now(void)
{
	return fake_now;
}

/* Searches do not wait for an idle processor: beside other tests that would be minutes. */
static const struct improver_host host = {
	.process = "/nowhere",
	.groups = "/nowhere",
	.supplies = supplies,
	.look_us = 20000,
	.period_us = 10000,
	.now = tell_now,
};

/* The loop goes on. */
static void on_ended(struct request *request, void *userdata)
{
	f.ended++;
}

int improve_setup(void **state)
{
	strcpy(folder, "/tmp/npumem-improve-XXXXXX");
	if (request_setup(state) || !mkdtemp(folder))
		return -1;
	snprintf(supplies, sizeof(supplies), "%s/supplies", folder);
	if (mkdir(supplies, 0755))
		return -1;
	snprintf(f.config.cache_folder, sizeof(f.config.cache_folder), "%s/cache", folder);
	f.config.improve_time = 5;
	f.config.improve_on_battery = true;
	f.config.improve_share = 0;
	fake_now = 1000;
	f.env.metrics = metrics_new();
	keep_open(&f.config, &f.env.cache);
	f.env.ended = on_ended;
	setenv(REPLACED_PLAN, "plan_twice", 1);
	if (improver_new(f.event, &f.config, &f.env.cache, f.env.metrics, &host, &f.env.improver))
		return -1;
	return f.env.cache ? 0 : -1;
}

int improve_teardown(void **state)
{
	char command[96];

	/* It waits for no process that it killed. */
	improver_free(f.env.improver);
	while (waitpid(-1, NULL, 0) > 0)
		;
	metrics_free(f.env.metrics);
	plancache_close(f.env.cache);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command) || request_teardown(state) ? -1 : 0;
}

/* ------------------------------------------------------------- planning processes */

/* The first answer costs 900, and the search finds what the test says. */
static int plan_twice(const struct worker_input *input, struct worker_reply *reply)
{
	const struct planner_task *task = input->task;
	bool search = task->seconds > 1;
	unsigned long long cost = 900;
	unsigned int final = 0;
	int err = planner_plan(input, reply);

	if (!err && search && sscanf(getenv(RATED), "%llu %u", &cost, &final) != 2)
		return -EINVAL;
	reply->cost = cost;
	reply->final = final;
	snprintf(reply->text, sizeof(reply->text), "%.6f s, %s", task->seconds,
		 search ? "searched" : "first");
	return err;
}

static int plan_then_crash(const struct worker_input *input, struct worker_reply *reply)
{
	const struct planner_task *task = input->task;

	if (task->seconds > 1)
		abort();
	setenv(RATED, "0 0", 1);
	return plan_twice(input, reply);
}

/* The search's plan is for another graph: shorter by a placement. */
static int plan_then_lie(const struct worker_input *input, struct worker_reply *reply)
{
	const struct planner_task *task = input->task;
	int err;

	setenv(RATED, "1 1", 1);
	err = plan_twice(input, reply);
	if (!err && task->seconds > 1)
		memset(reply->data, 0x5a, reply->size);
	return err;
}

static int plan_then_spin(const struct worker_input *input, struct worker_reply *reply)
{
	const struct planner_task *task = input->task;
	volatile bool forever = task->seconds > 1;

	while (forever)
		;
	return plan_twice(input, reply);
}

/* As a process is ended that had no processor until its deadline. */
static int plan_then_stop(const struct worker_input *input, struct worker_reply *reply)
{
	const struct planner_task *task = input->task;

	if (task->seconds > 1)
		raise(SIGKILL);
	return plan_twice(input, reply);
}

/* A search that takes a tenth of a second of processor time, and says it took none. */
static int plan_then_work(const struct worker_input *input, struct worker_reply *reply)
{
	const struct planner_task *task = input->task;
	struct timespec had = { 0 };

	while (task->seconds > 1 && !had.tv_sec && had.tv_nsec < 100000000)
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &had);
	return plan_twice(input, reply);
}

const struct worker_job replacements[] = {
	{ "plan_twice", plan_twice },
	{ "plan_then_crash", plan_then_crash },
	{ "plan_then_lie", plan_then_lie },
	{ "plan_then_spin", plan_then_spin },
	{ "plan_then_stop", plan_then_stop },
	{ "plan_then_work", plan_then_work },
	{ 0 },
};

/* ------------------------------------------------------------------------ requests */

void ask_for(struct accepted *accepted)
{
	struct request *request;

	close(f.fd);
	f.fd = dup(accepted->fd);
	f.done = 0;
	f.ended = 0;
	request = start_request(accepted);
	assert_non_null(request);
	while (!f.ended)
		assert_true(sd_event_run(f.event, UINT64_MAX) >= 0);
	assert_string_equal(f.message, "");
	assert_int_equal(f.status, 0);
}

void ask_good(void)
{
	struct accepted accepted = next_request();

	ask_for(&accepted);
}

void wait_for_searches(void)
{
	while (improver_count(f.env.improver))
		assert_true(sd_event_run(f.event, UINT64_MAX) >= 0);
}

void ask_and_search(const char *rated)
{
	setenv(RATED, rated, 1);
	ask_good();
	wait_for_searches();
}

bool tells(const char *line)
{
	const struct metrics_now now = { .searches = improver_count(f.env.improver),
					 .held = improver_held(f.env.improver) };
	size_t size;
	char *text = metrics_text(f.env.metrics, &now, true, &size);
	bool has;

	assert_non_null(text);
	has = strstr(text, line);
	free(text);
	return has;
}

void ask_anew(uint64_t budget)
{
	struct accepted accepted = next_request();

	accepted.arena_budget = budget;
	setenv(RATED, "800 1", 1);
	ask_for(&accepted);
}

bool has_child(void)
{
	siginfo_t info = { 0 };

	return !waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
}

void run_until_gone(void)
{
	while (has_child())
		assert_true(sd_event_run(f.event, UINT64_MAX) >= 0);
}

void run_for(uint64_t ms)
{
	uint64_t until = now_us() + ms * 1000;

	for (uint64_t now = now_us(); now < until; now = now_us())
		assert_true(sd_event_run(f.event, until - now) >= 0);
}
