// SPDX-License-Identifier: MIT
/* npumemd: planners that have no plan in the time of a first answer. */
#include "npumemd_request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "improve.h"
#include "metrics.h"

static char folder[64];

static int first_setup(void **state)
{
	strcpy(folder, "/tmp/npumem-first-XXXXXX");
	if (request_setup(state) || !mkdtemp(folder))
		return -1;
	snprintf(f.config.cache_folder, sizeof(f.config.cache_folder), "%s/cache", folder);
	f.config.improve_time = 5;
	f.config.improve_on_battery = true;
	return keep_open(&f.config, &f.env.cache) ||
			       improver_new(f.event, &f.config, &f.env.cache, NULL, &improver_host,
					    &f.env.improver) ?
		       -1 :
		       0;
}

static int first_teardown(void **state)
{
	char command[96];

	f.config.improve_time = 0;
	improver_configured(f.env.improver);
	improver_free(f.env.improver);
	plancache_close(f.env.cache);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command) || request_teardown(state) ? -1 : 0;
}

#define FIRST_TEST(name) TEST_WITH(name, first_setup, first_teardown)

/* None in a tenth of a second, as the first answer has. */
static int plan_slowly(const struct worker_input *input, struct worker_reply *reply)
{
	const struct planner_task *task = input->task;
	int err;

	if (task->seconds < 0.2) {
		snprintf(reply->text, sizeof(reply->text), "no plan yet");
		return -ETIMEDOUT;
	}
	err = planner_plan(input, reply);
	reply->final = true;
	return err;
}

/* Who gets a plan where nothing is improved gets one where it is. */
FIRST_TEST(none_in_time)
{
	struct accepted accepted = accept_good();

	setenv(REPLACED_PLAN, "plan_slowly", 1);
	run_request(&accepted);
	assert_int_equal(f.status, 0);
	assert_true(only_entry().given_us > 200000);
}

static int plan_never(const struct worker_input *input, struct worker_reply *reply)
{
	const struct planner_task *task = input->task;

	snprintf(reply->text, sizeof(reply->text), "none in %s",
		 task->seconds < 0.2 ? "a hurry" : "all time");
	return -ETIMEDOUT;
}

/* It is tried twice; a third time would not be the last one either. */
FIRST_TEST(none_at_all)
{
	struct accepted accepted = accept_good();

	setenv(REPLACED_PLAN, "plan_never", 1);
	run_request(&accepted);
	assert_failed(ETIMEDOUT, "none in all time");
}

/* Another failure would be the same with more time. */
static int plan_too_large(const struct worker_input *input, struct worker_reply *reply)
{
	const struct planner_task *task = input->task;

	snprintf(reply->text, sizeof(reply->text), "%s", task->seconds < 0.2 ? "first" : "second");
	return -ENOSPC;
}

FIRST_TEST(another_failure)
{
	struct accepted accepted = accept_good();

	setenv(REPLACED_PLAN, "plan_too_large", 1);
	run_request(&accepted);
	assert_failed(ENOSPC, "first");
}

/* A process that is killed at its limit of processor time has had its time. */
FIRST_TEST(killed)
{
	const struct metrics_now now = { 0 };
	struct accepted accepted = accept_good();
	static const char said[] = "\nnpumemd_planning_cpu_seconds_total ";
	const char *at;
	size_t size;
	char *text;

	setenv(REPLACED_PLAN, "plan_spin", 1);
	f.config.cpu_limit = 1;
	f.env.metrics = metrics_new();
	run_request(&accepted);
	assert_failed(ETIMEDOUT,
		      "planning was stopped after 1 s of processor time, the cpu-limit of "
		      "npumemd.conf");
	text = metrics_text(f.env.metrics, &now, true, &size);
	metrics_free(f.env.metrics);
	f.env.metrics = NULL;
	at = strstr(text, said);
	assert_non_null(at);
	/* The limit counts ticks, and the metrics nanoseconds. A second one would make it two. */
	assert_true(strtod(at + strlen(said), NULL) < 1.6);
	free(text);
}

const struct worker_job replacements[] = {
	{ "plan_slowly", plan_slowly },
	{ "plan_never", plan_never },
	{ "plan_too_large", plan_too_large },
	{ "plan_spin", plan_spin },
	{ 0 },
};
