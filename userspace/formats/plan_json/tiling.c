// SPDX-License-Identifier: MIT
/* "tiling" of plan JSON: how the graph was cut, so that a reader can do the same. */
#include <stdlib.h>
#include <string.h>

#include "get.h"

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

/* One of @names by its number; absent it keeps its value. */
static int get_name(struct plan_json_reader *r, const json_t *object, const char *field,
		    const char *(*name)(unsigned int), const char *expected, uint32_t *out)
{
	const json_t *value = json_object_get(object, field);
	const char *text = json_string_value(value);

	if (!value)
		return 0;
	for (unsigned int i = 0; text && name(i); i++)
		if (!strcmp(text, name(i))) {
			*out = i;
			return 0;
		}
	return plan_json_fail(r, field, "expected %s", expected);
}

static const char *order_name(unsigned int i)
{
	return i < 2 ? order_names[i] : NULL;
}

static const char *inputs_name(unsigned int i)
{
	return i < 3 ? inputs_names[i] : NULL;
}

static int get_flag(struct plan_json_reader *r, const json_t *object, const char *field,
		    bool required, bool *out)
{
	const json_t *flag = json_object_get(object, field);

	if (!flag && !required)
		return 0;
	if (!json_is_boolean(flag))
		return plan_json_fail(r, field, flag ? "expected true or false" : "missing");
	*out = json_is_true(flag);
	return 0;
}

static uint32_t find_op(const struct npuplan_graph *graph, int64_t id)
{
	for (uint32_t i = 0; i < graph->op_count; i++)
		if (graph->ops[i].id == id)
			return i;
	return NPUMEM_NONE;
}

static int read_choice(struct plan_json_reader *r, const json_t *entry,
		       struct npuplan_tile_choice *choice)
{
	static const char *const known[] = { "op", "rows", "channels", "outer", NULL };
	uint64_t id = 0, rows = 0, channels = 0;
	int err;

	err = plan_json_fields(r, entry, known);
	if (!err)
		err = plan_json_get(r, entry, "op", true, INT64_MAX, &id);
	if (!err)
		err = plan_json_get(r, entry, "rows", false, UINT32_MAX, &rows);
	if (!err)
		err = plan_json_get(r, entry, "channels", false, UINT32_MAX, &channels);
	if (!err)
		err = get_name(r, entry, "outer", order_name, "rows or channels", &choice->order);
	if (err || !r->graph || !r->graph->op_count)
		return err;
	choice->op = find_op(r->graph, (int64_t)id);
	choice->rows = rows;
	choice->channels = channels;
	if (choice->op == NPUMEM_NONE)
		return plan_json_fail(r, "op", "graph %s has no operator with id %llu",
				      r->graph->name, (unsigned long long)id);
	return 0;
}

static int read_choices(struct plan_json_reader *r, const json_t *object,
			struct npuplan_tiling *tiling)
{
	const json_t *list;
	int err = plan_json_array(r, object, "ops", false, &list);
	size_t count = json_array_size(list);

	if (err || !list)
		return err;
	tiling->ops = calloc(count + 1, sizeof(*tiling->ops));
	if (!tiling->ops)
		return npuplan_fail(r->error, -ENOMEM, "out of memory");
	for (size_t i = 0; i < count && !err; i++) {
		snprintf(r->path, sizeof(r->path), "tiling.ops[%zu]", i);
		err = read_choice(r, json_array_get(list, i), &tiling->ops[i]);
	}
	if (r->graph && r->graph->op_count)
		tiling->op_count = count;
	return err;
}

static int read_clone(struct plan_json_reader *r, const json_t *entry, struct npuplan_clone *clone)
{
	static const char *const known[] = { "op", "readers", NULL };
	const json_t *readers;
	uint64_t id = 0;
	int err;

	err = plan_json_fields(r, entry, known);
	if (!err)
		err = plan_json_get(r, entry, "op", true, INT64_MAX, &id);
	if (!err)
		err = plan_json_array(r, entry, "readers", true, &readers);
	if (err)
		return err;
	clone->op = (int64_t)id;
	clone->readers = calloc(json_array_size(readers) + 1, sizeof(*clone->readers));
	if (!clone->readers)
		return npuplan_fail(r->error, -ENOMEM, "out of memory");
	for (size_t i = 0; i < json_array_size(readers); i++) {
		const json_t *reader = json_array_get(readers, i);

		if (!json_is_integer(reader))
			return plan_json_fail(r, "readers", "expected ids of operators");
		clone->readers[clone->reader_count++] = json_integer_value(reader);
	}
	return 0;
}

static int read_clones(struct plan_json_reader *r, const json_t *object,
		       struct npuplan_tiling *tiling)
{
	const json_t *list;
	int err = plan_json_array(r, object, "clones", false, &list);

	if (err || !list)
		return err;
	tiling->clones = calloc(json_array_size(list) + 1, sizeof(*tiling->clones));
	if (!tiling->clones)
		return npuplan_fail(r->error, -ENOMEM, "out of memory");
	for (size_t i = 0; i < json_array_size(list) && !err; i++) {
		snprintf(r->path, sizeof(r->path), "tiling.clones[%zu]", i);
		tiling->clone_count++;
		err = read_clone(r, json_array_get(list, i), &tiling->clones[i]);
	}
	return err;
}

/* Neither bands nor rows nor onchip is above 0. */
static int fail_without_size(struct plan_json_reader *r, const json_t *object)
{
	if (json_object_get(object, "bands"))
		return plan_json_fail(r, "bands", "0 is not a number of bands");
	if (json_object_get(object, "rows"))
		return plan_json_fail(r, "rows", "0 is not a number of rows");
	if (json_object_get(object, "onchip"))
		return plan_json_fail(r, "onchip", "0 is not a number of bytes");
	return plan_json_fail(r, "bands", "missing, and neither rows nor onchip");
}

static int read_fields(struct plan_json_reader *r, const json_t *object,
		       struct npuplan_tiling *tiling)
{
	static const char *const known[] = { "bands",	      "rows",	    "onchip", "layout",
					     "double_buffer", "parameters", "inputs", "ops",
					     "clones",	      NULL };
	uint64_t bands = 0, rows = 0;
	uint32_t layout = tiling->layout;
	int err;

	err = plan_json_fields(r, object, known);
	if (!err)
		err = plan_json_get(r, object, "bands", false, UINT32_MAX, &bands);
	if (!err)
		err = plan_json_get(r, object, "rows", false, UINT32_MAX, &rows);
	if (!err)
		err = plan_json_get(r, object, "onchip", false, INT64_MAX, &tiling->onchip);
	if (!err && !bands && !rows && !tiling->onchip)
		err = fail_without_size(r, object);
	if (!err)
		err = get_name(r, object, "layout", npuplan_layout_name, "nhwc, nchw or nc32hw",
			       &layout);
	if (!err)
		err = get_flag(r, object, "double_buffer", false, &tiling->double_buffer);
	if (!err)
		err = get_flag(r, object, "parameters", true, &tiling->with_parameters);
	if (!err)
		err = get_name(r, object, "inputs", inputs_name, "given, host or resident",
			       &tiling->inputs);
	tiling->bands = bands;
	tiling->rows = rows;
	tiling->layout = layout;
	return err;
}

int plan_json_read_tiling(struct plan_json_reader *r, const json_t *root,
			  struct npuplan_tiling *tiling)
{
	const json_t *object = json_object_get(root, "tiling");
	int err;

	*tiling = (struct npuplan_tiling){ 0 };
	if (!object)
		return 0;
	snprintf(r->path, sizeof(r->path), "tiling");
	err = read_fields(r, object, tiling);
	if (!err)
		err = read_choices(r, object, tiling);
	snprintf(r->path, sizeof(r->path), "tiling");
	if (!err)
		err = read_clones(r, object, tiling);
	r->path[0] = '\0';
	if (err)
		npuplan_tiling_fini(tiling);
	return err;
}

static bool is_known(const struct npuplan_tiling *tiling)
{
	return tiling->bands || tiling->rows || tiling->onchip;
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

int plan_json_check_tiling(struct plan_json_reader *r, const json_t *root)
{
	const struct npuplan_tiling *graph = &r->graph->tiling;
	struct npuplan_tiling plan;
	const char *field;
	int err = plan_json_read_tiling(r, root, &plan);

	if (err)
		return err;
	field = is_known(&plan) && is_known(graph) ? difference(&plan, graph) : NULL;
	/* First: who asks for a layout alone has asked for whole operators, and so differs in both. */
	if (field && plan.layout != graph->layout)
		err = plan_json_fail(r, "tiling",
				     "the plan is for layout %s, the graph was tiled in layout %s",
				     npuplan_layout_name(plan.layout),
				     npuplan_layout_name(graph->layout));
	else if (field && plan.bands && graph->bands &&
		 (!strcmp(field, "bands") || !strcmp(field, "parameters")))
		err = plan_json_fail(r, "tiling",
				     "the plan is for %u bands %s parameters, the graph has %u %s",
				     plan.bands, plan.with_parameters ? "with" : "without",
				     graph->bands, graph->with_parameters ? "with" : "without");
	else if (field)
		err = plan_json_fail(r, "tiling", "the graph was tiled with other %s", field);
	npuplan_tiling_fini(&plan);
	return err;
}
