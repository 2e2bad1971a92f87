/* SPDX-License-Identifier: MIT */
/*
 * What all commands' command lines have in common: help, and what a shell is to
 * complete. Both come from the commands' own tables of options.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../grow/grow.h"
#include "cli.h"
#include "plain_options.h"

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

static void complete_words(int argc, char **argv);

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

/* An option without a key of its own gets its number in the line, after this many for each line. */
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

/* Options that the command line has, as they come; allocated until the program ends. */
static const struct command_option **given;
static size_t given_count;

static void note_given(const struct command_option *option)
{
	given = grow_by_one(given, given_count, sizeof(*given));
	if (!given)
		abort();
	given[given_count++] = option;
}

const struct command_option *command_given(size_t i)
{
	return i < given_count ? given[i] : NULL;
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
		/* An argument has the key of a heading. */
		if (!key || key != key_of(line, o))
			continue;
		note_given(o);
		if (!o->kind)
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

/* An option's text with its words in place of each "%s"; allocated until the program ends. */
static const char *doc_of(const struct command_option *option)
{
	const char *rest = option->doc, *gap;
	char *text = NULL, *words = option->explain ? option->explain() : NULL;
	size_t size;
	FILE *out;

	if (!option->doc || !option_word(option, 0))
		return option->doc;
	out = open_memstream(&text, &size);
	if (!out)
		abort();
	for (unsigned int i = 0; (gap = strstr(rest, "%s")); i++, rest = gap + 2)
		fprintf(out, "%.*s%s", (int)(gap - rest), rest,
			words ? words : option_word(option, i));
	fputs(rest, out);
	if (fclose(out))
		abort();
	free(words);
	return text;
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
		options[i] = (struct argp_option){ from[i].name,     key_of(line, &from[i]),
						   from[i].arg,	     from[i].flags,
						   doc_of(&from[i]), 0 };
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
		complete_words(argc, argv);
		exit(fflush(stdout) ? EXIT_FAILED : EXIT_OK);
	}
	plain_options(&all, argc, argv);
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
static void complete_value(const struct command_option *option, const char *prefix,
			   const char *typed)
{
	if (option->files)
		offer_glob(option->files, prefix, typed);
	for (unsigned int i = 0; option_word(option, i); i++)
		offer(prefix, option_word(option, i), typed, NULL);
	/* "FILE", "OUT.csv": the shell knows best how to complete these. */
	if (!option->files && !option_word(option, 0) &&
	    (strstr(option->arg, "FILE") || strstr(option->arg, "FOLDER") ||
	     strstr(option->arg, ".csv")))
		puts(":files");
}

static bool names_long(const struct command_option *option, const char *word, size_t length)
{
	return option->name && strlen(option->name) == length &&
	       !strncmp(option->name, word, length);
}

/* The option that a word names; of an alias the real one, which has its values. NULL: none. */
static const struct command_option *find_option(const char *word)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]) && lines[i].command; i++) {
		const struct command_option *real = NULL;

		for (const struct command_option *o = lines[i].command->options; !is_last(o); o++) {
			if (!(o->flags & OPTION_ALIAS))
				real = o;
			if ((word[1] == '-' && names_long(o, word + 2, strcspn(word + 2, "="))) ||
			    (word[1] != '-' && word[1] == o->key && !word[2]))
				return real;
		}
	}
	return NULL;
}

/* Options that begin as @typed, each with its text. */
static void complete_options(const struct line *line, const char *typed)
{
	const char *doc = NULL;

	for (const struct argp_option *o = line->argp.options; o->name || o->key || o->doc; o++) {
		if (!(o->flags & OPTION_ALIAS))
			doc = o->doc;
		if (o->name && !(o->flags & OPTION_HIDDEN))
			offer("--", o->name, strlen(typed) >= 2 ? typed + 2 : "", doc);
	}
}

/* The words of the line, the last of which is to be completed. */
static char **typed_words;
static int typed_count;

/*
 * Whether the i-th word is an option; @value: out: the one it has, which may be the next word, or
 * NULL.
 */
static const struct command_option *option_at(int i, const char **value)
{
	const char *word = typed_words[i];
	const struct command_option *option;
	const char *equals;

	*value = NULL;
	if (!word || word[0] != '-' || !word[1])
		return NULL;
	equals = word[1] == '-' ? strchr(word, '=') : NULL;
	option = find_option(word);
	if (option && option->arg && equals)
		*value = equals + 1;
	else if (option && option->arg && !(option->flags & OPTION_ARG_OPTIONAL) &&
		 i + 1 < typed_count - 1)
		*value = typed_words[i + 1];
	return option;
}

const char *complete_value_of(const char *name)
{
	const struct command_option *option;
	const char *value, *last = NULL;

	for (int i = 1; i < typed_count - 1; i++) {
		option = option_at(i, &value);
		if (option && value && option->name && !strcmp(option->name, name))
			last = value;
		i += value && value == typed_words[i + 1];
	}
	return last;
}

/* The command knows what its arguments can be: the next one, after those that are no options. */
static void complete_argument(const struct command *command, const char *typed)
{
	const char **words = calloc((size_t)typed_count, sizeof(*words)), *value;
	size_t count = 0;

	if (!words)
		abort();
	for (int i = 1; i < typed_count - 1; i++) {
		if (!option_at(i, &value) && typed_words[i][0] != '-')
			words[count++] = typed_words[i];
		i += value && value == typed_words[i + 1];
	}
	command->complete(words, count, typed);
	free(words);
}

/* argv[0] is "npumemctl COMMAND", the last one is what is to be completed. */
static void complete_words(int argc, char **argv)
{
	const char *typed = argv[argc - 1], *before = argc > 2 ? argv[argc - 2] : "";
	const char *equals = strchr(typed, '=');
	const struct command_option *option = NULL;
	char *prefix;

	typed_words = argv;
	typed_count = argc;
	if (!strncmp(typed, "--", 2) && equals) {
		option = find_option(typed);
		if (!option || !option->arg)
			return;
		prefix = strndup(typed, (size_t)(equals - typed) + 1);
		if (!prefix)
			abort();
		complete_value(option, prefix, equals + 1);
		free(prefix);
		return;
	}
	if (*before == '-' && before[1] && !strchr(before, '='))
		option = find_option(before);
	if (option && option->arg && !(option->flags & OPTION_ARG_OPTIONAL)) {
		complete_value(option, "", typed);
		return;
	}
	if (*typed == '-') {
		for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]) && lines[i].command; i++)
			complete_options(&lines[i], typed);
		complete_word("--help", typed, "Give this help list");
		complete_word("--version", typed, "Print program version");
		return;
	}
	if (lines[0].command->complete)
		complete_argument(lines[0].command, typed);
	else if (lines[0].command->args_doc)
		puts(":files");
}

void command_complete(void)
{
	completing = true;
}
