// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: engines in a process
 *
 * A slot is an engine of the device like any other: it has a queue, turns, fences. What its
 * jobs are to do a process computes that has attached to it (attach.c): privately, then it
 * serves the runs of its own open file, which needs no privilege; or for everybody, which
 * does. One work item a slot executes the job in flight, step by step: it copies the tiles to
 * the process's window, waits for the commit, and copies what was written back (task.c).
 * Transfers it carries out itself.
 *
 * Trust. A process may be hostile. It sees and changes copies of those tiles that the
 * verified step accesses, and says "done" or "not done". It has no part in the copies: they are
 * made by the work, never in a call of its own, so whoever stops it, or gives it no time,
 * stops nothing that fences wait for. What it has promised it may break: then the job in
 * flight fails, and its run is lost.
 *
 * Fences. Whoever waits for a job's fence waits for a process here, which may itself need
 * memory whose reclaim waits for the fence. So there are limits, and it is the driver that
 * keeps them: a job that takes longer than NPUMEM_ENGINE_JOB_MS fails, and so does
 * one of an engine that gives no sign of life for its own limit, which is no longer. An engine
 * that computes what has failed already gets that long to come back, so that one client's
 * endless job is not the next one's failure; if it does not it is detached, and what is queued
 * for it fails at once. Windows, and all else, are there from the attachment on: nothing is
 * allocated on the way.
 */
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "job/engine.h"
#include "job/fault.h"
#include "job/range.h"
#include "process.h"

/* How often it is looked at whether a job's client is still there. */
#define LOOK_JIFFIES max(HZ / 10, 1)

static unsigned int process_engines = 1;
module_param(process_engines, uint, 0444);
MODULE_PARM_DESC(process_engines,
		 "slots of each device that engines in a process attach to (default: 1)");

static void slot_free(struct kref *ref)
{
	kfree(container_of(ref, struct npu_slot, ref));
}

void npumem_slot_put(struct npu_slot *slot)
{
	kref_put(&slot->ref, slot_free);
}

/* ----------------------------------------------------------------------- tasks */

/* The task is over without a commit: whoever has it has it in vain. Under slot->lock. */
static void task_void(struct npu_attachment *att)
{
	att->away = att->away || att->state == NPUMEM_TASK_FETCHED;
	att->state = NPUMEM_TASK_NONE;
}

static unsigned long limit_at(unsigned long since, u32 ms)
{
	return since + msecs_to_jiffies(ms);
}

/* How a task stands: 1 committed, 0 not yet, else why it has failed. Under slot->lock. */
static int task_look(const struct npu_attachment *att, const struct npu_run *run)
{
	if (att->state == NPUMEM_TASK_COMMITTED)
		return att->status ? -EIO : 1;
	if (!npumem_attachment_attached(att))
		return -ENODEV;
	if (npumem_run_error(run))
		return -ECANCELED;
	if (time_after(jiffies, att->slot->deadline) ||
	    time_after(jiffies, limit_at(att->alive_at, att->hang_ms)))
		return -ETIMEDOUT;
	return 0;
}

static int task_poll(struct npu_slot *slot, struct npu_attachment *att, const struct npu_run *run)
{
	int state;

	spin_lock(&slot->lock);
	state = task_look(att, run);
	if (state)
		task_void(att);
	spin_unlock(&slot->lock);
	return state;
}

/* Hand out the task that has been prepared, and wait for what becomes of it. */
static int task_execute(struct npu_slot *slot, struct npu_attachment *att, struct npu_job *job)
{
	static atomic64_t last_task = ATOMIC64_INIT(0);
	int state;

	spin_lock(&slot->lock);
	att->next.task = atomic64_inc_return(&last_task);
	att->alive_at = jiffies;
	att->state = NPUMEM_TASK_READY;
	spin_unlock(&slot->lock);
	wake_up_all(&att->wait);
	do {
		wait_event_idle_timeout(slot->wait, (state = task_poll(slot, att, job->run)),
					LOOK_JIFFIES);
	} while (!state);
	return state < 0 ? state : 0;
}

static int step_execute(struct npu_slot *slot, struct npu_attachment *att, struct npu_job *job,
			u32 position, struct npumem_verdict *verdict)
{
	int err = npumem_task_begin(att, job, position);

	if (!err)
		err = task_execute(slot, att, job);
	return err ?: npumem_task_end(att, job, position, verdict);
}

/* ------------------------------------------------------------------------ jobs */

/* An engine that still has a failed task in its hands would write into the next one's. */
static bool attachment_back(struct npu_slot *slot, struct npu_attachment *att,
			    const struct npu_run *run)
{
	bool back;

	spin_lock(&slot->lock);
	back = !att->away || !npumem_attachment_attached(att) || npumem_run_error(run);
	spin_unlock(&slot->lock);
	return back;
}

static int attachment_wait(struct npu_slot *slot, struct npu_attachment *att,
			   const struct npu_run *run)
{
	unsigned long deadline = limit_at(jiffies, NPUMEM_ENGINE_JOB_MS);

	while (!attachment_back(slot, att, run)) {
		if (time_after(jiffies, deadline)) {
			npumem_attachment_detach(att);
			return -ENODEV;
		}
		wait_event_idle_timeout(slot->wait, attachment_back(slot, att, run), LOOK_JIFFIES);
	}
	return npumem_run_error(run) ? -ECANCELED : 0;
}

static int slot_execute(struct npu_slot *slot, struct npu_attachment *att, struct npu_job *job,
			struct npumem_verdict *verdict)
{
	u32 p;
	int err = attachment_wait(slot, att, job->run);

	slot->deadline = limit_at(jiffies, NPUMEM_ENGINE_JOB_MS);
	for (p = 0; !err && p < job->count; p++) {
		switch (npumem_job_position(job, p)->kind) {
		case NPUMEM_POSITION_STEP:
			err = step_execute(slot, att, job, p, verdict);
			break;
		case NPUMEM_POSITION_DROP:
			break;
		default:
			err = npumem_task_transfer(job, p);
		}
	}
	return err;
}

static void slot_work(struct work_struct *work)
{
	struct npu_slot *slot = container_of(work, struct npu_slot, work);
	bool cookie = dma_fence_begin_signalling();
	struct npu_job *job = slot->job;
	struct npu_attachment *att = npumem_attachment_get(slot, job->tag);
	struct npumem_verdict verdict = {};
	int err = -ENODEV;

	if (att) {
		err = slot_execute(slot, att, job, &verdict);
		npumem_attachment_put(att);
	}
	/* The next job may be started before npumem_job_done_as() is back. */
	WRITE_ONCE(slot->job, NULL);
	npumem_job_done_as(job, err, &verdict);
	dma_fence_end_signalling(cookie);
}

/* ------------------------------------------------------------------ engine ops */

static int check_sizes(const struct npu_job *job, u64 max, u32 *ticks)
{
	u64 size;
	u32 p;
	int err;

	for (p = 0; p < job->count; p++) {
		if (npuv_tick(ticks, 1))
			return -EINTR;
		if (npumem_job_position(job, p)->kind != NPUMEM_POSITION_STEP)
			continue;
		err = npumem_task_size(job, p, max, ticks, &size);
		if (err)
			return err;
		if (size > max)
			return -EMSGSIZE;
	}
	return 0;
}

/* Which process the job is for is decided here: another one takes other commands. */
static int slot_check(struct npu_engine *engine, struct npu_job *job, u32 *ticks)
{
	struct npu_slot *slot = engine->priv;
	struct npu_attachment *att;
	u64 size = 0;

	spin_lock(&slot->lock);
	att = npumem_attachment_for(slot, job->run->file);
	if (att) {
		job->tag = att->id;
		size = att->size;
	}
	spin_unlock(&slot->lock);
	return job->tag ? check_sizes(job, size, ticks) : -EUNATCH;
}

static void slot_start(struct npu_engine *engine, struct npu_job *job)
{
	struct npu_slot *slot = engine->priv;

	WRITE_ONCE(slot->job, job);
	queue_work(slot->wq, &slot->work);
}

/* The work keeps the limits itself. */
static bool slot_late(struct npu_engine *engine)
{
	return false;
}

static void slot_drain(struct npu_engine *engine)
{
	struct npu_slot *slot = engine->priv;

	flush_work(&slot->work);
}

static void slot_stop(struct npu_engine *engine)
{
	struct npu_slot *slot = engine->priv;

	spin_lock(&slot->lock);
	slot->gone = true;
	spin_unlock(&slot->lock);
	npumem_attachments_detach(slot, NULL);
	flush_work(&slot->work);
}

static void slot_describe(struct npu_engine *engine, const struct npu_file *file,
			  struct drm_npumem_engine *description)
{
	struct npu_slot *slot = engine->priv;
	struct npu_attachment *att;

	spin_lock(&slot->lock);
	att = npumem_attachment_for(slot, file);
	if (att) {
		description->flags |= NPUMEM_ENGINE_ATTACHED;
		description->version = att->version;
		strscpy(description->name, att->name, sizeof(description->name));
	}
	spin_unlock(&slot->lock);
}

static int slot_init(struct npu_engine *engine)
{
	struct npu_slot *slot = kzalloc(sizeof(*slot), GFP_KERNEL);

	if (!slot)
		return -ENOMEM;
	/* Others wait for its fences, memory reclaim included. */
	slot->wq = alloc_ordered_workqueue("npumem-process", WQ_MEM_RECLAIM);
	if (!slot->wq) {
		kfree(slot);
		return -ENOMEM;
	}
	kref_init(&slot->ref);
	INIT_WORK(&slot->work, slot_work);
	init_waitqueue_head(&slot->wait);
	spin_lock_init(&slot->lock);
	INIT_LIST_HEAD(&slot->attachments);
	engine->priv = slot;
	return 0;
}

static void slot_fini(struct npu_engine *engine)
{
	struct npu_slot *slot = engine->priv;

	/* If probe failed it was never stopped. */
	destroy_workqueue(slot->wq);
	npumem_slot_put(slot);
}

static const struct npu_engine_ops slot_ops = {
	.init = slot_init,
	.fini = slot_fini,
	.check = slot_check,
	.start = slot_start,
	.late = slot_late,
	.drain = slot_drain,
	.stop = slot_stop,
	.describe = slot_describe,
};

static const struct npu_engine_desc slot_desc = {
	.name = "process",
	.owner = THIS_MODULE,
	.ops = &slot_ops,
	.flags = NPUMEM_ENGINE_TRANSFERS | NPUMEM_ENGINE_PROCESS,
};

struct npu_slot *npumem_slot_of(const struct npu_engine *engine)
{
	return engine->flags & NPUMEM_ENGINE_PROCESS ? engine->priv : NULL;
}

int npumem_slots_add(struct npu_device *dev)
{
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < process_engines; i++)
		err = npumem_engine_add(dev, &slot_desc);
	return err;
}
