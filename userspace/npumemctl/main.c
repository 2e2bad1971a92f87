/* SPDX-License-Identifier: MIT */
/* npumemctl: the command line tool of npumem. Finds the command and runs it. */
#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cli/cli.h"
#include "../plain/plain_descriptors.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
} commands[] = {
#define ENTRY(name, summary) { #name, cmd_##name, summary },
	COMMANDS(ENTRY)
#undef ENTRY
};

#define COUNT (sizeof(commands) / sizeof(commands[0]))

static void help(FILE *out)
{
	fputs("Usage: npumemctl COMMAND [OPTION...] [ARGUMENT...]\n"
	      "Memory management for neural accelerators.\n\n"
	      "Commands:\n",
	      out);
	for (size_t i = 0; i < COUNT; i++)
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
	fputs("\n"
	      "  -V, --version   print the version\n"
	      "  -h, -?, --help  print this; after a command, or help COMMAND: its options\n\n"
	      "Exit status: 0 all is well, 1 failure, 2 wrong usage, 3 no plan within the\n"
	      "budget exists, 4 none was found, 5 interrupted: the best plan so far.\n"
	      "See npumemctl(1).\n",
	      out);
}

static void print_version(FILE *out, struct argp_state *state)
{
	fputs("npumemctl " NPUMEM_PACKAGE_VERSION "\n", out);
}

/* Output that was lost (a full disk, say) is a failure. */
static int finish(int status)
{
	bool bad = ferror(stdout);

	if (fflush(stdout))
		return failure("standard output", "%s", strerror(errno));
	/* It has been told, or what came after has hidden the cause. */
	if (bad && !*failure_text())
		return failure("standard output", "not all could be written");
	return bad ? EXIT_FAILED : status;
}

/* So it is where a command ends in its own exit(): help and version, which argp prints. */
static void at_exit(void)
{
	if (!*failure_text() && finish(EXIT_OK) != EXIT_OK)
		_exit(EXIT_FAILED);
}

static int run(size_t command, int argc, char **argv)
{
	char name[64];

	/* argp takes the name for usage texts from here. */
	snprintf(name, sizeof(name), "npumemctl %s", commands[command].name);
	argv[0] = name;
	if (is_verb(argc, argv) && commands[command].run == cmd_plan)
		return plan_verb(argc, argv);
	if (is_verb(argc, argv) && commands[command].run == cmd_run)
		return run_verb(argc, argv);
	return commands[command].run(argc, argv);
}

/* Number of a command, COUNT if there is none of that name. */
static size_t find_command(const char *name)
{
	size_t i = 0;

	while (i < COUNT && strcmp(commands[i].name, name) != 0)
		i++;
	return i;
}

static int no_command(const char *name)
{
	char *plain = plain_text(name, false);

	fprintf(stderr, "npumemctl: no command '%s'; see npumemctl --help\n", plain);
	free(plain);
	return EXIT_USAGE;
}

/* "help", "help COMMAND", "help bench pack" */
int cmd_help(int argc, char **argv)
{
	char ask[] = "--help", *words[] = { argv[0], ask, NULL, NULL };
	size_t command;

	if (argc < 2) {
		help(stdout);
		return EXIT_OK;
	}
	command = find_command(argv[1]);
	if (command == COUNT)
		return no_command(argv[1]);
	if (commands[command].run == cmd_help || !strcmp(argv[1], ask)) {
		help(stdout);
		return EXIT_OK;
	}
	if (argc == 2)
		return run(command, 2, words);
	words[1] = argv[2];
	words[2] = ask;
	return run(command, 3, words);
}

/*
 * Whether a word after a command is to become "list" or "show". After "plan" and "run" a model's
 * file may stand there, too: if one begins so, it is meant.
 */
static bool takes_verb(size_t command, const char *typed)
{
	char pattern[16];
	glob_t files;
	int none;

	if (commands[command].run == cmd_graph || commands[command].run == cmd_device)
		return *typed != '-';
	if (commands[command].run != cmd_plan && commands[command].run != cmd_run)
		return false;
	if (!*typed ||
	    (strncmp("list", typed, strlen(typed)) && strncmp("show", typed, strlen(typed))))
		return false;
	snprintf(pattern, sizeof(pattern), "%s*", typed);
	none = glob(pattern, 0, NULL, &files);
	globfree(&files);
	return none == GLOB_NOMATCH;
}

/* The words after "npumemctl", the last of which a shell is to complete. */
static int complete(int argc, char **argv)
{
	size_t command;

	command_complete();
	if (!argc)
		return EXIT_USAGE;
	if (argc == 1 || (argc == 2 && !strcmp(argv[0], "help"))) {
		for (size_t i = 0; i < COUNT; i++)
			complete_word(commands[i].name, argv[argc - 1], commands[i].summary);
		if (argc == 2)
			return EXIT_OK;
		complete_word("--help", argv[0], "print the commands");
		complete_word("--version", argv[0], "print the version");
		return EXIT_OK;
	}
	command = find_command(argv[0]);
	if (command == COUNT || commands[command].run == cmd_help)
		return EXIT_OK;
	if (argc == 2 && !strcmp(argv[0], "bench")) {
		complete_word("pack", argv[1], "pack buffers of CSV files");
		return EXIT_OK;
	}
	if (argc == 2 && takes_verb(command, argv[1])) {
		verbs_complete(argv[1]);
		return EXIT_OK;
	}
	return run(command, argc, argv);
}

int main(int argc, char **argv)
{
	size_t command;

	plain_descriptors();
	/* A file that may not grow is an error like a full disk, not the end. */
	signal(SIGXFSZ, SIG_IGN);
	atexit(at_exit);
	argp_program_version_hook = print_version;
	argp_err_exit_status = EXIT_USAGE;
	if (argc < 2) {
		help(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		print_version(stdout, NULL);
		return finish(EXIT_OK);
	}
	if (!strcmp(argv[1], "--complete"))
		return finish(complete(argc - 2, argv + 2));
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-?") || !strcmp(argv[1], "-h"))
		return finish(cmd_help(argc - 1, argv + 1));
	command = find_command(argv[1]);
	if (command == COUNT)
		return no_command(argv[1]);
	return finish(run(command, argc - 1, argv + 1));
}
