// SPDX-License-Identifier: MIT
#include "operations.h"

#include <string.h>

#include "shape.h"

static uint64_t elements(const struct npuplan_tensor *tensor)
{
	return tensor->elem_size ? tensor->size / tensor->elem_size : tensor->size;
}

uint64_t npuplan_operations(const struct npuplan_graph *graph, uint32_t op)
{
	const struct npuplan_op *o = &graph->ops[op];
	const struct npuplan_tensor *in = o->input_count ? &graph->tensors[o->inputs[0]] : NULL;
	uint64_t out = 0, each = 1;

	for (uint32_t k = 0; k < o->output_count; k++)
		out += elements(&graph->tensors[o->outputs[k]]);
	if (!in || !in->dim_count)
		return out;
	if (!strncmp(o->type, "conv", 4) || !strncmp(o->type, "depthwise", 9)) {
		uint32_t axis = npuplan_channel_axis(graph, in->dim_count);
		int64_t groups = o->attrs.groups > 0 ? o->attrs.groups : 1;

		for (uint32_t d = 0; d < o->attrs.spatial; d++)
			each *= (uint64_t)(o->attrs.kernel[d] > 0 ? o->attrs.kernel[d] : 1);
		if (axis < in->dim_count && in->shape[axis] >= groups)
			each *= (uint64_t)(in->shape[axis] / groups);
		/* A transposed convolution multiplies once for each input element and weight. */
		return o->attrs.transposed ? elements(in) * each : out * each;
	}
	if (!strcmp(o->type, "linear") || !strcmp(o->type, "matmul"))
		each = (uint64_t)(in->shape[in->dim_count - 1] > 0 ? in->shape[in->dim_count - 1] :
								     1);
	return out * each;
}
