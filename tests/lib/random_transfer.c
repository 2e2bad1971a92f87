// SPDX-License-Identifier: MIT
/*
 * Random plans with transfers, for a graph of one block without edges.
 *
 * Tensors are cut into parts that come and go by themselves: some begin in host
 * memory, some leave the arena between two uses and come back, some outputs end in
 * host memory. Each stay gets a placement of its own, at some address.
 */
#include <stdbool.h>
#include <string.h>

#include "oracle.h"
#include "random_case.h"

#define MAX_POSITIONS 80

/* One part of a tensor while the schedule is written. */
struct part {
	uint32_t tensor, first, length;
	uint32_t left;	 /* uses to come */
	uint32_t writes; /* of them, those that write */
	uint32_t host;	 /* address of its copy */
	uint32_t from;	 /* of the current stay, NPUMEM_NONE for none */
	bool moves;	 /* if it moves at all */
	bool been, copy;
};

/* A stay: a placement to be, and the transfers that name it. */
struct stay {
	uint32_t part, from, to;
};

struct plan {
	struct rng *r;
	struct build *b;
	struct part parts[2 * ORACLE_TENSORS];
	struct stay stays[256];
	uint32_t part_count, stay_count, host;
	struct npumem_position steps[ORACLE_STEPS];
	uint32_t step_count;
};

/* Does a step access a tensor; does it write it? */
static bool uses(const struct build *b, uint32_t step, uint32_t tensor, bool *writes)
{
	const struct npumem_step *s = build_step_at(b, step);
	bool found = false;
	uint32_t a;

	*writes = false;
	for (a = s->first_access; a < s->first_access + s->access_count; a++) {
		const struct npumem_access *access = build_access_at(b, a);

		if (build_base_of(b, build_tile_at(b, access->tile)->tensor) != tensor)
			continue;
		found = true;
		*writes |= access->mode != NPUMEM_ACCESS_READ;
	}
	return found;
}

/* Does the tensor, or an alias of it, have a kind? */
static bool has_kind(const struct build *b, uint32_t tensor, uint32_t kind)
{
	uint32_t t;

	for (t = 0; t < b->tensors.count; t++)
		if (build_base_of(b, t) == tensor && build_tensor_at(b, t)->kind == kind)
			return true;
	return false;
}

static bool starts(const struct build *b, uint32_t t)
{
	return has_kind(b, t, NPUMEM_TENSOR_INPUT) || has_kind(b, t, NPUMEM_TENSOR_PARAMETER) ||
	       has_kind(b, t, NPUMEM_TENSOR_STATE);
}

static void add_part(struct plan *p, uint32_t tensor, uint32_t first, uint32_t end, bool moves)
{
	struct part *part = &p->parts[p->part_count++];
	uint32_t i;
	bool writes;

	memset(part, 0, sizeof(*part));
	part->tensor = tensor;
	part->first = first;
	part->length = end - first;
	part->moves = moves;
	part->from = NPUMEM_NONE;
	for (i = 0; i < p->step_count; i++) {
		if (!uses(p->b, p->steps[i].index, tensor, &writes))
			continue;
		part->left++;
		part->writes += writes;
	}
	part->host = p->host;
	p->host += part->length;
	if (rng_chance(p->r, 10))
		part->host = rng_below(p->r, p->host);
	if (build_tensor_at(p->b, tensor)->flags & NPUMEM_TENSOR_FLAG_HOST) {
		part->copy = true;
	} else if (starts(p->b, tensor)) {
		part->from = 0;
		part->been = true;
	}
}

/* The parts of a tensor that are read, and another tensor's copy between theirs. */
static void add_gap(struct plan *p, uint32_t t)
{
	uint32_t length = (uint32_t)build_tensor_at(p->b, t + 1)->size, host = p->host, i;

	build_tensor_at(p->b, t)->flags |= NPUMEM_TENSOR_FLAG_HOST;
	build_tensor_at(p->b, t + 1)->flags |= NPUMEM_TENSOR_FLAG_HOST;
	add_part(p, t, 0, length, true);
	add_part(p, t, 2 * length, 3 * length, true);
	add_part(p, t + 1, 0, length, true);
	for (i = 0; i < 3; i++)
		p->parts[p->part_count - 3 + i].host = host + (i == 1 ? 2 : i / 2) * length;
	p->host = host + 3 * length;
}

static void cut_parts(struct plan *p)
{
	struct build *b = p->b;
	uint32_t t;

	for (t = 0; t < b->tensors.count; t++) {
		struct npumem_tensor *tensor = build_tensor_at(b, t);
		bool input = tensor->kind == NPUMEM_TENSOR_INPUT ||
			     tensor->kind == NPUMEM_TENSOR_PARAMETER;
		bool state = has_kind(b, t, NPUMEM_TENSOR_STATE);
		bool moves = rng_chance(p->r, 60) && (!state || rng_chance(p->r, 1));
		uint32_t size = (uint32_t)tensor->size, middle;

		if (tensor->flags & (NPUMEM_TENSOR_FLAG_ALIAS | NPUMEM_TENSOR_FLAG_EXTERNAL) ||
		    random_is_extra(p->r, t))
			continue;
		if (t == p->r->gap) {
			add_gap(p, t);
			continue;
		}
		if (p->r->gap != NPUMEM_NONE && t == p->r->gap + 1)
			continue;
		if (input && moves && rng_chance(p->r, 60))
			tensor->flags |= NPUMEM_TENSOR_FLAG_HOST;
		if (tensor->kind == NPUMEM_TENSOR_PARAMETER && rng_chance(p->r, 30))
			continue;
		if (size < 2 || rng_chance(p->r, 70)) {
			add_part(p, t, 0, size, moves);
			continue;
		}
		middle = 1 + rng_below(p->r, size - 1);
		add_part(p, t, 0, middle, moves);
		add_part(p, t, middle, size, moves && rng_chance(p->r, 60));
	}
}

static struct npumem_position *add_position(struct build *b)
{
	struct npumem_position *at = build_add(&b->positions, 1);

	at->placement = NPUMEM_NONE;
	return at;
}

/* A transfer of a part; its placement is the stay's number, for the time being. */
static void move(struct plan *p, uint32_t part, uint32_t kind)
{
	const struct part *x = &p->parts[part];
	struct npumem_position *at;

	if (p->b->positions.count >= MAX_POSITIONS)
		return;
	at = add_position(p->b);
	at->kind = kind;
	at->index = x->tensor;
	at->first = x->first;
	at->length = x->length;
	if (kind == NPUMEM_POSITION_DROP)
		return;
	at->placement = p->stay_count;
	at->host_offset = x->host;
	if (x->host + x->length > p->b->info.host_size)
		p->b->info.host_size = x->host + x->length;
}

static void end_stay(struct plan *p, uint32_t part, uint32_t to)
{
	struct part *x = &p->parts[part];

	if (x->from != NPUMEM_NONE && p->stay_count < 250)
		p->stays[p->stay_count++] = (struct stay){ part, x->from, to };
	x->from = NPUMEM_NONE;
}

/*
 * The placements that transfers name: a fill's stay is the one that begins with
 * it, a spill's the one that it ends.
 */
static uint32_t stay_at(const struct plan *p, uint32_t part, uint32_t position)
{
	uint32_t i;

	for (i = 0; i < p->stay_count; i++)
		if (p->stays[i].part == part && p->stays[i].from <= position &&
		    p->stays[i].to >= position)
			return i;
	return NPUMEM_NONE;
}

static void bring(struct plan *p, uint32_t part)
{
	struct part *x = &p->parts[part];

	x->from = p->b->positions.count;
	move(p, part, x->been ? NPUMEM_POSITION_FILL : NPUMEM_POSITION_LOAD);
	x->been = true;
}

static void evict(struct plan *p, uint32_t part)
{
	struct part *x = &p->parts[part];
	bool spill = !x->copy || rng_chance(p->r, 10);
	/* The last look may be before a drop. */
	uint32_t last = p->b->positions.count - (!spill && rng_chance(p->r, 50) ? 1 : 0);

	move(p, part, spill ? NPUMEM_POSITION_SPILL : NPUMEM_POSITION_DROP);
	end_stay(p, part, last < p->b->positions.count ? last : p->b->positions.count - 1);
	x->copy = true;
}

/* After a use of a part: it may leave, and ends for good with its last one. */
static void after_use(struct plan *p, uint32_t part)
{
	struct part *x = &p->parts[part];
	bool output = has_kind(p->b, x->tensor, NPUMEM_TENSOR_OUTPUT);

	if (!x->moves || (x->writes && !rng_wish(p->r, FEATURE_STORED, 10)))
		return;
	if (x->left || output) {
		if (rng_wish(p->r, FEATURE_STORED, output ? 30 : 8) && !x->copy) {
			move(p, part, NPUMEM_POSITION_STORE);
			x->copy = true;
		}
		if (rng_chance(p->r, 40))
			evict(p, part);
	}
}

static void write_schedule(struct plan *p)
{
	uint32_t i, k, now;
	bool writes;

	for (i = 0; i < p->step_count; i++) {
		for (k = 0; k < p->part_count; k++)
			if (uses(p->b, p->steps[i].index, p->parts[k].tensor, &writes) &&
			    p->parts[k].from == NPUMEM_NONE && p->parts[k].copy)
				bring(p, k);
		now = p->b->positions.count;
		*add_position(p->b) = p->steps[i];
		for (k = 0; k < p->part_count; k++) {
			struct part *x = &p->parts[k];

			if (!uses(p->b, p->steps[i].index, x->tensor, &writes))
				continue;
			x->left--;
			x->writes -= writes;
			if (x->from == NPUMEM_NONE)
				x->from = now;
			x->been = true;
			if (writes)
				x->copy = false;
			after_use(p, k);
			if (!x->left && x->from != NPUMEM_NONE &&
			    !has_kind(p->b, x->tensor, NPUMEM_TENSOR_STATE) &&
			    (x->copy || !has_kind(p->b, x->tensor, NPUMEM_TENSOR_OUTPUT)) &&
			    rng_chance(p->r, 80))
				end_stay(p, k, p->b->positions.count - 1);
		}
	}
	for (k = 0; k < p->part_count; k++)
		end_stay(p, k, p->b->positions.count - 1);
}

static uint32_t part_at(const struct plan *p, const struct npumem_position *at)
{
	uint32_t i;

	for (i = 0; i + 1 < p->part_count; i++)
		if (p->parts[i].tensor == at->index && p->parts[i].first == at->first)
			break;
	return i;
}

void random_transfers(struct rng *r, struct build *b)
{
	struct plan p = { .r = r, .b = b };
	uint32_t i;

	p.step_count = b->positions.count;
	memcpy(p.steps, b->positions.data, p.step_count * sizeof(p.steps[0]));
	memset(b->positions.data, 0, b->positions.count * sizeof(p.steps[0]));
	b->positions.count = 0;
	cut_parts(&p);
	write_schedule(&p);
	build_plan_block_at(b, 0)->position_count = b->positions.count;
	for (i = 0; i < p.stay_count; i++) {
		const struct stay *s = &p.stays[i];
		const struct part *x = &p.parts[s->part];

		build_place_region(b, x->tensor, s->from, s->to,
				   random_place(r, b, s->from, s->to, x->length,
						build_tensor_at(b, x->tensor)->align),
				   build_region(x->first, x->length));
	}
	for (i = 0; i < b->positions.count; i++) {
		struct npumem_position *at = build_position_at(b, i);

		if (at->kind != NPUMEM_POSITION_STEP && at->kind != NPUMEM_POSITION_DROP)
			at->placement = stay_at(&p, part_at(&p, at), i);
	}
}

void mutate_transfer(struct rng *r, struct build *b)
{
	struct npumem_position *at = build_position_at(b, rng_below(r, b->positions.count));
	uint32_t tries = 20;

	while (at->kind == NPUMEM_POSITION_STEP && tries--)
		at = build_position_at(b, rng_below(r, b->positions.count));
	switch (rng_below(r, 12)) {
	case 0:
	case 9:
		at->kind = 1 + rng_below(r, NPUMEM_POSITION_STORE + 1);
		break;
	case 10:
		/* A moment later. */
		if (at + 1 < build_position_at(b, b->positions.count)) {
			struct npumem_position swap = at[0];

			at[0] = at[1];
			at[1] = swap;
		}
		break;
	case 1:
		at->index = rng_below(r, b->tensors.count + 1);
		break;
	case 2:
		at->placement = rng_below(r, b->placements.count + 1);
		break;
	case 3:
		at->first += rng_chance(r, 50) ? 1 : -1ull;
		break;
	case 4:
		at->length += rng_chance(r, 50) ? 1 : -1ull;
		break;
	case 5:
		at->host_offset = rng_below(r, (uint32_t)b->info.host_size + 2);
		break;
	case 6:
		b->info.host_size -= b->info.host_size > 0;
		break;
	case 7:
		build_tensor_at(b, rng_below(r, b->tensors.count))->flags ^=
			NPUMEM_TENSOR_FLAG_HOST;
		break;
	default:
		/* One less. */
		if (b->plan_blocks.count != 1 || b->positions.count < 2 ||
		    at->kind == NPUMEM_POSITION_STEP)
			break;
		memmove(at, at + 1,
			(size_t)(build_position_at(b, b->positions.count) - (at + 1)) *
				sizeof(*at));
		b->positions.count--;
		build_plan_block_at(b, 0)->position_count--;
		break;
	}
}
