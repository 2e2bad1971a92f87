// SPDX-License-Identifier: MIT
/* Graph JSON with loops and branches: what it is lowered to, what is refused. */
#include <errno.h>

#include "graph_check.h"
#include "npuplan_build.h"

#include "npuimport.h"

/* Tensors 0 to 9, of 16 bytes but for the last, which has 4. */
#define TENSORS                                                                         \
	"{\"name\":\"g\",\"dtype_bytes\":4,\"tensors\":["                               \
	"{\"id\":0,\"name\":\"in\",\"shape\":[4],\"bytes\":16,\"kind\":\"input\"},"     \
	"{\"id\":1,\"name\":\"a\",\"shape\":[4],\"bytes\":16,\"kind\":\"activation\"}," \
	"{\"id\":2,\"name\":\"b\",\"shape\":[4],\"bytes\":16,\"kind\":\"activation\"}," \
	"{\"id\":3,\"name\":\"c\",\"shape\":[4],\"bytes\":16,\"kind\":\"activation\"}," \
	"{\"id\":4,\"name\":\"d\",\"shape\":[4],\"bytes\":16,\"kind\":\"activation\"}," \
	"{\"id\":5,\"name\":\"out\",\"shape\":[4],\"bytes\":16,\"kind\":\"output\"},"   \
	"{\"id\":6,\"name\":\"w\",\"shape\":[4],\"bytes\":16,\"kind\":\"parameter\"},"  \
	"{\"id\":7,\"name\":\"e\",\"shape\":[4],\"bytes\":16,\"kind\":\"activation\","  \
	"\"external\":true},"                                                           \
	"{\"id\":8,\"name\":\"al\",\"shape\":[2],\"bytes\":8,\"kind\":\"activation\","  \
	"\"alias_of\":1},"                                                              \
	"{\"id\":9,\"name\":\"s\",\"shape\":[1],\"bytes\":4,\"kind\":\"activation\"}],\n"

/* Operator @id that reads tensor @in and writes @out. */
#define OP(id, in, out)                                                             \
	"{\"id\":" #id ",\"name\":\"op" #id "\",\"type\":\"relu\",\"inputs\":[" #in \
	"],\"outputs\":[" #out "],\"attrs\":{}}"

#define LOOP(id, more, carries, body)                                                              \
	"{\"id\":" #id ",\"name\":\"loop" #id "\",\"type\":\"loop\"," more "\"carries\":[" carries \
	"],\"body\":[" body "]}"
#define CARRY(to, init, from) "{\"to\":" #to ",\"init\":" #init ",\"from\":" #from "}"

#define BRANCH(id, type, outputs, arms)                                                      \
	"{\"id\":" #id ",\"name\":\"br" #id "\",\"type\":\"" type "\",\"outputs\":[" outputs \
	"],\"arms\":[" arms "]}"
#define ARM(ops, outputs) "{\"ops\":[" ops "],\"outputs\":[" outputs "]}"

#define GRAPH(ops)	  TENSORS "\"ops\":[" ops "]}"
#define BLOCKS(ops, more) TENSORS "\"ops\":[" ops "]," more "}"

static struct npuplan_graph *read_graph(const char *text)
{
	struct npuplan_graph *graph;
	struct npuplan_error error;

	if (npuimport_graph_json(text, strlen(text), NULL, &graph, NULL, &error))
		fail_msg("%s", error.text);
	return graph;
}

static void refuse(const char *text, const char *why)
{
	struct npuplan_graph *graph;
	struct npuplan_error error;

	assert_int_equal(npuimport_graph_json(text, strlen(text), NULL, &graph, NULL, &error),
			 -EINVAL);
	ASSERT_TEXT(error, why);
	assert_null(graph);
}

/* ---------------------------------------------------------------- lowering */

/* in -> a; loop of at least one: b = f(a or b); out = f(b) */
TEST(loop)
{
	AUTO_GRAPH struct npuplan_graph *graph = read_graph(
		GRAPH(OP(1, 0, 1) "," LOOP(2, "", CARRY(2, 1, 3), OP(3, 2, 3)) "," OP(4, 3, 5)));

	assert_int_equal(graph->block_count, 3);
	assert_int_equal(graph->edge_count, 4);
	check_edge(graph, 0, 0, 1, 1);
	check_edge(graph, 1, 1, 1, 1);
	check_edge(graph, 2, 1, 2, 0);
	check_edge(graph, 3, 2, NPUMEM_NONE, 0);
	assert_int_equal(graph->carries[0].from, 1);
	assert_int_equal(graph->carries[0].to, 2);
	assert_int_equal(graph->carries[1].from, 3);
	assert_int_equal(graph->carries[1].to, 2);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(graph->ops[i].block, i);
}

/* The entry has no edge to it, though the graph begins with a loop. */
TEST(while)
{
	AUTO_GRAPH struct npuplan_graph *graph =
		read_graph(GRAPH(LOOP(1, "\"min_iterations\":0,\"test\":[" OP(2, 5, 1) "],",
				      CARRY(5, 0, 3), OP(3, 5, 3))));

	/* Entry, test, body; the test leads to the exit. */
	assert_int_equal(graph->block_count, 3);
	assert_int_equal(graph->edge_count, 4);
	check_edge(graph, 0, 0, 1, 1);
	check_edge(graph, 1, 1, 2, 0);
	check_edge(graph, 2, 2, 1, 1);
	check_edge(graph, 3, 1, NPUMEM_NONE, 0);
	assert_int_equal(graph->ops[0].block, 1);
	assert_int_equal(graph->ops[1].block, 2);
}

/* Arms with and without operators, a branch without outputs, one without else. */
TEST(branch)
{
	AUTO_GRAPH struct npuplan_graph *graph = read_graph(
		GRAPH(BRANCH(1, "switch", "2", ARM(OP(2, 0, 1), "1") "," ARM("", "0")) "," BRANCH(
			3, "if", "", ARM(OP(4, 2, 3), "")) "," OP(5, 2, 5)));

	assert_int_equal(graph->block_count, 5);
	assert_int_equal(graph->edge_count, 7);
	check_edge(graph, 0, 0, 1, 0);
	check_edge(graph, 1, 1, 2, 1);
	check_edge(graph, 2, 0, 2, 1);
	check_edge(graph, 3, 2, 3, 0);
	check_edge(graph, 4, 3, 4, 0);
	check_edge(graph, 5, 2, 4, 0);
	check_edge(graph, 6, 4, NPUMEM_NONE, 0);
	assert_int_equal(graph->carries[1].from, 0);
	assert_int_equal(graph->carries[1].to, 2);
}

/* What the last branch gives must arrive in a block before the exit. */
TEST(last_branch)
{
	AUTO_GRAPH struct npuplan_graph *graph = read_graph(
		GRAPH(BRANCH(1, "if", "5", ARM(OP(2, 0, 1), "1") "," ARM(OP(3, 0, 2), "2"))));

	assert_int_equal(graph->block_count, 4);
	check_edge(graph, graph->edge_count - 1, 3, NPUMEM_NONE, 0);
	assert_int_equal(graph->blocks[3].step_count, 0);
}

TEST(blocks)
{
	AUTO_GRAPH struct npuplan_graph *graph = read_graph(BLOCKS(
		OP(1, 0, 1) "," OP(2, 2, 3) "," OP(3, 3, 5),
		"\"blocks\":[1,1,1],\"edges\":[{\"from\":0,\"to\":1,\"carries\":[{\"from\":1,\"to\":2}]},"
		"{\"from\":1,\"to\":1,\"carries\":[{\"from\":3,\"to\":2}]},{\"from\":1,\"to\":2},{\"from\":2}]"));

	assert_int_equal(graph->block_count, 3);
	check_edge(graph, 1, 1, 1, 1);
	check_edge(graph, 3, 2, NPUMEM_NONE, 0);
}

/* -------------------------------------------------------------- refusals */

#define BODY OP(3, 2, 3)
#define ONE_LOOP(more, carries, body) \
	GRAPH(OP(1, 0, 1) "," LOOP(2, more, carries, body) "," OP(4, 3, 5))

TEST(loops_refused)
{
	refuse(ONE_LOOP("", CARRY(2, 1, 9), BODY), "$.ops[1].carries[0].from: tensor 9 's' is not");
	refuse(ONE_LOOP("", CARRY(9, 1, 3), BODY),
	       "tensor 1 'a' of 16 bytes is carried to tensor 9 's' of 4 bytes");
	refuse(ONE_LOOP("", CARRY(2, 3, 3), BODY),
	       "$.ops[1].carries[0].init: tensor 3 'c' is not defined on every path");
	refuse(ONE_LOOP("", CARRY(2, 1, 4), BODY),
	       "$.ops[1].carries[0].from: tensor 4 'd' is not defined on every path");
	refuse(ONE_LOOP("", CARRY(0, 1, 3), BODY),
	       "tensor 0 'in' must be an activation or an output");
	refuse(ONE_LOOP("", CARRY(7, 1, 3), BODY), "tensor 7 'e' must be neither an alias nor");
	refuse(ONE_LOOP("", CARRY(2, 8, 3), BODY), "tensor 8 'al' must be neither an alias nor");
	refuse(ONE_LOOP("", CARRY(2, 1, 3) "," CARRY(2, 1, 3), BODY),
	       "tensor 2 'b' is given values by two loops or branches");
	refuse(ONE_LOOP("", CARRY(77, 1, 3), BODY), "carries[0].to: no tensor has id 77");
	refuse(ONE_LOOP("", "5", BODY), "$.ops[1].carries[0]: must be an object");
	refuse(ONE_LOOP("", "{\"to\":2,\"init\":1}", BODY), "from: missing");
	refuse(ONE_LOOP("", "{\"to\":2,\"init\":1,\"from\":3,\"by\":1}", BODY), "by");
	refuse(ONE_LOOP("", CARRY(2, 1, 3), ""), "$.ops[1].body: must not be empty");
	refuse(ONE_LOOP("\"min_iterations\":2,", CARRY(2, 1, 3), BODY),
	       "$.ops[1].min_iterations: must be an integer from 0 to 1");
	refuse(ONE_LOOP("\"test\":[],", CARRY(2, 1, 3), BODY), "needs \"min_iterations\" 0");
	refuse(ONE_LOOP("\"inputs\":[],", CARRY(2, 1, 3), BODY), "inputs");
	/* c is not there if the body never ran. */
	refuse(ONE_LOOP("\"min_iterations\":0,", CARRY(2, 1, 3), BODY),
	       "operator 4 'op4' (relu) reads tensor 3 'c', which is not defined on every path");
	/* The value of the iteration before, without a carry. */
	refuse(ONE_LOOP("", CARRY(2, 1, 3), OP(3, 2, 3) "," OP(6, 4, 4)),
	       "reads tensor 4 'd', which is not defined on every path");
	/* Written by an operator, too. */
	refuse(GRAPH(OP(1, 0, 1) "," LOOP(2, "", CARRY(2, 1, 3), OP(5, 1, 2) "," BODY) "," OP(4, 3,
											      5)),
	       "tensor 2 'b' is written by operator 5 'op5' (relu), and a loop or branch carries");
	refuse(GRAPH(OP(1, 0, 1) "," LOOP(1, "", CARRY(2, 1, 3), BODY) "," OP(4, 3, 5)),
	       "$.ops: id 1 is given twice");
}

TEST(branches_refused)
{
#define BOTH(a, b) GRAPH(BRANCH(1, "if", "5", a "," b))
#define GOOD	   ARM(OP(2, 0, 1), "1")
	refuse(BOTH(GOOD, ARM(OP(3, 0, 2), "")),
	       "$.ops[0].arms[1].outputs: the arm defines nothing for tensor 5 'out'");
	refuse(BOTH(GOOD, ARM(OP(3, 0, 2), "2,2")),
	       "$.ops[0].arms[1].outputs: the arm defines 2 values, the branch has 1");
	refuse(BOTH(GOOD, ARM(OP(3, 0, 9), "9")),
	       "tensor 9 's' of 4 bytes is carried to tensor 5 'out' of 16 bytes");
	/* The other arm's value. */
	refuse(BOTH(GOOD, ARM(OP(3, 0, 2), "1")),
	       "$.ops[0].arms[1].outputs: tensor 1 'a' is not defined on every path");
	refuse(BOTH(GOOD, ARM(OP(3, 1, 2), "2")),
	       "operator 3 'op3' (relu) reads tensor 1 'a', which is not defined on every path");
	refuse(BOTH(GOOD, "7"), "$.ops[0].arms[1]: must be an object");
	refuse(BOTH(GOOD, "{\"op\":[]}"), "op");
	refuse(GRAPH(BRANCH(1, "if", "5", GOOD)),
	       "an \"if\" with outputs needs two arms: nothing for tensor 5 'out'");
	refuse(GRAPH(BRANCH(1, "if", "5", GOOD "," GOOD "," GOOD)), "arms: must be one or two");
	refuse(GRAPH(BRANCH(1, "switch", "5", "")), "$.ops[0].arms: must not be empty");
	refuse(GRAPH(BRANCH(1, "switch", "6", GOOD)), "tensor 6 'w' must be an activation or an");
	/* An output that only one arm gives. */
	refuse(GRAPH(OP(4, 0, 2) "," BRANCH(1, "if", "", ARM(OP(2, 0, 5), ""))),
	       "tensor 5 'out' is an output of the graph, but not defined on every path");
	/* Behind the branch an arm's own values are gone. */
	refuse(GRAPH(BRANCH(1, "if", "", ARM(OP(2, 0, 1), "")) "," OP(3, 1, 5)),
	       "operator 3 'op3' (relu) reads tensor 1 'a', which is not defined on every path");
#undef BOTH
#undef GOOD
}

TEST(blocks_refused)
{
#define OPS OP(1, 0, 1) "," OP(2, 1, 5)
#define ONE "\"edges\":[{\"from\":0,\"to\":1},{\"from\":1}]"
	npuplan_graph_free(read_graph(BLOCKS(OPS, "\"blocks\":[1,1]," ONE)));
	refuse(BLOCKS(OPS, ONE), "blocks: missing");
	refuse(BLOCKS(OPS, "\"blocks\":[1,1]"), "edges: missing");
	refuse(BLOCKS(OPS, "\"blocks\":[2],\"edges\":[]"), "and edges must not be empty");
	refuse(BLOCKS(OPS, "\"blocks\":[1,2]," ONE), "$.blocks[1]: must be a number of operators");
	refuse(BLOCKS(OPS, "\"blocks\":[1,0]," ONE), "$.blocks: hold 1 operators of 2");
	refuse(BLOCKS(OPS, "\"blocks\":[1,1],\"edges\":[{\"from\":2}]"),
	       "$.edges[0].from: must be an integer from 0 to 1");
	refuse(BLOCKS(OPS, "\"blocks\":[1,1],\"edges\":[{\"from\":0,\"to\":2}]"),
	       "$.edges[0].to: must be an integer from 0 to 1");
	refuse(BLOCKS(OPS, "\"blocks\":[1,1],\"edges\":[3]"), "$.edges[0]: must be an object");
	refuse(BLOCKS(OPS, "\"blocks\":[1,1],\"edges\":[{\"from\":0,\"to\":1,\"carries\":["
			   "{\"from\":1,\"to\":9}]}]"),
	       "$.edges[0].carries[0]: tensor 1 'a' and tensor 9 's' differ in size");
	refuse(BLOCKS(OPS, "\"blocks\":[1,1],\"edges\":[{\"from\":0,\"to\":1,\"carries\":[7]}]"),
	       "$.edges[0].carries[0]: must be an object");
	refuse(BLOCKS(BRANCH(1, "if", "", ARM(OP(2, 0, 1), "")) "," OP(3, 0, 5),
		      "\"blocks\":[1,1]," ONE),
	       "$.ops[0].type: \"if\" and blocks exclude each other");
#undef OPS
#undef ONE
}

/* 65 loops in each other. */
TEST(depth)
{
	struct npuplan_graph *graph;
	struct npuplan_error error;

	for (int depth = 63; depth <= 64; depth++) {
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		fputs(TENSORS "\"ops\":[", out);
		for (int i = 0; i < depth; i++)
			fprintf(out, "{\"id\":%d,\"name\":\"l\",\"type\":\"loop\",\"body\":[",
				100 + i);
		fputs(OP(1, 0, 5), out);
		for (int i = 0; i < depth; i++)
			fputs("]}", out);
		fputs("]}", out);
		fclose(out);
		if (depth == 63) {
			npuplan_graph_free(read_graph(text));
		} else {
			assert_int_equal(npuimport_graph_json(text, size, NULL, &graph, NULL,
							      &error),
					 -EINVAL);
			ASSERT_TEXT(error, "loops and branches are nested more than 64 deep");
		}
		free(text);
	}
}
