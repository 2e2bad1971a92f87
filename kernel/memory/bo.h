/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Buffer objects: GEM objects in a carveout bank or in system memory.
 */
#ifndef NPUMEM_BO_H
#define NPUMEM_BO_H

#include <drm/drm_gem_shmem_helper.h>

#include "carveout.h"
#include "base/drv.h"

/**
 * struct npu_bo - buffer object
 * @shmem: base. For a BO in the carveout only its GEM object is used
 * @bank: bank of a carveout BO, NULL for system memory and imported dma-bufs
 * @arena: it was made as an arena, and stays one
 * @shared: line for a shared arena, else NULL
 * @host: 1 while it is a run's host BO, or the window of an engine in a process
 * @client: of the file that created it, to know that file by; referenced. NULL if imported
 * @read_only: its dma-buf was exported for reading only. There is but one as long as anybody
 *	but its creator can have a handle
 * @accesses: number of SUBMITs that access it by the CPU, if it is imported
 * @range: its bytes of @bank, if there is one
 * @dma_lock: guards @dma; of system memory and imported dma-bufs only
 * @dma: mapping for a device that does DMA, as long as a run has it; see dma.c
 */
struct npu_bo {
	struct drm_gem_shmem_object shmem;
	struct npu_bank *bank;
	bool arena;
	struct npu_shared *shared;
	atomic_t host;
	struct npu_client *client;
	bool read_only;
	atomic_t accesses;
	struct npu_range range;
	struct mutex dma_lock;
	struct npu_dma *dma;
};

static inline struct npu_bo *to_npumem_bo(struct drm_gem_object *obj)
{
	return container_of(obj, struct npu_bo, shmem.base);
}

void npumem_bo_init(void); /* at module init */

/*
 * A zeroed BO of whole pages with one reference and no handle, charged to a client.
 * ERR_PTR: as npumem_bank_alloc(), -ENOMEM.
 */
struct npu_bo *npumem_bo_create_carveout(struct npu_bank *bank, u64 size,
					 struct npu_client *client);
/* The same for an arena that runs take turns with. */
struct npu_bo *npumem_bo_create_shared(struct npu_bank *bank, u64 size, struct npu_client *client);

static inline void npumem_bo_put(struct npu_bo *bo)
{
	if (bo)
		drm_gem_object_put(&bo->shmem.base);
}

/*
 * Kernel address of a carveout BO's byte. The caller is between drm_dev_enter() and
 * drm_dev_exit().
 */
void *npumem_bo_vaddr(struct npu_bo *bo, u64 offset);

/*
 * Whether a file, which has a handle of the BO, may only read it: it was imported from a
 * dma-buf that is open for reading only.
 */
bool npumem_bo_read_only(struct npu_bo *bo, const struct npu_file *file);

/* A SUBMIT begins to access an imported BO by the CPU; npumem_bo_access_ended() is the end. */
static inline void npumem_bo_access_begun(struct npu_bo *bo)
{
	atomic_inc(&bo->accesses);
}

void npumem_bo_access_ended(struct npu_bo *bo);

struct drm_gem_object *npumem_gem_create_object(struct drm_device *drm, size_t size);
struct drm_gem_object *npumem_gem_prime_import(struct drm_device *drm, struct dma_buf *buf);

int npumem_ioctl_bo_create(struct drm_device *drm, void *data, struct drm_file *file);
int npumem_ioctl_bo_mmap_offset(struct drm_device *drm, void *data, struct drm_file *file);
int npumem_ioctl_bo_wait(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* NPUMEM_BO_H */
