// SPDX-License-Identifier: MIT
/* NNC as a planner. */
#include <string.h>

#include "nnc.h"

static void improved(void *context, uint64_t top)
{
	struct npuplan_member *member = context;

	member->best->top = top;
	npuplan_member_tell(member, top, 0, 0);
}

int npuplan_pack_nnc(const struct npuplan_problem *problem, int form,
		     struct npuplan_packing *packing, struct npuplan_error *error)
{
	struct npuplan_member member = { .effort = problem->effort, .best = packing };
	const struct npuplan_until until = { .over = npuplan_member_over, .context = &member };
	const struct npuplan_nnc_options options = {
		.form = form,
		.alignment = problem->alignment,
		.goal = problem->lower_bound,
		.work_limit = problem->options->work_limit,
		.until = &until,
		.improved = improved,
		.context = &member,
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
	packing->status = npuplan_status_of(top, packing->lower_bound);
	return 0;
}
