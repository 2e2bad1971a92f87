// SPDX-License-Identifier: MIT
/*
 * npumemd: how requests end where something goes wrong: workers that misbehave, a driver that
 * refuses, clients that give up, the daemon's own end.
 */
#include "npumemd_request.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "journal.h"
#include "log.h"
#include "metrics.h"
#include "npumem_netlink.h"
#include "npuplan.h"

/* -------------------------------------------------------------- bad workers */

static int plan_crash(const struct worker_input *input, struct worker_reply *reply)
{
	signal(SIGABRT, SIG_DFL);
	abort();
}

FAILURE(worker_crash, .plan = "plan_crash", .status = EIO,
	.message = "the planning process was killed by signal 6 (Aborted)")
FAILURE(checker_crash, .check = "plan_crash", .status = EIO,
	.message = "the plan of planner auto cannot be checked: the planning process was killed "
		   "by signal 6 (Aborted)")

FAILURE(runaway, .plan = "plan_spin", .deadline = 1000000000, .status = ETIMEDOUT,
	.message = "planning was stopped at the deadline")
/* The daemon's own limit, where the request would wait longer. */
FAILURE(time_limit, .plan = "plan_spin", .time_limit = 1, .deadline = 3600ll * 1000000000,
	.status = ETIMEDOUT, .message = "planning was stopped at the deadline")
FAILURE(deadline_passed, .deadline = -1, .status = ETIMEDOUT,
	.message = "the deadline had passed before planning began")

static int plan_nothing(const struct worker_input *input, struct worker_reply *reply)
{
	return 0;
}

FAILURE(no_plan, .plan = "plan_nothing", .status = EIO,
	.message = "the planning process answered with no plan")

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

/* An errno that the protocol does not take is still a failure. */
FAILURE(strange_errno, .plan = "plan_strange_errno", .status = EIO, .message = "strange")

REQUEST_TEST(deadline_negative)
{
	struct accepted accepted = accept_good();

	accepted.deadline_ns = INT64_MIN;
	run_request(&accepted);
	assert_failed(ETIMEDOUT, "the deadline had passed before planning began");
}

/* Its time counts from when it has a place, but for its own deadline. */
REQUEST_TEST(deadline_while_it_waits)
{
	struct accepted accepted = accept_good();
	struct request *request;

	accepted.deadline_ns = now_ns() + 1000000000;
	request = request_start(&f.env, &accepted);
	assert_non_null(request);
	assert_true(request_waits(request));
	request_wait(request);
	usleep(1100000);
	request_plan(request);
	assert_int_equal(f.ended, 1);
	assert_failed(ETIMEDOUT, "the deadline had passed before planning began");
}

REQUEST_TEST(time_limit_while_it_waits)
{
	struct accepted accepted = accept_good();
	struct request *request;

	f.config.time_limit = 1;
	request = request_start(&f.env, &accepted);
	assert_non_null(request);
	request_wait(request);
	usleep(1100000);
	request_plan(request);
	/* It is not over at once; how quick the machine is is another matter. */
	assert_true(request_has_place(request));
	assert_int_equal(f.done, 0);
	assert_false(request_abort(request, ECANCELED, "enough"));
	assert_int_equal(sd_event_loop(f.event), 0);
	assert_int_equal(f.ended, 1);
}

REQUEST_TEST(garbage_plan)
{
	struct accepted accepted = accept_good();

	setenv(REPLACED_PLAN, "plan_garbage", 1);
	run_request(&accepted);
	assert_int_equal(f.status, EBADMSG);
	assert_says("planner auto made a plan that does not pass verification: ");
	assert_int_equal(lseek(f.fd, 0, SEEK_END), f.graph_size);
}

REQUEST_TEST(overlapping_plan)
{
	struct accepted accepted = accept_good();

	setenv(REPLACED_PLAN, "plan_overlap", 1);
	run_request(&accepted);
	assert_int_equal(f.status, EINVAL);
	assert_says("planner auto made a plan that does not pass verification: ");
	assert_says("V4");
	assert_int_equal(lseek(f.fd, 0, SEEK_END), f.graph_size);
}

FAILURE(plan_too_large, .plan_limit = 64, .status = EFBIG,
	.message = "the plan is larger than 64 bytes, the plan-size-limit of "
		   "npumemd.conf")

/* ---------------------------------------------------------------- bad driver */

REQUEST_TEST(plan_not_taken)
{
	struct accepted accepted = accept_good();
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", accepted.fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	close(accepted.fd);
	accepted.fd = fd;
	run_request(&accepted);
	assert_int_equal(f.status, EBADF);
	assert_says("cannot be handed over: Bad file descriptor");
}

/* What DONE says changes nothing for the daemon: the request is over. */
REQUEST_TEST(done_fails)
{
	static const int errors[] = { -ENOENT, -ENOTCONN, -ENOMEM };

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct accepted accepted = accept_good();

		f.done_error = errors[i];
		run_request(&accepted);
		assert_int_equal(f.status, 0);
		request_teardown(state);
		request_setup(state);
	}
}

/* The metrics have these lines. */
static void assert_counted(const char *lines)
{
	const struct metrics_now now = { 0 };
	size_t size;
	char *text = metrics_text(f.env.metrics, &now, true, &size);

	assert_non_null(text);
	if (!strstr(text, lines))
		fail_msg("no \"%s\" in %s", lines, text);
	free(text);
}

REQUEST_TEST(done_refused)
{
	struct accepted accepted = accept_good();

	f.done_outcome = EINVAL;
	f.env.metrics = metrics_new();
	accepted.client = (struct client){ .known = true, .uid = 7 };
	has_journal = true;
	log_setup(false, LOG_ERR);
	journal_wait_for("request 77 for user 7: the driver refused a plan that was checked here: "
			 "Invalid argument (the driver's reason)\n");
	run_request(&accepted);
	log_setup(true, LOG_ERR);
	assert_non_null(strstr(journal_came(), "\nNPUMEM_REQUEST=77\nNPUMEM_UID=7\n"));
	assert_non_null(strstr(journal_came(), "\nERRNO=22\n"));
	assert_int_equal(f.status, 0);
	assert_counted("npumemd_requests_total{planner=\"auto\",outcome=\"refused\"} 1\n");
	assert_counted("npumemd_request_failures_total{errno=\"EINVAL\"} 1\n");
	metrics_free(f.env.metrics);
}

/* What the client had no memory for says nothing of the plan. */
REQUEST_TEST(done_without_memory)
{
	struct accepted accepted = accept_good();

	f.done_outcome = EDQUOT;
	f.env.metrics = metrics_new();
	accepted.client = (struct client){ .known = true, .uid = 7 };
	has_journal = true;
	log_setup(false, LOG_NOTICE);
	journal_wait_for("request 77 for user 7: the driver could not take a plan that was checked "
			 "here: Disk quota exceeded (the driver's reason)\n");
	run_request(&accepted);
	log_setup(true, LOG_ERR);
	assert_non_null(strstr(journal_came(), "PRIORITY=5\n"));
	assert_counted("npumemd_requests_total{planner=\"auto\",outcome=\"failed\"} 1\n");
	assert_counted("npumemd_request_failures_total{errno=\"EDQUOT\"} 1\n");
	metrics_free(f.env.metrics);
}

/* ---------------------------------------------------------- abort, drop, two */

static struct request *start_spinning(const struct accepted *accepted)
{
	struct request *request;

	setenv(REPLACED_PLAN, "plan_spin", 1);
	request = start_request(accepted);
	assert_non_null(request);
	return request;
}

/* A request that is over has ended when its worker is gone, and not before. */
static void assert_ends(void)
{
	assert_int_equal(f.ended, 0);
	assert_int_equal(sd_event_loop(f.event), 0);
	assert_int_equal(f.ended, 1);
}

REQUEST_TEST(abort)
{
	struct accepted accepted = accept_good();
	struct request *request = start_spinning(&accepted);

	assert_false(request_abort(request, ECANCELED, "npumemd is shutting down"));
	assert_int_equal(f.done, 1);
	assert_failed(ECANCELED, "npumemd is shutting down");
	assert_int_equal(fcntl(accepted.fd, F_GETFD), -1);
	/* Once more, while its worker dies: it has had its answer. */
	assert_false(request_abort(request, ECANCELED, "npumemd is shutting down"));
	assert_int_equal(f.done, 1);
	assert_ends();
}

REQUEST_TEST(drop)
{
	struct accepted accepted = accept_good();
	struct request *request = start_spinning(&accepted);

	assert_false(request_drop(request));
	assert_int_equal(f.done, 0);
	assert_int_equal(fcntl(accepted.fd, F_GETFD), -1);
	assert_ends();
}

/* The daemon's own end waits for nobody. */
REQUEST_TEST(free_what_is_under_way)
{
	struct accepted accepted = accept_good();
	struct request *request = start_spinning(&accepted);

	request_free(request);
	assert_int_equal(f.ended, 0);
	assert_int_equal(fcntl(accepted.fd, F_GETFD), -1);
	assert_true(waitpid(-1, NULL, 0) > 0);
}

REQUEST_TEST(free_what_is_over)
{
	struct accepted accepted = accept_good();
	struct request *request = start_spinning(&accepted);

	assert_false(request_drop(request));
	request_free(request);
	assert_int_equal(f.ended, 0);
	assert_true(waitpid(-1, NULL, 0) > 0);
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

REQUEST_TEST(given_up_while_planning)
{
	struct accepted accepted = accept_good();

	setenv(REPLACED_PLAN, "plan_spin", 1);
	f.env.metrics = metrics_new();
	assert_non_null(start_request(&accepted));
	assert_true(f.watched);
	driver_settles(ECANCELED);
	assert_given_up(accepted.fd);
	assert_counted("npumemd_requests_total{planner=\"auto\",outcome=\"over\"} 1\n");
	metrics_free(f.env.metrics);
}

static int after_planning(sd_event_source *source, void *userdata)
{
	driver_settles(ETIMEDOUT);
	return sd_event_source_set_enabled(source, SD_EVENT_OFF);
}

REQUEST_TEST(given_up_while_checking)
{
	struct accepted accepted = accept_good();

	setenv(REPLACED_CHECK, "plan_spin", 1);
	assert_non_null(start_request(&accepted));
	/* The first event is the end of planning. */
	assert_true(sd_event_add_post(f.event, NULL, after_planning, NULL) >= 0);
	assert_given_up(accepted.fd);
}

/* DONE is not the end: that is when the driver has looked at the plan. */
REQUEST_TEST(aborted_while_verified)
{
	struct accepted accepted = accept_good();
	struct request *request;

	f.done_holds = true;
	request = start_request(&accepted);
	assert_non_null(request);
	assert_int_equal(sd_event_loop(f.event), 0);
	assert_int_equal(f.done, 1);
	assert_int_equal(f.ended, 0);
	/* It has had its answer: a second one would be somebody else's. */
	assert_true(request_abort(request, ECANCELED, "npumemd is shutting down"));
	assert_int_equal(f.done, 1);
	assert_int_equal(fcntl(accepted.fd, F_GETFD), -1);
}

/* Reloading does not touch what is under way. */
REQUEST_TEST(config_is_kept)
{
	struct accepted accepted = accept_good();
	struct request *request = start_request(&accepted);

	assert_non_null(request);
	f.config.plan_limit = 1;
	f.config.time_limit = 1;
	assert_int_equal(sd_event_loop(f.event), 0);
	assert_int_equal(f.status, 0);
}

const struct worker_job replacements[] = {
	{ "plan_crash", plan_crash },
	{ "plan_spin", plan_spin },
	{ "plan_nothing", plan_nothing },
	{ "plan_garbage", plan_garbage },
	{ "plan_overlap", plan_overlap },
	{ "plan_strange_errno", plan_strange_errno },
	{ 0 },
};
