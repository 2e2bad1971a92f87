/* SPDX-License-Identifier: MIT */
/* If, Loop and Scan of ONNX models that are refused: each is right but for one thing. */
#include <errno.h>

#include "onnx_check.h"

/* ----------------------------------------------------------------------- branches */

#define YES "graph yes; out a float 4; node Relu x -> a; end;"
#define NO  "graph no; out b float 4; node Neg x -> b; end;"
#define IF(attributes)                                                               \
	"in x float 4; in c bool -; out z float 4; node n:If c -> y " attributes ";" \
	"node Neg y -> z"
#define BOTH "then_branch=@yes else_branch=@no"

TEST(branches)
{
	onnx_plan(YES NO IF(BOTH), 1, NULL);
	onnx_refuse(YES NO IF("then_branch=@yes"), -EINVAL,
		    "node 0 'n' (If) lacks attribute 'else_branch', a graph");
	onnx_refuse(YES NO IF("else_branch=@no then_branch=3"), -EINVAL,
		    "node 0 'n' (If) lacks attribute 'then_branch', a graph");
	onnx_refuse("graph yes; in u float 4; out a float 4; node Relu u -> a; end;" NO IF(BOTH),
		    -EINVAL,
		    "node 0 'n' (If) hands 0 values to its then_branch, which has 1 inputs");
	onnx_refuse(YES "graph no; out b float 4; out x; node Neg x -> b; end;" IF(BOTH), -EINVAL,
		    "node 0 'n' (If) has 1 outputs, its else_branch 2");
	onnx_refuse(YES "graph no; out b int32 4; node Cast x -> b to=6; end;" IF(BOTH), -EINVAL,
		    "node 0 'n' (If) gives tensor 'y' type 1 in one branch, and 6 in the other");
	onnx_refuse(YES "graph no; out b float 8; node Concat x,x -> b axis=0; end;" IF(BOTH),
		    -EOPNOTSUPP,
		    "node 0 'n' (If) gives tensor 'y' shape 4 in one branch, and 8 in the other: "
		    "its size is not known before the model runs");
}

TEST(conditions)
{
	onnx_refuse(YES NO "in x float 4; in c float -; out y float 4; node n:If c -> y " BOTH,
		    -EINVAL, "node 0 'n' (If): its condition, tensor 'c', is not one bool");
	onnx_refuse(YES NO "in x float 4; in c bool 2; out y float 4; node n:If c -> y " BOTH,
		    -EINVAL, "node 0 'n' (If): its condition, tensor 'c', is not one bool");
	onnx_refuse(YES NO "in x float 4; out y float 4; node n:If - -> y " BOTH, -EINVAL,
		    "node 0 'n' (If) has 0 inputs, must have 1");
}

TEST(names)
{
	onnx_refuse("graph yes; out q float 4; node Relu x -> a; end;" NO IF(BOTH), -EINVAL,
		    "tensor 'q' is an output, but nothing writes it in then_branch of node 0");
	onnx_refuse("graph yes; out z float 4; node Relu x -> a; end;" NO IF(BOTH), -EINVAL,
		    "tensor 'z' is an output, but nothing writes it in then_branch of node 0");
	onnx_refuse(
		"graph yes; out x; node Relu c -> x; end;" NO IF(BOTH), -EINVAL,
		"node 0 '' (Relu) in then_branch of node 0 writes tensor 'x', which has a value "
		"outside");
	onnx_refuse("graph yes; out a float 4; node m:Relu z -> a; end;" NO IF(BOTH), -EINVAL,
		    "node 0 'm' (Relu) in then_branch of node 0 reads tensor 'z', which nothing "
		    "before it writes");
	onnx_refuse("graph yes; out a float 4; node m:Relu y -> a; end;" NO IF(BOTH), -EINVAL,
		    "node 0 'm' (Relu) in then_branch of node 0 reads tensor 'y', which nothing "
		    "before it writes");
	/* What a branch makes is its own. */
	onnx_refuse(YES "graph no; out b float 4; node Neg a -> b; end;" IF(BOTH), -EINVAL,
		    "node 0 '' (Neg) in else_branch of node 0 reads tensor 'a', which nothing "
		    "before it writes");
	onnx_refuse(YES NO "in x float 4; in c bool -; out z float 4; node n:If c -> y " BOTH ";"
			   "node Neg a -> z",
		    -EINVAL, "node 1 '' (Neg) reads tensor 'a', which nothing before it writes");
	onnx_refuse("graph yes; out a float 4; node Relu x -> a; node Neg x -> a; end;" NO IF(BOTH),
		    -EINVAL,
		    "node 1 '' (Neg) in then_branch of node 0 writes tensor 'a', which node 0 "
		    "writes already");
	onnx_refuse("graph yes; init a float 4; init a float 4; out a; end;" NO IF(BOTH), -EINVAL,
		    "tensor 'a' is an initializer twice in then_branch of node 0");
}

/* -------------------------------------------------------------------------- loops */

#define INPUTS	"in i int64 -; in more bool -; in v float 4;"
#define OUTPUTS "out go bool -; out w float 4;"
#define GO	"node Identity more -> go;"
#define BODY	"graph body; " INPUTS OUTPUTS GO "node Neg v -> w; end;"
#define MODEL(node)                                                                              \
	"in x float 4; in m int64 -; in c bool -; in pair int64 2; in f float -; out y float 4;" \
	"node n:Loop " node

TEST(loops)
{
	onnx_plan(BODY MODEL("m,c,x -> y body=@body"), 1, NULL);
	onnx_refuse(BODY MODEL("m,c,x -> y"), -EINVAL,
		    "node 0 'n' (Loop) lacks attribute 'body', a graph");
	onnx_refuse(BODY MODEL("pair,c,x -> y body=@body"), -EINVAL,
		    "node 0 'n' (Loop): its number of iterations, tensor 'pair', is not one int64");
	onnx_refuse(BODY MODEL("f,c,x -> y body=@body"), -EINVAL,
		    "node 0 'n' (Loop): its number of iterations, tensor 'f', is not one int64");
	onnx_refuse(BODY MODEL("m,m,x -> y body=@body"), -EINVAL,
		    "node 0 'n' (Loop): its condition, tensor 'm', is not one bool");
	onnx_refuse(BODY MODEL(",,x -> y body=@body"), -EINVAL, "node 0 'n' (Loop) never ends");
	onnx_refuse(BODY "init no bool -; node Not no -> yes;" MODEL(",yes,x -> y body=@body"),
		    -EINVAL, "node 1 'n' (Loop) never ends");
	onnx_refuse(BODY MODEL("m,c, -> y body=@body"), -EINVAL, "node 0 'n' (Loop) lacks input 2");
	onnx_refuse(BODY MODEL("m,c,x,x -> y body=@body"), -EINVAL,
		    "node 0 'n' (Loop) has 2 states and 1 outputs, its body 2 outputs");
	onnx_refuse(BODY MODEL("m,c,x -> y,z body=@body"), -EINVAL,
		    "node 0 'n' (Loop) has 1 states and 2 outputs, its body 2 outputs");
	onnx_refuse("graph body; " INPUTS "in u float; " OUTPUTS GO
		    "node Neg v -> w; end;" MODEL("m,c,x -> y body=@body"),
		    -EINVAL, "node 0 'n' (Loop) hands 3 values to its body, which has 4 inputs");
}

TEST(states)
{
	onnx_refuse(
		"graph body; " INPUTS OUTPUTS GO
		"node Concat v,v -> w axis=0; end;" MODEL("m,c,x -> y body=@body"),
		-EINVAL,
		"node 1 '' (Concat) in body of node 0 makes tensor 'w' of shape 8, but the file "
		"declares 4");
	onnx_refuse("graph body; " INPUTS "out go bool -; out w;" GO
		    "node Concat v,v -> w axis=0; end;" MODEL("m,c,x -> y body=@body"),
		    -EOPNOTSUPP,
		    "node 0 'n' (Loop): tensor 'x' is float 4, and float 8 in the next iteration: "
		    "its size is not known before the model runs");
	onnx_refuse("graph body; " INPUTS "out go bool -; out w;" GO
		    "node Cast v -> w to=7; end;" MODEL("m,c,x -> y body=@body"),
		    -EOPNOTSUPP,
		    "node 0 'n' (Loop): tensor 'x' is float 4, and int64 4 in the next iteration: "
		    "its size is not known before the model runs");
	onnx_refuse("graph body; in i int64 -; in more bool -; in v float 5;" OUTPUTS GO
		    "node Neg v -> w; end;" MODEL("m,c,x -> y body=@body"),
		    -EINVAL,
		    "node 0 'n' (Loop) makes tensor 'v' of shape 4, but the file declares 5");
	onnx_refuse("graph body; in i int32 -; in more bool -; in v float 4;" OUTPUTS GO
		    "node Neg v -> w; end;" MODEL("m,c,x -> y body=@body"),
		    -EINVAL,
		    "node 0 'n' (Loop) makes tensor 'i' of type 7 (int64), but the file declares 6 "
		    "(int32)");
	onnx_refuse("graph body; in i int64 2; in more bool -; in v float 4;" OUTPUTS GO
		    "node Neg v -> w; end;" MODEL("m,c,x -> y body=@body"),
		    -EINVAL,
		    "node 0 'n' (Loop) makes tensor 'i' of shape scalar, but the file declares 2");
	onnx_refuse("graph body; " INPUTS "out go float 4; out w float 4;"
		    "node Neg v -> w; node Neg w -> go; end;" MODEL("m,c,x -> y body=@body"),
		    -EINVAL, "node 0 'n' (Loop): its next condition, tensor 'go', is not one bool");
	onnx_refuse("graph body; in i int64 -; in i bool -; in v float 4;" OUTPUTS
		    "node Identity i -> go; node Neg v -> w; end;" MODEL("m,c,x -> y body=@body"),
		    -EINVAL, "tensor 'i' is an input twice in body of node 0");
	onnx_refuse("graph body; init v float 4; " INPUTS OUTPUTS GO
		    "node Neg v -> w; end;" MODEL("m,c,x -> y body=@body"),
		    -EOPNOTSUPP, "tensor 'v' is an input and an initializer in body of node 0");
	onnx_refuse("graph body; " INPUTS OUTPUTS GO
		    "node Neg x -> v; node Neg v -> w; end;" MODEL("m,c,x -> y body=@body"),
		    -EINVAL,
		    "node 1 '' (Neg) in body of node 0 writes tensor 'v', which is an input of the "
		    "graph");
}

/* -------------------------------------------------------------------------- stacks */

TEST(stacks)
{
	onnx_refuse("graph body; in i int64 -; in more bool -; out go bool -; out s;" GO
		    "node Reshape x,shape -> s; end;"
		    "in x float 4; ints shape 1,1,1,1,1,1,2,2; int m 3; out y;"
		    "node n:Loop m, -> y body=@body",
		    -EOPNOTSUPP, "tensor 'y' has 9 dimensions, more than 8");
	onnx_refuse("graph body; in i int64 -; in more bool -; out go bool -; out s;" GO
		    "init s float 0x4; end;"
		    "in x float 4; int m 3; out y; out z float 4; node n:Loop m, -> y body=@body;"
		    "node Neg x -> z",
		    -EOPNOTSUPP, "tensor 'y' has no elements, and is written by a loop");
}

#define STACK(attributes)                                                                   \
	"graph body; in i int64 -; in more bool -; out go bool -; out s; node Relu x -> s;" \
	"node Not more0 -> go; end;"                                                        \
	"in x float 3; in n int64 -; in more0 bool -; int five 5; out z;"                   \
	"info o float " attributes "node Neg o -> z"

/* The file's word is taken for the number of slices alone. */
TEST(declared_stacks)
{
	onnx_plan(STACK("4x3; node k:Loop n,more0 -> o body=@body;"), 1, NULL);
	onnx_refuse(STACK("1; node k:Loop n,more0 -> o body=@body;"), -EINVAL,
		    "node 0 'k' (Loop) stacks slices of shape 3 in tensor 'o', but the file "
		    "declares 1");
	onnx_refuse(STACK("4x2; node k:Loop n,more0 -> o body=@body;"), -EINVAL,
		    "node 0 'k' (Loop) makes tensor 'o' of shape 4x3, but the file declares 4x2");
	onnx_plan(STACK("5x3; node k:Loop five,more0 -> o body=@body;"), 1, NULL);
	onnx_refuse(STACK("6x3; node k:Loop five,more0 -> o body=@body;"), -EINVAL,
		    "node 0 'k' (Loop) has at most 5 iterations, but the file declares tensor 'o' "
		    "of shape 6x3");
}

/* A stack is the node's: the body does not have it. */
TEST(names_of_stacks)
{
	onnx_refuse("graph b; in i int64 -; in c bool -; out c2; out z; out A;"
		    "node Identity c -> c2; node Neg x -> z; end;"
		    "in x float 4; int t 3; out A; out B; node n:Loop t, -> A,B body=@b",
		    -EINVAL, "tensor 'A' is an output, but nothing writes it in body of node 0");
}

/* --------------------------------------------------------------------------- scans */

#define STEP                                                                    \
	"graph step; in s float 2; in a float 2; out t float 2; out o float 2;" \
	"node Add s,a -> t; node Neg a -> o; end;"
#define SCAN(attributes)                                             \
	STEP "in s float 2; in x float 3x2; out y float 2; out all;" \
	     "node n:Scan s,x -> y,all body=@step " attributes

TEST(scans)
{
	onnx_plan(SCAN("num_scan_inputs=1"), 1, NULL);
	onnx_refuse("opset 8;" SCAN("num_scan_inputs=1"), -EOPNOTSUPP,
		    "node 0 'n' (Scan) is of operator set 8: only that of 9 and later is read");
	onnx_refuse(SCAN(""), -EINVAL, "node 0 'n' (Scan) scans 0 of its 2 inputs");
	onnx_refuse(SCAN("num_scan_inputs=3"), -EINVAL,
		    "node 0 'n' (Scan) scans 3 of its 2 inputs");
	onnx_refuse(SCAN("num_scan_inputs=-9223372036854775808"), -EINVAL,
		    "node 0 'n' (Scan) scans -9223372036854775808 of its 2 inputs");
	onnx_refuse(SCAN("num_scan_inputs=1 scan_input_axes=[0,1]"), -EINVAL,
		    "node 0 'n' (Scan): attribute 'scan_input_axes' has 2 numbers, must have 1");
	onnx_refuse(SCAN("num_scan_inputs=1 scan_output_axes=[0,1]"), -EINVAL,
		    "node 0 'n' (Scan): attribute 'scan_output_axes' has 2 numbers, must have 1");
	onnx_refuse(SCAN("num_scan_inputs=1 scan_input_axes=[2]"), -EINVAL,
		    "node 0 'n' (Scan) scans tensor 'x' along a dimension that 3x2 lacks");
	onnx_refuse(SCAN("num_scan_inputs=1 scan_input_axes=[-9223372036854775808]"), -EINVAL,
		    "node 0 'n' (Scan) scans tensor 'x' along a dimension that 3x2 lacks");
	onnx_refuse(SCAN("num_scan_inputs=1 scan_output_axes=[2]"), -EINVAL,
		    "node 0 'n' (Scan) stacks tensor 'all' along dimension 2 of 2");
	onnx_refuse(SCAN("num_scan_inputs=1 scan_output_axes=[-3]"), -EINVAL,
		    "node 0 'n' (Scan) stacks tensor 'all' along dimension -1 of 2");
	onnx_refuse(STEP "in s float 3x2; in x float 2x2; out y float 2; out all;"
			 "node n:Scan s,x -> y,all body=@step num_scan_inputs=2",
		    -EINVAL, "node 0 'n' (Scan) scans tensor 'x' of 2 slices, others have 3");
	onnx_refuse(STEP "in s float 2; in x float 3x2; out y float 2; out all;"
			 "node n:Scan s, -> y,all body=@step num_scan_inputs=1",
		    -EINVAL, "node 0 'n' (Scan) lacks input 1");
	onnx_refuse(STEP "in s float 2; in x float -; out y float 2; out all;"
			 "node n:Scan s,x -> y,all body=@step num_scan_inputs=1",
		    -EINVAL,
		    "node 0 'n' (Scan) scans tensor 'x' along a dimension that scalar lacks");
}

/* ----------------------------------------------------------------------- how deep */

/* Graphs in each other: messages of a file are as deep as three times that. */
static char *deep(unsigned int depth)
{
	char *text = strdup("graph g0; out y0 float 4; node Relu x -> y0; end;");

	for (unsigned int d = 1; d <= depth; d++) {
		char *longer;

		assert_true(asprintf(&longer,
				     "%s graph g%u; out y%u float 4;"
				     "node If c -> y%u then_branch=@g%u else_branch=@g%u; end;",
				     text, d, d, d, d - 1, d == 1 ? 0 : d - 1) > 0);
		free(text);
		text = longer;
	}
	return text;
}

TEST(depth)
{
	AUTO_TEXT char *few = deep(4);
	AUTO_TEXT char *many = deep(8);
	AUTO_TEXT char *model = NULL;
	AUTO_GRAPH struct npuplan_graph *graph = NULL;

	/* Each stands in the file as often as it is named. */
	assert_true(asprintf(&model,
			     "%s in x float 4; in c bool -; out y float 4;"
			     "node If c -> y then_branch=@g4 else_branch=@g4",
			     few) > 0);
	graph = onnx_accept(model);
	assert_int_equal(graph->block_count, 1 + 3 * 31);
	free(model);
	assert_true(asprintf(&model,
			     "%s in x float 4; in c bool -; out y float 4;"
			     "node If c -> y then_branch=@g8 else_branch=@g8",
			     many) > 0);
	onnx_plan(model, 1, NULL);
}
