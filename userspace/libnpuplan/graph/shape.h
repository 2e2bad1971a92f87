/* SPDX-License-Identifier: MIT */
/* Spatial tensors: rows and channels of a shape, and the bytes they are. */
#pragma once

#include "base/internal.h"
#include "base/region.h"
#include "window.h"

/**
 * struct npuplan_spatial - tensor seen as batch x rows x row x channels
 *
 * Of a tensor of rank 4 (N,C,H,W or N,H,W,C) rows are H; of rank 5 (N,C,D,H,W
 * or N,D,H,W,C) they are D. A row is what one row of one channel holds.
 *
 * @batch: N
 * @rows: H, or D
 * @row: elements of a row in one channel: W, or H x W
 * @channels: C
 * @elem: bytes of an element
 * @layout: order of the bytes
 */
struct npuplan_spatial {
	int64_t batch;
	int64_t rows;
	int64_t row;
	int64_t channels;
	int64_t elem;
	enum npuplan_layout layout;
};

/* The channels of a block in the layout NC/32HWC32. */
#define NPUPLAN_CHANNEL_BLOCK 32

/* npuplan_spatial() - see a tensor as rows and channels; false if it has no rows that could be cut
 *
 * It has none if its rank is neither 4 nor 5, if shape or element size are not known, or if its
 * bytes are not those of its shape.
 */
bool npuplan_spatial(const struct npuplan_graph *graph, uint32_t tensor,
		     struct npuplan_spatial *spatial);

/* npuplan_view() - npuplan_spatial() that also takes tensors of rank 1 to 3, as matrices
 *
 * Their rows are all dimensions but the last, row-major whatever the layout is;
 * their channels are the last one.
 */
bool npuplan_view(const struct npuplan_graph *graph, uint32_t tensor, struct npuplan_spatial *view);

/** npuplan_spatial_bytes() - bytes of such a tensor, with its channels padded as its layout asks */
uint64_t npuplan_spatial_bytes(const struct npuplan_spatial *spatial);

/**
 * struct npuplan_part - a range of rows and one of channels of a tensor, in all its batches
 * @rows: the rows, counted in the tensor
 * @channels: the channels, counted in the tensor
 * @columns: elements of each row, counted in it; none: all of them
 */
struct npuplan_part {
	struct npuplan_rows rows;
	struct npuplan_rows channels;
	struct npuplan_rows columns;
};

/* npuplan_granule() - the number of channels that a part may not be cut within
 *
 * A part begins at a multiple of this number, and ends at one or at the last channel.
 */
int64_t npuplan_granule(const struct npuplan_spatial *spatial);

/** npuplan_part_region() - the region of a part, whose channels are as npuplan_granule() asks */
struct npumem_region npuplan_part_region(const struct npuplan_spatial *spatial,
					 const struct npuplan_part *part);

/** npuplan_region_part() - the part that a region is, of whole rows; false if it is none */
bool npuplan_region_part(const struct npuplan_spatial *spatial, const struct npumem_region *region,
			 struct npuplan_part *part);

/*
 * The index, in a tensor's shape, of the dimension that is rows, and of the one that is channels.
 */
uint32_t npuplan_row_axis(const struct npuplan_graph *graph);
uint32_t npuplan_channel_axis(const struct npuplan_graph *graph, uint32_t dim_count);
