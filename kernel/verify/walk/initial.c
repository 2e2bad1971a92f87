// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The owners of arena bytes when an instance is entered.
 *
 * Two tensors with one value may be at the same bytes. These have several owners, all of
 * which must be done with them before they are written over. Pieces are cut where others
 * begin and end, so that the owners of each part are a set.
 */
#include "check.h"

/* ---------------------------------------------------------------- apart */

static int refuse_together(struct npuv_check *k, u32 tensor, u32 other, u64 first, u64 end)
{
	struct npuv_text where, text, other_text;

	npuv_text_instance(k->p, k->instance, &where);
	npuv_text_tensor(k->g, tensor, &text);
	npuv_text_tensor(k->g, other, &other_text);
	k->w->verdict->position = k->first;
	k->w->verdict->tensor = tensor;
	k->w->verdict->other_tensor = other;
	k->w->verdict->first = first;
	k->w->verdict->length = end - first;
	if (tensor == other)
		return npuv_refuse(k->w, -EINVAL, NPUMEM_RULE_V6_EDGE,
				   "V6 edge: two parts of %s are both at bytes [%llu, %llu) of the "
				   "arena when %s is entered",
				   text.s, first, end, where.s);
	return npuv_refuse(k->w, -EINVAL, NPUMEM_RULE_V6_EDGE,
			   "V6 edge: %s and %s are both at bytes [%llu, %llu) of the arena when %s "
			   "is entered, where an inference begins",
			   text.s, other_text.s, first, end, where.s);
}

/* Paint the entry state of one location, and refuse bytes that it has there already. */
static int paint_location(struct npuv_check *k, struct npuv_arena *map, u32 index)
{
	const struct npuv_location *location = &k->p->locations[index];
	u32 i, n, lo, hi;
	int err;

	for (i = location->first; i < location->first + location->count; i++) {
		const struct npuv_extent *e = &k->p->extents[i];

		if (!(e->flags & NPUV_EXTENT_ENTRY))
			continue;
		lo = npuv_arena_bound(map, e->arena);
		hi = npuv_arena_bound(map, e->arena + e->length);
		for (n = npuv_arena_first(map, lo); n < hi; n = npuv_arena_next(map, n)) {
			u32 owner = map->owner[n], next = npuv_arena_next(map, n);

			err = npuv_visit(k->w, 1);
			if (err)
				return err;
			if (owner == NPUMEM_NONE || (k->instance && owner != index))
				continue;
			return refuse_together(k, location->tensor, k->p->locations[owner].tensor,
					       map->bounds[n > lo ? n : lo],
					       map->bounds[next < hi ? next : hi]);
		}
		npuv_arena_paint(map, lo, hi, index);
	}
	return 0;
}

/*
 * When an inference begins, tensors do not share bytes, since the client puts whole ones
 * there. Later two tensors may be at the same bytes, but never two bytes of one tensor: a
 * step that reads both would find one.
 */
static int check_apart(struct npuv_check *k)
{
	u32 begin = k->p->location_start[k->instance], end = k->p->location_start[k->instance + 1];
	struct npuv_vector bounds = { .size = sizeof(u64) };
	struct npuv_arena map = { 0 };
	u32 t, i;
	u64 *two;
	int err;

	for (t = begin; t < end; t++) {
		const struct npuv_location *location = &k->p->locations[t];

		for (i = location->first; i < location->first + location->count; i++) {
			const struct npuv_extent *e = &k->p->extents[i];

			if (!(e->flags & NPUV_EXTENT_ENTRY))
				continue;
			two = npuv_vector_add(&bounds, 2);
			if (!two) {
				npuv_free(bounds.data);
				return -ENOMEM;
			}
			two[0] = e->arena;
			two[1] = e->arena + e->length;
		}
	}
	err = npuv_sort_unique(k->w, bounds.data, &bounds.count);
	if (err)
		npuv_free(bounds.data);
	else
		err = npuv_arena_init(&map, bounds.data, bounds.count);
	for (t = begin; !err && t < end; t++)
		err = paint_location(k, &map, t);
	npuv_arena_fini(&map);
	return err;
}

/* ---------------------------------------------------------------- owners */

static const struct npuv_initial *fragment_at(const struct npuv_check *k, u32 i)
{
	return (const struct npuv_initial *)k->initial.data + i;
}

static u32 bound_of(const u64 *bounds, u32 count, u64 value)
{
	return npuv_upper_bound(bounds, count, value) - 1;
}

/* Collect the addresses where parts begin and end. */
static int collect_bounds(struct npuv_check *k, u64 **bounds, u32 *count)
{
	u32 i;

	*count = 2 * k->initial.count;
	*bounds = npuv_alloc_array(*count, sizeof(u64));
	if (!*bounds)
		return -ENOMEM;
	for (i = 0; i < k->initial.count; i++) {
		(*bounds)[2 * i] = fragment_at(k, i)->arena;
		(*bounds)[2 * i + 1] = fragment_at(k, i)->arena + fragment_at(k, i)->length;
	}
	return npuv_sort_unique(k->w, *bounds, count);
}

/* Collect the owners of each part. */
static int collect_sets(struct npuv_check *k, const u64 *bounds, u32 count)
{
	struct npuv_vector pairs = { .size = sizeof(struct npuv_pair) };
	u32 i, lo, hi;
	int err = 0;

	for (i = 0; !err && i < k->initial.count; i++) {
		const struct npuv_initial *fragment = fragment_at(k, i);

		hi = bound_of(bounds, count, fragment->arena + fragment->length);
		lo = bound_of(bounds, count, fragment->arena);
		for (; !err && lo < hi; lo++) {
			err = npuv_pair_add(&pairs, lo, fragment->owner);
			if (!err)
				err = npuv_visit(k->w, 1);
		}
	}
	return npuv_group(k->w, err, &pairs, count, &k->set_start, &k->set_owners);
}

static int paint_parts(struct npuv_check *k, const u64 *bounds, u32 count)
{
	u32 i, members;
	int err = 0;

	for (i = 0; !err && i + 1 < count; i++) {
		members = k->set_start[i + 1] - k->set_start[i];
		if (!members)
			continue;
		npuv_arena_paint(&k->map, npuv_arena_bound(&k->map, bounds[i]),
				 npuv_arena_bound(&k->map, bounds[i + 1]),
				 members == 1 ? k->set_owners[k->set_start[i]] :
						NPUV_OWNER_SET | i);
		err = npuv_visit(k->w, 1);
	}
	return err;
}

int npuv_initial_paint(struct npuv_check *k)
{
	u64 *bounds = NULL;
	u32 count, i;
	int err;

	err = check_apart(k);
	if (!err)
		err = collect_bounds(k, &bounds, &count);
	if (!err)
		err = collect_sets(k, bounds, count);
	if (!err)
		err = paint_parts(k, bounds, count);
	npuv_free(bounds);
	if (err)
		return err;
	for (i = k->g->cell_start[k->block]; i < k->g->cell_start[k->block + 1]; i++)
		if (k->g->cells[i].writer == NPUMEM_NONE)
			k->left[i] = k->p->uses[npuv_current(k, i)];
	return 0;
}
