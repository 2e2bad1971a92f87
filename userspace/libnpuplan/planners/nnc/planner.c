// SPDX-License-Identifier: MIT
/* NNC as a planner. */
#include <string.h>

#include "nnc.h"

/**
 * struct run - what is told while it works
 * @stopped: the caller wants no more
 */
struct run {
	const struct npuplan_problem *problem;
	struct npuplan_packing *packing;
	bool stopped;
};

static bool stop(void *context)
{
	struct run *run = context;

	if (!run->stopped)
		run->stopped = npuplan_tell(run->problem, run->packing->top,
					    run->packing->lower_bound, run->packing->work);
	return run->stopped;
}

static void improved(void *context, uint64_t top)
{
	struct run *run = context;

	run->packing->top = top;
	stop(run);
}

int npuplan_pack_nnc(const struct npuplan_problem *problem, int form,
		     struct npuplan_packing *packing, struct npuplan_error *error)
{
	struct run run = { .problem = problem, .packing = packing };
	const struct npuplan_nnc_options options = {
		.form = form,
		.alignment = problem->alignment,
		.goal = problem->lower_bound,
		.work_limit = problem->options->work_limit,
		.deadline = problem->deadline,
		.stop = stop,
		.improved = improved,
		.context = &run,
	};
	uint32_t clash[2];
	uint64_t top;
	int err;

	packing->top = UINT64_MAX;
	err = npuplan_nnc(&problem->conflicts, &options, packing->offsets, &top, &packing->work,
			  clash);
	if (err == -EADDRINUSE)
		return npuplan_fail_clash(problem, clash, error);
	if (err)
		return npuplan_fail(error, err, "nnc: %s", strerror(-err));
	packing->top = top;
	packing->status = top <= packing->lower_bound ? NPUMEM_PLAN_OPTIMAL : NPUMEM_PLAN_FEASIBLE;
	return 0;
}
