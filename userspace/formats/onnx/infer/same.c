/* SPDX-License-Identifier: MIT */
/* Outputs that are like inputs: element-wise operators, normalizations, quantization. */
#include "infer.h"

#include <errno.h>
#include <inttypes.h>

void infer_same(struct onnx_reader *r, struct onnx_node *n)
{
	infer_set(n, 0, n->inputs[0]->type, &n->inputs[0]->shape);
}

void infer_same_bool(struct onnx_reader *r, struct onnx_node *n)
{
	infer_set(n, 0, ONNX_BOOL, &n->inputs[0]->shape);
}

/* With numbers for each channel, or group of these, which are not the last dimension of N,C,L. */
void infer_channels(struct onnx_reader *r, struct onnx_node *n)
{
	infer_same(r, n);
	for (uint32_t k = 1; k < n->input_count && n->inputs[0]->shape.rank > 2; k++)
		infer_not_last(n, k);
}

/* Without training it passes its input on; what has been dropped is a bool since opset 10. */
void infer_dropout(struct onnx_reader *r, struct onnx_node *n)
{
	const struct onnx_value *training = infer_input(n, 2);

	infer_same(r, n);
	infer_set(n, 1, n->opset >= 10 ? ONNX_BOOL : n->inputs[0]->type, &n->inputs[0]->shape);
	if (training && !(training->numbers && training->count == 1 && !training->numbers[0].i))
		n->is_view = false;
}

/*
 * In training there are statistics of the batch, too, one number for each channel, and all of the
 * input goes into each element.
 */
void infer_batchnorm(struct onnx_reader *r, struct onnx_node *n)
{
	bool trains = n->opset >= 14 && onnx_attr_int(r, n, "training_mode", 0);

	infer_same(r, n);
	n->attrs.whole = trains || n->output_count > 1;
	for (uint32_t k = 1; k < n->input_count && n->inputs[0]->shape.rank > 2; k++)
		infer_not_last(n, k);
	for (uint32_t k = 1; k < n->output_count; k++)
		infer_set(n, k, n->inputs[n->opset >= 14 ? 3 : 1]->type, &n->inputs[3]->shape);
}

/* Over neighbouring channels, which in matrices are rows: what tiles need of these is not known. */
void infer_lrn(struct onnx_reader *r, struct onnx_node *n)
{
	infer_same(r, n);
	n->attrs.whole = n->inputs[0]->shape.rank < 4;
}

void infer_layernorm(struct onnx_reader *r, struct onnx_node *n)
{
	struct onnx_shape shape = n->inputs[0]->shape;
	uint32_t stash = (uint32_t)onnx_attr_int(r, n, "stash_type", ONNX_FLOAT);
	int32_t axis = infer_axis(r, n, onnx_attr_int(r, n, "axis", -1), shape.rank);

	infer_same(r, n);
	if (axis < 0)
		return;
	for (uint32_t d = (uint32_t)axis; d < shape.rank; d++)
		shape.dims[d] = 1;
	infer_set(n, 1, stash, &shape);
	infer_set(n, 2, stash, &shape);
	/* Tiles are known to need whole rows; not, which dimensions are normalized beyond these. */
	n->attrs.whole = (uint32_t)axis + 1 < shape.rank;
}

/* Until opset 13 along all dimensions from the axis on. */
void infer_softmax(struct onnx_reader *r, struct onnx_node *n)
{
	const struct onnx_shape *shape = &n->inputs[0]->shape;
	int32_t axis =
		infer_axis(r, n, onnx_attr_int(r, n, "axis", n->opset >= 13 ? -1 : 1), shape->rank);

	infer_same(r, n);
	if (axis < 0)
		return;
	n->attrs.axis = axis;
	n->attrs.whole = n->opset < 13 &&
			 onnx_elements(shape, (uint32_t)axis + 1, shape->rank) != 1;
}

/* Nothing is to be done between equal types. */
static void cast(struct onnx_node *n, uint32_t type)
{
	infer_set(n, 0, type, &n->inputs[0]->shape);
	n->is_view = type == n->inputs[0]->type;
}

void infer_cast(struct onnx_reader *r, struct onnx_node *n)
{
	int64_t to = onnx_attr_int(r, n, "to", 0);

	if (!r->err && (to < 0 || to > UINT8_MAX || !onnx_type_name((uint32_t)to)))
		onnx_fail(r, -EOPNOTSUPP, "%s: element type %" PRId64 " is not known here",
			  onnx_node_text(n).s, to);
	else
		cast(n, (uint32_t)to);
}

void infer_cast_like(struct onnx_reader *r, struct onnx_node *n)
{
	cast(n, n->inputs[1]->type);
}

/* Random numbers in the shape of the input, of its type unless another is asked for. */
void infer_random_like(struct onnx_reader *r, struct onnx_node *n)
{
	infer_set(n, 0, (uint32_t)onnx_attr_int(r, n, "dtype", n->inputs[0]->type),
		  &n->inputs[0]->shape);
}

static struct onnx_shape broadcast_all(struct onnx_reader *r, const struct onnx_node *n)
{
	struct onnx_shape shape = n->inputs[0]->shape;

	for (uint32_t i = 1; i < n->input_count; i++)
		if (n->inputs[i])
			infer_broadcast(r, n, &shape, &n->inputs[i]->shape);
	return shape;
}

void infer_broadcasts(struct onnx_reader *r, struct onnx_node *n)
{
	struct onnx_shape shape = broadcast_all(r, n);

	infer_set(n, 0, n->inputs[0]->type, &shape);
}

void infer_compare(struct onnx_reader *r, struct onnx_node *n)
{
	struct onnx_shape shape = broadcast_all(r, n);

	infer_set(n, 0, ONNX_BOOL, &shape);
}

void infer_where(struct onnx_reader *r, struct onnx_node *n)
{
	struct onnx_shape shape = broadcast_all(r, n);

	infer_set(n, 0, n->inputs[1]->type, &shape);
}

/* The slope is stretched to the input, never the other way round. */
void infer_prelu(struct onnx_reader *r, struct onnx_node *n)
{
	struct onnx_shape shape = broadcast_all(r, n);

	if (!r->err && (shape.rank != n->inputs[0]->shape.rank ||
			onnx_elements(&shape, 0, shape.rank) !=
				onnx_elements(&n->inputs[0]->shape, 0, shape.rank)))
		onnx_fail(r, -EINVAL, "%s: a slope of shape %s does not fit an input of %s",
			  onnx_node_text(n).s, onnx_shape_text(&n->inputs[1]->shape).s,
			  onnx_shape_text(&n->inputs[0]->shape).s);
	infer_same(r, n);
	/* In images tiles take a list for one number of each channel; it is one of each column. */
	n->attrs.whole = n->inputs[0]->shape.rank >= 4 && n->inputs[1]->shape.rank == 1 &&
			 n->inputs[1]->shape.dims[0] > 1;
}

/* Scale and zero point have one number, or as many as there are elements along an axis. */
static void quantized_along(struct onnx_reader *r, struct onnx_node *n)
{
	int64_t rank = n->inputs[0]->shape.rank, axis = onnx_attr_int(r, n, "axis", 1);

	if (axis == rank - 1 || axis == -1)
		return;
	infer_not_last(n, 1);
	infer_not_last(n, 2);
}

/* The type is that of the zero point, or since opset 21 an attribute's, or uint8. */
void infer_quantize(struct onnx_reader *r, struct onnx_node *n)
{
	const struct onnx_value *zero = infer_input(n, 2);
	int64_t asked = onnx_attr_int(r, n, "output_dtype", 0);

	infer_set(n, 0,
		  zero	    ? zero->type :
		  asked > 0 ? (uint32_t)asked :
			      ONNX_UINT8,
		  &n->inputs[0]->shape);
	quantized_along(r, n);
}

void infer_dequantize(struct onnx_reader *r, struct onnx_node *n)
{
	infer_set(n, 0, n->inputs[1]->type, &n->inputs[0]->shape);
	quantized_along(r, n);
}

void infer_dynamic_quantize(struct onnx_reader *r, struct onnx_node *n)
{
	const struct onnx_shape scalar = { .known = true };

	infer_set(n, 0, ONNX_UINT8, &n->inputs[0]->shape);
	infer_set(n, 1, ONNX_FLOAT, &scalar);
	infer_set(n, 2, ONNX_UINT8, &scalar);
}
