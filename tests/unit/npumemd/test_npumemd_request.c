// SPDX-License-Identifier: MIT
/*
 * npumemd: requests from ACCEPT to DONE, with a stand-in for the driver. Real
 * worker processes plan with the real planner; a test may put another job in
 * its place, named in the environment, to have workers that misbehave.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "auto.h"
#include "log.h"
#include "npumem.h"
#include "npumem_netlink.h"
#include "npuplan.h"
#include "planner.h"
#include "request.h"

#define REPLACED_PLAN  "NPUMEMD_TEST_PLAN"
#define REPLACED_CHECK "NPUMEMD_TEST_CHECK"

/*
 * struct fixture - one request and what became of it
 * @done_error, @done_outcome: what the driver says to DONE, and then of the plan
 * @done_holds: it does not get there
 * @settled: readable when the driver has settled the request
 * @watched: it is watched
 * @done, @status, @message: what it was told, and how often
 * @ended: requests ended
 * @graph, @graph_size: a good graph blob
 * @fd: of the request, ours
 */
struct fixture {
	sd_event *event;
	struct transport transport;
	struct config config;
	struct request_env env;
	int done_error;
	uint32_t done_outcome;
	bool done_holds;
	int settled;
	bool watched;
	int done;
	uint64_t id;
	uint32_t status;
	char message[TRANSPORT_MESSAGE_SIZE];
	int ended;
	void *graph;
	size_t graph_size;
	int fd;
};

static struct fixture f;

static void driver_settles(uint32_t status)
{
	f.done_outcome = status;
	assert_int_equal(eventfd_write(f.settled, 1), 0);
}

static int fake_done(void *data, uint64_t id, uint32_t status, const char *message)
{
	f.done++;
	f.id = id;
	f.status = status;
	snprintf(f.message, sizeof(f.message), "%s", message ? message : "");
	/* A message comes with a failure, and only with one. */
	assert_true(!!status == !!message);
	if (f.done_holds)
		sd_event_exit(f.event, 0);
	else if (!f.done_error && !status)
		driver_settles(f.done_outcome);
	return f.done_error;
}

static int fake_watch(void *data, int fd, sd_event *event, sd_event_io_handler_t handler,
		      void *userdata, sd_event_source **source)
{
	f.watched = true;
	return sd_event_add_io(event, source, f.settled, EPOLLIN, handler, userdata) < 0 ? -ENOMEM :
											   0;
}

static int fake_outcome(void *data, int fd, struct outcome *outcome)
{
	outcome->status = f.done_outcome;
	snprintf(outcome->message, sizeof(outcome->message), "the driver's reason");
	return 0;
}

static const struct transport_ops fake_ops = {
	.done = fake_done,
	.watch = fake_watch,
	.outcome = fake_outcome,
};

static void on_ended(struct request *request, void *userdata)
{
	f.ended++;
	sd_event_exit(f.event, 0);
}

/* Tensors "a", "b", ..., the first one an input, the last one an output; each has one tile. */
static struct npumem_builder *begin_graph(const uint64_t *sizes, uint32_t count)
{
	struct npumem_builder *b = npumem_builder_new();

	assert_non_null(b);
	for (uint32_t i = 0; i < count; i++) {
		const char name[] = { (char)('a' + i % 26), '\0' };
		const struct npumem_tensor_args args = {
			.name = name,
			.size = sizes[i],
			.kind = !i	       ? NPUMEM_TENSOR_INPUT :
				i == count - 1 ? NPUMEM_TENSOR_OUTPUT :
						 NPUMEM_TENSOR_INTERMEDIATE,
		};
		const struct npumem_region whole = npumem_region_whole(sizes[i]);

		assert_int_equal(npumem_builder_add_tensor(b, &args, NULL), i);
		assert_int_equal(npumem_builder_add_tile(b, i, &whole, NULL), i);
	}
	return b;
}

static void end_graph(struct npumem_builder *b)
{
	free(f.graph);
	assert_int_equal(npumem_builder_finish(b, &f.graph, &f.graph_size, NULL), 0);
	npumem_builder_free(b);
}

/* Tensor 0 -> step 0 -> tensor 1 -> step 1 -> ...; step @in_place writes over what it reads. */
static void build_chain(const uint64_t *sizes, uint32_t count, const char *step, uint32_t in_place)
{
	struct npumem_builder *b = begin_graph(sizes, count);

	for (uint32_t i = 0; i + 1 < count; i++) {
		const struct npumem_access accesses[] = {
			{ i, NPUMEM_ACCESS_READ, NPUMEM_NONE, 0 },
			{ i + 1, NPUMEM_ACCESS_WRITE, i == in_place ? 0 : NPUMEM_NONE, 0 },
		};

		assert_int_equal(npumem_builder_add_step(b, step, 0, 0, accesses, 2, NULL), i);
	}
	end_graph(b);
}

/* 300 bytes are live at step 0, 500 at step 1. */
static void build_graph(void)
{
	static const uint64_t sizes[] = { 100, 200, 300 };

	build_chain(sizes, 3, NULL, NPUMEM_NONE);
}

static int setup(void **state)
{
	sigset_t set;

	memset(&f, 0, sizeof(f));
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (sd_event_new(&f.event) < 0)
		return -1;
	config_defaults(&f.config);
	f.config.memory_limit = 0; /* sanitizers */
	f.settled = eventfd(0, EFD_CLOEXEC);
	if (f.settled < 0)
		return -1;
	unsetenv(REPLACED_PLAN);
	unsetenv(REPLACED_CHECK);
	f.transport.ops = &fake_ops;
	f.env = (struct request_env){
		.event = f.event,
		.transport = &f.transport,
		.config = &f.config,
		.ended = on_ended,
	};
	build_graph();
	log_setup(true, LOG_ERR);
	return 0;
}

static int teardown(void **state)
{
	close(f.fd);
	close(f.settled);
	free(f.graph);
	sd_event_unref(f.event);
	return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? 0 : -1;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/*
 * The driver's descriptor shows the graph and takes the plan; this one is a file
 * that holds the graph, and gets the plan behind it.
 */
static struct accepted accept_graph(const void *graph, size_t size)
{
	struct accepted accepted = { .id = 77,
				     .graph_size = size,
				     .deadline_ns = now_ns() + 60000000000 };

	accepted.fd = memfd_create("request", MFD_CLOEXEC);
	assert_true(accepted.fd >= 0);
	assert_int_equal(write(accepted.fd, graph, size), size);
	f.fd = dup(accepted.fd);
	return accepted;
}

static struct accepted accept_good(void)
{
	return accept_graph(f.graph, f.graph_size);
}

/* Begin it and see it to its end; the descriptor must be closed then. */
static void run(const struct accepted *accepted)
{
	struct request *request = request_start(&f.env, accepted);

	if (request) {
		assert_int_equal(sd_event_loop(f.event), 0);
		assert_int_equal(f.ended, 1);
	} else {
		assert_int_equal(f.ended, 0);
	}
	assert_int_equal(f.done, 1);
	assert_int_equal(f.id, 77);
	assert_int_equal(fcntl(accepted->fd, F_GETFD), -1);
}

static void assert_failed(uint32_t status, const char *message)
{
	assert_string_equal(f.message, message);
	assert_int_equal(f.status, status);
	/* No plan was written. */
	assert_int_equal(lseek(f.fd, 0, SEEK_END), f.graph_size);
}

static void assert_says(const char *part)
{
	if (!strstr(f.message, part))
		fail_msg("\"%s\" does not say \"%s\"", f.message, part);
}

static size_t read_plan(void *plan, size_t size)
{
	ssize_t n = pread(f.fd, plan, size, f.graph_size);

	assert_true(n > 0 && (size_t)n < size);
	return n;
}

/* ---------------------------------------------------------------- real plans */

static void test_planned(void **state)
{
	struct accepted accepted = accept_good();
	struct npumem_verdict verdict;
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	uint64_t blob[1024];
	char log[512];
	size_t size;

	run(&accepted);
	assert_int_equal(f.status, 0);
	size = read_plan(blob, sizeof(blob));
	assert_int_equal(
		npuplan_verify(f.graph, f.graph_size, blob, size, &verdict, log, sizeof(log)), 0);
	assert_int_equal(npuplan_plan_read(blob, size, &plan, NULL), 0);
	assert_int_equal(plan->info.arena_size, 500);
	assert_int_equal(plan->info.lower_bound, 500);
	assert_string_equal(plan->info.planner, "auto");
}

/* Large enough for what small graphs do not reach: qsort() and malloc() at size. */
static void test_large_graph(void **state)
{
	static uint64_t sizes[3000];
	struct accepted accepted;

	for (uint32_t i = 0; i < 3000; i++)
		sizes[i] = 64 + i * 7919 % 4096;
	build_chain(sizes, 3000, NULL, NPUMEM_NONE);
	accepted = accept_good();
	run(&accepted);
	assert_string_equal(f.message, "");
	assert_int_equal(f.status, 0);
}

static void test_planner_by_name(void **state)
{
	struct accepted accepted = accept_good();

	strcpy(accepted.planner, "greedy");
	run(&accepted);
	assert_int_equal(f.status, 0);
}

static void test_unknown_planner(void **state)
{
	struct accepted accepted = accept_good();

	strcpy(accepted.planner, "magic");
	run(&accepted);
	assert_int_equal(f.status, EOPNOTSUPP);
	assert_says("magic");
}

static const uint64_t four_sizes[] = { 100, 400, 400, 50 };

/* a 100 -> b 400 -> c 400, and d 50 = c + a: c needs 800, and 900 if a stays. */
static void build_skip(void)
{
	static const uint32_t reads[][2] = { { 0, 0 }, { 1, 1 }, { 2, 0 } };
	struct npumem_builder *b = begin_graph(four_sizes, 4);

	for (uint32_t i = 0; i < 3; i++) {
		const struct npumem_access accesses[] = {
			{ i + 1, NPUMEM_ACCESS_WRITE, NPUMEM_NONE, 0 },
			{ reads[i][0], NPUMEM_ACCESS_READ, NPUMEM_NONE, 0 },
			{ reads[i][1], NPUMEM_ACCESS_READ, NPUMEM_NONE, 0 },
		};

		assert_int_equal(npumem_builder_add_step(b, "s", 0, 0, accesses,
							 reads[i][0] == reads[i][1] ? 2 : 3, NULL),
				 i);
	}
	end_graph(b);
}

/* a 100 -> b 400 -> c 400 -> d 50, c in place of b: no step needs more than 500. */
static void build_in_place(void)
{
	build_chain(four_sizes, 4, "s", 1);
}

static void run_traffic(const char *planner, uint64_t budget, uint64_t traffic)
{
	struct accepted accepted;
	struct npumem_verdict verdict;
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	uint64_t blob[1024];
	size_t size;

	accepted = accept_good();
	strcpy(accepted.planner, planner);
	accepted.objective = planner[0] ? NPUMEM_OBJECTIVE_ARENA : NPUMEM_OBJECTIVE_TRAFFIC;
	accepted.arena_budget = budget;
	run(&accepted);
	assert_string_equal(f.message, "");
	assert_int_equal(f.status, 0);
	size = read_plan(blob, sizeof(blob));
	assert_int_equal(npuplan_verify(f.graph, f.graph_size, blob, size, &verdict, NULL, 0), 0);
	assert_int_equal(npuplan_plan_read(blob, size, &plan, NULL), 0);
	assert_string_equal(plan->info.planner, planner[0] ? planner : "cosma");
	assert_in_range(plan->info.arena_size, 1, budget);
	assert_int_equal(plan->info.spill_bytes + plan->info.fill_bytes, traffic);
}

/* a is on chip from the start and has no copy elsewhere: it is spilled and filled. */
static void test_traffic(void **state)
{
	build_skip();
	run_traffic("", 800, 200);
}

/* What fits because an operator works in place moves nothing, and is no reason to refuse. */
static void test_traffic_in_place(void **state)
{
	build_in_place();
	run_traffic("", 500, 0);
}

static void test_traffic_by_name(void **state)
{
	build_skip();
	run_traffic("cosma", 900, 0);
}

/* Planning ends before its process would be killed: what it is told is the least of all. */
static int plan_seconds(const struct worker_input *input, struct worker_reply *reply)
{
	const struct planner_task *task = input->task;

	snprintf(reply->text, sizeof(reply->text), "%.0f of %s", task->seconds, task->planner);
	return -ECANCELED;
}

static void test_budget(void **state)
{
	struct accepted accepted = accept_good();

	accepted.arena_budget = 500;
	run(&accepted);
	assert_int_equal(f.status, 0);
}

static void test_budget_too_small(void **state)
{
	struct accepted accepted = accept_good();

	accepted.arena_budget = 499;
	run(&accepted);
	assert_int_equal(f.status, ENOSPC);
	/* Needed, budget, and between what the peak is. */
	assert_says("500");
	assert_says("499");
	assert_says("b");
	assert_says("c");
	assert_int_equal(lseek(f.fd, 0, SEEK_END), f.graph_size);
}

/* ---------------------------------------------------------------- bad graphs */

static void test_garbage_graph(void **state)
{
	struct accepted accepted;

	memset(f.graph, 0x5a, f.graph_size);
	accepted = accept_graph(f.graph, f.graph_size);
	run(&accepted);
	assert_int_equal(f.status, EBADMSG);
	assert_says("graph: ");
}

static void test_truncated_graph(void **state)
{
	struct accepted accepted;

	f.graph_size -= 8;
	accepted = accept_graph(f.graph, f.graph_size);
	run(&accepted);
	assert_int_equal(f.status, EBADMSG);
	assert_says("graph: ");
}

static void test_empty_graph(void **state)
{
	struct accepted accepted;

	f.graph_size = 0;
	accepted = accept_graph(f.graph, 0);
	run(&accepted);
	assert_failed(EINVAL, "a blob of 0 bytes cannot be mapped: Invalid argument");
}

/* The driver said more than its mapping has: touching it is the worker's end. */
static void test_graph_shorter_than_said(void **state)
{
	struct npumem_blob_header *header = f.graph;
	struct npumem_blob_section *table = (void *)(header + 1);
	struct accepted accepted;
	size_t end;

	/* Sections that lie behind the end of the file, and nothing before. */
	header->total_size = 1 << 20;
	for (uint32_t i = 0; i < header->section_count; i++)
		table[i].offset = (1 << 19) + 65536 * i;
	end = sizeof(*header) + header->section_count * sizeof(*table);
	memset((char *)f.graph + end, 0, f.graph_size - end);
	accepted = accept_good();
	accepted.graph_size = 1 << 20;
	run(&accepted);
	assert_int_equal(f.status, EIO);
	assert_says("the planning process ");
}

/* -------------------------------------------------------------- bad workers */

static int plan_crash(const struct worker_input *input, struct worker_reply *reply)
{
	signal(SIGABRT, SIG_DFL);
	abort();
}

static int plan_spin(const struct worker_input *input, struct worker_reply *reply)
{
	volatile bool forever = true;

	while (forever)
		;
	return 0;
}

static int plan_nothing(const struct worker_input *input, struct worker_reply *reply)
{
	return 0;
}

static int plan_garbage(const struct worker_input *input, struct worker_reply *reply)
{
	reply->size = 64;
	reply->data = calloc(1, reply->size);
	return reply->data ? 0 : -ENOMEM;
}

/* A real plan, but all tensors lie at offset 0. */
static int plan_overlap(const struct worker_input *input, struct worker_reply *reply)
{
	struct npuplan_plan *plan;
	int err = planner_plan(input, reply);

	if (!err)
		err = npuplan_plan_read(reply->data, reply->size, &plan, NULL);
	if (err)
		return err;
	for (uint32_t i = 0; i < plan->placement_count; i++)
		plan->placements[i].offset = 0;
	return npuplan_plan_write(plan, &reply->data, &reply->size, NULL);
}

static int plan_strange_errno(const struct worker_input *input, struct worker_reply *reply)
{
	strcpy(reply->text, "strange");
	return -(NPUMEM_MAX_STATUS + 1);
}

static void test_deadline_negative(void **state)
{
	struct accepted accepted = accept_good();

	accepted.deadline_ns = INT64_MIN;
	run(&accepted);
	assert_failed(ETIMEDOUT, "the deadline had passed before planning began");
}

static void test_garbage_plan(void **state)
{
	struct accepted accepted = accept_good();

	setenv(REPLACED_PLAN, "plan_garbage", 1);
	run(&accepted);
	assert_int_equal(f.status, EBADMSG);
	assert_says("planner auto made a plan that does not pass verification: ");
	assert_int_equal(lseek(f.fd, 0, SEEK_END), f.graph_size);
}

static void test_overlapping_plan(void **state)
{
	struct accepted accepted = accept_good();

	setenv(REPLACED_PLAN, "plan_overlap", 1);
	run(&accepted);
	assert_int_equal(f.status, EINVAL);
	assert_says("planner auto made a plan that does not pass verification: ");
	assert_says("V4");
	assert_int_equal(lseek(f.fd, 0, SEEK_END), f.graph_size);
}

/* ---------------------------------------------------------------- bad driver */

static void test_plan_not_taken(void **state)
{
	struct accepted accepted = accept_good();
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", accepted.fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	close(accepted.fd);
	accepted.fd = fd;
	run(&accepted);
	assert_int_equal(f.status, EBADF);
	assert_says("cannot be handed over: Bad file descriptor");
}

/* What DONE says changes nothing for the daemon: the request is over. */
static void test_done_fails(void **state)
{
	static const int errors[] = { -ENOENT, -ENOTCONN, -ENOMEM };

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct accepted accepted = accept_good();

		f.done_error = errors[i];
		run(&accepted);
		assert_int_equal(f.status, 0);
		teardown(state);
		setup(state);
	}
}

static void test_done_refused(void **state)
{
	struct accepted accepted = accept_good();

	f.done_outcome = EINVAL;
	run(&accepted);
	assert_int_equal(f.status, 0);
}

/* ---------------------------------------------------------- abort, drop, two */

static void test_abort(void **state)
{
	struct accepted accepted = accept_good();
	struct request *request;

	setenv(REPLACED_PLAN, "plan_spin", 1);
	request = request_start(&f.env, &accepted);
	assert_non_null(request);
	request_abort(request, ECANCELED, "npumemd is shutting down");
	assert_int_equal(f.done, 1);
	assert_int_equal(f.ended, 0);
	assert_failed(ECANCELED, "npumemd is shutting down");
}

static void test_drop(void **state)
{
	struct accepted accepted = accept_good();
	struct request *request;

	setenv(REPLACED_PLAN, "plan_spin", 1);
	request = request_start(&f.env, &accepted);
	assert_non_null(request);
	request_drop(request);
	assert_int_equal(f.done, 0);
	assert_int_equal(f.ended, 0);
	assert_int_equal(fcntl(accepted.fd, F_GETFD), -1);
}

/* ------------------------------------------------------------------ given up */

/* The driver has settled it, a worker is busy: that one must go, and nobody asks. */
static void assert_given_up(int fd)
{
	assert_int_equal(sd_event_loop(f.event), 0);
	assert_int_equal(f.ended, 1);
	assert_int_equal(f.done, 0);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void test_given_up_while_planning(void **state)
{
	struct accepted accepted = accept_good();

	setenv(REPLACED_PLAN, "plan_spin", 1);
	assert_non_null(request_start(&f.env, &accepted));
	assert_true(f.watched);
	driver_settles(ECANCELED);
	assert_given_up(accepted.fd);
}

static int after_planning(sd_event_source *source, void *userdata)
{
	driver_settles(ETIMEDOUT);
	return sd_event_source_set_enabled(source, SD_EVENT_OFF);
}

static void test_given_up_while_checking(void **state)
{
	struct accepted accepted = accept_good();

	setenv(REPLACED_CHECK, "plan_spin", 1);
	assert_non_null(request_start(&f.env, &accepted));
	/* The first event is the end of planning. */
	assert_true(sd_event_add_post(f.event, NULL, after_planning, NULL) >= 0);
	assert_given_up(accepted.fd);
}

/* DONE is not the end: that is when the driver has looked at the plan. */
static void test_aborted_while_verified(void **state)
{
	struct accepted accepted = accept_good();
	struct request *request;

	f.done_holds = true;
	request = request_start(&f.env, &accepted);
	assert_non_null(request);
	assert_int_equal(sd_event_loop(f.event), 0);
	assert_int_equal(f.done, 1);
	assert_int_equal(f.ended, 0);
	/* It has had its answer: a second one would be somebody else's. */
	request_abort(request, ECANCELED, "npumemd is shutting down");
	assert_int_equal(f.done, 1);
	assert_int_equal(fcntl(accepted.fd, F_GETFD), -1);
}

/* Reloading does not touch what is under way. */
static void test_config_is_kept(void **state)
{
	struct accepted accepted = accept_good();
	struct request *request = request_start(&f.env, &accepted);

	assert_non_null(request);
	f.config.plan_limit = 1;
	f.config.time_limit = 1;
	assert_int_equal(sd_event_loop(f.event), 0);
	assert_int_equal(f.status, 0);
}

/* --------------------------------------------------------------------- jobs */

static const struct worker_job replacements[] = {
	{ "plan_seconds", plan_seconds },
	{ "plan_crash", plan_crash },
	{ "plan_spin", plan_spin },
	{ "plan_nothing", plan_nothing },
	{ "plan_garbage", plan_garbage },
	{ "plan_overlap", plan_overlap },
	{ "plan_strange_errno", plan_strange_errno },
	{ 0 },
};

static int replaced(const char *variable,
		    int (*real)(const struct worker_input *input, struct worker_reply *reply),
		    const struct worker_input *input, struct worker_reply *reply)
{
	const char *name = getenv(variable);

	for (const struct worker_job *job = replacements; name && job->name; job++)
		if (!strcmp(job->name, name))
			return job->run(input, reply);
	return real(input, reply);
}

static int do_plan(const struct worker_input *input, struct worker_reply *reply)
{
	return replaced(REPLACED_PLAN, planner_plan, input, reply);
}

static int do_check(const struct worker_input *input, struct worker_reply *reply)
{
	return replaced(REPLACED_CHECK, planner_check, input, reply);
}

static const struct worker_job jobs[] = {
	{ PLANNER_PLAN, do_plan },
	{ PLANNER_CHECK, do_check },
	{ 0 },
};

/*
 * struct failure - a request that fails, and nothing is written; what is 0 is as it is by default
 * @build: the graph, instead of build_graph()'s
 * @plan, @check: jobs of workers that are replaced, by name
 * @deadline: nanoseconds from now
 */
struct failure {
	void (*build)(void);
	const char *planner, *plan, *check;
	uint32_t objective, status;
	uint64_t budget, cpu_limit, time_limit, plan_limit;
	int64_t deadline;
	const char *message;
};

static void test_failure(void **state)
{
	const struct failure *row = *state;
	struct accepted accepted;

	if (row->build)
		row->build();
	if (row->plan)
		setenv(REPLACED_PLAN, row->plan, 1);
	if (row->check)
		setenv(REPLACED_CHECK, row->check, 1);
	if (row->cpu_limit)
		f.config.cpu_limit = row->cpu_limit;
	if (row->time_limit)
		f.config.time_limit = row->time_limit;
	if (row->plan_limit)
		f.config.plan_limit = row->plan_limit;
	accepted = accept_good();
	if (row->planner)
		strcpy(accepted.planner, row->planner);
	if (row->deadline)
		accepted.deadline_ns = now_ns() + row->deadline;
	accepted.objective = row->objective;
	accepted.arena_budget = row->budget;
	run(&accepted);
	assert_failed(row->status, row->message);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
#define FAILURE(name, ...)                                                      \
	{                                                                       \
		"test_" #name, test_failure, setup, teardown, &(struct failure) \
		{                                                               \
			__VA_ARGS__                                             \
		}                                                               \
	}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(planned),
		TEST(large_graph),
		TEST(planner_by_name),
		TEST(unknown_planner),
		FAILURE(unknown_objective, .objective = 2, .status = EOPNOTSUPP,
			.message = "objective 2 is not supported; this npumemd plans for the "
				   "smallest arena (0) and the least traffic (1)"),
		TEST(traffic),
		TEST(traffic_in_place),
		TEST(traffic_by_name),
		FAILURE(traffic_infeasible, .build = build_skip,
			.objective = NPUMEM_OBJECTIVE_TRAFFIC, .budget = 799, .status = ENOSPC,
			.message = "cosma: infeasible: s needs 800 bytes (800 B), the budget is "
				   "799 (799 B)"),
		FAILURE(traffic_of_another, .objective = NPUMEM_OBJECTIVE_TRAFFIC,
			.planner = "greedy", .status = EOPNOTSUPP,
			.message = "greedy: planner greedy plans for the smallest arena; cosma "
				   "has other objectives"),
		FAILURE(limits_end_planning_first, .objective = NPUMEM_OBJECTIVE_TRAFFIC,
			.plan = "plan_seconds", .cpu_limit = 5, .status = ECANCELED,
			.message = "4 of cosma"),
		TEST(budget),
		TEST(budget_too_small),
		TEST(garbage_graph),
		TEST(truncated_graph),
		TEST(empty_graph),
		TEST(graph_shorter_than_said),
		FAILURE(worker_crash, .plan = "plan_crash", .status = EIO,
			.message = "the planning process was killed by signal 6 (Aborted)"),
		FAILURE(checker_crash, .check = "plan_crash", .status = EIO,
			.message = "planner auto made a plan that does not pass verification: the "
				   "planning process was killed by signal 6 (Aborted)"),
		FAILURE(runaway, .plan = "plan_spin", .deadline = 1000000000, .status = ETIMEDOUT,
			.message = "planning was stopped at the deadline"),
		/* The daemon's own limit, where the request would wait longer. */
		FAILURE(time_limit, .plan = "plan_spin", .time_limit = 1,
			.deadline = 3600ll * 1000000000, .status = ETIMEDOUT,
			.message = "planning was stopped at the deadline"),
		FAILURE(deadline_passed, .deadline = -1, .status = ETIMEDOUT,
			.message = "the deadline had passed before planning began"),
		TEST(deadline_negative),
		FAILURE(no_plan, .plan = "plan_nothing", .status = EIO,
			.message = "the planning process answered with no plan"),
		TEST(garbage_plan),
		TEST(overlapping_plan),
		FAILURE(plan_too_large, .plan_limit = 64, .status = EFBIG,
			.message = "the plan is larger than 64 bytes, the plan-size-limit of "
				   "npumemd.conf"),
		/* An errno that the protocol does not take is still a failure. */
		FAILURE(strange_errno, .plan = "plan_strange_errno", .status = EIO,
			.message = "strange"),
		TEST(plan_not_taken),
		TEST(done_fails),
		TEST(done_refused),
		TEST(abort),
		TEST(drop),
		TEST(given_up_while_planning),
		TEST(given_up_while_checking),
		TEST(aborted_while_verified),
		TEST(config_is_kept),
	};

	worker_main(argv, jobs);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
