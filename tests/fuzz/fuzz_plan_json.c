/* SPDX-License-Identifier: MIT */
/*
 * Plan JSON, for one small graph in whole operators and in two bands: what can
 * be read is written as a blob and given to the verifier, which may refuse it;
 * written as JSON and read again it is the same plan.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_check.h"

/* in -> c -> a -> out, and a skip from in to out's operator. */
static const char graph_text[] =
	"{\"name\":\"fuzz\",\"dtype_bytes\":1,\"layout\":\"NHWC\",\"tensors\":["
	"{\"id\":0,\"name\":\"in\",\"shape\":[1,4,4,2],\"bytes\":32,\"kind\":\"input\"},"
	"{\"id\":1,\"name\":\"c\",\"shape\":[1,4,4,4],\"bytes\":64,\"kind\":\"activation\"},"
	"{\"id\":2,\"name\":\"a\",\"shape\":[1,4,4,2],\"bytes\":32,\"kind\":\"activation\"},"
	"{\"id\":3,\"name\":\"out\",\"shape\":[1,4,4,2],\"bytes\":32,\"kind\":\"output\"}],"
	"\"ops\":["
	"{\"id\":0,\"name\":\"conv\",\"type\":\"conv2d\",\"inputs\":[0],\"outputs\":[1],"
	"\"attrs\":{\"kernel\":[3,3],\"padding\":[1,1]}},"
	"{\"id\":1,\"name\":\"point\",\"type\":\"conv2d\",\"inputs\":[1],\"outputs\":[2],"
	"\"attrs\":{\"kernel\":[1,1]}},"
	"{\"id\":2,\"name\":\"sum\",\"type\":\"add\",\"inputs\":[2,0],\"outputs\":[3]}]}";

static struct npuplan_graph *tiled(uint32_t bands)
{
	struct npuplan_graph *graph = NULL;
	struct npuplan_error error = { 0 };

	FUZZ_ASSERT(!npuimport_graph_json(graph_text, strlen(graph_text), NULL, &graph, NULL,
					  &error),
		    error.text);
	FUZZ_ASSERT(!npuplan_graph_tile_bands(graph, bands, false, &error), error.text);
	return graph;
}

static void check_plan(const struct npuplan_graph *graph, const struct npuplan_plan *plan)
{
	struct npuplan_error error = { 0 };
	struct npuplan_plan *again = NULL;
	struct npumem_verdict verdict;
	char *first = NULL, *second = NULL;
	void *graph_blob = NULL, *blob = NULL;
	size_t graph_size, size;
	char log[4096];

	FUZZ_ASSERT(!npuplan_graph_write(graph, &graph_blob, &graph_size, &error), error.text);
	FUZZ_ASSERT(!npuplan_plan_write(plan, &blob, &size, &error), error.text);
	if (npuplan_verify(graph_blob, graph_size, blob, size, &verdict, log, sizeof(log))) {
		FUZZ_ASSERT(log[0], "a refusal has a log");
		/* What the verifier refuses need not be writable as JSON. */
		goto out;
	}
	FUZZ_ASSERT(!npuplan_plan_to_json(graph, plan, &first, &error), error.text);
	FUZZ_ASSERT(!npuplan_plan_from_json(graph, first, strlen(first), &again, &error),
		    error.text);
	FUZZ_ASSERT(!npuplan_plan_to_json(graph, again, &second, &error), error.text);
	FUZZ_ASSERT(!strcmp(first, second), "writing, reading and writing changes nothing");
out:
	npuplan_plan_free(again);
	free(first);
	free(second);
	free(graph_blob);
	free(blob);
}

/* What a plan says of its tiling can be done, or is refused with a reason. */
static void check_tiling(const char *text, size_t size)
{
	struct npuplan_error error = { 0 };
	struct npuplan_graph *graph = NULL;
	struct npuplan_tiling tiling;

	FUZZ_ASSERT(!npuimport_graph_json(graph_text, strlen(graph_text), NULL, &graph, NULL,
					  &error),
		    error.text);
	if (npuplan_json_tiling(graph, text, size, &tiling, &error) ||
	    npuplan_graph_tile(graph, &tiling, &error))
		FUZZ_ASSERT(error.text[0], "a refusal has a reason");
	npuplan_tiling_fini(&tiling);
	npuplan_graph_free(graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct npuplan_error error = { 0 };

	check_tiling((const char *)data, size);
	for (uint32_t bands = 1; bands <= 2; bands++) {
		struct npuplan_graph *graph = tiled(bands);
		struct npuplan_plan *plan = NULL;

		error.text[0] = '\0';
		if (npuplan_plan_from_json(graph, (const char *)data, size, &plan, &error))
			FUZZ_ASSERT(error.text[0] && !plan, "a refusal has a reason and no plan");
		else
			check_plan(graph, plan);
		npuplan_plan_free(plan);
		npuplan_graph_free(graph);
	}
	return 0;
}
