// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Homes, rule V3: from the position that writes a byte to its last use exactly
 * one placement holds it, the same throughout.
 */
#include "check.h"

void npuv_fragments_begin(struct npuv_fragments *it, const struct npuv_plan *p, u32 instance,
			  u32 tensor, const struct npuv_segment *segments, u32 count)
{
	memset(it, 0, sizeof(*it));
	it->plan = p;
	it->location = npuv_location_of(p, instance, tensor);
	it->segments = segments;
	it->segment_count = count;
}

bool npuv_fragments_next(struct npuv_fragments *it)
{
	const struct npuv_plan *p = it->plan;
	u64 limit;

	it->first += it->length;
	if (!it->left) {
		if (!it->segment_count)
			return false;
		it->first = it->segments->first;
		it->left = it->segments->length;
		it->segments++;
		it->segment_count--;
	}
	it->extent = npuv_location_find(p, it->location, it->first);
	it->count = 0;
	if (it->extent) {
		limit = it->extent->first + it->extent->length;
		it->count = npuv_location_count(p, it->location, it->extent);
	} else {
		limit = npuv_location_next(p, it->location, it->first);
	}
	it->length = limit - it->first < it->left ? limit - it->first : it->left;
	it->left -= it->length;
	return true;
}

void npuv_cell_fragments(struct npuv_fragments *it, const struct npuv_check *k, u32 cell)
{
	const struct npuv_cell *c = &k->g->cells[cell];

	npuv_fragments_begin(it, k->p, k->instance, c->tensor, k->g->segments + c->first_segment,
			     c->segment_count);
}

static u32 death_of(const struct npuv_check *k, u32 cell)
{
	u32 use = k->p->last_use[npuv_current(k, cell)];

	if (npuv_survives(k, cell))
		return k->last;
	return use == NPUMEM_NONE ? npuv_birth_of(k, cell) : npuv_position_of(k, use);
}

/*
 * Every byte written or used needs a home; those of an input that nobody reads
 * may have one. A parameter without any placement is outside the arena.
 */
static bool needs_home(const struct npuv_check *k, u32 cell)
{
	const struct npuv_cell *c = &k->g->cells[cell];

	if (npuv_tensor(k->g, c->tensor)->kind == NPUMEM_TENSOR_PARAMETER &&
	    !k->p->placed[c->tensor])
		return false;
	return c->writer != NPUMEM_NONE || c->reads || c->survives;
}

/* Whether a cell without a writer may begin in an extent. */
static bool is_entry(const struct npuv_check *k, u32 cell, const struct npuv_extent *home)
{
	if (npuv_is_flat(k->g) || home->flags & NPUV_EXTENT_ENTRY)
		return true;
	/* An external tensor's binding lasts for the whole run. */
	return home->placement == NPUMEM_NONE && npuv_starts_valid(k->g, k->g->cells[cell].tensor);
}

/*
 * Of the extents that hold a fragment, find the one from birth on, and a second one up to
 * death, if there is one. Where extents are apart, both are among those around the last one
 * that has begun.
 */
static const struct npuv_extent *find_extent(const struct npuv_check *k,
					     const struct npuv_fragments *it, u32 birth, u32 death,
					     const struct npuv_extent **second)
{
	const struct npuv_extent *home = NULL;
	u32 i = 0, end = it->count;

	*second = NULL;
	if (end && it->extent->flags & NPUV_EXTENT_APART) {
		i = npuv_extents_begun(k->p, it->extent, it->count, birth);
		i -= i > 0;
		end = i + 2 < end ? i + 2 : end;
	}
	for (; i < end; i++) {
		const struct npuv_extent *e = &it->extent[i];
		u32 from = npuv_extent_from(k->p, e);

		if (from > death || npuv_extent_to(k->p, e) < birth)
			continue;
		if (!home && from <= birth)
			home = e;
		else
			*second = e;
	}
	return home;
}

/* The units of work that find_extent() has with a fragment. */
static u64 looked_at(const struct npuv_fragments *it)
{
	return it->count && it->extent->flags & NPUV_EXTENT_APART ? 3 : 1 + (u64)it->count;
}

static int refuse_two(struct npuv_check *k, u32 tensor, const struct npuv_fragments *it,
		      const struct npuv_extent *home, const struct npuv_extent *second)
{
	struct npuv_text text;

	k->w->verdict->tensor = tensor;
	return npuv_refuse(k->w, -EINVAL, NPUMEM_RULE_V3_READ,
			   "V3 read: %s bytes [%llu, %llu) are in both placement %u and "
			   "placement %u",
			   npuv_text_tensor(k->g, tensor, &text), it->first, it->first + it->length,
			   home->placement, second->placement);
}

/*
 * Note a fragment that is there when the instance is entered. In a graph of one block
 * without edges it is painted later.
 */
static int add_initial(struct npuv_check *k, u32 owner, u64 arena, u64 length)
{
	struct npuv_initial *initial;

	if (npuv_is_flat(k->g))
		return 0;
	initial = npuv_vector_add(&k->initial, 1);
	if (!initial)
		return -ENOMEM;
	initial->arena = arena;
	initial->length = length;
	initial->owner = owner;
	return 0;
}

/* The fragment's home is found: it is used, and ends where owners may change. */
static int settle(struct npuv_check *k, const struct npuv_fragments *it,
		  const struct npuv_extent *home, u32 owner, bool initial)
{
	u64 arena = home->arena + (it->first - home->first);
	u64 *bounds = npuv_vector_add(&k->bounds, 2);
	int err = 0;

	if (!bounds)
		return -ENOMEM;
	k->p->extents[home - k->p->extents].flags |= NPUV_EXTENT_USED;
	bounds[0] = arena;
	bounds[1] = arena + it->length;
	if (initial)
		err = add_initial(k, owner, arena, it->length);
	return err ? err : npuv_visit(k->w, looked_at(it));
}

static int find_cell_home(struct npuv_check *k, u32 cell, const struct npuv_fragments *it)
{
	u32 birth = npuv_birth_of(k, cell), death = death_of(k, cell);
	bool initial = k->g->cells[cell].writer == NPUMEM_NONE;
	const struct npuv_extent *home, *second;

	home = find_extent(k, it, birth, death, &second);
	if (!home && !needs_home(k, cell))
		return npuv_visit(k->w, looked_at(it));
	if (!home || (initial && !is_entry(k, cell, home)))
		return npuv_refuse_homeless(k, cell, it->first, it->first + it->length);
	if (npuv_extent_to(k->p, home) < death)
		return npuv_refuse_evicted(k, cell, it, home);
	if (second)
		return refuse_two(k, k->g->cells[cell].tensor, it, home, second);
	return settle(k, it, home, cell, initial);
}

static int find_pass_home(struct npuv_check *k, u32 index, const struct npuv_fragments *it)
{
	const struct npuv_pass *pass = (const struct npuv_pass *)k->passes.data + index;
	const struct npuv_extent *home, *second;

	/* Such an extent exists: the bytes are part of the entry state. */
	home = find_extent(k, it, k->first, k->last, &second);
	if (npuv_extent_to(k->p, home) < k->last)
		return npuv_refuse_evicted(k, NPUV_OWNER_PASS | index, it, home);
	if (second)
		return refuse_two(k, pass->tensor, it, home, second);
	return settle(k, it, home, NPUV_OWNER_PASS | index, true);
}

int npuv_homes_find(struct npuv_check *k)
{
	struct npuv_fragments it;
	u32 i;
	int err;

	for (i = k->g->cell_start[k->block]; i < k->g->cell_start[k->block + 1]; i++) {
		npuv_cell_fragments(&it, k, i);
		while (npuv_fragments_next(&it)) {
			err = find_cell_home(k, i, &it);
			if (err)
				return err;
		}
	}
	for (i = 0; i < k->passes.count; i++) {
		const struct npuv_pass *pass = (const struct npuv_pass *)k->passes.data + i;
		struct npuv_segment segment = { .first = pass->first, .length = pass->length };

		npuv_fragments_begin(&it, k->p, k->instance, pass->tensor, &segment, 1);
		while (npuv_fragments_next(&it)) {
			err = find_pass_home(k, i, &it);
			if (err)
				return err;
		}
	}
	npuv_locations_compact(k->p, k->instance);
	return 0;
}
