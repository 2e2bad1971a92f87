// SPDX-License-Identifier: MIT
#include "npumem_attach.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "npumem_mix.h"

#define MAX_ENGINES 8

int attach_query(int device, struct drm_npumem_engine *engine)
{
	struct drm_npumem_engine engines[MAX_ENGINES];
	struct drm_npumem_dev_query args = NPU_QUERY(NPUMEM_QUERY_ENGINES, engines);
	int err = npu_ioctl(device, DRM_IOCTL_NPUMEM_DEV_QUERY, &args);
	uint64_t i;

	if (err)
		return err;
	for (i = 0; i < args.answer.size / sizeof(engines[0]) && i < MAX_ENGINES; i++) {
		if (engines[i].flags & NPUMEM_ENGINE_PROCESS) {
			*engine = engines[i];
			return 0;
		}
	}
	return -ENOENT;
}

uint32_t attach_slot(int device)
{
	struct drm_npumem_engine engine;

	return attach_query(device, &engine) ? NPUMEM_NONE : engine.index;
}

int attach_engine(struct attached *a, int device, uint32_t flags, size_t size, uint32_t hang_ms)
{
	struct drm_npumem_engine_attach args = {
		.engine = attach_slot(device),
		.flags = flags,
		.hang_ms = hang_ms,
		.version = 7,
		.name = "test",
	};
	int err;

	*a = (struct attached){ .fd = -1, .device = device, .size = size };
	err = npu_bo_create(device, size, NPUMEM_BO_SYSTEM, &a->bo);
	if (err)
		return err;
	args.window = a->bo;
	err = npu_ioctl(device, DRM_IOCTL_NPUMEM_ENGINE_ATTACH, &args);
	if (!err) {
		a->fd = args.fd;
		a->window = npu_bo_map(device, a->bo, size);
		if (a->window)
			return 0;
		close(a->fd);
		err = -ENXIO;
	}
	npu_bo_close(device, a->bo);
	return err;
}

void detach_engine(struct attached *a)
{
	close(a->fd);
	munmap(a->window, a->size);
	npu_bo_close(a->device, a->bo);
}

int attach_next(const struct attached *a, struct npumem_engine_next *next)
{
	return npu_ioctl(a->fd, NPUMEM_IOCTL_ENGINE_NEXT, next);
}

int attach_fetch(const struct attached *a, struct npumem_engine_next *task)
{
	*task = (struct npumem_engine_next){ .deadline_ns = npu_now() + NPU_PATIENCE_NS };
	return attach_next(a, task);
}

int attach_commit(const struct attached *a, uint64_t task, uint32_t status)
{
	struct npumem_engine_next next = {
		.commit = task,
		.status = status,
		.flags = NPUMEM_NEXT_COMMIT_ONLY,
	};
	int err = attach_next(a, &next);

	return err ?: next.commit || next.status || next.task ? -EPROTO : 0;
}

int attach_alive(const struct attached *a, uint64_t task)
{
	struct npumem_engine_alive alive = { .task = task };

	return npu_ioctl(a->fd, NPUMEM_IOCTL_ENGINE_ALIVE, &alive);
}

short attach_poll(const struct attached *a)
{
	struct pollfd fd = { .fd = a->fd, .events = POLLIN };

	return poll(&fd, 1, 0) < 0 ? POLLNVAL : fd.revents;
}

struct npumem_engine_access attach_access(const struct attached *a, uint32_t access)
{
	struct npumem_engine_access entry;

	memcpy(&entry, a->window + access * sizeof(entry), sizeof(entry));
	return entry;
}

void attach_mix(const struct attached *a, const struct npumem_engine_next *task, uint64_t key)
{
	uint64_t digest = npumem_mix_begin(key, task->step), i;
	struct npumem_engine_access entry;
	uint32_t n;

	for (n = 0; n < task->access_count; n++) {
		entry = attach_access(a, n);
		if (!(entry.flags & NPUMEM_ENGINE_ACCESS_READ))
			continue;
		digest = npumem_mix_access(digest, n);
		for (i = 0; i < entry.size; i++)
			digest = npumem_mix_read(digest, a->window[entry.offset + i]);
	}
	for (n = 0; n < task->access_count; n++) {
		entry = attach_access(a, n);
		for (i = 0; entry.flags & NPUMEM_ENGINE_ACCESS_WRITE && i < entry.size; i++)
			a->window[entry.offset + i] = npumem_mix_write(digest, n, i / 8) >>
						      (8 * (i % 8));
	}
}

int attach_serve(const struct attached *a, uint32_t tasks, uint64_t key)
{
	struct npumem_engine_next task;
	int err = 0;

	while (!err && tasks--) {
		err = attach_fetch(a, &task);
		if (err)
			break;
		attach_mix(a, &task, key);
		err = attach_commit(a, task.task, 0);
	}
	return err;
}

struct drm_npumem_job attach_job(const struct world *w, uint32_t position)
{
	return (struct drm_npumem_job){
		.first_position = position,
		.position_count = 1,
		.engine = attach_slot(w->fd),
	};
}

int attach_submit(struct world *w, uint32_t position)
{
	struct drm_npumem_job job = attach_job(w, position);
	struct drm_npumem_submit args;

	return world_submit(w, &job, 1, &args);
}

int attach_outcome(struct world *w)
{
	struct drm_npumem_run_query run;
	int err = world_wait(w);

	if (!err)
		err = world_query(w, &run);
	return err ?: (int)run.error;
}
