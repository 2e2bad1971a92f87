// SPDX-License-Identifier: MIT
/* Callers whose headers are older or newer than the library: shorter and longer structs. */
#include "npuplan_build.h"

#include <errno.h>

#include "npuimport.h"

#define LATER "of a version later than this library's"

/* Structs as a later version may have them. */
struct later_options {
	struct npuplan_options now;
	uint64_t later;
};

struct later_cosma_options {
	struct npuplan_cosma_options now;
	uint64_t later;
};

struct later_tilesched_options {
	struct npuplan_tilesched_options now;
	uint64_t later;
};

struct later_pack_options {
	struct npuplan_pack_options now;
	uint64_t later;
};

struct later_pack_problem {
	struct npuplan_pack_problem now;
	uint64_t later;
};

struct later_import_options {
	struct npuimport_options now;
	uint64_t later;
};

/* in (8 bytes) -> a (8) -> out (8), two operators; tiled, if @tiled. */
static struct npuplan_graph *two_operators(bool tiled)
{
	static const char json[] =
		"{\"name\": \"two\", \"tensors\": ["
		"{\"id\": 0, \"name\": \"in\", \"shape\": [8], \"bytes\": 8, \"kind\": \"input\"},"
		"{\"id\": 1, \"name\": \"a\", \"shape\": [8], \"bytes\": 8, \"kind\": \"activation\"},"
		"{\"id\": 2, \"name\": \"out\", \"shape\": [8], \"bytes\": 8, \"kind\": \"output\"}],"
		"\"ops\": [{\"id\": 0, \"name\": \"f\", \"type\": \"relu\", \"inputs\": [0], "
		"\"outputs\": [1], \"attrs\": {}},"
		"{\"id\": 1, \"name\": \"g\", \"type\": \"relu\", \"inputs\": [1], "
		"\"outputs\": [2], \"attrs\": {}}]}";
	struct npuplan_graph *graph = NULL;
	struct npuplan_error error;

	if (npuimport_graph_json(json, strlen(json), NULL, &graph, NULL, &error) ||
	    (tiled && npuplan_graph_tile_bands(graph, 1, false, &error)))
		fail_msg("%s", error.text);
	return graph;
}

/* struct asked - a function that takes options: @call hands it @size bytes of them */
struct asked {
	const char *name;
	int (*call)(struct npuplan_graph *graph, const struct npuplan_options *options, size_t size,
		    struct npuplan_error *error);
};

static int call_plan(struct npuplan_graph *graph, const struct npuplan_options *options,
		     size_t size, struct npuplan_error *error)
{
	struct npuplan_plan *plan = NULL;
	int err = npuplan_plan_sized(graph, options, size, &plan, error);

	npuplan_plan_free(plan);
	return err;
}

static int call_budgets(struct npuplan_graph *graph, const struct npuplan_options *options,
			size_t size, struct npuplan_error *error)
{
	struct npuplan_budgets budgets;

	return npuplan_budgets_find_sized(graph, options, size, &budgets, error);
}

static int call_needed(struct npuplan_graph *graph, const struct npuplan_options *options,
		       size_t size, struct npuplan_error *error)
{
	uint64_t needed;
	uint32_t step;

	return npuplan_needed_find_sized(graph, options, size, &needed, &step, error);
}

static int call_lp(struct npuplan_graph *graph, const struct npuplan_options *options, size_t size,
		   struct npuplan_error *error)
{
	char *text = NULL;
	size_t length;
	int err = npuplan_lp_write_sized(graph, options, size, &text, &length, error);

	free(text);
	return err;
}

static int call_recompute(struct npuplan_graph *graph, const struct npuplan_options *options,
			  size_t size, struct npuplan_error *error)
{
	struct npuplan_tiling tiling = { 0 };
	struct npuplan_recompute found;
	int err;

	npuplan_graph_untile(graph);
	err = npuplan_recompute_find_sized(graph, &tiling, options, size, 1, &found, error);
	npuplan_recompute_fini(&found);
	return err;
}

static int call_peak(struct npuplan_graph *graph, const struct npuplan_options *options,
		     size_t size, struct npuplan_error *error)
{
	struct npuplan_peak *peak = NULL;
	struct npuplan_plan *plan = NULL;
	int err = npuplan_plan(graph, NULL, &plan, error);

	if (!err)
		err = npuplan_peak_find_sized(graph, options, size, plan, &peak, error);
	npuplan_peak_free(peak);
	npuplan_plan_free(plan);
	return err;
}

static int call_front(struct npuplan_graph *graph, const struct npuplan_options *options,
		      size_t size, struct npuplan_error *error)
{
	struct npuplan_front *front = NULL;
	int err = npuplan_front_find_sized(graph, options, size, &front, error);

	npuplan_front_free(front);
	return err;
}

static const struct asked all[] = {
	{ "plan", call_plan },
	{ "budgets_find", call_budgets },
	{ "needed_find", call_needed },
	{ "lp_write", call_lp },
	{ "recompute_find", call_recompute },
	{ "peak_find", call_peak },
	{ "front_find", call_front },
};

/* What a later version added is zero: it is not asked for. Anything else is not known here. */
TEST(newer_callers)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct later_options options = { .now.arena_budget = 1000 };
		struct npuplan_error error = { "" };
		struct npuplan_graph *graph = two_operators(true);
		int err = all[i].call(graph, &options.now, sizeof(options), &error);

		if (err)
			fail_msg("%s: %s", all[i].name, error.text);
		npuplan_graph_free(graph);
		graph = two_operators(true);
		options.later = 1;
		err = all[i].call(graph, &options.now, sizeof(options), &error);
		if (err != -E2BIG || !strstr(error.text, LATER))
			fail_msg("%s: %d, %s", all[i].name, err, error.text);
		npuplan_graph_free(graph);
	}
}

/* What an older caller's struct does not have, it does not ask for, whatever lies behind it. */
TEST(older_callers)
{
	const struct npuplan_options options = {
		.planner = "greedy-size",
		.arena_budget = 1000,
		/* Behind the struct of the caller: would be refused. */
		.alignment = 3,
		.objective = 77,
	};
	AUTO_GRAPH struct npuplan_graph *graph = build_chain(0);
	struct npuplan_plan *plan = NULL;
	struct npuplan_error error;

	assert_int_equal(npuplan_plan_sized(graph, &options,
					    offsetof(struct npuplan_options, work_limit), &plan,
					    &error),
			 0);
	assert_string_equal(plan->info.planner, "greedy-size");
	npuplan_plan_free(plan);
	plan = NULL;
	assert_int_equal(npuplan_plan(graph, &options, &plan, &error), -EINVAL);
	/* Without a struct its size is not looked at. */
	assert_int_equal(npuplan_plan_sized(graph, NULL, 4096, &plan, &error), 0);
	assert_string_equal(plan->info.planner, "auto");
	npuplan_plan_free(plan);
}

/* The options of one planner say their own size; the same rule holds for each of them. */
TEST(newer_callers_of_one_planner)
{
	struct later_cosma_options cosma = { .now.size = sizeof(cosma) };
	struct later_tilesched_options tilesched = { .now.size = sizeof(tilesched) };
	const struct npuplan_options of_cosma = {
		.planner = "cosma",
		.arena_budget = 1000,
		.cosma = &cosma.now,
	};
	const struct npuplan_options of_tilesched = {
		.planner = "tile-scheduled",
		.tilesched = &tilesched.now,
	};
	AUTO_GRAPH struct npuplan_graph *graph = two_operators(true);
	struct npuplan_error error;

	assert_int_equal(call_plan(graph, &of_cosma, sizeof(of_cosma), &error), 0);
	assert_int_equal(call_plan(graph, &of_tilesched, sizeof(of_tilesched), &error), 0);
	cosma.later = 1;
	tilesched.later = 1;
	assert_int_equal(call_plan(graph, &of_cosma, sizeof(of_cosma), &error), -E2BIG);
	ASSERT_TEXT(error, "the options asked for are " LATER);
	assert_int_equal(call_plan(graph, &of_tilesched, sizeof(of_tilesched), &error), -E2BIG);
	ASSERT_TEXT(error, "the options asked for are " LATER);
}

TEST(older_callers_of_one_planner)
{
	/* Banks of no bytes would be refused. */
	const struct npuplan_bank none[NPUPLAN_BANKS] = { 0 };
	struct npuplan_cosma_options cosma = {
		offsetof(struct npuplan_cosma_options, banks),
		.banks = none,
	};
	struct npuplan_options options = {
		.planner = "cosma",
		.arena_budget = 1000,
		.cosma = &cosma,
	};
	AUTO_GRAPH struct npuplan_graph *graph = two_operators(true);
	struct npuplan_error error;

	assert_int_equal(call_plan(graph, &options, sizeof(options), &error), 0);
	cosma.size = sizeof(cosma);
	assert_int_equal(call_plan(graph, &options, sizeof(options), &error), -EINVAL);
}

/* A size that is not said, or has no room for itself. */
TEST(size_not_said)
{
	static const char why[] = "the options of one planner do not say their size";
	struct npuplan_cosma_options cosma = { 0 };
	struct npuplan_tilesched_options tilesched = { 0 };
	struct npuplan_options options = { .planner = "cosma", .cosma = &cosma };
	AUTO_GRAPH struct npuplan_graph *graph = two_operators(true);
	struct npuplan_error error;

	assert_int_equal(call_plan(graph, &options, sizeof(options), &error), -EINVAL);
	assert_string_equal(error.text, why);
	cosma.size = sizeof(cosma.size) - 1;
	assert_int_equal(call_plan(graph, &options, sizeof(options), &error), -EINVAL);
	assert_string_equal(error.text, why);
	options = (struct npuplan_options){ .planner = "tile-scheduled", .tilesched = &tilesched };
	assert_int_equal(call_front(graph, &options, sizeof(options), &error), -EINVAL);
	assert_string_equal(error.text, why);
}

/* A caller of before there were options of planners has a struct that ends before them. */
TEST(older_than_options_of_one_planner)
{
	const struct npuplan_options options = {
		.planner = "cosma",
		.arena_budget = 1000,
		.cosma = (const void *)1,
		.tilesched = (const void *)1,
	};
	AUTO_GRAPH struct npuplan_graph *graph = two_operators(true);
	struct npuplan_error error;

	assert_int_equal(
		call_plan(graph, &options, offsetof(struct npuplan_options, cosma), &error), 0);
}

TEST(packing)
{
	const struct npuplan_item item = { .size = 8, .align = 1 };
	struct later_pack_problem problem = { .now = { .items = &item, .item_count = 1 } };
	struct later_pack_options options = { 0 };
	struct npuplan_pack_result result;
	struct npuplan_error error;
	uint64_t offset = 1, top;

	assert_int_equal(npuplan_pack_sized(&problem.now, sizeof(problem), &options.now,
					    sizeof(options), &offset, &result, &error),
			 0);
	assert_int_equal(result.top, 8);
	assert_int_equal(
		npuplan_pack_check_sized(&problem.now, sizeof(problem), &offset, &top, &error), 0);
	assert_int_equal(top, 8);
	options.later = 1;
	assert_int_equal(npuplan_pack_sized(&problem.now, sizeof(problem), &options.now,
					    sizeof(options), &offset, &result, &error),
			 -E2BIG);
	ASSERT_TEXT(error, "the options asked for are " LATER);
	options.later = 0;
	problem.later = 1;
	assert_int_equal(npuplan_pack_sized(&problem.now, sizeof(problem), &options.now,
					    sizeof(options), &offset, &result, &error),
			 -E2BIG);
	ASSERT_TEXT(error, "the packings asked for are " LATER);
	assert_int_equal(npuplan_pack_check_sized(&problem.now, sizeof(problem), &offset, &top,
						  &error),
			 -E2BIG);
	ASSERT_TEXT(error, "the packings asked for are " LATER);
}

/* A tiling is part of graphs, so it has room instead of a size. */
TEST(tiling)
{
	AUTO_GRAPH struct npuplan_graph *graph = two_operators(false);
	struct npuplan_tiling tiling = { .reserved = { 0, 1 } };
	struct npuplan_error error;

	assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), -E2BIG);
	ASSERT_TEXT(error, "the tilings asked for are " LATER);
	tiling.reserved[1] = 0;
	assert_int_equal(npuplan_graph_tile(graph, &tiling, &error), 0);
}

TEST(importers)
{
	static const char json[] = "{\"name\": \"g\", \"tensors\": [], \"ops\": []}";
	struct later_import_options options = { .later = 1 };
	struct npuplan_graph *graph = NULL;
	struct npuplan_error error;

	assert_int_equal(npuimport_graph_json_sized(json, strlen(json), &options.now,
						    sizeof(options), &graph, NULL, &error),
			 -E2BIG);
	ASSERT_TEXT(error, "the options asked for are " LATER);
	assert_int_equal(npuimport_buffer_sized(json, strlen(json), "g", &options.now,
						sizeof(options), &graph, NULL, &error),
			 -E2BIG);
	assert_int_equal(npuimport_tflite_sized(json, strlen(json), "g", &options.now,
						sizeof(options), &graph, NULL, &error),
			 -E2BIG);
	assert_null(graph);
}
