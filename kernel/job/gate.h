/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Gates: what jobs wait for that is others', in a way that can be given up.
 */
#ifndef NPUMEM_GATE_H
#define NPUMEM_GATE_H

#include <linux/atomic.h>
#include <linux/dma-fence.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/workqueue.h>

struct npu_gate;
struct npu_run;

/**
 * struct npu_gate_wait - one fence that a gate waits for
 * @gate: whose
 * @fence: referenced
 * @callback: on it
 */
struct npu_gate_wait {
	struct npu_gate *gate;
	struct dma_fence *fence;
	struct dma_fence_cb callback;
};

/**
 * struct npu_gate - the fences of others that the first job of a SUBMIT waits for
 * @ref: whoever opens it holds one, and whoever cancels it
 * @run: whose SUBMIT; as long as the gate is closed
 * @node: in &npu_run.gates until it is open or cancelled, under its lock
 * @fence: signalled when it is open; what the job depends on. Referenced
 * @open: opens it
 * @pending: fences that have not signalled; one more until it is armed
 * @capacity: of @waits
 * @count: of @waits, those that are used
 * @waits: what it waits for
 */
struct npu_gate {
	struct kref ref;
	struct npu_run *run;
	struct list_head node;
	struct dma_fence *fence;
	struct work_struct open;
	atomic_t pending;
	u32 capacity;
	u32 count;
	struct npu_gate_wait waits[] __counted_by(capacity);
};

int npumem_gates_init(void);
/* When no run is left. */
void npumem_gates_exit(void);

/* Closed, with room for so many fences. NULL: no memory. */
struct npu_gate *npumem_gate_create(struct npu_run *run, u32 capacity);
/* Takes over the fence's reference. Before npumem_gate_arm() only. */
void npumem_gate_add(struct npu_gate *gate, struct dma_fence *fence);
/* The gate opens by itself from now on, and is not the caller's any more. Any context. */
void npumem_gate_arm(struct npu_gate *gate);
/* One that was never armed; or NULL. */
void npumem_gate_free(struct npu_gate *gate);

/*
 * All of a run's gates open soon, whatever they wait for: its jobs are not to be run, or
 * no engine is left that would. Any context.
 */
void npumem_gates_cancel(struct npu_run *run);

#endif /* NPUMEM_GATE_H */
