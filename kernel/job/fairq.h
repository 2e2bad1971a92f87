/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fair queueing: whose job an engine runs next.
 */
#ifndef NPUMEM_FAIRQ_H
#define NPUMEM_FAIRQ_H

#include "base/fair.h"

struct dma_fence;
struct npu_run;

/**
 * enum npu_turn - what a job is to its engine's queue
 * @NPUMEM_TURN_NONE: has not asked yet
 * @NPUMEM_TURN_WAITING: in a client's list of jobs
 * @NPUMEM_TURN_ITS: the engine is its until it ends
 * @NPUMEM_TURN_OVER: it is not to be run, and may go without the engine
 */
enum npu_turn {
	NPUMEM_TURN_NONE,
	NPUMEM_TURN_WAITING,
	NPUMEM_TURN_ITS,
	NPUMEM_TURN_OVER,
};

/* Fences to be signalled by npumem_fairq_wake(): of jobs that may go. */
struct npu_fairq_wake {
	struct dma_fence *cancelled;
	struct dma_fence *next;
};

/*
 * A job has all that it waited for but the engine: true if it may go now. Else its
 * npumem_job.turn is signalled when it may, and it asks again.
 */
bool npumem_fairq_ask(struct npu_fairq *q, struct npu_job *job);
/*
 * A job has ended, or is not run though it was its turn (if it was not, nothing is
 * done). The next one goes when npumem_fairq_wake() is called, which is after the
 * job's own fence was signalled.
 */
void npumem_fairq_end(struct npu_fairq *q, struct npu_job *job, struct npu_fairq_wake *wake);
void npumem_fairq_wake(const struct npu_fairq_wake *wake);
/* A run has failed: its job that waits need not wait any more. Any context. */
void npumem_fairq_cancel(struct npu_fairq *q, struct npu_run *run);

#endif /* NPUMEM_FAIRQ_H */
