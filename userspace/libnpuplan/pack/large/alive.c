// SPDX-License-Identifier: MIT
#include "alive.h"

#include <errno.h>
#include <stdlib.h>

#include "base/heap.h"

static int by_key(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* By first section, then by number. */
static int sort_items(struct npuplan_alive *alive)
{
	AUTO_HEAP uint64_t *keys = npuplan_malloc((size_t)alive->count * sizeof(*keys) + 1);

	if (!keys)
		return -ENOMEM;
	for (uint32_t i = 0; i < alive->count; i++)
		keys[i] = (uint64_t)alive->sections->first[i] << 32 | i;
	if (alive->count)
		qsort(keys, alive->count, sizeof(*keys), by_key);
	for (uint32_t i = 0; i < alive->count; i++)
		alive->order[i] = (uint32_t)keys[i];
	return 0;
}

int npuplan_alive_init(struct npuplan_alive *alive, const struct npuplan_sections *sections,
		       uint32_t count)
{
	*alive = (struct npuplan_alive){ .sections = sections, .count = count, .width = 1 };
	while (alive->width < count)
		alive->width *= 2;
	alive->order = npuplan_malloc((size_t)count * sizeof(*alive->order) + 1);
	alive->last_end = npuplan_calloc(2 * alive->width, sizeof(*alive->last_end));
	if (!alive->order || !alive->last_end || sort_items(alive)) {
		npuplan_alive_fini(alive);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++)
		alive->last_end[alive->width + i] = sections->end[alive->order[i]];
	for (size_t i = alive->width - 1; i > 0; i--) {
		uint32_t left = alive->last_end[2 * i], right = alive->last_end[2 * i + 1];

		alive->last_end[i] = left > right ? left : right;
	}
	return 0;
}

void npuplan_alive_fini(struct npuplan_alive *alive)
{
	npuplan_free(alive->order);
	npuplan_free(alive->last_end);
	*alive = (struct npuplan_alive){ 0 };
}

uint32_t npuplan_alive_in(const struct npuplan_alive *alive, uint32_t first, uint32_t end,
			  uint32_t *found, uint64_t *work)
{
	uint32_t count = 0;
	size_t node = 1;

	/* In the order of leaves, without subtrees that end before. */
	while (node) {
		if (alive->last_end[node] > first) {
			uint32_t item;

			if (node < alive->width) {
				node *= 2;
				continue;
			}
			if (node - alive->width >= alive->count)
				break;
			item = alive->order[node - alive->width];
			if (alive->sections->first[item] >= end)
				break;
			found[count++] = item;
		}
		++*work;
		while (node & 1)
			node /= 2;
		node += node ? 1 : 0;
	}
	*work += count;
	return count;
}
