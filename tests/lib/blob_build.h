/* SPDX-License-Identifier: MIT */
/*
 * Builds graphs and plans for tests, as arrays of the uapi's records. A test builds a valid one in
 * a few lines, spoils what it likes, and writes the blobs. Nothing is checked: whatever a test asks
 * for is written. Lack of memory aborts the program.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "npumem_graph.h"
#include "npumem_plan.h"

/** struct build_array - records that grow; cast data to their type */
struct build_array {
	void *data;
	uint32_t count;
	uint32_t capacity;
	uint32_t size;
};

/*
 * struct build - a graph and a plan for it
 * @tensors to @carries: records of the graph
 * @strings: bytes of its names
 * @info to @views: records of the plan; @slots are __u32
 */
struct build {
	struct build_array tensors, tiles, accesses, steps, blocks, edges, carries, strings;
	struct npumem_plan_info info;
	struct build_array placements, positions, plan_blocks, entries, plan_edges, views, slots;
};

/** struct build_blob - written blob; free() the data, which is 8-byte aligned */
struct build_blob {
	void *data;
	size_t size;
};

void build_init(struct build *b);
void build_free(struct build *b);
/* Appends n records that are zero; returns the first. */
void *build_add(struct build_array *array, uint32_t n);

#define BUILD_AT(b, member, type, i) (&((struct type *)(b)->member.data)[i])
#define build_tensor_at(b, i)	     BUILD_AT(b, tensors, npumem_tensor, i)
#define build_tile_at(b, i)	     BUILD_AT(b, tiles, npumem_tile, i)
#define build_access_at(b, i)	     BUILD_AT(b, accesses, npumem_access, i)
#define build_step_at(b, i)	     BUILD_AT(b, steps, npumem_step, i)
#define build_block_at(b, i)	     BUILD_AT(b, blocks, npumem_block, i)
#define build_edge_at(b, i)	     BUILD_AT(b, edges, npumem_edge, i)
#define build_carry_at(b, i)	     BUILD_AT(b, carries, npumem_carry, i)
#define build_placement_at(b, i)     BUILD_AT(b, placements, npumem_placement, i)
#define build_position_at(b, i)	     BUILD_AT(b, positions, npumem_position, i)
#define build_plan_block_at(b, i)    BUILD_AT(b, plan_blocks, npumem_plan_block, i)
#define build_entry_at(b, i)	     BUILD_AT(b, entries, npumem_entry, i)
#define build_plan_edge_at(b, i)     BUILD_AT(b, plan_edges, npumem_plan_edge, i)
#define build_view_at(b, i)	     BUILD_AT(b, views, npumem_view, i)

/* The tensor whose bytes a tensor has: itself, if it is no alias or there is no such tensor. */
static inline uint32_t build_base_of(const struct build *b, uint32_t tensor)
{
	const struct npumem_tensor *t;

	if (tensor >= b->tensors.count)
		return tensor;
	t = build_tensor_at(b, tensor);
	return t->flags & NPUMEM_TENSOR_FLAG_ALIAS ? t->alias_of : tensor;
}

/* A region of @length bytes from @offset on, in one chunk. */
struct npumem_region build_region(uint64_t offset, uint64_t length);
/* A region of @count chunks of @length bytes, @stride bytes apart. */
struct npumem_region build_strided(uint64_t offset, uint64_t length, uint32_t count,
				   uint64_t stride);

/* Each of these appends a record and returns its index. A name may be NULL; alignment is 1. */
uint32_t build_tensor(struct build *b, uint32_t kind, uint64_t size, const char *name);
uint32_t build_tile(struct build *b, uint32_t tensor, struct npumem_region region);
uint32_t build_whole(struct build *b, uint32_t tensor);
uint32_t build_step(struct build *b, uint32_t flags, const char *name);
/* Appends an access to the last step. */
uint32_t build_access(struct build *b, uint32_t tile, uint32_t mode);
/* Makes one block of all steps, and a schedule of them in their order; called after the steps. */
void build_finish(struct build *b);
/* After build_finish(): places a tensor over the whole schedule; the arena grows to hold it. */
uint32_t build_place(struct build *b, uint32_t tensor, uint64_t offset);
uint32_t build_place_region(struct build *b, uint32_t tensor, uint32_t from, uint32_t to,
			    uint64_t offset, struct npumem_region region);

/*
 * Graphs of several blocks: instead of build_finish(), a block of the steps since
 * the last one, and edges with the carries that follow each.
 */
uint32_t build_block(struct build *b, const char *name);
uint32_t build_edge(struct build *b, uint32_t from, uint32_t to);
uint32_t build_carry(struct build *b, uint32_t from, uint32_t to);
/* Adds an instance of a block, with its steps in their order and no entries. */
uint32_t build_instance(struct build *b, uint32_t block);
/* Places a tensor over the last instance. */
uint32_t build_place_here(struct build *b, uint32_t tensor, uint64_t offset);
/* The same, and all of the tensor is in the entry state; returns the placement. */
uint32_t build_enter(struct build *b, uint32_t tensor, uint64_t offset);
uint32_t build_plan_edge(struct build *b, uint32_t from, uint32_t to, uint32_t edge);

struct build_blob build_graph(const struct build *b);
struct build_blob build_plan(const struct build *b);

/* The blob's entry in its section table; NULL if there is none of that kind. */
struct npumem_blob_section *build_section(struct build_blob blob, uint32_t kind);
