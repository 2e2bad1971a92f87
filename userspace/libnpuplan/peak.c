// SPDX-License-Identifier: MIT
/* Which tensors make the peak of a plan, and what placing each outside the arena would save. */
#include <stdlib.h>
#include <string.h>

#include "base/internal.h"
#include "base/sorted.h"

/* Sort by bytes, the most first, then by tensor. */
static int by_bytes(const void *left, const void *right)
{
	const struct npuplan_peak_tensor *a = left, *b = right;

	return npuplan_compare(b->bytes, a->bytes) ?: npuplan_compare(a->tensor, b->tensor);
}

NPUPLAN_ORDER(by_tensor, struct npuplan_peak_tensor, tensor)

static uint64_t placed_bytes(const struct npumem_placement *placement)
{
	const struct npumem_region *region = &placement->region;
	uint32_t slots = placement->ring ? placement->ring : region->count[2];

	return region->length * region->count[0] * region->count[1] * slots;
}

/* List the tensors with a placement at the peak, each once, those with most bytes first. */
static int find_tensors(struct npuplan_peak *peak, const struct npuplan_plan *plan)
{
	uint32_t count = 0, instance = 0;

	/*
	 * What passes through a block without positions is placed at the first position of the next
	 * block.
	 */
	while (instance + 1 < plan->block_count &&
	       plan->blocks[instance].first_position + plan->blocks[instance].position_count <=
		       peak->position)
		instance++;
	peak->tensors = calloc((size_t)plan->placement_count + 1, sizeof(*peak->tensors));
	if (!peak->tensors)
		return -ENOMEM;
	for (uint32_t i = 0; i < plan->placement_count; i++) {
		const struct npumem_placement *placement = &plan->placements[i];

		if (placement->block == instance && placement->from <= peak->position &&
		    placement->to >= peak->position)
			peak->tensors[count++] = (struct npuplan_peak_tensor){
				.tensor = placement->tensor,
				.bytes = placed_bytes(placement),
			};
	}
	if (count)
		qsort(peak->tensors, count, sizeof(*peak->tensors), by_tensor);
	for (uint32_t i = 0; i < count; i++) {
		struct npuplan_peak_tensor *last = &peak->tensors[peak->count - !!peak->count];

		if (peak->count && last->tensor == peak->tensors[i].tensor)
			last->bytes += peak->tensors[i].bytes;
		else
			peak->tensors[peak->count++] = peak->tensors[i];
	}
	if (peak->count)
		qsort(peak->tensors, peak->count, sizeof(*peak->tensors), by_bytes);
	return 0;
}

/* Plan once more as if the tensor were external, and note what that saves. */
static int plan_without(const struct npuplan_graph *graph, struct npuplan_tensor *tensors,
			const struct npuplan_options *options, struct npuplan_peak_tensor *found)
{
	struct npuplan_graph without = *graph;
	struct npuplan_tensor *tensor = &tensors[found->tensor], kept = *tensor;
	struct npuplan_plan *plan = NULL;
	int err;

	without.tensors = tensors;
	tensor->flags = (tensor->flags & ~NPUMEM_TENSOR_FLAG_FIXED) | NPUMEM_TENSOR_FLAG_EXTERNAL;
	tensor->fixed_offset = 0;
	err = npuplan_plan(&without, options, &plan, NULL);
	*tensor = kept;
	if (!err) {
		found->bindable = true;
		found->arena_without = plan->info.arena_size;
		found->lower_bound_without = plan->info.lower_bound;
	}
	npuplan_plan_free(plan);
	/*
	 * A tensor that cannot be external, such as one that a loop carries, is an answer, too, and
	 * no error.
	 */
	return err == -ENOMEM ? err : 0;
}

int npuplan_peak_find_sized(const struct npuplan_graph *graph,
			    const struct npuplan_options *options, size_t options_size,
			    const struct npuplan_plan *plan, struct npuplan_peak **out,
			    struct npuplan_error *error)
{
	struct npuplan_taken_options again;
	struct npuplan_tensor *tensors = NULL;
	struct npuplan_peak *peak;
	int err = npuplan_take_options(&again, options, options_size, error);

	if (err)
		return err;
	if (plan->peak_position == NPUMEM_NONE)
		return npuplan_fail(error, -EINVAL, "the plan does not say where its peak is");
	peak = calloc(1, sizeof(*peak));
	if (!peak)
		return npuplan_fail(error, -ENOMEM, "out of memory");
	peak->position = plan->peak_position;
	err = find_tensors(peak, plan);
	if (!err && options) {
		tensors = malloc(graph->tensor_count * sizeof(*tensors) + 1);
		err = tensors ? 0 : -ENOMEM;
		again.all.arena_budget = 0;
		again.all.progress = NULL;
		if (peak->count)
			again.all.deadline_seconds /= peak->count;
	}
	if (tensors)
		memcpy(tensors, graph->tensors, graph->tensor_count * sizeof(*tensors));
	for (uint32_t i = 0; tensors && i < peak->count && !err; i++)
		err = plan_without(graph, tensors, &again.all, &peak->tensors[i]);
	free(tensors);
	if (err) {
		npuplan_peak_free(peak);
		return npuplan_fail(error, err, "peak: %s", strerror(-err));
	}
	*out = peak;
	return 0;
}

void npuplan_peak_free(struct npuplan_peak *peak)
{
	if (!peak)
		return;
	free(peak->tensors);
	free(peak);
}
