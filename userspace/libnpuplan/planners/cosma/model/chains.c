// SPDX-License-Identifier: MIT
/*
 * This file finds operators that may run in one go, whatever else there is to run: chains of
 * operators that follow each other, and closing operators of tensors.
 */
#include "reach.h"

bool cosma_reach_add(struct cosma_reach *reach, struct cosma_route route)
{
	uint32_t at = reach->count;

	for (uint32_t i = 0; i < reach->count; i++)
		if (reach->route[i].op == route.op) {
			if (route.width > reach->route[i].width)
				reach->route[i] = route;
			return true;
		}
	if (reach->count == COSMA_REACH)
		return false;
	for (; at && reach->route[at - 1].op > route.op; at--)
		reach->route[at] = reach->route[at - 1];
	reach->route[at] = route;
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

/* Whether nothing is left of what @x became once operator number @i of the reach has run. */
static bool is_closed(const struct cosma_model *model, uint32_t x, const struct cosma_reach *reach,
		      uint32_t i)
{
	if (!ends(model, x, reach->route[i].op))
		return false;
	for (uint32_t k = 0; k < i; k++) {
		uint32_t v = reach->route[k].op;

		cosma_for_each(j, model->outputs, v)
			if (!ends(model, model->outputs.item[j], reach->route[i].op))
				return false;
	}
	return true;
}

/*
 * Follows @x from operator to operator, in a topological order. Until the last one runs, some
 * tensor of a path from @x to it is alive: as many bytes as the smallest of the path has, at least.
 */
static uint32_t find_closing(const struct cosma_model *model, uint32_t x)
{
	struct cosma_reach reach = { .count = 0 };

	cosma_for_each(k, model->consumers, x)
		if (!cosma_reach_add(&reach, (struct cosma_route){ .op = model->consumers.item[k],
								   .width = model->size[x] }))
			return NPUMEM_NONE;
	for (uint32_t i = 0; i < reach.count; i++) {
		struct cosma_route route = reach.route[i];
		uint32_t v = route.op;

		if (model->born[v] <= route.width && model->follower[v] == NPUMEM_NONE &&
		    is_closed(model, x, &reach, i))
			return v;
		cosma_for_each(k, model->outputs, v) {
			uint32_t y = model->outputs.item[k];

			/*
			 * An output leaves for nothing, which the tensors that take its place may
			 * not.
			 */
			if (model->flags[y] & COSMA_OUTPUT)
				continue;
			route.width = reach.route[i].width < model->size[y] ? reach.route[i].width :
									      model->size[y];
			cosma_for_each(j, model->consumers, y) {
				route.op = model->consumers.item[j];
				if (!cosma_reach_add(&reach, route))
					return NPUMEM_NONE;
			}
		}
	}
	return NPUMEM_NONE;
}

/*
 * Whether @v loses nothing by waiting until right before its only user @w. Its output then takes no
 * room in the meantime; its inputs take no more room than that, whatever else becomes of them.
 * While @v runs, it needs no more room than @w makes, without what makes room for that. Of @v's own
 * inputs only those that nobody else uses are sure to make room.
 */
static bool follows(const struct cosma_model *model, uint32_t v, uint32_t w)
{
	int64_t stores = model->staged[v] ? 0 : model->workspace[v];
	int64_t after = model->need[w], made = 0;
	uint32_t y = model->outputs.item[model->outputs.first[v]];

	if (model->flags[y] & COSMA_OUTPUT)
		return false;
	cosma_for_each(k, model->inputs, v) {
		uint32_t x = model->inputs.item[k];
		bool sole = cosma_users(model, x) == 1;

		stores += sole && cosma_makes_room(model, v, k) ? 0 : model->size[x];
		made += model->size[x];
	}
	cosma_for_each(k, model->inputs, w)
		after -= model->size[model->inputs.item[k]];
	return made <= model->size[y] && stores <= after &&
	       model->workspace[v] + made - model->size[y] <= after;
}

/*
 * Finds each operator's follower. Of several operators that may lead the same one, it is the one
 * with the largest output.
 */
static void find_followers(struct cosma_model *model)
{
	for (uint32_t v = 0; v < model->op_count; v++) {
		model->follower[v] = NPUMEM_NONE;
		model->leader[v] = NPUMEM_NONE;
	}
	for (uint32_t v = 0; v < model->op_count; v++) {
		uint32_t first = model->outputs.first[v], y, w;

		if (model->outputs.first[v + 1] - first != 1 ||
		    model->after.first[v + 1] - model->after.first[v] != 1)
			continue;
		y = model->outputs.item[first];
		if (cosma_users(model, y) != 1)
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
