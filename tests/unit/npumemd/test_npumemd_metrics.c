// SPDX-License-Identifier: MIT
/* npumemd's metrics: their text, the socket that tells them, and the file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "exposition.h"
#include "log.h"
#include "metrics.h"
#include "said.h"
#include "unit.h"

/* ----------------------------------------------------------------------------- text */

static const struct metrics_now now = { .registered = true,
					.running = 1,
					.waiting = 5,
					.places = 2,
					.searches = 3,
					.held = true };

static char *text_of(const struct metrics *metrics, bool open)
{
	size_t size;
	char *text = metrics_text(metrics, &now, open, &size);

	assert_non_null(text);
	assert_int_equal(strlen(text), size);
	return text;
}

static struct metrics *counted(void)
{
	struct metrics *metrics = metrics_new();

	assert_non_null(metrics);
	metrics_request(metrics, "auto", METRICS_PLANNED, 0, 1000);
	metrics_request(metrics, "auto", METRICS_PLANNED, 0, 1001);
	metrics_request(metrics, "auto", METRICS_KEPT, 0, 1);
	metrics_request(metrics, "cosma", METRICS_FAILED, ENOSPC, 61000000);
	metrics_request(metrics, "no\"such\n", METRICS_FAILED, EOPNOTSUPP, 2);
	metrics_request(metrics, "cosma", METRICS_REFUSED, 100000, 3);
	metrics_request(metrics, "cosma", METRICS_OVER, ECANCELED, 4);
	metrics_cpu(metrics, 1000000);
	metrics_cpu(metrics, 500000);
	metrics_search_cpu(metrics, 2000000);
	metrics_search_cpu(metrics, 250000);
	metrics_search(metrics, METRICS_BETTER);
	metrics_search(metrics, METRICS_BETTER);
	metrics_search(metrics, METRICS_SEARCH_FAILED);
	return metrics;
}

TEST(open_metrics)
{
	struct metrics *metrics = counted();
	char *text = text_of(metrics, true);

	assert_string_equal(
		text,
		"# TYPE npumemd_build info\n# HELP npumemd_build Version of the daemon.\n"
		"npumemd_build_info{version=\"" NPUMEM_PACKAGE_VERSION "\"} 1\n"
		"# TYPE npumemd_registered gauge\n"
		"# HELP npumemd_registered Whether the driver has taken the daemon.\n"
		"npumemd_registered 1\n"
		"# TYPE npumemd_requests_under_way gauge\n"
		"# HELP npumemd_requests_under_way Plan requests that are being planned.\n"
		"npumemd_requests_under_way 1\n"
		"# TYPE npumemd_requests_waiting gauge\n"
		"# HELP npumemd_requests_waiting Plan requests that wait for a place.\n"
		"npumemd_requests_waiting 5\n"
		"# TYPE npumemd_places gauge\n"
		"# HELP npumemd_places Plan requests that may be planned at a time.\n"
		"npumemd_places 2\n"
		"# TYPE npumemd_searches_waiting gauge\n"
		"# HELP npumemd_searches_waiting Searches for better plans that run or wait.\n"
		"npumemd_searches_waiting 3\n"
		"# TYPE npumemd_searches_held gauge\n"
		"# HELP npumemd_searches_held Whether searches wait since they have used up their "
		"share of a processor.\n"
		"npumemd_searches_held 1\n"
		"# TYPE npumemd_requests counter\n"
		"# HELP npumemd_requests Plan requests that have ended.\n"
		"npumemd_requests_total{planner=\"auto\",outcome=\"planned\"} 2\n"
		"npumemd_requests_total{planner=\"auto\",outcome=\"kept\"} 1\n"
		"npumemd_requests_total{planner=\"cosma\",outcome=\"failed\"} 1\n"
		"npumemd_requests_total{planner=\"cosma\",outcome=\"refused\"} 1\n"
		"npumemd_requests_total{planner=\"cosma\",outcome=\"over\"} 1\n"
		"npumemd_requests_total{planner=\"unknown\",outcome=\"failed\"} 1\n"
		"# TYPE npumemd_request_failures counter\n"
		"# HELP npumemd_request_failures Plan requests that have failed, or were refused by "
		"the driver, by errno.\n"
		"npumemd_request_failures_total{errno=\"ENOSPC\"} 1\n"
		"npumemd_request_failures_total{errno=\"EOPNOTSUPP\"} 1\n"
		"npumemd_request_failures_total{errno=\"EHWPOISON\"} 1\n"
		"# TYPE npumemd_request_duration_seconds histogram\n"
		"# HELP npumemd_request_duration_seconds From the acceptance of a plan request to "
		"its end.\n"
		"# UNIT npumemd_request_duration_seconds seconds\n"
		"npumemd_request_duration_seconds_bucket{le=\"0.001\"} 5\n"
		"npumemd_request_duration_seconds_bucket{le=\"0.01\"} 6\n"
		"npumemd_request_duration_seconds_bucket{le=\"0.1\"} 6\n"
		"npumemd_request_duration_seconds_bucket{le=\"1.0\"} 6\n"
		"npumemd_request_duration_seconds_bucket{le=\"10.0\"} 6\n"
		"npumemd_request_duration_seconds_bucket{le=\"60.0\"} 6\n"
		"npumemd_request_duration_seconds_bucket{le=\"+Inf\"} 7\n"
		"npumemd_request_duration_seconds_sum 61.002011\n"
		"npumemd_request_duration_seconds_count 7\n"
		"# TYPE npumemd_planning_cpu_seconds counter\n"
		"# HELP npumemd_planning_cpu_seconds Processor time of planning processes that have "
		"ended, but for searches.\n"
		"# UNIT npumemd_planning_cpu_seconds seconds\n"
		"npumemd_planning_cpu_seconds_total 1.500000\n"
		"# TYPE npumemd_search_cpu_seconds counter\n"
		"# HELP npumemd_search_cpu_seconds Processor time of processes of searches for "
		"better plans that have ended.\n"
		"# UNIT npumemd_search_cpu_seconds seconds\n"
		"npumemd_search_cpu_seconds_total 2.250000\n"
		"# TYPE npumemd_searches_ended counter\n"
		"# HELP npumemd_searches_ended Searches for better plans that have ended.\n"
		"npumemd_searches_ended_total{outcome=\"better\"} 2\n"
		"npumemd_searches_ended_total{outcome=\"no-better\"} 0\n"
		"npumemd_searches_ended_total{outcome=\"failed\"} 1\n"
		"# EOF\n");
	free(text);
	metrics_free(metrics);
}

/* The older format has no type "info" and no end, and a counter goes by its sample's name. */
TEST(prometheus)
{
	struct metrics *metrics = counted();
	char *text = text_of(metrics, false);

	assert_non_null(strstr(text, "# TYPE npumemd_build_info gauge\n"));
	assert_non_null(strstr(text, "# TYPE npumemd_requests_total counter\n"));
	assert_non_null(strstr(text, "# TYPE npumemd_request_duration_seconds histogram\n"));
	assert_null(strstr(text, "# EOF"));
	assert_null(strstr(text, "# UNIT"));
	free(text);
	metrics_free(metrics);
}

/* --------------------------------------------------------------------------- socket */

/* File and socket are tried again so soon, in microseconds; 0: as soon as they are. */
static uint64_t again_us;
/* What listen() fails with next; 0: it does not. */
static int listen_errno;

int __real_sd_event_source_set_time_relative(sd_event_source *source, uint64_t usec);
int __wrap_sd_event_source_set_time_relative(sd_event_source *source, uint64_t usec);
int __wrap_sd_event_source_set_time_relative(sd_event_source *source, uint64_t usec)
{
	assert_int_equal(usec, 15000000);
	return __real_sd_event_source_set_time_relative(source, again_us ? again_us : usec);
}

int __real_listen(int fd, int backlog);
int __wrap_listen(int fd, int backlog);
int __wrap_listen(int fd, int backlog)
{
	if (!listen_errno)
		return __real_listen(fd, backlog);
	errno = listen_errno;
	listen_errno = 0;
	return -1;
}

/*
 * struct fixture - an exposition in a folder of its own
 * @told: how often the text was asked for
 */
struct fixture {
	char folder[32];
	char socket[64];
	char textfile[64];
	sd_event *event;
	struct config config;
	struct exposition *exposition;
	unsigned int told;
};

static char *tell(void *data, bool open, size_t *size)
{
	struct fixture *f = data;

	f->told++;
	*size = 5;
	return strdup(open ? "open\n" : "text\n");
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct exposition_source source = { .text = tell, .data = f };

	*state = f;
	log_setup(true, LOG_ERR);
	strcpy(f->folder, "/tmp/npumemd-metrics-XXXXXX");
	if (!mkdtemp(f->folder) || sd_event_new(&f->event) < 0)
		return -1;
	snprintf(f->socket, sizeof(f->socket), "%s/socket", f->folder);
	snprintf(f->textfile, sizeof(f->textfile), "%s/npumemd.prom", f->folder);
	config_defaults(&f->config);
	return exposition_new(f->event, &source, &f->exposition);
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char command[64];

	exposition_free(f->exposition);
	sd_event_unref(f->event);
	snprintf(command, sizeof(command), "rm -rf '%s'", f->folder);
	assert_int_equal(system(command), 0);
	free(f);
	return 0;
}

static void listen_at(struct fixture *f)
{
	strcpy(f->config.metrics_socket, f->socket);
	exposition_set(f->exposition, &f->config);
}

static int ask(const struct fixture *f, const char *request)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(address.sun_path, f->socket);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
	return fd;
}

/* Runs the loop until nothing is to be done. */
static void run(struct fixture *f)
{
	for (int idle = 0; idle < 3;)
		idle = sd_event_run(f->event, 20000) ? 0 : idle + 1;
}

/* What comes, up to the end. */
static char *answer(struct fixture *f, int fd)
{
	static char text[4096];
	size_t used = 0;
	ssize_t got;

	run(f);
	while ((got = recv(fd, text + used, sizeof(text) - 1 - used, MSG_DONTWAIT)) > 0)
		used += (size_t)got;
	text[used] = '\0';
	/* Nobody keeps it open. */
	assert_false(got < 0 && errno == EAGAIN);
	close(fd);
	return text;
}

#define GET "GET /metrics HTTP/1.1\r\nHost: localhost\r\n"

TEST_WITH(socket, setup, teardown)
{
	struct fixture *f = *state;
	struct stat status;

	listen_at(f);
	assert_int_equal(stat(f->socket, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0666);
	assert_string_equal(answer(f, ask(f, GET "\r\n")),
			    "HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text; "
			    "version=1.0.0; charset=utf-8\r\nContent-Length: 5\r\n"
			    "Connection: close\r\n\r\nopen\n");
	assert_string_equal(
		answer(f, ask(f, GET "Accept: text/plain;version=0.0.4\r\n\r\n")),
		"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; "
		"charset=utf-8\r\nContent-Length: 5\r\nConnection: close\r\n\r\ntext\n");
	assert_non_null(strstr(answer(f, ask(f, "GET / HTTP/1.0\n\n")), "\r\n\r\nopen\n"));
	assert_int_equal(f->told, 3);
	f->config.metrics_mode = 0600;
	listen_at(f);
	assert_int_equal(stat(f->socket, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	*f->config.metrics_socket = '\0';
	exposition_set(f->exposition, &f->config);
	assert_int_equal(stat(f->socket, &status), -1);
}

/* What GET would have, without what follows the empty line. */
TEST_WITH(head, setup, teardown)
{
	struct fixture *f = *state;

	listen_at(f);
	assert_string_equal(answer(f, ask(f, "HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")),
			    "HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text; "
			    "version=1.0.0; charset=utf-8\r\nContent-Length: 5\r\n"
			    "Connection: close\r\n\r\n");
	assert_string_equal(answer(f, ask(f, "HEAD / HTTP/1.1\r\nAccept: text/plain\r\n\r\n")),
			    "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; "
			    "charset=utf-8\r\nContent-Length: 5\r\nConnection: close\r\n\r\n");
}

/* Leaves no descriptor that is free; what it opened for that, up to -1. */
static void use_up(int used[64])
{
	const struct rlimit limit = { 32, 32 };
	int count = -1;

	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	do {
		count++;
		assert_in_range(count, 0, 63);
		used[count] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	} while (used[count] >= 0);
	assert_int_equal(errno, EMFILE);
}

/* A daemon that has no descriptor left lets who asks wait, and does not ask in turn, and again. */
TEST_WITH(no_descriptor, setup, teardown)
{
	struct fixture *f = *state;
	struct said said;
	int used[64], fd, rounds = 0;
	char *text, *line;
	uint64_t began;

	listen_at(f);
	fd = ask(f, GET "\r\n");
	log_setup(true, LOG_WARNING);
	said_begin(&said);
	use_up(used);
	for (began = now_us(); now_us() - began < 2500000; rounds++)
		assert_true(sd_event_run(f->event, 100000) >= 0);
	for (int i = 0; used[i] >= 0; i++)
		close(used[i]);
	text = said_end(&said);
	/* 25 that wait for nothing, and a few more for each try. */
	assert_in_range(rounds, 1, 60);
	while (recv(fd, &(char){ 0 }, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN)
		assert_true(sd_event_run(f->event, UINT64_MAX) >= 0);
	assert_non_null(strstr(answer(f, fd), "open\n"));
	line = strstr(text,
		      "npumemd: no metrics for who asks: Too many open files; tried again every "
		      "1 s\n");
	assert_non_null(line);
	assert_null(strstr(strstr(line, "every 1 s"), "no metrics"));
	free(text);
}

/* Clients of proxies, and those who type, ask so: RFC 9112, 3.2.2 and 2.2. */
TEST_WITH(other_forms, setup, teardown)
{
	static const char *const well[] = {
		"GET http://localhost/metrics HTTP/1.1\r\n\r\n",
		"GET HTTP://localhost:80/metrics?a=/b HTTP/1.1\r\n\r\n",
		"GET http://localhost HTTP/1.1\r\n\r\n",
		"GET http://localhost?a HTTP/1.1\r\n\r\n",
		"GET /metrics HTTP/1.1\nHost: localhost\n\r\n",
		"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\n",
		"\r\nGET /metrics HTTP/1.1\r\n\r\n",
		"\n\r\n\n\nGET /metrics HTTP/1.1\n\n",
	};
	static const char *const not_there[] = {
		"GET http://localhost/metricz HTTP/1.1\r\n\r\n",
		"GET http://metrics/http:// HTTP/1.1\r\n\r\n",
		"GET https://localhost/metrics HTTP/1.1\r\n\r\n",
	};
	struct fixture *f = *state;

	listen_at(f);
	for (size_t i = 0; i < sizeof(well) / sizeof(well[0]); i++)
		assert_non_null(strstr(answer(f, ask(f, well[i])), "open\n"));
	for (size_t i = 0; i < sizeof(not_there) / sizeof(not_there[0]); i++)
		assert_non_null(strstr(answer(f, ask(f, not_there[i])), "404 Not Found"));
}

TEST_WITH(bad_requests, setup, teardown)
{
	struct fixture *f = *state;
	char many[5000];

	listen_at(f);
	assert_string_equal(answer(f, ask(f, "POST /metrics HTTP/1.1\r\n\r\n")),
			    "HTTP/1.1 405 Method Not Allowed\r\nAllow: GET, HEAD\r\nContent-Type: "
			    "text/plain; charset=utf-8\r\n"
			    "Content-Length: 0\r\nConnection: close\r\n\r\n");
	assert_string_equal(answer(f, ask(f, "GET /metricz HTTP/1.1\r\n"
					     "Accept: application/openmetrics-text\r\n\r\n")),
			    "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain; charset=utf-8\r\n"
			    "Content-Length: 0\r\nConnection: close\r\n\r\n");
	assert_non_null(strstr(answer(f, ask(f, "GET /met HTTP/1.1\r\n\r\n")), "404 Not Found"));
	assert_non_null(strstr(answer(f, ask(f, "GET\r\n\r\n")), "405 Method Not Allowed"));
	assert_non_null(strstr(answer(f, ask(f, "HEAD\r\n\r\n")), "405 Method Not Allowed"));
	assert_non_null(strstr(answer(f, ask(f, "HEADER /metrics HTTP/1.1\r\n\r\n")),
			       "405 Method Not Allowed"));
	assert_non_null(
		strstr(answer(f, ask(f, "HEAD /metricz HTTP/1.1\r\n\r\n")), "404 Not Found"));
	memset(many, 'x', sizeof(many) - 1);
	many[sizeof(many) - 1] = '\0';
	assert_string_equal(answer(f, ask(f, many)), "");
	assert_int_equal(f->told, 0);
}

/* Those who say nothing keep eight places for five seconds, or until others come. */
TEST_WITH(silent_clients, setup, teardown)
{
	struct fixture *f = *state;
	int silent[8];

	listen_at(f);
	for (int i = 0; i < 8; i++)
		silent[i] = ask(f, i % 2 ? "" : "GET /metrics");
	run(f);
	/* The first one is gone, and no other. */
	assert_non_null(strstr(answer(f, ask(f, GET "\r\n")), "open\n"));
	assert_string_equal(answer(f, silent[0]), "");
	for (int i = 1; i < 8; i++) {
		assert_int_equal(recv(silent[i], &(char){ 0 }, 1, MSG_DONTWAIT), -1);
		assert_int_equal(errno, EAGAIN);
	}
	while (recv(silent[7], &(char){ 0 }, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN)
		sd_event_run(f->event, 100000);
	run(f);
	for (int i = 1; i < 8; i++)
		assert_string_equal(answer(f, silent[i]), "");
	assert_non_null(strstr(answer(f, ask(f, GET "\r\n")), "open\n"));
}

/* What is there and no socket stays. */
TEST_WITH(no_socket, setup, teardown)
{
	struct fixture *f = *state;
	FILE *file = fopen(f->socket, "w");
	struct stat status;

	assert_non_null(file);
	fclose(file);
	listen_at(f);
	assert_int_equal(stat(f->socket, &status), 0);
	assert_true(S_ISREG(status.st_mode));
	memset(f->config.metrics_socket, 'x', sizeof(f->config.metrics_socket) - 1);
	exposition_set(f->exposition, &f->config);
	run(f);
}

/* A daemon that was killed leaves its socket, which the next one takes. */
TEST_WITH(left_socket, setup, teardown)
{
	struct fixture *f = *state;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(address.sun_path, f->socket);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	close(fd);
	listen_at(f);
	assert_non_null(strstr(answer(f, ask(f, GET "\r\n")), "open\n"));
}

/* One that runs keeps it: a second daemon has none, and leaves the first one's when it ends. */
TEST_WITH(socket_of_another, setup, teardown)
{
	struct fixture *f = *state;
	const struct exposition_source source = { .text = tell, .data = f };
	struct exposition *second;
	struct said said;
	char *text;

	again_us = 1000;
	listen_at(f);
	assert_int_equal(exposition_new(f->event, &source, &second), 0);
	log_setup(true, LOG_WARNING);
	said_begin(&said);
	exposition_set(second, &f->config);
	for (int i = 0; i < 10; i++)
		assert_true(sd_event_run(f->event, 5000) >= 0);
	text = said_end(&said);
	assert_non_null(strstr(text, "npumemd: no metrics at "));
	assert_non_null(strstr(text, ": Address already in use; tried again every 15 s\n"));
	free(text);
	exposition_free(second);
	again_us = 0;
	assert_non_null(strstr(answer(f, ask(f, GET "\r\n")), "open\n"));
}

/* Who is being answered has nothing to do with a reload that leaves the socket where it was. */
TEST_WITH(reload_leaves_socket, setup, teardown)
{
	struct fixture *f = *state;
	struct stat before, after;
	int used[64], fd;

	listen_at(f);
	assert_int_equal(stat(f->socket, &before), 0);
	fd = ask(f, GET);
	run(f);
	/* Nor has a moment in which another one could not be had. */
	use_up(used);
	strcpy(f->config.metrics_textfile, f->textfile);
	exposition_set(f->exposition, &f->config);
	for (int i = 0; used[i] >= 0; i++)
		close(used[i]);
	assert_int_equal(stat(f->socket, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(send(fd, "\r\n", 2, MSG_NOSIGNAL), 2);
	assert_non_null(strstr(answer(f, fd), "open\n"));
	/* One that somebody has removed is there again. */
	assert_int_equal(unlink(f->socket), 0);
	exposition_set(f->exposition, &f->config);
	assert_non_null(strstr(answer(f, ask(f, GET "\r\n")), "open\n"));
}

/* Waits until the socket is there. */
static void wait_for_socket(struct fixture *f)
{
	while (access(f->socket, F_OK))
		assert_true(sd_event_run(f->event, UINT64_MAX) >= 0);
}

/* A folder that comes later, as one of a disk that is mounted late: each is said once. */
TEST_WITH(socket_comes, setup, teardown)
{
	struct fixture *f = *state;
	char expected[512], folder[64];
	struct said said;
	char *text;

	snprintf(folder, sizeof(folder), "%s/later", f->folder);
	snprintf(f->socket, sizeof(f->socket), "%s/later/socket", f->folder);
	again_us = 1000;
	log_setup(true, LOG_NOTICE);
	said_begin(&said);
	listen_at(f);
	for (int i = 0; i < 10; i++)
		assert_true(sd_event_run(f->event, 5000) >= 0);
	assert_int_equal(mkdir(folder, 0700), 0);
	wait_for_socket(f);
	again_us = 0;
	text = said_end(&said);
	snprintf(expected, sizeof(expected),
		 "<4>npumemd: no metrics at %s: No such file or directory; tried again every 15 s\n"
		 "<5>npumemd: the metrics are told at %s now\n",
		 f->socket, f->socket);
	assert_string_equal(text, expected);
	free(text);
	assert_non_null(strstr(answer(f, ask(f, GET "\r\n")), "open\n"));
}

/* No socket is left at which nobody listens. */
TEST_WITH(no_listening, setup, teardown)
{
	struct fixture *f = *state;

	again_us = 1000;
	listen_errno = ENOBUFS;
	listen_at(f);
	assert_int_equal(listen_errno, 0);
	assert_int_equal(access(f->socket, F_OK), -1);
	wait_for_socket(f);
	again_us = 0;
	assert_non_null(strstr(answer(f, ask(f, GET "\r\n")), "open\n"));
	/* What is no longer wanted is not tried. */
	listen_errno = ENOBUFS;
	again_us = 1000;
	f->config.metrics_mode = 0600;
	listen_at(f);
	*f->config.metrics_socket = '\0';
	exposition_set(f->exposition, &f->config);
	run(f);
	again_us = 0;
	assert_int_equal(access(f->socket, F_OK), -1);
}

/* ----------------------------------------------------------------------------- file */

TEST_WITH(textfile, setup, teardown)
{
	struct fixture *f = *state;
	char text[16] = "";
	FILE *file;

	strcpy(f->config.metrics_textfile, f->textfile);
	exposition_set(f->exposition, &f->config);
	run(f);
	file = fopen(f->textfile, "r");
	assert_non_null(file);
	assert_int_equal(fread(text, 1, sizeof(text), file), 5);
	fclose(file);
	assert_string_equal(text, "text\n");
	strcat(f->textfile, ".new");
	assert_int_equal(access(f->textfile, F_OK), -1);
}

/* What nobody writes any more is not left for others to tell. */
TEST_WITH(textfile_ends, setup, teardown)
{
	struct fixture *f = *state;
	char other[128];

	snprintf(other, sizeof(other), "%s/other.prom", f->folder);
	strcpy(f->config.metrics_textfile, f->textfile);
	exposition_set(f->exposition, &f->config);
	run(f);
	exposition_set(f->exposition, &f->config);
	assert_int_equal(access(f->textfile, F_OK), 0);
	strcpy(f->config.metrics_textfile, other);
	exposition_set(f->exposition, &f->config);
	assert_int_equal(access(f->textfile, F_OK), -1);
	run(f);
	assert_int_equal(access(other, F_OK), 0);
	/* Unless it is somebody else's. */
	unit_write(f->textfile, "of another");
	assert_int_equal(rename(f->textfile, other), 0);
	f->config.metrics_textfile[0] = '\0';
	exposition_set(f->exposition, &f->config);
	assert_int_equal(access(other, F_OK), 0);
	strcpy(f->config.metrics_textfile, f->textfile);
	exposition_set(f->exposition, &f->config);
	run(f);
	exposition_free(f->exposition);
	f->exposition = NULL;
	assert_int_equal(access(f->textfile, F_OK), -1);
}

/* What has taken the socket's place stays, whoever put it there. */
TEST_WITH(not_its_socket, setup, teardown)
{
	struct fixture *f = *state;

	strcpy(f->config.metrics_socket, f->socket);
	exposition_set(f->exposition, &f->config);
	unit_write(f->textfile, "precious");
	assert_int_equal(rename(f->textfile, f->socket), 0);
	exposition_free(f->exposition);
	f->exposition = NULL;
	assert_int_equal(access(f->socket, F_OK), 0);
}

/* Waits until the text was made so many times more. */
static void told_again(struct fixture *f, unsigned int times)
{
	for (unsigned int until = f->told + times; f->told < until;)
		assert_true(sd_event_run(f->event, UINT64_MAX) >= 0);
}

/* A folder that is not there, or full, is no reason to end, nor for ever to write no more. */
TEST_WITH(textfile_comes_back, setup, teardown)
{
	struct fixture *f = *state;
	char expected[512], expected_then[512], folder[64];
	struct said said;
	char *text, *after;

	snprintf(folder, sizeof(folder), "%s/later", f->folder);
	snprintf(f->config.metrics_textfile, sizeof(f->config.metrics_textfile), "%s/npumemd.prom",
		 folder);
	again_us = 1000;
	log_setup(true, LOG_NOTICE);
	said_begin(&said);
	exposition_set(f->exposition, &f->config);
	told_again(f, 3);
	assert_int_equal(mkdir(folder, 0700), 0);
	told_again(f, 3);
	again_us = 0;
	text = said_end(&said);
	assert_int_equal(access(f->config.metrics_textfile, F_OK), 0);
	/* Each is said once: a line, and then the other one. */
	snprintf(expected, sizeof(expected),
		 "npumemd: the metrics cannot be written to %s: No such file or directory; tried "
		 "again every 15 s\n",
		 f->config.metrics_textfile);
	after = strstr(text, expected);
	assert_non_null(after);
	snprintf(expected_then, sizeof(expected_then),
		 "npumemd: the metrics are written to %s again\n", f->config.metrics_textfile);
	assert_string_equal(strstr(after + strlen(expected), "npumemd: "), expected_then);
	assert_ptr_equal(strstr(text, "npumemd: "), after);
	free(text);
}

/* A pipe that nobody reads stands where the file is made: the daemon does not wait for a reader. */
TEST_WITH(textfile_pipe, setup, teardown)
{
	struct fixture *f = *state;
	char path[128];
	struct said said;
	char *text;

	snprintf(path, sizeof(path), "%s.new", f->textfile);
	assert_int_equal(mkfifo(path, 0600), 0);
	strcpy(f->config.metrics_textfile, f->textfile);
	log_setup(true, LOG_WARNING);
	said_begin(&said);
	exposition_set(f->exposition, &f->config);
	run(f);
	text = said_end(&said);
	assert_non_null(strstr(text, "/npumemd.prom.new is no regular file; tried again"));
	free(text);
}

/* What was left from before is somebody's, who has given it another name: it is not written to. */
TEST_WITH(textfile_left_elsewhere, setup, teardown)
{
	struct fixture *f = *state;
	char path[128], other[128], text[16] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s.new", f->textfile);
	snprintf(other, sizeof(other), "%s/other", f->folder);
	unit_write(path, "precious\n");
	assert_int_equal(link(path, other), 0);
	strcpy(f->config.metrics_textfile, f->textfile);
	exposition_set(f->exposition, &f->config);
	run(f);
	file = fopen(other, "re");
	assert_non_null(file);
	assert_int_equal(fread(text, 1, sizeof(text), file), 9);
	fclose(file);
	assert_string_equal(text, "precious\n");
	assert_int_equal(access(f->textfile, F_OK), 0);
	assert_int_equal(unlink(other), 0);
}

/* What the log says of a textfile that is not written, once for two tries. */
static void expect_refusal(struct fixture *f, const char *why)
{
	char expected[512];
	struct said said;
	char *text;

	snprintf(expected, sizeof(expected),
		 "npumemd: the metrics cannot be written to %s: %s; tried again every 15 s\n",
		 f->config.metrics_textfile, why);
	again_us = 1000;
	log_setup(true, LOG_NOTICE);
	said_begin(&said);
	exposition_set(f->exposition, &f->config);
	for (int i = 0; i < 4; i++)
		assert_true(sd_event_run(f->event, 50000) >= 0);
	again_us = 0;
	text = said_end(&said);
	assert_non_null(strstr(text, expected));
	assert_string_equal(strstr(text, "npumemd: "), expected);
	free(text);
}

/* A FIFO that somebody reads stands there: it does not become the file, and stays. */
TEST_WITH(textfile_read_pipe, setup, teardown)
{
	struct fixture *f = *state;
	char path[128], why[192], got[8];
	struct stat status;
	int reader;

	snprintf(path, sizeof(path), "%s.new", f->textfile);
	snprintf(why, sizeof(why), "%s is no regular file", path);
	assert_int_equal(mkfifo(path, 0600), 0);
	reader = open(path, O_RDONLY | O_NONBLOCK);
	assert_true(reader >= 0);
	strcpy(f->config.metrics_textfile, f->textfile);
	expect_refusal(f, why);
	assert_int_equal(read(reader, got, sizeof(got)), 0);
	close(reader);
	assert_int_equal(lstat(path, &status), 0);
	assert_true(S_ISFIFO(status.st_mode));
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_int_equal(access(f->textfile, F_OK), -1);
}

/* Nor is anything that is no file replaced: a FIFO, a link, the daemon's own socket. */
TEST_WITH(textfile_of_another_kind, setup, teardown)
{
	static const char why[] = "what is there is no regular file";
	struct fixture *f = *state;
	struct stat status;

	strcpy(f->config.metrics_textfile, f->textfile);
	assert_int_equal(mkfifo(f->textfile, 0600), 0);
	expect_refusal(f, why);
	assert_int_equal(lstat(f->textfile, &status), 0);
	assert_true(S_ISFIFO(status.st_mode));
	assert_int_equal(unlink(f->textfile), 0);
	assert_int_equal(symlink("/dev/null", f->textfile), 0);
	expect_refusal(f, why);
	assert_int_equal(lstat(f->textfile, &status), 0);
	assert_true(S_ISLNK(status.st_mode));
	/* By another name, which the configuration does not see through. */
	strcpy(f->config.metrics_socket, f->socket);
	snprintf(f->config.metrics_textfile, sizeof(f->config.metrics_textfile), "%s/./socket",
		 f->folder);
	expect_refusal(f, why);
	assert_non_null(strstr(answer(f, ask(f, GET "\r\n")), "open\n"));
	snprintf(f->textfile, sizeof(f->textfile), "%s/socket.new", f->folder);
	assert_int_equal(access(f->textfile, F_OK), -1);
}
