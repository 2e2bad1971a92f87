/* SPDX-License-Identifier: MIT */
/*
 * npumemctl: one file a command (cmd/); this is what they share.
 *
 * Every command parses its own arguments with argp and returns an exit code.
 * Errors go to standard error as "npumemctl: WHERE: what is wrong"; with -j
 * standard output has one JSON object and nothing else.
 */
#ifndef NPUMEMCTL_H
#define NPUMEMCTL_H

#include <argp.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "npuimport.h"
#include "npuplan.h"

enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_INFEASIBLE = 3,  /* there is no plan within the budget: proved */
	EXIT_UNKNOWN = 4,     /* none was found, and none ruled out */
	EXIT_INTERRUPTED = 5, /* a signal ended the search: the best found so far */
};

/* Commands. @argv[0] is "npumemctl COMMAND". */
int cmd_devices(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_bench(int argc, char **argv);

/* --------------------------------------------------------- command_line.c */

/** command_parse() - argp_parse(), what a command begins with
 *
 * Knows -h, too. After command_complete() it prints what the last of @argv can be
 * completed to instead, and ends the program: a line each, with a tab and what it is;
 * or ":files".
 */
void command_parse(const struct argp *argp, int argc, char **argv, void *input);
void command_complete(void);
/* Such a line, if @word begins as @typed; @what may be NULL. */
void complete_word(const char *word, const char *typed, const char *what);

/* ------------------------------------------------------------- messages.c */

/** plain_text() - a copy whose control characters are "\xNN", for a terminal; free() it
 * @lines: ends of lines stay
 *
 * So are characters that change the direction of text, or end lines, and bytes that are
 * no UTF-8.
 *
 * Names are a model's: what they hold must not move the cursor of whoever looks.
 */
char *plain_text(const char *text, bool lines);
/** plain_names() - rename all of a graph so, when nothing but text is still to be written
 *
 * What has no name gets one of its id: "tensor 7".
 */
void plain_names(struct npuplan_graph *graph);

/** failure() - "npumemctl: @where: ..." on standard error; returns EXIT_FAILED
 *
 * Control characters as by plain_text(): it is one line.
 */
__attribute__((format(printf, 2, 3))) int failure(const char *where, const char *fmt, ...);

/** warning() - "npumemctl: @where: warning: ..." on standard error, likewise */
__attribute__((format(printf, 2, 3))) void warning(const char *where, const char *fmt, ...);

/* Most bytes of a name in a line with others. */
#define SHORT_NAME 40

/** struct short_text - a text, or its beginning and "..." */
struct short_text {
	char s[SHORT_NAME + 1];
};
struct short_text short_text(const char *text);

/** failure_text() - what failure() said last: "" before */
const char *failure_text(void);

/** struct size_text - "1505280 bytes (1.4 MiB)" */
struct size_text {
	char s[64];
};
struct size_text size_text(uint64_t bytes);
/* "1.4 MiB" */
struct size_text short_size(uint64_t bytes);

/**
 * struct text - what is to be printed, all at once, so that an error has its cause
 * @out: to print to
 */
struct text {
	FILE *out;
	char *bytes;
	size_t size;
};

/* Begin; end by printing all of it on standard output, which returns an exit code, or none. */
void text_begin(struct text *text);
int text_end(struct text *text);
/* The same, as print_cut(); @width 0: as it is. */
int text_end_cut(struct text *text, unsigned int width);
void text_drop(struct text *text);

/** print_json() - one object on standard output; takes the reference */
int print_json(json_t *object);

/** utf8_character() - bytes of the character at @text, and which it is; 0: that is none */
size_t utf8_character(const char *text, uint32_t *character);

/* ------------------------------------------------------------- terminal.c */

/** terminal_width() - characters of a line: $COLUMNS, or what the terminal @fd says
 *
 * 80 if it does not know; 0: @fd is no terminal, and $COLUMNS is not set.
 */
unsigned int terminal_width(int fd);
/** terminal_rewrites() - whether @fd is a terminal that can draw a line anew: not $TERM dumb */
bool terminal_rewrites(int fd);
/** print_cut() - lines of @text, those wider than @width cut to that, "..." at the end */
void print_cut(FILE *out, const char *text, unsigned int width);

/* -------------------------------------------------------------- outputs.c */

/** is_stdout() - "-", or a path that names what standard output is, but /dev/null and its like */
bool is_stdout(const char *path);

/** struct named_path - a file as the command line names it
 * @option: "-o", "GRAPH"; NULL ends a list
 * @path: NULL: not given
 */
struct named_path {
	const char *option;
	const char *path;
};

/** outputs_check() - end with EXIT_USAGE if an output is an input, or two are one file
 *
 * By what file a path leads to, through links of all kinds, also where none is yet.
 */
void outputs_check(const struct argp_state *state, const struct named_path *inputs,
		   const struct named_path *outputs);

/* Most files that a command writes. */
#define OUTPUTS 8

/** struct outputs - files that all appear, or none; zero is none yet
 * @files: what has been written beside the file of that path, to take its place; no
 *	temporary: it could not be
 */
struct outputs {
	struct staged {
		char *path;
		char *temporary;
	} files[OUTPUTS];
	size_t count;
	sigset_t signals;
};

/** outputs_add() - write all of @data, "-" is standard output; returns an exit code
 *
 * Of a file nothing is seen before outputs_end(), which has to follow soon: signals wait
 * for it. What is no file, like a pipe or a device, is written to at once.
 */
int outputs_add(struct outputs *outputs, const char *path, const void *data, size_t size);
/** outputs_end() - put all in their places if @status is EXIT_OK, otherwise none; returns it
 *
 * Modes stay, and links.
 */
int outputs_end(struct outputs *outputs, int status);

/** write_file() - the same for one */
int write_file(const char *path, const void *data, size_t size);

/* -------------------------------------------------------------- options.c */

/*
 * Values of options. Wrong ones end the program with EXIT_USAGE and a message
 * that names the option.
 */
uint64_t option_size(const struct argp_state *state, const char *option, const char *text);
/* "BYTES@MBPS,BYTES@MBPS" */
void option_banks(const struct argp_state *state, const char *text,
		  struct npuplan_bank banks[NPUPLAN_BANKS]);
uint64_t option_number(const struct argp_state *state, const char *option, const char *text,
		       uint64_t min, uint64_t max);
/* Number of @text in @choices, which NULL ends. */
uint32_t option_choice(const struct argp_state *state, const char *option, const char *text,
		       const char *const *choices);
double option_seconds(const struct argp_state *state, const char *option, const char *text);
double option_factor(const struct argp_state *state, const char *option, const char *text);

/** parse_size() - npusize_parse() of up to 2^53 bytes; false if it is no number of bytes */
bool parse_size(const char *text, uint64_t *bytes);

/* --------------------------------------------------------------- tiling.c */

/**
 * struct tiling - what the command line says of how a graph is cut into steps
 * @asked: without what is said of single operators; all 0: nothing
 * @tiles: values of --tile, in order
 * @is_said: any option but --params and --inputs was given
 * @inputs: enum npuplan_inputs, where neither the command line nor a plan says
 */
struct tiling {
	struct npuplan_tiling asked;
	const char **tiles;
	size_t tile_count;
	bool is_said;
	uint32_t inputs;
};

/* Options of the commands that take a graph: a child, whose input is a struct tiling. */
extern const struct argp tiling_argp;

/** tiling_of() - what was said, of a graph that is not tiled yet
 * @plan: what the plan at hand says, for where the command line says nothing; may
 *	be NULL. Taken over
 * @out: npuplan_tiling_fini() it
 *
 * Says what is wrong and returns false if an operator is unknown.
 */
bool tiling_of(const struct tiling *tiling, const char *path, const struct npuplan_graph *graph,
	       struct npuplan_tiling *plan, struct npuplan_tiling *out);
void tiling_release(struct tiling *tiling);

/* Planners whose name begins so choose the order of tiles. */
#define TILE_SCHEDULED "tile-scheduled"
bool schedules_tiles(const char *planner);
/* Those whose name begins so move tensors to host memory and back. */
bool moves_tensors(const char *planner);
/*
 * The first get one row a tile where nothing else is said: the smaller, the lower the
 * peak. The others load inputs from host memory.
 */
void tiling_for_planner(struct tiling *tiling, const char *planner);

/* ----------------------------------------------------------- tiling_table.c */

/*
 * How each operator of a tiled graph is cut and what it moves: a table, or an array
 * of JSON objects; false, or NULL, with a message, if that cannot be said.
 */
bool tiling_table_print(FILE *out, const char *path, const struct npuplan_graph *graph);
json_t *tiling_table_json(const char *path, const struct npuplan_graph *graph);

/* "tiling" line of a summary, if the graph is cut other than into bands. */
void tiling_summary_print(FILE *out, const struct npuplan_graph *graph);

/* -------------------------------------------------------------- reading.c */

/**
 * struct reading - how models are read
 * @strict: what is not understood is refused
 * @quiet: of what is not, nothing is said (it has been)
 */
struct reading {
	bool strict;
	bool quiet;
};

/* Options of the commands that read models: a child, whose input is a struct reading. */
extern const struct argp reading_argp;

/* Warnings, a line each; as a JSON object. */
void warnings_print(const char *path, const struct npuimport_warnings *warnings);
json_t *warnings_json(const struct npuimport_warnings *warnings);

/* ---------------------------------------------------------------- model.c */

/**
 * struct model - a graph, tiled, and its blob
 * @path: where it came from, for messages
 * @data: the file, as it was read
 * @warnings: what was not understood of it
 */
struct model {
	const char *path;
	void *data;
	size_t data_size;
	struct npuplan_graph *graph;
	struct npuimport_info info;
	struct npuimport_warnings warnings;
	void *blob;
	size_t blob_size;
};

/*
 * These say what is wrong and return false if they fail. model_release() may be
 * called at any time.
 */
bool model_import(struct model *model, const char *path, const struct reading *reading);
bool model_tile(struct model *model, const struct tiling *tiling);
/* As before model_tile(), to tile it once more. */
void model_untile(struct model *model);
void model_release(struct model *model);

/** model_bytes() - sum of the sizes of the tensors that steps access, by whatever alias */
uint64_t model_bytes(const struct npuplan_graph *graph);

/**
 * struct plan_file - a plan read from a file, JSON or blob
 * @plan: NULL if the JSON could not be read
 */
struct plan_file {
	const char *path;
	struct npuplan_plan *plan;
	void *blob;
	size_t blob_size;
};

/** model_with_plan() - import a graph, tile it as the plan says, read the plan
 * @tiling: overrides what the plan says
 */
bool model_with_plan(struct model *model, const char *graph_path, const struct reading *reading,
		     struct plan_file *file, const char *plan_path, const struct tiling *tiling);
void plan_file_release(struct plan_file *file);

/**
 * struct asked - what a plan was asked for, as far as it is known; zero: nothing is
 * @options: of the plan; may be NULL
 * @budget: name of the budget; NULL: it has none
 * @savings: say what each tensor of the peak would save if it were bound outside the
 *	arena; needs @options
 */
struct asked {
	const struct npuplan_options *options;
	const char *budget;
	bool savings;
};

/** plan_report() - what there is to know of a plan, as a JSON object */
json_t *plan_report(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
		    const struct asked *asked);
/** plan_report_print() - the same for people */
void plan_report_print(FILE *out, const struct npuplan_graph *graph,
		       const struct npuplan_plan *plan, const struct asked *asked);

/* ---------------------------------------------------------------- front.c */

/** front_report() - orders of tiles, peak against traffic, as a JSON object */
json_t *front_report(const struct npuplan_graph *graph, const struct npuplan_front *front);
/** front_print() - the same for people */
void front_print(FILE *out, const struct npuplan_graph *graph, const struct npuplan_front *front);

/* ------------------------------------------------------- report/transfers.c */

/* What a plan moves between arena and host memory: null, and nothing, if it does not. */
/* Null if there is but one. */
json_t *plan_banks_json(const struct npuplan_plan *plan);
json_t *plan_transfers_json(const struct npuplan_graph *graph, const struct npuplan_plan *plan);
void plan_transfers_print(FILE *out, const struct npuplan_graph *graph,
			  const struct npuplan_plan *plan);

/* --------------------------------------------------------------- budget.c */

/** budget_is_name() - "MR", "MH" or "MP": a budget that has to be found first */
bool budget_is_name(const char *text);
/* options->arena_budget by its name. Says what is wrong and returns false if it fails. */
bool budget_find(const struct model *model, const char *name, struct npuplan_options *options);
/** no_plan() - say why there is none, and with -j what is needed; returns an exit code
 * @err, @error: npuplan_plan()'s
 */
int no_plan(const struct model *model, const struct npuplan_options *options, int err,
	    const struct npuplan_error *error, bool json);

/* ---------------------------------------------------------------- marks.c */

/*
 * Mark a tensor of a graph that is not tiled yet as external, or give it a fixed
 * offset ("NAME=OFFSET"; @parameters: whether these are placed). They say what is
 * wrong and return false if they fail.
 */
bool mark_external(struct model *model, const char *name);
/* All inputs and outputs of the graph. */
bool mark_external_io(struct model *model);
bool mark_fixed(struct model *model, const char *text, bool parameters);

/* ---------------------------------------------------------- emit_tflite.c */

/** emit_prepare() - before planning: what TensorFlow Lite Micro asks of a plan */
bool emit_prepare(struct model *model, const struct tiling *tiling,
		  struct npuplan_options *options);
/** emit_tflite() - write the model with the plan in its metadata */
int emit_tflite(const struct model *model, const struct npuplan_plan *plan, struct outputs *outputs,
		const char *path);

/* What else TensorFlow Lite Micro's arena has to have room for, for people. */
void emit_print(FILE *out, const struct model *model, const struct npuplan_plan *plan,
		const char *path);

/* ------------------------------------------------ operators that run again */

/* Whether it can be asked; says why not. */
bool recompute_possible(const struct model *model, const struct tiling *tiling);
/* @graph: tiled, with the clones. */
json_t *recompute_json(const struct npuplan_graph *graph, const struct npuplan_recompute *found);
void recompute_print(FILE *out, const struct npuplan_graph *graph,
		     const struct npuplan_recompute *found);

#endif /* NPUMEMCTL_H */
