// SPDX-License-Identifier: MIT
/*
 * A FlatBuffer written from its beginning to its end: what a table refers to comes behind it, and
 * the offset that leads there is filled in then. Every table has room for as many fields as the
 * largest has.
 */
#include "compose.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "schema.h"

#define FIELDS	    10
#define FIELD_BYTES 8
#define VTABLE	    (4 + 2 * FIELDS)
#define TABLE	    (4 + FIELD_BYTES * FIELDS)
#define LIMIT	    INT32_MAX

/* struct out - the file in the making; @err: nothing is written any more */
struct out {
	uint8_t *bytes;
	size_t size;
	size_t room;
	int err;
};

/* Zeros at the end; where they begin. After an error all is at 0, and nobody writes there. */
static size_t take(struct out *o, size_t bytes)
{
	size_t at = o->size, room = o->room;

	if (!o->err && bytes > LIMIT - o->size)
		o->err = -E2BIG;
	if (o->err)
		return 0;
	while (room < o->size + bytes)
		room = room ? 2 * room : 4096;
	if (room > o->room) {
		uint8_t *bigger = realloc(o->bytes, room);

		if (!bigger) {
			o->err = -ENOMEM;
			return 0;
		}
		o->bytes = bigger;
		o->room = room;
	}
	memset(o->bytes + at, 0, bytes);
	o->size += bytes;
	return at;
}

static void put(struct out *o, size_t at, uint64_t value, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes && !o->err; i++)
		o->bytes[at + i] = (uint8_t)(value >> (8 * i));
}

/* The four bytes at @at lead to byte @to. */
static void refer(struct out *o, size_t at, size_t to)
{
	put(o, at, to - at, 4);
}

/* A table that has no field yet, behind its vtable. */
static size_t table(struct out *o)
{
	size_t vtable = take(o, VTABLE), at = take(o, TABLE);

	put(o, vtable, VTABLE, 2);
	put(o, vtable + 2, TABLE, 2);
	put(o, at, VTABLE, 4);
	return at;
}

/* A field becomes present; where its value is. */
static size_t field(struct out *o, size_t at, unsigned int number)
{
	unsigned int place = 4 + FIELD_BYTES * number;

	put(o, at - VTABLE + 4 + 2 * number, place, 2);
	return at + place;
}

static void set(struct out *o, size_t at, unsigned int number, uint64_t value, unsigned int bytes)
{
	put(o, field(o, at, number), value, bytes);
}

static size_t set_table(struct out *o, size_t at, unsigned int number)
{
	size_t to = table(o);

	refer(o, field(o, at, number), to);
	return to;
}

/* A vector in a field, of zeros; where its first element is. */
static size_t set_vector(struct out *o, size_t at, unsigned int number, size_t count, size_t stride)
{
	size_t start = take(o, 4), first;

	if (stride && count > LIMIT / stride)
		o->err = o->err ? o->err : -E2BIG;
	first = take(o, count * stride);
	refer(o, field(o, at, number), start);
	put(o, start, count, 4);
	return first;
}

static void set_bytes(struct out *o, size_t at, unsigned int number, const void *data, size_t size)
{
	size_t first = set_vector(o, at, number, size, 1);

	if (!o->err && size)
		memcpy(o->bytes + first, data, size);
}

static void set_text(struct out *o, size_t at, unsigned int number, const char *text)
{
	set_bytes(o, at, number, text, strlen(text));
	take(o, 1);
}

static void set_numbers(struct out *o, size_t at, unsigned int number,
			struct tflite_numbers numbers)
{
	size_t first = set_vector(o, at, number, numbers.count, 4);

	for (uint32_t i = 0; i < numbers.count; i++)
		put(o, first + (size_t)4 * i, (uint32_t)numbers.list[i], 4);
}

/* ----------------------------------------------------------------------- model */

static void write_quantization(struct out *o, size_t tensor, const struct tflite_new_tensor *t)
{
	size_t at = set_table(o, tensor, TENSOR_QUANTIZATION), first;

	first = set_vector(o, at, QUANTIZATION_SCALE, t->scale_count, 4);
	for (uint32_t i = 0; i < t->scale_count; i++) {
		uint32_t bits;

		memcpy(&bits, &t->scales[i], sizeof(bits));
		put(o, first + (size_t)4 * i, bits, 4);
	}
	first = set_vector(o, at, QUANTIZATION_ZERO_POINT, t->zero_point_count, 8);
	for (uint32_t i = 0; i < t->zero_point_count; i++)
		put(o, first + (size_t)8 * i, (uint64_t)(int64_t)t->zero_points[i], 8);
}

/* @buffer: number of the one that has its data, where that is constant */
static size_t write_tensor(struct out *o, const struct tflite_new_tensor *t, uint32_t buffer)
{
	size_t at = table(o);

	set_numbers(o, at, TENSOR_SHAPE, (struct tflite_numbers){ t->shape, t->rank });
	set(o, at, TENSOR_TYPE, t->type, 1);
	set(o, at, TENSOR_BUFFER, t->data ? buffer : 0, 4);
	if (t->name)
		set_text(o, at, TENSOR_NAME, t->name);
	if (t->variable)
		set(o, at, TENSOR_IS_VARIABLE, 1, 1);
	if (t->scale_count)
		write_quantization(o, at, t);
	return at;
}

/* Each operator has a code of its own, of the same number. */
static size_t write_operator(struct out *o, const struct tflite_new_operator *op, uint32_t number)
{
	size_t at = table(o), options;

	set(o, at, OPERATOR_CODE, number, 4);
	set_numbers(o, at, OPERATOR_INPUTS, op->inputs);
	set_numbers(o, at, OPERATOR_OUTPUTS, op->outputs);
	set_numbers(o, at, OPERATOR_INTERMEDIATES, op->intermediates);
	if (!op->options_type)
		return at;
	set(o, at, OPERATOR_OPTIONS_TYPE, op->options_type, 1);
	options = set_table(o, at, OPERATOR_OPTIONS);
	for (uint32_t i = 0; i < op->option_count; i++)
		set(o, options, op->options[i].number, op->options[i].value, op->options[i].bytes);
	return at;
}

static size_t write_code(struct out *o, const struct tflite_new_operator *op)
{
	size_t at = table(o);

	set(o, at, CODE_DEPRECATED_BUILTIN,
	    op->builtin < BUILTIN_PLACEHOLDER ? (uint32_t)op->builtin : BUILTIN_PLACEHOLDER, 1);
	set(o, at, CODE_BUILTIN, (uint32_t)op->builtin, 4);
	return at;
}

/* Buffer 0 is that of tensors without data; each constant has one of its own. */
static void write_buffers(struct out *o, size_t model, const struct tflite_new_model *m)
{
	size_t list = set_vector(o, model, MODEL_BUFFERS, (size_t)m->tensor_count + 1, 4);

	for (uint32_t i = 0; i <= m->tensor_count; i++) {
		size_t at = table(o);

		refer(o, list + (size_t)4 * i, at);
		if (i && m->tensors[i - 1].data)
			set_bytes(o, at, BUFFER_DATA, m->tensors[i - 1].data,
				  m->tensors[i - 1].size);
	}
}

static void write_subgraph(struct out *o, size_t at, const struct tflite_new_model *m)
{
	size_t list = set_vector(o, at, SUBGRAPH_TENSORS, m->tensor_count, 4);

	for (uint32_t i = 0; i < m->tensor_count; i++)
		refer(o, list + (size_t)4 * i, write_tensor(o, &m->tensors[i], i + 1));
	list = set_vector(o, at, SUBGRAPH_OPERATORS, m->operator_count, 4);
	for (uint32_t i = 0; i < m->operator_count; i++)
		refer(o, list + (size_t)4 * i, write_operator(o, &m->operators[i], i));
	set_numbers(o, at, SUBGRAPH_INPUTS, m->inputs);
	set_numbers(o, at, SUBGRAPH_OUTPUTS, m->outputs);
}

int tflite_compose(const struct tflite_new_model *model, void **out, size_t *size,
		   struct npuplan_error *error)
{
	struct out o = { 0 };
	size_t at, list, subgraph;

	*out = NULL;
	*size = 0;
	take(&o, 8);
	at = table(&o);
	refer(&o, 0, at);
	if (!o.err)
		memcpy(o.bytes + 4, TFLITE_IDENTIFIER, 4);
	set(&o, at, MODEL_VERSION, TFLITE_VERSION, 4);
	list = set_vector(&o, at, MODEL_OPERATOR_CODES, model->operator_count, 4);
	for (uint32_t i = 0; i < model->operator_count; i++)
		refer(&o, list + (size_t)4 * i, write_code(&o, &model->operators[i]));
	list = set_vector(&o, at, MODEL_SUBGRAPHS, 1, 4);
	subgraph = table(&o);
	refer(&o, list, subgraph);
	write_subgraph(&o, subgraph, model);
	write_buffers(&o, at, model);
	if (o.err) {
		free(o.bytes);
		return import_fail(error, o.err,
				   o.err == -ENOMEM ? "out of memory" : "more than 2 GiB of model");
	}
	*out = o.bytes;
	*size = o.size;
	return 0;
}
