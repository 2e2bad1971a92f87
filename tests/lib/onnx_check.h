/* SPDX-License-Identifier: MIT */
/* ONNX models of tests: read, refused with a sentence, planned and verified. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "npuimport.h"
#include "onnx_build.h"
#include "unit.h"

/* The graph of a model that a strict reader takes. */
static inline struct npuplan_graph *onnx_accept_model(const struct onnx_model *model,
						      const struct npuimport_options *options,
						      struct npuimport_info *info)
{
	struct npuplan_error error = { 0 };
	struct npuplan_graph *graph = NULL;
	size_t size;
	void *file = onnx_model_pack(model, &size);

	if (npuimport_onnx(file, size, "model", options, &graph, info, &error))
		fail_msg("refused: %s", error.text);
	free(file);
	return graph;
}

static inline struct npuplan_graph *onnx_accept(const char *text)
{
	AUTO_ONNX struct onnx_model *model = onnx_model_new(text);

	return onnx_accept_model(model, NULL, NULL);
}

static inline void onnx_refuse_model(const struct onnx_model *model,
				     const struct npuimport_options *options, int err,
				     const char *message)
{
	struct npuplan_error error = { 0 };
	struct npuplan_graph *graph = NULL;
	size_t size;
	void *file = onnx_model_pack(model, &size);
	int got = npuimport_onnx(file, size, "model", options, &graph, NULL, &error);

	assert_string_equal(error.text, message);
	assert_int_equal(got, err);
	assert_null(graph);
	free(file);
}

static inline void onnx_refuse(const char *text, int err, const char *message)
{
	AUTO_ONNX struct onnx_model *model = onnx_model_new(text);

	onnx_refuse_model(model, NULL, err, message);
}

/* "1x3x8x8" of the tensor of this name; "" if there is none. */
static inline const char *onnx_shape_in(const struct npuplan_graph *graph, const char *name)
{
	static char text[128];

	text[0] = '\0';
	for (uint32_t i = 0; i < graph->tensor_count; i++) {
		const struct npuplan_tensor *tensor = &graph->tensors[i];
		size_t used = 0;

		if (strcmp(tensor->name, name) != 0)
			continue;
		if (!tensor->dim_count)
			return "-";
		for (uint32_t d = 0; d < tensor->dim_count; d++)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%lld",
						 d ? "x" : "", (long long)tensor->shape[d]);
	}
	return text;
}

/* The same as graph JSON and back; cut, planned, and accepted by the kernel's verifier. */
static inline void onnx_plan(const char *text, uint32_t bands, uint64_t *arena)
{
	const struct npuplan_options options = { 0 };
	AUTO_GRAPH struct npuplan_graph *graph = onnx_accept(text);
	AUTO_GRAPH struct npuplan_graph *again = NULL;
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	struct npuplan_error error = { 0 };
	AUTO_TEXT char *json = NULL;

	if (npuimport_graph_json_write(graph, &json, &error) ||
	    npuimport_graph_json(json, strlen(json), NULL, &again, NULL, &error) ||
	    npuplan_graph_tile_bands(again, bands, false, &error) ||
	    npuplan_plan(again, &options, &plan, &error) ||
	    npuplan_verify_plan(again, plan, NULL, &error))
		fail_msg("%s", error.text);
	if (arena)
		*arena = plan->info.arena_size;
}
