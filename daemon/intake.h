/* SPDX-License-Identifier: MIT */
/*
 * Requests are accepted as they come, so that who asks for what is kept waits for no planner.
 * Others wait for a place, of which config->workers says how many there are. Users take turns,
 * processes of a user again, and of a process the oldest comes first, as in the driver's queue.
 */
#pragma once

#include <stdint.h>

#include "request.h"

/* The most that config->workers may be. */
#define INTAKE_MAX     64
/* So many wait for a place at most. More wait in the driver. */
#define INTAKE_WAITING 256

/* Microseconds until a request is accepted again that could not be: no memory, no descriptors. */
#define INTAKE_RETRY_US 1000000

struct intake;

/*
 * intake_new() - nothing is under way yet
 * @env: of all requests, which stays; who is told of their ends is filled in
 * @retry_us: INTAKE_RETRY_US, or a test's
 *
 * -ENOMEM, or what the event loop has no clock for.
 */
int intake_new(struct request_env *env, uint64_t retry_us, struct intake **out);
/* What is under way is freed as it is. NULL is fine. */
void intake_free(struct intake *intake);

/*
 * intake_go_on() - fill free places, and accept until no request waits in the driver
 *
 * What cannot be accepted is tried again by itself; the log says it once. After some time the loop
 * sees to other things first.
 */
void intake_go_on(struct intake *intake);

/* How many are under way, with those that are over and whose worker is not gone yet. */
unsigned int intake_count(const struct intake *intake);

/* How many of them have a place, and how many wait for one. */
unsigned int intake_places(const struct intake *intake);
unsigned int intake_waiting(const struct intake *intake);

/*
 * Settle all that are under way with an error. Who waits for a place is told what he would be told
 * if he waited in the driver, that there is no daemon any more.
 */
void intake_abort(struct intake *intake, uint32_t status, const char *message);

/* The driver is gone, and they with it. */
void intake_drop(struct intake *intake);
