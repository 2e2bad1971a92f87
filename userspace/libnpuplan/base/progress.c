// SPDX-License-Identifier: MIT
/* Telling the caller how far planning has come. */
#include "planners/planners.h"

bool npuplan_tell(const struct npuplan_problem *problem, uint64_t top, uint64_t lower_bound,
		  uint64_t work)
{
	const struct npuplan_options *options = problem->options;
	struct npuplan_pack_progress progress = {
		.top = top,
		.lower_bound = lower_bound,
		.work = work,
	};

	if (!options->progress)
		return false;
	if (top != UINT64_MAX && lower_bound)
		progress.gap = (double)(top - lower_bound) / (double)lower_bound;
	progress.seconds = npuplan_now() - problem->started;
	return options->progress(options->context, &progress) != 0;
}
