// SPDX-License-Identifier: MIT
#include "alive.h"

#include <errno.h>

#include "base/heap.h"

int npuplan_alive_init(struct npuplan_alive *alive, const struct npuplan_sections *sections,
		       uint32_t count, struct npuplan_pool *pool)
{
	AUTO_HEAP uint64_t *keys = npuplan_malloc((size_t)count * sizeof(*keys) + 1);

	*alive = (struct npuplan_alive){ .sections = sections, .count = count, .width = 1 };
	while (alive->width < count)
		alive->width *= 2;
	alive->order = npuplan_pool_take(pool, count, sizeof(*alive->order));
	alive->last_end = npuplan_pool_take(pool, 2 * alive->width, sizeof(*alive->last_end));
	if (!keys || pool->failed)
		return -ENOMEM;
	/* Items are sorted by first section, then by number. */
	for (uint32_t i = 0; i < count; i++)
		keys[i] = (uint64_t)sections->first[i] << 32 | i;
	npuplan_sort_once(keys, count);
	for (uint32_t i = 0; i < count; i++) {
		alive->order[i] = (uint32_t)keys[i];
		alive->last_end[alive->width + i] = sections->end[alive->order[i]];
	}
	for (size_t i = alive->width - 1; i > 0; i--) {
		uint32_t left = alive->last_end[2 * i], right = alive->last_end[2 * i + 1];

		alive->last_end[i] = left > right ? left : right;
	}
	return 0;
}

uint32_t npuplan_alive_in(const struct npuplan_alive *alive, uint32_t first, uint32_t end,
			  uint32_t *found, uint64_t *work)
{
	uint32_t count = 0;
	size_t node = 1;

	/* Go through the leaves in order, and skip subtrees whose items all end before @first. */
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

void npuplan_high_set(struct npuplan_high *set, uint32_t item, bool high)
{
	uint32_t where = set->where[item], last;

	if (high == (where != 0))
		return;
	if (high) {
		set->items[set->count++] = item;
		set->where[item] = set->count;
		return;
	}
	last = set->items[--set->count];
	set->items[where - 1] = last;
	set->where[last] = where;
	set->where[item] = 0;
}
