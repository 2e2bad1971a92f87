/* SPDX-License-Identifier: MIT */
/* TFLite models of tests: read, refused with a sentence, planned and verified. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "npuimport.h"
#include "tflite_build.h"
#include "unit.h"

/* The graph of a model that a strict reader takes. */
static inline struct npuplan_graph *tflite_accept(const struct tb_model *model,
						  struct npuimport_info *info)
{
	struct npuplan_error error = { 0 };
	struct npuplan_graph *graph = NULL;
	size_t size;
	void *exact = tb_exact(model, &size);

	if (npuimport_tflite(exact, size, "model", NULL, &graph, info, &error))
		fail_msg("refused: %s", error.text);
	free(exact);
	return graph;
}

static inline void tflite_refuse(const struct tb_model *model, int err, const char *message)
{
	struct npuplan_error error = { 0 };
	struct npuplan_graph *graph = NULL;
	size_t size;
	void *exact = tb_exact(model, &size);

	assert_int_equal(npuimport_tflite(exact, size, "model", NULL, &graph, NULL, &error), err);
	assert_string_equal(error.text, message);
	assert_null(graph);
	free(exact);
}

/* The same as graph JSON and back; cut, planned, and accepted by the kernel's verifier. */
static inline void tflite_plan(const struct tb_model *model, uint32_t bands, uint64_t *arena)
{
	const struct npuplan_options options = { 0 };
	AUTO_GRAPH struct npuplan_graph *graph = tflite_accept(model, NULL);
	AUTO_GRAPH struct npuplan_graph *again = NULL;
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	struct npuplan_error error = { 0 };
	AUTO_TEXT char *text = NULL;

	if (npuimport_graph_json_write(graph, &text, &error) ||
	    npuimport_graph_json(text, strlen(text), NULL, &again, NULL, &error) ||
	    npuplan_graph_tile_bands(again, bands, false, &error) ||
	    npuplan_plan(again, &options, &plan, &error) ||
	    npuplan_verify_plan(again, plan, NULL, &error))
		fail_msg("%s", error.text);
	if (arena)
		*arena = plan->info.arena_size;
}
