/* SPDX-License-Identifier: MIT */
/* The same elements in another shape or order, or again and again. */
#include "infer.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Elements that a shape must have as many of as the input. */
static void check_elements(struct onnx_reader *r, const struct onnx_node *n,
			   const struct onnx_shape *shape)
{
	const struct onnx_shape *in = &n->inputs[0]->shape;

	for (uint32_t d = 0; d < shape->rank; d++)
		if (shape->dims[d] < 0 || shape->dims[d] > NPUIMPORT_MAX_DIM) {
			onnx_fail(r, -EINVAL,
				  "%s: dimension %" PRIu32 " would have %" PRId64 " elements",
				  onnx_node_text(n).s, d, shape->dims[d]);
			return;
		}
	if (onnx_elements(shape, 0, shape->rank) != onnx_elements(in, 0, in->rank))
		onnx_fail(r, -EINVAL, "%s: %s cannot become %s", onnx_node_text(n).s,
			  onnx_shape_text(in).s, onnx_shape_text(shape).s);
}

/* 0 keeps the input's dimension; -1, which may stand once, has what is left over. */
void infer_reshape(struct onnx_reader *r, struct onnx_node *n)
{
	const struct onnx_shape *in = &n->inputs[0]->shape;
	bool zeroes = onnx_attr_int(r, n, "allowzero", 0);
	int64_t list[NPUPLAN_MAX_DIMS];
	struct onnx_shape out = { .known = true };
	uint64_t others = 1, all = onnx_elements(in, 0, in->rank);
	int32_t open = -1;

	infer_like(n);
	if (!infer_list(r, n, 1, NULL, 0, list, NPUPLAN_MAX_DIMS, &out.rank))
		return;
	for (uint32_t d = 0; d < out.rank; d++) {
		out.dims[d] = list[d];
		if (!list[d] && !zeroes && d < in->rank)
			out.dims[d] = in->dims[d];
		if (list[d] != -1)
			continue;
		if (open >= 0)
			onnx_fail(r, -EINVAL, "%s: its shape has -1 twice", onnx_node_text(n).s);
		open = (int32_t)d;
		out.dims[d] = 1;
	}
	for (uint32_t d = 0; d < out.rank && open >= 0; d++)
		if (out.dims[d] < 0 || out.dims[d] > NPUIMPORT_MAX_DIM)
			open = -1;
	if (open >= 0) {
		others = onnx_elements(&out, 0, out.rank);
		/* What does not divide is told by the numbers of elements. */
		out.dims[open] = others ? (int64_t)(all / others) : 0;
	}
	check_elements(r, n, &out);
	if (!r->err)
		infer_set(n, 0, n->inputs[0]->type, &out);
}

void infer_flatten(struct onnx_reader *r, struct onnx_node *n)
{
	const struct onnx_shape *in = &n->inputs[0]->shape;
	int64_t axis = onnx_attr_int(r, n, "axis", 1);
	struct onnx_shape out = { .known = true, .rank = 2 };

	/* It may stand behind the last dimension. */
	if (axis != (int64_t)in->rank)
		axis = infer_axis(r, n, axis, in->rank);
	if (axis < 0)
		return;
	out.dims[0] = (int64_t)onnx_elements(in, 0, (uint32_t)axis);
	out.dims[1] = (int64_t)onnx_elements(in, (uint32_t)axis, in->rank);
	check_elements(r, n, &out);
	infer_set(n, 0, n->inputs[0]->type, &out);
}

void infer_squeeze(struct onnx_reader *r, struct onnx_node *n)
{
	const struct onnx_shape *in = &n->inputs[0]->shape;
	struct onnx_shape out = { .known = true };
	uint32_t axes;
	bool given;

	infer_like(n);
	if (!infer_axes(r, n, 1, 13, in->rank, &axes, &given))
		return;
	for (uint32_t d = 0; d < in->rank; d++) {
		bool goes = given ? axes >> d & 1 : in->dims[d] == 1;

		if (goes && in->dims[d] != 1)
			onnx_fail(r, -EINVAL,
				  "%s: dimension %" PRIu32 " of shape %s has more than one element",
				  onnx_node_text(n).s, d, onnx_shape_text(in).s);
		if (!goes)
			out.dims[out.rank++] = in->dims[d];
	}
	infer_set(n, 0, n->inputs[0]->type, &out);
}

/* Axes are those of the output. */
void infer_unsqueeze(struct onnx_reader *r, struct onnx_node *n)
{
	const struct onnx_shape *in = &n->inputs[0]->shape;
	int64_t list[NPUPLAN_MAX_DIMS];
	struct onnx_shape out = { .known = true };
	uint32_t axes, count, d = 0;
	bool given;

	infer_like(n);
	if (!infer_list(r, n, 1, "axes", 13, list, NPUPLAN_MAX_DIMS, &count))
		return;
	if (in->rank + count > NPUPLAN_MAX_DIMS) {
		onnx_fail(r, -EOPNOTSUPP, "%s: its output has %" PRIu32 " dimensions, more than %d",
			  onnx_node_text(n).s, in->rank + count, NPUPLAN_MAX_DIMS);
		return;
	}
	out.rank = in->rank + count;
	if (!infer_axes(r, n, 1, 13, out.rank, &axes, &given))
		return;
	for (uint32_t i = 0; i < out.rank; i++)
		out.dims[i] = axes >> i & 1 ? 1 : in->dims[d++];
	infer_set(n, 0, n->inputs[0]->type, &out);
}

void infer_transpose(struct onnx_reader *r, struct onnx_node *n)
{
	const struct onnx_shape *in = &n->inputs[0]->shape;
	struct onnx_shape out = *in;
	size_t count;
	const int64_t *perm = onnx_attr_ints(r, n, "perm", &count);
	uint32_t seen = 0;

	for (uint32_t d = 0; d < in->rank; d++) {
		int64_t from = !perm ? in->rank - 1 - d : count == in->rank ? perm[d] : -1;

		if (from < 0 || from >= (int64_t)in->rank || (seen >> from & 1)) {
			onnx_fail(r, -EINVAL, "%s: perm is no order of %" PRIu32 " dimensions",
				  onnx_node_text(n).s, in->rank);
			return;
		}
		seen |= 1u << from;
		out.dims[d] = in->dims[from];
	}
	infer_set(n, 0, n->inputs[0]->type, &out);
}

static int64_t block_size(struct onnx_reader *r, const struct onnx_node *n)
{
	int64_t size = onnx_attr_int(r, n, "blocksize", 0);

	if (size < 1 || size > UINT16_MAX)
		onnx_fail(r, -EINVAL, "%s: a blocksize of %" PRId64, onnx_node_text(n).s, size);
	else if (infer_rank(r, n, 0, 4, 4))
		return size;
	return 0;
}

/* How many blocks of elements a dimension is; fails if a part is left over. */
static int64_t blocks(struct onnx_reader *r, const struct onnx_node *n, int64_t elements,
		      int64_t size)
{
	if (elements % size)
		onnx_fail(r, -EINVAL, "%s: %" PRId64 " elements are no blocks of %" PRId64,
			  onnx_node_text(n).s, elements, size);
	return elements / size;
}

void infer_depth_to_space(struct onnx_reader *r, struct onnx_node *n)
{
	struct onnx_shape shape = n->inputs[0]->shape;
	int64_t size = block_size(r, n);

	if (!size)
		return;
	shape.dims[1] = blocks(r, n, shape.dims[1], size * size);
	shape.dims[2] *= size;
	shape.dims[3] *= size;
	infer_set(n, 0, n->inputs[0]->type, &shape);
}

void infer_space_to_depth(struct onnx_reader *r, struct onnx_node *n)
{
	struct onnx_shape shape = n->inputs[0]->shape;
	int64_t size = block_size(r, n);

	if (!size)
		return;
	shape.dims[1] *= size * size;
	shape.dims[2] = blocks(r, n, shape.dims[2], size);
	shape.dims[3] = blocks(r, n, shape.dims[3], size);
	infer_set(n, 0, n->inputs[0]->type, &shape);
}

/* Numbers of an input as a shape; false if they are not known, or after failing. */
static bool read_shape(struct onnx_reader *r, const struct onnx_node *n, uint32_t k,
		       struct onnx_shape *shape)
{
	*shape = (struct onnx_shape){ .known = true };
	if (!infer_list(r, n, k, NULL, 0, shape->dims, NPUPLAN_MAX_DIMS, &shape->rank))
		return false;
	for (uint32_t d = 0; d < shape->rank; d++)
		if (shape->dims[d] < 0)
			onnx_fail(r, -EINVAL,
				  "%s: dimension %" PRIu32 " would have %" PRId64 " elements",
				  onnx_node_text(n).s, d, shape->dims[d]);
	return !r->err;
}

void infer_expand(struct onnx_reader *r, struct onnx_node *n)
{
	struct onnx_shape shape;

	infer_like(n);
	if (!read_shape(r, n, 1, &shape))
		return;
	infer_broadcast(r, n, &shape, &n->inputs[0]->shape);
	infer_set(n, 0, n->inputs[0]->type, &shape);
}

void infer_tile(struct onnx_reader *r, struct onnx_node *n)
{
	struct onnx_shape shape = n->inputs[0]->shape, times;

	infer_like(n);
	if (!read_shape(r, n, 1, &times))
		return;
	if (times.rank != shape.rank)
		onnx_fail(r, -EINVAL, "%s: %" PRIu32 " repeats of %" PRIu32 " dimensions",
			  onnx_node_text(n).s, times.rank, shape.rank);
	for (uint32_t d = 0; d < shape.rank && !r->err; d++)
		if (__builtin_mul_overflow(shape.dims[d], times.dims[d], &shape.dims[d]))
			onnx_fail(r, -E2BIG, "%s: dimension %" PRIu32 " is too large",
				  onnx_node_text(n).s, d);
	infer_set(n, 0, n->inputs[0]->type, &shape);
}
