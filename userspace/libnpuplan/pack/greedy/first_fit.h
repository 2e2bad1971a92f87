/* SPDX-License-Identifier: MIT */
/* First fit: each item at the lowest address that its placed peers allow. */
#pragma once

#include "problem/conflicts.h"

/*
 * enum npuplan_order - order in which first fit places items
 *
 * Size, duration and peers are TAA's three (Tensor Allocation Algorithm), breadth
 * is Pisarchyk & Lee's (arXiv 2001.03288, section 4). Ties: larger first, then
 * earlier, then lower index.
 */
enum npuplan_order {
	NPUPLAN_BY_SIZE,      /* largest first */
	NPUPLAN_BY_DURATION,  /* longest live range first */
	NPUPLAN_BY_PEERS,     /* most peers first */
	NPUPLAN_BY_BREADTH,   /* of the instant with most bytes live first */
	NPUPLAN_BY_START,     /* earliest first: the order of execution */
	NPUPLAN_BY_AREA,      /* largest size times duration first */
	NPUPLAN_BY_CONFLICTS, /* most bytes of peers first */
	NPUPLAN_ORDER_COUNT,
	/* Largest first, ties by lower index alone, as TFLM's greedy planner has it. */
	NPUPLAN_BY_SIZE_ALONE,
	/* Largest size times the fourth root of duration first: best for ten thousands. */
	NPUPLAN_BY_SIZE_DURATION,
};

/** npuplan_order_items() - fill @order with the items' numbers */
int npuplan_order_items(const struct npuplan_conflicts *conflicts, enum npuplan_order rule,
			uint32_t *order);

/* npuplan_tight_key() - the greater, the sooner to place an item, if memory is tight
 * @roots: times that the fourth root of the duration counts, 0 to 2
 * @breadth: most bytes live at one instant of its life; @most: of all
 * @squares: how much that counts: to the power of 2^(@squares - 1), or not at all
 *
 * Up to 2^113.
 */
unsigned __int128 npuplan_tight_key(uint64_t size, uint64_t duration, unsigned int roots,
				    uint64_t breadth, uint64_t most, unsigned int squares);

/* Peers of each item, without listing them if they are not. -ENOMEM. */
int npuplan_count_peers(const struct npuplan_conflicts *conflicts, uint64_t *counts);

/* npuplan_first_fit() - place all items, those with a fixed offset first
 * @order: permutation of the items
 * @alignment: of every offset, besides the items' own; power of two
 * @best: best fit: each item in the smallest hole that holds it, above everything only if no hole
 *	does. As TFLite's arena does it, if the order is by size
 * @until: may be NULL
 * @offsets: out: per item
 * @top: out: first byte above all
 * @work: intervals looked at are added
 * @clash: out, on -EADDRINUSE: two items whose fixed offsets collide
 *
 * Sizes and fixed offsets may add up to at most 2^62. Cost O(peers log peers)
 * an item. -EINTR: given up, and there is no packing; -ENOMEM.
 */
int npuplan_first_fit(const struct npuplan_conflicts *conflicts, const uint32_t *order,
		      uint32_t alignment, bool best, const struct npuplan_until *until,
		      uint64_t *offsets, uint64_t *top, uint64_t *work, uint32_t clash[2]);

/*
 * The same, step by step, for planners that choose the next item by what is
 * placed already.
 */
struct npuplan_fit;

/* npuplan_fit_new() - nothing is placed
 * @offsets: per item; not owned; filled in as items are placed
 *
 * -ENOMEM
 */
int npuplan_fit_new(struct npuplan_fit **out, const struct npuplan_conflicts *conflicts,
		    uint64_t *offsets);
void npuplan_fit_free(struct npuplan_fit *fit);

/* npuplan_fit_lowest() - lowest address that the placed peers allow
 * @align: power of two
 * @from: no lower than that
 * @work: intervals looked at are added
 *
 * Cost O(peers log peers). -ENOMEM.
 */
int npuplan_fit_lowest(struct npuplan_fit *fit, uint32_t item, uint32_t align, uint64_t from,
		       uint64_t *address, uint64_t *work);

/* Place an item that is not placed, at an address that its placed peers allow. -ENOMEM. */
int npuplan_fit_put(struct npuplan_fit *fit, uint32_t item, uint64_t offset);

/* npuplan_fit_put_fixed() - place an item of fixed offset
 * @clash: out, on -EADDRINUSE: two items whose fixed offsets collide
 *
 * Before all others, in ascending order. -ENOMEM.
 */
int npuplan_fit_put_fixed(struct npuplan_fit *fit, uint32_t item, uint32_t clash[2]);
