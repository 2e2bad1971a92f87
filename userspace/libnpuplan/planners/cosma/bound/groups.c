// SPDX-License-Identifier: MIT
/* This file puts critical operators into groups whose prices may be added up. */
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "critical.h"

/* Limit of the comparisons of members; critical operators that come later are in no group. */
#define MAX_WORK 50000000ull

bool cosma_used_between(const struct cosma_model *model, uint32_t x, uint32_t first, uint32_t last)
{
	cosma_for_each(k, model->consumers, x) {
		uint32_t user = model->consumers.item[k];

		if (cosma_before(model, first, user) && cosma_before(model, user, last))
			return true;
	}
	return false;
}

/* Whether a tensor that is away once may be away over both. */
static bool share(const struct cosma_model *model, const struct cosma_critical *a,
		  const struct cosma_critical *b)
{
	/* The numbers of operators are a topological order. */
	uint32_t first = a->op < b->op ? a->op : b->op, last = a->op < b->op ? b->op : a->op;

	for (uint32_t i = 0, k = 0; i < a->member_count && k < b->member_count;) {
		uint32_t x = a->member[i].tensor, y = b->member[k].tensor;

		if (x == y && (!cosma_before(model, first, last) ||
			       !cosma_used_between(model, x, first, last)))
			return true;
		i += x <= y;
		k += y <= x;
	}
	return false;
}

/*
 * Returns the only group whose operators share with this one; NPUMEM_NONE: it begins a new group;
 * -1: there are several.
 */
static int64_t group_for(struct cosma_bounds *bounds, uint32_t i, const struct npuplan_keyed *order,
			 uint32_t before)
{
	const struct cosma_critical *critical = &bounds->critical[i];
	int64_t group = NPUMEM_NONE;

	for (uint32_t k = 0; k < before; k++) {
		const struct cosma_critical *other = &bounds->critical[order[k].item];

		if (other->group == NPUMEM_NONE || other->group == group)
			continue;
		bounds->work += critical->member_count + other->member_count + 1;
		if (!share(bounds->model, critical, other))
			continue;
		if (group != NPUMEM_NONE)
			return -1;
		group = other->group;
	}
	return group;
}

/* The first spill of each tensor goes to the group of the first operator that it is a member of. */
int cosma_critical_charge(struct cosma_bounds *bounds)
{
	const struct cosma_model *model = bounds->model;
	uint32_t tensors = model->tensor_count;
	uint32_t *owner = npuplan_pool_take(&bounds->pool, tensors, sizeof(*owner));

	bounds->charged = npuplan_pool_take(&bounds->pool, tensors, sizeof(*bounds->charged));
	if (bounds->pool.failed)
		return -ENOMEM;
	for (uint32_t x = 0; x < tensors; x++)
		owner[x] = NPUMEM_NONE;
	for (uint32_t i = 0; i < bounds->critical_count; i++) {
		struct cosma_critical *critical = &bounds->critical[i];

		for (uint32_t k = 0; k < critical->member_count; k++) {
			struct cosma_member *member = &critical->member[k];
			uint32_t x = member->tensor;
			bool has_copy = model->flags[x] & COSMA_COPIED;

			/* A deferred member may have been told not to charge a spill. */
			if (member->first != NPUMEM_NONE && member->price == 1)
				has_copy = true;
			member->price = 1;
			if (critical->group == NPUMEM_NONE)
				continue;
			bounds->charged[x] = true;
			if (owner[x] == NPUMEM_NONE)
				owner[x] = critical->group;
			if (owner[x] == critical->group && !has_copy)
				member->price = 2;
		}
	}
	return 0;
}

int cosma_critical_group(struct cosma_bounds *bounds)
{
	AUTO_HEAP struct npuplan_keyed *order =
		npuplan_malloc((bounds->critical_count + 1) * sizeof(*order));
	uint64_t limit = bounds->work + MAX_WORK;
	uint32_t count = 0;

	if (!order)
		return -ENOMEM;
	/* The operators are taken by falling excess. */
	for (uint32_t i = 0; i < bounds->critical_count; i++)
		if (bounds->critical[i].excess > 0)
			order[count++] = (struct npuplan_keyed){
				.key = ~(uint64_t)bounds->critical[i].excess,
				.item = i,
			};
	npuplan_sort_keyed(order, count);
	for (uint32_t n = 0; n < count && bounds->work < limit; n++) {
		int64_t group = group_for(bounds, order[n].item, order, n);

		if (group < 0)
			continue;
		bounds->critical[order[n].item].group =
			group == NPUMEM_NONE ? bounds->group_count++ : (uint32_t)group;
	}
	return 0;
}
