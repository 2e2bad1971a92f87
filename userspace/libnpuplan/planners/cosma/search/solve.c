// SPDX-License-Identifier: MIT
/* One call of the planner: what was asked for, checked, and the best plan so far. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planners/cosma/place/addresses.h"
#include "solve.h"

static int check_options(const struct cosma_settings *options, struct npuplan_error *error)
{
	if (options->common.alignment & (options->common.alignment - 1))
		return npuplan_fail(error, -EINVAL, "alignment %u is not a power of two",
				    options->common.alignment);
	if (!isfinite(options->common.deadline_seconds) || options->common.deadline_seconds < 0)
		return npuplan_fail(error, -EINVAL, "a deadline of %g seconds makes no sense",
				    options->common.deadline_seconds);
	if (options->common.arena_budget > INT64_MAX / 4)
		return npuplan_fail(error, -EINVAL, "a budget of %llu bytes is too large",
				    (unsigned long long)options->common.arena_budget);
	if (options->common.objective > NPUPLAN_OBJECTIVE_PEAK)
		return npuplan_fail(error, -EINVAL, "unknown objective %d",
				    (int)options->common.objective);
	return 0;
}

/* Ranks from the caller's order: all operators, none before what it needs. */
static int read_order(struct cosma_solve *solve, struct npuplan_error *error)
{
	const struct cosma_model *model = &solve->model;
	const uint32_t *order = solve->options->order;
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
						   solve->graph->ops[model->op_of[v]].name);
	return err;
}

void cosma_solve_fini(struct cosma_solve *solve)
{
	cosma_model_fini(&solve->model);
	cosma_segments_fini(&solve->segments);
	cosma_schedule_fini(&solve->best);
	cosma_stays_fini(&solve->stays);
	cosma_run_end(&solve->run);
}

int cosma_solve_init(struct cosma_solve *solve, const struct npuplan_graph *graph,
		     const struct cosma_settings *options, struct npuplan_error *error)
{
	int err = check_options(options, error);

	memset(solve, 0, sizeof(*solve));
	if (err)
		return err;
	solve->graph = graph;
	solve->options = options;
	cosma_run_start(&solve->run, options);
	err = cosma_model_init(&solve->model, graph, options, error);
	if (err) {
		cosma_run_end(&solve->run);
		return err;
	}
	err = read_order(solve, error);
	solve->rank = options->common.schedule != NPUPLAN_SCHEDULE_FREE ? solve->model.rank : NULL;
	err = err ? err : cosma_segments_init(&solve->segments, &solve->model);
	err = err ? err : cosma_schedule_init(&solve->best, &solve->model);
	if (err == -ENOMEM)
		npuplan_fail(error, err, "out of memory");
	if (err)
		cosma_solve_fini(solve);
	return err;
}

void cosma_solve_offer(struct cosma_solve *solve, const struct cosma_schedule *schedule,
		       struct cosma_stays *stays)
{
	int64_t spill, fill;

	cosma_schedule_cost(schedule, &spill, &fill);
	if (solve->found && (uint64_t)(spill + fill) >= solve->run.incumbent) {
		cosma_stays_fini(stays);
		return;
	}
	cosma_stays_fini(&solve->stays);
	cosma_schedule_copy(&solve->best, schedule);
	solve->stays = *stays;
	solve->found = true;
	memset(stays, 0, sizeof(*stays));
	solve->run.incumbent = (uint64_t)(spill + fill);
	cosma_run_report(&solve->run);
}

int cosma_solve_place(struct cosma_solve *solve, const struct cosma_schedule *schedule,
		      uint64_t work_limit, uint32_t *status)
{
	struct cosma_stays stays;
	int err = cosma_stays_init(&stays, schedule, solve->graph);

	*status = NPUPLAN_PACK_UNKNOWN;
	if (!err)
		err = cosma_addresses(solve->graph, &solve->model, &stays,
				      solve->options->common.arena_budget, 0, UINT32_MAX,
				      NPUMEM_NONE, work_limit, &solve->run, status);
	if (!err && cosma_is_placed(*status))
		cosma_solve_offer(solve, schedule, &stays);
	else
		cosma_stays_fini(&stays);
	return err;
}

void cosma_solve_order(const struct cosma_solve *solve, struct cosma_schedule *schedule)
{
	for (uint32_t v = 0; v < solve->model.op_count; v++)
		schedule->order[solve->model.rank[v]] = v;
}
