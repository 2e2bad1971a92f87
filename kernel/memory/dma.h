/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory as a device with engines that do DMA reaches it.
 */
#ifndef NPUMEM_DMA_H
#define NPUMEM_DMA_H

#include <linux/dma-mapping.h>

#include "bo.h"

struct npu_dma;

/* The banks of a device, all of them, at probe. -EOPNOTSUPP: it does not reach one. */
int npumem_banks_map_dma(struct npu_device *dev);

/**
 * npumem_dma_map() - map a BO in system memory, or an imported one, for its device
 * @bo: the caller's, for as long as it is mapped
 * @client: who is charged for what is kept for that, if it is not mapped yet
 *
 * May sleep. A dma-buf that is open for reading only is mapped for reading only.
 *
 * Return: to be passed to npumem_dma_unmap(); ERR_PTR: -EOPNOTSUPP: the device does not
 * address all memory of the machine; -ENODEV; -EDQUOT; -ENOMEM; or what the exporter of a
 * dma-buf says.
 */
struct npu_dma *npumem_dma_map(struct npu_bo *bo, struct npu_client *client);
void npumem_dma_unmap(struct npu_dma *dma); /* or NULL */

/* Of the bytes from an offset on: the address of the first, and how many are contiguous. */
dma_addr_t npumem_dma_address(const struct npu_dma *dma, u64 offset, u64 *length);

/* The CPU has written to it, and now the device comes; or the other way round. Any context. */
void npumem_dma_begin(const struct npu_dma *dma);
void npumem_dma_end(const struct npu_dma *dma);

/* The device is being removed, its engines are stopped: nothing stays mapped. */
void npumem_dma_unplug(struct npu_device *dev);

/* Address for the device of a carveout BO's byte. */
static inline dma_addr_t npumem_bo_dma(const struct npu_bo *bo, u64 offset)
{
	return bo->bank->dma + bo->range.node.start + offset;
}

#endif /* NPUMEM_DMA_H */
