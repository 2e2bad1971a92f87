// SPDX-License-Identifier: MIT
/* The call of a packer, which offers it the packings that it finds and asks it whether to go on. */
#include "call.h"

#include <string.h>

void npuplan_pack_offer(struct npuplan_pack *call, const uint64_t *offsets)
{
	const struct npuplan_pack_problem *problem = call->problem;
	uint64_t top = 0;

	for (uint32_t i = 0; i < problem->item_count; i++)
		if (offsets[i] + problem->items[i].size > top)
			top = offsets[i] + problem->items[i].size;
	if (top >= call->top)
		return;
	call->top = top;
	memcpy(call->offsets, offsets, problem->item_count * sizeof(*offsets));
	npuplan_effort_tell(&call->effort, call->top, call->lower_bound, call->work);
}

void npuplan_pack_prove(struct npuplan_pack *call, uint64_t bound)
{
	if (bound <= call->lower_bound)
		return;
	call->lower_bound = bound;
	npuplan_effort_tell(&call->effort, call->top, call->lower_bound, call->work);
}

bool npuplan_pack_stopped(struct npuplan_pack *call)
{
	if (call->packer->patient && call->top == UINT64_MAX)
		return false;
	/* Once a limit has ended the packer, the caller is told nothing more. */
	if (!call->effort.stopped)
		call->effort.stopped = npuplan_effort_over(&call->effort, call->top,
							   call->lower_bound, call->work);
	return call->effort.stopped || (call->share_end && call->work >= call->share_end);
}

bool npuplan_pack_over(struct npuplan_pack *call)
{
	uint64_t capacity = call->problem->capacity;

	if (call->infeasible || call->top <= capacity || call->top <= call->lower_bound)
		return true;
	if (capacity && call->lower_bound > capacity)
		return true;
	return npuplan_pack_stopped(call);
}
