// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the jobs of a SUBMIT wait for, and what waits for them: gates, fences of other engines,
 * the end of all of them, reservation objects. submit.c says how this is a part of the call.
 */
#include <linux/dma-fence-array.h>
#include <linux/dma-resv.h>
#include <linux/mm.h>

#include "base/client.h"
#include "base/compat.h"
#include "gate.h"
#include "job.h"
#include "submit.h"

/*
 * Fences that a gate is to wait for. What the reservation objects have of the run itself
 * is no hazard, or jobs wait for it; who names it as an in-sync wants to wait for it, and does
 * so without if there is but one engine.
 */
static bool submit_awaits(const struct submit *submit, struct dma_fence *fence, bool resv)
{
	const struct npu_order *order = &submit->run->order;

	if ((resv || order->engines == 1) && npumem_order_owns(order, fence))
		return false;
	return !dma_fence_is_signaled(fence);
}

/* Count the fences of others in a dma_resv, and add them to the gate, unless that is NULL. */
static u32 submit_await_resv(struct submit *submit, u32 index, struct npu_gate *gate)
{
	const struct npu_externals *externals = submit->run->externals;
	struct dma_resv_iter cursor;
	struct dma_fence *fence;
	u32 n = 0;

	/* Whose turn it was before has ended all of its jobs; see npumem_shared_wait(). */
	if (to_npumem_bo(externals->objs[index])->shared)
		return 0;
	dma_resv_for_each_fence(&cursor, externals->objs[index]->resv,
				dma_resv_usage_rw(externals->resvs[index].writers), fence)
	{
		if (!submit_awaits(submit, fence, true))
			continue;
		n++;
		if (gate)
			npumem_gate_add(gate, dma_fence_get(fence));
	}
	return n;
}

/*
 * Make a gate, so that the jobs depend on one fence instead of all those of others: at each
 * dependency that is added, the scheduler looks through all that a job has.
 */
static int submit_make_gate(struct submit *submit, u32 capacity)
{
	struct npu_gate *gate = npumem_gate_create(submit->run, capacity + 1);
	struct dma_fence *before = submit->run->gate;
	u32 i;

	if (IS_ERR(gate))
		return PTR_ERR(gate);
	submit->gate = gate;
	if (before)
		npumem_gate_add(submit->gate, dma_fence_get(before));
	for (i = 0; i < submit->awaited_count; i++)
		if (submit_awaits(submit, submit->awaited[i], false))
			npumem_gate_add(submit->gate, dma_fence_get(submit->awaited[i]));
	for (i = 0; i < submit->run->externals->resv_count; i++) {
		submit_await_resv(submit, i, submit->gate);
		if (npuv_interrupted())
			return -EINTR;
	}
	return 0;
}

/* Room in all reservation objects, and a gate if others are to be waited for. */
static int submit_await_others(struct submit *submit)
{
	u64 most = npumem_client_limit(submit->run->client, NPUMEM_RESOURCE_WAITS);
	const struct npu_externals *externals = submit->run->externals;
	u32 i, n = 0;
	int err;

	for (i = 0; i < submit->awaited_count; i++)
		n += submit_awaits(submit, submit->awaited[i], false);
	for (i = 0; i < externals->resv_count; i++) {
		err = dma_resv_reserve_fences(externals->objs[i]->resv,
					      submit->run->dev->engine_count);
		if (err)
			return err;
		n += submit_await_resv(submit, i, NULL);
		/* Whoever shares the buffers waits for their locks meanwhile. */
		if (n > most)
			return -EBUSY;
		if (npuv_interrupted())
			return -EINTR;
	}
	return n ? submit_make_gate(submit, n) : 0;
}

static int job_depend(struct npu_job *job, struct dma_fence *fence)
{
	if (!fence || dma_fence_is_signaled(fence))
		return 0;
	return drm_sched_job_add_dependency(&job->base, dma_fence_get(fence));
}

/* What each job waits for on other engines; the first on each engine for the gate, too. */
static int submit_depend(struct submit *submit)
{
	struct dma_fence *gate = submit->gate ? submit->gate->fence : submit->run->gate;
	struct npu_order *order = &submit->run->order;
	unsigned long behind = 0;
	struct npu_job *job;
	u32 i, e;
	int err;

	for (i = 0; i < submit->job_count; i++) {
		job = submit->jobs[i];
		err = __test_and_set_bit(job->engine->index, &behind) ? 0 : job_depend(job, gate);
		for (e = 0; !err && e < order->engines; e++)
			err = job_depend(job, npumem_order_awaited(order, job, e));
		if (err)
			return err;
	}
	return 0;
}

/* One fence for the last jobs of all engines. */
static int submit_make_end(struct submit *submit)
{
	struct dma_fence *last, **fences = NULL;
	struct npu_run *run = submit->run;
	struct dma_fence_array *array;
	u32 e, n = 0;

	for (e = 0; e < run->order.engines; e++) {
		last = npumem_order_last(&run->order, e);
		if (!last)
			continue;
		if (n++ == 0) {
			submit->end = dma_fence_get(last);
			continue;
		}
		if (!fences)
			fences = kcalloc(run->order.engines, sizeof(*fences), GFP_KERNEL_ACCOUNT);
		if (!fences)
			return -ENOMEM;
		fences[n - 1] = dma_fence_get(last);
	}
	if (n == 1)
		return 0;
	fences[0] = submit->end;
	submit->end = NULL;
	array = dma_fence_array_create(n, fences, run->end_context, ++run->ends);
	if (!array) {
		while (n--)
			dma_fence_put(fences[n]);
		kfree(fences);
		return -ENOMEM;
	}
	submit->end = &array->base;
	return 0;
}

int npumem_submit_depend(struct submit *submit)
{
	int err = submit_await_others(submit);

	if (!err)
		err = submit_depend(submit);
	return err ?: submit_make_end(submit);
}

void npumem_submit_to_resvs(const struct submit *submit)
{
	const struct npu_externals *externals = submit->run->externals;
	enum dma_resv_usage usage;
	struct dma_fence *last;
	u32 i, e;

	for (e = 0; e < submit->run->order.engines; e++) {
		last = npumem_order_last(&submit->run->order, e);
		for (i = 0; last && i < externals->resv_count; i++) {
			usage = externals->resvs[i].writers ? DMA_RESV_USAGE_WRITE :
							      DMA_RESV_USAGE_READ;
			dma_resv_add_fence(externals->objs[i]->resv, last, usage);
		}
	}
}
