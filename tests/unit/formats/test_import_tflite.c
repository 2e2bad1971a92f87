/* SPDX-License-Identifier: MIT */
/* userspace/formats/tflite/, flatbuf.c: every rule, each broken alone in a valid model. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>

#include "auto.h"
#include "npuimport.h"
#include "tflite_build.h"
#include "tflite/schema.h"
#include "unit.h"

static struct npuplan_graph *accept(const struct tb_model *model, struct npuimport_info *info)
{
	struct npuplan_error error = { 0 };
	struct npuplan_graph *graph = NULL;
	size_t size;
	void *exact = tb_exact(model, &size);

	if (npuimport_buffer(exact, size, "dir/small.tflite", NULL, &graph, info, &error))
		fail_msg("refused: %s", error.text);
	free(exact);
	return graph;
}

/* @message: "SIZE" in it stands for the size of the file. */
static void refuse_file(const struct tb_file *file, size_t size, int err, const char *message)
{
	const char *place = strstr(message, "SIZE");
	struct npuplan_error error = { 0 };
	struct npuplan_graph *graph = NULL;
	void *exact = malloc(size);
	char expected[512];

	snprintf(expected, sizeof(expected), "%s", message);
	if (place)
		snprintf(expected, sizeof(expected), "%.*s%zu%s", (int)(place - message), message,
			 size, place + 4);
	assert_non_null(exact);
	memcpy(exact, file->bytes, size);
	assert_int_equal(npuimport_tflite(exact, size, "x", NULL, &graph, NULL, &error), err);
	assert_string_equal(error.text, expected);
	assert_null(graph);
	free(exact);
}

static void refuse(const struct tb_model *model, int err, const char *message)
{
	struct tb_file *file = malloc(sizeof(*file));

	assert_non_null(file);
	tb_build(model, file);
	refuse_file(file, file->size, err, message);
	free(file);
}

TEST(valid)
{
	struct tb_model model = tb_valid();
	struct npuimport_info info = { 0 };
	AUTO_GRAPH struct npuplan_graph *graph = accept(&model, &info);
	const struct npuplan_op *conv = &graph->ops[0];

	assert_string_equal(graph->name, "small");
	assert_int_equal(info.format, NPUIMPORT_TFLITE);
	assert_int_equal(info.subgraphs, 1);
	assert_int_equal(info.operators, 2);
	assert_int_equal(info.tensors, 5);
	assert_int_equal(info.left_out, 0);
	assert_int_equal(graph->source_layout, NPUPLAN_NHWC);
	assert_int_equal(graph->tensors[0].kind, NPUMEM_TENSOR_INPUT);
	assert_int_equal(graph->tensors[1].kind, NPUMEM_TENSOR_PARAMETER);
	assert_int_equal(graph->tensors[2].size, 8);
	assert_int_equal(graph->tensors[2].align, 4);
	assert_int_equal(graph->tensors[3].kind, NPUMEM_TENSOR_INTERMEDIATE);
	assert_int_equal(graph->tensors[4].kind, NPUMEM_TENSOR_OUTPUT);
	assert_string_equal(conv->name, "c");
	assert_string_equal(conv->type, "conv2d");
	assert_int_equal(conv->attrs.spatial, 2);
	assert_int_equal(conv->attrs.kernel[0], 3);
	assert_int_equal(conv->attrs.stride[1], 2);
	assert_int_equal(conv->attrs.pad_begin[0], 0);
	assert_int_equal(conv->attrs.pad_end[0], 1);
	assert_int_equal(conv->attrs.groups, 1);
	assert_string_equal(graph->ops[1].type, "softmax");
	assert_int_equal(graph->ops[1].attrs.axis, 3);
}

/* ------------------------------------------------------------- FlatBuffers */

TEST(truncated)
{
	struct tb_model model = tb_valid();
	struct tb_file *file = malloc(sizeof(*file));
	struct npuplan_graph *graph = NULL;
	struct npuplan_error error;

	assert_non_null(file);
	tb_build(&model, file);
	refuse_file(file, 7, -EBADMSG, "the file has only 7 bytes");
	refuse_file(file, 8, -EBADMSG, "table at byte 36 is not inside the file of 8 bytes");
	refuse_file(file, 40, -EBADMSG, "table at byte 36 has a bad size of 100 bytes");
	/* Every cut is noticed, or cuts off what nothing looks at. */
	for (size_t size = 0; size < file->size; size++) {
		void *exact = malloc(size ? size : 1);
		int err;

		assert_non_null(exact);
		memcpy(exact, file->bytes, size);
		err = npuimport_tflite(exact, size, "x", NULL, &graph, NULL, &error);
		if (!err)
			npuplan_graph_free(graph);
		else
			assert_int_equal(err, -EBADMSG);
		free(exact);
	}
	free(file);
}

TEST(flatbuffer)
{
	struct tb_model model = tb_valid();
	struct tb_file good, bad;

	tb_build(&model, &good);
	bad = good;
	bad.bytes[7] = '2';
	refuse_file(&bad, bad.size, -EBADMSG, "the file has no identifier 'TFL3' at byte 4");
	bad = good;
	tb_put(&bad, 0, 0xfffffff0, 4);
	refuse_file(&bad, bad.size, -EBADMSG,
		    "table at byte 4294967280 is not inside the file of SIZE bytes");
	bad = good;
	tb_put(&bad, bad.model, 37, 4);
	refuse_file(&bad, bad.size, -EBADMSG, "table at byte 36 has its vtable outside the file");
	bad = good;
	tb_put(&bad, bad.model, (uint32_t)-60000, 4);
	refuse_file(&bad, bad.size, -EBADMSG, "table at byte 36 has its vtable outside the file");
	bad = good;
	tb_put(&bad, bad.model - 28, 3, 2);
	refuse_file(&bad, bad.size, -EBADMSG, "vtable at byte 8 has a bad size of 3 bytes");
	bad = good;
	tb_put(&bad, bad.model - 28, 29, 2);
	refuse_file(&bad, bad.size, -EBADMSG, "vtable at byte 8 has a bad size of 29 bytes");
	bad = good;
	tb_put(&bad, bad.model - 28, 0xfffe, 2);
	refuse_file(&bad, bad.size, -EBADMSG, "vtable at byte 8 has a bad size of 65534 bytes");
	bad = good;
	tb_put(&bad, bad.model - 26, 0xffff, 2);
	refuse_file(&bad, bad.size, -EBADMSG, "table at byte 36 has a bad size of 65535 bytes");
	bad = good;
	tb_put(&bad, bad.model - 24, 97, 2);
	refuse_file(&bad, bad.size, -EBADMSG,
		    "field 0 of the table at byte 36 is outside its table of 100 bytes");
	bad = good;
	tb_put(&bad, bad.model - 24, 3, 2);
	refuse_file(&bad, bad.size, -EBADMSG,
		    "field 0 of the table at byte 36 is outside its table of 100 bytes");
	/* Model field 2, the subgraphs: a vector beyond the end, one too long. */
	bad = good;
	tb_put(&bad, bad.model + 4 + 16, 0x7fffffff, 4);
	refuse_file(&bad, bad.size, -EBADMSG,
		    "vector at byte 2147483703 is not inside the file of SIZE bytes");
	bad = good;
	tb_put(&bad, bad.shape - 4, 0x40000000, 4);
	refuse_file(&bad, bad.size, -EBADMSG,
		    "vector at byte 1187 has 1073741824 elements, more than fit into the file of "
		    "SIZE bytes");
	bad = good;
	tb_put(&bad, bad.tensors, 0x1000000, 4);
	refuse_file(&bad, bad.size, -EBADMSG,
		    "table at byte 16778255 is not inside the file of SIZE bytes");
}

/* ------------------------------------------------------------------- model */

TEST(model)
{
	struct tb_model model = tb_valid();
	struct npuimport_info info;

	model.version = 4;
	refuse(&model, -EOPNOTSUPP, "the model has schema version 4, only 3 is read");
	model = tb_valid();
	model.subgraphs = 0;
	refuse(&model, -EINVAL, "the model has no subgraph");
	model = tb_valid();
	model.op_count = 0;
	refuse(&model, -EINVAL, "the graph has no operators");
	model = tb_valid();
	model.subgraphs = 3;
	npuplan_graph_free(accept(&model, &info));
	assert_int_equal(info.subgraphs, 3);
}

TEST(references)
{
	struct tb_model model = tb_valid();

	model.inputs[0] = 5;
	refuse(&model, -EINVAL, "input 0 of subgraph 0 is tensor 5, but there are only 5");
	model.inputs[0] = -1;
	refuse(&model, -EINVAL, "input 0 of subgraph 0 is tensor -1, but there are only 5");
	model = tb_valid();
	model.outputs[0] = 7;
	refuse(&model, -EINVAL, "output 0 of subgraph 0 is tensor 7, but there are only 5");
	model = tb_valid();
	model.ops[0].inputs[2] = 5;
	refuse(&model, -EINVAL, "input 2 of operator 0 is tensor 5, but there are only 5");
	model.ops[0].inputs[2] = -2;
	refuse(&model, -EINVAL, "input 2 of operator 0 is tensor -2, but there are only 5");
	model = tb_valid();
	model.ops[1].outputs[0] = 99;
	refuse(&model, -EINVAL, "output 0 of operator 1 is tensor 99, but there are only 5");
	model = tb_valid();
	model.ops[1].code = 2;
	refuse(&model, -EINVAL, "operator 1 has operator code 2, but there are only 2");
	model = tb_valid();
	model.tensors[1].buffer = 3;
	refuse(&model, -EINVAL, "tensor 1 'w' is in buffer 3, but there are only 3");
}

TEST(order)
{
	struct tb_model model = tb_valid();
	struct tb_op op = model.ops[0];

	model.ops[0] = model.ops[1];
	model.ops[1] = op;
	refuse(&model, -EINVAL,
	       "operator 0 'out' (softmax) reads tensor 3 'c', which operator 1 'c' (conv2d) "
	       "writes only later: operators must be in execution order");
	model = tb_valid();
	model.ops[1].outputs[0] = 3;
	refuse(&model, -EINVAL,
	       "tensor 3 'c' is written by operator 0 'c' (conv2d) and again by operator 1 'c' "
	       "(softmax)");
	model = tb_valid();
	model.input_count = 0;
	refuse(&model, -EINVAL,
	       "operator 0 'c' (conv2d) reads tensor 0 'in', which nothing writes");
	model = tb_valid();
	model.op_count = 1;
	refuse(&model, -EINVAL, "tensor 4 'out' is an output of the graph, but nothing writes it");
	model = tb_valid();
	model.ops[1].output_count = 0;
	refuse(&model, -EINVAL, "operator 1 'softmax_1' (softmax) writes no tensor that has bytes");
}

/* ----------------------------------------------------------------- tensors */

TEST(shapes)
{
	struct tb_model model = tb_valid();

	model.tensors[0].shape[0] = -1;
	refuse(&model, -EOPNOTSUPP,
	       "tensor 0 'in' has an unknown size (-1) in dimension 0: convert the model with "
	       "fixed shapes");
	model = tb_valid();
	model.tensors[0].rank = 9;
	refuse(&model, -EOPNOTSUPP, "tensor 0 'in' has 9 dimensions, more than 8");
	model = tb_valid();
	model.tensors[0].shape[1] = 1 << 30;
	model.tensors[0].shape[2] = 1 << 30;
	refuse(&model, -E2BIG, "tensor 0 'in' is larger than 1099511627776 bytes");
	model = tb_valid();
	model.buffers[1].size = 53;
	refuse(&model, -EINVAL,
	       "tensor 1 'w': its buffer has 53 bytes, but shape and type make 54");
}

TEST(types)
{
	static const struct {
		uint64_t size; /* of 192 elements */
		uint32_t elem;
		uint8_t type;
	} types[] = {
		{ 768, 4, TYPE_FLOAT32 },  { 384, 2, TYPE_FLOAT16 }, { 768, 4, TYPE_INT32 },
		{ 192, 1, TYPE_UINT8 },	   { 1536, 8, TYPE_INT64 },  { 192, 1, TYPE_BOOL },
		{ 384, 2, TYPE_INT16 },	   { 192, 1, TYPE_INT8 },    { 1536, 8, TYPE_COMPLEX64 },
		{ 1536, 8, TYPE_FLOAT64 }, { 1536, 8, TYPE_UINT64 }, { 3072, 16, TYPE_COMPLEX128 },
		{ 768, 4, TYPE_UINT32 },   { 384, 2, TYPE_UINT16 },  { 96, 0, TYPE_INT4 },
		{ 384, 2, TYPE_BFLOAT16 },
	};
	struct tb_model model = tb_valid();

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		AUTO_GRAPH struct npuplan_graph *graph = NULL;

		model.tensors[0].type = types[i].type;
		graph = accept(&model, NULL);
		assert_int_equal(graph->tensors[0].size, types[i].size);
		assert_int_equal(graph->tensors[0].elem_size, types[i].elem);
		assert_int_equal(graph->tensors[0].align, types[i].elem ? types[i].elem : 1);
	}
	model.tensors[0].type = TYPE_STRING;
	refuse(&model, -EOPNOTSUPP,
	       "tensor 0 'in' has strings: their size is not known before the model runs");
	model.tensors[0].type = TYPE_RESOURCE;
	refuse(&model, -EOPNOTSUPP,
	       "tensor 0 'in' is a resource: what it stands for is not in the model's plan");
	model.tensors[0].type = TYPE_VARIANT;
	refuse(&model, -EOPNOTSUPP,
	       "tensor 0 'in' is a variant: what it stands for is not in the model's plan");
	model.tensors[0].type = 99;
	refuse(&model, -EOPNOTSUPP, "tensor 0 'in' has element type 99, not known here");
}

/* int4 in odd numbers, strings and sparse weights as constants. */
TEST(odd_sizes)
{
	struct tb_model model = tb_valid();
	struct npuplan_graph *graph;

	model.tensors[2] = (struct tb_tensor){ "b", TYPE_INT4, 1, { 3 }, 2, 0, 0 };
	model.buffers[2].size = 2;
	graph = accept(&model, NULL);
	assert_int_equal(graph->tensors[2].size, 2);
	npuplan_graph_free(graph);
	model.tensors[2].type = TYPE_STRING;
	model.buffers[2].size = 33;
	graph = accept(&model, NULL);
	assert_int_equal(graph->tensors[2].size, 33);
	assert_int_equal(graph->tensors[2].kind, NPUMEM_TENSOR_PARAMETER);
	npuplan_graph_free(graph);
	model = tb_valid();
	model.tensors[1].sparse = 1;
	model.buffers[1].size = 20;
	graph = accept(&model, NULL);
	assert_int_equal(graph->tensors[1].size, 20);
	assert_int_equal(graph->tensors[1].elem_size, 0);
	npuplan_graph_free(graph);
}

/* Data behind the FlatBuffer, as files beyond 2 GiB have it. */
TEST(external_data)
{
	struct tb_model model = tb_valid();
	struct npuplan_graph *graph;

	model.buffers[1] = (struct tb_buffer){ .offset = 100, .offset_size = 54 };
	graph = accept(&model, NULL);
	assert_int_equal(graph->tensors[1].kind, NPUMEM_TENSOR_PARAMETER);
	npuplan_graph_free(graph);
	model.buffers[1].offset = 1 << 20;
	refuse(&model, -EBADMSG,
	       "buffer 1 has 54 bytes at byte 1048576, outside the file of SIZE bytes");
	model.buffers[1].offset = UINT64_MAX - 10;
	refuse(&model, -EBADMSG,
	       "buffer 1 has 54 bytes at byte 18446744073709551605, outside the file of SIZE bytes");
}

TEST(kinds)
{
	struct tb_model model = tb_valid();
	struct npuimport_info info;
	struct npuplan_graph *graph;

	/* A variable is updated by the operator that reads it. */
	model.tensors[5] = (struct tb_tensor){ "v", TYPE_INT8, 1, { 4 }, 0, 1, 0 };
	model.tensor_count = 6;
	model.ops[1].inputs[1] = 5;
	model.ops[1].input_count = 2;
	graph = accept(&model, &info);
	assert_int_equal(graph->tensors[5].kind, NPUMEM_TENSOR_STATE);
	assert_int_equal(graph->ops[1].output_count, 2);
	assert_int_equal(graph->ops[1].outputs[1], 5);
	npuplan_graph_free(graph);
	/* Optional and empty inputs fall away; the numbers of tensors stay. */
	model.tensors[5].shape[0] = 0;
	model.ops[0].inputs[3] = -1;
	model.ops[0].input_count = 4;
	graph = accept(&model, &info);
	assert_int_equal(info.tensors, 6);
	assert_int_equal(info.left_out, 1);
	assert_int_equal(graph->ops[0].input_count, 3);
	assert_int_equal(graph->ops[1].input_count, 1);
	npuplan_graph_free(graph);
	/* Nothing uses it: kept if it has bytes, left out if nobody knows how many. */
	model = tb_valid();
	model.tensors[5] = (struct tb_tensor){ "unused", TYPE_INT8, 1, { 4 }, 0, 0, 0 };
	model.tensor_count = 6;
	graph = accept(&model, &info);
	assert_int_equal(graph->tensor_count, 6);
	assert_int_equal(graph->tensors[5].kind, NPUMEM_TENSOR_INTERMEDIATE);
	npuplan_graph_free(graph);
	model.tensors[5].type = TYPE_RESOURCE;
	graph = accept(&model, &info);
	assert_int_equal(info.left_out, 1);
	npuplan_graph_free(graph);
	/* An input that is an output passes through: valid at entry and at exit. */
	model = tb_valid();
	model.outputs[1] = 0;
	model.output_count = 2;
	graph = accept(&model, &info);
	assert_int_equal(graph->tensors[0].kind, NPUMEM_TENSOR_STATE);
	npuplan_graph_free(graph);
}

TEST(names)
{
	struct tb_model model = tb_valid();
	struct npuplan_graph *graph;
	char name[400];

	memset(name, 'n', sizeof(name));
	name[399] = '\0';
	model.tensors[0].name = name;
	model.tensors[1].name = "a\xff"
				"b\n\xc3\xa4\xed\xa0\x80\xc0\x80";
	model.tensors[3].name = NULL;
	graph = accept(&model, NULL);
	assert_int_equal(strlen(graph->tensors[0].name), 255);
	assert_string_equal(graph->tensors[1].name, "a?b?\xc3\xa4?????");
	assert_string_equal(graph->ops[0].name, "conv2d_0");
	npuplan_graph_free(graph);
	/* Not cut within a character. */
	name[254] = '\xc3';
	name[255] = '\xa4';
	graph = accept(&model, NULL);
	assert_int_equal(strlen(graph->tensors[0].name), 254);
	npuplan_graph_free(graph);
}

/* --------------------------------------------------------------- operators */

TEST(operator_names)
{
	struct tb_model model = tb_valid();
	struct npuplan_graph *graph;

	model.codes[1] = (struct tb_code){ BUILTIN_CUSTOM, BUILTIN_CUSTOM, "MyOp" };
	graph = accept(&model, NULL);
	assert_string_equal(graph->ops[1].type, "myop");
	npuplan_graph_free(graph);
	/* Graph JSON has its own idea of a loop. */
	model.codes[1].custom = "Loop";
	graph = accept(&model, NULL);
	assert_string_equal(graph->ops[1].type, "custom_loop");
	npuplan_graph_free(graph);
	model.codes[1].custom = NULL;
	refuse(&model, -EINVAL, "operator 1 is a custom one without a name");
	/* Codes beyond 127 are in the new field alone, old files have the old one. */
	model.codes[1] = (struct tb_code){ 127, 150, NULL };
	graph = accept(&model, NULL);
	assert_string_equal(graph->ops[1].type, "gelu");
	assert_true(graph->ops[1].attrs.inplace);
	npuplan_graph_free(graph);
	model.codes[1] = (struct tb_code){ BUILTIN_SOFTMAX, 0, NULL };
	graph = accept(&model, NULL);
	assert_string_equal(graph->ops[1].type, "softmax");
	npuplan_graph_free(graph);
	model.codes[1] = (struct tb_code){ 127, 1000, NULL };
	graph = accept(&model, NULL);
	assert_string_equal(graph->ops[1].type, "builtin_1000");
	npuplan_graph_free(graph);
	model.codes[1] = (struct tb_code){ 0xff, -5, NULL };
	refuse(&model, -EINVAL, "operator 1 has builtin code -1");
	model.codes[1] = (struct tb_code){ BUILTIN_WHILE, BUILTIN_WHILE, NULL };
	refuse(&model, -EINVAL, "operator 1 (while): its options have type 0, expected 93");
	model.codes[1] = (struct tb_code){ BUILTIN_IF, BUILTIN_IF, NULL };
	refuse(&model, -EINVAL, "operator 1 (if): its options have type 0, expected 92");
}

TEST(conv_options)
{
	struct tb_model model = tb_valid();

	model.ops[0].options_type = OPTIONS_POOL_2D;
	refuse(&model, -EINVAL, "operator 0 'c' (conv2d): its options have type 5, expected 1");
	model = tb_valid();
	model.ops[0].no_options_table = 1;
	refuse(&model, -EINVAL, "operator 0 'c' (conv2d): its options have type 0, expected 1");
	model = tb_valid();
	model.ops[0].options[0] = 2;
	refuse(&model, -EINVAL, "operator 0 'c' (conv2d): padding 2 is neither SAME nor VALID");
	model = tb_valid();
	model.ops[0].options[2] = 0;
	refuse(&model, -EINVAL, "operator 0 'c' (conv2d): stride of 0, must be 1 to 536870911");
	model = tb_valid();
	model.ops[0].options[5] = -1;
	refuse(&model, -EINVAL, "operator 0 'c' (conv2d): dilation of -1, must be 1 to 536870911");
	model.ops[0].options[5] = 1 << 28;
	refuse(&model, -EINVAL,
	       "operator 0 'c' (conv2d): kernel 3 with dilation 268435456 spans more than "
	       "536870911 elements");
	model = tb_valid();
	model.ops[0].options[0] = PADDING_VALID;
	refuse(&model, -EINVAL,
	       "operator 0 'c' (conv2d): VALID padding makes 3 elements of 8 along spatial "
	       "dimension 0, but its output has 4");
	model = tb_valid();
	model.ops[0].options[2] = 1;
	refuse(&model, -EINVAL,
	       "operator 0 'c' (conv2d): SAME padding makes 8 elements of 8 along spatial "
	       "dimension 0, but its output has 4");
	model = tb_valid();
	model.ops[0].input_count = 1;
	refuse(&model, -EINVAL, "operator 0 'c' (conv2d): it has no weights");
	model.ops[0].input_count = 0;
	refuse(&model, -EINVAL, "operator 0 'c' (conv2d): it has no weights");
	model = tb_valid();
	model.tensors[1] = (struct tb_tensor){ "w", TYPE_INT8, 3, { 2, 3, 9 }, 1, 0, 0 };
	refuse(&model, -EINVAL,
	       "operator 0 'c' (conv2d): its weights, tensor 1 'w', has 3 dimensions, must have 4");
	model = tb_valid();
	model.tensors[0] = (struct tb_tensor){ "in", TYPE_INT8, 3, { 8, 8, 3 }, 0, 0, 0 };
	refuse(&model, -EINVAL,
	       "operator 0 'c' (conv2d): its input, tensor 0 'in', has 3 dimensions, must have 4");
	model = tb_valid();
	model.tensors[3] = (struct tb_tensor){ "c", TYPE_INT8, 1, { 32 }, 0, 0, 0 };
	refuse(&model, -EINVAL,
	       "operator 0 'c' (conv2d): its output, tensor 3 'c', has 1 dimensions, must have 4");
	model = tb_valid();
	model.tensors[1] = (struct tb_tensor){ "w", TYPE_INT8, 4, { 1, 65536, 1, 1 }, 0, 0, 0 };
	model.inputs[1] = 1;
	model.input_count = 2;
	refuse(&model, -EINVAL,
	       "operator 0 'c' (conv2d): kernel size of 65536, must be 1 to 65535");
}

/* The only operator becomes another one; @op has its options. */
static struct npuplan_attrs attrs_of(struct tb_model *model)
{
	struct npuplan_graph *graph = accept(model, NULL);
	struct npuplan_attrs attrs = graph->ops[0].attrs;

	npuplan_graph_free(graph);
	return attrs;
}

TEST(windows)
{
	struct tb_model model = tb_valid();
	struct npuplan_attrs attrs;

	/* Grouped: 6 input channels, 3 a group. */
	model.tensors[0].shape[3] = 6;
	attrs = attrs_of(&model);
	assert_int_equal(attrs.groups, 2);
	/* Dilated, VALID. */
	model = tb_valid();
	model.ops[0].options[0] = PADDING_VALID;
	model.ops[0].options[1] = model.ops[0].options[2] = 1;
	model.ops[0].options[4] = model.ops[0].options[5] = 2;
	attrs = attrs_of(&model);
	assert_int_equal(attrs.dilation[0], 2);
	assert_int_equal(attrs.pad_begin[0], 0);
	assert_int_equal(attrs.pad_end[0], 0);
	/* Depthwise. */
	model = tb_valid();
	model.codes[0] = (struct tb_code){ BUILTIN_DEPTHWISE_CONV_2D, 0, NULL };
	model.ops[0].options_type = OPTIONS_DEPTHWISE_CONV_2D;
	model.ops[0].option_count = 7;
	model.ops[0].options[5] = model.ops[0].options[6] = 1;
	model.tensors[1] = (struct tb_tensor){ "w", TYPE_INT8, 4, { 1, 3, 5, 3 }, 1, 0, 0 };
	model.buffers[1].size = 45;
	attrs = attrs_of(&model);
	assert_int_equal(attrs.groups, 3);
	assert_int_equal(attrs.kernel[0], 3);
	assert_int_equal(attrs.kernel[1], 5);
	assert_int_equal(attrs.pad_begin[1], 1);
	assert_int_equal(attrs.pad_end[1], 2);
	/* Pooling: the filter is in the options. */
	model = tb_valid();
	model.codes[0] = (struct tb_code){ BUILTIN_MAX_POOL_2D, 0, NULL };
	model.ops[0].input_count = 1;
	model.ops[0].options_type = OPTIONS_POOL_2D;
	model.ops[0].option_count = 5;
	model.ops[0].options[3] = 2;
	model.ops[0].options[4] = 3;
	attrs = attrs_of(&model);
	assert_int_equal(attrs.kernel[0], 3);
	assert_int_equal(attrs.kernel[1], 2);
	model.ops[0].options[4] = 0;
	refuse(&model, -EINVAL, "operator 0 'c' (maxpool): filter size of 0, must be 1 to 65535");
	model.ops[0].options[4] = 3;
	model.ops[0].input_count = 0;
	refuse(&model, -EINVAL, "operator 0 'c' (maxpool): it has no input");
}

TEST(conv_3d)
{
	struct tb_model model = tb_valid();
	struct npuplan_attrs attrs;

	model.codes[0] = (struct tb_code){ 127, BUILTIN_CONV_3D, NULL };
	model.tensors[0] = (struct tb_tensor){ "in", TYPE_INT8, 5, { 1, 4, 8, 8, 3 }, 0, 0, 0 };
	model.tensors[1] = (struct tb_tensor){ "w", TYPE_INT8, 5, { 1, 3, 3, 3, 2 }, 1, 0, 0 };
	model.tensors[3] = (struct tb_tensor){ "c", TYPE_INT8, 5, { 1, 4, 4, 4, 2 }, 0, 0, 0 };
	model.ops[0].options_type = OPTIONS_CONV_3D;
	model.ops[0].option_count = 8;
	model.ops[0].options[1] = 1;
	model.ops[0].options[2] = model.ops[0].options[3] = 2;
	model.ops[0].options[5] = model.ops[0].options[6] = model.ops[0].options[7] = 1;
	attrs = attrs_of(&model);
	assert_int_equal(attrs.spatial, 3);
	assert_int_equal(attrs.kernel[0], 1);
	assert_int_equal(attrs.kernel[1], 3);
	assert_int_equal(attrs.stride[0], 1);
	assert_int_equal(attrs.stride[2], 2);
}

/* Inputs: output shape, weights, data. 8x8x3 from 4x4x2 by stride 2. */
TEST(transpose_conv)
{
	struct tb_model model = tb_valid();
	struct npuplan_graph *graph;

	model.codes[0] = (struct tb_code){ BUILTIN_TRANSPOSE_CONV, 0, NULL };
	model.tensors[0] = (struct tb_tensor){ "in", TYPE_INT8, 4, { 1, 4, 4, 3 }, 0, 0, 0 };
	model.tensors[2] = (struct tb_tensor){ "shape", TYPE_INT32, 1, { 4 }, 2, 0, 0 };
	model.buffers[2].size = 16;
	model.tensors[3] = (struct tb_tensor){ "c", TYPE_INT8, 4, { 1, 8, 8, 2 }, 0, 0, 0 };
	model.ops[0].inputs[0] = 2;
	model.ops[0].inputs[2] = 0;
	model.ops[0].options_type = OPTIONS_TRANSPOSE_CONV;
	model.ops[0].option_count = 3;
	graph = accept(&model, NULL);
	assert_string_equal(graph->ops[0].type, "conv_transpose2d");
	assert_int_equal(graph->ops[0].inputs[0], 0);
	assert_int_equal(graph->ops[0].inputs[2], 2);
	assert_true(graph->ops[0].attrs.transposed);
	assert_int_equal(graph->ops[0].attrs.pad_begin[0], 0);
	assert_int_equal(graph->ops[0].attrs.pad_end[0], 1);
	npuplan_graph_free(graph);
	model.ops[0].options[0] = PADDING_VALID;
	model.tensors[3].shape[1] = model.tensors[3].shape[2] = 9;
	graph = accept(&model, NULL);
	assert_int_equal(graph->ops[0].attrs.pad_end[0], 0);
	npuplan_graph_free(graph);
	model.tensors[3].shape[1] = 11;
	refuse(&model, -EINVAL,
	       "operator 0 'c' (conv_transpose2d): VALID padding makes 9 elements of 4 along "
	       "spatial dimension 0, but its output has 11");
	model.ops[0].input_count = 2;
	refuse(&model, -EINVAL,
	       "operator 0 'c' (conv_transpose2d): has 2 inputs, must have 3 or 4");
}

TEST(concat)
{
	struct tb_model model = tb_valid();

	model.codes[0] = (struct tb_code){ BUILTIN_CONCATENATION, 0, NULL };
	model.ops[0].options_type = OPTIONS_CONCATENATION;
	model.ops[0].option_count = 1;
	model.ops[0].options[0] = -1;
	assert_int_equal(attrs_of(&model).axis, 3);
	model.ops[0].options[0] = 1;
	assert_int_equal(attrs_of(&model).axis, 1);
	model.ops[0].options[0] = 4;
	refuse(&model, -EINVAL, "operator 0 'c' (cat): axis 4 of 4 dimensions");
	model.ops[0].options[0] = -5;
	refuse(&model, -EINVAL, "operator 0 'c' (cat): axis -5 of 4 dimensions");
	model.ops[0].options_type = 0;
	refuse(&model, -EINVAL, "operator 0 'c' (cat): its options have type 0, expected 10");
	model.ops[0].options_type = OPTIONS_CONCATENATION;
	model.ops[0].options[0] = 1;
	model.tensors[0] = (struct tb_tensor){ "in", TYPE_INT8, 1, { 192 }, 0, 0, 0 };
	refuse(&model, -EINVAL,
	       "operator 0 'c' (cat): its input, tensor 0 'in', has 1 dimensions, must have 4");
}

TEST(pad)
{
	int32_t paddings[8] = { 0, 0, 1, 2, 3, 0, 0, 0 };
	int64_t wide[8] = { 0, 0, 1, 2, 3, 0, 0, 0 };
	struct tb_model model = tb_valid();
	struct npuplan_attrs attrs;

	model.codes[0] = (struct tb_code){ BUILTIN_PAD, 0, NULL };
	model.tensors[1] = (struct tb_tensor){ "p", TYPE_INT32, 2, { 4, 2 }, 1, 0, 0 };
	model.buffers[1] = (struct tb_buffer){ .size = sizeof(paddings), .data = paddings };
	model.tensors[3] = (struct tb_tensor){ "c", TYPE_INT8, 4, { 1, 11, 11, 3 }, 0, 0, 0 };
	model.ops[0].input_count = 2;
	model.ops[0].options_type = 0;
	attrs = attrs_of(&model);
	assert_int_equal(attrs.spatial, 2);
	assert_int_equal(attrs.pad_begin[0], 1);
	assert_int_equal(attrs.pad_end[0], 2);
	assert_int_equal(attrs.pad_begin[1], 3);
	assert_int_equal(attrs.pad_end[1], 0);
	model.tensors[1].type = TYPE_INT64;
	model.buffers[1] = (struct tb_buffer){ .size = sizeof(wide), .data = wide };
	attrs = attrs_of(&model);
	assert_int_equal(attrs.pad_begin[1], 3);
	/* Paddings that are computed: the whole input is read. */
	model.tensors[1].buffer = 0;
	model.inputs[1] = 1;
	model.input_count = 2;
	assert_int_equal(attrs_of(&model).spatial, 0);
	model.input_count = 1;
	model.tensors[1].type = TYPE_INT32;
	model.tensors[1].buffer = 1;
	model.buffers[1] = (struct tb_buffer){ .size = sizeof(paddings), .data = paddings };
	model.tensors[3].shape[1] = 12;
	refuse(&model, -EINVAL,
	       "operator 0 'c' (pad): padding 1 and 2 does not make 12 elements of 8 along "
	       "dimension 1");
	model.tensors[3].shape[1] = 11;
	model.tensors[1].shape[1] = 1;
	model.buffers[1].size = 16;
	refuse(&model, -EINVAL, "operator 0 'c' (pad): its paddings have 16 bytes, must have 32");
	model.ops[0].input_count = 1;
	refuse(&model, -EINVAL, "operator 0 'c' (pad): has no paddings");
}

static void put32(uint8_t *bytes, size_t at, size_t value)
{
	for (int i = 0; i < 4; i++)
		bytes[at + i] = (uint8_t)(value >> (8 * i));
}

/* 3000 operators that are one and the same, of 2000 inputs: 20 kB for six million. */
TEST(amplification)
{
	enum { OPS = 3000, INPUTS = 2000, VTABLE = 28, TABLE = 100 };
	struct tb_model model = tb_valid();
	struct tb_file *file = malloc(sizeof(*file));
	struct npuplan_error error = { 0 };
	struct npuplan_graph *graph = NULL;
	size_t field, vector, table, inputs, size;
	uint8_t *bytes;

	assert_non_null(file);
	tb_build(&model, file);
	vector = file->size;
	table = vector + 4 + 4 * OPS + VTABLE;
	inputs = table + TABLE;
	size = inputs + 4 + 4 * INPUTS;
	bytes = calloc(size, 1);
	assert_non_null(bytes);
	memcpy(bytes, file->bytes, file->size);
	field = file->subgraph + 4 + 8 * SUBGRAPH_OPERATORS;
	put32(bytes, field, vector - field);
	put32(bytes, vector, OPS);
	for (size_t i = 0; i < OPS; i++)
		put32(bytes, vector + 4 + 4 * i, table - (vector + 4 + 4 * i));
	put32(bytes, table - VTABLE, VTABLE | TABLE << 16);
	put32(bytes, table - VTABLE + 4, (4 + 8 * OPERATOR_INPUTS) << 16);
	put32(bytes, table, VTABLE);
	field = table + 4 + 8 * OPERATOR_INPUTS;
	put32(bytes, field, inputs - field);
	put32(bytes, inputs, INPUTS);
	assert_int_equal(npuimport_tflite(bytes, size, "x", NULL, &graph, NULL, &error), -E2BIG);
	assert_string_equal(error.text,
			    "operators have more than 4194304 inputs and outputs together");
	assert_null(graph);
	free(bytes);
	free(file);
}
