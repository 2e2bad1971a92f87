// SPDX-License-Identifier: MIT
#include "displacements.h"

#include <stdlib.h>

#include "base/sorted.h"

/*
 * The most intervals of a pair, and of a graph, before those that overlap are joined; this takes
 * some seconds.
 */
#define MAX_OF_PAIR  ((size_t)1 << 20)
#define MAX_OF_GRAPH ((size_t)1 << 24)

static int append(struct npuplan_intervals *list, int64_t low, int64_t high)
{
	int err = npuplan_reserve(&list->at, &list->capacity, list->count + 1, sizeof(*list->at));

	if (err)
		return err;
	list->at[list->count++] = (struct npuplan_interval){ low, high };
	return 0;
}

/* Whether two open intervals overlap or touch, so that no integer lies between them. */
static bool touch(const struct npuplan_interval *a, int64_t low, int64_t high)
{
	return low < a->high && a->low < high;
}

/* Append an interval, or join it with the last one, if that is from @from on and touches it. */
static int join(struct npuplan_intervals *list, size_t from, int64_t low, int64_t high)
{
	struct npuplan_interval *last;

	if (list->count == from || !touch(&list->at[list->count - 1], low, high))
		return append(list, low, high);
	last = &list->at[list->count - 1];
	last->low = low < last->low ? low : last->low;
	last->high = high > last->high ? high : last->high;
	return 0;
}

/*
 * Append what one repetition of two staircases forbids. An atom of b lives at once with consecutive
 * atoms of a, because starts and ends both rise along a. As these atoms lie one after another, they
 * forbid one interval together. From atom to atom of b, the first and the last of them only move
 * on.
 */
static int walk(const struct npuplan_staircases *staircases, const struct npuplan_staircase *a,
		const struct npuplan_staircase *b, struct npuplan_intervals *list)
{
	const struct npuplan_atom *x = &staircases->atoms[a->first_atom];
	const struct npuplan_atom *y = &staircases->atoms[b->first_atom];
	size_t from = list->count;
	uint32_t first = 0, end = 0;

	for (uint32_t k = 0; k < b->atom_count; k++) {
		int err;

		while (first < a->atom_count && x[first].end < y[k].start)
			first++;
		while (end < a->atom_count && x[end].start <= y[k].end)
			end++;
		if (first >= end)
			continue;
		err = join(list, from, (int64_t)(x[first].first - y[k].first - y[k].length),
			   (int64_t)(x[end - 1].first + x[end - 1].length - y[k].first));
		if (err)
			return err;
	}
	return 0;
}

/* Repeat the intervals from @from on, @repeat times in all, each @stride above the one before. */
static int repeat(struct npuplan_intervals *list, size_t from, int64_t stride, uint32_t repeat)
{
	size_t end = list->count;

	for (size_t i = from; i < end && repeat > 1; i++) {
		struct npuplan_interval base = list->at[i];

		if (touch(&base, base.low + stride, base.high + stride)) {
			list->at[i].high += (repeat - 1) * stride;
			continue;
		}
		if (list->count - from + repeat > MAX_OF_PAIR)
			return -E2BIG;
		for (uint32_t k = 1; k < repeat; k++) {
			int err = append(list, base.low + k * stride, base.high + k * stride);

			if (err)
				return err;
		}
	}
	return 0;
}

/*
 * Repeat the intervals from @from on for all repetitions of two staircases: repetition i of a and j
 * of b are i * stride(a) - j * stride(b) further apart than the first ones.
 */
static int repeat_both(const struct npuplan_staircase *a, const struct npuplan_staircase *b,
		       struct npuplan_intervals *list, size_t from)
{
	int64_t down = (int64_t)((b->repeat - 1) * b->stride);
	const struct npuplan_staircase *narrow = a->stride < b->stride ? a : b;
	const struct npuplan_staircase *wide = narrow == a ? b : a;
	int err;

	for (size_t i = from; i < list->count; i++) {
		list->at[i].low -= down;
		list->at[i].high -= down;
	}
	if (a->stride == b->stride)
		return repeat(list, from, (int64_t)a->stride, a->repeat + b->repeat - 1);
	/* The narrower stride comes first: what merges by it may merge by the wider one, too. */
	err = repeat(list, from, (int64_t)narrow->stride, narrow->repeat);
	return err ? err : repeat(list, from, (int64_t)wide->stride, wide->repeat);
}

NPUPLAN_ORDER(by_low, struct npuplan_interval, low, high)

void npuplan_intervals_unite(struct npuplan_intervals *list, size_t from)
{
	size_t end = list->count;

	if (end - from < 2)
		return;
	qsort(list->at + from, end - from, sizeof(*list->at), by_low);
	list->count = from;
	/* They do not become more, so there is room, and join() cannot fail. */
	for (size_t i = from; i < end; i++)
		join(list, from, list->at[i].low, list->at[i].high);
}

/*
 * Whether all atoms of staircase a end before any of staircase b starts; starts and ends rise along
 * a staircase.
 */
static bool ends_before(const struct npuplan_staircases *staircases,
			const struct npuplan_staircase *a, const struct npuplan_staircase *b)
{
	return staircases->atoms[a->first_atom + a->atom_count - 1].end <
	       staircases->atoms[b->first_atom].start;
}

int npuplan_displacements(const struct npuplan_staircases *staircases, uint32_t a, uint32_t b,
			  struct npuplan_intervals *list, size_t *listed)
{
	size_t before = list->count;
	int err = 0;

	for (uint32_t i = staircases->staircase_start[a]; i < staircases->staircase_start[a + 1];
	     i++) {
		for (uint32_t k = staircases->staircase_start[b];
		     k < staircases->staircase_start[b + 1] && !err; k++) {
			size_t from = list->count;

			const struct npuplan_staircase *x = &staircases->staircases[i];
			const struct npuplan_staircase *y = &staircases->staircases[k];

			if (ends_before(staircases, x, y) || ends_before(staircases, y, x))
				continue;
			err = walk(staircases, x, y, list);
			if (!err)
				err = repeat_both(x, y, list, from);
			if (!err && list->count - before > MAX_OF_PAIR)
				err = -E2BIG;
		}
	}
	*listed = list->count - before;
	if (!err)
		npuplan_intervals_unite(list, before);
	return err;
}

/*
 * struct collection - collects F of all pairs
 * @listed: number of intervals of all pairs, before those that overlap were joined
 * @approximated: some pair is taken as two whole tensors, since its F would have too many intervals
 */
struct collection {
	const struct npuplan_staircases *staircases;
	const struct npuplan_item *items;
	struct npuplan_intervals list;
	struct npuplan_pair *pairs;
	size_t pair_count;
	size_t listed;
	bool approximated;
};

/*
 * Add the pair of items a and b: nothing if F is empty, and no interval if F is that of whole
 * tensors.
 */
static int add_pair(struct collection *c, uint32_t a, uint32_t b)
{
	struct npuplan_intervals *list = &c->list;
	struct npuplan_pair pair = { .a = a, .b = b, .first_interval = list->count };
	size_t listed = 0;
	int err = -E2BIG;

	if (c->listed < MAX_OF_GRAPH)
		err = npuplan_displacements(c->staircases, a, b, list, &listed);
	c->listed += listed;
	if (err == -E2BIG) {
		list->count = pair.first_interval;
		c->approximated = true;
		c->pairs[c->pair_count++] = pair;
		return 0;
	}
	if (err || list->count == pair.first_interval)
		return err;
	pair.interval_count = list->count - pair.first_interval;
	if (pair.interval_count == 1 &&
	    list->at[pair.first_interval].low == -(int64_t)c->items[b].size &&
	    list->at[pair.first_interval].high == (int64_t)c->items[a].size) {
		list->count--;
		pair.interval_count = 0;
	}
	c->pairs[c->pair_count++] = pair;
	return 0;
}

int npuplan_displacement_conflicts(struct npuplan_conflicts *conflicts,
				   const struct npuplan_conflicts *whole,
				   const struct npuplan_liveness *live, bool *approximated)
{
	uint32_t item_count = whole->item_count;
	struct npuplan_staircases staircases;
	/* Only pairs that live at once forbid anything; @whole lists each of them twice. */
	AUTO_HEAP struct npuplan_pair *pairs =
		npuplan_malloc(whole->peer_start[item_count] / 2 * sizeof(*pairs) + 1);
	struct collection c = { .staircases = &staircases, .items = whole->items, .pairs = pairs };
	int err = npuplan_staircases_init(&staircases, live, whole->items, item_count);

	if (!pairs)
		err = -ENOMEM;
	for (uint32_t b = 0; b < item_count && !err; b++)
		for (size_t p = whole->peer_start[b];
		     p < whole->peer_start[b + 1] && whole->peers[p].item < b && !err; p++)
			err = add_pair(&c, whole->peers[p].item, b);
	if (!err)
		err = npuplan_conflicts_pairs(conflicts, whole->items, item_count, c.pairs,
					      c.pair_count, c.list.at);
	*approximated = c.approximated;
	npuplan_staircases_fini(&staircases);
	npuplan_free(c.list.at);
	return err;
}
