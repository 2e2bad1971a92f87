// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: DMA
 *
 * The device of engines that do DMA is the parent of the DRM device. Its driver has set
 * its mask. Banks are mapped for it at probe, as they are: nothing of them is cached by
 * the CPU. BOs in system memory and imported dma-bufs are mapped when they become part of
 * a run, by RUN_CREATE and RUN_BIND, once for all bindings, and stay mapped as long as there is
 * one; each keeps a table of its contiguous pieces, so that addresses are found without a
 * search from the beginning.
 *
 * What a device does not reach is refused, never copied through memory that it does
 * (swiotlb): engines that work in such a copy at the same time as the CPU does in what it is of
 * would overwrite each other's bytes. So a device that does not address all memory of
 * the machine has nothing but its banks. That depends on device and machine, not on where the
 * pages of a BO happen to be.
 *
 * Caches. Before a job begins, and when it has ended, what it may access in system memory
 * is handed over (npumem_dma_begin(), npumem_dma_end()); that costs something only
 * where the device is not coherent. An imported dma-buf is its exporter's affair: it
 * looks after caches when it maps, and when somebody's CPU access is announced to it. Ours is
 * not: no engine of such a device is the CPU (job/bind.c, job/access.c).
 *
 * Unplug. A mapping must not outlive the device's binding to its driver, but BOs do. So
 * the device keeps a list of all mappings and undoes what is left of them when its engines
 * have stopped; who has one later finds it undone.
 *
 * Locks. To map an imported dma-buf and to unmap it is a call of its exporter, which may take
 * as long as it likes. Only a lock of that BO is held meanwhile, besides what unplug waits for,
 * so no other BO has to wait.
 */
#include <linux/dma-buf.h>
#include <linux/dma-direct.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <drm/drm_drv.h>
#include <drm/drm_prime.h>
#include <drm/drm_print.h>

#include "base/client.h"
#include "base/compat.h"
#include "carveout.h"
#include "dma.h"

/**
 * struct npu_dma_piece - contiguous bytes
 * @offset: of the first one in the BO; they end where those of the next piece begin
 * @address: of it
 */
struct npu_dma_piece {
	u64 offset;
	dma_addr_t address;
};

/**
 * struct npu_dma - mapping of a BO for its device
 * @node: in &npu_device.dmas, under its lock; empty once it is undone
 * @bo: that is mapped; its @dma is this
 * @users: runs' bindings and host BOs that have it, under the BO's @dma_lock
 * @client: who is charged for @charged bytes; referenced
 * @charged: see @client
 * @table: of the pages; that of the exporter if the BO is imported
 * @direction: of what the device does
 * @count: of @pieces, with one more that says where the last ends
 * @pieces: ascending
 */
struct npu_dma {
	struct list_head node;
	struct npu_bo *bo;
	u32 users;
	struct npu_client *client;
	u64 charged;
	struct sg_table *table;
	enum dma_data_direction direction;
	u32 count;
	struct npu_dma_piece pieces[] __counted_by(count);
};

/* ---------------------------------------------------------------------- banks */

/* Of the carveout, which is the kernel's memory or not: there are two ways to say so. */
static dma_addr_t map_region(struct device *parent, phys_addr_t phys, u64 size)
{
	if (pfn_valid(PHYS_PFN(phys)))
		return dma_map_page_attrs(parent, pfn_to_page(PHYS_PFN(phys)), 0, size,
					  DMA_BIDIRECTIONAL, DMA_ATTR_SKIP_CPU_SYNC);
	return dma_map_resource(parent, phys, size, DMA_BIDIRECTIONAL, 0);
}

static void unmap_region(struct device *parent, const struct npu_bank *bank)
{
	if (pfn_valid(PHYS_PFN(bank->phys)))
		dma_unmap_page_attrs(parent, bank->dma, bank->size, DMA_BIDIRECTIONAL,
				     DMA_ATTR_SKIP_CPU_SYNC);
	else
		dma_unmap_resource(parent, bank->dma, bank->size, DMA_BIDIRECTIONAL, 0);
}

/*
 * Nothing is to be mapped that would be copied somewhere else then. dma_capable() would say so, but
 * what it calls is not for modules everywhere.
 */
static bool is_reached(struct device *parent, const struct npu_bank *bank)
{
	dma_addr_t first;

	if (bank->software)
		return false;
	if (!dma_addressing_limited(parent))
		return true;
	first = phys_to_dma(parent, bank->phys);
	return first != DMA_MAPPING_ERROR && parent->dma_mask &&
	       first + bank->size - 1 <= min_not_zero(*parent->dma_mask, parent->bus_dma_limit);
}

static int bank_map(struct device *parent, struct npu_bank *bank)
{
	if (!is_reached(parent, bank))
		return dev_err_probe(parent, -EOPNOTSUPP,
				     "bank %u (%s) is not within reach, mask %#llx\n", bank->index,
				     bank->name, dma_get_mask(parent));
	bank->dma = map_region(parent, bank->phys, bank->size);
	if (dma_mapping_error(parent, bank->dma))
		return dev_err_probe(parent, -ENOMEM, "bank %u cannot be mapped\n", bank->index);
	return 0;
}

/* While the parent has its driver still: a managed action of it would do. */
static void banks_unmap(void *data)
{
	struct npu_device *dev = data;
	u32 i;

	for (i = 0; i < dev->dma_banks; i++)
		unmap_region(dev->drm.dev, dev->banks[i]);
	dev->dma_banks = 0;
}

int npumem_banks_map_dma(struct npu_device *dev)
{
	int err = devm_add_action_or_reset(dev->drm.dev, banks_unmap, dev);

	while (!err && dev->dma_banks < dev->bank_count) {
		err = bank_map(dev->drm.dev, dev->banks[dev->dma_banks]);
		dev->dma_banks += !err;
	}
	return err;
}

/* ------------------------------------------------------------------------ BOs */

static struct sg_table *map_system(struct npu_bo *bo, enum dma_data_direction direction)
{
	struct drm_gem_object *obj = &bo->shmem.base;
	struct sg_table *table;
	int err;

	err = drm_gem_shmem_pin(&bo->shmem);
	if (err)
		return ERR_PTR(err);
	table = drm_prime_pages_to_sg(obj->dev, bo->shmem.pages, obj->size >> PAGE_SHIFT);
	if (IS_ERR(table)) {
		err = PTR_ERR(table);
		goto err_pin;
	}
	err = dma_map_sgtable(obj->dev->dev, table, direction, 0);
	if (!err)
		return table;
	sg_free_table(table);
	kfree(table);
err_pin:
	drm_gem_shmem_unpin(&bo->shmem);
	return ERR_PTR(err);
}

static struct sg_table *map_table(struct npu_bo *bo, enum dma_data_direction direction)
{
	if (bo->shmem.base.import_attach)
		return dma_buf_map_attachment_unlocked(bo->shmem.base.import_attach, direction);
	return map_system(bo, direction);
}

static void unmap_table(struct npu_bo *bo, struct sg_table *table,
			enum dma_data_direction direction)
{
	if (bo->shmem.base.import_attach) {
		dma_buf_unmap_attachment_unlocked(bo->shmem.base.import_attach, table, direction);
		return;
	}
	dma_unmap_sgtable(bo->shmem.base.dev->dev, table, direction, 0);
	sg_free_table(table);
	kfree(table);
	drm_gem_shmem_unpin(&bo->shmem);
}

/* Its pieces, or only their number if there is no room for them yet; -EINVAL: too short. */
static int find_pieces(struct npu_dma *dma, struct sg_table *table, u64 size, u32 *count)
{
	struct scatterlist *sg;
	dma_addr_t next = 0;
	u64 offset = 0;
	u32 i, n = 0;

	for_each_sgtable_dma_sg(table, sg, i)
	{
		if (!offset || sg_dma_address(sg) != next) {
			if (dma)
				dma->pieces[n] = (struct npu_dma_piece){
					.offset = offset,
					.address = sg_dma_address(sg),
				};
			n++;
		}
		offset += sg_dma_len(sg);
		next = sg_dma_address(sg) + sg_dma_len(sg);
		if (i % 4096 == 4095)
			cond_resched();
	}
	if (dma)
		dma->pieces[n].offset = offset;
	*count = n;
	return offset < size ? -EINVAL : 0;
}

static struct npu_dma *dma_create(struct npu_bo *bo, struct sg_table *table,
				  struct npu_client *client)
{
	u64 bytes, size = bo->shmem.base.size;
	struct npu_dma *dma;
	u32 count;
	int err;

	err = find_pieces(NULL, table, size, &count);
	if (err)
		return ERR_PTR(err);
	bytes = struct_size(dma, pieces, (size_t)count + 1);
	err = npumem_client_charge(client, NPUMEM_RESOURCE_MEMORY, bytes);
	if (err)
		return ERR_PTR(err);
	dma = kvzalloc(bytes, GFP_KERNEL_ACCOUNT);
	if (!dma) {
		npumem_client_uncharge(client, NPUMEM_RESOURCE_MEMORY, bytes);
		return ERR_PTR(-ENOMEM);
	}
	dma->count = count + 1;
	dma->charged = bytes;
	dma->client = npumem_client_get(client);
	dma->bo = bo;
	dma->table = table;
	find_pieces(dma, table, size, &count);
	return dma;
}

/* An imported dma-buf that is open for reading only is written by no job. */
static enum dma_data_direction dma_direction(const struct npu_bo *bo)
{
	const struct dma_buf_attachment *attach = bo->shmem.base.import_attach;

	if (attach && !(attach->dmabuf->file->f_mode & FMODE_WRITE))
		return DMA_TO_DEVICE;
	return DMA_BIDIRECTIONAL;
}

/* Under the BO's lock. */
static struct npu_dma *dma_map(struct npu_device *dev, struct npu_bo *bo, struct npu_client *client)
{
	enum dma_data_direction direction = dma_direction(bo);
	struct sg_table *table = map_table(bo, direction);
	struct npu_dma *dma;

	if (IS_ERR(table))
		return ERR_CAST(table);
	dma = dma_create(bo, table, client);
	if (IS_ERR(dma)) {
		unmap_table(bo, table, direction);
		return dma;
	}
	dma->direction = direction;
	mutex_lock(&dev->dmas_lock);
	list_add_tail(&dma->node, &dev->dmas);
	mutex_unlock(&dev->dmas_lock);
	bo->dma = dma;
	return dma;
}

struct npu_dma *npumem_dma_map(struct npu_bo *bo, struct npu_client *client)
{
	struct npu_device *dev = to_npumem(bo->shmem.base.dev);
	struct npu_dma *dma;
	int idx;

	if (dma_addressing_limited(dev->drm.dev))
		return ERR_PTR(-EOPNOTSUPP);
	/* Or npumem_dma_unplug() would not see it. */
	if (!drm_dev_enter(&dev->drm, &idx))
		return ERR_PTR(-ENODEV);
	if (mutex_lock_killable(&bo->dma_lock)) {
		dma = ERR_PTR(-EINTR);
		goto exit;
	}
	dma = bo->dma ?: dma_map(dev, bo, client);
	if (!IS_ERR(dma))
		dma->users++;
	mutex_unlock(&bo->dma_lock);
exit:
	drm_dev_exit(idx);
	return dma;
}

/* Under @dmas_unplug: nobody else undoes this one. */
static void dma_undo(struct npu_device *dev, struct npu_dma *dma)
{
	if (list_empty(&dma->node))
		return;
	mutex_lock(&dev->dmas_lock);
	list_del_init(&dma->node);
	mutex_unlock(&dev->dmas_lock);
	unmap_table(dma->bo, dma->table, dma->direction);
}

void npumem_dma_unmap(struct npu_dma *dma)
{
	struct npu_device *dev;
	struct npu_bo *bo;
	bool last;

	if (!dma)
		return;
	bo = dma->bo;
	dev = to_npumem(bo->shmem.base.dev);
	down_read(&dev->dmas_unplug);
	mutex_lock(&bo->dma_lock);
	last = !--dma->users;
	if (last) {
		dma_undo(dev, dma);
		bo->dma = NULL;
	}
	mutex_unlock(&bo->dma_lock);
	up_read(&dev->dmas_unplug);
	if (!last)
		return;
	npumem_client_uncharge(dma->client, NPUMEM_RESOURCE_MEMORY, dma->charged);
	npumem_client_put(dma->client);
	kvfree(dma);
}

void npumem_dma_unplug(struct npu_device *dev)
{
	struct npu_dma *dma, *next;

	guard(rwsem_write)(&dev->dmas_unplug);
	list_for_each_entry_safe(dma, next, &dev->dmas, node)
		dma_undo(dev, dma);
}

dma_addr_t npumem_dma_address(const struct npu_dma *dma, u64 offset, u64 *length)
{
	const struct npu_dma_piece *piece;
	u32 low = 0;

	/* The first piece that ends beyond the offset. */
	npuv_bisect(low, dma->count - 1, i, dma->pieces[i + 1].offset <= offset);
	piece = &dma->pieces[low];
	*length = dma->pieces[low + 1].offset - offset;
	return piece->address + (offset - piece->offset);
}

void npumem_dma_begin(const struct npu_dma *dma)
{
	if (dma && !dma->bo->shmem.base.import_attach)
		dma_sync_sgtable_for_device(dma->bo->shmem.base.dev->dev, dma->table,
					    dma->direction);
}

void npumem_dma_end(const struct npu_dma *dma)
{
	if (dma && !dma->bo->shmem.base.import_attach)
		dma_sync_sgtable_for_cpu(dma->bo->shmem.base.dev->dev, dma->table, dma->direction);
}
