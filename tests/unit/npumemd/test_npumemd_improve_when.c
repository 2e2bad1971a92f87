// SPDX-License-Identifier: MIT
/*
 * npumemd: when a search for a better plan has its turn: its share of a processor, one at a time,
 * whether the device runs from a battery, users.
 */
#include "improve_case.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "held_kill.h"
#include "log.h"
#include "policy.h"
#include "power.h"
#include "said.h"

/* ----------------------------------------------------------------------- the share */

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

/* ------------------------------------------------------------------- one at a time */

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
	ask_good();
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
	ask_and_search("800 1");
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

/* A policy that comes while searches run and wait is theirs, too. */
IMPROVE_TEST(policy_comes)
{
	setenv(REPLACED_PLAN, "plan_then_spin", 1);
	for (uint64_t id = 1; id <= 4; id++)
		ask_as(id % 2 ? 7 : 8, id);
	run_for(300);
	assert_int_equal(improver_count(f.env.improver), 4);
	set_policy("user 7", "improve", "no");
	setenv(REPLACED_PLAN, "plan_twice", 1);
	setenv(RATED, "800 1", 1);
	improver_configured(f.env.improver);
	assert_int_equal(improver_count(f.env.improver), 2);
	wait_for_searches();
	assert_true(tells("\nnpumemd_searches_ended_total{outcome=\"better\"} 2\n"));
	policies_free(f.config.policies);
	f.config.policies = NULL;
}
