// SPDX-License-Identifier: MIT
#include "sections.h"

#include <errno.h>

#include "base/heap.h"
#include "base/pool.h"

/*
 * Between two starts no item begins to live, so each distinct start gives one candidate: all items
 * that live then. It is maximal if one of them ends before the next start.
 */
int npuplan_sections_init(struct npuplan_sections *sections, const struct npuplan_item *items,
			  uint32_t count)
{
	AUTO_POOL struct npuplan_pool pool = { 0 };
	uint64_t *starts = npuplan_pool_take(&pool, count, sizeof(*starts));
	uint32_t *kept = npuplan_pool_take(&pool, (size_t)count + 2, sizeof(*kept));
	uint32_t *first = pool.failed ? NULL :
					npuplan_malloc(2 * (size_t)count * sizeof(*first) + 1);
	uint32_t *end, distinct;

	*sections = (struct npuplan_sections){ 0 };
	if (!first)
		return -ENOMEM;
	end = first + count;
	for (uint32_t i = 0; i < count; i++)
		starts[i] = items[i].start;
	distinct = npuplan_sort_once(starts, count);
	for (uint32_t i = 0; i < count; i++) {
		first[i] = npuplan_bisect(at, 0, distinct, starts[at] < items[i].start);
		end[i] = npuplan_bisect(at, first[i], distinct, starts[at] <= items[i].end);
		kept[end[i]] = 1;
	}
	/* kept[t] becomes the number of candidates before start t that are kept. */
	for (uint32_t t = 1; t <= distinct; t++)
		kept[t] += kept[t - 1];
	*sections = (struct npuplan_sections){ first, end, kept[distinct], 0 };
	for (uint32_t i = 0; i < count; i++) {
		first[i] = kept[first[i]];
		end[i] = kept[end[i]];
		sections->memberships += end[i] - first[i];
	}
	return 0;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * This uses a segment tree of maxima: its leaves are at width + section, and node i is above 2i and
 * 2i + 1.
 */
int npuplan_sections_most(const struct npuplan_sections *sections, uint32_t count, uint64_t *live,
			  uint64_t *most)
{
	size_t width = (size_t)sections->count + 1;
	AUTO_HEAP uint64_t *tree = npuplan_calloc(2 * width, sizeof(*tree));
	uint64_t now = 0;

	if (!tree)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		/* Differences may wrap around below 0; their running sum is never negative. */
		tree[width + sections->first[i]] += live[i];
		tree[width + sections->end[i]] -= live[i];
	}
	for (size_t i = width; i < 2 * width; i++)
		tree[i] = now += tree[i];
	for (size_t i = width - 1; i > 0; i--)
		tree[i] = larger(tree[2 * i], tree[2 * i + 1]);
	*most = 0;
	for (uint32_t i = 0; i < count; i++) {
		size_t low = width + sections->first[i], high = width + sections->end[i];

		for (live[i] = 0; low < high; low /= 2, high /= 2) {
			if (low & 1)
				live[i] = larger(live[i], tree[low++]);
			if (high & 1)
				live[i] = larger(live[i], tree[--high]);
		}
		*most = larger(*most, live[i]);
	}
	return 0;
}

int npuplan_breadths(const struct npuplan_item *items, uint32_t count, uint64_t *breadths,
		     uint64_t *most)
{
	struct npuplan_sections sections;
	int err = npuplan_sections_init(&sections, items, count);

	for (uint32_t i = 0; i < count; i++)
		breadths[i] = items[i].size;
	if (!err)
		err = npuplan_sections_most(&sections, count, breadths, most);
	npuplan_free(sections.first);
	return err;
}

void npuplan_list_events(const struct npuplan_item *items, uint32_t count,
			 struct npuplan_keyed *events)
{
	for (uint32_t i = 0; i < count; i++) {
		events[2 * (size_t)i] = (struct npuplan_keyed){
			.key = 2 * (uint64_t)items[i].start,
			.item = i,
		};
		events[2 * (size_t)i + 1] = (struct npuplan_keyed){
			.key = 2 * (uint64_t)items[i].end + 1,
			.item = i,
		};
	}
	npuplan_sort_keyed(events, 2 * (size_t)count);
}
