// SPDX-License-Identifier: MIT
/* Limits, and what the caller is told. */
#include "run.h"

void cosma_run_start(struct cosma_run *run, const struct cosma_settings *options)
{
	*run = (struct cosma_run){
		.options = options,
		.effort = npuplan_effort_begin(options->common.work_limit ?
						       options->common.work_limit :
						       NPUPLAN_COSMA_WORK,
					       options->common.deadline_seconds,
					       options->common.progress, options->common.context),
		.memory_limit = options->common.memory_limit ? options->common.memory_limit :
							       NPUPLAN_COSMA_MEMORY,
		.incumbent = UINT64_MAX,
	};
	run->effort.traffic = true;
	if (options->started)
		run->effort.started = options->started;
}

void cosma_run_report(struct cosma_run *run)
{
	npuplan_effort_tell(&run->effort, run->incumbent, run->lower_bound, run->work);
}

void cosma_run_share(struct cosma_run *run, uint64_t units, double part)
{
	npuplan_effort_share(&run->effort, run->work, units, part);
}

bool cosma_run_over(struct cosma_run *run)
{
	return npuplan_effort_share_over(&run->effort, run->incumbent, run->lower_bound, run->work);
}

uint64_t cosma_grown(uint64_t count, uint64_t first, size_t size)
{
	uint64_t room = first;

	while (room < count)
		room *= 2;
	return count ? room * size : 0;
}

bool cosma_run_hold(struct cosma_run *run, int64_t bytes)
{
	if (bytes > 0 && run->memory + (uint64_t)bytes > run->memory_limit) {
		run->refused = true;
		return false;
	}
	run->memory += (uint64_t)bytes;
	if (run->memory > run->peak_memory)
		run->peak_memory = run->memory;
	return true;
}
