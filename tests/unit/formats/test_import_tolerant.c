/* SPDX-License-Identifier: MIT */
/*
 * What readers do not understand: a strict one refuses it, others count it, say where it
 * is, and go on without. Each thing alone in an otherwise valid file; and what is
 * contradictory, which all refuse.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>

#include "auto.h"
#include "graph_check.h"
#include "npuimport.h"
#include "text.h"
#include "unit.h"

/* A convolution, a pool, a join, an addition. */
static const char valid[] =
	"{\"name\":\"m\",\"source\":\"by hand\",\"dtype_bytes\":1,\"model_params\":9,"
	"\"layout\":\"NCHW\",\"tensors\":[\n"
	"{\"id\":0,\"name\":\"in\",\"shape\":[1,3,8,8],\"bytes\":192,\"kind\":\"input\"},\n"
	"{\"id\":1,\"name\":\"w\",\"shape\":[2,3,3,3],\"bytes\":54,\"kind\":\"parameter\"},\n"
	"{\"id\":2,\"name\":\"c\",\"shape\":[1,2,8,8],\"bytes\":128,\"kind\":\"activation\"},\n"
	"{\"id\":3,\"name\":\"p\",\"shape\":[1,2,8,8],\"bytes\":128,\"kind\":\"activation\"},\n"
	"{\"id\":4,\"name\":\"j\",\"shape\":[1,4,8,8],\"bytes\":256,\"kind\":\"activation\"},\n"
	"{\"id\":5,\"name\":\"out\",\"shape\":[1,4,8,8],\"bytes\":256,\"kind\":\"output\"}],\n"
	"\"ops\":[\n"
	"{\"id\":0,\"name\":\"conv\",\"type\":\"conv2d\",\"inputs\":[0,1],\"outputs\":[2],"
	"\"attrs\":{\"kernel\":[3,3],\"stride\":[1,1],\"padding\":[1,1],\"groups\":1,"
	"\"fused_act\":\"relu\"}},\n"
	"{\"id\":1,\"name\":\"pool\",\"type\":\"maxpool\",\"inputs\":[2],\"outputs\":[3],"
	"\"attrs\":{\"kernel\":[2,3],\"pad_begin\":[0,1],\"pad_end\":[1,1]}},\n"
	"{\"id\":2,\"name\":\"join\",\"type\":\"cat\",\"inputs\":[2,3],\"outputs\":[4],"
	"\"attrs\":{\"dim\":1}},\n"
	"{\"id\":3,\"name\":\"act\",\"type\":\"relu\",\"inputs\":[4],\"outputs\":[5],"
	"\"attrs\":{\"inplace\":true,\"scalar\":1}}]}\n";

#define IGNORED	  " is not known here (names that begin with \"x_\" are ignored)"
#define WHOLE(OP) (1u << (OP))
#define ALL	  (WHOLE(0) | WHOLE(1) | WHOLE(2) | WHOLE(3))

/* @whole: operators that are planned whole then */
static const struct doubt {
	const char *find;
	const char *with;
	enum npuimport_doubt kind;
	const char *what;
	const char *place;
	const char *text;
	uint32_t whole;
} doubts[] = {
	/* Fields. */
	{ "\"source\"", "\"opset\":17,\"source\"", NPUIMPORT_DOUBT_FIELD, "opset", "$",
	  "$: \"opset\"" IGNORED, 0 },
	{ "\"bytes\":54", "\"bytes\":54,\"dtype\":\"int8\"", NPUIMPORT_DOUBT_FIELD, "dtype",
	  "$.tensors[1]", "$.tensors[1]: \"dtype\"" IGNORED, 0 },
	{ "\"name\":\"join\"", "\"name\":\"join\",\"note\":\"x\"", NPUIMPORT_DOUBT_ATTRIBUTE,
	  "note", "$.ops[2]", "$.ops[2]: \"note\"" IGNORED, WHOLE(2) },
	/* Values that nobody needs. */
	{ "\"by hand\"", "null", NPUIMPORT_DOUBT_VALUE, "source", "$", "$.source: must be a string",
	  0 },
	{ "\"model_params\":9", "\"model_params\":1.5", NPUIMPORT_DOUBT_VALUE, "model_params", "$",
	  "$.model_params: must be an integer from 0 to 9223372036854775807", 0 },
	{ "\"dtype_bytes\":1", "\"dtype_bytes\":\"int8\"", NPUIMPORT_DOUBT_VALUE, "dtype_bytes",
	  "$", "$.dtype_bytes: must be an integer from 1 to 65536", 0 },
	{ "\"bytes\":54", "\"bytes\":54,\"dtype_bytes\":0.5", NPUIMPORT_DOUBT_VALUE, "dtype_bytes",
	  "$.tensors[1]", "$.tensors[1].dtype_bytes: must be an integer from 1 to 65536", 0 },
	{ "\"name\":\"m\",", "", NPUIMPORT_DOUBT_VALUE, "name", "$", "$.name: missing", 0 },
	{ "\"name\":\"w\"", "\"name\":null", NPUIMPORT_DOUBT_VALUE, "name", "$.tensors[1]",
	  "$.tensors[1].name: must be a string", 0 },
	{ "\"name\":\"join\",", "", NPUIMPORT_DOUBT_VALUE, "name", "$.ops[2]",
	  "$.ops[2].name: missing", 0 },
	{ "\"relu\"}}", "null}}", NPUIMPORT_DOUBT_VALUE, "fused_act", "$.ops[0].attrs",
	  "$.ops[0].attrs.fused_act: must be a string", 0 },
	{ "\"scalar\":1", "\"scalar\":\"1\"", NPUIMPORT_DOUBT_VALUE, "scalar", "$.ops[3].attrs",
	  "$.ops[3].attrs.scalar: must be a number", 0 },
	{ "\"scalar\":1", "\"size\":7", NPUIMPORT_DOUBT_VALUE, "size", "$.ops[3].attrs",
	  "$.ops[3].attrs.size: must be a list", 0 },
	{ "\"scalar\":1", "\"depthwise\":1", NPUIMPORT_DOUBT_VALUE, "depthwise", "$.ops[3].attrs",
	  "$.ops[3].attrs.depthwise: must be true or false", 0 },
	{ "{\"dim\":1}", "null", NPUIMPORT_DOUBT_VALUE, "attrs", "$.ops[2]",
	  "$.ops[2].attrs: must be an object", 0 },
	{ "{\"dim\":1}", "[1]", NPUIMPORT_DOUBT_VALUE, "attrs", "$.ops[2]",
	  "$.ops[2].attrs: must be an object", WHOLE(2) },
	/* What the dimensions are. */
	{ "\"NCHW\"", "\"channels_last\"", NPUIMPORT_DOUBT_LAYOUT, "layout", "$",
	  "$.layout: \"channels_last\" is neither NCHW nor NHWC", ALL },
	{ "[2,3,3,3],\"bytes\":54", "[2,-1,\"k\",3],\"bytes\":54", NPUIMPORT_DOUBT_SHAPE, "shape",
	  "$.tensors[1]", "$.tensors[1].shape[1]: must be an integer from 1 to 2147483647", 0 },
	{ "\"shape\":[2,3,3,3],", "", NPUIMPORT_DOUBT_SHAPE, "shape", "$.tensors[1]",
	  "$.tensors[1].shape: missing", 0 },
	{ "[2,3,3,3]", "[1,1,1,1,1,2,3,3,3]", NPUIMPORT_DOUBT_SHAPE, "shape", "$.tensors[1]",
	  "$.tensors[1].shape: must have 0 to 8 entries, not 9", 0 },
	/* Elements of other sizes than the file says. */
	{ "\"bytes\":54", "\"bytes\":216", NPUIMPORT_DOUBT_ELEMENT, "dtype_bytes", "$.tensors[1]",
	  "$.tensors[1].bytes: is 216, but shape times dtype_bytes is 54 for tensor 1 'w'", 0 },
	{ "\"bytes\":54", "\"bytes\":27", NPUIMPORT_DOUBT_ELEMENT, "dtype_bytes", "$.tensors[1]",
	  "$.tensors[1].bytes: is 27, but shape times dtype_bytes is 54 for tensor 1 'w'", 0 },
	/* Attributes. */
	{ "\"groups\":1", "\"output_size\":[8,8]", NPUIMPORT_DOUBT_ATTRIBUTE, "output_size",
	  "$.ops[0].attrs", "$.ops[0].attrs: \"output_size\"" IGNORED, WHOLE(0) },
	{ "\"groups\":1", "\"groups\":0", NPUIMPORT_DOUBT_ATTRIBUTE, "groups", "$.ops[0].attrs",
	  "$.ops[0].attrs.groups: must be an integer from 1 to 2147483647", WHOLE(0) },
	{ "\"groups\":1", "\"partial_inputs\":[5]", NPUIMPORT_DOUBT_ATTRIBUTE, "partial_inputs",
	  "$.ops[0].attrs",
	  "$.ops[0].attrs.partial_inputs[0]: 5 is not an input of operator 0 'conv' (conv2d)",
	  WHOLE(0) },
	{ "\"groups\":1", "\"whole\":1", NPUIMPORT_DOUBT_ATTRIBUTE, "whole", "$.ops[0].attrs",
	  "$.ops[0].attrs.whole: must be true or false", WHOLE(0) },
	{ "\"dim\":1", "\"dim\":\"C\"", NPUIMPORT_DOUBT_ATTRIBUTE, "dim", "$.ops[2].attrs",
	  "$.ops[2].attrs.dim: must be a list", WHOLE(2) },
	{ "\"dim\":1", "\"dim\":4", NPUIMPORT_DOUBT_ATTRIBUTE, "dim", "$.ops[2].attrs",
	  "$.ops[2].attrs.dim: must be an integer from -4 to 3", WHOLE(2) },
	/* Windows. */
	{ "\"padding\":[1,1]", "\"padding\":\"SAME\"", NPUIMPORT_DOUBT_PADDING, "SAME",
	  "$.ops[0].attrs", "$.ops[0].attrs.padding: must be a list", 0 },
	{ "\"padding\":[1,1]", "\"padding\":\"same_lower\"", NPUIMPORT_DOUBT_PADDING, "SAME_LOWER",
	  "$.ops[0].attrs", "$.ops[0].attrs.padding: must be a list", 0 },
	{ "\"padding\":[1,1]", "\"padding\":\"reflect\"", NPUIMPORT_DOUBT_WINDOW, "conv2d",
	  "$.ops[0].attrs", "$.ops[0].attrs.padding: must be a list", WHOLE(0) },
	{ "\"padding\":[1,1]", "\"padding\":[0,1]", NPUIMPORT_DOUBT_WINDOW, "conv2d",
	  "$.ops[0].attrs",
	  "$.ops[0].attrs: operator 0 'conv' (conv2d): window, stride and padding make 6 elements "
	  "of 8 along spatial dimension 0, but its output has 8",
	  WHOLE(0) },
	{ "\"kernel\":[3,3]", "\"kernel\":3", NPUIMPORT_DOUBT_WINDOW, "conv2d", "$.ops[0].attrs",
	  "$.ops[0].attrs.kernel: must be a list", WHOLE(0) },
	{ "\"kernel\":[3,3],", "", NPUIMPORT_DOUBT_WINDOW, "conv2d", "$.ops[0].attrs",
	  "$.ops[0].attrs.stride: needs \"kernel\" beside it", WHOLE(0) },
	{ "\"stride\":[1,1]", "\"stride\":[1,1,1]", NPUIMPORT_DOUBT_WINDOW, "conv2d",
	  "$.ops[0].attrs", "$.ops[0].attrs.stride: must have 2 entries, not 3", WHOLE(0) },
	{ "\"pad_end\":[1,1]", "\"ceil_mode\":true", NPUIMPORT_DOUBT_WINDOW, "maxpool",
	  "$.ops[1].attrs", "$.ops[1].attrs: \"pad_begin\" and \"pad_end\" go together", WHOLE(1) },
	{ "\"kernel\":[3,3],\"stride\":[1,1],\"padding\":[1,1]", "\"kernel\":[3]",
	  NPUIMPORT_DOUBT_WINDOW, "conv2d", "$.ops[0].attrs",
	  "$.ops[0].attrs: operator 0 'conv' (conv2d) has a window of 1 dimensions, so its first "
	  "input and its output must have 3, not 4 and 4",
	  WHOLE(0) },
	/* In place. */
	{ "\"inplace\":true", "\"inplace\":1", NPUIMPORT_DOUBT_INPLACE, "inplace", "$.ops[3].attrs",
	  "$.ops[3].attrs.inplace: must be true or false", 0 },
	{ "\"inplace\":true", "\"alias_of\":0", NPUIMPORT_DOUBT_INPLACE, "inplace",
	  "$.ops[3].attrs", "$.ops[3].attrs.alias_of: 0 is not an input of operator 3 'act' (relu)",
	  0 },
};

static char *edit(const char *find, const char *with)
{
	char *out = text_edit(valid, find, with);

	assert_non_null(out);
	return out;
}

static struct npuplan_graph *read_text(const char *text, struct npuimport_warnings *warnings)
{
	struct npuimport_options options = { .warnings = warnings };
	struct npuplan_error error = { 0 };
	struct npuplan_graph *graph = NULL;

	memset(warnings, 0, sizeof(*warnings));
	if (npuimport_graph_json(text, strlen(text), &options, &graph, NULL, &error))
		fail_msg("refused: %s", error.text);
	assert_string_equal(error.text, "");
	return graph;
}

/* The message of a strict reader, without options and with. */
static void refuse_strictly(const char *text, const char *message)
{
	struct npuimport_warnings warnings = { 0 };
	struct npuimport_options strict = { .strict = true, .warnings = &warnings };
	struct npuplan_error error = { 0 };
	struct npuplan_graph *graph = NULL;

	assert_int_equal(npuimport_graph_json(text, strlen(text), NULL, &graph, NULL, &error),
			 -EINVAL);
	assert_string_equal(error.text, message);
	assert_int_equal(npuimport_graph_json(text, strlen(text), &strict, &graph, NULL, &error),
			 -EINVAL);
	assert_string_equal(error.text, message);
	assert_null(graph);
	assert_int_equal(warnings.total, 0);
}

/* What is written of a graph is read strictly, and is the same graph. */
static void check_written(const struct npuplan_graph *graph)
{
	struct npuplan_graph *again = NULL;
	struct npuplan_error error = { 0 };
	char *text = NULL, *twice = NULL;

	assert_int_equal(npuimport_graph_json_write(graph, &text, &error), 0);
	if (npuimport_graph_json(text, strlen(text), NULL, &again, NULL, &error))
		fail_msg("not read again: %s", error.text);
	assert_int_equal(npuimport_graph_json_write(again, &twice, &error), 0);
	assert_string_equal(text, twice);
	for (uint32_t i = 0; i < graph->op_count; i++)
		assert_memory_equal(&graph->ops[i].attrs, &again->ops[i].attrs,
				    sizeof(graph->ops[i].attrs));
	npuplan_graph_free(again);
	free(text);
	free(twice);
}

TEST(doubts)
{
	for (size_t i = 0; i < sizeof(doubts) / sizeof(*doubts); i++) {
		const struct doubt *d = &doubts[i];
		AUTO_TEXT char *text = edit(d->find, d->with);
		struct npuimport_warnings warnings;
		AUTO_GRAPH struct npuplan_graph *graph = NULL;

		refuse_strictly(text, d->text);
		graph = read_text(text, &warnings);
		assert_int_equal(warnings.count, 1);
		assert_int_equal(warnings.total, 1);
		assert_int_equal(warnings.unlisted, 0);
		assert_int_equal(warnings.list[0].kind, d->kind);
		assert_int_equal(warnings.list[0].count, 1);
		assert_string_equal(warnings.list[0].what, d->what);
		assert_string_equal(warnings.list[0].text, d->text);
		assert_string_equal(warnings.list[0].places[0], d->place);
		for (uint32_t op = 0; op < 4; op++)
			assert_int_equal(graph->ops[op].attrs.whole, !!(d->whole & WHOLE(op)));
		check_written(graph);
	}
}

/* A file without any is read without warnings, whoever reads it. */
TEST(none)
{
	struct npuimport_warnings warnings;
	AUTO_GRAPH struct npuplan_graph *graph = read_text(valid, &warnings);

	assert_int_equal(warnings.total, 0);
	assert_int_equal(warnings.count, 0);
	for (uint32_t op = 0; op < 4; op++)
		assert_false(graph->ops[op].attrs.whole);
}

/* Sizes that contradict each other, and what planning needs: refused by all. */
TEST(contradictions)
{
	static const char *const cases[][3] = {
		{ "\"bytes\":54", "\"bytes\":55",
		  "$.tensors[1].bytes: is 55, but shape times dtype_bytes is 54 for tensor 1 'w'" },
		{ "\"bytes\":54", "\"bytes\":54,\"dtype_bytes\":4",
		  "$.tensors[1].bytes: is 54, but shape times dtype_bytes is 216 for tensor 1 "
		  "'w'" },
		{ "[2,3,3,3]", "[2147483647,2147483647,2147483647,3]",
		  "$.tensors[1].bytes: is 54, but shape times dtype_bytes is 0 for tensor 1 'w'" },
		{ "[2,3,3,3]", "[2,\"k\",0,3]",
		  "$.tensors[1].shape[1]: must be an integer from 1 to 2147483647" },
		{ "\"bytes\":54,", "", "$.tensors[1].bytes: missing" },
		{ "\"kind\":\"parameter\"", "\"kind\":\"weight\"",
		  "$.tensors[1].kind: must be activation, input, output, parameter or state" },
		{ "\"bytes\":54", "\"bytes\":54,\"align\":3",
		  "$.tensors[1].align: must be a power of two" },
		{ "\"bytes\":54", "\"bytes\":54,\"alias_of\":0,\"alias_offset\":190",
		  "$.tensors[1].alias_of: bytes 190 to 243 are not inside tensor 0 'in' of 192 "
		  "bytes" },
		{ "[1,4,8,8],\"bytes\":256,\"kind\":\"activation\"",
		  "[1,5,8,8],\"bytes\":320,\"kind\":\"activation\"",
		  "operator 2 'join' (cat): its inputs have 4 elements along dimension 1 together, "
		  "but its output has 5" },
		{ "[1,4,8,8],\"bytes\":256,\"kind\":\"activation\"",
		  "[1,4,8,9],\"bytes\":288,\"kind\":\"activation\"",
		  "operator 2 'join' (cat): tensor 2 'c' has 8 elements along dimension 3, its "
		  "output 9" },
		{ "\"type\":\"relu\",\"inputs\":[4]", "\"type\":\"concat\",\"inputs\":[3]",
		  "operator 3 'act' (concat): its inputs have 128 bytes together, but its output "
		  "has 256" },
		{ "\"inputs\":[4]", "\"inputs\":[9]", "$.ops[3].inputs[0]: no tensor has id 9" },
		{ "\"inputs\":[4]", "\"inputs\":[5]",
		  "operator 3 'act' (relu) reads tensor 5 'out', which it writes itself" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct npuimport_warnings warnings = { 0 };
		struct npuimport_options options = { .warnings = &warnings };
		AUTO_TEXT char *text = edit(cases[i][0], cases[i][1]);
		struct npuplan_error error = { 0 };
		struct npuplan_graph *graph = NULL;

		assert_int_equal(npuimport_graph_json(text, strlen(text), &options, &graph, NULL,
						      &error),
				 -EINVAL);
		assert_null(graph);
		assert_string_equal(error.text, cases[i][2]);
	}
}

/* A join that is not understood may read parts of its inputs, but never has more than they. */
TEST(cat_in_parts)
{
	struct npuimport_warnings warnings;
	AUTO_GRAPH struct npuplan_graph *graph = NULL;
	AUTO_TEXT char *text = NULL;

	text = edit("\"inputs\":[2,3],\"outputs\":[4],\"attrs\":{\"dim\":1}",
		    "\"inputs\":[0,2,3],\"outputs\":[4],\"attrs\":{\"partial_inputs\":[0]}");
	graph = read_text(text, &warnings);
	assert_int_equal(warnings.total, 0);
	assert_true(graph->ops[2].attrs.whole);
	check_written(graph);
}

/* SAME: as TensorFlow computes it, the odd one at the end; ONNX has both. */
TEST(same)
{
	static const struct {
		const char *name;
		int32_t begin, end;
	} cases[] = { { "SAME", 0, 1 }, { "same_upper", 0, 1 }, { "SAME_LOWER", 1, 0 } };
	struct npuimport_warnings warnings;
	struct npuplan_graph *graph;
	char with[96];
	char *text;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		snprintf(with, sizeof(with), "\"padding\":\"%s\"", cases[i].name);
		text = edit("\"pad_begin\":[0,1],\"pad_end\":[1,1]", with);
		graph = read_text(text, &warnings);
		assert_int_equal(warnings.list[0].kind, NPUIMPORT_DOUBT_PADDING);
		assert_int_equal(graph->ops[1].attrs.pad_begin[0], cases[i].begin);
		assert_int_equal(graph->ops[1].attrs.pad_end[0], cases[i].end);
		assert_int_equal(graph->ops[1].attrs.pad_begin[1], 1);
		assert_int_equal(graph->ops[1].attrs.pad_end[1], 1);
		assert_false(graph->ops[1].attrs.whole);
		check_written(graph);
		npuplan_graph_free(graph);
		free(text);
	}
	/* VALID is no padding, which does not make this output. */
	text = edit("\"pad_begin\":[0,1],\"pad_end\":[1,1]", "\"padding\":\"VALID\"");
	graph = read_text(text, &warnings);
	assert_int_equal(warnings.count, 2);
	assert_int_equal(warnings.list[1].kind, NPUIMPORT_DOUBT_WINDOW);
	assert_string_equal(
		warnings.list[1].text,
		"$.ops[1].attrs: operator 1 'pool' (maxpool): window, stride and "
		"padding make 7 elements of 8 along spatial dimension 0, but its output "
		"has 8");
	assert_true(graph->ops[1].attrs.whole);
	assert_int_equal(graph->ops[1].attrs.spatial, 0);
	npuplan_graph_free(graph);
	free(text);
}

/* Whatever the graph is cut into, an operator that is not understood is one step. */
TEST(never_cut)
{
	const struct npuplan_tiling tilings[] = {
		{ .bands = 4 },
		{ .rows = 1 },
		{ .rows = 2, .layout = NPUPLAN_NCHW },
	};
	AUTO_TEXT char *text = edit("\"groups\":1", "\"output_size\":[8,8]");

	for (size_t i = 0; i < sizeof(tilings) / sizeof(*tilings); i++) {
		struct npuimport_warnings warnings;
		struct npuplan_error error = { 0 };
		struct npuplan_graph *graph = read_text(text, &warnings);

		if (npuplan_graph_tile(graph, &tilings[i], &error))
			fail_msg("%s", error.text);
		assert_int_equal(steps_of(graph, 0), 1);
		assert_true(steps_of(graph, 1) > 1);
		assert_true(steps_of(graph, 3) > 1);
		npuplan_graph_free(graph);

		/* And the same operator, understood, is cut. */
		graph = read_text(valid, &warnings);
		assert_int_equal(npuplan_graph_tile(graph, &tilings[i], &error), 0);
		assert_true(steps_of(graph, 0) > 1);
		npuplan_graph_free(graph);
	}
}

/* Nor to fit on chip: 192 bytes of input, 54 of weights, 128 of output. */
TEST(never_cut_to_fit)
{
	struct npuplan_tiling tiling = { .onchip = 512 };
	AUTO_TEXT char *text = edit("\"groups\":1", "\"output_size\":[8,8]");
	struct npuimport_warnings warnings;
	struct npuplan_error error = { 0 };
	struct npuplan_graph *graph = read_text(text, &warnings);

	assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), 0);
	assert_int_equal(steps_of(graph, 0), 1);
	npuplan_graph_free(graph);
	tiling.onchip = 300;
	graph = read_text(text, &warnings);
	assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), -ENOSPC);
	npuplan_graph_free(graph);
	graph = read_text(valid, &warnings);
	assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), 0);
	assert_true(steps_of(graph, 0) > 1);
	npuplan_graph_free(graph);
}

TEST(cutting_refused)
{
	struct npuplan_tile_choice choice = { .op = 0, .rows = 2 };
	struct npuplan_tiling tiling = { .ops = &choice, .op_count = 1 };
	AUTO_TEXT char *text = edit("\"groups\":1", "\"output_size\":[8,8]");
	struct npuimport_warnings warnings;
	struct npuplan_error error = { 0 };
	AUTO_GRAPH struct npuplan_graph *graph = read_text(text, &warnings);

	assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), -EINVAL);
	assert_string_equal(error.text, "operator conv: it is planned whole, since what a part of "
					"it needs is not known");
	/* All of it is no cut. */
	choice.rows = 0;
	assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), 0);
}

/* Planners that order tiles get the one step, too, and what they plan verifies. */
TEST(planned_whole)
{
	static const char *const planners[] = { "auto", "tile-scheduled", "taa", "shared-objects",
						"nnc",	"cosma" };
	AUTO_TEXT char *text = edit("\"groups\":1", "\"output_size\":[8,8]");

	for (size_t i = 0; i < sizeof(planners) / sizeof(*planners); i++) {
		const struct npuplan_options options = { .planner = planners[i] };
		const struct npuplan_tiling tiling = { .rows = 2 };
		struct npuimport_warnings warnings;
		struct npuplan_error error = { 0 };
		AUTO_GRAPH struct npuplan_graph *graph = read_text(text, &warnings);
		struct npuplan_plan *plan = NULL;
		uint32_t seen = 0;

		assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), 0);
		if (npuplan_plan(graph, &options, &plan, &error))
			fail_msg("%s: %s", planners[i], error.text);
		for (uint32_t k = 0; k < plan->position_count; k++)
			seen += plan->positions[k].kind == NPUMEM_POSITION_STEP &&
				graph->steps[plan->positions[k].index].op == 0;
		assert_int_equal(seen, 1);
		assert_int_equal(npuplan_verify_plan(graph, plan, NULL, &error), 0);
		npuplan_plan_free(plan);
	}
}

/* Many of one kind are one warning; many kinds are bounded, and counted all the same. */
TEST(bounded)
{
	struct npuimport_warnings warnings;
	AUTO_GRAPH struct npuplan_graph *graph = NULL;
	char *text = NULL, line[512];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fputs("{\"name\":\"many\",\"tensors\":["
	      "{\"id\":0,\"name\":\"i\",\"shape\":[4],\"bytes\":4,\"kind\":\"input\"}",
	      out);
	for (int i = 1; i <= 1000; i++)
		fprintf(out,
			",{\"id\":%d,\"name\":\"t\",\"shape\":[4],\"bytes\":4,\"dtype\":\"i8\","
			"\"field%d\":1,\"kind\":\"output\"}",
			i, i);
	fputs("],\"ops\":[", out);
	for (int i = 1; i <= 1000; i++)
		fprintf(out,
			"%s{\"id\":%d,\"name\":\"o\",\"type\":\"relu\",\"inputs\":[0],"
			"\"outputs\":[%d]}",
			i > 1 ? "," : "", i, i);
	fputs("]}", out);
	assert_int_equal(fclose(out), 0);
	graph = read_text(text, &warnings);
	assert_int_equal(warnings.total, 2000);
	assert_int_equal(warnings.count, NPUIMPORT_WARNINGS);
	assert_int_equal(warnings.unlisted, 1000 - (NPUIMPORT_WARNINGS - 1));
	assert_string_equal(warnings.list[0].what, "dtype");
	assert_int_equal(warnings.list[0].count, 1000);
	assert_string_equal(warnings.list[0].places[2], "$.tensors[3]");
	npuimport_warning_text(&warnings.list[0], line, sizeof(line));
	assert_string_equal(line, "field \"dtype\" is not known, 1000 times, passed over: "
				  "$.tensors[1]: \"dtype\"" IGNORED
				  "; also $.tensors[2], $.tensors[3] and 997 more");
	npuimport_warning_text(&warnings.list[1], line, sizeof(line));
	assert_string_equal(line, "field \"field1\" is not known, 1 time, passed over: "
				  "$.tensors[1]: \"field1\"" IGNORED);
	/* As much as fits. */
	npuimport_warning_text(&warnings.list[1], line, 8);
	assert_string_equal(line, "field \"");
	free(text);
}

/* Names of any length are told apart by what is kept of them. */
TEST(long_names)
{
	struct npuimport_warnings warnings;
	struct npuplan_graph *graph;
	char with[512], name[200];
	char *text;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(with, sizeof(with), "\"bytes\":54,\"%s1\":1,\"%s2\":2", name, name);
	text = edit("\"bytes\":54", with);
	graph = read_text(text, &warnings);
	assert_int_equal(warnings.count, 1);
	assert_int_equal(warnings.list[0].count, 2);
	assert_int_equal(strlen(warnings.list[0].what), sizeof(warnings.list[0].what) - 1);
	npuplan_graph_free(graph);
	free(text);
	for (int i = 0; i < NPUIMPORT_DOUBTS; i++)
		assert_string_not_equal(npuimport_doubt_name((enum npuimport_doubt)i), "unknown");
	assert_string_equal(npuimport_doubt_name(NPUIMPORT_DOUBTS), "unknown");
}
