/* SPDX-License-Identifier: MIT */
/* Splits and slices: what importers say of the axis, and of where a slice begins. */
#include <errno.h>

#include "base/region.h"
#include "tflite/schema.h"
#include "tflite_check.h"

/* in, of 1 x 8 x 8 x 3, and constants -> up to two outputs, which are read by a softmax each */
static struct tb_model make_model(int32_t builtin, uint32_t inputs)
{
	struct tb_model model = tb_valid();

	model.codes[0] = (struct tb_code){ (uint8_t)builtin, builtin, NULL };
	model.tensor_count = 6;
	model.ops[0] = (struct tb_op){
		.code = 0,
		.input_count = inputs,
		.output_count = 1,
		.inputs = { 0, 1, 2, 5 },
		.outputs = { 3 },
	};
	model.buffer_count = 5;
	return model;
}

static void set_constant(struct tb_model *model, uint32_t tensor, const char *name,
			 const int32_t *values, int32_t count)
{
	uint32_t buffer = tensor == 5 ? 3 : tensor == 0 ? 4 : tensor;

	model->tensors[tensor] =
		(struct tb_tensor){ name, TYPE_INT32, 1, { count }, buffer, 0, 0, NULL };
	model->buffers[buffer] = (struct tb_buffer){ .size = (uint32_t)count * 4, .data = values };
}

static void set_output(struct tb_model *model, int32_t rows, int32_t columns, int32_t channels)
{
	for (int t = 3; t <= 4; t++)
		model->tensors[t] = (struct tb_tensor){
			t == 3 ? "c" : "out",
			TYPE_INT8,
			4,
			{ 1, rows, columns, channels },
			0,
			0,
			0,
			NULL,
		};
}

/* Graph JSON says the same. */
static struct npuplan_attrs attrs_of(const struct tb_model *model)
{
	AUTO_GRAPH struct npuplan_graph *graph = tflite_accept(model, NULL);
	AUTO_GRAPH struct npuplan_graph *again = NULL;
	struct npuplan_error error = { 0 };
	AUTO_TEXT char *text = NULL;

	if (npuimport_graph_json_write(graph, &text, &error) ||
	    npuimport_graph_json(text, strlen(text), NULL, &again, NULL, &error))
		fail_msg("%s", error.text);
	assert_int_equal(again->ops[0].attrs.axis, graph->ops[0].attrs.axis);
	assert_int_equal(npuplan_slice_first(&again->ops[0].attrs),
			 npuplan_slice_first(&graph->ops[0].attrs));
	return graph->ops[0].attrs;
}

/* A split of the columns in two, as SPLIT has it: the axis is the first input. */
static struct tb_model make_split(const int32_t *axis)
{
	struct tb_model model = make_model(BUILTIN_SPLIT, 2);

	set_output(&model, 8, 4, 3);
	set_constant(&model, 1, "axis", axis, 1);
	model.tensors[2] = model.tensors[3];
	model.tensors[2].name = "half";
	model.tensors[5] = model.tensors[3];
	model.tensors[5].name = "b";
	model.ops[0].inputs[0] = 1;
	model.ops[0].inputs[1] = 0;
	model.ops[0].output_count = 2;
	model.ops[0].outputs[1] = 2;
	return model;
}

TEST(split)
{
	int32_t axis[2] = { 2 };
	struct tb_model model = make_split(axis);

	assert_int_equal(attrs_of(&model).axis, 2);
	assert_false(attrs_of(&model).converts);
	axis[0] = -2;
	assert_int_equal(attrs_of(&model).axis, 2);
	axis[0] = 4;
	tflite_refuse(&model, -EINVAL, "operator 0 'c' (split): axis 4 of 4 dimensions");
	axis[0] = -5;
	tflite_refuse(&model, -EINVAL, "operator 0 'c' (split): axis -5 of 4 dimensions");
	axis[0] = 2;
	model.buffers[1].size = 8;
	model.tensors[1].shape[0] = 2;
	tflite_refuse(&model, -EINVAL,
		      "operator 0 'c' (split): its input 0 has 8 bytes, must have 4");
}

/* An axis that is computed is not known. */
TEST(split_of_computed_axis)
{
	int32_t axis = 2;
	struct tb_model model = make_split(&axis);

	model.tensors[1].buffer = 0;
	model.inputs[1] = 1;
	model.input_count = 2;
	assert_int_equal(attrs_of(&model).axis, -1);
}

TEST(split_v)
{
	static const int32_t sizes[] = { 2, 6 };
	int32_t axis = -3;
	struct tb_model model = make_model(BUILTIN_SPLIT_V, 3);

	set_output(&model, 2, 8, 3);
	set_constant(&model, 1, "sizes", sizes, 2);
	set_constant(&model, 2, "axis", &axis, 1);
	model.tensors[5] = model.tensors[3];
	model.tensors[5].name = "rest";
	model.tensors[5].shape[1] = 6;
	model.ops[0].output_count = 2;
	model.ops[0].outputs[1] = 5;
	assert_int_equal(attrs_of(&model).axis, 1);
	model.ops[0].input_count = 2;
	tflite_refuse(&model, -EINVAL, "operator 0 'c' (split_v): it has no input 2");
}

static struct tb_model make_slice(const int32_t *begin, const int32_t *size)
{
	struct tb_model model = make_model(BUILTIN_SLICE, 3);

	set_constant(&model, 1, "begin", begin, 4);
	set_constant(&model, 2, "size", size, 4);
	return model;
}

TEST(slice)
{
	int32_t begin[] = { 0, 3, 0, 0 };
	static const int32_t size[] = { 1, 5, 8, 3 };
	struct tb_model model = make_slice(begin, size);

	set_output(&model, 5, 8, 3);
	assert_int_equal(attrs_of(&model).axis, 1);
	assert_int_equal(npuplan_slice_first(&(struct npuplan_attrs){ .axis = -1 }), -1);
	assert_int_equal(npuplan_slice_first(&(struct npuplan_attrs){ .axis = 1 }), -1);
	for (begin[1] = 0; begin[1] <= 3; begin[1]++) {
		const struct npuplan_attrs attrs = attrs_of(&model);

		assert_int_equal(npuplan_slice_first(&attrs), begin[1]);
		assert_int_equal(attrs.spatial, 0);
	}
	tflite_refuse(&model, -EINVAL,
		      "operator 0 'c' (slice): no 5 elements from 4 on of 8 along dimension 1");
	begin[1] = -1;
	tflite_refuse(&model, -EINVAL,
		      "operator 0 'c' (slice): no 5 elements from -1 on of 8 along dimension 1");
	begin[1] = 9;
	tflite_refuse(&model, -EINVAL,
		      "operator 0 'c' (slice): no 5 elements from 9 on of 8 along dimension 1");
	/* Along two axes it is no part along one; all of the input is. */
	begin[1] = 3;
	set_output(&model, 5, 7, 3);
	assert_int_equal(attrs_of(&model).axis, -1);
	begin[1] = 0;
	set_output(&model, 8, 8, 3);
	assert_int_equal(attrs_of(&model).axis, 0);
	model.buffers[1].size = 12;
	model.tensors[1].shape[0] = 3;
	tflite_refuse(&model, -EINVAL,
		      "operator 0 'c' (slice): its input 1 has 12 bytes, must have 16");
}

TEST(strided_slice)
{
	static const struct {
		int32_t begin;
		int32_t step;
		int32_t masks[5]; /* begin, end, ellipsis, new axis, shrink axis */
		int64_t first;	  /* -1: not known */
	} cases[] = {
		{ 3, 1, { 0 }, 3 },
		{ -5, 1, { 0 }, 3 },
		{ -9, 1, { 0 }, 0 },
		{ 3, 1, { 4 }, 0 },  /* the mask says: from the first on */
		{ 3, 1, { 11 }, 3 }, /* that of other axes */
		{ 3, 1, { 0, 4 }, 3 },
		{ 0, 2, { 0 }, -1 },
		{ 3, 1, { 0, 0, 1 }, -1 },
		{ 3, 1, { 0, 0, 0, 1 }, -1 },
		{ 3, 1, { 0, 0, 0, 0, 1 }, -1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const int32_t begin[] = { 0, 0, cases[i].begin, 0 }, end[] = { 1, 8, 8, 3 },
			      step[] = { 1, 1, cases[i].step, 1 };
		struct tb_model model = make_model(BUILTIN_STRIDED_SLICE, 4);
		struct npuplan_attrs attrs;

		set_output(&model, 8, 4, 3);
		set_constant(&model, 1, "begin", begin, 4);
		set_constant(&model, 2, "end", end, 4);
		set_constant(&model, 5, "strides", step, 4);
		model.ops[0].options_type = OPTIONS_STRIDED_SLICE;
		model.ops[0].option_count = 5;
		memcpy(model.ops[0].options, cases[i].masks, sizeof(cases[i].masks));
		attrs = attrs_of(&model);
		assert_int_equal(npuplan_slice_first(&attrs), cases[i].first);
		assert_int_equal(attrs.axis, cases[i].first < 0 ? -1 : 2);
	}
}

/* Of graph JSON: it is said, and so it is written again; elsewhere it says nothing. */
TEST(graph_json)
{
	static const struct {
		const char *type;
		const char *attrs;
		int64_t first;
		const char *refused;
	} cases[] = {
		{ "slice", "\"dim\":1,\"start\":2", 2, NULL },
		{ "strided_slice", "\"dim\":-3,\"start\":0", 0, NULL },
		{ "slice", "\"dim\":1", -1, NULL },
		{ "slice", "\"dim\":1,\"start\":3", -1,
		  "$.ops[0].attrs.start: 3 is not where the output of operator 0 'c' (slice) can "
		  "begin in its input" },
		{ "slice", "\"dim\":1,\"start\":2147483647", -1,
		  "$.ops[0].attrs.start: 2147483647 is not where the output of operator 0 'c' (slice) "
		  "can begin in its input" },
		{ "slice", "\"dim\":1,\"start\":-1", -1,
		  "$.ops[0].attrs.start: must be an integer from 0 to 2147483647" },
		{ "slice", "\"start\":1", -1,
		  "$.ops[0].attrs.start: is of slices with a \"dim\" and no \"kernel\"" },
		{ "relu", "\"dim\":1,\"start\":1", -1,
		  "$.ops[0].attrs.start: is of slices with a \"dim\" and no \"kernel\"" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct npuimport_options strict = { .strict = true };
		AUTO_GRAPH struct npuplan_graph *graph = NULL;
		AUTO_GRAPH struct npuplan_graph *again = NULL;
		AUTO_TEXT char *text = NULL;
		AUTO_TEXT char *written = NULL;
		struct npuplan_error error = { 0 };

		assert_true(asprintf(&text,
				     "{\"name\":\"g\",\"dtype_bytes\":1,\"tensors\":["
				     "{\"id\":0,\"name\":\"a\",\"shape\":[1,4,2,2],\"bytes\":16,"
				     "\"kind\":\"input\"},"
				     "{\"id\":1,\"name\":\"b\",\"shape\":[1,2,2,2],\"bytes\":8,"
				     "\"kind\":\"output\"}],"
				     "\"ops\":[{\"id\":0,\"name\":\"c\",\"type\":\"%s\","
				     "\"inputs\":[0],\"outputs\":[1],\"attrs\":{%s}}]}",
				     cases[i].type, cases[i].attrs) > 0);
		if (cases[i].refused) {
			assert_int_equal(npuimport_graph_json(text, strlen(text), &strict, &graph,
							      NULL, &error),
					 -EINVAL);
			assert_string_equal(error.text, cases[i].refused);
			continue;
		}
		if (npuimport_graph_json(text, strlen(text), &strict, &graph, NULL, &error) ||
		    npuimport_graph_json_write(graph, &written, &error) ||
		    npuimport_graph_json(written, strlen(written), &strict, &again, NULL, &error))
			fail_msg("%s: %s", cases[i].attrs, error.text);
		assert_int_equal(npuplan_slice_first(&graph->ops[0].attrs), cases[i].first);
		assert_int_equal(npuplan_slice_first(&again->ops[0].attrs), cases[i].first);
		assert_int_equal(again->ops[0].attrs.axis, 1);
	}
}
