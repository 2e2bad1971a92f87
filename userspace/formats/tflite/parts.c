/* SPDX-License-Identifier: MIT */
/*
 * Splits and slices: the axis along which they take their input apart, and where a slice begins.
 * Constants of the model say so; where they are computed nothing is known, and nothing said.
 */
#include <errno.h>
#include <inttypes.h>

#include "npuimport.h"
#include "reader.h"

/*
 * The constant integers of an input, which has to have @count of them; false: they are computed, or
 * something is wrong.
 */
static bool read_constants(struct tflite_reader *r, const struct npuplan_op *op,
			   const uint32_t *sources, uint32_t input, uint32_t count, int64_t *values)
{
	struct flatbuf_vector data;
	bool wide;

	if (input >= op->input_count) {
		flatbuf_fail(&r->fb, -EINVAL, "%s: it has no input %" PRIu32, import_op_text(op).s,
			     input);
		return false;
	}
	data = r->scope->sub->data[sources[input]];
	if (!data.present)
		return false;
	wide = r->graph->tensors[op->inputs[input]].elem_size == 8;
	if (data.count != count * (wide ? 8 : 4)) {
		flatbuf_fail(&r->fb, -EINVAL,
			     "%s: its input %" PRIu32 " has %" PRIu32 " bytes, must have %" PRIu32,
			     import_op_text(op).s, input, data.count, count * (wide ? 8 : 4));
		return false;
	}
	for (uint32_t i = 0; i < count; i++)
		values[i] = wide ? flatbuf_vector_i64(&r->fb, &data, i) :
				   flatbuf_vector_i32(&r->fb, &data, i);
	return true;
}

/* @data: the input that is split; @input: that has the axis */
static void split_attrs(struct tflite_reader *r, const uint32_t *sources, uint32_t data,
			uint32_t input, struct npuplan_op *op)
{
	int64_t axis, rank;

	if (!read_constants(r, op, sources, input, 1, &axis) || data >= op->input_count)
		return;
	rank = r->graph->tensors[op->inputs[data]].dim_count;
	if (axis < -rank || axis >= rank) {
		flatbuf_fail(&r->fb, -EINVAL, "%s: axis %" PRId64 " of %" PRId64 " dimensions",
			     import_op_text(op).s, axis, rank);
		return;
	}
	op->attrs.axis = (int32_t)(axis < 0 ? axis + rank : axis);
	for (uint32_t i = 0; i < op->output_count; i++)
		op->attrs.converts |= tflite_converts(r, op->inputs[data], op->outputs[i]);
}

/*
 * A slice that begins at @first, and takes every element from there on that its output has room
 * for. The axis along which it takes part is known if there is one alone; of a slice that takes
 * all it is the first.
 */
static void slice_attrs(struct tflite_reader *r, const int64_t *first, struct npuplan_op *op)
{
	const struct npuplan_tensor *in = &r->graph->tensors[op->inputs[0]];
	const struct npuplan_tensor *out = &r->graph->tensors[op->outputs[0]];
	uint32_t axis = 0, axes = 0;

	for (uint32_t d = 0; d < in->dim_count; d++) {
		/* Fewer elements are there than an int64_t has, so that nothing wraps. */
		if (first[d] < 0 || first[d] > in->shape[d] ||
		    out->shape[d] > in->shape[d] - first[d]) {
			flatbuf_fail(&r->fb, -EINVAL,
				     "%s: no %" PRId64 " elements from %" PRId64 " on of %" PRId64
				     " along dimension %" PRIu32,
				     import_op_text(op).s, out->shape[d], first[d], in->shape[d],
				     d);
			return;
		}
		if (out->shape[d] == in->shape[d])
			continue;
		axis = d;
		axes++;
	}
	if (axes <= 1 && in->dim_count)
		npuplan_set_slice(&op->attrs, axis, first[axis]);
	op->attrs.converts = tflite_converts(r, op->inputs[0], op->outputs[0]);
}

/* Whether the output has the input's dimensions, so that where it begins is all there is to say. */
static bool is_alike(const struct tflite_reader *r, const struct npuplan_op *op)
{
	return op->input_count && r->graph->tensors[op->inputs[0]].dim_count ==
					  r->graph->tensors[op->outputs[0]].dim_count;
}

static void strided_slice_attrs(struct tflite_reader *r, const struct flatbuf_table *table,
				const uint32_t *sources, struct npuplan_op *op)
{
	struct flatbuf_table options = flatbuf_table(&r->fb, table, OPERATOR_OPTIONS);
	int64_t first[NPUPLAN_MAX_DIMS], step[NPUPLAN_MAX_DIMS];
	const struct npuplan_tensor *in;
	uint32_t begin_mask = 0;

	if (options.present) {
		begin_mask = flatbuf_u32(&r->fb, &options, STRIDED_SLICE_BEGIN_MASK, 0);
		if (flatbuf_u32(&r->fb, &options, STRIDED_SLICE_ELLIPSIS_MASK, 0) ||
		    flatbuf_u32(&r->fb, &options, STRIDED_SLICE_NEW_AXIS_MASK, 0) ||
		    flatbuf_u32(&r->fb, &options, STRIDED_SLICE_SHRINK_AXIS_MASK, 0))
			return;
	}
	if (!is_alike(r, op))
		return;
	in = &r->graph->tensors[op->inputs[0]];
	if (!read_constants(r, op, sources, 1, in->dim_count, first) ||
	    !read_constants(r, op, sources, 3, in->dim_count, step))
		return;
	for (uint32_t d = 0; d < in->dim_count; d++) {
		/* What is left out between elements is no part that lies somewhere. */
		if (step[d] != 1)
			return;
		if (begin_mask & 1u << d)
			first[d] = 0;
		else if (first[d] < 0)
			first[d] = first[d] < -in->shape[d] ? 0 : first[d] + in->shape[d];
		else if (first[d] > in->shape[d])
			first[d] = in->shape[d];
	}
	slice_attrs(r, first, op);
}

void tflite_part_attrs(struct tflite_reader *r, const struct flatbuf_table *table, int32_t builtin,
		       const uint32_t *sources, struct npuplan_op *op)
{
	int64_t first[NPUPLAN_MAX_DIMS];

	switch (builtin) {
	case BUILTIN_SPLIT:
		split_attrs(r, sources, 1, 0, op);
		break;
	case BUILTIN_SPLIT_V:
		split_attrs(r, sources, 0, 2, op);
		break;
	case BUILTIN_STRIDED_SLICE:
		strided_slice_attrs(r, table, sources, op);
		break;
	case BUILTIN_SLICE:
		if (is_alike(r, op) &&
		    read_constants(r, op, sources, 1, r->graph->tensors[op->inputs[0]].dim_count,
				   first))
			slice_attrs(r, first, op);
		break;
	}
}
