/* SPDX-License-Identifier: MIT */
/* npumemctl status: what npumemd says of itself. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../monotonic/monotonic.h"
#include "commands.h"
#include "cli/cli.h"

#define SOCKET	  "/run/npumemd/metrics"
/* Longest answer, in bytes; npumemd's are some thousand. */
#define MAX_TEXT  (1u << 20)
/* Nanoseconds that all of it may take. */
#define PATIENCE  INT64_C(10000000000)
/* Up to here a double has all whole numbers, and so many digits of others. */
#define MAX_COUNT (INT64_C(1) << 53)
#define DIGITS	  15

struct arguments {
	const char *socket;
	bool json;
};

static const struct command_option options[] = {
	{ "socket", 's', VALUE_TEXT, "FILE", "Where npumemd tells (" SOCKET ")",
	  offsetof(struct arguments, socket) },
	{ "json", 'j', VALUE_FLAG, NULL, "Print all samples as one JSON object",
	  offsetof(struct arguments, json) },
	{ 0 },
};

static const struct command command = {
	.options = options,
	.parse = no_arguments,
	.doc = "Show what npumemd has done so far: requests by outcome, failures, searches for better "
	       "plans. The service tells everybody, unless its configuration says otherwise "
	       "([metrics]).",
};

/* ---------------------------------------------------------------------- asking */

/* Why nobody can be asked, and what to do about it. */
static const char *why(int err)
{
	switch (err) {
	case ENOENT:
		return "No such file or directory: npumemd does not run, or its configuration has "
		       "no socket in [metrics], as by default if it was started by hand";
	case ECONNREFUSED:
		return "Connection refused: nobody listens there any more";
	case EACCES:
		return "Permission denied: [metrics] of npumemd's configuration has the mode of its "
		       "socket";
	case EAGAIN:
		return "no answer comes";
	case ENOTSOCK:
		return "this is no socket";
	case EPIPE:
	case ECONNRESET:
		return "it hangs up: others ask at this time, as many as may";
	default:
		return strerror(err);
	}
}

/* Have a call wait for no longer than what is left until @deadline, if anything is. */
static bool wait_until(int fd, int which, int64_t deadline)
{
	int64_t left = (deadline - monotonic_ns()) / 1000;
	const struct timeval patience = { .tv_sec = left / 1000000, .tv_usec = left % 1000000 };

	errno = EAGAIN;
	return left > 0 && !setsockopt(fd, SOL_SOCKET, which, &patience, sizeof(patience));
}

/* Sends the request and reads the answer to its end; NULL and a sentence on failure. */
static char *converse(int fd, int64_t deadline, const char **wrong)
{
	static const char request[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
	char *text = malloc(MAX_TEXT + 1);
	size_t used = 0;
	ssize_t got = 1;
	int err = 0;

	*wrong = strerror(ENOMEM);
	if (!text)
		return NULL;
	if (send(fd, request, strlen(request), MSG_NOSIGNAL) != (ssize_t)strlen(request))
		err = EPIPE;
	while (!err && got > 0 && used < MAX_TEXT) {
		got = wait_until(fd, SO_RCVTIMEO, deadline) ?
			      recv(fd, text + used, MAX_TEXT - used, 0) :
			      -1;
		if (got < 0)
			err = errno;
		else
			used += (size_t)got;
	}
	text[used] = '\0';
	if (!err && !got)
		return text;
	*wrong = err ? why(err) : "the answer does not end";
	free(text);
	return NULL;
}

static char *ask(const char *path, const char **wrong)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int64_t deadline = monotonic_ns() + PATIENCE;
	struct stat status;
	char *text = NULL;
	int fd;

	*wrong = strerror(ENAMETOOLONG);
	if (strlen(path) >= sizeof(address.sun_path))
		return NULL;
	memcpy(address.sun_path, path, strlen(path) + 1);
	/* connect() says of a folder that it refuses. */
	*wrong = why(ENOTSOCK);
	if (!stat(path, &status) && !S_ISSOCK(status.st_mode))
		return NULL;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* It waits where too many others do so already. */
	if (fd < 0 || !wait_until(fd, SO_SNDTIMEO, deadline) ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address)))
		*wrong = why(errno);
	else
		text = converse(fd, deadline, wrong);
	if (fd >= 0)
		close(fd);
	return text;
}

/* --------------------------------------------------------------------- samples */

/* Labels in braces, which are cut off @name; an object, empty without any. NULL: malformed. */
static json_t *take_labels(char *name)
{
	json_t *labels = json_object();
	char *at = strchr(name, '{');

	if (!at)
		return labels;
	*at++ = '\0';
	while (*at && *at != '}') {
		char *key = at, *value = strstr(at, "=\""),
		     *end = value ? strchr(value + 2, '"') : NULL;

		if (!end) {
			json_decref(labels);
			return NULL;
		}
		*value = *end = '\0';
		/* No UTF-8. */
		if (json_object_set_new(labels, key, json_string(value + 2))) {
			json_decref(labels);
			return NULL;
		}
		at = end + 1;
		at += *at == ',';
	}
	if (*at != '}') {
		json_decref(labels);
		return NULL;
	}
	return labels;
}

/* A count is whole, and has all of its digits. */
static json_t *value_json(double value)
{
	return value == floor(value) && fabs(value) <= MAX_COUNT ? json_integer((json_int_t)value) :
								   json_real(value);
}

/* Adds a line "name{labels} value" to the list of its name; false: it is none. */
static bool add_sample(json_t *samples, char *line)
{
	char *space = strrchr(line, ' '), *end;
	json_t *sample, *list;
	double value;

	if (!space)
		return false;
	value = strtod(space + 1, &end);
	if (end == space + 1 || *end || !isfinite(value))
		return false;
	*space = '\0';
	sample = take_labels(line);
	list = json_object_get(samples, line);
	if (!list) {
		list = json_array();
		if (json_object_set_new(samples, line, list))
			list = NULL;
	}
	if (!sample || !list || json_object_set_new(sample, "value", value_json(value))) {
		json_decref(sample);
		return false;
	}
	return !json_array_append_new(list, sample);
}

static bool is_answer(const char *text)
{
	return !strncmp(text, "HTTP/1.1 200 ", 13);
}

/* OpenMetrics has an end, so that half a text is not taken for the whole one. */
static bool has_end(const char *text)
{
	static const char end[] = "\n# EOF\n";
	size_t length = strlen(text);

	return length >= strlen(end) && !strcmp(text + length - strlen(end), end);
}

/* All samples by name; NULL: the answer is none of npumemd's. */
static json_t *read_samples(char *text)
{
	char *body = strstr(text, "\r\n\r\n"), *line, *rest;
	json_t *samples = json_object();
	bool good = body && is_answer(text);

	for (line = good ? strtok_r(body + 4, "\n", &rest) : NULL; line && good;
	     line = strtok_r(NULL, "\n", &rest))
		good = *line == '#' || add_sample(samples, line);
	if (good && json_object_get(samples, "npumemd_build_info"))
		return samples;
	json_decref(samples);
	return NULL;
}

/* Sum of the samples of a name whose label has a value; of all, if @label is NULL. */
static double sum(const json_t *samples, const char *name, const char *label, const char *value)
{
	const json_t *list = json_object_get(samples, name), *sample;
	double all = 0;
	size_t i;

	json_array_foreach(list, i, sample) {
		const char *has = label ? json_string_value(json_object_get(sample, label)) : NULL;

		if (!label || (has && !strcmp(has, value)))
			all += json_number_value(json_object_get(sample, "value"));
	}
	return all;
}

static void print_failures(const json_t *samples)
{
	const json_t *list = json_object_get(samples, "npumemd_request_failures_total"), *sample;
	size_t i;

	if (!json_array_size(list))
		return;
	fputs("failures   ", stdout);
	json_array_foreach(list, i, sample) {
		const char *name = json_string_value(json_object_get(sample, "errno"));
		char *plain = plain_text(name ? name : "?", false);

		printf("%s%s %.0f", i ? ", " : "", plain,
		       json_number_value(json_object_get(sample, "value")));
		free(plain);
	}
	putchar('\n');
}

static void print_status(const json_t *samples)
{
	static const char requests[] = "npumemd_requests_total",
			  searches[] = "npumemd_searches_ended_total";
	const json_t *build = json_array_get(json_object_get(samples, "npumemd_build_info"), 0);
	const char *version = json_string_value(json_object_get(build, "version"));
	double count = sum(samples, "npumemd_request_duration_seconds_count", NULL, NULL);
	char *plain = plain_text(version ? version : "?", false);

	printf("npumemd    %s, %s\n", plain,
	       sum(samples, "npumemd_registered", NULL, NULL) > 0 ? "registered with the driver" :
								    "waiting for the driver");
	printf("requests   %.0f of %.0f places taken, %.0f wait; %.0f planned, "
	       "%.0f answered with kept plans, %.0f failed, %.0f refused by the driver, %.0f given up\n",
	       sum(samples, "npumemd_requests_under_way", NULL, NULL),
	       sum(samples, "npumemd_places", NULL, NULL),
	       sum(samples, "npumemd_requests_waiting", NULL, NULL),
	       sum(samples, requests, "outcome", "planned"),
	       sum(samples, requests, "outcome", "kept"),
	       sum(samples, requests, "outcome", "failed"),
	       sum(samples, requests, "outcome", "refused"),
	       sum(samples, requests, "outcome", "over"));
	if (count > 0)
		printf("duration   %.3f s on average; planning took %.3f s of processor time in all\n",
		       sum(samples, "npumemd_request_duration_seconds_sum", NULL, NULL) / count,
		       sum(samples, "npumemd_planning_cpu_seconds_total", NULL, NULL));
	print_failures(samples);
	printf("searches   %.0f run or wait; %.0f found a better plan, %.0f none, %.0f failed\n",
	       sum(samples, "npumemd_searches_waiting", NULL, NULL),
	       sum(samples, searches, "outcome", "better"),
	       sum(samples, searches, "outcome", "no-better"),
	       sum(samples, searches, "outcome", "failed"));
	free(plain);
}

int cmd_status(int argc, char **argv)
{
	struct arguments args = { .socket = SOCKET };
	const char *wrong;
	json_t *samples;
	char *text;

	command_parse(&command, argc, argv, &args);
	text = ask(args.socket, &wrong);
	if (!text)
		return failure(args.socket, "%s", wrong);
	if (is_answer(text) && !has_end(text)) {
		free(text);
		return failure(args.socket, "the answer is cut off: it lacks the end of npumemd's "
					    "metrics");
	}
	samples = read_samples(text);
	free(text);
	if (!samples)
		return failure(args.socket, "what answers is no npumemd");
	if (args.json)
		return print_json_digits(samples, DIGITS);
	print_status(samples);
	json_decref(samples);
	return EXIT_OK;
}
