// SPDX-License-Identifier: MIT
/* How long plans take, and planner cosma's plans for the least time; what is refused. */
#include "npuplan_build.h"

#include <errno.h>

#include "base/heap.h"
#include "graph/checked.h"
#include "planners/cosma/time/prefetch.h"

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

/* ------------------------------------------------------------- all that arrives comes ahead */

/* A chain of operators between tensors of 2 bytes, each with its weights. */
static struct npuplan_graph *chain_with(const uint64_t *weights, uint32_t count)
{
	struct npuplan_graph *graph = npuplan_graph_new("chain");
	uint32_t last = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 2);

	graph->tensors[last].flags = NPUMEM_TENSOR_FLAG_HOST;
	for (uint32_t v = 0; v < count; v++) {
		uint32_t made = build_tensor(
			graph, "made",
			v + 1 < count ? NPUMEM_TENSOR_INTERMEDIATE : NPUMEM_TENSOR_OUTPUT, 2);
		uint32_t weight =
			build_tensor(graph, "weights", NPUMEM_TENSOR_PARAMETER, weights[v]);

		graph->tensors[weight].flags = NPUMEM_TENSOR_FLAG_HOST;
		build_op(graph, "f", last, weight, NPUMEM_NONE, made);
		last = made;
	}
	assert_int_equal(npuplan_graph_tile_bands(graph, 1, true, NULL), 0);
	return graph;
}

static const uint64_t few[] = { 4, 8, 6, 12 };
static const uint64_t many[] = { 2, 4, 6, 2, 12, 8, 8, 4, 12 };

/*
 * Weights of several operators are on chip at once, at addresses for all of them: whichever comes
 * earlier alone gains nothing.
 *
 * Of the few, 8 and 6 come while the first operator runs (6 to 14) and the second (14 to 26); there
 * is room for 12 after that, 26 to 38, beside the third. So the fourth runs from 38 to 54. One by
 * one they come so that all is over after 60.
 */
TEST(buffers_of_many_steps)
{
	AUTO_GRAPH struct npuplan_graph *short_chain = chain_with(few, 4);
	AUTO_GRAPH struct npuplan_graph *long_chain = chain_with(many, 9);
	struct npuplan_machine of = machine();
	struct npuplan_timing timing;
	struct npuplan_plan *found;
	struct npuplan_error error;

	of.copy = 1;
	assert_int_equal(plan(short_chain, &of, NPUPLAN_OBJECTIVE_TIME, 24, &found, &error), 0);
	assert_int_equal(npuplan_timing_find(short_chain, found, &of, &timing, &error), 0);
	assert_int_equal(timing.makespan, 56 * US);
	npuplan_plan_free(found);
	/* 118 one by one. */
	assert_int_equal(plan(long_chain, &of, NPUPLAN_OBJECTIVE_TIME, 24, &found, &error), 0);
	assert_int_equal(npuplan_timing_find(long_chain, found, &of, &timing, &error), 0);
	assert_int_equal(timing.makespan, 104 * US);
	npuplan_plan_free(found);
}

/*
 * struct moved - the long chain within 24 bytes, a plan of least traffic, and what is asked for
 * @times: per step
 */
struct moved {
	struct npuplan_graph *graph;
	struct npuplan_checked checked;
	struct cosma_units units;
	struct cosma_settings asked;
	struct npuplan_machine of;
	uint64_t times[9];
	struct npuplan_cosma_plan plan;
};

static void moved_init(struct moved *moved)
{
	struct cosma_units *units = &moved->units;

	moved->graph = chain_with(many, 9);
	assert_int_equal(npuplan_checked_init(&moved->checked, moved->graph, NULL), 0);
	assert_int_equal(cosma_units_init(units, moved->graph, moved->checked.cells, NULL, 0, NULL),
			 0);
	moved->asked = (struct cosma_settings){
		.common.arena_budget = 24,
		.with_parameters = true,
		.inputs_flagged = units->resident,
		.takeovers = units->takeovers,
		.takeover_count = units->takeover_count,
		.staged = units->staged,
	};
	moved->of = machine();
	moved->of.copy = 1;
	assert_int_equal(cosma_step_times(moved->graph, &moved->of, moved->times, NULL), 0);
	assert_int_equal(npuplan_cosma(units->graph, &moved->asked, &moved->plan, NULL), 0);
}

static void moved_fini(struct moved *moved)
{
	npuplan_cosma_plan_free(&moved->plan);
	cosma_units_fini(&moved->units);
	npuplan_checked_fini(&moved->checked);
	npuplan_graph_free(moved->graph);
}

/* Moves the plan's transfers with a limit of work, 0: none. @makespan: out: when it is over */
static int move(struct moved *moved, uint64_t work, uint64_t *makespan)
{
	struct npuplan_effort effort = npuplan_effort_begin(UINT64_MAX, 0, NULL, NULL);

	moved->asked.common.work_limit = work;
	return cosma_prefetch(&moved->units, &moved->asked, &moved->of, moved->times, &effort,
			      &moved->plan, makespan);
}

/*
 * However little work there is, the plan is never slower than it was, and the same each time. The
 * limit is passed by what is tried last only.
 */
TEST(ahead_within_work)
{
	uint64_t makespan, again;

	for (uint64_t work = 1; work < 100000; work += work / 2 + 1) {
		struct moved one = { 0 }, two = { 0 };
		uint64_t used;

		moved_init(&one);
		moved_init(&two);
		used = one.plan.work;
		assert_int_equal(move(&one, work, &makespan), 0);
		assert_int_equal(move(&two, work, &again), 0);
		assert_int_equal(makespan, again);
		assert_int_equal(one.plan.work, two.plan.work);
		assert_int_equal(one.plan.position_count, two.plan.position_count);
		assert_memory_equal(one.plan.positions, two.plan.positions,
				    one.plan.position_count * sizeof(*one.plan.positions));
		assert_in_range(one.plan.work - used, 1, work + 10000);
		assert_true(makespan <= 156 * US && (work > 1 || makespan == 156 * US));
		moved_fini(&one);
		moved_fini(&two);
	}
	assert_int_equal(makespan, 104 * US);
}

/* Wherever memory ends, the plan is what it was. */
TEST(memory_ends_ahead)
{
	uint32_t none = 0;
	bool whole = false;

	for (uint64_t limit = 0; !whole; limit += 16 + limit / 8) {
		struct moved moved = { 0 };
		struct npuplan_heap heap = { .limit = limit }, *outer;
		struct npumem_position *positions;
		uint64_t makespan;
		int err;

		moved_init(&moved);
		positions = moved.plan.positions;
		outer = npuplan_heap_use(&heap);
		err = move(&moved, 0, &makespan);
		npuplan_heap_use(outer);
		assert_true(!err || err == -ENOMEM);
		assert_true(!err || moved.plan.positions == positions);
		whole = !err;
		none += !whole;
		if (whole)
			assert_int_equal(makespan, 104 * US);
		moved_fini(&moved);
	}
	assert_true(none > 10);
}
