/* SPDX-License-Identifier: MIT */
#include "plain_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plain.h"

/* "--name" of "--name=value", if it has what a terminal must not get; free() it. Or NULL. */
static char *odd_name(const char *word)
{
	char *name = strndup(word, strcspn(word, "="));
	char *plain = name ? plain_text(name, false) : NULL;
	bool odd;

	if (!plain)
		abort();
	odd = *name == '-' && strcmp(name, plain) != 0;
	free(name);
	if (odd)
		return plain;
	free(plain);
	return NULL;
}

void plain_options(const struct argp *argp, int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		char *name = odd_name(argv[i]);

		if (!name)
			continue;
		fprintf(stderr, "%s: unrecognized option '%s'\n", argv[0], name);
		free(name);
		argp_help(argp, stderr, ARGP_HELP_SEE, argv[0]);
		exit(argp_err_exit_status);
	}
}
