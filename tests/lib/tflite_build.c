/* SPDX-License-Identifier: MIT */
#include "tflite_build.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tflite/schema.h"

/* Every table here has this many fields' slots, of 8 bytes each. */
#define SLOTS 12

void tb_put(struct tb_file *file, size_t at, uint64_t value, unsigned int bytes)
{
	assert(at + bytes <= sizeof(file->bytes));
	for (unsigned int i = 0; i < bytes; i++)
		file->bytes[at + i] = (uint8_t)(value >> (8 * i));
}

uint64_t tb_get(const struct tb_file *file, size_t at, unsigned int bytes)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < bytes; i++)
		value |= (uint64_t)file->bytes[at + i] << (8 * i);
	return value;
}

static size_t take(struct tb_file *file, size_t bytes)
{
	size_t at = file->size;

	file->size += bytes;
	assert(file->size <= sizeof(file->bytes));
	return at;
}

/* The 32-bit offset at @at leads to what is written next. */
static void refer(struct tb_file *file, size_t at)
{
	tb_put(file, at, file->size - at, 4);
}

/* A table without fields: its vtable stands right before it. */
static size_t table(struct tb_file *file)
{
	size_t vtable = take(file, 4 + 2 * SLOTS);
	size_t at = take(file, 4 + 8 * SLOTS);

	tb_put(file, vtable, 4 + 2 * SLOTS, 2);
	tb_put(file, vtable + 2, 4 + 8 * SLOTS, 2);
	tb_put(file, at, at - vtable, 4);
	return at;
}

/* Where a table that is written next will stand. */
static void refer_table(struct tb_file *file, size_t at)
{
	tb_put(file, at, file->size + 4 + 2 * SLOTS - at, 4);
}

/* Make a field present; the place of its value. */
static size_t field(struct tb_file *file, size_t at, unsigned int number)
{
	size_t vtable = at - (4 + 2 * SLOTS);

	tb_put(file, vtable + 4 + 2 * number, 4 + 8 * number, 2);
	return at + 4 + 8 * number;
}

static void set(struct tb_file *file, size_t at, unsigned int number, uint64_t value,
		unsigned int bytes)
{
	tb_put(file, field(file, at, number), value, bytes);
}

/* A vector in a field; the place of its first element. */
static size_t vector(struct tb_file *file, size_t at, unsigned int number, uint32_t count,
		     size_t stride)
{
	size_t start;

	refer(file, field(file, at, number));
	start = take(file, 4);
	tb_put(file, start, count, 4);
	return take(file, count * stride);
}

static void text(struct tb_file *file, size_t at, unsigned int number, const char *string)
{
	size_t start;

	if (!string)
		return;
	start = vector(file, at, number, (uint32_t)strlen(string), 1);
	memcpy(file->bytes + start, string, strlen(string));
	take(file, 1);
}

static void numbers(struct tb_file *file, size_t at, unsigned int field_number,
		    const int32_t *values, uint32_t count)
{
	size_t start = vector(file, at, field_number, count, 4);

	for (uint32_t i = 0; i < count; i++)
		tb_put(file, start + 4 * i, (uint32_t)values[i], 4);
}

static void build_tensor(const struct tb_tensor *tensor, struct tb_file *file, size_t at,
			 bool first)
{
	if (first)
		file->shape = file->size + 4;
	numbers(file, at, TENSOR_SHAPE, tensor->shape, tensor->rank);
	set(file, at, TENSOR_TYPE, tensor->type, 1);
	set(file, at, TENSOR_BUFFER, tensor->buffer, 4);
	text(file, at, TENSOR_NAME, tensor->name);
	if (tensor->variable)
		set(file, at, TENSOR_IS_VARIABLE, 1, 1);
	if (tensor->signature)
		numbers(file, at, TENSOR_SHAPE_SIGNATURE, tensor->signature, tensor->rank);
	if (tensor->sparse) {
		refer_table(file, field(file, at, TENSOR_SPARSITY));
		table(file);
	}
}

static void build_op(const struct tb_op *op, struct tb_file *file, size_t at)
{
	size_t options;

	set(file, at, OPERATOR_CODE, op->code, 4);
	numbers(file, at, OPERATOR_INPUTS, op->inputs, op->input_count);
	numbers(file, at, OPERATOR_OUTPUTS, op->outputs, op->output_count);
	set(file, at, OPERATOR_OPTIONS_TYPE, op->options_type, 1);
	if (!op->options_type || op->no_options_table)
		return;
	refer_table(file, field(file, at, OPERATOR_OPTIONS));
	options = table(file);
	for (uint32_t i = 0; i < op->option_count; i++)
		set(file, options, i, (uint32_t)op->options[i], 4);
	for (unsigned int i = 0; i < 2; i++)
		text(file, options, i, op->texts[i]);
}

/* @is_first: places of its parts are kept in @file */
static void build_subgraph(const struct tb_subgraph *sub, struct tb_file *file, size_t at,
			   bool is_first)
{
	size_t list, item;

	numbers(file, at, SUBGRAPH_INPUTS, sub->inputs, sub->input_count);
	numbers(file, at, SUBGRAPH_OUTPUTS, sub->outputs, sub->output_count);
	text(file, at, SUBGRAPH_NAME, is_first ? "main" : "other");
	list = vector(file, at, SUBGRAPH_TENSORS, sub->tensor_count, 4);
	if (is_first)
		file->tensors = list;
	for (uint32_t i = 0; i < sub->tensor_count; i++) {
		refer_table(file, list + 4 * i);
		item = table(file);
		build_tensor(&sub->tensors[i], file, item, is_first && !i);
	}
	list = vector(file, at, SUBGRAPH_OPERATORS, sub->op_count, 4);
	for (uint32_t i = 0; i < sub->op_count; i++) {
		refer_table(file, list + 4 * i);
		item = table(file);
		build_op(&sub->ops[i], file, item);
	}
}

static struct tb_subgraph first_of(const struct tb_model *model)
{
	struct tb_subgraph first = {
		.tensor_count = model->tensor_count,
		.op_count = model->op_count,
		.input_count = model->input_count,
		.output_count = model->output_count,
	};

	memcpy(first.tensors, model->tensors, sizeof(first.tensors));
	memcpy(first.ops, model->ops, sizeof(first.ops));
	memcpy(first.inputs, model->inputs, sizeof(first.inputs));
	memcpy(first.outputs, model->outputs, sizeof(first.outputs));
	return first;
}

void tb_build(const struct tb_model *model, struct tb_file *file)
{
	const struct tb_subgraph first = first_of(model);
	size_t at, list, item;

	memset(file, 0, sizeof(*file));
	take(file, 8);
	memcpy(file->bytes + 4, TFLITE_IDENTIFIER, 4);
	refer_table(file, 0);
	at = file->model = table(file);
	set(file, at, MODEL_VERSION, model->version, 4);
	list = vector(file, at, MODEL_OPERATOR_CODES, model->code_count, 4);
	for (uint32_t i = 0; i < model->code_count; i++) {
		refer_table(file, list + 4 * i);
		item = table(file);
		set(file, item, CODE_DEPRECATED_BUILTIN, model->codes[i].deprecated, 1);
		set(file, item, CODE_BUILTIN, (uint32_t)model->codes[i].builtin, 4);
		text(file, item, CODE_CUSTOM, model->codes[i].custom);
	}
	list = vector(file, at, MODEL_BUFFERS, model->buffer_count, 4);
	for (uint32_t i = 0; i < model->buffer_count; i++) {
		const struct tb_buffer *buffer = &model->buffers[i];
		size_t data;

		refer_table(file, list + 4 * i);
		item = table(file);
		if (buffer->size) {
			data = vector(file, item, BUFFER_DATA, buffer->size, 1);
			if (buffer->data)
				memcpy(file->bytes + data, buffer->data, buffer->size);
		}
		if (buffer->offset) {
			set(file, item, BUFFER_OFFSET, buffer->offset, 8);
			set(file, item, BUFFER_SIZE, buffer->offset_size, 8);
		}
	}
	if (model->metadata_count)
		list = vector(file, at, MODEL_METADATA, model->metadata_count, 4);
	for (uint32_t i = 0; i < model->metadata_count; i++) {
		refer_table(file, list + 4 * i);
		item = table(file);
		text(file, item, METADATA_NAME, model->metadata[i].name);
		set(file, item, METADATA_BUFFER, model->metadata[i].buffer, 4);
	}
	list = vector(file, at, MODEL_SUBGRAPHS, model->subgraphs, 4);
	for (uint32_t i = 0; i < model->subgraphs; i++) {
		refer_table(file, list + 4 * i);
		item = table(file);
		if (i && i - 1 < model->more_count)
			build_subgraph(&model->more[i - 1], file, item, false);
		if (i)
			continue;
		file->subgraph = item;
		build_subgraph(&first, file, item, true);
	}
}

void *tb_exact(const struct tb_model *model, size_t *size)
{
	struct tb_file *file = malloc(sizeof(*file));
	void *exact;

	if (!file)
		abort();
	tb_build(model, file);
	*size = file->size;
	exact = malloc(file->size);
	if (!exact)
		abort();
	memcpy(exact, file->bytes, file->size);
	free(file);
	return exact;
}

struct tb_model tb_valid(void)
{
	return (struct tb_model){
		.version = TFLITE_VERSION,
		.subgraphs = 1,
		.tensor_count = 5,
		.code_count = 2,
		.op_count = 2,
		.buffer_count = 3,
		.input_count = 1,
		.output_count = 1,
		.tensors = {
			{ "in", TYPE_INT8, 4, { 1, 8, 8, 3 }, 0, 0, 0 },
			{ "w", TYPE_INT8, 4, { 2, 3, 3, 3 }, 1, 0, 0 },
			{ "b", TYPE_INT32, 1, { 2 }, 2, 0, 0 },
			{ "c", TYPE_INT8, 4, { 1, 4, 4, 2 }, 0, 0, 0 },
			{ "out", TYPE_INT8, 4, { 1, 4, 4, 2 }, 0, 0, 0 },
		},
		.codes = {
			{ BUILTIN_CONV_2D, BUILTIN_CONV_2D, NULL },
			{ BUILTIN_SOFTMAX, BUILTIN_SOFTMAX, NULL },
		},
		.ops = {
			{ .code = 0, .input_count = 3, .output_count = 1, .inputs = { 0, 1, 2 },
			  .outputs = { 3 }, .options_type = OPTIONS_CONV_2D, .option_count = 6,
			  .options = { PADDING_SAME, 2, 2, 0, 1, 1 } },
			{ .code = 1, .input_count = 1, .output_count = 1, .inputs = { 3 },
			  .outputs = { 4 } },
		},
		.buffers = { { 0 }, { .size = 54 }, { .size = 8 } },
		.inputs = { 0 },
		.outputs = { 4 },
	};
}
