/* SPDX-License-Identifier: MIT */
/*
 * A plan request from ACCEPT to its end: plan in one worker, check in another, write
 * the plan to the request's descriptor, DONE, and wait for what the driver says of
 * it. Whatever goes wrong becomes DONE with an errno and a sentence. A request that
 * the driver settles meanwhile (given up, deadline) is over: its worker is killed.
 */
#pragma once

#include <systemd/sd-event.h>

#include "config.h"
#include "transport.h"

struct request;

/*
 * struct request_env - what all requests share
 * @event: loop that they run in
 * @transport: that they came from
 * @config: of new requests; those under way keep what they began with
 * @ended: called when one is settled, just before it is freed
 */
struct request_env {
	sd_event *event;
	const struct transport *transport;
	const struct config *config;
	void (*ended)(struct request *request, void *userdata);
	void *userdata;
};

/*
 * request_start() - begin; @accepted->fd is the request's from now on
 *
 * Returns NULL if the request is settled already, with an error; @ended is then
 * not called.
 */
struct request *request_start(const struct request_env *env, const struct accepted *accepted);

/* Settle with an error now, whatever it is doing. @ended is not called. */
void request_abort(struct request *request, uint32_t status, const char *message);

/* The driver is gone, and the request with it. @ended is not called. */
void request_drop(struct request *request);
