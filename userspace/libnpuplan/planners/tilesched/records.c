// SPDX-License-Identifier: MIT
/* Placements of a plan from addresses: pieces and rings as records have them. */
#include <stdlib.h>
#include <string.h>

#include "tilesched.h"

/*
 * struct writer - the records in the making
 * @open: the last one goes on with the next unit, if that fits
 */
struct writer {
	const struct tilesched_placing *placing;
	const struct tilesched_model *model;
	struct npuplan_plan *plan;
	bool open;
};

static const struct npuv_segment *segments_of(const struct writer *w, uint32_t unit,
					      uint32_t *count)
{
	const struct npuv_cell *cell = &w->model->cells->cells[w->model->units[unit].cell];

	*count = cell->segment_count;
	return &w->model->cells->segments[cell->first_segment];
}

static uint32_t position(const struct writer *w, uint32_t instant)
{
	uint32_t count = w->model->step_count, at = instant ? (instant - 1) / 2 : 0;

	return at >= count ? count - 1 : at;
}

static struct npumem_placement *add(struct writer *w, uint32_t tensor,
				    const struct npuplan_live_range *range)
{
	struct npuplan_plan *plan = w->plan;
	struct npumem_placement *placement;

	w->open = false;
	if (npuplan_grow(&plan->placements, plan->placement_count, sizeof(*plan->placements)))
		return NULL;
	placement = &plan->placements[plan->placement_count++];
	*placement = (struct npumem_placement){
		.tensor = tensor,
		.from = position(w, range->start),
		.to = position(w, range->end),
		.region = { .count = { 1, 1, 1 } },
	};
	return placement;
}

/* ------------------------------------------------------------- units of one chunk */

/* Let the last record take one chunk more; false if that is not as far off as the others. */
static bool extend(struct writer *w, uint32_t tensor, const struct npuv_segment *chunk,
		   uint64_t offset, const struct npuplan_live_range *range)
{
	struct npumem_placement *last;
	struct npumem_region *region;
	uint64_t length, rows, stride;

	if (!w->open)
		return false;
	last = &w->plan->placements[w->plan->placement_count - 1];
	region = &last->region;
	/* Rows one after another in both are one chunk: its length is of many. */
	rows = region->count[2] > 1 ? region->count[2] : region->length / chunk->length;
	length = region->count[2] > 1 ? region->length * rows : region->length;
	if (last->tensor != tensor || region->offset + length != chunk->first ||
	    offset <= last->offset)
		return false;
	if (region->count[2] == 1 && offset == last->offset + region->length &&
	    region->length % chunk->length == 0) {
		region->length += chunk->length;
	} else if (region->length == chunk->length) {
		stride = region->count[2] > 1 ? last->stride[2] : offset - last->offset;
		if (stride < chunk->length || offset != last->offset + stride * rows)
			return false;
		region->count[2]++;
		region->stride[2] = chunk->length;
		last->stride[2] = stride;
	} else {
		return false;
	}
	if (position(w, range->start) < last->from)
		last->from = position(w, range->start);
	if (position(w, range->end) > last->to)
		last->to = position(w, range->end);
	return true;
}

static int put_chunk(struct writer *w, uint32_t tensor, const struct npuv_segment *chunk,
		     uint64_t offset, const struct npuplan_live_range *range)
{
	struct npumem_placement *placement;

	if (extend(w, tensor, chunk, offset, range))
		return 0;
	placement = add(w, tensor, range);
	if (!placement)
		return -ENOMEM;
	placement->offset = offset;
	placement->region.offset = chunk->first;
	placement->region.length = chunk->length;
	w->open = true;
	return 0;
}

/* ------------------------------------------------------------- units of many chunks */

/* How many chunks from the first on are of equal length and equally far apart. */
static uint32_t even_run(const struct npuv_segment *chunks, uint32_t count)
{
	uint32_t run = 1;

	while (run < count && chunks[run].length == chunks[0].length &&
	       chunks[run].first - chunks[run - 1].first == chunks[1].first - chunks[0].first)
		run++;
	return run;
}

/* How many such runs follow each other, each as the first, equally far apart. */
static uint32_t even_runs(const struct npuv_segment *chunks, uint32_t count, uint32_t run)
{
	uint32_t runs = 1;

	while ((runs + 1) * (uint64_t)run <= count) {
		const struct npuv_segment *next = chunks + runs * run;

		if (next->length != chunks->length || even_run(next, run) != run ||
		    (run > 1 && next[1].first - next->first != chunks[1].first - chunks->first) ||
		    next->first - next[-(int64_t)run].first != chunks[run].first - chunks->first)
			break;
		runs++;
	}
	return runs;
}

void tilesched_even_chunks(const struct npuv_segment *chunks, uint32_t count, uint32_t *run,
			   uint32_t *runs)
{
	*run = even_run(chunks, count);
	*runs = even_runs(chunks, count, *run);
}

/* Chunks packed one after another. */
static int put_chunks(struct writer *w, uint32_t tensor, const struct npuv_segment *chunks,
		      const struct tilesched_item *item, uint64_t offset,
		      const struct npuplan_live_range *range)
{
	struct npumem_placement *placement = add(w, tensor, range);

	if (!placement)
		return -ENOMEM;
	placement->offset = offset;
	placement->region.offset = chunks->first;
	placement->region.length = chunks->length;
	placement->region.count[0] = item->run;
	placement->region.count[1] = item->runs;
	if (item->run > 1) {
		placement->region.stride[0] = chunks[1].first - chunks->first;
		placement->stride[0] = chunks->length;
	}
	if (item->runs > 1) {
		placement->region.stride[1] = chunks[item->run].first - chunks->first;
		placement->stride[1] = item->run * chunks->length;
	}
	return 0;
}

/* ---------------------------------------------------------------------------- items */

static int put_ring(struct writer *w, uint32_t tensor, const struct tilesched_item *item,
		    const struct npuplan_live_range *range, uint64_t offset)
{
	struct npumem_placement *placement = add(w, tensor, range);
	const struct npuv_segment *chunk;
	uint32_t count;

	if (!placement)
		return -ENOMEM;
	chunk = segments_of(w, w->placing->units[item->first_unit], &count);
	placement->offset = offset;
	placement->region.offset = chunk->first;
	placement->region.length = chunk->length;
	placement->region.count[2] = item->unit_count;
	placement->region.stride[2] = chunk->length;
	placement->stride[2] = chunk->length;
	placement->ring = item->ring;
	return 0;
}

static int put_item(struct writer *w, uint32_t number)
{
	const struct tilesched_placing *placing = w->placing;
	const struct tilesched_item *item = &placing->of[number];
	const struct npuplan_item *packed = &placing->items[number];
	struct npuplan_live_range range = { packed->start, packed->end };
	uint64_t offset = placing->offsets[number];
	const struct npuv_segment *chunks;
	uint32_t count;

	if (item->ring)
		return put_ring(w, packed->tensor, item, &range, offset);
	if (packed->fixed) {
		struct npuv_segment whole = { 0, packed->size };
		int err = put_chunk(w, packed->tensor, &whole, offset, &range);

		w->open = false;
		return err;
	}
	chunks = segments_of(w, placing->units[item->first_unit], &count);
	chunks += item->first_chunk;
	if (item->run * item->runs == 1)
		return put_chunk(w, packed->tensor, chunks, offset, &range);
	return put_chunks(w, packed->tensor, chunks, item, offset, &range);
}

int tilesched_records(const struct tilesched_placing *placing, struct npuplan_plan *plan)
{
	struct writer w = { .placing = placing, .model = placing->schedule->model, .plan = plan };
	int err = 0;

	for (uint32_t i = 0; i < placing->item_count && !err; i++)
		err = put_item(&w, i);
	return err;
}
