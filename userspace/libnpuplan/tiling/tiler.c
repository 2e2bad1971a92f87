// SPDX-License-Identifier: MIT
#include "tiler.h"

#include <stdlib.h>
#include <string.h>

void npuplan_graph_untile(struct npuplan_graph *graph)
{
	for (uint32_t i = 0; i < graph->step_count; i++)
		free(graph->steps[i].name);
	free_all(graph->steps, graph->accesses, graph->tiles);
	graph->steps = NULL;
	graph->accesses = NULL;
	graph->tiles = NULL;
	graph->step_count = 0;
	graph->access_count = 0;
	graph->tile_count = 0;
	for (uint32_t i = 0; i < graph->block_count; i++)
		graph->blocks[i].first_step = graph->blocks[i].step_count = 0;
	npuplan_tiling_fini(&graph->tiling);
	graph->tiling.layout = graph->layout;
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
	return 0;
}

void npuplan_tiler_fini(struct npuplan_tiler *tiler, int err)
{
	struct npuplan_graph *graph = tiler->graph;

	if (err && graph)
		npuplan_graph_untile(graph);
	/* Blocks without steps stand between those that have some. */
	for (uint32_t i = 1; graph && i < graph->block_count; i++)
		graph->blocks[i].first_step =
			graph->blocks[i - 1].first_step + graph->blocks[i - 1].step_count;
	npuplan_table_fini(&tiler->table);
	free(tiler->accesses);
	free(tiler->place);
}

static int64_t find_tile(struct npuplan_tiler *tiler, uint32_t tensor,
			 const struct npumem_region *region)
{
	struct npumem_tile tile = { .tensor = tensor, .region = *region };
	uint32_t slot;
	int64_t added;
	int err;

	err = npuplan_table_find(&tiler->table, tiler->graph->tiles, tiler->graph->tile_count,
				 sizeof(tile), &tile, &slot);
	if (err)
		return err;
	if (tiler->table.index[slot] != NPUMEM_NONE)
		return tiler->table.index[slot];
	err = npuplan_grow(&tiler->place, tiler->graph->tile_count, sizeof(*tiler->place));
	if (err)
		return err;
	added = npuplan_graph_add_tile(tiler->graph, tensor, region);
	if (added >= 0) {
		tiler->table.index[slot] = added;
		tiler->place[added] = 0;
	}
	return added;
}

/* Whether a tensor, or the one that it is part of, is a parameter. */
static bool is_parameter(const struct npuplan_tiler *tiler, uint32_t tensor)
{
	uint32_t base = npuplan_base_of(tiler->graph, tensor);

	return tiler->graph->tensors[base].kind == NPUMEM_TENSOR_PARAMETER;
}

int npuplan_tiler_access(struct npuplan_tiler *tiler, uint32_t tensor,
			 const struct npumem_region *region, uint32_t mode)
{
	uint32_t place;
	int64_t tile;
	int err;

	if (is_parameter(tiler, tensor) && !tiler->with_parameters)
		return 0;
	tile = find_tile(tiler, tensor, region);
	if (tile < 0)
		return tile;
	place = tiler->place[tile];
	if (place < tiler->access_count && tiler->accesses[place].tile == tile) {
		if (tiler->accesses[place].mode != mode)
			tiler->accesses[place].mode = NPUMEM_ACCESS_UPDATE;
		return 0;
	}
	err = npuplan_grow(&tiler->accesses, tiler->access_count, sizeof(*tiler->accesses));
	if (err)
		return err;
	tiler->place[tile] = tiler->access_count;
	tiler->accesses[tiler->access_count++] = (struct npumem_access){
		.tile = tile,
		.mode = mode,
		.inplace = NPUMEM_NONE,
	};
	return 0;
}

/* The access of a region in the step in the making; NULL if there is none. */
static struct npumem_access *find_access(struct npuplan_tiler *tiler, uint32_t tensor,
					 const struct npumem_region *region, uint32_t mode)
{
	int64_t tile = find_tile(tiler, tensor, region);
	uint32_t place;

	if (tile < 0)
		return NULL;
	place = tiler->place[tile];
	if (place >= tiler->access_count || tiler->accesses[place].tile != tile ||
	    tiler->accesses[place].mode != mode)
		return NULL;
	return &tiler->accesses[place];
}

void npuplan_tiler_inplace(struct npuplan_tiler *tiler, uint32_t read,
			   const struct npumem_region *read_region, uint32_t write,
			   const struct npumem_region *write_region)
{
	struct npumem_access *source, *target;

	/* Parameters are read again in the next inference. */
	if (is_parameter(tiler, read) ||
	    npuplan_base_of(tiler->graph, read) == npuplan_base_of(tiler->graph, write) ||
	    npuplan_region_bytes(read_region) != npuplan_region_bytes(write_region))
		return;
	source = find_access(tiler, read, read_region, NPUMEM_ACCESS_READ);
	target = find_access(tiler, write, write_region, NPUMEM_ACCESS_WRITE);
	if (source && target)
		target->inplace = (uint32_t)(source - tiler->accesses);
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
