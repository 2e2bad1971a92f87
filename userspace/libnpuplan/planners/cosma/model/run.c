// SPDX-License-Identifier: MIT
/* Limits, and what the caller is told. */
#include "run.h"

/* Work units between two looks at the clock. */
#define LOOK_EVERY 200000

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
		.slice_work = UINT64_MAX,
	};
	run->began = run->effort.started;
	run->effort.traffic = true;
	if (options->started)
		run->effort.started = options->started;
}

void cosma_run_report(struct cosma_run *run)
{
	run->told_at = run->work;
	if (!run->stopped)
		run->stopped = npuplan_effort_tell(&run->effort, run->incumbent, run->lower_bound,
						   run->work);
}

void cosma_run_slice(struct cosma_run *run, uint64_t work, double share)
{
	double now = npuplan_now();

	run->slice_work = work ? run->work + work : UINT64_MAX;
	run->slice_deadline = run->effort.deadline ? now + share * (run->effort.deadline - now) : 0;
}

bool cosma_run_over(struct cosma_run *run)
{
	double now;

	if (run->work >= run->effort.work_limit)
		run->stopped = true;
	if (run->stopped || run->work >= run->slice_work)
		return true;
	if (run->work - run->told_at < LOOK_EVERY)
		return false;
	now = run->effort.deadline ? npuplan_now() : 0;
	if (run->effort.deadline && now >= run->effort.deadline)
		run->stopped = true;
	cosma_run_report(run);
	if (run->slice_deadline && now >= run->slice_deadline)
		run->slice_work = run->work;
	return run->stopped || run->work >= run->slice_work;
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
