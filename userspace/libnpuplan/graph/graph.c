// SPDX-License-Identifier: MIT
/* Building a graph: tensors, operators, tiles, steps. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/internal.h"

#define MAX_ALIGN 65536u

struct npuplan_graph *npuplan_graph_new(const char *name)
{
	struct npuplan_graph *graph = calloc(1, sizeof(*graph));

	if (!graph)
		return NULL;
	graph->name = strdup(name ? name : "");
	graph->blocks = calloc(1, sizeof(*graph->blocks));
	if (!graph->name || !graph->blocks) {
		npuplan_graph_free(graph);
		return NULL;
	}
	graph->blocks[0].name = NPUMEM_NONE;
	graph->block_count = 1;
	return graph;
}

void npuplan_tiling_fini(struct npuplan_tiling *tiling)
{
	for (uint32_t i = 0; i < tiling->clone_count; i++)
		free(tiling->clones[i].readers);
	for (uint32_t i = 0; i < tiling->link_copy_count; i++)
		free(tiling->link_copies[i].readers);
	free_all(tiling->clones, tiling->carry_copies, tiling->link_copies, tiling->ops,
		 tiling->patches);
	*tiling = (struct npuplan_tiling){ 0 };
}

void npuplan_graph_free(struct npuplan_graph *graph)
{
	if (!graph)
		return;
	for (uint32_t i = 0; i < graph->tensor_count; i++)
		free(graph->tensors[i].name);
	for (uint32_t i = 0; i < graph->op_count; i++) {
		free_all(graph->ops[i].name, graph->ops[i].type, graph->ops[i].inputs,
			 graph->ops[i].outputs);
	}
	for (uint32_t i = 0; i < graph->step_count; i++)
		free(graph->steps[i].name);
	npuplan_tiling_fini(&graph->tiling);
	free_all(graph->name, graph->tensors, graph->ops, graph->tiles, graph->accesses,
		 graph->steps, graph->blocks, graph->edges, graph->carries, graph->joined,
		 graph->concat_inputs, graph->added, graph);
}

int64_t npuplan_graph_add_tensor(struct npuplan_graph *graph, const struct npuplan_tensor *tensor)
{
	struct npuplan_tensor copy = *tensor;
	int err = -ENOMEM;

	if (!copy.align)
		copy.align = 1;
	if (!copy.size || copy.align > MAX_ALIGN || (copy.align & (copy.align - 1)) ||
	    copy.kind > NPUMEM_TENSOR_STATE || (copy.flags & ~NPUMEM_TENSOR_FLAGS) ||
	    copy.dim_count > NPUPLAN_MAX_DIMS)
		return -EINVAL;
	if (!(copy.flags & NPUMEM_TENSOR_FLAG_ALIAS))
		copy.alias_of = NPUMEM_NONE;
	copy.name = strdup(tensor->name ? tensor->name : "");
	if (copy.name)
		err = npuplan_append(&graph->tensors, &graph->tensor_count, &copy, 1);
	if (!err)
		return graph->tensor_count - 1;
	free(copy.name);
	return err;
}

static int copy_indices(uint32_t **copy, const uint32_t *indices, uint32_t count, uint32_t limit)
{
	for (uint32_t i = 0; i < count; i++)
		if (indices[i] >= limit)
			return -EINVAL;
	*copy = malloc(count ? count * sizeof(**copy) : 1);
	if (!*copy)
		return -ENOMEM;
	if (count)
		memcpy(*copy, indices, count * sizeof(**copy));
	return 0;
}

int64_t npuplan_graph_add_op(struct npuplan_graph *graph, const struct npuplan_op *op)
{
	struct npuplan_op copy = *op;
	int err;

	if (op->attrs.spatial > NPUPLAN_MAX_SPATIAL || op->block >= graph->block_count ||
	    (graph->op_count && op->block < graph->ops[graph->op_count - 1].block))
		return -EINVAL;
	copy.inputs = NULL;
	copy.outputs = NULL;
	copy.name = strdup(op->name ? op->name : "");
	copy.type = strdup(op->type ? op->type : "");
	err = copy.name && copy.type ? 0 : -ENOMEM;
	if (!err)
		err = copy_indices(&copy.inputs, op->inputs, op->input_count, graph->tensor_count);
	if (!err)
		err = copy_indices(&copy.outputs, op->outputs, op->output_count,
				   graph->tensor_count);
	if (!err)
		err = npuplan_append(&graph->ops, &graph->op_count, &copy, 1);
	if (!err)
		return graph->op_count - 1;
	free_all(copy.name, copy.type, copy.inputs, copy.outputs);
	return err;
}

int64_t npuplan_graph_add_tile(struct npuplan_graph *graph, uint32_t tensor,
			       const struct npumem_region *region)
{
	const struct npumem_tile tile = { .tensor = tensor, .region = *region };
	int err = -EINVAL;

	if (tensor < graph->tensor_count)
		err = npuplan_append(&graph->tiles, &graph->tile_count, &tile, 1);
	return err ? err : (int64_t)graph->tile_count - 1;
}

static uint32_t block_of(const struct npuplan_graph *graph, uint32_t op)
{
	return op == NPUMEM_NONE ? graph->block_count - 1 : graph->ops[op].block;
}

int64_t npuplan_graph_add_step(struct npuplan_graph *graph, const struct npuplan_step *step,
			       const struct npumem_access *accesses, uint32_t access_count)
{
	struct npuplan_step copy = *step;
	struct npumem_block *block;
	int err = -ENOMEM;

	if (!access_count || (step->op != NPUMEM_NONE && step->op >= graph->op_count))
		return -EINVAL;
	if (graph->step_count &&
	    block_of(graph, step->op) < block_of(graph, graph->steps[graph->step_count - 1].op))
		return -EINVAL;
	for (uint32_t i = 0; i < access_count; i++)
		if (accesses[i].tile >= graph->tile_count)
			return -EINVAL;
	copy.first_access = graph->access_count;
	copy.access_count = access_count;
	copy.name = strdup(step->name ? step->name : "");
	if (copy.name)
		err = npuplan_append(&graph->accesses, &graph->access_count, accesses,
				     access_count);
	if (!err)
		err = npuplan_append(&graph->steps, &graph->step_count, &copy, 1);
	if (err) {
		free(copy.name);
		graph->access_count = copy.first_access;
		return err;
	}
	block = &graph->blocks[block_of(graph, step->op)];
	if (!block->step_count++)
		block->first_step = graph->step_count - 1;
	return graph->step_count - 1;
}

int64_t npuplan_graph_add_block(struct npuplan_graph *graph)
{
	const struct npumem_block block = { .first_step = graph->step_count, .name = NPUMEM_NONE };
	int err = npuplan_append(&graph->blocks, &graph->block_count, &block, 1);

	return err ? err : (int64_t)graph->block_count - 1;
}

int64_t npuplan_graph_add_edge(struct npuplan_graph *graph, uint32_t from, uint32_t to,
			       const struct npumem_carry *carries, uint32_t carry_count)
{
	const struct npumem_edge edge = {
		.from = from,
		.to = to,
		.first_carry = graph->carry_count,
		.carry_count = carry_count,
	};
	int err;

	if (from >= graph->block_count || (to >= graph->block_count && to != NPUMEM_NONE))
		return -EINVAL;
	for (uint32_t i = 0; i < carry_count; i++)
		if (carries[i].from >= graph->tensor_count ||
		    carries[i].to >= graph->tensor_count ||
		    graph->tensors[carries[i].from].size != graph->tensors[carries[i].to].size)
			return -EINVAL;
	err = npuplan_append(&graph->carries, &graph->carry_count, carries, carry_count);
	if (err)
		return err;
	err = npuplan_append(&graph->edges, &graph->edge_count, &edge, 1);
	if (err)
		graph->carry_count = edge.first_carry;
	return err ? err : (int64_t)graph->edge_count - 1;
}
