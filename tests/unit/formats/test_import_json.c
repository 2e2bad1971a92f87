/* SPDX-License-Identifier: MIT */
/* userspace/formats/graph_json/: every rule, each broken alone in a valid file. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>

#include "auto.h"
#include "npuimport.h"
#include "text.h"
#include "unit.h"

/* A convolution, an add, a pad; all kinds of tensors, all attributes. */
static const char valid[] =
	"{\"name\":\"small\",\"source\":\"by hand\",\"dtype_bytes\":1,\"model_params\":54,\n"
	"\"tensors\":[\n"
	"{\"id\":10,\"name\":\"in\",\"shape\":[1,3,8,8],\"bytes\":192,\"kind\":\"input\"},\n"
	"{\"id\":11,\"name\":\"w\",\"shape\":[2,3,3,3],\"bytes\":54,\"kind\":\"parameter\"},\n"
	"{\"id\":12,\"name\":\"c\",\"shape\":[1,2,4,4],\"bytes\":32,\"kind\":\"activation\"},\n"
	"{\"id\":13,\"name\":\"s\",\"shape\":[1,2,4,4],\"bytes\":32,\"kind\":\"state\"},\n"
	"{\"id\":14,\"name\":\"a\",\"shape\":[1,2,4,4],\"bytes\":32,\"kind\":\"activation\"},\n"
	"{\"id\":15,\"name\":\"out\",\"shape\":[1,2,5,5],\"bytes\":50,\"kind\":\"output\"}],\n"
	"\"ops\":[\n"
	"{\"id\":1,\"name\":\"conv\",\"type\":\"conv2d\",\"inputs\":[10,11],\"outputs\":[12],"
	"\"attrs\":{\"kernel\":[3,3],\"stride\":[2,2],\"padding\":[1,1],\"dilation\":[1,1],"
	"\"groups\":1,\"fused_act\":\"relu\",\"depthwise\":false}},\n"
	"{\"id\":2,\"name\":\"sum\",\"type\":\"add\",\"inputs\":[12,13],\"outputs\":[14,13],"
	"\"attrs\":{\"inplace\":true,\"dim\":-3,\"scalar\":0.5}},\n"
	"{\"id\":3,\"name\":\"border\",\"type\":\"pad\",\"inputs\":[14],\"outputs\":[15],"
	"\"attrs\":{\"padding\":[0,1,0,1]}}]}\n";

/* @find in the valid text replaced by @with; malloc'ed */
static char *edit(const char *text, const char *find, const char *with)
{
	char *out = text_edit(text, find, with);

	assert_non_null(out);
	return out;
}

static struct npuplan_graph *accept(const char *text)
{
	struct npuplan_error error = { 0 };
	struct npuplan_graph *graph = NULL;

	if (npuimport_graph_json(text, strlen(text), NULL, &graph, NULL, &error))
		fail_msg("refused: %s", error.text);
	assert_non_null(graph);
	return graph;
}

static void refuse_text(const char *text, int err, const char *message)
{
	struct npuplan_error error = { 0 };
	struct npuplan_graph *graph = NULL;

	assert_int_equal(npuimport_graph_json(text, strlen(text), NULL, &graph, NULL, &error), err);
	assert_null(graph);
	assert_string_equal(error.text, message);
}

static void refuse(const char *find, const char *with, const char *message)
{
	AUTO_TEXT char *text = edit(valid, find, with);

	refuse_text(text, -EINVAL, message);
}

TEST(valid)
{
	AUTO_GRAPH struct npuplan_graph *graph = accept(valid);
	const struct npuplan_op *op;

	assert_string_equal(graph->name, "small");
	assert_int_equal(graph->source_layout, NPUPLAN_NCHW);
	assert_int_equal(graph->layout, NPUPLAN_NHWC);
	assert_int_equal(graph->tensor_count, 6);
	assert_int_equal(graph->tensors[1].kind, NPUMEM_TENSOR_PARAMETER);
	assert_int_equal(graph->tensors[3].kind, NPUMEM_TENSOR_STATE);
	assert_int_equal(graph->tensors[5].id, 15);
	assert_int_equal(graph->tensors[5].shape[2], 5);
	assert_int_equal(graph->tensors[5].elem_size, 1);
	assert_int_equal(graph->tensors[5].align, 1);
	op = &graph->ops[0];
	assert_int_equal(op->attrs.spatial, 2);
	assert_int_equal(op->attrs.stride[1], 2);
	assert_int_equal(op->attrs.pad_begin[0], 1);
	assert_int_equal(op->attrs.axis, -1);
	op = &graph->ops[1];
	assert_true(op->attrs.inplace);
	assert_int_equal(op->attrs.axis, 1);
	assert_int_equal(op->inputs[1], 3);
	assert_int_equal(op->outputs[1], 3);
	op = &graph->ops[2];
	assert_int_equal(op->attrs.spatial, 2);
	assert_int_equal(op->attrs.pad_begin[0], 0);
	assert_int_equal(op->attrs.pad_end[0], 1);
}

TEST(not_json)
{
	refuse_text("{\"name\":", -EBADMSG, "line 1, column 8: unexpected token near end of file");
	refuse_text("{}x", -EBADMSG, "line 1, column 3: end of file expected near 'x'");
	refuse_text("{\"name\":\"a\",\"name\":\"b\"}", -EBADMSG,
		    "line 1, column 18: duplicate object key near '\"name\"'");
	refuse_text("", -EBADMSG, "line 1, column 0: '[' or '{' expected near end of file");
	refuse_text("[]", -EINVAL, "$: must be an object");
}

TEST(root)
{
	refuse("\"name\":\"small\",", "", "$.name: missing");
	refuse("\"small\"", "7", "$.name: must be a string");
	refuse("\"by hand\"", "[]", "$.source: must be a string");
	refuse("\"dtype_bytes\":1", "\"dtype_bytes\":0",
	       "$.dtype_bytes: must be an integer from 1 to 65536");
	refuse("\"dtype_bytes\":1", "\"dtype_bytes\":1.0",
	       "$.dtype_bytes: must be an integer from 1 to 65536");
	refuse("\"model_params\":54", "\"model_params\":-1",
	       "$.model_params: must be an integer from 0 to 9223372036854775807");
	refuse("\"model_params\":54", "\"layout\":\"CHWN\"",
	       "$.layout: \"CHWN\" is neither NCHW nor NHWC");
	refuse("\"model_params\":54", "\"layout\":1", "$.layout: must be a string");
	refuse("\"model_params\"", "\"modelparams\"",
	       "$: \"modelparams\" is not known here (names that begin with \"x_\" are ignored)");
	refuse("\"tensors\":[", "\"x_tensors\":[", "$.tensors: missing");
	refuse("\"ops\":[", "\"x_ops\":[", "$.ops: missing");
	refuse_text("{\"name\":\"a\",\"tensors\":{},\"ops\":[]}", -EINVAL,
		    "$.tensors: must be a list");
	refuse_text("{\"name\":\"a\",\"tensors\":[],\"ops\":1}", -EINVAL, "$.ops: must be a list");
	refuse_text("{\"name\":\"a\",\"tensors\":[],\"ops\":[]}", -EINVAL,
		    "the graph has no operators");
}

TEST(tensor)
{
	refuse("{\"id\":11,\"name\":\"w\",\"shape\":[2,3,3,3],\"bytes\":54,\"kind\":\"parameter\"}",
	       "11", "$.tensors[1]: must be an object");
	refuse("\"id\":11,", "", "$.tensors[1].id: missing");
	refuse("\"id\":11,", "\"id\":-1,",
	       "$.tensors[1].id: must be an integer from 0 to 9223372036854775807");
	refuse("\"id\":11,", "\"id\":10,", "$.tensors: id 10 is given twice");
	refuse("\"name\":\"w\",", "", "$.tensors[1].name: missing");
	refuse("\"name\":\"w\"", "\"name\":null", "$.tensors[1].name: must be a string");
	refuse("\"shape\":[2,3,3,3],", "", "$.tensors[1].shape: missing");
	refuse("[2,3,3,3]", "54", "$.tensors[1].shape: must be a list");
	refuse("[2,3,3,3]", "[2,3,0,3]",
	       "$.tensors[1].shape[2]: must be an integer from 1 to 2147483647");
	refuse("[2,3,3,3]", "[2,3,3,3,1,1,1,1,1]",
	       "$.tensors[1].shape: must have 0 to 8 entries, not 9");
	refuse("\"bytes\":54", "\"bytes\":0",
	       "$.tensors[1].bytes: must be an integer from 1 to 1099511627776");
	refuse("\"bytes\":54", "\"bytes\":55",
	       "$.tensors[1].bytes: is 55, but shape times dtype_bytes is 54 for tensor 11 'w'");
	refuse("\"kind\":\"parameter\"", "\"kind\":\"weight\"",
	       "$.tensors[1].kind: must be activation, input, output, parameter or state");
	refuse("\"kind\":\"parameter\"", "\"kind\":\"parameter\",\"colour\":1",
	       "$.tensors[1]: \"colour\" is not known here (names that begin with \"x_\" are "
	       "ignored)");
	refuse("\"kind\":\"parameter\"", "\"kind\":\"parameter\",\"dtype_bytes\":0",
	       "$.tensors[1].dtype_bytes: must be an integer from 1 to 65536");
	refuse("\"kind\":\"parameter\"", "\"kind\":\"parameter\",\"align\":3",
	       "$.tensors[1].align: must be a power of two");
	refuse("\"kind\":\"parameter\"", "\"kind\":\"parameter\",\"align\":131072",
	       "$.tensors[1].align: must be an integer from 1 to 65536");
	refuse("\"kind\":\"parameter\"", "\"kind\":\"parameter\",\"fixed_offset\":-1",
	       "$.tensors[1].fixed_offset: must be an integer from 0 to 1099511627776");
	refuse("\"kind\":\"parameter\"", "\"kind\":\"parameter\",\"align\":4,\"fixed_offset\":6",
	       "$.tensors[1].fixed_offset: must be a multiple of the alignment, 4");
	refuse("\"kind\":\"parameter\"", "\"kind\":\"parameter\",\"external\":1",
	       "$.tensors[1].external: must be true or false");
	refuse("\"kind\":\"parameter\"",
	       "\"kind\":\"parameter\",\"external\":true,\"fixed_offset\":0",
	       "$.tensors[1]: only one of \"fixed_offset\", \"external\" and \"alias_of\" may be "
	       "given");
	refuse("\"kind\":\"activation\"", "\"kind\":\"activation\",\"host\":true",
	       "$.tensors[2].host: is for inputs and parameters only");
}

TEST(op)
{
	refuse("{\"id\":3,\"name\":\"border\",\"type\":\"pad\",\"inputs\":[14],\"outputs\":[15],"
	       "\"attrs\":{\"padding\":[0,1,0,1]}}",
	       "[]", "$.ops[2]: must be an object");
	refuse("\"id\":2,", "", "$.ops[1].id: missing");
	refuse("\"id\":2,", "\"id\":1,", "$.ops: id 1 is given twice");
	refuse("\"name\":\"sum\",", "", "$.ops[1].name: missing");
	refuse("\"type\":\"add\",", "", "$.ops[1].type: missing");
	refuse("\"type\":\"add\"", "\"type\":\"\"", "$.ops[1].type: must not be empty");
	refuse("\"inputs\":[12,13],", "", "$.ops[1].inputs: missing");
	refuse("\"inputs\":[12,13]", "\"inputs\":12", "$.ops[1].inputs: must be a list");
	refuse("\"inputs\":[12,13]", "\"inputs\":[12,\"13\"]",
	       "$.ops[1].inputs[1]: must be the id of a tensor");
	refuse("\"inputs\":[12,13]", "\"inputs\":[12,99]",
	       "$.ops[1].inputs[1]: no tensor has id 99");
	refuse("\"outputs\":[14,13],", "", "$.ops[1].outputs: missing");
	refuse("\"outputs\":[14,13]", "\"outputs\":[]", "$.ops[1].outputs: must not be empty");
	refuse("\"outputs\":[14,13]", "\"outputs\":[14,98]",
	       "$.ops[1].outputs[1]: no tensor has id 98");
	refuse("\"name\":\"sum\"", "\"name\":\"sum\",\"kind\":1",
	       "$.ops[1]: \"kind\" is not known here (names that begin with \"x_\" are ignored)");
	refuse("{\"padding\":[0,1,0,1]}", "[]", "$.ops[2].attrs: must be an object");
}

TEST(attrs)
{
	refuse("\"stride\"", "\"strid\"",
	       "$.ops[0].attrs: \"strid\" is not known here (names that begin with \"x_\" are "
	       "ignored)");
	refuse("\"kernel\":[3,3]", "\"kernel\":3", "$.ops[0].attrs.kernel: must be a list");
	refuse("\"kernel\":[3,3]", "\"kernel\":[]",
	       "$.ops[0].attrs.kernel: must have 1 to 3 entries, not 0");
	refuse("\"kernel\":[3,3]", "\"kernel\":[0,3]",
	       "$.ops[0].attrs.kernel[0]: must be an integer from 1 to 65535");
	refuse("\"kernel\":[3,3],", "", "$.ops[0].attrs.stride: needs \"kernel\" beside it");
	refuse("\"stride\":[2,2]", "\"stride\":[2]",
	       "$.ops[0].attrs.stride: must have 2 entries, not 1");
	refuse("\"stride\":[2,2]", "\"stride\":[2,0]",
	       "$.ops[0].attrs.stride[1]: must be an integer from 1 to 536870911");
	refuse("\"dilation\":[1,1]", "\"dilation\":[true,1]",
	       "$.ops[0].attrs.dilation[0]: must be an integer from 1 to 536870911");
	refuse("\"padding\":[1,1]", "\"padding\":[1,1,1,1]",
	       "$.ops[0].attrs.padding: must have 2 entries, not 4");
	refuse("\"padding\":[1,1]", "\"padding\":[-1,1]",
	       "$.ops[0].attrs.padding[0]: must be an integer from 0 to 536870911");
	refuse("\"padding\":[1,1]", "\"pad_begin\":[1,1]",
	       "$.ops[0].attrs: \"pad_begin\" and \"pad_end\" go together");
	refuse("\"padding\":[1,1]", "\"padding\":[1,1],\"pad_begin\":[1,1],\"pad_end\":[1,1]",
	       "$.ops[0].attrs.padding: excludes \"pad_begin\" and \"pad_end\"");
	refuse("\"padding\":[1,1]", "\"padding\":[1,1],\"pad_folded\":[1,1]",
	       "$.ops[0].attrs.pad_folded: must have 4 entries, not 2");
	refuse("\"padding\":[1,1]", "\"padding\":[1,1],\"output_padding\":[1,1]",
	       "$.ops[0].attrs.output_padding: is for transposed convolutions only");
	refuse("\"padding\":[1,1]", "\"padding\":[1,1],\"ceil_mode\":1",
	       "$.ops[0].attrs.ceil_mode: must be true or false");
	refuse("\"padding\":[1,1]", "\"padding\":[0,1]",
	       "$.ops[0].attrs: operator 1 'conv' (conv2d): window, stride and padding make 3 "
	       "elements of 8 along spatial dimension 0, but its output has 4");
	refuse("\"groups\":1", "\"groups\":0",
	       "$.ops[0].attrs.groups: must be an integer from 1 to 2147483647");
	refuse("\"depthwise\":false", "\"depthwise\":0",
	       "$.ops[0].attrs.depthwise: must be true or false");
	refuse("\"fused_act\":\"relu\"", "\"fused_act\":1",
	       "$.ops[0].attrs.fused_act: must be a string");
	refuse("\"dim\":-3", "\"dim\":4", "$.ops[1].attrs.dim: must be an integer from -4 to 3");
	refuse("\"dim\":-3", "\"dim\":[1,4]",
	       "$.ops[1].attrs.dim[1]: must be an integer from -4 to 3");
	refuse("\"dim\":-3", "\"dim\":\"C\"", "$.ops[1].attrs.dim: must be a list");
	refuse("\"scalar\":0.5", "\"scalar\":\"half\"", "$.ops[1].attrs.scalar: must be a number");
	refuse("\"scalar\":0.5", "\"size\":[0]",
	       "$.ops[1].attrs.size[0]: must be an integer from 1 to 2147483647");
	refuse("\"inplace\":true", "\"inplace\":1",
	       "$.ops[1].attrs.inplace: must be true or false");
	refuse("{\"padding\":[0,1,0,1]}", "{\"padding\":[0,1,0,1],\"inplace\":true}",
	       "$.ops[2].attrs: operator 3 'border' (pad) works in place, so its first input and "
	       "its output must have the same size");
	refuse("\"inplace\":true", "\"partial_inputs\":[14]",
	       "$.ops[1].attrs.partial_inputs[0]: 14 is not an input of operator 2 'sum' (add)");
	refuse("\"inplace\":true", "\"partial_inputs\":[0.5]",
	       "$.ops[1].attrs.partial_inputs[0]: must be the id of a tensor");
	refuse("\"inplace\":true", "\"alias_of\":11",
	       "$.ops[1].attrs.alias_of: 11 is not an input of operator 2 'sum' (add)");
	refuse("\"padding\":[0,1,0,1]", "\"padding\":[]",
	       "$.ops[2].attrs.padding: must have 2, 4 or 6 entries");
	refuse("\"inputs\":[14],\"outputs\":[15]", "\"inputs\":[],\"outputs\":[15]",
	       "$.ops[2].attrs: operator 3 'border' (pad) has a window but no input");
	refuse("\"padding\":[0,1,0,1]", "\"padding\":[0,1]",
	       "$.ops[2].attrs: operator 3 'border' (pad) has a window of 1 dimensions, so its "
	       "first input and its output must have 3, not 4 and 4");
}

TEST(order)
{
	refuse("\"outputs\":[12]", "\"outputs\":[12,10]",
	       "operator 1 'conv' (conv2d) writes tensor 10 'in', which is an input of the graph");
	refuse("\"inputs\":[10,11],\"outputs\":[12],\"attrs\":{\"kernel\":[3,3],\"stride\":[2,2],"
	       "\"padding\":[1,1],\"dilation\":[1,1],\"groups\":1,",
	       "\"inputs\":[10],\"outputs\":[11],\"attrs\":{\"groups\":1,",
	       "operator 1 'conv' (conv2d) writes tensor 11 'w', which is a parameter");
	refuse("\"inputs\":[12,13]", "\"inputs\":[12,10]",
	       "operator 2 'sum' (add) writes tensor 13 's', a state, without reading it: state is "
	       "updated in place, so it must be among the inputs too");
	refuse("\"outputs\":[14,13]", "\"outputs\":[14,13,13]",
	       "tensor 13 's' is written by operator 2 'sum' (add) and again by operator 2 'sum' "
	       "(add)");
	refuse("\"outputs\":[14,13]", "\"outputs\":[14,12]",
	       "tensor 12 'c' is written by operator 1 'conv' (conv2d) and again by operator 2 "
	       "'sum' (add)");
	refuse("\"inputs\":[12,13]", "\"inputs\":[12,13,14]",
	       "operator 2 'sum' (add) reads tensor 14 'a', which it writes itself");
	refuse("\"inputs\":[12,13]", "\"inputs\":[12,13,15]",
	       "operator 2 'sum' (add) reads tensor 15 'out', which operator 3 'border' (pad) "
	       "writes only later: operators must be in execution order");
}

TEST(never_written)
{
	refuse("{\"id\":1,\"name\":\"conv\",\"type\":\"conv2d\",\"inputs\":[10,11],"
	       "\"outputs\":[12],"
	       "\"attrs\":{\"kernel\":[3,3],\"stride\":[2,2],\"padding\":[1,1],\"dilation\":[1,1],"
	       "\"groups\":1,\"fused_act\":\"relu\",\"depthwise\":false}},\n",
	       "", "operator 2 'sum' (add) reads tensor 12 'c', which nothing writes");
	refuse(",\n{\"id\":3,\"name\":\"border\",\"type\":\"pad\",\"inputs\":[14],\"outputs\":[15],"
	       "\"attrs\":{\"padding\":[0,1,0,1]}}",
	       "", "tensor 15 'out' is an output of the graph, but nothing writes it");
}

static struct npuplan_attrs attrs_of(const char *find, const char *with, uint32_t op)
{
	char *text = edit(valid, find, with);
	struct npuplan_graph *graph = accept(text);
	struct npuplan_attrs attrs = graph->ops[op].attrs;

	npuplan_graph_free(graph);
	free(text);
	return attrs;
}

/* What stands for a pad and a crop has no known window; ceil_mode becomes padding. */
TEST(window_forms)
{
	struct npuplan_attrs attrs;

	attrs = attrs_of("\"padding\":[1,1]", "\"padding\":[0,0],\"pad_folded\":[1,1,1,1]", 0);
	assert_int_equal(attrs.spatial, 2);
	assert_int_equal(attrs.pad_begin[0], 1);
	assert_int_equal(attrs.pad_end[1], 1);
	/* PyTorch's order: left, right, top, bottom. */
	attrs = attrs_of("\"padding\":[1,1]", "\"pad_folded\":[1,0,0,1]", 0);
	assert_int_equal(attrs.pad_begin[0], 0);
	assert_int_equal(attrs.pad_end[0], 1);
	assert_int_equal(attrs.pad_begin[1], 1);
	assert_int_equal(attrs.pad_end[1], 0);
	attrs = attrs_of("\"padding\":[1,1]", "\"pad_folded\":[0,4,0,4]", 0);
	assert_int_equal(attrs.spatial, 0);
	attrs = attrs_of("\"padding\":[1,1]", "\"padding\":[1,1],\"partial_inputs\":[10]", 0);
	assert_int_equal(attrs.spatial, 0);
	attrs = attrs_of("\"padding\":[1,1]", "\"padding\":[1,1],\"partial_inputs\":[11]", 0);
	assert_int_equal(attrs.spatial, 2);
	attrs = attrs_of("\"padding\":[1,1]", "\"pad_begin\":[0,1],\"pad_end\":[1,0]", 0);
	assert_int_equal(attrs.pad_end[0], 1);
	attrs = attrs_of("\"padding\":[1,1]", "\"padding\":[0,0],\"ceil_mode\":true", 0);
	assert_int_equal(attrs.spatial, 2);
	assert_int_equal(attrs.pad_begin[0], 0);
	assert_int_equal(attrs.pad_end[0], 1);
	attrs = attrs_of("\"padding\":[0,1,0,1]", "\"padding\":[0,0,0,0]", 2);
	assert_int_equal(attrs.spatial, 0);
	attrs = attrs_of("\"inplace\":true", "\"alias_of\":12", 1);
	assert_true(attrs.inplace);
	attrs = attrs_of("\"inplace\":true", "\"alias_of\":13", 1);
	assert_false(attrs.inplace);
	attrs = attrs_of("\"dim\":-3", "\"dim\":[-1,-2]", 1);
	assert_int_equal(attrs.axis, 2);
}

TEST(transposed)
{
	const char *text =
		"{\"name\":\"t\",\"dtype_bytes\":4,\"layout\":\"NHWC\",\"tensors\":["
		"{\"id\":0,\"name\":\"in\",\"shape\":[1,4,4,2],\"bytes\":128,\"kind\":\"input\"},"
		"{\"id\":1,\"name\":\"o\",\"shape\":[1,8,8,2],\"bytes\":512,\"kind\":\"output\"}],"
		"\"ops\":[{\"id\":0,\"name\":\"up\",\"type\":\"conv_transpose2d\",\"inputs\":[0],"
		"\"outputs\":[1],\"attrs\":{\"kernel\":[3,3],\"stride\":[2,2],\"padding\":[1,1],"
		"\"output_padding\":[1,1]}}]}";
	AUTO_GRAPH struct npuplan_graph *graph = accept(text);

	assert_true(graph->ops[0].attrs.transposed);
	assert_int_equal(graph->ops[0].attrs.pad_begin[0], 1);
	assert_int_equal(graph->ops[0].attrs.pad_end[0], 0);
	assert_int_equal(graph->source_layout, NPUPLAN_NHWC);
	assert_int_equal(graph->tensors[0].align, 4);
}

static char *written(const struct npuplan_graph *graph)
{
	struct npuplan_error error = { 0 };
	char *text = NULL;

	if (npuimport_graph_json_write(graph, &text, &error))
		fail_msg("not written: %s", error.text);
	return text;
}

/* Reading what was written and writing it again gives the same bytes. */
TEST(round_trip)
{
	static const char *const edits[][2] = {
		{ "\"small\"", "\"small\"" },
		{ "\"kind\":\"parameter\"",
		  "\"kind\":\"parameter\",\"align\":64,\"fixed_offset\":128" },
		{ "\"kind\":\"input\"", "\"kind\":\"input\",\"external\":true,\"host\":true" },
		{ "\"dtype_bytes\":1,", "" },
		{ "\"padding\":[1,1]", "\"padding\":[0,0],\"ceil_mode\":true" },
		{ "\"padding\":[1,1]", "\"padding\":[1,1],\"partial_inputs\":[10]" },
		{ "\"kind\":\"activation\"},\n{\"id\":15",
		  "\"kind\":\"activation\",\"alias_of\":15,\"alias_offset\":3},\n{\"id\":15" },
		{ "\"small\"", "\"\\u00fcber \\\"quoted\\\"\"" },
	};

	for (size_t i = 0; i < sizeof(edits) / sizeof(*edits); i++) {
		AUTO_TEXT char *text = edit(valid, edits[i][0], edits[i][1]);
		AUTO_GRAPH struct npuplan_graph *graph = accept(text), *again = NULL;
		AUTO_TEXT char *first = written(graph), *second = NULL;

		again = accept(first);
		second = written(again);
		assert_string_equal(first, second);
		assert_memory_equal(&graph->ops[0].attrs, &again->ops[0].attrs,
				    sizeof(graph->ops[0].attrs));
		assert_int_equal(graph->tensors[1].align, again->tensors[1].align);
		assert_int_equal(graph->tensors[1].flags, again->tensors[1].flags);
		assert_int_equal(graph->tensors[0].flags, again->tensors[0].flags);
	}
}

TEST(write_refused)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("empty");
	struct npuplan_tensor tensor = { .name = (char[]){ "t\xff" }, .size = 4, .id = 5 };
	struct npuplan_error error = { 0 };
	uint32_t zero = 0;
	struct npuplan_op op = { .name = (char[]){ "o" },
				 .type = (char[]){ "relu" },
				 .outputs = &zero,
				 .output_count = 1,
				 .id = 6 };
	char *text = NULL;

	assert_int_equal(npuimport_graph_json_write(graph, &text, &error), -EINVAL);
	assert_string_equal(error.text,
			    "graph 'empty' has no operators, so graph JSON cannot hold it");
	assert_null(text);
	assert_int_equal(npuplan_graph_add_tensor(graph, &tensor), 0);
	assert_int_equal(npuplan_graph_add_op(graph, &op), 0);
	assert_int_equal(npuimport_graph_json_write(graph, &text, &error), -EINVAL);
	assert_string_equal(error.text, "tensor 5: its name is not UTF-8");
	assert_null(text);
}

/* Told by content, whatever the name says. */
TEST(formats)
{
	struct npuimport_info info = { 0 };
	struct npuplan_error error = { 0 };
	struct npuplan_graph *graph = NULL;
	AUTO_TEXT char *spaced = edit(valid, "{\"name\"", " \n\t{\"name\"");

	assert_int_equal(npuimport_buffer(spaced, strlen(spaced), "x.tflite", NULL, &graph, &info,
					  &error),
			 0);
	assert_int_equal(info.format, NPUIMPORT_GRAPH_JSON);
	assert_int_equal(info.operators, 3);
	assert_int_equal(info.tensors, 6);
	npuplan_graph_free(graph);
	assert_int_equal(npuimport_buffer("hello", 5, "x.json", NULL, &graph, &info, &error),
			 -EOPNOTSUPP);
	assert_string_equal(
		error.text,
		"neither graph JSON nor a TFLite model nor an ONNX model nor a graph blob");
	assert_null(graph);
	assert_int_equal(npuimport_buffer("", 0, "x.json", NULL, &graph, &info, &error),
			 -EOPNOTSUPP);
	assert_int_equal(npuimport_file("/nonexistent/model", NULL, &graph, &info, &error),
			 -ENOENT);
	assert_string_equal(error.text, "No such file or directory");
	assert_int_equal(npuimport_file("/", NULL, &graph, &info, &error), -EISDIR);
	assert_string_equal(npuimport_format_name(NPUIMPORT_GRAPH_JSON), "graph JSON");
	assert_string_equal(npuimport_format_name(NPUIMPORT_TFLITE), "TFLite");
	assert_string_equal(npuimport_format_name(NPUIMPORT_BLOB), "graph blob");
	assert_string_equal(npuimport_format_name(NPUIMPORT_UNKNOWN), "unknown");
}

/* A graph blob is read back with its steps. */
TEST(blob)
{
	struct npuplan_graph *graph = accept(valid), *again = NULL;
	struct npuimport_info info = { 0 };
	struct npuplan_error error = { 0 };
	void *blob = NULL;
	size_t size;

	assert_int_equal(npuplan_graph_tile_bands(graph, 1, false, &error), 0);
	assert_int_equal(npuplan_graph_write(graph, &blob, &size, &error), 0);
	assert_int_equal(npuimport_buffer(blob, size, "x", NULL, &again, &info, &error), 0);
	assert_int_equal(info.format, NPUIMPORT_BLOB);
	assert_int_equal(again->step_count, 3);
	npuplan_graph_free(again);
	assert_int_equal(npuimport_buffer(blob, size - 8, "x", NULL, &again, &info, &error),
			 -EBADMSG);
	assert_null(again);
	npuplan_graph_free(graph);
	free(blob);
}
