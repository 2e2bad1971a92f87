// SPDX-License-Identifier: MIT
/*
 * npumemd: everything that `npumemctl plan` can be asked for, from options to the plan: as
 * libnpuplan plans it here, byte for byte; graphs that the client has cut; graphs that are cut
 * anew by their model, and models that are not the graph's.
 */
#include "npumemd_request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "npuimport.h"
#include "npuplan.h"
#include "npumem_options.h"

#define COOKIE 1000

/*
 * x -> p -> a -> q -> b -> s -> c -> r -> y, where r also reads a, which p makes of little. Ids of
 * operators are not their indices.
 */
#define OP_S                                                                              \
	"{\"id\":40,\"name\":\"s\",\"type\":\"conv2d\",\"inputs\":[2,6],\"outputs\":[3]," \
	"\"attrs\":{\"kernel\":[1,1],\"stride\":[1,1],\"padding\":[0,0],\"groups\":8}},"
#define OP_R "{\"id\":25,\"name\":\"r\",\"type\":\"add\",\"inputs\":"
static const char chain[] =
	"{\"name\":\"m\",\"layout\":\"NHWC\",\"dtype_bytes\":1,\"tensors\":["
	"{\"id\":0,\"name\":\"x\",\"shape\":[1,4,4,2],\"bytes\":32,\"kind\":\"input\"},"
	"{\"id\":1,\"name\":\"a\",\"shape\":[1,4,4,8],\"bytes\":128,\"kind\":\"activation\"},"
	"{\"id\":2,\"name\":\"b\",\"shape\":[1,4,4,16],\"bytes\":256,\"kind\":\"activation\"},"
	"{\"id\":3,\"name\":\"c\",\"shape\":[1,4,4,8],\"bytes\":128,\"kind\":\"activation\"},"
	"{\"id\":4,\"name\":\"y\",\"shape\":[1,4,4,8],\"bytes\":128,\"kind\":\"output\"},"
	"{\"id\":5,\"name\":\"w\",\"shape\":[8,2,1,1],\"bytes\":16,\"kind\":\"parameter\"},"
	"{\"id\":6,\"name\":\"v\",\"shape\":[8,2,1,1],\"bytes\":16,\"kind\":\"parameter\"}],\"ops\":["
	"{\"id\":30,\"name\":\"p\",\"type\":\"conv2d\",\"inputs\":[0,5],\"outputs\":[1],"
	"\"attrs\":{\"kernel\":[1,1],\"stride\":[1,1],\"padding\":[0,0]}},"
	"{\"id\":20,\"name\":\"q\",\"type\":\"cat\",\"inputs\":[1,1],\"outputs\":[2],"
	"\"attrs\":{\"dim\":3}}," OP_S OP_R "[3,1],\"outputs\":[4],\"attrs\":{\"inplace\":true}}]}";

/* Blocks in a loop: 0, then 1 as often as one likes, then 2. */
static const char loop[] =
	"{\"name\":\"l\",\"layout\":\"NHWC\",\"dtype_bytes\":1,\"tensors\":["
	"{\"id\":0,\"name\":\"x\",\"shape\":[1,4],\"bytes\":4,\"kind\":\"input\"},"
	"{\"id\":1,\"name\":\"a\",\"shape\":[1,4],\"bytes\":4,\"kind\":\"activation\"},"
	"{\"id\":2,\"name\":\"b\",\"shape\":[1,4],\"bytes\":4,\"kind\":\"activation\"},"
	"{\"id\":3,\"name\":\"c\",\"shape\":[1,4],\"bytes\":4,\"kind\":\"activation\"},"
	"{\"id\":4,\"name\":\"d\",\"shape\":[1,4],\"bytes\":4,\"kind\":\"activation\"},"
	"{\"id\":5,\"name\":\"y\",\"shape\":[1,4],\"bytes\":4,\"kind\":\"output\"}],\"ops\":["
	"{\"id\":1,\"name\":\"p\",\"type\":\"relu\",\"inputs\":[0],\"outputs\":[1]},"
	"{\"id\":2,\"name\":\"q\",\"type\":\"relu\",\"inputs\":[3],\"outputs\":[2]},"
	"{\"id\":3,\"name\":\"r\",\"type\":\"relu\",\"inputs\":[1],\"outputs\":[5]}],"
	"\"blocks\":[1,1,1],\"edges\":["
	"{\"from\":0,\"to\":1,\"carries\":[{\"from\":1,\"to\":3}]},"
	"{\"from\":1,\"to\":1,\"carries\":[{\"from\":2,\"to\":3}]},"
	"{\"from\":1,\"to\":2},{\"from\":2}]}";

/* A model's text with one part of it replaced; free() it. */
static char *replace(const char *text, const char *part, const char *by)
{
	const char *at = part ? strstr(text, part) : text;
	char *out = NULL;

	assert_non_null(at);
	assert_true(asprintf(&out, "%.*s%s%s", (int)(at - text), text, part ? by : "",
			     at + (part ? strlen(part) : 0)) >= 0);
	return out;
}

static struct npuplan_graph *import(const char *text)
{
	struct npuplan_error error = { "" };
	struct npuplan_graph *graph = NULL;

	npuimport_graph_json(text, strlen(text), &(struct npuimport_options){ 0 }, &graph, NULL,
			     &error);
	assert_string_equal(error.text, "");
	return graph;
}

/* What only a graph says of the chain's tensors, and no model. */
enum marks { NO_MARKS, PLACED, LOADED };

/* The fixture's graph: @text's operators, whole, and @model attached to them. */
static void build(const char *text, const char *model, const struct npuplan_tiling *tiling,
		  enum marks marks)
{
	AUTO_GRAPH struct npuplan_graph *graph = import(text);

	if (marks == PLACED) {
		graph->tensors[3].flags |= NPUMEM_TENSOR_FLAG_FIXED;
		graph->tensors[3].fixed_offset = 512;
		graph->tensors[4].flags |= NPUMEM_TENSOR_FLAG_EXTERNAL;
	} else if (marks == LOADED) {
		graph->tensors[0].flags |= NPUMEM_TENSOR_FLAG_HOST;
		graph->tensors[5].flags |= NPUMEM_TENSOR_FLAG_HOST;
		graph->tensors[6].flags |= NPUMEM_TENSOR_FLAG_HOST;
	}
	assert_int_equal(npuplan_graph_tile(graph, tiling, NULL), 0);
	for (uint32_t i = 0; i < graph->step_count; i++)
		graph->steps[i].cookie = COOKIE + i;
	free(f.graph);
	assert_int_equal(npuplan_graph_write_model(graph, model, model ? strlen(model) : 0,
						   &f.graph, &f.graph_size, NULL),
			 0);
}

static const struct npuplan_tiling whole = { .with_parameters = true };
static const struct npuplan_tiling two_bands = { .bands = 2, .with_parameters = true };
static const struct npuplan_tiling all_rows = { .rows = 4, .with_parameters = true };

/* All operators for 2 x 2 pixels, then for the next; p in two ranges of rows, a channel at once. */
static const struct npuplan_tiling in_patches = {
	.with_parameters = true,
	.patches = &(struct npuplan_patches){ .last = 3, .rows = 2, .columns = 2 },
	.patch_count = 1,
};
static const struct npuplan_tiling in_sums = {
	.with_parameters = true,
	.ops = &(struct npuplan_tile_choice){ .rows = 2, .depth = 1 },
	.op_count = 1,
};

static void build_chain_model(void)
{
	build(chain, chain, &whole, NO_MARKS);
}

static void build_loop_model(void)
{
	build(loop, loop, &whole, NO_MARKS);
}

/* ------------------------------------------------------------------- plans */

/* What @request and @asked have in common, for libnpuplan. */
static struct npuplan_options options_of(const char *planner, uint64_t budget,
					 const struct npumem_request *asked)
{
	return (struct npuplan_options){
		.planner = planner,
		.arena_budget = budget,
		.alignment = asked->alignment,
		.schedule = asked->schedule,
		.work_limit = asked->work_limit,
		.memory_limit = asked->memory_limit,
	};
}

/* The answer is this plan, of this graph if the daemon was to cut. */
static void assert_answer(const struct npuplan_graph *graph, const struct npuplan_options *options,
			  bool cut)
{
	AUTO_PLAN struct npuplan_plan *plan = NULL;
	struct npuplan_error error = { "" };
	unsigned char *got = malloc(1 << 20);
	void *blob = NULL, *of = NULL;
	size_t size, of_size = 0;
	ssize_t n = pread(f.fd, got, 1 << 20, (off_t)f.answer_at);

	npuplan_plan(graph, options, &plan, &error);
	assert_string_equal(error.text, "");
	assert_int_equal(npuplan_plan_write(plan, &blob, &size, NULL), 0);
	if (cut) {
		assert_int_equal(npuplan_graph_write(graph, &of, &of_size, NULL), 0);
		assert_memory_equal(got, of, of_size);
	}
	assert_int_equal(f.new_graph_size, of_size);
	assert_int_equal(n, of_size + size);
	assert_memory_equal(got + of_size, blob, size);
	free(got);
	free(of);
	free(blob);
}

/* Ask for a plan of the fixture's graph. */
static void ask(const char *planner, uint32_t objective, uint64_t budget,
		const struct npumem_request *asked)
{
	struct accepted accepted = accept_good();

	snprintf(accepted.planner, sizeof(accepted.planner), "%s", planner);
	accepted.objective = objective;
	accepted.arena_budget = budget;
	asking(&accepted, asked);
	run_request(&accepted);
	assert_string_equal(f.message, "");
	assert_int_equal(f.status, 0);
}

static struct npuplan_graph *read_graph(void)
{
	struct npuplan_graph *graph = NULL;

	assert_int_equal(npuplan_graph_read(f.graph, f.graph_size, &graph, NULL), 0);
	return graph;
}

/* Cut @text here as the daemon is to cut, with cookies of the steps that were cut. */
static struct npuplan_graph *cut_model(const char *text, const int64_t *ids, uint32_t count,
				       const struct npuplan_tiling *tiling)
{
	AUTO_GRAPH struct npuplan_graph *given = read_graph();
	struct npuplan_graph *graph = import(text);

	for (uint32_t i = 0; i < graph->tensor_count; i++) {
		graph->tensors[i].flags = given->tensors[i].flags;
		graph->tensors[i].fixed_offset = given->tensors[i].fixed_offset;
	}
	assert_int_equal(npuplan_graph_tile(graph, tiling, NULL), 0);
	for (uint32_t i = 0; i < graph->step_count; i++)
		for (uint32_t op = 0; op < count; op++)
			if (graph->ops[graph->steps[i].op].id == ids[op])
				graph->steps[i].cookie = COOKIE + op;
	return graph;
}

static struct npuplan_graph *cut_here(const struct npuplan_tiling *tiling)
{
	static const int64_t ids[] = { 30, 20, 40, 25 };

	return cut_model(chain, ids, 4, tiling);
}

static void cut_and_plan(const char *planner, const struct npumem_request *asked,
			 struct npuplan_tiling tiling)
{
	AUTO_GRAPH struct npuplan_graph *graph = NULL;
	struct npuplan_options options = options_of(planner, 0, asked);
	struct npuplan_tilesched_options own = { .size = sizeof(own),
						 .traffic_factor = asked->traffic_factor,
						 .weights_on_chip = asked->weights_on_chip };

	if (asked->traffic_factor || asked->weights_on_chip)
		options.tilesched = &own;
	build(chain, chain, &whole, PLACED);
	ask(planner, NPUMEM_OBJECTIVE_ARENA, 0, asked);
	tiling.with_parameters = true;
	graph = cut_here(&tiling);
	assert_true(graph->step_count > 4);
	assert_answer(graph, &options, true);
}

REQUEST_TEST(cut_into_rows)
{
	cut_and_plan(
		"tile-scheduled",
		&(struct npumem_request){ .rows = 1, .traffic_factor = 1.5, .weights_on_chip = 8 },
		(struct npuplan_tiling){ .rows = 1 });
}

REQUEST_TEST(cut_into_columns)
{
	cut_and_plan("greedy", &(struct npumem_request){ .rows = 2, .columns = 3 },
		     (struct npuplan_tiling){ .rows = 2, .columns = 3 });
}

REQUEST_TEST(cut_into_bands)
{
	cut_and_plan("greedy", &(struct npumem_request){ .bands = 2, .alignment = 64 },
		     (struct npuplan_tiling){ .bands = 2 });
}

REQUEST_TEST(cut_to_fit)
{
	cut_and_plan("greedy", &(struct npumem_request){ .on_chip = 192, .double_buffer = 1 },
		     (struct npuplan_tiling){ .onchip = 192, .double_buffer = true });
}

REQUEST_TEST(cut_one_by_one)
{
	static const struct npumem_option_tile tiles[] = {
		{ .op = 25, .rows = 2, .columns = 3 },
		{ .op = 30, .rows = 4, .channels = 2, .order = NPUMEM_ORDER_CHANNELS },
	};
	static struct npuplan_tile_choice choices[] = {
		{ .op = 0, .rows = 4, .channels = 2, .order = NPUPLAN_CHANNELS_OUTER },
		{ .op = 3, .rows = 2, .columns = 3 },
	};

	cut_and_plan("greedy", &(struct npumem_request){ .tiles = tiles, .tile_count = 2 },
		     (struct npuplan_tiling){ .ops = choices, .op_count = 2 });
}

/* By name: the budget is that of the operators that there are. */
REQUEST_TEST(recompute)
{
	const struct npumem_request asked = { .recompute = 1, .budget = NPUMEM_BUDGET_NEEDED };
	AUTO_GRAPH struct npuplan_graph *graph = NULL, *again = NULL, *given = NULL;
	struct npuplan_tiling tiling = { .with_parameters = true };
	struct npuplan_options options = { .planner = "cosma" };
	struct npuplan_recompute found = { 0 };
	uint32_t step;

	build(chain, chain, &whole, LOADED);
	given = read_graph();
	assert_int_equal(npuplan_needed_find(given, &options, &options.arena_budget, &step, NULL),
			 0);
	graph = import(chain);
	for (uint32_t i = 0; i < graph->tensor_count; i++) {
		graph->tensors[i].flags = given->tensors[i].flags;
		graph->tensors[i].fixed_offset = given->tensors[i].fixed_offset;
	}
	assert_int_equal(npuplan_recompute_find(graph, &tiling, &options, 0, &found, NULL), 0);
	/* It is one that says something: p runs again rather than a be moved. */
	assert_int_equal(found.clone_count, 1);
	assert_int_equal(found.clones[0].op, 30);
	tiling.clones = found.clones;
	tiling.clone_count = found.clone_count;

	ask("cosma", NPUMEM_OBJECTIVE_TRAFFIC, 0, &asked);
	again = cut_here(&tiling);
	assert_int_equal(again->step_count, 5);
	for (uint32_t i = 0; i < again->step_count; i++)
		if (again->ops[again->steps[i].op].id == 41)
			again->steps[i].cookie = COOKIE;
	assert_answer(again, &options, true);
	npuplan_recompute_fini(&found);
}

/* What is copied is what libnpuplan says, and so is the plan; a copy is of no operator. */
static void copy_carries(const struct npumem_request *asked, uint32_t copying, uint32_t copies)
{
	static const int64_t ids[] = { 1, 2, 3 };
	const struct npuplan_options options = { .planner = "greedy" };
	struct npuplan_tiling tiling = { .bands = asked->bands, .with_parameters = true };
	AUTO_GRAPH struct npuplan_graph *graph = import(loop), *copied = NULL;
	struct npuplan_carry_copies found = { 0 };
	uint32_t without_cookie = 0;

	build(loop, loop, &whole, NO_MARKS);
	assert_int_equal(npuplan_carry_copies_find(graph, &tiling, &options, copying,
						   asked->instances, &found, NULL),
			 0);
	assert_int_equal(found.copy_count, copies);
	ask("greedy", NPUMEM_OBJECTIVE_ARENA, 0, asked);
	tiling.carry_copies = found.copies;
	tiling.carry_copy_count = found.copy_count;
	copied = cut_model(loop, ids, 3, &tiling);
	for (uint32_t i = 0; i < copied->step_count; i++)
		without_cookie += !copied->steps[i].cookie;
	assert_int_equal(without_cookie, copies);
	assert_answer(copied, &options, true);
	npuplan_carry_copies_fini(&found);
}

/* a is needed after the loop, and b and c change places: five instances of three blocks. */
REQUEST_TEST(carried_values_are_copied)
{
	copy_carries(&(struct npumem_request){ .carry_copies = NPUMEM_COPIES_NEEDED,
					       .instances = 4 },
		     NPUPLAN_COPYING_NEEDED, 1);
}

REQUEST_TEST(nothing_need_be_copied)
{
	copy_carries(&(struct npumem_request){ .carry_copies = NPUMEM_COPIES_NEEDED },
		     NPUPLAN_COPYING_NEEDED, 0);
}

REQUEST_TEST(no_arena_is_smaller_for_copies)
{
	copy_carries(&(struct npumem_request){ .carry_copies = NPUMEM_COPIES_SMALLER },
		     NPUPLAN_COPYING_SMALLER, 0);
}

/* Without a cut the graph is the client's, and it needs no model. */
static void plan_as_given(const char *planner, uint32_t objective, uint64_t budget,
			  const struct npumem_request *asked, struct npuplan_options *options)
{
	AUTO_GRAPH struct npuplan_graph *graph = NULL;

	build(chain, NULL, &whole, LOADED);
	ask(planner, objective, budget, asked);
	graph = read_graph();
	assert_answer(graph, options, false);
}

REQUEST_TEST(schedule_and_limits)
{
	const struct npumem_request asked = {
		.schedule = NPUMEM_SCHEDULE_GIVEN,
		.work_limit = 1000,
		.memory_limit = 1 << 20,
		.alignment = 32,
	};
	struct npuplan_options options = options_of("cosma", 600, &asked);

	options.objective = NPUPLAN_OBJECTIVE_TRAFFIC;
	plan_as_given("cosma", NPUMEM_OBJECTIVE_TRAFFIC, 600, &asked, &options);
}

REQUEST_TEST(schedule_of_least_peak)
{
	const struct npumem_request asked = { .schedule = NPUMEM_SCHEDULE_LEAST_PEAK };
	struct npuplan_options options = options_of("cosma", 640, &asked);

	plan_as_given("cosma", NPUMEM_OBJECTIVE_ARENA, 640, &asked, &options);
}

REQUEST_TEST(schedule_of_tiles)
{
	const struct npumem_request asked = { .schedule = NPUMEM_SCHEDULE_TILED };
	struct npuplan_options options = options_of("cosma", 640, &asked);

	plan_as_given("cosma", NPUMEM_OBJECTIVE_ARENA, 640, &asked, &options);
}

/* The planner is the one of those that move tensors, and the peak is below the budget. */
REQUEST_TEST(least_peak_beside_a_budget)
{
	const struct npumem_request asked = { 0 };
	struct npuplan_options options = options_of("cosma", 4096, &asked);

	options.objective = NPUPLAN_OBJECTIVE_PEAK;
	plan_as_given("", NPUMEM_OBJECTIVE_PEAK, 4096, &asked, &options);
}

/*
 * What the client has cut is planned as it is: sums and patches are tensors as any others, and
 * that the daemon knows of no operators changes nothing.
 */
static void cut_by_client(const char *planner, const struct npuplan_tiling *tiling, uint32_t added)
{
	const struct npumem_request asked = { 0 };
	struct npuplan_options options = options_of(planner, 0, &asked);
	AUTO_GRAPH struct npuplan_graph *graph = NULL;

	build(chain, NULL, tiling, NO_MARKS);
	ask(planner, NPUMEM_OBJECTIVE_ARENA, 0, &asked);
	graph = cut_here(tiling);
	assert_int_equal(graph->added_count, added);
	assert_answer(graph, &options, false);
}

REQUEST_TEST(patches_of_the_client)
{
	cut_by_client("auto", &in_patches, 4 * 3);
}

REQUEST_TEST(patches_of_the_client_by_tiles)
{
	cut_by_client("taa", &in_patches, 4 * 3);
}

REQUEST_TEST(partial_sums_of_the_client)
{
	cut_by_client("auto", &in_sums, 2);
}

REQUEST_TEST(partial_sums_of_the_client_by_tiles)
{
	cut_by_client("taa", &in_sums, 2);
}

REQUEST_TEST(banks)
{
	static const struct npumem_option_bank asked_banks[] = { { 640, 8000 }, { 640, 1000 } };
	static const struct npuplan_bank banks[] = { { 640, 8000 }, { 640, 1000 } };
	const struct npuplan_cosma_options cosma = { .size = sizeof(cosma), .banks = banks };
	const struct npumem_request asked = { .banks = asked_banks };
	struct npuplan_options options = options_of("cosma", 0, &asked);

	options.cosma = &cosma;
	plan_as_given("cosma", NPUMEM_OBJECTIVE_TRAFFIC, 0, &asked, &options);
}

/*
 * struct named - a budget by its name
 * @budget: enum npumem_option_budget
 */
struct named {
	uint32_t budget;
};

static void budget_by_name(void **state)
{
	const struct named *row = *state;
	const struct npumem_request asked = { .budget = row->budget };
	struct npuplan_options options = options_of("cosma", 0, &asked);
	AUTO_GRAPH struct npuplan_graph *graph = NULL;
	struct npuplan_budgets budgets;

	build(chain, NULL, &whole, LOADED);
	graph = read_graph();
	assert_int_equal(npuplan_budgets_find(graph, &options, &budgets, NULL), 0);
	assert_true(budgets.needed < budgets.middle && budgets.middle < budgets.peak);
	options.objective = NPUPLAN_OBJECTIVE_TRAFFIC;
	options.arena_budget = row->budget == NPUMEM_BUDGET_NEEDED ? budgets.needed :
			       row->budget == NPUMEM_BUDGET_MIDDLE ? budgets.middle :
								     budgets.peak;
	plan_as_given("", NPUMEM_OBJECTIVE_TRAFFIC, 0, &asked, &options);
}

#define NAMED(name, number) \
	TEST_CASE(name, budget_by_name, request_setup, request_teardown, struct named, number)
NAMED(budget_needed, NPUMEM_BUDGET_NEEDED)
NAMED(budget_middle, NPUMEM_BUDGET_MIDDLE)
NAMED(budget_peak, NPUMEM_BUDGET_PEAK)

/* --------------------------------------------------------- what is refused */

static const struct npumem_request by_rows = { .rows = 1 };
static const struct npumem_request recomputed = { .recompute = 1 };
static const struct npumem_request needed = { .budget = NPUMEM_BUDGET_NEEDED };
static const struct npumem_option_bank two_banks[] = { { 640, 8000 }, { 640, 1000 } };
static const struct npumem_request banked = { .banks = two_banks };
static const struct npumem_request odd_tile = { .tiles = &(struct npumem_option_tile){ .op = 26,
										       .rows = 1 },
						.tile_count = 1 };
static const struct npumem_request factor = { .traffic_factor = 2 };
static const struct npumem_request too_small = { .on_chip = 4 };
static const struct npumem_request other_bytes = { .rows = 1, .layout = NPUMEM_LAYOUT_NC32HW32 };

static const struct npumem_request copied = { .carry_copies = NPUMEM_COPIES_NEEDED };
static const struct npumem_request few_instances = { .carry_copies = NPUMEM_COPIES_NEEDED,
						     .instances = 2 };
static const struct npumem_request one_too_few = { .carry_copies = NPUMEM_COPIES_NEEDED,
						   .instances = 3 };

FAILURE(options_that_are_none, .options = "\1\0\0\0", .options_size = 4, .status = EBADMSG,
	.message = "options: the options' last 4 bytes, at byte 0, are no option")
FAILURE(no_leave_to_cut, .build = build_chain_model, .asks = &by_rows, .uncut = true,
	.status = EINVAL,
	.message = "options: the options have the graph cut anew, and the request lets nobody do "
		   "that (NPUMEM_PLAN_REQUEST_CUT)")
FAILURE(two_budgets, .planner = "cosma", .asks = &needed, .budget = 600, .status = EINVAL,
	.message = "options: option 3 (budget) and an arena budget of 600 bytes exclude each other")
FAILURE(banks_and_a_budget, .planner = "cosma", .asks = &banked, .budget = 600, .status = EINVAL,
	.message = "options: option 6 (banks) and an arena budget of 600 bytes exclude each other")
FAILURE(budget_of_another, .planner = "greedy", .asks = &needed, .status = EOPNOTSUPP,
	.message = "options: option 3 (budget) is of planners that move tensors, and greedy does "
		   "not")
FAILURE(recompute_of_another, .planner = "cosma-ilp", .asks = &recomputed, .status = EOPNOTSUPP,
	.message = "options: option 10 (recompute) is not of planner cosma-ilp")
FAILURE(recompute_without_a_budget, .build = build_chain_model, .planner = "cosma",
	.asks = &recomputed, .status = EINVAL,
	.message = "recompute: operators run again to save traffic within one budget: which?")
FAILURE(no_leave_to_copy, .build = build_chain_model, .asks = &copied, .uncut = true,
	.status = EINVAL,
	.message = "options: the options have the graph cut anew, and the request lets nobody do "
		   "that (NPUMEM_PLAN_REQUEST_CUT)")
FAILURE(fewer_instances_than_blocks, .build = build_loop_model, .asks = &few_instances,
	.status = E2BIG,
	.message = "carry copies: the graph has 3 blocks: a plan has at most 2 instances of blocks")
/* Block 2 is there twice, behind the loop and without it, and is the one that is too many. */
FAILURE(instances_that_no_copies_reach, .build = build_loop_model, .asks = &one_too_few,
	.status = E2BIG,
	.message = "carry copies: block 2 (from r): the tensors that it needs rotate through more "
		   "places than 3 instances of blocks, or 1048576 positions, or 262144 tensors of "
		   "all instances, can tell apart")
FAILURE(factor_of_another, .planner = "greedy", .asks = &factor, .status = EOPNOTSUPP,
	.message = "greedy: planner greedy does not take the options of planner tile-scheduled")
FAILURE(no_model, .asks = &by_rows, .status = ENODATA,
	.message = "model: the graph is to be cut anew and has no model (section 32769)")
FAILURE(no_such_operator, .build = build_chain_model, .asks = &odd_tile, .status = EINVAL,
	.message = "cut: option 15 (tiles): the model has no operator 26")
FAILURE(too_small_a_chip, .build = build_chain_model, .asks = &too_small, .status = ENOSPC,
	.message = "cut: operator p in tiles of 1 rows x 1 channels x 1 columns: step 0 of 128 "
		   "needs 5 bytes on chip, 2 of them for x; there are 4")
FAILURE(bytes_in_another_order, .build = build_chain_model, .asks = &other_bytes, .status = EINVAL,
	.message = "model: the model is not the graph's: tensor 0 has size 512, in the graph 32")

/*
 * struct other - a model that is not the graph's, which is @text's with @graph_part replaced
 * @part: of @text, that is @by in the model
 * @tiling: of the graph; NULL: whole operators
 */
struct other {
	const char *text;
	const char *graph_part, *graph_by;
	const char *part, *by;
	const struct npuplan_tiling *tiling;
	int status;
	const char *message;
};

static void other_model(void **state)
{
	const struct other *row = *state;
	char *text = replace(row->text, row->graph_part, row->graph_by);
	char *model = replace(row->text, row->part, row->by);
	struct accepted accepted;

	build(text, model, row->tiling ? row->tiling : &whole, NO_MARKS);
	accepted = accept_good();
	asking(&accepted, &by_rows);
	run_request(&accepted);
	assert_failed((uint32_t)(row->status ? row->status : EINVAL), row->message);
	free(text);
	free(model);
}

#define OTHER_MODEL(name, said, ...)                                                \
	TEST_CASE(name, other_model, request_setup, request_teardown, struct other, \
		  .message = "model: the model is not the graph's: " said, __VA_ARGS__)

TEST_CASE(model_that_is_none, other_model, request_setup, request_teardown, struct other,
	  .text = chain, .part = "true}}]}", .by = "true}}", .status = EBADMSG,
	  .message = "model: line 1, column 963: ']' expected near end of file")
OTHER_MODEL(
	tensors_more, "it has 8 tensors, the graph 7", .text = chain, .part = "\"tensors\":[",
	.by = "\"tensors\":[{\"id\":9,\"name\":\"z\",\"shape\":[1],\"bytes\":1,\"kind\":\"input\"},")
OTHER_MODEL(tensor_size, "tensor 1 has size 256, in the graph 128", .text = chain,
	    .part = "\"shape\":[1,4,4,8],\"bytes\":128",
	    .by = "\"shape\":[1,4,4,8],\"dtype_bytes\":2,\"bytes\":256")
OTHER_MODEL(tensor_kind, "tensor 1 has kind 2, in the graph 0", .text = chain,
	    .part = "\"kind\":\"activation\"", .by = "\"kind\":\"output\"")
OTHER_MODEL(tensor_alignment, "tensor 1 has alignment 64, in the graph 1", .text = chain,
	    .part = "\"kind\":\"activation\"", .by = "\"kind\":\"activation\",\"align\":64")
OTHER_MODEL(
	tensor_alias, "tensor 2 has alias flag 1, in the graph 0", .text = loop,
	.part = "\"name\":\"b\",\"shape\":[1,4],\"bytes\":4,\"kind\":\"activation\"",
	.by = "\"name\":\"b\",\"shape\":[1,4],\"bytes\":4,\"kind\":\"activation\",\"alias_of\":4")
OTHER_MODEL(operators_less, "it has 3 operators, the graph 4 steps; it has to be whole operators",
	    .text = chain, .part = OP_S OP_R "[3,1]", .by = OP_R "[1,1]")
OTHER_MODEL(steps_more, "it has 4 operators, the graph 8 steps; it has to be whole operators",
	    .text = chain, .tiling = &two_bands)
OTHER_MODEL(tensors_of_patches, "it has 7 tensors, the graph 19", .text = chain,
	    .tiling = &in_patches)
OTHER_MODEL(tensors_of_sums, "it has 7 tensors, the graph 9", .text = chain, .tiling = &in_sums)
OTHER_MODEL(step_flags, "step 0 has flags 0, in the graph 1", .text = chain, .tiling = &all_rows)
OTHER_MODEL(access_count, "step 3 has access count 2, in the graph 3", .text = chain,
	    .part = "\"inputs\":[3,1]", .by = "\"inputs\":[3]")
OTHER_MODEL(
	access_of_another,
	"step 3: it accesses tensor 2, the graph tensor 1, or another part of it, or in another "
	"way",
	.text = chain, .part = "\"inputs\":[3,1]", .by = "\"inputs\":[3,2]")
OTHER_MODEL(
	access_in_place,
	"step 3: it accesses tensor 4, the graph tensor 4, or another part of it, or in another "
	"way",
	.text = chain, .part = "\"inplace\":true", .by = "\"inplace\":false")
OTHER_MODEL(block_steps, "block 0 has step count 2, in the graph 1", .text = loop,
	    .part = "\"blocks\":[1,1,1]", .by = "\"blocks\":[2,0,1]")
OTHER_MODEL(edges_less, "it has 3 blocks, 3 edges and 1 carries, the graph 3, 4 and 2",
	    .text = loop, .part = "{\"from\":1,\"to\":1,\"carries\":[{\"from\":2,\"to\":3}]},",
	    .by = "")
OTHER_MODEL(edge_origin, "edge 1 has origin 0, in the graph 1", .text = loop,
	    .part = "{\"from\":1,\"to\":1,\"carries\":[{\"from\":2,\"to\":3}]}",
	    .by = "{\"from\":0,\"to\":2,\"carries\":[{\"from\":1,\"to\":4}]}")
OTHER_MODEL(edge_target, "edge 1 has target 2, in the graph 1", .text = loop,
	    .part = "{\"from\":1,\"to\":1,\"carries\":[{\"from\":2,\"to\":3}]}",
	    .by = "{\"from\":1,\"to\":2,\"carries\":[{\"from\":2,\"to\":4}]}")
OTHER_MODEL(edge_carries, "edge 1 has carry count 2, in the graph 1", .text = loop,
	    .graph_part = "{\"from\":1,\"to\":2}",
	    .graph_by = "{\"from\":1,\"to\":2,\"carries\":[{\"from\":2,\"to\":4}]}",
	    .part = "[{\"from\":2,\"to\":3}]",
	    .by = "[{\"from\":2,\"to\":3},{\"from\":2,\"to\":4}]")
OTHER_MODEL(carry_origin, "carry 0 has origin 0, in the graph 1", .text = loop,
	    .part = "{\"from\":1,\"to\":3}", .by = "{\"from\":0,\"to\":3}")
OTHER_MODEL(carry_target, "carry 1 has target 4, in the graph 3", .text = loop, .graph_part = NULL,
	    .part = "[{\"from\":2,\"to\":3}]", .by = "[{\"from\":2,\"to\":4}]")

/* A worker that answers with a graph where nobody has asked for one. */
static int plan_unasked(const struct worker_input *input, struct worker_reply *reply)
{
	reply->data = calloc(1, 64);
	reply->size = 64;
	reply->head = 32;
	return 0;
}

FAILURE(graph_unasked, .plan = "plan_unasked", .status = EIO,
	.message = "the planning process answered with a graph of its own")

const struct worker_job replacements[] = {
	{ "plan_unasked", plan_unasked },
	{ 0 },
};
