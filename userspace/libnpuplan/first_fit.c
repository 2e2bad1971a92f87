// SPDX-License-Identifier: MIT
#include "first_fit.h"

#include <errno.h>
#include <stdlib.h>

#define UNPLACED UINT64_MAX

/**
 * struct fit - one run of first fit
 * @taken: forbidden addresses of the item at hand; grows as needed
 */
struct fit {
	const struct npuplan_conflicts *conflicts;
	uint64_t *offsets;
	struct npuplan_interval *taken;
	size_t taken_count;
	size_t capacity;
};

static int by_low(const void *left, const void *right)
{
	const struct npuplan_interval *a = left, *b = right;

	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	return a->high < b->high ? -1 : a->high > b->high;
}

/* Collect addr(B) + F(B, A) over the placed peers B of item A. */
static int collect(struct fit *fit, uint32_t item)
{
	const struct npuplan_conflicts *c = fit->conflicts;

	fit->taken_count = 0;
	for (size_t p = c->peer_start[item]; p < c->peer_start[item + 1]; p++) {
		uint64_t base = fit->offsets[c->peers[p].item];
		const struct npuplan_interval *forbidden;
		struct npuplan_interval whole;
		uint32_t count;

		if (base == UNPLACED)
			continue;
		forbidden = npuplan_forbidden(c, item, &c->peers[p], &whole, &count);
		if (fit->taken_count + count > fit->capacity) {
			size_t capacity = 2 * (fit->taken_count + count);
			void *grown = realloc(fit->taken, capacity * sizeof(*fit->taken));

			if (!grown)
				return -ENOMEM;
			fit->taken = grown;
			fit->capacity = capacity;
		}
		for (uint32_t k = 0; k < count; k++)
			fit->taken[fit->taken_count++] = (struct npuplan_interval){
				.low = (int64_t)base + forbidden[k].low,
				.high = (int64_t)base + forbidden[k].high,
			};
	}
	return 0;
}

/* Lowest multiple of @align that is in no taken interval; they get sorted. */
static int64_t lowest(struct fit *fit, uint32_t align)
{
	int64_t address = 0;

	if (fit->taken_count)
		qsort(fit->taken, fit->taken_count, sizeof(*fit->taken), by_low);
	for (size_t i = 0; i < fit->taken_count; i++) {
		/* Intervals are open: at low itself there is room. */
		if (fit->taken[i].low >= address)
			break;
		if (fit->taken[i].high > address)
			address = (fit->taken[i].high + align - 1) & -(int64_t)align;
	}
	return address;
}

static int place_fixed(struct fit *fit, uint32_t item, uint32_t clash[2])
{
	const struct npuplan_conflicts *c = fit->conflicts;
	int64_t address = c->items[item].fixed_offset;

	for (size_t p = c->peer_start[item]; p < c->peer_start[item + 1]; p++) {
		uint64_t base = fit->offsets[c->peers[p].item];
		const struct npuplan_interval *forbidden;
		struct npuplan_interval whole;
		uint32_t count;

		if (base == UNPLACED)
			continue;
		forbidden = npuplan_forbidden(c, item, &c->peers[p], &whole, &count);
		for (uint32_t k = 0; k < count; k++) {
			if (address > (int64_t)base + forbidden[k].low &&
			    address < (int64_t)base + forbidden[k].high) {
				clash[0] = c->peers[p].item;
				clash[1] = item;
				return -EADDRINUSE;
			}
		}
	}
	fit->offsets[item] = address;
	return 0;
}

int npuplan_first_fit(const struct npuplan_conflicts *conflicts, const uint32_t *order,
		      uint32_t alignment, uint64_t *offsets, uint64_t *top, uint64_t *work,
		      uint32_t clash[2])
{
	struct fit fit = { .conflicts = conflicts, .offsets = offsets };
	int err = 0;

	for (uint32_t i = 0; i < conflicts->item_count; i++)
		offsets[i] = UNPLACED;
	for (uint32_t i = 0; i < conflicts->item_count && !err; i++)
		if (conflicts->items[i].fixed)
			err = place_fixed(&fit, i, clash);
	*top = 0;
	for (uint32_t i = 0; i < conflicts->item_count && !err; i++) {
		const struct npuplan_item *item = &conflicts->items[order[i]];

		if (!item->fixed) {
			err = collect(&fit, order[i]);
			if (err)
				break;
			*work += fit.taken_count + 1;
			offsets[order[i]] =
				lowest(&fit, item->align > alignment ? item->align : alignment);
		}
		if (*top < offsets[order[i]] + item->size)
			*top = offsets[order[i]] + item->size;
	}
	free(fit.taken);
	return err;
}
