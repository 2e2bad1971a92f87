/* SPDX-License-Identifier: MIT */
/*
 * What all commands' command lines have in common: help, and what a shell is to
 * complete. Both come from the commands' own tables of options.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* -------------------------------------------------------------------------- parsing */

static const struct argp_option help_options[] = {
	{ NULL, 'h', NULL, 0, "Give this help list", -1 },
	{ 0 },
};

static error_t parse_help(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->input;
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static bool completing;

static void complete_words(const struct argp *argp, int argc, char **argv);

/* No option has control characters in its name, and getopt would print them as they are. */
static void check_options(const struct argp *argp, int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		char *name = strndup(argv[i], strcspn(argv[i], "="));
		char *plain = name ? plain_text(name, false) : NULL;
		bool wrong;

		if (!plain)
			abort();
		wrong = *name == '-' && strcmp(name, plain) != 0;
		if (wrong)
			fprintf(stderr, "%s: unrecognized option '%s'\n", argv[0], plain);
		free(plain);
		free(name);
		if (wrong) {
			argp_help(argp, stderr, ARGP_HELP_SEE, argv[0]);
			exit(EXIT_USAGE);
		}
	}
}

/*
 * struct line - options of the command, or some that it shares with others
 * @input: what they are parsed into
 * @argp: the same for argp, its options allocated until the program ends
 */
struct line {
	const struct command *command;
	void *input;
	struct argp argp;
};

/* Of options that have no key of their own: their number after this, for each line. */
#define FIRST_KEY 0x1000

/* The command's line, and those of what it shares. */
static struct line lines[1 + COMMAND_SHARED];

static bool is_last(const struct command_option *option)
{
	return !option->name && !option->doc;
}

static int key_of(const struct line *line, const struct command_option *option)
{
	if (option->key || !option->name)
		return option->key;
	return FIRST_KEY * (int)(line - lines + 1) + (int)(option - line->command->options);
}

static error_t parse_line(int key, char *arg, struct argp_state *state)
{
	struct line *line = state->input;
	error_t err;

	if (key == ARGP_KEY_INIT) {
		for (size_t i = 0; line->argp.children && line->argp.children[i].argp; i++)
			state->child_inputs[i] = line + 1 + i;
		return 0;
	}
	for (const struct command_option *o = line->command->options; !is_last(o); o++) {
		if (key != key_of(line, o) || !o->kind)
			continue;
		option_store(state, o, arg, line->input);
		return 0;
	}
	if (!line->command->parse)
		return ARGP_ERR_UNKNOWN;
	state->input = line->input;
	err = line->command->parse(key, arg, state);
	state->input = line;
	return err;
}

static void make_line(struct line *line, const struct command *command, void *input)
{
	const struct command_option *from = command->options;
	struct argp_option *options;
	size_t count = 0;

	while (!is_last(&from[count]))
		count++;
	options = calloc(count + 1, sizeof(*options));
	if (!options)
		abort();
	line->command = command;
	line->input = input;
	for (size_t i = 0; i < count; i++)
		options[i] = (struct argp_option){ from[i].name, key_of(line, &from[i]),
						   from[i].arg,	 from[i].flags,
						   from[i].doc,	 0 };
	line->argp = (struct argp){
		.options = options,
		.parser = parse_line,
		.args_doc = command->args_doc,
		.doc = command->doc,
	};
}

void command_parse(const struct command *command, int argc, char **argv, void *input)
{
	const struct argp_child children[] = { { &lines[0].argp, 0, NULL, 0 }, { 0 } };
	const struct argp all = {
		.options = help_options,
		.parser = parse_help,
		.children = children,
	};
	struct argp_child shared[COMMAND_SHARED + 1] = { 0 };

	make_line(&lines[0], command, input);
	lines[0].argp.children = shared;
	for (size_t i = 0; i < COMMAND_SHARED && command->shared[i].command; i++) {
		make_line(&lines[1 + i], command->shared[i].command,
			  (char *)input + command->shared[i].offset);
		shared[i].argp = &lines[1 + i].argp;
	}
	if (completing) {
		complete_words(&lines[0].argp, argc, argv);
		exit(fflush(stdout) ? EXIT_FAILED : EXIT_OK);
	}
	check_options(&all, argc, argv);
	argp_parse(&all, argc, argv, 0, NULL, lines);
	lines[0].argp.children = NULL;
}

/* ----------------------------------------------------------------------- completion */

static void offer(const char *prefix, const char *word, const char *typed, const char *what)
{
	if (strncmp(word, typed, strlen(typed)) != 0)
		return;
	printf("%s%s", prefix, word);
	if (what && *what)
		printf("\t%.*s", (int)strcspn(what, "\n"), what);
	putchar('\n');
}

void complete_word(const char *word, const char *typed, const char *what)
{
	offer("", word, typed, what);
}

/*
 * struct values - what an option of a command can be given
 * @command: NULL: all that have the option
 * @words: separated by spaces; or
 * @list: the i-th, NULL past the last; or
 * @glob: files of these patterns, separated by spaces
 */
static const struct values {
	const char *command;
	const char *option;
	const char *words;
	const char *(*list)(unsigned int i);
	const char *glob;
} values[] = {
	{ NULL, "planner", .list = npuplan_planner_name },
	{ NULL, "packer", .list = npuplan_packer_name },
	{ NULL, "layout", .list = npuplan_layout_name },
	{ NULL, "inputs", "host resident" },
	{ NULL, "device", .glob = "/dev/accel/accel* /dev/dri/renderD*" },
	{ "plan", "engine", .list = npuplan_engine_name },
	{ "plan", "objective", "traffic peak" },
	{ "plan", "schedule", "default mpmf" },
	{ "plan", "budget", "MR MH MP" },
	{ "plan", "arena-budget", "MR MH MP" },
	{ "run", "objective", "arena traffic" },
	{ "run", "external", "system carveout" },
};

/* Offer each word of a list separated by spaces. */
static void offer_words(const char *words, const char *prefix, const char *typed)
{
	char *copy = strdup(words), *rest = copy, *word;

	if (!copy)
		abort();
	while ((word = strsep(&rest, " ")))
		offer(prefix, word, typed, NULL);
	free(copy);
}

static void offer_glob(const char *patterns, const char *prefix, const char *typed)
{
	char *copy = strdup(patterns), *rest = copy, *pattern;
	glob_t found;

	if (!copy)
		abort();
	while ((pattern = strsep(&rest, " "))) {
		if (glob(pattern, 0, NULL, &found))
			continue;
		for (size_t i = 0; i < found.gl_pathc; i++)
			offer(prefix, found.gl_pathv[i], typed, NULL);
		globfree(&found);
	}
	free(copy);
}

/* @prefix: "--planner=", where it is part of the word */
static void complete_value(const char *command, const struct argp_option *option,
			   const char *prefix, const char *typed)
{
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		const struct values *v = &values[i];

		if (strcmp(v->option, option->name) != 0 ||
		    (v->command && strcmp(v->command, command) != 0))
			continue;
		if (v->words)
			offer_words(v->words, prefix, typed);
		if (v->glob)
			offer_glob(v->glob, prefix, typed);
		for (unsigned int n = 0; v->list && v->list(n); n++)
			offer(prefix, v->list(n), typed, NULL);
		return;
	}
	/* "FILE", "OUT.csv": the shell knows best how to complete these. */
	if (strstr(option->arg, "FILE") || strstr(option->arg, ".csv"))
		puts(":files");
}

/* Before the end of a table; headers of groups are entries, too, without a name. */
static bool is_option(const struct argp_option *option)
{
	return option && (option->name || option->key || option->doc);
}

static bool names_long(const struct argp_option *option, const char *word, size_t length)
{
	return option->name && strlen(option->name) == length &&
	       !strncmp(option->name, word, length);
}

/* The option that a word names, without the argument of an alias: that is the real one's. */
static const struct argp_option *find_option(const struct argp *argp, const char *word,
					     const char **name)
{
	const struct argp_option *real = NULL;

	for (const struct argp_option *o = argp->options; is_option(o); o++) {
		if (!(o->flags & OPTION_ALIAS))
			real = o;
		if ((word[1] == '-' && names_long(o, word + 2, strcspn(word + 2, "="))) ||
		    (word[1] != '-' && word[1] == o->key && !word[2])) {
			*name = o->name;
			return real;
		}
	}
	for (const struct argp_child *child = argp->children; child && child->argp; child++) {
		const struct argp_option *found = find_option(child->argp, word, name);

		if (found)
			return found;
	}
	return NULL;
}

static void complete_options(const struct argp *argp, const char *typed)
{
	const char *doc = NULL;

	for (const struct argp_option *o = argp->options; is_option(o); o++) {
		if (!(o->flags & OPTION_ALIAS))
			doc = o->doc;
		if (o->name && !(o->flags & OPTION_HIDDEN) && strlen(typed) >= 2)
			offer("--", o->name, typed + 2, doc);
		else if (o->name && !(o->flags & OPTION_HIDDEN))
			offer("--", o->name, "", doc);
	}
	for (const struct argp_child *child = argp->children; child && child->argp; child++)
		complete_options(child->argp, typed);
}

/* argv[0] is "npumemctl COMMAND", the last one is what is to be completed. */
static void complete_words(const struct argp *argp, int argc, char **argv)
{
	const char *command = strchr(argv[0], ' ') + 1, *typed = argv[argc - 1];
	const char *before = argc > 2 ? argv[argc - 2] : "", *equals = strchr(typed, '=');
	const struct argp_option *option = NULL;
	const char *name = NULL;
	char *prefix;

	if (!strncmp(typed, "--", 2) && equals) {
		option = find_option(argp, typed, &name);
		if (!option || !name || !option->arg)
			return;
		prefix = strndup(typed, (size_t)(equals - typed) + 1);
		if (!prefix)
			abort();
		complete_value(command, &(struct argp_option){ .name = name, .arg = option->arg },
			       prefix, equals + 1);
		free(prefix);
		return;
	}
	if (*before == '-' && before[1] && !strchr(before, '='))
		option = find_option(argp, before, &name);
	if (option && name && option->arg && !(option->flags & OPTION_ARG_OPTIONAL)) {
		complete_value(command, &(struct argp_option){ .name = name, .arg = option->arg },
			       "", typed);
		return;
	}
	if (*typed == '-') {
		complete_options(argp, typed);
		complete_word("--help", typed, "Give this help list");
		complete_word("--version", typed, "Print program version");
		return;
	}
	if (argp->args_doc)
		puts(":files");
}

void command_complete(void)
{
	completing = true;
}
