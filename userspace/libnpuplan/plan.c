// SPDX-License-Identifier: MIT
/* Planning: graph -> live ranges -> conflicts -> packing -> plan -> self-check. */
#include <stdlib.h>
#include <string.h>

#include "graph/checked.h"
#include "output/verify.h"
#include "planners/loops/flow.h"
#include "planners/planners.h"

/* Options and graphs that the planner does not plan are refused, each with a sentence. */
static int check_supported(const struct npuplan_graph *graph, const struct npuplan_planner *planner,
			   const struct npuplan_options *options, struct npuplan_error *error)
{
	char label[96];
	int err;

	if (options->objective > NPUPLAN_OBJECTIVE_TIME ||
	    options->schedule > NPUPLAN_SCHEDULE_TILED)
		return npuplan_fail(error, -EINVAL, "objective %u, schedule %u: there is none such",
				    options->objective, options->schedule);
	err = npuplan_check_taken(planner->name, planner->traits, options, error);
	if (err || planner->traits & NPUPLAN_PLANNER_MOVES)
		return err;
	for (uint32_t i = 0; i < graph->tensor_count; i++) {
		uint32_t flags = graph->tensors[i].flags;

		if (flags & NPUMEM_TENSOR_FLAG_HOST)
			return npuplan_fail(
				error, -EOPNOTSUPP,
				"%s: planner %s does not load from host memory, only cosma does",
				npuplan_tensor_label(graph, i, label), planner->name);
	}
	return 0;
}

static struct npuplan_plan *make_plan(const struct npuplan_problem *problem,
				      const struct npuplan_packing *packing)
{
	struct npuplan_plan *plan = npuplan_plan_new(problem, packing, problem->item_count,
						     problem->graph->step_count, 1, 0);

	for (uint32_t i = 0; plan && i < problem->item_count; i++) {
		const struct npuplan_item *item = &problem->items[i];

		plan->placements[plan->placement_count++] = (struct npumem_placement){
			.tensor = item->tensor,
			.from = npuplan_instant_position(&problem->live, item->start),
			.to = npuplan_instant_position(&problem->live, item->end),
			.offset = packing->offsets[i],
			.region = { .length = item->size, .count = { 1, 1, 1 } },
		};
	}
	return plan;
}

static int pack(const struct npuplan_problem *problem, const struct npuplan_planner *planner,
		const struct npuplan_options *options, struct npuplan_plan **plan,
		struct npuplan_error *error)
{
	struct npuplan_packing packing = { .top = UINT64_MAX, .lower_bound = problem->lower_bound };
	int err;

	packing.offsets = calloc((size_t)problem->item_count + 1, sizeof(*packing.offsets));
	if (!packing.offsets)
		return npuplan_fail(error, -ENOMEM, "out of memory");
	err = planner->pack(problem, planner->argument, &packing, error);
	if (!err && options->arena_budget && packing.top > options->arena_budget)
		err = npuplan_fail_budget(problem, &packing, error);
	if (!err) {
		*plan = make_plan(problem, &packing);
		if (!*plan)
			err = npuplan_fail(error, -ENOMEM, "out of memory");
	}
	free(packing.offsets);
	return err;
}

static int plan_straight(struct npuplan_problem *problem, const struct npuv_graph *cells,
			 const struct npuplan_planner *planner, struct npuplan_plan **plan,
			 struct npuplan_error *error)
{
	int err = npuplan_problem_init(problem, cells, error);

	if (err)
		return err;
	/* Only packing looks at conflicts, and of a wide graph there are too many. */
	if (!planner->plan) {
		err = npuplan_make_conflicts(problem, planner->lists, error);
		return err ? err : pack(problem, planner, problem->options, plan, error);
	}
	return planner->plan(problem, cells, planner->argument, plan, error);
}

int npuplan_plan_sized(const struct npuplan_graph *graph, const struct npuplan_options *given,
		       size_t given_size, struct npuplan_plan **out, struct npuplan_error *error)
{
	struct npuplan_taken_options taken;
	const struct npuplan_options *options = &taken.all;
	const struct npuplan_planner *planner;
	struct npuplan_problem problem;
	struct npuplan_checked checked;
	struct npuplan_plan *plan = NULL;
	struct npuplan_effort effort;
	int err = npuplan_take_options(&taken, given, given_size, error);

	if (err)
		return err;
	effort = npuplan_effort_begin(UINT64_MAX, options->deadline_seconds, options->progress,
				      options->context);
	planner = npuplan_planner_find(options->planner);
	if (!planner)
		return npuplan_fail(error, -EOPNOTSUPP, "unknown planner %s", options->planner);
	if (!graph->step_count)
		return npuplan_fail(error, -EINVAL, "graph %s has no steps: tile it first",
				    graph->name);
	err = check_supported(graph, planner, options, error);
	if (!err)
		err = npuplan_checked_init(&checked, graph, error);
	if (err)
		return err;
	problem = (struct npuplan_problem){
		.graph = graph,
		.options = options,
		.alignment = options->alignment ? options->alignment : 1,
		.effort = &effort,
	};
	if (npuplan_is_straight(graph))
		err = plan_straight(&problem, checked.cells, planner, &plan, error);
	else if (planner->blocks)
		err = planner->blocks(&problem, planner->argument, npuplan_planner_find(NULL),
				      &plan, error);
	else if (planner->plan)
		err = npuplan_check_straight(graph, error);
	else
		err = npuplan_flow_plan(&problem, planner, &plan, error);
	/* Every plan passes the kernel's verifier before anybody sees it. */
	if (!err)
		snprintf(plan->info.planner, sizeof(plan->info.planner), "%s", planner->name);
	if (!err)
		err = npuplan_verify_cells(checked.cells, plan, "the planner's own plan", NULL,
					   error);
	npuplan_problem_fini(&problem);
	npuplan_checked_fini(&checked);
	if (err) {
		npuplan_plan_free(plan);
		return err;
	}
	plan->seconds = npuplan_effort_seconds(&effort);
	*out = plan;
	return 0;
}
