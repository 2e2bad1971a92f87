/* SPDX-License-Identifier: MIT */
/*
 * An interval tree finds which of the intervals that were put in overlap a given one. It is a
 * balanced search tree by start, whose nodes have the greatest end below them (section III-A of the
 * TAA paper). All intervals are known beforehand, so the tree is an array in the order of start, in
 * which the root of a range is its middle.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* struct npuplan_interval_node - an interval of instants, both ends included
 * @number: number of the interval
 * @reach: one more than the greatest end of the intervals that are in at or below the node; 0: none
 *	is
 * @present: whether the node's own interval is in
 */
struct npuplan_interval_node {
	uint32_t start;
	uint32_t end;
	uint32_t number;
	bool present;
	uint64_t reach;
};

/*
 * struct npuplan_interval_tree - the nodes by start
 * @place: per interval, its place in @nodes
 */
struct npuplan_interval_tree {
	struct npuplan_interval_node *nodes;
	uint32_t *place;
	uint32_t count;
};

/* npuplan_interval_tree_init() - make a tree of all intervals, with none of them in it yet
 * @first, @last: first and last instant of interval 0; first <= last in all
 * @size: bytes from the instants of one interval to those of the next
 *
 * The caller calls npuplan_interval_tree_fini() in any case. -ENOMEM.
 */
int npuplan_interval_tree_init(struct npuplan_interval_tree *tree, const uint32_t *first,
			       const uint32_t *last, size_t size, uint32_t count);
void npuplan_interval_tree_fini(struct npuplan_interval_tree *tree);

/* Put an interval in, in O(log n). */
void npuplan_interval_tree_insert(struct npuplan_interval_tree *tree, uint32_t interval);

/* npuplan_interval_tree_visit() - visit the intervals that are in the tree and overlap [first,
 * last]
 * @visit: called with each of them, in the order of start, until it returns false
 *
 * Takes O(log n + number of visited intervals). Returns whether @visit has never returned false.
 */
bool npuplan_interval_tree_visit(const struct npuplan_interval_tree *tree, uint32_t first,
				 uint32_t last, bool (*visit)(void *context, uint32_t interval),
				 void *context);
