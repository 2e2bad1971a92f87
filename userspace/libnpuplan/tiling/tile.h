/* SPDX-License-Identifier: MIT */
/* Tiles of an operator, the whole of them; what the tiler and its parts share. */
#pragma once

#include "inputs.h"

/*
 * struct npuplan_grid - outputs of an operator cut into tiles
 * @rows, @channels: of a tile; the last ones have what is left
 * @bands: so many bands of rows, nearly equal, instead; 0 for none
 * @order: enum npuplan_tile_order
 */
struct npuplan_grid {
	struct npuplan_spatial output;
	int64_t rows;
	int64_t channels;
	int64_t row_tiles;
	int64_t channel_tiles;
	uint32_t bands;
	uint32_t order;
};

/* @choice may say more rows or channels than there are: all of them. */
void npuplan_grid_init(struct npuplan_grid *grid, const struct npuplan_cut *cut,
		       const struct npuplan_tile_choice *choice);

/* Up to so many bands of rows instead of tiles of as many rows. */
void npuplan_grid_bands(struct npuplan_grid *grid, uint32_t bands);

static inline uint64_t npuplan_grid_tiles(const struct npuplan_grid *grid)
{
	return grid->bands ? grid->bands : (uint64_t)grid->row_tiles * grid->channel_tiles;
}

/* The @index-th tile in the order of the steps. */
struct npuplan_part npuplan_grid_tile(const struct npuplan_grid *grid, uint64_t index);

/** npuplan_tile_output() - region of an output; one without rows of its own is whole */
struct npumem_region npuplan_tile_output(const struct npuplan_cut *cut, uint32_t tensor,
					 const struct npuplan_part *tile);

/* npuplan_choose_tiles() - have tiling->ops say how each operator is cut
 *
 * Of a tiling with on-chip memory; what @ops says already is checked and kept.
 * -ENOSPC: something does not fit.
 */
int npuplan_choose_tiles(const struct npuplan_graph *graph, struct npuplan_tiling *tiling,
			 struct npuplan_error *error);

/* tiling/whole.c: one step an operator, not staged. */
int npuplan_tile_whole(struct npuplan_graph *graph, bool with_parameters,
		       struct npuplan_error *error);
