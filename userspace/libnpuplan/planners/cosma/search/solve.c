// SPDX-License-Identifier: MIT
/* The solver: what was asked for, checked, and the best plan so far. */
#include <stdlib.h>
#include <string.h>

#include "planners/cosma/place/addresses.h"
#include "solve.h"

static int check_options(const struct cosma_settings *options, struct npuplan_error *error)
{
	if (options->common.arena_budget > INT64_MAX / 4)
		return npuplan_fail(error, -EINVAL, "a budget of %llu bytes is too large",
				    (unsigned long long)options->common.arena_budget);
	if (options->common.objective > NPUPLAN_OBJECTIVE_PEAK)
		return npuplan_fail(error, -EINVAL, "unknown objective %d",
				    (int)options->common.objective);
	return 0;
}

/*
 * Fills in the model's ranks from the caller's order, which has all operators, none before what it
 * needs.
 */
static int read_order(struct cosma_solver *solver, struct npuplan_error *error)
{
	const struct cosma_model *model = &solver->model;
	const uint32_t *order = solver->options->order;
	uint32_t n = model->op_count;
	AUTO_HEAP uint32_t *rank_of = npuplan_malloc(((size_t)n + 1) * sizeof(*rank_of));
	int err = 0;

	if (!rank_of)
		return -ENOMEM;
	for (uint32_t v = 0; v < n; v++)
		rank_of[v] = NPUMEM_NONE;
	for (uint32_t p = 0; p < n && !err; p++) {
		uint32_t v = order ? order[p] : p;

		if (v >= n || rank_of[v] != NPUMEM_NONE)
			err = npuplan_fail(error, -EINVAL,
					   "the order has operator %u twice, or there is none", v);
		else
			rank_of[v] = p;
	}
	for (uint32_t v = 0; v < n && !err; v++)
		model->rank[v] = rank_of[model->op_of[v]];
	for (uint32_t v = 0; v < n && !err; v++)
		cosma_for_each(k, model->before, v)
			if (!err && model->rank[model->before.item[k]] > model->rank[v])
				err = npuplan_fail(error, -EINVAL,
						   "the order runs '%s' before what it needs",
						   solver->graph->ops[model->op_of[v]].name);
	return err;
}

void cosma_solver_fini(struct cosma_solver *solver)
{
	cosma_model_fini(&solver->model);
	cosma_subgraphs_fini(&solver->subgraphs);
	cosma_schedule_fini(&solver->best);
	cosma_stays_fini(&solver->stays);
	cosma_call_end(&solver->call);
}

int cosma_solver_init(struct cosma_solver *solver, const struct npuplan_graph *graph,
		      const struct cosma_settings *options, struct npuplan_error *error)
{
	int err = check_options(options, error);

	memset(solver, 0, sizeof(*solver));
	if (err)
		return err;
	solver->graph = graph;
	solver->options = options;
	cosma_call_start(&solver->call, options);
	err = cosma_model_init(&solver->model, graph, options, error);
	if (err) {
		cosma_call_end(&solver->call);
		return err;
	}
	err = read_order(solver, error);
	solver->rank = options->common.schedule != NPUPLAN_SCHEDULE_FREE ? solver->model.rank :
									   NULL;
	err = err ? err : cosma_subgraphs_init(&solver->subgraphs, &solver->model);
	err = err ? err : cosma_schedule_init(&solver->best, &solver->model);
	if (err == -ENOMEM)
		npuplan_fail(error, err, "out of memory");
	if (err)
		cosma_solver_fini(solver);
	return err;
}

void cosma_solver_offer(struct cosma_solver *solver, const struct cosma_schedule *schedule,
			struct cosma_stays *stays)
{
	int64_t spill, fill;

	cosma_schedule_cost(schedule, &spill, &fill);
	if (solver->found && (uint64_t)(spill + fill) >= solver->call.incumbent) {
		cosma_stays_fini(stays);
		return;
	}
	cosma_stays_fini(&solver->stays);
	cosma_schedule_copy(&solver->best, schedule);
	solver->stays = *stays;
	solver->found = true;
	memset(stays, 0, sizeof(*stays));
	solver->call.incumbent = (uint64_t)(spill + fill);
	cosma_call_report(&solver->call);
}

int cosma_solver_place(struct cosma_solver *solver, const struct cosma_schedule *schedule,
		       uint64_t work_limit, uint32_t *status)
{
	struct cosma_stays stays;
	int err = cosma_stays_init(&stays, schedule, solver->graph);

	*status = NPUMEM_PLAN_STATUS_UNKNOWN;
	if (!err)
		err = cosma_addresses(solver->graph, &solver->model, &stays,
				      solver->options->common.arena_budget, 0, UINT32_MAX,
				      NPUMEM_NONE, work_limit, &solver->call, status);
	if (!err && cosma_is_placed(*status))
		cosma_solver_offer(solver, schedule, &stays);
	else
		cosma_stays_fini(&stays);
	return err;
}

void cosma_solver_order(const struct cosma_solver *solver, struct cosma_schedule *schedule)
{
	for (uint32_t v = 0; v < solver->model.op_count; v++)
		schedule->order[solver->model.rank[v]] = v;
}
