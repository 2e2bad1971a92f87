// SPDX-License-Identifier: MIT
#include "npumemd_request.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "policy.h"

struct request_fixture f;

void driver_settles(uint32_t status)
{
	f.done_outcome = status;
	assert_int_equal(eventfd_write(f.settled, 1), 0);
}

static int fake_done(void *data, uint64_t id, const struct answer *answer)
{
	uint32_t status = answer->status;

	f.done++;
	f.id = id;
	f.status = status;
	f.new_graph_size = answer->graph_size;
	snprintf(f.message, sizeof(f.message), "%s", answer->message ? answer->message : "");
	/* A message comes with a failure, and only with one. */
	assert_true(!!status == !!answer->message);
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
	outcome->refused = f.done_outcome == EINVAL;
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

struct npumem_builder *begin_graph(const uint64_t *sizes, uint32_t count)
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

void end_graph(struct npumem_builder *b)
{
	free(f.graph);
	assert_int_equal(npumem_builder_finish(b, &f.graph, &f.graph_size, NULL), 0);
	npumem_builder_free(b);
}

void build_chain(const uint64_t *sizes, uint32_t count, const char *step, uint32_t in_place)
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

int request_setup(void **state)
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
	f.answer_at = 0;
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

int request_teardown(void **state)
{
	close(f.fd);
	close(f.settled);
	free(f.graph);
	sd_event_unref(f.event);
	return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? 0 : -1;
}

int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/*
 * The driver's descriptor shows the graph and takes the plan; this one is a file
 * that holds the graph, and gets the plan behind it.
 */
struct accepted accept_graph(const void *graph, size_t size)
{
	struct accepted accepted = { .id = 77,
				     .graph_size = size,
				     .deadline_ns = now_ns() + 60000000000 };

	accepted.fd = memfd_create("request", MFD_CLOEXEC);
	assert_true(accepted.fd >= 0);
	assert_int_equal(write(accepted.fd, graph, size), size);
	f.fd = dup(accepted.fd);
	f.answer_at = size;
	return accepted;
}

void with_options(struct accepted *accepted, const void *options, size_t size)
{
	long page = sysconf(_SC_PAGESIZE);

	accepted->options_size = size;
	f.answer_at = (f.answer_at + (size_t)page - 1) / (size_t)page * (size_t)page;
	assert_int_equal(lseek(f.fd, (off_t)f.answer_at, SEEK_SET), f.answer_at);
	assert_int_equal(write(f.fd, options, size), size);
	f.answer_at += size;
}

void asking(struct accepted *accepted, const struct npumem_request *request)
{
	void *options;
	size_t size;

	assert_int_equal(npumem_options_write(request, &options, &size, NULL), 0);
	accepted->cut = npumem_options_cut(request);
	with_options(accepted, options, size);
	free(options);
}

struct accepted accept_good(void)
{
	return accept_graph(f.graph, f.graph_size);
}

struct request *start_request(const struct accepted *accepted)
{
	struct request *request = request_start(&f.env, accepted);
	int ended = f.ended;

	if (request && request_waits(request))
		request_plan(request);
	return f.ended > ended ? NULL : request;
}

void run_request(const struct accepted *accepted)
{
	if (start_request(accepted)) {
		assert_int_equal(sd_event_loop(f.event), 0);
		assert_int_equal(f.ended, 1);
	}
	assert_int_equal(f.done, 1);
	assert_int_equal(f.id, 77);
	assert_int_equal(fcntl(accepted->fd, F_GETFD), -1);
}

void run_again(const struct accepted *accepted)
{
	f.done = f.ended = 0;
	run_request(accepted);
	sd_event_unref(f.event);
	assert_true(sd_event_new(&f.event) >= 0);
	f.env.event = f.event;
}

struct accepted next_request(void)
{
	close(f.settled);
	f.settled = eventfd(0, EFD_CLOEXEC);
	return accept_good();
}

void set_policy(const char *section, const char *name, const char *value)
{
	struct policies **policies = &f.config.policies;
	char wrong[128];

	assert_int_equal(policies_add(policies, section, wrong, sizeof(wrong)), 0);
	assert_int_equal(policies_set(*policies, section, name, value, wrong, sizeof(wrong)), 0);
}

struct plancache_entry only_entry(void)
{
	struct plancache_entry entry = { 0 };
	struct plancache_file *files;
	size_t count;

	assert_int_equal(plancache_list(f.env.cache, &files, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(plancache_peek(f.env.cache, &files[0].key, &entry), 0);
	free(files);
	free(entry.data);
	entry.data = NULL;
	return entry;
}

int plan_spin(const struct worker_input *input, struct worker_reply *reply)
{
	volatile bool forever = true;

	while (forever)
		;
	return 0;
}

void assert_failed(uint32_t status, const char *message)
{
	assert_string_equal(f.message, message);
	assert_int_equal(f.status, status);
	/* No plan was written. */
	assert_int_equal(lseek(f.fd, 0, SEEK_END), f.answer_at);
}

void assert_says(const char *part)
{
	if (!strstr(f.message, part))
		fail_msg("\"%s\" does not say \"%s\"", f.message, part);
}

void request_fails(void **state)
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
	if (row->asks)
		asking(&accepted, row->asks);
	if (row->uncut)
		accepted.cut = false;
	if (row->options_size)
		with_options(&accepted, row->options, row->options_size);
	run_request(&accepted);
	assert_failed(row->status, row->message);
}

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
	{ PLANNER_PLAN, do_plan, planner_prepare },
	{ PLANNER_CHECK, do_check },
	{ 0 },
};

int main(int argc, char **argv)
{
	worker_main(argv, jobs);
	return unit_run(NULL, NULL);
}
