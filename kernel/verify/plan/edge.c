// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The records of a plan's edges, rule V6: whatever way the program takes, there is exactly
 * one edge to take. walk/demand.c checks what has to hold along them.
 */
#include "plan.h"

/* The end of a graph of one block without edges is the exit. */
static int check_flat(struct npuv_work *w, const struct npuv_plan *p)
{
	const struct npumem_plan_edge *e = npuv_plan_edge(p, 0);

	if (p->edges.count && (p->edges.count > 1 || e->from || e->to != NPUMEM_NONE ||
			       e->edge != NPUMEM_NONE || e->pad))
		return npuv_refuse(w, -EINVAL, NPUMEM_RULE_V6_EDGE,
				   "V6 edge: edge 0 of the plan is not the one from block 0 to "
				   "the exit");
	return 0;
}

/* NULL, or a text that says what is wrong with an edge. */
static const char *edge_flaw(const struct npuv_plan *p, const struct npumem_plan_edge *e)
{
	const struct npuv_graph *g = p->graph;
	const struct npumem_edge *of;

	if (e->from >= p->blocks.count)
		return "from is not a block of the plan";
	if (e->to >= p->blocks.count && e->to != NPUMEM_NONE)
		return "to is not a block of the plan";
	if (e->edge >= g->edges.count)
		return "its edge is not in the graph";
	if (e->pad)
		return "its pad is not zero";
	of = npuv_edge(g, e->edge);
	if (npuv_plan_block(p, e->from)->block != of->from)
		return "from is not of the block that the graph's edge is from";
	if (e->to == NPUMEM_NONE ? of->to != NPUMEM_NONE :
				   npuv_plan_block(p, e->to)->block != of->to)
		return "to is not of the block that the graph's edge is to";
	return NULL;
}

static int refuse_edge(struct npuv_work *w, const struct npuv_plan *p, u32 instance, u32 edge,
		       const char *what)
{
	struct npuv_text where;

	return npuv_refuse(w, -EINVAL, NPUMEM_RULE_V6_EDGE,
			   "V6 edge: %s has %s edge for edge %u of the graph",
			   npuv_text_instance(p, instance, &where), what, edge);
}

/*
 * Check that each way out of an instance has one edge. @keys are (instance, edge of the
 * graph), sorted; each way that the graph has must be there once.
 */
static int check_ways(struct npuv_work *w, const struct npuv_plan *p, const u64 *keys)
{
	const struct npuv_graph *g = p->graph;
	u32 i, k, n = 0;
	int err;

	for (i = 0; i < p->blocks.count; i++) {
		u32 block = npuv_plan_block(p, i)->block;

		for (k = g->out_start[block]; k < g->out_start[block + 1]; k++) {
			u64 key = (u64)i << 32 | g->out_edges[k];

			if (n == p->edges.count || keys[n] != key)
				return refuse_edge(w, p, i, g->out_edges[k], "no");
			n++;
			if (n < p->edges.count && keys[n] == key)
				return refuse_edge(w, p, i, g->out_edges[k], "more than one");
			err = npuv_visit(w, 1);
			if (err)
				return err;
		}
	}
	return 0;
}

static int check_records(struct npuv_work *w, const struct npuv_plan *p, u64 *keys)
{
	u32 i;
	int err = 0;

	for (i = 0; !err && i < p->edges.count; i++) {
		const struct npumem_plan_edge *e = npuv_plan_edge(p, i);
		const char *flaw = edge_flaw(p, e);

		if (flaw)
			return npuv_refuse(w, -EINVAL, NPUMEM_RULE_V6_EDGE,
					   "V6 edge: edge %u of the plan: %s", i, flaw);
		keys[i] = (u64)e->from << 32 | e->edge;
		err = npuv_visit(w, 1);
	}
	return err;
}

int npuv_edges_check(struct npuv_work *w, struct npuv_plan *p)
{
	u64 *keys;
	int err;

	if (npuv_is_flat(p->graph))
		return check_flat(w, p);
	keys = npuv_alloc_array(p->edges.count, sizeof(u64));
	err = keys ? check_records(w, p, keys) : -ENOMEM;
	if (!err)
		err = npuv_sort(w, keys, p->edges.count);
	if (!err)
		err = check_ways(w, p, keys);
	npuv_free(keys);
	return err;
}

int npuv_edges_group(struct npuv_work *w, const struct npuv_plan *p, u32 **start, u32 **edges)
{
	struct npuv_vector pairs = { .size = sizeof(struct npuv_pair) };
	int err = 0;
	u32 i;

	for (i = 0; !err && i < p->edges.count; i++)
		err = npuv_pair_add(&pairs, npuv_plan_edge(p, i)->from, i);
	return npuv_group(w, err, &pairs, p->blocks.count, start, edges);
}
