/* SPDX-License-Identifier: MIT */
#include "event_text.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/verdict.h"

double clock_seconds(void)
{
	struct timespec now;
	int64_t ms;

	clock_gettime(CLOCK_REALTIME, &now);
	ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
	return (double)ms / 1000;
}

int event_print_json(FILE *out, const struct live_event *event, const char *process, double now)
{
	const struct npumem_verdict *v = &event->verdict;
	/* Both are a client's bytes, and the message may be cut within a character. */
	char *message = plain_text(event->message, false), *command = plain_text(process, false);
	json_t *object = json_pack("{sf ss sI sI ss ss ss}", "time", now, "event",
				   event->is_fault ? "job" : "plan", "device",
				   (json_int_t)event->device, "pid", (json_int_t)event->pid,
				   "command", command, "rule", npumem_rule_name(v->rule), "message",
				   message);
	char *line;

	free(message);
	free(command);
	if (event->is_fault)
		json_object_set_new(object, "run", json_integer((json_int_t)event->run));
	verdict_places(object, v, true);
	line = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(13)) : NULL;
	json_decref(object);
	if (!line)
		return -ENOMEM;
	fprintf(out, "%s\n", line);
	free(line);
	return 0;
}

void event_print(FILE *out, const struct live_event *event, const char *process, double now)
{
	const struct npumem_verdict *v = &event->verdict;
	const char *rule = npumem_rule_name(v->rule);
	char *message = plain_text(event->message, false), *command = plain_text(process, false);
	char clock[16] = "";
	const time_t seconds = (time_t)now;
	struct tm local;

	if (localtime_r(&seconds, &local))
		strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	fprintf(out, "%s device %" PRIu32, clock, event->device);
	if (event->is_fault)
		fprintf(out, ", run %" PRIu64, event->run);
	if (event->pid)
		fprintf(out, ", pid %" PRIu32 " (%s)", event->pid, command);
	fprintf(out, ": %s",
		!event->is_fault ? "plan refused" :
		event->pid	 ? "job refused" :
				   "job failed");
	/* The sentence of a refused plan begins with its rule. */
	if (strncmp(message, rule, strlen(rule)) != 0)
		fprintf(out, ": %s", rule);
	if (*message)
		fprintf(out, ": %s", message);
	if (event->is_fault && v->position != NPUMEM_NONE)
		fprintf(out, ", position %" PRIu32, v->position);
	if (event->is_fault && v->length)
		fprintf(out, ", bytes [%" PRIu64 ", %" PRIu64 ") of the %s", (uint64_t)v->first,
			(uint64_t)(v->first + v->length), npumem_verdict_space(v));
	fputc('\n', out);
	free(message);
	free(command);
}
