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
	const struct graph_json_id *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

uint32_t graph_json_tensor_of_id(const struct graph_json_reader *reader, int64_t id)
{
	struct graph_json_id key = { .id = id };
	const struct graph_json_id *found =
		bsearch(&key, reader->ids, reader->id_count, sizeof(key), compare_ids);

	return found ? found->index : NPUMEM_NONE;
}

int graph_json_sort_ids(struct graph_json_reader *reader, struct graph_json_id *ids, uint32_t count,
			const char *what)
{
	qsort(ids, count, sizeof(*ids), compare_ids);
	for (uint32_t i = 1; i < count; i++) {
		if (ids[i].id == ids[i - 1].id)
			return graph_json_fail(reader, graph_json_path("$.%s", what).s, NULL,
					       "id %" PRId64 " is given twice", ids[i].id);
	}
	return 0;
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
static int read_dimensions(struct graph_json_reader *reader, json_t *object, const char *path,
			   struct npuplan_tensor *tensor)
{
	json_t *list = json_object_get(object, "shape");
	size_t count = 0;
	int err;

	if (list)
		err = graph_json_get_ints(reader, object, path, "shape", 0, NPUPLAN_MAX_DIMS, 1,
					  NPUIMPORT_MAX_DIM, tensor->shape, &count);
	else
		err = graph_json_fail(reader, path, NULL, "\"shape\" is missing");
	tensor->dim_count = (uint32_t)count;
	if (!err || has_empty_dimension(list))
		return err;
	memset(tensor->shape, 0, sizeof(tensor->shape));
	return graph_json_doubt(reader, err, NPUIMPORT_DOUBT_SHAPE, "shape", path);
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
static int read_shape(struct graph_json_reader *reader, json_t *object, const char *path,
		      int64_t dtype_bytes, bool own, struct npuplan_tensor *tensor)
{
	int64_t elements = 1, bytes;
	int err = read_dimensions(reader, object, path, tensor);

	if (err)
		return err;
	tensor->elem_size = (uint32_t)dtype_bytes;
	if (!dtype_bytes || !tensor->dim_count)
		return 0;
	for (uint32_t i = 0; i < tensor->dim_count; i++) {
		if (__builtin_mul_overflow(elements, tensor->shape[i], &elements))
			elements = 0;
	}
	if (!__builtin_mul_overflow(elements, dtype_bytes, &bytes) &&
	    bytes == (int64_t)tensor->size)
		return 0;
	err = graph_json_fail(reader, path, "bytes",
			      "is %" PRIu64 ", but shape times dtype_bytes is %" PRId64 " for %s",
			      tensor->size, bytes, import_tensor_text(tensor).s);
	if (own || !elements ||
	    implied_elem_size(tensor->size, (uint64_t)elements, &tensor->elem_size))
		return err;
	return graph_json_doubt(reader, err, NPUIMPORT_DOUBT_ELEMENT, "dtype_bytes", path);
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
	err = graph_json_get_int(reader, object, path, "align", false, 1, 65536, &align);
	if (!err && (align & (align - 1)))
		return graph_json_fail(reader, path, "align", "must be a power of two");
	if (!err)
		err = graph_json_get_int(reader, object, path, "fixed_offset", false, 0,
					 NPUIMPORT_MAX_BYTES, &fixed);
	if (!err)
		err = graph_json_get_bool(reader, object, path, "external", &external);
	if (!err)
		err = graph_json_get_bool(reader, object, path, "host", &host);
	if (!err)
		err = graph_json_get_int(reader, object, path, "alias_of", false, 0, INT64_MAX,
					 &alias);
	if (!err)
		err = graph_json_get_int(reader, object, path, "alias_offset", false, 0,
					 NPUIMPORT_MAX_BYTES, &alias_offset);
	if (err)
		return err;
	if ((fixed >= 0) + external + (alias >= 0) > 1)
		return graph_json_fail(
			reader, path, NULL,
			"only one of \"fixed_offset\", \"external\" and \"alias_of\" "
			"may be given");
	if (alias_offset >= 0 && alias < 0)
		return graph_json_fail(reader, path, "alias_offset",
				       "needs \"alias_of\" beside it");
	if (host && alias >= 0)
		return graph_json_fail(reader, path, "host",
				       "is for the tensor that \"alias_of\" leads to");
	if (fixed >= 0 && fixed % align)
		return graph_json_fail(reader, path, "fixed_offset",
				       "must be a multiple of the alignment, %" PRId64, align);
	if (host && tensor->kind != NPUMEM_TENSOR_INPUT && tensor->kind != NPUMEM_TENSOR_PARAMETER)
		return graph_json_fail(reader, path, "host", "is for inputs and parameters only");
	tensor->align = (uint32_t)align;
	tensor->fixed_offset = fixed >= 0 ? (uint64_t)fixed : 0;
	tensor->alias_offset = alias_offset >= 0 ? (uint64_t)alias_offset : 0;
	tensor->flags = (fixed >= 0 ? NPUMEM_TENSOR_FIXED : 0) |
			(external ? NPUMEM_TENSOR_EXTERNAL : 0) |
			(alias >= 0 ? NPUMEM_TENSOR_ALIAS : 0) | (host ? NPUMEM_TENSOR_HOST : 0);
	return 0;
}

/* @dtype_bytes: that of the file, replaced by the tensor's own if it has any */
static int read_elem_size(struct graph_json_reader *reader, json_t *object, const char *path,
			  int64_t *dtype_bytes, bool *own)
{
	int err = graph_json_get_int(reader, object, path, "dtype_bytes", false, 1, 65536,
				     dtype_bytes);

	*own = json_object_get(object, "dtype_bytes");
	if (err)
		*dtype_bytes = 0;
	return graph_json_doubt(reader, err, NPUIMPORT_DOUBT_VALUE, "dtype_bytes", path);
}

static int read_kind(struct graph_json_reader *reader, json_t *object, const char *path,
		     uint32_t *kind)
{
	const char *name = NULL;
	int err = graph_json_get_string(reader, object, path, "kind", true, &name);

	if (err)
		return err;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (!strcmp(kinds[i].name, name)) {
			*kind = kinds[i].kind;
			return 0;
		}
	}
	return graph_json_fail(reader, path, "kind",
			       "\"%.40s\" is none of activation, input, output, parameter, state",
			       name);
}

/* People's name of a tensor or operator; "" if there is none that can be read. */
static int read_name(struct graph_json_reader *reader, json_t *object, const char *path,
		     const char **name)
{
	int err = graph_json_get_string(reader, object, path, "name", true, name);

	if (err)
		*name = "";
	return graph_json_doubt(reader, err, NPUIMPORT_DOUBT_VALUE, "name", path);
}

static int read_tensor(struct graph_json_reader *reader, json_t *object, const char *path,
		       int64_t dtype_bytes, struct npuplan_tensor *tensor)
{
	const char *name = NULL;
	int64_t bytes = 0;
	bool own = false;
	int err;

	if (!json_is_object(object))
		return graph_json_fail(reader, path, NULL, "must be an object");
	err = graph_json_known_keys(reader, object, path, tensor_keys, NPUIMPORT_DOUBT_FIELD, NULL);
	if (!err)
		err = graph_json_get_int(reader, object, path, "id", true, 0, INT64_MAX,
					 &tensor->id);
	if (!err)
		err = read_name(reader, object, path, &name);
	if (err)
		return err;
	/* Copied by npuplan_graph_add_tensor(). */
	tensor->name = strdup(name);
	if (!tensor->name)
		return import_fail(reader->error, -ENOMEM, "out of memory");
	tensor->alias_of = NPUMEM_NONE;
	err = read_kind(reader, object, path, &tensor->kind);
	if (!err)
		err = graph_json_get_int(reader, object, path, "bytes", true, 1,
					 NPUIMPORT_MAX_BYTES, &bytes);
	tensor->size = (uint64_t)bytes;
	if (!err)
		err = read_elem_size(reader, object, path, &dtype_bytes, &own);
	if (!err)
		err = read_shape(reader, object, path, dtype_bytes, own, tensor);
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
		return graph_json_fail(reader, "$", "tensors", "has too many entries");
	reader->ids = calloc(count + 1, sizeof(*reader->ids));
	reader->input_of = malloc((count + 1) * sizeof(*reader->input_of));
	if (!reader->ids || !reader->input_of)
		return import_fail(reader->error, -ENOMEM, "out of memory");
	json_array_foreach(list, i, object) {
		struct npuplan_tensor tensor = { 0 };
		int64_t index;

		err = read_tensor(reader, object, graph_json_path("$.tensors[%zu]", i).s,
				  dtype_bytes, &tensor);
		index = err ? err : npuplan_graph_add_tensor(reader->graph, &tensor);
		if (!err && index < 0)
			err = import_fail(reader->error, (int)index, "$.tensors[%zu]: %s", i,
					  strerror((int)-index));
		reader->ids[i] = (struct graph_json_id){ .id = tensor.id, .index = (uint32_t)i };
		reader->input_of[i] = NPUMEM_NONE;
		free(tensor.name);
		if (err)
			return err;
	}
	reader->id_count = (uint32_t)count;
	err = graph_json_sort_ids(reader, reader->ids, reader->id_count, "tensors");
	return err ? err : graph_json_aliases(reader, list);
}

int graph_json_get_tensors(struct graph_json_reader *reader, json_t *object, const char *path,
			   const char *key, uint32_t **indices, uint32_t *count)
{
	json_t *list = NULL, *item;
	size_t i;
	int err = graph_json_get_array(reader, object, path, key, true, &list);

	if (err)
		return err;
	if (json_array_size(list) > NPUIMPORT_MAX_REFERENCES)
		return graph_json_fail(reader, path, key, "has more than %u entries",
				       NPUIMPORT_MAX_REFERENCES);
	*count = (uint32_t)json_array_size(list);
	*indices = calloc(*count + (size_t)1, sizeof(**indices));
	if (!*indices)
		return import_fail(reader->error, -ENOMEM, "out of memory");
	json_array_foreach(list, i, item) {
		struct graph_json_path at = graph_json_path("%s.%s[%zu]", path, key, i);

		if (!json_is_integer(item))
			return graph_json_fail(reader, at.s, NULL, "must be the id of a tensor");
		(*indices)[i] = graph_json_tensor_of_id(reader, json_integer_value(item));
		if ((*indices)[i] == NPUMEM_NONE)
			return graph_json_fail(reader, at.s, NULL,
					       "no tensor has id %" JSON_INTEGER_FORMAT,
					       json_integer_value(item));
	}
	return 0;
}

static int read_op(struct graph_json_reader *reader, json_t *object, const char *path,
		   struct npuplan_op *op)
{
	const char *name = NULL, *type = NULL;
	bool unknown = false;
	int err;

	if (!json_is_object(object))
		return graph_json_fail(reader, path, NULL, "must be an object");
	err = graph_json_known_keys(reader, object, path, op_keys, NPUIMPORT_DOUBT_ATTRIBUTE,
				    &unknown);
	if (!err)
		err = graph_json_get_int(reader, object, path, "id", true, 0, INT64_MAX, &op->id);
	if (!err)
		err = read_name(reader, object, path, &name);
	if (!err)
		err = graph_json_get_string(reader, object, path, "type", true, &type);
	if (err)
		return err;
	if (!*type)
		return graph_json_fail(reader, path, "type", "must not be empty");
	op->name = strdup(name);
	op->type = strdup(type);
	if (!op->name || !op->type)
		return import_fail(reader->error, -ENOMEM, "out of memory");
	err = graph_json_get_tensors(reader, object, path, "inputs", &op->inputs, &op->input_count);
	for (uint32_t i = 0; !err && i < op->input_count; i++)
		reader->input_of[op->inputs[i]] = reader->graph->op_count;
	if (!err)
		err = graph_json_get_tensors(reader, object, path, "outputs", &op->outputs,
					     &op->output_count);
	if (err)
		return err;
	if (!op->output_count)
		return graph_json_fail(reader, path, "outputs", "must not be empty");
	err = graph_json_attrs(reader, object, path, op);
	/* Whatever it is may say what the operator reads. */
	op->attrs.whole |= unknown || reader->whole;
	if (!err && import_is_cat(op))
		err = import_check_cat(reader->graph, op, reader->error);
	return err;
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
	int err = graph_json_get_string(reader, root, "$", "layout", false, &layout);

	if (!err && strcmp(layout, "NCHW") != 0 && strcmp(layout, "NHWC") != 0)
		err = graph_json_fail(reader, "$", "layout", "\"%.20s\" is neither NCHW nor NHWC",
				      layout);
	reader->whole = err;
	reader->graph->source_layout = strcmp(layout, "NHWC") == 0 ? NPUPLAN_NHWC : NPUPLAN_NCHW;
	/* What accelerators compute in; the caller may ask for another. */
	reader->graph->layout = NPUPLAN_NHWC;
	return graph_json_doubt(reader, err, NPUIMPORT_DOUBT_LAYOUT, "layout", "$");
}

/* What is there for people, and element sizes. */
static int read_head(struct graph_json_reader *reader, json_t *root, int64_t *dtype_bytes)
{
	const char *source = NULL;
	int64_t model_params;
	int err = graph_json_get_string(reader, root, "$", "source", false, &source);

	err = graph_json_doubt(reader, err, NPUIMPORT_DOUBT_VALUE, "source", "$");
	if (!err) {
		err = graph_json_get_int(reader, root, "$", "dtype_bytes", false, 1, 65536,
					 dtype_bytes);
		err = graph_json_doubt(reader, err, NPUIMPORT_DOUBT_VALUE, "dtype_bytes", "$");
	}
	if (!err) {
		err = graph_json_get_int(reader, root, "$", "model_params", false, 0, INT64_MAX,
					 &model_params);
		err = graph_json_doubt(reader, err, NPUIMPORT_DOUBT_VALUE, "model_params", "$");
	}
	return err;
}

static int read_graph(struct graph_json_reader *reader, json_t *root)
{
	json_t *tensors = NULL, *ops = NULL;
	const char *name = NULL;
	int64_t dtype_bytes = 0;
	int err;

	if (!json_is_object(root))
		return graph_json_fail(reader, "$", NULL, "must be an object");
	err = graph_json_known_keys(reader, root, "$", graph_keys, NPUIMPORT_DOUBT_FIELD, NULL);
	if (!err)
		err = read_name(reader, root, "$", &name);
	if (!err)
		err = read_head(reader, root, &dtype_bytes);
	if (!err)
		err = graph_json_get_array(reader, root, "$", "tensors", true, &tensors);
	if (!err)
		err = graph_json_get_array(reader, root, "$", "ops", true, &ops);
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

int npuimport_graph_json_sized(const char *text, size_t size,
			       const struct npuimport_options *options, size_t options_size,
			       struct npuplan_graph **out, struct npuimport_info *info,
			       struct npuplan_error *error)
{
	struct graph_json_reader reader = { .error = error ? error : &reader.own };
	json_error_t where;
	json_t *root;
	int err = import_doubts_of(&reader.doubts, options, options_size, error);

	*out = NULL;
	if (err)
		return err;
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
