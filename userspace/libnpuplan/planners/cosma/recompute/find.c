// SPDX-License-Identifier: MIT
/* npuplan_recompute_find(): which operators to run again, asked as planners are. */
#include <stdlib.h>
#include <string.h>

#include "base/internal.h"
#include "recompute.h"

static int fail_without(const struct npuplan_graph *graph, const struct npuplan_options *options,
			const struct npuplan_cosma_plan *plan, struct npuplan_error *error)
{
	int err;

	if (plan->status != NPUMEM_PLAN_STATUS_INFEASIBLE)
		return npuplan_fail(
			error, -ETIMEDOUT,
			"unknown: no plan within %llu bytes was found before the limits "
			"of work, memory or time",
			(unsigned long long)options->arena_budget);
	err = npuplan_fail(error, -ENOSPC,
			   "infeasible: %s needs %llu bytes, the budget is %llu, and running "
			   "operators again changes nothing of that",
			   plan->needed_op < graph->op_count ? graph->ops[plan->needed_op].name :
							       "an operator",
			   (unsigned long long)plan->needed,
			   (unsigned long long)options->arena_budget);
	if (error) {
		error->status = NPUMEM_PLAN_STATUS_INFEASIBLE;
		error->step = plan->needed_op;
		error->needed = plan->needed;
	}
	return err;
}

int npuplan_recompute_find_sized(const struct npuplan_graph *graph,
				 const struct npuplan_tiling *tiling,
				 const struct npuplan_options *given, size_t given_size,
				 uint32_t limit, struct npuplan_recompute *out,
				 struct npuplan_error *error)
{
	struct npuplan_recomputation found;
	struct cosma_settings asked = {
		.with_parameters = tiling->with_parameters,
		.inputs_resident = tiling->inputs == NPUPLAN_INPUTS_RESIDENT,
	};
	const struct npuplan_options *options = &asked.common;
	struct npuplan_taken_options taken;
	int err = npuplan_take_options(&taken, given, given_size, error);

	memset(out, 0, sizeof(*out));
	if (!err)
		err = npuplan_check_taken("cosma", NPUPLAN_PLANNER_COSMA | NPUPLAN_PLANNER_MOVES,
					  &taken.all, error);
	if (err)
		return err;
	asked.common = taken.all;
	/* Operators run again to save traffic, whatever else is asked for. */
	asked.common.objective = NPUPLAN_OBJECTIVE_TRAFFIC;
	if (!options->arena_budget || (options->cosma && options->cosma->banks))
		return npuplan_fail(
			error, -EINVAL,
			"operators run again to save traffic within one budget: which?");
	if (options->cosma && (options->cosma->break_count || options->cosma->core_count))
		return npuplan_fail(error, -EOPNOTSUPP,
				    "operators run again without break nodes and several cores");
	if (options->schedule > NPUPLAN_SCHEDULE_GIVEN)
		return npuplan_fail(error, -EOPNOTSUPP,
				    "operators run again in a free order, or the graph's");
	err = npuplan_cosma_recompute(graph, &asked, limit, &found, error);
	if (err)
		return err;
	if (found.plan.positions) {
		*out = found.answer;
		memset(&found.answer, 0, sizeof(found.answer));
	} else {
		err = fail_without(graph, options, &found.plan, error);
	}
	npuplan_recomputation_free(&found);
	return err;
}

void npuplan_recompute_fini(struct npuplan_recompute *recompute)
{
	for (uint32_t i = 0; i < recompute->clone_count; i++)
		npuplan_free(recompute->clones[i].readers);
	npuplan_free(recompute->clones);
	memset(recompute, 0, sizeof(*recompute));
}
