// SPDX-License-Identifier: MIT
/* Execution, on memory whose bytes carry tags. */
#include "oracle_internal.h"

#include <string.h>

static const struct npumem_plan_block *instance_at(const struct oracle *o, uint32_t i)
{
	return build_plan_block_at(o->b, i);
}

bool oracle_external(const struct oracle *o, uint32_t t)
{
	return build_tensor_at(o->b, t)->flags & NPUMEM_TENSOR_FLAG_EXTERNAL;
}

bool oracle_outside(const struct oracle *o, uint32_t t)
{
	return build_tensor_at(o->b, t)->kind == NPUMEM_TENSOR_PARAMETER && !o->placed[t] &&
	       !oracle_external(o, t);
}

bool oracle_constant(const struct oracle *o, uint32_t t)
{
	return oracle_outside(o, t) ||
	       (oracle_external(o, t) && oracle_valid_kind(build_tensor_at(o->b, t)->kind));
}

bool oracle_address(const struct oracle *o, uint32_t t, uint32_t byte, uint32_t position,
		    unsigned int *at)
{
	const struct oracle_home *h = &o->home[t][byte][position];

	*at = oracle_external(o, t) ? ORACLE_ARENA + t * ORACLE_BYTES + byte : h->address;
	return oracle_external(o, t) || h->holders > 0;
}

uint32_t oracle_source(const struct oracle *o, uint32_t edge, uint32_t tensor)
{
	const struct npumem_edge *e = build_edge_at(o->b, build_plan_edge_at(o->b, edge)->edge);
	uint32_t i;

	for (i = e->first_carry; i < e->first_carry + e->carry_count; i++)
		if (build_carry_at(o->b, i)->to == tensor)
			return build_carry_at(o->b, i)->from;
	return tensor;
}

unsigned int oracle_value(const struct oracle *o, uint32_t t, uint32_t byte)
{
	uint32_t block = instance_at(o, o->instance)->block;

	return o->tags[t][byte][o->last_version[block][t][byte]];
}

/* Is the value of a byte in memory, where its own name has it? */
static const char *check_byte(const struct oracle *o, uint32_t t, uint32_t byte)
{
	unsigned int at;

	if (oracle_outside(o, t))
		return NULL;
	if (!oracle_value(o, t, byte))
		return "needed at the end, but not defined";
	if (!oracle_final(o, t, byte, &at))
		return "needed at the end, but nowhere";
	if (o->memory[at] != oracle_value(o, t, byte))
		return "overwritten before the end";
	return NULL;
}

static const char *check_exit(const struct oracle *o, bool edge, uint32_t index)
{
	unsigned int at, begin;
	uint32_t t, i;

	for (t = 0; t < o->b->tensors.count; t++) {
		for (i = 0; i < build_tensor_at(o->b, t)->size; i++) {
			bool state = oracle_has_role(o, t, i, NPUMEM_TENSOR_STATE);
			uint32_t s = edge ? oracle_source(o, index, t) : t;
			const char *flaw;

			if (!state && !oracle_has_role(o, t, i, NPUMEM_TENSOR_OUTPUT))
				continue;
			flaw = check_byte(o, s, i);
			if (flaw)
				return flaw;
			if (!state || (s == t && oracle_constant(o, t)) ||
			    (o->flat && !o->last_version[0][t][i]))
				continue;
			if (!oracle_address(o, s, i, o->last[o->instance], &at) ||
			    !o->entered[0][t][i] || !oracle_address(o, t, i, o->first[0], &begin) ||
			    begin != at)
				return "state has moved";
		}
	}
	return NULL;
}

const char *oracle_edge(const struct oracle *o, uint32_t edge)
{
	uint32_t to = build_plan_edge_at(o->b, edge)->to, t, i;
	unsigned int at, value;

	if (to == NPUMEM_NONE)
		return check_exit(o, true, edge);
	for (t = 0; t < o->b->tensors.count; t++) {
		uint32_t s = oracle_source(o, edge, t);

		for (i = 0; i < build_tensor_at(o->b, t)->size; i++) {
			if (!o->entered[to][t][i])
				continue;
			value = oracle_value(o, s, i);
			if (!value)
				return "an edge passes on what is not defined";
			if (!oracle_address(o, t, i, o->first[to], &at) || o->memory[at] != value)
				return "an edge passes on what is not there";
		}
	}
	return NULL;
}

/* Make an instance current, with the values of its tensors by name. */
static void enter(struct oracle *o, uint32_t instance, unsigned int (*values)[ORACLE_BYTES])
{
	uint32_t t, i;

	o->instance = instance;
	memset(o->tags, 0, sizeof(o->tags));
	for (t = 0; t < ORACLE_TENSORS; t++)
		for (i = 0; i < ORACLE_BYTES; i++)
			o->tags[t][i][0] = values[t][i];
}

static unsigned int values[ORACLE_TENSORS][ORACLE_BYTES];

void oracle_begin(struct oracle *o, bool again)
{
	uint32_t t, i;
	unsigned int at;

	for (t = 0; t < o->b->tensors.count; t++) {
		for (i = 0; i < build_tensor_at(o->b, t)->size; i++) {
			bool kept = again && oracle_has_role(o, t, i, NPUMEM_TENSOR_STATE);
			unsigned int value = o->tags[t][i][0];

			values[t][i] = kept ? value : 0;
			if (kept || !oracle_starts(o, t, i))
				continue;
			values[t][i] = ++o->next_tag;
			if (oracle_hosted(o, t)) {
				if (o->host_at[t][i] >= 0)
					o->memory[ORACLE_HOST_AT + o->host_at[t][i]] = values[t][i];
				continue;
			}
			if (oracle_outside(o, t) ||
			    (!o->entered[0][t][i] && !oracle_external(o, t)))
				continue;
			if (oracle_address(o, t, i, o->first[0], &at))
				o->memory[at] = values[t][i];
		}
	}
	enter(o, 0, values);
}

const char *oracle_cross(struct oracle *o, unsigned int edge)
{
	uint32_t to = build_plan_edge_at(o->b, edge)->to, t, i;
	const char *flaw = oracle_edge(o, edge);

	if (flaw)
		return flaw;
	for (t = 0; t < o->b->tensors.count; t++)
		for (i = 0; i < build_tensor_at(o->b, t)->size; i++)
			values[t][i] = oracle_value(o, oracle_source(o, edge, t), i);
	enter(o, to, values);
	return NULL;
}

const char *oracle_end(struct oracle *o)
{
	const char *flaw = check_exit(o, false, 0);
	uint32_t t, i;

	for (t = 0; t < o->b->tensors.count; t++)
		for (i = 0; i < build_tensor_at(o->b, t)->size; i++)
			values[t][i] = oracle_value(o, t, i);
	enter(o, 0, values);
	return flaw;
}

/*
 * Who reads an address in a step: nobody, one access at one linear index, or more.
 * Reads of one tile are as one.
 */
struct reader {
	unsigned short access; /* + 1 */
	unsigned char linear;
	bool many;
};

static bool same_tile(const struct oracle *o, uint32_t a, uint32_t b)
{
	const struct npumem_access *x = build_access_at(o->b, a), *y = build_access_at(o->b, b);

	return x->mode == NPUMEM_ACCESS_READ && y->mode == NPUMEM_ACCESS_READ && x->tile == y->tile;
}

static const char *read_all(const struct oracle *o, const struct npumem_step *step,
			    uint32_t position, struct reader *readers)
{
	uint32_t a, i, end = step->first_access + step->access_count;
	unsigned int at;

	for (a = step->first_access; a < end; a++) {
		uint32_t t = o->tensor_of[a];

		if (build_access_at(o->b, a)->mode == NPUMEM_ACCESS_WRITE || oracle_outside(o, t))
			continue;
		for (i = 0; i < o->byte_count[a]; i++) {
			uint32_t byte = o->bytes[a][i];
			unsigned int tag = o->tags[t][byte][o->reads[a][i]];

			if (!oracle_address(o, t, byte, position, &at))
				return "read of a byte that is nowhere";
			if (!tag || o->memory[at] != tag)
				return "read of a wrong byte";
			if (readers[at].access && same_tile(o, readers[at].access - 1u, a))
				continue;
			readers[at].many = readers[at].access;
			readers[at].access = (unsigned short)(a + 1);
			readers[at].linear = (unsigned char)i;
		}
	}
	return NULL;
}

/* May an access store its byte of a linear index where somebody reads in the same step? */
static bool at_peace(const struct oracle *o, const struct npumem_step *step, uint32_t a,
		     uint32_t linear, const struct reader *reader)
{
	const struct npumem_access *access = build_access_at(o->b, a);

	if (step->flags & NPUMEM_STEP_STAGED || !reader->access)
		return true;
	if (reader->many)
		return false;
	if (reader->access == a + 1)
		return true;
	return access->inplace != NPUMEM_NONE && reader->linear == linear &&
	       same_tile(o, reader->access - 1u, step->first_access + access->inplace);
}

const char *oracle_step(struct oracle *o, unsigned int position)
{
	static struct reader readers[ORACLE_MEMORY];
	static bool written[ORACLE_MEMORY];
	const struct build *b = o->b;
	const struct npumem_step *step = build_step_at(b, build_position_at(b, position)->index);
	uint32_t a, i, end = step->first_access + step->access_count;
	const char *flaw;
	unsigned int at;

	if (build_position_at(b, position)->kind != NPUMEM_POSITION_STEP)
		return oracle_move(o, position);
	memset(readers, 0, sizeof(readers));
	memset(written, 0, sizeof(written));
	flaw = read_all(o, step, position, readers);
	if (flaw)
		return flaw;
	for (a = step->first_access; a < end; a++) {
		uint32_t t = o->tensor_of[a];

		if (build_access_at(b, a)->mode == NPUMEM_ACCESS_READ)
			continue;
		for (i = 0; i < o->byte_count[a]; i++) {
			uint32_t byte = o->bytes[a][i];

			oracle_address(o, t, byte, position, &at);
			if (written[at])
				return "one step writes a byte twice";
			if (!at_peace(o, step, a, i, &readers[at]))
				return "one step reads and writes a byte";
			written[at] = true;
			o->memory[at] = ++o->next_tag;
			o->tags[t][byte][o->writes[a][i]] = o->memory[at];
		}
	}
	return NULL;
}
