/* SPDX-License-Identifier: MIT */
/*
 * NNC: one construction of the allocation graph, and the choice of the items that it inserts next.
 */
#pragma once

#include "nnc.h"

/**
 * struct npuplan_nnc_order - the order of access, and the order in which items are inserted
 * @rank: per item, its place in the order of access, from 1 on
 * @by_rank: the items in that order
 * @promoted: per item, edges of the interference graph that it counts as having besides its own, so
 *	that it is inserted earlier
 */
struct npuplan_nnc_order {
	uint32_t *rank;
	uint32_t *by_rank;
	uint64_t *promoted;
};

/* npuplan_nnc() without its rounds; the alignment is not 0. */
int npuplan_nnc_build(const struct npuplan_conflicts *conflicts,
		      const struct npuplan_nnc_options *options,
		      const struct npuplan_nnc_order *order, uint64_t *offsets, uint64_t *work,
		      uint32_t clash[2]);

/*
 * struct npuplan_nnc_candidates - the items that are not inserted, and tuples of them by the rules
 * of nnc.h
 * @rank: per item, its place in the order of access
 * @edges: per item, its edges in the interference graph, and those that it is promoted by
 * @by_edges: the items: most edges first, then the larger one, then the one accessed earlier
 * @set, @set_count: set 1 is by_edges[set .. set + set_count)
 * @rest: place in by_edges of the first item after set 1
 * @next, @previous: the items in a circular list, whose head is number item_count: the largest
 *	first, then the one with more edges, then the one accessed earlier
 * @inserted: per item, whether it is inserted
 * @second, @third: per item, its companions, if @known and not inserted meanwhile;
 *	NPUPLAN_NNC_SINK: it has none
 */
struct npuplan_nnc_candidates {
	const struct npuplan_conflicts *conflicts;
	const uint32_t *rank;
	uint64_t *edges;
	uint32_t *by_edges;
	uint32_t set;
	uint32_t set_count;
	uint32_t rest;
	uint32_t *next;
	uint32_t *previous;
	bool *inserted;
	bool *known;
	uint32_t *second;
	uint32_t *third;
};

/* Begin with all items, in arrays of @pool; takes O(n log n) time. -ENOMEM. */
int npuplan_nnc_candidates_init(struct npuplan_nnc_candidates *candidates,
				struct npuplan_pool *pool,
				const struct npuplan_conflicts *conflicts,
				const struct npuplan_nnc_order *order);

void npuplan_nnc_candidates_remove(struct npuplan_nnc_candidates *candidates, uint32_t item);

/** npuplan_nnc_candidates_next() - update set 1; false: all items are inserted */
bool npuplan_nnc_candidates_next(struct npuplan_nnc_candidates *candidates);

/* npuplan_nnc_candidates_tuple() - make the candidate of an item of set 1 and @count - 1 others
 *
 * False: there are not so many others.
 */
bool npuplan_nnc_candidates_tuple(struct npuplan_nnc_candidates *candidates, uint32_t lead,
				  uint32_t count, struct npuplan_nnc_tuple *tuple);

/** npuplan_nnc_tuple_before() - whether candidate @a is tried before @b */
bool npuplan_nnc_tuple_before(const struct npuplan_nnc_candidates *candidates,
			      const struct npuplan_nnc_tuple *a, const struct npuplan_nnc_tuple *b);

/* npuplan_nnc_interfere() - whether two items may not be at displacement d
 * @d: address of @b minus that of @a
 */
bool npuplan_nnc_interfere(const struct npuplan_conflicts *conflicts, uint32_t a, uint32_t b,
			   int64_t d);
