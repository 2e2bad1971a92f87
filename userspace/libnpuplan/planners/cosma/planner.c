// SPDX-License-Identifier: MIT
/* Planners that move tensors to host memory and back: npuplan_plan() on npuplan_cosma(). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "graph/checked.h"
#include "planner.h"
#include "planners/cosma/banks/banks.h"
#include "cosma.h"
#include "planners/cosma/ilp/ilp.h"
#include "planners/cosma/recompute/recompute.h"
#include "planners/cosma/place/transfers.h"

/* More than any graph needs, and what npuplan_cosma() takes at most. */
#define ANY_BUDGET (INT64_MAX / 4)

/*
 * struct planning - one call
 * @own: what @options are where the caller's may be of another size
 * @effort: of the call; @own_effort where that did not begin with npuplan_plan()
 * @order: of all steps, if a schedule is asked for that is not the graph's own
 * @banked: what is asked of two banks; its plan has been taken over as @found
 * @loose: there may be plans of a kind that is not searched, so that nothing is proved
 */
struct planning {
	const struct npuplan_graph *graph;
	const struct npuplan_options *options;
	struct npuplan_options own;
	int planner;
	struct npuplan_error *error;
	struct cosma_units units;
	struct cosma_settings asked;
	struct npuplan_cosma_plan found;
	struct npuplan_banked banked;
	uint32_t *order;
	struct npuplan_effort *effort;
	struct npuplan_effort own_effort;
	bool loose;
};

/* What the units say, whatever is asked. */
static void ask_of_units(struct planning *planning)
{
	const struct cosma_units *units = &planning->units;
	const struct npuplan_options *options = planning->options;
	bool staged = false;

	planning->asked = (struct cosma_settings){
		.common = *options,
		.with_parameters = units->with_parameters,
		.inputs_flagged = units->resident,
		.takeovers = units->takeovers,
		.takeover_count = units->takeover_count,
		.staged = units->staged,
		.started = planning->effort->started,
		/* Stays that share bytes are not divided between banks. */
		.out_of_place = options->banks,
	};
	planning->asked.common.arena_budget = 0;
	planning->asked.common.objective = NPUPLAN_OBJECTIVE_OWN;
	planning->asked.common.schedule = NPUPLAN_SCHEDULE_FREE;
	for (uint32_t s = 0; s < planning->graph->step_count; s++)
		staged |= units->staged[s];
	planning->loose = units->mixed || units->unaligned ||
			  (options->banks && (units->takeover_count || staged)) ||
			  (planning->planner == NPUPLAN_COSMA_BY_ILP && staged);
	/* Nor do programs know halves of steps. */
	if (options->banks || planning->planner == NPUPLAN_COSMA_BY_ILP)
		planning->asked.staged = NULL;
}

/* The order of least peak footprint, to be kept to. */
static int find_order(struct planning *planning)
{
	struct cosma_settings asked = planning->asked;
	struct npuplan_cosma_plan found;
	uint32_t count = 0;
	int err;

	asked.common.objective = NPUPLAN_OBJECTIVE_PEAK;
	asked.common.schedule = NPUPLAN_SCHEDULE_FREE;
	/* Whatever it reports is no traffic. */
	asked.common.progress = NULL;
	err = npuplan_cosma(planning->units.graph, &asked, &found, planning->error);
	if (err)
		return err;
	planning->order =
		npuplan_malloc((planning->graph->step_count + (size_t)1) * sizeof(uint32_t));
	for (uint32_t i = 0; i < found.position_count && planning->order; i++)
		if (found.positions[i].kind == NPUMEM_POSITION_STEP)
			planning->order[count++] = found.positions[i].index;
	npuplan_cosma_plan_free(&found);
	if (!planning->order)
		return npuplan_fail(planning->error, -ENOMEM, "out of memory");
	planning->asked.order = planning->order;
	planning->asked.common.deadline_seconds = npuplan_effort_left(planning->effort);
	return 0;
}

static int ask(struct planning *planning)
{
	const struct npuplan_options *options = planning->options;
	bool peak = options->objective == NPUPLAN_OBJECTIVE_PEAK;

	if (!isfinite(options->deadline_seconds) || options->deadline_seconds < 0)
		return npuplan_fail(planning->error, -EINVAL,
				    "a deadline of %g seconds makes no sense",
				    options->deadline_seconds);
	if (peak && (planning->planner == NPUPLAN_COSMA_BY_BELADY ||
		     planning->planner == NPUPLAN_COSMA_BY_GREEDY))
		return npuplan_fail(planning->error, -EOPNOTSUPP,
				    "the baselines have no objective but the traffic");
	if (options->banks && (peak || planning->planner != NPUPLAN_COSMA_BY_SEARCH))
		return npuplan_fail(planning->error, -EOPNOTSUPP,
				    "two banks are planned for least traffic, by planner cosma");
	ask_of_units(planning);
	planning->asked.common.arena_budget = options->arena_budget ? options->arena_budget :
								      ANY_BUDGET;
	/* With any budget nothing need move: then the least arena is asked for. */
	if (peak || (!options->arena_budget && !options->banks))
		planning->asked.common.objective = NPUPLAN_OBJECTIVE_PEAK;
	planning->asked.common.schedule = options->schedule;
	return options->schedule == NPUPLAN_SCHEDULE_LEAST_PEAK ? find_order(planning) : 0;
}

static int run_banks(struct planning *planning)
{
	const struct npuplan_bank *banks = planning->options->banks;
	struct npuplan_banked *banked = &planning->banked;
	int err = npuplan_cosma_banks(planning->units.graph, &planning->asked, banks, banked,
				      planning->error);

	if (err)
		return err;
	planning->found = banked->plan;
	memset(&banked->plan, 0, sizeof(banked->plan));
	/* For what is said where there is no plan: all bytes, or those of the larger one. */
	planning->asked.common.arena_budget = banks[0].size + banks[1].size;
	return 0;
}

static int run(struct planning *planning)
{
	const struct npuplan_graph *graph = planning->units.graph;

	switch (planning->planner) {
	case NPUPLAN_COSMA_BY_ILP:
		return npuplan_cosma_ilp(graph, &planning->asked, NULL, &planning->found,
					 planning->error);
	case NPUPLAN_COSMA_BY_BELADY:
	case NPUPLAN_COSMA_BY_GREEDY:
		return npuplan_cosma_baseline(graph, &planning->asked,
					      planning->planner == NPUPLAN_COSMA_BY_BELADY ?
						      NPUPLAN_COSMA_BELADY :
						      NPUPLAN_COSMA_GREEDY,
					      &planning->found, planning->error);
	default:
		if (planning->options->banks)
			return run_banks(planning);
		return npuplan_cosma(graph, &planning->asked, &planning->found, planning->error);
	}
}

/* Why there is no plan. */
static int fail_without(struct planning *planning)
{
	const struct npuplan_cosma_plan *found = &planning->found;
	struct npuplan_error *error = planning->error;
	uint64_t budget = planning->asked.common.arena_budget;
	char label[96], needed[32], given[32];
	int err;

	if (found->status != NPUMEM_PLAN_STATUS_INFEASIBLE)
		return npuplan_fail(error, -ETIMEDOUT,
				    "unknown: no plan within %llu bytes was found before the "
				    "limits of work, memory or time",
				    (unsigned long long)budget);
	npuplan_format_bytes(found->needed, needed);
	npuplan_format_bytes(budget, given);
	if (planning->loose)
		return npuplan_fail(error, -ETIMEDOUT,
				    "unknown: there is no plan within %llu bytes (%s) that %s; "
				    "others are not searched",
				    (unsigned long long)budget, given,
				    planning->units.unaligned ?
					    "aligns each part of a tensor which steps use apart" :
					    "gives each output bytes of its own where operators in "
					    "place, or cut into tiles, may share them in parts");
	if (planning->options->banks && found->needed <= budget)
		err = npuplan_fail(
			error, -ENOSPC,
			"infeasible: %s has a tensor of %llu bytes (%s), and no bank has "
			"room for it",
			npuplan_step_label(planning->graph, found->needed_op, label),
			(unsigned long long)found->needed, needed);
	else if (found->needed <= budget)
		err = npuplan_fail(error, -ENOSPC,
				   "infeasible: no order of the steps has addresses within %llu "
				   "bytes (%s) for tensors in one piece; a single step needs at "
				   "most %llu",
				   (unsigned long long)budget, given,
				   (unsigned long long)found->needed);
	else if (found->needed_op == NPUMEM_NONE)
		err = npuplan_fail(error, -ENOSPC,
				   "infeasible: the inputs that are on chip from the start need "
				   "%llu bytes (%s), the budget is %llu (%s)",
				   (unsigned long long)found->needed, needed,
				   (unsigned long long)budget, given);
	else
		err = npuplan_fail(error, -ENOSPC,
				   "infeasible: %s needs %llu bytes (%s), the budget is %llu (%s)",
				   npuplan_step_label(planning->graph, found->needed_op, label),
				   (unsigned long long)found->needed, needed,
				   (unsigned long long)budget, given);
	if (error) {
		error->status = NPUMEM_PLAN_STATUS_INFEASIBLE;
		error->step = found->needed_op;
		error->needed = found->needed;
	}
	return err;
}

/* A plan without traffic is as good as its arena. */
static int judge_peak(const struct planning *planning, struct npuplan_plan *plan)
{
	struct npumem_plan_info *info = &plan->info;
	uint64_t budget = planning->options->arena_budget;

	info->lower_bound = planning->loose ? 0 : planning->found.lower_bound;
	if (info->arena_size > info->lower_bound)
		info->status = NPUMEM_PLAN_STATUS_FEASIBLE;
	if (!budget || info->arena_size <= budget)
		return 0;
	npuplan_fail(
		planning->error, -ENOSPC,
		"without spilling %llu bytes are needed, the budget is %llu, the lower bound %llu",
		(unsigned long long)info->arena_size, (unsigned long long)budget,
		(unsigned long long)info->lower_bound);
	if (planning->error && info->lower_bound > budget) {
		planning->error->status = NPUMEM_PLAN_STATUS_INFEASIBLE;
		planning->error->step = NPUMEM_NONE;
		planning->error->needed = info->lower_bound;
	} else if (planning->error) {
		planning->error->needed = info->arena_size;
	}
	return -ENOSPC;
}

static void judge_traffic(const struct planning *planning, struct npuplan_plan *plan)
{
	plan->traffic_bound = planning->loose ? 0 : planning->found.lower_bound;
	if (!planning->loose)
		return;
	plan->info.lower_bound = 0;
	if (plan->info.spill_bytes + plan->info.fill_bytes)
		plan->info.status = NPUMEM_PLAN_STATUS_FEASIBLE;
}

static int make_plan(struct planning *planning, struct npuplan_plan **out)
{
	uint32_t alignment = planning->options->alignment;
	struct npuplan_plan *plan;
	int err;

	if (planning->found.status == NPUMEM_PLAN_STATUS_INFEASIBLE ||
	    planning->found.status == NPUMEM_PLAN_STATUS_UNKNOWN)
		return fail_without(planning);
	err = cosma_transfers(&planning->units, &planning->found, &plan, planning->error);
	if (err)
		return err;
	plan->info.alignment = alignment ? alignment : 1;
	plan->memory_ended = planning->found.memory_ended;
	if (planning->asked.common.objective == NPUPLAN_OBJECTIVE_PEAK)
		err = judge_peak(planning, plan);
	else
		judge_traffic(planning, plan);
	for (int b = 0; b < NPUPLAN_BANKS && planning->options->banks; b++) {
		plan->banks[b] = planning->options->banks[b];
		plan->bank_accessed[b] = planning->banked.accessed[b];
	}
	plan->bank_bound = planning->banked.accessed_bound;
	if (err)
		npuplan_plan_free(plan);
	else
		*out = plan;
	return err;
}

static void planning_fini(struct planning *planning)
{
	npuplan_cosma_plan_free(&planning->found);
	cosma_units_fini(&planning->units);
	npuplan_free(planning->order);
}

int npuplan_plan_cosma(const struct npuplan_problem *problem, const struct npuv_graph *cells,
		       int argument, struct npuplan_plan **out, struct npuplan_error *error)
{
	struct planning planning = {
		.graph = problem->graph,
		.options = problem->options,
		.planner = argument,
		.error = error,
		.effort = problem->effort,
	};
	int err = cosma_units_init(&planning.units, problem->graph, cells,
				   problem->options->alignment, error);

	if (err)
		return err;
	err = ask(&planning);
	if (!err)
		err = run(&planning);
	if (!err)
		err = make_plan(&planning, out);
	planning_fini(&planning);
	return err;
}

/* Options as they were given, and the units of a graph that nobody has checked. */
static int planning_read(struct planning *planning, const struct npuplan_options *given,
			 size_t given_size)
{
	struct npuplan_checked checked;
	int err = npuplan_take_options(&planning->own, given, given_size, planning->error);

	planning->options = &planning->own;
	planning->own_effort =
		npuplan_effort_begin(UINT64_MAX, planning->own.deadline_seconds, NULL, NULL);
	planning->effort = &planning->own_effort;
	if (!err)
		err = npuplan_checked_init(&checked, planning->graph, planning->error);
	if (err)
		return err;
	err = cosma_units_init(&planning->units, planning->graph, checked.cells,
			       planning->own.alignment, planning->error);
	npuplan_checked_fini(&checked);
	if (!err)
		ask_of_units(planning);
	return err;
}

int npuplan_budgets_find_sized(const struct npuplan_graph *graph,
			       const struct npuplan_options *given, size_t given_size,
			       struct npuplan_budgets *budgets, struct npuplan_error *error)
{
	struct planning planning = { .graph = graph, .error = error };
	struct npuplan_budgets found;
	int err = planning_read(&planning, given, given_size);

	if (err)
		return err;
	err = npuplan_cosma_budgets(planning.units.graph, &planning.asked, &found, error);
	planning_fini(&planning);
	if (err)
		return err;
	found.proved = found.proved && !planning.loose;
	*budgets = found;
	return 0;
}

int npuplan_needed_find_sized(const struct npuplan_graph *graph,
			      const struct npuplan_options *given, size_t given_size,
			      uint64_t *needed, uint32_t *step, struct npuplan_error *error)
{
	struct planning planning = { .graph = graph, .error = error };
	int err = planning_read(&planning, given, given_size);

	if (err)
		return err;
	err = npuplan_cosma_needed(planning.units.graph, &planning.asked, needed, step, error);
	planning_fini(&planning);
	return err;
}

int npuplan_lp_write_sized(const struct npuplan_graph *graph, const struct npuplan_options *given,
			   size_t given_size, char **text, size_t *size,
			   struct npuplan_error *error)
{
	struct planning planning = {
		.graph = graph,
		.planner = NPUPLAN_COSMA_BY_ILP,
		.error = error,
	};
	int err = planning_read(&planning, given, given_size);

	if (err)
		return err;
	err = ask(&planning);
	planning.asked.common.progress = NULL;
	if (!err)
		err = npuplan_cosma_ilp_write(planning.units.graph, &planning.asked, NULL, text,
					      size, error);
	planning_fini(&planning);
	return err;
}
