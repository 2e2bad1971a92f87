// SPDX-License-Identifier: MIT
/*
 * Concats of models: those whose output has other bytes than their inputs are said to, and those
 * that are joined are computed by the engine's commands to the same bytes as those that copy:
 * whole, in bands, and through plans.
 */
#include <errno.h>
#include <string.h>

#include "composed.h"
#include "tflite/schema.h"
#include "unit.h"

#define SEED 20261126

/* -------------------------------------------------------------------------- a model */

/* Tensors of the model below. */
enum {
	IN, /* 1 x 6 x 5 x 3 */
	RELU,
	POOL,
	BOTH, /* RELU, POOL */
	SUM,  /* of POOL and RELU */
	ALL,  /* BOTH, SUM, IN, POOL again */
	OUT,
	TENSORS,
};

static const int32_t narrow[] = { 1, 6, 5, 3 }, wide[] = { 1, 6, 5, 6 }, widest[] = { 1, 6, 5, 15 };
static const float scale[] = { 0.125f, 0.25f };
static const int32_t zero[] = { -4, 5 };

#define TENSOR(SHAPE) { NULL, TYPE_INT8, false, SHAPE, 4, scale, 1, zero, 1, NULL, 0 }

/* @activation: of the first concat; @other: which scale and zero point POOL has */
static struct composed make_model(uint32_t activation, uint32_t other)
{
	static const int32_t in[] = { IN }, relu[] = { RELU }, pool[] = { POOL }, both[] = { BOTH },
			     all[] = { ALL }, out[] = { OUT }, sum[] = { SUM },
			     first[] = { RELU, POOL }, second[] = { BOTH, SUM, IN, POOL },
			     addends[] = { POOL, RELU };
	struct tflite_new_tensor tensors[TENSORS] = {
		[IN] = TENSOR(narrow),	[RELU] = TENSOR(narrow), [POOL] = TENSOR(narrow),
		[BOTH] = TENSOR(wide),	[SUM] = TENSOR(narrow),	 [ALL] = TENSOR(widest),
		[OUT] = TENSOR(widest),
	};
	const struct tflite_new_operator ops[] = {
		{ BUILTIN_RELU, numbers(in, 1), numbers(relu, 1), { 0 }, 0, { { 0 } }, 0 },
		{ BUILTIN_MAX_POOL_2D,
		  numbers(in, 1),
		  numbers(pool, 1),
		  { 0 },
		  OPTIONS_POOL_2D,
		  { { POOL_2D_PADDING, 1, PADDING_SAME },
		    { POOL_2D_STRIDE_W, 4, 1 },
		    { POOL_2D_STRIDE_H, 4, 1 },
		    { POOL_2D_FILTER_WIDTH, 4, 3 },
		    { POOL_2D_FILTER_HEIGHT, 4, 3 } },
		  5 },
		{ BUILTIN_CONCATENATION,
		  numbers(first, 2),
		  numbers(both, 1),
		  { 0 },
		  OPTIONS_CONCATENATION,
		  { { CONCATENATION_AXIS, 4, 3 }, { CONCATENATION_ACTIVATION, 1, activation } },
		  2 },
		{ BUILTIN_ADD,
		  numbers(addends, 2),
		  numbers(sum, 1),
		  { 0 },
		  OPTIONS_ADD,
		  { { 0 } },
		  0 },
		{ BUILTIN_CONCATENATION,
		  numbers(second, 4),
		  numbers(all, 1),
		  { 0 },
		  OPTIONS_CONCATENATION,
		  { { CONCATENATION_AXIS, 4, 3 } },
		  1 },
		{ BUILTIN_RELU, numbers(all, 1), numbers(out, 1), { 0 }, 0, { { 0 } }, 0 },
	};
	const struct tflite_new_model model = {
		tensors, TENSORS, ops, sizeof(ops) / sizeof(ops[0]), numbers(in, 1), numbers(out, 1)
	};
	struct npuplan_error error = { 0 };
	struct composed file;

	tensors[POOL].scales = &scale[other & 1];
	tensors[POOL].zero_points = &zero[other >> 1];
	if (tflite_compose(&model, &file.data, &file.size, &error))
		fail_msg("%s", error.text);
	return file;
}

/* ---------------------------------------------------------------- what has other bytes */

TEST(scales)
{
	static const struct {
		uint32_t activation;
		uint32_t other;
		bool converts;
	} cases[] = {
		{ 0, 0, false },
		{ 1, 0, true }, /* RELU */
		{ 0, 1, true }, /* another scale */
		{ 0, 2, true }, /* another zero point */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct composed file = make_model(cases[i].activation, cases[i].other);
		AUTO_GRAPH struct npuplan_graph *graph = composed_read(&file);

		assert_string_equal(graph->ops[2].type, "cat");
		assert_int_equal(graph->ops[2].attrs.converts, cases[i].converts);
		free(file.data);
	}
}

/* Of graph JSON: it is said, or an activation is fused; and so it is written again. */
TEST(graph_json)
{
	static const struct {
		const char *attrs;
		bool converts;
	} cases[] = {
		{ "\"dim\":1", false },
		{ "\"dim\":1,\"converts\":false", false },
		{ "\"dim\":1,\"converts\":true", true },
		{ "\"dim\":1,\"fused_act\":\"relu\"", true },
		{ "\"dim\":1,\"fused_act\":\"none\"", false },
		{ "\"dim\":1,\"fused_act\":null", false },
		{ "\"dim\":1,\"fused_act\":\"\"", false },
		/* What is not understood may be anything. */
		{ "\"dim\":1,\"converts\":1", true },
		{ "\"dim\":1,\"fused_act\":6", true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct npuimport_options tolerant = { 0 };
		AUTO_GRAPH struct npuplan_graph *graph = NULL;
		AUTO_GRAPH struct npuplan_graph *again = NULL;
		AUTO_TEXT char *text = NULL;
		AUTO_TEXT char *written = NULL;
		struct npuplan_error error = { 0 };

		assert_true(asprintf(&text,
				     "{\"name\":\"g\",\"dtype_bytes\":1,\"tensors\":["
				     "{\"id\":0,\"name\":\"a\",\"shape\":[1,1,2,2],\"bytes\":4,"
				     "\"kind\":\"input\"},"
				     "{\"id\":1,\"name\":\"b\",\"shape\":[1,2,2,2],\"bytes\":8,"
				     "\"kind\":\"output\"}],"
				     "\"ops\":[{\"id\":0,\"name\":\"c\",\"type\":\"cat\","
				     "\"inputs\":[0,0],\"outputs\":[1],\"attrs\":{%s}}]}",
				     cases[i].attrs) > 0);
		if (npuimport_graph_json(text, strlen(text), &tolerant, &graph, NULL, &error) ||
		    npuimport_graph_json_write(graph, &written, &error) ||
		    npuimport_graph_json(written, strlen(written), &tolerant, &again, NULL, &error))
			fail_msg("%s: %s", cases[i].attrs, error.text);
		assert_int_equal(graph->ops[0].attrs.converts, cases[i].converts);
		assert_int_equal(again->ops[0].attrs.converts, cases[i].converts);
	}
}

/* ------------------------------------------------------------------------ computed */

/*
 * The first concat is gone; of the second one the model's input, and the pool, which is part of the
 * first, are copied.
 */
TEST(computed)
{
	struct composed file = make_model(0, 0);

	composed_joins(&file, SEED, OUT, 6 * 5 * 15, 6, 4 + 2);
	free(file.data);
}

/* One that would have to rescale is copied, by whoever can. */
TEST(not_joined)
{
	const struct npuplan_tiling tiling = { .bands = 1, .concat = NPUPLAN_CONCAT_JOIN };
	struct composed file = make_model(0, 1);
	AUTO_GRAPH struct npuplan_graph *graph = composed_read(&file);

	assert_int_equal(npuplan_graph_tile(graph, &tiling, NULL), 0);
	for (uint32_t i = 0; i < graph->concat_input_count; i++)
		if (graph->concat_inputs[i].op == 2)
			assert_int_equal(graph->concat_inputs[i].join, NPUPLAN_JOIN_CONVERTS);
	assert_int_equal(graph->joined_count, 0);
	free(file.data);
}
