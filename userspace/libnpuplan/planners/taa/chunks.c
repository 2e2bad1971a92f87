// SPDX-License-Identifier: MIT
#include "chunks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/internal.h"

struct npuplan_tile_shape npuplan_region_shape(const struct npumem_region *region)
{
	struct npuplan_tile_shape shape = { .elem = 1 };

	for (uint32_t d = NPUMEM_REGION_DIMS; d-- > 0;) {
		/* A single repetition has no stride. */
		if (region->count[d] == 1)
			continue;
		shape.size[shape.dims] = region->count[d];
		shape.stride[shape.dims++] = region->stride[d];
	}
	shape.size[shape.dims] = region->length;
	shape.stride[shape.dims++] = 1;
	return shape;
}

/* Line 3: from here on the elements lie one after another. */
static bool contiguous(const struct npuplan_tile_shape *shape, uint32_t axis)
{
	uint64_t bytes = shape->elem;

	for (uint32_t d = shape->dims; d-- > axis;) {
		if (shape->stride[d] != bytes)
			return false;
		bytes *= shape->size[d];
	}
	return true;
}

static int push(struct npuplan_chunks *chunks, uint64_t offset, uint64_t size)
{
	if (npuplan_grow(&chunks->offsets, chunks->count, sizeof(*chunks->offsets)) ||
	    npuplan_grow(&chunks->sizes, chunks->count, sizeof(*chunks->sizes)))
		return -ENOMEM;
	chunks->offsets[chunks->count] = offset;
	chunks->sizes[chunks->count++] = size;
	return 0;
}

int npuplan_render_chunks(const struct npuplan_tile_shape *shape, uint64_t offset, uint32_t axis,
			  struct npuplan_chunks *chunks)
{
	uint32_t first = chunks->count;

	if (contiguous(shape, axis))
		return push(chunks, offset, shape->size[axis] * shape->stride[axis]);
	for (uint64_t i = 0; i < shape->size[axis]; i++, offset += shape->stride[axis]) {
		uint32_t next = chunks->count;
		int err;

		if (axis == shape->dims - 1) {
			err = push(chunks, offset, shape->elem);
			if (err)
				return err;
			continue;
		}
		err = npuplan_render_chunks(shape, offset, axis + 1, chunks);
		if (err)
			return err;
		/* Line 14: what was rendered begins where the last chunk ends. */
		if (next > first && contiguous(shape, axis + 1) &&
		    chunks->offsets[next] == chunks->offsets[next - 1] + chunks->sizes[next - 1]) {
			chunks->sizes[next - 1] += chunks->sizes[next];
			chunks->count--;
		}
	}
	return 0;
}

void npuplan_chunks_fini(struct npuplan_chunks *chunks)
{
	free(chunks->offsets);
	free(chunks->sizes);
	*chunks = (struct npuplan_chunks){ 0 };
}

int64_t npuplan_memo_chunks(struct npuplan_chunk_memo *memo, const struct npuplan_tile_shape *shape)
{
	struct npuplan_chunks chunks = { 0 };
	uint32_t slot;
	int err = npuplan_table_find(&memo->table, memo->shapes, memo->count, sizeof(*shape), shape,
				     &slot);

	if (err)
		return err;
	if (memo->table.index[slot] != NPUMEM_NONE)
		return memo->table.index[slot];
	err = npuplan_render_chunks(shape, 0, 0, &chunks);
	if (!err)
		err = npuplan_grow(&memo->shapes, memo->count, sizeof(*memo->shapes));
	if (!err)
		err = npuplan_grow(&memo->chunks, memo->count, sizeof(*memo->chunks));
	if (err) {
		npuplan_chunks_fini(&chunks);
		return err;
	}
	memo->shapes[memo->count] = *shape;
	memo->chunks[memo->count] = chunks;
	memo->table.index[slot] = memo->count;
	return memo->count++;
}

void npuplan_chunk_memo_fini(struct npuplan_chunk_memo *memo)
{
	for (uint32_t i = 0; i < memo->count; i++)
		npuplan_chunks_fini(&memo->chunks[i]);
	free(memo->shapes);
	free(memo->chunks);
	npuplan_table_fini(&memo->table);
	*memo = (struct npuplan_chunk_memo){ 0 };
}

static uint64_t span(const struct npuplan_chunks *chunks)
{
	return chunks->offsets[chunks->count - 1] + chunks->sizes[chunks->count - 1];
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
		uint64_t end1 = begin1 + chunks1->sizes[i1];
		uint64_t begin2 = start2 + chunks2->offsets[i2];
		uint64_t end2 = begin2 + chunks2->sizes[i2];

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
