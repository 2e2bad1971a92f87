// SPDX-License-Identifier: MIT
/*
 * The planner cosma on networks of 5,000 and 50,000 operators within a minute and 512 MiB: made up
 * (chain, ladder, random), and real ones again and again (large_network.h). Of each: traffic at M_R
 * and at M_H, the proved lower bound, the gap between the two in per cent of the traffic, memory
 * held and seconds, of which those before the bar are of the budgets, which are found first. Every
 * plan is executed by the oracle of the property tests; exits with 1 if one cannot be.
 *
 * usage: bench_cosma_large [-d SECONDS] [-m MIB] [-n OPERATORS] FOLDER [NAME...]
 *	FOLDER has the graphs. -d deadline, -m memory for each plan; -n one size only. NAME: only
 *	networks whose name begins so
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cosma_oracle.h"
#include "cpu_seconds.h"
#include "large_network.h"
#include "npuimport.h"

static const char *const made_up[] = { "chain", "ladder", "random" };

/* struct repeated - a network that is repeated; @shared: with the same other inputs for all bodies
 */
static const struct repeated {
	const char *label;
	const char *file;
	bool shared;
} repeated[] = {
	{ "resnet50", "resnet50", false },
	{ "resnet50.fused", "resnet50.fused", false },
	{ "densenet121.fused", "densenet121.fused", false },
	{ "inception_v3.fused", "inception_v3.fused", false },
	{ "inception_v4.fused", "inception_v4.fused", false },
	{ "transformer.fused", "transformer.fused", false },
	{ "transformer.fused, one memory", "transformer.fused", true },
	{ "nasnetalarge.fused", "nasnetalarge.fused", false },
};

/* struct measuring - what is measured
 * @names: @name_count beginnings of names; none: all networks
 * @failed: a plan cannot be executed, or there is none
 */
struct measuring {
	struct cosma_settings settings;
	const char *folder;
	char **names;
	int name_count;
	bool failed;
};

static bool is_asked_for(const struct measuring *measuring, const char *name)
{
	for (int i = 0; i < measuring->name_count; i++)
		if (!strncmp(name, measuring->names[i], strlen(measuring->names[i])))
			return true;
	return !measuring->name_count;
}

static void plan(struct measuring *measuring, const struct npuplan_graph *graph, const char *name,
		 const char *budget, double budget_seconds)
{
	const struct cosma_settings *settings = &measuring->settings;
	struct npuplan_cosma_plan result;
	struct cosma_oracle oracle;
	struct npuplan_error error;
	double seconds = cpu_seconds();
	uint64_t traffic;

	if (npuplan_cosma(graph, settings, &result, &error)) {
		printf("%s: %s\n", name, error.text);
		measuring->failed = true;
		return;
	}
	seconds = cpu_seconds() - seconds;
	traffic = result.spill + result.fill;
	printf("%-29s %6u %s %9" PRIu64 " %13" PRIu64 " %13" PRIu64 " %5.1f%% %7" PRIu64
	       " %6.2f | %6.2f %6.2f\n",
	       name, graph->op_count, budget, settings->common.arena_budget, traffic,
	       result.lower_bound,
	       traffic ? 100 * (double)(traffic - result.lower_bound) / (double)traffic : 0,
	       result.memory >> 10, budget_seconds, seconds, result.seconds);
	if (!result.position_count || !cosma_oracle_run(&oracle, graph, settings, &result)) {
		printf("DEFECT: %s\n", result.position_count ? oracle.why : "no plan");
		measuring->failed = true;
	}
	fflush(stdout);
	npuplan_cosma_plan_free(&result);
}

/* Takes @graph over. */
static void measure(struct measuring *measuring, struct npuplan_graph *graph, const char *name)
{
	struct npuplan_budgets budgets = { 0 };
	struct npuplan_error error;
	double seconds = cpu_seconds();

	if (!graph || npuplan_cosma_budgets(graph, &measuring->settings, &budgets, &error)) {
		printf("%s: %s\n", name, graph ? error.text : "no graph");
		measuring->failed = true;
	} else {
		seconds = cpu_seconds() - seconds;
		measuring->settings.common.arena_budget = budgets.needed;
		plan(measuring, graph, name, "M_R", seconds);
		measuring->settings.common.arena_budget = budgets.middle;
		plan(measuring, graph, name, budgets.proved ? "M_H" : "m_h", seconds);
	}
	npuplan_graph_free(graph);
}

static void measure_repeated(struct measuring *measuring, const struct repeated *of, uint32_t ops)
{
	struct npuplan_graph *body;
	struct npuplan_error error;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s.json", measuring->folder, of->file);
	if (npuimport_file(path, NULL, &body, NULL, &error)) {
		printf("%s: %s\n", path, error.text);
		measuring->failed = true;
		return;
	}
	measure(measuring, large_network_of(body, ops, of->shared), of->label);
	npuplan_graph_free(body);
}

static void table(struct measuring *measuring, uint32_t ops)
{
	printf("%-29s %6s %3s %9s %13s %13s %6s %7s %6s | %6s %6s\n", "network", "ops", "",
	       "budget", "traffic", "at least", "gap", "KiB", "s", "s", "wall");
	for (size_t i = 0; i < sizeof(made_up) / sizeof(made_up[0]); i++)
		if (is_asked_for(measuring, made_up[i]))
			measure(measuring, large_network(made_up[i], ops), made_up[i]);
	for (size_t i = 0; i < sizeof(repeated) / sizeof(repeated[0]); i++)
		if (is_asked_for(measuring, repeated[i].label))
			measure_repeated(measuring, &repeated[i], ops);
}

int main(int argc, char **argv)
{
	struct measuring measuring = {
		.settings.common.deadline_seconds = 60,
		.settings.common.memory_limit = 512ull << 20,
	};
	uint32_t ops = 0;
	int c;

	while ((c = getopt(argc, argv, "d:m:n:")) != -1) {
		if (c == 'd')
			measuring.settings.common.deadline_seconds = strtod(optarg, NULL);
		else if (c == 'm')
			measuring.settings.common.memory_limit = strtoull(optarg, NULL, 10) << 20;
		else if (c == 'n')
			ops = (uint32_t)strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	if (optind >= argc)
		return 2;
	measuring.folder = argv[optind];
	measuring.names = argv + optind + 1;
	measuring.name_count = argc - optind - 1;
	printf("%g s, %" PRIu64 " MiB\n", measuring.settings.common.deadline_seconds,
	       measuring.settings.common.memory_limit >> 20);
	if (ops) {
		table(&measuring, ops);
		return measuring.failed;
	}
	table(&measuring, 5000);
	table(&measuring, 50000);
	return measuring.failed;
}
