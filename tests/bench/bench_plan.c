// SPDX-License-Identifier: MIT
/*
 * Plan every model named on the command line: arena against lower bound, and
 * time against the fastest.
 *
 * usage: bench_plan [-b BANDS] [-p PLANNER] MODEL...
 *        bench_plan -c MODEL...   greedy, nnc and auto beside each other, and what auto needs if no
 *                                 operator works in place
 *        bench_plan -j MODEL...   of models with concats what auto needs if these copy, and if they
 *                                 are joined, in NCHW and in NHWC
 */
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "npuimport.h"

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

	err = npuimport_file(path, NULL, &graph, NULL, &error);
	if (err)
		goto out;
	started = now();
	err = bands > 1 ? npuplan_graph_tile_bands(graph, bands, false, &error) :
			  npuplan_graph_tile_bands(graph, 1, false, &error);
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

/* Planners of the comparison; what they reach of each model, in all. */
static const char *const compared[] = { "greedy", "nnc", "auto" };

#define COMPARED (sizeof(compared) / sizeof(compared[0]))

struct comparison {
	unsigned int models, proved, at_bound[COMPARED];
	double seconds[COMPARED];
};

static const char *status_name(uint32_t status)
{
	return status == NPUMEM_PLAN_STATUS_OPTIMAL ? "optimal" : "feasible";
}

/* What the last planner needs of a graph if each output has a place of its own; prints it. */
static int plan_apart(struct npuplan_graph *graph, struct npuplan_error *error)
{
	struct npuplan_options options = { .planner = compared[COMPARED - 1] };
	struct npuplan_plan *plan;
	int err;

	npuplan_graph_untile(graph);
	for (uint32_t i = 0; i < graph->op_count; i++)
		graph->ops[i].attrs.inplace = false;
	err = npuplan_graph_tile_bands(graph, 1, false, error);
	if (!err)
		err = npuplan_plan(graph, &options, &plan, error);
	if (err)
		return err;
	printf(" %11llu\n", (unsigned long long)plan->info.arena_size);
	npuplan_plan_free(plan);
	return 0;
}

static int compare(char *path, struct comparison *comparison)
{
	struct npuplan_graph *graph = NULL;
	struct npuplan_error error = { "" };
	int err = npuimport_file(path, NULL, &graph, NULL, &error);

	if (!err)
		err = npuplan_graph_tile_bands(graph, 1, false, &error);
	if (!err)
		printf("%-36s", basename(path));
	for (size_t i = 0; i < COMPARED && !err; i++) {
		struct npuplan_options options = { .planner = compared[i] };
		struct npuplan_plan *plan;

		err = npuplan_plan(graph, &options, &plan, &error);
		if (err)
			break;
		printf(" %11llu", (unsigned long long)plan->info.arena_size);
		comparison->at_bound[i] += plan->info.arena_size == plan->info.lower_bound;
		comparison->seconds[i] += plan->seconds;
		/* The last is auto. */
		if (i + 1 == COMPARED) {
			printf(" %11llu %-8s", (unsigned long long)plan->info.lower_bound,
			       status_name(plan->info.status));
			comparison->proved += plan->info.status == NPUMEM_PLAN_STATUS_OPTIMAL;
			comparison->models++;
		}
		npuplan_plan_free(plan);
	}
	if (!err)
		err = plan_apart(graph, &error);
	if (err)
		fprintf(stderr, "bench_plan: %s: %s\n", path, error.text);
	npuplan_graph_free(graph);
	return err;
}

static int compare_all(char **paths, int count)
{
	struct comparison comparison = { 0 };
	int failed = 0;

	printf("%-36s %11s %11s %11s %11s %-8s %11s\n", "model", "greedy", "nnc", "auto", "bound",
	       "auto is", "apart");
	for (int i = 0; i < count; i++)
		failed += !!compare(paths[i], &comparison);
	printf("%u models, %u proved optimal, %d failed;", comparison.models, comparison.proved,
	       failed);
	for (size_t i = 0; i < COMPARED; i++)
		printf(" %s: %u at the bound, %.1f ms%s", compared[i], comparison.at_bound[i],
		       1e3 * comparison.seconds[i], i + 1 < COMPARED ? ";" : "\n");
	return failed || !comparison.models;
}

/* The arena that auto needs; 0: it has no plan, and why not is said. */
static uint64_t arena_of(const char *path, enum npuplan_layout layout, uint32_t concat,
			 uint32_t *joined, uint32_t *inputs)
{
	const struct npuplan_tiling tiling = { .layout = layout, .concat = concat };
	const struct npuplan_options options = { .deadline_seconds = 60 };
	struct npuplan_graph *graph = NULL;
	struct npuplan_plan *plan = NULL;
	struct npuplan_error error = { "" };
	uint64_t arena = 0;

	*joined = *inputs = 0;
	if (npuimport_file(path, NULL, &graph, NULL, &error) ||
	    npuplan_graph_tile(graph, &tiling, &error) ||
	    npuplan_plan(graph, &options, &plan, &error)) {
		fprintf(stderr, "bench_plan: %s: %s\n", path, error.text);
	} else {
		arena = plan->info.arena_size;
		*inputs = graph->concat_input_count;
		for (uint32_t i = 0; i < *inputs; i++)
			*joined += graph->concat_inputs[i].join == NPUPLAN_JOINED;
	}
	npuplan_plan_free(plan);
	npuplan_graph_free(graph);
	return arena;
}

/*
 * Of each model with concats: copied, joined and what fits, in NCHW, where parts are ranges; in
 * NHWC.
 */
static int join_all(char **paths, int count)
{
	int failed = 0;

	printf("%-34s %11s %11s %7s %11s %7s %11s\n", "model", "copied", "joined", "inputs", "fit",
	       "inputs", "joined nhwc");
	for (int i = 0; i < count; i++) {
		uint64_t copied, joined, fit, nhwc;
		uint32_t parts, fitting, inputs, ignored[2];

		joined = arena_of(paths[i], NPUPLAN_NCHW, NPUPLAN_CONCAT_JOIN, &parts, &inputs);
		if (joined && !inputs)
			continue;
		copied = arena_of(paths[i], NPUPLAN_NCHW, NPUPLAN_CONCAT_COPY, &ignored[0],
				  &ignored[1]);
		fit = arena_of(paths[i], NPUPLAN_NCHW, NPUPLAN_CONCAT_FIT, &fitting, &inputs);
		nhwc = arena_of(paths[i], NPUPLAN_NHWC, NPUPLAN_CONCAT_JOIN, &ignored[0],
				&ignored[1]);
		failed += !copied || !joined || !fit || !nhwc;
		printf("%-34s %11llu %11llu %3u/%-3u %11llu %3u/%-3u %11llu\n", basename(paths[i]),
		       (unsigned long long)copied, (unsigned long long)joined, parts, inputs,
		       (unsigned long long)fit, fitting, inputs, (unsigned long long)nhwc);
	}
	return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
	bool comparing = false, joining = false;
	const char *planner = NULL;
	struct totals totals = { 0 };
	unsigned long bands = 1;
	int option, failed = 0;

	while ((option = getopt(argc, argv, "b:cjp:")) != -1) {
		if (option == 'b') {
			bands = strtoul(optarg, NULL, 10);
		} else if (option == 'c') {
			comparing = true;
		} else if (option == 'j') {
			joining = true;
		} else if (option == 'p') {
			planner = optarg;
		} else {
			fprintf(stderr,
				"usage: bench_plan [-b BANDS] [-p PLANNER] MODEL... | -c MODEL... | "
				"-j MODEL...\n");
			return 2;
		}
	}
	if (joining)
		return join_all(argv + optind, argc - optind);
	if (comparing)
		return compare_all(argv + optind, argc - optind);
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
