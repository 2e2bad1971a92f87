// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: gates
 *
 * A job may have to wait for fences that are not its own run's: those of other drivers and
 * of other clients' runs, which come with syncobjs and with buffers. The scheduler ends
 * such a wait when the fence signals and not before, so a client that dies would keep
 * its arena, and its place in the queue, for as long as some other driver likes.
 *
 * So the scheduler is given a fence of this driver to wait for: a gate. It opens when all
 * fences that it stands for have signalled. It is cancelled when the run has failed or its
 * file is closed: then the job ends without having touched a byte, so that nobody's data
 * depend on whether it waited. The gate need not see to it that a run's fences signal in
 * their order: jobs also depend on the run's job before them, and that is not given up.
 *
 * Locks. Callbacks are called under the lock of the fence they are on, which may be one of
 * this driver's own. So they signal nothing, but leave it to a work item.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "base/client.h"
#include "base/fence.h"
#include "gate.h"
#include "run.h"

/* Fences wait for the work on it, so memory reclaim may wait for it, too. */
static struct workqueue_struct *gate_wq;

int npumem_gates_init(void)
{
	gate_wq = alloc_workqueue("npumem-gate", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return gate_wq ? 0 : -ENOMEM;
}

void npumem_gates_exit(void)
{
	destroy_workqueue(gate_wq);
}

/* The run is still there. */
static void gate_uncharge(struct npu_gate *gate)
{
	if (gate->charged)
		npumem_client_uncharge(gate->run->client, NPUMEM_RESOURCE_WAITS, gate->charged);
	gate->charged = 0;
}

void npumem_gate_free(struct npu_gate *gate)
{
	u32 i;

	if (!gate)
		return;
	gate_uncharge(gate);
	for (i = 0; i < gate->count; i++)
		dma_fence_put(gate->waits[i].fence);
	dma_fence_put(gate->fence);
	kvfree_rcu(gate, rcu);
}

static void gate_release(struct kref *ref)
{
	npumem_gate_free(container_of(ref, struct npu_gate, ref));
}

static void gate_open(struct work_struct *work)
{
	struct npu_gate *gate = container_of(work, struct npu_gate, open);
	bool cookie = dma_fence_begin_signalling();
	unsigned long flags;

	spin_lock_irqsave(&gate->run->gates_lock, flags);
	list_del_init(&gate->node);
	spin_unlock_irqrestore(&gate->run->gates_lock, flags);
	gate_uncharge(gate);
	/* The job, and the run with it, may be gone when npumem_fence_signal() returns. */
	npumem_fence_signal(gate->fence, 0);
	dma_fence_end_signalling(cookie);
	kref_put(&gate->ref, gate_release);
}

static void gate_settle(struct npu_gate *gate)
{
	if (atomic_dec_and_test(&gate->pending))
		queue_work(gate_wq, &gate->open);
}

static void gate_signalled(struct dma_fence *fence, struct dma_fence_cb *callback)
{
	gate_settle(container_of(callback, struct npu_gate_wait, callback)->gate);
}

struct npu_gate *npumem_gate_create(struct npu_run *run, u32 capacity)
{
	struct npu_gate *gate;
	int err;

	/* Before there is memory for it. */
	err = npumem_client_charge(run->client, NPUMEM_RESOURCE_WAITS, capacity);
	if (err)
		return ERR_PTR(err);
	gate = kvzalloc(struct_size(gate, waits, capacity), GFP_KERNEL_ACCOUNT);
	if (!gate) {
		npumem_client_uncharge(run->client, NPUMEM_RESOURCE_WAITS, capacity);
		return ERR_PTR(-ENOMEM);
	}
	gate->run = run;
	gate->charged = capacity;
	gate->capacity = capacity;
	/*
	 * Gates have a fence context of their own; a job depends on one gate, so all are
	 * number 1.
	 */
	gate->fence = npumem_fence_create(run->gate_context, 1);
	if (!gate->fence) {
		npumem_gate_free(gate);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&gate->ref);
	INIT_LIST_HEAD(&gate->node);
	INIT_WORK(&gate->open, gate_open);
	atomic_set(&gate->pending, 1);
	return gate;
}

void npumem_gate_add(struct npu_gate *gate, struct dma_fence *fence)
{
	struct npu_gate_wait *wait = &gate->waits[gate->count++];

	wait->gate = gate;
	wait->fence = fence;
	INIT_LIST_HEAD(&wait->callback.node);
}

void npumem_gate_arm(struct npu_gate *gate)
{
	struct npu_run *run = gate->run;
	unsigned long flags;
	u32 i;

	for (i = 0; i < gate->count; i++) {
		atomic_inc(&gate->pending);
		if (dma_fence_add_callback(gate->waits[i].fence, &gate->waits[i].callback,
					   gate_signalled))
			atomic_dec(&gate->pending);
	}
	spin_lock_irqsave(&run->gates_lock, flags);
	list_add_tail(&gate->node, &run->gates);
	spin_unlock_irqrestore(&run->gates_lock, flags);
	/* The job is not pushed yet, so the run is still there. */
	gate_settle(gate);
	/* The run may have failed before the gate was in its list. */
	if (npumem_run_error(run))
		npumem_gates_cancel(run);
}

static struct npu_gate *gates_take(struct npu_run *run)
{
	struct npu_gate *gate;
	unsigned long flags;

	spin_lock_irqsave(&run->gates_lock, flags);
	gate = list_first_entry_or_null(&run->gates, struct npu_gate, node);
	if (gate) {
		list_del_init(&gate->node);
		kref_get(&gate->ref);
	}
	spin_unlock_irqrestore(&run->gates_lock, flags);
	return gate;
}

void npumem_gates_cancel(struct npu_run *run)
{
	struct npu_gate *gate;
	u32 i;

	while ((gate = gates_take(run))) {
		for (i = 0; i < gate->count; i++)
			if (dma_fence_remove_callback(gate->waits[i].fence,
						      &gate->waits[i].callback))
				gate_settle(gate);
		kref_put(&gate->ref, gate_release);
	}
}
