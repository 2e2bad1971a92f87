/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs: a run is a plan bound to an arena, with the states of its tiles.
 */
#ifndef NPUMEM_RUN_H
#define NPUMEM_RUN_H

#include <drm/gpu_scheduler.h>

#include "base/fair.h"
#include "bind.h"
#include "memory/bo.h"
#include "memory/shared.h"
#include "object/plan.h"
#include "order.h"
#include "transfer.h"

struct npu_client;
struct npu_job;

/**
 * struct npu_bounce - room for the bytes of one step of a copy
 * @ref: the run and each of its jobs that copy hold one
 * @client: is charged for it; referenced
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
 * @handle: that it was made with, in @file: it may be gone
 * @id: unique while the module is loaded
 * @created_ns: CLOCK_MONOTONIC, when it was made
 * @pid: of the process that created it
 * @file: file that it was created on, only to be compared, since it may be gone
 * @client: is charged for it; referenced
 * @charged: bytes of memory that it is charged for, without those of @bounces
 * @dev: device that it belongs to; referenced
 * @plan: its plan, which is READY; referenced
 * @arena: carveout BO of the plan's arena_size, or a shared one that is at least so large
 * @place: place in the line for a shared arena
 * @in_turn: a shared arena is the run's now, and the run takes jobs
 * @transfers: host BO, and what went there and back
 * @externals: external tensors of the graph and the BOs that they are bound to
 * @lock: guards @in_turn, @states, @submitted, @externals, @order, @gate, @bounces, @ends and
 *	the order of jobs in @entities
 * @states: states of the plan's cells
 * @submitted: number of positions submitted since the inference began
 * @error: negative errno once the run is lost, else zero; see npumem_run_fail(). Written under
 *	@lost_lock
 * @lost_lock: guards @lost; taken in any context
 * @lost: how the first job that failed did, if @error is of one; its rule is none otherwise
 * @order: order of its jobs on several engines, and their fences
 * @gate: fence of the last gate, or NULL: all jobs submitted from then on wait for it
 * @bounces: the largest bounce buffer yet for jobs of each engine, or NULL
 * @turn_context: context of fences of turns on engine 0; those of other engines follow
 * @gate_context: context of fences of gates
 * @end_context: context of fences that stand for the last jobs of several engines
 * @ends: number of the last of these
 * @entities: queue of jobs for each of the device's engines
 * @level: level of its jobs on the engines
 * @waiting: job that waits for its turn on each engine, or NULL; under the lock of
 *	that engine's queue
 * @running: jobs whose turn it is, under the same
 * @ending: jobs that each engine has no more, but whose fences have not signalled, under
 *	&npu_engine.started_lock
 * @gates_lock: guards @gates; taken in any context
 * @gates: of struct npu_gate: those of jobs submitted that are still closed
 * @node: in &npu_device.runs
 * @release: work that frees the run, for callers that may not sleep
 */
struct npu_run {
	struct kref ref;
	u32 handle;
	u64 id;
	s64 created_ns;
	pid_t pid;
	const struct npu_file *file;
	struct npu_client *client;
	u64 charged;
	struct npu_device *dev;
	struct npu_plan *plan;
	struct npu_bo *arena;
	struct npu_place place;
	bool in_turn;
	struct npu_transfers transfers;
	struct npu_externals *externals;
	struct mutex lock;
	struct npuv_states *states;
	u64 submitted;
	int error;
	spinlock_t lost_lock;
	struct npumem_verdict lost;
	struct npu_order order;
	struct dma_fence *gate;
	struct npu_bounce *bounces[NPUMEM_MAX_ENGINES];
	u64 turn_context;
	u64 gate_context;
	u64 end_context;
	u64 ends;
	struct drm_sched_entity entities[NPUMEM_MAX_ENGINES];
	enum npu_level level;
	struct npu_job *waiting[NPUMEM_MAX_ENGINES];
	u32 running[NPUMEM_MAX_ENGINES];
	u32 ending[NPUMEM_MAX_ENGINES];
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
/* The same for callers that may not sleep, or are called by the scheduler. */
void npumem_run_put_async(struct npu_run *run);

/* Whether a job is in flight. If not, none can be as long as the caller holds run->lock. */
bool npumem_run_busy(struct npu_run *run);

/* Whether the arena is the run's own, or it is its turn. Under run->lock. */
static inline bool npumem_run_has_arena(const struct npu_run *run)
{
	return !run->arena->shared || run->in_turn;
}

/*
 * The next inference begins. -EBUSY: jobs are in flight; -EINTR: the caller was killed, and the
 * run is lost. Under run->lock.
 */
int npumem_run_restart(struct npu_run *run);

/* Number of bytes that steps can reach: those of the arena and of the bound tensors. */
static inline u64 npumem_run_bytes(const struct npu_run *run)
{
	return run->plan->v->info->arena_size + READ_ONCE(run->externals->bytes);
}

/*
 * A bounce buffer of at least @size bytes, referenced, or ERR_PTR: -ENOMEM, -EDQUOT,
 * -EINTR. The run's jobs on an engine share it, as they execute one after another: a queue
 * of copies, however long, costs a few times its largest step.
 */
struct npu_bounce *npumem_run_bounce(struct npu_run *run, u32 engine, u64 size);
void npumem_bounce_put(struct npu_bounce *bounce); /* or NULL */

/*
 * The run has failed, with a negative errno; only the first failure of an inference is kept.
 * @verdict: how a job of it has, or NULL. Jobs that wait end with -ECANCELED. Any context.
 */
void npumem_run_fail(struct npu_run *run, int error, const struct npumem_verdict *verdict);

static inline int npumem_run_error(const struct npu_run *run)
{
	return READ_ONCE(run->error);
}

/* The same, and how a job has failed: rule NPUMEM_RULE_NONE if none has. */
int npumem_run_lost(struct npu_run *run, struct npumem_verdict *verdict);

/* A file is closed: cancel all of its jobs that have not started. */
void npumem_run_release_file(struct npu_file *file);

/* Engines are stopped: end all jobs that wait for others' fences, and all who wait for turns. */
void npumem_runs_unplug(struct npu_device *dev);

void npumem_runs_show(struct npu_device *dev, struct seq_file *m);

int npumem_ioctl_run_create(struct drm_device *drm, void *data, struct drm_file *file);
int npumem_ioctl_run_reset(struct drm_device *drm, void *data, struct drm_file *file);
int npumem_ioctl_run_destroy(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* NPUMEM_RUN_H */
