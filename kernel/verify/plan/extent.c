// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Extents: where each byte of a tensor lies at a position.
 *
 * Every chunk of every placement of a tensor in an instance is cut at the ends
 * of all other such chunks and of the tensor's entry records, so that any two of
 * the resulting *extents* either hold the same bytes (at different positions) or
 * none in common, and are part of the entry state as a whole or not at all.
 *
 * An EXTERNAL tensor is taken as one placement that is always in force, at
 * addresses beyond arena and host memory that no other tensor has.
 */
#include "plan.h"

/* A placement, or an EXTERNAL tensor in one instance (@placement is NPUMEM_NONE). */
struct item {
	u32 instance;
	u32 tensor;
	u32 placement;
};

/*
 * struct cutting - state of cutting all placements into extents
 * @w, @p: the call that this is part of, and its plan
 * @items: placements and EXTERNAL tensors to be cut
 * @order: the items by instance, tensor, and first position
 * @external: per tensor, where it lies beyond the arena
 * @entries: entry records by instance and tensor, those before @next_entry done
 * @bounds: bytes of one location where extents begin and end
 * @lists: per bound, index where its extents end
 * @locations, @extents: the locations and extents found so far
 */
struct cutting {
	struct npuv_work *w;
	struct npuv_plan *p;
	struct npuv_vector items;
	u32 *order;
	u64 *external;
	const u32 *entries;
	u32 next_entry;
	u64 *bounds;
	u32 *lists;
	struct npuv_vector locations, extents;
};

static const struct item *item_at(const struct cutting *c, u32 i)
{
	return (const struct item *)c->items.data + c->order[i];
}

static int add_item(struct cutting *c, u32 instance, u32 tensor, u32 placement)
{
	struct item *item = npuv_vector_add(&c->items, 1);

	if (!item)
		return -ENOMEM;
	item->instance = instance;
	item->tensor = tensor;
	item->placement = placement;
	c->p->placed[tensor] = true;
	return npuv_visit(c->w, 1);
}

/* Add every EXTERNAL tensor once for all instances, and once more where entry records cut it. */
static int add_external(struct cutting *c)
{
	const struct npuv_graph *g = c->p->graph;
	u64 end = c->p->info->arena_size + c->p->info->host_size;
	struct npuv_text text;
	u32 i, k, t;
	int err = 0;

	for (t = 0; !err && t < g->tensors.count; t++) {
		if (!npuv_is_external(g, t))
			continue;
		c->external[t] = end;
		if (check_add_overflow(end, npuv_tensor(g, t)->size, &end)) {
			c->w->verdict->tensor = t;
			return npuv_refuse(c->w, -E2BIG, NPUMEM_RULE_NONE,
					   "limit: external tensors have more than 2^64 bytes "
					   "together, at %s",
					   npuv_text_tensor(g, t, &text));
		}
		err = add_item(c, c->p->blocks.count, t, NPUMEM_NONE);
	}
	for (i = 0; !err && i < c->p->blocks.count; i++) {
		const struct npumem_plan_block *b = npuv_plan_block(c->p, i);
		u32 before = NPUMEM_NONE;

		for (k = 0; !err && k < b->entry_count; k++) {
			t = npuv_entry(c->p, c->entries[b->first_entry + k])->tensor;
			if (t != before && npuv_is_external(g, t))
				err = add_item(c, i, t, NPUMEM_NONE);
			before = t;
		}
	}
	return err;
}

static u32 key_of(const struct item *item, bool by_instance)
{
	return by_instance ? item->instance : item->tensor;
}

/* Sort items by one more key; items of the same key stay in their order. */
static int sort_by(struct cutting *c, bool by_instance, u32 keys)
{
	struct npuv_vector pairs = { .size = sizeof(struct npuv_pair) };
	u32 *start = NULL, i;
	int err = 0;

	for (i = 0; !err && i < c->items.count; i++)
		err = npuv_pair_add(&pairs, key_of(item_at(c, i), by_instance), c->order[i]);
	npuv_free(c->order);
	c->order = NULL;
	err = npuv_group(c->w, err, &pairs, keys, &start, &c->order);
	npuv_free(start);
	return err;
}

static int sort_items(struct cutting *c)
{
	const struct npuv_plan *p = c->p;
	u64 *keys = npuv_alloc_array(c->items.count, sizeof(u64));
	const struct item *items = c->items.data;
	int err = -ENOMEM;
	u32 i;

	c->order = npuv_alloc_array(c->items.count, sizeof(u32));
	if (keys && c->order) {
		for (i = 0; i < c->items.count; i++)
			if (items[i].placement == NPUMEM_NONE)
				keys[i] = i;
			else
				keys[i] = (u64)npuv_placement(p, items[i].placement)->from << 32 |
					  i;
		err = npuv_sort(c->w, keys, c->items.count);
	}
	for (i = 0; !err && i < c->items.count; i++)
		c->order[i] = (u32)keys[i];
	npuv_free(keys);
	if (!err)
		err = sort_by(c, false, p->graph->tensors.count);
	if (!err)
		err = sort_by(c, true, p->blocks.count + 1);
	return err;
}

static void chunks_begin(const struct cutting *c, const struct item *item,
			 struct npuv_chunks *chunks)
{
	if (item->placement != NPUMEM_NONE) {
		npuv_chunks_begin_placed(chunks, npuv_placement(c->p, item->placement));
		return;
	}
	memset(chunks, 0, sizeof(*chunks));
	chunks->length = npuv_tensor(c->p->graph, item->tensor)->size;
	chunks->arena = c->external[item->tensor];
	chunks->count[0] = chunks->count[1] = chunks->count[2] = 1;
}

/* The index where the items end that are of one location with item @first. */
static u32 location_end(const struct cutting *c, u32 first)
{
	const struct item *item = item_at(c, first);
	u32 i = first;

	while (i < c->items.count && item_at(c, i)->instance == item->instance &&
	       item_at(c, i)->tensor == item->tensor)
		i++;
	return i;
}

/* The entry records of a location are those from @next_entry on, before the end returned. */
static u32 entries_end(const struct cutting *c, const struct item *item)
{
	const struct npumem_plan_block *b;
	u32 i = c->next_entry;

	if (item->instance == c->p->blocks.count)
		return i;
	b = npuv_plan_block(c->p, item->instance);
	while (i < b->first_entry + b->entry_count &&
	       npuv_entry(c->p, c->entries[i])->tensor == item->tensor)
		i++;
	return i;
}

/* Count chunks before there is memory for any. */
static int allocate(struct cutting *c)
{
	u64 total = 0, most = 0, limit = c->w->limits->max_chunks;
	struct npuv_chunks chunks;
	u32 i, end, next;

	c->next_entry = 0;
	for (i = 0; i < c->items.count; i = end) {
		const struct item *item = item_at(c, i);
		u64 count = 0;

		end = location_end(c, i);
		next = entries_end(c, item);
		for (; i < end; i++) {
			chunks_begin(c, item_at(c, i), &chunks);
			if (check_add_overflow(total, npuv_chunks_count(&chunks), &total) ||
			    total > limit) {
				struct npuv_text text;

				c->w->verdict->tensor = item->tensor;
				return npuv_refuse(
					c->w, -E2BIG, NPUMEM_RULE_NONE,
					"limit: more than %llu chunks of placements, "
					"at %s",
					limit, npuv_text_tensor(c->p->graph, item->tensor, &text));
			}
			count += npuv_chunks_count(&chunks);
		}
		count += next - c->next_entry;
		c->next_entry = next;
		most = count > most ? count : most;
	}
	c->next_entry = 0;
	c->bounds = npuv_alloc_array(2 * most, sizeof(u64));
	c->lists = npuv_alloc_array(2 * most + 1, sizeof(u32));
	return c->bounds && c->lists ? 0 : -ENOMEM;
}

static u32 bound_of(const struct cutting *c, u32 count, u64 value)
{
	return npuv_upper_bound(c->bounds, count, value) - 1;
}

/* Collect the bytes where extents may begin and end: chunks and entry records do there. */
static int collect_bounds(struct cutting *c, u32 begin, u32 end, u32 entries, u32 *count)
{
	struct npuv_chunks chunks;
	u64 first, arena;
	u32 i, n = 0;

	for (i = begin; i < end; i++) {
		chunks_begin(c, item_at(c, i), &chunks);
		while (npuv_chunks_next(&chunks, &first, &arena)) {
			c->bounds[n++] = first;
			c->bounds[n++] = first + chunks.length;
		}
	}
	for (i = c->next_entry; i < entries; i++) {
		const struct npumem_entry *e = npuv_entry(c->p, c->entries[i]);

		c->bounds[n++] = e->first;
		c->bounds[n++] = e->first + e->length;
	}
	*count = n;
	return npuv_sort_unique(c->w, c->bounds, count);
}

/* Count the extents that begin at each of n bounds, and sum the counts up to indices. */
static int count_extents(struct cutting *c, u32 begin, u32 end, u32 n)
{
	struct npuv_chunks chunks;
	u64 first, arena;
	u32 i, k, hi, sum = 0;
	int err;

	memset(c->lists, 0, (size_t)n * sizeof(u32));
	for (i = begin; i < end; i++) {
		chunks_begin(c, item_at(c, i), &chunks);
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

static void fill_extents(struct cutting *c, u32 begin, u32 end, u32 n, struct npuv_extent *out)
{
	struct npuv_chunks chunks;
	u64 first, arena;
	u32 i, k;

	for (i = begin; i < end; i++) {
		chunks_begin(c, item_at(c, i), &chunks);
		while (npuv_chunks_next(&chunks, &first, &arena)) {
			/* The chunk's end is a bound, too. */
			k = bound_of(c, n, first);
			for (; c->bounds[k] < first + chunks.length; k++) {
				struct npuv_extent *e = &out[c->lists[k]++];

				e->first = c->bounds[k];
				e->length = c->bounds[k + 1] - c->bounds[k];
				e->arena = arena + (e->first - first);
				e->placement = item_at(c, i)->placement;
			}
		}
	}
}

/* Mark extents of the same bytes that are apart: each is over before the next begins. */
static void mark_apart(struct cutting *c, u32 n, struct npuv_extent *extents)
{
	u32 k, i, lo = 0;

	for (k = 0; k < n; k++, lo = c->lists[k - 1]) {
		u32 hi = c->lists[k];

		for (i = lo + 1; i < hi; i++)
			if (npuv_extent_to(c->p, &extents[i - 1]) >=
			    npuv_extent_from(c->p, &extents[i]))
				break;
		if (i < hi)
			continue;
		for (i = lo; i < hi; i++)
			extents[i].flags |= NPUV_EXTENT_APART;
	}
}

static int refuse_entry(struct cutting *c, u32 index, u64 first, u64 end, const char *flaw)
{
	const struct npumem_entry *e = npuv_entry(c->p, index);
	struct npuv_text tensor;

	c->w->verdict->tensor = e->tensor;
	return npuv_refuse(c->w, -EINVAL, NPUMEM_RULE_V6_EDGE,
			   "V6 edge: entry %u, %s: its bytes [%llu, %llu) %s", index,
			   npuv_text_tensor(c->p->graph, e->tensor, &tensor), first, end, flaw);
}

/*
 * Every byte of a record must be in its placement, and at that position in no
 * other one. Those in force from the instance's first position come first.
 */
static int mark_entry(struct cutting *c, u32 index, u32 n, struct npuv_extent *extents)
{
	const struct npumem_entry *e = npuv_entry(c->p, index);
	u32 k = bound_of(c, n, e->first);
	int err = 0;

	for (; !err && c->bounds[k] < e->first + e->length; k++) {
		u32 lo = k ? c->lists[k - 1] : 0, hi = c->lists[k];
		struct npuv_extent *home = &extents[lo];
		const char *flaw = NULL;
		bool two;

		two = hi - lo > 1 &&
		      npuv_extent_from(c->p, home + 1) == npuv_extent_from(c->p, home);
		if (lo == hi || (home->placement != e->placement &&
				 !(two && home[1].placement == e->placement)))
			flaw = "are not in its placement";
		else if (two)
			flaw = "are in another placement, too, when the block is entered";
		else if (home->flags & NPUV_EXTENT_ENTRY)
			flaw = "are in another entry, too";
		if (flaw)
			return refuse_entry(c, index, c->bounds[k], c->bounds[k + 1], flaw);
		home->flags |= NPUV_EXTENT_ENTRY;
		err = npuv_visit(c->w, 1);
	}
	return err;
}

/* Items [begin, end) are of one location. */
static int cut_location(struct cutting *c, u32 begin, u32 end)
{
	const struct item *item = item_at(c, begin);
	struct npuv_extent *out;
	struct npuv_location *location;
	u32 n, entries = entries_end(c, item);
	struct npuv_text text;
	int err;

	err = collect_bounds(c, begin, end, entries, &n);
	if (!err)
		err = count_extents(c, begin, end, n);
	if (err)
		return err;
	if (c->lists[n] > c->w->limits->max_chunks - c->extents.count) {
		c->w->verdict->tensor = item->tensor;
		return npuv_refuse(c->w, -E2BIG, NPUMEM_RULE_NONE,
				   "limit: more than %llu extents of placements, at %s",
				   c->w->limits->max_chunks,
				   npuv_text_tensor(c->p->graph, item->tensor, &text));
	}
	location = npuv_vector_add(&c->locations, 1);
	if (!location)
		return -ENOMEM;
	location->tensor = item->tensor;
	location->first = c->extents.count;
	location->count = c->lists[n];
	out = npuv_vector_add(&c->extents, location->count);
	if (!out)
		return -ENOMEM;
	fill_extents(c, begin, end, n, out);
	mark_apart(c, n, out);
	for (; !err && c->next_entry < entries; c->next_entry++)
		err = mark_entry(c, c->entries[c->next_entry], n, out);
	return err ? err : npuv_visit(c->w, 0);
}

static int cut_all(struct cutting *c)
{
	u32 i, end, instance = 0, instances = c->p->blocks.count;
	int err;

	for (i = 0; i < c->items.count; i = end) {
		while (instance < item_at(c, i)->instance)
			c->p->location_start[++instance] = c->locations.count;
		end = location_end(c, i);
		err = cut_location(c, i, end);
		if (err)
			return err;
	}
	while (instance <= instances)
		c->p->location_start[++instance] = c->locations.count;
	return 0;
}

static int cut(struct cutting *c)
{
	struct npuv_plan *p = c->p;
	int err = 0;
	u32 i;

	p->location_start = npuv_alloc_array((u64)p->blocks.count + 2, sizeof(u32));
	p->placed = npuv_alloc_array(p->graph->tensors.count, sizeof(*p->placed));
	c->external = npuv_alloc_array(p->graph->tensors.count, sizeof(u64));
	if (!p->location_start || !p->placed || !c->external)
		return -ENOMEM;
	for (i = 0; !err && i < p->placements.count; i++)
		err = add_item(c, npuv_placement(p, i)->block, npuv_placement(p, i)->tensor, i);
	if (!err)
		err = add_external(c);
	if (!err)
		err = sort_items(c);
	if (!err)
		err = allocate(c);
	if (!err)
		err = cut_all(c);
	if (err)
		return err;
	p->locations = npuv_vector_take(&c->locations);
	p->extents = npuv_vector_take(&c->extents);
	return p->locations && p->extents ? 0 : -ENOMEM;
}

int npuv_extents_cut(struct npuv_work *w, struct npuv_plan *p, const u32 *entries)
{
	struct cutting c = {
		.w = w,
		.p = p,
		.entries = entries,
		.items = { .size = sizeof(struct item) },
		.locations = { .size = sizeof(struct npuv_location) },
		.extents = { .size = sizeof(struct npuv_extent) },
	};
	int err = cut(&c);

	npuv_free_all(c.items.data, c.order, c.external, c.bounds, c.lists, c.locations.data,
		      c.extents.data);
	return err;
}
