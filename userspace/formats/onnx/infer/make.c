/* SPDX-License-Identifier: MIT */
/* Tensors that are made of no other's elements: constants, shapes, ranges, random numbers. */
#include "infer.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/*
 * Which of the attribute's fields has the value. The type says so: lists may be empty, and a 0 may
 * be left out. The oldest models have no types of attributes.
 */
static int value_type(const Onnx__AttributeProto *attr)
{
	if (attr->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED)
		return (int)attr->type;
	return attr->has_f     ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT :
	       attr->has_i     ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT :
	       attr->n_floats  ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS :
	       attr->n_ints    ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS :
	       attr->has_s     ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING :
	       attr->n_strings ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS :
				 ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED;
}

/* A number, or a list of @count of them. */
static void constant_of(struct onnx_reader *r, struct onnx_node *n, bool is_float, bool is_list,
			size_t count)
{
	const Onnx__AttributeProto *attr = n->proto->attribute[0];
	struct onnx_value *value = n->outputs[0];
	const struct onnx_shape shape = {
		.known = true,
		.rank = is_list,
		.dims = { (int64_t)count },
	};

	infer_set(n, 0, is_float ? ONNX_FLOAT : ONNX_INT64, &shape);
	if (!onnx_numbers_new(r, value, count))
		return;
	for (size_t i = 0; i < count; i++) {
		if (is_float)
			value->numbers[i].f = (double)(is_list ? attr->floats[i] : attr->f);
		else
			value->numbers[i].i = is_list ? attr->ints[i] : attr->i;
	}
}

/* One of several attributes has the value. */
void infer_constant(struct onnx_reader *r, struct onnx_node *n)
{
	const Onnx__AttributeProto *attr = n->proto->n_attribute ? n->proto->attribute[0] : NULL;

	if (attr && attr->t) {
		onnx_initializer(r, n->outputs[0], attr->t);
		return;
	}
	switch (attr ? value_type(attr) : ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED) {
	case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
		constant_of(r, n, true, false, 1);
		return;
	case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
		constant_of(r, n, false, false, 1);
		return;
	case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS:
		constant_of(r, n, true, true, attr->n_floats);
		return;
	case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
		constant_of(r, n, false, true, attr->n_ints);
		return;
	case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING:
	case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS:
		onnx_fail(r, -EOPNOTSUPP, "%s: a constant of strings is not read",
			  onnx_node_text(n).s);
		return;
	default:
		break;
	}
	if (attr && attr->sparse_tensor)
		onnx_fail(r, -EOPNOTSUPP, "%s: a constant of a sparse tensor is not read",
			  onnx_node_text(n).s);
	else
		onnx_fail(r, -EINVAL, "%s has no value", onnx_node_text(n).s);
}

void infer_constant_of_shape(struct onnx_reader *r, struct onnx_node *n)
{
	const Onnx__TensorProto *fill = onnx_attr_tensor(r, n, "value");
	struct onnx_shape shape = { .known = true };

	if (!infer_list(r, n, 0, NULL, 0, shape.dims, NPUPLAN_MAX_DIMS, &shape.rank))
		return;
	infer_set(n, 0, fill ? (uint32_t)fill->data_type : ONNX_FLOAT, &shape);
	for (uint32_t d = 0; d < shape.rank; d++)
		if (shape.dims[d] < 0)
			onnx_fail(r, -EINVAL,
				  "%s: dimension %" PRIu32 " would have %" PRId64 " elements",
				  onnx_node_text(n).s, d, shape.dims[d]);
}

/* Since opset 15 of some of the dimensions. */
void infer_shape(struct onnx_reader *r, struct onnx_node *n)
{
	const struct onnx_shape *in = &n->inputs[0]->shape;
	int64_t rank = in->rank, start = onnx_attr_int(r, n, "start", 0);
	int64_t end = onnx_attr_int(r, n, "end", rank);
	struct onnx_shape out = { .known = true, .rank = 1 };
	struct onnx_value *value = n->outputs[0];

	/* From the end on, and no further than that: no sum wraps. */
	start = start < -rank ? 0 : start < 0 ? start + rank : start > rank ? rank : start;
	end = end < -rank ? 0 : end < 0 ? end + rank : end > rank ? rank : end;
	out.dims[0] = end > start ? end - start : 0;
	infer_set(n, 0, ONNX_INT64, &out);
	if (!onnx_numbers_new(r, value, (uint64_t)out.dims[0]))
		return;
	for (int64_t d = 0; d < out.dims[0]; d++)
		value->numbers[d].i = in->dims[start + d];
}

void infer_size(struct onnx_reader *r, struct onnx_node *n)
{
	const struct onnx_shape *in = &n->inputs[0]->shape, scalar = { .known = true };

	infer_set(n, 0, ONNX_INT64, &scalar);
	if (onnx_numbers_new(r, n->outputs[0], 1))
		n->outputs[0]->numbers[0].i = (int64_t)onnx_elements(in, 0, in->rank);
}

/* Start, limit and step must be numbers that are known. */
void infer_range(struct onnx_reader *r, struct onnx_node *n)
{
	struct onnx_shape out = { .known = true, .rank = 1 };
	bool is_float = onnx_is_float(n->inputs[0]->type);
	double at[3], count;

	for (uint32_t i = 0; i < 3; i++) {
		if (!n->inputs[i]->numbers || n->inputs[i]->count != 1)
			return;
		at[i] = is_float ? n->inputs[i]->numbers[0].f : (double)n->inputs[i]->numbers[0].i;
	}
	count = ceil((at[1] - at[0]) / at[2]);
	if (!(count <= NPUIMPORT_MAX_DIM)) {
		onnx_fail(r, -EINVAL, "%s: from %g to %g in steps of %g", onnx_node_text(n).s,
			  at[0], at[1], at[2]);
		return;
	}
	out.dims[0] = count > 0 ? (int64_t)count : 0;
	infer_set(n, 0, n->inputs[0]->type, &out);
	if (is_float || !onnx_numbers_new(r, n->outputs[0], (uint64_t)out.dims[0]))
		return;
	for (int64_t i = 0; i < out.dims[0]; i++)
		n->outputs[0]->numbers[i].i =
			(int64_t)((uint64_t)n->inputs[0]->numbers[0].i +
				  (uint64_t)i * (uint64_t)n->inputs[2]->numbers[0].i);
}

void infer_eye_like(struct onnx_reader *r, struct onnx_node *n)
{
	int64_t type = onnx_attr_int(r, n, "dtype", n->inputs[0]->type);

	infer_set(n, 0, (uint32_t)type, &n->inputs[0]->shape);
}

void infer_random(struct onnx_reader *r, struct onnx_node *n)
{
	struct onnx_shape shape = { .known = true };
	size_t count;
	const int64_t *dims = onnx_attr_ints(r, n, "shape", &count);

	if (count > NPUPLAN_MAX_DIMS || !dims) {
		onnx_fail(r, -EINVAL, "%s has no shape of up to %d dimensions", onnx_node_text(n).s,
			  NPUPLAN_MAX_DIMS);
		return;
	}
	shape.rank = (uint32_t)count;
	for (size_t d = 0; d < count; d++)
		shape.dims[d] = dims[d];
	infer_set(n, 0, (uint32_t)onnx_attr_int(r, n, "dtype", ONNX_FLOAT), &shape);
}

void infer_multinomial(struct onnx_reader *r, struct onnx_node *n)
{
	struct onnx_shape shape = n->inputs[0]->shape;

	if (!infer_rank(r, n, 0, 2, 2))
		return;
	shape.dims[1] = onnx_attr_int(r, n, "sample_size", 1);
	infer_set(n, 0, (uint32_t)onnx_attr_int(r, n, "dtype", ONNX_INT32), &shape);
}

/* What there is values say, or the file. */
void infer_unknown(struct onnx_reader *r, struct onnx_node *n)
{
}
