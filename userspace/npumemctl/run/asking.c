/* SPDX-License-Identifier: MIT */
#include "asking.h"

#include <stdlib.h>
#include <string.h>

enum {
	OPTION_BUDGET = 0x400,
	OPTION_SHORT_BUDGET,
	OPTION_FIXED_SCHEDULE,
	OPTION_RECOMPUTE,
	OPTION_BANKS,
};

static const char *const objectives[] = { "arena", "traffic", "peak", NULL };
static const char *const schedules[] = { "default", "mpmf", "tiled", NULL };

/* By the place of their names in budget_names[]. */
static const char *const copyings[] = { "needed", "smaller", NULL };
static const uint32_t budgets[] = { NPUMEM_BUDGET_NEEDED, NPUMEM_BUDGET_PEAK,
				    NPUMEM_BUDGET_MIDDLE };

#define FIELD(name) offsetof(struct asking, name)

static const struct command_option options[] = {
	{ .doc = "Of the plan that npumemd is asked for:" },
	{ "planner", 0, VALUE_TEXT, "NAME", "Planner that npumemd is to use",
	  FIELD(request.planner), .list = npuplan_planner_name },
	{ "arena-budget", OPTION_BUDGET, VALUE_OTHER, "BYTES",
	  "Largest arena that npumemd may plan. Planner cosma also takes %s (what the largest step "
	  "needs), %s (the least peak) and %s (their mean)",
	  .choices = budget_names },
	{ "budget", OPTION_SHORT_BUDGET, .flags = OPTION_ALIAS },
	{ "objective", 0, VALUE_CHOICE, "WHAT",
	  "What npumemd is to keep small: the \"%s\" (default), or, within the budget, the \"%s\" "
	  "with host memory, or the \"%s\" of any order of steps",
	  FIELD(objective), 1, 0, objectives },
	{ "schedule", 0, VALUE_CHOICE, "ORDER",
	  "Order of the steps, instead of the planner's choice: \"%s\", the graph's, \"%s\", of "
	  "least peak footprint, or \"%s\", in which the tiles of operators take turns",
	  FIELD(request.schedule), NPUMEM_SCHEDULE_GIVEN, 0, schedules },
	{ "fixed-schedule", OPTION_FIXED_SCHEDULE, VALUE_OTHER, NULL,
	  "Take the graph's order of the steps: --schedule default" },
	{ "align", 0, VALUE_ALIGNMENT, "BYTES",
	  "Alignment of every offset, a power of two up to 64KiB", FIELD(request.alignment) },
	{ "work", 0, VALUE_NUMBER, "UNITS",
	  "Take the best that was found in so many units of work: repeatable",
	  FIELD(request.work_limit), 1, UINT64_MAX - 1 },
	{ "memory", 0, VALUE_SIZE, "BYTES",
	  "Take the best that was found before the search holds more bytes",
	  FIELD(request.memory_limit) },
	{ "recompute", OPTION_RECOMPUTE, VALUE_OTHER, "N",
	  "Run operators again (N at most) where that saves traffic; planner cosma",
	  .flags = OPTION_ARG_OPTIONAL },
	{ "banks", OPTION_BANKS, VALUE_OTHER, "BYTES@MBPS,BYTES@MBPS",
	  "The arena lies in two banks, of these sizes and bandwidths; planner cosma" },
	{ "traffic-factor", 0, VALUE_FACTOR, "FACTOR",
	  "Order tiles so that weights are fetched at most so many times over; planner "
	  "tile-scheduled",
	  FIELD(request.traffic_factor) },
	{ "weights-on-chip", 0, VALUE_SIZE, "BYTES",
	  "Weights that fit into so many bytes stay on chip; planner tile-scheduled",
	  FIELD(request.weights_on_chip) },
	{ "carry-copies", 0, VALUE_CHOICE, "WHEN",
	  "npumemd copies values that loops carry from one iteration to the next, where there would "
	  "be no plan otherwise (\"%s\"), or also where the arena is \"%s\" for it",
	  FIELD(request.carry_copies), NPUMEM_COPIES_NEEDED, 0, copyings },
	{ "instances", 0, VALUE_COUNT, "N",
	  "Copy them rather than have more than N instances of blocks (default 4096): with "
	  "--carry-copies",
	  FIELD(request.instances), 1, 4096 },
	{ "daemon-cuts", 0, VALUE_FLAG, NULL,
	  "npumemd cuts the graph as it is said, by the model that is attached to it, and not "
	  "npumemctl",
	  FIELD(cuts) },
	{ 0 },
};

static void parse_budget(struct asking *asking, const struct argp_state *state, const char *option,
			 const char *text)
{
	asking->request.budget = 0;
	asking->request.arena_budget = 0;
	for (size_t i = 0; budget_names[i]; i++)
		if (!strcmp(text, budget_names[i]))
			asking->request.budget = budgets[i];
	if (!asking->request.budget)
		asking->request.arena_budget = option_size(state, option, text);
}

static void parse_banks(struct asking *asking, const struct argp_state *state, const char *text)
{
	struct npuplan_bank banks[NPUPLAN_BANKS];

	option_banks(state, text, banks);
	for (int i = 0; i < NPUPLAN_BANKS; i++)
		asking->banks[i] = (struct npumem_option_bank){
			.size = banks[i].size,
			.bandwidth = banks[i].bandwidth,
		};
	asking->request.banks = asking->banks;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct asking *asking = state->input;

	switch (key) {
	case OPTION_BUDGET:
		parse_budget(asking, state, "--arena-budget", arg);
		return 0;
	case OPTION_SHORT_BUDGET:
		parse_budget(asking, state, "--budget", arg);
		return 0;
	case OPTION_FIXED_SCHEDULE:
		asking->request.schedule = NPUMEM_SCHEDULE_GIVEN;
		return 0;
	case OPTION_RECOMPUTE:
		asking->request.recompute = 1;
		if (arg)
			asking->request.recompute_limit =
				(uint32_t)option_number(state, "--recompute", arg, 1, UINT32_MAX);
		return 0;
	case OPTION_BANKS:
		parse_banks(asking, state, arg);
		return 0;
	case ARGP_KEY_END:
		if (asking->request.planner && !*asking->request.planner)
			usage_error(state, "--planner: \"\" is no planner");
		if (asking->objective)
			asking->request.objective = asking->objective - 1;
		if (asking->cuts && asking->request.recompute)
			usage_error(state, "--recompute is of whole operators, which npumemd cuts "
					   "anyway: leave out --daemon-cuts");
		if (asking->request.carry_copies && asking->request.recompute)
			usage_error(state, "--carry-copies and --recompute exclude each other");
		if (asking->request.instances && !asking->request.carry_copies)
			usage_error(state,
				    "--instances has values copied: --carry-copies is needed");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct command asking_command = { .options = options, .parse = parse };

const char *asking_said(const struct asking *asking)
{
	const struct npumem_request *request = &asking->request;
	const struct {
		bool said;
		const char *option;
	} all[] = {
		{ request->planner, "--planner" },
		{ request->arena_budget || request->budget, "--arena-budget" },
		{ asking->objective, "--objective" },
		{ request->schedule, "--schedule" },
		{ request->alignment, "--align" },
		{ request->work_limit, "--work" },
		{ request->memory_limit, "--memory" },
		{ request->recompute, "--recompute" },
		{ request->banks, "--banks" },
		{ request->traffic_factor, "--traffic-factor" },
		{ request->weights_on_chip, "--weights-on-chip" },
		{ request->carry_copies, "--carry-copies" },
		{ asking->cuts, "--daemon-cuts" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i].said)
			return all[i].option;
	return NULL;
}

const char *asking_cuts(const struct asking *asking)
{
	return asking->cuts		    ? "--daemon-cuts" :
	       asking->request.recompute    ? "--recompute" :
	       asking->request.carry_copies ? "--carry-copies" :
					      NULL;
}

/* --------------------------------------------------------------------- model */

static int by_id(const void *a, const void *b)
{
	const struct npumem_option_tile *left = a, *right = b;

	return left->op < right->op ? -1 : left->op > right->op;
}

/* How npumemd is to cut: operators by their ids. */
static bool ask_tiles(struct asking *asking, const struct npuplan_graph *graph,
		      const struct npuplan_tiling *tiling)
{
	struct npumem_request *request = &asking->request;

	request->bands = tiling->bands;
	request->rows = tiling->rows;
	request->columns = tiling->columns;
	request->on_chip = tiling->onchip;
	request->double_buffer = tiling->double_buffer;
	if (!tiling->op_count)
		return true;
	asking->tiles = calloc(tiling->op_count, sizeof(*asking->tiles));
	if (!asking->tiles)
		return false;
	for (uint32_t i = 0; i < tiling->op_count; i++)
		asking->tiles[i] = (struct npumem_option_tile){
			.op = (uint64_t)graph->ops[tiling->ops[i].op].id,
			.rows = tiling->ops[i].rows,
			.channels = tiling->ops[i].channels,
			.order = tiling->ops[i].order,
			.columns = tiling->ops[i].columns,
		};
	qsort(asking->tiles, tiling->op_count, sizeof(*asking->tiles), by_id);
	request->tiles = asking->tiles;
	request->tile_count = tiling->op_count;
	return true;
}

/* Whole operators, with the model attached. */
static bool attach(struct model *model, const struct npuplan_tiling *whole)
{
	struct npuplan_error error = { 0 };
	char *text = NULL;
	int err;

	/* As it was read: its tensors have no layout yet. */
	err = npuimport_graph_json_write(model->graph, &text, &error);
	if (!err)
		err = npuplan_graph_tile(model->graph, whole, &error);
	if (!err)
		err = npuplan_graph_write_model(model->graph, text, strlen(text), &model->blob,
						&model->blob_size, &error);
	free(text);
	if (err)
		failure(model->path, "%s", error.text);
	return !err;
}

bool asking_model(struct asking *asking, struct model *model, const struct tiling *tiling)
{
	struct npuplan_tiling said = { 0 };
	bool done;

	if (!asking_cuts(asking))
		return model_tile(model, tiling);
	if (!model->graph->op_count || model->graph->step_count) {
		failure(model->path, "a graph blob is cut into steps already: leave out %s",
			asking_cuts(asking));
		return false;
	}
	if (asking->request.recompute && !recompute_possible(model, tiling))
		return false;
	if (!tiling_of(tiling, model->path, model->graph, NULL, &said))
		return false;
	asking->request.layout = said.layout;
	done = ask_tiles(asking, model->graph, &said) &&
	       attach(model, &(struct npuplan_tiling){ .layout = said.layout,
						       .with_parameters = said.with_parameters,
						       .inputs = said.inputs });
	npuplan_tiling_fini(&said);
	return done;
}

void asking_fini(struct asking *asking)
{
	free(asking->tiles);
	asking->tiles = NULL;
	asking->request.tiles = NULL;
}
