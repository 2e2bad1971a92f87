// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Cells: the bytes of each tensor that have the same writer and readers.
 *
 * Tensor by tensor. The ends of all chunks of all accesses cut the tensor into
 * *segments*. Segments are then divided into *classes* by partition refinement:
 * each access splits the classes that it covers in part, so in the end an
 * access covers whole classes only. At last the accesses are gone through step
 * by step; each write gives the classes that it covers a new cell, each read
 * is a use of the cell that the class has just then.
 */
#include "internal.h"

/*
 * struct refinement - of one tensor, arrays reused for the next
 * @w, @g: under way
 * @access_start, @accesses: accesses of tensor t, in order of the graph
 * @bounds: of @segment_count segments: bounds[i] .. bounds[i + 1]
 * @spare: room to sort @bounds
 * @class_of: per segment
 * @class_count: classes; class 0 holds the segments that no access touches
 * @members: per class, segments
 * @hits: per class, segments that the current access covers
 * @stamp: per class, equals @now if @hits and @split are current
 * @split: per class, class that the covered segments go to
 * @cell: per class, current cell or NPUMEM_NONE
 * @write: per class, the access of mode WRITE that wrote it or NPUMEM_NONE
 * @touched: classes that the current access covers, @touched_count of them
 * @cells, @segments: found, of all tensors
 * @reads, @writes: (access, cell) pairs found
 */
struct refinement {
	struct npuv_work *w;
	struct npuv_graph *g;
	u32 *access_start, *accesses;
	u64 *bounds, *spare;
	u32 *class_of, *members, *hits, *stamp, *split, *cell, *write, *touched;
	u32 *class_first;
	u32 segment_count, class_count, touched_count, now;
	struct npuv_vector cells, segments, reads, writes;
};

static const struct npumem_tile *tile_of(const struct npuv_graph *g, u32 access)
{
	return npuv_tile(g, npuv_access(g, access)->tile);
}

static int group_accesses(struct refinement *r)
{
	struct npuv_vector pairs = { .size = sizeof(struct npuv_pair) };
	const struct npuv_graph *g = r->g;
	struct npuv_pair *pair;
	u32 i;
	int err;

	pair = npuv_vector_add(&pairs, g->accesses.count);
	if (!pair)
		return -ENOMEM;
	for (i = 0; i < g->accesses.count; i++) {
		pair[i].key = tile_of(g, i)->tensor;
		pair[i].value = i;
	}
	err = npuv_group(r->w, &pairs, g->tensors.count, &r->access_start, &r->accesses);
	npuv_free(pairs.data);
	return err;
}

/* Count all chunks before there is memory for any; allocate for the worst tensor. */
static int allocate(struct refinement *r)
{
	const struct npuv_graph *g = r->g;
	u64 total = 0, most = 0, bounds;
	struct npuv_chunks chunks;
	u32 t, i;

	for (t = 0; t < g->tensors.count; t++) {
		u64 count = 0;

		for (i = r->access_start[t]; i < r->access_start[t + 1]; i++) {
			npuv_chunks_begin(&chunks, &tile_of(g, r->accesses[i])->region);
			if (check_add_overflow(count, npuv_chunks_count(&chunks), &count) ||
			    count > r->w->limits->max_chunks)
				break;
		}
		if (i < r->access_start[t + 1] || (total += count) > r->w->limits->max_chunks) {
			struct npuv_text text;

			r->w->verdict->tensor = t;
			return npuv_refuse(r->w, -E2BIG, NPUMEM_RULE_NONE,
					   "limit: more than %llu chunks of tiles, at %s",
					   r->w->limits->max_chunks, npuv_text_tensor(g, t, &text));
		}
		most = count > most ? count : most;
	}
	bounds = 2 * most + 2;
	r->bounds = npuv_alloc_array(bounds, sizeof(u64));
	r->spare = npuv_alloc_array(bounds, sizeof(u64));
	/* There is never more than a class a segment, and class 0. */
	r->class_of = npuv_alloc_array(bounds, sizeof(u32));
	r->members = npuv_alloc_array(bounds, sizeof(u32));
	r->hits = npuv_alloc_array(bounds, sizeof(u32));
	r->stamp = npuv_alloc_array(bounds, sizeof(u32));
	r->split = npuv_alloc_array(bounds, sizeof(u32));
	r->cell = npuv_alloc_array(bounds, sizeof(u32));
	r->write = npuv_alloc_array(bounds, sizeof(u32));
	r->touched = npuv_alloc_array(bounds, sizeof(u32));
	r->class_first = npuv_alloc_array(bounds + 1, sizeof(u32));
	if (!r->bounds || !r->spare || !r->class_of || !r->members || !r->hits || !r->stamp ||
	    !r->split || !r->cell || !r->write || !r->touched || !r->class_first)
		return -ENOMEM;
	return 0;
}

static int cut(struct refinement *r, u32 tensor)
{
	struct npuv_chunks chunks;
	u64 first, arena;
	u32 i, n = 0;
	int err;

	r->bounds[n++] = 0;
	for (i = r->access_start[tensor]; i < r->access_start[tensor + 1]; i++) {
		npuv_chunks_begin(&chunks, &tile_of(r->g, r->accesses[i])->region);
		while (npuv_chunks_next(&chunks, &first, &arena)) {
			r->bounds[n++] = first;
			r->bounds[n++] = first + chunks.length;
			err = npuv_visit(r->w, 1);
			if (err)
				return err;
		}
	}
	r->bounds[n++] = npuv_tensor(r->g, tensor)->size;
	err = npuv_sort(r->bounds, r->spare, n);
	if (err)
		return err;
	r->segment_count = npuv_unique(r->bounds, n) - 1;
	return 0;
}

/* Segments [lo, hi) of a chunk. */
static void covered(const struct refinement *r, u64 first, u64 length, u32 *lo, u32 *hi)
{
	*lo = npuv_upper_bound(r->bounds, r->segment_count + 1, first) - 1;
	*hi = *lo;
	while (*hi < r->segment_count && r->bounds[*hi] < first + length)
		++*hi;
}

/* The classes that an access covers, into touched, with the segments of each. */
static int touch(struct refinement *r, u32 access)
{
	struct npuv_chunks chunks;
	u64 first, arena;
	u32 lo, hi;
	int err;

	r->now++;
	r->touched_count = 0;
	npuv_chunks_begin(&chunks, &tile_of(r->g, access)->region);
	while (npuv_chunks_next(&chunks, &first, &arena)) {
		covered(r, first, chunks.length, &lo, &hi);
		err = npuv_visit(r->w, hi - lo);
		if (err)
			return err;
		for (; lo < hi; lo++) {
			u32 c = r->class_of[lo];

			if (r->stamp[c] != r->now) {
				r->stamp[c] = r->now;
				r->hits[c] = 0;
				r->touched[r->touched_count++] = c;
			}
			r->hits[c]++;
		}
	}
	return 0;
}

/* Split the classes that an access covers in part, and take it out of class 0. */
static int refine(struct refinement *r, u32 access)
{
	struct npuv_chunks chunks;
	u64 first, arena;
	bool whole = true;
	u32 i, lo, hi;
	int err;

	err = touch(r, access);
	if (err)
		return err;
	for (i = 0; i < r->touched_count; i++) {
		u32 c = r->touched[i];

		r->split[c] = c;
		if (c && r->hits[c] == r->members[c])
			continue;
		whole = false;
		r->split[c] = r->class_count++;
		r->members[r->split[c]] = r->hits[c];
		r->members[c] -= r->hits[c];
	}
	if (whole)
		return 0;
	npuv_chunks_begin(&chunks, &tile_of(r->g, access)->region);
	while (npuv_chunks_next(&chunks, &first, &arena)) {
		covered(r, first, chunks.length, &lo, &hi);
		err = npuv_visit(r->w, hi - lo);
		if (err)
			return err;
		for (; lo < hi; lo++)
			r->class_of[lo] = r->split[r->class_of[lo]];
	}
	return 0;
}

/* Does segment i go on what the one before it in its class began? */
static bool continues(const struct refinement *r, u32 i)
{
	return i && r->class_of[i] == r->class_of[i - 1];
}

/* The segments of each class, neighbours merged, in the order of the classes. */
static int collect(struct refinement *r)
{
	struct npuv_segment *out;
	u32 *next = r->hits; /* free by now */
	u32 i, c, used = 0;

	memset(r->members, 0, (size_t)r->class_count * sizeof(u32));
	for (i = 0; i < r->segment_count; i++)
		r->members[r->class_of[i]] += !continues(r, i);
	for (c = 0; c < r->class_count; c++) {
		next[c] = used;
		r->class_first[c] = r->segments.count + used;
		used += r->members[c];
	}
	out = npuv_vector_add(&r->segments, used);
	if (!out)
		return -ENOMEM;
	for (i = 0; i < r->segment_count; i++) {
		c = r->class_of[i];
		if (!continues(r, i))
			out[next[c]++].first = r->bounds[i];
		out[next[c] - 1].length += r->bounds[i + 1] - r->bounds[i];
	}
	return npuv_visit(r->w, r->segment_count);
}

static struct npuv_cell *cell_at(const struct refinement *r, u32 cell)
{
	return (struct npuv_cell *)r->cells.data + cell;
}

static int new_cell(struct refinement *r, u32 tensor, u32 class, u32 writer)
{
	struct npuv_cell *cell = npuv_vector_add(&r->cells, 1);

	if (!cell)
		return -ENOMEM;
	cell->tensor = tensor;
	cell->writer = writer;
	cell->first_segment = r->class_first[class];
	cell->segment_count = r->members[class];
	r->cell[class] = r->cells.count - 1;
	return 0;
}

static const struct npuv_segment *segment_of(const struct refinement *r, u32 class)
{
	return (const struct npuv_segment *)r->segments.data + r->class_first[class];
}

/* Does a step write the class' current cell? */
static bool written_by_step(const struct refinement *r, u32 class, u32 step)
{
	u32 writer;

	if (r->cell[class] == NPUMEM_NONE)
		return false;
	writer = cell_at(r, r->cell[class])->writer;
	return writer != NPUMEM_NONE && r->g->access_step[writer] == step;
}

static int refuse_access(struct refinement *r, u32 access, u32 class, bool read)
{
	const struct npuv_segment *s = segment_of(r, class);
	u32 step = r->g->access_step[access];
	u32 tile = npuv_access(r->g, access)->tile;
	u32 tensor = npuv_tile(r->g, tile)->tensor;
	u32 other;
	struct npuv_text step_text, tensor_text, other_text;
	struct npumem_verdict *v = r->w->verdict;

	v->step = step;
	v->tile = tile;
	v->tensor = tensor;
	npuv_text_step(r->g, step, &step_text);
	npuv_text_tensor(r->g, tensor, &tensor_text);
	if (read)
		return npuv_refuse(r->w, -EINVAL, NPUMEM_RULE_V3_READ,
				   "V3 read: %s reads tile %u of %s, whose bytes [%llu, %llu) no "
				   "earlier step writes",
				   step_text.s, tile, tensor_text.s, s->first,
				   s->first + s->length);
	other = written_by_step(r, class, step) ? cell_at(r, r->cell[class])->writer :
						  r->write[class];
	v->other_step = r->g->access_step[other];
	v->other_tile = npuv_access(r->g, other)->tile;
	v->other_tensor = tensor;
	return npuv_refuse(r->w, -EINVAL, NPUMEM_RULE_V4_WRITE,
			   "V4 write: %s writes tile %u of %s, whose bytes [%llu, %llu) %s writes "
			   "too",
			   step_text.s, tile, tensor_text.s, s->first, s->first + s->length,
			   npuv_text_step(r->g, v->other_step, &other_text));
}

static int add_pair(struct npuv_vector *pairs, u32 access, u32 cell)
{
	struct npuv_pair *pair = npuv_vector_add(pairs, 1);

	if (!pair)
		return -ENOMEM;
	pair->key = access;
	pair->value = cell;
	return 0;
}

static int read_cells(struct refinement *r, u32 access)
{
	u32 i;
	int err;

	err = touch(r, access);
	for (i = 0; !err && i < r->touched_count; i++) {
		u32 c = r->touched[i];

		if (r->cell[c] == NPUMEM_NONE)
			return refuse_access(r, access, c, true);
		cell_at(r, r->cell[c])->reads++;
		err = add_pair(&r->reads, access, r->cell[c]);
	}
	return err;
}

static int write_cells(struct refinement *r, u32 tensor, u32 access)
{
	bool once = npuv_access(r->g, access)->mode == NPUMEM_ACCESS_WRITE;
	u32 i;
	int err;

	err = touch(r, access);
	for (i = 0; !err && i < r->touched_count; i++) {
		u32 c = r->touched[i];

		if (written_by_step(r, c, r->g->access_step[access]) ||
		    (once && r->write[c] != NPUMEM_NONE))
			return refuse_access(r, access, c, false);
		if (once)
			r->write[c] = access;
		err = new_cell(r, tensor, c, access);
		if (!err)
			err = add_pair(&r->writes, access, r->cell[c]);
	}
	return err;
}

/* Reads of a step see what was there before it, so they come first. */
static int go_through(struct refinement *r, u32 tensor)
{
	u32 i, k, end = r->access_start[tensor + 1];
	int err = 0;

	for (i = r->access_start[tensor]; !err && i < end; i = k) {
		u32 step = r->g->access_step[r->accesses[i]];

		for (k = i; !err && k < end && r->g->access_step[r->accesses[k]] == step; k++)
			if (npuv_access(r->g, r->accesses[k])->mode != NPUMEM_ACCESS_WRITE)
				err = read_cells(r, r->accesses[k]);
		for (k = i; !err && k < end && r->g->access_step[r->accesses[k]] == step; k++)
			if (npuv_access(r->g, r->accesses[k])->mode != NPUMEM_ACCESS_READ)
				err = write_cells(r, tensor, r->accesses[k]);
	}
	return err;
}

static int begin_classes(struct refinement *r, u32 tensor)
{
	u32 kind = npuv_tensor(r->g, tensor)->kind;
	bool valid = kind == NPUMEM_TENSOR_INPUT || kind == NPUMEM_TENSOR_PARAMETER ||
		     kind == NPUMEM_TENSOR_STATE;
	u32 c;
	int err = 0;

	for (c = 0; c < r->class_count; c++) {
		r->cell[c] = NPUMEM_NONE;
		r->write[c] = NPUMEM_NONE;
		if (!err && valid && r->members[c])
			err = new_cell(r, tensor, c, NPUMEM_NONE);
	}
	return err;
}

/* The last version of an output or a state must survive the exit. */
static int end_classes(struct refinement *r, u32 tensor)
{
	u32 kind = npuv_tensor(r->g, tensor)->kind;
	struct npuv_text text;
	u32 c;

	if (kind != NPUMEM_TENSOR_OUTPUT && kind != NPUMEM_TENSOR_STATE)
		return 0;
	for (c = 0; c < r->class_count; c++) {
		const struct npuv_segment *s = segment_of(r, c);
		struct npuv_cell *cell;

		if (!r->members[c])
			continue;
		if (r->cell[c] == NPUMEM_NONE) {
			r->w->verdict->tensor = tensor;
			return npuv_refuse(r->w, -EINVAL, NPUMEM_RULE_V7_EXIT,
					   "V7 exit: bytes [%llu, %llu) of output %s are never "
					   "written",
					   s->first, s->first + s->length,
					   npuv_text_tensor(r->g, tensor, &text));
		}
		cell = cell_at(r, r->cell[c]);
		cell->survives = 1;
	}
	return 0;
}

static int find_in_tensor(struct refinement *r, u32 tensor)
{
	u32 i;
	int err;

	err = cut(r, tensor);
	if (err)
		return err;
	memset(r->class_of, 0, (size_t)r->segment_count * sizeof(u32));
	r->class_count = 1;
	r->members[0] = r->segment_count;
	for (i = r->access_start[tensor]; i < r->access_start[tensor + 1]; i++) {
		err = refine(r, r->accesses[i]);
		if (err)
			return err;
	}
	err = collect(r);
	if (!err)
		err = begin_classes(r, tensor);
	if (!err)
		err = go_through(r, tensor);
	if (!err)
		err = end_classes(r, tensor);
	return err;
}

static int find(struct refinement *r)
{
	struct npuv_graph *g = r->g;
	u32 t;
	int err;

	err = group_accesses(r);
	if (!err)
		err = allocate(r);
	for (t = 0; !err && t < g->tensors.count; t++)
		err = find_in_tensor(r, t);
	if (!err)
		err = npuv_group(r->w, &r->reads, g->accesses.count, &g->read_start,
				 &g->read_cells);
	if (!err)
		err = npuv_group(r->w, &r->writes, g->accesses.count, &g->write_start,
				 &g->write_cells);
	if (err)
		return err;
	g->cell_start = npuv_alloc_array((u64)g->blocks.count + 1, sizeof(u32));
	if (!g->cell_start)
		return -ENOMEM;
	g->cell_start[1] = r->cells.count;
	g->cell_count = r->cells.count;
	g->segment_count = r->segments.count;
	g->cells = npuv_vector_take(&r->cells);
	g->segments = npuv_vector_take(&r->segments);
	return g->cells && g->segments ? 0 : -ENOMEM;
}

int npuv_cells_find(struct npuv_work *w, struct npuv_graph *g)
{
	struct refinement r = {
		.w = w,
		.g = g,
		.cells = { .size = sizeof(struct npuv_cell) },
		.segments = { .size = sizeof(struct npuv_segment) },
		.reads = { .size = sizeof(struct npuv_pair) },
		.writes = { .size = sizeof(struct npuv_pair) },
	};
	int err = find(&r);

	npuv_free(r.access_start);
	npuv_free(r.accesses);
	npuv_free(r.bounds);
	npuv_free(r.spare);
	npuv_free(r.class_of);
	npuv_free(r.members);
	npuv_free(r.hits);
	npuv_free(r.stamp);
	npuv_free(r.split);
	npuv_free(r.cell);
	npuv_free(r.write);
	npuv_free(r.touched);
	npuv_free(r.class_first);
	npuv_free(r.cells.data);
	npuv_free(r.segments.data);
	npuv_free(r.reads.data);
	npuv_free(r.writes.data);
	return err;
}
