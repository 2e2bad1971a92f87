/* SPDX-License-Identifier: MIT */
#include "plain_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plain.h"

/* The option of that letter takes a value: what follows it in a word is that. */
static bool takes_value(const struct argp *argp, char letter)
{
	const struct argp_option *option = argp->options;
	const struct argp_child *child = argp->children;

	for (; option && (option->name || option->key || option->doc || option->group); option++)
		if (option->key == letter)
			return option->arg;
	for (; child && child->argp; child++)
		if (takes_value(child->argp, letter))
			return true;
	return false;
}

/* How many bytes of a word getopt would print if it knew no such option; 0: it is none. */
static size_t name_length(const struct argp *argp, const char *word)
{
	size_t length = 1;

	if (*word != '-' || !word[1])
		return 0;
	if (word[1] == '-')
		return strcspn(word, "=");
	while (word[length] && !takes_value(argp, word[length]))
		length++;
	return length;
}

/* What getopt would print of a word as it is, and must not; free() it. Or NULL. */
static char *odd_name(const struct argp *argp, const char *word)
{
	char *name = strndup(word, name_length(argp, word));
	char *plain = name ? plain_text(name, false) : NULL;
	bool odd;

	if (!plain)
		abort();
	odd = strcmp(name, plain) != 0;
	free(name);
	if (odd)
		return plain;
	free(plain);
	return NULL;
}

void plain_options(const struct argp *argp, int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		char *name = odd_name(argp, argv[i]);

		if (!name)
			continue;
		fprintf(stderr, "%s: unrecognized option '%s'\n", argv[0], name);
		free(name);
		argp_help(argp, stderr, ARGP_HELP_SEE, argv[0]);
		exit(argp_err_exit_status);
	}
}
