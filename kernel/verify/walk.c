// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The arena ranges of an access, for engines.
 */
#include "internal.h"

void npuv_walk_begin(struct npuv_walk *walk, const struct npuv_plan *plan, u32 position, u32 access)
{
	const struct npuv_graph *g = plan->graph;
	const struct npumem_tile *tile = npuv_tile(g, npuv_access(g, access)->tile);

	memset(walk, 0, sizeof(*walk));
	walk->plan = plan;
	walk->tensor = tile->tensor;
	walk->position = position;
	npuv_chunks_begin(&walk->chunks, &tile->region);
}

bool npuv_walk_next(struct npuv_walk *walk, struct npuv_range *range)
{
	u64 arena;

	range->length = 0;
	range->external = NPUMEM_NONE;
	for (;;) {
		const struct npuv_extent *e;
		u64 skip, n;

		if (!walk->left) {
			if (!npuv_chunks_next(&walk->chunks, &walk->first, &arena))
				break;
			walk->left = walk->chunks.length;
		}
		e = npuv_place_find_at(walk->plan, walk->tensor, walk->first, walk->position);
		if (!e)
			break;
		skip = walk->first - e->first;
		n = e->length - skip < walk->left ? e->length - skip : walk->left;
		if (!range->length) {
			range->arena = e->arena + skip;
			range->linear = walk->linear;
		} else if (range->arena + range->length != e->arena + skip) {
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
	const struct npumem_tile *tile =
		npuv_tile(plan->graph, npuv_access(plan->graph, access)->tile);

	/* What is accessed has a home, but for a parameter without any placement. */
	if (plan->extent_start[tile->tensor] == plan->extent_start[tile->tensor + 1])
		return 0;
	return npuv_region_bytes(&tile->region);
}
