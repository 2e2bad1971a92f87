// SPDX-License-Identifier: MIT
/*
 * What planner cosma makes of its options on real networks, with operators in place as plans are
 * made. Three tables:
 *
 * - networks that bench_cosma leaves out: traffic at M_R, M_H and M_P;
 * - operators that run again: traffic at M_R without and with them;
 * - two banks: the bytes accessed in the faster one, beside their bound.
 *
 * Budgets are whole operators', activations only. Exits with 1 if a network is not planned.
 *
 * usage: bench_cosma_options FOLDER
 *	FOLDER has the graphs
 */
#include <inttypes.h>
#include <stdlib.h>

#include "npuimport.h"

/* Seconds after which a plan of the first table is taken as it is. */
#define DEADLINE 10

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool failed;

/* A network of the folder @folder, tiled into whole operators, with its budgets. NULL: failed. */
static struct npuplan_graph *read_network(const char *folder, const char *name,
					  struct npuplan_budgets *budgets)
{
	struct npuplan_graph *graph = NULL;
	struct npuplan_error error;
	char path[4096];
	int err;

	snprintf(path, sizeof(path), "%s/%s.json", folder, name);
	err = npuimport_file(path, NULL, &graph, NULL, &error);
	if (!err)
		err = npuplan_graph_tile_bands(graph, 1, false, &error);
	if (!err)
		err = npuplan_budgets_find(graph, NULL, budgets, &error);
	if (!err)
		return graph;
	printf("%s: %s\n", path, error.text);
	npuplan_graph_free(graph);
	failed = true;
	return NULL;
}

static void table_budgets(const char *folder)
{
	static const char *const names[] = { "densenet121.fused", "transformer.fused" };

	printf("%-24s %9s %9s %9s\n", "network", "budget", "traffic", "at least");
	for (size_t i = 0; i < COUNT(names); i++) {
		struct npuplan_budgets budgets;
		struct npuplan_graph *graph = read_network(folder, names[i], &budgets);
		const uint64_t budget[] = { budgets.needed, budgets.middle, budgets.peak };

		for (size_t k = 0; k < COUNT(budget) && graph; k++) {
			const struct npuplan_options options = {
				.planner = "cosma",
				.arena_budget = budget[k],
				.objective = NPUPLAN_OBJECTIVE_TRAFFIC,
				.deadline_seconds = DEADLINE,
			};
			struct npuplan_plan *plan;
			struct npuplan_error error;

			if (npuplan_plan(graph, &options, &plan, &error)) {
				printf("%s: %s\n", names[i], error.text);
				failed = true;
				continue;
			}
			printf("%-24s %9" PRIu64 " %9" PRIu64 " %9" PRIu64 "\n", names[i],
			       budget[k],
			       (uint64_t)(plan->info.spill_bytes + plan->info.fill_bytes),
			       plan->cosma->traffic_bound);
			npuplan_plan_free(plan);
		}
		npuplan_graph_free(graph);
	}
}

static void table_recompute(const char *folder)
{
	static const char *const names[] = {
		"r2plus1d_18",
		"vit_b_16",
		"nasnetalarge.fused",
		"pnasnet5large.fused",
		"amoebanetd_18_256.fused",
		"densenet121",
	};

	printf("%-24s %9s %9s %9s %9s %10s\n", "network", "budget", "traffic", "with", "operators",
	       "operations");
	for (size_t i = 0; i < COUNT(names); i++) {
		struct npuplan_budgets budgets;
		struct npuplan_graph *graph = read_network(folder, names[i], &budgets);
		const struct npuplan_tiling tiling = { 0 };
		struct npuplan_options options = { .planner = "cosma" };
		struct npuplan_recompute found;
		struct npuplan_error error;

		if (!graph)
			continue;
		options.arena_budget = budgets.needed;
		npuplan_graph_untile(graph);
		if (npuplan_recompute_find(graph, &tiling, &options, 0, &found, &error)) {
			printf("%s: %s\n", names[i], error.text);
			failed = true;
		} else {
			printf("%-24s %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9u %+9.2f%%\n",
			       names[i], options.arena_budget, found.traffic_without, found.traffic,
			       found.clone_count,
			       100 * (double)found.operations_again / (double)found.operations);
			npuplan_recompute_fini(&found);
		}
		fflush(stdout);
		npuplan_graph_free(graph);
	}
}

static void table_banks(const char *folder)
{
	static const char *const names[] = { "densenet121", "vit_b_16", "transformer",
					     "nasnetalarge.fused" };

	printf("%-24s %9s %9s %11s %11s %7s\n", "network", "fast", "slow", "accessed", "at most",
	       "");
	for (size_t i = 0; i < COUNT(names); i++) {
		struct npuplan_budgets budgets;
		struct npuplan_graph *graph = read_network(folder, names[i], &budgets);

		for (uint64_t quarters = 1; quarters < 4 && graph; quarters++) {
			const struct npuplan_bank banks[NPUPLAN_BANKS] = {
				{ budgets.needed * quarters / 4, 8000 },
				{ budgets.needed, 2000 },
			};
			const struct npuplan_cosma_options cosma = { sizeof(cosma), banks };
			const struct npuplan_options options = { .planner = "cosma",
								 .cosma = &cosma };
			struct npuplan_plan *plan;
			struct npuplan_error error;

			if (npuplan_plan(graph, &options, &plan, &error)) {
				printf("%s: %s\n", names[i], error.text);
				failed = true;
				continue;
			}
			printf("%-24s %9" PRIu64 " %9" PRIu64 " %11" PRIu64 " %11" PRIu64
			       " %5.1f %%\n",
			       names[i], banks[0].size, banks[1].size, plan->cosma->accessed[0],
			       plan->cosma->accessed_bound,
			       100 * (double)plan->cosma->accessed[0] /
				       (double)plan->cosma->accessed_bound);
			fflush(stdout);
			npuplan_plan_free(plan);
		}
		npuplan_graph_free(graph);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	table_budgets(argv[1]);
	printf("\noperators that run again, at M_R\n");
	table_recompute(argv[1]);
	printf("\ntwo banks, the faster one first\n");
	table_banks(argv[1]);
	return failed;
}
