/* SPDX-License-Identifier: MIT */
#include "onnx_build.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../userspace/grow/grow.h"

static const char *const types[] = {
	"?",	     "float",	   "uint8",    "int8",	   "uint16",	 "int16",  "int32",
	"int64",     "string",	   "bool",     "float16",  "double",	 "uint32", "uint64",
	"complex64", "complex128", "bfloat16", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz",
	"uint4",     "int4",	   "f4e2m1",   "unknown",
};
static const unsigned int bits[] = { 0,	 32, 8,	  8,  16, 16, 32, 64, 0, 8, 16, 64, 32,
				     64, 64, 128, 16, 8,  8,  8,  8,  4, 4, 4,	8 };

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

void *onnx_model_take(struct onnx_model *model, size_t size)
{
	void **blocks = grow_by_one(model->blocks, model->block_count, sizeof(*blocks));
	void *block = calloc(1, size + 1);

	if (!blocks || !block)
		abort();
	model->blocks = blocks;
	blocks[model->block_count++] = block;
	return block;
}

static char *text_of(struct onnx_model *model, const char *text, size_t length)
{
	char *copy = onnx_model_take(model, length);

	memcpy(copy, text, length);
	return copy;
}

/* One more pointer in a repeated field. */
static void append(struct onnx_model *model, void *array, size_t *count, void *element)
{
	void **old, **grown = onnx_model_take(model, (*count + 1) * sizeof(*grown));

	memcpy(&old, array, sizeof(old));
	if (*count)
		memcpy(grown, old, *count * sizeof(*grown));
	grown[(*count)++] = element;
	memcpy(array, &grown, sizeof(grown));
}

/* The next word of a text, whose end moves on; NULL past the last. */
static char *word(struct onnx_model *model, const char **at)
{
	size_t length;

	*at += strspn(*at, " \n\t");
	length = strcspn(*at, " \n\t");
	*at += length;
	return length ? text_of(model, *at - length, length) : NULL;
}

static int type_of(const char *name)
{
	for (size_t i = 0; name && i < COUNT(types); i++)
		if (!strcmp(types[i], name))
			return (int)i;
	fprintf(stderr, "onnx_build: no type '%s'\n", name ? name : "");
	abort();
}

/* ------------------------------------------------------------------- shapes */

static Onnx__TensorShapeProto *shape_of(struct onnx_model *model, const char *text)
{
	Onnx__TensorShapeProto *shape = onnx_model_take(model, sizeof(*shape));
	Onnx__TensorShapeProto__Dimension *dim;

	onnx__tensor_shape_proto__init(shape);
	for (size_t length; strcmp(text, "-") != 0 && *text;
	     text += length + (text[length] == 'x')) {
		length = strcspn(text, "x");
		dim = onnx_model_take(model, sizeof(*dim));
		onnx__tensor_shape_proto__dimension__init(dim);
		if (*text == '-' || (*text >= '0' && *text <= '9')) {
			dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
			dim->dim_value = strtoll(text, NULL, 10);
		} else if (*text != '?') {
			dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
			dim->dim_param = text_of(model, text, length);
		}
		append(model, &shape->dim, &shape->n_dim, dim);
	}
	return shape;
}

static Onnx__ValueInfoProto *info_of(struct onnx_model *model, const char *at)
{
	Onnx__ValueInfoProto *info = onnx_model_take(model, sizeof(*info));
	char *type, *shape;

	onnx__value_info_proto__init(info);
	info->name = word(model, &at);
	type = word(model, &at);
	shape = word(model, &at);
	if (!type)
		return info;
	info->type = onnx_model_take(model, sizeof(*info->type));
	onnx__type_proto__init(info->type);
	info->type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
	info->type->tensor_type = onnx_model_take(model, sizeof(*info->type->tensor_type));
	onnx__type_proto__tensor__init(info->type->tensor_type);
	info->type->tensor_type->has_elem_type = 1;
	info->type->tensor_type->elem_type = type_of(type);
	if (shape && strcmp(shape, "*") != 0)
		info->type->tensor_type->shape = shape_of(model, shape);
	return info;
}

/* ------------------------------------------------------------- initializers */

static Onnx__TensorProto *tensor_new(struct onnx_model *model, char *name, int type)
{
	Onnx__TensorProto *tensor = onnx_model_take(model, sizeof(*tensor));

	onnx__tensor_proto__init(tensor);
	tensor->name = name;
	tensor->has_data_type = 1;
	tensor->data_type = type;
	return tensor;
}

/* Zeroes, as many as its shape makes. */
static Onnx__TensorProto *zeroes(struct onnx_model *model, const char *at)
{
	char *name = word(model, &at), *type = word(model, &at), *shape = word(model, &at);
	Onnx__TensorProto *tensor = tensor_new(model, name, type_of(type));
	const Onnx__TensorShapeProto *dims = shape_of(model, shape);
	uint64_t elements = 1;

	tensor->n_dims = dims->n_dim;
	tensor->dims = onnx_model_take(model, dims->n_dim * sizeof(*tensor->dims));
	for (size_t i = 0; i < dims->n_dim; i++) {
		tensor->dims[i] = dims->dim[i]->dim_value;
		elements *= (uint64_t)tensor->dims[i];
	}
	tensor->has_raw_data = 1;
	tensor->raw_data.len = (elements * bits[tensor->data_type] + 7) / 8;
	/* Too large a one is not written out. */
	if (tensor->raw_data.len > 1 << 20)
		tensor->raw_data.len = 0;
	tensor->raw_data.data = onnx_model_take(model, tensor->raw_data.len);
	return tensor;
}

/* Numbers with commas between them; @integers or @floats has room for as many as there are. */
static size_t numbers(const char *text, int64_t *integers, float *floats)
{
	size_t count = 0;

	while (*text && *text != ']') {
		char *end;

		if (floats)
			floats[count++] = strtof(text, &end);
		else
			integers[count++] = strtoll(text, &end, 10);
		text = end + (*end == ',');
	}
	return count;
}

static Onnx__TensorProto *list(struct onnx_model *model, const char *at, bool is_float,
			       bool is_scalar)
{
	char *name = word(model, &at), *text = word(model, &at);
	Onnx__TensorProto *tensor = tensor_new(model, name, type_of(is_float ? "float" : "int64"));
	size_t room = strlen(text ? text : "") + 1;

	tensor->float_data = onnx_model_take(model, room * sizeof(float));
	tensor->int64_data = onnx_model_take(model, room * sizeof(int64_t));
	tensor->n_dims = !is_scalar;
	tensor->dims = onnx_model_take(model, sizeof(*tensor->dims));
	tensor->dims[0] = (int64_t)numbers(text ? text : "", tensor->int64_data,
					   is_float ? tensor->float_data : NULL);
	*(is_float ? &tensor->n_float_data : &tensor->n_int64_data) =
		is_scalar ? 1 : (size_t)tensor->dims[0];
	return tensor;
}

/* ------------------------------------------------------------------- nodes */

static void names(struct onnx_model *model, const char *text, char ***array, size_t *count)
{
	while (text && strcmp(text, "-") != 0) {
		size_t length = strcspn(text, ",");

		append(model, array, count, text_of(model, text, length));
		text = text[length] ? text + length + 1 : NULL;
	}
}

/* A graph that "graph" has begun. */
static Onnx__GraphProto *graph_named(const struct onnx_model *model, const char *name)
{
	for (size_t i = 0; i < model->graph_count; i++)
		if (!strcmp(model->graphs[i]->name, name))
			return model->graphs[i];
	fprintf(stderr, "onnx_build: no graph '%s'\n", name);
	abort();
}

static void begin_graph(struct onnx_model *model, const char *at)
{
	Onnx__GraphProto *graph = onnx_model_take(model, sizeof(*graph));

	onnx__graph_proto__init(graph);
	graph->name = word(model, &at);
	append(model, &model->graphs, &model->graph_count, graph);
	model->open = graph;
}

static Onnx__AttributeProto *attribute(struct onnx_model *model, char *text)
{
	Onnx__AttributeProto *attr = onnx_model_take(model, sizeof(*attr));
	char *value = strchr(text, '=') + 1;
	bool is_list = *value == '[', is_float = strchr(value, '.');
	size_t room = strlen(value) + 1;

	onnx__attribute_proto__init(attr);
	attr->name = text_of(model, text, (size_t)(value - text - 1));
	attr->has_type = 1;
	attr->ints = onnx_model_take(model, room * sizeof(*attr->ints));
	attr->floats = onnx_model_take(model, room * sizeof(*attr->floats));
	if (*value == '@') {
		attr->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH;
		attr->g = graph_named(model, value + 1);
	} else if (*value != '[' && *value != '-' && (*value < '0' || *value > '9')) {
		attr->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
		attr->has_s = 1;
		attr->s.data = (uint8_t *)value;
		attr->s.len = strlen(value);
	} else if (is_float) {
		attr->n_floats = numbers(value + is_list, NULL, attr->floats);
		attr->type = is_list ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS :
				       ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
		attr->has_f = !is_list;
		attr->f = attr->floats[0];
		attr->n_floats = is_list ? attr->n_floats : 0;
	} else {
		attr->n_ints = numbers(value + is_list, attr->ints, NULL);
		attr->type = is_list ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS :
				       ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
		attr->has_i = !is_list;
		attr->i = attr->ints[0];
		attr->n_ints = is_list ? attr->n_ints : 0;
	}
	return attr;
}

static Onnx__NodeProto *node_of(struct onnx_model *model, const char *at)
{
	Onnx__NodeProto *node = onnx_model_take(model, sizeof(*node));
	char *op = word(model, &at), *colon = strchr(op, ':'), *domain, *text;

	onnx__node_proto__init(node);
	if (colon) {
		node->name = text_of(model, op, (size_t)(colon - op));
		op = colon + 1;
	}
	domain = strchr(op, '@');
	if (domain) {
		*domain = '\0';
		node->domain = domain + 1;
	}
	node->op_type = op;
	names(model, word(model, &at), &node->input, &node->n_input);
	word(model, &at);
	names(model, word(model, &at), &node->output, &node->n_output);
	while ((text = word(model, &at)))
		append(model, &node->attribute, &node->n_attribute, attribute(model, text));
	return node;
}

static void opset(struct onnx_model *model, const char *at)
{
	Onnx__OperatorSetIdProto *set = onnx_model_take(model, sizeof(*set));
	char *version = word(model, &at);

	onnx__operator_set_id_proto__init(set);
	set->has_version = 1;
	set->version = strtoll(version, NULL, 10);
	set->domain = word(model, &at);
	if (!set->domain && model->model.n_opset_import)
		model->model.opset_import[0] = set;
	else
		append(model, &model->model.opset_import, &model->model.n_opset_import, set);
}

static void statement(struct onnx_model *model, const char *at)
{
	const char *what = word(model, &at);
	Onnx__GraphProto *graph = model->open;

	if (!what)
		return;
	if (!strcmp(what, "opset"))
		opset(model, at);
	else if (!strcmp(what, "graph"))
		begin_graph(model, at);
	else if (!strcmp(what, "end"))
		model->open = &model->graph;
	else if (!strcmp(what, "in"))
		append(model, &graph->input, &graph->n_input, info_of(model, at));
	else if (!strcmp(what, "out"))
		append(model, &graph->output, &graph->n_output, info_of(model, at));
	else if (!strcmp(what, "info"))
		append(model, &graph->value_info, &graph->n_value_info, info_of(model, at));
	else if (!strcmp(what, "init"))
		append(model, &graph->initializer, &graph->n_initializer, zeroes(model, at));
	else if (!strncmp(what, "int", 3))
		append(model, &graph->initializer, &graph->n_initializer,
		       list(model, at, false, !what[3]));
	else if (!strcmp(what, "floats") || !strcmp(what, "flt"))
		append(model, &graph->initializer, &graph->n_initializer,
		       list(model, at, true, what[2] == 't'));
	else if (!strcmp(what, "node"))
		append(model, &graph->node, &graph->n_node, node_of(model, at));
	else
		abort();
}

struct onnx_model *onnx_model_new(const char *text)
{
	struct onnx_model *model = calloc(1, sizeof(*model));

	if (!model)
		abort();
	onnx__model_proto__init(&model->model);
	onnx__graph_proto__init(&model->graph);
	model->model.graph = model->open = &model->graph;
	model->model.has_ir_version = 1;
	model->model.ir_version = 8;
	opset(model, "17");
	while (*text) {
		size_t length = strcspn(text, ";");

		statement(model, text_of(model, text, length));
		text += length + (text[length] == ';');
	}
	return model;
}

void onnx_model_free(struct onnx_model *model)
{
	if (!model)
		return;
	for (size_t i = 0; i < model->block_count; i++)
		free(model->blocks[i]);
	free(model->blocks);
	free(model);
}

void *onnx_model_pack(const struct onnx_model *model, size_t *size)
{
	uint8_t *file;

	*size = onnx__model_proto__get_packed_size(&model->model);
	file = malloc(*size ? *size : 1);
	if (!file)
		abort();
	onnx__model_proto__pack(&model->model, file);
	return file;
}
