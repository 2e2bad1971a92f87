/* SPDX-License-Identifier: MIT */
/* Small TFLite models that run subgraphs, for tests that spoil them. */
#pragma once

#include "tflite_check.h"
#include "tflite/schema.h"

enum { ADD, LESS, RELU, RESHAPE, CALL, IF, WHILE, HANDLE, READ, ASSIGN, ONCE, CODES };

#define VALUE(name)    { name, TYPE_INT32, 1, { 4 }, 0, 0, 0 }
#define CONSTANT(name) { name, TYPE_INT32, 1, { 4 }, 1, 0, 0 }
#define BOOL(name)     { name, TYPE_BOOL, 0, { 0 }, 0, 0, 0 }
#define RESOURCE(name) { name, TYPE_RESOURCE, 0, { 0 }, 0, 0, 0 }
#define UNARY(op, from, to)                                                                       \
	{                                                                                         \
		.code = op, .input_count = 1, .output_count = 1, .inputs = { from }, .outputs = { \
			to                                                                        \
		}                                                                                 \
	}
#define BINARY(op, a, b, to)                                                                      \
	{                                                                                         \
		.code = op, .input_count = 2, .output_count = 1, .inputs = { a, b }, .outputs = { \
			to                                                                        \
		}                                                                                 \
	}

static inline struct tb_model model_of(const struct tb_subgraph *more, uint32_t count)
{
	return (struct tb_model){
		.version = TFLITE_VERSION,
		.subgraphs = count + 1,
		.more_count = count,
		.more = more,
		.code_count = CODES,
		.buffer_count = 2,
		.codes = {
			[ADD] = { BUILTIN_ADD, 0, NULL },
			[LESS] = { 58, 0, NULL },
			[RELU] = { BUILTIN_RELU, 0, NULL },
			[RESHAPE] = { BUILTIN_RESHAPE, 0, NULL },
			[CALL] = { BUILTIN_CALL, 0, NULL },
			[IF] = { BUILTIN_IF, 0, NULL },
			[WHILE] = { BUILTIN_WHILE, 0, NULL },
			[HANDLE] = { BUILTIN_PLACEHOLDER, BUILTIN_VAR_HANDLE, NULL },
			[READ] = { BUILTIN_PLACEHOLDER, BUILTIN_READ_VARIABLE, NULL },
			[ASSIGN] = { BUILTIN_PLACEHOLDER, BUILTIN_ASSIGN_VARIABLE, NULL },
			[ONCE] = { BUILTIN_PLACEHOLDER, BUILTIN_CALL_ONCE, NULL },
		},
		.buffers = { { 0 }, { .size = 16 } },
		.input_count = 1,
		.output_count = 1,
		.inputs = { 0 },
		.outputs = { 1 },
	};
}

/*
 * (x, y) -> less(x, y), then (x, y) -> (y, add(x, y)) as subgraphs 1 and 2; the model runs them as
 * a loop that begins with (in, k), and out is the loop's first variable.
 */
static inline void fibonacci(struct tb_subgraph subs[2])
{
	subs[0] = (struct tb_subgraph){
		.tensor_count = 3,
		.op_count = 1,
		.input_count = 2,
		.output_count = 1,
		.tensors = { VALUE("tx"), VALUE("ty"), BOOL("less") },
		.ops = { BINARY(LESS, 0, 1, 2) },
		.inputs = { 0, 1 },
		.outputs = { 2 },
	};
	subs[1] = (struct tb_subgraph){
		.tensor_count = 3,
		.op_count = 1,
		.input_count = 2,
		.output_count = 2,
		.tensors = { VALUE("x"), VALUE("y"), VALUE("sum") },
		.ops = { BINARY(ADD, 0, 1, 2) },
		.inputs = { 0, 1 },
		.outputs = { 1, 2 },
	};
}

static inline struct tb_model looping(const struct tb_subgraph subs[2])
{
	struct tb_model model = model_of(subs, 2);

	model.tensor_count = 5;
	model.tensors[0] = (struct tb_tensor)VALUE("in");
	model.tensors[1] = (struct tb_tensor)VALUE("out");
	model.tensors[2] = (struct tb_tensor)CONSTANT("k");
	model.tensors[3] = (struct tb_tensor)VALUE("y");
	model.tensors[4] = (struct tb_tensor)VALUE("spare");
	model.op_count = 1;
	model.ops[0] = (struct tb_op){
		.code = WHILE,
		.input_count = 2,
		.output_count = 2,
		.inputs = { 0, 2 },
		.outputs = { 1, 3 },
		.options_type = OPTIONS_WHILE,
		.option_count = 2,
		.options = { 1, 2 },
	};
	return model;
}

/* in > 0 ? relu(in) : in + in, as subgraphs 1 and 2. */
static inline void arms(struct tb_subgraph subs[2])
{
	subs[0] = (struct tb_subgraph){
		.tensor_count = 2,
		.op_count = 1,
		.input_count = 1,
		.output_count = 1,
		.tensors = { VALUE("a"), VALUE("relu") },
		.ops = { UNARY(RELU, 0, 1) },
		.inputs = { 0 },
		.outputs = { 1 },
	};
	subs[1] = (struct tb_subgraph){
		.tensor_count = 2,
		.op_count = 1,
		.input_count = 1,
		.output_count = 1,
		.tensors = { VALUE("b"), VALUE("twice") },
		.ops = { BINARY(ADD, 0, 0, 1) },
		.inputs = { 0 },
		.outputs = { 1 },
	};
}

static inline struct tb_model branching(const struct tb_subgraph subs[2])
{
	struct tb_model model = model_of(subs, 2);

	model.tensor_count = 5;
	model.tensors[0] = (struct tb_tensor)VALUE("in");
	model.tensors[1] = (struct tb_tensor)VALUE("out");
	model.tensors[2] = (struct tb_tensor)BOOL("positive");
	model.tensors[3] = (struct tb_tensor)VALUE("r");
	model.tensors[4] = (struct tb_tensor)CONSTANT("k");
	model.op_count = 3;
	model.ops[0] = (struct tb_op)BINARY(LESS, 0, 4, 2);
	model.ops[1] = (struct tb_op){
		.code = IF,
		.input_count = 2,
		.output_count = 1,
		.inputs = { 2, 0 },
		.outputs = { 3 },
		.options_type = OPTIONS_IF,
		.option_count = 2,
		.options = { 1, 2 },
	};
	model.ops[2] = (struct tb_op)UNARY(RELU, 3, 1);
	return model;
}

static inline struct tb_model calling(const struct tb_subgraph *sub)
{
	struct tb_model model = model_of(sub, 1);

	model.tensor_count = 4;
	model.tensors[0] = (struct tb_tensor)VALUE("in");
	model.tensors[1] = (struct tb_tensor)VALUE("out");
	model.tensors[2] = (struct tb_tensor)VALUE("mid");
	model.tensors[3] = (struct tb_tensor)VALUE("spare");
	model.op_count = 2;
	for (int i = 0; i < 2; i++)
		model.ops[i] = (struct tb_op){
			.code = CALL,
			.input_count = 1,
			.output_count = 1,
			.inputs = { i ? 2 : 0 },
			.outputs = { i ? 1 : 2 },
			.options_type = OPTIONS_CALL,
			.option_count = 1,
			.options = { 1 },
		};
	return model;
}
