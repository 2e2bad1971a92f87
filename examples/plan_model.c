// SPDX-License-Identifier: MIT
/*
 * Plan the memory of a model: read it, cut its operators into bands of rows, plan,
 * and say where each tensor lives and when.
 *
 * usage: plan_model MODEL [ARENA_BYTES]
 *
 * cc plan_model.c $(pkg-config --cflags --libs libnpuimport libnpuplan)
 */
#include <inttypes.h>
#include <npuimport.h>
#include <npuplan.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct npuplan_options options = { .arena_budget = argc > 2 ? strtoull(argv[2], NULL, 10) :
								      0 };
	struct npuplan_error error = { 0 };
	struct npuplan_graph *graph = NULL;
	struct npuplan_plan *plan = NULL;
	int err;

	if (argc < 2)
		return 2;
	err = npuimport_file(argv[1], NULL, &graph, NULL, &error);
	if (!err)
		err = npuplan_graph_tile_bands(graph, 4, false, &error);
	if (!err)
		err = npuplan_plan(graph, &options, &plan, &error);
	if (err)
		fprintf(stderr, "%s: %s\n", argv[1], error.text);
	for (uint32_t i = 0; plan && i < plan->placement_count; i++) {
		const struct npumem_placement *p = &plan->placements[i];

		printf("%-24s byte %8" PRIu64 ", steps %u to %u\n", graph->tensors[p->tensor].name,
		       (uint64_t)p->offset, p->from, p->to);
	}
	if (plan)
		printf("arena: %" PRIu64 " bytes, at least %" PRIu64 "\n",
		       (uint64_t)plan->info.arena_size, (uint64_t)plan->info.lower_bound);
	npuplan_plan_free(plan);
	npuplan_graph_free(graph);
	return err ? 1 : 0;
}
