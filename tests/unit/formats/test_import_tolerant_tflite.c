/* SPDX-License-Identifier: MIT */
/* What of a TFLite model is not understood: see test_import_tolerant.c. */
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

/* A strict reader's answer, and what another one is warned of. */
static int read_model(const struct tb_model *model, bool strict,
		      struct npuimport_warnings *warnings, struct npuplan_graph **graph,
		      struct npuplan_error *error)
{
	const struct npuimport_options options = { .strict = strict, .warnings = warnings };
	size_t size;
	void *exact = tb_exact(model, &size);
	int err;

	memset(warnings, 0, sizeof(*warnings));
	memset(error, 0, sizeof(*error));
	err = npuimport_tflite(exact, size, "x", &options, graph, NULL, error);
	free(exact);
	return err;
}

static void check_doubt(const struct tb_model *model, int err, enum npuimport_doubt kind,
			const char *what, const char *text, uint32_t op)
{
	struct npuimport_warnings warnings;
	struct npuplan_error error;
	struct npuplan_graph *graph, *again = NULL;
	char *json = NULL;

	assert_int_equal(read_model(model, true, &warnings, &graph, &error), err);
	assert_string_equal(error.text, text);
	assert_null(graph);
	if (read_model(model, false, &warnings, &graph, &error))
		fail_msg("refused: %s", error.text);
	assert_string_equal(error.text, "");
	assert_int_equal(warnings.total, 1);
	assert_int_equal(warnings.list[0].kind, kind);
	assert_string_equal(warnings.list[0].what, what);
	assert_string_equal(warnings.list[0].text, text);
	for (uint32_t i = 0; i < graph->op_count; i++)
		assert_int_equal(graph->ops[i].attrs.whole, i == op);
	/* What is written of it is strict. */
	assert_int_equal(npuimport_graph_json_write(graph, &json, &error), 0);
	if (npuimport_graph_json(json, strlen(json), NULL, &again, NULL, &error))
		fail_msg("%s", error.text);
	npuplan_graph_free(again);
	npuplan_graph_free(graph);
	free(json);
}

TEST(windows)
{
	struct tb_model model = tb_valid();

	model.tensors[3].shape[1] = 5;
	model.tensors[4].shape[1] = 5;
	check_doubt(&model, -EINVAL, NPUIMPORT_DOUBT_WINDOW, "conv2d",
		    "operator 0 'c' (conv2d): SAME padding makes 4 elements of 8 along spatial "
		    "dimension 0, but its output has 5",
		    0);
	model = tb_valid();
	model.ops[0].options[1] = 0;
	check_doubt(&model, -EINVAL, NPUIMPORT_DOUBT_WINDOW, "conv2d",
		    "operator 0 'c' (conv2d): stride of 0, must be 1 to 536870911", 0);
	model = tb_valid();
	model.ops[0].options[0] = 2;
	check_doubt(&model, -EINVAL, NPUIMPORT_DOUBT_WINDOW, "conv2d",
		    "operator 0 'c' (conv2d): padding 2 is neither SAME nor VALID", 0);
	model = tb_valid();
	model.ops[0].options_type = OPTIONS_POOL_2D;
	check_doubt(&model, -EINVAL, NPUIMPORT_DOUBT_WINDOW, "conv2d",
		    "operator 0 'c' (conv2d): its options have type 5, expected 1", 0);
	model = tb_valid();
	model.ops[0].no_options_table = 1;
	check_doubt(&model, -EINVAL, NPUIMPORT_DOUBT_WINDOW, "conv2d",
		    "operator 0 'c' (conv2d): its options have type 0, expected 1", 0);
}

/* A join of the two halves of something, as operator 1. */
static struct tb_model joining(void)
{
	struct tb_model model = tb_valid();
	struct tb_op *op = &model.ops[1];

	model.codes[1] = (struct tb_code){ .builtin = BUILTIN_CONCATENATION };
	op->input_count = 2;
	op->inputs[0] = op->inputs[1] = 3;
	op->options_type = OPTIONS_CONCATENATION;
	op->option_count = 1;
	op->options[0] = 3;
	model.tensors[4].shape[3] = 4;
	return model;
}

TEST(join)
{
	struct tb_model model = joining();
	struct npuimport_warnings warnings;
	struct npuplan_graph *graph;
	struct npuplan_error error;

	assert_int_equal(read_model(&model, true, &warnings, &graph, &error), 0);
	npuplan_graph_free(graph);
	model.ops[1].options[0] = 4;
	check_doubt(&model, -EINVAL, NPUIMPORT_DOUBT_ATTRIBUTE, "axis",
		    "operator 1 'out' (cat): axis 4 of 4 dimensions", 1);
	/* Nobody believes a join of more than there is. */
	model = joining();
	model.tensors[4].shape[3] = 5;
	for (int strict = 0; strict < 2; strict++) {
		assert_int_equal(read_model(&model, strict, &warnings, &graph, &error), -EINVAL);
		assert_string_equal(error.text,
				    "operator 1 'out' (cat): its inputs have 4 elements along "
				    "dimension 3 together, but its output has 5");
		assert_null(graph);
	}
}

/* A builtin newer than is known here is one step, which even a strict reader takes. */
TEST(unknown_builtin)
{
	for (int strict = 0; strict < 2; strict++) {
		struct tb_model model = tb_valid();
		struct npuimport_warnings warnings;
		AUTO_GRAPH struct npuplan_graph *graph = NULL;
		struct npuplan_error error;
		uint32_t steps = 0;

		model.codes[1] = (struct tb_code){ .deprecated = 127, .builtin = 1000 };
		assert_int_equal(read_model(&model, strict, &warnings, &graph, &error), 0);
		assert_int_equal(warnings.total, 1);
		assert_int_equal(warnings.list[0].kind, NPUIMPORT_DOUBT_OPERATOR);
		assert_string_equal(warnings.list[0].what, "builtin_1000");
		assert_string_equal(warnings.list[0].text,
				    "operator 1 'out' (builtin_1000) is not known here");
		assert_true(graph->ops[1].attrs.whole);
		assert_int_equal(npuplan_graph_tile_bands(graph, 4, false, &error), 0);
		for (uint32_t i = 0; i < graph->step_count; i++)
			steps += graph->steps[i].op == 1;
		assert_int_equal(steps, 1);
	}
}

/* A constant of a new element type is as long as its data; others are not known. */
TEST(unknown_type)
{
	struct tb_model model = tb_valid();
	struct npuimport_warnings warnings;
	struct npuplan_graph *graph;
	struct npuplan_error error;

	model.tensors[1].type = 99;
	model.buffers[1].size = 31;
	check_doubt(&model, -EOPNOTSUPP, NPUIMPORT_DOUBT_SHAPE, "element type",
		    "tensor 1 'w' has element type 99, not known here", NPUMEM_NONE);
	model = tb_valid();
	model.tensors[3].type = 99;
	assert_int_equal(read_model(&model, false, &warnings, &graph, &error), -EOPNOTSUPP);
	assert_string_equal(error.text, "tensor 3 'c' has element type 99, not known here");
	model = tb_valid();
	model.tensors[1].type = TYPE_RESOURCE;
	assert_int_equal(read_model(&model, false, &warnings, &graph, &error), -EOPNOTSUPP);
	assert_string_equal(
		error.text,
		"tensor 1 'w' is a resource: what it stands for is not in the model's plan");
}

/* What hides memory, or contradicts itself, all refuse in a line. */
TEST(refused)
{
	struct tb_model model = tb_valid();
	struct npuimport_warnings warnings;
	struct npuplan_graph *graph;
	struct npuplan_error error;

	model.codes[1] = (struct tb_code){ .builtin = BUILTIN_WHILE };
	assert_int_equal(read_model(&model, false, &warnings, &graph, &error), -EINVAL);
	assert_string_equal(error.text, "operator 1 (while): its options have type 0, expected 93");
	model = tb_valid();
	model.buffers[1].size = 53;
	assert_int_equal(read_model(&model, false, &warnings, &graph, &error), -EINVAL);
	assert_string_equal(error.text,
			    "tensor 1 'w': its buffer has 53 bytes, but shape and type make 54");
}
