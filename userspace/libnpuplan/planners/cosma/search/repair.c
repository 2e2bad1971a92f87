// SPDX-License-Identifier: MIT
/*
 * Repair makes a plan from a schedule for which no addresses were found: it has more tensors away
 * where the schedule does not fit, the cheapest first, until it does. That is a plan to have, and
 * seldom the best.
 */
#include <stdlib.h>

#include "base/sorted.h"
#include "planners/cosma/place/addresses.h"
#include "solve.h"

/* Tensors that are sent away at most, and limits of the packing core's work on each try. */
#define MAX_TRIES     200
#define TRY_WORK      4000000ull
#define INTERVAL_WORK 500000ull

/* Finds the last timestep of the shortest beginning for which no addresses are found. */
static int find_conflict(struct cosma_solver *solver, const struct cosma_schedule *schedule,
			 uint32_t *timestep)
{
	struct cosma_stays stays;
	uint32_t status = NPUMEM_PLAN_STATUS_UNKNOWN;
	int err = cosma_stays_init(&stays, schedule, solver->graph);

	*timestep = npuplan_bisect(
		at, 0, solver->model.op_count,
		!err &&
			!(err = cosma_addresses(solver->graph, &solver->model, &stays,
						solver->options->common.arena_budget, 0, at,
						NPUMEM_NONE, INTERVAL_WORK, &solver->call,
						&status)) &&
			cosma_is_placed(status));
	cosma_stays_fini(&stays);
	return err;
}

/* Returns the timestep at which a tensor begins, or of its use before number @k. */
static uint32_t instant_before(const struct cosma_schedule *schedule, uint32_t x, uint32_t k)
{
	const struct cosma_model *model = schedule->model;

	if (k > model->consumers.first[x])
		return schedule->position[schedule->uses[k - 1]] + 1;
	if (model->producer[x] != NPUMEM_NONE)
		return schedule->position[model->producer[x]] + 1;
	if (model->flags[x] & COSMA_ENTRY)
		return 0;
	/* It is not there before its first use. */
	return NPUMEM_NONE;
}

/*
 * Has the cheapest tensor away over @timestep that is not yet, or moved right before it; false if
 * all that can go is gone.
 */
static bool send_away(struct cosma_schedule *schedule, uint32_t timestep)
{
	const struct cosma_model *model = schedule->model;
	uint32_t best = NPUMEM_NONE;
	int64_t least = INT64_MAX;

	for (uint32_t x = 0; x < model->tensor_count; x++) {
		bool host = model->flags[x] & COSMA_COPIED;

		cosma_for_each(k, model->consumers, x) {
			uint32_t from = instant_before(schedule, x, k);
			uint32_t to = schedule->position[schedule->uses[k]] + 1;
			int64_t price = host ? model->size[x] : 2 * model->size[x];

			host |= schedule->away[k];
			if (schedule->away[k] || from == NPUMEM_NONE || to < timestep)
				continue;
			/* At its use a tensor makes room only if its bytes may be taken. */
			if (from > timestep ||
			    (from == timestep &&
			     (!from || to == timestep ||
			      !cosma_gives_way(model, schedule->order[from - 1], x))))
				continue;
			/* A tensor that only moves frees nothing: it comes after all that leave. */
			if (to == timestep)
				price += INT64_MAX / 4;
			if (price < least) {
				least = price;
				best = k;
			}
		}
	}
	if (best != NPUMEM_NONE)
		schedule->away[best] = true;
	return best != NPUMEM_NONE;
}

int cosma_repair(struct cosma_solver *solver, const struct cosma_schedule *broken)
{
	struct cosma_schedule schedule;
	int err = cosma_schedule_init(&schedule, &solver->model);

	if (err)
		return err;
	cosma_schedule_copy(&schedule, broken);
	for (uint32_t tries = 0; tries < MAX_TRIES && !err && !cosma_call_over(&solver->call);
	     tries++) {
		uint32_t timestep, status;
		int64_t spill, fill;

		err = find_conflict(solver, &schedule, &timestep);
		if (err || !send_away(&schedule, timestep))
			break;
		cosma_schedule_cost(&schedule, &spill, &fill);
		if ((uint64_t)(spill + fill) >= solver->call.incumbent)
			break;
		err = cosma_solver_place(solver, &schedule, TRY_WORK, &status);
		if (!err && cosma_is_placed(status))
			break;
	}
	cosma_schedule_fini(&schedule);
	return err;
}
