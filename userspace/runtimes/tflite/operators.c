// SPDX-License-Identifier: MIT
#include "operators.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>

#include "tflite/reader.h"
#include "tflite_abi.h"

/* Names of the schema that graph JSON has other names for. */
static const struct {
	int32_t code;
	const char *name;
} names[] = {
	{ 1, "AVERAGE_POOL_2D" },
	{ 2, "CONCATENATION" },
	{ 3, "CONV_2D" },
	{ 4, "DEPTHWISE_CONV_2D" },
	{ 9, "FULLY_CONNECTED" },
	{ 14, "LOGISTIC" },
	{ 17, "MAX_POOL_2D" },
	{ 32, "CUSTOM" },
	{ 60, "PADV2" },
	{ 67, "TRANSPOSE_CONV" },
	{ 97, "RESIZE_NEAREST_NEIGHBOR" },
	{ 117, "HARD_SWISH" },
	{ 126, "BATCH_MATMUL" },
	{ 132, "CONV_3D" },
	{ 141, "CONV_3D_TRANSPOSE" },
};

/* Those of operator_is_inplace(), of kernels that compute element by element. */
static const int32_t inplace[] = {
	0 /* ADD */,	  14 /* LOGISTIC */,	18 /* MUL */,	     19 /* RELU */,
	21 /* RELU6 */,	  22 /* RESHAPE */,	28 /* TANH */,	     41 /* SUB */,
	43 /* SQUEEZE */, 70 /* EXPAND_DIMS */, 98 /* LEAKY_RELU */, 117 /* HARD_SWISH */,
};

struct operator_text operator_name(int32_t code)
{
	const char *own = tflite_builtin_name(code);
	struct operator_text text;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].code == code)
			own = names[i].name;
	if (own)
		snprintf(text.s, sizeof(text.s), "%s", own);
	else
		snprintf(text.s, sizeof(text.s), "operator %d", (int)code);
	for (char *c = text.s; *c && own; c++)
		*c = (char)toupper((unsigned char)*c);
	return text;
}

bool operator_runs_graphs(int32_t code)
{
	return code == TFL_OP_CALL || code == TFL_OP_CALL_ONCE || code == TFL_OP_IF ||
	       code == TFL_OP_WHILE;
}

bool operator_is_inplace(int32_t code)
{
	for (size_t i = 0; i < sizeof(inplace) / sizeof(inplace[0]); i++)
		if (inplace[i] == code)
			return true;
	return false;
}
