/* SPDX-License-Identifier: MIT */
/* npumemctl verify: the kernel's verifier holds a plan against its graph, and its claims too. */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/verdict.h"
#include "commands.h"
#include "report/report.h"

#define LOG_BYTES 65536

struct arguments {
	struct tiling tiling;
	struct model_reading reading;
	const char *graph;
	const char *plan;
	bool json;
};

static const struct command_option options[] = {
	{ "json", 'j', VALUE_FLAG, NULL, "Print the verdict as one JSON object",
	  offsetof(struct arguments, json) },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *args = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (args->plan)
			usage_error(state, "too many arguments");
		if (args->graph)
			args->plan = arg;
		else
			args->graph = arg;
		return 0;
	case ARGP_KEY_END:
		if (!args->plan)
			usage_error(state, "a GRAPH and a PLAN are needed");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct command command = {
	.options = options,
	.parse = parse,
	.args_doc = "GRAPH PLAN",
	.doc = "Check a plan with the kernel's own verifier, and what it says of itself. No device "
	       "is needed.\n"
	       "PLAN is plan JSON or a plan blob. JSON says how the graph is to be cut into steps; "
	       "for a blob give the options that it was planned with.",
	.shared = { SHARED_WITH_MODELS(struct arguments) },
};

static json_t *verdict_json(bool accepted, const struct npumem_verdict *verdict, const char *log)
{
	json_t *object = json_pack("{sbss}", "accepted", accepted, "log", log);

	if (accepted || !object)
		return object;
	json_object_set_new(object, "rule", json_integer(verdict->rule));
	verdict_places(object, verdict, false);
	return object;
}

static const struct {
	const char *name;
	uint32_t claim;
} claims[] = {
	{ "lower_bound", NPUPLAN_CLAIM_LOWER_BOUND },
	{ "status", NPUPLAN_CLAIM_STATUS },
	{ "traffic", NPUPLAN_CLAIM_TRAFFIC },
	{ "traffic.lower_bound", NPUPLAN_CLAIM_TRAFFIC_BOUND },
	{ "alignment", NPUPLAN_CLAIM_ALIGNMENT },
};

/*
 * For each claim that a plan file can make, "checked" or "not checked"; null: it makes none such.
 */
static json_t *claims_json(const struct npuplan_plan *plan, uint32_t checked)
{
	json_t *object = json_object();

	for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
		const char *text = checked & claims[i].claim ? "checked" : "not checked";

		json_object_set_new(object, claims[i].name,
				    plan->claims & claims[i].claim ? json_string(text) :
								     json_null());
	}
	return object;
}

static void print_claims(const char *what, uint32_t which)
{
	const char *before = what;

	for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
		if (!(which & claims[i].claim))
			continue;
		printf("%s%s", before, claims[i].name);
		before = ", ";
	}
	if (which)
		putchar('\n');
}

static void print_valid(const struct model *model, const struct plan_file *file, uint32_t checked)
{
	char *path = plain_text(file->path, false);

	plain_names(model->graph);
	printf("%s is a valid plan of %s: arena %s\n", path, model->graph->name,
	       size_text(file->plan->info.arena_size).s);
	print_claims("claims checked: ", file->plan->claims & checked);
	print_claims("claims not checked: ", file->plan->claims & ~checked);
	free(path);
}

static int verify(const struct arguments *args, const struct model *model,
		  const struct plan_file *file)
{
	struct npumem_verdict verdict = { 0 };
	struct npuplan_error error = { 0 };
	char *log = calloc(1, LOG_BYTES);
	uint32_t checked = 0;
	int err, status, wrong = 0;

	if (!log)
		return failure(file->path, "out of memory");
	err = npuplan_verify(model->blob, model->blob_size, file->blob, file->blob_size, &verdict,
			     log, LOG_BYTES);
	/* The verifier guards memory. What a plan says of itself is no matter of it. */
	if (!err && file->plan)
		wrong = npuplan_claims_check(model->graph, file->plan, &checked, NULL, &error);
	status = err || wrong ? EXIT_FAILED : EXIT_OK;
	if (wrong)
		failure(file->path, "%s", error.text);
	if (args->json) {
		json_t *object = verdict_json(!err, &verdict, log);

		if (wrong) {
			json_object_set_new(object, "accepted", json_false());
			json_object_set_new(object, "error", json_string(error.text));
		} else if (!err && file->plan) {
			json_object_set_new(object, "claims", claims_json(file->plan, checked));
		}
		json_object_set_new(object, "warnings", warnings_json(&model->warnings));
		if (print_json(object) != EXIT_OK)
			status = EXIT_FAILED;
	} else if (err) {
		char *plain = plain_text(log, true);

		failure(file->path, "refused by the verifier:");
		fprintf(stderr, "%s\n", plain);
		free(plain);
	} else if (!wrong) {
		print_valid(model, file, checked);
	}
	free(log);
	return status;
}

int cmd_verify(int argc, char **argv)
{
	struct arguments args = { 0 };
	struct plan_file file = { 0 };
	struct model model = { 0 };
	int status = EXIT_FAILED;

	command_parse(&command, argc, argv, &args);
	if (model_with_plan(&model, args.graph, &args.reading, &file, args.plan, &args.tiling))
		status = verify(&args, &model, &file);
	else if (args.json)
		print_json(json_pack("{sb ss}", "accepted", 0, "error", failure_text()));
	plan_file_fini(&file);
	model_fini(&model);
	tiling_fini(&args.tiling);
	reading_fini(&args.reading);
	return status;
}
