// SPDX-License-Identifier: MIT
/* Graph blobs: written section by section, read through the verifier. */
#include <stdlib.h>
#include <string.h>

#include "blob.h"
#include "base/internal.h"
#include "checked.h"

struct writer {
	struct npumem_tensor *tensors;
	struct npumem_step *steps;
	struct npumem_block *blocks;
	struct npublob_strings strings;
};

static int write_records(struct writer *w, const struct npuplan_graph *graph)
{
	int err = 0;

	w->tensors = calloc((size_t)graph->tensor_count + 1, sizeof(*w->tensors));
	w->steps = calloc((size_t)graph->step_count + 1, sizeof(*w->steps));
	w->blocks = calloc((size_t)graph->block_count + 1, sizeof(*w->blocks));
	if (!w->tensors || !w->steps || !w->blocks)
		return -ENOMEM;
	for (uint32_t i = 0; i < graph->tensor_count && !err; i++) {
		const struct npuplan_tensor *tensor = &graph->tensors[i];

		w->tensors[i] = (struct npumem_tensor){
			.size = tensor->size,
			.fixed_offset = tensor->fixed_offset,
			.alias_offset = tensor->alias_offset,
			.align = tensor->align,
			.kind = tensor->kind,
			.flags = tensor->flags,
			.alias_of = tensor->alias_of,
		};
		err = npublob_strings_add(&w->strings, tensor->name, &w->tensors[i].name);
	}
	for (uint32_t i = 0; i < graph->step_count && !err; i++) {
		const struct npuplan_step *step = &graph->steps[i];

		w->steps[i] = (struct npumem_step){
			.first_access = step->first_access,
			.access_count = step->access_count,
			.flags = step->flags,
			.cookie = step->cookie,
		};
		err = npublob_strings_add(&w->strings, step->name, &w->steps[i].name);
	}
	for (uint32_t i = 0; i < graph->block_count; i++) {
		w->blocks[i] = graph->blocks[i];
		w->blocks[i].name = NPUMEM_NONE;
	}
	/* A blob has no field for the graph's name: its entry block bears it. */
	if (!err && graph->block_count)
		err = npublob_strings_add(&w->strings, graph->name, &w->blocks[0].name);
	return err;
}

int npuplan_graph_write(const struct npuplan_graph *graph, void **blob, size_t *size,
			struct npuplan_error *error)
{
	struct npublob_section sections[8];
	struct writer w = { 0 };
	uint32_t count = 0;
	int err;

	err = write_records(&w, graph);
	if (err)
		goto out;
#define SECTION(KIND, COUNT, DATA) \
	(sections[count++] = (struct npublob_section){ (KIND), sizeof(*(DATA)), (COUNT), (DATA) })
	SECTION(NPUMEM_GRAPH_SECTION_TENSORS, graph->tensor_count, w.tensors);
	SECTION(NPUMEM_GRAPH_SECTION_TILES, graph->tile_count, graph->tiles);
	SECTION(NPUMEM_GRAPH_SECTION_ACCESSES, graph->access_count, graph->accesses);
	SECTION(NPUMEM_GRAPH_SECTION_STEPS, graph->step_count, w.steps);
	SECTION(NPUMEM_GRAPH_SECTION_BLOCKS, graph->block_count, w.blocks);
	if (graph->edge_count)
		SECTION(NPUMEM_GRAPH_SECTION_EDGES, graph->edge_count, graph->edges);
	if (graph->carry_count)
		SECTION(NPUMEM_GRAPH_SECTION_CARRIES, graph->carry_count, graph->carries);
	if (w.strings.size)
		SECTION(NPUMEM_GRAPH_SECTION_STRINGS, w.strings.size, w.strings.bytes);
#undef SECTION
	err = npublob_write(NPUMEM_GRAPH_MAGIC, sections, count, blob, size);
out:
	if (err)
		npuplan_fail(error, err, "cannot write graph: %s", strerror(-err));
	free_all(w.tensors, w.steps, w.blocks);
	npublob_strings_free(&w.strings);
	return err;
}

int npuplan_copy_section(const struct npuv_section *section, size_t size, void *array,
			 uint32_t *count)
{
	int err = 0;

	*count = 0;
	while (*count < section->count && !err)
		err = npuplan_append_sized(array, count, size, npuv_record(section, *count), 1);
	return err;
}

static int read_tensors(struct npuplan_graph *graph, const struct npuv_graph *checked)
{
	for (uint32_t i = 0; i < checked->tensors.count; i++) {
		const struct npumem_tensor *record = npuv_tensor(checked, i);
		struct npuplan_tensor tensor = {
			.name = strdup(npuv_name(checked, record->name)),
			.size = record->size,
			.fixed_offset = record->fixed_offset,
			.alias_offset = record->alias_offset,
			.align = record->align,
			.kind = record->kind,
			.flags = record->flags,
			.alias_of = record->alias_of,
			.id = i,
		};
		int64_t index = tensor.name ? npuplan_graph_add_tensor(graph, &tensor) : -ENOMEM;

		free(tensor.name);
		if (index < 0)
			return index;
	}
	return 0;
}

static int read_steps(struct npuplan_graph *graph, const struct npuv_graph *checked)
{
	for (uint32_t i = 0; i < checked->steps.count; i++) {
		const struct npumem_step *record = npuv_step(checked, i);
		struct npuplan_step step = {
			.first_access = record->first_access,
			.access_count = record->access_count,
			.flags = record->flags,
			.op = NPUMEM_NONE,
			.name = strdup(npuv_name(checked, record->name)),
			.cookie = record->cookie,
		};
		int err = -ENOMEM;

		if (step.name)
			err = npuplan_append(&graph->steps, &graph->step_count, &step, 1);
		if (err) {
			free(step.name);
			return err;
		}
	}
	return 0;
}

/* What a graph has as it is in a blob. */
static int read_records(struct npuplan_graph *graph, const struct npuv_graph *checked)
{
	int err = 0;

#define COPY(FIELD, COUNT)                                                                       \
	(err = err ? err :                                                                       \
		     npuplan_copy_section(&checked->FIELD, sizeof(*graph->FIELD), &graph->FIELD, \
					  &graph->COUNT))
	COPY(tiles, tile_count);
	COPY(accesses, access_count);
	COPY(blocks, block_count);
	COPY(edges, edge_count);
	COPY(carries, carry_count);
#undef COPY
	for (uint32_t i = 0; i < graph->block_count; i++)
		graph->blocks[i].name = NPUMEM_NONE;
	return err;
}

/* The verifier's form of a blob, whose graph it refuses with a sentence. */
static int check(const void *blob, size_t size, struct npuv_graph **cells,
		 struct npuplan_error *error)
{
	struct npumem_verdict verdict;
	struct npuv_log log;
	char text[256] = "";
	int err;

	npuv_log_init(&log, 1, text, sizeof(text));
	err = npuv_graph_create(blob, size, &npuv_default_limits, &log, &verdict, cells);
	return err ? npuplan_fail_verdict(error, err, "graph", text) : 0;
}

int npuplan_graph_read(const void *blob, size_t size, struct npuplan_graph **out,
		       struct npuplan_error *error)
{
	struct npuv_graph *checked;
	struct npuplan_graph *graph;
	int err = check(blob, size, &checked, error);

	if (err)
		return err;
	graph = npuplan_graph_new(
		checked->blocks.count ? npuv_name(checked, npuv_block(checked, 0)->name) : "");
	err = graph ? read_tensors(graph, checked) : -ENOMEM;
	if (!err)
		err = read_records(graph, checked);
	if (!err)
		err = read_steps(graph, checked);
	npuv_graph_destroy(checked);
	if (err) {
		npuplan_graph_free(graph);
		return npuplan_fail(error, err, "cannot read graph: %s", strerror(-err));
	}
	*out = graph;
	return 0;
}

int npuplan_checked_init(struct npuplan_checked *checked, const struct npuplan_graph *graph,
			 struct npuplan_error *error)
{
	int err;

	memset(checked, 0, sizeof(*checked));
	err = npuplan_graph_write(graph, &checked->blob, &checked->size, error);
	if (!err)
		err = check(checked->blob, checked->size, &checked->cells, error);
	if (err)
		npuplan_checked_fini(checked);
	return err;
}

void npuplan_checked_fini(struct npuplan_checked *checked)
{
	npuv_graph_destroy(checked->cells);
	free(checked->blob);
	memset(checked, 0, sizeof(*checked));
}
