// SPDX-License-Identifier: MIT
/*
 * npumemd's answers, from the moment a request is accepted to DONE, with the daemon's own code and
 * processes, and without a driver:
 *
 * - a request that is planned, and the same one answered by the cache after the daemon has opened
 *   it anew, as after a restart: the median of many;
 * - the first answer of a planner that searches, and how far from the best plan it is that can be
 *   had, by the time that the search may take;
 * - a plan that is improved while a program asks for it a thousand times a second: how many answers
 *   it gets, how long the slowest takes, and how often a better plan takes the place of another.
 *
 * Plans are checked, as the daemon does, before they are an answer. The searches of the last table
 * run at idle priority: on a machine that others use they find less.
 *
 * usage: bench_daemon GRAPH.json...
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <syslog.h>
#include <unistd.h>

#include "clock.h"
#include "improve.h"
#include "keep.h"
#include "log.h"
#include "npuimport.h"
#include "npumem_drm.h"
#include "npumem_options.h"
#include "npuplan.h"
#include "planner.h"
#include "request.h"

#define REPEATS	    301
/* Of a search, in the second table: seconds. */
#define LIMITS	    4
#define IMPROVE_S   10
/* Of the last table: between two requests, and until a search without a processor is given up. */
#define PAUSE_US    1000
#define MOST_US	    UINT64_C(30000000)
/* What a request allows, which is more than any search here may take. */
#define DEADLINE_NS INT64_C(60000000000)
#define REQUEST_ID  7

/* struct question - what is asked for a network: by the least arena, or by the least traffic */
static const struct question {
	const char *planner;
	uint32_t objective;
	bool least_memory;
} arena = { "auto", NPUMEM_OBJECTIVE_ARENA, false },
  traffic = { "cosma", NPUMEM_OBJECTIVE_TRAFFIC, true };

struct network {
	const char *name;
	void *graph;
	size_t size;
};

/*
 * struct daemon - the daemon, as far as a request needs one
 * @settled: eventfd that the driver would settle a request by
 * @answered_us: when DONE came
 * @ended: the request is over
 */
static struct daemon {
	struct config config;
	struct transport transport;
	struct request_env env;
	char folder[64];
	int settled;
	uint64_t answered_us;
	bool ended;
} d;

static __attribute__((noreturn, format(printf, 1, 2))) void give_up(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("bench_daemon: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

/* ------------------------------------------------------------------- the driver */

static int driver_done(void *data, uint64_t id, const struct answer *answer)
{
	if (answer->status)
		give_up("no plan: %s", answer->message);
	d.answered_us = now_us();
	return eventfd_write(d.settled, 1) ? -errno : 0;
}

static int driver_watch(void *data, int fd, sd_event *event, sd_event_io_handler_t handler,
			void *userdata, sd_event_source **source)
{
	return sd_event_add_io(event, source, d.settled, EPOLLIN, handler, userdata);
}

static int driver_outcome(void *data, int fd, struct outcome *outcome)
{
	eventfd_t value;

	*outcome = (struct outcome){ 0 };
	return eventfd_read(d.settled, &value) ? -errno : 0;
}

static const struct transport_ops driver = {
	.done = driver_done,
	.watch = driver_watch,
	.outcome = driver_outcome,
};

static void on_ended(struct request *request, void *userdata)
{
	d.ended = true;
}

/* ------------------------------------------------------------------- the daemon */

static void empty_cache(void)
{
	struct plancache_file *files;
	size_t count;

	if (plancache_list(d.env.cache, &files, &count))
		give_up("the cache cannot be listed");
	for (size_t i = 0; i < count; i++)
		plancache_drop(d.env.cache, &files[i].key);
	free(files);
}

/* What the cache has, without the plan. */
static struct plancache_entry kept_entry(void)
{
	struct plancache_entry entry = { 0 };
	struct plancache_file *files;
	size_t count;

	if (plancache_list(d.env.cache, &files, &count) || count != 1 ||
	    plancache_peek(d.env.cache, &files[0].key, &entry))
		give_up("the cache has not one plan");
	free(files);
	free(entry.data);
	entry.data = NULL;
	return entry;
}

static void start_daemon(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	log_setup(true, LOG_ERR);
	config_defaults(&d.config);
	strcpy(d.folder, "/tmp/bench-daemon-XXXXXX");
	d.settled = eventfd(0, EFD_CLOEXEC);
	if (!mkdtemp(d.folder) || d.settled < 0)
		give_up("%s", strerror(errno));
	snprintf(d.config.cache_folder, sizeof(d.config.cache_folder), "%s", d.folder);
	d.config.improve_on_battery = true;
	d.transport.ops = &driver;
	d.env = (struct request_env){
		.transport = &d.transport,
		.config = &d.config,
		.ended = on_ended,
	};
	if (sd_event_new(&d.env.event) < 0)
		give_up("no event loop");
	if (keep_open(&d.config, &d.env.cache))
		give_up("no cache in %s", d.folder);
}

static void stop_daemon(void)
{
	empty_cache();
	plancache_close(d.env.cache);
	sd_event_unref(d.env.event);
	close(d.settled);
	rmdir(d.folder);
}

/* What the driver would show of a request: the graph, and options from the next page on. */
static struct accepted request_of(const struct network *network, const struct question *question)
{
	const struct {
		struct npumem_option head;
		uint64_t value;
	} least = { { .type = NPUMEM_OPTION_BUDGET, .size = 8 }, NPUMEM_BUDGET_NEEDED };
	struct accepted accepted = {
		.id = REQUEST_ID,
		.fd = memfd_create("request", MFD_CLOEXEC),
		.graph_size = network->size,
		.objective = question->objective,
		.deadline_ns = monotonic_ns() + DEADLINE_NS,
	};
	off_t behind = (off_t)worker_to_page(network->size);

	snprintf(accepted.planner, sizeof(accepted.planner), "%s", question->planner);
	if (write(accepted.fd, network->graph, network->size) != (ssize_t)network->size)
		give_up("no request: %s", strerror(errno));
	if (!question->least_memory)
		return accepted;
	accepted.options_size = sizeof(least);
	if (pwrite(accepted.fd, &least, sizeof(least), behind) != sizeof(least) ||
	    lseek(accepted.fd, behind + (off_t)sizeof(least), SEEK_SET) < 0)
		give_up("no options: %s", strerror(errno));
	return accepted;
}

/* Microseconds from the request to its answer. */
static uint64_t ask(const struct network *network, const struct question *question)
{
	struct accepted accepted = request_of(network, question);
	uint64_t began = now_us();
	struct request *request;

	d.ended = false;
	request = request_start(&d.env, &accepted);
	if (!request)
		give_up("%s: the request was refused", network->name);
	if (request_waits(request))
		request_plan(request);
	while (!d.ended)
		if (sd_event_run(d.env.event, UINT64_MAX) < 0)
			give_up("the event loop ended");
	return d.answered_us - began;
}

/* ------------------------------------------------------------------- the tables */

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static void bench_restart(const struct network *network, const struct question *question)
{
	static uint64_t kept[REPEATS];
	uint64_t planned;

	empty_cache();
	planned = ask(network, question);
	plancache_close(d.env.cache);
	d.env.cache = NULL;
	if (keep_open(&d.config, &d.env.cache))
		give_up("no cache in %s", d.folder);
	for (int i = 0; i < REPEATS; i++)
		kept[i] = ask(network, question);
	qsort(kept, REPEATS, sizeof(kept[0]), by_value);
	printf("%-28s %-6s %9zu %11.1f %9" PRIu64 " %9" PRIu64 " %9" PRIu64 "\n", network->name,
	       question->planner, network->size, 1e-3 * (double)planned, kept[0], kept[REPEATS / 2],
	       kept[REPEATS * 99 / 100]);
}

/* More than the best, in per cent. */
static double more(uint64_t cost, uint64_t best)
{
	return best ? 100 * ((double)cost / (double)best - 1) : cost ? 100 : 0;
}

/*
 * The first answer of a daemon that searches later has so many milliseconds. Here nobody searches
 * later: the improver has a configuration of its own that forbids it.
 */
static void bench_gap(const struct network *network)
{
	static const uint64_t limits[LIMITS] = { 10, 100, 1000, 10000 };
	static struct config no_searches;
	struct plancache_entry entries[LIMITS];
	uint64_t first = 0, best = UINT64_MAX;
	bool proved = false;

	d.config.improve_time = IMPROVE_S;
	if (improver_new(d.env.event, &no_searches, &d.env.cache, NULL, &improver_host,
			 &d.env.improver))
		give_up("out of memory");
	for (int i = 0; i < LIMITS; i++) {
		uint64_t took;

		empty_cache();
		d.config.first_answer = limits[i];
		took = ask(network, &traffic);
		first = i ? first : took;
		entries[i] = kept_entry();
		best = entries[i].cost < best ? entries[i].cost : best;
		proved |= entries[i].final && i < LIMITS - 1;
	}
	improver_free(d.env.improver);
	d.env.improver = NULL;
	proved |= entries[LIMITS - 1].final;
	printf("%-28s %9.1f %11" PRIu64 " %-9s", network->name, 1e-3 * (double)first, best,
	       proved ? "proved" : "best seen");
	for (int i = 0; i < LIMITS; i++)
		printf(" %7.2f", more(entries[i].cost, best));
	puts("");
}

/* Whether there is nothing more to search for. */
static bool is_searched(const struct plancache_entry *entry)
{
	return entry->final || keep_had(entry, IMPROVE_S * UINT64_C(1000000));
}

static void bench_swaps(const struct network *network)
{
	uint64_t slowest = 0, answers = 0, swaps = 0, began, first;
	struct plancache_entry before, entry;

	empty_cache();
	d.config.improve_time = IMPROVE_S;
	d.config.first_answer = 10;
	if (improver_new(d.env.event, &d.config, &d.env.cache, NULL, &improver_host,
			 &d.env.improver))
		give_up("out of memory");
	first = ask(network, &traffic);
	entry = kept_entry();
	began = now_us();
	while (!is_searched(&entry) && now_us() - began < MOST_US) {
		uint64_t took = ask(network, &traffic);

		slowest = took > slowest ? took : slowest;
		answers++;
		before = entry;
		entry = kept_entry();
		if (entry.cost > before.cost)
			give_up("%s: a plan became worse", network->name);
		swaps += entry.cost < before.cost;
		usleep(PAUSE_US);
	}
	printf("%-28s %9.1f %9.1f %9" PRIu64 " %10.1f %6" PRIu64 " %11" PRIu64 "%s\n",
	       network->name, 1e-3 * (double)first, 1e-6 * (double)(now_us() - began), answers,
	       1e-3 * (double)slowest, swaps, entry.cost,
	       is_searched(&entry) ? "" : ", and the search had no time");
	improver_free(d.env.improver);
	d.env.improver = NULL;
}

static struct network read_network(char *path)
{
	struct network network = { .name = basename(path) };
	struct npuplan_graph *graph = NULL;
	struct npuplan_error error = { "" };
	int err = npuimport_file(path, NULL, &graph, NULL, &error);

	if (!err)
		err = npuplan_graph_tile_bands(graph, 1, false, &error);
	if (!err)
		err = npuplan_graph_write(graph, &network.graph, &network.size, &error);
	if (err)
		give_up("%s: %s", path, error.text);
	npuplan_graph_free(graph);
	return network;
}

static const struct worker_job jobs[] = {
	{ PLANNER_PLAN, planner_plan, planner_prepare },
	{ PLANNER_CHECK, planner_check },
	{ 0 },
};

int main(int argc, char **argv)
{
	struct network *networks = calloc((size_t)argc, sizeof(*networks));
	double load = 0;

	worker_main(argv, jobs);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 2)
		give_up("usage: bench_daemon GRAPH.json...");
	for (int i = 1; i < argc; i++)
		networks[i] = read_network(argv[i]);
	start_daemon();
	getloadavg(&load, 1);
	printf("load of the machine before: %.1f on %ld processors\n\n", load,
	       sysconf(_SC_NPROCESSORS_ONLN));
	printf("a restart: planned, then kept (least, median and 99 %% of %d)\n", REPEATS);
	printf("%-28s %-6s %9s %11s %9s %9s %9s\n", "network", "by", "bytes", "planned ms",
	       "kept us", "median", "99 %");
	for (int i = 1; i < argc; i++) {
		bench_restart(&networks[i], &arena);
		bench_restart(&networks[i], &traffic);
	}
	puts("\ncosma at M_R: first answer, and per cent of traffic above the best, by seconds of search");
	printf("%-28s %9s %11s %-9s %7s %7s %7s %7s\n", "network", "first ms", "best", "", "0.01 s",
	       "0.1 s", "1 s", "10 s");
	for (int i = 1; i < argc; i++)
		bench_gap(&networks[i]);
	printf("\na program that asks each millisecond, while a search of %d s of idle time runs\n",
	       IMPROVE_S);
	printf("%-28s %9s %9s %9s %10s %6s %11s\n", "network", "first ms", "search s", "answers",
	       "slowest ms", "swaps", "traffic");
	for (int i = 1; i < argc; i++)
		bench_swaps(&networks[i]);
	stop_daemon();
	for (int i = 1; i < argc; i++)
		free(networks[i].graph);
	free(networks);
	return 0;
}
