/* SPDX-License-Identifier: MIT */
/* Limits and progress that all parts of one call of npuplan_cosma() share. */
#pragma once

#include "base/internal.h"
#include "planners/cosma/cosma.h"

/*
 * struct cosma_run - one call
 * @effort: limit of work, deadline, the caller, and the share of what runs now
 * @work: units so far; @memory: bytes held now; @peak_memory: the most
 * @incumbent: cost of the best plan; UINT64_MAX if there is none yet
 * @lower_bound: proved
 * @refused: memory, for some part of the search
 */
struct cosma_run {
	const struct cosma_settings *options;
	struct npuplan_effort effort;
	uint64_t work;
	uint64_t memory;
	uint64_t memory_limit;
	uint64_t peak_memory;
	uint64_t incumbent;
	uint64_t lower_bound;
	bool refused;
};

void cosma_run_start(struct cosma_run *run, const struct cosma_settings *options);
/* Whether to stop now. Looks at the clock, and reports, now and then. */
bool cosma_run_over(struct cosma_run *run);
/* npuplan_effort_share() of the run's effort: what runs next may take so many units of work, and
 * such a part of the time that is left.
 */
void cosma_run_share(struct cosma_run *run, uint64_t units, double part);
/* Report at once. */
void cosma_run_report(struct cosma_run *run);
/*
 * cosma_grown() - bytes that an array of @count items has been allocated, if its room began with
 * @first items and was doubled as often as needed; npuplan_grow() begins with 1
 */
uint64_t cosma_grown(uint64_t count, uint64_t first, size_t size);
/* cosma_run_hold() - bytes that are held from now on; negative: no longer
 *
 * False, and nothing changes, if that were more than the limit.
 */
bool cosma_run_hold(struct cosma_run *run, int64_t bytes);
