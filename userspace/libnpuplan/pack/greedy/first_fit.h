/* SPDX-License-Identifier: MIT */
/* First fit: each item is placed at the lowest address that its placed peers allow. */
#pragma once

#include "orders.h"
#include "problem/conflicts.h"

/** npuplan_order_items() - fill @order with the items' numbers */
int npuplan_order_items(const struct npuplan_conflicts *conflicts, enum npuplan_order rule,
			uint32_t *order);

/* npuplan_tight_key() - key of an item where memory is tight: the greater, the sooner it is placed
 * @roots: power of the fourth root of the duration, 0 to 2
 * @breadth: the item's breadth; @most: the greatest breadth of all items
 * @squares: the breadth counts to the power of 2^(@squares - 1), or not at all if this is 0
 *
 * The key is at most 2^113.
 */
unsigned __int128 npuplan_tight_key(uint64_t size, uint64_t duration, unsigned int roots,
				    uint64_t breadth, uint64_t most, unsigned int squares);

/* Count the peers of each item, without listing them if they are not listed. -ENOMEM. */
int npuplan_count_peers(const struct npuplan_conflicts *conflicts, uint64_t *counts);

/* npuplan_first_fit() - place all items, first those with a fixed offset, then by @order
 * @order: permutation of the items
 * @alignment: bytes that every offset is a multiple of, besides the items' own alignments; a power
 *	of two
 * @best: best fit: place each item in the smallest hole that holds it, and above everything only if
 *	no hole does. With the order by size, TFLite's arena does this
 * @until: may be NULL
 * @offsets: out: per item
 * @top: out: first byte above all
 * @work: intervals looked at are added
 * @clash: out, on -EADDRINUSE: two items whose fixed offsets collide
 *
 * Sizes and fixed offsets may add up to at most 2^62. An item takes O(peers log peers) time.
 * -EINTR: @until said to give up, and there is no packing; -ENOMEM.
 */
int npuplan_first_fit(const struct npuplan_conflicts *conflicts, const uint32_t *order,
		      uint32_t alignment, bool best, const struct npuplan_until *until,
		      uint64_t *offsets, uint64_t *top, uint64_t *work, uint32_t clash[2]);

/*
 * struct npuplan_fit - first fit item by item, for planners that choose the next item by those that
 * are placed
 */
struct npuplan_fit;

/* npuplan_fit_new() - begin with no item placed
 * @offsets: per item, its address, filled in as it is placed; not owned
 *
 * -ENOMEM
 */
int npuplan_fit_new(struct npuplan_fit **out, const struct npuplan_conflicts *conflicts,
		    uint64_t *offsets);
void npuplan_fit_free(struct npuplan_fit *fit);

/* npuplan_fit_lowest() - find the lowest address that an item's placed peers allow
 * @align: power of two
 * @from: the address is not below this
 * @work: intervals looked at are added
 *
 * Takes O(peers log peers) time. -ENOMEM.
 */
int npuplan_fit_lowest(struct npuplan_fit *fit, uint32_t item, uint32_t align, uint64_t from,
		       uint64_t *address, uint64_t *work);

/* Place an item, which is not placed yet, at an address that its placed peers allow. -ENOMEM. */
int npuplan_fit_put(struct npuplan_fit *fit, uint32_t item, uint64_t offset);

/* npuplan_fit_put_fixed() - place an item of fixed offset
 * @clash: out, on -EADDRINUSE: two items whose fixed offsets collide
 *
 * Items of fixed offset are placed before all others, in ascending order of their numbers. -ENOMEM.
 */
int npuplan_fit_put_fixed(struct npuplan_fit *fit, uint32_t item, uint32_t clash[2]);
