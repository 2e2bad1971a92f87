// SPDX-License-Identifier: MIT
/* NNC as a planner. */
#include <string.h>

#include "nnc.h"
#include "planners.h"

int npuplan_pack_nnc(const struct npuplan_problem *problem, int form,
		     struct npuplan_packing *packing, struct npuplan_error *error)
{
	const struct npuplan_nnc_options options = {
		.form = form,
		.alignment = problem->alignment,
		.deadline = problem->deadline,
	};
	uint32_t clash[2];
	int err = npuplan_nnc(&problem->conflicts, &options, packing->offsets, &packing->top,
			      &packing->work, clash);

	if (err == -EADDRINUSE)
		return npuplan_fail_clash(problem, clash, error);
	if (err)
		return npuplan_fail(error, err, "nnc: %s", strerror(-err));
	packing->status = packing->top <= packing->lower_bound ? NPUMEM_PLAN_OPTIMAL :
								 NPUMEM_PLAN_FEASIBLE;
	return 0;
}
