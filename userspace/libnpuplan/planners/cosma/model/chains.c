// SPDX-License-Identifier: MIT
/* Operators that may run in one go, whatever else there is to run. */
#include "model.h"

/* Operators that use what comes of a tensor, at most, when its closing is looked for. */
#define MAX_CHAIN 32

/**
 * struct reach - operators that depend on a tensor
 * @op: ascending, so in a topological order
 * @width: of what is alive until each one runs, at least: there is a path of
 *	tensors from the first one to it, of which none is smaller
 */
struct reach {
	uint32_t op[MAX_CHAIN];
	int64_t width[MAX_CHAIN];
	uint32_t count;
};

/* False if there are too many. */
static bool reach_add(struct reach *reach, uint32_t v, int64_t width)
{
	uint32_t at = reach->count;

	for (uint32_t i = 0; i < reach->count; i++)
		if (reach->op[i] == v) {
			reach->width[i] = width > reach->width[i] ? width : reach->width[i];
			return true;
		}
	if (reach->count == MAX_CHAIN)
		return false;
	for (; at && reach->op[at - 1] > v; at--) {
		reach->op[at] = reach->op[at - 1];
		reach->width[at] = reach->width[at - 1];
	}
	reach->op[at] = v;
	reach->width[at] = width;
	reach->count++;
	return true;
}

/* Whether @v is, or runs after, every operator that uses @x. */
static bool ends(const struct cosma_model *model, uint32_t x, uint32_t v)
{
	cosma_for_each(k, model->consumers, x) {
		uint32_t user = model->consumers.item[k];

		if (user != v && !cosma_before(model, user, v))
			return false;
	}
	return true;
}

/* Whether nothing is left of what @x became once number @i of the reach has run. */
static bool is_closed(const struct cosma_model *model, uint32_t x, const struct reach *reach,
		      uint32_t i)
{
	if (!ends(model, x, reach->op[i]))
		return false;
	for (uint32_t k = 0; k < i; k++) {
		uint32_t v = reach->op[k];

		cosma_for_each(j, model->outputs, v)
			if (!ends(model, model->outputs.item[j], reach->op[i]))
				return false;
	}
	return true;
}

/*
 * Follow @x from operator to operator, the first of which comes first in every
 * order: until the last one runs some tensor of a path from @x to it is alive, and
 * so many bytes as its smallest has.
 */
static uint32_t find_closing(const struct cosma_model *model, uint32_t x)
{
	struct reach reach = { .count = 0 };

	cosma_for_each(k, model->consumers, x)
		if (!reach_add(&reach, model->consumers.item[k], model->size[x]))
			return NPUMEM_NONE;
	for (uint32_t i = 0; i < reach.count; i++) {
		uint32_t v = reach.op[i];

		if (model->born[v] <= reach.width[i] && model->follower[v] == NPUMEM_NONE &&
		    is_closed(model, x, &reach, i))
			return v;
		cosma_for_each(k, model->outputs, v) {
			uint32_t y = model->outputs.item[k];
			int64_t width = model->size[y];

			/* An output goes for nothing, as what is to take its place may not. */
			if (model->flags[y] & COSMA_OUTPUT)
				continue;
			width = width < reach.width[i] ? width : reach.width[i];
			cosma_for_each(j, model->consumers, y)
				if (!reach_add(&reach, model->consumers.item[j], width))
					return NPUMEM_NONE;
		}
	}
	return NPUMEM_NONE;
}

/*
 * Whether @v loses nothing by waiting until right before its only user @w. What
 * came of it then takes no room in the meantime; its inputs take no more, whatever
 * else becomes of them. And while it runs, they need no more room than what @w makes
 * besides what makes room for that; of its own inputs only those that nobody else uses
 * are sure to make room.
 */
static bool follows(const struct cosma_model *model, uint32_t v, uint32_t w)
{
	int64_t loads = model->work[v], stores = model->staged[v] ? 0 : model->work[v];
	int64_t after = model->need[w], made = 0;
	uint32_t y = model->outputs.item[model->outputs.first[v]];

	if (model->flags[y] & COSMA_OUTPUT)
		return false;
	cosma_for_each(k, model->inputs, v) {
		uint32_t x = model->inputs.item[k];
		bool sole = cosma_users(model, x) == 1;

		loads += model->size[x];
		stores += sole && cosma_makes_room(model, v, k) ? 0 : model->size[x];
		made += model->size[x];
	}
	cosma_for_each(k, model->inputs, w)
		after -= model->size[model->inputs.item[k]];
	return made <= model->size[y] && stores <= after && loads - model->size[y] <= after;
}

/* Followers; of several that may lead the same operator, the one with the largest output. */
static void find_followers(struct cosma_model *model)
{
	for (uint32_t v = 0; v < model->op_count; v++) {
		model->follower[v] = NPUMEM_NONE;
		model->leader[v] = NPUMEM_NONE;
	}
	for (uint32_t v = 0; v < model->op_count; v++) {
		uint32_t first = model->outputs.first[v], y = model->outputs.item[first], w;

		if (model->outputs.first[v + 1] - first != 1 ||
		    model->after.first[v + 1] - model->after.first[v] != 1 ||
		    cosma_users(model, y) != 1)
			continue;
		w = model->consumers.item[model->consumers.first[y]];
		if (model->after.item[model->after.first[v]] != w || !follows(model, v, w))
			continue;
		if (model->leader[w] != NPUMEM_NONE) {
			uint32_t other = model->leader[w];

			if (model->size[model->outputs.item[model->outputs.first[other]]] >=
			    model->size[y])
				continue;
			model->follower[other] = NPUMEM_NONE;
		}
		model->follower[v] = w;
		model->leader[w] = v;
	}
}

void cosma_model_chains(struct cosma_model *model)
{
	find_followers(model);
	for (uint32_t x = 0; x < model->tensor_count; x++)
		model->closing[x] = find_closing(model, x);
}
