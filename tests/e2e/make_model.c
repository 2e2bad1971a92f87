// SPDX-License-Identifier: MIT
/*
 * Writes a small model of floats with weights of its own, for tests that compute: a convolution
 * and a softmax; or these, a concat of both, and a relu of that; or one with state.
 *
 * usage: npumem_make_model FILE [concat|stream]
 */
#include <stdio.h>
#include <string.h>

#include "stream_model.h"
#include "tflite/schema.h"
#include "tflite_build.h"

/* Behind the convolution and the softmax: both of them, one beside the other in each pixel. */
static void add_concat(struct tb_model *model)
{
	model->codes[2] = (struct tb_code){ BUILTIN_CONCATENATION, BUILTIN_CONCATENATION, NULL };
	model->codes[3] = (struct tb_code){ BUILTIN_RELU, BUILTIN_RELU, NULL };
	model->ops[2] = (struct tb_op){
		.code = 2,
		.input_count = 2,
		.output_count = 1,
		.inputs = { 3, 4 },
		.outputs = { 5 },
		.options_type = OPTIONS_CONCATENATION,
		.option_count = 1,
		.options = { 3 },
	};
	model->ops[3] = (struct tb_op){
		.code = 3, .input_count = 1, .output_count = 1, .inputs = { 5 }, .outputs = { 6 }
	};
	model->code_count = model->op_count = 4;
	for (uint32_t t = 5; t < 7; t++) {
		model->tensors[t] = model->tensors[4];
		model->tensors[t].shape[3] = 4;
		model->tensors[t].name = t == 5 ? "both" : "relu";
	}
	model->tensor_count = 7;
	model->outputs[0] = 6;
}

static struct tb_model computing(bool concat)
{
	static float weights[54], bias[2];
	struct tb_model model = tb_valid();

	for (uint32_t t = 0; t < model.tensor_count; t++)
		model.tensors[t].type = TYPE_FLOAT32;
	model.tensors[0].shape[1] = model.tensors[0].shape[2] = 64;
	for (uint32_t t = 3; t < 5; t++)
		model.tensors[t].shape[1] = model.tensors[t].shape[2] = 32;
	if (concat)
		add_concat(&model);
	stream_fill(weights, 54, 1);
	stream_fill(bias, 2, 1);
	model.buffers[1] = (struct tb_buffer){ .size = sizeof(weights), .data = weights };
	model.buffers[2] = (struct tb_buffer){ .size = sizeof(bias), .data = bias };
	return model;
}

int main(int argc, char **argv)
{
	const char *kind = argc == 3 ? argv[2] : "";
	bool stream = !strcmp(kind, "stream"), concat = !strcmp(kind, "concat");
	static struct tb_file file;
	struct tb_model model;
	FILE *out;

	if (argc != 2 && !stream && !concat)
		return 2;
	model = stream ? stream_model() : computing(concat);
	tb_build(&model, &file);
	out = fopen(argv[1], "w");
	if (!out || fwrite(file.bytes, file.size, 1, out) != 1 || fclose(out)) {
		perror(argv[1]);
		return 1;
	}
	return 0;
}
