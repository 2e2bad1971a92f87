// SPDX-License-Identifier: MIT
/*
 * Parts of random cases that chance alone would hardly ever make: tensors with
 * steps and placements of their own, added to graphs of any sort, and placements
 * that are of no use or in another order.
 */
#include "random_case.h"

#include <stdbool.h>

#include "oracle.h"

#define ROW_STEPS 4

static uint32_t step_flags(struct rng *r)
{
	return rng_chance(r, 30) ? NPUMEM_STEP_STAGED : 0;
}

static bool wishes(const struct rng *r, uint32_t features)
{
	return r->wish & features;
}

/* A tensor of two rows, each written and read before the next. */
static void add_rows(struct rng *r, struct build *b)
{
	uint32_t row = 2 * (1 + rng_below(r, 3)), i;

	r->rows = build_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, 2 * row, NULL);
	for (i = 0; i < ROW_STEPS; i++) {
		build_step(b, step_flags(r), NULL);
		build_access(b, build_tile(b, r->rows, build_region(i / 2 * row, row)),
			     i % 2 ? NPUMEM_ACCESS_READ : NPUMEM_ACCESS_WRITE);
	}
}

/* Every other byte of twelve, in three dimensions. */
static struct npumem_region comb(uint32_t offset)
{
	struct npumem_region region = build_region(offset, 1);

	region.count[1] = 2;
	region.stride[1] = 2;
	region.count[2] = 3;
	region.stride[2] = 4;
	return region;
}

/* Two tensors, the second one written in place of the first, by interleaved tiles. */
static void add_comb(struct rng *r, struct build *b)
{
	uint32_t tiles[2], twice = rng_wish(r, FEATURE_SQUARE, 40), i;

	r->comb = build_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, 12, NULL);
	build_tensor(b, NPUMEM_TENSOR_INTERMEDIATE, 12, NULL);
	build_step(b, step_flags(r), NULL);
	build_access(b, build_whole(b, r->comb), NPUMEM_ACCESS_WRITE);
	build_step(b, 0, NULL);
	for (i = 0; i < 2; i++) {
		tiles[i] = build_tile(b, r->comb, comb(i));
		build_access(b, tiles[i], NPUMEM_ACCESS_READ);
	}
	for (i = 0; twice && i < 2; i++)
		build_access(b, rng_chance(r, 80) ? tiles[i] : build_tile(b, r->comb, comb(i)),
			     NPUMEM_ACCESS_READ);
	for (i = 0; i < 2; i++) {
		uint32_t a =
			build_access(b, build_tile(b, r->comb + 1, comb(i)), NPUMEM_ACCESS_WRITE);

		build_access_at(b, a)->inplace = rng_chance(r, 90) ? i : 1 - i;
	}
}

/* An input of which the middle is never read, and one as large as that. */
static void add_gap(struct rng *r, struct build *b)
{
	uint32_t part = 1 + rng_below(r, 3);

	r->gap = build_tensor(b, NPUMEM_TENSOR_INPUT, 3 * part, NULL);
	build_tensor(b, NPUMEM_TENSOR_INPUT, part, NULL);
	build_step(b, step_flags(r), NULL);
	build_access(b, build_tile(b, r->gap, build_region(0, part)), NPUMEM_ACCESS_READ);
	build_access(b, build_tile(b, r->gap, build_region(2 * part, part)), NPUMEM_ACCESS_READ);
	build_step(b, step_flags(r), NULL);
	build_access(b, build_whole(b, r->gap + 1), NPUMEM_ACCESS_READ);
}

void random_extra(struct rng *r, struct build *b, bool flat)
{
	r->rows = r->comb = r->gap = NPUMEM_NONE;
	if (rng_chance(r, wishes(r, 1u << FEATURE_RING | 1u << FEATURE_RING2) ? 80 : 8))
		add_rows(r, b);
	if (rng_chance(r,
		       wishes(r, 1u << FEATURE_COMB | 1u << FEATURE_SQUARE | 1u << FEATURE_FIXED) ?
			       80 :
			       8))
		add_comb(r, b);
	if (flat && rng_wish(r, FEATURE_GAP, 5))
		add_gap(r, b);
}

bool random_is_extra(const struct rng *r, uint32_t tensor)
{
	return tensor == r->rows ||
	       (r->comb != NPUMEM_NONE && (tensor == r->comb || tensor == r->comb + 1));
}

/* First and last position of the steps of an instance that access a tensor. */
static void find_span(const struct build *b, uint32_t instance, uint32_t tensor, uint32_t *from,
		      uint32_t *to)
{
	const struct npumem_plan_block *p = build_plan_block_at(b, instance);
	uint32_t i, a;

	*from = NPUMEM_NONE;
	*to = p->first_position;
	for (i = p->first_position; i < p->first_position + p->position_count; i++) {
		const struct npumem_position *at = build_position_at(b, i);
		const struct npumem_step *s;

		if (at->kind != NPUMEM_POSITION_STEP)
			continue;
		s = build_step_at(b, at->index);
		for (a = s->first_access; a < s->first_access + s->access_count; a++) {
			if (build_tile_at(b, build_access_at(b, a)->tile)->tensor != tensor)
				continue;
			*from = *from == NPUMEM_NONE ? i : *from;
			*to = i;
		}
	}
}

/* Two rows in one slot, each in two parts with room between them. */
static void place_rows(struct rng *r, struct build *b, uint32_t instance)
{
	uint32_t row = (uint32_t)build_tensor_at(b, r->rows)->size / 2, from, to, p;
	bool parts = rng_chance(r, wishes(r, 1u << FEATURE_RING2) ? 90 : 50);
	uint64_t arena = b->info.arena_size, offset, reach = row;
	struct npumem_region region = build_region(0, row);

	find_span(b, instance, r->rows, &from, &to);
	region.count[2] = 2;
	region.stride[2] = row;
	if (parts) {
		region.length = row / 2;
		region.count[1] = 2;
		region.stride[1] = row / 2;
		reach = row + 1;
	}
	offset = rng_chance(r, 50) ? arena : random_place(r, b, from, to, reach, 1);
	p = build_place_region(b, r->rows, from, to, offset, region);
	build_placement_at(b, p)->block = instance;
	build_placement_at(b, p)->ring = 1;
	if (parts)
		build_placement_at(b, p)->stride[1] = row / 2 + 1;
	/* The slots that there are, and not even those, now and then. */
	b->info.arena_size = offset + reach > arena ? offset + reach : arena;
	if (rng_chance(r, 8))
		b->info.arena_size--;
}

static void place_comb(struct rng *r, struct build *b, uint32_t instance)
{
	uint32_t from, middle, to, p;
	uint64_t offset;

	find_span(b, instance, r->comb, &from, &to);
	offset = random_place(r, b, from, to, 12 + 1, 1);
	p = build_place_region(b, r->comb, from, to, offset, build_region(0, 12));
	build_placement_at(b, p)->block = instance;
	if (rng_wish(r, FEATURE_FIXED, 5)) {
		build_tensor_at(b, r->comb)->flags |= NPUMEM_TENSOR_FLAG_FIXED;
		build_tensor_at(b, r->comb)->fixed_offset = offset + rng_chance(r, 10);
	}
	find_span(b, instance, r->comb + 1, &middle, &to);
	offset += rng_chance(r, 10);
	p = build_place_region(b, r->comb + 1, middle, to, offset, build_region(0, 12));
	build_placement_at(b, p)->block = instance;
}

void random_place_extra(struct rng *r, struct build *b, uint32_t instance)
{
	if (r->comb != NPUMEM_NONE)
		place_comb(r, b, instance);
	if (r->rows != NPUMEM_NONE)
		place_rows(r, b, instance);
}

/* ---------------------------------------------------------------- placements */

/* A placement begins earlier, and in the time that this adds there is another one. */
static void place_again(struct rng *r, struct build *b)
{
	struct npumem_placement *p, *q;
	uint32_t i = rng_below(r, b->placements.count), first, tries;

	for (tries = 0; tries < 8; tries++, i = rng_below(r, b->placements.count)) {
		p = build_placement_at(b, i);
		if (p->block >= b->plan_blocks.count)
			return;
		first = build_plan_block_at(b, p->block)->first_position;
		if (p->from < first + 2 || p->from > p->to)
			continue;
		q = build_add(&b->placements, 1);
		p = build_placement_at(b, i);
		*q = *p;
		q->to = p->from - 1;
		q->from = first + 1 + rng_below(r, q->to - first);
		q->offset = rng_below(r, (uint32_t)p->offset + 1);
		p->from = first + rng_below(r, q->from - first);
		return;
	}
}

static void swap_placements(struct build *b, uint32_t i, uint32_t k)
{
	struct npumem_placement swap = *build_placement_at(b, i);
	uint32_t n;

	*build_placement_at(b, i) = *build_placement_at(b, k);
	*build_placement_at(b, k) = swap;
	for (n = 0; n < b->entries.count; n++) {
		uint32_t *at = &build_entry_at(b, n)->placement;

		*at = *at == i ? k : *at == k ? i : *at;
	}
	for (n = 0; n < b->positions.count; n++) {
		uint32_t *at = &build_position_at(b, n)->placement;

		*at = *at == i ? k : *at == k ? i : *at;
	}
}

void random_disorder(struct rng *r, struct build *b)
{
	uint32_t i, k;

	if (!b->placements.count)
		return;
	if (rng_wish(r, FEATURE_AGAIN, 10) || rng_wish(r, FEATURE_MIXED, 0))
		place_again(r, b);
	if (!rng_wish(r, FEATURE_MIXED, 15))
		return;
	for (i = 0; i < b->placements.count; i++)
		for (k = 0; k < i; k++)
			if (build_placement_at(b, i)->tensor == build_placement_at(b, k)->tensor &&
			    rng_chance(r, 70))
				swap_placements(b, k, i);
}
