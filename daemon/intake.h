/* SPDX-License-Identifier: MIT */
/*
 * Requests are accepted as long as there are places for them, which config->workers says, and those
 * that are under way are kept account of. More wait in the driver.
 */
#pragma once

#include <stdint.h>

#include "request.h"

/* The most that config->workers may be. */
#define INTAKE_MAX 64

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
 * intake_go_on() - accept until all places are taken or no request waits
 *
 * What cannot be accepted is tried again by itself; the log says it once. Those that are refused at
 * once take no place: after so many the loop sees to other things first.
 */
void intake_go_on(struct intake *intake);

/* How many are under way, with those that are over and whose worker is not gone yet. */
unsigned int intake_count(const struct intake *intake);

/* Settle all that are under way with an error. */
void intake_abort(struct intake *intake, uint32_t status, const char *message);

/* The driver is gone, and they with it. */
void intake_drop(struct intake *intake);
