// SPDX-License-Identifier: MIT
#include "patch_range.h"

static struct npuplan_rows hull(struct npuplan_rows a, struct npuplan_rows b)
{
	int64_t first = a.first < b.first ? a.first : b.first;
	int64_t end = a.first + a.count > b.first + b.count ? a.first + a.count : b.first + b.count;

	return (struct npuplan_rows){ first, end - first };
}

/* Note what a reader needs of a writer's output: of several readers' parts, what holds all. */
static void add_need(struct npuplan_part *need, const struct npuplan_part *part, bool whole_rows)
{
	const struct npuplan_rows all = { 0, 0 };

	if (!part->rows.count)
		return;
	if (!need->rows.count) {
		need->rows = part->rows;
		need->columns = whole_rows ? all : part->columns;
		return;
	}
	need->rows = hull(need->rows, part->rows);
	need->columns = whole_rows ? all : hull(need->columns, part->columns);
}

void npuplan_patch_inputs(struct npuplan_patch_range *range, uint32_t op)
{
	npuplan_tile_inputs(&range->partitions[op], &range->needs[op], range->regions,
			    range->parts);
}

void npuplan_patch_needs(struct npuplan_patch_range *range, const struct npuplan_part *patch)
{
	for (uint32_t i = 0; i + 1 < range->count; i++)
		range->needs[i] = (struct npuplan_part){
			.channels = { 0, range->partitions[i].output.channels },
		};
	range->needs[range->count - 1] = *patch;
	for (uint32_t i = range->count; i-- > 0;) {
		if (!range->needs[i].rows.count)
			continue;
		npuplan_patch_inputs(range, i);
		for (uint32_t k = 0; k < range->partitions[i].op->input_count; k++) {
			uint32_t writer = npuplan_patch_writer(range, i, k);

			if (writer < range->count)
				add_need(&range->needs[writer], &range->parts[k],
					 !patch->columns.count);
		}
	}
}

/* Note which operators write the inputs of others. */
static int find_writers(struct npuplan_patch_range *range)
{
	const struct npuplan_graph *graph = range->graph;
	struct npuplan_pool pool = { 0 };
	uint32_t *of_tensor = npuplan_pool_take(&pool, graph->tensor_count, sizeof(*of_tensor));

	for (uint32_t t = 0; t < graph->tensor_count && of_tensor; t++)
		of_tensor[t] = range->count;
	for (uint32_t i = 0; i < range->count && of_tensor; i++) {
		const struct npuplan_op *op = range->partitions[i].op;

		for (uint32_t k = 0; k < op->input_count; k++)
			range->writers[range->first_input[i] + k] = of_tensor[op->inputs[k]];
		of_tensor[op->outputs[0]] = i;
	}
	npuplan_pool_free(&pool);
	return of_tensor ? 0 : -ENOMEM;
}

int npuplan_patch_range_init(struct npuplan_patch_range *range, const struct npuplan_graph *graph,
			     uint32_t first, uint32_t last)
{
	struct npuplan_pool *pool = &range->pool;
	uint32_t most = 1, inputs = 0;

	*range = (struct npuplan_patch_range){ .graph = graph, .count = last - first + 1 };
	range->partitions = npuplan_pool_take(pool, range->count, sizeof(*range->partitions));
	range->needs = npuplan_pool_take(pool, range->count, sizeof(*range->needs));
	range->first_input = npuplan_pool_take(pool, range->count, sizeof(*range->first_input));
	for (uint32_t i = 0; i < range->count && !pool->failed; i++) {
		uint32_t own = graph->ops[first + i].input_count;

		npuplan_partition_init(&range->partitions[i], graph, first + i, 0);
		range->first_input[i] = inputs;
		inputs += own;
		most = own > most ? own : most;
	}
	range->writers = npuplan_pool_take(pool, inputs, sizeof(*range->writers));
	range->parts = npuplan_pool_take(pool, most, sizeof(*range->parts));
	range->regions = npuplan_pool_take(pool, most, sizeof(*range->regions));
	return pool->failed ? -ENOMEM : find_writers(range);
}
