/* SPDX-License-Identifier: MIT */
/* npumemctl monitor: what the driver refuses, as it does. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "commands.h"
#include "cli/cli.h"
#include "live/clients.h"
#include "live/event_text.h"

struct arguments {
	uint32_t count;
	bool json;
};

static const struct command_option options[] = {
	{ "count", 'n', VALUE_COUNT, "N", "End after N events", offsetof(struct arguments, count),
	  .min = 1, .max = 1000000000 },
	{ "json", 'j', VALUE_FLAG, NULL, "Print a JSON object in a line for each event",
	  offsetof(struct arguments, json) },
	{ 0 },
};

static const struct command command = {
	.options = options,
	.parse = no_arguments,
	.doc = "Print what the driver refuses, as it does: plans and jobs, with the steps and tensors "
	       "of the refusal and the process whose call it was, and jobs that failed. It needs "
	       "CAP_NET_ADMIN, and ends with ^C.",
};

/*
 * struct monitor - what is printed
 * @left: events that are still to come; 0: without end
 * @done: there were as many as were asked for
 * @err: negative errno, of standard output
 */
struct monitor {
	bool json;
	uint32_t left;
	bool done;
	int err;
};

static volatile sig_atomic_t ended;

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

static void tell_event(void *context, const struct live_event *event)
{
	struct monitor *monitor = context;
	struct live_name process;

	if (monitor->done || monitor->err)
		return;
	process = live_process_name("/proc", (pid_t)event->pid);
	if (monitor->json)
		monitor->err = event_print_json(stdout, event, process.s, clock_seconds());
	else
		event_print(stdout, event, process.s, clock_seconds());
	if (fflush(stdout) && !monitor->err)
		monitor->err = -errno;
	monitor->done = monitor->left == 1;
	monitor->left -= monitor->left != 0;
}

static void tell_driver(void *context, bool there)
{
	(void)context;
	fprintf(stderr, "npumemctl: monitor: the driver is %s\n",
		there ? "there again" : "gone; it is waited for");
}

static int watch(struct live_listener *listener, const struct arguments *args)
{
	static const struct live_tell tell = { tell_event, tell_driver };
	const struct sigaction action = { .sa_handler = end };
	struct monitor monitor = { .json = args->json, .left = args->count };
	struct pollfd input = { .fd = live_listen_fd(listener), .events = POLLIN };
	int err = 0;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	while (!ended && !monitor.done && !err && !monitor.err) {
		/* A signal that comes before the wait is seen a second later. */
		if (poll(&input, 1, 1000) <= 0)
			continue;
		err = live_next(listener, &tell, &monitor);
		if (err == -ENOBUFS) {
			fputs("npumemctl: monitor: events came too fast, and some were lost\n",
			      stderr);
			err = 0;
		}
	}
	if (monitor.err)
		return failure("standard output", "%s", strerror(-monitor.err));
	return err ? failure("monitor", "%s", strerror(-err)) : EXIT_OK;
}

int cmd_monitor(int argc, char **argv)
{
	struct live_listener *listener;
	struct npumem_error error = { 0 };
	struct arguments args = { 0 };
	int status;

	command_parse(&command, argc, argv, &args);
	if (live_listen(&listener, &error))
		return failure("monitor", "%s", error.text);
	status = watch(listener, &args);
	live_listen_end(listener);
	return status;
}
