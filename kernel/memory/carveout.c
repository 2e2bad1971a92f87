// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: carveout banks
 *
 * A bank is a contiguous range of memory that nothing but this device maps: a
 * reserved-memory node with no-map, which the device claims, or, for
 * development on machines that have none, vmalloc'ed memory. Arenas and
 * carveout BOs are ranges of a bank.
 *
 * Isolation is decided here: a range is filled with zeroes *before* it is
 * handed out, not after it came back. So it does not matter how its last owner
 * went away, and a bank is clean even if the boot loader left something in it.
 *
 * The kernel mapping belongs to the platform device and goes at unbind, while
 * BOs, and with them allocations, live on until the last file is closed. Hence
 * bookkeeping is managed by the DRM device (drmm) and the mapping by the
 * platform device (devm), and whoever touches bytes holds drm_dev_enter().
 *
 * Shares. What is allocated is charged to the client whose call it was (client.c) and,
 * where the kernel has the dmem controller, to its cgroup: region
 * "drm/DEVICE/bankINDEX" of dmem.max.
 */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/vmalloc.h>
#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "carveout.h"
#include "base/client.h"
#include "base/compat.h"
#include "base/drv.h"
#include "base/work.h"

#define SCRUB_CHUNK SZ_256K

static void bank_takedown(struct drm_device *drm, void *ptr)
{
	struct npu_bank *bank = ptr;

	drm_mm_takedown(&bank->mm);
	mutex_destroy(&bank->lock);
}

static struct npu_bank *bank_create(struct npu_device *dev, const char *name, u64 size)
{
	const struct dmem_cgroup_init init = { .size = round_down(size, NPUMEM_BANK_ALIGNMENT) };
	struct npu_bank *bank;
	char region[16];
	int err;

	if (dev->bank_count == NPUMEM_MAX_BANKS)
		return ERR_PTR(-E2BIG);
	size = init.size;
	if (!size)
		return ERR_PTR(-EINVAL);
	bank = drmm_kzalloc(&dev->drm, sizeof(*bank), GFP_KERNEL);
	if (!bank)
		return ERR_PTR(-ENOMEM);
	bank->dev = dev;
	bank->index = dev->bank_count;
	bank->size = size;
	bank->free = size;
	strscpy(bank->name, name, sizeof(bank->name));
	mutex_init(&bank->lock);
	drm_mm_init(&bank->mm, 0, size);
	err = drmm_add_action_or_reset(&dev->drm, bank_takedown, bank);
	if (err)
		return ERR_PTR(err);
	/* The region is not called by the bank's name, since another bank may have the same. */
	snprintf(region, sizeof(region), "bank%u", bank->index);
	bank->region = drmm_cgroup_register_region(&dev->drm, region, &init);
	return IS_ERR(bank->region) ? ERR_CAST(bank->region) : bank;
}

static void bank_publish(struct npu_bank *bank)
{
	bank->dev->bank_sizes[bank->index] = bank->size;
	bank->dev->banks[bank->dev->bank_count++] = bank;
}

static int bank_add_region(struct npu_device *dev, unsigned int idx)
{
	struct device *parent = dev->drm.dev;
	struct npu_bank *bank;
	struct resource res;
	const char *name;
	int err;

	err = of_reserved_mem_region_to_resource(parent->of_node, idx, &res);
	if (err)
		return dev_err_probe(parent, err, "memory-region %u is not reserved memory\n", idx);
	if (!IS_ALIGNED(res.start, NPUMEM_BANK_ALIGNMENT) ||
	    resource_size(&res) < NPUMEM_BANK_ALIGNMENT)
		return dev_err_probe(
			parent, -EINVAL,
			"memory-region %u: %pR does not start at, or have, a multiple of %u bytes\n",
			idx, &res, NPUMEM_BANK_ALIGNMENT);
	if (of_property_read_string_index(parent->of_node, "memory-region-names", idx, &name))
		name = res.name ?: "carveout";
	bank = bank_create(dev, name, resource_size(&res));
	if (IS_ERR(bank))
		return PTR_ERR(bank);
	/* Another device that maps it would hand out the same bytes. */
	if (!devm_request_mem_region(parent, res.start, bank->size, dev_name(parent)))
		return dev_err_probe(parent, -EBUSY, "memory-region %u: %pR is another device's\n",
				     idx, &res);
	bank->phys = res.start;
	bank->vaddr = devm_memremap(parent, res.start, bank->size, MEMREMAP_WC);
	if (IS_ERR_OR_NULL(bank->vaddr))
		return dev_err_probe(
			parent, -ENOMEM,
			"memory-region %u: cannot map %pR; does its node say no-map?\n", idx, &res);
	bank_publish(bank);
	return 0;
}

int npumem_banks_add_regions(struct npu_device *dev)
{
	struct device_node *np = dev->drm.dev->of_node;
	int count = np ? of_reserved_mem_region_count(np) : 0;
	int i, err;

	for (i = 0; i < count; i++) {
		err = bank_add_region(dev, i);
		if (err)
			return err;
	}
	return 0;
}

static void software_free(void *vaddr)
{
	vfree(vaddr);
}

int npumem_bank_add_software(struct npu_device *dev, u64 size)
{
	struct npu_bank *bank;
	char name[32];

	snprintf(name, sizeof(name), "software%u", dev->bank_count);
	bank = bank_create(dev, name, size);
	if (IS_ERR(bank))
		return PTR_ERR(bank);
	bank->software = true;
	/* vmalloc takes single pages if need be, so that a bank may be large. */
	bank->vaddr = vmalloc_user(bank->size);
	if (!bank->vaddr)
		return -ENOMEM;
	bank_publish(bank);
	return devm_add_action_or_reset(dev->drm.dev, software_free, bank->vaddr);
}

struct npu_bank *npumem_bank_lookup(struct npu_device *dev, u32 index)
{
	if (index >= dev->bank_count)
		return NULL;
	return dev->banks[array_index_nospec(index, dev->bank_count)];
}

/* In pieces: a bank may have gigabytes, and unbind waits for each piece. */
int npumem_bank_scrub(struct npu_bank *bank, const struct npu_range *range)
{
	u64 done, step, start = range->node.start, size = range->node.size;
	int idx;

	for (done = 0; done < size; done += step) {
		if (fatal_signal_pending(current))
			return -EINTR;
		step = min_t(u64, size - done, SCRUB_CHUNK);
		if (!drm_dev_enter(&bank->dev->drm, &idx))
			return -ENODEV;
		memset(bank->vaddr + start + done, 0, step);
		drm_dev_exit(idx);
		cond_resched();
	}
	return 0;
}

/* Charge a range to the client's share and to the cgroup of the current process. */
static int bank_charge(struct npu_bank *bank, struct npu_range *range, u64 size,
		       struct npu_client *client)
{
	int err = npumem_client_charge(client, NPUMEM_RESOURCE_CARVEOUT + bank->index, size);

	if (err)
		return err;
	err = dmem_cgroup_try_charge(bank->region, size, &range->pool, NULL);
	if (err) {
		npumem_client_uncharge(client, NPUMEM_RESOURCE_CARVEOUT + bank->index, size);
		/* Nothing is evicted here, so trying again is of no use. */
		return err == -EAGAIN ? -ENOSPC : err;
	}
	range->client = npumem_client_get(client);
	return 0;
}

static void bank_uncharge(struct npu_bank *bank, struct npu_range *range, u64 size)
{
	dmem_cgroup_uncharge(range->pool, size);
	npumem_client_uncharge(range->client, NPUMEM_RESOURCE_CARVEOUT + bank->index, size);
	npumem_client_put(range->client);
}

static int bank_insert(struct npu_bank *bank, struct drm_mm_node *node, u64 size)
{
	int err;

	guard(mutex)(&bank->lock);
	err = drm_mm_insert_node_generic(&bank->mm, node, size, NPUMEM_BANK_ALIGNMENT, 0,
					 DRM_MM_INSERT_BEST);
	if (!err)
		bank->free -= size;
	return err;
}

static int bank_take(struct npu_bank *bank, struct npu_range *range, u64 size,
		     struct npu_client *client)
{
	int err;

	memset(range, 0, sizeof(*range));
	err = bank_charge(bank, range, size, client);
	if (err)
		return err;
	err = bank_insert(bank, &range->node, size);
	if (err)
		bank_uncharge(bank, range, size);
	return err;
}

int npumem_bank_alloc(struct npu_bank *bank, struct npu_range *range, u64 size,
		      struct npu_client *client)
{
	int err;

	if (size > bank->size)
		return -ENOSPC;
	/* Nobody else could have what is left of the last unit, so it is not free. */
	size = round_up(size, NPUMEM_BANK_ALIGNMENT);
	err = bank_take(bank, range, size, client);
	if (err == -ENOSPC) {
		/* A run whose last job has just ended may still be on its way out. */
		flush_workqueue(npumem_wq);
		err = bank_take(bank, range, size, client);
	}
	if (err)
		return err;
	err = npumem_bank_scrub(bank, range);
	if (err)
		npumem_bank_free(bank, range);
	return err;
}

void npumem_bank_free(struct npu_bank *bank, struct npu_range *range)
{
	u64 size = range->node.size;

	mutex_lock(&bank->lock);
	bank->free += size;
	drm_mm_remove_node(&range->node);
	mutex_unlock(&bank->lock);
	bank_uncharge(bank, range, size);
}

vm_fault_t npumem_bank_fault(struct npu_bank *bank, u64 offset, struct vm_fault *vmf)
{
	unsigned long pfn;
	vm_fault_t ret;
	int idx;

	/* Unplug has zapped all mappings, and none may come back afterwards. */
	if (!drm_dev_enter(&bank->dev->drm, &idx))
		return VM_FAULT_SIGBUS;
	if (bank->software)
		pfn = vmalloc_to_pfn(bank->vaddr + offset);
	else
		pfn = PHYS_PFN(bank->phys + offset);
	ret = vmf_insert_pfn(vmf->vma, vmf->address, pfn);
	drm_dev_exit(idx);
	return ret;
}

void npumem_bank_info(struct npu_bank *bank, struct drm_npumem_bank *info)
{
	struct drm_mm_node *hole;
	u64 start, end;

	memset(info, 0, sizeof(*info));
	info->size = bank->size;
	info->alignment = NPUMEM_BANK_ALIGNMENT;
	info->index = bank->index;
	strscpy(info->name, bank->name, sizeof(info->name));

	guard(mutex)(&bank->lock);
	info->free = bank->free;
	drm_mm_for_each_hole(hole, &bank->mm, start, end) {
		info->largest_free = max(info->largest_free, end - start);
	}
}

void npumem_bank_show(struct npu_bank *bank, struct seq_file *m)
{
	struct drm_mm_node *node;

	guard(mutex)(&bank->lock);
	seq_printf(m, "bank %u %s: %llu bytes, %llu free\n", bank->index, bank->name, bank->size,
		   bank->free);
	drm_mm_for_each_node(node, &bank->mm)
		seq_printf(m, "  [%#010llx, %#010llx) %llu\n", node->start,
			   node->start + node->size, node->size);
}
