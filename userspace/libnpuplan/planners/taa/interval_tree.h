/* SPDX-License-Identifier: MIT */
/*
 * Interval tree: which of the intervals put in so far overlap a given one. A
 * balanced search tree by start, each node with the greatest end below it
 * (section III-A of the TAA paper). All intervals are known beforehand, so the
 * tree is an array in order of start, the middle of a range its root.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * struct npuplan_interval_tree - intervals of instants, ends included
 * @order: numbers of the intervals by start
 * @place: per interval where in @order it is
 * @start, @end: in the order of @order
 * @reach: per node one more than the greatest end put in below it; 0 for none
 * @present: per node whether its own is in
 */
struct npuplan_interval_tree {
	uint32_t *order;
	uint32_t *place;
	uint32_t *start;
	uint32_t *end;
	uint64_t *reach;
	bool *present;
	uint32_t count;
};

/* @starts, @ends: of interval i; start <= end. Nothing is in yet. -ENOMEM */
int npuplan_interval_tree_init(struct npuplan_interval_tree *tree, const uint32_t *starts,
			       const uint32_t *ends, uint32_t count);
void npuplan_interval_tree_fini(struct npuplan_interval_tree *tree);

/* O(log n) */
void npuplan_interval_tree_insert(struct npuplan_interval_tree *tree, uint32_t interval);

/* npuplan_interval_tree_visit() - intervals in the tree that overlap [first, last]
 * @visit: called with them in order of start, until it returns false
 *
 * O(log n + overlapping ones). Returns whether @visit never returned false.
 */
bool npuplan_interval_tree_visit(const struct npuplan_interval_tree *tree, uint32_t first,
				 uint32_t last, bool (*visit)(void *context, uint32_t interval),
				 void *context);
