// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Refusals of plans: each has a verdict and a text that says what is refused, where, and why.
 */
#include "check.h"

void npuv_set_access(const struct npuv_check *k, u32 access)
{
	k->w->verdict->position = npuv_position_of(k, access);
	npuv_verdict_access(k->w->verdict, k->g, access);
}

int npuv_refuse_order(struct npuv_check *k, u32 access, u32 writer)
{
	struct npumem_verdict *v = k->w->verdict;
	struct npuv_text step, other, tensor;

	npuv_set_access(k, access);
	npuv_verdict_other(v, k->g, writer);
	return npuv_refuse(k->w, -EINVAL, NPUMEM_RULE_V3_READ,
			   "V3 read: %s reads tile %u of %s before %s writes it",
			   npuv_text_step(k->g, v->step, &step), v->tile,
			   npuv_text_tensor(k->g, v->tensor, &tensor),
			   npuv_text_step(k->g, v->other_step, &other));
}

int npuv_refuse_homeless(struct npuv_check *k, u32 cell, u64 first, u64 end)
{
	const struct npuv_cell *c = &k->g->cells[cell];
	struct npumem_verdict *v = k->w->verdict;
	struct npuv_text tensor, step, where;
	u32 use = k->p->last_use[npuv_current(k, cell)];

	npuv_text_tensor(k->g, c->tensor, &tensor);
	v->tensor = c->tensor;
	v->position = k->first;
	if (c->writer != NPUMEM_NONE) {
		npuv_set_access(k, c->writer);
		return npuv_refuse(k->w, -EINVAL, NPUMEM_RULE_V3_READ,
				   "V3 read: %s bytes [%llu, %llu) have no placement at position "
				   "%u, where %s writes them",
				   tensor.s, first, end, v->position,
				   npuv_text_step(k->g, v->step, &step));
	}
	if (npuv_is_flat(k->g))
		return npuv_refuse(k->w, -EINVAL, NPUMEM_RULE_V3_READ,
				   "V3 read: %s bytes [%llu, %llu) have no placement at position "
				   "0, where the schedule begins",
				   tensor.s, first, end);
	npuv_set_access(k, use);
	if (npuv_is_transfer(k->g, v->step))
		return npuv_refuse(k->w, -EINVAL, NPUMEM_RULE_V3_READ,
				   "V3 read: %s bytes [%llu, %llu) are not in the entry state of "
				   "%s, but there is a %s",
				   tensor.s, first, end,
				   npuv_text_instance(k->p, k->instance, &where),
				   npuv_text_step(k->g, v->step, &step));
	return npuv_refuse(k->w, -EINVAL, NPUMEM_RULE_V3_READ,
			   "V3 read: %s reads tile %u of %s, whose bytes [%llu, %llu) are not in "
			   "the entry state of %s",
			   npuv_text_step(k->g, v->step, &step), v->tile, tensor.s, first, end,
			   npuv_text_instance(k->p, k->instance, &where));
}

/* Refuse that bytes do not last to the instance's end, where an edge needs them. */
static int refuse_short(struct npuv_check *k, u32 tensor, u32 edge, const struct npuv_fragments *it,
			u32 to)
{
	struct npuv_text text, into;

	k->w->verdict->position = to;
	return npuv_refuse(k->w, -EINVAL, NPUMEM_RULE_V6_EDGE,
			   "V6 edge: %s bytes [%llu, %llu) are placed up to position %u only, but "
			   "edge %u of the plan, to %s, needs them at position %u",
			   npuv_text_tensor(k->g, tensor, &text), it->first, it->first + it->length,
			   to, edge,
			   npuv_text_instance(k->p, npuv_plan_edge(k->p, edge)->to, &into),
			   k->last);
}

int npuv_refuse_evicted(struct npuv_check *k, u32 owner, const struct npuv_fragments *it,
			const struct npuv_extent *home)
{
	u32 to = npuv_placement(k->p, home->placement)->to;
	struct npumem_verdict *v = k->w->verdict;
	struct npuv_text text, step;
	u32 tensor, use;

	v->first = home->arena + (it->first - home->first);
	v->length = it->length;
	if (owner & NPUV_OWNER_PASS) {
		const struct npuv_pass *pass =
			(const struct npuv_pass *)k->passes.data + (owner & ~NPUV_OWNER_PASS);

		v->tensor = pass->tensor;
		return refuse_short(k, pass->tensor, pass->edge, it, to);
	}
	tensor = k->g->cells[owner].tensor;
	use = k->p->last_use[npuv_current(k, owner)];
	v->tensor = tensor;
	npuv_text_tensor(k->g, tensor, &text);
	if (use != NPUMEM_NONE && npuv_position_of(k, use) > to) {
		npuv_set_access(k, use);
		if (npuv_is_transfer(k->g, v->step))
			return npuv_refuse(k->w, -EINVAL, NPUMEM_RULE_V3_READ,
					   "V3 read: %s bytes [%llu, %llu) are placed up to "
					   "position %u only, but there is a %s",
					   text.s, it->first, it->first + it->length, to,
					   npuv_text_step(k->g, v->step, &step));
		return npuv_refuse(k->w, -EINVAL, NPUMEM_RULE_V3_READ,
				   "V3 read: %s bytes [%llu, %llu) are placed up to position %u "
				   "only, but %s reads tile %u of them at position %u",
				   text.s, it->first, it->first + it->length, to,
				   npuv_text_step(k->g, v->step, &step), v->tile, v->position);
	}
	if (!npuv_is_flat(k->g))
		return refuse_short(k, tensor, k->demand[owner], it, to);
	v->position = to;
	return npuv_refuse(k->w, -EINVAL, NPUMEM_RULE_V7_EXIT,
			   "V7 exit: %s bytes [%llu, %llu) are placed up to position %u only, but "
			   "must survive the exit",
			   text.s, it->first, it->first + it->length, to);
}

int npuv_refuse_state(struct npuv_check *k, const char *edge, u32 tensor, u64 first, u64 end,
		      const struct npuv_extent *at)
{
	struct npumem_verdict *v = k->w->verdict;
	struct npuv_text text;

	v->tensor = tensor;
	if (at) {
		v->first = at->placement == NPUMEM_NONE ? first : at->arena + (first - at->first);
		v->length = end - first;
	}
	return npuv_refuse(k->w, -EINVAL, NPUMEM_RULE_V7_EXIT,
			   "V7 exit: %s%sstate %s bytes [%llu, %llu) do not end where they began",
			   edge ? edge : "", edge ? ": " : "",
			   npuv_text_tensor(k->g, tensor, &text), first, end);
}

/* A text such as "tile 3 of tensor 2 'x'", or for a transfer "tensor 2 'x'". */
struct tile_text {
	char s[144];
};

static const char *text_tile(const struct npuv_check *k, u32 step, u32 tile, const char *tensor,
			     struct tile_text *out)
{
	if (npuv_is_transfer(k->g, step))
		snprintf(out->s, sizeof(out->s), "%s", tensor);
	else
		snprintf(out->s, sizeof(out->s), "tile %u of %s", tile, tensor);
	return out->s;
}

/* A text such as "bytes [0, 8) of the arena", "of host memory", or "of its binding". */
struct where_text {
	char s[80];
};

/*
 * Put into text and verdict where a fragment of a tensor lies. EXTERNAL tensors have
 * addresses beyond the arena, which mean nothing to a client, so their own bytes are named.
 */
static void set_where(struct npuv_check *k, u32 tensor, u64 first, u64 end, struct where_text *out)
{
	const struct npuv_location *location = npuv_location_of(k->p, k->instance, tensor);
	const struct npuv_extent *e = &k->p->extents[location->first];
	bool external = e->placement == NPUMEM_NONE, host = npuv_is_host_copy(k->g, tensor);
	u64 base = host ? k->p->info->arena_size : external ? e->arena - e->first : 0;

	k->w->verdict->first = first - base;
	k->w->verdict->length = end - first;
	snprintf(out->s, sizeof(out->s), "bytes [%llu, %llu) of %s", first - base, end - base,
		 external ? "its binding" :
		 host	  ? "host memory" :
			    "the arena");
}

/* The rule's name in the text. That host memory is still needed is a matter of V5. */
static const char *rule_name(u32 rule)
{
	return rule == NPUMEM_RULE_V5_SPILL ? "V5 spill" : "V4 write";
}

/* Refuse that bytes are written over which have to last, for the exit or for an edge. */
static int refuse_lasting(struct npuv_check *k, u32 rule, u32 edge, const char *where,
			  const char *step, const char *mine, const char *theirs)
{
	struct npuv_text into;

	if (npuv_is_flat(k->g))
		return npuv_refuse(k->w, -EINVAL, rule,
				   "%s: %s writes %s to %s, where %s must survive the exit",
				   rule_name(rule), step, mine, where, theirs);
	return npuv_refuse(k->w, -EINVAL, rule,
			   "%s: %s writes %s to %s, where %s must survive for edge %u of the "
			   "plan, to %s",
			   rule_name(rule), step, mine, where, theirs, edge,
			   npuv_text_instance(k->p, npuv_plan_edge(k->p, edge)->to, &into));
}

int npuv_refuse_write(struct npuv_check *k, u32 cell, u32 owner, u64 first, u64 end)
{
	const struct npuv_pass *pass =
		(const struct npuv_pass *)k->passes.data + (owner & ~NPUV_OWNER_PASS);
	bool passes = owner & NPUV_OWNER_PASS;
	u32 writer = k->g->cells[cell].writer, tensor = k->g->cells[cell].tensor;
	u32 other = passes ? pass->tensor : k->g->cells[owner].tensor;
	u32 use = passes ? NPUMEM_NONE : k->p->last_use[npuv_current(k, owner)];
	struct npuv_text step, mine, theirs, reader;
	struct where_text where;
	struct npumem_verdict *v = k->w->verdict;
	u32 rule = npuv_is_host_copy(k->g, tensor) ? NPUMEM_RULE_V5_SPILL : NPUMEM_RULE_V4_WRITE;
	struct tile_text tile;
	bool staged;
	u32 now;

	npuv_text_tensor(k->g, tensor, &mine);
	npuv_text_tensor(k->g, other, &theirs);
	v->tensor = tensor;
	v->other_tensor = other;
	set_where(k, tensor, first, end, &where);
	if (writer == NPUMEM_NONE) {
		v->position = k->first;
		return npuv_refuse(k->w, -EINVAL, rule,
				   "%s: %s and %s are both at %s when the schedule begins",
				   rule_name(rule), mine.s, theirs.s, where.s);
	}
	npuv_set_access(k, writer);
	now = v->position;
	npuv_text_step(k->g, v->step, &step);
	if (passes)
		return refuse_lasting(k, rule, pass->edge, where.s, step.s, mine.s, theirs.s);
	if (k->g->cells[owner].writer != NPUMEM_NONE && npuv_birth_of(k, owner) == now) {
		npuv_verdict_other(v, k->g, k->g->cells[owner].writer);
		return npuv_refuse(k->w, -EINVAL, rule, "%s: %s writes both %s and %s to %s",
				   rule_name(rule), step.s, mine.s, theirs.s, where.s);
	}
	/* A staged step has no reads left when it writes. */
	staged = npuv_step(k->g, v->step)->flags & NPUMEM_STEP_STAGED;
	if (use == NPUMEM_NONE || npuv_position_of(k, use) < now + staged)
		return refuse_lasting(k, rule, k->demand[owner], where.s, step.s, mine.s, theirs.s);
	npuv_verdict_other(v, k->g, use);
	if (npuv_position_of(k, use) == now)
		return npuv_refuse(k->w, -EINVAL, rule,
				   "%s: %s writes %s to %s, where it reads tile %u of %s "
				   "itself and is not staged",
				   rule_name(rule), step.s, mine.s, where.s, v->other_tile,
				   theirs.s);
	return npuv_refuse(k->w, -EINVAL, rule,
			   "%s: %s writes %s to %s, still needed by %s which reads %s",
			   rule_name(rule), step.s, mine.s, where.s,
			   npuv_text_step(k->g, v->other_step, &reader),
			   text_tile(k, v->other_step, v->other_tile, theirs.s, &tile));
}
