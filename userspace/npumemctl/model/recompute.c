/* SPDX-License-Identifier: MIT */
/* Operators that run again: what is asked, and what is said of it. */
#include <inttypes.h>
#include <string.h>

#include "model.h"

bool recompute_possible(const struct model *model, const struct tiling *tiling)
{
	if (!model->graph->op_count || model->graph->step_count) {
		failure(model->path,
			"--recompute needs a model: of a graph blob's steps it is not known what "
			"they compute");
		return false;
	}
	if (tiling->is_said) {
		failure(model->path,
			"--recompute is of whole operators: leave out what says how to cut");
		return false;
	}
	return true;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

json_t *recompute_json(const struct npuplan_graph *graph, const struct npuplan_recompute *found)
{
	return json_pack("{sI sI sI sI sI}", "operators", (json_int_t)graph->tiling.clone_count,
			 "traffic_without", (json_int_t)found->traffic_without, "operations",
			 (json_int_t)found->operations, "operations_again",
			 (json_int_t)found->operations_again, "work", (json_int_t)found->work);
}

void recompute_print(FILE *out, const struct npuplan_graph *graph,
		     const struct npuplan_recompute *found)
{
	const struct npuplan_tiling *tiling = &graph->tiling;

	fprintf(out, "recomputed   %" PRIu32 " operators run again: %.2f %% more operations; ",
		tiling->clone_count, percent(found->operations_again, found->operations));
	fprintf(out, "traffic without: %s\n", size_text(found->traffic_without).s);
	for (uint32_t i = 0; i < tiling->clone_count; i++)
		for (uint32_t v = 0; v < graph->op_count; v++)
			if (graph->ops[v].id == tiling->clones[i].op)
				fprintf(out, "  again      %s, for %" PRIu32 " %s\n",
					graph->ops[v].name, tiling->clones[i].reader_count,
					tiling->clones[i].reader_count == 1 ? "reader" : "readers");
}
