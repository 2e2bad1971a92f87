// SPDX-License-Identifier: MIT
#include "operators.h"

#include <stddef.h>

#include "tflite_abi.h"

/* struct known - @inplace: see operator_is_inplace() */
struct known {
	int32_t code;
	bool inplace;
	const char *name;
};

static const struct known all[] = {
	{ 0, true, "ADD" },
	{ 1, false, "AVERAGE_POOL_2D" },
	{ 2, false, "CONCATENATION" },
	{ 3, false, "CONV_2D" },
	{ 4, false, "DEPTHWISE_CONV_2D" },
	{ 6, false, "DEQUANTIZE" },
	{ 9, false, "FULLY_CONNECTED" },
	{ 14, true, "LOGISTIC" },
	{ 16, false, "LSTM" },
	{ 17, false, "MAX_POOL_2D" },
	{ 18, true, "MUL" },
	{ 19, true, "RELU" },
	{ 21, true, "RELU6" },
	{ 22, true, "RESHAPE" },
	{ 23, false, "RESIZE_BILINEAR" },
	{ 25, false, "SOFTMAX" },
	{ 28, true, "TANH" },
	{ 32, false, "CUSTOM" },
	{ 34, false, "PAD" },
	{ 36, false, "GATHER" },
	{ 39, false, "TRANSPOSE" },
	{ 40, false, "MEAN" },
	{ 41, true, "SUB" },
	{ 43, true, "SQUEEZE" },
	{ 44, false, "UNIDIRECTIONAL_SEQUENCE_LSTM" },
	{ 45, false, "STRIDED_SLICE" },
	{ 49, false, "SPLIT" },
	{ 54, false, "PRELU" },
	{ 65, false, "SLICE" },
	{ 67, false, "TRANSPOSE_CONV" },
	{ 70, true, "EXPAND_DIMS" },
	{ 77, false, "SHAPE" },
	{ 83, false, "PACK" },
	{ 88, false, "UNPACK" },
	{ 97, false, "RESIZE_NEAREST_NEIGHBOR" },
	{ 98, true, "LEAKY_RELU" },
	{ 102, false, "SPLIT_V" },
	{ 114, false, "QUANTIZE" },
	{ 117, true, "HARD_SWISH" },
	{ TFL_OP_CALL, false, "CALL" },
	{ TFL_OP_CALL_ONCE, false, "CALL_ONCE" },
	{ TFL_OP_DELEGATE, false, "DELEGATE" },
	{ TFL_OP_IF, false, "IF" },
	{ TFL_OP_WHILE, false, "WHILE" },
};

static const struct known *find(int32_t code)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].code == code)
			return &all[i];
	return NULL;
}

const char *operator_name(int32_t code)
{
	const struct known *known = find(code);

	return known ? known->name : "operator";
}

bool operator_runs_graphs(int32_t code)
{
	return code == TFL_OP_CALL || code == TFL_OP_CALL_ONCE || code == TFL_OP_IF ||
	       code == TFL_OP_WHILE;
}

bool operator_is_inplace(int32_t code)
{
	const struct known *known = find(code);

	return known && known->inplace;
}
