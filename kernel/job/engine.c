// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: engines
 *
 * An engine is a drm_sched, which waits for dependencies, a queue that has one
 * job in flight, or a few (fairq.c), and a few callbacks. The core here owns all that is hard
 * to get right once and easy to get wrong in every engine: the fences, whose turn
 * it is, what happens to a job whose run has failed, late jobs, and unplug.
 *
 * Late jobs. The scheduler's timeout is short and only makes us look: the engine knows
 * whether its job makes progress. If it does, the scheduler goes on, and frees the jobs
 * that have ended behind the one in flight; without that it would keep them and their runs
 * until the one in flight is done. If the job makes no progress, timedout_job() stops the
 * scheduler's work first, so that nothing new starts, then lets the engine drain. When that
 * returns nothing is in flight, all fences have signalled, and drm_sched_stop() finds no
 * other job to cancel: jobs of other runs are not affected by one that hangs. An engine that
 * is reset instead has lost all jobs that it was given, but has executed only the first: that
 * one ends, the others are started again. The scheduler need not know.
 *
 * Unplug. After npumem_engine_stop() every job ends with -ENODEV at once, and nothing
 * of the engine's driver is called or looked at any more, so that its module may go, once
 * open files do not hold it. The scheduler itself lives until the DRM device goes, since
 * runs of open files have entities on it.
 */
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/pm_runtime.h>
#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "base/compat.h"
#include "engine.h"
#include "job.h"
#include "run.h"

/* How often a job in flight is looked at. The engine decides which job is too late. */
#define LATE_MS 500

/*
 * The last dependency of a job is its turn; NULL if it may go now. A job without positions
 * needs no turn: it ends when its other dependencies have signalled.
 */
static struct dma_fence *engine_prepare_job(struct drm_sched_job *base,
					    struct drm_sched_entity *entity)
{
	struct npu_job *job = to_npumem_job(base);
	struct spsc_node *next = READ_ONCE(base->queue_node.next);
	bool cookie, go;

	cookie = dma_fence_begin_signalling();
	go = !job->count || npumem_fairq_ask(&job->engine->queue, job);
	dma_fence_end_signalling(cookie);
	if (!go)
		return dma_fence_get(job->turn);
	/*
	 * The scheduler looks first at the run whose job was submitted first. If that is
	 * always the same one, others never get to ask for their turn: it is to look at all
	 * of them before it looks at this run's next job.
	 */
	if (next)
		container_of(next, struct drm_sched_job, queue_node)->submit_ts = ktime_get();
	return NULL;
}

/* The run of a job that cannot be started is lost, as by one that fails. */
static int engine_power(struct npu_engine *engine, struct npu_job *job)
{
	int err;

	if (!engine->runtime_pm)
		return 0;
	err = pm_runtime_resume_and_get(engine->dev->drm.dev);
	job->powered = !err;
	if (err)
		npumem_run_fail(job->run, err, NULL);
	return err;
}

/* Are there jobs of a run whose fences will signal without us? Under @started_lock. */
static bool engine_has(const struct npu_engine *engine, const struct npu_run *run)
{
	const struct npu_job *job;

	if (run->ending[engine->index])
		return true;
	list_for_each_entry(job, &engine->started, started)
		if (job->run == run)
			return true;
	return false;
}

/*
 * A job is not executed. Jobs of a run end in their order, since the last one's fence stands for
 * all, so it waits for those that the engine still has: then its fence is returned.
 */
static struct dma_fence *engine_skip(struct npu_engine *engine, struct npu_job *job, int error)
{
	struct dma_fence *fence = ERR_PTR(error);
	unsigned long flags;

	spin_lock_irqsave(&engine->started_lock, flags);
	if (engine_has(engine, job->run)) {
		fence = dma_fence_get(job->fence);
		job->skipped = error;
		list_add_tail(&job->started, &engine->started);
	}
	spin_unlock_irqrestore(&engine->started_lock, flags);
	return fence;
}

/* Start a job. Returns its fence, for the scheduler; NULL if there was nothing to do; ERR_PTR. */
static struct dma_fence *engine_start(struct npu_engine *engine, struct npu_job *job)
{
	struct dma_fence *fence;
	int err;

	/* An earlier job of this run failed, or the run's file was closed. */
	if (npumem_run_error(job->run))
		return engine_skip(engine, job, -ECANCELED);

	guard(mutex)(&engine->lock);
	if (engine->stopped)
		return engine_skip(engine, job, -ENODEV);
	if (!job->count)
		return NULL;
	err = engine_power(engine, job);
	if (err)
		return engine_skip(engine, job, err);
	/* Ours until the job is done, the scheduler's from its return on. */
	fence = dma_fence_get(job->fence);
	npumem_job_begin(job);
	engine->ops->start(engine, job);
	return fence;
}

static struct dma_fence *engine_run_job(struct drm_sched_job *base)
{
	struct npu_job *job = to_npumem_job(base);
	struct dma_fence *fence;
	bool cookie;

	cookie = dma_fence_begin_signalling();
	fence = engine_start(job->engine, job);
	/* A job that was started may have ended, and be gone. */
	if (IS_ERR_OR_NULL(fence))
		npumem_job_end(job, PTR_ERR_OR_ZERO(fence));
	dma_fence_end_signalling(cookie);
	return fence;
}

/*
 * Give a job back to the scheduler, which took it off its list to ask about it. Jobs are freed
 * from the list's beginning, so it goes behind those that have ended, but stays before those that
 * were started after it.
 */
static void engine_keep_job(struct npu_engine *engine, struct drm_sched_job *base)
{
	struct list_head *at;

	spin_lock(&engine->sched.job_list_lock);
	list_for_each(at, &engine->sched.pending_list)
		if (!dma_fence_is_signaled(
			    &list_entry(at, struct drm_sched_job, list)->s_fence->finished))
			break;
	list_add_tail(&base->list, at);
	spin_unlock(&engine->sched.job_list_lock);
	/* The scheduler frees those, and this one if it has ended meanwhile. */
	drm_sched_wqueue_start(&engine->sched);
}

/* Is the job that the engine executes too late, as far as we can say? */
static bool engine_late(struct npu_engine *engine)
{
	unsigned long flags;
	bool late;

	if (engine->ops->late)
		return engine->ops->late(engine);
	if (!engine->timeout_ms)
		return true;
	spin_lock_irqsave(&engine->started_lock, flags);
	late = !list_empty(&engine->started) &&
	       time_after(jiffies, engine->first_since + msecs_to_jiffies(engine->timeout_ms));
	spin_unlock_irqrestore(&engine->started_lock, flags);
	return late;
}

/* Under the engine's lock: nothing is started meanwhile. */
static void engine_restart(struct npu_engine *engine)
{
	struct npu_job *job, *next;
	LIST_HEAD(forgotten);
	int err = -ETIMEDOUT;
	unsigned long flags;

	spin_lock_irqsave(&engine->started_lock, flags);
	list_splice_init(&engine->started, &forgotten);
	spin_unlock_irqrestore(&engine->started_lock, flags);
	list_for_each_entry_safe(job, next, &forgotten, started) {
		list_del_init(&job->started);
		if (job->skipped) {
			npumem_job_end(job, job->skipped);
			continue;
		}
		if (!err && npumem_run_error(job->run))
			err = -ECANCELED;
		if (err) {
			npumem_job_done(job, err);
		} else {
			npumem_engine_started(engine, job);
			engine->ops->start(engine, job);
		}
		err = 0;
	}
}

static void engine_reset(struct npu_engine *engine, struct drm_sched_job *base)
{
	drm_sched_wqueue_stop(&engine->sched);
	mutex_lock(&engine->lock);
	/* Or it was stopped meanwhile, and nothing is running. */
	if (!engine->stopped) {
		engine->ops->reset(engine);
		engine_restart(engine);
	}
	mutex_unlock(&engine->lock);
	engine_keep_job(engine, base);
}

static enum drm_gpu_sched_stat engine_timedout_job(struct drm_sched_job *base)
{
	struct npu_engine *engine = to_npumem_job(base)->engine;
	bool cookie = dma_fence_begin_signalling();
	bool stopped;

	mutex_lock(&engine->lock);
	stopped = engine->stopped;
	mutex_unlock(&engine->lock);
	/*
	 * Unless the engine is stopped, npumem_engine_stop() waits for us; if it is, no
	 * job runs.
	 */
	if (!stopped && !engine_late(engine)) {
		engine_keep_job(engine, base);
		goto out;
	}
	if (!stopped && engine->ops->reset) {
		engine_reset(engine, base);
		goto out;
	}
	drm_sched_wqueue_stop(&engine->sched);
	if (!stopped)
		engine->ops->drain(engine);
	drm_sched_stop(&engine->sched, base);
	drm_sched_start(&engine->sched, -ETIMEDOUT);
out:
	dma_fence_end_signalling(cookie);
	return DRM_GPU_SCHED_STAT_RESET;
}

/*
 * Free a job, whose fence has signalled. The scheduler calls this from the work that starts
 * other jobs, so it must not wait for memory.
 */
static void engine_free_job(struct drm_sched_job *base)
{
	bool cookie = dma_fence_begin_signalling();

	npumem_job_free(to_npumem_job(base));
	dma_fence_end_signalling(cookie);
}

void npumem_engine_started(struct npu_engine *engine, struct npu_job *job)
{
	unsigned long flags;

	spin_lock_irqsave(&engine->started_lock, flags);
	if (list_empty(&engine->started))
		engine->first_since = jiffies;
	list_add_tail(&job->started, &engine->started);
	spin_unlock_irqrestore(&engine->started_lock, flags);
}

void npumem_engine_ended(struct npu_engine *engine, struct npu_job *job)
{
	unsigned long flags;

	spin_lock_irqsave(&engine->started_lock, flags);
	if (list_is_first(&job->started, &engine->started))
		engine->first_since = jiffies;
	list_del_init(&job->started);
	job->run->ending[engine->index]++;
	spin_unlock_irqrestore(&engine->started_lock, flags);
	if (!job->powered)
		return;
	job->powered = false;
	pm_runtime_mark_last_busy(engine->dev->drm.dev);
	pm_runtime_put_autosuspend(engine->dev->drm.dev);
}

struct npu_job *npumem_engine_signalled(struct npu_engine *engine, struct npu_run *run)
{
	struct npu_job *first;
	unsigned long flags;

	spin_lock_irqsave(&engine->started_lock, flags);
	run->ending[engine->index]--;
	first = list_first_entry_or_null(&engine->started, struct npu_job, started);
	/* If another job of its run is about to signal, that one's caller goes on with it. */
	if (first && first->skipped && !first->run->ending[engine->index]) {
		list_del_init(&first->started);
		first->run->ending[engine->index]++;
	} else {
		first = NULL;
	}
	spin_unlock_irqrestore(&engine->started_lock, flags);
	return first;
}

static const struct drm_sched_backend_ops engine_sched_ops = {
	.prepare_job = engine_prepare_job,
	.run_job = engine_run_job,
	.timedout_job = engine_timedout_job,
	.free_job = engine_free_job,
};

/* Let the engine's driver free what it has, while the driver is still there. */
static void engine_forget(struct npu_engine *engine)
{
	const struct npu_engine_ops *ops = engine->ops;

	if (ops && ops->fini)
		ops->fini(engine);
	engine->ops = NULL;
}

static void engine_fini(struct drm_device *drm, void *ptr)
{
	struct npu_engine *engine = ptr;

	drm_sched_fini(&engine->sched);
	destroy_workqueue(engine->timeout_wq);
	/* This does something only if probe failed: npumem_engine_stop() has done it otherwise. */
	engine_forget(engine);
	mutex_destroy(&engine->lock);
}

int npumem_engine_add(struct npu_device *dev, const struct npu_engine_desc *desc)
{
	struct drm_sched_init_args args = {
		.ops = &engine_sched_ops,
		.num_rqs = DRM_SCHED_PRIORITY_COUNT,
		/*
		 * One credit for each job whose turn it is, and one to find out which
		 * others are ready.
		 */
		.credit_limit = max(desc->depth, 1) + 1,
		.timeout = msecs_to_jiffies(LATE_MS),
		.dev = dev->drm.dev,
	};
	struct npu_engine *engine;
	int err;

	if (dev->engine_count == NPUMEM_MAX_ENGINES)
		return -E2BIG;
	if (desc->depth > NPUMEM_MAX_DEPTH || !desc->ops->drain == !desc->ops->reset)
		return -EINVAL;
	engine = drmm_kzalloc(&dev->drm, sizeof(*engine), GFP_KERNEL);
	if (!engine)
		return -ENOMEM;
	engine->dev = dev;
	strscpy(engine->name, desc->name, sizeof(engine->name));
	engine->owner = desc->owner;
	engine->ops = desc->ops;
	engine->flags = desc->flags;
	engine->version = desc->version;
	engine->addresses = desc->addresses;
	engine->timeout_ms = desc->timeout_ms;
	engine->runtime_pm = desc->runtime_pm;
	engine->index = dev->engine_count;
	mutex_init(&engine->lock);
	spin_lock_init(&engine->started_lock);
	INIT_LIST_HEAD(&engine->started);
	npumem_fairq_init(&engine->queue, engine->index, max(desc->depth, 1));
	if (engine->ops->init) {
		err = engine->ops->init(engine);
		if (err)
			goto err_lock;
	}
	engine->timeout_wq = alloc_ordered_workqueue("npumem-late", WQ_MEM_RECLAIM);
	if (!engine->timeout_wq) {
		err = -ENOMEM;
		goto err_init;
	}
	args.timeout_wq = engine->timeout_wq;
	/* The scheduler's fences have this name, too, and outlive the driver that described it. */
	args.name = engine->name;
	err = drm_sched_init(&engine->sched, &args);
	if (err)
		goto err_wq;
	err = drmm_add_action_or_reset(&dev->drm, engine_fini, engine);
	if (err)
		return err;
	dev->engines[dev->engine_count++] = engine;
	dev->addresses |= BIT(engine->addresses);
	if (!(engine->flags & NPUMEM_ENGINE_PROCESS))
		dev->kernel_addresses |= BIT(engine->addresses);
	return 0;

err_wq:
	destroy_workqueue(engine->timeout_wq);
err_init:
	if (engine->ops->fini)
		engine->ops->fini(engine);
err_lock:
	mutex_destroy(&engine->lock);
	return err;
}

void npumem_engine_stop(struct npu_engine *engine)
{
	bool cookie;

	mutex_lock(&engine->lock);
	engine->stopped = true;
	mutex_unlock(&engine->lock);
	/* The job in flight has signalled when stop() returns. */
	cookie = dma_fence_begin_signalling();
	engine->ops->stop(engine);
	dma_fence_end_signalling(cookie);
	/* A look after late jobs may have begun before the engine was stopped. */
	flush_workqueue(engine->timeout_wq);
	engine_forget(engine);
}

static void engines_release(struct npu_device *dev, u32 count)
{
	while (count--)
		module_put(dev->engines[count]->owner);
}

int npumem_engines_hold(struct npu_device *dev)
{
	u32 i;
	int idx;

	/* Before drm_dev_exit() no module is gone, though one may be on its way. */
	if (!drm_dev_enter(&dev->drm, &idx))
		return -ENODEV;
	for (i = 0; i < dev->engine_count; i++)
		if (!try_module_get(dev->engines[i]->owner))
			break;
	drm_dev_exit(idx);
	if (i == dev->engine_count)
		return 0;
	engines_release(dev, i);
	return -ENODEV;
}

void npumem_engines_release(struct npu_device *dev)
{
	engines_release(dev, dev->engine_count);
}

struct npu_engine *npumem_engine_lookup(struct npu_device *dev, u32 index)
{
	if (index >= dev->engine_count)
		return NULL;
	return dev->engines[array_index_nospec(index, dev->engine_count)];
}
