// SPDX-License-Identifier: MIT
#include "stream_model.h"

#include <string.h>

#include "tflite/schema.h"

enum { ONCE, HANDLE, READ, ASSIGN, CONCAT, SLICE, SPLIT, MUL, ADD, CODES };

enum {
	IN,
	WINDOW,
	SUM,
	OLD,
	ALL,
	FIRST,
	ONES,
	NEW,
	SIZES,
	AXIS,
	LEFT,
	RIGHT,
	PRODUCT,
	BEFORE,
	FADE,
	FADED,
	OUT,
	TENSORS
};

enum { NONE, OF_FIRST, OF_ONES, OF_SIZES, OF_AXIS, OF_FADE, OF_WINDOW, OF_SUM, BUFFERS };

/* Numbers of BuiltinOptions that no reader needs. */
#define OPTIONS_SPLIT_V 79

static const int32_t first[4] = { 0, STREAM_NEW, 0, 0 }, ones[4] = { 1, 1, 1, 1 };
static const int32_t sizes[2] = { STREAM_HALF, STREAM_HALF }, axis = 3;
static const float fade = 0.75f;

void stream_fill(float *values, size_t count, uint32_t seed)
{
	for (size_t i = 0; i < count; i++) {
		seed = seed * 1664525u + 1013904223u;
		values[i] = (float)(seed >> 16) / 32768.0f - 1.0f;
	}
}

void stream_begin(struct stream *stream)
{
	stream_fill(stream->window[0], sizeof(stream->window) / sizeof(float), 7);
	stream_fill(stream->sum[0], sizeof(stream->sum) / sizeof(float), 7);
}

void stream_step(struct stream *stream, const float in[STREAM_INPUTS], float *out)
{
	float all[STREAM_ROWS][STREAM_CHANNELS];

	memcpy(all, stream->window, sizeof(stream->window));
	memcpy(all[STREAM_OLD], in, sizeof(all) - sizeof(stream->window));
	memcpy(stream->window, all[STREAM_NEW], sizeof(stream->window));
	for (int r = 0; r < STREAM_ROWS; r++)
		for (int c = 0; c < STREAM_HALF; c++) {
			/* Each is rounded, as that of an operator is. */
			volatile float product = all[r][c] * all[r][STREAM_HALF + c];
			volatile float faded = stream->sum[r][c] * fade;

			stream->sum[r][c] = faded + product;
		}
	memcpy(out, stream->sum, sizeof(stream->sum));
}

#define ROWS(name, rows, channels) \
	{ name, TYPE_FLOAT32, 4, { 1, rows, 1, channels }, 0, 0, 0, NULL }
#define NUMBERS(name, rank, count, buffer) { name, TYPE_INT32, rank, { count }, buffer, 0, 0, NULL }
#define RESOURCE(name)			   { name, TYPE_RESOURCE, 0, { 0 }, 0, 0, 0, NULL }
#define VARIABLE(tensor, of)                                              \
	{                                                                 \
		.code = HANDLE, .output_count = 1, .outputs = { tensor }, \
		.options_type = OPTIONS_VAR_HANDLE, .texts = {            \
			"",                                               \
			of                                                \
		}                                                         \
	}
#define READ_OF(handle, to)                                                              \
	{                                                                                \
		.code = READ, .input_count = 1, .inputs = { handle }, .output_count = 1, \
		.outputs = {                                                             \
			to                                                               \
		}                                                                        \
	}
#define ASSIGN_TO(handle, from)                                              \
	{                                                                    \
		.code = ASSIGN, .input_count = 2, .inputs = { handle, from } \
	}
#define BINARY(op, type, a, b, to) \
	{ .code = op,              \
	  .input_count = 2,        \
	  .inputs = { a, b },      \
	  .output_count = 1,       \
	  .outputs = { to },       \
	  .options_type = type,    \
	  .option_count = 1 }

/* What runs before the first inference: values of the state. */
static const struct tb_subgraph *beginning(void)
{
	static struct tb_subgraph sub = {
		.tensor_count = 4,
		.tensors = { RESOURCE("w"), RESOURCE("s"), ROWS("w0", STREAM_OLD, STREAM_CHANNELS),
			     ROWS("s0", STREAM_ROWS, STREAM_HALF) },
		.op_count = 4,
		.ops = { VARIABLE(0, "window"), VARIABLE(1, "sum"), ASSIGN_TO(0, 2),
			 ASSIGN_TO(1, 3) },
	};

	sub.tensors[2].buffer = OF_WINDOW;
	sub.tensors[3].buffer = OF_SUM;
	return &sub;
}

struct tb_model stream_model(void)
{
	static struct stream begins;
	struct tb_model model = {
		.version = TFLITE_VERSION,
		.subgraphs = 2,
		.more_count = 1,
		.more = beginning(),
		.tensor_count = TENSORS,
		.tensors = {
			[IN] = ROWS("in", STREAM_NEW, STREAM_CHANNELS),
			[WINDOW] = RESOURCE("window"),
			[SUM] = RESOURCE("sum"),
			[OLD] = ROWS("old", STREAM_OLD, STREAM_CHANNELS),
			[ALL] = ROWS("all", STREAM_ROWS, STREAM_CHANNELS),
			[FIRST] = NUMBERS("first", 1, 4, OF_FIRST),
			[ONES] = NUMBERS("ones", 1, 4, OF_ONES),
			[NEW] = ROWS("new", STREAM_OLD, STREAM_CHANNELS),
			[SIZES] = NUMBERS("sizes", 1, 2, OF_SIZES),
			[AXIS] = NUMBERS("axis", 0, 0, OF_AXIS),
			[LEFT] = ROWS("left", STREAM_ROWS, STREAM_HALF),
			[RIGHT] = ROWS("right", STREAM_ROWS, STREAM_HALF),
			[PRODUCT] = ROWS("product", STREAM_ROWS, STREAM_HALF),
			[BEFORE] = ROWS("before", STREAM_ROWS, STREAM_HALF),
			[FADE] = { "fade", TYPE_FLOAT32, 4, { 1, 1, 1, 1 }, OF_FADE, 0, 0, NULL },
			[FADED] = ROWS("faded", STREAM_ROWS, STREAM_HALF),
			[OUT] = ROWS("out", STREAM_ROWS, STREAM_HALF),
		},
		.code_count = CODES,
		.codes = {
			[ONCE] = { BUILTIN_PLACEHOLDER, BUILTIN_CALL_ONCE, NULL },
			[HANDLE] = { BUILTIN_PLACEHOLDER, BUILTIN_VAR_HANDLE, NULL },
			[READ] = { BUILTIN_PLACEHOLDER, BUILTIN_READ_VARIABLE, NULL },
			[ASSIGN] = { BUILTIN_PLACEHOLDER, BUILTIN_ASSIGN_VARIABLE, NULL },
			[CONCAT] = { BUILTIN_CONCATENATION, 0, NULL },
			[SLICE] = { BUILTIN_STRIDED_SLICE, 0, NULL },
			[SPLIT] = { BUILTIN_SPLIT_V, 0, NULL },
			[MUL] = { BUILTIN_MUL, 0, NULL },
			[ADD] = { BUILTIN_ADD, 0, NULL },
		},
		.op_count = 13,
		.ops = {
			{ .code = ONCE, .options_type = OPTIONS_CALL_ONCE, .option_count = 1,
			  .options = { 1 } },
			VARIABLE(WINDOW, "window"),
			VARIABLE(SUM, "sum"),
			READ_OF(WINDOW, OLD),
			{ .code = CONCAT, .input_count = 2, .inputs = { OLD, IN },
			  .output_count = 1, .outputs = { ALL },
			  .options_type = OPTIONS_CONCATENATION, .option_count = 1,
			  .options = { 1 } },
			{ .code = SLICE, .input_count = 4, .inputs = { ALL, FIRST, FIRST, ONES },
			  .output_count = 1, .outputs = { NEW },
			  .options_type = OPTIONS_STRIDED_SLICE, .option_count = 2,
			  .options = { 0, 15 } },
			ASSIGN_TO(WINDOW, NEW),
			{ .code = SPLIT, .input_count = 3, .inputs = { ALL, SIZES, AXIS },
			  .output_count = 2, .outputs = { LEFT, RIGHT },
			  .options_type = OPTIONS_SPLIT_V, .option_count = 1, .options = { 2 } },
			BINARY(MUL, OPTIONS_MUL, LEFT, RIGHT, PRODUCT),
			READ_OF(SUM, BEFORE),
			BINARY(MUL, OPTIONS_MUL, BEFORE, FADE, FADED),
			BINARY(ADD, OPTIONS_ADD, FADED, PRODUCT, OUT),
			ASSIGN_TO(SUM, OUT),
		},
		.buffer_count = BUFFERS,
		.buffers = {
			[OF_FIRST] = { .size = sizeof(first), .data = first },
			[OF_ONES] = { .size = sizeof(ones), .data = ones },
			[OF_SIZES] = { .size = sizeof(sizes), .data = sizes },
			[OF_AXIS] = { .size = sizeof(axis), .data = &axis },
			[OF_FADE] = { .size = sizeof(fade), .data = &fade },
			[OF_WINDOW] = { .size = sizeof(begins.window), .data = begins.window },
			[OF_SUM] = { .size = sizeof(begins.sum), .data = begins.sum },
		},
		.input_count = 1,
		.inputs = { IN },
		.output_count = 1,
		.outputs = { OUT },
	};

	stream_begin(&begins);
	return model;
}
