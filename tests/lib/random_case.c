// SPDX-License-Identifier: MIT
#include "random_case.h"

#include <stdbool.h>
#include <string.h>

#include "oracle.h"
#include "random.h"

#define MAX_TENSOR_STEPS 24

uint64_t rng_next(struct rng *r)
{
	return random_next(&r->state);
}

uint32_t rng_below(struct rng *r, uint32_t n)
{
	return (uint32_t)((rng_next(r) >> 32) * n >> 32);
}

int rng_chance(struct rng *r, uint32_t percent)
{
	return rng_below(r, 100) < percent;
}

int rng_wish(struct rng *r, uint32_t feature, uint32_t percent)
{
	return rng_chance(r, r->wish >> feature & 1 ? 80 : percent);
}

struct npumem_region random_region(struct rng *r, uint32_t size)
{
	struct npumem_region region = build_region(0, size);
	uint32_t d, extent;

	if (rng_chance(r, 40))
		return region;
	region.offset = rng_below(r, size);
	region.length = 1 + rng_below(r, size - (uint32_t)region.offset);
	if (rng_chance(r, 50))
		return region;
	region.length = 1 + rng_below(r, size < 4 ? size : 4);
	region.offset = rng_below(r, size - (uint32_t)region.length + 1);
	extent = (uint32_t)region.length;
	for (d = 0; d < 3; d++) {
		uint32_t room = size - (uint32_t)region.offset - extent;
		uint32_t stride = extent + rng_below(r, 4);
		uint32_t count = 1 + room / stride;

		if (rng_chance(r, 40) || count < 2)
			continue;
		count = 2 + rng_below(r, count - 1);
		region.count[d] = count;
		region.stride[d] = stride;
		extent += (count - 1) * stride;
	}
	return region;
}

static void read_some(struct rng *r, struct build *b, uint32_t tensor, uint32_t most)
{
	uint32_t n = rng_below(r, most + 1);

	for (; n && tensor; n--) {
		/* Near ones mostly, so that others die. */
		uint32_t back = 1 + rng_below(r, rng_chance(r, 70) && tensor > 2 ? 2 : tensor);
		uint32_t from = tensor - back;
		uint32_t size = (uint32_t)build_tensor_at(b, from)->size;

		build_access(b, build_tile(b, from, random_region(r, size)), NPUMEM_ACCESS_READ);
	}
}

static uint32_t step_flags(struct rng *r)
{
	return rng_chance(r, 50) ? NPUMEM_STEP_STAGED : 0;
}

/* Steps that write a tensor: whole, in ranges, or in interleaved columns. */
static void write_tensor(struct rng *r, struct build *b, uint32_t tensor)
{
	uint32_t size = (uint32_t)build_tensor_at(b, tensor)->size;
	uint32_t parts = rng_chance(r, 50) ? 1 : 1 + rng_below(r, size < 4 ? size : 4);
	bool columns = parts > 1 && size % parts == 0 && size / parts > 1 && rng_chance(r, 40);
	bool together = rng_chance(r, 15);
	uint32_t i;

	for (i = 0; i < parts && b->steps.count < MAX_TENSOR_STEPS; i++) {
		uint32_t from = size * i / parts, to = size * (i + 1) / parts;
		struct npumem_region region = columns ? build_strided(i, 1, size / parts, parts) :
							build_region(from, to - from);

		if (!i || !together) {
			build_step(b, step_flags(r), NULL);
			read_some(r, b, tensor, 3);
		}
		build_access(b, build_tile(b, tensor, region), NPUMEM_ACCESS_WRITE);
	}
	/* Outputs must be whole. */
	if (i < parts)
		build_tensor_at(b, tensor)->kind = NPUMEM_TENSOR_INPUT;
}

static void update_some(struct rng *r, struct build *b, uint32_t tensor)
{
	uint32_t kind = build_tensor_at(b, tensor)->kind;
	uint32_t size = (uint32_t)build_tensor_at(b, tensor)->size;

	if (kind == NPUMEM_TENSOR_INPUT || kind == NPUMEM_TENSOR_PARAMETER ||
	    b->steps.count >= MAX_TENSOR_STEPS)
		return;
	build_step(b, step_flags(r), NULL);
	read_some(r, b, tensor, 2);
	build_access(b, build_tile(b, tensor, random_region(r, size)),
		     kind == NPUMEM_TENSOR_STATE && rng_chance(r, 30) ? NPUMEM_ACCESS_WRITE :
									NPUMEM_ACCESS_UPDATE);
}

static uint32_t random_kind(struct rng *r)
{
	static const uint32_t kinds[] = {
		NPUMEM_TENSOR_INTERMEDIATE, NPUMEM_TENSOR_INTERMEDIATE, NPUMEM_TENSOR_INTERMEDIATE,
		NPUMEM_TENSOR_INTERMEDIATE, NPUMEM_TENSOR_OUTPUT,	NPUMEM_TENSOR_STATE,
		NPUMEM_TENSOR_INPUT,	    NPUMEM_TENSOR_PARAMETER,
	};

	return kinds[rng_below(r, sizeof(kinds) / sizeof(kinds[0]))];
}

static void random_graph(struct rng *r, struct build *b)
{
	uint32_t t, n = 2 + rng_below(r, 7), most = rng_chance(r, 50) ? 8 : 40;

	for (t = 0; t < n; t++) {
		uint32_t kind = t ? random_kind(r) : NPUMEM_TENSOR_INPUT;

		build_tensor(b, kind, 1 + rng_below(r, most), NULL);
		if (rng_chance(r, 20))
			build_tensor_at(b, t)->align = 1u << rng_below(r, 4);
		if (kind == NPUMEM_TENSOR_INTERMEDIATE || kind == NPUMEM_TENSOR_OUTPUT)
			write_tensor(r, b, t);
		if (rng_chance(r, 25))
			update_some(r, b, rng_below(r, t + 1));
	}
	if (!b->steps.count)
		write_tensor(r, b, build_tensor(b, NPUMEM_TENSOR_OUTPUT, 4, NULL));
}

/* Rows written one by one, each read with those before it: what rings are for. */
static void ring_graph(struct rng *r, struct build *b)
{
	uint32_t rows = 2 + rng_below(r, 7), row = 1 + rng_below(r, 6), window, i;
	uint32_t in = build_tensor(b, NPUMEM_TENSOR_INPUT, rows * row, NULL);
	uint32_t mid = build_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, rows * row, NULL);
	uint32_t out = build_tensor(b, NPUMEM_TENSOR_OUTPUT, rows * row, NULL);

	window = 1 + rng_below(r, rows);
	for (i = 0; i < rows; i++) {
		uint32_t first = i + 1 > window ? i + 1 - window : 0;

		build_step(b, step_flags(r), NULL);
		build_access(b, build_tile(b, in, build_region(i * row, row)), NPUMEM_ACCESS_READ);
		build_access(b, build_tile(b, mid, build_region(i * row, row)),
			     NPUMEM_ACCESS_WRITE);
		build_step(b, step_flags(r), NULL);
		build_access(b,
			     build_tile(b, mid, build_region(first * row, (i + 1 - first) * row)),
			     NPUMEM_ACCESS_READ);
		build_access(b, build_tile(b, out, build_region(i * row, row)),
			     NPUMEM_ACCESS_WRITE);
	}
	build_finish(b);
	build_place(b, in, 0);
	build_place(b, out, rng_chance(r, 20) ? 0 : rows * row);
	i = window + rng_below(r, 3) - (rng_chance(r, 20) && window > 1);
	if (i < rows) {
		struct npumem_region region = build_region(0, row);
		uint32_t p;

		region.count[2] = rows;
		region.stride[2] = row;
		p = build_place_region(b, mid, 0, b->positions.count - 1, 2 * rows * row, region);
		build_placement_at(b, p)->ring = i;
		b->info.arena_size = 2 * rows * row + i * row;
	} else {
		build_place(b, mid, 2 * rows * row);
	}
}

/* First and last position that a tensor is needed at. */
static void span_of(const struct build *b, uint32_t tensor, uint32_t *from, uint32_t *to)
{
	uint32_t kind = build_tensor_at(b, tensor)->kind, i, a, t;

	*from = ~0u;
	*to = 0;
	for (i = 0; i < b->positions.count; i++) {
		const struct npumem_step *s = build_step_at(b, build_position_at(b, i)->index);

		for (a = s->first_access; a < s->first_access + s->access_count; a++) {
			t = build_tile_at(b, build_access_at(b, a)->tile)->tensor;
			if (t != tensor && build_tensor_at(b, t)->alias_of != tensor)
				continue;
			*from = i < *from ? i : *from;
			*to = i > *to ? i : *to;
		}
	}
	if (kind == NPUMEM_TENSOR_INPUT || kind == NPUMEM_TENSOR_PARAMETER ||
	    kind == NPUMEM_TENSOR_STATE || *from == ~0u)
		*from = 0;
	if (kind == NPUMEM_TENSOR_OUTPUT || kind == NPUMEM_TENSOR_STATE)
		*to = b->positions.count - 1;
}

uint64_t random_place(struct rng *r, const struct build *b, uint32_t from, uint32_t to,
		      uint64_t extent, uint32_t align)
{
	/* Staged steps may write over what they read: try it at times. */
	uint32_t touch = rng_chance(r, 20);
	uint64_t at = rng_chance(r, 10) ? rng_below(r, 64) / align * align : 0;
	uint32_t i;

	for (;;) {
		bool hit = false;

		for (i = 0; i < b->placements.count; i++) {
			const struct npumem_placement *p = build_placement_at(b, i);
			uint64_t end = p->offset + p->region.length;
			uint32_t d;

			for (d = 0; d < 3; d++)
				end += (p->region.count[d] - 1) * p->stride[d];
			if (p->from > to - (touch && to > from) ||
			    p->to < from + (touch && to > from) || p->offset >= at + extent ||
			    end <= at)
				continue;
			hit = true;
			at = (end + align - 1) / align * align;
		}
		if (!hit)
			return at;
	}
}

static void place_piece(struct rng *r, struct build *b, uint32_t tensor,
			struct npumem_region region, uint32_t from, uint32_t to)
{
	uint64_t extent = region.length, last;
	uint32_t d, p;

	for (d = 0; d < 3; d++)
		extent += (region.count[d] - 1) * region.stride[d];
	p = build_place_region(
		b, tensor, from, to,
		random_place(r, b, from, to, extent, build_tensor_at(b, tensor)->align), region);
	if (region.count[0] > 1 && rng_chance(r, 50)) {
		/* Packed: columns become neighbours. */
		struct npumem_placement *placement = build_placement_at(b, p);

		placement->stride[0] = region.length;
		last = placement->offset + extent;
		if (last > b->info.arena_size)
			b->info.arena_size = last;
	}
}

/* Some other order, often one that the graph does not allow. */
static void shuffle(struct rng *r, struct build *b, uint32_t percent)
{
	uint32_t i;

	for (i = 0; i + 1 < b->positions.count && rng_chance(r, percent); i++) {
		struct npumem_position *p =
			build_position_at(b, rng_below(r, b->positions.count - 1));
		struct npumem_position swap = p[0];

		p[0] = p[1];
		p[1] = swap;
	}
}

static void random_plan(struct rng *r, struct build *b)
{
	uint32_t t, i, from, to;

	for (t = 0; t < b->tensors.count; t++) {
		struct npumem_tensor *tensor = build_tensor_at(b, t);
		uint32_t size = (uint32_t)tensor->size;
		uint32_t parts = rng_chance(r, 75) || size < 2 ? 1 : 2 + rng_below(r, 3);
		bool columns = rng_chance(r, 50);

		if (tensor->kind == NPUMEM_TENSOR_PARAMETER && rng_chance(r, 50))
			continue;
		if (tensor->flags & (NPUMEM_TENSOR_FLAG_ALIAS | NPUMEM_TENSOR_FLAG_EXTERNAL) ||
		    random_is_extra(r, t))
			continue;
		span_of(b, t, &from, &to);
		if (rng_chance(r, 20))
			to = b->positions.count - 1;
		parts = parts < size ? parts : size;
		for (i = 0; i < parts; i++) {
			uint32_t a = size * i / parts, e = size * (i + 1) / parts;

			if (parts > 1 && columns && size % parts == 0 && size > parts)
				place_piece(r, b, t, build_strided(i, 1, size / parts, parts), from,
					    to);
			else
				place_piece(r, b, t, build_region(a, e - a), from, to);
		}
		if (parts == 1 && rng_wish(r, FEATURE_FIXED, 5)) {
			tensor->flags |= NPUMEM_TENSOR_FLAG_FIXED;
			tensor->fixed_offset =
				build_placement_at(b, b->placements.count - 1)->offset;
		}
	}
}

/* A write of as many bytes as a read has: may take its bytes. */
static void take_in_place(struct build *b, uint32_t read, uint32_t write, uint32_t number)
{
	const struct npumem_tile *from = build_tile_at(b, build_access_at(b, read)->tile);
	struct npumem_tile *to = build_tile_at(b, build_access_at(b, write)->tile);
	const struct npumem_region *x = &from->region, *y = &to->region;

	if (x->length * x->count[0] * x->count[1] * x->count[2] ==
	    y->length * y->count[0] * y->count[1] * y->count[2])
		build_access_at(b, write)->inplace = number;
}

/* Some tensors are external, some writes in place, and some tensors an alias of others. */
static void decorate(struct rng *r, struct build *b)
{
	uint32_t i, k, t;

	for (i = 0; i < b->tensors.count; i++)
		if (rng_chance(r, r->wish >> FEATURE_EXTERNAL & 1 ? 30 : 5))
			build_tensor_at(b, i)->flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	for (i = 0; i < b->steps.count; i++) {
		const struct npumem_step *s = build_step_at(b, i);

		for (k = 0; k < s->access_count; k++) {
			uint32_t with = rng_below(r, s->access_count);
			struct npumem_access *a = build_access_at(b, s->first_access + k);

			if (a->mode == NPUMEM_ACCESS_WRITE && rng_chance(r, 50) &&
			    build_access_at(b, s->first_access + with)->mode == NPUMEM_ACCESS_READ)
				take_in_place(b, s->first_access + with, s->first_access + k, with);
		}
	}
	if (b->tensors.count >= 12 ||
	    !rng_chance(r, r->wish & (1u << FEATURE_ALIAS | 1u << FEATURE_ROLE) ? 80 : 20))
		return;
	/* Read through an alias, and perhaps demand its bytes. */
	t = rng_below(r, b->tensors.count);
	if (build_tensor_at(b, t)->size < 2 || build_tensor_at(b, t)->flags)
		return;
	k = rng_below(r, (uint32_t)build_tensor_at(b, t)->size - 1);
	i = build_tensor(b, rng_chance(r, 50) ? NPUMEM_TENSOR_INTERMEDIATE : rng_below(r, 5),
			 1 + rng_below(r, (uint32_t)build_tensor_at(b, t)->size - k), NULL);
	build_tensor_at(b, i)->flags = NPUMEM_TENSOR_FLAG_ALIAS;
	build_tensor_at(b, i)->alias_of = t;
	build_tensor_at(b, i)->alias_offset = k;
	if (b->steps.count < MAX_TENSOR_STEPS) {
		build_step(b, step_flags(r), NULL);
		build_access(b,
			     build_tile(b, i,
					random_region(r, (uint32_t)build_tensor_at(b, i)->size)),
			     rng_chance(r, 60) ? NPUMEM_ACCESS_READ : NPUMEM_ACCESS_UPDATE);
	}
}

/* One block; with transfers, or without. */
static void random_flat(struct rng *r, struct build *b, bool moves)
{
	random_graph(r, b);
	decorate(r, b);
	random_extra(r, b, true);
	build_finish(b);
	shuffle(r, b, moves ? 15 : 30);
	if (moves)
		random_transfers(r, b);
	else
		random_plan(r, b);
	random_place_extra(r, b, 0);
}

void random_case(struct rng *r, struct build *b)
{
	const uint32_t flow = 1u << FEATURE_BLOCKS | 1u << FEATURE_LOOP | 1u << FEATURE_CARRY |
			      1u << FEATURE_ENTRIES | 1u << FEATURE_PASS;
	const uint32_t moves = 1u << FEATURE_TRANSFER | 1u << FEATURE_GAP | 1u << FEATURE_STORED;

	if (!(r->wish & moves) && rng_chance(r, r->wish & flow ? 100 : 50))
		random_flow(r, b);
	else if (!r->wish && rng_chance(r, 15))
		ring_graph(r, b);
	else
		random_flat(r, b, r->wish & moves || rng_chance(r, 60));
	random_disorder(r, b);
}

static uint64_t nudge(struct rng *r, uint64_t value)
{
	switch (rng_below(r, 6)) {
	case 0:
		return 0;
	case 1:
		return value + 1 + rng_below(r, 8);
	case 2:
		return value + 1;
	case 3:
		return value - 1;
	case 4:
		return value / 2;
	default:
		return rng_below(r, 64);
	}
}

static void mutate_region(struct rng *r, struct npumem_region *region)
{
	uint32_t d = rng_below(r, 3);

	switch (rng_below(r, 4)) {
	case 0:
		region->offset = nudge(r, region->offset);
		break;
	case 1:
		region->length = nudge(r, region->length);
		break;
	case 2:
		region->count[d] = (uint32_t)nudge(r, region->count[d]);
		break;
	default:
		region->stride[d] = nudge(r, region->stride[d]);
		break;
	}
}

static void mutate_placement(struct rng *r, struct build *b)
{
	struct npumem_placement *p;
	uint32_t d = rng_below(r, 3);

	if (!b->placements.count)
		return;
	p = build_placement_at(b, rng_below(r, b->placements.count));
	switch (rng_below(r, 9)) {
	case 0:
		p->tensor = rng_below(r, b->tensors.count + 1);
		break;
	case 1:
		p->from = (uint32_t)nudge(r, p->from);
		break;
	case 2:
		p->to = (uint32_t)nudge(r, p->to);
		break;
	case 3:
	case 4:
		p->offset = nudge(r, p->offset);
		break;
	case 5:
		mutate_region(r, &p->region);
		break;
	case 6:
		p->stride[d] = nudge(r, p->stride[d]);
		break;
	case 7:
		p->ring = rng_below(r, 4);
		break;
	default:
		/* One piece more, or one less. */
		if (rng_chance(r, 50)) {
			struct npumem_placement copy = *p;

			p = build_add(&b->placements, 1);
			*p = copy;
			p->offset = nudge(r, p->offset);
		} else {
			*p = *build_placement_at(b, --b->placements.count);
		}
		break;
	}
}

static void mutate_entry(struct rng *r, struct build *b)
{
	struct npumem_plan_block *p;
	struct npumem_entry *e;
	uint32_t i;

	if (!b->entries.count)
		return;
	i = rng_below(r, b->entries.count);
	e = build_entry_at(b, i);
	switch (rng_below(r, 7)) {
	case 0:
		e->tensor = rng_below(r, b->tensors.count);
		break;
	case 1:
		e->placement = rng_below(r, b->placements.count + 1);
		break;
	case 2:
		e->first = nudge(r, e->first);
		break;
	case 3:
		e->length = nudge(r, e->length);
		break;
	case 4:
		e->flags = rng_chance(r, 50) ? 0 : NPUMEM_ENTRY_RESIDENT;
		break;
	default:
		/* One less: the last one of the entries moves up within its instance. */
		for (i = 0; i < b->plan_blocks.count; i++) {
			p = build_plan_block_at(b, i);
			if (e >= build_entry_at(b, p->first_entry) &&
			    e < build_entry_at(b, p->first_entry + p->entry_count))
				break;
		}
		if (i == b->plan_blocks.count)
			break;
		memmove(e, e + 1,
			(size_t)(build_entry_at(b, b->entries.count) - (e + 1)) * sizeof(*e));
		b->entries.count--;
		build_plan_block_at(b, i)->entry_count--;
		while (++i < b->plan_blocks.count)
			build_plan_block_at(b, i)->first_entry--;
		break;
	}
}

static void mutate_flow(struct rng *r, struct build *b)
{
	struct npumem_carry *c;
	struct npumem_plan_edge *e;
	uint32_t n = b->plan_edges.count;

	switch (rng_below(r, 6)) {
	case 0:
		if (!b->carries.count)
			break;
		c = build_carry_at(b, rng_below(r, b->carries.count));
		if (rng_chance(r, 50))
			c->from = rng_below(r, b->tensors.count);
		else
			c->to = rng_below(r, b->tensors.count);
		break;
	case 1:
		if (b->edges.count && rng_chance(r, 20))
			build_edge_at(b, rng_below(r, b->edges.count))->to =
				rng_below(r, b->blocks.count);
		break;
	case 2:
		if (!n)
			break;
		/* To another instance. */
		e = build_plan_edge_at(b, rng_below(r, n));
		e->to = rng_below(r, b->plan_blocks.count);
		break;
	default:
		mutate_entry(r, b);
		break;
	}
}

static void mutate_graph(struct rng *r, struct build *b)
{
	struct npumem_access *a = build_access_at(b, rng_below(r, b->accesses.count));
	struct npumem_tile *t = build_tile_at(b, rng_below(r, b->tiles.count));

	switch (rng_below(r, 6)) {
	case 0:
		a->tile = rng_below(r, b->tiles.count);
		break;
	case 1:
		a->mode = 1 + rng_below(r, 3);
		break;
	case 2:
		t->tensor = rng_below(r, b->tensors.count);
		break;
	case 3:
		mutate_region(r, &t->region);
		break;
	case 4:
		build_step_at(b, rng_below(r, b->steps.count))->flags ^= NPUMEM_STEP_STAGED;
		break;
	default:
		build_tensor_at(b, rng_below(r, b->tensors.count))->kind = rng_below(r, 5);
		break;
	}
}

void mutate_case(struct rng *r, struct build *b)
{
	uint32_t i, k;

	if (b->info.host_size && rng_chance(r, 50)) {
		mutate_transfer(r, b);
		return;
	}
	if (b->blocks.count > 1 && rng_chance(r, 50)) {
		mutate_flow(r, b);
		return;
	}
	switch (rng_below(r, 10)) {
	case 0:
	case 1:
		mutate_graph(r, b);
		break;
	case 2:
	case 3:
		i = rng_below(r, b->positions.count);
		k = rng_below(r, b->positions.count);
		if (rng_chance(r, 80)) {
			struct npumem_position swap = *build_position_at(b, i);

			*build_position_at(b, i) = *build_position_at(b, k);
			*build_position_at(b, k) = swap;
		} else {
			build_position_at(b, i)->index = rng_below(r, b->steps.count + 1);
		}
		break;
	case 4:
		b->info.arena_size -= b->info.arena_size > 2 ? rng_below(r, 3) : 0;
		break;
	default:
		mutate_placement(r, b);
		break;
	}
}

void mutate_bytes(struct rng *r, struct build_blob *blob)
{
	uint32_t n = 1 + rng_below(r, 3);
	unsigned char *bytes = blob->data;

	while (n--) {
		uint32_t at = rng_below(r, (uint32_t)blob->size);

		if (rng_chance(r, 50))
			bytes[at] = (unsigned char)nudge(r, bytes[at]);
		else
			bytes[at] ^= (unsigned char)(1u << rng_below(r, 8));
	}
	if (rng_chance(r, 5))
		blob->size -= rng_below(r, (uint32_t)blob->size);
}
