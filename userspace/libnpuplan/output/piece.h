/* SPDX-License-Identifier: MIT */
/* Pieces of tensors placed apart: rows and channels, and the records they are. */
#pragma once

#include "graph/shape.h"

/**
 * struct npuplan_piece - rows x channels of a spatial tensor, placed at one offset
 * @rows: of the tensor
 * @channels: of the tensor
 * @row_stride: arena bytes from row to row; 0 for rows packed one after another
 * @ring: rows that there is room for: row r lies at offset + (r mod ring) x
 *	row_stride, r counted from the piece's first; 0 for all
 */
struct npuplan_piece {
	struct npuplan_rows rows;
	struct npuplan_rows channels;
	uint64_t row_stride;
	uint32_t ring;
};

/* npuplan_piece_set() - region, stride and ring of a placement from a piece
 *
 * -EINVAL: not inside the tensor, or row_stride smaller than a row;
 * -EOPNOTSUPP: not one placement in this layout (a row stride or ring in NCHW,
 * several batches): say it as a region.
 */
int npuplan_piece_set(const struct npuplan_spatial *spatial, const struct npuplan_piece *piece,
		      struct npumem_placement *placement);

/** npuplan_piece_get() - the inverse; false if the placement is not such a piece */
bool npuplan_piece_get(const struct npuplan_spatial *spatial,
		       const struct npumem_placement *placement, struct npuplan_piece *piece);
