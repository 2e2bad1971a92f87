/* SPDX-License-Identifier: MIT */
/* Graph JSON. */
#include "fuzz_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct npuimport_warnings warnings = { 0 };
	const struct npuimport_options options = { .warnings = &warnings };
	struct npuplan_graph *graph = NULL, *strict = NULL;
	struct npuplan_error error = { 0 };
	int err = npuimport_graph_json((const char *)data, size, &options, &graph, NULL, &error);

	fuzz_check_warnings(&warnings);
	if (err)
		fuzz_check_refusal(err, graph, &error);
	else
		fuzz_check_graph(graph);
	npuplan_graph_free(graph);
	/* A strict reader refuses what is doubtful, and no more. */
	FUZZ_ASSERT(!!npuimport_graph_json((const char *)data, size, NULL, &strict, NULL, &error) ==
			    (err || warnings.total),
		    error.text);
	npuplan_graph_free(strict);
	return 0;
}
