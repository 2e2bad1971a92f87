// SPDX-License-Identifier: MIT
/* "tiling" of plan JSON: how the graph was cut, so that a reader can do the same. */
#include <stdlib.h>
#include <string.h>

#include "plan_json.h"

static const char *const fields[] = { "layout",	      "bands",	       "rows",	       "columns",
				      "onchip",	      "double_buffer", "partial_sums", "patches",
				      "parameters",   "inputs",	       "ops",	       "clones",
				      "carry_copies", "concat",	       "link_copies",  NULL };
static const char *const order_names[] = { "rows", "channels", NULL };
static const char *const inputs_names[] = { "given", "host", "resident", NULL };
static const char *const concat_names[] = { "copy", "join", "fit", NULL };

/* Operators that run again, in the order in which they are added. */
static json_t *clones_json(const struct npuplan_tiling *tiling)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < tiling->clone_count; i++) {
		const struct npuplan_clone *clone = &tiling->clones[i];
		json_t *object = json_object(), *readers = json_array();

		for (uint32_t k = 0; k < clone->reader_count; k++)
			npujson_append(&readers, json_integer(clone->readers[k]));
		npujson_set_int(&object, "op", clone->op);
		npujson_set(&object, "readers", readers);
		npujson_append(&list, object);
	}
	return list;
}

/* What edges carry and is copied first, in the order in which that is done. */
static json_t *carry_copies_json(const struct npuplan_tiling *tiling)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < tiling->carry_copy_count; i++) {
		json_t *object = json_object();

		npujson_set_int(&object, "edge", tiling->carry_copies[i].edge);
		npujson_set_int(&object, "tensor", tiling->carry_copies[i].tensor);
		npujson_append(&list, object);
	}
	return list;
}

/* What other cores read, and is copied for them. */
static json_t *link_copies_json(const struct npuplan_tiling *tiling)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < tiling->link_copy_count; i++) {
		const struct npuplan_link_copy *copy = &tiling->link_copies[i];
		json_t *object = json_object(), *readers = json_array();

		for (uint32_t k = 0; k < copy->reader_count; k++)
			npujson_append(&readers, json_integer(copy->readers[k]));
		npujson_set_int(&object, "tensor", copy->tensor);
		npujson_set(&object, "readers", readers);
		npujson_append(&list, object);
	}
	return list;
}

/* A field is left out where it has its default. */
json_t *plan_json_tiling(const struct npuplan_tiling *tiling)
{
	json_t *object = json_object();

	npujson_set_if(&object, "bands", tiling->bands);
	npujson_set_if(&object, "rows", tiling->rows);
	npujson_set_if(&object, "columns", tiling->columns);
	npujson_set_if(&object, "onchip", tiling->onchip);
	if (tiling->layout != NPUPLAN_NHWC)
		npujson_set(&object, "layout", json_string(npuplan_layout_name(tiling->layout)));
	if (tiling->double_buffer)
		npujson_set(&object, "double_buffer", json_true());
	if (tiling->partial_sums)
		npujson_set(&object, "partial_sums", json_true());
	npujson_set(&object, "parameters", json_boolean(tiling->with_parameters));
	if (tiling->inputs)
		npujson_set(&object, "inputs", json_string(inputs_names[tiling->inputs]));
	if (tiling->concat)
		npujson_set(&object, "concat", json_string(concat_names[tiling->concat]));
	if (tiling->clone_count)
		npujson_set(&object, "clones", clones_json(tiling));
	if (tiling->carry_copy_count)
		npujson_set(&object, "carry_copies", carry_copies_json(tiling));
	if (tiling->link_copy_count)
		npujson_set(&object, "link_copies", link_copies_json(tiling));
	return object;
}

json_t *plan_json_choice(const struct npuplan_graph *graph,
			 const struct npuplan_tile_choice *choice)
{
	json_t *object = json_object();

	npujson_set_int(&object, "op", graph->ops[choice->op].id);
	npujson_set_if(&object, "rows", choice->rows);
	npujson_set_if(&object, "channels", choice->channels);
	npujson_set_if(&object, "columns", choice->columns);
	npujson_set_if(&object, "depth", choice->depth);
	if (choice->order)
		npujson_set(&object, "outer", json_string(order_names[choice->order]));
	return object;
}

/* Operators that run patch by patch. */
json_t *plan_json_patches(const struct npuplan_graph *graph, const struct npuplan_tiling *tiling)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < tiling->patch_count; i++) {
		const struct npuplan_patches *patches = &tiling->patches[i];
		json_t *object = json_object();

		npujson_set_int(&object, "first", graph->ops[patches->first].id);
		npujson_set_int(&object, "last", graph->ops[patches->last].id);
		npujson_set_if(&object, "rows", patches->rows);
		npujson_set_if(&object, "columns", patches->columns);
		npujson_append(&list, object);
	}
	return list;
}

bool plan_json_has_tiling(const struct npuplan_tiling *tiling)
{
	return tiling->bands || tiling->rows || tiling->onchip;
}

static uint32_t find_op(const struct npuplan_graph *graph, int64_t id)
{
	for (uint32_t i = 0; i < graph->op_count; i++)
		if (graph->ops[i].id == id)
			return i;
	return NPUMEM_NONE;
}

/* The index of the operator whose id a field has. */
static uint32_t read_op(struct plan_json_reader *r, const json_t *entry, const char *field)
{
	int64_t id = npujson_int(r->json, entry, field, 0, INT64_MAX);
	uint32_t op;

	if (!r->graph || !r->graph->op_count)
		return 0;
	op = find_op(r->graph, id);
	if (op == NPUMEM_NONE)
		npujson_fail(r->json, field, "graph %s has no operator with id %lld",
			     r->graph->name, (long long)id);
	return op;
}

static void read_choice(struct plan_json_reader *r, json_t *entry,
			struct npuplan_tile_choice *choice)
{
	static const char *const known[] = { "op",    "rows",  "channels", "columns",
					     "depth", "outer", NULL };

	npujson_object(r->json, entry, known);
	choice->op = read_op(r, entry, "op");
	choice->rows = npujson_int_or(r->json, entry, "rows", 0, UINT32_MAX, 0);
	choice->channels = npujson_int_or(r->json, entry, "channels", 0, UINT32_MAX, 0);
	choice->columns = npujson_int_or(r->json, entry, "columns", 0, UINT32_MAX, 0);
	choice->depth = npujson_int_or(r->json, entry, "depth", 0, UINT32_MAX, 0);
	choice->order = npujson_choice(r->json, entry, "outer", false, order_names, 0);
}

static void read_choices(struct plan_json_reader *r, const json_t *object,
			 struct npuplan_tiling *tiling)
{
	const json_t *list = npujson_list(r->json, object, "ops", false);
	struct npujson_walk walk = npujson_walk(r->json, list, ".ops");
	json_t *entry;

	if (list)
		tiling->ops = npujson_alloc(r->json, json_array_size(list), sizeof(*tiling->ops));
	while ((entry = npujson_next(&walk)))
		read_choice(r, entry, &tiling->ops[walk.count - 1]);
	if (r->graph && r->graph->op_count)
		tiling->op_count = walk.count;
}

static void read_patches(struct plan_json_reader *r, const json_t *object,
			 struct npuplan_tiling *tiling)
{
	static const char *const known[] = { "first", "last", "rows", "columns", NULL };
	const json_t *list = npujson_list(r->json, object, "patches", false);
	struct npujson_walk walk = npujson_walk(r->json, list, ".patches");
	json_t *entry;

	if (list)
		tiling->patches =
			npujson_alloc(r->json, json_array_size(list), sizeof(*tiling->patches));
	while ((entry = npujson_next(&walk))) {
		struct npuplan_patches *patches = &tiling->patches[walk.count - 1];

		npujson_object(r->json, entry, known);
		patches->first = read_op(r, entry, "first");
		patches->last = read_op(r, entry, "last");
		patches->rows = npujson_int_or(r->json, entry, "rows", 0, UINT32_MAX, 0);
		patches->columns = npujson_int_or(r->json, entry, "columns", 0, UINT32_MAX, 0);
	}
	if (r->graph && r->graph->op_count)
		tiling->patch_count = walk.count;
}

/* Ids of operators; returns how many. */
static uint32_t read_readers(struct plan_json_reader *r, json_t *entry, int64_t **ids)
{
	const json_t *readers = npujson_list(r->json, entry, "readers", true);
	size_t size = json_array_size(readers);
	uint32_t count = 0;

	*ids = npujson_alloc(r->json, size, sizeof(**ids));
	for (size_t i = 0; i < size && !r->json->err; i++)
		(*ids)[count++] = npujson_value(r->json, "readers", json_array_get(readers, i),
						INT64_MIN, INT64_MAX);
	return count;
}

static void read_clone(struct plan_json_reader *r, json_t *entry, struct npuplan_clone *clone)
{
	static const char *const known[] = { "op", "readers", NULL };

	npujson_object(r->json, entry, known);
	clone->op = npujson_int(r->json, entry, "op", 0, INT64_MAX);
	clone->reader_count = read_readers(r, entry, &clone->readers);
}

static void read_clones(struct plan_json_reader *r, const json_t *object,
			struct npuplan_tiling *tiling)
{
	const json_t *list = npujson_list(r->json, object, "clones", false);
	struct npujson_walk walk = npujson_walk(r->json, list, ".clones");
	json_t *entry;

	if (list)
		tiling->clones =
			npujson_alloc(r->json, json_array_size(list), sizeof(*tiling->clones));
	while ((entry = npujson_next(&walk)))
		read_clone(r, entry, &tiling->clones[tiling->clone_count++]);
}

static void read_carry_copies(struct plan_json_reader *r, const json_t *object,
			      struct npuplan_tiling *tiling)
{
	static const char *const known[] = { "edge", "tensor", NULL };
	const json_t *list = npujson_list(r->json, object, "carry_copies", false);
	struct npujson_walk walk = npujson_walk(r->json, list, ".carry_copies");
	json_t *entry;

	if (list)
		tiling->carry_copies = npujson_alloc(r->json, json_array_size(list),
						     sizeof(*tiling->carry_copies));
	while ((entry = npujson_next(&walk))) {
		struct npuplan_carry_copy *copy = &tiling->carry_copies[tiling->carry_copy_count++];

		npujson_object(r->json, entry, known);
		copy->edge = (uint32_t)npujson_int(r->json, entry, "edge", 0, UINT32_MAX);
		copy->tensor = npujson_int(r->json, entry, "tensor", INT64_MIN, INT64_MAX);
	}
}

static void read_link_copies(struct plan_json_reader *r, const json_t *object,
			     struct npuplan_tiling *tiling)
{
	static const char *const known[] = { "tensor", "readers", NULL };
	const json_t *list = npujson_list(r->json, object, "link_copies", false);
	struct npujson_walk walk = npujson_walk(r->json, list, ".link_copies");
	json_t *entry;

	if (list)
		tiling->link_copies =
			npujson_alloc(r->json, json_array_size(list), sizeof(*tiling->link_copies));
	while ((entry = npujson_next(&walk))) {
		struct npuplan_link_copy *copy = &tiling->link_copies[tiling->link_copy_count++];

		npujson_object(r->json, entry, known);
		copy->tensor = npujson_int(r->json, entry, "tensor", INT64_MIN, INT64_MAX);
		copy->reader_count = read_readers(r, entry, &copy->readers);
	}
}

/* Neither bands nor rows nor onchip is above 0. */
static void fail_without_size(struct plan_json_reader *r, const json_t *object)
{
	if (json_object_get(object, "bands"))
		npujson_fail(r->json, "bands", "0 is not a number of bands");
	if (json_object_get(object, "rows"))
		npujson_fail(r->json, "rows", "0 is not a number of rows");
	if (json_object_get(object, "onchip"))
		npujson_fail(r->json, "onchip", "0 is not a number of bytes");
	npujson_fail(r->json, "bands", "missing, and neither rows nor onchip");
}

static void read_fields(struct plan_json_reader *r, json_t *object, struct npuplan_tiling *tiling)
{
	const char *const layouts[] = { npuplan_layout_name(0), npuplan_layout_name(1),
					npuplan_layout_name(2), NULL };

	npujson_object(r->json, object, fields);
	tiling->bands = npujson_int_or(r->json, object, "bands", 0, UINT32_MAX, 0);
	tiling->rows = npujson_int_or(r->json, object, "rows", 0, UINT32_MAX, 0);
	tiling->columns = npujson_int_or(r->json, object, "columns", 0, UINT32_MAX, 0);
	tiling->onchip = npujson_int_or(r->json, object, "onchip", 0, INT64_MAX, 0);
	if (!plan_json_has_tiling(tiling))
		fail_without_size(r, object);
	tiling->layout = npujson_choice(r->json, object, "layout", false, layouts, NPUPLAN_NHWC);
	tiling->double_buffer = npujson_bool_or(r->json, object, "double_buffer", false);
	tiling->partial_sums = npujson_bool_or(r->json, object, "partial_sums", false);
	if (!json_object_get(object, "parameters"))
		npujson_fail(r->json, "parameters", "missing");
	tiling->with_parameters = npujson_bool_or(r->json, object, "parameters", false);
	tiling->inputs = npujson_choice(r->json, object, "inputs", false, inputs_names, 0);
	tiling->concat = npujson_choice(r->json, object, "concat", false, concat_names, 0);
}

void plan_json_read_tiling(struct plan_json_reader *r, const json_t *root,
			   struct npuplan_tiling *tiling)
{
	json_t *object = json_object_get(root, "tiling");
	size_t outside;

	*tiling = (struct npuplan_tiling){ 0 };
	if (!object)
		return;
	outside = npujson_enter(r->json, "tiling");
	read_fields(r, object, tiling);
	read_choices(r, object, tiling);
	read_patches(r, object, tiling);
	read_clones(r, object, tiling);
	read_carry_copies(r, object, tiling);
	read_link_copies(r, object, tiling);
	npujson_leave(r->json, outside);
	if (r->json->err)
		npuplan_tiling_fini(tiling);
}

static bool same_ops(const struct npuplan_tiling *a, const struct npuplan_tiling *b)
{
	return a->op_count == b->op_count &&
	       (!a->op_count || !memcmp(a->ops, b->ops, a->op_count * sizeof(*a->ops)));
}

static bool same_patches(const struct npuplan_tiling *a, const struct npuplan_tiling *b)
{
	return a->patch_count == b->patch_count &&
	       (!a->patch_count ||
		!memcmp(a->patches, b->patches, a->patch_count * sizeof(*a->patches)));
}

/* First field but the layout in which two tilings differ, NULL if they don't. */
static const char *difference(struct npujson *json, const struct npuplan_tiling *a,
			      const struct npuplan_tiling *b)
{
	json_t *x = plan_json_tiling(a), *y = plan_json_tiling(b);
	const char *found = NULL;

	if (!x || !y)
		npujson_index(json, -ENOMEM);
	/* Behind the layout. */
	for (size_t i = 1; fields[i] && !found; i++) {
		const json_t *p = json_object_get(x, fields[i]), *q = json_object_get(y, fields[i]);

		/* Both are absent where they have the default. */
		if (p != q && !json_equal(p, q))
			found = fields[i];
		if ((!strcmp(fields[i], "ops") && !same_ops(a, b)) ||
		    (!strcmp(fields[i], "patches") && !same_patches(a, b)))
			found = fields[i];
	}
	json_decref(x);
	json_decref(y);
	return found;
}

void plan_json_check_tiling(struct plan_json_reader *r, const json_t *root)
{
	const struct npuplan_tiling *graph = &r->graph->tiling;
	struct npuplan_tiling plan;
	const char *field;

	plan_json_read_tiling(r, root, &plan);
	if (r->json->err)
		return;
	field = plan_json_has_tiling(&plan) && plan_json_has_tiling(graph) ?
			difference(r->json, &plan, graph) :
			NULL;
	/* This comes first: a layout alone asks for whole operators, and so differs in both. */
	if (field && plan.layout != graph->layout)
		npujson_fail(r->json, "tiling",
			     "the plan is for layout %s, the graph was tiled in layout %s",
			     npuplan_layout_name(plan.layout), npuplan_layout_name(graph->layout));
	else if (field && plan.bands && graph->bands &&
		 (!strcmp(field, "bands") || !strcmp(field, "parameters")))
		npujson_fail(r->json, "tiling",
			     "the plan is for %u bands %s parameters, the graph has %u %s",
			     plan.bands, plan.with_parameters ? "with" : "without", graph->bands,
			     graph->with_parameters ? "with" : "without");
	else if (field)
		npujson_fail(r->json, "tiling", "the graph was tiled with other %s", field);
	npuplan_tiling_fini(&plan);
}
