/* SPDX-License-Identifier: MIT */
/* Options of npumemctl plan, and which of them go together. */
#include <stdlib.h>
#include <string.h>

#include "plan.h"

enum {
	OPTION_BUDGET = 0x200,
	OPTION_LIST,
	OPTION_FIXED_SCHEDULE,
	OPTION_RECOMPUTE,
	OPTION_BANKS,
	OPTION_SHORT_BUDGET,
	OPTION_CORES,
};

/* The largest numbers that the library takes. */
#define MAX_RATE    1000000000000
#define MAX_LATENCY 1000000000

static const char *const objectives[] = { "traffic", "peak", "time", NULL };
static const char *const schedules[] = { "default", "mpmf", "tiled", NULL };
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

#define FIELD(name) offsetof(struct plan_arguments, name)

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
	  "Order of the steps, instead of the planner's choice: \"%s\", the graph's, \"%s\", of "
	  "least peak footprint, or \"%s\", in which the tiles of operators take turns",
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
	{ "break", 0, VALUE_TEXTS, "NAME[,NAME...]",
	  "Divide the order of the steps at these operators, or those that write these tensors: "
	  "all that one depends on runs before it, all else behind it. Again for more",
	  FIELD(breaks) },
	{ "cores", OPTION_CORES, VALUE_OTHER, "NAME=BYTES[,NAME=BYTES...]",
	  "The arena is the scratchpads of several cores, one behind the other (a=256KiB,b=1MiB). "
	  "What one core makes and another reads is copied. Instead of a budget, with --assign" },
	{ "assign", 0, VALUE_TEXTS, "OP=CORE",
	  "This core runs this operator (name or id; \"*\": all others). Or a file with such "
	  "lines. Again for more",
	  FIELD(assign) },
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
static bool is_own_engine(const struct plan_arguments *args)
{
	const char *planner = args->plan.planner;
	const char *name = planner ? npuplan_engine_planner(planner, args->engine) : NULL;

	return name && !strcmp(name, planner);
}

/*
 * Options that exclude each other, or that only one planner has, are refused; the first such is
 * said.
 */
static void check_together(const struct argp_state *state, const struct plan_arguments *args)
{
	const struct npuplan_options *plan = &args->plan;
	uint32_t traits = npuplan_planner_traits(plan->planner);
	bool moves = traits & NPUPLAN_PLANNER_MOVES, tiles = traits & NPUPLAN_PLANNER_TILESCHED;
	bool banks = plan->cosma && plan->cosma->banks, cores = args->core_count;
	bool divides = cores || args->breaks.count;
	const char *divided = cores ? "--cores" : "--break";
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
		{ divides && !(traits & NPUPLAN_PLANNER_CORES),
		  { divided, " needs --planner cosma" } },
		{ divides && args->engine && !is_own_engine(args),
		  { divided, " is of engine search, not of engine ", args->engine } },
		{ cores && args->breaks.count, { "--cores and --break exclude each other" } },
		{ divides && banks, { divided, " and --banks exclude each other" } },
		{ divides && args->recompute, { divided, " and --recompute exclude each other" } },
		{ divides && args->lp, { divided, " is of the search: not with --emit-lp" } },
		{ divides && args->tiling.concat == CONCAT_BEST,
		  { divided, " is of one graph: not with --concat best" } },
		{ args->breaks.count && plan->schedule,
		  { "--break divides an order that the planner chooses: not with --schedule" } },
		{ cores && args->budget,
		  { "--cores and ", args->budget_option, " exclude each other" } },
		{ cores && (timed || plan->objective == NPUPLAN_OBJECTIVE_PEAK),
		  { "--cores are planned for the least traffic, not for --objective ",
		    timed ? "time" : "peak" } },
		{ cores && plan->schedule > NPUPLAN_SCHEDULE_GIVEN,
		  { "--cores are planned in a free order, or the graph's: not with --schedule ",
		    plan->schedule ? schedules[plan->schedule - 1] : NULL } },
		{ cores && !args->assign.count,
		  { "--cores: which one runs which operator? --assign is needed" } },
		{ args->assign.count && !cores, { "--assign needs --cores" } },
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
static void check_files(const struct argp_state *state, const struct plan_arguments *args)
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
static void check_stdout(const struct argp_state *state, const struct plan_arguments *args)
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
	struct plan_arguments *args = state->input;

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
	case OPTION_CORES:
		args->core_count = option_cores(state, arg, args->cores);
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
		if (args->breaks.count)
			args->plan.cosma = &args->cosma;
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

const struct command plan_command = {
	.options = options,
	.parse = parse,
	.args_doc = "GRAPH",
	.doc = "Plan where every tensor of a model lives, and when. No device is needed.\n"
	       "GRAPH is a TFLite or ONNX model, graph JSON or a graph blob; \"-\" is standard input. The "
	       "plan is checked by the kernel's verifier before it is written.",
	.shared = { SHARED_WITH_MODELS(struct plan_arguments),
		    { &limits_command, offsetof(struct plan_arguments, limits) } },
};
