// SPDX-License-Identifier: MIT
#include "metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npuplan.h"

/* Planners that are told apart, those that nobody knows among them. */
#define MAX_PLANNERS 64
/* Numbers of errors that are told apart; larger ones are the last. */
#define MAX_ERRNO    134

/* Upper ends of the histogram's buckets, also as OpenMetrics writes numbers, in seconds. */
static const struct {
	uint64_t us;
	const char *le;
} buckets[] = {
	{ 1000, "0.001" },  { 10000, "0.01" },	  { 100000, "0.1" },
	{ 1000000, "1.0" }, { 10000000, "10.0" }, { 60000000, "60.0" },
};
#define BUCKETS (sizeof(buckets) / sizeof(buckets[0]))

/*
 * struct metrics - counters
 * @requests: by planner, in the library's order and then "unknown", and outcome
 * @failures: by errno
 * @durations: requests by how long they took: each is counted in the first bucket that it fits
 *	into, and in the last element if it took longer than all buckets
 * @duration_us: microseconds that all requests took together
 * @cpu_us: processor time of planning processes, in microseconds
 * @search_cpu_us: that of searches
 * @searches: by outcome
 */
struct metrics {
	uint64_t requests[MAX_PLANNERS][METRICS_OUTCOMES];
	uint64_t failures[MAX_ERRNO];
	uint64_t durations[BUCKETS + 1];
	uint64_t duration_us;
	uint64_t cpu_us;
	uint64_t search_cpu_us;
	uint64_t searches[METRICS_SEARCHES];
};

struct metrics *metrics_new(void)
{
	return calloc(1, sizeof(struct metrics));
}

void metrics_free(struct metrics *metrics)
{
	free(metrics);
}

static const char *planner_name(unsigned int i)
{
	const char *name = i < MAX_PLANNERS - 1 ? npuplan_planner_name(i) : NULL;

	return name ? name : "unknown";
}

static unsigned int planner_index(const char *planner)
{
	const char *name;
	unsigned int i;

	for (i = 0; i < MAX_PLANNERS - 1 && (name = npuplan_planner_name(i)); i++)
		if (!strcmp(name, planner))
			break;
	return i;
}

void metrics_request(struct metrics *metrics, const char *planner, enum metrics_outcome outcome,
		     uint32_t status, uint64_t duration_us)
{
	unsigned int bucket = 0;

	if (!metrics)
		return;
	while (bucket < BUCKETS && duration_us > buckets[bucket].us)
		bucket++;
	metrics->requests[planner_index(planner)][outcome]++;
	metrics->durations[bucket]++;
	metrics->duration_us += duration_us;
	if (outcome == METRICS_FAILED || outcome == METRICS_REFUSED)
		metrics->failures[status < MAX_ERRNO ? status : MAX_ERRNO - 1]++;
}

void metrics_cpu(struct metrics *metrics, uint64_t cpu_us)
{
	if (metrics)
		metrics->cpu_us += cpu_us;
}

void metrics_search_cpu(struct metrics *metrics, uint64_t cpu_us)
{
	if (metrics)
		metrics->search_cpu_us += cpu_us;
}

void metrics_search(struct metrics *metrics, enum metrics_search outcome)
{
	if (metrics)
		metrics->searches[outcome]++;
}

/* ----------------------------------------------------------------------- text */

/* The lines before a family's samples. A counter has another name in the older format. */
static void family(FILE *out, bool open, const char *name, const char *type, const char *help)
{
	const char *suffix = open ? "" : !strcmp(type, "counter") ? "_total" : "";

	fprintf(out, "# TYPE %s%s %s\n# HELP %s%s %s\n", name, suffix, type, name, suffix, help);
}

static void print_requests(FILE *out, const struct metrics *metrics, bool open)
{
	static const char *const outcomes[] = { "planned", "kept", "failed", "refused", "over" };
	unsigned int i = 0;
	bool last;

	family(out, open, "npumemd_requests", "counter", "Plan requests that have ended.");
	do {
		const char *name = planner_name(i);

		last = !strcmp(name, "unknown");
		for (int k = 0; k < METRICS_OUTCOMES; k++)
			if (metrics->requests[i][k])
				fprintf(out,
					"npumemd_requests_total{planner=\"%s\",outcome=\"%s\"} "
					"%" PRIu64 "\n",
					name, outcomes[k], metrics->requests[i][k]);
		i++;
	} while (!last);
	family(out, open, "npumemd_request_failures", "counter",
	       "Plan requests that have failed, or were refused by the driver, by errno.");
	for (int k = 0; k < MAX_ERRNO; k++) {
		const char *name = strerrorname_np(k);

		if (metrics->failures[k])
			fprintf(out, "npumemd_request_failures_total{errno=\"%s\"} %" PRIu64 "\n",
				k && name ? name : "unknown", metrics->failures[k]);
	}
}

static void print_durations(FILE *out, const struct metrics *metrics, bool open)
{
	uint64_t count = 0;

	family(out, open, "npumemd_request_duration_seconds", "histogram",
	       "From the acceptance of a plan request to its end.");
	if (open)
		fputs("# UNIT npumemd_request_duration_seconds seconds\n", out);
	for (size_t i = 0; i < BUCKETS; i++) {
		count += metrics->durations[i];
		fprintf(out, "npumemd_request_duration_seconds_bucket{le=\"%s\"} %" PRIu64 "\n",
			buckets[i].le, count);
	}
	count += metrics->durations[BUCKETS];
	fprintf(out,
		"npumemd_request_duration_seconds_bucket{le=\"+Inf\"} %" PRIu64 "\n"
		"npumemd_request_duration_seconds_sum %.6f\n"
		"npumemd_request_duration_seconds_count %" PRIu64 "\n",
		count, (double)metrics->duration_us * 1e-6, count);
}

static void print_cpu(FILE *out, bool open, const char *name, const char *help, uint64_t cpu_us)
{
	family(out, open, name, "counter", help);
	if (open)
		fprintf(out, "# UNIT %s seconds\n", name);
	fprintf(out, "%s_total %.6f\n", name, (double)cpu_us * 1e-6);
}

static void print_searches(FILE *out, const struct metrics *metrics, bool open)
{
	static const char *const outcomes[] = { "better", "no-better", "failed" };

	family(out, open, "npumemd_searches_ended", "counter",
	       "Searches for better plans that have ended.");
	for (int i = 0; i < METRICS_SEARCHES; i++)
		fprintf(out, "npumemd_searches_ended_total{outcome=\"%s\"} %" PRIu64 "\n",
			outcomes[i], metrics->searches[i]);
}

static void gauge(FILE *out, bool open, const char *name, const char *help, uint64_t value)
{
	family(out, open, name, "gauge", help);
	fprintf(out, "%s %" PRIu64 "\n", name, value);
}

char *metrics_text(const struct metrics *metrics, const struct metrics_now *now, bool open,
		   size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	if (!out)
		return NULL;
	/* The older format does not know this type, and names the sample. */
	if (open)
		family(out, open, "npumemd_build", "info", "Version of the daemon.");
	else
		family(out, open, "npumemd_build_info", "gauge", "Version of the daemon.");
	fputs("npumemd_build_info{version=\"" NPUMEM_PACKAGE_VERSION "\"} 1\n", out);
	gauge(out, open, "npumemd_registered", "Whether the driver has taken the daemon.",
	      now->registered);
	gauge(out, open, "npumemd_requests_under_way", "Plan requests that are being planned.",
	      now->running);
	gauge(out, open, "npumemd_requests_waiting", "Plan requests that wait for a place.",
	      now->waiting);
	gauge(out, open, "npumemd_places", "Plan requests that may be planned at a time.",
	      now->places);
	gauge(out, open, "npumemd_searches_waiting", "Searches for better plans that run or wait.",
	      now->searches);
	gauge(out, open, "npumemd_searches_held",
	      "Whether searches wait since they have used up their share of a processor.",
	      now->held);
	print_requests(out, metrics, open);
	print_durations(out, metrics, open);
	print_cpu(out, open, "npumemd_planning_cpu_seconds",
		  "Processor time of planning processes that have ended, but for searches.",
		  metrics->cpu_us);
	print_cpu(out, open, "npumemd_search_cpu_seconds",
		  "Processor time of processes of searches for better plans that have ended.",
		  metrics->search_cpu_us);
	print_searches(out, metrics, open);
	if (open)
		fputs("# EOF\n", out);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}
