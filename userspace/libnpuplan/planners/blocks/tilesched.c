// SPDX-License-Identifier: MIT
/* Tile scheduling of graphs with loops and branches: the steps of each block are interleaved. */
#include "tilesched.h"

#include "pieces.h"
#include "planners/tilesched/tilesched.h"

/*
 * struct blocks_call - one call
 * @packer: planner that packs
 * @options: those of the caller, without the budget
 * @work: units so far
 */
struct blocks_call {
	const struct npuplan_problem *problem;
	const struct npuplan_planner *packer;
	struct npuplan_options options;
	uint64_t work;
};

/* Plan a graph with edges in its order. */
static int plan_order(struct blocks_call *call, const struct npuplan_graph *graph,
		      struct npuplan_plan **plan, struct npuplan_error *error)
{
	struct npuplan_problem problem = {
		.graph = graph,
		.options = &call->options,
		.alignment = call->problem->alignment,
		.effort = call->problem->effort,
	};
	int err;

	call->options.work_limit =
		npuplan_effort_work_left(call->problem->options->work_limit, call->work, 0);
	err = npuplan_flow_plan(&problem, call->packer, plan, error);
	npuplan_problem_fini(&problem);
	if (!err)
		call->work += (*plan)->info.work;
	return err;
}

static int cut(struct blocks_call *call, struct tilesched_cut *cut)
{
	struct npuplan_flow flow;
	uint64_t limit = npuplan_effort_work_left(call->problem->options->work_limit, call->work,
						  NPUPLAN_TILESCHED_WORK);
	int err = npuplan_flow_names(&flow, call->problem->graph, NULL);

	if (!err)
		err = npuplan_flow_instances(&flow, call->problem->effort, NULL);
	if (!err)
		err = tilesched_cut_init(cut, call->problem, &flow, limit);
	call->work += cut->work;
	npuplan_flow_fini(&flow);
	return err;
}

/*
 * Plan the graph in pieces, and take the plan if it is better than @plan. Whatever ends this does
 * not spoil that.
 */
static void better(struct blocks_call *call, struct npuplan_plan **plan)
{
	struct npuplan_plan *found = NULL, *other = *plan;
	struct tilesched_cut pieces = { 0 };

	if (npuplan_effort_ended(call->problem->effort))
		return;
	if (!cut(call, &pieces) && !plan_order(call, pieces.graph, &found, NULL) &&
	    found->info.arena_size < other->info.arena_size &&
	    !tilesched_cut_back(&pieces, found)) {
		if (pieces.loose)
			found->info.lower_bound = 0;
		*plan = found;
		found = other;
	}
	npuplan_plan_free(found);
	tilesched_cut_fini(&pieces);
}

static int fail_budget(const struct npuplan_problem *problem, const struct npuplan_plan *plan,
		       struct npuplan_error *error)
{
	npuplan_fail(error, -ENOSPC,
		     "needs %llu bytes, budget %llu, lower bound %llu; that is the order of tiles "
		     "with the lowest peak of each block",
		     (unsigned long long)plan->info.arena_size,
		     (unsigned long long)problem->options->arena_budget,
		     (unsigned long long)plan->info.lower_bound);
	/* The bound holds for this order only, so that it is not proved that none fits. */
	if (error)
		error->needed = plan->info.arena_size;
	return -ENOSPC;
}

int npuplan_plan_tilesched_blocks(const struct npuplan_problem *problem, int form,
				  const struct npuplan_planner *packer, struct npuplan_plan **out,
				  struct npuplan_error *error)
{
	struct blocks_call call = {
		.problem = problem,
		.packer = packer,
		.options = *problem->options,
	};
	uint64_t budget = problem->options->arena_budget;
	struct npuplan_plan *plan = NULL;
	int err;

	if (call.options.tilesched && call.options.tilesched->traffic_factor > 0)
		return npuplan_fail(error, -EOPNOTSUPP,
				    "%s: traffic is not weighed in graphs with loops and branches",
				    problem->graph->name);
	call.options.arena_budget = 0;
	err = plan_order(&call, problem->graph, &plan, error);
	if (err)
		return err;
	/* The graph's own order has the least traffic. */
	if (!budget || plan->info.arena_size > budget)
		better(&call, &plan);
	if (budget && plan->info.arena_size > budget) {
		err = fail_budget(problem, plan, error);
		npuplan_plan_free(plan);
		return err;
	}
	plan->info.work = call.work;
	/* Another order may need less. */
	plan->info.status = NPUMEM_PLAN_STATUS_FEASIBLE;
	*out = plan;
	return 0;
}
