// SPDX-License-Identifier: MIT
/* The judge of plans: each instance by itself, and each edge from it. */
#include "oracle_internal.h"

#include <string.h>

static const struct npumem_plan_block *instance_at(const struct oracle *o, uint32_t i)
{
	return build_plan_block_at(o->b, i);
}

/* ---------------------------------------------------------------- records */

static const char *judge_instances(struct oracle *o)
{
	const struct build *b = o->b;
	uint32_t i, k, positions = 0, entries = 0;

	if (!b->plan_blocks.count || instance_at(o, 0)->block)
		return "instances";
	for (i = 0; i < b->plan_blocks.count; i++) {
		const struct npumem_plan_block *p = instance_at(o, i);
		bool seen[ORACLE_STEPS] = { 0 };
		const struct npumem_block *block;
		uint32_t steps = 0;

		if (p->block >= b->blocks.count || p->first_position != positions ||
		    p->first_entry != entries || p->pad ||
		    p->position_count > b->positions.count - positions ||
		    p->entry_count > b->entries.count - entries)
			return "instances";
		block = build_block_at(b, p->block);
		for (k = 0; k < p->position_count; k++) {
			const struct npumem_position *at = build_position_at(b, positions + k);
			uint32_t step = at->index;

			o->instance_of[positions + k] = (unsigned char)i;
			if (at->kind != NPUMEM_POSITION_STEP) {
				o->moving = true;
				if (!o->flat || at->kind > NPUMEM_POSITION_STORE)
					return "schedule";
				continue;
			}
			if (at->placement != NPUMEM_NONE || at->pad || at->first || at->length ||
			    at->host_offset)
				return "schedule";
			steps++;
			if (step < block->first_step ||
			    step >= block->first_step + block->step_count || seen[step])
				return "schedule";
			seen[step] = true;
		}
		if (steps != block->step_count)
			return "schedule";
		o->first[i] = (unsigned char)(k ? positions : b->positions.count + i);
		o->last[i] = (unsigned char)(k ? positions + k - 1 : o->first[i]);
		positions += k;
		entries += p->entry_count;
	}
	if (o->flat && (b->plan_blocks.count != 1 || entries))
		return "instances";
	return positions == b->positions.count && entries == b->entries.count ? NULL : "instances";
}

static const char *judge_edges(const struct oracle *o)
{
	const struct build *b = o->b;
	uint32_t i, k, n;

	if (o->flat) {
		const struct npumem_plan_edge *e = build_plan_edge_at(b, 0);

		return b->plan_edges.count > 1 ||
				       (b->plan_edges.count && (e->from || e->to != NPUMEM_NONE ||
								e->edge != NPUMEM_NONE || e->pad)) ?
			       "edges" :
			       NULL;
	}
	for (i = 0; i < b->plan_edges.count; i++) {
		const struct npumem_plan_edge *e = build_plan_edge_at(b, i);
		const struct npumem_edge *of;

		if (e->from >= b->plan_blocks.count || e->edge >= b->edges.count || e->pad ||
		    (e->to >= b->plan_blocks.count && e->to != NPUMEM_NONE))
			return "edges";
		of = build_edge_at(b, e->edge);
		if (of->from != instance_at(o, e->from)->block ||
		    of->to != (e->to == NPUMEM_NONE ? NPUMEM_NONE : instance_at(o, e->to)->block))
			return "edges";
	}
	for (i = 0; i < b->plan_blocks.count; i++) {
		for (k = 0; k < b->edges.count; k++) {
			uint32_t found = 0;

			for (n = 0; n < b->plan_edges.count; n++)
				found += build_plan_edge_at(b, n)->from == i &&
					 build_plan_edge_at(b, n)->edge == k;
			if (found != (build_edge_at(b, k)->from == instance_at(o, i)->block))
				return "edges";
		}
	}
	return NULL;
}

static const char *judge_placement(struct oracle *o, uint32_t index)
{
	const struct npumem_placement *p = build_placement_at(o->b, index);
	const struct npumem_plan_block *in;
	const struct npumem_tensor *t;
	unsigned char bytes[ORACLE_BYTES], count;
	uint64_t addresses[ORACLE_BYTES];
	uint32_t i, at, from, to;

	if (p->tensor >= o->b->tensors.count || p->block >= o->b->plan_blocks.count)
		return "placement: tensor";
	t = build_tensor_at(o->b, p->tensor);
	in = instance_at(o, p->block);
	if (t->flags & (NPUMEM_TENSOR_FLAG_ALIAS | NPUMEM_TENSOR_FLAG_EXTERNAL))
		return "placement: alias or external";
	if (p->from > p->to || p->from < in->first_position ||
	    p->to - in->first_position >= in->position_count + !in->position_count)
		return "placement: span";
	if (!oracle_enumerate(&p->region, t->size, p, bytes, addresses, &count))
		return "placement: region";
	if (p->ring > p->region.count[2])
		return "placement: ring";
	if (p->offset % t->align)
		return "placement: align";
	o->placed[p->tensor] = true;
	from = in->position_count ? p->from : o->first[p->block];
	to = in->position_count ? p->to : from;
	for (i = 0; i < count; i++) {
		if (addresses[i] >= o->b->info.arena_size)
			return "placement: arena";
		if ((t->flags & NPUMEM_TENSOR_FLAG_FIXED) &&
		    addresses[i] != t->fixed_offset + bytes[i])
			return "placement: fixed";
		for (at = from; at <= to; at++) {
			struct oracle_home *h = &o->home[p->tensor][bytes[i]][at];

			h->holders++;
			h->placement = (unsigned char)index;
			h->address = (unsigned short)addresses[i];
		}
	}
	return NULL;
}

static const char *judge_entry(struct oracle *o, uint32_t instance, uint32_t index)
{
	const struct npumem_entry *e = build_entry_at(o->b, index);
	const struct npumem_tensor *t;
	uint64_t i;

	if (e->tensor >= o->b->tensors.count || e->pad || e->host_offset || !e->length)
		return "entry";
	t = build_tensor_at(o->b, e->tensor);
	if (t->flags & NPUMEM_TENSOR_FLAG_ALIAS || e->first > t->size ||
	    e->length > t->size - e->first)
		return "entry";
	if (oracle_external(o, e->tensor)) {
		if (e->placement != NPUMEM_NONE || e->flags)
			return "entry";
	} else {
		if (e->placement >= o->b->placements.count || e->flags != NPUMEM_ENTRY_RESIDENT ||
		    build_placement_at(o->b, e->placement)->block != instance)
			return "entry";
	}
	for (i = e->first; i < e->first + e->length; i++) {
		const struct oracle_home *h = &o->home[e->tensor][i][o->first[instance]];

		if (o->entered[instance][e->tensor][i])
			return "entry: twice";
		if (!oracle_external(o, e->tensor) &&
		    (h->holders != 1 || h->placement != e->placement))
			return "entry: not in its placement";
		if (!instance && !oracle_starts(o, e->tensor, (uint32_t)i))
			return "entry: not there at the beginning";
		o->entered[instance][e->tensor][i] = true;
	}
	return NULL;
}

/* Two bytes at one address: never of one tensor, and none where an inference begins. */
static const char *judge_apart(const struct oracle *o, uint32_t instance)
{
	static unsigned char who[ORACLE_ARENA];
	static bool taken[ORACLE_ARENA];
	uint32_t t, i;
	unsigned int at;

	memset(taken, 0, sizeof(taken));
	for (t = 0; t < o->b->tensors.count; t++) {
		for (i = 0; i < build_tensor_at(o->b, t)->size; i++) {
			if (!o->entered[instance][t][i] || oracle_external(o, t))
				continue;
			oracle_address(o, t, i, o->first[instance], &at);
			if (taken[at] && (!instance || who[at] == t))
				return "two bytes in one place at entry";
			taken[at] = true;
			who[at] = (unsigned char)t;
		}
	}
	return NULL;
}

static const char *judge_entries(struct oracle *o, uint32_t instance)
{
	const struct npumem_plan_block *p = instance_at(o, instance);
	const char *flaw = NULL;
	uint32_t i, t;

	for (i = 0; !flaw && i < p->entry_count; i++)
		flaw = judge_entry(o, instance, p->first_entry + i);
	for (t = 0; !flaw && t < o->b->tensors.count; t++) {
		for (i = 0; i < build_tensor_at(o->b, t)->size; i++) {
			const struct oracle_home *h = &o->home[t][i][0];

			/* Without records: what is valid lies where it is placed. */
			if (o->flat && oracle_starts(o, t, i) && !oracle_hosted(o, t) &&
			    (oracle_external(o, t) || h->holders))
				o->entered[0][t][i] = true;
			if (oracle_external(o, t) && oracle_constant(o, t))
				o->entered[instance][t][i] = true;
		}
	}
	return flaw ? flaw : judge_apart(o, instance);
}

/* ---------------------------------------------------------------- lives */

static bool defined(const struct oracle *o, uint32_t instance, uint32_t t, uint32_t byte)
{
	return o->last_version[instance_at(o, instance)->block][t][byte] ||
	       o->entered[instance][t][byte] || oracle_constant(o, t) || oracle_hosted(o, t);
}

static const char *need(struct oracle *o, uint32_t instance, uint32_t t, uint32_t byte)
{
	if (!defined(o, instance, t, byte))
		return "needed at the end, but not there";
	o->needed[instance][t][byte] = true;
	return NULL;
}

static const char *need_exit(struct oracle *o, uint32_t instance, bool edge, uint32_t index)
{
	const char *flaw = NULL;
	uint32_t t, i;

	for (t = 0; t < o->b->tensors.count; t++)
		for (i = 0; !flaw && i < build_tensor_at(o->b, t)->size; i++)
			if (oracle_has_role(o, t, i, NPUMEM_TENSOR_OUTPUT) ||
			    oracle_has_role(o, t, i, NPUMEM_TENSOR_STATE))
				flaw = need(o, instance, edge ? oracle_source(o, index, t) : t, i);
	return flaw;
}

static const char *need_edge(struct oracle *o, uint32_t edge)
{
	const struct npumem_plan_edge *e = build_plan_edge_at(o->b, edge);
	const char *flaw = NULL;
	uint32_t t, i;

	if (e->to == NPUMEM_NONE)
		return need_exit(o, e->from, true, edge);
	for (t = 0; t < o->b->tensors.count; t++)
		for (i = 0; !flaw && i < build_tensor_at(o->b, t)->size; i++)
			if (o->entered[e->to][t][i])
				flaw = need(o, e->from, oracle_source(o, edge, t), i);
	return flaw;
}

/* Do the same accesses of a block and the same aliases touch both bytes? */
static bool alike(const struct oracle *o, uint32_t block, uint32_t t, uint32_t x, uint32_t y)
{
	uint32_t a, i;

	for (a = 0; a < o->b->accesses.count; a++) {
		bool has_x = false, has_y = false;

		if (o->tensor_of[a] != t || o->block_of[o->step_of[a]] != block)
			continue;
		for (i = 0; i < o->byte_count[a]; i++) {
			has_x |= o->bytes[a][i] == x;
			has_y |= o->bytes[a][i] == y;
		}
		if (has_x != has_y)
			return false;
	}
	for (i = 0; i < o->b->tensors.count; i++) {
		const struct npumem_tensor *alias = build_tensor_at(o->b, i);
		uint64_t from = alias->alias_offset, to = from + alias->size;

		if (alias->flags & NPUMEM_TENSOR_FLAG_ALIAS && alias->alias_of == t &&
		    alias->kind != NPUMEM_TENSOR_INTERMEDIATE &&
		    (x >= from && x < to) != (y >= from && y < to))
			return false;
	}
	return true;
}

/* A cell lasts as a whole: bytes that all accesses of the block take together. */
static void need_cells(struct oracle *o, uint32_t instance)
{
	uint32_t block = instance_at(o, instance)->block, t, x, y;

	for (t = 0; t < o->b->tensors.count; t++) {
		uint32_t size = (uint32_t)build_tensor_at(o->b, t)->size;

		for (x = 0; x < size; x++) {
			if (!o->needed[instance][t][x] || !o->touched[block][t][x])
				continue;
			for (y = 0; y < size; y++)
				if (!o->needed[instance][t][y] && o->touched[block][t][y] &&
				    alike(o, block, t, x, y))
					o->needed[instance][t][y] = true;
		}
	}
}

/* One version of one byte, from its birth to its death, in one place? */
static const char *judge_life(const struct oracle *o, uint32_t t, uint32_t byte, uint32_t birth,
			      uint32_t death)
{
	const struct oracle_home *h = o->home[t][byte];
	uint32_t at;

	if (oracle_outside(o, t) || oracle_external(o, t))
		return NULL;
	for (at = birth; at <= death; at++)
		if (h[at].holders != 1 || h[at].placement != h[birth].placement)
			return "not in one place all its life";
	return NULL;
}

static const char *judge_byte(const struct oracle *o, uint32_t instance, uint32_t t, uint32_t byte,
			      const int *birth, const int *death)
{
	uint32_t block = instance_at(o, instance)->block;
	uint32_t v, end, last = o->last_version[block][t][byte];
	const char *flaw;

	for (v = 0; v <= last; v++) {
		bool lasts = v == last && o->needed[instance][t][byte];
		uint32_t from = v ? (uint32_t)birth[v] : o->first[instance];

		if (!v && death[v] < 0 && !lasts) {
			/* Nobody looks: if it is somewhere, it is in one place. */
			if (o->flat && o->entered[0][t][byte] && !oracle_external(o, t) &&
			    o->home[t][byte][from].holders != 1)
				return "not in one place all its life";
			continue;
		}
		if (!v && !o->entered[instance][t][byte] && !oracle_constant(o, t))
			return "used, but not in the entry state";
		if (death[v] >= 0 && death[v] < (int)from)
			return "used before written";
		end = lasts ? o->last[instance] : death[v] < 0 ? from : (uint32_t)death[v];
		flaw = judge_life(o, t, byte, from, end);
		if (flaw)
			return flaw;
	}
	return NULL;
}

static const char *judge_lives(const struct oracle *o, uint32_t instance)
{
	static int birth[ORACLE_BYTES][ORACLE_VERSIONS], death[ORACLE_BYTES][ORACLE_VERSIONS];
	const struct build *b = o->b;
	const struct npumem_plan_block *p = instance_at(o, instance);
	const char *flaw = NULL;
	uint32_t t, a, i, at;

	for (t = 0; t < b->tensors.count; t++) {
		memset(birth, -1, sizeof(birth));
		memset(death, -1, sizeof(death));
		for (at = p->first_position; at < p->first_position + p->position_count; at++) {
			const struct npumem_step *s =
				build_step_at(b, build_position_at(b, at)->index);

			for (a = s->first_access; a < s->first_access + s->access_count; a++) {
				uint32_t mode = build_access_at(b, a)->mode;

				if (o->tensor_of[a] != t)
					continue;
				for (i = 0; i < o->byte_count[a]; i++) {
					uint32_t byte = o->bytes[a][i];

					if (mode != NPUMEM_ACCESS_READ)
						birth[byte][o->writes[a][i]] = (int)at;
					if (mode != NPUMEM_ACCESS_WRITE)
						death[byte][o->reads[a][i]] = (int)at;
				}
			}
		}
		for (i = 0; !flaw && i < build_tensor_at(b, t)->size; i++)
			flaw = judge_byte(o, instance, t, i, birth[i], death[i]);
	}
	return flaw;
}

/* ---------------------------------------------------------------- one instance */

/* Any state that the entry records allow: what is at one address has one value. */
static void begin_anyhow(struct oracle *o, uint32_t instance)
{
	uint32_t t, i;
	unsigned int at;

	o->instance = instance;
	o->next_tag = 0;
	memset(o->tags, 0, sizeof(o->tags));
	memset(o->memory, 0, sizeof(o->memory));
	for (t = 0; t < o->b->tensors.count; t++) {
		for (i = 0; i < build_tensor_at(o->b, t)->size; i++) {
			if (oracle_outside(o, t)) {
				o->tags[t][i][0] = ++o->next_tag;
				continue;
			}
			if (oracle_hosted(o, t)) {
				o->tags[t][i][0] = ++o->next_tag;
				if (o->host_at[t][i] >= 0)
					o->memory[ORACLE_HOST_AT + o->host_at[t][i]] = o->next_tag;
				continue;
			}
			if (!o->entered[instance][t][i])
				continue;
			oracle_address(o, t, i, o->first[instance], &at);
			if (!o->memory[at])
				o->memory[at] = ++o->next_tag;
			o->tags[t][i][0] = o->memory[at];
		}
	}
}

/* Bytes needed at the end are there; more than an edge asks for, see need_cells(). */
static const char *check_needed(const struct oracle *o)
{
	uint32_t t, i;
	unsigned int at;

	for (t = 0; t < o->b->tensors.count; t++) {
		for (i = 0; i < build_tensor_at(o->b, t)->size; i++) {
			if (!o->needed[o->instance][t][i] || oracle_constant(o, t))
				continue;
			if (!oracle_final(o, t, i, &at) || o->memory[at] != oracle_value(o, t, i))
				return "overwritten before the end";
		}
	}
	return NULL;
}

static const char *judge_instance(struct oracle *o, uint32_t instance)
{
	const struct npumem_plan_block *p = instance_at(o, instance);
	const char *flaw;
	uint32_t i;

	need_cells(o, instance);
	flaw = o->moving ? oracle_transfers(o) : judge_lives(o, instance);
	if (flaw)
		return flaw;
	begin_anyhow(o, instance);
	for (i = 0; !flaw && i < p->position_count; i++)
		flaw = oracle_step(o, p->first_position + i);
	if (!flaw)
		flaw = check_needed(o);
	for (i = 0; !flaw && !o->flat && i < o->b->plan_edges.count; i++)
		if (build_plan_edge_at(o->b, i)->from == instance)
			flaw = oracle_edge(o, i);
	if (!flaw && o->flat)
		flaw = oracle_end(o);
	return flaw;
}

const char *oracle_plan(struct oracle *o)
{
	const struct build *b = o->b;
	const char *flaw;
	uint32_t i;

	memset(o->home, 0, sizeof(o->home));
	memset(o->placed, 0, sizeof(o->placed));
	memset(o->entered, 0, sizeof(o->entered));
	memset(o->needed, 0, sizeof(o->needed));
	memset(o->stored, 0, sizeof(o->stored));
	o->moving = false;
	flaw = judge_instances(o);
	if (!flaw && b->info.host_size && !o->moving)
		return "host memory";
	for (i = 0; !flaw && i < b->tensors.count; i++) {
		if (!(build_tensor_at(b, i)->flags & NPUMEM_TENSOR_FLAG_HOST))
			continue;
		if (!o->flat || build_tensor_at(b, i)->flags &
					(NPUMEM_TENSOR_FLAG_ALIAS | NPUMEM_TENSOR_FLAG_EXTERNAL))
			return "host";
		o->moving = true;
	}
	if (!flaw)
		flaw = judge_edges(o);
	for (i = 0; !flaw && i < b->placements.count; i++)
		flaw = judge_placement(o, i);
	for (i = 0; !flaw && i < b->plan_blocks.count; i++)
		flaw = judge_entries(o, i);
	if (!flaw && o->flat)
		flaw = need_exit(o, 0, false, 0);
	for (i = 0; !flaw && !o->flat && i < b->plan_edges.count; i++)
		flaw = need_edge(o, i);
	for (i = 0; !flaw && i < b->plan_blocks.count; i++)
		flaw = judge_instance(o, i);
	return flaw;
}
