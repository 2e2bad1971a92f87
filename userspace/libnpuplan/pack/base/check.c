// SPDX-License-Identifier: MIT
/* Whether a packing is one. Knows nothing of how packings are found. */
#include <stdlib.h>
#include <string.h>

#include "pack/base/run.h"
#include "sized.h"

struct event {
	uint64_t key; /* twice the instant, plus one for an end */
	uint32_t item;
};

static int by_key(const void *left, const void *right)
{
	const struct event *a = left, *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->item < b->item ? -1 : a->item > b->item;
}

/* Number of live items that start below @address. */
static size_t below(const uint32_t *live, size_t count, const uint64_t *offsets, uint64_t address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (offsets[live[middle]] < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Go through time; of those that live, each must end below the next one's start. */
static int sweep(const struct npuplan_item *items, uint32_t count, const uint64_t *offsets,
		 uint32_t clash[2])
{
	AUTO_HEAP struct event *events = npuplan_malloc(2 * (size_t)count * sizeof(*events) + 1);
	uint32_t *live = npuplan_malloc((size_t)count * sizeof(*live) + 1);
	size_t lives = 0;
	int err = events && live ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < count && !err; i++) {
		events[2 * (size_t)i] = (struct event){ 2 * (uint64_t)items[i].start, i };
		events[2 * (size_t)i + 1] = (struct event){ 2 * (uint64_t)items[i].end + 1, i };
	}
	if (!err && count)
		qsort(events, 2 * (size_t)count, sizeof(*events), by_key);
	for (size_t e = 0; e < 2 * (size_t)count && !err; e++) {
		uint32_t item = events[e].item;
		size_t at = below(live, lives, offsets, offsets[item]);

		if (events[e].key & 1) {
			memmove(&live[at], &live[at + 1], (--lives - at) * sizeof(*live));
			continue;
		}
		clash[1] = item;
		if (at && offsets[live[at - 1]] + items[live[at - 1]].size > offsets[item]) {
			clash[0] = live[at - 1];
			err = -EINVAL;
		} else if (at < lives && offsets[live[at]] < offsets[item] + items[item].size) {
			clash[0] = live[at];
			err = -EINVAL;
		}
		memmove(&live[at + 1], &live[at], (lives++ - at) * sizeof(*live));
		live[at] = item;
	}
	npuplan_free(live);
	return err;
}

static int check_listed(const struct npuplan_conflicts *c, const uint64_t *offsets,
			uint32_t clash[2])
{
	for (uint32_t i = 0; i < c->item_count; i++) {
		for (size_t p = c->peer_start[i]; p < c->peer_start[i + 1]; p++) {
			uint32_t peer = c->peers[p].item, count;
			int64_t d = (int64_t)(offsets[i] - offsets[peer]);
			const struct npuplan_interval *forbidden;
			struct npuplan_interval whole;

			forbidden = npuplan_forbidden(c, i, &c->peers[p], &whole, &count);
			for (uint32_t k = 0; k < count; k++) {
				if (d > forbidden[k].low && d < forbidden[k].high) {
					clash[0] = peer;
					clash[1] = i;
					return -EINVAL;
				}
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
