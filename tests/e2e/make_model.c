// SPDX-License-Identifier: MIT
/*
 * Writes a small model of floats with weights of its own, for tests that compute: a convolution
 * and a softmax. usage: npumem_make_model FILE
 */
#include <stdio.h>

#include "tflite/schema.h"
#include "tflite_build.h"

/* Numbers from -1 to 1. */
static void fill(float *values, size_t count)
{
	uint32_t state = 1;

	for (size_t i = 0; i < count; i++) {
		state = state * 1664525u + 1013904223u;
		values[i] = (float)(state >> 16) / 32768.0f - 1.0f;
	}
}

int main(int argc, char **argv)
{
	static float weights[54], bias[2];
	static struct tb_file file;
	struct tb_model model = tb_valid();
	FILE *out;

	if (argc != 2)
		return 2;
	for (uint32_t t = 0; t < model.tensor_count; t++)
		model.tensors[t].type = TYPE_FLOAT32;
	model.tensors[0].shape[1] = model.tensors[0].shape[2] = 64;
	for (uint32_t t = 3; t < 5; t++)
		model.tensors[t].shape[1] = model.tensors[t].shape[2] = 32;
	fill(weights, 54);
	fill(bias, 2);
	model.buffers[1] = (struct tb_buffer){ .size = sizeof(weights), .data = weights };
	model.buffers[2] = (struct tb_buffer){ .size = sizeof(bias), .data = bias };
	tb_build(&model, &file);
	out = fopen(argv[1], "w");
	if (!out || fwrite(file.bytes, file.size, 1, out) != 1 || fclose(out)) {
		perror(argv[1]);
		return 1;
	}
	return 0;
}
