// SPDX-License-Identifier: MIT
/*
 * npumemd, the planning daemon of the npumem driver. This file has its command line.
 */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../userspace/plain/plain.h"
#include "../userspace/plain/plain_descriptors.h"
#include "../userspace/plain/plain_options.h"
#include "config.h"
#include "log.h"
#include "policy.h"
#include "server.h"
#include "worker.h"

/* glibc's variable, overridden. If it were hidden, as all else here is, glibc would not see it. */
__attribute__((visibility("default")))
const char *argp_program_version = "npumemd " NPUMEM_PACKAGE_VERSION;

enum {
	OPTION_CHECK_CONFIG = 256,
	OPTION_LOG_LEVEL,
};

static const struct argp_option options[] = {
	{ "foreground", 'f', NULL, 0, "Log to stderr instead of the journal", 0 },
	{ "config", 'c', "FILE", 0, "Read FILE instead of " NPUMEMD_CONF, 0 },
	{ "log-level", OPTION_LOG_LEVEL, "LEVEL", 0,
	  "error, warning, notice, info or debug; stronger than the file's", 0 },
	{ "check-config", OPTION_CHECK_CONFIG, NULL, 0,
	  "Read the configuration, say what is wrong with it, and exit", 0 },
	{ 0 },
};

struct command_line {
	bool foreground;
	bool check_config;
	const char *config;
	int log_level;
};

static error_t parse(int key, char *value, struct argp_state *state)
{
	struct command_line *line = state->input;

	switch (key) {
	case 'f':
		line->foreground = true;
		return 0;
	case 'c':
		line->config = value;
		return 0;
	case OPTION_CHECK_CONFIG:
		line->check_config = true;
		return 0;
	case OPTION_LOG_LEVEL:
		if (log_level_parse(value, &line->log_level))
			argp_error(state,
				   "log level \"%s\" is not one of error, warning, notice, info, "
				   "debug",
				   plain_text(value, false));
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "npumemd makes memory plans for graphs that programs give to the npumem driver."
	       "\vIt stays in the foreground in any case; SIGHUP reads the configuration again, "
	       "SIGTERM ends it. See npumemd(8) and npumemd.conf(5).",
};

/* Whether the same configuration may be read the next time: nobody has to mend it. */
static bool passes(int err)
{
	return err == -EAGAIN || err == -EIO || err == -ENOMEM || err == -EMFILE ||
	       err == -ENFILE || err == -EINTR || err == -ESTALE || err == -ETIMEDOUT;
}

/* Read the configuration. A file that was asked for has to be there; the default one need not. */
static int read_config(const struct command_line *line, struct server_args *args)
{
	const char *path = line->config ? line->config : NPUMEMD_CONF;
	char reason[512];
	int err;

	args->config_path = path;
	args->config_optional = !line->config;
	err = config_read(path, !line->config, &args->config, reason, sizeof(reason));
	if (!err)
		return 0;
	fprintf(stderr, "npumemd: %s\n", reason);
	/* The service is started again after a failure, and not after a mistake. */
	return passes(err) ? EXIT_FAILURE : EXIT_USAGE;
}

static void print_warning(const char *text)
{
	char *plain = plain_text(text, false);

	fprintf(stderr, "npumemd: warning: %s\n", plain);
	free(plain);
}

/* Who may write to a folder depends on the user, and is no matter here. */
static void warn_of_folder(const char *key, const char *path)
{
	char parent[CONFIG_PATH_SIZE], text[2 * CONFIG_PATH_SIZE + 64], *slash;
	struct stat status;

	snprintf(parent, sizeof(parent), "%s", path);
	for (size_t end = strlen(parent); end > 1 && parent[end - 1] == '/'; end--)
		parent[end - 1] = '\0';
	slash = strrchr(parent, '/');
	if (!slash)
		return;
	slash[slash == parent] = '\0';
	for (size_t end = strlen(parent); end > 1 && parent[end - 1] == '/'; end--)
		parent[end - 1] = '\0';
	/* That one the service makes when it begins. */
	if (!strcmp(parent, "/run/npumemd"))
		return;
	if (!stat(parent, &status) ? S_ISDIR(status.st_mode) : errno == EACCES)
		return;
	snprintf(text, sizeof(text), "%s: %s cannot be made: there is no folder %s", key, path,
		 parent);
	print_warning(text);
}

/* @type: what may be there; @name: of that. The service follows links to folders only. */
static void warn_of_other(const char *key, const char *path, mode_t type, const char *name)
{
	char text[CONFIG_PATH_SIZE + 96];
	struct stat status;

	if (!*path || (type == S_IFDIR ? stat(path, &status) : lstat(path, &status)) ||
	    (status.st_mode & S_IFMT) == type)
		return;
	snprintf(text, sizeof(text), "%s: %s is there, and is no %s", key, path, name);
	print_warning(text);
}

/* What the log would have. */
static void print_warnings(const struct config *config)
{
	char text[CONFIG_PATH_SIZE + 128];

	for (size_t i = 0; policies_warning(config->policies, i, text, sizeof(text)); i++)
		print_warning(text);
	if (*config->private_file) {
		snprintf(text, sizeof(text),
			 "%s: not every user may read it, and the service runs as one of its own",
			 config->private_file);
		print_warning(text);
	}
	if (config->cache_limit) {
		warn_of_folder("[cache] folder", config->cache_folder);
		warn_of_other("[cache] folder", config->cache_folder, S_IFDIR, "folder");
	} else if (config->improve_time) {
		print_warning("[improve] time: no plan is improved, since [cache] size-limit 0 "
			      "keeps none");
	}
	warn_of_folder("[metrics] socket", config->metrics_socket);
	warn_of_other("[metrics] socket", config->metrics_socket, S_IFSOCK, "socket");
	warn_of_folder("[metrics] textfile", config->metrics_textfile);
	warn_of_other("[metrics] textfile", config->metrics_textfile, S_IFREG, "regular file");
}

/* Help and version, which argp prints and ends with: a full disk is a failure. */
static void at_exit(void)
{
	bool bad = ferror(stdout);

	if (!fflush(stdout) && !bad)
		return;
	fprintf(stderr, "npumemd: standard output: %s\n",
		bad ? "not all could be written" : strerror(errno));
	_exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
	struct command_line line = { .log_level = -1 };
	struct server_args args = { .log_level = -1 };
	sigset_t reload;
	int code;

	plain_descriptors();
	worker_main(argv, server_jobs);
	/* A reload that is asked for before it can be done is not the end. */
	sigemptyset(&reload);
	sigaddset(&reload, SIGHUP);
	sigprocmask(SIG_BLOCK, &reload, NULL);
	atexit(at_exit);
	argp_err_exit_status = EXIT_USAGE;
	plain_options(&argp, argc, argv);
	if (argp_parse(&argp, argc, argv, 0, NULL, &line))
		return EXIT_USAGE;
	code = read_config(&line, &args);
	if (code || line.check_config) {
		if (!code)
			print_warnings(&args.config);
		config_free(&args.config);
		return code;
	}
	args.log_level = line.log_level;
	log_setup(line.foreground, line.log_level >= 0 ? line.log_level : args.config.log_level);
	return server_run(&args);
}
