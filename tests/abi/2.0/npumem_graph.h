/* SPDX-License-Identifier: MIT */
/*
 * npumem graph blob: what an inference runtime submits.
 *
 * A graph is a list of tensors, of tiles (strided regions of tensors), of
 * steps (units of accelerator work) with their tile accesses, and of blocks
 * (straight runs of steps) joined by edges. The driver checks its structure
 * once, at DRM_IOCTL_NPUMEM_GRAPH_CREATE, and keeps it immutable.
 *
 * Layout. A blob is one npumem_blob_header, a table of npumem_blob_section,
 * and the sections themselves: arrays of the fixed-size records below. All
 * integers are little-endian; offsets are bytes from the start of the blob
 * and multiples of 8; sections neither overlap each other nor the header or
 * the table. A record's stride may be larger than the struct known here (a
 * newer writer): the bytes beyond must be zero. Padding, reserved fields and
 * unknown flags must be zero. Indices are zero-based; NPUMEM_NONE means "none".
 *
 * Errors are those of the ioctl that takes the blob: EBADMSG for a blob that
 * is not well formed, EINVAL for one that breaks a rule of the format,
 * E2BIG for one larger than the device's limits, EOPNOTSUPP for a feature
 * that this version of the driver does not verify yet.
 */
#ifndef NPUMEM_GRAPH_H
#define NPUMEM_GRAPH_H

#include <linux/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* "NPGR" and "NPPL" read as little-endian words. */
#define NPUMEM_GRAPH_MAGIC  0x5247504eu
#define NPUMEM_PLAN_MAGIC   0x4c50504eu
#define NPUMEM_BLOB_VERSION 1

#define NPUMEM_NONE		 0xffffffffu
#define NPUMEM_BLOB_MAX_BYTES	 (64ull << 20)
#define NPUMEM_BLOB_MAX_SECTIONS 32

/**
 * struct npumem_blob_header - first bytes of a graph or plan blob
 * @magic: NPUMEM_GRAPH_MAGIC or NPUMEM_PLAN_MAGIC
 * @version: NPUMEM_BLOB_VERSION; another one is refused with EOPNOTSUPP
 * @total_size: bytes of the whole blob, header included; equals what was passed
 * @section_count: entries of the section table, at most NPUMEM_BLOB_MAX_SECTIONS
 * @section_stride: bytes of one entry of the table, >= 32
 * @flags: none defined, zero
 * @pad: zero
 *
 * The section table follows at byte 32.
 */
struct npumem_blob_header {
	__u32 magic;
	__u32 version;
	__u64 total_size;
	__u32 section_count;
	__u32 section_stride;
	__u32 flags;
	__u32 pad;
};

/**
 * struct npumem_blob_section - entry of the section table
 * @kind: enum npumem_graph_section or enum npumem_plan_section; each at most
 *	once. Kinds >= NPUMEM_SECTION_OPAQUE are carried, bounds-checked, and
 *	never interpreted by the driver (for instance shapes for a planner)
 * @stride: bytes of one record; a multiple of 8, but 4 for view slots and 1
 *	for strings and opaque sections
 * @offset: of the first record from the start of the blob; multiple of 8
 * @count: records
 * @pad: zero
 */
struct npumem_blob_section {
	__u32 kind;
	__u32 stride;
	__u64 offset;
	__u64 count;
	__u64 pad;
};

#define NPUMEM_SECTION_OPAQUE 0x8000u

enum npumem_graph_section {
	NPUMEM_GRAPH_SECTION_TENSORS = 1,  /* struct npumem_tensor */
	NPUMEM_GRAPH_SECTION_TILES = 2,	   /* struct npumem_tile */
	NPUMEM_GRAPH_SECTION_ACCESSES = 3, /* struct npumem_access */
	NPUMEM_GRAPH_SECTION_STEPS = 4,	   /* struct npumem_step */
	NPUMEM_GRAPH_SECTION_BLOCKS = 5,   /* struct npumem_block */
	NPUMEM_GRAPH_SECTION_EDGES = 6,	   /* struct npumem_edge; absent = none */
	NPUMEM_GRAPH_SECTION_CARRIES = 7,  /* struct npumem_carry; absent = none */
	NPUMEM_GRAPH_SECTION_STRINGS = 8,  /* bytes, NUL-terminated names; absent = none */
	/* Opaque to the driver: the source model as graph JSON, for planners. */
	NPUMEM_GRAPH_SECTION_MODEL = NPUMEM_SECTION_OPAQUE + 1,
};

#define NPUMEM_REGION_DIMS 3

/**
 * struct npumem_region - strided set of bytes within one tensor
 * @offset: first byte
 * @length: bytes of each contiguous chunk, > 0
 * @count: repetitions per dimension, innermost first, each >= 1
 * @pad: zero
 * @stride: bytes between repetitions, per dimension; zero where count is 1
 *
 * The region holds length * count[0] * count[1] * count[2] bytes, none twice
 * and in ascending order: stride[0] >= length, and
 * stride[d] >= stride[d-1] * (count[d-1] - 1) + extent of one repetition,
 * where count > 1. Bytes are numbered (the "linear index") chunk by chunk,
 * dimension 0 fastest.
 *
 * A whole tensor is {0, size, {1, 1, 1}}; rows [r, r+n) of an NHWC tensor
 * {r * W * C, n * W * C}; the same rows and channels [c, c+k)
 * {(r * W) * C + c, k, {n * W}, {C}}; of an NCHW tensor
 * {(c * H + r) * W, n * W, {k}, {H * W}}.
 */
struct npumem_region {
	__u64 offset;
	__u64 length;
	__u32 count[NPUMEM_REGION_DIMS];
	__u32 pad;
	__u64 stride[NPUMEM_REGION_DIMS];
};

enum npumem_tensor_kind {
	NPUMEM_TENSOR_INTERMEDIATE = 0,
	NPUMEM_TENSOR_INPUT = 1,     /* whole and valid before the first step */
	NPUMEM_TENSOR_OUTPUT = 2,    /* whole and intact at the exit */
	NPUMEM_TENSOR_PARAMETER = 3, /* read only; outside the arena unless planned */
	NPUMEM_TENSOR_STATE = 4,     /* valid at entry and at exit (variable) */
};

/* The tensor's offset in the arena is given: fixed_offset. */
#define NPUMEM_TENSOR_FLAG_FIXED    (1u << 0)
/* Bound at run time to a buffer outside the arena; excludes FIXED and ALIAS. */
#define NPUMEM_TENSOR_FLAG_EXTERNAL (1u << 1)
/* A range of another tensor's bytes: alias_of, alias_offset. Excludes FIXED. */
#define NPUMEM_TENSOR_FLAG_ALIAS    (1u << 2)
/* Starts in host memory and must be loaded by the plan (inputs, parameters). */
#define NPUMEM_TENSOR_FLAG_HOST	    (1u << 3)
#define NPUMEM_TENSOR_FLAGS	    0xfu

/**
 * struct npumem_tensor - bytes with a size and an alignment, written once
 * @size: bytes, > 0
 * @fixed_offset: arena offset asked for if NPUMEM_TENSOR_FLAG_FIXED, else zero
 * @alias_offset: first byte within @alias_of if NPUMEM_TENSOR_FLAG_ALIAS, else zero
 * @align: power of two that every placement's offset is a multiple of, 1..65536;
 *	an alias has no placement, so its own says nothing
 * @kind: enum npumem_tensor_kind
 * @flags: NPUMEM_TENSOR_FLAG_*
 * @alias_of: tensor whose bytes these are, not itself an alias; else NPUMEM_NONE
 * @name: byte offset in the strings section, or NPUMEM_NONE
 * @pad: zero
 */
struct npumem_tensor {
	__u64 size;
	__u64 fixed_offset;
	__u64 alias_offset;
	__u32 align;
	__u32 kind;
	__u32 flags;
	__u32 alias_of;
	__u32 name;
	__u32 pad;
};

/**
 * struct npumem_tile - region of one tensor that a step reads or writes
 * @tensor: index
 * @flags: none defined, zero
 * @region: the bytes, inside the tensor
 *
 * Read tiles and write tiles of one tensor may be cut differently and overlap;
 * no byte is written twice but by updates.
 */
struct npumem_tile {
	__u32 tensor;
	__u32 flags;
	struct npumem_region region;
};

enum npumem_access_mode {
	NPUMEM_ACCESS_READ = 1,
	NPUMEM_ACCESS_WRITE = 2,
	NPUMEM_ACCESS_UPDATE = 3, /* read and rewritten in place */
};

/**
 * struct npumem_access - one tile access of a step
 * @tile: index
 * @mode: enum npumem_access_mode
 * @inplace: for a write that may take the bytes of one of its step's reads at
 *	equal linear index (an in-place operator), if that is their last use:
 *	that access's number within the step; otherwise NPUMEM_NONE. It stands
 *	for all reads of the same tile by the step: x * x may list its tile once
 *	or twice. Staged steps may do so without
 * @flags: none defined, zero
 */
struct npumem_access {
	__u32 tile;
	__u32 mode;
	__u32 inplace;
	__u32 flags;
};

/*
 * The step's reads complete on-chip before it stores anything, as tile steps
 * do: its own last reads free their bytes for its writes. Without the flag
 * reads and writes of a step count as simultaneous.
 */
#define NPUMEM_STEP_STAGED (1u << 0)
#define NPUMEM_STEP_FLAGS  0x1u

/**
 * struct npumem_step - one unit of accelerator work
 * @first_access: of this step's consecutive accesses; the steps' ranges are
 *	consecutive, in order, and cover the access section
 * @access_count: >= 1
 * @flags: NPUMEM_STEP_*
 * @name: byte offset in the strings section, or NPUMEM_NONE
 * @cookie: the runtime's own, never interpreted
 */
struct npumem_step {
	__u32 first_access;
	__u32 access_count;
	__u32 flags;
	__u32 name;
	__u64 cookie;
};

/**
 * struct npumem_block - straight run of steps
 * @first_step: of this block's consecutive steps; the blocks' ranges are
 *	consecutive, in order, and cover the step section
 * @step_count: may be zero
 * @flags: none defined, zero
 * @name: byte offset in the strings section, or NPUMEM_NONE
 *
 * Block 0 is the entry. Within a block steps stand in a topological order: no
 * step reads what a later one writes.
 */
struct npumem_block {
	__u32 first_step;
	__u32 step_count;
	__u32 flags;
	__u32 name;
};

/**
 * struct npumem_edge - control may pass from the end of one block to another
 * @from: block
 * @to: block, or NPUMEM_NONE for the exit of the graph
 * @first_carry: of this edge's consecutive carries
 * @carry_count: tensors that take on another's value along this edge
 * @flags: none defined, zero
 * @pad: zero
 *
 * A graph of one block needs no edges: its end is the exit. Loops are edges to
 * an earlier block, branches several edges from one block; there may be several
 * between the same two. Every block can be reached from block 0, and the exit
 * from every block.
 */
struct npumem_edge {
	__u32 from;
	__u32 to;
	__u32 first_carry;
	__u32 carry_count;
	__u32 flags;
	__u32 pad;
};

/**
 * struct npumem_carry - along its edge, @to takes the value of @from
 * @from: tensor, defined at the end of the edge's first block
 * @to: tensor of the same size
 *
 * The carries of an edge are one parallel assignment: no two are to the same
 * tensor. A tensor without one keeps its value. No copy is meant: a plan gives
 * both the same bytes. Neither is an alias, nor EXTERNAL unless both are the same
 * tensor; @to is neither input nor parameter.
 */
struct npumem_carry {
	__u32 from;
	__u32 to;
};

#if defined(__cplusplus)
}
#endif

#endif /* NPUMEM_GRAPH_H */
