/* SPDX-License-Identifier: MIT */
/* CALL, IF and WHILE of TFLite models: each refusal, alone in a valid model. */
#include <errno.h>

#include "tflite_flow.h"

TEST(subgraphs)
{
	struct tb_subgraph subs[2];
	struct tb_model model;

	arms(subs);
	model = branching(subs);
	model.ops[1].options[0] = 3;
	tflite_refuse(&model, -EINVAL, "operator 1 (if) runs subgraph 3, but there are only 3");
	model.ops[1].options[0] = -1;
	tflite_refuse(&model, -EINVAL,
		      "operator 1 (if) runs subgraph 4294967295, but there are only 3");
	model = branching(subs);
	model.ops[1].options_type = OPTIONS_WHILE;
	tflite_refuse(&model, -EINVAL, "operator 1 (if): its options have type 93, expected 92");
	model = branching(subs);
	model.ops[1].input_count = 1;
	tflite_refuse(&model, -EINVAL,
		      "operator 1 (if) hands 0 values to subgraph 1, which has 1 inputs");
	model.ops[1].input_count = 0;
	tflite_refuse(&model, -EINVAL, "operator 1 (if) lacks its condition");
	model = branching(subs);
	model.ops[1].outputs[1] = 1;
	model.ops[1].output_count = 2;
	model.op_count = 2;
	tflite_refuse(&model, -EINVAL,
		      "operator 1 (if) takes 2 values of subgraph 1, which has 1 outputs");
	model = branching(subs);
	model.ops[1].inputs[1] = -1;
	tflite_refuse(&model, -EINVAL, "operator 1 (if) lacks input 1");
	model = branching(subs);
	model.ops[1].outputs[0] = -1;
	tflite_refuse(&model, -EINVAL, "operator 1 (if) lacks output 0");
	model = branching(subs);
	subs[1].inputs[0] = 2;
	tflite_refuse(&model, -EINVAL, "input 0 of subgraph 2 is tensor 2, but there are only 2");
	arms(subs);
	subs[1].ops[0].inputs[1] = 2;
	tflite_refuse(&model, -EINVAL,
		      "input 1 of operator 0 of subgraph 2 is tensor 2, but there are only 2");
	arms(subs);
	subs[1].ops[0].code = CODES;
	tflite_refuse(&model, -EINVAL,
		      "operator 0 of subgraph 2 has operator code 11, but there are only 11");
}

TEST(values)
{
	struct tb_subgraph subs[2];
	struct tb_model model;

	arms(subs);
	model = branching(subs);
	subs[0].tensors[0].shape[0] = 5;
	tflite_refuse(&model, -EINVAL,
		      "operator 1 (if) hands tensor 0 of 16 bytes on as tensor 5 of 20 bytes");
	arms(subs);
	subs[0].tensors[0].type = TYPE_FLOAT32;
	tflite_refuse(&model, -EINVAL,
		      "operator 1 (if) hands tensor 0 of type 2 on as tensor 5 of type 0");
	arms(subs);
	subs[1].tensors[1].shape[0] = 1;
	tflite_refuse(&model, -EINVAL,
		      "operator 1 (if) hands tensor 8 of 4 bytes on as tensor 3 of 16 bytes");
	arms(subs);
	subs[1].tensors[1].shape[0] = -1;
	tflite_refuse(&model, -EOPNOTSUPP,
		      "tensor 8 'twice' has an unknown size (-1) in dimension 0: convert the "
		      "model with fixed shapes");
	arms(subs);
	subs[1].tensors[0].buffer = 1;
	tflite_refuse(&model, -EOPNOTSUPP,
		      "input 0 of subgraph 2, tensor 0, has a value of its own");
	arms(subs);
	subs[1].tensors[0].variable = 1;
	tflite_refuse(&model, -EOPNOTSUPP,
		      "input 0 of subgraph 2, tensor 0, has a value of its own");
	arms(subs);
	subs[0].inputs[1] = 0;
	subs[0].input_count = 2;
	model.ops[1].inputs[2] = 0;
	model.ops[1].input_count = 3;
	tflite_refuse(&model, -EINVAL, "input 1 of subgraph 1 is tensor 0, and so is another one");
	/* Sparse data: what it stands for is larger than the bytes that are there. */
	arms(subs);
	model = branching(subs);
	model.tensors[4].sparse = 1;
	model.buffers[1].size = 5;
	subs[1].tensors[1] = (struct tb_tensor)CONSTANT("s");
	subs[1].tensors[1].sparse = 1;
	subs[1].op_count = 0;
	tflite_refuse(&model, -EINVAL,
		      "tensor 8 's' of 5 bytes is handed on as tensor 3 'r' of 16 bytes");
	/* Strings: a constant has bytes, but what another one has nobody knows. */
	arms(subs);
	model = branching(subs);
	model.tensors[4].type = TYPE_STRING;
	model.ops[0] = (struct tb_op)BINARY(LESS, 0, 0, 2);
	model.ops[1].inputs[1] = 4;
	tflite_refuse(&model, -EOPNOTSUPP,
		      "tensor 4 'k' has strings: their size is not known before the model runs");
}

TEST(conditions)
{
	struct tb_subgraph subs[2];
	struct tb_model model;

	arms(subs);
	model = branching(subs);
	model.tensors[2].type = TYPE_INT32;
	tflite_refuse(&model, -EINVAL, "operator 1 (if): its condition, tensor 2, is not one bool");
	model = branching(subs);
	model.tensors[2].rank = 1;
	model.tensors[2].shape[0] = 2;
	tflite_refuse(&model, -EINVAL, "operator 1 (if): its condition, tensor 2, is not one bool");
	model.tensors[2].rank = 0;
	model.ops[0].outputs[0] = 4;
	tflite_refuse(&model, -EINVAL,
		      "tensor 2 'positive' is handed on, but nothing has written it");
	fibonacci(subs);
	model = looping(subs);
	subs[0].tensors[2].type = TYPE_INT8;
	tflite_refuse(&model, -EINVAL,
		      "operator 0 (while): its condition, tensor 7, is not one bool");
	fibonacci(subs);
	subs[0].outputs[1] = 2;
	subs[0].output_count = 2;
	tflite_refuse(&model, -EINVAL,
		      "operator 0 (while) takes 1 values of subgraph 1, which has 2 outputs");
}

TEST(loop_variables)
{
	struct tb_subgraph subs[2];
	struct tb_model model;

	fibonacci(subs);
	model = looping(subs);
	model.ops[0].output_count = 1;
	tflite_refuse(&model, -EINVAL, "operator 0 (while) has 2 inputs, but 1 outputs");
	model = looping(subs);
	model.tensors[3].shape[0] = 3;
	tflite_refuse(&model, -EINVAL,
		      "operator 0 (while) hands tensor 2 of 16 bytes on as tensor 3 of 12 bytes");
	model = looping(subs);
	model.ops[0].outputs[1] = 1;
	tflite_refuse(&model, -EINVAL,
		      "operator 0 (while) gives tensor 1 'out' a value, but it has one from "
		      "elsewhere");
	model.ops[0].outputs[1] = 0;
	tflite_refuse(&model, -EINVAL,
		      "operator 0 (while) gives tensor 0 'in' a value, but it has one from "
		      "elsewhere");
	model = looping(subs);
	model.ops[0].inputs[1] = 4;
	tflite_refuse(&model, -EINVAL,
		      "operator 0 (while) reads tensor 4 'spare', which nothing has written");
	model = looping(subs);
	subs[1].op_count = 0;
	tflite_refuse(&model, -EINVAL, "tensor 10 'sum' is handed on, but nothing has written it");
	fibonacci(subs);
	subs[1].ops[0].outputs[0] = 1;
	subs[1].outputs[1] = 0;
	tflite_refuse(&model, -EINVAL,
		      "tensor 3 'y' is written by operator 2 'y' (add), and a loop or branch "
		      "carries values to it");
	/* Written only in what follows. */
	fibonacci(subs);
	model = looping(subs);
	model.ops[1] = (struct tb_op)UNARY(RELU, 4, 3);
	model.ops[0].outputs[1] = 4;
	model.ops[2] = model.ops[0];
	model.ops[0] = (struct tb_op)UNARY(RELU, 0, 3);
	model.ops[1] = model.ops[2];
	model.ops[2] = (struct tb_op)UNARY(RELU, 5, 6);
	model.tensors[5] = (struct tb_tensor)VALUE("never");
	model.tensors[6] = (struct tb_tensor)VALUE("r");
	model.tensor_count = 7;
	model.op_count = 3;
	tflite_refuse(&model, -EINVAL,
		      "operator 2 'r' (relu) reads tensor 5 'never', which nothing has written");
}

TEST(recursion)
{
	struct tb_subgraph subs[2];
	struct tb_model model;

	arms(subs);
	model = calling(&subs[1]);
	subs[1].ops[0] = model.ops[0];
	subs[1].ops[0].inputs[0] = 0;
	subs[1].ops[0].outputs[0] = 1;
	tflite_refuse(&model, -ELOOP,
		      "operator 0 of subgraph 1 (call) runs subgraph 1, which it is in");
	subs[1].ops[0].options[0] = 0;
	tflite_refuse(&model, -ELOOP,
		      "operator 0 of subgraph 1 (call) runs subgraph 0, which it is in");
}

/* Each subgraph calls the next one ten times: 20 kB of file for ten billion operators. */
TEST(explosion)
{
	enum { DEPTH = 10 };
	static struct tb_subgraph subs[DEPTH];
	struct tb_model model;

	for (int i = 0; i < DEPTH; i++) {
		subs[i] = (struct tb_subgraph){
			.tensor_count = 11,
			.op_count = 10,
			.input_count = 1,
			.output_count = 1,
			.inputs = { 0 },
			.outputs = { 10 },
		};
		for (int k = 0; k < 11; k++)
			subs[i].tensors[k] = (struct tb_tensor)VALUE("t");
		for (int k = 0; k < 10; k++) {
			subs[i].ops[k] = (struct tb_op)UNARY(CALL, k, k + 1);
			subs[i].ops[k].options_type = OPTIONS_CALL;
			subs[i].ops[k].option_count = 1;
			subs[i].ops[k].options[0] = i + 2;
			if (i == DEPTH - 1)
				subs[i].ops[k] = (struct tb_op)UNARY(RELU, k, k + 1);
		}
	}
	model = calling(subs);
	model.more_count = DEPTH;
	model.subgraphs = DEPTH + 1;
	tflite_refuse(&model, -E2BIG,
		      "operator 0 of subgraph 9 (call): subgraphs are run in more than 4096 "
		      "places, each of which has tensors of its own");
}

/* 65 subgraphs in each other. */
TEST(depth)
{
	enum { DEPTH = 65 };
	static struct tb_subgraph subs[DEPTH];
	struct tb_model model;

	for (int i = 0; i < DEPTH; i++) {
		subs[i] = (struct tb_subgraph){
			.tensor_count = 2,
			.op_count = 1,
			.input_count = 1,
			.output_count = 1,
			.tensors = { VALUE("a"), VALUE("b") },
			.ops = { UNARY(CALL, 0, 1) },
			.inputs = { 0 },
			.outputs = { 1 },
		};
		subs[i].ops[0].options_type = OPTIONS_CALL;
		subs[i].ops[0].option_count = 1;
		subs[i].ops[0].options[0] = i + 2;
	}
	subs[DEPTH - 1].ops[0] = (struct tb_op)UNARY(RELU, 0, 1);
	model = calling(subs);
	model.more_count = DEPTH;
	model.subgraphs = DEPTH + 1;
	tflite_refuse(&model, -E2BIG,
		      "operator 0 of subgraph 64 (call): subgraphs are nested more than 64 deep");
	subs[DEPTH - 2].ops[0] = (struct tb_op)UNARY(RELU, 0, 1);
	tflite_plan(&model, 1, NULL);
}

TEST(handles)
{
	struct tb_subgraph subs[2];
	struct tb_model model;
	const struct tb_op handle = {
		.code = HANDLE,
		.output_count = 1,
		.options_type = OPTIONS_VAR_HANDLE,
		.texts = { NULL, "v" },
	};

	/* Each arm hands out a handle of its own. */
	arms(subs);
	for (int i = 0; i < 2; i++) {
		subs[i].tensors[1] = (struct tb_tensor)RESOURCE("h");
		subs[i].ops[0] = handle;
		subs[i].ops[0].outputs[0] = 1;
	}
	model = branching(subs);
	model.tensors[3] = (struct tb_tensor)RESOURCE("r");
	model.ops[2] = (struct tb_op)UNARY(READ, 3, 1);
	tflite_plan(&model, 1, NULL);
	subs[1].ops[0].texts[1] = "w";
	tflite_refuse(&model, -EOPNOTSUPP,
		      "operator 1 (if): which variable tensor 3 is a handle of depends on the way");
	/* A constant that claims to be one. */
	subs[1].op_count = 0;
	tflite_refuse(&model, -EOPNOTSUPP,
		      "operator 1 (if): which variable tensor 3 is a handle of depends on the way");
}

TEST(once_in_a_branch)
{
	struct tb_subgraph subs[3];
	struct tb_model model;

	arms(subs);
	subs[2] = (struct tb_subgraph){ 0 };
	subs[0].ops[1] = (struct tb_op){
		.code = ONCE,
		.options_type = OPTIONS_CALL_ONCE,
		.option_count = 1,
		.options = { 3 },
	};
	subs[0].op_count = 2;
	model = branching(subs);
	model.more_count = 3;
	model.subgraphs = 4;
	tflite_refuse(&model, -EOPNOTSUPP,
		      "operator 1 of subgraph 1 (call_once) stands in or after a loop or branch: "
		      "when it runs is not known");
}

TEST(offline_plan)
{
	struct tb_subgraph subs[2];
	struct tb_model model;
	/* Version, subgraphs, tensors; no tensor has an offset. */
	static const int32_t plan[3 + 9] = { 0, 3, 9, -1, -1, -1, -1, -1, -1, -1, -1, -1 };

	arms(subs);
	model = branching(subs);
	model.metadata_count = 1;
	model.metadata[0].name = TFLITE_OFFLINE_NAME;
	model.metadata[0].buffer = 2;
	model.buffer_count = 3;
	model.buffers[2] = (struct tb_buffer){ .size = sizeof(plan), .data = plan };
	tflite_refuse(&model, -EOPNOTSUPP,
		      "operator 1 (if) runs subgraph 1, whose tensors metadata "
		      "OfflineMemoryAllocation has no offsets for");
}
