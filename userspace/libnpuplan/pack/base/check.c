// SPDX-License-Identifier: MIT
/* Checks that a packing is valid. This knows nothing of how packings are found. */
#include <string.h>

#include "call.h"
#include "sections.h"
#include "sized.h"

/*
 * Go through time, and check that each living item ends below where the next one above it begins.
 */
static int sweep(const struct npuplan_item *items, uint32_t count, const uint64_t *offsets,
		 uint32_t clash[2])
{
	AUTO_POOL struct npuplan_pool pool = { 0 };
	struct npuplan_keyed *events = npuplan_pool_take(&pool, 2 * (size_t)count, sizeof(*events));
	uint32_t *live = npuplan_pool_take(&pool, count, sizeof(*live));
	size_t lives = 0;

	if (pool.failed)
		return -ENOMEM;
	npuplan_list_events(items, count, events);
	for (size_t e = 0; e < 2 * (size_t)count; e++) {
		uint32_t item = events[e].item;
		size_t at = npuplan_bisect(i, 0, lives, offsets[live[i]] < offsets[item]);

		if (events[e].key & 1) {
			memmove(&live[at], &live[at + 1], (--lives - at) * sizeof(*live));
			continue;
		}
		clash[1] = item;
		if (at && offsets[live[at - 1]] + items[live[at - 1]].size > offsets[item]) {
			clash[0] = live[at - 1];
			return -EINVAL;
		}
		if (at < lives && offsets[live[at]] < offsets[item] + items[item].size) {
			clash[0] = live[at];
			return -EINVAL;
		}
		memmove(&live[at + 1], &live[at], (lives++ - at) * sizeof(*live));
		live[at] = item;
	}
	return 0;
}

static int check_listed(const struct npuplan_conflicts *c, const uint64_t *offsets,
			uint32_t clash[2])
{
	for (uint32_t i = 0; i < c->item_count; i++) {
		for (size_t p = c->peer_start[i]; p < c->peer_start[i + 1]; p++) {
			uint32_t peer = c->peers[p].item;
			int64_t d = (int64_t)(offsets[i] - offsets[peer]);

			if (npuplan_is_forbidden(c, i, &c->peers[p], d)) {
				clash[0] = peer;
				clash[1] = i;
				return -EINVAL;
			}
		}
	}
	return 0;
}

int npuplan_pack_check_sized(const struct npuplan_pack_problem *given, size_t given_size,
			     const uint64_t *offsets, uint64_t *top, struct npuplan_error *error)
{
	struct npuplan_pack_problem problem;
	uint32_t clash[2] = { 0, 0 };
	uint64_t end = 0;
	int err;

	if (!sized_take(&problem, sizeof(problem), given, given_size))
		return npuplan_fail_later(error, "packings");
	for (uint32_t i = 0; i < problem.item_count; i++) {
		const struct npuplan_item *item = &problem.items[i];
		uint32_t align = item->align > problem.alignment ? item->align : problem.alignment;

		if (item->fixed && offsets[i] != item->fixed_offset)
			return npuplan_fail(error, -EINVAL, "item %u is at %llu, but fixed at %llu",
					    i, (unsigned long long)offsets[i],
					    (unsigned long long)item->fixed_offset);
		if (align && offsets[i] % align)
			return npuplan_fail(error, -EINVAL,
					    "item %u is at %llu, which is not a multiple of %u", i,
					    (unsigned long long)offsets[i], align);
		if (offsets[i] + item->size > end)
			end = offsets[i] + item->size;
	}
	if (top)
		*top = end;
	err = problem.conflicts ? check_listed(problem.conflicts, offsets, clash) :
				  sweep(problem.items, problem.item_count, offsets, clash);
	if (err == -EINVAL)
		return npuplan_fail(error, err, "items %u at %llu and %u at %llu collide", clash[0],
				    (unsigned long long)offsets[clash[0]], clash[1],
				    (unsigned long long)offsets[clash[1]]);
	return err ? npuplan_fail(error, err, "%s", strerror(-err)) : 0;
}
