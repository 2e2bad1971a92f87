// SPDX-License-Identifier: MIT
#include "request.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "improve.h"
#include "keep.h"
#include "log.h"
#include "metrics.h"
#include "npumem_drm.h"
#include "npumem_netlink.h"
#include "planner.h"
#include "policy.h"
#include "quota.h"
#include "worker.h"

/* Planning may use this part of the time until the deadline, and of CPU time. */
#define PLANNING_SHARE 0.8

/* Bytes of a message: a worker's text with some words before it. */
#define MESSAGE_SIZE (WORKER_TEXT_SIZE + 128)
_Static_assert(MESSAGE_SIZE < TRANSPORT_MESSAGE_SIZE, "reasons fit into the protocol");

/**
 * struct request - one plan request under way
 * @env: the server's, shared by all requests
 * @accepted: the request as the driver gave it, with what the client's policy makes of it; its
 *	planner is not empty once it is planned
 * @config: configuration when the request came, without its policies, but with what the client's
 *	policy makes of it
 * @asked: planner that the client asked for, or ""
 * @policy: what the client may ask for
 * @account: whose account planning is charged to
 * @started_us: when it came, CLOCK_MONOTONIC microseconds
 * @deadline_us: when its workers are killed, CLOCK_MONOTONIC microseconds
 * @begun_us: since when its time counts: when it came, or had a place at last
 * @given_us: how long planning may take
 * @kept: what is known of it that the cache may answer
 * @from_cache: the answer is @kept's
 * @waits: for a place
 * @waited: it did not get one at once
 * @looks: it waits, and what was kept meanwhile may be its answer
 * @has_place: it was planned, or is
 * @settled: event source that tells that the driver has settled it
 * @answered: DONE was sent with a plan, which the driver is verifying
 * @told_over: that it was over before its answer was said, and counted
 * @over: it has ended, but for a worker that was killed and is not gone
 * @plan_worker: makes the plan, and keeps it until it is freed
 * @check_worker: checks the plan
 * @plan: the plan, which @plan_worker keeps
 * @summary: one line about the plan, for the log
 */
struct request {
	const struct request_env *env;
	struct accepted accepted;
	struct config config;
	char asked[sizeof(((struct accepted *)0)->planner)];
	struct policy policy;
	char account[POLICY_NAME_SIZE];
	uint64_t started_us;
	uint64_t deadline_us;
	uint64_t begun_us;
	uint64_t given_us;
	struct kept kept;
	bool from_cache;
	bool waits;
	bool waited;
	bool looks;
	bool has_place;
	sd_event_source *settled;
	bool answered;
	bool told_over;
	bool over;
	struct worker *plan_worker;
	struct worker *check_worker;
	struct worker_result plan;
	char summary[WORKER_TEXT_SIZE];
};

/* Nothing of it is left but itself. */
static void bury(struct request *request)
{
	request->env->ended(request, request->env->userdata);
	free(request);
}

static void on_gone(void *userdata)
{
	bury(userdata);
}

static bool stop_worker(struct worker **worker)
{
	if (!worker_stop(*worker, on_gone))
		return false;
	*worker = NULL;
	return true;
}

/* Whether nothing of it runs any more; else it is buried when that is so. */
static bool stop(struct request *request)
{
	bool checks_no_more, plans_no_more;

	if (request->over)
		return false;
	request->over = true;
	keep_free(&request->kept);
	request->settled = sd_event_source_disable_unref(request->settled);
	close(request->accepted.fd);
	/* One of them runs at most. */
	checks_no_more = stop_worker(&request->check_worker);
	plans_no_more = stop_worker(&request->plan_worker);
	return checks_no_more && plans_no_more;
}

static void end(struct request *request)
{
	if (stop(request))
		bury(request);
}

bool request_drop(struct request *request)
{
	if (!stop(request))
		return false;
	free(request);
	return true;
}

void request_free(struct request *request)
{
	if (request_drop(request))
		return;
	worker_free(request->check_worker);
	worker_free(request->plan_worker);
	free(request);
}

/* ----------------------------------------------------------------- settling */

static struct log_fields fields_of(const struct request *request, uint32_t status)
{
	struct log_fields fields = log_fields_of(&request->accepted);

	fields.status = status;
	fields.duration_us = now_us() - request->started_us;
	return fields;
}

/* Bytes of " for user 4294967295" with its NUL. */
#define ASKER_SIZE 24

/* Who asked, in a sentence of the log; nothing where the driver does not say. */
static const char *asker(const struct log_fields *fields, char text[ASKER_SIZE])
{
	*text = '\0';
	if (fields->known)
		snprintf(text, ASKER_SIZE, " for user %" PRIu32, fields->uid);
	return text;
}

static void count(const struct request *request, enum metrics_outcome outcome,
		  const struct log_fields *fields)
{
	metrics_request(request->env->metrics, fields->planner, outcome, fields->status,
			fields->duration_us);
}

static void log_outcome(const struct request *request, uint32_t status, const char *message)
{
	struct log_fields fields = fields_of(request, status);
	char who[ASKER_SIZE];

	count(request,
	      status		  ? METRICS_FAILED :
	      request->from_cache ? METRICS_KEPT :
				    METRICS_PLANNED,
	      &fields);
	if (status)
		log_request(LOG_WARNING, &fields,
			    "request %" PRIu64 " failed after %" PRIu64 " ms%s: %s", fields.request,
			    fields.duration_us / 1000, asker(&fields, who), message);
	else
		log_request(LOG_INFO, &fields, "request %" PRIu64 " %s %s in %" PRIu64 " us: %s",
			    fields.request,
			    request->from_cache ? "has the plan kept of" : "planned by",
			    fields.planner, fields.duration_us, message);
}

/* Bytes of the graph that stands before the plan in the answer. */
static size_t answer_head(const struct request *request)
{
	return request->from_cache ? request->kept.entry.head : request->plan.head;
}

/* Send DONE. False: the request had ended before, or has now. */
static bool send_done(const struct request *request, uint32_t status, const char *message)
{
	const struct transport *transport = request->env->transport;
	struct log_fields fields = fields_of(request, status);
	int err;

	/* The protocol takes no larger one; an unknown errno is still a failure. */
	if (status > NPUMEM_MAX_STATUS)
		status = EIO;
	err = transport->ops->done(transport->data, request->accepted.id,
				   &(struct answer){ .status = status,
						     .graph_size = status ? 0 :
									    answer_head(request),
						     .message = status ? message : NULL });
	if (err == -ENOENT) {
		count(request, METRICS_OVER, &fields);
		log_request(LOG_INFO, &fields, "request %" PRIu64 " was over before its answer",
			    fields.request);
	}
	if (err && err != -ENOENT)
		log_request(LOG_ERR, &fields, "request %" PRIu64 ": the answer cannot be sent: %s",
			    fields.request, strerror(-err));
	else if (!err && status)
		log_outcome(request, status, message);
	return !err && !status;
}

/* Answer a request with a status, zero or an errno, and a message. On failure the request ends. */
__attribute__((format(printf, 3, 4))) static void settle(struct request *request, uint32_t status,
							 const char *format, ...)
{
	char message[MESSAGE_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	request->answered = send_done(request, status, message);
	if (!request->answered)
		end(request);
}

static void log_settled(const struct request *request, const struct outcome *outcome)
{
	struct log_fields fields = fields_of(request, outcome->status);
	char who[ASKER_SIZE];

	if (request->told_over)
		return;
	if (!request->answered)
		count(request, METRICS_OVER, &fields);
	else if (outcome->status)
		count(request, outcome->refused ? METRICS_REFUSED : METRICS_FAILED, &fields);
	if (!request->answered)
		log_request(LOG_INFO, &fields,
			    "request %" PRIu64 " was over after %" PRIu64 " ms, %s: %s",
			    fields.request, fields.duration_us / 1000,
			    request->waits ? "in which it waited" : "its planning is stopped",
			    outcome->message);
	else if (outcome->status)
		/*
		 * Where the daemon's verifier accepted the plan and the driver's refused it,
		 * versions differ.
		 */
		log_request(outcome->refused ? LOG_ERR : LOG_NOTICE, &fields,
			    "request %" PRIu64 "%s: the driver %s a plan that was %s here: %s (%s)",
			    fields.request, asker(&fields, who),
			    outcome->refused ? "refused" : "could not take",
			    request->from_cache ? "kept" : "checked", strerror(outcome->status),
			    outcome->message);
	else
		log_outcome(request, 0, request->summary);
}

/* The cache learns what the driver says of the answer. */
static void remember(struct request *request, const struct outcome *outcome)
{
	struct plancache *cache = request->env->cache;
	struct improver *improver = request->env->improver;
	bool was_kept = request->kept.entry.data, stored = true;

	/* What one client has no memory for is as good as before for all others. */
	if (outcome->refused && request->from_cache)
		keep_not(&request->kept, cache);
	if (outcome->status)
		return;
	if (request->plan.data)
		stored = keep_plan(&request->kept, cache, &request->accepted, &request->plan,
				   PLANCACHE_BY_ANSWER, request->given_us);
	if (request->plan.data && request->kept.hashed && cache && stored && request->env->kept)
		request->env->kept(&request->kept.key, request->env->userdata);
	if (!cache || !improver)
		return;
	if (request->plan.data && request->kept.hashed)
		improver_kept(improver, &request->kept, stored);
	if (!stored || !request->policy.improve)
		return;
	if (!was_kept)
		improver_forget(improver, &request->kept);
	improver_add(improver, &request->accepted, &request->kept);
}

/* The driver has settled the request: as the daemon answered, or before it answered. */
static int on_settled(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct request *request = userdata;
	const struct transport *transport = request->env->transport;
	struct outcome outcome = { 0 };
	int err = transport->ops->outcome(transport->data, fd, &outcome);
	struct log_fields fields = fields_of(request, 0);

	if (err)
		log_request(LOG_ERR, &fields,
			    "request %" PRIu64 ": what became of it cannot be read: %s",
			    fields.request, strerror(-err));
	else
		log_settled(request, &outcome);
	if (!err && request->answered)
		remember(request, &outcome);
	end(request);
	return 0;
}

bool request_abort(struct request *request, uint32_t status, const char *message)
{
	if (!request->answered && !request->over)
		send_done(request, status, message);
	return request_drop(request);
}

/* -------------------------------------------------------------- plan, check */

/* Write the answer, which is what is kept or what was planned, to the driver's file. */
static int hand_over(const struct request *request, char *message, size_t size)
{
	const struct plancache_entry *kept = &request->kept.entry;
	const void *data = request->from_cache ? kept->data : request->plan.data;
	size_t bytes = request->from_cache ? kept->size : request->plan.size;
	int err = write_all(request->accepted.fd, data, bytes);

	if (err)
		snprintf(message, size, "the plan of %zu bytes cannot be handed over: %s", bytes,
			 strerror(-err));
	return err;
}

/* What the log says of the answer. */
static void sum_up(struct request *request, const char *text)
{
	snprintf(request->summary, sizeof(request->summary), "%s", text);
}

static void on_checked(struct worker *worker, const struct worker_result *result, void *userdata)
{
	struct request *request = userdata;
	char message[128] = "";
	int err;

	if (result->status == ENOSPC) {
		settle(request, ENOSPC,
		       "planner %s made a plan that [%s] of npumemd.conf forbids: %s",
		       request->accepted.planner, request->policy.name, result->text);
		return;
	}
	if (result->status) {
		settle(request, result->status,
		       planner_judged(result->status) ?
			       "planner %s made a plan that does not pass verification: %s" :
			       "the plan of planner %s cannot be checked: %s",
		       request->accepted.planner, result->text);
		return;
	}
	request->from_cache =
		keep_no_worse(&request->kept, &request->plan, request->config.plan_limit);
	if (request->from_cache)
		sum_up(request, request->kept.entry.text);
	err = hand_over(request, message, sizeof(message));
	settle(request, -err, "%s", message);
}

static void on_spent(uint64_t cpu_us, void *userdata)
{
	const struct request *request = userdata;

	quotas_charge(request->env->quotas, request->account, request->policy.cpu_quota, cpu_us,
		      now_us());
	metrics_cpu(request->env->metrics, cpu_us);
}

static struct worker_args worker_args(struct request *request)
{
	return (struct worker_args){
		.limits = {
			.memory = request->config.memory_limit,
			.cpu_seconds = request->config.cpu_limit,
			.seccomp = request->config.seccomp,
		},
		.result_limit = request->config.plan_limit,
		.deadline_us = request->deadline_us,
		.blobs = {
			{ .fd = request->accepted.fd, .size = request->accepted.graph_size },
			{ .fd = -1 },
		},
		.request = request->accepted.id,
		.nice = (int)request->policy.nice,
		.spent = on_spent,
		.userdata = request,
	};
}

/* Planning has failed. Who is not told of a policy's limit would look for it in vain. */
static void settle_failed(struct request *request, const struct worker_result *result)
{
	uint64_t budget = request->accepted.arena_budget, limit = request->accepted.arena_limit;

	if (result->status == ENOSPC && limit && (!budget || limit < budget))
		settle(request, ENOSPC, "%s ([%s] of npumemd.conf allows %" PRIu64 " bytes)",
		       result->text, request->policy.name, limit);
	else
		settle(request, result->status, "%s", result->text);
}

static bool plan_unhurried(struct request *request, const struct worker_result *result);

static void on_planned(struct worker *worker, const struct worker_result *result, void *userdata)
{
	struct request *request = userdata;
	const struct planner_check task = { .arena_limit = request->accepted.arena_limit };
	struct worker_args args = worker_args(request);
	int err;

	if (result->status) {
		if (!plan_unhurried(request, result))
			settle_failed(request, result);
		return;
	}
	if (!result->size) {
		settle(request, EIO, "the planning process answered with no plan");
		return;
	}
	if (result->head && !request->accepted.cut) {
		settle(request, EIO, "the planning process answered with a graph of its own");
		return;
	}
	request->plan = *result;
	sum_up(request, result->text);
	planner_check_args(&args, &task, result);
	args.done = on_checked;
	err = worker_start(request->env->event, &args, &request->check_worker);
	if (err)
		settle(request, -err, "no process to check the plan in: %s", strerror(-err));
}

static void set_deadline(struct request *request)
{
	uint64_t limit = request->config.time_limit * 1000000;

	request->begun_us = now_us();
	request->deadline_us = request->accepted.deadline_ns > 0 ?
				       (uint64_t)request->accepted.deadline_ns / 1000 :
				       1;
	if (limit && request->deadline_us > request->begun_us + limit)
		request->deadline_us = request->begun_us + limit;
}

/* Whether a plan made in a hurry will be improved. What is kept was looked for. */
static bool searches_later(const struct request *request)
{
	return request->env->cache && request->env->improver && request->config.improve_time &&
	       request->policy.improve &&
	       improver_follows(request->env->improver, &request->accepted, &request->kept);
}

/* Microseconds for planning from then on, which end before its worker is killed at a limit. */
static uint64_t all_time(const struct request *request, uint64_t from_us)
{
	double seconds = (request->deadline_us - from_us) * 1e-6;
	double cpu = request->config.cpu_limit;

	return (uint64_t)(1e6 * PLANNING_SHARE * (cpu && cpu < seconds ? cpu : seconds));
}

/* The rest of the search comes when there is time for it. */
static uint64_t planning_time(const struct request *request)
{
	uint64_t all = all_time(request, request->begun_us);
	uint64_t first = request->config.first_answer * 1000;

	return searches_later(request) && first < all ? first : all;
}

/* Start the worker that plans. */
static int start_worker(struct request *request, char *message, size_t size)
{
	struct worker_args args = worker_args(request);
	struct planner_task task = {
		.objective = request->accepted.objective,
		.arena_budget = request->accepted.arena_budget,
		.arena_limit = request->accepted.arena_limit,
		.memory_limit = request->config.memory_limit,
		.cut = request->accepted.cut,
	};
	int err;

	memcpy(task.planner, request->accepted.planner, sizeof(task.planner));
	task.seconds = request->given_us * 1e-6;
	args.job = PLANNER_PLAN;
	planner_options_blob(&args, &request->accepted);
	args.task = &task;
	args.task_size = sizeof(task);
	args.done = on_planned;
	err = worker_start(request->env->event, &args, &request->plan_worker);
	if (err)
		snprintf(message, size, "no process to plan in: %s", strerror(-err));
	return err;
}

/*
 * Where a planner has no plan in the time of a first answer, the client gets what he would without
 * any search: all of his time. False: that is not so, or it is over.
 */
static bool plan_unhurried(struct request *request, const struct worker_result *result)
{
	char message[MESSAGE_SIZE];
	uint64_t now = now_us();
	int err;

	if (result->status != ETIMEDOUT || !result->own || now >= request->deadline_us ||
	    all_time(request, now) <= request->given_us)
		return false;
	request->given_us = all_time(request, now);
	worker_free(request->plan_worker);
	request->plan_worker = NULL;
	err = start_worker(request, message, sizeof(message));
	if (err)
		settle(request, -err, "%s", message);
	return true;
}

/* @what has used up its time, and has to wait so long. */
static int over_quota(const struct request *request, const char *what, uint64_t wait, char *message,
		      size_t size)
{
	snprintf(message, size,
		 "%s for %s has used up its %" PRIu64 " %% of a processor, the cpu-quota of "
		 "[%s] of npumemd.conf: again in %" PRIu64 " s",
		 what, request->account, request->policy.cpu_quota, request->policy.name,
		 (wait + 999999) / 1000000);
	return -EDQUOT;
}

/* Who has used up his planning time has to wait; what is kept he may have. */
static int check_quota(const struct request *request, char *message, size_t size)
{
	uint64_t wait = quotas_wait_us(request->env->quotas, request->account,
				       request->policy.cpu_quota, now_us());

	return wait ? over_quota(request, "planning", wait, message, size) : 0;
}

/* Looks for what is kept. It reads all of the graph, which takes time of the daemon's own. */
static int look_up(struct request *request, char *message, size_t size)
{
	struct quotas *quotas = request->env->quotas;
	uint64_t per_cent = request->policy.cpu_quota, began = own_cpu_ns(), wait;

	if (!request->env->cache)
		return 0;
	wait = quotas_look_wait_us(quotas, request->account, per_cent, now_us());
	if (wait)
		return over_quota(request, "looking for kept plans", wait, message, size);
	keep_find(&request->kept, request->env->cache, &request->accepted);
	quotas_charge_look(quotas, request->account, per_cent, (own_cpu_ns() - began + 999) / 1000,
			   now_us());
	return 0;
}

static int check_deadline(const struct request *request, char *message, size_t size)
{
	if (request->deadline_us > request->begun_us)
		return 0;
	snprintf(message, size, "the deadline had passed before planning began");
	return -ETIMEDOUT;
}

/* Answer with what is kept, if that is as good as planning from now on, or @from_cache is false. */
static int answer_kept(struct request *request, char *message, size_t size)
{
	int err;

	request->given_us = planning_time(request);
	request->from_cache =
		keep_answers(&request->kept, request->given_us, request->config.plan_limit);
	if (!request->from_cache)
		return 0;
	sum_up(request, request->kept.entry.text);
	err = hand_over(request, message, size);
	/* If the request is over already, the driver says so through its file, too. */
	if (!err) {
		request->answered = send_done(request, 0, "");
		request->told_over = !request->answered;
	}
	return err;
}

/* Answer with what is kept, or wait for a place. */
static int start_answer(struct request *request, char *message, size_t size)
{
	const struct transport *transport = request->env->transport;
	int err = check_deadline(request, message, size);

	if (err)
		return err;
	err = transport->ops->watch(transport->data, request->accepted.fd, request->env->event,
				    on_settled, request, &request->settled);
	if (err) {
		snprintf(message, size, "the request cannot be watched: %s", strerror(-err));
		return err;
	}
	err = look_up(request, message, size);
	if (!err)
		err = answer_kept(request, message, size);
	if (err || request->from_cache)
		return err;
	request->waits = true;
	return check_quota(request, message, size);
}

/* A limit of the policy's takes the place of the configuration's, where that is less strict. */
static void lower(uint64_t *limit, uint64_t policy)
{
	if (policy && (!*limit || policy < *limit))
		*limit = policy;
}

static int apply_limits(struct request *request, char *message, size_t size)
{
	bool moves = request->accepted.objective != NPUMEM_OBJECTIVE_ARENA;
	const struct policy *policy = &request->policy;

	if (!policy->plans) {
		snprintf(message, size, "[%s] of npumemd.conf allows no plans", policy->name);
		return -EACCES;
	}
	request->accepted.arena_limit = policy->arena_limit;
	lower(&request->config.cpu_limit, policy->cpu_limit);
	lower(&request->config.time_limit, policy->time_limit);
	policy_account(policy, &request->accepted, request->account);
	return policy_planner(policy,
			      moves ? request->config.traffic_planner : request->config.planner,
			      moves, request->accepted.planner, message, size);
}

/* Find the client's policy, and hold the request against it. */
static int apply_policy(struct request *request, const struct policies *policies, char *message,
			size_t size)
{
	const struct policy *policy = policy_of(policies, &request->accepted);

	if (!policy) {
		snprintf(message, size,
			 "npumemd.conf says who may ask for what, and the driver does not say who "
			 "asks: it is of an older version, or there are no control groups of "
			 "version 2");
		return -EPERM;
	}
	request->policy = *policy;
	return apply_limits(request, message, size);
}

/* What the configuration says now. */
static int configure(struct request *request, char *message, size_t size)
{
	int err;

	request->config = *request->env->config;
	/* The server's, which may go meanwhile. */
	request->config.policies = NULL;
	memcpy(request->accepted.planner, request->asked, sizeof(request->asked));
	err = apply_policy(request, request->env->config->policies, message, size);
	set_deadline(request);
	return err;
}

/*
 * Others were planned meanwhile, for the same user, too, and perhaps the same; time has passed, and
 * the configuration may be another.
 */
static int start_late(struct request *request, char *message, size_t size)
{
	const struct accepted was = request->accepted;
	int err = configure(request, message, size);

	if (!err)
		err = check_deadline(request, message, size);
	if (err)
		return err;
	if (!memcmp(was.planner, request->accepted.planner, sizeof(was.planner)) &&
	    was.arena_limit == request->accepted.arena_limit)
		keep_find_again(&request->kept, request->env->cache, &request->accepted);
	else
		err = look_up(request, message, size);
	if (!err)
		err = answer_kept(request, message, size);
	return err || request->from_cache ? err : check_quota(request, message, size);
}

void request_plan(struct request *request)
{
	char message[MESSAGE_SIZE];
	int err = request->waited ? start_late(request, message, sizeof(message)) : 0;

	request->waits = false;
	if (!err && !request->from_cache) {
		err = start_worker(request, message, sizeof(message));
		request->has_place = !err;
	}
	if (err)
		settle(request, -err, "%s", message);
}

void request_note(struct request *request, const struct plancache_key *key)
{
	request->looks |= request->waits && request->kept.hashed &&
			  !memcmp(&request->kept.key, key, sizeof(*key));
}

void request_look(struct request *request)
{
	char message[MESSAGE_SIZE];
	int err;

	if (!request->looks)
		return;
	request->looks = false;
	set_deadline(request);
	keep_find_again(&request->kept, request->env->cache, &request->accepted);
	err = answer_kept(request, message, sizeof(message));
	request->waits = !err && !request->from_cache;
	if (request->waits)
		request_wait(request);
	if (err)
		settle(request, -err, "%s", message);
}

void request_wait(struct request *request)
{
	request->waited = true;
	keep_let_go(&request->kept);
}

bool request_waits(const struct request *request)
{
	return request->waits;
}

bool request_has_place(const struct request *request)
{
	return request->has_place;
}

const struct client *request_client(const struct request *request)
{
	return &request->accepted.client;
}

struct request *request_start(const struct request_env *env, const struct accepted *accepted)
{
	struct request *request = calloc(1, sizeof(*request));
	char message[MESSAGE_SIZE];
	int err;

	if (!request) {
		env->transport->ops->done(env->transport->data, accepted->id,
					  &(struct answer){ .status = ENOMEM,
							    .message =
								    "npumemd is out of memory" });
		close(accepted->fd);
		return NULL;
	}
	request->env = env;
	request->accepted = *accepted;
	memcpy(request->asked, accepted->planner, sizeof(request->asked));
	request->started_us = now_us();
	err = configure(request, message, sizeof(message));
	if (!err)
		err = start_answer(request, message, sizeof(message));
	if (!err)
		return request;
	request_abort(request, -err, message);
	return NULL;
}
