// SPDX-License-Identifier: MIT
/*
 * npumemd: requests that are answered with a plan that was kept, those that are not, and what is
 * kept of them.
 */
#include "npumemd_request.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "cache_folder.h"
#include "clock.h"
#include "keep.h"
#include "log.h"
#include "metrics.h"
#include "npuplan.h"
#include "quota.h"
#include "said.h"

/* What a planning process says of its plan: how good it is, and whether more time would help. */
#define RATED "NPUMEMD_TEST_RATED"

static char folder[64];

static int keep_setup(void **state)
{
	strcpy(folder, "/tmp/npumem-keep-XXXXXX");
	if (request_setup(state) || !mkdtemp(folder))
		return -1;
	strcpy(f.config.cache_folder, folder);
	keep_open(&f.config, &f.env.cache);
	return f.env.cache ? 0 : -1;
}

static int keep_teardown(void **state)
{
	DIR *list = opendir(folder);
	struct dirent *entry;

	plancache_close(f.env.cache);
	while ((entry = readdir(list)))
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(list), entry->d_name, 0);
	closedir(list);
	return rmdir(folder) || request_teardown(state) ? -1 : 0;
}

#define KEEP_TEST(name) TEST_WITH(name, keep_setup, keep_teardown)

/* ------------------------------------------------------------- planning processes */

/* Planning that nobody may need. */
static int plan_never(const struct worker_input *input, struct worker_reply *reply)
{
	strcpy(reply->text, "planned anew");
	return -ECANCELED;
}

static int plan_rated(const struct worker_input *input, struct worker_reply *reply)
{
	int err = planner_plan(input, reply);
	unsigned int final;
	unsigned long long cost;

	/* The environment of a worker is the daemon's. */
	if (!err && sscanf(getenv(RATED), "%llu %u", &cost, &final) != 2)
		return -EINVAL;
	reply->cost = cost;
	reply->final = final;
	snprintf(reply->text, sizeof(reply->text), "of cost %llu", cost);
	return err;
}

const struct worker_job replacements[] = {
	{ "plan_never", plan_never },
	{ "plan_rated", plan_rated },
	{ 0 },
};

static void rated(const char *text)
{
	setenv(REPLACED_PLAN, "plan_rated", 1);
	setenv(RATED, text, 1);
}

/* ------------------------------------------------------------------ requests */

static void ask_for(struct accepted *accepted)
{
	close(f.fd);
	f.fd = dup(accepted->fd);
	run_again(accepted);
}

static void ask(void)
{
	struct accepted accepted = next_request();

	ask_for(&accepted);
}

/* Its answer was kept, and is a plan that passes verification. */
static void answered(struct accepted *accepted)
{
	struct npumem_verdict verdict;
	uint64_t blob[1024];
	ssize_t n;

	setenv(REPLACED_PLAN, "plan_never", 1);
	ask_for(accepted);
	assert_string_equal(f.message, "");
	assert_int_equal(f.status, 0);
	n = pread(f.fd, blob, sizeof(blob), (off_t)f.answer_at);
	assert_in_range(n, 1, sizeof(blob) - 1);
	assert_int_equal(npuplan_verify(f.graph, f.graph_size, blob, (size_t)n, &verdict, NULL, 0),
			 0);
}

static void kept(void)
{
	struct accepted accepted = next_request();

	answered(&accepted);
}

static void not_kept(struct accepted *accepted)
{
	setenv(REPLACED_PLAN, "plan_never", 1);
	ask_for(accepted);
	assert_failed(ECANCELED, "planned anew");
}

static void none_kept(void)
{
	struct accepted accepted = next_request();

	not_kept(&accepted);
}

KEEP_TEST(asked_again)
{
	struct plancache_entry entry;

	none_kept();
	unsetenv(REPLACED_PLAN);
	ask();
	assert_int_equal(f.status, 0);
	kept();
	kept();
	entry = only_entry();
	assert_string_equal(entry.planner, "auto");
	assert_int_equal(entry.graph_size, f.graph_size);
	assert_int_equal(entry.cost, 500);
	assert_true(entry.final);
	assert_true(strstr(entry.text, "arena 500 bytes"));
}

/* Plans count as their users'; where the driver does not say whose a request is, as nobody's. */
KEEP_TEST(whose_it_is)
{
	struct plancache_file *files;
	struct accepted accepted;
	size_t count;

	ask();
	assert_int_equal(only_entry().owner, PLANCACHE_NOBODY);
	assert_int_equal(plancache_list(f.env.cache, &files, &count), 0);
	assert_int_equal(plancache_drop(f.env.cache, &files[0].key), 0);
	free(files);
	accepted = next_request();
	accepted.client.known = true;
	accepted.client.uid = 1234;
	ask_for(&accepted);
	assert_int_equal(only_entry().owner, 1234);
}

static struct accepted by_user(uint32_t uid)
{
	struct accepted accepted = next_request();

	accepted.client = (struct client){ .known = true, .uid = uid };
	return accepted;
}

/* A graph is read to look it up; whose quota that uses up, for him nothing is looked for. */
KEEP_TEST(looking_costs)
{
	static uint64_t sizes[30000];
	char policy[96], reason[256];
	struct accepted accepted;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		sizes[i] = 64;
	ask();
	snprintf(policy, sizeof(policy), "%s/.policy", folder);
	unit_write(policy, "[user 7]\ncpu-quota = 1\n");
	assert_int_equal(config_read(policy, false, &f.config, reason, sizeof(reason)), 0);
	assert_int_equal(unlink(policy), 0);
	f.config.memory_limit = 0; /* sanitizers */
	f.env.quotas = quotas_new(QUOTA_MINUTE_US);
	/* Planning has used up what there is: an answer that is kept he may have. */
	quotas_charge(f.env.quotas, "user 7", 1, 1600000, now_us());
	accepted = by_user(7);
	answered(&accepted);
	/* This takes milliseconds to look for, of which one comes back in a tenth of a second. */
	build_chain(sizes, sizeof(sizes) / sizeof(sizes[0]), NULL, NPUMEM_NONE);
	accepted = by_user(7);
	ask_for(&accepted);
	assert_int_equal(f.status, EDQUOT);
	assert_says("planning for user 7 has used up its 1 % of a processor, the cpu-quota of "
		    "[user 7] of npumemd.conf: again in ");
	quotas_charge_look(f.env.quotas, "user 7", 1, 600000 - 1000, now_us());
	accepted = by_user(7);
	ask_for(&accepted);
	assert_int_equal(f.status, EDQUOT);
	assert_says("looking for kept plans for user 7 has used up its 1 % of a processor, the "
		    "cpu-quota of [user 7] of npumemd.conf: again in ");
	accepted = by_user(8);
	not_kept(&accepted);
	quotas_free(f.env.quotas);
	config_free(&f.config);
}

/* The daemon begins anew. */
KEEP_TEST(restart)
{
	ask();
	plancache_close(f.env.cache);
	f.env.cache = NULL;
	keep_open(&f.config, &f.env.cache);
	kept();
}

/* What differs is another request. */
KEEP_TEST(others_are_planned)
{
	static const uint64_t sizes[] = { 100, 200, 304 };
	struct accepted accepted;

	ask();
	accepted = next_request();
	accepted.arena_budget = 5000;
	not_kept(&accepted);
	accepted = next_request();
	strcpy(accepted.planner, "greedy");
	not_kept(&accepted);
	accepted = next_request();
	accepted.cut = true;
	not_kept(&accepted);
	accepted = next_request();
	accepted.objective = NPUMEM_OBJECTIVE_TRAFFIC;
	not_kept(&accepted);
	accepted = next_request();
	asking(&accepted, &(struct npumem_request){ .alignment = 64 });
	not_kept(&accepted);
	build_chain(sizes, 3, NULL, NPUMEM_NONE);
	none_kept();
}

/* A planner by name, and the same one by default, are one request. */
KEEP_TEST(default_planner)
{
	struct accepted accepted;

	ask();
	accepted = next_request();
	strcpy(accepted.planner, "auto");
	answered(&accepted);
}

KEEP_TEST(options)
{
	const struct npumem_request asked = { .alignment = 64 };
	struct accepted accepted = next_request();

	asking(&accepted, &asked);
	ask_for(&accepted);
	assert_string_equal(f.message, "");
	accepted = next_request();
	asking(&accepted, &asked);
	answered(&accepted);
}

/* ----------------------------------------------------------- time, better and worse */

static void ask_within(int64_t seconds)
{
	struct accepted accepted = next_request();

	accepted.deadline_ns = now_ns() + seconds * 1000000000;
	ask_for(&accepted);
	assert_string_equal(f.message, "");
}

/* Planned in a hurry: good enough for those in a hurry. */
KEEP_TEST(more_time_plans_anew)
{
	struct accepted accepted;

	rated("900 0");
	ask_within(10);
	accepted = next_request();
	accepted.deadline_ns = now_ns() + 5000000000;
	answered(&accepted);
	accepted = next_request();
	accepted.deadline_ns = now_ns() + 20000000000;
	not_kept(&accepted);
	rated("800 0");
	ask_within(20);
	assert_int_equal(only_entry().cost, 800);
	assert_in_range(only_entry().given_us, 15000000, 16000000);
	accepted = next_request();
	accepted.deadline_ns = now_ns() + 20000000000;
	answered(&accepted);
}

/* More time would not help. */
KEEP_TEST(final_is_final)
{
	struct accepted accepted;

	rated("900 1");
	ask_within(10);
	accepted = next_request();
	accepted.deadline_ns = now_ns() + 50000000000;
	answered(&accepted);
}

/* Who asks again never gets less, and is not planned for in vain the next time. */
KEEP_TEST(worse_is_not_taken)
{
	struct accepted accepted;
	struct said said;
	char *text;

	rated("900 0");
	ask_within(5);
	rated("901 0");
	ask_within(20);
	assert_int_equal(only_entry().cost, 900);
	assert_string_equal(only_entry().text, "of cost 900");
	/* What is said of the answer is said of the one that was given. */
	rated("901 0");
	log_setup(true, LOG_INFO);
	said_begin(&said);
	ask_within(50);
	text = said_end(&said);
	log_setup(true, LOG_ERR);
	assert_non_null(strstr(text, "has the plan kept of"));
	assert_non_null(strstr(text, " us: of cost 900\n"));
	free(text);
	accepted = next_request();
	accepted.deadline_ns = now_ns() + 20000000000;
	answered(&accepted);
}

/* --------------------------------------------------------- what others keep meanwhile */

/* Two requests for the same, which both look before either has a plan. */
static struct accepted both_look(struct kept kept[2])
{
	struct accepted accepted = next_request();

	strcpy(accepted.planner, "auto");
	for (int i = 0; i < 2; i++) {
		keep_find(&kept[i], f.env.cache, &accepted);
		assert_true(kept[i].hashed);
	}
	return accepted;
}

static void both_end(struct kept kept[2], const struct accepted *accepted)
{
	keep_free(&kept[0]);
	keep_free(&kept[1]);
	close(accepted->fd);
}

static bool keeps(struct kept *kept, const struct accepted *accepted, uint64_t cost, bool final,
		  uint64_t given_us)
{
	const struct worker_result made = {
		.data = "no plan", .size = 8, .cost = cost, .final = final, .text = "made"
	};

	return keep_plan(kept, f.env.cache, accepted, &made, PLANCACHE_BY_ANSWER, given_us);
}

static struct plancache_file only_file(void)
{
	struct plancache_file *files, file;
	size_t count;

	assert_int_equal(plancache_list(f.env.cache, &files, &count), 0);
	assert_int_equal(count, 1);
	file = files[0];
	free(files);
	return file;
}

/* The worse plan comes last: the better one stays, as it is. */
KEEP_TEST(better_came_meanwhile)
{
	struct kept kept[2];
	struct accepted accepted = both_look(kept);
	int64_t put_ns;

	assert_true(keeps(&kept[0], &accepted, 100, true, 9000000));
	put_ns = only_file().used_ns;
	assert_true(keeps(&kept[1], &accepted, 900, false, 100000));
	assert_int_equal(only_entry().cost, 100);
	assert_true(only_entry().final);
	assert_int_equal(only_entry().given_us, 9000000);
	assert_int_equal(only_entry().past_count, 1);
	/* Nothing was written, since nothing was new. */
	assert_int_equal(only_file().used_ns, put_ns);
	/* Nobody searches for what is final. */
	assert_int_equal(kept[1].entry.cost, 100);
	assert_true(kept[1].entry.final);
	both_end(kept, &accepted);
}

/* The worse plan had more time: the better one says so. */
KEEP_TEST(better_came_meanwhile_in_less_time)
{
	struct kept kept[2];
	struct accepted accepted = both_look(kept);

	assert_true(keeps(&kept[0], &accepted, 100, false, 100000));
	assert_true(keeps(&kept[1], &accepted, 900, false, 9000000));
	assert_int_equal(only_entry().cost, 100);
	assert_int_equal(only_entry().given_us, 9000000);
	assert_int_equal(only_entry().past_count, 1);
	both_end(kept, &accepted);
}

/* The better plan comes last, and has the other one's history and time. */
KEEP_TEST(worse_came_meanwhile)
{
	struct kept kept[2];
	struct accepted accepted = both_look(kept);

	assert_true(keeps(&kept[0], &accepted, 900, false, 9000000));
	assert_true(keeps(&kept[1], &accepted, 100, false, 100000));
	assert_int_equal(only_entry().cost, 100);
	assert_int_equal(only_entry().given_us, 9000000);
	assert_int_equal(only_entry().past_count, 2);
	assert_int_equal(only_entry().past[0].cost, 900);
	both_end(kept, &accepted);
}

/* What was kept when the request came has gone meanwhile: it is put anew. */
KEEP_TEST(went_meanwhile)
{
	struct kept kept[2];
	struct accepted accepted = both_look(kept);

	assert_true(keeps(&kept[0], &accepted, 100, true, 9000000));
	both_end(kept, &accepted);
	accepted = both_look(kept);
	assert_int_equal(plancache_drop(f.env.cache, &kept[0].key), 0);
	assert_true(keeps(&kept[0], &accepted, 900, false, 100000));
	assert_int_equal(only_entry().cost, 100);
	assert_int_equal(only_entry().past_count, 1);
	both_end(kept, &accepted);
}

/* ------------------------------------------------------------------ what goes wrong */

/* The driver has the last word, on plans that were kept as well. */
KEEP_TEST(refused_plans_are_not_kept)
{
	f.done_outcome = EINVAL;
	ask();
	f.done_outcome = 0;
	none_kept();
	unsetenv(REPLACED_PLAN);
	ask();
	f.done_outcome = EINVAL;
	kept();
	f.done_outcome = 0;
	none_kept();
}

/* One user has no memory for a plan: the others still have it, and nobody is to be alarmed. */
KEEP_TEST(no_memory_of_another_user)
{
	static const uint32_t lacks[] = { ENOMEM, EDQUOT };
	struct accepted accepted = by_user(1);
	struct said said;
	char *text;

	ask_for(&accepted);
	setenv(REPLACED_PLAN, "plan_never", 1);
	for (size_t i = 0; i < sizeof(lacks) / sizeof(lacks[0]); i++) {
		f.done_outcome = lacks[i];
		accepted = by_user(2);
		said_begin(&said);
		log_setup(true, LOG_WARNING);
		ask_for(&accepted);
		text = said_end(&said);
		log_setup(true, LOG_ERR);
		assert_string_equal(text, "");
		free(text);
		f.done_outcome = 0;
		accepted = by_user(1);
		answered(&accepted);
		assert_int_equal(only_entry().owner, 1);
	}
}

KEEP_TEST(failures_are_not_kept)
{
	struct accepted accepted = next_request();

	accepted.arena_budget = 499;
	ask_for(&accepted);
	assert_int_equal(f.status, ENOSPC);
	accepted = next_request();
	accepted.arena_budget = 499;
	not_kept(&accepted);
}

KEEP_TEST(damaged_file)
{
	struct plancache_file *files;
	char name[PLANCACHE_NAME_SIZE], path[256];
	size_t count;

	ask();
	assert_int_equal(plancache_list(f.env.cache, &files, &count), 0);
	assert_int_equal(count, 1);
	plancache_key_name(&files[0].key, name);
	free(files);
	snprintf(path, sizeof(path), "%s/%s.plan", folder, name);
	assert_int_equal(truncate(path, 600), 0);
	log_setup(true, LOG_ERR);
	none_kept();
	assert_int_equal(access(path, F_OK), -1);
	unsetenv(REPLACED_PLAN);
	ask();
	kept();
}

/* The daemon does not touch what the driver only says is there. */
KEEP_TEST(graph_shorter_than_said)
{
	struct accepted accepted = next_request();

	accepted.graph_size = 1 << 20;
	setenv(REPLACED_PLAN, "plan_never", 1);
	ask_for(&accepted);
	assert_failed(ECANCELED, "planned anew");
}

/* A plan that was kept is not larger than the configuration allows now. */
KEEP_TEST(plan_limit)
{
	ask();
	f.config.plan_limit = 64;
	none_kept();
}

/* Nor is it when a plan that is not too large was made anew, and is worse. */
KEEP_TEST(plan_limit_of_a_better_one)
{
	char bytes[] = "kept";
	struct kept kept = { .entry = { .data = bytes, .size = 4097, .cost = 1 } };
	const struct worker_result made = { .data = "made", .size = 5, .cost = 2 };

	assert_false(keep_no_worse(&kept, &made, 4096));
	assert_true(keep_no_worse(&kept, &made, 4097));
}

/* What is over before its answer comes is over once, though the driver says so twice. */
KEEP_TEST(over_before_the_answer)
{
	struct accepted accepted = next_request();
	char *text;
	size_t size;

	run_again(&accepted);
	f.env.metrics = metrics_new();
	accepted = next_request();
	f.done = f.ended = 0;
	f.done_error = -ENOENT;
	assert_non_null(start_request(&accepted));
	assert_int_equal(f.done, 1);
	driver_settles(ECANCELED);
	assert_int_equal(sd_event_loop(f.event), 0);
	assert_int_equal(f.ended, 1);
	text = metrics_text(f.env.metrics, &(struct metrics_now){ 0 }, true, &size);
	assert_non_null(strstr(text, "outcome=\"over\"} 1\n"));
	free(text);
	metrics_free(f.env.metrics);
	f.env.metrics = NULL;
	f.done_error = 0;
}

/* The cache goes while a request is under way, and comes while one is. */
KEEP_TEST(reload)
{
	struct accepted accepted = next_request();
	struct request *request;

	request = start_request(&accepted);
	assert_non_null(request);
	f.config.cache_limit = 0;
	keep_open(&f.config, &f.env.cache);
	assert_null(f.env.cache);
	assert_int_equal(sd_event_loop(f.event), 0);
	assert_int_equal(f.status, 0);
	sd_event_unref(f.event);
	assert_true(sd_event_new(&f.event) >= 0);
	f.env.event = f.event;
	f.config.cache_limit = 1 << 20;
	keep_open(&f.config, &f.env.cache);
	none_kept();
}

KEEP_TEST(no_folder)
{
	strcpy(f.config.cache_folder, "/proc/no/folder");
	assert_int_equal(keep_open(&f.config, &f.env.cache), -ENOENT);
	assert_null(f.env.cache);
	ask();
	assert_int_equal(f.status, 0);
	assert_string_equal(f.message, "");
}

/* A reload at a moment without descriptors closes nothing that it need not. */
KEEP_TEST(reload_leaves_cache)
{
	struct rlimit limit, none;
	int err;

	ask();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	err = keep_open(&f.config, &f.env.cache);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(err, 0);
	assert_non_null(f.env.cache);
	kept();
}

/* What the path names is another folder, as where a disk was mounted meanwhile. */
KEEP_TEST(reload_after_mount)
{
	char aside[96];
	struct plancache_file *files;
	size_t count;

	ask();
	snprintf(aside, sizeof(aside), "%s/aside", folder);
	snprintf(f.config.cache_folder, sizeof(f.config.cache_folder), "%s/named", folder);
	assert_int_equal(keep_open(&f.config, &f.env.cache), 0);
	ask();
	assert_int_equal(rename(f.config.cache_folder, aside), 0);
	assert_int_equal(mkdir(f.config.cache_folder, 0700), 0);
	assert_int_equal(keep_open(&f.config, &f.env.cache), 0);
	assert_int_equal(plancache_list(f.env.cache, &files, &count), 0);
	assert_int_equal(count, 0);
	assert_int_equal(rmdir(f.config.cache_folder), 0);
	assert_int_equal(rename(aside, f.config.cache_folder), 0);
	assert_int_equal(keep_open(&f.config, &f.env.cache), 0);
	kept();
	assert_int_equal(plancache_list(f.env.cache, &files, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(plancache_drop(f.env.cache, &files[0].key), 0);
	free(files);
	assert_int_equal(rmdir(f.config.cache_folder), 0);
}

/* Another limit is another cache: of less than what a file takes nothing is kept. */
KEEP_TEST(reload_with_another_limit)
{
	struct plancache_file *files;
	size_t count;

	f.config.cache_limit = 4095;
	assert_int_equal(keep_open(&f.config, &f.env.cache), 0);
	log_setup(true, LOG_ERR);
	ask();
	assert_int_equal(plancache_list(f.env.cache, &files, &count), 0);
	assert_int_equal(count, 0);
}

/* Another folder stands at the path, as where a disk was mounted over it: it is taken, and said. */
KEEP_TEST(folder_replaced)
{
	struct cache_folder *folders;
	char aside[96], expected[512];
	struct said said;
	char *text;

	snprintf(aside, sizeof(aside), "%s/aside", folder);
	snprintf(f.config.cache_folder, sizeof(f.config.cache_folder), "%s/plans", folder);
	assert_int_equal(cache_folder_new(f.event, &f.config, &f.env.cache, 1000, &folders), 0);
	log_setup(true, LOG_NOTICE);
	said_begin(&said);
	cache_folder_open(folders);
	assert_int_equal(rename(f.config.cache_folder, aside), 0);
	assert_int_equal(mkdir(f.config.cache_folder, 0700), 0);
	while (!plancache_is_of(f.env.cache, f.config.cache_folder, f.config.cache_limit))
		assert_true(sd_event_run(f.event, UINT64_MAX) >= 0);
	/* Again, and nothing is said of what has not changed. */
	assert_int_equal(rmdir(f.config.cache_folder), 0);
	assert_int_equal(rename(aside, f.config.cache_folder), 0);
	for (int i = 0; i < 10; i++)
		assert_true(sd_event_run(f.event, 5000) >= 0);
	text = said_end(&said);
	snprintf(expected, sizeof(expected),
		 "<5>npumemd: another folder is at %s: plans are kept there now\n"
		 "<5>npumemd: another folder is at %s: plans are kept there now\n",
		 f.config.cache_folder, f.config.cache_folder);
	assert_string_equal(text, expected);
	free(text);
	cache_folder_free(folders);
	assert_int_equal(rmdir(f.config.cache_folder), 0);
}

/* The folder's parent comes later, as on a disk that is mounted late: each is said once. */
KEEP_TEST(folder_comes)
{
	struct cache_folder *later;
	char parent[96], expected[512];
	struct said said;
	char *text;

	snprintf(parent, sizeof(parent), "%s/later", folder);
	snprintf(f.config.cache_folder, sizeof(f.config.cache_folder), "%s/plans", parent);
	assert_int_equal(cache_folder_new(f.event, &f.config, &f.env.cache, 1000, &later), 0);
	log_setup(true, LOG_NOTICE);
	said_begin(&said);
	cache_folder_open(later);
	assert_null(f.env.cache);
	for (int i = 0; i < 10; i++)
		assert_true(sd_event_run(f.event, 5000) >= 0);
	assert_int_equal(mkdir(parent, 0700), 0);
	while (!f.env.cache)
		assert_true(sd_event_run(f.event, UINT64_MAX) >= 0);
	/* With that there is no more to say. */
	for (int i = 0; i < 10; i++)
		assert_true(sd_event_run(f.event, 5000) >= 0);
	text = said_end(&said);
	snprintf(expected, sizeof(expected),
		 "<5>npumemd: plans are not kept: %s: No such file or directory; tried again every "
		 "0 s\n<5>npumemd: plans are kept in %s now\n",
		 f.config.cache_folder, f.config.cache_folder);
	assert_string_equal(text, expected);
	free(text);
	cache_folder_free(later);
	assert_int_equal(rmdir(f.config.cache_folder), 0);
	assert_int_equal(rmdir(parent), 0);
}

/* What is no longer to be kept is not tried again, and nobody says that it is. */
KEEP_TEST(folder_not_wanted)
{
	struct cache_folder *later;
	struct said said;
	char *text;

	strcpy(f.config.cache_folder, "/proc/no/folder");
	assert_int_equal(cache_folder_new(f.event, &f.config, &f.env.cache, 1000, &later), 0);
	log_setup(true, LOG_ERR);
	cache_folder_open(later);
	log_setup(true, LOG_NOTICE);
	said_begin(&said);
	f.config.cache_limit = 0;
	cache_folder_open(later);
	assert_int_equal(sd_event_run(f.event, 20000), 0);
	text = said_end(&said);
	assert_string_equal(text, "");
	free(text);
	cache_folder_free(later);
}

/* It cannot be handed over: the request fails, as with a plan made anew. */
KEEP_TEST(not_taken)
{
	struct accepted accepted;
	char path[64];
	int fd;

	ask();
	accepted = next_request();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", accepted.fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	close(accepted.fd);
	accepted.fd = fd;
	setenv(REPLACED_PLAN, "plan_never", 1);
	ask_for(&accepted);
	assert_int_equal(f.status, EBADF);
	assert_says("cannot be handed over: Bad file descriptor");
}
