// SPDX-License-Identifier: MIT
/* "blocks" and "views" of plan JSON: loops and branches. */
#include "get.h"

#include <stdlib.h>
#include <string.h>

static const char *const view_types[] = { NULL, "cyclic", "first_cyclic" };

/* ----------------------------------------------------------------- written */

/* A whole tensor in the arena is just the number of its placement. */
static json_t *entry_json(const struct npuplan_graph *graph, const struct npumem_entry *entry)
{
	const struct npuplan_tensor *tensor = &graph->tensors[entry->tensor];
	json_t *object;

	if (entry->flags == NPUMEM_ENTRY_RESIDENT && !entry->first && entry->length == tensor->size)
		return json_integer(entry->placement);
	object = json_pack("{sIsIsI}", "tensor", (json_int_t)tensor->id, "first",
			   (json_int_t)entry->first, "length", (json_int_t)entry->length);
	if (entry->flags & NPUMEM_ENTRY_RESIDENT)
		json_object_set_new(object, "placement", json_integer(entry->placement));
	if (entry->flags & NPUMEM_ENTRY_HOST)
		json_object_set_new(object, "host_offset",
				    json_integer((json_int_t)entry->host_offset));
	return object;
}

static json_t *edge_json(const struct npumem_plan_edge *edge)
{
	json_t *object = json_object();

	if (edge->edge != NPUMEM_NONE)
		json_object_set_new(object, "edge", json_integer(edge->edge));
	if (edge->to != NPUMEM_NONE)
		json_object_set_new(object, "to", json_integer(edge->to));
	return object;
}

json_t *plan_json_block(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
			uint32_t block, uint32_t *next_edge)
{
	const struct npumem_plan_block *at = &plan->blocks[block];
	json_t *entries = json_array(), *edges = json_array();

	for (uint32_t i = 0; i < at->entry_count; i++)
		json_array_append_new(entries,
				      entry_json(graph, &plan->entries[at->first_entry + i]));
	while (*next_edge < plan->edge_count && plan->edges[*next_edge].from == block)
		json_array_append_new(edges, edge_json(&plan->edges[(*next_edge)++]));
	return json_pack("{sIsIsoso}", "block", (json_int_t)at->block, "positions",
			 (json_int_t)at->position_count, "entries", entries, "edges", edges);
}

json_t *plan_json_view(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
		       const struct npumem_view *view)
{
	json_t *slots = json_array();

	for (uint32_t i = 0; i < view->slot_count; i++) {
		uint32_t slot = plan->view_slots[view->first_slot + i];

		json_array_append_new(slots,
				      slot & NPUMEM_VIEW_NESTED ?
					      json_pack("{sI}", "view",
							(json_int_t)(slot & ~NPUMEM_VIEW_NESTED)) :
					      json_integer(slot));
	}
	return json_pack("{sIsssIsIso}", "tensor", (json_int_t)graph->tensors[view->tensor].id,
			 "type", view_types[view->type], "loop", (json_int_t)view->loop, "repeat",
			 (json_int_t)view->repeat, "slots", slots);
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

static int read_entry(struct plan_json_reader *r, const json_t *value)
{
	static const char *const known[] = { "tensor", "placement",   "first",
					     "length", "host_offset", NULL };
	uint64_t placement = 0, first = 0, length, host = 0, limit = r->plan->placement_count;
	struct npumem_entry *entry;
	int err;

	err = npuplan_grow(&r->plan->entries, r->plan->entry_count, sizeof(*r->plan->entries));
	if (err)
		return npuplan_fail(r->error, err, "out of memory");
	entry = &r->plan->entries[r->plan->entry_count];
	*entry = (struct npumem_entry){ .placement = NPUMEM_NONE };
	if (!limit && !json_is_object(value))
		return plan_json_fail(r, "entries", "there are no placements");
	if (json_is_integer(value)) {
		err = plan_json_integer(r, "entries", value, limit - 1, &placement);
		if (err)
			return err;
		entry->tensor = r->plan->placements[placement].tensor;
		entry->placement = placement;
		entry->flags = NPUMEM_ENTRY_RESIDENT;
		entry->length = r->graph->tensors[entry->tensor].size;
		r->plan->entry_count++;
		return 0;
	}
	err = plan_json_fields(r, value, known);
	if (!err)
		err = plan_json_tensor(r, value, "tensor", &entry->tensor);
	if (!err && json_object_get(value, "placement")) {
		err = limit ? plan_json_get(r, value, "placement", true, limit - 1, &placement) :
			      plan_json_fail(r, "placement", "there are none");
		entry->placement = placement;
		entry->flags |= NPUMEM_ENTRY_RESIDENT;
	}
	if (!err && json_object_get(value, "host_offset")) {
		err = plan_json_get(r, value, "host_offset", true, INT64_MAX, &host);
		entry->flags |= NPUMEM_ENTRY_HOST;
	}
	length = err ? 0 : r->graph->tensors[entry->tensor].size;
	if (!err)
		err = plan_json_get(r, value, "first", false, INT64_MAX, &first);
	if (!err)
		err = plan_json_get(r, value, "length", false, INT64_MAX, &length);
	entry->first = first;
	entry->length = length;
	entry->host_offset = host;
	r->plan->entry_count += !err;
	return err;
}

static int read_edge(struct plan_json_reader *r, const json_t *object, uint32_t from,
		     uint32_t blocks)
{
	static const char *const known[] = { "edge", "to", NULL };
	uint64_t edge = NPUMEM_NONE, to = NPUMEM_NONE;
	int err;

	err = plan_json_fields(r, object, known);
	if (!err && json_object_get(object, "edge") && !r->graph->edge_count)
		err = plan_json_fail(r, "edges", "graph %s has none", r->graph->name);
	if (!err)
		err = plan_json_get(r, object, "edge", false, (uint64_t)r->graph->edge_count - 1,
				    &edge);
	if (!err)
		err = plan_json_get(r, object, "to", false, blocks - 1, &to);
	if (!err && npuplan_grow(&r->plan->edges, r->plan->edge_count, sizeof(*r->plan->edges)))
		err = npuplan_fail(r->error, -ENOMEM, "out of memory");
	if (!err)
		r->plan->edges[r->plan->edge_count++] = (struct npumem_plan_edge){
			.from = from,
			.to = to,
			.edge = edge,
		};
	return err;
}

static int read_block(struct plan_json_reader *r, const json_t *object, uint32_t block,
		      uint32_t blocks)
{
	static const char *const known[] = { "block", "positions", "entries", "edges", NULL };
	const struct npumem_plan_block *before = block ? &r->plan->blocks[block - 1] : NULL;
	struct npumem_plan_block *at = &r->plan->blocks[block];
	const json_t *entries = NULL, *edges = NULL;
	uint64_t of = 0, positions = 0;
	int err;

	snprintf(r->path, sizeof(r->path), "blocks[%u]", block);
	err = plan_json_fields(r, object, known);
	if (!err)
		err = plan_json_get(r, object, "block", true, r->graph->block_count - 1, &of);
	*at = (struct npumem_plan_block){
		.block = of,
		.first_position = before ? before->first_position + before->position_count : 0,
		.first_entry = r->plan->entry_count,
	};
	if (!err)
		err = plan_json_get(r, object, "positions", true,
				    r->plan->position_count - at->first_position, &positions);
	if (!err)
		err = plan_json_array(r, object, "entries", false, &entries);
	if (!err)
		err = plan_json_array(r, object, "edges", false, &edges);
	at->position_count = positions;
	for (size_t i = 0; i < json_array_size(entries) && !err; i++)
		err = read_entry(r, json_array_get(entries, i));
	at->entry_count = r->plan->entry_count - at->first_entry;
	for (size_t i = 0; i < json_array_size(edges) && !err; i++)
		err = read_edge(r, json_array_get(edges, i), block, blocks);
	return err;
}

static int read_blocks(struct plan_json_reader *r, const json_t *list)
{
	size_t count = json_array_size(list);
	const struct npumem_plan_block *last;
	int err = 0;

	if (count >= NPUMEM_NONE)
		return plan_json_fail(r, "blocks", "too many");
	free(r->plan->blocks);
	r->plan->blocks = calloc(count + 1, sizeof(*r->plan->blocks));
	if (!r->plan->blocks)
		return npuplan_fail(r->error, -ENOMEM, "out of memory");
	if (!count) {
		r->plan->blocks[0].position_count = r->plan->position_count;
		r->plan->block_count = 1;
		return 0;
	}
	for (uint32_t i = 0; i < count && !err; i++) {
		err = read_block(r, json_array_get(list, i), i, count);
		r->plan->block_count = i + 1;
	}
	r->path[0] = '\0';
	last = &r->plan->blocks[r->plan->block_count - 1];
	if (!err && last->first_position + last->position_count != r->plan->position_count)
		err = plan_json_fail(r, "blocks", "hold %u positions of %u",
				     last->first_position + last->position_count,
				     r->plan->position_count);
	return err;
}

static int read_slot(struct plan_json_reader *r, const json_t *value, size_t views)
{
	static const char *const known[] = { "view", NULL };
	struct npuplan_plan *plan = r->plan;
	uint64_t slot = 0;
	int err;

	if (json_is_object(value)) {
		err = plan_json_fields(r, value, known);
		if (!err)
			err = plan_json_get(r, value, "view", true, views - 1, &slot);
		slot |= NPUMEM_VIEW_NESTED;
	} else if (plan->placement_count) {
		err = plan_json_integer(r, "slots", value, plan->placement_count - 1, &slot);
	} else {
		err = plan_json_fail(r, "slots", "there are no placements");
	}
	if (!err && npuplan_grow(&plan->view_slots, plan->view_slot_count, sizeof(uint32_t)))
		err = npuplan_fail(r->error, -ENOMEM, "out of memory");
	if (!err)
		plan->view_slots[plan->view_slot_count++] = slot;
	return err;
}

static int read_view(struct plan_json_reader *r, const json_t *object, size_t views,
		     struct npumem_view *view)
{
	static const char *const known[] = { "tensor", "type", "loop", "repeat", "slots", NULL };
	const char *name = json_string_value(json_object_get(object, "type"));
	uint32_t type = NPUMEM_VIEW_FIRST_CYCLIC;
	const json_t *slots = NULL;
	uint64_t loop = 0, repeat = 0;
	int err;

	while (type && (!name || strcmp(name, view_types[type])))
		type--;
	err = plan_json_fields(r, object, known);
	if (!err)
		err = plan_json_tensor(r, object, "tensor", &view->tensor);
	if (!err && !type)
		err = plan_json_fail(r, "type", "expected cyclic or first_cyclic");
	if (!err && !r->graph->edge_count)
		err = plan_json_fail(r, "loop", "graph %s has no edges", r->graph->name);
	if (!err)
		err = plan_json_get(r, object, "loop", true, r->graph->edge_count - 1, &loop);
	if (!err)
		err = plan_json_get(r, object, "repeat", true, UINT32_MAX, &repeat);
	if (!err)
		err = plan_json_array(r, object, "slots", true, &slots);
	if (err)
		return err;
	view->type = type;
	view->loop = loop;
	view->repeat = repeat;
	view->first_slot = r->plan->view_slot_count;
	for (size_t i = 0; i < json_array_size(slots) && !err; i++)
		err = read_slot(r, json_array_get(slots, i), views);
	view->slot_count = r->plan->view_slot_count - view->first_slot;
	if (!err && view->slot_count != repeat + (view->type == NPUMEM_VIEW_FIRST_CYCLIC))
		err = plan_json_fail(r, "slots", "%u do not fit repeat %llu", view->slot_count,
				     (unsigned long long)repeat);
	return err;
}

int plan_json_read_flow(struct plan_json_reader *r, const json_t *root)
{
	const json_t *blocks, *views;
	size_t count;
	int err;

	err = plan_json_array(r, root, "blocks", false, &blocks);
	if (!err)
		err = plan_json_array(r, root, "views", false, &views);
	if (!err)
		err = read_blocks(r, blocks);
	if (err)
		return err;
	count = json_array_size(views);
	r->plan->views = calloc(count + 1, sizeof(*r->plan->views));
	if (!r->plan->views)
		return npuplan_fail(r->error, -ENOMEM, "out of memory");
	for (size_t i = 0; i < count && !err; i++) {
		snprintf(r->path, sizeof(r->path), "views[%zu]", i);
		err = read_view(r, json_array_get(views, i), count, &r->plan->views[i]);
		r->plan->view_count = i + 1;
	}
	r->path[0] = '\0';
	return err;
}
