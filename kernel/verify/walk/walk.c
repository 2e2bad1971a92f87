// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The ranges of an access in arena, host buffer, or binding, for engines.
 */
#include "check.h"

void npuv_walk_begin(struct npuv_walk *walk, const struct npuv_plan *plan, u32 position, u32 access)
{
	struct npumem_region region;
	u32 tensor;

	if (npuv_position(plan, position)->kind != NPUMEM_POSITION_STEP)
		access += npuv_step(plan->graph, npuv_step_at(plan, position))->first_access;
	memset(walk, 0, sizeof(*walk));
	tensor = npuv_access_region(plan->graph, access, &region);
	walk->plan = plan;
	walk->location = npuv_location_of(plan, npuv_instance_at(plan, position), tensor);
	walk->position = position;
	npuv_chunks_begin(&walk->chunks, &region);
}

void npuv_walk_seek(struct npuv_walk *walk, u64 linear)
{
	struct npuv_chunks *c = &walk->chunks;
	u64 chunk = linear / c->length, rest = linear % c->length, arena;
	u32 d;

	for (d = 0; d < NPUMEM_REGION_DIMS; d++) {
		c->index[d] = chunk % c->count[d];
		chunk /= c->count[d];
	}
	c->done = chunk > 0;
	walk->linear = linear;
	if (!npuv_chunks_next(c, &walk->first, &arena))
		return;
	walk->first += rest;
	walk->left = c->length - rest;
}

bool npuv_walk_next(struct npuv_walk *walk, struct npuv_range *range)
{
	u64 arena;

	range->length = 0;
	range->external = NPUMEM_NONE;
	for (;;) {
		const struct npuv_extent *e;
		u64 skip, n, at;

		if (!walk->left) {
			if (!npuv_chunks_next(&walk->chunks, &walk->first, &arena))
				break;
			walk->left = walk->chunks.length;
		}
		e = npuv_location_find_at(walk->plan, walk->location, walk->first, walk->position);
		if (!e)
			break;
		skip = walk->first - e->first;
		n = e->length - skip < walk->left ? e->length - skip : walk->left;
		at = e->placement == NPUMEM_NONE ? walk->first : e->arena + skip;
		if (npuv_is_host_copy(walk->plan->graph, walk->location->tensor))
			at -= walk->plan->info->arena_size;
		if (!range->length) {
			range->arena = at;
			range->linear = walk->linear;
			if (e->placement == NPUMEM_NONE)
				range->external = walk->location->tensor;
			else if (npuv_is_host_copy(walk->plan->graph, walk->location->tensor))
				range->external = NPUV_HOST;
		} else if (range->arena + range->length != at) {
			break;
		}
		range->length += n;
		walk->first += n;
		walk->left -= n;
		walk->linear += n;
	}
	return range->length > 0;
}

u64 npuv_access_bytes(const struct npuv_plan *plan, u32 access)
{
	struct npumem_region region;

	/* All bytes accessed have a home, except those of a parameter without any placement. */
	if (!plan->placed[npuv_access_region(plan->graph, access, &region)])
		return 0;
	return npuv_region_bytes(&region);
}

int npuv_copy_bytes(const struct npuv_plan *plan, u32 position, u32 *ticks, u64 *read, u64 *written)
{
	const struct npumem_position *p = npuv_position(plan, position);
	const struct npumem_step *step;
	u64 bytes;
	u32 a;

	*read = 0;
	*written = 0;
	if (npuv_tick(ticks, 1))
		return -EINTR;
	if (p->kind != NPUMEM_POSITION_STEP)
		return 0;
	step = npuv_step(plan->graph, p->index);
	for (a = step->first_access; a < step->first_access + step->access_count; a++) {
		if (npuv_tick(ticks, 1))
			return -EINTR;
		bytes = npuv_access_bytes(plan, a);
		if (npuv_access(plan->graph, a)->mode != NPUMEM_ACCESS_WRITE)
			*read += bytes;
		if (npuv_access(plan->graph, a)->mode != NPUMEM_ACCESS_READ)
			*written += bytes;
	}
	return 0;
}
