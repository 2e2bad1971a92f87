/* SPDX-License-Identifier: MIT */
/* Limits, memory and progress, which all parts of one call of npuplan_cosma() share. */
#pragma once

#include "base/internal.h"
#include "planners/cosma/cosma.h"

/**
 * struct cosma_call - one call
 * @options: what is asked for
 * @effort: limit of work, deadline, the caller, and the share of the part that runs now
 * @heap: counts what the call allocates, from cosma_call_start() on
 * @outer: heap that was in use before
 * @work: units so far
 * @incumbent: cost of the best plan; UINT64_MAX if there is none yet
 * @lower_bound: of the cost
 */
struct cosma_call {
	const struct cosma_settings *options;
	struct npuplan_effort effort;
	struct npuplan_heap heap;
	struct npuplan_heap *outer;
	uint64_t work;
	uint64_t incumbent;
	uint64_t lower_bound;
};

/*
 * cosma_call_start() - begin a call
 *
 * What is allocated in this thread is counted until cosma_call_end(). There is no limit of memory
 * yet, so that there is a plan to have.
 */
void cosma_call_start(struct cosma_call *call, const struct cosma_settings *options);
void cosma_call_end(struct cosma_call *call);
/* Sets the limit of memory that was asked for, or lifts it. */
void cosma_call_limit_memory(struct cosma_call *call, bool limited);
/*
 * Whether an error says that the limit of memory is reached. A search then ends as at its limit of
 * work, and keeps what it has found.
 */
static inline bool cosma_call_refused(const struct cosma_call *call, int err)
{
	return err == -ENOMEM && call->heap.refused;
}
/* Whether to stop now. This looks at the clock, and tells the caller, now and then. */
bool cosma_call_over(struct cosma_call *call);
/* Gives the part that runs next a share: so many units of work, and such a part of the time that is
 * left (npuplan_effort_share()).
 */
void cosma_call_share(struct cosma_call *call, uint64_t units, double part);
/* Tells the caller at once how far the call has come. */
void cosma_call_report(struct cosma_call *call);
