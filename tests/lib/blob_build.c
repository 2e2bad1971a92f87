// SPDX-License-Identifier: MIT
#include "blob_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blob.h"

void build_init(struct build *b)
{
	memset(b, 0, sizeof(*b));
	b->tensors.size = sizeof(struct npumem_tensor);
	b->tiles.size = sizeof(struct npumem_tile);
	b->accesses.size = sizeof(struct npumem_access);
	b->steps.size = sizeof(struct npumem_step);
	b->blocks.size = sizeof(struct npumem_block);
	b->edges.size = sizeof(struct npumem_edge);
	b->carries.size = sizeof(struct npumem_carry);
	b->strings.size = 1;
	b->placements.size = sizeof(struct npumem_placement);
	b->positions.size = sizeof(struct npumem_position);
	b->plan_blocks.size = sizeof(struct npumem_plan_block);
	b->entries.size = sizeof(struct npumem_entry);
	b->plan_edges.size = sizeof(struct npumem_plan_edge);
	b->views.size = sizeof(struct npumem_view);
	b->slots.size = sizeof(uint32_t);
	b->info.alignment = 1;
	b->info.status = NPUMEM_PLAN_STATUS_FEASIBLE;
	strcpy(b->info.planner, "test");
}

void build_free(struct build *b)
{
	free(b->tensors.data);
	free(b->tiles.data);
	free(b->accesses.data);
	free(b->steps.data);
	free(b->blocks.data);
	free(b->edges.data);
	free(b->carries.data);
	free(b->strings.data);
	free(b->placements.data);
	free(b->positions.data);
	free(b->plan_blocks.data);
	free(b->entries.data);
	free(b->plan_edges.data);
	free(b->views.data);
	free(b->slots.data);
}

void *build_add(struct build_array *a, uint32_t n)
{
	void *record;

	if (a->count + n > a->capacity) {
		a->capacity = 2 * (a->count + n) + 14;
		a->data = realloc(a->data, (size_t)a->capacity * a->size);
		if (!a->data)
			abort();
	}
	record = (char *)a->data + (size_t)a->count * a->size;
	if (n)
		memset(record, 0, (size_t)n * a->size);
	a->count += n;
	return record;
}

struct npumem_region build_region(uint64_t offset, uint64_t length)
{
	struct npumem_region r = { .offset = offset, .length = length, .count = { 1, 1, 1 } };

	return r;
}

struct npumem_region build_strided(uint64_t offset, uint64_t length, uint32_t count,
				   uint64_t stride)
{
	struct npumem_region r = build_region(offset, length);

	r.count[0] = count;
	r.stride[0] = stride;
	return r;
}

static uint32_t add_name(struct build *b, const char *name)
{
	uint32_t at = b->strings.count;

	if (!name)
		return NPUMEM_NONE;
	strcpy(build_add(&b->strings, (uint32_t)strlen(name) + 1), name);
	return at;
}

uint32_t build_tensor(struct build *b, uint32_t kind, uint64_t size, const char *name)
{
	struct npumem_tensor *t = build_add(&b->tensors, 1);

	t->size = size;
	t->align = 1;
	t->kind = kind;
	t->alias_of = NPUMEM_NONE;
	t->name = add_name(b, name);
	return b->tensors.count - 1;
}

uint32_t build_tile(struct build *b, uint32_t tensor, struct npumem_region region)
{
	struct npumem_tile *t = build_add(&b->tiles, 1);

	t->tensor = tensor;
	t->region = region;
	return b->tiles.count - 1;
}

uint32_t build_whole(struct build *b, uint32_t tensor)
{
	return build_tile(b, tensor, build_region(0, build_tensor_at(b, tensor)->size));
}

uint32_t build_step(struct build *b, uint32_t flags, const char *name)
{
	struct npumem_step *s = build_add(&b->steps, 1);

	s->first_access = b->accesses.count;
	s->flags = flags;
	s->name = add_name(b, name);
	return b->steps.count - 1;
}

uint32_t build_access(struct build *b, uint32_t tile, uint32_t mode)
{
	struct npumem_access *a = build_add(&b->accesses, 1);

	a->tile = tile;
	a->mode = mode;
	a->inplace = NPUMEM_NONE;
	build_step_at(b, b->steps.count - 1)->access_count++;
	return b->accesses.count - 1;
}

void build_finish(struct build *b)
{
	struct npumem_block *block = build_add(&b->blocks, 1);
	struct npumem_plan_block *instance = build_add(&b->plan_blocks, 1);
	struct npumem_position *p = build_add(&b->positions, b->steps.count);
	uint32_t i;

	block->step_count = b->steps.count;
	block->name = NPUMEM_NONE;
	instance->position_count = b->steps.count;
	for (i = 0; i < b->steps.count; i++) {
		p[i].index = i;
		p[i].placement = NPUMEM_NONE;
	}
}

uint32_t build_place_region(struct build *b, uint32_t tensor, uint32_t from, uint32_t to,
			    uint64_t offset, struct npumem_region region)
{
	struct npumem_placement *p = build_add(&b->placements, 1);
	uint64_t end = offset + region.length;
	unsigned int d;

	p->tensor = tensor;
	p->from = from;
	p->to = to;
	p->offset = offset;
	p->region = region;
	memcpy(p->stride, region.stride, sizeof(p->stride));
	for (d = 0; d < NPUMEM_REGION_DIMS; d++)
		end += (region.count[d] - 1) * region.stride[d];
	if (end > b->info.arena_size)
		b->info.arena_size = end;
	return b->placements.count - 1;
}

uint32_t build_place(struct build *b, uint32_t tensor, uint64_t offset)
{
	return build_place_region(b, tensor, 0, b->positions.count - 1, offset,
				  build_region(0, build_tensor_at(b, tensor)->size));
}

uint32_t build_block(struct build *b, const char *name)
{
	uint32_t first = 0;
	struct npumem_block *block;

	if (b->blocks.count) {
		block = build_block_at(b, b->blocks.count - 1);
		first = block->first_step + block->step_count;
	}
	block = build_add(&b->blocks, 1);
	block->first_step = first;
	block->step_count = b->steps.count - first;
	block->name = add_name(b, name);
	return b->blocks.count - 1;
}

uint32_t build_edge(struct build *b, uint32_t from, uint32_t to)
{
	struct npumem_edge *e = build_add(&b->edges, 1);

	e->from = from;
	e->to = to;
	e->first_carry = b->carries.count;
	return b->edges.count - 1;
}

uint32_t build_carry(struct build *b, uint32_t from, uint32_t to)
{
	struct npumem_carry *c = build_add(&b->carries, 1);

	c->from = from;
	c->to = to;
	build_edge_at(b, b->edges.count - 1)->carry_count++;
	return b->carries.count - 1;
}

uint32_t build_instance(struct build *b, uint32_t block)
{
	const struct npumem_block *of = build_block_at(b, block);
	struct npumem_plan_block *instance = build_add(&b->plan_blocks, 1);
	struct npumem_position *p;
	uint32_t i;

	instance->block = block;
	instance->first_position = b->positions.count;
	instance->position_count = of->step_count;
	instance->first_entry = b->entries.count;
	p = build_add(&b->positions, of->step_count);
	for (i = 0; i < of->step_count; i++) {
		p[i].index = of->first_step + i;
		p[i].placement = NPUMEM_NONE;
	}
	return b->plan_blocks.count - 1;
}

uint32_t build_place_here(struct build *b, uint32_t tensor, uint64_t offset)
{
	uint32_t here = b->plan_blocks.count - 1, p;
	const struct npumem_plan_block *i = build_plan_block_at(b, here);

	p = build_place_region(b, tensor, i->first_position,
			       i->first_position + i->position_count - !!i->position_count, offset,
			       build_region(0, build_tensor_at(b, tensor)->size));
	build_placement_at(b, p)->block = here;
	return p;
}

uint32_t build_enter(struct build *b, uint32_t tensor, uint64_t offset)
{
	uint32_t p = build_place_here(b, tensor, offset);
	struct npumem_entry *e = build_add(&b->entries, 1);

	e->tensor = tensor;
	e->placement = p;
	e->flags = NPUMEM_ENTRY_RESIDENT;
	e->length = build_tensor_at(b, tensor)->size;
	build_plan_block_at(b, b->plan_blocks.count - 1)->entry_count++;
	return p;
}

uint32_t build_plan_edge(struct build *b, uint32_t from, uint32_t to, uint32_t edge)
{
	struct npumem_plan_edge *e = build_add(&b->plan_edges, 1);

	e->from = from;
	e->to = to;
	e->edge = edge;
	return b->plan_edges.count - 1;
}

static struct npublob_section section(uint32_t kind, const struct build_array *a)
{
	struct npublob_section s = {
		.kind = kind, .stride = a->size, .count = a->count, .data = a->data
	};

	return s;
}

static struct build_blob write_blob(uint32_t magic, const struct npublob_section *sections,
				    uint32_t count)
{
	struct build_blob blob;

	if (npublob_write(magic, sections, count, &blob.data, &blob.size))
		abort();
	return blob;
}

struct build_blob build_graph(const struct build *b)
{
	struct npublob_section s[8] = {
		section(NPUMEM_GRAPH_SECTION_TENSORS, &b->tensors),
		section(NPUMEM_GRAPH_SECTION_TILES, &b->tiles),
		section(NPUMEM_GRAPH_SECTION_ACCESSES, &b->accesses),
		section(NPUMEM_GRAPH_SECTION_STEPS, &b->steps),
		section(NPUMEM_GRAPH_SECTION_BLOCKS, &b->blocks),
	};
	uint32_t n = 5;

	if (b->edges.count)
		s[n++] = section(NPUMEM_GRAPH_SECTION_EDGES, &b->edges);
	if (b->carries.count)
		s[n++] = section(NPUMEM_GRAPH_SECTION_CARRIES, &b->carries);
	if (b->strings.count)
		s[n++] = section(NPUMEM_GRAPH_SECTION_STRINGS, &b->strings);
	return write_blob(NPUMEM_GRAPH_MAGIC, s, n);
}

struct build_blob build_plan(const struct build *b)
{
	struct npublob_section s[8] = {
		{ NPUMEM_PLAN_SECTION_INFO, sizeof(b->info), 1, &b->info },
		section(NPUMEM_PLAN_SECTION_PLACEMENTS, &b->placements),
		section(NPUMEM_PLAN_SECTION_SCHEDULE, &b->positions),
		section(NPUMEM_PLAN_SECTION_BLOCKS, &b->plan_blocks),
	};
	uint32_t n = 4;

	if (b->entries.count)
		s[n++] = section(NPUMEM_PLAN_SECTION_ENTRIES, &b->entries);
	if (b->plan_edges.count)
		s[n++] = section(NPUMEM_PLAN_SECTION_EDGES, &b->plan_edges);
	if (b->views.count)
		s[n++] = section(NPUMEM_PLAN_SECTION_VIEWS, &b->views);
	if (b->slots.count)
		s[n++] = section(NPUMEM_PLAN_SECTION_VIEW_SLOTS, &b->slots);
	return write_blob(NPUMEM_PLAN_MAGIC, s, n);
}

struct npumem_blob_section *build_section(struct build_blob blob, uint32_t kind)
{
	struct npumem_blob_header *h = blob.data;
	struct npumem_blob_section *s = (struct npumem_blob_section *)(h + 1);
	uint32_t i;

	for (i = 0; i < h->section_count; i++)
		if (s[i].kind == kind)
			return &s[i];
	return NULL;
}
