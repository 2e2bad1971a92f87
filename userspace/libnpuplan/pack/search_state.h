/* SPDX-License-Identifier: MIT */
/* State of the exact search: what search.c, search_state.c and search_rank.c share. */
#ifndef NPUPLAN_PACK_SEARCH_STATE_H
#define NPUPLAN_PACK_SEARCH_STATE_H

#include "search.h"

#define NPUPLAN_NOWHERE INT64_MAX

/** struct npuplan_moved - an item had this lowest address before */
struct npuplan_moved {
	uint32_t item;
	int64_t low;
};

/** struct npuplan_refloored - a section had this floor before */
struct npuplan_refloored {
	uint32_t section;
	uint32_t count;
	int64_t floor;
};

/**
 * struct npuplan_state - items are numbered by rank; all lengths in units
 * @item: per rank, the problem's item
 * @first, @end: per rank, its sections
 * @size, @align: per rank
 * @limit: per rank, highest address that it may have
 * @low: per rank, lowest address that it can still have; NPUPLAN_NOWHERE: placed
 * @place: per rank, where it is placed
 * @members: per section, its items from section_start[s] on; the first active[s]
 *	of them are not placed
 * @floor, @count: per section, least @low of its unplaced items, and how many
 *	have it; NPUPLAN_NOWHERE: all are placed
 * @total: per section, size of its unplaced items
 * @weight: per section, past failures
 * @stamp: per section, number of the last decision that changed it
 * @dirty: sections whose floors are to be found anew
 * @moved, @refloored: for undoing
 * @why: set of ranks: whose lowest addresses made the last decision fail
 * @words: of such a set
 */
struct npuplan_state {
	const struct npuplan_units *units;
	uint32_t n;
	uint32_t section_count;
	int64_t capacity;
	uint32_t left;
	uint32_t *item;
	uint32_t *first;
	uint32_t *end;
	int64_t *size;
	int64_t *align;
	int64_t *limit;
	int64_t *low;
	int64_t *place;
	size_t *section_start;
	uint32_t *members;
	uint32_t *active;
	int64_t *floor;
	uint32_t *count;
	int64_t *total;
	double *weight;
	uint64_t *stamp;
	uint64_t decision;
	uint32_t *dirty;
	uint32_t dirty_count;
	struct npuplan_moved *moved;
	size_t moved_count;
	size_t moved_capacity;
	struct npuplan_refloored *refloored;
	size_t refloored_count;
	size_t refloored_capacity;
	uint64_t *why;
	size_t words;
	uint64_t work;
	bool out_of_memory;
};

/* search_state.c */
int npuplan_state_init(struct npuplan_state *state, const struct npuplan_units *units);
void npuplan_state_fini(struct npuplan_state *state);
/* Everything unplaced, for packings of at most @top bytes; false: there are none. */
bool npuplan_state_reset(struct npuplan_state *state, uint64_t top);
/* Place at its lowest address; nobody lies there. False: fails, for the reason @why. */
bool npuplan_state_place(struct npuplan_state *state, uint32_t rank);
bool npuplan_state_waste(struct npuplan_state *state, const uint32_t *ranks, uint32_t count);
/* Back to where so much had been moved; @placed is NPUMEM_NONE after waste. */
void npuplan_state_undo(struct npuplan_state *state, size_t moved, size_t refloored,
			uint32_t placed);

/* search_rank.c: fill state->item. */
int npuplan_rank(struct npuplan_state *state, const struct npuplan_strategy *strategy,
		 const uint64_t *guide);

static inline void npuplan_set_add(uint64_t *set, uint32_t rank)
{
	set[rank / 64] |= 1ull << rank % 64;
}

static inline bool npuplan_set_has(const uint64_t *set, uint32_t rank)
{
	return set[rank / 64] >> rank % 64 & 1;
}

#endif /* NPUPLAN_PACK_SEARCH_STATE_H */
