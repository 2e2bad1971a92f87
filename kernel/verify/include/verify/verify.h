/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The npumem verifier: byte ownership.
 *
 * Pure C, compiled into the driver and into libnpuplan; env.h is the only file
 * here that knows which.
 *
 * DOC: threat model. A graph comes from a client that may be hostile, a plan
 * from a daemon or a file that may be wrong, and both blobs may be any bytes
 * at all. Whatever they are, the verifier does not crash, does not read beyond
 * them, and is bounded in time and memory (struct npuv_limits); and a plan
 * that it accepts, run under npuv_states_submit() and npuv_states_cross(), never
 * lets a step write outside the plan's arena or the bindings of its external
 * tensors, overwrite bytes that another step, a later block or the exit still
 * needs, or read bytes other than those that its own graph put there, whatever
 * path the program takes. Blobs must not change while in use: the caller copies
 * them out of reach first. The verifier does not check what a step computes or
 * which edge the client chooses; it relies on engines to touch only the bytes of
 * their accesses, and on the driver to end a job before another that depends on
 * it begins and to have bindings of external tensors large enough and apart.
 * Bytes valid at entry (inputs, parameters, state) are put there by the client.
 *
 * Words. A *cell* is the set of bytes of one tensor that have the same writer
 * and the same readers in one block: the unit whose lifetime is enforced. Tiles
 * that are cut differently for reading and writing overlap in cells; those of an
 * alias are bytes of the tensor that it is an alias of. An update in place makes
 * a new cell of the same bytes (a new version), as does a write to what a block
 * has found there. A cell is EMPTY until its writer is submitted, LIVE until its
 * last reader is, then RETIRED; cells that must survive the block (outputs,
 * state, whatever an edge passes on) are never RETIRED.
 * An *instance* is a block of the plan: its graph may have a block once, its plan
 * as often as it likes, with other addresses each time. An *entry state* says
 * which bytes of which tensors lie where whenever an instance is entered.
 *
 * Verification is enforcement run once in the order of the plan: the graph
 * yields the cells and each step's cells; the plan maps cells to arena bytes;
 * walking an instance's positions, an interval map of the arena says whose bytes
 * a write takes, those owners must be RETIRED, and they are recorded as the
 * written cell's *predecessors*. A run that lets a write go only when its
 * predecessors are RETIRED, and a read only when its cells are LIVE, is safe in
 * any order: the owners of a byte form a sequence, each the predecessor of the
 * next, so no order but the plan's can be had for any one byte.
 *
 * Instances are verified one by one, each from its entry state, whoever comes
 * in. Then for each edge: what its first instance leaves, carried along it, is
 * the entry state of the second, byte by byte at the same addresses; the exit
 * needs whole outputs, and state where it began. By induction over any path the
 * entry states hold, and there is no fixpoint to find. What is needed at an
 * instance's end is marked before it is walked, so that writing over it is
 * refused. Two tensors may enter at the same bytes: each edge proves that both
 * have that value, and a write there waits for both.
 *
 * Transfers are steps that copy. A plan that has any is verified against its own
 * *graph with transfers*: the client's tensors, and one more, the *host copy*, for
 * each one that is moved; a block for each instance of the plan, and in it a step
 * for each position, in the order of the plan. A load or fill reads cells of the
 * host copy and writes new cells of the tensor, a store or spill the other way
 * round; so whatever is written, moved away and brought back is a new cell each
 * time, with a home of its own, and all other rules are as they were. Host memory
 * has addresses after the arena's. What is in the arena or has a valid copy when is
 * settled while the cells are found (V5). The graph's own order is checked first:
 * each access finds the version that it finds in the client's graph.
 *
 * Where there are edges, a block begins with its entry state in the arena and no
 * valid copy in host memory, whichever way it is entered, and the bytes that an edge
 * needs have to be back in the arena at its end. So nothing of a copy is known or
 * needed across an edge, V6 is what it is without transfers, and the induction over
 * paths holds as it stands: within a block the argument is the one for a graph of one.
 * Bytes moved away and not brought back are no bytes that pass through untouched:
 * npuv_live_out.last says so, and an edge that needs them is refused.
 *
 * EXTERNAL tensors are taken to lie beyond the arena, where no placement can be:
 * their versions follow each other as all others do. A write in place of a read may take
 * its bytes only where both tiles have the same linear index, if that read, with
 * those of the same tile by the same step, is their last use.
 *
 * Files, by folder, with the rules that are checked in them; a folder uses those that are
 * named before it.
 * base/: log.c has refusals, array.c arrays, blob.c the framing of blobs, size.c the memory
 * that objects keep.
 * graph/: graph.c checks records (V4), flow.c edges and carries; region.c has strided bytes;
 * classes.c and cells.c divide bytes into cells (V3, V4, V7), residency.c with transfers (V5);
 * runs.c has the cells of accesses.
 * plan/: instance.c checks blocks and schedule (V2), transfer.c transfers (V2, V5), and
 * makes the graph with them; edge.c checks ways out (V6), entry.c entry states (V6), view.c
 * views, placement.c placements (V1); extent.c cuts placements into extents (V6);
 * unknown_tensor.c refuses tensors that are not there.
 * walk/: owner.c walks the schedule (V3, V4, V5, V7); home.c finds the bytes where cells live
 * (V3, V6, V7), initial.c those that are there at first (V6); inplace.c decides on writes in
 * place, demand.c checks what edges and the exit need (V6, V7), version.c that transfers
 * change no version (V3, V4); refuse.c words the refusals, arena.c is the interval map; walk.c
 * tells engines the ranges of an access.
 * run/: states.c enforces; hazards.c finds out which jobs on several engines wait for which.
 * plan.c, beside the folders, puts the checks of a plan in order.
 *
 * Cost O(n log n) in chunks, in access-cell incidences of all instances, and in
 * entry records times edges to their instance; all are counted (struct
 * npuv_limits) and memory is allocated only after they are known, or grows with
 * them as they are counted.
 *
 * Functions return 0 or a negative errno: -EBADMSG not well formed (framing:
 * header, section table, padding between sections, bytes beyond a known
 * record), -EINVAL a rule is broken (anything within the records), -E2BIG over
 * a limit, -EOPNOTSUPP not verified by this version, -ENOMEM, -EINTR
 * interrupted. On -EBADMSG, -EINVAL, -E2BIG and -EOPNOTSUPP the log says where
 * and why, on the first two the verdict does too.
 *
 * Not verified by this version: HOST tensors and copies in host memory that are
 * valid when a block is entered, in graphs with edges; transfers of state; aliases
 * and EXTERNAL tensors that are HOST. Such graphs
 * are accepted with their structure checked, plans for them are refused with
 * -EOPNOTSUPP.
 */
#ifndef NPUMEM_VERIFY_H
#define NPUMEM_VERIFY_H

#include "env.h"

#include "npumem_graph.h"
#include "npumem_plan.h"

/*
 * Set @lo to the first index i, from @lo up to @end, for which the condition @before, which
 * is about i, is false. It has to be true of all indices below that one.
 */
#define npuv_bisect(lo, end, i, before)          \
	do {                                     \
		u32 hi_ = (end), i;              \
                                                 \
		while (lo < hi_) {               \
			i = lo + (hi_ - lo) / 2; \
			if (before)              \
				lo = i + 1;      \
			else                     \
				hi_ = i;         \
		}                                \
	} while (0)

/**
 * struct npuv_limits - caps, checked before anything is allocated for them
 * @max_blob: bytes of a blob
 * @max_accesses: accesses of a graph (also caps steps, tiles, tensors, blocks,
 *	edges, carries, and a plan's placements, positions, instances, edges,
 *	entries, views, and view slots)
 * @max_chunks: contiguous chunks of all accesses together; of all placements
 *	together; extents that these are cut into
 * @max_visits: units of work: access-cell incidences, segments visited to find
 *	them, cells of all instances, bytes compared along edges in fragments
 */
struct npuv_limits {
	u64 max_blob;
	u64 max_accesses;
	u64 max_chunks;
	u64 max_visits;
};

extern const struct npuv_limits npuv_default_limits;

/* The NPUMEM_FEATURE_* bits of graphs whose plans can be verified; updates in place need none. */
#define NPUV_FEATURES                                                           \
	(NPUMEM_FEATURE_PIECES | NPUMEM_FEATURE_SPILL | NPUMEM_FEATURE_BLOCKS | \
	 NPUMEM_FEATURE_ALIAS | NPUMEM_FEATURE_EXTERNAL | NPUMEM_FEATURE_INPLACE)

/**
 * struct npuv_log - text sink of fixed size that also counts what did not fit
 * @buf: NUL-terminated text, or NULL
 * @size: bytes at @buf
 * @used: bytes that the whole text would need, NUL excluded
 * @level: 0 nothing, 1 refusals, 2 statistics too
 */
struct npuv_log {
	char *buf;
	u32 size;
	u32 used;
	u32 level;
};

/* Begin a log. Each refusal is one line; nothing is written if the log is NULL or its level 0. */
void npuv_log_init(struct npuv_log *log, u32 level, char *buf, u32 size);
__printf(2, 3) void npuv_log(struct npuv_log *log, const char *fmt, ...);

/* Set all fields of a verdict to NPUMEM_NONE or zero. */
void npuv_verdict_clear(struct npumem_verdict *verdict);
struct npuv_graph;
/*
 * Name what a verdict speaks of: "step 2 'mix', tensor 5 'b'; step 1 'copy', tensor 4 'a'". What it
 * has no index of, or one that the graph lacks, is left out; a text that is too long is cut short.
 */
void npuv_verdict_text(const struct npuv_graph *g, const struct npumem_verdict *verdict, char *text,
		       u32 size);

#define NPUV_EMPTY   0xffffffffu /* value of a cell's state */
#define NPUV_RETIRED 0u		 /* values between these are LIVE: the number of uses left */

/* Reasons why a cell must survive the exit. */
#define NPUV_SURVIVES_OUTPUT (1u << 0)
#define NPUV_SURVIVES_STATE  (1u << 1)

/**
 * struct npuv_cell - bytes of one tensor with one writer and the same readers
 * @tensor: index; never an alias
 * @writer: access that writes it, or NPUMEM_NONE if valid at entry
 * @reads: accesses that read it, updates included
 * @first_segment: of its consecutive segments, ascending; the segment's bytes
 *	are relative to the tensor
 * @segment_count: segments
 * @survives: NPUV_SURVIVES_* in a graph of one block without edges. In others
 *	the edges of a plan say what survives
 *
 * Versions of the same bytes have the same segments.
 */
struct npuv_cell {
	u32 tensor;
	u32 writer;
	u32 reads;
	u32 first_segment;
	u32 segment_count;
	u32 survives;
};

struct npuv_segment {
	u64 first;
	u64 length;
};

/**
 * struct npuv_live_out - bytes of one tensor in one block of a graph with edges
 * @first: byte of the tensor
 * @length: bytes
 * @last: cell that holds them at its end; NPUMEM_NONE if a transfer has moved them
 *	away, as in graphs with the transfers of a plan only
 */
struct npuv_live_out {
	u64 first;
	u64 length;
	u32 last;
};

/**
 * struct npuv_touch - a tensor that a block accesses
 * @tensor: index
 * @first_live_out: its live-outs, ascending, end where those of the next touch begin
 */
struct npuv_touch {
	u32 tensor;
	u32 first_live_out;
};

/**
 * struct npuv_run - cells with consecutive numbers
 * @first: cell
 * @count: cells
 */
struct npuv_run {
	u32 first;
	u32 count;
};

/**
 * struct npuv_reads - cells that a step reads
 * @first: cell
 * @count: cells
 * @times: accesses of the step that read each
 */
struct npuv_reads {
	u32 first;
	u32 count;
	u32 times;
};

/* A checked section of a blob. Record i is at base + i * stride. */
struct npuv_section {
	const u8 *base;
	u32 stride;
	u32 count;
};

static inline const void *npuv_record(const struct npuv_section *section, u32 i)
{
	return section->base + (size_t)i * section->stride;
}

#define NPUV_OWN_SECTIONS 5

/**
 * struct npuv_graph - graph blob, checked, and its cells
 * @blob: as passed; stays the caller's and must outlive this
 * @size: bytes
 * @tensors:
 *	sections, use the accessors below
 * @tiles: see @tensors
 * @accesses: see @tensors
 * @steps: see @tensors
 * @blocks: see @tensors
 * @edges: see @tensors
 * @carries: see @tensors
 * @strings: see @tensors
 * @cells: @cell_count cells
 * @segments: of all cells
 * @read_start: cells that access a reads are those of
 *	read_runs[read_start[a] .. read_start[a + 1]); likewise @write_start,
 *	@write_runs. An update has both. npuv_for_each_read() goes through them
 * @write_start: see @read_start
 * @read_runs: see @read_start
 * @merged_start: all that step s reads, where its accesses read the same
 *	cells again and again, is merged[merged_start[s] .. merged_start[s + 1]),
 *	ascending; empty where they do not
 * @write_runs: see @read_start
 * @merged: see @merged_start
 * @access_step: step that access a belongs to
 * @cell_start: cells of block b are cells[cell_start[b] .. cell_start[b + 1])
 * @touch_start: tensors that block b accesses, ascending, are
 *	touches[touch_start[b] .. touch_start[b + 1]); one touch more ends the
 *	live-outs of the last. As what follows, only if @features has BLOCKS
 * @touches: see @touch_start
 * @live_outs: of all touches
 * @out_start: edges from block b are
 *	out_edges[out_start[b] .. out_start[b + 1]), ascending
 * @out_edges: see @out_start
 * @alias_start: aliases of tensor t that are not INTERMEDIATE; only if
 *	@features has ALIAS
 * @aliases: see @alias_start
 * @cell_count: number of @cells
 * @segment_count: number of @segments
 * @features: NPUMEM_FEATURE_* bits that a verifier of this graph must know
 * @source: the graph that this one is with the transfers of a plan, NULL if it is
 *	a client's own. Its records come first, under the same numbers, but blocks:
 *	those are the instances of the plan. Step @source->steps.count + i stands for
 *	position i of the plan, and only these steps are in blocks; @blob, @strings,
 *	@edges and @carries are @source's
 * @host_of: tensor whose host copy tensor @source->tensors.count + i is
 * @host_copy: per tensor of @source, its host copy or NPUMEM_NONE
 * @own: records of those sections that are not @source's
 */
struct npuv_graph {
	const void *blob;
	u64 size;
	struct npuv_section tensors, tiles, accesses, steps, blocks, edges, carries, strings;
	struct npuv_cell *cells;
	struct npuv_segment *segments;
	u32 *read_start, *write_start, *merged_start;
	struct npuv_run *read_runs, *write_runs;
	struct npuv_reads *merged;
	u32 *access_step;
	u32 *cell_start;
	u32 *touch_start;
	struct npuv_touch *touches;
	struct npuv_live_out *live_outs;
	u32 *out_start, *out_edges;
	u32 *alias_start, *aliases;
	u32 cell_count;
	u32 segment_count;
	u64 features;
	const struct npuv_graph *source;
	u32 *host_of, *host_copy;
	void *own[NPUV_OWN_SECTIONS];
};

/**
 * npuv_graph_create() - check the structure of a graph blob and find its cells
 * @blob: 8-byte aligned, must not change nor go before the graph does
 * @size: bytes
 * @limits: caps
 * @log: may be NULL
 * @verdict: cleared, and filled on refusal
 * @out: the graph, npuv_graph_destroy() it
 */
int npuv_graph_create(const void *blob, u64 size, const struct npuv_limits *limits,
		      struct npuv_log *log, struct npumem_verdict *verdict,
		      struct npuv_graph **out);
void npuv_graph_destroy(struct npuv_graph *graph);
/* Bytes of memory that the graph keeps, without its blob. */
u64 npuv_graph_bytes(const struct npuv_graph *graph);

#define NPUV_ACCESSOR(name, type, member)                                                    \
	static inline const struct type *npuv_##name(const struct npuv_graph *g, u32 i)      \
	{                                                                                    \
		return (const struct type *)(g->member.base + (size_t)i * g->member.stride); \
	}
NPUV_ACCESSOR(tensor, npumem_tensor, tensors)
NPUV_ACCESSOR(tile, npumem_tile, tiles)
NPUV_ACCESSOR(access, npumem_access, accesses)
NPUV_ACCESSOR(step, npumem_step, steps)
NPUV_ACCESSOR(block, npumem_block, blocks)
NPUV_ACCESSOR(edge, npumem_edge, edges)
NPUV_ACCESSOR(carry, npumem_carry, carries)
#undef NPUV_ACCESSOR

/**
 * struct npuv_cells - iterator over the cells of an access
 * @run: runs that are left
 * @end: see @run
 * @cell: the current one
 * @left: of the current run after it
 */
struct npuv_cells {
	const struct npuv_run *run, *end;
	u32 cell;
	u32 left;
};

static inline struct npuv_cells npuv_cells_begin(const u32 *start, const struct npuv_run *runs,
						 u32 access)
{
	return (struct npuv_cells){ .run = runs + start[access], .end = runs + start[access + 1] };
}

static inline bool npuv_cells_next(struct npuv_cells *it)
{
	if (it->left) {
		it->left--;
		it->cell++;
		return true;
	}
	if (it->run == it->end)
		return false;
	it->cell = it->run->first;
	it->left = it->run->count - 1;
	it->run++;
	return true;
}

/* Loops over the cells that an access reads, or writes: it.cell is each of them in turn. */
#define npuv_for_each_read(it, g, access) \
	for (it = npuv_cells_begin((g)->read_start, (g)->read_runs, access); npuv_cells_next(&it);)
#define npuv_for_each_write(it, g, access)                                     \
	for (it = npuv_cells_begin((g)->write_start, (g)->write_runs, access); \
	     npuv_cells_next(&it);)

/* The tensor that an alias is bytes of, or the tensor itself if it is no alias. */
static inline u32 npuv_alias_base(const struct npuv_graph *g, u32 tensor)
{
	const struct npumem_tensor *t = npuv_tensor(g, tensor);

	return t->flags & NPUMEM_TENSOR_FLAG_ALIAS ? t->alias_of : tensor;
}

/* Whether a tensor is the host copy of another one. */
static inline bool npuv_is_host_copy(const struct npuv_graph *g, u32 tensor)
{
	return g->source && tensor >= g->source->tensors.count;
}

/* The tensor that a host copy is of, or the tensor itself if it is no host copy. */
static inline u32 npuv_base_tensor(const struct npuv_graph *g, u32 tensor)
{
	return npuv_is_host_copy(g, tensor) ? g->host_of[tensor - g->source->tensors.count] :
					      tensor;
}

/*
 * Whether a step stands for a position of the plan whose transfers the graph has. Its cookie
 * has the position's kind in the upper half, and for a step of the client that one's number.
 */
static inline bool npuv_is_planned(const struct npuv_graph *g, u32 step)
{
	return g->source && step >= g->source->steps.count;
}

/* Whether a step stands for a transfer. */
static inline bool npuv_is_transfer(const struct npuv_graph *g, u32 step)
{
	return npuv_is_planned(g, step) && npuv_step(g, step)->cookie >> 32 != NPUMEM_POSITION_STEP;
}

/* A name, by its offset in the strings section; "" if there is none. */
const char *npuv_name(const struct npuv_graph *graph, u32 name);

#define NPUV_EXTENT_USED  (1u << 0) /* bytes that are needed live there */
#define NPUV_EXTENT_ENTRY (1u << 1) /* part of the instance's entry state */
#define NPUV_EXTENT_APART (1u << 2) /* never in force with another one of its bytes */

/**
 * struct npuv_extent - contiguous bytes of a tensor and where they lie
 * @first: byte of the tensor
 * @length: bytes
 * @arena: byte of the arena. Byte h of host memory is byte arena_size + h here;
 *	those of EXTERNAL tensors come after both, one after another, where no
 *	placement can be
 * @placement: placement that puts them there, in force from its position from to its
 *	position to; NPUMEM_NONE for an EXTERNAL tensor
 * @flags: NPUV_EXTENT_*
 */
struct npuv_extent {
	u64 first;
	u64 length;
	u64 arena;
	u32 placement;
	u32 flags;
};

/**
 * struct npuv_location - where the bytes of one tensor lie in one instance
 * @tensor: index
 * @first: of its consecutive extents, by first byte; those that begin at the
 *	same byte are equally long, in the order in which they come into force
 * @count: extents
 */
struct npuv_location {
	u32 tensor;
	u32 first;
	u32 count;
};

/**
 * struct npuv_plan - plan blob, verified against one graph
 * @graph: the graph that cells are of; with transfers this plan's own, see
 *	npuv_graph.source, else the one that it was created for, which must
 *	outlive this
 * @blob: as passed; stays the caller's and must outlive this
 * @size: bytes
 * @info: in the blob
 * @transfers: number of positions that are transfers
 * @step_at: per position, step of @graph; NULL if @graph is the client's own
 * @placements: section; of host copies, too, after those of the blob
 * @positions: sections,
 *	use the accessors below
 * @blocks: see @positions
 * @entries: see @positions
 * @edges: see @positions
 * @views: see @positions
 * @slots: see @positions
 * @cell_base: of instance i (plan block), see npuv_plan_cell(); one more is the
 *	number of instance cells
 * @location_start: of instance i, ascending by tensor,
 *	locations[location_start[i] .. location_start[i + 1]); those after the last
 *	instance's are of EXTERNAL tensors, wherever an instance has none
 * @locations: see @location_start
 * @extents: of all locations
 * @placed: per tensor, it has a placement or is EXTERNAL
 * @pred_start: cells whose bytes instance cell c overwrites are
 *	pred_cells[pred_start[c] .. pred_start[c + 1])
 * @pred_cells: see @pred_start
 * @uses: of instance cell c: reads until it is RETIRED, plus one if it must
 *	survive the instance's end
 * @last_use: last access in the order of the plan that reads instance cell c,
 *	or NPUMEM_NONE
 * @overwriter: a cell that overwrites bytes of instance cell c, or NPUMEM_NONE
 * @own_graph: what is this plan's own, or NULL
 * @own_placements: see @own_graph
 */
struct npuv_plan {
	const struct npuv_graph *graph;
	const void *blob;
	u64 size;
	const struct npumem_plan_info *info;
	u32 transfers;
	u32 *step_at;
	struct npuv_section placements, positions, blocks, entries, edges, views, slots;
	u32 *location_start;
	struct npuv_location *locations;
	struct npuv_extent *extents;
	u8 *placed;
	u32 *cell_base;
	u32 *pred_start, *pred_cells;
	u32 *uses;
	u32 *last_use;
	u32 *overwriter;
	struct npuv_graph *own_graph;
	struct npumem_placement *own_placements;
};

#define NPUV_ACCESSOR(name, type, member)                                                    \
	static inline const struct type *npuv_##name(const struct npuv_plan *p, u32 i)       \
	{                                                                                    \
		return (const struct type *)(p->member.base + (size_t)i * p->member.stride); \
	}
NPUV_ACCESSOR(placement, npumem_placement, placements)
NPUV_ACCESSOR(position, npumem_position, positions)
NPUV_ACCESSOR(plan_block, npumem_plan_block, blocks)
NPUV_ACCESSOR(entry, npumem_entry, entries)
NPUV_ACCESSOR(plan_edge, npumem_plan_edge, edges)
NPUV_ACCESSOR(view, npumem_view, views)
#undef NPUV_ACCESSOR

/* The step at a position, by its number in the plan's graph, where transfers are steps, too. */
static inline u32 npuv_step_at(const struct npuv_plan *p, u32 position)
{
	return p->step_at ? p->step_at[position] : npuv_position(p, position)->index;
}

/* A slot of a view: a placement, or NPUMEM_VIEW_SLOT_NESTED | view. */
static inline u32 npuv_view_slot(const struct npuv_plan *p, u32 i)
{
	return *(const u32 *)(p->slots.base + (size_t)i * p->slots.stride);
}

/* The block of the plan's graph that an instance is of; with transfers each has its own. */
static inline u32 npuv_block_of(const struct npuv_plan *p, u32 instance)
{
	return p->graph->source ? instance : npuv_plan_block(p, instance)->block;
}

/* Index into the arrays per instance and cell, of a cell of the instance's block. */
static inline u32 npuv_plan_cell(const struct npuv_plan *p, u32 instance, u32 cell)
{
	return p->cell_base[instance] + cell - p->graph->cell_start[npuv_block_of(p, instance)];
}

/**
 * npuv_plan_parse() - check the framing of a plan blob, whatever graph it is for
 * @blob: 8-byte aligned
 * @size: bytes
 * @limits: caps
 * @log: may be NULL
 * @verdict: cleared, and filled on refusal
 * @plan: its sections are filled; it keeps no memory of its own
 * @info: section that has a record at least
 *
 * Records may be read where they are; nothing is known of what they say.
 *
 * Return: 0 or a negative errno, see the head of this file.
 */
int npuv_plan_parse(const void *blob, u64 size, const struct npuv_limits *limits,
		    struct npuv_log *log, struct npumem_verdict *verdict, struct npuv_plan *plan,
		    struct npuv_section *info);

/**
 * npuv_plan_create() - verify a plan blob (rules V1 to V7, docs/architecture.md)
 * @graph: checked graph
 * @blob: 8-byte aligned, must not change nor go before the plan does
 * @size: bytes
 * @limits: caps
 * @log: may be NULL
 * @verdict: cleared, and filled on refusal
 * @out: the plan, npuv_plan_destroy() it
 */
int npuv_plan_create(const struct npuv_graph *graph, const void *blob, u64 size,
		     const struct npuv_limits *limits, struct npuv_log *log,
		     struct npumem_verdict *verdict, struct npuv_plan **out);
void npuv_plan_destroy(struct npuv_plan *plan);
/* Bytes of memory that the plan keeps, without its blob and the client's graph. */
u64 npuv_plan_bytes(const struct npuv_plan *plan);

#define NPUV_HOST 0xfffffffeu /* npuv_range.external: the run's host buffer */

/**
 * struct npuv_range - contiguous bytes of an access: of arena, host buffer, or binding
 * @arena: first byte in the arena, in the run's host buffer, or in the binding of
 *	@external
 * @length: bytes
 * @linear: linear index within the tile of the first byte (npumem_region)
 * @external: NPUMEM_NONE for the arena, NPUV_HOST for the run's host buffer, or
 *	the EXTERNAL tensor in whose binding the range is, and whose byte @arena
 *	is. An alias' base, never an alias
 */
struct npuv_range {
	u64 arena;
	u64 length;
	u64 linear;
	u32 external;
};

/**
 * struct npuv_chunks - iterator over the chunks of a region, see region.c
 * @length: bytes of each chunk
 * @first: of the first chunk in the tensor and in the arena
 * @arena: see @first
 * @count: per dimension
 * @stride: see @count
 * @arena_stride: see @count
 * @index: see @count
 * @ring: slots along dimension 2, or zero
 * @done: no chunk is left
 */
struct npuv_chunks {
	u64 length;
	u64 first;
	u64 arena;
	u64 stride[NPUMEM_REGION_DIMS];
	u64 arena_stride[NPUMEM_REGION_DIMS];
	u32 count[NPUMEM_REGION_DIMS];
	u32 index[NPUMEM_REGION_DIMS];
	u32 ring;
	bool done;
};

/**
 * struct npuv_walk - iterator over the ranges of one access at a position
 * @plan: walked
 * @location: see @plan
 * @position: see @plan
 * @chunks: of the tile that are left
 * @first: next byte of the tensor
 * @left: bytes left of the current chunk
 * @linear: index of the next byte
 *
 * Ranges come in linear index order, adjacent ones merged. A parameter without
 * placement yields none. Never fails on a verified plan, if the position is
 * the one at which the access' step stands.
 *
 * Accesses of steps are those of the client's graph. A transfer has two: 0, which
 * it reads, and 1, which it writes; the linear index is counted from the
 * transfer's first byte, and all of a load's or fill's reads and of a store's or
 * spill's writes are NPUV_HOST, the others the arena. A drop has none.
 */
struct npuv_walk {
	const struct npuv_plan *plan;
	const struct npuv_location *location;
	struct npuv_chunks chunks;
	u32 position;
	u64 first;
	u64 left;
	u64 linear;
};

/* Begin to walk an access: a number of the client's graph, or 0 or 1 at a transfer's position. */
void npuv_walk_begin(struct npuv_walk *walk, const struct npuv_plan *plan, u32 position,
		     u32 access);
/* Right after it: go on from a byte of the access, by its linear index; none is left beyond it. */
void npuv_walk_seek(struct npuv_walk *walk, u64 linear);
bool npuv_walk_next(struct npuv_walk *walk, struct npuv_range *range);
/* Bytes of all ranges of a step's access together, without walking them. */
u64 npuv_access_bytes(const struct npuv_plan *plan, u32 access);

/* How often npuv_interrupted() is asked, in units of work. */
#define NPUV_TICKS 8192

/*
 * Count n units of work, each a few dozen instructions at most: 0, or -EINTR if a fatal
 * signal is pending. @ticks has the units since the last look for a signal, zero at first.
 * A caller of several functions that count passes the same @ticks to all of them, so that
 * it looks often enough even if each of them has little to do.
 */
static inline int npuv_tick(u32 *ticks, u32 n)
{
	*ticks += n;
	if (*ticks < NPUV_TICKS)
		return 0;
	*ticks = 0;
	return npuv_interrupted();
}

/**
 * npuv_copy_bytes() - what a copy at a position reads, and what it writes
 * @plan: the plan
 * @position: in the schedule; of a transfer both are zero
 * @ticks: see npuv_tick(), a unit each access
 * @read: bytes of all accesses that read
 * @written: bytes of all accesses that write
 *
 * Return: 0 or -EINTR.
 */
int npuv_copy_bytes(const struct npuv_plan *plan, u32 position, u32 *ticks, u64 *read,
		    u64 *written);

#include "states.h"

#endif /* NPUMEM_VERIFY_H */
