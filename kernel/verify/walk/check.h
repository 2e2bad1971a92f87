/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Verification of a plan, instance by instance: all parts of it share this.
 */
#ifndef NPUMEM_VERIFY_CHECK_H
#define NPUMEM_VERIFY_CHECK_H

#include "../plan/plan.h"

/* arena.c */

#define NPUV_ARENA_LEVELS 6

/**
 * struct npuv_arena - map from ranges of arena bytes to their owners
 * @bounds: sorted places where a range may begin or end
 * @owner: of the range that begins at bounds[i], where one begins
 * @begins: bitmap of them; the levels above have a bit for each word of the
 *	one below that is not zero
 * @count: number of @bounds
 * @levels: bitmaps in @begins that are used
 *
 * All bounds are known before the first range is painted, so the ranges are
 * kept as a bitmap of bounds instead of a tree: nothing to balance, whatever
 * order ranges come in, and the next range is found in a few words.
 */
struct npuv_arena {
	u64 *bounds;
	u32 *owner;
	u64 *begins[NPUV_ARENA_LEVELS];
	u32 count;
	u32 levels;
};

/* Make a map. @bounds are sorted and unique; the map takes them over, even on failure. */
int npuv_arena_init(struct npuv_arena *map, u64 *bounds, u32 count);
void npuv_arena_fini(struct npuv_arena *map);
/* Index of a bound; the value must be one. */
u32 npuv_arena_bound(const struct npuv_arena *map, u64 value);
/* Begin of the range that holds bound i. */
u32 npuv_arena_first(const struct npuv_arena *map, u32 i);
/* Begin of the range after the one that begins at bound i; count past the last. */
u32 npuv_arena_next(const struct npuv_arena *map, u32 i);
/* Make bounds lo (inclusive) to hi (exclusive) one range of an owner. */
void npuv_arena_paint(struct npuv_arena *map, u32 lo, u32 hi, u32 owner);

/* The owner of arena bytes is a cell, or an index with one of these bits. */
#define NPUV_OWNER_PASS 0x40000000u /* bytes that pass through, see npuv_pass */
#define NPUV_OWNER_SET	0x80000000u /* several owners, see npuv_check.set_start */

/**
 * struct npuv_pass - bytes that a block does not touch, but an edge from it needs
 * @first: byte of the tensor
 * @length: bytes
 * @tensor: index
 * @edge: the plan's edge
 */
struct npuv_pass {
	u64 first;
	u64 length;
	u32 tensor;
	u32 edge;
};

/**
 * struct npuv_initial - bytes that are in the arena when the current instance is entered
 * @arena: first byte
 * @length: bytes
 * @owner: cell, or NPUV_OWNER_PASS | index
 */
struct npuv_initial {
	u64 arena;
	u64 length;
	u32 owner;
};

/**
 * struct npuv_check - state of the verification of a plan
 * @w: the call that this is part of
 * @p: see @w
 * @g: see @w
 * @instance: current instance
 * @block: block of the graph that it is an instance of
 * @first: its first and its last position
 * @last: see @first
 * @edge_start: edges of the plan by the instance that they come from
 * @edges: see @edge_start
 * @position: per step, where it stands in the instance
 * @demand: per cell, edge of the plan that needs it at the instance's end, or
 *	NPUMEM_NONE
 * @source: per tensor, the one whose value it takes along the current edge, or
 *	NPUMEM_NONE if it keeps its own
 * @left: per cell NPUV_EMPTY or uses left
 * @stamp: per cell, last cell + 1 of which it was found a predecessor
 * @replaced: per cell, last access + 1 that may write over it in place
 * @same_access: the access that @same_reads is of, plus one
 * @same_reads: number of the step's reads of the tile that access @same_access - 1 may take
 *	in place
 * @map: of the arena: which cell was written to these bytes last
 * @bounds: arena addresses where fragments of cells begin and end
 * @passes: bytes that pass through
 * @initial: fragments of what is there when the instance is entered
 * @set_start: members of NPUV_OWNER_SET | i are
 *	set_owners[set_start[i] .. set_start[i + 1])
 * @set_owners: see @set_start
 * @preds: (instance cell, predecessor) pairs
 */
struct npuv_check {
	struct npuv_work *w;
	struct npuv_plan *p;
	const struct npuv_graph *g;
	u32 instance, block, first, last;
	u32 *edge_start, *edges;
	u32 *position, *demand, *source;
	u32 *left, *stamp, *replaced;
	u32 same_access, same_reads;
	struct npuv_arena map;
	struct npuv_vector bounds, passes, initial, preds;
	u32 *set_start, *set_owners;
};

static inline u32 npuv_position_of(const struct npuv_check *k, u32 access)
{
	return k->position[k->g->access_step[access]];
}

/* Position at which a cell of the current instance comes into being. */
static inline u32 npuv_birth_of(const struct npuv_check *k, u32 cell)
{
	u32 writer = k->g->cells[cell].writer;

	return writer == NPUMEM_NONE ? k->first : npuv_position_of(k, writer);
}

/* Index into the plan's arrays per instance and cell. */
static inline u32 npuv_current(const struct npuv_check *k, u32 cell)
{
	return k->p->cell_base[k->instance] + cell - k->g->cell_start[k->block];
}

/* Whether a cell must survive the instance's end. */
static inline bool npuv_survives(const struct npuv_check *k, u32 cell)
{
	return k->g->cells[cell].survives || k->demand[cell] != NPUMEM_NONE;
}

/* Let the verdict name an access, and the position of its step in the instance. */
void npuv_set_access(const struct npuv_check *k, u32 access);

/* demand.c */

/* V6, V7: mark cells and passes that the instance's edges need at its end. */
int npuv_demand_mark(struct npuv_check *k);
/* V6, V7: after all instances, check that they are where the next entry state says. */
int npuv_demand_check(struct npuv_check *k);

/* home.c */

/**
 * struct npuv_fragments - iterator over segments of a tensor, cut where extents begin
 * @first: bytes of the tensor
 * @length: see @first
 * @extent: first extent that holds them, NULL if none does
 * @count: extents that hold them
 * @plan: private, as what follows
 * @location: of the tensor in the instance
 * @segments: those that are left
 * @segment_count: number of @segments
 * @left: bytes left of the current one
 * The rest is private.
 */
struct npuv_fragments {
	u64 first, length;
	const struct npuv_extent *extent;
	u32 count;
	const struct npuv_plan *plan;
	const struct npuv_location *location;
	const struct npuv_segment *segments;
	u32 segment_count;
	u64 left;
};

/* Begin to go through segments of a tensor in an instance. */
void npuv_fragments_begin(struct npuv_fragments *it, const struct npuv_plan *p, u32 instance,
			  u32 tensor, const struct npuv_segment *segments, u32 count);
bool npuv_fragments_next(struct npuv_fragments *it);
/* Begin to go through the segments of a cell in the current instance. */
void npuv_cell_fragments(struct npuv_fragments *it, const struct npuv_check *k, u32 cell);

/* V3: find the one extent that each fragment has all its life; fills @bounds and @initial. */
int npuv_homes_find(struct npuv_check *k);

/* initial.c */

/* Paint the owners of bytes at the instance's entry; several of the same bytes are a set. */
int npuv_initial_paint(struct npuv_check *k);

/* inplace.c */

/* Note the cells that an access may write over in place. */
int npuv_inplace_begin(struct npuv_check *k, u32 access);
/*
 * Whether a cell may take arena bytes [first, end) in place from an owner that its step
 * reads: 1, 0 or an error. @tensor_first is the byte of the cell's tensor at @first.
 */
int npuv_inplace_may(struct npuv_check *k, u32 cell, u32 owner, u64 tensor_first, u64 first,
		     u64 end);

/* refuse.c: refusals, each with its verdict and text */

int npuv_refuse_order(struct npuv_check *k, u32 access, u32 writer);
/* None of the bytes [first, end) of a cell has a home when it needs one. */
int npuv_refuse_homeless(struct npuv_check *k, u32 cell, u64 first, u64 end);
/* The home of a fragment ends before the cell's life does. */
int npuv_refuse_evicted(struct npuv_check *k, u32 cell, const struct npuv_fragments *it,
			const struct npuv_extent *home);
/*
 * Bytes [first, end) of state do not end where they began: they end @at, or nowhere if that is
 * NULL. @edge is the text of the exit's edge; NULL in a graph without edges.
 */
int npuv_refuse_state(struct npuv_check *k, const char *edge, u32 tensor, u64 first, u64 end,
		      const struct npuv_extent *at);
/* A cell takes arena bytes [first, end) that an owner still needs. */
int npuv_refuse_write(struct npuv_check *k, u32 cell, u32 owner, u64 first, u64 end);

/* version.c */

/*
 * V3, V4: with transfers, every access finds the version that it finds in the client's
 * graph, which is the one that the plan still has.
 */
int npuv_versions_check(struct npuv_work *w, const struct npuv_plan *p);

/* owner.c */

/* V3, V4, V6, V7: walk every instance and find every cell's predecessors. */
int npuv_owner_check(struct npuv_work *w, struct npuv_plan *p);

#endif /* NPUMEM_VERIFY_CHECK_H */
