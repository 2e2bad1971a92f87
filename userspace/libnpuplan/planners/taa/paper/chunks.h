/* SPDX-License-Identifier: MIT */
/*
 * The contiguous chunks of tiles, and how far two tiles collide: algorithms 3 (RenderChunks) and 2
 * (CollisionSize) of TAA, "Off-Chip Memory Allocation for Neural Processing Units", IEEE Access 12,
 * 2024.
 */
#pragma once

#include "base/table.h"
#include "npumem_graph.h"

/*
 * struct npuplan_chunks - the contiguous parts of a tile, ascending
 * @offsets: bytes from the tile's first byte to each chunk; @count of them
 * @size: bytes of each chunk
 */
struct npuplan_chunks {
	uint64_t *offsets;
	uint64_t size;
	uint32_t count;
};

/* npuplan_render_chunks() - list the chunks of a region: RenderChunks(shape, offset, axis) of
 * section III-C1
 * @chunks: out: the chunks; the caller frees its @offsets by free()
 *
 * -ENOMEM.
 */
int npuplan_render_chunks(const struct npumem_region *region, struct npuplan_chunks *chunks);

/*
 * struct npuplan_chunk_memo - a memo: it keeps the chunks of each shape that was seen, so that they
 * are computed once
 * @shapes, @chunks: the shapes, and the chunks of each; @count of them
 * @table: finds a shape in @shapes
 */
struct npuplan_chunk_memo {
	struct npumem_region *shapes;
	struct npuplan_chunks *chunks;
	struct npuplan_table table;
	uint32_t count;
};

/** npuplan_memo_chunks() - number, in @memo, of the chunks of a region's shape, or -ENOMEM */
int64_t npuplan_memo_chunks(struct npuplan_chunk_memo *memo, const struct npumem_region *region);
void npuplan_chunk_memo_fini(struct npuplan_chunk_memo *memo);

/*
 * npuplan_collision_size() - how far two tiles collide: CollisionSize(t1, t2, t1base, t2base) of
 * section III-C2
 * @start1, @start2: address of each tile's first byte, which is off(t) + base in the paper
 * @work: steps are added
 *
 * The result is 0 if they share no byte, or else t1end - t2start of the first chunks that do.
 */
uint64_t npuplan_collision_size(const struct npuplan_chunks *chunks1, uint64_t start1,
				const struct npuplan_chunks *chunks2, uint64_t start2,
				uint64_t *work);
