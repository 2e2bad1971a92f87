// SPDX-License-Identifier: MIT
#include "request.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "npumem_drm.h"
#include "npumem_netlink.h"
#include "planner.h"
#include "worker.h"

/* Of what is left until the deadline, and of CPU time, the part that planning may use. */
#define PLANNING_SHARE 0.8

/* A worker's text with something before it. */
#define MESSAGE_SIZE (WORKER_TEXT_SIZE + 128)
_Static_assert(MESSAGE_SIZE < TRANSPORT_MESSAGE_SIZE, "reasons fit into the protocol");

/**
 * struct request - one plan request under way
 * @env: shared
 * @accepted: as it came; its planner is never empty
 * @config: as it was when it came
 * @started_us: CLOCK_MONOTONIC
 * @deadline_us: when its workers are killed, CLOCK_MONOTONIC
 * @graph: mapping of the graph blob, @accepted.graph_size bytes
 * @plan_worker: makes, then holds, the plan
 * @check_worker: checks it
 * @plan, @plan_size: in @plan_worker's keeping
 * @summary: of the plan, for the log
 */
struct request {
	const struct request_env *env;
	struct accepted accepted;
	struct config config;
	uint64_t started_us;
	uint64_t deadline_us;
	void *graph;
	struct worker *plan_worker;
	struct worker *check_worker;
	const void *plan;
	size_t plan_size;
	char summary[WORKER_TEXT_SIZE];
};

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void request_free(struct request *request)
{
	worker_free(request->check_worker);
	worker_free(request->plan_worker);
	if (request->graph)
		munmap(request->graph, request->accepted.graph_size);
	close(request->accepted.fd);
	free(request);
}

/* ----------------------------------------------------------------- settling */

static void log_outcome(const struct request *request, uint32_t status, const char *message)
{
	struct log_fields fields = {
		.request = request->accepted.id,
		.planner = request->accepted.planner,
		.status = status,
		.duration_us = now_us() - request->started_us,
	};

	if (status)
		log_request(LOG_WARNING, &fields,
			    "request %" PRIu64 " failed after %" PRIu64 " ms: %s", fields.request,
			    fields.duration_us / 1000, message);
	else
		log_request(LOG_INFO, &fields,
			    "request %" PRIu64 " planned by %s in %" PRIu64 " ms: %s",
			    fields.request, fields.planner, fields.duration_us / 1000, message);
}

static void send_done(const struct request *request, uint32_t status, const char *message)
{
	const struct transport *transport = request->env->transport;
	struct outcome outcome = { 0 };
	int err;

	/* The protocol takes no larger one; an unknown errno is still a failure. */
	if (status > NPUMEM_MAX_STATUS)
		status = EIO;
	err = transport->ops->done(transport->data, request->accepted.id, status,
				   status ? message : NULL, &outcome);
	if (err == -ENOENT)
		log_info("request %" PRIu64 " was over before its answer", request->accepted.id);
	else if (err)
		log_error("request %" PRIu64 ": the answer cannot be sent: %s",
			  request->accepted.id, strerror(-err));
	else if (!status && outcome.status)
		/* Ours checked it and theirs refused it: the two have drifted apart. */
		log_error("request %" PRIu64 ": the driver refused a plan that was checked here: "
			  "%s (%s)",
			  request->accepted.id, strerror(outcome.status), outcome.message);
	else
		log_outcome(request, status, status ? message : request->summary);
}

/* The end of every request that is not aborted. */
static void settle(struct request *request, uint32_t status, const char *message)
{
	send_done(request, status, message);
	request->env->ended(request, request->env->userdata);
	request_free(request);
}

void request_abort(struct request *request, uint32_t status, const char *message)
{
	send_done(request, status, message);
	request_free(request);
}

void request_drop(struct request *request)
{
	request_free(request);
}

/* -------------------------------------------------------------- plan, check */

static int write_plan(const struct request *request)
{
	const uint8_t *at = request->plan;
	size_t left = request->plan_size;

	while (left) {
		ssize_t n = write(request->accepted.fd, at, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		at += n;
		left -= n;
	}
	return 0;
}

static void on_checked(struct worker *worker, const struct worker_result *result, void *userdata)
{
	struct request *request = userdata;
	char message[MESSAGE_SIZE];
	int err;

	if (result->status) {
		snprintf(message, sizeof(message),
			 "planner %s made a plan that does not pass verification: %s",
			 request->accepted.planner, result->text);
		settle(request, result->status, message);
		return;
	}
	err = write_plan(request);
	if (err) {
		snprintf(message, sizeof(message),
			 "the plan of %zu bytes cannot be handed over: %s", request->plan_size,
			 strerror(-err));
		settle(request, -err, message);
		return;
	}
	settle(request, 0, "");
}

static int start_worker(struct request *request, worker_job job, const void *task, worker_done done,
			struct worker **out)
{
	const struct worker_args args = {
		.limits = {
			.memory = request->config.memory_limit,
			.cpu_seconds = request->config.cpu_limit,
			.seccomp = request->config.seccomp,
		},
		.result_limit = request->config.plan_limit,
		.deadline_us = request->deadline_us,
		.job = job,
		.task = task,
		.done = done,
		.userdata = request,
	};

	return worker_start(request->env->event, &args, out);
}

static void on_planned(struct worker *worker, const struct worker_result *result, void *userdata)
{
	struct request *request = userdata;
	struct planner_check_task task;
	char message[128];
	int err;

	if (result->status) {
		settle(request, result->status, result->text);
		return;
	}
	if (!result->size) {
		settle(request, EIO, "the planning process answered with no plan");
		return;
	}
	request->plan = result->data;
	request->plan_size = result->size;
	snprintf(request->summary, sizeof(request->summary), "%s", result->text);
	task = (struct planner_check_task){
		.graph = request->graph,
		.graph_size = request->accepted.graph_size,
		.plan = request->plan,
		.plan_size = request->plan_size,
	};
	/* The child has its own copy of the task from the moment it is forked. */
	err = start_worker(request, planner_check, &task, on_checked, &request->check_worker);
	if (err) {
		snprintf(message, sizeof(message), "no process to check the plan in: %s",
			 strerror(-err));
		settle(request, -err, message);
	}
}

static void set_deadline(struct request *request)
{
	uint64_t limit = request->config.time_limit * 1000000;

	request->started_us = now_us();
	request->deadline_us = request->accepted.deadline_ns > 0 ?
				       (uint64_t)request->accepted.deadline_ns / 1000 :
				       1;
	if (limit && request->deadline_us > request->started_us + limit)
		request->deadline_us = request->started_us + limit;
}

/* Planning ends before its worker is killed, at the deadline or the limit of CPU time. */
static double planning_seconds(const struct request *request)
{
	double seconds = (request->deadline_us - request->started_us) * 1e-6;
	double cpu = request->config.cpu_limit;

	return PLANNING_SHARE * (cpu && cpu < seconds ? cpu : seconds);
}

static int start_planning(struct request *request, char *message, size_t size)
{
	struct planner_task task = {
		.graph_size = request->accepted.graph_size,
		.planner = request->accepted.planner,
		.objective = request->accepted.objective,
		.arena_budget = request->accepted.arena_budget,
		.memory_limit = request->config.memory_limit,
	};
	void *graph;
	int err;

	if (request->deadline_us <= request->started_us) {
		snprintf(message, size, "the deadline had passed before planning began");
		return -ETIMEDOUT;
	}
	graph = mmap(NULL, request->accepted.graph_size, PROT_READ, MAP_SHARED,
		     request->accepted.fd, 0);
	if (graph == MAP_FAILED) {
		err = -errno;
		snprintf(message, size, "the graph of %" PRIu64 " bytes cannot be mapped: %s",
			 request->accepted.graph_size, strerror(-err));
		return err;
	}
	request->graph = graph;
	task.graph = graph;
	task.seconds = planning_seconds(request);
	err = start_worker(request, planner_plan, &task, on_planned, &request->plan_worker);
	if (err)
		snprintf(message, size, "no process to plan in: %s", strerror(-err));
	return err;
}

struct request *request_start(const struct request_env *env, const struct accepted *accepted)
{
	struct request *request = calloc(1, sizeof(*request));
	struct outcome outcome;
	char message[128];
	int err;

	if (!request) {
		env->transport->ops->done(env->transport->data, accepted->id, ENOMEM,
					  "npumemd is out of memory", &outcome);
		close(accepted->fd);
		return NULL;
	}
	request->env = env;
	request->accepted = *accepted;
	request->config = *env->config;
	if (!request->accepted.planner[0])
		snprintf(request->accepted.planner, sizeof(request->accepted.planner), "%s",
			 request->accepted.objective == NPUMEM_OBJECTIVE_TRAFFIC ?
				 request->config.traffic_planner :
				 request->config.planner);
	set_deadline(request);
	err = start_planning(request, message, sizeof(message));
	if (!err)
		return request;
	request_abort(request, -err, message);
	return NULL;
}
