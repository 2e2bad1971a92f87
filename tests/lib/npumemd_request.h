/* SPDX-License-Identifier: MIT */
/*
 * One request to npumemd from ACCEPT to DONE, with a stand-in for the driver. Real worker
 * processes plan with the real planner; a test may put a job of its own in its place to have
 * workers that misbehave. The main() of such a program is here, since its workers are the
 * program itself.
 */
#pragma once

#include <systemd/sd-event.h>

#include "config.h"
#include "keep.h"
#include "npumem.h"
#include "plan_options.h"
#include "planner.h"
#include "request.h"
#include "unit.h"
#include "worker.h"

/* Environment variables that name the job instead of planning and instead of checking. */
#define REPLACED_PLAN  "NPUMEMD_TEST_PLAN"
#define REPLACED_CHECK "NPUMEMD_TEST_CHECK"

/* Jobs that may replace the real ones, by name, and an empty one last: each program's own. */
extern const struct worker_job replacements[];

/*
 * struct request_fixture - one request and what became of it
 * @done_error, @done_outcome: what the driver says to DONE, and then of the plan: EINVAL refuses it
 * @done_holds: it does not get there
 * @settled: readable when the driver has settled the request
 * @watched: it is watched
 * @done, @status, @message: what it was told, and how often
 * @ended: requests ended
 * @graph, @graph_size: a good graph blob
 * @fd: of the request, ours
 * @answer_at: where in @fd the plan is written
 * @new_graph_size: bytes of the graph there, before the plan, as DONE said
 */
struct request_fixture {
	sd_event *event;
	struct transport transport;
	struct config config;
	struct request_env env;
	int done_error;
	uint32_t done_outcome;
	bool done_holds;
	int settled;
	bool watched;
	int done;
	uint64_t id;
	uint32_t status;
	char message[TRANSPORT_MESSAGE_SIZE];
	int ended;
	void *graph;
	size_t graph_size;
	int fd;
	size_t answer_at;
	uint64_t new_graph_size;
};

/* The request of the running test. */
extern struct request_fixture f;

int request_setup(void **state);
int request_teardown(void **state);
#define REQUEST_TEST(name) TEST_WITH(name, request_setup, request_teardown)

/* The driver settles the request. */
void driver_settles(uint32_t status);

/* Tensors "a", "b", ..., the first one an input, the last one an output; each has one tile. */
struct npumem_builder *begin_graph(const uint64_t *sizes, uint32_t count);
/* The graph becomes the fixture's. */
void end_graph(struct npumem_builder *b);
/* Tensor 0 -> step 0 -> tensor 1 -> step 1 -> ...; step @in_place writes over what it reads. */
void build_chain(const uint64_t *sizes, uint32_t count, const char *step, uint32_t in_place);

/* CLOCK_MONOTONIC. */
int64_t now_ns(void);
/* A request with that graph, and one with the fixture's. */
struct accepted accept_graph(const void *graph, size_t size);
struct accepted accept_good(void);
/* Put options behind the graph, as the driver shows them; the second makes them of a request. */
void with_options(struct accepted *accepted, const void *options, size_t size);
void asking(struct accepted *accepted, const struct npumem_request *request);
/* Begins the request, for which there is a place; NULL: it has ended. */
struct request *start_request(const struct accepted *accepted);
/* Begins the request and sees it to its end; the descriptor must be closed then. */
void run_request(const struct accepted *accepted);
/* The same of a request after the first one, with a loop of its own. */
void run_again(const struct accepted *accepted);
/* A good request after the first one, which the driver has not settled yet. */
struct accepted next_request(void);
/* The configuration has a policy with one key; who calls frees the policies. */
void set_policy(const char *section, const char *name, const char *value);
/* What the cache has, if it is of one request; without its data. */
struct plancache_entry only_entry(void);
/* A planning or checking process that does not end. */
int plan_spin(const struct worker_input *input, struct worker_reply *reply);
/* The request has failed with exactly that message, or one that has a part, and has no plan. */
void assert_failed(uint32_t status, const char *message);
void assert_says(const char *part);

/*
 * struct failure - a request that fails, and nothing is written; what is 0 is as it is by default
 * @build: the graph, instead of build_graph()'s
 * @plan, @check: jobs of workers that are replaced, by name
 * @deadline: nanoseconds from now
 * @asks: what else is asked for, or NULL; @uncut: without the leave to cut
 * @options: the bytes of it, @options_size of them
 */
struct failure {
	void (*build)(void);
	const char *planner, *plan, *check;
	uint32_t objective, status;
	uint64_t budget, cpu_limit, time_limit, plan_limit;
	int64_t deadline;
	const struct npumem_request *asks;
	bool uncut;
	const void *options;
	size_t options_size;
	const char *message;
};

/* One test that such a request fails. */
#define FAILURE(name, ...) \
	TEST_CASE(name, request_fails, request_setup, request_teardown, struct failure, __VA_ARGS__)
void request_fails(void **state);
