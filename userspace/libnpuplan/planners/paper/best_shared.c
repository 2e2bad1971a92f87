// SPDX-License-Identifier: MIT
/*
 * The published packer Shared Objects (pack/paper/shared_objects.c) as a planner: it keeps the best
 * of its three strategies.
 */
#include <stdlib.h>

#include "best_shared.h"
#include "pack/paper/shared_objects.h"

int npuplan_pack_best_shared(const struct npuplan_problem *problem, int unused,
			     struct npuplan_packing *packing, struct npuplan_error *error)
{
	static const struct npuplan_packer strategies[] = {
		{ "shared-breadth", npuplan_pack_shared_objects, NPUPLAN_OBJECTS_BY_BREADTH },
		{ "shared-size", npuplan_pack_shared_objects, NPUPLAN_OBJECTS_BY_SIZE },
		{ "shared-size-improved", npuplan_pack_shared_objects,
		  NPUPLAN_OBJECTS_BY_SIZE_IMPROVED },
	};
	struct npuplan_pack_problem pack = {
		.items = problem->items,
		.item_count = problem->item_count,
		.alignment = problem->alignment,
	};
	struct npuplan_member member = { .effort = problem->effort, .best = packing };
	int err = npuplan_check_straight(problem->graph, error);
	uint64_t *offsets;

	if (err)
		return err;
	offsets = calloc((size_t)problem->item_count + 1, sizeof(*offsets));
	if (!offsets)
		return npuplan_fail(error, -ENOMEM, "out of memory");
	packing->top = UINT64_MAX;
	for (size_t i = 0; i < sizeof(strategies) / sizeof(strategies[0]) && !err; i++) {
		struct npuplan_pack_options options = {
			/*
			 * The first strategy has no limit of work, so that there is a packing
			 * unless the caller stops the call.
			 */
			.work_limit = i ? npuplan_effort_work_left(problem->options->work_limit,
								   packing->work,
								   NPUPLAN_PACK_WORK) :
					  UINT64_MAX,
			.deadline_seconds = i ? npuplan_effort_left(problem->effort) : 0,
			.progress = npuplan_member_progress,
			.context = &member,
		};
		struct npuplan_pack_result result;

		err = npuplan_pack_by(&strategies[i], &pack, &options, offsets, &result, error);
		if (err)
			break;
		/* A strategy that was stopped may have no packing, which is never the lowest. */
		npuplan_packing_keep(packing, offsets, result.top, problem->item_count);
		packing->work += result.work;
		if (problem->effort && problem->effort->stopped)
			break;
	}
	free(offsets);
	if (!err && packing->top == UINT64_MAX)
		return npuplan_fail(error, -ETIMEDOUT,
				    "%s: Shared Objects has no plan before the limits of work or "
				    "time",
				    problem->graph->name);
	if (!err)
		packing->status = npuplan_status_of(packing->top, packing->lower_bound);
	return err;
}
