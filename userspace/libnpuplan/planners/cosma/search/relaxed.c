// SPDX-License-Identifier: MIT
/*
 * This file solves the relaxed problem: segments one after the other, whose paths are put together.
 */
#include <stdlib.h>
#include <string.h>

#include "solve.h"
#include "windows.h"

/* Limit of the work of the first attempt, which is enough for most networks. */
#define FIRST_WORK    3000000ull
/* Limit of the work of one search by windows. */
#define WINDOW_WORK   20000000ull
/*
 * Limit of the states of one window's search, and operators below which a segment has no windows.
 */
#define WINDOW_STATES 20000
#define WINDOW_LEAST  16

/** struct evictions - which tensors of the whole model leave before which position */
struct evictions {
	struct eviction {
		uint32_t tensor;
		uint32_t position;
	} *all;
	uint32_t count;
};

static int note(struct evictions *evictions, const struct cosma_model *part,
		const struct cosma_path *path, uint32_t at)
{
	for (uint32_t p = 0; p < path->op_count; p++)
		for (uint32_t k = path->first[p]; k < path->first[p + 1]; k++) {
			/*
			 * A tensor that leaves with the operator is away from the next position on.
			 */
			bool with = cosma_listed(&part->inputs, path->order[p], path->evicted[k]);
			struct eviction eviction = {
				.tensor = part->tensor_of[path->evicted[k]],
				.position = at + p + with,
			};

			if (npuplan_append(&evictions->all, &evictions->count, &eviction, 1))
				return -ENOMEM;
		}
	return 0;
}

/*
 * struct segment_search - a segment while it is solved
 * @path: best so far; it has no order if there is none
 * @bound: of the segment's cost
 */
struct segment_search {
	struct cosma_solver *solver;
	struct cosma_query query;
	struct cosma_path path;
	int64_t bound;
};

/* Runs the query as it stands, and keeps what it finds. Returns its outcome. */
static int attempt(struct segment_search *segment)
{
	struct cosma_path path = { 0 };
	int64_t bound;
	int outcome = cosma_search(&segment->query, &segment->solver->call, &path, &bound);

	if (!segment->query.window && bound > segment->bound)
		segment->bound = bound;
	if (outcome != COSMA_SOLVED && outcome != COSMA_FOUND)
		return outcome;
	cosma_path_fini(&segment->path);
	segment->path = path;
	segment->query.upper = path.cost;
	return outcome;
}

/* Finds the best plan in the order that was given, if that is quick. */
static int attempt_order(struct segment_search *segment)
{
	int64_t bound = segment->bound;
	int outcome;

	cosma_call_share(&segment->solver->call, WINDOW_WORK, 0.3);
	segment->query.fixed = true;
	outcome = attempt(segment);
	segment->query.fixed = false;
	/* Other orders may cost less. */
	segment->bound = bound;
	return outcome < 0 ? outcome : 0;
}

/* Finds plans by windows of several widths, of which each has to beat the one before. */
static int plan_by_windows(struct segment_search *segment)
{
	static const uint32_t widths[] = { 5, 10 };
	const struct cosma_model *model = segment->query.model;
	AUTO_HEAP uint32_t *window = npuplan_malloc((model->op_count + 1) * sizeof(*window));
	int outcome = window ? 0 : -ENOMEM;
	uint32_t count;

	segment->query.window = window;
	segment->query.beam_width = 20;
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]) && outcome >= 0; i++) {
		int err;

		if (segment->solver->call.effort.stopped || segment->query.upper <= segment->bound)
			break;
		cosma_call_share(&segment->solver->call, WINDOW_WORK, 0.3);
		err = cosma_windows_cut(model, widths[i], 2 * widths[i], window, &count);
		outcome = err ? err : attempt(segment);
	}
	segment->query.window = NULL;
	return outcome < 0 ? outcome : 0;
}

/* Finds bounds by windows of several widths. */
static int bound_by_windows(struct segment_search *segment)
{
	const struct cosma_model *model = segment->query.model;
	AUTO_HEAP uint32_t *window = npuplan_malloc((model->op_count + 1) * sizeof(*window));
	struct cosma_query query = segment->query;
	int err = window ? 0 : -ENOMEM;
	uint32_t count;

	query.window = window;
	query.state_limit = WINDOW_STATES;
	for (uint32_t width = 10; width <= 80 && width < model->op_count && !err; width *= 2) {
		int64_t bound = 0;

		if (segment->solver->call.effort.stopped)
			break;
		cosma_call_share(&segment->solver->call, 0, 0.3);
		err = cosma_windows_cut(model, width, 2 * width, window, &count);
		err = err ? err :
			    cosma_windows_bound(&query, count, &segment->solver->call, &bound);
		segment->bound = bound > segment->bound ? bound : segment->bound;
	}
	return err;
}

/*
 * The search is tried alone first. If that is not quick, windows give a plan, which leaves the
 * search less to do, and then a bound.
 */
static int solve_segment(struct segment_search *segment)
{
	struct cosma_call *call = &segment->solver->call;
	bool divide = segment->query.model->op_count >= WINDOW_LEAST;
	int outcome, err = 0;

	cosma_call_share(call, divide ? FIRST_WORK : 0, 0.3);
	outcome = attempt(segment);
	if (outcome == COSMA_STOPPED && divide) {
		err = segment->query.fixed ? 0 : attempt_order(segment);
		err = err ? err : plan_by_windows(segment);
		if (!err && segment->query.upper > segment->bound && !call->effort.stopped) {
			cosma_call_share(call, 0, 0.7);
			outcome = attempt(segment);
		}
		if (!err && outcome == COSMA_STOPPED)
			err = bound_by_windows(segment);
	}
	cosma_call_share(call, 0, 1);
	/* What was found before the limit of memory is kept. */
	if (cosma_call_refused(call, err))
		err = 0;
	if (err || outcome < 0)
		return err ? err : outcome;
	/* Nothing is below the upper bound: the plan that gave it is the best. */
	if (segment->path.order && segment->query.upper <= segment->bound)
		return COSMA_SOLVED;
	return segment->path.order ? COSMA_FOUND : COSMA_STOPPED;
}

int cosma_relaxed(struct cosma_solver *solver, struct cosma_schedule *schedule,
		  int64_t *lower_bound)
{
	const struct cosma_segments *segments = &solver->segments;
	struct evictions evictions = { 0 };
	int outcome = COSMA_SOLVED;

	*lower_bound = 0;
	for (uint32_t i = 0; i < segments->count && outcome >= 0; i++) {
		uint32_t at = segments->first[i];
		struct cosma_model part = { 0 };
		struct segment_search segment = {
			.solver = solver,
			.query = {
				.model = &part,
				.budget = (int64_t)solver->options->common.arena_budget,
				.upper = INT64_MAX / 2,
				.fixed = solver->rank,
			},
		};
		int found = cosma_model_part(&part, &solver->model, segments->ops + at,
					     segments->first[i + 1] - at, NULL);

		found = found ? found : solve_segment(&segment);
		*lower_bound += segment.bound;
		if (found == COSMA_SOLVED || found == COSMA_FOUND) {
			cosma_schedule_part(schedule, &part, &segment.path, at);
			if (note(&evictions, &part, &segment.path, at))
				found = -ENOMEM;
		}
		if (found < 0 || outcome == COSMA_SOLVED || found == COSMA_STOPPED)
			outcome = found;
		cosma_path_fini(&segment.path);
		cosma_model_fini(&part);
	}
	if (outcome == COSMA_SOLVED || outcome == COSMA_FOUND) {
		cosma_schedule_order(schedule);
		for (uint32_t k = 0; k < evictions.count; k++)
			cosma_schedule_evict(schedule, evictions.all[k].tensor,
					     evictions.all[k].position);
	}
	npuplan_free(evictions.all);
	return cosma_call_refused(&solver->call, outcome) ? COSMA_STOPPED : outcome;
}

int cosma_least_peak(struct cosma_solver *solver, bool fixed, struct cosma_schedule *schedule,
		     int64_t *peak, int64_t *lower_bound)
{
	const struct cosma_segments *segments = &solver->segments;
	const struct cosma_model *model = &solver->model;
	int outcome = COSMA_SOLVED;

	*peak = 0;
	*lower_bound = 0;
	for (uint32_t v = 0; v < model->op_count; v++)
		*lower_bound = model->need[v] > *lower_bound ? model->need[v] : *lower_bound;
	for (uint32_t i = 0; i < segments->count && outcome == COSMA_SOLVED; i++) {
		uint32_t at = segments->first[i];
		struct cosma_path path = { 0 };
		struct cosma_model part = { 0 };
		int64_t bound = 0;
		int err = cosma_model_part(&part, model, segments->ops + at,
					   segments->first[i + 1] - at, NULL);

		outcome =
			err ? err :
			      cosma_mpmf(&part, *lower_bound, fixed, &solver->call, &path, &bound);
		*lower_bound = bound > *lower_bound ? bound : *lower_bound;
		if (outcome == COSMA_SOLVED) {
			*peak = path.cost > *peak ? path.cost : *peak;
			cosma_schedule_part(schedule, &part, &path, at);
		}
		cosma_path_fini(&path);
		cosma_model_fini(&part);
	}
	if (outcome == COSMA_SOLVED)
		cosma_schedule_order(schedule);
	return cosma_call_refused(&solver->call, outcome) ? COSMA_STOPPED : outcome;
}
