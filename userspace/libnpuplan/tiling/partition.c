// SPDX-License-Identifier: MIT
#include "partition.h"

#include "added.h"
#include "base/sorted.h"

bool npuplan_partition_view(const struct npuplan_partition *p, uint32_t tensor,
			    struct npuplan_spatial *view)
{
	return p->bands ? npuplan_spatial(p->graph, tensor, view) :
			  npuplan_view(p->graph, tensor, view);
}

/*
 * Whether all outputs have the same rows and channels; if so, p->output becomes the first one's
 * view.
 */
static bool find_output(struct npuplan_partition *p)
{
	const struct npuplan_op *op = p->op;
	struct npuplan_spatial other;

	if (op->attrs.whole)
		return false;
	for (uint32_t i = 0; i < op->output_count; i++) {
		/* A state that is read and written is updated as a whole. */
		if (!npuplan_partition_view(p, op->outputs[i], &other) ||
		    p->graph->tensors[op->outputs[i]].kind == NPUMEM_TENSOR_STATE)
			return false;
		if (!i)
			p->output = other;
		if (other.rows != p->output.rows)
			return false;
		if (!p->bands &&
		    (other.batch != p->output.batch || other.channels != p->output.channels ||
		     npuplan_granule(&other) != npuplan_granule(&p->output)))
			return false;
	}
	return op->output_count;
}

void npuplan_partition_whole(struct npuplan_partition *p, const struct npuplan_graph *graph,
			     uint32_t op)
{
	*p = (struct npuplan_partition){
		.graph = graph,
		.op = &graph->ops[op],
		.row_tiles = 1,
		.channel_tiles = 1,
		.column_tiles = 1,
		.depth_steps = 1,
	};
}

bool npuplan_partition_init(struct npuplan_partition *p, const struct npuplan_graph *graph,
			    uint32_t op, uint32_t bands)
{
	npuplan_partition_whole(p, graph, op);
	p->bands = bands;
	if (!find_output(p))
		return false;
	p->pattern = npuplan_pattern(p->op);
	p->rows = p->output.rows;
	p->channels = p->output.channels;
	if (!bands)
		return true;
	p->bands = p->row_tiles = p->rows < bands ? p->rows : bands;
	p->rows = (p->rows + p->bands - 1) / p->bands;
	return true;
}

bool npuplan_has_columns(const struct npuplan_partition *p)
{
	const struct npuplan_op *op = p->op;

	if (!p->rows || !npuplan_pattern_columns(p))
		return false;
	for (uint32_t i = 0; i < op->output_count; i++) {
		struct npuplan_spatial view;

		if (p->graph->tensors[op->outputs[i]].dim_count != 4 ||
		    !npuplan_partition_view(p, op->outputs[i], &view) || view.row != p->output.row)
			return false;
	}
	return true;
}

void npuplan_partition_set(struct npuplan_partition *p, const struct npuplan_tile_choice *choice)
{
	const struct npuplan_spatial *output = &p->output;
	int64_t depth, granule;

	p->order = choice->order;
	if (!p->rows || p->bands)
		return;
	p->rows = choice->rows && choice->rows < output->rows ? choice->rows : output->rows;
	p->channels = choice->channels && choice->channels < output->channels ? choice->channels :
										output->channels;
	p->row_tiles = (output->rows + p->rows - 1) / p->rows;
	p->channel_tiles = (output->channels + p->channels - 1) / p->channels;
	p->columns = p->depth = 0;
	p->column_tiles = p->depth_steps = 1;
	if (choice->columns && choice->columns < output->row && npuplan_has_columns(p)) {
		p->columns = choice->columns;
		p->column_tiles = (output->row + p->columns - 1) / p->columns;
	}
	depth = choice->depth ? npuplan_depth(p, &granule) : 0;
	if (choice->depth < depth) {
		p->depth = choice->depth;
		p->depth_steps = (depth + p->depth - 1) / p->depth;
	}
	p->sums = p->depth_steps > 1;
}

const struct npuplan_tile_choice *npuplan_told(const struct npuplan_tiling *tiling, uint32_t op)
{
	const struct npuplan_tile_choice *ops = tiling->ops;
	size_t at = npuplan_bisect(i, 0, ops ? tiling->op_count : 0, ops[i].op < op);

	return ops && at < tiling->op_count && ops[at].op == op ? &ops[at] : NULL;
}

void npuplan_partition_of(struct npuplan_partition *p, const struct npuplan_graph *graph,
			  const struct npuplan_tiling *tiling, uint32_t op)
{
	const struct npuplan_tile_choice *told = npuplan_told(tiling, op);
	const struct npuplan_tile_choice all = { .rows = tiling->rows, .columns = tiling->columns };

	npuplan_partition_init(p, graph, op, told ? 0 : tiling->bands);
	npuplan_partition_set(p, told ? told : &all);
}

static struct npuplan_rows range(int64_t index, int64_t each, int64_t extent)
{
	int64_t first = index * each;

	return (struct npuplan_rows){ first, extent - first < each ? extent - first : each };
}

void npuplan_partition_tile(const struct npuplan_partition *p, uint64_t step,
			    struct npuplan_part *tile)
{
	uint64_t index = step / (uint64_t)p->depth_steps;
	bool rows_outer = p->order == NPUPLAN_ROWS_OUTER;
	uint64_t places = (uint64_t)p->row_tiles * p->column_tiles;
	uint64_t inner = rows_outer ? (uint64_t)p->channel_tiles : places;
	uint64_t outside = index / inner, inside = index % inner;
	uint64_t place = rows_outer ? outside : inside, channel = rows_outer ? inside : outside;

	*tile = (struct npuplan_part){
		.rows = p->bands ? npuplan_band(p->output.rows, index, p->bands) :
				   range(place / p->column_tiles, p->rows, p->output.rows),
		.channels = range(channel, p->channels, p->output.channels),
		.columns = p->columns ? range(place % p->column_tiles, p->columns, p->output.row) :
					(struct npuplan_rows){ 0, 0 },
	};
}

/* The inputs' regions of a step, and whether it is the last of its tile. */
static bool step_inputs(const struct npuplan_partition *p, uint64_t index,
			const struct npuplan_part *tile, struct npumem_region *regions)
{
	struct npuplan_rows depth;
	int64_t all, granule;

	if (p->depth_steps == 1) {
		npuplan_tile_inputs(p, tile, regions, NULL);
		return true;
	}
	all = npuplan_depth(p, &granule);
	depth = range((int64_t)(index % (uint64_t)p->depth_steps), p->depth, all);
	npuplan_depth_inputs(p, tile, depth, regions);
	return depth.first + depth.count == all;
}

void npuplan_tile_regions(const struct npuplan_partition *p, uint64_t index,
			  struct npumem_region *regions)
{
	struct npumem_region *outputs = regions + p->op->input_count;
	struct npuplan_part tile;
	bool last;

	if (!p->rows) {
		for (uint32_t i = 0; i < npuplan_operand_count(p->op); i++)
			regions[i] = npuplan_whole(&p->graph->tensors[npuplan_operand(p->op, i)]);
		return;
	}
	npuplan_partition_tile(p, index, &tile);
	last = step_inputs(p, index, &tile, regions);
	for (uint32_t i = 0; i < p->op->output_count; i++) {
		struct npuplan_part part = tile;
		struct npuplan_spatial view;

		npuplan_partition_view(p, p->op->outputs[i], &view);
		/*
		 * Bands are all channels of each output, which may have another number of them than
		 * the first one.
		 */
		if (tile.channels.count == p->output.channels)
			part.channels = (struct npuplan_rows){ 0, view.channels };
		outputs[i] = npuplan_part_region(&view, &part);
	}
	if (!p->sums)
		return;
	outputs[1] = (struct npumem_region){
		.offset = outputs[0].offset,
		.length = npuplan_sums_bytes(&p->output, &tile),
		.count = { 1, 1, 1 },
	};
	if (!last)
		outputs[0] = (struct npumem_region){ 0 };
}
