// SPDX-License-Identifier: MIT
/* A tiled graph's cells as tensors, its steps as operators. */
#include <stdlib.h>
#include <string.h>

#include "parts.h"

/** struct cutting - @first: part of each cell; one more ends the last cell's */
struct cutting {
	struct npuplan_parts *parts;
	const struct npuplan_graph *graph;
	const struct npuv_graph *cells;
	struct npuplan_error *error;
	uint32_t *first;
	uint32_t *list; /* parts that a step reads, or writes */
	uint32_t listed;
};

static int check_graph(const struct cutting *cut)
{
	const struct npuplan_graph *graph = cut->graph;
	char label[96];

	if (graph->block_count != 1 || graph->edge_count)
		return npuplan_fail(cut->error, -EOPNOTSUPP,
				    "graph %s: cosma plans no loops and branches", graph->name);
	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		const struct npuplan_tensor *tensor = &graph->tensors[t];

		if (tensor->kind == NPUMEM_TENSOR_STATE || tensor->flags & NPUMEM_TENSOR_FIXED)
			return npuplan_fail(cut->error, -EOPNOTSUPP, "%s: cosma plans no %s",
					    npuplan_tensor_label(graph, t, label),
					    tensor->kind == NPUMEM_TENSOR_STATE ? "state" :
										  "fixed offsets");
	}
	for (uint32_t a = 0; a < graph->access_count; a++)
		if (graph->accesses[a].mode == NPUMEM_ACCESS_UPDATE)
			return npuplan_fail(
				cut->error, -EOPNOTSUPP, "%s: cosma plans no updates in place",
				npuplan_tensor_label(graph,
						     graph->tiles[graph->accesses[a].tile].tensor,
						     label));
	return 0;
}

static int add_part(struct cutting *cut, const struct npuv_cell *cell,
		    const struct npuv_segment *segment)
{
	struct npuplan_parts *parts = cut->parts;
	const struct npuplan_tensor *whole = &cut->graph->tensors[cell->tensor];
	struct npuplan_tensor tensor = {
		.size = segment->length,
		.align = whole->align,
		.kind = whole->kind,
		.id = parts->count,
	};
	char label[96];
	int64_t added;
	int err;

	if (parts->count == NPUPLAN_PARTS_MAX)
		return npuplan_fail(cut->error, -E2BIG,
				    "graph %s is cut into more than %u parts: cosma takes no more",
				    cut->graph->name, NPUPLAN_PARTS_MAX);
	/* An alias may be the output, its base the tensor whose bytes must last. */
	if (cell->survives & NPUV_SURVIVES_OUTPUT)
		tensor.kind = NPUMEM_TENSOR_OUTPUT;
	npuplan_tensor_label(cut->graph, cell->tensor, label);
	if (segment->length == whole->size)
		err = asprintf(&tensor.name, "%s", label);
	else
		err = asprintf(&tensor.name, "%s[%llu..%llu]", label,
			       (unsigned long long)segment->first,
			       (unsigned long long)(segment->first + segment->length - 1));
	if (err < 0)
		return -ENOMEM;
	added = npuplan_graph_add_tensor(parts->graph, &tensor);
	free(tensor.name);
	if (added < 0)
		return (int)added;
	err = npuplan_grow(&parts->part, parts->count, sizeof(*parts->part));
	if (err)
		return err;
	parts->part[parts->count++] = (struct npuplan_part){
		.first = segment->first,
		.length = segment->length,
		.tensor = cell->tensor,
	};
	return 0;
}

static int add_parts(struct cutting *cut)
{
	const struct npuv_graph *cells = cut->cells;
	int err = 0;

	for (uint32_t c = 0; c < cells->cell_count && !err; c++) {
		const struct npuv_cell *cell = &cells->cells[c];
		bool external = cut->graph->tensors[cell->tensor].flags & NPUMEM_TENSOR_EXTERNAL;

		cut->first[c] = cut->parts->count;
		for (uint32_t s = 0; s < cell->segment_count && !external && !err; s++)
			err = add_part(cut, cell, &cells->segments[cell->first_segment + s]);
	}
	cut->first[cells->cell_count] = cut->parts->count;
	return err;
}

static int list_parts(struct cutting *cut, const uint32_t *cells, uint32_t count)
{
	int err = 0;

	for (uint32_t i = 0; i < count; i++)
		for (uint32_t p = cut->first[cells[i]]; p < cut->first[cells[i] + 1] && !err; p++) {
			err = npuplan_grow(&cut->list, cut->listed, sizeof(*cut->list));
			if (!err)
				cut->list[cut->listed++] = p;
		}
	return err;
}

static int add_step(struct cutting *cut, uint32_t s)
{
	const struct npuv_graph *cells = cut->cells;
	const struct npuplan_step *step = &cut->graph->steps[s];
	uint32_t end = step->first_access + step->access_count;
	struct npuplan_op op = { .type = (char *)(uintptr_t)"", .id = s };
	char label[96];
	int64_t added;
	int err = 0;

	/* npuplan_grow() goes by the count, so a fresh array starts at none. */
	free(cut->list);
	cut->list = NULL;
	cut->listed = 0;
	npuplan_step_label(cut->graph, s, label);
	for (uint32_t a = step->first_access; a < end && !err; a++)
		err = list_parts(cut, cells->read_cells + cells->read_start[a],
				 cells->read_start[a + 1] - cells->read_start[a]);
	op.input_count = cut->listed;
	for (uint32_t a = step->first_access; a < end && !err; a++)
		err = list_parts(cut, cells->write_cells + cells->write_start[a],
				 cells->write_start[a + 1] - cells->write_start[a]);
	if (err)
		return err;
	op.name = label;
	op.inputs = cut->list;
	op.outputs = cut->list + op.input_count;
	op.output_count = cut->listed - op.input_count;
	added = npuplan_graph_add_op(cut->parts->graph, &op);
	return added < 0 ? (int)added : 0;
}

int npuplan_parts_init(struct npuplan_parts *parts, const struct npuplan_graph *graph,
		       const struct npuv_graph *cells, struct npuplan_error *error)
{
	struct cutting cut = {
		.parts = parts,
		.graph = graph,
		.cells = cells,
		.error = error,
	};
	int err = check_graph(&cut);

	memset(parts, 0, sizeof(*parts));
	if (err)
		return err;
	parts->graph = npuplan_graph_new(graph->name);
	cut.first = malloc(((size_t)cells->cell_count + 1) * sizeof(*cut.first));
	err = parts->graph && cut.first ? add_parts(&cut) : -ENOMEM;
	for (uint32_t s = 0; s < graph->step_count && !err; s++)
		err = add_step(&cut, s);
	free(cut.first);
	free(cut.list);
	if (err == -ENOMEM)
		npuplan_fail(error, err, "out of memory");
	if (err)
		npuplan_parts_fini(parts);
	return err;
}

void npuplan_parts_fini(struct npuplan_parts *parts)
{
	npuplan_graph_free(parts->graph);
	free(parts->part);
	memset(parts, 0, sizeof(*parts));
}
