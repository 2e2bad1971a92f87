// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: faults
 *
 * A client that breaks the rules gets an errno and a verdict. The machine's administrator
 * finds the same among the device's last faults (debugfs), as a tracepoint, and, unless
 * the user makes too many, as a netlink event. The last RECENT faults are kept; the user
 * that has most of them makes room for the next one, so that nobody's faults are lost in
 * the many of another. Nothing goes to the kernel log above debug level, which any client
 * could fill.
 *
 * A refusal happens in its caller's context and its event is sent from there. A
 * job fails in whatever context its engine reports it, so that event is sent by
 * a work item.
 */
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "base/client.h"
#include "fault.h"
#include "run.h"
#include "base/trace.h"
#include "base/work.h"
#include "upcall/upcall.h"

#define RECENT	 64
/* Bytes of a text, with its NUL: a step and two tensors, with names. */
#define MAX_TEXT 224

/**
 * struct fault - one fault
 * @number: counts from 1 on, since probe; 0 if the entry is free
 * @uid: user whose run it is
 * @pending: a job failed, and the event is not sent yet
 * @time: CLOCK_MONOTONIC nanoseconds
 * @run: number of the run
 * @pid: process whose call was refused, or zero for a job that failed
 * @error: negative errno
 * @verdict: rule, position, step, tile
 * @text: names of step and tensors of a job that failed, or empty. Its run may be gone
 */
struct fault {
	u64 number;
	u64 time;
	u64 run;
	kuid_t uid;
	pid_t pid;
	bool pending;
	int error;
	struct npumem_verdict verdict;
	char text[MAX_TEXT];
};

/**
 * struct npu_faults - last faults of a device
 * @dev: device that they belong to
 * @lock: guards the following; taken in any context
 * @count: faults since probe
 * @recent: the last ones, in no order
 * @work: sends events of failed jobs
 */
struct npu_faults {
	struct npu_device *dev;
	spinlock_t lock;
	u64 count;
	struct fault recent[RECENT];
	struct work_struct work;
};

void npumem_verdict_init(struct npumem_verdict *verdict, u32 rule)
{
	npuv_verdict_clear(verdict);
	verdict->rule = rule;
}

/* How many of the entries belong to a user. */
static u32 fault_share(const struct npu_faults *faults, kuid_t uid)
{
	u32 i, n = 0;

	for (i = 0; i < RECENT; i++)
		n += faults->recent[i].number && uid_eq(faults->recent[i].uid, uid);
	return n;
}

/*
 * The entry for the next fault of a user: a free one, else the oldest one of the user that
 * has most entries, the new one counted.
 */
static struct fault *fault_room(struct npu_faults *faults, kuid_t uid)
{
	struct fault *fault, *room = NULL;
	u32 i, share, most = 0;

	for (i = 0; i < RECENT; i++) {
		fault = &faults->recent[i];
		if (!fault->number)
			return fault;
		share = fault_share(faults, fault->uid) + uid_eq(fault->uid, uid);
		if (share > most || (share == most && fault->number < room->number)) {
			most = share;
			room = fault;
		}
	}
	return room;
}

/* Record a fault. @pid is zero for a job that failed; @pending: a work is to send the event. */
static void fault_record(const struct npu_run *run, pid_t pid, bool pending, int error,
			 const struct npumem_verdict *verdict)
{
	struct npu_faults *faults = run->dev->faults;
	struct fault fault = {
		.time = ktime_get_ns(),
		.run = run->id,
		.uid = npumem_client_uid(run->client),
		.pid = pid,
		.pending = pending,
		.error = error,
		.verdict = *verdict,
	};
	unsigned long flags;

	if (!pid)
		npuv_verdict_text(npumem_plan_graph(run->plan)->v, verdict, fault.text,
				  sizeof(fault.text));

	trace_npumem_fault(run->id, error, verdict);
	spin_lock_irqsave(&faults->lock, flags);
	fault.number = ++faults->count;
	*fault_room(faults, fault.uid) = fault;
	spin_unlock_irqrestore(&faults->lock, flags);
}

/* The first fault after a number, or the first pending one; NULL if there is none. */
static struct fault *fault_first(struct npu_faults *faults, u64 number, bool pending)
{
	struct fault *fault, *found = NULL;
	u32 i;

	lockdep_assert_held(&faults->lock);
	for (i = 0; i < RECENT; i++) {
		fault = &faults->recent[i];
		if (fault->number > number && (fault->pending || !pending) &&
		    (!found || fault->number < found->number))
			found = fault;
	}
	return found;
}

/* Take the next failure whose event is not sent. One that was pushed out of @recent is lost. */
static bool fault_next(struct npu_faults *faults, struct fault *fault)
{
	struct fault *found;

	spin_lock_irq(&faults->lock);
	found = fault_first(faults, 0, true);
	if (found) {
		found->pending = false;
		*fault = *found;
	}
	spin_unlock_irq(&faults->lock);
	return found;
}

static void fault_work(struct work_struct *work)
{
	struct npu_faults *faults = container_of(work, struct npu_faults, work);
	struct fault fault;

	while (fault_next(faults, &fault))
		npumem_upcall_event_fault(faults->dev, fault.run, fault.pid, fault.text, NULL,
					  &fault.verdict);
}

int npumem_faults_init(struct npu_device *dev)
{
	struct npu_faults *faults = drmm_kzalloc(&dev->drm, sizeof(*faults), GFP_KERNEL);

	if (!faults)
		return -ENOMEM;
	faults->dev = dev;
	spin_lock_init(&faults->lock);
	INIT_WORK(&faults->work, fault_work);
	dev->faults = faults;
	return 0;
}

/* Engines are stopped and files cannot submit, so this sends the last events there are. */
void npumem_faults_unplug(struct npu_device *dev)
{
	disable_work_sync(&dev->faults->work);
}

void npumem_fault_refused(const struct npu_run *run, int error,
			  const struct npumem_verdict *verdict)
{
	struct npu_device *dev = run->dev;
	pid_t pid = task_tgid_nr(current);

	drm_dbg(&dev->drm, "run %llu: rule %u refuses step %d, tile %d: %d\n", run->id,
		verdict->rule, verdict->step, verdict->tile, error);
	fault_record(run, pid, false, error, verdict);
	if (npumem_client_may_tell(run->client))
		npumem_upcall_event_fault(dev, run->id, pid, NULL, npumem_plan_graph(run->plan)->v,
					  verdict);
}

void npumem_fault_failed(const struct npu_run *run, int error, const struct npumem_verdict *verdict)
{
	fault_record(run, 0, npumem_client_may_tell(run->client), error, verdict);
	queue_work(npumem_wq, &run->dev->faults->work);
}

void npumem_faults_show(struct npu_device *dev, struct seq_file *m)
{
	struct npu_faults *faults = dev->faults;
	struct fault fault = {}, *found;
	u64 count;

	spin_lock_irq(&faults->lock);
	count = faults->count;
	spin_unlock_irq(&faults->lock);

	seq_printf(m, "%llu faults\n", count);
	for (;;) {
		spin_lock_irq(&faults->lock);
		found = fault_first(faults, fault.number, false);
		if (found)
			fault = *found;
		spin_unlock_irq(&faults->lock);
		/* Show none that came after we began. */
		if (!found || fault.number > count)
			return;
		seq_printf(
			m,
			"time=%llu run=%llu pid=%d error=%d rule=%u position=%d step=%d tile=%d tensor=%d other_step=%d other_tile=%d other_tensor=%d\n",
			fault.time, fault.run, fault.pid, fault.error, fault.verdict.rule,
			fault.verdict.position, fault.verdict.step, fault.verdict.tile,
			fault.verdict.tensor, fault.verdict.other_step, fault.verdict.other_tile,
			fault.verdict.other_tensor);
	}
}
