/* SPDX-License-Identifier: MIT */
/* npumemctl plan: a model is planned without a device, and the plan written and reported. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "report/report.h"
#include "cli/progress.h"

enum {
	OPTION_BUDGET = 0x200,
	OPTION_LIST,
	OPTION_FIXED_SCHEDULE,
	OPTION_RECOMPUTE,
	OPTION_BANKS,
	OPTION_SHORT_BUDGET,
};

#define COPY_NEVER (NPUPLAN_COPYING_SMALLER + 1)

struct arguments {
	struct tiling tiling;
	struct model_reading reading;
	struct limits limits;
	struct npuplan_options plan;
	struct npuplan_cosma_options cosma;
	struct npuplan_tilesched_options tilesched;
	const char *graph;
	const char *output;
	const char *blob;
	const char *graph_blob;
	const char *engine;
	const char *budget;
	const char *budget_option; /* as it was typed */
	const char *tflite;
	const char *lp;
	struct option_texts external;
	struct option_texts fixed;
	struct npuplan_bank banks[NPUPLAN_BANKS];
	struct npuplan_machine machine;
	struct npuplan_recompute recomputed;
	struct npuplan_carry_copies copied;
	uint32_t copying; /* enum npuplan_copying, or COPY_NEVER */
	uint32_t instances;
	uint32_t recompute_limit;
	bool recompute;
	bool pareto;
	bool external_io;
	bool json;
	bool report;
	bool tiles;
	bool concats;
};

/* The largest numbers that the library takes. */
#define MAX_RATE    1000000000000
#define MAX_LATENCY 1000000000

static const char *const objectives[] = { "traffic", "peak", "time", NULL };
static const char *const schedules[] = { "default", "mpmf", NULL };
static const char *const copyings[] = { "needed", "smaller", "never", NULL };

/* "taa" has "paper"; "cosma" has "search" (its own), "ilp" ... */
static char *explain_engines(void)
{
	const char *planner, *engine, *name;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		abort();
	for (unsigned int p = 0; (planner = npuplan_planner_name(p)); p++) {
		unsigned int found = 0;

		for (unsigned int e = 0; (engine = npuplan_engine_name(e)); e++) {
			name = npuplan_engine_planner(planner, engine);
			if (!name)
				continue;
			if (!found++)
				fprintf(out, "%s\"%s\" has ", ftell(out) ? "; " : "", planner);
			else
				fputs(", ", out);
			fprintf(out, "\"%s\"%s", engine, strcmp(name, planner) ? "" : " (its own)");
		}
	}
	if (fclose(out))
		abort();
	return text;
}

#define FIELD(name) offsetof(struct arguments, name)

static const struct command_option options[] = {
	{ "planner", 0, VALUE_TEXT, "NAME", "Planner to use (--list-planners)", FIELD(plan.planner),
	  .list = npuplan_planner_name },
	{ "engine", 0, VALUE_TEXT, "NAME",
	  "Engine of the planner: %s; these are planners by the name of both: \"taa-paper\" "
	  "(--list-planners=all)",
	  FIELD(engine), .list = npuplan_engine_name, .explain = explain_engines },
	{ "list-planners", OPTION_LIST, VALUE_OTHER, "all",
	  "Print the planners' names and what each is for, and end; \"all\": with those that do as "
	  "publications say, to compare with",
	  .flags = OPTION_ARG_OPTIONAL },
	{ "arena-budget", OPTION_BUDGET, VALUE_OTHER, "BYTES",
	  "Fail, with numbers, if the arena would be larger (1572864, 1536KiB, 1.5MiB). Planner "
	  "cosma spills what does not fit, and also takes %s (what the largest step needs), %s "
	  "(the least peak) and %s (their mean)",
	  .choices = budget_names },
	{ "budget", OPTION_SHORT_BUDGET, .flags = OPTION_ALIAS },
	{ "schedule", 0, VALUE_CHOICE, "ORDER",
	  "Order of the steps, instead of the planner's choice: \"%s\", the graph's, or "
	  "\"%s\", of least peak footprint",
	  FIELD(plan.schedule), NPUPLAN_SCHEDULE_GIVEN, 0, schedules },
	{ "fixed-schedule", OPTION_FIXED_SCHEDULE, VALUE_OTHER, NULL,
	  "Take the graph's order of the steps: --schedule default" },
	{ "carry-copies", 0, VALUE_CHOICE, "WHEN",
	  "Copy values that loops carry from one iteration to the next where there would be no "
	  "plan otherwise (\"%s\", default), also where the arena is \"%s\" for it, or \"%s\"",
	  FIELD(copying), NPUPLAN_COPYING_NEEDED, 0, copyings },
	{ "instances", 0, VALUE_COUNT, "N",
	  "Copy them rather than have more than N instances of blocks (default 4096)",
	  FIELD(instances), 1, 4096 },
	{ "external", 0, VALUE_TEXTS, "NAME",
	  "Leave this tensor (name or id) out of the arena: a buffer is bound at run time. Again "
	  "for more tensors",
	  FIELD(external) },
	{ "external-io", 0, VALUE_FLAG, NULL,
	  "Leave all inputs and outputs of the model out of the arena: buffers are bound at run "
	  "time",
	  FIELD(external_io) },
	{ "fix", 0, VALUE_TEXTS, "NAME=OFFSET", "Place this tensor at this offset of the arena",
	  FIELD(fixed) },
	{ "report", 0, VALUE_FLAG, NULL,
	  "Say what each tensor of the peak would save if it were external", FIELD(report) },
	{ "tiles", 0, VALUE_FLAG, NULL,
	  "Say how each operator is cut, and what it has on chip and moves", FIELD(tiles) },
	{ "concats", 0, VALUE_FLAG, NULL,
	  "Say of each input of a concat, and of each output of a split or a slice, where it is "
	  "placed, or why it is copied: with --concat",
	  FIELD(concats) },
	{ "emit-tflite", 0, VALUE_TEXT, "FILE",
	  "Write the TFLite model with the plan for TensorFlow Lite Micro in it. Its variables, scratch "
	  "buffers and own records come on top of the plan's arena",
	  FIELD(tflite) },
	{ "output", 'o', VALUE_TEXT, "FILE", "Write plan JSON to FILE (\"-\": standard output)",
	  FIELD(output) },
	{ "blob", 0, VALUE_TEXT, "FILE", "Write the plan as a blob for the driver", FIELD(blob) },
	{ "graph-blob", 0, VALUE_TEXT, "FILE",
	  "Write the graph, cut into steps, as a blob for the driver", FIELD(graph_blob) },
	{ "json", 'j', VALUE_FLAG, NULL, "Print a summary as one JSON object", FIELD(json) },
	{ .doc = "How long the plan takes, transfers beside steps:" },
	{ "compute", 0, VALUE_NUMBER, "MMACS",
	  "A step computes so many million multiply-accumulates a second", FIELD(machine.compute),
	  1, MAX_RATE },
	{ "chip-bandwidth", 0, VALUE_NUMBER, "MBPS",
	  "A step reads and writes so many million bytes a second", FIELD(machine.access), 1,
	  MAX_RATE },
	{ "copy-bandwidth", 0, VALUE_NUMBER, "MBPS",
	  "So many million bytes a second go between arena and host memory. With --compute, "
	  "--chip-bandwidth or both, of which a step takes the longer time",
	  FIELD(machine.copy), 1, MAX_RATE },
	{ "copy-latency", 0, VALUE_NUMBER, "NS", "Each transfer takes so many nanoseconds besides",
	  FIELD(machine.latency), 0, MAX_LATENCY },
	{ .doc = "Planner cosma:" },
	{ "objective", 0, VALUE_CHOICE, "WHAT",
	  "Least \"%s\" within the budget (default), least \"%s\" without any, or least \"%s\" "
	  "within it, by the rates above: what is moved is moved early",
	  FIELD(plan.objective), NPUPLAN_OBJECTIVE_TRAFFIC, 0, objectives },
	{ "recompute", OPTION_RECOMPUTE, VALUE_OTHER, "N",
	  "Run operators again (N at most) where that saves traffic",
	  .flags = OPTION_ARG_OPTIONAL },
	{ "banks", OPTION_BANKS, VALUE_OTHER, "BYTES@MBPS,BYTES@MBPS",
	  "The arena lies in two banks, of these sizes and bandwidths (256KiB@8000). "
	  "No tensor lies in both; the faster one is accessed most. Instead of a budget" },
	{ "emit-lp", 0, VALUE_TEXT, "FILE",
	  "Make no plan: write the integer linear program in the LP format", FIELD(lp) },
	{ .doc = "Planner tile-scheduled:" },
	{ "pareto", 0, VALUE_FLAG, NULL,
	  "Make no plan: list what orders of tiles there are, peak against traffic",
	  FIELD(pareto) },
	{ "traffic-factor", 0, VALUE_FACTOR, "FACTOR",
	  "Order tiles so that weights are fetched at most so many times over (1 or more); the "
	  "default is the lowest peak",
	  FIELD(tilesched.traffic_factor) },
	{ "weights-on-chip", 0, VALUE_SIZE, "BYTES",
	  "Weights that fit into so many bytes (256KiB) stay on chip while operators take turns",
	  FIELD(tilesched.weights_on_chip) },
	{ 0 },
};

/* Whether the engine that was asked for is what the planner does by itself. */
static bool is_own_engine(const struct arguments *args)
{
	const char *planner = args->plan.planner;
	const char *name = planner ? npuplan_engine_planner(planner, args->engine) : NULL;

	return name && !strcmp(name, planner);
}

/*
 * Options that exclude each other, or that only one planner has, are refused; the first such is
 * said.
 */
static void check_together(const struct argp_state *state, const struct arguments *args)
{
	const struct npuplan_options *plan = &args->plan;
	uint32_t traits = npuplan_planner_traits(plan->planner);
	bool moves = traits & NPUPLAN_PLANNER_MOVES, tiles = traits & NPUPLAN_PLANNER_TILESCHED;
	bool banks = plan->cosma && plan->cosma->banks;
	bool lacks_own = (args->recompute && !(traits & NPUPLAN_PLANNER_RECOMPUTES)) ||
			 (banks && !(traits & NPUPLAN_PLANNER_BANKS));
	const struct npuplan_machine *machine = &args->machine;
	bool steps = machine->compute || machine->access;
	bool timed = plan->objective == NPUPLAN_OBJECTIVE_TIME;
	bool tiles_own = args->pareto || plan->tilesched;
	bool lists = tiles && args->pareto;
	bool writes = args->output || args->blob || args->graph_blob || args->tflite;
	bool limited = plan->deadline_seconds || plan->work_limit || plan->memory_limit;
	bool named = args->budget && budget_is_name(args->budget);
	bool joins = args->tiling.concat >= CONCAT_JOIN;
	const struct {
		bool wrong;
		const char *said[4];
	} rules[] = {
		{ args->engine && !plan->planner,
		  { "--engine is of a planner: --planner is needed" } },
		{ named && !moves,
		  { args->budget_option, " ", args->budget,
		    " is planner cosma's; others take bytes" } },
		{ args->lp && !moves, { "--emit-lp is planner cosma's" } },
		{ args->lp && (writes || args->json), { "--emit-lp makes no plan to write" } },
		/* But operators that run again, and the least peak, are searched for. */
		{ args->lp && limited && !args->recompute && !named,
		  { "--emit-lp searches for nothing that --deadline, --work or --memory could "
		    "end" } },
		{ !args->graph, { "which GRAPH?" } },
		{ args->instances && args->copying == COPY_NEVER,
		  { "--instances has values copied, --carry-copies never forbids it" } },
		{ args->copying == NPUPLAN_COPYING_SMALLER && (lists || args->lp || named),
		  { "--carry-copies smaller compares plans: not with --pareto, --emit-lp or a "
		    "budget by name" } },
		{ lacks_own, { "--recompute and --banks need --planner cosma" } },
		{ banks && args->budget,
		  { "--banks and ", args->budget_option, " exclude each other" } },
		{ (args->recompute || banks) && args->engine && !is_own_engine(args),
		  { "--recompute and --banks are of engine search, not of engine ",
		    args->engine } },
		{ machine->copy && !steps,
		  { "--copy-bandwidth says how long transfers take: how long do steps? --compute or "
		    "--chip-bandwidth is needed" } },
		{ steps && !machine->copy,
		  { machine->compute ? "--compute" : "--chip-bandwidth",
		    " says how long steps take: how long do transfers? --copy-bandwidth is "
		    "needed" } },
		{ machine->latency && !machine->copy, { "--copy-latency needs --copy-bandwidth" } },
		{ timed && !machine->copy,
		  { "--objective time needs --copy-bandwidth, and --compute or "
		    "--chip-bandwidth" } },
		{ timed && banks,
		  { "--banks are planned for the least traffic, not for --objective time" } },
		{ timed && !args->budget,
		  { "--objective time needs a --budget within which to plan" } },
		{ args->recompute && !args->budget,
		  { "--recompute needs a --budget to save traffic in" } },
		{ tiles_own && !tiles,
		  { "--pareto, --traffic-factor and --weights-on-chip need --planner "
		    "tile-scheduled" } },
		{ tiles && plan->memory_limit,
		  { "--memory is of planners that search for addresses or orders; planner "
		    "tile-scheduled looks at what fits --work" } },
		{ tiles && args->tflite,
		  { "--emit-tflite: TensorFlow Lite Micro keeps the order of operators, "
		    "--planner tile-scheduled does not" } },
		{ joins && args->tflite,
		  { "--emit-tflite: TensorFlow Lite Micro's concats copy: leave out --concat" } },
		{ args->concats && !joins, { "--concats is of --concat join, fit and best" } },
		{ args->tiling.concat == CONCAT_BEST && (lists || args->lp || named),
		  { "--concat best compares plans: not with --pareto, --emit-lp or a budget by "
		    "name" } },
		{ lists && writes, { "--pareto makes no plan to write" } },
		{ lists && (args->budget || args->tilesched.traffic_factor || plan->schedule),
		  { "--pareto lists all orders: ", args->budget ? args->budget_option : "--budget",
		    ", --traffic-factor and --schedule choose one" } },
		{ lists && (args->engine || !(traits & NPUPLAN_PLANNER_FRONT)),
		  { "--pareto places nothing: an engine makes no difference" } },
		{ lists && (args->report || args->tiles),
		  { "--pareto makes no plan to report on" } },
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		const char *const *said = rules[i].said;

		if (rules[i].wrong)
			usage_error(state, "%s%s%s%s", said[0], said[1] ? said[1] : "",
				    said[2] ? said[2] : "", said[3] ? said[3] : "");
	}
}

/* Nothing is written over what is read, nor over what else is written. */
static void check_files(const struct argp_state *state, const struct arguments *args)
{
	const struct named_path inputs[] = { { "GRAPH", args->graph }, { 0 } };
	const struct named_path outputs[] = {
		{ "-o", args->output },
		{ "--blob", args->blob },
		{ "--graph-blob", args->graph_blob },
		{ "--emit-tflite", args->tflite },
		{ "--emit-lp", args->lp },
		{ 0 },
	};

	outputs_check(state, inputs, outputs);
}

/* Two things on standard output would be neither. */
static void check_stdout(const struct argp_state *state, const struct arguments *args)
{
	const struct {
		const char *option;
		bool wants;
	} all[] = {
		{ "-j", args->json },
		{ "-o -", is_stdout(args->output) },
		{ "--blob -", is_stdout(args->blob) },
		{ "--graph-blob -", is_stdout(args->graph_blob) },
		{ "--emit-tflite -", is_stdout(args->tflite) },
	};
	const char *first = NULL;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (all[i].wants && first)
			usage_error(state, "%s and %s both want standard output", first,
				    all[i].option);
		if (all[i].wants)
			first = all[i].option;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *args = state->input;

	switch (key) {
	case OPTION_BUDGET:
	case OPTION_SHORT_BUDGET:
		args->budget = arg;
		args->budget_option = key == OPTION_BUDGET ? "--arena-budget" : "--budget";
		if (!budget_is_name(arg))
			args->plan.arena_budget = option_size(state, args->budget_option, arg);
		return 0;
	case OPTION_LIST:
		list_algorithms(state, "--list-planners",
				&(struct algorithms){ npuplan_planner_name, npuplan_planner_purpose,
						      npuplan_planner_published },
				arg);
	case OPTION_FIXED_SCHEDULE:
		args->plan.schedule = NPUPLAN_SCHEDULE_GIVEN;
		return 0;
	case OPTION_RECOMPUTE:
		args->recompute = true;
		if (arg)
			args->recompute_limit =
				(uint32_t)option_number(state, "--recompute", arg, 1, UINT32_MAX);
		return 0;
	case OPTION_BANKS:
		option_banks(state, arg, args->banks);
		args->cosma.banks = args->banks;
		args->plan.cosma = &args->cosma;
		return 0;
	case ARGP_KEY_ARG:
		if (args->graph)
			usage_error(state, "only one GRAPH can be planned");
		args->graph = arg;
		return 0;
	case ARGP_KEY_END:
		args->plan.alignment = args->limits.alignment;
		args->plan.deadline_seconds = args->limits.deadline;
		args->plan.work_limit = args->limits.work;
		args->plan.memory_limit = args->limits.memory;
		if (args->plan.objective == NPUPLAN_OBJECTIVE_TIME) {
			args->cosma.machine = &args->machine;
			args->plan.cosma = &args->cosma;
		}
		if (args->tilesched.weights_on_chip || args->tilesched.traffic_factor)
			args->plan.tilesched = &args->tilesched;
		check_together(state, args);
		check_stdout(state, args);
		check_files(state, args);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct command command = {
	.options = options,
	.parse = parse,
	.args_doc = "GRAPH",
	.doc = "Plan where every tensor of a model lives, and when. No device is needed.\n"
	       "GRAPH is a TFLite or ONNX model, graph JSON or a graph blob; \"-\" is standard input. The "
	       "plan is checked by the kernel's verifier before it is written.",
	.shared = { SHARED_WITH_MODELS(struct arguments),
		    { &limits_command, offsetof(struct arguments, limits) } },
};

/* Into files beside those asked for. */
static int add_outputs(const struct arguments *args, const struct model *model,
		       const struct npuplan_plan *plan, struct outputs *outputs)
{
	struct npuplan_error error = { 0 };
	int status = EXIT_OK;
	char *text = NULL;
	void *blob = NULL;
	size_t size;

	if (args->output) {
		if (npuplan_plan_to_json(model->graph, plan, &text, &error))
			return failure(model->path, "%s", error.text);
		status = outputs_add(outputs, args->output, text, strlen(text));
		free(text);
	}
	if (status == EXIT_OK && args->blob) {
		if (npuplan_plan_write(plan, &blob, &size, &error))
			return failure(model->path, "%s", error.text);
		status = outputs_add(outputs, args->blob, blob, size);
		free(blob);
	}
	if (status == EXIT_OK && args->graph_blob)
		status = outputs_add(outputs, args->graph_blob, model->blob, model->blob_size);
	if (status == EXIT_OK && args->tflite)
		status = emit_tflite(model, plan, outputs, args->tflite);
	return status;
}

/* All files are written or none: a plan and the blob of another one would be worse than neither. */
static int write_outputs(const struct arguments *args, const struct model *model,
			 const struct npuplan_plan *plan)
{
	struct outputs outputs = { 0 };

	return outputs_end(&outputs, add_outputs(args, model, plan, &outputs));
}

/* --pareto: the orders of tiles that there are, instead of a plan. */
static int list_front(const struct arguments *args, const struct model *model)
{
	struct npuplan_error error = { 0 };
	struct npuplan_options asked = args->plan;
	struct npuplan_front *front;
	struct progress progress;
	const char *ended = NULL;
	int err, status = EXIT_OK;

	progress_begin(&progress, asked.deadline_seconds);
	asked.progress = progress_show;
	asked.context = &progress;
	err = npuplan_front_find(model->graph, &asked, &front, &error);
	progress_end(&progress);
	if (err)
		return failure(model->path, "%s", error.text);
	if (args->json) {
		json_t *object = front_report(model->graph, front);

		if (front->left_out)
			ended = progress_ended_by(false, front->seconds, asked.deadline_seconds,
						  front->work, asked.work_limit);
		json_object_set_new(object, "ended_by", ended ? json_string(ended) : json_null());
		json_object_set_new(object, "warnings", warnings_json(&model->warnings));
		status = print_json(object);
	} else {
		plain_names(model->graph);
		front_print(stdout, model->graph, front);
	}
	npuplan_front_free(front);
	return status == EXIT_OK && progress_interrupted() ? EXIT_INTERRUPTED : status;
}

/* Tensors are marked as the command line says, and as the files to be written need them. */
static bool mark_tensors(struct arguments *args, struct model *model)
{
	if (args->external_io && !mark_external_io(model))
		return false;
	for (size_t i = 0; i < args->external.count; i++)
		if (!mark_external(model, args->external.list[i]))
			return false;
	for (size_t i = 0; i < args->fixed.count; i++)
		if (!mark_fixed(model, args->fixed.list[i], args->tiling.asked.with_parameters))
			return false;
	return !args->tflite || emit_prepare(model, &args->tiling, &args->plan);
}

static int write_lp(const struct arguments *args, const struct model *model)
{
	struct npuplan_error error = { 0 };
	char *text;
	size_t size;
	int status;

	if (npuplan_lp_write(model->graph, &args->plan, &text, &size, &error))
		return failure(model->path, "%s", error.text);
	status = write_file(args->lp, text, size);
	free(text);
	return status;
}

/* Planner and engine by one name; NULL if memory ends. */
static char *engine_name(const struct arguments *args)
{
	const char *found = npuplan_engine_planner(args->plan.planner, args->engine);
	char *name;

	if (found)
		return strdup(found);
	/* There is none such, unless it is a planner's name: npuplan_plan() says so. */
	return asprintf(&name, "%s-%s", args->plan.planner, args->engine) < 0 ? NULL : name;
}

/* The limit, of those asked for, that ended the search; null: none did. */
static json_t *ended_by(const struct arguments *args, const struct npuplan_plan *plan)
{
	const char *ended = NULL;

	if (plan->info.status != NPUMEM_PLAN_STATUS_OPTIMAL)
		ended = progress_ended_by(plan->memory_ended, plan->seconds,
					  args->plan.deadline_seconds, plan->info.work,
					  args->plan.work_limit);
	return ended ? json_string(ended) : json_null();
}

/* Everything that goes to standard output, as JSON or text. */
static int report(const struct arguments *args, const struct model *model,
		  const struct npuplan_plan *plan)
{
	const struct asked asked = {
		.options = &args->plan,
		.budget = args->budget && budget_is_name(args->budget) ? args->budget : NULL,
		.savings = args->report,
	};
	const struct npuplan_machine *machine = args->machine.copy ? &args->machine : NULL;
	struct npuplan_timing timing = { 0 };
	json_t *object, *tiles = NULL;
	struct text text;

	if (machine && !plan_timing(model->path, model->graph, plan, machine, &timing))
		return EXIT_FAILED;
	if (args->json) {
		if (args->tiles) {
			tiles = tiling_table_json(model->path, model->graph);
			if (!tiles)
				return EXIT_FAILED;
		}
		object = plan_report(model->graph, plan, &asked);
		json_object_set_new(object, "ended_by", ended_by(args, plan));
		json_object_set_new(object, "warnings", warnings_json(&model->warnings));
		if (machine)
			json_object_set_new(object, "time", timing_json(&timing));
		if (tiles)
			json_object_set_new(object, "tiles", tiles);
		if (args->concats)
			json_object_set_new(object, "concats", concats_json(model->graph));
		if (args->recompute)
			json_object_set_new(object, "recompute",
					    recompute_json(model->graph, &args->recomputed));
		if (model->graph->tiling.carry_copy_count)
			json_object_set_new(object, "carry_copies",
					    copies_json(model->graph, &args->copied));
		return print_json(object);
	}
	/* What was written there is not to have text after it. */
	if (is_stdout(args->output) || is_stdout(args->blob) || is_stdout(args->graph_blob) ||
	    is_stdout(args->tflite))
		return EXIT_OK;
	plain_names(model->graph);
	text_begin(&text);
	if (args->tiles && !tiling_table_print(text.out, model->path, model->graph)) {
		text_drop(&text);
		return EXIT_FAILED;
	}
	plan_report_print(text.out, model->graph, plan, &asked);
	if (machine)
		timing_print(text.out, &timing);
	if (args->concats)
		concats_print(text.out, model->graph);
	if (args->tflite)
		emit_print(text.out, model, plan, args->tflite);
	if (args->recompute)
		recompute_print(text.out, model->graph, &args->recomputed);
	if (model->graph->tiling.carry_copy_count)
		copies_print(text.out, model->graph, &args->copied);
	return text_end(&text);
}

/* --recompute: the operators that run again are found, and put into the tiling. */
static bool recompute(struct arguments *args, struct model *model, int *status)
{
	struct npuplan_error error = { 0 };
	struct progress progress;
	int err;

	if (!recompute_possible(model, &args->tiling))
		return false;
	/* Budgets by name are those of the operators that there are. */
	if (budget_is_name(args->budget)) {
		if (!model_tile(model, &args->tiling) ||
		    !budget_find(model, args->budget, &args->plan))
			return false;
		model_untile(model);
	}
	progress_begin(&progress, args->plan.deadline_seconds);
	args->plan.progress = progress_show;
	args->plan.context = &progress;
	err = npuplan_recompute_find(model->graph, &args->tiling.asked, &args->plan,
				     args->recompute_limit, &args->recomputed, &error);
	progress_end(&progress);
	if (err) {
		*status = no_plan(model, &args->plan, &progress, err, &error, args->json);
		return false;
	}
	/* From here on the tiling's, and then the graph's. */
	args->tiling.asked.clones = args->recomputed.clones;
	args->tiling.asked.clone_count = args->recomputed.clone_count;
	args->recomputed.clones = NULL;
	args->recomputed.clone_count = 0;
	return true;
}

/* Which values that edges carry are copied is found, and put into the tiling. */
static bool copy_carries(struct arguments *args, struct model *model, int *status)
{
	bool asked = args->copying == NPUPLAN_COPYING_SMALLER;
	struct npuplan_error error = { 0 };
	struct npuplan_tiling tiling;
	struct progress progress;
	int err;

	if (args->copying == COPY_NEVER)
		return true;
	if (!copies_possible(model, &args->tiling, asked))
		return !asked || !model->graph->edge_count;
	if (!tiling_of(&args->tiling, model->path, model->graph, NULL, &tiling))
		return false;
	progress_begin(&progress, args->plan.deadline_seconds);
	args->plan.progress = progress_show;
	args->plan.context = &progress;
	err = npuplan_carry_copies_find(model->graph, &tiling, &args->plan, args->copying,
					args->instances, &args->copied, &error);
	progress_end(&progress);
	args->plan.progress = NULL;
	npuplan_tiling_fini(&tiling);
	/* If copies do not help, planning says what they do not help of; but of fewer instances. */
	if (err && ((err != -E2BIG && err != -EOPNOTSUPP) || args->instances)) {
		*status = no_plan(model, &args->plan, &progress, err, &error, args->json);
		return false;
	}
	/* From here on the tiling's, and then the graph's. */
	args->tiling.asked.carry_copies = args->copied.copies;
	args->tiling.asked.carry_copy_count = args->copied.copy_count;
	args->copied.copies = NULL;
	args->copied.copy_count = 0;
	return true;
}

/*
 * Whether one plan is better than another: it moves less between arena and host memory, or moves as
 * much in a smaller arena.
 */
static bool is_better(const struct npuplan_plan *a, const struct npuplan_plan *b)
{
	uint64_t moved = a->info.spill_bytes + a->info.fill_bytes;
	uint64_t other = b->info.spill_bytes + b->info.fill_bytes;

	return moved != other ? moved < other : a->info.arena_size < b->info.arena_size;
}

static int make_plan(struct arguments *args, const struct model *model, struct progress *progress,
		     struct npuplan_plan **plan, struct npuplan_error *error)
{
	int err;

	progress_begin(progress, args->plan.deadline_seconds);
	args->plan.progress = progress_show;
	args->plan.context = progress;
	err = npuplan_plan(model->graph, &args->plan, plan, error);
	progress_end(progress);
	/* What plan_report() plans once more is not shown. */
	args->plan.progress = NULL;
	return err;
}

/*
 * --concat best: the best of @joined, a plan of the graph as it is or NULL, and those of the other
 * ways to do concats; the graph is then the one that it is of. NULL: there is none at all, or the
 * graph is not tiled, which is said.
 */
static struct npuplan_plan *best_plan(struct arguments *args, struct model *model,
				      struct npuplan_plan *joined)
{
	static const uint32_t others[] = { NPUPLAN_CONCAT_FIT, NPUPLAN_CONCAT_COPY };
	uint32_t *concat = &args->tiling.asked.concat, chosen = *concat;
	struct npuplan_plan *best = joined;
	struct progress progress;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct npuplan_error error = { 0 };
		struct npuplan_plan *plan = NULL;

		model_untile(model);
		*concat = others[i];
		if (!model_tile(model, &args->tiling))
			goto out;
		if (make_plan(args, model, &progress, &plan, &error) ||
		    (best && !is_better(plan, best))) {
			npuplan_plan_free(plan);
			continue;
		}
		npuplan_plan_free(best);
		best = plan;
		chosen = others[i];
	}
	model_untile(model);
	*concat = chosen;
	if (model_tile(model, &args->tiling))
		return best;
out:
	npuplan_plan_free(best);
	return NULL;
}

int cmd_plan(int argc, char **argv)
{
	struct arguments args = {
		.tiling.takes_best = true,
		.cosma.size = sizeof(args.cosma),
		.machine.size = sizeof(args.machine),
		.tilesched.size = sizeof(args.tilesched),
	};
	struct npuplan_error error = { 0 };
	struct npuplan_plan *plan = NULL;
	struct model model = { 0 };
	char *engine = NULL;
	struct progress progress;
	int err, status = EXIT_FAILED;

	command_parse(&command, argc, argv, &args);
	if (args.engine) {
		engine = engine_name(&args);
		if (!engine)
			return failure(args.engine, "out of memory");
		args.plan.planner = engine;
	}
	tiling_for_planner(&args.tiling, args.plan.planner);
	if (!model_import(&model, args.graph, &args.reading) || !mark_tensors(&args, &model) ||
	    (args.recompute && !recompute(&args, &model, &status)) ||
	    !copy_carries(&args, &model, &status) || !model_tile(&model, &args.tiling))
		goto out;
	if (args.budget && budget_is_name(args.budget) && !args.recompute &&
	    !budget_find(&model, args.budget, &args.plan))
		goto out;
	if (args.lp) {
		status = write_lp(&args, &model);
		goto out;
	}
	if (args.pareto) {
		status = list_front(&args, &model);
		goto out;
	}
	err = make_plan(&args, &model, &progress, &plan, &error);
	if (args.tiling.concat == CONCAT_BEST && model.graph->joined_count) {
		plan = best_plan(&args, &model, plan);
		if (!plan && !err)
			goto out;
	}
	/* If there is no plan at all, why is said of the graph that was planned first. */
	if (!plan) {
		status = no_plan(&model, &args.plan, &progress, err, &error, args.json);
		goto out;
	}
	status = write_outputs(&args, &model, plan);
	if (status == EXIT_OK)
		status = report(&args, &model, plan);
	if (status == EXIT_OK && progress_interrupted() &&
	    plan->info.status != NPUMEM_PLAN_STATUS_OPTIMAL)
		status = EXIT_INTERRUPTED;
out:
	free(engine);
	npuplan_plan_free(plan);
	model_fini(&model);
	tiling_fini(&args.tiling);
	reading_fini(&args.reading);
	npuplan_recompute_fini(&args.recomputed);
	npuplan_carry_copies_fini(&args.copied);
	free(args.external.list);
	free(args.fixed.list);
	return status;
}
