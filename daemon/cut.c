// SPDX-License-Identifier: MIT
#include "cut.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "npuimport.h"

static int no_memory(struct npuplan_error *error)
{
	return options_fail(error, -ENOMEM, "out of memory");
}

/* ------------------------------------------------------- is it this graph's? */

/* Say that the model is another graph's. */
#define OTHER(error, ...) options_fail(error, -EINVAL, "the model is not the graph's: " __VA_ARGS__)

/*
 * What is a graph's own and no model says: where a tensor lies, whether it is bound outside,
 * where it starts.
 */
#define MARKS (NPUMEM_TENSOR_FLAG_FIXED | NPUMEM_TENSOR_FLAG_EXTERNAL | NPUMEM_TENSOR_FLAG_HOST)

static int mark_tensors(struct npuplan_graph *model, const struct npuplan_graph *graph,
			struct npuplan_error *error)
{
	if (model->tensor_count != graph->tensor_count)
		return OTHER(error, "it has %" PRIu32 " tensors, the graph %" PRIu32,
			     model->tensor_count, graph->tensor_count);
	for (uint32_t i = 0; i < graph->tensor_count; i++) {
		struct npuplan_tensor *tensor = &model->tensors[i];

		tensor->flags = (tensor->flags & ~MARKS) | (graph->tensors[i].flags & MARKS);
		tensor->fixed_offset = graph->tensors[i].fixed_offset;
	}
	return 0;
}

/* Numbers that must be equal, with a name for each. */
struct numbers {
	const char *what;
	uint64_t model, graph;
};

static int same_numbers(const char *of, uint32_t index, const struct numbers *numbers,
			uint32_t count, struct npuplan_error *error)
{
	for (uint32_t i = 0; i < count; i++)
		if (numbers[i].model != numbers[i].graph)
			return OTHER(error,
				     "%s %" PRIu32 " has %s %" PRIu64 ", in the graph %" PRIu64, of,
				     index, numbers[i].what, numbers[i].model, numbers[i].graph);
	return 0;
}

#define SAME(of, index, error, ...)                                                            \
	same_numbers(of, index, (const struct numbers[]){ __VA_ARGS__ },                       \
		     sizeof((const struct numbers[]){ __VA_ARGS__ }) / sizeof(struct numbers), \
		     error)

static int same_tensor(uint32_t i, const struct npuplan_tensor *a, const struct npuplan_tensor *b,
		       struct npuplan_error *error)
{
	const uint32_t alias = NPUMEM_TENSOR_FLAG_ALIAS;

	return SAME("tensor", i, error, { "size", a->size, b->size }, { "kind", a->kind, b->kind },
		    { "alignment", a->align, b->align },
		    { "alias flag", !!(a->flags & alias), !!(b->flags & alias) },
		    { "base", a->flags & alias ? a->alias_of : 0,
		      b->flags & alias ? b->alias_of : 0 },
		    { "offset in its base", a->flags & alias ? a->alias_offset : 0,
		      b->flags & alias ? b->alias_offset : 0 });
}

/*
 * struct access - an access of a step, so that those of a step can be sorted and compared byte
 * by byte: there is no padding
 * @inplace: tensor whose bytes it may take, or NPUMEM_NONE
 */
struct access {
	uint64_t mode;
	uint32_t tensor;
	uint32_t inplace;
	struct npumem_region region;
};

_Static_assert(sizeof(struct access) == 16 + sizeof(struct npumem_region), "no padding");

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct access));
}

static uint32_t tensor_of(const struct npuplan_graph *graph, const struct npuplan_step *step,
			  uint32_t number)
{
	return number < step->access_count ?
		       graph->tiles[graph->accesses[step->first_access + number].tile].tensor :
		       NPUMEM_NONE;
}

/* The accesses of a step in an order of their own, since a graph's may be in any. */
static void sorted_accesses(const struct npuplan_graph *graph, const struct npuplan_step *step,
			    struct access *out)
{
	for (uint32_t i = 0; i < step->access_count; i++) {
		const struct npumem_access *from = &graph->accesses[step->first_access + i];

		memset(&out[i], 0, sizeof(out[i]));
		out[i].mode = from->mode;
		out[i].tensor = tensor_of(graph, step, i);
		out[i].inplace = tensor_of(graph, step, from->inplace);
		out[i].region = graph->tiles[from->tile].region;
		out[i].region.pad = 0;
		/* The stride of a dimension without repetitions means nothing. */
		for (int d = 0; d < NPUMEM_REGION_DIMS; d++)
			if (out[i].region.count[d] <= 1)
				out[i].region.stride[d] = 0;
	}
	qsort(out, step->access_count, sizeof(*out), by_bytes);
}

/* @room: for the accesses of the step twice. */
static int same_step(uint32_t i, const struct npuplan_graph *model,
		     const struct npuplan_graph *graph, struct access *room,
		     struct npuplan_error *error)
{
	const struct npuplan_step *a = &model->steps[i], *b = &graph->steps[i];
	struct access *other;
	int err = SAME("step", i, error, { "access count", a->access_count, b->access_count },
		       { "flags", a->flags, b->flags });

	if (err)
		return err;
	other = room + a->access_count;
	sorted_accesses(model, a, room);
	sorted_accesses(graph, b, other);
	for (uint32_t k = 0; k < a->access_count; k++)
		if (by_bytes(&room[k], &other[k]))
			return OTHER(error,
				     "step %" PRIu32 ": it accesses tensor %" PRIu32
				     ", the graph tensor %" PRIu32
				     ", or another part of it, or in another way",
				     i, room[k].tensor, other[k].tensor);
	return 0;
}

static int same_steps(const struct npuplan_graph *model, const struct npuplan_graph *graph,
		      struct npuplan_error *error)
{
	struct access *room;
	uint32_t most = 1;
	int err = 0;

	for (uint32_t i = 0; i < graph->step_count; i++)
		if (graph->steps[i].access_count > most)
			most = graph->steps[i].access_count;
	room = calloc((size_t)most * 2, sizeof(*room));
	if (!room)
		return no_memory(error);
	for (uint32_t i = 0; !err && i < graph->step_count; i++)
		err = same_step(i, model, graph, room, error);
	free(room);
	return err;
}

static int same_flow(const struct npuplan_graph *model, const struct npuplan_graph *graph,
		     struct npuplan_error *error)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < graph->block_count; i++)
		err = SAME("block", i, error,
			   { "step count", model->blocks[i].step_count,
			     graph->blocks[i].step_count });
	for (uint32_t i = 0; !err && i < graph->edge_count; i++)
		err = SAME("edge", i, error,
			   { "origin", model->edges[i].from, graph->edges[i].from },
			   { "target", model->edges[i].to, graph->edges[i].to },
			   { "carry count", model->edges[i].carry_count,
			     graph->edges[i].carry_count });
	for (uint32_t i = 0; !err && i < graph->carry_count; i++)
		err = SAME("carry", i, error,
			   { "origin", model->carries[i].from, graph->carries[i].from },
			   { "target", model->carries[i].to, graph->carries[i].to });
	return err;
}

static int same_graph(const struct npuplan_graph *model, const struct npuplan_graph *graph,
		      struct npuplan_error *error)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < graph->tensor_count; i++)
		err = same_tensor(i, &model->tensors[i], &graph->tensors[i], error);
	if (err)
		return err;
	if (model->step_count != graph->step_count)
		return OTHER(error,
			     "it has %" PRIu32 " operators, the graph %" PRIu32
			     " steps; it has to be whole operators",
			     model->step_count, graph->step_count);
	if (model->block_count != graph->block_count || model->edge_count != graph->edge_count ||
	    model->carry_count != graph->carry_count)
		return OTHER(error,
			     "it has %" PRIu32 " blocks, %" PRIu32 " edges and %" PRIu32
			     " carries, the graph %" PRIu32 ", %" PRIu32 " and %" PRIu32,
			     model->block_count, model->edge_count, model->carry_count,
			     graph->block_count, graph->edge_count, graph->carry_count);
	err = same_flow(model, graph, error);
	return err ? err : same_steps(model, graph, error);
}

/* Whether a graph's steps access parameters. */
static bool with_parameters(const struct npuplan_graph *graph)
{
	for (uint32_t i = 0; i < graph->tile_count; i++)
		if (graph->tensors[graph->tiles[i].tensor].kind == NPUMEM_TENSOR_PARAMETER)
			return true;
	return false;
}

/* --------------------------------------------------------------------- read */

static int by_id(const void *a, const void *b)
{
	const struct cut_op *left = a, *right = b;

	return left->id < right->id ? -1 : left->id > right->id;
}

/* The operator of an id; NULL if there is none. */
static const struct cut_op *find_op(const struct cut_op *ops, uint32_t count, int64_t id)
{
	const struct cut_op key = { .id = id };

	return bsearch(&key, ops, count, sizeof(*ops), by_id);
}

/* Each operator is one step of the graph. */
static int note_ops(struct cut *cut, const struct npuplan_graph *graph, struct npuplan_error *error)
{
	const struct npuplan_graph *model = cut->model;

	cut->op_count = model->op_count;
	cut->ops = calloc((size_t)model->op_count + 1, sizeof(*cut->ops));
	if (!cut->ops)
		return no_memory(error);
	for (uint32_t i = 0; i < model->op_count; i++)
		cut->ops[i] = (struct cut_op){ .id = model->ops[i].id, .op = i };
	for (uint32_t i = 0; i < graph->step_count; i++)
		if (model->steps[i].op < model->op_count)
			cut->ops[model->steps[i].op].cookie = graph->steps[i].cookie;
	qsort(cut->ops, cut->op_count, sizeof(*cut->ops), by_id);
	return 0;
}

int cut_read(const void *blob, size_t size, const struct npuplan_graph *graph, uint32_t layout,
	     struct cut *out, struct npuplan_error *error)
{
	const struct npuimport_options options = { 0 };
	const void *text;
	size_t length;
	int err;

	*out = (struct cut){ .tiling = { .layout = layout,
					 .with_parameters = with_parameters(graph) } };
	err = npuplan_graph_model(blob, size, &text, &length, error);
	if (err == -ENODATA)
		return options_fail(error, err,
				    "the graph is to be cut anew and has no model (section %d)",
				    NPUMEM_GRAPH_SECTION_MODEL);
	if (!err)
		err = npuimport_graph_json(text, length, &options, &out->model, NULL, error);
	if (!err)
		err = mark_tensors(out->model, graph, error);
	if (!err)
		err = npuplan_graph_tile(out->model, &out->tiling, error);
	if (!err)
		err = same_graph(out->model, graph, error);
	if (!err)
		err = note_ops(out, graph, error);
	if (!err)
		npuplan_graph_untile(out->model);
	return err;
}

/* ---------------------------------------------------------------------- cut */

static int by_op(const void *a, const void *b)
{
	const struct npuplan_tile_choice *left = a, *right = b;

	return left->op < right->op ? -1 : left->op > right->op;
}

static int choose_tiles(const struct cut *cut, const struct asked *asked,
			struct npuplan_tiling *tiling, struct npuplan_error *error)
{
	tiling->ops = calloc((size_t)asked->tile_count + 1, sizeof(*tiling->ops));
	if (!tiling->ops)
		return no_memory(error);
	for (uint32_t i = 0; i < asked->tile_count; i++) {
		const struct npumem_option_tile tile = asked_tile(asked, i);
		const struct cut_op *found = find_op(cut->ops, cut->op_count, (int64_t)tile.op);

		if (!found)
			return options_fail(error, -EINVAL,
					    "option %d (tiles): the model has no operator %" PRIu64,
					    NPUMEM_OPTION_TILES, (uint64_t)tile.op);
		tiling->ops[i] = (struct npuplan_tile_choice){
			.op = found->op,
			.rows = tile.rows,
			.channels = tile.channels,
			.order = tile.order,
			.columns = tile.columns,
		};
	}
	tiling->op_count = asked->tile_count;
	qsort(tiling->ops, tiling->op_count, sizeof(*tiling->ops), by_op);
	return 0;
}

/*
 * The operators, and behind them those that run again. Such a one has the largest id so far, plus
 * one, and is of an operator that was there before (npuplan_graph_clone_op()). NULL: no memory.
 */
static struct cut_op *all_ops(const struct cut *cut, const struct npuplan_tiling *tiling,
			      uint32_t *count)
{
	struct cut_op *ops = calloc((size_t)cut->op_count + tiling->clone_count + 1, sizeof(*ops));

	if (!ops)
		return NULL;
	memcpy(ops, cut->ops, cut->op_count * sizeof(*ops));
	*count = cut->op_count;
	for (uint32_t i = 0; i < tiling->clone_count; i++) {
		const struct cut_op *of = find_op(ops, *count, tiling->clones[i].op);

		ops[*count] = (struct cut_op){ .id = ops[*count - 1].id + 1,
					       .cookie = of ? of->cookie : 0 };
		++*count;
	}
	return ops;
}

static int give_cookies(struct npuplan_graph *graph, const struct cut *cut,
			struct npuplan_error *error)
{
	uint32_t count;
	struct cut_op *ops = all_ops(cut, &graph->tiling, &count);

	if (!ops)
		return no_memory(error);
	for (uint32_t i = 0; i < graph->step_count; i++) {
		const struct npuplan_op *op = &graph->ops[graph->steps[i].op];
		const struct cut_op *found = find_op(ops, count, op->id);

		graph->steps[i].cookie = found ? found->cookie : 0;
	}
	free(ops);
	return 0;
}

int cut_choose(struct cut *cut, const struct asked *asked, struct npuplan_error *error)
{
	cut->tiling.bands = (uint32_t)asked->numbers[NPUMEM_OPTION_BANDS];
	cut->tiling.rows = (uint32_t)asked->numbers[NPUMEM_OPTION_ROWS];
	cut->tiling.columns = (uint32_t)asked->numbers[NPUMEM_OPTION_COLUMNS];
	cut->tiling.onchip = asked->numbers[NPUMEM_OPTION_ON_CHIP];
	cut->tiling.double_buffer = asked_for(asked, NPUMEM_OPTION_DOUBLE_BUFFER);
	return asked->tile_count ? choose_tiles(cut, asked, &cut->tiling, error) : 0;
}

int cut_tile(struct cut *cut, struct npuplan_error *error)
{
	int err = npuplan_graph_tile(cut->model, &cut->tiling, error);

	return err ? err : give_cookies(cut->model, cut, error);
}
