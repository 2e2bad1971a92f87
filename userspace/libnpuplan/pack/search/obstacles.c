// SPDX-License-Identifier: MIT
#include "obstacles.h"

#include <stdlib.h>
#include <string.h>

/* struct fixed - an item and where it is, for sorting */
struct fixed {
	int64_t low;
	uint32_t item;
};

static int by_low(const void *left, const void *right)
{
	const struct fixed *a = left, *b = right;

	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	return a->item < b->item ? -1 : a->item > b->item;
}

static int push(struct npuplan_obstacles *obstacles, int64_t low, int64_t high)
{
	int err = npuplan_reserve(&obstacles->spans, &obstacles->capacity, obstacles->span_count,
				  64, sizeof(*obstacles->spans));

	if (err)
		return err;
	obstacles->spans[obstacles->span_count++] =
		(struct npuplan_obstacle){ .low = low, .high = high };
	return 0;
}

/* Merge what has been pushed since @begin, in ascending order. */
static void merge(struct npuplan_obstacles *obstacles, size_t begin)
{
	struct npuplan_obstacle *spans = obstacles->spans;
	size_t end = begin;
	int64_t above = 0;

	for (size_t i = begin; i < obstacles->span_count; i++) {
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

/* Fixed items, by address. */
static int sort_fixed(const struct npuplan_units *units, struct fixed **out, size_t *count)
{
	uint32_t n = units->problem->item_count;
	struct fixed *fixed = npuplan_malloc((size_t)n * sizeof(*fixed) + 1);

	if (!fixed)
		return -ENOMEM;
	*count = 0;
	for (uint32_t i = 0; i < n; i++)
		if (units->fixed[i] >= 0)
			fixed[(*count)++] = (struct fixed){ units->fixed[i], i };
	qsort(fixed, *count, sizeof(*fixed), by_low);
	*out = fixed;
	return 0;
}

/* What is taken, at one time or another, in sections [first, end). */
static int list(struct npuplan_obstacles *obstacles, const struct npuplan_units *units,
		const struct fixed *fixed, size_t count, uint32_t first, uint32_t end)
{
	const struct npuplan_sections *sections = &units->sections;
	size_t begin = obstacles->span_count;
	int err = 0;

	for (size_t k = 0; k < count && !err; k++) {
		uint32_t item = fixed[k].item;

		if (sections->first[item] < end && first < sections->end[item])
			err = push(obstacles, fixed[k].low, fixed[k].low + units->size[item]);
	}
	merge(obstacles, begin);
	return err;
}

static int list_all(struct npuplan_obstacles *obstacles, const struct npuplan_units *units,
		    const struct fixed *fixed, size_t count)
{
	const struct npuplan_sections *sections = &units->sections;
	uint32_t n = units->problem->item_count;
	int err = 0;

	for (uint32_t s = 0; s < sections->count && !err; s++) {
		obstacles->of_section[s] = obstacles->span_count;
		err = list(obstacles, units, fixed, count, s, s + 1);
	}
	obstacles->of_section[sections->count] = obstacles->span_count;
	for (uint32_t i = 0; i < n && !err; i++) {
		obstacles->of_item[i] = obstacles->span_count;
		if (units->fixed[i] < 0)
			err = list(obstacles, units, fixed, count, sections->first[i],
				   sections->end[i]);
	}
	obstacles->of_item[n] = obstacles->span_count;
	obstacles->work = count * (sections->count + (uint64_t)n);
	return err;
}

int npuplan_obstacles_init(struct npuplan_obstacles *obstacles, const struct npuplan_units *units)
{
	size_t n = units->problem->item_count, count = 0;
	struct fixed *fixed = NULL;
	int err;

	*obstacles = (struct npuplan_obstacles){ 0 };
	err = sort_fixed(units, &fixed, &count);
	obstacles->any = count;
	if (!err && count) {
		obstacles->of_section = npuplan_malloc(((size_t)units->sections.count + 1) *
						       sizeof(*obstacles->of_section));
		obstacles->of_item = npuplan_malloc((n + 1) * sizeof(*obstacles->of_item));
		err = obstacles->of_section && obstacles->of_item ?
			      list_all(obstacles, units, fixed, count) :
			      -ENOMEM;
	}
	npuplan_free(fixed);
	if (err)
		npuplan_obstacles_fini(obstacles);
	return err;
}

void npuplan_obstacles_fini(struct npuplan_obstacles *obstacles)
{
	npuplan_free_all(obstacles->spans, obstacles->of_section, obstacles->of_item);
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
