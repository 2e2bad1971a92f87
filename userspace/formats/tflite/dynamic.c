/* SPDX-License-Identifier: MIT */
/*
 * Outputs whose size is decided by values, not by shapes: only the run tells how large they are.
 *
 * TensorFlow Lite gives such an output another size in every inference, and what the file says of
 * it is an example. Values that depend on constants and shapes alone are the same in each; and of
 * an output without an unknown dimension the converter knew that its size is always this one.
 */
#include "reader.h"

#include <errno.h>

/* Which inputs say how large the outputs are, a bit each. */
static const struct {
	int32_t builtin;
	uint32_t inputs;
} deciding[] = {
	{ 34, 1u << 1 },		     /* pad */
	{ 37, 1u << 1 | 1u << 2 },	     /* batch_to_space_nd */
	{ 38, 1u << 1 | 1u << 2 },	     /* space_to_batch_nd */
	{ 45, 1u << 1 | 1u << 2 | 1u << 3 }, /* strided_slice */
	{ 48, 1u << 1 },		     /* topk_v2 */
	{ 60, 1u << 1 },		     /* padv2 */
	{ 65, 1u << 1 | 1u << 2 },	     /* slice */
	{ 67, 1u << 0 },		     /* conv_transpose2d */
	{ 68, 1u << 1 },		     /* sparse_to_dense */
	{ 69, 1u << 1 },		     /* tile */
	{ 85, 1u << 1 },		     /* one_hot */
	{ 94, 1u << 0 },		     /* fill */
	{ 96, 1u << 0 | 1u << 1 | 1u << 2 }, /* range */
	{ 97, 1u << 1 },		     /* resize_nearest */
	{ 23, 1u << 1 },		     /* resize_bilinear */
	{ 100, 1u << 1 },		     /* mirror_pad */
	{ 103, 1u << 0 },		     /* unique */
	{ 109, 1u << 0 },		     /* where */
	{ 120, 1u << 2 },		     /* non_max_suppression_v4 */
	{ 121, 1u << 2 },		     /* non_max_suppression_v5 */
	{ 122, 1u << 2 },		     /* scatter_nd */
	{ 125, 1u << 1 },		     /* segment_sum */
	{ 130, 1u << 1 },		     /* broadcast_to */
	{ 141, 1u << 0 },		     /* conv_transpose3d */
};

/* Of these an output is never known, whatever its shape says. */
static bool is_open(int32_t builtin)
{
	return builtin == BUILTIN_WHERE || builtin == BUILTIN_UNIQUE;
}

static uint32_t deciding_inputs(int32_t builtin)
{
	for (size_t i = 0; i < sizeof(deciding) / sizeof(*deciding); i++)
		if (deciding[i].builtin == builtin)
			return deciding[i].inputs;
	return 0;
}

static bool is_fixed(const struct tflite_reader *r, uint32_t tensor)
{
	return r->graph->tensors[tensor].kind == NPUMEM_TENSOR_PARAMETER || r->facts[tensor].fixed;
}

/* Whether one of the inputs that decide has other values in every inference. */
static bool varies(struct tflite_reader *r, const struct tflite_node *node)
{
	uint32_t inputs = deciding_inputs(node->builtin);

	for (uint32_t i = 0; i < node->inputs.count && inputs >> i; i++) {
		int32_t number = flatbuf_vector_i32(&r->fb, &node->inputs, i);
		uint32_t tensor = number < 0 ? NPUMEM_NONE : r->scope->values[number].tensor;

		if ((inputs >> i & 1) && tensor != NPUMEM_NONE && !is_fixed(r, tensor))
			return true;
	}
	return false;
}

/* Whether the converter did not know one of the dimensions. */
static bool has_unknown(struct tflite_reader *r, uint32_t number)
{
	struct flatbuf_table table = flatbuf_vector_table(&r->fb, &r->scope->sub->tensors, number);
	struct flatbuf_vector signature = flatbuf_vector(&r->fb, &table, TENSOR_SHAPE_SIGNATURE, 4);

	for (uint32_t d = 0; d < signature.count; d++)
		if (flatbuf_vector_i32(&r->fb, &signature, d) < 0)
			return true;
	return false;
}

void tflite_check_dynamic(struct tflite_reader *r, const struct tflite_node *node,
			  const struct npuplan_op *op)
{
	bool fixed = true, by_values = varies(r, node);

	for (uint32_t i = 0; i < op->input_count; i++)
		fixed &= is_fixed(r, op->inputs[i]);
	/* Of shapes, which are the same in every inference. */
	if (node->builtin == BUILTIN_SHAPE || node->builtin == BUILTIN_RANK)
		fixed = true;
	for (uint32_t i = 0; i < op->output_count; i++)
		r->facts[op->outputs[i]].fixed = fixed && op->input_count;
	for (uint32_t i = 0; i < node->outputs.count && by_values; i++) {
		int32_t number = flatbuf_vector_i32(&r->fb, &node->outputs, i);
		uint32_t tensor = number < 0 ? NPUMEM_NONE : r->scope->values[number].tensor;

		if (tensor != NPUMEM_NONE &&
		    (is_open(node->builtin) || has_unknown(r, (uint32_t)number)))
			flatbuf_fail(&r->fb, -EOPNOTSUPP,
				     "%s: values decide how large %s is, which is not known before "
				     "the model runs",
				     import_op_text(op).s,
				     import_tensor_text(&r->graph->tensors[tensor]).s);
	}
}
