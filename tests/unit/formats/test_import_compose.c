// SPDX-License-Identifier: MIT
/* Models written from a description are read as those that converters have written. */
#include <errno.h>
#include <string.h>

#include "auto.h"
#include "npuimport.h"
#include "tflite/commands.h"
#include "tflite/compose.h"
#include "tflite/schema.h"
#include "tflite_build.h"
#include "unit.h"

/* struct composed - a file, and what is read of it */
struct composed {
	void *data;
	size_t size;
	struct npuplan_graph *graph;
};

static void compose(struct composed *c, const struct tflite_new_model *model)
{
	struct npuplan_error error = { 0 };

	if (tflite_compose(model, &c->data, &c->size, &error) ||
	    npuimport_tflite(c->data, c->size, "m", NULL, &c->graph, NULL, &error) ||
	    npuplan_graph_tile_bands(c->graph, 1, true, &error))
		fail_msg("%s", error.text);
}

static void release(struct composed *c)
{
	npuplan_graph_free(c->graph);
	free(c->data);
}

static struct tflite_numbers numbers(const int32_t *list, uint32_t count)
{
	return (struct tflite_numbers){ list, count };
}

/* The model of tb_valid(), described. */
TEST(as_a_converter_writes_it)
{
	static const struct tflite_new_option window[] = { { CONV_2D_PADDING, 1, PADDING_SAME },
							   { CONV_2D_STRIDE_W, 4, 2 },
							   { CONV_2D_STRIDE_H, 4, 2 } };
	static const int32_t tensors[] = { 0, 1, 2, 3, 4 };
	const struct tb_model model = tb_valid();
	struct tflite_new_tensor list[8] = { 0 };
	struct tflite_new_operator ops[2] = { { .builtin = BUILTIN_CONV_2D,
						.inputs = numbers(&tensors[0], 3),
						.outputs = numbers(&tensors[3], 1),
						.options_type = OPTIONS_CONV_2D,
						.option_count = 3 },
					      { .builtin = BUILTIN_SOFTMAX,
						.inputs = numbers(&tensors[3], 1),
						.outputs = numbers(&tensors[4], 1) } };
	struct tflite_new_model described = {
		list, model.tensor_count, ops, 2, numbers(&tensors[0], 1), numbers(&tensors[4], 1)
	};
	AUTO_GRAPH struct npuplan_graph *expected = NULL;
	uint8_t digests[2][NPUPLAN_DIGEST_SIZE];
	struct composed c = { 0 };
	static uint8_t zeros[256];
	size_t size;
	void *file = tb_exact(&model, &size);

	memcpy(ops[0].options, window, sizeof(window));
	for (uint32_t t = 0; t < model.tensor_count; t++) {
		const struct tb_tensor *from = &model.tensors[t];

		list[t] = (struct tflite_new_tensor){ .name = from->name,
						      .type = from->type,
						      .shape = from->shape,
						      .rank = from->rank };
		if (from->buffer) {
			list[t].data = zeros;
			list[t].size = model.buffers[from->buffer].size;
		}
	}
	compose(&c, &described);
	assert_int_equal(npuimport_tflite(file, size, "m", NULL, &expected, NULL, NULL), 0);
	assert_int_equal(npuplan_graph_tile_bands(expected, 1, true, NULL), 0);
	npuplan_graph_digest(expected, digests[0]);
	npuplan_graph_digest(c.graph, digests[1]);
	assert_memory_equal(digests[0], digests[1], sizeof(digests[0]));
	assert_int_equal(c.graph->op_count, 2);
	assert_string_equal(c.graph->tensors[0].name, expected->tensors[0].name);
	assert_int_equal(c.graph->ops[0].attrs.stride[0], 2);
	free(file);
	release(&c);
}

/* Quantization, data, a variable, a code that has no room in a byte, and inputs left out. */
TEST(all_that_tensors_have)
{
	static const int32_t shape[] = { 1, 2, 2, 2 }, in[] = { 0, -1, 1 }, out[] = { 2 };
	static const float scales[] = { 0.5f, 0.25f };
	static const int32_t zeros[] = { -3, 7 };
	static const int8_t data[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	const struct tflite_new_tensor tensors[] = {
		{ "state", TYPE_INT8, true, shape, 4, scales, 1, zeros, 1, NULL, 0 },
		{ "weights", TYPE_INT8, false, shape, 4, scales, 2, zeros, 2, data, sizeof(data) },
		{ NULL, TYPE_INT8, false, shape, 4, NULL, 0, NULL, 0, NULL, 0 },
	};
	const struct tflite_new_operator op = { .builtin = BUILTIN_CONV_3D,
						.inputs = numbers(in, 3),
						.outputs = numbers(out, 1) };
	const struct tflite_new_model model = { tensors, 3, &op, 1, { 0 }, numbers(out, 1) };
	const struct npuimport_options tolerant = { 0 };
	struct tflite_commands *commands = NULL;
	struct npuplan_error error = { 0 };
	struct composed c = { 0 };
	int8_t value[8];

	if (tflite_compose(&model, &c.data, &c.size, &error) ||
	    npuimport_tflite(c.data, c.size, "m", &tolerant, &c.graph, NULL, &error) ||
	    npuplan_graph_tile_bands(c.graph, 1, true, &error) ||
	    tflite_commands_new(c.data, c.size, c.graph, &commands, &error))
		fail_msg("%s", error.text);
	assert_int_equal(c.graph->tensors[0].kind, NPUMEM_TENSOR_STATE);
	assert_string_equal(c.graph->tensors[0].name, "state");
	assert_int_equal(c.graph->tensors[1].kind, NPUMEM_TENSOR_PARAMETER);
	assert_int_equal(c.graph->tensors[2].kind, NPUMEM_TENSOR_OUTPUT);
	assert_int_equal(c.graph->ops[0].input_count, 2);
	/* State begins with its zero point, parameters with their data. */
	assert_int_equal(tflite_initial_value(commands, 0, value, &error), 0);
	for (int i = 0; i < 8; i++)
		assert_int_equal(value[i], -3);
	assert_int_equal(tflite_initial_value(commands, 1, value, &error), 0);
	assert_memory_equal(value, data, sizeof(data));
	tflite_commands_free(commands);
	release(&c);
}

/* What its offsets cannot reach is not written: the data is not even looked at. */
TEST(too_large)
{
	static const int32_t shape[] = { 1 };
	const struct tflite_new_tensor tensors[] = {
		{ "t", TYPE_INT8, false, shape, 1, NULL, 0, NULL, 0, shape, (size_t)3 << 30 },
	};
	const struct tflite_new_model model = { .tensors = tensors, .tensor_count = 1 };
	struct npuplan_error error = { 0 };
	void *data = &error;
	size_t size = 1;

	assert_int_equal(tflite_compose(&model, &data, &size, &error), -E2BIG);
	assert_string_equal(error.text, "more than 2 GiB of model");
	assert_null(data);
	assert_int_equal(size, 0);
}
