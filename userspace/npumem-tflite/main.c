// SPDX-License-Identifier: MIT
/*
 * npumem-tflite: runs a model of TensorFlow Lite, with memory that npumem plans. Command line, and
 * one thing after the other.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../monotonic/monotonic.h"
#include "reference.h"
#include "report.h"
#include "runtime.h"

#define NAME	 "npumem-tflite"
#define DELEGATE "libnpumem-tflite.so"

/* As npumemctl has them. */
enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

#define MAX_RUNS    1000000
#define MAX_THREADS 256
#define MAX_INPUTS  32
#define MAX_OPTIONS 32

__attribute__((visibility("default"))) const char *argp_program_version = NAME
	" " NPUMEM_PACKAGE_VERSION;

enum {
	OPTION_RUNTIME = 256,
	OPTION_THREADS,
	OPTION_PIXELS,
	OPTION_OUTPUT,
	OPTION_ALL,
	OPTION_REFERENCE,
};

static const struct argp_option options[] = {
	{ "input", 'i', "FILE", 0,
	  "The next input: a picture (.png), a sound (.wav, 16-bit PCM of one channel), or bytes as "
	  "they are; those not given are random",
	  0 },
	{ "pixels", OPTION_PIXELS, "RANGE", 0,
	  "What pixels are for models of floats: -1..1 (default), 0..1 or 0..255", 0 },
	{ "seed", 's', "N", 0, "Of random inputs, of the first inference; N+1 of the next (0)", 0 },
	{ "runs", 'n', "N", 0, "How many inferences (10)", 0 },
	{ "compare", 'c', NULL, 0,
	  "Compare each inference with one of the plain runtime, byte for byte", 0 },
	{ "reference", OPTION_REFERENCE, NULL, 0,
	  "Have TensorFlow Lite compute with its reference kernels, which engine=engine equals",
	  0 },
	{ "labels", 'l', "FILE", 0, "Names of classes, a line each: print the five best", 0 },
	{ "output", OPTION_OUTPUT, "FILE", 0,
	  "Write the outputs of the last inference there, bytes as they are", 0 },
	{ "all", OPTION_ALL, NULL, 0,
	  "With --output: the outputs of all inferences, one behind the other", 0 },
	{ "delegate", 'd', "FILE", 0,
	  "Another delegate than " DELEGATE ", or none: the plain runtime", 0 },
	{ "option", 'o', "KEY=VALUE", 0, "Option of the delegate; may be given again", 0 },
	{ "runtime", OPTION_RUNTIME, "FILE", 0, "The library of TensorFlow Lite", 0 },
	{ "threads", OPTION_THREADS, "N", 0, "Threads of TensorFlow Lite (1)", 0 },
	{ "json", 'j', NULL, 0, "Print JSON", 0 },
	{ 0 },
};

struct arguments {
	const char *model;
	const char *inputs[MAX_INPUTS];
	size_t input_count;
	char *keys[MAX_OPTIONS];
	char *values[MAX_OPTIONS];
	size_t option_count;
	const char *delegate;
	const char *labels;
	const char *output;
	const char *runtime;
	enum pixels pixels;
	uint64_t seed;
	uint32_t runs;
	uint32_t threads;
	bool compare;
	bool all;
	bool reference;
	bool json;
};

static uint64_t parse_number(struct argp_state *state, const char *option, const char *text,
			     uint64_t min, uint64_t max)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || value < min || value > max)
		argp_error(state, "--%s %s: not a number from %" PRIu64 " to %" PRIu64, option,
			   text, min, max);
	return value;
}

static enum pixels parse_pixels(struct argp_state *state, const char *text)
{
	static const char *const ranges[] = { "-1..1", "0..1", "0..255" };

	for (unsigned int i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (!strcmp(text, ranges[i]))
			return (enum pixels)i;
	argp_error(state, "--pixels %s: not -1..1, 0..1 or 0..255", text);
	return PIXELS_SIGNED;
}

/* "KEY=VALUE", which is cut in two. */
static void add_option(struct argp_state *state, struct arguments *args, char *text)
{
	char *equals = strchr(text, '=');

	if (!equals || equals == text)
		argp_error(state, "--option %s: not KEY=VALUE", text);
	if (args->option_count == MAX_OPTIONS)
		argp_error(state, "--option %s: more than %d options", text, MAX_OPTIONS);
	*equals = '\0';
	args->keys[args->option_count] = text;
	args->values[args->option_count++] = equals + 1;
}

static void add_input(struct argp_state *state, struct arguments *args, const char *path)
{
	if (args->input_count == MAX_INPUTS)
		argp_error(state, "--input %s: more than %d inputs", path, MAX_INPUTS);
	args->inputs[args->input_count++] = path;
}

static void check_arguments(struct argp_state *state, const struct arguments *args)
{
	if (!args->model)
		argp_error(state, "no MODEL is given");
	if (args->all && !args->output)
		argp_error(state, "--all without --output: there is nowhere to write them");
	if (args->delegate)
		return;
	if (args->compare)
		argp_error(state,
			   "--compare with --delegate none: both would be the plain runtime");
	if (args->option_count)
		argp_error(state, "--option with --delegate none: there is no delegate to tell");
}

static error_t parse(int key, char *value, struct argp_state *state)
{
	struct arguments *args = state->input;

	switch (key) {
	case 'i':
		add_input(state, args, value);
		return 0;
	case 's':
		args->seed = parse_number(state, "seed", value, 0, UINT64_MAX - MAX_RUNS);
		return 0;
	case 'n':
		args->runs = (uint32_t)parse_number(state, "runs", value, 1, MAX_RUNS);
		return 0;
	case 'c':
		args->compare = true;
		return 0;
	case 'l':
		args->labels = value;
		return 0;
	case 'd':
		args->delegate = strcmp(value, "none") != 0 ? value : NULL;
		return 0;
	case 'o':
		add_option(state, args, value);
		return 0;
	case 'j':
		args->json = true;
		return 0;
	case OPTION_OUTPUT:
		args->output = value;
		return 0;
	case OPTION_REFERENCE:
		args->reference = true;
		return 0;
	case OPTION_ALL:
		args->all = true;
		return 0;
	case OPTION_RUNTIME:
		args->runtime = value;
		return 0;
	case OPTION_THREADS:
		args->threads = (uint32_t)parse_number(state, "threads", value, 1, MAX_THREADS);
		return 0;
	case OPTION_PIXELS:
		args->pixels = parse_pixels(state, value);
		return 0;
	case ARGP_KEY_ARG:
		if (args->model)
			argp_error(state, "%s: there is a model already", value);
		args->model = value;
		return 0;
	case ARGP_KEY_END:
		check_arguments(state, args);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "MODEL",
	.doc = NAME " runs a model (.tflite) in TensorFlow Lite, with memory that npumem plans, "
		    "verifies and enforces."
		    "\vExit status: 0 all is well, 1 failure or different outputs, 2 wrong usage. "
		    "See " NAME "(1).",
};

/* struct program - all that is to be given back at the end */
struct program {
	struct tflite tflite;
	struct reference reference;
	struct addition addition;
	struct TfLiteModel *model;
	struct runner ours;
	struct runner plain;
	struct work work;
	struct report report;
};

static int failure(const char *where, const struct refusal *why)
{
	char plain[256];

	fprintf(stderr, NAME ": %s: %s\n", plain_line(plain, sizeof(plain), where), why->text);
	return EXIT_FAILED;
}

/* TensorFlow Lite says only that it does not work. */
static int check_file(const char *path, struct refusal *why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat info;

	if (fd < 0)
		return refuse(why, -errno, "%s", strerror(errno));
	if (fstat(fd, &info))
		info.st_mode = S_IFREG;
	close(fd);
	if (!S_ISREG(info.st_mode))
		return refuse(why, -EINVAL, "not a file");
	return 0;
}

static int load_model(struct program *program, const char *path, struct refusal *why)
{
	int64_t start;
	int err = check_file(path, why);

	if (err)
		return err;
	start = monotonic_ns();
	program->model = program->tflite.TfLiteModelCreateFromFile(path);
	program->report.load = monotonic_ns() - start;
	if (!program->model)
		return refuse(why, -EINVAL, "not a model that TensorFlow Lite reads");
	return 0;
}

/*
 * With inputs=reuse the bytes of an input are others' once operators have read it. A delegate does
 * not see what a model's outputs are, so that it cannot refuse one that is an input, too.
 */
static int check_reuse(const struct program *program, const struct arguments *args,
		       struct refusal *why)
{
	const struct tflite *t = &program->tflite;
	const struct TfLiteInterpreter *interpreter = program->ours.interpreter;
	int32_t inputs = t->TfLiteInterpreterGetInputTensorCount(interpreter);
	int32_t outputs = t->TfLiteInterpreterGetOutputTensorCount(interpreter);
	bool reuse = false;

	for (size_t i = 0; i < args->option_count; i++)
		reuse = reuse ||
			(!strcmp(args->keys[i], "inputs") && !strcmp(args->values[i], "reuse"));
	for (int32_t o = 0; reuse && o < outputs; o++)
		for (int32_t i = 0; i < inputs; i++)
			if (t->TfLiteInterpreterGetOutputTensor(interpreter, o) ==
			    t->TfLiteInterpreterGetInputTensor(program->ours.interpreter, i))
				return refuse(
					why, -EINVAL,
					"output %d is an input, too, whose bytes inputs=reuse "
					"gives to others",
					(int)o);
	return 0;
}

static int open_runners(struct program *program, const struct arguments *args, struct refusal *why)
{
	struct runner *both[] = { &program->ours, &program->plain };
	int err;

	err = runner_open(&program->ours, &program->tflite, program->model, args->threads,
			  program->addition.delegate, why);
	if (!err)
		err = check_reuse(program, args, why);
	if (!err && args->compare)
		err = runner_open(&program->plain, &program->tflite, program->model, args->threads,
				  NULL, why);
	for (size_t i = 0; !err && i < 2; i++) {
		both[i]->times.list = calloc(args->runs, sizeof(*both[i]->times.list));
		if (!both[i]->times.list)
			err = refuse(why, -ENOMEM, "no memory for %u times", args->runs);
	}
	return err;
}

static int get_stats(struct program *program, struct refusal *why)
{
	struct npumem_tflite_stats *stats = &program->report.stats;
	int err;

	if (!program->addition.get_stats)
		return 0;
	stats->size = sizeof(*stats);
	err = program->addition.get_stats(program->addition.delegate, stats);
	if (err)
		return refuse(why, err, "the delegate does not tell its figures: %s",
			      strerror(-err));
	program->report.has_stats = true;
	return 0;
}

/* All inferences; with --all, what comes of each is written at once. */
static int infer(struct program *program, const struct arguments *args, const char **where,
		 struct refusal *why)
{
	struct work *work = &program->work;
	int err = 0;

	if (args->all) {
		work->all = fopen(args->output, "wbe");
		if (!work->all) {
			*where = args->output;
			return refuse(why, -errno, "%s", strerror(errno));
		}
	}
	err = work_do(work, why);
	if (work->all && fclose(work->all) && !err) {
		*where = args->output;
		err = refuse(why, -errno, "%s", strerror(errno));
	}
	work->all = NULL;
	return err;
}

/* Everything but the report; @where becomes what a failure is about. */
static int work(struct program *program, struct arguments *args, const char **where,
		struct refusal *why)
{
	int err = runtime_open(args->runtime, &program->tflite, why);

	if (!err && args->reference) {
		err = reference_open(&program->reference, program->tflite.library, why);
		program->tflite.reference = &program->reference;
	}
	if (!err && args->delegate) {
		*where = args->delegate;
		err = addition_open(&program->addition, args->delegate, args->keys, args->values,
				    args->option_count, why);
	}
	if (!err && args->labels) {
		*where = args->labels;
		err = labels_read(args->labels, &program->report.labels, why);
	}
	*where = err ? *where : args->model;
	if (!err)
		err = load_model(program, args->model, why);
	if (!err)
		err = open_runners(program, args, why);
	if (!err)
		err = work_init(&program->work, args->inputs, args->input_count, args->pixels,
				where, why);
	*where = err ? *where : args->model;
	if (!err)
		err = infer(program, args, where, why);
	if (!err)
		err = get_stats(program, why);
	if (!err && args->labels) {
		*where = args->labels;
		err = report_check(&program->report, why);
	}
	if (!err && args->output && !args->all) {
		*where = args->output;
		err = work_write(&program->work, args->output, why);
	}
	return err;
}

/* Interpreters first: they use the delegate, and the model's file. */
static void clean_up(struct program *program)
{
	work_fini(&program->work);
	runner_close(&program->ours);
	runner_close(&program->plain);
	addition_close(&program->addition);
	if (program->model)
		program->tflite.TfLiteModelDelete(program->model);
	labels_fini(&program->report.labels);
	free(program->ours.times.list);
	free(program->plain.times.list);
}

static int print(struct program *program, const struct arguments *args)
{
	struct refusal why;

	if (!args->json) {
		report_text(&program->report);
	} else if (!report_json(&program->report)) {
		refuse(&why, -ENOMEM, "no memory for JSON");
		return failure(args->model, &why);
	}
	if (fflush(stdout) || ferror(stdout)) {
		refuse(&why, -EIO, "%s", strerror(errno));
		return failure("standard output", &why);
	}
	return *program->work.difference ? EXIT_FAILED : EXIT_OK;
}

int main(int argc, char **argv)
{
	struct arguments args = { .delegate = DELEGATE, .runs = 10, .threads = 1 };
	static struct program program;
	struct refusal why = { "" };
	const char *where;
	int code;

	argp_err_exit_status = EXIT_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &args))
		return EXIT_USAGE;
	program.work = (struct work){
		.ours = &program.ours,
		.plain = args.compare ? &program.plain : NULL,
		.seed = args.seed,
		.runs = args.runs,
	};
	program.report.model = args.model;
	program.report.delegate = args.delegate;
	program.report.work = &program.work;
	where = args.runtime ? args.runtime : "no runtime";
	if (work(&program, &args, &where, &why))
		code = failure(where, &why);
	else
		code = print(&program, &args);
	clean_up(&program);
	return code;
}
