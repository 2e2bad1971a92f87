/* SPDX-License-Identifier: MIT */
/*
 * TAA as published: algorithm 1 (TensorAllocate) of "Off-Chip Memory Allocation
 * for Neural Processing Units", IEEE Access 12, 2024.
 *
 * Lifetimes are those of the paper (section II-C). A tensor lives as a whole from when its last
 * tile is written to when its first tile is read, which may be never. A tile that is written lives
 * until the tensor is whole, and a tile that is read lives from when the tensor is no longer whole.
 * So a byte may live longer than it has to.
 *
 * On a collision the tensor is shifted by what CollisionSize returns, t1end - t2start, as printed.
 * Moving t1 to the right of t2 would take t2end - t1start: the printed shift goes too far if t1 is
 * the larger one, and has to be repeated if it is the smaller one. The exact form (displacements.h)
 * needs no shifting.
 */
#pragma once

#include "chunks.h"
#include "problem/problem.h"

/*
 * struct npuplan_taa_tile - a tile of a tensor, with one lifetime
 * @offset: offset of its first byte in the tensor
 * @chunks: number of its chunks in npuplan_taa.memo
 * @first, @last: first and last instant at which it lives
 */
struct npuplan_taa_tile {
	uint64_t offset;
	uint32_t tensor;
	uint32_t chunks;
	uint32_t first;
	uint32_t last;
};

/*
 * struct npuplan_taa_tensor - a tensor to allocate
 * @first, @last: first and last instant at which it lives as a whole; @first > @last if it never
 *	does
 * @first_tile, @tile_count: its tiles, in npuplan_taa.tiles
 */
struct npuplan_taa_tensor {
	uint64_t size;
	uint32_t align;
	uint32_t first;
	uint32_t last;
	uint32_t first_tile;
	uint32_t tile_count;
};

/*
 * struct npuplan_taa - the tensors of a problem, in tiles
 * @tiles: tiles by tensor; a tensor that lives as a whole also has one tile of all its bytes
 */
struct npuplan_taa {
	struct npuplan_taa_tensor *tensors;
	struct npuplan_taa_tile *tiles;
	struct npuplan_chunk_memo memo;
	uint32_t tensor_count;
	uint32_t tile_count;
};

/* npuplan_taa_init() - make the tiles of a problem's items; tensor i is item i (tiles.c)
 *
 * Steps run in the order of the graph. The caller calls npuplan_taa_fini() in any case. -ENOMEM.
 */
int npuplan_taa_init(struct npuplan_taa *taa, const struct npuplan_problem *problem);
void npuplan_taa_fini(struct npuplan_taa *taa);

/* npuplan_taa_allocate() - allocate one tensor after another by algorithm 1
 * @order: numbers of all tensors; the first @placed are placed already
 * @placed: number of entries of @order whose offsets are given
 * @offsets: per tensor, its address
 * @work: steps are added; the algorithm ends at @limit
 * @until: may be NULL
 *
 * -E2BIG: @limit is reached. -EINTR: @until said to give up. -EADDRINUSE: tensors that were placed
 * already collide. -ENOMEM.
 */
int npuplan_taa_allocate(const struct npuplan_taa *taa, const uint32_t *order, uint32_t placed,
			 uint64_t *offsets, uint64_t *work, uint64_t limit,
			 const struct npuplan_until *until);
