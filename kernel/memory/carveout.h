/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Carveout banks: the reserved memory that arenas and carveout BOs are cut from.
 */
#ifndef NPUMEM_CARVEOUT_H
#define NPUMEM_CARVEOUT_H

#include <linux/mutex.h>
#include <drm/drm_mm.h>

#include "base/drv.h"

struct dmem_cgroup_pool_state;
struct dmem_cgroup_region;
struct npu_client;
struct seq_file;
struct vm_fault;

/* Every arena and BO starts at a multiple of this, the largest alignment of a tensor. */
#define NPUMEM_BANK_ALIGNMENT 65536u

/**
 * struct npu_bank - one carveout bank
 * @dev: device that it belongs to
 * @index: its index in &npu_device.banks
 * @name: NUL-terminated, as users see it
 * @phys: first byte's physical address; unused if @software
 * @size: bytes, a multiple of NPUMEM_BANK_ALIGNMENT
 * @dma: the same for the device, if it does DMA
 * @vaddr: kernel mapping. Gone once the device is unplugged, so use it between
 *	drm_dev_enter() and drm_dev_exit() only
 * @region: its region of the dmem cgroup controller, NULL where there is no controller
 * @software: the bank is vmalloc'ed memory (see npumem_bank_add_software())
 * @lock: guards @mm and @free
 * @mm: the ranges that are allocated, in bytes from the bank's start
 * @free: number of bytes not allocated
 */
struct npu_bank {
	struct npu_device *dev;
	u32 index;
	char name[32];
	phys_addr_t phys;
	dma_addr_t dma;
	u64 size;
	void *vaddr;
	struct dmem_cgroup_region *region;
	bool software;
	struct mutex lock;
	struct drm_mm mm;
	u64 free;
};

/**
 * struct npu_range - allocated range of a bank
 * @node: bytes from the bank's start; a multiple of NPUMEM_BANK_ALIGNMENT
 * @client: is charged for it; referenced
 * @pool: pool of the cgroup that is charged for it, or NULL
 */
struct npu_range {
	struct drm_mm_node node;
	struct npu_client *client;
	struct dmem_cgroup_pool_state *pool;
};

/* At probe: make a bank of each region that the device tree's memory-region names. */
int npumem_banks_add_regions(struct npu_device *dev);
/* At probe: make a bank of ordinary memory, for machines without device tree. */
int npumem_bank_add_software(struct npu_device *dev, u64 size);

/* The bank of an index that user space named, or NULL. */
struct npu_bank *npumem_bank_lookup(struct npu_device *dev, u32 index);

/*
 * Allocate a contiguous range, zeroed, of at least that many bytes, and charge the client
 * and the current process's cgroup for it. -ENOSPC: no range is free, or it is more than
 * the client's share or the cgroup's limit has left; -ENODEV: the device is gone; -EINTR:
 * a fatal signal came while the range was filled with zeroes.
 */
int npumem_bank_alloc(struct npu_bank *bank, struct npu_range *range, u64 size,
		      struct npu_client *client);
void npumem_bank_free(struct npu_bank *bank, struct npu_range *range);
/* Fill a range with zeroes. -ENODEV: the device is gone; -EINTR: a fatal signal came. */
int npumem_bank_scrub(struct npu_bank *bank, const struct npu_range *range);

/* Map one page of the bank into a VM_PFNMAP vma; offset is in bytes. */
vm_fault_t npumem_bank_fault(struct npu_bank *bank, u64 offset, struct vm_fault *vmf);

void npumem_bank_info(struct npu_bank *bank, struct drm_npumem_bank *info);
void npumem_bank_show(struct npu_bank *bank, struct seq_file *m);

#endif /* NPUMEM_CARVEOUT_H */
