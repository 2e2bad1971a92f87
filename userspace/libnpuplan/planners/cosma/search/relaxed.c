// SPDX-License-Identifier: MIT
/*
 * This file solves the relaxed problem: subgraphs one after the other, whose paths are put
 * together.
 */
#include <stdlib.h>
#include <string.h>

#include "planners/cosma/bound/chain.h"
#include "alike.h"
#include "solve.h"
#include "windows.h"

/* Limit of the work of the first attempt, which is enough for most networks. */
#define FIRST_WORK    3000000ull
/* Limit of the work of one search by windows. */
#define WINDOW_WORK   20000000ull
/*
 * Limit of the states of one window's search, and operators below which a subgraph has no windows.
 */
#define WINDOW_STATES 20000
#define WINDOW_LEAST  16
/*
 * Limit of the work by which a plan is made of what searches have none of, beside their own limits:
 * some tenths of a second.
 */
#define DIVE_WORK     1000000ull

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
 * struct subgraph_search - a subgraph while it is solved
 * @path: best so far; it has no order if there is none
 * @bound: of the subgraph's cost
 */
struct subgraph_search {
	struct cosma_solver *solver;
	struct cosma_query query;
	struct cosma_path path;
	int64_t bound;
};

/* Runs the query as it stands, and keeps what it finds. Returns its outcome. */
static int attempt(struct subgraph_search *subgraph)
{
	struct cosma_path path = { 0 };
	int64_t bound;
	int outcome = cosma_search(&subgraph->query, &subgraph->solver->call, &path, &bound);

	if (!subgraph->query.window && bound > subgraph->bound)
		subgraph->bound = bound;
	if (outcome != COSMA_SOLVED && outcome != COSMA_FOUND)
		return outcome;
	cosma_path_fini(&subgraph->path);
	subgraph->path = path;
	subgraph->query.upper = path.cost;
	return outcome;
}

/* Finds the best plan in the order that was given, if that is quick. */
static int attempt_order(struct subgraph_search *subgraph)
{
	int64_t bound = subgraph->bound;
	int outcome;

	cosma_call_share(&subgraph->solver->call, WINDOW_WORK, 0.3);
	subgraph->query.fixed = true;
	outcome = attempt(subgraph);
	subgraph->query.fixed = false;
	/* Other orders may cost less. */
	subgraph->bound = bound;
	return outcome < 0 ? outcome : 0;
}

/* Finds plans by windows of several widths, of which each has to beat the one before. */
static int plan_by_windows(struct subgraph_search *subgraph)
{
	static const uint32_t widths[] = { 5, 10 };
	const struct cosma_model *model = subgraph->query.model;
	AUTO_HEAP uint32_t *window = npuplan_malloc((model->op_count + 1) * sizeof(*window));
	int outcome = window ? 0 : -ENOMEM;
	uint32_t count;

	subgraph->query.window = window;
	subgraph->query.beam_width = 20;
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]) && outcome >= 0; i++) {
		int err;

		if (subgraph->solver->call.effort.stopped ||
		    subgraph->query.upper <= subgraph->bound)
			break;
		cosma_call_share(&subgraph->solver->call, WINDOW_WORK, 0.3);
		err = cosma_windows_cut(model, widths[i], 2 * widths[i], window, &count);
		outcome = err ? err : attempt(subgraph);
	}
	subgraph->query.window = NULL;
	return outcome < 0 ? outcome : 0;
}

/*
 * Makes a plan without looking back. Of a call that is to end all subgraphs share the work that
 * this may take.
 */
static int dive(struct subgraph_search *subgraph)
{
	struct cosma_solver *solver = subgraph->solver;
	int64_t bound = subgraph->bound;
	int outcome;

	subgraph->query.dive_end = solver->dive_end;
	outcome = attempt(subgraph);
	subgraph->query.dive_end = 0;
	subgraph->bound = bound;
	return outcome;
}

/* Finds bounds by windows of several widths. */
static int bound_by_windows(struct subgraph_search *subgraph)
{
	const struct cosma_model *model = subgraph->query.model;
	AUTO_HEAP uint32_t *window = npuplan_malloc((model->op_count + 1) * sizeof(*window));
	struct cosma_query query = subgraph->query;
	int err = window ? 0 : -ENOMEM;
	uint32_t count;

	query.window = window;
	query.state_limit = WINDOW_STATES;
	for (uint32_t width = 10; width <= 80 && width < model->op_count && !err; width *= 2) {
		int64_t bound = 0;

		if (subgraph->solver->call.effort.stopped)
			break;
		cosma_call_share(&subgraph->solver->call, 0, 0.3);
		err = cosma_windows_cut(model, width, 2 * width, window, &count);
		err = err ? err :
			    cosma_windows_bound(&query, count, &subgraph->solver->call, &bound);
		subgraph->bound = bound > subgraph->bound ? bound : subgraph->bound;
	}
	return err;
}

/* Finds the bound by chains, which says most of large graphs whose order is free. */
static int bound_by_chains(struct subgraph_search *subgraph)
{
	struct cosma_call *call = &subgraph->solver->call;
	int64_t bound;
	int err = cosma_chain_bound(subgraph->query.model, subgraph->query.budget, call, &bound);

	if (err)
		return cosma_call_refused(call, err) ? 0 : err;
	subgraph->bound = bound > subgraph->bound ? bound : subgraph->bound;
	return 0;
}

/*
 * The search is tried alone first. If that is not quick, windows give a plan, which leaves the
 * search less to do, and then a bound.
 */
static int solve_subgraph(struct subgraph_search *subgraph)
{
	struct cosma_call *call = &subgraph->solver->call;
	bool divide = subgraph->query.model->op_count >= WINDOW_LEAST;
	int outcome, err = 0;

	cosma_call_share(call, divide ? FIRST_WORK : 0, 0.3);
	outcome = attempt(subgraph);
	if (outcome == COSMA_STOPPED && divide) {
		err = bound_by_chains(subgraph);
		if (!err && !subgraph->query.fixed)
			err = attempt_order(subgraph);
		err = err ? err : plan_by_windows(subgraph);
		if (!err && subgraph->query.upper > subgraph->bound && !call->effort.stopped) {
			cosma_call_share(call, 0, 0.7);
			outcome = attempt(subgraph);
		}
		if (!err && outcome == COSMA_STOPPED)
			err = bound_by_windows(subgraph);
	}
	cosma_call_share(call, 0, 1);
	/* What was found before the limit of memory is kept. */
	if (cosma_call_refused(call, err))
		err = 0;
	if (!err && outcome == COSMA_STOPPED && !subgraph->path.order) {
		if (!npuplan_effort_ended(&call->effort) || !subgraph->solver->dive_end)
			subgraph->solver->dive_end = call->work + DIVE_WORK;
		outcome = dive(subgraph);
	}
	if (err || outcome < 0)
		return err ? err : outcome;
	/* Nothing is below the upper bound: the plan that gave it is the best. */
	if (subgraph->path.order && subgraph->query.upper <= subgraph->bound)
		return COSMA_SOLVED;
	return subgraph->path.order ? COSMA_FOUND : COSMA_STOPPED;
}

/* Operators of a subgraph that is remembered: to search smaller ones is as quick. */
#define REMEMBERED_LEAST 16u
/* More of them would take much memory; so large ones are seldom alike. */
#define REMEMBERED_MOST	 4096u

/*
 * Solves subgraph @part, whose operators begin at number @at, unless one like it has been. Takes
 * @part over.
 */
static int solve_part(struct cosma_solver *solver, struct cosma_answers *answers, bool dives,
		      struct cosma_model *part, uint32_t at, struct cosma_schedule *schedule,
		      struct evictions *evictions, int64_t *lower_bound)
{
	const struct cosma_answer *answer = cosma_answers_find(answers, part);
	struct subgraph_search subgraph = {
		.solver = solver,
		.query = {
			.model = part,
			.budget = (int64_t)solver->options->common.arena_budget,
			.upper = INT64_MAX / 2,
			.fixed = solver->rank,
		},
	};
	int found = answer ? answer->outcome : dives ? dive(&subgraph) : solve_subgraph(&subgraph);
	const struct cosma_path *path = answer ? &answer->path : &subgraph.path;

	*lower_bound += answer ? answer->bound : subgraph.bound;
	if (found == COSMA_SOLVED || found == COSMA_FOUND) {
		cosma_schedule_part(schedule, part, path, at);
		if (note(evictions, part, path, at))
			found = -ENOMEM;
	}
	if (!answer && found >= 0 && part->op_count >= REMEMBERED_LEAST &&
	    part->op_count <= REMEMBERED_MOST) {
		cosma_answers_add(answers, &(struct cosma_answer){ .part = *part,
								   .path = subgraph.path,
								   .bound = subgraph.bound,
								   .outcome = found });
		return found;
	}
	cosma_path_fini(&subgraph.path);
	cosma_model_fini(part);
	return found;
}

/* @dives: without looking back */
static int solve_all(struct cosma_solver *solver, bool dives, struct cosma_schedule *schedule,
		     int64_t *lower_bound)
{
	const struct cosma_subgraphs *subgraphs = &solver->subgraphs;
	struct cosma_answers answers = { 0 };
	struct evictions evictions = { 0 };
	int outcome = COSMA_SOLVED;

	*lower_bound = 0;
	for (uint32_t i = 0; i < subgraphs->count && outcome >= 0; i++) {
		uint32_t at = subgraphs->first[i];
		struct cosma_model part = { 0 };
		int found = cosma_model_part(&part, &solver->model, subgraphs->ops + at,
					     subgraphs->first[i + 1] - at, NULL);

		found = found ? found :
				solve_part(solver, &answers, dives, &part, at, schedule, &evictions,
					   lower_bound);
		if (found < 0 || outcome == COSMA_SOLVED || found == COSMA_STOPPED)
			outcome = found;
	}
	cosma_answers_fini(&answers);
	if (outcome == COSMA_SOLVED || outcome == COSMA_FOUND) {
		cosma_schedule_order(schedule);
		for (uint32_t k = 0; k < evictions.count; k++)
			cosma_schedule_evict(schedule, evictions.all[k].tensor,
					     evictions.all[k].position);
	}
	npuplan_free(evictions.all);
	return cosma_call_refused(&solver->call, outcome) ? COSMA_STOPPED : outcome;
}

int cosma_relaxed(struct cosma_solver *solver, struct cosma_schedule *schedule,
		  int64_t *lower_bound)
{
	return solve_all(solver, false, schedule, lower_bound);
}

int cosma_dive(struct cosma_solver *solver, struct cosma_schedule *schedule)
{
	int64_t ignored;

	/* It has as much as it may have, whatever was before. */
	solver->dive_end = solver->call.work + DIVE_WORK;
	return solve_all(solver, true, schedule, &ignored);
}

int cosma_least_peak(struct cosma_solver *solver, bool fixed, struct cosma_schedule *schedule,
		     int64_t *peak, int64_t *lower_bound)
{
	const struct cosma_subgraphs *subgraphs = &solver->subgraphs;
	const struct cosma_model *model = &solver->model;
	int outcome = COSMA_SOLVED;

	*peak = 0;
	*lower_bound = 0;
	for (uint32_t v = 0; v < model->op_count; v++)
		*lower_bound = model->need[v] > *lower_bound ? model->need[v] : *lower_bound;
	for (uint32_t i = 0; i < subgraphs->count && outcome == COSMA_SOLVED; i++) {
		uint32_t at = subgraphs->first[i];
		struct cosma_path path = { 0 };
		struct cosma_model part = { 0 };
		int64_t bound = 0;
		int err = cosma_model_part(&part, model, subgraphs->ops + at,
					   subgraphs->first[i + 1] - at, NULL);

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
