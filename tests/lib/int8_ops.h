/* SPDX-License-Identifier: MIT */
/*
 * Operators of a graph in real int8 arithmetic, one element of the output at a
 * time, to see what a tiling lets them read. Written from docs/formats.md: where
 * elements lie, and what operators mean, is told here once more on purpose,
 * without a line of libnpuplan's.
 *
 * Tensors have elements of one byte. Weights are in the order of the source:
 * out, in / groups, kernel (in, out / groups, kernel of a transposed convolution)
 * of N,C,H,W; out, kernel, in / groups (1, kernel, out if it is depthwise) of
 * N,H,W,C (kernel, in, out, or kernel, out, in, in three dimensions); of linear in,
 * out of N,C,H,W, out, in of N,H,W,C.
 */
#pragma once

#include "npuplan.h"

/** enum int8_resize - where row o of n looks among m rows of the input */
enum int8_resize {
	INT8_NEAREST,		  /* floor(o m / n) */
	INT8_NEAREST_HALF_PIXEL,  /* floor((o + 1/2) m / n) */
	INT8_NEAREST_ALIGNED,	  /* round(o (m - 1) / (n - 1)) */
	INT8_BILINEAR,		  /* around o m / n */
	INT8_BILINEAR_HALF_PIXEL, /* around (o + 1/2) m / n - 1/2 */
	INT8_BILINEAR_ALIGNED,	  /* around o (m - 1) / (n - 1) */
	INT8_RESIZES,
};

/*
 * struct int8_op - an operator, and where its inputs' bytes come from
 * @resize: what the graph does not say
 * @load: byte of the operator's k-th input
 * @output: number of the output that is asked for
 */
struct int8_op {
	const struct npuplan_graph *graph;
	const struct npuplan_op *op;
	enum int8_resize resize;
	int8_t (*load)(void *context, uint32_t input, uint64_t byte);
	void *context;
	uint32_t output;
};

/** int8_byte() - where in its tensor an element lies; @at: in the source's order */
uint64_t int8_byte(const struct npuplan_graph *graph, uint32_t tensor, const int64_t *at);

/** int8_next() - the next element in the source's order; false after the last */
bool int8_next(const struct npuplan_tensor *tensor, int64_t *at);

/** int8_element() - one element of an output of the operator, from its inputs */
int8_t int8_element(const struct int8_op *k, const int64_t *at);

/* int8_products() - a part of the sum that an element of a convolution's or a linear's output is of
 * @first, @count: channels of the first input, whose products with weights are added up
 */
int64_t int8_products(const struct int8_op *k, const int64_t *at, int64_t first, int64_t count);

/** int8_of_sum() - the element that int8_element() says, if all products add up to @sum */
int8_t int8_of_sum(const struct int8_op *k, const int64_t *at, int64_t sum);

/** int8_knows() - whether there is an operator of that type here */
bool int8_knows(const char *type);

/* int8_elementwise() - name of the i-th element-wise type, NULL past the last
 * @inputs: out: how many it takes
 */
const char *int8_elementwise(uint32_t i, uint32_t *inputs);

/* int8_add_op() - add an operator of one output, with attributes that ask for nothing
 *
 * It has @type's name. NULL: it cannot be added.
 */
struct npuplan_op *int8_add_op(struct npuplan_graph *graph, const char *type,
			       const uint32_t *inputs, uint32_t count, uint32_t output);

/* int8_add_op_of() - the same, with several outputs */
struct npuplan_op *int8_add_op_of(struct npuplan_graph *graph, const char *type,
				  const uint32_t *inputs, uint32_t count, const uint32_t *outputs,
				  uint32_t output_count);

/** int8_by_channel() - whether operands of one dimension have one element a channel */
bool int8_by_channel(const char *type);
