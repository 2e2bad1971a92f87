// SPDX-License-Identifier: MIT
/* Limits, and what the caller is told. */
#include "base/clock.h"
#include "run.h"

/* Work units between two looks at the clock. */
#define LOOK_EVERY 200000

void cosma_run_start(struct cosma_run *run, const struct npuplan_cosma_options *options)
{
	*run = (struct cosma_run){
		.options = options,
		.work_limit = options->work_limit ? options->work_limit : NPUPLAN_COSMA_WORK,
		.memory_limit = options->memory_limit ? options->memory_limit :
							NPUPLAN_COSMA_MEMORY,
		.incumbent = UINT64_MAX,
		.slice_work = UINT64_MAX,
		.started = npuplan_now(),
	};
	if (options->deadline_seconds > 0)
		run->deadline = run->started + options->deadline_seconds;
}

void cosma_run_report(struct cosma_run *run)
{
	struct npuplan_cosma_progress progress = {
		.incumbent = run->incumbent,
		.lower_bound = run->lower_bound,
		.work = run->work,
		.memory = run->memory,
		.gap = 1,
	};

	run->told_at = run->work;
	if (!run->options->progress || run->stopped)
		return;
	if (!run->incumbent || run->incumbent == run->lower_bound)
		progress.gap = 0;
	else if (run->incumbent != UINT64_MAX)
		progress.gap = (double)(run->incumbent - run->lower_bound) / (double)run->incumbent;
	progress.seconds = npuplan_now() - run->started;
	run->stopped = run->options->progress(run->options->context, &progress) != 0;
}

void cosma_run_slice(struct cosma_run *run, uint64_t work, double share)
{
	double now = npuplan_now();

	run->slice_work = work ? run->work + work : UINT64_MAX;
	run->slice_deadline = run->deadline ? now + share * (run->deadline - now) : 0;
}

bool cosma_run_over(struct cosma_run *run)
{
	double now;

	if (run->work >= run->work_limit)
		run->stopped = true;
	if (run->stopped || run->work >= run->slice_work)
		return true;
	if (run->work - run->told_at < LOOK_EVERY)
		return false;
	now = run->deadline ? npuplan_now() : 0;
	if (run->deadline && now >= run->deadline)
		run->stopped = true;
	cosma_run_report(run);
	if (run->slice_deadline && now >= run->slice_deadline)
		run->slice_work = run->work;
	return run->stopped || run->work >= run->slice_work;
}

double cosma_run_left(const struct cosma_run *run)
{
	double left = run->deadline - npuplan_now();

	if (!run->deadline)
		return 0;
	return left > 1e-6 ? left : 1e-6;
}

uint64_t cosma_grown(uint32_t count, size_t size)
{
	uint64_t room = 1;

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
