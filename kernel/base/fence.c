// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: fences
 *
 * Fences end up in syncobjs, sync files and reservation objects, so other
 * processes and drivers keep them for as long as they like: longer than the
 * device, and longer than the module. All of the driver's fences are made here
 * so that this is got right once. See compat.h for what older kernels need.
 *
 * Fences of drm_sched never leave the driver: in older kernels a holder of one that asks
 * for its name follows a pointer to the scheduler, which may be gone.
 */
#include <linux/completion.h>

#include "compat.h"
#include "fence.h"

static const char *fence_driver_name(struct dma_fence *fence)
{
	return "npumem";
}

static const char *fence_timeline_name(struct dma_fence *fence)
{
	return "npumem";
}

/* There is no release() or wait(), so that the core lets go of these ops when a fence signals. */
static const struct dma_fence_ops npumem_fence_ops = {
	.get_driver_name = fence_driver_name,
	.get_timeline_name = fence_timeline_name,
};

struct dma_fence *npumem_fence_alloc(void)
{
	return npumem_compat_fence_alloc(&npumem_fence_ops);
}

void npumem_fence_init(struct dma_fence *fence, u64 context, u64 seqno)
{
	npumem_compat_fence_init(fence, &npumem_fence_ops, context, seqno);
}

void npumem_fence_free(struct dma_fence *fence)
{
	/* @fence is where the allocation begins, in all kernels. */
	kfree(fence);
}

struct dma_fence *npumem_fence_create(u64 context, u64 seqno)
{
	struct dma_fence *fence = npumem_fence_alloc();

	if (fence)
		npumem_fence_init(fence, context, seqno);
	return fence;
}

struct fence_waiter {
	struct dma_fence_cb callback;
	struct completion signalled;
};

static void fence_wake(struct dma_fence *fence, struct dma_fence_cb *callback)
{
	complete(&container_of(callback, struct fence_waiter, callback)->signalled);
}

int npumem_fence_wait_killable(struct dma_fence *fence)
{
	struct fence_waiter waiter;
	int err;

	might_sleep();
	init_completion(&waiter.signalled);
	if (dma_fence_add_callback(fence, &waiter.callback, fence_wake))
		return 0;
	err = wait_for_completion_killable(&waiter.signalled);
	/* Once it is removed the callback, which uses our stack, is not called any more. */
	if (err)
		dma_fence_remove_callback(fence, &waiter.callback);
	return err ? -EINTR : 0;
}

void npumem_fence_signal(struct dma_fence *fence, int error)
{
	bool cookie = dma_fence_begin_signalling();

	if (error)
		dma_fence_set_error(fence, error);
	dma_fence_signal(fence);
	dma_fence_end_signalling(cookie);
}
