// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: CPU access to imported buffers
 *
 * An engine that is a CPU reads and writes external tensors through kernel mappings (one that
 * does DMA has a mapping of the exporter's making, and needs nothing of this). If
 * such a tensor is in a dma-buf of another device, its exporter has to be told before
 * and after (dma_buf_begin_cpu_access(), dma_buf_end_cpu_access()): caches that are not
 * coherent are invalidated and written back then, bounce buffers copied. Tensors that
 * steps only read are announced for reading (DMA_FROM_DEVICE), others for both.
 *
 * Where. Beginning an access waits for the buffer's fences; beginning and ending may sleep,
 * allocate memory and take the buffer's dma_resv. Nobody whom a fence waits for may do so,
 * and that is true of a job from its SUBMIT on:
 *
 *  - SUBMIT begins before it locks or publishes anything. The bytes must be complete by
 *    then, so it waits for the in-syncs and the buffers' fences itself instead of leaving
 *    that to the scheduler. Only runs that have imported something pay for that.
 *  - The access ends in a work item once the last job has signalled. BO_WAIT of the
 *    buffer waits for it. A client that waits only for the fence may look a moment too
 *    early, on a device whose caches are not coherent with the CPU's. That cannot be helped
 *    as long as exporters may take locks in end_cpu_access that others hold while they
 *    wait for fences.
 */
#include <linux/dma-buf.h>
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sort.h>
#include <linux/wait.h>
#include <drm/drm_drv.h>

#include "access.h"
#include "base/compat.h"
#include "base/engine.h"
#include "base/fence.h"
#include "base/work.h"
#include "run.h"

/* This is MODULE_IMPORT_NS() by hand, since the type of its argument changed. */
MODULE_INFO(import_ns, "DMA_BUF");

/* One buffer. It is accessed for reading and writing if @write is set, else for reading. */
struct access_buffer {
	struct npu_bo *bo;
	bool write;
};

/**
 * struct npu_cpu_access - CPU access to the imported buffers of one SUBMIT
 * @work: ends the access
 * @callback: queues @work
 * @dev: device of the SUBMIT; referenced
 * @count: number of @buffers
 * @buffers: the buffers, each once, referenced
 */
struct npu_cpu_access {
	struct work_struct work;
	struct dma_fence_cb callback;
	struct npu_device *dev;
	u32 count;
	struct access_buffer buffers[] __counted_by(count);
};

static struct dma_buf *buffer_dmabuf(const struct access_buffer *buffer)
{
	return buffer->bo->shmem.base.import_attach->dmabuf;
}

static enum dma_data_direction buffer_direction(const struct access_buffer *buffer)
{
	return buffer->write ? DMA_BIDIRECTIONAL : DMA_FROM_DEVICE;
}

/* Wait until the fences have signalled that dma_buf_begin_cpu_access() would wait for. */
static int buffer_wait(const struct access_buffer *buffer)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;
	int err = 0;

	dma_resv_iter_begin(&cursor, buffer_dmabuf(buffer)->resv, dma_resv_usage_rw(buffer->write));
	dma_resv_for_each_fence_unlocked(&cursor, fence)
	{
		err = npumem_fence_wait_killable(fence);
		if (err)
			break;
	}
	dma_resv_iter_end(&cursor);
	return err;
}

/*
 * dma_buf_begin_cpu_access() gives up at any signal, and a SUBMIT that began anew at each
 * would never end in a process with a timer. The long waits were made before, by
 * buffer_wait(); if a signal comes nevertheless, we try again a little later.
 */
static int buffer_begin(const struct access_buffer *buffer)
{
	int err;

	do {
		err = buffer_wait(buffer);
		if (err)
			return err;
		err = dma_buf_begin_cpu_access(buffer_dmabuf(buffer), buffer_direction(buffer));
		if (err != -EINTR && err != -ERESTARTSYS)
			return err;
		schedule_timeout_killable(1);
	} while (!fatal_signal_pending(current));
	return -EINTR;
}

static void buffer_end(struct access_buffer *buffer)
{
	/* Nobody is left to be told of an error; exporters report none in practice. */
	dma_buf_end_cpu_access(buffer_dmabuf(buffer), buffer_direction(buffer));
	npumem_bo_access_ended(buffer->bo);
}

static void access_free(struct npu_cpu_access *access)
{
	struct npu_device *dev = access->dev;
	u32 i;

	for (i = 0; i < access->count; i++)
		npumem_bo_put(access->buffers[i].bo);
	kvfree(access);
	drm_dev_put(&dev->drm);
}

static void access_work(struct work_struct *work)
{
	npumem_cpu_access_end(container_of(work, struct npu_cpu_access, work));
}

static void access_signalled(struct dma_fence *fence, struct dma_fence_cb *callback)
{
	struct npu_cpu_access *access = container_of(callback, struct npu_cpu_access, callback);

	queue_work(npumem_wq, &access->work);
}

static int buffer_compare(const void *a, const void *b)
{
	const struct npu_bo *first = ((const struct access_buffer *)a)->bo;
	const struct npu_bo *second = ((const struct access_buffer *)b)->bo;

	return first < second ? -1 : first > second;
}

/* Keep each buffer once, since several tensors may be in one, and drop the other references. */
static void access_unique(struct npu_cpu_access *access)
{
	struct access_buffer *b = access->buffers;
	u32 i, n = 1;

	sort(b, access->count, sizeof(*b), buffer_compare, NULL);
	for (i = 1; i < access->count; i++) {
		if (b[i].bo == b[n - 1].bo) {
			b[n - 1].write |= b[i].write;
			npumem_bo_put(b[i].bo);
		} else {
			b[n++] = b[i];
		}
	}
	access->count = n;
}

/* Take references on all imported buffers that the run's tensors are bound to. Under run->lock. */
static struct npu_cpu_access *access_collect(struct npu_run *run)
{
	const struct npu_externals *externals = run->externals;
	const struct npu_external *external;
	struct npu_cpu_access *access;
	u32 i, n = 0;

	access = kvzalloc(struct_size(access, buffers, externals->imported), GFP_KERNEL_ACCOUNT);
	if (!access)
		return ERR_PTR(-ENOMEM);
	access->count = externals->imported;
	for (i = 0; i < externals->count; i++) {
		external = &externals->list[i];
		if (!npumem_external_imported(external))
			continue;
		drm_gem_object_get(&external->bo->shmem.base);
		access->buffers[n++] = (struct access_buffer){
			.bo = external->bo,
			.write = external->written,
		};
	}
	INIT_WORK(&access->work, access_work);
	access->dev = run->dev;
	drm_dev_get(&run->dev->drm);
	access_unique(access);
	return access;
}

bool npumem_cpu_access_needed(const struct npu_run *run)
{
	return READ_ONCE(run->externals->imported) &&
	       run->dev->kernel_addresses & BIT(NPU_ADDRESS_CPU);
}

struct npu_cpu_access *npumem_cpu_access_begin(struct npu_run *run, u64 *generation)
{
	struct npu_cpu_access *access = NULL;
	u32 i;
	int err;

	if (mutex_lock_killable(&run->lock))
		return ERR_PTR(-EINTR);
	*generation = run->externals->generation;
	if (npumem_cpu_access_needed(run))
		access = access_collect(run);
	mutex_unlock(&run->lock);
	if (IS_ERR_OR_NULL(access))
		return access;
	for (i = 0; i < access->count; i++) {
		npumem_bo_access_begun(access->buffers[i].bo);
		err = buffer_begin(&access->buffers[i]);
		if (err)
			goto err;
	}
	return access;
err:
	npumem_bo_access_ended(access->buffers[i].bo);
	while (i--)
		buffer_end(&access->buffers[i]);
	access_free(access);
	return ERR_PTR(npumem_exporter_error(err));
}

void npumem_cpu_access_end(struct npu_cpu_access *access)
{
	u32 i;

	if (!access)
		return;
	for (i = 0; i < access->count; i++)
		buffer_end(&access->buffers[i]);
	access_free(access);
}

void npumem_cpu_access_end_after(struct npu_cpu_access *access, struct dma_fence *fence)
{
	if (access && dma_fence_add_callback(fence, &access->callback, access_signalled))
		queue_work(npumem_wq, &access->work);
}
