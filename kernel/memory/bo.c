// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: buffer objects
 *
 * There are two kinds of BO behind one GEM type. BOs in the carveout are ranges of a bank;
 * arenas are such BOs, and shared ones (shared.c) can be mapped by those whose turn it is. BOs
 * in system memory are those of the shmem helper, as are imported dma-bufs.
 *
 * Mappings. User space maps BOs through the device file only, so that unplug
 * can find and zap every mapping there is. A mapping holds a reference on its BO, hence bytes
 * never go to another owner while somebody still sees them.
 *
 * Unplug. Programs go on, as "Device Hot-Unplug" in Documentation/gpu/drm-uapi.rst asks, and learn
 * of it by their next ioctl (ENODEV). System memory is still there. The carveout is not: reads and
 * writes of its mappings go to one page, zeroes at first, that each open file has for itself, so
 * that clients see nothing of each other.
 *
 * PRIME supports:
 *  - system BO: export, import elsewhere and mmap of the dma-buf work.
 *  - foreign dma-buf: import works; the result is a system BO.
 *  - carveout BO: export works, and import into another file of the same
 *    device, which is how clients share an arena on purpose. mmap of the
 *    dma-buf itself is EOPNOTSUPP (unplug could not zap it; import it and map
 *    that) and so is attaching another device to it (the core says ENOSYS):
 *    there are no struct pages behind a carveout to make an sg_table of.
 *
 * Imported dma-bufs are attached, which keeps their memory, but not mapped for DMA: today's
 * engines access them by the CPU (job/access.c), and a mapping would have to say for which
 * direction of DMA it is.
 *
 * A BO that was exported for reading only (its first export decides: a BO has one
 * dma-buf) can be read only by whom it is imported: not mapped for writing, nor written
 * by jobs. Its creator may write as before.
 */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/mm.h>
#include <linux/wait.h>
#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_prime.h>
#include <drm/drm_print.h>
#include <drm/drm_utils.h>

#include "bo.h"
#include "carveout.h"
#include "base/client.h"
#include "base/compat.h"
#include "base/drv.h"
#include "shared.h"

static DECLARE_WAIT_QUEUE_HEAD(access_ended);

/* A file may have only so many handles of BOs, as it may of all other kinds. */
static int bo_open(struct drm_gem_object *obj, struct drm_file *drm_file)
{
	struct npu_file *file = drm_file->driver_priv;
	int err = -EMFILE;

	if (atomic_inc_return(&file->bo_handles) <= NPUMEM_MAX_HANDLES)
		err = npumem_client_charge(file->client, NPUMEM_RESOURCE_HANDLES, 1);
	if (err)
		atomic_dec(&file->bo_handles);
	return err;
}

static void bo_close(struct drm_gem_object *obj, struct drm_file *drm_file)
{
	struct npu_file *file = drm_file->driver_priv;

	atomic_dec(&file->bo_handles);
	npumem_client_uncharge(file->client, NPUMEM_RESOURCE_HANDLES, 1);
}

/*
 * Page of a BO that a fault is for. It may not be counted from the mapping's begin: a
 * mapping that is unmapped or protected in part becomes several, and each of them begins
 * at the page where it was cut.
 */
static pgoff_t fault_page(const struct vm_fault *vmf, struct drm_gem_object *obj)
{
	return vmf->pgoff - drm_vma_node_start(&obj->vma_node);
}

bool npumem_bo_read_only(struct npu_bo *bo, const struct npu_file *file)
{
	const struct dma_buf_attachment *attach = bo->shmem.base.import_attach;

	if (attach)
		return !(attach->dmabuf->file->f_mode & FMODE_WRITE);
	return bo->client != file->client && READ_ONCE(bo->read_only);
}

/*
 * What the dma-buf is open for is noted in the BO: the core forgets the BO's dma-buf with the last
 * handle, and whoever had that may close it while another call of his is under way.
 */
static struct dma_buf *bo_export(struct drm_gem_object *obj, int flags)
{
	struct dma_buf *buf = drm_gem_prime_export(obj, flags);

	if (!IS_ERR(buf))
		WRITE_ONCE(to_npumem_bo(obj)->read_only, !(buf->file->f_mode & FMODE_WRITE));
	return buf;
}

/* Whether a mapping may write. The device file may be open for writing where the BO is not. */
static int check_write(struct npu_bo *bo, struct vm_area_struct *vma)
{
	const struct drm_file *drm_file = vma->vm_file->private_data;

	if (!npumem_bo_read_only(bo, drm_file->driver_priv))
		return 0;
	if (vma->vm_flags & VM_WRITE)
		return -EACCES;
	vm_flags_clear(vma, VM_MAYWRITE);
	return 0;
}

static bool is_device_file(const struct drm_gem_object *obj, const struct vm_area_struct *vma)
{
	/* Comparing address spaces would not tell: our dma-bufs have the device file's, too. */
	return vma->vm_file->f_op == obj->dev->driver->fops;
}

/* --------------------------------------------------------------- carveout */

static vm_fault_t shared_fault(struct npu_bo *bo, u64 offset, struct vm_fault *vmf)
{
	/* The mapping keeps its file open. */
	const struct drm_file *drm_file = vmf->vma->vm_file->private_data;
	const struct npu_file *file = drm_file->driver_priv;

	/* The page is inserted before the turn, if it is theirs now, can end. */
	guard(mutex)(&bo->shared->lock);
	if (bo->shared->open != file->client)
		return VM_FAULT_SIGBUS;
	return npumem_bank_fault(bo->bank, offset, vmf);
}

/* The device is gone. The page is memory of the system, whatever the carveout's type was. */
static vm_fault_t gone_fault(struct vm_fault *vmf)
{
	const struct drm_file *drm_file = vmf->vma->vm_file->private_data;
	struct npu_file *file = drm_file->driver_priv;
	struct page *page = READ_ONCE(file->gone), *other;

	if (!page) {
		page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!page)
			return VM_FAULT_OOM;
		other = cmpxchg(&file->gone, NULL, page);
		if (other) {
			__free_page(page);
			page = other;
		}
	}
	return vmf_insert_pfn_prot(vmf->vma, vmf->address, page_to_pfn(page),
				   vm_get_page_prot(vmf->vma->vm_flags));
}

static vm_fault_t carveout_fault(struct vm_fault *vmf)
{
	struct npu_bo *bo = to_npumem_bo(vmf->vma->vm_private_data);
	pgoff_t page = fault_page(vmf, &bo->shmem.base);
	u64 offset = bo->range.node.start + ((u64)page << PAGE_SHIFT);
	vm_fault_t ret;

	if (page >= bo->shmem.base.size >> PAGE_SHIFT)
		return VM_FAULT_SIGBUS;
	if (bo->shared)
		ret = shared_fault(bo, offset, vmf);
	else
		ret = npumem_bank_fault(bo->bank, offset, vmf);
	/* It may have gone at any time, and ended the turn of a shared arena. */
	if (ret == VM_FAULT_SIGBUS && drm_dev_is_unplugged(bo->shmem.base.dev))
		ret = gone_fault(vmf);
	return ret;
}

static const struct vm_operations_struct carveout_vm_ops = {
	.fault = carveout_fault,
	.open = drm_gem_vm_open,
	.close = drm_gem_vm_close,
};

static int carveout_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	int err;

	if (!is_device_file(obj, vma))
		return -EOPNOTSUPP;
	err = check_write(to_npumem_bo(obj), vma);
	if (err)
		return err;
	/* A private copy of device memory would be of no use to anybody. */
	if (vma_is_cow_mapping(vma))
		return -EINVAL;
	vm_flags_set(vma, VM_PFNMAP | VM_IO | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_page_prot = vm_get_page_prot(vma->vm_flags);
	/* User space gets the same memory type as the kernel's own mapping has. */
	if (!to_npumem_bo(obj)->bank->software)
		vma->vm_page_prot = pgprot_writecombine(vma->vm_page_prot);
	return 0;
}

static void carveout_free(struct drm_gem_object *obj)
{
	struct npu_bo *bo = to_npumem_bo(obj);

	npumem_shared_destroy(bo->shared);
	npumem_bank_free(bo->bank, &bo->range);
	drm_gem_object_release(obj);
	npumem_client_put(bo->client);
	kfree(bo);
}

static const struct drm_gem_object_funcs carveout_funcs = {
	.free = carveout_free,
	.open = bo_open,
	.close = bo_close,
	.export = bo_export,
	.mmap = carveout_mmap,
	.vm_ops = &carveout_vm_ops,
};

struct npu_bo *npumem_bo_create_carveout(struct npu_bank *bank, u64 size, struct npu_client *client)
{
	struct npu_bo *bo;
	int err;

	if (size > bank->size)
		return ERR_PTR(-ENOSPC);
	bo = kzalloc(sizeof(*bo), GFP_KERNEL_ACCOUNT);
	if (!bo)
		return ERR_PTR(-ENOMEM);
	size = PAGE_ALIGN(max_t(u64, size, 1));
	err = npumem_bank_alloc(bank, &bo->range, size, client);
	if (err) {
		kfree(bo);
		return ERR_PTR(err);
	}
	bo->bank = bank;
	bo->client = npumem_client_get(client);
	bo->shmem.base.funcs = &carveout_funcs;
	drm_gem_private_object_init(&bank->dev->drm, &bo->shmem.base, size);
	return bo;
}

struct npu_bo *npumem_bo_create_shared(struct npu_bank *bank, u64 size, struct npu_client *client)
{
	struct npu_bo *bo = npumem_bo_create_carveout(bank, size, client);
	struct npu_shared *shared;

	if (IS_ERR(bo))
		return bo;
	shared = npumem_shared_create(bo);
	if (IS_ERR(shared)) {
		npumem_bo_put(bo);
		return ERR_CAST(shared);
	}
	bo->shared = shared;
	bo->arena = true;
	return bo;
}

void *npumem_bo_vaddr(struct npu_bo *bo, u64 offset)
{
	return bo->bank->vaddr + bo->range.node.start + offset;
}

/* ---------------------------------------------------------- system memory */

/*
 * The operations of the shmem helper, but with our own fault handlers: the helper's do not find
 * the right page in a mapping that was cut in pieces.
 */
static struct vm_operations_struct system_vm_ops __ro_after_init;

static vm_fault_t system_fault(struct vm_fault *vmf)
{
	struct drm_gem_object *obj = vmf->vma->vm_private_data;
	struct drm_gem_shmem_object *shmem = to_drm_gem_shmem_obj(obj);
	pgoff_t page = fault_page(vmf, obj);
	vm_fault_t ret = VM_FAULT_SIGBUS;

	dma_resv_lock(obj->resv, NULL);
	/* The mapping itself keeps the pages, also when the device is gone. */
	if (page < obj->size >> PAGE_SHIFT && shmem->pages) {
		/* User space may write to the pages from now on, and nobody will tell. */
		shmem->pages_mark_dirty_on_put = true;
		ret = vmf_insert_pfn(vmf->vma, vmf->address, page_to_pfn(shmem->pages[page]));
	}
	dma_resv_unlock(obj->resv);
	return ret;
}

static int system_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	int err = is_device_file(obj, vma) ? check_write(to_npumem_bo(obj), vma) : 0;

	return err ?: drm_gem_shmem_object_mmap(obj, vma);
}

static void system_free(struct drm_gem_object *obj)
{
	struct npu_client *client = to_npumem_bo(obj)->client;

	drm_gem_shmem_object_free(obj);
	npumem_client_put(client);
}

static const struct drm_gem_object_funcs system_funcs = {
	.free = system_free,
	.open = bo_open,
	.close = bo_close,
	.export = bo_export,
	.print_info = drm_gem_shmem_object_print_info,
	.pin = drm_gem_shmem_object_pin,
	.unpin = drm_gem_shmem_object_unpin,
	.get_sg_table = drm_gem_shmem_object_get_sg_table,
	.vmap = drm_gem_shmem_object_vmap,
	.vunmap = drm_gem_shmem_object_vunmap,
	.mmap = system_mmap,
	.vm_ops = &system_vm_ops,
};

void __init npumem_bo_init(void)
{
	system_vm_ops = drm_gem_shmem_vm_ops;
	system_vm_ops.fault = system_fault;
	/* Huge faults are optional: the core falls back to the handler above. */
	system_vm_ops.huge_fault = NULL;
	system_vm_ops.map_pages = NULL;
	/*
	 * Newer helpers mark the page that was written to, which would be the wrong one,
	 * as above.
	 */
	system_vm_ops.pfn_mkwrite = NULL;
}

/* The shmem helper calls this when it creates or imports a BO, so that it is one of ours. */
struct drm_gem_object *npumem_gem_create_object(struct drm_device *drm, size_t size)
{
	struct npu_bo *bo = kzalloc(sizeof(*bo), GFP_KERNEL_ACCOUNT);

	if (!bo)
		return ERR_PTR(-ENOMEM);
	mutex_init(&bo->dma_lock);
	bo->shmem.base.funcs = &system_funcs;
	return &bo->shmem.base;
}

struct drm_gem_object *npumem_gem_prime_import(struct drm_device *drm, struct dma_buf *buf)
{
	const struct drm_gem_object *own = buf->priv;
	struct dma_buf_attachment *attach;
	struct drm_gem_object *obj;

	/* All dma-bufs of this module are BOs. */
	if (buf->owner == THIS_MODULE && own->dev == drm)
		return drm_gem_prime_import(drm, buf);
	attach = dma_buf_attach(buf, drm->dev);
	if (IS_ERR(attach))
		return ERR_CAST(attach);
	obj = drm_gem_shmem_prime_import_sg_table(drm, attach, NULL);
	if (IS_ERR(obj)) {
		dma_buf_detach(buf, attach);
		return obj;
	}
	/* As drm_gem_prime_import(); drm_prime_gem_destroy() undoes it. */
	get_dma_buf(buf);
	obj->import_attach = attach;
	obj->resv = buf->resv;
	return obj;
}

static struct npu_bo *bo_create_system(struct npu_device *dev, u64 size, struct npu_client *client)
{
	struct drm_gem_shmem_object *shmem;

	/* More memory than the machine has would fail only later, at the first fault. */
	if (size > (u64)totalram_pages() << PAGE_SHIFT)
		return ERR_PTR(-ENOMEM);
	shmem = drm_gem_shmem_create(&dev->drm, size);
	/* shmem says ENOSPC if it has no inode, but to users ENOSPC means the carveout. */
	if (IS_ERR(shmem))
		return ERR_PTR(PTR_ERR(shmem) == -ENOSPC ? -ENOMEM : PTR_ERR(shmem));
	to_npumem_bo(&shmem->base)->client = npumem_client_get(client);
	return to_npumem_bo(&shmem->base);
}

/* ----------------------------------------------------------------- ioctls */

static struct npu_bo *bo_create_in_bank(struct npu_device *dev,
					const struct drm_npumem_bo_create *args,
					struct npu_client *client)
{
	struct npu_bank *bank = npumem_bank_lookup(dev, args->bank);

	if (!bank)
		return ERR_PTR(
			npumem_refuse(&dev->drm, -EINVAL, "BO_CREATE: no bank %u", args->bank));
	if (args->flags == NPUMEM_BO_SHARED)
		return npumem_bo_create_shared(bank, args->size, client);
	return npumem_bo_create_carveout(bank, args->size, client);
}

int npumem_ioctl_bo_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npu_device *dev = to_npumem(drm);
	struct npu_file *priv = file->driver_priv;
	struct drm_npumem_bo_create *args = data;
	struct npu_bo *bo;
	int err;

	if (!args->size || args->pad)
		return npumem_refuse(drm, -EINVAL, "BO_CREATE: size %llu, pad %u", args->size,
				     args->pad);
	switch (args->flags) {
	case NPUMEM_BO_CARVEOUT:
	case NPUMEM_BO_SHARED:
		bo = bo_create_in_bank(dev, args, priv->client);
		break;
	case NPUMEM_BO_SYSTEM:
		if (args->bank)
			return npumem_refuse(drm, -EINVAL, "BO_CREATE: bank %u of a system BO",
					     args->bank);
		bo = bo_create_system(dev, args->size, priv->client);
		break;
	default:
		return npumem_refuse(drm, -EINVAL, "BO_CREATE: flags %#x", args->flags);
	}
	if (IS_ERR(bo))
		return npumem_refuse(drm, (int)PTR_ERR(bo), "BO_CREATE: %llu bytes, flags %#x",
				     args->size, args->flags);
	args->size = bo->shmem.base.size;
	err = drm_gem_handle_create(file, &bo->shmem.base, &args->handle);
	npumem_bo_put(bo);
	return err;
}

int npumem_ioctl_bo_mmap_offset(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_npumem_bo_mmap_offset *args = data;
	struct drm_gem_object *obj;
	int err;

	if (args->pad)
		return npumem_refuse(drm, -EINVAL, "BO_MMAP_OFFSET: pad is not zero");
	obj = drm_gem_object_lookup(file, args->handle);
	if (!obj)
		return npumem_refuse(drm, -ENOENT, "BO_MMAP_OFFSET: no BO %u", args->handle);
	err = drm_gem_create_mmap_offset(obj);
	if (!err)
		args->offset = drm_vma_node_offset_addr(&obj->vma_node);
	drm_gem_object_put(obj);
	return err;
}

void npumem_bo_access_ended(struct npu_bo *bo)
{
	if (atomic_dec_and_test(&bo->accesses))
		wake_up_all(&access_ended);
}

/*
 * Wait until no SUBMIT accesses an imported BO, for @timeout jiffies at most. Returns the
 * jiffies that are left, 0 if they ran out, or -ERESTARTSYS.
 */
static long access_wait(struct npu_bo *bo, long timeout)
{
	return wait_event_interruptible_timeout(access_ended, !atomic_read(&bo->accesses), timeout);
}

int npumem_ioctl_bo_wait(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_npumem_bo_wait *args = data;
	struct drm_gem_object *obj;
	long ret, timeout = drm_timeout_abs_to_jiffies(args->deadline_ns);

	if (args->pad)
		return npumem_refuse(drm, -EINVAL, "BO_WAIT: pad is not zero");
	obj = drm_gem_object_lookup(file, args->handle);
	if (!obj)
		return npumem_refuse(drm, -ENOENT, "BO_WAIT: no BO %u", args->handle);
	if (to_npumem_bo(obj)->shared)
		ret = npumem_shared_wait(to_npumem_bo(obj)->shared, timeout);
	else
		ret = dma_resv_wait_timeout(obj->resv, DMA_RESV_USAGE_READ, true, timeout);
	/* With a timeout of zero, a fence that has signalled counts as one jiffy left. */
	if (ret > 0)
		ret = access_wait(to_npumem_bo(obj), timeout ? ret : 0);
	drm_gem_object_put(obj);
	if (ret < 0)
		return ret;
	return ret ? 0 : -ETIMEDOUT;
}
