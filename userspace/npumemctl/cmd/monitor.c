/* SPDX-License-Identifier: MIT */
/* npumemctl monitor: what the driver refuses, as it does. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "commands.h"
#include "cli/cli.h"
#include "live/clients.h"
#include "live/events.h"

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

static error_t parse(int key, char *arg, struct argp_state *state)
{
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	usage_error(state, "'%s': no argument is expected", arg);
	return 0;
}

static const struct command command = {
	.options = options,
	.parse = parse,
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

static void add_index(json_t *object, const char *name, uint32_t index)
{
	if (index != NPUMEM_NONE)
		json_object_set_new(object, name, json_integer(index));
}

static int print_object(const struct live_event *event, const char *process)
{
	const struct npumem_verdict *v = &event->verdict;
	json_t *object = json_pack("{sI ss sI sI ss ss ss}", "time", (json_int_t)time(NULL),
				   "event", event->is_fault ? "job" : "plan", "device",
				   (json_int_t)event->device, "pid", (json_int_t)event->pid,
				   "command", process, "rule", npumem_rule_name(v->rule), "message",
				   event->message);
	char *line;

	if (event->is_fault)
		json_object_set_new(object, "run", json_integer((json_int_t)event->run));
	add_index(object, "position", v->position);
	add_index(object, "step", v->step);
	add_index(object, "tile", v->tile);
	add_index(object, "tensor", v->tensor);
	add_index(object, "other_step", v->other_step);
	add_index(object, "other_tile", v->other_tile);
	add_index(object, "other_tensor", v->other_tensor);
	if (v->length) {
		json_object_set_new(object, "first", json_integer((json_int_t)v->first));
		json_object_set_new(object, "length", json_integer((json_int_t)v->length));
	}
	line = object ? json_dumps(object, JSON_COMPACT) : NULL;
	json_decref(object);
	if (!line)
		return -ENOMEM;
	puts(line);
	free(line);
	return 0;
}

static void print_line(const struct live_event *event, const char *process)
{
	const struct npumem_verdict *v = &event->verdict;
	const char *rule = npumem_rule_name(v->rule);
	char *message = plain_text(event->message, false);
	char clock[16] = "";
	time_t now = time(NULL);
	struct tm local;

	if (localtime_r(&now, &local))
		strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	printf("%s device %" PRIu32, clock, event->device);
	if (event->is_fault)
		printf(", run %" PRIu64, event->run);
	if (event->pid)
		printf(", pid %" PRIu32 " (%s)", event->pid, process);
	printf(": %s", !event->is_fault ? "plan refused" :
		       event->pid	? "job refused" :
					  "job failed");
	/* The sentence of a refused plan begins with its rule. */
	if (strncmp(message, rule, strlen(rule)) != 0)
		printf(": %s", rule);
	if (*message)
		printf(": %s", message);
	if (event->is_fault && v->position != NPUMEM_NONE)
		printf(", position %" PRIu32, v->position);
	if (event->is_fault && v->length)
		printf(", bytes [%" PRIu64 ", %" PRIu64 ") of the arena", (uint64_t)v->first,
		       (uint64_t)(v->first + v->length));
	putchar('\n');
	free(message);
}

static void tell(void *context, const struct live_event *event)
{
	struct monitor *monitor = context;
	struct live_name name = live_process_name("/proc", (pid_t)event->pid);
	char *process = plain_text(name.s, false);

	if (!monitor->done && !monitor->err) {
		if (monitor->json)
			monitor->err = print_object(event, process);
		else
			print_line(event, process);
		if (fflush(stdout) && !monitor->err)
			monitor->err = -errno;
		monitor->done = monitor->left == 1;
		monitor->left -= monitor->left != 0;
	}
	free(process);
}

static int watch(struct live_listener *listener, const struct arguments *args)
{
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
		err = live_next(listener, tell, &monitor);
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
