/* SPDX-License-Identifier: MIT */
/*
 * Forbidden displacements: all that a packer needs to know.
 *
 * Whether two items A and B, placed at addresses a and b, are in each other's way depends on d = b
 * - a alone. F(A, B) is the set of forbidden d, a union of open intervals; F(B, A) is its mirror
 * image. Two whole tensors that live together forbid (-size(B), +size(A)); two that do not forbid
 * nothing, and are no peers. Tiles may forbid several intervals, and an in-place operator takes a
 * point out of one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/effort.h"

/** struct npuplan_interval - an open interval: displacements d with low < d < high are forbidden */
struct npuplan_interval {
	int64_t low;
	int64_t high;
};

/**
 * struct npuplan_peer - an item that conflicts with another one, and the displacements that it
 * forbids
 * @item: the peer
 * @interval_count: number of intervals of F(peer, this), whose d is this item's address minus the
 *	peer's; 0 stands for the one interval of two whole items
 * @first_interval: the first of them in npuplan_conflicts.intervals
 */
struct npuplan_peer {
	uint32_t item;
	uint32_t interval_count;
	size_t first_interval;
};

/*
 * struct npuplan_conflicts - F of all pairs of items
 *
 * Conflicts are either listed pair by pair or, if @peer_start is NULL, by overlap: two items are
 * peers if their live ranges overlap, and both are whole. Tens of thousands of items that live long
 * have more pairs than memory holds.
 *
 * @items: @item_count items; not owned
 * @peers: those of item i are peers[peer_start[i] .. peer_start[i + 1]), ascending
 */
struct npuplan_conflicts {
	const struct npuplan_item *items;
	size_t *peer_start;
	struct npuplan_peer *peers;
	struct npuplan_interval *intervals;
	uint32_t item_count;
};

/* The bytes that a listed pair takes, which is listed for both of its items. */
#define NPUPLAN_PAIR_BYTES (2 * sizeof(struct npuplan_peer))
/* The most pairs that are listed, which take 2 GiB. */
#define NPUPLAN_MAX_PAIRS  (1u << 26)

/* npuplan_conflicts_whole() - list conflicts of items that have all their bytes for all their life
 *
 * Takes O(n log n + pairs) time. -E2BIG: there are more pairs than NPUPLAN_MAX_PAIRS; -ENOMEM.
 */
int npuplan_conflicts_whole(struct npuplan_conflicts *conflicts, const struct npuplan_item *items,
			    uint32_t item_count);
/* npuplan_conflicts_list() - npuplan_conflicts_whole() with a limit of pairs of the caller's
 * @until: may be NULL
 *
 * -E2BIG: there are more than @most pairs; -EINTR: @until said to give up; -ENOMEM.
 */
int npuplan_conflicts_list(struct npuplan_conflicts *conflicts, const struct npuplan_item *items,
			   uint32_t item_count, size_t most, const struct npuplan_until *until);
/*
 * npuplan_conflicts_overlap() - the same conflicts by overlap, unlisted; only first fit takes them
 */
void npuplan_conflicts_overlap(struct npuplan_conflicts *conflicts,
			       const struct npuplan_item *items, uint32_t item_count);

/*
 * struct npuplan_pair - two items that conflict, with the intervals of F(@a, @b)
 * @b: another item than @a; a displacement is its address minus @a's
 * @interval_count: number of intervals; 0: both items are whole
 */
struct npuplan_pair {
	uint32_t a;
	uint32_t b;
	uint32_t interval_count;
	size_t first_interval;
};

/* npuplan_conflicts_pairs() - list conflicts that are given pair by pair, in any order, each once
 * @intervals: intervals of the pairs; those of one pair are ascending and disjoint, and none is
 *	empty
 *
 * -EINVAL: the pairs or intervals are not so; -ENOMEM.
 */
int npuplan_conflicts_pairs(struct npuplan_conflicts *conflicts, const struct npuplan_item *items,
			    uint32_t item_count, const struct npuplan_pair *pairs,
			    size_t pair_count, const struct npuplan_interval *intervals);

/* struct npuplan_permit - a displacement of two items that is allowed though they conflict
 * @d: the displacement: address of @b minus address of @a
 */
struct npuplan_permit {
	uint32_t a;
	uint32_t b;
	int64_t d;
};

/* npuplan_conflicts_permit() - take displacements out of what is forbidden
 * @permits: @count permits, which are sorted. A permit for items that are no peers, or at which
 *	they do not meet anyway, has no effect
 *
 * -EINVAL: conflicts are not listed, or there is no such item; -ENOMEM.
 */
int npuplan_conflicts_permit(struct npuplan_conflicts *conflicts, struct npuplan_permit *permits,
			     size_t count);

/** npuplan_find_peer() - entry of @peer in the list of @item's peers; NULL: it is not in it */
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

/* The highest end of an item with a fixed offset, in bytes: no packing is lower; 0: none. */
static inline uint64_t npuplan_fixed_top(const struct npuplan_item *items, uint32_t count)
{
	uint64_t top = 0;

	for (uint32_t i = 0; i < count; i++)
		if (items[i].fixed && items[i].fixed_offset + items[i].size > top)
			top = items[i].fixed_offset + items[i].size;
	return top;
}

/* npuplan_forbidden() - the intervals of F(peer, item), in ascending order
 * @whole: room for one interval, which is filled in and returned for two whole items
 */
const struct npuplan_interval *npuplan_forbidden(const struct npuplan_conflicts *conflicts,
						 uint32_t item, const struct npuplan_peer *peer,
						 struct npuplan_interval *whole, uint32_t *count);

/* Whether @item, in whose list @peer is, must not lie @d bytes above the peer's address. */
bool npuplan_is_forbidden(const struct npuplan_conflicts *conflicts, uint32_t item,
			  const struct npuplan_peer *peer, int64_t d);
