// SPDX-License-Identifier: MIT
/* The run of a packer, which offers it the packings that it finds and asks it whether to go on. */
#include "call.h"

#include <string.h>

void npuplan_pack_offer(struct npuplan_pack *run, const uint64_t *offsets)
{
	const struct npuplan_pack_problem *problem = run->problem;
	uint64_t top = 0;

	for (uint32_t i = 0; i < problem->item_count; i++)
		if (offsets[i] + problem->items[i].size > top)
			top = offsets[i] + problem->items[i].size;
	if (top >= run->top)
		return;
	run->top = top;
	memcpy(run->offsets, offsets, problem->item_count * sizeof(*offsets));
	npuplan_effort_tell(&run->effort, run->top, run->lower_bound, run->work);
}

void npuplan_pack_prove(struct npuplan_pack *run, uint64_t bound)
{
	if (bound <= run->lower_bound)
		return;
	run->lower_bound = bound;
	npuplan_effort_tell(&run->effort, run->top, run->lower_bound, run->work);
}

bool npuplan_pack_stopped(struct npuplan_pack *run)
{
	if (run->packer->patient && run->top == UINT64_MAX)
		return false;
	/* Once a limit has ended the packer, the caller is told nothing more. */
	if (!run->effort.stopped)
		run->effort.stopped =
			npuplan_effort_over(&run->effort, run->top, run->lower_bound, run->work);
	return run->effort.stopped;
}

bool npuplan_pack_over(struct npuplan_pack *run)
{
	uint64_t capacity = run->problem->capacity;

	if (run->infeasible || run->top <= capacity || run->top <= run->lower_bound)
		return true;
	if (capacity && run->lower_bound > capacity)
		return true;
	return npuplan_pack_stopped(run);
}
