/* SPDX-License-Identifier: MIT */
/*
 * libnpumem: engines in a process, for whoever computes what runtimes submit.
 *
 * One trip: open a device (npumem.h); attach to one of its slots; fetch a task, compute it in the
 * window, commit it with the call that fetches the next one. npumem_engine.h is the driver's side,
 * docs/engine.md tells what an engine may expect and what is expected of it. The conventions
 * are those of npumem.h.
 */
#ifndef NPUMEM_SERVE_H
#define NPUMEM_SERVE_H

#include "npumem.h"
#include "npumem_engine.h"

#ifdef __cplusplus
extern "C" {
#endif

struct npumem_engine;

/**
 * struct npumem_engine_args - what kind of engine the caller is; zero = default
 * @name: of the kind, at most 31 bytes: clients find by it whose commands it takes
 * @window_size: bytes for a step's tiles and commands, > 0; rounded up to whole pages
 * @slot: index of the engine that is a slot (NPUMEM_ENGINE_PROCESS)
 * @any_slot: not @slot, but the first one that the device has
 * @version: of the format of its commands
 * @hang_ms: milliseconds without a sign of life after which a task has failed; 0 = 10000
 * @shared: it serves all open files; needs CAP_SYS_ADMIN
 * @reserved: zero
 */
struct npumem_engine_args {
	const char *name;
	uint64_t window_size;
	uint32_t slot;
	uint32_t any_slot;
	uint32_t version;
	uint32_t hang_ms;
	uint32_t shared;
	uint32_t reserved;
};

/**
 * struct npumem_engine_task - a step to be computed
 * @window: where its bytes are, until the next npumem_engine_fetch()
 * @accesses: @access_count of them, in the step's order, with their offsets in @window
 * @commands: what the job's client wants done, @commands_size bytes. The client may be hostile
 * @id: of the task
 * @commands_size: bytes at @commands
 * @access_count: number of @accesses
 * @step: of the graph
 * @position: of the plan's schedule
 */
struct npumem_engine_task {
	void *window;
	const struct npumem_engine_access *accesses;
	const void *commands;
	uint64_t id;
	uint32_t commands_size;
	uint32_t access_count;
	uint32_t step;
	uint32_t position;
};

NPUMEM_EXPORT int npumem_engine_new_sized(struct npumem_device *device,
					  const struct npumem_engine_args *args, size_t args_size,
					  struct npumem_engine **out, struct npumem_error *error);
/**
 * npumem_engine_new() - attach to a slot of a device
 * @device: of which a private engine serves the runs
 * @args: what kind of engine
 * @out: out: the new object, which is the caller's
 * @error: filled in if the call fails; may be NULL
 *
 * From then on jobs for the slot wait for the caller (npumem_engine.h); how long at most is
 * the driver's to say. -EPERM: shared, without the privilege. -EBUSY: there is one already.
 * -EMFILE: the user has too many. -ENODEV: the device has no slot.
 */
static inline int npumem_engine_new(struct npumem_device *device,
				    const struct npumem_engine_args *args,
				    struct npumem_engine **out, struct npumem_error *error)
{
	return npumem_engine_new_sized(device, args, sizeof(*args), out, error);
}

/**
 * npumem_engine_free() - detach: jobs that have not ended fail
 * @engine: the engine, or NULL
 */
NPUMEM_EXPORT void npumem_engine_free(struct npumem_engine *engine);
/**
 * npumem_engine_fd() - what to wait for with poll()
 * @engine: the engine
 *
 * Return: a descriptor that stays the engine's. POLLIN: a task can be fetched; POLLHUP: the engine
 * is detached. -EINVAL: NULL.
 */
NPUMEM_EXPORT int npumem_engine_fd(const struct npumem_engine *engine);

NPUMEM_EXPORT int npumem_engine_fetch_sized(struct npumem_engine *engine, int status,
					    int64_t deadline, struct npumem_engine_task *task,
					    size_t task_size, struct npumem_error *error);
/**
 * npumem_engine_fetch() - commit the task before, and fetch the next one
 * @engine: the engine
 * @status: of the task before: 0, or a negative errno: it was not done, and its job fails.
 *	Ignored if there is none
 * @deadline: CLOCK_MONOTONIC nanoseconds; a past time takes what is there
 * @task: out: filled in on success. NULL: fetch none, which is how one ends who is not to
 *	leave a task undone; a task before that has failed meanwhile is no error then, either
 * @error: filled in if the call fails; may be NULL
 *
 * A task that has failed meanwhile, as it took too long or its client is gone, is not an error
 * here. Whatever fails, the task before is not in the caller's hands any more, unless it is
 * -EINVAL. -ETIMEDOUT: there was no task in time. -ENODEV: the engine is detached.
 */
static inline int npumem_engine_fetch(struct npumem_engine *engine, int status, int64_t deadline,
				      struct npumem_engine_task *task, struct npumem_error *error)
{
	return npumem_engine_fetch_sized(engine, status, deadline, task, sizeof(*task), error);
}

/**
 * npumem_engine_keep_alive() - the task takes its time
 * @engine: the engine
 * @error: filled in if the call fails; may be NULL
 *
 * -ESTALE: it has failed already, so it need not be gone on with. -ENODEV: detached.
 */
NPUMEM_EXPORT int npumem_engine_keep_alive(struct npumem_engine *engine,
					   struct npumem_error *error);

#ifdef __cplusplus
}
#endif

#endif /* NPUMEM_SERVE_H */
