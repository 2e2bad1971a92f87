// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Byte ownership: rules V3, V4, V6 and V7.
 *
 * Instance by instance. First it is settled when each cell lives (from the
 * position that writes it to its last use) and where (the one placement that
 * covers it all that time). Then the instance's positions are walked once with
 * the state of every cell, as if each were submitted in turn, and with the map
 * of the arena's owners. What instances need of each other is in demand.c.
 */
#include "check.h"

/* V3: check that nothing is read before it is written, and note the last use of each cell. */
static int check_order(struct npuv_check *k)
{
	const struct npuv_graph *g = k->g;
	struct npuv_cells it;
	u32 i, a, n;
	int err;

	for (i = k->first; i < k->first + npuv_block(g, k->block)->step_count; i++) {
		const struct npumem_step *s = npuv_step(g, npuv_step_at(k->p, i));

		for (a = s->first_access; a < s->first_access + s->access_count; a++) {
			n = 0;
			npuv_for_each_read(it, g, a)
			{
				u32 writer = g->cells[it.cell].writer;

				n++;
				k->p->last_use[npuv_current(k, it.cell)] = a;
				if (writer != NPUMEM_NONE && npuv_position_of(k, writer) >= i)
					return npuv_refuse_order(k, a, writer);
			}
			err = npuv_visit(k->w, 1 + n);
			if (err)
				return err;
		}
	}
	return 0;
}

static int begin_map(struct npuv_check *k)
{
	u64 *bounds = k->bounds.data;
	int err = npuv_sort_unique(k->w, bounds, &k->bounds.count);
	u32 count = k->bounds.count;

	if (err)
		return err;
	k->bounds = (struct npuv_vector){ .size = sizeof(u64) };
	return npuv_arena_init(&k->map, bounds, count);
}

/* A cell takes [first, end) of the arena from one of its owners. */
static int take_from(struct npuv_check *k, u32 cell, u32 owner, u64 tensor_first, u64 first,
		     u64 end)
{
	const struct npuv_cell *mine = &k->g->cells[cell], *theirs;
	u32 *over;
	int may;

	if (owner & NPUV_OWNER_PASS)
		return npuv_refuse_write(k, cell, owner, first, end);
	theirs = &k->g->cells[owner];
	/* Bytes that were there at the entry, or that this very step wrote, may not be lost yet. */
	if (mine->writer == NPUMEM_NONE ||
	    (theirs->writer != NPUMEM_NONE && npuv_birth_of(k, owner) == npuv_birth_of(k, cell)))
		return npuv_refuse_write(k, cell, owner, first, end);
	if (k->left[owner] != NPUV_RETIRED) {
		may = npuv_inplace_may(k, cell, owner, tensor_first, first, end);
		if (may < 0)
			return may;
		if (!may)
			return npuv_refuse_write(k, cell, owner, first, end);
	}
	if (k->stamp[owner] == cell + 1)
		return 0;
	k->stamp[owner] = cell + 1;
	over = &k->p->overwriter[npuv_current(k, owner)];
	if (*over == NPUMEM_NONE)
		*over = cell;
	return npuv_pair_add(&k->preds, npuv_current(k, cell), owner);
}

/* A cell takes the arena bytes of one of its fragments from their owners. */
static int take(struct npuv_check *k, u32 cell, u64 tensor_first, u64 arena, u64 length)
{
	u32 lo = npuv_arena_bound(&k->map, arena), hi = npuv_arena_bound(&k->map, arena + length);
	u32 i, next, n, set;
	int err;

	for (i = npuv_arena_first(&k->map, lo); i < hi; i = next) {
		u32 owner = k->map.owner[i];
		u64 first, end;

		next = npuv_arena_next(&k->map, i);
		first = k->map.bounds[i > lo ? i : lo];
		end = k->map.bounds[next < hi ? next : hi];
		err = npuv_visit(k->w, 1);
		if (err)
			return err;
		if (owner == NPUMEM_NONE)
			continue;
		if (!(owner & NPUV_OWNER_SET)) {
			err = take_from(k, cell, owner, tensor_first + (first - arena), first, end);
			if (err)
				return err;
			continue;
		}
		set = owner & ~NPUV_OWNER_SET;
		for (n = k->set_start[set]; n < k->set_start[set + 1]; n++) {
			err = take_from(k, cell, k->set_owners[n], tensor_first + (first - arena),
					first, end);
			if (!err)
				err = npuv_visit(k->w, 1);
			if (err)
				return err;
		}
	}
	npuv_arena_paint(&k->map, lo, hi, cell);
	return 0;
}

static int write_cell(struct npuv_check *k, u32 cell)
{
	u32 birth = npuv_birth_of(k, cell);
	struct npuv_fragments it;
	int err;

	npuv_cell_fragments(&it, k, cell);
	while (npuv_fragments_next(&it)) {
		const struct npuv_extent *e;

		e = npuv_location_find_at(k->p, it.location, it.first, birth);
		if (!e)
			continue; /* these bytes need no home */
		err = take(k, cell, it.first, e->arena + (it.first - e->first), it.length);
		if (err)
			return err;
	}
	k->left[cell] = k->p->uses[npuv_current(k, cell)];
	return 0;
}

static void count_reads(struct npuv_check *k, u32 access)
{
	struct npuv_cells it;

	npuv_for_each_read(it, k->g, access) k->left[it.cell]--;
}

/*
 * Walk one step. A staged step's reads are over before it writes. Otherwise an update is
 * done with each byte that it reads when it writes it, and so is a write in place with the
 * byte at its own address.
 */
static int run_step(struct npuv_check *k, const struct npumem_step *s)
{
	bool staged = s->flags & NPUMEM_STEP_STAGED;
	u32 a, end = s->first_access + s->access_count;
	struct npuv_cells it;
	int err;

	for (a = s->first_access; staged && a < end; a++)
		count_reads(k, a);
	for (a = s->first_access; a < end; a++) {
		if (!staged && npuv_access(k->g, a)->mode == NPUMEM_ACCESS_UPDATE)
			count_reads(k, a);
		err = staged ? 0 : npuv_inplace_begin(k, a);
		if (err)
			return err;
		npuv_for_each_write(it, k->g, a)
		{
			err = write_cell(k, it.cell);
			if (err)
				return err;
		}
	}
	for (a = s->first_access; !staged && a < end; a++)
		if (npuv_access(k->g, a)->mode == NPUMEM_ACCESS_READ)
			count_reads(k, a);
	return npuv_visit(k->w, s->access_count);
}

/* In a graph of one block without edges, cells that are valid at its entry are written first. */
static int write_valid(struct npuv_check *k)
{
	u32 i;
	int err = 0;

	for (i = 0; !err && i < k->g->cell_count; i++) {
		if (k->g->cells[i].writer != NPUMEM_NONE)
			continue;
		err = write_cell(k, i);
	}
	return err;
}

static int run_schedule(struct npuv_check *k)
{
	u32 i;
	int err;

	err = npuv_is_flat(k->g) ? write_valid(k) : npuv_initial_paint(k);
	if (err)
		return err;
	for (i = k->first; i < k->first + npuv_block(k->g, k->block)->step_count; i++) {
		err = run_step(k, npuv_step(k->g, npuv_step_at(k->p, i)));
		if (err)
			return err;
	}
	return 0;
}

/* V7 of one block without edges: the next inference finds its state where this one did. */
static int check_exit(struct npuv_check *k)
{
	struct npuv_fragments it;
	u32 cell;
	int err;

	for (cell = 0; cell < k->g->cell_count; cell++) {
		const struct npuv_cell *c = &k->g->cells[cell];

		if (!(c->survives & NPUV_SURVIVES_STATE) || c->writer == NPUMEM_NONE)
			continue;
		npuv_cell_fragments(&it, k, cell);
		while (npuv_fragments_next(&it)) {
			const struct npuv_extent *begin, *end;

			begin = npuv_location_find_at(k->p, it.location, it.first, k->first);
			end = npuv_location_find_at(k->p, it.location, it.first, k->last);
			if (!begin || begin->arena != end->arena) {
				return npuv_refuse_state(k, NULL, c->tensor, it.first,
							 it.first + it.length, end);
			}
			err = npuv_visit(k->w, 1);
			if (err)
				return err;
		}
	}
	return 0;
}

static void begin_instance(struct npuv_check *k, u32 instance)
{
	const struct npumem_plan_block *b = npuv_plan_block(k->p, instance);
	u32 i;

	k->instance = instance;
	k->block = npuv_block_of(k->p, instance);
	k->first = b->first_position;
	k->last = npuv_instance_last(k->p, instance);
	for (i = 0; i < b->position_count; i++)
		k->position[npuv_step_at(k->p, k->first + i)] = k->first + i;
	for (i = k->g->cell_start[k->block]; i < k->g->cell_start[k->block + 1]; i++) {
		k->demand[i] = NPUMEM_NONE;
		k->left[i] = NPUV_EMPTY;
		k->stamp[i] = 0;
		k->replaced[i] = 0;
		k->p->last_use[npuv_current(k, i)] = NPUMEM_NONE;
		k->p->overwriter[npuv_current(k, i)] = NPUMEM_NONE;
	}
	npuv_vector_clear(&k->bounds);
	npuv_vector_clear(&k->passes);
	npuv_vector_clear(&k->initial);
}

static void end_instance(struct npuv_check *k)
{
	npuv_arena_fini(&k->map);
	npuv_free_all(k->set_start, k->set_owners);
	k->set_start = NULL;
	k->set_owners = NULL;
}

static int check_instance(struct npuv_check *k, u32 instance)
{
	u32 i;
	int err;

	begin_instance(k, instance);
	err = check_order(k);
	if (!err && !npuv_is_flat(k->g))
		err = npuv_demand_mark(k);
	for (i = k->g->cell_start[k->block]; i < k->g->cell_start[k->block + 1]; i++)
		k->p->uses[npuv_current(k, i)] = k->g->cells[i].reads + npuv_survives(k, i);
	if (!err)
		err = npuv_homes_find(k);
	if (!err && k->p->transfers)
		err = npuv_transfers_placed(k->w, k->p, instance);
	if (!err)
		err = begin_map(k);
	if (!err)
		err = run_schedule(k);
	if (!err && npuv_is_flat(k->g))
		err = check_exit(k);
	end_instance(k);
	return err;
}

/* Count cells, to know where each instance's are in the plan's arrays before allocating these. */
static int count_cells(struct npuv_check *k)
{
	struct npuv_plan *p = k->p;
	u32 i;
	int err;

	p->cell_base = npuv_alloc_array((u64)p->blocks.count + 1, sizeof(u32));
	if (!p->cell_base)
		return -ENOMEM;
	for (i = 0; i < p->blocks.count; i++) {
		u32 block = npuv_block_of(p, i);
		u32 cells = k->g->cell_start[block + 1] - k->g->cell_start[block];

		err = i ? npuv_visit(k->w, 1 + cells) : 0;
		if (err)
			return err;
		p->cell_base[i + 1] = p->cell_base[i] + cells;
	}
	return 0;
}

static int allocate(struct npuv_check *k)
{
	u32 cells = k->g->cell_count, all = npuv_cell_count(k->p);
	struct npuv_plan *p = k->p;

	p->uses = npuv_alloc_array(all, sizeof(u32));
	p->last_use = npuv_alloc_array(all, sizeof(u32));
	p->overwriter = npuv_alloc_array(all, sizeof(u32));
	k->position = npuv_alloc_array(k->g->steps.count, sizeof(u32));
	k->source = npuv_alloc_array(k->g->tensors.count, sizeof(u32));
	k->demand = npuv_alloc_array(cells, sizeof(u32));
	k->left = npuv_alloc_array(cells, sizeof(u32));
	k->stamp = npuv_alloc_array(cells, sizeof(u32));
	k->replaced = npuv_alloc_array(cells, sizeof(u32));
	if (!p->uses || !p->last_use || !p->overwriter || !k->position || !k->source ||
	    !k->demand || !k->left || !k->stamp || !k->replaced)
		return -ENOMEM;
	memset(k->source, 0xff, (size_t)k->g->tensors.count * sizeof(u32));
	return 0;
}

static int check(struct npuv_check *k)
{
	struct npuv_plan *p = k->p;
	u32 i;
	int err;

	err = count_cells(k);
	if (!err)
		err = allocate(k);
	if (!err && !npuv_is_flat(k->g))
		err = npuv_edges_group(k->w, p, &k->edge_start, &k->edges);
	for (i = 0; !err && i < p->blocks.count; i++)
		err = check_instance(k, i);
	if (!err && !npuv_is_flat(k->g))
		err = npuv_demand_check(k);
	return err ? err :
		     npuv_group(k->w, 0, &k->preds, npuv_cell_count(p), &p->pred_start,
				&p->pred_cells);
}

int npuv_owner_check(struct npuv_work *w, struct npuv_plan *p)
{
	struct npuv_check k = {
		.w = w,
		.p = p,
		.g = p->graph,
		.bounds = { .size = sizeof(u64) },
		.passes = { .size = sizeof(struct npuv_pass) },
		.initial = { .size = sizeof(struct npuv_initial) },
		.preds = { .size = sizeof(struct npuv_pair) },
	};
	int err = check(&k);

	npuv_free_all(k.edge_start, k.edges, k.position, k.source, k.demand, k.left, k.stamp,
		      k.replaced, k.bounds.data, k.passes.data, k.initial.data, k.preds.data);
	return err;
}
