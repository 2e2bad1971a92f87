// SPDX-License-Identifier: MIT
/* npuplan_cosma(): in which order the parts of the search try, and what is returned. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "planners/cosma/place/addresses.h"
#include "planners/cosma/place/fixed.h"
#include "planners/cosma/place/least_budget.h"
#include "planners/cosma/paper/baselines.h"
#include "solve.h"

/*
 * Limits of the packing core's work on one schedule: in all, or for each operator; and in a call
 * that is to end.
 */
#define PLACE_WORK	  10000000ull
#define PLACE_WORK_FOR_OP 2000ull
#define PLACE_WORK_AT_END 1000000ull
/* Limit of the work of the search with addresses, if the first schedule has none. */
#define EXACT_WORK	  2000000000ull

/* Returns the limit of the packing core's work on a schedule of all operators. */
static uint64_t place_work(const struct cosma_solver *solver)
{
	uint64_t work = PLACE_WORK_FOR_OP * solver->model.op_count;

	if (npuplan_effort_ended(&solver->call.effort))
		return PLACE_WORK_AT_END;
	return work > PLACE_WORK ? work : PLACE_WORK;
}

/* Makes a plan to have, by linear allocation of an order. */
static int solve_linear(struct cosma_solver *solver, const struct cosma_schedule *order)
{
	struct cosma_schedule schedule;
	struct cosma_stays stays;
	int err = cosma_schedule_init(&schedule, &solver->model);

	if (err)
		return err;
	memcpy(schedule.order, order->order, solver->model.op_count * sizeof(*schedule.order));
	err = cosma_linear(solver->graph, &schedule, solver->options, NPUPLAN_COSMA_GREEDY, &stays);
	if (!err)
		cosma_solver_offer(solver, &schedule, &stays);
	cosma_schedule_fini(&schedule);
	return err == -ENOSPC ? 0 : err;
}

/*
 * Finds addresses of the best schedule without them, or a plan near it. At the limit of memory
 * there may be neither.
 */
static int place_relaxed(struct cosma_solver *solver, struct cosma_schedule *schedule,
			 uint32_t *status)
{
	int err = cosma_solver_place(solver, schedule, place_work(solver), status);

	if (!err && !cosma_is_placed(*status)) {
		err = solve_linear(solver, schedule);
		err = err ? err : cosma_repair(solver, schedule);
	}
	return cosma_call_refused(&solver->call, err) ? 0 : err;
}

/*
 * The best plan is not proved to be that: one that is made without looking back may be better where
 * limits ended what comes before, or addresses are hard to find.
 */
static int offer_dive(struct cosma_solver *solver)
{
	struct cosma_schedule schedule;
	int64_t spill, fill;
	uint32_t status = NPUMEM_PLAN_STATUS_UNKNOWN;
	int err = cosma_schedule_init(&schedule, &solver->model);
	int outcome = err ? err : cosma_dive(solver, &schedule);

	if (outcome == COSMA_SOLVED || outcome == COSMA_FOUND) {
		cosma_schedule_cost(&schedule, &spill, &fill);
		if ((uint64_t)(spill + fill) < solver->call.incumbent)
			err = cosma_solver_place(solver, &schedule, PLACE_WORK_AT_END, &status);
		if (!err && !cosma_is_placed(status))
			err = solve_linear(solver, &schedule);
	} else if (outcome < 0) {
		err = outcome;
	}
	cosma_schedule_fini(&schedule);
	return cosma_call_refused(&solver->call, err) ? 0 : err;
}

/*
 * First there is a plan to have, then the least traffic without addresses, and addresses for that.
 * If there are none, a plan near it is looked for, and then one by the search with addresses.
 */
static int solve_traffic(struct cosma_solver *solver, struct npuplan_cosma_plan *plan)
{
	struct cosma_call *call = &solver->call;
	struct cosma_schedule schedule;
	uint32_t status = NPUMEM_PLAN_STATUS_UNKNOWN;
	int err = cosma_schedule_init(&schedule, &solver->model), outcome = COSMA_STOPPED;
	int64_t threshold = 0;

	if (err)
		return err;
	cosma_solver_order(solver, &schedule);
	err = solve_linear(solver, &schedule);
	cosma_call_limit_memory(call, true);
	if (!err && call->incumbent)
		outcome = cosma_relaxed(solver, &schedule, &threshold);
	plan->relaxed_bound = (uint64_t)threshold;
	call->lower_bound = (uint64_t)threshold;
	if (!err && (outcome == COSMA_SOLVED || outcome == COSMA_FOUND))
		err = place_relaxed(solver, &schedule, &status);
	if (!err && outcome == COSMA_SOLVED && call->incumbent > (uint64_t)threshold)
		outcome = cosma_exact(solver, &schedule, status, EXACT_WORK, &threshold);
	if (!err && outcome >= 0 && outcome != COSMA_EXHAUSTED &&
	    call->incumbent > (uint64_t)threshold)
		err = offer_dive(solver);
	cosma_call_limit_memory(call, false);
	if (!err && outcome < 0)
		err = outcome;
	call->lower_bound = (uint64_t)threshold;
	plan->lower_bound = (uint64_t)threshold;
	cosma_schedule_fini(&schedule);
	plan->status = outcome == COSMA_EXHAUSTED	      ? NPUMEM_PLAN_STATUS_INFEASIBLE :
		       !solver->found			      ? NPUMEM_PLAN_STATUS_UNKNOWN :
		       call->incumbent <= (uint64_t)threshold ? NPUMEM_PLAN_STATUS_OPTIMAL :
								NPUMEM_PLAN_STATUS_FEASIBLE;
	return err;
}

/* Makes the order of least peak the best one; if it is not proved, the order that was given. */
static int find_least_peak(struct cosma_solver *solver, bool fixed, int64_t *peak, int64_t *bound)
{
	int outcome;

	cosma_call_limit_memory(&solver->call, true);
	outcome = cosma_least_peak(solver, fixed, &solver->best, peak, bound);
	cosma_call_limit_memory(&solver->call, false);
	if (outcome == COSMA_STOPPED) {
		cosma_solver_order(solver, &solver->best);
		cosma_schedule_order(&solver->best);
		*peak = cosma_schedule_peak(&solver->best);
	}
	return outcome;
}

/* Finds addresses of the best schedule, of which none is away. */
static int place_peak(struct cosma_solver *solver, uint32_t *status)
{
	int err = cosma_stays_init(&solver->stays, &solver->best, solver->graph);

	err = err ? err :
		    cosma_addresses(solver->graph, &solver->model, &solver->stays, 0, 0, UINT32_MAX,
				    NPUMEM_NONE, place_work(solver), &solver->call, status);
	if (err || !cosma_is_placed(*status))
		cosma_stays_fini(&solver->stays);
	return err;
}

/*
 * Where tensors with fixed offsets are in each other's way in the order of least peak, they need
 * not be in the order that was given.
 */
static int place_any_peak(struct cosma_solver *solver, struct npuplan_cosma_plan *plan)
{
	uint32_t status = NPUMEM_PLAN_STATUS_UNKNOWN;
	int err = place_peak(solver, &status);

	if (err || cosma_is_placed(status)) {
		solver->found = !err;
		return err;
	}
	cosma_solver_order(solver, &solver->best);
	cosma_schedule_order(&solver->best);
	err = place_peak(solver, &status);
	solver->found = !err && cosma_is_placed(status);
	plan->status = solver->found ? NPUMEM_PLAN_STATUS_FEASIBLE : NPUMEM_PLAN_STATUS_UNKNOWN;
	return err;
}

static int solve_peak(struct cosma_solver *solver, struct npuplan_cosma_plan *plan)
{
	int64_t peak = 0, bound = 0;
	int outcome = find_least_peak(solver, solver->rank, &peak, &bound);

	plan->lower_bound = (uint64_t)bound;
	plan->relaxed_bound = (uint64_t)bound;
	plan->status = outcome == COSMA_SOLVED ? NPUMEM_PLAN_STATUS_OPTIMAL :
						 NPUMEM_PLAN_STATUS_FEASIBLE;
	return outcome < 0 ? outcome : place_any_peak(solver, plan);
}

/*
 * Begins a call: reads what is asked for, and finds what the operators need. If it fails there is
 * nothing to finish.
 */
static int begin(struct cosma_solver *solver, const struct npuplan_graph *graph,
		 const struct cosma_settings *options, uint64_t *needed, uint32_t *op,
		 struct npuplan_error *error)
{
	int err = cosma_solver_init(solver, graph, options, error);

	if (err)
		return err;
	err = cosma_check_fixed(graph, &solver->model, options, error);
	if (!err) {
		err = cosma_least_budget(graph, &solver->model, options, needed, op);
		if (!err)
			return 0;
		npuplan_fail(error, err, "cosma: %s", strerror(-err));
	}
	cosma_solver_fini(solver);
	return err;
}

/*
 * Ends a call, and returns its plan if one was found and @err is 0; returns @err, or another error.
 */
static int finish(struct cosma_solver *solver, int err, struct npuplan_cosma_plan *plan,
		  struct npuplan_error *error)
{
	/* The plan's memory is the caller's, and not counted. */
	plan->memory = solver->call.heap.most;
	if (!err && solver->found)
		err = cosma_steps(solver->graph, &solver->best, &solver->stays, plan);
	plan->work = solver->call.work;
	plan->memory_ended = solver->call.heap.refused && !solver->call.effort.stopped;
	plan->seconds = npuplan_effort_seconds(&solver->call.effort);
	cosma_solver_fini(solver);
	if (!err)
		return 0;
	npuplan_cosma_plan_free(plan);
	return npuplan_fail(error, err, "cosma: %s", strerror(-err));
}

int npuplan_cosma(const struct npuplan_graph *graph, const struct cosma_settings *options,
		  struct npuplan_cosma_plan *plan, struct npuplan_error *error)
{
	struct cosma_solver solver;
	int err;

	memset(plan, 0, sizeof(*plan));
	err = begin(&solver, graph, options, &plan->needed, &plan->needed_op, error);
	if (err)
		return err;
	if (options->common.objective == NPUPLAN_OBJECTIVE_PEAK)
		err = solve_peak(&solver, plan);
	else if (plan->needed > options->common.arena_budget + cosma_kept_bytes(options))
		plan->status = NPUMEM_PLAN_STATUS_INFEASIBLE;
	else
		err = solve_traffic(&solver, plan);
	return finish(&solver, err, plan, error);
}

int npuplan_cosma_budgets(const struct npuplan_graph *graph, const struct cosma_settings *options,
			  struct npuplan_budgets *budgets, struct npuplan_error *error)
{
	struct cosma_solver solver;
	int64_t peak = 0, bound = 0;
	int err, outcome;

	memset(budgets, 0, sizeof(*budgets));
	err = begin(&solver, graph, options, &budgets->needed, &budgets->step, error);
	if (err)
		return err;
	outcome = find_least_peak(&solver, false, &peak, &bound);
	/* Fixed offsets may need more than the bytes that are live at once. */
	budgets->proved = outcome == COSMA_SOLVED && !cosma_has_fixed(graph, options);
	budgets->peak = (uint64_t)peak + cosma_kept_bytes(options);
	if (budgets->peak < budgets->needed)
		budgets->peak = budgets->needed;
	budgets->middle = (budgets->needed + budgets->peak) / 2;
	cosma_solver_fini(&solver);
	return outcome < 0 ? npuplan_fail(error, outcome, "cosma: %s", strerror(-outcome)) : 0;
}

int npuplan_cosma_needed(const struct npuplan_graph *graph, const struct cosma_settings *options,
			 uint64_t *needed, uint32_t *needed_op, struct npuplan_error *error)
{
	struct cosma_solver solver;
	int err = begin(&solver, graph, options, needed, needed_op, error);

	if (!err)
		cosma_solver_fini(&solver);
	return err;
}

int npuplan_cosma_baseline(const struct npuplan_graph *graph, const struct cosma_settings *options,
			   enum npuplan_cosma_policy policy, struct npuplan_cosma_plan *plan,
			   struct npuplan_error *error)
{
	struct cosma_solver solver;
	int err;

	memset(plan, 0, sizeof(*plan));
	err = begin(&solver, graph, options, &plan->needed, &plan->needed_op, error);
	if (err)
		return err;
	plan->status = NPUMEM_PLAN_STATUS_INFEASIBLE;
	if (plan->needed <= options->common.arena_budget + cosma_kept_bytes(options)) {
		cosma_solver_order(&solver, &solver.best);
		err = cosma_linear(graph, &solver.best, options, policy, &solver.stays);
		solver.found = !err;
		plan->status = err ? NPUMEM_PLAN_STATUS_UNKNOWN : NPUMEM_PLAN_STATUS_FEASIBLE;
	}
	return finish(&solver, err == -ENOSPC ? 0 : err, plan, error);
}
