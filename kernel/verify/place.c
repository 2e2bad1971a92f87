// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Placements: rule V1, and where each byte of a tensor lies at a position.
 *
 * Every chunk of every placement is cut at the ends of all other chunks of the
 * same tensor, so that any two of the resulting *extents* either hold the same
 * bytes (at different positions) or none in common.
 */
#include "internal.h"

static_assert(sizeof(struct npumem_placement) == 112);

/*
 * struct cutting - of all tensors' placements into extents
 * @w, @p: under way
 * @start, @order: placements of tensor t, by their first position
 * @bounds: of all tensors; those of one, sorted and unique, from 2 times the
 *	number of chunks of the tensors before it
 * @spare: room to sort one tensor's
 * @lists: per bound of one tensor, number of extents
 */
struct cutting {
	struct npuv_work *w;
	struct npuv_plan *p;
	u32 *start, *order;
	u64 *bounds, *spare;
	u32 *lists;
};

/* Arena bytes that a placement reaches from its offset on; false on overflow. */
static bool reach(const struct npumem_placement *p, u64 *bytes)
{
	u64 span;
	u32 d;

	*bytes = p->region.length;
	for (d = 0; d < NPUMEM_REGION_DIMS; d++) {
		u64 slots = p->region.count[d];

		if (d == 2 && p->ring)
			slots = p->ring;
		if (check_mul_overflow(p->stride[d], slots - 1, &span) ||
		    check_add_overflow(*bytes, span, bytes))
			return false;
	}
	return true;
}

/* Does every byte lie at the tensor's fixed offset plus its index? */
static bool honours_fixed(const struct npumem_tensor *t, const struct npumem_placement *p)
{
	if (p->offset != t->fixed_offset + p->region.offset)
		return false;
	if (memcmp(p->stride, p->region.stride, sizeof(p->stride)))
		return false;
	return !p->ring || p->ring == p->region.count[2];
}

/* NULL, or what is wrong. */
static const char *placement_flaw(const struct npuv_plan *plan, const struct npumem_placement *p)
{
	const struct npumem_tensor *t = npuv_tensor(plan->graph, p->tensor);
	const char *flaw;
	u64 bytes, end;
	u32 d;

	if (p->block)
		return "its block is not in the plan";
	if (p->from > p->to || p->to >= plan->positions.count)
		return "its span is not within the schedule";
	if (p->flags)
		return "it has unknown flags";
	flaw = npuv_region_check(&p->region, t->size);
	if (flaw)
		return flaw;
	for (d = 0; d < NPUMEM_REGION_DIMS; d++)
		if (p->region.count[d] == 1 && p->stride[d])
			return "an arena stride is not zero where the count is 1";
	if (p->ring > p->region.count[2])
		return "its ring has more slots than dimension 2 repetitions";
	if (p->offset % t->align)
		return "its offset is not a multiple of the tensor's align";
	if (!reach(p, &bytes) || check_add_overflow(p->offset, bytes, &end) ||
	    end > plan->info->arena_size)
		return "it ends beyond the arena";
	if ((t->flags & NPUMEM_TENSOR_FIXED) && !honours_fixed(t, p))
		return "it is not at the tensor's fixed offset";
	return NULL;
}

static int check_placements(struct npuv_work *w, struct npuv_plan *plan)
{
	u32 i;
	int err;

	for (i = 0; i < plan->placements.count; i++) {
		const struct npumem_placement *p = npuv_placement(plan, i);
		const char *flaw;
		struct npuv_text text;

		if (p->tensor >= plan->graph->tensors.count)
			return npuv_refuse(w, -EINVAL, NPUMEM_RULE_V1_BOUNDS,
					   "V1 bounds: placement %u: tensor %u is not there", i,
					   p->tensor);
		flaw = placement_flaw(plan, p);
		if (flaw) {
			w->verdict->tensor = p->tensor;
			w->verdict->first = p->offset;
			w->verdict->length = p->region.length;
			return npuv_refuse(w, -EINVAL, NPUMEM_RULE_V1_BOUNDS,
					   "V1 bounds: placement %u of %s: %s", i,
					   npuv_text_tensor(plan->graph, p->tensor, &text), flaw);
		}
		err = npuv_visit(w, 1);
		if (err)
			return err;
	}
	return 0;
}

/* Of each tensor, in the order in which they come into force. */
static int group_placements(struct cutting *c)
{
	struct npuv_vector pairs = { .size = sizeof(struct npuv_pair) };
	const struct npuv_plan *p = c->p;
	u32 i, count = p->placements.count;
	struct npuv_pair *pair;
	u64 *keys, *spare;
	int err = -ENOMEM;

	pair = npuv_vector_add(&pairs, count);
	keys = npuv_alloc_array(count, sizeof(u64));
	spare = npuv_alloc_array(count, sizeof(u64));
	if (pair && keys && spare) {
		for (i = 0; i < count; i++)
			keys[i] = (u64)npuv_placement(p, i)->from << 32 | i;
		err = npuv_sort(keys, spare, count);
	}
	for (i = 0; !err && i < count; i++) {
		pair[i].value = (u32)keys[i];
		pair[i].key = npuv_placement(p, pair[i].value)->tensor;
	}
	npuv_free(keys);
	npuv_free(spare);
	if (!err)
		err = npuv_group(c->w, &pairs, p->graph->tensors.count, &c->start, &c->order);
	npuv_free(pairs.data);
	return err;
}

/* Count chunks before there is memory for any. */
static int allocate(struct cutting *c)
{
	const struct npuv_plan *p = c->p;
	struct npuv_chunks chunks;
	u64 total = 0, most = 0;
	u32 t, i;

	for (t = 0; t < p->graph->tensors.count; t++) {
		u64 count = 0;

		for (i = c->start[t]; i < c->start[t + 1]; i++) {
			npuv_chunks_begin_placed(&chunks, npuv_placement(p, c->order[i]));
			if (check_add_overflow(total, npuv_chunks_count(&chunks), &total) ||
			    total > c->w->limits->max_chunks) {
				struct npuv_text text;

				c->w->verdict->tensor = t;
				return npuv_refuse(c->w, -E2BIG, NPUMEM_RULE_NONE,
						   "limit: more than %llu chunks of placements, "
						   "at %s",
						   c->w->limits->max_chunks,
						   npuv_text_tensor(p->graph, t, &text));
			}
			count += npuv_chunks_count(&chunks);
		}
		most = count > most ? count : most;
	}
	c->bounds = npuv_alloc_array(2 * most, sizeof(u64));
	c->spare = npuv_alloc_array(2 * most, sizeof(u64));
	c->lists = npuv_alloc_array(2 * most + 1, sizeof(u32));
	return c->bounds && c->spare && c->lists ? 0 : -ENOMEM;
}

static u32 bound_of(const struct cutting *c, u32 count, u64 value)
{
	return npuv_upper_bound(c->bounds, count, value) - 1;
}

/* How many extents begin at each bound of a tensor, summed up: where they go. */
static int count_extents(struct cutting *c, u32 tensor, u32 *count)
{
	struct npuv_chunks chunks;
	u64 first, arena;
	u32 i, k, hi, n = 0, sum = 0;
	int err;

	for (i = c->start[tensor]; i < c->start[tensor + 1]; i++) {
		npuv_chunks_begin_placed(&chunks, npuv_placement(c->p, c->order[i]));
		while (npuv_chunks_next(&chunks, &first, &arena)) {
			c->bounds[n++] = first;
			c->bounds[n++] = first + chunks.length;
		}
	}
	err = npuv_sort(c->bounds, c->spare, n);
	if (err)
		return err;
	*count = n = npuv_unique(c->bounds, n);
	memset(c->lists, 0, (size_t)n * sizeof(u32));
	for (i = c->start[tensor]; i < c->start[tensor + 1]; i++) {
		npuv_chunks_begin_placed(&chunks, npuv_placement(c->p, c->order[i]));
		while (npuv_chunks_next(&chunks, &first, &arena)) {
			hi = bound_of(c, n, first + chunks.length);
			k = bound_of(c, n, first);
			err = npuv_visit(c->w, hi - k);
			if (err)
				return err;
			for (; k < hi; k++)
				c->lists[k]++;
		}
	}
	for (i = 0; i < n; i++) {
		k = c->lists[i];
		c->lists[i] = sum;
		sum += k;
	}
	c->lists[n] = sum;
	return 0;
}

static int cut_tensor(struct cutting *c, u32 tensor, struct npuv_vector *extents)
{
	struct npuv_chunks chunks;
	struct npuv_extent *out;
	u64 first, arena;
	u32 i, k, n;
	int err;

	if (c->start[tensor] == c->start[tensor + 1])
		return 0;
	err = count_extents(c, tensor, &n);
	if (err)
		return err;
	if (c->lists[n] > c->w->limits->max_chunks - extents->count) {
		struct npuv_text text;

		c->w->verdict->tensor = tensor;
		return npuv_refuse(c->w, -E2BIG, NPUMEM_RULE_NONE,
				   "limit: more than %llu extents of placements, at %s",
				   c->w->limits->max_chunks,
				   npuv_text_tensor(c->p->graph, tensor, &text));
	}
	out = npuv_vector_add(extents, c->lists[n]);
	if (!out)
		return -ENOMEM;
	for (i = c->start[tensor]; i < c->start[tensor + 1]; i++) {
		npuv_chunks_begin_placed(&chunks, npuv_placement(c->p, c->order[i]));
		while (npuv_chunks_next(&chunks, &first, &arena)) {
			/* The chunk's end is a bound, too. */
			k = bound_of(c, n, first);
			for (; c->bounds[k] < first + chunks.length; k++) {
				struct npuv_extent *e = &out[c->lists[k]++];

				e->first = c->bounds[k];
				e->length = c->bounds[k + 1] - c->bounds[k];
				e->arena = arena + (e->first - first);
				e->placement = c->order[i];
			}
		}
	}
	return npuv_visit(c->w, 0);
}

static int cut_all(struct cutting *c)
{
	struct npuv_vector extents = { .size = sizeof(struct npuv_extent) };
	struct npuv_plan *p = c->p;
	u32 t, count = p->graph->tensors.count;
	int err;

	p->extent_start = npuv_alloc_array((u64)count + 1, sizeof(u32));
	if (!p->extent_start)
		return -ENOMEM;
	err = group_placements(c);
	if (!err)
		err = allocate(c);
	for (t = 0; !err && t < count; t++) {
		p->extent_start[t] = extents.count;
		err = cut_tensor(c, t, &extents);
	}
	if (!err) {
		p->extent_start[count] = extents.count;
		p->extents = npuv_vector_take(&extents);
		err = p->extents ? 0 : -ENOMEM;
	}
	npuv_free(extents.data);
	return err;
}

int npuv_place_check(struct npuv_work *w, struct npuv_plan *p)
{
	struct cutting c = { .w = w, .p = p };
	int err;

	err = check_placements(w, p);
	if (!err)
		err = cut_all(&c);
	npuv_free(c.start);
	npuv_free(c.order);
	npuv_free(c.bounds);
	npuv_free(c.spare);
	npuv_free(c.lists);
	return err;
}

/* Index of the first extent of a tensor that begins at or after a byte. */
static u32 lower_bound(const struct npuv_plan *p, u32 tensor, u64 byte)
{
	u32 lo = p->extent_start[tensor], hi = p->extent_start[tensor + 1];

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (p->extents[mid].first < byte)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct npuv_extent *npuv_place_find(const struct npuv_plan *p, u32 tensor, u64 byte)
{
	u32 begin = p->extent_start[tensor], end = p->extent_start[tensor + 1];
	u32 i = lower_bound(p, tensor, byte);

	if (i < end && p->extents[i].first == byte)
		return &p->extents[i];
	if (i == begin || byte - p->extents[i - 1].first >= p->extents[i - 1].length)
		return NULL;
	return &p->extents[lower_bound(p, tensor, p->extents[i - 1].first)];
}

u64 npuv_place_next(const struct npuv_plan *p, u32 tensor, u64 byte)
{
	u32 i = lower_bound(p, tensor, byte);

	return i < p->extent_start[tensor + 1] ? p->extents[i].first : ~0ull;
}

/*
 * The last of them that is in force by then, or none. For an extent in force
 * with another one that came later and went before would have been refused: it
 * is some cell's home (@used), and that cell would have had two.
 */
const struct npuv_extent *npuv_place_find_at(const struct npuv_plan *p, u32 tensor, u64 byte,
					     u32 position)
{
	const struct npuv_extent *e = npuv_place_find(p, tensor, byte);
	u32 lo, hi = p->extent_start[tensor + 1];

	if (!e || npuv_placement(p, e->placement)->from > position)
		return NULL;
	/* Of [lo, hi) the first one holds the byte and has begun. */
	lo = (u32)(e - p->extents);
	while (hi - lo > 1) {
		u32 mid = lo + (hi - lo) / 2;

		if (p->extents[mid].first == e->first &&
		    npuv_placement(p, p->extents[mid].placement)->from <= position)
			lo = mid;
		else
			hi = mid;
	}
	e = &p->extents[lo];
	return position <= npuv_placement(p, e->placement)->to ? e : NULL;
}

void npuv_place_compact(struct npuv_plan *p)
{
	u32 t, i, n = 0, begin = 0;

	for (t = 0; t < p->graph->tensors.count; t++) {
		u32 end = p->extent_start[t + 1];

		p->extent_start[t] = n;
		for (i = begin; i < end; i++)
			if (p->extents[i].used)
				p->extents[n++] = p->extents[i];
		begin = end;
	}
	p->extent_start[p->graph->tensors.count] = n;
}
