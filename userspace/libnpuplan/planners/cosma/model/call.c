// SPDX-License-Identifier: MIT
/* The limits of one call, and what its caller is told. */
#include "call.h"

void cosma_call_start(struct cosma_call *call, const struct cosma_settings *options)
{
	*call = (struct cosma_call){
		.options = options,
		.effort = npuplan_effort_begin(options->common.work_limit ?
						       options->common.work_limit :
						       NPUPLAN_COSMA_WORK,
					       options->common.deadline_seconds,
					       options->common.progress, options->common.context),
		.heap.limit = UINT64_MAX,
		.incumbent = UINT64_MAX,
	};
	call->effort.traffic = true;
	if (options->started)
		call->effort.started = options->started;
	call->outer = npuplan_heap_use(&call->heap);
}

void cosma_call_end(struct cosma_call *call)
{
	npuplan_heap_use(call->outer);
}

void cosma_call_limit_memory(struct cosma_call *call, bool limited)
{
	uint64_t limit = call->options->common.memory_limit;

	call->heap.limit = !limited ? UINT64_MAX : limit ? limit : NPUPLAN_COSMA_MEMORY;
}

void cosma_call_report(struct cosma_call *call)
{
	npuplan_effort_tell(&call->effort, call->incumbent, call->lower_bound, call->work);
}

void cosma_call_share(struct cosma_call *call, uint64_t units, double part)
{
	npuplan_effort_share(&call->effort, call->work, units, part);
}

bool cosma_call_over(struct cosma_call *call)
{
	return npuplan_effort_share_over(&call->effort, call->incumbent, call->lower_bound,
					 call->work);
}
