// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: ranges of accesses
 *
 * The plan says which bytes of the arena, of the host BO or of a binding an access has
 * (npuv_walk_next()); here they become addresses, of the kind that the job's engine uses.
 * All of that memory is mapped before a job can be submitted: banks at probe, the host BO
 * by RUN_CREATE, bindings by RUN_BIND. So nothing is left to be done, or to fail, on the
 * way to the signal of a fence.
 */
#include <linux/module.h>

#include "base/engine.h"
#include "memory/dma.h"
#include "range.h"

/* As npuv_walk_begin() has it: an access of a step by its number in the graph. */
static u32 graph_access(const struct npu_job *job, u32 position, u32 access)
{
	const struct npumem_position *p = npumem_job_position(job, position);

	if (p->kind != NPUMEM_POSITION_STEP)
		return access;
	return npuv_step(job->run->plan->v->graph, p->index)->first_access + access;
}

u32 npumem_job_access_count(const struct npu_job *job, u32 position)
{
	const struct npumem_position *p = npumem_job_position(job, position);

	switch (p->kind) {
	case NPUMEM_POSITION_STEP:
		return npuv_step(job->run->plan->v->graph, p->index)->access_count;
	case NPUMEM_POSITION_DROP:
		return 0;
	default:
		return 2;
	}
}
EXPORT_SYMBOL_GPL(npumem_job_access_count);

u32 npumem_job_access_mode(const struct npu_job *job, u32 position, u32 access)
{
	const struct npumem_position *p = npumem_job_position(job, position);

	if (p->kind != NPUMEM_POSITION_STEP)
		return access ? NPUMEM_ACCESS_WRITE : NPUMEM_ACCESS_READ;
	return npuv_access(job->run->plan->v->graph, graph_access(job, position, access))->mode;
}
EXPORT_SYMBOL_GPL(npumem_job_access_mode);

u64 npumem_job_access_bytes(const struct npu_job *job, u32 position, u32 access)
{
	const struct npumem_position *p = npumem_job_position(job, position);

	if (p->kind != NPUMEM_POSITION_STEP)
		return p->length;
	return npuv_access_bytes(job->run->plan->v, graph_access(job, position, access));
}
EXPORT_SYMBOL_GPL(npumem_job_access_bytes);

/* ---------------------------------------------------------------- addresses */

static int carveout_range(const struct npu_job *job, struct npu_bo *bo, u64 first,
			  struct npu_access_range *range)
{
	if (first + range->length > bo->shmem.base.size)
		return -EFAULT;
	if (job->engine->addresses == NPU_ADDRESS_DMA)
		range->dma = npumem_bo_dma(bo, first);
	else
		range->vaddr = npumem_bo_vaddr(bo, first);
	return 1;
}

static int dma_range(const struct npu_dma *dma, u64 first, struct npu_access_range *range)
{
	u64 length;

	if (!dma)
		return -EFAULT;
	range->dma = npumem_dma_address(dma, first, &length);
	range->length = min(range->length, length);
	return 1;
}

static int host_range(const struct npu_job *job, u64 first, struct npu_access_range *range)
{
	const struct npu_transfers *transfers = &job->run->transfers;

	if (!transfers->bo || first + range->length > transfers->bo->shmem.base.size)
		return -EFAULT;
	if (job->engine->addresses == NPU_ADDRESS_DMA)
		return dma_range(transfers->dma, first, range);
	range->vaddr = npumem_transfers_vaddr(transfers, first, range->length);
	return range->vaddr ? 1 : -EFAULT;
}

static int external_range(const struct npu_job *job, u32 tensor, u64 first,
			  struct npu_access_range *range)
{
	const struct npu_external *external = npumem_external_find(job->run->externals, tensor);

	if (!external || !external->bo || first + range->length > external->size)
		return -EFAULT;
	if (external->bo->bank)
		return carveout_range(job, external->bo, external->offset + first, range);
	if (job->engine->addresses == NPU_ADDRESS_DMA)
		return dma_range(external->dma, external->offset + first, range);
	range->vaddr = npumem_external_vaddr(external, first, range->length);
	return range->vaddr ? 1 : -EFAULT;
}

/* Addresses of bytes of a range of the plan from @done on, and how many are contiguous. */
static int find_range(const struct npu_job *job, const struct npuv_range *from, u64 done, u64 max,
		      struct npu_access_range *range)
{
	u64 first = from->arena + done;
	int found;

	range->length = min(from->length - done, max);
	range->linear = from->linear + done;
	if (from->external == NPUMEM_NONE)
		found = carveout_range(job, job->run->arena, first, range);
	else if (from->external == NPUV_HOST)
		found = host_range(job, first, range);
	else
		found = external_range(job, from->external, first, range);
	WARN_ON_ONCE(found < 0);
	return found;
}

void npumem_ranges_begin(struct npu_access_ranges *ranges, const struct npu_job *job, u32 position,
			 u32 access)
{
	ranges->job = job;
	ranges->range.length = 0;
	ranges->done = 0;
	npuv_walk_begin(&ranges->walk, job->run->plan->v, job->first + position,
			graph_access(job, position, access));
}
EXPORT_SYMBOL_GPL(npumem_ranges_begin);

int npumem_ranges_next(struct npu_access_ranges *ranges, u64 max, struct npu_access_range *range)
{
	int found;

	if (ranges->done == ranges->range.length) {
		ranges->done = 0;
		if (!npuv_walk_next(&ranges->walk, &ranges->range))
			return 0;
	}
	found = find_range(ranges->job, &ranges->range, ranges->done, max, range);
	if (found == 1)
		ranges->done += range->length;
	return found;
}
EXPORT_SYMBOL_GPL(npumem_ranges_next);

int npumem_relocation_range(const struct npu_job *job,
			    const struct drm_npumem_relocation *relocation,
			    struct npu_access_range *range)
{
	struct npuv_range found;
	struct npuv_walk walk;

	npuv_walk_begin(&walk, job->run->plan->v, job->first + relocation->position,
			graph_access(job, relocation->position, relocation->access));
	npuv_walk_seek(&walk, relocation->delta);
	if (!npuv_walk_next(&walk, &found))
		return 0;
	return find_range(job, &found, 0, U64_MAX, range);
}
EXPORT_SYMBOL_GPL(npumem_relocation_range);

/* ------------------------------------------------------------------- caches */

/* All mappings that the job's positions access, some of them more than once. */
static void for_each_dma(const struct npu_job *job, void (*fn)(const struct npu_dma *dma))
{
	const struct npu_externals *externals = job->run->externals;
	const struct npumem_position *p;
	u32 i, use;

	for (i = 0; i < job->count; i++) {
		p = npumem_job_position(job, i);
		if (p->kind != NPUMEM_POSITION_STEP) {
			fn(job->run->transfers.dma);
			continue;
		}
		if (!externals->use_start)
			continue;
		for (use = externals->use_start[p->index]; use < externals->use_start[p->index + 1];
		     use++)
			fn(externals->list[externals->uses[use].external].dma);
	}
}

/* Whether there are caches between the CPU and the device at all. */
static bool needs_sync(const struct npu_job *job)
{
	return job->engine->addresses == NPU_ADDRESS_DMA &&
	       dma_dev_need_sync(job->run->dev->drm.dev);
}

void npumem_job_dma_begin(const struct npu_job *job)
{
	if (needs_sync(job))
		for_each_dma(job, npumem_dma_begin);
}

void npumem_job_dma_end(const struct npu_job *job)
{
	if (needs_sync(job))
		for_each_dma(job, npumem_dma_end);
}
