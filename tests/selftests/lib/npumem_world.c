// SPDX-License-Identifier: MIT
#include "npumem_world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "npumem_mix.h"

int world_graph(int fd, const struct blob *blob, uint32_t *handle)
{
	struct npu_log log;
	struct drm_npumem_graph_create args = {
		.blob = NPU_BYTES(blob->data, blob->size),
		.log = npu_log(&log, 1),
	};
	int err = npu_ioctl(fd, DRM_IOCTL_NPUMEM_GRAPH_CREATE, &args);

	if (err)
		printf("# graph: %s: %s\n", strerror(-err), log.text);
	*handle = args.handle;
	return err;
}

int world_plan(int fd, uint32_t graph, const struct blob *blob, uint32_t *handle)
{
	struct npu_log log;
	struct drm_npumem_plan_load args = {
		.graph = graph,
		.blob = NPU_BYTES(blob->data, blob->size),
		.log = npu_log(&log, 1),
	};
	int err = npu_ioctl(fd, DRM_IOCTL_NPUMEM_PLAN_LOAD, &args);

	if (err)
		printf("# plan: %s: %s\n", strerror(-err), log.text);
	*handle = args.handle;
	return err;
}

/* The first engine that does all that these tests want. */
static int find_engine(int fd, uint32_t *engine)
{
	struct drm_npumem_engine engines[8] = { 0 };
	struct drm_npumem_dev_query args = NPU_QUERY(NPUMEM_QUERY_ENGINES, engines);
	int err = npu_ioctl(fd, DRM_IOCTL_NPUMEM_DEV_QUERY, &args);
	uint32_t i;

	if (err)
		return err;
	for (i = 0; i < args.answer.size / sizeof(engines[0]) && i < 8; i++) {
		if (engines[i].flags & NPUMEM_ENGINE_TRANSFERS) {
			*engine = engines[i].index;
			return 0;
		}
	}
	return -ENODEV;
}

/* Make what a world consists of, in order; what has been made stands in it, also on failure. */
static int world_make(struct world *w, const struct model *m)
{
	struct drm_npumem_run_create run = {
		.flags = w->shared ? NPUMEM_RUN_CREATE_SHARED : 0,
		.arena_bo = w->arena_bo,
	};
	struct blob graph = model_graph(m), plan = model_plan(m);
	int err;

	err = world_graph(w->fd, &graph, &w->graph);
	if (!err)
		err = world_plan(w->fd, w->graph, &plan, &w->plan);
	blob_free(&graph);
	blob_free(&plan);
	if (!err)
		err = find_engine(w->fd, &w->engine);
	if (!err && m->info.host_size)
		err = npu_bo_create(w->fd, m->info.host_size, NPUMEM_BO_SYSTEM, &w->host_bo);
	if (err)
		return err;
	if (w->host_bo) {
		w->host_size = m->info.host_size;
		w->host = npu_bo_map(w->fd, w->host_bo, w->host_size);
		if (!w->host)
			return -ENXIO;
	}
	run.plan = w->plan;
	run.host_bo = w->host_bo;
	err = npu_ioctl(w->fd, DRM_IOCTL_NPUMEM_RUN_CREATE, &run);
	if (err)
		return err;
	w->run = run.handle;
	w->arena_bo = run.arena_bo;
	w->arena = npu_bo_map(w->fd, run.arena_bo, w->arena_size);
	return w->arena ? 0 : -ENXIO;
}

int world_open(struct world *w, int fd, const struct model *m)
{
	int err;

	*w = (struct world){ .fd = fd, .arena_size = m->info.arena_size };
	err = world_make(w, m);
	if (err)
		world_close(w);
	return err;
}

int world_open_shared(struct world *w, int fd, const struct model *m, uint32_t bo)
{
	int err;

	*w = (struct world){ .fd = fd, .arena_size = m->info.arena_size };
	w->shared = true;
	w->arena_bo = bo;
	err = world_make(w, m);
	if (err)
		world_close(w);
	return err;
}

static int turn(const struct world *w, uint32_t flags, int64_t deadline_ns)
{
	struct drm_npumem_run_turn args = {
		.run = w->run,
		.flags = flags,
		.deadline_ns = deadline_ns,
	};

	return npu_ioctl(w->fd, DRM_IOCTL_NPUMEM_RUN_TURN, &args);
}

int world_begin(const struct world *w, int64_t deadline_ns)
{
	return turn(w, NPUMEM_TURN_BEGIN, deadline_ns);
}

int world_end(const struct world *w)
{
	return turn(w, NPUMEM_TURN_END, 0);
}

int world_destroy(int fd, unsigned long request, uint32_t handle)
{
	struct drm_npumem_handle args = { .handle = handle };

	return npu_ioctl(fd, request, &args);
}

void world_close(struct world *w)
{
	if (w->arena)
		munmap(w->arena, w->arena_size);
	if (w->arena_bo && !w->shared)
		npu_bo_close(w->fd, w->arena_bo);
	if (w->host)
		munmap(w->host, w->host_size);
	if (w->host_bo)
		npu_bo_close(w->fd, w->host_bo);
	if (w->run)
		world_destroy(w->fd, DRM_IOCTL_NPUMEM_RUN_DESTROY, w->run);
	if (w->plan)
		world_destroy(w->fd, DRM_IOCTL_NPUMEM_PLAN_DESTROY, w->plan);
	if (w->graph)
		world_destroy(w->fd, DRM_IOCTL_NPUMEM_GRAPH_DESTROY, w->graph);
	memset(w, 0, sizeof(*w));
}

int world_reset(struct world *w)
{
	return world_destroy(w->fd, DRM_IOCTL_NPUMEM_RUN_RESET, w->run);
}

int world_query(const struct world *w, struct drm_npumem_run_query *query)
{
	*query = (struct drm_npumem_run_query){ .run = w->run };
	return npu_ioctl(w->fd, DRM_IOCTL_NPUMEM_RUN_QUERY, query);
}

int world_bind(const struct world *w, uint32_t tensor, uint32_t bo, uint64_t offset)
{
	struct drm_npumem_run_bind args = {
		.run = w->run,
		.tensor = tensor,
		.bo = bo,
		.offset = offset,
	};

	return npu_ioctl(w->fd, DRM_IOCTL_NPUMEM_RUN_BIND, &args);
}

int world_bind_external(const struct world *w, uint32_t bo, const uint64_t *offsets, uint32_t but)
{
	uint32_t t;
	int err = 0;

	for (t = 0; !err && t < EXTERNAL_TENSORS; t++)
		if (t != EXTERNAL_A && t != but)
			err = world_bind(w, t, bo, offsets[t]);
	return err;
}

struct drm_npumem_job world_edge(uint32_t plan_edge)
{
	return (struct drm_npumem_job){ .first_position = plan_edge, .flags = NPUMEM_JOB_EDGE };
}

struct drm_npumem_job world_job(const struct world *w, uint32_t position, uint32_t op,
				uint64_t value)
{
	struct drm_npumem_job job = { .first_position = position,
				      .position_count = 1,
				      .engine = w->engine };

	world_command(&job, op, value);
	return job;
}

void world_command(struct drm_npumem_job *job, uint32_t op, uint64_t value)
{
	struct npumem_sim_command *command = NULL;

	/* Jobs are copied at will, so it lives as long as the process. */
	if (op != NPUMEM_SIM_NOP) {
		command = calloc(1, sizeof(*command));
		command->op = op;
		command->value = value;
	}
	job->commands = NPU_BYTES(command, command ? sizeof(*command) : 0);
}

int world_submit(const struct world *w, const struct drm_npumem_job *jobs, uint32_t count,
		 struct drm_npumem_submit *args)
{
	static _Thread_local struct npumem_verdict verdict;

	memset(args, 0, sizeof(*args));
	args->run = w->run;
	args->jobs = NPU_ARRAY(jobs, count);
	args->verdict = NPU_BUFFER(verdict);
	return npu_ioctl(w->fd, DRM_IOCTL_NPUMEM_SUBMIT, args);
}

int world_step(struct world *w, uint32_t position, uint32_t op, uint64_t value)
{
	struct drm_npumem_job job = world_job(w, position, op, value);
	struct drm_npumem_submit args;

	return world_submit(w, &job, 1, &args);
}

int world_mix(const struct world *w, uint32_t first, uint32_t count, uint64_t key,
	      struct drm_npumem_submit *args)
{
	struct drm_npumem_job job = world_job(w, first, NPUMEM_SIM_MIX, key);

	job.position_count = count;
	return world_submit(w, &job, 1, args);
}

int world_wait(struct world *w)
{
	return npu_bo_wait(w->fd, w->arena_bo, npu_now() + NPU_PATIENCE_NS);
}

/* Byte of the tensor that has the given linear index in a region. */
static uint64_t region_byte(const struct npumem_region *r, uint64_t linear)
{
	uint64_t chunk = linear / r->length;
	uint64_t byte = r->offset + linear % r->length;
	unsigned int d;

	for (d = 0; d < NPUMEM_REGION_DIMS; d++) {
		byte += chunk % r->count[d] * r->stride[d];
		chunk /= r->count[d];
	}
	return byte;
}

static uint64_t region_size(const struct npumem_region *r)
{
	return r->length * r->count[0] * r->count[1] * r->count[2];
}

/* All bytes that the accesses of a step read, one after another; malloc'ed. */
static uint8_t *gather(const struct model *m, uint8_t *const *tensors, const struct npumem_step *s,
		       uint64_t *digest)
{
	const struct npumem_access *access = &m->accesses[s->first_access];
	const struct npumem_tile *tile;
	uint8_t *bytes = NULL;
	uint64_t size = 0, i;
	uint32_t a;

	for (a = 0; a < s->access_count; a++) {
		if (access[a].mode == NPUMEM_ACCESS_WRITE)
			continue;
		tile = &m->tiles[access[a].tile];
		bytes = realloc(bytes, size + region_size(&tile->region));
		*digest = npumem_mix_access(*digest, a);
		for (i = 0; i < region_size(&tile->region); i++) {
			bytes[size] = tensors[tile->tensor][region_byte(&tile->region, i)];
			*digest = npumem_mix_read(*digest, bytes[size++]);
		}
	}
	return bytes;
}

void reference_step(const struct model *m, uint8_t *const *tensors, uint32_t step, uint32_t op,
		    uint64_t value)
{
	const struct npumem_step *s = &m->steps[step];
	const struct npumem_access *access = &m->accesses[s->first_access];
	uint64_t digest = npumem_mix_begin(value, step), next = 0, i;
	uint8_t *read = gather(m, tensors, s, &digest), byte;
	const struct npumem_tile *tile;
	uint32_t a;

	for (a = 0; a < s->access_count; a++) {
		if (access[a].mode == NPUMEM_ACCESS_READ)
			continue;
		tile = &m->tiles[access[a].tile];
		for (i = 0; i < region_size(&tile->region); i++) {
			if (op == NPUMEM_SIM_FILL)
				byte = value;
			else if (op == NPUMEM_SIM_COPY)
				byte = read[next++];
			else
				byte = npumem_mix_write(digest, a, i / 8) >> (8 * (i % 8));
			tensors[tile->tensor][region_byte(&tile->region, i)] = byte;
		}
	}
	free(read);
}

void reference_mix(const struct model *m, uint8_t *const *tensors, uint64_t key)
{
	uint32_t i;

	for (i = 0; i < m->step_count; i++)
		reference_step(m, tensors, i, NPUMEM_SIM_MIX, key);
}

uint8_t **reference_new(const struct model *m)
{
	uint8_t **tensors = calloc(m->tensor_count, sizeof(*tensors));
	uint32_t i;

	for (i = 0; i < m->tensor_count; i++)
		tensors[i] = calloc(1, m->tensors[i].size);
	return tensors;
}

void reference_free(const struct model *m, uint8_t **tensors)
{
	uint32_t i;

	for (i = 0; i < m->tensor_count; i++)
		free(tensors[i]);
	free(tensors);
}
