/* SPDX-License-Identifier: MIT */
/*
 * Aliases in graph JSON: tensors that are ranges of other tensors' bytes. A file
 * may chain them; in struct npuplan_graph every alias leads to its base.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "reader.h"
#include "npuimport.h"

/* Which tensor each one is part of, as the file says; they may stand later. */
static int read_parents(struct graph_json_reader *reader, json_t *list)
{
	json_t *object;
	size_t i;

	json_array_foreach(list, i, object) {
		struct npuplan_tensor *tensor = &reader->graph->tensors[i];
		int64_t id;

		if (!(tensor->flags & NPUMEM_TENSOR_ALIAS))
			continue;
		id = json_integer_value(json_object_get(object, "alias_of"));
		tensor->alias_of = graph_json_tensor_of_id(reader, id);
		if (tensor->alias_of == NPUMEM_NONE)
			return graph_json_fail(reader, graph_json_path("$.tensors[%zu]", i).s,
					       "alias_of", "no tensor has id %" PRId64, id);
	}
	return 0;
}

static int check_range(struct graph_json_reader *reader, uint32_t index)
{
	const struct npuplan_tensor *tensor = &reader->graph->tensors[index];
	const struct npuplan_tensor *whole = &reader->graph->tensors[tensor->alias_of];

	if (tensor->alias_offset + tensor->size <= whole->size)
		return 0;
	return graph_json_fail(reader, graph_json_path("$.tensors[%" PRIu32 "]", index).s,
			       "alias_of",
			       "bytes %" PRIu64 " to %" PRIu64 " are not inside %s of %" PRIu64
			       " bytes",
			       tensor->alias_offset, tensor->alias_offset + tensor->size - 1,
			       import_tensor_text(whole).s, whole->size);
}

/* What an alias may be, and where: its address goes by that of its base. */
static int check_alias(struct graph_json_reader *reader, uint32_t index)
{
	const struct npuplan_tensor *tensor = &reader->graph->tensors[index];
	const struct npuplan_tensor *base = &reader->graph->tensors[tensor->alias_of];
	struct graph_json_path path = graph_json_path("$.tensors[%" PRIu32 "]", index);

	if (tensor->alias_offset % tensor->align)
		return graph_json_fail(reader, path.s, "alias_offset",
				       "byte %" PRIu64
				       " of %s is not at a multiple of the alignment of "
				       "%s, %" PRIu32,
				       tensor->alias_offset, import_tensor_text(base).s,
				       import_tensor_text(tensor).s, tensor->align);
	if (tensor->kind != base->kind && tensor->kind != NPUMEM_TENSOR_INTERMEDIATE &&
	    tensor->kind != NPUMEM_TENSOR_OUTPUT)
		return graph_json_fail(
			reader, path.s, "kind",
			"%s is part of %s: it must be an activation, an output, or of "
			"the same kind",
			import_tensor_text(tensor).s, import_tensor_text(base).s);
	return 0;
}

/*
 * Lead every alias from @start up to the base; those that are @done do already.
 * @chain: room for as many as there are tensors. Each is walked over once.
 */
static int flatten(struct graph_json_reader *reader, uint32_t start, bool *done, uint32_t *chain)
{
	struct npuplan_tensor *tensors = reader->graph->tensors;
	uint32_t length = 0, at = start;

	while ((tensors[at].flags & NPUMEM_TENSOR_ALIAS) && !done[at]) {
		/* More names than there are tensors: one came twice. */
		if (length == reader->graph->tensor_count)
			return graph_json_fail(reader,
					       graph_json_path("$.tensors[%" PRIu32 "]", start).s,
					       "alias_of", "%s is an alias of itself",
					       import_tensor_text(&tensors[start]).s);
		chain[length++] = at;
		at = tensors[at].alias_of;
	}
	while (length) {
		struct npuplan_tensor *tensor = &tensors[chain[--length]];
		const struct npuplan_tensor *parent = &tensors[tensor->alias_of];

		if (parent->flags & NPUMEM_TENSOR_ALIAS) {
			tensor->alias_offset += parent->alias_offset;
			tensor->alias_of = parent->alias_of;
		}
		done[chain[length]] = true;
	}
	return 0;
}

int graph_json_aliases(struct graph_json_reader *reader, json_t *list)
{
	const struct npuplan_graph *graph = reader->graph;
	bool *done = calloc(graph->tensor_count + (size_t)1, sizeof(*done));
	uint32_t *chain = malloc((graph->tensor_count + (size_t)1) * sizeof(*chain));
	int err = done && chain ? read_parents(reader, list) :
				  import_fail(reader->error, -ENOMEM, "out of memory");

	for (uint32_t i = 0; !err && i < graph->tensor_count; i++)
		if (graph->tensors[i].flags & NPUMEM_TENSOR_ALIAS)
			err = check_range(reader, i);
	for (uint32_t i = 0; !err && i < graph->tensor_count; i++)
		err = flatten(reader, i, done, chain);
	for (uint32_t i = 0; !err && i < graph->tensor_count; i++)
		if (graph->tensors[i].flags & NPUMEM_TENSOR_ALIAS)
			err = check_alias(reader, i);
	free(done);
	free(chain);
	return err;
}
