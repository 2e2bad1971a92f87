/* SPDX-License-Identifier: MIT */
/* State of the exact search: what search.c, pack/search/state.c and pack/search/rank.c share. */
#pragma once

#include "base/bitset.h"
#include "obstacles.h"
#include "search.h"

#define NPUPLAN_NOWHERE	      INT32_MAX
/* Columns of the table of lowest addresses that are looked through at a time. */
#define NPUPLAN_LANES	      4
#define NPUPLAN_SECTION_BLOCK (4 * NPUPLAN_LANES)

typedef int32_t npuplan_lanes __attribute__((vector_size(4 * NPUPLAN_LANES), may_alias));
typedef int32_t npuplan_unaligned_lanes
	__attribute__((vector_size(4 * NPUPLAN_LANES), may_alias, aligned(4)));

/** struct npuplan_moved - an item had this lowest address before */
struct npuplan_moved {
	uint32_t item;
	int32_t low;
};

/** struct npuplan_floors - the sections of a block had these floors before */
struct npuplan_floors {
	int32_t floor[NPUPLAN_SECTION_BLOCK];
	uint32_t block;
};

/*
 * struct npuplan_state - all lengths in units
 *
 * What does not change.
 *
 * @pool: of all arrays that do not grow
 * @obstacles: fixed items, which are in no section
 * @first, @end: per item, its sections; none of a fixed one
 * @size, @align: per item
 * @peers: of item i, in its way, peers[peer_start[i] .. peer_start[i + 1])
 * @members: of section s members[member_start[s] .. member_start[s + 1])
 * @row: per item; items of one row do not meet
 * @rows, @columns: of the table; a column a section, NPUPLAN_SECTION_BLOCK at a time
 *
 * What is decided.
 *
 * @rank: per item; the lower, the sooner it is tried
 * @limit: per item, highest address that it may have
 * @low: per item, lowest address that it can still have; NPUPLAN_NOWHERE: placed
 * @lows: the same as a table, row by row: an item fills its sections of its row
 * @place: per item, where it is placed
 * @floor: per section, least @low of its unplaced items; NPUPLAN_NOWHERE: all are
 *	placed
 * @total: per section, size of its unplaced items
 * @weight: per section, past failures
 * @dirty: per block of sections, whether floors are to be found anew
 * @from, @to: blocks among which these are
 * @moved: for undoing: lowest addresses before
 * @floors: for undoing: a block's floors before
 * @why: set of items: whose lowest addresses made the last decision fail
 * @words: of such a set
 */
struct npuplan_state {
	const struct npuplan_units *units;
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

/* Lengths in units that addresses stay within; larger problems are not searched. */
#define NPUPLAN_MAX_UNITS ((int64_t)1 << 29)

/* pack/search/state.c. Room for a value a section, block by block; NULL: no memory. */
void *npuplan_aligned_array(struct npuplan_pool *pool, size_t count);
/* npuplan_state_fini() it in any case. -ENOMEM; -E2BIG: items too large, or too many that meet */
int npuplan_state_init(struct npuplan_state *state, const struct npuplan_units *units);
void npuplan_state_fini(struct npuplan_state *state);
/* Everything unplaced, for packings of at most @top bytes; false: there are none. */
bool npuplan_state_reset(struct npuplan_state *state, uint64_t top);
/* Place at its lowest address; nobody lies there. False: fails, for the reason @why. */
bool npuplan_state_place(struct npuplan_state *state, uint32_t item);
bool npuplan_state_waste(struct npuplan_state *state, const uint32_t *items, uint32_t count);
/* Back to where so much had been moved; @placed is NPUMEM_NONE after waste. */
void npuplan_state_undo(struct npuplan_state *state, size_t moved, size_t floors, uint32_t placed);
/* For sections [from, to): how many items lie at the floor, into count[from .. to). */
void npuplan_state_count(struct npuplan_state *state, uint32_t from, uint32_t to, int32_t *count);

/* pack/search/rank.c: fill state->rank. */
int npuplan_rank(struct npuplan_state *state, const struct npuplan_strategy *strategy,
		 const uint64_t *incumbent);
