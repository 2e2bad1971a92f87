// SPDX-License-Identifier: MIT
/*
 * The published packer Shared Objects (Pisarchyk & Lee, arXiv 2001.03288, section 4): items that
 * never live at once share a buffer as large as the largest of them, and the buffers lie one above
 * the other. It is a baseline, since the difference between an item and its buffer is never used.
 */
#include "base/align.h"
#include "pack/base/sections.h"
#include "pack/greedy/first_fit.h"
#include "shared_objects.h"

#define NONE	  UINT32_MAX
/* Work units between two looks at the clock. */
#define ASK_EVERY 20000

/*
 * struct object - a buffer that items share
 * @items: its items by start, with disjoint live ranges; @count of them
 */
struct object {
	uint64_t size;
	uint32_t *items;
	uint32_t count;
};

struct sharing {
	const struct npuplan_item *items;
	struct object *objects;
	uint32_t object_count;
	struct npuplan_pack *call;
	uint64_t asked;
	uint64_t work;
};

/* The place among the object's items of one that starts at @start. */
static uint32_t position(const struct sharing *sharing, const struct object *object, uint32_t start)
{
	return npuplan_bisect(at, 0, object->count,
			      sharing->items[object->items[at]].start < start);
}

/*
 * The instants between an item and its nearest neighbour in an object; -1: the item lives at once
 * with one of the object's.
 */
static int64_t distance(struct sharing *sharing, uint32_t object, uint32_t item)
{
	const struct object *in = &sharing->objects[object];
	const struct npuplan_item *mine = &sharing->items[item];
	uint32_t at = position(sharing, in, mine->start);
	int64_t nearest = INT64_MAX;

	sharing->work++;
	if (at) {
		nearest = (int64_t)mine->start - sharing->items[in->items[at - 1]].end;
		if (nearest <= 0)
			return -1;
	}
	if (at < in->count) {
		int64_t after = (int64_t)sharing->items[in->items[at]].start - mine->end;

		if (after <= 0)
			return -1;
		nearest = after < nearest ? after : nearest;
	}
	return nearest;
}

static int assign(struct sharing *sharing, uint32_t object, uint32_t item)
{
	struct object *into;
	uint32_t at;

	if (sharing->work - sharing->asked >= ASK_EVERY) {
		sharing->call->work += sharing->work - sharing->asked;
		sharing->asked = sharing->work;
		if (npuplan_pack_stopped(sharing->call))
			return -EINTR;
	}
	if (object == NONE) {
		if (npuplan_grow(&sharing->objects, sharing->object_count,
				 sizeof(*sharing->objects)))
			return -ENOMEM;
		object = sharing->object_count++;
		sharing->objects[object] = (struct object){ 0 };
	}
	into = &sharing->objects[object];
	if (npuplan_grow(&into->items, into->count, sizeof(*into->items)))
		return -ENOMEM;
	at = position(sharing, into, sharing->items[item].start);
	for (uint32_t i = into->count++; i > at; i--)
		into->items[i] = into->items[i - 1];
	into->items[at] = item;
	if (sharing->items[item].size > into->size)
		into->size = sharing->items[item].size;
	return 0;
}

/*
 * The object for an item: of those that can take it the smallest one that is large enough, or else
 * the largest one, or else none.
 */
static uint32_t fitting(struct sharing *sharing, uint32_t item)
{
	uint64_t size = sharing->items[item].size;
	uint32_t best = NONE;

	for (uint32_t o = 0; o < sharing->object_count; o++) {
		uint64_t this = sharing->objects[o].size;
		uint64_t that = best == NONE ? 0 : sharing->objects[best].size;

		if (best != NONE &&
		    (this >= size ? that >= size && that <= this : that >= size || that >= this))
			continue;
		if (distance(sharing, o, item) >= 0)
			best = o;
	}
	return best;
}

/*
 * Place the items one by one. By size this is the paper's "greedy by size", by breadth its "greedy
 * by breadth".
 */
static int one_by_one(struct sharing *sharing, const uint32_t *order, uint32_t count)
{
	int err = 0;

	for (uint32_t i = 0; i < count && !err; i++)
		err = assign(sharing, fitting(sharing, order[i]), order[i]);
	return err;
}

/* Place the item of a stage, in an object, with which the idle time between the two is least. */
static int place_nearest(struct sharing *sharing, uint32_t *stage, uint32_t *count)
{
	uint32_t item = 0, object = NONE;
	int64_t nearest = INT64_MAX;
	int err;

	for (uint32_t i = 0; i < *count; i++) {
		for (uint32_t o = 0; o < sharing->object_count; o++) {
			int64_t this = distance(sharing, o, stage[i]);

			if (this >= 0 && this < nearest) {
				nearest = this;
				item = i;
				object = o;
			}
		}
	}
	err = assign(sharing, object, stage[item]);
	--*count;
	for (uint32_t i = item; i < *count; i++)
		stage[i] = stage[i + 1];
	return err;
}

/*
 * Place the items by the paper's "greedy by size improved". The k-th positional maximum is the
 * largest k-th largest item of any instant. These maxima cut the items, by size, into stages.
 * Within a stage, the pair of item and object goes first that leaves the object idle for the
 * shortest time.
 */
static int by_stages(struct sharing *sharing, uint32_t *order, uint32_t count,
		     const uint64_t *maxima, uint32_t maximum_count)
{
	uint32_t begin = 0;
	int err = 0;

	for (uint32_t m = 0; begin < count && !err; m++) {
		/*
		 * A stage is the items above a positional maximum; the next one is those equal to
		 * it.
		 */
		for (int equal = 0; equal < 2 && !err; equal++) {
			uint64_t limit = m < maximum_count ? maxima[m] : 0;
			uint32_t end = begin, left;

			while (end < count && (equal ? sharing->items[order[end]].size >= limit :
						       sharing->items[order[end]].size > limit))
				end++;
			for (left = end - begin; left && !err;)
				err = place_nearest(sharing, order + begin, &left);
			begin = end;
		}
	}
	return err;
}

/* Find the positional maxima: for each k, the largest k-th largest size of any instant. */
static int positional_maxima(const struct npuplan_item *items, uint32_t count, uint64_t *maxima,
			     uint32_t *maximum_count)
{
	AUTO_POOL struct npuplan_pool pool = { 0 };
	struct npuplan_keyed *events = npuplan_pool_take(&pool, 2 * (size_t)count, sizeof(*events));
	uint64_t *live = npuplan_pool_take(&pool, count, sizeof(*live));
	uint32_t lives = 0;

	*maximum_count = 0;
	if (pool.failed)
		return -ENOMEM;
	npuplan_list_events(items, count, events);
	for (size_t e = 0; e < 2 * (size_t)count; e++) {
		uint64_t size = items[events[e].item].size;
		uint32_t at = 0;

		/* Sizes are in descending order. */
		while (at < lives && live[at] > size)
			at++;
		if (events[e].key & 1) {
			for (lives--; at < lives; at++)
				live[at] = live[at + 1];
			continue;
		}
		for (uint32_t i = lives++; i > at; i--)
			live[i] = live[i - 1];
		live[at] = size;
		for (; at < lives; at++) {
			if (at == *maximum_count)
				maxima[(*maximum_count)++] = 0;
			if (live[at] > maxima[at])
				maxima[at] = live[at];
		}
	}
	return 0;
}

static void stack(struct npuplan_pack *call, const struct sharing *sharing, uint64_t *offsets)
{
	uint64_t address = 0, align = 1;

	for (uint32_t i = 0; i < call->problem->item_count; i++)
		align = call->alignments[i] > align ? call->alignments[i] : align;
	for (uint32_t o = 0; o < sharing->object_count; o++) {
		const struct object *object = &sharing->objects[o];

		for (uint32_t i = 0; i < object->count; i++)
			offsets[object->items[i]] = address;
		address = npuplan_align_up(address + object->size, align);
	}
	npuplan_pack_offer(call, offsets);
}

int npuplan_pack_shared_objects(struct npuplan_pack *call, int strategy)
{
	const struct npuplan_pack_problem *problem = call->problem;
	size_t n = problem->item_count;
	struct sharing sharing = { .items = problem->items, .call = call };
	AUTO_POOL struct npuplan_pool pool = { 0 };
	uint32_t *order = npuplan_pool_take(&pool, n, sizeof(*order)), maximum_count = 0;
	uint64_t *offsets = npuplan_pool_take(&pool, n, sizeof(*offsets));
	bool stages = strategy == NPUPLAN_OBJECTS_BY_SIZE_IMPROVED;
	int err = pool.failed ? -ENOMEM : 0;

	if (problem->conflicts || npuplan_any_fixed(problem->items, problem->item_count))
		return -EOPNOTSUPP;
	if (!err)
		err = npuplan_order_items(&call->conflicts,
					  strategy == NPUPLAN_OBJECTS_BY_BREADTH ?
						  NPUPLAN_BY_BREADTH :
						  NPUPLAN_BY_SIZE,
					  order);
	/* The array of offsets is not needed yet, and serves for the maxima. */
	if (!err && stages)
		err = positional_maxima(problem->items, n, offsets, &maximum_count);
	if (!err)
		err = stages ? by_stages(&sharing, order, n, offsets, maximum_count) :
			       one_by_one(&sharing, order, n);
	if (!err)
		stack(call, &sharing, offsets);
	call->work += sharing.work - sharing.asked;
	for (uint32_t o = 0; o < sharing.object_count; o++)
		npuplan_free(sharing.objects[o].items);
	npuplan_free(sharing.objects);
	return err == -EINTR ? 0 : err;
}
