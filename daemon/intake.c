// SPDX-License-Identifier: MIT
#include "intake.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "clock.h"
#include "log.h"

/* Microseconds of accepting in one go. */
#define ACCEPTING_US 20000

/* Answers that the driver has not verified yet may be so many beside the others. */
#define ANSWERED 64
#define REQUESTS (INTAKE_MAX + INTAKE_WAITING + ANSWERED)

/* Descriptors that the daemon itself may have, and that a planning process takes of its. */
#define DESCRIPTORS	     40
#define DESCRIPTORS_OF_PLACE 8

/*
 * struct intake - see the header
 * @requests: under way, @count of them; of those that wait the first one is the next
 * @later: event source that goes on accepting
 * @waits: it is on
 * @told: the log has said that none can be accepted
 */
struct intake {
	struct request_env *env;
	struct request *requests[REQUESTS];
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

static bool is_users(const struct client *a, const struct client *b)
{
	return client_user(a) == client_user(b);
}

static bool is_process(const struct client *a, const struct client *b)
{
	return is_users(a, b) && a->pid == b->pid;
}

/* Moves the requests that are another's to the front, in their order. */
static void put_behind(struct intake *intake, const struct client *client,
		       bool (*is_his)(const struct client *a, const struct client *b))
{
	struct request *his[REQUESTS];
	unsigned int others = 0, count = 0;

	for (unsigned int i = 0; i < intake->count; i++) {
		if (is_his(request_client(intake->requests[i]), client))
			his[count++] = intake->requests[i];
		else
			intake->requests[others++] = intake->requests[i];
	}
	memcpy(&intake->requests[others], his, count * sizeof(his[0]));
}

static unsigned int count_if(const struct intake *intake, bool (*is)(const struct request *request))
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < intake->count; i++)
		count += is(intake->requests[i]);
	return count;
}

unsigned int intake_places(const struct intake *intake)
{
	return count_if(intake, request_has_place);
}

unsigned int intake_waiting(const struct intake *intake)
{
	return count_if(intake, request_waits);
}

static struct request *first_that_waits(const struct intake *intake)
{
	for (unsigned int i = 0; i < intake->count; i++)
		if (request_waits(intake->requests[i]))
			return intake->requests[i];
	return NULL;
}

/* What else its user waits for comes behind others', and what its process does behind that. */
static void take_turn(struct intake *intake, const struct request *request)
{
	put_behind(intake, request_client(request), is_users);
	put_behind(intake, request_client(request), is_process);
}

/* False: that took too long, and goes on later. */
static bool fill_places(struct intake *intake, uint64_t started_us)
{
	struct request *request = first_that_waits(intake);

	while (request && intake_places(intake) < intake->env->config->workers) {
		if (now_us() - started_us > ACCEPTING_US) {
			go_on_later(intake, 0);
			return false;
		}
		take_turn(intake, request);
		request_plan(request);
		request = first_that_waits(intake);
	}
	return true;
}

static void take_out(struct intake *intake, unsigned int i)
{
	intake->count--;
	memmove(&intake->requests[i], &intake->requests[i + 1],
		(intake->count - i) * sizeof(intake->requests[0]));
}

static void take_in(struct intake *intake, const struct accepted *accepted)
{
	struct request *request;

	log_accepted(LOG_DEBUG, accepted, "request %" PRIu64 ": graph of %" PRIu64 " bytes",
		     accepted->id, accepted->graph_size);
	request = request_start(intake->env, accepted);
	if (!request)
		return;
	intake->requests[intake->count++] = request;
	if (!request_waits(request))
		return;
	if (intake_places(intake) < intake->env->config->workers) {
		take_turn(intake, request);
		request_plan(request);
		return;
	}
	request_wait(request);
}

/*
 * Each that waits has a descriptor, which is none of a worker's any more: the daemon's own come
 * first, and those of all places.
 */
static unsigned int most_waiting(const struct intake *intake)
{
	const rlim_t reserve = DESCRIPTORS + intake->env->config->workers * DESCRIPTORS_OF_PLACE;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= reserve + INTAKE_WAITING)
		return INTAKE_WAITING;
	return limit.rlim_cur > reserve ? (unsigned int)(limit.rlim_cur - reserve) : 0;
}

static bool has_room(const struct intake *intake)
{
	return intake->count < REQUESTS && (intake_places(intake) < intake->env->config->workers ||
					    intake_waiting(intake) < most_waiting(intake));
}

/* Those that wait for the same plan have it when the loop is here again. */
static void on_kept(const struct plancache_key *key, void *userdata)
{
	struct intake *intake = userdata;

	for (unsigned int i = 0; i < intake->count; i++)
		request_note(intake->requests[i], key);
}

static void answer_waiting(struct intake *intake)
{
	/* One that fails is taken out. */
	for (unsigned int i = intake->count; i > 0; i--)
		request_look(intake->requests[i - 1]);
}

void intake_go_on(struct intake *intake)
{
	const struct transport *transport = intake->env->transport;
	uint64_t started = now_us();

	answer_waiting(intake);
	if (!fill_places(intake, started))
		return;
	while (has_room(intake)) {
		struct accepted accepted;
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
		take_in(intake, &accepted);
	}
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
	env->kept = on_kept;
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
	for (unsigned int i = intake->count; i > 0; i--) {
		struct request *request = intake->requests[i - 1];

		if (request_waits(request) ? request_drop(request) :
					     request_abort(request, status, message))
			take_out(intake, i - 1);
	}
}

void intake_drop(struct intake *intake)
{
	for (unsigned int i = intake->count; i > 0; i--)
		if (request_drop(intake->requests[i - 1]))
			take_out(intake, i - 1);
}
