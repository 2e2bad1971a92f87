// SPDX-License-Identifier: MIT
#include "occupancy.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/heap.h"

/* Lists that an item meets: six a level, of at most 33 levels. */
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

/* First of the spans [@low, @high) that ends above @address; @high: none does. */
static uint32_t first_above(const struct npuplan_spans *spans, uint32_t low, uint32_t high,
			    uint64_t address)
{
	return npuplan_bisect(at, low, high, spans->at[at].high <= address);
}

static int add(struct npuplan_spans *spans, uint64_t low, uint64_t high)
{
	uint32_t begin = first_above(spans, 0, spans->count, low), end;

	if (begin && spans->at[begin - 1].high == low)
		begin--;
	for (end = begin; end < spans->count && spans->at[end].low <= high; end++) {
		if (spans->at[end].low < low)
			low = spans->at[end].low;
		if (spans->at[end].high > high)
			high = spans->at[end].high;
	}
	if (begin == end &&
	    npuplan_reserve(&spans->at, &spans->capacity, spans->count + 1, sizeof(*spans->at)))
		return -ENOMEM;
	memmove(&spans->at[begin + 1], &spans->at[end], (spans->count - end) * sizeof(*spans->at));
	spans->at[begin] = (struct npuplan_span){ low, high };
	spans->count = spans->count + 1 - (end - begin);
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
	 * Above the canonical nodes are ancestors of the first or the last leaf, and
	 * some of these are below: harmless, for the item is there, too.
	 */
	for (first /= 2, last /= 2; first && !err; first /= 2, last /= 2) {
		err = add(&occupancy->inside[first], offset, offset + size);
		if (last != first && !err)
			err = add(&occupancy->inside[last], offset, offset + size);
	}
	return err;
}

/*
 * struct lists - spans that an item meets, from an address on
 * @cursor: per list, the first span that ends above the address
 * @low, @high: that span; UINT64_MAX: there is none
 */
struct lists {
	const struct npuplan_spans *at[MAX_LISTS];
	uint32_t cursor[MAX_LISTS];
	uint64_t low[MAX_LISTS];
	uint64_t high[MAX_LISTS];
	uint32_t count;
};

static void set_cursor(struct lists *lists, uint32_t list, uint32_t cursor)
{
	const struct npuplan_spans *spans = lists->at[list];
	bool end = cursor == spans->count;

	lists->cursor[list] = cursor;
	lists->low[list] = end ? UINT64_MAX : spans->at[cursor].low;
	lists->high[list] = end ? UINT64_MAX : spans->at[cursor].high;
}

/* To the first span that ends above @address: near ones are found soon. */
static void advance(struct lists *lists, uint32_t list, uint64_t address)
{
	const struct npuplan_spans *spans = lists->at[list];
	uint32_t from = lists->cursor[list] + 1, step = 1;

	while (from + step <= spans->count && spans->at[from + step - 1].high <= address) {
		from += step;
		step *= 2;
	}
	if (from + step < spans->count)
		set_cursor(lists, list, first_above(spans, from, from + step, address));
	else
		set_cursor(lists, list, first_above(spans, from, spans->count, address));
}

static void list(struct lists *lists, const struct npuplan_spans *spans)
{
	if (spans->count) {
		lists->at[lists->count] = spans;
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
	/* Canonical nodes that are no ancestors of the two leaves: siblings of such. */
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
 * Lowest address from @address on with @size free bytes; @end, unless NULL: where
 * the hole ends.
 */
static uint64_t room(struct lists *lists, uint64_t size, uint32_t align, uint64_t address,
		     uint64_t *end, uint64_t *work)
{
	uint32_t quiet = 0, i = 0;
	uint64_t next = UINT64_MAX;

	address = (address + align - 1) & -(uint64_t)align;
	/* Round and round until no list has moved the address. */
	while (quiet < lists->count) {
		++*work;
		if (lists->high[i] <= address)
			advance(lists, i, address);
		if (lists->low[i] < address + size) {
			address = (lists->high[i] + align - 1) & -(uint64_t)align;
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
			/* The room above everything has no end: only if no hole will do. */
			smallest = end - address;
			found = address;
		}
		from = end;
	} while (end != UINT64_MAX);
	return found;
}
