/* SPDX-License-Identifier: MIT */
/* ONNX models. */
#include "fuzz_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Names that seeds have. */
	static const struct npuimport_dim dims[] = { { "N", 2 }, { "x:1", 3 } };
	struct npuplan_graph *graph = NULL;
	struct npuplan_error error = { 0 };
	struct npuimport_info info = { 0 };
	struct npuimport_warnings warnings = { 0 };
	const struct npuimport_options options = { .warnings = &warnings };
	const struct npuimport_options sized = { .dims = dims, .dim_count = 2 };
	int err = npuimport_onnx(data, size, "fuzz", &options, &graph, &info, &error);

	fuzz_check_warnings(&warnings);
	if (err) {
		fuzz_check_refusal(err, graph, &error);
	} else {
		uint32_t own = 0;

		for (uint32_t i = 0; i < graph->tensor_count; i++)
			own += graph->tensors[i].id < info.tensors;
		FUZZ_ASSERT(own + info.left_out == info.tensors,
			    "the file's tensors are in the graph, or left out");
		FUZZ_ASSERT(info.instances || own == graph->tensor_count,
			    "without graphs of nodes there are no others");
		for (uint32_t i = 0; i < graph->op_count && !info.instances; i++)
			FUZZ_ASSERT(graph->ops[i].id < info.operators,
				    "operators have the file's numbers");
		fuzz_check_graph(graph);
	}
	npuplan_graph_free(graph);
	/* Without a warning a strict reader accepts the same. */
	if (!warnings.total) {
		FUZZ_ASSERT(npuimport_onnx(data, size, "fuzz", NULL, &graph, NULL, &error) == err,
			    error.text);
		npuplan_graph_free(graph);
	}
	if (!npuimport_onnx(data, size, "fuzz", &sized, &graph, NULL, &error))
		fuzz_check_graph(graph);
	npuplan_graph_free(graph);
	return 0;
}
