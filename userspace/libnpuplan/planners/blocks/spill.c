// SPDX-License-Identifier: MIT
/* Making transfers steps, and steps transfers again. */
#include "spill.h"

#include <stdlib.h>
#include <string.h>

#include "planners/cosma/place/transfers.h"

/*
 * struct spill_making - the graph in the making
 * @entering, @leaving: per name, the tensor that it is on entry and on exit
 * @now: per tensor of the graph at hand, the stay of it that is on chip, in the block at hand
 * @left: per tensor, how often it is filled yet, in the block at hand
 */
struct spill_making {
	const struct npuplan_flow *flow;
	struct npuplan_spilling *s;
	uint32_t *entering;
	uint32_t *leaving;
	uint32_t *now;
	uint32_t *left;
	struct npuplan_pool pool;
};

/* ------------------------------------------------------------------ stays */

static bool leaves_to_exit(const struct npuplan_flow *flow, uint32_t block)
{
	for (uint32_t k = flow->first_out[block]; k < flow->first_out[block + 1]; k++)
		if (flow->graph->edges[flow->out_edges[k]].to == NPUMEM_NONE)
			return true;
	return false;
}

/* Whether the exit needs a tensor of a block: it is an output, or has one in it. */
static bool exit_needs(const struct npuplan_flow *flow, uint32_t block, uint32_t tensor)
{
	const struct npuplan_graph *graph = flow->graph;

	if (!leaves_to_exit(flow, block))
		return false;
	for (uint32_t t = 0; t < graph->tensor_count; t++)
		if (flow->bases[t] == tensor && graph->tensors[t].kind == NPUMEM_TENSOR_OUTPUT)
			return true;
	return false;
}

bool npuplan_spill_keeps(const struct npuplan_flow *flow, uint32_t block, uint32_t tensor)
{
	uint32_t name = npuplan_name_of(flow, block, tensor);

	return !block && name != NPUMEM_NONE && flow->names[name].live_in &&
	       exit_needs(flow, block, tensor);
}

static int note_tensor(struct npuplan_spilling *s, uint32_t tensor)
{
	return npuplan_append(&s->tensor_of, &s->tensor_count, &tensor, 1);
}

/* Add a stay of a tensor, which lies where the tensor has to. */
static int add_stay(struct spill_making *m, uint32_t tensor, uint32_t *stay)
{
	const struct npuplan_tensor *of = &m->flow->graph->tensors[tensor];
	const struct npuplan_tensor made = {
		.name = of->name,
		.size = of->size,
		.align = of->align,
		.kind = NPUMEM_TENSOR_INTERMEDIATE,
		.flags = of->flags & NPUMEM_TENSOR_FLAG_FIXED,
		.fixed_offset = of->fixed_offset,
		.alias_of = NPUMEM_NONE,
	};
	int64_t added = npuplan_graph_add_tensor(m->s->graph, &made);

	if (added < 0)
		return (int)added;
	*stay = (uint32_t)added;
	return note_tensor(m->s, tensor);
}

/*
 * Begin the first stays of a block. A tensor's own number is that of the stay that enters, or else
 * of the one that leaves, or else of the first one; but that of what the exit needs is the last's.
 */
static int enter_block(struct spill_making *m, uint32_t block,
		       const struct npuplan_block_moves *moves)
{
	const struct npuplan_flow *flow = m->flow;
	uint32_t first = flow->first_name[block];
	int err = 0;

	for (uint32_t i = first; i < flow->first_name[block + 1]; i++)
		m->left[flow->names[i].tensor] = 0;
	for (uint32_t i = 0; i < moves->position_count; i++)
		if (moves->positions[i].kind == NPUMEM_POSITION_FILL)
			m->left[flow->names[first + moves->positions[i].index].tensor]++;
	for (uint32_t i = first; i < flow->first_name[block + 1] && !err; i++) {
		const struct npuplan_name *name = &flow->names[i];
		uint32_t tensor = name->tensor;

		m->now[tensor] = tensor;
		if (m->left[tensor] && name->live_out &&
		    (!name->live_in || exit_needs(flow, block, tensor)))
			err = add_stay(m, tensor, &m->now[tensor]);
		m->entering[i] = m->now[tensor];
	}
	return err;
}

/* Begin the next stay of a name. */
static int next_stay(struct spill_making *m, uint32_t block, uint32_t name)
{
	const struct npuplan_name *n = &m->flow->names[name];
	bool last = !--m->left[n->tensor];

	if (last && n->live_out && (!n->live_in || exit_needs(m->flow, block, n->tensor))) {
		m->now[n->tensor] = n->tensor;
		return 0;
	}
	return add_stay(m, n->tensor, &m->now[n->tensor]);
}

/* ------------------------------------------------------------------ steps */

/* Have an access be of the stay that is on chip. */
static int rename_access(struct spill_making *m, struct npumem_access *access)
{
	const struct npuplan_graph *graph = m->flow->graph;
	const struct npumem_tile *tile = &graph->tiles[access->tile];
	const struct npuplan_tensor *tensor = &graph->tensors[tile->tensor];
	struct npumem_region region = tile->region;
	uint32_t base = m->flow->bases[tile->tensor];
	int64_t added;

	if (m->now[base] == base)
		return 0;
	if (tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS)
		region.offset += tensor->alias_offset;
	added = npuplan_graph_add_tile(m->s->graph, m->now[base], &region);
	access->tile = (uint32_t)added;
	return added < 0 ? (int)added : 0;
}

static int add_position(struct spill_making *m, uint32_t kind, uint32_t index, uint32_t stay)
{
	const struct npuplan_spill_position position = { kind, index, stay };

	return npuplan_append(&m->s->positions, &m->s->position_count, &position, 1);
}

/* Add a step, of the position that is added next. */
static int add_step(struct spill_making *m, const struct npuplan_step *step,
		    const struct npumem_access *accesses, uint32_t count)
{
	int64_t added = npuplan_graph_add_step(m->s->graph, step, accesses, count);

	if (added < 0)
		return (int)added;
	return npuplan_append(&m->s->position_of, &m->s->step_count, &m->s->position_count, 1);
}

static int copy_step(struct spill_making *m, uint32_t index)
{
	const struct npuplan_graph *graph = m->flow->graph;
	const struct npuplan_step *from = &graph->steps[index];
	const struct npuplan_step made = { .flags = from->flags,
					   .op = NPUMEM_NONE,
					   .name = from->name };
	AUTO_HEAP struct npumem_access *accesses =
		npuplan_malloc((size_t)from->access_count * sizeof(*accesses) + 1);
	int err = accesses ? 0 : -ENOMEM;

	for (uint32_t a = 0; a < from->access_count && !err; a++) {
		accesses[a] = graph->accesses[from->first_access + a];
		err = rename_access(m, &accesses[a]);
	}
	if (!err)
		err = add_step(m, &made, accesses, from->access_count);
	return err ? err : add_position(m, NPUMEM_POSITION_STEP, index, NPUMEM_NONE);
}

static int add_transfer(struct spill_making *m, uint32_t block, uint32_t kind, uint32_t name)
{
	const struct npuplan_step step = { .op = NPUMEM_NONE };
	uint32_t tensor = m->flow->names[name].tensor;
	const struct npumem_region whole = {
		.length = m->flow->graph->tensors[tensor].size,
		.count = { 1, 1, 1 },
	};
	struct npumem_access access = { .mode = NPUMEM_ACCESS_READ, .inplace = NPUMEM_NONE };
	int64_t tile;
	int err = 0;

	if (kind == NPUMEM_POSITION_DROP)
		return add_position(m, kind, tensor, NPUMEM_NONE);
	if (kind == NPUMEM_POSITION_FILL) {
		access.mode = NPUMEM_ACCESS_WRITE;
		err = next_stay(m, block, name);
	}
	tile = err ? err : npuplan_graph_add_tile(m->s->graph, m->now[tensor], &whole);
	if (tile < 0)
		return (int)tile;
	access.tile = (uint32_t)tile;
	err = add_step(m, &step, &access, 1);
	return err ? err : add_position(m, kind, tensor, m->now[tensor]);
}

static int make_block(struct spill_making *m, uint32_t block,
		      const struct npuplan_block_moves *moves)
{
	const struct npuplan_flow *flow = m->flow;
	int err = enter_block(m, block, moves);

	m->s->first[block] = m->s->position_count;
	for (uint32_t i = 0; i < moves->position_count && !err; i++) {
		const struct npumem_position *p = &moves->positions[i];

		err = p->kind == NPUMEM_POSITION_STEP ?
			      copy_step(m, flow->graph->blocks[block].first_step + p->index) :
			      add_transfer(m, block, p->kind, flow->first_name[block] + p->index);
	}
	for (uint32_t i = flow->first_name[block]; i < flow->first_name[block + 1]; i++)
		m->leaving[i] = m->now[flow->names[i].tensor];
	m->s->first[block + 1] = m->s->position_count;
	return err;
}

/* ------------------------------------------------------------------ graph */

/* Add the edge, with carries of what is needed behind it. */
static int make_edge(struct spill_making *m, uint32_t index)
{
	const struct npuplan_flow *flow = m->flow;
	const struct npumem_edge *edge = &flow->graph->edges[index];
	struct npumem_carry *carries = NULL;
	uint32_t count = 0;
	int64_t err = 0;

	if (edge->to != NPUMEM_NONE)
		for (uint32_t i = flow->first_name[edge->to];
		     i < flow->first_name[edge->to + 1] && !err; i++) {
			struct npumem_carry carry = { .to = m->entering[i] };
			uint32_t from;

			if (!flow->names[i].live_in)
				continue;
			from = npuplan_carried(flow, index, flow->names[i].tensor);
			from = npuplan_name_of(flow, edge->from, from);
			carry.from = m->leaving[from];
			if (carry.from != carry.to)
				err = npuplan_append(&carries, &count, &carry, 1);
		}
	if (!err)
		err = npuplan_graph_add_edge(m->s->graph, edge->from, edge->to, carries, count);
	npuplan_free(carries);
	return err < 0 ? (int)err : 0;
}

static int copy_tensors(struct spill_making *m)
{
	const struct npuplan_graph *graph = m->flow->graph;
	int64_t added = 0;
	int err = 0;

	for (uint32_t t = 0; t < graph->tensor_count && added >= 0 && !err; t++) {
		added = npuplan_graph_add_tensor(m->s->graph, &graph->tensors[t]);
		err = note_tensor(m->s, t);
		m->now[t] = t;
	}
	for (uint32_t t = 0; t < graph->tile_count && added >= 0; t++)
		added = npuplan_graph_add_tile(m->s->graph, graph->tiles[t].tensor,
					       &graph->tiles[t].region);
	return added < 0 ? (int)added : err;
}

int npuplan_spilling_init(struct npuplan_spilling *s, const struct npuplan_flow *flow,
			  const struct npuplan_block_moves *moves)
{
	const struct npuplan_graph *graph = flow->graph;
	struct spill_making m = { .flow = flow, .s = s };
	uint32_t names = flow->first_name[graph->block_count];
	int err;

	*s = (struct npuplan_spilling){
		.graph = npuplan_graph_new(graph->name),
		.first = npuplan_calloc((size_t)graph->block_count + 1, sizeof(*s->first)),
	};
	m.entering = npuplan_pool_take(&m.pool, names, sizeof(*m.entering));
	m.leaving = npuplan_pool_take(&m.pool, names, sizeof(*m.leaving));
	m.now = npuplan_pool_take(&m.pool, graph->tensor_count, sizeof(*m.now));
	m.left = npuplan_pool_take(&m.pool, graph->tensor_count, sizeof(*m.left));
	err = s->graph && s->first && !m.pool.failed ? copy_tensors(&m) : -ENOMEM;
	for (uint32_t b = 0; b < graph->block_count && !err; b++) {
		if (b && npuplan_graph_add_block(s->graph) < 0)
			err = -ENOMEM;
		if (!err)
			err = make_block(&m, b, &moves[b]);
	}
	for (uint32_t e = 0; e < graph->edge_count && !err; e++)
		err = make_edge(&m, e);
	npuplan_pool_free(&m.pool);
	return err;
}

void npuplan_spilling_fini(struct npuplan_spilling *s)
{
	npuplan_graph_free(s->graph);
	npuplan_free_all(s->tensor_of, s->positions, s->first, s->position_of);
	*s = (struct npuplan_spilling){ 0 };
}

/* ------------------------------------------------------------------ plans */

/*
 * struct spill_writing - a plan that is made one of the graph at hand
 * @at: per position of the plan as it was, the one that it is now
 * @placement_of: per tensor of @s->graph, its placement in the instance at hand
 * @copies: per tensor of @graph, its copy in host memory, from the first position that it is needed
 *	at to the last one; its tensor is NPUMEM_NONE if there is none
 */
struct spill_writing {
	const struct npuplan_spilling *s;
	const struct npuplan_graph *graph;
	struct npuplan_plan *plan;
	struct npumem_position *positions;
	uint32_t position_count;
	uint32_t *at;
	uint32_t *placement_of;
	struct npuplan_item *copies;
};

static void note_copy(struct spill_writing *w, uint32_t tensor)
{
	struct npuplan_item *copy = &w->copies[tensor];

	if (copy->tensor == NPUMEM_NONE)
		*copy = (struct npuplan_item){
			.size = w->graph->tensors[tensor].size,
			.align = 1,
			.start = w->position_count,
			.tensor = tensor,
		};
	copy->end = w->position_count;
}

static int write_position(struct spill_writing *w, const struct npuplan_spill_position *from)
{
	struct npumem_position made = {
		.kind = from->kind,
		.index = from->index,
		.placement = NPUMEM_NONE,
	};
	uint64_t size;

	if (from->kind != NPUMEM_POSITION_STEP) {
		size = w->graph->tensors[from->index].size;
		made.length = size;
		if (from->stay != NPUMEM_NONE) {
			made.placement = w->placement_of[from->stay];
			note_copy(w, from->index);
		}
		if (from->kind == NPUMEM_POSITION_FILL)
			w->plan->info.fill_bytes += size;
		else if (from->kind != NPUMEM_POSITION_DROP)
			w->plan->info.spill_bytes += size;
	}
	return npuplan_append(&w->positions, &w->position_count, &made, 1);
}

/* Write the positions of an instance. @placement: its first one; out: the next instance's. */
static int write_instance(struct spill_writing *w, uint32_t instance, uint32_t *placement)
{
	struct npumem_plan_block *record = &w->plan->blocks[instance];
	const struct npuplan_spilling *s = w->s;
	uint32_t old = record->first_position, first = s->first[record->block];
	uint32_t begin = w->position_count;
	int err = 0;

	for (; *placement < w->plan->placement_count &&
	       w->plan->placements[*placement].block == instance;
	     ++*placement)
		w->placement_of[w->plan->placements[*placement].tensor] = *placement;
	for (uint32_t i = 0; i < record->position_count; i++)
		w->at[old + i] = begin + s->position_of[w->plan->positions[old + i].index] - first;
	for (uint32_t i = first; i < s->first[record->block + 1] && !err; i++)
		err = write_position(w, &s->positions[i]);
	record->first_position = begin;
	record->position_count = w->position_count - begin;
	return err;
}

/* The position now of one of an instance; one without positions has none either way. */
static uint32_t now_at(const struct spill_writing *w, uint32_t instance, uint32_t position)
{
	const struct npumem_plan_block *record = &w->plan->blocks[instance];

	return record->position_count ? w->at[position] : record->first_position;
}

static void write_placements(struct spill_writing *w)
{
	for (uint32_t i = 0; i < w->plan->placement_count; i++) {
		struct npumem_placement *p = &w->plan->placements[i];

		p->tensor = w->s->tensor_of[p->tensor];
		p->from = now_at(w, p->block, p->from);
		p->to = now_at(w, p->block, p->to);
	}
	for (uint32_t i = 0; i < w->plan->entry_count; i++)
		w->plan->entries[i].tensor = w->s->tensor_of[w->plan->entries[i].tensor];
	if (w->plan->peak_position < w->plan->position_count)
		w->plan->peak_position = w->at[w->plan->peak_position];
	w->plan->view_count = w->plan->view_slot_count = 0;
}

/* A copy has one address in all the plan, and nobody else's lies there while any is needed. */
static int place_copies(struct spill_writing *w, uint64_t *host, struct npuplan_error *error)
{
	uint64_t host_size;
	int err = cosma_place_copies(w->copies, w->graph->tensor_count, host, &host_size, error);

	w->plan->info.host_size = host_size;
	for (uint32_t i = 0; i < w->position_count && !err; i++)
		if (w->positions[i].placement != NPUMEM_NONE)
			w->positions[i].host_offset = host[w->positions[i].index];
	return err;
}

static int write_plan(struct spill_writing *w, uint64_t *host, struct npuplan_error *error)
{
	struct npuplan_plan *plan = w->plan;
	uint32_t placement = 0;
	int err = 0;

	for (uint32_t t = 0; t < w->graph->tensor_count; t++)
		w->copies[t].tensor = NPUMEM_NONE;
	for (uint32_t i = 0; i < plan->block_count && !err; i++)
		err = write_instance(w, i, &placement);
	if (err)
		return err;
	write_placements(w);
	err = place_copies(w, host, error);
	if (err)
		return err;
	free(plan->positions);
	plan->positions = w->positions;
	plan->position_count = w->position_count;
	w->positions = NULL;
	return 0;
}

int npuplan_spilling_back(const struct npuplan_spilling *s, const struct npuplan_graph *graph,
			  struct npuplan_plan *plan, struct npuplan_error *error)
{
	AUTO_POOL struct npuplan_pool pool = { 0 };
	struct spill_writing w = {
		.s = s,
		.graph = graph,
		.plan = plan,
		.at = npuplan_pool_take(&pool, plan->position_count, sizeof(*w.at)),
		.placement_of = npuplan_pool_take(&pool, s->tensor_count, sizeof(*w.placement_of)),
		.copies = npuplan_pool_take(&pool, graph->tensor_count, sizeof(*w.copies)),
	};
	uint64_t *host = npuplan_pool_take(&pool, graph->tensor_count, sizeof(*host));
	int err = pool.failed ? -ENOMEM : write_plan(&w, host, error);

	npuplan_free(w.positions);
	return err;
}
