// SPDX-License-Identifier: MIT
/* How long plans take, and planner cosma's plans for the least time; what is refused. */
#include "npuplan_build.h"

#include <errno.h>

#include "planners/cosma/time/clock.h"

#define US 1000000ull

/* in 2, u 8 -> a 2; a, v 8 -> b 2; b, w 8 -> out 2: steps access 12 bytes each. */
static struct npuplan_graph *chain(void)
{
	struct npuplan_graph *graph = npuplan_graph_new("chain");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 2);
	uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 2);
	uint32_t b = build_tensor(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, 2);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 2);
	uint32_t u = build_tensor(graph, "u", NPUMEM_TENSOR_PARAMETER, 8);
	uint32_t v = build_tensor(graph, "v", NPUMEM_TENSOR_PARAMETER, 8);
	uint32_t w = build_tensor(graph, "w", NPUMEM_TENSOR_PARAMETER, 8);

	build_op(graph, "f", in, u, NPUMEM_NONE, a);
	build_op(graph, "g", a, v, NPUMEM_NONE, b);
	build_op(graph, "h", b, w, NPUMEM_NONE, out);
	for (uint32_t t = 0; t < graph->tensor_count; t++)
		if (graph->tensors[t].kind == NPUMEM_TENSOR_INPUT ||
		    graph->tensors[t].kind == NPUMEM_TENSOR_PARAMETER)
			graph->tensors[t].flags = NPUMEM_TENSOR_FLAG_HOST;
	assert_int_equal(npuplan_graph_tile_bands(graph, 1, true, NULL), 0);
	return graph;
}

static struct npuplan_machine machine(void)
{
	return (struct npuplan_machine){ .size = sizeof(struct npuplan_machine),
					 .access = 1,
					 .copy = 2 };
}

static int plan(const struct npuplan_graph *graph, const struct npuplan_machine *of,
		uint32_t objective, uint64_t budget, struct npuplan_plan **out,
		struct npuplan_error *error)
{
	const struct npuplan_cosma_options cosma = { .size = sizeof(cosma), .machine = of };
	const struct npuplan_options options = {
		.planner = "cosma",
		.arena_budget = budget,
		.objective = objective,
		.cosma = &cosma,
	};

	*out = NULL;
	return npuplan_plan(graph, &options, out, error);
}

TEST(times_by_hand)
{
	AUTO_GRAPH struct npuplan_graph *graph = chain();
	struct npuplan_machine of = machine();
	struct npuplan_timing timing;
	struct npuplan_plan *found;
	struct npuplan_error error;

	/* Weights lie where the last ones lay: nothing runs beside anything. */
	if (plan(graph, &of, NPUPLAN_OBJECTIVE_TRAFFIC, 12, &found, &error) ||
	    npuplan_timing_find(graph, found, &of, &timing, &error))
		fail_msg("%s", error.text);
	assert_int_equal(timing.makespan, 50 * US);
	assert_int_equal(timing.compute, 36 * US);
	assert_int_equal(timing.copy, 14 * US);
	assert_int_equal(timing.stall, 14 * US);
	/* in and u, all steps, out. */
	assert_int_equal(timing.bound, 42 * US);
	npuplan_plan_free(found);
	/* There is no room for two of them. */
	assert_int_equal(plan(graph, &of, NPUPLAN_OBJECTIVE_TIME, 12, &found, &error), 0);
	assert_int_equal(found->info.status, NPUMEM_PLAN_STATUS_FEASIBLE);
	npuplan_plan_free(found);
	assert_int_equal(plan(graph, &of, NPUPLAN_OBJECTIVE_TIME, 20, &found, &error), 0);
	assert_int_equal(npuplan_timing_find(graph, found, &of, &timing, &error), 0);
	assert_int_equal(timing.makespan, 42 * US);
	assert_int_equal(found->info.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(found->info.spill_bytes + found->info.fill_bytes, 0);
	npuplan_plan_free(found);
}

/* Five transfers of a microsecond each come on top of their bytes; two elements take as long. */
TEST(latency_and_elements)
{
	AUTO_GRAPH struct npuplan_graph *graph = chain();
	struct npuplan_machine of = machine();
	struct npuplan_timing timing;
	struct npuplan_plan *found;
	struct npuplan_error error;

	of.latency = 1000;
	of.access = 0;
	of.compute = 2;
	assert_int_equal(plan(graph, &of, NPUPLAN_OBJECTIVE_TRAFFIC, 12, &found, &error), 0);
	assert_int_equal(npuplan_timing_find(graph, found, &of, &timing, &error), 0);
	assert_int_equal(timing.compute, 3 * US);
	assert_int_equal(timing.copy, 19 * US);
	/* What takes longer counts. */
	of.access = 1;
	assert_int_equal(npuplan_timing_find(graph, found, &of, &timing, &error), 0);
	assert_int_equal(timing.compute, 36 * US);
	npuplan_plan_free(found);
}

/* One machine: heads 0, 1; the job with the longer tail interrupts the other one. */
TEST(one_machine)
{
	struct cosma_job jobs[] = { { 0, 5, 0 }, { 1, 2, 7 } };
	uint64_t bound;

	assert_int_equal(cosma_jobs_bound(jobs, 2, &bound), 0);
	assert_int_equal(bound, 10);
	assert_int_equal(cosma_jobs_bound(jobs, 0, &bound), 0);
	assert_int_equal(bound, 0);
}

static void refused(const struct npuplan_machine *of, const char *text)
{
	AUTO_GRAPH struct npuplan_graph *graph = chain();
	struct npuplan_machine good = machine();
	struct npuplan_timing timing;
	struct npuplan_plan *found, *none;
	struct npuplan_error error;

	assert_int_equal(plan(graph, &good, NPUPLAN_OBJECTIVE_TRAFFIC, 12, &found, &error), 0);
	assert_int_equal(npuplan_timing_find(graph, found, of, &timing, &error), -EINVAL);
	assert_string_equal(error.text, text);
	if (of) {
		assert_int_equal(plan(graph, of, NPUPLAN_OBJECTIVE_TIME, 12, &none, &error),
				 -EINVAL);
		assert_string_equal(error.text, text);
	}
	npuplan_plan_free(found);
}

TEST(machines_refused)
{
	struct npuplan_machine of = machine();

	refused(NULL, "a machine that makes no sense: it copies no bytes");
	of.copy = 0;
	refused(&of, "a machine that makes no sense: it copies no bytes");
	of = machine();
	of.access = 0;
	refused(&of, "a machine that makes no sense: its steps take no time");
	of = machine();
	of.copy = 1000000000001;
	refused(&of, "a machine that makes no sense: more than 10^12 a microsecond");
	of = machine();
	of.compute = UINT64_MAX;
	refused(&of, "a machine that makes no sense: more than 10^12 a microsecond");
	of = machine();
	of.access = UINT64_MAX;
	refused(&of, "a machine that makes no sense: more than 10^12 a microsecond");
	of = machine();
	of.latency = 1000000001;
	refused(&of, "a machine that makes no sense: a transfer begins after more than a second");
	of = machine();
	of.size = 1;
	refused(&of, "the options of one planner do not say their size");
}

TEST(objective_refused)
{
	AUTO_GRAPH struct npuplan_graph *graph = chain();
	const struct npuplan_bank banks[] = { { 16, 2 }, { 16, 1 } };
	struct npuplan_machine of = machine();
	struct npuplan_cosma_options cosma = { .size = sizeof(cosma), .machine = &of };
	struct npuplan_options options = {
		.planner = "cosma-belady",
		.arena_budget = 12,
		.objective = NPUPLAN_OBJECTIVE_TIME,
		.cosma = &cosma,
	};
	struct npuplan_plan *found;
	struct npuplan_error error;

	assert_int_equal(npuplan_plan(graph, &options, &found, &error), -EOPNOTSUPP);
	assert_string_equal(error.text, "the least time is planned by planner cosma's search");
	options.planner = "cosma";
	cosma.banks = banks;
	assert_int_equal(npuplan_plan(graph, &options, &found, &error), -EOPNOTSUPP);
	assert_string_equal(error.text, "two banks are planned for the least traffic, not time");
	cosma.banks = NULL;
	cosma.machine = NULL;
	assert_int_equal(npuplan_plan(graph, &options, &found, &error), -EINVAL);
	assert_string_equal(error.text, "the least time of which machine? It is not said how fast "
					"steps and transfers are");
	options.cosma = NULL;
	assert_int_equal(npuplan_plan(graph, &options, &found, &error), -EINVAL);
	options.cosma = &cosma;
	cosma.machine = &of;
	options.arena_budget = 0;
	assert_int_equal(npuplan_plan(graph, &options, &found, &error), -EINVAL);
	assert_string_equal(error.text, "the least time is planned within a budget: which?");
	options.planner = "auto";
	options.cosma = NULL;
	assert_int_equal(npuplan_plan(graph, &options, &found, &error), -EOPNOTSUPP);
	assert_string_equal(error.text,
			    "planner auto does not take the objectives of planner cosma");
}

/* Of a blob it is not known what steps compute. */
TEST(unknown_operators)
{
	AUTO_GRAPH struct npuplan_graph *graph = chain();
	struct npuplan_graph *read;
	struct npuplan_machine of = machine();
	struct npuplan_timing timing;
	struct npuplan_plan *found;
	struct npuplan_error error;
	void *blob;
	size_t size;

	assert_int_equal(npuplan_graph_write(graph, &blob, &size, NULL), 0);
	assert_int_equal(npuplan_graph_read(blob, size, &read, NULL), 0);
	assert_int_equal(plan(read, &of, NPUPLAN_OBJECTIVE_TIME, 20, &found, &error), 0);
	of.compute = 1;
	assert_int_equal(npuplan_timing_find(read, found, &of, &timing, &error), 0);
	assert_int_equal(timing.makespan, 42 * US);
	of.access = 0;
	assert_int_equal(npuplan_timing_find(read, found, &of, &timing, &error), -EOPNOTSUPP);
	assert_string_equal(error.text, "f: it is not known what it computes, so it takes the time "
					"of the bytes that it accesses: at which bandwidth?");
	npuplan_plan_free(found);
	npuplan_graph_free(read);
	free(blob);
}

/* What the verifier refuses has no time. */
TEST(bad_plan)
{
	AUTO_GRAPH struct npuplan_graph *graph = chain();
	struct npuplan_machine of = machine();
	struct npuplan_timing timing;
	struct npuplan_plan *found;
	struct npuplan_error error;

	assert_int_equal(plan(graph, &of, NPUPLAN_OBJECTIVE_TRAFFIC, 12, &found, &error), 0);
	found->positions[found->position_count - 1].first = 1;
	assert_int_equal(npuplan_timing_find(graph, found, &of, &timing, &error), -EINVAL);
	ASSERT_TEXT(error, "plan refused: V2 order: position ");
	npuplan_plan_free(found);
}
