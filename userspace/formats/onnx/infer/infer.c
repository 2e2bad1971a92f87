/* SPDX-License-Identifier: MIT */
/* What operators share: axes, broadcasting, numbers that were attributes once. */
#include "infer.h"

#include <errno.h>
#include <inttypes.h>

void infer_set(struct onnx_node *n, uint32_t k, uint32_t type, const struct onnx_shape *shape)
{
	if (!infer_is_wanted(n, k))
		return;
	n->outputs[k]->type = type;
	n->outputs[k]->shape = *shape;
	n->outputs[k]->shape.known = true;
}

void infer_not_last(struct onnx_node *n, uint32_t k)
{
	const struct onnx_value *list = infer_input(n, k);
	const struct onnx_shape *out = &n->outputs[0]->shape;

	if (list && list->shape.rank == 1 && list->shape.dims[0] > 1 && out->rank &&
	    out->rank < 4 && list->shape.dims[0] == out->dims[out->rank - 1])
		n->attrs.whole = true;
}

bool infer_rank(struct onnx_reader *r, const struct onnx_node *n, uint32_t k, uint32_t least,
		uint32_t most)
{
	uint32_t rank = n->inputs[k]->shape.rank;

	if (rank >= least && rank <= most)
		return true;
	if (least == most)
		onnx_fail(r, -EINVAL,
			  "%s: input %" PRIu32 ", %s, has %" PRIu32
			  " dimensions, must have %" PRIu32,
			  onnx_node_text(n).s, k, onnx_value_text(n->inputs[k]).s, rank, least);
	else
		onnx_fail(r, -EINVAL,
			  "%s: input %" PRIu32 ", %s, has %" PRIu32
			  " dimensions, must have %" PRIu32 " to %" PRIu32,
			  onnx_node_text(n).s, k, onnx_value_text(n->inputs[k]).s, rank, least,
			  most);
	return false;
}

int32_t infer_axis(struct onnx_reader *r, const struct onnx_node *n, int64_t axis, uint32_t rank)
{
	if (axis >= -(int64_t)rank && axis < (int64_t)rank)
		return (int32_t)(axis < 0 ? axis + rank : axis);
	onnx_fail(r, -EINVAL, "%s: axis %" PRId64 " of %" PRIu32 " dimensions", onnx_node_text(n).s,
		  axis, rank);
	return -1;
}

void infer_broadcast(struct onnx_reader *r, const struct onnx_node *n, struct onnx_shape *shape,
		     const struct onnx_shape *other)
{
	struct onnx_shape out = { .known = true };

	out.rank = shape->rank > other->rank ? shape->rank : other->rank;
	for (uint32_t d = 0; d < out.rank; d++) {
		uint32_t first = d + shape->rank - out.rank, second = d + other->rank - out.rank;
		int64_t a = d + shape->rank >= out.rank ? shape->dims[first] : 1;
		int64_t b = d + other->rank >= out.rank ? other->dims[second] : 1;

		if (a != b && a != 1 && b != 1)
			onnx_fail(r, -EINVAL, "%s: shapes %s and %s do not broadcast",
				  onnx_node_text(n).s, onnx_shape_text(shape).s,
				  onnx_shape_text(other).s);
		out.dims[d] = a == 1 ? b : a;
	}
	*shape = out;
}

static bool take_numbers(struct onnx_reader *r, const struct onnx_node *n,
			 const struct onnx_value *value, int64_t *list, uint32_t room,
			 uint32_t *count)
{
	if (!value->numbers)
		return false;
	if (value->shape.rank > 1 || value->count > room || onnx_is_float(value->type)) {
		onnx_fail(r, -EINVAL, "%s: %s is no list of up to %" PRIu32 " integers",
			  onnx_node_text(n).s, onnx_value_text(value).s, room);
		return false;
	}
	*count = (uint32_t)value->count;
	for (uint32_t i = 0; i < *count; i++)
		list[i] = value->numbers[i].i;
	return true;
}

/* Numbers must not be where only models of another operator set have them. */
static bool is_where_due(struct onnx_reader *r, const struct onnx_node *n, uint32_t k,
			 const char *name, int64_t since)
{
	bool is_input = n->opset >= since;

	if (is_input ? !onnx_attr(n, name) : !infer_input(n, k))
		return true;
	onnx_fail(r, -EINVAL, "%s: '%s' is an %s in operator set %" PRId64, onnx_node_text(n).s,
		  name, is_input ? "input" : "attribute", n->opset);
	return false;
}

bool infer_list(struct onnx_reader *r, const struct onnx_node *n, uint32_t k, const char *name,
		int64_t since, int64_t *list, uint32_t room, uint32_t *count)
{
	const struct onnx_value *value = infer_input(n, k);
	const int64_t *ints;
	size_t ints_count;

	*count = 0;
	if (name && !is_where_due(r, n, k, name, since))
		return false;
	if (!name || n->opset >= since)
		return !value || take_numbers(r, n, value, list, room, count);
	ints = onnx_attr_ints(r, n, name, &ints_count);
	if (r->err)
		return false;
	if (ints_count > room) {
		onnx_fail(r, -EINVAL, "%s: attribute '%s' has %zu numbers, at most %" PRIu32,
			  onnx_node_text(n).s, name, ints_count, room);
		return false;
	}
	for (size_t i = 0; ints && i < ints_count; i++)
		list[i] = ints[i];
	*count = (uint32_t)ints_count;
	return true;
}

bool infer_axes(struct onnx_reader *r, const struct onnx_node *n, uint32_t k, int64_t since,
		uint32_t rank, uint32_t *axes, bool *given)
{
	int64_t list[NPUPLAN_MAX_DIMS] = { 0 };
	uint32_t count;

	*axes = 0;
	*given = false;
	if (!infer_list(r, n, k, "axes", since, list, NPUPLAN_MAX_DIMS, &count))
		return false;
	*given = count;
	for (uint32_t i = 0; i < count; i++) {
		int32_t axis = infer_axis(r, n, list[i], rank);

		if (axis < 0)
			return false;
		if (*axes >> axis & 1) {
			onnx_fail(r, -EINVAL, "%s: axis %" PRId32 " is there twice",
				  onnx_node_text(n).s, axis);
			return false;
		}
		*axes |= 1u << axis;
	}
	return true;
}
