// SPDX-License-Identifier: MIT
/* npumemd: requests are accepted as places are free, and again where one could not be. */
#include "npumemd_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "intake.h"
#include "log.h"
#include "said.h"

const struct worker_job replacements[] = { { "plan_spin", plan_spin }, { 0 } };

/*
 * struct driver - what it says to ACCEPT
 * @waiting: requests that wait
 * @errors: errnos, negative, that come first
 * @error_count: how many of them are left
 * @asked: how often ACCEPT was sent
 */
static struct driver {
	unsigned int waiting;
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
	*accepted = next_request();
	return 0;
}

static int intake_setup(void **state)
{
	if (request_setup(state))
		return -1;
	driver = (struct driver){ 0 };
	others = f.transport.ops;
	ops = *others;
	ops.accept = fake_accept;
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
	f.transport.ops = others;
	return request_teardown(state);
}

#define INTAKE_TEST(name) TEST_WITH(name, intake_setup, intake_teardown)

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

/* As many as there are places, and the next when one is free again. */
INTAKE_TEST(places)
{
	setenv(REPLACED_PLAN, "plan_spin", 1);
	driver.waiting = 3;
	go_on_until(2);
	assert_int_equal(driver.waiting, 1);
	intake_abort(intake, ECANCELED, "no more");
	/* A worker that was killed keeps its place until it is gone. */
	assert_int_equal(intake_count(intake), 2);
	intake_go_on(intake);
	assert_int_equal(driver.waiting, 1);
	/* The driver that goes does not end a request twice. */
	intake_drop(intake);
	assert_int_equal(intake_count(intake), 2);
	/* It is asked once more, for the other place. */
	while (driver.asked < 4)
		assert_true(sd_event_run(f.event, UINT64_MAX) >= 0);
	assert_int_equal(driver.waiting, 0);
	assert_int_equal(driver.asked, 4);
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
