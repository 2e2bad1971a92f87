/* SPDX-License-Identifier: MIT */
/* Names of an ONNX graph: what the file says of them, and their tensors. */
#include "reader.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "../../../grow/grow.h"

/* ------------------------------------------------------------------- texts */

struct onnx_name onnx_text(const char *name)
{
	struct onnx_name text;

	import_clean_name(text.s, sizeof(text.s), name, name ? strlen(name) : 0);
	return text;
}

struct import_text onnx_value_text(const struct onnx_value *value)
{
	struct import_text text;

	snprintf(text.s, sizeof(text.s), "tensor '%.100s'", onnx_text(value->name).s);
	return text;
}

struct import_text onnx_shape_text(const struct onnx_shape *shape)
{
	struct import_text text = { "scalar" };
	size_t used = 0;

	if (!shape->known)
		return (struct import_text){ "?" };
	for (uint32_t d = 0; d < shape->rank; d++) {
		const char *times = d ? "x" : "";

		used += (size_t)(shape->dims[d] < 0 ?
					 snprintf(text.s + used, sizeof(text.s) - used, "%s?",
						  times) :
					 snprintf(text.s + used, sizeof(text.s) - used,
						  "%s%" PRId64, times, shape->dims[d]));
		/* Eight dimensions below 2^31 fit; larger ones are cut short. */
		if (used >= sizeof(text.s))
			break;
	}
	return text;
}

/* Elements by type: names, and bits of those that have a size. */
static const struct {
	const char *name;
	unsigned int bits;
} types[] = {
	[ONNX_FLOAT] = { "float", 32 },
	[ONNX_UINT8] = { "uint8", 8 },
	[ONNX_INT8] = { "int8", 8 },
	[ONNX_UINT16] = { "uint16", 16 },
	[ONNX_INT16] = { "int16", 16 },
	[ONNX_INT32] = { "int32", 32 },
	[ONNX_INT64] = { "int64", 64 },
	[ONNX_STRING] = { "string", 0 },
	[ONNX_BOOL] = { "bool", 8 },
	[ONNX_FLOAT16] = { "float16", 16 },
	[ONNX_DOUBLE] = { "double", 64 },
	[ONNX_UINT32] = { "uint32", 32 },
	[ONNX_UINT64] = { "uint64", 64 },
	[ONNX_COMPLEX64] = { "complex64", 64 },
	[ONNX_COMPLEX128] = { "complex128", 128 },
	[ONNX_BFLOAT16] = { "bfloat16", 16 },
	[ONNX_FLOAT8E4M3FN] = { "float8e4m3fn", 8 },
	[18] = { "float8e4m3fnuz", 8 },
	[19] = { "float8e5m2", 8 },
	[ONNX_FLOAT8E5M2FNUZ] = { "float8e5m2fnuz", 8 },
	[ONNX_UINT4] = { "uint4", 4 },
	[ONNX_INT4] = { "int4", 4 },
	[ONNX_FLOAT4E2M1] = { "float4e2m1", 4 },
};

const char *onnx_type_name(uint32_t type)
{
	return type < sizeof(types) / sizeof(*types) ? types[type].name : NULL;
}

unsigned int onnx_type_bits(uint32_t type)
{
	return type < sizeof(types) / sizeof(*types) ? types[type].bits : 0;
}

/* ------------------------------------------------------------------- names */

static int compare(const void *a, const void *b)
{
	const struct onnx_value *first = a, *second = b;

	return strcmp(first->name, second->name);
}

static struct onnx_value *find_in(const struct onnx_scope *scope, const char *name)
{
	struct onnx_value key = { .name = name };
	void *node = tfind(&key, &scope->names, compare);

	return node ? *(struct onnx_value **)node : NULL;
}

struct onnx_value *onnx_find(const struct onnx_scope *scope, const char *name)
{
	struct onnx_value *value = NULL;

	/* What a graph only declares has a value elsewhere, or nowhere. */
	for (; scope && name && *name && (!value || !value->is_listed); scope = scope->outer)
		value = find_in(scope, name);
	return value && value->is_listed ? value : NULL;
}

struct onnx_value *onnx_value(struct onnx_reader *r, const char *name)
{
	struct onnx_value *value, **values;

	if (r->err || !name || !*name)
		return NULL;
	value = find_in(r->scope, name);
	if (value)
		return value;
	value = calloc(1, sizeof(*value));
	values = value ? grow_by_one(r->values, r->value_count, sizeof(*values)) : NULL;
	if (values)
		r->values = values;
	if (value)
		*value = (struct onnx_value){ .name = name, .id = -1, .tensor = NPUMEM_NONE };
	if (!values || !tsearch(value, &r->scope->names, compare)) {
		free(value);
		onnx_fail(r, -ENOMEM, "out of memory");
		return NULL;
	}
	values[r->value_count++] = value;
	return value;
}

/* The values are freed through their list. */
static void keep(void *value)
{
	(void)value;
}

void onnx_scope_free(struct onnx_scope *scope)
{
	tdestroy(scope->names, keep);
	scope->names = NULL;
}

void onnx_values_free(struct onnx_reader *r)
{
	for (uint32_t i = 0; i < r->value_count; i++) {
		free(r->values[i]->numbers);
		free(r->values[i]);
	}
	free(r->values);
	r->values = NULL;
	r->value_count = 0;
}

void onnx_list_value(struct onnx_reader *r, struct onnx_value *value)
{
	if (value->is_listed)
		return;
	value->is_listed = true;
	value->id = r->listed++;
}

/* ------------------------------------------------------------ declarations */

/* The size that the caller gave for a dimension of this name; -1: none. */
static int64_t given_size(struct onnx_reader *r, const char *name)
{
	for (uint32_t i = 0; i < r->options.dim_count; i++)
		if (!strcmp(r->options.dims[i].name, name)) {
			r->dims_used[i] = true;
			return r->options.dims[i].size;
		}
	return -1;
}

/* A dimension without a name goes by that of its tensor: "x:0". */
static int64_t declared_dim(struct onnx_reader *r, const struct onnx_value *value, uint32_t d,
			    const Onnx__TensorShapeProto__Dimension *dim)
{
	char *name;
	int64_t size;

	if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
	    dim->dim_value >= 0)
		return dim->dim_value;
	if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
	    dim->dim_param && *dim->dim_param)
		return given_size(r, dim->dim_param);
	if (asprintf(&name, "%s:%" PRIu32, value->name, d) < 0) {
		onnx_fail(r, -ENOMEM, "out of memory");
		return -1;
	}
	size = given_size(r, name);
	free(name);
	return size;
}

void onnx_declared(struct onnx_reader *r, const struct onnx_value *value, uint32_t *type,
		   struct onnx_shape *shape)
{
	static const char *const kinds[] = {
		[ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE] = "a sequence",
		[ONNX__TYPE_PROTO__VALUE_MAP_TYPE] = "a map",
		[ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE] = "an optional value",
		[ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE] = "a sparse tensor",
	};
	const Onnx__TypeProto *info = value->info;
	const Onnx__TensorShapeProto *declared;

	*type = 0;
	*shape = (struct onnx_shape){ 0 };
	if (!info || info->value_case == ONNX__TYPE_PROTO__VALUE__NOT_SET || r->err)
		return;
	if (info->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) {
		onnx_fail(r, -EOPNOTSUPP, "%s is %s: its size is not known before the model runs",
			  onnx_value_text(value).s,
			  (size_t)info->value_case < sizeof(kinds) / sizeof(*kinds) &&
					  kinds[info->value_case] ?
				  kinds[info->value_case] :
				  "no tensor");
		return;
	}
	*type = (uint32_t)info->tensor_type->elem_type;
	declared = info->tensor_type->shape;
	if (!declared)
		return;
	if (declared->n_dim > NPUPLAN_MAX_DIMS) {
		onnx_fail(r, -EOPNOTSUPP, "%s has %zu dimensions, more than %d",
			  onnx_value_text(value).s, declared->n_dim, NPUPLAN_MAX_DIMS);
		return;
	}
	shape->known = true;
	shape->rank = (uint32_t)declared->n_dim;
	for (uint32_t d = 0; d < shape->rank; d++)
		shape->dims[d] = declared_dim(r, value, d, declared->dim[d]);
}

uint64_t onnx_elements(const struct onnx_shape *shape, uint32_t first, uint32_t end)
{
	uint64_t elements = 1;
	bool is_large = false;

	for (uint32_t d = first; d < end; d++) {
		uint64_t size = (uint64_t)shape->dims[d];

		if (!size)
			return 0;
		is_large |= elements > NPUIMPORT_MAX_BYTES / size;
		elements = is_large ? 1 : elements * size;
	}
	return is_large ? NPUIMPORT_MAX_BYTES + 1ull : elements;
}

void onnx_check_size(struct onnx_reader *r, const struct onnx_value *value)
{
	unsigned int bits = onnx_type_bits(value->type);
	uint64_t elements = onnx_elements(&value->shape, 0, value->shape.rank);

	for (uint32_t d = 0; d < value->shape.rank; d++)
		if (value->shape.dims[d] < 0 || value->shape.dims[d] > NPUIMPORT_MAX_DIM)
			onnx_fail(r, -E2BIG, "%s has %" PRId64 " elements along dimension %" PRIu32,
				  onnx_value_text(value).s, value->shape.dims[d], d);
	if (elements > NPUIMPORT_MAX_BYTES || (elements * bits + 7) / 8 > NPUIMPORT_MAX_BYTES)
		onnx_fail(r, -E2BIG, "%s is larger than %lld bytes", onnx_value_text(value).s,
			  NPUIMPORT_MAX_BYTES);
}

/* An input is as large as the file or the caller says: nothing else can. */
static void read_input(struct onnx_reader *r, struct onnx_value *value)
{
	const Onnx__TensorShapeProto *shape;

	onnx_declared(r, value, &value->type, &value->shape);
	if (r->err)
		return;
	if (!value->type || !value->shape.known) {
		onnx_fail(r, -EOPNOTSUPP,
			  "input '%.100s' has no type or shape in the file: export the model with "
			  "shapes",
			  onnx_text(value->name).s);
		return;
	}
	shape = value->info->tensor_type->shape;
	for (uint32_t d = 0; d < value->shape.rank; d++) {
		const char *name =
			shape->dim[d]->value_case ==
					ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM ?
				shape->dim[d]->dim_param :
				NULL;

		if (value->shape.dims[d] >= 0)
			continue;
		if (name && *name)
			onnx_fail(
				r, -EOPNOTSUPP,
				"input '%.100s' has a dimension '%.60s' without a size (dimension "
				"%" PRIu32 "): give one, as %.60s=1",
				onnx_text(value->name).s, onnx_text(name).s, d, onnx_text(name).s);
		else
			onnx_fail(r, -EOPNOTSUPP,
				  "input '%.100s' has dimension %" PRIu32
				  " without a size: give one, as %.100s:%" PRIu32 "=1",
				  onnx_text(value->name).s, d, onnx_text(value->name).s, d);
		return;
	}
	onnx_check_size(r, value);
	value->is_defined = true;
}

static void declare(struct onnx_reader *r, const Onnx__ValueInfoProto *info)
{
	struct onnx_value *value = onnx_value(r, info->name);

	if (value && info->type && !value->info)
		value->info = info->type;
}

static void read_initializers(struct onnx_reader *r, const Onnx__GraphProto *graph)
{
	for (size_t i = 0; i < graph->n_initializer && !r->err; i++) {
		struct onnx_value *value = onnx_value(r, graph->initializer[i]->name);

		if (!value) {
			onnx_fail(r, -EINVAL, "initializer %zu has no name%s", i, r->scope->where);
			return;
		}
		if (value->data) {
			onnx_fail(r, -EINVAL, "%s is an initializer twice%s",
				  onnx_value_text(value).s, r->scope->where);
			return;
		}
		onnx_list_value(r, value);
		onnx_initializer(r, value, graph->initializer[i]);
	}
	if (graph->n_sparse_initializer)
		onnx_fail(r, -EOPNOTSUPP,
			  "the model has %zu sparse initializers, which are not read",
			  graph->n_sparse_initializer);
}

/* What the node that runs the graph hands to it. */
static void bind_input(struct onnx_reader *r, struct onnx_value *value)
{
	if (value->is_bound)
		onnx_fail(r, -EINVAL, "%s is an input twice%s", onnx_value_text(value).s,
			  r->scope->where);
	else if (value->data)
		onnx_fail(r, -EOPNOTSUPP, "%s is an input and an initializer%s",
			  onnx_value_text(value).s, r->scope->where);
	value->is_bound = true;
}

static void read_inputs(struct onnx_reader *r, const Onnx__GraphProto *graph)
{
	for (size_t i = 0; i < graph->n_input && !r->err; i++) {
		struct onnx_value *value = onnx_value(r, graph->input[i]->name);

		if (!value) {
			onnx_fail(r, -EINVAL, "input %zu has no name%s", i, r->scope->where);
			return;
		}
		onnx_list_value(r, value);
		if (r->scope->outer) {
			bind_input(r, value);
			continue;
		}
		/*
		 * Until IR version 4 initializers were listed among the inputs. Since then such an
		 * input has a default; that is taken.
		 */
		if (value->data)
			continue;
		if (value->is_input)
			onnx_fail(r, -EINVAL, "%s is an input twice", onnx_value_text(value).s);
		value->is_input = true;
		read_input(r, value);
	}
}

void onnx_values(struct onnx_reader *r)
{
	const Onnx__GraphProto *graph = r->scope->graph;

	/* What stands first counts. */
	for (size_t i = 0; i < graph->n_input; i++)
		declare(r, graph->input[i]);
	for (size_t i = 0; i < graph->n_output; i++)
		declare(r, graph->output[i]);
	for (size_t i = 0; i < graph->n_value_info; i++)
		declare(r, graph->value_info[i]);
	read_initializers(r, graph);
	read_inputs(r, graph);
	/* Whoever runs the graph takes its outputs. */
	if (r->scope->outer)
		return;
	for (size_t i = 0; i < graph->n_output && !r->err; i++) {
		struct onnx_value *value = onnx_value(r, graph->output[i]->name);

		if (value)
			value->is_output = true;
		else
			onnx_fail(r, -EINVAL, "output %zu has no name", i);
	}
	/* Inputs that nothing reads are the model's all the same. */
	for (size_t i = 0; i < graph->n_input && !r->err; i++) {
		struct onnx_value *value = onnx_value(r, graph->input[i]->name);

		if (value && value->is_input)
			onnx_tensor(r, value);
	}
}

/* ----------------------------------------------------------------- tensors */

static uint32_t kind_of(const struct onnx_value *value)
{
	if (value->is_constant)
		return NPUMEM_TENSOR_PARAMETER;
	/* It passes through. */
	if (value->is_input && value->is_output)
		return NPUMEM_TENSOR_STATE;
	if (value->is_input)
		return NPUMEM_TENSOR_INPUT;
	return value->is_output ? NPUMEM_TENSOR_OUTPUT : NPUMEM_TENSOR_INTERMEDIATE;
}

static void unsupported_type(struct onnx_reader *r, const struct onnx_value *value)
{
	if (value->type == ONNX_STRING)
		onnx_fail(r, -EOPNOTSUPP,
			  "%s has strings: their size is not known before the model runs",
			  onnx_value_text(value).s);
	else
		onnx_fail(r, -EOPNOTSUPP, "%s has element type %" PRIu32 ", not known here",
			  onnx_value_text(value).s, value->type);
}

/* Size, shape and elements of a tensor: those of the value. */
static void describe(const struct onnx_value *value, struct npuplan_tensor *tensor)
{
	unsigned int bits = onnx_type_bits(value->type);

	tensor->elem_size = bits % 8 ? 0 : bits / 8;
	tensor->align = tensor->elem_size ? tensor->elem_size : 1;
	tensor->dim_count = value->shape.rank;
	tensor->size = (onnx_elements(&value->shape, 0, value->shape.rank) * bits + 7) / 8;
	memcpy(tensor->shape, value->shape.dims, value->shape.rank * sizeof(*tensor->shape));
}

uint32_t onnx_tensor(struct onnx_reader *r, struct onnx_value *value)
{
	struct onnx_name name = onnx_text(value->name);
	struct npuplan_tensor tensor = {
		.id = value->id,
		.name = name.s,
		.alias_of = NPUMEM_NONE,
		.kind = kind_of(value),
	};
	int64_t index;

	if (value->tensor != NPUMEM_NONE || r->err)
		return value->tensor;
	if (!onnx_type_bits(value->type)) {
		unsupported_type(r, value);
		return NPUMEM_NONE;
	}
	describe(value, &tensor);
	if (!tensor.size)
		return NPUMEM_NONE;
	index = npuplan_graph_add_tensor(r->graph, &tensor);
	if (index < 0)
		onnx_fail(r, (int)index, "%s: %s", onnx_value_text(value).s, strerror((int)-index));
	else
		value->tensor = (uint32_t)index;
	return value->tensor;
}

void onnx_resize(struct onnx_reader *r, const struct onnx_value *value, uint32_t tensor)
{
	if (r->err || tensor == NPUMEM_NONE)
		return;
	if (!onnx_type_bits(value->type))
		unsupported_type(r, value);
	describe(value, &r->graph->tensors[tensor]);
	if (!r->err && !r->graph->tensors[tensor].size)
		onnx_fail(r, -EOPNOTSUPP, "%s has no elements, and is written by a loop",
			  onnx_value_text(value).s);
}
