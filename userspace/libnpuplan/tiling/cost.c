// SPDX-License-Identifier: MIT
#include "cost.h"

#include <stdlib.h>
#include <string.h>

uint64_t npuplan_transfer_cost(const struct npumem_region *region, bool parameter)
{
	uint64_t bytes = npuplan_region_bytes(region), chunks = 1;

	if (!bytes)
		return 0;
	if (!parameter)
		chunks = bytes / region->length;
	bytes /= chunks;
	return chunks * ((bytes + NPUPLAN_BURST - 1) / NPUPLAN_BURST + 1) * NPUPLAN_BURST;
}

/*
 * struct operands - regions of one step: inputs first, then outputs
 * @streamed: per operand whether its region is not the same in all steps
 * @counted: per operand, false for what another operand stands for already
 */
struct operands {
	const struct npuplan_graph *graph;
	const struct npuplan_op *op;
	const struct npuplan_cut *cut;
	uint32_t count;
	struct npumem_region *now;
	struct npumem_region *before;
	bool *streamed;
	bool *counted;
};

static uint32_t tensor_of(const struct operands *o, uint32_t operand)
{
	return operand < o->op->input_count ? o->op->inputs[operand] :
					      o->op->outputs[operand - o->op->input_count];
}

static bool same(const struct npumem_region *a, const struct npumem_region *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* Regions of a step, and who stands for whom in it: a tensor read twice is one. */
static void set_step(struct operands *o, const struct npuplan_grid *grid, uint64_t step)
{
	struct npuplan_part tile;

	if (grid) {
		tile = npuplan_grid_tile(grid, step);
		npuplan_tile_inputs(o->cut, &tile, o->now);
	}
	for (uint32_t i = 0; i < o->count; i++) {
		if (grid && i >= o->op->input_count)
			o->now[i] = npuplan_tile_output(o->cut, tensor_of(o, i), &tile);
		else if (!grid)
			o->now[i] = npuplan_whole(&o->graph->tensors[tensor_of(o, i)]);
		o->counted[i] = true;
		for (uint32_t k = 0; k < i && o->counted[i]; k++)
			o->counted[i] = tensor_of(o, k) != tensor_of(o, i) ||
					!same(&o->now[k], &o->now[i]);
	}
}

static void count_step(struct operands *o, uint64_t step, bool double_buffer,
		       struct npuplan_tile_cost *cost)
{
	uint64_t onchip = 0, most = 0;
	uint32_t largest = NPUMEM_NONE;

	for (uint32_t i = 0; i < o->count; i++) {
		uint64_t bytes = npuplan_region_bytes(&o->now[i]);
		bool output = i >= o->op->input_count;
		uint32_t tensor = tensor_of(o, i);
		bool parameter = o->graph->tensors[tensor].kind == NPUMEM_TENSOR_PARAMETER;
		bool is_new = !step || !same(&o->now[i], &o->before[i]);

		/* What is read and rewritten is on chip once, and moved twice. */
		if (output || (o->counted[i] && is_new))
			cost->transfers += npuplan_transfer_cost(&o->now[i], parameter);
		if (output)
			cost->outputs += bytes;
		if (!o->counted[i])
			continue;
		if (!output && is_new)
			*(parameter ? &cost->weights : &cost->inputs) += bytes;
		bytes *= double_buffer && o->streamed[i] ? 2 : 1;
		onchip += bytes;
		if (bytes > most) {
			most = bytes;
			largest = tensor;
		}
	}
	if (!step || onchip > cost->onchip) {
		cost->onchip = onchip;
		cost->step = step;
		cost->tensor = largest;
		cost->tensor_bytes = most;
	}
}

static int init(struct operands *o)
{
	size_t count = (size_t)o->count + 1;

	o->now = calloc(count, sizeof(*o->now));
	o->before = calloc(count, sizeof(*o->before));
	o->streamed = calloc(count, sizeof(*o->streamed));
	o->counted = calloc(count, sizeof(*o->counted));
	return o->now && o->before && o->streamed && o->counted ? 0 : -ENOMEM;
}

static void fini(struct operands *o)
{
	free_all(o->now, o->before, o->streamed, o->counted);
}

int npuplan_tile_cost(const struct npuplan_graph *graph, uint32_t op, const struct npuplan_cut *cut,
		      const struct npuplan_grid *grid, bool double_buffer,
		      struct npuplan_tile_cost *cost)
{
	struct operands o = { .graph = graph, .op = &graph->ops[op], .cut = cut };
	int err;

	o.count = o.op->input_count + o.op->output_count;
	*cost = (struct npuplan_tile_cost){ .steps = grid ? npuplan_grid_tiles(grid) : 1 };
	if (cost->steps > npuv_default_limits.max_accesses)
		return -E2BIG;
	err = init(&o);
	/* What is streamed is known once all steps have been seen. */
	for (uint64_t step = 0; step < cost->steps && !err && double_buffer; step++) {
		set_step(&o, grid, step);
		for (uint32_t i = 0; i < o.count; i++)
			o.streamed[i] |= step && !same(&o.now[i], &o.before[i]);
		memcpy(o.before, o.now, o.count * sizeof(*o.now));
	}
	for (uint64_t step = 0; step < cost->steps && !err; step++) {
		set_step(&o, grid, step);
		count_step(&o, step, double_buffer, cost);
		memcpy(o.before, o.now, o.count * sizeof(*o.now));
	}
	fini(&o);
	return err;
}

int npuplan_choice_cost(const struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
			const struct npuplan_tile_choice *choice, struct npuplan_tile_cost *cost)
{
	struct npuplan_grid grid;
	struct npuplan_cut cut;
	bool is_cut = npuplan_cut_of(graph, choice->op, false, &cut);

	if (is_cut)
		npuplan_grid_init(&grid, &cut, choice);
	return npuplan_tile_cost(graph, choice->op, &cut, is_cut ? &grid : NULL,
				 tiling->double_buffer, cost);
}
