/* SPDX-License-Identifier: MIT */
/*
 * The tree that a best-first search grows, of traffic (search.c) or of peak footprint (mpmf.c):
 * nodes, each reached from its parent by operators that run, and the queue of those to expand.
 */
#pragma once

#include "planners/cosma/bound/bounds.h"
#include "planners/cosma/model/run.h"
#include "planners/cosma/model/stays.h"

/*
 * struct cosma_node - state that has been reached
 * @evicted, @run: tensors evicted, then operators run, from the parent to here: so many, from
 *	@path on in @paths of the tree
 * @dominated: by another one of its downset
 * @cost: so far; @bound: with what is still to come, at least; COSMA_NEVER: it leads nowhere
 */
struct cosma_node {
	uint32_t downset;
	uint32_t parent;
	uint32_t run;
	uint32_t evicted : 31;
	uint32_t dominated : 1;
	uint32_t path;
	int64_t cost;
	int64_t bound;
};

/*
 * struct cosma_tree
 * @board: of the node that is expanded; @child: what becomes of it
 * @trail: path to @child, with room for the longest, of @longest numbers
 */
struct cosma_tree {
	const struct cosma_model *model;
	struct cosma_run *run;
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

/* @model, @run and @longest are set, all else is 0. -ENOMEM: fini, all the same. */
int cosma_tree_init(struct cosma_tree *tree);
void cosma_tree_fini(struct cosma_tree *tree);

/*
 * Adds a node, reached by @trail: into the queue, too, unless it leads nowhere. -ENOMEM; -E2BIG:
 * 2^31 nodes, or numbers of paths
 */
int cosma_tree_add(struct cosma_tree *tree, struct cosma_node node);
/* Puts a node into the queue, and takes the first one out of it. -ENOMEM */
int cosma_tree_push(struct cosma_tree *tree, uint32_t id);
uint32_t cosma_tree_take(struct cosma_tree *tree);

/* Whether all operators have run. */
static inline bool cosma_tree_is_complete(const struct cosma_tree *tree, uint32_t id)
{
	return tree->downsets.downset[tree->node[id].downset].done == tree->model->op_count;
}

/* The way to a node; its cost is the node's. -ENOMEM */
int cosma_tree_path(const struct cosma_tree *tree, uint32_t last, struct cosma_path *path);
