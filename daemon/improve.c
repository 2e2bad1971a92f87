// SPDX-License-Identifier: MIT
#include "improve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "memory_limit.h"
#include "metrics.h"
#include "planner.h"
#include "policy.h"
#include "power.h"
#include "quota.h"
#include "rate.h"
#include "searches.h"
#include "tries.h"
#include "worker.h"

/* Seconds beside the search: for reading the graph, and for writing and checking the plan. */
#define BESIDE 30

/* The one account that searches have. */
#define ACCOUNT "searches"

static uint64_t system_now(void)
{
	return now_us();
}

const struct improver_host improver_host = {
	.process = MEMORY_LIMIT_PROCESS,
	.groups = MEMORY_LIMIT_GROUPS,
	.supplies = POWER_SUPPLIES,
	.look_us = 30000000,
	.period_us = 3600000000,
	.idle = true,
	.now = system_now,
};

/*
 * struct improver - searches that wait, and the one that runs
 * @searches: the first one is the next, or runs
 * @plan_worker: which makes its plan
 * @check_worker: which checks it
 * @dying: which was killed and is not gone yet: no other begins beside it
 * @made: the plan, which @plan_worker keeps
 * @seconds: that the search has
 * @started_us: when it began
 * @next: event source that begins a search
 * @look: one that looks, while a search runs, whether a battery is being emptied
 * @spent: processor time that searches have taken
 * @held: they have used that up, and wait; the log says so
 * @tries: what was searched for in vain
 * @unkept: plans of answers that could not be kept
 */
struct improver {
	sd_event *event;
	const struct config *config;
	struct plancache *const *cache;
	struct metrics *metrics;
	struct searches searches;
	struct worker *plan_worker;
	struct worker *check_worker;
	struct worker *dying;
	struct worker_result made;
	uint64_t seconds;
	uint64_t started_us;
	sd_event_source *next;
	sd_event_source *look;
	const struct improver_host *host;
	struct quotas *spent;
	bool held;
	struct tries tries;
	struct tries unkept;
};

static uint64_t bytes_of(const struct accepted *accepted)
{
	return accepted->options_size ?
		       worker_to_page(accepted->graph_size) + accepted->options_size :
		       accepted->graph_size;
}

/* Copy what the driver shows of a request into a file of our own; or a negative errno. */
static int copy_shown(const struct accepted *accepted, uint64_t bytes)
{
	const void *map = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, accepted->fd, 0);
	int fd, err;

	if (map == MAP_FAILED)
		return -errno;
	fd = memfd_create("npumemd-search", MFD_CLOEXEC);
	/* The kernel reads the bytes: what is not there is an error and no signal. */
	err = fd < 0 ? -errno : write_all(fd, map, bytes);
	munmap((void *)(uintptr_t)map, bytes);
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

static void begin_next(struct improver *improver, uint64_t delay_us);

void improver_forget(struct improver *improver, const struct kept *kept)
{
	tries_forget(&improver->tries, &kept->key);
}

bool improver_follows(const struct improver *improver, const struct accepted *accepted,
		      const struct kept *kept)
{
	uint64_t memory = memory_limit(improver->host->process, improver->host->groups);

	return kept->hashed && bytes_of(accepted) <= searches_most(memory) &&
	       !tries_know(&improver->unkept, &kept->key);
}

void improver_kept(struct improver *improver, const struct kept *kept, bool stored)
{
	if (stored)
		tries_forget(&improver->unkept, &kept->key);
	else
		tries_in_vain(&improver->unkept, &kept->key, now_us());
}

void improver_add(struct improver *improver, const struct accepted *accepted,
		  const struct kept *kept)
{
	const struct plancache_entry *entry = &kept->entry;
	struct search search = { .accepted = *accepted, .bytes = bytes_of(accepted) };
	uint64_t memory;

	if (!improver->config->improve_time || !kept->hashed || entry->final ||
	    keep_had(entry, improver->config->improve_time * 1000000) ||
	    searches_have(&improver->searches, &kept->key) ||
	    tries_wait_us(&improver->tries, &kept->key, now_us()))
		return;
	memory = memory_limit(improver->host->process, improver->host->groups);
	if (!searches_make_room(&improver->searches, &search, memory)) {
		log_accepted(LOG_DEBUG, accepted,
			     "request %" PRIu64 ": too many plans wait to be improved",
			     accepted->id);
		return;
	}
	search.key = kept->key;
	search.accepted.fd = copy_shown(accepted, search.bytes);
	if (search.accepted.fd < 0) {
		log_accepted(LOG_WARNING, accepted,
			     "request %" PRIu64 ": its plan is not improved: %s", accepted->id,
			     strerror(-search.accepted.fd));
		return;
	}
	searches_add(&improver->searches, &search);
	begin_next(improver, 0);
}

/* ------------------------------------------------------------------- a search */

static void on_gone(void *userdata)
{
	struct improver *improver = userdata;

	improver->dying = NULL;
	begin_next(improver, 0);
}

static void stop_worker(struct improver *improver, struct worker **worker)
{
	if (!worker_stop(*worker, on_gone))
		improver->dying = *worker;
	*worker = NULL;
}

/* One of them runs at most. */
static void stop_workers(struct improver *improver)
{
	stop_worker(improver, &improver->check_worker);
	stop_worker(improver, &improver->plan_worker);
	improver->made = (struct worker_result){ 0 };
}

/* The first search runs no more. */
static void stop(struct improver *improver)
{
	stop_workers(improver);
	improver->look = sd_event_source_disable_unref(improver->look);
	improver->searches.running = false;
}

/* The first search is over. */
static void end(struct improver *improver)
{
	stop(improver);
	searches_drop(&improver->searches, 0);
	begin_next(improver, 0);
}

/* The first search is over and led to nothing: the next request does not begin it at once again. */
static void end_in_vain(struct improver *improver)
{
	const struct search *search = &improver->searches.waiting[0];
	uint64_t wait = tries_in_vain(&improver->tries, &search->key, now_us());

	log_accepted(LOG_INFO, &search->accepted,
		     "request %" PRIu64 ": no other search for a better plan within %" PRIu64 " s",
		     search->accepted.id, wait / 1000000);
	end(improver);
}

/* The first search has failed. */
static void fail(struct improver *improver)
{
	metrics_search(improver->metrics, METRICS_SEARCH_FAILED);
	end_in_vain(improver);
}

/*
 * What was made takes the place of what is kept, if it is better; or that has had its time. False:
 * neither, or it cannot be written.
 */
static bool store(struct improver *improver, const struct worker_result *made)
{
	const struct search *search = &improver->searches.waiting[0];
	struct plancache *cache = *improver->cache;
	struct kept kept = { .hashed = true, .key = search->key };
	int err = cache ? plancache_peek(cache, &search->key, &kept.entry) : -ENOENT;
	bool better, stored, ended;

	if (err) {
		metrics_search(improver->metrics, METRICS_SEARCH_FAILED);
		/* What was dropped meanwhile, or has gone for others, is not wanted any more. */
		log_accepted(err == -ENOENT ? LOG_INFO : LOG_NOTICE, &search->accepted,
			     "request %" PRIu64 ": the search for a better plan was in vain: the "
			     "one that is kept %s%s",
			     search->accepted.id, err == -ENOENT ? "has gone" : "cannot be read: ",
			     err == -ENOENT ? "" : strerror(-err));
		return err == -ENOENT;
	}
	better = made->data && made->cost < kept.entry.cost;
	/* Where others computed all the time, nobody has searched. */
	stored =
		keep_plan(&kept, cache, &search->accepted, made, PLANCACHE_BY_SEARCH, made->cpu_us);
	metrics_search(improver->metrics, !better ? METRICS_NO_BETTER :
					  stored  ? METRICS_BETTER :
						    METRICS_SEARCH_FAILED);
	if (!better)
		log_accepted(LOG_DEBUG, &search->accepted,
			     "request %" PRIu64 ": no better plan was found", search->accepted.id);
	else if (stored)
		log_accepted(LOG_INFO, &search->accepted,
			     "request %" PRIu64 ": a better plan was found in %" PRIu64
			     " ms: %" PRIu64 " bytes%s and no longer %" PRIu64 ": %s",
			     search->accepted.id, (now_us() - improver->started_us) / 1000,
			     made->cost,
			     plancache_counted(plancache_counts(search->accepted.planner,
								search->accepted.objective)),
			     kept.entry.cost, made->text);
	/* On a full disk the next search would end as this one. */
	ended = stored &&
		(better || kept.entry.final || keep_had(&kept.entry, improver->seconds * 1000000));
	if (ended)
		tries_forget(&improver->tries, &search->key);
	keep_free(&kept);
	return ended;
}

static void on_checked(struct worker *worker, const struct worker_result *result, void *userdata)
{
	struct improver *improver = userdata;
	bool ended = false;

	if (result->status)
		metrics_search(improver->metrics, METRICS_SEARCH_FAILED);
	if (result->status)
		log_accepted(planner_judged(result->status) ? LOG_ERR : LOG_NOTICE,
			     &improver->searches.waiting[0].accepted,
			     "request %" PRIu64 ": the search made a plan that %s: %s",
			     improver->searches.waiting[0].accepted.id,
			     planner_judged(result->status) ? "does not pass verification" :
							      "cannot be checked",
			     result->text);
	else
		ended = store(improver, &improver->made);
	if (ended)
		end(improver);
	else
		end_in_vain(improver);
}

/* Per cent of a processor that searches may take; 0 = no limit, as all of one is. */
static uint64_t share_of(const struct improver *improver)
{
	uint64_t per_cent = improver->config->improve_share;

	return per_cent < 100 ? per_cent : 0;
}

/* Also of one that was stopped. */
static void on_spent(uint64_t cpu_us, void *userdata)
{
	struct improver *improver = userdata;

	quotas_charge(improver->spent, ACCOUNT, share_of(improver), cpu_us, improver->host->now());
	metrics_search_cpu(improver->metrics, cpu_us);
}

static struct worker_args worker_args(struct improver *improver)
{
	const struct search *search = &improver->searches.waiting[0];

	return (struct worker_args){
		.limits = {
			.memory = improver->config->memory_limit,
			.cpu_seconds = improver->seconds + BESIDE,
			.seccomp = improver->config->seccomp,
		},
		.result_limit = improver->config->plan_limit,
		.deadline_us = now_us() + (improver->seconds + BESIDE) * 1000000,
		.blobs = {
			{ .fd = search->accepted.fd, .size = search->accepted.graph_size },
			{ .fd = -1 },
		},
		.request = search->accepted.id,
		.idle = improver->host->idle,
		.spent = on_spent,
		.userdata = improver,
	};
}

static void on_planned(struct worker *worker, const struct worker_result *result, void *userdata)
{
	struct improver *improver = userdata;
	const struct search *search = &improver->searches.waiting[0];
	const struct planner_check task = { .arena_limit = search->accepted.arena_limit };
	struct worker_args args = worker_args(improver);
	int err = 0;

	if (result->status || !result->size || (result->head && !search->accepted.cut)) {
		log_accepted(LOG_NOTICE, &search->accepted,
			     "request %" PRIu64 ": the search for a better plan failed: %s",
			     search->accepted.id, result->text);
		fail(improver);
		return;
	}
	improver->made = *result;
	planner_check_args(&args, &task, result);
	args.done = on_checked;
	err = worker_start(improver->event, &args, &improver->check_worker);
	if (err) {
		log_accepted(LOG_WARNING, &search->accepted,
			     "request %" PRIu64 ": no process to check a better plan in: %s",
			     search->accepted.id, strerror(-err));
		fail(improver);
	}
}

static int start(struct improver *improver)
{
	const struct search *search = &improver->searches.waiting[0];
	struct planner_task task = {
		.objective = search->accepted.objective,
		.arena_budget = search->accepted.arena_budget,
		.arena_limit = search->accepted.arena_limit,
		.seconds = (double)improver->config->improve_time,
		.memory_limit = improver->config->memory_limit,
		.cut = search->accepted.cut,
	};
	struct worker_args args;

	improver->seconds = improver->config->improve_time;
	improver->started_us = now_us();
	memcpy(task.planner, search->accepted.planner, sizeof(task.planner));
	args = worker_args(improver);
	args.job = PLANNER_PLAN;
	planner_options_blob(&args, &search->accepted);
	args.task = &task;
	args.task_size = sizeof(task);
	args.done = on_planned;
	return worker_start(improver->event, &args, &improver->plan_worker);
}

/* ---------------------------------------------------------------------- when */

static bool empties_battery(const struct improver *improver)
{
	return !improver->config->improve_on_battery && power_is_battery(improver->host->supplies);
}

/* How long searches have to wait until some of their share has come again; the log says so once. */
static uint64_t wait_for_share(struct improver *improver)
{
	uint64_t share = share_of(improver);
	uint64_t wait = quotas_wait_us(improver->spent, ACCOUNT, share, improver->host->now());

	if (wait && !improver->held)
		log_accepted(LOG_INFO, &improver->searches.waiting[0].accepted,
			     "request %" PRIu64
			     ": searches for better plans have used up their %" PRIu64
			     " %% of a processor, the share of [improve] of npumemd.conf: again in "
			     "%" PRIu64 " s",
			     improver->searches.waiting[0].accepted.id, share,
			     (wait + 999999) / 1000000);
	improver->held = wait;
	return wait;
}

static void look_later(struct improver *improver);

static int on_look(sd_event_source *source, uint64_t now, void *userdata)
{
	struct improver *improver = userdata;

	improver->look = sd_event_source_unref(improver->look);
	if (!empties_battery(improver)) {
		look_later(improver);
		return 0;
	}
	log_accepted(LOG_INFO, &improver->searches.waiting[0].accepted,
		     "request %" PRIu64
		     ": the search for a better plan is stopped while the battery is being emptied",
		     improver->searches.waiting[0].accepted.id);
	stop(improver);
	begin_next(improver, improver->host->look_us);
	return 0;
}

/* Look after a time whether the search that runs may go on. */
static void look_later(struct improver *improver)
{
	int err = sd_event_add_time_relative(improver->event, &improver->look, CLOCK_MONOTONIC,
					     improver->host->look_us, 0, on_look, improver);

	if (err < 0) {
		improver->look = NULL;
		log_error("a search for a better plan does not see a battery: %s", strerror(-err));
	}
}

static int on_next(sd_event_source *source, uint64_t now, void *userdata)
{
	struct improver *improver = userdata;
	uint64_t wait;
	int err;

	improver->next = sd_event_source_unref(improver->next);
	/* The configuration may have changed its mind. */
	while (improver->searches.count && !improver->config->improve_time)
		searches_drop(&improver->searches, 0);
	if (!improver->searches.count)
		return 0;
	if (empties_battery(improver)) {
		begin_next(improver, improver->host->look_us);
		return 0;
	}
	wait = wait_for_share(improver);
	if (wait) {
		/* The configuration may do so meanwhile. */
		begin_next(improver,
			   wait < improver->host->look_us ? wait : improver->host->look_us);
		return 0;
	}
	searches_take_turn(&improver->searches);
	err = start(improver);
	improver->searches.running = !err;
	if (err) {
		log_accepted(LOG_WARNING, &improver->searches.waiting[0].accepted,
			     "request %" PRIu64 ": no process to search for a better plan in: %s",
			     improver->searches.waiting[0].accepted.id, strerror(-err));
		fail(improver);
	} else {
		look_later(improver);
	}
	return 0;
}

/* Begin with the first that waits, from the event loop, when some time has passed. */
static void begin_next(struct improver *improver, uint64_t delay_us)
{
	int err;

	if (improver->searches.running || improver->dying || improver->next ||
	    !improver->searches.count)
		return;
	err = sd_event_add_time(improver->event, &improver->next, CLOCK_MONOTONIC,
				now_us() + delay_us, 1000, on_next, improver);
	if (err < 0) {
		improver->next = NULL;
		log_error("cannot search for better plans: %s", strerror(-err));
	}
}

/* Whether a search would be begun by what the configuration says now. */
static bool is_allowed(const struct improver *improver, const struct search *search)
{
	const struct config *config = improver->config;
	const struct policy *policy = policy_of(config->policies, &search->accepted);

	return config->improve_time && *improver->cache && policy && policy->plans &&
	       policy->improve;
}

void improver_configured(struct improver *improver)
{
	improver->tries = (struct tries){ 0 };
	improver->unkept = (struct tries){ 0 };
	/* What is said then is of another share. */
	improver->held = false;
	for (size_t i = improver->searches.count; i > 0; i--) {
		if (is_allowed(improver, &improver->searches.waiting[i - 1]))
			continue;
		if (i == 1 && improver->searches.running)
			stop(improver);
		searches_drop(&improver->searches, i - 1);
	}
	begin_next(improver, 0);
}

int improver_new(sd_event *event, const struct config *config, struct plancache *const *cache,
		 struct metrics *metrics, const struct improver_host *host, struct improver **out)
{
	struct improver *improver = calloc(1, sizeof(*improver));

	if (!improver)
		return -ENOMEM;
	improver->event = event;
	improver->config = config;
	improver->cache = cache;
	improver->metrics = metrics;
	improver->host = host;
	improver->spent = quotas_new(host->period_us);
	if (!improver->spent) {
		free(improver);
		return -ENOMEM;
	}
	*out = improver;
	return 0;
}

size_t improver_count(const struct improver *improver)
{
	return improver->searches.count;
}

bool improver_held(const struct improver *improver)
{
	return improver->held && improver->searches.count;
}

void improver_free(struct improver *improver)
{
	if (!improver)
		return;
	sd_event_source_disable_unref(improver->next);
	stop(improver);
	worker_free(improver->dying);
	while (improver->searches.count)
		searches_drop(&improver->searches, 0);
	quotas_free(improver->spent);
	free(improver);
}
