// SPDX-License-Identifier: MIT
/*
 * This file writes a schedule as positions: from stays follow loads, stores, spills, drops and
 * fills between operators.
 */
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "addresses.h"

/*
 * struct step_writing - the plan in the making
 * @begin, @end: per timestep, the stays that begin and end there
 */
struct step_writing {
	const struct npuplan_graph *graph;
	const struct cosma_schedule *schedule;
	const struct cosma_stays *stays;
	struct npuplan_cosma_plan *plan;
	struct cosma_list begin;
	struct cosma_list end;
};

static uint32_t graph_tensor(const struct step_writing *writing, uint32_t stay)
{
	const struct cosma_stay *at = &writing->stays->stay[stay];

	return at->parameter ? at->tensor : writing->schedule->model->tensor_of[at->tensor];
}

static int add_step(struct step_writing *writing, enum npumem_position_kind kind, uint32_t index)
{
	struct npuplan_cosma_plan *plan = writing->plan;
	struct npumem_position position = { .kind = kind, .index = index };

	return npuplan_append(&plan->positions, &plan->position_count, &position, 1);
}

/* Whether the tensor of a stay has another stay behind it, or before it. */
static bool has_next(const struct cosma_stays *stays, uint32_t i)
{
	return i + 1 < stays->count && stays->stay[i + 1].tensor == stays->stay[i].tensor &&
	       !stays->stay[i + 1].parameter;
}

static bool has_previous(const struct cosma_stays *stays, uint32_t i)
{
	return i && stays->stay[i - 1].tensor == stays->stay[i].tensor &&
	       !stays->stay[i - 1].parameter;
}

/*
 * Whether a stay is the first of a tensor without a host copy, so that what is on chip is all there
 * is.
 */
static bool is_only_copy(const struct step_writing *writing, uint32_t i)
{
	const struct cosma_stay *stay = &writing->stays->stay[i];

	return !has_previous(writing->stays, i) &&
	       !(writing->schedule->model->flags[stay->tensor] & COSMA_COPIED);
}

/*
 * Outputs of an operator may lie on inputs that leave with it, which the host must have before it
 * runs. @i is a stay that ends with it, of tensor @t of the graph.
 */
static int store_first(struct step_writing *writing, uint32_t i, uint32_t t)
{
	const struct cosma_stay *stay = &writing->stays->stay[i];

	if (stay->parameter || !cosma_stay_yields(stay) || !has_next(writing->stays, i) ||
	    !is_only_copy(writing, i))
		return 0;
	writing->plan->spill += writing->graph->tensors[t].size;
	return add_step(writing, NPUMEM_POSITION_STORE, t);
}

/* The first thing after an operator is that the outputs are stored which it has made. */
static int store_output(struct step_writing *writing, uint32_t i, uint32_t t)
{
	const struct cosma_stay *stay = &writing->stays->stay[i];
	struct npuplan_cosma_plan *plan = writing->plan;

	if (stay->parameter || has_previous(writing->stays, i) ||
	    !(writing->schedule->model->flags[stay->tensor] & COSMA_OUTPUT))
		return 0;
	if (stay->to == stay->from)
		plan->placements[i].to = plan->position_count;
	plan->compulsory += writing->graph->tensors[t].size;
	return add_step(writing, NPUMEM_POSITION_STORE, t);
}

/* Then tensors leave that come back later. */
static int leave(struct step_writing *writing, uint32_t i, uint32_t t)
{
	const struct cosma_stay *stay = &writing->stays->stay[i];
	struct npuplan_cosma_plan *plan = writing->plan;
	bool spill;

	if (stay->parameter || !has_next(writing->stays, i))
		return 0;
	spill = !cosma_stay_yields(stay) && is_only_copy(writing, i);
	/* The bytes of a stay that yields are gone already. */
	if (!cosma_stay_yields(stay))
		plan->placements[i].to = plan->position_count;
	plan->spill += spill ? writing->graph->tensors[t].size : 0;
	return add_step(writing, spill ? NPUMEM_POSITION_SPILL : NPUMEM_POSITION_DROP, t);
}

/* And then tensors come that the next operator needs. */
static int come(struct step_writing *writing, uint32_t i, uint32_t t)
{
	const struct cosma_stay *stay = &writing->stays->stay[i];
	struct npuplan_cosma_plan *plan = writing->plan;
	bool again = !stay->parameter && has_previous(writing->stays, i);

	plan->placements[i].from = plan->position_count;
	if (!stay->parameter && !again &&
	    writing->schedule->model->producer[stay->tensor] != NPUMEM_NONE)
		return 0;
	*(again ? &plan->fill : &plan->compulsory) += writing->graph->tensors[t].size;
	return add_step(writing, again ? NPUMEM_POSITION_FILL : NPUMEM_POSITION_LOAD, t);
}

static int each_stay(struct step_writing *writing, const struct cosma_list *list, uint32_t timestep,
		     int (*act)(struct step_writing *writing, uint32_t i, uint32_t t))
{
	int err = 0;

	cosma_for_each(k, *list, timestep)
		err = err ? err : act(writing, list->item[k], graph_tensor(writing, list->item[k]));
	return err;
}

/* Lists stays by the timestep that each has at @offset. @list: out */
static void by_timestep(struct cosma_list *list, struct npuplan_pool *pool,
			const struct cosma_stays *stays, uint32_t timesteps, size_t offset)
{
	list->first = npuplan_pool_take(pool, (size_t)timesteps + 2, sizeof(*list->first));
	list->item = npuplan_pool_take(pool, stays->count, sizeof(*list->item));
	if (!pool->failed)
		npuplan_counting_sort(stays->stay, stays->count, sizeof(*stays->stay), offset,
				      timesteps, list->first, list->item);
}

/*
 * Finds the plan's peak and top. @change: zeroes, two for each timestep: operators load, then they
 * store.
 */
static void find_peak(const struct step_writing *writing, uint64_t *change)
{
	uint32_t halves = 2 * writing->schedule->model->op_count + 1;
	struct npuplan_cosma_plan *plan = writing->plan;
	uint64_t now = 0;

	/* Unsigned wrap-around is meant: the running sum is never negative. */
	for (uint32_t i = 0; i < writing->stays->count; i++) {
		const struct cosma_stay *stay = &writing->stays->stay[i];
		uint64_t size = writing->graph->tensors[graph_tensor(writing, i)].size;

		change[cosma_stay_start(stay)] += size;
		/* Where others' bytes are stored on its own, its own are gone. */
		change[2 * stay->to - cosma_stay_yields(stay) + 1] -= size;
		plan->top = stay->offset + size > plan->top ? stay->offset + size : plan->top;
	}
	for (uint32_t h = 0; h < halves; h++) {
		now += change[h];
		plan->peak = now > plan->peak ? now : plan->peak;
	}
}

static int write_steps(struct step_writing *writing)
{
	const struct cosma_schedule *schedule = writing->schedule;
	const struct cosma_model *model = schedule->model;
	struct npuplan_cosma_plan *plan = writing->plan;
	int err = 0;

	for (uint32_t i = 0; i < writing->stays->count; i++)
		plan->placements[i] = (struct npumem_placement){
			.tensor = graph_tensor(writing, i),
			.offset = writing->stays->stay[i].offset,
		};
	for (uint32_t timestep = 0; timestep <= model->op_count && !err; timestep++) {
		if (timestep) {
			err = each_stay(writing, &writing->begin, timestep, come);
			err = err ? err : each_stay(writing, &writing->end, timestep, store_first);
			/* An output is there when its operator starts. */
			cosma_for_each(k, writing->begin, timestep)
				if (writing->stays->stay[writing->begin.item[k]].made)
					plan->placements[writing->begin.item[k]].from =
						plan->position_count;
			cosma_for_each(k, writing->end, timestep)
				plan->placements[writing->end.item[k]].to = plan->position_count;
			err = err ? err :
				    add_step(writing, NPUMEM_POSITION_STEP,
					     model->op_of[schedule->order[timestep - 1]]);
		}
		err = err ? err : each_stay(writing, &writing->begin, timestep, store_output);
		err = err ? err : each_stay(writing, &writing->end, timestep, leave);
	}
	return err;
}

int cosma_steps(const struct npuplan_graph *graph, const struct cosma_schedule *schedule,
		const struct cosma_stays *stays, struct npuplan_cosma_plan *plan)
{
	struct step_writing writing = {
		.graph = graph,
		.schedule = schedule,
		.stays = stays,
		.plan = plan,
	};
	uint32_t timesteps = schedule->model->op_count + 1;
	struct npuplan_pool pool = { 0 };
	uint64_t *change = npuplan_pool_take(&pool, 2 * (size_t)timesteps, sizeof(*change));
	int err = 0;

	by_timestep(&writing.begin, &pool, stays, timesteps, offsetof(struct cosma_stay, from));
	by_timestep(&writing.end, &pool, stays, timesteps, offsetof(struct cosma_stay, to));
	plan->placements = npuplan_calloc((size_t)stays->count + 1, sizeof(*plan->placements));
	plan->placement_count = stays->count;
	if (!plan->placements || pool.failed)
		err = -ENOMEM;
	if (!err) {
		find_peak(&writing, change);
		err = write_steps(&writing);
	}
	npuplan_pool_free(&pool);
	return err;
}

void npuplan_cosma_plan_free(struct npuplan_cosma_plan *plan)
{
	npuplan_free(plan->positions);
	npuplan_free(plan->placements);
	memset(plan, 0, sizeof(*plan));
}
