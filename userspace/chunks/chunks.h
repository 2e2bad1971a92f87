/* SPDX-License-Identifier: MIT */
/*
 * The chunks of a region or of a placement, one after the other. A chunk is contiguous bytes,
 * as many as the region's length; a region is chunks that repeat in three dimensions.
 *
 * Header only; used by libnpuplan, libnpuimport, npumemctl and tests.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "npumem_plan.h"

/**
 * struct chunks - a walk over chunks; dimension 0 goes round first
 * @region: whose chunks these are
 * @placement: where the region lies in the arena, or NULL: a region alone
 * @index: repetition of the chunk at hand in each dimension
 * @byte: first byte of the chunk at hand, in the tensor
 * @address: where that byte lies in the arena; 0 without a placement
 * @begun: the walk has reached its first chunk
 */
struct chunks {
	const struct npumem_region *region;
	const struct npumem_placement *placement;
	uint32_t index[NPUMEM_REGION_DIMS];
	uint64_t byte;
	uint64_t address;
	bool begun;
};

/* chunks_of_region() - a walk that stands before the region's first chunk; it keeps @region */
static inline struct chunks chunks_of_region(const struct npumem_region *region)
{
	return (struct chunks){ .region = region };
}

/* chunks_of_placement() - a walk over a placement's region, with addresses; it keeps @placement */
static inline struct chunks chunks_of_placement(const struct npumem_placement *placement)
{
	return (struct chunks){ .region = &placement->region, .placement = placement };
}

/* chunks_count() - number of chunks of a region */
static inline uint64_t chunks_count(const struct npumem_region *region)
{
	return (uint64_t)region->count[0] * region->count[1] * region->count[2];
}

/* chunks_bytes() - bytes of a region */
static inline uint64_t chunks_bytes(const struct npumem_region *region)
{
	return region->length * chunks_count(region);
}

/*
 * chunks_next() - go to the next chunk; false: there is none
 *
 * In a ring, a repetition lies where the one that came placement->ring before it lay.
 */
static inline bool chunks_next(struct chunks *chunks)
{
	const struct npumem_region *region = chunks->region;
	const struct npumem_placement *placement = chunks->placement;
	int moved = 0;

	if (!region->count[0] || !region->count[1] || !region->count[2])
		return false;
	while (chunks->begun && ++chunks->index[moved] == region->count[moved]) {
		chunks->index[moved++] = 0;
		if (moved == NPUMEM_REGION_DIMS)
			return false;
	}
	chunks->begun = true;
	chunks->byte = region->offset;
	chunks->address = placement ? placement->offset : 0;
	for (int d = 0; d < NPUMEM_REGION_DIMS; d++) {
		uint32_t slot = chunks->index[d];

		chunks->byte += slot * region->stride[d];
		if (placement && d == NPUMEM_REGION_DIMS - 1 && placement->ring)
			slot %= placement->ring;
		if (placement)
			chunks->address += slot * placement->stride[d];
	}
	return true;
}

/* chunks_hull() - bytes of the arena from a placement's first byte to its last, gaps included */
static inline uint64_t chunks_hull(const struct npumem_placement *placement)
{
	uint64_t bytes = placement->region.length;

	for (int d = 0; d < NPUMEM_REGION_DIMS; d++) {
		uint64_t count = placement->region.count[d];

		if (d == NPUMEM_REGION_DIMS - 1 && placement->ring)
			count = placement->ring;
		if (count > 1)
			bytes += placement->stride[d] * (count - 1);
	}
	return bytes;
}
