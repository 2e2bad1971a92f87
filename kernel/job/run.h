/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs: a plan bound to an arena, with the states of its tiles.
 */
#ifndef NPUMEM_RUN_H
#define NPUMEM_RUN_H

#include <drm/gpu_scheduler.h>

#include "bind.h"
#include "memory/bo.h"
#include "object/plan.h"
#include "transfer.h"

struct npu_client;
struct npu_job;

/**
 * struct npu_bounce - room for the bytes of one step of a copy
 * @ref: the run and each of its jobs that copy hold one
 * @client: who is charged for it; referenced
 * @size: bytes
 * @data: kvmalloc'ed
 */
struct npu_bounce {
	struct kref ref;
	struct npu_client *client;
	u64 size;
	void *data;
};

/**
 * struct npu_run - one plan in one arena
 * @ref: its handle and each of its jobs hold one
 * @id: unique while the module is loaded
 * @pid: of the process that created it
 * @file: it was created on, to know it by: it may be gone
 * @client: who is charged for it; referenced
 * @charged: bytes of memory, without those of @bounce
 * @dev: whose it is; referenced
 * @plan: READY; referenced
 * @arena: carveout BO of the plan's arena_size
 * @transfers: host BO, and what went there and back
 * @externals: external tensors of the graph and what they are bound to
 * @lock: guards @states, @submitted, @externals, @last, @bounce, @fence_seqno and the
 *	order of jobs in @entities
 * @states: of the plan's cells
 * @submitted: positions since the inference began
 * @error: negative errno once the run is lost, else zero; see npumem_run_fail()
 * @last: fence of the job submitted last, or NULL
 * @bounce: the largest one yet, or NULL
 * @fence_context: of the jobs' fences; those that follow, of their turns, and the last
 *	one of gates
 * @fence_seqno: of the last of the jobs' fences
 * @entities: queue of jobs for each of the device's engines
 * @waiting: job that waits for its turn on each of them, or NULL; under the lock of
 *	that engine's queue
 * @gates_lock: guards @gates; taken in any context
 * @gates: of struct npu_gate: closed ones of jobs submitted
 * @node: in &npu_device.runs
 * @release: drops what is left where that may sleep
 */
struct npu_run {
	struct kref ref;
	u64 id;
	pid_t pid;
	const struct npu_file *file;
	struct npu_client *client;
	u64 charged;
	struct npu_device *dev;
	struct npu_plan *plan;
	struct npu_bo *arena;
	struct npu_transfers transfers;
	struct npu_externals *externals;
	struct mutex lock;
	struct npuv_states *states;
	u64 submitted;
	int error;
	struct dma_fence *last;
	struct npu_bounce *bounce;
	u64 fence_context;
	u64 fence_seqno;
	struct drm_sched_entity entities[NPUMEM_MAX_ENGINES];
	struct npu_job *waiting[NPUMEM_MAX_ENGINES];
	spinlock_t gates_lock;
	struct list_head gates;
	struct list_head node;
	struct work_struct release;
};

static inline struct npu_run *npumem_run_lookup(struct npu_file *file, u32 handle)
{
	static_assert(!offsetof(struct npu_run, ref));
	return npumem_handle_get(&file->runs, handle);
}

void npumem_run_put(struct npu_run *run);
DEFINE_FREE(npumem_run_put, struct npu_run *, if (_T) npumem_run_put(_T))
/* The same from where nothing may sleep, or from within the scheduler. */
void npumem_run_put_async(struct npu_run *run);

/* Whether a job is in flight. A caller under run->lock can rely on "no". */
bool npumem_run_busy(struct npu_run *run);

/* Bytes that steps can reach: those of the arena and of what is bound. */
static inline u64 npumem_run_bytes(const struct npu_run *run)
{
	return run->plan->v->info->arena_size + READ_ONCE(run->externals->bytes);
}

/*
 * A bounce buffer of at least size bytes, referenced, or ERR_PTR: -ENOMEM, -EDQUOT,
 * -EINTR. Shared by the run's jobs, as they execute one after another: a
 * queue of copies, however long, costs a few times its largest step.
 */
struct npu_bounce *npumem_run_bounce(struct npu_run *run, u64 size);
void npumem_bounce_put(struct npu_bounce *bounce); /* or NULL */

/* The first failure is what counts. Jobs that wait end with -ECANCELED. Any context. */
void npumem_run_fail(struct npu_run *run, int error);

static inline int npumem_run_error(const struct npu_run *run)
{
	return READ_ONCE(run->error);
}

/* A file is closed: its queued jobs are not run any more. */
void npumem_run_release_file(struct npu_file *file);

/* Engines are stopped: jobs that wait for others' fences are not kept waiting. */
void npumem_runs_unplug(struct npu_device *dev);

void npumem_runs_show(struct npu_device *dev, struct seq_file *m);

int npumem_ioctl_run_create(struct drm_device *drm, void *data, struct drm_file *file);
int npumem_ioctl_run_reset(struct drm_device *drm, void *data, struct drm_file *file);
int npumem_ioctl_run_destroy(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* NPUMEM_RUN_H */
