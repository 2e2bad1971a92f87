/* SPDX-License-Identifier: MIT */
/*
 * The daemon's event loop: driver, requests, signals, service manager.
 *
 * The daemon has one thread. Everything runs from one sd-event loop, so nothing is locked
 * and callbacks never overlap. Long work is not done here: graphs are read and planned in
 * child processes (worker.h). The kernel answers netlink commands within sendmsg(), and
 * none of them takes long: it verifies a plan after DONE has returned.
 *
 * At most `workers` requests are planned at a time. The others wait (intake.h); the driver
 * enforces deadlines, and bounds how many there are.
 */
#pragma once

#include <stdbool.h>

#include "config.h"
#include "worker.h"

/* Exit codes; npumemd(8) and npumemd.service know them. */
#define EXIT_USAGE	2 /* command line or configuration */
#define EXIT_SECOND	3 /* another daemon is registered */
#define EXIT_PERMISSION 4 /* no CAP_NET_ADMIN */

/**
 * struct server_args - arguments of server_run()
 * @config: configuration to begin with
 * @config_path: file that is read again at SIGHUP
 * @config_optional: it may be missing
 * @log_level: from the command line, stronger than the file's; negative = none
 */
struct server_args {
	struct config config;
	const char *config_path;
	bool config_optional;
	int log_level;
};

/* The jobs that the daemon's workers can do, for worker_main(). */
extern const struct worker_job server_jobs[];

/** server_run() - serve requests until SIGTERM or SIGINT; returns the exit code */
int server_run(const struct server_args *args);
