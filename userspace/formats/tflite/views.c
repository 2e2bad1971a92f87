/* SPDX-License-Identifier: MIT */
/* Operators that only give their input's bytes another shape: aliases. */
#include "reader.h"

bool tflite_is_defined(const struct tflite_reader *r, uint32_t tensor)
{
	const struct npuplan_tensor *t = &r->graph->tensors[tensor];

	return t->kind == NPUMEM_TENSOR_INPUT || t->kind == NPUMEM_TENSOR_PARAMETER ||
	       t->kind == NPUMEM_TENSOR_STATE || (t->flags & NPUMEM_TENSOR_FLAG_ALIAS) ||
	       r->facts[tensor].carried || r->facts[tensor].writer != NPUMEM_NONE;
}

/* Where the metadata wants both they must want the same place. */
static bool fixed_alike(const struct npuplan_tensor *base, const struct npuplan_tensor *view)
{
	if (!(view->flags & NPUMEM_TENSOR_FLAG_FIXED))
		return true;
	return (base->flags & NPUMEM_TENSOR_FLAG_FIXED) && base->fixed_offset == view->fixed_offset;
}

/*
 * Whether an operator only gives its first input's bytes another shape, and the
 * output can be those bytes: nobody writes them again (as state is), and they
 * are in the arena (constants are not). An input that is handed out as an
 * output is copied.
 * @target: number of the output in the file
 */
bool tflite_is_view(const struct tflite_reader *r, int32_t builtin, const struct npuplan_op *op,
		    uint32_t target)
{
	const struct npuplan_tensor *tensors = r->graph->tensors, *in, *out, *base;
	const struct tflite_fact *fact;

	if ((builtin != BUILTIN_RESHAPE && builtin != BUILTIN_SQUEEZE &&
	     builtin != BUILTIN_EXPAND_DIMS) ||
	    !op->input_count || op->output_count != 1 || op->inputs[0] == op->outputs[0])
		return false;
	in = &tensors[op->inputs[0]];
	out = &tensors[op->outputs[0]];
	base = in->flags & NPUMEM_TENSOR_FLAG_ALIAS ? &tensors[in->alias_of] : in;
	if (in->size != out->size || in->elem_size != out->elem_size || !fixed_alike(base, out))
		return false;
	if (base->kind == NPUMEM_TENSOR_PARAMETER || base->kind == NPUMEM_TENSOR_STATE ||
	    (out->kind != NPUMEM_TENSOR_INTERMEDIATE && out->kind != NPUMEM_TENSOR_OUTPUT) ||
	    (base->kind == NPUMEM_TENSOR_INPUT && out->kind == NPUMEM_TENSOR_OUTPUT))
		return false;
	/* Out of order, or for nobody: import_check_graph() shall see the operator. */
	if (!tflite_is_defined(r, op->inputs[0]))
		return false;
	fact = &r->facts[op->outputs[0]];
	return !(out->flags & NPUMEM_TENSOR_FLAG_ALIAS) && fact->writer == NPUMEM_NONE &&
	       !fact->carried && !fact->read &&
	       (r->scope->sub->uses[target] & (USE_READ | USE_OUTPUT));
}

void tflite_make_view(struct tflite_reader *r, const struct npuplan_op *op)
{
	struct npuplan_tensor *in = &r->graph->tensors[op->inputs[0]];
	struct npuplan_tensor *out = &r->graph->tensors[op->outputs[0]];
	bool chained = in->flags & NPUMEM_TENSOR_FLAG_ALIAS;

	out->flags = NPUMEM_TENSOR_FLAG_ALIAS;
	out->fixed_offset = 0;
	out->alias_of = chained ? in->alias_of : op->inputs[0];
	out->alias_offset = chained ? in->alias_offset : 0;
	r->views++;
}
