// SPDX-License-Identifier: MIT
/* Planned by npumemd, verified and enforced by the driver: each step is a job that does nothing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "enforcer.h"
#include "npumem.h"
#include "npumem_layout.h"
#include "npumem_sim.h"
#include "npumem_tflite.h"

#define SECOND	  1000000000ll
/* Planning may take minutes; a job that touches nothing takes long only on a stopped machine. */
#define PLAN_TIME (600 * SECOND)
#define JOB_TIME  (60 * SECOND)

/* struct device - the driver, as an enforcer; @engine: number of the one that jobs are for */
struct device {
	struct enforcer base;
	struct npumem_device *device;
	uint32_t engine;
};

/* struct session - a run; @begun: it has had an inference before */
struct session {
	struct device *device;
	struct npumem_graph *graph;
	struct npumem_plan *plan;
	struct npumem_run *run;
	bool begun;
};

static struct device *device_of(struct enforcer *enforcer)
{
	return (struct device *)enforcer;
}

/* ------------------------------------------------------------------- planning */

static int64_t plan_deadline(void)
{
	int64_t time = PLAN_TIME < NPUMEM_MAX_REQUEST_NS ? PLAN_TIME : NPUMEM_MAX_REQUEST_NS;

	return npumem_deadline(time);
}

static int ask_daemon(struct device *d, struct blobs *blobs, struct npumem_error *error)
{
	const struct npumem_request request = { .planner = d->base.options->planner,
						.arena_budget = d->base.options->budget,
						.work_limit = PLAN_WORK,
						.deadline = plan_deadline() };
	struct npumem_graph *graph = NULL;
	struct npumem_plan *plan = NULL;
	int err;

	err = npumem_graph_new(d->device, blobs->graph, blobs->graph_size, NULL, &graph, error);
	if (!err)
		err = npumem_plan_request(graph, &request, &plan, error);
	/* The driver ends the request at its deadline. */
	if (!err)
		err = npumem_plan_wait(plan, npumem_deadline(INT64_MAX), error);
	if (!err)
		err = npumem_plan_read(plan, &blobs->plan, &blobs->plan_size, error);
	npumem_plan_free(plan);
	npumem_graph_free(graph);
	return err;
}

static int plan(struct enforcer *enforcer, struct blobs *blobs, struct why *why)
{
	struct npumem_error error = { 0 };
	int err = ask_daemon(device_of(enforcer), blobs, &error);

	if (err == -ENOTCONN && enforcer->options->fallback == FALLBACK_PROCESS) {
		say("%s: planned in this process, enforced by the driver", error.text);
		return process_plan(enforcer->options, blobs, why);
	}
	return err ? why_fail(why, err, "%s", error.text) : 0;
}

/* ------------------------------------------------------------------- sessions */

static void stop(struct session *s)
{
	if (!s)
		return;
	npumem_run_free(s->run);
	npumem_plan_free(s->plan);
	npumem_graph_free(s->graph);
	free(s);
}

static int start(struct enforcer *enforcer, const struct blobs *blobs, struct session **session,
		 uint8_t **arena, struct why *why)
{
	struct npumem_error error = { .text = "out of memory" };
	struct session *s = calloc(1, sizeof(*s));
	struct npumem_maps maps = { 0 };
	int err = s ? 0 : -ENOMEM;

	if (!err) {
		s->device = device_of(enforcer);
		err = npumem_graph_new(s->device->device, blobs->graph, blobs->graph_size, NULL,
				       &s->graph, &error);
	}
	if (!err)
		err = npumem_plan_load(s->graph, blobs->plan, blobs->plan_size, NULL, &s->plan,
				       &error);
	if (!err)
		err = npumem_run_new(s->plan, 0, NULL, &s->run, &error);
	if (!err)
		err = npumem_run_map(s->run, NULL, &maps, &error);
	if (err) {
		stop(s);
		return why_fail(why, err, "the driver refuses the plan: %s", error.text);
	}
	*session = s;
	*arena = maps.arena;
	return 0;
}

static int begin(struct session *s, struct why *why)
{
	struct npumem_error error = { 0 };
	int err = s->begun ? npumem_run_reset(s->run, &error) : 0;

	s->begun = true;
	return err ? why_fail(why, err, "%s", error.text) : 0;
}

/* The step may run when a job that stands for it has been let go and has ended. */
static int step(struct session *s, uint32_t position, struct why *why)
{
	const struct npumem_sim_command nothing = { .op = NPUMEM_SIM_NOP };
	const struct drm_npumem_job job =
		npumem_job_positions(s->device->engine, position, 1, &nothing, sizeof(nothing));
	struct npumem_submit submit = { .jobs = &job, .job_count = 1 };
	struct npumem_error error = { 0 };
	int err;

	err = npumem_run_submit(s->run, &submit, &error);
	if (!err)
		err = npumem_run_wait(s->run, npumem_deadline(JOB_TIME), &error);
	return err ? why_fail(why, err, "%s", error.text) : 0;
}

/* ----------------------------------------------------------------- enforcer */

static void free_device(struct enforcer *enforcer)
{
	struct device *d = device_of(enforcer);

	npumem_device_close(d->device);
	free(d);
}

static const struct enforcer_ops ops = {
	.name = "driver",
	.enforced_by = NPUMEM_TFLITE_DRIVER,
	.plan = plan,
	.start = start,
	.begin = begin,
	.step = step,
	.stop = stop,
	.free = free_device,
};

static int find_engine(struct device *d, struct why *why)
{
	struct drm_npumem_engine *engines = NULL;
	struct npumem_error error = { 0 };
	uint32_t count = 0;
	bool found = false;
	int err = npumem_device_engines(d->device, &engines, &count, &error);

	if (err)
		return why_fail(why, err, "%s", error.text);
	for (uint32_t i = 0; i < count && !found; i++) {
		found = strcmp(engines[i].name, NPUMEM_SIM_NAME) == 0 &&
			engines[i].version == NPUMEM_SIM_VERSION;
		d->engine = engines[i].index;
	}
	free(engines);
	return found ? 0 :
		       why_fail(why, -ENOENT, "%s has no engine \"%s\", version %d",
				npumem_device_path(d->device), NPUMEM_SIM_NAME, NPUMEM_SIM_VERSION);
}

static int find_daemon(struct device *d, struct why *why)
{
	struct npumem_error error = { 0 };
	struct drm_npumem_info info;
	int err = npumem_device_info(d->device, &info, &error);

	if (err)
		return why_fail(why, err, "%s", error.text);
	return info.daemon ? 0 :
			     why_fail(why, -ENOTCONN, "%s has no planning daemon (start npumemd)",
				      npumem_device_path(d->device));
}

/* Devices that are not there, or not for this process, are one case to the caller. */
static int open_node(struct device *d, const char *path, struct why *why)
{
	struct npumem_error error = { 0 };
	int err = npumem_device_open(path, &d->device, &error);

	if (err == -ENODEV || err == -EACCES)
		err = -ENOENT;
	return err ? why_fail(why, err, "%s", error.text) : 0;
}

int device_open(const struct options *options, struct enforcer **out, struct why *why)
{
	struct device *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return why_fail(why, -ENOMEM, "out of memory");
	d->base.ops = &ops;
	d->base.options = options;
	err = open_node(d, options->device, why);
	if (!err)
		err = find_engine(d, why);
	if (!err && options->fallback != FALLBACK_PROCESS)
		err = find_daemon(d, why);
	if (err) {
		free_device(&d->base);
		return err;
	}
	*out = &d->base;
	return 0;
}
