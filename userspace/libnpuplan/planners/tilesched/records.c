// SPDX-License-Identifier: MIT
/* Making a plan's placements of the addresses: pieces and rings become records. */
#include "tilesched.h"

/*
 * struct record_writer - writes the records of a plan
 * @open: the last record may take the next unit, if that fits
 */
struct record_writer {
	const struct tilesched_placing *placing;
	struct npuplan_plan *plan;
	bool open;
};

/*
 * Let the last record take one chunk more; false: the chunk is not at the distance of the others.
 */
static bool extend(struct record_writer *w, const struct npumem_placement *one)
{
	struct npumem_placement *last;
	struct npumem_region *region;
	uint64_t length, rows, stride, chunk = one->region.length;

	if (!w->open)
		return false;
	last = &w->plan->placements[w->plan->placement_count - 1];
	region = &last->region;
	/*
	 * Rows that are contiguous in tensor and arena were joined to one chunk, which has the
	 * length of many.
	 */
	rows = region->count[2] > 1 ? region->count[2] : region->length / chunk;
	length = region->count[2] > 1 ? region->length * rows : region->length;
	if (last->tensor != one->tensor || region->offset + length != one->region.offset ||
	    one->offset <= last->offset)
		return false;
	if (region->count[2] == 1 && one->offset == last->offset + region->length &&
	    region->length % chunk == 0) {
		region->length += chunk;
	} else if (region->length == chunk) {
		stride = region->count[2] > 1 ? last->stride[2] : one->offset - last->offset;
		if (stride < chunk || one->offset != last->offset + stride * rows)
			return false;
		region->count[2]++;
		region->stride[2] = chunk;
		last->stride[2] = stride;
	} else {
		return false;
	}
	last->from = one->from < last->from ? one->from : last->from;
	last->to = one->to > last->to ? one->to : last->to;
	return true;
}

/*
 * How many times the first @apart chunks repeat: all chunks have one length, and each is as far
 * from the one @apart before it as the others are.
 */
static uint32_t count_even(const struct npuv_segment *chunks, uint32_t count, uint32_t apart)
{
	uint32_t k = apart;

	while (k < count && chunks[k].length == chunks[0].length &&
	       chunks[k].first - chunks[k - apart].first == chunks[apart].first - chunks[0].first)
		k++;
	return k / apart;
}

void tilesched_even_chunks(const struct npuv_segment *chunks, uint32_t count, uint32_t *even,
			   uint32_t *repeats)
{
	*even = count_even(chunks, count, 1);
	*repeats = count_even(chunks, count, *even);
}

/*
 * Set one dimension of a record: repetitions that are @apart bytes apart in the tensor, and packed
 * in the arena.
 */
static void repeat(struct npumem_placement *placement, int d, uint32_t count, uint64_t apart,
		   uint64_t packed)
{
	placement->region.count[d] = count;
	placement->region.stride[d] = count > 1 ? apart : 0;
	placement->stride[d] = count > 1 ? packed : 0;
}

static int put_item(struct record_writer *w, uint32_t number)
{
	const struct tilesched_placing *placing = w->placing;
	const struct tilesched_item *item = &placing->of[number];
	const struct npuplan_item *packed = &placing->items[number];
	const struct npuv_segment whole = { 0, packed->size }, *chunks = &whole;
	const struct npuplan_liveness *live = &placing->problem->live;
	struct npuplan_plan *plan = w->plan;
	uint32_t even = 1, repeats = 1, count;
	struct npumem_placement placement = {
		.tensor = packed->tensor,
		.from = npuplan_instant_position(live, packed->start),
		.to = npuplan_instant_position(live, packed->end),
		.offset = placing->offsets[number],
		.ring = item->ring,
	};

	/* A tensor of fixed offset is placed as a whole. */
	if (!packed->fixed) {
		chunks =
			tilesched_chunks(placing->model, placing->units[item->first_unit], &count) +
			item->first_chunk;
		even = item->ring ? 1 : item->even;
		repeats = item->ring ? 1 : item->repeats;
	}
	placement.region.offset = chunks->first;
	placement.region.length = chunks->length;
	repeat(&placement, 0, even, chunks[even > 1].first - chunks->first, chunks->length);
	repeat(&placement, 1, repeats, chunks[repeats > 1 ? even : 0].first - chunks->first,
	       even * chunks->length);
	repeat(&placement, 2, item->ring ? item->unit_count : 1, chunks->length, chunks->length);
	if (even * repeats == 1 && !item->ring && extend(w, &placement))
		return 0;
	if (npuplan_append(&plan->placements, &plan->placement_count, &placement, 1))
		return -ENOMEM;
	w->open = even * repeats == 1 && !item->ring;
	return 0;
}

int tilesched_records(const struct tilesched_placing *placing, struct npuplan_plan *plan)
{
	struct record_writer w = { .placing = placing, .plan = plan };
	int err = 0;

	for (uint32_t i = 0; i < placing->item_count && !err; i++)
		err = put_item(&w, i);
	return err;
}
