/* SPDX-License-Identifier: MIT */
/* Sizes of tensors of TFLite models: each is planned, or refused with a reason. */
#include <errno.h>

#include "tflite_flow.h"

/* out = relu(in), of any shape. */
static struct tb_model shaped(uint8_t type, uint32_t rank)
{
	struct tb_model model = model_of(NULL, 0);

	model.tensor_count = 2;
	for (int t = 0; t < 2; t++) {
		model.tensors[t] = (struct tb_tensor){ t ? "out" : "in", type, rank };
		for (uint32_t d = 0; d < rank; d++)
			model.tensors[t].shape[d] = 2;
	}
	model.op_count = 1;
	model.ops[0] = (struct tb_op)UNARY(RELU, 0, 1);
	return model;
}

/* From scalars to eight dimensions. */
TEST(ranks)
{
	for (uint32_t rank = 0; rank <= 8; rank++) {
		struct tb_model model = shaped(TYPE_FLOAT32, rank);
		AUTO_GRAPH struct npuplan_graph *graph = tflite_accept(&model, NULL);

		assert_int_equal(graph->tensors[0].size, 4u << rank);
		tflite_plan(&model, 2, NULL);
	}
}

TEST(half_bytes)
{
	struct tb_model model = shaped(TYPE_INT4, 1);
	AUTO_GRAPH struct npuplan_graph *graph = NULL;

	model.tensors[0].shape[0] = model.tensors[1].shape[0] = 5;
	graph = tflite_accept(&model, NULL);
	assert_int_equal(graph->tensors[0].size, 3);
	tflite_plan(&model, 2, NULL);
}

/* A batch that the converter did not know, but the file has a size of. */
TEST(signature)
{
	static const int32_t unknown[] = { -1, 2 };
	struct tb_model model = shaped(TYPE_FLOAT32, 2);

	model.tensors[0].signature = model.tensors[1].signature = unknown;
	tflite_plan(&model, 1, NULL);
	model.tensors[1].shape[0] = -1;
	tflite_refuse(&model, -EOPNOTSUPP,
		      "tensor 1 'out' has an unknown size (-1) in dimension 0: convert the model "
		      "with fixed shapes");
}

/* Which elements there are, or how often one has another, values say. */
TEST(by_values)
{
	static const int32_t unknown[] = { -1 };
	struct tb_model model = shaped(TYPE_INT32, 1);

	model.codes[RELU] = (struct tb_code){ BUILTIN_WHERE, 0, NULL };
	tflite_refuse(&model, -EOPNOTSUPP,
		      "operator 0 'out' (where): values decide how large tensor 1 'out' is, which "
		      "is not known before the model runs");
	model.codes[RELU] = (struct tb_code){ BUILTIN_UNIQUE, 0, NULL };
	tflite_refuse(&model, -EOPNOTSUPP,
		      "operator 0 'out' (unique): values decide how large tensor 1 'out' is, which "
		      "is not known before the model runs");
	/* Fill: the converter did not know the size. */
	model.codes[RELU] = (struct tb_code){ 94, 0, NULL };
	model.tensors[1].signature = unknown;
	tflite_refuse(&model, -EOPNOTSUPP,
		      "operator 0 'out' (fill): values decide how large tensor 1 'out' is, which "
		      "is not known before the model runs");
	/* It did. */
	model.tensors[1].signature = NULL;
	tflite_plan(&model, 1, NULL);
}

/* What a shape says is the same in every inference, and so is what is computed of it. */
TEST(by_shapes)
{
	static const int32_t unknown[] = { -1 };
	struct tb_model model = shaped(TYPE_INT32, 1);

	model.codes[LESS] = (struct tb_code){ BUILTIN_SHAPE, 0, NULL };
	model.codes[ADD] = (struct tb_code){ 94, 0, NULL };
	model.tensors[2] = (struct tb_tensor){ "shape", TYPE_INT32, 1, { 1 } };
	model.tensors[3] = (struct tb_tensor){ "twice", TYPE_INT32, 1, { 1 } };
	model.tensor_count = 4;
	model.ops[0] = (struct tb_op)UNARY(LESS, 0, 2);
	model.ops[1] = (struct tb_op)UNARY(RELU, 2, 3);
	model.ops[2] = (struct tb_op)UNARY(ADD, 3, 1);
	model.op_count = 3;
	model.tensors[1].signature = unknown;
	tflite_plan(&model, 1, NULL);
	/* Not of its values. */
	model.codes[LESS] = (struct tb_code){ BUILTIN_RELU, 0, NULL };
	tflite_refuse(&model, -EOPNOTSUPP,
		      "operator 2 'out' (fill): values decide how large tensor 1 'out' is, which "
		      "is not known before the model runs");
}
