/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Jobs: positions of a run's schedule, put on an engine.
 */
#ifndef NPUMEM_JOB_H
#define NPUMEM_JOB_H

#include <drm/gpu_scheduler.h>

#include "engine.h"
#include "run.h"

/**
 * struct npumem_job - one entry of a SUBMIT
 * @base: of the scheduler
 * @run: what it belongs to; referenced
 * @engine: what executes it
 * @fence: signalled by npumem_job_done(); referenced
 * @first: position in the schedule
 * @count: positions, executed in order
 * @op: enum drm_npumem_op
 * @value: of the operator
 * @bounce: for NPUMEM_OP_COPY: the bytes of one step, since a step may read and
 *	write the same bytes. The run's, found at submit: nothing is allocated
 *	later. Referenced, or NULL
 *
 * Not changed after submission, so there is no lock.
 */
struct npumem_job {
	struct drm_sched_job base;
	struct npumem_run *run;
	struct npumem_engine *engine;
	struct dma_fence *fence;
	u32 first;
	u32 count;
	u32 op;
	u64 value;
	struct npumem_bounce *bounce;
};

static inline struct npumem_job *to_npumem_job(struct drm_sched_job *base)
{
	return container_of(base, struct npumem_job, base);
}

/* By the engine core: the job starts; the job's memory goes. */
void npumem_job_begin(struct npumem_job *job);
void npumem_job_free(struct npumem_job *job);

/*
 * By the engine, in any context, once for each job started: it has ended, with
 * an error (negative) or zero. The job may be gone on return.
 */
void npumem_job_done(struct npumem_job *job, int error);

#endif /* NPUMEM_JOB_H */
