// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Versions of bytes, before transfers are among the steps: a plan that moves tensors has
 * cells of its own, found in the order of its schedule, and they mean what the client's
 * graph means only if each access finds the version that it finds there.
 */
#include "check.h"

static int refuse_newer(struct npuv_check *k, u32 access, u32 writer)
{
	struct npumem_verdict *v = k->w->verdict;
	struct npuv_text step, tensor, other;

	npuv_set_access(k, writer);
	npuv_verdict_other(v, k->g, access);
	return npuv_refuse(k->w, -EINVAL, NPUMEM_RULE_V4_WRITE,
			   "V4 write: %s writes tile %u of %s before %s reads what was there",
			   npuv_text_step(k->g, v->step, &step), v->tile,
			   npuv_text_tensor(k->g, v->tensor, &tensor),
			   npuv_text_step(k->g, v->other_step, &other));
}

/*
 * Every access finds the version that it finds in the client's graph, or cells in
 * the order of the plan would not be those that are meant. Versions of the same
 * bytes are numbered upwards and have the same first segment.
 */
static int check_step(struct npuv_check *k, u32 step, u32 *versions)
{
	const struct npumem_step *s = npuv_step(k->g, step);
	u32 a, n = 0, end = s->first_access + s->access_count;
	struct npuv_cells it;

	for (a = s->first_access; a < end; a++) {
		npuv_for_each_read(it, k->g, a)
		{
			u32 cell = it.cell, writer = k->g->cells[cell].writer;
			u32 now = versions[k->g->cells[cell].first_segment];

			n++;
			if (now == cell)
				continue;
			if (now == NPUMEM_NONE || now < cell)
				return npuv_refuse_order(k, a, writer);
			return refuse_newer(k, a, k->g->cells[now].writer);
		}
	}
	for (a = s->first_access; a < end; a++) {
		npuv_for_each_write(it, k->g, a)
		{
			n++;
			versions[k->g->cells[it.cell].first_segment] = it.cell;
		}
	}
	return npuv_visit(k->w, 1 + n);
}

/* Check an instance: which version it begins with, no other one says. */
static int check_instance(struct npuv_check *k, const struct npuv_plan *p, u32 instance,
			  u32 *versions)
{
	const struct npumem_plan_block *b = npuv_plan_block(p, instance);
	const struct npuv_graph *g = p->graph;
	u32 i, first = g->cell_start[b->block], end = g->cell_start[b->block + 1];
	int err;

	for (i = first; i < end; i++)
		versions[g->cells[i].first_segment] = NPUMEM_NONE;
	for (i = first; i < end; i++)
		if (g->cells[i].writer == NPUMEM_NONE)
			versions[g->cells[i].first_segment] = i;
	end = b->first_position + b->position_count;
	for (i = b->first_position; i < end; i++)
		if (npuv_position(p, i)->kind == NPUMEM_POSITION_STEP)
			k->position[npuv_position(p, i)->index] = i;
	err = npuv_visit(k->w, g->cell_start[b->block + 1] - first);
	for (i = b->first_position; !err && i < end; i++)
		if (npuv_position(p, i)->kind == NPUMEM_POSITION_STEP)
			err = check_step(k, npuv_position(p, i)->index, versions);
	return err;
}

int npuv_versions_check(struct npuv_work *w, const struct npuv_plan *p)
{
	struct npuv_check k = { .w = w, .g = p->graph };
	u32 *versions = npuv_alloc_array(p->graph->segment_count, sizeof(u32));
	int err = 0;
	u32 i;

	k.position = npuv_alloc_array(p->graph->steps.count, sizeof(u32));
	if (!versions || !k.position)
		err = -ENOMEM;
	for (i = 0; !err && i < p->blocks.count; i++)
		err = check_instance(&k, p, i, versions);
	npuv_free_all(versions, k.position);
	return err;
}
