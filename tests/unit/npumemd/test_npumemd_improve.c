// SPDX-License-Identifier: MIT
/* npumemd: a first answer that comes soon, and what the search that goes on ends with. */
#include "improve_case.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "journal.h"
#include "log.h"
#include "said.h"

IMPROVE_TEST(better)
{
	ask_and_search("800 1");
	assert_int_equal(only_entry().cost, 800);
	assert_true(only_entry().final);
	assert_string_equal(only_entry().text, "5.000000 s, searched");
	/* The next one has it. */
	setenv(REPLACED_PLAN, "plan_then_crash", 1);
	ask_good();
	wait_for_searches();
	assert_int_equal(only_entry().cost, 800);
}

/* The better plan says what was before it. */
IMPROVE_TEST(history)
{
	struct plancache_entry entry;

	ask_and_search("800 1");
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
	ask_good();
	assert_true(only_entry().given_us > 1000000);
}

/* Nobody searches for what is final. */
IMPROVE_TEST(final)
{
	unsetenv(REPLACED_PLAN);
	ask_good();
	assert_true(only_entry().final);
	setenv(REPLACED_PLAN, "plan_twice", 1);
	setenv(RATED, "1 1", 1);
	ask_good();
	wait_for_searches();
	assert_int_equal(only_entry().cost, 500);
}

/* What the search makes is checked as all plans are, and what is kept stays. */
static void fails(const char *plan)
{
	setenv(REPLACED_PLAN, plan, 1);
	log_setup(true, LOG_CRIT);
	ask_good();
	wait_for_searches();
	assert_int_equal(only_entry().cost, 900);
	assert_false(only_entry().final);
}

/* Who asks again at once has his answer, and no other search. */
static void not_again(void)
{
	ask_good();
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
	ask_and_search("950 0");
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
	ask_good();
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
	ask_and_search("950 0");
	not_again();
	drop_only();
	setenv(RATED, "800 1", 1);
	ask_good();
	assert_int_equal(improver_count(f.env.improver), 1);
	wait_for_searches();
	assert_int_equal(only_entry().cost, 800);
	drop_only();
	plancache_close(f.env.cache);
	assert_int_equal(plancache_open(f.config.cache_folder, 4095, &f.env.cache), 0);
	ask_good();
	assert_int_equal(improver_count(f.env.improver), 0);
	keep_open(&f.config, &f.env.cache);
	ask_good();
	assert_int_equal(improver_count(f.env.improver), 0);
	assert_int_equal(only_entry().cost, 800);
	not_again();
}

/* What was in vain may have been for the configuration. */
IMPROVE_TEST(configured)
{
	ask_and_search("950 0");
	not_again();
	improver_configured(f.env.improver);
	setenv(RATED, "800 1", 1);
	ask_good();
	assert_int_equal(improver_count(f.env.improver), 1);
	wait_for_searches();
	assert_int_equal(only_entry().cost, 800);
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
	ask_good();
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
	ask_and_search("800 0");
	assert_int_equal(only_entry().cost, 800);
	/* It took some milliseconds of five seconds. */
	assert_true(only_entry().given_us < 1000000);
	ask_and_search("700 0");
	assert_int_equal(only_entry().cost, 700);
}

/* Who asks while a search runs has an answer at once, and starts no second one. */
IMPROVE_TEST(asked_while_it_searches)
{
	uint64_t started;

	setenv(REPLACED_PLAN, "plan_then_spin", 1);
	ask_good();
	started = now_us();
	for (int i = 0; i < 5; i++)
		ask_good();
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
	assert_non_null(strstr(journal_came(), " ms: 800 bytes of arena and no longer 900: "));
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

/* One that finds no process to begin in has failed as well. */
IMPROVE_TEST(no_process)
{
	struct rlimit old, none;

	ask_good();
	assert_true(tells("npumemd_searches_ended_total{outcome=\"failed\"} 0\n"));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	wait_for_searches();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_true(tells("npumemd_searches_ended_total{outcome=\"failed\"} 1\n"));
	not_again();
}

IMPROVE_TEST(dropped_meanwhile)
{
	struct plancache_file *files;
	size_t count;

	setenv(RATED, "800 1", 1);
	ask_good();
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
	ask_good();
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
