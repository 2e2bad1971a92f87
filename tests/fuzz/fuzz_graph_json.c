/* SPDX-License-Identifier: MIT */
/* Graph JSON. */
#include "fuzz_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct npuplan_graph *graph = NULL;
	struct npuplan_error error = { 0 };
	int err = npuimport_graph_json((const char *)data, size, &graph, NULL, &error);

	if (err)
		fuzz_check_refusal(err, graph, &error);
	else
		fuzz_check_graph(graph);
	npuplan_graph_free(graph);
	return 0;
}
