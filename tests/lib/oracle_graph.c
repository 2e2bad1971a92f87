// SPDX-License-Identifier: MIT
/* The judge of graphs: which version of each byte every access means. */
#include "oracle_internal.h"

#include <string.h>

bool oracle_valid_kind(uint32_t kind)
{
	return kind == NPUMEM_TENSOR_INPUT || kind == NPUMEM_TENSOR_PARAMETER ||
	       kind == NPUMEM_TENSOR_STATE;
}

bool oracle_has_role(const struct oracle *o, uint32_t t, uint32_t byte, uint32_t kind)
{
	const struct build *b = o->b;
	uint32_t i;

	/* An alias has no bytes of its own. */
	if (build_tensor_at(b, t)->flags & NPUMEM_TENSOR_FLAG_ALIAS)
		return false;
	if (build_tensor_at(b, t)->kind == kind)
		return true;
	for (i = 0; i < b->tensors.count; i++) {
		const struct npumem_tensor *a = build_tensor_at(b, i);

		if (a->flags & NPUMEM_TENSOR_FLAG_ALIAS && a->alias_of == t && a->kind == kind &&
		    byte >= a->alias_offset && byte < a->alias_offset + a->size)
			return true;
	}
	return false;
}

bool oracle_starts(const struct oracle *o, uint32_t t, uint32_t byte)
{
	return oracle_has_role(o, t, byte, NPUMEM_TENSOR_INPUT) ||
	       oracle_has_role(o, t, byte, NPUMEM_TENSOR_PARAMETER) ||
	       oracle_has_role(o, t, byte, NPUMEM_TENSOR_STATE);
}

/*
 * Bytes of a region in linear order, and for a placement their addresses. False
 * if they are not all within limit, ascending and different.
 */
bool oracle_enumerate(const struct npumem_region *r, uint64_t limit,
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

static const char *judge_alias(const struct build *b, const struct npumem_tensor *t)
{
	const struct npumem_tensor *of;

	if (t->flags & NPUMEM_TENSOR_FLAG_HOST && t->kind != NPUMEM_TENSOR_INPUT &&
	    t->kind != NPUMEM_TENSOR_PARAMETER)
		return "host";
	if (!(t->flags & NPUMEM_TENSOR_FLAG_ALIAS))
		return t->alias_of != NPUMEM_NONE || t->alias_offset ? "alias" : NULL;
	if (t->alias_of >= b->tensors.count)
		return "alias";
	of = build_tensor_at(b, t->alias_of);
	if (of->flags & NPUMEM_TENSOR_FLAG_ALIAS || t->alias_offset > of->size ||
	    t->size > of->size - t->alias_offset)
		return "alias";
	return NULL;
}

/* Accesses of steps, all of a block or all: what they read and write, in graph order. */
static const char *judge_block(struct oracle *o, uint32_t block)
{
	static unsigned char version[ORACLE_TENSORS][ORACLE_BYTES];
	static bool written[ORACLE_TENSORS][ORACLE_BYTES], now[ORACLE_TENSORS][ORACLE_BYTES];
	const struct build *b = o->b;
	const struct npumem_block *blk = build_block_at(b, block);
	uint32_t s, a, i, t;

	memset(version, 0, sizeof(version));
	memset(written, 0, sizeof(written));
	for (s = blk->first_step; s < blk->first_step + blk->step_count; s++) {
		const struct npumem_step *step = build_step_at(b, s);
		uint32_t end = step->first_access + step->access_count;

		o->block_of[s] = (unsigned char)block;
		memset(now, 0, sizeof(now));
		for (a = step->first_access; a < end; a++) {
			o->step_of[a] = (unsigned char)s;
			t = o->tensor_of[a];
			for (i = 0; i < o->byte_count[a]; i++) {
				uint32_t byte = o->bytes[a][i];

				o->touched[block][t][byte] = true;
				if (build_access_at(b, a)->mode == NPUMEM_ACCESS_WRITE)
					continue;
				if (o->flat && !version[t][byte] && !oracle_starts(o, t, byte))
					return "read of unwritten";
				o->reads[a][i] = version[t][byte];
			}
		}
		for (a = step->first_access; a < end; a++) {
			const struct npumem_access *access = build_access_at(b, a);

			t = o->tensor_of[a];
			for (i = 0; i < o->byte_count[a]; i++) {
				uint32_t byte = o->bytes[a][i];

				if (access->mode == NPUMEM_ACCESS_READ)
					continue;
				if (oracle_has_role(o, t, byte, NPUMEM_TENSOR_INPUT) ||
				    oracle_has_role(o, t, byte, NPUMEM_TENSOR_PARAMETER))
					return "write of an input";
				if (now[t][byte])
					return "written twice by a step";
				now[t][byte] = true;
				if (access->mode == NPUMEM_ACCESS_WRITE && written[t][byte])
					return "written twice";
				if (access->mode == NPUMEM_ACCESS_WRITE)
					written[t][byte] = true;
				o->writes[a][i] = ++version[t][byte];
			}
		}
	}
	memcpy(o->last_version[block], version, sizeof(version));
	for (t = 0; o->flat && t < b->tensors.count; t++)
		for (i = 0; i < build_tensor_at(b, t)->size; i++)
			if (oracle_has_role(o, t, i, NPUMEM_TENSOR_OUTPUT) && !version[t][i] &&
			    !oracle_starts(o, t, i))
				return "output not written";
	return NULL;
}

static const char *judge_access(struct oracle *o, const struct npumem_step *step, uint32_t a)
{
	const struct build *b = o->b;
	const struct npumem_access *access = build_access_at(b, a);
	const struct npumem_tile *tile;
	const struct npumem_tensor *tensor;
	uint32_t i;

	if (access->tile >= b->tiles.count)
		return "no such tile";
	tile = build_tile_at(b, access->tile);
	tensor = build_tensor_at(b, tile->tensor);
	if (access->mode < 1 || access->mode > 3)
		return "bad mode";
	if (access->mode != NPUMEM_ACCESS_READ &&
	    (tensor->kind == NPUMEM_TENSOR_INPUT || tensor->kind == NPUMEM_TENSOR_PARAMETER))
		return "write of an input";
	oracle_enumerate(&tile->region, tensor->size, NULL, o->bytes[a], NULL, &o->byte_count[a]);
	o->tensor_of[a] = (unsigned char)tile->tensor;
	if (tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS) {
		o->tensor_of[a] = (unsigned char)tensor->alias_of;
		for (i = 0; i < o->byte_count[a]; i++)
			o->bytes[a][i] = (unsigned char)(o->bytes[a][i] + tensor->alias_offset);
	}
	if (access->inplace == NPUMEM_NONE)
		return NULL;
	if (access->mode != NPUMEM_ACCESS_WRITE || access->inplace >= step->access_count)
		return "inplace";
	return NULL;
}

static const char *judge_inplace(const struct oracle *o, const struct npumem_step *step, uint32_t a)
{
	const struct npumem_access *access = build_access_at(o->b, a);
	uint32_t source = step->first_access + access->inplace;

	if (access->inplace == NPUMEM_NONE)
		return NULL;
	if (build_access_at(o->b, source)->mode != NPUMEM_ACCESS_READ ||
	    o->byte_count[source] != o->byte_count[a])
		return "inplace";
	return NULL;
}

static const char *judge_carries(const struct build *b, const struct npumem_edge *e)
{
	uint32_t i, k;

	for (i = e->first_carry; i < e->first_carry + e->carry_count; i++) {
		const struct npumem_carry *c = build_carry_at(b, i);
		const struct npumem_tensor *from, *to;

		if (c->from >= b->tensors.count || c->to >= b->tensors.count)
			return "carry";
		from = build_tensor_at(b, c->from);
		to = build_tensor_at(b, c->to);
		if (from->size != to->size ||
		    (from->flags | to->flags) & NPUMEM_TENSOR_FLAG_ALIAS ||
		    to->kind == NPUMEM_TENSOR_INPUT || to->kind == NPUMEM_TENSOR_PARAMETER ||
		    (c->from != c->to && (from->flags | to->flags) & NPUMEM_TENSOR_FLAG_EXTERNAL))
			return "carry";
		for (k = e->first_carry; k < i; k++)
			if (build_carry_at(b, k)->to == c->to)
				return "two carries to one";
	}
	return NULL;
}

/* Warshall: from every block but the first something leads here, and on to the exit. */
static const char *judge_flow(const struct build *b)
{
	bool way[ORACLE_BLOCKS + 1][ORACLE_BLOCKS + 1] = { 0 };
	uint32_t i, j, k, n = b->blocks.count;
	const char *flaw;

	for (i = 0; i < b->edges.count; i++) {
		const struct npumem_edge *e = build_edge_at(b, i);

		if (e->from >= n || (e->to >= n && e->to != NPUMEM_NONE))
			return "edge";
		way[e->from][e->to == NPUMEM_NONE ? n : e->to] = true;
	}
	for (i = 0; i < b->edges.count; i++) {
		flaw = judge_carries(b, build_edge_at(b, i));
		if (flaw)
			return flaw;
	}
	for (k = 0; k < n; k++)
		for (i = 0; i < n; i++)
			for (j = 0; j <= n; j++)
				way[i][j] |= way[i][k] && way[k][j];
	for (i = 0; i < n; i++)
		if ((i && !way[0][i]) || !way[i][n])
			return "no way through a block";
	return NULL;
}

const char *oracle_graph(struct oracle *o, const struct build *b)
{
	const char *flaw = NULL;
	uint32_t a, t, s;

	o->b = b;
	o->flat = b->blocks.count == 1 && !b->edges.count;
	memset(o->touched, 0, sizeof(o->touched));
	for (t = 0; !flaw && t < b->tensors.count; t++)
		flaw = judge_alias(b, build_tensor_at(b, t));
	/* Every tile, used or not. */
	for (t = 0; !flaw && t < b->tiles.count; t++) {
		const struct npumem_tile *tile = build_tile_at(b, t);
		unsigned char bytes[ORACLE_BYTES], count;

		if (tile->tensor >= b->tensors.count)
			return "no such tensor";
		if (!oracle_enumerate(&tile->region, build_tensor_at(b, tile->tensor)->size, NULL,
				      bytes, NULL, &count))
			return "bad region";
	}
	for (s = 0; !flaw && s < b->steps.count; s++) {
		const struct npumem_step *step = build_step_at(b, s);
		uint32_t end = step->first_access + step->access_count;

		for (a = step->first_access; !flaw && a < end; a++)
			flaw = judge_access(o, step, a);
		for (a = step->first_access; !flaw && a < end; a++)
			flaw = judge_inplace(o, step, a);
	}
	if (!flaw && !o->flat)
		flaw = judge_flow(b);
	for (t = 0; !flaw && t < b->blocks.count; t++)
		flaw = judge_block(o, t);
	return flaw;
}
