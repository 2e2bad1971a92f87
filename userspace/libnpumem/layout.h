/* SPDX-License-Identifier: MIT */
/* What the files of a layout share; not installed. */
#pragma once

#include "device.h"
#include "npumem_layout.h"

/**
 * struct npumem_layout - records of a graph and of its plan, all of whose indices are right
 * @tensors: of the graph
 * @tiles: of the graph
 * @accesses: of the graph
 * @steps: of the graph
 * @info: of the plan
 * @placements: of the plan
 * @positions: of the plan
 * @blocks: of the plan
 * @entries: of the plan
 * @edges: of the plan
 * @views: of the plan
 * @slots: of the plan's views
 * @by_tensor: numbers of all placements, by tensor
 * @first_of: per tensor, and once more: where its placements begin in @by_tensor
 * @tensor_count: number of @tensors
 * @tile_count: number of @tiles
 * @access_count: number of @accesses
 * @step_count: number of @steps
 * @info_count: number of records at @info, of which only the first one counts
 * @placement_count: number of @placements
 * @position_count: number of @positions
 * @block_count: number of @blocks
 * @entry_count: number of @entries
 * @edge_count: number of @edges
 * @view_count: number of @views
 * @slot_count: number of @slots
 */
struct npumem_layout {
	struct npumem_tensor *tensors;
	struct npumem_tile *tiles;
	struct npumem_access *accesses;
	struct npumem_step *steps;
	struct npumem_plan_info *info;
	struct npumem_placement *placements;
	struct npumem_position *positions;
	struct npumem_plan_block *blocks;
	struct npumem_entry *entries;
	struct npumem_plan_edge *edges;
	struct npumem_view *views;
	uint32_t *slots;
	uint32_t *by_tensor;
	uint32_t *first_of;
	uint32_t tensor_count;
	uint32_t tile_count;
	uint32_t access_count;
	uint32_t step_count;
	uint32_t info_count;
	uint32_t placement_count;
	uint32_t position_count;
	uint32_t block_count;
	uint32_t entry_count;
	uint32_t edge_count;
	uint32_t view_count;
	uint32_t slot_count;
};

/**
 * struct layout_section - a kind of records that a layout keeps
 * @name: of one record, for people
 * @kind: of the blob's section
 * @size: bytes of a record here
 * @records: where the layout has the pointer to them: bytes from its beginning
 * @count: where it has their number
 * @required: the blob has to have some
 */
struct layout_section {
	const char *name;
	uint32_t kind;
	uint32_t size;
	uint32_t records;
	uint32_t count;
	bool required;
};

/* layout_read.c: the plan's sections, and the one of a kind or NULL */
const struct layout_section *layout_plan_section(uint32_t kind);

static inline void *layout_records(const struct npumem_layout *layout,
				   const struct layout_section *section)
{
	void *records;

	memcpy(&records, (const char *)layout + section->records, sizeof(records));
	return records;
}

static inline uint32_t layout_count(const struct npumem_layout *layout,
				    const struct layout_section *section)
{
	uint32_t count;

	memcpy(&count, (const char *)layout + section->count, sizeof(count));
	return count;
}

/* The tensor that has the bytes: the one that an alias is a part of, or the tensor itself. */
static inline uint32_t layout_base(const struct npumem_layout *layout, uint32_t tensor)
{
	const struct npumem_tensor *t = &layout->tensors[tensor];

	return t->flags & NPUMEM_TENSOR_FLAG_ALIAS ? t->alias_of : tensor;
}

/* The first byte that a tensor has in its base. */
static inline uint64_t layout_base_offset(const struct npumem_layout *layout, uint32_t tensor)
{
	const struct npumem_tensor *t = &layout->tensors[tensor];

	return t->flags & NPUMEM_TENSOR_FLAG_ALIAS ? t->alias_offset : 0;
}
