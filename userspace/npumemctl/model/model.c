/* SPDX-License-Identifier: MIT */
/* Graphs and plans from files, ready for use. */
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

static bool is_blob(const void *data, size_t size)
{
	static const uint8_t magic[] = { 'N', 'P', 'P', 'L' };

	return size >= sizeof(magic) && !memcmp(data, magic, sizeof(magic));
}

/* Whether a plan, as a blob or JSON, was given where a graph is expected. */
static bool is_plan(const void *data, size_t size)
{
	json_t *object;
	bool placed;

	if (!data || is_blob(data, size))
		return data;
	object = json_loadb(data, size, 0, NULL);
	placed = json_object_get(object, "placements");
	json_decref(object);
	return placed;
}

bool model_import(struct model *model, const char *path, const struct model_reading *reading)
{
	struct npuimport_dim *dims = dims_of(reading);
	/* What comes by standard input has no files beside it. */
	char *copy = strcmp(path, "-") ? strdup(path) : NULL;
	const struct npuimport_options options = {
		.strict = reading->strict,
		.warnings = &model->warnings,
		.dims = dims,
		.dim_count = (uint32_t)reading->dims.count,
		.folder = copy ? dirname(copy) : NULL,
	};
	struct npuplan_error error = { 0 };
	bool read;

	model->path = strcmp(path, "-") ? path : "standard input";
	read = !npuimport_read_file(path, &model->data, &model->data_size, &error) &&
	       !npuimport_buffer(model->data, model->data_size, strcmp(path, "-") ? path : "stdin",
				 &options, &model->graph, &model->info, &error);
	dims_free(dims, reading->dims.count);
	free(copy);
	if (!read) {
		failure(model->path, "%s", error.text);
		if (is_plan(model->data, model->data_size))
			failure(model->path, "this is a plan, where a graph is expected");
		return false;
	}
	if (!reading->quiet)
		warnings_print(model->path, &model->warnings);
	return true;
}

static bool tile_as(struct model *model, const struct tiling *tiling, struct npuplan_tiling *plan)
{
	struct npuplan_error error = { 0 };
	struct npuplan_tiling asked = { 0 };
	int err = 0;

	if (!model->graph->step_count) {
		if (!tiling_of(tiling, model->path, model->graph, plan, &asked))
			return false;
		err = npuplan_graph_tile(model->graph, &asked, &error);
		npuplan_tiling_fini(&asked);
	} else if (tiling->is_said || tiling->asked.with_parameters || tiling->asked.inputs) {
		failure(model->path,
			"a graph blob is cut into steps already: leave out --params, --inputs and "
			"what says how to cut");
		return false;
	}
	if (!err)
		err = npuplan_graph_write(model->graph, &model->blob, &model->blob_size, &error);
	if (err)
		failure(model->path, "%s", error.text);
	return !err;
}

bool model_tile(struct model *model, const struct tiling *tiling)
{
	return tile_as(model, tiling, NULL);
}

void model_untile(struct model *model)
{
	npuplan_graph_untile(model->graph);
	free(model->blob);
	model->blob = NULL;
}

void model_fini(struct model *model)
{
	npuplan_graph_free(model->graph);
	free(model->blob);
	free(model->data);
	*model = (struct model){ 0 };
}

uint64_t model_bytes(const struct npuplan_graph *graph)
{
	uint8_t *seen = calloc(graph->tensor_count + (size_t)1, 1);
	uint64_t bytes = 0;

	if (!seen)
		abort();
	for (uint32_t i = 0; i < graph->tile_count; i++) {
		uint32_t t = graph->tiles[i].tensor;

		/* The bytes are the base's, by whatever name they are accessed. */
		if (graph->tensors[t].flags & NPUMEM_TENSOR_FLAG_ALIAS)
			t = graph->tensors[t].alias_of;
		if (!seen[t])
			bytes += graph->tensors[t].size;
		seen[t] = 1;
	}
	free(seen);
	return bytes;
}

static bool read_plan(struct model *model, struct plan_file *file, void *text, size_t size)
{
	struct npuplan_error error = { 0 };
	int err;

	if (is_blob(text, size)) {
		file->blob = text;
		file->blob_size = size;
		err = npuplan_plan_read(text, size, &file->plan, &error);
	} else {
		err = npuplan_plan_from_json(model->graph, text, size, &file->plan, &error);
		free(text);
		if (!err && file->plan->unbound)
			warning(file->path,
				"the plan has no digest: that it is of this graph only the name "
				"'%s' and its structure say",
				model->graph->name);
		if (!err)
			err = npuplan_plan_write(file->plan, &file->blob, &file->blob_size, &error);
	}
	if (err)
		failure(file->path, "%s", error.text);
	return !err;
}

bool model_with_plan(struct model *model, const char *graph_path,
		     const struct model_reading *reading, struct plan_file *file,
		     const char *plan_path, const struct tiling *tiling)
{
	struct npuplan_tiling said = { 0 };
	struct npuplan_error error = { 0 };
	void *text = NULL;
	size_t size;
	bool tiled = false;

	file->path = strcmp(plan_path, "-") ? plan_path : "standard input";
	if (!strcmp(graph_path, "-") && !strcmp(plan_path, "-")) {
		failure(file->path, "graph and plan cannot both come from there");
		return false;
	}
	if (!model_import(model, graph_path, reading))
		return false;
	if (npuimport_read_file(plan_path, &text, &size, &error) ||
	    (!is_blob(text, size) &&
	     (npuplan_json_tiling(model->graph, text, size, &said, &error) ||
	      (!model->graph->step_count &&
	       npuplan_json_external(model->graph, text, size, &error)))))
		failure(file->path, "%s", error.text);
	else
		tiled = tile_as(model, tiling, &said);
	npuplan_tiling_fini(&said);
	if (tiled)
		return read_plan(model, file, text, size);
	free(text);
	return false;
}

void plan_file_fini(struct plan_file *file)
{
	npuplan_plan_free(file->plan);
	free(file->blob);
	*file = (struct plan_file){ 0 };
}
