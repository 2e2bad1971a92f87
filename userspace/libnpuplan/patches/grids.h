/* SPDX-License-Identifier: MIT */
/* What each range of operators can have in patches: how many bytes live, and what runs again. */
#pragma once

#include "tiling/lives.h"
#include "tiling/patch_range.h"

/* No range is longer. */
#define NPUPLAN_PATCH_LENGTH 80

/*
 * struct npuplan_patch_grid - patches of one size of a range
 * @bytes: that live while the range runs
 * @again: operations that are computed again
 * @patches: number of them: each is a step of each operator
 * @rows, @columns: of a patch; 0: all
 */
struct npuplan_patch_grid {
	uint64_t bytes;
	uint64_t again;
	uint32_t patches;
	uint32_t rows;
	uint32_t columns;
};

/*
 * struct npuplan_patch_grids - what a range can have
 * @known: it was looked at
 * @all: those that no other one is as good as in bytes, operations and number of patches, from the
 *	fewest bytes on
 */
struct npuplan_patch_grids {
	bool known;
	uint32_t count;
	struct npuplan_patch_grid *all;
};

/*
 * struct npuplan_patch_grid_table - the grids of all ranges of a graph, looked at when asked for
 * @tiling: how all else is cut
 * @most_again: grids of which more runs again are none
 * @most_bytes: nor are those with as many bytes
 * @length: of the longest range that is looked at; from 2 on
 * @work: operators of ranges that may still be looked at
 * @ranges: per operator, if it was asked for, ranges that begin at it, by length less 1
 */
struct npuplan_patch_grid_table {
	const struct npuplan_graph *graph;
	const struct npuplan_tiling *tiling;
	const struct npuplan_lives *lives;
	const struct npuplan_tensor_uses *uses;
	uint64_t most_again;
	uint64_t most_bytes;
	uint32_t length;
	uint64_t work;
	struct npuplan_patch_grids **ranges;
	struct npuplan_pool *pool;
};

/* npuplan_patch_grids_of() - what operators @first to @last, @table->length at most, can have
 * @below: grids that have as many bytes are of no use
 * @grids: out: none if no work is left, or if all have too many bytes or cannot be
 *
 * -ENOMEM
 */
int npuplan_patch_grids_of(struct npuplan_patch_grid_table *table, uint32_t first, uint32_t last,
			   uint64_t below, const struct npuplan_patch_grids **grids);
