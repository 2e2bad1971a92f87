// SPDX-License-Identifier: MIT
/*
 * The planner cosma on real networks, as two tables, and on large made-up ones. Both tables
 * come twice: out of place, each output with a place of its own as in the paper, and in
 * place, as plans are made:
 *
 * - networks designed by people, activations only and with parameters: traffic, whether
 *   it is proved, seconds, and the paper's four baselines, at M_R, M_H and M_P;
 * - networks found by search: the same for any order, the graph's own and that of
 *   least peak footprint, all with addresses;
 * - networks of 5,000 operators, with a deadline and a memory limit.
 *
 * Seconds are of CPU time, so that what else runs does not count. Every plan is
 * executed by the oracle of the property tests. The last lines say which goals are
 * reached. Exits with 1 if a plan cannot be executed or a known optimum is missed.
 *
 * usage: bench_cosma [-d SECONDS] FOLDER
 *	FOLDER has the graphs; -d  deadline for each plan, 60 by default
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cosma_oracle.h"
#include "cpu_seconds.h"
#include "large_network.h"
#include "npuimport.h"

#define BUDGETS 3
#define SCHEMES 4

/* Limits of the large networks. */
#define LARGE_OPS      5000
#define LARGE_DEADLINE 2.0
#define LARGE_MEMORY   (64u << 20)

static const char *const budget_names[BUDGETS] = { "M_R", "M_H", "M_P" };
static const char *const scheme_names[SCHEMES] = { "default x Belady", "default x greedy",
						   "MPMF x Belady", "MPMF x greedy" };

static const char *const designed[] = {
	"resnet50",
	"resnext50_32x4d",
	"fcn_resnet50",
	"s3d",
	"lraspp_mobilenet_v3_large",
	"deeplabv3_resnet50",
	"densenet121",
	"r2plus1d_18",
	"vit_b_16",
	"transformer",
};

static const char *const found_by_search[] = {
	"pnasnet5large.fused",	   "pnasnet5large",	"nasnetalarge.fused",	"nasnetalarge",
	"amoebanetd_18_256.fused", "amoebanetd_18_256", "darts_imagenet.fused", "darts_imagenet",
};

/* Known optimal traffic at M_R, M_H and M_P, of any order. */
static const struct known {
	const char *name;
	bool parameters;
	uint64_t traffic[BUDGETS];
} out_of_place[] = {
	{ "resnet50", false, { 0, 0, 0 } },
	{ "resnet50", true, { 602112, 200704, 0 } },
	{ "resnext50_32x4d", false, { 0, 0, 0 } },
	{ "resnext50_32x4d", true, { 0, 0, 0 } },
	{ "fcn_resnet50", false, { 0, 0, 0 } },
	{ "fcn_resnet50", true, { 0, 0, 0 } },
	{ "s3d", false, { 0, 0, 0 } },
	{ "s3d", true, { 0, 0, 0 } },
	{ "lraspp_mobilenet_v3_large", false, { 0, 0, 0 } },
	{ "lraspp_mobilenet_v3_large", true, { 0, 0, 0 } },
	{ "deeplabv3_resnet50", false, { 0, 0, 0 } },
	{ "deeplabv3_resnet50", true, { 802816, 401408, 0 } },
	{ "densenet121", false, { 1204224, 602112, 0 } },
	{ "densenet121", true, { 1204224, 602112, 0 } },
	{ "r2plus1d_18", false, { 51380224, 51380224, 0 } },
	{ "r2plus1d_18", true, { 51380224, 51380224, 0 } },
	{ "vit_b_16", false, { 7262208, 3631104, 0 } },
	{ "vit_b_16", true, { 3631104, 3631104, 0 } },
	{ "transformer", false, { 4915200, 3932160, 0 } },
	{ "transformer", true, { 4915200, 3932160, 0 } },
	{ "nasnetalarge.fused", false, { 7099488, 1392384, 0 } },
	{ "nasnetalarge", false, { 7231200, 4731264, 0 } },
	{ "pnasnet5large.fused", false, { 5747328, 1279488, 0 } },
	{ "pnasnet5large", false, { 7438176, 3887136, 0 } },
	{ "amoebanetd_18_256.fused", false, { 2107392, 1204224, 0 } },
	{ "amoebanetd_18_256", false, { 2107392, 1204224, 0 } },
	{ "darts_imagenet.fused", false, { 0, 0, 0 } },
	{ "darts_imagenet", false, { 0, 0, 0 } },
};

/* Of those with operators in place, where budgets or traffic differ from these. */
static const struct known in_place[] = {
	{ "resnet50", false, { 4816896, 4816896, 0 } },
	{ "resnet50", true, { 602112, 200704, 0 } },
	{ "resnext50_32x4d", false, { 5619712, 3211264, 0 } },
	{ "resnext50_32x4d", true, { 0, 0, 0 } },
	{ "fcn_resnet50", false, { 9633792, 9633792, 0 } },
	{ "deeplabv3_resnet50", false, { 9633792, 9633792, 0 } },
	{ "deeplabv3_resnet50", true, { 802816, 401408, 0 } },
	{ "s3d", false, { 0, 0, 0 } },
	{ "lraspp_mobilenet_v3_large", false, { 0, 0, 0 } },
	{ "densenet121", false, { 1204224, 602112, 0 } },
	{ "densenet121", true, { 1204224, 602112, 0 } },
	{ "r2plus1d_18", false, { 51380224, 51380224, 0 } },
	{ "r2plus1d_18", true, { 51380224, 51380224, 0 } },
	{ "nasnetalarge", false, { 7231200, 4731264, 0 } },
	{ "darts_imagenet", false, { 0, 0, 0 } },
};

/*
 * struct totals - of one table
 * @less: sum of 1 - ours / theirs at M_R, over the @compared plans of a scheme that
 *	move anything; [1]: with parameters
 */
struct totals {
	double seconds;
	double slowest;
	double less[2][SCHEMES];
	unsigned int compared[2][SCHEMES];
	unsigned int plans;
	unsigned int proved;
	bool failed;
};

/* struct network - one of a table
 * @order: of least peak footprint
 */
struct network {
	const char *name;
	struct npuplan_graph *graph;
	uint64_t budget[BUDGETS];
	uint32_t *order;
};

static bool execute(const struct npuplan_graph *graph, const struct cosma_settings *options,
		    const struct npuplan_cosma_plan *plan, const char *what, struct totals *totals)
{
	struct cosma_oracle oracle;

	if (plan->position_count && cosma_oracle_run(&oracle, graph, options, plan))
		return true;
	printf("\nDEFECT of %s: %s\n", what, plan->position_count ? oracle.why : "no plan");
	totals->failed = true;
	return false;
}

/* A plan's traffic: printed, with whether it is proved, and seconds. */
static uint64_t plan(const struct network *network, const struct cosma_settings *options,
		     struct totals *totals)
{
	struct npuplan_cosma_plan result;
	struct npuplan_error error;
	uint64_t traffic = UINT64_MAX;
	double seconds = cpu_seconds();
	bool proved;

	if (npuplan_cosma(network->graph, options, &result, &error)) {
		printf("\n%s: %s\n", network->name, error.text);
		totals->failed = true;
		return traffic;
	}
	seconds = cpu_seconds() - seconds;
	if (execute(network->graph, options, &result, network->name, totals))
		traffic = result.spill + result.fill;
	proved = result.status == NPUMEM_PLAN_STATUS_OPTIMAL;
	printf(" %9" PRIu64 " %-6s %6.3f", traffic, proved ? "proved" : "open", seconds);
	if (!proved)
		printf(" (>= %" PRIu64 ")", result.lower_bound);
	totals->plans++;
	totals->proved += proved;
	totals->seconds += seconds;
	totals->slowest = seconds > totals->slowest ? seconds : totals->slowest;
	npuplan_cosma_plan_free(&result);
	return traffic;
}

/* The four baselines. */
static void compare(const struct network *network, struct cosma_settings options, int budget,
		    uint64_t ours, struct totals *totals)
{
	options.common.schedule = NPUPLAN_SCHEDULE_GIVEN;
	printf(" |");
	for (int scheme = 0; scheme < SCHEMES; scheme++) {
		bool parameters = options.with_parameters;
		struct npuplan_cosma_plan result;
		struct npuplan_error error;

		options.order = scheme < 2 ? NULL : network->order;
		if (npuplan_cosma_baseline(network->graph, &options,
					   scheme % 2 ? NPUPLAN_COSMA_GREEDY : NPUPLAN_COSMA_BELADY,
					   &result, &error)) {
			printf("\n%s: %s\n", scheme_names[scheme], error.text);
			totals->failed = true;
			continue;
		}
		if (execute(network->graph, &options, &result, scheme_names[scheme], totals)) {
			uint64_t traffic = result.spill + result.fill;

			printf(" %9" PRIu64, traffic);
			if (!budget && traffic) {
				totals->less[parameters][scheme] +=
					1 - (double)ours / (double)traffic;
				totals->compared[parameters][scheme]++;
			}
		}
		npuplan_cosma_plan_free(&result);
	}
}

static void check_known(const char *name, const struct cosma_settings *options, int budget,
			uint64_t traffic, struct totals *totals)
{
	const struct known *known = options->out_of_place ? out_of_place : in_place;
	size_t count = options->out_of_place ? sizeof(out_of_place) / sizeof(out_of_place[0]) :
					       sizeof(in_place) / sizeof(in_place[0]);
	bool parameters = options->with_parameters;

	for (size_t i = 0; i < count; i++) {
		if (strcmp(known[i].name, name) || known[i].parameters != parameters ||
		    known[i].traffic[budget] == traffic)
			continue;
		printf(" DEFECT: known to be %" PRIu64, known[i].traffic[budget]);
		totals->failed = true;
	}
}

/* Operators in the order of least peak footprint; NULL if there is none. */
static uint32_t *peak_order(const struct npuplan_graph *graph, struct cosma_settings options)
{
	uint32_t *order = malloc(((size_t)graph->op_count + 1) * sizeof(*order)), count = 0;
	struct npuplan_cosma_plan result;
	struct npuplan_error error;

	options.common.objective = NPUPLAN_OBJECTIVE_PEAK;
	if (!order || npuplan_cosma(graph, &options, &result, &error)) {
		free(order);
		return NULL;
	}
	for (uint32_t p = 0; p < result.position_count; p++)
		if (result.positions[p].kind == NPUMEM_POSITION_STEP)
			order[count++] = result.positions[p].index;
	npuplan_cosma_plan_free(&result);
	return order;
}

static bool network_read(struct network *network, const char *folder, const char *name,
			 const struct cosma_settings *options, struct totals *totals)
{
	struct npuplan_budgets budgets;
	struct npuplan_error error;
	char path[4096];

	*network = (struct network){ .name = name };
	snprintf(path, sizeof(path), "%s/%s.json", folder, name);
	if (npuimport_file(path, NULL, &network->graph, NULL, &error) ||
	    npuplan_cosma_budgets(network->graph, options, &budgets, &error)) {
		printf("%s: %s\n", path, error.text);
		npuplan_graph_free(network->graph);
		totals->failed = true;
		return false;
	}
	if (!budgets.proved)
		printf("%s: M_P is not proved\n", name);
	network->budget[0] = budgets.needed;
	network->budget[1] = budgets.middle;
	network->budget[2] = budgets.peak;
	network->order = peak_order(network->graph, *options);
	return true;
}

static void network_free(struct network *network)
{
	free(network->order);
	npuplan_graph_free(network->graph);
}

static void table_designed(const char *folder, struct cosma_settings options, struct totals *totals)
{
	printf("%-28s %-3s %9s %9s %-6s %6s | %9s %9s %9s %9s\n", "network", "", "budget",
	       "traffic", "", "s", "def.Bel.", "def.gr.", "MPMF Bel.", "MPMF gr.");
	for (int parameters = 0; parameters < 2; parameters++) {
		options.with_parameters = parameters;
		for (size_t i = 0; i < sizeof(designed) / sizeof(designed[0]); i++) {
			struct network network;

			if (!network_read(&network, folder, designed[i], &options, totals))
				continue;
			for (int budget = 0; budget < BUDGETS; budget++) {
				uint64_t traffic;

				options.common.arena_budget = network.budget[budget];
				printf("%-25s %-2s %-3s %9" PRIu64, network.name,
				       parameters ? "+p" : "", budget_names[budget],
				       options.common.arena_budget);
				traffic = plan(&network, &options, totals);
				compare(&network, options, budget, traffic, totals);
				check_known(network.name, &options, budget, traffic, totals);
				printf("\n");
				fflush(stdout);
			}
			network_free(&network);
		}
	}
}

static void table_searched(const char *folder, struct cosma_settings options, struct totals *totals)
{
	printf("%-28s %9s %9s %-6s %6s %9s %-6s %6s %9s %-6s %6s |%s\n", "network", "budget",
	       "joint", "", "s", "default", "", "s", "MPMF", "", "s", " the four baselines");
	for (size_t i = 0; i < sizeof(found_by_search) / sizeof(found_by_search[0]); i++) {
		struct network network;

		if (!network_read(&network, folder, found_by_search[i], &options, totals))
			continue;
		for (int budget = 0; budget < BUDGETS; budget++) {
			uint64_t joint, fixed[2];

			options.common.arena_budget = network.budget[budget];
			printf("%-24s %-3s %9" PRIu64, network.name, budget_names[budget],
			       options.common.arena_budget);
			joint = plan(&network, &options, totals);
			options.common.schedule = NPUPLAN_SCHEDULE_GIVEN;
			fixed[0] = plan(&network, &options, totals);
			options.order = network.order;
			fixed[1] = plan(&network, &options, totals);
			options.common.schedule = NPUPLAN_SCHEDULE_FREE;
			options.order = NULL;
			compare(&network, options, budget, joint, totals);
			check_known(network.name, &options, budget, joint, totals);
			if (joint > fixed[0] || joint > fixed[1]) {
				printf(" DEFECT: a fixed order is better");
				totals->failed = true;
			}
			printf("\n");
			fflush(stdout);
		}
		network_free(&network);
	}
}

/* Percent less at M_R: per baseline the mean over networks, and the mean of these. */
static double reduction(const struct totals *totals, int parameters, bool print)
{
	double mean = 0;

	for (int scheme = 0; scheme < SCHEMES; scheme++) {
		unsigned int compared = totals->compared[parameters][scheme];
		double less = compared ? 100 * totals->less[parameters][scheme] / compared : 0;

		if (print)
			printf("  %5.1f %% less than %s (%u networks for which that moves anything)\n",
			       less, scheme_names[scheme], compared);
		mean += less / SCHEMES;
	}
	return mean;
}

/* ------------------------------------------------------------ large networks */

static bool table_large(struct totals *totals)
{
	static const char *const shapes[] = { "chain", "ladder", "random" };
	bool reached = true;

	printf("%u operators, %g s, %u MiB\n%-8s %3s %9s %10s %10s %6s %9s %6s\n", LARGE_OPS,
	       LARGE_DEADLINE, LARGE_MEMORY >> 20, "shape", "", "budget", "traffic", "at least",
	       "gap", "KiB held", "s");
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct npuplan_graph *graph = large_network(shapes[i], LARGE_OPS);
		struct cosma_settings options = {
			.common.deadline_seconds = LARGE_DEADLINE,
			.common.memory_limit = LARGE_MEMORY,
		};
		struct npuplan_budgets budgets = { 0 };
		struct npuplan_error error;

		if (npuplan_cosma_budgets(graph, &options, &budgets, &error)) {
			printf("%s: %s\n", shapes[i], error.text);
			totals->failed = true;
		}
		for (int budget = 0; budget < 2; budget++) {
			struct npuplan_cosma_plan result;
			double seconds = cpu_seconds();
			uint64_t traffic;

			options.common.arena_budget = budget ? budgets.middle : budgets.needed;
			if (npuplan_cosma(graph, &options, &result, &error)) {
				printf("%s: %s\n", shapes[i], error.text);
				totals->failed = true;
				continue;
			}
			seconds = cpu_seconds() - seconds;
			traffic = result.spill + result.fill;
			if (!execute(graph, &options, &result, shapes[i], totals))
				traffic = UINT64_MAX;
			printf("%-8s %s %9" PRIu64 " %10" PRIu64 " %10" PRIu64 " %5.1f%% %9" PRIu64
			       " %6.3f\n",
			       shapes[i], budget_names[budget], options.common.arena_budget,
			       traffic, result.lower_bound,
			       traffic ? 100 * (double)(traffic - result.lower_bound) /
						 (double)traffic :
					 0,
			       result.memory >> 10, seconds);
			fflush(stdout);
			reached &= result.memory <= LARGE_MEMORY && seconds < LARGE_DEADLINE + 1;
			npuplan_cosma_plan_free(&result);
		}
		npuplan_graph_free(graph);
	}
	return reached;
}

static void goal(bool reached, const char *text)
{
	printf("%-7s %s\n", reached ? "reached" : "MISSED", text);
}

int main(int argc, char **argv)
{
	struct cosma_settings options = { .common.deadline_seconds = 60 };
	struct totals first = { 0 }, second = { 0 }, in_place_totals = { 0 };
	double activations, parameters;
	char text[160];
	bool large;
	int c;

	while ((c = getopt(argc, argv, "d:")) != -1) {
		if (c != 'd')
			return 2;
		options.common.deadline_seconds = strtod(optarg, NULL);
	}
	if (optind + 1 != argc)
		return 2;
	options.out_of_place = true;
	printf("out of place\n");
	table_designed(argv[optind], options, &first);
	printf("\n");
	table_searched(argv[optind], options, &second);
	options.out_of_place = false;
	printf("\nin place\n");
	table_designed(argv[optind], options, &in_place_totals);
	printf("\n");
	table_searched(argv[optind], options, &in_place_totals);
	printf("\n");
	large = table_large(&second);
	printf("\nout of place, at M_R, activations only:\n");
	activations = reduction(&first, 0, true);
	printf("at M_R, with parameters:\n");
	parameters = reduction(&first, 1, true);
	printf("at M_R, networks found by search (the paper: 85 %%):\n");
	printf("  %.1f %% less on average\n\n", reduction(&second, 0, true));
	if (!first.plans || !second.plans || !in_place_totals.plans)
		return 1;
	snprintf(text, sizeof(text), "designed networks: %u of %u proved with addresses",
		 first.proved, first.plans);
	goal(first.proved == first.plans, text);
	snprintf(text, sizeof(text), "designed networks: %.3f s on average (goal: 0.05)",
		 first.seconds / first.plans);
	goal(first.seconds <= 0.05 * first.plans, text);
	snprintf(text, sizeof(text), "designed networks: %.3f s at most (goal: 0.5)",
		 first.slowest);
	goal(first.slowest <= 0.5, text);
	snprintf(text, sizeof(text),
		 "designed networks: %.1f %% less traffic at M_R (%.1f activations, %.1f with "
		 "parameters; goal: 84)",
		 (activations + parameters) / 2, activations, parameters);
	goal(activations + parameters >= 2 * 84, text);
	snprintf(text, sizeof(text), "networks found by search: %u of %u proved with addresses",
		 second.proved, second.plans);
	goal(second.proved == second.plans, text);
	snprintf(text, sizeof(text), "networks found by search: %.3f s at most (goal: 1)",
		 second.slowest);
	goal(second.slowest <= 1, text);
	snprintf(text, sizeof(text), "all of them in place: %u of %u proved, %.3f s on average",
		 in_place_totals.proved, in_place_totals.plans,
		 in_place_totals.seconds / in_place_totals.plans);
	goal(in_place_totals.proved == in_place_totals.plans, text);
	goal(large, "5,000 operators: a plan and a gap within the limits");
	second.failed |= in_place_totals.failed;
	goal(!first.failed && !second.failed,
	     "every plan executed, known optima reached, no fixed order better than the joint one");
	return first.failed || second.failed;
}
