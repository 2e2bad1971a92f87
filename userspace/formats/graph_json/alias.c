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
static void read_parents(struct graph_json_reader *r, json_t *list)
{
	json_t *object;
	size_t i;

	json_array_foreach(list, i, object) {
		struct npuplan_tensor *tensor = &r->graph->tensors[i];
		int64_t id;

		if (!(tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS))
			continue;
		id = json_integer_value(json_object_get(object, "alias_of"));
		tensor->alias_of = graph_json_tensor_of_id(r, id);
		if (tensor->alias_of == NPUMEM_NONE) {
			npujson_enter(r->json, ".tensors[%zu]", i);
			npujson_fail(r->json, "alias_of", "no tensor has id %" PRId64, id);
			return;
		}
	}
}

static void check_range(struct graph_json_reader *r, const struct npuplan_tensor *tensor)
{
	const struct npuplan_tensor *whole = &r->graph->tensors[tensor->alias_of];

	if (tensor->alias_offset + tensor->size > whole->size)
		npujson_fail(r->json, "alias_of",
			     "bytes %" PRIu64 " to %" PRIu64 " are not inside %s of %" PRIu64
			     " bytes",
			     tensor->alias_offset, tensor->alias_offset + tensor->size - 1,
			     import_tensor_text(whole).s, whole->size);
}

/* An alias must fit into its base, whose address decides its own. */
static void check_alias(struct graph_json_reader *r, const struct npuplan_tensor *tensor)
{
	const struct npuplan_tensor *base = &r->graph->tensors[tensor->alias_of];

	if (tensor->alias_offset % tensor->align)
		npujson_fail(r->json, "alias_offset",
			     "byte %" PRIu64
			     " of %s is not at a multiple of the alignment of %s, %" PRIu32,
			     tensor->alias_offset, import_tensor_text(base).s,
			     import_tensor_text(tensor).s, tensor->align);
	if (tensor->kind != base->kind && tensor->kind != NPUMEM_TENSOR_INTERMEDIATE &&
	    tensor->kind != NPUMEM_TENSOR_OUTPUT)
		npujson_fail(r->json, "kind",
			     "%s is part of %s: it must be an activation, an output, or of "
			     "the same kind",
			     import_tensor_text(tensor).s, import_tensor_text(base).s);
}

/* @check each alias, as the file has it at its place. */
static void check_all(struct graph_json_reader *r,
		      void (*check)(struct graph_json_reader *, const struct npuplan_tensor *))
{
	for (uint32_t i = 0; i < r->graph->tensor_count && !r->json->err; i++) {
		size_t outside = npujson_enter(r->json, ".tensors[%" PRIu32 "]", i);

		if (r->graph->tensors[i].flags & NPUMEM_TENSOR_FLAG_ALIAS)
			check(r, &r->graph->tensors[i]);
		npujson_leave(r->json, outside);
	}
}

/*
 * Lead every alias from @start up to the base; those that are @done do already.
 * @chain: room for as many as there are tensors. Each is walked over once.
 */
static void flatten(struct graph_json_reader *r, uint32_t start, bool *done, uint32_t *chain)
{
	struct npuplan_tensor *tensors = r->graph->tensors;
	uint32_t length = 0, at = start;

	while ((tensors[at].flags & NPUMEM_TENSOR_FLAG_ALIAS) && !done[at]) {
		/* More names than there are tensors: one came twice. */
		if (length == r->graph->tensor_count) {
			npujson_enter(r->json, ".tensors[%" PRIu32 "]", start);
			npujson_fail(r->json, "alias_of", "%s is an alias of itself",
				     import_tensor_text(&tensors[start]).s);
			return;
		}
		chain[length++] = at;
		at = tensors[at].alias_of;
	}
	while (length) {
		struct npuplan_tensor *tensor = &tensors[chain[--length]];
		const struct npuplan_tensor *parent = &tensors[tensor->alias_of];

		if (parent->flags & NPUMEM_TENSOR_FLAG_ALIAS) {
			tensor->alias_offset += parent->alias_offset;
			tensor->alias_of = parent->alias_of;
		}
		done[chain[length]] = true;
	}
}

void graph_json_aliases(struct graph_json_reader *r, json_t *list)
{
	uint32_t count = r->graph->tensor_count;
	bool *done = npujson_alloc(r->json, count, sizeof(*done));
	uint32_t *chain = npujson_alloc(r->json, count, sizeof(*chain));

	if (!r->json->err)
		read_parents(r, list);
	check_all(r, check_range);
	for (uint32_t i = 0; i < count && !r->json->err; i++)
		flatten(r, i, done, chain);
	check_all(r, check_alias);
	free(done);
	free(chain);
}
