// SPDX-License-Identifier: MIT
/* Planner cosma of graphs with loops and branches: each block's order, and its transfers. */
#include "cosma.h"

#include "planners/cosma/planner.h"
#include "problem/packing.h"
#include "reorder.h"
#include "traffic.h"

/*
 * struct blocks_call - one call
 * @reordering: the orders, and what is proved of them
 */
struct blocks_call {
	const struct npuplan_problem *problem;
	struct npuplan_error *error;
	struct npuplan_reordering reordering;
};

static int check_asked(const struct blocks_call *call, int argument)
{
	const struct npuplan_graph *graph = call->problem->graph;
	const struct npuplan_options *options = call->problem->options;
	char label[96];

	if (argument != NPUPLAN_COSMA_BY_SEARCH)
		return npuplan_check_straight(graph, call->error);
	if (options->cosma && options->cosma->banks)
		return npuplan_fail(call->error, -EOPNOTSUPP,
				    "two banks are planned for graphs without loops and branches");
	if (options->cosma && options->cosma->break_count)
		return npuplan_fail(call->error, -EOPNOTSUPP,
				    "break nodes are of graphs without loops and branches");
	if (options->cosma && options->cosma->core_count)
		return npuplan_fail(call->error, -EOPNOTSUPP,
				    "several cores are planned for graphs without loops and "
				    "branches");
	if (options->objective == NPUPLAN_OBJECTIVE_TIME)
		return npuplan_fail(call->error, -EOPNOTSUPP,
				    "the least time is planned of graphs without loops and "
				    "branches");
	if (options->schedule == NPUPLAN_SCHEDULE_TILED)
		return npuplan_fail(call->error, -EOPNOTSUPP,
				    "operators take turns in graphs without loops and branches");
	for (uint32_t t = 0; t < graph->tensor_count; t++)
		if (graph->tensors[t].flags & NPUMEM_TENSOR_FLAG_HOST)
			return npuplan_fail(call->error, -EOPNOTSUPP,
					    "%s: in a graph with loops and branches nothing is "
					    "loaded from host memory",
					    npuplan_tensor_label(graph, t, label));
	return 0;
}

static int fail_budget(const struct blocks_call *call, const struct npuplan_plan *plan)
{
	uint64_t budget = call->problem->options->arena_budget;

	npuplan_fail(call->error, -ENOSPC,
		     "without spilling %llu bytes are needed, the budget is %llu, the lower bound "
		     "%llu",
		     (unsigned long long)plan->info.arena_size, (unsigned long long)budget,
		     (unsigned long long)call->reordering.bound);
	if (call->error && call->reordering.bound > budget) {
		call->error->status = NPUMEM_PLAN_STATUS_INFEASIBLE;
		call->error->step = NPUMEM_NONE;
		call->error->needed = call->reordering.bound;
	} else if (call->error) {
		call->error->needed = plan->info.arena_size;
	}
	return -ENOSPC;
}

/* Whether a plan is as good as any: nothing is moved, and that is what was asked for. */
static bool is_done(const struct blocks_call *call, const struct npuplan_plan *plan)
{
	const struct npuplan_options *options = call->problem->options;

	if (options->schedule == NPUPLAN_SCHEDULE_GIVEN)
		return true;
	return options->arena_budget && options->objective != NPUPLAN_OBJECTIVE_PEAK &&
	       options->schedule == NPUPLAN_SCHEDULE_FREE &&
	       plan->info.arena_size <= options->arena_budget;
}

static int find_plan(struct blocks_call *call, struct npuplan_plan **plan)
{
	struct npuplan_reordering *reordering = &call->reordering;
	int err = npuplan_plan_order(reordering, call->problem->graph, plan, call->error);

	if (err)
		return err;
	call->reordering.bound = (*plan)->info.lower_bound;
	if (!is_done(call, *plan))
		npuplan_reorder(reordering, plan);
	return 0;
}

/*
 * Put a plan with transfers in the place of one without that does not fit the budget. If the least
 * arena is asked for, nothing moves.
 */
static int fit_budget(struct blocks_call *call, struct npuplan_plan **plan)
{
	const struct npuplan_options *options = call->problem->options;

	if (!options->arena_budget || (*plan)->info.arena_size <= options->arena_budget)
		return 0;
	if (options->objective == NPUPLAN_OBJECTIVE_PEAK)
		return fail_budget(call, *plan);
	npuplan_plan_free(*plan);
	return npuplan_plan_traffic(&call->reordering, plan, call->error);
}

/* A plan within a budget is one of least traffic; any other is judged by its arena. */
static void judge(const struct blocks_call *call, struct npuplan_plan *plan)
{
	const struct npuplan_options *options = call->problem->options;
	bool peak = options->objective == NPUPLAN_OBJECTIVE_PEAK || !options->arena_budget;

	plan->info.work = call->reordering.work;
	plan->memory_ended |= call->reordering.memory_ended;
	/* It is judged already if something moves. */
	if (plan->cosma)
		return;
	if (peak)
		plan->info.lower_bound = call->reordering.bound;
	plan->info.status = !peak || plan->info.arena_size <= call->reordering.bound ?
				    NPUMEM_PLAN_STATUS_OPTIMAL :
				    NPUMEM_PLAN_STATUS_FEASIBLE;
}

int npuplan_plan_cosma_blocks(const struct npuplan_problem *problem, int argument,
			      const struct npuplan_planner *packer, struct npuplan_plan **out,
			      struct npuplan_error *error)
{
	struct blocks_call call = {
		.problem = problem,
		.error = error,
		.reordering = {
			.problem = problem,
			.packer = packer,
			.order_block = npuplan_order_block,
		},
	};
	struct npuplan_plan *plan = NULL;
	int err = check_asked(&call, argument);

	if (!err)
		err = find_plan(&call, &plan);
	if (!err)
		err = fit_budget(&call, &plan);
	if (!err)
		judge(&call, plan);
	npuplan_reordering_fini(&call.reordering);
	if (err)
		npuplan_plan_free(plan);
	else
		*out = plan;
	return err;
}
