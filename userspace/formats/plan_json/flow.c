// SPDX-License-Identifier: MIT
/* "blocks" and "views" of plan JSON: loops and branches. */
#include "plan_json.h"

#include <stdlib.h>
#include <string.h>

/* From NPUMEM_VIEW_CYCLIC on. */
static const char *const view_types[] = { "cyclic", "first_cyclic", NULL };

/* ----------------------------------------------------------------- written */

/* A whole tensor in the arena is just the number of its placement. */
static json_t *entry_json(const struct npuplan_graph *graph, const struct npumem_entry *entry)
{
	const struct npuplan_tensor *tensor = &graph->tensors[entry->tensor];
	json_t *object;

	if (entry->flags == NPUMEM_ENTRY_RESIDENT && !entry->first && entry->length == tensor->size)
		return json_integer(entry->placement);
	object = json_object();
	npujson_set_int(&object, "tensor", tensor->id);
	npujson_set_int(&object, "first", entry->first);
	npujson_set_int(&object, "length", entry->length);
	if (entry->flags & NPUMEM_ENTRY_RESIDENT)
		npujson_set_int(&object, "placement", entry->placement);
	if (entry->flags & NPUMEM_ENTRY_HOST)
		npujson_set_int(&object, "host_offset", entry->host_offset);
	return object;
}

static json_t *edge_json(const struct npumem_plan_edge *edge)
{
	json_t *object = json_object();

	if (edge->edge != NPUMEM_NONE)
		npujson_set_int(&object, "edge", edge->edge);
	if (edge->to != NPUMEM_NONE)
		npujson_set_int(&object, "to", edge->to);
	return object;
}

/* @next_edge: first of the plan's edges that is not written yet; moved on */
static json_t *block_json(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
			  uint32_t block, uint32_t *next_edge)
{
	const struct npumem_plan_block *at = &plan->blocks[block];
	json_t *object = json_object(), *entries = json_array(), *edges = json_array();

	for (uint32_t i = 0; i < at->entry_count; i++)
		npujson_append(&entries, entry_json(graph, &plan->entries[at->first_entry + i]));
	while (*next_edge < plan->edge_count && plan->edges[*next_edge].from == block)
		npujson_append(&edges, edge_json(&plan->edges[(*next_edge)++]));
	npujson_set_int(&object, "block", at->block);
	npujson_set_int(&object, "positions", at->position_count);
	npujson_set(&object, "entries", entries);
	npujson_set(&object, "edges", edges);
	return object;
}

static json_t *view_json(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
			 const struct npumem_view *view)
{
	json_t *object = json_object(), *slots = json_array();

	for (uint32_t i = 0; i < view->slot_count; i++) {
		uint32_t slot = plan->view_slots[view->first_slot + i];
		json_int_t nested = slot & ~NPUMEM_VIEW_SLOT_NESTED;

		npujson_append(&slots, slot & NPUMEM_VIEW_SLOT_NESTED ?
					       json_pack("{sI}", "view", nested) :
					       json_integer(slot));
	}
	npujson_set_int(&object, "tensor", graph->tensors[view->tensor].id);
	npujson_set(&object, "type", json_string(view_types[view->type - NPUMEM_VIEW_CYCLIC]));
	npujson_set_int(&object, "loop", view->loop);
	npujson_set_int(&object, "repeat", view->repeat);
	npujson_set(&object, "slots", slots);
	return object;
}

void plan_json_put_flow(struct npujson_text *text, const struct npuplan_graph *graph,
			const struct npuplan_plan *plan)
{
	fputs(",\n\"blocks\": [", text->out);
	for (uint32_t i = 0, edge = 0; i < plan->block_count && !text->err; i++)
		npujson_put_line(text, i, block_json(graph, plan, i, &edge));
	fputs("\n],\n\"views\": [", text->out);
	for (uint32_t i = 0; i < plan->view_count && !text->err; i++)
		npujson_put_line(text, i, view_json(graph, plan, &plan->views[i]));
	fputs("\n]", text->out);
}

int plan_json_check_flow(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
			 struct npuplan_error *error)
{
	uint32_t positions = 0, entries = 0;

	for (uint32_t i = 0; i < plan->block_count; i++) {
		const struct npumem_plan_block *at = &plan->blocks[i];

		if (at->block >= graph->block_count || at->first_position != positions ||
		    at->position_count > plan->position_count - positions ||
		    at->first_entry != entries || at->entry_count > plan->entry_count - entries)
			return npuplan_fail(error, -EINVAL, "blocks[%u] does not fit graph %s", i,
					    graph->name);
		positions += at->position_count;
		entries += at->entry_count;
	}
	if (positions != plan->position_count || entries != plan->entry_count)
		return npuplan_fail(error, -EINVAL,
				    "blocks do not cover the schedule and the entries");
	for (uint32_t i = 0; i < plan->entry_count; i++)
		if (plan->entries[i].tensor >= graph->tensor_count)
			return npuplan_fail(error, -EINVAL, "entries[%u] does not fit graph %s", i,
					    graph->name);
	for (uint32_t i = 1; i < plan->edge_count; i++)
		if (plan->edges[i].from < plan->edges[i - 1].from)
			return npuplan_fail(error, -EOPNOTSUPP,
					    "edges[%u]: JSON holds edges block by block, in order",
					    i);
	for (uint32_t i = 0; i < plan->view_count; i++) {
		const struct npumem_view *view = &plan->views[i];

		if (view->tensor >= graph->tensor_count || !view->type || view->type > 2 ||
		    view->first_slot > plan->view_slot_count ||
		    view->slot_count > plan->view_slot_count - view->first_slot)
			return npuplan_fail(error, -EINVAL, "views[%u] does not fit graph %s", i,
					    graph->name);
	}
	return 0;
}

/* -------------------------------------------------------------------- read */

/* Room for one element more. */
static void *grow(struct plan_json_reader *r, void *array, uint32_t count, size_t size)
{
	if (!r->json->err && npuplan_grow(array, count, size))
		r->json->err = npuplan_fail(r->json->error, -ENOMEM, "out of memory");
	return r->json->err ? NULL : array;
}

static void read_entry(struct plan_json_reader *r, json_t *value)
{
	static const char *const known[] = { "tensor", "placement",   "first",
					     "length", "host_offset", NULL };
	struct npuplan_plan *plan = r->plan;
	int64_t last = (int64_t)plan->placement_count - 1;
	struct npumem_entry entry = { .placement = NPUMEM_NONE };

	if (json_is_integer(value)) {
		entry.placement = npujson_value(r->json, "entries", value, 0, last);
		entry.flags = NPUMEM_ENTRY_RESIDENT;
		if (r->json->err)
			return;
		entry.tensor = plan->placements[entry.placement].tensor;
		entry.length = r->graph->tensors[entry.tensor].size;
	} else {
		npujson_object(r->json, value, known);
		entry.tensor = plan_json_tensor(r, value, "tensor");
		if (json_object_get(value, "placement")) {
			entry.placement = npujson_int(r->json, value, "placement", 0, last);
			entry.flags |= NPUMEM_ENTRY_RESIDENT;
		}
		if (json_object_get(value, "host_offset")) {
			entry.host_offset =
				npujson_int(r->json, value, "host_offset", 0, INT64_MAX);
			entry.flags |= NPUMEM_ENTRY_HOST;
		}
		if (r->json->err)
			return;
		entry.first = npujson_int_or(r->json, value, "first", 0, INT64_MAX, 0);
		entry.length = npujson_int_or(r->json, value, "length", 0, INT64_MAX,
					      r->graph->tensors[entry.tensor].size);
	}
	if (grow(r, &plan->entries, plan->entry_count, sizeof(entry)))
		plan->entries[plan->entry_count++] = entry;
}

static void read_edge(struct plan_json_reader *r, json_t *object, uint32_t from, uint32_t blocks)
{
	static const char *const known[] = { "edge", "to", NULL };
	int64_t last = (int64_t)r->graph->edge_count - 1;
	struct npuplan_plan *plan = r->plan;
	struct npumem_plan_edge edge = { .from = from };

	npujson_object(r->json, object, known);
	edge.edge = npujson_int_or(r->json, object, "edge", 0, last, NPUMEM_NONE);
	edge.to = npujson_int_or(r->json, object, "to", 0, blocks - 1, NPUMEM_NONE);
	if (grow(r, &plan->edges, plan->edge_count, sizeof(edge)))
		plan->edges[plan->edge_count++] = edge;
}

static void read_block(struct plan_json_reader *r, json_t *object, uint32_t block, uint32_t blocks)
{
	static const char *const known[] = { "block", "positions", "entries", "edges", NULL };
	const struct npumem_plan_block *before = block ? &r->plan->blocks[block - 1] : NULL;
	struct npumem_plan_block *at = &r->plan->blocks[block];
	json_t *entries, *edges, *item;
	size_t i;

	npujson_object(r->json, object, known);
	at->block = npujson_int(r->json, object, "block", 0, (int64_t)r->graph->block_count - 1);
	at->first_position = before ? before->first_position + before->position_count : 0;
	at->first_entry = r->plan->entry_count;
	at->position_count = npujson_int(r->json, object, "positions", 0,
					 r->plan->position_count - at->first_position);
	entries = npujson_list(r->json, object, "entries", false);
	edges = npujson_list(r->json, object, "edges", false);
	json_array_foreach(entries, i, item)
		read_entry(r, item);
	at->entry_count = r->plan->entry_count - at->first_entry;
	json_array_foreach(edges, i, item)
		read_edge(r, item, block, blocks);
}

static void read_blocks(struct plan_json_reader *r, const json_t *list)
{
	struct npujson_walk walk = npujson_walk(r->json, list, "blocks");
	struct npuplan_plan *plan = r->plan;
	size_t count = json_array_size(list);
	const struct npumem_plan_block *last;
	json_t *object;

	if (count >= NPUMEM_NONE)
		npujson_fail(r->json, "blocks", "too many");
	free(plan->blocks);
	plan->block_count = 0;
	plan->blocks = npujson_alloc(r->json, count, sizeof(*plan->blocks));
	if (r->json->err)
		return;
	if (!count) {
		plan->blocks[0].position_count = plan->position_count;
		plan->block_count = 1;
		return;
	}
	while ((object = npujson_next(&walk)))
		read_block(r, object, plan->block_count++, count);
	last = &plan->blocks[plan->block_count - 1];
	if (last->first_position + last->position_count != plan->position_count)
		npujson_fail(r->json, "blocks", "hold %u positions of %u",
			     last->first_position + last->position_count, plan->position_count);
}

static void read_slot(struct plan_json_reader *r, json_t *value, size_t views)
{
	static const char *const known[] = { "view", NULL };
	struct npuplan_plan *plan = r->plan;
	uint32_t slot;

	if (json_is_object(value)) {
		npujson_object(r->json, value, known);
		slot = npujson_int(r->json, value, "view", 0, views - 1) | NPUMEM_VIEW_SLOT_NESTED;
	} else {
		slot = npujson_value(r->json, "slots", value, 0,
				     (int64_t)plan->placement_count - 1);
	}
	if (grow(r, &plan->view_slots, plan->view_slot_count, sizeof(slot)))
		plan->view_slots[plan->view_slot_count++] = slot;
}

static void read_view(struct plan_json_reader *r, json_t *object, size_t views,
		      struct npumem_view *view)
{
	static const char *const known[] = { "tensor", "type", "loop", "repeat", "slots", NULL };
	json_t *slots, *slot;
	size_t i;

	npujson_object(r->json, object, known);
	view->tensor = plan_json_tensor(r, object, "tensor");
	view->type =
		NPUMEM_VIEW_CYCLIC + npujson_choice(r->json, object, "type", true, view_types, 0);
	view->loop = npujson_int(r->json, object, "loop", 0, (int64_t)r->graph->edge_count - 1);
	view->repeat = npujson_int(r->json, object, "repeat", 0, UINT32_MAX);
	slots = npujson_list(r->json, object, "slots", true);
	view->first_slot = r->plan->view_slot_count;
	json_array_foreach(slots, i, slot)
		read_slot(r, slot, views);
	view->slot_count = r->plan->view_slot_count - view->first_slot;
	if (view->slot_count != view->repeat + (uint64_t)(view->type == NPUMEM_VIEW_FIRST_CYCLIC))
		npujson_fail(r->json, "slots", "%u do not fit repeat %u", view->slot_count,
			     view->repeat);
}

void plan_json_read_flow(struct plan_json_reader *r, const json_t *root)
{
	const json_t *blocks = npujson_list(r->json, root, "blocks", false);
	const json_t *views = npujson_list(r->json, root, "views", false);
	struct npujson_walk walk = npujson_walk(r->json, views, "views");
	size_t count = json_array_size(views);
	json_t *object;

	if (r->json->err)
		return;
	read_blocks(r, blocks);
	r->plan->views = npujson_alloc(r->json, count, sizeof(*r->plan->views));
	while ((object = npujson_next(&walk)))
		read_view(r, object, count, &r->plan->views[r->plan->view_count++]);
}
