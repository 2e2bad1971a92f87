/* SPDX-License-Identifier: MIT */
/* TFLite models. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_check.h"

#define MAX_EMITTED 4096 /* tensors */

/* Written with the plan that it has, the model is the same and has the same plan. */
static void check_emitted(const uint8_t *data, size_t size, const struct npuplan_graph *graph,
			  const struct npuimport_info *info)
{
	uint32_t tensors = info->tensors;
	struct npuplan_error error = { 0 };
	int32_t offsets[MAX_EMITTED];
	void *out = NULL;
	size_t out_size;

	if (tensors > MAX_EMITTED)
		return;
	memset(offsets, 0xff, sizeof(offsets));
	for (uint32_t i = 0; i < graph->tensor_count; i++) {
		const struct npuplan_tensor *tensor = &graph->tensors[i];

		/* Only what is of other subgraphs, or not in the file, has others. */
		FUZZ_ASSERT(info->instances || tensor->id < tensors,
			    "tensors have the file's numbers");
		if (tensor->id < tensors && tensor->flags & NPUMEM_TENSOR_FLAG_FIXED)
			offsets[tensor->id] = (int32_t)(tensor->fixed_offset & ~15ull);
	}
	/* It has read the result again and compared. */
	if (npuimport_tflite_emit(data, size, offsets, tensors, &out, &out_size, &error))
		FUZZ_ASSERT(error.text[0], "a refusal has a reason");
	else
		FUZZ_ASSERT(out && out_size >= size, "there is a file");
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct npuplan_graph *graph = NULL;
	struct npuplan_error error = { 0 };
	struct npuimport_info info = { 0 };
	struct npuimport_warnings warnings = { 0 };
	const struct npuimport_options options = { .warnings = &warnings };
	int err = npuimport_tflite(data, size, "fuzz", &options, &graph, &info, &error);

	fuzz_check_warnings(&warnings);
	if (err) {
		fuzz_check_refusal(err, graph, &error);
	} else {
		check_emitted(data, size, graph, &info);
		fuzz_check_graph(graph);
	}
	npuplan_graph_free(graph);
	/* Without a warning a strict reader accepts the same. */
	if (!warnings.total) {
		FUZZ_ASSERT(npuimport_tflite(data, size, "fuzz", NULL, &graph, NULL, &error) == err,
			    error.text);
		npuplan_graph_free(graph);
	}
	return 0;
}
