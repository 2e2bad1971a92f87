/* SPDX-License-Identifier: MIT */
/* Copies of what edges carry: which, and what is said of it. */
#include <inttypes.h>
#include <string.h>

#include "model.h"

bool copies_possible(const struct model *model, const struct tiling *tiling, bool asked)
{
	if (!model->graph->step_count && !tiling->asked.onchip && !tiling->tiles.count &&
	    !tiling->patches.count)
		return model->graph->edge_count;
	if (!asked)
		return false;
	failure(model->path,
		model->graph->step_count ?
			"--carry-copies smaller needs a model: a graph blob is cut into steps already" :
			"--carry-copies smaller is of operators that are cut alike: not with --tile, "
			"--patches and --onchip");
	return false;
}

json_t *copies_json(const struct npuplan_graph *graph, const struct npuplan_carry_copies *found)
{
	json_t *object = json_object();

	json_object_set_new(object, "copies", json_integer(graph->tiling.carry_copy_count));
	json_object_set_new(object, "bytes", json_integer((json_int_t)found->bytes));
	json_object_set_new(object, "instances", json_integer(found->instances));
	json_object_set_new(object, "arena_without",
			    found->arena_without ? json_integer((json_int_t)found->arena_without) :
						   json_null());
	return object;
}

static void print_copy(FILE *out, const struct npuplan_graph *graph,
		       const struct npuplan_carry_copy *copy)
{
	for (uint32_t t = 0; t < graph->tensor_count; t++)
		if (graph->tensors[t].id == copy->tensor)
			fprintf(out, "  copied     what edge %" PRIu32 " carries to %s: %s\n",
				copy->edge, graph->tensors[t].name,
				size_text(graph->tensors[t].size).s);
}

void copies_print(FILE *out, const struct npuplan_graph *graph,
		  const struct npuplan_carry_copies *found)
{
	const struct npuplan_tiling *tiling = &graph->tiling;

	fprintf(out,
		"copies       %" PRIu32 " of values that edges carry: %s if each is taken once; ",
		tiling->carry_copy_count, size_text(found->bytes).s);
	if (found->arena_without)
		fprintf(out, "arena without: %s\n", size_text(found->arena_without).s);
	else
		fprintf(out, "without there is no such plan\n");
	for (uint32_t i = 0; i < tiling->carry_copy_count; i++)
		print_copy(out, graph, &tiling->carry_copies[i]);
}
