// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: transfers
 *
 * A plan may keep bytes in host memory while the arena has no room for them: its
 * loads, spills, stores, fills and drops are positions of the schedule like steps,
 * verified, submitted and enforced like them. The verifier knows which bytes of the
 * arena and of the host BO each of them takes, and lets nothing read a copy that
 * is not there. This file sees to the host BO, and counts how much was moved.
 *
 * The host BO is system memory of this device that one run has for itself: two runs
 * would overwrite each other's copies, and moving bytes out of the carveout into a BO in
 * the carveout would save nothing. The client may map it, as it may its arena, and
 * write to it at any time; that can spoil its own results and nobody else's. Imported
 * memory may be moved about, or be gone, as its exporter likes, so it is refused.
 *
 * Life. The run holds the BO, mapped into the kernel from the beginning so that an
 * engine never has to allocate, whatever becomes of the handle. Each SUBMIT waits
 * for the fences of the BO and adds its own, as it does for the arena (bind.h).
 *
 * Counters. An engine reports a transfer when it has been carried out to its end; one
 * that was aborted half-way counts nothing. RUN_QUERY and debugfs show the sums.
 */
#include <drm/drm_gem.h>
#include <drm/drm_print.h>

#include "base/compat.h"
#include "base/client.h"
#include "base/engine.h"
#include "job.h"
#include "memory/dma.h"
#include "run.h"
#include "base/trace.h"
#include "transfer.h"

/* ---------------------------------------------------------------- the host BO */

static int host_check(struct drm_device *drm, const struct npu_file *file, struct npu_bo *bo,
		      u64 size)
{
	if (bo->bank)
		return npumem_refuse(drm, -EINVAL, "RUN_CREATE: the host BO is in the carveout");
	if (bo->shmem.base.import_attach)
		return npumem_refuse(drm, -EINVAL, "RUN_CREATE: the host BO is imported");
	if (bo->shmem.base.size < size)
		return npumem_refuse(drm, -EINVAL, "RUN_CREATE: host BO of %zu bytes, %llu wanted",
				     bo->shmem.base.size, size);
	if (npumem_bo_read_only(bo, file))
		return npumem_refuse(drm, -EACCES, "RUN_CREATE: the host BO is shared read-only");
	return 0;
}

/* For the CPU in any case, and for DMA if an engine does that. */
static int host_map(struct drm_device *drm, struct npu_client *client, struct npu_bo *bo,
		    struct npu_transfers *transfers)
{
	struct npu_dma *dma = NULL;
	int err;

	if (to_npumem(drm)->addresses & BIT(NPU_ADDRESS_DMA))
		dma = npumem_dma_map(bo, client);
	if (IS_ERR(dma))
		return npumem_refuse(drm, (int)PTR_ERR(dma),
				     "RUN_CREATE: the device does not reach the host BO");
	err = drm_gem_vmap(&bo->shmem.base, &transfers->map);
	if (err) {
		npumem_dma_unmap(dma);
		return npumem_refuse(drm, err, "RUN_CREATE: the host BO cannot be mapped");
	}
	transfers->dma = dma;
	return 0;
}

/* Make it this run's, and nobody else's. */
static int host_claim(struct drm_device *drm, struct npu_client *client, struct npu_bo *bo,
		      struct npu_transfers *transfers)
{
	int err;

	if (atomic_cmpxchg(&bo->host, 0, 1))
		return npumem_refuse(drm, -EBUSY, "RUN_CREATE: the host BO is another run's");
	err = host_map(drm, client, bo, transfers);
	if (err)
		atomic_set(&bo->host, 0);
	return err;
}

int npumem_transfers_init(struct npu_transfers *transfers, struct drm_device *drm,
			  struct drm_file *file, u32 handle, u64 size)
{
	struct drm_gem_object *obj;
	struct npu_bo *bo;
	int err;

	memset(transfers, 0, sizeof(*transfers));
	if (!size && !handle)
		return 0;
	if (!size)
		return npumem_refuse(drm, -EINVAL, "RUN_CREATE: host BO %u, none is needed",
				     handle);
	if (!handle)
		return npumem_refuse(drm, -EINVAL, "RUN_CREATE: no host BO, %llu bytes wanted",
				     size);
	obj = drm_gem_object_lookup(file, handle);
	if (!obj)
		return npumem_refuse(drm, -ENOENT, "RUN_CREATE: no host BO %u", handle);
	bo = to_npumem_bo(obj);
	err = host_check(drm, file->driver_priv, bo, size);
	if (!err)
		err = host_claim(drm, ((struct npu_file *)file->driver_priv)->client, bo,
				 transfers);
	if (err) {
		npumem_bo_put(bo);
		return err;
	}
	transfers->bo = bo;
	return 0;
}

void npumem_transfers_release(struct npu_transfers *transfers)
{
	struct npu_bo *bo = transfers->bo;

	if (!bo)
		return;
	npumem_dma_unmap(transfers->dma);
	drm_gem_vunmap(&bo->shmem.base, &transfers->map);
	atomic_set(&bo->host, 0);
	npumem_bo_put(bo);
	transfers->bo = NULL;
}

void *npumem_transfers_vaddr(const struct npu_transfers *transfers, u64 first, u64 length)
{
	const struct npu_bo *bo = transfers->bo;

	if (!bo || first > bo->shmem.base.size || length > bo->shmem.base.size - first)
		return NULL;
	return transfers->map.vaddr + first;
}

/* ------------------------------------------------------------------- counters */

void npumem_transfers_reset(struct npu_transfers *transfers)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(transfers->bytes); i++)
		atomic64_set(&transfers->bytes[i], 0);
}

void npumem_job_transferred(struct npu_job *job, u32 position)
{
	const struct npumem_position *p = npuv_position(job->run->plan->v, position);

	atomic64_add(p->length, &job->run->transfers.bytes[p->kind]);
	atomic64_add(p->length, &job->run->client->moved);
	trace_npumem_transfer(job->run->id, position, p);
}
EXPORT_SYMBOL_GPL(npumem_job_transferred);

/* ------------------------------------------------------------------ RUN_QUERY */

int npumem_ioctl_run_query(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npu_run *run __free(npumem_run_put) = NULL;
	struct drm_npumem_run_query *args = data;
	struct npumem_verdict lost;
	const struct npu_transfers *t;
	int err;

	if (args->flags)
		return npumem_refuse(drm, -EINVAL, "RUN_QUERY: flags %#x", args->flags);
	err = npumem_room_check(&args->verdict, NPUMEM_MAX_RECORD);
	if (err)
		return npumem_refuse(drm, err, "RUN_QUERY: verdict");
	run = npumem_run_lookup(file->driver_priv, args->run);
	if (!run)
		return npumem_refuse(drm, -ENOENT, "RUN_QUERY: no run %u", args->run);
	/* The call is made again with what @args has by then: its room is still there. */
	if (mutex_lock_interruptible(&run->lock))
		return -ERESTARTSYS;
	t = &run->transfers;
	args->block = run->states->block;
	args->error = -npumem_run_lost(run, &lost);
	args->submitted = run->submitted;
	args->load_bytes = npumem_transfers_bytes(t, NPUMEM_POSITION_LOAD);
	args->spill_bytes = npumem_transfers_bytes(t, NPUMEM_POSITION_SPILL);
	args->store_bytes = npumem_transfers_bytes(t, NPUMEM_POSITION_STORE);
	args->fill_bytes = npumem_transfers_bytes(t, NPUMEM_POSITION_FILL);
	mutex_unlock(&run->lock);
	return npumem_buffer_give(&args->verdict, &lost, sizeof(lost));
}
