// SPDX-License-Identifier: MIT
/* Addresses of stays. */
#include <stdlib.h>

#include "addresses.h"

int cosma_addresses(const struct npuplan_graph *graph, const struct cosma_model *model,
		    const struct cosma_stays *stays, uint64_t capacity, uint32_t first,
		    uint32_t last, uint64_t work_limit, struct cosma_run *run, uint64_t *offsets,
		    uint64_t *top, uint32_t *status)
{
	struct npuplan_item *items = malloc(((size_t)stays->count + 1) * sizeof(*items));
	uint64_t *places = malloc(((size_t)stays->count + 1) * sizeof(*places));
	struct npuplan_pack_problem problem = {
		.items = items,
		.capacity = capacity,
		.alignment = run->options->alignment,
	};
	struct npuplan_pack_options options = {
		.work_limit = work_limit,
		.deadline_seconds = cosma_run_left(run),
	};
	struct npuplan_pack_result result = { 0 };
	int err = items && places ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < stays->count && !err; i++) {
		const struct cosma_stay *stay = &stays->stay[i];
		uint32_t t = stay->parameter ? stay->tensor : model->tensor_of[stay->tensor];

		if (stay->from > last || stay->to < first)
			continue;
		items[problem.item_count++] = (struct npuplan_item){
			.size = graph->tensors[t].size,
			.align = graph->tensors[t].align,
			.start = stay->from > first ? stay->from : first,
			.end = stay->to < last ? stay->to : last,
			.tensor = i,
		};
	}
	if (!err)
		err = npuplan_pack(&problem, &options, places, &result, NULL);
	if (!err) {
		*status = result.status;
		run->work += result.work;
		if (top)
			*top = result.top;
		for (uint32_t i = 0; i < stays->count && offsets; i++)
			offsets[i] = 0;
		for (uint32_t i = 0; i < problem.item_count && offsets && result.top; i++)
			offsets[items[i].tensor] = places[i];
	}
	free(items);
	free(places);
	return err;
}
