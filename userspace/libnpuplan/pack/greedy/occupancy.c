// SPDX-License-Identifier: MIT
#include "occupancy.h"

#include <errno.h>
#include <string.h>

#include "base/align.h"
#include "base/heap.h"

/* The most nodes that cut an item's sections out of the tree, or are above these: two a level. */
#define MAX_NODES     66
/* Ranges that are gone through one after another in the time of a unit of work. */
#define RANGES_A_UNIT 8

/*
 * struct path - the nodes of the tree that an item has to do with
 * @cover: the nodes that cover its sections together, and no others
 * @above: the nodes above these, which have other sections, too
 */
struct path {
	size_t cover[MAX_NODES];
	size_t above[MAX_NODES];
	uint32_t cover_count;
	uint32_t above_count;
};

/*
 * The nodes above those that cover the sections are ancestors of the first or of the last leaf.
 * From a leaf upwards, the nodes have none but the item's sections at first, and from some level on
 * they all have others.
 */
static void trace(const struct npuplan_occupancy *occupancy, uint32_t item, struct path *path)
{
	size_t begin = occupancy->width + occupancy->sections.first[item];
	size_t end = occupancy->width + occupancy->sections.end[item];
	size_t first = begin, last = end - 1;

	path->cover_count = 0;
	path->above_count = 0;
	for (size_t low = begin, high = end; low < high; low /= 2, high /= 2) {
		if (low & 1)
			path->cover[path->cover_count++] = low++;
		if (high & 1)
			path->cover[path->cover_count++] = --high;
	}
	for (unsigned int level = 0; first; level++, first /= 2, last /= 2) {
		if (first << level < begin || (first + 1) << level > end)
			path->above[path->above_count++] = first;
		if (last != first && (last << level < begin || (last + 1) << level > end))
			path->above[path->above_count++] = last;
	}
}

/* All that is taken in some of a node's sections; a leaf has only one. */
static struct npuplan_ranges *anywhere(const struct npuplan_occupancy *occupancy, size_t node)
{
	return node < occupancy->width ? &occupancy->anywhere[node] : &occupancy->covering[node];
}

static size_t range_size(const struct npuplan_occupancy *occupancy)
{
	return occupancy->wide ? sizeof(struct npuplan_range) : sizeof(struct npuplan_range32);
}

static uint64_t low_at(const struct npuplan_ranges *ranges, bool wide, size_t i)
{
	return wide ? ranges->at[i].low : ranges->narrow[i].low;
}

static uint64_t high_at(const struct npuplan_ranges *ranges, bool wide, size_t i)
{
	return wide ? ranges->at[i].high : ranges->narrow[i].high;
}

static void set_range(struct npuplan_ranges *ranges, bool wide, size_t i, uint64_t low,
		      uint64_t high)
{
	if (wide)
		ranges->at[i] = (struct npuplan_range){ low, high };
	else
		ranges->narrow[i] = (struct npuplan_range32){ (uint32_t)low, (uint32_t)high };
}

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
	occupancy->covering = npuplan_calloc(3 * occupancy->width, sizeof(*occupancy->covering));
	if (!occupancy->covering) {
		npuplan_occupancy_fini(occupancy);
		return -ENOMEM;
	}
	occupancy->anywhere = occupancy->covering + 2 * occupancy->width;
	return 0;
}

void npuplan_occupancy_fini(struct npuplan_occupancy *occupancy)
{
	for (size_t i = 0; occupancy->covering && i < 3 * occupancy->width; i++)
		npuplan_free(occupancy->covering[i].at);
	npuplan_free_all(occupancy->covering, occupancy->sections.first);
	*occupancy = (struct npuplan_occupancy){ 0 };
}

/*
 * Go over to addresses of 64 bits. If memory ends, some lists have them and others do not, so that
 * the occupancy can only be freed.
 */
static int widen(struct npuplan_occupancy *occupancy)
{
	for (size_t i = 0; i < 3 * occupancy->width; i++) {
		struct npuplan_ranges *ranges = &occupancy->covering[i];
		struct npuplan_range32 *old = ranges->narrow;

		if (!old)
			continue;
		ranges->at = npuplan_malloc(ranges->capacity * sizeof(*ranges->at));
		for (uint32_t r = 0; ranges->at && r < ranges->count; r++)
			ranges->at[r] = (struct npuplan_range){ old[r].low, old[r].high };
		npuplan_free(old);
		if (!ranges->at)
			return -ENOMEM;
	}
	occupancy->wide = true;
	return 0;
}

/* Make room for one more range. There are many short lists, which would waste much by doubling. */
static int grow(struct npuplan_ranges *ranges, size_t size)
{
	uint32_t capacity = ranges->capacity + ranges->capacity / 2 + 3;
	void *grown;

	if (ranges->count < ranges->capacity)
		return 0;
	if (ranges->count > UINT32_MAX / 2)
		return -ENOMEM;
	grown = npuplan_realloc(ranges->at, capacity * size);
	if (!grown)
		return -ENOMEM;
	ranges->at = grown;
	ranges->capacity = capacity;
	return 0;
}

/* The first of the ranges [@low, @high) that ends above @address; @high: none does. */
static uint32_t first_above(const struct npuplan_ranges *ranges, bool wide, uint32_t low,
			    uint32_t high, uint64_t address)
{
	return npuplan_bisect(at, low, high, high_at(ranges, wide, at) <= address);
}

static int add(struct npuplan_occupancy *occupancy, struct npuplan_ranges *ranges, uint64_t low,
	       uint64_t high)
{
	bool wide = occupancy->wide;
	size_t size = range_size(occupancy);
	uint32_t begin = first_above(ranges, wide, 0, ranges->count, low), end;
	char *bytes;

	if (begin && high_at(ranges, wide, begin - 1) == low)
		begin--;
	for (end = begin; end < ranges->count && low_at(ranges, wide, end) <= high; end++) {
		if (low_at(ranges, wide, end) < low)
			low = low_at(ranges, wide, end);
		if (high_at(ranges, wide, end) > high)
			high = high_at(ranges, wide, end);
	}
	if (begin == end && grow(ranges, size))
		return -ENOMEM;
	bytes = (char *)ranges->at;
	memmove(bytes + (begin + 1) * size, bytes + end * size, (ranges->count - end) * size);
	set_range(ranges, wide, begin, low, high);
	ranges->count = ranges->count + 1 - (end - begin);
	return 0;
}

int npuplan_occupancy_put(struct npuplan_occupancy *occupancy, uint32_t item, uint64_t offset,
			  uint64_t size)
{
	uint64_t end = offset + size;
	struct path path;
	int err = 0;

	if (end > UINT32_MAX && !occupancy->wide)
		err = widen(occupancy);
	trace(occupancy, item, &path);
	for (uint32_t i = 0; i < path.cover_count && !err; i++) {
		size_t node = path.cover[i];

		err = add(occupancy, &occupancy->covering[node], offset, end);
		if (node < occupancy->width && !err)
			err = add(occupancy, &occupancy->anywhere[node], offset, end);
	}
	for (uint32_t i = 0; i < path.above_count && !err; i++)
		err = add(occupancy, &occupancy->anywhere[path.above[i]], offset, end);
	return err;
}

/*
 * struct lists - the lists of ranges that an item meets, each from an address on
 * @cursor: per list, number of the first range that ends above the address and does not end where
 *	there is too little room in the list alone
 * @low: per list, where the first of the ranges begins that ends above the address; UINT64_MAX:
 *	there is none
 * @high: per list, where the range at the cursor ends; UINT64_MAX, too
 * @size: the item's bytes
 */
struct lists {
	const struct npuplan_ranges *at[2 * MAX_NODES];
	uint32_t cursor[2 * MAX_NODES];
	uint64_t low[2 * MAX_NODES];
	uint64_t high[2 * MAX_NODES];
	uint64_t size;
	uint32_t count;
	bool wide;
};

static void set_cursor(struct lists *lists, uint32_t list, uint32_t cursor, uint64_t *work)
{
	const struct npuplan_ranges *ranges = lists->at[list];
	bool wide = lists->wide;
	uint32_t from = cursor;
	uint64_t high;

	if (cursor == ranges->count) {
		lists->cursor[list] = cursor;
		lists->low[list] = UINT64_MAX;
		lists->high[list] = UINT64_MAX;
		return;
	}
	lists->low[list] = low_at(ranges, wide, cursor);
	high = high_at(ranges, wide, cursor);
	for (cursor++; cursor < ranges->count; cursor++) {
		if (low_at(ranges, wide, cursor) - high >= lists->size)
			break;
		high = high_at(ranges, wide, cursor);
	}
	lists->cursor[list] = cursor - 1;
	lists->high[list] = high;
	*work += (cursor - from) / RANGES_A_UNIT;
}

/*
 * Go on in a list to the first range that ends above @address. The search doubles its steps, so
 * that near ranges are found soon.
 */
static void advance(struct lists *lists, uint32_t list, uint64_t address, uint64_t *work)
{
	const struct npuplan_ranges *ranges = lists->at[list];
	uint32_t from = lists->cursor[list] + 1, step = 1, end;

	while (from + step <= ranges->count &&
	       high_at(ranges, lists->wide, from + step - 1) <= address) {
		from += step;
		step *= 2;
	}
	end = from + step < ranges->count ? from + step : ranges->count;
	set_cursor(lists, list, first_above(ranges, lists->wide, from, end, address), work);
}

static void list(struct lists *lists, const struct npuplan_ranges *ranges, uint64_t *work)
{
	if (ranges->count) {
		lists->at[lists->count] = ranges;
		set_cursor(lists, lists->count++, 0, work);
	}
}

static void collect(const struct npuplan_occupancy *occupancy, uint32_t item, struct lists *lists,
		    uint64_t *work)
{
	struct path path;

	lists->count = 0;
	lists->wide = occupancy->wide;
	trace(occupancy, item, &path);
	for (uint32_t i = 0; i < path.cover_count; i++)
		list(lists, anywhere(occupancy, path.cover[i]), work);
	for (uint32_t i = 0; i < path.above_count; i++)
		list(lists, &occupancy->covering[path.above[i]], work);
}

/*
 * The lowest address from @address on with room for the item; @end: out, unless it is NULL: where
 * that hole ends.
 */
static uint64_t room(struct lists *lists, uint32_t align, uint64_t address, uint64_t *end,
		     uint64_t *work)
{
	uint32_t quiet = 0, i = 0;
	uint64_t next = UINT64_MAX;

	address = npuplan_align_up(address, align);
	/* Go through the lists in turn until none of them moves the address. */
	while (quiet < lists->count) {
		++*work;
		if (lists->high[i] <= address)
			advance(lists, i, address, work);
		if (lists->low[i] < address + lists->size) {
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

	lists.size = size;
	collect(occupancy, item, &lists, work);
	if (!best)
		return room(&lists, align, from, NULL, work);
	do {
		address = room(&lists, align, from, &end, work);
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
