/* SPDX-License-Identifier: MIT */
/*
 * The state of the exact search, which search.c, pack/search/state.c and pack/search/rank.c share.
 */
#pragma once

#include "base/bitset.h"
#include "obstacles.h"
#include "search.h"

#define NPUPLAN_NOWHERE	       INT32_MAX
/*
 * The columns of the table of lowest addresses that are looked through at a time: those of a
 * vector, and those of a stripe of four vectors.
 */
#define NPUPLAN_LANES	       4
#define NPUPLAN_SECTION_STRIPE (4 * NPUPLAN_LANES)

typedef int32_t npuplan_lanes __attribute__((vector_size(4 * NPUPLAN_LANES), may_alias));
typedef int32_t npuplan_unaligned_lanes
	__attribute__((vector_size(4 * NPUPLAN_LANES), may_alias, aligned(4)));

/** struct npuplan_moved - for undoing: an item and its lowest address before */
struct npuplan_moved {
	uint32_t item;
	int32_t low;
};

/** struct npuplan_floors - for undoing: the floors of a stripe of sections before */
struct npuplan_floors {
	int32_t floor[NPUPLAN_SECTION_STRIPE];
	uint32_t stripe;
};

/*
 * struct npuplan_state - the problem and what the search has decided; all lengths are in granules
 *
 * These members do not change.
 *
 * @pool: memory of all arrays that do not grow
 * @obstacles: the fixed items, which are in no section
 * @first, @end: per item, its sections [first, end); a fixed one has none
 * @size, @align: per item, its size and alignment
 * @peers: those of item i are peers[peer_start[i] .. peer_start[i + 1])
 * @members: items of section s are members[member_start[s] .. member_start[s + 1])
 * @row: per item, its row of the table; items of one row do not live at once
 * @rows, @columns: number of rows and columns of the table; there is a column for each section,
 *	rounded up to whole stripes (NPUPLAN_SECTION_STRIPE)
 *
 * These members change with every decision.
 *
 * @rank: per item: the lower, the sooner it is tried
 * @limit: per item, the highest address that it may have
 * @low: per item, the lowest address that it can still have; NPUPLAN_NOWHERE: it is placed
 * @lows: @low as a table, row by row: an item has its lowest address in its row, in the columns of
 *	its sections
 * @place: per item, the address at which it is placed
 * @floor: per section, the least @low of its unplaced items; NPUPLAN_NOWHERE: all are placed
 * @total: per section, the sizes of its unplaced items, summed up
 * @weight: per section, how often it has made a decision fail
 * @dirty: per stripe of sections, whether its floors are to be found anew
 * @from, @to: the stripes among which the dirty ones are
 * @moved: for undoing: the lowest addresses before, in the order in which they were changed
 * @floors: for undoing: the floors of stripes before, likewise
 * @why: the set of items whose lowest addresses made the last decision fail
 * @words: number of words of such a set
 */
struct npuplan_state {
	const struct npuplan_granules *granules;
	struct npuplan_pool pool;
	struct npuplan_obstacles obstacles;
	uint32_t n;
	uint32_t section_count;
	uint32_t *first;
	uint32_t *end;
	int32_t *size;
	int32_t *align;
	size_t *peer_start;
	uint32_t *peers;
	size_t *member_start;
	uint32_t *members;
	uint32_t *row;
	uint32_t rows;
	uint32_t columns;

	int64_t capacity;
	uint32_t left;
	uint32_t *rank;
	int32_t *limit;
	int32_t *low;
	npuplan_lanes *lows;
	int32_t *place;
	int32_t *floor;
	int32_t *total;
	double *weight;
	uint8_t *dirty;
	uint32_t from;
	uint32_t to;
	struct npuplan_moved *moved;
	size_t moved_count;
	uint32_t moved_capacity;
	struct npuplan_floors *floors;
	size_t floors_count;
	uint32_t floors_capacity;
	uint64_t *why;
	size_t words;
	uint64_t work;
	bool out_of_memory;
};

/* The greatest length in granules; larger problems are not searched. */
#define NPUPLAN_MAX_GRANULES ((int64_t)1 << 29)

/* An array with a value for each section, aligned for whole stripes; NULL: no memory. */
void *npuplan_aligned_array(struct npuplan_pool *pool, size_t count);
/*
 * Prepare the state for a problem. The caller calls npuplan_state_fini() in any case. -ENOMEM;
 * -E2BIG: items are too large, or too many of them live at once.
 */
int npuplan_state_init(struct npuplan_state *state, const struct npuplan_granules *granules);
void npuplan_state_fini(struct npuplan_state *state);
/* Begin with all items unplaced, for packings of at most @top bytes; false: there are none. */
bool npuplan_state_reset(struct npuplan_state *state, uint64_t top);
/*
 * Two ways to decide: place an item at its lowest address, or have none of @items, which are all
 * those at the floor, lie there. False: this fails, and state->why says because of which items.
 */
bool npuplan_state_place(struct npuplan_state *state, uint32_t item);
bool npuplan_state_waste(struct npuplan_state *state, const uint32_t *items, uint32_t count);
/*
 * Undo a decision: go back to where the lists of moved items and floors had these lengths. @placed
 * is the item that was placed, or NPUMEM_NONE after waste.
 */
void npuplan_state_undo(struct npuplan_state *state, size_t moved, size_t floors, uint32_t placed);
/* Count, for sections [from, to), the items at the floor, into count[from .. to). */
void npuplan_state_count(struct npuplan_state *state, uint32_t from, uint32_t to, int32_t *count);

/* Fill state->rank by a strategy (pack/search/rank.c). -ENOMEM. */
int npuplan_rank(struct npuplan_state *state, const struct npuplan_strategy *strategy,
		 const uint64_t *incumbent);
