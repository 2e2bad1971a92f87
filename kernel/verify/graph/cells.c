// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Cells: the bytes of each tensor that have the same writer and readers.
 *
 * Block by block and tensor by tensor. Once classes.c has divided the tensor's
 * bytes, the block's accesses are gone through step by step; each write gives
 * the classes that it covers a new cell, each read is a use of the cell that
 * the class has just then.
 *
 * In a graph of one block without edges, tensors that are valid at the entry
 * begin with a cell. In others any tensor may hold something when a block is
 * entered: whoever reads a class first gives it a cell without a writer, and the
 * plan's entry states have to account for it.
 *
 * In a graph with the transfers of a plan the accesses of a tensor are gone
 * through in the order of the plan, and its transfers among them (residency.c).
 */
#include "cells.h"

/* The accesses of block b are those from @first on, before @end. */
static void block_accesses(const struct npuv_graph *g, u32 b, u32 *first, u32 *end)
{
	const struct npumem_block *block = npuv_block(g, b);
	const struct npumem_step *s;

	*first = *end = 0;
	if (!block->step_count)
		return;
	*first = npuv_step(g, block->first_step)->first_access;
	s = npuv_step(g, block->first_step + block->step_count - 1);
	*end = s->first_access + s->access_count;
	/* A drop has an access, too, although its step counts none. */
	*end += !s->access_count;
}

static int sort_accesses(struct npuv_finding *f)
{
	const struct npuv_graph *g = f->g;
	u64 *keys = npuv_alloc_array(g->accesses.count, sizeof(u64));
	u32 b, i, first, end;
	int err;

	f->order = npuv_alloc_array(g->accesses.count, sizeof(u32));
	err = keys && f->order ? 0 : -ENOMEM;
	for (b = 0; !err && b < g->blocks.count; b++) {
		block_accesses(g, b, &first, &end);
		for (i = first; i < end; i++)
			keys[i] = (u64)npuv_access_base(g, i) << 32 | i;
		err = npuv_sort(f->w, keys + first, end - first);
		for (i = first; !err && i < end; i++)
			f->order[i] = (u32)keys[i];
		if (!err)
			err = npuv_visit(f->w, 1 + end - first);
	}
	npuv_free(keys);
	return err;
}

/* The accesses from i on are of one @tensor. Returns the index where they end. */
static u32 run_end(const struct npuv_finding *f, u32 i, u32 end, u32 *tensor)
{
	u32 k = i;

	*tensor = npuv_access_base(f->g, f->order[i]);
	while (k < end && npuv_access_base(f->g, f->order[k]) == *tensor)
		k++;
	return k;
}

static void tensor_aliases(struct npuv_classes *c, u32 tensor)
{
	const struct npuv_graph *g = c->g;

	c->alias_count = 0;
	if (!(g->features & NPUMEM_FEATURE_ALIAS) || npuv_is_host_copy(g, tensor))
		return;
	c->aliases = g->aliases + g->alias_start[tensor];
	c->alias_count = g->alias_start[tensor + 1] - g->alias_start[tensor];
}

/* Count all chunks before there is memory for any; allocate for the worst tensor. */
static int allocate(struct npuv_finding *f)
{
	const struct npuv_graph *g = f->g;
	u64 total = 0, most = 0, limit = f->w->limits->max_chunks;
	u32 b, i, k, first, end, tensor;
	struct npumem_region region;
	struct npuv_chunks chunks;
	struct npuv_text text;

	for (b = 0; b < g->blocks.count; b++) {
		block_accesses(g, b, &first, &end);
		for (i = first; i < end; i = k) {
			u64 count;

			k = run_end(f, i, end, &tensor);
			tensor_aliases(&f->classes, tensor);
			count = f->classes.alias_count;
			for (; i < k; i++) {
				npuv_access_region(g, f->order[i], &region);
				npuv_chunks_begin(&chunks, &region);
				if (check_add_overflow(count, npuv_chunks_count(&chunks), &count) ||
				    count > limit)
					break;
			}
			if (i < k || (total += count) > limit) {
				f->w->verdict->tensor = tensor;
				return npuv_refuse(f->w, -E2BIG, NPUMEM_RULE_NONE,
						   "limit: more than %llu chunks of tiles, at %s",
						   limit, npuv_text_tensor(g, tensor, &text));
			}
			most = count > most ? count : most;
		}
	}
	/* Tensors that no step accesses have classes, too, if there is but one block. */
	for (i = 0; npuv_is_flat(g) && i < g->tensors.count; i++) {
		tensor_aliases(&f->classes, i);
		most = f->classes.alias_count > most ? f->classes.alias_count : most;
	}
	f->cell = npuv_alloc_array(2 * most + 2, sizeof(u32));
	f->write = npuv_alloc_array(2 * most + 2, sizeof(u32));
	f->roles = npuv_alloc_array(2 * most + 2, sizeof(u32));
	f->keys = npuv_alloc_array(2 * most + 2, sizeof(u64));
	if (f->p) {
		f->host = npuv_alloc_array(2 * most + 2, sizeof(u32));
		f->evictor = npuv_alloc_array(2 * most + 2, sizeof(u32));
	}
	if (!f->cell || !f->write || !f->roles || !f->keys || (f->p && (!f->host || !f->evictor)))
		return -ENOMEM;
	return npuv_classes_init(&f->classes, most);
}

int npuv_cell_add(struct npuv_finding *f, u32 class, u32 tensor, u32 writer, u32 *out)
{
	struct npuv_cell *cell = npuv_vector_add(&f->cells, 1);

	if (!cell)
		return -ENOMEM;
	cell->tensor = tensor;
	cell->writer = writer;
	cell->first_segment = f->classes.class_first[class];
	cell->segment_count = f->classes.members[class];
	*out = f->cells.count - 1;
	if (writer == NPUMEM_NONE)
		return 0;
	return npuv_run_add(&f->writes, writer, *out);
}

int npuv_cell_read(struct npuv_finding *f, u32 access, u32 cell)
{
	npuv_cell_at(f, cell)->reads++;
	return npuv_run_add(&f->reads, access, cell);
}

/* Give a class a new cell. */
static int new_cell(struct npuv_finding *f, u32 class, u32 writer)
{
	return npuv_cell_add(f, class, f->classes.tensor, writer, &f->cell[class]);
}

/* Whether a step writes the current cell of a class. */
static bool written_by_step(const struct npuv_finding *f, u32 class, u32 step)
{
	u32 writer;

	if (f->cell[class] == NPUMEM_NONE)
		return false;
	writer = npuv_cell_at(f, f->cell[class])->writer;
	return writer != NPUMEM_NONE && f->g->access_step[writer] == step;
}

static u32 roles_of(u32 kind)
{
	switch (kind) {
	case NPUMEM_TENSOR_INPUT:
	case NPUMEM_TENSOR_PARAMETER:
		return NPUV_ROLE_VALID | NPUV_ROLE_READ_ONLY;
	case NPUMEM_TENSOR_OUTPUT:
		return NPUV_ROLE_OUTPUT;
	case NPUMEM_TENSOR_STATE:
		return NPUV_ROLE_VALID | NPUV_ROLE_STATE;
	default:
		return 0;
	}
}

/* The tensor that gives a class a role: the current one or an alias of it. */
static u32 tensor_with_role(const struct npuv_finding *f, u32 class, u32 role)
{
	const struct npuv_classes *c = &f->classes;
	u64 byte = npuv_class_segment(c, class)->first;
	u32 i;

	for (i = 0; i < c->alias_count; i++) {
		const struct npumem_tensor *t = npuv_tensor(f->g, c->aliases[i]);

		if (roles_of(t->kind) & role && byte >= t->alias_offset &&
		    byte - t->alias_offset < t->size)
			return c->aliases[i];
	}
	return c->tensor;
}

static int refuse_unwritten(struct npuv_finding *f, u32 access, u32 class)
{
	const struct npuv_segment *s = npuv_class_segment(&f->classes, class);
	struct npumem_verdict *v = f->w->verdict;
	struct npuv_text step, tensor;

	npuv_verdict_access(v, f->g, access);
	return npuv_refuse(f->w, -EINVAL, NPUMEM_RULE_V3_READ,
			   "V3 read: %s reads tile %u of %s, whose bytes [%llu, %llu) no earlier "
			   "step writes",
			   npuv_text_step(f->g, v->step, &step), v->tile,
			   npuv_text_tensor(f->g, v->tensor, &tensor), s->first,
			   s->first + s->length);
}

static int refuse_twice(struct npuv_finding *f, u32 access, u32 class)
{
	const struct npuv_segment *s = npuv_class_segment(&f->classes, class);
	struct npumem_verdict *v = f->w->verdict;
	struct npuv_text step, tensor, other_step;
	u32 other = f->write[class];

	npuv_verdict_access(v, f->g, access);
	if (written_by_step(f, class, v->step))
		other = npuv_cell_at(f, f->cell[class])->writer;
	npuv_verdict_other(v, f->g, other);
	return npuv_refuse(f->w, -EINVAL, NPUMEM_RULE_V4_WRITE,
			   "V4 write: %s writes tile %u of %s, whose bytes [%llu, %llu) %s writes "
			   "too",
			   npuv_text_step(f->g, v->step, &step), v->tile,
			   npuv_text_tensor(f->g, v->tensor, &tensor), s->first,
			   s->first + s->length, npuv_text_step(f->g, v->other_step, &other_step));
}

static int refuse_read_only(struct npuv_finding *f, u32 access, u32 class)
{
	const struct npuv_segment *s = npuv_class_segment(&f->classes, class);
	struct npumem_verdict *v = f->w->verdict;
	struct npuv_text step, tensor, other;

	npuv_verdict_access(v, f->g, access);
	v->other_tensor = tensor_with_role(f, class, NPUV_ROLE_READ_ONLY);
	return npuv_refuse(f->w, -EINVAL, NPUMEM_RULE_V4_WRITE,
			   "V4 write: %s writes tile %u of %s, whose bytes [%llu, %llu) are those "
			   "of %s, %s",
			   npuv_text_step(f->g, v->step, &step), v->tile,
			   npuv_text_tensor(f->g, v->tensor, &tensor), s->first,
			   s->first + s->length, npuv_text_tensor(f->g, v->other_tensor, &other),
			   npuv_tensor(f->g, v->other_tensor)->kind == NPUMEM_TENSOR_INPUT ?
				   "an input" :
				   "a parameter");
}

static int touch(struct npuv_finding *f, u32 access)
{
	struct npumem_region region;

	npuv_access_region(f->g, access, &region);
	return npuv_classes_touch(&f->classes, &region);
}

/* Sort the current cells of the classes touched, since tiles are written in any order. */
static int sort_touched(struct npuv_finding *f)
{
	u32 i;

	for (i = 0; i < f->classes.touched_count; i++)
		f->keys[i] = f->cell[f->classes.touched[i]];
	return npuv_sort(f->w, f->keys, f->classes.touched_count);
}

static int read_cells(struct npuv_finding *f, u32 access)
{
	u32 i;
	int err;

	err = touch(f, access);
	for (i = 0; !err && i < f->classes.touched_count; i++) {
		u32 c = f->classes.touched[i];

		if (f->cell[c] != NPUMEM_NONE)
			continue;
		if (f->p && !npuv_residency_entered(f, c))
			return npuv_refuse_evicted_read(f, access, c);
		if (npuv_is_flat(f->g))
			return refuse_unwritten(f, access, c);
		err = new_cell(f, c, NPUMEM_NONE);
	}
	if (!err && f->classes.touched_count == 1)
		return npuv_cell_read(f, access, f->cell[f->classes.touched[0]]);
	if (!err)
		err = sort_touched(f);
	for (i = 0; !err && i < f->classes.touched_count; i++)
		err = npuv_cell_read(f, access, (u32)f->keys[i]);
	return err;
}

static int write_cells(struct npuv_finding *f, u32 access)
{
	bool once = npuv_access(f->g, access)->mode == NPUMEM_ACCESS_WRITE;
	u32 i;
	int err;

	err = touch(f, access);
	for (i = 0; !err && i < f->classes.touched_count; i++) {
		u32 c = f->classes.touched[i];

		if (f->roles[c] & NPUV_ROLE_READ_ONLY)
			return refuse_read_only(f, access, c);
		if (written_by_step(f, c, f->g->access_step[access]) ||
		    (once && f->write[c] != NPUMEM_NONE))
			return refuse_twice(f, access, c);
		if (once)
			f->write[c] = access;
		if (f->p)
			f->host[c] = NPUMEM_NONE;
		err = new_cell(f, c, access);
	}
	return err;
}

/* Go through the accesses. A step reads bytes as they were before it, so its reads come first. */
static int go_through(struct npuv_finding *f)
{
	const u32 *accesses = f->classes.accesses;
	const struct npuv_graph *g = f->g;
	u32 i, k, end = f->classes.access_count;
	int err = 0;

	for (i = 0; !err && i < end; i = k) {
		u32 step = g->access_step[accesses[i]];

		if (npuv_is_transfer(g, step)) {
			k = i + 1;
			err = npuv_residency_transfer(f, accesses[i]);
			continue;
		}
		for (k = i; !err && k < end && g->access_step[accesses[k]] == step; k++)
			if (npuv_access(g, accesses[k])->mode != NPUMEM_ACCESS_WRITE)
				err = read_cells(f, accesses[k]);
		for (k = i; !err && k < end && g->access_step[accesses[k]] == step; k++)
			if (npuv_access(g, accesses[k])->mode != NPUMEM_ACCESS_READ)
				err = write_cells(f, accesses[k]);
	}
	return err;
}

static int begin_classes(struct npuv_finding *f)
{
	struct npuv_classes *classes = &f->classes;
	u32 own = roles_of(npuv_tensor(f->g, classes->tensor)->kind);
	struct npumem_region region;
	u32 c, i;
	int err = 0;

	for (c = 0; c < classes->class_count; c++) {
		f->cell[c] = NPUMEM_NONE;
		f->write[c] = NPUMEM_NONE;
		f->roles[c] = own;
	}
	for (i = 0; i < classes->alias_count; i++) {
		npuv_alias_region(f->g, classes->aliases[i], &region);
		err = npuv_classes_touch(classes, &region);
		if (err)
			return err;
		for (c = 0; c < classes->touched_count; c++)
			f->roles[classes->touched[c]] |=
				roles_of(npuv_tensor(f->g, classes->aliases[i])->kind);
	}
	if (!err && f->p)
		return npuv_residency_begin(f);
	for (c = 0; !err && npuv_is_flat(f->g) && c < classes->class_count; c++)
		if (f->roles[c] & NPUV_ROLE_VALID && classes->members[c])
			err = new_cell(f, c, NPUMEM_NONE);
	return err;
}

/* In one block, the last version of an output or a state must survive the exit. */
static int end_flat(struct npuv_finding *f)
{
	struct npuv_text text;
	u32 c;

	for (c = 0; c < f->classes.class_count; c++) {
		const struct npuv_segment *s = npuv_class_segment(&f->classes, c);
		u32 roles = f->roles[c], last = f->cell[c];

		if (!(roles & (NPUV_ROLE_OUTPUT | NPUV_ROLE_STATE)) || !f->classes.members[c])
			continue;
		if (f->p && f->host[c] != NPUMEM_NONE)
			last = f->host[c];
		if (last == NPUMEM_NONE) {
			u32 tensor = tensor_with_role(f, c, NPUV_ROLE_OUTPUT);

			f->w->verdict->tensor = tensor;
			return npuv_refuse(f->w, -EINVAL, NPUMEM_RULE_V7_EXIT,
					   "V7 exit: bytes [%llu, %llu) of output %s are never "
					   "written",
					   s->first, s->first + s->length,
					   npuv_text_tensor(f->g, tensor, &text));
		}
		npuv_cell_at(f, last)->survives =
			(roles & NPUV_ROLE_OUTPUT ? NPUV_SURVIVES_OUTPUT : 0) |
			(roles & NPUV_ROLE_STATE ? NPUV_SURVIVES_STATE : 0);
	}
	return 0;
}

/* In graphs of several blocks, remember the cells that a tensor has at the block's end. */
static int end_touch(struct npuv_finding *f)
{
	const struct npuv_classes *classes = &f->classes;
	struct npuv_touch *touch = npuv_vector_add(&f->touches, 1);
	struct npuv_live_out *live_out = NULL;
	u32 i, last = 0;

	if (!touch)
		return -ENOMEM;
	touch->tensor = classes->tensor;
	touch->first_live_out = f->live_outs.count;
	for (i = 0; i < classes->segment_count; i++) {
		u32 c = classes->class_of[i];

		if (f->cell[c] == NPUMEM_NONE && (!f->p || f->evictor[c] == NPUMEM_NONE)) {
			live_out = NULL;
			continue;
		}
		if (!live_out || c != last) {
			live_out = npuv_vector_add(&f->live_outs, 1);
			if (!live_out)
				return -ENOMEM;
			live_out->first = classes->bounds[i];
			live_out->last = f->cell[c];
			last = c;
		}
		live_out->length += classes->bounds[i + 1] - classes->bounds[i];
	}
	return npuv_visit(f->w, classes->segment_count);
}

static int find_in_tensor(struct npuv_finding *f, u32 tensor, u32 first, u32 end)
{
	struct npuv_classes *c = &f->classes;
	int err;

	c->tensor = tensor;
	c->accesses = f->order + first;
	c->access_count = end - first;
	tensor_aliases(c, tensor);
	err = npuv_classes_find(c);
	if (!err)
		err = begin_classes(f);
	if (!err)
		err = go_through(f);
	if (err)
		return err;
	return npuv_is_flat(f->g) ? end_flat(f) : end_touch(f);
}

static int find_in_block(struct npuv_finding *f, u32 block)
{
	const struct npuv_graph *g = f->g;
	u32 tensors = g->source ? g->source->tensors.count : g->tensors.count;
	u32 i, end, tensor, next = 0;
	int err = 0;

	block_accesses(g, block, &i, &end);
	while (!err && i < end) {
		u32 first = i;

		i = run_end(f, first, end, &tensor);
		/* The cells of host copies are found with those of their tensors. */
		if (npuv_is_host_copy(g, tensor))
			break;
		for (; !err && npuv_is_flat(g) && next < tensor; next++)
			if (!(npuv_tensor(g, next)->flags & NPUMEM_TENSOR_FLAG_ALIAS))
				err = find_in_tensor(f, next, first, first);
		if (!err)
			err = find_in_tensor(f, tensor, first, i);
		next = tensor + 1;
	}
	for (; !err && npuv_is_flat(g) && next < tensors; next++)
		if (!(npuv_tensor(g, next)->flags & NPUMEM_TENSOR_FLAG_ALIAS))
			err = find_in_tensor(f, next, end, end);
	return err;
}

static int find(struct npuv_finding *f)
{
	struct npuv_graph *g = f->g;
	struct npuv_touch *end;
	u32 b;
	int err;

	g->cell_start = npuv_alloc_array((u64)g->blocks.count + 1, sizeof(u32));
	g->touch_start = npuv_alloc_array((u64)g->blocks.count + 1, sizeof(u32));
	if (!g->cell_start || !g->touch_start)
		return -ENOMEM;
	err = sort_accesses(f);
	if (!err)
		err = allocate(f);
	for (b = 0; !err && b < g->blocks.count; b++) {
		err = find_in_block(f, b);
		g->cell_start[b + 1] = f->cells.count;
		g->touch_start[b + 1] = f->touches.count;
	}
	err = npuv_group(f->w, err, &f->reads, g->accesses.count, &g->read_start, &g->read_runs);
	err = npuv_group(f->w, err, &f->writes, g->accesses.count, &g->write_start, &g->write_runs);
	if (!err)
		err = npuv_reads_merge(f->w, g);
	if (err)
		return err;
	end = npuv_vector_add(&f->touches, 1);
	if (!end)
		return -ENOMEM;
	end->tensor = NPUMEM_NONE;
	end->first_live_out = f->live_outs.count;
	g->cell_count = f->cells.count;
	g->segment_count = f->classes.segments.count;
	g->cells = npuv_vector_take(&f->cells);
	g->segments = npuv_vector_take(&f->classes.segments);
	g->touches = npuv_vector_take(&f->touches);
	g->live_outs = npuv_vector_take(&f->live_outs);
	return g->cells && g->segments && g->touches && g->live_outs ? 0 : -ENOMEM;
}

int npuv_cells_find(struct npuv_work *w, struct npuv_graph *g, const struct npuv_plan *p)
{
	struct npuv_finding f = {
		.w = w,
		.g = g,
		.p = p,
		.classes = { .w = w, .g = g },
		.cells = { .size = sizeof(struct npuv_cell) },
		.touches = { .size = sizeof(struct npuv_touch) },
		.live_outs = { .size = sizeof(struct npuv_live_out) },
		.reads = { .size = sizeof(struct npuv_keyed_run) },
		.writes = { .size = sizeof(struct npuv_keyed_run) },
	};
	int err = find(&f);

	npuv_classes_fini(&f.classes);
	npuv_free_all(f.order, f.cell, f.write, f.roles, f.host, f.evictor, f.keys, f.cells.data,
		      f.touches.data, f.live_outs.data, f.reads.data, f.writes.data);
	return err;
}
