// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: the order of jobs
 *
 * Jobs of a run on one engine are a queue: they begin and end in the order in which they
 * were submitted. Between engines there is no order but what the plan asks for, so that
 * what has nothing to do with each other runs beside each other: a transfer beside the
 * steps that do not need its bytes. What is asked for is found out at SUBMIT, cell by cell
 * (verify/run/hazards.c): a job waits for one job of each other engine at most.
 *
 * That is known as a number, so each engine's timeline keeps the fences of the jobs that
 * have not ended, in an array that grows, in SUBMIT, to the most that were ever in
 * flight. A SUBMIT that fails in the midst has issued numbers which are issued again: what it has
 * left in the hazards makes later jobs wait for more than they need, but for nothing
 * that was not issued before them, so no two jobs ever wait for each other.
 *
 * Edges. Beyond an edge of the plan bytes have other owners, and there are no hazards
 * between blocks to look at: all jobs of the next block wait for all that were issued before.
 */
#include <linux/log2.h>
#include <linux/mm.h>

#include "base/fence.h"
#include "job.h"
#include "order.h"

int npumem_order_init(struct npu_order *order, const struct npuv_plan *plan, u32 engines,
		      u64 context)
{
	static_assert(NPUMEM_MAX_ENGINES <= NPUV_MAX_ENGINES);

	memset(order, 0, sizeof(*order));
	order->engines = engines;
	order->context = context;
	return engines > 1 ? npuv_hazards_create(plan, engines, &order->hazards) : 0;
}

/* Up to a number nothing is to be waited for any more. */
static void timeline_end(struct npu_timeline *timeline, u64 number)
{
	while (timeline->ended < number) {
		timeline->ended++;
		dma_fence_put(timeline->fences[timeline->ended % timeline->capacity]);
	}
}

/* Notes what has ended. */
static void timeline_look(struct npu_timeline *timeline)
{
	while (timeline->ended < timeline->issued &&
	       dma_fence_is_signaled(timeline->fences[(timeline->ended + 1) % timeline->capacity]))
		timeline_end(timeline, timeline->ended + 1);
}

void npumem_order_fini(struct npu_order *order)
{
	u32 e;

	for (e = 0; e < order->engines; e++) {
		timeline_end(&order->timelines[e], order->timelines[e].issued);
		kvfree(order->timelines[e].fences);
	}
	npuv_hazards_destroy(order->hazards);
}

u64 npumem_order_bytes(const struct npu_order *order)
{
	return npuv_hazards_bytes(order->hazards);
}

void npumem_order_barrier(struct npu_order *order)
{
	u32 e;

	for (e = 0; e < order->engines; e++)
		order->timelines[e].barrier = order->timelines[e].issued;
}

int npumem_order_enter(struct npu_order *order, u32 instance)
{
	npumem_order_barrier(order);
	if (!order->hazards || instance == NPUMEM_NONE)
		return 0;
	return npuv_hazards_enter(order->hazards, instance);
}

int npumem_order_reset(struct npu_order *order)
{
	return npumem_order_enter(order, 0);
}

int npumem_order_reserve(struct npu_order *order, u32 engine, u32 jobs)
{
	struct npu_timeline *t = &order->timelines[engine];
	struct dma_fence **fences;
	u64 need, n;
	u32 capacity;

	timeline_look(t);
	need = t->issued - t->ended + jobs;
	if (need <= t->capacity)
		return 0;
	/* No more than a client may have in flight, and a SUBMIT may add. */
	capacity = roundup_pow_of_two(need);
	fences = kvmalloc_array(capacity, sizeof(*fences), GFP_KERNEL_ACCOUNT);
	if (!fences)
		return -ENOMEM;
	for (n = t->ended + 1; n <= t->issued; n++)
		fences[n % capacity] = t->fences[n % t->capacity];
	kvfree(t->fences);
	t->fences = fences;
	t->capacity = capacity;
	return 0;
}

void npumem_order_mark(const struct npu_order *order, struct npu_order_mark *mark)
{
	u32 e;

	for (e = 0; e < order->engines; e++)
		mark->issued[e] = order->timelines[e].issued;
}

void npumem_order_rewind(struct npu_order *order, const struct npu_order_mark *mark)
{
	struct npu_timeline *t;
	u32 e;

	for (e = 0; e < order->engines; e++) {
		t = &order->timelines[e];
		for (; t->issued > mark->issued[e]; t->issued--)
			dma_fence_put(t->fences[t->issued % t->capacity]);
		t->barrier = min(t->barrier, t->issued);
	}
}

int npumem_order_add(struct npu_order *order, struct npu_job *job, u32 position)
{
	const struct npu_timeline *t = &order->timelines[job->engine->index];

	if (!order->hazards)
		return 0;
	/* Since the barrier a block has fewer steps than that. */
	return npuv_hazards_submit(order->hazards, position, job->engine->index,
				   t->issued - t->barrier + 1, job->hazards);
}

static void issue(struct npu_order *order, struct npu_job *job)
{
	u32 engine = job->engine->index;
	struct npu_timeline *t = &order->timelines[engine];

	npumem_fence_init(job->fence, order->context + engine, ++t->issued);
	job->issued = true;
	t->fences[t->issued % t->capacity] = dma_fence_get(job->fence);
}

void npumem_order_issue(struct npu_order *order, struct npu_job *job)
{
	const struct npu_timeline *t = order->timelines;
	u32 e;

	/* Some of what it has hazards with may have been taken back. */
	for (e = 0; e < order->engines; e++)
		job->after[e] = min(t[e].barrier + job->hazards[e], t[e].issued);
	issue(order, job);
}

void npumem_order_issue_last(struct npu_order *order, struct npu_job *job)
{
	u32 e;

	for (e = 0; e < order->engines; e++)
		job->after[e] = order->timelines[e].issued;
	issue(order, job);
}

struct dma_fence *npumem_order_awaited(struct npu_order *order, const struct npu_job *job,
				       u32 engine)
{
	struct npu_timeline *t = &order->timelines[engine];
	u64 number = job->after[engine];

	/* Its own engine keeps the order of what it executes; a job of nothing is not executed. */
	if ((engine == job->engine->index && job->count) || number <= t->ended)
		return NULL;
	return t->fences[number % t->capacity];
}

struct dma_fence *npumem_order_last(struct npu_order *order, u32 engine)
{
	struct npu_timeline *t = &order->timelines[engine];

	timeline_look(t);
	return t->ended < t->issued ? t->fences[t->issued % t->capacity] : NULL;
}

bool npumem_order_busy(struct npu_order *order)
{
	u32 e;

	for (e = 0; e < order->engines; e++)
		if (npumem_order_last(order, e))
			return true;
	return false;
}
