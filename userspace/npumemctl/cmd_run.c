/* SPDX-License-Identifier: MIT */
/*
 * Run a planned model on a device with the test operator "mix" and compare all
 * outputs with a reference computed without memory reuse.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "npumem.h"
#include "npumemctl.h"
#include "reference.h"

enum {
	OPTION_PLAN = 0x200,
	OPTION_PLANNER,
	OPTION_BUDGET,
	OPTION_SEED,
	OPTION_REPEAT,
	OPTION_TIMEOUT,
};

struct arguments {
	struct tiling tiling;
	const char *graph;
	const char *plan;
	const char *planner;
	const char *device;
	const char *output;
	uint64_t budget;
	uint64_t seed;
	uint64_t repeat;
	double timeout;
	bool json;
};

static const struct argp_option options[] = {
	{ "plan", OPTION_PLAN, "FILE", 0, "Load this plan; without it npumemd is asked for one",
	  0 },
	{ "planner", OPTION_PLANNER, "NAME", 0, "Planner that npumemd is to use", 0 },
	{ "arena-budget", OPTION_BUDGET, "BYTES", 0, "Largest arena that npumemd may plan", 0 },
	{ "output", 'o', "FILE", 0, "Write the plan that was run as plan JSON to FILE", 0 },
	{ "device", 'd', "PATH", 0, "Device node; the first npumem device by default", 0 },
	{ "seed", OPTION_SEED, "N", 0, "Of the inputs' random bytes (1)", 0 },
	{ "repeat", OPTION_REPEAT, "N", 0, "Inferences one after another (1)", 0 },
	{ "timeout", OPTION_TIMEOUT, "SECONDS", 0, "For planning, and for each inference (60)", 0 },
	{ "json", 'j', NULL, 0, "Print the result as one JSON object", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->tiling;
		return 0;
	case OPTION_PLAN:
		args->plan = arg;
		return 0;
	case OPTION_PLANNER:
		args->planner = arg;
		return 0;
	case OPTION_BUDGET:
		args->budget = option_size(state, "--arena-budget", arg);
		return 0;
	case OPTION_SEED:
		args->seed = option_number(state, "--seed", arg, 0, UINT64_MAX);
		return 0;
	case OPTION_REPEAT:
		args->repeat = option_number(state, "--repeat", arg, 1, 1000000);
		return 0;
	case OPTION_TIMEOUT:
		args->timeout = option_seconds(state, "--timeout", arg);
		return 0;
	case 'o':
		args->output = arg;
		return 0;
	case 'd':
		args->device = arg;
		return 0;
	case 'j':
		args->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (args->graph)
			argp_error(state, "only one GRAPH can be run");
		args->graph = arg;
		return 0;
	case ARGP_KEY_END:
		if (!args->graph)
			argp_error(state, "which GRAPH?");
		if (args->plan && (args->planner || args->budget))
			argp_error(state,
				   "--plan loads a plan; --planner and --arena-budget ask for one");
		if (args->json && args->output && !strcmp(args->output, "-"))
			argp_error(state, "-j and -o - both want standard output");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = { { &tiling_argp, 0, NULL, 0 }, { 0 } };

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "GRAPH",
	.doc = "Run a planned model on a device: every step is submitted with the test operator "
	       "\"mix\" on random inputs, and all outputs are compared with a reference that never "
	       "uses memory twice.",
	.children = children,
};

/* One model on one device. */
struct session {
	const struct arguments *args;
	struct model model;
	struct plan_file file;
	struct npumem_device *device;
	struct drm_npumem_info info;
	struct npumem_graph *graph;
	struct npumem_plan *plan;
	struct npumem_bo *host;
	struct npumem_run *run;
	struct npumem_plan_stats stats;
	struct reference ref;
	uint8_t *arena;
	uint32_t engine;
	uint32_t sync;
	double plan_seconds;
	double run_seconds;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int64_t deadline(const struct session *s)
{
	return npumem_deadline((int64_t)(s->args->timeout * 1e9));
}

static const char *device_path(const struct session *s)
{
	return s->device       ? npumem_device_path(s->device) :
	       s->args->device ? s->args->device :
				 "device";
}

static int open_device(struct session *s)
{
	struct drm_npumem_engine *engines = NULL;
	struct npumem_error error = { 0 };
	uint32_t count = 0;

	if (npumem_device_open(s->args->device, &s->device, &error) ||
	    npumem_device_info(s->device, &s->info, &error) ||
	    npumem_device_engines(s->device, &engines, &count, &error))
		return failure(device_path(s), "%s", error.text);
	s->engine = NPUMEM_NONE;
	for (uint32_t i = 0; i < count && s->engine == NPUMEM_NONE; i++) {
		if (engines[i].ops >> NPUMEM_OP_MIX & 1)
			s->engine = engines[i].index;
	}
	free(engines);
	if (s->engine == NPUMEM_NONE)
		return failure(device_path(s), "none of its engines runs the operator \"mix\"");
	return EXIT_OK;
}

/* Ask the daemon; the answer is read back as a blob. */
static int request_plan(struct session *s)
{
	struct npumem_request request = {
		.planner = s->args->planner,
		.arena_budget = s->args->budget,
		.deadline = deadline(s),
	};
	struct npuplan_error plan_error = { 0 };
	struct npumem_error error = { 0 };
	int err;

	err = npumem_plan_request(s->graph, &request, &s->plan, &error);
	if (err == -ENOTCONN)
		return failure(
			device_path(s),
			"%s (start npumemd, or plan with \"npumemctl plan -o FILE\" and give "
			"--plan FILE)",
			error.text);
	/* The driver ends it at the deadline, so that much and a little more. */
	if (!err)
		err = npumem_plan_wait(s->plan, npumem_deadline(INT64_MAX), &error);
	if (!err)
		err = npumem_plan_read(s->plan, &s->file.blob, &s->file.blob_size, &error);
	if (err)
		return failure(s->model.path, "%s", error.text);
	if (npuplan_plan_read(s->file.blob, s->file.blob_size, &s->file.plan, &plan_error))
		return failure(s->model.path, "the daemon's plan: %s", plan_error.text);
	return EXIT_OK;
}

static int get_plan(struct session *s)
{
	struct npumem_error error = { 0 };
	double start = now();
	int status = EXIT_OK;

	if (npumem_graph_create(s->device, s->model.blob, s->model.blob_size, NULL, &s->graph,
				&error))
		return failure(s->model.path, "%s", error.text);
	if (!s->file.plan)
		status = request_plan(s);
	else if (npumem_plan_load(s->graph, s->file.blob, s->file.blob_size, NULL, &s->plan,
				  &error))
		status = failure(s->file.path, "%s", error.text);
	s->plan_seconds = now() - start;
	if (status == EXIT_OK && npumem_plan_stats(s->plan, &s->stats, &error))
		status = failure(device_path(s), "%s", error.text);
	return status;
}

static int start_run(struct session *s)
{
	struct npumem_error error = { 0 };
	void *arena;

	if (s->stats.host_size &&
	    npumem_bo_create(s->device, s->stats.host_size, NPUMEM_BO_SYSTEM, 0, &s->host, &error))
		return failure(device_path(s), "%s", error.text);
	if (npumem_run_create(s->plan, 0, s->host, &s->run, &error) ||
	    npumem_bo_map(npumem_run_arena(s->run), &arena, &error) ||
	    npumem_sync_create(s->device, &s->sync, &error))
		return failure(device_path(s), "%s", error.text);
	s->arena = arena;
	if (reference_init(&s->ref, s->model.graph, s->file.plan))
		return failure(s->model.path, "out of memory for the reference: it needs %s",
			       size_text(model_bytes(s->model.graph)).s);
	return EXIT_OK;
}

/*
 * Between the reference's buffers and the arena: what is valid at entry goes
 * in, by the placements that hold it first; or outputs come out into @bytes.
 */
static int copy_in(struct session *s)
{
	const struct npuplan_plan *plan = s->file.plan;

	for (uint32_t i = 0; i < plan->placement_count; i++) {
		const struct npumem_placement *p = &plan->placements[i];
		const struct npuplan_tensor *tensor = &s->model.graph->tensors[p->tensor];

		if (!reference_valid_at_entry(tensor) || p->from ||
		    (tensor->flags & NPUMEM_TENSOR_HOST))
			continue;
		if (reference_copy(p, s->ref.bytes[p->tensor], tensor->size, s->arena,
				   s->stats.arena_size, true))
			return failure(s->model.path, "tensor '%s' is not inside the arena",
				       tensor->name);
	}
	return EXIT_OK;
}

static int copy_out(struct session *s, uint32_t tensor, uint8_t *bytes)
{
	const struct npuplan_plan *plan = s->file.plan;
	uint64_t size = s->model.graph->tensors[tensor].size;

	for (uint32_t i = 0; i < plan->placement_count; i++) {
		const struct npumem_placement *p = &plan->placements[i];

		if (p->tensor == tensor && p->to + 1 == plan->position_count &&
		    reference_copy(p, bytes, size, s->arena, s->stats.arena_size, false))
			return failure(s->model.path, "tensor '%s' is not inside the arena",
				       s->model.graph->tensors[tensor].name);
	}
	return EXIT_OK;
}

/* Every position of the schedule, each a job of its own; waits for the last. */
static int submit_all(struct session *s, uint64_t key)
{
	uint32_t positions = s->file.plan->position_count, most = s->info.max_jobs;
	struct drm_npumem_sync sync = { .handle = s->sync };
	struct npumem_error error = { 0 };
	struct drm_npumem_job *jobs;
	int err = 0;

	if (!most)
		most = 1;
	jobs = calloc(most, sizeof(*jobs));
	if (!jobs)
		return failure(s->model.path, "out of memory");
	for (uint32_t first = 0; !err && first < positions; first += most) {
		uint32_t count = positions - first < most ? positions - first : most;
		struct npumem_submit submit = { .jobs = jobs, .job_count = count };

		for (uint32_t i = 0; i < count; i++)
			jobs[i] = (struct drm_npumem_job){
				.first_position = first + i,
				.position_count = 1,
				.op = NPUMEM_OP_MIX,
				.engine = s->engine,
				.value = key,
			};
		if (first + count == positions) {
			submit.out_syncs = &sync;
			submit.out_count = 1;
		}
		err = npumem_run_submit(s->run, &submit, &error);
		if (err && submit.failed_job != NPUMEM_NONE)
			failure(device_path(s), "position %" PRIu32 " was refused: %s",
				first + submit.failed_job, error.text);
		else if (err)
			failure(device_path(s), "%s", error.text);
	}
	free(jobs);
	if (err)
		return EXIT_FAILED;
	if (npumem_sync_wait(s->device, &sync, 1, deadline(s), &error) ||
	    npumem_bo_wait(npumem_run_arena(s->run), deadline(s), &error))
		return failure(device_path(s), "%s", error.text);
	return EXIT_OK;
}

static bool is_result(const struct npuplan_tensor *tensor)
{
	return tensor->kind == NPUMEM_TENSOR_OUTPUT || tensor->kind == NPUMEM_TENSOR_STATE;
}

/* @results: receives an object for each output; @compared: their number. */
static int compare(struct session *s, uint64_t inference, json_t *results, uint32_t *compared)
{
	const struct npuplan_graph *graph = s->model.graph;
	int status = EXIT_OK;

	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		const struct npuplan_tensor *tensor = &graph->tensors[t];
		uint8_t *bytes;
		uint64_t i = 0;

		if (!is_result(tensor) || !s->ref.bytes[t] || (tensor->flags & NPUMEM_TENSOR_ALIAS))
			continue;
		bytes = calloc(tensor->size, 1);
		if (!bytes)
			return failure(s->model.path, "out of memory");
		if (copy_out(s, t, bytes) != EXIT_OK) {
			free(bytes);
			return EXIT_FAILED;
		}
		while (i < tensor->size && bytes[i] == s->ref.bytes[t][i])
			i++;
		if (i < tensor->size)
			status = failure(s->model.path,
					 "inference %" PRIu64 ": tensor %" PRId64
					 " '%s' differs from the reference from byte %" PRIu64
					 " of %" PRIu64 " on (0x%02x, reference 0x%02x)",
					 inference, tensor->id, tensor->name, i, tensor->size,
					 bytes[i], s->ref.bytes[t][i]);
		json_array_append_new(
			results,
			json_pack("{sI sI ss sI sb so}", "inference", (json_int_t)inference, "id",
				  (json_int_t)tensor->id, "name", tensor->name, "bytes",
				  (json_int_t)tensor->size, "equal", (int)(i == tensor->size),
				  "first_difference",
				  i == tensor->size ? json_null() : json_integer((json_int_t)i)));
		free(bytes);
		(*compared)++;
	}
	return status;
}

static int run_all(struct session *s, json_t *results, uint32_t *compared)
{
	struct npumem_error error = { 0 };
	int status = EXIT_OK;

	for (uint64_t i = 0; i < s->args->repeat && status == EXIT_OK; i++) {
		double start;

		reference_randomize(&s->ref, s->args->seed + i, !i);
		status = copy_in(s);
		start = now();
		if (status == EXIT_OK)
			status = submit_all(s, s->args->seed + i);
		s->run_seconds += now() - start;
		if (status != EXIT_OK)
			break;
		reference_run(&s->ref, s->args->seed + i);
		status = compare(s, i, results, compared);
		if (status == EXIT_OK && i + 1 < s->args->repeat &&
		    npumem_run_reset(s->run, &error))
			status = failure(device_path(s), "%s", error.text);
	}
	if (status == EXIT_OK && !*compared)
		status = failure(s->model.path, "the model has no output to compare");
	return status;
}

static int print_result(struct session *s, json_t *results, uint32_t compared, bool equal)
{
	json_t *object;

	if (s->args->json) {
		object = plan_summary(s->model.graph, s->file.plan);
		if (object) {
			json_object_set_new(object, "device", json_string(device_path(s)));
			json_object_set_new(object, "plan_from",
					    json_string(s->args->plan ? "file" : "daemon"));
			json_object_set_new(object, "seconds", json_real(s->plan_seconds));
			json_object_set_new(object, "run_seconds", json_real(s->run_seconds));
			json_object_set_new(object, "verify_ns",
					    json_integer((json_int_t)s->stats.verify_ns));
			json_object_set_new(object, "tile_states",
					    json_integer((json_int_t)s->stats.tile_states));
			json_object_set_new(object, "inferences",
					    json_integer((json_int_t)s->args->repeat));
			json_object_set_new(object, "seed",
					    json_integer((json_int_t)s->args->seed));
			json_object_set_new(object, "equal", json_boolean(equal));
			json_object_set(object, "outputs", results);
		}
		return print_json(object);
	}
	plan_summary_print(stdout, s->model.graph, s->file.plan);
	printf("plan         from %s, in %.3f s; verified in %.3f ms\n",
	       s->args->plan ? s->file.path : "npumemd", s->plan_seconds,
	       (double)s->stats.verify_ns / 1e6);
	printf("run          %" PRIu64 " inferences of %" PRIu32 " jobs on %s in %.3f s\n",
	       s->args->repeat, s->file.plan->position_count, device_path(s), s->run_seconds);
	printf("outputs      %" PRIu32 " compared with the reference (seed %" PRIu64 "): %s\n",
	       compared, s->args->seed, equal ? "equal" : "NOT EQUAL");
	return EXIT_OK;
}

static int write_plan(struct session *s)
{
	struct npuplan_error error = { 0 };
	char *text;
	int status;

	if (!s->args->output)
		return EXIT_OK;
	if (npuplan_plan_to_json(s->model.graph, s->file.plan, &text, &error))
		return failure(s->model.path, "%s", error.text);
	status = write_file(s->args->output, text, strlen(text));
	free(text);
	return status;
}

static int load_model(struct session *s)
{
	const struct arguments *args = s->args;

	if (args->plan) {
		if (!model_with_plan(&s->model, args->graph, &s->file, args->plan, &args->tiling))
			return EXIT_FAILED;
	} else if (!model_import(&s->model, args->graph) || !model_tile(&s->model, &args->tiling)) {
		return EXIT_FAILED;
	}
	if (s->model.graph->block_count != 1)
		return failure(s->model.path, "it has loops or branches, which the reference does "
					      "not compute");
	return EXIT_OK;
}

static void session_release(struct session *s)
{
	reference_release(&s->ref);
	npumem_run_destroy(s->run);
	npumem_bo_destroy(s->host);
	npumem_plan_destroy(s->plan);
	npumem_graph_destroy(s->graph);
	if (s->sync)
		npumem_sync_destroy(s->device, s->sync);
	npumem_device_close(s->device);
	plan_file_release(&s->file);
	model_release(&s->model);
}

int cmd_run(int argc, char **argv)
{
	struct arguments args = { .seed = 1, .repeat = 1, .timeout = 60 };
	struct session s = { .args = &args };
	json_t *results = json_array();
	uint32_t compared = 0;
	int status;

	argp_parse(&argp, argc, argv, 0, NULL, &args);
	status = load_model(&s);
	if (status == EXIT_OK)
		status = open_device(&s);
	if (status == EXIT_OK)
		status = get_plan(&s);
	if (status == EXIT_OK)
		status = write_plan(&s);
	if (status == EXIT_OK)
		status = start_run(&s);
	if (status == EXIT_OK) {
		status = run_all(&s, results, &compared);
		/* Also after a difference: then it says which output. */
		if (compared && print_result(&s, results, compared, status == EXIT_OK) != EXIT_OK)
			status = EXIT_FAILED;
	}
	json_decref(results);
	session_release(&s);
	return status;
}
