// SPDX-License-Identifier: MIT
#include "feature.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const names[FEATURES] = {
	"blocks", "loop",   "carry",  "entries",  "pass",  "ring",   "ring2",	 "inplace",
	"comb",	  "square", "update", "state",	  "alias", "role",   "external", "fixed",
	"staged", "again",  "mixed",  "transfer", "gap",   "stored",
};

#define BIT(feature) (1u << (feature))
/* Transfers are not verified in graphs with edges: none of these is with any of those. */
#define OF_FLOW                                                                                \
	(BIT(FEATURE_BLOCKS) | BIT(FEATURE_LOOP) | BIT(FEATURE_CARRY) | BIT(FEATURE_ENTRIES) | \
	 BIT(FEATURE_PASS))
#define OF_MOVES (BIT(FEATURE_TRANSFER) | BIT(FEATURE_GAP) | BIT(FEATURE_STORED))

static bool can_exist(uint32_t a, uint32_t b)
{
	uint32_t both = BIT(a) | BIT(b);

	return !(both & OF_FLOW && both & OF_MOVES);
}

/* ---------------------------------------------------------------- what a case has */

static uint32_t tensor_of(const struct build *b, const struct npumem_access *a)
{
	return a->tile < b->tiles.count ? build_base_of(b, build_tile_at(b, a->tile)->tensor) :
					  NPUMEM_NONE;
}

static bool is_comb(const struct build *b, const struct npumem_access *a)
{
	const struct npumem_region *r;

	if (a->tile >= b->tiles.count)
		return false;
	r = &build_tile_at(b, a->tile)->region;
	return r->count[0] > 1 || r->count[1] > 1 || r->count[2] > 1;
}

static uint32_t of_tensors(const struct build *b)
{
	uint32_t has = 0, i;

	for (i = 0; i < b->tensors.count; i++) {
		const struct npumem_tensor *t = build_tensor_at(b, i);

		if (t->flags & NPUMEM_TENSOR_FLAG_ALIAS) {
			has |= BIT(FEATURE_ALIAS);
			if (t->kind != NPUMEM_TENSOR_INTERMEDIATE)
				has |= BIT(FEATURE_ROLE);
		} else if (t->kind == NPUMEM_TENSOR_STATE) {
			has |= BIT(FEATURE_STATE);
		}
		if (t->flags & NPUMEM_TENSOR_FLAG_EXTERNAL)
			has |= BIT(FEATURE_EXTERNAL);
		if (t->flags & NPUMEM_TENSOR_FLAG_FIXED)
			has |= BIT(FEATURE_FIXED);
	}
	return has;
}

static uint32_t of_write(const struct build *b, const struct npumem_step *s,
			 const struct npumem_access *write)
{
	const struct npumem_access *read;
	uint32_t has = BIT(FEATURE_INPLACE), same = 0, i;

	if (write->inplace >= s->access_count)
		return 0;
	read = build_access_at(b, s->first_access + write->inplace);
	if (is_comb(b, write) || is_comb(b, read))
		has |= BIT(FEATURE_COMB);
	for (i = 0; i < s->access_count; i++) {
		const struct npumem_access *a = build_access_at(b, s->first_access + i);

		same += a->mode == NPUMEM_ACCESS_READ && a->tile == read->tile;
	}
	return same > 1 ? has | BIT(FEATURE_SQUARE) : has;
}

static uint32_t of_steps(const struct build *b)
{
	uint32_t has = 0, i, k;

	for (i = 0; i < b->steps.count; i++) {
		const struct npumem_step *s = build_step_at(b, i);

		if (s->flags & NPUMEM_STEP_STAGED)
			has |= BIT(FEATURE_STAGED);
		for (k = 0; k < s->access_count; k++) {
			const struct npumem_access *a = build_access_at(b, s->first_access + k);

			if (a->mode == NPUMEM_ACCESS_UPDATE)
				has |= BIT(FEATURE_UPDATE);
			if (a->inplace != NPUMEM_NONE)
				has |= of_write(b, s, a);
		}
	}
	return has;
}

static bool touches(const struct build *b, uint32_t block, uint32_t tensor)
{
	const struct npumem_block *of;
	uint32_t s, a;

	if (block >= b->blocks.count)
		return true;
	of = build_block_at(b, block);
	for (s = of->first_step; s < of->first_step + of->step_count; s++) {
		const struct npumem_step *step = build_step_at(b, s);

		for (a = step->first_access; a < step->first_access + step->access_count; a++)
			if (tensor_of(b, build_access_at(b, a)) == tensor)
				return true;
	}
	return false;
}

static uint32_t of_flow(const struct build *b)
{
	uint32_t has = BIT(FEATURE_BLOCKS), i, k, n;

	if (b->blocks.count < 2)
		return 0;
	if (b->carries.count)
		has |= BIT(FEATURE_CARRY);
	for (i = 0; i < b->plan_edges.count; i++) {
		const struct npumem_plan_edge *e = build_plan_edge_at(b, i);

		if (e->to != NPUMEM_NONE && e->to <= e->from)
			has |= BIT(FEATURE_LOOP);
	}
	for (i = 0; i < b->plan_blocks.count; i++) {
		const struct npumem_plan_block *p = build_plan_block_at(b, i);

		for (k = p->first_entry;
		     k < p->first_entry + p->entry_count && k < b->entries.count; k++) {
			const struct npumem_entry *e = build_entry_at(b, k);

			if (i && !touches(b, p->block, e->tensor))
				has |= BIT(FEATURE_PASS);
			for (n = p->first_entry; n < k; n++)
				if (build_entry_at(b, n)->tensor == e->tensor)
					has |= BIT(FEATURE_ENTRIES);
		}
	}
	return has;
}

/* Do the hulls of two regions meet? */
static bool overlap(const struct npumem_region *x, const struct npumem_region *y)
{
	uint64_t ends[2];
	uint32_t i, d;

	for (i = 0; i < 2; i++) {
		const struct npumem_region *r = i ? y : x;

		ends[i] = r->offset + r->length;
		for (d = 0; d < NPUMEM_REGION_DIMS; d++)
			ends[i] += (r->count[d] - 1) * r->stride[d];
	}
	return x->offset < ends[1] && y->offset < ends[0];
}

static uint32_t of_placements(const struct build *b)
{
	uint32_t has = 0, i, k;

	for (i = 0; i < b->placements.count; i++) {
		const struct npumem_placement *p = build_placement_at(b, i);

		if (p->ring && p->ring < p->region.count[2]) {
			has |= BIT(FEATURE_RING);
			if (p->region.count[0] > 1 || p->region.count[1] > 1)
				has |= BIT(FEATURE_RING2);
		}
		for (k = 0; k < i; k++) {
			const struct npumem_placement *q = build_placement_at(b, k);

			if (q->tensor != p->tensor || q->block != p->block)
				continue;
			if (overlap(&p->region, &q->region))
				has |= BIT(FEATURE_AGAIN);
			if (p->from < q->from)
				has |= BIT(FEATURE_MIXED);
		}
	}
	return has;
}

static bool written_after(const struct build *b, uint32_t position, uint32_t tensor)
{
	uint32_t i, a;

	for (i = position + 1; i < b->positions.count; i++) {
		const struct npumem_position *at = build_position_at(b, i);
		const struct npumem_step *s;

		if (at->kind != NPUMEM_POSITION_STEP || at->index >= b->steps.count)
			continue;
		s = build_step_at(b, at->index);
		for (a = s->first_access; a < s->first_access + s->access_count; a++)
			if (build_access_at(b, a)->mode != NPUMEM_ACCESS_READ &&
			    tensor_of(b, build_access_at(b, a)) == tensor)
				return true;
	}
	return false;
}

static uint32_t of_transfers(const struct build *b)
{
	uint32_t has = 0, i, k;

	for (i = 0; i < b->positions.count; i++) {
		const struct npumem_position *at = build_position_at(b, i);

		if (at->kind == NPUMEM_POSITION_STEP)
			continue;
		has |= BIT(FEATURE_TRANSFER);
		if (at->kind == NPUMEM_POSITION_STORE && written_after(b, i, at->index))
			has |= BIT(FEATURE_STORED);
		for (k = 0; at->kind != NPUMEM_POSITION_DROP && k < i; k++) {
			const struct npumem_position *other = build_position_at(b, k);

			if (other->kind != NPUMEM_POSITION_STEP &&
			    other->kind != NPUMEM_POSITION_DROP && other->index == at->index &&
			    (other->first + other->length < at->first ||
			     at->first + at->length < other->first))
				has |= BIT(FEATURE_GAP);
		}
	}
	return has;
}

uint32_t features_of(const struct build *b)
{
	return of_tensors(b) | of_steps(b) | of_flow(b) | of_placements(b) | of_transfers(b);
}

/* ---------------------------------------------------------------- pairs */

void features_count(struct feature_pairs *pairs, uint32_t has, bool accepted)
{
	uint32_t a, b;

	for (a = 0; a < FEATURES; a++)
		for (b = a; has & BIT(a) && b < FEATURES; b++)
			if (has & BIT(b))
				++*(accepted ? &pairs->accepted[a][b] : &pairs->refused[a][b]);
}

uint32_t features_rare(const struct feature_pairs *pairs, uint64_t turn)
{
	uint64_t least = UINT64_MAX;
	uint32_t a, b, wish = 0, i;

	for (i = 0; i < FEATURES * FEATURES; i++) {
		uint64_t n;

		a = (uint32_t)((i + turn) / FEATURES % FEATURES);
		b = (uint32_t)((i + turn) % FEATURES);
		if (a > b || !can_exist(a, b))
			continue;
		n = pairs->accepted[a][b] < pairs->refused[a][b] ? pairs->accepted[a][b] :
								   pairs->refused[a][b];
		if (n < least) {
			least = n;
			wish = BIT(a) | BIT(b);
		}
	}
	return wish;
}

uint32_t features_print(const struct feature_pairs *pairs)
{
	uint32_t a, b, missing = 0;

	printf("cases with both of two features, accepted/refused (-: cannot be):\n%-9s", "");
	for (b = 0; b < FEATURES; b++)
		printf(" %11s", names[b]);
	printf("\n");
	for (a = 0; a < FEATURES; a++) {
		printf("%-9s", names[a]);
		for (b = 0; b < FEATURES; b++) {
			char text[48] = "";

			if (b >= a && !can_exist(a, b))
				snprintf(text, sizeof(text), "-");
			else if (b >= a)
				snprintf(text, sizeof(text), "%" PRIu64 "/%" PRIu64,
					 pairs->accepted[a][b], pairs->refused[a][b]);
			printf(" %11s", text);
			if (b >= a && can_exist(a, b))
				missing += !pairs->accepted[a][b] + !pairs->refused[a][b];
		}
		printf("\n");
	}
	for (a = 0; a < FEATURES; a++)
		for (b = a; b < FEATURES; b++)
			if (can_exist(a, b) && (!pairs->accepted[a][b] || !pairs->refused[a][b]))
				printf("never %s: %s with %s\n",
				       pairs->accepted[a][b] ? "refused" : "accepted", names[a],
				       names[b]);
	return missing;
}
