// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: shared arenas
 *
 * A shared arena is a carveout BO that runs of one or several clients take turns with: models
 * that the carveout cannot hold together. Runs stand in a line, first come first served. One
 * that has the turn has the arena for itself, as if it were its own, until it ends its turn.
 *
 * Isolation. A client sees nothing of what another one does in its turn:
 *
 *  - Engines touch the arena for jobs only, jobs are submitted by the run that has the turn
 *    only, and it cannot end the turn while jobs are in flight (job/run.c).
 *  - A page fault is a SIGBUS unless a run of the mapping's file has the turn, or the device is
 *    gone (bo.c). At its end all
 *    mappings are zapped, before the next one has the turn. There are no struct pages
 *    (VM_PFNMAP), so nobody can have pinned one.
 *  - Before the turn of another client than the last one the arena is filled with zeroes.
 *
 * Faults and the end of a turn. A fault looks whose turn it is, and inserts the page, under one
 * hold of the lock. The end first closes the arena to faults under the lock, then zaps without
 * it, and only then passes the turn on: a fault has either inserted its page by then, which is
 * zapped, or finds the arena closed. The lock is taken under mmap_lock, so nothing that takes
 * that, or waits for user memory, may be done under it; zapping takes i_mmap_rwsem, and is done
 * without it. A child of fork() and a moved mapping are where the zap finds them, as they are
 * for truncate(2). A forked child has its parent's file, and is the same client.
 *
 * Signals. A process that catches signals all the time, as some languages' runtimes do, would
 * come back to the end of the line each time. So an interrupted wait leaves the run its
 * place, until the deadline of that wait; those behind it go first while no call waits in it.
 *
 * Time. Nobody is made to end a turn: clients that share an arena trust each other for time, not
 * for bytes. A turn also ends with its run, and so with the file, and the process.
 */
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_utils.h>
#include <drm/drm_vma_manager.h>

#include "bo.h"
#include "base/client.h"
#include "shared.h"

struct npu_shared *npumem_shared_create(struct npu_bo *bo)
{
	struct npu_shared *shared = kzalloc(sizeof(*shared), GFP_KERNEL_ACCOUNT);

	if (!shared)
		return ERR_PTR(-ENOMEM);
	shared->bo = bo;
	mutex_init(&shared->lock);
	INIT_LIST_HEAD(&shared->line);
	return shared;
}

void npumem_shared_destroy(struct npu_shared *shared)
{
	if (!shared)
		return;
	/* Runs keep the BO, and leave before they put it. */
	WARN_ON_ONCE(shared->turn || !list_empty(&shared->line));
	npumem_client_put(shared->last);
	mutex_destroy(&shared->lock);
	kfree(shared);
}

void npumem_place_init(struct npu_place *place, u64 context)
{
	place->context = context;
	INIT_LIST_HEAD(&place->node);
	init_completion(&place->woken);
}

/* If nobody has the turn, the first that waits has it from now on. Under the lock. */
static void pass_on(struct npu_shared *shared)
{
	struct npu_place *place;

	lockdep_assert_held(&shared->lock);
	if (shared->turn)
		return;
	list_for_each_entry(place, &shared->line, node) {
		if (!place->waits)
			continue;
		list_del_init(&place->node);
		place->waits = false;
		shared->turn = place;
		complete(&place->woken);
		return;
	}
}

/* Begin to wait. */
static int join(struct npu_shared *shared, struct npu_place *place, s64 deadline_ns)
{
	guard(mutex)(&shared->lock);
	if (shared->turn == place)
		return -EALREADY;
	if (place->waits)
		return -EBUSY;
	/* Unplug cancels who is in the line already. */
	if (drm_dev_is_unplugged(shared->bo->shmem.base.dev))
		return -ENODEV;
	if (place->error)
		return place->error;
	if (list_empty(&place->node) || ktime_get() > place->until)
		list_move_tail(&place->node, &shared->line);
	place->waits = true;
	place->until = deadline_ns;
	reinit_completion(&place->woken);
	pass_on(shared);
	return 0;
}

/* The wait ends: with the turn, if that came at the last moment. */
static int stop_waiting(struct npu_shared *shared, struct npu_place *place, int err)
{
	guard(mutex)(&shared->lock);
	if (shared->turn == place)
		return 0;
	place->waits = false;
	if (place->error)
		err = place->error;
	if (err != -ERESTARTSYS)
		list_del_init(&place->node);
	return err;
}

static int wait_for_turn(struct npu_shared *shared, struct npu_place *place, s64 deadline_ns)
{
	int err = join(shared, place, deadline_ns);
	long left;

	if (err)
		return err;
	left = wait_for_completion_interruptible_timeout(&place->woken,
							 drm_timeout_abs_to_jiffies(deadline_ns));
	return stop_waiting(shared, place, left < 0 ? (int)left : -ETIMEDOUT);
}

/* Zero what another client has left. The caller has the turn, and nobody else looks. */
static int clean(struct npu_shared *shared, struct npu_client *client)
{
	int err;

	if (shared->last != client) {
		/* If it is left in the midst, the bytes are no client's. */
		npumem_client_put(shared->last);
		shared->last = NULL;
		if (shared->dirty) {
			err = npumem_bank_scrub(shared->bo->bank, &shared->bo->range);
			if (err)
				return err;
		}
		shared->last = npumem_client_get(client);
	}
	shared->dirty = true;
	return 0;
}

int npumem_shared_begin(struct npu_shared *shared, struct npu_place *place,
			struct npu_client *client, s64 deadline_ns)
{
	int err = wait_for_turn(shared, place, deadline_ns);

	if (err)
		return err;
	err = clean(shared, client);
	if (err) {
		npumem_shared_end(shared, place);
		return err;
	}
	mutex_lock(&shared->lock);
	shared->open = client;
	mutex_unlock(&shared->lock);
	return 0;
}

void npumem_shared_end(struct npu_shared *shared, struct npu_place *place)
{
	struct drm_gem_object *obj = &shared->bo->shmem.base;
	bool had;

	mutex_lock(&shared->lock);
	list_del_init(&place->node);
	had = shared->turn == place;
	if (had)
		shared->open = NULL;
	mutex_unlock(&shared->lock);
	if (!had)
		return;
	drm_vma_node_unmap(&obj->vma_node, obj->dev->anon_inode->i_mapping);
	mutex_lock(&shared->lock);
	shared->turn = NULL;
	pass_on(shared);
	mutex_unlock(&shared->lock);
}

static u64 turn_context(struct npu_shared *shared)
{
	guard(mutex)(&shared->lock);
	/* No fence has a context of 0. */
	return shared->turn ? shared->turn->context : 0;
}

long npumem_shared_wait(struct npu_shared *shared, long timeout)
{
	const u64 context = turn_context(shared);
	long ret = timeout ?: 1;
	struct dma_resv_iter cursor;
	struct dma_fence *fence;

	if (!context)
		return ret;
	dma_resv_iter_begin(&cursor, shared->bo->shmem.base.resv, DMA_RESV_USAGE_READ);
	dma_resv_for_each_fence_unlocked(&cursor, fence)
	{
		if (fence->context - context >= NPUMEM_MAX_ENGINES)
			continue;
		ret = dma_fence_wait_timeout(fence, true, timeout);
		if (ret <= 0)
			break;
		if (timeout)
			timeout = ret;
	}
	dma_resv_iter_end(&cursor);
	return ret;
}

void npumem_shared_cancel(struct npu_shared *shared, struct npu_place *place, int error)
{
	guard(mutex)(&shared->lock);
	if (!place->error)
		place->error = error;
	if (place->waits)
		complete(&place->woken);
}
