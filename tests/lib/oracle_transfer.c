// SPDX-License-Identifier: MIT
/*
 * The judge of transfers: where each byte of each tensor is at each position, in
 * the order of the plan, and what a transfer does to memory.
 */
#include "oracle_internal.h"

#include <string.h>

/* What is known of a byte while the schedule is gone through. */
struct fate {
	unsigned char version;
	bool here;		    /* in the arena */
	bool been;		    /* has ever been */
	bool copy;		    /* has a valid copy in host memory */
	bool used;		    /* this stay has been looked at, or was made by somebody */
	unsigned char birth, death; /* of this stay, positions */
};

static struct fate fates[ORACLE_TENSORS][ORACLE_BYTES];

bool oracle_hosted(const struct oracle *o, uint32_t t)
{
	return build_tensor_at(o->b, t)->flags & NPUMEM_TENSOR_FLAG_HOST && !oracle_outside(o, t);
}

/* Is it, as to where it is, none of the plan's business? */
static bool elsewhere(const struct oracle *o, uint32_t t)
{
	return oracle_outside(o, t) || oracle_external(o, t);
}

static const char *judge_record(const struct oracle *o, uint32_t position)
{
	const struct build *b = o->b;
	const struct npumem_position *p = build_position_at(b, position);
	const struct npumem_placement *placement;
	const struct npumem_tensor *t;
	uint64_t i;

	if (p->index >= b->tensors.count || p->pad)
		return "transfer: tensor";
	t = build_tensor_at(b, p->index);
	if (t->flags & (NPUMEM_TENSOR_FLAG_ALIAS | NPUMEM_TENSOR_FLAG_EXTERNAL))
		return "transfer: alias or external";
	if (!p->length || p->first >= t->size || p->length > t->size - p->first)
		return "transfer: range";
	for (i = p->first; i < p->first + p->length; i++)
		if (oracle_has_role(o, p->index, (uint32_t)i, NPUMEM_TENSOR_STATE))
			return "transfer: state";
	if (p->kind == NPUMEM_POSITION_DROP)
		return p->placement != NPUMEM_NONE || p->host_offset ? "transfer: drop" : NULL;
	if (p->kind == NPUMEM_POSITION_LOAD && !(t->flags & NPUMEM_TENSOR_FLAG_HOST))
		return "transfer: load of what is not in host memory";
	if (p->host_offset >= b->info.host_size || p->length > b->info.host_size - p->host_offset)
		return "transfer: host memory";
	if (p->placement >= b->placements.count)
		return "transfer: placement";
	placement = build_placement_at(b, p->placement);
	if (placement->tensor != p->index || position < placement->from || position > placement->to)
		return "transfer: placement";
	for (i = p->first; i < p->first + p->length; i++) {
		const struct oracle_home *h = &o->home[p->index][i][position];

		if (h->holders != 1 || h->placement != p->placement)
			return "transfer: not in its placement";
	}
	return NULL;
}

static const char *judge_records(struct oracle *o)
{
	const char *flaw;
	uint32_t i, k;

	memset(o->host_at, 0xff, sizeof(o->host_at));
	for (i = 0; i < o->b->positions.count; i++) {
		const struct npumem_position *p = build_position_at(o->b, i);

		if (p->kind == NPUMEM_POSITION_STEP)
			continue;
		flaw = judge_record(o, i);
		if (flaw)
			return flaw;
		for (k = 0; p->kind != NPUMEM_POSITION_DROP && k < p->length; k++) {
			short *at = &o->host_at[p->index][p->first + k];

			if (*at >= 0 && (uint64_t)*at != p->host_offset + k)
				return "transfer: a copy at two addresses";
			*at = (short)(p->host_offset + k);
		}
	}
	return NULL;
}

/* ---------------------------------------------------------------- stays */

/* A stay is over: it was in one place all the time. */
static const char *end_stay(const struct oracle *o, uint32_t t, uint32_t byte)
{
	const struct oracle_home *h = o->home[t][byte];
	struct fate *f = &fates[t][byte];
	uint32_t at;

	if (!f->here || elsewhere(o, t))
		return NULL;
	f->here = false;
	/* What was there at first and nobody looks at may be nowhere. */
	if (!f->used && !h[f->birth].holders)
		return NULL;
	for (at = f->birth; at <= f->death; at++)
		if (h[at].holders != 1 || h[at].placement != h[f->birth].placement)
			return "not in one place all its stay";
	return NULL;
}

static const char *arrive(const struct oracle *o, uint32_t t, uint32_t byte, uint32_t position)
{
	struct fate *f = &fates[t][byte];
	const char *flaw = end_stay(o, t, byte);

	f->here = true;
	f->been = true;
	f->used = true;
	f->birth = f->death = (unsigned char)position;
	return flaw;
}

static const char *look(const struct oracle *o, uint32_t t, uint32_t byte, uint32_t position)
{
	struct fate *f = &fates[t][byte];

	if (!f->here && !elsewhere(o, t))
		return "read of what is not in the arena";
	f->used = true;
	f->death = (unsigned char)position;
	return NULL;
}

static const char *go_step(const struct oracle *o, uint32_t position)
{
	const struct npumem_step *s = build_step_at(o->b, build_position_at(o->b, position)->index);
	uint32_t a, i, round, end = s->first_access + s->access_count;
	const char *flaw = NULL;

	for (round = 0; round < 2; round++) {
		for (a = s->first_access; a < end; a++) {
			uint32_t mode = build_access_at(o->b, a)->mode, t = o->tensor_of[a];

			if (mode == (round ? NPUMEM_ACCESS_READ : NPUMEM_ACCESS_WRITE))
				continue;
			for (i = 0; !flaw && i < o->byte_count[a]; i++) {
				struct fate *f = &fates[t][o->bytes[a][i]];

				if (!round) {
					if (f->version != o->reads[a][i])
						return "another version than the graph's";
					flaw = look(o, t, o->bytes[a][i], position);
					continue;
				}
				flaw = arrive(o, t, o->bytes[a][i], position);
				f->version = o->writes[a][i];
				f->copy = false;
			}
		}
	}
	return flaw;
}

static const char *go_transfer(const struct oracle *o, uint32_t position, uint32_t byte)
{
	const struct npumem_position *p = build_position_at(o->b, position);
	struct fate *f = &fates[p->index][byte];
	const char *flaw;

	switch (p->kind) {
	case NPUMEM_POSITION_LOAD:
	case NPUMEM_POSITION_FILL:
		if (f->been == (p->kind == NPUMEM_POSITION_LOAD))
			return "a load of what has been there, or a fill of what has not";
		if (!f->copy)
			return "no valid copy";
		return arrive(o, p->index, byte, position);
	case NPUMEM_POSITION_DROP:
		if (!f->here || !f->copy)
			return "nothing to drop";
		return end_stay(o, p->index, byte);
	default:
		flaw = f->here ? look(o, p->index, byte, position) : "nothing to store";
		f->copy = true;
		if (!flaw && p->kind == NPUMEM_POSITION_SPILL)
			flaw = end_stay(o, p->index, byte);
		return flaw;
	}
}

static void begin(const struct oracle *o)
{
	uint32_t t, i;

	memset(fates, 0, sizeof(fates));
	for (t = 0; t < o->b->tensors.count; t++) {
		for (i = 0; i < build_tensor_at(o->b, t)->size; i++) {
			fates[t][i].copy = oracle_hosted(o, t);
			fates[t][i].here = oracle_starts(o, t, i) && !oracle_hosted(o, t);
			fates[t][i].been = fates[t][i].here;
		}
	}
}

/* Outputs are where their last valid copy is, or in the arena. */
static const char *end(struct oracle *o)
{
	const char *flaw = NULL;
	uint32_t t, i;

	for (t = 0; t < o->b->tensors.count; t++) {
		for (i = 0; !flaw && i < build_tensor_at(o->b, t)->size; i++) {
			bool state = oracle_has_role(o, t, i, NPUMEM_TENSOR_STATE);

			o->stored[t][i] = fates[t][i].copy &&
					  oracle_has_role(o, t, i, NPUMEM_TENSOR_OUTPUT);
			if (o->stored[t][i] && o->host_at[t][i] < 0)
				return "an output that nobody moves has a copy only";
			if (state ||
			    (!o->stored[t][i] && oracle_has_role(o, t, i, NPUMEM_TENSOR_OUTPUT)))
				flaw = look(o, t, i, o->last[0]);
			if (!flaw)
				flaw = end_stay(o, t, i);
		}
	}
	return flaw;
}

const char *oracle_transfers(struct oracle *o)
{
	const char *flaw;
	uint32_t at, i;

	flaw = judge_records(o);
	begin(o);
	for (at = 0; !flaw && at < o->b->positions.count; at++) {
		const struct npumem_position *p = build_position_at(o->b, at);

		if (p->kind == NPUMEM_POSITION_STEP) {
			flaw = go_step(o, at);
			continue;
		}
		for (i = 0; !flaw && i < p->length; i++) {
			o->moved[at][p->first + i] = fates[p->index][p->first + i].version;
			flaw = go_transfer(o, at, (uint32_t)p->first + i);
		}
	}
	return flaw ? flaw : end(o);
}

/* ---------------------------------------------------------------- execution */

bool oracle_final(const struct oracle *o, uint32_t t, uint32_t byte, unsigned int *at)
{
	if (!o->stored[t][byte])
		return oracle_address(o, t, byte, o->last[o->instance], at);
	*at = ORACLE_HOST_AT + (unsigned int)o->host_at[t][byte];
	return true;
}

const char *oracle_move(struct oracle *o, uint32_t position)
{
	const struct npumem_position *p = build_position_at(o->b, position);
	bool in = p->kind == NPUMEM_POSITION_LOAD || p->kind == NPUMEM_POSITION_FILL;
	static bool written[ORACLE_MEMORY];
	unsigned int arena, host, tag;
	uint32_t i, byte;

	memset(written, 0, sizeof(written));
	for (i = 0; p->kind != NPUMEM_POSITION_DROP && i < p->length; i++) {
		byte = (uint32_t)p->first + i;
		host = ORACLE_HOST_AT + (unsigned int)o->host_at[p->index][byte];
		if (!oracle_address(o, p->index, byte, position, &arena))
			return "a move of a byte that is nowhere";
		tag = o->tags[p->index][byte][o->moved[position][byte]];
		if (!tag || o->memory[in ? host : arena] != tag)
			return "a move of a wrong byte";
		if (written[in ? arena : host])
			return "a transfer writes a byte twice";
		written[in ? arena : host] = true;
		o->memory[in ? arena : host] = tag;
	}
	return NULL;
}
