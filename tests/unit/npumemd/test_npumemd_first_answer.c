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

/* ----------------------------------------------------------- where no search can follow */

/* Who is hurried fails, so that it is seen. */
static int plan_at_leisure(const struct worker_input *input, struct worker_reply *reply)
{
	const struct planner_task *task = input->task;

	if (task->seconds >= 0.2)
		return planner_plan(input, reply);
	snprintf(reply->text, sizeof(reply->text), "hurried");
	return -ENOSPC;
}

static void ask(void)
{
	struct accepted accepted = next_request();

	close(f.fd);
	f.fd = dup(accepted.fd);
	run_again(&accepted);
}

static void at_leisure(void)
{
	setenv(REPLACED_PLAN, "plan_at_leisure", 1);
	ask();
	assert_int_equal(f.status, 0);
	assert_true(only_entry().given_us > 200000);
}

static void hurried(void)
{
	setenv(REPLACED_PLAN, "plan_at_leisure", 1);
	ask();
	assert_failed(ENOSPC, "hurried");
}

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* What is too large to wait for a search has all of its time at once, as without any. */
FIRST_TEST(too_large_to_wait)
{
	struct improver_host small = improver_host;
	char process[96], limit[96], text[32];

	snprintf(process, sizeof(process), "%s/process", folder);
	snprintf(limit, sizeof(limit), "%s/memory.max", folder);
	small.process = process;
	small.groups = folder;
	write_text(process, "0::/\n");
	improver_free(f.env.improver);
	assert_int_equal(
		improver_new(f.event, &f.config, &f.env.cache, NULL, &small, &f.env.improver), 0);
	snprintf(text, sizeof(text), "%zu\n", 8 * f.graph_size);
	write_text(limit, text);
	hurried();
	snprintf(text, sizeof(text), "%zu\n", 8 * (f.graph_size - 1));
	write_text(limit, text);
	at_leisure();
}

static void drop_all(void)
{
	struct plancache_file *files;
	size_t count;

	assert_int_equal(plancache_list(f.env.cache, &files, &count), 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(plancache_drop(f.env.cache, &files[i].key), 0);
	free(files);
}

/* So has what could not be kept, until it can be. */
FIRST_TEST(not_kept_before)
{
	hurried();
	plancache_close(f.env.cache);
	/* Less than what a file takes. */
	assert_int_equal(plancache_open(f.config.cache_folder, 4095, &f.env.cache), 0);
	setenv(REPLACED_PLAN, "plan_as_ever", 1);
	ask();
	assert_int_equal(f.status, 0);
	assert_int_equal(keep_open(&f.config, &f.env.cache), 0);
	at_leisure();
	drop_all();
	hurried();
}

const struct worker_job replacements[] = {
	{ "plan_at_leisure", plan_at_leisure },
	{ "plan_as_ever", planner_plan },
	{ "plan_slowly", plan_slowly },
	{ "plan_never", plan_never },
	{ "plan_too_large", plan_too_large },
	{ "plan_spin", plan_spin },
	{ 0 },
};
