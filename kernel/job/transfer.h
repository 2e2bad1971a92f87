/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Transfers move bytes between arena and host memory.
 */
#ifndef NPUMEM_TRANSFER_H
#define NPUMEM_TRANSFER_H

#include <linux/atomic.h>
#include <linux/iosys-map.h>

#include "memory/bo.h"

struct drm_device;
struct drm_file;
struct npu_job;

/**
 * struct npu_transfers - host memory of a run, and how many bytes went there and back
 * @bo: system BO of the plan's host_size, referenced and of no other run while this
 *	one lives; NULL for a plan that needs none
 * @map: kernel mapping of all of it
 * @dma: mapping of all of it for the device, if an engine uses that; else NULL
 * @bytes: bytes moved in this inference, by enum npumem_position_kind
 *
 * @bo, @map and @dma are constant; the rest is counted by engines and read by anybody.
 */
struct npu_transfers {
	struct npu_bo *bo;
	struct iosys_map map;
	struct npu_dma *dma;
	atomic64_t bytes[NPUMEM_POSITION_STORE + 1];
};

/*
 * For a run that is being created: find the BO of a handle, check that it is a host BO of
 * at least @size bytes, and keep it, mapped. May sleep. -ENOENT, -EINVAL, -EBUSY, -ENOMEM.
 */
int npumem_transfers_init(struct npu_transfers *transfers, struct drm_device *drm,
			  struct drm_file *file, u32 handle, u64 size);
void npumem_transfers_release(struct npu_transfers *transfers);

/* Set the counters to zero for the next inference. No job is in flight. */
void npumem_transfers_reset(struct npu_transfers *transfers);

static inline s64 npumem_transfers_bytes(const struct npu_transfers *transfers, u32 kind)
{
	return atomic64_read(&transfers->bytes[kind]);
}

/*
 * Kernel address of bytes [first, first + length) of the host BO, NULL if they are
 * not all there. System memory: it is there as long as the run is.
 */
void *npumem_transfers_vaddr(const struct npu_transfers *transfers, u64 first, u64 length);

/*
 * The engine calls this once for each position of its job that is a load, spill, store or
 * fill, when all of its bytes have been moved. Any context.
 */
void npumem_job_transferred(struct npu_job *job, u32 position);

int npumem_ioctl_run_query(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* NPUMEM_TRANSFER_H */
