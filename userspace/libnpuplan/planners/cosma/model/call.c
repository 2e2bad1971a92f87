// SPDX-License-Identifier: MIT
/* The limits of one call, and what its caller is told. */
#include "call.h"

void cosma_run_start(struct cosma_run *run, const struct cosma_settings *options)
{
	*run = (struct cosma_run){
		.options = options,
		.effort = npuplan_effort_begin(options->common.work_limit ?
						       options->common.work_limit :
						       NPUPLAN_COSMA_WORK,
					       options->common.deadline_seconds,
					       options->common.progress, options->common.context),
		.heap.limit = UINT64_MAX,
		.incumbent = UINT64_MAX,
	};
	run->effort.traffic = true;
	if (options->started)
		run->effort.started = options->started;
	run->outer = npuplan_heap_use(&run->heap);
}

void cosma_run_end(struct cosma_run *run)
{
	npuplan_heap_use(run->outer);
}

void cosma_run_limit_memory(struct cosma_run *run, bool limited)
{
	uint64_t limit = run->options->common.memory_limit;

	run->heap.limit = !limited ? UINT64_MAX : limit ? limit : NPUPLAN_COSMA_MEMORY;
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
