// SPDX-License-Identifier: MIT
/*
 * Random programs of several blocks, with plans.
 *
 * The plan is made by following the program: an instance is a block together
 * with the addresses at which its live tensors come in. From each instance all
 * edges are followed; where they lead to addresses that no instance of the block
 * has yet, there is one more. So loops whose tensors take turns are unrolled
 * until they close, and what comes after a loop is there as often as needed.
 */
#include "random_case.h"

#include <stdbool.h>
#include <string.h>

#include "oracle.h"

#define MAX_BLOCK_STEPS	 4
#define MAX_FLOW_TENSORS 10
#define NOWHERE		 0xffffffffu

/* What a tensor is to a block. */
struct effect {
	bool uses;  /* what was there before */
	bool kills; /* all of it */
};

/* A block, and the addresses at which its live tensors come in. */
struct incoming {
	uint32_t block;
	uint32_t at[ORACLE_TENSORS];
};

struct flow {
	struct rng *r;
	struct build *b;
	bool outside[ORACLE_TENSORS]; /* parameters without placement */
	struct effect effects[ORACLE_BLOCKS][ORACLE_TENSORS];
	uint32_t defined[ORACLE_BLOCKS]; /* tensors whole at the block's entry */
	uint32_t writes[ORACLE_BLOCKS][MAX_BLOCK_STEPS];
	uint32_t live[ORACLE_BLOCKS]; /* at the block's entry */
	struct incoming instances[ORACLE_INSTANCES];
	uint32_t instance_count;
	uint32_t out[ORACLE_TENSORS]; /* addresses at the end of the last instance */
};

static const struct npumem_tensor *tensor(const struct flow *f, uint32_t t)
{
	return build_tensor_at(f->b, t);
}

static uint32_t base_of(const struct flow *f, uint32_t t)
{
	return build_base_of(f->b, t);
}

static bool kind_valid(uint32_t kind)
{
	return kind == NPUMEM_TENSOR_INPUT || kind == NPUMEM_TENSOR_PARAMETER ||
	       kind == NPUMEM_TENSOR_STATE;
}

/* Does the tensor, or an alias of it, have a kind? */
static bool has_kind(const struct flow *f, uint32_t t, uint32_t kind)
{
	uint32_t i;

	for (i = 0; i < f->b->tensors.count; i++)
		if (base_of(f, i) == t && tensor(f, i)->kind == kind)
			return true;
	return false;
}

static bool writable(const struct flow *f, uint32_t t)
{
	if ((has_kind(f, t, NPUMEM_TENSOR_INPUT) || has_kind(f, t, NPUMEM_TENSOR_PARAMETER)) &&
	    !rng_chance(f->r, 3))
		return false;
	return !(tensor(f, t)->flags & NPUMEM_TENSOR_FLAG_ALIAS) &&
	       tensor(f, t)->kind != NPUMEM_TENSOR_INPUT &&
	       tensor(f, t)->kind != NPUMEM_TENSOR_PARAMETER;
}

/* The tensor whose value another one takes along an edge of the graph. */
static uint32_t source_of(const struct flow *f, uint32_t edge, uint32_t t)
{
	const struct npumem_edge *e = build_edge_at(f->b, edge);
	uint32_t i;

	for (i = e->first_carry; i < e->first_carry + e->carry_count; i++)
		if (build_carry_at(f->b, i)->to == t)
			return build_carry_at(f->b, i)->from;
	return t;
}

/* ---------------------------------------------------------------- the program */

static void make_tensors(struct flow *f)
{
	static const uint32_t kinds[] = {
		NPUMEM_TENSOR_INTERMEDIATE, NPUMEM_TENSOR_INTERMEDIATE, NPUMEM_TENSOR_INTERMEDIATE,
		NPUMEM_TENSOR_INTERMEDIATE, NPUMEM_TENSOR_INTERMEDIATE, NPUMEM_TENSOR_OUTPUT,
		NPUMEM_TENSOR_STATE,	    NPUMEM_TENSOR_PARAMETER,
	};
	static const uint32_t alias_kinds[] = {
		NPUMEM_TENSOR_INTERMEDIATE, NPUMEM_TENSOR_INTERMEDIATE, NPUMEM_TENSOR_INTERMEDIATE,
		NPUMEM_TENSOR_OUTPUT,	    NPUMEM_TENSOR_OUTPUT,	NPUMEM_TENSOR_STATE,
		NPUMEM_TENSOR_STATE,	    NPUMEM_TENSOR_INPUT,	NPUMEM_TENSOR_PARAMETER,
	};
	uint32_t n = 3 + rng_below(f->r, MAX_FLOW_TENSORS - 3), t, of, size, role;
	struct npumem_tensor *alias;

	for (t = 0; t < n; t++) {
		uint32_t kind = kinds[rng_below(f->r, sizeof(kinds) / sizeof(kinds[0]))];

		build_tensor(f->b, t ? kind : NPUMEM_TENSOR_INPUT,
			     rng_chance(f->r, 70) ? 4 : 1 + rng_below(f->r, 8), NULL);
		if (rng_chance(f->r, f->r->wish >> FEATURE_EXTERNAL & 1 ? 40 : 8))
			build_tensor_at(f->b, t)->flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
		f->outside[t] = kind == NPUMEM_TENSOR_PARAMETER && rng_chance(f->r, 50);
	}
	if (!rng_chance(f->r, f->r->wish & (1u << FEATURE_ALIAS | 1u << FEATURE_ROLE) ? 80 : 25))
		return;
	of = rng_below(f->r, n);
	role = alias_kinds[rng_below(f->r, sizeof(alias_kinds) / sizeof(alias_kinds[0]))];
	size = (uint32_t)tensor(f, of)->size;
	/* What is there at the beginning is so as a whole, mostly, or it is of little use. */
	if (!kind_valid(role) || rng_chance(f->r, 40))
		size = 1 + rng_below(f->r, size);
	t = build_tensor(f->b, role, size, NULL);
	alias = build_tensor_at(f->b, t);
	alias->flags = NPUMEM_TENSOR_FLAG_ALIAS;
	alias->alias_of = of;
	alias->alias_offset = rng_chance(f->r, 50) ? tensor(f, of)->size - alias->size : 0;
}

/* Blocks in a row, and some ways forward and back between them. */
static void make_edges(struct flow *f, uint32_t blocks)
{
	uint32_t i, more = rng_below(f->r, 4);

	for (i = 0; i < blocks; i++)
		build_edge(f->b, i, i + 1 < blocks ? i + 1 : NPUMEM_NONE);
	while (more--) {
		uint32_t from = rng_below(f->r, blocks);
		uint32_t to = 1 + rng_below(f->r, blocks);

		if (rng_chance(f->r, 60) && from)
			to = 1 + rng_below(f->r, from);
		build_edge(f->b, from, to < blocks ? to : NPUMEM_NONE);
	}
}

/* What each step of each block writes: chosen before it is known what it can read. */
static void choose_writes(struct flow *f, uint32_t blocks)
{
	uint32_t b, s, t;

	memset(f->writes, 0xff, sizeof(f->writes));
	for (b = 0; b < blocks; b++) {
		uint32_t n = rng_below(f->r, MAX_BLOCK_STEPS + 1), done = 0;

		for (s = 0; s < n; s++) {
			t = rng_below(f->r, f->b->tensors.count);
			if (!writable(f, t) || done >> t & 1)
				continue;
			f->writes[b][s] = t;
			done |= 1u << t;
		}
	}
	/* An output that nobody writes has no chance. */
	s = 0;
	for (t = 0; t < f->b->tensors.count && s < MAX_BLOCK_STEPS; t++) {
		uint32_t *writes = f->writes[rng_chance(f->r, 80) ? 0 : blocks - 1], i;

		if (tensor(f, t)->kind != NPUMEM_TENSOR_OUTPUT || !writable(f, t))
			continue;
		for (i = 0; i < MAX_BLOCK_STEPS; i++)
			if (writes[i] == t)
				writes[i] = NOWHERE;
		writes[s++] = t;
	}
}

/* Tensors that are whole at the end of a block. */
static uint32_t defined_at_end(const struct flow *f, uint32_t block)
{
	uint32_t defined = f->defined[block], s;

	for (s = 0; s < MAX_BLOCK_STEPS; s++)
		if (f->writes[block][s] != NOWHERE)
			defined |= 1u << f->writes[block][s];
	return defined;
}

static void find_defined(struct flow *f, uint32_t blocks)
{
	uint32_t round, i, t, valid = 0;

	for (t = 0; t < f->b->tensors.count; t++) {
		valid |= (uint32_t)kind_valid(tensor(f, t)->kind) << t;
		if (kind_valid(tensor(f, t)->kind) &&
		    tensor(f, t)->size == tensor(f, base_of(f, t))->size)
			valid |= 1u << base_of(f, t);
	}
	memset(f->defined, 0xff, sizeof(f->defined));
	f->defined[0] = valid;
	for (round = 0; round < blocks + 2; round++) {
		for (i = 0; i < f->b->edges.count; i++) {
			const struct npumem_edge *e = build_edge_at(f->b, i);
			uint32_t at_end = defined_at_end(f, e->from), passed = 0;

			if (e->to == NPUMEM_NONE)
				continue;
			for (t = 0; t < f->b->tensors.count; t++)
				passed |= (at_end >> source_of(f, i, t) & 1) << t;
			f->defined[e->to] &= passed;
		}
	}
}

/* Mostly of what is defined, which leaves defined what was. */
static void make_carries(struct flow *f, struct npumem_edge *e)
{
	uint32_t n = rng_chance(f->r, 40) ? 0 : 1 + rng_below(f->r, 3), from, to, i, tries;
	uint32_t defined = defined_at_end(f, e->from);

	e->first_carry = f->b->carries.count;
	for (tries = 0; n && tries < 30; tries++) {
		struct npumem_carry *c;

		from = rng_below(f->r, f->b->tensors.count);
		to = rng_below(f->r, f->b->tensors.count);
		if (from == to || !writable(f, to) ||
		    tensor(f, from)->size != tensor(f, to)->size ||
		    tensor(f, from)->flags & NPUMEM_TENSOR_FLAG_ALIAS ||
		    (tensor(f, from)->flags | tensor(f, to)->flags) & NPUMEM_TENSOR_FLAG_EXTERNAL)
			continue;
		if ((!(defined >> from & 1) || f->outside[from] ||
		     tensor(f, to)->kind == NPUMEM_TENSOR_STATE) &&
		    !rng_chance(f->r, 3))
			continue;
		for (i = 0; i < e->carry_count; i++)
			if (build_carry_at(f->b, e->first_carry + i)->to == to)
				break;
		if (i < e->carry_count)
			continue;
		c = build_add(&f->b->carries, 1);
		c->from = from;
		c->to = to;
		e->carry_count++;
		/* Swapped, every so often. */
		if (writable(f, from) && defined >> to & 1 && rng_chance(f->r, 40)) {
			for (i = 0; i < e->carry_count; i++)
				if (build_carry_at(f->b, e->first_carry + i)->to == from)
					break;
			if (i < e->carry_count)
				continue;
			c = build_add(&f->b->carries, 1);
			c->from = to;
			c->to = from;
			e->carry_count++;
		}
		n--;
	}
}

static uint32_t random_defined(struct flow *f, uint32_t defined)
{
	uint32_t t = rng_below(f->r, f->b->tensors.count), tries = 8;

	/* Rarely one that is not. */
	while (!(defined >> base_of(f, t) & 1) && tries-- && !rng_chance(f->r, 1))
		t = rng_below(f->r, f->b->tensors.count);
	return t;
}

static void use(struct flow *f, uint32_t block, uint32_t t)
{
	struct effect *e = &f->effects[block][base_of(f, t)];

	e->uses |= !e->kills;
}

/* Step: reads, and a write of a tensor in one piece, in two, or an update of part of it. */
static void make_step(struct flow *f, uint32_t block, uint32_t written, uint32_t *defined)
{
	uint32_t step = build_step(f->b, rng_chance(f->r, 50) ? NPUMEM_STEP_STAGED : 0, NULL);
	uint32_t n = rng_below(f->r, 3), i, a, size, first = f->b->accesses.count;
	uint32_t whole = NPUMEM_NONE;

	for (i = 0; i < n || (written == NOWHERE && !i); i++) {
		uint32_t t = random_defined(f, *defined);

		size = (uint32_t)tensor(f, t)->size;
		a = build_access(f->b,
				 build_tile(f->b, t,
					    rng_chance(f->r, 60) ? build_region(0, size) :
								   random_region(f->r, size)),
				 NPUMEM_ACCESS_READ);
		if (build_tile_at(f->b, build_access_at(f->b, a)->tile)->region.length == size)
			whole = a;
		use(f, block, t);
	}
	if (written == NOWHERE)
		return;
	size = (uint32_t)tensor(f, written)->size;
	if (*defined >> written & 1 && rng_chance(f->r, 30)) {
		build_access(f->b, build_tile(f->b, written, random_region(f->r, size)),
			     rng_chance(f->r, 70) ? NPUMEM_ACCESS_UPDATE : NPUMEM_ACCESS_WRITE);
		use(f, block, written);
		return;
	}
	if (size > 1 && rng_chance(f->r, 20)) {
		i = 1 + rng_below(f->r, size - 1);
		build_access(f->b, build_tile(f->b, written, build_region(0, i)),
			     NPUMEM_ACCESS_WRITE);
		build_access(f->b, build_tile(f->b, written, build_region(i, size - i)),
			     NPUMEM_ACCESS_WRITE);
	} else {
		a = build_access(f->b, build_whole(f->b, written), NPUMEM_ACCESS_WRITE);
		if (whole != NPUMEM_NONE && rng_chance(f->r, 60) &&
		    tensor(f, build_tile_at(f->b, build_access_at(f->b, whole)->tile)->tensor)
				    ->size == size)
			build_access_at(f->b, a)->inplace = whole - first;
	}
	f->effects[block][written].kills = true;
	*defined |= 1u << written;
	(void)step;
}

static void make_steps(struct flow *f, uint32_t blocks)
{
	uint32_t b, s;

	for (b = 0; b < blocks; b++) {
		uint32_t defined = f->defined[b];

		for (s = 0; s < MAX_BLOCK_STEPS; s++)
			if (f->writes[b][s] != NOWHERE || rng_chance(f->r, 8))
				make_step(f, b, f->writes[b][s], &defined);
		if (!b)
			random_extra(f->r, f->b, false);
		build_block(f->b, NULL);
	}
	/* A blob has a step at least. */
	if (!f->b->steps.count) {
		build_step(f->b, 0, NULL);
		build_access(f->b, build_whole(f->b, 0), NPUMEM_ACCESS_READ);
		build_block_at(f->b, blocks - 1)->step_count = 1;
		use(f, blocks - 1, 0);
	}
}

static bool lasts(const struct flow *f, uint32_t t)
{
	return tensor(f, t)->kind == NPUMEM_TENSOR_OUTPUT ||
	       tensor(f, t)->kind == NPUMEM_TENSOR_STATE;
}

/* Tensors that somebody after the end of a block asks for. */
static uint32_t live_out(const struct flow *f, uint32_t block)
{
	uint32_t out = 0, i, t;

	for (i = 0; i < f->b->edges.count; i++) {
		const struct npumem_edge *e = build_edge_at(f->b, i);

		if (e->from != block)
			continue;
		for (t = 0; t < f->b->tensors.count; t++)
			if (e->to == NPUMEM_NONE ? lasts(f, t) : f->live[e->to] >> t & 1)
				out |= 1u << base_of(f, source_of(f, i, t));
	}
	return out;
}

static void find_live(struct flow *f, uint32_t blocks)
{
	uint32_t round, b, t;

	memset(f->live, 0, sizeof(f->live));
	for (round = 0; round <= blocks * f->b->tensors.count; round++) {
		for (b = 0; b < blocks; b++) {
			uint32_t out = live_out(f, b);

			for (t = 0; t < f->b->tensors.count; t++)
				if (f->effects[b][t].uses ||
				    (out >> t & 1 && !f->effects[b][t].kills))
					f->live[b] |= 1u << t;
		}
	}
}

/* ---------------------------------------------------------------- the plan */

/* Bound for the whole run, or outside the arena: nothing to say. */
static bool unplanned(const struct flow *f, uint32_t t)
{
	return random_is_extra(f->r, t) || f->outside[t] ||
	       tensor(f, t)->flags & NPUMEM_TENSOR_FLAG_ALIAS ||
	       (tensor(f, t)->flags & NPUMEM_TENSOR_FLAG_EXTERNAL &&
		kind_valid(tensor(f, t)->kind));
}

static void add_entry(struct flow *f, uint32_t t, uint32_t placement, uint64_t first,
		      uint64_t length)
{
	struct npumem_entry *e = build_add(&f->b->entries, 1);

	e->tensor = t;
	e->placement = placement;
	e->flags = placement == NPUMEM_NONE ? 0 : NPUMEM_ENTRY_RESIDENT;
	e->first = first;
	e->length = length;
	build_plan_block_at(f->b, f->b->plan_blocks.count - 1)->entry_count++;
}

static uint32_t place(struct flow *f, uint32_t t, uint32_t from, uint32_t to, uint32_t at,
		      struct npumem_region region)
{
	uint32_t p = build_place_region(f->b, t, from, to, at, region);

	build_placement_at(f->b, p)->block = f->b->plan_blocks.count - 1;
	return p;
}

/* A tensor that is there at the entry, now and then in two parts. */
static void place_entry(struct flow *f, uint32_t t, uint32_t from, uint32_t to, uint32_t at)
{
	uint64_t size = tensor(f, t)->size, cut = size / 2;
	uint32_t p;

	if (cut && rng_wish(f->r, FEATURE_ENTRIES, 10)) {
		p = place(f, t, from, to, at, build_region(0, cut));
		add_entry(f, t, p, 0, cut);
		/* An edge from where it is in one piece must not go to where it is torn. */
		p = place(f, t, from, to, at + (uint32_t)cut + rng_chance(f->r, 10),
			  build_region(cut, size - cut));
		add_entry(f, t, p, cut, size - cut);
		return;
	}
	p = place(f, t, from, to, at, build_region(0, size));
	if (rng_chance(f->r, 1))
		place(f, t, from, from, rng_below(f->r, at + 1), build_region(0, size));
	if (cut && rng_chance(f->r, 10)) {
		add_entry(f, t, p, cut, size - cut);
		add_entry(f, t, p, 0, cut);
	} else {
		add_entry(f, t, p, 0, size);
	}
}

/*
 * A tensor that is there when the program begins although nobody asks for it: all
 * of it, or what an alias is of it, or a byte more than is there.
 */
static void place_unused(struct flow *f, uint32_t t, uint32_t from, uint32_t to)
{
	uint32_t size = (uint32_t)tensor(f, t)->size, first = 0, length = size, i, p, at;

	for (i = 0; i < f->b->tensors.count; i++) {
		if (base_of(f, i) != t || !kind_valid(tensor(f, i)->kind))
			continue;
		first = i == t ? 0 : (uint32_t)tensor(f, i)->alias_offset;
		length = (uint32_t)tensor(f, i)->size;
	}
	if (first + length < size && rng_chance(f->r, 30))
		length++;
	at = (uint32_t)random_place(f->r, f->b, from, to, size, 1);
	p = place(f, t, from, to, at, build_region(0, size));
	add_entry(f, t, p, first, length);
	/* At two places at once it may not be, whether needed or not. */
	if (rng_chance(f->r, 30))
		place(f, t, from, from, rng_below(f->r, at + 1), build_region(0, size));
}

static bool starts(const struct flow *f, uint32_t t)
{
	return has_kind(f, t, NPUMEM_TENSOR_INPUT) || has_kind(f, t, NPUMEM_TENSOR_PARAMETER) ||
	       has_kind(f, t, NPUMEM_TENSOR_STATE);
}

/* First and last positions in the last instance at which a tensor is read and written. */
struct span {
	uint32_t first_write, last_read, last;
};

static struct span span_of(const struct flow *f, uint32_t t)
{
	const struct npumem_plan_block *p = build_plan_block_at(f->b, f->b->plan_blocks.count - 1);
	struct span s = { NOWHERE, p->first_position, p->first_position };
	uint32_t i, a;

	for (i = p->first_position; i < p->first_position + p->position_count; i++) {
		const struct npumem_step *step =
			build_step_at(f->b, build_position_at(f->b, i)->index);

		for (a = step->first_access; a < step->first_access + step->access_count; a++) {
			const struct npumem_access *access = build_access_at(f->b, a);

			if (base_of(f, build_tile_at(f->b, access->tile)->tensor) != t)
				continue;
			s.last = i;
			if (access->mode != NPUMEM_ACCESS_READ && s.first_write == NOWHERE)
				s.first_write = i;
			if (access->mode != NPUMEM_ACCESS_WRITE && s.first_write == NOWHERE)
				s.last_read = i;
		}
	}
	return s;
}

/* Address for a tensor that comes into being: perhaps that of what it is written in place of. */
static uint32_t choose_address(struct flow *f, uint32_t t, uint32_t from, uint32_t to)
{
	uint32_t i;

	for (i = 0; rng_chance(f->r, 40) && i < f->b->accesses.count; i++) {
		const struct npumem_access *a = build_access_at(f->b, i), *source;
		uint32_t s;

		if (a->inplace == NPUMEM_NONE || build_tile_at(f->b, a->tile)->tensor != t)
			continue;
		for (s = 0; i >= build_step_at(f->b, s)->first_access +
					 build_step_at(f->b, s)->access_count;
		     s++)
			;
		source = build_access_at(f->b, build_step_at(f->b, s)->first_access + a->inplace);
		s = f->out[base_of(f, build_tile_at(f->b, source->tile)->tensor)];
		if (s != NOWHERE)
			return s;
	}
	return (uint32_t)random_place(f->r, f->b, from, to, tensor(f, t)->size, 1);
}

static void make_instance(struct flow *f, const struct incoming *in)
{
	uint32_t out = live_out(f, in->block), t, first, last;
	const struct npumem_plan_block *p;

	build_instance(f->b, in->block);
	p = build_plan_block_at(f->b, f->b->plan_blocks.count - 1);
	first = p->first_position;
	last = first + (p->position_count ? p->position_count - 1 : 0);
	if (p->position_count > 1 && rng_chance(f->r, 10)) {
		struct npumem_position *q = build_position_at(f->b, first);
		struct npumem_position swap = q[0];

		q[0] = q[1];
		q[1] = swap;
	}
	memset(f->out, 0xff, sizeof(f->out));
	for (t = 0; t < f->b->tensors.count; t++) {
		struct span s = span_of(f, t);
		uint32_t to = out >> t & 1 ? last : s.last;

		if (unplanned(f, t))
			continue;
		if (!(f->live[in->block] >> t & 1)) {
			if (!f->instance_count && s.first_write == NOWHERE && starts(f, t) &&
			    !(tensor(f, t)->flags & NPUMEM_TENSOR_FLAG_EXTERNAL) &&
			    rng_chance(f->r, 30))
				place_unused(f, t, first, to);
			continue;
		}
		if (tensor(f, t)->flags & NPUMEM_TENSOR_FLAG_EXTERNAL) {
			add_entry(f, t, NPUMEM_NONE, 0, tensor(f, t)->size);
			continue;
		}
		if (f->effects[in->block][t].kills && s.first_write != NOWHERE &&
		    s.last_read < s.first_write && tensor(f, t)->kind != NPUMEM_TENSOR_STATE &&
		    rng_chance(f->r, 60))
			to = s.last_read;
		/* What only passes through has one place, too, up to the end. */
		if (s.first_write == NOWHERE && s.last == first && last > first && out >> t & 1 &&
		    rng_chance(f->r, 8)) {
			if (rng_chance(f->r, 50))
				to = last - 1;
			else
				place(f, t, first + 1, last, rng_below(f->r, in->at[t] + 1),
				      build_region(0, tensor(f, t)->size));
		}
		place_entry(f, t, first, to, in->at[t]);
		f->out[t] = to == s.last_read && to < s.first_write && to < last &&
					    s.first_write != NOWHERE ?
				    NOWHERE :
				    in->at[t];
	}
	for (t = 0; t < f->b->tensors.count; t++) {
		struct span s = span_of(f, t);
		uint32_t to = out >> t & 1 ? last : s.last;

		if (unplanned(f, t) || tensor(f, t)->flags & NPUMEM_TENSOR_FLAG_EXTERNAL ||
		    s.first_write == NOWHERE || f->out[t] != NOWHERE)
			continue;
		f->out[t] = choose_address(f, t, s.first_write, to);
		place(f, t, s.first_write, to, f->out[t], build_region(0, tensor(f, t)->size));
	}
	f->instances[f->instance_count++] = *in;
}

/* The instance that an edge from the last one leads to; one that is still to be made perhaps. */
static uint32_t find_instance(struct flow *f, const struct incoming *in, struct incoming *waiting,
			      uint32_t *wait_count)
{
	uint32_t i, t, total = f->instance_count + *wait_count;

	for (i = 0; i < total; i++) {
		const struct incoming *x = i < f->instance_count ? &f->instances[i] :
								   &waiting[i - f->instance_count];

		if (x->block != in->block)
			continue;
		for (t = 0; t < f->b->tensors.count; t++)
			if (f->live[in->block] >> t & 1 && x->at[t] != in->at[t])
				break;
		if (t == f->b->tensors.count || total >= ORACLE_INSTANCES)
			return i;
	}
	waiting[(*wait_count)++] = *in;
	return total;
}

static void follow_edges(struct flow *f, struct incoming *waiting, uint32_t *wait_count)
{
	uint32_t here = f->instance_count - 1, i, t;

	for (i = 0; i < f->b->edges.count; i++) {
		const struct npumem_edge *e = build_edge_at(f->b, i);
		struct incoming in = { .block = e->to };

		if (e->from != f->instances[here].block)
			continue;
		if (e->to == NPUMEM_NONE) {
			build_plan_edge(f->b, here, NPUMEM_NONE, i);
			continue;
		}
		/* What is nowhere cannot come in: some address, for the verifier to refuse. */
		for (t = 0; t < f->b->tensors.count; t++)
			in.at[t] = f->out[source_of(f, i, t)] == NOWHERE ?
					   0 :
					   f->out[source_of(f, i, t)];
		build_plan_edge(f->b, here, find_instance(f, &in, waiting, wait_count), i);
	}
}

static void make_plan(struct flow *f)
{
	struct incoming waiting[ORACLE_INSTANCES + 1] = { 0 };
	uint32_t count = 1, t, at = 0;

	for (t = 0; t < f->b->tensors.count; t++) {
		waiting[0].at[t] = at;
		if (f->live[0] >> t & 1 && !unplanned(f, t))
			at += (uint32_t)tensor(f, t)->size;
	}
	while (count && f->instance_count < ORACLE_INSTANCES) {
		struct incoming next = waiting[0];

		memmove(waiting, waiting + 1, --count * sizeof(*waiting));
		make_instance(f, &next);
		follow_edges(f, waiting, &count);
	}
}

void random_flow(struct rng *r, struct build *b)
{
	struct flow f = { .r = r, .b = b };
	uint32_t blocks = 2 + rng_below(r, 5), i;

	r->rows = r->comb = r->gap = NPUMEM_NONE;
	make_tensors(&f);
	make_edges(&f, blocks);
	choose_writes(&f, blocks);
	find_defined(&f, blocks);
	for (i = 0; i < b->edges.count; i++)
		make_carries(&f, build_edge_at(b, i));
	find_defined(&f, blocks);
	make_steps(&f, blocks);
	find_live(&f, blocks);
	make_plan(&f);
	random_place_extra(r, b, 0);
}
