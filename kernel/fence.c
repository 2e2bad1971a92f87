// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: fences
 *
 * Fences end up in syncobjs, sync files and reservation objects, so other
 * processes and drivers keep them for as long as they like: longer than the
 * device, and longer than the module. All of the driver's fences are made here
 * so that this is got right once. See compat.h for what older kernels need.
 */
#include "compat.h"
#include "fence.h"

static const char *npumem_fence_driver_name(struct dma_fence *fence)
{
	return "npumem";
}

static const char *npumem_fence_timeline_name(struct dma_fence *fence)
{
	return "npumem";
}

/* No release, no wait: the core lets go of these ops when a fence signals. */
static const struct dma_fence_ops npumem_fence_ops = {
	.get_driver_name = npumem_fence_driver_name,
	.get_timeline_name = npumem_fence_timeline_name,
};

struct dma_fence *npumem_fence_create(u64 context, u64 seqno)
{
	struct dma_fence *fence = npumem_compat_fence_alloc(&npumem_fence_ops);

	if (fence)
		npumem_compat_fence_init(fence, &npumem_fence_ops, context, seqno);
	return fence;
}

void npumem_fence_signal(struct dma_fence *fence, int error)
{
	if (error)
		dma_fence_set_error(fence, error);
	dma_fence_signal(fence);
}
