/* SPDX-License-Identifier: MIT */
#include "npumemctl.h"

enum {
	OPTION_GRAPH = 0x200,
	OPTION_COLUMNS,
};

struct arguments {
	struct tiling tiling;
	const char *graph;
	const char *plan;
	unsigned int columns;
};

static const struct argp_option options[] = {
	{ "graph", OPTION_GRAPH, "FILE", 0, "The graph that the plan is of (needed)", 0 },
	{ "columns", OPTION_COLUMNS, "N", 0, "Draw the arena with N characters (80)", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->tiling;
		return 0;
	case OPTION_GRAPH:
		args->graph = arg;
		return 0;
	case OPTION_COLUMNS:
		args->columns = (unsigned int)option_number(state, "--columns", arg, 1, 512);
		return 0;
	case ARGP_KEY_ARG:
		if (args->plan)
			argp_error(state, "only one PLAN can be shown");
		args->plan = arg;
		return 0;
	case ARGP_KEY_END:
		if (!args->plan)
			argp_error(state, "which PLAN?");
		if (!args->graph)
			argp_error(state, "--graph is needed: a plan alone has no names and sizes");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = { { &tiling_argp, 0, NULL, 0 }, { 0 } };

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "PLAN",
	.doc = "Draw a plan: one line a step, one character for a part of the arena, a letter or "
	       "digit for each tensor that lives there.",
	.children = children,
};

int cmd_show(int argc, char **argv)
{
	struct arguments args = { .columns = 80 };
	struct plan_file file = { 0 };
	struct model model = { 0 };
	int status = EXIT_FAILED;

	argp_parse(&argp, argc, argv, 0, NULL, &args);
	if (model_with_plan(&model, args.graph, &file, args.plan, &args.tiling)) {
		int err = npuplan_plan_print(model.graph, file.plan, args.columns, stdout);

		status = err ? failure(file.path, "cannot be drawn: it does not fit its graph") :
			       EXIT_OK;
	}
	plan_file_release(&file);
	model_release(&model);
	return status;
}
