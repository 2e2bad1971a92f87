// SPDX-License-Identifier: MIT
/* Layouts: read from the blobs, and checked so far that no index or range leads astray. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../chunks/chunks.h"
#include "layout.h"

/* Chunks of a region that are walked through; a plan with more in one has another use for them. */
#define MAX_CHUNKS (1u << 24)

#define SECTION(NAME, KIND, FIELD, COUNT, REQUIRED)       \
	{ NAME,                                           \
	  KIND,                                           \
	  sizeof(*((struct npumem_layout *)NULL)->FIELD), \
	  offsetof(struct npumem_layout, FIELD),          \
	  offsetof(struct npumem_layout, COUNT),          \
	  REQUIRED }

static const struct layout_section graph_sections[] = {
	SECTION("tensor", NPUMEM_GRAPH_SECTION_TENSORS, tensors, tensor_count, true),
	SECTION("tile", NPUMEM_GRAPH_SECTION_TILES, tiles, tile_count, true),
	SECTION("access", NPUMEM_GRAPH_SECTION_ACCESSES, accesses, access_count, true),
	SECTION("step", NPUMEM_GRAPH_SECTION_STEPS, steps, step_count, true),
};

static const struct layout_section plan_sections[] = {
	SECTION("info", NPUMEM_PLAN_SECTION_INFO, info, info_count, true),
	SECTION("placement", NPUMEM_PLAN_SECTION_PLACEMENTS, placements, placement_count, false),
	SECTION("position", NPUMEM_PLAN_SECTION_SCHEDULE, positions, position_count, true),
	SECTION("block", NPUMEM_PLAN_SECTION_BLOCKS, blocks, block_count, true),
	SECTION("entry", NPUMEM_PLAN_SECTION_ENTRIES, entries, entry_count, false),
	SECTION("edge", NPUMEM_PLAN_SECTION_EDGES, edges, edge_count, false),
	SECTION("view", NPUMEM_PLAN_SECTION_VIEWS, views, view_count, false),
	SECTION("view slot", NPUMEM_PLAN_SECTION_VIEW_SLOTS, slots, slot_count, false),
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

const struct layout_section *layout_plan_section(uint32_t kind)
{
	for (size_t i = 0; i < COUNT_OF(plan_sections); i++)
		if (plan_sections[i].kind == kind)
			return &plan_sections[i];
	return NULL;
}

/* ------------------------------------------------------------------- blobs */

static int bad_blob(struct npumem_error *error, const char *what, const char *flaw)
{
	return npumem_fail(error, -EBADMSG, "the %s blob: %s", what, flaw);
}

static int check_header(const uint8_t *blob, size_t size, uint32_t magic, const char *what,
			struct npumem_blob_header *header, struct npumem_error *error)
{
	if (size < sizeof(*header))
		return bad_blob(error, what, "it is shorter than its header");
	memcpy(header, blob, sizeof(*header));
	if (header->magic != magic)
		return bad_blob(error, what, "it has another magic number");
	if (header->version != NPUMEM_BLOB_VERSION)
		return npumem_fail(error, -EOPNOTSUPP,
				   "the %s blob is of version %u, which is not known here", what,
				   header->version);
	if (header->total_size != size)
		return bad_blob(error, what, "it has another length than it says");
	if (header->section_stride < sizeof(struct npumem_blob_section) ||
	    header->section_count > (size - sizeof(*header)) / header->section_stride)
		return bad_blob(error, what, "its table of sections is beyond its end");
	return 0;
}

/* Records as they are here: of longer ones the beginnings, shorter ones continued by zeros. */
static int take_records(struct npumem_layout *layout, const struct layout_section *known,
			const uint8_t *blob, size_t size, const struct npumem_blob_section *found,
			const char *what, struct npumem_error *error)
{
	uint32_t unit = known->size < 8 ? known->size : 8, count = (uint32_t)found->count;
	size_t bytes;
	uint8_t *records;

	if (!found->stride || found->stride % unit || found->offset > size ||
	    found->count > (size - found->offset) / found->stride || found->count >= NPUMEM_NONE)
		return npumem_fail(error, -EBADMSG, "the %s blob: section %u is beyond its end",
				   what, found->kind);
	if (layout_records(layout, known))
		return npumem_fail(error, -EBADMSG, "the %s blob: it has section %u twice", what,
				   found->kind);
	records = calloc(found->count + 1, known->size);
	if (!records)
		return npumem_fail_errno(error, -ENOMEM, "read a %s blob", what);
	bytes = known->size < found->stride ? known->size : found->stride;
	for (uint32_t i = 0; i < count; i++)
		memcpy(records + (size_t)i * known->size,
		       blob + found->offset + (size_t)i * found->stride, bytes);
	memcpy((char *)layout + known->records, &records, sizeof(records));
	memcpy((char *)layout + known->count, &count, sizeof(count));
	return 0;
}

static int read_blob(struct npumem_layout *layout, const void *blob, size_t size, uint32_t magic,
		     const struct layout_section *known, size_t known_count, const char *what,
		     struct npumem_error *error)
{
	struct npumem_blob_header header;
	int err = check_header(blob, size, magic, what, &header, error);

	for (uint32_t i = 0; !err && i < header.section_count; i++) {
		struct npumem_blob_section found;

		memcpy(&found,
		       (const uint8_t *)blob + sizeof(header) + (size_t)i * header.section_stride,
		       sizeof(found));
		for (size_t k = 0; !err && k < known_count; k++)
			if (known[k].kind == found.kind)
				err = take_records(layout, &known[k], blob, size, &found, what,
						   error);
	}
	for (size_t k = 0; !err && k < known_count; k++)
		if (known[k].required && !layout_count(layout, &known[k]))
			err = npumem_fail(error, -EBADMSG, "the %s blob has no %s", what,
					  known[k].name);
	return err;
}

/* -------------------------------------------------------------------- checks */

static bool within(uint64_t first, uint64_t length, uint64_t size)
{
	return first <= size && length <= size - first;
}

/* Whether chunks that repeat by @stride reach no further than @size; a ring has @ring slots. */
static bool chunks_within(const struct npumem_region *region, uint64_t first, const __u64 *stride,
			  uint32_t ring, uint64_t size)
{
	uint64_t end, chunks = 1;

	if (!region->length || __builtin_add_overflow(first, region->length, &end))
		return false;
	for (int d = 0; d < NPUMEM_REGION_DIMS; d++) {
		uint32_t slots = region->count[d];
		uint64_t more;

		if (__builtin_mul_overflow(chunks, region->count[d], &chunks) ||
		    chunks > MAX_CHUNKS)
			return false;
		if (d == NPUMEM_REGION_DIMS - 1 && ring && ring < slots)
			slots = ring;
		if (slots && (__builtin_mul_overflow(stride[d], (uint64_t)slots - 1, &more) ||
			      __builtin_add_overflow(end, more, &end)))
			return false;
	}
	return chunks && end <= size;
}

static bool region_within(const struct npumem_layout *l, const struct npumem_region *region,
			  uint32_t tensor)
{
	uint64_t size = l->tensors[tensor].size;

	/* No byte is there twice, so that a walk through the region ends soon. */
	return chunks_within(region, region->offset, region->stride, 0, size) &&
	       region->length <= size / chunks_count(region);
}

static const char *tensor_flaw(const struct npumem_layout *l, uint32_t i)
{
	const struct npumem_tensor *t = &l->tensors[i];

	if (!(t->flags & NPUMEM_TENSOR_FLAG_ALIAS))
		return NULL;
	if (t->alias_of >= l->tensor_count ||
	    l->tensors[t->alias_of].flags & NPUMEM_TENSOR_FLAG_ALIAS)
		return "it is an alias of no tensor that has bytes";
	return within(t->alias_offset, t->size, l->tensors[t->alias_of].size) ?
		       NULL :
		       "it is an alias of bytes that its base has not";
}

static const char *tile_flaw(const struct npumem_layout *l, uint32_t i)
{
	const struct npumem_tile *t = &l->tiles[i];

	if (t->tensor >= l->tensor_count)
		return "its tensor is not there";
	return region_within(l, &t->region, t->tensor) ? NULL : "it is not within its tensor";
}

static const char *access_flaw(const struct npumem_layout *l, uint32_t i)
{
	return l->accesses[i].tile < l->tile_count ? NULL : "its tile is not there";
}

static const char *step_flaw(const struct npumem_layout *l, uint32_t i)
{
	return within(l->steps[i].first_access, l->steps[i].access_count, l->access_count) ?
		       NULL :
		       "its accesses are not there";
}

static const char *placement_flaw(const struct npumem_layout *l, uint32_t i)
{
	const struct npumem_placement *p = &l->placements[i];

	if (p->tensor >= l->tensor_count || l->tensors[p->tensor].flags & NPUMEM_TENSOR_FLAG_ALIAS)
		return "its tensor is not there, or is an alias";
	if (p->block >= l->block_count)
		return "its block is not there";
	if (!region_within(l, &p->region, p->tensor))
		return "it is not within its tensor";
	return chunks_within(&p->region, p->offset, p->stride, p->ring, l->info->arena_size) ?
		       NULL :
		       "it is not within the arena";
}

static const char *position_flaw(const struct npumem_layout *l, uint32_t i)
{
	const struct npumem_position *p = &l->positions[i];
	bool drop = p->kind == NPUMEM_POSITION_DROP;

	if (p->kind == NPUMEM_POSITION_STEP)
		return p->index < l->step_count ? NULL : "its step is not there";
	if (p->kind > NPUMEM_POSITION_STORE)
		return "it is of a kind that is not known here";
	if (p->index >= l->tensor_count || !within(p->first, p->length, l->tensors[p->index].size))
		return "it moves bytes of no tensor";
	return drop || within(p->host_offset, p->length, l->info->host_size) ?
		       NULL :
		       "it is not within host memory";
}

static const char *block_flaw(const struct npumem_layout *l, uint32_t i)
{
	const struct npumem_plan_block *b = &l->blocks[i];

	if (!within(b->first_position, b->position_count, l->position_count))
		return "its positions are not there";
	return within(b->first_entry, b->entry_count, l->entry_count) ? NULL :
									"its entries are not there";
}

static const char *entry_flaw(const struct npumem_layout *l, uint32_t i)
{
	const struct npumem_entry *e = &l->entries[i];

	if (e->tensor >= l->tensor_count ||
	    !within(e->first, e->length, l->tensors[e->tensor].size))
		return "it is of bytes of no tensor";
	if (e->flags & NPUMEM_ENTRY_RESIDENT &&
	    (e->placement >= l->placement_count || l->placements[e->placement].tensor != e->tensor))
		return "its placement is not one of its tensor";
	return e->flags & NPUMEM_ENTRY_HOST &&
			       !within(e->host_offset, e->length, l->info->host_size) ?
		       "it is not within host memory" :
		       NULL;
}

static const char *edge_flaw(const struct npumem_layout *l, uint32_t i)
{
	const struct npumem_plan_edge *e = &l->edges[i];

	return e->from < l->block_count && (e->to < l->block_count || e->to == NPUMEM_NONE) ?
		       NULL :
		       "its blocks are not there";
}

static const char *view_flaw(const struct npumem_layout *l, uint32_t i)
{
	const struct npumem_view *v = &l->views[i];
	uint32_t first = v->type == NPUMEM_VIEW_FIRST_CYCLIC;

	if (v->type != NPUMEM_VIEW_CYCLIC && !first)
		return "it is of a type that is not known here";
	if (!v->repeat || v->slot_count < first || v->slot_count - first != v->repeat ||
	    !within(v->first_slot, v->slot_count, l->slot_count))
		return "its slots are not there";
	for (uint32_t s = v->first_slot; s < v->first_slot + v->slot_count; s++) {
		uint32_t slot = l->slots[s] & ~NPUMEM_VIEW_SLOT_NESTED;

		if (l->slots[s] & NPUMEM_VIEW_SLOT_NESTED ?
			    slot >= l->view_count || l->views[slot].tensor != v->tensor :
			    slot >= l->placement_count || l->placements[slot].tensor != v->tensor)
			return "a slot leads to what is not of its tensor";
	}
	return NULL;
}

static int check_records(const struct npumem_layout *layout, struct npumem_error *error)
{
	const struct {
		const char *name;
		const char *(*flaw)(const struct npumem_layout *layout, uint32_t i);
		uint32_t count;
	} kinds[] = {
		{ "tensor", tensor_flaw, layout->tensor_count },
		{ "tile", tile_flaw, layout->tile_count },
		{ "access", access_flaw, layout->access_count },
		{ "step", step_flaw, layout->step_count },
		{ "placement", placement_flaw, layout->placement_count },
		{ "position", position_flaw, layout->position_count },
		{ "block", block_flaw, layout->block_count },
		{ "entry", entry_flaw, layout->entry_count },
		{ "edge", edge_flaw, layout->edge_count },
		{ "view", view_flaw, layout->view_count },
	};

	for (size_t k = 0; k < COUNT_OF(kinds); k++) {
		for (uint32_t i = 0; i < kinds[k].count; i++) {
			const char *flaw = kinds[k].flaw(layout, i);

			if (flaw)
				return npumem_fail(error, -EBADMSG, "%s %u of the %s: %s",
						   kinds[k].name, i, k < 4 ? "graph" : "plan",
						   flaw);
		}
	}
	return 0;
}

/* ------------------------------------------------------------------- objects */

static int index_placements(struct npumem_layout *l)
{
	l->first_of = calloc((size_t)l->tensor_count + 1, sizeof(*l->first_of));
	l->by_tensor = calloc((size_t)l->placement_count + 1, sizeof(*l->by_tensor));
	if (!l->first_of || !l->by_tensor)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->placement_count; i++)
		l->first_of[l->placements[i].tensor + 1]++;
	for (uint32_t t = 0; t < l->tensor_count; t++)
		l->first_of[t + 1] += l->first_of[t];
	/* Filled from the end, each tensor's beginning moves down to where it belongs. */
	for (uint32_t i = l->placement_count; i-- > 0;)
		l->by_tensor[--l->first_of[l->placements[i].tensor + 1]] = i;
	memmove(l->first_of, l->first_of + 1, l->tensor_count * sizeof(*l->first_of));
	l->first_of[l->tensor_count] = l->placement_count;
	return 0;
}

int npumem_layout_new(const void *graph, size_t graph_size, const void *plan, size_t plan_size,
		      struct npumem_layout **out, struct npumem_error *error)
{
	struct npumem_layout *layout;
	int err;

	if (!graph || !plan || !out)
		return npumem_fail(error, -EINVAL, "npumem_layout_new: NULL argument");
	layout = calloc(1, sizeof(*layout));
	if (!layout)
		return npumem_fail_errno(error, -ENOMEM, "make a layout");
	err = read_blob(layout, graph, graph_size, NPUMEM_GRAPH_MAGIC, graph_sections,
			COUNT_OF(graph_sections), "graph", error);
	if (!err)
		err = read_blob(layout, plan, plan_size, NPUMEM_PLAN_MAGIC, plan_sections,
				COUNT_OF(plan_sections), "plan", error);
	if (!err)
		err = check_records(layout, error);
	if (!err && index_placements(layout))
		err = npumem_fail_errno(error, -ENOMEM, "make a layout");
	if (err) {
		npumem_layout_free(layout);
		return err;
	}
	*out = layout;
	return 0;
}

int npumem_plan_layout(struct npumem_plan *plan, struct npumem_layout **out,
		       struct npumem_error *error)
{
	void *graph = NULL, *blob = NULL;
	size_t graph_size, size;
	int err;

	if (!plan || !out)
		return npumem_fail(error, -EINVAL, "npumem_plan_layout: NULL argument");
	err = npumem_plan_graph(plan, &graph, &graph_size, error);
	if (!err)
		err = npumem_plan_read(plan, &blob, &size, error);
	if (!err)
		err = npumem_layout_new(graph, graph_size, blob, size, out, error);
	free(blob);
	free(graph);
	return err;
}

void npumem_layout_free(struct npumem_layout *layout)
{
	if (!layout)
		return;
	for (size_t i = 0; i < COUNT_OF(graph_sections); i++)
		free(layout_records(layout, &graph_sections[i]));
	for (size_t i = 0; i < COUNT_OF(plan_sections); i++)
		free(layout_records(layout, &plan_sections[i]));
	free(layout->by_tensor);
	free(layout->first_of);
	free(layout);
}
