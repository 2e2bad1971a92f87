// SPDX-License-Identifier: MIT
/*
 * The valley packer always fills the lowest segment of the skyline, with an item that fits into it
 * and lies flush with one of its sides. Where none fits, it raises the segment to the lower one of
 * its walls. This takes O(n log n): no item is looked at twice, so that it is the packer for tens
 * of thousands of them. On layered networks it is near perfect.
 *
 * A skyline knows no gaps. Where offsets are fixed it is of the other items, and where conflicts
 * are listed each of them is there from its start to its end; what lies in it from below upwards is
 * then placed again, by first fit, about the fixed items and by the true conflicts. If nothing is
 * fixed, and no pair is farther apart than whole items have to be, no item comes to lie higher by
 * that: those that first fit has placed before lie no higher than in the skyline, so that the
 * item's address there is free.
 */
#include "base/align.h"
#include "base/queue.h"
#include "pack/base/granules.h"
#include "pack/greedy/greedy.h"
#include "searches.h"

#define NONE	  UINT32_MAX
/* Work units between two looks at the clock. */
#define ASK_EVERY 4096

/*
 * struct ranked - unplaced items in an order, in which the first or last one that fits is found
 * @order: the items in that order
 * @rank: per item, its place in @order
 * @tree: segment tree of keys, with the least (@least) or the greatest one below each node; leaves
 *	are at width + rank
 * @bound: per section, the rank at which to begin to look
 */
struct ranked {
	uint32_t *order;
	uint32_t *rank;
	uint32_t *tree;
	uint32_t *bound;
	size_t width;
	uint32_t count;
	bool least;
};

/*
 * struct skyline_segment - sections [start, end) of the skyline, which have one @height; listed by
 * start
 */
struct skyline_segment {
	int64_t height;
	uint32_t end;
	uint32_t before;
	uint32_t after;
	uint32_t version;
	bool alive;
};

struct valley_candidate {
	int64_t height;
	uint32_t start;
	uint32_t version;
};

/*
 * struct valley - one call of the packer
 * @starts: items by start, to find those that lie flush with a segment's left side
 * @ends: items by end, to find those that lie flush with its right side
 * @heap: queue of segments, the lowest first; an entry of an older version of a segment is skipped
 * @asked: the call's work when it was last asked whether to stop
 */
struct valley {
	const struct npuplan_granules *granules;
	struct ranked starts;
	struct ranked ends;
	struct skyline_segment *segments;
	struct valley_candidate *heap;
	uint32_t heap_count;
	uint32_t heap_capacity;
	int64_t *at;
	struct npuplan_pack *call;
	uint64_t asked;
	uint64_t work;
};

static uint32_t better(const struct ranked *ranked, uint32_t a, uint32_t b)
{
	if (ranked->least)
		return a < b ? a : b;
	return a > b ? a : b;
}

static void fill_tree(struct ranked *ranked, uint32_t nothing)
{
	for (size_t i = ranked->width + ranked->count; i < 2 * ranked->width; i++)
		ranked->tree[i] = nothing;
	for (size_t i = ranked->width - 1; i > 0; i--)
		ranked->tree[i] = better(ranked, ranked->tree[2 * i], ranked->tree[2 * i + 1]);
}

static void drop(struct ranked *ranked, uint32_t item)
{
	size_t i = ranked->width + ranked->rank[item];

	/*
	 * In a tree of greatest keys 0 means that there is no item, so keys are one larger there.
	 */
	ranked->tree[i] = ranked->least ? UINT32_MAX : 0;
	for (i /= 2; i; i /= 2)
		ranked->tree[i] = better(ranked, ranked->tree[2 * i], ranked->tree[2 * i + 1]);
}

/* The first rank from @from on whose key is at most @limit; NONE: there is none. */
static uint32_t first_within(const struct ranked *ranked, uint32_t from, uint32_t limit)
{
	size_t i = ranked->width + from;

	if (from >= ranked->count)
		return NONE;
	while (ranked->tree[i] > limit) {
		while (i & 1)
			i /= 2;
		/* The last node of a level has nothing to its right. */
		if (!i)
			return NONE;
		i++;
	}
	while (i < ranked->width) {
		i *= 2;
		if (ranked->tree[i] > limit)
			i++;
	}
	return (uint32_t)(i - ranked->width);
}

/* The last rank before @before whose key is at least @limit; NONE: there is none. */
static uint32_t last_within(const struct ranked *ranked, uint32_t before, uint32_t limit)
{
	size_t i = ranked->width + before - 1;

	if (!before)
		return NONE;
	while (ranked->tree[i] < limit) {
		while (i > 1 && !(i & 1))
			i /= 2;
		if (i <= 1)
			return NONE;
		i--;
	}
	while (i < ranked->width) {
		i = 2 * i + 1;
		if (ranked->tree[i] < limit)
			i--;
	}
	return (uint32_t)(i - ranked->width);
}

static int init_ranked(struct ranked *ranked, const struct npuplan_granules *granules, bool starts,
		       struct npuplan_keyed *keys, struct npuplan_pool *pool)
{
	const struct npuplan_sections *sections = &granules->sections;
	uint32_t n = granules->problem->item_count, at = 0;

	ranked->least = starts;
	ranked->count = n;
	for (ranked->width = 1; ranked->width < n; ranked->width *= 2)
		;
	ranked->order = npuplan_pool_take(pool, n, sizeof(*ranked->order));
	ranked->rank = npuplan_pool_take(pool, n, sizeof(*ranked->rank));
	ranked->tree = npuplan_pool_take(pool, 2 * ranked->width, sizeof(*ranked->tree));
	ranked->bound =
		npuplan_pool_take(pool, (size_t)sections->count + 1, sizeof(*ranked->bound));
	if (pool->failed)
		return -ENOMEM;
	/*
	 * Of the items at one side, the longest comes first, and of equally long ones the largest.
	 */
	for (uint32_t i = 0; i < n; i++)
		keys[i] = (struct npuplan_keyed){
			.key = (uint64_t)(starts ? sections->first[i] : sections->end[i]) << 32 |
			       (UINT32_MAX - (starts ? sections->end[i] : sections->first[i])),
			.second = (uint64_t)(starts ? ~granules->size[i] : granules->size[i]),
			.item = i,
		};
	npuplan_sort_keyed(keys, n);
	for (uint32_t r = 0; r < n; r++) {
		uint32_t item = keys[r].item;

		ranked->order[r] = item;
		ranked->rank[item] = r;
		ranked->tree[ranked->width + r] = starts ? sections->end[item] :
							   sections->first[item] + 1;
	}
	fill_tree(ranked, starts ? UINT32_MAX : 0);
	for (uint32_t s = 0; s <= sections->count; s++) {
		while (at < n && keys[at].key >> 32 < s + !starts)
			at++;
		ranked->bound[s] = at;
	}
	return 0;
}

static bool is_lower(const void *unused, const struct valley_candidate *a,
		     const struct valley_candidate *b)
{
	return a->height != b->height ? a->height < b->height : a->start < b->start;
}

NPUPLAN_QUEUE(lowest, struct valley_candidate, void, is_lower)

static int push(struct valley *valley, uint32_t start)
{
	struct skyline_segment *segment = &valley->segments[start];
	struct valley_candidate this = { segment->height, start, ++segment->version };
	int err = npuplan_reserve(&valley->heap, &valley->heap_capacity, valley->heap_count + 1,
				  sizeof(*valley->heap));

	if (err)
		return err;
	lowest_put(NULL, valley->heap, valley->heap_count++, this);
	valley->work++;
	return 0;
}

static void set_before(struct valley *valley, uint32_t segment, uint32_t before)
{
	if (segment != NONE)
		valley->segments[segment].before = before;
}

/* Join the segment at @start with the one after it. */
static void swallow(struct valley *valley, uint32_t start)
{
	struct skyline_segment *into = &valley->segments[start];
	struct skyline_segment *gone = &valley->segments[into->after];

	gone->alive = false;
	into->end = gone->end;
	into->after = gone->after;
	set_before(valley, into->after, start);
}

/* Join a segment with its neighbours of the same height, and return its new start. */
static uint32_t join(struct valley *valley, uint32_t start)
{
	struct skyline_segment *segments = valley->segments;
	int64_t height = segments[start].height;
	uint32_t before = segments[start].before;

	if (before != NONE && segments[before].height == height) {
		swallow(valley, before);
		start = before;
	}
	if (segments[start].after != NONE && segments[segments[start].after].height == height)
		swallow(valley, start);
	return start;
}

/* Split the segment at @start before section @at; both parts have its height. */
static void split(struct valley *valley, uint32_t start, uint32_t at)
{
	struct skyline_segment *segment = &valley->segments[start], *right = &valley->segments[at];

	right->height = segment->height;
	right->end = segment->end;
	right->before = start;
	right->after = segment->after;
	right->alive = true;
	set_before(valley, right->after, at);
	segment->end = at;
	segment->after = at;
}

/*
 * Choose the item for segment [start, end), one that lies flush left or right if there is any;
 * NONE: none fits.
 */
static uint32_t choose(const struct valley *valley, uint32_t start, uint32_t end, int mode)
{
	const struct npuplan_sections *sections = &valley->granules->sections;
	uint32_t rank = first_within(&valley->starts, valley->starts.bound[start], end);
	uint32_t left, right;
	int64_t left_length, right_length;
	bool left_flush, right_flush;

	if (rank == NONE || sections->first[valley->starts.order[rank]] >= end)
		return NONE;
	left = valley->starts.order[rank];
	rank = last_within(&valley->ends, valley->ends.bound[end], start + 1);
	right = valley->ends.order[rank];
	left_length = sections->end[left] - sections->first[left];
	right_length = sections->end[right] - sections->first[right];
	left_flush = sections->first[left] == start;
	right_flush = sections->end[right] == end;
	if (mode == 1 || (mode == 3 && left_flush && !right_flush))
		return left;
	if (mode == 2 || (mode == 3 && right_flush && !left_flush))
		return right;
	if (mode == 4) {
		left_length *= valley->granules->size[left];
		right_length *= valley->granules->size[right];
	}
	return left_length >= right_length ? left : right;
}

static int put(struct valley *valley, uint32_t start, uint32_t item)
{
	const struct npuplan_granules *granules = valley->granules;
	uint32_t first = granules->sections.first[item], end = granules->sections.end[item];
	int64_t align = granules->align[item], height = valley->segments[start].height;
	int err = 0;

	valley->at[item] = npuplan_align_up(height, align);
	drop(&valley->starts, item);
	drop(&valley->ends, item);
	if (end < valley->segments[start].end) {
		split(valley, start, end);
		err = push(valley, end);
	}
	if (first > start) {
		split(valley, start, first);
		if (!err)
			err = push(valley, start);
	}
	valley->segments[first].height = valley->at[item] + granules->size[item];
	return err ? err : push(valley, join(valley, first));
}

/* Raise a segment into which nothing fits to the lower one of its walls. */
static int raise_segment(struct valley *valley, uint32_t start)
{
	struct skyline_segment *segment = &valley->segments[start];
	int64_t left = segment->before == NONE ? INT64_MAX :
						 valley->segments[segment->before].height;
	int64_t right = segment->after == NONE ? INT64_MAX :
						 valley->segments[segment->after].height;

	segment->height = left < right ? left : right;
	return push(valley, join(valley, start));
}

/* Leave the items of fixed offset out of the skyline. Returns how many others there are. */
static uint32_t drop_fixed(struct valley *valley)
{
	const struct npuplan_granules *granules = valley->granules;
	uint32_t left = granules->problem->item_count;

	for (uint32_t i = 0; i < granules->problem->item_count; i++) {
		if (granules->fixed[i] < 0)
			continue;
		valley->at[i] = granules->fixed[i];
		drop(&valley->starts, i);
		drop(&valley->ends, i);
		left--;
	}
	return left;
}

static int fill(struct valley *valley, int mode)
{
	uint32_t left = drop_fixed(valley);
	int err;

	valley->segments[0] = (struct skyline_segment){
		.end = valley->granules->sections.count,
		.before = NONE,
		.after = NONE,
		.alive = true,
	};
	err = push(valley, 0);
	while (left && !err) {
		struct valley_candidate lowest =
			lowest_take(NULL, valley->heap, valley->heap_count--);
		struct skyline_segment *segment = &valley->segments[lowest.start];
		uint32_t item;

		if (!segment->alive || segment->version != lowest.version)
			continue;
		if (valley->work - valley->asked > ASK_EVERY) {
			valley->call->work += valley->work - valley->asked;
			valley->asked = valley->work;
			if (npuplan_pack_stopped(valley->call))
				return -EINTR;
		}
		item = choose(valley, lowest.start, segment->end, mode);
		if (item == NONE) {
			err = raise_segment(valley, lowest.start);
		} else {
			err = put(valley, lowest.start, item);
			left--;
		}
	}
	return err;
}

/* Place the items by first fit, from the lowest of the skyline to the highest. */
static int place_again(const struct valley *valley, struct npuplan_keyed *keys, uint32_t *order)
{
	uint32_t n = valley->granules->problem->item_count;

	for (uint32_t i = 0; i < n; i++)
		keys[i] = (struct npuplan_keyed){ .key = (uint64_t)valley->at[i], .item = i };
	npuplan_sort_keyed(keys, n);
	for (uint32_t i = 0; i < n; i++)
		order[i] = keys[i].item;
	return npuplan_pack_fit(valley->call, order, false, valley->granules->offsets);
}

/* @again: a packing of the skyline is none of the problem. */
static int pack(struct npuplan_pack *call, const struct npuplan_granules *granules, int mode,
		bool again)
{
	size_t n = call->problem->item_count;
	AUTO_POOL struct npuplan_pool pool = { 0 };
	struct npuplan_keyed *keys = npuplan_pool_take(&pool, n, sizeof(*keys));
	struct valley valley = {
		.granules = granules,
		.call = call,
		.at = npuplan_pool_take(&pool, n, sizeof(*valley.at)),
		.segments = npuplan_pool_take(&pool, (size_t)granules->sections.count + 1,
					      sizeof(*valley.segments)),
	};
	int err = pool.failed ? -ENOMEM : init_ranked(&valley.starts, granules, true, keys, &pool);

	if (!err)
		err = init_ranked(&valley.ends, granules, false, keys, &pool);
	if (!err)
		err = fill(&valley, mode);
	call->work += valley.work - valley.asked + n;
	if (!err && again)
		err = place_again(&valley, keys, valley.starts.order);
	else if (!err)
		npuplan_granules_offer(granules, call, valley.at);
	npuplan_free(valley.heap);
	return err;
}

int npuplan_pack_valley(struct npuplan_pack *call, int mode)
{
	struct npuplan_granules granules;
	int first = mode == NPUPLAN_VALLEY_MODES ? 0 : mode;
	int last = mode == NPUPLAN_VALLEY_MODES ? mode - 1 : mode;
	bool again = call->problem->conflicts ||
		     npuplan_any_fixed(call->problem->items, call->problem->item_count);
	int err = npuplan_granules_init(&granules, call);

	for (int m = first; m <= last && !err && !npuplan_pack_over(call); m++)
		err = pack(call, &granules, m, again);
	npuplan_granules_fini(&granules);
	return err == -EINTR ? 0 : err;
}
