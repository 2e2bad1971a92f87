/* SPDX-License-Identifier: MIT */
/*
 * Effort: what a call may take, and whether it may go on.
 *
 * Planning and packing end early for three reasons: the limit of work is reached, the deadline is
 * past, or the caller, whom progress is told to, wants no more. One effort holds these for one call
 * of the library; every part of the call asks it; a NULL effort never ends. A part that starts
 * another search with an effort of its own passes on what is left of its limits by
 * npuplan_effort_left() and npuplan_effort_work_left(), and hears of that search's progress by a
 * struct npuplan_member. Searches that take turns under one effort are each given a share of what
 * is left (npuplan_effort_share()).
 *
 * The limit of memory is heap.h's: allocations fail.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "npuplan.h"

/**
 * struct npuplan_effort - what one call may take
 * @progress: the caller's function, which is told how far the call is; NULL: none
 * @context: handed to @progress
 * @work_limit: deterministic work units; UINT64_MAX: no limit
 * @started: when the call began, in seconds of npuplan_now()
 * @deadline: when the call has to end, in seconds of npuplan_now(); 0: no deadline
 * @stopped: the caller, or a limit, has ended the call, which is final: nobody is told more
 * @traffic: progress is told in bytes of traffic instead of bytes of an arena
 * @share_work: work units at which the share of the search that runs now ends, though the call
 *	goes on; UINT64_MAX: with the call
 * @share_deadline: when that share ends, in seconds of npuplan_now(); 0: with the call
 * @told_at: work units when npuplan_effort_tell() was called last
 */
struct npuplan_effort {
	int (*progress)(void *context, const struct npuplan_pack_progress *progress);
	void *context;
	uint64_t work_limit;
	double started;
	double deadline;
	bool stopped;
	bool traffic;
	uint64_t share_work;
	double share_deadline;
	uint64_t told_at;
};

/* npuplan_effort_begin() - an effort that begins now
 * @work_limit: work units; UINT64_MAX: no limit
 * @deadline_seconds: seconds from now to the deadline; 0: no deadline
 */
static inline struct npuplan_effort
npuplan_effort_begin(uint64_t work_limit, double deadline_seconds,
		     int (*progress)(void *context, const struct npuplan_pack_progress *progress),
		     void *context)
{
	double now = npuplan_now();

	return (struct npuplan_effort){
		.progress = progress,
		.context = context,
		.work_limit = work_limit,
		.started = now,
		.deadline = deadline_seconds ? now + deadline_seconds : 0,
		.share_work = UINT64_MAX,
	};
}

/* The seconds since the call began. */
static inline double npuplan_effort_seconds(const struct npuplan_effort *effort)
{
	return npuplan_now() - effort->started;
}

/** npuplan_effort_late() - whether the deadline is past; false if there is none */
bool npuplan_effort_late(const struct npuplan_effort *effort);

/** npuplan_effort_ended() - whether the call is to end, without telling the caller anything */
static inline bool npuplan_effort_ended(const struct npuplan_effort *effort)
{
	return (effort && effort->stopped) || npuplan_effort_late(effort);
}

/* npuplan_effort_left() - seconds until the deadline, as deadline_seconds of another call
 *
 * The result is 0 if there is no deadline. If the deadline is past, it is a microsecond, since 0
 * would mean that there is none.
 */
double npuplan_effort_left(const struct npuplan_effort *effort);

/**
 * npuplan_effort_work_left() - work units that are left, as work_limit of another call
 * @limit: work units that the user asked for; 0: the user asked for none
 * @used: units that have been used of it
 * @own: the other call's limit if the user asked for none
 *
 * The result is at least 1, since 0 would mean that there is no limit.
 */
uint64_t npuplan_effort_work_left(uint64_t limit, uint64_t used, uint64_t own);

/* npuplan_effort_tell() - tell the caller how far the call has come
 * @top: bytes of the best packing, or the least traffic, so far; UINT64_MAX: none yet
 * @lower_bound: bytes below which nothing is, as proved so far; 0: nothing is proved
 * @work: units used so far
 *
 * The result is true if the call is to end with what it has found. A caller that has said so is not
 * asked again.
 */
bool npuplan_effort_tell(struct npuplan_effort *effort, uint64_t top, uint64_t lower_bound,
			 uint64_t work);

/* npuplan_effort_over() - whether the call is to end by its work, by the clock or by its caller
 *
 * This looks at the clock and, unless work or the clock ends the call, tells the caller how far the
 * call is. That is too slow to be done for each unit of work.
 */
bool npuplan_effort_over(struct npuplan_effort *effort, uint64_t top, uint64_t lower_bound,
			 uint64_t work);

/* npuplan_effort_share() - what the search that runs next may take of what is left
 * @work: units so far
 * @units: of work, for the search; 0: all that are left
 * @part: of the time that is left, 0..1
 *
 * The next share takes the place of this one. With (effort, work, 0, 1) it is all that is left.
 */
void npuplan_effort_share(struct npuplan_effort *effort, uint64_t work, uint64_t units,
			  double part);

/* npuplan_effort_share_over() - whether a search with a share is to end: with it, or with the call
 *
 * Arguments as npuplan_effort_tell()'s. This may be asked for each unit of work: it looks at the
 * clock, and tells the caller, only every NPUPLAN_EFFORT_LOOK units. Where the call is to end, it
 * is stopped.
 */
#define NPUPLAN_EFFORT_LOOK 200000
bool npuplan_effort_share_over(struct npuplan_effort *effort, uint64_t top, uint64_t lower_bound,
			       uint64_t work);

/**
 * struct npuplan_until - when to give up, for a function that knows no more of the call
 * @over: returns whether to give up; asked now and then
 * @context: handed to @over
 */
struct npuplan_until {
	bool (*over)(void *context);
	void *context;
};

/* Whether to give up now; if @until is NULL, one never gives up. */
static inline bool npuplan_until_over(const struct npuplan_until *until)
{
	return until && until->over(until->context);
}
