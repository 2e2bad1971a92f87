// SPDX-License-Identifier: MIT
#include "chunks.h"

#include <stdlib.h>

#include "base/internal.h"

int npuplan_render_chunks(const struct npumem_region *region, struct npuplan_chunks *chunks)
{
	uint64_t size = region->length;
	uint32_t axis = 0, count = 1;

	/* Line 3 of the algorithm: repetitions that lie one after another are one chunk. */
	for (; axis < NPUMEM_REGION_DIMS &&
	       (region->count[axis] == 1 || region->stride[axis] == size);
	     axis++)
		size *= region->count[axis];
	for (uint32_t d = axis; d < NPUMEM_REGION_DIMS; d++)
		count *= region->count[d];
	*chunks = (struct npuplan_chunks){ malloc(count * sizeof(uint64_t)), size, 1 };
	if (!chunks->offsets)
		return -ENOMEM;
	chunks->offsets[0] = 0;
	for (; axis < NPUMEM_REGION_DIMS; axis++) {
		uint32_t inner = chunks->count;

		for (; chunks->count < inner * region->count[axis]; chunks->count++)
			chunks->offsets[chunks->count] =
				chunks->offsets[chunks->count - inner] + region->stride[axis];
	}
	return 0;
}

/*
 * The shape of a region: the same region from byte 0 on, without dimensions of one repetition.
 * Regions of one shape have the same chunks.
 */
static struct npumem_region shape_of(const struct npumem_region *region)
{
	struct npumem_region shape = { .length = region->length, .count = { 1, 1, 1 } };
	uint32_t dims = 0;

	for (uint32_t d = 0; d < NPUMEM_REGION_DIMS; d++) {
		if (region->count[d] == 1)
			continue;
		shape.count[dims] = region->count[d];
		shape.stride[dims++] = region->stride[d];
	}
	return shape;
}

int64_t npuplan_memo_chunks(struct npuplan_chunk_memo *memo, const struct npumem_region *region)
{
	const struct npumem_region shape = shape_of(region);
	int64_t found =
		npuplan_table_enter(&memo->table, memo->shapes, memo->count, sizeof(shape), &shape);
	int err;

	if (found != memo->count)
		return found;
	err = npuplan_grow(&memo->shapes, memo->count, sizeof(*memo->shapes));
	if (!err)
		err = npuplan_grow(&memo->chunks, memo->count, sizeof(*memo->chunks));
	if (!err)
		err = npuplan_render_chunks(&shape, &memo->chunks[memo->count]);
	if (err)
		return err;
	memo->shapes[memo->count] = shape;
	return memo->count++;
}

void npuplan_chunk_memo_fini(struct npuplan_chunk_memo *memo)
{
	for (uint32_t i = 0; i < memo->count; i++)
		free(memo->chunks[i].offsets);
	free(memo->shapes);
	free(memo->chunks);
	npuplan_table_fini(&memo->table);
	*memo = (struct npuplan_chunk_memo){ 0 };
}

static uint64_t span(const struct npuplan_chunks *chunks)
{
	return chunks->offsets[chunks->count - 1] + chunks->size;
}

uint64_t npuplan_collision_size(const struct npuplan_chunks *chunks1, uint64_t start1,
				const struct npuplan_chunks *chunks2, uint64_t start2,
				uint64_t *work)
{
	uint32_t i1 = 0, i2 = 0;

	*work += 1;
	if (start1 + span(chunks1) <= start2 || start2 + span(chunks2) <= start1)
		return 0;
	while (i1 < chunks1->count && i2 < chunks2->count) {
		uint64_t begin1 = start1 + chunks1->offsets[i1];
		uint64_t end1 = begin1 + chunks1->size;
		uint64_t begin2 = start2 + chunks2->offsets[i2];
		uint64_t end2 = begin2 + chunks2->size;

		*work += 1;
		if (end1 <= begin2)
			i1++;
		else if (end2 <= begin1)
			i2++;
		else
			return end1 - begin2;
	}
	return 0;
}
