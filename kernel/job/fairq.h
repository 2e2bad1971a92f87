/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fair queueing decides whose job an engine runs next.
 */
#ifndef NPUMEM_FAIRQ_H
#define NPUMEM_FAIRQ_H

#include "base/fair.h"

struct dma_fence;
struct npu_run;

/**
 * enum npu_turn - state of a job in its engine's queue
 * @NPUMEM_TURN_NONE: it has not asked for its turn yet
 * @NPUMEM_TURN_WAITING: it is in a client's list of jobs
 * @NPUMEM_TURN_ITS: it has the engine until it ends
 * @NPUMEM_TURN_OVER: it is not to be run, and may end without the engine
 */
enum npu_turn {
	NPUMEM_TURN_NONE,
	NPUMEM_TURN_WAITING,
	NPUMEM_TURN_ITS,
	NPUMEM_TURN_OVER,
};

/* The fences, of jobs that may go, which npumem_fairq_wake() is to signal. */
struct npu_fairq_wake {
	struct dma_fence *cancelled;
	struct dma_fence *next;
};

/*
 * A job waits for nothing but the engine. True: it may go now. False: its npu_job.turn
 * will be signalled when it may, and then it asks again.
 */
bool npumem_fairq_ask(struct npu_fairq *q, struct npu_job *job);
/*
 * A job has ended, or is not run though it has the turn (if it has not, nothing is done).
 * The next one goes when the caller has signalled the job's own fence and calls
 * npumem_fairq_wake().
 */
void npumem_fairq_end(struct npu_fairq *q, struct npu_job *job, struct npu_fairq_wake *wake);
void npumem_fairq_wake(const struct npu_fairq_wake *wake);
/* A run has failed: its job that waits for its turn need not wait any more. Any context. */
void npumem_fairq_cancel(struct npu_fairq *q, struct npu_run *run);

#endif /* NPUMEM_FAIRQ_H */
