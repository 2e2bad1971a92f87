// SPDX-License-Identifier: MIT
/* Cutting a graph with edges into pieces, and making a plan of the pieces one of the graph. */
#include "pieces.h"

#include <stdlib.h>
#include <string.h>

#include "base/align.h"
#include "graph/checked.h"
#include "planners/loops/straight.h"
#include "planners/tilesched/tilesched.h"

/*
 * struct block_cut - one block, as it is cut
 * @straight: its straight graph; @checked is the verifier's form of that
 * @local: per name, it lives in this block alone and is cut
 * @piece_at: per first segment of a cell of such a name, its piece; NPUMEM_NONE: none yet
 * @order: the steps in their order, counted in the block
 */
struct block_cut {
	const struct npuplan_problem *problem;
	const struct npuplan_flow *flow;
	struct tilesched_cut *cut;
	uint32_t block;
	struct npuplan_graph *straight;
	struct npuplan_checked checked;
	bool *local;
	uint32_t *piece_at;
	uint32_t *order;
	struct npuplan_pool pool;
};

/* ---------------------------------------------------------------------- pieces */

static int add_piece(struct block_cut *b, const struct npuv_cell *cell, uint32_t *number)
{
	const struct npuplan_flow *flow = b->flow;
	uint32_t tensor = flow->names[flow->first_name[b->block] + cell->tensor].tensor;
	const struct npuplan_tensor *of = &flow->graph->tensors[tensor];
	uint64_t align = of->align > b->problem->alignment ? of->align : b->problem->alignment;
	struct tilesched_cut *cut = b->cut;
	struct tilesched_piece piece = {
		.tensor = tensor,
		.first_fragment = cut->fragment_count,
		.fragment_count = cell->segment_count,
	};
	struct npuplan_tensor made = {
		.name = of->name,
		.align = of->align,
		.kind = NPUMEM_TENSOR_INTERMEDIATE,
	};
	int64_t added;
	int err = 0;

	for (uint32_t k = 0; k < cell->segment_count && !err; k++) {
		const struct npuv_segment *segment =
			&b->checked.cells->segments[cell->first_segment + k];
		struct tilesched_fragment fragment = {
			.first = segment->first,
			.length = segment->length,
			.at = npuplan_align_up(made.size, align),
		};

		cut->loose |= fragment.at > made.size;
		made.size = fragment.at + fragment.length;
		err = npuplan_append(&cut->fragments, &cut->fragment_count, &fragment, 1);
	}
	added = err ? err : npuplan_graph_add_tensor(cut->graph, &made);
	if (added < 0)
		return (int)added;
	*number = cut->piece_count;
	return npuplan_append(&cut->pieces, &cut->piece_count, &piece, 1);
}

/* The tensor of the cut graph that has the bytes of a cell of a name that is cut. */
static int piece_of(struct block_cut *b, uint32_t number, uint32_t *tensor)
{
	const struct npuv_cell *cell = &b->checked.cells->cells[number];
	uint32_t *piece = &b->piece_at[cell->first_segment];
	int err = *piece == NPUMEM_NONE ? add_piece(b, cell, piece) : 0;

	*tensor = b->cut->first_piece + *piece;
	return err;
}

/*
 * What lives in one block alone is cut. A tensor that is fixed stays whole, and so does one that
 * steps update, whose versions are in one place anyway.
 */
static void find_local(struct block_cut *b)
{
	const struct npuplan_flow *flow = b->flow;

	for (uint32_t i = 0; i < npuplan_name_count(flow, b->block); i++) {
		const struct npuplan_name *name = &flow->names[flow->first_name[b->block] + i];
		const struct npuplan_tensor *tensor = &flow->graph->tensors[name->tensor];

		b->local[i] = !name->live_in && !name->live_out && name->update == UINT32_MAX &&
			      tensor->kind == NPUMEM_TENSOR_INTERMEDIATE &&
			      !(tensor->flags & NPUMEM_TENSOR_FLAG_FIXED);
	}
}

/* ---------------------------------------------------------------------- steps */

/*
 * struct step_cut - a step of the cut graph in the making
 * @first, @count: per access of the step that is cut, the first one that comes of it, and how many
 */
struct step_cut {
	struct npumem_access *accesses;
	uint32_t access_count;
	uint32_t *first;
	uint32_t *count;
};

static int add_access(struct block_cut *b, struct step_cut *step, uint32_t tensor, uint32_t mode)
{
	struct npumem_region region = {
		.length = b->cut->graph->tensors[tensor].size,
		.count = { 1, 1, 1 },
	};
	int64_t tile = npuplan_graph_add_tile(b->cut->graph, tensor, &region);
	struct npumem_access access = {
		.tile = (uint32_t)tile,
		.mode = mode,
		.inplace = NPUMEM_NONE,
	};

	if (tile < 0)
		return (int)tile;
	return npuplan_append(&step->accesses, &step->access_count, &access, 1);
}

/* Make an access to each piece that access @a, of the straight graph, reads or writes. */
static int cut_access(struct block_cut *b, struct step_cut *step, uint32_t a)
{
	const struct npuv_graph *g = b->checked.cells;
	uint32_t mode = npuv_access(g, a)->mode, tensor;
	bool writes = mode == NPUMEM_ACCESS_WRITE;
	struct npuv_cells it = npuv_cells_begin(writes ? g->write_start : g->read_start,
						writes ? g->write_runs : g->read_runs, a);
	int err = 0;

	while (!err && npuv_cells_next(&it)) {
		err = piece_of(b, it.cell, &tensor);
		if (!err)
			err = add_access(b, step, tensor, mode);
	}
	return err;
}

/*
 * Whether access @a, of the straight graph, goes through its bytes as it will: it is of what is not
 * cut, or of contiguous bytes, as a piece is then that it is of alone.
 */
static bool is_plain(const struct block_cut *b, uint32_t a)
{
	const struct npuv_graph *g = b->checked.cells;
	const struct npumem_tile *tile = npuv_tile(g, npuv_access(g, a)->tile);

	return !b->local[tile->tensor] ||
	       tile->region.count[0] * tile->region.count[1] * tile->region.count[2] == 1;
}

/* A write in place stays one where both accesses are still one access each. */
static void keep_inplace(struct block_cut *b, struct step_cut *step, uint32_t first, uint32_t count)
{
	for (uint32_t a = 0; a < count; a++) {
		uint32_t read = npuv_access(b->checked.cells, first + a)->inplace;

		if (read == NPUMEM_NONE)
			continue;
		if (step->count[a] == 1 && step->count[read] == 1 && is_plain(b, first + a) &&
		    is_plain(b, first + read))
			step->accesses[step->first[a]].inplace = step->first[read];
		else
			b->cut->loose = true;
	}
}

static int cut_accesses(struct block_cut *b, struct step_cut *step, uint32_t s)
{
	const struct npuplan_graph *graph = b->flow->graph;
	const struct npuplan_step *from = &graph->steps[graph->blocks[b->block].first_step + s];
	const struct npuv_graph *g = b->checked.cells;
	uint32_t first = npuv_step(g, s)->first_access;
	int err = 0;

	for (uint32_t a = 0; a < from->access_count && !err; a++) {
		struct npumem_access access = graph->accesses[from->first_access + a];

		step->first[a] = step->access_count;
		if (b->local[npuv_tile(g, npuv_access(g, first + a)->tile)->tensor]) {
			err = cut_access(b, step, first + a);
		} else {
			access.inplace = NPUMEM_NONE;
			err = npuplan_append(&step->accesses, &step->access_count, &access, 1);
		}
		step->count[a] = step->access_count - step->first[a];
	}
	if (!err)
		keep_inplace(b, step, first, from->access_count);
	return err;
}

static int cut_step(struct block_cut *b, uint32_t s)
{
	const struct npuplan_graph *graph = b->flow->graph;
	const struct npuplan_step *from = &graph->steps[graph->blocks[b->block].first_step + s];
	const struct npuplan_step made = { .flags = from->flags, .op = NPUMEM_NONE };
	AUTO_POOL struct npuplan_pool pool = { 0 };
	struct step_cut step = {
		.first = npuplan_pool_take(&pool, from->access_count, sizeof(uint32_t)),
		.count = npuplan_pool_take(&pool, from->access_count, sizeof(uint32_t)),
	};
	int64_t err = pool.failed ? -ENOMEM : cut_accesses(b, &step, s);

	if (!err)
		err = npuplan_graph_add_step(b->cut->graph, &made, step.accesses,
					     step.access_count);
	npuplan_free(step.accesses);
	return err < 0 ? (int)err : 0;
}

/* ---------------------------------------------------------------------- blocks */

/* Find the order of lowest peak of the block. */
static int order_block(struct block_cut *b, uint64_t work_limit)
{
	uint32_t count = b->flow->graph->blocks[b->block].step_count;
	struct npuplan_options options = *b->problem->options;
	struct npuplan_effort effort = *b->problem->effort;
	struct npuplan_problem problem = {
		.graph = b->straight,
		.options = &options,
		.effort = &effort,
	};
	uint64_t work = 0;
	int err;

	for (uint32_t s = 0; s < count; s++)
		b->order[s] = s;
	if (count < 2 || npuplan_effort_ended(b->problem->effort))
		return 0;
	options.work_limit = work_limit;
	/* This is one block of many, and its peak is no arena to tell of. */
	effort.progress = NULL;
	err = tilesched_order(&problem, b->checked.cells, b->order, &work);
	b->cut->work += work;
	return err;
}

static int cut_block(struct block_cut *b, uint64_t work_limit)
{
	const struct npumem_block *record = &b->flow->graph->blocks[b->block];
	int err = npuplan_straight_graph(b->flow, b->block, &b->straight);
	uint32_t segments;

	if (!err)
		err = npuplan_checked_init(&b->checked, b->straight, NULL);
	if (err)
		return err;
	segments = b->checked.cells->segment_count;
	/* Tensors after the names are not in the arena, and are not cut. */
	b->local = npuplan_pool_take(&b->pool, b->straight->tensor_count, sizeof(*b->local));
	b->piece_at = npuplan_pool_take(&b->pool, segments, sizeof(*b->piece_at));
	b->order = npuplan_pool_take(&b->pool, record->step_count, sizeof(*b->order));
	if (b->pool.failed)
		return -ENOMEM;
	memset(b->piece_at, 0xff, (size_t)segments * sizeof(*b->piece_at));
	find_local(b);
	err = order_block(b, work_limit);
	for (uint32_t s = 0; s < record->step_count && !err; s++) {
		b->cut->order[record->first_step + s] = record->first_step + b->order[s];
		err = cut_step(b, b->order[s]);
	}
	return err;
}

/* Add what is as it was: tensors and tiles. */
static int copy_tensors(struct tilesched_cut *cut, const struct npuplan_graph *graph)
{
	int64_t added = 0;

	for (uint32_t t = 0; t < graph->tensor_count && added >= 0; t++)
		added = npuplan_graph_add_tensor(cut->graph, &graph->tensors[t]);
	for (uint32_t t = 0; t < graph->tile_count && added >= 0; t++)
		added = npuplan_graph_add_tile(cut->graph, graph->tiles[t].tensor,
					       &graph->tiles[t].region);
	cut->first_piece = graph->tensor_count;
	return added < 0 ? (int)added : 0;
}

static int copy_edges(struct tilesched_cut *cut, const struct npuplan_graph *graph)
{
	int64_t added = 0;

	for (uint32_t i = 0; i < graph->edge_count && added >= 0; i++) {
		const struct npumem_edge *edge = &graph->edges[i];

		added = npuplan_graph_add_edge(cut->graph, edge->from, edge->to,
					       graph->carries + edge->first_carry,
					       edge->carry_count);
	}
	return added < 0 ? (int)added : 0;
}

int tilesched_cut_init(struct tilesched_cut *cut, const struct npuplan_problem *problem,
		       const struct npuplan_flow *flow, uint64_t work_limit)
{
	const struct npuplan_graph *graph = flow->graph;
	int err = 0;

	*cut = (struct tilesched_cut){
		.graph = npuplan_graph_new(graph->name),
		.order = npuplan_malloc((size_t)graph->step_count * sizeof(*cut->order) + 1),
	};
	if (!cut->graph || !cut->order)
		return -ENOMEM;
	err = copy_tensors(cut, graph);
	for (uint32_t i = 0; i < graph->block_count && !err; i++) {
		struct block_cut b = { problem, flow, cut, i };

		if (i && npuplan_graph_add_block(cut->graph) < 0)
			err = -ENOMEM;
		if (!err && graph->blocks[i].step_count)
			err = cut_block(&b, work_limit);
		npuplan_pool_free(&b.pool);
		npuplan_checked_fini(&b.checked);
		npuplan_graph_free(b.straight);
	}
	return err ? err : copy_edges(cut, graph);
}

void tilesched_cut_fini(struct tilesched_cut *cut)
{
	npuplan_graph_free(cut->graph);
	npuplan_free_all(cut->pieces, cut->fragments, cut->order);
	*cut = (struct tilesched_cut){ 0 };
}

/* ---------------------------------------------------------------------- plans */

/* Put a placement of each fragment of a piece in the place of the piece's own. */
static int put_piece(const struct tilesched_cut *cut, const struct npumem_placement *from,
		     struct npumem_placement **list, uint32_t *count)
{
	const struct tilesched_piece *piece = &cut->pieces[from->tensor - cut->first_piece];
	int err = 0;

	for (uint32_t k = 0; k < piece->fragment_count && !err; k++) {
		const struct tilesched_fragment *fragment =
			&cut->fragments[piece->first_fragment + k];
		struct npumem_placement made = *from;

		made.tensor = piece->tensor;
		made.offset += fragment->at;
		made.region.offset = fragment->first;
		made.region.length = fragment->length;
		err = npuplan_append(list, count, &made, 1);
	}
	return err;
}

/* Drop the views of pieces, and number the others, and the placements that they name, anew. */
static void renumber_views(const struct tilesched_cut *cut, struct npuplan_plan *plan,
			   const uint32_t *placement, uint32_t *view)
{
	uint32_t count = 0, slots = 0;

	for (uint32_t i = 0; i < plan->view_count; i++) {
		struct npumem_view kept = plan->views[i];

		if (kept.tensor >= cut->first_piece)
			continue;
		view[i] = count;
		/* Views that a view names are of the same tensor, and stand before it. */
		for (uint32_t k = 0; k < kept.slot_count; k++) {
			uint32_t slot = plan->view_slots[kept.first_slot + k];

			plan->view_slots[slots + k] =
				slot & NPUMEM_VIEW_SLOT_NESTED ?
					view[slot & ~NPUMEM_VIEW_SLOT_NESTED] |
						NPUMEM_VIEW_SLOT_NESTED :
					placement[slot];
		}
		kept.first_slot = slots;
		slots += kept.slot_count;
		plan->views[count++] = kept;
	}
	plan->view_count = count;
	plan->view_slot_count = slots;
}

int tilesched_cut_back(const struct tilesched_cut *cut, struct npuplan_plan *plan)
{
	AUTO_POOL struct npuplan_pool pool = { 0 };
	uint32_t *placement = npuplan_pool_take(&pool, plan->placement_count, sizeof(*placement));
	uint32_t *view = npuplan_pool_take(&pool, plan->view_count, sizeof(*view));
	struct npumem_placement *list = NULL;
	uint32_t count = 0;
	int err = pool.failed ? -ENOMEM : 0;

	for (uint32_t i = 0; i < plan->placement_count && !err; i++) {
		placement[i] = count;
		if (plan->placements[i].tensor < cut->first_piece)
			err = npuplan_append(&list, &count, &plan->placements[i], 1);
		else
			err = put_piece(cut, &plan->placements[i], &list, &count);
	}
	if (err) {
		npuplan_free(list);
		return err;
	}
	free(plan->placements);
	plan->placements = list;
	plan->placement_count = count;
	for (uint32_t i = 0; i < plan->entry_count; i++)
		plan->entries[i].placement = placement[plan->entries[i].placement];
	for (uint32_t i = 0; i < plan->position_count; i++)
		plan->positions[i].index = cut->order[plan->positions[i].index];
	renumber_views(cut, plan, placement, view);
	return 0;
}
