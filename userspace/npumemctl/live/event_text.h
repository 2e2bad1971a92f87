/* SPDX-License-Identifier: MIT */
/* Events as npumemctl monitor prints them: a line each. */
#pragma once

#include <stdio.h>

#include "events.h"

/*
 * event_print() - for people
 * @process: name of the process, as it has chosen it; "" if it is gone
 * @now: when the event came, in seconds since 1970
 */
void event_print(FILE *out, const struct live_event *event, const char *process, double now);
/** event_print_json() - as an object; -ENOMEM */
int event_print_json(FILE *out, const struct live_event *event, const char *process, double now);
/** clock_seconds() - that time, now, in whole milliseconds */
double clock_seconds(void);
