/* SPDX-License-Identifier: MIT */
/*
 * Interval tree: which of the intervals put in so far overlap a given one. A
 * balanced search tree by start, each node with the greatest end below it
 * (section III-A of the TAA paper). All intervals are known beforehand, so the
 * tree is an array in order of start, the middle of a range its root.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* struct npuplan_interval_node - interval of instants, ends included
 * @number: of the interval
 * @reach: one more than the greatest end put in below the node; 0 for none
 * @present: whether its own is in
 */
struct npuplan_interval_node {
	uint32_t start;
	uint32_t end;
	uint32_t number;
	bool present;
	uint64_t reach;
};

/*
 * struct npuplan_interval_tree - by start
 * @place: per interval where in @nodes it is
 */
struct npuplan_interval_tree {
	struct npuplan_interval_node *nodes;
	uint32_t *place;
	uint32_t count;
};

/* npuplan_interval_tree_init() - nothing is in yet
 * @first, @last: of interval 0; first <= last
 * @size: bytes from those of one interval to those of the next
 *
 * npuplan_interval_tree_fini() in any case. -ENOMEM.
 */
int npuplan_interval_tree_init(struct npuplan_interval_tree *tree, const uint32_t *first,
			       const uint32_t *last, size_t size, uint32_t count);
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
