// SPDX-License-Identifier: MIT
#include "tiled.h"

#include <errno.h>
#include <string.h>

#include "graph/checked.h"
#include "planners/tilesched/tilesched.h"

/* Whether a tensor is loaded when it is needed, or stored as it is made. */
static bool comes_or_goes(const struct npuplan_tensor *tensor)
{
	/* The verifier has no external tensors that are one of these. */
	if (tensor->flags & (NPUMEM_TENSOR_FLAG_FIXED | NPUMEM_TENSOR_FLAG_ALIAS))
		return false;
	return tensor->flags & NPUMEM_TENSOR_FLAG_HOST || tensor->kind == NPUMEM_TENSOR_OUTPUT;
}

/* Returns tensors of a graph in which what comes or goes is external; NULL: out of memory. */
static struct npuplan_tensor *tensors_of(const struct npuplan_graph *graph)
{
	size_t size = graph->tensor_count * sizeof(*graph->tensors);
	struct npuplan_tensor *tensors = npuplan_malloc(size);

	if (!tensors)
		return NULL;
	memcpy(tensors, graph->tensors, size);
	for (uint32_t t = 0; t < graph->tensor_count; t++)
		if (comes_or_goes(&tensors[t]))
			tensors[t].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	return tensors;
}

/*
 * The limit of work of tile scheduling, which takes as much for fusions and, at most, once more for
 * refining.
 */
static uint64_t work_of(const struct npuplan_options *options)
{
	uint64_t quarter = options->work_limit / 4;

	if (!options->work_limit || quarter > NPUPLAN_TILESCHED_WORK)
		return NPUPLAN_TILESCHED_WORK;
	return quarter ? quarter : 1;
}

static int find_order(const struct npuplan_graph *graph, const struct npuplan_options *options,
		      struct npuplan_effort *effort, uint32_t *order, uint64_t *work,
		      struct npuplan_error *error)
{
	const struct npuplan_options asked = { .work_limit = work_of(options) };
	struct npuplan_graph outside = *graph;
	const struct npuplan_problem problem = {
		.graph = &outside,
		.options = &asked,
		.alignment = 1,
		.effort = effort,
	};
	struct npuplan_checked checked;
	int err;

	outside.tensors = tensors_of(graph);
	if (!outside.tensors)
		return npuplan_fail(error, -ENOMEM, "out of memory");
	err = npuplan_checked_init(&checked, &outside, error);
	if (!err) {
		err = tilesched_order(&problem, checked.cells, order, work);
		npuplan_checked_fini(&checked);
		if (err)
			npuplan_fail(error, err, "tile scheduling: %s", strerror(-err));
	}
	npuplan_free(outside.tensors);
	return err;
}

int cosma_ask_tiled(const struct npuplan_graph *graph, const struct npuplan_options *options,
		    const struct npuplan_effort *effort, uint32_t *order,
		    struct cosma_settings *asked, uint64_t *work, struct npuplan_error *error)
{
	struct npuplan_effort part =
		npuplan_effort_begin(UINT64_MAX, npuplan_effort_left(effort) / 2,
				     asked->common.progress, asked->common.context);
	int err;

	part.started = effort->started;
	part.traffic = true;
	err = find_order(graph, options, &part, order, work, error);
	if (err)
		return err;
	asked->order = order;
	asked->common.schedule = NPUPLAN_SCHEDULE_GIVEN;
	asked->common.work_limit = npuplan_effort_work_left(options->work_limit, *work, 0);
	asked->common.deadline_seconds = npuplan_effort_left(effort);
	/* A caller that has ended the call is not asked again: there is a plan from the start. */
	if (part.stopped) {
		asked->common.progress = NULL;
		asked->common.deadline_seconds = 1e-6;
	}
	return 0;
}

/* ------------------------------------------------------------- beside any order */

/*
 * struct turns - two searches, one after the other
 * @progress, @context: the caller's
 * @traffic: of the best plan before this search; UINT64_MAX: there is none
 * @bound: of the traffic of any order, where it is not this search that says so
 * @work: units before this search
 * @second: it is the second one that runs; the first tells of its own bound
 * @stopped: the caller has ended the call
 */
struct turns {
	int (*progress)(void *context, const struct npuplan_pack_progress *progress);
	void *context;
	uint64_t traffic;
	uint64_t bound;
	uint64_t work;
	bool second;
	bool stopped;
};

static int tell(void *context, const struct npuplan_pack_progress *now)
{
	struct turns *turns = context;
	struct npuplan_pack_progress all = *now;
	int end;

	if (turns->second) {
		all.top = now->top < turns->traffic ? now->top : turns->traffic;
		all.lower_bound = turns->bound;
		all.work += turns->work;
		all.gap = all.top == UINT64_MAX ?
				  1 :
			  all.top == all.lower_bound ?
				  0 :
				  (double)(all.top - all.lower_bound) / (double)all.top;
	}
	end = turns->progress(turns->context, &all);
	turns->stopped |= end != 0;
	return end;
}

/* @tiled: whether several steps write one tensor. */
static int is_tiled(const struct npuplan_graph *graph, bool *tiled)
{
	bool *written = npuplan_calloc((size_t)graph->tensor_count + 1, sizeof(*written));

	*tiled = false;
	if (!written)
		return -ENOMEM;
	for (uint32_t a = 0; a < graph->access_count && !*tiled; a++) {
		uint32_t tensor = graph->tiles[graph->accesses[a].tile].tensor;

		if (graph->accesses[a].mode != NPUMEM_ACCESS_WRITE)
			continue;
		*tiled = written[tensor];
		written[tensor] = true;
	}
	npuplan_free(written);
	return 0;
}

static uint64_t traffic_of(const struct npuplan_cosma_plan *plan)
{
	return plan->positions ? plan->spill + plan->fill : UINT64_MAX;
}

/* Keeps the better plan, of equal ones the first, with what was proved of any order. */
static void keep_better(struct npuplan_cosma_plan *plan, struct npuplan_cosma_plan *second)
{
	struct npuplan_cosma_plan first = *plan;
	bool better = traffic_of(second) < traffic_of(&first);

	if (better) {
		*plan = *second;
		*second = first;
		plan->lower_bound = first.lower_bound;
		plan->relaxed_bound = first.relaxed_bound;
		plan->status = traffic_of(plan) <= plan->lower_bound ? NPUMEM_PLAN_STATUS_OPTIMAL :
								       NPUMEM_PLAN_STATUS_FEASIBLE;
	}
	plan->work = first.work + (better ? plan->work : second->work);
	plan->memory_ended = first.memory_ended || plan->memory_ended;
	if (plan->memory < second->memory)
		plan->memory = second->memory;
	npuplan_cosma_plan_free(second);
}

/* Searches in tile scheduling's order, and keeps the better plan. */
static int search_tiled(const struct npuplan_graph *graph, const struct npuplan_graph *units,
			const struct npuplan_options *options, const struct npuplan_effort *effort,
			struct cosma_settings *asked, struct turns *turns,
			struct npuplan_cosma_plan *plan, struct npuplan_error *error)
{
	uint32_t *order = npuplan_malloc((graph->step_count + (size_t)1) * sizeof(*order));
	struct npuplan_cosma_plan second;
	uint64_t work = 0;
	int err;

	if (!order)
		return npuplan_fail(error, -ENOMEM, "out of memory");
	err = cosma_ask_tiled(graph, options, effort, order, asked, &work, error);
	turns->work += work;
	if (!err)
		err = npuplan_cosma(units, asked, &second, error);
	if (!err)
		keep_better(plan, &second);
	plan->work += work;
	npuplan_free(order);
	return err;
}

int cosma_search_turns(const struct npuplan_graph *graph, const struct npuplan_graph *units,
		       const struct npuplan_options *options, const struct npuplan_effort *effort,
		       const struct cosma_settings *asked, struct npuplan_cosma_plan *plan,
		       struct npuplan_error *error)
{
	uint64_t limit = options->work_limit ? options->work_limit : NPUPLAN_COSMA_WORK;
	struct turns turns = { .progress = asked->common.progress,
			       .context = asked->common.context };
	struct npuplan_options left = *options;
	struct cosma_settings part = *asked;
	bool tiled;
	int err = is_tiled(graph, &tiled);

	if (err)
		return npuplan_fail(error, err, "out of memory");
	if (!tiled)
		return npuplan_cosma(units, asked, plan, error);
	if (turns.progress) {
		part.common.progress = tell;
		part.common.context = &turns;
	}
	part.common.work_limit = limit - limit / 4;
	part.common.deadline_seconds = npuplan_effort_left(effort) * 3 / 4;
	err = npuplan_cosma(units, &part, plan, error);
	if (err || turns.stopped || plan->status == NPUMEM_PLAN_STATUS_OPTIMAL ||
	    plan->status == NPUMEM_PLAN_STATUS_INFEASIBLE || npuplan_effort_ended(effort))
		return err;
	turns.second = true;
	turns.traffic = traffic_of(plan);
	turns.bound = plan->lower_bound;
	turns.work = plan->work;
	left.work_limit = npuplan_effort_work_left(limit, plan->work, 0);
	/* The first search may have taken more, for plans that are there in any case. */
	if (left.work_limit < limit / 4)
		left.work_limit = limit / 4;
	err = search_tiled(graph, units, &left, effort, &part, &turns, plan, error);
	/* There is a plan, and it says so; whatever else ends the second search is a fault. */
	if (err == -ENOMEM) {
		plan->memory_ended = true;
		return 0;
	}
	if (err)
		npuplan_cosma_plan_free(plan);
	return err;
}
