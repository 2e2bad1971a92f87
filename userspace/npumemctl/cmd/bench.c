// SPDX-License-Identifier: MIT
/* npumemctl bench pack: the packing core on files of buffers. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "cli/cli.h"
#include "model/pack_csv.h"
#include "cli/progress.h"

#define OPTION_LIST 0x101

struct arguments {
	uint64_t capacity;
	const char *output;
	const char *packer;
	struct limits limits;
	bool json;
	char **files;
	int file_count;
};

static const struct command_option options[] = {
	{ "capacity", 0, VALUE_SIZE, "BYTES",
	  "Stop at the first packing within BYTES; without it, find the lowest",
	  offsetof(struct arguments, capacity) },
	{ "output", 'o', VALUE_TEXT, "OUT.csv",
	  "Write the buffers with their offsets; for one FILE. - is standard output",
	  offsetof(struct arguments, output) },
	{ "packer", 0, VALUE_TEXT, "NAME", "Which packer (default: exact)",
	  offsetof(struct arguments, packer), .list = npuplan_packer_name },
	{ "list-packers", OPTION_LIST, VALUE_OTHER, "all",
	  "Print the packers' names and what each does, and end; \"all\": with those that do as "
	  "others do, to compare with",
	  .flags = OPTION_ARG_OPTIONAL },
	{ "json", 'j', VALUE_FLAG, NULL, "Print one JSON object",
	  offsetof(struct arguments, json) },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *args = state->input;

	switch (key) {
	case OPTION_LIST:
		list_algorithms(state, "--list-packers",
				&(struct algorithms){ npuplan_packer_name, npuplan_packer_purpose,
						      npuplan_packer_published },
				arg);
	case ARGP_KEY_ARGS:
		args->files = state->argv + state->next;
		args->file_count = state->argc - state->next;
		return 0;
	case ARGP_KEY_END:
		if (!args->file_count)
			usage_error(state, "a FILE is needed");
		if (args->output && args->file_count > 1)
			usage_error(state, "--output takes one FILE, not %d", args->file_count);
		if (args->output)
			outputs_check(state,
				      (const struct named_path[]){ { "FILE", args->files[0] },
								   { 0 } },
				      (const struct named_path[]){ { "-o", args->output }, { 0 } });
		if (args->output && !strcmp(args->output, "-") && args->json)
			usage_error(state, "--output - and --json both need standard output");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct command command = {
	.options = options,
	.parse = parse,
	.args_doc = "FILE.csv...",
	.doc = "Pack buffers into one arena. No device is needed.\n"
	       "FILE has a header line that names its columns and one buffer a line: lower and "
	       "upper (instants; the upper one is exclusive), size, and perhaps id, alignment "
	       "and offset (fixed, if not empty). With --capacity, exit status 3 says that a "
	       "FILE cannot be packed within it, 4 that it was not.  Interrupt (^C) ends with the "
	       "best so far, and 5.",
	.shared = { { &limits_command, offsetof(struct arguments, limits) } },
};

static bool read_file(const char *path, struct pack_csv *csv)
{
	bool standard = !strcmp(path, "-");
	FILE *in = standard ? stdin : fopen(path, "r");
	struct npuplan_error error;
	int err;

	if (!in) {
		failure(path, "%s", strerror(errno));
		return false;
	}
	err = pack_csv_read(csv, in, &error);
	if (!standard)
		fclose(in);
	if (err)
		failure(standard ? "standard input" : path, "%s", error.text);
	return !err;
}

static bool write_offsets(const char *path, const struct pack_csv *csv, const uint64_t *offsets)
{
	struct text text;

	text_begin(&text);
	pack_csv_write(csv, offsets, text.out);
	return text_write(&text, path) == EXIT_OK;
}

/* The limit, of those asked for, that ended the search; NULL: none did. */
static const char *ended_by(const struct arguments *args, const struct npuplan_pack_result *result)
{
	if (result->status == NPUMEM_PLAN_STATUS_OPTIMAL ||
	    result->status == NPUMEM_PLAN_STATUS_INFEASIBLE)
		return NULL;
	return progress_ended_by(result->memory_ended, result->seconds, args->limits.deadline,
				 result->work, args->limits.work);
}

/* Whether there is a packing to show, check and write; one of no buffers is one. */
static bool is_packed(const struct npuplan_pack_result *result)
{
	return result->top != UINT64_MAX;
}

static void print(const struct arguments *args, const char *path, uint32_t count,
		  const struct npuplan_pack_result *result)
{
	FILE *out = args->output && !strcmp(args->output, "-") ? stderr : stdout;

	fprintf(out, "%s: %u buffers, lower bound %" PRIu64, path, count, result->lower_bound);
	if (is_packed(result))
		fprintf(out, ", top %" PRIu64, result->top);
	if (is_packed(result) && result->lower_bound)
		fprintf(out, " (%.4f)", (double)result->top / (double)result->lower_bound);
	fprintf(out, ", %s, %.6f s, work %" PRIu64, npuplan_status_name(result->status),
		result->seconds, result->work);
	fprintf(out, "%s\n", result->memory_ended ? ", ended by the limit of memory" : "");
}

static json_t *result_json(const struct arguments *args, const char *path, uint32_t count,
			   const struct npuplan_pack_result *result)
{
	const char *ended = ended_by(args, result);

	json_t *object = json_pack("{sssIsI}", "name", path, "n", (json_int_t)count, "lower_bound",
				   (json_int_t)result->lower_bound);

	if (!object)
		return NULL;
	json_object_set_new(object, "top",
			    is_packed(result) ? json_integer((json_int_t)result->top) :
						json_null());
	json_object_set_new(object, "status", json_string(npuplan_status_name(result->status)));
	json_object_set_new(object, "ended_by", ended ? json_string(ended) : json_null());
	json_object_set_new(object, "seconds", json_real(result->seconds));
	json_object_set_new(object, "work", json_integer((json_int_t)result->work));
	return object;
}

/* Whatever packer found it, a packing is held against the file once more. */
static bool check(const char *path, const struct npuplan_pack_problem *problem,
		  const uint64_t *offsets, const struct npuplan_pack_result *result)
{
	struct npuplan_error error;
	uint64_t top;

	if (npuplan_pack_check(problem, offsets, &top, &error)) {
		failure(path, "the packing found is wrong: %s", error.text);
		return false;
	}
	if (top != result->top) {
		failure(path, "the packing found ends at %" PRIu64 ", not at %" PRIu64, top,
			result->top);
		return false;
	}
	return true;
}

/* @results: array to add to, or NULL to print a line. An exit code. */
static int pack_file(const struct arguments *args, const char *path, json_t *results)
{
	struct progress progress;
	struct npuplan_pack_options pack_options = {
		.packer = args->packer,
		.work_limit = args->limits.work,
		.memory_limit = args->limits.memory,
		.deadline_seconds = args->limits.deadline,
		.progress = progress_show,
		.context = &progress,
	};
	struct npuplan_pack_problem problem = {
		.capacity = args->capacity,
		.alignment = args->limits.alignment,
	};
	struct npuplan_pack_result result;
	struct npuplan_error error = { "out of memory" };
	struct pack_csv csv = { 0 };
	uint64_t *offsets = NULL;
	int status = EXIT_FAILED;
	bool ok = read_file(path, &csv);

	if (!ok)
		goto out;
	problem.items = csv.items;
	problem.item_count = csv.count;
	offsets = calloc((size_t)csv.count + 1, sizeof(*offsets));
	progress_begin(&progress, args->limits.deadline);
	ok = offsets && !npuplan_pack(&problem, &pack_options, offsets, &result, &error);
	progress_end(&progress);
	if (!ok) {
		failure(path, "%s", error.text);
		goto out;
	}
	if (is_packed(&result))
		ok = check(path, &problem, offsets, &result);
	if (ok && is_packed(&result) && args->output)
		ok = write_offsets(args->output, &csv, offsets);
	if (results)
		json_array_append_new(results, result_json(args, path, csv.count, &result));
	else
		print(args, path, csv.count, &result);
	if (!ok)
		goto out;
	if (result.status == NPUMEM_PLAN_STATUS_INFEASIBLE)
		status = EXIT_INFEASIBLE;
	else if (result.status == NPUMEM_PLAN_STATUS_UNKNOWN)
		status = EXIT_UNKNOWN;
	else
		status = progress_interrupted() && result.status != NPUMEM_PLAN_STATUS_OPTIMAL ?
				 EXIT_INTERRUPTED :
				 EXIT_OK;
out:
	free(offsets);
	pack_csv_fini(&csv);
	return status;
}

/*
 * The exit code of two files together is the worse one: a failure before what no file can change.
 */
static int worse(int a, int b)
{
	if (a == EXIT_OK || b == EXIT_OK)
		return a == EXIT_OK ? b : a;
	return a < b ? a : b;
}

static int bench_pack(int argc, char **argv)
{
	struct arguments args = { 0 };
	json_t *results = NULL;
	int status = EXIT_OK;

	command_parse(&command, argc, argv, &args);
	if (args.json) {
		results = json_array();
		if (!results)
			return failure("bench pack", "out of memory");
	}
	/* Who interrupts wants no more of any file. */
	for (int i = 0; i < args.file_count && !progress_interrupted(); i++)
		status = worse(status, pack_file(&args, args.files[i], results));
	if (results && print_json(json_pack("{so}", "files", results)) != EXIT_OK)
		status = EXIT_FAILED;
	return status;
}

int cmd_bench(int argc, char **argv)
{
	char name[64];
	bool asked;

	if (argc > 1 && !strcmp(argv[1], "pack")) {
		/* argp takes the name for usage texts from here. */
		snprintf(name, sizeof(name), "%s pack", argv[0]);
		argv[1] = name;
		return bench_pack(argc - 1, argv + 1);
	}
	asked = argc > 1 &&
		(!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "-?"));
	fprintf(asked ? stdout : stderr, "Usage: npumemctl bench pack [OPTION...] FILE.csv...\n"
					 "See npumemctl bench pack --help.\n");
	return asked ? EXIT_OK : EXIT_USAGE;
}
