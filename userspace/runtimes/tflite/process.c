// SPDX-License-Identifier: MIT
/*
 * Planned by libnpuplan, verified and enforced by what the driver verifies and enforces with, in
 * anonymous memory.
 */
#include "enforcer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "compute.h"
#include "npumem.h"
#include "npumem_tflite.h"
#include "npuplan.h"
#include "verify/verify.h"

/*
 * struct enforced - a verified plan, and where a run of it is
 * @graph_blob, @plan_blob: copies, which the verifier's objects point into
 * @arena, @arena_size: anonymous memory, whole pages
 * @host: host memory of the plan; NULL: it has none
 * @compute: what positions do, of ENGINE_COMPUTE
 */
struct enforced {
	void *graph_blob;
	void *plan_blob;
	struct npuv_graph *graph;
	struct npuv_plan *plan;
	struct npuv_states *states;
	uint8_t *arena;
	size_t arena_size;
	void *host;
	struct compute *compute;
};

/* ------------------------------------------------------------------- planning */

int process_plan(const struct options *options, struct blobs *blobs, struct why *why)
{
	const struct npuplan_options wanted = { .planner = options->planner,
						.arena_budget = options->budget,
						.work_limit = PLAN_WORK };
	struct npuplan_error error = { 0 };
	struct npuplan_graph *graph = NULL;
	struct npuplan_plan *plan = NULL;
	int err;

	err = npuplan_graph_read(blobs->graph, blobs->graph_size, &graph, &error);
	if (!err)
		err = npuplan_plan(graph, &wanted, &plan, &error);
	if (!err)
		err = npuplan_plan_write(plan, &blobs->plan, &blobs->plan_size, &error);
	npuplan_plan_free(plan);
	npuplan_graph_free(graph);
	return err ? why_fail(why, err, "%s", error.text) : 0;
}

static int plan(struct enforcer *enforcer, struct blobs *blobs, struct why *why)
{
	return process_plan(enforcer->options, blobs, why);
}

/* ------------------------------------------------------------------- runs of plans */

static void stop(struct enforced *e)
{
	if (!e)
		return;
	compute_free(e->compute);
	npuv_states_destroy(e->states);
	npuv_plan_destroy(e->plan);
	npuv_graph_destroy(e->graph);
	if (e->arena)
		munmap(e->arena, e->arena_size);
	free(e->host);
	free(e->graph_blob);
	free(e->plan_blob);
	free(e);
}

static int copy(const void *from, size_t size, void **to)
{
	*to = malloc(size ? size : 1);
	if (!*to)
		return -ENOMEM;
	memcpy(*to, from, size);
	return 0;
}

/* The blobs are copied first: nobody changes what was verified. */
static int verify(struct enforced *e, const struct blobs *blobs, struct why *why)
{
	struct npumem_verdict verdict;
	struct npuv_log log;
	char text[1024];
	int err;

	npuv_log_init(&log, 1, text, sizeof(text));
	err = copy(blobs->graph, blobs->graph_size, &e->graph_blob);
	if (!err)
		err = copy(blobs->plan, blobs->plan_size, &e->plan_blob);
	if (!err)
		err = npuv_graph_create(e->graph_blob, blobs->graph_size, &npuv_default_limits,
					&log, &verdict, &e->graph);
	if (!err)
		err = npuv_plan_create(e->graph, e->plan_blob, blobs->plan_size,
				       &npuv_default_limits, &log, &verdict, &e->plan);
	if (!err)
		err = npuv_states_create(e->plan, &e->states);
	return err ? why_fail(why, err, "the verifier refuses the plan: %s",
			      log.used ? text : strerror(-err)) :
		     0;
}

/* The driver's pages may be as large as 64 KiB, so the rest of the last one is there, too. */
#define ARENA_STEP 65536u

static int map(struct enforced *e, struct why *why)
{
	uint64_t size = e->plan->info->arena_size;
	void *arena;

	e->arena_size = (size_t)(size / ARENA_STEP + 1) * ARENA_STEP;
	arena = mmap(NULL, e->arena_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	if (arena == MAP_FAILED)
		return why_fail(why, -ENOMEM, "no memory for an arena of %" PRIu64 " bytes", size);
	e->arena = arena;
	if (!e->plan->info->host_size)
		return 0;
	e->host = calloc(1, e->plan->info->host_size);
	return e->host ? 0 :
			 why_fail(why, -ENOMEM, "no host memory of %" PRIu64 " bytes",
				  (uint64_t)e->plan->info->host_size);
}

static int start(struct enforcer *enforcer, const struct blobs *blobs, struct enforced **enforced,
		 struct npumem_maps *maps, struct why *why)
{
	struct enforced *e = calloc(1, sizeof(*e));
	int err = e ? 0 : why_fail(why, -ENOMEM, "out of memory");

	if (!err)
		err = verify(e, blobs, why);
	if (!err)
		err = map(e, why);
	if (err) {
		stop(e);
		return err;
	}
	*enforced = e;
	*maps = (struct npumem_maps){ .arena = e->arena, .host = e->host };
	return 0;
}

static int begin(struct enforced *e, struct why *why)
{
	int err = npuv_states_reset(e->states);

	return err ? why_fail(why, err, "the run's states: %s", strerror(-err)) : 0;
}

/* ----------------------------------------------------------------- refusals */

static const char *step_name(const struct npuv_graph *g, uint32_t step)
{
	return step < g->steps.count ? npuv_name(g, npuv_step(g, step)->name) : "";
}

static const char *tensor_name(const struct npuv_graph *g, uint32_t tensor)
{
	return tensor < g->tensors.count ? npuv_name(g, npuv_tensor(g, tensor)->name) : "";
}

static int refuse(const struct enforced *e, int err, const struct npumem_verdict *v,
		  struct why *why)
{
	const struct npuv_graph *g = e->graph;
	char other[512] = "";

	if (v->other_step != NPUMEM_NONE)
		snprintf(other, sizeof(other), "; step %" PRIu32 " (%.200s) is to come before",
			 (uint32_t)v->other_step, step_name(g, v->other_step));
	return why_fail(why, err,
			"%s: step %" PRIu32 " (%.200s) may not access tensor %" PRIu32
			" \"%.200s\", bytes [%" PRIu64 ", %" PRIu64 ") of the arena%s",
			npumem_rule_name(v->rule), (uint32_t)v->step, step_name(g, v->step),
			(uint32_t)v->tensor, tensor_name(g, v->tensor), (uint64_t)v->first,
			(uint64_t)(v->first + v->length), other);
}

static int step(struct enforced *e, uint32_t position, struct why *why)
{
	struct npumem_verdict verdict;
	int err;

	if (position >= e->plan->positions.count)
		return why_fail(why, -EINVAL, "there is no position %" PRIu32, position);
	err = npuv_states_submit(e->states, position, &verdict);
	return err ? refuse(e, err, &verdict, why) : 0;
}

static int load(struct enforced *e, const struct program *program,
		const struct npumem_layout *layout, struct why *why)
{
	const struct npumem_maps maps = { .arena = e->arena, .host = e->host };

	return compute_new(program, layout, &maps, &e->compute, why);
}

static int run(struct enforced *e, struct why *why)
{
	int err = 0;

	for (uint32_t i = 0; i < e->plan->positions.count && !err; i++) {
		err = step(e, i, why);
		if (!err)
			err = compute_position(e->compute, i, why);
	}
	return err;
}

/* ----------------------------------------------------------------- enforcer */

static void free_enforcer(struct enforcer *enforcer)
{
	free(enforcer);
}

static const struct enforcer_ops ops = {
	.name = "process",
	.enforced_by = NPUMEM_TFLITE_PROCESS,
	.plan = plan,
	.start = start,
	.load = load,
	.run = run,
	.begin = begin,
	.step = step,
	.stop = stop,
	.free = free_enforcer,
};

int process_open(const struct options *options, struct enforcer **out, struct why *why)
{
	struct enforcer *enforcer = calloc(1, sizeof(*enforcer));

	if (!enforcer)
		return why_fail(why, -ENOMEM, "out of memory");
	enforcer->ops = &ops;
	enforcer->options = options;
	*out = enforcer;
	return 0;
}
