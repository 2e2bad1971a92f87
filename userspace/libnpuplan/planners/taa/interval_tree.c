// SPDX-License-Identifier: MIT
#include "interval_tree.h"
#include "base/heap.h"

#include <errno.h>
#include <stdlib.h>

static int by_start(const void *left, const void *right, void *context)
{
	const uint32_t *starts = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	if (starts[a] != starts[b])
		return starts[a] < starts[b] ? -1 : 1;
	return a < b ? -1 : a > b;
}

int npuplan_interval_tree_init(struct npuplan_interval_tree *tree, const uint32_t *starts,
			       const uint32_t *ends, uint32_t count)
{
	size_t n = count;

	*tree = (struct npuplan_interval_tree){
		.order = malloc(n * sizeof(*tree->order) + 1),
		.place = malloc(n * sizeof(*tree->place) + 1),
		.start = malloc(n * sizeof(*tree->start) + 1),
		.end = malloc(n * sizeof(*tree->end) + 1),
		.reach = calloc(n + 1, sizeof(*tree->reach)),
		.present = calloc(n + 1, sizeof(*tree->present)),
		.count = count,
	};
	if (!tree->order || !tree->place || !tree->start || !tree->end || !tree->reach ||
	    !tree->present) {
		npuplan_interval_tree_fini(tree);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++)
		tree->order[i] = i;
	qsort_r(tree->order, n, sizeof(*tree->order), by_start, (void *)(uintptr_t)starts);
	for (uint32_t i = 0; i < count; i++) {
		tree->place[tree->order[i]] = i;
		tree->start[i] = starts[tree->order[i]];
		tree->end[i] = ends[tree->order[i]];
	}
	return 0;
}

void npuplan_interval_tree_fini(struct npuplan_interval_tree *tree)
{
	free_all(tree->order, tree->place, tree->start, tree->end, tree->reach, tree->present);
	*tree = (struct npuplan_interval_tree){ 0 };
}

void npuplan_interval_tree_insert(struct npuplan_interval_tree *tree, uint32_t interval)
{
	uint32_t place = tree->place[interval], low = 0, high = tree->count;
	uint64_t reach = (uint64_t)tree->end[place] + 1;

	tree->present[place] = true;
	for (;;) {
		uint32_t middle = low + (high - low) / 2;

		if (tree->reach[middle] < reach)
			tree->reach[middle] = reach;
		if (place == middle)
			return;
		if (place < middle)
			high = middle;
		else
			low = middle + 1;
	}
}

struct search {
	const struct npuplan_interval_tree *tree;
	uint32_t first;
	uint32_t last;
	bool (*visit)(void *context, uint32_t interval);
	void *context;
};

/* The recursion is O(log n) deep. */
static bool search_below(const struct search *search, uint32_t low, uint32_t high)
{
	const struct npuplan_interval_tree *tree = search->tree;
	uint32_t middle = low + (high - low) / 2;

	/* Nothing below ends late enough. */
	if (low >= high || tree->reach[middle] <= search->first)
		return true;
	if (!search_below(search, low, middle))
		return false;
	/* This one and all after it start too late. */
	if (tree->start[middle] > search->last)
		return true;
	if (tree->present[middle] && tree->end[middle] >= search->first &&
	    !search->visit(search->context, tree->order[middle]))
		return false;
	return search_below(search, middle + 1, high);
}

bool npuplan_interval_tree_visit(const struct npuplan_interval_tree *tree, uint32_t first,
				 uint32_t last, bool (*visit)(void *context, uint32_t interval),
				 void *context)
{
	struct search search = { tree, first, last, visit, context };

	return search_below(&search, 0, tree->count);
}
