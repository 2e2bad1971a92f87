/* SPDX-License-Identifier: MIT */
/*
 * What all commands share: command lines, messages, and the files that are written.
 *
 * Errors go to standard error as "npumemctl: WHERE: what is wrong"; with -j
 * standard output has one JSON object and nothing else.
 */
#pragma once

#include <argp.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../../plain/plain.h"
#include "npuplan.h"

enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_INFEASIBLE = 3,  /* there is no plan within the budget: proved */
	EXIT_UNKNOWN = 4,     /* none was found, and none ruled out */
	EXIT_INTERRUPTED = 5, /* a signal ended the search: the best found so far */
};

/* -------------------------------------------------------- command_line.c */

/**
 * enum option_kind - how the value of an option is written, and what keeps it
 * @VALUE_OTHER: the command's parse() takes it
 * @VALUE_FLAG: there is none; bool, which becomes true
 * @VALUE_TEXT: as it was given; const char *
 * @VALUE_TEXTS: the option may be given again and again; struct option_texts
 * @VALUE_SIZE: bytes, by option_size(); uint64_t
 * @VALUE_NUMBER: uint64_t, by option_number()
 * @VALUE_COUNT: uint32_t, by option_number()
 * @VALUE_CHOICE: uint32_t, by option_choice(); the first choice is struct command_option.min
 * @VALUE_ALIGNMENT: uint32_t, a power of two up to 64 KiB
 * @VALUE_SECONDS: double, above 0 and up to 10^6
 * @VALUE_FACTOR: double, 1 to 10^6
 */
enum option_kind {
	VALUE_OTHER,
	VALUE_FLAG,
	VALUE_TEXT,
	VALUE_TEXTS,
	VALUE_SIZE,
	VALUE_NUMBER,
	VALUE_COUNT,
	VALUE_CHOICE,
	VALUE_ALIGNMENT,
	VALUE_SECONDS,
	VALUE_FACTOR,
};

/** struct option_texts - values of an option that may be given again and again; free @list */
struct option_texts {
	const char **list;
	size_t count;
};
void option_texts_add(struct option_texts *texts, const char *text);

/* Files that are device nodes of npumem, where there are any. */
#define DEVICE_NODES "/dev/accel/accel* /dev/dri/renderD*"

/* struct command_option - an option of a command, or with @doc alone a heading
 * @name, @arg, @doc, @flags: as of struct argp_option
 * @key: its letter, or what parse() knows it by; 0: none
 * @offset: of the field that keeps the value, in what the command parses into
 * @min, @max: of VALUE_NUMBER and VALUE_COUNT
 * @choices: words that the option takes, NULL ends them; of VALUE_CHOICE, and of VALUE_OTHER
 *	where there are words among the values
 * @list: instead, the i-th such word, NULL past the last
 * @explain: makes the text that the only "%s" of @doc stands for, instead of words; it
 *	stays allocated
 * @actions: bits that the command knows, of those of its actions that look at the option; 0: what
 *	the command says
 * @files: completion offers the files of these patterns, which spaces separate; NULL: those of
 *	the shell, where @arg speaks of a file
 *
 * @choices and @list are what completion offers, and in @doc each "%s" stands for the next of
 * these words, so that a word is written once.
 */
struct command_option {
	const char *name;
	int key;
	enum option_kind kind;
	const char *arg;
	const char *doc;
	size_t offset;
	uint64_t min;
	uint64_t max;
	const char *const *choices;
	int flags;
	unsigned int actions;
	const char *(*list)(unsigned int i);
	char *(*explain)(void);
	const char *files;
};

/* Most lists of options that a command shares with others. */
#define COMMAND_SHARED 3

/*
 * struct command - what a command line may have, and what the help says of it
 * @options: the command's own options; an empty one ends them
 * @parse: takes arguments, and those options that are not just kept; NULL: there are none
 * @complete: prints what the next argument can be, by complete_word() or as the line ":files";
 *	NULL: files, if there are arguments. @words: arguments that stand before it
 * @args_doc, @doc: the texts that struct argp has under these names
 * @shared: commands without a name whose options this one has, too; @offset says where in this
 *	one's input the struct begins that they are parsed into
 */
struct command {
	const struct command_option *options;
	argp_parser_t parse;
	void (*complete)(const char *const *words, size_t count, const char *typed);
	const char *args_doc;
	const char *doc;
	struct {
		const struct command *command;
		size_t offset;
	} shared[COMMAND_SHARED];
};

/*
 * command_parse() - parse the command line that a command was called with
 *
 * It does as argp_parse() does, and knows -h, too. If command_complete() was called before, it
 * prints instead what the last of @argv can be completed to, and ends the program: there is a line
 * for each word, with a tab and what the word means; or the line ":files".
 */
void command_parse(const struct command *command, int argc, char **argv, void *input);
void command_complete(void);
/* The i-th option that command_parse() has found so far, or shared one; NULL past the last. */
const struct command_option *command_given(size_t i);
/* complete_word() prints such a line if @word begins as @typed; @what, its text, may be NULL. */
void complete_word(const char *word, const char *typed, const char *what);
/* What a long option of the line that is completed has as its value; NULL: nothing. */
const char *complete_value_of(const char *name);

/* ------------------------------------------------------------ messages.c */

/*
 * Make plain text of all names of a graph, of which nothing but text is still to be written. What
 * has no name is named by its id, "tensor 7".
 */
void plain_names(struct npuplan_graph *graph);

/*
 * Write the line "npumemctl: @where: ..." to standard error, as plain_text() makes it, and return
 * EXIT_FAILED.
 */
__attribute__((format(printf, 2, 3))) int failure(const char *where, const char *fmt, ...);

/** warning() - write the line "npumemctl: @where: warning: ..." to standard error, likewise */
__attribute__((format(printf, 2, 3))) void warning(const char *where, const char *fmt, ...);

/* Most bytes of a name in a line with others. */
#define SHORT_NAME 40

/** struct short_text - a text, or its beginning and "..." */
struct short_text {
	char s[SHORT_NAME + 1];
};
struct short_text short_text(const char *text);

/** failure_text() - what failure() said last; "" if it has said nothing */
const char *failure_text(void);

/** struct size_text - bytes as text: "1505280 bytes (1.4 MiB)" */
struct size_text {
	char s[64];
};
struct size_text size_text(uint64_t bytes);
/* The same bytes in short: "1.4 MiB". */
struct size_text short_size(uint64_t bytes);

/*
 * struct text - what is to be printed, gathered, so that it is printed at once and a write that
 * fails is seen
 * @out: stream to print to
 * @bytes, @size: what @out has gathered; allocated
 */
struct text {
	FILE *out;
	char *bytes;
	size_t size;
};

/* Begin an empty text. */
void text_begin(struct text *text);
/* End a text by printing all of it to standard output; returns an exit code. */
int text_end(struct text *text);
/* The same, with lines cut to @width characters by print_cut(); 0: they are left as they are. */
int text_end_cut(struct text *text, unsigned int width);
/* End a text without printing it. */
void text_drop(struct text *text);

/** print_json() - print an object to standard output; takes the reference, returns an exit code */
int print_json(json_t *object);
/* The same with so many digits of numbers that are not whole; print_json() has 6. */
int print_json_digits(json_t *object, int digits);

/* ------------------------------------------------------------ terminal.c */

/*
 * How many characters a line has: $COLUMNS, or else what the terminal @fd says, or 80 if that does
 * not know. 0: @fd is no terminal, and $COLUMNS is not set.
 */
unsigned int terminal_width(int fd);
/** terminal_columns() - what the terminal @fd says itself; 80 if it does not know */
unsigned int terminal_columns(int fd);
/** terminal_height() - how many lines the terminal @fd has, 2 at least; 24 if it does not know */
unsigned int terminal_height(int fd);
/** terminal_rewrites() - whether @fd is a terminal that can draw a line anew: not $TERM dumb */
bool terminal_rewrites(int fd);
/** print_cut() - print the lines of @text; those wider than @width are cut, and end in "..." */
void print_cut(FILE *out, const char *text, unsigned int width);

/* ------------------------------------------------------------- outputs.c */

/** is_stdout() - whether @path is "-" or names what standard output is, but not for /dev/null */
bool is_stdout(const char *path);

/**
 * struct named_path - a file as the command line names it
 * @option: the option or argument, "-o" or "GRAPH"; NULL ends a list
 * @path: what was given; NULL: nothing
 */
struct named_path {
	const char *option;
	const char *path;
};

/*
 * End the program with EXIT_USAGE if an output is an input, or if two outputs are one file. What
 * counts is the file that a path leads to, through links of all kinds, even if it is not there yet.
 */
void outputs_check(const struct argp_state *state, const struct named_path *inputs,
		   const struct named_path *outputs);

/* Most files that a command writes. */
#define OUTPUTS 8

/*
 * struct outputs - files of which all appear, or none; zeros: nothing has been written yet
 * @files: the files; what was written to @temporary is to take the place of @path. An empty
 *	@temporary: it could not be written, or has taken its place
 */
struct outputs {
	struct pending {
		char *path;
		char *temporary;
	} files[OUTPUTS];
	size_t count;
	sigset_t signals;
};

/*
 * outputs_add() - write an output
 * @path: where to; "-" is standard output
 *
 * Of a file nothing is seen before outputs_end(), which has to follow soon, since signals wait for
 * it. What is no file, like a pipe or a device, is written to at once. Returns an exit code.
 */
int outputs_add(struct outputs *outputs, const char *path, const void *data, size_t size);
/*
 * Put all files in their places if @status is EXIT_OK; otherwise remove them. The modes of files
 * that were there stay, and so do links. Returns @status, or EXIT_FAILED if a file could not be put
 * in its place.
 */
int outputs_end(struct outputs *outputs, int status);

/** write_file() - write one output and put it in its place; returns an exit code */
int write_file(const char *path, const void *data, size_t size);
/** text_write() - end a text by writing all of it to an output; returns an exit code */
int text_write(struct text *text, const char *path);

/* ------------------------------------------------------------- options.c */

/*
 * These functions read values of options. A wrong value ends the program with EXIT_USAGE and a
 * message that names the option.
 */

/* A number of bytes as people write it: "64KiB". */
uint64_t option_size(const struct argp_state *state, const char *option, const char *text);
/* Two banks: "BYTES@MBPS,BYTES@MBPS". */
void option_banks(const struct argp_state *state, const char *text,
		  struct npuplan_bank banks[NPUPLAN_BANKS]);
/* Cores, "NAME=BYTES,NAME=BYTES"; returns how many. */
uint32_t option_cores(const struct argp_state *state, const char *text,
		      struct npuplan_core cores[NPUPLAN_CORES]);
/* A whole number from @min to @max. */
uint64_t option_number(const struct argp_state *state, const char *option, const char *text,
		       uint64_t min, uint64_t max);
/** struct algorithms - functions that tell of the i-th planner, or packer; NULL past the last */
struct algorithms {
	const char *(*name)(unsigned int i);
	const char *(*purpose)(unsigned int i);
	bool (*published)(unsigned int i);
};

/*
 * list_algorithms() - print names and what each is for, and exit
 * @option: name of the option, for messages
 * @which: "all", or NULL: those are left out that do as a publication says, to compare with
 */
_Noreturn void list_algorithms(const struct argp_state *state, const char *option,
			       const struct algorithms *algorithms, const char *which);

/** option_word() - the i-th word that an option takes; NULL past the last */
const char *option_word(const struct command_option *option, unsigned int i);
/** option_choice() - number of @text among the words that the option takes, from 0 on */
uint32_t option_choice(const struct argp_state *state, const struct command_option *option,
		       const char *text);

/* option_store() - parse the value of an option that needs nothing but to be kept
 * @input: what the offsets are of
 */
void option_store(const struct argp_state *state, const struct command_option *option,
		  const char *arg, void *input);

/* -------------------------------------------------------------- limits.c */

/**
 * struct limits - limits of a search for a plan or a packing, and the alignment of its offsets
 * @deadline: seconds that the search may take; 0: no limit
 * @work: units of work that it may take; 0: the planner's or packer's own limit
 * @memory: bytes that it may hold; 0: likewise
 * @alignment: bytes that every offset is a multiple of; 0: not said
 */
struct limits {
	double deadline;
	uint64_t work;
	uint64_t memory;
	uint32_t alignment;
};

/* Options of the commands that search: a child, whose input is a struct limits. */
extern const struct command limits_command;

/** usage_error() - argp_error(), with control characters as by plain_text() */
__attribute__((format(printf, 2, 3))) void usage_error(const struct argp_state *state,
						       const char *format, ...);

/** no_arguments() - struct command.parse of a command that takes options alone */
error_t no_arguments(int key, char *arg, struct argp_state *state);

/** parse_size() - npusize_parse() of up to 2^53 bytes; false if it is no number of bytes */
bool parse_size(const char *text, uint64_t *bytes);
