// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Plans: reads the records of a plan blob and makes all checks of them in their order.
 */
#include "walk/check.h"

static_assert(sizeof(struct npumem_plan_info) == 96);
static_assert(sizeof(struct npumem_position) == 40);
static_assert(sizeof(struct npumem_plan_block) == 24);
static_assert(sizeof(struct npumem_entry) == 40);
static_assert(sizeof(struct npumem_plan_edge) == 16);
static_assert(sizeof(struct npumem_view) == 24);

static int check_features(struct npuv_work *w, const struct npuv_graph *g)
{
	struct npuv_text text;
	u32 i;

	for (i = 0; g->features & NPUMEM_FEATURE_SPILL && i < g->tensors.count; i++) {
		u32 flags = npuv_tensor(g, i)->flags;
		const char *what = NULL;

		if (!(flags & NPUMEM_TENSOR_FLAG_HOST))
			continue;
		if (!npuv_is_flat(g))
			what = "in a graph with edges";
		else if (flags & NPUMEM_TENSOR_FLAG_ALIAS)
			what = "of an alias";
		else if (flags & NPUMEM_TENSOR_FLAG_EXTERNAL)
			what = "of an external tensor";
		if (!what)
			continue;
		w->verdict->tensor = i;
		return npuv_refuse(w, -EOPNOTSUPP, NPUMEM_RULE_NONE,
				   "not supported: HOST %s, at %s", what,
				   npuv_text_tensor(g, i, &text));
	}
	return 0;
}

static int check_sections(struct npuv_work *w, struct npuv_plan *p, struct npuv_section *info)
{
	const struct npuv_section_rule rules[] = {
		{ NPUMEM_PLAN_SECTION_INFO, sizeof(struct npumem_plan_info), 8, true, "info",
		  info },
		{ NPUMEM_PLAN_SECTION_PLACEMENTS, sizeof(struct npumem_placement), 8, false,
		  "placements", &p->placements },
		{ NPUMEM_PLAN_SECTION_SCHEDULE, sizeof(struct npumem_position), 8, true, "schedule",
		  &p->positions },
		{ NPUMEM_PLAN_SECTION_BLOCKS, sizeof(struct npumem_plan_block), 8, true, "blocks",
		  &p->blocks },
		{ NPUMEM_PLAN_SECTION_ENTRIES, sizeof(struct npumem_entry), 8, false, "entries",
		  &p->entries },
		{ NPUMEM_PLAN_SECTION_EDGES, sizeof(struct npumem_plan_edge), 8, false, "edges",
		  &p->edges },
		{ NPUMEM_PLAN_SECTION_VIEWS, sizeof(struct npumem_view), 8, false, "views",
		  &p->views },
		{ NPUMEM_PLAN_SECTION_VIEW_SLOTS, sizeof(u32), 4, false, "view slots", &p->slots },
	};

	return npuv_blob_check(w, p->size, NPUMEM_PLAN_MAGIC, rules,
			       sizeof(rules) / sizeof(rules[0]));
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
	else if (info->status > NPUMEM_PLAN_STATUS_INFEASIBLE)
		flaw = "status is unknown";
	else if (info->status == NPUMEM_PLAN_STATUS_INFEASIBLE)
		flaw = "status is INFEASIBLE, there is no plan";
	if (flaw)
		return npuv_refuse_at(w, -EINVAL, info, sizeof(*info), "format: info: %s", flaw);
	p->info = info;
	return 0;
}

/* Check the records of transfers, and that tensors which begin in host memory are loaded. */
static int check_transfers(struct npuv_work *w, struct npuv_plan *p)
{
	int err;

	if (!p->transfers && p->info->host_size)
		return npuv_refuse_at(w, -EINVAL, p->info, sizeof(*p->info),
				      "format: info: host_size is not zero, but nothing is moved "
				      "to host memory");
	if (!p->transfers && !(p->graph->features & NPUMEM_FEATURE_SPILL))
		return 0;
	err = npuv_transfers_check(w, p);
	if (!err)
		err = npuv_versions_check(w, p);
	return err ? err : npuv_transfers_insert(w, p);
}

static int verify(struct npuv_work *w, struct npuv_plan *p)
{
	struct npuv_section info = { 0 };
	u32 *entries = NULL;
	int err;

	err = check_features(w, p->graph);
	if (!err)
		err = check_sections(w, p, &info);
	if (!err)
		err = check_info(w, p, &info);
	if (!err)
		err = npuv_instances_check(w, p);
	if (!err)
		err = npuv_edges_check(w, p);
	if (!err)
		err = npuv_placements_check(w, p);
	/* These name tensors of the client's graph, so they come before there is another. */
	if (!err)
		err = npuv_entries_check(w, p, &entries);
	if (!err)
		err = npuv_views_check(w, p);
	if (!err)
		err = check_transfers(w, p);
	if (!err)
		err = npuv_extents_cut(w, p, entries);
	npuv_free(entries);
	if (!err)
		err = npuv_owner_check(w, p);
	return err;
}

static u32 extent_count(const struct npuv_plan *p)
{
	u32 i, count = 0;

	for (i = 0; i < p->location_start[p->blocks.count + 1]; i++)
		count += p->locations[i].count;
	return count;
}

int npuv_plan_parse(const void *blob, u64 size, const struct npuv_limits *limits,
		    struct npuv_log *log, struct npumem_verdict *verdict, struct npuv_plan *plan,
		    struct npuv_section *info)
{
	struct npuv_work w = { .blob = blob, .limits = limits, .log = log, .verdict = verdict };

	npuv_verdict_clear(verdict);
	memset(plan, 0, sizeof(*plan));
	memset(info, 0, sizeof(*info));
	plan->blob = blob;
	plan->size = size;
	return check_sections(&w, plan, info);
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
	npuv_work_fini(&w);
	if (err) {
		npuv_verdict_map(p->graph, verdict);
		npuv_plan_destroy(p);
		return err;
	}
	if (log && log->level >= 2)
		npuv_log(log,
			 "plan: %u positions, %u placements, %u extents, %u predecessors of %u "
			 "cells, arena of %llu bytes, %llu visits",
			 p->positions.count, p->placements.count, extent_count(p),
			 p->pred_start[npuv_cell_count(p)], npuv_cell_count(p), p->info->arena_size,
			 w.visits);
	*out = p;
	return 0;
}
