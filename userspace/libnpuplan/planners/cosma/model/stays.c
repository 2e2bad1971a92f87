// SPDX-License-Identifier: MIT
/* This file makes schedules, finds out what they cost, and when each tensor is on chip. */
#include <stdlib.h>
#include <string.h>

#include "stays.h"

int cosma_path_init(struct cosma_path *path, uint32_t ops, uint32_t evictions)
{
	struct npuplan_pool *pool = &path->pool;

	*path = (struct cosma_path){ .op_count = ops };
	path->order = npuplan_pool_take(pool, ops, sizeof(*path->order));
	path->first = npuplan_pool_take(pool, (size_t)ops + 1, sizeof(*path->first));
	path->evicted = npuplan_pool_take(pool, evictions, sizeof(*path->evicted));
	if (!pool->failed)
		return 0;
	cosma_path_fini(path);
	return -ENOMEM;
}

int cosma_schedule_init(struct cosma_schedule *schedule, const struct cosma_model *model)
{
	uint32_t ops = model->op_count, uses = model->consumers.first[model->tensor_count];
	struct npuplan_pool *pool = &schedule->pool;

	*schedule = (struct cosma_schedule){ .model = model };
	schedule->order = npuplan_pool_take(pool, ops, sizeof(*schedule->order));
	schedule->position = npuplan_pool_take(pool, ops, sizeof(*schedule->position));
	schedule->uses = npuplan_pool_take(pool, uses, sizeof(*schedule->uses));
	schedule->away = npuplan_pool_take(pool, uses, sizeof(*schedule->away));
	if (!pool->failed)
		return 0;
	cosma_schedule_fini(schedule);
	return -ENOMEM;
}

void cosma_schedule_copy(struct cosma_schedule *to, const struct cosma_schedule *from)
{
	const struct cosma_model *model = from->model;
	size_t uses = model->consumers.first[model->tensor_count];

	memcpy(to->order, from->order, model->op_count * sizeof(*to->order));
	memcpy(to->position, from->position, model->op_count * sizeof(*to->position));
	memcpy(to->uses, from->uses, uses * sizeof(*to->uses));
	memcpy(to->away, from->away, uses * sizeof(*to->away));
}

void cosma_schedule_order(struct cosma_schedule *schedule)
{
	const struct cosma_model *model = schedule->model;
	uint32_t *filled = schedule->position;

	/*
	 * The list of each tensor's users is filled as they run, so that it is in the order of
	 * positions.
	 */
	for (uint32_t x = 0; x < model->tensor_count; x++) {
		cosma_for_each(k, model->consumers, x) {
			schedule->uses[k] = NPUMEM_NONE;
			schedule->away[k] = false;
		}
	}
	for (uint32_t p = 0; p < model->op_count; p++) {
		uint32_t v = schedule->order[p];

		cosma_for_each(k, model->inputs, v) {
			uint32_t at = model->consumers.first[model->inputs.item[k]];

			while (schedule->uses[at] != NPUMEM_NONE)
				at++;
			schedule->uses[at] = v;
		}
	}
	for (uint32_t p = 0; p < model->op_count; p++)
		filled[schedule->order[p]] = p;
}

void cosma_schedule_part(struct cosma_schedule *schedule, const struct cosma_model *part,
			 const struct cosma_path *path, uint32_t at)
{
	for (uint32_t p = 0; p < path->op_count; p++)
		schedule->order[at + p] = part->op_of[path->order[p]];
}

void cosma_schedule_evict(struct cosma_schedule *schedule, uint32_t tensor, uint32_t position)
{
	cosma_for_each(k, schedule->model->consumers, tensor)
		if (schedule->position[schedule->uses[k]] >= position) {
			schedule->away[k] = true;
			return;
		}
}

int64_t cosma_schedule_peak(const struct cosma_schedule *schedule)
{
	const struct cosma_model *model = schedule->model;
	int64_t now = 0, peak;

	for (uint32_t x = 0; x < model->tensor_count; x++)
		if (model->flags[x] & COSMA_ENTRY && cosma_users(model, x))
			now += model->size[x];
	peak = now;
	for (uint32_t p = 0; p < model->op_count; p++) {
		uint32_t v = schedule->order[p];
		int64_t gone = 0, stores = model->staged[v] ? 0 : model->workspace[v], loads;

		cosma_for_each(k, model->inputs, v) {
			uint32_t x = model->inputs.item[k];

			if (model->producer[x] == NPUMEM_NONE && !(model->flags[x] & COSMA_ENTRY) &&
			    schedule->uses[model->consumers.first[x]] == v)
				now += model->size[x];
			if (schedule->uses[model->consumers.first[x + 1] - 1] != v)
				continue;
			gone += model->size[x];
			stores -= cosma_makes_room(model, v, k) ? model->size[x] : 0;
		}
		loads = now + model->workspace[v];
		cosma_for_each(k, model->outputs, v) {
			uint32_t x = model->outputs.item[k];

			now += model->size[x];
			if (!cosma_users(model, x))
				gone += model->size[x];
		}
		peak = loads > peak ? loads : peak;
		peak = now + stores > peak ? now + stores : peak;
		now -= gone;
	}
	return peak;
}

void cosma_schedule_cost(const struct cosma_schedule *schedule, int64_t *spill, int64_t *fill)
{
	const struct cosma_model *model = schedule->model;

	*spill = 0;
	*fill = 0;
	for (uint32_t x = 0; x < model->tensor_count; x++) {
		bool host = model->flags[x] & COSMA_COPIED;

		cosma_for_each(k, model->consumers, x) {
			if (!schedule->away[k])
				continue;
			*fill += model->size[x];
			*spill += host ? 0 : model->size[x];
			host = true;
		}
	}
}

void cosma_stays_fini(struct cosma_stays *stays)
{
	npuplan_free(stays->stay);
	memset(stays, 0, sizeof(*stays));
}

int cosma_stays_add(struct cosma_stays *stays, struct cosma_stay stay)
{
	return npuplan_append(&stays->stay, &stays->count, &stay, 1);
}

/* The stay ends with operator @v, unless another use follows. */
static void end_with(struct cosma_stay *stay, const struct cosma_model *model, uint32_t v)
{
	stay->early = model->staged[v];
	stay->taker = NPUMEM_NONE;
	stay->bound = false;
	cosma_for_each(k, model->inputs, v) {
		if (model->inputs.item[k] != stay->tensor)
			continue;
		stay->bound = model->bound[k];
		if (!stay->early || stay->bound)
			stay->taker = model->taker[k];
	}
}

static int add_tensor(struct cosma_stays *stays, const struct cosma_schedule *schedule, uint32_t x)
{
	const struct cosma_model *model = schedule->model;
	uint32_t first = model->consumers.first[x], end = model->consumers.first[x + 1];
	struct cosma_stay stay = { .tensor = x, .taker = NPUMEM_NONE };
	int err = 0;

	stay.made = model->producer[x] != NPUMEM_NONE;
	if (stay.made)
		stay.from = schedule->position[model->producer[x]] + 1;
	else if (!(model->flags[x] & COSMA_ENTRY))
		stay.from = schedule->position[schedule->uses[first]] + 1;
	stay.to = stay.from;
	for (uint32_t k = first; k < end && !err; k++) {
		uint32_t at = schedule->position[schedule->uses[k]] + 1;

		if (schedule->away[k]) {
			err = cosma_stays_add(stays, stay);
			stay.from = at;
			stay.made = false;
		}
		stay.to = at;
		end_with(&stay, model, schedule->uses[k]);
	}
	return err ? err : cosma_stays_add(stays, stay);
}

/* Adds stays of the parameters that only the operator at @position uses. */
static int add_parameters(struct cosma_stays *stays, const struct cosma_schedule *schedule,
			  const struct npuplan_graph *graph, uint32_t position)
{
	const struct cosma_model *model = schedule->model;
	uint32_t v = schedule->order[position];
	const struct npuplan_op *op = &graph->ops[model->op_of[v]];
	int err = 0;

	for (uint32_t k = 0; k < op->input_count && !err; k++)
		if (cosma_is_own_parameter(model, graph, v, k))
			err = cosma_stays_add(stays, (struct cosma_stay){
							     .tensor = op->inputs[k],
							     .from = position + 1,
							     .to = position + 1,
							     .taker = NPUMEM_NONE,
							     .parameter = true,
							     .early = model->staged[v],
						     });
	return err;
}

int cosma_stays_init(struct cosma_stays *stays, const struct cosma_schedule *schedule,
		     const struct npuplan_graph *graph)
{
	const struct cosma_model *model = schedule->model;
	int err = 0;

	memset(stays, 0, sizeof(*stays));
	for (uint32_t x = 0; x < model->tensor_count && !err; x++)
		err = add_tensor(stays, schedule, x);
	for (uint32_t p = 0; p < model->op_count && graph && !err; p++)
		err = add_parameters(stays, schedule, graph, p);
	if (err)
		cosma_stays_fini(stays);
	return err;
}
