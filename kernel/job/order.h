/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The order of a run's jobs: which wait for which, if the device has several engines.
 */
#ifndef NPUMEM_ORDER_H
#define NPUMEM_ORDER_H

#include <linux/dma-fence.h>

#include "base/drv.h"

struct npu_job;

/**
 * struct npu_timeline - a run's jobs on one engine, numbered from 1, which end in that order
 * @issued: number of the last one
 * @ended: number of one that has ended, and so have all before it
 * @barrier: those up to here are waited for by all jobs of the block that the run is in
 * @fences: that of job n, which is after @ended, is fences[n % @capacity], referenced
 * @capacity: a power of two, or 0
 */
struct npu_timeline {
	u64 issued;
	u64 ended;
	u64 barrier;
	struct dma_fence **fences;
	u32 capacity;
};

/**
 * struct npu_order - order of a run's jobs
 * @hazards: of the run's plan; NULL if there is but one engine, which keeps the order
 * @context: of fences of jobs on engine 0; those of other engines follow
 * @engines: of the device
 * @timelines: of each of them
 *
 * All of it is under run->lock.
 */
struct npu_order {
	struct npuv_hazards *hazards;
	u64 context;
	u32 engines;
	struct npu_timeline timelines[NPUMEM_MAX_ENGINES];
};

/**
 * struct npu_order_mark - an order as it was
 * @issued: of each timeline
 */
struct npu_order_mark {
	u64 issued[NPUMEM_MAX_ENGINES];
};

/* -ENOMEM. Nothing is to be given back then. */
int npumem_order_init(struct npu_order *order, const struct npuv_plan *plan, u32 engines,
		      u64 context);
void npumem_order_fini(struct npu_order *order);
/* Bytes of memory that it keeps from the beginning. */
u64 npumem_order_bytes(const struct npu_order *order);
/* The next inference begins; no job is in flight. -EINTR: it is of no use before that. */
int npumem_order_reset(struct npu_order *order);

/*
 * By SUBMIT: have room for so many jobs more on an engine, so that nothing fails later.
 * -ENOMEM. May sleep.
 */
int npumem_order_reserve(struct npu_order *order, u32 engine, u32 jobs);

/* What was issued since then is taken back; there is nobody who waits for it. */
void npumem_order_mark(const struct npu_order *order, struct npu_order_mark *mark);
void npumem_order_rewind(struct npu_order *order, const struct npu_order_mark *mark);

/*
 * The states have let positions of a job go, one after the other, and then all of it: it has a
 * number and its fence is initialised (&npu_job.issued). Room was reserved. -EINTR.
 */
int npumem_order_add(struct npu_order *order, struct npu_job *job, u32 position);
void npumem_order_issue(struct npu_order *order, struct npu_job *job);
/* A job that waits for all others is issued. */
void npumem_order_issue_last(struct npu_order *order, struct npu_job *job);
/* The states have crossed an edge to an instance: what is issued from now on waits for all else. */
int npumem_order_enter(struct npu_order *order, u32 instance);
void npumem_order_barrier(struct npu_order *order);

/* Fence of the last job on an engine that a job has to wait for, or NULL; not referenced. */
struct dma_fence *npumem_order_awaited(struct npu_order *order, const struct npu_job *job,
				       u32 engine);
/* Fence of the last job on an engine that has not ended, or NULL; not referenced. */
struct dma_fence *npumem_order_last(struct npu_order *order, u32 engine);
/* Whether a job of any engine has not ended. */
bool npumem_order_busy(struct npu_order *order);

/* Whether a fence is that of one of the run's jobs. */
static inline bool npumem_order_owns(const struct npu_order *order, const struct dma_fence *fence)
{
	return fence->context - order->context < order->engines;
}

#endif /* NPUMEM_ORDER_H */
