// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: engine "edu"
 *
 * A driver as that of a real NPU is: a module of its own, for a device that QEMU has
 * (docs/specs/edu.rst there), with registers, an interrupt, DMA and its limits. The device
 * copies between memory and a buffer of 4 KiB of its own, at most as many bytes at a time, each
 * way at 100 ms. So it is a copy engine, and a slow one; it is there to show, and to test, that
 * what base/engine.h has is what hardware needs: addresses for DMA, a mask that is honoured,
 * relocations, two jobs at a time, reset, power.
 *
 * Jobs are executed one after the other by a work item, which waits for the device's interrupt
 * after each piece. What is under way in the device cannot be stopped, but takes no
 * longer than that: to reset it is to wait for it.
 *
 * The device does not tell which addresses it can reach; it clamps what it is given. QEMU's
 * property dma_mask says so, and parameter dma_mask of the module has to say the same.
 *
 * Its carveout is that of the device tree, where a PCI device may have a node, too, below that
 * of its host bridge (dts/npumem-qemu.dtso); without one there is no device to be had.
 */
#include <linux/interrupt.h>
#include <linux/iopoll.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/pm_runtime.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "base/engine.h"
#include "base/knob.h"
#include "device.h"
#include "include/npumem_edu.h"
#include "job/range.h"

#define EDU_VENDOR 0x1234
#define EDU_DEVICE 0x11e8

#define EDU_ID		0x00
#define EDU_ID_VALUE	0xed
#define EDU_IRQ_STATUS	0x24
#define EDU_IRQ_ACK	0x64
#define EDU_DMA_SOURCE	0x80
#define EDU_DMA_TARGET	0x88
#define EDU_DMA_COUNT	0x90
#define EDU_DMA_COMMAND 0x98

#define EDU_DMA_RUN    BIT(0)
#define EDU_DMA_TO_RAM BIT(1)
#define EDU_DMA_IRQ    BIT(2)
#define EDU_IRQ_DMA    0x100

/* The device's buffer, less a few bytes: it takes no transfer that ends where the buffer does. */
#define EDU_BUFFER	 0x40000
#define EDU_BUFFER_BYTES 4088

#define EDU_DEPTH      2
#define EDU_TIMEOUT_MS 60000
#define EDU_PIECE_MS   5000
#define EDU_SUSPEND_MS 200

static unsigned long long dma_mask = DMA_BIT_MASK(28);
module_param(dma_mask, ullong, 0444);
MODULE_PARM_DESC(dma_mask, "addresses that the device reaches: its property of that name");

static unsigned int timeout_ms = EDU_TIMEOUT_MS;
module_param(timeout_ms, uint, 0444);
MODULE_PARM_DESC(timeout_ms, "time that a job may take (default: 60000)");

/**
 * struct edu - the device
 * @pdev: it
 * @mmio: its registers
 * @irq: number of its interrupt, since to ask the bus takes a lock that no fence may wait for
 * @wait: woken by its interrupt, and when @aborted changes
 * @wq: executes @work
 * @work: executes @jobs
 * @lock: guards @jobs and @count
 * @jobs: that were started, in their order, @count of them
 * @count: see @jobs
 * @done: the device has done what it was told last
 * @aborted: the work item is to end, without a word on its job
 * @hang_next: jobs that will never end
 * @lost: its DMA did not end; no job of it can be done any more
 * @bus_limit: of its bus, as it was found
 */
struct edu {
	struct pci_dev *pdev;
	void __iomem *mmio;
	int irq;
	wait_queue_head_t wait;
	struct workqueue_struct *wq;
	struct work_struct work;
	spinlock_t lock;
	struct npu_job *jobs[EDU_DEPTH];
	u32 count;
	bool done;
	bool aborted;
	atomic_t hang_next;
	bool lost;
	u64 bus_limit;
};

/**
 * struct edu_stream - bytes of several accesses, one after the other
 * @job: whose they are
 * @position: number within the job
 * @mode: accesses to pass over: those of this enum npumem_access_mode
 * @access: next one
 * @ranges: those of the current one that are left
 * @open: there is a current one
 */
struct edu_stream {
	const struct npu_job *job;
	u32 position;
	u32 mode;
	u32 access;
	struct npu_access_ranges ranges;
	bool open;
};

/* ------------------------------------------------------------------- hardware */

static irqreturn_t edu_interrupt(int irq, void *data)
{
	struct edu *edu = data;
	u32 status = readl(edu->mmio + EDU_IRQ_STATUS);

	/* All ones: it sleeps, and somebody else has the same line. */
	if (!status || status == U32_MAX)
		return IRQ_NONE;
	writel(status, edu->mmio + EDU_IRQ_ACK);
	if (status & EDU_IRQ_DMA) {
		WRITE_ONCE(edu->done, true);
		wake_up_all(&edu->wait);
	}
	return IRQ_HANDLED;
}

/* Bytes between memory and the device's buffer; -ECANCELED: aborted; -EIO: it is lost. */
static int edu_move(struct edu *edu, dma_addr_t memory, u32 at, u32 bytes, bool to_memory)
{
	u64 buffer = EDU_BUFFER + at;

	if (READ_ONCE(edu->aborted))
		return -ECANCELED;
	if (READ_ONCE(edu->lost))
		return -EIO;
	WRITE_ONCE(edu->done, false);
	writeq(to_memory ? buffer : memory, edu->mmio + EDU_DMA_SOURCE);
	writeq(to_memory ? memory : buffer, edu->mmio + EDU_DMA_TARGET);
	writeq(bytes, edu->mmio + EDU_DMA_COUNT);
	writeq(EDU_DMA_RUN | EDU_DMA_IRQ | (to_memory ? EDU_DMA_TO_RAM : 0),
	       edu->mmio + EDU_DMA_COMMAND);
	wait_event_idle(edu->wait, READ_ONCE(edu->done) || READ_ONCE(edu->aborted));
	return READ_ONCE(edu->aborted) ? -ECANCELED : 0;
}

/*
 * From now on the device touches no memory, and the interrupt of what it did last is not taken for
 * that of what it will do next. A device that does not end what it has begun is taken off the bus:
 * its later jobs fail, instead of somebody else's bytes.
 */
static void edu_quiesce(struct edu *edu)
{
	u64 command;

	if (readq_poll_timeout(edu->mmio + EDU_DMA_COMMAND, command, !(command & EDU_DMA_RUN), 1000,
			       EDU_PIECE_MS * 1000)) {
		dev_err(&edu->pdev->dev, "DMA does not end\n");
		WRITE_ONCE(edu->lost, true);
		pci_clear_master(edu->pdev);
	}
	writel(readl(edu->mmio + EDU_IRQ_STATUS), edu->mmio + EDU_IRQ_ACK);
	synchronize_irq(edu->irq);
}

/* -------------------------------------------------------------------- copies */

/* The next bytes of a stream: 1, 0 at its end, or a negative errno. */
static int stream_next(struct edu_stream *stream, u64 max, struct npu_access_range *range)
{
	u32 count = npumem_job_access_count(stream->job, stream->position);
	int found;

	for (;;) {
		if (stream->open) {
			found = npumem_ranges_next(&stream->ranges, max, range);
			if (found)
				return found;
			stream->open = false;
		}
		while (stream->access < count &&
		       npumem_job_access_mode(stream->job, stream->position, stream->access) ==
			       stream->mode)
			stream->access++;
		if (stream->access == count)
			return 0;
		npumem_ranges_begin(&stream->ranges, stream->job, stream->position,
				    stream->access++);
		stream->open = true;
	}
}

/* Bytes of a stream into the device's buffer, or from there: how many, or a negative errno. */
static int stream_move(struct edu *edu, struct edu_stream *stream, u32 bytes, bool to_memory)
{
	struct npu_access_range range;
	u32 moved = 0;
	int found;

	while (moved < bytes) {
		found = stream_next(stream, bytes - moved, &range);
		if (found <= 0)
			return found ?: moved;
		found = edu_move(edu, range.dma, moved, range.length, to_memory);
		if (found)
			return found;
		moved += range.length;
	}
	return moved;
}

/* What a position reads to what it writes, piece by piece; edu_check() has seen that it may. */
static int edu_copy_position(struct edu *edu, struct npu_job *job, u32 position)
{
	struct edu_stream from = { .job = job, .position = position, .mode = NPUMEM_ACCESS_WRITE };
	struct edu_stream to = { .job = job, .position = position, .mode = NPUMEM_ACCESS_READ };
	int bytes;

	for (;;) {
		bytes = stream_move(edu, &from, EDU_BUFFER_BYTES, false);
		if (bytes <= 0)
			return bytes;
		bytes = stream_move(edu, &to, bytes, true);
		if (bytes < 0)
			return bytes;
	}
}

/* Bytes that a relocation names, or the part of them that is contiguous. */
static int edu_move_relocation(struct edu *edu, const struct npu_job *job, u32 index, u64 done,
			       u32 at, u32 bytes, bool to_memory)
{
	struct drm_npumem_relocation relocation = job->relocations[index];
	struct npu_access_range range;
	u32 length;
	int err;

	relocation.delta += done;
	for (; bytes; bytes -= length) {
		err = npumem_relocation_range(job, &relocation, &range);
		if (err <= 0)
			return err ?: -EFAULT;
		length = min_t(u64, bytes, range.length);
		err = edu_move(edu, range.dma, at, length, to_memory);
		if (err)
			return err;
		relocation.delta += length;
		at += length;
	}
	return 0;
}

static int edu_copy(struct edu *edu, const struct npu_job *job, u32 index, u64 bytes)
{
	u64 done;
	u32 piece;
	int err;

	for (done = 0; done < bytes; done += piece) {
		piece = min_t(u64, bytes - done, EDU_BUFFER_BYTES);
		err = edu_move_relocation(edu, job, 2 * index, done, 0, piece, false);
		if (!err)
			err = edu_move_relocation(edu, job, 2 * index + 1, done, 0, piece, true);
		if (err)
			return err;
	}
	return 0;
}

static const struct npumem_edu_copy *edu_copies(const struct npumem_edu_command *command)
{
	return (const struct npumem_edu_copy *)(command + 1);
}

static int edu_position(struct edu *edu, struct npu_job *job, u32 position)
{
	const struct npumem_edu_command *command = job->commands;
	u32 kind = npumem_job_position(job, position)->kind;
	int err;

	if (kind == NPUMEM_POSITION_STEP && (!command || command->op != NPUMEM_EDU_STEPS))
		return 0;
	err = edu_copy_position(edu, job, position);
	if (!err && kind != NPUMEM_POSITION_STEP && kind != NPUMEM_POSITION_DROP)
		npumem_job_transferred(job, job->first + position);
	return err;
}

/* Positions in their order, and then the copies, which are of steps alone. */
static int edu_execute(struct edu *edu, struct npu_job *job)
{
	const struct npumem_edu_command *command = job->commands;
	int err = 0;
	u32 i;

	if (atomic_dec_if_positive(&edu->hang_next) >= 0)
		wait_event_idle(edu->wait, READ_ONCE(edu->aborted));
	/* The job before it, which it was given with, has failed: nobody wants it any more. */
	if (npumem_run_error(job->run))
		return -ECANCELED;
	for (i = 0; !err && i < job->count; i++)
		err = edu_position(edu, job, i);
	for (i = 0; !err && command && i < command->copies; i++)
		err = edu_copy(edu, job, i, edu_copies(command)[i].bytes);
	return err;
}

static struct npu_job *edu_first(struct edu *edu)
{
	struct npu_job *job;
	unsigned long flags;

	spin_lock_irqsave(&edu->lock, flags);
	job = edu->count ? edu->jobs[0] : NULL;
	spin_unlock_irqrestore(&edu->lock, flags);
	return job;
}

static void edu_remove_first(struct edu *edu)
{
	unsigned long flags;

	spin_lock_irqsave(&edu->lock, flags);
	edu->count--;
	memmove(edu->jobs, edu->jobs + 1, edu->count * sizeof(edu->jobs[0]));
	spin_unlock_irqrestore(&edu->lock, flags);
}

static void edu_work(struct work_struct *work)
{
	struct edu *edu = container_of(work, struct edu, work);
	bool cookie = dma_fence_begin_signalling();
	struct npu_job *job;
	int err;

	while (!READ_ONCE(edu->aborted) && (job = edu_first(edu))) {
		err = edu_execute(edu, job);
		if (READ_ONCE(edu->aborted))
			break;
		/* The next may be started before npumem_job_done() is back. */
		edu_remove_first(edu);
		npumem_job_done(job, err);
	}
	dma_fence_end_signalling(cookie);
}

/* --------------------------------------------------------------- engine ops */

/*
 * Whether a step may be copied through the buffer piece by piece: its writes may take bytes
 * that it has yet to read, if there are more of them than one piece has.
 */
static int edu_check_step(const struct npu_job *job, u32 position, u32 *ticks)
{
	u32 count = npumem_job_access_count(job, position), reads = 0, writes = 0, i;
	const struct npuv_plan *plan = job->run->plan->v;
	u64 bytes, read = 0, written = 0;

	for (i = 0; i < count; i++) {
		if (npuv_tick(ticks, 1))
			return -EINTR;
		bytes = npumem_job_access_bytes(job, position, i);
		if (npumem_job_access_mode(job, position, i) != NPUMEM_ACCESS_WRITE) {
			read += bytes;
			reads++;
		}
		if (npumem_job_access_mode(job, position, i) != NPUMEM_ACCESS_READ) {
			written += bytes;
			writes++;
		}
	}
	if (read != written)
		return -EINVAL;
	if (read <= EDU_BUFFER_BYTES)
		return 0;
	if (reads != 1 || writes != 1 ||
	    npuv_step(plan->graph, npuv_step_at(plan, job->first + position))->flags &
		    NPUMEM_STEP_STAGED)
		return -EOPNOTSUPP;
	return 0;
}

static int edu_check_steps(const struct npu_job *job, u32 *ticks)
{
	u32 i;
	int err = 0;

	for (i = 0; !err && i < job->count; i++)
		if (npumem_job_position(job, i)->kind == NPUMEM_POSITION_STEP)
			err = edu_check_step(job, i, ticks);
	return err;
}

/* The relocation of one side of a copy. */
static int edu_check_side(const struct npu_job *job, u32 index, u32 offset, u64 bytes, u32 mode)
{
	const struct drm_npumem_relocation *r = &job->relocations[index];
	u64 size = npumem_job_access_bytes(job, r->position, r->access);

	if (r->offset != offset || bytes > size - r->delta)
		return -EINVAL;
	/* Transfers are the driver's own. */
	if (npumem_job_position(job, r->position)->kind != NPUMEM_POSITION_STEP ||
	    npumem_job_access_mode(job, r->position, r->access) == mode)
		return -EINVAL;
	return 0;
}

static int edu_check_copies(const struct npu_job *job, u32 *ticks)
{
	const struct npumem_edu_command *command = job->commands;
	const struct npumem_edu_copy *copies = edu_copies(command);
	u32 i, offset = sizeof(*command);
	int err;

	if (job->relocation_count != 2 * (u64)command->copies)
		return -EINVAL;
	for (i = 0; i < command->copies; i++, offset += sizeof(*copies)) {
		if (npuv_tick(ticks, 1))
			return -EINTR;
		if (copies[i].source || copies[i].target || !copies[i].bytes)
			return -EINVAL;
		err = edu_check_side(job, 2 * i, offset, copies[i].bytes, NPUMEM_ACCESS_WRITE);
		if (!err)
			err = edu_check_side(job, 2 * i + 1,
					     offset + offsetof(struct npumem_edu_copy, target),
					     copies[i].bytes, NPUMEM_ACCESS_READ);
		if (err)
			return err;
	}
	return 0;
}

static int edu_check(struct npu_engine *engine, struct npu_job *job, u32 *ticks)
{
	const struct npumem_edu_command *command = job->commands;

	if (job->commands_size < sizeof(*command) ||
	    job->commands_size !=
		    sizeof(*command) + (u64)command->copies * sizeof(struct npumem_edu_copy))
		return -EINVAL;
	switch (command->op) {
	case NPUMEM_EDU_STEPS:
		if (command->copies || job->relocation_count)
			return -EINVAL;
		return edu_check_steps(job, ticks);
	case NPUMEM_EDU_COPIES:
		return edu_check_copies(job, ticks);
	default:
		return -EINVAL;
	}
}

static void edu_start(struct npu_engine *engine, struct npu_job *job)
{
	struct edu *edu = engine->priv;
	unsigned long flags;

	spin_lock_irqsave(&edu->lock, flags);
	edu->jobs[edu->count++] = job;
	spin_unlock_irqrestore(&edu->lock, flags);
	queue_work(edu->wq, &edu->work);
}

/* Nothing is executed any more, and of what was started nothing is known. */
static void edu_reset(struct npu_engine *engine)
{
	struct edu *edu = engine->priv;
	unsigned long flags;

	WRITE_ONCE(edu->aborted, true);
	wake_up_all(&edu->wait);
	cancel_work_sync(&edu->work);
	edu_quiesce(edu);
	spin_lock_irqsave(&edu->lock, flags);
	edu->count = 0;
	spin_unlock_irqrestore(&edu->lock, flags);
	WRITE_ONCE(edu->aborted, false);
}

static void edu_stop(struct npu_engine *engine)
{
	struct edu *edu = engine->priv;
	struct npu_job *job;

	WRITE_ONCE(edu->aborted, true);
	wake_up_all(&edu->wait);
	cancel_work_sync(&edu->work);
	edu_quiesce(edu);
	while ((job = edu_first(edu))) {
		edu_remove_first(edu);
		npumem_job_done(job, -ENODEV);
	}
}

NPUMEM_KNOB_COUNT(edu_hang_fops);

static void edu_debugfs(struct npu_engine *engine, struct dentry *dir)
{
	struct edu *edu = engine->priv;

	debugfs_create_file("hang_next", 0600, dir, &edu->hang_next, &edu_hang_fops);
}

static int edu_init(struct npu_engine *engine)
{
	engine->priv = pci_get_drvdata(to_pci_dev(engine->dev->drm.dev));
	return 0;
}

static const struct npu_engine_ops edu_ops = {
	.init = edu_init,
	.check = edu_check,
	.start = edu_start,
	.reset = edu_reset,
	.stop = edu_stop,
	.debugfs = edu_debugfs,
};

/* ------------------------------------------------------------- PCI driver */

/*
 * A mask that leaves out the memory that the kernel keeps for devices with small masks is no mask
 * to it, since there would be nothing to allocate. This device needs no memory but its carveout:
 * it has the mask of most devices, on a bus that has the limit.
 */
static int edu_set_mask(struct edu *edu)
{
	edu->bus_limit = edu->pdev->dev.bus_dma_limit;
	if (dma_mask < DMA_BIT_MASK(32))
		edu->pdev->dev.bus_dma_limit = min_not_zero(edu->bus_limit, (u64)dma_mask);
	return dma_set_mask_and_coherent(&edu->pdev->dev, max_t(u64, dma_mask, DMA_BIT_MASK(32)));
}

static int edu_init_pci(struct edu *edu)
{
	struct pci_dev *pdev = edu->pdev;
	int err;

	err = pcim_enable_device(pdev);
	if (err)
		return err;
	edu->mmio = pcim_iomap(pdev, 0, 0);
	if (!edu->mmio)
		return -ENOMEM;
	if ((readl(edu->mmio + EDU_ID) & 0xff) != EDU_ID_VALUE)
		return dev_err_probe(&pdev->dev, -ENODEV, "no such device\n");
	err = edu_set_mask(edu);
	if (err)
		return dev_err_probe(&pdev->dev, err, "DMA mask %#llx\n", dma_mask);
	pci_set_master(pdev);
	err = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_ALL_TYPES);
	if (err < 0)
		return dev_err_probe(&pdev->dev, err, "no interrupt\n");
	edu->irq = pci_irq_vector(pdev, 0);
	err = request_irq(edu->irq, edu_interrupt, IRQF_SHARED, "npumem-edu", edu);
	if (err)
		pci_free_irq_vectors(pdev);
	return err;
}

static void edu_fini_pci(struct edu *edu)
{
	free_irq(edu->irq, edu);
	pci_free_irq_vectors(edu->pdev);
	pci_clear_master(edu->pdev);
	edu->pdev->dev.bus_dma_limit = edu->bus_limit;
}

static int edu_probe_engine(struct edu *edu)
{
	const struct npu_engine_desc desc = {
		.name = NPUMEM_EDU_NAME,
		.owner = THIS_MODULE,
		.ops = &edu_ops,
		.flags = NPUMEM_ENGINE_TRANSFERS,
		.version = NPUMEM_EDU_VERSION,
		.addresses = NPU_ADDRESS_DMA,
		.depth = EDU_DEPTH,
		.timeout_ms = timeout_ms,
		.runtime_pm = true,
	};
	struct device *dev = &edu->pdev->dev;
	int err;

	err = npumem_device_probe(dev, &desc, 1);
	if (err)
		return err;
	pm_runtime_set_autosuspend_delay(dev, EDU_SUSPEND_MS);
	pm_runtime_use_autosuspend(dev);
	/* The core of PCI has it forbidden, and powered for us. */
	pm_runtime_allow(dev);
	pm_runtime_put_autosuspend(dev);
	return 0;
}

static int edu_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct edu *edu = devm_kzalloc(&pdev->dev, sizeof(*edu), GFP_KERNEL);
	int err;

	if (!edu)
		return -ENOMEM;
	edu->pdev = pdev;
	spin_lock_init(&edu->lock);
	init_waitqueue_head(&edu->wait);
	INIT_WORK(&edu->work, edu_work);
	pci_set_drvdata(pdev, edu);
	/* Others wait for its fences, memory reclaim included. */
	edu->wq = alloc_ordered_workqueue("npumem-edu", WQ_MEM_RECLAIM);
	if (!edu->wq)
		return -ENOMEM;
	err = edu_init_pci(edu);
	if (err)
		goto err_wq;
	err = edu_probe_engine(edu);
	if (err)
		goto err_pci;
	return 0;

err_pci:
	edu_fini_pci(edu);
err_wq:
	destroy_workqueue(edu->wq);
	return err;
}

static void edu_remove(struct pci_dev *pdev)
{
	struct edu *edu = pci_get_drvdata(pdev);

	pm_runtime_get_sync(&pdev->dev);
	pm_runtime_forbid(&pdev->dev);
	npumem_device_remove(&pdev->dev);
	pm_runtime_dont_use_autosuspend(&pdev->dev);
	edu_fini_pci(edu);
	destroy_workqueue(edu->wq);
}

static const struct pci_device_id edu_ids[] = {
	{ PCI_DEVICE(EDU_VENDOR, EDU_DEVICE) },
	{},
};
MODULE_DEVICE_TABLE(pci, edu_ids);

static struct pci_driver edu_driver = {
	.name = "npumem-edu",
	.id_table = edu_ids,
	.probe = edu_probe,
	.remove = edu_remove,
};
module_pci_driver(edu_driver);

MODULE_DESCRIPTION("Copy engine of npumem on QEMU's educational PCI device");
MODULE_AUTHOR("npumem maintainers");
MODULE_LICENSE("GPL");
