/* SPDX-License-Identifier: MIT */
/*
 * Makes graph, plan and run of a model, one call for each stage, for tests of the stage after it.
 */
#pragma once

#include "npumem_model.h"
#include "npumem_sim.h"
#include "npumem_test.h"

/*
 * struct world - graph, plan and run of one model, on one open file
 * @arena: mapped, @arena_size bytes
 * @shared: @arena_bo is a shared arena, whose handle is the caller's
 * @host: mapped, @host_size bytes of @host_bo; NULL and 0 if the plan has no transfers
 * @engine: index of an engine that carries out transfers: "sim", if nothing else is there
 */
struct world {
	int fd;
	uint32_t graph;
	uint32_t plan;
	uint32_t run;
	uint32_t arena_bo;
	uint8_t *arena;
	size_t arena_size;
	bool shared;
	uint32_t host_bo;
	uint8_t *host;
	size_t host_size;
	uint32_t engine;
};

/* 0 or a negative errno; what the driver says goes to stdout if it refuses. */
int world_graph(int fd, const struct blob *blob, uint32_t *handle);
int world_plan(int fd, uint32_t graph, const struct blob *blob, uint32_t *handle);
/* Likewise; what has been made is given back if something fails, and nothing is to be closed. */
int world_open(struct world *w, int fd, const struct model *m);
/* The same with a shared arena, which is mapped, though its bytes are there in a turn only. */
int world_open_shared(struct world *w, int fd, const struct model *m, uint32_t bo);
/* RUN_TURN: waits for it until a deadline; ends it. */
int world_begin(const struct world *w, int64_t deadline_ns);
int world_end(const struct world *w);
/* Gives back everything but the file. */
void world_close(struct world *w);

int world_destroy(int fd, unsigned long request, uint32_t handle);
int world_reset(struct world *w);
/* RUN_QUERY. */
int world_query(const struct world *w, struct drm_npumem_run_query *query);
/* RUN_BIND. */
int world_bind(const struct world *w, uint32_t tensor, uint32_t bo, uint64_t offset);
/* Binds all external tensors of model_external() but @but (NPUMEM_NONE: all) to one BO. */
int world_bind_external(const struct world *w, uint32_t bo, const uint64_t *offsets, uint32_t but);

/* Gives a job a command of engine "sim"; with NPUMEM_SIM_NOP it has none. */
void world_command(struct drm_npumem_job *job, uint32_t op, uint64_t value);
/* A job of one position, with such a command. */
struct drm_npumem_job world_job(const struct world *w, uint32_t position, uint32_t op,
				uint64_t value);
/* Submits without fences; fills @args, which then knows where the verdict is. */
int world_submit(const struct world *w, const struct drm_npumem_job *jobs, uint32_t count,
		 struct drm_npumem_submit *args);
/* The verdict of this thread's last world_submit(). */
static inline const struct npumem_verdict *world_verdict(const struct drm_npumem_submit *args)
{
	return (const void *)(uintptr_t)args->verdict.ptr;
}
/* A job that crosses an edge of the plan. */
struct drm_npumem_job world_edge(uint32_t plan_edge);
/* Submits a job of one position with that operator. */
int world_step(struct world *w, uint32_t position, uint32_t op, uint64_t value);
/* Submits one job of positions @first to @first + @count - 1, each with operator "mix". */
int world_mix(const struct world *w, uint32_t first, uint32_t count, uint64_t key,
	      struct drm_npumem_submit *args);
/* Waits until the arena is idle. */
int world_wait(struct world *w);

/*
 * reference_step() - what a step must do, computed without an arena
 * @tensors: the bytes of each tensor of the model, each in memory of its own
 */
void reference_step(const struct model *m, uint8_t *const *tensors, uint32_t step, uint32_t op,
		    uint64_t value);
/* All steps of the model in their order, each with operator "mix". */
void reference_mix(const struct model *m, uint8_t *const *tensors, uint64_t key);
/* Zeroed memory for all tensors of a model; reference_free() gives it back. */
uint8_t **reference_new(const struct model *m);
void reference_free(const struct model *m, uint8_t **tensors);
