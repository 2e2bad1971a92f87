// SPDX-License-Identifier: MIT
/*
 * This file finds deferred tensors: those that need not be kept over a critical operator, because
 * operators that use them may run before it. But what those make has to be kept then, or what is
 * made of that. If in every order a route of tensors leads from one that is produced before the
 * operator to a use behind it, then a tensor of the route is there while the operator runs, on chip
 * or away: as many bytes as the smallest of the route has are kept at least.
 */
#include <stdlib.h>
#include <string.h>

#include "planners/cosma/model/reach.h"
#include "critical.h"

/* Limit of the pairs of tensor and operator that are looked at. */
#define MAX_TRIES 4000000ull

static bool is_apart(const struct cosma_model *model, uint32_t u, uint32_t v)
{
	return u != v && !cosma_before(model, u, v) && !cosma_before(model, v, u);
}

/*
 * Finds the widest route of tensor @x around operator @u to a use behind it; the width is 0 if
 * there is none. @reach: out: routes to operators that may run before @u or after it. A route for
 * which there is no room is left out: the route may then be narrower than it could be, which is no
 * error.
 */
static struct cosma_route find_route(const struct cosma_model *model, uint32_t x, uint32_t u,
				     struct cosma_reach *reach)
{
	struct cosma_route best = { 0 };

	reach->count = 0;
	cosma_for_each(k, model->consumers, x) {
		uint32_t v = model->consumers.item[k];

		if (is_apart(model, u, v))
			cosma_reach_add(reach, (struct cosma_route){ v, v, x, model->size[x] });
	}
	for (uint32_t i = 0; i < reach->count; i++) {
		uint32_t v = reach->route[i].op;

		cosma_for_each(k, model->outputs, v) {
			struct cosma_route route = reach->route[i];

			route.via = model->outputs.item[k];
			/* An output leaves for nothing. */
			if (model->flags[route.via] & COSMA_OUTPUT)
				continue;
			if (model->size[route.via] < route.width)
				route.width = model->size[route.via];
			cosma_for_each(j, model->consumers, route.via) {
				route.op = model->consumers.item[j];
				if (is_apart(model, u, route.op))
					cosma_reach_add(reach, route);
				else if (cosma_before(model, u, route.op) &&
					 route.width > best.width)
					best = route;
			}
		}
	}
	return best;
}

/*
 * Whether tensor @x is there, or away, before @u in every order, while @u does not touch it and no
 * use of it is behind @u in every order.
 */
static bool is_candidate(const struct cosma_model *model, uint32_t x, uint32_t u)
{
	bool apart = false;

	cosma_for_each(k, model->consumers, x) {
		uint32_t user = model->consumers.item[k];

		if (user == u || cosma_before(model, u, user))
			return false;
		apart |= !cosma_before(model, user, u);
	}
	return apart && cosma_exists_before(model, x, u);
}

static bool is_member(const struct cosma_critical *critical, uint32_t x)
{
	for (uint32_t k = 0; k < critical->member_count; k++)
		if (critical->member[k].tensor == x && critical->member[k].first == NPUMEM_NONE)
			return true;
	return false;
}

/*
 * Whether being away over @critical for the sake of the route is never the same as being away over
 * an operator of another group. It ends with the route at the latest. A tensor of the route is not
 * made before an operator that comes before this one, so that of those only @x matters.
 */
static bool is_separate(const struct cosma_bounds *bounds, const struct cosma_critical *critical,
			uint32_t x, const struct cosma_route *route)
{
	const struct cosma_model *model = bounds->model;

	for (uint32_t i = 0; i < bounds->critical_count; i++) {
		const struct cosma_critical *other = &bounds->critical[i];

		if (other->group == NPUMEM_NONE || other->group == critical->group)
			continue;
		if (cosma_before(model, critical->op, other->op)) {
			if (route->op != other->op && !cosma_before(model, route->op, other->op))
				return false;
		} else if (!cosma_before(model, other->op, critical->op)) {
			return false;
		} else if (is_member(other, x) &&
			   !cosma_used_between(model, x, other->op, critical->op)) {
			return false;
		}
	}
	return true;
}

/* Lists the tensors of the route but @x itself in @tensor, and returns how many; 0: not known. */
static uint32_t list_route(const struct cosma_model *model, const struct cosma_reach *reach,
			   const struct cosma_route *route, uint32_t x,
			   uint32_t tensor[COSMA_REACH + 1])
{
	uint32_t count = 0;

	for (uint32_t y = route->via; y != x && count <= COSMA_REACH;) {
		uint32_t at = 0;

		tensor[count++] = y;
		while (at < reach->count && reach->route[at].op != model->producer[y])
			at++;
		if (at == reach->count)
			return 0;
		y = reach->route[at].via;
	}
	return count;
}

/*
 * Whether no tensor of the route is on another route that counts over this operator: the same bytes
 * would be counted twice. @on_route: per tensor, the number of the operator over which a route with
 * it counts, plus one.
 */
static bool is_disjoint(const uint32_t *tensor, uint32_t count, uint32_t *on_route, uint32_t number)
{
	for (uint32_t i = 0; i < count; i++)
		if (on_route[tensor[i]] == number + 1)
			return false;
	for (uint32_t i = 0; i < count; i++)
		on_route[tensor[i]] = number + 1;
	return count;
}

/*
 * Whether the first spill of whatever is away may be charged here, too, because nobody else charges
 * that of a tensor of the route. @claimed: per tensor, the deferred tensor whose route it is on.
 * @grouped: per tensor: it is itself kept over an operator of some group.
 */
static bool may_charge(const uint32_t *tensor, uint32_t count, uint32_t x, uint32_t *claimed,
		       const bool *grouped)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t y = tensor[i];

		if ((claimed[y] != NPUMEM_NONE && claimed[y] != x) || grouped[y])
			return false;
	}
	for (uint32_t i = 0; i < count; i++)
		claimed[tensor[i]] = x;
	return true;
}

static int add(struct cosma_critical *critical, uint32_t x, const struct cosma_route *route,
	       bool charge)
{
	struct cosma_member member = {
		.tensor = x,
		.first = route->first,
		.bytes = route->width,
		.price = charge ? 2 : 1,
	};

	critical->excess += route->width;
	return npuplan_append(&critical->member, &critical->member_count, &member, 1);
}

int cosma_critical_defer(struct cosma_bounds *bounds)
{
	const struct cosma_model *model = bounds->model;
	struct npuplan_pool pool = { 0 };
	uint32_t *claimed = npuplan_pool_take(&pool, model->tensor_count, sizeof(*claimed));
	uint32_t *on_route = npuplan_pool_take(&pool, model->tensor_count, sizeof(*on_route));
	bool *grouped = npuplan_pool_take(&pool, model->tensor_count, sizeof(*grouped));
	uint64_t tries = 0;
	int err = pool.failed ? -ENOMEM : 0;

	for (uint32_t x = 0; x < model->tensor_count && !err; x++)
		claimed[x] = NPUMEM_NONE;
	for (uint32_t i = 0; i < bounds->critical_count && !err; i++)
		for (uint32_t k = 0; k < bounds->critical[i].member_count; k++)
			grouped[bounds->critical[i].member[k].tensor] |=
				bounds->critical[i].group != NPUMEM_NONE;
	for (uint32_t i = 0; i < bounds->critical_count; i++) {
		struct cosma_critical *critical = &bounds->critical[i];

		if (critical->group == NPUMEM_NONE)
			continue;
		for (uint32_t x = 0; x < model->tensor_count && tries < MAX_TRIES && !err; x++) {
			uint32_t tensor[COSMA_REACH + 1], count;
			struct cosma_reach reach;
			struct cosma_route route;

			tries++;
			if (!is_candidate(model, x, critical->op))
				continue;
			tries += COSMA_REACH;
			route = find_route(model, x, critical->op, &reach);
			if (!route.width || !is_separate(bounds, critical, x, &route))
				continue;
			count = list_route(model, &reach, &route, x, tensor);
			if (!is_disjoint(tensor, count, on_route, i))
				continue;
			err = add(critical, x, &route,
				  may_charge(tensor, count, x, claimed, grouped));
		}
	}
	bounds->work += tries;
	npuplan_pool_free(&pool);
	return err;
}
