// SPDX-License-Identifier: MIT
/* npuplan_cosma_ilp(): its program as text, known answers, and what is refused. */
#include <errno.h>

#include "npuplan_build.h"

#include "planners/cosma/ilp/solver.h"
#include "cosma_oracle.h"

/* in (2) -> a (4) -> out (2): one order, and hardly a choice. */
static struct npuplan_graph *chain(void)
{
	struct npuplan_graph *graph = npuplan_graph_new("chain");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 2);
	uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 4);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 2);

	build_op(graph, "first", in, NPUMEM_NONE, NPUMEM_NONE, a);
	build_op(graph, "second", a, NPUMEM_NONE, NPUMEM_NONE, out);
	return graph;
}

static char *text_of(const struct npuplan_graph *graph, const struct cosma_settings *options)
{
	struct npuplan_error error = { "" };
	char *text;
	size_t size;

	if (npuplan_cosma_ilp_write(graph, options, NULL, &text, &size, &error))
		fail_msg("%s", error.text);
	assert_int_equal(strlen(text), size);
	return text;
}

TEST(file_of_peak)
{
	static const char expected[] =
		"\\ COSMA (arXiv 2311.18246): least peak footprint, Eq. 13-15, any schedule, "
		"2 operators, 3 tensors\n"
		"\\ one unit of the objective: 2 bytes\n"
		"Minimize\n"
		" obj: + M_peak\n"
		"Subject To\n"
		" eq1_0_t1: + C_0_t1 <= 1\n"
		" eq1_1_t1: + C_1_t1 <= 1\n"
		" eq1_1_t2: + P_1_t2 + R_1_t2 <= 1\n"
		" eq1s_1_t2: + P_1_t2 + S_1_t2 <= 1\n"
		" eq1_2_t2: + C_2_t2 <= 1\n"
		" eq2_1_t2: + P_1_t2 - C_1_t1 <= 0\n"
		" eq5_1_0_t1: + C_1_t1 - C_0_t1 <= 0\n"
		" eq5_2_1_t2: + C_2_t2 - P_1_t2 - R_1_t2 <= 0\n"
		" eq7_0: + C_0_t1 = 1\n"
		" eq7_1: + C_1_t1 = 1\n"
		" eq7_2: + C_2_t2 = 1\n"
		" step_t1: + C_1_t1 = 1\n"
		" step_t2: + C_2_t2 = 1\n"
		" eq14_t0: - M_peak <= 0\n"
		" eq14_t1: + C_0_t1 + 2 C_1_t1 - M_peak <= 0\n"
		" eq14_t2: + 2 P_1_t2 + C_2_t2 - M_peak <= 0\n"
		"Bounds\n"
		" 0 <= C_0_t1 <= 1\n"
		" 0 <= C_1_t1 <= 1\n"
		" 0 <= P_1_t2 <= 1\n"
		" 0 <= R_1_t2 <= 0\n"
		" 0 <= S_1_t2 <= 0\n"
		" 0 <= C_2_t2 <= 1\n"
		" 0 <= M_peak\n"
		"General\n"
		" C_0_t1 C_1_t1 P_1_t2 R_1_t2 S_1_t2 C_2_t2 M_peak\n"
		"End\n";
	struct cosma_settings options = { .common.objective = NPUPLAN_OBJECTIVE_PEAK };
	AUTO_GRAPH struct npuplan_graph *graph = chain();
	AUTO_TEXT char *text = text_of(graph, &options);

	assert_string_equal(text, expected);
}

/* Each equation group is there, by its number, where it belongs. */
TEST(file_of_traffic)
{
	static const char *const there[] = { "\n eq1_",	  "\n eq1s_",  "\n eq2_",   "\n eq3_",
					     "\n eq4_",	  "\n eq5_",   "\n eq7_",   "\n eq8_",
					     "\n eq10a_", "\n eq10d_", "\n eq11a_", "\n bytes_",
					     "obj: + ",	  " L_" };
	struct cosma_settings options = { .common.arena_budget = 14 };
	AUTO_GRAPH struct npuplan_graph *graph = build_diamond();
	char *text = text_of(graph, &options), *again = text_of(graph, &options);

	for (size_t i = 0; i < sizeof(there) / sizeof(there[0]); i++)
		if (!strstr(text, there[i]))
			fail_msg("no '%s' in\n%s", there[i], text);
	assert_null(strstr(text, "M_peak"));
	assert_string_equal(text, again);
	free(again);
	options.common.schedule = NPUPLAN_SCHEDULE_GIVEN;
	again = text_of(graph, &options);
	assert_non_null(strstr(again, "fixed schedule, Eq. 16-17"));
	/* What is fixed has no other timestep, and is 1. */
	assert_non_null(strstr(again, "\n 1 <= C_1_t1 <= 1\n"));
	free(again);
	free(text);
}

TEST(file_refused)
{
	struct cosma_settings options = { .common.arena_budget = 11 };
	struct npuplan_cosma_ilp_options divide = { .divide = 2 };
	AUTO_GRAPH struct npuplan_graph *graph = build_diamond();
	struct npuplan_error error = { "" };
	char *text;
	size_t size;

	assert_int_equal(npuplan_cosma_ilp_write(graph, &options, NULL, &text, &size, &error),
			 -EINVAL);
	ASSERT_TEXT(error, "operator 'make_b' needs 12 bytes, more than the budget of 11");
	assert_null(text);
	options.common.arena_budget = 12;
	assert_int_equal(npuplan_cosma_ilp_write(graph, &options, &divide, &text, &size, &error),
			 -EINVAL);
	ASSERT_TEXT(error, "they cannot be written to a file");
}

/* Operators that may run in any order, or one after the other. */
static struct npuplan_graph *many(uint32_t count, bool chained)
{
	struct npuplan_graph *graph = npuplan_graph_new("many");
	uint32_t last = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 1);

	for (uint32_t i = 0; i < count; i++) {
		bool inner = chained && i + 1 < count;
		uint32_t out = build_tensor(
			graph, "t", inner ? NPUMEM_TENSOR_INTERMEDIATE : NPUMEM_TENSOR_OUTPUT, 1);

		build_op(graph, "f", last, NPUMEM_NONE, NPUMEM_NONE, out);
		last = chained ? out : last;
	}
	return graph;
}

static void refuse_size(struct npuplan_graph *graph, const char *text)
{
	struct cosma_settings options = { .common.arena_budget = 4 };
	struct npuplan_error error = { "" };
	char *program;
	size_t size;

	assert_int_equal(npuplan_cosma_ilp_write(graph, &options, NULL, &program, &size, &error),
			 -E2BIG);
	assert_string_equal(error.text, text);
	assert_null(program);
	npuplan_graph_free(graph);
}

TEST(too_large)
{
	/*
	 * At 200 timesteps all tensors have columns C and L; at all but the first the input has P
	 * and R, and two rows for P; 20,100 pairs have u and d, and four rows.
	 */
	refuse_size(many(200, false),
		    "the integer program is too large: at least 8120798 columns and 16080398 rows; "
		    "at most 4194304 of both together");
	refuse_size(many(5800, true),
		    "the integer program of 5801 tensors at 5801 timesteps is too large: at most "
		    "33554432 pairs of both");
}

/* With a solver of its own, or a plain word that it has none. */
TEST(own_solver)
{
	struct cosma_settings options = { .common.arena_budget = 14 };
	AUTO_GRAPH struct npuplan_graph *graph = build_diamond();
	struct npuplan_cosma_plan plan;
	struct npuplan_error error = { "" };
	int err = npuplan_cosma_ilp(graph, &options, NULL, &plan, &error);

	if (npuplan_cosma_ilp_solver()) {
		assert_string_equal(npuplan_cosma_ilp_solver(), "HiGHS");
		assert_int_equal(err, 0);
		assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	} else {
		assert_int_equal(err, -ENOSYS);
		ASSERT_TEXT(error, "this build has no ILP engine");
		assert_null(plan.positions);
	}
	npuplan_cosma_plan_free(&plan);
}

#ifdef NPUPLAN_HIGHS

static void solve(const struct npuplan_graph *graph, const struct cosma_settings *options,
		  const struct npuplan_cosma_ilp_options *ilp, struct npuplan_cosma_plan *plan)
{
	struct cosma_oracle oracle;
	struct npuplan_error error = { "" };

	if (ilp_plan(graph, options, ilp, &ilp_highs, plan, &error))
		fail_msg("%s", error.text);
	if (plan->position_count && !cosma_oracle_run(&oracle, graph, options, plan))
		fail_msg("%s", oracle.why);
}

TEST(known_answers)
{
	struct cosma_settings options = { .common.arena_budget = 14 };
	AUTO_GRAPH struct npuplan_graph *graph = build_diamond();
	struct npuplan_cosma_plan plan;

	solve(graph, &options, NULL, &plan);
	assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(plan.spill + plan.fill, 0);
	npuplan_cosma_plan_free(&plan);
	/* b is spilled while c is made, and filled for the last operator. */
	options.common.arena_budget = 12;
	solve(graph, &options, NULL, &plan);
	assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(plan.spill, 4);
	assert_int_equal(plan.fill, 4);
	assert_int_equal(plan.lower_bound, 8);
	npuplan_cosma_plan_free(&plan);
	options.common.arena_budget = 11;
	solve(graph, &options, NULL, &plan);
	assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_INFEASIBLE);
	assert_int_equal(plan.needed, 12);
	assert_int_equal(plan.needed_op, 1);
	assert_null(plan.positions);
	options.common.objective = NPUPLAN_OBJECTIVE_PEAK;
	solve(graph, &options, NULL, &plan);
	assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(plan.peak, 14);
	npuplan_cosma_plan_free(&plan);
}

/* Nine bytes fit in ten, but addresses 0, 4 and 8 do not: a leaves while c is made. */
TEST(addresses_cost)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_aligned();
	struct cosma_settings options = { .common.arena_budget = 10, .common.alignment = 4 };
	struct npuplan_cosma_plan plan;

	solve(graph, &options, NULL, &plan);
	assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(plan.lower_bound, 6);
	assert_int_equal(plan.spill + plan.fill, 6);
	npuplan_cosma_plan_free(&plan);
	options.common.arena_budget = 11;
	solve(graph, &options, NULL, &plan);
	assert_int_equal(plan.spill + plan.fill, 0);
	npuplan_cosma_plan_free(&plan);
}

/* What is outside takes no room and no columns, but keeps the operators in order. */
TEST(external)
{
	struct cosma_settings options = { .common.arena_budget = 6, .with_parameters = true };
	struct npuplan_cosma_ilp_options divide = { .divide = 1 };
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("external");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 2);
	uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 40);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 2);
	uint32_t own = build_tensor(graph, "own", NPUMEM_TENSOR_PARAMETER, 4);
	uint32_t outside = build_tensor(graph, "outside", NPUMEM_TENSOR_PARAMETER, 50);
	struct npuplan_cosma_plan plan;

	build_op(graph, "first", in, own, outside, a);
	build_op(graph, "second", a, in, NPUMEM_NONE, out);
	graph->tensors[a].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	graph->tensors[outside].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	for (int i = 0; i < 2; i++) {
		if (ilp_plan(graph, &options, i ? &divide : NULL, &ilp_highs, &plan, NULL))
			fail_msg("no plan");
		assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_OPTIMAL);
		assert_int_equal(plan.spill + plan.fill, 0);
		assert_int_equal(plan.placement_count, 3);
		assert_int_equal(plan.top, 6);
		npuplan_cosma_plan_free(&plan);
	}
}

/* Sub-graphs of two operators: both have what crosses stored; one of it is taken back. */
TEST(divide)
{
	struct npuplan_cosma_ilp_options divide = { .divide = 2 };
	struct cosma_settings options = { .common.arena_budget = 14 };
	AUTO_GRAPH struct npuplan_graph *graph = build_diamond();
	struct npuplan_cosma_plan plan;
	struct npuplan_error error;

	solve(graph, &options, &divide, &plan);
	assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(plan.spill + plan.fill, 0);
	npuplan_cosma_plan_free(&plan);
	options.common.arena_budget = 12;
	solve(graph, &options, &divide, &plan);
	assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_FEASIBLE);
	assert_int_equal(plan.spill + plan.fill, 8);
	npuplan_cosma_plan_free(&plan);
	options.common.schedule = NPUPLAN_SCHEDULE_GIVEN;
	assert_int_equal(ilp_plan(graph, &options, &divide, &ilp_highs, &plan, &error), -EINVAL);
	ASSERT_TEXT(error, "divide and conquer chooses the order");
	options.common.objective = NPUPLAN_OBJECTIVE_PEAK;
	assert_int_equal(ilp_plan(graph, &options, &divide, &ilp_highs, &plan, &error), -EINVAL);
	ASSERT_TEXT(error, "divide and conquer is for the traffic");
}

static int cancel(void *context, const struct npuplan_pack_progress *progress)
{
	(*(unsigned int *)context)++;
	return 1;
}

/* Forty operators that all need each other's room: no solver is done before it is asked. */
TEST(cancelled)
{
	unsigned int calls = 0;
	struct cosma_settings options = {
		.common.arena_budget = 60,
		.common.progress = cancel,
		.common.context = &calls,
	};
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("wide");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 5);
	uint32_t last[3] = { in, in, in };
	struct npuplan_cosma_plan plan;

	for (uint32_t v = 0; v < 40; v++) {
		uint32_t out = build_tensor(graph, "t", NPUMEM_TENSOR_INTERMEDIATE, 7 + 5 * v % 11);

		build_op(graph, "op", last[v % 3], last[(v + 1) % 3], NPUMEM_NONE, out);
		last[v * 7 % 3] = out;
	}
	solve(graph, &options, NULL, &plan);
	assert_true(calls >= 1);
	if (plan.status != NPUMEM_PLAN_STATUS_UNKNOWN && plan.status != NPUMEM_PLAN_STATUS_FEASIBLE)
		fail_msg("status %u", plan.status);
	npuplan_cosma_plan_free(&plan);
}

#else

static void no_solver(void)
{
	fail_msg("no ILP solver: meson found no HiGHS (-Dhighs_root=DIR, scripts/fetch highs)");
}

TEST(known_answers)
{
	no_solver();
}

TEST(addresses_cost)
{
	no_solver();
}

TEST(external)
{
	no_solver();
}

TEST(divide)
{
	no_solver();
}

TEST(cancelled)
{
	no_solver();
}

#endif
