// SPDX-License-Identifier: MIT
#include "region.h"

#include "../../chunks/chunks.h"

/* Coordinates of an element, by its number in the tensor. */
static void locate(const uint32_t shape[TFLITE_BOX_DIMS], uint64_t element,
		   uint32_t at[TFLITE_BOX_DIMS])
{
	for (int d = TFLITE_BOX_DIMS; d-- > 0; element /= shape[d])
		at[d] = (uint32_t)(element % shape[d]);
}

static bool is_inside(const struct tflite_box *box, const uint32_t at[TFLITE_BOX_DIMS])
{
	for (int d = 0; d < TFLITE_BOX_DIMS; d++)
		if (at[d] < box->origin[d] || at[d] - box->origin[d] >= box->dims[d])
			return false;
	return true;
}

/*
 * Whether a run of elements is in the box: where it leaves a row of the box it has to go on
 * at the next one's beginning, so each row that it crosses is as wide as the tensor's.
 */
static bool is_run_inside(const uint32_t shape[TFLITE_BOX_DIMS], const struct tflite_box *box,
			  uint64_t first, uint64_t count)
{
	while (count) {
		uint32_t at[TFLITE_BOX_DIMS];
		uint64_t row;

		locate(shape, first, at);
		if (!is_inside(box, at))
			return false;
		row = box->origin[TFLITE_BOX_DIMS - 1] + (uint64_t)box->dims[TFLITE_BOX_DIMS - 1] -
		      at[TFLITE_BOX_DIMS - 1];
		if (row > count)
			row = count;
		first += row;
		count -= row;
	}
	return true;
}

bool tflite_box(const uint32_t shape[TFLITE_BOX_DIMS], uint32_t elem,
		const struct npumem_region *region, struct tflite_box *box)
{
	uint64_t last = region->offset + region->length - elem, count = region->length / elem;
	uint64_t size = 1;
	uint32_t end[TFLITE_BOX_DIMS];
	struct chunks walk = chunks_of_region(region);

	if (region->offset % elem || region->length % elem || !region->length)
		return false;
	for (int d = 0; d < NPUMEM_REGION_DIMS; d++) {
		if (region->stride[d] % elem)
			return false;
		last += (region->count[d] - 1) * region->stride[d];
		count *= region->count[d];
	}
	locate(shape, region->offset / elem, box->origin);
	locate(shape, last / elem, end);
	for (int d = 0; d < TFLITE_BOX_DIMS; d++) {
		if (end[d] < box->origin[d])
			return false;
		box->dims[d] = end[d] - box->origin[d] + 1;
		size *= box->dims[d];
	}
	/* As many elements, none twice, all of them inside. */
	if (size != count)
		return false;
	while (chunks_next(&walk))
		if (!is_run_inside(shape, box, walk.byte / elem, region->length / elem))
			return false;
	return true;
}
