// SPDX-License-Identifier: MIT
/* Operators cut into tiles of their outputs: steps, in the order that was chosen. */
#include "tile.h"

#include <stdlib.h>
#include <string.h>

const char *npuplan_layout_name(unsigned int layout)
{
	static const char *const names[] = { "nhwc", "nchw", "nc32hw" };

	return layout < sizeof(names) / sizeof(names[0]) ? names[layout] : NULL;
}

void npuplan_grid_init(struct npuplan_grid *grid, const struct npuplan_cut *cut,
		       const struct npuplan_tile_choice *choice)
{
	const struct npuplan_spatial *output = &cut->output;

	*grid = (struct npuplan_grid){ .output = *output, .order = choice->order };
	grid->rows = choice->rows && choice->rows < output->rows ? choice->rows : output->rows;
	grid->channels = choice->channels && choice->channels < output->channels ?
				 choice->channels :
				 output->channels;
	grid->row_tiles = (output->rows + grid->rows - 1) / grid->rows;
	grid->channel_tiles = (output->channels + grid->channels - 1) / grid->channels;
}

void npuplan_grid_bands(struct npuplan_grid *grid, uint32_t bands)
{
	grid->bands = grid->output.rows < bands ? (uint32_t)grid->output.rows : bands;
	grid->rows = (grid->output.rows + grid->bands - 1) / grid->bands;
}

static struct npuplan_rows range(int64_t index, int64_t each, int64_t extent)
{
	int64_t first = index * each;

	return (struct npuplan_rows){ first, extent - first < each ? extent - first : each };
}

struct npuplan_part npuplan_grid_tile(const struct npuplan_grid *grid, uint64_t index)
{
	bool rows_outer = grid->order == NPUPLAN_ROWS_OUTER;
	int64_t inner = rows_outer ? grid->channel_tiles : grid->row_tiles;
	int64_t outside = index / inner, inside = index % inner;
	int64_t row = rows_outer ? outside : inside, channel = rows_outer ? inside : outside;

	if (grid->bands)
		return (struct npuplan_part){
			npuplan_band(grid->output.rows, index, grid->bands),
			{ 0, grid->output.channels },
		};
	return (struct npuplan_part){
		range(row, grid->rows, grid->output.rows),
		range(channel, grid->channels, grid->output.channels),
	};
}

struct npumem_region npuplan_tile_output(const struct npuplan_cut *cut, uint32_t tensor,
					 const struct npuplan_part *tile)
{
	struct npuplan_spatial view;
	struct npuplan_part part = *tile;

	if (!(cut->bands ? npuplan_spatial(cut->graph, tensor, &view) :
			   npuplan_view(cut->graph, tensor, &view)))
		return npuplan_whole(&cut->graph->tensors[tensor]);
	if (tile->channels.count == cut->output.channels)
		part.channels = (struct npuplan_rows){ 0, view.channels };
	return npuplan_part_region(&view, &part);
}

static int emit_step(struct npuplan_tiler *tiler, const struct npuplan_cut *cut, uint32_t index,
		     const struct npuplan_part *tile, uint64_t number, uint64_t count,
		     struct npuplan_error *error)
{
	const struct npuplan_op *op = &tiler->graph->ops[index];
	struct npumem_region *inputs = calloc((size_t)op->input_count + 1, sizeof(*inputs));
	struct npumem_region region;
	int err = inputs ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < op->input_count && !err && !cut; i++)
		inputs[i] = npuplan_whole(&tiler->graph->tensors[op->inputs[i]]);
	if (cut && !err)
		npuplan_tile_inputs(cut, tile, inputs);
	for (uint32_t i = 0; i < op->input_count && !err; i++)
		if (inputs[i].length)
			err = npuplan_tiler_access(tiler, op->inputs[i], &inputs[i],
						   NPUMEM_ACCESS_READ);
	for (uint32_t i = 0; i < op->output_count && !err; i++) {
		region = cut ? npuplan_tile_output(cut, op->outputs[i], tile) :
			       npuplan_whole(&tiler->graph->tensors[op->outputs[i]]);
		err = npuplan_tiler_access(tiler, op->outputs[i], &region, NPUMEM_ACCESS_WRITE);
		if (!err && !i && op->attrs.inplace && op->input_count && inputs[0].length)
			npuplan_tiler_inplace(tiler, op->inputs[0], &inputs[0], op->outputs[0],
					      &region);
	}
	free(inputs);
	if (err)
		return npuplan_fail(error, err, "operator %s: %s", op->name, strerror(-err));
	return npuplan_tiler_step(tiler, index, number, count, NPUMEM_STEP_STAGED, error);
}

/* One operator: one step if @grid is NULL. */
static int emit_op(struct npuplan_tiler *tiler, const struct npuplan_cut *cut, uint32_t index,
		   const struct npuplan_grid *grid, struct npuplan_error *error)
{
	uint64_t count = grid ? npuplan_grid_tiles(grid) : 1;
	int err = 0;

	if (count > npuv_default_limits.max_accesses)
		return npuplan_fail(error, -E2BIG,
				    "operator %s: the tiling has more than %llu accesses",
				    tiler->graph->ops[index].name,
				    (unsigned long long)npuv_default_limits.max_accesses);
	for (uint64_t k = 0; k < count && !err; k++) {
		struct npuplan_part tile = { { 0, 0 }, { 0, 0 } };

		if (grid)
			tile = npuplan_grid_tile(grid, k);
		err = emit_step(tiler, grid ? cut : NULL, index, &tile, k, count, error);
	}
	return err;
}

/* What is said of one operator, as numbers that can be done. */
static int check_choice(const struct npuplan_graph *graph, const struct npuplan_tile_choice *choice,
			struct npuplan_error *error)
{
	const char *name = graph->ops[choice->op].name;
	struct npuplan_cut cut;
	int64_t granule;

	if (choice->order != NPUPLAN_ROWS_OUTER && choice->order != NPUPLAN_CHANNELS_OUTER)
		return npuplan_fail(error, -EINVAL, "operator %s: there is no order %u of tiles",
				    name, choice->order);
	if (!choice->rows && !choice->channels)
		return 0;
	if (graph->ops[choice->op].attrs.whole)
		return npuplan_fail(error, -EINVAL,
				    "operator %s: it is planned whole, since what a part of it "
				    "needs is not known",
				    name);
	if (!npuplan_cut_of(graph, choice->op, false, &cut))
		return npuplan_fail(error, -EINVAL,
				    "operator %s: its outputs have no rows and channels in common "
				    "that could be cut",
				    name);
	if (choice->rows > cut.output.rows)
		return npuplan_fail(error, -EINVAL, "operator %s: tiles of %u rows, it has %lld",
				    name, choice->rows, (long long)cut.output.rows);
	if (choice->channels > cut.output.channels)
		return npuplan_fail(error, -EINVAL,
				    "operator %s: tiles of %u channels, it has %lld", name,
				    choice->channels, (long long)cut.output.channels);
	granule = npuplan_granule(&cut.output);
	if (choice->channels % granule && choice->channels != cut.output.channels)
		return npuplan_fail(
			error, -EINVAL,
			"operator %s: tiles of %u channels, in %s they are multiples of %lld", name,
			choice->channels, npuplan_layout_name(cut.output.layout),
			(long long)granule);
	return 0;
}

static int check_tiling(const struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
			struct npuplan_error *error)
{
	int said = !!tiling->bands + !!tiling->rows + !!tiling->onchip, err = 0;

	if (tiling->inputs > NPUPLAN_INPUTS_RESIDENT)
		return npuplan_fail(error, -EINVAL, "inputs: there is no place %u", tiling->inputs);
	if (said > 1)
		return npuplan_fail(error, -EINVAL,
				    "bands, rows and on-chip memory exclude each other");
	if (tiling->double_buffer && !tiling->onchip)
		return npuplan_fail(error, -EINVAL,
				    "double buffering is of a tiling for on-chip memory");
	if (tiling->clone_count && (tiling->op_count || tiling->onchip))
		return npuplan_fail(error, -EINVAL,
				    "where operators run again, none is cut in a way of its own");
	for (uint32_t i = 0; i < tiling->op_count && !err; i++) {
		if (tiling->ops[i].op >= graph->op_count)
			return npuplan_fail(error, -EINVAL, "graph %s has no operator %u",
					    graph->name, tiling->ops[i].op);
		if (i && tiling->ops[i].op <= tiling->ops[i - 1].op)
			return npuplan_fail(
				error, -EINVAL,
				"operator %s: its tiling is said twice, or not in order",
				graph->ops[tiling->ops[i].op].name);
		err = check_choice(graph, &tiling->ops[i], error);
	}
	return err;
}

/* Tiling of one operator: @told, or what the tiling says of all. */
static int tile_op(struct npuplan_tiler *tiler, const struct npuplan_tiling *tiling, uint32_t index,
		   const struct npuplan_tile_choice *told, struct npuplan_error *error)
{
	struct npuplan_tile_choice choice = { .op = index, .rows = tiling->rows };
	bool bands = tiling->bands && !told;
	struct npuplan_grid grid;
	struct npuplan_cut cut;

	if (told)
		choice = *told;
	if (!npuplan_cut_of(tiler->graph, index, bands, &cut))
		return emit_op(tiler, &cut, index, NULL, error);
	npuplan_grid_init(&grid, &cut, &choice);
	if (bands)
		npuplan_grid_bands(&grid, tiling->bands);
	return emit_op(tiler, &cut, index, &grid, error);
}

static int emit_all(struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
		    struct npuplan_error *error)
{
	struct npuplan_tiler tiler;
	uint32_t told = 0;
	int err = npuplan_tiler_init(&tiler, graph, tiling->with_parameters, error);

	if (err)
		return err;
	for (uint32_t i = 0; i < graph->op_count && !err; i++) {
		bool is_told = told < tiling->op_count && tiling->ops[told].op == i;

		err = tile_op(&tiler, tiling, i, is_told ? &tiling->ops[told] : NULL, error);
		told += is_told;
	}
	npuplan_tiler_fini(&tiler, err);
	return err;
}

static int copy_clones(struct npuplan_tiling *to, const struct npuplan_tiling *from)
{
	to->clones = calloc((size_t)from->clone_count + 1, sizeof(*to->clones));
	if (!to->clones)
		return -ENOMEM;
	for (uint32_t i = 0; i < from->clone_count; i++) {
		const struct npuplan_clone *clone = &from->clones[i];
		size_t bytes = clone->reader_count * sizeof(*clone->readers);
		struct npuplan_clone *copy = &to->clones[to->clone_count++];

		*copy = *clone;
		copy->readers = malloc(bytes + 1);
		if (!copy->readers)
			return -ENOMEM;
		if (bytes)
			memcpy(copy->readers, clone->readers, bytes);
	}
	return 0;
}

static int copy_tiling(struct npuplan_tiling *to, const struct npuplan_tiling *from,
		       struct npuplan_error *error)
{
	int err = 0;

	*to = *from;
	to->ops = NULL;
	to->clones = NULL;
	to->clone_count = 0;
	if (from->op_count) {
		to->ops = malloc(from->op_count * sizeof(*to->ops));
		if (!to->ops)
			return npuplan_fail(error, -ENOMEM, "out of memory");
		memcpy(to->ops, from->ops, from->op_count * sizeof(*to->ops));
	}
	if (from->clone_count)
		err = copy_clones(to, from);
	if (!err)
		return 0;
	npuplan_tiling_fini(to);
	return npuplan_fail(error, err, "out of memory");
}

/* What is loaded before it is used. */
static void flag_host(struct npuplan_graph *graph, const struct npuplan_tiling *tiling)
{
	for (uint32_t t = 0; t < graph->tensor_count && tiling->inputs; t++) {
		struct npuplan_tensor *tensor = &graph->tensors[t];
		bool loaded = tensor->kind == NPUMEM_TENSOR_PARAMETER ?
				      tiling->with_parameters :
				      tensor->kind == NPUMEM_TENSOR_INPUT &&
					      tiling->inputs == NPUPLAN_INPUTS_HOST;

		if (loaded && !(tensor->flags & (NPUMEM_TENSOR_ALIAS | NPUMEM_TENSOR_EXTERNAL)))
			tensor->flags |= NPUMEM_TENSOR_HOST;
	}
}

/* The graph with its clones takes its place, once that is tiled. */
static int tile_clones(struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
		       struct npuplan_error *error)
{
	struct npuplan_tiling rest = *tiling;
	struct npuplan_graph *now = NULL, *next, all;
	int err = check_tiling(graph, tiling, error);

	for (uint32_t i = 0; i < tiling->clone_count && !err; i++) {
		err = npuplan_graph_clone_op(now ? now : graph, &tiling->clones[i], &next, error);
		npuplan_graph_free(now);
		now = next;
	}
	rest.clones = NULL;
	rest.clone_count = 0;
	if (!err)
		err = npuplan_graph_tile(now, &rest, error);
	if (!err)
		err = copy_clones(&now->tiling, tiling);
	if (!err) {
		all = *graph;
		*graph = *now;
		*now = all;
	}
	npuplan_graph_free(now);
	return err;
}

int npuplan_graph_tile(struct npuplan_graph *graph, const struct npuplan_tiling *tiling,
		       struct npuplan_error *error)
{
	enum npuplan_layout before = graph->layout;
	struct npuplan_tiling done = { 0 };
	int err;

	if (graph->step_count || graph->tile_count)
		return npuplan_fail(error, -EINVAL, "graph %s is tiled already", graph->name);
	for (size_t i = 0; i < sizeof(tiling->reserved) / sizeof(tiling->reserved[0]); i++)
		if (tiling->reserved[i])
			return npuplan_fail_later(error, "tilings");
	if (tiling->clone_count)
		return tile_clones(graph, tiling, error);
	err = npuplan_graph_set_layout(graph, tiling->layout, error);
	if (err)
		return err;
	err = check_tiling(graph, tiling, error);
	if (!err)
		err = copy_tiling(&done, tiling, error);
	if (!err && !done.bands && !done.rows && !done.onchip)
		done.bands = 1;
	if (!err && done.onchip)
		err = npuplan_choose_tiles(graph, &done, error);
	if (!err && done.bands == 1 && !done.op_count)
		err = npuplan_tile_whole(graph, done.with_parameters, error);
	else if (!err)
		err = emit_all(graph, &done, error);
	if (err) {
		npuplan_tiling_fini(&done);
		npuplan_graph_set_layout(graph, before, NULL);
		return err;
	}
	flag_host(graph, &done);
	npuplan_tiling_fini(&graph->tiling);
	graph->tiling = done;
	return 0;
}

int npuplan_graph_tile_whole(struct npuplan_graph *graph, bool with_parameters,
			     struct npuplan_error *error)
{
	return npuplan_graph_tile_bands(graph, 1, with_parameters, error);
}

int npuplan_graph_tile_bands(struct npuplan_graph *graph, uint32_t bands, bool with_parameters,
			     struct npuplan_error *error)
{
	struct npuplan_tiling tiling = {
		.layout = graph->layout,
		.bands = bands,
		.with_parameters = with_parameters,
	};

	if (!bands)
		return npuplan_fail(error, -EINVAL, "bands: 0 is not a number of bands");
	return npuplan_graph_tile(graph, &tiling, error);
}
