// SPDX-License-Identifier: MIT
/* Planning from end to end: plans, refusals, blobs, print, verification. */
#include "npuplan_build.h"

#include <errno.h>
#include <math.h>

static struct npuplan_plan *plan_of(const struct npuplan_graph *graph,
				    const struct npuplan_options *options)
{
	struct npuplan_plan *plan = NULL;
	struct npuplan_error error;
	int err = npuplan_plan(graph, options, &plan, &error);

	if (err)
		fail_msg("planning failed: %s", error.text);
	return plan;
}

static void refused(const struct npuplan_graph *graph, const struct npuplan_options *options,
		    int want, const char *text)
{
	struct npuplan_plan *plan = NULL;
	struct npuplan_error error = planning_error(graph, options, want);

	assert_string_equal(error.text, text);
	/* The error may be NULL. */
	assert_int_equal(npuplan_plan(graph, options, &plan, NULL), want);
}

/* The chain's peak is a and b, 16 bytes; by size: a at 0, b at 10, in at 10, out at 0. */
TEST(chain)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_chain(0);
	AUTO_PLAN struct npuplan_plan *plan = plan_of(graph, NULL);

	assert_string_equal(plan->info.planner, "auto");
	assert_int_equal(plan->info.arena_size, 16);
	assert_int_equal(plan->info.lower_bound, 16);
	assert_int_equal(plan->info.status, NPUMEM_PLAN_STATUS_OPTIMAL);
	assert_int_equal(plan->info.alignment, 1);
	assert_true(plan->info.work > 0);
	assert_int_equal(plan->peak_position, 1);
	assert_int_equal(plan->position_count, 3);
	assert_int_equal(plan->placement_count, 4);
	assert_int_equal(plan->placements[0].offset, 10);
	assert_int_equal(plan->placements[0].from, 0);
	assert_int_equal(plan->placements[0].to, 0);
	assert_int_equal(plan->placements[1].offset, 0);
	assert_int_equal(plan->placements[1].from, 0);
	assert_int_equal(plan->placements[1].to, 1);
	assert_int_equal(plan->placements[2].offset, 10);
	assert_int_equal(plan->placements[3].offset, 0);
	assert_int_equal(plan->placements[3].from, 2);
	assert_int_equal(plan->placements[3].to, 2);
	npuplan_plan_free(NULL);
}

/* Staged, each tensor may take the place of the one it is made from. */
TEST(chain_staged)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_chain(NPUMEM_STEP_STAGED);
	AUTO_PLAN struct npuplan_plan *plan = plan_of(graph, NULL);

	assert_int_equal(plan->info.arena_size, 10);
	for (int i = 0; i < 4; i++)
		assert_int_equal(plan->placements[i].offset, 0);
}

/* A number that is no status is "unknown"; one that is no transfer has no name. */
TEST(names_of_statuses_and_transfers)
{
	assert_string_equal(npuplan_status_name(NPUMEM_PLAN_STATUS_FEASIBLE), "feasible");
	assert_string_equal(npuplan_status_name(NPUMEM_PLAN_STATUS_INFEASIBLE), "infeasible");
	assert_string_equal(npuplan_status_name(NPUMEM_PLAN_STATUS_INFEASIBLE + 1), "unknown");
	assert_string_equal(npuplan_transfer_name(NPUMEM_POSITION_LOAD), "load");
	assert_string_equal(npuplan_transfer_name(NPUMEM_POSITION_STORE), "store");
	assert_null(npuplan_transfer_name(NPUMEM_POSITION_STEP));
	assert_null(npuplan_transfer_name(NPUMEM_POSITION_STORE + 1));
}

static bool is_listed(const char *name)
{
	const char *listed;

	for (unsigned int i = 0; (listed = npuplan_planner_name(i)); i++)
		if (!strcmp(listed, name))
			return true;
	return false;
}

TEST(planner_names)
{
	static const char *const names[] = { "auto",
					     "exact",
					     "greedy",
					     "greedy-size",
					     "greedy-duration",
					     "greedy-peers",
					     "greedy-breadth",
					     "greedy-start",
					     "greedy-area",
					     "greedy-conflicts",
					     "nnc",
					     "nnc-published",
					     "shared-objects",
					     "taa",
					     "taa-paper",
					     "tile-scheduled",
					     "tile-scheduled-rings" };
	AUTO_GRAPH struct npuplan_graph *graph = build_chain(0);
	const char *name;

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!is_listed(names[i]))
			fail_msg("%s is not listed", names[i]);
	/* Every planner of the table makes a plan, which is no worse than without reuse. */
	for (unsigned int i = 0; (name = npuplan_planner_name(i)); i++) {
		struct npuplan_options options = { .planner = name };
		AUTO_PLAN struct npuplan_plan *plan = plan_of(graph, &options);

		assert_string_equal(plan->info.planner, name);
		/* The paper's shifts leave gaps. */
		assert_in_range(plan->info.arena_size, 16, strcmp(name, "taa-paper") ? 22 : 24);
	}
}

TEST(alignment_and_fixed)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_chain(0);
	struct npuplan_options options = { .alignment = 16 };
	struct npuplan_plan *plan;

	graph->tensors[2].align = 64;
	graph->tensors[1].flags = NPUMEM_TENSOR_FLAG_FIXED;
	graph->tensors[1].fixed_offset = 32;
	plan = plan_of(graph, &options);
	assert_int_equal(plan->info.alignment, 16);
	assert_int_equal(plan->placements[1].offset, 32);
	assert_int_equal(plan->placements[2].offset % 64, 0);
	/* What is fixed bounds the arena from below: 32 + 10. */
	assert_int_equal(plan->info.lower_bound, 42);
	assert_int_equal(plan->info.arena_size, 42);
	npuplan_plan_free(plan);
	options.alignment = 64;
	refused(graph, &options, -EINVAL,
		"a: fixed offset 32 is not a multiple of the alignment 64");
}

TEST(fixed_collide)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_chain(0);

	for (int i = 1; i < 3; i++)
		graph->tensors[i].flags = NPUMEM_TENSOR_FLAG_FIXED;
	graph->tensors[2].fixed_offset = 9;
	refused(graph, NULL, -EINVAL,
		"fixed offsets collide: a at 0, 10 bytes, and b at 9, 6 bytes, are "
		"live at once");
	graph->tensors[2].fixed_offset = 10;
	npuplan_plan_free(plan_of(graph, NULL));
}

TEST(options_refused)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_chain(0),
					*empty = npuplan_graph_new("empty");
	struct npuplan_options options = { .planner = "clever" };

	refused(graph, &options, -EOPNOTSUPP, "unknown planner clever");
	refused(empty, NULL, -EINVAL, "graph empty has no steps: tile it first");
}

/* Alignments and deadlines that make no sense are refused by all that take options. */
TEST(values_refused)
{
	static const struct {
		struct npuplan_options options;
		const char *why;
	} asked[] = {
		{ { .alignment = 3 }, "alignment 3 is not a power of two up to 65536" },
		{ { .alignment = 131072 }, "alignment 131072 is not a power of two up to 65536" },
		{ { .deadline_seconds = -1 }, "a deadline of -1 seconds makes no sense" },
		{ { .deadline_seconds = INFINITY }, "a deadline of inf seconds makes no sense" },
		{ { .deadline_seconds = NAN }, "a deadline of nan seconds makes no sense" },
	};
	const struct npuplan_tiling tiling = { 0 };
	AUTO_GRAPH struct npuplan_graph *graph = build_chain(0);
	AUTO_PLAN struct npuplan_plan *plan = plan_of(graph, NULL);
	struct npuplan_budgets budgets;
	struct npuplan_recompute found;
	struct npuplan_error error;
	struct npuplan_front *front;
	struct npuplan_peak *peak;
	uint64_t needed;
	uint32_t step;
	size_t size;
	char *text;

	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		struct npuplan_options options = asked[i].options;

		for (unsigned int p = 0; (options.planner = npuplan_planner_name(p)); p++)
			refused(graph, &options, -EINVAL, asked[i].why);
		options.arena_budget = 100;
		assert_int_equal(npuplan_budgets_find(graph, &options, &budgets, &error), -EINVAL);
		ASSERT_TEXT(error, asked[i].why);
		assert_int_equal(npuplan_needed_find(graph, &options, &needed, &step, &error),
				 -EINVAL);
		ASSERT_TEXT(error, asked[i].why);
		assert_int_equal(npuplan_lp_write(graph, &options, &text, &size, &error), -EINVAL);
		ASSERT_TEXT(error, asked[i].why);
		assert_int_equal(npuplan_recompute_find(graph, &tiling, &options, 0, &found,
							&error),
				 -EINVAL);
		ASSERT_TEXT(error, asked[i].why);
		assert_int_equal(npuplan_front_find(graph, &options, &front, &error), -EINVAL);
		ASSERT_TEXT(error, asked[i].why);
		assert_int_equal(npuplan_peak_find(graph, &options, plan, &peak, &error), -EINVAL);
		ASSERT_TEXT(error, asked[i].why);
	}
}

TEST(not_planned_yet)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_chain(0);

	graph->tensors[0].flags = NPUMEM_TENSOR_FLAG_HOST;
	refused(graph, NULL, -EOPNOTSUPP,
		"in: planner auto does not load from host memory, only cosma does");
	graph->tensors[0].flags = 0;
	npuplan_plan_free(plan_of(graph, NULL));
}

TEST(huge_sizes)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("huge");
	uint32_t in = build_tensor(graph, "in", NPUMEM_TENSOR_INPUT, 1ull << 61);
	uint32_t out = build_tensor(graph, "out", NPUMEM_TENSOR_OUTPUT, 1ull << 62);

	build_step(graph, 0, in, NPUMEM_NONE, out);
	refused(graph, NULL, -E2BIG, "out: sizes and fixed offsets add up to more than 2^62 bytes");
}

/* Options of one planner are refused by the others, and not passed over. */
TEST(options_of_other_planners)
{
	const struct npuplan_bank banks[NPUPLAN_BANKS] = { { 64, 2 }, { 64, 1 } };
	const struct npuplan_cosma_options cosma = { sizeof(cosma), .banks = banks };
	const struct npuplan_cosma_options nothing = { sizeof(nothing) };
	const struct npuplan_tilesched_options weights = { sizeof(weights), .weights_on_chip = 1 };
	const struct npuplan_tilesched_options factor = { sizeof(factor), .traffic_factor = 1.5 };
	const struct {
		struct npuplan_options options;
		const char *why;
	} asked[] = {
		{ { .planner = "greedy", .cosma = &cosma },
		  "planner greedy does not take the options of planner cosma" },
		{ { .planner = "tile-scheduled", .cosma = &cosma },
		  "planner tile-scheduled does not take the options of planner cosma" },
		/* Also where nothing is asked for in them: whose they are is what counts. */
		{ { .cosma = &nothing },
		  "planner auto does not take the options of planner cosma" },
		{ { .planner = "exact", .tilesched = &weights },
		  "planner exact does not take the options of planner tile-scheduled" },
		{ { .planner = "cosma", .tilesched = &factor },
		  "planner cosma does not take the options of planner tile-scheduled" },
		{ { .planner = "greedy", .objective = NPUPLAN_OBJECTIVE_TRAFFIC },
		  "planner greedy does not take the objectives of planner cosma" },
		{ { .planner = "tile-scheduled", .objective = NPUPLAN_OBJECTIVE_PEAK },
		  "planner tile-scheduled does not take the objectives of planner cosma" },
		{ { .planner = "nnc", .schedule = NPUPLAN_SCHEDULE_LEAST_PEAK },
		  "planner nnc does not take the schedules of planner cosma" },
		{ { .planner = "tile-scheduled", .schedule = NPUPLAN_SCHEDULE_LEAST_PEAK },
		  "planner tile-scheduled does not take the schedules of planner cosma" },
		{ { .planner = "taa", .schedule = NPUPLAN_SCHEDULE_TILED },
		  "planner taa does not take the schedules of planner cosma" },
		{ { .planner = "tile-scheduled", .schedule = NPUPLAN_SCHEDULE_TILED },
		  "planner tile-scheduled does not take the schedules of planner cosma" },
		{ { .planner = "tile-scheduled", .schedule = NPUPLAN_SCHEDULE_GIVEN },
		  "planner tile-scheduled does not take the schedules of planner cosma" },
		{ { .planner = "tile-scheduled", .memory_limit = 1 << 30 },
		  "planner tile-scheduled does not take a limit of memory" },
		{ { .planner = "tile-scheduled-rings", .memory_limit = 1 << 30 },
		  "planner tile-scheduled-rings does not take a limit of memory" },
	};
	AUTO_GRAPH struct npuplan_graph *graph = build_chain(0);

	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
		refused(graph, &asked[i].options, -EOPNOTSUPP, asked[i].why);
}

/* So are the functions of one planner, which name none in their options. */
TEST(options_of_other_planners_functions)
{
	const struct npuplan_cosma_options cosma = { sizeof(cosma) };
	const struct npuplan_tilesched_options tilesched = { sizeof(tilesched) };
	const struct npuplan_options of_cosma = { .cosma = &cosma, .arena_budget = 100 };
	const struct npuplan_options of_tilesched = { .tilesched = &tilesched,
						      .arena_budget = 100 };
	const struct npuplan_options of_search = { .memory_limit = 1 << 30 };
	static const char why[] =
		"planner cosma does not take the options of planner tile-scheduled";
	const struct npuplan_tiling tiling = { 0 };
	AUTO_GRAPH struct npuplan_graph *graph = build_chain(0);
	struct npuplan_budgets budgets;
	struct npuplan_recompute found;
	struct npuplan_front *front;
	struct npuplan_error error;
	uint64_t needed;
	uint32_t step;
	size_t size;
	char *text;

	assert_int_equal(npuplan_budgets_find(graph, &of_tilesched, &budgets, &error), -EOPNOTSUPP);
	ASSERT_TEXT(error, why);
	assert_int_equal(npuplan_needed_find(graph, &of_tilesched, &needed, &step, &error),
			 -EOPNOTSUPP);
	ASSERT_TEXT(error, why);
	assert_int_equal(npuplan_lp_write(graph, &of_tilesched, &text, &size, &error), -EOPNOTSUPP);
	ASSERT_TEXT(error, why);
	assert_int_equal(npuplan_recompute_find(graph, &tiling, &of_tilesched, 0, &found, &error),
			 -EOPNOTSUPP);
	ASSERT_TEXT(error, why);
	assert_int_equal(npuplan_front_find(graph, &of_cosma, &front, &error), -EOPNOTSUPP);
	ASSERT_TEXT(error, "planner tile-scheduled does not take the options of planner cosma");
	assert_int_equal(npuplan_front_find(graph, &of_search, &front, &error), -EOPNOTSUPP);
	ASSERT_TEXT(error, "planner tile-scheduled does not take a limit of memory");
	assert_int_equal(npuplan_needed_find(graph, &of_cosma, &needed, &step, &error), 0);
}

/* What a caller can ask of a planner without knowing it by name. */
TEST(planner_traits)
{
	static const struct {
		const char *planner;
		uint32_t traits;
	} known[] = {
		{ NULL, 0 },
		{ "greedy", 0 },
		{ "none such", 0 },
		{ "tile-scheduled", NPUPLAN_PLANNER_TILESCHED | NPUPLAN_PLANNER_FRONT },
		{ "tile-scheduled-rings", NPUPLAN_PLANNER_TILESCHED },
		{ "cosma", NPUPLAN_PLANNER_MOVES | NPUPLAN_PLANNER_COSMA | NPUPLAN_PLANNER_BANKS |
				   NPUPLAN_PLANNER_RECOMPUTES | NPUPLAN_PLANNER_CORES },
		{ "cosma-ilp", NPUPLAN_PLANNER_MOVES | NPUPLAN_PLANNER_COSMA },
		{ "cosma-belady", NPUPLAN_PLANNER_MOVES | NPUPLAN_PLANNER_COSMA },
		{ "cosma-greedy", NPUPLAN_PLANNER_MOVES | NPUPLAN_PLANNER_COSMA },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_int_equal(npuplan_planner_traits(known[i].planner), known[i].traits);
}

TEST(engines)
{
	static const char *const words[] = {
		"rings", "search", "ilp", "paper", "belady", "greedy"
	};
	const size_t count = sizeof(words) / sizeof(words[0]);

	for (size_t i = 0; i < count; i++)
		assert_string_equal(npuplan_engine_name(i), words[i]);
	assert_null(npuplan_engine_name(count));
	assert_string_equal(npuplan_engine_planner("cosma", "search"), "cosma");
	assert_string_equal(npuplan_engine_planner("cosma", "ilp"), "cosma-ilp");
	assert_string_equal(npuplan_engine_planner("taa", "paper"), "taa-paper");
	assert_null(npuplan_engine_planner("taa", "ilp"));
	assert_null(npuplan_engine_planner("cosma-ilp", "ilp"));
	assert_null(npuplan_engine_planner("greedy", "search"));
}

/* A graph that the verifier refuses is refused with the verifier's sentence. */
TEST(graph_refused)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_chain(0);

	graph->tiles[0].region.length = 5;
	refused(graph, NULL, -EINVAL,
		"graph refused: format: tile 0 of tensor 0 'in': it ends beyond the "
		"tensor (used by step 0)");
}

/* 2^20 tiles that nobody accesses, of 64 bytes each. */
TEST(graph_too_large)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_chain(0);
	const struct npumem_region whole = graph->tiles[0].region;

	for (uint32_t i = 0; i < 1u << 20; i++)
		assert_true(npuplan_graph_add_tile(graph, 0, &whole) >= 0);
	refused(graph, NULL, -E2BIG,
		"graph chain: its blob has 67109872 bytes, at most 67108864 are taken; fewer steps "
		"and tiles make it smaller");
}

/* 2^20 placements. */
TEST(plan_too_large)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_chain(0);
	AUTO_PLAN struct npuplan_plan *plan = plan_of(graph, NULL);
	struct npuplan_error error = { .text = "" };
	struct npumem_verdict verdict;

	free(plan->placements);
	plan->placement_count = 1u << 20;
	plan->placements = calloc(plan->placement_count, sizeof(*plan->placements));
	assert_non_null(plan->placements);
	assert_int_equal(npuplan_verify_plan(graph, plan, &verdict, &error), -E2BIG);
	assert_string_equal(error.text,
			    "plan: its blob has 117440912 bytes, at most 67108864 are taken; fewer "
			    "placements and transfers make it smaller");
	assert_int_equal(verdict.rule, NPUMEM_RULE_NONE);
}

TEST(budget)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_chain(0);
	struct npuplan_options options = { .arena_budget = 16 };
	struct npuplan_error error;
	struct npuplan_plan *plan;

	npuplan_plan_free(plan_of(graph, &options));
	options.arena_budget = 15;
	refused(graph, &options, -ENOSPC,
		"needs 16 B, budget 15 B, lower bound 16 B, peak at step 1: a + b; no plan in this order fits");
	assert_int_equal(npuplan_plan(graph, &options, &plan, &error), -ENOSPC);
	assert_int_equal(error.status, NPUMEM_PLAN_STATUS_INFEASIBLE);
	assert_int_equal(error.needed, 16);
	assert_int_equal(error.step, 1);
}

/*
 * In MiB: by start, y (6) lies at 0, x (4) at 6, s (1 byte) at 10; when z (8)
 * comes x has gone, but its 4 are too few: z goes above s, to 18. The bound is
 * y + z + s, 14. A budget between the two is not proved too small.
 */
TEST(budget_not_proved)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("gap");
	struct npuplan_options options = { .planner = "greedy-start", .arena_budget = 17 };
	struct npuplan_error error;
	struct npuplan_plan *plan;
	uint32_t x = build_tensor(graph, "x", NPUMEM_TENSOR_INPUT, 4 << 20);
	uint32_t y = build_tensor(graph, "y", NPUMEM_TENSOR_INPUT, 6 << 20);
	uint32_t z = build_tensor(graph, "z", NPUMEM_TENSOR_INTERMEDIATE, 8 << 20);
	uint32_t s = build_tensor(graph, "s", NPUMEM_TENSOR_INTERMEDIATE, 1);
	uint32_t o = build_tensor(graph, "o", NPUMEM_TENSOR_OUTPUT, 1);

	build_step(graph, 0, x, NPUMEM_NONE, s);
	build_step(graph, 0, y, s, z);
	build_step(graph, 0, z, NPUMEM_NONE, o);
	options.arena_budget = 17 << 20;
	assert_int_equal(npuplan_plan(graph, &options, &plan, &error), -ENOSPC);
	ASSERT_TEXT(
		error,
		"needs 18.0 MiB, budget 17.0 MiB, lower bound 14.0 MiB, peak at step 1: z + y + s");
	assert_null(strstr(error.text, "no plan"));
	assert_int_equal(error.status, 0);
	assert_int_equal(error.needed, (18 << 20) + 1);
	/* Budgets that read alike are told to the byte. */
	options.arena_budget = (18 << 20) - 1;
	assert_int_equal(npuplan_plan(graph, &options, &plan, &error), -ENOSPC);
	ASSERT_TEXT(error, "needs 18874369 B, budget 18874367 B, lower bound 14680065 B");
	/* All orders together find it. */
	options.planner = "greedy";
	options.arena_budget = 15 << 20;
	npuplan_plan_free(plan_of(graph, &options));
}

/* More than four tensors at the peak are counted, not named. */
TEST(budget_many)
{
	AUTO_GRAPH struct npuplan_graph *graph = npuplan_graph_new("many");
	struct npuplan_options options = { .arena_budget = 1 };

	for (uint32_t i = 0; i < 6; i++)
		build_tensor(graph, i ? "" : "first", NPUMEM_TENSOR_INPUT, 10 - i);
	build_step(graph, 0, 0, NPUMEM_NONE, build_tensor(graph, "o", NPUMEM_TENSOR_OUTPUT, 1));
	refused(graph, &options, -ENOSPC,
		"needs 45 B, budget 1 B, lower bound 45 B, peak at step 0: first + "
		"tensor 1 + tensor 2 + tensor 3 + 2 more; no plan in this order fits");
}

/* A graph that came as a blob is planned to the same bytes; and so each time. */
TEST(same_bytes)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_chain(0), *read = NULL;
	AUTO_PLAN struct npuplan_plan *plan = plan_of(graph, NULL), *other = NULL;
	void *graph_blob, *blobs[2];
	size_t graph_size, sizes[2];

	assert_int_equal(npuplan_graph_write(graph, &graph_blob, &graph_size, NULL), 0);
	assert_int_equal(npuplan_graph_read(graph_blob, graph_size, &read, NULL), 0);
	other = plan_of(read, NULL);
	assert_int_equal(npuplan_plan_write(plan, &blobs[0], &sizes[0], NULL), 0);
	assert_int_equal(npuplan_plan_write(other, &blobs[1], &sizes[1], NULL), 0);
	assert_int_equal(sizes[0], sizes[1]);
	assert_memory_equal(blobs[0], blobs[1], sizes[0]);
	free(graph_blob);
	for (int i = 0; i < 2; i++)
		free(blobs[i]);
}

TEST(blob_round_trip)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_chain(0);
	struct npuplan_plan *plan = plan_of(graph, NULL), *read;
	struct npuplan_error error;
	void *blob, *again;
	size_t size, again_size;

	/* Sections that this version's planners leave empty. */
	free(plan->entries);
	plan->entries = calloc(1, sizeof(*plan->entries));
	plan->entries[0].tensor = 2;
	plan->entry_count = 1;
	free(plan->edges);
	plan->edges = calloc(1, sizeof(*plan->edges));
	plan->edges[0].to = NPUMEM_NONE;
	plan->edge_count = 1;
	plan->views = calloc(1, sizeof(*plan->views));
	plan->views[0].repeat = 2;
	plan->view_count = 1;
	plan->view_slots = calloc(3, sizeof(*plan->view_slots));
	plan->view_slots[2] = 9;
	plan->view_slot_count = 3;
	assert_int_equal(npuplan_plan_write(plan, &blob, &size, &error), 0);
	assert_int_equal(npuplan_plan_read(blob, size, &read, &error), 0);
	assert_int_equal(read->info.arena_size, 16);
	assert_int_equal(read->placement_count, 4);
	assert_int_equal(read->entries[0].tensor, 2);
	assert_int_equal(read->view_slots[2], 9);
	assert_int_equal(read->peak_position, NPUMEM_NONE);
	assert_int_equal(npuplan_plan_write(read, &again, &again_size, &error), 0);
	assert_int_equal(again_size, size);
	assert_memory_equal(again, blob, size);
	npuplan_plan_free(read);
	free(again);

	assert_int_equal(npuplan_plan_read(blob, size - 8, &read, &error), -EBADMSG);
	ASSERT_TEXT(error, "plan refused: format: total_size");
	for (size_t i = 0; i < size; i++) {
		((uint8_t *)blob)[i] ^= 0x10;
		if (!npuplan_plan_read(blob, size, &read, &error))
			npuplan_plan_free(read);
		((uint8_t *)blob)[i] ^= 0x10;
	}
	free(blob);
	npuplan_plan_free(plan);
}

static void verdict_names(const struct npuplan_graph *graph, struct npumem_verdict verdict)
{
	char text[128], cut[8];

	npuplan_verdict_names(graph, &verdict, text, sizeof(text));
	assert_string_equal(text, "step 1, tensor 2 'b'; step 1, tensor 1 'a'");
	npuplan_verdict_names(graph, &verdict, cut, sizeof(cut));
	assert_string_equal(cut, "step 1,");
	verdict.other_step = NPUMEM_NONE;
	verdict.tensor = graph->tensor_count;
	npuplan_verdict_names(graph, &verdict, text, sizeof(text));
	assert_string_equal(text, "step 1; tensor 1 'a'");
	verdict.rule = NPUMEM_RULE_NONE;
	npuplan_verdict_names(graph, &verdict, text, sizeof(text));
	assert_string_equal(text, "");
}

TEST(verify)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_chain(0);
	AUTO_PLAN struct npuplan_plan *plan = plan_of(graph, NULL);
	struct npumem_verdict verdict;
	struct npuplan_error error;
	void *graph_blob, *plan_blob;
	size_t graph_size, plan_size;
	char log[256] = "";

	assert_int_equal(npuplan_verify_plan(graph, plan, &verdict, &error), 0);
	/* b laid upon a, which step 1 still reads. */
	plan->placements[2].offset = 4;
	assert_int_equal(npuplan_verify_plan(graph, plan, &verdict, &error), -EINVAL);
	ASSERT_TEXT(error, "plan refused:");
	ASSERT_TEXT(error, "'b'");
	assert_int_equal(verdict.rule, NPUMEM_RULE_V4_WRITE);
	assert_int_equal(verdict.tensor, 2);
	assert_int_equal(verdict.other_tensor, 1);
	verdict_names(graph, verdict);
	assert_int_equal(npuplan_verify_plan(graph, plan, NULL, NULL), -EINVAL);

	assert_int_equal(npuplan_graph_write(graph, &graph_blob, &graph_size, NULL), 0);
	assert_int_equal(npuplan_plan_write(plan, &plan_blob, &plan_size, NULL), 0);
	assert_int_equal(npuplan_verify(graph_blob, graph_size, plan_blob, plan_size, &verdict, log,
					sizeof(log)),
			 -EINVAL);
	assert_int_equal(verdict.rule, NPUMEM_RULE_V4_WRITE);
	assert_non_null(strstr(log, "'b'"));
	assert_int_equal(npuplan_verify(graph_blob, graph_size, plan_blob, plan_size, NULL, NULL,
					0),
			 -EINVAL);
	assert_int_equal(npuplan_verify(graph_blob, 16, plan_blob, plan_size, &verdict, NULL, 0),
			 -EBADMSG);
	free(plan_blob);
	plan->placements[2].offset = 10;
	assert_int_equal(npuplan_plan_write(plan, &plan_blob, &plan_size, NULL), 0);
	assert_int_equal(
		npuplan_verify(graph_blob, graph_size, plan_blob, plan_size, NULL, NULL, 0), 0);
	free(plan_blob);
	free(graph_blob);
}

TEST(print)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_chain(0);
	AUTO_PLAN struct npuplan_plan *plan = plan_of(graph, NULL);
	AUTO_TEXT char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(npuplan_plan_print(graph, plan, 16, out), 0);
	assert_int_equal(npuplan_plan_print(graph, plan, 0, out), -EINVAL);
	assert_int_equal(npuplan_plan_print(graph, plan, 513, out), -EINVAL);
	fclose(out);
	assert_string_equal(text, "chain: planner auto\n"
				  "arena 16 (16 B), lower bound 16 (16 B), 16 columns of 1 bytes\n"
				  "0 (id=100): offset 10, 4 bytes, positions 0 to 0: in\n"
				  "1 (id=101): offset 0, 10 bytes, positions 0 to 1: a\n"
				  "2 (id=102): offset 10, 6 bytes, positions 1 to 2: b\n"
				  "3 (id=103): offset 0, 2 bytes, positions 2 to 2: out\n"
				  "    0: 11111111110000.. (1k) step 0\n"
				  "    1: 1111111111222222 (1k) step 1\n"
				  "    2: 33........222222 (1k) step 2\n");
}

/* Columns of four bytes: who has most of one, or comes first, is drawn; bytes had twice are '!'. */
TEST(print_columns)
{
	AUTO_GRAPH struct npuplan_graph *graph = build_chain(0);
	AUTO_PLAN struct npuplan_plan *plan = plan_of(graph, NULL);
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(npuplan_plan_print(graph, plan, 4, out), 0);
	fflush(out);
	/* Step 0: tensor 1 has bytes [0, 10), tensor 0 [10, 14). */
	assert_non_null(strstr(text, "    0: 1100 (1k) step 0\n"));
	assert_non_null(strstr(text, "    1: 1112 (1k) step 1\n"));
	plan->placements[0].offset = 8;
	assert_int_equal(npuplan_plan_print(graph, plan, 4, out), 0);
	fclose(out);
	assert_non_null(strstr(text, "    0: 11!. (1k) step 0\n"));
	free(text);
	/* More rows than the tensor has bytes. */
	plan->placements[0].region.count[2] = UINT32_MAX;
	assert_int_equal(npuplan_plan_print(graph, plan, 4, stderr), -EINVAL);
}
