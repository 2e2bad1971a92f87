/* SPDX-License-Identifier: MIT */
/* Limits and progress that all parts of one call of npuplan_cosma() share. */
#ifndef NPUPLAN_COSMA_RUN_H
#define NPUPLAN_COSMA_RUN_H

#include "../internal.h"
#include "cosma.h"

/**
 * struct cosma_run - one call
 * @work: units so far; @memory: bytes held now; @peak_memory: the most
 * @incumbent: cost of the best plan; UINT64_MAX if there is none yet
 * @lower_bound: proved
 * @deadline: CLOCK_MONOTONIC seconds, 0 for none
 * @stopped: by limit, deadline or cancellation
 */
struct cosma_run {
	const struct npuplan_cosma_options *options;
	uint64_t work;
	uint64_t work_limit;
	uint64_t memory;
	uint64_t memory_limit;
	uint64_t peak_memory;
	uint64_t incumbent;
	uint64_t lower_bound;
	uint64_t told_at;
	double started;
	double deadline;
	bool stopped;
};

void cosma_run_start(struct cosma_run *run, const struct npuplan_cosma_options *options);
/* Whether to stop now. Looks at the clock, and reports, now and then. */
bool cosma_run_over(struct cosma_run *run);
/* Report at once. */
void cosma_run_report(struct cosma_run *run);
/* Seconds that are left; 0 if there is no deadline. */
double cosma_run_left(const struct cosma_run *run);

/* Memory held, less or more; whether it is still within the limit. */
bool cosma_run_hold(struct cosma_run *run, int64_t bytes);

#endif /* NPUPLAN_COSMA_RUN_H */
