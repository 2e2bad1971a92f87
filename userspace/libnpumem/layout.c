// SPDX-License-Identifier: MIT
/* Layouts: what the plan says of positions, blocks, edges and views, and where tensors lie then. */
#include "layout.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "../chunks/chunks.h"
#include "layout_range.h"
#include "sized.h"

/* ----------------------------------------------------------------- records */

uint32_t npumem_layout_count(const struct npumem_layout *layout, uint32_t section)
{
	const struct layout_section *known = layout_plan_section(section);

	return layout && known ? layout_count(layout, known) : 0;
}

int npumem_layout_record(const struct npumem_layout *layout, uint32_t section, uint32_t index,
			 void *record, size_t record_size, struct npumem_error *error)
{
	const struct layout_section *known = layout_plan_section(section);

	if (!layout || !record || !record_size)
		return npumem_fail(error, -EINVAL, "npumem_layout_record: NULL argument");
	if (!known)
		return npumem_fail(error, -ENOENT, "plans have no section %u", section);
	if (index >= layout_count(layout, known))
		return npumem_fail(error, -ENOENT, "the plan has no %s %u", known->name, index);
	sized_give(record, record_size,
		   (char *)layout_records(layout, known) + (size_t)index * known->size,
		   known->size);
	return 0;
}

static int has_block(const struct npumem_layout *l, uint32_t block, struct npumem_error *error)
{
	return block < l->block_count ?
		       0 :
		       npumem_fail(error, -ENOENT, "the plan has no block %u", block);
}

static int has_tensor(const struct npumem_layout *l, uint32_t tensor, struct npumem_error *error)
{
	return tensor < l->tensor_count ?
		       0 :
		       npumem_fail(error, -ENOENT, "the graph has no tensor %u", tensor);
}

static int has_position(const struct npumem_layout *l, uint32_t position,
			struct npumem_error *error)
{
	return position < l->position_count ?
		       0 :
		       npumem_fail(error, -ENOENT, "the plan has no position %u", position);
}

int npumem_layout_find_step(const struct npumem_layout *layout, uint32_t block, uint32_t step,
			    uint32_t *position, struct npumem_error *error)
{
	const struct npumem_plan_block *b;
	int err;

	if (!layout || !position)
		return npumem_fail(error, -EINVAL, "npumem_layout_find_step: NULL argument");
	err = has_block(layout, block, error);
	if (err)
		return err;
	b = &layout->blocks[block];
	for (uint32_t i = b->first_position; i < b->first_position + b->position_count; i++) {
		if (layout->positions[i].kind != NPUMEM_POSITION_STEP ||
		    layout->positions[i].index != step)
			continue;
		*position = i;
		return 0;
	}
	return npumem_fail(error, -ENOENT, "block %u of the plan has no step %u", block, step);
}

/* The number of a byte in the order of a region; false: the region has not got it. */
static bool find_byte(const struct npumem_region *region, uint64_t byte, uint64_t *number)
{
	struct chunks walk = chunks_of_region(region);

	for (*number = 0; chunks_next(&walk); *number += region->length) {
		if (byte < walk.byte || byte - walk.byte >= region->length)
			continue;
		*number += byte - walk.byte;
		return true;
	}
	return false;
}

/* @byte is one of tensor @base. */
static bool step_accesses(const struct npumem_layout *l, const struct npumem_step *step,
			  uint32_t base, uint64_t byte, uint32_t mode, uint32_t *access,
			  uint64_t *delta)
{
	for (uint32_t a = 0; a < step->access_count; a++) {
		const struct npumem_access *one = &l->accesses[step->first_access + a];
		const struct npumem_tile *tile = &l->tiles[one->tile];
		uint64_t begin = layout_base_offset(l, tile->tensor);

		*access = a;
		if ((one->mode == mode || one->mode == NPUMEM_ACCESS_UPDATE) &&
		    layout_base(l, tile->tensor) == base && byte >= begin &&
		    find_byte(&tile->region, byte - begin, delta))
			return true;
	}
	return false;
}

int npumem_layout_find_access(const struct npumem_layout *layout, uint32_t position,
			      uint32_t tensor, uint64_t byte, uint32_t mode, uint32_t *access,
			      uint64_t *delta, struct npumem_error *error)
{
	const struct npumem_position *p;
	uint32_t base, number;
	uint64_t at, found;
	bool has;
	int err;

	if (!layout || !access || !delta)
		return npumem_fail(error, -EINVAL, "npumem_layout_find_access: NULL argument");
	if (mode != NPUMEM_ACCESS_READ && mode != NPUMEM_ACCESS_WRITE)
		return npumem_fail(error, -EINVAL, "mode %u is not to read or to write", mode);
	err = has_tensor(layout, tensor, error);
	if (!err)
		err = has_position(layout, position, error);
	if (err)
		return err;
	p = &layout->positions[position];
	base = layout_base(layout, tensor);
	has = byte < layout->tensors[tensor].size;
	at = has ? layout_base_offset(layout, tensor) + byte : 0;
	if (!has) {
		/* Neither has any other. */
	} else if (p->kind == NPUMEM_POSITION_STEP) {
		has = step_accesses(layout, &layout->steps[p->index], base, at, mode, &number,
				    &found);
	} else {
		has = p->kind != NPUMEM_POSITION_DROP && p->index == base && at >= p->first &&
		      at - p->first < p->length;
		number = mode == NPUMEM_ACCESS_WRITE;
		found = at - p->first;
	}
	if (!has)
		return npumem_fail(error, -ENOENT, "position %u does not %s byte %llu of tensor %u",
				   position, mode == NPUMEM_ACCESS_READ ? "read" : "write",
				   (unsigned long long)byte, tensor);
	*access = number;
	*delta = found;
	return 0;
}

int npumem_layout_next(const struct npumem_layout *layout, uint32_t block, uint32_t edge,
		       uint32_t *plan_edge, uint32_t *to, struct npumem_error *error)
{
	int err;

	if (!layout || !plan_edge || !to)
		return npumem_fail(error, -EINVAL, "npumem_layout_next: NULL argument");
	err = has_block(layout, block, error);
	if (err)
		return err;
	for (uint32_t i = 0; i < layout->edge_count; i++) {
		if (layout->edges[i].from != block || layout->edges[i].edge != edge)
			continue;
		*plan_edge = i;
		*to = layout->edges[i].to;
		return 0;
	}
	return npumem_fail(error, -ENOENT, "edge %u does not leave block %u of the plan", edge,
			   block);
}

/* -------------------------------------------------------------- where bytes lie */

static bool is_external(const struct npumem_layout *l, uint32_t tensor)
{
	return l->tensors[tensor].flags & NPUMEM_TENSOR_FLAG_EXTERNAL;
}

static void add_binding(struct ranges *r)
{
	ranges_add(r, NPUMEM_MEMORY_BINDING, NPUMEM_NONE, r->begin, r->end - r->begin, r->begin);
}

/* The placements that are in force at a position of a block. */
static void add_arena(struct ranges *r, const struct npumem_layout *l, uint32_t block,
		      uint32_t position)
{
	for (uint32_t i = l->first_of[r->base]; i < l->first_of[r->base + 1]; i++) {
		const struct npumem_placement *p = &l->placements[l->by_tensor[i]];

		if (p->block == block && p->from <= position && position <= p->to)
			ranges_add_placed(r, l, l->by_tensor[i], r->begin, r->end - r->begin);
	}
}

static void set_copy(struct ranges *r, const struct npumem_position *p)
{
	ranges_cut(r, p->first, p->length);
	ranges_add(r, NPUMEM_MEMORY_HOST, NPUMEM_NONE, p->first, p->length, p->host_offset);
}

/* Where transfers of some kinds say that copies are. */
static void add_copies(struct ranges *r, const struct npumem_layout *l, uint32_t kinds)
{
	for (uint32_t i = 0; l->info->host_size && i < l->position_count; i++)
		if (kinds & (1u << l->positions[i].kind) && l->positions[i].index == r->base)
			set_copy(r, &l->positions[i]);
}

/* What a step writes has no valid copy any more. */
static void cut_written(struct ranges *r, const struct npumem_layout *l, uint32_t step)
{
	const struct npumem_step *s = &l->steps[step];

	for (uint32_t a = s->first_access; a < s->first_access + s->access_count; a++) {
		const struct npumem_tile *tile = &l->tiles[l->accesses[a].tile];
		struct chunks walk = chunks_of_region(&tile->region);

		if (l->accesses[a].mode == NPUMEM_ACCESS_READ ||
		    layout_base(l, tile->tensor) != r->base)
			continue;
		while (r->count && chunks_next(&walk))
			ranges_cut(r, layout_base_offset(l, tile->tensor) + walk.byte,
				   tile->region.length);
	}
}

/* The plan is of a graph with edges. */
static bool has_edges(const struct npumem_layout *l)
{
	return l->edge_count && l->edges[0].edge != NPUMEM_NONE;
}

/* The copies that are valid when a position of a block begins, and were not when it was entered. */
static struct ranges valid_copies(const struct npumem_layout *l, uint32_t tensor, uint32_t block,
				  uint32_t before)
{
	struct ranges r = ranges_of(l, tensor);

	if (!l->info->host_size)
		return r;
	if (l->tensors[r.base].flags & NPUMEM_TENSOR_FLAG_HOST)
		add_copies(&r, l, 1u << NPUMEM_POSITION_LOAD);
	for (uint32_t i = l->blocks[block].first_position; i < before; i++) {
		const struct npumem_position *p = &l->positions[i];

		if (p->kind == NPUMEM_POSITION_STEP)
			cut_written(&r, l, p->index);
		else if (p->index == r.base &&
			 (p->kind == NPUMEM_POSITION_SPILL || p->kind == NPUMEM_POSITION_STORE))
			set_copy(&r, p);
	}
	return r;
}

/* What is found is the caller's. There is a sentence for nothing found. */
__attribute__((format(printf, 5, 6))) static int give(struct ranges *r,
						      struct npumem_range **ranges, uint32_t *count,
						      struct npumem_error *error,
						      const char *format, ...)
{
	char text[128];
	va_list args;
	int err = 0;

	ranges_finish(r);
	if (r->failed) {
		err = npumem_fail_errno(error, -ENOMEM, "say where a tensor lies");
	} else if (!r->count) {
		va_start(args, format);
		vsnprintf(text, sizeof(text), format, args);
		va_end(args);
		err = npumem_fail(error, -ENOENT, "%s", text);
	}
	if (err) {
		free(r->list);
		return err;
	}
	*ranges = r->list;
	*count = r->count;
	return 0;
}

int npumem_layout_at(const struct npumem_layout *layout, uint32_t tensor, uint32_t position,
		     struct npumem_range **ranges, uint32_t *count, struct npumem_error *error)
{
	struct ranges r, copies;
	uint32_t block = 0;
	int err;

	if (!layout || !ranges || !count)
		return npumem_fail(error, -EINVAL, "npumem_layout_at: NULL argument");
	err = has_tensor(layout, tensor, error);
	if (!err)
		err = has_position(layout, position, error);
	if (err)
		return err;
	while (block < layout->block_count && position - layout->blocks[block].first_position >=
						      layout->blocks[block].position_count)
		block++;
	r = ranges_of(layout, tensor);
	if (is_external(layout, r.base)) {
		add_binding(&r);
	} else {
		copies = valid_copies(layout, tensor, block, position);
		add_arena(&r, layout, block, position);
		ranges_complete(&r, &copies);
	}
	return give(&r, ranges, count, error, "tensor %u is nowhere at position %u", tensor,
		    position);
}

/* Whether a tensor is valid when an inference begins, in a graph whose plan has no entries. */
static bool is_given(const struct npumem_layout *l, uint32_t tensor)
{
	uint32_t kind = l->tensors[tensor].kind;

	return kind == NPUMEM_TENSOR_INPUT || kind == NPUMEM_TENSOR_STATE ||
	       kind == NPUMEM_TENSOR_PARAMETER;
}

/* What the records of a block's entry say of a tensor. */
static void add_entries(struct ranges *r, const struct npumem_layout *l, uint32_t block)
{
	const struct npumem_plan_block *b = &l->blocks[block];

	for (uint32_t i = b->first_entry; i < b->first_entry + b->entry_count; i++) {
		const struct npumem_entry *e = &l->entries[i];

		if (e->tensor != r->base)
			continue;
		if (is_external(l, r->base))
			ranges_add(r, NPUMEM_MEMORY_BINDING, NPUMEM_NONE, e->first, e->length,
				   e->first);
		else if (e->flags & NPUMEM_ENTRY_RESIDENT)
			ranges_add_placed(r, l, e->placement, e->first, e->length);
		else if (e->flags & NPUMEM_ENTRY_HOST)
			ranges_add(r, NPUMEM_MEMORY_HOST, NPUMEM_NONE, e->first, e->length,
				   e->host_offset);
	}
}

static struct ranges at_entry(const struct npumem_layout *l, uint32_t block, uint32_t tensor)
{
	struct ranges r = ranges_of(l, tensor);

	if (is_external(l, r.base) && is_given(l, r.base))
		add_binding(&r);
	else if (l->edge_count)
		add_entries(&r, l, block);
	else if (is_given(l, r.base) && l->tensors[r.base].flags & NPUMEM_TENSOR_FLAG_HOST)
		add_copies(&r, l, 1u << NPUMEM_POSITION_LOAD);
	else if (is_given(l, r.base))
		add_arena(&r, l, block, l->blocks[block].first_position);
	return r;
}

int npumem_layout_entry(const struct npumem_layout *layout, uint32_t block, uint32_t tensor,
			struct npumem_range **ranges, uint32_t *count, struct npumem_error *error)
{
	struct ranges r, all = { 0 };
	int err;

	if (!layout || !ranges || !count)
		return npumem_fail(error, -EINVAL, "npumem_layout_entry: NULL argument");
	err = has_block(layout, block, error);
	if (!err && tensor != NPUMEM_NONE)
		err = has_tensor(layout, tensor, error);
	if (err)
		return err;
	if (tensor != NPUMEM_NONE) {
		r = at_entry(layout, block, tensor);
		return give(&r, ranges, count, error,
			    "tensor %u is not valid when block %u is entered", tensor, block);
	}
	for (uint32_t t = 0; t < layout->tensor_count; t++) {
		if (layout->tensors[t].flags & NPUMEM_TENSOR_FLAG_ALIAS)
			continue;
		r = at_entry(layout, block, t);
		ranges_take(&all, &r);
	}
	return give(&all, ranges, count, error, "nothing is valid when block %u is entered", block);
}

int npumem_layout_exit(const struct npumem_layout *layout, uint32_t block, uint32_t tensor,
		       struct npumem_range **ranges, uint32_t *count, struct npumem_error *error)
{
	const struct npumem_plan_block *b;
	struct ranges r, copies;
	int err;

	if (!layout || !ranges || !count)
		return npumem_fail(error, -EINVAL, "npumem_layout_exit: NULL argument");
	err = has_block(layout, block, error);
	if (!err)
		err = has_tensor(layout, tensor, error);
	if (err)
		return err;
	b = &layout->blocks[block];
	if (is_external(layout, layout_base(layout, tensor))) {
		r = ranges_of(layout, tensor);
		add_binding(&r);
	} else {
		copies = valid_copies(layout, tensor, block, b->first_position + b->position_count);
		r = ranges_of(layout, tensor);
		add_arena(&r, layout, block,
			  b->first_position + (b->position_count ? b->position_count - 1 : 0));
		/* Along edges goes what is in the arena; at the end of a schedule copies last. */
		if (has_edges(layout))
			ranges_complete(&r, &copies);
		else
			ranges_complete(&copies, &r);
		r = has_edges(layout) ? r : copies;
	}
	return give(&r, ranges, count, error, "tensor %u is nowhere at the end of block %u", tensor,
		    block);
}

int npumem_layout_host(const struct npumem_layout *layout, uint32_t tensor,
		       struct npumem_range **ranges, uint32_t *count, struct npumem_error *error)
{
	struct ranges r;
	int err;

	if (!layout || !ranges || !count)
		return npumem_fail(error, -EINVAL, "npumem_layout_host: NULL argument");
	err = has_tensor(layout, tensor, error);
	if (err)
		return err;
	r = ranges_of(layout, tensor);
	add_copies(&r, layout,
		   1u << NPUMEM_POSITION_LOAD | 1u << NPUMEM_POSITION_SPILL |
			   1u << NPUMEM_POSITION_FILL | 1u << NPUMEM_POSITION_STORE);
	return give(&r, ranges, count, error, "tensor %u has no copy in host memory", tensor);
}

/* ------------------------------------------------------------------- views */

static const struct npumem_loop_count *find_count(const struct npumem_loop_count *counts,
						  uint32_t count, uint32_t loop)
{
	for (uint32_t i = 0; i < count; i++)
		if (counts[i].loop == loop)
			return &counts[i];
	return NULL;
}

int npumem_layout_in_view(const struct npumem_layout *layout, uint32_t view,
			  const struct npumem_loop_count *counts, uint32_t count_count,
			  struct npumem_range **ranges, uint32_t *count, struct npumem_error *error)
{
	uint32_t slot = view | NPUMEM_VIEW_SLOT_NESTED;
	struct ranges r;

	if (!layout || (count_count && !counts) || !ranges || !count)
		return npumem_fail(error, -EINVAL, "npumem_layout_in_view: NULL argument");
	if (view >= layout->view_count)
		return npumem_fail(error, -ENOENT, "the plan has no view %u", view);
	r = ranges_of(layout, layout->views[view].tensor);
	/* A view is in no slot of its own, so each is passed at most once. */
	for (uint32_t depth = 0; slot & NPUMEM_VIEW_SLOT_NESTED; depth++) {
		const struct npumem_view *v = &layout->views[slot & ~NPUMEM_VIEW_SLOT_NESTED];
		const struct npumem_loop_count *c = find_count(counts, count_count, v->loop);
		bool first = v->type == NPUMEM_VIEW_FIRST_CYCLIC;

		if (!c)
			return npumem_fail(error, -EINVAL,
					   "view %u goes by the loop that edge %u closes, whose "
					   "counter was not given",
					   view, v->loop);
		if (depth == layout->view_count)
			return npumem_fail(error, -EBADMSG, "view %u is in itself", view);
		slot = layout->slots[v->first_slot +
				     (first && !c->count ? 0 :
							   first + (c->count - first) % v->repeat)];
	}
	ranges_add_placed(&r, layout, slot, r.begin, r.end - r.begin);
	return give(&r, ranges, count, error, "view %u is empty", view);
}
