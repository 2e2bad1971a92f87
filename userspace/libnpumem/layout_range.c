// SPDX-License-Identifier: MIT
#include "layout_range.h"

#include <stdlib.h>

#include "../chunks/chunks.h"
#include "../grow/grow.h"

struct ranges ranges_of(const struct npumem_layout *layout, uint32_t tensor)
{
	uint64_t begin = layout_base_offset(layout, tensor);

	return (struct ranges){
		.tensor = tensor,
		.base = layout_base(layout, tensor),
		.begin = begin,
		.end = begin + layout->tensors[tensor].size,
	};
}

/* Whether @next goes on where @last ends, in the tensor and in memory, and was made part of it. */
static bool joined(struct npumem_range *last, const struct npumem_range *next)
{
	if (last->tensor != next->tensor || last->memory != next->memory ||
	    last->placement != next->placement || last->first + last->length != next->first ||
	    last->offset + last->length != next->offset)
		return false;
	last->length += next->length;
	return true;
}

static void append(struct ranges *r, const struct npumem_range *range)
{
	void *list = r->count < NPUMEM_NONE ? grow_by_one(r->list, r->count, sizeof(*range)) : NULL;

	if (!list) {
		r->failed = true;
		return;
	}
	r->list = list;
	r->list[r->count++] = *range;
}

void ranges_add(struct ranges *r, uint32_t memory, uint32_t placement, uint64_t first,
		uint64_t length, uint64_t offset)
{
	uint64_t from = first > r->begin ? first : r->begin;
	uint64_t to = first + length < r->end ? first + length : r->end;
	struct npumem_range range = {
		.memory = memory,
		.tensor = r->tensor,
		.placement = placement,
	};

	if (from >= to)
		return;
	range.first = from - r->begin;
	range.length = to - from;
	range.offset = offset + (from - first);
	/* Rows that are packed make one range, however many they are. */
	if (!r->count || !joined(&r->list[r->count - 1], &range))
		append(r, &range);
}

void ranges_add_placed(struct ranges *r, const struct npumem_layout *layout, uint32_t placement,
		       uint64_t first, uint64_t length)
{
	const struct npumem_placement *p = &layout->placements[placement];
	struct chunks walk = chunks_of_placement(p);

	while (chunks_next(&walk)) {
		uint64_t from = walk.byte > first ? walk.byte : first;
		uint64_t to = walk.byte + p->region.length;

		if (to > first + length)
			to = first + length;
		if (from < to)
			ranges_add(r, NPUMEM_MEMORY_ARENA, placement, from, to - from,
				   walk.address + (from - walk.byte));
	}
}

void ranges_cut(struct ranges *r, uint64_t first, uint64_t length)
{
	uint64_t from = first > r->begin ? first - r->begin : 0;
	uint64_t to = first + length > r->begin ? first + length - r->begin : 0;
	uint32_t count = r->count, kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct npumem_range before = r->list[i], behind = before;
		uint64_t end = before.first + before.length;

		if (before.first >= to || end <= from) {
			r->list[kept++] = before;
			continue;
		}
		behind.length = end > to ? end - to : 0;
		behind.offset += to - behind.first;
		behind.first = to;
		before.length = before.first < from ? from - before.first : 0;
		if (before.length)
			r->list[kept++] = before;
		if (before.length && behind.length)
			append(r, &behind);
		else if (behind.length)
			r->list[kept++] = behind;
	}
	/* What was behind the bytes stands behind all others. */
	for (uint32_t i = count; i < r->count; i++)
		r->list[kept++] = r->list[i];
	r->count = kept;
}

void ranges_take(struct ranges *r, struct ranges *other)
{
	for (uint32_t i = 0; i < other->count; i++)
		append(r, &other->list[i]);
	r->failed |= other->failed;
	free(other->list);
	*other = (struct ranges){ 0 };
}

void ranges_complete(struct ranges *r, struct ranges *other)
{
	uint32_t count = r->count;

	for (uint32_t i = 0; i < count; i++)
		ranges_cut(other, r->begin + r->list[i].first, r->list[i].length);
	ranges_take(r, other);
}

static int by_first(const void *a, const void *b)
{
	const struct npumem_range *x = a, *y = b;

	if (x->tensor != y->tensor)
		return x->tensor < y->tensor ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

void ranges_finish(struct ranges *r)
{
	uint32_t kept = 0;

	if (!r->count)
		return;
	qsort(r->list, r->count, sizeof(*r->list), by_first);
	for (uint32_t i = 1; i < r->count; i++)
		if (!joined(&r->list[kept], &r->list[i]))
			r->list[++kept] = r->list[i];
	r->count = kept + 1;
}
