/* SPDX-License-Identifier: MIT */
/*
 * Values of small tensors that are the same in every inference: exporters compute with shapes, and
 * only what comes out says how large tensors are. What is not computed here is not known, which is
 * always right; refusals name the tensor then.
 */
#include "nodes.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "infer/infer.h"

static bool has_numbers(const struct onnx_value *value)
{
	return value && value->numbers;
}

static double as_double(const struct onnx_value *value, uint64_t i)
{
	return onnx_is_float(value->type) ? value->numbers[i].f : (double)value->numbers[i].i;
}

/* Room for the output's values; false if it is too large to be followed. */
static bool make_numbers(struct onnx_reader *r, struct onnx_value *out)
{
	return onnx_numbers_new(r, out, onnx_elements(&out->shape, 0, out->shape.rank));
}

/* The element of a shape that is stretched to @out, for element @i of that. */
static uint64_t stretched(const struct onnx_shape *in, const struct onnx_shape *out, uint64_t i)
{
	uint64_t index = 0, times = 1;

	for (uint32_t d = out->rank; d-- > 0;) {
		uint64_t at = i % (uint64_t)out->dims[d];

		i /= (uint64_t)out->dims[d];
		if (d + in->rank < out->rank)
			continue;
		if (in->dims[d + in->rank - out->rank] != 1)
			index += at * times;
		times *= (uint64_t)in->dims[d + in->rank - out->rank];
	}
	return index;
}

/* ------------------------------------------------------------- element by element */

/* Floating point types that are computed with; of others roundings are not known here. */
static bool is_computed(uint32_t type)
{
	return !onnx_is_float(type) || type == ONNX_FLOAT || type == ONNX_DOUBLE;
}

/* As the type holds it. Of floats the operators below are right when rounded from doubles. */
static double rounded(uint32_t type, double value)
{
	return type == ONNX_FLOAT ? (double)(float)value : value;
}

static bool unary_float(const char *name, double x, union onnx_number *out)
{
	if (!strcmp(name, "Neg"))
		out->f = -x;
	else if (!strcmp(name, "Abs"))
		out->f = fabs(x);
	else if (!strcmp(name, "Floor"))
		out->f = floor(x);
	else if (!strcmp(name, "Ceil"))
		out->f = ceil(x);
	else if (!strcmp(name, "Round"))
		out->f = nearbyint(x);
	else if (!strcmp(name, "Sqrt"))
		out->f = sqrt(x);
	else
		return false;
	return true;
}

/* Integers wrap, as they do wherever models run. */
static bool unary_int(const char *name, int64_t x, union onnx_number *out)
{
	int64_t negative = (int64_t)(0 - (uint64_t)x);

	if (!strcmp(name, "Neg"))
		out->i = negative;
	else if (!strcmp(name, "Abs"))
		out->i = x < 0 ? negative : x;
	else if (!strcmp(name, "Not"))
		out->i = !x;
	else
		return false;
	return true;
}

static bool binary_float(const char *name, double a, double b, union onnx_number *out)
{
	if (!strcmp(name, "Add"))
		out->f = a + b;
	else if (!strcmp(name, "Sub"))
		out->f = a - b;
	else if (!strcmp(name, "Mul"))
		out->f = a * b;
	else if (!strcmp(name, "Div"))
		out->f = a / b;
	else if (!strcmp(name, "Max"))
		out->f = fmax(a, b);
	else if (!strcmp(name, "Min"))
		out->f = fmin(a, b);
	else
		return false;
	return true;
}

/* Towards zero, or with the divisor's sign; none by 0, nor where the result is no number. */
static bool divide(const char *name, int64_t a, int64_t b, union onnx_number *out)
{
	if (!b || (a == INT64_MIN && b == -1))
		return false;
	if (!strcmp(name, "Div"))
		out->i = a / b;
	else
		out->i = a % b + (a % b && (a < 0) != (b < 0) ? b : 0);
	return true;
}

static bool binary_int(const char *name, int64_t a, int64_t b, union onnx_number *out)
{
	if (!strcmp(name, "Add"))
		out->i = (int64_t)((uint64_t)a + (uint64_t)b);
	else if (!strcmp(name, "Sub"))
		out->i = (int64_t)((uint64_t)a - (uint64_t)b);
	else if (!strcmp(name, "Mul"))
		out->i = (int64_t)((uint64_t)a * (uint64_t)b);
	else if (!strcmp(name, "Max"))
		out->i = a > b ? a : b;
	else if (!strcmp(name, "Min"))
		out->i = a < b ? a : b;
	else if (!strcmp(name, "And"))
		out->i = a && b;
	else if (!strcmp(name, "Or"))
		out->i = a || b;
	else if (!strcmp(name, "Xor"))
		out->i = !a != !b;
	else
		return (!strcmp(name, "Div") || !strcmp(name, "Mod")) && divide(name, a, b, out);
	return true;
}

/* Of numbers that are not larger than doubles hold exactly, as sizes are. */
static bool compare(const char *name, double a, double b, union onnx_number *out)
{
	if (!strcmp(name, "Equal"))
		out->i = a == b;
	else if (!strcmp(name, "Less"))
		out->i = a < b;
	else if (!strcmp(name, "Greater"))
		out->i = a > b;
	else if (!strcmp(name, "LessOrEqual"))
		out->i = a <= b;
	else if (!strcmp(name, "GreaterOrEqual"))
		out->i = a >= b;
	else
		return false;
	return true;
}

static bool element(const struct onnx_node *n, const struct onnx_value *out, uint64_t i,
		    union onnx_number *number)
{
	const struct onnx_value *a = n->inputs[0], *b = n->input_count > 1 ? n->inputs[1] : NULL;
	uint64_t at = stretched(&a->shape, &out->shape, i), to;

	if (!b)
		return onnx_is_float(a->type) ?
			       unary_float(n->known->name, a->numbers[at].f, number) :
			       unary_int(n->known->name, a->numbers[at].i, number);
	to = stretched(&b->shape, &out->shape, i);
	if (compare(n->known->name, as_double(a, at), as_double(b, to), number))
		return true;
	return onnx_is_float(a->type) ?
		       binary_float(n->known->name, a->numbers[at].f, b->numbers[to].f, number) :
		       binary_int(n->known->name, a->numbers[at].i, b->numbers[to].i, number);
}

static void fold_elements(struct onnx_reader *r, struct onnx_node *n, struct onnx_value *out)
{
	/* Remainders with the sign of the dividend are asked for of floating point numbers. */
	if (n->input_count > 2 || onnx_attr_int(r, n, "fmod", 0) || !is_computed(out->type) ||
	    !make_numbers(r, out))
		return;
	for (uint64_t i = 0; i < out->count; i++) {
		if (!element(n, out, i, &out->numbers[i])) {
			free(out->numbers);
			out->numbers = NULL;
			return;
		}
		if (onnx_is_float(out->type))
			out->numbers[i].f = rounded(out->type, out->numbers[i].f);
	}
}

/* ---------------------------------------------------------------- other operators */

static void fold_copy(struct onnx_reader *r, struct onnx_node *n, struct onnx_value *out)
{
	if (make_numbers(r, out) && out->count == n->inputs[0]->count)
		memcpy(out->numbers, n->inputs[0]->numbers, out->count * sizeof(*out->numbers));
}

static void fold_expand(struct onnx_reader *r, struct onnx_node *n, struct onnx_value *out)
{
	if (!make_numbers(r, out))
		return;
	for (uint64_t i = 0; i < out->count; i++)
		out->numbers[i] =
			n->inputs[0]->numbers[stretched(&n->inputs[0]->shape, &out->shape, i)];
}

static void fold_where(struct onnx_reader *r, struct onnx_node *n, struct onnx_value *out)
{
	if (!make_numbers(r, out))
		return;
	for (uint64_t i = 0; i < out->count; i++) {
		const struct onnx_value *test = n->inputs[0];
		bool yes = test->numbers[stretched(&test->shape, &out->shape, i)].i;
		const struct onnx_value *from = n->inputs[yes ? 1 : 2];

		out->numbers[i] = from->numbers[stretched(&from->shape, &out->shape, i)];
	}
}

/* A number of another type; one that is no integer's is as large as they get. */
static union onnx_number converted(const struct onnx_value *in, uint64_t i, uint32_t type)
{
	union onnx_number number = in->numbers[i];
	double value = as_double(in, i);

	if (onnx_is_float(type))
		number.f = rounded(type, value);
	else if (type == ONNX_BOOL)
		number.i = value != 0;
	else if (onnx_is_float(in->type))
		number.i = value >= 0x1p63 ? INT64_MAX :
			   value > -0x1p63 ? (int64_t)value :
					     INT64_MIN;
	return number;
}

static void fold_cast(struct onnx_reader *r, struct onnx_node *n, struct onnx_value *out)
{
	if (!onnx_type_bits(out->type) || out->type > ONNX_BFLOAT16 || !is_computed(out->type) ||
	    !make_numbers(r, out))
		return;
	for (uint64_t i = 0; i < out->count; i++)
		out->numbers[i] = converted(n->inputs[0], i, out->type);
}

static void fold_gather(struct onnx_reader *r, struct onnx_node *n, struct onnx_value *out)
{
	const struct onnx_value *data = n->inputs[0], *indices = n->inputs[1];
	int32_t axis = infer_axis(r, n, onnx_attr_int(r, n, "axis", 0), data->shape.rank);
	uint64_t inner, size;

	if (axis < 0 || onnx_is_float(indices->type) || !make_numbers(r, out))
		return;
	inner = onnx_elements(&data->shape, (uint32_t)axis + 1, data->shape.rank);
	size = (uint64_t)data->shape.dims[axis];
	for (uint64_t i = 0; i < out->count; i++) {
		uint64_t outer = i / inner / indices->count;
		int64_t index = indices->numbers[i / inner % indices->count].i;

		index += index < 0 ? (int64_t)size : 0;
		if (index < 0 || (uint64_t)index >= size) {
			onnx_fail(r, -EINVAL, "%s: index %" PRId64 " of %" PRIu64 " elements",
				  onnx_node_text(n).s,
				  indices->numbers[i / inner % indices->count].i, size);
			return;
		}
		out->numbers[i] =
			data->numbers[(outer * size + (uint64_t)index) * inner + i % inner];
	}
}

static void fold_concat(struct onnx_reader *r, struct onnx_node *n, struct onnx_value *out)
{
	uint32_t axis = (uint32_t)n->attrs.axis;
	uint64_t outer, row, start = 0;

	if (!make_numbers(r, out))
		return;
	outer = onnx_elements(&out->shape, 0, axis);
	row = onnx_elements(&out->shape, axis, out->shape.rank);
	for (uint32_t k = 0; k < n->input_count; k++) {
		const struct onnx_value *in = n->inputs[k];
		uint64_t length = onnx_elements(&in->shape, axis, in->shape.rank);

		for (uint64_t o = 0; o < outer; o++)
			memcpy(&out->numbers[o * row + start], &in->numbers[o * length],
			       length * sizeof(*out->numbers));
		start += length;
	}
}

/* All elements become one. */
static void fold_reduce(struct onnx_reader *r, struct onnx_node *n, struct onnx_value *out)
{
	const char *name = !strcmp(n->known->name, "ReduceProd") ? "Mul" :
			   !strcmp(n->known->name, "ReduceSum")	 ? "Add" :
			   !strcmp(n->known->name, "ReduceMax")	 ? "Max" :
								   "Min";
	const struct onnx_value *in = n->inputs[0];

	if (onnx_elements(&out->shape, 0, out->shape.rank) != 1 || !in->count ||
	    !is_computed(out->type) || !make_numbers(r, out))
		return;
	out->numbers[0] = in->numbers[0];
	for (uint64_t i = 1; i < in->count; i++) {
		if (onnx_is_float(in->type)) {
			binary_float(name, out->numbers[0].f, in->numbers[i].f, &out->numbers[0]);
			out->numbers[0].f = rounded(in->type, out->numbers[0].f);
		} else {
			binary_int(name, out->numbers[0].i, in->numbers[i].i, &out->numbers[0]);
		}
	}
}

/* The value that fills it has one element; it is 0 if there is none. */
static void fold_fill(struct onnx_reader *r, struct onnx_node *n, struct onnx_value *out)
{
	const Onnx__TensorProto *fill = onnx_attr_tensor(r, n, "value");
	struct onnx_value value = { .name = "value" };

	if (fill)
		onnx_initializer(r, &value, fill);
	if (!r->err && (!fill || value.count == 1) && make_numbers(r, out))
		for (uint64_t i = 0; fill && i < out->count; i++)
			out->numbers[i] = value.numbers[0];
	free(value.numbers);
}

static const struct {
	const char *names;
	void (*fold)(struct onnx_reader *r, struct onnx_node *n, struct onnx_value *out);
} folds[] = {
	{ " Identity Reshape Squeeze Unsqueeze Flatten ", fold_copy },
	{ " Neg Abs Floor Ceil Round Sqrt Not Add Sub Mul Div Mod Max Min And Or Xor Equal Less "
	  "Greater LessOrEqual GreaterOrEqual ",
	  fold_elements },
	{ " Expand ", fold_expand },
	{ " Where ", fold_where },
	{ " Cast CastLike ", fold_cast },
	{ " Gather ", fold_gather },
	{ " Concat ", fold_concat },
	{ " ReduceProd ReduceSum ReduceMax ReduceMin ", fold_reduce },
	{ " ConstantOfShape ", fold_fill },
};

void onnx_fold(struct onnx_reader *r, struct onnx_node *n)
{
	struct onnx_value *out = n->outputs[0];
	char name[ONNX_MAX_NAME + 3];

	/* What has no shape yet, or has its values already. */
	if (!out || !out->shape.known || out->numbers)
		return;
	for (uint32_t i = 0; i < n->input_count; i++)
		if (n->inputs[i] && !has_numbers(n->inputs[i]))
			return;
	for (uint32_t d = 0; d < out->shape.rank; d++)
		if (out->shape.dims[d] < 0)
			return;
	snprintf(name, sizeof(name), " %s ", n->known->name);
	for (size_t i = 0; i < sizeof(folds) / sizeof(*folds); i++)
		if (strstr(folds[i].names, name))
			folds[i].fold(r, n, out);
}
