/* SPDX-License-Identifier: MIT */
/*
 * What the daemon has done so far, as numbers for monitors: the text format of OpenMetrics 1.0, and
 * the older one of Prometheus, which node_exporter reads from files.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * enum metrics_outcome - how a plan request ended
 * @METRICS_PLANNED: with a plan that was made for it
 * @METRICS_KEPT: with a plan that was kept
 * @METRICS_FAILED: with an errno of the daemon's, or of the driver's that is not about the plan
 * @METRICS_REFUSED: the driver has refused the plan
 * @METRICS_OVER: it was given up, or its deadline came, before there was an answer
 */
enum metrics_outcome {
	METRICS_PLANNED,
	METRICS_KEPT,
	METRICS_FAILED,
	METRICS_REFUSED,
	METRICS_OVER,
	METRICS_OUTCOMES,
};

/* enum metrics_search - how a search for a better plan ended */
enum metrics_search {
	METRICS_BETTER,
	METRICS_NO_BETTER,
	METRICS_SEARCH_FAILED,
	METRICS_SEARCHES,
};

struct metrics;

/*
 * struct metrics_now - what is so at this moment
 * @registered: the driver has taken the daemon
 * @running, @places: requests that have a place, and how many places there are
 * @waiting: requests that wait for one
 * @searches: searches for better plans that run or wait
 * @held: they wait since they have used up their share of a processor
 */
struct metrics_now {
	bool registered;
	uint64_t running;
	uint64_t waiting;
	uint64_t places;
	uint64_t searches;
	bool held;
};

/** metrics_new() - all zero; NULL: out of memory */
struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);

/*
 * metrics_request() - count a request that has ended
 * @metrics: NULL: nobody counts
 * @planner: that was asked for; one that nobody knows counts as "unknown"
 * @status: positive errno of METRICS_FAILED and METRICS_REFUSED
 */
void metrics_request(struct metrics *metrics, const char *planner, enum metrics_outcome outcome,
		     uint32_t status, uint64_t duration_us);
/** metrics_cpu() - count processor time of a planning process; @metrics may be NULL */
void metrics_cpu(struct metrics *metrics, uint64_t cpu_us);
/** metrics_search_cpu() - count processor time of a search's process; @metrics may be NULL */
void metrics_search_cpu(struct metrics *metrics, uint64_t cpu_us);
/** metrics_search() - count a search that has ended; @metrics may be NULL */
void metrics_search(struct metrics *metrics, enum metrics_search outcome);

/*
 * metrics_text() - all as text; free() it
 * @open: OpenMetrics; else Prometheus
 * @size: out: bytes, without the NUL
 *
 * NULL: out of memory.
 */
char *metrics_text(const struct metrics *metrics, const struct metrics_now *now, bool open,
		   size_t *size);
