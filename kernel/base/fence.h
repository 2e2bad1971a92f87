/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The driver's own fences.
 */
#ifndef NPUMEM_FENCE_H
#define NPUMEM_FENCE_H

#include <linux/dma-fence.h>

/*
 * A new, unsignalled fence, or NULL. Its lock is its own and nothing of it is
 * in the module once it has signalled, so it may outlive both device and module.
 * Whoever makes one must signal it before the module goes.
 */
struct dma_fence *npumem_fence_create(u64 context, u64 seqno);

/*
 * The same in two steps, for who may only know in which order fences will signal
 * when nothing may fail any more. One that was not initialised is freed, not put.
 */
struct dma_fence *npumem_fence_alloc(void);
void npumem_fence_init(struct dma_fence *fence, u64 context, u64 seqno);
void npumem_fence_free(struct dma_fence *fence); /* or NULL */

/*
 * Wait for anybody's fence: 0 or -EINTR, which only a fatal signal is the cause of, as
 * dma_fence_wait() cannot.
 */
int npumem_fence_wait_killable(struct dma_fence *fence);

/* Signal a fence of npumem_fence_create(), with an error (negative) or 0. */
void npumem_fence_signal(struct dma_fence *fence, int error);

#endif /* NPUMEM_FENCE_H */
