// SPDX-License-Identifier: MIT
/*
 * In-place operators: which bytes of their inputs their outputs may take, and the displacements at
 * which that is safe.
 *
 * A step that is not staged may store a byte of its output before it has read an input byte of
 * another linear index. So bytes may be taken at equal linear index only, and only if nobody needs
 * them any more. For tiles that are cut alike, that is one displacement of their tensors. Any other
 * overlap of the two is forbidden as between any tensors. An operator that changes the size of
 * elements (a cast) has no such displacement: that would need the order in which it goes through
 * them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "problem.h"

/*
 * The most pairs of atoms that are looked at for all permits together; after that, no more are
 * given.
 */
#define MAX_LOOKS (1u << 24)

NPUPLAN_ORDER(by_pair, struct npuplan_takeover, from, to, shift, aligned, instant, first)

/* Whether a linear index lies equally far from the first byte in both regions. */
static bool cut_alike(const struct npumem_region *a, const struct npumem_region *b)
{
	return a->length == b->length && !memcmp(a->count, b->count, sizeof(a->count)) &&
	       !memcmp(a->stride, b->stride, sizeof(a->stride));
}

static int add(struct npuplan_liveness *live, const struct npuplan_takeover *takeover)
{
	return npuplan_append(&live->takeovers, &live->takeover_count, takeover, 1);
}

/*
 * struct finder - finds takeovers, step by step
 * @readers: per cell, how often the step at hand reads it
 */
struct finder {
	struct npuplan_liveness *live;
	const struct npuv_graph *graph;
	const struct npuplan_live_range *ranges;
	const bool *in_arena;
	uint32_t *readers;
};

static void count_readers(const struct finder *f, const struct npumem_step *step, uint32_t change)
{
	uint32_t end = step->first_access + step->access_count;
	struct npuv_cells it;

	for (uint32_t a = step->first_access; a < end; a++)
		npuv_for_each_read(it, f->graph, a) f->readers[it.cell] += change;
}

/*
 * Count how often the step at hand reads the tile of access @read: all these count as one reader.
 */
static uint32_t count_same(const struct finder *f, const struct npumem_step *step, uint32_t read)
{
	uint32_t end = step->first_access + step->access_count, count = 0;

	for (uint32_t a = step->first_access; a < end; a++)
		count += npuv_access(f->graph, a)->mode == NPUMEM_ACCESS_READ &&
			 npuv_access(f->graph, a)->tile == npuv_access(f->graph, read)->tile;
	return count;
}

/*
 * Add takeovers of those bytes that access @read, one of @same accesses of its tile, reads here
 * only and for the last time.
 */
static int take_cells(const struct finder *f, uint32_t read, uint32_t same,
		      struct npuplan_takeover takeover)
{
	const struct npuv_graph *graph = f->graph;
	struct npuv_cells it;
	int err = 0;

	npuv_for_each_read(it, graph, read)
	{
		const struct npuv_cell *cell = &graph->cells[it.cell];

		if (f->readers[it.cell] != same || f->ranges[it.cell].end != takeover.instant)
			continue;
		for (uint32_t s = 0; s < cell->segment_count && !err; s++) {
			takeover.first = graph->segments[cell->first_segment + s].first;
			takeover.length = graph->segments[cell->first_segment + s].length;
			err = add(f->live, &takeover);
		}
	}
	return err;
}

static int take(const struct finder *f, uint32_t step, uint32_t write)
{
	const struct npumem_step *record = npuv_step(f->graph, step);
	uint32_t read = record->first_access + npuv_access(f->graph, write)->inplace;
	const struct npumem_tile *source = npuv_tile(f->graph, npuv_access(f->graph, read)->tile);
	const struct npumem_tile *target = npuv_tile(f->graph, npuv_access(f->graph, write)->tile);
	struct npuplan_takeover takeover = { .instant = npuplan_store_instant(step) };
	uint64_t from_offset, to_offset;

	takeover.from = npuplan_base(f->graph, source->tensor, &from_offset);
	takeover.to = npuplan_base(f->graph, target->tensor, &to_offset);
	if (!f->in_arena[takeover.from] || !f->in_arena[takeover.to] ||
	    takeover.from == takeover.to)
		return 0;
	takeover.aligned = cut_alike(&source->region, &target->region);
	if (takeover.aligned)
		takeover.shift = (int64_t)(from_offset + source->region.offset - to_offset -
					   target->region.offset);
	if (record->flags & NPUMEM_STEP_STAGED)
		return takeover.aligned ? add(f->live, &takeover) : 0;
	return take_cells(f, read, count_same(f, record, read), takeover);
}

int npuplan_takeovers_find(struct npuplan_liveness *live, const struct npuv_graph *graph,
			   const struct npuplan_live_range *ranges, const bool *in_arena)
{
	AUTO_HEAP uint32_t *readers = NULL;
	struct finder f = { live, graph, ranges, in_arena, NULL };
	int err = 0;

	if (!(graph->features & NPUMEM_FEATURE_INPLACE))
		return 0;
	f.readers = readers = npuplan_calloc((size_t)graph->cell_count + 1, sizeof(*readers));
	if (!readers)
		return -ENOMEM;
	for (uint32_t s = 0; s < graph->steps.count && !err; s++) {
		const struct npumem_step *step = npuv_step(graph, s);
		uint32_t end = step->first_access + step->access_count;

		count_readers(&f, step, 1);
		for (uint32_t a = step->first_access; a < end && !err; a++)
			if (npuv_access(graph, a)->inplace != NPUMEM_NONE)
				err = take(&f, s, a);
		count_readers(&f, step, -1);
	}
	if (live->takeover_count)
		qsort(live->takeovers, live->takeover_count, sizeof(*live->takeovers), by_pair);
	return err;
}

/* ----------------------------------------------------------------- permits */

/* The first atom of a tensor, or where it would be if the tensor has none. */
static uint32_t first_atom(const struct npuplan_liveness *live, uint32_t tensor)
{
	return npuplan_bisect(at, 0, live->atom_count, live->atoms[at].tensor < tensor);
}

/*
 * Whether bytes [first, end) may all be taken at this instant, by the takeovers @taken, which are
 * sorted.
 */
static bool covered(const struct npuplan_takeover *taken, uint32_t count, uint32_t instant,
		    uint64_t first, uint64_t end)
{
	for (uint32_t i = 0; i < count && first < end; i++)
		if (taken[i].instant == instant && taken[i].first <= first &&
		    taken[i].first + taken[i].length > first)
			first = taken[i].first + taken[i].length;
	return first >= end;
}

/*
 * Whether two atoms are in each other's way though bytes are taken over; @to counts the first one's
 * bytes, being shifted.
 */
static bool clash(const struct npuplan_atom *from, const struct npuplan_atom *to,
		  const struct npuplan_takeover *taken, uint32_t count)
{
	int64_t begin = (int64_t)to->first + taken->shift, end = begin + (int64_t)to->length;

	if (from->start > to->end || to->start > from->end)
		return false;
	if (begin < (int64_t)from->first)
		begin = (int64_t)from->first;
	if (end > (int64_t)(from->first + from->length))
		end = (int64_t)(from->first + from->length);
	if (begin >= end)
		return false;
	return from->end != to->start ||
	       !covered(taken, count, to->start, (uint64_t)begin, (uint64_t)end);
}

/* Whether the two tensors of @taken may lie at the one shift that all these takeovers have. */
static bool is_safe(const struct npuplan_liveness *live, const struct npuplan_takeover *taken,
		    uint32_t count, uint64_t *looks)
{
	for (uint32_t a = first_atom(live, taken->from);
	     a < live->atom_count && live->atoms[a].tensor == taken->from; a++) {
		for (uint32_t b = first_atom(live, taken->to);
		     b < live->atom_count && live->atoms[b].tensor == taken->to; b++) {
			*looks += 1 + count;
			if (*looks > MAX_LOOKS ||
			    clash(&live->atoms[a], &live->atoms[b], taken, count))
				return false;
		}
	}
	return true;
}

static bool same_shift(const struct npuplan_takeover *a, const struct npuplan_takeover *b)
{
	return a->from == b->from && a->to == b->to && a->shift == b->shift &&
	       a->aligned == b->aligned;
}

int npuplan_permit_in_place(struct npuplan_conflicts *conflicts,
			    const struct npuplan_liveness *live)
{
	const struct npuplan_item *items = conflicts->items;
	AUTO_POOL struct npuplan_pool pool = { 0 };
	struct npuplan_permit *permits =
		npuplan_pool_take(&pool, live->takeover_count, sizeof(*permits));
	uint32_t *item_of, tensors = 0, first = 0;
	uint64_t looks = 0;
	size_t count = 0;

	for (uint32_t i = 0; i < conflicts->item_count; i++)
		if (tensors <= items[i].tensor)
			tensors = items[i].tensor + 1;
	item_of = npuplan_pool_take(&pool, tensors, sizeof(*item_of));
	if (pool.failed)
		return -ENOMEM;
	for (uint32_t i = 0; i < conflicts->item_count; i++)
		item_of[items[i].tensor] = i;
	for (uint32_t i = 0; i < live->takeover_count; i++) {
		const struct npuplan_takeover *taken = &live->takeovers[first];

		if (i + 1 < live->takeover_count && same_shift(taken, &live->takeovers[i + 1]))
			continue;
		/* If tiles are not cut alike, the shift means nothing. */
		if (taken->aligned && is_safe(live, taken, i + 1 - first, &looks))
			permits[count++] = (struct npuplan_permit){
				item_of[taken->from],
				item_of[taken->to],
				taken->shift,
			};
		first = i + 1;
	}
	return npuplan_conflicts_permit(conflicts, permits, count);
}
