/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Graphs: questions to one that is checked, and the functions that check it.
 */
#ifndef NPUMEM_VERIFY_GRAPH_H
#define NPUMEM_VERIFY_GRAPH_H

#include "../base/base.h"

static inline bool npuv_is_flat(const struct npuv_graph *g)
{
	return !(g->features & NPUMEM_FEATURE_BLOCKS);
}

static inline bool npuv_is_external(const struct npuv_graph *g, u32 tensor)
{
	return npuv_tensor(g, tensor)->flags & NPUMEM_TENSOR_FLAG_EXTERNAL;
}

/* Whether a client puts bytes into a tensor before an inference begins. */
static inline bool npuv_starts_valid(const struct npuv_graph *g, u32 tensor)
{
	u32 kind = npuv_tensor(g, tensor)->kind;

	return kind == NPUMEM_TENSOR_INPUT || kind == NPUMEM_TENSOR_PARAMETER ||
	       kind == NPUMEM_TENSOR_STATE;
}

/* flow.c */

/* Check carries, and that every block is on a way from block 0 to the exit. */
int npuv_flow_check(struct npuv_work *w, struct npuv_graph *g);

/* region.c */

/* NULL, or a text that says what is wrong with a region of a tensor of @size bytes. */
const char *npuv_region_check(const struct npumem_region *region, u64 size);
u64 npuv_region_bytes(const struct npumem_region *region);
/* Make a region of a range of bytes. */
void npuv_region_range(struct npumem_region *region, u64 first, u64 length);
/* The bytes of an access, as a region of its tensor's base, whose number is returned. */
u32 npuv_access_region(const struct npuv_graph *g, u32 access, struct npumem_region *region);
/* The base of the tensor that an access is of. */
static inline u32 npuv_access_base(const struct npuv_graph *g, u32 access)
{
	return npuv_alias_base(g, npuv_tile(g, npuv_access(g, access)->tile)->tensor);
}

/* Linear index of a byte of a region; @left gets the bytes of its chunk from there on. */
u64 npuv_region_linear(const struct npumem_region *region, u64 byte, u64 *left);
/* The byte at a linear index; @left gets the bytes of its chunk from there on. */
u64 npuv_region_byte(const struct npumem_region *region, u64 linear, u64 *left);
/* Number of chunks of an iterator that has just begun. */
u64 npuv_chunks_count(const struct npuv_chunks *chunks);
/* Begin to go through the chunks of a checked region, without addresses in the arena. */
void npuv_chunks_begin(struct npuv_chunks *chunks, const struct npumem_region *region);
/* Begin to go through the chunks of a placement and their addresses in the arena. */
void npuv_chunks_begin_placed(struct npuv_chunks *chunks, const struct npumem_placement *placement);
/* The next chunk, by its first byte in the tensor and in the arena; false at the end. */
bool npuv_chunks_next(struct npuv_chunks *chunks, u64 *first, u64 *arena);

/* runs.c */

/* Runs of cells by key, for npuv_group(). */
struct npuv_keyed_run {
	u32 key;
	struct npuv_run run;
};

/* Append a cell of a key to a vector of runs, to the last one if it goes on: 0 or -ENOMEM. */
int npuv_run_add(struct npuv_vector *runs, u32 key, u32 cell);
/* Merge cells that a step reads again and again. The runs of accesses have been found. */
int npuv_reads_merge(struct npuv_work *w, struct npuv_graph *g);

/* cells.c */

/* Find the cells of a client's graph (@p is NULL), or of one with the transfers of @p. */
int npuv_cells_find(struct npuv_work *w, struct npuv_graph *g, const struct npuv_plan *p);

#endif /* NPUMEM_VERIFY_GRAPH_H */
