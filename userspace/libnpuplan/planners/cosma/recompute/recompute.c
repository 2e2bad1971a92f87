// SPDX-License-Identifier: MIT
/* This file finds operators to run again, so that less has to come back from the host. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "beam.h"
#include "graph/operations.h"
#include "recompute.h"

/* Clones of one candidate at most, one for the other. */
#define MAX_CLONES 4
/* Limit of the work of one plan: a multiple of the first plan's, and at least so many units. */
#define TRY_FACTOR 4
#define TRY_WORK   20000000ull
/* Limit of the work of one beam search. */
#define BEAM_WORK  200000000ull
/* Limit of the work of all plans, if the caller has none. */
#define ALL_WORK   2000000000ull

/*
 * struct hill_climb - the best plan so far, and what is tried beside it
 * @graph: of the best plan
 * @effort: of all plans together
 * @work: units so far
 * @first_work: units that the first plan took
 */
struct hill_climb {
	const struct cosma_settings *options;
	struct npuplan_recomputation *best;
	const struct npuplan_graph *graph;
	struct npuplan_effort effort;
	uint64_t work;
	uint64_t first_work;
};

/* ------------------------------------------------------------- candidates */

static uint32_t producer_of(const struct npuplan_graph *graph, uint32_t tensor)
{
	for (uint32_t v = 0; v < graph->op_count; v++)
		for (uint32_t k = 0; k < graph->ops[v].output_count; k++)
			if (graph->ops[v].outputs[k] == tensor)
				return v;
	return NPUMEM_NONE;
}

static bool reads(const struct npuplan_graph *graph, uint32_t op, uint32_t tensor)
{
	for (uint32_t k = 0; k < graph->ops[op].input_count; k++)
		if (graph->ops[op].inputs[k] == tensor)
			return true;
	return false;
}

static bool resident(const struct npuplan_cosma_plan *plan, uint32_t tensor, uint32_t position)
{
	for (uint32_t i = 0; i < plan->placement_count; i++)
		if (plan->placements[i].tensor == tensor && plan->placements[i].from <= position &&
		    position <= plan->placements[i].to)
			return true;
	return false;
}

/*
 * Lists the operators that read a tensor between its fill at @position and when it leaves, or @all
 * that follow.
 */
static int readers_after(const struct hill_climb *climb, uint32_t position, bool all,
			 struct npuplan_clone *clone)
{
	const struct npuplan_cosma_plan *plan = &climb->best->plan;
	uint32_t tensor = plan->positions[position].index;
	int err = 0;

	for (uint32_t p = position + 1; p < plan->position_count && !err; p++) {
		const struct npumem_position *at = &plan->positions[p];

		if (!all && at->index == tensor && at->kind == NPUMEM_POSITION_DROP)
			break;
		if (at->kind != NPUMEM_POSITION_STEP || !reads(climb->graph, at->index, tensor))
			continue;
		err = npuplan_append(&clone->readers, &clone->reader_count,
				     &climb->graph->ops[at->index].id, 1);
	}
	return err;
}

static int64_t next_op_id(const struct npuplan_graph *graph)
{
	int64_t id = 0;

	for (uint32_t v = 0; v < graph->op_count; v++)
		id = graph->ops[v].id > id ? graph->ops[v].id : id;
	return id + 1;
}

/*
 * Makes the candidate of the operator that made what is filled at @position, and, while @depth
 * lasts, of those that made what it needs and what is not on chip there.
 */
static int make_candidate(const struct hill_climb *climb, uint32_t position, bool all,
			  uint32_t depth, struct cosma_clone_set *candidate)
{
	const struct npuplan_graph *graph = climb->graph;
	uint32_t op = producer_of(graph, climb->best->plan.positions[position].index);
	uint32_t of[MAX_CLONES];
	int err;

	memset(candidate, 0, sizeof(*candidate));
	if (op == NPUMEM_NONE)
		return 0;
	candidate->clones = npuplan_calloc(MAX_CLONES, sizeof(*candidate->clones));
	if (!candidate->clones)
		return -ENOMEM;
	of[0] = op;
	candidate->clones[0].op = graph->ops[op].id;
	candidate->count = 1;
	err = readers_after(climb, position, all, &candidate->clones[0]);
	for (uint32_t i = 0; i < candidate->count && !err; i++) {
		const struct npuplan_op *o = &graph->ops[of[i]];

		for (uint32_t k = 0; k < o->input_count && !err; k++) {
			uint32_t from = producer_of(graph, o->inputs[k]);
			struct npuplan_clone *clone = &candidate->clones[candidate->count];
			bool known = false;
			int64_t reader;

			for (uint32_t j = 0; j < k; j++)
				known |= producer_of(graph, o->inputs[j]) == from;
			if (known || from == NPUMEM_NONE || candidate->count > depth ||
			    resident(&climb->best->plan, o->inputs[k], position))
				continue;
			of[candidate->count] = from;
			clone->op = graph->ops[from].id;
			reader = next_op_id(graph) + i;
			err = npuplan_append(&clone->readers, &clone->reader_count, &reader, 1);
			candidate->count++;
		}
	}
	/* With fewer clones it is the candidate of less depth. */
	if (err || !candidate->clones[0].reader_count || candidate->count != depth + 1)
		cosma_clone_set_fini(candidate);
	return err;
}

/* ---------------------------------------------------------------- climbing */

/* Tells the caller of the best plan of all that were tried; no bound is known. */
static int tell(void *context, const struct npuplan_pack_progress *now)
{
	struct hill_climb *climb = context;
	struct npuplan_pack_progress progress = *now;

	progress.top = climb->best->answer.traffic;
	progress.lower_bound = 0;
	progress.gap = climb->best->answer.traffic ? 1 : 0;
	progress.work = climb->work + now->work;
	progress.seconds = npuplan_effort_seconds(&climb->effort);
	climb->effort.stopped |= climb->effort.progress(climb->effort.context, &progress) != 0;
	return climb->effort.stopped;
}

static int make_plan(struct hill_climb *climb, const struct npuplan_graph *graph,
		     uint64_t work_limit, struct npuplan_cosma_plan *plan,
		     struct npuplan_error *error)
{
	struct cosma_settings options = *climb->options;
	int err;

	options.common.work_limit = work_limit;
	if (options.common.progress && climb->best->plan.positions) {
		options.common.progress = tell;
		options.common.context = climb;
	}
	if (options.common.deadline_seconds > 0)
		options.common.deadline_seconds = npuplan_effort_left(&climb->effort);
	err = npuplan_cosma(graph, &options, plan, error);
	climb->work += plan->work;
	return err;
}

static bool over(const struct hill_climb *climb)
{
	return npuplan_effort_ended(&climb->effort) || climb->work >= climb->effort.work_limit;
}

static uint64_t try_limit(const struct hill_climb *climb)
{
	uint64_t limit = TRY_FACTOR * climb->first_work + TRY_WORK;
	uint64_t left = climb->effort.work_limit - climb->work;

	return limit < left ? limit : left;
}

/** struct found - the best candidate of a round */
struct found {
	struct npuplan_graph *graph;
	struct npuplan_cosma_plan plan;
	struct cosma_clone_set candidate;
	uint64_t traffic;
	uint64_t operations;
};

static void found_fini(struct found *found)
{
	npuplan_graph_free(found->graph);
	npuplan_cosma_plan_free(&found->plan);
	cosma_clone_set_fini(&found->candidate);
}

static uint64_t all_operations(const struct npuplan_graph *graph)
{
	uint64_t sum = 0;

	for (uint32_t v = 0; v < graph->op_count; v++)
		sum += npuplan_operations(graph, v);
	return sum;
}

static int apply(const struct npuplan_graph *graph, const struct npuplan_clone *clones,
		 uint32_t count, struct npuplan_graph **out, struct npuplan_error *error)
{
	struct npuplan_graph *last = NULL;
	int err = 0;

	for (uint32_t i = 0; i < count && !err; i++) {
		err = npuplan_graph_clone_op(last ? last : graph, &clones[i], out, error);
		npuplan_graph_free(last);
		last = *out;
	}
	return err;
}

/* Takes the candidate over if it is the best of its round, else frees it. */
static int try_candidate(struct hill_climb *climb, struct cosma_clone_set *candidate,
			 struct found *found)
{
	struct found now = { .candidate = *candidate };
	int err = apply(climb->graph, candidate->clones, candidate->count, &now.graph, NULL);
	bool better;

	memset(candidate, 0, sizeof(*candidate));
	if (!err)
		err = make_plan(climb, now.graph, try_limit(climb), &now.plan, NULL);
	if (err) {
		found_fini(&now);
		/* An operator that cannot run again is no choice. */
		return err == -EOPNOTSUPP || err == -EOVERFLOW ? 0 : err;
	}
	now.traffic = now.plan.spill + now.plan.fill;
	now.operations = all_operations(now.graph);
	better = now.plan.positions && now.traffic < climb->best->answer.traffic &&
		 (!found->graph || now.traffic < found->traffic ||
		  (now.traffic == found->traffic && now.operations < found->operations));
	if (better) {
		found_fini(found);
		*found = now;
	} else {
		found_fini(&now);
	}
	return 0;
}

/* Tries to run again what is filled at @position: for those that read it then, and for all. */
static int try_fill(struct hill_climb *climb, uint32_t position, uint32_t depth,
		    struct found *found)
{
	struct cosma_clone_set some, all = { 0 };
	int err = make_candidate(climb, position, false, depth, &some);

	if (!err)
		err = make_candidate(climb, position, true, depth, &all);
	if (cosma_clone_set_is_same(&some, &all))
		cosma_clone_set_fini(&all);
	if (!err && some.count)
		err = try_candidate(climb, &some, found);
	if (!err && all.count && !over(climb))
		err = try_candidate(climb, &all, found);
	cosma_clone_set_fini(&some);
	cosma_clone_set_fini(&all);
	return err;
}

static int try_all(struct hill_climb *climb, uint32_t limit, struct found *found)
{
	const struct npuplan_cosma_plan *plan = &climb->best->plan;
	uint32_t depths = limit < MAX_CLONES ? limit : MAX_CLONES;
	int err = 0;

	for (uint32_t p = 0; p < plan->position_count && !err; p++) {
		if (plan->positions[p].kind != NPUMEM_POSITION_FILL)
			continue;
		for (uint32_t depth = 0; depth < depths && !err && !over(climb); depth++)
			err = try_fill(climb, p, depth, found);
	}
	return err;
}

/* Lets the next round start from the best candidate of this one. */
static int accept(struct hill_climb *climb, struct found *found)
{
	struct npuplan_recomputation *best = climb->best;
	struct npuplan_recompute *answer = &best->answer;

	for (uint32_t i = 0; i < found->candidate.count; i++) {
		int err = npuplan_append(&answer->clones, &answer->clone_count,
					 &found->candidate.clones[i], 1);

		if (err)
			return err;
		found->candidate.clones[i].readers = NULL;
	}
	npuplan_cosma_plan_free(&best->plan);
	npuplan_graph_free(best->graph);
	best->plan = found->plan;
	best->graph = found->graph;
	climb->graph = best->graph;
	answer->traffic = found->traffic;
	memset(&found->plan, 0, sizeof(found->plan));
	found->graph = NULL;
	return 0;
}

/* The order of the operators in the best plan so far. */
static uint32_t *best_order(const struct hill_climb *climb)
{
	const struct npuplan_cosma_plan *plan = &climb->best->plan;
	uint32_t *order = npuplan_malloc(((size_t)climb->graph->op_count + 1) * sizeof(*order));
	uint32_t count = 0;

	for (uint32_t p = 0; p < plan->position_count && order; p++)
		if (plan->positions[p].kind == NPUMEM_POSITION_STEP)
			order[count++] = plan->positions[p].index;
	return order;
}

static bool is_ended(void *context)
{
	struct hill_climb *climb = context;

	return npuplan_effort_over(&climb->effort, climb->best->answer.traffic, 0, climb->work);
}

/* Tries what the beam search proposes for the order of the best plan. */
static int try_beam(struct hill_climb *climb, uint32_t limit, struct found *found)
{
	const struct npuplan_until ended = { .over = is_ended, .context = climb };
	uint64_t left = climb->effort.work_limit - climb->work;
	AUTO_HEAP uint32_t *order = best_order(climb);
	struct cosma_beam_answer answer;
	int err = -ENOMEM;

	if (order)
		err = cosma_beam(climb->graph, climb->options, order, limit,
				 climb->best->answer.traffic, left < BEAM_WORK ? left : BEAM_WORK,
				 &ended, &answer);
	if (err)
		return err;
	climb->work += answer.work;
	for (uint32_t i = 0; i < answer.count; i++) {
		if (!err && !over(climb))
			err = try_candidate(climb, &answer.sets[i], found);
		cosma_clone_set_fini(&answer.sets[i]);
	}
	return err;
}

static int climb_up(struct hill_climb *climb, uint32_t limit)
{
	int err = 0;

	while (!err && climb->best->answer.traffic && !over(climb)) {
		struct found found = { 0 };
		uint32_t left = limit ? limit - climb->best->answer.clone_count : UINT32_MAX;

		err = left ? try_beam(climb, left, &found) : 0;
		if (!err && !found.graph)
			err = try_all(climb, left, &found);
		if (err || !found.graph) {
			found_fini(&found);
			break;
		}
		err = accept(climb, &found);
		found_fini(&found);
	}
	return err;
}

int npuplan_cosma_recompute(const struct npuplan_graph *graph, const struct cosma_settings *options,
			    uint32_t limit, struct npuplan_recomputation *out,
			    struct npuplan_error *error)
{
	struct hill_climb climb = {
		.options = options,
		.best = out,
		.graph = graph,
		.effort = npuplan_effort_begin(
			options->common.work_limit ? options->common.work_limit : ALL_WORK,
			options->common.deadline_seconds, options->common.progress,
			options->common.context),
	};
	struct npuplan_recompute *answer = &out->answer;
	int err;

	climb.effort.traffic = true;
	memset(out, 0, sizeof(*out));
	if (options->order || options->common.objective == NPUPLAN_OBJECTIVE_PEAK)
		return npuplan_fail(error, -EINVAL,
				    "operators run again for less traffic only, in the graph's "
				    "order or a free one");
	err = make_plan(&climb, graph, climb.effort.work_limit, &out->plan, error);
	if (err)
		return err;
	answer->traffic = answer->traffic_without = out->plan.spill + out->plan.fill;
	climb.first_work = climb.work;
	answer->operations = all_operations(graph);
	if (out->plan.positions && answer->traffic) {
		err = climb_up(&climb, limit);
		out->plan.lower_bound = 0;
		out->plan.relaxed_bound = 0;
		out->plan.status = answer->traffic ? NPUMEM_PLAN_STATUS_FEASIBLE :
						     NPUMEM_PLAN_STATUS_OPTIMAL;
	}
	answer->operations_again = all_operations(climb.graph) - answer->operations;
	answer->work = climb.work;
	if (!err)
		return 0;
	npuplan_recomputation_free(out);
	return npuplan_fail(error, err, "running operators again: %s", strerror(-err));
}

void npuplan_recomputation_free(struct npuplan_recomputation *recomputation)
{
	npuplan_graph_free(recomputation->graph);
	npuplan_recompute_fini(&recomputation->answer);
	npuplan_cosma_plan_free(&recomputation->plan);
	memset(recomputation, 0, sizeof(*recomputation));
}
