// SPDX-License-Identifier: MIT
/* Graph blobs: written array by array, read through the verifier. */
#include <stdlib.h>
#include <string.h>

#include "base/internal.h"
#include "blob.h"
#include "blob_arrays.h"
#include "checked.h"

/*
 * struct graph_records - a graph's arrays as they are in a blob
 *
 * Tensors and steps are other records there than in struct npuplan_graph, and a block may have the
 * graph's name; tiles, accesses, edges and carries are the same.
 */
struct graph_records {
	struct npumem_tensor *tensors;
	struct npumem_tile *tiles;
	struct npumem_access *accesses;
	struct npumem_step *steps;
	struct npumem_block *blocks;
	struct npumem_edge *edges;
	struct npumem_carry *carries;
	uint32_t tensor_count;
	uint32_t tile_count;
	uint32_t access_count;
	uint32_t step_count;
	uint32_t block_count;
	uint32_t edge_count;
	uint32_t carry_count;
};

#define ARRAY(KIND, RECORDS, COUNT, OPTIONAL)                                                      \
	NPUPLAN_BLOB_ARRAY(KIND, struct graph_records, RECORDS, COUNT, struct npuv_graph, RECORDS, \
			   OPTIONAL)

static const struct npuplan_blob_array arrays[] = {
	ARRAY(NPUMEM_GRAPH_SECTION_TENSORS, tensors, tensor_count, false),
	ARRAY(NPUMEM_GRAPH_SECTION_TILES, tiles, tile_count, false),
	ARRAY(NPUMEM_GRAPH_SECTION_ACCESSES, accesses, access_count, false),
	ARRAY(NPUMEM_GRAPH_SECTION_STEPS, steps, step_count, false),
	ARRAY(NPUMEM_GRAPH_SECTION_BLOCKS, blocks, block_count, false),
	ARRAY(NPUMEM_GRAPH_SECTION_EDGES, edges, edge_count, true),
	ARRAY(NPUMEM_GRAPH_SECTION_CARRIES, carries, carry_count, true),
};

enum { ARRAYS = sizeof(arrays) / sizeof(arrays[0]) };

/*
 * Make the records of a graph, with the names that they have in @strings. Tensors, steps and
 * blocks are the caller's to free, the other arrays are the graph's.
 */
static int make_records(const struct npuplan_graph *graph, struct graph_records *records,
			struct npublob_strings *strings)
{
	int err = 0;

	*records = (struct graph_records){
		.tensors = calloc((size_t)graph->tensor_count + 1, sizeof(*records->tensors)),
		.tiles = graph->tiles,
		.accesses = graph->accesses,
		.steps = calloc((size_t)graph->step_count + 1, sizeof(*records->steps)),
		.blocks = calloc((size_t)graph->block_count + 1, sizeof(*records->blocks)),
		.edges = graph->edges,
		.carries = graph->carries,
		.tensor_count = graph->tensor_count,
		.tile_count = graph->tile_count,
		.access_count = graph->access_count,
		.step_count = graph->step_count,
		.block_count = graph->block_count,
		.edge_count = graph->edge_count,
		.carry_count = graph->carry_count,
	};
	if (!records->tensors || !records->steps || !records->blocks)
		return -ENOMEM;
	for (uint32_t i = 0; i < graph->tensor_count && !err; i++) {
		const struct npuplan_tensor *tensor = &graph->tensors[i];

		records->tensors[i] = (struct npumem_tensor){
			.size = tensor->size,
			.fixed_offset = tensor->fixed_offset,
			.alias_offset = tensor->alias_offset,
			.align = tensor->align,
			.kind = tensor->kind,
			.flags = tensor->flags,
			.alias_of = tensor->alias_of,
		};
		err = npublob_strings_add(strings, tensor->name, &records->tensors[i].name);
	}
	for (uint32_t i = 0; i < graph->step_count && !err; i++) {
		const struct npuplan_step *step = &graph->steps[i];

		records->steps[i] = (struct npumem_step){
			.first_access = step->first_access,
			.access_count = step->access_count,
			.flags = step->flags,
			.cookie = step->cookie,
		};
		err = npublob_strings_add(strings, step->name, &records->steps[i].name);
	}
	for (uint32_t i = 0; i < graph->block_count; i++) {
		records->blocks[i] = graph->blocks[i];
		records->blocks[i].name = NPUMEM_NONE;
	}
	/* A blob has no field for the graph's name: its entry block bears it. */
	if (!err && graph->block_count)
		err = npublob_strings_add(strings, graph->name, &records->blocks[0].name);
	return err;
}

int npuplan_graph_write(const struct npuplan_graph *graph, void **blob, size_t *size,
			struct npuplan_error *error)
{
	return npuplan_graph_write_model(graph, NULL, 0, blob, size, error);
}

int npuplan_graph_write_model(const struct npuplan_graph *graph, const void *model,
			      size_t model_size, void **blob, size_t *size,
			      struct npuplan_error *error)
{
	struct npublob_section sections[ARRAYS + 2];
	struct npublob_strings strings = { 0 };
	struct graph_records records;
	uint32_t count;
	int err;

	err = make_records(graph, &records, &strings);
	if (!err) {
		count = npuplan_blob_sections(arrays, ARRAYS, &records, sections);
		if (strings.size)
			sections[count++] = (struct npublob_section){ NPUMEM_GRAPH_SECTION_STRINGS,
								      1, strings.size,
								      strings.bytes };
		if (model_size)
			sections[count++] = (struct npublob_section){ NPUMEM_GRAPH_SECTION_MODEL, 1,
								      model_size, model };
		err = npublob_write(NPUMEM_GRAPH_MAGIC, sections, count, blob, size);
	}
	if (err)
		npuplan_fail(error, err, "cannot write graph: %s", strerror(-err));
	free_all(records.tensors, records.steps, records.blocks);
	npublob_strings_free(&strings);
	return err;
}

static int add_tensors(struct npuplan_graph *graph, const struct npuv_graph *checked,
		       const struct graph_records *records)
{
	for (uint32_t i = 0; i < records->tensor_count; i++) {
		const struct npumem_tensor *record = &records->tensors[i];
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

static int add_steps(struct npuplan_graph *graph, const struct npuv_graph *checked,
		     const struct graph_records *records)
{
	for (uint32_t i = 0; i < records->step_count; i++) {
		const struct npumem_step *record = &records->steps[i];
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

/* Fill a new graph from a checked blob. */
static int read_graph(struct npuplan_graph *graph, const struct npuv_graph *checked)
{
	struct graph_records records = { 0 };
	int err = npuplan_blob_copy(arrays, ARRAYS, checked, &records);

	for (uint32_t i = 0; i < records.block_count; i++)
		records.blocks[i].name = NPUMEM_NONE;
	free(graph->blocks);
	graph->tiles = records.tiles;
	graph->accesses = records.accesses;
	graph->blocks = records.blocks;
	graph->edges = records.edges;
	graph->carries = records.carries;
	graph->tile_count = records.tile_count;
	graph->access_count = records.access_count;
	graph->block_count = records.block_count;
	graph->edge_count = records.edge_count;
	graph->carry_count = records.carry_count;
	if (!err)
		err = add_tensors(graph, checked, &records);
	if (!err)
		err = add_steps(graph, checked, &records);
	free_all(records.tensors, records.steps);
	return err;
}

/* Have a blob checked by the verifier; the error quotes why it refuses the graph. */
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
	err = graph ? read_graph(graph, checked) : -ENOMEM;
	npuv_graph_destroy(checked);
	if (err) {
		npuplan_graph_free(graph);
		return npuplan_fail(error, err, "cannot read graph: %s", strerror(-err));
	}
	*out = graph;
	return 0;
}

/* The section table was seen to be inside the blob, and its entries, too, when it was checked. */
static const struct npumem_blob_section *find_section(const void *blob, uint32_t kind)
{
	const struct npumem_blob_header *header = blob;

	for (uint32_t i = 0; i < header->section_count; i++) {
		const struct npumem_blob_section *section =
			(const void *)((const char *)(header + 1) +
				       (size_t)i * header->section_stride);

		if (section->kind == kind)
			return section;
	}
	return NULL;
}

int npuplan_graph_model(const void *blob, size_t size, const void **model, size_t *model_size,
			struct npuplan_error *error)
{
	const struct npumem_blob_section *section;
	struct npuv_graph *checked;
	int err = check(blob, size, &checked, error);

	if (err)
		return err;
	npuv_graph_destroy(checked);
	section = find_section(blob, NPUMEM_GRAPH_SECTION_MODEL);
	if (!section || !section->count)
		return npuplan_fail(error, -ENODATA, "the graph has no model");
	*model = (const char *)blob + section->offset;
	*model_size = section->count * section->stride;
	return 0;
}

int npuplan_checked_init(struct npuplan_checked *checked, const struct npuplan_graph *graph,
			 struct npuplan_error *error)
{
	int err;

	memset(checked, 0, sizeof(*checked));
	err = npuplan_graph_write(graph, &checked->blob, &checked->size, error);
	if (!err && checked->size > npuv_default_limits.max_blob)
		err = npuplan_fail(
			error, -E2BIG,
			"graph %s: its blob has %zu bytes, at most %llu are taken; fewer "
			"steps and tiles make it smaller",
			graph->name, checked->size,
			(unsigned long long)npuv_default_limits.max_blob);
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
