// SPDX-License-Identifier: MIT
#include "piece.h"

#include <string.h>

static bool within(struct npuplan_rows range, int64_t limit)
{
	return range.first >= 0 && range.count >= 1 && range.first < limit &&
	       range.count <= limit - range.first;
}

static void repeat(struct npumem_placement *placement, uint32_t dim, uint64_t count,
		   uint64_t tensor_stride, uint64_t arena_stride)
{
	if (count < 2)
		return;
	placement->region.count[dim] = count;
	placement->region.stride[dim] = tensor_stride;
	placement->stride[dim] = arena_stride;
}

int npuplan_piece_set(const struct npuplan_spatial *s, const struct npuplan_piece *piece,
		      struct npumem_placement *placement)
{
	uint64_t elem = s->elem, channels = piece->channels.count, rows = piece->rows.count;
	uint64_t packed = s->row * channels * elem;
	bool apart = piece->row_stride || piece->ring;
	uint64_t stride = piece->row_stride ? piece->row_stride : packed;

	if (!within(piece->rows, s->rows) || !within(piece->channels, s->channels) ||
	    stride < packed)
		return -EINVAL;
	if (s->batch != 1 || (s->layout != NPUPLAN_NHWC && (s->layout != NPUPLAN_NCHW || apart)))
		return -EOPNOTSUPP;

	placement->region = (struct npumem_region){ .count = { 1, 1, 1 } };
	memset(placement->stride, 0, sizeof(placement->stride));
	placement->ring = piece->ring;
	if (s->layout == NPUPLAN_NCHW) {
		placement->region.offset =
			(piece->channels.first * s->rows + piece->rows.first) * s->row * elem;
		placement->region.length = rows * s->row * elem;
		repeat(placement, 0, channels, s->rows * s->row * elem, rows * s->row * elem);
		return 0;
	}
	placement->region.offset =
		(piece->rows.first * s->row * s->channels + piece->channels.first) * elem;
	if (channels == (uint64_t)s->channels) {
		placement->region.length = apart ? packed : rows * packed;
	} else {
		placement->region.length = channels * elem;
		repeat(placement, 0, s->row, s->channels * elem, channels * elem);
		apart = true;
	}
	if (apart)
		repeat(placement, 2, rows, s->row * s->channels * elem, stride);
	return 0;
}

bool npuplan_piece_get(const struct npuplan_spatial *s, const struct npumem_placement *placement,
		       struct npuplan_piece *piece)
{
	const struct npumem_region *region = &placement->region;
	uint64_t row = s->row * s->elem, plane = s->rows * row, pixel = s->channels * s->elem;
	struct npumem_placement again = *placement;

	*piece = (struct npuplan_piece){ .ring = placement->ring };
	if (s->layout == NPUPLAN_NCHW) {
		piece->channels = (struct npuplan_rows){ region->offset / plane, region->count[0] };
		piece->rows =
			(struct npuplan_rows){ region->offset % plane / row, region->length / row };
	} else {
		row *= s->channels;
		piece->rows.first = region->offset / row;
		piece->channels.first = region->offset % row / s->elem;
		if (region->length < row && region->count[0] > 1) {
			piece->channels.count = region->length / s->elem;
			piece->rows.count = region->count[2];
		} else {
			piece->channels.count = s->channels;
			piece->rows.count = region->count[2] > 1 ? region->count[2] :
								   region->length / row;
		}
		if (region->count[2] > 1 &&
		    (placement->ring || region->count[0] == 1 ||
		     placement->stride[2] != (uint64_t)s->row * piece->channels.count * s->elem))
			piece->row_stride = placement->stride[2];
		if (s->row == 1 && region->length < pixel) {
			piece->channels.count = region->length / s->elem;
			piece->rows.count = region->count[2];
		}
	}
	/* The piece that was guessed is right if its placement is the given one. */
	return !npuplan_piece_set(s, piece, &again) && !memcmp(&again, placement, sizeof(again));
}
