// SPDX-License-Identifier: MIT
/*
 * npumem-engine: an engine in a process that computes for real, for machines without an NPU.
 * Command line, and one task after the other.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compute.h"
#include "../monotonic/monotonic.h"
#include "../plain/plain_descriptors.h"
#include "npumem_command.h"
#include "sandbox.h"
#include "size.h"
#include "trace.h"

#define NAME	   "npumem-engine"
#define EXIT_USAGE 2

/* A task is given up in the engine a little before the driver does. */
#define LIMIT_MS   (NPUMEM_ENGINE_JOB_MS - 500)
#define MAX_WINDOW (256ull << 20)
/* What convolutions take to lay out weights, however small the window is. */
#define MAX_BLOCKS (16ull << 20)

__attribute__((visibility("default"))) const char *argp_program_version = NAME
	" " NPUMEM_PACKAGE_VERSION;

enum {
	OPTION_SLOT = 256,
	OPTION_TRACE,
	OPTION_NO_SECCOMP,
};

static const struct argp_option options[] = {
	{ "device", 'd', "PATH", 0, "Device node; the first npumem device by default", 0 },
	{ "slot", OPTION_SLOT, "N", 0,
	  "Index of the device's engine to be; its first slot by "
	  "default",
	  0 },
	{ "window", 'w', "BYTES", 0, "Memory for the tiles of one step (64M)", 0 },
	{ "trace", OPTION_TRACE, NULL, 0, "Print a line for each step computed", 0 },
	{ "no-seccomp", OPTION_NO_SECCOMP, NULL, 0,
	  "Do not restrict system calls, for debuggers and sanitizers", 0 },
	{ 0 },
};

struct arguments {
	const char *device;
	uint64_t window;
	uint32_t slot;
	bool slot_given;
	bool trace;
	bool no_seccomp;
};

static uint32_t parse_index(struct argp_state *state, const char *text)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || value >= NPUMEM_NONE)
		argp_error(state, "--slot %s: not the index of an engine", text);
	return (uint32_t)value;
}

static error_t parse(int key, char *value, struct argp_state *state)
{
	struct arguments *args = state->input;

	switch (key) {
	case 'd':
		args->device = value;
		return 0;
	case 'w':
		if (npusize_parse(value, &args->window) || !args->window ||
		    args->window > MAX_WINDOW)
			argp_error(state, "--window %s: not a size of at most 256M", value);
		return 0;
	case OPTION_SLOT:
		args->slot = parse_index(state, value);
		args->slot_given = true;
		return 0;
	case OPTION_TRACE:
		args->trace = true;
		return 0;
	case OPTION_NO_SECCOMP:
		args->no_seccomp = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = NAME " attaches to an npumem device as an engine for all its clients, and computes "
		    "their jobs: operators of TensorFlow Lite models, tile by tile."
		    "\vIt stays in the foreground; SIGTERM ends it. See " NAME "(8).",
};

static int failed(const char *what, const char *why)
{
	fprintf(stderr, NAME ": %s: %s\n", what, why);
	return EXIT_FAILURE;
}

static int attach(const struct arguments *args, struct npumem_engine **engine)
{
	struct npumem_engine_args wanted = {
		.name = NAME,
		.window_size = args->window,
		.slot = args->slot,
		.any_slot = !args->slot_given,
		.version = NPUMEM_COMMAND_VERSION,
		.shared = true,
	};
	struct npumem_device *device;
	struct npumem_error error;
	int code = EXIT_SUCCESS;

	if (npumem_device_open(args->device, &device, &error))
		return failed(args->device ? args->device : "no device", error.text);
	if (npumem_engine_new(device, &wanted, engine, &error))
		code = failed(npumem_device_path(device), error.text);
	else
		fprintf(stderr, NAME ": attached to %s\n", npumem_device_path(device));
	npumem_device_close(device);
	return code;
}

/* Commands are hostile: nothing is left but to compute, and to say so. */
static int enter_sandbox(const struct arguments *args, const struct npumem_engine *engine)
{
	const struct sandbox_limits limits = {
		.seccomp = !args->no_seccomp,
	};
	const struct sandbox_calls calls = {
		.fd = npumem_engine_fd(engine),
		.requests = { NPUMEM_IOCTL_ENGINE_NEXT, NPUMEM_IOCTL_ENGINE_ALIVE },
		.request_count = 2,
		.timer = true,
	};
	const char *what;
	int err;

	/* Fences wait for us, and memory may be got by waiting for fences. */
	if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT))
		fprintf(stderr,
			NAME ": memory is not locked (%s): what is swapped out delays "
			     "jobs\n",
			strerror(errno));
	err = sandbox_enter(&limits, &calls, &what);
	if (err) {
		fprintf(stderr, NAME ": the sandbox cannot be set up (%s): %s\n", what,
			strerror(-err));
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

static int serve(struct npumem_engine *engine, struct compute *compute, bool trace)
{
	struct npumem_engine_task task;
	struct npumem_error error;
	int err = 0;

	for (;;) {
		const char *why = NULL;
		int64_t start;

		if (npumem_engine_fetch(engine, err, INT64_MAX, &task, &error))
			return failed("no more tasks", error.text);
		start = monotonic_ns();
		err = compute_task(compute, &task, &why);
		if (trace)
			trace_task(&task, err, why, monotonic_ns() - start);
	}
}

int main(int argc, char **argv)
{
	struct arguments args = { .window = 64ull << 20 };
	struct npumem_engine *engine = NULL;
	struct compute compute;
	int code, err;

	plain_descriptors();
	argp_err_exit_status = EXIT_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &args))
		return EXIT_USAGE;
	/* Before there is a sandbox in which the stream could not ask what it writes to. */
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	/* Operands that do not lie as kernels want them, floats in double precision, and blocks. */
	err = compute_init(&compute, 4 * args.window + MAX_BLOCKS, LIMIT_MS);
	if (err)
		return failed("memory to compute with", strerror(-err));
	code = attach(&args, &engine);
	if (code == EXIT_SUCCESS)
		code = enter_sandbox(&args, engine);
	if (code == EXIT_SUCCESS)
		code = serve(engine, &compute, args.trace);
	npumem_engine_free(engine);
	compute_fini(&compute);
	return code;
}
