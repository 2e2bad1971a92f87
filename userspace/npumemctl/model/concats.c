/* SPDX-License-Identifier: MIT */
/*
 * Concats, splits and slices: what is said of parts that are placed in the whole, and of those that
 * are not.
 */
#include <inttypes.h>
#include <string.h>

#include "model.h"

static const struct npuplan_joined *joined_of(const struct npuplan_graph *graph, uint32_t tensor)
{
	for (uint32_t i = 0; i < graph->joined_count; i++)
		if (graph->joined[i].tensor == tensor)
			return &graph->joined[i];
	return NULL;
}

/* Whether a record is of a concat's input, and not of an output of a split or a slice. */
static bool is_input(const struct npuplan_graph *graph, const struct npuplan_concat_input *said)
{
	const char *type = graph->ops[said->op].type;

	return !strcmp(type, "cat") || !strcmp(type, "concat");
}

static const char *text_of(const struct npuplan_graph *graph,
			   const struct npuplan_concat_input *said)
{
	return said->join == NPUPLAN_JOINED && !is_input(graph, said) ?
		       "is part of the input" :
		       npuplan_join_text(said->join);
}

json_t *concats_json(const struct npuplan_graph *graph)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < graph->concat_input_count; i++) {
		const struct npuplan_concat_input *input = &graph->concat_inputs[i];
		const struct npuplan_joined *joined = joined_of(graph, input->tensor);
		json_t *entry = json_pack("{sI sI ss}", "op", (json_int_t)graph->ops[input->op].id,
					  "tensor", (json_int_t)graph->tensors[input->tensor].id,
					  "said", text_of(graph, input));

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
	/* Of inputs of concats, and of outputs of splits. */
	uint32_t parts[2] = { 0, 0 }, all[2] = { 0, 0 };

	for (uint32_t i = 0; i < graph->concat_input_count; i++) {
		bool split = !is_input(graph, &graph->concat_inputs[i]);

		all[split]++;
		parts[split] += graph->concat_inputs[i].join == NPUPLAN_JOINED;
	}
	fprintf(out, "concats      %" PRIu32 " of %" PRIu32 " inputs are parts of outputs\n",
		parts[0], all[0]);
	if (all[1])
		fprintf(out,
			"splits       %" PRIu32 " of %" PRIu32 " outputs are parts of inputs\n",
			parts[1], all[1]);
	for (uint32_t i = 0; i < graph->concat_input_count; i++) {
		const struct npuplan_concat_input *input = &graph->concat_inputs[i];
		const struct npuplan_joined *joined = joined_of(graph, input->tensor);

		fprintf(out, "  %s: %s %s", graph->ops[input->op].name,
			graph->tensors[input->tensor].name, text_of(graph, input));
		if (!input->join && joined)
			fprintf(out,
				": %" PRIu64 " bytes every %" PRIu64 ", from byte %" PRIu64
				" of %s",
				joined->run, joined->stride, joined->first,
				graph->tensors[joined->base].name);
		fputc('\n', out);
	}
}
