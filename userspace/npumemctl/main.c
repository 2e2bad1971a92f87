/* SPDX-License-Identifier: MIT */
/* npumemctl: the command line tool of npumem. Finds the command and runs it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npumemctl.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
} commands[] = {
	{ "devices", cmd_devices, "list npumem devices, their carveouts and engines" },
	{ "import", cmd_import, "read a model (TFLite, graph JSON, blob), write graph JSON" },
	{ "plan", cmd_plan, "plan a model's memory; no device is needed" },
	{ "verify", cmd_verify, "check a plan with the kernel's verifier; no device is needed" },
	{ "run", cmd_run, "run a planned model on a device and compare its outputs" },
	{ "show", cmd_show, "draw a plan: one line a step" },
	{ "bench", cmd_bench, "pack: pack buffers of CSV files; no device is needed" },
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void help(FILE *out)
{
	fputs("Usage: npumemctl COMMAND [OPTION...] [ARGUMENT...]\n"
	      "Memory management for neural accelerators.\n\n"
	      "Commands:\n",
	      out);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
	fputs("\n"
	      "  -V, --version   print the version\n"
	      "  -?, --help      print this; after a command: its options\n\n"
	      "Exit status: 0 all is well, 1 failure, 2 wrong usage, 3 no plan within the\n"
	      "budget exists, 4 none was found.\n"
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
	if (fflush(stdout) || ferror(stdout))
		return failure("standard output", "%s", strerror(errno));
	return status;
}

int main(int argc, char **argv)
{
	char name[64];

	/* A file that may not grow is an error like a full disk, not the end. */
	signal(SIGXFSZ, SIG_IGN);
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
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-?") || !strcmp(argv[1], "-h") ||
	    !strcmp(argv[1], "help")) {
		help(stdout);
		return finish(EXIT_OK);
	}
	for (size_t i = 0; i < COMMANDS; i++) {
		if (strcmp(commands[i].name, argv[1]) != 0)
			continue;
		/* argp takes the name for usage texts from here. */
		snprintf(name, sizeof(name), "npumemctl %s", commands[i].name);
		argv[1] = name;
		return finish(commands[i].run(argc - 1, argv + 1));
	}
	fprintf(stderr, "npumemctl: no command '%s'; see npumemctl --help\n", argv[1]);
	return EXIT_USAGE;
}
