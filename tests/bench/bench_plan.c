// SPDX-License-Identifier: MIT
/*
 * Plan every model named on the command line: arena against lower bound, and
 * time against the fastest.
 *
 * usage: bench_plan [-b BANDS] [-p PLANNER] MODEL...
 */
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "import.h"

struct totals {
	double tile, plan;
	unsigned int models, at_bound;
	double log_ratio;
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int bench(char *path, uint32_t bands, const char *planner, struct totals *totals)
{
	struct npuplan_options options = { .planner = planner };
	struct npuplan_graph *graph = NULL;
	struct npuplan_plan *plan = NULL;
	struct npuplan_error error = { "" };
	uint64_t sum = 0;
	double started, tiled;
	int err;

	err = npuimport_file(path, &graph, NULL, &error);
	if (err)
		goto out;
	started = now();
	err = bands > 1 ? npuplan_graph_tile_bands(graph, bands, false, &error) :
			  npuplan_graph_tile_whole(graph, false, &error);
	tiled = now();
	if (!err)
		err = npuplan_plan(graph, &options, &plan, &error);
	if (err)
		goto out;
	for (uint32_t i = 0; i < plan->placement_count; i++)
		sum += graph->tensors[plan->placements[i].tensor].size;
	printf("%-34s %6u %11llu %11llu %7.4f %12llu %9.3f\n", basename(path), graph->step_count,
	       (unsigned long long)plan->info.arena_size,
	       (unsigned long long)plan->info.lower_bound,
	       (double)plan->info.arena_size / (double)plan->info.lower_bound,
	       (unsigned long long)sum, 1e3 * plan->seconds);
	totals->models++;
	totals->at_bound += plan->info.arena_size == plan->info.lower_bound;
	totals->log_ratio +=
		__builtin_log((double)plan->info.arena_size / (double)plan->info.lower_bound);
	totals->tile += tiled - started;
	totals->plan += plan->seconds;
out:
	if (err)
		fprintf(stderr, "bench_plan: %s: %s\n", path, error.text);
	npuplan_plan_free(plan);
	npuplan_graph_free(graph);
	return err;
}

int main(int argc, char **argv)
{
	const char *planner = NULL;
	struct totals totals = { 0 };
	unsigned long bands = 1;
	int option, failed = 0;

	while ((option = getopt(argc, argv, "b:p:")) != -1) {
		if (option == 'b') {
			bands = strtoul(optarg, NULL, 10);
		} else if (option == 'p') {
			planner = optarg;
		} else {
			fprintf(stderr, "usage: bench_plan [-b BANDS] [-p PLANNER] MODEL...\n");
			return 2;
		}
	}
	printf("%-34s %6s %11s %11s %7s %12s %9s\n", "model", "steps", "arena", "bound", "ratio",
	       "tensors", "plan ms");
	for (int i = optind; i < argc; i++)
		failed += !!bench(argv[i], bands, planner, &totals);
	if (!totals.models) {
		fprintf(stderr, "bench_plan: no model was planned\n");
		return 1;
	}
	printf("%u models, %u at the lower bound, arena / bound %.4f (geometric mean), tiling %.1f ms, planning %.1f ms in all, %d failed\n",
	       totals.models, totals.at_bound, __builtin_exp(totals.log_ratio / totals.models),
	       1e3 * totals.tile, 1e3 * totals.plan, failed);
	return failed ? 1 : 0;
}
