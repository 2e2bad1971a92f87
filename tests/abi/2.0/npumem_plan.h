/* SPDX-License-Identifier: MIT */
/*
 * npumem plan blob: where every tensor of one graph lives, and when.
 *
 * A plan (the "offset map") is made by npumemd or offline, by
 * `npumemctl plan`; the driver verifies it once against its graph and then
 * enforces it at every job. The blob's framing is that of npumem_graph.h, with
 * NPUMEM_PLAN_MAGIC.
 */
#ifndef NPUMEM_PLAN_H
#define NPUMEM_PLAN_H

#include "npumem_graph.h"

#if defined(__cplusplus)
extern "C" {
#endif

enum npumem_plan_section {
	NPUMEM_PLAN_SECTION_INFO = 1,	    /* struct npumem_plan_info, exactly one */
	NPUMEM_PLAN_SECTION_PLACEMENTS = 2, /* struct npumem_placement */
	NPUMEM_PLAN_SECTION_SCHEDULE = 3,   /* struct npumem_position */
	NPUMEM_PLAN_SECTION_BLOCKS = 4,	    /* struct npumem_plan_block */
	NPUMEM_PLAN_SECTION_ENTRIES = 5,    /* struct npumem_entry; absent = none */
	NPUMEM_PLAN_SECTION_EDGES = 6,	    /* struct npumem_plan_edge; absent = none */
	NPUMEM_PLAN_SECTION_VIEWS = 7,	    /* struct npumem_view; absent = none */
	NPUMEM_PLAN_SECTION_VIEW_SLOTS = 8, /* __u32 placement, or NPUMEM_VIEW_SLOT_NESTED | view */
};

enum npumem_plan_status {
	NPUMEM_PLAN_STATUS_UNKNOWN = 0,
	NPUMEM_PLAN_STATUS_FEASIBLE = 1,
	NPUMEM_PLAN_STATUS_OPTIMAL = 2,	   /* proved by the planner; not by the driver */
	NPUMEM_PLAN_STATUS_INFEASIBLE = 3, /* an answer, never a plan that loads */
};

/**
 * struct npumem_plan_info - the plan as a whole
 * @arena_size: bytes of arena that the plan needs
 * @host_size: bytes of system memory that its loads, stores and fills need; zero
 *	if it has none
 * @lower_bound: bytes that no plan for this schedule can go below; 0 = unknown
 * @spill_bytes: of spills and stores of one inference, but not of the first
 *	store of an output's bytes
 * @fill_bytes: of fills
 * @load_bytes: compulsory ones: of loads, and of first stores of outputs
 * @work: deterministic work units that planning took
 * @alignment: power of two that every offset is a multiple of, >= 1
 * @status: enum npumem_plan_status
 * @planner: name, NUL-terminated and NUL-padded
 *
 * Only @arena_size and @host_size are relied on, and verified.
 */
struct npumem_plan_info {
	__u64 arena_size;
	__u64 host_size;
	__u64 lower_bound;
	__u64 spill_bytes;
	__u64 fill_bytes;
	__u64 load_bytes;
	__u64 work;
	__u32 alignment;
	__u32 status;
	char planner[32];
};

/**
 * struct npumem_placement - piece of a tensor, span of the schedule, address
 * @tensor: index
 * @block: plan block whose positions @from and @to are
 * @from: first position, counted in the whole schedule, at which it holds
 * @to: last position, inclusive; both are the first position of a plan block
 *	that has no positions
 * @offset: arena byte of the region's first byte; multiple of the tensor's
 *	alignment
 * @region: bytes of the tensor that the piece covers. All of it in the plain
 *	case; rows x channels where tensors are placed in pieces
 * @stride: arena bytes between repetitions, per dimension of @region; zero
 *	where count is 1
 * @ring: number of slots along dimension 2 of @region: repetition i lies at
 *	offset + (i mod ring) * stride[2]; zero for no ring
 * @flags: none defined, zero
 *
 * Bytes of a chunk stay contiguous. From the position that writes a byte (the
 * first one if it is valid at entry) to its last use (the last position if it
 * must survive the exit) exactly one placement covers it, the same throughout.
 */
struct npumem_placement {
	__u32 tensor;
	__u32 block;
	__u32 from;
	__u32 to;
	__u64 offset;
	struct npumem_region region;
	__u64 stride[NPUMEM_REGION_DIMS];
	__u32 ring;
	__u32 flags;
};

enum npumem_position_kind {
	NPUMEM_POSITION_STEP = 0,  /* run a step of the graph */
	NPUMEM_POSITION_LOAD = 1,  /* host to arena, first arrival of a HOST tensor's bytes */
	NPUMEM_POSITION_SPILL = 2, /* arena to host; the bytes are then free */
	NPUMEM_POSITION_FILL = 3,  /* host to arena, bytes that were there before */
	NPUMEM_POSITION_DROP = 4,  /* forget bytes whose host copy is valid */
	NPUMEM_POSITION_STORE = 5, /* arena to host; the bytes stay where they are, too */
};

/**
 * struct npumem_position - one entry of the schedule
 * @kind: enum npumem_position_kind
 * @index: step of the graph for NPUMEM_POSITION_STEP, else tensor; neither an
 *	alias nor EXTERNAL nor state
 * @placement: for transfers: the placement copied from or to, which holds all
 *	these bytes at this position; NPUMEM_NONE for steps and drops
 * @pad: zero
 * @first: for transfers: first byte of the tensor moved; else zero
 * @length: for transfers: bytes moved; else zero
 * @host_offset: for transfers but drops: byte in the run's host buffer where the
 *	first one's copy is; else zero
 *
 * A tensor's bytes come to the arena when a step writes them, or by a load or
 * fill, and stay until a spill or drop. Each such stay has a placement of its
 * own, in force from the position that begins it to its last use. Transfers may
 * move any range of a tensor. A byte's copy has one address in host memory in
 * all the plan; bytes of other tensors may be there before and after it is needed.
 *
 * A copy is valid from the store or spill that made it, or from the beginning
 * for HOST tensors, until a step writes the bytes again. HOST tensors are not in
 * the arena before they are loaded, and the runtime puts their bytes into the
 * host buffer where the loads say before it submits anything. Bytes of an output
 * that have a valid copy at the end of the schedule are found there, and the
 * copy is kept until then; others are found in the arena.
 *
 * In a graph with edges no copy is valid when a block is entered, and the copies that
 * a block has made are gone at its end: what an edge or the exit needs is in the arena then,
 * outputs too. HOST tensors, and so loads, are not supported there.
 */
struct npumem_position {
	__u32 kind;
	__u32 index;
	__u32 placement;
	__u32 pad;
	__u64 first;
	__u64 length;
	__u64 host_offset;
};

/**
 * struct npumem_plan_block - one instance of a block of the graph
 * @block: of the graph; a loop unrolled R times has R instances in a ring
 * @first_position: of this instance's consecutive positions
 * @position_count: positions
 * @first_entry: of this instance's consecutive records of its entry state
 * @entry_count: records of its entry state
 * @pad: zero
 *
 * The instances' position ranges are consecutive, in order, and cover the
 * schedule; each holds every step of its graph block exactly once. Their entry
 * ranges are consecutive, in order, and cover the entry section. Instance 0 is
 * of block 0, and is where an inference begins.
 */
struct npumem_plan_block {
	__u32 block;
	__u32 first_position;
	__u32 position_count;
	__u32 first_entry;
	__u32 entry_count;
	__u32 pad;
};

#define NPUMEM_ENTRY_RESIDENT (1u << 0) /* in the arena, at @placement */
#define NPUMEM_ENTRY_HOST     (1u << 1) /* a valid copy at @host_offset */

/**
 * struct npumem_entry - ownership that holds whenever its block is entered
 * @tensor: index; not an alias
 * @placement: of the same instance, in force at its first position, that holds
 *	all these bytes; NPUMEM_NONE for an EXTERNAL tensor
 * @flags: NPUMEM_ENTRY_*: RESIDENT, or none for an EXTERNAL tensor
 * @pad: zero
 * @first: first byte of the tensor
 * @length: bytes
 * @host_offset: byte in the run's host buffer if NPUMEM_ENTRY_HOST, else zero
 *
 * As a JVM class file carries stack maps: each block is verified once, and
 * each edge by comparing the exit state with the next entry state. Whatever a
 * block, or one after it, reads without having written it must be listed: also
 * inputs, parameters planned in the arena and state. Instance 0 lists only
 * these, as an inference begins with nothing else. Not listed are parameters
 * outside the arena, and EXTERNAL tensors that are inputs, parameters or state.
 * A graph of one block without edges has no entry records: what is valid when
 * it begins lies at the placements in force at position 0.
 *
 * No byte of a tensor is listed twice for an instance. Two tensors may be at
 * the same arena bytes, two names for one value, but not in instance 0.
 */
struct npumem_entry {
	__u32 tensor;
	__u32 placement;
	__u32 flags;
	__u32 pad;
	__u64 first;
	__u64 length;
	__u64 host_offset;
};

/**
 * struct npumem_plan_edge - edge of the graph between two block instances
 * @from: plan block
 * @to: plan block, or NPUMEM_NONE for the exit
 * @edge: of the graph, or NPUMEM_NONE for a graph of one block
 * @pad: zero
 *
 * Each instance has exactly one plan edge for each edge of the graph from its
 * block, to an instance of the block that one leads to: the program may take
 * any path. A graph of one block without edges needs none.
 */
struct npumem_plan_edge {
	__u32 from;
	__u32 to;
	__u32 edge;
	__u32 pad;
};

/* A view slot that is itself a multi-view tensor: loops in loops, never in itself. */
#define NPUMEM_VIEW_SLOT_NESTED 0x80000000u

enum npumem_view_type {
	NPUMEM_VIEW_CYCLIC = 1,	      /* slot = counter % repeat */
	NPUMEM_VIEW_FIRST_CYCLIC = 2, /* slot 0 at counter 0, then 1 + (counter-1) % repeat */
};

/**
 * struct npumem_view - multi-view tensor of an unrolled loop, for the runtime
 * @tensor: index
 * @type: enum npumem_view_type
 * @repeat: unroll factor
 * @loop: edge of the graph that closes the loop whose iterations are counted
 * @first_slot: in the view-slot section
 * @slot_count: repeat, or repeat + 1 for NPUMEM_VIEW_FIRST_CYCLIC
 *
 * A slot is a placement of this tensor, or another view of it. Returned to the
 * runtime; the driver relies on the blocks alone.
 */
struct npumem_view {
	__u32 tensor;
	__u32 type;
	__u32 repeat;
	__u32 loop;
	__u32 first_slot;
	__u32 slot_count;
};

/*
 * Rules have ranges with room: verification of a plan from 1, the form of a blob from 64,
 * enforcement of jobs from 128. A number is never used again.
 */
enum npumem_rule {
	NPUMEM_RULE_NONE = 0,
	NPUMEM_RULE_V1_BOUNDS = 1, /* placements in the arena, aligned, fixed */
	NPUMEM_RULE_V2_ORDER = 2,  /* every step once, spills well formed */
	NPUMEM_RULE_V3_READ = 3,   /* bytes read are owned by their tensor */
	NPUMEM_RULE_V4_WRITE = 4,  /* bytes written are free, dead or updated */
	NPUMEM_RULE_V5_SPILL = 5,  /* what is filled or evicted has a valid copy */
	NPUMEM_RULE_V6_EDGE = 6,   /* what a block leaves is what the next one needs */
	NPUMEM_RULE_V7_EXIT = 7,   /* outputs intact at the exit */

	NPUMEM_RULE_FORMAT = 64, /* the blob itself; see the log */

	NPUMEM_RULE_ENFORCE_READ = 128,	  /* job reads a tile that is not LIVE */
	NPUMEM_RULE_ENFORCE_WRITE = 129,  /* job overwrites a tile not yet RETIRED */
	NPUMEM_RULE_ENFORCE_TWICE = 130,  /* job's step has been submitted already */
	NPUMEM_RULE_ENFORCE_LOST = 131,	  /* the run has failed; RUN_RESET first */
	NPUMEM_RULE_ENFORCE_EDGE = 132,	  /* job of a block that the run is not in */
	NPUMEM_RULE_ENFORCE_BIND = 133,	  /* job accesses an external tensor not bound */
	NPUMEM_RULE_ENFORCE_BESIDE = 134, /* engine in a process wrote beside a tile's copy */
};

/* Features that verification and enforcement know, in drm_npumem_info. */
#define NPUMEM_FEATURE_PIECES	(1ull << 0) /* tensors placed in pieces, rings */
#define NPUMEM_FEATURE_SPILL	(1ull << 1) /* transfers; HOST tensors, but not with BLOCKS */
#define NPUMEM_FEATURE_BLOCKS	(1ull << 2) /* loops and branches */
#define NPUMEM_FEATURE_ALIAS	(1ull << 3)
#define NPUMEM_FEATURE_EXTERNAL (1ull << 4)
#define NPUMEM_FEATURE_INPLACE	(1ull << 5) /* npumem_access.inplace; updates need none */

/**
 * struct npumem_verdict - what is wrong, and where
 * @rule: enum npumem_rule
 * @position: in the plan's schedule, or NPUMEM_NONE
 * @step: of the graph, or NPUMEM_NONE
 * @tile: of the graph, or NPUMEM_NONE
 * @tensor: that the access or placement is of, or NPUMEM_NONE
 * @other_step: that wrote or still needs the bytes, or NPUMEM_NONE
 * @other_tile: whose bytes they are, or NPUMEM_NONE
 * @other_tensor: whose bytes they are, or NPUMEM_NONE
 * @first: first offending byte, in the arena; in the blob for
 *	NPUMEM_RULE_FORMAT; for NPUMEM_RULE_ENFORCE_BESIDE counted from the first byte of the copy
 *	of @tile, or of the window if that is NPUMEM_NONE, with what follows in @other_tile
 * @length: offending bytes
 * @reserved: zero; room for later versions
 */
struct npumem_verdict {
	__u32 rule;
	__u32 position;
	__u32 step;
	__u32 tile;
	__u32 tensor;
	__u32 other_step;
	__u32 other_tile;
	__u32 other_tensor;
	__u64 first;
	__u64 length;
	__u64 reserved[4];
};

#if defined(__cplusplus)
}
#endif

#endif /* NPUMEM_PLAN_H */
