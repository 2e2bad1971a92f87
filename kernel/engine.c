// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: engines
 *
 * An engine is a drm_sched with one job in flight and a few callbacks. The core
 * here owns all that is hard to get right once and easy to get wrong in every
 * engine: the fences, what happens to a job whose run has failed, late jobs, and
 * unplug.
 *
 * Late jobs. The scheduler's timeout only makes us look; it is short, and no
 * verdict. timedout_job() stops the scheduler's work first, so that nothing new
 * starts, then lets the engine drain: the engine knows whether its job makes
 * progress. When it returns nothing is in flight, all fences have signalled, and
 * drm_sched_stop() finds nobody innocent to cancel: jobs of other runs are not
 * affected by one that hangs.
 *
 * Unplug. After npumem_engine_stop() every job ends with -ENODEV at once, and nothing
 * of the engine's driver is called or looked at any more, so that its module may go. The
 * scheduler itself lives until the DRM device goes, since runs of open files
 * have entities on it.
 */
#include <linux/nospec.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "compat.h"
#include "engine.h"
#include "job.h"
#include "run.h"

/* How often late jobs are looked at. What is too late is up to the engine. */
#define LATE_MS 500

static struct dma_fence *engine_run_job(struct drm_sched_job *base)
{
	struct npumem_job *job = to_npumem_job(base);
	struct npumem_engine *engine = job->engine;
	struct dma_fence *fence;

	/* An earlier job of the run failed, or its file was closed. */
	if (npumem_run_error(job->run))
		return ERR_PTR(-ECANCELED);

	mutex_lock(&engine->lock);
	if (engine->stopped) {
		mutex_unlock(&engine->lock);
		return ERR_PTR(-ENODEV);
	}
	/* It was there to wait its turn, and that is now. */
	if (!job->count) {
		mutex_unlock(&engine->lock);
		return NULL;
	}
	/* Ours until the job is done, the scheduler's from its return on. */
	fence = dma_fence_get(job->fence);
	npumem_job_begin(job);
	engine->ops->start(engine, job);
	mutex_unlock(&engine->lock);
	return fence;
}

static enum drm_gpu_sched_stat engine_timedout_job(struct drm_sched_job *base)
{
	struct npumem_engine *engine = to_npumem_job(base)->engine;
	bool stopped;

	drm_sched_wqueue_stop(&engine->sched);
	mutex_lock(&engine->lock);
	stopped = engine->stopped;
	mutex_unlock(&engine->lock);
	/* npumem_engine_stop() waits for us, or nothing is running. */
	if (!stopped)
		engine->ops->drain(engine);
	drm_sched_stop(&engine->sched, base);
	drm_sched_start(&engine->sched, -ETIMEDOUT);
	return DRM_GPU_SCHED_STAT_RESET;
}

static void engine_free_job(struct drm_sched_job *base)
{
	npumem_job_free(to_npumem_job(base));
}

static const struct drm_sched_backend_ops engine_sched_ops = {
	.run_job = engine_run_job,
	.timedout_job = engine_timedout_job,
	.free_job = engine_free_job,
};

/* What the engine's driver has, as long as it is there. */
static void engine_forget(struct npumem_engine *engine)
{
	const struct npumem_engine_ops *ops = engine->ops;

	if (ops && ops->fini)
		ops->fini(engine);
	engine->ops = NULL;
}

static void engine_fini(struct drm_device *drm, void *ptr)
{
	struct npumem_engine *engine = ptr;

	drm_sched_fini(&engine->sched);
	destroy_workqueue(engine->timeout_wq);
	/* Only if probe failed. */
	engine_forget(engine);
	mutex_destroy(&engine->lock);
}

int npumem_engine_add(struct npumem_device *dev, const struct npumem_engine_desc *desc)
{
	struct drm_sched_init_args args = {
		.ops = &engine_sched_ops,
		.num_rqs = DRM_SCHED_PRIORITY_COUNT,
		.credit_limit = 1,
		.timeout = msecs_to_jiffies(LATE_MS),
		.dev = dev->drm.dev,
	};
	struct npumem_engine *engine;
	int err;

	if (dev->engine_count == NPUMEM_MAX_ENGINES)
		return -E2BIG;
	engine = drmm_kzalloc(&dev->drm, sizeof(*engine), GFP_KERNEL);
	if (!engine)
		return -ENOMEM;
	engine->dev = dev;
	strscpy(engine->name, desc->name, sizeof(engine->name));
	engine->ops = desc->ops;
	engine->operators = desc->operators;
	engine->index = dev->engine_count;
	mutex_init(&engine->lock);
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
	/* Fences of jobs have it, too, and outlive the driver that described it. */
	args.name = engine->name;
	err = drm_sched_init(&engine->sched, &args);
	if (err)
		goto err_wq;
	err = drmm_add_action_or_reset(&dev->drm, engine_fini, engine);
	if (err)
		return err;
	dev->engines[dev->engine_count++] = engine;
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

void npumem_engine_stop(struct npumem_engine *engine)
{
	mutex_lock(&engine->lock);
	engine->stopped = true;
	mutex_unlock(&engine->lock);
	engine->ops->stop(engine);
	/* A look after late jobs, which may have found it not stopped. */
	flush_workqueue(engine->timeout_wq);
	engine_forget(engine);
}

struct npumem_engine *npumem_engine_lookup(struct npumem_device *dev, u32 index)
{
	if (index >= dev->engine_count)
		return NULL;
	return dev->engines[array_index_nospec(index, dev->engine_count)];
}
