/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Gates: by them jobs wait for the fences of others in a way that can be given up.
 */
#ifndef NPUMEM_GATE_H
#define NPUMEM_GATE_H

#include <linux/atomic.h>
#include <linux/dma-fence.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>

struct npu_gate;
struct npu_run;

/**
 * struct npu_gate_wait - one fence that a gate waits for
 * @gate: gate that it belongs to
 * @fence: the fence; referenced
 * @callback: called when @fence signals
 */
struct npu_gate_wait {
	struct npu_gate *gate;
	struct dma_fence *fence;
	struct dma_fence_cb callback;
};

/**
 * struct npu_gate - the fences of others that the first job of a SUBMIT waits for
 * @ref: held by the work that opens it, and by who cancels it
 * @rcu: frees it, since an engine may fail a run in a context that must not sleep
 * @run: run of the SUBMIT; valid as long as the gate is closed
 * @node: in &npu_run.gates until it is open or cancelled, under its lock
 * @fence: signalled when it is open; what the job depends on. Referenced
 * @open: work that opens it
 * @pending: number of fences that have not signalled; one more until it is armed
 * @charged: number of fences that the run's client is charged for, until it is open
 * @capacity: number of @waits that there is room for
 * @count: number of @waits that are used
 * @waits: the fences that it waits for
 */
struct npu_gate {
	struct kref ref;
	struct rcu_head rcu;
	struct npu_run *run;
	struct list_head node;
	struct dma_fence *fence;
	struct work_struct open;
	atomic_t pending;
	u32 charged;
	u32 capacity;
	u32 count;
	struct npu_gate_wait waits[] __counted_by(capacity);
};

int npumem_gates_init(void);
/* At module exit, when no run is left. */
void npumem_gates_exit(void);

/*
 * Make a closed gate with room for @capacity fences. ERR_PTR: -ENOMEM; -EBUSY: that is more than
 * the client's share has left.
 */
struct npu_gate *npumem_gate_create(struct npu_run *run, u32 capacity);
/* Add a fence, whose reference the gate takes over. Only before npumem_gate_arm(). */
void npumem_gate_add(struct npu_gate *gate, struct dma_fence *fence);
/* Let the gate open by itself. The caller does not own it any more. Any context. */
void npumem_gate_arm(struct npu_gate *gate);
/* Free a gate that was never armed; or NULL. */
void npumem_gate_free(struct npu_gate *gate);

/*
 * Let all gates of a run open soon, whatever they wait for, because its jobs are not to be
 * run or no engine is left to run them. Any context.
 */
void npumem_gates_cancel(struct npu_run *run);

#endif /* NPUMEM_GATE_H */
