/* SPDX-License-Identifier: MIT */
/* userspace/formats/graph_json/alias.c, and aliases that TFLite models come to. */
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

/* --------------------------------------------------------------- graph JSON */

/*
 * in 8 -> left, right, the halves of both (16) -> sum 16. @left, @right, @last:
 * what else tensors 1, 2 and 4 have.
 */
static char *text_of(const char *left, const char *right, const char *last)
{
	char *text;

	assert_true(
		asprintf(
			&text,
			"{\"name\":\"halves\",\"tensors\":["
			"{\"id\":0,\"name\":\"in\",\"shape\":[],\"bytes\":8,\"kind\":\"input\"},"
			"{\"id\":1,\"name\":\"left\",\"shape\":[],\"bytes\":8,%s},"
			"{\"id\":2,\"name\":\"right\",\"shape\":[],\"bytes\":8,%s},"
			"{\"id\":3,\"name\":\"both\",\"shape\":[],\"bytes\":16,"
			"\"kind\":\"activation\",\"align\":4},"
			"{\"id\":4,\"name\":\"sum\",\"shape\":[],\"bytes\":16,%s}],\"ops\":["
			"{\"id\":0,\"name\":\"f\",\"type\":\"relu\",\"inputs\":[0],\"outputs\":[1]},"
			"{\"id\":1,\"name\":\"g\",\"type\":\"relu\",\"inputs\":[0],\"outputs\":[2]},"
			"{\"id\":2,\"name\":\"h\",\"type\":\"relu\",\"inputs\":[3],\"outputs\":[4]}]}",
			left, right, last) > 0);
	return text;
}

#define LEFT  "\"kind\":\"activation\",\"alias_of\":3"
#define RIGHT "\"kind\":\"activation\",\"alias_of\":3,\"alias_offset\":8,\"align\":4"
#define LAST  "\"kind\":\"output\""

static struct npuplan_graph *accept(const char *left, const char *right, const char *last)
{
	char *text = text_of(left, right, last);
	struct npuplan_error error = { 0 };
	struct npuplan_graph *graph = NULL;

	if (npuimport_graph_json(text, strlen(text), NULL, &graph, NULL, &error))
		fail_msg("refused: %s", error.text);
	free(text);
	return graph;
}

static void refuse(const char *left, const char *right, const char *last, const char *message)
{
	AUTO_TEXT char *text = text_of(left, right, last);
	struct npuplan_error error = { 0 };
	struct npuplan_graph *graph = NULL;

	assert_int_equal(npuimport_graph_json(text, strlen(text), NULL, &graph, NULL, &error),
			 -EINVAL);
	assert_string_equal(error.text, message);
	assert_null(graph);
}

static void assert_alias(const struct npuplan_graph *graph, uint32_t tensor, uint32_t base,
			 uint64_t offset)
{
	assert_int_equal(graph->tensors[tensor].flags, NPUMEM_TENSOR_FLAG_ALIAS);
	assert_int_equal(graph->tensors[tensor].alias_of, base);
	assert_int_equal(graph->tensors[tensor].alias_offset, offset);
}

/* Halves are written under their own names, and read as one: a concat without a copy. */
TEST(halves)
{
	AUTO_GRAPH struct npuplan_graph *graph = accept(LEFT, RIGHT, LAST);

	assert_alias(graph, 1, 3, 0);
	assert_alias(graph, 2, 3, 8);
	assert_int_equal(graph->tensors[3].flags, 0);
	assert_int_equal(graph->tensors[3].alias_of, NPUMEM_NONE);
}

/* right of left of both; both stands later than they do. */
TEST(chain)
{
	AUTO_GRAPH struct npuplan_graph *graph =
		accept("\"kind\":\"activation\",\"alias_of\":3,\"alias_offset\":8",
		       "\"kind\":\"activation\",\"alias_of\":1", LAST);
	char *first = NULL, *second = NULL;
	struct npuplan_error error;
	AUTO_GRAPH struct npuplan_graph *again = NULL;

	assert_alias(graph, 1, 3, 8);
	assert_alias(graph, 2, 3, 8);
	/* Written, the chain is short. */
	assert_int_equal(npuimport_graph_json_write(graph, &first, &error), 0);
	assert_int_equal(npuimport_graph_json(first, strlen(first), NULL, &again, NULL, &error), 0);
	assert_alias(again, 2, 3, 8);
	assert_int_equal(npuimport_graph_json_write(again, &second, &error), 0);
	assert_string_equal(first, second);
	free(first);
	free(second);
}

TEST(refused)
{
	refuse("\"kind\":\"activation\",\"alias_of\":99", RIGHT, LAST,
	       "$.tensors[1].alias_of: no tensor has id 99");
	refuse("\"kind\":\"activation\",\"alias_of\":1", RIGHT, LAST,
	       "$.tensors[1].alias_of: tensor 1 'left' is an alias of itself");
	refuse("\"kind\":\"activation\",\"alias_of\":2", "\"kind\":\"activation\",\"alias_of\":1",
	       LAST, "$.tensors[1].alias_of: tensor 1 'left' is an alias of itself");
	refuse(LEFT, "\"kind\":\"activation\",\"alias_of\":3,\"alias_offset\":9", LAST,
	       "$.tensors[2].alias_of: bytes 9 to 16 are not inside tensor 3 'both' of 16 bytes");
	/* Inside the base, but not inside what it is said to be part of. */
	refuse(LEFT, "\"kind\":\"activation\",\"alias_of\":1,\"alias_offset\":8", LAST,
	       "$.tensors[2].alias_of: bytes 8 to 15 are not inside tensor 1 'left' of 8 bytes");
	refuse(LEFT, "\"kind\":\"activation\",\"alias_offset\":1", LAST,
	       "$.tensors[2].alias_offset: needs \"alias_of\" beside it");
	refuse(LEFT, RIGHT ",\"external\":true", LAST,
	       "$.tensors[2]: only one of \"fixed_offset\", \"external\" and \"alias_of\" may be "
	       "given");
	refuse(LEFT, RIGHT ",\"fixed_offset\":0", LAST,
	       "$.tensors[2]: only one of \"fixed_offset\", \"external\" and \"alias_of\" may be "
	       "given");
	refuse(LEFT, "\"kind\":\"activation\",\"alias_of\":3,\"alias_offset\":6,\"align\":4", LAST,
	       "$.tensors[2].alias_offset: byte 6 of tensor 3 'both' is not at a multiple of the "
	       "alignment of tensor 2 'right', 4");
	refuse(LEFT, "\"kind\":\"input\",\"alias_of\":3", LAST,
	       "$.tensors[2].kind: tensor 2 'right' is part of tensor 3 'both': it must be an "
	       "activation, an output, or of the same kind");
	refuse(LEFT, "\"kind\":\"input\",\"alias_of\":3,\"host\":true", LAST,
	       "$.tensors[2].host: is for the tensor that \"alias_of\" leads to");
	refuse("\"kind\":\"activation\",\"alias_of\":0", RIGHT, LAST,
	       "operator 0 'f' (relu) writes tensor 1 'left', which is part of an input of the "
	       "graph");
}

/* ------------------------------------------------------------------- TFLite */

/* in 1x4x4x2 -> relu a -> @view b -> softmax out. */
static struct tb_model viewed(int32_t view)
{
	return (struct tb_model){
		.version = TFLITE_VERSION,
		.subgraphs = 1,
		.tensor_count = 5,
		.code_count = 3,
		.op_count = 3,
		.buffer_count = 2,
		.input_count = 1,
		.output_count = 1,
		.tensors = {
			{ "in", TYPE_INT8, 4, { 1, 4, 4, 2 }, 0, 0, 0 },
			{ "a", TYPE_INT8, 4, { 1, 4, 4, 2 }, 0, 0, 0 },
			{ "shape", TYPE_INT32, 1, { 2 }, 1, 0, 0 },
			{ "b", TYPE_INT8, 2, { 1, 32 }, 0, 0, 0 },
			{ "out", TYPE_INT8, 2, { 1, 32 }, 0, 0, 0 },
		},
		.codes = {
			{ 19, 19, NULL },
			{ (uint8_t)view, view, NULL },
			{ BUILTIN_SOFTMAX, BUILTIN_SOFTMAX, NULL },
		},
		.ops = {
			{ .code = 0, .input_count = 1, .output_count = 1, .inputs = { 0 },
			  .outputs = { 1 } },
			{ .code = 1, .input_count = 2, .output_count = 1, .inputs = { 1, 2 },
			  .outputs = { 3 } },
			{ .code = 2, .input_count = 1, .output_count = 1, .inputs = { 3 },
			  .outputs = { 4 } },
		},
		.buffers = { { 0 }, { .size = 8 } },
		.inputs = { 0 },
		.outputs = { 4 },
	};
}

static struct npuplan_graph *read_model(const struct tb_model *model, struct npuimport_info *info)
{
	struct npuplan_error error = { 0 };
	struct npuplan_graph *graph = NULL;
	size_t size;
	void *exact = tb_exact(model, &size);

	if (npuimport_tflite(exact, size, "x", NULL, &graph, info, &error))
		fail_msg("refused: %s", error.text);
	free(exact);
	return graph;
}

TEST(views)
{
	static const int32_t views[] = { BUILTIN_RESHAPE, BUILTIN_SQUEEZE, BUILTIN_EXPAND_DIMS };

	for (size_t i = 0; i < sizeof(views) / sizeof(*views); i++) {
		struct tb_model model = viewed(views[i]);
		struct npuimport_info info;
		AUTO_GRAPH struct npuplan_graph *graph = read_model(&model, &info);

		assert_int_equal(graph->op_count, 2);
		assert_int_equal(info.operators, 3);
		assert_int_equal(info.views, 1);
		assert_alias(graph, 3, 1, 0);
		/* Ids are the file's. */
		assert_int_equal(graph->ops[1].id, 2);
		assert_int_equal(graph->ops[1].inputs[0], 3);
	}
}

/* A view of a view is one of the base; an output may be one. */
TEST(view_chain)
{
	struct tb_model model = viewed(BUILTIN_RESHAPE);
	AUTO_GRAPH struct npuplan_graph *graph = NULL;

	model.ops[2].code = 1;
	graph = read_model(&model, NULL);
	assert_int_equal(graph->op_count, 1);
	assert_alias(graph, 3, 1, 0);
	assert_alias(graph, 4, 1, 0);
	assert_int_equal(graph->tensors[4].kind, NPUMEM_TENSOR_OUTPUT);
}

/* Operators that stay, since the bytes are others. */
static void is_kept(const struct tb_model *model)
{
	struct npuimport_info info;
	AUTO_GRAPH struct npuplan_graph *graph = read_model(model, &info);

	assert_int_equal(info.views, 0);
	assert_int_equal(graph->op_count, model->op_count);
	for (uint32_t i = 0; i < graph->tensor_count; i++)
		assert_false(graph->tensors[i].flags & NPUMEM_TENSOR_FLAG_ALIAS);
}

TEST(no_views)
{
	struct tb_model model = viewed(28); /* tanh */

	is_kept(&model);
	/* The input itself would be an output. */
	model = viewed(BUILTIN_RESHAPE);
	model.op_count = 1;
	model.ops[0] = model.ops[1];
	model.ops[0].inputs[0] = 0;
	model.outputs[0] = 3;
	is_kept(&model);
	/* State is written again. */
	model = viewed(BUILTIN_RESHAPE);
	model.tensors[1].variable = 1;
	model.ops[0].outputs[0] = 4;
	model.op_count = 2;
	model.outputs[0] = 3;
	is_kept(&model);
	/* Constants are not in the arena. */
	model = viewed(BUILTIN_RESHAPE);
	model.tensors[1].buffer = 1;
	model.buffers[1].size = 32;
	model.tensors[2] = (struct tb_tensor){ "c", TYPE_INT8, 1, { 32 }, 0, 0, 0 };
	model.ops[0].outputs[0] = 2;
	model.ops[1].input_count = 1;
	is_kept(&model);
	/* Nobody reads it. */
	model = viewed(BUILTIN_RESHAPE);
	model.ops[2].inputs[0] = 1;
	is_kept(&model);
	/* Other elements: what the operator does is not known. */
	model = viewed(BUILTIN_RESHAPE);
	model.tensors[3] = (struct tb_tensor){ "b", TYPE_INT16, 1, { 16 }, 0, 0, 0 };
	is_kept(&model);
}

/* An offline plan may put both at one place, or not. */
TEST(planned_views)
{
	struct {
		int32_t numbers[TFLITE_OFFLINE_HEAD + 5];
	} plan = { { 0, 1, 5, -1, 64, -1, 64, -1 } };
	struct tb_model model = viewed(BUILTIN_RESHAPE);
	struct npuplan_graph *graph;

	model.buffer_count = 3;
	model.buffers[2] = (struct tb_buffer){ .size = sizeof(plan), .data = &plan };
	model.metadata_count = 1;
	model.metadata[0] = (struct tb_metadata){ TFLITE_OFFLINE_NAME, 2 };
	graph = read_model(&model, NULL);
	assert_alias(graph, 3, 1, 0);
	assert_int_equal(graph->tensors[1].fixed_offset, 64);
	npuplan_graph_free(graph);
	plan.numbers[3 + 3] = 128;
	graph = read_model(&model, NULL);
	assert_int_equal(graph->tensors[3].flags, NPUMEM_TENSOR_FLAG_FIXED);
	assert_int_equal(graph->op_count, 3);
	npuplan_graph_free(graph);
	plan.numbers[3 + 1] = -1;
	graph = read_model(&model, NULL);
	assert_int_equal(graph->tensors[3].flags, NPUMEM_TENSOR_FLAG_FIXED);
	npuplan_graph_free(graph);
}

static void refuse_model(const struct tb_model *model, const char *message)
{
	struct npuplan_error error = { 0 };
	struct npuplan_graph *graph = NULL;
	size_t size;
	void *exact = tb_exact(model, &size);

	assert_int_equal(npuimport_tflite(exact, size, "x", NULL, &graph, NULL, &error), -EINVAL);
	assert_string_equal(error.text, message);
	free(exact);
}

/* What was refused as long as views were operators still is. */
TEST(views_out_of_order)
{
	struct tb_model model = viewed(BUILTIN_RESHAPE);
	struct tb_op first = model.ops[0];

	model.ops[0] = model.ops[1];
	model.ops[1] = first;
	refuse_model(&model, "operator 0 'b' (reshape) reads tensor 1 'a', which operator 1 'a' "
			     "(relu) writes only later: operators must be in execution order");
	model = viewed(BUILTIN_RESHAPE);
	first = model.ops[1];
	model.ops[1] = model.ops[2];
	model.ops[2] = first;
	refuse_model(&model, "operator 1 'out' (softmax) reads tensor 3 'b', which operator 2 'b' "
			     "(reshape) writes only later: operators must be in execution order");
	model = viewed(BUILTIN_RESHAPE);
	model.ops[0].output_count = 2;
	model.ops[0].outputs[1] = 3;
	refuse_model(&model, "tensor 3 'b' is written by operator 0 'a' (relu) and again by "
			     "operator 1 'b' (reshape)");
}
