/* SPDX-License-Identifier: MIT */
/*
 * Pieces: rows and channels of a tensor that have a placement of their own, and how these become a
 * record of a plan.
 */
#pragma once

#include "graph/shape.h"

/**
 * struct npuplan_piece - rows and channels of a spatial tensor that are placed at one offset
 * @rows: the rows, counted in the tensor
 * @channels: the channels, counted in the tensor
 * @row_stride: arena bytes from row to row; 0: rows are packed one after another
 * @ring: number of rows that there is room for: row r, counted from the piece's first, lies at
 *	offset + (r mod ring) x row_stride; 0: there is room for all
 */
struct npuplan_piece {
	struct npuplan_rows rows;
	struct npuplan_rows channels;
	uint64_t row_stride;
	uint32_t ring;
};

/* npuplan_piece_set() - fill in region, stride and ring of a placement from a piece
 *
 * -EINVAL: the piece is not inside the tensor, or its row_stride is less than a row. -EOPNOTSUPP:
 * one placement cannot say it in this layout (a row stride or a ring in NCHW, or several batches);
 * a region may.
 */
int npuplan_piece_set(const struct npuplan_spatial *spatial, const struct npuplan_piece *piece,
		      struct npumem_placement *placement);

/** npuplan_piece_get() - find the piece that a placement is; false: it is none */
bool npuplan_piece_get(const struct npuplan_spatial *spatial,
		       const struct npumem_placement *placement, struct npuplan_piece *piece);
