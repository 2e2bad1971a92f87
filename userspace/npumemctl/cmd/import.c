/* SPDX-License-Identifier: MIT */
/* npumemctl import: a model of any format, read and written as graph JSON, with its figures. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "model/model.h"

struct arguments {
	struct model_reading reading;
	const char *file;
	const char *output;
	bool json;
};

static const struct command_option options[] = {
	{ "output", 'o', VALUE_TEXT, "FILE", "Write graph JSON to FILE (\"-\": standard output)",
	  offsetof(struct arguments, output) },
	{ "json", 'j', VALUE_FLAG, NULL, "Print what was read as one JSON object",
	  offsetof(struct arguments, json) },
	{ 0 },
};

static void check_files(const struct argp_state *state, const struct arguments *args)
{
	outputs_check(state, (const struct named_path[]){ { "FILE", args->file }, { 0 } },
		      (const struct named_path[]){ { "-o", args->output }, { 0 } });
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *args = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (args->file)
			usage_error(state, "only one FILE can be read");
		args->file = arg;
		return 0;
	case ARGP_KEY_END:
		if (!args->file)
			usage_error(state, "which FILE?");
		if (args->json && is_stdout(args->output))
			usage_error(state, "-j and -o - both want standard output");
		check_files(state, args);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct command command = {
	.shared = { { &reading_command, offsetof(struct arguments, reading) } },
	.options = options,
	.parse = parse,
	.args_doc = "FILE",
	.doc = "Read a model and write it as graph JSON.\n"
	       "FILE is a TFLite or ONNX model, graph JSON or a graph blob, told by its content; "
	       "\"-\" is "
	       "standard input.",
};

/* Bytes of all tensors of one kind; those of an alias count with its base. */
static uint64_t bytes_of_kind(const struct npuplan_graph *graph, uint32_t kind)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < graph->tensor_count; i++) {
		if (graph->tensors[i].kind == kind &&
		    !(graph->tensors[i].flags & NPUMEM_TENSOR_FLAG_ALIAS))
			bytes += graph->tensors[i].size;
	}
	return bytes;
}

/* What a model has besides tensors and operators one after another. */
static void print_subgraphs(const struct npuimport_info *info)
{
	if (info->subgraphs > 1)
		printf("subgraphs    %" PRIu32 "; the others stand in the graph %" PRIu32
		       " times: %" PRIu32 " loops, %" PRIu32 " branches\n",
		       info->subgraphs, info->instances, info->loops, info->branches);
	if (info->variables)
		printf("variables    %" PRIu32 " resource variables, which are state\n",
		       info->variables);
}

static int print(const struct model *model, bool json)
{
	static const struct {
		const char *name;
		uint32_t kind;
	} kinds[] = {
		{ "inputs", NPUMEM_TENSOR_INPUT },
		{ "activations", NPUMEM_TENSOR_INTERMEDIATE },
		{ "outputs", NPUMEM_TENSOR_OUTPUT },
		{ "state", NPUMEM_TENSOR_STATE },
		{ "parameters", NPUMEM_TENSOR_PARAMETER },
	};
	const struct npuplan_graph *graph = model->graph;
	json_t *bytes = json_object();

	if (json) {
		for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
			json_object_set_new(
				bytes, kinds[i].name,
				json_integer((json_int_t)bytes_of_kind(graph, kinds[i].kind)));
		return print_json(json_pack(
			"{ss ss sI sI sI sI sI sI sI sI sI so so}", "graph", graph->name, "format",
			npuimport_format_name(model->info.format), "subgraphs",
			(json_int_t)model->info.subgraphs, "operators", (json_int_t)graph->op_count,
			"views", (json_int_t)model->info.views, "tensors",
			(json_int_t)graph->tensor_count, "left_out",
			(json_int_t)model->info.left_out, "instances",
			(json_int_t)model->info.instances, "loops", (json_int_t)model->info.loops,
			"branches", (json_int_t)model->info.branches, "variables",
			(json_int_t)model->info.variables, "bytes", bytes, "warnings",
			warnings_json(&model->warnings)));
	}
	json_decref(bytes);
	plain_names(model->graph);
	printf("graph        %s (%s)\n", graph->name, npuimport_format_name(model->info.format));
	printf("operators    %" PRIu32, graph->op_count);
	if (model->info.views)
		printf(", and %" PRIu32 " that only give bytes another shape", model->info.views);
	putchar('\n');
	printf("tensors      %" PRIu32, graph->tensor_count);
	if (model->info.left_out)
		printf(", and %" PRIu32 " left out, without bytes or use", model->info.left_out);
	putchar('\n');
	print_subgraphs(&model->info);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		printf("%-12s %s\n", kinds[i].name,
		       size_text(bytes_of_kind(graph, kinds[i].kind)).s);
	return EXIT_OK;
}

int cmd_import(int argc, char **argv)
{
	struct arguments args = { 0 };
	struct npuplan_error error = { 0 };
	struct model model = { 0 };
	int status = EXIT_FAILED;
	char *text = NULL;

	command_parse(&command, argc, argv, &args);
	if (!model_import(&model, args.file, &args.reading))
		goto out;
	if (args.output) {
		if (npuimport_graph_json_write(model.graph, &text, &error)) {
			failure(model.path, "%s", error.text);
			goto out;
		}
		status = write_file(args.output, text, strlen(text));
	}
	if (!args.output || (args.json && status == EXIT_OK))
		status = print(&model, args.json);
out:
	free(text);
	model_fini(&model);
	reading_fini(&args.reading);
	return status;
}
