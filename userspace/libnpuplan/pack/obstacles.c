// SPDX-License-Identifier: MIT
#include "obstacles.h"

#include <stdlib.h>
#include <string.h>

static int by_low(const void *left, const void *right)
{
	const struct npuplan_obstacle *a = left, *b = right;

	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	return a->high < b->high ? -1 : a->high > b->high;
}

static int push(struct npuplan_obstacles *obstacles, int64_t low, int64_t high)
{
	if (obstacles->span_count == obstacles->capacity) {
		size_t capacity = obstacles->capacity ? 2 * obstacles->capacity : 64;
		void *grown = realloc(obstacles->spans, capacity * sizeof(*obstacles->spans));

		if (!grown)
			return -ENOMEM;
		obstacles->spans = grown;
		obstacles->capacity = capacity;
	}
	obstacles->spans[obstacles->span_count++] =
		(struct npuplan_obstacle){ .low = low, .high = high };
	return 0;
}

/* Merge what has been pushed since @begin. */
static void merge(struct npuplan_obstacles *obstacles, size_t begin)
{
	struct npuplan_obstacle *spans = obstacles->spans;
	size_t end = begin;
	int64_t above = 0;

	if (obstacles->span_count - begin < 2)
		end = obstacles->span_count;
	else
		qsort(spans + begin, obstacles->span_count - begin, sizeof(*spans), by_low);
	for (size_t i = end; i < obstacles->span_count; i++) {
		if (end > begin && spans[i].low <= spans[end - 1].high) {
			if (spans[i].high > spans[end - 1].high)
				spans[end - 1].high = spans[i].high;
		} else {
			spans[end++] = spans[i];
		}
	}
	obstacles->span_count = end;
	while (end-- > begin)
		spans[end].above = above += spans[end].high - spans[end].low;
}

/* Fixed items of each section, one list after the other. */
static int list_sections(struct npuplan_obstacles *obstacles, const struct npuplan_units *units)
{
	const struct npuplan_sections *sections = &units->sections;
	uint32_t n = units->problem->item_count;
	size_t *cursor = calloc((size_t)sections->count + 2, sizeof(*cursor)), total = 0;
	uint32_t *members;
	int err = 0;

	if (!cursor)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t s = sections->first[i]; s < sections->end[i]; s++)
			if (units->fixed[i] >= 0)
				cursor[s + 2]++;
	for (uint32_t s = 0; s < sections->count; s++)
		cursor[s + 2] += cursor[s + 1];
	total = cursor[sections->count + 1];
	members = malloc(total * sizeof(*members) + 1);
	for (uint32_t i = 0; i < n && members; i++)
		for (uint32_t s = sections->first[i]; s < sections->end[i]; s++)
			if (units->fixed[i] >= 0)
				members[cursor[s + 1]++] = i;
	err = members ? 0 : -ENOMEM;
	for (uint32_t s = 0; s < sections->count && !err; s++) {
		obstacles->of_section[s] = obstacles->span_count;
		for (size_t m = cursor[s]; m < cursor[s + 1] && !err; m++)
			err = push(obstacles, units->fixed[members[m]],
				   units->fixed[members[m]] + units->size[members[m]]);
		merge(obstacles, obstacles->of_section[s]);
	}
	obstacles->of_section[sections->count] = obstacles->span_count;
	free(members);
	free(cursor);
	return err;
}

/* What an item meets is what its sections hold, taken together. */
static int list_items(struct npuplan_obstacles *obstacles, const struct npuplan_units *units)
{
	const struct npuplan_sections *sections = &units->sections;
	uint32_t n = units->problem->item_count;
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++) {
		size_t begin = obstacles->of_item[i] = obstacles->span_count;
		size_t to = obstacles->of_section[sections->end[i]];

		for (size_t k = obstacles->of_section[sections->first[i]];
		     units->fixed[i] < 0 && k < to && !err; k++)
			err = push(obstacles, obstacles->spans[k].low, obstacles->spans[k].high);
		merge(obstacles, begin);
	}
	obstacles->of_item[n] = obstacles->span_count;
	return err;
}

int npuplan_obstacles_init(struct npuplan_obstacles *obstacles, const struct npuplan_units *units)
{
	size_t n = units->problem->item_count;
	int err = 0;

	*obstacles = (struct npuplan_obstacles){ 0 };
	for (size_t i = 0; i < n; i++)
		obstacles->any |= units->fixed[i] >= 0;
	if (!obstacles->any)
		return 0;
	obstacles->of_section =
		malloc(((size_t)units->sections.count + 1) * sizeof(*obstacles->of_section));
	obstacles->of_item = malloc((n + 1) * sizeof(*obstacles->of_item));
	if (!obstacles->of_section || !obstacles->of_item)
		err = -ENOMEM;
	if (!err)
		err = list_sections(obstacles, units);
	if (!err)
		err = list_items(obstacles, units);
	if (err)
		npuplan_obstacles_fini(obstacles);
	return err;
}

void npuplan_obstacles_fini(struct npuplan_obstacles *obstacles)
{
	free(obstacles->spans);
	free(obstacles->of_section);
	free(obstacles->of_item);
	*obstacles = (struct npuplan_obstacles){ 0 };
}

/* First of @spans[@low .. @high) that ends above @address. */
static size_t first_above(const struct npuplan_obstacle *spans, size_t low, size_t high,
			  int64_t address)
{
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (spans[middle].high <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int64_t npuplan_obstacles_fit(const struct npuplan_obstacles *obstacles, uint32_t item, int64_t low,
			      int64_t size, int64_t align)
{
	size_t at, end;

	low = (low + align - 1) & -align;
	if (!obstacles->any)
		return low;
	end = obstacles->of_item[item + 1];
	at = first_above(obstacles->spans, obstacles->of_item[item], end, low);
	for (; at < end && obstacles->spans[at].low < low + size; at++)
		if (obstacles->spans[at].high > low)
			low = (obstacles->spans[at].high + align - 1) & -align;
	return low;
}

int64_t npuplan_obstacles_top(const struct npuplan_obstacles *obstacles, uint32_t item, int64_t low)
{
	size_t at, end;

	if (!obstacles->any)
		return INT64_MAX;
	end = obstacles->of_item[item + 1];
	at = first_above(obstacles->spans, obstacles->of_item[item], end, low);
	return at < end ? obstacles->spans[at].high : INT64_MAX;
}

int64_t npuplan_obstacles_above(const struct npuplan_obstacles *obstacles, uint32_t section,
				int64_t floor)
{
	size_t at, end;

	if (!obstacles->any)
		return 0;
	end = obstacles->of_section[section + 1];
	at = first_above(obstacles->spans, obstacles->of_section[section], end, floor);
	if (at == end)
		return 0;
	/* The floor may be in one: of an item that lies here in another section only. */
	return obstacles->spans[at].above -
	       (floor > obstacles->spans[at].low ? floor - obstacles->spans[at].low : 0);
}
