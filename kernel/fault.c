// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: faults
 *
 * A client that breaks the rules gets an errno and a verdict; whoever runs the
 * machine finds the same here: in a ring of the device's last faults (debugfs), as
 * a tracepoint, and as a netlink event. Nothing goes to the kernel log above
 * debug level, which any client could fill.
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

#include "fault.h"
#include "trace.h"
#include "upcall.h"

#define RING 64

/**
 * struct fault - one fault
 * @time: CLOCK_MONOTONIC nanoseconds
 * @run: number of the run
 * @pid: whose call was refused, or zero for a job that failed
 * @error: negative errno
 * @verdict: rule, position, step, tile
 */
struct fault {
	u64 time;
	u64 run;
	pid_t pid;
	int error;
	struct npumem_verdict verdict;
};

/**
 * struct npumem_faults - last faults of a device
 * @dev: whose they are
 * @lock: guards the following; taken in any context
 * @count: faults since probe; fault n is ring[n % RING]
 * @sent: failures up to here have been sent as events
 * @ring: the last ones
 * @work: sends events of failed jobs
 */
struct npumem_faults {
	struct npumem_device *dev;
	spinlock_t lock;
	u64 count;
	u64 sent;
	struct fault ring[RING];
	struct work_struct work;
};

void npumem_verdict_init(struct npumem_verdict *verdict, u32 rule)
{
	*verdict = (struct npumem_verdict){
		.rule = rule,
		.position = NPUMEM_NONE,
		.step = NPUMEM_NONE,
		.tile = NPUMEM_NONE,
		.tensor = NPUMEM_NONE,
		.other_step = NPUMEM_NONE,
		.other_tile = NPUMEM_NONE,
		.other_tensor = NPUMEM_NONE,
	};
}

static void fault_record(struct npumem_faults *faults, const struct fault *fault)
{
	unsigned long flags;

	trace_npumem_fault(fault->run, fault->error, &fault->verdict);
	spin_lock_irqsave(&faults->lock, flags);
	faults->ring[faults->count++ % RING] = *fault;
	spin_unlock_irqrestore(&faults->lock, flags);
}

/* The next failure not sent yet; what the ring has lost is not sent. */
static bool fault_next(struct npumem_faults *faults, struct fault *fault)
{
	bool found = false;

	spin_lock_irq(&faults->lock);
	if (faults->count - faults->sent > RING)
		faults->sent = faults->count - RING;
	while (!found && faults->sent < faults->count) {
		*fault = faults->ring[faults->sent++ % RING];
		found = !fault->pid;
	}
	spin_unlock_irq(&faults->lock);
	return found;
}

static void fault_work(struct work_struct *work)
{
	struct npumem_faults *faults = container_of(work, struct npumem_faults, work);
	struct fault fault;

	while (fault_next(faults, &fault))
		npumem_upcall_event_fault(faults->dev, fault.run, fault.pid, &fault.verdict);
}

int npumem_faults_init(struct npumem_device *dev)
{
	struct npumem_faults *faults = drmm_kzalloc(&dev->drm, sizeof(*faults), GFP_KERNEL);

	if (!faults)
		return -ENOMEM;
	faults->dev = dev;
	spin_lock_init(&faults->lock);
	INIT_WORK(&faults->work, fault_work);
	dev->faults = faults;
	return 0;
}

/* Engines are stopped, files cannot submit: this was the last of it. */
void npumem_faults_unplug(struct npumem_device *dev)
{
	disable_work_sync(&dev->faults->work);
}

void npumem_fault_refused(struct npumem_device *dev, u64 run, int error,
			  const struct npumem_verdict *verdict)
{
	struct fault fault = {
		.time = ktime_get_ns(),
		.run = run,
		.pid = task_tgid_nr(current),
		.error = error,
		.verdict = *verdict,
	};

	drm_dbg(&dev->drm, "run %llu: rule %u refuses step %d, tile %d: %d\n", run, verdict->rule,
		verdict->step, verdict->tile, error);
	fault_record(dev->faults, &fault);
	npumem_upcall_event_fault(dev, run, fault.pid, verdict);
}

void npumem_fault_failed(struct npumem_device *dev, u64 run, int error,
			 const struct npumem_verdict *verdict)
{
	struct fault fault = {
		.time = ktime_get_ns(),
		.run = run,
		.error = error,
		.verdict = *verdict,
	};

	fault_record(dev->faults, &fault);
	queue_work(npumem_wq, &dev->faults->work);
}

void npumem_faults_show(struct npumem_device *dev, struct seq_file *m)
{
	struct npumem_faults *faults = dev->faults;
	struct fault fault;
	u64 i, count;

	spin_lock_irq(&faults->lock);
	count = faults->count;
	spin_unlock_irq(&faults->lock);

	seq_printf(m, "%llu faults\n", count);
	for (i = count > RING ? count - RING : 0; i < count; i++) {
		spin_lock_irq(&faults->lock);
		fault = faults->ring[i % RING];
		spin_unlock_irq(&faults->lock);
		seq_printf(
			m,
			"time=%llu run=%llu pid=%d error=%d rule=%u position=%d step=%d tile=%d tensor=%d other_step=%d other_tile=%d other_tensor=%d\n",
			fault.time, fault.run, fault.pid, fault.error, fault.verdict.rule,
			fault.verdict.position, fault.verdict.step, fault.verdict.tile,
			fault.verdict.tensor, fault.verdict.other_step, fault.verdict.other_tile,
			fault.verdict.other_tensor);
	}
}
