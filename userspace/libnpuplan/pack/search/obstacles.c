// SPDX-License-Identifier: MIT
#include "base/align.h"
#include "obstacles.h"

/*
 * List the obstacles that are in any of the sections [first, end), merged; @fixed has the fixed
 * items by address.
 */
static int list(struct npuplan_obstacles *obstacles, const struct npuplan_granules *granules,
		const struct npuplan_keyed *fixed, size_t count, uint32_t first, uint32_t end)
{
	const struct npuplan_sections *sections = &granules->sections;
	size_t begin = obstacles->range_count;
	int64_t above = 0;

	for (size_t k = 0; k < count; k++) {
		uint32_t item = fixed[k].item;
		int64_t low = (int64_t)fixed[k].key, high = low + granules->size[item];
		struct npuplan_obstacle *last;

		if (sections->first[item] >= end || first >= sections->end[item])
			continue;
		if (npuplan_reserve(&obstacles->ranges, &obstacles->capacity,
				    obstacles->range_count + 1, sizeof(*obstacles->ranges)))
			return -ENOMEM;
		last = &obstacles->ranges[obstacles->range_count];
		if (obstacles->range_count > begin && low <= last[-1].high)
			last[-1].high = high > last[-1].high ? high : last[-1].high;
		else
			obstacles->ranges[obstacles->range_count++] =
				(struct npuplan_obstacle){ .low = low, .high = high };
	}
	for (size_t i = obstacles->range_count; i-- > begin;)
		obstacles->ranges[i].above = above +=
			obstacles->ranges[i].high - obstacles->ranges[i].low;
	return 0;
}

static int list_all(struct npuplan_obstacles *obstacles, const struct npuplan_granules *granules,
		    const struct npuplan_keyed *fixed, size_t count)
{
	const struct npuplan_sections *sections = &granules->sections;
	uint32_t n = granules->problem->item_count;
	int err = 0;

	for (uint32_t s = 0; s < sections->count && !err; s++) {
		obstacles->of_section[s] = obstacles->range_count;
		err = list(obstacles, granules, fixed, count, s, s + 1);
	}
	obstacles->of_section[sections->count] = obstacles->range_count;
	for (uint32_t i = 0; i < n && !err; i++) {
		obstacles->of_item[i] = obstacles->range_count;
		if (granules->fixed[i] < 0)
			err = list(obstacles, granules, fixed, count, sections->first[i],
				   sections->end[i]);
	}
	obstacles->of_item[n] = obstacles->range_count;
	obstacles->work = count * (sections->count + (uint64_t)n);
	return err;
}

int npuplan_obstacles_init(struct npuplan_obstacles *obstacles,
			   const struct npuplan_granules *granules)
{
	size_t n = granules->problem->item_count, count = 0;
	AUTO_HEAP struct npuplan_keyed *fixed = npuplan_malloc(n * sizeof(*fixed) + 1);

	*obstacles = (struct npuplan_obstacles){ 0 };
	if (!fixed)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		if (granules->fixed[i] >= 0)
			fixed[count++] = (struct npuplan_keyed){
				.key = (uint64_t)granules->fixed[i],
				.item = i,
			};
	if (!count)
		return 0;
	npuplan_sort_keyed(fixed, count);
	obstacles->any = true;
	obstacles->of_section = npuplan_malloc(((size_t)granules->sections.count + 1) *
					       sizeof(*obstacles->of_section));
	obstacles->of_item = npuplan_malloc((n + 1) * sizeof(*obstacles->of_item));
	return obstacles->of_section && obstacles->of_item ?
		       list_all(obstacles, granules, fixed, count) :
		       -ENOMEM;
}

void npuplan_obstacles_fini(struct npuplan_obstacles *obstacles)
{
	npuplan_free_all(obstacles->ranges, obstacles->of_section, obstacles->of_item);
	*obstacles = (struct npuplan_obstacles){ 0 };
}

/* The first of @ranges[@low .. @high) that ends above @address. */
static size_t first_above(const struct npuplan_obstacle *ranges, size_t low, size_t high,
			  int64_t address)
{
	return npuplan_bisect(at, low, high, ranges[at].high <= address);
}

int64_t npuplan_obstacles_fit(const struct npuplan_obstacles *obstacles, uint32_t item, int64_t low,
			      int64_t size, int64_t align)
{
	size_t at, end;

	low = npuplan_align_up(low, align);
	if (!obstacles->any)
		return low;
	end = obstacles->of_item[item + 1];
	at = first_above(obstacles->ranges, obstacles->of_item[item], end, low);
	for (; at < end && obstacles->ranges[at].low < low + size; at++)
		if (obstacles->ranges[at].high > low)
			low = npuplan_align_up(obstacles->ranges[at].high, align);
	return low;
}

int64_t npuplan_obstacles_top(const struct npuplan_obstacles *obstacles, uint32_t item, int64_t low)
{
	size_t at, end;

	if (!obstacles->any)
		return INT64_MAX;
	end = obstacles->of_item[item + 1];
	at = first_above(obstacles->ranges, obstacles->of_item[item], end, low);
	return at < end ? obstacles->ranges[at].high : INT64_MAX;
}

int64_t npuplan_obstacles_above(const struct npuplan_obstacles *obstacles, uint32_t section,
				int64_t floor)
{
	size_t at, end;

	if (!obstacles->any)
		return 0;
	end = obstacles->of_section[section + 1];
	at = first_above(obstacles->ranges, obstacles->of_section[section], end, floor);
	if (at == end)
		return 0;
	/*
	 * The floor may be within an obstacle, of an item that has no room there because of another
	 * section.
	 */
	return obstacles->ranges[at].above -
	       (floor > obstacles->ranges[at].low ? floor - obstacles->ranges[at].low : 0);
}
