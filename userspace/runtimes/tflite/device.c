// SPDX-License-Identifier: MIT
/*
 * Planned by npumemd, verified and enforced by the driver: each step is a job, which does nothing
 * where kernels are borrowed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../grow/grow.h"
#include "device.h"
#include "npumem_command.h"
#include "npumem_sim.h"
#include "npumem_tflite.h"
#include "weights.h"

/* Planning may take minutes. */
#define PLAN_TIME (600 * SECOND)

/* The engine that computes, as it is attached. */
#define COMPUTES "npumem-engine"

static struct device *device_of(struct enforcer *enforcer)
{
	return (struct device *)enforcer;
}

int device_check(const struct device *device, struct why *why)
{
	if (!device->forked.gone)
		return 0;
	return why_fail(why, -ECHILD,
			"the plan is of the process that this one was forked from: here it takes "
			"another interpreter with another delegate");
}

/* ------------------------------------------------------------------- planning */

static int64_t plan_deadline(void)
{
	int64_t time = PLAN_TIME < NPUMEM_MAX_REQUEST_NS ? PLAN_TIME : NPUMEM_MAX_REQUEST_NS;

	return npumem_deadline(time);
}

/* Who follows does not wait for a search, and wants npumemd's later ones to have no limit. */
static struct npumem_request request_of(const struct options *options)
{
	return (struct npumem_request){ .planner = options->planner,
					.arena_budget = options->budget,
					.work_limit = options->follow ? 0 : PLAN_WORK,
					.deadline = plan_deadline() };
}

static int ask_daemon(struct device *d, struct blobs *blobs, struct npumem_error *error)
{
	const struct npumem_request request = request_of(d->base.options);
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
	int err = device_check(device_of(enforcer), why);

	if (err)
		return err;
	err = ask_daemon(device_of(enforcer), blobs, &error);
	/* It was not there, or went away before it answered. */
	if ((err == -ENOTCONN || err == -ECONNRESET) &&
	    enforcer->options->fallback == FALLBACK_PROCESS) {
		say("%s: planned in this process, enforced by the driver", error.text);
		return process_plan(enforcer->options, blobs, why);
	}
	return err ? why_fail(why, err, "%s", error.text) : 0;
}

/* ------------------------------------------------------------------- runs of plans */

static void stop(struct enforced *e)
{
	if (!e)
		return;
	forked_remove_map(&e->device->forked, &e->arena_map);
	forked_remove_map(&e->device->forked, &e->host_map);
	npumem_follow_free(e->follow);
	npumem_run_free(e->run);
	weights_free(e->weights);
	npumem_bo_free(e->host);
	free(e->jobs);
	for (uint32_t i = 0; i < e->bo_count; i++)
		npumem_bo_free(e->bos[i].bo);
	free(e->bos);
	npumem_plan_free(e->plan);
	npumem_graph_free(e->graph);
	free(e);
}

static size_t whole_pages(uint64_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return ((size_t)bytes + page - 1) / page * page;
}

/* Memory of the plan: the arena, and host memory where it moves tensors there. */
static int take_memory(struct enforced *e, struct npumem_maps *maps, struct npumem_error *error)
{
	struct npumem_plan_stats stats;
	int err = npumem_plan_get_stats(e->plan, &stats, error);

	if (!err && stats.host_size)
		err = npumem_bo_new(e->device->device, stats.host_size, NPUMEM_BO_SYSTEM, 0,
				    &e->host, error);
	if (!err)
		err = npumem_run_new(e->plan, 0, e->host, &e->run, error);
	if (!err)
		err = npumem_run_map(e->run, e->host, maps, error);
	if (err)
		return err;
	forked_add_map(&e->device->forked, &e->arena_map, maps->arena,
		       whole_pages(stats.arena_size));
	if (e->host)
		forked_add_map(&e->device->forked, &e->host_map, maps->host,
			       whole_pages(npumem_bo_size(e->host)));
	return 0;
}

static int start(struct enforcer *enforcer, const struct blobs *blobs, struct enforced **enforced,
		 struct npumem_maps *maps, struct why *why)
{
	struct npumem_error error = { .text = "out of memory" };
	struct enforced *e = calloc(1, sizeof(*e));
	int err = e ? 0 : -ENOMEM;

	if (!err) {
		e->device = device_of(enforcer);
		err = npumem_graph_new(e->device->device, blobs->graph, blobs->graph_size, NULL,
				       &e->graph, &error);
	}
	if (!err)
		err = npumem_plan_load(e->graph, blobs->plan, blobs->plan_size, NULL, &e->plan,
				       &error);
	if (!err)
		err = take_memory(e, maps, &error);
	if (err) {
		stop(e);
		return why_fail(why, err, "the driver refuses the plan: %s", error.text);
	}
	*enforced = e;
	return 0;
}

/* The entry of a tensor, which may be a new one. -ENOMEM. */
static int find_binding(struct enforced *e, uint32_t tensor, uint32_t *entry)
{
	void *bos;

	for (*entry = 0; *entry < e->bo_count; ++*entry)
		if (e->bos[*entry].tensor == tensor)
			return 0;
	bos = grow_by_one(e->bos, e->bo_count, sizeof(*e->bos));
	if (!bos)
		return -ENOMEM;
	e->bos = bos;
	e->bos[e->bo_count].tensor = tensor;
	e->bos[e->bo_count++].bo = NULL;
	return 0;
}

/* The driver has the same dma-buf as one buffer only, so the one before goes first. */
static int bind(struct enforced *e, uint32_t tensor, int dma_buf, uint64_t offset, struct why *why)
{
	struct npumem_error error = { .text = "out of memory" };
	struct npumem_bo *bo = NULL;
	uint32_t entry = 0;
	int err = device_check(e->device, why);

	if (err)
		return err;
	err = find_binding(e, tensor, &entry);
	/* An inference that ended half-way is given up: it would still read what was bound. */
	if (!err && e->begun) {
		err = npumem_run_reset(e->run, &error);
		e->begun = err != 0;
	}
	if (!err)
		err = npumem_run_bind(e->run, tensor, NULL, 0, &error);
	if (!err) {
		npumem_bo_free(e->bos[entry].bo);
		e->bos[entry].bo = NULL;
	}
	if (!err && dma_buf >= 0) {
		err = npumem_bo_import(e->device->device, dma_buf, &bo, &error);
		if (!err)
			err = npumem_run_bind(e->run, tensor, bo, offset, &error);
		if (!err)
			e->bos[entry].bo = bo;
		else
			npumem_bo_free(bo);
	}
	return err ? why_fail(why, err, "%s", error.text) : 0;
}

static int begin(struct enforced *e, struct why *why)
{
	struct npumem_error error = { 0 };
	int err = device_check(e->device, why);

	if (err)
		return err;
	err = e->begun ? npumem_run_reset(e->run, &error) : 0;
	e->begun = true;
	return err ? why_fail(why, err, "%s", error.text) : 0;
}

/* The step may run when a job that stands for it has been let go and has ended. */
static int step(struct enforced *e, uint32_t position, struct why *why)
{
	const struct npumem_sim_command nothing = { .op = NPUMEM_SIM_NOP };
	const struct drm_npumem_job job =
		npumem_job_positions(e->device->engine, position, 1, &nothing, sizeof(nothing));
	struct npumem_submit submit = { .jobs = &job, .job_count = 1 };
	struct npumem_error error = { 0 };
	int err;

	err = npumem_run_submit(e->run, &submit, &error);
	if (!err)
		err = npumem_run_wait(e->run, npumem_deadline(JOB_TIME), &error);
	return err ? why_fail(why, err, "%s", error.text) : 0;
}

/* Mappings stay when the device goes, and what is in them has no meaning then. */
static int end(struct enforced *e, struct why *why)
{
	struct npumem_run_stats stats;
	struct npumem_error error = { 0 };
	int err = npumem_run_get_stats(e->run, &stats, &error);

	return err ? why_fail(why, err, "%s", error.text) : 0;
}

static int improved(struct enforced *e, void **plan, size_t *size, struct why *why)
{
	const struct options *options = e->device->base.options;
	const struct npumem_request request = request_of(options);
	struct npumem_plan *better = NULL;
	struct npumem_error error = { 0 };
	int err = device_check(e->device, why);

	*plan = NULL;
	if (err)
		return err;
	if (!e->follow)
		err = npumem_follow_new(e->graph, &request, options->follow * SECOND, &e->follow,
					&error);
	if (!err)
		err = npumem_follow_improved(e->follow, e->plan, &better, &error);
	if (!err && better)
		err = npumem_plan_read(better, plan, size, &error);
	npumem_plan_free(better);
	return err ? why_fail(why, err, "%s", error.text) : 0;
}

/* ----------------------------------------------------------------- enforcer */

static void free_device(struct enforcer *enforcer)
{
	struct device *d = device_of(enforcer);

	forked_remove(&d->forked);
	npumem_device_close(d->device);
	free(d);
}

static const struct enforcer_ops ops = {
	.name = "driver",
	.enforced_by = NPUMEM_TFLITE_DRIVER,
	.plan = plan,
	.start = start,
	.load = jobs_load,
	.run = jobs_run,
	.bind = bind,
	.begin = begin,
	.step = step,
	.end = end,
	.improved = improved,
	.stop = stop,
	.free = free_device,
};

/* The index of the engine of a name and version, or NPUMEM_NONE. */
static uint32_t engine_of(const struct drm_npumem_engine *engines, uint32_t count, const char *name,
			  uint32_t version)
{
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(engines[i].name, name) == 0 && engines[i].version == version)
			return engines[i].index;
	return NPUMEM_NONE;
}

/* Another one than that of the steps moves tensors meanwhile, if there is one. */
static uint32_t transfer_engine_of(const struct drm_npumem_engine *engines, uint32_t count,
				   uint32_t other)
{
	for (uint32_t i = 0; i < count; i++)
		if (engines[i].index != other &&
		    (engines[i].flags & (NPUMEM_ENGINE_TRANSFERS | NPUMEM_ENGINE_PROCESS)) ==
			    NPUMEM_ENGINE_TRANSFERS)
			return engines[i].index;
	return other;
}

static int find_engine(struct device *d, struct why *why)
{
	bool computes = d->base.options->engine == ENGINE_COMPUTE;
	const char *name = computes ? COMPUTES : NPUMEM_SIM_NAME;
	uint32_t version = computes ? NPUMEM_COMMAND_VERSION : NPUMEM_SIM_VERSION;
	struct drm_npumem_engine *engines = NULL;
	struct npumem_error error = { 0 };
	uint32_t count = 0;
	int err = npumem_device_engines(d->device, &engines, &count, &error);

	if (err)
		return why_fail(why, err, "%s", error.text);
	d->engine = engine_of(engines, count, name, version);
	d->transfer_engine = transfer_engine_of(engines, count, d->engine);
	free(engines);
	if (d->engine != NPUMEM_NONE)
		return 0;
	return why_fail(why, -ENOENT, "%s has no engine \"%s\", version %u%s",
			npumem_device_path(d->device), name, version,
			computes ? " (start npumem-engine)" : "");
}

/* What the driver says of itself. */
static int read_limits(struct device *d, struct why *why)
{
	struct npumem_error error = { 0 };
	struct drm_npumem_info info;
	int err = npumem_device_info(d->device, &info, &error);

	if (err)
		return why_fail(why, err, "%s", error.text);
	d->max_jobs = info.max_jobs ? info.max_jobs : 1;
	return 0;
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
	if (!err && options->engine == ENGINE_COMPUTE)
		err = read_limits(d, why);
	if (!err && options->fallback != FALLBACK_PROCESS)
		err = find_daemon(d, why);
	if (err) {
		free_device(&d->base);
		return err;
	}
	forked_add(&d->forked, npumem_device_fd(d->device));
	*out = &d->base;
	return 0;
}
