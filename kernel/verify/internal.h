/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the verifier's files share among themselves.
 */
#ifndef NPUMEM_VERIFY_INTERNAL_H
#define NPUMEM_VERIFY_INTERNAL_H

#include "verify/verify.h"

/**
 * struct npuv_work - one npuv_*_create() call under way
 * @blob: that verdicts of NPUMEM_RULE_FORMAT point into
 * @limits, @log, @verdict: of the caller
 * @visits: units of work done, at most @limits->max_visits
 * @ticks: units since npuv_interrupted() was asked
 */
struct npuv_work {
	const void *blob;
	const struct npuv_limits *limits;
	struct npuv_log *log;
	struct npumem_verdict *verdict;
	u64 visits;
	u32 ticks;
};

/* log.c */

void npuv_verdict_clear(struct npumem_verdict *verdict);
/* A graph with transfers: the verdict in words of the client's graph. */
void npuv_verdict_map(const struct npuv_graph *g, struct npumem_verdict *verdict);
/* Refuse: log the line, name the rule, return err. Other fields are set before. */
__printf(4, 5) int npuv_refuse(struct npuv_work *w, int err, u32 rule, const char *fmt, ...);
/* Refuse a blob for the size bytes at a place in it. */
__printf(5, 6) int npuv_refuse_at(struct npuv_work *w, int err, const void *at, u64 size,
				  const char *fmt, ...);
/* Count n units of work: 0, -E2BIG or -EINTR. */
int npuv_visit(struct npuv_work *w, u64 n);

/* "load", "spill", "fill", "drop" or "store", for enum npumem_position_kind. */
const char *npuv_kind_name(u32 kind);

/*
 * "step 12 'conv_3'", "tensor 5 'conv_3/out'", "block 0": short, printable. In a
 * graph with transfers also "fill at position 4", "the host copy of tensor 5".
 */
struct npuv_text {
	char s[112];
};

const char *npuv_text_step(const struct npuv_graph *g, u32 step, struct npuv_text *text);
const char *npuv_text_tensor(const struct npuv_graph *g, u32 tensor, struct npuv_text *text);
const char *npuv_text_block(const struct npuv_graph *g, u32 block, struct npuv_text *text);
/* "block 2 of the plan (block 1 'body')"; "the exit" for NPUMEM_NONE. */
const char *npuv_text_instance(const struct npuv_plan *p, u32 instance, struct npuv_text *text);

/* array.c */

/* Sort ascending, interruptibly; spare has room for count too. */
int npuv_sort(u64 *values, u64 *spare, u32 count);
/* Drop repeated values of a sorted array; returns how many are left. */
u32 npuv_unique(u64 *values, u32 count);
/* Number of values of a sorted array that are <= value. */
u32 npuv_upper_bound(const u64 *values, u32 count, u64 value);

/**
 * struct npuv_vector - array that grows, its memory always zeroed past @count
 * @data: @capacity records of @size bytes
 */
struct npuv_vector {
	void *data;
	u32 count;
	u32 capacity;
	u32 size;
};

/* Append n records, zeroed: the first one, or NULL for lack of memory. */
void *npuv_vector_add(struct npuv_vector *v, u32 n);
/* Forget all records, keep their memory. */
void npuv_vector_clear(struct npuv_vector *v);
/* The records in memory of just their size, NULL for lack of it; empties v. */
void *npuv_vector_take(struct npuv_vector *v);

/* (key, value) pairs to be grouped by key, order within a key kept. */
struct npuv_pair {
	u32 key;
	u32 value;
};

/* Append a pair to a vector of them: 0 or -ENOMEM. */
int npuv_pair_add(struct npuv_vector *pairs, u32 key, u32 value);
/* start[0..keys], values: arrays of start[key + 1] - start[key] values each. */
int npuv_group(struct npuv_work *w, const struct npuv_vector *pairs, u32 keys, u32 **start,
	       u32 **values);

/* runs.c */

#define NPUV_KEYED_RUN 12 /* size of the records of vectors of runs */

/* Append a cell of a key to a vector of runs, to the last one if it goes on: 0 or -ENOMEM. */
int npuv_run_add(struct npuv_vector *runs, u32 key, u32 cell);
/* start[0..keys], out: arrays of start[key + 1] - start[key] runs each. */
int npuv_runs_group(struct npuv_work *w, const struct npuv_vector *runs, u32 keys, u32 **start,
		    struct npuv_run **out);
/* What steps read again and again, once the runs of accesses are there. */
int npuv_reads_merge(struct npuv_work *w, struct npuv_graph *g);

/* blob.c */

/**
 * struct npuv_section_rule - a kind of section that a blob may have
 * @kind: in the section table
 * @record: bytes of its records; a file may have longer ones if @align > 1
 * @align: that the stride is a multiple of
 * @required: must be there, with at least one record
 * @name: for the log
 * @out: filled; all zero when the section is absent
 */
struct npuv_section_rule {
	u32 kind;
	u32 record;
	u32 align;
	bool required;
	const char *name;
	struct npuv_section *out;
};

int npuv_blob_check(struct npuv_work *w, u64 size, u32 magic, const struct npuv_section_rule *rules,
		    u32 rule_count);

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

/* flow.c */

/* Carries, and that every block is on a way from block 0 to the exit. */
int npuv_flow_check(struct npuv_work *w, struct npuv_graph *g);
static inline bool npuv_is_flat(const struct npuv_graph *g)
{
	return !(g->features & NPUMEM_FEATURE_BLOCKS);
}

/* cells.c */

/* Of a client's graph (p is NULL), or of one with the transfers of p. */
int npuv_cells_find(struct npuv_work *w, struct npuv_graph *g, const struct npuv_plan *p);

/* instance.c */

/* V2: the instances of blocks, and that each holds the steps of its block. */
int npuv_instances_check(struct npuv_work *w, struct npuv_plan *p);
/* Last position of an instance; its first position if it has none. */
u32 npuv_instance_last(const struct npuv_plan *p, u32 instance);
/* Instance that a position is of. */
u32 npuv_instance_at(const struct npuv_plan *p, u32 position);

/* transfer.c */

/* V2, V5: the records of transfers; p gets its graph and placements with them. */
int npuv_transfers_check(struct npuv_work *w, struct npuv_plan *p);
/* The cookie of a transfer's step is its kind and its position. */
static inline u32 npuv_transfer_kind(const struct npuv_graph *g, u32 step)
{
	return (u32)(npuv_step(g, step)->cookie >> 32);
}

static inline u32 npuv_transfer_position(const struct npuv_graph *g, u32 step)
{
	return (u32)npuv_step(g, step)->cookie;
}

/* entry.c */

/* Records of entry states; order: by instance and tensor, for the caller to free. */
int npuv_entries_check(struct npuv_work *w, struct npuv_plan *p, u32 **order);

/* view.c */

int npuv_views_check(struct npuv_work *w, const struct npuv_plan *p);

/* place.c */

/* V1 */
int npuv_place_check(struct npuv_work *w, struct npuv_plan *p);

/* extent.c */

/* Places and extents of all placements; entries in the order of npuv_entries_check(). */
int npuv_extents_cut(struct npuv_work *w, struct npuv_plan *p, const u32 *entries);
/* Where a tensor lies in an instance; NULL if it has no place there. */
const struct npuv_place *npuv_place_of(const struct npuv_plan *p, u32 instance, u32 tensor);
/* First and last position at which an extent is in force. */
u32 npuv_extent_from(const struct npuv_plan *p, const struct npuv_extent *e);
u32 npuv_extent_to(const struct npuv_plan *p, const struct npuv_extent *e);
/* First extent that holds a byte, NULL if none does. More may follow. Place may be NULL. */
const struct npuv_extent *npuv_place_find(const struct npuv_plan *p, const struct npuv_place *place,
					  u64 byte);
/* Number of extents that begin where the first one that does so does. */
u32 npuv_place_count(const struct npuv_plan *p, const struct npuv_place *place,
		     const struct npuv_extent *e);
/* Of extents in the order in which they come into force, those that have by then. */
u32 npuv_extents_begun(const struct npuv_plan *p, const struct npuv_extent *e, u32 count,
		       u32 position);
/* After npuv_places_compact(): the extent that holds a byte at a position, NULL if none does. */
const struct npuv_extent *npuv_place_find_at(const struct npuv_plan *p,
					     const struct npuv_place *place, u64 byte,
					     u32 position);
/* First byte after one that no extent holds that one does hold; U64 max if none. */
u64 npuv_place_next(const struct npuv_plan *p, const struct npuv_place *place, u64 byte);
/* Forget the extents of an instance that are not used. */
void npuv_places_compact(struct npuv_plan *p, u32 instance);

/* arena.c */

/**
 * struct npuv_arena - map from ranges of arena bytes to their owners
 * @bounds: sorted places where a range may begin or end, @count of them
 * @owner: of the range that begins at bounds[i], where one begins
 * @begins: bitmap of them; the levels above have a bit for each word of the
 *	one below that is not zero
 *
 * All bounds are known before the first range is painted, so the ranges are
 * kept as a bitmap of bounds instead of a tree: nothing to balance, whatever
 * order ranges come in, and the next range is found in a few words.
 */
#define NPUV_ARENA_LEVELS 6

struct npuv_arena {
	u64 *bounds;
	u32 *owner;
	u64 *begins[NPUV_ARENA_LEVELS];
	u32 count;
	u32 levels;
};

/* bounds: sorted, unique; the map takes them over, even on failure. */
int npuv_arena_init(struct npuv_arena *map, u64 *bounds, u32 count);
void npuv_arena_fini(struct npuv_arena *map);
/* Index of a bound; the value must be one. */
u32 npuv_arena_bound(const struct npuv_arena *map, u64 value);
/* Begin of the range that holds bound i. */
u32 npuv_arena_first(const struct npuv_arena *map, u32 i);
/* Begin of the range after the one that begins at bound i; count past the last. */
u32 npuv_arena_next(const struct npuv_arena *map, u32 i);
/* Bounds lo (inclusive) to hi (exclusive) become one range. */
void npuv_arena_paint(struct npuv_arena *map, u32 lo, u32 hi, u32 owner);

/* Number of cells of all instances together. */
static inline u32 npuv_cell_count(const struct npuv_plan *p)
{
	return p->cell_base[p->blocks.count];
}

/* edge.c */

/* V6, the records: one edge of the plan for each way out of each instance. */
int npuv_edges_check(struct npuv_work *w, struct npuv_plan *p);
/* By instance, its edges, for the caller to free; after npuv_edges_check(). */
int npuv_edges_group(struct npuv_work *w, const struct npuv_plan *p, u32 **start, u32 **edges);

/* owner.c */

/* V3, V4, V6, V7: walk every instance and find every cell's predecessors. */
int npuv_owner_check(struct npuv_work *w, struct npuv_plan *p);

#endif /* NPUMEM_VERIFY_INTERNAL_H */
