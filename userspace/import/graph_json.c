/* SPDX-License-Identifier: MIT */
/* Graph JSON -> struct npuplan_graph. The format is described in docs/formats.md. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph_json.h"
#include "import.h"

static const char *const graph_keys[] = { "name",   "source",  "dtype_bytes", "model_params",
					  "layout", "tensors", "ops",	      "blocks",
					  "edges",  NULL };
static const char *const tensor_keys[] = { "id",       "name",	      "shape",	  "bytes",
					   "kind",     "dtype_bytes", "align",	  "fixed_offset",
					   "external", "host",	      "alias_of", "alias_offset",
					   NULL };
static const char *const op_keys[] = { "id", "name", "type", "inputs", "outputs", "attrs", NULL };

static const struct {
	const char *name;
	uint32_t kind;
} kinds[] = {
	{ "activation", NPUMEM_TENSOR_INTERMEDIATE },
	{ "input", NPUMEM_TENSOR_INPUT },
	{ "output", NPUMEM_TENSOR_OUTPUT },
	{ "parameter", NPUMEM_TENSOR_PARAMETER },
	{ "state", NPUMEM_TENSOR_STATE },
};

static int compare_ids(const void *a, const void *b)
{
	const struct json_id *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

uint32_t json_tensor_of_id(const struct graph_json_reader *reader, int64_t id)
{
	struct json_id key = { .id = id };
	const struct json_id *found =
		bsearch(&key, reader->ids, reader->id_count, sizeof(key), compare_ids);

	return found ? found->index : NPUMEM_NONE;
}

int json_sort_ids(struct graph_json_reader *reader, struct json_id *ids, uint32_t count,
		  const char *what)
{
	qsort(ids, count, sizeof(*ids), compare_ids);
	for (uint32_t i = 1; i < count; i++) {
		if (ids[i].id == ids[i - 1].id)
			return json_fail(reader, json_path("$.%s", what).s, NULL,
					 "id %" PRId64 " is given twice", ids[i].id);
	}
	return 0;
}

static int read_shape(struct graph_json_reader *reader, json_t *object, const char *path,
		      int64_t dtype_bytes, struct npuplan_tensor *tensor)
{
	int64_t shape[NPUPLAN_MAX_DIMS];
	int64_t bytes = 1;
	size_t count;
	int err;

	if (!json_object_get(object, "shape"))
		return json_fail(reader, path, NULL, "\"shape\" is missing");
	err = json_get_ints(reader, object, path, "shape", 0, NPUPLAN_MAX_DIMS, 1,
			    NPUIMPORT_MAX_DIM, shape, &count);
	if (err)
		return err;
	tensor->dim_count = (uint32_t)count;
	memcpy(tensor->shape, shape, count * sizeof(*shape));
	tensor->elem_size = (uint32_t)dtype_bytes;
	if (!dtype_bytes || !count)
		return 0;
	for (size_t i = 0; i < count; i++) {
		if (__builtin_mul_overflow(bytes, shape[i], &bytes))
			bytes = 0;
	}
	if (__builtin_mul_overflow(bytes, dtype_bytes, &bytes) || bytes != (int64_t)tensor->size)
		return json_fail(reader, path, "bytes",
				 "is %" PRIu64 ", but shape times dtype_bytes is %" PRId64
				 " for %s",
				 tensor->size, bytes, import_tensor_text(tensor).s);
	return 0;
}

static int read_placing(struct graph_json_reader *reader, json_t *object, const char *path,
			struct npuplan_tensor *tensor)
{
	int64_t align, fixed = -1, alias = -1, alias_offset = -1;
	bool external = false, host = false;
	int err;

	/* Elements of natural alignment, unless asked for otherwise. */
	align = tensor->elem_size && tensor->elem_size <= 16 &&
				!(tensor->elem_size & (tensor->elem_size - 1)) ?
			tensor->elem_size :
			1;
	err = json_get_int(reader, object, path, "align", false, 1, 65536, &align);
	if (!err && (align & (align - 1)))
		return json_fail(reader, path, "align", "must be a power of two");
	if (!err)
		err = json_get_int(reader, object, path, "fixed_offset", false, 0,
				   NPUIMPORT_MAX_BYTES, &fixed);
	if (!err)
		err = json_get_bool(reader, object, path, "external", &external);
	if (!err)
		err = json_get_bool(reader, object, path, "host", &host);
	if (!err)
		err = json_get_int(reader, object, path, "alias_of", false, 0, INT64_MAX, &alias);
	if (!err)
		err = json_get_int(reader, object, path, "alias_offset", false, 0,
				   NPUIMPORT_MAX_BYTES, &alias_offset);
	if (err)
		return err;
	if ((fixed >= 0) + external + (alias >= 0) > 1)
		return json_fail(reader, path, NULL,
				 "only one of \"fixed_offset\", \"external\" and \"alias_of\" "
				 "may be given");
	if (alias_offset >= 0 && alias < 0)
		return json_fail(reader, path, "alias_offset", "needs \"alias_of\" beside it");
	if (host && alias >= 0)
		return json_fail(reader, path, "host",
				 "is for the tensor that \"alias_of\" leads to");
	if (fixed >= 0 && fixed % align)
		return json_fail(reader, path, "fixed_offset",
				 "must be a multiple of the alignment, %" PRId64, align);
	if (host && tensor->kind != NPUMEM_TENSOR_INPUT && tensor->kind != NPUMEM_TENSOR_PARAMETER)
		return json_fail(reader, path, "host", "is for inputs and parameters only");
	tensor->align = (uint32_t)align;
	tensor->fixed_offset = fixed >= 0 ? (uint64_t)fixed : 0;
	tensor->alias_offset = alias_offset >= 0 ? (uint64_t)alias_offset : 0;
	tensor->flags = (fixed >= 0 ? NPUMEM_TENSOR_FIXED : 0) |
			(external ? NPUMEM_TENSOR_EXTERNAL : 0) |
			(alias >= 0 ? NPUMEM_TENSOR_ALIAS : 0) | (host ? NPUMEM_TENSOR_HOST : 0);
	return 0;
}

static int read_tensor(struct graph_json_reader *reader, json_t *object, const char *path,
		       int64_t dtype_bytes, struct npuplan_tensor *tensor)
{
	const char *name = NULL, *kind = NULL;
	int64_t bytes = 0;
	size_t i;
	int err;

	if (!json_is_object(object))
		return json_fail(reader, path, NULL, "must be an object");
	err = json_only_keys(reader, object, path, tensor_keys);
	if (!err)
		err = json_get_int(reader, object, path, "id", true, 0, INT64_MAX, &tensor->id);
	if (!err)
		err = json_get_string(reader, object, path, "name", true, &name);
	if (!err)
		err = json_get_string(reader, object, path, "kind", true, &kind);
	if (!err)
		err = json_get_int(reader, object, path, "bytes", true, 1, NPUIMPORT_MAX_BYTES,
				   &bytes);
	if (!err)
		err = json_get_int(reader, object, path, "dtype_bytes", false, 1, 65536,
				   &dtype_bytes);
	if (err)
		return err;
	/* Copied by npuplan_graph_add_tensor(). */
	tensor->name = strdup(name);
	if (!tensor->name)
		return import_fail(reader->error, -ENOMEM, "out of memory");
	tensor->size = (uint64_t)bytes;
	tensor->alias_of = NPUMEM_NONE;
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (!strcmp(kinds[i].name, kind))
			break;
	}
	if (i == sizeof(kinds) / sizeof(*kinds))
		return json_fail(reader, path, "kind",
				 "\"%.40s\" is none of activation, input, output, parameter, state",
				 kind);
	tensor->kind = kinds[i].kind;
	err = read_shape(reader, object, path, dtype_bytes, tensor);
	if (!err)
		err = read_placing(reader, object, path, tensor);
	return err;
}

static int read_tensors(struct graph_json_reader *reader, json_t *list, int64_t dtype_bytes)
{
	size_t count = json_array_size(list), i;
	json_t *object;
	int err = 0;

	if (count >= NPUMEM_NONE)
		return json_fail(reader, "$", "tensors", "has too many entries");
	reader->ids = calloc(count + 1, sizeof(*reader->ids));
	reader->input_of = malloc((count + 1) * sizeof(*reader->input_of));
	if (!reader->ids || !reader->input_of)
		return import_fail(reader->error, -ENOMEM, "out of memory");
	json_array_foreach(list, i, object) {
		struct npuplan_tensor tensor = { 0 };
		int64_t index;

		err = read_tensor(reader, object, json_path("$.tensors[%zu]", i).s, dtype_bytes,
				  &tensor);
		index = err ? err : npuplan_graph_add_tensor(reader->graph, &tensor);
		if (!err && index < 0)
			err = import_fail(reader->error, (int)index, "$.tensors[%zu]: %s", i,
					  strerror((int)-index));
		reader->ids[i] = (struct json_id){ .id = tensor.id, .index = (uint32_t)i };
		reader->input_of[i] = NPUMEM_NONE;
		free(tensor.name);
		if (err)
			return err;
	}
	reader->id_count = (uint32_t)count;
	err = json_sort_ids(reader, reader->ids, reader->id_count, "tensors");
	return err ? err : graph_json_aliases(reader, list);
}

int json_get_tensors(struct graph_json_reader *reader, json_t *object, const char *path,
		     const char *key, uint32_t **indices, uint32_t *count)
{
	json_t *list = NULL, *item;
	size_t i;
	int err = json_get_array(reader, object, path, key, true, &list);

	if (err)
		return err;
	if (json_array_size(list) > NPUIMPORT_MAX_REFERENCES)
		return json_fail(reader, path, key, "has more than %u entries",
				 NPUIMPORT_MAX_REFERENCES);
	*count = (uint32_t)json_array_size(list);
	*indices = calloc(*count + (size_t)1, sizeof(**indices));
	if (!*indices)
		return import_fail(reader->error, -ENOMEM, "out of memory");
	json_array_foreach(list, i, item) {
		struct json_path at = json_path("%s.%s[%zu]", path, key, i);

		if (!json_is_integer(item))
			return json_fail(reader, at.s, NULL, "must be the id of a tensor");
		(*indices)[i] = json_tensor_of_id(reader, json_integer_value(item));
		if ((*indices)[i] == NPUMEM_NONE)
			return json_fail(reader, at.s, NULL,
					 "no tensor has id %" JSON_INTEGER_FORMAT,
					 json_integer_value(item));
	}
	return 0;
}

static int read_op(struct graph_json_reader *reader, json_t *object, const char *path,
		   struct npuplan_op *op)
{
	const char *name = NULL, *type = NULL;
	json_t *attrs;
	int err;

	if (!json_is_object(object))
		return json_fail(reader, path, NULL, "must be an object");
	err = json_only_keys(reader, object, path, op_keys);
	if (!err)
		err = json_get_int(reader, object, path, "id", true, 0, INT64_MAX, &op->id);
	if (!err)
		err = json_get_string(reader, object, path, "name", true, &name);
	if (!err)
		err = json_get_string(reader, object, path, "type", true, &type);
	if (err)
		return err;
	if (!*type)
		return json_fail(reader, path, "type", "must not be empty");
	op->name = strdup(name);
	op->type = strdup(type);
	if (!op->name || !op->type)
		return import_fail(reader->error, -ENOMEM, "out of memory");
	err = json_get_tensors(reader, object, path, "inputs", &op->inputs, &op->input_count);
	for (uint32_t i = 0; !err && i < op->input_count; i++)
		reader->input_of[op->inputs[i]] = reader->graph->op_count;
	if (!err)
		err = json_get_tensors(reader, object, path, "outputs", &op->outputs,
				       &op->output_count);
	if (err)
		return err;
	if (!op->output_count)
		return json_fail(reader, path, "outputs", "must not be empty");
	attrs = json_object_get(object, "attrs");
	if (attrs && !json_is_object(attrs))
		return json_fail(reader, path, "attrs", "must be an object");
	return graph_json_attrs(reader, attrs, json_path("%s.attrs", path).s, op);
}

static void op_release(struct npuplan_op *op)
{
	free(op->name);
	free(op->type);
	free(op->inputs);
	free(op->outputs);
}

int graph_json_op(struct graph_json_reader *reader, json_t *object, const char *path,
		  uint32_t block)
{
	struct npuplan_op op = { .block = block };
	int64_t index;
	int err;

	err = read_op(reader, object, path, &op);
	index = err ? err : npuplan_graph_add_op(reader->graph, &op);
	if (!err && index < 0)
		err = import_fail(reader->error, (int)index, "%s: %s", path, strerror((int)-index));
	op_release(&op);
	return err;
}

static int read_layout(struct graph_json_reader *reader, json_t *root)
{
	const char *layout = "NCHW";
	int err = json_get_string(reader, root, "$", "layout", false, &layout);

	if (err)
		return err;
	if (strcmp(layout, "NCHW") != 0 && strcmp(layout, "NHWC") != 0)
		return json_fail(reader, "$", "layout", "\"%.20s\" is neither NCHW nor NHWC",
				 layout);
	reader->graph->source_layout = strcmp(layout, "NCHW") == 0 ? NPUPLAN_NCHW : NPUPLAN_NHWC;
	/* What accelerators compute in; the caller may ask for another. */
	reader->graph->layout = NPUPLAN_NHWC;
	return 0;
}

static int read_graph(struct graph_json_reader *reader, json_t *root)
{
	json_t *tensors = NULL, *ops = NULL;
	const char *name = NULL, *source = NULL;
	int64_t dtype_bytes = 0, model_params;
	int err;

	if (!json_is_object(root))
		return json_fail(reader, "$", NULL, "must be an object");
	err = json_only_keys(reader, root, "$", graph_keys);
	if (!err)
		err = json_get_string(reader, root, "$", "name", true, &name);
	if (!err)
		err = json_get_string(reader, root, "$", "source", false, &source);
	if (!err)
		err = json_get_int(reader, root, "$", "dtype_bytes", false, 1, 65536, &dtype_bytes);
	if (!err)
		err = json_get_int(reader, root, "$", "model_params", false, 0, INT64_MAX,
				   &model_params);
	if (!err)
		err = json_get_array(reader, root, "$", "tensors", true, &tensors);
	if (!err)
		err = json_get_array(reader, root, "$", "ops", true, &ops);
	if (err)
		return err;
	reader->graph = npuplan_graph_new(name);
	if (!reader->graph)
		return import_fail(reader->error, -ENOMEM, "out of memory");
	err = read_layout(reader, root);
	if (!err)
		err = read_tensors(reader, tensors, dtype_bytes);
	if (!err)
		err = graph_json_ops(reader, root, ops);
	if (!err)
		err = import_check_graph(reader->graph, reader->error);
	return err;
}

int npuimport_graph_json(const char *text, size_t size, struct npuplan_graph **out,
			 struct npuimport_info *info, struct npuplan_error *error)
{
	struct graph_json_reader reader = { .error = error };
	json_error_t where;
	json_t *root;
	int err;

	*out = NULL;
	root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
	if (!root)
		return import_fail(error, -EBADMSG, "line %d, column %d: %s", where.line,
				   where.column, where.text);
	err = read_graph(&reader, root);
	json_decref(root);
	free(reader.ids);
	free(reader.input_of);
	if (err) {
		npuplan_graph_free(reader.graph);
		return err;
	}
	if (info)
		*info = (struct npuimport_info){
			.format = NPUIMPORT_GRAPH_JSON,
			.subgraphs = 1,
			.operators = reader.graph->op_count,
			.tensors = reader.graph->tensor_count,
		};
	*out = reader.graph;
	return 0;
}
