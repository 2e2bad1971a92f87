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

/* Channels of a block of NC/32HWC32. */
#define NPUPLAN_CHANNEL_BLOCK 32

/* npuplan_spatial() - false if the tensor has no rows that could be cut
 *
 * That is: rank other than 4 and 5, shape or element size unknown, or the shape
 * does not account for the tensor's bytes.
 */
bool npuplan_spatial(const struct npuplan_graph *graph, uint32_t tensor,
		     struct npuplan_spatial *spatial);

/* npuplan_view() - the same, and tensors of rank 1 to 3 as matrices
 *
 * Their rows are all dimensions but the last, row-major whatever the layout is;
 * their channels are the last one.
 */
bool npuplan_view(const struct npuplan_graph *graph, uint32_t tensor, struct npuplan_spatial *view);

/** npuplan_spatial_bytes() - size of such a tensor, channels padded as its layout has it */
uint64_t npuplan_spatial_bytes(const struct npuplan_spatial *spatial);

/**
 * struct npuplan_part - rows x channels of a tensor, all batches
 * @rows: of the tensor
 * @channels: of the tensor
 */
struct npuplan_part {
	struct npuplan_rows rows;
	struct npuplan_rows channels;
};

/* npuplan_granule() - channels of which a part has to have whole ones
 *
 * Parts begin at a multiple of so many channels and end at one, or at the last channel.
 */
int64_t npuplan_granule(const struct npuplan_spatial *spatial);

/** npuplan_part_region() - bytes of a part; its channels as npuplan_granule() asks */
struct npumem_region npuplan_part_region(const struct npuplan_spatial *spatial,
					 const struct npuplan_part *part);

/** npuplan_region_part() - the part that a region is; false if it is none */
bool npuplan_region_part(const struct npuplan_spatial *spatial, const struct npumem_region *region,
			 struct npuplan_part *part);

/* Index in the shape of the row and of the channel dimension. */
uint32_t npuplan_row_axis(const struct npuplan_graph *graph);
uint32_t npuplan_channel_axis(const struct npuplan_graph *graph, uint32_t dim_count);
