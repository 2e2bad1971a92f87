/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Jobs: positions of a run's schedule, put on an engine.
 */
#ifndef NPUMEM_JOB_H
#define NPUMEM_JOB_H

#include <drm/gpu_scheduler.h>

#include "base/engine.h"
#include "fairq.h"
#include "run.h"

/**
 * struct npu_job - one entry of a SUBMIT
 * @base: of the scheduler
 * @run: run that it belongs to; referenced
 * @engine: engine that executes it
 * @fence: signalled when it has ended, in whatever way: all that wait for the job wait
 *	for this. Initialised when it is issued, then referenced
 * @issued: @fence is initialised
 * @counted: among its client's jobs that have not ended
 * @turn: signalled when it has the engine; referenced
 * @turn_state: under the lock of the engine's queue
 * @turn_at: when its turn began, under the same lock
 * @charged_ns: engine time that its client was charged for in advance, under the same lock
 * @queued: in &npu_fair_client.jobs, under the same lock
 * @started: in &npu_engine.started, under its lock
 * @skipped: negative errno of one that is there though it is not executed, else zero
 * @powered: the job holds the device's power
 * @hazards: number of the job on each engine that it waits for, counted from the barrier
 * @after: the same, counted from the beginning (order.c)
 * @first: position in the schedule
 * @count: positions, executed in order; zero for a job that only waits its turn
 * @commands: commands for the engine, @commands_size bytes of them, or NULL
 * @commands_size: see @commands
 * @relocations: places in @commands that addresses of accesses belong to (range.h), checked,
 *	@relocation_count of them, or NULL
 * @relocation_count: see @relocations
 * @tag: the engine's own, set by its check(), else zero
 * @bounce: room that the engine's check() asked for, since nothing is allocated
 *	later; the run's, referenced, or NULL
 *
 * But for its turn nothing is changed after submission until it ends, so there is
 * no lock.
 */
struct npu_job {
	struct drm_sched_job base;
	struct npu_run *run;
	struct npu_engine *engine;
	struct dma_fence *fence;
	bool issued;
	bool counted;
	struct dma_fence *turn;
	enum npu_turn turn_state;
	ktime_t turn_at;
	u64 charged_ns;
	struct list_head queued;
	struct list_head started;
	int skipped;
	bool powered;
	u32 hazards[NPUMEM_MAX_ENGINES];
	u64 after[NPUMEM_MAX_ENGINES];
	u32 first;
	u32 count;
	void *commands;
	u32 commands_size;
	struct drm_npumem_relocation *relocations;
	u32 relocation_count;
	u64 tag;
	struct npu_bounce *bounce;
};

static inline struct npu_job *to_npumem_job(struct drm_sched_job *base)
{
	return container_of(base, struct npu_job, base);
}

/* Whether an entry of a SUBMIT is an edge of the plan, which is no work for an engine. */
static inline bool npumem_job_is_edge(const struct drm_npumem_job *spec)
{
	return spec->flags & NPUMEM_JOB_EDGE;
}

/*
 * SUBMIT checks an entry first, which also makes its index safe to use: -EINVAL,
 * -E2BIG, -EOPNOTSUPP. Then it makes a job of the entry's positions, or one without positions.
 * ERR_PTR: the errno of the engine's check(), -EFAULT, -EBUSY (the client has too many jobs),
 * -EDQUOT, -ENOMEM, -EINTR. @ticks: see npuv_tick(); the same for all jobs of a SUBMIT.
 */
int npumem_job_check(const struct npu_run *run, struct drm_npumem_job *spec);
/* Units of work to copy a job's commands: a cache line of them is one. */
static inline u32 npumem_job_command_work(const struct drm_npumem_job *spec)
{
	return DIV_ROUND_UP_ULL(spec->commands.size, 64);
}
struct npu_job *npumem_job_create(struct npu_run *run, const struct drm_npumem_job *spec,
				  struct drm_file *file, u32 *ticks);
struct npu_job *npumem_job_create_empty(struct npu_run *run, struct drm_file *file);

/*
 * The engine's check() asks for room of at least @size bytes, in &npu_job.bounce->data. All
 * jobs of the run on that engine share it, as they run one after another. 0, -ENOMEM,
 * -EDQUOT, -EINTR.
 */
int npumem_job_bounce(struct npu_job *job, u64 size);

/*
 * Units of work that a job costs SUBMIT: its commands, and the accesses, cells and
 * predecessors that it looks at, as npuv_states_work() counts them, and at least one for
 * each position. Counting stops beyond @max, and if a fatal signal is pending. @ticks: see
 * npuv_tick().
 */
u64 npumem_job_work(const struct npu_run *run, const struct drm_npumem_job *spec, u64 max,
		    u32 *ticks);

/*
 * The engine core (engine.c) calls these: when a job starts; when it ends without having
 * been run, or has no positions; and when its memory is to be freed.
 */
void npumem_job_begin(struct npu_job *job);
void npumem_job_end(struct npu_job *job, int error);
void npumem_job_free(struct npu_job *job);

/*
 * npumem_job_begin() and npumem_job_done() call these, which are in engine.c. Any context.
 * The engine has the job from now on; it has it no more, but the job's fence is still to be
 * signalled; a job of @run has signalled: returns one that was not executed and is to end now,
 * for which this is to be called in turn, or NULL.
 */
void npumem_engine_started(struct npu_engine *engine, struct npu_job *job);
void npumem_engine_ended(struct npu_engine *engine, struct npu_job *job);
struct npu_job *npumem_engine_signalled(struct npu_engine *engine, struct npu_run *run);

/*
 * The engine calls this once for each job started, in any context: the job has ended, with
 * a negative errno or zero. It may be gone on return.
 */
void npumem_job_done(struct npu_job *job, int error);
/*
 * The same by an engine that may know why: @verdict is said of the run if @error is one; with
 * rule 0 (NPUMEM_RULE_NONE) it is that of npumem_job_done(), which knows no more than the job.
 */
void npumem_job_done_as(struct npu_job *job, int error, const struct npumem_verdict *verdict);

int npumem_ioctl_submit(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* NPUMEM_JOB_H */
