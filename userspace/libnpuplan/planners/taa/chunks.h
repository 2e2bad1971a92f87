/* SPDX-License-Identifier: MIT */
/*
 * Contiguous chunks of tiles, and where two tiles collide: algorithms 3
 * (RenderChunks) and 2 (CollisionSize) of TAA, "Off-Chip Memory Allocation for
 * Neural Processing Units", IEEE Access 12, 2024.
 */
#pragma once

#include "base/table.h"
#include "npumem_graph.h"

/*
 * struct npuplan_chunks - contiguous parts of a tile, ascending
 * @offsets: bytes, from the tile's first byte; @count of them
 * @size: bytes of each
 */
struct npuplan_chunks {
	uint64_t *offsets;
	uint64_t size;
	uint32_t count;
};

/* npuplan_render_chunks() - RenderChunks(shape, offset, axis), section III-C1
 * @chunks: out: free() its @offsets
 *
 * -ENOMEM.
 */
int npuplan_render_chunks(const struct npumem_region *region, struct npuplan_chunks *chunks);

/*
 * struct npuplan_chunk_memo - chunks of the shapes seen so far
 * @shapes, @chunks: @count of each
 * @table: of @shapes
 */
struct npuplan_chunk_memo {
	struct npumem_region *shapes;
	struct npuplan_chunks *chunks;
	struct npuplan_table table;
	uint32_t count;
};

/** npuplan_memo_chunks() - number in @memo of the chunks of a region, or -ENOMEM */
int64_t npuplan_memo_chunks(struct npuplan_chunk_memo *memo, const struct npumem_region *region);
void npuplan_chunk_memo_fini(struct npuplan_chunk_memo *memo);

/*
 * npuplan_collision_size() - CollisionSize(t1, t2, t1base, t2base), section III-C2
 * @start1, @start2: address of each tile's first byte: off(t) + base
 * @work: steps are added
 *
 * 0 if they share no byte; else t1end - t2start of the first chunks that do.
 */
uint64_t npuplan_collision_size(const struct npuplan_chunks *chunks1, uint64_t start1,
				const struct npuplan_chunks *chunks2, uint64_t start2,
				uint64_t *work);
