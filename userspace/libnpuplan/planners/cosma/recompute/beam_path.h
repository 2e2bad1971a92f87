/* SPDX-License-Identifier: MIT */
/* How a beam came to its states, and the clones that follow from it. */
#pragma once

#include "beam.h"
#include "planners/cosma/model/model.h"

/*
 * struct beam_node - a run of an operator
 * @parent: the run before it; NPUMEM_NONE: none
 * @op: of the model
 * @first: of those of its inputs, in the path's @fills, that were filled for it; they end where
 *	those of the next node begin
 * @again: it is not the operator's first run
 */
struct beam_node {
	uint32_t parent;
	uint32_t op;
	uint32_t first;
	bool again;
};

/* struct beam_path - a tree of runs */
struct beam_path {
	struct beam_node *nodes;
	uint32_t *fills;
	uint32_t node_count;
	uint32_t node_room;
	uint32_t fill_count;
	uint32_t fill_room;
};

/* Appends a run behind *@node, which becomes the new one. -ENOMEM */
int beam_path_run(struct beam_path *path, uint32_t *node, uint32_t op, bool again);
/* Has a tensor filled for the run that was appended last. -ENOMEM */
int beam_path_fill(struct beam_path *path, uint32_t tensor);
void beam_path_fini(struct beam_path *path);

/* beam_path_clones() - what runs again on the way to a node, as clones of the graph's operators
 * @set: out; empty if nobody reads what they make. -ENOMEM
 */
int beam_path_clones(const struct beam_path *path, uint32_t node, const struct cosma_model *model,
		     const struct npuplan_graph *graph, struct cosma_clone_set *set);
