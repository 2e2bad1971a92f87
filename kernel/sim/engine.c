// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: engine "sim"
 *
 * The reference engine executes operators on the CPU, in the carveout and in the buffers
 * that external tensors are bound to, as a real NPU would by DMA, and transfers between
 * the arena and the run's host BO. One work item executes the job in flight,
 * position by position, in bursts. Between bursts it looks whether it was aborted, and
 * notes that it made progress; each burst is touched under drm_dev_enter(), so
 * that unplug never waits for more than a burst.
 *
 * Devices have a second engine of the kind, "sim-copy", which carries out transfers and copies
 * beside the other one, as a DMA engine does.
 *
 * A job hangs if it makes no progress for hang_ms. A job that does make progress may not
 * keep others waiting for ever either: it is aborted after job_ms, and the next job waits
 * for no more than that.
 *
 * For tests (debugfs, CAP_SYS_ADMIN): pause holds jobs back before they touch
 * anything, hang_next and fail_next spoil as many of the next jobs. bytes_per_second and job_ns
 * give an engine a speed: a job takes job_ns, and for the bytes that it reads and writes the time
 * that they take at that rate, or as long as it does take, if that is longer.
 * transfer_bytes_per_second is the rate of transfers, if it is another.
 */
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "base/knob.h"
#include "job/range.h"
#include "include/npumem_mix.h"
#include "include/npumem_sim.h"
#include "sim.h"

#define SIM_BURST SZ_64K
#define JOB_MS	  10000
#define HANG_MS	  5000

/**
 * struct sim - state of the engine
 * @engine: engine whose state this is
 * @wq: executes @work
 * @work: executes @job
 * @job: job in flight, or NULL
 * @wait: woken when @aborted, @gone or @paused change
 * @progress_at: jiffies of the last sign of life
 * @started_at: jiffies of the start of @job
 * @aborted: @job is to end now
 * @gone: the device is gone, and all jobs are to end now
 * @paused: no job begins, and none is late
 * @hang_next: number of jobs to come that will hang
 * @fail_next: number of jobs to come that will fail
 * @bytes_per_second: the most bytes a second that a job reads and writes, or 0
 * @transfer_bytes_per_second: the same of its transfers, or 0: @bytes_per_second is
 * @job_ns: the least time that a job takes
 * @hang_ms: time without progress after which a job hangs
 * @job_ms: time after which it is aborted whatever it does
 *
 * The fields are written by one and polled by the other side, without a lock:
 * @job, @started_at and @aborted by start() before @work is queued and by the
 * work item; the rest by debugfs.
 */
struct sim {
	struct npu_engine *engine;
	struct workqueue_struct *wq;
	struct work_struct work;
	struct npu_job *job;
	wait_queue_head_t wait;
	unsigned long progress_at;
	unsigned long started_at;
	bool aborted;
	bool gone;
	bool paused;
	atomic_t hang_next;
	atomic_t fail_next;
	u32 job_ns;
	u64 bytes_per_second;
	u64 transfer_bytes_per_second;
	u32 hang_ms;
	u32 job_ms;
};

/* An operator on its way through the bursts of one step. */
struct sim_op {
	struct sim *sim;
	struct npu_job *job;
	const struct npumem_sim_command *command;
	u64 digest; /* mix */
	u32 access; /* number within the step */
	u64 copied; /* copy: bytes moved to, or from, the bounce buffer */
	u8 *host;   /* transfer: its first byte in the host BO; NULL for a step */
	u64 bytes;  /* of steps, read and written yet */
	u64 moved;  /* of transfers */
	ktime_t began;
};

typedef void (*sim_burst_fn)(struct sim_op *op, u8 *bytes, u64 linear, size_t length);

static bool sim_ended(struct sim *sim)
{
	return READ_ONCE(sim->aborted) || READ_ONCE(sim->gone);
}

static int sim_end_error(struct sim *sim)
{
	return READ_ONCE(sim->gone) ? -ENODEV : -ETIMEDOUT;
}

/* --------------------------------------------------------------- operators */

static void sim_fill(struct sim_op *op, u8 *bytes, u64 linear, size_t length)
{
	memset(bytes, op->command->value, length);
}

static void sim_copy_read(struct sim_op *op, u8 *bytes, u64 linear, size_t length)
{
	memcpy(op->job->bounce->data + op->copied, bytes, length);
	op->copied += length;
}

static void sim_copy_write(struct sim_op *op, u8 *bytes, u64 linear, size_t length)
{
	memcpy(bytes, op->job->bounce->data + op->copied, length);
	op->copied += length;
}

static void sim_mix_read(struct sim_op *op, u8 *bytes, u64 linear, size_t length)
{
	u64 digest = op->digest;
	size_t i;

	for (i = 0; i < length; i++)
		digest = npumem_mix_read(digest, bytes[i]);
	op->digest = digest;
}

static void sim_mix_write(struct sim_op *op, u8 *bytes, u64 linear, size_t length)
{
	u64 word = npumem_mix_write(op->digest, op->access, linear / 8);
	size_t i;

	for (i = 0; i < length; i++, linear++) {
		if (linear % 8 == 0)
			word = npumem_mix_write(op->digest, op->access, linear / 8);
		bytes[i] = word >> (linear % 8 * 8);
	}
}

static void sim_to_host(struct sim_op *op, u8 *bytes, u64 linear, size_t length)
{
	memcpy(op->host + linear, bytes, length);
}

static void sim_from_host(struct sim_op *op, u8 *bytes, u64 linear, size_t length)
{
	memcpy(bytes, op->host + linear, length);
}

/* ---------------------------------------------------------------- execution */

static int sim_sleep(struct sim *sim, u64 ns)
{
	u64 slice;

	while (ns) {
		slice = min_t(u64, ns, 100 * NSEC_PER_MSEC);
		wait_event_hrtimeout(sim->wait, sim_ended(sim), ns_to_ktime(slice));
		if (sim_ended(sim))
			return sim_end_error(sim);
		WRITE_ONCE(sim->progress_at, jiffies);
		ns -= slice;
	}
	return 0;
}

/* Until the job may have done what it has done; cut short by an abort. */
static int sim_keep_pace(struct sim_op *op)
{
	u64 rate = READ_ONCE(op->sim->bytes_per_second);
	u64 transfer_rate = READ_ONCE(op->sim->transfer_bytes_per_second) ?: rate;
	u64 ns = READ_ONCE(op->sim->job_ns);
	s64 early;

	if (rate)
		ns += mul_u64_u64_div_u64(op->bytes, NSEC_PER_SEC, rate);
	if (transfer_rate)
		ns += mul_u64_u64_div_u64(op->moved, NSEC_PER_SEC, transfer_rate);
	if (!ns)
		return 0;
	early = ktime_to_ns(ktime_sub(ktime_add_ns(op->began, ns), ktime_get()));
	return early > 0 ? sim_sleep(op->sim, early) : 0;
}

/* The time that this many bytes more take. */
static int sim_delay(struct sim_op *op, u64 bytes)
{
	*(op->host ? &op->moved : &op->bytes) += bytes;
	return sim_keep_pace(op);
}

/* Between two bursts: why the job is to end, or 0. */
static int sim_go_on(struct sim_op *op)
{
	if (sim_ended(op->sim))
		return sim_end_error(op->sim);
	/* The run has failed or its file is closed: nobody waits for the result. */
	if (npumem_run_error(op->job->run))
		return -ECANCELED;
	return 0;
}

/* The next bytes of an access: how many, 0 at its end, or a negative errno. */
static ssize_t sim_burst(struct sim_op *op, struct npu_access_ranges *ranges, sim_burst_fn fn)
{
	struct npu_access_range range;
	int idx, found, err = sim_go_on(op);

	if (err)
		return err;
	if (!drm_dev_enter(&op->sim->engine->dev->drm, &idx))
		return -ENODEV;
	found = npumem_ranges_next(ranges, SIM_BURST, &range);
	if (found == 1)
		fn(op, range.vaddr, range.linear, range.length);
	drm_dev_exit(idx);
	return found == 1 ? range.length : found;
}

static int sim_access(struct sim_op *op, u32 position, u32 access, sim_burst_fn fn)
{
	struct npu_access_ranges ranges;
	ssize_t length;
	int err;

	npumem_ranges_begin(&ranges, op->job, position, access);
	while ((length = sim_burst(op, &ranges, fn)) > 0) {
		WRITE_ONCE(op->sim->progress_at, jiffies);
		cond_resched();
		err = sim_delay(op, length);
		if (err)
			return err;
	}
	return length;
}

/* Execute a step. It has read all that it reads before it writes anything. */
static int sim_step(struct sim_op *op, u32 position, u32 index)
{
	u32 count = npumem_job_access_count(op->job, position);
	sim_burst_fn read = NULL, write = NULL;
	u32 i, mode;
	int err;

	switch (op->command->op) {
	case NPUMEM_SIM_COPY:
		read = sim_copy_read;
		write = sim_copy_write;
		break;
	case NPUMEM_SIM_FILL:
		write = sim_fill;
		break;
	case NPUMEM_SIM_MIX:
		read = sim_mix_read;
		write = sim_mix_write;
		break;
	}
	op->digest = npumem_mix_begin(op->command->value, index);
	op->copied = 0;
	for (i = 0; read && i < count; i++) {
		mode = npumem_job_access_mode(op->job, position, i);
		if (mode == NPUMEM_ACCESS_WRITE)
			continue;
		op->digest = npumem_mix_access(op->digest, i);
		err = sim_access(op, position, i, read);
		if (err)
			return err;
	}
	op->copied = 0;
	for (i = 0; write && i < count; i++) {
		mode = npumem_job_access_mode(op->job, position, i);
		if (mode == NPUMEM_ACCESS_READ)
			continue;
		op->access = i;
		err = sim_access(op, position, i, write);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Carry out a transfer. Arena and host BO never share a byte, so it needs no bounce buffer.
 * In the host BO the bytes of a transfer lie one after another, by linear index.
 */
static int sim_transfer(struct sim_op *op, u32 position, const struct npumem_position *p)
{
	bool out = p->kind == NPUMEM_POSITION_SPILL || p->kind == NPUMEM_POSITION_STORE;
	int err;

	op->host = npumem_transfers_vaddr(&op->job->run->transfers, p->host_offset, p->length);
	if (WARN_ON_ONCE(!op->host))
		return -EFAULT;
	/* A transfer has two accesses, of which this is the one of the arena. */
	err = sim_access(op, position, out ? 0 : 1, out ? sim_to_host : sim_from_host);
	op->host = NULL;
	if (!err)
		npumem_job_transferred(op->job, op->job->first + position);
	return err;
}

/* Number of a position within the job. */
static int sim_position(struct sim_op *op, u32 position)
{
	const struct npumem_position *p = npumem_job_position(op->job, position);

	switch (p->kind) {
	case NPUMEM_POSITION_STEP:
		return sim_step(op, position, p->index);
	case NPUMEM_POSITION_DROP:
		return 0;
	default:
		return sim_transfer(op, position, p);
	}
}

static bool sim_spoil(atomic_t *jobs)
{
	return atomic_dec_if_positive(jobs) >= 0;
}

static int sim_execute(struct sim *sim, struct npu_job *job)
{
	static const struct npumem_sim_command nop = { .op = NPUMEM_SIM_NOP };
	struct sim_op op = { .sim = sim, .job = job, .command = job->commands ?: &nop };
	bool hang;
	u32 p;
	int err;

	wait_event_idle(sim->wait, !READ_ONCE(sim->paused) || sim_ended(sim));
	hang = sim_spoil(&sim->hang_next);
	if (hang)
		wait_event_idle(sim->wait, sim_ended(sim));
	if (sim_ended(sim))
		return sim_end_error(sim);
	if (sim_spoil(&sim->fail_next))
		return -EIO;
	/* The job's time begins only now, or it would include a pause. */
	WRITE_ONCE(sim->progress_at, jiffies);
	WRITE_ONCE(sim->started_at, jiffies);
	op.began = ktime_get();
	err = sim_keep_pace(&op);
	if (err)
		return err;
	for (p = 0; p < job->count; p++) {
		err = sim_position(&op, p);
		if (err)
			return err;
	}
	return 0;
}

static void sim_work(struct work_struct *work)
{
	struct sim *sim = container_of(work, struct sim, work);
	bool cookie = dma_fence_begin_signalling();
	struct npu_job *job = sim->job;
	int err = sim_execute(sim, job);

	/* The next job may be started before npumem_job_done() is back. */
	WRITE_ONCE(sim->job, NULL);
	npumem_job_done(job, err);
	dma_fence_end_signalling(cookie);
}

/* -------------------------------------------------------------- engine ops */

/*
 * Each step of a copy has to read as many bytes as it writes. The bounce buffer holds those
 * of the largest step.
 */
static int sim_check_copy(struct npu_job *job, u32 *ticks)
{
	const struct npu_run *run = job->run;
	u64 read, written, size = 0;
	u32 p;
	int err;

	for (p = job->first; p < job->first + job->count; p++) {
		err = npuv_copy_bytes(run->plan->v, p, ticks, &read, &written);
		if (err)
			return err;
		if (read != written || read > npumem_run_bytes(run))
			return -EINVAL;
		size = max(size, read);
	}
	return size ? npumem_job_bounce(job, size) : 0;
}

static int sim_check(struct npu_engine *engine, struct npu_job *job, u32 *ticks)
{
	const struct npumem_sim_command *command = job->commands;

	if (job->commands_size != sizeof(*command) || command->pad || job->relocation_count)
		return -EINVAL;
	switch (command->op) {
	case NPUMEM_SIM_NOP:
		return command->value ? -EINVAL : 0;
	case NPUMEM_SIM_COPY:
		return command->value ? -EINVAL : sim_check_copy(job, ticks);
	case NPUMEM_SIM_FILL:
		return command->value > U8_MAX ? -EINVAL : 0;
	case NPUMEM_SIM_MIX:
		return 0;
	default:
		return -EINVAL;
	}
}

static int sim_copy_check(struct npu_engine *engine, struct npu_job *job, u32 *ticks)
{
	int err = sim_check(engine, job, ticks);
	const struct npumem_sim_command *command = job->commands;

	if (!err && command->op != NPUMEM_SIM_NOP && command->op != NPUMEM_SIM_COPY)
		return -EOPNOTSUPP;
	return err;
}

static void sim_start(struct npu_engine *engine, struct npu_job *job)
{
	struct sim *sim = engine->priv;

	WRITE_ONCE(sim->aborted, false);
	WRITE_ONCE(sim->progress_at, jiffies);
	WRITE_ONCE(sim->started_at, jiffies);
	WRITE_ONCE(sim->job, job);
	queue_work(sim->wq, &sim->work);
}

static bool sim_late(struct sim *sim)
{
	unsigned long hang = msecs_to_jiffies(READ_ONCE(sim->hang_ms));

	if (READ_ONCE(sim->paused))
		return false;
	return time_after(jiffies, READ_ONCE(sim->progress_at) + hang) ||
	       time_after(jiffies,
			  READ_ONCE(sim->started_at) + msecs_to_jiffies(READ_ONCE(sim->job_ms)));
}

static bool sim_is_late(struct npu_engine *engine)
{
	struct sim *sim = engine->priv;

	return READ_ONCE(sim->job) && sim_late(sim);
}

static void sim_drain(struct npu_engine *engine)
{
	struct sim *sim = engine->priv;

	while (READ_ONCE(sim->job)) {
		if (sim_late(sim)) {
			drm_dbg(&engine->dev->drm, "engine %s: job aborted\n", engine->name);
			WRITE_ONCE(sim->aborted, true);
			wake_up_all(&sim->wait);
			break;
		}
		schedule_timeout_idle(msecs_to_jiffies(20));
	}
	/* Once the work is done, the fence of the job in flight has signalled. */
	flush_work(&sim->work);
}

static void sim_stop(struct npu_engine *engine)
{
	struct sim *sim = engine->priv;

	WRITE_ONCE(sim->gone, true);
	wake_up_all(&sim->wait);
	flush_work(&sim->work);
}

static int sim_init(struct npu_engine *engine)
{
	struct sim *sim = kzalloc(sizeof(*sim), GFP_KERNEL);

	if (!sim)
		return -ENOMEM;
	/* Others, memory reclaim among them, wait for fences of jobs that this queue executes. */
	sim->wq = alloc_ordered_workqueue("npumem-sim", WQ_MEM_RECLAIM);
	if (!sim->wq) {
		kfree(sim);
		return -ENOMEM;
	}
	sim->engine = engine;
	INIT_WORK(&sim->work, sim_work);
	init_waitqueue_head(&sim->wait);
	sim->hang_ms = HANG_MS;
	sim->job_ms = JOB_MS;
	engine->priv = sim;
	return 0;
}

static void sim_fini(struct npu_engine *engine)
{
	struct sim *sim = engine->priv;

	destroy_workqueue(sim->wq);
	kfree(sim);
}

/* ------------------------------------------------------------------ debugfs */

static void sim_pause(struct sim *sim, u64 pause)
{
	WRITE_ONCE(sim->progress_at, jiffies);
	WRITE_ONCE(sim->started_at, jiffies);
	WRITE_ONCE(sim->paused, pause);
	wake_up_all(&sim->wait);
}

NPUMEM_KNOB(sim_pause_fops, struct sim, U64_MAX, READ_ONCE(knob->paused), sim_pause(knob, value));
NPUMEM_KNOB(sim_u32_fops, u32, U32_MAX, READ_ONCE(*knob), WRITE_ONCE(*knob, value));
NPUMEM_KNOB(sim_u64_fops, u64, U64_MAX, READ_ONCE(*knob), WRITE_ONCE(*knob, value));
NPUMEM_KNOB_COUNT(sim_count_fops);

static void sim_debugfs(struct npu_engine *engine, struct dentry *dir)
{
	struct sim *sim = engine->priv;

	debugfs_create_file("pause", 0600, dir, sim, &sim_pause_fops);
	debugfs_create_file("job_ns", 0600, dir, &sim->job_ns, &sim_u32_fops);
	debugfs_create_file("bytes_per_second", 0600, dir, &sim->bytes_per_second, &sim_u64_fops);
	debugfs_create_file("transfer_bytes_per_second", 0600, dir, &sim->transfer_bytes_per_second,
			    &sim_u64_fops);
	debugfs_create_file("hang_ms", 0600, dir, &sim->hang_ms, &sim_u32_fops);
	debugfs_create_file("job_ms", 0600, dir, &sim->job_ms, &sim_u32_fops);
	debugfs_create_file("hang_next", 0600, dir, &sim->hang_next, &sim_count_fops);
	debugfs_create_file("fail_next", 0600, dir, &sim->fail_next, &sim_count_fops);
}

static const struct npu_engine_ops sim_ops = {
	.init = sim_init,
	.fini = sim_fini,
	.check = sim_check,
	.start = sim_start,
	.late = sim_is_late,
	.drain = sim_drain,
	.stop = sim_stop,
	.debugfs = sim_debugfs,
};

static const struct npu_engine_ops sim_copy_ops = {
	.init = sim_init,
	.fini = sim_fini,
	.check = sim_copy_check,
	.start = sim_start,
	.late = sim_is_late,
	.drain = sim_drain,
	.stop = sim_stop,
	.debugfs = sim_debugfs,
};

const struct npu_engine_desc npumem_sim_engines[NPUMEM_SIM_ENGINES] = {
	{
		.name = NPUMEM_SIM_NAME,
		.owner = THIS_MODULE,
		.ops = &sim_ops,
		.flags = NPUMEM_ENGINE_TRANSFERS,
		.version = NPUMEM_SIM_VERSION,
	},
	{
		.name = NPUMEM_SIM_COPY_NAME,
		.owner = THIS_MODULE,
		.ops = &sim_copy_ops,
		.flags = NPUMEM_ENGINE_TRANSFERS,
		.version = NPUMEM_SIM_VERSION,
	},
};
