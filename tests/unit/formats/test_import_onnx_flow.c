/* SPDX-License-Identifier: MIT */
/* If, Loop and Scan of ONNX models: the blocks, edges and carries that they become. */
#include <errno.h>

#include "graph_check.h"
#include "onnx_check.h"

/* Whether operator @index has an input of this name. */
static bool reads(const struct npuplan_graph *graph, uint32_t index, const char *name)
{
	const struct npuplan_op *op = &graph->ops[index];

	for (uint32_t i = 0; i < op->input_count; i++)
		if (!strcmp(graph->tensors[op->inputs[i]].name, name))
			return true;
	return false;
}

/* ----------------------------------------------------------------------- branches */

#define BRANCHES                                                            \
	"graph yes; out a float 4; node Relu x -> a; end;"                  \
	"graph no; out b float 4; node Neg x -> t; node Add t,k -> b; end;" \
	"in x float 4; in c bool -; init k float 4; out z float 4;"         \
	"node If c -> y then_branch=@yes else_branch=@no; node Sigmoid y -> z"

TEST(branches)
{
	AUTO_ONNX struct onnx_model *model = onnx_model_new(BRANCHES);
	struct npuimport_info info = { 0 };
	AUTO_GRAPH struct npuplan_graph *graph = onnx_accept_model(model, NULL, &info);

	assert_int_equal(info.subgraphs, 3);
	assert_int_equal(info.instances, 2);
	assert_int_equal(info.branches, 1);
	assert_int_equal(info.loops, 0);
	assert_int_equal(info.operators, 2);
	assert_int_equal(graph->block_count, 4);
	assert_int_equal(graph->edge_count, 5);
	check_edge(graph, 0, 0, 1, 0);
	check_edge(graph, 1, 1, 3, 1);
	check_edge(graph, 2, 0, 2, 0);
	check_edge(graph, 3, 2, 3, 1);
	check_edge(graph, 4, 3, NPUMEM_NONE, 0);
	check_carry(graph, 0, "a", "y");
	check_carry(graph, 1, "b", "y");
	/* The condition is an input: it is copied, so that the block's last step writes it. */
	check_op(graph, 0, "copy", 5, 0);
	assert_true(reads(graph, 0, "c"));
	check_op(graph, 1, "relu", 2, 1);
	check_op(graph, 2, "neg", 3, 2);
	check_op(graph, 3, "add", 4, 2);
	check_op(graph, 4, "sigmoid", 1, 3);
	assert_true(reads(graph, 2, "x"));
	assert_true(reads(graph, 3, "k"));
	onnx_plan(BRANCHES, 1, NULL);
	onnx_plan(BRANCHES, 2, NULL);
}

/* A condition that an operator writes last is not copied. */
TEST(condition_last)
{
	static const char text[] = "graph yes; out a float 4; node Relu x -> a; end;"
				   "graph no; out a float 4; node Neg x -> a; end;"
				   "in x float 4; in l int64 -; int m 3; out y float 4;"
				   "node Less l,m -> c; node If c -> y then_branch=@yes "
				   "else_branch=@no";
	AUTO_GRAPH struct npuplan_graph *graph = onnx_accept(text);

	assert_int_equal(graph->op_count, 3);
	check_op(graph, 0, "less", 0, 0);
	check_op(graph, 1, "relu", 2, 1);
	check_op(graph, 2, "neg", 3, 2);
	onnx_plan(text, 1, NULL);
}

/* Branches that only hand on: an outer tensor, a constant, an outer constant; one for nobody. */
TEST(branches_of_nothing)
{
	static const char text[] = "graph yes; out x; out i; out k; end;"
				   "graph no; init i float 4; out k; out x; out i; end;"
				   "in x float 4; in c bool 1; init k float 4; init i float 4;"
				   "out y float 4; out z float 4;"
				   "node If c -> y,z, then_branch=@yes else_branch=@no";
	AUTO_GRAPH struct npuplan_graph *graph = onnx_accept(text);

	assert_int_equal(graph->edges[1].carry_count, 2);
	assert_int_equal(graph->edges[3].carry_count, 2);
	check_carry(graph, 0, "x", "y");
	check_carry(graph, 1, "i/copy", "z");
	check_carry(graph, 2, "k/copy", "y");
	check_carry(graph, 3, "x", "z");
	onnx_plan(text, 1, NULL);
}

/* Inner names are of their branch, also those of the node's own outputs. */
TEST(names)
{
	static const char text[] =
		"graph yes; init w float 4; out y float 4; node Mul x,w -> y; end;"
		"graph no; init w float 1; out y float 4; node Mul x,w -> z; node Neg z -> y; end;"
		"in x float 4; in c bool -; out z float 4;"
		"node If c -> y then_branch=@yes else_branch=@no; node Neg y -> z";
	AUTO_GRAPH struct npuplan_graph *graph = onnx_accept(text);
	const struct npuplan_op *ops = graph->ops;

	check_op(graph, 1, "mul", 2, 1);
	check_op(graph, 2, "mul", 3, 2);
	assert_int_equal(graph->tensors[ops[1].inputs[1]].size, 16);
	assert_int_equal(graph->tensors[ops[2].inputs[1]].size, 4);
	onnx_plan(text, 1, NULL);
}

/* What is known before the model runs decides: of the other branch nothing is there. */
TEST(known_condition)
{
	static const char text[] = "graph yes; out a float 4; node Relu x -> a; end;"
				   "graph no; out b float 9; node Nonsense x -> b; end;"
				   "in x float 4; int four 4; out z float 4;"
				   "node Shape x -> s; node Squeeze s -> n; node Equal n,four -> c;"
				   "node If c -> y then_branch=@yes else_branch=@no;"
				   "node Neg y -> z";
	AUTO_ONNX struct onnx_model *model = onnx_model_new(text);
	struct npuimport_info info = { 0 };
	AUTO_GRAPH struct npuplan_graph *graph = onnx_accept_model(model, NULL, &info);

	assert_int_equal(info.branches, 0);
	assert_int_equal(info.instances, 1);
	assert_int_equal(graph->block_count, 1);
	assert_int_equal(graph->op_count, 2);
	check_op(graph, 0, "relu", 5, 0);
	check_op(graph, 1, "neg", 4, 0);
	assert_int_equal(graph->ops[1].inputs[0], graph->ops[0].outputs[0]);
	onnx_plan(text, 1, NULL);
}

/* Outputs of the model, a shape that goes on to be computed with, and an input for nothing. */
TEST(known_condition_outputs)
{
	static const char text[] =
		"graph yes; ints s 2,2; out a; out x; out s;"
		"node Relu x -> a; end;"
		"in x float 4; int c 1; out y float 4; out z float 4; out r float 2x2;"
		"node Cast c -> b to=9;"
		"node If b -> y,z,t then_branch=@yes else_branch=@yes;"
		"node Reshape y,t -> u; node Neg u -> r";
	AUTO_GRAPH struct npuplan_graph *graph = onnx_accept(text);

	assert_int_equal(graph->block_count, 1);
	/* Relu, its copy to an output, the input's copy to one, and what follows. */
	assert_int_equal(graph->op_count, 4);
	check_op(graph, 0, "relu", 4, 0);
	check_op(graph, 1, "copy", 5, 0);
	check_op(graph, 2, "copy", 6, 0);
	check_op(graph, 3, "neg", 3, 0);
	assert_string_equal(onnx_shape_in(graph, "r"), "2x2");
	onnx_plan(text, 1, NULL);
}

/* -------------------------------------------------------------------------- loops */

#define LOOP                                                                         \
	"graph body; in i int64 -; in more bool -; in v float 4; out go bool -;"     \
	"out w float 4; node Add v,k -> w; node ReduceSum w -> s keepdims=0;"        \
	"node Less s,limit -> go; end;"                                              \
	"in x float 4; in m int64 -; in c bool -; in limit float -; init k float 4;" \
	"out z float 4; node l:Loop m,c,x -> y body=@body; node Neg y -> z"

TEST(loop)
{
	AUTO_ONNX struct onnx_model *model = onnx_model_new(LOOP);
	struct npuimport_info info = { 0 };
	AUTO_GRAPH struct npuplan_graph *graph = onnx_accept_model(model, NULL, &info);

	assert_int_equal(info.subgraphs, 2);
	assert_int_equal(info.loops, 1);
	assert_int_equal(info.branches, 0);
	/* Entry, head, body, and what follows. */
	assert_int_equal(graph->block_count, 4);
	assert_int_equal(graph->edge_count, 5);
	check_edge(graph, 0, 0, 1, 2);
	check_edge(graph, 1, 1, 2, 0);
	check_edge(graph, 2, 2, 1, 2);
	check_edge(graph, 3, 1, 3, 0);
	check_edge(graph, 4, 3, NPUMEM_NONE, 0);
	check_carry(graph, 0, "x", "y");
	check_carry(graph, 1, "c", "l/condition");
	check_carry(graph, 2, "w", "y");
	check_carry(graph, 3, "go", "l/condition");
	/* Nobody reads the number of the iteration. */
	assert_int_equal(graph->op_count, 5);
	assert_string_equal(graph->ops[0].type, "loop_test");
	assert_string_equal(graph->ops[0].name, "l/test");
	assert_int_equal(graph->ops[0].block, 1);
	assert_true(reads(graph, 0, "m"));
	assert_true(reads(graph, 0, "l/condition"));
	check_op(graph, 1, "add", 2, 2);
	assert_true(reads(graph, 1, "y"));
	check_op(graph, 2, "sum", 3, 2);
	check_op(graph, 3, "less", 4, 2);
	check_op(graph, 4, "neg", 1, 3);
	/* Numbers of what is not in the file are above those that are. */
	for (uint32_t i = 0; i < graph->tensor_count; i++)
		assert_true((graph->tensors[i].id >= info.tensors) ==
			    !!strchr(graph->tensors[i].name, '/'));
	assert_true(graph->ops[0].id > 4);
	onnx_plan(LOOP, 1, NULL);
	onnx_plan(LOOP, 2, NULL);
}

/* The number of the iteration, a condition that nobody gave, a state for nobody, two that swap. */
TEST(loop_states)
{
	static const char text[] =
		"graph body; in i int64 ?; in more bool N; in a float 4; in b float 4; in e float 2;"
		"out more2 bool; out b2 float 4; out a2 float 4; out e2 float 2;"
		"node Not more -> more2; node Cast i -> f to=1; node Add a,f -> a2;"
		"node Identity b -> b2; node Neg e -> e2; end;"
		"in x float 4; in u float 4; in v float 2; int m 7; out y float 4; out z float 4;"
		"node Loop m,,x,u,v -> y,z body=@body";
	AUTO_GRAPH struct npuplan_graph *graph = onnx_accept(text);

	check_edge(graph, 0, 0, 1, 3);
	check_carry(graph, 0, "x", "y");
	check_carry(graph, 1, "u", "z");
	check_carry(graph, 2, "v", "Loop/state");
	/* The states swap. */
	check_edge(graph, 2, 2, 1, 3);
	check_carry(graph, 3, "z", "y");
	check_carry(graph, 4, "a2", "z");
	check_carry(graph, 5, "e2", "Loop/state");
	/* The runtime has the number of iterations. */
	assert_string_equal(graph->ops[0].type, "loop_test");
	assert_int_equal(graph->ops[0].input_count, 0);
	assert_string_equal(graph->ops[1].type, "loop_index");
	assert_int_equal(graph->ops[1].output_count, 2);
	assert_int_equal(graph->ops[1].block, 2);
	onnx_plan(text, 1, NULL);
}

/* A constant and a state of the model begin a loop: they are copied. */
TEST(loop_of_constants)
{
	static const char text[] =
		"graph body; in i int64; in more bool; in a float 4; in b float 4;"
		"out more2 bool; out a2 float 4; out k;"
		"node Identity more -> more2; node Add a,b -> a2; end;"
		"in x float 4; init k float 4; int m 3; int t 1; out y float 4;"
		"out x; node Cast t -> c to=9; node Loop m,c,k,x -> y,z body=@body;"
		"node Neg z -> q";
	AUTO_GRAPH struct npuplan_graph *graph = onnx_accept(text);

	check_carry(graph, 0, "k/copy", "y");
	check_carry(graph, 1, "x/copy", "z");
	check_carry(graph, 2, "c/copy", "Loop/condition");
	onnx_plan(text, 1, NULL);
}

#define STACK(trips)                                                                             \
	"graph body; in i int64 -; in more bool -; in v float 4; out go bool -;"                 \
	"out w float 4; out s float 4; node Identity more -> go; node Add v,v -> w;"             \
	"node Relu w -> s; end;"                                                                 \
	"in x float 4; in m int64 -; int five 5; int one 1; out y float 4; out all float " trips \
	"; node Cast one -> c to=9;"

/* What is appended is stored into the output, in place, which is a state. */
TEST(stack)
{
	static const char text[] = STACK("5x4") "node l:Loop five,c,x -> y,all body=@body";
	AUTO_GRAPH struct npuplan_graph *graph = onnx_accept(text);
	const struct npuplan_op *store;
	uint64_t arena;

	assert_string_equal(onnx_shape_in(graph, "all"), "5x4");
	assert_string_equal(onnx_shape_in(graph, "l/begin"), "5x4");
	assert_string_equal(graph->ops[0].type, "scan_begin");
	assert_int_equal(graph->ops[0].block, 0);
	check_carry(graph, 1, "l/begin", "all");
	store = &graph->ops[graph->op_count - 1];
	/* The condition of the next iteration is a constant, copied behind it. */
	if (!strcmp(store->type, "copy"))
		store--;
	assert_string_equal(store->type, "scan_store");
	assert_true(store->attrs.inplace);
	assert_string_equal(graph->tensors[store->inputs[0]].name, "all");
	assert_string_equal(graph->tensors[store->inputs[1]].name, "s");
	assert_string_equal(graph->tensors[store->outputs[0]].name, "l/next");
	check_carry(graph, 4, "l/next", "all");
	/* The stack is there once, beside two states and the condition. */
	onnx_plan(text, 1, &arena);
	assert_in_range(arena, 80 + 16 + 16, 80 + 3 * 16 + 8);
}

/* How often is not known: the file's word is taken, or the model refused. */
TEST(stack_declared)
{
	AUTO_GRAPH struct npuplan_graph *graph =
		onnx_accept(STACK("9x4") "node l:Loop m,,x -> y,all body=@body");

	assert_string_equal(onnx_shape_in(graph, "all"), "9x4");
	onnx_refuse(
		STACK("Nx4") "node l:Loop m,,x -> y,all body=@body", -EOPNOTSUPP,
		"node 1 'l' (Loop): values decide how large tensor 'all' is, which is not known "
		"before the model runs");
	onnx_refuse(STACK("4x4") "node l:Loop five,,x -> y,all body=@body", -EINVAL,
		    "node 1 'l' (Loop) makes tensor 'all' of shape 5x4, but the file declares 4x4");
}

/* It may end before: what is stacked is then the file's word, too. */
TEST(stack_may_end)
{
	static const char body[] =
		"graph body; in i int64; in more bool; out go bool; out s float 4;"
		"node Relu x -> s; node ReduceSum s -> t keepdims=0; node Less t,limit -> go; end;"
		"in x float 4; in limit float -; int five 5; int one 1;";
	AUTO_TEXT char *known = NULL;
	AUTO_TEXT char *unknown = NULL;

	assert_true(asprintf(&known,
			     "%s out all float 5x4; node Cast one -> c to=9;"
			     "node Loop five,c -> all body=@body",
			     body) > 0);
	assert_true(asprintf(&unknown,
			     "%s out all; node Cast one -> c to=9;"
			     "node Loop five,c -> all body=@body",
			     body) > 0);
	onnx_plan(known, 1, NULL);
	onnx_refuse(unknown, -EOPNOTSUPP,
		    "node 1 '' (Loop): values decide how large tensor 'all' is, which is not known "
		    "before the model runs");
}

/* No iteration: the stack is empty, and the states are what they began with. */
TEST(no_iterations)
{
	static const char text[] = STACK("*") "int none 0; node Loop none,c,x -> y,all body=@body;"
					      "node Neg y -> z; out z float 4";
	AUTO_ONNX struct onnx_model *model = onnx_model_new(text);
	AUTO_GRAPH struct npuplan_graph *graph = onnx_accept_model(model, NULL, NULL);

	assert_string_equal(onnx_shape_in(graph, "all"), "");
	onnx_plan(text, 1, NULL);
}

/* What constants alone say of the number of iterations: at most one, or none. */
TEST(known_iterations)
{
	static const char body[] =
		"graph body; in i int64; in more bool; out go bool; out s float 4;"
		"node Relu x -> s; node ReduceSum s -> t keepdims=0; node Less t,limit -> go; end;"
		"in x float 4; in limit float -; int one 1; init no bool -; node Not no -> yes;"
		"out all; out z float 4; node Neg x -> z;";
	static const struct {
		const char *loop;
		const char *shape;
	} cases[] = {
		{ "node Loop one,yes -> all body=@body", "1x4" },
		{ "node Loop ,no -> all body=@body", "" },
		{ "node Loop one,no -> all body=@body", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		AUTO_GRAPH struct npuplan_graph *graph = NULL;
		AUTO_TEXT char *text = NULL;

		assert_true(asprintf(&text, "%s%s", body, cases[i].loop) > 0);
		graph = onnx_accept(text);
		assert_string_equal(onnx_shape_in(graph, "all"), cases[i].shape);
		onnx_plan(text, 1, NULL);
	}
}

/* Stacks, an If and a Scan in a loop, which reads tensors of all graphs around it. */
TEST(nested)
{
	static const char text[] =
		"graph yes; out p float 4; node Add v,k -> p; end;"
		"graph no; out p float 4; node Sub v,x -> p; end;"
		"graph step; in acc float 4; in one float -; out acc2 float 4; out row float 4;"
		"node Add acc,one -> acc2; node Mul acc2,v -> row; end;"
		"graph body; in i int64 -; in more bool -; in v float 4; out more3 bool -;"
		"out r float 4; out rows float 4x4;"
		"node Less i,three -> less; node If less -> q then_branch=@yes else_branch=@no;"
		"node Scan q,x -> r,rows body=@step num_scan_inputs=1; node Not less -> more3; end;"
		"in x float 4; init k float 4; int three 3; int m 6; out y float 4;"
		"out all float 6x4x4; node Loop m,,x -> y,all body=@body";
	AUTO_ONNX struct onnx_model *model = onnx_model_new(text);
	struct npuimport_info info = { 0 };
	AUTO_GRAPH struct npuplan_graph *graph = onnx_accept_model(model, NULL, &info);

	assert_int_equal(info.instances, 4);
	assert_int_equal(info.loops, 2);
	assert_int_equal(info.branches, 1);
	/* Before, head, body, two arms, join, head, body, behind, behind. */
	assert_int_equal(graph->block_count, 10);
	onnx_plan(text, 1, NULL);
}

/* -------------------------------------------------------------------------- scans */

TEST(scan)
{
	static const char text[] =
		"graph body; in s float 2; in a float 3x2; in b float 3; out s2 float 2;"
		"out o float 3x2; node ReduceSum a,zero -> r keepdims=0; node Add s,r -> s2;"
		"node Relu a -> o; end; ints zero 0;"
		"in i float 2; in x float 3x5x2; in z float 3x5; out y float 2; out o float 3x2x5;"
		"node n:Scan i,x,z -> y,o body=@body num_scan_inputs=2 scan_input_axes=[1,-1] "
		"scan_output_axes=[-1]";
	AUTO_GRAPH struct npuplan_graph *graph = onnx_accept(text);

	assert_string_equal(onnx_shape_in(graph, "a"), "3x2");
	assert_string_equal(onnx_shape_in(graph, "o"), "3x2");
	assert_int_equal(graph->block_count, 4);
	assert_string_equal(graph->ops[0].type, "scan_begin");
	assert_string_equal(graph->ops[1].type, "loop_test");
	assert_string_equal(graph->ops[2].type, "scan_slice");
	/* Of b nobody takes slices. */
	assert_true(reads(graph, 2, "x"));
	check_op(graph, 3, "sum", 1, 2);
	for (uint32_t i = 0; i < graph->tensor_count; i++)
		if (!strcmp(graph->tensors[i].name, "n/begin"))
			assert_int_equal(graph->tensors[i].shape[2], 5);
	onnx_plan(text, 1, NULL);
	onnx_plan(text, 3, NULL);
}

/* Operators of others that have such names are none: graph JSON must not take them for any. */
TEST(names_of_others)
{
	static const char text[] = "opset 1 com.example; in x float 4; out y float 4;"
				   "info a float 4; info b float 4; info c float 4;"
				   "info d float 4;"
				   "node Loop@com.example x -> a; node If@com.example a -> b;"
				   "node switch@com.example b -> c;"
				   "node Concat@com.example c,x -> d;"
				   "node scan_begin@com.example d -> y";
	AUTO_ONNX struct onnx_model *model = onnx_model_new(text);
	const struct npuimport_options options = { 0 };
	AUTO_GRAPH struct npuplan_graph *graph = onnx_accept_model(model, &options, NULL);
	AUTO_GRAPH struct npuplan_graph *again = NULL;
	struct npuplan_error error = { 0 };
	AUTO_TEXT char *json = NULL;

	assert_string_equal(graph->ops[0].type, "custom_loop");
	assert_string_equal(graph->ops[1].type, "custom_if");
	assert_string_equal(graph->ops[2].type, "custom_switch");
	/* Its inputs need not add up. */
	assert_string_equal(graph->ops[3].type, "custom_concat");
	assert_string_equal(graph->ops[4].type, "custom_scan_begin");
	assert_int_equal(npuimport_graph_json_write(graph, &json, &error), 0);
	assert_int_equal(npuimport_graph_json(json, strlen(json), &options, &again, NULL, &error),
			 0);
	assert_int_equal(again->op_count, 5);
}
