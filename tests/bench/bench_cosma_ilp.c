// SPDX-License-Identifier: MIT
/*
 * The planner cosma beside the paper's integer linear program on HiGHS, at M_R: traffic,
 * whether it is proved, seconds; the program in one piece, with the order fixed, and
 * divided. '?': not proved within the deadline; '-': no plan within it.
 *
 * usage: bench_cosma_ilp [-p] [-d SECONDS] GRAPH.json...
 *	-p  with parameters; -d  deadline for each plan, 20 by default
 */
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "planners/cosma/ilp/solver.h"
#include "cosma_oracle.h"
#include "npuimport.h"

/* Operators of a sub-graph, at most. */
#define DIVIDE 12

#ifdef NPUPLAN_HIGHS

static bool failed;

/* One plan's columns, by the search (@ilp is NULL) or the program. */
static void measure(const struct npuplan_graph *graph, const struct cosma_settings *options,
		    const struct npuplan_cosma_ilp_options *ilp)
{
	struct npuplan_cosma_plan plan;
	struct cosma_oracle oracle;
	struct npuplan_error error;
	int err = ilp ? ilp_plan(graph, options, ilp, &ilp_highs, &plan, &error) :
			npuplan_cosma(graph, options, &plan, &error);

	if (err) {
		printf(" %s", error.text);
		failed = true;
		return;
	}
	if (plan.position_count && !cosma_oracle_run(&oracle, graph, options, &plan)) {
		printf(" DEFECT: %s", oracle.why);
		failed = true;
	}
	if (plan.position_count)
		printf(" %10" PRIu64 "%c", plan.spill + plan.fill,
		       plan.status == NPUMEM_PLAN_STATUS_OPTIMAL ? ' ' : '?');
	else
		printf(" %10s ", "-");
	printf(" %8.3f", plan.seconds);
	fflush(stdout);
	npuplan_cosma_plan_free(&plan);
}

static void bench_graph(const char *path, struct cosma_settings options)
{
	struct npuplan_cosma_ilp_options whole = { 0 }, divided = { .divide = DIVIDE };
	struct npuplan_budgets budgets;
	struct npuplan_graph *graph;
	struct npuplan_error error;
	char *copy = strdup(path);

	if (!copy || npuimport_file(path, NULL, &graph, NULL, &error)) {
		printf("%s: %s\n", path, copy ? error.text : "out of memory");
		failed = true;
		free(copy);
		return;
	}
	printf("%-32s%s", basename(copy), options.with_parameters ? " +p" : "   ");
	if (npuplan_cosma_budgets(graph, &options, &budgets, &error)) {
		printf(" %s", error.text);
		failed = true;
	} else {
		options.common.arena_budget = budgets.needed;
		measure(graph, &options, NULL);
		measure(graph, &options, &whole);
		measure(graph, &options, &divided);
		options.common.schedule = NPUPLAN_SCHEDULE_GIVEN;
		printf("  |");
		measure(graph, &options, NULL);
		measure(graph, &options, &whole);
	}
	printf("\n");
	npuplan_graph_free(graph);
	free(copy);
}

int main(int argc, char **argv)
{
	struct cosma_settings options = { .common.deadline_seconds = 20 };
	int c;

	while ((c = getopt(argc, argv, "pd:")) != -1) {
		if (c == 'p')
			options.with_parameters = true;
		else if (c == 'd')
			options.common.deadline_seconds = strtod(optarg, NULL);
		else
			return 2;
	}
	printf("%-32s    %20s %20s %20s  | %20s %20s\n", "network", "search, seconds",
	       "program, seconds", "divided, seconds", "fixed: search", "fixed: program");
	for (int i = optind; i < argc; i++)
		bench_graph(argv[i], options);
	return failed;
}

#else

int main(void)
{
	fputs("WARNING: no HiGHS (-Dhighs_root=DIR, scripts/fetch highs), so the integer program "
	      "is not measured\n",
	      stderr);
	return 0;
}

#endif
