// SPDX-License-Identifier: MIT
/* What packers do with a run: offer what they have found, and ask whether to go on. */
#include "run.h"

#include <string.h>

#include "base/clock.h"

static void report(struct npuplan_pack *run)
{
	struct npuplan_pack_progress progress = {
		.top = run->top,
		.lower_bound = run->lower_bound,
		.work = run->work,
	};

	if (!run->options->progress || run->stopped)
		return;
	if (run->top != UINT64_MAX && run->lower_bound)
		progress.gap = (double)(run->top - run->lower_bound) / (double)run->lower_bound;
	progress.seconds = npuplan_now() - run->started;
	run->stopped = run->options->progress(run->options->context, &progress) != 0;
}

void npuplan_pack_offer(struct npuplan_pack *run, const uint64_t *offsets, uint64_t top)
{
	if (top >= run->top)
		return;
	run->top = top;
	memcpy(run->offsets, offsets, run->problem->item_count * sizeof(*offsets));
	report(run);
}

void npuplan_pack_prove(struct npuplan_pack *run, uint64_t bound)
{
	if (bound <= run->lower_bound)
		return;
	run->lower_bound = bound;
	report(run);
}

bool npuplan_pack_stopped(struct npuplan_pack *run)
{
	if (run->work >= run->work_limit || (run->deadline && npuplan_now() >= run->deadline))
		run->stopped = true;
	if (!run->stopped)
		report(run);
	return run->stopped;
}

bool npuplan_pack_over(struct npuplan_pack *run)
{
	uint64_t capacity = run->problem->capacity;

	if (run->infeasible || run->top <= run->goal || run->top <= run->lower_bound)
		return true;
	if (capacity && run->lower_bound > capacity)
		return true;
	return npuplan_pack_stopped(run);
}
