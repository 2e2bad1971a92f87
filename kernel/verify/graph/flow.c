// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Control flow of a graph: checks carries, and that every block lies on a way from block 0
 * to the exit, in time linear in blocks, edges and carries.
 */
#include "graph.h"

static bool is_alias(const struct npuv_graph *g, u32 tensor)
{
	return npuv_tensor(g, tensor)->flags & NPUMEM_TENSOR_FLAG_ALIAS;
}

/* NULL, or what is wrong with a carry whose tensors are there. */
static const char *carry_flaw(const struct npuv_graph *g, const struct npumem_carry *c)
{
	u32 kind = npuv_tensor(g, c->to)->kind;

	if (npuv_tensor(g, c->from)->size != npuv_tensor(g, c->to)->size)
		return "its tensors differ in size";
	if (is_alias(g, c->from) || is_alias(g, c->to))
		return "one of its tensors is an alias";
	if (kind == NPUMEM_TENSOR_INPUT || kind == NPUMEM_TENSOR_PARAMETER)
		return "an input or a parameter never takes on another value";
	if (c->from != c->to && (npuv_is_external(g, c->from) || npuv_is_external(g, c->to)))
		return "it would need a copy, one of its tensors is external";
	return NULL;
}

static int check_carry(struct npuv_work *w, const struct npuv_graph *g, u32 index)
{
	const struct npumem_carry *c = npuv_carry(g, index);
	struct npuv_text from, to;
	const char *flaw;

	if (c->from >= g->tensors.count || c->to >= g->tensors.count)
		return npuv_refuse_at(w, -EINVAL, c, sizeof(*c),
				      "format: carry %u: its tensors are not there", index);
	flaw = carry_flaw(g, c);
	if (!flaw)
		return npuv_visit(w, 1);
	w->verdict->tensor = c->to;
	w->verdict->other_tensor = c->from;
	return npuv_refuse_at(w, -EINVAL, c, sizeof(*c), "format: carry %u, from %s to %s: %s",
			      index, npuv_text_tensor(g, c->from, &from),
			      npuv_text_tensor(g, c->to, &to), flaw);
}

/* Check an edge and its carries. @taken has for each tensor the last carry to it, plus 1. */
static int check_edge(struct npuv_work *w, const struct npuv_graph *g, u32 edge, u32 *taken)
{
	const struct npumem_edge *e = npuv_edge(g, edge);
	struct npuv_text text;
	u32 i, to;
	int err;

	for (i = e->first_carry; i < e->first_carry + e->carry_count; i++) {
		err = check_carry(w, g, i);
		if (err)
			return err;
		to = npuv_carry(g, i)->to;
		if (taken[to] > e->first_carry) {
			w->verdict->tensor = to;
			return npuv_refuse_at(w, -EINVAL, npuv_carry(g, i),
					      sizeof(struct npumem_carry),
					      "format: edge %u: carries %u and %u are both to %s",
					      edge, taken[to] - 1, i,
					      npuv_text_tensor(g, to, &text));
		}
		taken[to] = i + 1;
	}
	return 0;
}

static int check_carries(struct npuv_work *w, const struct npuv_graph *g)
{
	u32 *taken, i;
	int err = 0;

	taken = npuv_alloc_array(g->tensors.count, sizeof(u32));
	if (!taken)
		return -ENOMEM;
	for (i = 0; !err && i < g->edges.count; i++)
		err = check_edge(w, g, i, taken);
	npuv_free(taken);
	return err;
}

/*
 * Group edges by the block that they come from or, backwards, by the one that they lead to.
 * Edges to the exit then come after those to all blocks.
 */
static int group_edges(struct npuv_work *w, const struct npuv_graph *g, bool backwards, u32 **start,
		       u32 **edges)
{
	struct npuv_vector pairs = { .size = sizeof(struct npuv_pair) };
	int err = 0;
	u32 i;

	for (i = 0; !err && i < g->edges.count; i++) {
		const struct npumem_edge *e = npuv_edge(g, i);

		if (!backwards)
			err = npuv_pair_add(&pairs, e->from, i);
		else if (e->to != NPUMEM_NONE)
			err = npuv_pair_add(&pairs, e->to, i);
	}
	return npuv_group(w, err, &pairs, g->blocks.count, start, edges);
}

/*
 * struct reach - search for the blocks that can be reached
 * @seen: per block, it has been reached
 * @queue: blocks reached, in the order in which they were
 * @count: number of them
 */
struct reach {
	bool *seen;
	u32 *queue;
	u32 count;
};

static void see(struct reach *r, u32 block)
{
	if (block == NPUMEM_NONE || r->seen[block])
		return;
	r->seen[block] = true;
	r->queue[r->count++] = block;
}

/* Reach all blocks that edges lead to from those that have been reached. */
static int spread(struct npuv_work *w, const struct npuv_graph *g, bool backwards, const u32 *start,
		  const u32 *edges, struct reach *r)
{
	u32 i, k;
	int err = 0;

	for (i = 0; !err && i < r->count; i++) {
		u32 block = r->queue[i];

		for (k = start[block]; k < start[block + 1]; k++) {
			const struct npumem_edge *e = npuv_edge(g, edges[k]);

			see(r, backwards ? e->from : e->to);
		}
		err = npuv_visit(w, 1 + start[block + 1] - start[block]);
	}
	return err;
}

static int refuse_unseen(struct npuv_work *w, const struct npuv_graph *g, const struct reach *r,
			 const char *flaw)
{
	struct npuv_text text;
	u32 i;

	for (i = 0; i < g->blocks.count; i++)
		if (!r->seen[i])
			return npuv_refuse_at(w, -EINVAL, npuv_block(g, i),
					      sizeof(struct npumem_block), "format: %s: %s",
					      npuv_text_block(g, i, &text), flaw);
	return 0;
}

static int check_reach(struct npuv_work *w, const struct npuv_graph *g, struct reach *r)
{
	u32 *start = NULL, *edges = NULL, i;
	int err;

	see(r, 0);
	err = spread(w, g, false, g->out_start, g->out_edges, r);
	if (!err)
		err = refuse_unseen(w, g, r, "it cannot be reached from block 0");
	if (!err)
		err = group_edges(w, g, true, &start, &edges);
	if (!err) {
		memset(r->seen, 0, g->blocks.count * sizeof(*r->seen));
		r->count = 0;
		for (i = 0; i < g->edges.count; i++)
			if (npuv_edge(g, i)->to == NPUMEM_NONE)
				see(r, npuv_edge(g, i)->from);
		err = spread(w, g, true, start, edges, r);
	}
	if (!err)
		err = refuse_unseen(w, g, r,
				    "no exit can be reached from it, it is a loop without exit");
	npuv_free_all(start, edges);
	return err;
}

int npuv_flow_check(struct npuv_work *w, struct npuv_graph *g)
{
	struct reach r = { 0 };
	int err;

	if (npuv_is_flat(g))
		return 0;
	err = check_carries(w, g);
	if (!err)
		err = group_edges(w, g, false, &g->out_start, &g->out_edges);
	if (err)
		return err;
	r.seen = npuv_alloc_array(g->blocks.count, sizeof(*r.seen));
	r.queue = npuv_alloc_array(g->blocks.count, sizeof(*r.queue));
	err = r.seen && r.queue ? check_reach(w, g, &r) : -ENOMEM;
	npuv_free_all(r.seen, r.queue);
	return err;
}
