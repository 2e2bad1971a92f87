/* SPDX-License-Identifier: MIT */
/* npumemctl show: plans drawn, as text, as a page or as a picture. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "model/model.h"
#include "picture/picture.h"
#include "report/report.h"

#define MAX_PLANS   2
/* npuplan_plan_print() takes no more. */
#define MAX_COLUMNS 512

struct arguments {
	struct tiling tiling;
	struct model_reading reading;
	const char *graph;
	const char *html;
	const char *svg;
	const char *table;
	const char *csv;
	const char *c_header;
	const char *plans[MAX_PLANS];
	unsigned int plan_count;
	unsigned int columns;
};

static const struct command_option options[] = {
	{ "graph", 0, VALUE_TEXT, "FILE", "The graph that the plan is of (needed)",
	  offsetof(struct arguments, graph) },
	{ "columns", 0, VALUE_COUNT, "N",
	  "Draw the arena with N characters. Without it lines fit the terminal, or $COLUMNS, and "
	  "are cut there; elsewhere the drawing fits 80 characters and names are whole",
	  offsetof(struct arguments, columns), 1, MAX_COLUMNS },
	{ "html", 0, VALUE_TEXT, "FILE",
	  "Write a page with a picture of the plan, or of two side by side (\"-\": standard output)",
	  offsetof(struct arguments, html) },
	{ "svg", 0, VALUE_TEXT, "FILE", "Write the picture alone, for papers",
	  offsetof(struct arguments, svg) },
	{ "table", 0, VALUE_TEXT, "FILE",
	  "Write a table: where each tensor lies, and for how long (\"-\": standard output)",
	  offsetof(struct arguments, table) },
	{ "csv", 0, VALUE_TEXT, "FILE", "Write this table as CSV",
	  offsetof(struct arguments, csv) },
	{ "c-header", 0, VALUE_TEXT, "FILE", "Write it as macros of C",
	  offsetof(struct arguments, c_header) },
	{ 0 },
};

/*
 * struct listing - a table that is asked for
 * @path: of its file; NULL: it is not
 */
struct listing {
	const char *option;
	const char *path;
	void (*write)(FILE *out, const struct npuplan_graph *graph,
		      const struct npuplan_plan *plan);
};

#define LISTINGS 3

static void listings_of(const struct arguments *args, struct listing listings[LISTINGS])
{
	listings[0] = (struct listing){ "--table", args->table, placements_print };
	listings[1] = (struct listing){ "--csv", args->csv, placements_csv };
	listings[2] = (struct listing){ "--c-header", args->c_header, placements_header };
}

static bool wants_picture(const struct arguments *args)
{
	return args->html || args->svg;
}

static bool wants_listing(const struct arguments *args)
{
	return args->table || args->csv || args->c_header;
}

static void check_files(const struct argp_state *state, const struct arguments *args)
{
	const struct named_path inputs[] = { { "--graph", args->graph },
					     { "PLAN", args->plans[0] },
					     { "PLAN", args->plans[1] },
					     { 0 } };
	const struct named_path outputs[] = {
		{ "--html", args->html },	  { "--svg", args->svg },
		{ "--table", args->table },	  { "--csv", args->csv },
		{ "--c-header", args->c_header }, { 0 }
	};

	outputs_check(state, inputs, outputs);
}

/* Standard output is for one of them. */
static void check_stdout(const struct argp_state *state, const struct arguments *args)
{
	struct listing outputs[LISTINGS + 2];
	const char *first = NULL;

	listings_of(args, outputs);
	outputs[LISTINGS] = (struct listing){ "--html", args->html, NULL };
	outputs[LISTINGS + 1] = (struct listing){ "--svg", args->svg, NULL };
	for (int i = LISTINGS + 1; i >= 0; i--) {
		if (!is_stdout(outputs[i].path))
			continue;
		if (first)
			usage_error(state, "%s - and %s - both want standard output",
				    outputs[i].option, first);
		first = outputs[i].option;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *args = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (args->plan_count == MAX_PLANS)
			usage_error(state, "only two PLANs can be shown side by side");
		args->plans[args->plan_count++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (!args->plan_count)
			usage_error(state, "which PLAN?");
		if (args->plan_count > 1 && !wants_picture(args))
			usage_error(state, "two PLANs need --html or --svg");
		if (args->plan_count > 1 && wants_listing(args))
			usage_error(state, "a table is of one PLAN");
		check_stdout(state, args);
		if (!args->graph)
			usage_error(state,
				    "--graph is needed: a plan alone has no names and sizes");
		check_files(state, args);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct command command = {
	.options = options,
	.parse = parse,
	.args_doc = "PLAN [PLAN]",
	.doc = "Draw a plan: one line a step, one character for a part of the arena, a letter or "
	       "digit for each tensor that lives there. With --html or --svg a picture: time across, "
	       "offset up, a box for each tensor and for each range of bytes that lives as long; with "
	       "--table, --csv or --c-header a list of them.",
	.shared = { SHARED_WITH_MODELS(struct arguments) },
};

/*
 * struct shown - a plan, the graph it is of, tiled as it says, and its picture
 * @name: the plan's, as plain_text(); NULL before make_plain()
 */
struct shown {
	struct model model;
	struct plan_file file;
	struct picture picture;
	char *name;
};

/* Names do no harm to a terminal, and do not turn the text of a page around them. */
static void make_plain(struct shown *shown)
{
	struct npumem_plan_info *info = &shown->file.plan->info;
	char *planner = plain_text(info->planner, false);

	snprintf(info->planner, sizeof(info->planner), "%s", planner);
	free(planner);
	plain_names(shown->model.graph);
	shown->name = plain_text(shown->file.path, false);
}

static int write_picture(const char *path, struct picture *pictures, unsigned int count,
			 void (*write)(FILE *out, struct picture *pictures, unsigned int count))
{
	struct text text;

	text_begin(&text);
	write(text.out, pictures, count);
	return text_write(&text, path);
}

/* "12345: ", " (1234k) " and the beginning of a name. */
#define BESIDE_ARENA 33
#define USUAL_WIDTH  80

/* Characters for the arena, in a line of @width. */
static unsigned int arena_columns(unsigned int width)
{
	unsigned int columns = width > BESIDE_ARENA ? width - BESIDE_ARENA : 1;

	if (columns < 8)
		columns = 8;
	return columns > MAX_COLUMNS ? MAX_COLUMNS : columns;
}

static int draw_text(const struct arguments *args, struct shown *shown)
{
	unsigned int width = args->columns ? 0 : terminal_width(STDOUT_FILENO);
	unsigned int columns = args->columns ? args->columns :
					       arena_columns(width ? width : USUAL_WIDTH);
	struct text text;
	int err;

	make_plain(shown);
	text_begin(&text);
	err = npuplan_plan_print(shown->model.graph, shown->file.plan, columns, text.out);
	if (!err)
		return text_end_cut(&text, width);
	text_drop(&text);
	return failure(shown->file.path, "cannot be drawn: %s",
		       err == -EINVAL ? "it does not fit its graph" : strerror(-err));
}

static int write_listings(const struct arguments *args, struct shown *shown)
{
	struct listing listings[LISTINGS];
	int status = EXIT_OK;

	listings_of(args, listings);
	plain_names(shown->model.graph);
	for (int i = 0; i < LISTINGS && status == EXIT_OK; i++) {
		struct text text;

		if (!listings[i].path)
			continue;
		text_begin(&text);
		listings[i].write(text.out, shown->model.graph, shown->file.plan);
		status = text_write(&text, listings[i].path);
	}
	return status;
}

static int draw_pictures(const struct arguments *args, struct shown *shown)
{
	struct picture pictures[MAX_PLANS];
	int status = EXIT_OK;

	for (unsigned int i = 0; i < args->plan_count; i++) {
		int err;

		make_plain(&shown[i]);
		err = picture_init(&shown[i].picture, shown[i].name, shown[i].model.graph,
				   shown[i].file.plan);
		if (err)
			return failure(shown[i].file.path, "cannot be drawn: %s",
				       err == -EINVAL ? "it does not fit its graph" :
							strerror(-err));
		pictures[i] = shown[i].picture;
	}
	if (args->html)
		status = write_picture(args->html, pictures, args->plan_count, picture_write_html);
	if (status == EXIT_OK && args->svg)
		status = write_picture(args->svg, pictures, args->plan_count, picture_write_svg);
	return status;
}

static int draw(const struct arguments *args, struct shown *shown)
{
	int status = EXIT_OK;

	if (!wants_picture(args) && !wants_listing(args))
		return draw_text(args, shown);
	if (wants_picture(args))
		status = draw_pictures(args, shown);
	/* Names become plain text then. */
	if (status == EXIT_OK && wants_listing(args))
		status = write_listings(args, shown);
	return status;
}

int cmd_show(int argc, char **argv)
{
	struct arguments args = { 0 };
	struct shown shown[MAX_PLANS] = { 0 };
	int status = EXIT_OK;

	command_parse(&command, argc, argv, &args);
	for (unsigned int i = 0; i < args.plan_count && status == EXIT_OK; i++) {
		if (!model_with_plan(&shown[i].model, args.graph, &args.reading, &shown[i].file,
				     args.plans[i], &args.tiling))
			status = EXIT_FAILED;
		/* The other plan is of the same graph. */
		args.reading.quiet = true;
	}
	if (status == EXIT_OK)
		status = draw(&args, shown);
	for (unsigned int i = 0; i < args.plan_count; i++) {
		picture_fini(&shown[i].picture);
		free(shown[i].name);
		plan_file_fini(&shown[i].file);
		model_fini(&shown[i].model);
	}
	tiling_fini(&args.tiling);
	reading_fini(&args.reading);
	return status;
}
