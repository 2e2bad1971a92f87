// SPDX-License-Identifier: MIT
/* libnpumem: graphs, plans, runs, jobs, and reasons made of verdicts and logs. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xf86drm.h>

#include "blob.h"
#include "device.h"
#include "npumem_fake.h"
#include "npumem_plan.h"
#include "unit.h"

/* Everything that a test of jobs needs. */
struct objects {
	struct npumem_device *device;
	struct npumem_graph *graph;
	struct npumem_plan *plan;
	struct npumem_run *run;
};

static struct npumem_error error;

static int setup(void **state)
{
	static struct objects o;

	fake_reset();
	memset(&error, 0, sizeof(error));
	o.device = fake_device();
	assert_int_equal(npumem_graph_new(o.device, "g", 1, NULL, &o.graph, &error), 0);
	assert_int_equal(npumem_plan_load(o.graph, "p", 1, NULL, &o.plan, &error), 0);
	assert_int_equal(npumem_run_new(o.plan, 0, NULL, &o.run, &error), 0);
	fake.calls = 0;
	*state = &o;
	return 0;
}

static int teardown(void **state)
{
	struct objects *o = *state;

	/* In an order that nobody would choose. */
	npumem_device_close(o->device);
	npumem_graph_free(o->graph);
	npumem_plan_free(o->plan);
	npumem_run_free(o->run);
	return 0;
}

static void assert_error(int err, int expected, const char *text)
{
	assert_int_equal(err, expected);
	assert_int_equal(error.code, expected);
	assert_string_equal(error.text, text);
}

/* ------------------------------------------------------------------- errors */

static const struct npumem_verdict no_verdict = {
	.position = NPUMEM_NONE,
	.step = NPUMEM_NONE,
	.tile = NPUMEM_NONE,
	.tensor = NPUMEM_NONE,
	.other_step = NPUMEM_NONE,
	.other_tile = NPUMEM_NONE,
	.other_tensor = NPUMEM_NONE,
};

TEST_WITH(verdict_text, setup, teardown)
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
TEST_WITH(long_text, setup, teardown)
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

TEST_WITH(rule_names, setup, teardown)
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

TEST_WITH(errno_text, setup, teardown)
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
	struct npumem_verdict *verdict;
	struct drm_npumem_log *log;

	if (request == DRM_IOCTL_NPUMEM_GRAPH_CREATE) {
		log = &graph->log;
		verdict = &graph->verdict;
	} else if (request == DRM_IOCTL_NPUMEM_PLAN_LOAD) {
		log = &plan->log;
		verdict = &plan->verdict;
	} else {
		return fake_default(request, argument);
	}
	*verdict = no_verdict;
	verdict->rule = NPUMEM_RULE_V1_BOUNDS;
	verdict->tensor = 4;
	log->true_size = 30;
	if (log->size)
		snprintf((char *)(uintptr_t)log->ptr, log->size, "tensor 4 is outside the arena");
	return EINVAL;
}

TEST_WITH(refused, setup, teardown)
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

TEST_WITH(arguments, setup, teardown)
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
	assert_error(npumem_plan_stats(o->plan, NULL, &error), -EINVAL,
		     "npumem_plan_stats: NULL argument");
	assert_error(npumem_plan_read(o->plan, NULL, &size, &error), -EINVAL,
		     "npumem_plan_read: NULL argument");
	assert_error(npumem_run_new(o->plan, 0, NULL, NULL, &error), -EINVAL,
		     "npumem_run_new: NULL argument");
	assert_error(npumem_run_new(NULL, 0, NULL, &run, &error), -EINVAL,
		     "npumem_run_new: NULL argument");
	assert_error(npumem_run_bind(NULL, 0, NULL, 0, &error), -EINVAL,
		     "npumem_run_bind: NULL argument");
	assert_error(npumem_run_reset(NULL, &error), -EINVAL, "npumem_run_reset: NULL argument");
	assert_error(npumem_run_stats(o->run, NULL, &error), -EINVAL,
		     "npumem_run_stats: NULL argument");
	assert_error(npumem_run_stats(NULL, &stats, &error), -EINVAL,
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

TEST_WITH(request, setup, teardown)
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
	npumem_plan_free(plan);
	assert_int_equal(fake.syncs_gone, fake.syncs_made);
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

	if (request != DRM_IOCTL_NPUMEM_PLAN_READ)
		return fake_default(request, argument);
	args->state = NPUMEM_PLAN_STATE_FAILED;
	args->error = failed_errno;
	args->verdict = no_verdict;
	args->verdict.rule = failed_rule;
	if (args->message && failed_message)
		snprintf((char *)(uintptr_t)args->message, args->message_size, "%s",
			 failed_message);
	return 0;
}

TEST_WITH(request_failures, setup, teardown)
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
		     "cannot get a plan: Connection timed out (the deadline passed)");
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
TEST_WITH(loaded_plan, setup, teardown)
{
	struct objects *o = *state;
	struct npumem_plan_stats stats;

	fake.wait_error = -EINVAL;
	assert_int_equal(npumem_plan_wait(o->plan, 0, &error), 0);
	assert_int_equal(npumem_plan_stats(o->plan, &stats, &error), 0);
	assert_int_equal(stats.state, NPUMEM_PLAN_STATE_READY);
	assert_int_equal(stats.arena_size, 5000);
	assert_int_equal(stats.blob_size, sizeof("a plan blob"));
}

/* ------------------------------------------------------- what a plan says */

static void *plan_blob;
static size_t plan_blob_size;

static int says_plan(unsigned long request, void *argument)
{
	struct drm_npumem_plan_read *args = argument;

	if (request != DRM_IOCTL_NPUMEM_PLAN_READ)
		return fake_default(request, argument);
	args->state = NPUMEM_PLAN_STATE_READY;
	if (args->blob)
		memcpy((void *)(uintptr_t)args->blob, plan_blob, plan_blob_size);
	args->size = plan_blob_size;
	return 0;
}

static const struct npumem_placement placements[] = {
	{ .tensor = 2, .from = 0, .to = 1, .offset = 64, .region = { .count = { 1, 1, 1 } } },
	{ .tensor = 2, .from = 4, .to = 4, .offset = 128, .region = { .count = { 1, 1, 1 } } },
	{ .tensor = 3, .from = 0, .to = 4, .offset = 256, .region = { .count = { 2, 1, 1 } } },
	{ .tensor = 4, .from = 0, .to = 4, .offset = 512, .region = { .count = { 1, 1, 1 } } },
	{ .tensor = 4, .from = 2, .to = 4, .offset = 576, .region = { .count = { 1, 1, 1 } } },
};

/* Placements whose records have @stride bytes. */
static void make_plan(uint32_t stride)
{
	const uint32_t count = sizeof(placements) / sizeof(placements[0]);
	const size_t known = stride < sizeof(placements[0]) ? stride : sizeof(placements[0]);
	uint8_t *records = calloc(count, stride);
	struct npublob_section section = { NPUMEM_PLAN_SECTION_PLACEMENTS, stride, count, records };

	assert_non_null(records);
	for (uint32_t i = 0; i < count; i++)
		memcpy(records + (size_t)i * stride, &placements[i], known);
	free(plan_blob);
	assert_int_equal(npublob_write(NPUMEM_PLAN_MAGIC, &section, 1, &plan_blob, &plan_blob_size),
			 0);
	free(records);
	fake.handler = says_plan;
}

/* Records of other lengths than the caller's are cut, or continued by zeros. */
TEST_WITH(records, setup, teardown)
{
	static const uint32_t strides[] = { sizeof(struct npumem_placement),
					    sizeof(struct npumem_placement) + 8,
					    sizeof(struct npumem_placement) - 8 };
	struct objects *o = *state;
	struct npumem_placement *list;
	void *records;
	uint32_t count;

	for (size_t i = 0; i < sizeof(strides) / sizeof(strides[0]); i++) {
		make_plan(strides[i]);
		assert_int_equal(npumem_plan_records(o->plan, NPUMEM_PLAN_SECTION_PLACEMENTS,
						     sizeof(*list), &records, &count, &error),
				 0);
		list = records;
		assert_int_equal(count, sizeof(placements) / sizeof(placements[0]));
		for (uint32_t p = 0; p < count; p++)
			assert_memory_equal(&list[p], &placements[p], sizeof(*list));
		free(records);
		assert_int_equal(npumem_plan_records(o->plan, NPUMEM_PLAN_SECTION_EDGES, 16,
						     &records, &count, &error),
				 0);
		assert_int_equal(count, 0);
		free(records);
	}
	assert_error(npumem_plan_records(o->plan, NPUMEM_PLAN_SECTION_EDGES, 0, &records, &count,
					 &error),
		     -EINVAL, "npumem_plan_records: NULL argument");
	((struct npumem_blob_header *)plan_blob)->section_count = 33333;
	assert_error(npumem_plan_records(o->plan, NPUMEM_PLAN_SECTION_EDGES, 16, &records, &count,
					 &error),
		     -EPROTO, "the driver gave a plan in a format that is not known here");
	make_plan(sizeof(placements[0]));
	((struct npumem_blob_section *)((struct npumem_blob_header *)plan_blob + 1))->count++;
	assert_error(npumem_plan_records(o->plan, NPUMEM_PLAN_SECTION_PLACEMENTS, 16, &records,
					 &count, &error),
		     -EPROTO, "section 2 of the driver's plan is beyond its end");
	plan_blob_size = 5;
	assert_error(npumem_plan_records(o->plan, NPUMEM_PLAN_SECTION_PLACEMENTS, 16, &records,
					 &count, &error),
		     -EPROTO, "the driver gave a plan of 5 bytes");
	free(plan_blob);
	plan_blob = NULL;
}

TEST_WITH(offset, setup, teardown)
{
	struct objects *o = *state;
	uint64_t offset;

	make_plan(sizeof(placements[0]));
	assert_int_equal(npumem_plan_offset(o->plan, 2, 0, &offset, &error), 0);
	assert_int_equal(offset, 64);
	assert_int_equal(npumem_plan_offset(o->plan, 2, 1, &offset, &error), 0);
	assert_int_equal(offset, 64);
	assert_int_equal(npumem_plan_offset(o->plan, 2, 4, &offset, &error), 0);
	assert_int_equal(offset, 128);
	assert_int_equal(npumem_plan_offset(o->plan, 4, 1, &offset, &error), 0);
	assert_int_equal(offset, 512);
	assert_error(npumem_plan_offset(o->plan, 2, 2, &offset, &error), -ENOENT,
		     "tensor 2 is not in the arena at position 2");
	assert_error(npumem_plan_offset(o->plan, 3, 2, &offset, &error), -EOPNOTSUPP,
		     "tensor 3 lies in pieces at position 2; read its placements");
	assert_error(npumem_plan_offset(o->plan, 4, 2, &offset, &error), -EOPNOTSUPP,
		     "tensor 4 lies in pieces at position 2; read its placements");
	assert_error(npumem_plan_offset(o->plan, 4, 2, NULL, &error), -EINVAL,
		     "npumem_plan_offset: NULL argument");
	free(plan_blob);
	plan_blob = NULL;
}

/* -------------------------------------------------------------- runs and jobs */

TEST_WITH(run, setup, teardown)
{
	struct objects *o = *state;
	struct npumem_bo *arena = npumem_run_arena(o->run);
	void *map;

	assert_int_equal(npumem_bo_handle(arena), 11);
	assert_int_equal(npumem_bo_size(arena), 8192);
	assert_int_equal(npumem_bo_map(arena, &map, &error), 0);
	assert_int_equal(npumem_run_reset(o->run, &error), 0);
}

static int refuses_query(unsigned long request, void *argument)
{
	return request == DRM_IOCTL_NPUMEM_RUN_QUERY ? ENOENT : fake_default(request, argument);
}

TEST_WITH(run_stats, setup, teardown)
{
	const struct drm_npumem_run_query *args = (const void *)fake.before;
	struct npumem_run_stats stats;
	struct objects *o = *state;

	fake.interrupts = 1;
	assert_int_equal(npumem_run_stats(o->run, &stats, &error), 0);
	assert_int_equal(args->run, 10);
	assert_int_equal(args->flags, 0);
	assert_int_equal(stats.block, NPUMEM_NONE);
	assert_int_equal(stats.error, EIO);
	assert_int_equal(stats.submitted, 12);
	assert_int_equal(stats.load_bytes, 1);
	assert_int_equal(stats.spill_bytes, 2);
	assert_int_equal(stats.store_bytes, 3);
	assert_int_equal(stats.fill_bytes, 4);
	fake.handler = refuses_query;
	assert_error(npumem_run_stats(o->run, &stats, &error), -ENOENT,
		     "cannot query a run: No such file or directory");
}

static int refuses_binding(unsigned long request, void *argument)
{
	return request == DRM_IOCTL_NPUMEM_RUN_BIND ? EBUSY : fake_default(request, argument);
}

TEST_WITH(bind, setup, teardown)
{
	struct drm_npumem_run_bind *args = (void *)fake.before;
	struct objects *o = *state;
	struct npumem_bo *bo;

	assert_int_equal(npumem_bo_new(o->device, 5000, NPUMEM_BO_SYSTEM, 0, &bo, &error), 0);
	assert_int_equal(npumem_run_bind(o->run, 3, bo, 64, &error), 0);
	assert_int_equal(args->run, 10);
	assert_int_equal(args->tensor, 3);
	assert_int_equal(args->bo, 5);
	assert_int_equal(args->flags, 0);
	assert_int_equal(args->offset, 64);
	assert_int_equal(npumem_run_bind(o->run, 3, NULL, 0, &error), 0);
	assert_int_equal(args->bo, 0);
	fake.handler = refuses_binding;
	assert_error(npumem_run_bind(o->run, 3, bo, 64, &error), -EBUSY,
		     "cannot bind tensor 3 to bytes from 64 of a BO of 8192: Device or resource "
		     "busy (jobs or requests are under way; wait for them)");
	assert_error(npumem_run_bind(o->run, 3, NULL, 0, &error), -EBUSY,
		     "cannot bind tensor 3 to nothing: Device or resource busy (jobs or requests "
		     "are under way; wait for them)");
	npumem_bo_free(bo);
}

TEST_WITH(dmabuf, setup, teardown)
{
	struct objects *o = *state;
	struct npumem_bo *bo;
	FILE *file = tmpfile();
	int fd;

	assert_non_null(file);
	assert_int_equal(ftruncate(fileno(file), 12288), 0);
	assert_int_equal(npumem_bo_import(o->device, fileno(file), &bo, &error), 0);
	assert_int_equal(npumem_bo_handle(bo), 30);
	assert_int_equal(npumem_bo_size(bo), 12288);
	assert_int_equal(npumem_bo_export(bo, false, &fd, &error), 0);
	assert_int_equal(fd, 31);
	assert_int_equal(fake.prime_flags, DRM_CLOEXEC);
	assert_int_equal(npumem_bo_export(bo, true, &fd, &error), 0);
	assert_int_equal(fake.prime_flags, DRM_CLOEXEC | DRM_RDWR);
	fake.prime_error = ENOSYS;
	assert_error(npumem_bo_export(bo, true, &fd, &error), -ENOSYS,
		     "cannot export a BO as a dma-buf: Function not implemented");
	npumem_bo_free(bo);
	assert_int_equal(fake.closed_handle, 30);
	assert_error(npumem_bo_import(o->device, 77, &bo, &error), -ENOSYS,
		     "cannot import descriptor 77 as a dma-buf: Function not implemented");
	/* Its size cannot be told: the handle is given back. */
	fake.prime_error = 0;
	fake.closed_handle = 0;
	assert_error(npumem_bo_import(o->device, -1, &bo, &error), -EBADF,
		     "cannot tell the size of dma-buf -1: Bad file descriptor");
	assert_int_equal(fake.closed_handle, 30);
	assert_error(npumem_bo_import(NULL, 0, &bo, &error), -EINVAL,
		     "npumem_bo_import: NULL argument");
	assert_error(npumem_bo_export(NULL, false, &fd, &error), -EINVAL,
		     "npumem_bo_export: NULL argument");
	fclose(file);
}

TEST_WITH(jobs, setup, teardown)
{
	struct drm_npumem_job expected = {
		.first_position = 4,
		.position_count = 2,
		.engine = 1,
		.commands = (uintptr_t)"commands",
		.commands_size = 9,
	};
	struct drm_npumem_job job =
		npumem_job_positions(1, 4, 2, (const void *)(uintptr_t)expected.commands, 9);

	assert_memory_equal(&job, &expected, sizeof(job));
	expected = (struct drm_npumem_job){ .first_position = 6, .flags = NPUMEM_JOB_EDGE };
	job = npumem_job_edge(6);
	assert_memory_equal(&job, &expected, sizeof(job));
}

static int full(unsigned long request, void *argument)
{
	return request == DRM_IOCTL_NPUMEM_RUN_CREATE ? ENOSPC : fake_default(request, argument);
}

static int wants_host(unsigned long request, void *argument)
{
	int err = fake_default(request, argument);

	if (request == DRM_IOCTL_NPUMEM_PLAN_READ)
		((struct drm_npumem_plan_read *)argument)->host_size = 4097;
	return err;
}

TEST_WITH(run_failures, setup, teardown)
{
	struct objects *o = *state;
	struct npumem_run *run;
	struct npumem_bo *bo;

	fake.handler = full;
	assert_error(npumem_run_new(o->plan, 0, NULL, &run, &error), -ENOSPC,
		     "cannot create a run with an arena of 5000 bytes in bank 0: No space left on "
		     "device (the carveout has no such range free)");
	fake.handler = fake_default;
	assert_int_equal(npumem_bo_new(o->device, 1, NPUMEM_BO_SYSTEM, 0, &bo, &error), 0);
	assert_error(npumem_run_new(o->plan, 0, bo, &run, &error), -EINVAL,
		     "a host BO was given, but the plan needs no system memory");
	fake.handler = wants_host;
	assert_error(npumem_run_new(o->plan, 0, bo, &run, &error), -EINVAL,
		     "the plan needs a host BO of 4097 bytes, 4096 were given");
	assert_error(npumem_run_new(o->plan, 0, NULL, &run, &error), -EINVAL,
		     "the plan needs a host BO of 4097 bytes, 0 were given");
	npumem_bo_free(bo);
	assert_int_equal(npumem_bo_new(o->device, 5000, NPUMEM_BO_SYSTEM, 0, &bo, &error), 0);
	assert_int_equal(npumem_run_new(o->plan, 0, bo, &run, &error), 0);
	npumem_run_free(run);
	npumem_bo_free(bo);
}

TEST_WITH(submit, setup, teardown)
{
	const struct drm_npumem_job jobs[2] = { { .position_count = 1 } };
	const struct drm_npumem_sync in = { .handle = 1 }, out = { .handle = 2 };
	struct npumem_submit submit = {
		.jobs = jobs,
		.job_count = 2,
		.in_syncs = &in,
		.in_count = 1,
		.out_syncs = &out,
		.out_count = 1,
	};
	struct drm_npumem_submit *args = (void *)fake.before;
	struct objects *o = *state;

	assert_int_equal(npumem_run_submit(o->run, &submit, &error), 0);
	assert_int_equal(submit.failed_job, NPUMEM_NONE);
	assert_int_equal(args->run, 10);
	assert_int_equal(args->jobs.stride, sizeof(jobs[0]));
	assert_int_equal(args->jobs.count, 2);
	assert_int_equal(args->jobs.ptr, (uintptr_t)jobs);
	assert_int_equal(args->in_syncs.ptr, (uintptr_t)&in);
	assert_int_equal(args->out_syncs.ptr, (uintptr_t)&out);
	assert_int_equal(args->out_syncs.stride, sizeof(out));

	/* Empty arrays are zero, as the driver wants them. */
	submit.in_count = 0;
	submit.out_count = 0;
	assert_int_equal(npumem_run_submit(o->run, &submit, &error), 0);
	assert_int_equal(args->in_syncs.stride, 0);
	assert_int_equal(args->in_syncs.ptr, 0);
	assert_int_equal(args->out_syncs.ptr, 0);

	submit.job_count = 0;
	assert_error(npumem_run_submit(o->run, &submit, &error), -EINVAL,
		     "no job was given to submit");
	submit.job_count = 2;
	submit.in_count = 1;
	submit.in_syncs = NULL;
	assert_error(npumem_run_submit(o->run, &submit, &error), -EINVAL,
		     "npumem_run_submit: NULL argument");
}

static int retired(unsigned long request, void *argument)
{
	struct drm_npumem_submit *args = argument;

	if (request != DRM_IOCTL_NPUMEM_SUBMIT)
		return fake_default(request, argument);
	args->failed_job = 1;
	args->verdict = no_verdict;
	args->verdict.rule = NPUMEM_RULE_ENFORCE_READ;
	args->verdict.step = 4;
	args->verdict.tile = 2;
	return EPERM;
}

static int unbound(unsigned long request, void *argument)
{
	struct drm_npumem_submit *args = argument;

	if (request != DRM_IOCTL_NPUMEM_SUBMIT)
		return fake_default(request, argument);
	args->failed_job = 1;
	args->verdict = no_verdict;
	args->verdict.rule = NPUMEM_RULE_ENFORCE_BIND;
	args->verdict.tensor = 3;
	return ENXIO;
}

static int lost(unsigned long request, void *argument)
{
	return request == DRM_IOCTL_NPUMEM_SUBMIT ? EIO : fake_default(request, argument);
}

TEST_WITH(submit_refused, setup, teardown)
{
	const struct drm_npumem_job jobs[2] = { { .position_count = 1 } };
	struct npumem_submit submit = { .jobs = jobs, .job_count = 2 };
	struct objects *o = *state;

	fake.handler = retired;
	assert_error(npumem_run_submit(o->run, &submit, &error), -EPERM,
		     "job 1 was refused: rule \"read of a tile that is not live\", step 4, tile 2");
	assert_int_equal(submit.failed_job, 1);
	assert_int_equal(error.verdict.step, 4);
	fake.handler = unbound;
	assert_error(npumem_run_submit(o->run, &submit, &error), -ENXIO,
		     "job 1 was refused: rule \"external tensor that is not bound\", tensor 3");
	fake.handler = lost;
	assert_error(npumem_run_submit(o->run, &submit, &error), -EIO,
		     "cannot accept the submission: Input/output error (an earlier job of the run "
		     "failed; reset the run)");
	assert_int_equal(submit.failed_job, NPUMEM_NONE);
}

/* Callers whose headers are older or newer than the library. */
TEST_WITH(sized, setup, teardown)
{
	struct {
		struct npumem_request now;
		uint64_t later;
	} request = { .now = { .planner = "nnc", .deadline = npumem_deadline(1000000) } };
	struct drm_npumem_job job = npumem_job_positions(0, 0, 2, NULL, 0);
	struct {
		struct npumem_submit now;
		uint64_t later;
	} submit = { .now = { .jobs = &job, .job_count = 1 } };
	struct {
		struct npumem_run_stats now;
		uint64_t later;
	} run = { .later = 5 };
	struct {
		struct npumem_plan_stats now;
		uint64_t later;
	} plan = { .later = 5 };
	struct objects *o = *state;
	struct npumem_plan *pending;

	assert_int_equal(npumem_plan_request_sized(o->graph, &request.now, sizeof(request),
						   &pending, &error),
			 0);
	npumem_plan_free(pending);
	request.later = 1;
	assert_error(
		npumem_plan_request_sized(o->graph, &request.now, sizeof(request), &pending,
					  &error),
		-E2BIG,
		"the plan request is of a version later than this library's, " NPUMEM_PACKAGE_VERSION);
	assert_int_equal(npumem_run_submit_sized(o->run, &submit.now, sizeof(submit), &error), 0);
	submit.later = 1;
	assert_error(
		npumem_run_submit_sized(o->run, &submit.now, sizeof(submit), &error), -E2BIG,
		"the submission is of a version later than this library's, " NPUMEM_PACKAGE_VERSION);
	assert_error(npumem_run_submit_sized(o->run, &submit.now, 8, &error), -EINVAL,
		     "npumem_run_submit: 8 bytes are too few");

	/* What the library does not know is zero; what the caller does not know stays. */
	assert_int_equal(npumem_run_stats_sized(o->run, &run.now, sizeof(run), &error), 0);
	assert_int_equal(run.now.fill_bytes, 4);
	assert_int_equal(run.later, 0);
	run.now.fill_bytes = 99;
	assert_int_equal(npumem_run_stats_sized(o->run, &run.now,
						offsetof(struct npumem_run_stats, fill_bytes),
						&error),
			 0);
	assert_int_equal(run.now.store_bytes, 3);
	assert_int_equal(run.now.fill_bytes, 99);
	assert_int_equal(npumem_plan_stats_sized(o->plan, &plan.now, sizeof(plan), &error), 0);
	assert_int_equal(plan.now.arena_size, 5000);
	assert_int_equal(plan.later, 0);
}
