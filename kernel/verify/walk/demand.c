// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Checks what has to hold along the edges of a plan: rules V6 and V7.
 *
 * The entry state of an instance is a promise that every edge to it has to keep:
 * at the end of the instance that the edge comes from, the tensors listed (or
 * those whose values they take on) are there, intact, at just those bytes. The
 * exit is promised whole outputs anywhere, and state where instance 0 lists it.
 *
 * Two passes. Before an instance is walked, all that its edges need is marked:
 * cells then survive, and bytes that its block does not touch get an owner that
 * is never done with them, so nothing written there is legal (V4). After all
 * instances, the locations at both sides are compared.
 */
#include "check.h"

/* The tensor whose value a tensor takes along the current edge: itself, unless it is carried. */
static u32 source_of(const struct npuv_check *k, u32 tensor)
{
	return k->source[tensor] == NPUMEM_NONE ? tensor : k->source[tensor];
}

/* Make an edge current, or no longer. */
static int set_edge(struct npuv_check *k, u32 edge, bool on)
{
	const struct npumem_edge *e = npuv_edge(k->g, npuv_plan_edge(k->p, edge)->edge);
	u32 i;

	for (i = e->first_carry; i < e->first_carry + e->carry_count; i++) {
		const struct npumem_carry *c = npuv_carry(k->g, i);

		k->source[c->to] = on ? c->from : NPUMEM_NONE;
	}
	return npuv_visit(k->w, 1 + e->carry_count);
}

/* A text such as "edge 2 of the plan, from block 0 of the plan (block 0) to the exit". */
struct edge_text {
	char s[320];
};

static const char *text_edge(const struct npuv_check *k, u32 edge, struct edge_text *out)
{
	const struct npumem_plan_edge *e = npuv_plan_edge(k->p, edge);
	struct npuv_text from, to;

	snprintf(out->s, sizeof(out->s), "edge %u of the plan, from %s to %s", edge,
		 npuv_text_instance(k->p, e->from, &from), npuv_text_instance(k->p, e->to, &to));
	return out->s;
}

/* A text such as "tensor 3 'y'", or "tensor 3 'y', the value of tensor 2 'x'". */
struct value_text {
	char s[256];
};

static const char *text_value(const struct npuv_check *k, u32 tensor, u32 source,
			      struct value_text *out)
{
	struct npuv_text to, from;

	npuv_text_tensor(k->g, tensor, &to);
	if (source == tensor)
		snprintf(out->s, sizeof(out->s), "%s", to.s);
	else
		snprintf(out->s, sizeof(out->s), "%s, the value of %s", to.s,
			 npuv_text_tensor(k->g, source, &from));
	return out->s;
}

/* A requirement of an edge: bytes [first, end) of @source, which will be those of @tensor. */
struct requirement {
	u32 edge;
	u32 tensor;
	u32 source;
	u64 first;
	u64 end;
};

static void set_verdict(const struct npuv_check *k, const struct requirement *n)
{
	struct npumem_verdict *v = k->w->verdict;
	const struct npumem_plan_edge *e = npuv_plan_edge(k->p, n->edge);

	if (npuv_plan_block(k->p, e->from)->position_count)
		v->position = npuv_instance_last(k->p, e->from);
	v->tensor = n->tensor;
	if (n->source != n->tensor)
		v->other_tensor = n->source;
}

/* Bytes that an edge, or the exit, needs are not in the arena; @why: what has become of them. */
static int refuse_absent(struct npuv_check *k, const struct requirement *n, u64 first, u64 end,
			 const char *why)
{
	bool exit = npuv_plan_edge(k->p, n->edge)->to == NPUMEM_NONE;
	struct edge_text edge;
	struct value_text value;

	set_verdict(k, n);
	return npuv_refuse(k->w, -EINVAL, exit ? NPUMEM_RULE_V7_EXIT : NPUMEM_RULE_V6_EDGE,
			   "%s: %s: bytes [%llu, %llu) of %s %s", exit ? "V7 exit" : "V6 edge",
			   text_edge(k, n->edge, &edge), first, end,
			   text_value(k, n->tensor, n->source, &value), why);
}

/* ---------------------------------------------------------------- what is there */

/* Whether a tensor is valid all the time, in all instances. */
static bool is_constant(const struct npuv_check *k, u32 tensor)
{
	const struct npumem_tensor *t = npuv_tensor(k->g, tensor);

	if (t->kind == NPUMEM_TENSOR_PARAMETER && !k->p->placed[tensor])
		return true;
	return t->flags & NPUMEM_TENSOR_FLAG_EXTERNAL && npuv_starts_valid(k->g, tensor);
}

/* Mark bytes that the block does not touch. They must have been there when it was entered. */
static int mark_pass(struct npuv_check *k, const struct requirement *n, u64 first, u64 end)
{
	const struct npuv_location *location = npuv_location_of(k->p, k->instance, n->source);
	struct npuv_pass *pass;
	int err = 0;

	if (is_constant(k, n->source))
		return 0;
	while (!err && first < end) {
		const struct npuv_extent *e = npuv_location_find(k->p, location, first);
		u64 limit;

		if (!e || !(e->flags & NPUV_EXTENT_ENTRY)) {
			limit = e ? e->first + e->length :
				    npuv_location_next(k->p, location, first);
			return refuse_absent(k, n, first, limit < end ? limit : end,
					     "are neither written by then nor in the entry state");
		}
		limit = e->first + e->length < end ? e->first + e->length : end;
		pass = npuv_vector_add(&k->passes, 1);
		if (!pass)
			return -ENOMEM;
		pass->first = first;
		pass->length = limit - first;
		pass->tensor = n->source;
		pass->edge = n->edge;
		first = limit;
		err = npuv_visit(k->w, 1);
	}
	return err;
}

/* The live-outs of a tensor in the current block: [lo, hi). */
static void find_live_outs(const struct npuv_check *k, u32 tensor, u32 *lo, u32 *hi)
{
	u32 a = k->g->touch_start[k->block], end = k->g->touch_start[k->block + 1];

	npuv_bisect(a, end, i, k->g->touches[i].tensor < tensor);
	*lo = *hi = 0;
	if (a == end || k->g->touches[a].tensor != tensor)
		return;
	*lo = k->g->touches[a].first_live_out;
	*hi = k->g->touches[a + 1].first_live_out;
}

/* First of live-outs [lo, hi) that ends after a byte. */
static u32 find_live_out(const struct npuv_check *k, u32 lo, u32 hi, u64 byte)
{
	const struct npuv_live_out *s = k->g->live_outs;

	npuv_bisect(lo, hi, i, s[i].first + s[i].length <= byte);
	return lo;
}

/* Mark a requirement: the last version of each of its bytes must survive the instance. */
static int mark(struct npuv_check *k, const struct requirement *n)
{
	u64 at = n->first;
	u32 lo, hi, i;
	int err = 0;

	find_live_outs(k, n->source, &lo, &hi);
	for (i = find_live_out(k, lo, hi, at); !err && at < n->end; i++) {
		const struct npuv_live_out *s = i < hi ? &k->g->live_outs[i] : NULL;
		u64 gap = s && s->first < n->end ? s->first : n->end;

		if (at < gap) {
			err = mark_pass(k, n, at, gap);
			if (err)
				return err;
			at = gap;
		}
		if (at < n->end) {
			u64 end = s->first + s->length < n->end ? s->first + s->length : n->end;

			if (s->last == NPUMEM_NONE)
				return refuse_absent(k, n, at, end,
						     "have been moved to host memory and not back");
			k->demand[s->last] = n->edge;
			at = s->first + s->length;
		}
		err = npuv_visit(k->w, 1);
	}
	return err;
}

/* ---------------------------------------------------------------- what is needed */

typedef int (*requirement_fn)(struct npuv_check *k, const struct requirement *n);

/* Call fn for each requirement of an edge to another instance: that one's entry state. */
static int each_entry(struct npuv_check *k, u32 edge, requirement_fn fn)
{
	u32 to = npuv_plan_edge(k->p, edge)->to;
	u32 t, i;
	int err = 0;

	for (t = k->p->location_start[to]; !err && t < k->p->location_start[to + 1]; t++) {
		const struct npuv_location *location = &k->p->locations[t];
		struct requirement n = { .edge = edge, .tensor = location->tensor };

		n.source = source_of(k, n.tensor);
		for (i = location->first; i < location->first + location->count; i++) {
			const struct npuv_extent *e = &k->p->extents[i];

			if (!(e->flags & NPUV_EXTENT_ENTRY))
				continue;
			n.first = e->first;
			n.end = e->first + e->length;
			err = fn(k, &n);
			if (err)
				return err;
		}
		err = npuv_visit(k->w, 1 + location->count);
	}
	return err;
}

/* Call fn for each requirement of an edge to the exit: outputs and state, also by aliases. */
static int each_result(struct npuv_check *k, u32 edge, requirement_fn fn)
{
	u32 i;
	int err = 0;

	for (i = 0; !err && i < k->g->tensors.count; i++) {
		const struct npumem_tensor *t = npuv_tensor(k->g, i);
		struct requirement n = { .edge = edge, .tensor = i, .source = i, .end = t->size };

		err = npuv_visit(k->w, 1);
		if (err)
			return err;
		if (t->kind != NPUMEM_TENSOR_OUTPUT && t->kind != NPUMEM_TENSOR_STATE)
			continue;
		if (t->flags & NPUMEM_TENSOR_FLAG_ALIAS) {
			n.source = t->alias_of;
			n.first = t->alias_offset;
			n.end = t->alias_offset + t->size;
		}
		n.source = source_of(k, n.source);
		err = fn(k, &n);
	}
	return err;
}

static int each_requirement(struct npuv_check *k, u32 edge, requirement_fn fn)
{
	int err;

	err = set_edge(k, edge, true);
	if (!err && npuv_plan_edge(k->p, edge)->to == NPUMEM_NONE)
		err = each_result(k, edge, fn);
	else if (!err)
		err = each_entry(k, edge, fn);
	return err ? err : set_edge(k, edge, false);
}

int npuv_demand_mark(struct npuv_check *k)
{
	u32 i;
	int err = 0;

	for (i = k->edge_start[k->instance]; !err && i < k->edge_start[k->instance + 1]; i++)
		err = each_requirement(k, k->edges[i], mark);
	return err;
}

/* ---------------------------------------------------------------- where it is */

static int refuse_moved(struct npuv_check *k, const struct requirement *n, u64 first, u64 end,
			u64 at, u64 expected)
{
	struct edge_text edge;
	struct value_text value;

	set_verdict(k, n);
	k->w->verdict->first = at;
	k->w->verdict->length = end - first;
	return npuv_refuse(k->w, -EINVAL, NPUMEM_RULE_V6_EDGE,
			   "V6 edge: %s: bytes [%llu, %llu) of %s are at byte %llu of the arena, "
			   "but are to be at byte %llu",
			   text_edge(k, n->edge, &edge), first, end,
			   text_value(k, n->tensor, n->source, &value), at, expected);
}

static int refuse_outside(struct npuv_check *k, const struct requirement *n, u64 first, u64 end)
{
	struct edge_text edge;
	struct value_text value;

	set_verdict(k, n);
	return npuv_refuse(k->w, -EINVAL, NPUMEM_RULE_V6_EDGE,
			   "V6 edge: %s: bytes [%llu, %llu) of %s are not in the arena",
			   text_edge(k, n->edge, &edge), first, end,
			   text_value(k, n->tensor, n->source, &value));
}

static int refuse_state(struct npuv_check *k, const struct requirement *n, u64 first, u64 end,
			const struct npuv_extent *at)
{
	struct edge_text edge;

	set_verdict(k, n);
	return npuv_refuse_state(k, text_edge(k, n->edge, &edge), n->tensor, first, end, at);
}

/* Compare where the bytes of a requirement are with where the next entry state has them. */
static int compare(struct npuv_check *k, const struct requirement *n)
{
	const struct npumem_plan_edge *e = npuv_plan_edge(k->p, n->edge);
	/* After the exit, the next inference begins with the entry state of instance 0. */
	u32 into = e->to == NPUMEM_NONE ? 0 : e->to;
	const struct npuv_location *from, *to;
	u64 first = n->first, limit;
	int err = 0;

	from = npuv_location_of(k->p, e->from, n->source);
	to = npuv_location_of(k->p, into, npuv_alias_base(k->g, n->tensor));
	while (!err && first < n->end) {
		const struct npuv_extent *want = npuv_location_find(k->p, to, first);
		const struct npuv_extent *have;

		have = npuv_location_find_at(k->p, from, first, npuv_instance_last(k->p, e->from));
		limit = n->end;
		if (have && have->first + have->length < limit)
			limit = have->first + have->length;
		if (want && want->first + want->length < limit)
			limit = want->first + want->length;
		if (e->to == NPUMEM_NONE &&
		    (!have || !want || !(want->flags & NPUV_EXTENT_ENTRY) ||
		     have->arena - have->first != want->arena - want->first))
			return refuse_state(k, n, first, limit, have);
		if (!have || !want)
			return refuse_outside(k, n, first, limit);
		if (have->arena - have->first != want->arena - want->first)
			return refuse_moved(k, n, first, limit, have->arena + (first - have->first),
					    want->arena + (first - want->first));
		first = limit;
		err = npuv_visit(k->w, 1);
	}
	return err;
}

static int check_location(struct npuv_check *k, const struct requirement *n)
{
	bool exit = npuv_plan_edge(k->p, n->edge)->to == NPUMEM_NONE;

	/* At the exit only state has to be at given bytes: outputs may be anywhere. */
	if (exit && npuv_tensor(k->g, n->tensor)->kind != NPUMEM_TENSOR_STATE)
		return 0;
	if (exit && n->source == npuv_alias_base(k->g, n->tensor) && is_constant(k, n->source))
		return 0;
	return compare(k, n);
}

int npuv_demand_check(struct npuv_check *k)
{
	u32 i;
	int err = 0;

	for (i = 0; !err && i < k->p->edges.count; i++)
		err = each_requirement(k, i, check_location);
	return err;
}
