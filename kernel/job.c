// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: SUBMIT
 *
 * All jobs of a call go or none does, so everything that can fail comes first:
 * copy the arguments, find the syncobjs, create the jobs, then, under the locks,
 * collect dependencies, and last of all ask the tile states, which are the only
 * thing to be undone. From the first drm_sched_job_arm() on nothing fails.
 *
 * Order. A run's jobs are a queue: one entity per engine, and a SUBMIT depends
 * on what the arena's reservation object holds, which includes the last job of
 * the previous SUBMIT. So the tile states, which advance at submission, are in
 * step with what the engine will do: by the time that a job executes, all that
 * was submitted before it has been executed.
 *
 * Locks: run->lock, then the arena's dma_resv. Jobs are armed and pushed under
 * both, in their order.
 */
#include <linux/dma-fence-chain.h>
#include <linux/dma-resv.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/sched/signal.h>
#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_print.h>
#include <drm/drm_syncobj.h>

#include "compat.h"
#include "fault.h"
#include "fence.h"
#include "job.h"
#include "trace.h"

/**
 * struct submit - one call on its way
 * @drm: device
 * @file: caller
 * @args: of the ioctl
 * @run: referenced
 * @specs: what the caller asked for, @args->jobs.count of them
 * @jobs: jobs made of them; those that are NULL are the scheduler's already
 * @in: syncs to wait for
 * @out: syncs to signal
 * @syncobjs: of @out, referenced
 * @chains: of those in @out that are timelines
 */
struct submit {
	struct drm_device *drm;
	struct drm_file *file;
	struct drm_npumem_submit *args;
	struct npumem_run *run;
	struct drm_npumem_job *specs;
	struct npumem_job **jobs;
	struct drm_npumem_sync *in;
	struct drm_npumem_sync *out;
	struct drm_syncobj **syncobjs;
	struct dma_fence_chain **chains;
};

/* ------------------------------------------------------------ job life cycle */

void npumem_job_begin(struct npumem_job *job)
{
	trace_npumem_job_start(job->run->id, job->first, job->count, job->op, 0);
}

void npumem_job_done(struct npumem_job *job, int error)
{
	struct dma_fence *fence = dma_fence_get(job->fence);
	struct npumem_run *run = job->run;
	struct npumem_verdict verdict;

	trace_npumem_job_end(run->id, job->first, job->count, job->op, error);
	if (error) {
		npumem_run_fail(run, error);
		npumem_verdict_init(&verdict, NPUMEM_RULE_ENFORCE_LOST);
		verdict.position = job->first;
		npumem_fault_failed(run->dev, run->id, error, &verdict);
	}
	/* The scheduler may free the job from here on. */
	npumem_fence_signal(fence, error);
	dma_fence_put(fence);
}
EXPORT_SYMBOL_GPL(npumem_job_done);

void npumem_job_free(struct npumem_job *job)
{
	struct npumem_run *run = job->run;

	drm_sched_job_cleanup(&job->base);
	dma_fence_put(job->fence);
	npumem_bounce_put(job->bounce);
	kfree(job);
	npumem_run_put_async(run);
}

/* ------------------------------------------------------------------- checks */

/* A copy needs as many bytes as it has, and no more than an arena can have. */
static int check_copy(const struct npuv_plan *plan, u32 position, u64 *bounce)
{
	const struct npuv_graph *graph = plan->graph;
	const struct npumem_step *step;
	u64 bytes, read = 0, written = 0;
	u32 a;

	if (npuv_position(plan, position)->kind != NPUMEM_POSITION_STEP)
		return 0;
	step = npuv_step(graph, npuv_position(plan, position)->index);
	for (a = step->first_access; a < step->first_access + step->access_count; a++) {
		bytes = npuv_access_bytes(plan, a);
		if (npuv_access(graph, a)->mode != NPUMEM_ACCESS_WRITE)
			read += bytes;
		if (npuv_access(graph, a)->mode != NPUMEM_ACCESS_READ)
			written += bytes;
	}
	if (read != written || read > plan->info->arena_size)
		return -EINVAL;
	*bounce = max(*bounce, read);
	return 0;
}

static int check_copies(const struct npuv_plan *plan, const struct drm_npumem_job *spec,
			u64 *bounce)
{
	u32 i;
	int err;

	for (i = 0; i < spec->position_count; i++) {
		if (signal_pending(current))
			return -ERESTARTSYS;
		err = check_copy(plan, spec->first_position + i, bounce);
		if (err)
			return err;
		cond_resched();
	}
	return 0;
}

static int check_value(const struct drm_npumem_job *spec)
{
	switch (spec->op) {
	case NPUMEM_OP_NOP:
	case NPUMEM_OP_COPY:
		return spec->value ? -EINVAL : 0;
	case NPUMEM_OP_FILL:
		return spec->value > U8_MAX ? -EINVAL : 0;
	case NPUMEM_OP_MIX:
		return 0;
	case NPUMEM_OP_NATIVE:
		/* No engine has command buffers yet. */
		return -EOPNOTSUPP;
	default:
		return -EINVAL;
	}
}

static int check_spec(const struct npuv_plan *plan, const struct drm_npumem_job *spec)
{
	int err;

	if (spec->flags || !spec->position_count || spec->first_position >= plan->positions.count ||
	    spec->position_count > plan->positions.count - spec->first_position)
		return -EINVAL;
	err = check_value(spec);
	if (err)
		return err;
	if (spec->cmd_bo || spec->cmd_offset || spec->cmd_size || spec->relocs.stride ||
	    spec->relocs.count || spec->relocs.ptr)
		return -EINVAL;
	return 0;
}

/* --------------------------------------------------------------------- make */

static struct npumem_job *job_create(struct submit *submit, struct drm_npumem_job *spec)
{
	struct npumem_run *run = submit->run;
	struct npumem_engine *engine;
	struct npumem_job *job;
	u64 bounce = 0;
	int err;

	err = check_spec(run->plan->v, spec);
	if (err)
		return ERR_PTR(err);
	/* Records found by it tell where to find others. */
	spec->first_position =
		array_index_nospec(spec->first_position, run->plan->v->positions.count);
	engine = npumem_engine_lookup(run->dev, spec->engine);
	if (!engine)
		return ERR_PTR(-EINVAL);
	if (!(engine->operators & BIT_ULL(spec->op)))
		return ERR_PTR(-EOPNOTSUPP);
	/* The order of jobs on several engines would need fences in between. */
	if (spec->engine != submit->specs[0].engine)
		return ERR_PTR(-EOPNOTSUPP);
	if (spec->op == NPUMEM_OP_COPY) {
		err = check_copies(run->plan->v, spec, &bounce);
		if (err)
			return ERR_PTR(err);
	}

	job = kzalloc(sizeof(*job), GFP_KERNEL_ACCOUNT);
	if (!job)
		return ERR_PTR(-ENOMEM);
	job->run = run;
	job->engine = engine;
	job->first = spec->first_position;
	job->count = spec->position_count;
	job->op = spec->op;
	job->value = spec->value;
	if (bounce) {
		job->bounce = npumem_run_bounce(run, bounce);
		if (IS_ERR(job->bounce)) {
			err = PTR_ERR(job->bounce);
			goto err_job;
		}
	}
	job->fence =
		npumem_fence_create(run->fence_context, atomic64_inc_return(&run->fence_seqno));
	if (!job->fence) {
		err = -ENOMEM;
		goto err_bounce;
	}
	err = drm_sched_job_init(&job->base, &run->entities[engine->index], 1, submit->file,
				 submit->file->client_id);
	if (err)
		goto err_fence;
	kref_get(&run->ref);
	return job;

err_fence:
	dma_fence_put(job->fence);
err_bounce:
	npumem_bounce_put(job->bounce);
err_job:
	kfree(job);
	return ERR_PTR(err);
}

static int submit_create_jobs(struct submit *submit)
{
	u32 i, count = submit->args->jobs.count;
	struct npumem_job *job;

	submit->jobs = kvcalloc(count, sizeof(*submit->jobs), GFP_KERNEL_ACCOUNT);
	if (!submit->jobs)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		job = job_create(submit, &submit->specs[i]);
		if (IS_ERR(job)) {
			submit->args->failed_job = i;
			return npumem_refuse(submit->drm, (int)PTR_ERR(job),
					     "SUBMIT: job %u (positions %u + %u, op %u)", i,
					     submit->specs[i].first_position,
					     submit->specs[i].position_count, submit->specs[i].op);
		}
		submit->jobs[i] = job;
	}
	return 0;
}

static int submit_check_syncs(struct submit *submit, const struct drm_npumem_sync *syncs, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (syncs[i].pad)
			return npumem_refuse(submit->drm, -EINVAL, "SUBMIT: pad of sync %u", i);
	return 0;
}

/* As npumem_array_copy(), but leaves nothing to free behind if it fails. */
static int submit_copy_array(const struct drm_npumem_array *array, size_t size, u32 max_count,
			     void **copy)
{
	void *p = npumem_array_copy(array, size, max_count);

	if (IS_ERR(p))
		return PTR_ERR(p);
	*copy = p;
	return 0;
}

static int submit_copy(struct submit *submit)
{
	struct drm_npumem_submit *args = submit->args;
	int err;

	if (!args->jobs.count)
		return npumem_refuse(submit->drm, -EINVAL, "SUBMIT: no jobs");
	err = submit_copy_array(&args->jobs, sizeof(*submit->specs), NPUMEM_MAX_JOBS,
				(void **)&submit->specs);
	if (!err)
		err = submit_copy_array(&args->in_syncs, sizeof(*submit->in), NPUMEM_MAX_SYNCS,
					(void **)&submit->in);
	if (!err)
		err = submit_copy_array(&args->out_syncs, sizeof(*submit->out), NPUMEM_MAX_SYNCS,
					(void **)&submit->out);
	if (err)
		drm_dbg(submit->drm, "SUBMIT: array of jobs or syncs: %d\n", err);
	if (!err)
		err = submit_check_syncs(submit, submit->in, args->in_syncs.count);
	if (!err)
		err = submit_check_syncs(submit, submit->out, args->out_syncs.count);
	return err;
}

static int submit_find_out(struct submit *submit)
{
	u32 i, count = submit->args->out_syncs.count;

	if (!count)
		return 0;
	submit->syncobjs = kvcalloc(count, sizeof(*submit->syncobjs), GFP_KERNEL_ACCOUNT);
	submit->chains = kvcalloc(count, sizeof(*submit->chains), GFP_KERNEL_ACCOUNT);
	if (!submit->syncobjs || !submit->chains)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		submit->syncobjs[i] = drm_syncobj_find(submit->file, submit->out[i].handle);
		if (!submit->syncobjs[i])
			return npumem_refuse(submit->drm, -ENOENT,
					     "SUBMIT: out-sync %u: no syncobj %u", i,
					     submit->out[i].handle);
		if (!submit->out[i].point)
			continue;
		submit->chains[i] = dma_fence_chain_alloc();
		if (!submit->chains[i])
			return -ENOMEM;
	}
	return 0;
}

/* What the first job waits for, and so all of them. */
static int submit_add_in(struct submit *submit)
{
	u32 i, count = submit->args->in_syncs.count;
	struct dma_fence *fence;
	int err;

	for (i = 0; i < count; i++) {
		err = drm_syncobj_find_fence(submit->file, submit->in[i].handle,
					     submit->in[i].point, 0, &fence);
		if (!err)
			err = drm_sched_job_add_dependency(&submit->jobs[0]->base, fence);
		if (err)
			return npumem_refuse(submit->drm, err,
					     "SUBMIT: in-sync %u: syncobj %u, point %llu", i,
					     submit->in[i].handle, submit->in[i].point);
	}
	return 0;
}

static void submit_fini(struct submit *submit)
{
	u32 i;

	for (i = 0; submit->jobs && i < submit->args->jobs.count; i++)
		if (submit->jobs[i])
			npumem_job_free(submit->jobs[i]);
	/* A count that was refused has no arrays. */
	for (i = 0; submit->syncobjs && submit->chains && i < submit->args->out_syncs.count; i++) {
		if (submit->syncobjs[i])
			drm_syncobj_put(submit->syncobjs[i]);
		dma_fence_chain_free(submit->chains[i]);
	}
	kvfree(submit->chains);
	kvfree(submit->syncobjs);
	kvfree(submit->jobs);
	kvfree(submit->out);
	kvfree(submit->in);
	kvfree(submit->specs);
	if (submit->run)
		npumem_run_put(submit->run);
}

/* ----------------------------------------------------------------- let it go */

/* Take back what submit_states() let go before job and position. */
static void submit_undo(struct submit *submit, u32 job, u32 position)
{
	struct npuv_states *states = submit->run->states;

	for (;;) {
		while (position--)
			npuv_states_undo(states, submit->jobs[job]->first + position);
		if (!job--)
			return;
		position = submit->jobs[job]->count;
	}
}

/* Ask the tile states for all positions of all jobs. Under run->lock. */
static int submit_states(struct submit *submit)
{
	struct npuv_states *states = submit->run->states;
	struct drm_npumem_submit *args = submit->args;
	u32 i, p;
	int err;

	for (i = 0; i < args->jobs.count; i++) {
		for (p = 0; p < submit->jobs[i]->count; p++) {
			err = npuv_states_submit(states, submit->jobs[i]->first + p,
						 &args->verdict);
			/* Thousands of positions take a while. */
			if (!err && p % 256 == 255 && signal_pending(current)) {
				p++;
				err = -ERESTARTSYS;
			}
			if (err) {
				submit_undo(submit, i, p);
				if (err == -EPERM)
					args->failed_job = i;
				return err;
			}
		}
	}
	return 0;
}

/* Nothing fails any more. Under run->lock and the arena's dma_resv. */
static void submit_push(struct submit *submit)
{
	struct dma_resv *resv = submit->run->arena->shmem.base.resv;
	struct npumem_run *run = submit->run;
	struct dma_fence *last = NULL;
	struct npumem_job *job;
	u32 i;

	for (i = 0; i < submit->args->jobs.count; i++) {
		job = submit->jobs[i];
		drm_sched_job_arm(&job->base);
		dma_fence_put(last);
		last = dma_fence_get(&job->base.s_fence->finished);
		/* The scheduler's from here on. */
		submit->jobs[i] = NULL;
		drm_sched_entity_push_job(&job->base);
	}
	/* Jobs end in order: who waits for the last one waits for all. */
	dma_resv_add_fence(resv, last, DMA_RESV_USAGE_WRITE);
	for (i = 0; i < submit->args->out_syncs.count; i++) {
		if (submit->chains[i]) {
			drm_syncobj_add_point(submit->syncobjs[i], submit->chains[i], last,
					      submit->out[i].point);
			submit->chains[i] = NULL;
		} else {
			drm_syncobj_replace_fence(submit->syncobjs[i], last);
		}
	}
	dma_fence_put(run->last);
	run->last = last;
}

static int submit_locked(struct submit *submit)
{
	struct drm_gem_object *arena = &submit->run->arena->shmem.base;
	int err;

	if (npumem_run_error(submit->run)) {
		npumem_verdict_init(&submit->args->verdict, NPUMEM_RULE_ENFORCE_LOST);
		return -EIO;
	}
	err = dma_resv_lock_interruptible(arena->resv, NULL);
	if (err)
		return -ERESTARTSYS;
	err = dma_resv_reserve_fences(arena->resv, 1);
	if (!err)
		err = drm_sched_job_add_implicit_dependencies(&submit->jobs[0]->base, arena, true);
	if (!err)
		err = submit_states(submit);
	if (!err)
		submit_push(submit);
	dma_resv_unlock(arena->resv);
	return err;
}

static int submit_do(struct submit *submit)
{
	struct npumem_run *run;
	int err, idx;

	run = npumem_run_lookup(submit->file->driver_priv, submit->args->run);
	if (!run)
		return npumem_refuse(submit->drm, -ENOENT, "SUBMIT: no run %u", submit->args->run);
	submit->run = run;
	err = submit_copy(submit);
	if (!err)
		err = submit_create_jobs(submit);
	if (!err)
		err = submit_find_out(submit);
	if (!err)
		err = submit_add_in(submit);
	if (err)
		return err;
	if (mutex_lock_interruptible(&run->lock))
		return -ERESTARTSYS;
	/* Only now: unplug waits for us, but never for a page fault of the caller's. */
	err = -ENODEV;
	if (drm_dev_enter(submit->drm, &idx)) {
		err = submit_locked(submit);
		drm_dev_exit(idx);
	}
	mutex_unlock(&run->lock);
	if (err == -EPERM)
		npumem_fault_refused(run->dev, run->id, err, &submit->args->verdict);
	trace_npumem_submit(run->id, submit->args->jobs.count, err);
	return err;
}

int npumem_ioctl_submit(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_npumem_submit *args = data;
	struct submit submit = { .drm = drm, .file = file, .args = args };
	int err;

	args->failed_job = NPUMEM_NONE;
	memset(&args->verdict, 0, sizeof(args->verdict));
	if (args->flags || args->pad)
		return npumem_refuse(drm, -EINVAL, "SUBMIT: flags %#x, pad %u", args->flags,
				     args->pad);
	err = submit_do(&submit);
	submit_fini(&submit);
	return err;
}
