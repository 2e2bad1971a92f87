// SPDX-License-Identifier: MIT
/* Engines in a process: the caller is one. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "device.h"
#include "npumem_serve.h"
#include "sized.h"

#define HANG_MS NPUMEM_ENGINE_JOB_MS

/*
 * struct npumem_engine - attached to a slot
 * @fd: of the attachment
 * @task: in our hands, or 0
 */
struct npumem_engine {
	struct npumem_device *device;
	struct npumem_bo *window;
	uint8_t *bytes;
	uint64_t task;
	int fd;
};

/*
 * The table of accesses at the beginning of the window. A window is mapped at a page's beginning,
 * so the table is aligned.
 */
static const struct npumem_engine_access *table(const struct npumem_engine *engine)
{
	const void *window = engine->bytes;

	return window;
}

static int find_slot(struct npumem_device *device, uint32_t *slot, struct npumem_error *error)
{
	struct drm_npumem_engine *engines;
	uint32_t count, found = NPUMEM_NONE;
	int err = npumem_device_engines(device, &engines, &count, error);

	if (err)
		return err;
	for (uint32_t i = count; i-- > 0;)
		if (engines[i].flags & NPUMEM_ENGINE_PROCESS)
			found = engines[i].index;
	free(engines);
	if (found == NPUMEM_NONE)
		return npumem_fail(error, -ENODEV,
				   "the device has no slot that a process could attach to (module "
				   "parameter process_engines)");
	*slot = found;
	return 0;
}

static int attach(struct npumem_engine *engine, const struct npumem_engine_args *given,
		  struct npumem_error *error)
{
	struct drm_npumem_engine_attach args = {
		.engine = given->slot,
		.flags = given->shared ? NPUMEM_ATTACH_SHARED : 0,
		.window = npumem_bo_handle(engine->window),
		.hang_ms = given->hang_ms ? given->hang_ms : HANG_MS,
		.version = given->version,
	};
	int err = 0;

	if (given->any_slot)
		err = find_slot(engine->device, &args.engine, error);
	if (err)
		return err;
	memcpy(args.name, given->name, strlen(given->name));
	err = npumem_ioctl(engine->device, DRM_IOCTL_NPUMEM_ENGINE_ATTACH, &args);
	engine->fd = err ? -1 : args.fd;
	if (!err)
		return 0;
	if (err == -EPERM)
		return npumem_fail(error, err,
				   "an engine for everybody sees everybody's tiles: attaching it "
				   "takes CAP_SYS_ADMIN");
	if (err == -EBUSY)
		return npumem_fail(error, err, "an engine is attached to slot %u already",
				   args.engine);
	return npumem_fail_errno(error, err, "attach engine %s to slot %u", given->name,
				 args.engine);
}

int npumem_engine_new_sized(struct npumem_device *device, const struct npumem_engine_args *given,
			    size_t given_size, struct npumem_engine **out,
			    struct npumem_error *error)
{
	struct npumem_engine_args args;
	struct npumem_engine *engine;
	void *bytes;
	int err;

	if (!device || !given || !out)
		return npumem_fail(error, -EINVAL, "npumem_engine_new: NULL argument");
	if (!sized_take(&args, sizeof(args), given, given_size))
		return npumem_fail_later(error, "engine");
	if (!args.name || !*args.name ||
	    strlen(args.name) >= sizeof(((struct drm_npumem_engine *)0)->name))
		return npumem_fail(error, -EINVAL, "an engine's name has 1 to 31 bytes");
	engine = calloc(1, sizeof(*engine));
	if (!engine)
		return npumem_fail_errno(error, -ENOMEM, "make an engine");
	engine->fd = -1;
	engine->device = npumem_device_get(device);
	err = npumem_bo_new(device, args.window_size, NPUMEM_BO_SYSTEM, 0, &engine->window, error);
	if (!err)
		err = npumem_bo_map(engine->window, &bytes, error);
	if (!err)
		err = attach(engine, &args, error);
	if (err) {
		npumem_engine_free(engine);
		return err;
	}
	engine->bytes = bytes;
	*out = engine;
	return 0;
}

void npumem_engine_free(struct npumem_engine *engine)
{
	if (!engine)
		return;
	if (engine->fd >= 0)
		close(engine->fd);
	npumem_bo_free(engine->window);
	npumem_device_put(engine->device);
	free(engine);
}

int npumem_engine_fd(const struct npumem_engine *engine)
{
	return engine ? engine->fd : -EINVAL;
}

/* What the driver answers; the task in our hands is committed, or was in vain. */
static int next(struct npumem_engine *engine, bool more, struct npumem_engine_next *next_task)
{
	int err;

	next_task->flags = more ? 0 : NPUMEM_NEXT_COMMIT_ONLY;
	do {
		err = ioctl(engine->fd, NPUMEM_IOCTL_ENGINE_NEXT, next_task) < 0 ? -errno : 0;
		if (err == -ESTALE) {
			next_task->commit = 0;
			next_task->status = 0;
		}
		if (!next_task->commit)
			engine->task = 0;
	} while (err == -EINTR || (more && err == -ESTALE));
	return err;
}

int npumem_engine_fetch_sized(struct npumem_engine *engine, int status, int64_t deadline,
			      struct npumem_engine_task *task, size_t task_size,
			      struct npumem_error *error)
{
	struct npumem_engine_next args = { .deadline_ns = deadline };
	int err;

	if (!engine)
		return npumem_fail(error, -EINVAL, "npumem_engine_fetch: NULL argument");
	if (status > 0)
		return npumem_fail(error, -EINVAL, "npumem_engine_fetch: status %d", status);
	args.commit = engine->task;
	args.status = engine->task ? (uint32_t)-status : 0;
	if (!task && !engine->task)
		return 0;
	err = next(engine, task != NULL, &args);
	if (!task && (!err || err == -ESTALE))
		return 0;
	if (err == -ETIMEDOUT)
		return npumem_fail(error, err, "there was no task in time");
	if (err == -ENODEV)
		return npumem_fail(error, err,
				   "the engine is detached: the device is gone, or it took too "
				   "long");
	if (err)
		return npumem_fail_errno(error, err, "fetch a task");
	engine->task = args.task;
	sized_give(task, task_size,
		   &(struct npumem_engine_task){
			   .window = engine->bytes,
			   .accesses = table(engine),
			   .commands = engine->bytes + args.commands_offset,
			   .id = args.task,
			   .commands_size = args.commands_size,
			   .access_count = args.access_count,
			   .step = args.step,
			   .position = args.position,
		   },
		   sizeof(*task));
	return 0;
}

int npumem_engine_keep_alive(struct npumem_engine *engine, struct npumem_error *error)
{
	struct npumem_engine_alive args = { .task = engine->task };

	if (!ioctl(engine->fd, NPUMEM_IOCTL_ENGINE_ALIVE, &args))
		return 0;
	return npumem_fail_errno(error, -errno, "tell the driver that the engine lives");
}
