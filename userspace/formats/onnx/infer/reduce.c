/* SPDX-License-Identifier: MIT */
/* Fewer elements along axes: sums, largest elements, and so on. */
#include "infer.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Axes of @axes become one element, or fall away. */
static void reduce(struct onnx_node *n, uint32_t type, uint32_t axes, bool keep)
{
	const struct onnx_shape *in = &n->inputs[0]->shape;
	struct onnx_shape out = { .known = true };

	for (uint32_t d = 0; d < in->rank; d++) {
		if (!(axes >> d & 1))
			out.dims[out.rank++] = in->dims[d];
		else if (keep)
			out.dims[out.rank++] = 1;
	}
	infer_set(n, 0, type, &out);
}

/* Axes are an input since opset 18, of ReduceSum since 13. */
void infer_reduce(struct onnx_reader *r, struct onnx_node *n)
{
	const struct onnx_shape *shape = &n->inputs[0]->shape;
	bool keep = onnx_attr_int(r, n, "keepdims", 1), given;
	bool none = onnx_attr_int(r, n, "noop_with_empty_axes", 0);
	int64_t since = !strcmp(n->known->name, "ReduceSum") ? 13 : 18;
	uint32_t axes;

	infer_like(n);
	if (r->err || !infer_axes(r, n, 1, since, shape->rank, &axes, &given))
		return;
	if (!given && !none)
		axes = (1u << shape->rank) - 1;
	reduce(n, n->inputs[0]->type, axes, keep);
	/* Of tiling, the first axis. */
	n->attrs.axis = axes ? __builtin_ctz(axes) : -1;
	n->attrs.whole = axes && axes >> n->attrs.axis != (1u << (shape->rank - n->attrs.axis)) - 1;
	/* The axes themselves are no numbers of anything. */
	infer_not_last(n, 1);
}

void infer_arg(struct onnx_reader *r, struct onnx_node *n)
{
	bool keep = onnx_attr_int(r, n, "keepdims", 1);
	int32_t axis = infer_axis(r, n, onnx_attr_int(r, n, "axis", 0), n->inputs[0]->shape.rank);

	if (axis >= 0)
		reduce(n, ONNX_INT64, 1u << axis, keep);
}

/* How many is an input since opset 10. */
void infer_topk(struct onnx_reader *r, struct onnx_node *n)
{
	struct onnx_shape shape = n->inputs[0]->shape;
	int32_t axis = infer_axis(r, n, onnx_attr_int(r, n, "axis", -1), shape.rank);
	int64_t k = onnx_attr_int(r, n, "k", -1);
	uint32_t count = 1;

	if (axis < 0)
		return;
	if (n->opset >= 10) {
		if (!infer_input(n, 1)) {
			onnx_fail(r, -EINVAL, "%s lacks input 1", onnx_node_text(n).s);
			return;
		}
		if (!infer_list(r, n, 1, NULL, 0, &k, 1, &count))
			return;
	}
	if (count != 1 || k < 0 || k > shape.dims[axis]) {
		onnx_fail(r, -EINVAL, "%s: %" PRId64 " of %" PRId64 " elements",
			  onnx_node_text(n).s, k, shape.dims[axis]);
		return;
	}
	shape.dims[axis] = k;
	infer_set(n, 0, n->inputs[0]->type, &shape);
	infer_set(n, 1, ONNX_INT64, &shape);
}
