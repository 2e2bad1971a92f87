// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Transfers of a plan: checks their records (V2) and the addresses of their copies (V5), and
 * makes the graph in which they are steps.
 *
 * That graph has the client's records first, under their numbers; its blocks are the plan's
 * instances. Behind the client's steps there is one for each position, and behind the client's
 * accesses are theirs, both in the order of the plan: what an instance does to a tensor
 * depends on the transfers in it, so that each instance has cells of its own. A
 * transfer's step has two accesses, of a range of the tensor and of the same range of its host
 * copy. A drop's step has none; an access that belongs to no step says which bytes it drops.
 * Host copies have placements, too, in force in all of an instance that moves them.
 */
#include "plan.h"

/*
 * struct moving - state of making the graph of a plan with transfers
 * @w, @p: the call that this is part of, and its plan
 * @source: the client's graph
 * @g: the graph with transfers
 * @planned: per tensor, it has a placement
 * @moves: number of transfers that are no drops
 * @tiles: those of transfers, in @g
 * @tile: number of the next of them
 * @access: number of the next access of the steps in @g that stand for positions
 * @placements: those of @p, then those of host copies
 */
struct moving {
	struct npuv_work *w;
	struct npuv_plan *p;
	const struct npuv_graph *source;
	struct npuv_graph *g;
	u8 *planned;
	u32 moves;
	struct npumem_tile *tiles;
	u32 tile, access;
	struct npumem_access *accesses;
	struct npuv_vector placements;
};

static bool is_move(const struct npumem_position *at)
{
	return at->kind != NPUMEM_POSITION_STEP && at->kind != NPUMEM_POSITION_DROP;
}

/* A text such as "position 4, spill of tensor 2 'x'". */
struct transfer_text {
	char s[160];
};

static const char *text_transfer(const struct npuv_graph *g, const struct npuv_plan *p,
				 u32 position, struct transfer_text *out)
{
	const struct npumem_position *at = npuv_position(p, position);
	struct npuv_text tensor;

	snprintf(out->s, sizeof(out->s), "position %u, %s of %s", position,
		 npuv_kind_name(at->kind), npuv_text_tensor(g, at->index, &tensor));
	return out->s;
}

/* ---------------------------------------------------------------- records */

static const char *placement_flaw(const struct npuv_plan *p, u32 position)
{
	const struct npumem_position *at = npuv_position(p, position);
	const struct npumem_placement *placement;

	if (at->placement >= p->placements.count)
		return "its placement is not there";
	placement = npuv_placement(p, at->placement);
	if (placement->tensor != at->index)
		return "its placement is of another tensor";
	if (position < placement->from || position > placement->to)
		return "its placement is not in force";
	return NULL;
}

/* NULL, or a text that says what is wrong with a transfer, whose tensor exists. */
static const char *transfer_flaw(const struct npuv_plan *p, u32 position)
{
	const struct npumem_position *at = npuv_position(p, position);
	const struct npumem_tensor *t = npuv_tensor(p->graph, at->index);
	u64 end;

	if (at->pad)
		return "its pad is not zero";
	if (t->flags & NPUMEM_TENSOR_FLAG_ALIAS)
		return "an alias is moved with the tensor that it is an alias of";
	if (t->flags & NPUMEM_TENSOR_FLAG_EXTERNAL)
		return "an external tensor is not in the arena";
	if (!at->length)
		return "its length is zero";
	if (check_add_overflow(at->first, at->length, &end) || end > t->size)
		return "it ends beyond the tensor";
	if (at->kind == NPUMEM_POSITION_DROP)
		return at->placement != NPUMEM_NONE || at->host_offset ?
			       "a drop has no placement and no host_offset" :
			       NULL;
	if (at->kind == NPUMEM_POSITION_LOAD && !(t->flags & NPUMEM_TENSOR_FLAG_HOST))
		return "the tensor does not begin in host memory";
	if (check_add_overflow(at->host_offset, at->length, &end) || end > p->info->host_size)
		return "it ends beyond the plan's host memory";
	return placement_flaw(p, position);
}

static int check_record(struct npuv_work *w, const struct npuv_plan *p, u32 position)
{
	const struct npumem_position *at = npuv_position(p, position);
	struct transfer_text text;
	const char *flaw;

	if (at->kind == NPUMEM_POSITION_STEP)
		return 0;
	w->verdict->position = position;
	if (at->index >= p->graph->tensors.count)
		return npuv_refuse_unknown_tensor(w, NPUMEM_RULE_V2_ORDER, at->index,
						  "V2 order: position %u, %s", position,
						  npuv_kind_name(at->kind));
	w->verdict->tensor = at->index;
	flaw = transfer_flaw(p, position);
	if (flaw)
		return npuv_refuse(w, -EINVAL, NPUMEM_RULE_V2_ORDER, "V2 order: %s: %s",
				   text_transfer(p->graph, p, position, &text), flaw);
	npuv_verdict_clear(w->verdict);
	return 0;
}

int npuv_transfers_check(struct npuv_work *w, const struct npuv_plan *p)
{
	u64 end;
	u32 i;
	int err = 0;

	if (check_add_overflow(p->info->arena_size, p->info->host_size, &end))
		return npuv_refuse(w, -E2BIG, NPUMEM_RULE_NONE,
				   "limit: arena and host memory have more than 2^64 bytes "
				   "together");
	for (i = 0; !err && i < p->positions.count; i++) {
		err = check_record(w, p, i);
		if (!err)
			err = npuv_visit(w, 1);
	}
	return err;
}

/* ---------------------------------------------------------------- graph */

/* Copy a section with room for @more records after its own. Returns all of it, or NULL. */
static void *copy_section(struct npuv_graph *g, u32 own, const struct npuv_section *from, u32 size,
			  u32 more, struct npuv_section *out)
{
	u8 *copy = npuv_alloc_array((u64)from->count + more, size);
	u32 i;

	if (!copy)
		return NULL;
	for (i = 0; i < from->count; i++)
		memcpy(copy + (size_t)i * size, npuv_record(from, i), size);
	g->own[own] = copy;
	out->base = copy;
	out->stride = size;
	out->count = from->count + more;
	return copy;
}

/* Number the host copies that the graph will have. */
static int number_copies(struct moving *m, u32 *count)
{
	u32 tensors = m->source->tensors.count, i;

	m->g->host_copy = npuv_alloc_array(tensors, sizeof(u32));
	m->g->host_of = npuv_alloc_array(tensors, sizeof(u32));
	if (!m->g->host_copy || !m->g->host_of)
		return -ENOMEM;
	memset(m->g->host_copy, 0xff, (size_t)tensors * sizeof(u32));
	for (*count = i = 0; i < m->p->positions.count; i++) {
		const struct npumem_position *at = npuv_position(m->p, i);

		if (!is_move(at) || m->g->host_copy[at->index] != NPUMEM_NONE)
			continue;
		m->g->host_of[*count] = at->index;
		m->g->host_copy[at->index] = tensors + (*count)++;
	}
	return 0;
}

/* Make the tensors. One that is HOST has to be loaded, unless it is a parameter without place. */
static int build_tensors(struct moving *m)
{
	struct npumem_tensor *t;
	u32 i, count;
	int err;

	err = number_copies(m, &count);
	if (err)
		return err;
	t = copy_section(m->g, 0, &m->source->tensors, sizeof(*t), count, &m->g->tensors);
	if (!t)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		const struct npumem_tensor *of = npuv_tensor(m->source, m->g->host_of[i]);
		struct npumem_tensor *copy = &t[m->source->tensors.count + i];

		copy->size = of->size;
		copy->align = 1;
		copy->alias_of = NPUMEM_NONE;
		copy->name = of->name;
	}
	for (i = 0; i < m->source->tensors.count; i++)
		if (t[i].kind == NPUMEM_TENSOR_PARAMETER && !m->planned[i])
			t[i].flags &= ~NPUMEM_TENSOR_FLAG_HOST;
	return npuv_visit(m->w, m->g->tensors.count);
}

/* Add an access of a transfer, and a tile of its own. */
static void add_access(struct moving *m, const struct npumem_position *at, u32 tensor, u32 mode,
		       u32 step)
{
	struct npumem_access *access = &m->accesses[m->access];
	struct npumem_tile *tile = &m->tiles[m->tile];

	tile->tensor = tensor;
	npuv_region_range(&tile->region, at->first, at->length);
	access->tile = m->tile++;
	access->mode = mode;
	access->inplace = NPUMEM_NONE;
	m->g->access_step[m->access++] = step;
}

/* Make the step of a position that is one of the client's. */
static void copy_step(struct moving *m, u32 index, u32 step, struct npumem_step *out)
{
	const struct npumem_step *of = npuv_step(m->source, index);
	u32 i;

	*out = *of;
	out->first_access = m->access;
	out->cookie = (u64)NPUMEM_POSITION_STEP << 32 | index;
	for (i = 0; i < of->access_count; i++) {
		m->accesses[m->access] = *npuv_access(m->source, of->first_access + i);
		m->g->access_step[m->access++] = step;
	}
}

static void make_transfer(struct moving *m, const struct npumem_position *at, u32 step,
			  struct npumem_step *out)
{
	u32 tensor = at->index, copy = m->g->host_copy[tensor];
	bool in = at->kind == NPUMEM_POSITION_LOAD || at->kind == NPUMEM_POSITION_FILL;

	out->flags = NPUMEM_STEP_STAGED;
	out->name = NPUMEM_NONE;
	out->first_access = m->access;
	out->cookie = (u64)at->kind << 32;
	add_access(m, at, in ? copy : tensor, NPUMEM_ACCESS_READ, step);
	if (!is_move(at))
		return;
	out->access_count = 2;
	add_access(m, at, in ? tensor : copy, NPUMEM_ACCESS_WRITE, step);
}

/* Add a step for each position. @steps and @m->accesses begin with the client's. */
static void add_steps(struct moving *m, struct npumem_step *steps)
{
	u32 i;

	m->tile = m->source->tiles.count;
	m->access = m->source->accesses.count;
	for (i = 0; i < m->p->positions.count; i++) {
		const struct npumem_position *at = npuv_position(m->p, i);
		u32 step = m->source->steps.count + i;

		m->p->step_at[i] = step;
		if (at->kind == NPUMEM_POSITION_STEP)
			copy_step(m, at->index, step, &steps[step]);
		else
			make_transfer(m, at, step, &steps[step]);
	}
}

/*
 * Count the accesses of all positions, before there is memory for any. Each has a chunk, so that
 * more than the limit of these would be refused anyway.
 */
static int count_accesses(struct moving *m, u32 *count)
{
	u64 sum = 0, limit = m->w->limits->max_chunks;
	u32 i;

	for (i = 0; i < m->p->positions.count; i++) {
		const struct npumem_position *at = npuv_position(m->p, i);

		if (at->kind == NPUMEM_POSITION_STEP)
			sum += npuv_step(m->source, at->index)->access_count;
		else
			sum += 1 + is_move(at);
	}
	if (sum > limit)
		return npuv_refuse(m->w, -E2BIG, NPUMEM_RULE_NONE,
				   "limit: more than %llu accesses of all positions", limit);
	*count = (u32)sum;
	return npuv_visit(m->w, sum + i);
}

/* Make a block of each instance. */
static int build_blocks(struct moving *m)
{
	struct npumem_block *blocks = npuv_alloc_array(m->p->blocks.count, sizeof(*blocks));
	u32 i;

	if (!blocks)
		return -ENOMEM;
	m->g->own[4] = blocks;
	m->g->blocks.base = (const u8 *)blocks;
	m->g->blocks.stride = sizeof(*blocks);
	m->g->blocks.count = m->p->blocks.count;
	for (i = 0; i < m->p->blocks.count; i++) {
		const struct npumem_plan_block *b = npuv_plan_block(m->p, i);

		blocks[i] = *npuv_block(m->source, b->block);
		blocks[i].first_step = m->source->steps.count + b->first_position;
		blocks[i].step_count = b->position_count;
	}
	return npuv_visit(m->w, i);
}

static int build_steps(struct moving *m)
{
	u32 accesses = m->source->accesses.count, tiles = m->moves + m->p->transfers;
	u32 more = 0;
	struct npumem_step *steps;
	int err;

	err = count_accesses(m, &more);
	if (err)
		return err;
	m->p->step_at = npuv_alloc_array(m->p->positions.count, sizeof(u32));
	m->g->access_step = npuv_alloc_array((u64)accesses + more, sizeof(u32));
	m->tiles = copy_section(m->g, 1, &m->source->tiles, sizeof(*m->tiles), tiles, &m->g->tiles);
	m->accesses = copy_section(m->g, 2, &m->source->accesses, sizeof(*m->accesses), more,
				   &m->g->accesses);
	steps = copy_section(m->g, 3, &m->source->steps, sizeof(*steps), m->p->positions.count,
			     &m->g->steps);
	if (!m->p->step_at || !m->g->access_step || !m->tiles || !m->accesses || !steps)
		return -ENOMEM;
	memcpy(m->g->access_step, m->source->access_step, (size_t)accesses * sizeof(u32));
	add_steps(m, steps);
	err = npuv_visit(m->w, (u64)m->g->tiles.count + m->g->steps.count);
	return err ? err : build_blocks(m);
}

static int build_graph(struct moving *m)
{
	struct npuv_graph *g = npuv_alloc_array(1, sizeof(*g));
	int err;

	if (!g)
		return -ENOMEM;
	m->g = g;
	m->p->own_graph = g;
	g->source = m->source;
	g->blob = m->source->blob;
	g->size = m->source->size;
	g->strings = m->source->strings;
	g->edges = m->source->edges;
	g->carries = m->source->carries;
	g->alias_start = m->source->alias_start;
	g->aliases = m->source->aliases;
	g->features = m->source->features | NPUMEM_FEATURE_SPILL;
	err = build_tensors(m);
	return err ? err : build_steps(m);
}

/* ---------------------------------------------------------------- host memory */

/* Group moves, which are sorted otherwise, by instance. */
static int sort_by_instance(struct moving *m, u32 **start, u32 **order)
{
	struct npuv_vector pairs = { .size = sizeof(struct npuv_pair) };
	int err = 0;
	u32 i;

	for (i = 0; !err && i < m->moves; i++)
		err = npuv_pair_add(&pairs, npuv_instance_at(m->p, (*order)[i]), (*order)[i]);
	npuv_free_all(*start, *order);
	*start = NULL;
	*order = NULL;
	return npuv_group(m->w, err, &pairs, m->p->blocks.count, start, order);
}

/* Sort moves by host copy and first byte. The caller frees both arrays. */
static int sort_moves(struct moving *m, u32 **start, u32 **order)
{
	struct npuv_vector pairs = { .size = sizeof(struct npuv_pair) };
	u64 *firsts = npuv_alloc_array(m->moves, sizeof(u64));
	u64 *keys = npuv_alloc_array(m->moves, sizeof(u64));
	int err = firsts && keys ? 0 : -ENOMEM;
	u32 i, n = 0, unique = 0;

	for (i = 0; !err && i < m->p->positions.count; i++)
		if (is_move(npuv_position(m->p, i)))
			firsts[unique++] = npuv_position(m->p, i)->first;
	if (!err)
		err = npuv_sort_unique(m->w, firsts, &unique);
	for (i = 0; !err && i < m->p->positions.count; i++) {
		const struct npumem_position *at = npuv_position(m->p, i);

		if (is_move(at))
			keys[n++] = (u64)npuv_upper_bound(firsts, unique, at->first) << 32 | i;
	}
	if (!err)
		err = npuv_sort(m->w, keys, n);
	for (i = 0; !err && i < n; i++) {
		u32 tensor = npuv_position(m->p, (u32)keys[i])->index;

		err = npuv_pair_add(&pairs, m->g->host_copy[tensor] - m->source->tensors.count,
				    (u32)keys[i]);
	}
	npuv_free_all(firsts, keys);
	return npuv_group(m->w, err, &pairs, m->g->tensors.count - m->source->tensors.count, start,
			  order);
}

/* Refuse two transfers that have the copy of one byte at different addresses. */
static int refuse_apart(struct moving *m, u32 position, u32 other)
{
	const struct npumem_position *at = npuv_position(m->p, position);
	const struct npumem_position *before = npuv_position(m->p, other);
	struct transfer_text text;

	m->w->verdict->position = position;
	m->w->verdict->tensor = at->index;
	m->w->verdict->first = at->host_offset;
	m->w->verdict->length = 1;
	return npuv_refuse(m->w, -EINVAL, NPUMEM_RULE_V5_SPILL,
			   "V5 spill: %s: the copy of byte %llu is at byte %llu of host memory, "
			   "but at position %u at byte %llu",
			   text_transfer(m->source, m->p, position, &text), at->first,
			   at->host_offset, other,
			   before->host_offset + (at->first - before->first));
}

/* Check that the moves of one host copy, by first byte, have each byte at one address. */
static int check_copy(struct moving *m, const u32 *moves, u32 count)
{
	u64 end = 0, base = 0;
	u32 i, widest = 0;

	for (i = 0; i < count; i++) {
		const struct npumem_position *at = npuv_position(m->p, moves[i]);
		bool same = i && at->host_offset - at->first == base;

		if (at->first < end && !same)
			return refuse_apart(m, moves[i], widest);
		if (!same || at->first > end)
			end = at->first;
		base = at->host_offset - at->first;
		if (at->first + at->length > end) {
			end = at->first + at->length;
			widest = moves[i];
		}
	}
	return npuv_visit(m->w, 1 + count);
}

/*
 * Make the placements of one host copy in an instance, which cover the bytes of its moves. These
 * are at one address each.
 */
static int place_copy(struct moving *m, u32 instance, const u32 *moves, u32 count)
{
	u32 copy = m->g->host_copy[npuv_position(m->p, moves[0])->index];
	struct npumem_placement *last = NULL;
	u64 end = 0;
	u32 i;

	for (i = 0; i < count; i++) {
		const struct npumem_position *at = npuv_position(m->p, moves[i]);
		u64 offset = m->p->info->arena_size + at->host_offset;
		bool same = last && offset - at->first == last->offset - last->region.offset;

		if (!same || at->first > end) {
			last = npuv_vector_add(&m->placements, 1);
			if (!last)
				return -ENOMEM;
			last->tensor = copy;
			last->block = instance;
			last->from = npuv_plan_block(m->p, instance)->first_position;
			last->to = npuv_instance_last(m->p, instance);
			last->offset = offset;
			npuv_region_range(&last->region, at->first, at->length);
			end = at->first;
		}
		if (at->first + at->length > end)
			end = at->first + at->length;
		last->region.length = end - last->region.offset;
	}
	return npuv_visit(m->w, 1 + count);
}

/* Make the placements of all copies in an instance, whose moves stand together by copy. */
static int place_in(struct moving *m, u32 instance, const u32 *moves, u32 count)
{
	u32 i, end;
	int err = 0;

	for (i = 0; !err && i < count; i = end) {
		u32 tensor = npuv_position(m->p, moves[i])->index;

		for (end = i; end < count && npuv_position(m->p, moves[end])->index == tensor;)
			end++;
		err = place_copy(m, instance, moves + i, end - i);
	}
	return err ? err : npuv_visit(m->w, 1);
}

static int place_copies(struct moving *m)
{
	u32 *start = NULL, *order = NULL;
	struct npumem_placement *all;
	u32 i;
	int err;

	all = npuv_vector_add(&m->placements, m->p->placements.count);
	if (!all)
		return -ENOMEM;
	for (i = 0; i < m->p->placements.count; i++)
		all[i] = *npuv_placement(m->p, i);
	err = sort_moves(m, &start, &order);
	for (i = 0; !err && i < m->g->tensors.count - m->source->tensors.count; i++)
		err = check_copy(m, order + start[i], start[i + 1] - start[i]);
	if (!err)
		err = sort_by_instance(m, &start, &order);
	for (i = 0; !err && i < m->p->blocks.count; i++)
		err = place_in(m, i, order + start[i], start[i + 1] - start[i]);
	npuv_free_all(start, order);
	if (err)
		return err;
	m->p->placements.count = m->placements.count;
	m->p->placements.stride = sizeof(*all);
	m->p->own_placements = npuv_vector_take(&m->placements);
	m->p->placements.base = (const u8 *)m->p->own_placements;
	return m->p->own_placements ? 0 : -ENOMEM;
}

/* ---------------------------------------------------------------- all */

int npuv_transfers_insert(struct npuv_work *w, struct npuv_plan *p)
{
	struct moving m = {
		.w = w,
		.p = p,
		.source = p->graph,
		.placements = { .size = sizeof(struct npumem_placement) },
	};
	int err;
	u32 i;

	m.planned = npuv_alloc_array(p->graph->tensors.count, sizeof(*m.planned));
	if (!m.planned)
		return -ENOMEM;
	for (i = 0; i < p->placements.count; i++)
		m.planned[npuv_placement(p, i)->tensor] = true;
	for (i = 0; i < p->positions.count; i++)
		m.moves += is_move(npuv_position(p, i));
	err = build_graph(&m);
	if (!err)
		err = place_copies(&m);
	npuv_free_all(m.planned, m.placements.data);
	if (err)
		return err;
	p->graph = m.g;
	return npuv_cells_find(w, m.g, p);
}

int npuv_transfers_placed(struct npuv_work *w, const struct npuv_plan *p, u32 instance)
{
	const struct npumem_plan_block *b = npuv_plan_block(p, instance);
	struct transfer_text text;
	u32 i;
	int err;

	for (i = b->first_position; i < b->first_position + b->position_count; i++) {
		const struct npumem_position *at = npuv_position(p, i);
		const struct npuv_location *location;
		u64 byte = at->first, end = at->first + at->length;

		if (!is_move(at))
			continue;
		location = npuv_location_of(p, instance, at->index);
		while (byte < end) {
			const struct npuv_extent *e = npuv_location_find_at(p, location, byte, i);

			if (!e || e->placement != at->placement) {
				w->verdict->position = i;
				w->verdict->tensor = at->index;
				return npuv_refuse(w, -EINVAL, NPUMEM_RULE_V2_ORDER,
						   "V2 order: %s: byte %llu is not in its "
						   "placement %u",
						   text_transfer(p->graph, p, i, &text), byte,
						   at->placement);
			}
			byte = e->first + e->length;
			err = npuv_visit(w, 1);
			if (err)
				return err;
		}
	}
	return 0;
}
