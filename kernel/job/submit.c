// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: SUBMIT
 *
 * All jobs of a call go or none does, so everything that can fail comes first:
 * copy the arguments, find the syncobjs, create the jobs, then, under run->lock,
 * ask the tile states, which are the only thing to be undone, and, under the
 * dma_resvs, collect dependencies. From the first drm_sched_job_arm() on nothing fails.
 *
 * Work. A call has at most NPUMEM_MAX_SUBMIT_WORK units of work (or one position, or one
 * edge), counted before any of it is done; undoing it is no more. A fatal signal ends the
 * call within NPUV_TICKS units, whichever of its loops it is in. If states have been changed
 * already, the run is lost, as by a job that fails: its client is dying, and undoing may
 * take as long again. Other signals are not looked at, since a process with a timer would
 * never get to the end.
 *
 * The dma_resvs of bound buffers belong to others, too, who map the buffers or show them on
 * a display. They are taken last, and held only while fences are added.
 *
 * Order. A run's jobs on one engine are a queue, an entity; a job also waits for those on
 * other engines that it has a hazard with (order.c). So the tile states, which advance at
 * submission, are in step with what engines will do: by the time that a job executes, all
 * that was submitted before it and has to do with it has been executed. In-syncs, and what
 * the reservation objects hold of others, are waited for by a gate (gate.c): all jobs of the
 * SUBMIT are behind it, and all later ones. Out-syncs stand for all jobs that
 * were submitted until then.
 *
 * Edges. Crossing an edge of the plan changes states and order alone: nothing is moved, so the
 * scheduler hears nothing of it. A SUBMIT of edges alone still waits for its in-syncs and
 * signals its out-syncs after all earlier work of the run; an empty job sees to that.
 *
 * Imported buffers. The CPU's access to them begins before anything else can see the
 * jobs, and ends after them (access.c).
 *
 * Locks: run->lock, then the dma_resv of the arena, of the host BO and of all BOs bound.
 * Jobs are armed and pushed under all of them, in their order. Others see a job's own fence,
 * never the scheduler's (base/fence.c).
 */
#include <linux/dma-fence-chain.h>
#include <linux/dma-resv.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_print.h>
#include <drm/drm_syncobj.h>

#include "access.h"
#include "base/compat.h"
#include "fault.h"
#include "base/fence.h"
#include "gate.h"
#include "job.h"
#include "submit.h"
#include "base/trace.h"

#ifdef NPUMEM_BENCH
static bool unchecked;
module_param(unchecked, bool, 0600);
MODULE_PARM_DESC(unchecked, "Jobs go unchecked, in their order: what scripts/bench compares with");
#else
enum { unchecked = false };
#endif

/* ---------------------------------------------------- check and make the jobs */

static int submit_check_jobs(struct submit *submit)
{
	struct drm_npumem_job *spec;
	u64 commands = 0;
	u32 i;
	int err;

	for (i = 0; i < submit->args->jobs.count; i++) {
		spec = &submit->specs[i];
		err = npumem_job_check(submit->run, spec);
		/* There are few enough, of few enough bytes each, for the sum. */
		if (!err)
			commands += spec->commands.size;
		if (!err && commands > NPUMEM_MAX_SUBMIT_COMMANDS)
			err = -E2BIG;
		if (err) {
			submit->args->failed_job = i;
			return npumem_refuse(
				submit->drm, err,
				"SUBMIT: job %u (%s %u + %u, commands of %llu, flags %#x)", i,
				npumem_job_is_edge(spec) ? "edge" : "positions",
				spec->first_position, spec->position_count, spec->commands.size,
				spec->flags);
		}
	}
	return 0;
}

static int submit_create_jobs(struct submit *submit)
{
	u32 i, count = submit->args->jobs.count;
	struct npu_job *job;

	submit->jobs = kvcalloc(count, sizeof(*submit->jobs), GFP_KERNEL_ACCOUNT);
	if (!submit->jobs)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		if (npumem_job_is_edge(&submit->specs[i]))
			continue;
		/* Copying may take long, whatever it counts: user memory may be anywhere. */
		if (npuv_interrupted())
			return -EINTR;
		job = npumem_job_create(submit->run, &submit->specs[i], submit->file,
					&submit->ticks);
		if (IS_ERR(job)) {
			submit->args->failed_job = i;
			return npumem_refuse(submit->drm, (int)PTR_ERR(job),
					     "SUBMIT: job %u (positions %u + %u, commands of %llu)",
					     i, submit->specs[i].first_position,
					     submit->specs[i].position_count,
					     submit->specs[i].commands.size);
		}
		submit->jobs[submit->job_count++] = job;
	}
	if (submit->job_count)
		return 0;
	job = npumem_job_create_empty(submit->run, submit->file);
	if (IS_ERR(job))
		return PTR_ERR(job);
	submit->jobs[submit->job_count++] = job;
	return 0;
}

/* -ENXIO: a step's external tensor, the first one, is bound to nothing. */
static int step_check_bound(const struct npu_run *run, u32 position, u32 *ticks,
			    struct npumem_verdict *verdict)
{
	const struct npumem_position *p = npuv_position(run->plan->v, position);
	const struct npu_externals *externals = run->externals;
	const struct npu_external *external;
	u32 i;

	if (p->kind != NPUMEM_POSITION_STEP)
		return 0;
	for (i = externals->use_start[p->index]; i < externals->use_start[p->index + 1]; i++) {
		if (npuv_tick(ticks, 1))
			return -EINTR;
		external = &externals->list[externals->uses[i].external];
		if (external->bo)
			continue;
		npumem_verdict_init(verdict, NPUMEM_RULE_ENFORCE_BIND);
		verdict->position = position;
		verdict->step = p->index;
		verdict->tile = externals->uses[i].tile;
		verdict->tensor = external->tensor;
		return -ENXIO;
	}
	return 0;
}

/* Whether all external tensors that jobs access are bound. Under run->lock. */
static int submit_check_bound(struct submit *submit)
{
	const struct drm_npumem_job *spec;
	u32 i, p;
	int err;

	if (unchecked || !submit->run->externals->missing)
		return 0;
	for (i = 0; i < submit->args->jobs.count; i++) {
		spec = &submit->specs[i];
		for (p = 0; p < spec->position_count; p++) {
			if (npuv_tick(&submit->ticks, 1))
				return -EINTR;
			err = step_check_bound(submit->run, spec->first_position + p,
					       &submit->ticks, &submit->refusal.verdict);
			if (err == -ENXIO)
				submit->args->failed_job = i;
			if (err)
				return err;
		}
	}
	return 0;
}

/* Number of units of a job that the states are asked for one by one: positions, or one edge. */
static u32 spec_units(const struct drm_npumem_job *spec)
{
	return npumem_job_is_edge(spec) ? 1 : spec->position_count;
}

/* Count the work before any of it is done. A single position or edge is never too much. */
static int submit_check_work(struct submit *submit)
{
	u64 work = 0;
	u32 i;

	if (unchecked || (submit->args->jobs.count == 1 && spec_units(&submit->specs[0]) == 1))
		return 0;
	for (i = 0; i < submit->args->jobs.count; i++) {
		work += npumem_job_work(submit->run, &submit->specs[i],
					NPUMEM_MAX_SUBMIT_WORK - work, &submit->ticks);
		if (work > NPUMEM_MAX_SUBMIT_WORK) {
			submit->args->failed_job = i;
			return npumem_refuse(submit->drm, -E2BIG,
					     "SUBMIT: more than %llu units of work by job %u",
					     NPUMEM_MAX_SUBMIT_WORK, i);
		}
		if (npuv_interrupted())
			return -EINTR;
	}
	return 0;
}

/*
 * Check the entries before jobs are made of them, since the bytes that a copy needs are
 * known only when all tensors are bound. The bindings may change until we hold the lock for
 * the rest of the call, so submit_locked() checks again.
 */
static int submit_check(struct submit *submit)
{
	int err = submit_check_jobs(submit);

	if (!err)
		err = submit_check_work(submit);
	if (err || !READ_ONCE(submit->run->externals->missing))
		return err;
	if (mutex_lock_killable(&submit->run->lock))
		return -EINTR;
	err = submit_check_bound(submit);
	mutex_unlock(&submit->run->lock);
	return err;
}

/* ------------------------------------------------------------ arrays and syncs */

static int submit_check_syncs(struct submit *submit, const struct drm_npumem_sync *syncs, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (syncs[i].pad)
			return npumem_refuse(submit->drm, -EINVAL, "SUBMIT: pad of sync %u", i);
	return 0;
}

/* As npumem_array_copy(), but @copy, which is freed in any case, never holds an error. */
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
		return npumem_refuse(submit->drm, err, "SUBMIT: array of jobs or syncs");
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

/* Look up the fences of the in-syncs, which the first job waits for, and so all of them. */
static int submit_add_in(struct submit *submit)
{
	u32 i, count = submit->args->in_syncs.count;
	int err;

	if (!count)
		return 0;
	submit->awaited = kvcalloc(count, sizeof(*submit->awaited), GFP_KERNEL_ACCOUNT);
	if (!submit->awaited)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		err = drm_syncobj_find_fence(submit->file, submit->in[i].handle,
					     submit->in[i].point, 0,
					     &submit->awaited[submit->awaited_count]);
		if (err)
			return npumem_refuse(submit->drm, err,
					     "SUBMIT: in-sync %u: syncobj %u, point %llu", i,
					     submit->in[i].handle, submit->in[i].point);
		submit->awaited_count++;
	}
	return 0;
}

/* Wait for the in-syncs: the buffers' bytes have to be complete when CPU access begins. */
static int submit_wait_in(struct submit *submit)
{
	u32 i;
	int err = 0;

	for (i = 0; !err && i < submit->awaited_count; i++)
		err = npumem_fence_wait_killable(submit->awaited[i]);
	return err;
}

/* Begin CPU access to imported buffers, before locks are taken and fences seen (access.c). */
static int submit_begin_access(struct submit *submit)
{
	struct npu_cpu_access *access;
	int err = 0;

	npumem_cpu_access_end(submit->access);
	submit->access = NULL;
	if (npumem_cpu_access_needed(submit->run))
		err = submit_wait_in(submit);
	if (err)
		return err;
	access = npumem_cpu_access_begin(submit->run, &submit->generation);
	if (IS_ERR(access))
		return PTR_ERR(access);
	submit->access = access;
	return 0;
}

static void submit_fini(struct submit *submit)
{
	u32 i;

	npumem_cpu_access_end(submit->access);
	npumem_gate_free(submit->gate);
	dma_fence_put(submit->end);
	for (i = 0; i < submit->awaited_count; i++)
		dma_fence_put(submit->awaited[i]);
	for (i = 0; i < submit->job_count; i++)
		if (submit->jobs[i])
			npumem_job_free(submit->jobs[i]);
	/* If the count was refused there are no arrays. */
	for (i = 0; submit->syncobjs && submit->chains && i < submit->args->out_syncs.count; i++) {
		if (submit->syncobjs[i])
			drm_syncobj_put(submit->syncobjs[i]);
		dma_fence_chain_free(submit->chains[i]);
	}
	kvfree(submit->chains);
	kvfree(submit->syncobjs);
	kvfree(submit->awaited);
	kvfree(submit->jobs);
	kvfree(submit->out);
	kvfree(submit->in);
	kvfree(submit->specs);
	if (submit->run)
		npumem_run_put(submit->run);
}

/* ----------------------------------------------------------------- let it go */

/* Undo the changes that submit_states() made to states before unit @unit of a job. 0 or -EINTR. */
static int submit_undo(struct submit *submit, u32 job, u32 unit)
{
	struct npuv_states *states = submit->run->states;
	const struct drm_npumem_job *spec;
	int err;

	for (;;) {
		while (unit--) {
			spec = &submit->specs[job];
			if (npumem_job_is_edge(spec))
				err = npuv_states_uncross(states, spec->first_position);
			else
				err = npuv_states_undo(states, spec->first_position + unit);
			if (err)
				return err;
		}
		if (!job--)
			return 0;
		unit = spec_units(&submit->specs[job]);
	}
}

/*
 * SUBMIT ends with an error after states were changed for some units. The changes are
 * undone; if a fatal signal comes in the midst of that, the run is lost.
 */
static int submit_back_out(struct submit *submit, u32 job, u32 unit, int err)
{
	npumem_order_rewind(&submit->run->order, &submit->mark);
	if (err != -EINTR && submit_undo(submit, job, unit))
		err = -EINTR;
	if (err == -EINTR)
		npumem_run_fail(submit->run, err, NULL);
	return err;
}

/* Let one unit of a job go: what the tile states say, and what of the order. */
static int submit_unit(struct submit *submit, const struct drm_npumem_job *spec, u32 unit,
		       struct npu_job *job)
{
	struct npumem_verdict *verdict = &submit->refusal.verdict;
	struct npu_run *run = submit->run;
	u32 at = spec->first_position + unit;
	int err;

	if (unchecked)
		return 0;
	if (npumem_job_is_edge(spec)) {
		err = npuv_states_cross(run->states, at, verdict);
		return err ?: npumem_order_enter(&run->order, run->states->block);
	}
	err = npuv_states_submit(run->states, at, verdict);
	return err ?: npumem_order_add(&run->order, job, at);
}

/* Ask for all positions and edges of all jobs, and give the jobs their places. Under run->lock. */
static int submit_states(struct submit *submit)
{
	struct drm_npumem_submit *args = submit->args;
	const struct drm_npumem_job *spec;
	struct npu_job **job = submit->jobs;
	u32 i, u;
	int err;

	for (i = 0; i < args->jobs.count; i++) {
		spec = &submit->specs[i];
		for (u = 0; u < spec_units(spec); u++) {
			err = submit_unit(submit, spec, u, *job);
			if (err == -EPERM)
				args->failed_job = i;
			if (err)
				return submit_back_out(submit, i, u, err);
		}
		if (!npumem_job_is_edge(spec))
			npumem_order_issue(&submit->run->order, *job++);
	}
	/* The one of nothing: it stands for the edges. */
	if (job != submit->jobs + submit->job_count) {
		npumem_order_issue_last(&submit->run->order, *job);
		npumem_order_barrier(&submit->run->order);
	}
	return 0;
}

/* Room for the fences of all jobs. */
static int submit_reserve(struct submit *submit)
{
	u32 jobs[NPUMEM_MAX_ENGINES] = {};
	int err = 0;
	u32 i;

	for (i = 0; i < submit->job_count; i++)
		jobs[submit->jobs[i]->engine->index]++;
	for (i = 0; !err && i < submit->run->dev->engine_count; i++)
		err = npumem_order_reserve(&submit->run->order, i, jobs[i]);
	return err;
}

/* Arm and push the jobs, which cannot fail. Under run->lock and all dma_resvs. */
static void submit_push(struct submit *submit)
{
	bool cookie = dma_fence_begin_signalling();
	struct npu_run *run = submit->run;
	struct npu_job *job;
	u32 i;

	if (submit->gate) {
		dma_fence_put(run->gate);
		run->gate = dma_fence_get(submit->gate->fence);
		npumem_gate_arm(submit->gate);
	}
	submit->gate = NULL;
	/* Before any of them may have ended. */
	npumem_submit_to_resvs(submit);
	for (i = 0; i < submit->job_count; i++) {
		job = submit->jobs[i];
		WRITE_ONCE(run->submitted, run->submitted + job->count);
		drm_sched_job_arm(&job->base);
		/* The scheduler's from here on. */
		submit->jobs[i] = NULL;
		drm_sched_entity_push_job(&job->base);
	}
	/* What stands for several has their errors only if it is told of them one by one. */
	dma_fence_enable_signaling(submit->end);
	for (i = 0; i < submit->args->out_syncs.count; i++) {
		if (submit->chains[i]) {
			drm_syncobj_add_point(submit->syncobjs[i], submit->chains[i], submit->end,
					      submit->out[i].point);
			submit->chains[i] = NULL;
		} else {
			drm_syncobj_replace_fence(submit->syncobjs[i], submit->end);
		}
	}
	npumem_cpu_access_end_after(submit->access, submit->end);
	submit->access = NULL;
	dma_fence_end_signalling(cookie);
}

/*
 * drm_gem_lock_reservations() gives up at any signal. One that is not fatal only
 * makes us look again a little later: most locks are held for moments.
 */
static int submit_lock_resvs(struct submit *submit, struct ww_acquire_ctx *ctx)
{
	const struct npu_externals *externals = submit->run->externals;
	int err;

	do {
		err = drm_gem_lock_reservations(externals->objs, externals->resv_count, ctx);
		if (err != -EINTR && err != -ERESTARTSYS)
			return err;
		schedule_timeout_killable(1);
	} while (!fatal_signal_pending(current));
	return -EINTR;
}

/* Lock the dma_resvs, add dependencies and push. Under run->lock; the states have agreed. */
static int submit_fence_and_push(struct submit *submit)
{
	const struct npu_externals *externals = submit->run->externals;
	struct ww_acquire_ctx ctx;
	int err, idx;

	err = submit_lock_resvs(submit, &ctx);
	if (err)
		return err;
	/* Unplug waits for us only in this section, which takes no long wait. */
	err = -ENODEV;
	if (drm_dev_enter(submit->drm, &idx)) {
		err = npumem_submit_depend(submit);
		if (!err)
			submit_push(submit);
		drm_dev_exit(idx);
	}
	drm_gem_unlock_reservations(externals->objs, externals->resv_count, &ctx);
	return err;
}

/* What other devices wait for must not wait for a process. Under run->lock. */
static int submit_check_imported(const struct submit *submit)
{
	u32 i;

	if (!submit->run->externals->imported)
		return 0;
	for (i = 0; i < submit->job_count; i++)
		if (submit->jobs[i]->count &&
		    submit->jobs[i]->engine->flags & NPUMEM_ENGINE_PROCESS)
			return npumem_refuse(submit->drm, -EOPNOTSUPP,
					     "SUBMIT: engine %u, and imported buffers are bound",
					     submit->jobs[i]->engine->index);
	return 0;
}

static int submit_locked(struct submit *submit)
{
	int err;

	if (!npumem_run_has_arena(submit->run))
		return npumem_refuse(submit->drm, -ENOLCK, "SUBMIT: not the turn of run %u",
				     submit->args->run);
	/* Another buffer was bound since access began, and its exporter knows nothing yet. */
	if (submit->generation != submit->run->externals->generation)
		return -ESTALE;
	err = submit_check_imported(submit);
	if (err)
		return err;
	if (npumem_run_error(submit->run)) {
		npumem_verdict_init(&submit->refusal.verdict, NPUMEM_RULE_ENFORCE_LOST);
		return -EIO;
	}
	err = submit_check_bound(submit);
	if (!err)
		err = submit_reserve(submit);
	if (err)
		return err;
	npumem_order_mark(&submit->run->order, &submit->mark);
	err = submit_states(submit);
	if (err)
		return err;
	/* What cannot be told of a refusal is said while there is something to refuse. */
	err = submit->refusal.fault ?: submit_fence_and_push(submit);
	return err ? submit_back_out(submit, submit->args->jobs.count, 0, err) : 0;
}

static int submit_go(struct submit *submit)
{
	struct npu_run *run = submit->run;
	int err;

	if (mutex_lock_killable(&run->lock))
		return -EINTR;
	err = submit_locked(submit);
	mutex_unlock(&run->lock);
	return err;
}

static int submit_do(struct submit *submit)
{
	struct npu_run *run;
	int err;

	run = npumem_run_lookup(submit->file->driver_priv, submit->args->run);
	if (!run)
		return npumem_refuse(submit->drm, -ENOENT, "SUBMIT: no run %u", submit->args->run);
	submit->run = run;
	err = submit_copy(submit);
	if (!err)
		err = submit_check(submit);
	if (!err)
		err = submit_create_jobs(submit);
	if (!err)
		err = submit_find_out(submit);
	if (!err)
		err = submit_add_in(submit);
	if (err)
		goto out;
	do {
		err = submit_begin_access(submit);
		if (!err)
			err = submit_go(submit);
	} while (err == -ESTALE && !fatal_signal_pending(current));
out:
	if (err == -EPERM || err == -ENXIO)
		npumem_fault_refused(run, err, &submit->refusal.verdict);
	trace_npumem_submit(run->id, submit->args->jobs.count, err);
	return err;
}

int npumem_ioctl_submit(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_npumem_submit *args = data;
	struct submit submit = { .drm = drm, .file = file, .args = args };
	int err;

	args->failed_job = NPUMEM_NONE;
	if (args->flags || args->pad)
		return npumem_refuse(drm, -EINVAL, "SUBMIT: flags %#x, pad %u", args->flags,
				     args->pad);
	err = npumem_verdict_begin(&submit.refusal, &args->verdict);
	if (err)
		return npumem_refuse(drm, err, "SUBMIT: verdict");
	err = submit_do(&submit);
	submit_fini(&submit);
	return npumem_verdict_end(&submit.refusal, err);
}
