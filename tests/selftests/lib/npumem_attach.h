/* SPDX-License-Identifier: MIT */
/*
 * An engine in a process, for tests: attached by one call, computing operator "mix" or what
 * a test likes.
 */
#pragma once

#include "npumem_engine.h"
#include "npumem_world.h"

#define ATTACH_HANG 10000 /* ms: what a test that is not about limits asks for */

/*
 * struct attached - an engine
 * @fd: of the attachment
 * @device: file that it was attached on
 * @window: mapped, @size bytes of @bo
 */
struct attached {
	int fd;
	int device;
	uint32_t bo;
	uint8_t *window;
	size_t size;
};

/* Index of the first slot, or NPUMEM_NONE. */
uint32_t attach_slot(int device);
/* What DEV_QUERY says of it. */
int attach_query(int device, struct drm_npumem_engine *engine);

/* Attach, with a window of that many bytes; 0 or a negative errno, and nothing is left then. */
int attach_engine(struct attached *a, int device, uint32_t flags, size_t size, uint32_t hang_ms);
/* Close the descriptor, and give back the window. */
void detach_engine(struct attached *a);

/* NPUMEM_IOCTL_ENGINE_NEXT as it is. */
int attach_next(const struct attached *a, struct npumem_engine_next *next);
/* Wait for a task, or NPU_PATIENCE_NS. */
int attach_fetch(const struct attached *a, struct npumem_engine_next *task);
/* Say that it is done, or not, and take no other. */
int attach_commit(const struct attached *a, uint64_t task, uint32_t status);
/* NPUMEM_IOCTL_ENGINE_ALIVE. */
int attach_alive(const struct attached *a, uint64_t task);
/* What poll() says at once. */
short attach_poll(const struct attached *a);

/* An access of the task, from the table in the window. */
struct npumem_engine_access attach_access(const struct attached *a, uint32_t access);
/* Compute operator "mix" in the window. */
void attach_mix(const struct attached *a, const struct npumem_engine_next *task, uint64_t key);
/* Fetch, compute "mix", commit: so many tasks. */
int attach_serve(const struct attached *a, uint32_t tasks, uint64_t key);

/* A job of one position for the slot, without commands. */
struct drm_npumem_job attach_job(const struct world *w, uint32_t position);
/* Such a job, submitted. */
int attach_submit(struct world *w, uint32_t position);
/* The positive errno that the run is lost with, or 0; waits until the arena is idle. */
int attach_outcome(struct world *w);
