// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Plans: the records of the blob and rule V2. V1 is in place.c; V3, V4 and V7
 * are in owner.c.
 */
#include "internal.h"

static_assert(sizeof(struct npumem_plan_info) == 96);
static_assert(sizeof(struct npumem_position) == 40);
static_assert(sizeof(struct npumem_plan_block) == 24);
static_assert(sizeof(struct npumem_entry) == 40);
static_assert(sizeof(struct npumem_plan_edge) == 16);
static_assert(sizeof(struct npumem_view) == 24);

/* Sections that are looked at, but not kept. */
struct unkept {
	struct npuv_section info;
};

static int check_features(struct npuv_work *w, const struct npuv_graph *g)
{
	struct npuv_text text;
	const char *what;
	u32 i;

	if (g->features & NPUMEM_FEATURE_BLOCKS)
		return npuv_refuse(w, -EOPNOTSUPP, NPUMEM_RULE_NONE,
				   "not supported: several blocks or edges, at %s",
				   npuv_text_block(g, g->blocks.count - 1, &text));
	for (i = 0; i < g->tensors.count; i++) {
		u32 flags = npuv_tensor(g, i)->flags;

		if (flags & NPUMEM_TENSOR_ALIAS)
			what = "ALIAS";
		else if (flags & NPUMEM_TENSOR_EXTERNAL)
			what = "EXTERNAL";
		else if (flags & NPUMEM_TENSOR_HOST)
			what = "HOST";
		else
			continue;
		w->verdict->tensor = i;
		return npuv_refuse(w, -EOPNOTSUPP, NPUMEM_RULE_NONE, "not supported: %s, at %s",
				   what, npuv_text_tensor(g, i, &text));
	}
	for (i = 0; g->features & NPUMEM_FEATURE_INPLACE && i < g->accesses.count; i++) {
		if (npuv_access(g, i)->inplace == NPUMEM_NONE)
			continue;
		w->verdict->step = g->access_step[i];
		return npuv_refuse(w, -EOPNOTSUPP, NPUMEM_RULE_NONE,
				   "not supported: in-place write, at access %u of %s",
				   i - npuv_step(g, g->access_step[i])->first_access,
				   npuv_text_step(g, g->access_step[i], &text));
	}
	return 0;
}

static int check_sections(struct npuv_work *w, struct npuv_plan *p, struct unkept *s)
{
	const struct npuv_section_rule rules[] = {
		{ NPUMEM_PLAN_INFO, sizeof(struct npumem_plan_info), 8, true, "info", &s->info },
		{ NPUMEM_PLAN_PLACEMENTS, sizeof(struct npumem_placement), 8, false, "placements",
		  &p->placements },
		{ NPUMEM_PLAN_SCHEDULE, sizeof(struct npumem_position), 8, true, "schedule",
		  &p->positions },
		{ NPUMEM_PLAN_BLOCKS, sizeof(struct npumem_plan_block), 8, true, "blocks",
		  &p->blocks },
		{ NPUMEM_PLAN_ENTRIES, sizeof(struct npumem_entry), 8, false, "entries",
		  &p->entries },
		{ NPUMEM_PLAN_EDGES, sizeof(struct npumem_plan_edge), 8, false, "edges",
		  &p->edges },
		{ NPUMEM_PLAN_VIEWS, sizeof(struct npumem_view), 8, false, "views", &p->views },
		{ NPUMEM_PLAN_VIEW_SLOTS, sizeof(u32), 4, false, "view slots", &p->slots },
	};
	int err;

	err = npuv_blob_check(w, p->size, NPUMEM_PLAN_MAGIC, rules,
			      sizeof(rules) / sizeof(rules[0]));
	if (err)
		return err;
	if (p->entries.count)
		return npuv_refuse_at(w, -EOPNOTSUPP, p->entries.base, p->entries.stride,
				      "not supported: entry states, at entry 0");
	if (p->views.count || p->slots.count)
		return npuv_refuse_at(w, -EOPNOTSUPP,
				      p->views.count ? p->views.base : p->slots.base,
				      p->views.count ? p->views.stride : p->slots.stride,
				      "not supported: views, at view 0");
	return 0;
}

static int check_info(struct npuv_work *w, struct npuv_plan *p, const struct npuv_section *section)
{
	const struct npumem_plan_info *info = (const void *)section->base;
	const char *flaw = NULL;
	u32 i, end;

	for (end = 0; end < sizeof(info->planner) && info->planner[end]; end++)
		;
	for (i = end; i < sizeof(info->planner) && !info->planner[i]; i++)
		;
	if (section->count != 1)
		flaw = "it has more than one record";
	else if (end == sizeof(info->planner) || i < sizeof(info->planner))
		flaw = "planner is not terminated and padded with NULs";
	else if (!info->alignment || (info->alignment & (info->alignment - 1)))
		flaw = "alignment is not a power of two";
	else if (info->status > NPUMEM_PLAN_INFEASIBLE)
		flaw = "status is unknown";
	else if (info->status == NPUMEM_PLAN_INFEASIBLE)
		flaw = "status is INFEASIBLE, there is no plan";
	else if (info->host_size)
		flaw = "host_size is not zero, but nothing is moved to host memory";
	if (flaw)
		return npuv_refuse_at(w, -EINVAL, info, sizeof(*info), "format: info: %s", flaw);
	p->info = info;
	return 0;
}

/* One block has one instance, and its end is the exit. */
static int check_blocks(struct npuv_work *w, const struct npuv_plan *p)
{
	const struct npumem_plan_block *b = (const void *)p->blocks.base;
	const struct npumem_plan_edge *e = (const void *)p->edges.base;

	if (p->blocks.count != 1)
		return npuv_refuse(w, -EINVAL, NPUMEM_RULE_V2_ORDER,
				   "V2 order: plan has %u blocks, its graph has 1 and no loop",
				   p->blocks.count);
	if (b->block || b->first_position || b->position_count != p->positions.count ||
	    b->first_entry || b->entry_count || b->pad)
		return npuv_refuse(w, -EINVAL, NPUMEM_RULE_V2_ORDER,
				   "V2 order: block 0 of the plan is not the whole schedule of "
				   "block 0, without entries");
	if (p->edges.count && (p->edges.count > 1 || e->from || e->to != NPUMEM_NONE ||
			       e->edge != NPUMEM_NONE || e->pad))
		return npuv_refuse(w, -EINVAL, NPUMEM_RULE_V6_EDGE,
				   "V6 edge: edge 0 of the plan is not the one from block 0 to "
				   "the exit");
	return 0;
}

static int refuse_position(struct npuv_work *w, const struct npuv_plan *p, u32 position, int err,
			   const char *flaw)
{
	const struct npumem_position *at = npuv_position(p, position);
	struct npuv_text text;

	w->verdict->position = position;
	if (at->kind == NPUMEM_POSITION_STEP && at->index < p->graph->steps.count) {
		w->verdict->step = at->index;
		return npuv_refuse(w, err, NPUMEM_RULE_V2_ORDER, "V2 order: position %u, %s: %s",
				   position, npuv_text_step(p->graph, at->index, &text), flaw);
	}
	return npuv_refuse(w, err, NPUMEM_RULE_V2_ORDER, "V2 order: position %u: %s", position,
			   flaw);
}

static int check_position(struct npuv_work *w, struct npuv_plan *p, u32 i)
{
	static const char *const transfers[] = { "", "load", "spill", "fill", "drop" };
	const struct npumem_position *at = npuv_position(p, i);

	if (at->kind > NPUMEM_POSITION_DROP)
		return refuse_position(w, p, i, -EINVAL, "its kind is unknown");
	if (at->kind != NPUMEM_POSITION_STEP) {
		w->verdict->position = i;
		return npuv_refuse(w, -EOPNOTSUPP, NPUMEM_RULE_NONE,
				   "not supported: %s, at position %u", transfers[at->kind], i);
	}
	if (at->index >= p->graph->steps.count)
		return refuse_position(w, p, i, -EINVAL, "its step is not there");
	if (at->placement != NPUMEM_NONE || at->pad || at->first || at->length || at->host_offset)
		return refuse_position(w, p, i, -EINVAL, "fields of a transfer are not empty");
	if (p->step_position[at->index] != NPUMEM_NONE)
		return refuse_position(w, p, i, -EINVAL, "the step stands at an earlier one too");
	p->step_position[at->index] = i;
	return 0;
}

static int check_schedule(struct npuv_work *w, struct npuv_plan *p)
{
	u32 i, steps = p->graph->steps.count;
	struct npuv_text text;
	int err;

	p->step_position = npuv_alloc_array(steps, sizeof(u32));
	if (!p->step_position)
		return -ENOMEM;
	for (i = 0; i < steps; i++)
		p->step_position[i] = NPUMEM_NONE;
	for (i = 0; i < p->positions.count; i++) {
		err = check_position(w, p, i);
		if (!err)
			err = npuv_visit(w, 1);
		if (err)
			return err;
	}
	for (i = 0; i < steps; i++) {
		if (p->step_position[i] != NPUMEM_NONE)
			continue;
		w->verdict->step = i;
		return npuv_refuse(w, -EINVAL, NPUMEM_RULE_V2_ORDER,
				   "V2 order: %s is not in the schedule",
				   npuv_text_step(p->graph, i, &text));
	}
	return 0;
}

static int verify(struct npuv_work *w, struct npuv_plan *p)
{
	struct unkept sections = { 0 };
	int err;

	err = check_features(w, p->graph);
	if (!err)
		err = check_sections(w, p, &sections);
	if (!err)
		err = check_info(w, p, &sections.info);
	if (!err)
		err = check_blocks(w, p);
	if (!err)
		err = check_schedule(w, p);
	if (!err)
		err = npuv_place_check(w, p);
	if (!err)
		err = npuv_owner_check(w, p);
	return err;
}

int npuv_plan_create(const struct npuv_graph *graph, const void *blob, u64 size,
		     const struct npuv_limits *limits, struct npuv_log *log,
		     struct npumem_verdict *verdict, struct npuv_plan **out)
{
	struct npuv_work w = { .blob = blob, .limits = limits, .log = log, .verdict = verdict };
	struct npuv_plan *p;
	int err;

	npuv_verdict_clear(verdict);
	p = npuv_alloc_array(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->graph = graph;
	p->blob = blob;
	p->size = size;
	err = verify(&w, p);
	if (err) {
		npuv_plan_destroy(p);
		return err;
	}
	if (log && log->level >= 2)
		npuv_log(log,
			 "plan: %u positions, %u placements, %u extents, %u predecessors of %u "
			 "cells, arena of %llu bytes, %llu visits",
			 p->positions.count, p->placements.count,
			 p->extent_start[graph->tensors.count], p->pred_start[graph->cell_count],
			 graph->cell_count, p->info->arena_size, w.visits);
	*out = p;
	return 0;
}

void npuv_plan_destroy(struct npuv_plan *p)
{
	if (!p)
		return;
	npuv_free(p->extents);
	npuv_free(p->extent_start);
	npuv_free(p->cell_base);
	npuv_free(p->uses);
	npuv_free(p->pred_start);
	npuv_free(p->pred_cells);
	npuv_free(p->last_use);
	npuv_free(p->overwriter);
	npuv_free(p->step_position);
	npuv_free(p);
}
