// SPDX-License-Identifier: MIT
/*
 * npuplan_cosma() against the integer linear program of the paper, which HiGHS solves with
 * addresses: same least traffic and same least peak, any order and a fixed one, on random
 * graphs of 6 to 14 operators. All plans are executed. Some programs are also written to
 * LP files, which the solver reads back: same optimum. Eq. 1 to the letter, and divide and
 * conquer, are never better. Without HiGHS this test fails: there is nothing to skip to.
 *
 * usage: prop_cosma_ilp [SEED [CASES]]
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "cosma_oracle.h"
#include "planners/cosma/ilp/solver.h"
#include "random.h"

#ifdef NPUPLAN_HIGHS
/* Seconds until a single program is given up, and the test fails. */
#define DEADLINE 600

static uint64_t seed, state;
static unsigned long number;

/* What the cases were like. */
static struct {
	unsigned long compared, spilled, apart, infeasible, letter, divided, files;
	unsigned long resident, parameters, aligned, inplace, yielded, operators[15];
} seen;

static uint32_t range(uint32_t low, uint32_t high)
{
	return xorshift_range(&state, low, high);
}

__attribute__((format(printf, 3, 4), noreturn)) static void
fail(const struct npuplan_graph *graph, const struct npuplan_cosma_options *options,
     const char *format, ...)
{
	va_list args;

	printf("not ok - seed %" PRIu64 " case %lu: ", seed, number);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	cosma_print_case(graph, options);
	exit(1);
}

static uint32_t add_tensor(struct npuplan_graph *graph, uint32_t kind, uint32_t most, bool align)
{
	struct npuplan_tensor tensor = {
		.size = range(1, most),
		.align = align && !range(0, 3) ? 2 : 1,
		.kind = kind,
		.id = graph->tensor_count,
	};

	return (uint32_t)npuplan_graph_add_tensor(graph, &tensor);
}

/*
 * As networks are: chains, with branches and skips. All but the small ones are narrow: a
 * general solver takes minutes for what is wide.
 */
static struct npuplan_graph *random_graph(uint32_t ops)
{
	struct npuplan_graph *graph = npuplan_graph_new("random");
	uint32_t made[64], count = 0, most = range(2, 8), near = ops < 8 ? 3 : 2, parameter = 0;
	bool align = !range(0, 6), shared = !range(0, 2);

	for (uint32_t t = 0; t <= !range(0, 3); t++)
		made[count++] = add_tensor(graph, NPUMEM_TENSOR_INPUT, most, align);
	if (shared)
		parameter = add_tensor(graph, NPUMEM_TENSOR_PARAMETER, most, align);
	for (uint32_t v = 0; v < ops; v++) {
		uint32_t inputs[4], outputs[2], back = (count < near ? count : near) - 1;
		struct npuplan_op op = {
			.inputs = inputs,
			.outputs = outputs,
			.input_count = 1,
			.output_count = range(0, 7) ? 1 : 2,
			.id = v,
		};

		inputs[0] = made[count - 1 - (range(0, 2) ? 0 : range(0, back))];
		if (range(0, 1))
			inputs[op.input_count++] =
				made[count - 1 - range(0, range(0, 5) ? back : count - 1)];
		if (shared && !range(0, 3))
			inputs[op.input_count++] = parameter;
		if (!range(0, 7))
			inputs[op.input_count++] =
				add_tensor(graph, NPUMEM_TENSOR_PARAMETER, most, align);
		for (uint32_t k = 0; k < op.output_count; k++)
			outputs[k] = add_tensor(graph,
						v + 1 == ops || !range(0, 9) ?
							NPUMEM_TENSOR_OUTPUT :
							NPUMEM_TENSOR_INTERMEDIATE,
						most, align);
		for (uint32_t k = 0; k < op.output_count; k++)
			made[count++] = outputs[k];
		op.attrs.inplace = range(0, 1);
		if (op.attrs.inplace && range(0, 3))
			graph->tensors[outputs[0]].size = graph->tensors[inputs[0]].size;
		seen.inplace += op.attrs.inplace;
		npuplan_graph_add_op(graph, &op);
	}
	return graph;
}

/* What the plan costs; UINT64_MAX if there is none. */
static uint64_t execute(const struct npuplan_graph *graph,
			const struct npuplan_cosma_options *options,
			const struct npuplan_cosma_plan *plan, const char *what)
{
	struct cosma_oracle oracle;

	if (!plan->position_count)
		return UINT64_MAX;
	if (!cosma_oracle_run(&oracle, graph, options, plan))
		fail(graph, options, "%s: %s", what, oracle.why);
	return options->common.objective == NPUPLAN_OBJECTIVE_PEAK ? plan->peak :
								     plan->spill + plan->fill;
}

static void solve(const struct npuplan_graph *graph, const struct npuplan_cosma_options *options,
		  const struct npuplan_cosma_ilp_options *ilp, struct npuplan_cosma_plan *plan)
{
	struct npuplan_cosma_options limited = *options;
	struct npuplan_error error;

	limited.common.deadline_seconds = DEADLINE;
	if (ilp_plan(graph, &limited, ilp, &ilp_highs, plan, &error))
		fail(graph, options, "%s", error.text);
}

/* Search and program have the same optimum, which is returned; UINT64_MAX: infeasible. */
static uint64_t compare(const struct npuplan_graph *graph,
			const struct npuplan_cosma_options *options)
{
	struct npuplan_cosma_plan found, solved;
	struct npuplan_error error;
	uint64_t cost, other;

	if (npuplan_cosma(graph, options, &found, &error))
		fail(graph, options, "%s", error.text);
	solve(graph, options, NULL, &solved);
	cost = execute(graph, options, &found, "search");
	other = execute(graph, options, &solved, "program");
	if (found.status != solved.status || cost != other)
		fail(graph, options, "search: status %u, %" PRIu64 "; program: status %u, %" PRIu64,
		     found.status, cost, solved.status, other);
	if (cost == UINT64_MAX ? found.status != NPUMEM_PLAN_INFEASIBLE :
				 found.status != NPUMEM_PLAN_OPTIMAL)
		fail(graph, options, "not solved: status %u", found.status);
	if (cost != UINT64_MAX && solved.lower_bound != cost)
		fail(graph, options, "optimal, but the bound is %" PRIu64 ", not %" PRIu64,
		     solved.lower_bound, cost);
	seen.compared++;
	for (uint32_t p = 0; p < solved.position_count; p++)
		seen.yielded += solved.positions[p].kind == NPUMEM_POSITION_STORE &&
				graph->tensors[solved.positions[p].index].kind !=
					NPUMEM_TENSOR_OUTPUT;
	seen.infeasible += cost == UINT64_MAX;
	if (options->common.objective != NPUPLAN_OBJECTIVE_PEAK && cost != UINT64_MAX) {
		seen.spilled += cost > 0;
		seen.apart += found.relaxed_bound < cost;
	}
	npuplan_cosma_plan_free(&found);
	npuplan_cosma_plan_free(&solved);
	return cost;
}

static void check_file(const struct npuplan_graph *graph,
		       const struct npuplan_cosma_options *options, uint64_t cost)
{
	char path[] = "/tmp/prop_cosma_ilp_XXXXXX.lp", *text, *again;
	int fd = mkstemps(path, 3);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	struct npuplan_error error;
	size_t size, same;
	uint64_t unit = 0;
	double optimum;

	if (!file || npuplan_cosma_ilp_write(graph, options, NULL, &text, &size, &error) ||
	    npuplan_cosma_ilp_write(graph, options, NULL, &again, &same, &error))
		fail(graph, options, "no LP file: %s", file ? error.text : path);
	if (size != same || memcmp(text, again, size) || strlen(text) != size)
		fail(graph, options, "not the same LP file again");
	if (sscanf(text, "%*[^\n]\n\\ one unit of the objective: %" SCNu64, &unit) != 1)
		fail(graph, options, "the LP file names no unit");
	if (fwrite(text, 1, size, file) != size || fclose(file))
		fail(graph, options, "cannot write %s", path);
	if (ilp_highs.solve_file(path, &optimum))
		fail(graph, options, "the solver cannot solve %s", path);
	optimum *= (double)unit;
	unlink(path);
	free(text);
	free(again);
	if (optimum < (double)cost - 0.01 || optimum > (double)cost + 0.01)
		fail(graph, options, "the LP file has the optimum %g, not %" PRIu64, optimum, cost);
	seen.files++;
}

/* Never better than @least; executed. */
static void check_variant(const struct npuplan_graph *graph,
			  const struct npuplan_cosma_options *options,
			  const struct npuplan_cosma_ilp_options *ilp, uint64_t least,
			  unsigned long *differ)
{
	struct npuplan_cosma_plan plan;
	uint64_t cost;

	solve(graph, options, ilp, &plan);
	cost = execute(graph, options, &plan, ilp->divide ? "divided" : "letter");
	if (cost < least || (plan.status == NPUMEM_PLAN_OPTIMAL && ilp->divide && cost))
		fail(graph, options, "%s: status %u, %" PRIu64 ", but the least is %" PRIu64,
		     ilp->divide ? "divided" : "letter", plan.status, cost, least);
	*differ += cost != least;
	npuplan_cosma_plan_free(&plan);
}

static void check_case(void)
{
	uint32_t ops = 6 + (uint32_t)(number % 9);
	AUTO_GRAPH struct npuplan_graph *graph = random_graph(ops);
	struct npuplan_cosma_options options = {
		.with_parameters = range(0, 1),
		.inputs_resident = !range(0, 3),
		.common.alignment = range(0, 9) ? 0 : 2,
	};
	struct npuplan_cosma_ilp_options letter = { .spill_steps = true }, divide = { .divide = 4 };
	struct npuplan_budgets budgets;
	struct npuplan_error error;
	uint64_t cost, peak;

	if (npuplan_cosma_budgets(graph, &options, &budgets, &error))
		fail(graph, &options, "%s", error.text);
	options.common.arena_budget = range(0, 2) ? budgets.needed : budgets.middle;
	if (!range(0, 15))
		options.common.arena_budget = budgets.needed - 1;
	seen.resident += options.inputs_resident;
	seen.parameters += options.with_parameters;
	seen.aligned += options.common.alignment == 2;
	seen.operators[ops]++;
	cost = compare(graph, &options);
	if (!(number % 8))
		check_variant(graph, &options, &divide, cost, &seen.divided);
	if (!(number % 12) && cost != UINT64_MAX)
		check_file(graph, &options, cost);
	options.common.objective = NPUPLAN_OBJECTIVE_PEAK;
	peak = compare(graph, &options);
	if (!(number % 12))
		check_file(graph, &options, peak);
	options.common.schedule = NPUPLAN_SCHEDULE_GIVEN;
	compare(graph, &options);
	options.common.objective = NPUPLAN_OBJECTIVE_TRAFFIC;
	cost = compare(graph, &options);
	check_variant(graph, &options, &letter, cost, &seen.letter);
	if (!(number % 12) && cost != UINT64_MAX)
		check_file(graph, &options, cost);
}

int main(int argc, char **argv)
{
	unsigned long cases = argc > 2 ? strtoul(argv[2], NULL, 0) : 320;

	seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 20261121;
	state = seed * 0x9e3779b97f4a7c15ull + 1;
	for (number = 0; number < cases; number++)
		check_case();
	printf("ok - seed %" PRIu64 ": %lu graphs of 6 to 14 operators (", seed, cases);
	for (uint32_t ops = 6; ops < 15; ops++)
		printf("%s%lu", ops > 6 ? " " : "", seen.operators[ops]);
	printf("), %lu programs: %lu spill, %lu where addresses cost, %lu infeasible; %lu with "
	       "parameters, %lu with resident inputs, %lu aligned; %lu LP files; Eq. 1 to the "
	       "letter costs more for %lu, divide and conquer for %lu; %lu operators in place, %lu "
	       "tensors left as their bytes were taken\n",
	       seen.compared, seen.spilled, seen.apart, seen.infeasible, seen.parameters,
	       seen.resident, seen.aligned, seen.files, seen.letter, seen.divided, seen.inplace,
	       seen.yielded);
	if (cases >= 320 && (!seen.infeasible || 10 * seen.spilled < cases || !seen.yielded)) {
		puts("not ok - too few cases are of interest");
		return 1;
	}
	return 0;
}

#else

int main(void)
{
	puts("not ok - no ILP solver: meson found no HiGHS (-Dhighs_root=DIR, scripts/fetch highs)");
	return 1;
}

#endif
