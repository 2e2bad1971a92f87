/* SPDX-License-Identifier: MIT */
/*
 * Splits and slices of TFLite models that are joined, and copied in part: what the process engine
 * computes then is what it computes of copies.
 */
#include <string.h>

#include "auto.h"
#include "engine_run.h"
#include "npuimport.h"
#include "tflite/compose.h"
#include "tflite/schema.h"
#include "unit.h"

#define SEED 20261128

/* Tensors of the model below. */
enum {
	IN,   /* 1 x 6 x 5 x 6 */
	X,    /* relu of it */
	AXIS, /* 3 */
	A,    /* the first channels of X */
	B,    /* the others */
	POOL, /* of A */
	BEGIN,
	END,
	STRIDES,
	ROW,	/* the second row of X */
	SCALED, /* ROW times X */
	ALL,	/* B, POOL, SCALED */
	OUT,
	TENSORS,
};

static const int32_t image[] = { 1, 6, 5, 6 }, half[] = { 1, 6, 5, 3 }, row[] = { 1, 1, 5, 6 },
		     wide[] = { 1, 6, 5, 12 }, scalar[] = { 1 }, four[] = { 4 };
static const int32_t axis[] = { 3 }, begin[] = { 0, 1, 0, 0 }, end[] = { 1, 2, 5, 6 },
		     strides[] = { 1, 1, 1, 1 };
static const float scale = 0.125f;
static const int32_t zero = -4;

struct file {
	void *data;
	size_t size;
};

static struct tflite_numbers numbers(const int32_t *list, uint32_t count)
{
	return (struct tflite_numbers){ list, count };
}

#define TENSOR(SHAPE) { NULL, TYPE_INT8, false, SHAPE, 4, &scale, 1, &zero, 1, NULL, 0 }
#define NUMBERS(SHAPE, DATA) \
	{ NULL, TYPE_INT32, false, SHAPE, 1, NULL, 0, NULL, 0, DATA, sizeof(DATA) }

static struct file make_model(void)
{
	static const int32_t in[] = { IN }, x[] = { X }, a[] = { A }, pool[] = { POOL },
			     all[] = { ALL }, out[] = { OUT }, rows[] = { ROW },
			     scaled[] = { SCALED }, parts[] = { A, B }, split[] = { AXIS, X },
			     slice[] = { X, BEGIN, END, STRIDES }, factors[] = { ROW, X },
			     joined[] = { B, POOL, SCALED };
	const struct tflite_new_tensor tensors[TENSORS] = {
		[IN] = TENSOR(image),
		[X] = TENSOR(image),
		[A] = TENSOR(half),
		[B] = TENSOR(half),
		[POOL] = TENSOR(half),
		[ROW] = TENSOR(row),
		[SCALED] = TENSOR(image),
		[ALL] = TENSOR(wide),
		[OUT] = TENSOR(wide),
		[AXIS] = NUMBERS(scalar, axis),
		[BEGIN] = NUMBERS(four, begin),
		[END] = NUMBERS(four, end),
		[STRIDES] = NUMBERS(four, strides),
	};
	const struct tflite_new_operator ops[] = {
		{ BUILTIN_RELU, numbers(in, 1), numbers(x, 1), { 0 }, 0, { { 0 } }, 0 },
		{ BUILTIN_SPLIT, numbers(split, 2), numbers(parts, 2), { 0 }, 0, { { 0 } }, 0 },
		{ BUILTIN_MAX_POOL_2D,
		  numbers(a, 1),
		  numbers(pool, 1),
		  { 0 },
		  OPTIONS_POOL_2D,
		  { { POOL_2D_PADDING, 1, PADDING_SAME },
		    { POOL_2D_STRIDE_W, 4, 1 },
		    { POOL_2D_STRIDE_H, 4, 1 },
		    { POOL_2D_FILTER_WIDTH, 4, 3 },
		    { POOL_2D_FILTER_HEIGHT, 4, 3 } },
		  5 },
		{ BUILTIN_STRIDED_SLICE,
		  numbers(slice, 4),
		  numbers(rows, 1),
		  { 0 },
		  OPTIONS_STRIDED_SLICE,
		  { { 0 } },
		  0 },
		{ BUILTIN_MUL,
		  numbers(factors, 2),
		  numbers(scaled, 1),
		  { 0 },
		  OPTIONS_MUL,
		  { { 0 } },
		  0 },
		{ BUILTIN_CONCATENATION,
		  numbers(joined, 3),
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
	struct file file;

	if (tflite_compose(&model, &file.data, &file.size, &error))
		fail_msg("%s", error.text);
	return file;
}

static struct npuplan_graph *read_model(const struct file *file)
{
	struct npuplan_graph *graph = NULL;
	struct npuplan_error error;

	if (npuimport_tflite(file->data, file->size, "m", NULL, &graph, NULL, &error))
		fail_msg("%s", error.text);
	return graph;
}

/* The output that a way to cut gives, by the planner, or, without one, each tensor apart. */
static void compute(const struct file *file, const struct npuplan_tiling *tiling,
		    const char *planner, uint8_t out[6 * 5 * 12], uint32_t *steps)
{
	AUTO_GRAPH struct npuplan_graph *graph = read_model(file);
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	const struct npuplan_options options = { .planner = planner };
	struct npuplan_error error = { 0 };
	struct engine_net net;
	uint64_t seed = SEED;

	if (npuplan_graph_tile(graph, tiling, &error) ||
	    (planner && npuplan_plan(graph, &options, &plan, &error)))
		fail_msg("%s", error.text);
	if (!engine_net_init(&net, file->data, file->size, graph))
		fail_msg("%s", net.text);
	engine_draw_inputs(&net, &seed);
	if (plan ? !engine_run_plan(&net, plan) : !engine_run_tensors(&net))
		fail_msg("%s", net.text);
	memcpy(out, net.values[OUT], 6 * 5 * 12);
	*steps = graph->step_count;
	engine_net_fini(&net);
}

TEST(computed)
{
	static const char *const planners[] = { NULL, "auto", "nnc", "taa", "tile-scheduled" };
	struct file file = make_model();
	uint8_t expected[6 * 5 * 12], out[6 * 5 * 12];
	struct npuplan_tiling tiling = { .bands = 1, .with_parameters = true };
	uint32_t steps;

	compute(&file, &tiling, NULL, expected, &steps);
	assert_int_equal(steps, 7);
	for (uint32_t concat = NPUPLAN_CONCAT_JOIN; concat <= NPUPLAN_CONCAT_FIT; concat++)
		for (uint32_t bands = 1; bands <= 6; bands += 5)
			for (size_t p = 0; p < sizeof(planners) / sizeof(planners[0]); p++) {
				tiling.concat = concat;
				tiling.bands = bands;
				compute(&file, &tiling, planners[p], out, &steps);
				assert_memory_equal(out, expected, sizeof(out));
				/*
				 * The concat and the slice are gone; B, which is part of the
				 * concat, is copied.
				 */
				if (concat == NPUPLAN_CONCAT_JOIN)
					assert_int_equal(steps, 5 * bands);
			}
	free(file.data);
}

/* The same of another scale is no part. */
TEST(not_joined)
{
	const struct npuplan_tiling tiling = { .bands = 1, .concat = NPUPLAN_CONCAT_JOIN };
	struct file file = make_model();
	AUTO_GRAPH struct npuplan_graph *graph = read_model(&file);

	assert_false(graph->ops[1].attrs.converts);
	assert_int_equal(graph->ops[1].attrs.axis, 3);
	graph->ops[1].attrs.converts = true;
	assert_int_equal(npuplan_graph_tile(graph, &tiling, NULL), 0);
	for (uint32_t i = 0; i < graph->concat_input_count; i++)
		if (graph->concat_inputs[i].op == 1)
			assert_int_equal(graph->concat_inputs[i].join, NPUPLAN_JOIN_CONVERTS);
	free(file.data);
}
