// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs: an entry of a SUBMIT is checked and made into a job of the scheduler, which later
 * begins and ends. submit.c has the ioctl.
 */
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/uaccess.h>
#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "base/client.h"
#include "base/compat.h"
#include "engine.h"
#include "fault.h"
#include "base/fence.h"
#include "job.h"
#include "range.h"
#include "base/trace.h"

/* ------------------------------------------------------------ job life cycle */

void npumem_job_begin(struct npu_job *job)
{
	trace_npumem_job_start(job->run->id, job->engine->index, job->first, job->count,
			       job->commands_size, 0);
	npumem_job_dma_begin(job);
	npumem_engine_started(job->engine, job);
}

/* Count a job. Jobs cost memory that no cgroup is charged for, so their number is limited. */
static int job_count(struct npu_job *job)
{
	struct npu_client *client = job->run->client;
	int err = -EBUSY;

	if (atomic64_read(&client->used[NPUMEM_RESOURCE_JOBS]) < NPUMEM_MAX_CLIENT_JOBS)
		err = npumem_client_charge(client, NPUMEM_RESOURCE_JOBS, 1);
	job->counted = !err;
	return err;
}

/* Before a job's fence signals: a client that waits for it to submit more must find room. */
static void job_uncount(struct npu_job *job)
{
	if (job->counted)
		npumem_client_uncharge(job->run->client, NPUMEM_RESOURCE_JOBS, 1);
	job->counted = false;
}

void npumem_job_end(struct npu_job *job, int error)
{
	struct npu_fairq_wake wake;

	job_uncount(job);
	npumem_fairq_end(&job->engine->queue, job, &wake);
	npumem_fence_signal(job->fence, error);
	npumem_fairq_wake(&wake);
}

/* What is said of a failure of which only the job is known. */
static struct npumem_verdict job_lost(const struct npu_job *job)
{
	struct npumem_verdict verdict;

	npumem_verdict_init(&verdict, NPUMEM_RULE_ENFORCE_LOST);
	verdict.position = job->first;
	return verdict;
}

void npumem_job_done_as(struct npu_job *job, int error, const struct npumem_verdict *verdict)
{
	struct npumem_verdict why = verdict->rule ? *verdict : job_lost(job);
	bool cookie = dma_fence_begin_signalling();
	struct npu_engine *engine = job->engine;
	struct npu_run *run = job->run;
	struct npu_fairq_wake wake;
	struct dma_fence *fence;

	trace_npumem_job_end(run->id, engine->index, job->first, job->count, job->commands_size,
			     error);
	/* -ECANCELED is of a run that is lost already, which was recorded then. */
	if (error && error != -ECANCELED) {
		npumem_run_fail(run, error, &why);
		npumem_fault_failed(run, error, &why);
	}
	npumem_job_dma_end(job);
	npumem_engine_ended(engine, job);
	job_uncount(job);
	npumem_fairq_end(&engine->queue, job, &wake);
	fence = dma_fence_get(job->fence);
	kref_get(&run->ref);
	/* The scheduler may free the job from here on. */
	npumem_fence_signal(fence, error);
	dma_fence_put(fence);
	npumem_fairq_wake(&wake);
	while ((job = npumem_engine_signalled(engine, run))) {
		npumem_run_put_async(run);
		run = job->run;
		kref_get(&run->ref);
		npumem_job_end(job, job->skipped);
	}
	npumem_run_put_async(run);
	dma_fence_end_signalling(cookie);
}
EXPORT_SYMBOL_GPL(npumem_job_done_as);

void npumem_job_done(struct npu_job *job, int error)
{
	struct npumem_verdict nobody_knows = {};

	npumem_job_done_as(job, error, &nobody_knows);
}
EXPORT_SYMBOL_GPL(npumem_job_done);

/* What a client is charged for a job. */
static u64 job_charged(const struct npu_job *job)
{
	return job->commands_size + (u64)job->relocation_count * sizeof(*job->relocations);
}

void npumem_job_free(struct npu_job *job)
{
	struct npu_run *run = job->run;

	job_uncount(job);
	drm_sched_job_cleanup(&job->base);
	dma_fence_put(job->turn);
	if (job->issued)
		dma_fence_put(job->fence);
	else
		npumem_fence_free(job->fence);
	npumem_bounce_put(job->bounce);
	kvfree(job->commands);
	kvfree(job->relocations);
	npumem_client_uncharge(run->client, NPUMEM_RESOURCE_MEMORY, job_charged(job));
	kfree(job);
	npumem_run_put_async(run);
}

/* ------------------------------------------------------------------- checks */

static u64 position_work(const struct npu_run *run, u32 position, u32 *ticks)
{
	const struct npuv_plan *plan = run->plan->v;
	const struct npumem_position *p = npuv_position(plan, position);
	u64 work = npuv_states_work(plan, position, ticks);

	/* Bytes of a copy, and whether they are external, are looked up access by access. */
	if (p->kind == NPUMEM_POSITION_STEP)
		work += npuv_step(npumem_plan_graph(run->plan)->v, p->index)->access_count;
	return work;
}

u64 npumem_job_work(const struct npu_run *run, const struct drm_npumem_job *spec, u64 max,
		    u32 *ticks)
{
	u64 work = npumem_job_command_work(spec) + spec->relocations.count;
	u32 i;

	if (npumem_job_is_edge(spec))
		return npuv_states_cross_work(run->plan->v, spec->first_position);
	for (i = 0; i < spec->position_count && work <= max; i++) {
		if (npuv_tick(ticks, 1))
			break;
		work += position_work(run, spec->first_position + i, ticks);
	}
	return work;
}

static int check_positions(const struct npu_run *run, struct drm_npumem_job *spec)
{
	u32 count = run->plan->v->positions.count;
	struct npu_engine *engine;

	if (spec->flags || !spec->position_count || spec->first_position >= count ||
	    spec->position_count > count - spec->first_position)
		return -EINVAL;
	if (!spec->commands.ptr != !spec->commands.size ||
	    spec->relocations.count > spec->commands.size / 8)
		return -EINVAL;
	if (spec->commands.size > NPUMEM_MAX_COMMANDS)
		return -E2BIG;
	engine = npumem_engine_lookup(run->dev, spec->engine);
	if (!engine)
		return -EINVAL;
	/* Speculation with a wrong index would read records that lead to others. */
	spec->first_position = array_index_nospec(spec->first_position, count);
	return 0;
}

static int check_edge(const struct npu_run *run, struct drm_npumem_job *spec)
{
	u32 count = run->plan->v->edges.count;

	if (spec->flags != NPUMEM_JOB_EDGE || spec->position_count || spec->engine ||
	    spec->commands.ptr || spec->commands.size || spec->first_position >= count ||
	    spec->relocations.stride || spec->relocations.count || spec->relocations.ptr)
		return -EINVAL;
	spec->first_position = array_index_nospec(spec->first_position, count);
	return 0;
}

int npumem_job_check(const struct npu_run *run, struct drm_npumem_job *spec)
{
	return npumem_job_is_edge(spec) ? check_edge(run, spec) : check_positions(run, spec);
}

/* --------------------------------------------------------------------- make */

static struct npu_job *job_create(struct npu_run *run, struct npu_engine *engine,
				  struct drm_file *file)
{
	struct npu_job *job = kzalloc(sizeof(*job), GFP_KERNEL_ACCOUNT);
	int err;

	if (!job)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&job->started);
	job->run = run;
	job->engine = engine;
	err = job_count(job);
	if (err)
		goto err_job;
	err = -ENOMEM;
	job->fence = npumem_fence_alloc();
	if (!job->fence)
		goto err_count;
	/* Nobody else sees this fence, and nobody compares two of them, so all are number 1. */
	job->turn = npumem_fence_create(run->turn_context + engine->index, 1);
	if (!job->turn)
		goto err_fence;
	err = drm_sched_job_init(&job->base, &run->entities[engine->index], 1, file,
				 file->client_id);
	if (err)
		goto err_turn;
	kref_get(&run->ref);
	return job;

err_turn:
	dma_fence_put(job->turn);
err_fence:
	npumem_fence_free(job->fence);
err_count:
	job_uncount(job);
err_job:
	kfree(job);
	return ERR_PTR(err);
}

/* Not every engine moves bytes between arena and host memory. */
static int job_check_transfers(const struct npu_job *job, u32 *ticks)
{
	u32 i;

	if (job->engine->flags & NPUMEM_ENGINE_TRANSFERS || !job->run->plan->v->transfers)
		return 0;
	for (i = 0; i < job->count; i++) {
		if (npuv_tick(ticks, 1))
			return -EINTR;
		if (npumem_job_position(job, i)->kind != NPUMEM_POSITION_STEP)
			return -EOPNOTSUPP;
	}
	return 0;
}

/* Copy a job's commands, once, since the caller may change them meanwhile. */
static int job_copy_commands(struct npu_job *job, const struct drm_npumem_job *spec)
{
	u32 size = spec->commands.size;
	int err = npumem_client_charge(job->run->client, NPUMEM_RESOURCE_MEMORY, size);

	if (err)
		return err;
	job->commands_size = size;
	job->commands = kvmalloc(job->commands_size, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!job->commands)
		return -ENOMEM;
	if (copy_from_user(job->commands, u64_to_user_ptr(spec->commands.ptr), size))
		return -EFAULT;
	return 0;
}

static int job_copy_relocations(struct npu_job *job, const struct drm_npumem_job *spec)
{
	void *copy = npumem_array_copy(&spec->relocations, sizeof(*job->relocations),
				       NPUMEM_MAX_RELOCATIONS);
	u64 size = (u64)spec->relocations.count * sizeof(*job->relocations);
	int err;

	if (IS_ERR(copy))
		return PTR_ERR(copy);
	err = npumem_client_charge(job->run->client, NPUMEM_RESOURCE_MEMORY, size);
	if (err) {
		kvfree(copy);
		return err;
	}
	job->relocations = copy;
	job->relocation_count = spec->relocations.count;
	return 0;
}

/* The accesses are there, and as large; engines need not look again. */
static int job_check_relocations(const struct npu_job *job, u32 *ticks)
{
	struct drm_npumem_relocation *r;
	u32 i, count;

	for (i = 0; i < job->relocation_count; i++) {
		r = &job->relocations[i];
		if (npuv_tick(ticks, 1))
			return -EINTR;
		if (r->pad || r->offset % 8 || r->offset > job->commands_size - 8 ||
		    r->position >= job->count)
			return -EINVAL;
		r->position = array_index_nospec(r->position, job->count);
		count = npumem_job_access_count(job, r->position);
		if (r->access >= count)
			return -EINVAL;
		r->access = array_index_nospec(r->access, count);
		if (r->delta >= npumem_job_access_bytes(job, r->position, r->access))
			return -EINVAL;
	}
	return 0;
}

static int job_check_commands(struct npu_job *job, u32 *ticks)
{
	struct npu_engine *engine = job->engine;
	int idx, err = -EOPNOTSUPP;

	if (!job->commands && !(engine->flags & NPUMEM_ENGINE_PROCESS))
		return 0;
	/* The engine's driver stays there until drm_dev_exit(). */
	if (!drm_dev_enter(&engine->dev->drm, &idx))
		return -ENODEV;
	if (engine->ops->check)
		err = engine->ops->check(engine, job, ticks);
	drm_dev_exit(idx);
	return err;
}

int npumem_job_bounce(struct npu_job *job, u64 size)
{
	struct npu_bounce *bounce = npumem_run_bounce(job->run, job->engine->index, size);

	if (IS_ERR(bounce))
		return PTR_ERR(bounce);
	job->bounce = bounce;
	return 0;
}

struct npu_job *npumem_job_create(struct npu_run *run, const struct drm_npumem_job *spec,
				  struct drm_file *file, u32 *ticks)
{
	struct npu_job *job;
	int err;

	job = job_create(run, run->dev->engines[spec->engine], file);
	if (IS_ERR(job))
		return job;
	job->first = spec->first_position;
	job->count = spec->position_count;
	err = job_check_transfers(job, ticks);
	if (!err && spec->commands.size && npuv_tick(ticks, npumem_job_command_work(spec)))
		err = -EINTR;
	if (!err && spec->commands.size)
		err = job_copy_commands(job, spec);
	if (!err)
		err = job_copy_relocations(job, spec);
	if (!err)
		err = job_check_relocations(job, ticks);
	if (!err)
		err = job_check_commands(job, ticks);
	if (err) {
		npumem_job_free(job);
		return ERR_PTR(err);
	}
	return job;
}

struct npu_job *npumem_job_create_empty(struct npu_run *run, struct drm_file *file)
{
	return job_create(run, run->dev->engines[0], file);
}
