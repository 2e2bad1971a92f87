/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The driver's own fences.
 */
#ifndef NPUMEM_FENCE_H
#define NPUMEM_FENCE_H

#include <linux/dma-fence.h>

/*
 * A new, unsignalled fence, or NULL. It has a lock of its own and refers to nothing of the
 * module once it has signalled, so it may outlive both device and module. The caller must
 * signal it before the module goes.
 */
struct dma_fence *npumem_fence_create(u64 context, u64 seqno);

/*
 * The same in two steps, for a caller that knows in which order its fences will signal only
 * when it may not fail any more. A fence that was not initialised is freed, not put.
 */
struct dma_fence *npumem_fence_alloc(void);
void npumem_fence_init(struct dma_fence *fence, u64 context, u64 seqno);
void npumem_fence_free(struct dma_fence *fence); /* or NULL */

/*
 * Wait for a fence, whoever made it. 0; -EINTR: a fatal signal came. Other signals do not
 * end the wait, as they would dma_fence_wait()'s.
 */
int npumem_fence_wait_killable(struct dma_fence *fence);

/* Signal a fence of npumem_fence_create(), with an error (negative) or 0. */
void npumem_fence_signal(struct dma_fence *fence, int error);

#endif /* NPUMEM_FENCE_H */
