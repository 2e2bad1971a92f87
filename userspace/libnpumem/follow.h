/* SPDX-License-Identifier: MIT */
/* How a runtime asks for its plan again; not installed. */
#pragma once

#include "device.h"
#include "npumem_follow.h"

/**
 * struct npumem_follow - what is asked for, and when
 * @graph: of the plans
 * @asked: the request
 * @patience: nanoseconds that a request may take
 * @pending: the request that is under way, or NULL
 * @interval: nanoseconds between two requests, at least
 * @wait: nanoseconds from the last answer to the next request
 * @next: time of the next request
 * @current: handle of the plan that was run when the last answer came; 0: none has
 */
struct npumem_follow {
	struct npumem_graph *graph;
	struct npumem_asked asked;
	int64_t patience;
	struct npumem_plan *pending;
	int64_t interval;
	int64_t wait;
	int64_t next;
	uint32_t current;
};

/* npumem_follow_improved() at a time of CLOCK_MONOTONIC, in nanoseconds. */
int npumem_follow_at(struct npumem_follow *follow, int64_t now, struct npumem_plan *plan,
		     struct npumem_plan **better, struct npumem_error *error);
