// SPDX-License-Identifier: MIT
/* libnpumem: graphs, plans, and reasons made of verdicts and logs. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xf86drm.h>

#include "device.h"
#include "npumem_fake.h"
#include "unit.h"

/* ------------------------------------------------------------------- errors */

TEST_WITH(verdict_text, objects_setup, objects_teardown)
{
	struct npumem_verdict v = no_verdict;

	v.rule = NPUMEM_RULE_V4_WRITE;
	v.position = 12;
	v.step = 5;
	v.tile = 7;
	v.tensor = 3;
	v.first = 4096;
	v.length = 256;
	v.other_tensor = 1;
	v.other_step = 9;
	assert_error(npumem_fail_verdict(&error, -EINVAL, "the plan", &v, "V4: a over b\n"),
		     -EINVAL,
		     "the plan was refused: rule \"V4 write\", position 12, step 5, "
		     "tile 7, tensor 3, bytes [4096, 4352) of the arena; against tensor 1, step 9. "
		     "V4: a over b");
	assert_int_equal(error.verdict.rule, NPUMEM_RULE_V4_WRITE);

	v = no_verdict;
	v.rule = NPUMEM_RULE_FORMAT;
	v.first = 8;
	v.length = 8;
	assert_error(npumem_fail_verdict(&error, -EBADMSG, "the graph", &v, ""), -EBADMSG,
		     "the graph was refused: rule \"format\", bytes [8, 16) of the blob");
	assert_error(npumem_fail_verdict(&error, -EBADMSG, "the graph", &no_verdict, "log only"),
		     -EBADMSG, "the graph was refused. log only");
	assert_error(npumem_fail_verdict(&error, -ENOMEM, "the graph", &no_verdict, NULL), -ENOMEM,
		     "cannot accept the graph: Cannot allocate memory");
	assert_int_equal(error.verdict.rule, NPUMEM_RULE_NONE);
	assert_int_equal(npumem_fail_verdict(NULL, -EINVAL, "the plan", &v, NULL), -EINVAL);
}

/* Whatever is said, it is cut and not overrun. */
TEST_WITH(long_text, objects_setup, objects_teardown)
{
	char log[4096];

	memset(log, 'x', sizeof(log) - 1);
	log[sizeof(log) - 1] = '\0';
	npumem_fail_verdict(&error, -EINVAL, "the plan", &no_verdict, log);
	assert_int_equal(strlen(error.text), sizeof(error.text) - 1);
	npumem_fail(&error, -EINVAL, "%s", log);
	assert_int_equal(strlen(error.text), sizeof(error.text) - 1);
	npumem_fail_errno(&error, -EINVAL, "%s", log);
	assert_int_equal(strlen(error.text), sizeof(error.text) - 1);
}

TEST_WITH(rule_names, objects_setup, objects_teardown)
{
	static const uint32_t rules[] = {
		NPUMEM_RULE_NONE,	  NPUMEM_RULE_V1_BOUNDS,     NPUMEM_RULE_V2_ORDER,
		NPUMEM_RULE_V3_READ,	  NPUMEM_RULE_V4_WRITE,	     NPUMEM_RULE_V5_SPILL,
		NPUMEM_RULE_V6_EDGE,	  NPUMEM_RULE_V7_EXIT,	     NPUMEM_RULE_FORMAT,
		NPUMEM_RULE_ENFORCE_READ, NPUMEM_RULE_ENFORCE_WRITE, NPUMEM_RULE_ENFORCE_TWICE,
		NPUMEM_RULE_ENFORCE_LOST, NPUMEM_RULE_ENFORCE_EDGE,  NPUMEM_RULE_ENFORCE_BIND,
	};

	/* Each has a name of its own. */
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		assert_string_not_equal(npumem_rule_name(rules[i]), "unknown rule");
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(npumem_rule_name(rules[i]),
						npumem_rule_name(rules[j]));
	}
	assert_string_equal(npumem_rule_name(99), "unknown rule");
}

TEST_WITH(errno_text, objects_setup, objects_teardown)
{
	assert_error(npumem_fail_errno(&error, -ENOTCONN, "request a plan"), -ENOTCONN,
		     "cannot request a plan: Transport endpoint is not connected (no planning "
		     "daemon is registered; start npumemd, or load a plan made offline)");
	assert_error(npumem_fail_errno(&error, -4000, "x"), -4000, "cannot x: error 4000");
}

/* ---------------------------------------------------------- graphs and plans */

static int refuse(unsigned long request, void *argument)
{
	struct drm_npumem_graph_create *graph = argument;
	struct drm_npumem_plan_load *plan = argument;
	struct npumem_verdict verdict = no_verdict;
	struct drm_npumem_buffer *to;
	struct drm_npumem_log *log;

	if (request == DRM_IOCTL_NPUMEM_GRAPH_CREATE) {
		log = &graph->log;
		to = &graph->verdict;
	} else if (request == DRM_IOCTL_NPUMEM_PLAN_LOAD) {
		log = &plan->log;
		to = &plan->verdict;
	} else {
		return fake_default(request, argument);
	}
	verdict.rule = NPUMEM_RULE_V1_BOUNDS;
	verdict.tensor = 4;
	fake_give(to, &verdict, sizeof(verdict));
	if (log->text.size)
		snprintf((char *)(uintptr_t)log->text.ptr, log->text.size,
			 "tensor 4 is outside the arena");
	log->text.size = 30;
	return EINVAL;
}

TEST_WITH(refused, objects_setup, objects_teardown)
{
	struct objects *o = *state;
	struct npumem_graph *graph;
	struct npumem_plan *plan;
	char text[12];
	struct npumem_log log = { .text = text, .size = sizeof(text), .level = 1 };

	fake.handler = refuse;
	assert_error(npumem_graph_new(o->device, "g", 1, NULL, &graph, &error), -EINVAL,
		     "the graph was refused: rule \"V1 bounds\", tensor 4. tensor 4 is outside the "
		     "arena");
	/* The caller's log: cut short, and told how long it is. */
	assert_error(npumem_plan_load(o->graph, "p", 1, &log, &plan, &error), -EINVAL,
		     "the plan was refused: rule \"V1 bounds\", tensor 4. tensor 4 is");
	assert_string_equal(text, "tensor 4 is");
	assert_int_equal(log.true_size, 30);
	/* A caller who wants no log still gets the reason. */
	log.level = 0;
	assert_error(npumem_plan_load(o->graph, "p", 1, &log, &plan, &error), -EINVAL,
		     "the plan was refused: rule \"V1 bounds\", tensor 4. tensor 4 is outside the "
		     "arena");
	assert_int_equal(log.true_size, 0);
}

TEST_WITH(arguments, objects_setup, objects_teardown)
{
	struct objects *o = *state;
	struct npumem_request request = { .deadline = 1 };
	struct npumem_run_stats stats;
	struct npumem_graph *graph;
	struct npumem_plan *plan;
	struct npumem_run *run;
	size_t size;

	assert_error(npumem_graph_new(o->device, NULL, 0, NULL, &graph, &error), -EINVAL,
		     "npumem_graph_new: NULL argument");
	assert_error(npumem_plan_load(NULL, "p", 1, NULL, &plan, &error), -EINVAL,
		     "npumem_plan_load: NULL argument");
	assert_error(npumem_plan_request(o->graph, NULL, &plan, &error), -EINVAL,
		     "npumem_plan_request: NULL argument");
	assert_error(npumem_plan_wait(NULL, 0, &error), -EINVAL, "npumem_plan_wait: NULL argument");
	assert_error(npumem_plan_get_stats(o->plan, NULL, &error), -EINVAL,
		     "npumem_plan_stats: NULL argument");
	assert_error(npumem_plan_read(o->plan, NULL, &size, &error), -EINVAL,
		     "npumem_plan_read: NULL argument");
	assert_error(npumem_plan_graph(o->plan, NULL, &size, &error), -EINVAL,
		     "npumem_plan_graph: NULL argument");
	assert_error(npumem_run_new(o->plan, 0, NULL, NULL, &error), -EINVAL,
		     "npumem_run_new: NULL argument");
	assert_error(npumem_run_new(NULL, 0, NULL, &run, &error), -EINVAL,
		     "npumem_run_new: NULL argument");
	assert_error(npumem_run_bind(NULL, 0, NULL, 0, &error), -EINVAL,
		     "npumem_run_bind: NULL argument");
	assert_error(npumem_run_reset(NULL, &error), -EINVAL, "npumem_run_reset: NULL argument");
	assert_error(npumem_run_get_stats(o->run, NULL, &error), -EINVAL,
		     "npumem_run_stats: NULL argument");
	assert_error(npumem_run_get_stats(NULL, &stats, &error), -EINVAL,
		     "npumem_run_stats: NULL argument");
	assert_error(npumem_run_submit(o->run, NULL, &error), -EINVAL,
		     "npumem_run_submit: NULL argument");

	request.deadline = 0;
	assert_error(npumem_plan_request(o->graph, &request, &plan, &error), -EINVAL,
		     "a plan request needs a deadline");
	request.deadline = INT64_MAX;
	assert_error(npumem_plan_request(o->graph, &request, &plan, &error), -EINVAL,
		     "the deadline of a plan request is more than 3600 s away");
	request.deadline = 1;
	request.planner = "a-name-that-is-32-characters-now";
	assert_error(npumem_plan_request(o->graph, &request, &plan, &error), -EINVAL,
		     "planner name \"a-name-that-is-32-characters-now\" is longer than 31 bytes");
	assert_int_equal(fake.calls, 0);
	npumem_graph_free(NULL);
	npumem_plan_free(NULL);
	npumem_run_free(NULL);
}

TEST_WITH(request, objects_setup, objects_teardown)
{
	const struct npumem_request request = {
		.planner = "a-name-that-is-31-characters-ok",
		.objective = NPUMEM_OBJECTIVE_TRAFFIC,
		.arena_budget = 4096,
		.deadline = 77,
	};
	struct drm_npumem_plan_request *args = (void *)fake.before;
	struct objects *o = *state;
	struct npumem_plan *plan;
	void *blob;
	size_t size;

	assert_int_equal(npumem_plan_request(o->graph, &request, &plan, &error), 0);
	assert_int_equal(args->graph, 7);
	assert_int_equal(args->objective, NPUMEM_OBJECTIVE_TRAFFIC);
	assert_int_equal(args->arena_budget, 4096);
	assert_int_equal(args->deadline_ns, 77);
	assert_int_equal(args->out_sync, 21);
	assert_string_equal(args->planner, request.planner);
	assert_int_equal(npumem_plan_handle(plan), 9);

	assert_int_equal(npumem_plan_wait(plan, 55, &error), 0);
	assert_int_equal(fake.waited[0], 21);
	assert_int_equal(fake.wait_deadline, 55);
	assert_int_equal(npumem_plan_read(plan, &blob, &size, &error), 0);
	assert_string_equal(blob, "a plan blob");
	assert_int_equal(size, sizeof("a plan blob"));
	free(blob);
	assert_int_equal(npumem_plan_graph(plan, &blob, &size, &error), 0);
	assert_string_equal(blob, "a graph blob");
	assert_int_equal(size, sizeof("a graph blob"));
	free(blob);
	npumem_plan_free(plan);
	assert_int_equal(fake.syncs_gone, fake.syncs_made);
}

/* What is asked for beyond the ioctl's fields goes as options; some of it lets the daemon cut. */
TEST_WITH(request_with_options, objects_setup, objects_teardown)
{
	struct npumem_request request = { .deadline = 77, .work_limit = 5 };
	struct drm_npumem_plan_request *args = (void *)fake.before;
	struct objects *o = *state;
	struct npumem_plan *plan;

	assert_int_equal(npumem_plan_request(o->graph, &request, &plan, &error), 0);
	assert_int_equal(args->flags, 0);
	assert_int_equal(args->options.size, 16);
	npumem_plan_free(plan);
	request.bands = 2;
	assert_int_equal(npumem_plan_request(o->graph, &request, &plan, &error), 0);
	assert_int_equal(args->flags, NPUMEM_PLAN_REQUEST_CUT);
	assert_int_equal(args->options.size, 32);
	npumem_plan_free(plan);
	request = (struct npumem_request){ .deadline = 77 };
	assert_int_equal(npumem_plan_request(o->graph, &request, &plan, &error), 0);
	assert_int_equal(args->options.ptr, 0);
	assert_int_equal(args->options.size, 0);
	npumem_plan_free(plan);
	request.traffic_factor = 0.5;
	assert_error(npumem_plan_request(o->graph, &request, &plan, &error), -EINVAL,
		     "a factor of traffic is 1 or more, not 0.5");
}

static int no_daemon(unsigned long request, void *argument)
{
	return ENOTCONN;
}

static int pending(unsigned long request, void *argument)
{
	if (request == DRM_IOCTL_NPUMEM_PLAN_READ) {
		((struct drm_npumem_plan_read *)argument)->state = NPUMEM_PLAN_STATE_PENDING;
		return 0;
	}
	return fake_default(request, argument);
}

static uint32_t failed_rule, failed_errno;
static const char *failed_message;

static int failed(unsigned long request, void *argument)
{
	struct drm_npumem_plan_read *args = argument;
	struct npumem_verdict verdict = no_verdict;

	if (request != DRM_IOCTL_NPUMEM_PLAN_READ)
		return fake_default(request, argument);
	args->state = NPUMEM_PLAN_STATE_FAILED;
	args->error = failed_errno;
	verdict.rule = failed_rule;
	fake_give(&args->verdict, &verdict, sizeof(verdict));
	if (args->message.ptr && failed_message)
		snprintf((char *)(uintptr_t)args->message.ptr, args->message.size, "%s",
			 failed_message);
	return 0;
}

TEST_WITH(request_failures, objects_setup, objects_teardown)
{
	const struct npumem_request request = { .deadline = 1 };
	struct objects *o = *state;
	struct npumem_plan *plan;
	void *blob;
	size_t size;

	fake.sync_error = ENOMEM;
	assert_error(npumem_plan_request(o->graph, &request, &plan, &error), -ENOMEM,
		     "cannot create a syncobj: Cannot allocate memory");
	fake.sync_error = 0;
	fake.handler = no_daemon;
	assert_int_equal(npumem_plan_request(o->graph, &request, &plan, &error), -ENOTCONN);
	assert_int_equal(fake.syncs_gone, fake.syncs_made);

	fake.handler = pending;
	assert_int_equal(npumem_plan_request(o->graph, &request, &plan, &error), 0);
	fake.wait_error = -ETIME;
	assert_error(npumem_plan_wait(plan, 1, &error), -EINPROGRESS,
		     "the plan is still being made");
	assert_error(npumem_plan_read(plan, &blob, &size, &error), -EBUSY,
		     "the plan is still being made");
	fake.wait_error = 0;
	assert_error(npumem_plan_wait(plan, 1, &error), -EPROTO,
		     "the driver signalled a plan that it calls pending");
	fake.wait_error = -EINVAL;
	assert_error(npumem_plan_wait(plan, 1, &error), -EINVAL,
		     "cannot wait for a plan: Invalid argument");
	fake.wait_error = 0;

	fake.handler = failed;
	failed_errno = ENOSPC;
	failed_rule = NPUMEM_RULE_NONE;
	failed_message = "needs 1.8 MiB, budget 1.5 MiB";
	assert_error(npumem_plan_wait(plan, 1, &error), -ENOSPC,
		     "no plan was made: needs 1.8 MiB, budget 1.5 MiB");
	failed_message = NULL;
	failed_errno = ETIMEDOUT;
	assert_error(npumem_plan_wait(plan, 1, &error), -ETIMEDOUT,
		     "no plan was made, and nothing says why: Connection timed out");
	failed_rule = NPUMEM_RULE_V3_READ;
	failed_errno = EINVAL;
	failed_message = "V3: a byte";
	assert_error(npumem_plan_wait(plan, 1, &error), -EINVAL,
		     "the daemon's plan was refused: rule \"V3 read\". V3: a byte");
	assert_error(npumem_plan_read(plan, &blob, &size, &error), -ENOEXEC,
		     "the plan's request failed; it has no blob");
	npumem_plan_free(plan);
}

/* A loaded plan has no request to wait for. */
TEST_WITH(loaded_plan, objects_setup, objects_teardown)
{
	struct objects *o = *state;
	struct npumem_plan_stats stats;

	fake.wait_error = -EINVAL;
	assert_int_equal(npumem_plan_wait(o->plan, 0, &error), 0);
	assert_int_equal(npumem_plan_get_stats(o->plan, &stats, &error), 0);
	assert_int_equal(stats.state, NPUMEM_PLAN_STATE_READY);
	assert_int_equal(stats.arena_size, 5000);
	assert_int_equal(stats.blob_size, sizeof("a plan blob"));
}
