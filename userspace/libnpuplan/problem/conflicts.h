/* SPDX-License-Identifier: MIT */
/*
 * Forbidden displacements: all that a packer needs to know.
 *
 * Two items A and B placed at addresses a and b are in each other's way or not
 * by d = b - a alone. F(A, B) is the set of forbidden d, a union of open
 * intervals; F(B, A) is its mirror image. Whole tensors that live together
 * forbid (-size(B), +size(A)); those that do not forbid nothing and are no
 * peers. Tiles forbid several intervals, an in-place operator takes a point out
 * of one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/effort.h"

/** struct npuplan_interval - forbids d with low < d < high */
struct npuplan_interval {
	int64_t low;
	int64_t high;
};

/**
 * struct npuplan_peer - other item, and the displacements that it forbids
 * @item: the peer
 * @interval_count: intervals of F(peer, this): d is this one's address minus
 *	the peer's. 0 is short for the one interval of two whole items
 * @first_interval: in npuplan_conflicts.intervals
 */
struct npuplan_peer {
	uint32_t item;
	uint32_t interval_count;
	size_t first_interval;
};

/*
 * struct npuplan_conflicts - F of all pairs
 *
 * Listed pair by pair, or, if @peer_start is NULL, not listed: two items are
 * peers if their live ranges overlap, and both are whole. Ten thousands of items
 * that live long have more pairs than memory holds.
 *
 * @items: not owned
 * @peers: of item i peers[peer_start[i] .. peer_start[i + 1]), ascending
 */
struct npuplan_conflicts {
	const struct npuplan_item *items;
	size_t *peer_start;
	struct npuplan_peer *peers;
	struct npuplan_interval *intervals;
	uint32_t item_count;
};

/* Bytes that a listed pair takes: it is listed for both. */
#define NPUPLAN_PAIR_BYTES (2 * sizeof(struct npuplan_peer))
/* Pairs of items that are listed, at most: 2 GiB. */
#define NPUPLAN_MAX_PAIRS  (1u << 26)

/* npuplan_conflicts_whole() - of items that hold all their bytes all the time
 *
 * Cost O(n log n + pairs). -E2BIG more than NPUPLAN_MAX_PAIRS; -ENOMEM.
 */
int npuplan_conflicts_whole(struct npuplan_conflicts *conflicts, const struct npuplan_item *items,
			    uint32_t item_count);
/* npuplan_conflicts_list() - the same, of no more than @most pairs
 * @until: may be NULL
 *
 * -E2BIG: there are more; -EINTR: given up; -ENOMEM.
 */
int npuplan_conflicts_list(struct npuplan_conflicts *conflicts, const struct npuplan_item *items,
			   uint32_t item_count, size_t most, const struct npuplan_until *until);
/** npuplan_conflicts_overlap() - the same, not listed; for first fit alone */
void npuplan_conflicts_overlap(struct npuplan_conflicts *conflicts,
			       const struct npuplan_item *items, uint32_t item_count);

/*
 * struct npuplan_pair - two items with intervals of F(@a, @b)
 * @b: another item than @a; d is its address minus @a's
 * @interval_count: 0: both are whole
 */
struct npuplan_pair {
	uint32_t a;
	uint32_t b;
	uint32_t interval_count;
	size_t first_interval;
};

/* npuplan_conflicts_pairs() - of pairs in any order, each once
 * @intervals: those of a pair ascending, disjoint, none empty
 *
 * -EINVAL: not so; -ENOMEM.
 */
int npuplan_conflicts_pairs(struct npuplan_conflicts *conflicts, const struct npuplan_item *items,
			    uint32_t item_count, const struct npuplan_pair *pairs,
			    size_t pair_count, const struct npuplan_interval *intervals);

/* struct npuplan_permit - a displacement that is not forbidden after all
 * @d: address of @b minus that of @a
 */
struct npuplan_permit {
	uint32_t a;
	uint32_t b;
	int64_t d;
};

/* npuplan_conflicts_permit() - take points out of what is forbidden
 * @permits: put into order. Pairs that are no peers, and displacements at which
 *	the items do not meet, are passed over
 *
 * -EINVAL: conflicts are not listed, or an item is none; -ENOMEM.
 */
int npuplan_conflicts_permit(struct npuplan_conflicts *conflicts, struct npuplan_permit *permits,
			     size_t count);

/** npuplan_find_peer() - entry of @peer among those of @item, which are listed; NULL: it is none */
struct npuplan_peer *npuplan_find_peer(const struct npuplan_conflicts *conflicts, uint32_t item,
				       uint32_t peer);

/** npuplan_any_fixed() - whether any item has a fixed offset */
static inline bool npuplan_any_fixed(const struct npuplan_item *items, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (items[i].fixed)
			return true;
	return false;
}

void npuplan_conflicts_fini(struct npuplan_conflicts *conflicts);

/* The highest end of an item with a fixed offset, in bytes, below which no packing goes; 0: none. */
static inline uint64_t npuplan_fixed_top(const struct npuplan_item *items, uint32_t count)
{
	uint64_t top = 0;

	for (uint32_t i = 0; i < count; i++)
		if (items[i].fixed && items[i].fixed_offset + items[i].size > top)
			top = items[i].fixed_offset + items[i].size;
	return top;
}

/* npuplan_forbidden() - intervals of F(peer, item), in ascending order
 * @whole: room for one, which is what is returned for two whole items
 */
const struct npuplan_interval *npuplan_forbidden(const struct npuplan_conflicts *conflicts,
						 uint32_t item, const struct npuplan_peer *peer,
						 struct npuplan_interval *whole, uint32_t *count);

/* Whether @item, listed with @peer, must not be at the peer's address and @d. */
bool npuplan_is_forbidden(const struct npuplan_conflicts *conflicts, uint32_t item,
			  const struct npuplan_peer *peer, int64_t d);
