/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Engines in a process: slots, which are engines of the device, and the processes that are
 * attached to them. slot.c executes jobs, attach.c has the life of an attachment, task.c the
 * window, fd.c the descriptor.
 */
#ifndef NPUMEM_PROCESS_H
#define NPUMEM_PROCESS_H

#include <linux/iosys-map.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "base/engine.h"
#include "memory/bo.h"
#include "npumem_engine.h"

struct npu_job;

/**
 * struct npu_slot - an engine of the device that processes attach to
 * @ref: the engine and each attachment hold one
 * @wq: executes @work
 * @work: executes @job
 * @job: in flight, one at a time
 * @deadline: jiffies, when it has failed. The work's
 * @wait: the work waits here for what engines do
 * @lock: guards what follows, and the tasks of the attachments. A spin lock: who holds it is
 *	neither preempted nor asleep, however little time a process is given
 * @gone: the device is going: all jobs are to end now, nobody attaches any more
 * @attachments: of struct npu_attachment: one that is shared at most, and one for each file
 */
struct npu_slot {
	struct kref ref;
	struct workqueue_struct *wq;
	struct work_struct work;
	struct npu_job *job;
	unsigned long deadline;
	wait_queue_head_t wait;
	spinlock_t lock;
	bool gone;
	struct list_head attachments;
};

/**
 * enum npu_task_state - whose turn it is
 * @NPUMEM_TASK_NONE: no task, or the driver prepares it
 * @NPUMEM_TASK_READY: to be fetched
 * @NPUMEM_TASK_FETCHED: in the engine's hands
 * @NPUMEM_TASK_COMMITTED: the driver's again
 */
enum npu_task_state {
	NPUMEM_TASK_NONE,
	NPUMEM_TASK_READY,
	NPUMEM_TASK_FETCHED,
	NPUMEM_TASK_COMMITTED,
};

/**
 * struct npu_attachment - a process attached to a slot
 * @ref: the slot's list, the descriptor and the job in flight hold one each
 * @node: in &npu_slot.attachments; empty once it is detached
 * @slot: referenced
 * @dev: whose slot it is; referenced
 * @file: whose runs it serves, to know it by; NULL: all files'
 * @id: unique while the module is loaded, never zero; &npu_job.tag of its jobs
 * @name: kind of engine: the format of its commands
 * @version: of that format
 * @hang_ms: time without a sign of life after which a task has failed
 * @client: who is charged for it; referenced
 * @window: system BO, &npu_bo.host of which is set; referenced
 * @map: kernel mapping of all of @window
 * @size: bytes of it
 * @dirty: bytes, from the first on, that tasks of @last_run have taken. The work's
 * @last_run: &npu_run.id of the last task
 * @wait: the process waits here for tasks
 * @state: of the task
 * @away: the engine still has a task in its hands that has failed
 * @alive_at: jiffies of the last sign of life
 * @next: the task, as it is fetched
 * @status: it was committed with
 * @release: drops what is left where that may sleep
 */
struct npu_attachment {
	struct kref ref;
	struct list_head node;
	struct npu_slot *slot;
	struct npu_device *dev;
	const struct npu_file *file;
	u64 id;
	char name[32];
	u32 version;
	u32 hang_ms;
	struct npu_client *client;
	struct npu_bo *window;
	struct iosys_map map;
	u64 size;
	u64 dirty;
	u64 last_run;
	wait_queue_head_t wait;
	enum npu_task_state state;
	bool away;
	unsigned long alive_at;
	struct npumem_engine_next next;
	u32 status;
	struct work_struct release;
};

/* slot.c */

/* Slots for a device that is probed, as many as the module's parameter says. */
int npumem_slots_add(struct npu_device *dev);
/* That of an engine, or NULL if it is none. */
struct npu_slot *npumem_slot_of(const struct npu_engine *engine);
void npumem_slot_put(struct npu_slot *slot);

/* attach.c */

/* That serves a file's runs, or NULL: its own before the shared one. Under slot->lock. */
struct npu_attachment *npumem_attachment_for(struct npu_slot *slot, const struct npu_file *file);
/* That of &npu_job.tag, referenced; NULL if it is detached. */
struct npu_attachment *npumem_attachment_get(struct npu_slot *slot, u64 id);
void npumem_attachment_put(struct npu_attachment *att); /* any context */
/* No task any more, whoever holds it; may be called again. */
void npumem_attachment_detach(struct npu_attachment *att);
/* A slot's are detached, all of them or those that serve only that file. */
void npumem_attachments_detach(struct npu_slot *slot, const struct npu_file *file);
/* A file is being closed: nobody needs the engines that serve only its runs. */
void npumem_process_release_file(struct npu_file *file);
int npumem_ioctl_engine_attach(struct drm_device *drm, void *data, struct drm_file *file);
static inline bool npumem_attachment_attached(const struct npu_attachment *att)
{
	return !list_empty(&att->node);
}

/* task.c */

/*
 * Positions are numbers within the job.
 *
 * Bytes of the window that the task of a step takes; more than max: some number that is.
 * -EINTR: npuv_tick(), see there, said so.
 */
int npumem_task_size(const struct npu_job *job, u32 position, u64 max, u32 *ticks, u64 *size);
/*
 * Fill in the task of a step, in &npu_attachment.next and the window, and copy what the step
 * reads; copy what it writes from there, unless the engine has written beside that (-EPROTO, and
 * a verdict that says where). Only while no engine has the task. -ENODEV, -ECANCELED: the device,
 * or the job's client, is gone; -ETIMEDOUT: so is the job's time. Without memory or locks that
 * sleep.
 */
int npumem_task_begin(struct npu_attachment *att, struct npu_job *job, u32 position);
int npumem_task_end(struct npu_attachment *att, struct npu_job *job, u32 position,
		    struct npumem_verdict *verdict);
/* A load, spill, store or fill. */
int npumem_task_transfer(struct npu_job *job, u32 position);

/* fd.c */

/* A file that takes over a reference if it is made. */
struct file *npumem_attachment_file(struct npu_attachment *att);

#endif /* NPUMEM_PROCESS_H */
