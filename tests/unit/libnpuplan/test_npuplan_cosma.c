// SPDX-License-Identifier: MIT
/* npuplan_cosma(): small graphs with known answers, limits, and what is refused. */
#include <errno.h>
#include <time.h>

#include "npuplan_build.h"

#include "planners/cosma/cosma.h"
#include "cosma_oracle.h"
#include "random.h"

/* A clock that goes on by a microsecond each time somebody looks; else it is the real one. */
static struct {
	bool fake;
	long looks;
} watch;

int __real_clock_gettime(clockid_t id, struct timespec *now);
int __wrap_clock_gettime(clockid_t id, struct timespec *now);
int __wrap_clock_gettime(clockid_t id, struct timespec *now)
{
	if (!watch.fake)
		return __real_clock_gettime(id, now);
	*now = (struct timespec){ .tv_sec = 1, .tv_nsec = 1000 * watch.looks++ };
	return 0;
}

/*
 * in (4) -> a (4), b (4); a -> c (6); b, c -> out (1): to make c, a and b stay,
 * 14 bytes; each operator needs 12 at most.
 */
static void plan_ok(const struct npuplan_graph *graph, const struct cosma_settings *options,
		    struct npuplan_cosma_plan *plan)
{
	struct cosma_oracle oracle;
	struct npuplan_error error;

	if (npuplan_cosma(graph, options, plan, &error))
		fail_msg("%s", error.text);
	if (plan->position_count && !cosma_oracle_run(&oracle, graph, options, plan))
		fail_msg("%s", oracle.why);
}

static void refused(const struct npuplan_graph *graph, const struct cosma_settings *options,
		    int err, const char *text)
{
	struct npuplan_cosma_plan plan;
	struct npuplan_error error = { "" };

	assert_int_equal(npuplan_cosma(graph, options, &plan, &error), err);
	assert_string_equal(error.text, text);
	assert_null(plan.positions);
	assert_null(plan.placements);
}

TEST(budgets)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_diamond();
	struct cosma_settings options = { 0 };
	struct npuplan_budgets budgets;

	assert_int_equal(npuplan_cosma_budgets(graph, &options, &budgets, NULL), 0);
	assert_int_equal(budgets.needed, 12);
	assert_int_equal(budgets.step, 1);
	assert_int_equal(budgets.peak, 14);
	assert_int_equal(budgets.middle, 13);
	assert_true(budgets.proved);
	/* With addresses multiples of 8: 4 at 0, 4 at 8, 4 at 16. */
	options.common.alignment = 8;
	assert_int_equal(npuplan_cosma_budgets(graph, &options, &budgets, NULL), 0);
	assert_int_equal(budgets.needed, 20);
}

TEST(spill)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_diamond();
	struct cosma_settings options = { .common.arena_budget = 14 };
	struct npuplan_cosma_plan plan;

	plan_ok(graph, &options, &plan);
	assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(plan.spill + plan.fill, 0);
	assert_int_equal(plan.compulsory, 4 + 1);
	npuplan_cosma_plan_free(&plan);
	/* b leaves and comes back. */
	options.common.arena_budget = 12;
	plan_ok(graph, &options, &plan);
	assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(plan.spill, 4);
	assert_int_equal(plan.fill, 4);
	assert_int_equal(plan.lower_bound, 8);
	assert_int_equal(plan.position_count, 4 + 1 + 1 + 2);
	npuplan_cosma_plan_free(&plan);
}

TEST(infeasible)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_diamond();
	struct cosma_settings options = { .common.arena_budget = 11 };
	struct npuplan_cosma_plan plan;

	plan_ok(graph, &options, &plan);
	assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_INFEASIBLE);
	assert_int_equal(plan.needed, 12);
	assert_int_equal(plan.needed_op, 1);
	assert_int_equal(plan.position_count, 0);
	npuplan_cosma_plan_free(&plan);
	options.common.arena_budget = 0;
	plan_ok(graph, &options, &plan);
	assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_INFEASIBLE);
	npuplan_cosma_plan_free(&plan);
}

TEST(peak)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_diamond();
	struct cosma_settings options = { .common.objective = NPUPLAN_OBJECTIVE_PEAK };
	struct npuplan_cosma_plan plan;

	plan_ok(graph, &options, &plan);
	assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(plan.peak, 14);
	assert_int_equal(plan.lower_bound, 14);
	npuplan_cosma_plan_free(&plan);
}

/* A parameter that two operators read is kept, or dropped and filled: never spilled. */
TEST(parameters)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("parameters");
	uint32_t w = build_tensor(graph, "w", NPUMEM_TENSOR_PARAMETER, 5);
	uint32_t u = build_tensor(graph, "u", NPUMEM_TENSOR_PARAMETER, 3);
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 2);
	uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 2);
	uint32_t b = build_tensor(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, 6);
	uint32_t c = build_tensor(graph, "c", NPUMEM_TENSOR_INTERMEDIATE, 2);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 2);
	struct cosma_settings options = { .common.arena_budget = 11, .with_parameters = true };
	struct npuplan_cosma_plan plan;

	build_op(graph, "first", in, w, NPUMEM_NONE, a);
	build_op(graph, "second", a, u, NPUMEM_NONE, b);
	build_op(graph, "third", b, NPUMEM_NONE, NPUMEM_NONE, c);
	build_op(graph, "fourth", c, w, NPUMEM_NONE, out);
	plan_ok(graph, &options, &plan);
	assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(plan.spill, 0);
	assert_int_equal(plan.fill, 5);
	assert_int_equal(plan.compulsory, 5 + 3 + 2 + 2);
	npuplan_cosma_plan_free(&plan);
	options.with_parameters = false;
	plan_ok(graph, &options, &plan);
	assert_int_equal(plan.spill + plan.fill, 0);
	assert_int_equal(plan.compulsory, 2 + 2);
	npuplan_cosma_plan_free(&plan);
}

/* Resident inputs take room from the start; one that is not needed yet may go. */
TEST(resident)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("resident");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 2);
	uint32_t late = build_tensor(graph, "late", NPUMEM_TENSOR_INPUT, 4);
	uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 5);
	uint32_t b = build_tensor(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, 1);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 2);
	struct cosma_settings options = { .common.arena_budget = 7 };
	struct npuplan_cosma_plan plan;

	build_op(graph, "first", in, NPUMEM_NONE, NPUMEM_NONE, a);
	build_op(graph, "second", a, NPUMEM_NONE, NPUMEM_NONE, b);
	build_op(graph, "third", b, late, NPUMEM_NONE, out);
	plan_ok(graph, &options, &plan);
	assert_int_equal(plan.spill + plan.fill, 0);
	npuplan_cosma_plan_free(&plan);
	options.inputs_resident = true;
	plan_ok(graph, &options, &plan);
	assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(plan.spill, 0);
	assert_int_equal(plan.fill, 4);
	npuplan_cosma_plan_free(&plan);
	options.common.arena_budget = 5;
	plan_ok(graph, &options, &plan);
	assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_INFEASIBLE);
	assert_int_equal(plan.needed, 7);
	npuplan_cosma_plan_free(&plan);
}

TEST(fixed_order)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("two chains");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 1);
	uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 4);
	uint32_t b = build_tensor(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, 4);
	uint32_t c = build_tensor(graph, "c", NPUMEM_TENSOR_INTERMEDIATE, 1);
	uint32_t d = build_tensor(graph, "d", NPUMEM_TENSOR_INTERMEDIATE, 1);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 1);
	static const uint32_t order[] = { 0, 2, 1, 3, 4 }, wrong[] = { 2, 0, 1, 3, 4 };
	static const uint32_t twice[] = { 0, 0, 1, 3, 4 };
	struct cosma_settings options = { .common.arena_budget = 6,
					  .common.schedule = NPUPLAN_SCHEDULE_GIVEN };
	struct npuplan_cosma_plan plan;

	build_op(graph, "a", in, NPUMEM_NONE, NPUMEM_NONE, a);
	build_op(graph, "b", in, NPUMEM_NONE, NPUMEM_NONE, b);
	build_op(graph, "c", a, NPUMEM_NONE, NPUMEM_NONE, c);
	build_op(graph, "d", b, NPUMEM_NONE, NPUMEM_NONE, d);
	build_op(graph, "out", c, d, NPUMEM_NONE, out);
	/* As it comes, a is in the way of b, and then b of c. */
	plan_ok(graph, &options, &plan);
	assert_int_equal(plan.spill + plan.fill, 16);
	npuplan_cosma_plan_free(&plan);
	options.order = order;
	plan_ok(graph, &options, &plan);
	assert_int_equal(plan.spill + plan.fill, 0);
	npuplan_cosma_plan_free(&plan);
	options.order = wrong;
	refused(graph, &options, -EINVAL, "the order runs 'c' before what it needs");
	options.order = twice;
	refused(graph, &options, -EINVAL, "the order has operator 0 twice, or there is none");
}

/* The packing core must find more than room: 3 + 3 of 7 free bytes in two pieces. */
TEST(addresses_cost)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_aligned();
	struct cosma_settings options = { .common.arena_budget = 10, .common.alignment = 4 };
	struct npuplan_cosma_plan plan;

	/* Nine bytes fit in ten, but 0, 4 and 8 do not: a leaves while c is made. */
	plan_ok(graph, &options, &plan);
	assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(plan.relaxed_bound, 0);
	assert_int_equal(plan.lower_bound, 6);
	assert_int_equal(plan.spill + plan.fill, 6);
	npuplan_cosma_plan_free(&plan);
	options.common.arena_budget = 11;
	plan_ok(graph, &options, &plan);
	assert_int_equal(plan.spill + plan.fill, 0);
	npuplan_cosma_plan_free(&plan);
}

TEST(baselines)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_diamond();
	struct cosma_settings options = { .common.arena_budget = 12 };
	struct npuplan_cosma_plan plan;
	struct cosma_oracle oracle;

	for (int policy = NPUPLAN_COSMA_BELADY; policy <= NPUPLAN_COSMA_GREEDY; policy++) {
		options.common.arena_budget = 12;
		assert_int_equal(npuplan_cosma_baseline(graph, &options, policy, &plan, NULL), 0);
		assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_FEASIBLE);
		assert_true(cosma_oracle_run(&oracle, graph, &options, &plan));
		assert_true(plan.spill + plan.fill >= 8);
		npuplan_cosma_plan_free(&plan);
		options.common.arena_budget = 11;
		assert_int_equal(npuplan_cosma_baseline(graph, &options, policy, &plan, NULL), 0);
		assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_INFEASIBLE);
		npuplan_cosma_plan_free(&plan);
	}
}

/* A parameter outside the scratchpad takes no room while its operator runs. */
TEST(baseline_external_parameter)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("external");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 4);
	uint32_t outside = build_tensor(graph, "outside", NPUMEM_TENSOR_PARAMETER, 16);
	uint32_t inside = build_tensor(graph, "inside", NPUMEM_TENSOR_PARAMETER, 8);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 2);
	struct cosma_settings options = {
		.common.arena_budget = 14,
		.with_parameters = true,
	};
	struct npuplan_cosma_plan plan;

	graph->tensors[outside].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	build_op(graph, "op", in, outside, inside, out);
	for (enum npuplan_cosma_policy policy = 0; policy <= NPUPLAN_COSMA_GREEDY; policy++) {
		assert_int_equal(npuplan_cosma_baseline(graph, &options, policy, &plan, NULL), 0);
		assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_FEASIBLE);
		assert_int_equal(plan.placement_count, 3);
		assert_int_equal(plan.top, 14);
		npuplan_cosma_plan_free(&plan);
	}
}

/* A ladder: many orders, and room for few of its tensors. */
static struct npuplan_graph *ladder(uint32_t rungs)
{
	struct npuplan_graph *graph = npuplan_graph_new("ladder");
	uint32_t made[64], count = 0;

	made[count++] = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 7);
	for (uint32_t i = 0; i < rungs; i++) {
		uint32_t a = made[count - 1], b = made[count / 2], c = made[count / 3];

		made[count] = build_tensor(graph, "t",
					   i + 1 == rungs ? NPUMEM_TENSOR_OUTPUT :
							    NPUMEM_TENSOR_INTERMEDIATE,
					   3 + i * 5 % 11);
		build_op(graph, "rung", i % 3 ? a : b, b == a ? NPUMEM_NONE : b,
			 b == a || c == b ? NPUMEM_NONE : c, made[count]);
		count++;
	}
	return graph;
}

static int stop(void *context, const struct npuplan_pack_progress *progress)
{
	unsigned int *calls = context;

	assert_true(progress->gap >= 0 && progress->gap <= 1);
	assert_true(progress->top >= progress->lower_bound);
	return ++*calls >= 1;
}

TEST(limits)
{
	AUTO_GRAPH struct npuplan_graph *graph = ladder(18);
	struct cosma_settings options = { 0 };
	struct npuplan_budgets budgets;
	struct npuplan_cosma_plan plan;
	uint64_t best;
	unsigned int calls = 0;

	assert_int_equal(npuplan_cosma_budgets(graph, &options, &budgets, NULL), 0);
	options.common.arena_budget = budgets.needed;
	plan_ok(graph, &options, &plan);
	assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	best = plan.spill + plan.fill;
	npuplan_cosma_plan_free(&plan);
	/* Whatever ends it, there is a plan, and the bound is none too high. */
	options.common.work_limit = 1;
	plan_ok(graph, &options, &plan);
	assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_FEASIBLE);
	assert_true(plan.spill + plan.fill >= best && plan.lower_bound <= best);
	npuplan_cosma_plan_free(&plan);
	options.common.work_limit = 0;
	options.common.memory_limit = 1;
	plan_ok(graph, &options, &plan);
	assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_FEASIBLE);
	assert_true(plan.spill + plan.fill >= best && plan.lower_bound <= best);
	npuplan_cosma_plan_free(&plan);
	options.common.memory_limit = 0;
	options.common.progress = stop;
	options.common.context = &calls;
	plan_ok(graph, &options, &plan);
	assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_FEASIBLE);
	assert_int_equal(calls, 1);
	npuplan_cosma_plan_free(&plan);
}

/* Branches of a wide and a narrow tensor, of which the given order has all wide ones first. */
static struct npuplan_graph *branches(uint32_t count)
{
	struct npuplan_graph *graph = npuplan_graph_new("branches");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 10), wide[16], sum;

	for (uint32_t i = 0; i < count; i++) {
		wide[i] = build_tensor(graph, "", NPUMEM_TENSOR_INTERMEDIATE, 1000 + 7 * i);
		build_op(graph, "", in, i ? wide[i - 1] : NPUMEM_NONE, NPUMEM_NONE, wide[i]);
	}
	sum = in;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t next = build_tensor(
			graph, "",
			i + 1 < count ? NPUMEM_TENSOR_INTERMEDIATE : NPUMEM_TENSOR_OUTPUT, 10);

		build_op(graph, "", sum, wide[i], NPUMEM_NONE, next);
		sum = next;
	}
	return graph;
}

/*
 * A call that is ended before its search has a plan makes one without looking back, whose work is
 * bounded, too: what was given would move far more.
 */
TEST(ended_at_once)
{
	AUTO_GRAPH struct npuplan_graph *graph = branches(16);
	struct cosma_settings options = { .common.arena_budget = 2300, .common.work_limit = 1 };
	struct npuplan_cosma_plan plan, given;

	plan_ok(graph, &options, &plan);
	assert_int_equal(plan.spill + plan.fill, 0);
	assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_in_range(plan.work, 1, 100000);
	npuplan_cosma_plan_free(&plan);
	options.common.schedule = NPUPLAN_SCHEDULE_GIVEN;
	plan_ok(graph, &options, &given);
	assert_true(given.spill + given.fill);
	npuplan_cosma_plan_free(&given);
}

/* One operator has very many sets of tensors to make room with: limits hold within it. */
TEST(many_evictions)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("wide");
	struct cosma_settings options = { .common.work_limit = 2000000,
					  .common.arena_budget = 100000 };
	struct npuplan_cosma_plan plan;
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 1), x[40], big, last;

	for (uint32_t i = 0; i < 40; i++) {
		x[i] = build_tensor(graph, "", NPUMEM_TENSOR_INTERMEDIATE, 1000 + 37 * i);
		build_op(graph, "", in, i ? x[i - 1] : NPUMEM_NONE, NPUMEM_NONE, x[i]);
	}
	big = build_tensor(graph, "big", NPUMEM_TENSOR_INTERMEDIATE, 70000);
	build_op(graph, "", x[39], in, NPUMEM_NONE, big);
	last = build_tensor(graph, "", NPUMEM_TENSOR_INTERMEDIATE, 1);
	build_op(graph, "", big, in, NPUMEM_NONE, last);
	for (uint32_t i = 0; i < 40; i++) {
		uint32_t next = build_tensor(
			graph, "", i < 39 ? NPUMEM_TENSOR_INTERMEDIATE : NPUMEM_TENSOR_OUTPUT, 1);

		build_op(graph, "", last, x[i], in, next);
		last = next;
	}
	plan_ok(graph, &options, &plan);
	assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_FEASIBLE);
	assert_true(plan.lower_bound <= plan.spill + plan.fill);
	/* A look at the limit is never far. */
	assert_in_range(plan.work, options.common.work_limit, 2 * options.common.work_limit);
	npuplan_cosma_plan_free(&plan);
}

/* Operators that use what was made lately, and now and then anything. */
static struct npuplan_graph *random_network(uint32_t ops)
{
	struct npuplan_graph *graph = npuplan_graph_new("random");
	uint64_t state = 20261121, random = state;

	build_tensor(graph, "", NPUMEM_TENSOR_INPUT, 5000);
	for (uint32_t v = 0; v < ops; v++) {
		uint32_t in[3] = { NPUMEM_NONE, NPUMEM_NONE, NPUMEM_NONE };
		uint32_t kind = v + 1 < ops ? NPUMEM_TENSOR_INTERMEDIATE : NPUMEM_TENSOR_OUTPUT;

		for (int k = 0; k < 3; k++) {
			random = random_next(&state);
			if (k && random >> 62)
				continue;
			in[k] = random >> 60 & 3 ? v - (random >> 40) % (v < 20 ? v + 1 : 20) :
						   (random >> 40) % (v + 1);
		}
		build_op(graph, "", in[0], in[1], in[2],
			 build_tensor(graph, "", kind, 1000 + (random >> 20) % 9000));
	}
	return graph;
}

/* Whenever the deadline passes, there is a plan. */
TEST(deadlines)
{
	AUTO_GRAPH struct npuplan_graph *graph = random_network(24);
	struct cosma_settings options = { 0 };
	struct npuplan_budgets budgets;
	struct npuplan_cosma_plan plan;

	assert_int_equal(npuplan_cosma_budgets(graph, &options, &budgets, NULL), 0);
	options.common.arena_budget = budgets.needed;
	watch.fake = true;
	for (int looks = 1; looks < 160; looks++) {
		watch.looks = 0;
		options.common.deadline_seconds = 1e-6 * looks;
		plan_ok(graph, &options, &plan);
		assert_true(plan.positions);
		assert_true(plan.lower_bound <= plan.spill + plan.fill);
		npuplan_cosma_plan_free(&plan);
	}
	watch.fake = false;
}

/* As large as it is, it ends within its limits, with a plan and a bound. */
TEST(large)
{
	AUTO_GRAPH struct npuplan_graph *graph = random_network(5000);
	struct cosma_settings options = { .common.work_limit = 3000000,
					  .common.memory_limit = 32 << 20 };
	struct npuplan_budgets budgets;
	struct npuplan_cosma_plan plan;

	assert_int_equal(npuplan_cosma_budgets(graph, &options, &budgets, NULL), 0);
	assert_false(budgets.proved);
	assert_true(budgets.needed < budgets.peak);
	options.common.arena_budget = budgets.needed;
	for (int fixed = 0; fixed < 2; fixed++) {
		options.common.schedule = fixed ? NPUPLAN_SCHEDULE_GIVEN : NPUPLAN_SCHEDULE_FREE;
		plan_ok(graph, &options, &plan);
		assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_FEASIBLE);
		assert_true(plan.lower_bound && plan.lower_bound < plan.spill + plan.fill);
		assert_in_range(plan.memory, 1, options.common.memory_limit);
		npuplan_cosma_plan_free(&plan);
	}
}

/* Adds seven branches of two operators from @x to @x again; returns what comes of them. */
static uint32_t build_block(struct npuplan_graph *graph, uint32_t x, bool last)
{
	static const uint64_t first[] = { 9000, 7000, 8000, 6500, 9500, 7700, 8300 };
	static const uint64_t second[] = { 3100, 2700, 2900, 3300, 2500, 3700, 3500 };
	uint32_t branch[7], join[3], out;

	for (int i = 0; i < 7; i++) {
		uint32_t a = build_tensor(graph, "", NPUMEM_TENSOR_INTERMEDIATE, first[i]);

		branch[i] = build_tensor(graph, "", NPUMEM_TENSOR_INTERMEDIATE, second[i]);
		build_op(graph, "", x, NPUMEM_NONE, NPUMEM_NONE, a);
		build_op(graph, "", a, NPUMEM_NONE, NPUMEM_NONE, branch[i]);
	}
	for (int i = 0; i < 3; i++)
		join[i] = build_tensor(graph, "", NPUMEM_TENSOR_INTERMEDIATE, 4000 + 100 * i);
	out = build_tensor(graph, "", last ? NPUMEM_TENSOR_OUTPUT : NPUMEM_TENSOR_INTERMEDIATE,
			   5000);
	build_op(graph, "", branch[0], branch[1], branch[2], join[0]);
	build_op(graph, "", branch[3], branch[4], branch[5], join[1]);
	build_op(graph, "", join[0], join[1], branch[6], join[2]);
	build_op(graph, "", join[2], x, NPUMEM_NONE, out);
	return out;
}

/* Blocks that are alike are searched once, and each costs as much. */
TEST(alike)
{
	uint64_t cost[5], work[5];

	for (int blocks = 1; blocks < 5; blocks++) {
		AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("alike");
		uint32_t x = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 5000);
		struct cosma_settings options = { .common.arena_budget = 20000 };
		struct npuplan_cosma_plan plan;

		for (int i = 0; i < blocks; i++)
			x = build_block(graph, x, i + 1 == blocks);
		plan_ok(graph, &options, &plan);
		assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_OPTIMAL);
		cost[blocks] = plan.spill + plan.fill;
		work[blocks] = plan.work;
		npuplan_cosma_plan_free(&plan);
	}
	/* The first block's input has a copy in host memory, the last one's output is stored. */
	assert_true(cost[3] > cost[2]);
	assert_int_equal(cost[4] - cost[3], cost[3] - cost[2]);
	assert_true(work[4] - work[3] < (work[3] - work[2]) / 2);
}

/* What would take more memory does without: wherever the limit comes, there is a plan. */
TEST(memory)
{
	AUTO_GRAPH struct npuplan_graph *graph = random_network(60);
	struct cosma_settings options = { .common.work_limit = 3000000 };
	struct npuplan_budgets budgets;
	struct npuplan_cosma_plan plan;
	uint64_t held, cost;

	assert_int_equal(npuplan_cosma_budgets(graph, &options, &budgets, NULL), 0);
	options.common.arena_budget = budgets.needed;
	plan_ok(graph, &options, &plan);
	held = plan.memory;
	cost = plan.spill + plan.fill;
	npuplan_cosma_plan_free(&plan);
	assert_true(held > 1 << 20);
	for (options.common.memory_limit = held / 2; options.common.memory_limit > 20000;
	     options.common.memory_limit -= options.common.memory_limit / 8) {
		plan_ok(graph, &options, &plan);
		assert_true(plan.memory <= options.common.memory_limit);
		assert_true(plan.lower_bound <= cost);
		npuplan_cosma_plan_free(&plan);
	}
}

/*
 * m is kept over "critical", and so are p and q, or in their place y, for which "join" may
 * run before: one tensor of 3 bytes for both. With m and y away that is 12 bytes, no more.
 */
TEST(shared_path)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("path");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 1);
	uint32_t k = build_tensor(graph, "k", NPUMEM_TENSOR_INPUT, 4);
	uint32_t m = build_tensor(graph, "m", NPUMEM_TENSOR_INTERMEDIATE, 3);
	uint32_t j = build_tensor(graph, "j", NPUMEM_TENSOR_INTERMEDIATE, 1);
	uint32_t p = build_tensor(graph, "p", NPUMEM_TENSOR_INTERMEDIATE, 3);
	uint32_t q = build_tensor(graph, "q", NPUMEM_TENSOR_INTERMEDIATE, 3);
	uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_INTERMEDIATE, 3);
	uint32_t go = build_tensor(graph, "go", NPUMEM_TENSOR_INTERMEDIATE, 1);
	uint32_t l = build_tensor(graph, "l", NPUMEM_TENSOR_INTERMEDIATE, 4);
	uint32_t z = build_tensor(graph, "z", NPUMEM_TENSOR_INTERMEDIATE, 1);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 1);
	struct cosma_settings options = { 0 };
	struct npuplan_cosma_plan plan;

	build_op(graph, "m", in, NPUMEM_NONE, NPUMEM_NONE, m);
	build_op(graph, "j", in, m, NPUMEM_NONE, j);
	build_op(graph, "p", j, NPUMEM_NONE, NPUMEM_NONE, p);
	build_op(graph, "q", j, NPUMEM_NONE, NPUMEM_NONE, q);
	build_op(graph, "join", p, q, NPUMEM_NONE, y);
	build_op(graph, "go", p, q, NPUMEM_NONE, go);
	build_op(graph, "critical", k, go, NPUMEM_NONE, l);
	build_op(graph, "z", m, l, NPUMEM_NONE, z);
	build_op(graph, "out", y, z, NPUMEM_NONE, out);
	for (options.common.arena_budget = 9; options.common.arena_budget < 12;
	     options.common.arena_budget++) {
		plan_ok(graph, &options, &plan);
		assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_OPTIMAL);
		assert_int_equal(plan.spill + plan.fill, 12);
		assert_int_equal(plan.lower_bound, 12);
		npuplan_cosma_plan_free(&plan);
	}
}

TEST(options_refused)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_diamond();
	struct cosma_settings options = { .common.arena_budget = UINT64_MAX };

	refused(graph, &options, -EINVAL, "a budget of 18446744073709551615 bytes is too large");
	options.common.arena_budget = 14;
	options.common.objective = 7;
	refused(graph, &options, -EINVAL, "unknown objective 7");
}

TEST(graphs_refused)
{
	struct cosma_settings options = { .common.arena_budget = 100 };
	struct npuplan_graph *graph = npuplan_graph_new("empty");
	struct npuplan_op op = { .name = NULL };

	refused(graph, &options, -EINVAL, "the graph has no operators");
	npuplan_graph_free(graph);

	graph = build_diamond();
	npuplan_graph_add_op(graph, &op);
	refused(graph, &options, -EINVAL, "'operator 4' has no outputs");
	npuplan_graph_free(graph);

	graph = build_diamond();
	build_op(graph, "again", 0, NPUMEM_NONE, NPUMEM_NONE, 1);
	refused(graph, &options, -EINVAL, "'again' writes 'a', which was written before");
	npuplan_graph_free(graph);

	graph = build_diamond();
	build_op(graph, "backwards", 1, NPUMEM_NONE, NPUMEM_NONE, 0);
	refused(graph, &options, -EINVAL, "'backwards' writes 'in', which is never written");
	npuplan_graph_free(graph);

	graph = build_diamond();
	build_tensor(graph, "nowhere", NPUMEM_TENSOR_INTERMEDIATE, 4);
	build_tensor(graph, "more", NPUMEM_TENSOR_OUTPUT, 4);
	build_op(graph, "reader", 5, NPUMEM_NONE, NPUMEM_NONE, 6);
	refused(graph, &options, -EINVAL, "'reader' reads 'nowhere', which nothing writes");
	npuplan_graph_free(graph);

	graph = build_diamond();
	graph->ops[0].inputs[0] = 3;
	refused(graph, &options, -EINVAL, "'make_a' is on a cycle, or behind one");
	npuplan_graph_free(graph);

	graph = build_diamond();
	graph->tensors[1].size = 1ull << 58;
	refused(graph, &options, -EINVAL, "sizes up to tensor 1, times their uses, exceed 2^60");
	npuplan_graph_free(graph);
}

TEST(unsupported)
{
	struct cosma_settings options = { .common.arena_budget = 100 };
	AUTO_GRAPH struct npuplan_graph *graph = build_diamond();

	graph->tensors[1].flags = NPUMEM_TENSOR_FLAG_ALIAS;
	refused(graph, &options, -EOPNOTSUPP, "tensor 'a': cosma plans no aliases");
	graph->tensors[1].flags = NPUMEM_TENSOR_FLAG_FIXED;
	graph->tensors[1].fixed_offset = (1ull << 60) + 1;
	refused(graph, &options, -EINVAL,
		"tensor 'a': fixed offset 1152921504606846977 is beyond 2^60");
	graph->tensors[1].flags = 0;
	graph->tensors[1].kind = NPUMEM_TENSOR_STATE;
	refused(graph, &options, -EOPNOTSUPP, "tensor 'a': cosma plans no state");
}
