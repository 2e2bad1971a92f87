// SPDX-License-Identifier: MIT
/*
 * The runtime's structs of parameters, as tables: what is where in them has not changed from 2.9 to
 * 2.14, since later fields come at the end. What a field means is for the file's reader to say.
 */
#include "params.h"

#include <string.h>

#include "tflite/schema.h"

enum kind {
	NUMBER = 1, /* of 32 bits, an integer or a float */
	WORD,	    /* an enumeration with the file's numbers */
	PADDING,    /* one whose numbers are larger by 1 */
	FLAG,	    /* a byte */
};

/* struct param - @field of the file's options, @offset of the runtime's struct */
struct param {
	uint8_t kind;
	uint8_t field;
	uint8_t offset;
};

struct params {
	int32_t builtin;
	uint8_t type;
	struct param list[TFLITE_NEW_OPTIONS];
};

#define POOL                                                                                 \
	{                                                                                    \
		{ PADDING, POOL_2D_PADDING, 0 },       { NUMBER, POOL_2D_STRIDE_W, 4 },      \
		{ NUMBER, POOL_2D_STRIDE_H, 8 },       { NUMBER, POOL_2D_FILTER_WIDTH, 12 }, \
		{ NUMBER, POOL_2D_FILTER_HEIGHT, 16 }, { WORD, POOL_2D_ACTIVATION, 20 },     \
	}

static const struct params all[] = {
	{ BUILTIN_ADD, OPTIONS_ADD, { { WORD, ADD_ACTIVATION, 0 } } },
	{ BUILTIN_AVERAGE_POOL_2D, OPTIONS_POOL_2D, POOL },
	{ BUILTIN_CONCATENATION,
	  OPTIONS_CONCATENATION,
	  { { NUMBER, CONCATENATION_AXIS, 0 }, { WORD, CONCATENATION_ACTIVATION, 4 } } },
	{ BUILTIN_CONV_2D,
	  OPTIONS_CONV_2D,
	  { { PADDING, CONV_2D_PADDING, 0 },
	    { NUMBER, CONV_2D_STRIDE_W, 4 },
	    { NUMBER, CONV_2D_STRIDE_H, 8 },
	    { WORD, CONV_2D_ACTIVATION, 12 },
	    { NUMBER, CONV_2D_DILATION_W, 16 },
	    { NUMBER, CONV_2D_DILATION_H, 20 } } },
	{ BUILTIN_DEPTHWISE_CONV_2D,
	  OPTIONS_DEPTHWISE_CONV_2D,
	  { { PADDING, DEPTHWISE_PADDING, 0 },
	    { NUMBER, DEPTHWISE_STRIDE_W, 4 },
	    { NUMBER, DEPTHWISE_STRIDE_H, 8 },
	    { WORD, DEPTHWISE_ACTIVATION, 16 },
	    { NUMBER, DEPTHWISE_DILATION_W, 20 },
	    { NUMBER, DEPTHWISE_DILATION_H, 24 } } },
	{ BUILTIN_FULLY_CONNECTED,
	  OPTIONS_FULLY_CONNECTED,
	  { { WORD, FULLY_CONNECTED_ACTIVATION, 0 }, { WORD, FULLY_CONNECTED_FORMAT, 4 } } },
	{ BUILTIN_MAX_POOL_2D, OPTIONS_POOL_2D, POOL },
	{ BUILTIN_MUL, OPTIONS_MUL, { { WORD, MUL_ACTIVATION, 0 } } },
	{ BUILTIN_RESIZE_BILINEAR,
	  OPTIONS_RESIZE_BILINEAR,
	  { { FLAG, RESIZE_BILINEAR_ALIGN, 0 }, { FLAG, RESIZE_BILINEAR_HALF_PIXEL, 1 } } },
	{ BUILTIN_RESIZE_NEAREST,
	  OPTIONS_RESIZE_NEAREST,
	  { { FLAG, RESIZE_NEAREST_ALIGN, 0 }, { FLAG, RESIZE_NEAREST_HALF_PIXEL, 1 } } },
	{ BUILTIN_SOFTMAX, OPTIONS_SOFTMAX, { { NUMBER, SOFTMAX_BETA, 0 } } },
	{ BUILTIN_STRIDED_SLICE,
	  OPTIONS_STRIDED_SLICE,
	  { { NUMBER, STRIDED_SLICE_BEGIN_MASK, 0 },
	    { NUMBER, STRIDED_SLICE_END_MASK, 4 },
	    { NUMBER, STRIDED_SLICE_ELLIPSIS_MASK, 8 },
	    { NUMBER, STRIDED_SLICE_NEW_AXIS_MASK, 12 },
	    { NUMBER, STRIDED_SLICE_SHRINK_AXIS_MASK, 16 } } },
	{ BUILTIN_UNIDIRECTIONAL_SEQUENCE_LSTM,
	  OPTIONS_UNIDIRECTIONAL_SEQUENCE_LSTM,
	  { { WORD, LSTM_ACTIVATION, 0 },
	    { NUMBER, LSTM_CELL_CLIP, 4 },
	    { NUMBER, LSTM_PROJECTION_CLIP, 8 },
	    { FLAG, LSTM_TIME_MAJOR, 12 } } },
};

static struct tflite_new_option read_one(const struct param *param, const uint8_t *data)
{
	struct tflite_new_option option = { .number = param->field, .bytes = 1 };

	if (param->kind == FLAG) {
		option.value = data[param->offset] != 0;
		return option;
	}
	memcpy(&option.value, data + param->offset, sizeof(option.value));
	if (param->kind == NUMBER)
		option.bytes = sizeof(option.value);
	/* One that is not said becomes one that no reader takes. */
	if (param->kind == PADDING)
		option.value--;
	if (option.bytes == 1 && option.value > UINT8_MAX)
		option.value = UINT8_MAX;
	return option;
}

void params_read(struct tflite_new_operator *op, const void *data)
{
	op->options_type = 0;
	op->option_count = 0;
	for (size_t i = 0; data && i < sizeof(all) / sizeof(all[0]); i++) {
		const struct params *p = &all[i];

		if (p->builtin != op->builtin)
			continue;
		op->options_type = p->type;
		while (op->option_count < TFLITE_NEW_OPTIONS && p->list[op->option_count].kind) {
			op->options[op->option_count] = read_one(&p->list[op->option_count], data);
			op->option_count++;
		}
	}
}
