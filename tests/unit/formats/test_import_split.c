/* SPDX-License-Identifier: MIT */
/*
 * Splits and slices of TFLite models that are joined, and copied in part: what the process engine
 * computes then is what it computes of copies.
 */
#include <string.h>

#include "composed.h"
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

#define TENSOR(SHAPE) { NULL, TYPE_INT8, false, SHAPE, 4, &scale, 1, &zero, 1, NULL, 0 }
#define NUMBERS(SHAPE, DATA) \
	{ NULL, TYPE_INT32, false, SHAPE, 1, NULL, 0, NULL, 0, DATA, sizeof(DATA) }

static struct composed make_model(void)
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

	return composed_file(&model);
}

/* The concat and the slice are gone; B, which is part of the concat, is copied. */
TEST(computed)
{
	struct composed file = make_model();

	composed_joins(&file, SEED, OUT, 6 * 5 * 12, 7, 5);
	free(file.data);
}

/* The same of another scale is no part. */
TEST(not_joined)
{
	const struct npuplan_tiling tiling = { .bands = 1, .concat = NPUPLAN_CONCAT_JOIN };
	struct composed file = make_model();
	AUTO_GRAPH struct npuplan_graph *graph = composed_read(&file);

	assert_false(graph->ops[1].attrs.converts);
	assert_int_equal(graph->ops[1].attrs.axis, 3);
	graph->ops[1].attrs.converts = true;
	assert_int_equal(npuplan_graph_tile(graph, &tiling, NULL), 0);
	for (uint32_t i = 0; i < graph->concat_input_count; i++)
		if (graph->concat_inputs[i].op == 1)
			assert_int_equal(graph->concat_inputs[i].join, NPUPLAN_JOIN_CONVERTS);
	free(file.data);
}
