/* SPDX-License-Identifier: MIT */
/*
 * Plans that improve: a program has its answer soon, and the search for a better one goes on when
 * nothing else is to be done, in an idle process, for a limited time. The better plan
 * takes the place of what is kept, and the next request gets it.
 *
 * One search runs at a time. Users take turns, and of one those that were asked for first come
 * first. What waits is copies of requests, and bounded: where there is no place, the user who has
 * most gives his last one to another who has less; a request that finds none waits until it is made
 * again.
 *
 * A battery is not for searches: where one is being emptied none begins, and the one that runs is
 * stopped, and begins anew when that is over.
 *
 * All of them together have a share of one processor: who has always new graphs, or goes on asking
 * where a search is in vain, must not keep a device warm for ever. What they took is counted as the
 * kernel says; a search that takes more than is left makes a debt, and the next one waits longer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#include "config.h"
#include "keep.h"

struct improver;
struct metrics;

/*
 * struct improver_host - what an improver asks the device for
 * @process, @groups: as memory_limit() takes them
 * @supplies: as power_is_battery() takes it: whether a battery is being emptied
 * @look_us: so often it looks whether searches may go on, in microseconds
 * @period_us: [improve] share is of so many microseconds
 * @idle: searches run when nothing else does
 * @now: CLOCK_MONOTONIC microseconds, by which what searches have taken is forgotten
 */
struct improver_host {
	const char *process;
	const char *groups;
	const char *supplies;
	uint64_t look_us;
	uint64_t period_us;
	bool idle;
	uint64_t (*now)(void);
};

/* That of the system: looks every 30 seconds, and the share is of an hour. */
extern const struct improver_host improver_host;

/*
 * improver_new() - an improver that has nothing to do
 * @config, @cache: the server's, which may change at any time
 * @metrics: counts searches; NULL = nobody does
 * @host: improver_host, or a test's; stays
 *
 * Returns -ENOMEM if there is no memory for it.
 */
int improver_new(sd_event *event, const struct config *config, struct plancache *const *cache,
		 struct metrics *metrics, const struct improver_host *host, struct improver **out);
/* Ends the search that runs. NULL is fine. */
void improver_free(struct improver *improver);

/*
 * improver_configured() - the configuration or the cache is another one
 *
 * Where nobody wants better plans any more, or nothing can be kept, the search that runs is ended,
 * and those that wait are dropped. What was tried in vain may be tried again at once: that it was
 * may have been for the old configuration.
 */
void improver_configured(struct improver *improver);

/* How many searches run and wait. */
size_t improver_count(const struct improver *improver);

/* Whether they wait since searches have used up their share of a processor. */
bool improver_held(const struct improver *improver);

/*
 * improver_forget() - what a search for the plan of a request came to counts no more
 *
 * For who keeps a plan where none was: the one that was searched for in vain was dropped.
 */
void improver_forget(struct improver *improver, const struct kept *kept);

/*
 * improver_follows() - whether a search may follow the first answer of a request
 * @kept: what was looked for
 *
 * Not where its graph is too large to wait, or a plan for it could not be kept: what it gets now it
 * gets for good.
 */
bool improver_follows(const struct improver *improver, const struct accepted *accepted,
		      const struct kept *kept);

/* improver_kept() - whether the plan of an answer, with which a search would begin, was kept */
void improver_kept(struct improver *improver, const struct kept *kept, bool stored);

/*
 * improver_add() - have the plan of a request improved
 * @accepted: the request, of which copies are made
 *
 * Does nothing if the configuration wants no searches, if the plan is final or has had its time,
 * if it waits already, if it was searched for in vain not long ago (tries.h), or if too many wait.
 */
void improver_add(struct improver *improver, const struct accepted *accepted,
		  const struct kept *kept);
