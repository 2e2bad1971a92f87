/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Graphs: what is asked of one that is checked, and the parts that check it.
 */
#ifndef NPUMEM_VERIFY_GRAPH_H
#define NPUMEM_VERIFY_GRAPH_H

#include "../base/base.h"

static inline bool npuv_is_flat(const struct npuv_graph *g)
{
	return !(g->features & NPUMEM_FEATURE_BLOCKS);
}

/* flow.c */

/* Carries, and that every block is on a way from block 0 to the exit. */
int npuv_flow_check(struct npuv_work *w, struct npuv_graph *g);

/* region.c */

/* NULL, or what is wrong with a region of a tensor of size bytes. */
const char *npuv_region_check(const struct npumem_region *region, u64 size);
u64 npuv_region_bytes(const struct npumem_region *region);
/* The region that is a range of bytes. */
void npuv_region_range(struct npumem_region *region, u64 first, u64 length);
/* The bytes of an access, as those of its tensor's base, which is returned. */
u32 npuv_access_region(const struct npuv_graph *g, u32 access, struct npumem_region *region);
/* That base. */
static inline u32 npuv_access_base(const struct npuv_graph *g, u32 access)
{
	u32 tensor = npuv_tile(g, npuv_access(g, access)->tile)->tensor;
	const struct npumem_tensor *t = npuv_tensor(g, tensor);

	return t->flags & NPUMEM_TENSOR_ALIAS ? t->alias_of : tensor;
}

/* Linear index of a byte of a region; left: bytes of its chunk from there on. */
u64 npuv_region_linear(const struct npumem_region *region, u64 byte, u64 *left);
/* The byte at a linear index, and what is left of its chunk. */
u64 npuv_region_byte(const struct npumem_region *region, u64 linear, u64 *left);
/* Chunks left to come of a layout just begun. */
u64 npuv_chunks_count(const struct npuv_chunks *chunks);
/* The chunks of a checked region; where they lie in the arena is not asked. */
void npuv_chunks_begin(struct npuv_chunks *chunks, const struct npumem_region *region);
/* The chunks of a placement and where they lie. */
void npuv_chunks_begin_placed(struct npuv_chunks *chunks, const struct npumem_placement *placement);
/* Next chunk: its first byte in the tensor and in the arena; false at the end. */
bool npuv_chunks_next(struct npuv_chunks *chunks, u64 *first, u64 *arena);

/* runs.c */

#define NPUV_KEYED_RUN 12 /* size of the records of vectors of runs */

/* Append a cell of a key to a vector of runs, to the last one if it goes on: 0 or -ENOMEM. */
int npuv_run_add(struct npuv_vector *runs, u32 key, u32 cell);
/* start[0..keys], out: arrays of start[key + 1] - start[key] runs each. */
int npuv_runs_group(struct npuv_work *w, const struct npuv_vector *runs, u32 keys, u32 **start,
		    struct npuv_run **out);
/* What steps read again and again, once the runs of accesses are there. */
int npuv_reads_merge(struct npuv_work *w, struct npuv_graph *g);

/* cells.c */

/* Of a client's graph (p is NULL), or of one with the transfers of p. */
int npuv_cells_find(struct npuv_work *w, struct npuv_graph *g, const struct npuv_plan *p);

#endif /* NPUMEM_VERIFY_GRAPH_H */
