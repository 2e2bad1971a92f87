// SPDX-License-Identifier: MIT
#include "occupancy.h"

#include <errno.h>
#include <string.h>

#include "base/align.h"
#include "base/array.h"
#include "base/heap.h"

/* The most lists of ranges that an item meets: six on each of at most 33 levels of the tree. */
#define MAX_LISTS 200

int npuplan_occupancy_init(struct npuplan_occupancy *occupancy, const struct npuplan_item *items,
			   uint32_t count)
{
	int err;

	*occupancy = (struct npuplan_occupancy){ .width = 1 };
	err = npuplan_sections_init(&occupancy->sections, items, count);
	if (err)
		return err;
	while (occupancy->width < occupancy->sections.count)
		occupancy->width *= 2;
	occupancy->covering = npuplan_calloc(4 * occupancy->width, sizeof(*occupancy->covering));
	if (!occupancy->covering) {
		npuplan_occupancy_fini(occupancy);
		return -ENOMEM;
	}
	occupancy->inside = occupancy->covering + 2 * occupancy->width;
	return 0;
}

void npuplan_occupancy_fini(struct npuplan_occupancy *occupancy)
{
	for (size_t i = 0; occupancy->covering && i < 4 * occupancy->width; i++)
		npuplan_free(occupancy->covering[i].at);
	npuplan_free_all(occupancy->covering, occupancy->sections.first);
	*occupancy = (struct npuplan_occupancy){ 0 };
}

/* The first of the ranges [@low, @high) that ends above @address; @high: none does. */
static uint32_t first_above(const struct npuplan_ranges *ranges, uint32_t low, uint32_t high,
			    uint64_t address)
{
	return npuplan_bisect(at, low, high, ranges->at[at].high <= address);
}

static int add(struct npuplan_ranges *ranges, uint64_t low, uint64_t high)
{
	uint32_t begin = first_above(ranges, 0, ranges->count, low), end;

	if (begin && ranges->at[begin - 1].high == low)
		begin--;
	for (end = begin; end < ranges->count && ranges->at[end].low <= high; end++) {
		if (ranges->at[end].low < low)
			low = ranges->at[end].low;
		if (ranges->at[end].high > high)
			high = ranges->at[end].high;
	}
	if (begin == end &&
	    npuplan_reserve(&ranges->at, &ranges->capacity, ranges->count + 1, sizeof(*ranges->at)))
		return -ENOMEM;
	memmove(&ranges->at[begin + 1], &ranges->at[end],
		(ranges->count - end) * sizeof(*ranges->at));
	ranges->at[begin] = (struct npuplan_range){ low, high };
	ranges->count = ranges->count + 1 - (end - begin);
	return 0;
}

int npuplan_occupancy_put(struct npuplan_occupancy *occupancy, uint32_t item, uint64_t offset,
			  uint64_t size)
{
	size_t first = occupancy->width + occupancy->sections.first[item];
	size_t last = occupancy->width + occupancy->sections.end[item] - 1;
	size_t low = first, high = last + 1;
	int err = 0;

	for (; low < high && !err; low /= 2, high /= 2) {
		if (low & 1)
			err = add(&occupancy->covering[low++], offset, offset + size);
		if (high & 1 && !err)
			err = add(&occupancy->covering[--high], offset, offset + size);
	}
	/*
	 * All nodes above the canonical ones are ancestors of the first or the last leaf. Some of
	 * these ancestors are below a canonical node, which does no harm, since the item is there,
	 * too.
	 */
	for (first /= 2, last /= 2; first && !err; first /= 2, last /= 2) {
		err = add(&occupancy->inside[first], offset, offset + size);
		if (last != first && !err)
			err = add(&occupancy->inside[last], offset, offset + size);
	}
	return err;
}

/*
 * struct lists - the lists of ranges that an item meets, each from an address on
 * @cursor: per list, number of the first range that ends above the address
 * @low, @high: per list, the ends of that range; UINT64_MAX: there is none
 */
struct lists {
	const struct npuplan_ranges *at[MAX_LISTS];
	uint32_t cursor[MAX_LISTS];
	uint64_t low[MAX_LISTS];
	uint64_t high[MAX_LISTS];
	uint32_t count;
};

static void set_cursor(struct lists *lists, uint32_t list, uint32_t cursor)
{
	const struct npuplan_ranges *ranges = lists->at[list];
	bool end = cursor == ranges->count;

	lists->cursor[list] = cursor;
	lists->low[list] = end ? UINT64_MAX : ranges->at[cursor].low;
	lists->high[list] = end ? UINT64_MAX : ranges->at[cursor].high;
}

/*
 * Go on in a list to the first range that ends above @address. The search doubles its steps, so
 * that near ranges are found soon.
 */
static void advance(struct lists *lists, uint32_t list, uint64_t address)
{
	const struct npuplan_ranges *ranges = lists->at[list];
	uint32_t from = lists->cursor[list] + 1, step = 1;

	while (from + step <= ranges->count && ranges->at[from + step - 1].high <= address) {
		from += step;
		step *= 2;
	}
	if (from + step < ranges->count)
		set_cursor(lists, list, first_above(ranges, from, from + step, address));
	else
		set_cursor(lists, list, first_above(ranges, from, ranges->count, address));
}

static void list(struct lists *lists, const struct npuplan_ranges *ranges)
{
	if (ranges->count) {
		lists->at[lists->count] = ranges;
		set_cursor(lists, lists->count++, 0);
	}
}

static void collect(const struct npuplan_occupancy *occupancy, uint32_t item, struct lists *lists)
{
	size_t first = occupancy->width + occupancy->sections.first[item];
	size_t last = occupancy->width + occupancy->sections.end[item] - 1;

	lists->count = 0;
	for (size_t low = first, high = last + 1; low < high; low /= 2, high /= 2) {
		if (low & 1)
			list(lists, &occupancy->inside[low++]);
		if (high & 1)
			list(lists, &occupancy->inside[--high]);
	}
	for (; first; first /= 2, last /= 2) {
		list(lists, &occupancy->covering[first]);
		if (last != first)
			list(lists, &occupancy->covering[last]);
	}
	/* The canonical nodes that are no ancestors of the two leaves are siblings of ancestors. */
	first = occupancy->width + occupancy->sections.first[item];
	last = occupancy->width + occupancy->sections.end[item] - 1;
	for (size_t low = first, high = last; low / 2 < high / 2; low /= 2, high /= 2) {
		if (!(low & 1))
			list(lists, &occupancy->covering[low + 1]);
		if (high & 1)
			list(lists, &occupancy->covering[high - 1]);
	}
}

/*
 * The lowest address from @address on with @size free bytes; @end: out, unless it is NULL: where
 * that hole ends.
 */
static uint64_t room(struct lists *lists, uint64_t size, uint32_t align, uint64_t address,
		     uint64_t *end, uint64_t *work)
{
	uint32_t quiet = 0, i = 0;
	uint64_t next = UINT64_MAX;

	address = npuplan_align_up(address, align);
	/* Go through the lists in turn until none of them moves the address. */
	while (quiet < lists->count) {
		++*work;
		if (lists->high[i] <= address)
			advance(lists, i, address);
		if (lists->low[i] < address + size) {
			address = npuplan_align_up(lists->high[i], align);
			quiet = 0;
		} else {
			quiet++;
		}
		i = i + 1 == lists->count ? 0 : i + 1;
	}
	for (i = 0; end && i < lists->count; i++)
		if (lists->low[i] < next)
			next = lists->low[i];
	if (end)
		*end = next;
	return address;
}

uint64_t npuplan_occupancy_lowest(const struct npuplan_occupancy *occupancy, uint32_t item,
				  uint64_t size, uint32_t align, uint64_t from, bool best,
				  uint64_t *work)
{
	uint64_t address, end, found = UINT64_MAX, smallest = UINT64_MAX;
	struct lists lists;

	collect(occupancy, item, &lists);
	if (!best)
		return room(&lists, size, align, from, NULL, work);
	do {
		address = room(&lists, size, align, from, &end, work);
		if (end - address < smallest || found == UINT64_MAX) {
			/*
			 * The room above everything has no end, so it is taken only if no hole will
			 * do.
			 */
			smallest = end - address;
			found = address;
		}
		from = end;
	} while (end != UINT64_MAX);
	return found;
}
