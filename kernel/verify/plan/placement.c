// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Placements: checks rule V1, and tells where a byte of a tensor lies at a position, once
 * extent.c has cut the placements.
 */
#include "plan.h"

static_assert(sizeof(struct npumem_placement) == 112);

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

/* Whether every byte lies at the tensor's fixed offset plus its index. */
static bool honours_fixed(const struct npumem_tensor *t, const struct npumem_placement *p)
{
	if (p->offset != t->fixed_offset + p->region.offset)
		return false;
	if (memcmp(p->stride, p->region.stride, sizeof(p->stride)))
		return false;
	return !p->ring || p->ring == p->region.count[2];
}

/* NULL, or a text that says what is wrong with a placement. */
static const char *placement_flaw(const struct npuv_plan *plan, const struct npumem_placement *p)
{
	const struct npumem_tensor *t = npuv_tensor(plan->graph, p->tensor);
	const char *flaw;
	u64 bytes, end;
	u32 d;

	if (t->flags & NPUMEM_TENSOR_FLAG_ALIAS)
		return "it is of an alias, whose bytes lie where the tensor is that it is an alias of";
	if (t->flags & NPUMEM_TENSOR_FLAG_EXTERNAL)
		return "it is of an external tensor, which is not in the arena";
	if (p->block >= plan->blocks.count)
		return "its block is not in the plan";
	if (!npuv_is_flat(plan->graph) &&
	    (p->from < npuv_plan_block(plan, p->block)->first_position ||
	     p->to > npuv_instance_last(plan, p->block) || p->from > p->to))
		return "its span is not within its block";
	if (npuv_is_flat(plan->graph) && (p->from > p->to || p->to >= plan->positions.count))
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
	if ((t->flags & NPUMEM_TENSOR_FLAG_FIXED) && !honours_fixed(t, p))
		return "it is not at the tensor's fixed offset";
	return NULL;
}

int npuv_placements_check(struct npuv_work *w, struct npuv_plan *plan)
{
	u32 i;
	int err = 0;

	for (i = 0; !err && i < plan->placements.count; i++) {
		const struct npumem_placement *p = npuv_placement(plan, i);
		const char *flaw;
		struct npuv_text text;

		if (p->tensor >= plan->graph->tensors.count)
			return npuv_refuse_unknown_tensor(w, NPUMEM_RULE_V1_BOUNDS, p->tensor,
							  "V1 bounds: placement %u", i);
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
	}
	return err;
}

const struct npuv_location *npuv_location_of(const struct npuv_plan *p, u32 instance, u32 tensor)
{
	u32 lo = p->location_start[instance];

	npuv_bisect(lo, p->location_start[instance + 1], i, p->locations[i].tensor < tensor);
	if (lo < p->location_start[instance + 1] && p->locations[lo].tensor == tensor)
		return &p->locations[lo];
	if (npuv_is_external(p->graph, tensor) && instance < p->blocks.count)
		return npuv_location_of(p, p->blocks.count, tensor);
	return NULL;
}

u32 npuv_extent_from(const struct npuv_plan *p, const struct npuv_extent *e)
{
	return e->placement == NPUMEM_NONE ? 0 : npuv_placement(p, e->placement)->from;
}

u32 npuv_extent_to(const struct npuv_plan *p, const struct npuv_extent *e)
{
	return e->placement == NPUMEM_NONE ? NPUMEM_NONE : npuv_placement(p, e->placement)->to;
}

/* Index of the first extent of a location that begins at or after a byte. */
static u32 lower_bound(const struct npuv_plan *p, const struct npuv_location *location, u64 byte)
{
	u32 lo = location->first;

	npuv_bisect(lo, location->first + location->count, i, p->extents[i].first < byte);
	return lo;
}

const struct npuv_extent *npuv_location_find(const struct npuv_plan *p,
					     const struct npuv_location *location, u64 byte)
{
	u32 i;

	if (!location)
		return NULL;
	i = lower_bound(p, location, byte);
	if (i < location->first + location->count && p->extents[i].first == byte)
		return &p->extents[i];
	if (i == location->first || byte - p->extents[i - 1].first >= p->extents[i - 1].length)
		return NULL;
	return &p->extents[lower_bound(p, location, p->extents[i - 1].first)];
}

u32 npuv_location_count(const struct npuv_plan *p, const struct npuv_location *location,
			const struct npuv_extent *e)
{
	u32 first = (u32)(e - p->extents);

	if (first + 1 < location->first + location->count &&
	    p->extents[first + 1].first != e->first)
		return 1;
	return lower_bound(p, location, e->first + 1) - first;
}

u64 npuv_location_next(const struct npuv_plan *p, const struct npuv_location *location, u64 byte)
{
	u32 i;

	if (!location)
		return ~0ull;
	i = lower_bound(p, location, byte);
	return i < location->first + location->count ? p->extents[i].first : ~0ull;
}

u32 npuv_extents_begun(const struct npuv_plan *p, const struct npuv_extent *e, u32 count,
		       u32 position)
{
	u32 lo = 0;

	npuv_bisect(lo, count, i, npuv_extent_from(p, &e[i]) <= position);
	return lo;
}

/*
 * Only the last extent that has come into force by @position can hold the byte. An earlier
 * one that is still in force when a later one has gone would have been refused: it is some
 * cell's home (USED), and that cell would have had two.
 */
const struct npuv_extent *npuv_location_find_at(const struct npuv_plan *p,
						const struct npuv_location *location, u64 byte,
						u32 position)
{
	const struct npuv_extent *e = npuv_location_find(p, location, byte);
	u32 begun;

	if (!e)
		return NULL;
	begun = npuv_extents_begun(p, e, npuv_location_count(p, location, e), position);
	if (!begun)
		return NULL;
	e += begun - 1;
	return position <= npuv_extent_to(p, e) ? e : NULL;
}

void npuv_locations_compact(struct npuv_plan *p, u32 instance)
{
	u32 t, i, n;

	for (t = p->location_start[instance]; t < p->location_start[instance + 1]; t++) {
		struct npuv_location *location = &p->locations[t];

		n = location->first;
		for (i = location->first; i < location->first + location->count; i++)
			if (p->extents[i].flags & (NPUV_EXTENT_USED | NPUV_EXTENT_ENTRY))
				p->extents[n++] = p->extents[i];
		location->count = n - location->first;
	}
}
