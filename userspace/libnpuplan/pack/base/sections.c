// SPDX-License-Identifier: MIT
#include "sections.h"

#include <errno.h>
#include <stdlib.h>

#include "base/heap.h"

static int by_value(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* How many of the sorted @values are no greater than @value. */
static uint32_t rank_of(const uint32_t *values, uint32_t count, uint32_t value)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (values[middle] <= value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Between two starts nobody comes, so there is one candidate a distinct start:
 * all that live then. It is maximal if somebody leaves before the next start.
 */
int npuplan_sections_init(struct npuplan_sections *sections, const struct npuplan_item *items,
			  uint32_t count)
{
	size_t n = count;
	uint32_t *starts = npuplan_malloc(n * sizeof(*starts) + 1);
	uint32_t *kept = npuplan_calloc(n + 2, sizeof(*kept));
	uint32_t distinct = 0;
	int err = -ENOMEM;

	*sections = (struct npuplan_sections){
		.first = npuplan_malloc(n * sizeof(*sections->first) + 1),
		.end = npuplan_malloc(n * sizeof(*sections->end) + 1),
	};
	if (!starts || !kept || !sections->first || !sections->end)
		goto out;
	for (uint32_t i = 0; i < count; i++)
		starts[i] = items[i].start;
	if (count)
		qsort(starts, n, sizeof(*starts), by_value);
	for (uint32_t i = 0; i < count; i++)
		if (!distinct || starts[distinct - 1] != starts[i])
			starts[distinct++] = starts[i];
	for (uint32_t i = 0; i < count; i++) {
		sections->first[i] = rank_of(starts, distinct, items[i].start) - 1;
		sections->end[i] = rank_of(starts, distinct, items[i].end);
		kept[sections->end[i]] = 1;
	}
	/* kept[t]: how many of the candidates before start t are kept. */
	for (uint32_t t = 1; t <= distinct; t++)
		kept[t] += kept[t - 1];
	sections->count = kept[distinct];
	for (uint32_t i = 0; i < count; i++) {
		sections->first[i] = kept[sections->first[i]];
		sections->end[i] = kept[sections->end[i]];
		sections->memberships += sections->end[i] - sections->first[i];
	}
	err = 0;
out:
	npuplan_free(starts);
	npuplan_free(kept);
	if (err)
		npuplan_sections_fini(sections);
	return err;
}

void npuplan_sections_fini(struct npuplan_sections *sections)
{
	npuplan_free(sections->first);
	npuplan_free(sections->end);
	*sections = (struct npuplan_sections){ 0 };
}
