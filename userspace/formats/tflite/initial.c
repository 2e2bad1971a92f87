// SPDX-License-Identifier: MIT
#include "initial.h"

#include <string.h>

#include "reader.h"
#include "schema.h"

/* struct model - the tables that are looked into */
struct model {
	struct flatbuf *fb;
	struct flatbuf_vector codes;
	struct flatbuf_vector buffers;
	struct flatbuf_vector subgraphs;
};

/* struct key - a variable's container and name */
struct key {
	struct flatbuf_vector container;
	struct flatbuf_vector name;
};

int32_t tflite_builtin(struct flatbuf *fb, const struct flatbuf_vector *codes,
		       const struct flatbuf_table *operation)
{
	uint32_t index = flatbuf_u32(fb, operation, OPERATOR_CODE, 0);
	struct flatbuf_table code;
	uint8_t old;
	int32_t builtin;

	if (index >= codes->count)
		return -1;
	code = flatbuf_vector_table(fb, codes, index);
	old = flatbuf_u8(fb, &code, CODE_DEPRECATED_BUILTIN, 0);
	builtin = flatbuf_i32(fb, &code, CODE_BUILTIN, 0);
	return old <= INT8_MAX && old > builtin ? old : builtin;
}

/* A number of a list; -1: there are not so many. */
static int32_t number(struct flatbuf *fb, const struct flatbuf_table *operation, unsigned int list,
		      uint32_t at)
{
	struct flatbuf_vector numbers = flatbuf_vector(fb, operation, list, 4);

	return at < numbers.count ? flatbuf_vector_i32(fb, &numbers, at) : -1;
}

static struct key key_of(struct flatbuf *fb, const struct flatbuf_table *operation)
{
	struct flatbuf_table options = flatbuf_table(fb, operation, OPERATOR_OPTIONS);

	return (struct key){
		.container = flatbuf_vector(fb, &options, VAR_HANDLE_CONTAINER, 1),
		.name = flatbuf_vector(fb, &options, VAR_HANDLE_NAME, 1),
	};
}

static bool is_same(const struct flatbuf *fb, const struct flatbuf_vector *a,
		    const struct flatbuf_vector *b)
{
	return a->count == b->count && !memcmp(fb->data + a->pos, fb->data + b->pos, a->count);
}

/* The variable that a tensor of a subgraph is a handle of. False: VAR_HANDLE does not make it. */
static bool find_key(const struct model *m, const struct flatbuf_vector *operators, int32_t handle,
		     struct key *key)
{
	for (uint32_t i = 0; i < operators->count && handle >= 0 && !m->fb->err; i++) {
		struct flatbuf_table operation = flatbuf_vector_table(m->fb, operators, i);

		if (tflite_builtin(m->fb, &m->codes, &operation) != BUILTIN_VAR_HANDLE ||
		    number(m->fb, &operation, OPERATOR_OUTPUTS, 0) != handle)
			continue;
		*key = key_of(m->fb, &operation);
		return !m->fb->err;
	}
	return false;
}

static struct flatbuf_vector operators_of(const struct model *m, uint32_t subgraph)
{
	struct flatbuf_table table = flatbuf_vector_table(m->fb, &m->subgraphs, subgraph);

	return flatbuf_vector(m->fb, &table, SUBGRAPH_OPERATORS, 4);
}

static struct flatbuf_vector constant_of(const struct model *m, uint32_t subgraph, int32_t tensor)
{
	struct flatbuf_table table = flatbuf_vector_table(m->fb, &m->subgraphs, subgraph);
	struct flatbuf_vector tensors = flatbuf_vector(m->fb, &table, SUBGRAPH_TENSORS, 4);

	if (tensor < 0 || (uint32_t)tensor >= tensors.count)
		return (struct flatbuf_vector){ 0 };
	table = flatbuf_vector_table(m->fb, &tensors, (uint32_t)tensor);
	return tflite_buffer(m->fb, &m->buffers, flatbuf_u32(m->fb, &table, TENSOR_BUFFER, 0));
}

/* What a subgraph assigns last to the variable, if it does, becomes @value. */
static void look_into(const struct model *m, uint32_t subgraph, const struct key *key,
		      struct flatbuf_vector *value)
{
	struct flatbuf_vector operators = operators_of(m, subgraph);

	for (uint32_t i = 0; i < operators.count && !m->fb->err; i++) {
		struct flatbuf_table operation = flatbuf_vector_table(m->fb, &operators, i);
		struct key other;

		if (tflite_builtin(m->fb, &m->codes, &operation) == BUILTIN_ASSIGN_VARIABLE &&
		    find_key(m, &operators, number(m->fb, &operation, OPERATOR_INPUTS, 0),
			     &other) &&
		    is_same(m->fb, &other.container, &key->container) &&
		    is_same(m->fb, &other.name, &key->name))
			*value = constant_of(m, subgraph,
					     number(m->fb, &operation, OPERATOR_INPUTS, 1));
	}
}

struct flatbuf_vector tflite_variable_begins(struct flatbuf *fb, uint32_t handle)
{
	struct flatbuf_table root = flatbuf_root(fb, TFLITE_IDENTIFIER), operation, options;
	const struct model m = { .fb = fb,
				 .codes = flatbuf_vector(fb, &root, MODEL_OPERATOR_CODES, 4),
				 .buffers = flatbuf_vector(fb, &root, MODEL_BUFFERS, 4),
				 .subgraphs = flatbuf_vector(fb, &root, MODEL_SUBGRAPHS, 4) };
	struct flatbuf_vector operators, value = { 0 };
	uint32_t subgraph;
	struct key key;

	if (!m.subgraphs.count || handle > INT32_MAX)
		return value;
	operators = operators_of(&m, 0);
	if (!find_key(&m, &operators, (int32_t)handle, &key))
		return value;
	for (uint32_t i = 0; i < operators.count && !fb->err; i++) {
		operation = flatbuf_vector_table(fb, &operators, i);
		if (tflite_builtin(fb, &m.codes, &operation) != BUILTIN_CALL_ONCE)
			continue;
		options = flatbuf_table(fb, &operation, OPERATOR_OPTIONS);
		subgraph = flatbuf_u32(fb, &options, CALL_ONCE_SUBGRAPH, 0);
		if (subgraph < m.subgraphs.count)
			look_into(&m, subgraph, &key, &value);
	}
	return value;
}
