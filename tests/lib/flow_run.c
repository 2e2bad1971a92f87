// SPDX-License-Identifier: MIT
#include "flow_run.h"
#include "random.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* struct byte - what a byte of the arena holds; value 0: nothing */
struct byte {
	uint32_t value;
	uint32_t index;
};

/*
 * struct player
 * @arena: arena_size bytes; @host: host_size bytes
 * @values: per tensor the value that it has; 0: none
 * @written: per tensor, the visit of a block in which it was last written
 * @next: values by now
 * @visit: visits of blocks by now
 * @away: per block how many edges the exit is away
 * @placements: those of instance b are placements[first_placement[b] ..)
 * @edges: plan edges that leave instance b are edges[first_edge[b] ..)
 */
struct player {
	const struct npuplan_graph *graph;
	const struct npuplan_plan *plan;
	struct flow_run *run;
	struct byte *arena;
	struct byte *host;
	uint32_t *values;
	uint32_t *written;
	uint32_t *scratch;
	uint32_t *away;
	uint32_t *placements;
	uint32_t *first_placement;
	uint32_t *edges;
	uint32_t *first_edge;
	uint32_t next;
	uint32_t visit;
	uint32_t block;
	uint64_t state;
};

__attribute__((format(printf, 2, 3))) static bool wrong(struct player *p, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(p->run->text, sizeof(p->run->text), format, args);
	va_end(args);
	return false;
}

static uint32_t draw(struct player *p, uint32_t count)
{
	return (uint32_t)(random_next(&p->state) % count);
}

/* Placement of byte @index of a tensor in the current instance that holds at @position. */
static const struct npumem_placement *placed(const struct player *p, uint32_t tensor,
					     uint32_t position, uint64_t index)
{
	for (uint32_t i = p->first_placement[p->block]; i < p->first_placement[p->block + 1]; i++) {
		const struct npumem_placement *at = &p->plan->placements[p->placements[i]];

		if (at->tensor == tensor && at->from <= position && at->to >= position &&
		    index - at->region.offset < at->region.length)
			return at;
	}
	return NULL;
}

/* Where byte @index of a placed tensor is. Placements of several chunks are not played. */
static uint64_t address_of(const struct npumem_placement *at, uint64_t index)
{
	if (at->region.count[0] * at->region.count[1] * at->region.count[2] != 1 || at->ring)
		return UINT64_MAX;
	return at->offset + index - at->region.offset;
}

/* Tensor whose bytes those of @tensor are; *first: where they begin in it. */
static uint32_t base_of(const struct player *p, uint32_t tensor, uint64_t *first)
{
	const struct npuplan_tensor *t = &p->graph->tensors[tensor];

	*first = 0;
	if (!(t->flags & NPUMEM_TENSOR_FLAG_ALIAS))
		return tensor;
	*first = t->alias_offset;
	return t->alias_of;
}

/* Byte @index of @tensor must be that of its value, at @at. */
static bool look(struct player *p, const struct npumem_placement *at, uint64_t index,
		 const char *when)
{
	uint32_t tensor = at->tensor;
	const struct byte *byte;

	if (address_of(at, index) >= p->plan->info.arena_size)
		return wrong(p, "%s: tensor %u lies beyond the arena", when, tensor);
	byte = &p->arena[address_of(at, index)];
	if (!p->values[tensor])
		return wrong(p, "%s: tensor %u has no value", when, tensor);
	if (byte->value != p->values[tensor] || byte->index != index)
		return wrong(p, "%s: tensor %u byte %u has value %u, the arena holds byte %u of %u",
			     when, tensor, (unsigned int)index, p->values[tensor], byte->index,
			     byte->value);
	return true;
}

static bool put(struct player *p, const struct npumem_placement *at, uint64_t index,
		const char *when)
{
	if (address_of(at, index) >= p->plan->info.arena_size)
		return wrong(p, "%s: tensor %u lies beyond the arena", when, at->tensor);
	p->arena[address_of(at, index)] = (struct byte){ p->values[at->tensor], (uint32_t)index };
	return true;
}

/* Reads (@store false) or writes byte @index of a tensor where it is placed. */
static bool touch(struct player *p, uint32_t tensor, uint32_t position, uint64_t index, bool store,
		  const char *when)
{
	const struct npumem_placement *at = placed(p, tensor, position, index);

	if (!at)
		return wrong(p, "%s: tensor %u has no place at position %u", when, tensor,
			     position);
	return store ? put(p, at, index, when) : look(p, at, index, when);
}

static bool whole(struct player *p, uint32_t tensor, uint32_t position, bool store,
		  const char *when)
{
	for (uint64_t i = 0; i < p->graph->tensors[tensor].size; i++)
		if (!touch(p, tensor, position, i, store, when))
			return false;
	return true;
}

/* Reads (@store false) or writes of one access. */
static bool run_access(struct player *p, uint32_t access, uint32_t position, bool store)
{
	const struct npumem_tile *tile = &p->graph->tiles[p->graph->accesses[access].tile];
	const struct npumem_region *r = &tile->region;
	uint64_t first;
	uint32_t tensor = base_of(p, tile->tensor, &first);

	if (p->graph->tensors[tensor].flags & NPUMEM_TENSOR_FLAG_EXTERNAL)
		return true;
	for (uint32_t z = 0; z < r->count[2]; z++)
		for (uint32_t y = 0; y < r->count[1]; y++)
			for (uint32_t x = 0; x < r->count[0]; x++)
				for (uint64_t i = 0; i < r->length; i++) {
					uint64_t index = first + r->offset + x * r->stride[0] +
							 y * r->stride[1] + z * r->stride[2] + i;

					if (!touch(p, tensor, position, index, store,
						   store ? "write" : "read"))
						return false;
				}
	return true;
}

/*
 * Give a tensor that is written its new value. One that is written tile by tile has one value, from
 * the first tile that a visit of a block writes. What is updated in part, or state, keeps its
 * value.
 */
static void renew(struct player *p, uint32_t tensor, uint32_t mode, uint64_t bytes)
{
	bool keeps = mode == NPUMEM_ACCESS_UPDATE ||
		     p->graph->tensors[tensor].kind == NPUMEM_TENSOR_STATE;

	if (bytes == p->graph->tensors[tensor].size || !p->values[tensor] ||
	    (!keeps && p->written[tensor] != p->visit))
		p->values[tensor] = ++p->next;
	p->written[tensor] = p->visit;
}

/*
 * Reads first. A step that is not staged may go on reading while it stores, but
 * what it overwrites by leave: updates, and reads that a write is in place of.
 */
static bool run_step(struct player *p, uint32_t position)
{
	const struct npuplan_step *s = &p->graph->steps[p->plan->positions[position].index];
	const struct npumem_access *accesses = &p->graph->accesses[s->first_access];

	p->run->steps++;
	for (uint32_t a = 0; a < s->access_count; a++)
		if (accesses[a].mode != NPUMEM_ACCESS_WRITE &&
		    !run_access(p, s->first_access + a, position, false))
			return false;
	for (uint32_t a = 0; a < s->access_count; a++) {
		const struct npumem_tile *tile = &p->graph->tiles[accesses[a].tile];
		uint64_t first;
		uint32_t tensor = base_of(p, tile->tensor, &first);

		if (accesses[a].mode == NPUMEM_ACCESS_READ)
			continue;
		renew(p, tensor, accesses[a].mode, tile->region.length);
		if (!run_access(p, s->first_access + a, position, true))
			return false;
	}
	for (uint32_t a = 0; a < s->access_count && !(s->flags & NPUMEM_STEP_STAGED); a++) {
		bool replaced = accesses[a].mode != NPUMEM_ACCESS_READ;

		for (uint32_t k = 0; k < s->access_count; k++)
			replaced |= accesses[k].mode == NPUMEM_ACCESS_WRITE &&
				    accesses[k].inplace == a;
		if (!replaced && !run_access(p, s->first_access + a, position, false))
			return false;
	}
	return true;
}

/*
 * Copies bytes between the placement that the transfer names and host memory, whatever is there:
 * who reads them later finds out.
 */
static bool run_transfer(struct player *p, uint32_t position)
{
	const struct npumem_position *at = &p->plan->positions[position];
	const struct npumem_placement *placement = &p->plan->placements[at->placement];

	if (at->kind == NPUMEM_POSITION_DROP)
		return true;
	if (placement->tensor != at->index || placement->block != p->block)
		return wrong(p, "position %u names another's placement", position);
	for (uint64_t i = 0; i < at->length; i++) {
		uint64_t address = address_of(placement, at->first + i);

		if (address >= p->plan->info.arena_size ||
		    at->host_offset + i >= p->plan->info.host_size)
			return wrong(p, "position %u moves bytes beyond the memory", position);
		if (at->kind == NPUMEM_POSITION_FILL)
			p->arena[address] = p->host[at->host_offset + i];
		else
			p->host[at->host_offset + i] = p->arena[address];
	}
	return true;
}

static bool run_position(struct player *p, uint32_t position)
{
	if (p->plan->positions[position].kind == NPUMEM_POSITION_STEP)
		return run_step(p, position);
	return run_transfer(p, position);
}

static bool run_block(struct player *p)
{
	const struct npumem_plan_block *block = &p->plan->blocks[p->block];

	p->visit++;
	for (uint32_t i = block->first_entry; i < block->first_entry + block->entry_count; i++) {
		const struct npumem_entry *entry = &p->plan->entries[i];
		const struct npumem_placement *at = &p->plan->placements[entry->placement];

		if (at->tensor != entry->tensor || at->block != p->block)
			return wrong(p, "entry %u names another's placement", i);
		for (uint64_t b = entry->first; b < entry->first + entry->length; b++)
			if (!look(p, at, b, "entry"))
				return false;
	}
	for (uint32_t i = 0; i < block->position_count; i++)
		if (!run_position(p, block->first_position + i))
			return false;
	return true;
}

/* Plan edge to cross: at random, or the shortest way out. NONE: there is none. */
static uint32_t choose_edge(struct player *p, bool hurry)
{
	uint32_t chosen = NPUMEM_NONE, count = 0, best = UINT32_MAX;

	for (uint32_t i = p->first_edge[p->block]; i < p->first_edge[p->block + 1]; i++) {
		uint32_t to = p->graph->edges[p->plan->edges[p->edges[i]].edge].to;
		uint32_t away = to == NPUMEM_NONE ? 0 : p->away[to] + 1;

		if (hurry ? away < best : !draw(p, ++count))
			chosen = p->edges[i];
		best = away < best ? away : best;
	}
	return chosen;
}

/* Each instance goes on by each edge of its block, once. */
static bool check_edges(struct player *p)
{
	for (uint32_t b = 0; b < p->plan->block_count; b++)
		for (uint32_t e = 0; e < p->graph->edge_count; e++) {
			uint32_t found = 0;

			for (uint32_t i = p->first_edge[b]; i < p->first_edge[b + 1]; i++) {
				const struct npumem_plan_edge *at = &p->plan->edges[p->edges[i]];
				uint32_t to = p->graph->edges[e].to;

				if (at->edge != e)
					continue;
				found++;
				if (to == NPUMEM_NONE ? at->to != NPUMEM_NONE :
							p->plan->blocks[at->to].block != to)
					return wrong(p, "plan edge %u leads elsewhere",
						     p->edges[i]);
			}
			if (found != (p->graph->edges[e].from == p->plan->blocks[b].block))
				return wrong(p, "instance %u has %u edges for edge %u", b, found,
					     e);
		}
	return true;
}

static void cross(struct player *p, uint32_t edge)
{
	const struct npumem_edge *e = &p->graph->edges[p->plan->edges[edge].edge];

	memcpy(p->scratch, p->values, p->graph->tensor_count * sizeof(*p->values));
	for (uint32_t i = 0; i < e->carry_count; i++) {
		const struct npumem_carry *carry = &p->graph->carries[e->first_carry + i];

		p->values[carry->to] = p->scratch[carry->from];
	}
	p->block = p->plan->edges[edge].to;
	p->run->crossed++;
}

static uint32_t first_position(const struct player *p)
{
	return p->plan->blocks[p->block].first_position;
}

static uint32_t last_position(const struct player *p)
{
	const struct npumem_plan_block *block = &p->plan->blocks[p->block];

	return block->first_position + (block->position_count ? block->position_count - 1 : 0);
}

/* Inputs anew, and parameters if that is asked for; else these and state the first time. */
static bool enter(struct player *p, bool first)
{
	bool anew = first || p->run->anew;

	p->block = 0;
	for (uint32_t t = 0; t < p->graph->tensor_count; t++) {
		uint32_t kind = p->graph->tensors[t].kind;

		if (kind == NPUMEM_TENSOR_INTERMEDIATE || kind == NPUMEM_TENSOR_OUTPUT)
			p->values[t] = 0;
		else if (!placed(p, t, first_position(p), 0))
			continue;
		else if (kind == NPUMEM_TENSOR_INPUT || first ||
			 (anew && kind == NPUMEM_TENSOR_PARAMETER))
			p->values[t] = ++p->next;
		else if (!whole(p, t, first_position(p), false, "next inference"))
			return false;
	}
	for (uint32_t t = 0; t < p->graph->tensor_count; t++) {
		uint32_t kind = p->graph->tensors[t].kind;

		if (placed(p, t, first_position(p), 0) &&
		    (kind == NPUMEM_TENSOR_INPUT || (anew && kind == NPUMEM_TENSOR_PARAMETER) ||
		     (first && kind == NPUMEM_TENSOR_STATE)) &&
		    !whole(p, t, first_position(p), true, "start"))
			return false;
	}
	return true;
}

static bool leave(struct player *p, uint32_t block)
{
	p->block = block;
	for (uint32_t t = 0; t < p->graph->tensor_count; t++) {
		const struct npuplan_tensor *tensor = &p->graph->tensors[t];

		if (tensor->kind == NPUMEM_TENSOR_OUTPUT &&
		    !(tensor->flags & (NPUMEM_TENSOR_FLAG_EXTERNAL | NPUMEM_TENSOR_FLAG_ALIAS)) &&
		    !whole(p, t, last_position(p), false, "exit"))
			return false;
	}
	return true;
}

static bool infer(struct player *p, bool first)
{
	uint32_t crossed = 0;

	if (!enter(p, first))
		return false;
	for (;;) {
		uint32_t edge, from = p->block;

		if (!run_block(p))
			return false;
		edge = choose_edge(p, crossed++ >= p->run->edges);
		if (edge == NPUMEM_NONE)
			return wrong(p, "instance %u has no edge to cross", p->block);
		if (p->plan->edges[edge].to == NPUMEM_NONE)
			return leave(p, from);
		cross(p, edge);
	}
}

static void measure(struct player *p)
{
	bool changed = true;

	memset(p->away, 0x3f, p->graph->block_count * sizeof(*p->away));
	while (changed) {
		changed = false;
		for (uint32_t e = 0; e < p->graph->edge_count; e++) {
			const struct npumem_edge *edge = &p->graph->edges[e];
			uint32_t away = edge->to == NPUMEM_NONE ? 0 : p->away[edge->to] + 1;

			if (away < p->away[edge->from]) {
				p->away[edge->from] = away;
				changed = true;
			}
		}
	}
}

/* Sort @count records into instances; @owner gives a record's instance. */
static bool index_records(const struct player *p, uint32_t count,
			  uint32_t (*owner)(const struct npuplan_plan *plan, uint32_t record),
			  uint32_t **list, uint32_t **first)
{
	uint32_t blocks = p->plan->block_count;
	uint32_t *next = calloc((size_t)blocks + 1, sizeof(*next));

	*list = calloc((size_t)count + 1, sizeof(**list));
	*first = calloc((size_t)blocks + 1, sizeof(**first));
	for (uint32_t i = 0; i < count && next && *list && *first; i++)
		(*first)[owner(p->plan, i) + 1]++;
	for (uint32_t b = 0; b < blocks && next && *list && *first; b++) {
		(*first)[b + 1] += (*first)[b];
		next[b] = (*first)[b];
	}
	for (uint32_t i = 0; i < count && next && *list && *first; i++)
		(*list)[next[owner(p->plan, i)]++] = i;
	free(next);
	return next && *list && *first;
}

static uint32_t placement_owner(const struct npuplan_plan *plan, uint32_t placement)
{
	return plan->placements[placement].block;
}

static uint32_t edge_owner(const struct npuplan_plan *plan, uint32_t edge)
{
	return plan->edges[edge].from;
}

bool flow_run(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
	      struct flow_run *run)
{
	struct player p = {
		.graph = graph,
		.plan = plan,
		.run = run,
		.arena = calloc(plan->info.arena_size + 1, sizeof(*p.arena)),
		.host = calloc(plan->info.host_size + 1, sizeof(*p.host)),
		.values = calloc((size_t)graph->tensor_count + 1, sizeof(*p.values)),
		.written = calloc((size_t)graph->tensor_count + 1, sizeof(*p.written)),
		.scratch = calloc((size_t)graph->tensor_count + 1, sizeof(*p.scratch)),
		.away = calloc((size_t)graph->block_count + 1, sizeof(*p.away)),
		.state = run->seed,
	};
	bool good = p.arena && p.host && p.values && p.written && p.scratch && p.away &&
		    index_records(&p, plan->placement_count, placement_owner, &p.placements,
				  &p.first_placement) &&
		    index_records(&p, plan->edge_count, edge_owner, &p.edges, &p.first_edge);

	run->text[0] = '\0';
	run->crossed = run->steps = 0;
	if (!good)
		wrong(&p, "out of memory");
	if (good) {
		measure(&p);
		good = check_edges(&p);
	}
	for (uint32_t i = 0; i < run->inferences && good; i++)
		good = infer(&p, !i);
	free(p.arena);
	free(p.host);
	free(p.values);
	free(p.written);
	free(p.scratch);
	free(p.away);
	free(p.placements);
	free(p.first_placement);
	free(p.edges);
	free(p.first_edge);
	return good;
}

bool flow_planner(const char *name)
{
	return strcmp(name, "shared-objects") && strcmp(name, "taa-paper") &&
	       strncmp(name, "cosma-", 6);
}
