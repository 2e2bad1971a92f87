// SPDX-License-Identifier: MIT
#include "intake.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "log.h"

/* Microseconds of accepting in one go. */
#define ACCEPTING_US 20000

/*
 * struct intake - see the header
 * @requests: under way, @count of them
 * @later: event source that goes on accepting
 * @waits: it is on
 * @told: the log has said that none can be accepted
 */
struct intake {
	struct request_env *env;
	struct request *requests[INTAKE_MAX];
	unsigned int count;
	uint64_t retry_us;
	sd_event_source *later;
	bool waits;
	bool told;
};

static int on_later(sd_event_source *source, uint64_t now, void *userdata)
{
	struct intake *intake = userdata;

	intake->waits = false;
	intake_go_on(intake);
	return 0;
}

/* Go on from the event loop, when some time has passed. */
static void go_on_later(struct intake *intake, uint64_t delay_us)
{
	int err;

	/* What was to be soonest is soon enough. */
	if (intake->waits && delay_us)
		return;
	err = sd_event_source_set_time_relative(intake->later, delay_us);
	if (err >= 0)
		err = sd_event_source_set_enabled(intake->later, SD_EVENT_ONESHOT);
	intake->waits = err >= 0;
	if (err < 0)
		log_error("cannot go on accepting: %s", strerror(-err));
}

/*
 * The driver has put back the request that the daemon had no memory or descriptor for, and does not
 * speak of it again.
 */
static void try_again(struct intake *intake, int err)
{
	if (!intake->told)
		log_error("cannot accept a request: %s; it waits", strerror(-err));
	intake->told = true;
	go_on_later(intake, intake->retry_us);
}

void intake_go_on(struct intake *intake)
{
	const struct transport *transport = intake->env->transport;
	uint64_t started = now_us();

	while (intake->count < intake->env->config->workers) {
		struct accepted accepted;
		struct request *request;
		int err;

		if (now_us() - started > ACCEPTING_US) {
			go_on_later(intake, 0);
			return;
		}
		err = transport->ops->accept(transport->data, &accepted);
		if (err == -ENOENT || err == -ENOTCONN)
			return;
		if (err) {
			try_again(intake, err);
			return;
		}
		intake->told = false;
		log_accepted(LOG_DEBUG, &accepted,
			     "request %" PRIu64 ": graph of %" PRIu64 " bytes", accepted.id,
			     accepted.graph_size);
		request = request_start(intake->env, &accepted);
		if (request)
			intake->requests[intake->count++] = request;
	}
}

static void take_out(struct intake *intake, unsigned int i)
{
	intake->requests[i] = intake->requests[--intake->count];
}

static void on_ended(struct request *request, void *userdata)
{
	struct intake *intake = userdata;

	for (unsigned int i = 0; i < intake->count; i++) {
		if (intake->requests[i] == request) {
			take_out(intake, i);
			break;
		}
	}
	/* The next request is not accepted from within this one's callback. */
	go_on_later(intake, 0);
}

int intake_new(struct request_env *env, uint64_t retry_us, struct intake **out)
{
	struct intake *intake = calloc(1, sizeof(*intake));
	int err;

	if (!intake)
		return -ENOMEM;
	/* It is there from the beginning: later there may be no descriptor left for the clock. */
	err = sd_event_add_time_relative(env->event, &intake->later, CLOCK_MONOTONIC, 0, 1,
					 on_later, intake);
	if (err >= 0)
		err = sd_event_source_set_enabled(intake->later, SD_EVENT_OFF);
	if (err < 0) {
		intake_free(intake);
		return err;
	}
	intake->env = env;
	intake->retry_us = retry_us;
	env->ended = on_ended;
	env->userdata = intake;
	*out = intake;
	return 0;
}

void intake_free(struct intake *intake)
{
	if (!intake)
		return;
	while (intake->count)
		request_free(intake->requests[--intake->count]);
	sd_event_source_disable_unref(intake->later);
	free(intake);
}

unsigned int intake_count(const struct intake *intake)
{
	return intake->count;
}

void intake_abort(struct intake *intake, uint32_t status, const char *message)
{
	for (unsigned int i = intake->count; i > 0; i--)
		if (request_abort(intake->requests[i - 1], status, message))
			take_out(intake, i - 1);
}

void intake_drop(struct intake *intake)
{
	for (unsigned int i = intake->count; i > 0; i--)
		if (request_drop(intake->requests[i - 1]))
			take_out(intake, i - 1);
}
