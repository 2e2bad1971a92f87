// SPDX-License-Identifier: MIT
#include "tiler.h"

#include <stdlib.h>
#include <string.h>

static void clear_tiling(struct npuplan_graph *graph)
{
	for (uint32_t i = 0; i < graph->step_count; i++)
		free(graph->steps[i].name);
	free(graph->steps);
	free(graph->accesses);
	free(graph->tiles);
	graph->steps = NULL;
	graph->accesses = NULL;
	graph->tiles = NULL;
	graph->step_count = 0;
	graph->access_count = 0;
	graph->tile_count = 0;
	graph->blocks[0].step_count = 0;
	graph->bands = 0;
	graph->with_parameters = false;
}

int npuplan_tiler_init(struct npuplan_tiler *tiler, struct npuplan_graph *graph,
		       bool with_parameters, struct npuplan_error *error)
{
	memset(tiler, 0, sizeof(*tiler));
	if (graph->step_count || graph->tile_count)
		return npuplan_fail(error, -EINVAL, "graph %s is tiled already", graph->name);
	if (!graph->op_count)
		return npuplan_fail(error, -EINVAL, "graph %s has no operators", graph->name);
	tiler->graph = graph;
	tiler->with_parameters = with_parameters;
	tiler->tile_head = malloc(graph->tensor_count * sizeof(*tiler->tile_head) + 1);
	if (!tiler->tile_head)
		return npuplan_fail(error, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < graph->tensor_count; i++)
		tiler->tile_head[i] = NPUMEM_NONE;
	return 0;
}

void npuplan_tiler_fini(struct npuplan_tiler *tiler, int err)
{
	if (err && tiler->graph)
		clear_tiling(tiler->graph);
	free(tiler->tile_head);
	free(tiler->tile_next);
	free(tiler->accesses);
}

static int64_t find_tile(struct npuplan_tiler *tiler, uint32_t tensor,
			 const struct npumem_region *region)
{
	struct npuplan_graph *graph = tiler->graph;
	int64_t tile;
	int err;

	for (uint32_t i = tiler->tile_head[tensor]; i != NPUMEM_NONE; i = tiler->tile_next[i])
		if (!memcmp(&graph->tiles[i].region, region, sizeof(*region)))
			return i;
	err = npuplan_grow(&tiler->tile_next, graph->tile_count, sizeof(*tiler->tile_next));
	if (err)
		return err;
	tile = npuplan_graph_add_tile(graph, tensor, region);
	if (tile < 0)
		return tile;
	tiler->tile_next[tile] = tiler->tile_head[tensor];
	tiler->tile_head[tensor] = tile;
	return tile;
}

int npuplan_tiler_access(struct npuplan_tiler *tiler, uint32_t tensor,
			 const struct npumem_region *region, uint32_t mode)
{
	int64_t tile;
	int err;

	if (tiler->graph->tensors[tensor].kind == NPUMEM_TENSOR_PARAMETER &&
	    !tiler->with_parameters)
		return 0;
	tile = find_tile(tiler, tensor, region);
	if (tile < 0)
		return tile;
	for (uint32_t i = 0; i < tiler->access_count; i++) {
		if (tiler->accesses[i].tile == tile) {
			if (tiler->accesses[i].mode != mode)
				tiler->accesses[i].mode = NPUMEM_ACCESS_UPDATE;
			return 0;
		}
	}
	err = npuplan_grow(&tiler->accesses, tiler->access_count, sizeof(*tiler->accesses));
	if (err)
		return err;
	tiler->accesses[tiler->access_count++] = (struct npumem_access){
		.tile = tile,
		.mode = mode,
		.inplace = NPUMEM_NONE,
	};
	return 0;
}

int npuplan_tiler_step(struct npuplan_tiler *tiler, uint32_t op, uint32_t index, uint32_t count,
		       uint32_t flags, struct npuplan_error *error)
{
	const char *op_name = tiler->graph->ops[op].name;
	struct npuplan_step step = { .op = op, .tile_index = index, .flags = flags };
	int64_t added;

	if (!tiler->access_count)
		return npuplan_fail(error, -EINVAL,
				    "operator %s accesses no tensor (parameters left out)",
				    op_name);
	if (tiler->graph->access_count + (uint64_t)tiler->access_count >
	    npuv_default_limits.max_accesses)
		return npuplan_fail(error, -E2BIG,
				    "operator %s: the tiling has more than %llu accesses", op_name,
				    (unsigned long long)npuv_default_limits.max_accesses);
	if (count > 1) {
		if (asprintf(&step.name, "%s[%u/%u]", op_name, index, count) < 0)
			return npuplan_fail(error, -ENOMEM, "out of memory");
	} else {
		step.name = strdup(op_name);
		if (!step.name)
			return npuplan_fail(error, -ENOMEM, "out of memory");
	}
	added = npuplan_graph_add_step(tiler->graph, &step, tiler->accesses, tiler->access_count);
	free(step.name);
	if (added < 0)
		return npuplan_fail(error, added, "operator %s: %s", op_name, strerror(-added));
	/* npuplan_grow() goes by the count, so a fresh array starts at none. */
	free(tiler->accesses);
	tiler->accesses = NULL;
	tiler->access_count = 0;
	return 0;
}

struct npumem_region npuplan_whole(const struct npuplan_tensor *tensor)
{
	return (struct npumem_region){ .length = tensor->size, .count = { 1, 1, 1 } };
}
