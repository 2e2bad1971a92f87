/* SPDX-License-Identifier: MIT */
/* userspace/import/graph_json_alias.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "import.h"

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

	if (npuimport_graph_json(text, strlen(text), &graph, NULL, &error))
		fail_msg("refused: %s", error.text);
	free(text);
	return graph;
}

static void refuse(const char *left, const char *right, const char *last, const char *message)
{
	char *text = text_of(left, right, last);
	struct npuplan_error error = { 0 };
	struct npuplan_graph *graph = NULL;

	assert_int_equal(npuimport_graph_json(text, strlen(text), &graph, NULL, &error), -EINVAL);
	assert_string_equal(error.text, message);
	assert_null(graph);
	free(text);
}

static void assert_alias(const struct npuplan_graph *graph, uint32_t tensor, uint32_t base,
			 uint64_t offset)
{
	assert_int_equal(graph->tensors[tensor].flags, NPUMEM_TENSOR_ALIAS);
	assert_int_equal(graph->tensors[tensor].alias_of, base);
	assert_int_equal(graph->tensors[tensor].alias_offset, offset);
}

/* Halves are written under their own names, and read as one: a concat without a copy. */
static void test_halves(void **state)
{
	struct npuplan_graph *graph = accept(LEFT, RIGHT, LAST);

	assert_alias(graph, 1, 3, 0);
	assert_alias(graph, 2, 3, 8);
	assert_int_equal(graph->tensors[3].flags, 0);
	assert_int_equal(graph->tensors[3].alias_of, NPUMEM_NONE);
	npuplan_graph_free(graph);
}

/* right of left of both; both stands later than they do. */
static void test_chain(void **state)
{
	struct npuplan_graph *graph =
		accept("\"kind\":\"activation\",\"alias_of\":3,\"alias_offset\":8",
		       "\"kind\":\"activation\",\"alias_of\":1", LAST);
	char *first = NULL, *second = NULL;
	struct npuplan_error error;
	struct npuplan_graph *again;

	assert_alias(graph, 1, 3, 8);
	assert_alias(graph, 2, 3, 8);
	/* Written, the chain is short. */
	assert_int_equal(npuimport_graph_json_write(graph, &first, &error), 0);
	assert_int_equal(npuimport_graph_json(first, strlen(first), &again, NULL, &error), 0);
	assert_alias(again, 2, 3, 8);
	assert_int_equal(npuimport_graph_json_write(again, &second, &error), 0);
	assert_string_equal(first, second);
	free(first);
	free(second);
	npuplan_graph_free(again);
	npuplan_graph_free(graph);
}

static void test_refused(void **state)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_halves),
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
