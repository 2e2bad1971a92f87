// SPDX-License-Identifier: MIT
/*
 * The planner cosma on real networks: traffic, whether it is proved, seconds, fixed
 * schedules, and the paper's four baselines, at M_R, M_H and M_P. Every plan is
 * executed by the oracle of the property tests. Exits with 1 if one cannot be, or
 * if an optimal value known for the network is missed.
 *
 * usage: bench_cosma [-p] [-d SECONDS] GRAPH.json...
 *	-p  with parameters; -d  deadline for each plan, 60 by default
 */
#include <inttypes.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cosma_oracle.h"
#include "import.h"

#define BUDGETS 3
#define SCHEMES 4

/* Known optimal traffic at M_R, M_H and M_P. */
static const struct known {
	const char *name;
	bool parameters;
	uint64_t traffic[BUDGETS];
} known[] = {
	{ "resnet50", false, { 0, 0, 0 } },
	{ "resnet50", true, { 602112, 200704, 0 } },
	{ "resnext50_32x4d", false, { 0, 0, 0 } },
	{ "fcn_resnet50", false, { 0, 0, 0 } },
	{ "s3d", false, { 0, 0, 0 } },
	{ "lraspp_mobilenet_v3_large", false, { 0, 0, 0 } },
	{ "deeplabv3_resnet50", false, { 0, 0, 0 } },
	{ "deeplabv3_resnet50", true, { 802816, 401408, 0 } },
	{ "densenet121", false, { 1204224, 602112, 0 } },
	{ "densenet121", true, { 1204224, 602112, 0 } },
	{ "r2plus1d_18", false, { 51380224, 51380224, 0 } },
	{ "vit_b_16", false, { 7262208, 3631104, 0 } },
	{ "vit_b_16", true, { 3631104, 3631104, 0 } },
	{ "transformer", false, { 4915200, 3932160, 0 } },
	{ "nasnetalarge.fused", false, { 7099488, 1392384, 0 } },
	{ "pnasnet5large.fused", false, { 5747328, 1279488, 0 } },
	{ "amoebanetd_18_256.fused", false, { 2107392, 1204224, 0 } },
	{ "darts_imagenet.fused", false, { 0, 0, 0 } },
};

/** struct totals - over all graphs
 * @less: sum of 1 - ours / theirs at M_R, over the @compared plans of a scheme
 *	that move anything
 */
struct totals {
	double seconds;
	double slowest;
	double less[SCHEMES];
	unsigned int compared[SCHEMES];
	unsigned int plans;
	unsigned int proved;
	bool failed;
};

static bool execute(const struct npuplan_graph *graph, const struct npuplan_cosma_options *options,
		    const struct npuplan_cosma_plan *plan, const char *what, struct totals *totals)
{
	struct cosma_oracle oracle;

	if (plan->step_count && cosma_oracle_run(&oracle, graph, options, plan))
		return true;
	printf("DEFECT of %s: %s\n", what, plan->step_count ? oracle.why : "no plan");
	totals->failed = true;
	return false;
}

/* A plan's traffic, proved ones without a mark. */
static uint64_t plan(const struct npuplan_graph *graph, const struct npuplan_cosma_options *options,
		     const char *what, struct totals *totals, bool count)
{
	struct npuplan_cosma_plan result;
	struct npuplan_error error;
	uint64_t traffic = UINT64_MAX;
	bool proved;

	if (npuplan_cosma(graph, options, &result, &error)) {
		printf("%s: %s\n", what, error.text);
		totals->failed = true;
		return traffic;
	}
	if (execute(graph, options, &result, what, totals))
		traffic = result.spill + result.fill;
	proved = result.status == NPUMEM_PLAN_OPTIMAL;
	printf(" %10" PRIu64 "%c", traffic, proved ? ' ' : '?');
	if (count) {
		printf(" %7.3f s", result.seconds);
		totals->plans++;
		totals->proved += proved;
		totals->seconds += result.seconds;
		if (result.seconds > totals->slowest)
			totals->slowest = result.seconds;
	}
	if (!proved)
		printf(" >= %" PRIu64, result.lower_bound);
	npuplan_cosma_plan_free(&result);
	return traffic;
}

/* Operators in the order of least peak footprint; NULL if there is none. */
static uint32_t *peak_order(const struct npuplan_graph *graph, struct npuplan_cosma_options options)
{
	uint32_t *order = malloc(((size_t)graph->op_count + 1) * sizeof(*order)), count = 0;
	struct npuplan_cosma_plan result;
	struct npuplan_error error;

	options.objective = NPUPLAN_COSMA_PEAK;
	options.fixed_schedule = false;
	if (!order || npuplan_cosma(graph, &options, &result, &error)) {
		free(order);
		return NULL;
	}
	for (uint32_t p = 0; p < result.step_count; p++)
		if (result.steps[p].kind == NPUPLAN_COSMA_RUN)
			order[count++] = result.steps[p].index;
	npuplan_cosma_plan_free(&result);
	return order;
}

static void check_known(const char *name, const struct npuplan_cosma_options *options, int budget,
			uint64_t traffic, struct totals *totals)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(known[i].name, name) || known[i].parameters != options->with_parameters)
			continue;
		if (known[i].traffic[budget] == traffic)
			continue;
		printf(" KNOWN %" PRIu64, known[i].traffic[budget]);
		totals->failed = true;
	}
}

static void bench_budget(const struct npuplan_graph *graph, const char *name,
			 struct npuplan_cosma_options options, int budget, const uint32_t *order,
			 struct totals *totals)
{
	static const char *const names[] = { "M_R", "M_H", "M_P" };
	uint64_t joint;

	printf("%-27s%s %s %9" PRIu64, name, options.with_parameters ? " +p" : "   ", names[budget],
	       options.budget);
	joint = plan(graph, &options, "joint", totals, true);
	check_known(name, &options, budget, joint, totals);
	options.fixed_schedule = true;
	plan(graph, &options, "default order", totals, false);
	options.order = order;
	plan(graph, &options, "MPMF order", totals, false);
	printf("  |");
	for (int scheme = 0; scheme < SCHEMES; scheme++) {
		struct npuplan_cosma_plan result;
		struct npuplan_error error;

		options.order = scheme < 2 ? NULL : order;
		if (npuplan_cosma_baseline(graph, &options,
					   scheme % 2 ? NPUPLAN_COSMA_GREEDY : NPUPLAN_COSMA_BELADY,
					   &result, &error)) {
			printf("%s\n", error.text);
			totals->failed = true;
			continue;
		}
		if (execute(graph, &options, &result, "a baseline", totals)) {
			uint64_t traffic = result.spill + result.fill;

			printf(" %10" PRIu64, traffic);
			if (!budget && traffic) {
				totals->less[scheme] += 1 - (double)joint / (double)traffic;
				totals->compared[scheme]++;
			}
		}
		npuplan_cosma_plan_free(&result);
	}
	printf("\n");
	fflush(stdout);
}

static void bench_graph(const char *path, struct npuplan_cosma_options options,
			struct totals *totals)
{
	struct npuplan_cosma_budgets budgets;
	struct npuplan_graph *graph;
	struct npuplan_error error;
	char *copy = strdup(path), *name;
	uint32_t *order;

	if (!copy || npuimport_file(path, &graph, NULL, &error)) {
		printf("%s: %s\n", path, copy ? error.text : "out of memory");
		totals->failed = true;
		free(copy);
		return;
	}
	name = basename(copy);
	if (strlen(name) > 5)
		name[strlen(name) - 5] = '\0';
	order = peak_order(graph, options);
	if (order && !npuplan_cosma_budgets(graph, &options, &budgets, &error)) {
		uint64_t bytes[BUDGETS] = { budgets.needed, budgets.middle, budgets.peak };

		if (!budgets.proved)
			printf("%s: M_P is not proved\n", name);
		for (int budget = 0; budget < BUDGETS; budget++) {
			options.budget = bytes[budget];
			bench_budget(graph, name, options, budget, order, totals);
		}
	} else {
		printf("%s: no budgets\n", name);
		totals->failed = true;
	}
	free(order);
	npuplan_graph_free(graph);
	free(copy);
}

int main(int argc, char **argv)
{
	static const char *const names[SCHEMES] = { "default x Belady", "default x greedy",
						    "MPMF x Belady", "MPMF x greedy" };
	struct npuplan_cosma_options options = { .deadline_seconds = 60 };
	struct totals totals = { 0 };
	double mean = 0;
	int c;

	while ((c = getopt(argc, argv, "pd:")) != -1) {
		if (c == 'p')
			options.with_parameters = true;
		else if (c == 'd')
			options.deadline_seconds = strtod(optarg, NULL);
		else
			return 2;
	}
	printf("%-27s    %s %9s  %10s  %9s %10s  %10s  | %10s %10s %10s %10s\n", "network", "   ",
	       "budget", "joint", "", "default", "MPMF", "def Belady", "def greedy", "MPMF Bel.",
	       "MPMF gr.");
	for (int i = optind; i < argc; i++)
		bench_graph(argv[i], options, &totals);
	if (!totals.plans)
		return 1;
	printf("%u of %u proved optimal with addresses, %.3f s on average, %.3f s at most\n",
	       totals.proved, totals.plans, totals.seconds / totals.plans, totals.slowest);
	for (int scheme = 0; scheme < SCHEMES; scheme++) {
		double less = totals.compared[scheme] ?
				      100 * totals.less[scheme] / totals.compared[scheme] :
				      0;

		printf("at M_R %.1f %% less than %s (%u networks that move anything)\n", less,
		       names[scheme], totals.compared[scheme]);
		mean += less / SCHEMES;
	}
	printf("at M_R %.1f %% less on average\n", mean);
	return totals.failed;
}
