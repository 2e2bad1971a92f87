// SPDX-License-Identifier: MIT
/* Ids of a graph, and the tensors and steps that they are of. */
#include "plan_json.h"

#include <stdlib.h>

int npuplan_ids_init(struct npuplan_ids *ids, const struct npuplan_graph *graph,
		     struct npuplan_error *error)
{
	const struct npujson_id *twice;
	const char *what = "tensors";

	*ids = (struct npuplan_ids){ 0 };
	ids->tensors = malloc((size_t)graph->tensor_count * sizeof(*ids->tensors) + 1);
	ids->steps = malloc((size_t)graph->step_count * sizeof(*ids->steps) + 1);
	if (!ids->tensors || !ids->steps) {
		npuplan_ids_fini(ids);
		return npuplan_fail(error, -ENOMEM, "out of memory");
	}
	for (uint32_t i = 0; i < graph->tensor_count; i++)
		ids->tensors[ids->tensor_count++] =
			(struct npujson_id){ .id = graph->tensors[i].id, .index = i };
	for (uint32_t i = 0; i < graph->step_count; i++) {
		const struct npuplan_step *step = &graph->steps[i];

		if (step->op < graph->op_count)
			ids->steps[ids->step_count++] = (struct npujson_id){
				.id = graph->ops[step->op].id,
				.tile = step->tile_index,
				.index = i,
			};
	}
	twice = npujson_sort_ids(ids->tensors, ids->tensor_count);
	if (!twice) {
		what = "operators";
		twice = npujson_sort_ids(ids->steps, ids->step_count);
	}
	if (twice) {
		npuplan_fail(error, -EINVAL, "graph %s: two %s have id %lld", graph->name, what,
			     (long long)twice->id);
		npuplan_ids_fini(ids);
		return -EINVAL;
	}
	return 0;
}

uint32_t npuplan_ids_tensor(const struct npuplan_ids *ids, const json_t *id)
{
	if (!json_is_integer(id))
		return NPUMEM_NONE;
	return npujson_find(ids->tensors, ids->tensor_count, json_integer_value(id), 0);
}

void npuplan_ids_fini(struct npuplan_ids *ids)
{
	free(ids->tensors);
	free(ids->steps);
	*ids = (struct npuplan_ids){ 0 };
}
