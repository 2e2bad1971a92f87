/* SPDX-License-Identifier: MIT */
/*
 * A plan request, from ACCEPT to its end: the daemon looks whether it keeps a plan for it (keep.h),
 * or the request waits until it has a place, and the daemon plans in one worker and checks the plan
 * in another; it writes the plan to the request's
 * descriptor, sends DONE, and waits for the driver's verdict. If anything fails it sends DONE with
 * an errno and a sentence. A request that the driver settles meanwhile (given up, deadline) is
 * over: its worker is killed, and keeps its place until it is gone.
 */
#pragma once

#include <stdbool.h>

#include <systemd/sd-event.h>

#include "config.h"
#include "transport.h"

struct plancache_key;
struct request;

/*
 * struct request_env - things that all requests share
 * @event: event loop that they run in
 * @transport: where they came from
 * @config: configuration of new requests; those under way keep the one they began with
 * @cache: plans that are kept, which the server may replace; NULL = none
 * @improver: searches for better plans than those that are kept; NULL = nobody does
 * @metrics: counts requests; NULL = nobody does
 * @quotas: the time that planning for each has taken; NULL = nobody is charged
 * @kept: called when a plan has been kept that was made for a request; NULL = nobody is
 * @ended: called when a request is settled and nothing of it runs, just before it is freed
 */
struct request_env {
	sd_event *event;
	const struct transport *transport;
	const struct config *config;
	struct plancache *cache;
	struct improver *improver;
	struct metrics *metrics;
	struct quotas *quotas;
	void (*kept)(const struct plancache_key *key, void *userdata);
	void (*ended)(struct request *request, void *userdata);
	void *userdata;
};

/*
 * request_start() - begin with a request, which takes over @accepted->fd
 *
 * What is kept is its answer, if that is as good as planning anew; else it waits for a place.
 * Returns NULL if the request is settled already, with an error; @ended is then not called.
 */
struct request *request_start(const struct request_env *env, const struct accepted *accepted);

/* Whether it waits for a place; whether it has one, which it has until nothing of it runs. */
bool request_waits(const struct request *request);
bool request_has_place(const struct request *request);
const struct client *request_client(const struct request *request);

/* It will wait for long: memory of what is kept, but no answer, is let go. */
void request_wait(struct request *request);

/*
 * request_plan() - one that waits has a place: plan
 *
 * What the configuration says now holds for one that has waited. What is kept by now may be its
 * answer, so that it takes no place. It may have ended, with an error, when this returns.
 */
void request_plan(struct request *request);

/* A plan has been kept with this key, which may be the answer of one that waits. */
void request_note(struct request *request, const struct plancache_key *key);

/* request_look() - if so, and that is as good as planning, answer with it; it may end */
void request_look(struct request *request);

/*
 * request_abort() - settle a request with an error now, whatever it is doing
 *
 * True: it is freed, and @ended is not called. False: its worker is killed, and @ended is called
 * when that is gone: until then it has its memory, and the request its place.
 */
bool request_abort(struct request *request, uint32_t status, const char *message);

/* The driver is gone, and the request with it. As request_abort(), also of one that has ended. */
bool request_drop(struct request *request);

/* At the end of the program: free a request, whatever it is doing, and wait for nothing. */
void request_free(struct request *request);
