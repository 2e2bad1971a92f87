/* SPDX-License-Identifier: MIT */
/*
 * Run a planned model on a device with the test operator "mix" and compare all
 * outputs with a reference computed without memory reuse. session.c does it, on the
 * ways that path.c finds; here is what is asked for and what is said.
 */
#include <errno.h>
#include <inttypes.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "report/report.h"
#include "run/session.h"

enum {
	OPTION_ITERATIONS = 0x200,
	OPTION_PATH,
};

struct arguments {
	struct tiling tiling;
	struct model_reading reading;
	struct session_args session;
	struct path_rule rule;
	struct path_choice *choices;
	const char *graph;
	const char *plan;
	const char *output;
	uint64_t seed;
	uint64_t repeat;
	bool iterations_given;
	uint32_t external;
	bool json;
};

enum external { EXTERNAL_SYSTEM, EXTERNAL_CARVEOUT };
static const char *const externals[] = { "system", "carveout", NULL };

static const char *engine_name(unsigned int i)
{
	static const char *const names[] = { NPUMEM_SIM_NAME, "npumem-engine" };

	return i < sizeof(names) / sizeof(*names) ? names[i] : NULL;
}

static const struct command_option options[] = {
	{ "plan", 0, VALUE_TEXT, "FILE", "Load this plan; without it npumemd is asked for one",
	  offsetof(struct arguments, plan) },
	{ "output", 'o', VALUE_TEXT, "FILE", "Write the plan that was run as plan JSON to FILE",
	  offsetof(struct arguments, output) },
	{ "device", 'd', VALUE_TEXT, "PATH", "Device node; the first npumem device by default",
	  offsetof(struct arguments, session.device), .files = DEVICE_NODES },
	{ "engine", 'e', VALUE_TEXT, "NAME",
	  "Engine of the device: \"%s\" runs the test operator (default); \"%s\" computes a TFLite "
	  "model",
	  offsetof(struct arguments, session.engine), .list = engine_name },
	{ "seed", 0, VALUE_NUMBER, "N", "Of the inputs' random bytes and of the random path (1)",
	  offsetof(struct arguments, seed), 0, UINT64_MAX },
	{ "repeat", 0, VALUE_NUMBER, "N", "Inferences one after another (1)",
	  offsetof(struct arguments, repeat), 1, 1000000 },
	{ "timeout", 0, VALUE_SECONDS, "SECONDS", "For planning, and for each inference (60)",
	  offsetof(struct arguments, session.timeout) },
	{ "max-iterations", OPTION_ITERATIONS, VALUE_OTHER, "N",
	  "Random path through loops: after entering blocks again N times, straight out (100)" },
	{ "path", OPTION_PATH, VALUE_OTHER, "EDGE[*COUNT],...",
	  "Not at random: at each block with several edges take its edge number EDGE, from 0, "
	  "COUNT times; then straight out" },
	{ "external", 0, VALUE_CHOICE, "KIND",
	  "Bind external tensors to a buffer in \"%s\" memory (default) or in the \"%s\"",
	  offsetof(struct arguments, external), EXTERNAL_SYSTEM, 0, externals },
	{ "one-engine", 0, VALUE_FLAG, NULL,
	  "Transfers on the engine of the steps, even if the device has another one for them",
	  offsetof(struct arguments, session.one_engine) },
	{ "json", 'j', VALUE_FLAG, NULL, "Print the result as one JSON object",
	  offsetof(struct arguments, json) },
	{ 0 },
};

static void parse_path(struct arguments *args, const char *text, const struct argp_state *state)
{
	int err;

	free(args->choices);
	args->choices = NULL;
	err = path_choices(text, &args->choices, &args->rule.choice_count);
	if (err == -EINVAL)
		usage_error(state, "--path %s: not of the form EDGE[*COUNT],...", text);
	else if (err)
		argp_failure(state, EXIT_FAILED, -err, "--path");
	args->rule.choices = args->choices;
}

static void check_files(const struct argp_state *state, const struct arguments *args)
{
	const struct named_path inputs[] = { { "GRAPH", args->graph },
					     { "--plan", args->plan },
					     { 0 } };

	outputs_check(state, inputs, (const struct named_path[]){ { "-o", args->output }, { 0 } });
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *args = state->input;
	const struct asking *asking = &args->session.asking;
	const char *cuts = asking_cuts(asking);

	switch (key) {
	case OPTION_ITERATIONS:
		args->rule.max_iterations =
			(uint32_t)option_number(state, "--max-iterations", arg, 0, 1000000);
		args->iterations_given = true;
		return 0;
	case OPTION_PATH:
		parse_path(args, arg, state);
		return 0;
	case ARGP_KEY_ARG:
		if (args->graph)
			usage_error(state, "only one GRAPH can be run");
		args->graph = arg;
		return 0;
	case ARGP_KEY_END:
		if (!args->graph)
			usage_error(state, "which GRAPH?");
		if (args->plan && asking_said(asking))
			usage_error(state, "--plan loads a plan; %s asks for one",
				    asking_said(asking));
		if (args->output && cuts)
			usage_error(state,
				    "-o: plan JSON cannot say how npumemd cuts a graph: leave out "
				    "%s",
				    cuts);
		if (session_computes(&args->session) && cuts)
			usage_error(state,
				    "engine \"%s\" computes what npumemctl cuts: leave out %s",
				    args->session.engine, cuts);
		if (args->tiling.concat >= CONCAT_JOIN && cuts)
			usage_error(state,
				    "--concat join: where npumemd cuts, concats copy: leave out %s",
				    cuts);
		if ((args->tiling.patches.count || args->tiling.finds_patches) && cuts)
			usage_error(
				state,
				"--patches: npumemd cuts no operators into patches: leave out %s",
				cuts);
		if (args->tiling.is_deep && cuts)
			usage_error(state,
				    "--partial-sums and depths of --tile: npumemd has all input "
				    "channels added up at once: leave out %s",
				    cuts);
		if (args->choices && args->iterations_given)
			usage_error(state, "--path is not random; --max-iterations is for random");
		if (args->session.engine && !*args->session.engine)
			usage_error(state, "--engine: an engine's name is not empty");
		if (args->json && is_stdout(args->output))
			usage_error(state, "-j and -o - both want standard output");
		args->session.carveout = args->external == EXTERNAL_CARVEOUT;
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
	.doc = "Run a planned model on a device: every step is submitted with the test operator "
	       "\"mix\", or what the model says, on random inputs, and all outputs are compared "
	       "with a reference that never uses memory twice. Loops and branches are gone through "
	       "at random, or on a given path.",
	.shared = { SHARED_WITH_MODELS(struct arguments),
		    { &asking_command, offsetof(struct arguments, session.asking) } },
};

static bool is_result(const struct npuplan_tensor *tensor)
{
	return tensor->kind == NPUMEM_TENSOR_OUTPUT || tensor->kind == NPUMEM_TENSOR_STATE;
}

/*
 * struct tally - what inferences have made
 * @results: an object for each output and state
 * @compared: their number
 * @differ: one of them is not as the reference has it
 * @sha: of all outputs, one behind the other
 */
struct tally {
	json_t *results;
	uint32_t compared;
	bool differ;
	struct sha256_ctx sha;
};

static int compare(struct session *s, const struct path *path, uint64_t inference,
		   struct tally *tally)
{
	const struct npuplan_graph *graph = s->model.graph;
	int status = EXIT_OK;

	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		const struct npuplan_tensor *tensor = &graph->tensors[t];
		uint8_t *bytes;
		uint64_t i = 0;

		if (!is_result(tensor) || !s->ref.bytes[t])
			continue;
		bytes = calloc(tensor->size, 1);
		if (!bytes)
			return failure(s->model.path, "out of memory");
		if (session_result(s, path, t, bytes) != EXIT_OK) {
			free(bytes);
			return EXIT_FAILED;
		}
		while (i < tensor->size && bytes[i] == s->ref.bytes[t][i])
			i++;
		if (i < tensor->size) {
			tally->differ = true;
			status = failure(s->model.path,
					 "inference %" PRIu64 ": tensor %" PRId64
					 " '%s' differs from the reference from byte %" PRIu64
					 " of %" PRIu64 " on (0x%02x, reference 0x%02x)",
					 inference, tensor->id, tensor->name, i, tensor->size,
					 bytes[i], s->ref.bytes[t][i]);
		}
		if (tensor->kind == NPUMEM_TENSOR_OUTPUT)
			sha256_update(&tally->sha, tensor->size, bytes);
		json_array_append_new(
			tally->results,
			json_pack("{sI sI ss sI sb so}", "inference", (json_int_t)inference, "id",
				  (json_int_t)tensor->id, "name", tensor->name, "bytes",
				  (json_int_t)tensor->size, "equal", (int)(i == tensor->size),
				  "first_difference",
				  i == tensor->size ? json_null() : json_integer((json_int_t)i)));
		free(bytes);
		tally->compared++;
	}
	return status;
}

static int infer(struct session *s, const struct arguments *args, uint64_t i, struct tally *tally)
{
	struct path_rule rule = args->rule;
	struct npuplan_error error = { 0 };
	struct path path;
	int status;

	rule.seed = args->seed + i;
	if (path_find(s->model.graph, s->file.plan, &rule, &path, &error))
		return failure(s->model.path, "%s", error.text);
	status = session_infer(s, &path, args->seed + i, !i);
	if (status == EXIT_OK)
		status = compare(s, &path, i, tally);
	path_fini(&path);
	return status;
}

static int run_all(struct session *s, const struct arguments *args, struct tally *tally)
{
	int status = EXIT_OK;

	for (uint64_t i = 0; i < args->repeat && status == EXIT_OK; i++) {
		if (i)
			status = session_reset(s);
		if (status == EXIT_OK)
			status = infer(s, args, i, tally);
	}
	if (status == EXIT_OK && !tally->compared)
		status = failure(s->model.path, "the model has no output to compare");
	return status;
}

/* Bytes that the driver has moved in an inference, by kind of transfer. */
static json_t *moved_json(const struct session *s)
{
	return json_pack("{sI sI sI sI}", "load", (json_int_t)s->traffic.load, "spill",
			 (json_int_t)s->traffic.spill, "store", (json_int_t)s->traffic.store,
			 "fill", (json_int_t)s->traffic.fill);
}

/* SHA-256 of the outputs, in hexadecimal. */
static const char *digest_text(struct tally *tally)
{
	static char text[2 * SHA256_DIGEST_SIZE + 1];
	uint8_t bytes[SHA256_DIGEST_SIZE];

	sha256_digest(&tally->sha, sizeof(bytes), bytes);
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(&text[2 * i], 3, "%02x", bytes[i]);
	return text;
}

static int print_result(struct session *s, const struct arguments *args, struct tally *tally)
{
	const char *digest = digest_text(tally);
	json_t *object;

	if (args->json) {
		object = plan_report(s->model.graph, s->file.plan, &(struct asked){ 0 });
		if (object) {
			json_object_set_new(object, "device", json_string(session_device(s)));
			json_object_set_new(object, "plan_from",
					    json_string(args->plan ? "file" : "daemon"));
			json_object_set_new(object, "seconds", json_real(s->plan_seconds));
			json_object_set_new(object, "run_seconds", json_real(s->run_seconds));
			json_object_set_new(object, "verify_ns",
					    json_integer((json_int_t)s->stats.verify_ns));
			json_object_set_new(object, "tile_states",
					    json_integer((json_int_t)s->stats.tile_states));
			json_object_set_new(object, "inferences",
					    json_integer((json_int_t)args->repeat));
			json_object_set_new(object, "jobs", json_integer((json_int_t)s->jobs));
			json_object_set_new(object, "blocks_run",
					    json_integer((json_int_t)s->blocks));
			if (s->host)
				json_object_set_new(object, "moved", moved_json(s));
			json_object_set_new(object, "seed", json_integer((json_int_t)args->seed));
			json_object_set_new(object, "equal", json_boolean(!tally->differ));
			json_object_set_new(object, "sha256", json_string(digest));
			json_object_set(object, "outputs", tally->results);
			json_object_set_new(object, "warnings", warnings_json(&s->model.warnings));
		}
		return print_json(object);
	}
	plain_names(s->model.graph);
	plan_report_print(stdout, s->model.graph, s->file.plan, &(struct asked){ 0 });
	printf("plan         from %s, in %.3f s; verified in %.3f ms\n",
	       args->plan ? s->file.path : "npumemd", s->plan_seconds,
	       (double)s->stats.verify_ns / 1e6);
	printf("run          %" PRIu64 " inferences, %" PRIu64 " jobs in %" PRIu64
	       " blocks on %s in %.3f s\n",
	       args->repeat, s->jobs, s->blocks, session_device(s), s->run_seconds);
	if (s->host)
		printf("moved        %" PRIu64 " bytes by loads, %" PRIu64 " by spills, %" PRIu64
		       " by stores, %" PRIu64 " by fills in each: counted by the driver, as "
		       "planned\n",
		       s->traffic.load, s->traffic.spill, s->traffic.store, s->traffic.fill);
	printf("outputs      %" PRIu32 " compared with the reference (seed %" PRIu64 "): %s\n",
	       tally->compared, args->seed, tally->differ ? "NOT EQUAL" : "equal");
	printf("sha256       %s\n", digest);
	return EXIT_OK;
}

static int write_plan(struct session *s, const struct arguments *args)
{
	struct npuplan_error error = { 0 };
	char *text;
	int status;

	if (!args->output)
		return EXIT_OK;
	if (npuplan_plan_to_json(s->model.graph, s->file.plan, &text, &error))
		return failure(s->model.path, "%s", error.text);
	status = write_file(args->output, text, strlen(text));
	free(text);
	return status;
}

static int load_model(struct session *s, struct arguments *args)
{
	/* What is computed with has to be there. */
	if (session_computes(&args->session))
		args->tiling.asked.with_parameters = true;
	if (!args->plan)
		tiling_for_planner(&args->tiling, args->session.asking.request.planner);
	if (args->plan) {
		if (!model_with_plan(&s->model, args->graph, &args->reading, &s->file, args->plan,
				     &args->tiling))
			return EXIT_FAILED;
	} else if (!model_import(&s->model, args->graph, &args->reading) ||
		   !asking_model(&args->session.asking, &s->model, &args->tiling)) {
		return EXIT_FAILED;
	}
	if (session_computes(&args->session) && s->model.info.format != NPUIMPORT_TFLITE)
		return failure(s->model.path,
			       "engine \"%s\" computes models of TFLite: %s does not say what "
			       "operators compute",
			       args->session.engine, npuimport_format_name(s->model.info.format));
	return EXIT_OK;
}

int cmd_run(int argc, char **argv)
{
	struct arguments args = {
		.seed = 1,
		.repeat = 1,
		.rule.max_iterations = 100,
		.session.timeout = 60,
	};
	struct session s = { .args = &args.session };
	struct tally tally = { .results = json_array() };
	int status;

	sha256_init(&tally.sha);
	command_parse(&command, argc, argv, &args);
	args.session.seed = args.seed;
	status = load_model(&s, &args);
	if (status == EXIT_OK)
		status = session_open(&s);
	if (status == EXIT_OK)
		status = write_plan(&s, &args);
	if (status == EXIT_OK)
		status = session_start(&s);
	if (status == EXIT_OK) {
		status = run_all(&s, &args, &tally);
		/* After a difference, too: it says which. A run that was lost has no result. */
		if ((status == EXIT_OK || tally.differ) &&
		    print_result(&s, &args, &tally) != EXIT_OK)
			status = EXIT_FAILED;
	}
	json_decref(tally.results);
	session_close(&s);
	free(args.choices);
	tiling_fini(&args.tiling);
	reading_fini(&args.reading);
	asking_fini(&args.session.asking);
	return status;
}
