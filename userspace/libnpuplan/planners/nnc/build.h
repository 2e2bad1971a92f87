/* SPDX-License-Identifier: MIT */
/* NNC: one construction of the allocation graph, and which items it inserts next. */
#pragma once

#include "nnc.h"

/*
 * struct npuplan_nnc_order - in which order things are looked at
 * @rank: per item, 1..: place in the order of access
 * @by_rank: items in that order
 * @promoted: per item: edges that it is thought to have besides its own, so that it
 *	is inserted earlier
 */
struct npuplan_nnc_order {
	uint32_t *rank;
	uint32_t *by_rank;
	uint64_t *promoted;
};

/* As npuplan_nnc(), without its rounds. Alignment is not 0. */
int npuplan_nnc_build(const struct npuplan_conflicts *conflicts,
		      const struct npuplan_nnc_options *options,
		      const struct npuplan_nnc_order *order, uint64_t *offsets, uint64_t *work,
		      uint32_t clash[2]);

/*
 * struct npuplan_nnc_candidates - items not inserted, and tuples of them by the rules of nnc.h
 * @rank: per item, place in the order of access
 * @edges: per item, edges in the interference graph, and what it is promoted by
 * @by_edges: items, most edges first, of these the largest, the earliest accessed
 * @set, @set_count: set 1 is by_edges[set .. set + set_count)
 * @rest: first of by_edges after it with fewer edges
 * @next, @previous: items, the largest first, of these that with most edges, the
 *	earliest accessed: a circular list, whose head is number item_count
 * @inserted: per item
 * @second, @third: per item, its companions, if @known and not inserted meanwhile;
 *	NPUPLAN_NNC_SINK: none
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

/* All items, in arrays of @pool. Cost O(n log n). -ENOMEM. */
int npuplan_nnc_candidates_init(struct npuplan_nnc_candidates *candidates,
				struct npuplan_pool *pool,
				const struct npuplan_conflicts *conflicts,
				const struct npuplan_nnc_order *order);

void npuplan_nnc_candidates_remove(struct npuplan_nnc_candidates *candidates, uint32_t item);

/** npuplan_nnc_candidates_next() - bring set 1 up to date; false: all are inserted */
bool npuplan_nnc_candidates_next(struct npuplan_nnc_candidates *candidates);

/* npuplan_nnc_candidates_tuple() - candidate of an item of set 1 and @count - 1 others
 *
 * False: there are not that many.
 */
bool npuplan_nnc_candidates_tuple(struct npuplan_nnc_candidates *candidates, uint32_t lead,
				  uint32_t count, struct npuplan_nnc_tuple *tuple);

/** npuplan_nnc_tuple_before() - whether candidate @a is tried before @b */
bool npuplan_nnc_tuple_before(const struct npuplan_nnc_candidates *candidates,
			      const struct npuplan_nnc_tuple *a, const struct npuplan_nnc_tuple *b);

/* npuplan_nnc_interfere() - whether two items must not be at displacement d
 * @d: address of @b minus that of @a
 */
bool npuplan_nnc_interfere(const struct npuplan_conflicts *conflicts, uint32_t a, uint32_t b,
			   int64_t d);
