// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Byte ownership: rules V3, V4 and V7.
 *
 * First it is settled when each cell lives (from the position that writes it to
 * its last use) and where (the one placement that covers it all that time).
 * Then the schedule is walked once with the state of every cell, as if each
 * position were submitted in turn, and with the map of the arena's owners.
 */
#include "internal.h"

/*
 * struct walk - verification under way
 * @w, @p, @g: of it
 * @map: of the arena: which cell was written to these bytes last
 * @left: per cell NPUV_EMPTY or uses left
 * @stamp: per cell, last cell + 1 of which it was found a predecessor
 * @bounds: arena addresses where pieces of cells begin and end
 * @preds: (cell, predecessor) pairs
 */
struct walk {
	struct npuv_work *w;
	struct npuv_plan *p;
	const struct npuv_graph *g;
	struct npuv_arena map;
	u32 *left, *stamp;
	struct npuv_vector bounds, preds;
};

/*
 * struct pieces - iterator over a cell's segments, cut where extents begin
 * @first, @length: bytes of the tensor
 * @extent: first extent that holds them, NULL if none does
 * @count: extents that hold them
 */
struct pieces {
	u64 first, length;
	const struct npuv_extent *extent;
	u32 count;
	/* private */
	const struct npuv_plan *plan;
	const struct npuv_cell *cell;
	u32 segment;
	u64 left;
};

static void pieces_begin(struct pieces *it, const struct npuv_plan *p, u32 cell)
{
	memset(it, 0, sizeof(*it));
	it->plan = p;
	it->cell = &p->graph->cells[cell];
}

static bool pieces_next(struct pieces *it)
{
	const struct npuv_plan *p = it->plan;
	const struct npuv_extent *end = p->extents + p->extent_start[it->cell->tensor + 1];
	u64 limit;

	it->first += it->length;
	if (!it->left) {
		const struct npuv_segment *s;

		if (it->segment == it->cell->segment_count)
			return false;
		s = &p->graph->segments[it->cell->first_segment + it->segment++];
		it->first = s->first;
		it->left = s->length;
	}
	it->extent = npuv_place_find(p, it->cell->tensor, it->first);
	it->count = 0;
	if (it->extent) {
		limit = it->extent->first + it->extent->length;
		while (it->extent + it->count < end &&
		       it->extent[it->count].first == it->extent->first)
			it->count++;
	} else {
		limit = npuv_place_next(p, it->cell->tensor, it->first);
	}
	it->length = limit - it->first < it->left ? limit - it->first : it->left;
	it->left -= it->length;
	return true;
}

static u32 position_of(const struct walk *k, u32 access)
{
	return k->p->step_position[k->g->access_step[access]];
}

static u32 birth_of(const struct walk *k, u32 cell)
{
	u32 writer = k->g->cells[cell].writer;

	return writer == NPUMEM_NONE ? 0 : position_of(k, writer);
}

static u32 death_of(const struct walk *k, u32 cell)
{
	if (k->g->cells[cell].survives)
		return k->p->positions.count - 1;
	if (k->p->last_use[cell] != NPUMEM_NONE)
		return position_of(k, k->p->last_use[cell]);
	return birth_of(k, cell);
}

static void set_access(const struct walk *k, u32 access)
{
	struct npumem_verdict *v = k->w->verdict;

	v->position = position_of(k, access);
	v->step = k->g->access_step[access];
	v->tile = npuv_access(k->g, access)->tile;
	v->tensor = npuv_tile(k->g, v->tile)->tensor;
}

static void set_other(const struct walk *k, u32 access)
{
	struct npumem_verdict *v = k->w->verdict;

	v->other_step = k->g->access_step[access];
	v->other_tile = npuv_access(k->g, access)->tile;
	v->other_tensor = npuv_tile(k->g, v->other_tile)->tensor;
}

/* V3: nothing is read before it is written. On the way, last uses. */
static int check_order(struct walk *k)
{
	struct npuv_plan *p = k->p;
	const struct npuv_graph *g = k->g;
	struct npuv_text step, other, tensor;
	u32 i, a, n;
	int err;

	for (i = 0; i < g->cell_count; i++)
		p->last_use[i] = NPUMEM_NONE;
	for (i = 0; i < p->positions.count; i++) {
		const struct npumem_step *s = npuv_step(g, npuv_position(p, i)->index);

		for (a = s->first_access; a < s->first_access + s->access_count; a++) {
			for (n = g->read_start[a]; n < g->read_start[a + 1]; n++) {
				u32 cell = g->read_cells[n];
				u32 writer = g->cells[cell].writer;

				p->last_use[cell] = a;
				if (writer == NPUMEM_NONE || position_of(k, writer) < i)
					continue;
				set_access(k, a);
				set_other(k, writer);
				return npuv_refuse(
					k->w, -EINVAL, NPUMEM_RULE_V3_READ,
					"V3 read: %s reads tile %u of %s before %s "
					"writes it",
					npuv_text_step(g, k->w->verdict->step, &step),
					k->w->verdict->tile,
					npuv_text_tensor(g, k->w->verdict->tensor, &tensor),
					npuv_text_step(g, k->w->verdict->other_step, &other));
			}
			err = npuv_visit(k->w, 1 + g->read_start[a + 1] - g->read_start[a]);
			if (err)
				return err;
		}
	}
	return 0;
}

static int refuse_homeless(struct walk *k, u32 cell, const struct pieces *it)
{
	const struct npuv_cell *c = &k->g->cells[cell];
	struct npuv_text tensor, step;

	npuv_text_tensor(k->g, c->tensor, &tensor);
	k->w->verdict->tensor = c->tensor;
	k->w->verdict->position = 0;
	if (c->writer == NPUMEM_NONE)
		return npuv_refuse(k->w, -EINVAL, NPUMEM_RULE_V3_READ,
				   "V3 read: %s bytes [%llu, %llu) have no placement at position "
				   "0, where the schedule begins",
				   tensor.s, it->first, it->first + it->length);
	set_access(k, c->writer);
	return npuv_refuse(k->w, -EINVAL, NPUMEM_RULE_V3_READ,
			   "V3 read: %s bytes [%llu, %llu) have no placement at position %u, where "
			   "%s writes them",
			   tensor.s, it->first, it->first + it->length, k->w->verdict->position,
			   npuv_text_step(k->g, k->w->verdict->step, &step));
}

/* The home of a piece ends before the cell's life does. */
static int refuse_evicted(struct walk *k, u32 cell, const struct pieces *it,
			  const struct npuv_extent *home)
{
	u32 to = npuv_placement(k->p, home->placement)->to;
	const struct npuv_cell *c = &k->g->cells[cell];
	u32 use = k->p->last_use[cell];
	struct npuv_text tensor, step;

	npuv_text_tensor(k->g, c->tensor, &tensor);
	k->w->verdict->tensor = c->tensor;
	k->w->verdict->first = home->arena + (it->first - home->first);
	k->w->verdict->length = it->length;
	if (use == NPUMEM_NONE || position_of(k, use) <= to) {
		k->w->verdict->position = to;
		return npuv_refuse(k->w, -EINVAL, NPUMEM_RULE_V7_EXIT,
				   "V7 exit: %s bytes [%llu, %llu) are placed up to position %u "
				   "only, but must survive the exit",
				   tensor.s, it->first, it->first + it->length, to);
	}
	set_access(k, use);
	return npuv_refuse(k->w, -EINVAL, NPUMEM_RULE_V3_READ,
			   "V3 read: %s bytes [%llu, %llu) are placed up to position %u only, but "
			   "%s reads tile %u of them at position %u",
			   tensor.s, it->first, it->first + it->length, to,
			   npuv_text_step(k->g, k->w->verdict->step, &step), k->w->verdict->tile,
			   k->w->verdict->position);
}

/*
 * Every byte written or used needs a home; those of an input that nobody reads
 * may have one. A parameter without any placement is outside the arena.
 */
static bool needs_home(const struct walk *k, u32 cell)
{
	const struct npuv_cell *c = &k->g->cells[cell];

	if (npuv_tensor(k->g, c->tensor)->kind == NPUMEM_TENSOR_PARAMETER &&
	    k->p->extent_start[c->tensor] == k->p->extent_start[c->tensor + 1])
		return false;
	return c->writer != NPUMEM_NONE || c->reads || c->survives;
}

/* The one extent that holds a piece of a cell all its life; into bounds. */
static int find_home(struct walk *k, u32 cell, const struct pieces *it)
{
	u32 birth = birth_of(k, cell), death = death_of(k, cell);
	const struct npuv_extent *home = NULL, *second = NULL;
	struct npuv_text tensor;
	u64 *bounds, arena;
	u32 i;

	for (i = 0; i < it->count; i++) {
		const struct npuv_extent *e = &it->extent[i];
		const struct npumem_placement *p = npuv_placement(k->p, e->placement);

		if (p->from > death || p->to < birth)
			continue;
		if (!home && p->from <= birth)
			home = e;
		else
			second = e;
	}
	if (!home)
		return needs_home(k, cell) ? refuse_homeless(k, cell, it) :
					     npuv_visit(k->w, 1 + it->count);
	if (npuv_placement(k->p, home->placement)->to < death)
		return refuse_evicted(k, cell, it, home);
	if (second) {
		k->w->verdict->tensor = k->g->cells[cell].tensor;
		return npuv_refuse(k->w, -EINVAL, NPUMEM_RULE_V3_READ,
				   "V3 read: %s bytes [%llu, %llu) are in both placement %u and "
				   "placement %u",
				   npuv_text_tensor(k->g, k->w->verdict->tensor, &tensor),
				   it->first, it->first + it->length, home->placement,
				   second->placement);
	}
	k->p->extents[home - k->p->extents].used = 1;
	arena = home->arena + (it->first - home->first);
	bounds = npuv_vector_add(&k->bounds, 2);
	if (!bounds)
		return -ENOMEM;
	bounds[0] = arena;
	bounds[1] = arena + it->length;
	return npuv_visit(k->w, 1 + it->count);
}

static int find_homes(struct walk *k)
{
	struct pieces it;
	u32 cell;
	int err;

	for (cell = 0; cell < k->g->cell_count; cell++) {
		pieces_begin(&it, k->p, cell);
		while (pieces_next(&it)) {
			err = find_home(k, cell, &it);
			if (err)
				return err;
		}
	}
	npuv_place_compact(k->p);
	return 0;
}

static int begin_map(struct walk *k)
{
	u32 count = k->bounds.count;
	u64 *bounds = k->bounds.data, *spare;
	int err;

	spare = npuv_alloc_array(count, sizeof(u64));
	if (!spare)
		return -ENOMEM;
	err = npuv_sort(bounds, spare, count);
	npuv_free(spare);
	if (err)
		return err;
	k->bounds.data = NULL;
	return npuv_arena_init(&k->map, bounds, npuv_unique(bounds, count));
}

/* Whose bytes, what about them: the second half of every V4 refusal. */
static int refuse_write(struct walk *k, u32 cell, u32 owner, u64 first, u64 end)
{
	u32 writer = k->g->cells[cell].writer, use = k->p->last_use[owner];
	u32 tensor = k->g->cells[cell].tensor, other = k->g->cells[owner].tensor;
	struct npumem_verdict *v = k->w->verdict;
	struct npuv_text step, mine, theirs, reader;
	bool staged;
	u32 now;

	npuv_text_tensor(k->g, tensor, &mine);
	npuv_text_tensor(k->g, other, &theirs);
	v->tensor = tensor;
	v->other_tensor = other;
	v->first = first;
	v->length = end - first;
	if (writer == NPUMEM_NONE) {
		v->position = 0;
		return npuv_refuse(k->w, -EINVAL, NPUMEM_RULE_V4_WRITE,
				   "V4 write: %s and %s are both at bytes [%llu, %llu) of the "
				   "arena when the schedule begins",
				   mine.s, theirs.s, first, end);
	}
	set_access(k, writer);
	now = v->position;
	npuv_text_step(k->g, v->step, &step);
	if (k->g->cells[owner].writer != NPUMEM_NONE && birth_of(k, owner) == now) {
		set_other(k, k->g->cells[owner].writer);
		return npuv_refuse(k->w, -EINVAL, NPUMEM_RULE_V4_WRITE,
				   "V4 write: %s writes both %s and %s to bytes [%llu, %llu) of "
				   "the arena",
				   step.s, mine.s, theirs.s, first, end);
	}
	/* Of a staged step's own reads none is left. */
	staged = npuv_step(k->g, v->step)->flags & NPUMEM_STEP_STAGED;
	if (use == NPUMEM_NONE || position_of(k, use) < now + staged)
		return npuv_refuse(k->w, -EINVAL, NPUMEM_RULE_V4_WRITE,
				   "V4 write: %s writes %s to bytes [%llu, %llu) of the arena, "
				   "where %s must survive the exit",
				   step.s, mine.s, first, end, theirs.s);
	set_other(k, use);
	if (position_of(k, use) == now)
		return npuv_refuse(k->w, -EINVAL, NPUMEM_RULE_V4_WRITE,
				   "V4 write: %s writes %s to bytes [%llu, %llu) of the arena, "
				   "where it reads tile %u of %s itself and is not staged",
				   step.s, mine.s, first, end, v->other_tile, theirs.s);
	return npuv_refuse(
		k->w, -EINVAL, NPUMEM_RULE_V4_WRITE,
		"V4 write: %s writes %s to bytes [%llu, %llu) of the arena, still needed "
		"by %s which reads tile %u of %s",
		step.s, mine.s, first, end, npuv_text_step(k->g, v->other_step, &reader),
		v->other_tile, theirs.s);
}

/* A cell takes [first, end) of the arena from its owners. */
static int take(struct walk *k, u32 cell, u64 first, u64 end)
{
	u32 lo = npuv_arena_bound(&k->map, first), hi = npuv_arena_bound(&k->map, end);
	u32 i, next, birth = birth_of(k, cell);
	struct npuv_pair *pair;
	int err;

	for (i = npuv_arena_first(&k->map, lo); i < hi; i = next) {
		u32 owner = k->map.owner[i];

		next = npuv_arena_next(&k->map, i);
		err = npuv_visit(k->w, 1);
		if (err)
			return err;
		if (owner == NPUMEM_NONE)
			continue;
		/* Whatever the entry or this very step put there is not yet to be lost. */
		if (k->left[owner] != NPUV_RETIRED || k->g->cells[cell].writer == NPUMEM_NONE ||
		    (k->g->cells[owner].writer != NPUMEM_NONE && birth_of(k, owner) == birth)) {
			u64 from = i > lo ? k->map.bounds[i] : first;
			u64 to = next < hi ? k->map.bounds[next] : end;

			return refuse_write(k, cell, owner, from, to);
		}
		if (k->stamp[owner] == cell + 1)
			continue;
		k->stamp[owner] = cell + 1;
		pair = npuv_vector_add(&k->preds, 1);
		if (!pair)
			return -ENOMEM;
		pair->key = cell;
		pair->value = owner;
		if (k->p->overwriter[owner] == NPUMEM_NONE)
			k->p->overwriter[owner] = cell;
	}
	npuv_arena_paint(&k->map, lo, hi, cell);
	return 0;
}

static int write_cell(struct walk *k, u32 cell)
{
	u32 birth = birth_of(k, cell);
	struct pieces it;
	u64 arena;
	int err;

	pieces_begin(&it, k->p, cell);
	while (pieces_next(&it)) {
		const struct npuv_extent *e;

		e = npuv_place_find_at(k->p, k->g->cells[cell].tensor, it.first, birth);
		if (!e)
			continue; /* needs no home */
		arena = e->arena + (it.first - e->first);
		err = take(k, cell, arena, arena + it.length);
		if (err)
			return err;
	}
	k->left[cell] = k->p->uses[cell];
	return 0;
}

static void count_reads(struct walk *k, u32 access)
{
	u32 i;

	for (i = k->g->read_start[access]; i < k->g->read_start[access + 1]; i++)
		k->left[k->g->read_cells[i]]--;
}

/*
 * A staged step's reads are over before it writes. Otherwise only an update is
 * done with what it reads, byte by byte, when it writes it.
 */
static int run_step(struct walk *k, const struct npumem_step *s)
{
	bool staged = s->flags & NPUMEM_STEP_STAGED;
	u32 a, i, end = s->first_access + s->access_count;
	int err;

	for (a = s->first_access; staged && a < end; a++)
		count_reads(k, a);
	for (a = s->first_access; a < end; a++) {
		if (!staged && npuv_access(k->g, a)->mode == NPUMEM_ACCESS_UPDATE)
			count_reads(k, a);
		for (i = k->g->write_start[a]; i < k->g->write_start[a + 1]; i++) {
			err = write_cell(k, k->g->write_cells[i]);
			if (err)
				return err;
		}
	}
	for (a = s->first_access; !staged && a < end; a++)
		if (npuv_access(k->g, a)->mode == NPUMEM_ACCESS_READ)
			count_reads(k, a);
	return npuv_visit(k->w, s->access_count);
}

static int run_schedule(struct walk *k)
{
	u32 i;
	int err;

	for (i = 0; i < k->g->cell_count; i++) {
		k->left[i] = NPUV_EMPTY;
		k->p->overwriter[i] = NPUMEM_NONE;
	}
	for (i = 0; i < k->g->cell_count; i++) {
		if (k->g->cells[i].writer != NPUMEM_NONE)
			continue;
		err = write_cell(k, i);
		if (err)
			return err;
	}
	for (i = 0; i < k->p->positions.count; i++) {
		err = run_step(k, npuv_step(k->g, npuv_position(k->p, i)->index));
		if (err)
			return err;
	}
	return 0;
}

/* V7: the next inference finds its state where this one did. */
static int check_exit(struct walk *k)
{
	u32 cell, last = k->p->positions.count - 1;
	struct npuv_text tensor;
	struct pieces it;
	int err;

	for (cell = 0; cell < k->g->cell_count; cell++) {
		const struct npuv_cell *c = &k->g->cells[cell];

		if (!c->survives || c->writer == NPUMEM_NONE ||
		    npuv_tensor(k->g, c->tensor)->kind != NPUMEM_TENSOR_STATE)
			continue;
		pieces_begin(&it, k->p, cell);
		while (pieces_next(&it)) {
			const struct npuv_extent *begin, *end;

			begin = npuv_place_find_at(k->p, c->tensor, it.first, 0);
			end = npuv_place_find_at(k->p, c->tensor, it.first, last);
			if (!begin || begin->arena != end->arena) {
				k->w->verdict->tensor = c->tensor;
				k->w->verdict->first = end->arena + (it.first - end->first);
				k->w->verdict->length = it.length;
				return npuv_refuse(k->w, -EINVAL, NPUMEM_RULE_V7_EXIT,
						   "V7 exit: state %s bytes [%llu, %llu) do not "
						   "end where they began",
						   npuv_text_tensor(k->g, c->tensor, &tensor),
						   it.first, it.first + it.length);
			}
			err = npuv_visit(k->w, 1);
			if (err)
				return err;
		}
	}
	return 0;
}

static int check(struct walk *k)
{
	u32 cells = k->g->cell_count, i;
	int err;

	k->p->cell_base = npuv_alloc_array(1, sizeof(u32));
	k->p->uses = npuv_alloc_array(cells, sizeof(u32));
	k->p->last_use = npuv_alloc_array(cells, sizeof(u32));
	k->p->overwriter = npuv_alloc_array(cells, sizeof(u32));
	k->left = npuv_alloc_array(cells, sizeof(u32));
	k->stamp = npuv_alloc_array(cells, sizeof(u32));
	if (!k->p->cell_base || !k->p->uses || !k->p->last_use || !k->p->overwriter || !k->left ||
	    !k->stamp)
		return -ENOMEM;
	for (i = 0; i < cells; i++)
		k->p->uses[i] = k->g->cells[i].reads + k->g->cells[i].survives;
	err = check_order(k);
	if (!err)
		err = find_homes(k);
	if (!err)
		err = begin_map(k);
	if (!err)
		err = run_schedule(k);
	if (!err)
		err = check_exit(k);
	if (!err)
		err = npuv_group(k->w, &k->preds, cells, &k->p->pred_start, &k->p->pred_cells);
	return err;
}

int npuv_owner_check(struct npuv_work *w, struct npuv_plan *p)
{
	struct walk k = {
		.w = w,
		.p = p,
		.g = p->graph,
		.bounds = { .size = sizeof(u64) },
		.preds = { .size = sizeof(struct npuv_pair) },
	};
	int err = check(&k);

	npuv_arena_fini(&k.map);
	npuv_free(k.left);
	npuv_free(k.stamp);
	npuv_free(k.bounds.data);
	npuv_free(k.preds.data);
	return err;
}
