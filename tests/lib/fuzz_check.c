/* SPDX-License-Identifier: MIT */
#include "fuzz_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Larger graphs are not planned: the readers are what is fuzzed. */
#define MAX_OPS	   64
#define MAX_TENSOR (1u << 20)

void fuzz_abort(const char *condition, const char *text)
{
	fprintf(stderr, "does not hold: %s (%s)\n", condition, text ? text : "");
	abort();
}

void fuzz_check_refusal(int err, const struct npuplan_graph *graph,
			const struct npuplan_error *error)
{
	FUZZ_ASSERT(err < 0, "errors are negative");
	FUZZ_ASSERT(!graph, "a refusal leaves no graph");
	FUZZ_ASSERT(error->text[0], "a refusal has a reason");
	FUZZ_ASSERT(memchr(error->text, 0, sizeof(error->text)), "the reason ends");
}

void fuzz_check_warnings(const struct npuimport_warnings *warnings)
{
	uint64_t total = warnings->unlisted;
	char text[512];

	FUZZ_ASSERT(warnings->count <= NPUIMPORT_WARNINGS, "warnings are bounded");
	for (uint32_t i = 0; i < warnings->count; i++) {
		const struct npuimport_warning *warning = &warnings->list[i];

		FUZZ_ASSERT(warning->count && warning->text[0], "a warning says something");
		FUZZ_ASSERT(warning->kind < NPUIMPORT_DOUBTS, "of some kind");
		npuimport_warning_text(warning, text, sizeof(text));
		FUZZ_ASSERT(memchr(text, 0, sizeof(text)), "the text ends");
		total += warning->count;
	}
	FUZZ_ASSERT(total == warnings->total, "warnings add up");
}

static void check_text(const struct npuplan_graph *graph)
{
	struct npuplan_graph *again = NULL;
	struct npuplan_error error = { 0 };
	char *first = NULL, *second = NULL;

	FUZZ_ASSERT(!npuimport_graph_json_write(graph, &first, &error), error.text);
	FUZZ_ASSERT(!npuimport_graph_json(first, strlen(first), NULL, &again, NULL, &error),
		    error.text);
	FUZZ_ASSERT(!npuimport_graph_json_write(again, &second, &error), error.text);
	FUZZ_ASSERT(!strcmp(first, second), "writing, reading and writing changes nothing");
	npuplan_graph_free(again);
	free(first);
	free(second);
}

/* A copy of a graph, untiled. */
static struct npuplan_graph *copy(const struct npuplan_graph *graph)
{
	struct npuplan_graph *again = NULL;
	struct npuplan_error error = { 0 };
	char *text = NULL;

	FUZZ_ASSERT(!npuimport_graph_json_write(graph, &text, &error), error.text);
	FUZZ_ASSERT(!npuimport_graph_json(text, strlen(text), NULL, &again, NULL, &error),
		    error.text);
	free(text);
	return again;
}

static void check_plan(struct npuplan_graph *graph)
{
	const struct npuplan_options options = { 0 };
	struct npuplan_plan *plan = NULL;
	struct npuplan_error error = { 0 };
	struct npuplan_graph *again = NULL;
	void *blob = NULL;
	size_t size;

	if (!npuplan_graph_write(graph, &blob, &size, &error) &&
	    !npuplan_graph_read(blob, size, &again, &error)) {
		if (npuplan_plan(graph, &options, &plan, &error))
			FUZZ_ASSERT(error.text[0], "a refusal has a reason");
		npuplan_plan_free(plan);
	} else {
		FUZZ_ASSERT(error.text[0], "a refusal has a reason");
	}
	npuplan_graph_free(again);
	free(blob);
}

void fuzz_check_graph(struct npuplan_graph *graph)
{
	struct npuplan_error error = { 0 };
	struct npuplan_graph *bands;
	bool small = graph->op_count <= MAX_OPS;

	FUZZ_ASSERT(graph->op_count, "an accepted graph has operators");
	check_text(graph);
	for (uint32_t i = 0; i < graph->tensor_count; i++) {
		FUZZ_ASSERT(graph->tensors[i].size && graph->tensors[i].size <= NPUIMPORT_MAX_BYTES,
			    "sizes are in range");
		small &= graph->tensors[i].size <= MAX_TENSOR;
	}
	if (!small)
		return;
	bands = copy(graph);
	if (!npuplan_graph_tile_bands(graph, 1, true, &error))
		check_plan(graph);
	else
		FUZZ_ASSERT(error.text[0], "a refusal has a reason");
	if (!npuplan_graph_tile_bands(bands, 3, false, &error))
		check_plan(bands);
	else
		FUZZ_ASSERT(error.text[0], "a refusal has a reason");
	npuplan_graph_free(bands);
}
