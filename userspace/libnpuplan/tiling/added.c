// SPDX-License-Identifier: MIT
#include "added.h"

#include <stdio.h>
#include <stdlib.h>

/* Bytes of a sum in the making: 32 bits, as accelerators add up 8-bit and 16-bit products. */
#define SUM_BYTES 4

static int next_id(const struct npuplan_graph *graph, int64_t *id)
{
	*id = 0;
	/* The one that was added last has the largest. */
	if (graph->added_count)
		*id = graph->tensors[graph->tensor_count - 1].id;
	for (uint32_t t = 0; t < graph->tensor_count && !graph->added_count; t++)
		if (graph->tensors[t].id > *id)
			*id = graph->tensors[t].id;
	return *id == INT64_MAX ? -EOVERFLOW : (++*id, 0);
}

/* The shape that a part has, as the graph's source names dimensions. */
static void set_shape(const struct npuplan_graph *graph, const struct npuplan_part *part,
		      const struct npuplan_spatial *view, struct npuplan_tensor *tensor)
{
	uint32_t dims = tensor->dim_count, row_axis = npuplan_row_axis(graph);

	if (dims < 4) {
		/* A matrix, whatever dimensions its rows were. */
		tensor->dim_count = 2;
		tensor->shape[0] = part->rows.count;
		tensor->shape[1] = part->channels.count;
		return;
	}
	tensor->shape[row_axis] = part->rows.count;
	tensor->shape[npuplan_channel_axis(graph, dims)] = part->channels.count;
	if (part->columns.count && part->columns.count < view->row)
		tensor->shape[row_axis + 1] = part->columns.count;
}

/* The view of a part alone, with elements of @elem bytes. */
static struct npuplan_spatial view_of(const struct npuplan_spatial *view,
				      const struct npuplan_part *part, int64_t elem)
{
	struct npuplan_spatial alone = *view;

	alone.rows = part->rows.count;
	alone.channels = part->channels.count;
	alone.row = part->columns.count ? part->columns.count : view->row;
	alone.elem = elem;
	return alone;
}

uint64_t npuplan_sums_bytes(const struct npuplan_spatial *view, const struct npuplan_part *part)
{
	const struct npuplan_spatial alone = view_of(view, part, SUM_BYTES);

	return npuplan_spatial_bytes(&alone);
}

int64_t npuplan_add_part(struct npuplan_graph *graph, uint32_t of, const struct npuplan_part *part,
			 enum npuplan_added_kind kind)
{
	static const char *const names[] = { "sums", "patch" };
	const struct npuplan_added added = {
		.of = of,
		.kind = kind,
		.first_row = part->rows.first,
		.first_channel = part->channels.first,
		.first_column = part->columns.first,
	};
	struct npuplan_tensor tensor = graph->tensors[of];
	struct npuplan_spatial view;
	int64_t index = next_id(graph, &tensor.id);

	if (index < 0)
		return index;
	npuplan_view(graph, of, &view);
	set_shape(graph, part, &view, &tensor);
	view = view_of(&view, part, kind == NPUPLAN_ADDED_SUMS ? SUM_BYTES : view.elem);
	tensor.elem_size = (uint32_t)view.elem;
	tensor.size = npuplan_spatial_bytes(&view);
	tensor.kind = NPUMEM_TENSOR_INTERMEDIATE;
	tensor.flags = 0;
	tensor.fixed_offset = tensor.alias_offset = 0;
	if (asprintf(&tensor.name, "%s.%s[%u]", tensor.name, names[kind], graph->added_count) < 0)
		return -ENOMEM;
	index = npuplan_graph_add_tensor(graph, &tensor);
	free(tensor.name);
	if (index < 0)
		return index;
	if (!npuplan_append(&graph->added, &graph->added_count, &added, 1))
		return index;
	free(graph->tensors[--graph->tensor_count].name);
	return -ENOMEM;
}

void npuplan_drop_added(struct npuplan_graph *graph)
{
	while (graph->added_count) {
		graph->added_count--;
		free(graph->tensors[--graph->tensor_count].name);
	}
	free(graph->added);
	graph->added = NULL;
}
