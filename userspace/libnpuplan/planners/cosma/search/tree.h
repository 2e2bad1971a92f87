/* SPDX-License-Identifier: MIT */
/*
 * The tree that a best-first search grows, for traffic (search.c) or for peak footprint (mpmf.c):
 * nodes, of which each is reached from its parent by operators that run, and the queue of those to
 * expand.
 */
#pragma once

#include "planners/cosma/bound/bounds.h"
#include "planners/cosma/model/call.h"
#include "planners/cosma/model/stays.h"

/*
 * struct cosma_node - a state that has been reached
 * @downset, @parent: numbers; @parent is NPUMEM_NONE for the first node
 * @evicted: tensors that are evicted on the way from the parent to here
 * @ops: number of operators that then run
 * @path: place of these tensors and operators in the tree's @paths
 * @dominated: another state of its downset dominates this one
 * @cost: so far
 * @bound: cost with what is still to come, at least; COSMA_NEVER: it leads nowhere
 */
struct cosma_node {
	uint32_t downset;
	uint32_t parent;
	uint32_t ops;
	uint32_t evicted : 31;
	uint32_t dominated : 1;
	uint32_t path;
	int64_t cost;
	int64_t bound;
};

/*
 * struct cosma_tree - nodes and queue of a search
 * @board: of the node that is expanded
 * @child: board of what becomes of it
 * @queue: nodes to expand
 * @trail: path to @child, with room for the longest
 * @longest: numbers of the longest path
 * @paths: all nodes' paths
 * @pool: owns @trail
 */
struct cosma_tree {
	const struct cosma_model *model;
	struct cosma_call *call;
	struct cosma_downsets downsets;
	struct cosma_board board;
	struct cosma_board child;
	struct cosma_node *node;
	uint32_t *queue;
	uint32_t *trail;
	uint32_t *paths;
	uint32_t node_count;
	uint32_t queue_count;
	uint32_t longest;
	uint32_t paths_used;
	struct npuplan_pool pool;
};

/*
 * Makes an empty tree, of which @model, @call and @longest are set. -ENOMEM: cosma_tree_fini() it,
 * all the same.
 */
int cosma_tree_init(struct cosma_tree *tree);
void cosma_tree_fini(struct cosma_tree *tree);

/*
 * Adds a node, which is reached by @trail, and puts it into the queue unless it leads nowhere.
 * -ENOMEM; -E2BIG: there are 2^31 nodes, or numbers of paths.
 */
int cosma_tree_add(struct cosma_tree *tree, struct cosma_node node);
/* Puts a node into the queue, or takes the first one out of it. -ENOMEM */
int cosma_tree_push(struct cosma_tree *tree, uint32_t id);
uint32_t cosma_tree_take(struct cosma_tree *tree);

/* Whether all operators have run. */
static inline bool cosma_tree_is_complete(const struct cosma_tree *tree, uint32_t id)
{
	return tree->downsets.downset[tree->node[id].downset].done == tree->model->op_count;
}

/* Makes the path to a node, whose cost is the node's. -ENOMEM */
int cosma_tree_path(const struct cosma_tree *tree, uint32_t last, struct cosma_path *path);
