// SPDX-License-Identifier: MIT
/* "tiling" of plan JSON: how the graph was cut, so that a reader can do the same. */
#include <stdlib.h>
#include <string.h>

#include "plan_json.h"

static const char *const order_names[] = { "rows", "channels" };
static const char *const inputs_names[] = { "given", "host", "resident" };

/* What is 0, false or as it always was is left out. */
static void put_if(json_t *object, const char *field, uint64_t value)
{
	if (value)
		json_object_set_new(object, field, json_integer((json_int_t)value));
}

/* Operators that run again, in the order in which they are added. */
static json_t *clones_json(const struct npuplan_tiling *tiling)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < tiling->clone_count; i++) {
		const struct npuplan_clone *clone = &tiling->clones[i];
		json_t *readers = json_array();

		for (uint32_t k = 0; k < clone->reader_count; k++)
			json_array_append_new(readers, json_integer(clone->readers[k]));
		json_array_append_new(list, json_pack("{sIso}", "op", (json_int_t)clone->op,
						      "readers", readers));
	}
	return list;
}

json_t *plan_json_tiling(const struct npuplan_graph *graph)
{
	const struct npuplan_tiling *tiling = &graph->tiling;
	json_t *object = json_object();

	put_if(object, "bands", tiling->bands);
	put_if(object, "rows", tiling->rows);
	put_if(object, "onchip", tiling->onchip);
	if (tiling->layout != NPUPLAN_NHWC)
		json_object_set_new(object, "layout",
				    json_string(npuplan_layout_name(tiling->layout)));
	if (tiling->double_buffer)
		json_object_set_new(object, "double_buffer", json_true());
	json_object_set_new(object, "parameters", json_boolean(tiling->with_parameters));
	if (tiling->inputs)
		json_object_set_new(object, "inputs", json_string(inputs_names[tiling->inputs]));
	if (tiling->clone_count)
		json_object_set_new(object, "clones", clones_json(tiling));
	return object;
}

json_t *plan_json_choice(const struct npuplan_graph *graph,
			 const struct npuplan_tile_choice *choice)
{
	json_t *object = json_pack("{sI}", "op", (json_int_t)graph->ops[choice->op].id);

	put_if(object, "rows", choice->rows);
	put_if(object, "channels", choice->channels);
	if (choice->order)
		json_object_set_new(object, "outer", json_string(order_names[choice->order]));
	return object;
}

/* A name by its number; absent it keeps its value. */
static void get_name(struct plan_json_reader *r, const json_t *object, const char *field,
		     const char *(*name)(unsigned int), const char *expected, uint32_t *out)
{
	const json_t *value = json_object_get(object, field);
	const char *text = json_string_value(value);

	for (unsigned int i = 0; text && name(i); i++)
		if (!strcmp(text, name(i))) {
			*out = i;
			return;
		}
	if (value)
		npujson_fail(r->json, field, "must be %s", expected);
}

static const char *order_name(unsigned int i)
{
	return i < 2 ? order_names[i] : NULL;
}

static const char *inputs_name(unsigned int i)
{
	return i < 3 ? inputs_names[i] : NULL;
}

static uint32_t find_op(const struct npuplan_graph *graph, int64_t id)
{
	for (uint32_t i = 0; i < graph->op_count; i++)
		if (graph->ops[i].id == id)
			return i;
	return NPUMEM_NONE;
}

static void read_choice(struct plan_json_reader *r, json_t *entry,
			struct npuplan_tile_choice *choice)
{
	static const char *const known[] = { "op", "rows", "channels", "outer", NULL };
	int64_t id;

	npujson_object(r->json, entry, known);
	id = npujson_int(r->json, entry, "op", 0, INT64_MAX);
	choice->rows = npujson_int_or(r->json, entry, "rows", 0, UINT32_MAX, 0);
	choice->channels = npujson_int_or(r->json, entry, "channels", 0, UINT32_MAX, 0);
	get_name(r, entry, "outer", order_name, "rows or channels", &choice->order);
	if (!r->graph || !r->graph->op_count)
		return;
	choice->op = find_op(r->graph, id);
	if (choice->op == NPUMEM_NONE)
		npujson_fail(r->json, "op", "graph %s has no operator with id %lld", r->graph->name,
			     (long long)id);
}

static void read_choices(struct plan_json_reader *r, const json_t *object,
			 struct npuplan_tiling *tiling)
{
	const json_t *list = npujson_list(r->json, object, "ops", false);
	size_t count = json_array_size(list);

	if (list)
		tiling->ops = npujson_alloc(r->json, count, sizeof(*tiling->ops));
	for (size_t i = 0; i < count && !r->json->err; i++) {
		size_t outside = npujson_enter(r->json, ".ops[%zu]", i);

		read_choice(r, json_array_get(list, i), &tiling->ops[i]);
		npujson_leave(r->json, outside);
	}
	if (r->graph && r->graph->op_count)
		tiling->op_count = count;
}

static void read_clone(struct plan_json_reader *r, json_t *entry, struct npuplan_clone *clone)
{
	static const char *const known[] = { "op", "readers", NULL };
	const json_t *readers;
	size_t count;

	npujson_object(r->json, entry, known);
	clone->op = npujson_int(r->json, entry, "op", 0, INT64_MAX);
	readers = npujson_list(r->json, entry, "readers", true);
	count = json_array_size(readers);
	clone->readers = npujson_alloc(r->json, count, sizeof(*clone->readers));
	for (size_t i = 0; i < count && !r->json->err; i++)
		clone->readers[clone->reader_count++] = npujson_value(
			r->json, "readers", json_array_get(readers, i), INT64_MIN, INT64_MAX);
}

static void read_clones(struct plan_json_reader *r, const json_t *object,
			struct npuplan_tiling *tiling)
{
	const json_t *list = npujson_list(r->json, object, "clones", false);
	size_t count = json_array_size(list);

	if (list)
		tiling->clones = npujson_alloc(r->json, count, sizeof(*tiling->clones));
	for (size_t i = 0; i < count && !r->json->err; i++) {
		size_t outside = npujson_enter(r->json, ".clones[%zu]", i);

		tiling->clone_count++;
		read_clone(r, json_array_get(list, i), &tiling->clones[i]);
		npujson_leave(r->json, outside);
	}
}

static bool is_known(const struct npuplan_tiling *tiling)
{
	return tiling->bands || tiling->rows || tiling->onchip;
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
	static const char *const known[] = { "bands",	      "rows",	    "onchip", "layout",
					     "double_buffer", "parameters", "inputs", "ops",
					     "clones",	      NULL };
	uint32_t layout = tiling->layout;

	npujson_object(r->json, object, known);
	tiling->bands = npujson_int_or(r->json, object, "bands", 0, UINT32_MAX, 0);
	tiling->rows = npujson_int_or(r->json, object, "rows", 0, UINT32_MAX, 0);
	tiling->onchip = npujson_int_or(r->json, object, "onchip", 0, INT64_MAX, 0);
	if (!is_known(tiling))
		fail_without_size(r, object);
	get_name(r, object, "layout", npuplan_layout_name, "nhwc, nchw or nc32hw", &layout);
	tiling->layout = layout;
	tiling->double_buffer = npujson_bool_or(r->json, object, "double_buffer", false);
	if (!json_object_get(object, "parameters"))
		npujson_fail(r->json, "parameters", "missing");
	tiling->with_parameters = npujson_bool_or(r->json, object, "parameters", false);
	get_name(r, object, "inputs", inputs_name, "given, host or resident", &tiling->inputs);
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
	read_clones(r, object, tiling);
	npujson_leave(r->json, outside);
	if (r->json->err)
		npuplan_tiling_fini(tiling);
}

static bool same_clones(const struct npuplan_tiling *a, const struct npuplan_tiling *b)
{
	if (a->clone_count != b->clone_count)
		return false;
	for (uint32_t i = 0; i < a->clone_count; i++) {
		const struct npuplan_clone *x = &a->clones[i], *y = &b->clones[i];

		if (x->op != y->op || x->reader_count != y->reader_count)
			return false;
		for (uint32_t k = 0; k < x->reader_count; k++)
			if (x->readers[k] != y->readers[k])
				return false;
	}
	return true;
}

/* First field in which two tilings differ, NULL if they don't. */
static const char *difference(const struct npuplan_tiling *a, const struct npuplan_tiling *b)
{
	if (a->bands != b->bands)
		return "bands";
	if (a->rows != b->rows)
		return "rows";
	if (a->onchip != b->onchip)
		return "onchip";
	if (a->double_buffer != b->double_buffer)
		return "double_buffer";
	if (a->with_parameters != b->with_parameters)
		return "parameters";
	if (a->inputs != b->inputs)
		return "inputs";
	if (a->op_count != b->op_count ||
	    (a->op_count && memcmp(a->ops, b->ops, a->op_count * sizeof(*a->ops))))
		return "ops";
	if (!same_clones(a, b))
		return "clones";
	return NULL;
}

void plan_json_check_tiling(struct plan_json_reader *r, const json_t *root)
{
	const struct npuplan_tiling *graph = &r->graph->tiling;
	struct npuplan_tiling plan;
	const char *field;

	plan_json_read_tiling(r, root, &plan);
	if (r->json->err)
		return;
	field = is_known(&plan) && is_known(graph) ? difference(&plan, graph) : NULL;
	/* First: who asks for a layout alone has asked for whole operators, and so differs in both. */
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
