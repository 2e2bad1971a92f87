// SPDX-License-Identifier: MIT
#include "oracle.h"

#include <string.h>

#define STEP_OF_POSITION(o, p) (build_position_at((o)->b, p)->index)

static bool valid_at_entry(const struct npumem_tensor *t)
{
	return t->kind == NPUMEM_TENSOR_INPUT || t->kind == NPUMEM_TENSOR_PARAMETER ||
	       t->kind == NPUMEM_TENSOR_STATE;
}

/*
 * Bytes of a region in linear order, and for a placement their addresses. False
 * if they are not all within limit, ascending and different.
 */
static bool enumerate(const struct npumem_region *r, uint64_t limit,
		      const struct npumem_placement *p, unsigned char *bytes, uint64_t *addresses,
		      unsigned char *count)
{
	unsigned int n = 0;
	uint64_t i, j, k, l;

	if (!r->length || r->pad)
		return false;
	for (i = 0; i < 3; i++)
		if (!r->count[i] || (r->count[i] == 1 && (r->stride[i] || (p && p->stride[i]))))
			return false;
	for (k = 0; k < r->count[2]; k++) {
		for (j = 0; j < r->count[1]; j++) {
			for (i = 0; i < r->count[0]; i++) {
				for (l = 0; l < r->length; l++) {
					__uint128_t at = r->offset;

					at += (__uint128_t)i * r->stride[0];
					at += (__uint128_t)j * r->stride[1];
					at += (__uint128_t)k * r->stride[2];
					at += l;
					if (at >= limit || (n && at <= bytes[n - 1]))
						return false;
					if (p) {
						__uint128_t to = p->offset;

						to += (__uint128_t)i * p->stride[0];
						to += (__uint128_t)j * p->stride[1];
						to += (__uint128_t)(p->ring ? k % p->ring : k) *
						      p->stride[2];
						to += l;
						addresses[n] = to > UINT64_MAX ? UINT64_MAX :
										 (uint64_t)to;
					}
					bytes[n++] = (unsigned char)at;
				}
			}
		}
	}
	*count = (unsigned char)n;
	return true;
}

static const char *judge_bytes(struct oracle *o)
{
	static bool now[ORACLE_TENSORS][ORACLE_BYTES];
	bool written[ORACLE_TENSORS][ORACLE_BYTES] = { 0 };
	unsigned int version[ORACLE_TENSORS][ORACLE_BYTES] = { 0 };
	const struct build *b = o->b;
	uint32_t s, a, i, t;

	/* Version 0 does not exist; entry is version 1. */
	for (t = 0; t < b->tensors.count; t++)
		for (i = 0; i < ORACLE_BYTES; i++)
			version[t][i] = valid_at_entry(build_tensor_at(b, t));
	for (s = 0; s < b->steps.count; s++) {
		const struct npumem_step *step = build_step_at(b, s);

		memset(now, 0, sizeof(now));
		for (a = step->first_access; a < step->first_access + step->access_count; a++) {
			t = build_tile_at(b, build_access_at(b, a)->tile)->tensor;
			o->step_of[a] = (unsigned char)s;
			for (i = 0; i < o->byte_count[a]; i++) {
				if (build_access_at(b, a)->mode == NPUMEM_ACCESS_WRITE)
					continue;
				if (!version[t][o->bytes[a][i]])
					return "read of unwritten";
				o->reads[a][i] = (unsigned char)version[t][o->bytes[a][i]];
			}
		}
		for (a = step->first_access; a < step->first_access + step->access_count; a++) {
			const struct npumem_access *access = build_access_at(b, a);

			t = build_tile_at(b, access->tile)->tensor;
			for (i = 0; i < o->byte_count[a]; i++) {
				unsigned int byte = o->bytes[a][i];

				if (access->mode == NPUMEM_ACCESS_READ)
					continue;
				if (now[t][byte])
					return "written twice by a step";
				now[t][byte] = true;
				if (access->mode == NPUMEM_ACCESS_WRITE && written[t][byte])
					return "written twice";
				if (access->mode == NPUMEM_ACCESS_WRITE)
					written[t][byte] = true;
				o->writes[a][i] = (unsigned char)++version[t][byte];
			}
		}
	}
	for (t = 0; t < b->tensors.count; t++) {
		for (i = 0; i < build_tensor_at(b, t)->size; i++) {
			o->last_version[t][i] = (unsigned char)version[t][i];
			if (build_tensor_at(b, t)->kind == NPUMEM_TENSOR_OUTPUT && !version[t][i])
				return "output not written";
		}
	}
	return NULL;
}

const char *oracle_graph(struct oracle *o, const struct build *b)
{
	uint32_t a, t;

	o->b = b;
	/* Every tile, used or not. */
	for (t = 0; t < b->tiles.count; t++) {
		const struct npumem_tile *tile = build_tile_at(b, t);
		unsigned char bytes[ORACLE_BYTES], count;

		if (tile->tensor >= b->tensors.count)
			return "no such tensor";
		if (!enumerate(&tile->region, build_tensor_at(b, tile->tensor)->size, NULL, bytes,
			       NULL, &count))
			return "bad region";
	}
	for (a = 0; a < b->accesses.count; a++) {
		const struct npumem_access *access = build_access_at(b, a);
		const struct npumem_tile *tile;
		const struct npumem_tensor *tensor;

		if (access->tile >= b->tiles.count)
			return "no such tile";
		tile = build_tile_at(b, access->tile);
		tensor = build_tensor_at(b, tile->tensor);
		if (access->mode < 1 || access->mode > 3)
			return "bad mode";
		if (access->mode != NPUMEM_ACCESS_READ && (tensor->kind == NPUMEM_TENSOR_INPUT ||
							   tensor->kind == NPUMEM_TENSOR_PARAMETER))
			return "write of an input";
		enumerate(&tile->region, tensor->size, NULL, o->bytes[a], NULL, &o->byte_count[a]);
	}
	return judge_bytes(o);
}

static const char *judge_placement(struct oracle *o, uint32_t index)
{
	const struct npumem_placement *p = build_placement_at(o->b, index);
	const struct npumem_tensor *t;
	unsigned char bytes[ORACLE_BYTES], count;
	uint64_t addresses[ORACLE_BYTES];
	uint32_t i, at;

	if (p->tensor >= o->b->tensors.count)
		return "placement: tensor";
	t = build_tensor_at(o->b, p->tensor);
	if (p->from > p->to || p->to >= o->b->positions.count)
		return "placement: span";
	if (!enumerate(&p->region, t->size, p, bytes, addresses, &count))
		return "placement: region";
	if (p->ring > p->region.count[2])
		return "placement: ring";
	if (p->offset % t->align)
		return "placement: align";
	o->placed[p->tensor] = true;
	for (i = 0; i < count; i++) {
		if (addresses[i] >= o->b->info.arena_size)
			return "placement: arena";
		if ((t->flags & NPUMEM_TENSOR_FIXED) && addresses[i] != t->fixed_offset + bytes[i])
			return "placement: fixed";
		for (at = p->from; at <= p->to; at++) {
			struct oracle_home *h = &o->home[p->tensor][bytes[i]][at];

			h->holders++;
			h->placement = (unsigned char)index;
			h->address = (unsigned short)addresses[i];
		}
	}
	return NULL;
}

/* A parameter without placement is not in the arena. */
static bool outside(const struct oracle *o, uint32_t t)
{
	return build_tensor_at(o->b, t)->kind == NPUMEM_TENSOR_PARAMETER && !o->placed[t];
}

/* One version of one byte, from its birth to its death, in one place? */
static const char *judge_life(const struct oracle *o, uint32_t t, uint32_t byte, uint32_t birth,
			      uint32_t death, bool needed)
{
	const struct oracle_home *h = o->home[t][byte];
	uint32_t at;

	if (outside(o, t))
		return NULL;
	if (!needed && !h[birth].holders)
		return NULL;
	for (at = birth; at <= death; at++)
		if (h[at].holders != 1 || h[at].placement != h[birth].placement)
			return "not in one place all its life";
	return NULL;
}

static const char *judge_lives(struct oracle *o)
{
	static int birth[ORACLE_BYTES][ORACLE_STEPS + 2], death[ORACLE_BYTES][ORACLE_STEPS + 2];
	const struct build *b = o->b;
	uint32_t t, a, i, v;

	for (t = 0; t < b->tensors.count; t++) {
		const struct npumem_tensor *tensor = build_tensor_at(b, t);

		memset(birth, 0, sizeof(birth));
		memset(death, -1, sizeof(death));
		for (a = 0; a < b->accesses.count; a++) {
			int at = o->position_of[o->step_of[a]];

			if (build_tile_at(b, build_access_at(b, a)->tile)->tensor != t)
				continue;
			for (i = 0; i < o->byte_count[a]; i++) {
				unsigned int byte = o->bytes[a][i];

				if (build_access_at(b, a)->mode != NPUMEM_ACCESS_READ)
					birth[byte][o->writes[a][i]] = at;
				if (build_access_at(b, a)->mode != NPUMEM_ACCESS_WRITE &&
				    death[byte][o->reads[a][i]] < at)
					death[byte][o->reads[a][i]] = at;
			}
		}
		for (i = 0; i < tensor->size; i++) {
			for (v = 1; v <= o->last_version[t][i]; v++) {
				bool entry = v == 1 && valid_at_entry(tensor);
				bool needed = !entry || death[i][v] >= 0;
				const char *flaw;

				if (v == o->last_version[t][i] &&
				    (tensor->kind == NPUMEM_TENSOR_OUTPUT ||
				     tensor->kind == NPUMEM_TENSOR_STATE)) {
					death[i][v] = (int)b->positions.count - 1;
					needed = true;
				}
				if (death[i][v] >= 0 && death[i][v] < birth[i][v])
					return "used before written";
				if (death[i][v] < 0)
					death[i][v] = birth[i][v];
				flaw = judge_life(o, t, i, (uint32_t)birth[i][v],
						  (uint32_t)death[i][v], needed);
				if (flaw)
					return flaw;
			}
		}
	}
	return NULL;
}

static unsigned int tag(uint32_t tensor, uint32_t byte, uint32_t version)
{
	return 1 + ((tensor * ORACLE_BYTES + byte) << 8 | version);
}

/* Address of a byte at a position; false if it has none there. */
static bool address(const struct oracle *o, uint32_t t, uint32_t byte, uint32_t position,
		    unsigned int *at)
{
	const struct oracle_home *h = &o->home[t][byte][position];

	*at = h->address;
	return h->holders > 0;
}

static const char *enter(struct oracle *o)
{
	uint32_t t, i;
	unsigned int at;

	memset(o->tags, 0, sizeof(o->tags));
	for (t = 0; t < o->b->tensors.count; t++) {
		if (!valid_at_entry(build_tensor_at(o->b, t)))
			continue;
		for (i = 0; i < build_tensor_at(o->b, t)->size; i++) {
			if (!address(o, t, i, 0, &at))
				continue;
			if (o->tags[at])
				return "two tensors in one place at entry";
			o->tags[at] = tag(t, i, 1);
		}
	}
	return NULL;
}

void oracle_begin(struct oracle *o)
{
	enter(o);
}

const char *oracle_step(struct oracle *o, unsigned int position)
{
	/* Who reads (access + 1) and who writes each address in this step. */
	static unsigned short reader[ORACLE_ARENA], writer[ORACLE_ARENA];
	const struct build *b = o->b;
	const struct npumem_step *step = build_step_at(b, STEP_OF_POSITION(o, position));
	bool staged = step->flags & NPUMEM_STEP_STAGED;
	uint32_t a, i, end = step->first_access + step->access_count;
	unsigned int at;

	memset(reader, 0, b->info.arena_size * sizeof(*reader));
	memset(writer, 0, b->info.arena_size * sizeof(*writer));
	for (a = step->first_access; a < end; a++) {
		uint32_t t = build_tile_at(b, build_access_at(b, a)->tile)->tensor;
		bool update = build_access_at(b, a)->mode == NPUMEM_ACCESS_UPDATE;

		if (build_access_at(b, a)->mode == NPUMEM_ACCESS_WRITE)
			continue;
		for (i = 0; i < o->byte_count[a]; i++) {
			if (outside(o, t))
				continue;
			if (!address(o, t, o->bytes[a][i], position, &at))
				return "read of a byte that is nowhere";
			if (o->tags[at] != tag(t, o->bytes[a][i], o->reads[a][i]))
				return "read of a wrong byte";
			/* An update is at peace with itself only. */
			if (reader[at] && reader[at] != (update ? a + 1 : 0xffff))
				reader[at] = 0xffff;
			else
				reader[at] = (unsigned short)(update ? a + 1 : 0xffff);
		}
	}
	for (a = step->first_access; a < end; a++) {
		uint32_t t = build_tile_at(b, build_access_at(b, a)->tile)->tensor;

		if (build_access_at(b, a)->mode == NPUMEM_ACCESS_READ)
			continue;
		for (i = 0; i < o->byte_count[a]; i++) {
			address(o, t, o->bytes[a][i], position, &at);
			if (writer[at])
				return "one step writes a byte twice";
			if (!staged && reader[at] && reader[at] != a + 1)
				return "one step reads and writes a byte";
			writer[at] = (unsigned short)(a + 1);
			o->tags[at] = tag(t, o->bytes[a][i], o->writes[a][i]);
		}
	}
	return NULL;
}

const char *oracle_end(struct oracle *o)
{
	uint32_t t, i, last = o->b->positions.count - 1;
	unsigned int at, begin;

	for (t = 0; t < o->b->tensors.count; t++) {
		const struct npumem_tensor *tensor = build_tensor_at(o->b, t);

		if (tensor->kind != NPUMEM_TENSOR_OUTPUT && tensor->kind != NPUMEM_TENSOR_STATE)
			continue;
		for (i = 0; i < tensor->size; i++) {
			address(o, t, i, last, &at);
			if (o->tags[at] != tag(t, i, o->last_version[t][i]))
				return "overwritten before the exit";
			if (tensor->kind == NPUMEM_TENSOR_STATE && o->last_version[t][i] > 1 &&
			    (!address(o, t, i, 0, &begin) || begin != at))
				return "state has moved";
		}
	}
	return NULL;
}

const char *oracle_plan(struct oracle *o)
{
	const struct build *b = o->b;
	bool seen[ORACLE_STEPS] = { 0 };
	const char *flaw;
	uint32_t i;

	if (b->positions.count != b->steps.count)
		return "schedule";
	for (i = 0; i < b->positions.count; i++) {
		uint32_t step = STEP_OF_POSITION(o, i);

		if (step >= b->steps.count || seen[step])
			return "schedule";
		seen[step] = true;
		o->position_of[step] = (unsigned char)i;
	}
	memset(o->home, 0, sizeof(o->home));
	memset(o->placed, 0, sizeof(o->placed));
	for (i = 0; i < b->placements.count; i++) {
		flaw = judge_placement(o, i);
		if (flaw)
			return flaw;
	}
	flaw = judge_lives(o);
	if (!flaw)
		flaw = enter(o);
	for (i = 0; !flaw && i < b->positions.count; i++)
		flaw = oracle_step(o, i);
	if (!flaw)
		flaw = oracle_end(o);
	return flaw;
}
