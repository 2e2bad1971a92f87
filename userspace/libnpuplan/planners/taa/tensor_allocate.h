/* SPDX-License-Identifier: MIT */
/*
 * TAA as published: algorithm 1 (TensorAllocate) of "Off-Chip Memory Allocation
 * for Neural Processing Units", IEEE Access 12, 2024.
 *
 * Lifetimes are the paper's (section II-C): a tensor lives, as a whole, from when
 * its last tile is written to when its first tile is read, often not at all; a
 * tile that is written lives until the tensor is whole, one that is read since
 * the tensor is taken apart. A byte may so live longer than it has to.
 *
 * On a collision the tensor is shifted by what CollisionSize returns, t1end -
 * t2start, as printed. To move t1 clear of t2 to the right takes t2end - t1start:
 * the printed shift goes too far if t1 is the larger, and has to be repeated if it
 * is the smaller. displacements.h needs no shifting.
 */
#pragma once

#include "chunks.h"
#include "problem/problem.h"

/*
 * struct npuplan_taa_tile - tile of a tensor
 * @offset: of its first byte in the tensor
 * @chunks: number in npuplan_taa.memo
 * @first, @last: instants it lives, inclusive
 */
struct npuplan_taa_tile {
	uint64_t offset;
	uint32_t tensor;
	uint32_t chunks;
	uint32_t first;
	uint32_t last;
};

/*
 * struct npuplan_taa_tensor - tensor to allocate
 * @first, @last: instants it lives as a whole; @first > @last if it never does
 * @first_tile, @tile_count: in npuplan_taa.tiles
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
 * struct npuplan_taa - tensors in tiles
 * @tiles: by tensor. A tensor that lives as a whole has a tile that says so
 */
struct npuplan_taa {
	struct npuplan_taa_tensor *tensors;
	struct npuplan_taa_tile *tiles;
	struct npuplan_chunk_memo memo;
	uint32_t tensor_count;
	uint32_t tile_count;
};

/* npuplan_taa_init() - tiles of the problem's items; tensor i is item i (tiles.c)
 *
 * Steps run in the order of the graph. npuplan_taa_fini() in any case. -ENOMEM.
 */
int npuplan_taa_init(struct npuplan_taa *taa, const struct npuplan_problem *problem);
void npuplan_taa_fini(struct npuplan_taa *taa);

/* npuplan_taa_allocate() - algorithm 1 for one tensor after another
 * @order: the tensors' numbers; the first @placed are placed already
 * @placed: entries of @order whose offsets are given
 * @offsets: per tensor
 * @work: steps are added; stops at @limit
 * @until: may be NULL
 *
 * -E2BIG: the limit is reached. -EINTR: given up. -EADDRINUSE: those placed already
 * collide. -ENOMEM.
 */
int npuplan_taa_allocate(const struct npuplan_taa *taa, const uint32_t *order, uint32_t placed,
			 uint64_t *offsets, uint64_t *work, uint64_t limit,
			 const struct npuplan_until *until);
