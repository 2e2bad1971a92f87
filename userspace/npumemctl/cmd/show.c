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

#define MAX_PLANS PICTURE_PLANS
/* npuplan_plan_print() takes no more. */
#define MAX_WIDTH 512

enum { OPTION_PLANNER = 0x200 };

struct arguments {
	struct tiling tiling;
	struct model_reading reading;
	struct limits limits;
	struct option_texts planners;
	const char *graph;
	const char *html;
	const char *svg;
	const char *table;
	const char *csv;
	const char *c_header;
	const char *plans[MAX_PLANS];
	unsigned int plan_count;
	unsigned int width;
};

#define ALL_PLANNERS "all"

/* What --planner takes: planners, and the word for all of them but the published ones. */
static const char *planner_word(unsigned int i)
{
	return i ? npuplan_planner_name(i - 1) : ALL_PLANNERS;
}

static const struct command_option options[] = {
	{ "graph", 0, VALUE_TEXT, "FILE", "The graph that the plan is of (needed)",
	  offsetof(struct arguments, graph) },
	{ "width", 0, VALUE_COUNT, "N",
	  "Draw the arena with N characters. Without it lines fit the terminal, or $COLUMNS, and "
	  "are cut there; elsewhere the drawing fits 80 characters and names are whole",
	  offsetof(struct arguments, width), 1, MAX_WIDTH },
	{ "html", 0, VALUE_TEXT, "FILE",
	  "Write a page with a picture of the plan, or of two side by side, which of more plans a "
	  "table lets one choose (\"-\": standard output)",
	  offsetof(struct arguments, html) },
	{ "planner", OPTION_PLANNER, VALUE_OTHER, "NAME",
	  "With --html: plan here and now, as \"plan\" does, for a line of the page's table (again "
	  "and again; \"all\": by each planner but the published ones). What a planner refuses is "
	  "a line with its reason",
	  .list = planner_word },
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
	struct named_path inputs[MAX_PLANS + 2] = { { "--graph", args->graph } };
	const struct named_path outputs[] = {
		{ "--html", args->html },	  { "--svg", args->svg },
		{ "--table", args->table },	  { "--csv", args->csv },
		{ "--c-header", args->c_header }, { 0 }
	};

	for (unsigned int i = 0; i < args->plan_count; i++)
		inputs[i + 1] = (struct named_path){ "PLAN", args->plans[i] };
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

static void add_planner(const struct argp_state *state, struct arguments *args, const char *name)
{
	bool all = !strcmp(name, ALL_PLANNERS), known = all;
	const char *planner;

	for (unsigned int i = 0; (planner = npuplan_planner_name(i)); i++) {
		if (all ? npuplan_planner_published(i) : strcmp(planner, name) != 0)
			continue;
		option_texts_add(&args->planners, planner);
		known = true;
	}
	if (!known)
		usage_error(state,
			    "--planner: there is no planner %s; npumemctl plan --list-planners "
			    "names them",
			    name);
}

static void check_plans(const struct argp_state *state, const struct arguments *args)
{
	size_t count = args->plan_count + args->planners.count;

	if (!count)
		usage_error(state, "which PLAN?");
	if (count > MAX_PLANS)
		usage_error(state, "more than %d plans", MAX_PLANS);
	if (!args->planners.count && (args->limits.deadline || args->limits.work ||
				      args->limits.memory || args->limits.alignment))
		usage_error(
			state,
			"--deadline, --work, --memory and --align are for what --planner plans");
	if (args->planners.count && !args->html)
		usage_error(state, "--planner needs --html");
	if (args->planners.count && (args->svg || wants_listing(args)))
		usage_error(state, "what --planner plans is for --html alone");
	if (count > 1 && !wants_picture(args))
		usage_error(state, "two PLANs need --html or --svg");
	if (count > 2 && args->svg)
		usage_error(state, "--svg draws two PLANs at most");
	if (count > 1 && wants_listing(args))
		usage_error(state, "a table is of one PLAN");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *args = state->input;

	switch (key) {
	case OPTION_PLANNER:
		add_planner(state, args, arg);
		return 0;
	case ARGP_KEY_ARG:
		if (args->plan_count == MAX_PLANS)
			usage_error(state, "more than %d plans", MAX_PLANS);
		args->plans[args->plan_count++] = arg;
		return 0;
	case ARGP_KEY_END:
		check_plans(state, args);
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
	.args_doc = "PLAN...\n--html FILE --planner NAME... [PLAN...]",
	.doc = "Draw a plan: one line a step, one character for a part of the arena, a letter or "
	       "digit for each tensor that lives there. With --html or --svg a picture: time across, "
	       "offset up, a box for each tensor and for each range of bytes that lives as long; with "
	       "--table, --csv or --c-header a list of them.",
	.shared = { SHARED_WITH_MODELS(struct arguments),
		    { &limits_command, offsetof(struct arguments, limits) } },
};

/*
 * struct shown - a plan, the graph it is of, tiled as it says, and its picture
 * @file: of a plan that was made here the path is its planner
 * @name: the plan's, as plain_text(); NULL before make_plain()
 * @refusal: why its planner has made none
 */
struct shown {
	struct model model;
	struct plan_file file;
	struct picture picture;
	char *name;
	struct npuplan_error refusal;
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

/* Plans from files, then plans of planners. */
static unsigned int shown_count(const struct arguments *args)
{
	return args->plan_count + (unsigned int)args->planners.count;
}

static int write_svg(const char *path, struct picture *pictures, unsigned int count)
{
	struct text text;

	text_begin(&text);
	picture_write_svg(text.out, pictures, count);
	return text_write(&text, path);
}

/* "12345: ", " (1234k) " and the beginning of a name. */
#define BESIDE_ARENA 33
#define USUAL_WIDTH  80

/* Characters for the arena, in a line of @line. */
static unsigned int arena_width(unsigned int line)
{
	unsigned int width = line > BESIDE_ARENA ? line - BESIDE_ARENA : 1;

	if (width < 8)
		width = 8;
	return width > MAX_WIDTH ? MAX_WIDTH : width;
}

static int draw_text(const struct arguments *args, struct shown *shown)
{
	unsigned int line = args->width ? 0 : terminal_width(STDOUT_FILENO);
	unsigned int width = args->width ? args->width : arena_width(line ? line : USUAL_WIDTH);
	struct text text;
	int err;

	make_plain(shown);
	text_begin(&text);
	err = npuplan_plan_print(shown->model.graph, shown->file.plan, width, text.out);
	if (!err)
		return text_end_cut(&text, line);
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

static int write_page(const struct arguments *args, const struct shown *shown,
		      struct picture *pictures, unsigned int count)
{
	struct picture_refusal refusals[MAX_PLANS];
	struct picture_page page = { .pictures = pictures, .count = count, .refusals = refusals };
	struct text text;

	for (unsigned int i = 0; i < shown_count(args); i++)
		if (!shown[i].file.plan)
			refusals[page.refusal_count++] =
				(struct picture_refusal){ shown[i].file.path,
							  shown[i].refusal.text };
	text_begin(&text);
	picture_write_html(text.out, &page);
	return text_write(&text, args->html);
}

static int draw_pictures(const struct arguments *args, struct shown *shown)
{
	struct picture pictures[MAX_PLANS];
	unsigned int count = 0;
	int status = EXIT_OK;

	for (unsigned int i = 0; i < shown_count(args); i++) {
		int err;

		if (!shown[i].file.plan)
			continue;
		make_plain(&shown[i]);
		err = picture_init(&shown[i].picture, shown[i].name, shown[i].model.graph,
				   shown[i].file.plan);
		if (err)
			return failure(shown[i].file.path, "cannot be drawn: %s",
				       err == -EINVAL ? "it does not fit its graph" :
							strerror(-err));
		pictures[count++] = shown[i].picture;
	}
	if (!count)
		return failure(args->graph, "no planner has a plan of it: %s",
			       shown[0].refusal.text);
	if (args->html)
		status = write_page(args, shown, pictures, count);
	if (status == EXIT_OK && args->svg)
		status = write_svg(args->svg, pictures, count);
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

/* A plan of a planner, or why there is none. False: the graph cannot be read or tiled. */
static bool make_plan(struct arguments *args, struct shown *shown, const char *planner)
{
	const struct npuplan_options asked = {
		.planner = planner,
		.deadline_seconds = args->limits.deadline,
		.work_limit = args->limits.work,
		.memory_limit = args->limits.memory,
		.alignment = args->limits.alignment,
	};
	struct tiling tiling = args->tiling;

	shown->file.path = planner;
	tiling_for_planner(&tiling, planner);
	if (!model_import(&shown->model, args->graph, &args->reading) ||
	    !model_tile(&shown->model, &tiling))
		return false;
	npuplan_plan(shown->model.graph, &asked, &shown->file.plan, &shown->refusal);
	return true;
}

static bool get_plan(struct arguments *args, struct shown *shown, unsigned int i)
{
	if (i >= args->plan_count)
		return make_plan(args, shown, args->planners.list[i - args->plan_count]);
	return model_with_plan(&shown->model, args->graph, &args->reading, &shown->file,
			       args->plans[i], &args->tiling);
}

static void shown_fini(struct shown *shown)
{
	picture_fini(&shown->picture);
	free(shown->name);
	plan_file_fini(&shown->file);
	model_fini(&shown->model);
}

int cmd_show(int argc, char **argv)
{
	struct arguments args = { 0 };
	struct shown *shown;
	int status = EXIT_OK;

	command_parse(&command, argc, argv, &args);
	shown = calloc(shown_count(&args), sizeof(*shown));
	if (!shown)
		abort();
	for (unsigned int i = 0; i < shown_count(&args) && status == EXIT_OK; i++) {
		if (!get_plan(&args, &shown[i], i))
			status = EXIT_FAILED;
		/* The other plans are of the same graph. */
		args.reading.quiet = true;
	}
	if (status == EXIT_OK)
		status = draw(&args, shown);
	for (unsigned int i = 0; i < shown_count(&args); i++)
		shown_fini(&shown[i]);
	free(shown);
	free(args.planners.list);
	tiling_fini(&args.tiling);
	reading_fini(&args.reading);
	return status;
}
