// SPDX-License-Identifier: MIT
/* The tree of a best-first search: nodes, their paths, and the queue. */
#include "tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/queue.h"

/* The node of less bound comes first, then the one that is further. */
static bool is_sooner(const struct cosma_tree *tree, const uint32_t *a, const uint32_t *b)
{
	const struct cosma_node *x = &tree->node[*a], *y = &tree->node[*b];
	uint32_t done_x = tree->downsets.downset[x->downset].done;
	uint32_t done_y = tree->downsets.downset[y->downset].done;

	if (x->bound != y->bound)
		return x->bound < y->bound;
	if (done_x != done_y)
		return done_x > done_y;
	return *a < *b;
}

NPUPLAN_QUEUE(queue, uint32_t, struct cosma_tree, is_sooner)

int cosma_tree_push(struct cosma_tree *tree, uint32_t id)
{
	if (npuplan_grow(&tree->queue, tree->queue_count, sizeof(*tree->queue)))
		return -ENOMEM;
	queue_put(tree, tree->queue, tree->queue_count++, id);
	return 0;
}

uint32_t cosma_tree_take(struct cosma_tree *tree)
{
	return queue_take(tree, tree->queue, tree->queue_count--);
}

int cosma_tree_init(struct cosma_tree *tree)
{
	int err = cosma_downsets_init(&tree->downsets, tree->model);

	err = err ? err : cosma_board_init(&tree->board, tree->model);
	err = err ? err : cosma_board_init(&tree->child, tree->model);
	tree->trail = npuplan_pool_take(&tree->pool, tree->longest, sizeof(*tree->trail));
	return tree->trail ? err : -ENOMEM;
}

void cosma_tree_fini(struct cosma_tree *tree)
{
	cosma_downsets_fini(&tree->downsets);
	cosma_board_fini(&tree->board);
	cosma_board_fini(&tree->child);
	npuplan_free_all(tree->node, tree->queue, tree->paths);
	npuplan_pool_free(&tree->pool);
}

int cosma_tree_add(struct cosma_tree *tree, struct cosma_node node)
{
	uint32_t id = tree->node_count;
	int err;

	/* The bound of a child is never below its parent's. */
	if (node.parent != NPUMEM_NONE && tree->node[node.parent].bound > node.bound)
		node.bound = tree->node[node.parent].bound;
	node.path = tree->paths_used;
	err = npuplan_append(&tree->paths, &tree->paths_used, tree->trail, node.evicted + node.ops);
	err = err ? err : npuplan_append(&tree->node, &tree->node_count, &node, 1);
	if (err)
		return err;
	tree->downsets.downset[node.downset].states = id;
	return node.bound == COSMA_NEVER ? 0 : cosma_tree_push(tree, id);
}

int cosma_tree_path(const struct cosma_tree *tree, uint32_t last, struct cosma_path *path)
{
	uint32_t at = tree->model->op_count, gone = 0;

	for (uint32_t id = last; id != NPUMEM_NONE; id = tree->node[id].parent)
		gone += tree->node[id].evicted;
	if (cosma_path_init(path, at, gone))
		return -ENOMEM;
	path->cost = tree->node[last].cost;
	path->first[at] = gone;
	for (uint32_t id = last; id != NPUMEM_NONE; id = tree->node[id].parent) {
		const struct cosma_node *node = &tree->node[id];
		const uint32_t *from = tree->paths + node->path;

		at -= node->ops;
		memcpy(path->order + at, from + node->evicted, node->ops * sizeof(*from));
		for (uint32_t k = node->ops; k-- > 1;)
			path->first[at + k] = gone;
		gone -= node->evicted;
		memcpy(path->evicted + gone, from, node->evicted * sizeof(*from));
		path->first[at] = gone;
	}
	return 0;
}
