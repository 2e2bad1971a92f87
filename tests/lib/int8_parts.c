// SPDX-License-Identifier: MIT
#include "int8_parts.h"

const struct npuplan_joined *int8_joined(const struct npuplan_graph *graph, uint32_t tensor)
{
	for (uint32_t i = 0; i < graph->joined_count; i++)
		if (graph->joined[i].tensor == tensor)
			return &graph->joined[i];
	return NULL;
}

uint64_t int8_size(const struct npuplan_graph *graph, uint32_t tensor)
{
	const struct npuplan_joined *joined = int8_joined(graph, tensor);

	return joined ? joined->size : graph->tensors[tensor].size;
}

void int8_locate(const struct npuplan_graph *graph, uint32_t *tensor, uint64_t *byte)
{
	const struct npuplan_joined *joined = int8_joined(graph, *tensor);

	if (!joined)
		return;
	*byte = joined->first + *byte / joined->run * joined->stride + *byte % joined->run;
	*tensor = joined->base;
}

bool int8_locate_back(const struct npuplan_graph *graph, uint32_t tensor, uint64_t *byte)
{
	const struct npuplan_joined *joined = int8_joined(graph, tensor);
	uint64_t run, within;

	if (!joined)
		return true;
	if (*byte < joined->first)
		return false;
	run = (*byte - joined->first) / joined->stride;
	within = (*byte - joined->first) % joined->stride;
	*byte = run * joined->run + within;
	return within < joined->run && *byte < joined->size;
}

bool int8_depth_of(const struct npuplan_graph *graph, uint32_t step, struct int8_depth *depth)
{
	const struct npuplan_step *s = &graph->steps[step];
	const struct npuplan_tensor *in = &graph->tensors[graph->ops[s->op].inputs[0]];
	bool nchw = graph->source_layout == NPUPLAN_NCHW && in->dim_count > 3;
	int64_t all = in->shape[nchw ? 1 : in->dim_count - 1], each = 0, steps;

	for (uint32_t i = 0; i < graph->tiling.op_count; i++)
		if (graph->tiling.ops[i].op == s->op)
			each = graph->tiling.ops[i].depth;
	if (!each || each >= all)
		return false;
	steps = (all + each - 1) / each;
	depth->first = s->tile_index % steps * each;
	depth->count = all - depth->first < each ? all - depth->first : each;
	depth->last = depth->first + depth->count == all;
	return true;
}

const struct npuplan_added *int8_added(const struct npuplan_graph *graph, uint32_t tensor,
				       enum npuplan_added_kind kind)
{
	uint32_t first = graph->tensor_count - graph->added_count;

	return tensor >= first && graph->added[tensor - first].kind == kind ?
		       &graph->added[tensor - first] :
		       NULL;
}

/* Where the part begins, per axis of the tensor; matrices have one axis of rows. */
static void part_begins(const struct npuplan_graph *graph, const struct npuplan_added *added,
			int64_t *begins)
{
	uint32_t dims = graph->tensors[added->of].dim_count;
	bool nhwc = graph->source_layout == NPUPLAN_NHWC;

	for (uint32_t d = 0; d < NPUPLAN_MAX_DIMS; d++)
		begins[d] = 0;
	begins[dims < 4 ? 0 : nhwc ? 1 : 2] = added->first_row;
	begins[dims < 4 ? 1 : nhwc ? dims - 1 : 1] = added->first_channel;
	if (dims >= 4)
		begins[nhwc ? 2 : 3] = added->first_column;
}

void int8_of_part(const struct npuplan_graph *graph, const struct npuplan_added *added,
		  const int64_t *own, int64_t *at)
{
	const struct npuplan_tensor *whole = &graph->tensors[added->of];
	uint32_t dims = whole->dim_count;
	int64_t begins[NPUPLAN_MAX_DIMS];

	part_begins(graph, added, begins);
	if (dims < 4) {
		int64_t row = own[0] + begins[0];

		at[dims - 1] = own[1] + begins[1];
		for (uint32_t d = dims - 1; d-- > 0; row /= whole->shape[d])
			at[d] = row % whole->shape[d];
		return;
	}
	for (uint32_t d = 0; d < dims; d++)
		at[d] = own[d] + begins[d];
}

bool int8_in_part(const struct npuplan_graph *graph, uint32_t tensor, const int64_t *at,
		  int64_t *own)
{
	const struct npuplan_added *added =
		&graph->added[tensor - (graph->tensor_count - graph->added_count)];
	const struct npuplan_tensor *part = &graph->tensors[tensor];
	const struct npuplan_tensor *whole = &graph->tensors[added->of];
	int64_t begins[NPUPLAN_MAX_DIMS], flat[2] = { 0 };

	part_begins(graph, added, begins);
	for (uint32_t d = 0; whole->dim_count < 4 && d < whole->dim_count; d++)
		if (d + 1 < whole->dim_count)
			flat[0] = flat[0] * whole->shape[d] + at[d];
		else
			flat[1] = at[d];
	for (uint32_t d = 0; d < part->dim_count; d++) {
		own[d] = (whole->dim_count < 4 ? flat[d] : at[d]) - begins[d];
		if (own[d] < 0 || own[d] >= part->shape[d])
			return false;
	}
	return true;
}
