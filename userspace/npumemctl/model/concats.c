/* SPDX-License-Identifier: MIT */
/*
 * Concats: what is said of inputs that are placed as parts of outputs, and of those that are not.
 */
#include <inttypes.h>

#include "model.h"

static const struct npuplan_joined *joined_of(const struct npuplan_graph *graph, uint32_t tensor)
{
	for (uint32_t i = 0; i < graph->joined_count; i++)
		if (graph->joined[i].tensor == tensor)
			return &graph->joined[i];
	return NULL;
}

json_t *concats_json(const struct npuplan_graph *graph)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < graph->concat_input_count; i++) {
		const struct npuplan_concat_input *input = &graph->concat_inputs[i];
		const struct npuplan_joined *joined = joined_of(graph, input->tensor);
		json_t *entry = json_pack("{sI sI ss}", "op", (json_int_t)graph->ops[input->op].id,
					  "tensor", (json_int_t)graph->tensors[input->tensor].id,
					  "said", npuplan_join_text(input->join));

		json_object_set_new(entry, "joined", json_boolean(!input->join));
		if (!input->join && joined) {
			json_object_set_new(entry, "base",
					    json_integer(graph->tensors[joined->base].id));
			json_object_set_new(entry, "first",
					    json_integer((json_int_t)joined->first));
			json_object_set_new(entry, "run", json_integer((json_int_t)joined->run));
			json_object_set_new(entry, "stride",
					    json_integer((json_int_t)joined->stride));
		}
		json_array_append_new(list, entry);
	}
	return list;
}

void concats_print(FILE *out, const struct npuplan_graph *graph)
{
	uint32_t parts = 0;

	for (uint32_t i = 0; i < graph->concat_input_count; i++)
		parts += graph->concat_inputs[i].join == NPUPLAN_JOINED;
	fprintf(out, "concats      %" PRIu32 " of %" PRIu32 " inputs are parts of outputs\n", parts,
		graph->concat_input_count);
	for (uint32_t i = 0; i < graph->concat_input_count; i++) {
		const struct npuplan_concat_input *input = &graph->concat_inputs[i];
		const struct npuplan_joined *joined = joined_of(graph, input->tensor);

		fprintf(out, "  %s: %s %s", graph->ops[input->op].name,
			graph->tensors[input->tensor].name, npuplan_join_text(input->join));
		if (!input->join && joined)
			fprintf(out,
				": %" PRIu64 " bytes every %" PRIu64 ", from byte %" PRIu64
				" of %s",
				joined->run, joined->stride, joined->first,
				graph->tensors[joined->base].name);
		fputc('\n', out);
	}
}
