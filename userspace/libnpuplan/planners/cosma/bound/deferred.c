// SPDX-License-Identifier: MIT
/*
 * Tensors that need not be kept over a critical operator, because a user of theirs may
 * run before it; but what that makes has to be kept then, or what is made of that. If
 * there is a path of tensors from one that is produced before the operator to a use
 * behind it, in every order, then one of the path is there while it runs, on chip or
 * away, and so are as many bytes as the smallest of them has.
 */
#include <stdlib.h>
#include <string.h>

#include "critical.h"

/* Operators of the paths from a tensor, and pairs of tensor and operator, at most. */
#define MAX_REACH 32
#define MAX_TRIES 4000000ull

/**
 * struct path - from a tensor to a use behind the critical operator
 * @width: of its smallest tensor; 0: there is none
 * @first: operator that uses the tensor; @end: the use behind
 */
struct path {
	int64_t width;
	uint32_t first;
	uint32_t end;
};

/**
 * struct reach - operators on the way, in no order with the critical one; ascending
 * @via: per operator, the tensor of the path that it uses; @end has it for the end
 */
struct reach {
	uint32_t op[MAX_REACH];
	uint32_t via[MAX_REACH];
	struct path path[MAX_REACH];
	uint32_t count;
	uint32_t end;
};

/* What does not fit is left out: there may be a wider path, which nobody needs. */
static void reach_add(struct reach *reach, uint32_t v, uint32_t via, struct path path)
{
	uint32_t at = reach->count;

	for (uint32_t i = 0; i < reach->count; i++)
		if (reach->op[i] == v) {
			if (path.width > reach->path[i].width) {
				reach->path[i] = path;
				reach->via[i] = via;
			}
			return;
		}
	if (reach->count == MAX_REACH)
		return;
	for (; at && reach->op[at - 1] > v; at--) {
		reach->op[at] = reach->op[at - 1];
		reach->via[at] = reach->via[at - 1];
		reach->path[at] = reach->path[at - 1];
	}
	reach->op[at] = v;
	reach->via[at] = via;
	reach->path[at] = path;
	reach->count++;
}

static bool is_apart(const struct cosma_model *model, uint32_t u, uint32_t v)
{
	return u != v && !cosma_before(model, u, v) && !cosma_before(model, v, u);
}

/* The widest path of @x around operator @u. */
static struct path find_path(const struct cosma_model *model, uint32_t x, uint32_t u,
			     struct reach *reach)
{
	struct path best = { 0 };

	reach->count = 0;
	cosma_for_each(k, model->consumers, x) {
		uint32_t v = model->consumers.item[k];

		if (is_apart(model, u, v))
			reach_add(reach, v, x, (struct path){ model->size[x], v, v });
	}
	for (uint32_t i = 0; i < reach->count; i++) {
		uint32_t v = reach->op[i];

		cosma_for_each(k, model->outputs, v) {
			uint32_t y = model->outputs.item[k];
			struct path path = reach->path[i];

			/* An output leaves for nothing. */
			if (model->flags[y] & COSMA_OUTPUT)
				continue;
			path.width = model->size[y] < path.width ? model->size[y] : path.width;
			cosma_for_each(j, model->consumers, y) {
				path.end = model->consumers.item[j];
				if (is_apart(model, u, path.end))
					reach_add(reach, path.end, y, path);
				else if (cosma_before(model, u, path.end) &&
					 path.width > best.width) {
					best = path;
					reach->end = y;
				}
			}
		}
	}
	return best;
}

/* Whether @x is there, or away, before @u in every order; touched by it or used behind: no. */
static bool is_candidate(const struct cosma_model *model, uint32_t x, uint32_t u)
{
	uint32_t from = model->producer[x];
	bool before = from == NPUMEM_NONE ? model->flags[x] & COSMA_ENTRY :
					    cosma_before(model, from, u);
	bool apart = false;

	cosma_for_each(k, model->consumers, x) {
		uint32_t user = model->consumers.item[k];

		if (user == u || cosma_before(model, u, user))
			return false;
		before |= from == NPUMEM_NONE && cosma_before(model, user, u);
		apart |= !cosma_before(model, user, u);
	}
	return before && apart;
}

static bool is_member(const struct cosma_critical *critical, uint32_t x)
{
	for (uint32_t k = 0; k < critical->member_count; k++)
		if (critical->member[k].tensor == x && critical->member[k].first == NPUMEM_NONE)
			return true;
	return false;
}

/*
 * Whether no stay away that counts over @critical for the path may count over one of
 * another group: it ends with the path at the latest. A tensor of the path is not made
 * before an operator that comes before this one, so of those only @x is of concern.
 */
static bool is_separate(const struct cosma_bounds *bounds, const struct cosma_critical *critical,
			uint32_t x, const struct path *path)
{
	const struct cosma_model *model = bounds->model;

	for (uint32_t i = 0; i < bounds->critical_count; i++) {
		const struct cosma_critical *other = &bounds->critical[i];

		if (other->group == NPUMEM_NONE || other->group == critical->group)
			continue;
		if (cosma_before(model, critical->op, other->op)) {
			if (path->end != other->op && !cosma_before(model, path->end, other->op))
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

/* Tensors of the path but @x itself, into @tensor; 0: it is not known. */
static uint32_t list_path(const struct cosma_model *model, const struct reach *reach, uint32_t x,
			  uint32_t tensor[MAX_REACH + 1])
{
	uint32_t count = 0;

	for (uint32_t y = reach->end; y != x && count <= MAX_REACH;) {
		uint32_t at = 0;

		tensor[count++] = y;
		while (at < reach->count && reach->op[at] != model->producer[y])
			at++;
		if (at == reach->count)
			return 0;
		y = reach->via[at];
	}
	return count;
}

/*
 * Whether nothing of the path is on another one that counts over this operator: the same
 * bytes would be counted twice. @on_path: per tensor, number of the operator over which
 * it counts, plus one.
 */
static bool is_disjoint(const uint32_t *tensor, uint32_t count, uint32_t *on_path, uint32_t number)
{
	for (uint32_t i = 0; i < count; i++)
		if (on_path[tensor[i]] == number + 1)
			return false;
	for (uint32_t i = 0; i < count; i++)
		on_path[tensor[i]] = number + 1;
	return count;
}

/*
 * Whether the first spill of whatever is away may be charged here, too: nobody else
 * charges that of a tensor of the path. @claimed: per tensor, whose path it is on.
 */
static bool may_charge(const struct cosma_bounds *bounds, const uint32_t *tensor, uint32_t count,
		       uint32_t x, uint32_t *claimed)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t y = tensor[i];

		if (claimed[y] != NPUMEM_NONE && claimed[y] != x)
			return false;
		cosma_for_each(k, bounds->of_member, y)
			if (bounds->critical[bounds->of_member.item[k]].group != NPUMEM_NONE)
				return false;
	}
	for (uint32_t i = 0; i < count; i++)
		claimed[tensor[i]] = x;
	return true;
}

static int add(struct cosma_bounds *bounds, struct cosma_critical *critical, uint32_t x,
	       const struct path *path, bool charge)
{
	uint32_t count = critical->member_count;
	struct cosma_member *member = realloc(critical->member, (count + 1) * sizeof(*member));

	if (!member)
		return -ENOMEM;
	member[count] = (struct cosma_member){
		.tensor = x,
		.first = path->first,
		.bytes = path->width,
		.unit = charge ? 2 : 1,
	};
	critical->member = member;
	critical->member_count++;
	critical->excess += path->width;
	bounds->bytes += sizeof(*member);
	return 0;
}

int cosma_critical_defer(struct cosma_bounds *bounds)
{
	const struct cosma_model *model = bounds->model;
	struct npuplan_pool pool = { 0 };
	uint32_t *claimed = npuplan_pool_take(&pool, model->tensor_count, sizeof(*claimed));
	uint32_t *on_path = npuplan_pool_take(&pool, model->tensor_count, sizeof(*on_path));
	bool added = false;
	uint64_t tries = 0;
	int err = pool.failed ? -ENOMEM : 0;

	for (uint32_t x = 0; x < model->tensor_count && !err; x++)
		claimed[x] = NPUMEM_NONE;
	for (uint32_t i = 0; i < bounds->critical_count; i++) {
		struct cosma_critical *critical = &bounds->critical[i];

		if (critical->group == NPUMEM_NONE)
			continue;
		for (uint32_t x = 0; x < model->tensor_count && tries < MAX_TRIES && !err; x++) {
			uint32_t tensor[MAX_REACH + 1], count;
			struct reach reach;
			struct path path;

			tries++;
			if (!is_candidate(model, x, critical->op))
				continue;
			tries += MAX_REACH;
			path = find_path(model, x, critical->op, &reach);
			if (!path.width || !is_separate(bounds, critical, x, &path))
				continue;
			count = list_path(model, &reach, x, tensor);
			if (!is_disjoint(tensor, count, on_path, i))
				continue;
			err = add(bounds, critical, x, &path,
				  may_charge(bounds, tensor, count, x, claimed));
			added = true;
		}
	}
	bounds->work += tries;
	npuplan_pool_free(&pool);
	return err || !added ? err : cosma_critical_list(bounds);
}
