// SPDX-License-Identifier: MIT
/* npumemd: requests are accepted as places are free, and again where one could not be. */
#include "npumemd_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "intake.h"
#include "log.h"
#include "policy.h"
#include "said.h"

/* Without a budget it ends. */
static int plan_by_budget(const struct worker_input *input, struct worker_reply *reply)
{
	const struct planner_task *task = input->task;

	return task->arena_budget ? plan_spin(input, reply) : planner_plan(input, reply);
}

const struct worker_job replacements[] = {
	{ "plan_spin", plan_spin },
	{ "plan_by_budget", plan_by_budget },
	{ 0 },
};

/*
 * struct driver - what it says to ACCEPT
 * @waiting: requests that wait
 * @accepted: requests that were accepted, which numbers them
 * @budget: of their arenas
 * @client: whose they are; NULL: it does not say
 * @clients: or whose each is
 * @settled: per request: readable when it has been settled
 * @errors: errnos, negative, that come first
 * @error_count: how many of them are left
 * @asked: how often ACCEPT was sent
 */
static struct driver {
	unsigned int waiting;
	unsigned int accepted;
	uint64_t budget;
	const struct client *client;
	const struct client *clients;
	int settled[2 + INTAKE_WAITING + 3];
	int errors[4];
	unsigned int error_count;
	unsigned int asked;
} driver;

static const struct transport_ops *others;
static struct transport_ops ops;
static struct intake *intake;

static int fake_accept(void *data, struct accepted *accepted)
{
	driver.asked++;
	if (driver.error_count)
		return driver.errors[--driver.error_count];
	if (!driver.waiting)
		return -ENOENT;
	driver.waiting--;
	close(f.fd);
	*accepted = next_request();
	accepted->id = ++driver.accepted;
	accepted->arena_budget = driver.budget;
	if (driver.client)
		accepted->client = *driver.client;
	if (driver.clients)
		accepted->client = driver.clients[driver.accepted - 1];
	return 0;
}

/* Of the request that was accepted just now. */
static int fake_watch(void *data, int fd, sd_event *event, sd_event_io_handler_t handler,
		      void *userdata, sd_event_source **source)
{
	int *settled = &driver.settled[driver.accepted];

	*settled = eventfd(0, EFD_CLOEXEC);
	return sd_event_add_io(event, source, *settled, EPOLLIN, handler, userdata);
}

static int fake_done(void *data, uint64_t id, const struct answer *answer)
{
	int err = others->done(data, id, answer);

	if (!answer->status)
		assert_int_equal(eventfd_write(driver.settled[id], 1), 0);
	return err;
}

static int intake_setup(void **state)
{
	if (request_setup(state))
		return -1;
	driver = (struct driver){ 0 };
	others = f.transport.ops;
	ops = *others;
	ops.accept = fake_accept;
	ops.watch = fake_watch;
	ops.done = fake_done;
	f.transport.ops = &ops;
	f.config.workers = 2;
	return intake_new(&f.env, 20000, &intake);
}

static int intake_teardown(void **state)
{
	intake_abort(intake, ECANCELED, "the test is over");
	intake_free(intake);
	while (waitpid(-1, NULL, 0) > 0)
		;
	for (unsigned int i = 1; i <= driver.accepted; i++)
		close(driver.settled[i]);
	f.transport.ops = others;
	return request_teardown(state);
}

#define INTAKE_TEST(name) TEST_WITH(name, intake_setup, intake_teardown)

static char folder[64];

static int cache_setup(void **state)
{
	strcpy(folder, "/tmp/npumem-intake-XXXXXX");
	if (intake_setup(state) || !mkdtemp(folder))
		return -1;
	snprintf(f.config.cache_folder, sizeof(f.config.cache_folder), "%s/cache", folder);
	keep_open(&f.config, &f.env.cache);
	return f.env.cache ? 0 : -1;
}

static int cache_teardown(void **state)
{
	char command[96];
	int err = intake_teardown(state);

	plancache_close(f.env.cache);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command) || err ? -1 : 0;
}

#define CACHE_TEST(name) TEST_WITH(name, cache_setup, cache_teardown)

static void run_until_asked(unsigned int times)
{
	while (driver.asked < times)
		assert_true(sd_event_run(f.event, UINT64_MAX) >= 0);
}

/* Where accepting takes long, the rest is accepted a little later. */
static void go_on_until(unsigned int count)
{
	intake_go_on(intake);
	while (intake_count(intake) < count)
		assert_true(sd_event_run(f.event, UINT64_MAX) >= 0);
	assert_int_equal(intake_count(intake), count);
}

/* All are accepted, as many as there are places are planned, the next when one is free again. */
INTAKE_TEST(places)
{
	setenv(REPLACED_PLAN, "plan_spin", 1);
	driver.waiting = 3;
	go_on_until(3);
	assert_int_equal(driver.waiting, 0);
	assert_int_equal(intake_places(intake), 2);
	assert_int_equal(intake_waiting(intake), 1);
	intake_abort(intake, ECANCELED, "no more");
	/* A worker that was killed keeps its place until it is gone. */
	assert_int_equal(intake_count(intake), 2);
	assert_int_equal(intake_places(intake), 2);
	driver.waiting = 1;
	intake_go_on(intake);
	assert_int_equal(intake_waiting(intake), 1);
	/* The driver that goes does not end a request twice. */
	intake_drop(intake);
	assert_int_equal(intake_count(intake), 2);
	driver.waiting = 1;
	while (driver.waiting || intake_count(intake) != 1)
		assert_true(sd_event_run(f.event, UINT64_MAX) >= 0);
	assert_int_equal(driver.waiting, 0);
	assert_int_equal(intake_places(intake), 1);
}

/* Who asks for what is kept waits for nobody's planning, however many wait for a place. */
CACHE_TEST(kept)
{
	driver.waiting = 1;
	intake_go_on(intake);
	while (intake_count(intake))
		assert_true(sd_event_run(f.event, UINT64_MAX) >= 0);
	assert_int_equal(f.status, 0);
	setenv(REPLACED_PLAN, "plan_spin", 1);
	driver.budget = 1000;
	driver.waiting = 4;
	go_on_until(4);
	assert_int_equal(intake_waiting(intake), 2);
	f.done = 0;
	driver.budget = 0;
	driver.waiting = 1;
	intake_go_on(intake);
	while (!f.done)
		assert_true(sd_event_run(f.event, UINT64_MAX) >= 0);
	assert_int_equal(f.status, 0);
	while (intake_count(intake) > 4)
		assert_true(sd_event_run(f.event, UINT64_MAX) >= 0);
	assert_int_equal(intake_waiting(intake), 2);
	intake_drop(intake);
}

/* One that has waited may have been planned for another meanwhile. */
CACHE_TEST(kept_meanwhile)
{
	struct said said;
	char *text;

	f.config.workers = 0;
	driver.waiting = 2;
	go_on_until(2);
	f.config.workers = 1;
	log_setup(true, LOG_INFO);
	said_begin(&said);
	intake_go_on(intake);
	while (intake_count(intake))
		assert_true(sd_event_run(f.event, UINT64_MAX) >= 0);
	text = said_end(&said);
	log_setup(true, LOG_ERR);
	assert_non_null(strstr(text, "npumemd: request 1 planned by "));
	assert_non_null(strstr(text, "npumemd: request 2 has the plan kept of "));
	free(text);
}

/* Users take turns, processes of one again, and of a process the oldest comes first. */
INTAKE_TEST(turns)
{
	/* Numbers of requests are their places in this. */
	static const struct client clients[] = {
		{ true, 7, 7, 70, "" }, { true, 7, 7, 70, "" }, { true, 7, 7, 70, "" },
		{ true, 7, 7, 71, "" }, { true, 8, 8, 80, "" }, { true, 7, 7, 70, "" },
		{ true, 8, 8, 80, "" },
	};
	static const unsigned int turns[] = { 1, 5, 4, 7, 2, 3, 6 };
	struct said said;
	char *text, *at;

	f.config.workers = 0;
	driver.clients = clients;
	driver.waiting = 7;
	go_on_until(7);
	f.config.workers = 1;
	log_setup(true, LOG_INFO);
	said_begin(&said);
	intake_go_on(intake);
	while (intake_count(intake))
		assert_true(sd_event_run(f.event, UINT64_MAX) >= 0);
	at = text = said_end(&said);
	log_setup(true, LOG_ERR);
	for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
		char line[64];

		snprintf(line, sizeof(line), "npumemd: request %u planned by", turns[i]);
		at = strstr(at, line);
		if (!at)
			fail_msg("request %u comes too soon or too late:\n%s", turns[i], text);
	}
	free(text);
}

/* More than so many wait in the driver; one that is not there any more makes room. */
INTAKE_TEST(too_many)
{
	setenv(REPLACED_PLAN, "plan_spin", 1);
	driver.waiting = 2 + INTAKE_WAITING + 3;
	go_on_until(2 + INTAKE_WAITING);
	assert_int_equal(driver.waiting, 3);
	assert_int_equal(f.done, 0);
	assert_int_equal(eventfd_write(driver.settled[100], 1), 0);
	while (driver.waiting > 2)
		assert_true(sd_event_run(f.event, UINT64_MAX) >= 0);
	assert_int_equal(intake_waiting(intake), INTAKE_WAITING);
	assert_int_equal(f.done, 0);
}

/* Descriptors of planning processes are not given to those that wait. */
INTAKE_TEST(few_descriptors)
{
	struct rlimit old, few;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = (struct rlimit){ .rlim_cur = 64, .rlim_max = old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	setenv(REPLACED_PLAN, "plan_spin", 1);
	driver.waiting = 100;
	intake_go_on(intake);
	while (intake_places(intake) < 2 || intake_waiting(intake) < 8)
		assert_true(sd_event_run(f.event, UINT64_MAX) >= 0);
	/* No more are accepted, also where the loop was to go on. */
	while (sd_event_run(f.event, 100000) > 0)
		;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(f.done, 0);
	assert_int_equal(intake_places(intake), 2);
	assert_int_equal(intake_waiting(intake), 8);
}

/* Who waits for what another is planned for has it when that is done, whoever has the next turn. */
CACHE_TEST(same_plan)
{
	f.config.workers = 0;
	setenv(REPLACED_PLAN, "plan_by_budget", 1);
	for (unsigned int i = 1; i <= 3; i++) {
		driver.budget = i == 2 ? 1000 : 0;
		driver.waiting = 1;
		go_on_until(i);
	}
	f.config.workers = 1;
	intake_go_on(intake);
	/* The second one never ends. */
	while (intake_count(intake) > 1)
		assert_true(sd_event_run(f.event, UINT64_MAX) >= 0);
	assert_int_equal(f.id, 3);
	assert_int_equal(f.status, 0);
	assert_int_equal(intake_places(intake), 1);
}

/* The configuration, also the client's policy, is that of when there is a place at last. */
INTAKE_TEST(policy_comes)
{
	f.config.workers = 1;
	setenv(REPLACED_PLAN, "plan_spin", 1);
	driver.client = &(struct client){ true, 7, 7, 70, "" };
	driver.waiting = 2;
	go_on_until(2);
	set_policy("user 7", "plans", "no");
	f.config.workers = 2;
	intake_go_on(intake);
	while (!f.done)
		assert_true(sd_event_run(f.event, UINT64_MAX) >= 0);
	assert_int_equal(f.id, 2);
	assert_int_equal(f.status, EACCES);
	assert_string_equal(f.message, "[user 7] of npumemd.conf allows no plans");
	policies_free(f.config.policies);
	f.config.policies = NULL;
}

/* Who waits while the daemon ends is not told that he was given up. */
INTAKE_TEST(waits_at_the_end)
{
	f.config.workers = 1;
	setenv(REPLACED_PLAN, "plan_spin", 1);
	driver.waiting = 2;
	go_on_until(2);
	intake_abort(intake, ECANCELED, "npumemd is shutting down");
	assert_int_equal(f.done, 1);
	assert_int_equal(f.id, 1);
	assert_int_equal(intake_count(intake), 1);
}

/* The driver speaks of a request once: what could not be accepted is asked for again. */
INTAKE_TEST(no_descriptors)
{
	struct said said;
	char *text;

	setenv(REPLACED_PLAN, "plan_spin", 1);
	driver = (struct driver){ .waiting = 1,
				  .errors = { -EMFILE, -ENOMEM, -EMFILE },
				  .error_count = 3 };
	log_setup(true, LOG_ERR);
	said_begin(&said);
	intake_go_on(intake);
	assert_int_equal(intake_count(intake), 0);
	/* Meanwhile the driver may speak of another one. */
	intake_go_on(intake);
	run_until_asked(5);
	text = said_end(&said);
	assert_int_equal(intake_count(intake), 1);
	assert_string_equal(text, "<3>npumemd: cannot accept a request: Too many open files; it "
				  "waits\n");
	free(text);
	/* It is over with that. */
	assert_int_equal(sd_event_run(f.event, 100000), 0);
	assert_int_equal(driver.asked, 5);
}

/* Nobody asks a driver that is gone, or that has none. */
INTAKE_TEST(none)
{
	static const int none[] = { -ENOENT, -ENOTCONN };

	for (size_t i = 0; i < 2; i++) {
		driver = (struct driver){ .errors = { none[i] }, .error_count = 1 };
		intake_go_on(intake);
		assert_int_equal(sd_event_run(f.event, 100000), 0);
		assert_int_equal(driver.asked, 1);
	}
}
