/* SPDX-License-Identifier: MIT */
/* CALL, IF and WHILE of TFLite models: the blocks, edges and carries that they become. */
#include <errno.h>
#include <string.h>

#include "graph_check.h"
#include "tflite_flow.h"

/* ------------------------------------------------------------------- loops */

TEST(loop)
{
	struct tb_subgraph subs[2];
	struct npuimport_info info = { 0 };
	AUTO_GRAPH struct npuplan_graph *graph = NULL;
	struct tb_model model;

	fibonacci(subs);
	model = looping(subs);
	graph = tflite_accept(&model, &info);
	assert_int_equal(info.subgraphs, 3);
	assert_int_equal(info.instances, 2);
	assert_int_equal(info.loops, 1);
	assert_int_equal(info.branches, 0);
	/* Entry, where the constant is copied; test; body; what follows. */
	assert_int_equal(graph->block_count, 4);
	assert_int_equal(graph->edge_count, 5);
	check_edge(graph, 0, 0, 1, 2);
	check_edge(graph, 1, 1, 2, 0);
	check_edge(graph, 2, 2, 1, 2);
	check_edge(graph, 3, 1, 3, 0);
	check_edge(graph, 4, 3, NPUMEM_NONE, 0);
	check_carry(graph, 0, "in", "out");
	check_carry(graph, 1, "k/copy", "y");
	check_carry(graph, 2, "y", "out");
	check_carry(graph, 3, "sum", "y");
	/* Numbers count through all subgraphs; those of copies come after all. */
	assert_int_equal(graph->op_count, 3);
	check_op(graph, 0, "copy", 3, 0);
	check_op(graph, 1, "less", 1, 1);
	check_op(graph, 2, "add", 2, 2);
	for (uint32_t i = 0; i < graph->tensor_count; i++) {
		const struct npuplan_tensor *t = &graph->tensors[i];

		if (!strcmp(t->name, "sum"))
			assert_int_equal(t->id, 5 + 3 + 2);
		if (!strcmp(t->name, "k/copy"))
			assert_int_equal(t->id, 11);
		/* What is handed in has the names of the caller. */
		assert_string_not_equal(t->name, "x");
		assert_string_not_equal(t->name, "tx");
	}
	tflite_plan(&model, 1, NULL);
	tflite_plan(&model, 3, NULL);
}

/* The same value twice, a constant, a variable unchanged, and a test without operators. */
TEST(odd_loops)
{
	struct tb_subgraph subs[2];
	struct tb_model model;
	struct npuplan_graph *graph;

	fibonacci(subs);
	model = looping(subs);
	subs[1].outputs[0] = 2;
	tflite_plan(&model, 1, NULL);
	subs[1].outputs[0] = 0;
	graph = tflite_accept(&model, NULL);
	check_edge(graph, 2, 2, 1, 1);
	npuplan_graph_free(graph);
	tflite_plan(&model, 1, NULL);
	/* A body without operators: the constant is copied, so that it has bytes. */
	subs[1].op_count = 0;
	subs[1].tensors[2] = (struct tb_tensor)CONSTANT("c");
	graph = tflite_accept(&model, NULL);
	check_op(graph, graph->op_count - 1, "copy", 3, 2);
	check_edge(graph, 2, 2, 1, 1);
	npuplan_graph_free(graph);
	tflite_plan(&model, 1, NULL);
	/* Both variables begin with the same value. */
	fibonacci(subs);
	model.ops[0].inputs[1] = 0;
	tflite_plan(&model, 1, NULL);
	/* The test is a constant: it is copied before each iteration. */
	model = looping(subs);
	subs[0].op_count = 0;
	subs[0].tensors[2].buffer = 2;
	model.buffer_count = 3;
	model.buffers[2].size = 1;
	graph = tflite_accept(&model, NULL);
	check_op(graph, 1, "copy", 3, 1);
	npuplan_graph_free(graph);
	tflite_plan(&model, 1, NULL);
}

/* The condition is written by the test's last step, whatever else comes between. */
TEST(condition_last)
{
	struct tb_subgraph subs[2];
	AUTO_GRAPH struct npuplan_graph *graph = NULL;
	struct tb_model model;

	fibonacci(subs);
	subs[0].tensors[3] = (struct tb_tensor)VALUE("late");
	subs[0].tensor_count = 4;
	subs[0].ops[1] = (struct tb_op)UNARY(RELU, 0, 3);
	subs[0].op_count = 2;
	model = looping(subs);
	graph = tflite_accept(&model, NULL);
	check_op(graph, 1, "less", 1, 1);
	check_op(graph, 2, "relu", 2, 1);
	check_op(graph, 3, "copy", 5, 1);
	assert_int_equal(graph->ops[3].inputs[0], graph->ops[1].outputs[0]);
	tflite_plan(&model, 1, NULL);
}

/* A loop in a loop, and a view in the body. */
TEST(nested)
{
	struct tb_subgraph subs[3];
	AUTO_GRAPH struct npuplan_graph *graph = NULL;
	struct tb_model model;

	fibonacci(subs);
	subs[2] = (struct tb_subgraph){
		.tensor_count = 5,
		.op_count = 2,
		.input_count = 2,
		.output_count = 2,
		.tensors = { VALUE("ox"),
			     VALUE("oy"),
			     VALUE("ix"),
			     VALUE("iy"),
			     { "view", TYPE_INT32, 2, { 2, 2 }, 0, 0, 0 } },
		.ops = { looping(subs).ops[0], UNARY(RESHAPE, 2, 4) },
		.inputs = { 0, 1 },
		.outputs = { 4, 3 },
	};
	memcpy(subs[2].ops[0].inputs, (int32_t[]){ 0, 1 }, 8);
	memcpy(subs[2].ops[0].outputs, (int32_t[]){ 2, 3 }, 8);
	model = looping(subs);
	model.more_count = 3;
	model.subgraphs = 4;
	model.ops[0].options[1] = 3;
	graph = tflite_accept(&model, NULL);
	assert_int_equal(graph->block_count, 7);
	/* The test stands there twice: its second instance's numbers are beyond all of the file. */
	check_op(graph, 1, "less", 1, 1);
	check_op(graph, 2, "less", 5 + 1, 3);
	check_op(graph, 3, "add", 2, 4);
	tflite_plan(&model, 1, NULL);
	tflite_plan(&model, 2, NULL);
}

/* State in a loop's body: a variable tensor, and a resource variable whose handle is handed in. */
TEST(state_in_body)
{
	struct tb_subgraph subs[2];
	struct npuimport_info info = { 0 };
	AUTO_GRAPH struct npuplan_graph *graph = NULL;
	struct tb_model model;
	uint32_t states = 0;

	fibonacci(subs);
	for (int i = 0; i < 2; i++) {
		subs[i].inputs[2] = 3;
		subs[i].input_count = 3;
		subs[i].tensors[3] = (struct tb_tensor)RESOURCE("handle");
		subs[i].tensor_count = 4;
	}
	subs[1].outputs[2] = 3;
	subs[1].output_count = 3;
	subs[1].tensor_count = 6;
	subs[1].tensors[4] = (struct tb_tensor)VALUE("old");
	subs[1].tensors[5] = (struct tb_tensor){ "kept", TYPE_INT32, 1, { 4 }, 0, 1, 0 };
	subs[1].ops[0] = (struct tb_op)UNARY(READ, 3, 4);
	subs[1].ops[1] = (struct tb_op){
		.code = ADD,
		.input_count = 3,
		.output_count = 1,
		.inputs = { 4, 1, 5 },
		.outputs = { 2 },
	};
	subs[1].ops[2] = (struct tb_op){ .code = ASSIGN, .input_count = 2, .inputs = { 3, 2 } };
	subs[1].op_count = 3;
	model = looping(subs);
	model.tensors[5] = (struct tb_tensor)RESOURCE("h");
	model.tensors[6] = (struct tb_tensor)RESOURCE("after");
	model.tensors[7] = (struct tb_tensor)VALUE("last");
	model.tensor_count = 8;
	model.ops[1] = model.ops[0];
	model.ops[0] = (struct tb_op){
		.code = HANDLE,
		.output_count = 1,
		.outputs = { 5 },
		.options_type = OPTIONS_VAR_HANDLE,
		.texts = { NULL, "v" },
	};
	model.ops[1].inputs[2] = 5;
	model.ops[1].outputs[2] = 6;
	model.ops[1].input_count = model.ops[1].output_count = 3;
	/* After the loop the handle is the same. */
	model.ops[2] = (struct tb_op)UNARY(READ, 6, 7);
	model.ops[3] = (struct tb_op)BINARY(ADD, 7, 1, 4);
	model.op_count = 4;
	model.outputs[0] = 4;
	graph = tflite_accept(&model, &info);
	assert_int_equal(info.variables, 1);
	for (uint32_t i = 0; i < graph->tensor_count; i++)
		states += graph->tensors[i].kind == NPUMEM_TENSOR_STATE;
	assert_int_equal(states, 2);
	tflite_plan(&model, 1, NULL);
	/* Another handle at the end of the body than at its beginning. */
	subs[1].tensors[6] = (struct tb_tensor)RESOURCE("other");
	subs[1].tensor_count = 7;
	subs[1].ops[3] = model.ops[0];
	subs[1].ops[3].outputs[0] = 6;
	subs[1].ops[3].texts[1] = "w";
	subs[1].op_count = 4;
	subs[1].outputs[2] = 6;
	tflite_refuse(&model, -EOPNOTSUPP,
		      "operator 1 (while): which variable tensor 6 is a handle of depends on the "
		      "way");
}

/* ---------------------------------------------------------------- branches */

TEST(branch)
{
	struct tb_subgraph subs[2];
	struct npuimport_info info = { 0 };
	AUTO_GRAPH struct npuplan_graph *graph = NULL;
	struct tb_model model;

	arms(subs);
	model = branching(subs);
	graph = tflite_accept(&model, &info);
	assert_int_equal(info.branches, 1);
	assert_int_equal(graph->block_count, 4);
	assert_int_equal(graph->edge_count, 5);
	check_edge(graph, 0, 0, 1, 0);
	check_edge(graph, 1, 1, 3, 1);
	check_edge(graph, 2, 0, 2, 0);
	check_edge(graph, 3, 2, 3, 1);
	check_edge(graph, 4, 3, NPUMEM_NONE, 0);
	check_carry(graph, 0, "relu", "r");
	check_carry(graph, 1, "twice", "r");
	assert_int_equal(graph->op_count, 4);
	check_op(graph, 0, "less", 0, 0);
	check_op(graph, 1, "relu", 3, 1);
	check_op(graph, 2, "add", 4, 2);
	check_op(graph, 3, "relu", 2, 3);
	tflite_plan(&model, 1, NULL);
	tflite_plan(&model, 2, NULL);
}

/* Arms that hand out what they were given, a constant, a state; a condition from outside. */
TEST(odd_branches)
{
	struct tb_subgraph subs[2];
	struct tb_model model;
	struct npuplan_graph *graph;

	arms(subs);
	model = branching(subs);
	subs[0].op_count = 0;
	subs[0].outputs[0] = 0;
	graph = tflite_accept(&model, NULL);
	check_carry(graph, 0, "in", "r");
	npuplan_graph_free(graph);
	tflite_plan(&model, 1, NULL);
	subs[0].outputs[0] = 1;
	subs[0].tensors[1] = (struct tb_tensor)CONSTANT("c");
	graph = tflite_accept(&model, NULL);
	check_op(graph, 1, "copy", 4, 1);
	npuplan_graph_free(graph);
	tflite_plan(&model, 1, NULL);
	/* The same operand in both arms, one that is needed after them, too. */
	subs[0].outputs[0] = 0;
	subs[1].outputs[0] = 0;
	model.ops[2] = (struct tb_op)BINARY(ADD, 3, 0, 1);
	tflite_plan(&model, 1, NULL);
	/* The condition is an input of the model: it is copied, so that a step writes it. */
	model.inputs[1] = 2;
	model.input_count = 2;
	model.ops[0] = (struct tb_op)UNARY(RELU, 0, 4);
	model.tensors[4] = (struct tb_tensor)VALUE("unused");
	graph = tflite_accept(&model, NULL);
	check_op(graph, 1, "copy", 4, 0);
	npuplan_graph_free(graph);
	tflite_plan(&model, 1, NULL);
}

/* What a branch gives last is the model's output, and there is no step after it. */
TEST(branch_last)
{
	struct tb_subgraph subs[2];
	AUTO_GRAPH struct npuplan_graph *graph = NULL;
	struct tb_model model;

	arms(subs);
	model = branching(subs);
	model.ops[1].outputs[0] = 1;
	model.op_count = 2;
	graph = tflite_accept(&model, NULL);
	check_carry(graph, 0, "relu", "out");
	assert_int_equal(graph->block_count, 4);
	tflite_plan(&model, 1, NULL);
}

/* ------------------------------------------------------------------- calls */

TEST(call)
{
	struct tb_subgraph subs[2];
	struct npuimport_info info = { 0 };
	AUTO_GRAPH struct npuplan_graph *graph = NULL;
	struct tb_model model;

	arms(subs);
	model = calling(&subs[1]);
	graph = tflite_accept(&model, &info);
	assert_int_equal(info.instances, 2);
	/* In line: no blocks, no copies. */
	assert_int_equal(graph->block_count, 1);
	assert_int_equal(graph->edge_count, 0);
	assert_int_equal(graph->tensor_count, 4);
	assert_int_equal(graph->op_count, 2);
	check_op(graph, 0, "add", 2, 0);
	check_op(graph, 1, "add", 3 + 2, 0);
	assert_string_equal(graph->tensors[graph->ops[0].outputs[0]].name, "mid");
	assert_string_equal(graph->tensors[graph->ops[1].outputs[0]].name, "out");
	tflite_plan(&model, 1, NULL);
}

/* An input handed out again, a constant, one value under two names. */
TEST(odd_calls)
{
	struct tb_subgraph subs[2];
	struct tb_model model;
	struct npuplan_graph *graph;

	arms(subs);
	model = calling(&subs[1]);
	subs[1].outputs[0] = 0;
	subs[1].op_count = 0;
	graph = tflite_accept(&model, NULL);
	check_op(graph, 0, "copy", 4, 0);
	check_op(graph, 1, "copy", 5, 0);
	npuplan_graph_free(graph);
	tflite_plan(&model, 1, NULL);
	subs[1].outputs[0] = 1;
	subs[1].tensors[1] = (struct tb_tensor)CONSTANT("c");
	graph = tflite_accept(&model, NULL);
	assert_int_equal(graph->ops[0].inputs[0], graph->ops[1].inputs[0]);
	npuplan_graph_free(graph);
	tflite_plan(&model, 1, NULL);
	arms(subs);
	subs[1].outputs[1] = 1;
	subs[1].output_count = 2;
	for (int i = 0; i < 2; i++) {
		model.ops[i].outputs[1] = i ? 3 : 4;
		model.ops[i].output_count = 2;
	}
	model.tensors[4] = (struct tb_tensor)VALUE("again");
	model.tensor_count = 5;
	graph = tflite_accept(&model, NULL);
	check_op(graph, 0, "add", 2, 0);
	check_op(graph, 1, "copy", 6, 0);
	npuplan_graph_free(graph);
	tflite_plan(&model, 1, NULL);
}
