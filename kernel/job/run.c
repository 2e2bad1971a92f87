// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: runs
 *
 * Jobs are submitted to a run. It is a verified plan, an arena to run it in, and one state
 * per cell. Runs share nothing with each other, and no locks either, but for those that take
 * turns with a shared arena (memory/shared.c).
 *
 * Failure. A job that fails leaves bytes that nobody can vouch for. The run is lost: its
 * queued jobs are cancelled, and SUBMIT says EIO until RUN_RESET begins the next inference.
 * Other runs do not notice.
 *
 * Life. The handle and every job in flight hold a reference. RUN_DESTROY drops the handle
 * and lets queued jobs finish. Closing the file cancels those that have not started, also
 * of runs destroyed before. These end at once, neither when the engine would get to them
 * nor when the fences signal that they wait for: hours of work may be queued, a fence may
 * never signal, and a process that died shall not keep engine and arenas. In both cases the
 * arena goes back to its bank, and a shared one to the next in the line, only after the last job
 * has dropped its reference. Ordinarily
 * no job is in flight; then the call itself cleans up, so that the arena is free when it
 * returns. The scheduler's callbacks must not destroy the scheduler, so a reference dropped
 * from there leaves the rest to a work item.
 */
#include <linux/capability.h>
#include <linux/dma-fence.h>
#include <linux/ktime.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/wait_bit.h>
#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "memory/carveout.h"
#include "base/client.h"
#include "base/compat.h"
#include "base/engine.h"
#include "base/work.h"
#include "fairq.h"
#include "gate.h"
#include "run.h"

/* The number of the run that was created last, on any device. */
static atomic64_t last_run = ATOMIC64_INIT(0);

static void run_release_work(struct work_struct *work)
{
	struct npu_run *run = container_of(work, struct npu_run, release);
	struct npu_device *dev = run->dev;
	u32 i;

	mutex_lock(&dev->runs_lock);
	list_del(&run->node);
	mutex_unlock(&dev->runs_lock);
	for (i = 0; i < dev->engine_count; i++)
		drm_sched_entity_fini(&run->entities[i]);
	for (i = 0; i < dev->engine_count; i++)
		npumem_bounce_put(run->bounces[i]);
	dma_fence_put(run->gate);
	npumem_order_fini(&run->order);
	npuv_states_destroy(run->states);
	npumem_externals_destroy(run->externals);
	npumem_transfers_release(&run->transfers);
	if (run->arena->shared)
		npumem_shared_end(run->arena->shared, &run->place);
	npumem_bo_put(run->arena);
	npumem_plan_put(run->plan);
	npumem_client_uncharge(run->client, NPUMEM_RESOURCE_MEMORY, run->charged);
	npumem_client_put(run->client);
	mutex_destroy(&run->lock);
	kfree(run);
	drm_dev_put(&dev->drm);
}

static void run_release(struct kref *ref)
{
	run_release_work(&container_of(ref, struct npu_run, ref)->release);
}

static void run_release_async(struct kref *ref)
{
	queue_work(npumem_wq, &container_of(ref, struct npu_run, ref)->release);
}

static void run_put(struct npu_run *run, void (*release)(struct kref *ref))
{
	if (kref_put(&run->ref, release))
		return;
	/* run_drop() may be waiting. The run may be gone, so only its address is used. */
	smp_mb__after_atomic();
	wake_up_var(&run->ref);
}

void npumem_run_put(struct npu_run *run)
{
	run_put(run, run_release);
}

void npumem_run_put_async(struct npu_run *run)
{
	run_put(run, run_release_async);
}

void npumem_run_fail(struct npu_run *run, int error, const struct npumem_verdict *verdict)
{
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&run->lost_lock, flags);
	if (!run->error) {
		WRITE_ONCE(run->error, error);
		if (verdict)
			run->lost = *verdict;
	}
	spin_unlock_irqrestore(&run->lost_lock, flags);
	for (i = 0; i < run->dev->engine_count; i++)
		npumem_fairq_cancel(&run->dev->engines[i]->queue, run);
	npumem_gates_cancel(run);
}

int npumem_run_lost(struct npu_run *run, struct npumem_verdict *verdict)
{
	unsigned long flags;
	int error;

	spin_lock_irqsave(&run->lost_lock, flags);
	error = run->error;
	*verdict = run->lost;
	spin_unlock_irqrestore(&run->lost_lock, flags);
	return error;
}

/* The next inference begins. No job is in flight, but a file that is closed fails its runs. */
static void run_clear_lost(struct npu_run *run)
{
	unsigned long flags;

	spin_lock_irqsave(&run->lost_lock, flags);
	WRITE_ONCE(run->error, 0);
	memset(&run->lost, 0, sizeof(run->lost));
	spin_unlock_irqrestore(&run->lost_lock, flags);
}

/* Who waits for the run's turn shall not. */
static void run_cancel_place(struct npu_run *run, int error)
{
	if (run->arena->shared)
		npumem_shared_cancel(run->arena->shared, &run->place, error);
}

void npumem_runs_unplug(struct npu_device *dev)
{
	struct npu_run *run;

	guard(mutex)(&dev->runs_lock);
	list_for_each_entry(run, &dev->runs, node) {
		npumem_gates_cancel(run);
		run_cancel_place(run, -ENODEV);
	}
}

bool npumem_run_busy(struct npu_run *run)
{
	return npumem_order_busy(&run->order);
}

/*
 * Drop the handle's reference. A job that has finished holds the run for a moment more; wait
 * for that, so that the arena is free on return.
 */
static void run_drop(struct npu_run *run)
{
	bool busy;

	run_cancel_place(run, -ECANCELED);
	mutex_lock(&run->lock);
	busy = npumem_run_busy(run);
	mutex_unlock(&run->lock);
	if (!busy)
		wait_var_event_timeout(&run->ref, kref_read(&run->ref) == 1, HZ);
	npumem_run_put(run);
}

void npumem_run_release_file(struct npu_file *file)
{
	struct npu_run *run;
	unsigned long handle;

	/*
	 * Runs that were destroyed have no handle any more, so they are found in the
	 * device's list.
	 */
	mutex_lock(&file->dev->runs_lock);
	list_for_each_entry(run, &file->dev->runs, node)
		if (run->file == file)
			npumem_run_fail(run, -ECANCELED, NULL);
	mutex_unlock(&file->dev->runs_lock);
	xa_for_each(&file->runs, handle, run) {
		xa_erase(&file->runs, handle);
		run_drop(run);
	}
}

/* ----------------------------------------------------------------- bounce */

static void bounce_free(struct kref *ref)
{
	struct npu_bounce *bounce = container_of(ref, struct npu_bounce, ref);

	kvfree(bounce->data);
	npumem_client_uncharge(bounce->client, NPUMEM_RESOURCE_MEMORY, bounce->size);
	npumem_client_put(bounce->client);
	kfree(bounce);
}

void npumem_bounce_put(struct npu_bounce *bounce)
{
	if (bounce)
		kref_put(&bounce->ref, bounce_free);
}

static struct npu_bounce *bounce_create(struct npu_client *client, u64 size)
{
	struct npu_bounce *bounce;
	int err;

	bounce = kmalloc(sizeof(*bounce), GFP_KERNEL_ACCOUNT);
	if (!bounce)
		return ERR_PTR(-ENOMEM);
	err = npumem_client_charge(client, NPUMEM_RESOURCE_MEMORY, size);
	if (err)
		goto err_bounce;
	kref_init(&bounce->ref);
	bounce->size = size;
	/*
	 * No process is killed to make room for it. It is zeroed, so that a copy could not
	 * write anybody else's bytes even if it read less than it writes.
	 */
	bounce->data = kvzalloc(size, GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
	if (!bounce->data) {
		err = -ENOMEM;
		goto err_charge;
	}
	bounce->client = npumem_client_get(client);
	return bounce;

err_charge:
	npumem_client_uncharge(client, NPUMEM_RESOURCE_MEMORY, size);
err_bounce:
	kfree(bounce);
	return ERR_PTR(err);
}

struct npu_bounce *npumem_run_bounce(struct npu_run *run, u32 engine, u64 size)
{
	struct npu_bounce *bounce;

	if (mutex_lock_killable(&run->lock))
		return ERR_PTR(-EINTR);
	bounce = run->bounces[engine];
	if (!bounce || bounce->size < size) {
		/*
		 * Jobs in flight keep smaller ones, which are as large as this one
		 * together at most.
		 */
		if (bounce)
			size = max(size,
				   min3(2 * bounce->size, npumem_run_bytes(run), (u64)INT_MAX));
		bounce = bounce_create(run->client, size);
		if (IS_ERR(bounce)) {
			mutex_unlock(&run->lock);
			return bounce;
		}
		npumem_bounce_put(run->bounces[engine]);
		run->bounces[engine] = bounce;
	}
	kref_get(&bounce->ref);
	mutex_unlock(&run->lock);
	return bounce;
}

/* ----------------------------------------------------------------- create */

/* Whether a run may be made of a plan: the verifier has accepted it. */
static int run_check_plan(struct npu_plan *plan)
{
	guard(mutex)(&plan->lock);
	if (plan->state == NPUMEM_PLAN_STATE_PENDING)
		return -EBUSY;
	return plan->state == NPUMEM_PLAN_STATE_READY ? 0 : -ENOEXEC;
}

static int run_init_entities(struct npu_run *run)
{
	struct drm_gpu_scheduler *sched;
	u32 i;
	int err;

	for (i = 0; i < run->dev->engine_count; i++) {
		sched = &run->dev->engines[i]->sched;
		err = drm_sched_entity_init(&run->entities[i], DRM_SCHED_PRIORITY_NORMAL, &sched, 1,
					    NULL);
		if (err)
			goto err;
	}
	return 0;
err:
	while (i--)
		drm_sched_entity_fini(&run->entities[i]);
	return err;
}

/*
 * Many callers may make a run at once, so what states and hazards will take, which is most of it,
 * is charged before they are there.
 */
static int run_charge(struct npu_run *run, struct npu_client *client)
{
	u32 engines = run->dev->engine_count, words = engines > 1 ? engines + 2 : 1;
	u64 bytes = sizeof(*run) + (u64)run->plan->v->graph->cell_count * words * sizeof(u32);
	int err = npumem_client_charge(client, NPUMEM_RESOURCE_MEMORY, bytes);

	if (err)
		return err;
	run->client = npumem_client_get(client);
	run->charged = bytes;
	return 0;
}

/* The rest of all that the run keeps, but for that of copies, which is charged later. */
static int run_charge_rest(struct npu_run *run)
{
	u64 bytes = sizeof(*run) + npuv_states_bytes(run->states) +
		    npumem_order_bytes(&run->order) + npumem_externals_bytes(run->externals);
	int err = npumem_client_charge(run->client, NPUMEM_RESOURCE_MEMORY, bytes - run->charged);

	if (!err)
		run->charged = bytes;
	return err;
}

/*
 * What a shared arena has is gone after each turn, so it cannot be the place of a state tensor,
 * whose bytes are to be there when the next inference begins.
 */
static bool keeps_state(const struct npuv_graph *graph)
{
	const struct npumem_tensor *t;
	u32 i;

	for (i = 0; i < graph->tensors.count; i++) {
		t = npuv_tensor(graph, i);
		if (t->kind == NPUMEM_TENSOR_STATE &&
		    !(npuv_tensor(graph, npuv_alias_base(graph, i))->flags &
		      NPUMEM_TENSOR_FLAG_EXTERNAL))
			return true;
	}
	return false;
}

static int shared_check(struct drm_device *drm, struct drm_file *file, const struct npu_plan *plan,
			struct npu_bo *bo)
{
	u64 size = bo->shmem.base.size, need = plan->v->info->arena_size;

	if (!bo->shared || size < need)
		return npumem_refuse(drm, -EINVAL,
				     "RUN_CREATE: arena of %llu bytes, not a shared one of %llu",
				     size, need);
	if (npumem_bo_read_only(bo, file->driver_priv))
		return npumem_refuse(drm, -EACCES, "RUN_CREATE: the arena is shared read-only");
	if (keeps_state(npumem_plan_graph(plan)->v))
		return npumem_refuse(drm, -EOPNOTSUPP, "RUN_CREATE: state in a shared arena");
	return 0;
}

/* The shared arena that the caller names, referenced, NULL if it wants one of its own, ERR_PTR. */
static struct npu_bo *shared_lookup(struct drm_device *drm, struct drm_file *file,
				    const struct npu_plan *plan,
				    const struct drm_npumem_run_create *args)
{
	struct drm_gem_object *obj;
	int err;

	if (!(args->flags & NPUMEM_RUN_CREATE_SHARED))
		return NULL;
	if (args->bank)
		return ERR_PTR(npumem_refuse(drm, -EINVAL, "RUN_CREATE: bank %u for a shared arena",
					     args->bank));
	obj = drm_gem_object_lookup(file, args->arena_bo);
	if (!obj)
		return ERR_PTR(npumem_refuse(drm, -ENOENT, "RUN_CREATE: no BO %u", args->arena_bo));
	err = shared_check(drm, file, plan, to_npumem_bo(obj));
	if (!err)
		return to_npumem_bo(obj);
	drm_gem_object_put(obj);
	return ERR_PTR(err);
}

static int run_take_arena(struct npu_run *run, struct npu_bank *bank, struct npu_bo *shared,
			  struct npu_client *client)
{
	struct npu_bo *bo;

	if (shared) {
		drm_gem_object_get(&shared->shmem.base);
		run->arena = shared;
		return 0;
	}
	bo = npumem_bo_create_carveout(bank, run->plan->v->info->arena_size, client);
	if (IS_ERR(bo))
		return PTR_ERR(bo);
	bo->arena = true;
	run->arena = bo;
	return 0;
}

/*
 * Make a run, with a shared arena unless that is NULL. If that succeeds, the run has taken over
 * the plan's reference and the host BO.
 */
static struct npu_run *run_create(struct npu_file *file, struct npu_plan *plan,
				  struct npu_bank *bank, struct npu_bo *shared,
				  const struct npu_transfers *transfers, enum npu_level level)
{
	struct npu_device *dev = file->dev;
	struct npu_run *run;
	int err;

	run = kzalloc(sizeof(*run), GFP_KERNEL_ACCOUNT);
	if (!run)
		return ERR_PTR(-ENOMEM);
	kref_init(&run->ref);
	mutex_init(&run->lock);
	spin_lock_init(&run->gates_lock);
	spin_lock_init(&run->lost_lock);
	INIT_LIST_HEAD(&run->gates);
	INIT_WORK(&run->release, run_release_work);
	run->file = file;
	run->dev = dev;
	run->plan = plan;
	run->transfers = *transfers;
	run->level = level;
	run->pid = task_tgid_nr(current);
	run->created_ns = ktime_get_ns();
	run->id = atomic64_inc_return(&last_run);
	run->turn_context = dma_fence_context_alloc(2 * NPUMEM_MAX_ENGINES + 2);
	npumem_place_init(&run->place, run->turn_context + NPUMEM_MAX_ENGINES);
	run->gate_context = run->turn_context + 2 * NPUMEM_MAX_ENGINES;
	run->end_context = run->gate_context + 1;

	err = run_charge(run, file->client);
	if (err)
		goto err_run;
	err = npumem_order_init(&run->order, plan->v, dev->engine_count,
				run->turn_context + NPUMEM_MAX_ENGINES);
	if (err)
		goto err_charge;
	err = npuv_states_create(plan->v, &run->states);
	if (err)
		goto err_order;
	err = run_take_arena(run, bank, shared, file->client);
	if (err)
		goto err_states;
	run->externals = npumem_externals_create(npumem_plan_graph(plan)->v, file->client,
						 run->arena, transfers->bo);
	if (IS_ERR(run->externals)) {
		err = PTR_ERR(run->externals);
		goto err_arena;
	}
	err = run_charge_rest(run);
	if (err)
		goto err_externals;
	err = run_init_entities(run);
	if (err)
		goto err_externals;

	drm_dev_get(&dev->drm);
	mutex_lock(&dev->runs_lock);
	list_add_tail(&run->node, &dev->runs);
	mutex_unlock(&dev->runs_lock);
	return run;

err_externals:
	npumem_externals_destroy(run->externals);
err_arena:
	npumem_bo_put(run->arena);
err_states:
	npuv_states_destroy(run->states);
err_order:
	npumem_order_fini(&run->order);
err_charge:
	npumem_client_uncharge(run->client, NPUMEM_RESOURCE_MEMORY, run->charged);
	npumem_client_put(run->client);
err_run:
	mutex_destroy(&run->lock);
	kfree(run);
	return ERR_PTR(err);
}

/* Make both handles or none. The run's is reserved before the arena's is visible. */
static int run_publish(struct npu_run *run, struct drm_file *drm_file,
		       struct drm_npumem_run_create *args)
{
	struct npu_file *file = drm_file->driver_priv;
	int err;

	err = npumem_handle_alloc(&file->runs, NULL, &args->handle);
	if (err)
		return err;
	/* Of a shared arena the client has a handle. */
	if (!run->arena->shared)
		err = drm_gem_handle_create(drm_file, &run->arena->shmem.base, &args->arena_bo);
	if (err) {
		xa_erase(&file->runs, args->handle);
		return err;
	}
	run->handle = args->handle;
	xa_store(&file->runs, args->handle, run, GFP_KERNEL);
	return 0;
}

static const enum npu_level levels[] = {
	[NPUMEM_PRIORITY_NORMAL] = NPU_LEVEL_NORMAL,
	[NPUMEM_PRIORITY_LOW] = NPU_LEVEL_LOW,
	[NPUMEM_PRIORITY_HIGH] = NPU_LEVEL_HIGH,
};

int npumem_ioctl_run_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npu_device *dev = to_npumem(drm);
	struct drm_npumem_run_create *args = data;
	struct npu_transfers transfers;
	struct npu_bank *bank;
	struct npu_plan *plan;
	struct npu_bo *shared;
	struct npu_run *run;
	int err;

	args->handle = 0;
	if (!(args->flags & NPUMEM_RUN_CREATE_SHARED))
		args->arena_bo = 0;
	if (args->flags & ~NPUMEM_RUN_CREATE_SHARED || args->pad ||
	    args->priority >= ARRAY_SIZE(levels))
		return npumem_refuse(drm, -EINVAL, "RUN_CREATE: flags %#x, pad %u, priority %u",
				     args->flags, args->pad, args->priority);
	if (args->priority == NPUMEM_PRIORITY_HIGH && !capable(CAP_SYS_NICE))
		return npumem_refuse(drm, -EACCES, "RUN_CREATE: high priority");
	bank = npumem_bank_lookup(dev, args->bank);
	if (!bank)
		return npumem_refuse(drm, -EINVAL, "RUN_CREATE: no bank %u", args->bank);
	plan = npumem_plan_lookup(file->driver_priv, args->plan);
	if (!plan)
		return npumem_refuse(drm, -ENOENT, "RUN_CREATE: no plan %u", args->plan);
	err = run_check_plan(plan);
	if (err) {
		err = npumem_refuse(drm, err, "RUN_CREATE: plan %u is not ready", args->plan);
		goto err_plan;
	}
	shared = shared_lookup(drm, file, plan, args);
	if (IS_ERR(shared)) {
		err = PTR_ERR(shared);
		goto err_plan;
	}
	err = npumem_transfers_init(&transfers, drm, file, args->host_bo, plan->v->info->host_size);
	if (err)
		goto err_shared;
	run = run_create(file->driver_priv, plan, bank, shared, &transfers,
			 levels[array_index_nospec(args->priority, ARRAY_SIZE(levels))]);
	if (IS_ERR(run)) {
		err = PTR_ERR(run);
		goto err_host;
	}
	npumem_bo_put(shared);
	err = run_publish(run, file, args);
	if (err) {
		args->handle = 0;
		npumem_run_put(run);
	}
	return err;

err_host:
	npumem_transfers_release(&transfers);
err_shared:
	npumem_bo_put(shared);
err_plan:
	npumem_plan_put(plan);
	return err;
}

/* ---------------------------------------------------------- reset, destroy */

int npumem_run_restart(struct npu_run *run)
{
	int err;

	if (npumem_run_busy(run))
		return -EBUSY;
	err = npuv_states_reset(run->states);
	if (!err)
		err = npumem_order_reset(&run->order);
	if (err) {
		/*
		 * The caller was killed halfway. Another process may have the file: the
		 * run is lost.
		 */
		npumem_run_fail(run, err, NULL);
		return err;
	}
	WRITE_ONCE(run->submitted, 0);
	npumem_transfers_reset(&run->transfers);
	run_clear_lost(run);
	return 0;
}

int npumem_ioctl_run_reset(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npu_run *run __free(npumem_run_put) = NULL;
	struct drm_npumem_handle *args = data;
	int err;

	if (args->pad)
		return npumem_refuse(drm, -EINVAL, "RUN_RESET: pad is not zero");
	run = npumem_run_lookup(file->driver_priv, args->handle);
	if (!run)
		return npumem_refuse(drm, -ENOENT, "RUN_RESET: no run %u", args->handle);
	if (mutex_lock_killable(&run->lock))
		return -EINTR;
	if (npumem_run_has_arena(run))
		err = npumem_run_restart(run);
	else
		err = npumem_refuse(drm, -ENOLCK, "RUN_RESET: not the turn of run %u",
				    args->handle);
	mutex_unlock(&run->lock);
	return err;
}

int npumem_ioctl_run_destroy(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npu_file *priv = file->driver_priv;
	struct npu_run *run = npumem_handle_remove(drm, &priv->runs, data, "RUN", "run");

	if (IS_ERR(run))
		return PTR_ERR(run);
	run_drop(run);
	return 0;
}

/* ---------------------------------------------------------------- debugfs */

/* Show a run. It counts the cells of the block that it is in; no others mean anything. */
static void run_show(struct npu_run *run, struct seq_file *m)
{
	const struct npuv_graph *graph = run->plan->v->graph;
	u32 i, cells = 0, empty = 0, retired = 0;
	u32 instance, block;

	guard(mutex)(&run->lock);
	instance = run->states->block;
	if (instance != NPUMEM_NONE) {
		block = npuv_block_of(run->plan->v, instance);
		for (i = graph->cell_start[block]; i < graph->cell_start[block + 1]; i++) {
			empty += run->states->cells[i] == NPUV_EMPTY;
			retired += run->states->cells[i] == NPUV_RETIRED;
			cells++;
		}
	}
	seq_printf(
		m,
		"run=%llu pid=%d bank=%u arena=%#llx size=%zu shared=%d turn=%d block=%d cells=%u empty=%u live=%u retired=%u external=%u unbound=%u submitted=%llu host=%llu load=%lld spill=%lld store=%lld fill=%lld busy=%d error=%d\n",
		run->id, run->pid, run->arena->bank->index, run->arena->range.node.start,
		run->arena->shmem.base.size, !!run->arena->shared, run->in_turn, instance, cells,
		empty, cells - empty - retired, retired, run->externals->count,
		run->externals->missing, run->submitted, run->plan->v->info->host_size,
		npumem_transfers_bytes(&run->transfers, NPUMEM_POSITION_LOAD),
		npumem_transfers_bytes(&run->transfers, NPUMEM_POSITION_SPILL),
		npumem_transfers_bytes(&run->transfers, NPUMEM_POSITION_STORE),
		npumem_transfers_bytes(&run->transfers, NPUMEM_POSITION_FILL), npumem_run_busy(run),
		npumem_run_error(run));
}

void npumem_runs_show(struct npu_device *dev, struct seq_file *m)
{
	struct npu_run *run;

	guard(mutex)(&dev->runs_lock);
	list_for_each_entry(run, &dev->runs, node)
		run_show(run, m);
}
