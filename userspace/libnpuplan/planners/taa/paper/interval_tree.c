// SPDX-License-Identifier: MIT
#include "interval_tree.h"

#include <errno.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/sorted.h"

NPUPLAN_ORDER(by_start, struct npuplan_interval_node, start, number)

int npuplan_interval_tree_init(struct npuplan_interval_tree *tree, const uint32_t *first,
			       const uint32_t *last, size_t size, uint32_t count)
{
	*tree = (struct npuplan_interval_tree){
		.nodes = calloc((size_t)count + 1, sizeof(*tree->nodes)),
		.place = calloc((size_t)count + 1, sizeof(*tree->place)),
		.count = count,
	};
	if (!tree->nodes || !tree->place)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		tree->nodes[i] = (struct npuplan_interval_node){
			.start = *(const uint32_t *)((const char *)first + i * size),
			.end = *(const uint32_t *)((const char *)last + i * size),
			.number = i,
		};
	qsort(tree->nodes, count, sizeof(*tree->nodes), by_start);
	for (uint32_t i = 0; i < count; i++)
		tree->place[tree->nodes[i].number] = i;
	return 0;
}

void npuplan_interval_tree_fini(struct npuplan_interval_tree *tree)
{
	free_all(tree->nodes, tree->place);
}

void npuplan_interval_tree_insert(struct npuplan_interval_tree *tree, uint32_t interval)
{
	uint32_t place = tree->place[interval], low = 0, high = tree->count;
	uint64_t reach = (uint64_t)tree->nodes[place].end + 1;

	tree->nodes[place].present = true;
	for (;;) {
		uint32_t middle = low + (high - low) / 2;

		if (tree->nodes[middle].reach < reach)
			tree->nodes[middle].reach = reach;
		if (place == middle)
			return;
		if (place < middle)
			high = middle;
		else
			low = middle + 1;
	}
}

struct tree_visit {
	const struct npuplan_interval_tree *tree;
	uint32_t first;
	uint32_t last;
	bool (*visit)(void *context, uint32_t interval);
	void *context;
};

/* The recursion is O(log n) deep. */
static bool search_below(const struct tree_visit *search, uint32_t low, uint32_t high)
{
	uint32_t middle = low + (high - low) / 2;
	const struct npuplan_interval_node *node = &search->tree->nodes[middle];

	/* No interval below this node ends late enough. */
	if (low >= high || node->reach <= search->first)
		return true;
	if (!search_below(search, low, middle))
		return false;
	/* This interval and all after it start too late. */
	if (node->start > search->last)
		return true;
	if (node->present && node->end >= search->first &&
	    !search->visit(search->context, node->number))
		return false;
	return search_below(search, middle + 1, high);
}

bool npuplan_interval_tree_visit(const struct npuplan_interval_tree *tree, uint32_t first,
				 uint32_t last, bool (*visit)(void *context, uint32_t interval),
				 void *context)
{
	struct tree_visit search = { tree, first, last, visit, context };

	return search_below(&search, 0, tree->count);
}
