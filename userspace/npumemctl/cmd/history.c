/* SPDX-License-Identifier: MIT */
/* npumemctl history: what top and monitor have recorded, drawn. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "cli/cli.h"
#include "history/drawing.h"

struct arguments {
	const char *html;
	const char *svg;
	struct option_texts recordings;
};

static const struct command_option options[] = {
	{ "html", 0, VALUE_TEXT, "FILE",
	  "Write a page with the picture, its clients and its refusals (\"-\": standard output)",
	  offsetof(struct arguments, html) },
	{ "svg", 0, VALUE_TEXT, "FILE", "Write the picture alone, for papers",
	  offsetof(struct arguments, svg) },
	{ 0 },
};

static void check_files(const struct argp_state *state, const struct arguments *args)
{
	const struct named_path outputs[] = { { "--html", args->html },
					      { "--svg", args->svg },
					      { 0 } };

	for (size_t i = 0; i < args->recordings.count; i++) {
		const struct named_path inputs[] = { { "RECORDING", args->recordings.list[i] },
						     { 0 } };

		outputs_check(state, inputs, outputs);
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *args = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		option_texts_add(&args->recordings, arg);
		return 0;
	case ARGP_KEY_END:
		if (!args->recordings.count)
			usage_error(state, "which RECORDING?");
		if (!args->html && !args->svg)
			usage_error(state, "what is it to be drawn as, --html or --svg?");
		if (is_stdout(args->html) && is_stdout(args->svg))
			usage_error(state, "--html - and --svg - both want standard output");
		check_files(state, args);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct command command = {
	.options = options,
	.parse = parse,
	.args_doc = "RECORDING...",
	.doc = "Draw what a device did over time: who held how much of its carveout, whose jobs ran, "
	       "and marks for what was refused or failed. A RECORDING is what \"npumemctl top -j\" "
	       "or \"npumemctl monitor -j\" has printed, or both (\"-\": standard input).",
};

/* What is drawn all the same. */
static void warn(const char *where, const struct history_notes *notes)
{
	if (notes->backs)
		warning(where,
			"line %lu: the clock was set back by %.3f s; what is drawn is in the order "
			"of times, whatever was first%s",
			notes->back, (double)notes->back_ms / 1000,
			notes->backs > 1 ? "; so it is in lines below" : "");
	if (notes->damages)
		warning(where, "line %lu: %s; it is left out%s", notes->damaged, notes->damage,
			notes->damages > 1 ? ", as are lines below" : "");
	if (notes->cut)
		warning(where, "line %lu: the last line was cut, and is left out", notes->cut);
}

static int read_recording(struct history *history, const char *path)
{
	bool is_stdin = !strcmp(path, "-");
	FILE *in = is_stdin ? stdin : fopen(path, "re");
	struct npuplan_error error = { 0 };
	struct history_notes notes;
	int err;

	if (!in)
		return failure(path, "%s", strerror(errno));
	err = history_read(history, in, &notes, &error);
	if (!is_stdin)
		fclose(in);
	else
		path = "standard input";
	if (err)
		return failure(path, "%s", error.text);
	warn(path, &notes);
	return EXIT_OK;
}

static int draw(const char *path, const struct history *history,
		int (*write)(FILE *out, const struct history *history))
{
	struct text text;
	int err;

	text_begin(&text);
	err = write(text.out, history);
	if (!err)
		return text_write(&text, path);
	text_drop(&text);
	return failure(path, "%s", strerror(-err));
}

static void warn_break(const struct history_break *pause)
{
	int64_t ms = pause->end - pause->begin;

	warning("history",
		"nothing was recorded for %" PRId64 ".%03" PRId64 " s, or the clock was set "
		"forward by so much; this is drawn shortened",
		ms / 1000, ms % 1000);
}

static int draw_all(const struct arguments *args, struct history *history)
{
	struct npuplan_error error = { 0 };
	int status = EXIT_OK;

	if (history_end(history, &error))
		return failure("history", "%s", error.text);
	for (unsigned int i = 0; i < history->break_count; i++)
		warn_break(&history->breaks[i]);
	if (args->html)
		status = draw(args->html, history, history_write_html);
	if (status == EXIT_OK && args->svg)
		status = draw(args->svg, history, history_write_svg);
	return status;
}

int cmd_history(int argc, char **argv)
{
	struct arguments args = { 0 };
	struct history history = { 0 };
	int status = EXIT_OK;

	command_parse(&command, argc, argv, &args);
	for (size_t i = 0; i < args.recordings.count && status == EXIT_OK; i++)
		status = read_recording(&history, args.recordings.list[i]);
	if (status == EXIT_OK)
		status = draw_all(&args, &history);
	history_fini(&history);
	free(args.recordings.list);
	return status;
}
