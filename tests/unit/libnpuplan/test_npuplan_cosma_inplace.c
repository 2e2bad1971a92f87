// SPDX-License-Identifier: MIT
/*
 * Planners cosma and operators whose output may take their input's bytes: what they need,
 * what leaves for it, what is proved; and that no network has a plan of planner auto of
 * which cosma says that there is none, or that it costs something.
 */
#include <dirent.h>
#include <errno.h>

#include "npuplan_build.h"

#include "planners/cosma/cosma.h"
#include "cosma_oracle.h"
#include "models.h"

static struct npuplan_cosma_plan solved(const struct npuplan_graph *graph,
					const struct cosma_settings *options)
{
	struct npuplan_cosma_plan plan;
	struct cosma_oracle oracle;
	struct npuplan_error error;

	if (npuplan_cosma(graph, options, &plan, &error))
		fail_msg("%s", error.text);
	if (plan.position_count && !cosma_oracle_run(&oracle, graph, options, &plan))
		fail_msg("%s", oracle.why);
	return plan;
}

/* in (4) -> a (4) -> b (4), in place -> out (4), in place; @again: out reads a, too. */
static struct npuplan_graph *chain(bool again)
{
	struct npuplan_graph *graph = npuplan_graph_new("chain");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 1);
	uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 4);
	uint32_t b = build_tensor(graph, "b", NPUMEM_TENSOR_INTERMEDIATE, 4);
	uint32_t c = build_tensor(graph, "c", NPUMEM_TENSOR_INTERMEDIATE, 1);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 1);

	build_op(graph, "a", in, NPUMEM_NONE, NPUMEM_NONE, a);
	build_op(graph, "b", a, NPUMEM_NONE, NPUMEM_NONE, b)->attrs.inplace = true;
	build_op(graph, "c", b, NPUMEM_NONE, NPUMEM_NONE, c);
	build_op(graph, "out", c, again ? a : NPUMEM_NONE, NPUMEM_NONE, out);
	return graph;
}

/* b takes the place of a, which nobody needs any more. */
TEST(dying)
{
	AUTO_GRAPH struct npuplan_graph *graph = chain(false);
	struct cosma_settings options = { .common.arena_budget = 5 };
	struct npuplan_cosma_plan plan = solved(graph, &options);

	assert_int_equal(plan.needed, 5);
	assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(plan.spill + plan.fill, 0);
	npuplan_cosma_plan_free(&plan);
	options.common.objective = NPUPLAN_OBJECTIVE_PEAK;
	plan = solved(graph, &options);
	assert_int_equal(plan.peak, 5);
	assert_int_equal(plan.top, 5);
	npuplan_cosma_plan_free(&plan);
	/* As in the paper it needs a place for both. */
	options.out_of_place = true;
	plan = solved(graph, &options);
	assert_int_equal(plan.peak, 8);
	npuplan_cosma_plan_free(&plan);
	options.common.objective = NPUPLAN_OBJECTIVE_TRAFFIC;
	plan = solved(graph, &options);
	assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_INFEASIBLE);
	assert_int_equal(plan.needed, 8);
	npuplan_cosma_plan_free(&plan);
}

static uint32_t find_step(const struct npuplan_cosma_plan *plan, enum npumem_position_kind kind,
			  uint32_t index)
{
	for (uint32_t p = 0; p < plan->position_count; p++)
		if (plan->positions[p].kind == kind && plan->positions[p].index == index)
			return p;
	fail_msg("no position of kind %d for %u", kind, index);
	return 0;
}

/* The same, but a is needed once more: it is stored before b takes its bytes. */
TEST(yielding)
{
	AUTO_GRAPH struct npuplan_graph *graph = chain(true);
	struct cosma_settings options = { .common.arena_budget = 8 };
	struct npuplan_cosma_plan plan = solved(graph, &options);
	uint32_t at;

	/* With room for both it stays; with c it is one more. */
	assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(plan.spill + plan.fill, 8);
	npuplan_cosma_plan_free(&plan);
	options.common.arena_budget = 9;
	plan = solved(graph, &options);
	assert_int_equal(plan.spill + plan.fill, 0);
	npuplan_cosma_plan_free(&plan);
	for (int fixed = 0; fixed < 2; fixed++) {
		options.common.arena_budget = 6;
		options.common.schedule = fixed ? NPUPLAN_SCHEDULE_GIVEN : NPUPLAN_SCHEDULE_FREE;
		plan = solved(graph, &options);
		assert_int_equal(plan.needed, 6);
		assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_OPTIMAL);
		assert_int_equal(plan.spill, 4);
		assert_int_equal(plan.fill, 4);
		assert_int_equal(plan.lower_bound, 8);
		at = find_step(&plan, NPUMEM_POSITION_STEP, 1);
		assert_int_equal(find_step(&plan, NPUMEM_POSITION_STORE, 1), at - 1);
		assert_int_equal(find_step(&plan, NPUMEM_POSITION_DROP, 1), at + 1);
		assert_true(find_step(&plan, NPUMEM_POSITION_FILL, 1) > at);
		npuplan_cosma_plan_free(&plan);
	}
}

/* The baselines, too, plan within what the operator needs in place. */
TEST(baselines)
{
	for (int again = 0; again < 2; again++)
		for (int policy = NPUPLAN_COSMA_BELADY; policy <= NPUPLAN_COSMA_GREEDY; policy++) {
			AUTO_GRAPH struct npuplan_graph *graph = chain(again);
			struct cosma_settings options = { .common.arena_budget = again ? 6 : 5 };
			struct npuplan_cosma_plan plan;
			struct cosma_oracle oracle;

			assert_int_equal(
				npuplan_cosma_baseline(graph, &options, policy, &plan, NULL), 0);
			assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_FEASIBLE);
			assert_int_equal(plan.spill + plan.fill, again ? 8 : 0);
			if (!cosma_oracle_run(&oracle, graph, &options, &plan))
				fail_msg("%s", oracle.why);
			npuplan_cosma_plan_free(&plan);
		}
}

/* A staged operator's output lies anywhere where its inputs were, but not before. */
TEST(staged)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("staged");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 6);
	uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INPUT, 2);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 7);
	static const bool staged[] = { true };
	struct cosma_settings options = { .common.arena_budget = 8, .staged = staged };
	struct npuplan_cosma_plan plan;

	build_op(graph, "op", in, a, NPUMEM_NONE, out);
	plan = solved(graph, &options);
	assert_int_equal(plan.needed, 8);
	assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	npuplan_cosma_plan_free(&plan);
	options.common.arena_budget = 7;
	plan = solved(graph, &options);
	assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_INFEASIBLE);
	npuplan_cosma_plan_free(&plan);
	options.common.arena_budget = 14;
	options.staged = NULL;
	plan = solved(graph, &options);
	assert_int_equal(plan.status, NPUMEM_PLAN_STATUS_INFEASIBLE);
	assert_int_equal(plan.needed, 15);
	npuplan_cosma_plan_free(&plan);
}

/*
 * b is written in two halves, each in place of one half of a by a step that reads all of
 * a: cells that COSMA does not pair. So nothing is proved, and nothing is said to be.
 */
TEST(halves)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("halves");
	uint32_t a = build_tensor(graph, "a", NPUMEM_TENSOR_INTERMEDIATE, 8);
	uint32_t b = build_tensor(graph, "b", NPUMEM_TENSOR_OUTPUT, 8);
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 1);
	const struct npumem_region whole = { .length = 8, .count = { 1, 1, 1 } };
	const struct npumem_region one = { .length = 1, .count = { 1, 1, 1 } };
	const struct npumem_region half = { .offset = 4, .length = 4, .count = { 1, 1, 1 } };
	const struct npumem_region other = { .length = 4, .count = { 1, 1, 1 } };
	uint32_t tile_a = (uint32_t)npuplan_graph_add_tile(graph, a, &whole);
	uint32_t tile_b = (uint32_t)npuplan_graph_add_tile(graph, b, &whole);
	uint32_t tile_in = (uint32_t)npuplan_graph_add_tile(graph, in, &one);
	uint32_t tile_half = (uint32_t)npuplan_graph_add_tile(graph, a, &half);
	uint32_t tile_other = (uint32_t)npuplan_graph_add_tile(graph, a, &other);
	const struct npumem_access make[] = {
		{ tile_in, NPUMEM_ACCESS_READ, NPUMEM_NONE, 0 },
		{ tile_a, NPUMEM_ACCESS_WRITE, NPUMEM_NONE, 0 },
	};
	/* Both halves are cells of their own, because of who reads the second one alone. */
	const struct npumem_access look[] = {
		{ tile_half, NPUMEM_ACCESS_READ, NPUMEM_NONE, 0 },
		{ tile_in, NPUMEM_ACCESS_READ, NPUMEM_NONE, 0 },
	};
	const struct npumem_access take[] = {
		{ tile_a, NPUMEM_ACCESS_READ, NPUMEM_NONE, 0 },
		{ tile_b, NPUMEM_ACCESS_WRITE, 0, 0 },
	};
	struct npuplan_step step = { .op = NPUMEM_NONE, .name = (char[]){ "s" } };
	struct npuplan_options options = { .planner = "auto" };
	struct npuplan_plan *plan = NULL;
	struct npuplan_error error = { "" };
	uint32_t sum = build_tensor(graph, "sum", NPUMEM_TENSOR_OUTPUT, 1);
	uint32_t tile_sum = (uint32_t)npuplan_graph_add_tile(graph, sum, &one);
	const struct npumem_access look_at[] = {
		look[0],
		look[1],
		{ tile_sum, NPUMEM_ACCESS_WRITE, NPUMEM_NONE, 0 },
	};

	(void)tile_other;
	assert_true(npuplan_graph_add_step(graph, &step, make, 2) >= 0);
	assert_true(npuplan_graph_add_step(graph, &step, look_at, 3) >= 0);
	assert_true(npuplan_graph_add_step(graph, &step, take, 2) >= 0);
	/* a and b at one address: 8, sum and in. */
	assert_int_equal(npuplan_plan(graph, &options, &plan, &error), 0);
	assert_int_equal(plan->info.arena_size, 10);
	npuplan_plan_free(plan);
	options.planner = "cosma";
	options.arena_budget = 10;
	assert_int_equal(npuplan_plan(graph, &options, &plan, &error), -ETIMEDOUT);
	ASSERT_TEXT(error, "unknown");
	assert_int_equal(error.status, 0);
	/* And with room for both there is a plan, of which the arena is not proved to be least. */
	options.arena_budget = 0;
	assert_int_equal(npuplan_plan(graph, &options, &plan, &error), 0);
	assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_FEASIBLE);
	assert_int_equal(plan->info.lower_bound, 0);
	npuplan_plan_free(plan);
}

/* ------------------------------------------------------------------- networks */

static struct npuplan_plan *planned(const struct npuplan_graph *graph, const char *planner,
				    uint64_t budget, uint32_t schedule)
{
	/* A limit of work, not of time: the first attempt of each is enough. */
	struct npuplan_options options = {
		.planner = planner,
		.arena_budget = budget,
		.schedule = schedule,
	};
	struct npuplan_plan *plan = build_plan_of(graph, &options);
	struct npuplan_error error = { "" };

	if (npuplan_verify_plan(graph, plan, NULL, &error))
		fail_msg("%s, %s: %s", graph->name, planner, error.text);
	return plan;
}

/* Inputs as @graph has them: resident. A plan of auto is a plan of cosma that moves nothing. */
static void compare(const struct npuplan_graph *graph, uint64_t arena, uint32_t schedule)
{
	struct npuplan_plan *plan = planned(graph, "cosma", arena, schedule);

	if (plan->info.spill_bytes + plan->info.fill_bytes || plan->cosma->traffic_bound ||
	    plan->info.arena_size > arena)
		fail_msg("%s: cosma moves %llu bytes within %llu, bound %llu", graph->name,
			 (unsigned long long)(plan->info.spill_bytes + plan->info.fill_bytes),
			 (unsigned long long)arena, (unsigned long long)plan->cosma->traffic_bound);
	npuplan_plan_free(plan);
	plan = planned(graph, "cosma", 0, schedule);
	if (plan->info.lower_bound > arena ||
	    (plan->info.status == NPUMEM_PLAN_STATUS_OPTIMAL && plan->info.arena_size > arena))
		fail_msg("%s: cosma calls %llu the least, at least %llu, but %llu is enough",
			 graph->name, (unsigned long long)plan->info.arena_size,
			 (unsigned long long)plan->info.lower_bound, (unsigned long long)arena);
	npuplan_plan_free(plan);
}

/* False: it is none that both plan. */
static bool check_file(const char *path, uint32_t bands)
{
	struct npuplan_graph *graph;
	struct npuplan_error error;
	struct npuplan_plan *plan;

	if (npuimport_file(path, NULL, &graph, NULL, &error))
		fail_msg("%s: %s", path, error.text);
	for (uint32_t t = 0; t < graph->tensor_count; t++)
		if (graph->tensors[t].kind == NPUMEM_TENSOR_STATE) {
			npuplan_graph_free(graph);
			return false;
		}
	if (graph->edge_count || graph->block_count != 1) {
		npuplan_graph_free(graph);
		return false;
	}
	if (bands ? npuplan_graph_tile_bands(graph, bands, false, &error) :
		    npuplan_graph_tile_bands(graph, 1, false, &error))
		fail_msg("%s: %s", path, error.text);
	plan = planned(graph, "auto", 0, NPUPLAN_SCHEDULE_FREE);
	compare(graph, plan->info.arena_size, NPUPLAN_SCHEDULE_GIVEN);
	if (!bands)
		compare(graph, plan->info.arena_size, NPUPLAN_SCHEDULE_FREE);
	npuplan_plan_free(plan);
	npuplan_graph_free(graph);
	return true;
}

static bool ends(const char *name, const char *end)
{
	size_t length = strlen(name);

	return length > strlen(end) && !strcmp(name + length - strlen(end), end);
}

static uint32_t check_folder(const char *folder, const char *end, uint32_t bands)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	uint32_t count = 0;

	if (!dir)
		fail_msg("%s: %s", folder, strerror(errno));
	while ((entry = readdir(dir))) {
		char path[1024];

		if (!ends(entry->d_name, end))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		count += check_file(path, bands);
	}
	closedir(dir);
	return count;
}

TEST(networks)
{
	assert_in_range(check_folder(models_folder(), ".json", 0), 8, 1000);
	assert_in_range(check_folder(models_folder(), ".fused.json", 4), 4, 1000);
}

/* All that there are beside the project, where there are any. */
TEST(shared)
{
	const char *shared = shared_folder("only the networks of tests/graphs are planned");
	char path[1024];

	if (!shared)
		skip();
	snprintf(path, sizeof(path), "%s/graphs", shared);
	assert_in_range(check_folder(path, ".json", 0), 1, 1000);
	snprintf(path, sizeof(path), "%s/models/tflite", shared);
	assert_in_range(check_folder(path, ".tflite", 0), 1, 1000);
}
