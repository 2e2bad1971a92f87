/* SPDX-License-Identifier: MIT */
/* Graph JSON -> struct npuplan_graph. The format is described in docs/formats.md. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"
#include "npuimport.h"

static const char *const graph_keys[] = { "name",   "source",  "dtype_bytes", "model_params",
					  "layout", "tensors", "ops",	      "blocks",
					  "edges",  NULL };
static const char *const tensor_keys[] = { "id",       "name",	      "shape",	  "bytes",
					   "kind",     "dtype_bytes", "align",	  "fixed_offset",
					   "external", "host",	      "alias_of", "alias_offset",
					   NULL };
static const char *const op_keys[] = { "id", "name", "type", "inputs", "outputs", "attrs", NULL };

const char *const graph_json_kinds[] = {
	[NPUMEM_TENSOR_INTERMEDIATE] = "activation",
	[NPUMEM_TENSOR_INPUT] = "input",
	[NPUMEM_TENSOR_OUTPUT] = "output",
	[NPUMEM_TENSOR_PARAMETER] = "parameter",
	[NPUMEM_TENSOR_STATE] = "state",
	[NPUMEM_TENSOR_STATE + 1] = NULL,
};

bool graph_json_doubt(struct graph_json_reader *r, enum npuimport_doubt kind, const char *what)
{
	struct npujson *json = r->json;
	bool refused = json->err;

	json->err = import_doubt(&r->doubts, json->err, kind, what, json->path, json->error);
	return refused;
}

/* A member that is none of @keys, nor "x_...": refused, which its caller may take back. */
static bool check_key(struct graph_json_reader *r, const char *key, const char *const *keys)
{
	bool known = npujson_is_known(key, keys, "x_");

	if (!known)
		npujson_fail(
			r->json, NULL,
			"\"%.60s\" is not known here (names that begin with \"x_\" are ignored)",
			key);
	return known;
}

void graph_json_only_keys(struct graph_json_reader *r, json_t *value, const char *const *keys)
{
	const char *key;
	json_t *member;

	if (!json_is_object(value))
		npujson_fail(r->json, NULL, "must be an object");
	json_object_foreach(value, key, member)
		check_key(r, key, keys);
}

bool graph_json_known_keys(struct graph_json_reader *r, json_t *object, const char *const *keys,
			   enum npuimport_doubt kind)
{
	bool unknown = false;
	const char *key;
	json_t *value;

	if (!json_is_object(object))
		npujson_fail(r->json, NULL, "must be an object");
	json_object_foreach(object, key, value)
		if (!r->json->err && !check_key(r, key, keys))
			unknown |= graph_json_doubt(r, kind, key);
	return unknown;
}

uint32_t graph_json_tensor_of_id(const struct graph_json_reader *r, int64_t id)
{
	return npujson_find(r->ids, r->id_count, id, 0);
}

void graph_json_sort_ids(struct graph_json_reader *r, struct npujson_id *ids, uint32_t count,
			 const char *what)
{
	const struct npujson_id *twice = npujson_sort_ids(ids, count);

	if (twice)
		npujson_fail(r->json, what, "id %" PRId64 " is given twice", twice->id);
}

/* A dimension without elements: no tensor has that and bytes, too. */
static bool has_empty_dimension(json_t *shape)
{
	json_t *item;
	size_t i;

	json_array_foreach(shape, i, item) {
		if (json_is_integer(item) && !json_integer_value(item))
			return true;
	}
	return false;
}

/* Dimensions that are not numbers leave the tensor its bytes alone. */
static void read_dimensions(struct graph_json_reader *r, json_t *object,
			    struct npuplan_tensor *tensor)
{
	tensor->dim_count = (uint32_t)npujson_ints(r->json, object, "shape", true, 0,
						   NPUPLAN_MAX_DIMS, 1, NPUIMPORT_MAX_DIM,
						   tensor->shape);
	if (!r->json->err || has_empty_dimension(json_object_get(object, "shape")))
		return;
	memset(tensor->shape, 0, sizeof(tensor->shape));
	graph_json_doubt(r, NPUIMPORT_DOUBT_SHAPE, "shape");
}

/* Bytes of an element that bytes and shape make; 0: less than one. -EINVAL: none. */
static int implied_elem_size(uint64_t bytes, uint64_t elements, uint32_t *elem_size)
{
	for (uint32_t size = 1; size <= 16; size *= 2) {
		if (bytes / size == elements && bytes % size == 0) {
			*elem_size = size;
			return 0;
		}
	}
	for (uint32_t bits = 1; bits <= 4; bits *= 2) {
		if (bytes == elements / (8 / bits) + !!(elements % (8 / bits))) {
			*elem_size = 0;
			return 0;
		}
	}
	return -EINVAL;
}

/* @own: the element size is this tensor's own, not that of the file. */
static void read_shape(struct graph_json_reader *r, json_t *object, int64_t dtype_bytes, bool own,
		       struct npuplan_tensor *tensor)
{
	int64_t elements = 1, bytes;

	read_dimensions(r, object, tensor);
	tensor->elem_size = (uint32_t)dtype_bytes;
	if (r->json->err || !dtype_bytes || !tensor->dim_count)
		return;
	for (uint32_t i = 0; i < tensor->dim_count; i++) {
		if (__builtin_mul_overflow(elements, tensor->shape[i], &elements))
			elements = 0;
	}
	if (!__builtin_mul_overflow(elements, dtype_bytes, &bytes) &&
	    bytes == (int64_t)tensor->size)
		return;
	npujson_fail(r->json, "bytes",
		     "is %" PRIu64 ", but shape times dtype_bytes is %" PRId64 " for %s",
		     tensor->size, bytes, import_tensor_text(tensor).s);
	if (!own && elements &&
	    !implied_elem_size(tensor->size, (uint64_t)elements, &tensor->elem_size))
		graph_json_doubt(r, NPUIMPORT_DOUBT_ELEMENT, "dtype_bytes");
}

static void read_placing(struct graph_json_reader *r, json_t *object, struct npuplan_tensor *tensor)
{
	int64_t align, fixed, alias, alias_offset;
	bool external, host;

	align = npujson_int_or(r->json, object, "align", 1, 65536,
			       graph_json_align(tensor->elem_size));
	if (align & (align - 1))
		npujson_fail(r->json, "align", "must be a power of two");
	fixed = npujson_int_or(r->json, object, "fixed_offset", 0, NPUIMPORT_MAX_BYTES, -1);
	external = npujson_bool_or(r->json, object, "external", false);
	host = npujson_bool_or(r->json, object, "host", false);
	alias = npujson_int_or(r->json, object, "alias_of", 0, INT64_MAX, -1);
	alias_offset = npujson_int_or(r->json, object, "alias_offset", 0, NPUIMPORT_MAX_BYTES, -1);
	if ((fixed >= 0) + external + (alias >= 0) > 1)
		npujson_fail(r->json, NULL,
			     "only one of \"fixed_offset\", \"external\" and \"alias_of\" "
			     "may be given");
	if (alias_offset >= 0 && alias < 0)
		npujson_fail(r->json, "alias_offset", "needs \"alias_of\" beside it");
	if (host && alias >= 0)
		npujson_fail(r->json, "host", "is for the tensor that \"alias_of\" leads to");
	if (fixed >= 0 && fixed % align)
		npujson_fail(r->json, "fixed_offset",
			     "must be a multiple of the alignment, %" PRId64, align);
	if (host && tensor->kind != NPUMEM_TENSOR_INPUT && tensor->kind != NPUMEM_TENSOR_PARAMETER)
		npujson_fail(r->json, "host", "is for inputs and parameters only");
	tensor->align = (uint32_t)align;
	tensor->fixed_offset = fixed >= 0 ? (uint64_t)fixed : 0;
	tensor->alias_offset = alias_offset >= 0 ? (uint64_t)alias_offset : 0;
	tensor->flags = (fixed >= 0 ? NPUMEM_TENSOR_FLAG_FIXED : 0) |
			(external ? NPUMEM_TENSOR_FLAG_EXTERNAL : 0) |
			(alias >= 0 ? NPUMEM_TENSOR_FLAG_ALIAS : 0) |
			(host ? NPUMEM_TENSOR_FLAG_HOST : 0);
}

/* People's name of a tensor or operator; "" if there is none that can be read. */
static const char *read_name(struct graph_json_reader *r, json_t *object)
{
	const char *name = "";

	if (!r->json->err) {
		name = npujson_text(r->json, object, "name", NULL);
		graph_json_doubt(r, NPUIMPORT_DOUBT_VALUE, "name");
	}
	return name;
}

/* @dtype_bytes: of the file's elements, where the tensor says nothing else. */
static void read_tensor(struct graph_json_reader *r, json_t *object, int64_t dtype_bytes,
			struct npuplan_tensor *tensor)
{
	graph_json_known_keys(r, object, tensor_keys, NPUIMPORT_DOUBT_FIELD);
	tensor->id = npujson_int(r->json, object, "id", 0, INT64_MAX);
	/* Copied by npuplan_graph_add_tensor(). */
	tensor->name = npujson_copy(r->json, read_name(r, object));
	tensor->alias_of = NPUMEM_NONE;
	tensor->kind = npujson_choice(r->json, object, "kind", true, graph_json_kinds, 0);
	tensor->size = (uint64_t)npujson_int(r->json, object, "bytes", 1, NPUIMPORT_MAX_BYTES);
	if (r->json->err)
		return;
	dtype_bytes = npujson_int_or(r->json, object, "dtype_bytes", 1, 65536, dtype_bytes);
	if (graph_json_doubt(r, NPUIMPORT_DOUBT_VALUE, "dtype_bytes"))
		dtype_bytes = 0;
	if (r->json->err)
		return;
	read_shape(r, object, dtype_bytes, json_object_get(object, "dtype_bytes"), tensor);
	read_placing(r, object, tensor);
}

static void read_tensors(struct graph_json_reader *r, json_t *list, int64_t dtype_bytes)
{
	struct npujson_walk walk = npujson_walk(r->json, list, ".tensors");
	size_t count = json_array_size(list);
	json_t *object;

	if (count >= NPUMEM_NONE)
		npujson_fail(r->json, "tensors", "has too many entries");
	r->ids = npujson_alloc(r->json, count, sizeof(*r->ids));
	r->input_of = npujson_alloc(r->json, count, sizeof(*r->input_of));
	while ((object = npujson_next(&walk))) {
		struct npuplan_tensor tensor = { 0 };

		read_tensor(r, object, dtype_bytes, &tensor);
		if (!r->json->err) {
			npujson_index(r->json, npuplan_graph_add_tensor(r->graph, &tensor));
			r->ids[r->id_count] =
				(struct npujson_id){ tensor.id, .index = r->id_count };
			r->input_of[r->id_count++] = NPUMEM_NONE;
		}
		free(tensor.name);
	}
	graph_json_sort_ids(r, r->ids, r->id_count, "tensors");
	graph_json_aliases(r, list);
}

uint32_t *graph_json_get_tensors(struct graph_json_reader *r, json_t *object, const char *key,
				 uint32_t *count)
{
	json_t *list = npujson_list(r->json, object, key, true), *item;
	uint32_t *indices;
	size_t i;

	*count = 0;
	if (json_array_size(list) > NPUIMPORT_MAX_REFERENCES)
		npujson_fail(r->json, key, "has more than %u entries", NPUIMPORT_MAX_REFERENCES);
	if (r->json->err)
		return NULL;
	indices = npujson_alloc(r->json, json_array_size(list), sizeof(*indices));
	json_array_foreach(list, i, item) {
		uint32_t tensor = graph_json_tensor_of_id(r, json_integer_value(item));

		if (r->json->err)
			break;
		if (!json_is_integer(item) || tensor == NPUMEM_NONE) {
			npujson_enter(r->json, ".%s[%zu]", key, i);
			if (!json_is_integer(item))
				npujson_fail(r->json, NULL, "must be the id of a tensor");
			npujson_fail(r->json, NULL, "no tensor has id %" JSON_INTEGER_FORMAT,
				     json_integer_value(item));
			break;
		}
		indices[(*count)++] = tensor;
	}
	return indices;
}

static void read_op(struct graph_json_reader *r, json_t *object, struct npuplan_op *op)
{
	const char *type;
	bool unknown;

	unknown = graph_json_known_keys(r, object, op_keys, NPUIMPORT_DOUBT_ATTRIBUTE);
	op->id = npujson_int(r->json, object, "id", 0, INT64_MAX);
	op->name = npujson_copy(r->json, read_name(r, object));
	type = npujson_text(r->json, object, "type", NULL);
	if (!*type)
		npujson_fail(r->json, "type", "must not be empty");
	op->type = npujson_copy(r->json, type);
	op->inputs = graph_json_get_tensors(r, object, "inputs", &op->input_count);
	for (uint32_t i = 0; i < op->input_count; i++)
		r->input_of[op->inputs[i]] = r->graph->op_count;
	op->outputs = graph_json_get_tensors(r, object, "outputs", &op->output_count);
	if (!op->output_count)
		npujson_fail(r->json, "outputs", "must not be empty");
	if (r->json->err)
		return;
	graph_json_attrs(r, object, op);
	/* Whatever it is may say what the operator reads. */
	op->attrs.whole |= unknown || r->whole;
	if (!r->json->err && npuplan_is_concat(op))
		r->json->err = import_check_cat(r->graph, op, r->json->error);
}

void graph_json_op(struct graph_json_reader *r, json_t *object, uint32_t block)
{
	struct npuplan_op op = { .block = block };

	read_op(r, object, &op);
	if (!r->json->err)
		npujson_index(r->json, npuplan_graph_add_op(r->graph, &op));
	free(op.name);
	free(op.type);
	free(op.inputs);
	free(op.outputs);
}

static void read_layout(struct graph_json_reader *r, json_t *root)
{
	const char *layout = npujson_text(r->json, root, "layout", "NCHW");

	if (strcmp(layout, "NCHW") != 0 && strcmp(layout, "NHWC") != 0)
		npujson_fail(r->json, "layout", "\"%.20s\" is neither NCHW nor NHWC", layout);
	r->graph->source_layout = strcmp(layout, "NHWC") == 0 ? NPUPLAN_NHWC : NPUPLAN_NCHW;
	/* What accelerators compute in; the caller may ask for another. */
	r->graph->layout = NPUPLAN_NHWC;
	r->whole = graph_json_doubt(r, NPUIMPORT_DOUBT_LAYOUT, "layout");
}

/* Fields that are there for people are checked; the size of elements is returned. */
static int64_t read_head(struct graph_json_reader *r, json_t *root)
{
	int64_t dtype_bytes;

	npujson_text(r->json, root, "source", "");
	graph_json_doubt(r, NPUIMPORT_DOUBT_VALUE, "source");
	dtype_bytes = npujson_int_or(r->json, root, "dtype_bytes", 1, 65536, 0);
	if (graph_json_doubt(r, NPUIMPORT_DOUBT_VALUE, "dtype_bytes"))
		dtype_bytes = 0;
	npujson_int_or(r->json, root, "model_params", 0, INT64_MAX, 0);
	graph_json_doubt(r, NPUIMPORT_DOUBT_VALUE, "model_params");
	return dtype_bytes;
}

static void read_graph(struct graph_json_reader *r, json_t *root)
{
	json_t *tensors, *ops;
	const char *name;
	int64_t dtype_bytes;

	graph_json_known_keys(r, root, graph_keys, NPUIMPORT_DOUBT_FIELD);
	name = read_name(r, root);
	if (r->json->err)
		return;
	dtype_bytes = read_head(r, root);
	tensors = npujson_list(r->json, root, "tensors", true);
	ops = npujson_list(r->json, root, "ops", true);
	if (r->json->err)
		return;
	r->graph = npuplan_graph_new(name);
	if (!r->graph) {
		npujson_index(r->json, -ENOMEM);
		return;
	}
	read_layout(r, root);
	if (!r->json->err)
		read_tensors(r, tensors, dtype_bytes);
	if (!r->json->err)
		graph_json_ops(r, root, ops);
	if (!r->json->err)
		r->json->err = import_check_graph(r->graph, r->json->error);
}

int npuimport_graph_json_sized(const char *text, size_t size,
			       const struct npuimport_options *options, size_t options_size,
			       struct npuplan_graph **out, struct npuimport_info *info,
			       struct npuplan_error *error)
{
	struct npuplan_error own;
	struct npujson json = { .error = error ? error : &own, .path = "$" };
	struct graph_json_reader r = { .json = &json };
	json_error_t where;
	json_t *root;
	int err = import_doubts_of(&r.doubts, options, options_size, error);

	*out = NULL;
	if (err)
		return err;
	root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
	if (!root)
		return import_fail(error, -EBADMSG, "line %d, column %d: %s", where.line,
				   where.column, where.text);
	read_graph(&r, root);
	json_decref(root);
	free(r.ids);
	free(r.input_of);
	if (json.err) {
		npuplan_graph_free(r.graph);
		return json.err;
	}
	import_info(info, NPUIMPORT_GRAPH_JSON, r.graph);
	*out = r.graph;
	return 0;
}
