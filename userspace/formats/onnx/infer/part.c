/* SPDX-License-Identifier: MIT */
/* Parts of tensors, and tensors of parts. */
#include "infer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void infer_concat(struct onnx_reader *r, struct onnx_node *n)
{
	struct onnx_shape shape = n->inputs[0]->shape;
	int32_t axis = infer_axis(r, n, onnx_attr_int(r, n, "axis", 1), shape.rank);

	for (uint32_t i = 1; i < n->input_count && axis >= 0; i++) {
		const struct onnx_shape *other;
		bool fits;

		if (!n->inputs[i]) {
			onnx_fail(r, -EINVAL, "%s lacks input %" PRIu32, onnx_node_text(n).s, i);
			return;
		}
		other = &n->inputs[i]->shape;
		fits = other->rank == shape.rank;
		for (uint32_t d = 0; d < shape.rank && fits; d++)
			fits = d == (uint32_t)axis || other->dims[d] == shape.dims[d];
		if (!fits) {
			onnx_fail(r, -EINVAL,
				  "%s: shapes %s and %s cannot be joined along dimension %" PRId32,
				  onnx_node_text(n).s, onnx_shape_text(&n->inputs[0]->shape).s,
				  onnx_shape_text(other).s, axis);
			return;
		}
		/* At most 2^22 inputs of less than 2^31. */
		shape.dims[axis] += other->dims[axis];
	}
	if (axis < 0)
		return;
	infer_set(n, 0, n->inputs[0]->type, &shape);
	n->attrs.axis = axis;
}

/*
 * Equal parts, since opset 18 with a smaller last one, unless sizes are given: an input since
 * opset 13.
 */
void infer_split(struct onnx_reader *r, struct onnx_node *n)
{
	struct onnx_shape shape = n->inputs[0]->shape;
	int32_t axis = infer_axis(r, n, onnx_attr_int(r, n, "axis", 0), shape.rank);
	uint32_t parts = n->output_count, count;
	int64_t *sizes, all, sum = 0;

	if (axis < 0 || r->err)
		return;
	all = shape.dims[axis];
	sizes = calloc(parts + (size_t)1, sizeof(*sizes));
	if (!sizes) {
		onnx_fail(r, -ENOMEM, "out of memory");
		return;
	}
	if (!infer_list(r, n, 1, "split", 13, sizes, parts, &count))
		goto out;
	if (!count && n->opset < 18 && all % parts)
		onnx_fail(r, -EINVAL, "%s: %" PRId64 " elements are no %" PRIu32 " equal parts",
			  onnx_node_text(n).s, all, parts);
	for (uint32_t i = 0; i < parts && !count; i++) {
		int64_t each = (all + parts - 1) / parts, left = all - each * i;

		sizes[i] = left < 0 ? 0 : left < each ? left : each;
	}
	for (uint32_t i = 0; i < parts && !r->err; i++) {
		if (sizes[i] < 0 || sizes[i] > all || (count && count != parts))
			break;
		sum += sizes[i];
	}
	if (sum != all)
		onnx_fail(r, -EINVAL,
			  "%s: its %" PRIu32 " parts do not make up %" PRId64 " elements",
			  onnx_node_text(n).s, parts, all);
	for (uint32_t i = 0; i < parts && !r->err; i++) {
		shape.dims[axis] = sizes[i];
		infer_set(n, i, n->inputs[0]->type, &shape);
	}
	n->attrs.axis = axis;
out:
	free(sizes);
}

/* struct slice - along one dimension each */
struct slice {
	int64_t starts[NPUPLAN_MAX_DIMS];
	int64_t ends[NPUPLAN_MAX_DIMS];
	int64_t axes[NPUPLAN_MAX_DIMS];
	int64_t steps[NPUPLAN_MAX_DIMS];
	uint32_t count;
};

/* All four are inputs since opset 10. */
static bool read_slice(struct onnx_reader *r, const struct onnx_node *n, struct slice *s)
{
	uint32_t rank = n->inputs[0]->shape.rank, ends, axes = 0, steps = 0;

	if (n->opset >= 10 && (!infer_input(n, 1) || !infer_input(n, 2))) {
		onnx_fail(r, -EINVAL, "%s lacks input %d", onnx_node_text(n).s,
			  infer_input(n, 1) ? 2 : 1);
		return false;
	}
	if (!infer_list(r, n, 1, "starts", 10, s->starts, NPUPLAN_MAX_DIMS, &s->count) ||
	    !infer_list(r, n, 2, "ends", 10, s->ends, NPUPLAN_MAX_DIMS, &ends) ||
	    !infer_list(r, n, 3, "axes", 10, s->axes, NPUPLAN_MAX_DIMS, &axes) ||
	    (n->opset >= 10 && !infer_list(r, n, 4, NULL, 0, s->steps, NPUPLAN_MAX_DIMS, &steps)))
		return false;
	for (uint32_t i = 0; i < s->count; i++) {
		if (!axes)
			s->axes[i] = i;
		if (!steps)
			s->steps[i] = 1;
	}
	if (s->count > rank || ends != s->count || (axes && axes != s->count) ||
	    (steps && steps != s->count)) {
		onnx_fail(r, -EINVAL,
			  "%s: %" PRIu32 " starts and %" PRIu32 " ends, %" PRIu32 " axes, %" PRIu32
			  " steps of %" PRIu32 " dimensions",
			  onnx_node_text(n).s, s->count, ends, axes, steps, rank);
		return false;
	}
	return true;
}

static int64_t clamp(int64_t value, int64_t least, int64_t most)
{
	return value < least ? least : value > most ? most : value;
}

/* How many elements there are from @*first to before @end; @*first is put right. */
static int64_t sliced(int64_t *first, int64_t end, int64_t step, int64_t size)
{
	/* From the end on, and no further than that: no sum wraps. */
	int64_t start = clamp(*first, -size - 1, size);

	end = clamp(end, -size - 1, size);
	start += start < 0 ? size : 0;
	end += end < 0 ? size : 0;
	if (step > 0) {
		start = clamp(start, 0, size);
		end = clamp(end, 0, size);
		*first = start;
		return end > start ? (end - start - 1) / step + 1 : 0;
	}
	/* Backwards a start before the first element is the first one, unless there is none. */
	start = clamp(start, size ? 0 : -1, size - 1);
	end = clamp(end, -1, size - 1);
	*first = start;
	/* The smallest step there is has no positive one. */
	return start > end ? (int64_t)((uint64_t)(start - end - 1) / (0 - (uint64_t)step)) + 1 : 0;
}

/* Values of a list, as shapes are. */
static void slice_numbers(struct onnx_reader *r, struct onnx_node *n, int64_t start, int64_t step)
{
	const struct onnx_value *in = n->inputs[0];
	struct onnx_value *out = n->outputs[0];

	if (!in->numbers || !onnx_numbers_new(r, out, (uint64_t)out->shape.dims[0]))
		return;
	for (uint64_t i = 0; i < out->count; i++)
		out->numbers[i] = in->numbers[start + (int64_t)i * step];
}

/*
 * Where a slice begins, if it takes part along one axis alone and leaves no element out there. Each
 * axis is said once.
 */
static void slice_attrs(struct onnx_node *n, const struct slice *s, const struct onnx_shape *out)
{
	const struct onnx_shape *in = &n->inputs[0]->shape;
	uint32_t axis = 0, axes = 0;
	int64_t first = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t d = (uint32_t)(s->axes[i] < 0 ? s->axes[i] + in->rank : s->axes[i]);

		if (s->steps[i] != 1)
			return;
		if (in->dims[d] == out->dims[d])
			continue;
		axis = d;
		first = s->starts[i];
		axes++;
	}
	if (axes <= 1 && in->rank && first <= NPUIMPORT_MAX_DIM)
		npuplan_set_slice(&n->attrs, axis, first);
}

void infer_slice(struct onnx_reader *r, struct onnx_node *n)
{
	struct onnx_shape shape = n->inputs[0]->shape;
	struct slice s;

	infer_like(n);
	if (!read_slice(r, n, &s))
		return;
	for (uint32_t i = 0; i < s.count; i++) {
		int32_t axis = infer_axis(r, n, s.axes[i], shape.rank);

		if (axis < 0)
			return;
		if (!s.steps[i])
			onnx_fail(r, -EINVAL, "%s: a step of 0", onnx_node_text(n).s);
		else
			shape.dims[axis] = sliced(&s.starts[i], s.ends[i], s.steps[i],
						  n->inputs[0]->shape.dims[axis]);
	}
	infer_set(n, 0, n->inputs[0]->type, &shape);
	slice_attrs(n, &s, &shape);
	if (s.count == 1 && shape.rank == 1)
		slice_numbers(r, n, s.starts[0], s.steps[0]);
}

/* Images alone have a window: padding of rows and columns. */
static void pad_window(struct onnx_node *n, const int64_t *begin, const int64_t *end)
{
	uint32_t rank = n->inputs[0]->shape.rank;

	n->attrs.whole = (rank != 4 && rank != 5) || strcmp(n->type, "pad") != 0;
	for (uint32_t d = 0; d < rank; d++)
		n->attrs.whole |= begin[d] < 0 || end[d] < 0 || begin[d] > ONNX_MAX_STEP ||
				  end[d] > ONNX_MAX_STEP || (d < 2 && (begin[d] || end[d]));
	if (n->attrs.whole)
		return;
	n->attrs.spatial = rank - 2;
	for (uint32_t d = 0; d < n->attrs.spatial; d++) {
		n->attrs.kernel[d] = n->attrs.stride[d] = n->attrs.dilation[d] = 1;
		n->attrs.pad_begin[d] = (int32_t)begin[d + 2];
		n->attrs.pad_end[d] = (int32_t)end[d + 2];
	}
}

/* Paddings are an input since opset 11, of some of the dimensions since 18. */
void infer_pad(struct onnx_reader *r, struct onnx_node *n)
{
	struct onnx_shape shape = n->inputs[0]->shape;
	int64_t pads[2 * NPUPLAN_MAX_DIMS], axes[NPUPLAN_MAX_DIMS];
	int64_t begin[NPUPLAN_MAX_DIMS] = { 0 }, end[NPUPLAN_MAX_DIMS] = { 0 };
	uint32_t count, axis_count = 0;

	infer_like(n);
	/* Until values are known that say more. */
	n->attrs.whole = true;
	if (!infer_list(r, n, 1, "pads", 11, pads, 2 * NPUPLAN_MAX_DIMS, &count) ||
	    (n->opset >= 18 && !infer_list(r, n, 3, NULL, 0, axes, NPUPLAN_MAX_DIMS, &axis_count)))
		return;
	if (!axis_count)
		for (axis_count = 0; axis_count < shape.rank; axis_count++)
			axes[axis_count] = axis_count;
	if (count != 2 * axis_count)
		onnx_fail(r, -EINVAL, "%s: %" PRIu32 " paddings of %" PRIu32 " dimensions",
			  onnx_node_text(n).s, count, axis_count);
	for (uint32_t i = 0; i < axis_count && !r->err; i++) {
		int32_t axis = infer_axis(r, n, axes[i], shape.rank);

		if (axis < 0)
			return;
		begin[axis] = pads[i];
		end[axis] = pads[i + axis_count];
	}
	for (uint32_t d = 0; d < shape.rank && !r->err; d++) {
		if (begin[d] < -NPUIMPORT_MAX_DIM || begin[d] > NPUIMPORT_MAX_DIM ||
		    end[d] < -NPUIMPORT_MAX_DIM || end[d] > NPUIMPORT_MAX_DIM ||
		    shape.dims[d] + begin[d] + end[d] < 0) {
			onnx_fail(r, -EINVAL,
				  "%s: paddings %" PRId64 " and %" PRId64 " of %" PRId64
				  " elements",
				  onnx_node_text(n).s, begin[d], end[d], shape.dims[d]);
			return;
		}
		shape.dims[d] += begin[d] + end[d];
	}
	if (strcmp(onnx_attr_text(r, n, "mode", "constant"), "constant") != 0)
		snprintf(n->type, sizeof(n->type), "mirror_pad");
	infer_set(n, 0, n->inputs[0]->type, &shape);
	pad_window(n, begin, end);
}

/* Indices stand where the axis has been. */
void infer_gather(struct onnx_reader *r, struct onnx_node *n)
{
	const struct onnx_shape *data = &n->inputs[0]->shape, *indices = &n->inputs[1]->shape;
	int32_t axis = infer_axis(r, n, onnx_attr_int(r, n, "axis", 0), data->rank);
	struct onnx_shape out = { .known = true, .rank = data->rank + indices->rank - 1 };

	if (axis < 0)
		return;
	if (out.rank > NPUPLAN_MAX_DIMS) {
		onnx_fail(r, -EOPNOTSUPP, "%s: its output has %" PRIu32 " dimensions, more than %d",
			  onnx_node_text(n).s, out.rank, NPUPLAN_MAX_DIMS);
		return;
	}
	for (uint32_t d = 0, to = 0; d < data->rank; d++) {
		if (d != (uint32_t)axis)
			out.dims[to++] = data->dims[d];
		for (uint32_t i = 0; d == (uint32_t)axis && i < indices->rank; i++)
			out.dims[to++] = indices->dims[i];
	}
	infer_set(n, 0, n->inputs[0]->type, &out);
}

void infer_gather_elements(struct onnx_reader *r, struct onnx_node *n)
{
	infer_set(n, 0, n->inputs[0]->type, &n->inputs[1]->shape);
}

/* The last dimension of the indices goes into the data, after @batch dimensions of both. */
void infer_gather_nd(struct onnx_reader *r, struct onnx_node *n)
{
	const struct onnx_shape *data = &n->inputs[0]->shape, *indices = &n->inputs[1]->shape;
	int64_t batch = onnx_attr_int(r, n, "batch_dims", 0), last;
	struct onnx_shape out = *indices;

	if (!infer_rank(r, n, 0, 1, NPUPLAN_MAX_DIMS) || !infer_rank(r, n, 1, 1, NPUPLAN_MAX_DIMS))
		return;
	last = indices->dims[indices->rank - 1];
	if (batch < 0 || batch >= (int64_t)indices->rank || last < 1 ||
	    last > (int64_t)data->rank - batch ||
	    (int64_t)indices->rank - 1 + data->rank - last - batch > NPUPLAN_MAX_DIMS) {
		onnx_fail(r, -EINVAL, "%s: indices of shape %s do not lead into %s",
			  onnx_node_text(n).s, onnx_shape_text(indices).s, onnx_shape_text(data).s);
		return;
	}
	out.rank = indices->rank - 1;
	for (uint32_t d = (uint32_t)(batch + last); d < data->rank; d++)
		out.dims[out.rank++] = data->dims[d];
	infer_set(n, 0, n->inputs[0]->type, &out);
}

void infer_one_hot(struct onnx_reader *r, struct onnx_node *n)
{
	const struct onnx_shape *in = &n->inputs[0]->shape;
	const struct onnx_value *depth = n->inputs[1];
	struct onnx_shape out = { .known = true, .rank = in->rank + 1 };
	int32_t axis;
	int64_t size;

	if (out.rank > NPUPLAN_MAX_DIMS) {
		onnx_fail(r, -EOPNOTSUPP, "%s: its output has %" PRIu32 " dimensions, more than %d",
			  onnx_node_text(n).s, out.rank, NPUPLAN_MAX_DIMS);
		return;
	}
	axis = infer_axis(r, n, onnx_attr_int(r, n, "axis", -1), out.rank);
	if (axis < 0 || !depth->numbers || depth->count != 1)
		return;
	/* It may be of any type; too large a number of a float is not asked for. */
	size = !onnx_is_float(depth->type) ? depth->numbers[0].i :
	       depth->numbers[0].f >= 0 && depth->numbers[0].f <= NPUIMPORT_MAX_DIM ?
					     (int64_t)depth->numbers[0].f :
					     -1;
	for (uint32_t d = 0; d < out.rank; d++)
		out.dims[d] = d == (uint32_t)axis ? size : in->dims[d - (d > (uint32_t)axis)];
	infer_set(n, 0, n->inputs[2]->type, &out);
}
