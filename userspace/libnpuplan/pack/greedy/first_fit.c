// SPDX-License-Identifier: MIT
#include "first_fit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/align.h"
#include "base/array.h"
#include "base/heap.h"
#include "base/sorted.h"
#include "occupancy.h"

#define UNPLACED  UINT64_MAX
/* Work units between two questions whether to give up. */
#define ASK_EVERY 20000

/*
 * struct npuplan_fit - the items that are placed, and where there is room
 * @taken: intervals of addresses that are forbidden to the item at hand; grows as needed
 * @placed: placed items by address, @placed_count of them
 * @marked: per item, whether it is a peer of the item at hand
 * @occupancy: used instead of all these if peers are not @listed
 * @best: place by best fit instead of first fit
 */
struct npuplan_fit {
	const struct npuplan_conflicts *conflicts;
	uint64_t *offsets;
	struct npuplan_interval *taken;
	size_t taken_count;
	uint32_t capacity;
	uint32_t *placed;
	size_t placed_count;
	bool *marked;
	struct npuplan_occupancy occupancy;
	bool listed;
	bool best;
};

NPUPLAN_ORDER(by_low, struct npuplan_interval, low, high)

/* Add the intervals of addresses that one placed peer forbids to @item. */
static int take(struct npuplan_fit *fit, uint32_t item, const struct npuplan_peer *placed)
{
	uint64_t base = fit->offsets[placed->item];
	const struct npuplan_interval *forbidden;
	struct npuplan_interval whole;
	uint32_t count;

	forbidden = npuplan_forbidden(fit->conflicts, item, placed, &whole, &count);
	if (npuplan_reserve(&fit->taken, &fit->capacity, fit->taken_count + count,
			    sizeof(*fit->taken)))
		return -ENOMEM;
	for (uint32_t k = 0; k < count; k++)
		fit->taken[fit->taken_count++] = (struct npuplan_interval){
			.low = (int64_t)base + forbidden[k].low,
			.high = (int64_t)base + forbidden[k].high,
		};
	return 0;
}

/*
 * Collect forbidden addresses without sorting, for an item with many peers that are all whole: this
 * goes through all placed items by address. The lower ends of the intervals that peers forbid to
 * one item are in the order of the peers' addresses.
 */
static int collect_in_order(struct npuplan_fit *fit, uint32_t item)
{
	const struct npuplan_conflicts *c = fit->conflicts;
	size_t begin = c->peer_start[item], end = c->peer_start[item + 1];
	int err = 0;

	for (size_t p = begin; p < end; p++)
		fit->marked[c->peers[p].item] = true;
	for (size_t i = 0; i < fit->placed_count && !err; i++)
		if (fit->marked[fit->placed[i]])
			err = take(fit, item, &(struct npuplan_peer){ .item = fit->placed[i] });
	for (size_t p = begin; p < end; p++)
		fit->marked[c->peers[p].item] = false;
	return err;
}

/* Collect addr(B) + F(B, A) for all placed peers B of item A, in ascending order. */
static int collect(struct npuplan_fit *fit, uint32_t item)
{
	const struct npuplan_conflicts *c = fit->conflicts;
	bool in_order = c->peer_start[item + 1] - c->peer_start[item] > fit->placed_count / 8;

	fit->taken_count = 0;
	for (size_t p = c->peer_start[item]; p < c->peer_start[item + 1] && in_order; p++)
		in_order = !c->peers[p].interval_count;
	if (in_order)
		return collect_in_order(fit, item);
	for (size_t p = c->peer_start[item]; p < c->peer_start[item + 1]; p++)
		if (fit->offsets[c->peers[p].item] != UNPLACED && take(fit, item, &c->peers[p]))
			return -ENOMEM;
	if (fit->taken_count)
		qsort(fit->taken, fit->taken_count, sizeof(*fit->taken), by_low);
	return 0;
}

int npuplan_fit_put(struct npuplan_fit *fit, uint32_t item, uint64_t offset)
{
	size_t low;

	fit->offsets[item] = offset;
	if (!fit->listed)
		return npuplan_occupancy_put(&fit->occupancy, item, offset,
					     fit->conflicts->items[item].size);
	low = npuplan_bisect(at, 0, fit->placed_count, fit->offsets[fit->placed[at]] <= offset);
	memmove(fit->placed + low + 1, fit->placed + low,
		(fit->placed_count - low) * sizeof(*fit->placed));
	fit->placed[low] = item;
	fit->placed_count++;
	return 0;
}

/*
 * The lowest multiple of @align that is not below @from, itself a multiple, and in no taken
 * interval. Best fit takes the lowest one in the smallest hole between two intervals that has one.
 */
static int64_t lowest(const struct npuplan_fit *fit, uint32_t align, int64_t from)
{
	int64_t address = from, smallest = INT64_MAX, found = -1;

	for (size_t i = 0; i < fit->taken_count; i++) {
		/* Intervals are open, so there is room at low itself. */
		if (fit->taken[i].low >= address) {
			if (!fit->best)
				return address;
			if (fit->taken[i].low - address < smallest) {
				smallest = fit->taken[i].low - address;
				found = address;
			}
		}
		if (fit->taken[i].high > address)
			address = npuplan_align_up(fit->taken[i].high, align);
	}
	return found < 0 ? address : found;
}

/*
 * Place an item of fixed offset where peers are not listed; @clash: out: it and the fixed item that
 * is in its way.
 */
static int place_fixed_unlisted(struct npuplan_fit *fit, uint32_t item, uint32_t clash[2])
{
	const struct npuplan_item *items = fit->conflicts->items, *mine = &items[item];
	uint64_t address = mine->fixed_offset, work = 0;

	if (npuplan_occupancy_lowest(&fit->occupancy, item, mine->size, 1, address, false, &work) ==
	    address)
		return npuplan_fit_put(fit, item, address);
	for (uint32_t i = 0; i < item; i++) {
		if (items[i].fixed && items[i].start <= mine->end && mine->start <= items[i].end &&
		    items[i].fixed_offset < address + mine->size &&
		    address < items[i].fixed_offset + items[i].size) {
			clash[0] = i;
			break;
		}
	}
	clash[1] = item;
	return -EADDRINUSE;
}

int npuplan_fit_put_fixed(struct npuplan_fit *fit, uint32_t item, uint32_t clash[2])
{
	const struct npuplan_conflicts *c = fit->conflicts;
	int64_t address = c->items[item].fixed_offset;

	if (!fit->listed)
		return place_fixed_unlisted(fit, item, clash);
	for (size_t p = c->peer_start[item]; p < c->peer_start[item + 1]; p++) {
		uint64_t base = fit->offsets[c->peers[p].item];

		if (base != UNPLACED &&
		    npuplan_is_forbidden(c, item, &c->peers[p], address - (int64_t)base)) {
			clash[0] = c->peers[p].item;
			clash[1] = item;
			return -EADDRINUSE;
		}
	}
	return npuplan_fit_put(fit, item, address);
}

int npuplan_fit_lowest(struct npuplan_fit *fit, uint32_t item, uint32_t align, uint64_t from,
		       uint64_t *address, uint64_t *work)
{
	int err;

	from = npuplan_align_up(from, align);
	if (!fit->listed) {
		*address = npuplan_occupancy_lowest(&fit->occupancy, item,
						    fit->conflicts->items[item].size, align, from,
						    fit->best, work);
		return 0;
	}
	err = collect(fit, item);
	if (err)
		return err;
	*work += fit->taken_count + 1;
	*address = (uint64_t)lowest(fit, align, (int64_t)from);
	return 0;
}

static int place_all(struct npuplan_fit *fit, const uint32_t *order, uint32_t alignment,
		     const struct npuplan_until *until, uint64_t *top, uint64_t *work,
		     uint32_t clash[2])
{
	const struct npuplan_conflicts *c = fit->conflicts;
	uint64_t asked = *work;
	int err = 0;

	for (uint32_t i = 0; i < c->item_count && !err; i++)
		if (c->items[i].fixed)
			err = npuplan_fit_put_fixed(fit, i, clash);
	*top = 0;
	for (uint32_t i = 0; i < c->item_count && !err; i++) {
		const struct npuplan_item *item = &c->items[order[i]];
		uint64_t address;

		if (until && *work - asked >= ASK_EVERY) {
			asked = *work;
			if (npuplan_until_over(until))
				return -EINTR;
		}
		if (!item->fixed) {
			err = npuplan_fit_lowest(fit, order[i],
						 item->align > alignment ? item->align : alignment,
						 0, &address, work);
			if (!err)
				err = npuplan_fit_put(fit, order[i], address);
		}
		if (!err && *top < fit->offsets[order[i]] + item->size)
			*top = fit->offsets[order[i]] + item->size;
	}
	return err;
}

int npuplan_fit_new(struct npuplan_fit **out, const struct npuplan_conflicts *conflicts,
		    uint64_t *offsets)
{
	size_t n = conflicts->item_count;
	struct npuplan_fit *fit = npuplan_calloc(1, sizeof(*fit));
	int err = fit ? 0 : -ENOMEM;

	*out = fit;
	if (err)
		return err;
	fit->conflicts = conflicts;
	fit->offsets = offsets;
	fit->listed = conflicts->peer_start;
	for (size_t i = 0; i < n; i++)
		offsets[i] = UNPLACED;
	if (fit->listed) {
		fit->placed = npuplan_malloc(n * sizeof(*fit->placed) + 1);
		fit->marked = npuplan_calloc(n + 1, sizeof(*fit->marked));
		err = fit->placed && fit->marked ? 0 : -ENOMEM;
	} else {
		err = npuplan_occupancy_init(&fit->occupancy, conflicts->items,
					     conflicts->item_count);
	}
	if (err) {
		npuplan_fit_free(fit);
		*out = NULL;
	}
	return err;
}

void npuplan_fit_free(struct npuplan_fit *fit)
{
	if (!fit)
		return;
	npuplan_occupancy_fini(&fit->occupancy);
	npuplan_free_all(fit->taken, fit->placed, fit->marked, fit);
}

int npuplan_first_fit(const struct npuplan_conflicts *conflicts, const uint32_t *order,
		      uint32_t alignment, bool best, const struct npuplan_until *until,
		      uint64_t *offsets, uint64_t *top, uint64_t *work, uint32_t clash[2])
{
	struct npuplan_fit *fit;
	int err = npuplan_fit_new(&fit, conflicts, offsets);

	if (err)
		return err;
	fit->best = best;
	err = place_all(fit, order, alignment, until, top, work, clash);
	npuplan_fit_free(fit);
	return err;
}
