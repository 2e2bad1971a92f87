// SPDX-License-Identifier: MIT
/*
 * npumemd: a first answer that comes soon, and the search that goes on; and whether the device runs
 * from a battery.
 */
#include "npumemd_request.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "held_kill.h"
#include "improve.h"
#include "journal.h"
#include "log.h"
#include "metrics.h"
#include "power.h"
#include "said.h"

/* What a planning process says of its plan if it has much time: "COST FINAL". */
#define RATED "NPUMEMD_TEST_RATED"

static char folder[64];
/* A folder for supplies has nothing but what a test puts there. */
static char supplies[80];
/*
 * The test's clock, by which searches have their share; one of 10 ms, instead of an hour. They do
 * not wait for an idle processor: beside other tests that would be minutes.
 */
static uint64_t fake_now;

static uint64_t tell_now(void)
{
	return fake_now;
}

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

static int improve_setup(void **state)
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

static int improve_teardown(void **state)
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

#define IMPROVE_TEST(name) TEST_WITH(name, improve_setup, improve_teardown)

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

static void ask_for(struct accepted *accepted)
{
	struct request *request;

	close(f.fd);
	f.fd = dup(accepted->fd);
	f.done = 0;
	f.ended = 0;
	request = request_start(&f.env, accepted);
	assert_non_null(request);
	while (!f.ended)
		assert_true(sd_event_run(f.event, UINT64_MAX) >= 0);
	assert_string_equal(f.message, "");
	assert_int_equal(f.status, 0);
}

static void ask(void)
{
	struct accepted accepted = next_request();

	ask_for(&accepted);
}

static void wait_for_searches(void)
{
	while (improver_count(f.env.improver))
		assert_true(sd_event_run(f.event, UINT64_MAX) >= 0);
}

static void searched(const char *rated)
{
	setenv(RATED, rated, 1);
	ask();
	wait_for_searches();
}

IMPROVE_TEST(better)
{
	searched("800 1");
	assert_int_equal(only_entry().cost, 800);
	assert_true(only_entry().final);
	assert_string_equal(only_entry().text, "5.000000 s, searched");
	/* The next one has it. */
	setenv(REPLACED_PLAN, "plan_then_crash", 1);
	ask();
	wait_for_searches();
	assert_int_equal(only_entry().cost, 800);
}

/* The better plan says what was before it. */
IMPROVE_TEST(history)
{
	struct plancache_entry entry;

	searched("800 1");
	entry = only_entry();
	assert_int_equal(entry.past_count, 2);
	assert_int_equal(entry.past[0].cost, 900);
	assert_int_equal(entry.past[0].maker, PLANCACHE_BY_ANSWER);
	assert_int_equal(entry.past[1].cost, 800);
	assert_int_equal(entry.past[1].maker, PLANCACHE_BY_SEARCH);
	assert_true(entry.past[1].made_ns >= entry.past[0].made_ns);
}

/* The first answer has the time that it is to have. */
IMPROVE_TEST(first_answer)
{
	struct accepted accepted = next_request();

	setenv(RATED, "950 0", 1);
	ask_for(&accepted);
	assert_string_equal(only_entry().text, "0.100000 s, first");
	assert_int_equal(only_entry().given_us, 100000);
	wait_for_searches();
	/* No better one was found: the first one stays, and is not searched for again. */
	assert_string_equal(only_entry().text, "0.100000 s, first");
	assert_int_equal(only_entry().cost, 900);
}

IMPROVE_TEST(off)
{
	f.config.improve_time = 0;
	setenv(REPLACED_PLAN, "plan_then_crash", 1);
	unsetenv(REPLACED_PLAN);
	ask();
	assert_true(only_entry().given_us > 1000000);
}

/* Nobody searches for what is final. */
IMPROVE_TEST(final)
{
	unsetenv(REPLACED_PLAN);
	ask();
	assert_true(only_entry().final);
	setenv(REPLACED_PLAN, "plan_twice", 1);
	setenv(RATED, "1 1", 1);
	ask();
	wait_for_searches();
	assert_int_equal(only_entry().cost, 500);
}

/* What the search makes is checked as all plans are, and what is kept stays. */
static void fails(const char *plan)
{
	setenv(REPLACED_PLAN, plan, 1);
	log_setup(true, LOG_CRIT);
	ask();
	wait_for_searches();
	assert_int_equal(only_entry().cost, 900);
	assert_false(only_entry().final);
}

/* Who asks again at once has his answer, and no other search. */
static void not_again(void)
{
	ask();
	assert_int_equal(improver_count(f.env.improver), 0);
}

IMPROVE_TEST(crash)
{
	fails("plan_then_crash");
	not_again();
}

IMPROVE_TEST(lie)
{
	fails("plan_then_lie");
	not_again();
}

/* The machine gave the search a part of its time only, and it found nothing in that. */
IMPROVE_TEST(in_vain)
{
	searched("950 0");
	assert_int_equal(only_entry().cost, 900);
	assert_true(only_entry().given_us < 1000000);
	not_again();
	/* What others ask for is searched for as ever. */
	struct accepted accepted = next_request();

	accepted.arena_budget = 1000;
	setenv(RATED, "800 1", 1);
	ask_for(&accepted);
	assert_int_equal(improver_count(f.env.improver), 1);
	wait_for_searches();
}

/* A search that was killed, as one is that the machine gave no processor until its deadline. */
IMPROVE_TEST(killed)
{
	fails("plan_then_stop");
	not_again();
}

/* A better plan that the cache has no room for is found in vain, too. */
IMPROVE_TEST(not_kept)
{
	setenv(RATED, "800 1", 1);
	ask();
	plancache_close(f.env.cache);
	/* Less than what a file takes. */
	assert_int_equal(plancache_open(f.config.cache_folder, 4095, &f.env.cache), 0);
	wait_for_searches();
	assert_int_equal(only_entry().cost, 900);
	not_again();
}

static void drop_only(void)
{
	struct plancache_file *files;
	size_t count;

	assert_int_equal(plancache_list(f.env.cache, &files, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(plancache_drop(f.env.cache, &files[0].key), 0);
	free(files);
}

/* Who drops a plan wants another one. What cannot be kept is not searched for, nor hurried. */
IMPROVE_TEST(dropped)
{
	searched("950 0");
	not_again();
	drop_only();
	setenv(RATED, "800 1", 1);
	ask();
	assert_int_equal(improver_count(f.env.improver), 1);
	wait_for_searches();
	assert_int_equal(only_entry().cost, 800);
	drop_only();
	plancache_close(f.env.cache);
	assert_int_equal(plancache_open(f.config.cache_folder, 4095, &f.env.cache), 0);
	ask();
	assert_int_equal(improver_count(f.env.improver), 0);
	keep_open(&f.config, &f.env.cache);
	ask();
	assert_int_equal(improver_count(f.env.improver), 0);
	assert_int_equal(only_entry().cost, 800);
	not_again();
}

/* What was in vain may have been for the configuration. */
IMPROVE_TEST(configured)
{
	searched("950 0");
	not_again();
	improver_configured(f.env.improver);
	setenv(RATED, "800 1", 1);
	ask();
	assert_int_equal(improver_count(f.env.improver), 1);
	wait_for_searches();
	assert_int_equal(only_entry().cost, 800);
}

static bool has_child(void)
{
	siginfo_t info = { 0 };

	return !waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
}

/* A process that was killed goes in its own time. */
static void run_until_gone(void)
{
	while (has_child())
		assert_true(sd_event_run(f.event, UINT64_MAX) >= 0);
}

/* Nobody searches on, whoever runs or waits, if that is not wanted any more. */
static void ended_at_once(void)
{
	improver_configured(f.env.improver);
	assert_int_equal(improver_count(f.env.improver), 0);
	run_until_gone();
}

static void search_for_ever(void)
{
	struct accepted accepted;

	setenv(REPLACED_PLAN, "plan_then_spin", 1);
	ask();
	accepted = next_request();
	accepted.arena_budget = 1000;
	ask_for(&accepted);
	while (!has_child())
		assert_true(sd_event_run(f.event, UINT64_MAX) >= 0);
	assert_int_equal(improver_count(f.env.improver), 2);
	improver_configured(f.env.improver);
	assert_int_equal(improver_count(f.env.improver), 2);
}

IMPROVE_TEST(improve_off)
{
	search_for_ever();
	f.config.improve_time = 0;
	ended_at_once();
}

IMPROVE_TEST(cache_off)
{
	search_for_ever();
	plancache_close(f.env.cache);
	f.env.cache = NULL;
	ended_at_once();
}

/* A search that was ended by its limit of processor time has had none: it is tried again. */
IMPROVE_TEST(search_again)
{
	searched("800 0");
	assert_int_equal(only_entry().cost, 800);
	/* It took some milliseconds of five seconds. */
	assert_true(only_entry().given_us < 1000000);
	searched("700 0");
	assert_int_equal(only_entry().cost, 700);
}

/* Who asks while a search runs has an answer at once, and starts no second one. */
IMPROVE_TEST(asked_while_it_searches)
{
	uint64_t started;

	setenv(REPLACED_PLAN, "plan_then_spin", 1);
	ask();
	started = now_us();
	for (int i = 0; i < 5; i++)
		ask();
	assert_true(now_us() - started < 4000000);
	/* The end of the daemon is the end of it: the fixture looks for children. */
}

/* The journal has what became of a request's plan by its number, and who asked for it. */
IMPROVE_TEST(in_the_journal)
{
	static const char fields[] = "\nNPUMEM_REQUEST=77\nNPUMEM_UID=7\nNPUMEM_PLANNER=auto\n"
				     "MESSAGE=request 77: ";
	struct accepted accepted = next_request();

	accepted.client = (struct client){ .known = true, .uid = 7 };
	has_journal = true;
	log_setup(false, LOG_INFO);
	journal_wait_for(": a better plan was found in ");
	setenv(RATED, "800 1", 1);
	ask_for(&accepted);
	wait_for_searches();
	assert_non_null(strstr(journal_came(), fields));
	/* And what became of none. */
	accepted = next_request();
	accepted.client = (struct client){ .known = true, .uid = 7 };
	accepted.arena_budget = 1000;
	setenv(REPLACED_PLAN, "plan_then_crash", 1);
	journal_wait_for(": the search for a better plan failed: ");
	ask_for(&accepted);
	wait_for_searches();
	assert_non_null(strstr(journal_came(), fields));
	log_setup(true, LOG_ERR);
}

/* ----------------------------------------------------------------------- the share */

static void run_for(uint64_t ms);

static bool tells(const char *line)
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

/* One with a plan of its own for each @budget: always a new search. */
static void ask_anew(uint64_t budget)
{
	struct accepted accepted = next_request();

	accepted.arena_budget = budget;
	setenv(RATED, "800 1", 1);
	ask_for(&accepted);
}

/*
 * A tenth of a millisecond is there, and the search takes a thousand times that: who asks for ever
 * new plans has them, and no search until what was taken has come again.
 */
IMPROVE_TEST(share)
{
	struct said said;
	char *text, *held;
	unsigned long long seconds = 0;

	f.config.improve_share = 1;
	setenv(REPLACED_PLAN, "plan_then_work", 1);
	log_setup(true, LOG_INFO);
	said_begin(&said);
	ask_anew(1000);
	wait_for_searches();
	assert_false(improver_held(f.env.improver));
	ask_anew(1001);
	ask_anew(1002);
	run_for(300);
	text = said_end(&said);
	log_setup(true, LOG_ERR);
	assert_int_equal(improver_count(f.env.improver), 2);
	assert_true(improver_held(f.env.improver));
	assert_true(tells("\nnpumemd_searches_held 1\n"));
	assert_true(tells("\nnpumemd_searches_ended_total{outcome=\"better\"} 1\n"));
	/* What was taken is the kernel's figure. */
	assert_false(tells("\nnpumemd_search_cpu_seconds_total 0.0"));
	held = strstr(text, "npumemd: request 77: searches for better plans have used up their 1 % "
			    "of a processor, the share of [improve] of npumemd.conf: again in ");
	assert_non_null(held);
	assert_int_equal(sscanf(strstr(held, "again in "), "again in %llu s\n", &seconds), 1);
	assert_null(strstr(strstr(held, "again in "), "have used up"));
	free(text);
	/* A tenth of a second at 1 % comes in ten, and the search took more. */
	assert_in_range(seconds, 9, 600);
	fake_now += (seconds - 2) * 1000000;
	run_for(100);
	assert_int_equal(improver_count(f.env.improver), 2);
	fake_now += 2 * 1000000;
	while (improver_count(f.env.improver) == 2)
		assert_true(sd_event_run(f.event, UINT64_MAX) >= 0);
	/* The second one has made a debt, too. */
	run_for(100);
	assert_int_equal(improver_count(f.env.improver), 1);
	assert_true(improver_held(f.env.improver));
	/* Who has no limit any more does not wait for it. */
	f.config.improve_share = 100;
	improver_configured(f.env.improver);
	wait_for_searches();
	assert_false(improver_held(f.env.improver));
	assert_true(tells("\nnpumemd_searches_held 0\n"));
	assert_true(tells("\nnpumemd_searches_ended_total{outcome=\"better\"} 3\n"));
}

/* What is stopped has been taken, too: otherwise one would search for ever by being stopped. */
IMPROVE_TEST(share_of_what_is_stopped)
{
	f.config.improve_share = 1;
	setenv(REPLACED_PLAN, "plan_then_spin", 1);
	ask_anew(1000);
	run_for(300);
	assert_int_equal(improver_count(f.env.improver), 1);
	f.config.improve_time = 0;
	improver_configured(f.env.improver);
	assert_int_equal(improver_count(f.env.improver), 0);
	run_until_gone();
	assert_false(tells("\nnpumemd_search_cpu_seconds_total 0.000000\n"));
	f.config.improve_time = 5;
	improver_configured(f.env.improver);
	setenv(REPLACED_PLAN, "plan_twice", 1);
	ask_anew(1001);
	run_for(100);
	assert_true(improver_held(f.env.improver));
	fake_now += 600 * 1000000ull;
	wait_for_searches();
	assert_true(tells("\nnpumemd_searches_ended_total{outcome=\"better\"} 1\n"));
}

/* A device's searches wait for an idle processor, as this program's do not. */
IMPROVE_TEST(idle)
{
	assert_true(improver_host.idle);
}

/* What is asked for while a search dies that was stopped begins when that is gone. */
IMPROVE_TEST(one_at_a_time)
{
	setenv(REPLACED_PLAN, "plan_then_spin", 1);
	ask_anew(1000);
	run_for(300);
	f.config.improve_time = 0;
	hold_kills();
	improver_configured(f.env.improver);
	f.config.improve_time = 5;
	improver_configured(f.env.improver);
	setenv(REPLACED_PLAN, "plan_twice", 1);
	ask_anew(1001);
	run_for(500);
	assert_int_equal(improver_count(f.env.improver), 1);
	assert_true(tells("\nnpumemd_searches_ended_total{outcome=\"better\"} 0\n"));
	assert_true(release_kills() > 0);
	wait_for_searches();
	assert_false(has_child());
	assert_true(tells("\nnpumemd_searches_ended_total{outcome=\"better\"} 1\n"));
}

/* And who ends meanwhile does not wait for it. */
IMPROVE_TEST(free_while_one_dies)
{
	setenv(REPLACED_PLAN, "plan_then_spin", 1);
	ask_anew(1000);
	run_for(300);
	f.config.improve_time = 0;
	improver_configured(f.env.improver);
	improver_free(f.env.improver);
	f.env.improver = NULL;
}

/* Searches that wait for their turn are bounded, and those that came first come first. */
IMPROVE_TEST(many)
{
	struct plancache_file *files;
	struct accepted accepted;
	size_t count, better = 0;

	setenv(RATED, "800 1", 1);
	for (uint64_t i = 0; i < 40; i++) {
		accepted = next_request();
		accepted.arena_budget = 1000 + i;
		ask_for(&accepted);
	}
	wait_for_searches();
	assert_int_equal(plancache_list(f.env.cache, &files, &count), 0);
	assert_int_equal(count, 40);
	for (size_t i = 0; i < count; i++) {
		struct plancache_entry entry;

		assert_int_equal(plancache_peek(f.env.cache, &files[i].key, &entry), 0);
		free(entry.data);
		better += entry.cost == 800;
	}
	free(files);
	assert_in_range(better, 32, 40);
}

IMPROVE_TEST(dropped_meanwhile)
{
	struct plancache_file *files;
	size_t count;

	setenv(RATED, "800 1", 1);
	ask();
	assert_int_equal(plancache_list(f.env.cache, &files, &count), 0);
	assert_int_equal(plancache_drop(f.env.cache, &files[0].key), 0);
	free(files);
	wait_for_searches();
	assert_int_equal(plancache_list(f.env.cache, &files, &count), 0);
	assert_int_equal(count, 0);
	assert_true(tells("npumemd_searches_ended_total{outcome=\"failed\"} 1\n"));
}

/* What is kept cannot be read when the search ends: it is made again, later. */
IMPROVE_TEST(damaged_meanwhile)
{
	char path[512];
	struct plancache_file *files;
	char name[PLANCACHE_NAME_SIZE];
	struct said said;
	size_t count;
	char *text;

	setenv(RATED, "800 1", 1);
	ask();
	assert_int_equal(plancache_list(f.env.cache, &files, &count), 0);
	plancache_key_name(&files[0].key, name);
	free(files);
	snprintf(path, sizeof(path), "%s/%s.plan", f.config.cache_folder, name);
	assert_int_equal(truncate(path, 100), 0);
	log_setup(true, LOG_NOTICE);
	said_begin(&said);
	wait_for_searches();
	text = said_end(&said);
	log_setup(true, LOG_ERR);
	assert_non_null(strstr(text, ": the search for a better plan was in vain: the one that is "
				     "kept cannot be read: Bad message\n"));
	free(text);
	assert_true(tells("npumemd_searches_ended_total{outcome=\"failed\"} 1\n"));
}

IMPROVE_TEST(options)
{
	struct accepted accepted = next_request();

	asking(&accepted, &(struct npumem_request){ .alignment = 64 });
	setenv(RATED, "800 1", 1);
	ask_for(&accepted);
	wait_for_searches();
	assert_int_equal(only_entry().cost, 800);
}

/* ----------------------------------------------------------------------------- power */

static void supply(const char *name, const char *type, const char *status, const char *scope)
{
	const char *const files[] = { "type", "status", "scope" };
	const char *const texts[] = { type, status, scope };
	char path[192];

	snprintf(path, sizeof(path), "%s/%s", supplies, name);
	assert_int_equal(mkdir(path, 0755), 0);
	for (int i = 0; i < 3; i++) {
		FILE *file;

		if (!texts[i])
			continue;
		snprintf(path, sizeof(path), "%s/%s/%s", supplies, name, files[i]);
		file = fopen(path, "w");
		assert_non_null(file);
		fprintf(file, "%s\n", texts[i]);
		fclose(file);
	}
}

IMPROVE_TEST(battery)
{
	assert_false(power_is_battery("/no/such/folder"));
	assert_false(power_is_battery(supplies));
	supply("AC", "Mains", NULL, NULL);
	supply("mouse", "Battery", "Discharging", "Device");
	supply("full", "Battery", "Full", NULL);
	supply("loading", "Battery", "Charging", "System");
	supply("nearly", "Battery", "Discharging soon", NULL);
	assert_false(power_is_battery(supplies));
	supply("BAT0", "Battery", "Discharging", NULL);
	assert_true(power_is_battery(supplies));
}

/* Runs the loop for so many milliseconds. */
static void run_for(uint64_t ms)
{
	uint64_t until = now_us() + ms * 1000;

	for (uint64_t now = now_us(); now < until; now = now_us())
		assert_true(sd_event_run(f.event, until - now) >= 0);
}

static void battery(const char *status)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/BAT0/status", supplies);
	unit_write(path, status);
}

/* The mains goes while a search runs: it is stopped, and begins anew when the mains is back. */
IMPROVE_TEST(mains_goes)
{
	struct said said;
	char *text, *stopped;

	supply("BAT0", "Battery", "Charging", NULL);
	f.config.improve_on_battery = false;
	setenv(REPLACED_PLAN, "plan_then_spin", 1);
	ask();
	run_for(100);
	log_setup(true, LOG_INFO);
	said_begin(&said);
	battery("Discharging\n");
	/* It would never end. */
	setenv(REPLACED_PLAN, "plan_twice", 1);
	setenv(RATED, "800 1", 1);
	run_for(500);
	text = said_end(&said);
	stopped = strstr(text, ": the search for a better plan is stopped while the battery is "
			       "being emptied\n");
	assert_non_null(stopped);
	assert_null(strstr(stopped + 1, ": the search"));
	free(text);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	assert_int_equal(improver_count(f.env.improver), 1);
	assert_int_equal(only_entry().cost, 900);
	battery("Charging\n");
	wait_for_searches();
	assert_int_equal(only_entry().cost, 800);
}

/* Who wants searches on a battery has them. */
IMPROVE_TEST(on_battery)
{
	supply("BAT0", "Battery", "Discharging", NULL);
	searched("800 1");
	assert_int_equal(only_entry().cost, 800);
}

/* ----------------------------------------------------------------------------- users */

static void wait_with_searches(void)
{
	supply("BAT0", "Battery", "Discharging", NULL);
	f.config.improve_on_battery = false;
	setenv(RATED, "800 1", 1);
}

/* A user's request of this number, for a plan of its own. */
static void ask_as(uint32_t uid, uint64_t id)
{
	struct accepted accepted = next_request();

	accepted.id = id;
	accepted.client = (struct client){ .known = true, .uid = uid };
	accepted.arena_budget = 1000 + id;
	ask_for(&accepted);
}

/* What one user has searched for, others do not wait for: users take turns. */
IMPROVE_TEST(users_take_turns)
{
	static const unsigned int turns[] = { 1, 4, 6, 2, 5, 3 };
	struct said said;
	char *text, *at;

	wait_with_searches();
	for (uint64_t id = 1; id <= 6; id++)
		ask_as(id <= 3 ? 7 : id <= 5 ? 8 : 9, id);
	log_setup(true, LOG_INFO);
	said_begin(&said);
	battery("Charging\n");
	wait_for_searches();
	at = text = said_end(&said);
	log_setup(true, LOG_ERR);
	for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
		char line[64];

		snprintf(line, sizeof(line), "npumemd: request %u: a better plan", turns[i]);
		at = strstr(at, line);
		assert_non_null(at);
	}
	free(text);
}

/*
 * Who has all places gives others some, the ones that he took last, until they have as many. One
 * that is asked for again shows whether it still waits.
 */
IMPROVE_TEST(places_are_shared)
{
	static const char full[] = "npumemd: request %u: too many plans wait to be improved";
	static const unsigned int dropped[] = { 17, 117 }, kept[] = { 16, 116 };
	struct said said;
	char *text;

	wait_with_searches();
	for (uint64_t id = 1; id <= 40; id++)
		ask_as(7, id);
	assert_int_equal(improver_count(f.env.improver), 32);
	for (uint64_t id = 101; id <= 120; id++)
		ask_as(8, id);
	assert_int_equal(improver_count(f.env.improver), 32);
	log_setup(true, LOG_DEBUG);
	said_begin(&said);
	for (size_t i = 0; i < 2; i++) {
		ask_as(i ? 8 : 7, kept[i]);
		ask_as(i ? 8 : 7, dropped[i]);
	}
	text = said_end(&said);
	log_setup(true, LOG_ERR);
	for (size_t i = 0; i < 2; i++) {
		char line[80];

		snprintf(line, sizeof(line), full, dropped[i]);
		assert_non_null(strstr(text, line));
		snprintf(line, sizeof(line), full, kept[i]);
		assert_null(strstr(text, line));
	}
	free(text);
}
